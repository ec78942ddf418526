/*-------------------------------------------------------------------------
 *
 * agg_column.c
 *	  Adds a batch's values to aggregates.
 *
 * Either all of them to the value of one aggregate, by the loops of src/kernel where the order of
 * the rows does not show in the result; or each to the value of its group, which a list of numbers
 * names.  What has no loop of its own goes value by value (agg_value.c).
 *
 * A sum of floats may overflow, and core says then in which row: the loop tells when its sum has
 * become infinite, and the rows are added once more, one after the other.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_column.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/float.h"

#include "zs_agg.h"
#include "zs_compat.h"

/* ---- one value --------------------------------------------------------------------------- */

/* The rows of sel one after the other. */
static void
add_each(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, const uint64 *sel)
{
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = sel[w]; word != 0; word &= word - 1)
			zsagg_add_one(agg, value, vector, w * 64 + __builtin_ctzll(word));
	}
}

static void
add_decimals(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, const uint64 *sel)
{
	Assert(vector->vals != NULL && vector->scale >= 0);
	value->count += zskernel_bits_count(sel);
	if (vector->dscales == NULL)
		value->dscale = Max(value->dscale, vector->scale);
	else
	{
		for (int w = 0; w < ZS_KERNEL_WORDS; w++)
		{
			for (uint64 word = sel[w]; word != 0; word &= word - 1)
				value->dscale = Max(value->dscale, vector->dscales[w * 64 + __builtin_ctzll(word)]);
		}
	}
	zsagg_numeric_sum_int(agg, value, zskernel_sum_int64(vector->vals, sel), vector->scale);
}

/* Adds the floats of sel; false, and nothing has changed, if the sum becomes infinite. */
static bool
add_floats(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, const uint64 *sel)
{
	uint64		rest[ZS_KERNEL_WORDS];
	float		sx4 = value->sx4;
	double		sx = value->sx;
	bool		finite;
	int			w = 0;

	Assert(zskernel_bits_any(sel));
	zskernel_bits_copy(rest, sel);
	if (value->count == 0)
	{
		/* the first input is the state as it is, -0 included */
		while (rest[w] == 0)
			w++;
		sx4 = zskernel_float4(vector->vals[w * 64 + __builtin_ctzll(rest[w])]);
		sx = zskernel_float8(vector->vals[w * 64 + __builtin_ctzll(rest[w])]);
		rest[w] &= rest[w] - 1;
	}

	/* once infinite or NaN a sum stays so; whether it may become so is core's to say */
	if (agg->kind == ZS_AGG_SUM_FLOAT4)
	{
		finite = isfinite(sx4);
		sx4 = zskernel_sum_float4(vector->vals, rest, sx4);
		if (finite && !isfinite(sx4))
			return false;
		value->sx4 = sx4;
	}
	else
	{
		finite = isfinite(sx);
		sx = zskernel_sum_float8(vector->vals, rest, sx);
		if (finite && !isfinite(sx))
			return false;
		value->sx = sx;
	}
	value->count += zskernel_bits_count(sel);
	return true;
}

static void
add_extremes(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, const uint64 *sel)
{
	bool		is_max = agg->kind == ZS_AGG_MAX;
	int64		best;
	int64		count;

	Assert(zskernel_bits_any(sel));
	if (agg->domain != ZS_DOMAIN_INT && (agg->domain != ZS_DOMAIN_DECIMAL ||
										 vector->dscales != NULL))
	{
		add_each(agg, value, vector, sel);
		return;
	}
	/* among equal values of one form it does not matter which is taken */
	best = is_max ? zskernel_max_int64(vector->vals, sel) : zskernel_min_int64(vector->vals, sel);
	count = value->count + zskernel_bits_count(sel);
	zsagg_add_extreme(agg, value, best, vector->scale);
	value->count = count;
}

/* See zs_agg.h. */
void
zsagg_add_batch(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector,
				const uint64 *sel)
{
	uint32		count = zskernel_bits_count(sel);

	if (count == 0)
		return;
	Assert(vector != NULL || agg->kind == ZS_AGG_COUNT_ROWS || agg->kind == ZS_AGG_COUNT);
	if (agg->state != ZS_STATE_NONE)
	{
		add_each(agg, value, vector, sel);
		return;
	}
	switch (agg->kind)
	{
		case ZS_AGG_COUNT_ROWS:
		case ZS_AGG_COUNT:
			value->count += count;
			return;
		case ZS_AGG_SUM_INT:
		case ZS_AGG_AVG_INT:
			value->count += count;
			value->integer = (int64) ((uint64) value->integer +
									  (uint64) zskernel_sum_int64_narrow(vector->vals, sel));
			return;
		case ZS_AGG_SUM_INT8:
		case ZS_AGG_AVG_INT8:
			/* 2^63 rows would be needed to overflow this */
			Assert(!value->is_large);
			value->count += count;
			value->sum += zskernel_sum_int64(vector->vals, sel);
			return;
		case ZS_AGG_SUM_NUMERIC:
		case ZS_AGG_AVG_NUMERIC:
			add_decimals(agg, value, vector, sel);
			return;
		case ZS_AGG_SUM_FLOAT4:
		case ZS_AGG_SUM_FLOAT8:
			if (add_floats(agg, value, vector, sel))
				return;
			break;
		case ZS_AGG_MIN:
		case ZS_AGG_MAX:
			add_extremes(agg, value, vector, sel);
			return;
		case ZS_AGG_ANY:
			if (value->count > 0)
				return;
			break;
		case ZS_AGG_AVG_FLOAT:
		case ZS_AGG_VAR_INT:
		case ZS_AGG_VAR_FLOAT:
		case ZS_AGG_BIT_AND:
		case ZS_AGG_BIT_OR:
		case ZS_AGG_BIT_XOR:
		case ZS_AGG_CORE:
			break;
	}
	add_each(agg, value, vector, sel);
}

/* ---- values of groups -------------------------------------------------------------------- */

static inline void
add_decimal(const ZsAgg *agg, ZsAggValue *value, int64 v, int scale)
{
	value->count++;
	value->dscale = Max(value->dscale, scale);

	/* a sum of 64 bits or so is far from the ends of 128 */
	if (likely(value->scale == scale && !value->is_large &&
			   (int64) (value->sum >> 64) == (int64) (value->sum >> 127)))
		value->sum += v;
	else
		zsagg_numeric_sum_int(agg, value, v, scale);
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

/* Rows ahead whose values are fetched where these are far away. */
#define FETCH_AHEAD	16

/* Does what `step` does to the value of each of n rows; v is the row's argument. */
#define FOR_EACH_ROW(step) \
	for (uint32 i = 0; i < n; i++) \
	{ \
		uint32		row = list[i]; \
		ZsAggValue *value = (ZsAggValue *) (values + groups[i] * stride); \
		int64		v = vals != NULL ? vals[row] : 0; \
		\
		if (is_far && i + FETCH_AHEAD < n) \
		{ \
			const char *ahead = values + groups[i + FETCH_AHEAD] * stride; \
			\
			__builtin_prefetch(ahead, 1); \
			__builtin_prefetch(ahead + last, 1); \
		} \
		(void) v; \
		step; \
	}

/*
 * The rows of list (n positions) that are in sel and have a group, and their groups; returns how
 * many there are.  all_known: each row has a group.
 */
static uint32
select_rows(const uint64 *sel, const uint16 *list, uint32 n, const uint32 *groups, bool all_known,
			uint16 *sublist, uint32 *subgroups)
{
	uint32		nsub = 0;

	if (all_known && n == (uint32) list[n - 1] + 1)
	{
		/* the rows are the first n, so that groups are in their order */
		nsub = zskernel_bits_list(sel, sublist);
		Assert(nsub <= n);
		for (uint32 i = 0; i < nsub; i++)
			subgroups[i] = groups[sublist[i]];
		return nsub;
	}
	for (uint32 i = 0; i < n; i++)
	{
		sublist[nsub] = list[i];
		subgroups[nsub] = groups[i];
		nsub += groups[i] != PG_UINT32_MAX && zskernel_bits_get(sel, list[i]) ? 1 : 0;
	}
	return nsub;
}

/* See zs_agg.h. */
void
zsagg_add_groups(const ZsAgg *agg, char *values, Size stride, bool is_far,
				 const ZsColumnVector *vector, const uint64 *sel, const uint16 *list,
				 uint32 n, const uint32 *groups, bool all_known)
{
	const int64 *vals = vector != NULL ? vector->vals : NULL;
	Size		last = zsagg_value_size(agg) - 1;
	uint16		sublist[ZS_KERNEL_ROWS];
	uint32		subgroups[ZS_KERNEL_ROWS];
	uint32		nsub;

	Assert(n > 0 && n <= ZS_KERNEL_ROWS && list[n - 1] < ZS_KERNEL_ROWS);
	nsub = select_rows(sel, list, n, groups, all_known, sublist, subgroups);
	list = sublist;
	groups = subgroups;
	n = nsub;
	if (agg->state != ZS_STATE_NONE)
	{
		FOR_EACH_ROW(zsagg_add_one(agg, value, vector, row));
		return;
	}
	switch (agg->kind)
	{
		case ZS_AGG_COUNT_ROWS:
		case ZS_AGG_COUNT:
			FOR_EACH_ROW(value->count++);
			break;
		case ZS_AGG_SUM_INT:
		case ZS_AGG_AVG_INT:
			FOR_EACH_ROW((value->count++,
						  value->integer = (int64) ((uint64) value->integer + (uint64) v)));
			break;
		case ZS_AGG_SUM_NUMERIC:
		case ZS_AGG_AVG_NUMERIC:
			if (vector != NULL && vector->dscales == NULL)
			{
				int			scale = vector->scale;

				FOR_EACH_ROW(add_decimal(agg, value, v, scale));
				break;
			}
			FOR_EACH_ROW(zsagg_add_one(agg, value, vector, row));
			break;
		case ZS_AGG_MIN:
		case ZS_AGG_MAX:
			if (agg->domain == ZS_DOMAIN_DECIMAL && vector != NULL && vector->dscales == NULL)
			{
				int			scale = vector->scale;

				FOR_EACH_ROW(add_decimal_extreme(agg, value, v, scale));
				break;
			}
			ZS_FALLTHROUGH;
		default:
			FOR_EACH_ROW(zsagg_add_one(agg, value, vector, row));
			break;
	}
}
