/*-------------------------------------------------------------------------
 *
 * codec_zone.c
 *	  The order-preserving 64-bit images of values that zone maps are made of.
 *
 * The domains are defined in zs_codec.h.  Bounds may be too wide, never too narrow: a numeric
 * becomes an interval of two float8 values around it, and whatever cannot be read makes no zone map
 * at all.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_zone.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_internal.h"

#include <float.h>
#include <math.h>

/*
 * Rounding of a few operations on float8 stays below this; denormals are covered by the absolute
 * part.
 */
#define RELATIVE_ERROR		1e-14

/* The zone image of an integer of width bytes (zs_codec.h says how images are ordered). */
int64
zscodec_zone_from_int64(int64 value, int width, bool is_unsigned)
{
	if (!is_unsigned)
		return value;
	switch (width)
	{
		case 1:
			return (int64) (uint8) value;
		case 2:
			return (int64) (uint16) value;
		case 4:
			return (int64) (uint32) value;
		default:
			return (int64) ((uint64) value ^ (UINT64CONST(1) << 63));
	}
}

/*
 * Positive floats ascend like their patterns, negative ones descend.  Zero of either sign becomes
 * 0, NaN of any kind the largest image.
 */
int64
zscodec_zone_from_float8(double value)
{
	int64		pattern;

	if (isnan(value))
		return PG_INT64_MAX;
	if (value == 0)
		return 0;
	memcpy(&pattern, &value, sizeof(pattern));
	return pattern >= 0 ? pattern : (int64) ((UINT64CONST(1) << 63) - (uint64) pattern);
}

/* The image of a float column's bit pattern. */
int64
zscodec_zone_from_pattern(ZsValueKind kind, uint64 pattern)
{
	if (kind == ZS_KIND_FLOAT4)
	{
		uint32		low = (uint32) pattern;
		float		f;

		memcpy(&f, &low, sizeof(f));
		return zscodec_zone_from_float8((double) f);
	}
	else
	{
		double		d;

		Assert(kind == ZS_KIND_FLOAT8);
		memcpy(&d, &pattern, sizeof(d));
		return zscodec_zone_from_float8(d);
	}
}

/* The zone image of a string: its first 8 bytes, big-endian, padded with zeros. */
int64
zscodec_zone_from_bytes(const uint8 *bytes, size_t len)
{
	return (int64) (__builtin_bswap64(load_first(bytes, len)) ^ (UINT64CONST(1) << 63));
}

/* The interval around a float8 that was computed with rounding. */
static void
widen(double value, int64 *lower, int64 *upper)
{
	double		margin = fabs(value) * RELATIVE_ERROR + DBL_MIN;

	if (isinf(value))
	{
		/* Overflow of something finite: at least DBL_MAX in size. */
		*lower = value > 0 ? zscodec_zone_from_float8(DBL_MAX / 2) :
			zscodec_zone_from_float8(value);
		*upper = value > 0 ? zscodec_zone_from_float8(value) :
			zscodec_zone_from_float8(-DBL_MAX / 2);
		return;
	}
	*lower = zscodec_zone_from_float8(value - margin);
	*upper = zscodec_zone_from_float8(value + margin);
}

/* Bounds of numerics min / 10^scale .. max / 10^scale. */
void
zscodec_zone_from_scaled(int64 min, int64 max, int scale, int64 *lower, int64 *upper)
{
	double		divisor = pow(10.0, scale);
	int64		ignored;

	Assert(min <= max && scale >= 0);
	widen((double) min / divisor, lower, &ignored);
	widen((double) max / divisor, &ignored, upper);
}

/* 10000^exponent by squaring; 0 or infinite beyond the range of float8. */
static double
pow_10000(int exponent)
{
	double		result = 1.0;
	double		base = 10000.0;
	unsigned	n = (unsigned) abs(exponent);

	for (; n > 0; n >>= 1, base *= base)
	{
		if (n & 1)
			result *= base;
	}
	return exponent < 0 ? 1.0 / result : result;
}

/* Bounds of a numeric payload; false when the payload is malformed. */
bool
zscodec_zone_from_numeric(const uint8 *payload, size_t len, int64 *lower, int64 *upper)
{
	uint16		header;
	int			weight;
	bool		negative;
	double		value = 0;
	size_t		ndigits;

	if (len < 2)
		return false;
	header = load16(payload);
	if ((header & 0xC000) == 0xC000)
	{
		/* NaN, +Infinity, -Infinity. */
		double		special = (header & 0xF000) == 0xC000 ? NAN :
			(header & 0xF000) == 0xD000 ? INFINITY : -INFINITY;

		*lower = *upper = zscodec_zone_from_float8(special);
		return (header & 0xF000) != 0xE000;
	}
	if ((header & 0xC000) == 0x8000)
	{
		weight = (header & 0x3F) - (header & 0x40);
		negative = (header & 0x2000) != 0;
		payload += 2;
		len -= 2;
	}
	else
	{
		if (len < 4)
			return false;
		weight = (int16) load16(payload + 2);
		negative = (header & 0xC000) == 0x4000;
		payload += 4;
		len -= 4;
	}
	if (len % 2 != 0)
		return false;

	/* Six digits of base 10000 fill a float8; what follows is below the margin. */
	ndigits = Min(len / 2, 6);
	for (size_t i = 0; i < ndigits; i++)
	{
		int			digit = (int16) load16(payload + 2 * i);

		if (digit < 0 || digit > 9999)
			return false;
		value = value * 10000.0 + digit;
	}
	if (value != 0)
	{
		double		factor = pow_10000(weight - (int) ndigits + 1);

		/* Where the factor leaves the range of float8 the product may still be within it. */
		if (isinf(factor) || factor < DBL_MIN)
			value = value * pow_10000(weight / 2) *
				pow_10000(weight - weight / 2 - (int) ndigits + 1);
		else
			value *= factor;
	}
	widen(negative ? -value : value, lower, upper);
	return true;
}
