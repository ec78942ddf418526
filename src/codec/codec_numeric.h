/*-------------------------------------------------------------------------
 *
 * codec_numeric.h
 *	  Numerics as scaled integers, for the container's encoder and decoder.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_numeric.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef CODEC_NUMERIC_H
#define CODEC_NUMERIC_H

#include "codec_internal.h"

/*
 * What a rebuilt numeric takes in the arena: 4 bytes varlena header, 2 header, 12 digits, rounded
 * up.
 */
#define ZS_NUMERIC_STRIDE		24

/* codec_numeric.c */
extern size_t zscodec_numeric_encode_ints(const uint64 *ints, uint32 n, int scale, uint8 *out,
										  int64 *zone_min, int64 *zone_max);
extern size_t zscodec_numeric_encode(const uint8 *const *ptrs, const uint32 *lens,
									 const uint8 *isext, uint32 n, uint8 *out, bool *has_zone,
									 int64 *zone_min, int64 *zone_max);

/* codec_numeric_decode.c */
extern const char *zscodec_numeric_decode(ZsReader *r, uint32 n, uint32 want, ZsVectorOut *out,
										  uint16 *odd_pos, uint32 *nodd);
extern bool zscodec_numeric_decode_const(const ZsReader *r, uint32 n, uint32 want,
										 ZsVectorOut *out);
extern const char *zscodec_numeric_decode_ints(ZsReader *r, uint32 n, uint64 *ints, int *scale,
											   bool *found);
extern const char *zscodec_numeric_decode_one(ZsReader *r, uint32 n, uint32 idx, ZsVectorOut *out,
											  uint64 *value);

#endif							/* CODEC_NUMERIC_H */
