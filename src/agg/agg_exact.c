/*-------------------------------------------------------------------------
 *
 * agg_exact.c
 *	  Sums and averages of numerics, and of integers of 8 bytes.
 *
 * Sums are exact, of any size and scale: agg_numeric.c.  Integers of 64 bits need 128 at most.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_exact.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "libpq/pqformat.h"

#include "agg_internal.h"

/* ZsAggOps.size */
static Size
exact_size(const ZsAgg *agg)
{
	return offsetof(ZsAggValue, sum) + sizeof(zs_int128);
}

/* ---- integers of 8 bytes ------------------------------------------------------------------ */

/* ZsAggOps.add_one of bigint */
static void
int8_one(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, uint32 row)
{
	Assert(!value->is_large);
	value->sum += vector->vals[row];
	value->count++;
}

/* ZsAggOps.add_rows of bigint */
static bool
int8_rows(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, const uint64 *sel)
{
	/* 2^63 rows would be needed to overflow this */
	Assert(!value->is_large);
	value->count += zskernel_bits_count(sel);
	value->sum += zskernel_sum_int64(vector->vals, sel);
	return true;
}

/* ZsAggOps.add_totals of bigint */
static void
int8_totals(const ZsAgg *agg, ZsAggValue *value, const ZsVectorTotals *totals)
{
	Assert(!value->is_large);
	value->sum += totals->sum;
}

/* ---- numerics ----------------------------------------------------------------------------- */

/* The display scale of a row. */
static inline int
dscale_of(const ZsColumnVector *vector, uint32 row)
{
	return vector->dscales == NULL ? vector->scale : vector->dscales[row];
}

/* ZsAggOps.add_one of numeric */
static void
numeric_one(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, uint32 row)
{
	value->dscale = Max(value->dscale, dscale_of(vector, row));
	zsagg_numeric_sum_int(agg, value, vector->vals[row], vector->scale);
	value->count++;
}

/* ZsAggOps.add_datum of numeric */
static void
numeric_datum(const ZsAgg *agg, ZsAggValue *value, Datum datum)
{
	zsagg_numeric_sum(agg, value, DatumGetNumeric(datum));
}

/* ZsAggOps.add_rows of numeric */
static bool
numeric_rows(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector,
			 const uint64 *sel)
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
	return true;
}

/* Adds v / 10^scale. */
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

/* ZsAggOps.add_groups of numeric */
static bool
numeric_groups(const ZsAgg *agg, const ZsColumnVector *vector, const ZsGroupRows *rows)
{
	int			scale;

	if (vector == NULL || vector->dscales != NULL)
		return false;
	scale = vector->scale;
	ZS_FOR_EACH_ROW(rows, vector, add_decimal(agg, value, v, scale));
	return true;
}

/* ZsAggOps.add_totals of numeric */
static void
numeric_totals(const ZsAgg *agg, ZsAggValue *value, const ZsVectorTotals *totals)
{
	value->dscale = Max(value->dscale, totals->scale);
	zsagg_numeric_sum_int(agg, value, totals->sum, totals->scale);
}

/* ---- both --------------------------------------------------------------------------------- */

/* As int8_avg_serialize(), and as numeric_avg_serialize(). */
static Datum
sum_state(const ZsAgg *agg, ZsAggValue *value, bool is_numeric)
{
	StringInfoData buf;

	Assert(value->count > 0 || is_numeric);
	pq_begintypsend(&buf);
	pq_sendint64(&buf, value->count);
	if (!is_numeric)
	{
		/* integers of 64 bits: no number of rows makes more than 128 of them */
		Assert(!value->is_large && value->scale == 0);
		zsagg_state_send_integer(&buf, value->sum);
	}
	else
	{
		zsagg_state_send_numeric(&buf, zsagg_numeric_total(agg, value));
		pq_sendint32(&buf, value->dscale);
		pq_sendint64(&buf, value->count);
		pq_sendint64(&buf, value->has_nan ? 1 : 0);
		pq_sendint64(&buf, value->has_pinf ? 1 : 0);
		pq_sendint64(&buf, value->has_ninf ? 1 : 0);
	}
	return PointerGetDatum(pq_endtypsend(&buf));
}

/* ZsAggOps.partial of bigint */
static Datum
int8_partial(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	*isnull = value->count == 0;
	return *isnull ? (Datum) 0 : sum_state(agg, value, false);
}

/* ZsAggOps.partial of numeric */
static Datum
numeric_partial(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	*isnull = value->count == 0 && !value->has_nan && !value->has_pinf && !value->has_ninf;
	return *isnull ? (Datum) 0 : sum_state(agg, value, true);
}

/* ZsAggOps.may_raise of numeric */
static bool
numeric_may_raise(const ZsAgg *agg, const ZsAggValue *value)
{
	return value->is_large;
}

/* spare: the part of the sum that core keeps, if is_large says that there is one. */
static void
exact_combine(const ZsAgg *agg, ZsAggValue *value, const ZsAggValue *other, const char *spare)
{
	value->count += other->count;
	value->dscale = Max(value->dscale, other->dscale);
	value->has_nan |= other->has_nan;
	value->has_pinf |= other->has_pinf;
	value->has_ninf |= other->has_ninf;
	zsagg_numeric_sum_int(agg, value, other->sum, other->scale);
	if (other->is_large)
		zsagg_numeric_sum_spare(agg, value, spare);
}

#define EXACT_OPS \
	.size = exact_size, \
	.result = zsagg_numeric_result, \
	.combine = exact_combine, \
	.state = ZS_STATE_IMAGE, \
	.sums = ZS_SUMS_VALUES, \
	.has_totals = true, \
	.is_exact_sum = true, \
	.is_serialized = true

#define INT8_OPS \
	.add_one = int8_one, \
	.add_rows = int8_rows, \
	.add_totals = int8_totals, \
	.partial = int8_partial, \
	.distinct = ZS_DISTINCT_FIRST, \
	.raises_nothing = true

#define NUMERIC_OPS \
	.add_one = numeric_one, \
	.add_datum = numeric_datum, \
	.add_rows = numeric_rows, \
	.add_groups = numeric_groups, \
	.add_totals = numeric_totals, \
	.partial = numeric_partial, \
	.may_raise = numeric_may_raise, \
	.distinct = ZS_DISTINCT_ONE_SCALE

const ZsAggOps zsagg_ops_sum_int8 = {EXACT_OPS, INT8_OPS};
const ZsAggOps zsagg_ops_avg_int8 = {EXACT_OPS, INT8_OPS};
const ZsAggOps zsagg_ops_sum_numeric = {EXACT_OPS, NUMERIC_OPS};
const ZsAggOps zsagg_ops_avg_numeric = {EXACT_OPS, NUMERIC_OPS};
