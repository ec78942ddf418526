/*-------------------------------------------------------------------------
 *
 * agg_final.c
 *	  Results of aggregates.
 *
 * Most are what the value has already.  Variances are made by core's final functions, from sums
 * that are given to them in the form in which parallel workers would.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_final.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"

#include "zs_agg.h"

/* See zs_agg.h. */
Datum
zsagg_variance_state(const ZsAggValue *value)
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
variance_of_ints(const ZsAgg *agg, const ZsAggValue *value, bool *isnull)
{
	ZsCoreValue trans;

	Assert(agg->core != NULL);
	if (value->count == 0)
	{
		*isnull = true;
		return (Datum) 0;
	}
	zsagg_core_deserialize(agg->core, agg->node, zsagg_variance_state(value), false,
						   &trans);
	return zsagg_core_result(agg->core, agg->node, &trans, isnull);
}

static Datum
variance_of_floats(const ZsAgg *agg, const ZsAggValue *value, bool *isnull)
{
	Datum		parts[3];
	ZsCoreValue trans = {.known = true};

	Assert(agg->core != NULL);
	parts[0] = Float8GetDatum((double) value->count);
	parts[1] = Float8GetDatum(value->sx);
	parts[2] = Float8GetDatum(value->sxx);
	trans.value = PointerGetDatum(construct_array(parts, 3, FLOAT8OID, sizeof(float8),
												  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	return zsagg_core_result(agg->core, agg->node, &trans, isnull);
}

/* See zs_agg.h. */
Datum
zsagg_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	*isnull = false;
	switch (agg->kind)
	{
		case ZS_AGG_COUNT_ROWS:
		case ZS_AGG_COUNT:
			return Int64GetDatum(value->count);
		case ZS_AGG_SUM_INT8:
		case ZS_AGG_AVG_INT8:
		case ZS_AGG_SUM_NUMERIC:
		case ZS_AGG_AVG_NUMERIC:
			return zsagg_numeric_result(agg, value, isnull);
		case ZS_AGG_VAR_INT:
			return variance_of_ints(agg, value, isnull);
		case ZS_AGG_VAR_FLOAT:
			return variance_of_floats(agg, value, isnull);
		case ZS_AGG_ANY:
		case ZS_AGG_CORE:
			return zsagg_core_result(agg->core, agg->node, &value->core, isnull);
		default:
			break;
	}
	if (value->count == 0)
	{
		*isnull = true;
		return (Datum) 0;
	}
	switch (agg->kind)
	{
		case ZS_AGG_SUM_INT:
			return Int64GetDatum(value->integer);
		case ZS_AGG_AVG_INT:
			return DirectFunctionCall2(numeric_div,
									   NumericGetDatum(int64_to_numeric(value->integer)),
									   NumericGetDatum(int64_to_numeric(value->count)));
		case ZS_AGG_SUM_FLOAT4:
			return Float4GetDatum(value->sx4);
		case ZS_AGG_SUM_FLOAT8:
			return Float8GetDatum(value->sx);
		case ZS_AGG_AVG_FLOAT:
			return Float8GetDatum(value->sx / (double) value->count);
		default:
			if (agg->domain == ZS_DOMAIN_DECIMAL)
				return NumericGetDatum(zsagg_numeric_best(value));
			if (zsagg_is_string(agg))
				return PointerGetDatum(value->string);
			return zsexpr_int_to_datum(agg->width, value->integer);
	}
}

/* See zs_agg.h. */
bool
zsagg_result_may_raise(const ZsAgg *agg, const ZsAggValue *value)
{
	switch (agg->kind)
	{
		case ZS_AGG_SUM_NUMERIC:
		case ZS_AGG_AVG_NUMERIC:
			return value->is_large;
		case ZS_AGG_CORE:
			return OidIsValid(agg->core->finalfn.fn_oid);
		default:
			return false;
	}
}
