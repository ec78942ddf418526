/*-------------------------------------------------------------------------
 *
 * codec_fsst.h
 *	  Symbol tables for short strings.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_fsst.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef CODEC_FSST_H
#define CODEC_FSST_H

#include "codec_internal.h"

#define ZS_FSST_SYMBOLS_MAX		255
#define ZS_FSST_ESCAPE			255

/* Longer symbols are found by a hash of their first three bytes, one symbol a slot. */
#define ZS_FSST_HASH_SIZE		2048

/* A code plus 1, and the symbol's length; 0 = none. */
typedef struct ZsFsstCode
{
	uint16		code1;
	uint16		len;
} ZsFsstCode;

typedef struct ZsFsstSlot
{
	uint64		symbol;
	uint64		mask;			/* 0 = empty */
	ZsFsstCode	code;
} ZsFsstSlot;

/* A symbol table as the encoder uses it. */
typedef struct ZsSymbolTable
{
	uint32		nsymbols;
	uint64		symbols[ZS_FSST_SYMBOLS_MAX];
	uint8		lens[ZS_FSST_SYMBOLS_MAX];
	ZsFsstCode	by_byte[256];
	ZsFsstCode	by_pair[65536];
	ZsFsstSlot	hash[ZS_FSST_HASH_SIZE];
} ZsSymbolTable;

#define ZS_FSST_TABLE_SIZE_MAX	(1 + ZS_FSST_SYMBOLS_MAX * 9)

/* A sample is not longer than this. */
#define ZS_FSST_SAMPLE_MAX		16384

/* Bytes that len bytes encode to at most, with room for careless writes. */
#define ZS_FSST_ENCODED_MAX(len)	((size_t) (len) * 2 + ZS_SLACK)

/* codec_fsst.c */
extern size_t zscodec_fsst_scratch_size(void);
extern void zscodec_fsst_build(ZsSymbolTable *table, void *scratch, const uint8 *const *strings,
							   const uint32 *lens, uint32 nstrings, const uint8 *limit,
							   uint32 bytes);
extern uint8 *zscodec_fsst_encode(const ZsSymbolTable *table, const uint8 *in, size_t len,
								  const uint8 *limit, uint8 *out);
extern size_t zscodec_fsst_write(const ZsSymbolTable *table, uint8 *out);

/* codec_fsst_decode.c */
extern const char *zscodec_fsst_read(ZsReader *r, uint64 *symbols, uint8 *lens, uint32 *nsymbols);
extern bool zscodec_fsst_decode(ZsReader *r, const uint64 *symbols, const uint8 *lens, uint8 *out,
								size_t len);
extern bool zscodec_fsst_skip(ZsReader *r, const uint8 *lens, uint64 len);

#endif							/* CODEC_FSST_H */
