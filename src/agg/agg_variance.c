/*-------------------------------------------------------------------------
 *
 * agg_variance.c
 *	  Variances and standard deviations.
 *
 * Those of integers keep exact sums of the values and of their squares, those of floats what core
 * keeps.  Results are made by core's final functions, from sums that are given to them in the form
 * in which parallel workers would.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_variance.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "libpq/pqformat.h"

#include "agg_internal.h"

/* ---- integers ----------------------------------------------------------------------------- */

/* ZsAggOps.size of integers */
static Size
int_size(const ZsAgg *agg)
{
	return sizeof(ZsAggValue);
}

/* ZsAggOps.add_one of integers */
static void
int_one(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, uint32 row)
{
	int64		v = vector->vals[row];

	value->count++;
	value->sum1 += v;
	value->sum2 += (zs_int128) v * v;
}

/* Count, sum and sum of squares as core serializes them. */
static Datum
int_state(const ZsAggValue *value)
{
	StringInfoData buf;

	Assert(value->count > 0 && value->sum2 >= 0);
	pq_begintypsend(&buf);
	pq_sendint64(&buf, value->count);
	zsagg_state_send_integer(&buf, value->sum1);
	zsagg_state_send_integer(&buf, value->sum2);
	return PointerGetDatum(pq_endtypsend(&buf));
}

/* What core's final function says of count, sum and sum of squares. */
static Datum
int_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	ZsCoreValue trans;

	Assert(agg->core != NULL);
	if (value->count == 0)
	{
		*isnull = true;
		return (Datum) 0;
	}
	zsagg_core_deserialize(agg->core, agg->node, int_state(value), false,
						   &trans);
	return zsagg_core_result(agg->core, agg->node, &trans, isnull);
}

/* ZsAggOps.partial of integers */
static Datum
int_partial(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	*isnull = value->count == 0;
	return *isnull ? (Datum) 0 : int_state(value);
}

/* ZsAggOps.combine of integers */
static void
int_combine(const ZsAgg *agg, ZsAggValue *value, const ZsAggValue *other, const char *spare)
{
	value->sum1 += other->sum1;
	value->sum2 += other->sum2;
	value->count += other->count;
}

const ZsAggOps zsagg_ops_var_int = {
	.size = int_size,
	.add_one = int_one,
	.result = int_result,
	.partial = int_partial,
	.combine = int_combine,
	.state = ZS_STATE_IMAGE,
	.distinct = ZS_DISTINCT_FIRST,
	.needs_core = true,
	.is_serialized = true
};

/* ---- floats ------------------------------------------------------------------------------- */

/* ZsAggOps.result of floats */
static Datum
float_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	ZsCoreValue trans = {.known = true};

	Assert(agg->core != NULL);
	trans.value = zsagg_float_partial(agg, value, isnull);
	return zsagg_core_result(agg->core, agg->node, &trans, isnull);
}

const ZsAggOps zsagg_ops_var_float = {
	.size = zsagg_float_size,
	.add_one = zsagg_float_one,
	.result = float_result,
	.partial = zsagg_float_partial,
	.combine = zsagg_float_combine,
	.state = ZS_STATE_IMAGE,
	.needs_core = true
};
