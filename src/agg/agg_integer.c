/*-------------------------------------------------------------------------
 *
 * agg_integer.c
 *	  Sums and averages of integers of 2 and 4 bytes.
 *
 * Sums wrap at 64 bits, as core's do.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_integer.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "agg_internal.h"

/* ZsAggOps.size */
static Size
integer_size(const ZsAgg *agg)
{
	return offsetof(ZsAggValue, integer) + sizeof(int64);
}

/* Adds to a sum, as core does without a look at overflow: no table has so many rows. */
static inline void
add(ZsAggValue *value, int64 v)
{
	value->integer = (int64) ((uint64) value->integer + (uint64) v);
}

/* ZsAggOps.add_one */
static void
integer_one(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, uint32 row)
{
	add(value, vector->vals[row]);
	value->count++;
}

/* ZsAggOps.add_rows */
static bool
integer_rows(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector,
			 const uint64 *sel)
{
	value->count += zskernel_bits_count(sel);
	add(value, zskernel_sum_int64_narrow(vector->vals, sel));
	return true;
}

/* ZsAggOps.add_groups */
static bool
integer_groups(const ZsAgg *agg, const ZsColumnVector *vector, const ZsGroupRows *rows)
{
	ZS_FOR_EACH_ROW(rows, vector, (value->count++, add(value, v)));
	return true;
}

/* ZsAggOps.add_totals */
static void
integer_totals(const ZsAgg *agg, ZsAggValue *value, const ZsVectorTotals *totals)
{
	add(value, totals->sum);
}

/* ZsAggOps.result of sums */
static Datum
sum_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	*isnull = value->count == 0;
	return *isnull ? (Datum) 0 : Int64GetDatum(value->integer);
}

/* ZsAggOps.result of averages */
static Datum
avg_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	*isnull = value->count == 0;
	if (*isnull)
		return (Datum) 0;
	return DirectFunctionCall2(numeric_div, NumericGetDatum(int64_to_numeric(value->integer)),
							   NumericGetDatum(int64_to_numeric(value->count)));
}

/* Count and sum. */
static Datum
avg_partial(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	Datum		elements[2] = {Int64GetDatum(value->count), Int64GetDatum(value->integer)};

	return PointerGetDatum(construct_array_builtin(elements, 2, INT8OID));
}

/* ZsAggOps.combine of averages */
static void
avg_combine(const ZsAgg *agg, ZsAggValue *value, const ZsAggValue *other, const char *spare)
{
	add(value, other->integer);
	value->count += other->count;
}

#define INTEGER_OPS \
	.size = integer_size, \
	.add_one = integer_one, \
	.add_rows = integer_rows, \
	.add_groups = integer_groups, \
	.add_totals = integer_totals, \
	.distinct = ZS_DISTINCT_FIRST, \
	.sums = ZS_SUMS_VALUES, \
	.has_totals = true, \
	.raises_nothing = true

const ZsAggOps zsagg_ops_sum_int = {
	INTEGER_OPS,
	.result = sum_result,
	.partial = sum_result,
	.state = ZS_STATE_INT
};

const ZsAggOps zsagg_ops_avg_int = {
	INTEGER_OPS,
	.result = avg_result,
	.partial = avg_partial,
	.combine = avg_combine,
	.state = ZS_STATE_IMAGE
};
