/*-------------------------------------------------------------------------
 *
 * agg_float.c
 *	  Sums and averages of floats.
 *
 * Floats are added in the order of the rows, and averages keep the sum of squared differences for
 * the one thing that it shows in: core raises an error when it overflows.
 *
 * A sum may overflow, and core says then in which row: the loop tells when its sum has become
 * infinite, and the rows are added once more, one after the other.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_float.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "utils/array.h"
#include "utils/float.h"

#include "agg_internal.h"

/* ---- sums --------------------------------------------------------------------------------- */

/* ZsAggOps.size of sums */
static Size
sum_size(const ZsAgg *agg)
{
	return offsetof(ZsAggValue, sx) + sizeof(double);
}

/* ZsAggOps.add_one of sum(real) */
static void
float4_one(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, uint32 row)
{
	float		v = zskernel_float4(vector->vals[row]);

	value->sx4 = value->count == 0 ? v : float4_pl(value->sx4, v);
	value->count++;
}

/* ZsAggOps.add_one of sum(double precision) */
static void
float8_one(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, uint32 row)
{
	double		v = zskernel_float8(vector->vals[row]);

	value->sx = value->count == 0 ? v : float8_pl(value->sx, v);
	value->count++;
}

/* Adds the floats of sel; false, and nothing has changed, if the sum becomes infinite. */
static bool
float_rows(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, const uint64 *sel)
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

/* ZsAggOps.result of sum(real) */
static Datum
float4_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	*isnull = value->count == 0;
	return *isnull ? (Datum) 0 : Float4GetDatum(value->sx4);
}

/* ZsAggOps.result of sum(double precision) */
static Datum
float8_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	*isnull = value->count == 0;
	return *isnull ? (Datum) 0 : Float8GetDatum(value->sx);
}

const ZsAggOps zsagg_ops_sum_float4 = {
	.size = sum_size,
	.add_one = float4_one,
	.add_rows = float_rows,
	.result = float4_result,
	.partial = float4_result,
	.state = ZS_STATE_VALUE
};

const ZsAggOps zsagg_ops_sum_float8 = {
	.size = sum_size,
	.add_one = float8_one,
	.add_rows = float_rows,
	.result = float8_result,
	.partial = float8_result,
	.state = ZS_STATE_VALUE
};

/* ---- averages ----------------------------------------------------------------------------- */

/* ZsAggOps.size of count, sum and sum of squared differences */
Size
zsagg_float_size(const ZsAgg *agg)
{
	return offsetof(ZsAggValue, sxx) + sizeof(double);
}

/* As float8_accum() of the server. */
static void
accumulate(ZsAggValue *value, double newval)
{
	double		old_n = (double) value->count;
	double		n = old_n + 1.0;
	double		old_sx = value->sx;
	double		sx = old_sx + newval;
	double		sxx = value->sxx;

	if (old_n > 0.0)
	{
		double		tmp = newval * n - sx;

		sxx += tmp * tmp / (n * old_n);
		if (isinf(sx) || isinf(sxx))
		{
			if (!isinf(old_sx) && !isinf(newval))
				float_overflow_error();
			sxx = get_float8_nan();
		}
	}
	else if (isnan(newval) || isinf(newval))
		sxx = get_float8_nan();
	value->count++;
	value->sx = sx;
	value->sxx = sxx;
}

/* ZsAggOps.add_one of these, as float8_accum() has it */
void
zsagg_float_one(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, uint32 row)
{
	accumulate(value, zsagg_float_of(agg->domain, vector->vals[row]));
}

/* ZsAggOps.combine of these, as float8_combine() has it */
void
zsagg_float_combine(const ZsAgg *agg, ZsAggValue *value, const ZsAggValue *other,
					const char *spare)
{
	double		n1 = (double) value->count;
	double		n2 = (double) other->count;
	double		tmp;
	double		sxx;

	Assert(other->count > 0);
	if (value->count == 0)
	{
		value->count = other->count;
		value->sx = other->sx;
		value->sxx = other->sxx;
		return;
	}
	tmp = value->sx / n1 - other->sx / n2;
	value->sx = float8_pl(value->sx, other->sx);
	sxx = value->sxx + other->sxx + n1 * n2 * tmp * tmp / (n1 + n2);
	if (unlikely(isinf(sxx)) && !isinf(value->sxx) && !isinf(other->sxx))
		float_overflow_error();
	value->sxx = sxx;
	value->count += other->count;
}

/* ZsAggOps.partial of these: an array */
Datum
zsagg_float_partial(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	Datum		elements[3] = {Float8GetDatum((double) value->count), Float8GetDatum(value->sx),
	Float8GetDatum(value->sxx)};

	return PointerGetDatum(construct_array(elements, 3, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
										   TYPALIGN_DOUBLE));
}

/* ZsAggOps.result of averages */
static Datum
avg_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	*isnull = value->count == 0;
	return *isnull ? (Datum) 0 : Float8GetDatum(value->sx / (double) value->count);
}

const ZsAggOps zsagg_ops_avg_float = {
	.size = zsagg_float_size,
	.add_one = zsagg_float_one,
	.result = avg_result,
	.partial = zsagg_float_partial,
	.combine = zsagg_float_combine,
	.state = ZS_STATE_IMAGE
};
