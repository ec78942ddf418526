/*-------------------------------------------------------------------------
 *
 * codec_string.h
 *	  By-reference values of a vector, for the container's encoder and decoder.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_string.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef CODEC_STRING_H
#define CODEC_STRING_H

#include "codec_fsst.h"
#include "codec_internal.h"
#include "codec_words.h"

/* Every so many values it is written down where the next one begins. */
#define ZS_ANCHOR_STRIDE		16

/* Room for the anchors of a vector. */
#define ZS_ANCHORS_SIZE_MAX		(1 + ZS_VECTOR_ROWS / ZS_ANCHOR_STRIDE * 8 + ZS_SLACK)

extern size_t zscodec_strings_encode_plain(const uint8 *const *ptrs, const uint32 *lens, uint32 n,
										   bool with_lens, bool with_anchors, uint8 *out);
extern size_t zscodec_strings_encode_fsst(const ZsSymbolTable *table, const uint8 *const *ptrs,
										  const uint32 *lens, uint32 n, const uint8 *limit,
										  bool with_anchors, uint8 *out);
extern size_t zscodec_strings_encode_words(const ZsWordTable *table, const uint8 *const *ptrs,
										   const uint32 *lens, uint32 n, const uint8 *limit,
										   uint8 *out);

extern const char *zscodec_strings_decode(const ZsSegmentInfo *info, int encoding, ZsReader *r,
										  uint32 n, const ZsSharedState *shared, uint32 want,
										  ZsVectorOut *out);
extern const char *zscodec_strings_decode_one(const ZsSegmentInfo *info, int encoding, ZsReader *r,
											  uint32 n, uint32 idx, const ZsSharedState *shared,
											  ZsVectorOut *out, uint64 *value);

extern bool zscodec_strings_part(int encoding, ZsReader *r, uint32 n, uint32 idx, const uint8 *head,
								 uint64 *from, uint64 *to);

#endif							/* CODEC_STRING_H */
