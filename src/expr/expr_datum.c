/*-------------------------------------------------------------------------
 *
 * expr_datum.c
 *	  Integers and decimals of vectors as datums.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_datum.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "varatt.h"

#include "zs_codec.h"
#include "zs_expr.h"

/* With at most so many digits a numeric is made without going through text. */
#define MAX_SMALL		INT64CONST(999999999999999999)
#define MAX_SMALL_SCALE	16

/*
 * value / 10^scale with the display scale dscale, in the current context; digits behind that are
 * zeros.
 */
Numeric
zsexpr_numeric_make(zs_int128 sum, int scale, int dscale)
{
	Size		size;
	char	   *text;
	char	   *p;
	bool		negative = sum < 0;
	unsigned __int128 rest = negative ? -(unsigned __int128) sum : (unsigned __int128) sum;
	int			digits = 0;
	Numeric		result;

	Assert(scale >= 0 && dscale >= 0);
	for (; scale > dscale; scale--)
	{
		Assert(rest % 10 == 0);
		rest /= 10;
	}
	for (; scale < dscale && dscale <= MAX_SMALL_SCALE && rest <= MAX_SMALL / 10; scale++)
		rest *= 10;
	if (scale == dscale && scale <= MAX_SMALL_SCALE && rest <= MAX_SMALL)
	{
		uint8		payload[ZS_NUMERIC_PAYLOAD_MAX];
		Size		len = zscodec_numeric_from_int(negative ? -(int64) rest : (int64) rest, scale,
												   payload);

		result = palloc(VARHDRSZ + len);
		SET_VARSIZE(result, VARHDRSZ + len);
		memcpy(VARDATA(result), payload, len);
		return result;
	}
	/* 39 digits, or those behind the point and one, and what else there is */
	size = 64 + Max(scale, dscale);
	text = palloc(size);
	p = text + size;
	*--p = '\0';
	for (int i = scale; i < dscale; i++)
	{
		if (scale == 0 && i == dscale - 1)
		{
			*--p = '0';
			*--p = '.';
		}
		else
			*--p = '0';
	}
	while (rest != 0 || digits <= scale)
	{
		if (digits == scale && scale > 0)
			*--p = '.';
		*--p = '0' + (char) (rest % 10);
		rest /= 10;
		digits++;
	}
	if (negative)
		*--p = '-';
	Assert(p >= text);
	result = DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(p),
												 ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
	pfree(text);
	return result;
}

/* Integers of vectors as by-value datums of size bytes; back: zsattr_value_to_int(). */
Datum
zsexpr_int_to_datum(int size, int64 value)
{
	switch (size)
	{
		case 1:
			return CharGetDatum((char) value);
		case 2:
			return Int16GetDatum((int16) value);
		case 4:
			return Int32GetDatum((int32) value);
		default:
			Assert(size == sizeof(int64));
			return Int64GetDatum(value);
	}
}

static const int64 powers[] = {
	1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, INT64CONST(1000000000),
	INT64CONST(10000000000), INT64CONST(100000000000), INT64CONST(1000000000000),
	INT64CONST(10000000000000), INT64CONST(100000000000000), INT64CONST(1000000000000000),
	INT64CONST(10000000000000000)
};

/*
 * Numerics (n datums) as integers of one scale, the largest display scale among them, which is
 * returned; dscales: that of each.  Those of nulls (or NULL) and odd, bitmaps, are left out; those
 * that do not fit become odd, too: then it returns true.  *uniform: all have the same.
 */
bool
zsexpr_decimals_of_datums(const uint64 *datums, uint32 n, const uint64 *nulls, uint64 *odd,
						  int64 *scaled, uint8 *dscales, int *scale, bool *uniform)
{
	int			most = 0;
	int			least = lengthof(powers);
	bool		found_odd = false;

	for (uint32 row = 0; row < n; row++)
	{
		const char *datum = (const char *) datums[row];
		int			own = 0;

		if (row % ZS_KERNEL_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		scaled[row] = 0;
		dscales[row] = 0;
		if ((nulls != NULL && zskernel_bits_get(nulls, row)) || zskernel_bits_get(odd, row))
			continue;
		if (!zscodec_numeric_to_int((const uint8 *) VARDATA_ANY(datum), VARSIZE_ANY_EXHDR(datum),
									&own, &scaled[row]) ||
			own >= (int) lengthof(powers))
		{
			found_odd = true;
			zskernel_bits_set(odd, row);
			scaled[row] = 0;
			continue;
		}
		dscales[row] = (uint8) own;
		most = Max(most, own);
		least = Min(least, own);
	}
	*scale = most;
	*uniform = least >= most;
	for (uint32 row = 0; !*uniform && row < n; row++)
	{
		if (__builtin_mul_overflow(scaled[row], powers[most - dscales[row]], &scaled[row]))
		{
			found_odd = true;
			zskernel_bits_set(odd, row);
			scaled[row] = 0;
		}
	}
	return found_odd;
}
