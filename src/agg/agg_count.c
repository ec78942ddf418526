/*-------------------------------------------------------------------------
 *
 * agg_count.c
 *	  count(*) and count(x).
 *
 * Counts look at no value; which rows have one is known without it.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_count.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "agg_internal.h"

/* ZsAggOps.size */
static Size
count_size(const ZsAgg *agg)
{
	return offsetof(ZsAggValue, integer);
}

/* ZsAggOps.add_one */
static void
count_one(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, uint32 row)
{
	value->count++;
}

/* ZsAggOps.add_datum */
static void
count_datum(const ZsAgg *agg, ZsAggValue *value, Datum datum)
{
	value->count++;
}

/* ZsAggOps.add_rows */
static bool
count_rows(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, const uint64 *sel)
{
	value->count += zskernel_bits_count(sel);
	return true;
}

/* ZsAggOps.add_groups */
static bool
count_groups(const ZsAgg *agg, const ZsColumnVector *vector, const ZsGroupRows *rows)
{
	ZS_FOR_EACH_ROW(rows, vector, value->count++);
	return true;
}

/* ZsAggOps.result */
static Datum
count_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	return Int64GetDatum(value->count);
}

#define COUNT_OPS \
	.size = count_size, \
	.add_one = count_one, \
	.add_datum = count_datum, \
	.add_rows = count_rows, \
	.add_groups = count_groups, \
	.result = count_result, \
	.partial = count_result, \
	.state = ZS_STATE_INT, \
	.sums = ZS_SUMS_COUNT, \
	.has_totals = true, \
	.raises_nothing = true

const ZsAggOps zsagg_ops_count_rows = {
	COUNT_OPS
};

const ZsAggOps zsagg_ops_count = {
	COUNT_OPS,
	.distinct = ZS_DISTINCT_FIRST
};
