/*-------------------------------------------------------------------------
 *
 * codec_alp.h
 *	  Decimal-scaled floats, for the container's encoder and decoder.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_alp.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef CODEC_ALP_H
#define CODEC_ALP_H

#include "codec_internal.h"

#define ZS_ALP_EXPONENT_MAX		18
#define ZS_ALP_CANDIDATES		4

/* Room for an encoded vector. */
#define ZS_ALP_SIZE_MAX(n)		(ZS_INTS_SIZE_MAX(n) + ZS_POSSET_SIZE_MAX(n) + (size_t) (n) * 8 + 3)

/* The pairs of exponents a segment's vectors choose from, best first. */
typedef struct ZsAlpChoice
{
	uint32		ncandidates;	/* 0: floats are not decimals */
	uint8		e[ZS_ALP_CANDIDATES];
	uint8		f[ZS_ALP_CANDIDATES];
} ZsAlpChoice;

/* codec_float.c */
extern bool zscodec_alp_choose(ZsValueKind kind, const uint64 *vals, uint32 n, ZsAlpChoice *choice);
extern size_t zscodec_alp_encode(ZsValueKind kind, const uint64 *vals, uint32 n,
								 const ZsAlpChoice *choice, uint8 *out);
extern const char *zscodec_alp_decode(ZsValueKind kind, ZsReader *r, uint32 n, uint64 *out);

#endif							/* CODEC_ALP_H */
