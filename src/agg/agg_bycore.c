/*-------------------------------------------------------------------------
 *
 * agg_bycore.c
 *	  any_value(), and aggregates that core's transition functions compute.
 *
 * For any_value() core's function is called for the first value only, else for each.  So all that
 * core allows is done as core does it: agg_core.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_bycore.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "agg_internal.h"

/* More than a numeric of a vector takes. */
#define NUMERIC_SIZE	64

/* The datum of a row of a vector; numerics are made in buf. */
static Datum
datum_of(const ZsAgg *agg, const ZsColumnVector *vector, uint32 row, char *buf)
{
	switch (agg->domain)
	{
		case ZS_DOMAIN_INT:
		case ZS_DOMAIN_UINT:
			return zsexpr_int_to_datum(agg->width, vector->vals[row]);
		case ZS_DOMAIN_FLOAT4:
			return Float4GetDatum(zskernel_float4(vector->vals[row]));
		case ZS_DOMAIN_FLOAT8:
			return Float8GetDatum(zskernel_float8(vector->vals[row]));
		case ZS_DOMAIN_DECIMAL:
			{
				int			dscale = vector->dscales == NULL ? vector->scale : vector->dscales[row];
				Numeric		num = zsexpr_numeric_make(vector->vals[row], vector->scale, dscale);

				Assert(VARSIZE(num) <= NUMERIC_SIZE);
				memcpy(buf, num, VARSIZE(num));
				pfree(num);
				return PointerGetDatum(buf);
			}
		default:
			Assert(vector->datums != NULL);
			return (Datum) vector->datums[row];
	}
}

/* ZsAggOps.add_datum: core's transition function, whose garbage goes */
static void
core_datum(const ZsAgg *agg, ZsAggValue *value, Datum datum)
{
	MemoryContext old = MemoryContextSwitchTo(agg->temporary);

	Assert(agg->core != NULL && agg->temporary != NULL);
	zsagg_core_add(agg->core, agg->node, &value->core, datum, false);
	MemoryContextSwitchTo(old);
	MemoryContextReset(agg->temporary);
	value->count++;
}

/* ZsAggOps.size */
static Size
core_size(const ZsAgg *agg)
{
	return offsetof(ZsAggValue, core) + sizeof(ZsCoreValue);
}

/* ZsAggOps.add_one */
static void
core_one(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, uint32 row)
{
	union
	{
		char		buf[NUMERIC_SIZE];
		int64		align;
	}			u;

	core_datum(agg, value, datum_of(agg, vector, row, u.buf));
}

/* ZsAggOps.add_one of any_value: the first one stays */
static void
any_one(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, uint32 row)
{
	if (value->count == 0)
		core_one(agg, value, vector, row);
}

/* ZsAggOps.add_datum of any_value */
static void
any_datum(const ZsAgg *agg, ZsAggValue *value, Datum datum)
{
	if (value->count == 0)
		core_datum(agg, value, datum);
}

/* The first row is enough. */
static bool
any_rows(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, const uint64 *sel)
{
	return value->count > 0;
}

/* ZsAggOps.result: core's final function */
static Datum
core_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	return zsagg_core_result(agg->core, agg->node, &value->core, isnull);
}

/* ZsAggOps.partial: core's transition value */
static Datum
core_partial(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	return zsagg_core_serialize(agg->core, agg->node, &value->core, isnull);
}

/* ZsAggOps.may_raise: nothing is known of the final function */
static bool
core_may_raise(const ZsAgg *agg, const ZsAggValue *value)
{
	return OidIsValid(agg->core->finalfn.fn_oid);
}

#define CORE_OPS \
	.size = core_size, \
	.result = core_result, \
	.partial = core_partial, \
	.state = ZS_STATE_NONE, \
	.needs_core = true, \
	.owns_memory = true

const ZsAggOps zsagg_ops_any = {
	CORE_OPS,
	.add_one = any_one,
	.add_datum = any_datum,
	.add_rows = any_rows
};

const ZsAggOps zsagg_ops_core = {
	CORE_OPS,
	.add_one = core_one,
	.add_datum = core_datum,
	.may_raise = core_may_raise
};
