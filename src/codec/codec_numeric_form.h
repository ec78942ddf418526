/*-------------------------------------------------------------------------
 *
 * codec_numeric_form.h
 *	  The form of PostgreSQL's numerics, and of vectors of them.
 *
 * Included by the files that encode and decode numerics.  The constants are theirs at compile time:
 * a division by a power of ten becomes a multiplication.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_numeric_form.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef CODEC_NUMERIC_FORM_H
#define CODEC_NUMERIC_FORM_H

#include "codec_internal.h"

/* Flags in front of a vector. */
#define NUM_FLAG_EXCEPTIONS		0x01
#define NUM_FLAG_SCALES			0x02

/* Scaled integers stay below this, so that at most six digits of base 10000 come out. */
#define NUM_INT_LIMIT			UINT64CONST(1000000000000000000)

/* Two digits of base 10000; with the fraction a numeric's digits fit 64 bits. */
#define SMALL_LIMIT				UINT64CONST(100000000)

/* Header bits of PostgreSQL's numeric.c, which no installed header shows. */
#define NUM_SHORT				0x8000
#define NUM_KIND_MASK			0xC000
#define NUM_SHORT_NEGATIVE		0x2000
#define NUM_SHORT_DSCALE(h)		(((h) >> 7) & 0x3F)
#define NUM_SHORT_WEIGHT(h)		(((h) & 0x3F) - ((h) & 0x40))

static const uint64 zscodec_powers[20] = {
	UINT64CONST(1), UINT64CONST(10), UINT64CONST(100), UINT64CONST(1000), UINT64CONST(10000),
	UINT64CONST(100000), UINT64CONST(1000000), UINT64CONST(10000000), UINT64CONST(100000000),
	UINT64CONST(1000000000), UINT64CONST(10000000000), UINT64CONST(100000000000),
	UINT64CONST(1000000000000), UINT64CONST(10000000000000), UINT64CONST(100000000000000),
	UINT64CONST(1000000000000000), UINT64CONST(10000000000000000),
	UINT64CONST(100000000000000000), UINT64CONST(1000000000000000000),
	UINT64CONST(10000000000000000000)
};

#endif							/* CODEC_NUMERIC_FORM_H */
