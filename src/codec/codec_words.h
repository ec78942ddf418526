/*-------------------------------------------------------------------------
 *
 * codec_words.h
 *	  Strings as prefix codes for a few thousand frequent pieces.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_words.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef CODEC_WORDS_H
#define CODEC_WORDS_H

#include "codec_internal.h"

/* Symbols without the escape, bytes of a symbol, bits of a code. */
#define ZS_WORDS_SYMBOLS_MAX	2047
#define ZS_WORDS_LEN_MAX		16
#define ZS_WORDS_CODE_MAX		12

#define ZS_WORDS_HASH_BITS		12

/* Symbols from this length on are found by as many bytes. */
#define ZS_WORDS_LONG			6
#define ZS_WORDS_VERY_LONG		12

/*
 * In long_groups[]: there are more symbols of this hash than so many, and very long ones lie apart.
 */
#define ZS_WORDS_LONGER			0x8000
#define ZS_WORDS_GROUP_MAX		8

/* A symbol as the encoder sees it; bytes behind its end are 0. */
typedef struct ZsWordSymbol
{
	uint64		low;			/* bytes 0..7 */
	uint64		high;			/* bytes 8..15 */
	uint32		count;			/* in the sample */
	uint16		code;
	uint8		len;
	uint8		code_len;
} ZsWordSymbol;

/*
 * A table as the encoder uses it.  Symbols are found longest first: those of six bytes and more lie
 * together by a hash of the first six, the longest in front.  Where many begin alike, as addresses
 * do, those of twelve and more come before, by a hash of the first twelve.  Then come those of four
 * and five by a hash of the first four, since three are one letter and a half in many alphabets,
 * which too many symbols have in common; then those of three; then come those of two, then of one.
 * The escape, which announces a byte, has index nsymbols.
 */
typedef struct ZsWordTable
{
	uint32		nsymbols;
	ZsWordSymbol symbols[ZS_WORDS_SYMBOLS_MAX + 1];
	ZsWordSymbol unsorted[ZS_WORDS_SYMBOLS_MAX];	/* while they are being sorted */
	uint16		order[ZS_WORDS_SYMBOLS_MAX + 1];	/* symbols by rank: the order of their codes */
	/* where the symbols of a hash begin */
	uint16		very_long_groups[(1 << ZS_WORDS_HASH_BITS) + 1];
	uint16		long_groups[(1 << ZS_WORDS_HASH_BITS) + 1]; /* perhaps with ZS_WORDS_LONGER */
	uint16		four_groups[(1 << ZS_WORDS_HASH_BITS) + 1];
	uint16		three_groups[(1 << ZS_WORDS_HASH_BITS) + 1];
	uint16		by_pair[65536]; /* index + 1 */
	uint16		by_byte[256];
} ZsWordTable;

/* A table as the decoder uses it; symbols by rank, the escape last. */
typedef struct ZsWordReader
{
	uint8		symbols[ZS_WORDS_SYMBOLS_MAX + 1][ZS_WORDS_LEN_MAX];
	uint16		codes[1 << ZS_WORDS_CODE_MAX];	/* next bits: rank << 4 | bits of the code */
	uint8		lens[ZS_WORDS_SYMBOLS_MAX + 1];
	uint32		nsymbols;
} ZsWordReader;

/* It begins there, so that no symbol lies in two lines of a cache. */
#define ZS_WORDS_ALIGN			64

/* What a written table takes at most. */
#define ZS_WORDS_TABLE_SIZE_MAX \
	(2 + 2 * ZS_WORDS_CODE_MAX + ZS_WORDS_SYMBOLS_MAX * (ZS_WORDS_LEN_MAX + 1))

/* A sample longer than this is cut. */
#define ZS_WORDS_SAMPLE_MAX		(128 * 1024)

/* Bytes that len bytes encode to at most: an escape and the byte for each. */
#define ZS_WORDS_ENCODED_MAX(len)	((size_t) (len) * 3 + ZS_SLACK)

/* A code of one bit for 16 bytes. */
#define ZS_WORDS_EXPANSION		(8 * ZS_WORDS_LEN_MAX)

/* Bits are written and read from the high end of each byte. */
typedef struct ZsBitWriter
{
	uint8	   *p;
	uint64		bits;			/* at the high end */
	int			nbits;			/* below 8 between calls */
} ZsBitWriter;

typedef struct ZsBitReader
{
	const uint8 *p;
	const uint8 *end;
	uint64		bits;
	int			nbits;			/* negative: read beyond the end */
} ZsBitReader;

/*
 * A piece of decoded text on its way: where its codes go on, how many bytes are missing, and where
 * they go.  Below 0: the codes did not add up.
 */
typedef struct ZsWordPiece
{
	ZsBitReader bits;
	int64		left;
	uint8	   *out;			/* followed by ZS_WORDS_LEN_MAX bytes to be scribbled over */
	uint64		keep;			/* all bits set; 0: out stays where it is, the text is not wanted */
} ZsWordPiece;

/* codec_words_build.c */
extern size_t zscodec_words_scratch_size(void);
extern void zscodec_words_build(ZsWordTable *table, void *scratch, const uint8 *const *strings,
								const uint32 *lens, uint32 nstrings, const uint8 *limit,
								uint64 total, bool refine);

/* codec_words.c */
extern void zscodec_words_index(ZsWordTable *table);
extern void zscodec_words_encode(const ZsWordTable *table, const uint8 *in, size_t len,
								 const uint8 *limit, ZsBitWriter *w);
extern size_t zscodec_words_write(const ZsWordTable *table, uint8 *out);

/* codec_words_decode.c */
extern const char *zscodec_words_read(ZsReader *r, ZsWordReader *table);
extern bool zscodec_words_start(ZsBitReader *b, const ZsReader *r, uint64 bit);
extern bool zscodec_words_decode(ZsBitReader *b, const ZsWordReader *table, uint8 *out, size_t len);
extern bool zscodec_words_piece(ZsWordPiece *piece, const ZsWordReader *table);
extern bool zscodec_words_piece_both(ZsWordPiece *a, ZsWordPiece *b, const ZsWordReader *table);
extern bool zscodec_words_skip(ZsBitReader *b, const ZsWordReader *table, uint64 len);
extern bool zscodec_words_at_end(const ZsBitReader *b);

#endif							/* CODEC_WORDS_H */
