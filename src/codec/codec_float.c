/*-------------------------------------------------------------------------
 *
 * codec_float.c
 *	  Floats that are decimal numbers at heart.
 *
 * Prices and readings stored as floats came from short decimals, and their bit patterns look
 * random.  ALP (Afroozeh, Kuffo and Boncz, "ALP: Adaptive Lossless floating-Point Compression",
 * 2023) finds e and f such that round(x * 10^e * 10^-f) is a small integer i and i * 10^f * 10^-e
 * gives back exactly x, pattern for pattern.  Decoding is the two multiplications of that last
 * expression, so both sides of the comparison are the same machine operations.  Values for which it
 * fails (-0.0, NaN, infinities, real floats) are exceptions: their positions and patterns are kept,
 * and their slot repeats the integer before.
 *
 * Candidates for (e, f) come from a sample of the segment; each vector takes the best of them.
 * float4 goes through float8 arithmetic and is rounded at the end.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_float.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_alp.h"

#include <math.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/* Adding and subtracting this rounds to an integer below 2^51. */
#define ROUNDING_MAGIC		6755399441055744.0
#define ROUNDING_LIMIT		2251799813685248.0

/* Values looked at for the choice of (e, f) of a segment, of a vector. */
#define SEGMENT_SAMPLE		96
#define VECTOR_SAMPLE		24

/* More exceptions than one in this many: not decimals. */
#define EXCEPTION_SHARE		4

static const double powers[ZS_ALP_EXPONENT_MAX + 1] = {
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
	1e17, 1e18
};

static const double inverse_powers[ZS_ALP_EXPONENT_MAX + 1] = {
	1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14,
	1e-15, 1e-16,
	1e-17, 1e-18
};

static inline double
to_double(ZsValueKind kind, uint64 pattern)
{
	double		d;

	if (kind == ZS_KIND_FLOAT4)
	{
		uint32		low = (uint32) pattern;
		float		f;

		memcpy(&f, &low, sizeof(f));
		return (double) f;
	}
	memcpy(&d, &pattern, sizeof(d));
	return d;
}

/* The datum of a decoded value: for float4 the pattern, sign-extended. */
static inline uint64
to_pattern(ZsValueKind kind, double d)
{
	uint64		pattern;

	if (kind == ZS_KIND_FLOAT4)
	{
		float		f = (float) d;
		int32		low;

		memcpy(&low, &f, sizeof(low));
		return (uint64) (int64) low;
	}
	memcpy(&pattern, &d, sizeof(pattern));
	return pattern;
}

/* Tries one value; true when the integer stands for it exactly. */
static inline bool
encode_value(ZsValueKind kind, uint64 pattern, int e, int f, int64 *result)
{
	double		scaled = to_double(kind, pattern) * powers[e] * inverse_powers[f];
	double		rounded;

	/* False for NaN as well. */
	if (!(fabs(scaled) < ROUNDING_LIMIT))
		return false;
	rounded = (scaled + ROUNDING_MAGIC) - ROUNDING_MAGIC;
	*result = (int64) rounded;
	return to_pattern(kind, (double) *result * powers[f] * inverse_powers[e]) == pattern;
}

/* Estimated bits of a sample under (e, f). */
static uint64
estimate(ZsValueKind kind, const uint64 *vals, uint32 n, uint32 step, int e, int f)
{
	int64		min = PG_INT64_MAX;
	int64		max = PG_INT64_MIN;
	uint64		nexceptions = 0;
	uint64		nseen = 0;

	for (uint32 i = 0; i < n; i += step, nseen++)
	{
		int64		v;

		if (!encode_value(kind, vals[i], e, f, &v))
			nexceptions++;
		else
		{
			min = Min(min, v);
			max = Max(max, v);
		}
	}
	return nexceptions * (kind == ZS_KIND_FLOAT4 ? 42 : 74) +
		(max > min ? nseen * bit_width((uint64) max - (uint64) min) : 0);
}

/*
 * Finds up to ZS_ALP_CANDIDATES pairs (e, f) for a sample of a segment.  Returns false when the
 * values are no decimals.
 */
bool
zscodec_alp_choose(ZsValueKind kind, const uint64 *vals, uint32 n, ZsAlpChoice *choice)
{
	int			max_e = kind == ZS_KIND_FLOAT4 ? 10 : ZS_ALP_EXPONENT_MAX;
	uint32		step = Max(n / SEGMENT_SAMPLE, 1);
	uint64		sizes[ZS_ALP_CANDIDATES];
	uint64		raw = (n + step - 1) / step * (kind == ZS_KIND_FLOAT4 ? 32 : 64);

	Assert(n >= 1 && (kind == ZS_KIND_FLOAT4 || kind == ZS_KIND_FLOAT8));
	choice->ncandidates = 0;
	for (int e = 0; e <= max_e; e++)
	{
		for (int f = 0; f <= e; f++)
		{
			uint64		size = estimate(kind, vals, n, step, e, f);
			uint32		j;

			if (size > raw - raw / 8)
				continue;
			if (choice->ncandidates == ZS_ALP_CANDIDATES && size >= sizes[ZS_ALP_CANDIDATES - 1])
				continue;
			if (choice->ncandidates < ZS_ALP_CANDIDATES)
				choice->ncandidates++;
			for (j = choice->ncandidates - 1; j > 0 && sizes[j - 1] > size; j--)
			{
				sizes[j] = sizes[j - 1];
				choice->e[j] = choice->e[j - 1];
				choice->f[j] = choice->f[j - 1];
			}
			sizes[j] = size;
			choice->e[j] = (uint8) e;
			choice->f[j] = (uint8) f;
		}
	}
	return choice->ncandidates > 0;
}

/*
 * Writes a vector as ALP; returns its length, 0 when too many values resist. Room:
 * ZS_ALP_SIZE_MAX(n).
 */
size_t
zscodec_alp_encode(ZsValueKind kind, const uint64 *vals, uint32 n, const ZsAlpChoice *choice,
				   uint8 *out)
{
	int64		ints[ZS_VECTOR_ROWS];
	uint16		pos[ZS_VECTOR_ROWS];
	uint32		nexceptions = 0;
	uint32		best = 0;
	uint64		best_size = PG_UINT64_MAX;
	size_t		pattern_size = kind == ZS_KIND_FLOAT4 ? 4 : 8;
	uint8	   *p = out;

	for (uint32 c = 0; c < choice->ncandidates && choice->ncandidates > 1; c++)
	{
		uint64		size = estimate(kind, vals, n, Max(n / VECTOR_SAMPLE, 1), choice->e[c],
									choice->f[c]);

		if (size < best_size)
		{
			best_size = size;
			best = c;
		}
	}
	for (uint32 i = 0; i < n; i++)
	{
		if (!encode_value(kind, vals[i], choice->e[best], choice->f[best], &ints[i]))
			pos[nexceptions++] = (uint16) i;
	}
	if (nexceptions > n / EXCEPTION_SHARE)
		return 0;

	/* The slots of exceptions repeat a neighbour, so that they cost nothing. */
	for (uint32 i = 0; i < nexceptions; i++)
	{
		uint32		next = pos[i];

		if (pos[i] > 0)
			ints[pos[i]] = ints[pos[i] - 1];
		else
		{
			for (uint32 j = 0; j < nexceptions && pos[j] == next; j++)
				next++;
			Assert(next < n);
			ints[0] = ints[next];
		}
	}
	Assert(choice->f[best] <= choice->e[best] && choice->e[best] <= ZS_ALP_EXPONENT_MAX);
	*p++ = choice->e[best];
	*p++ = choice->f[best];
	*p++ = nexceptions > 0;
	if (nexceptions > 0)
	{
		p += zscodec_posset_encode(pos, nexceptions, n, p);
		for (uint32 i = 0; i < nexceptions; i++, p += pattern_size)
			memcpy(p, &vals[pos[i]], pattern_size);
	}
	p += zscodec_ints_encode((const uint64 *) ints, n, p);
	Assert((size_t) (p - out) <= ZS_ALP_SIZE_MAX(n));
	return (size_t) (p - out);
}

static ZS_CLONES void
decode_float8(uint64 *vals, uint32 n, double up, double down)
{
	for (uint32 i = 0; i < n; i++)
	{
		double		d = (double) (int64) vals[i] * up * down;

		memcpy(&vals[i], &d, sizeof(d));
	}
}

static ZS_CLONES void
decode_float4(uint64 *vals, uint32 n, double up, double down)
{
	for (uint32 i = 0; i < n; i++)
		vals[i] = to_pattern(ZS_KIND_FLOAT4, (double) (int64) vals[i] * up * down);
}

/* Reads an ALP vector of n values; they come out as patterns. */
const char *
zscodec_alp_decode(ZsValueKind kind, ZsReader *r, uint32 n, uint64 *out)
{
	uint16		pos[ZS_VECTOR_ROWS];
	uint32		nexceptions = 0;
	size_t		pattern_size = kind == ZS_KIND_FLOAT4 ? 4 : 8;
	const uint8 *patterns = NULL;
	const char *err;
	int			e;
	int			f;
	bool		has_exceptions;

	if (reader_left(r) < 3)
		return ZS_ERR_SHORT;
	e = r->p[0];
	f = r->p[1];
	has_exceptions = r->p[2] != 0;
	r->p += 3;
	if (e > ZS_ALP_EXPONENT_MAX || f > e)
		return "decimal exponent out of range";
	if (has_exceptions)
	{
		if ((err = zscodec_posset_decode(r, n, pos, &nexceptions)) != NULL)
			return err;
		if (reader_left(r) < nexceptions * pattern_size)
			return ZS_ERR_SHORT;
		patterns = r->p;
		r->p += nexceptions * pattern_size;
	}
	if ((err = zscodec_ints_decode(r, n, out)) != NULL)
		return err;
	if (kind == ZS_KIND_FLOAT4)
		decode_float4(out, n, powers[f], inverse_powers[e]);
	else
		decode_float8(out, n, powers[f], inverse_powers[e]);
	for (uint32 i = 0; i < nexceptions; i++)
		out[pos[i]] = pattern_size == 4 ? (uint64) (int64) (int32) load32(patterns + 4 * i) :
			load64(patterns + 8 * i);
	return NULL;
}
