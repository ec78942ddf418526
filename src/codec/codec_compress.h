/*-------------------------------------------------------------------------
 *
 * codec_compress.h
 *	  LZ4 and zstd, and who uses which scratch buffer of an encoder.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_compress.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef CODEC_COMPRESS_H
#define CODEC_COMPRESS_H

#include "codec_internal.h"

/* ZsEncoder.bufs */
typedef enum ZsEncoderBuf
{
	ZS_BUF_BODY = 0,			/* a vector's body */
	ZS_BUF_OTHER,				/* the same vector encoded another way */
	ZS_BUF_PACKED,				/* compressed */
	ZS_BUF_VECTORS,				/* all vectors, one after the other */
	ZS_BUF_SHARED,				/* the shared area's body, then the area */
	ZS_BUF_DICT,				/* dictionary: hash table, entries */
	ZS_BUF_PAYLOADS,			/* its entries where they came as integers */
	ZS_BUF_CODES,				/* dictionary code of each row */
	ZS_BUF_SYMBOLS,				/* symbol table being built or used */
	ZS_BUF_COUNTS,				/* its statistics */
	ZS_BUF_WORDS,				/* table of words being built or used */
	ZS_BUF_WORD_COUNTS,			/* its statistics */
	ZS_BUF_PREFIX,				/* compression prefix */
	ZS_BUF_LZ4,					/* LZ4 states */
	ZS_BUF_LZ4HC
} ZsEncoderBuf;

StaticAssertDecl(ZS_BUF_LZ4HC + 1 == ZS_ENCODER_BUFS, "each buffer has one user");

extern void zscodec_compress_begin(ZsEncoder *enc);
extern size_t zscodec_compress(ZsEncoder *enc, const ZsEncodeOptions *options, const uint8 *src,
							   size_t len, const uint8 *prefix, size_t prefix_len, uint8 *dst,
							   size_t dst_size);
extern const char *zscodec_decompress(ZsCompression compression, const uint8 *src, size_t len,
									  const uint8 *prefix, size_t prefix_len, uint8 *dst,
									  size_t dst_len);
extern const char *zscodec_decompress_front(ZsCompression compression, const uint8 *src, size_t len,
											const uint8 *prefix, size_t prefix_len, uint8 *dst,
											size_t dst_len, size_t wanted, size_t *got);
extern bool zscodec_raw_len_plausible(ZsCompression compression, const uint8 *src, size_t len,
									  uint64 raw_len);

#endif							/* CODEC_COMPRESS_H */
