/*-------------------------------------------------------------------------
 *
 * agg_extreme.c
 *	  Minimum and maximum.
 *
 * Of values that compare equal, min and max of floats, numerics and texts return the last one,
 * those of char(n) the first.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_extreme.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation_d.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "utils/varlena.h"
#include "varatt.h"

#include "agg_internal.h"

/* Does the later of two values take the place of the earlier one? */
static bool
replaces(const ZsAgg *agg, int64 present, int64 later)
{
	switch (agg->domain)
	{
		case ZS_DOMAIN_FLOAT4:
		case ZS_DOMAIN_FLOAT8:
			{
				double		a = zsagg_float_of(agg->domain, present);
				double		b = zsagg_float_of(agg->domain, later);

				return agg->kind == ZS_AGG_MAX ? !float8_gt(a, b) : !float8_lt(a, b);
			}
		case ZS_DOMAIN_UINT:
			/* those of 4 bytes are sign-extended, which keeps their order */
			return agg->kind == ZS_AGG_MAX ? (uint64) later > (uint64) present :
				(uint64) later < (uint64) present;
		default:
			return agg->kind == ZS_AGG_MAX ? later > present : later < present;
	}
}

/* Takes a later integer, or image of one, if it is better. */
static void
add_int(const ZsAgg *agg, ZsAggValue *value, int64 later)
{
	if (value->count == 0 || replaces(agg, value->integer, later))
		value->integer = later;
	value->count++;
}

/* An integer or pattern, or a numeric at its display scale. */
static void
add_either(const ZsAgg *agg, ZsAggValue *value, int64 later, int scale)
{
	if (agg->domain == ZS_DOMAIN_DECIMAL)
		zsagg_numeric_extreme_int(agg, value, later, scale, scale);
	else
		add_int(agg, value, later);
}

/* Does a later string take the place of the present one? */
static bool
string_replaces(const ZsAgg *agg, const char *present, size_t present_len, const char *later,
				size_t later_len)
{
	int			cmp;

	present_len = zsexpr_compared_length(agg->domain, present, present_len);
	later_len = zsexpr_compared_length(agg->domain, later, later_len);
	if (agg->collation == C_COLLATION_OID)
	{
		cmp = memcmp(present, later, Min(present_len, later_len));
		if (cmp == 0)
			cmp = present_len < later_len ? -1 : present_len > later_len ? 1 : 0;
	}
	else
		cmp = varstr_cmp(present, (int) present_len, later, (int) later_len, agg->collation);
	if (cmp == 0)
		return agg->domain != ZS_DOMAIN_BPCHAR;
	return agg->kind == ZS_AGG_MAX ? cmp < 0 : cmp > 0;
}

/* string: not compressed, with a header of any kind. */
static void
add_string(const ZsAgg *agg, ZsAggValue *value, const struct varlena *string)
{
	const char *bytes = VARDATA_ANY(string);
	size_t		len = VARSIZE_ANY_EXHDR(string);

	Assert(!VARATT_IS_COMPRESSED(string) && !VARATT_IS_EXTERNAL(string));
	if (value->count++ > 0 &&
		!string_replaces(agg, VARDATA(value->string), VARSIZE(value->string) - VARHDRSZ, bytes,
						 len))
		return;
	if (value->string_size < len + VARHDRSZ)
	{
		if (value->string != NULL)
			pfree(value->string);
		value->string_size = Max(32, len + len / 4 + VARHDRSZ);
		value->string = palloc_extended(value->string_size, MCXT_ALLOC_HUGE);
	}
	SET_VARSIZE(value->string, len + VARHDRSZ);
	memcpy(VARDATA(value->string), bytes, len);
}

/* ZsAggOps.size */
static Size
extreme_size(const ZsAgg *agg)
{
	if (agg->domain == ZS_DOMAIN_DECIMAL)
		return offsetof(ZsAggValue, best) + sizeof(int64);
	if (zsagg_is_string(agg))
		return offsetof(ZsAggValue, string_size) + sizeof(uint64);
	return offsetof(ZsAggValue, integer) + sizeof(int64);
}

/* ZsAggOps.add_one */
static void
extreme_one(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, uint32 row)
{
	if (zsagg_is_string(agg))
		add_string(agg, value, (const struct varlena *) vector->datums[row]);
	else if (agg->domain == ZS_DOMAIN_DECIMAL)
		zsagg_numeric_extreme_int(agg, value, vector->vals[row], vector->scale,
								  vector->dscales == NULL ? vector->scale :
								  vector->dscales[row]);
	else
		add_int(agg, value, vector->vals[row]);
}

/* ZsAggOps.add_datum */
static void
extreme_datum(const ZsAgg *agg, ZsAggValue *value, Datum datum)
{
	if (agg->domain == ZS_DOMAIN_DECIMAL)
		zsagg_numeric_extreme(agg, value, DatumGetNumeric(datum));
	else if (zsagg_is_string(agg))
	{
		struct varlena *string = PG_DETOAST_DATUM_PACKED(datum);

		add_string(agg, value, string);
		if (string != (struct varlena *) DatumGetPointer(datum))
			pfree(string);
	}
	else
		add_int(agg, value, zsattr_value_to_int(datum, agg->width));
}

/* ZsAggOps.add_rows */
static bool
extreme_rows(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector,
			 const uint64 *sel)
{
	bool		is_max = agg->kind == ZS_AGG_MAX;
	int64		best;
	int64		count;

	Assert(zskernel_bits_any(sel));
	if (agg->domain != ZS_DOMAIN_INT && (agg->domain != ZS_DOMAIN_DECIMAL ||
										 vector->dscales != NULL))
		return false;
	/* among equal values of one form it does not matter which is taken */
	best = is_max ? zskernel_max_int64(vector->vals, sel) : zskernel_min_int64(vector->vals, sel);
	count = value->count + zskernel_bits_count(sel);
	add_either(agg, value, best, vector->scale);
	value->count = count;
	return true;
}

/* MIN, MAX: of equal values of one scale it does not matter which is taken. */
static inline void
add_decimal_extreme(const ZsAgg *agg, ZsAggValue *value, int64 v, int scale)
{
	if (likely(value->count > 0 && !value->is_large && value->scale == scale &&
			   value->dscale == scale))
	{
		if (agg->kind == ZS_AGG_MAX ? v > value->best : v < value->best)
			value->best = v;
		value->count++;
	}
	else
		zsagg_numeric_extreme_int(agg, value, v, scale, scale);
}

/* ZsAggOps.add_groups */
static bool
extreme_groups(const ZsAgg *agg, const ZsColumnVector *vector, const ZsGroupRows *rows)
{
	int			scale;

	if (agg->domain != ZS_DOMAIN_DECIMAL || vector == NULL || vector->dscales != NULL)
		return false;
	scale = vector->scale;
	ZS_FOR_EACH_ROW(rows, vector, add_decimal_extreme(agg, value, v, scale));
	return true;
}

/* ZsAggOps.add_totals */
static void
extreme_totals(const ZsAgg *agg, ZsAggValue *value, const ZsVectorTotals *totals)
{
	add_either(agg, value, agg->kind == ZS_AGG_MAX ? totals->max : totals->min, totals->scale);
}

/* ZsAggOps.result */
static Datum
extreme_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	*isnull = value->count == 0;
	if (*isnull)
		return (Datum) 0;
	if (agg->domain == ZS_DOMAIN_DECIMAL)
		return NumericGetDatum(zsagg_numeric_best(value));
	if (zsagg_is_string(agg))
		return PointerGetDatum(value->string);
	return zsexpr_int_to_datum(agg->width, value->integer);
}

#define EXTREME_OPS \
	.size = extreme_size, \
	.add_one = extreme_one, \
	.add_datum = extreme_datum, \
	.add_rows = extreme_rows, \
	.add_groups = extreme_groups, \
	.add_totals = extreme_totals, \
	.result = extreme_result, \
	.partial = extreme_result, \
	.state = ZS_STATE_VALUE, \
	.distinct = ZS_DISTINCT_IGNORED, \
	.has_totals = true, \
	.owns_strings = true, \
	.raises_nothing = true

const ZsAggOps zsagg_ops_min = {EXTREME_OPS};
const ZsAggOps zsagg_ops_max = {EXTREME_OPS};
