/*-------------------------------------------------------------------------
 *
 * agg_value.c
 *	  What aggregates have seen: their states, and how a value is added.
 *
 * The results are those of core's aggregates, to the last digit:
 *
 *	- Sums of integers of 2 and 4 bytes wrap at 64 bits, as core's do; those of 8 bytes and of
 *	  numerics are exact (agg_numeric.c).
 *	- Floats are added in the order of the rows, and averages keep the sum of squared differences
 *	  for the one thing that it shows in: core raises an error when it overflows.
 *	- Variances of integers keep sums of the values and of their squares.
 *	- Of values that compare equal, min and max of floats, numerics and texts return the last one,
 *	  those of char(n) the first.
 *	- Of a DISTINCT aggregate the caller adds only the first of equal values.
 *
 * What is left is done by core's transition functions, value by value.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_value.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_collation_d.h"
#include "fmgr.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "utils/varlena.h"
#include "varatt.h"

#include "zs_agg.h"

/* See zs_agg.h. */
void
zsagg_begin(ZsAgg *agg, const Aggref *aggref, MemoryContext context)
{
	Assert(agg->node == NULL && MemoryContextIsValid(context));
	agg->node = zsagg_core_node(context);
	agg->temporary = AllocSetContextCreate(CurrentMemoryContext, "zedstore aggregate's rows",
										   ALLOCSET_SMALL_SIZES);
	if (agg->kind == ZS_AGG_VAR_INT || agg->kind == ZS_AGG_VAR_FLOAT || agg->kind == ZS_AGG_ANY ||
		agg->kind == ZS_AGG_CORE)
	{
		agg->core = palloc(sizeof(ZsCoreAgg));
		zsagg_core_init(agg->core, aggref);
	}
}

/* See zs_agg.h. */
bool
zsagg_is_flat(const ZsAgg *agg)
{
	switch (agg->kind)
	{
		case ZS_AGG_MIN:
		case ZS_AGG_MAX:
			return !zsagg_is_string(agg);
		case ZS_AGG_ANY:
		case ZS_AGG_CORE:
			return false;
		default:
			return !agg->distinct;
	}
}

/* See zs_agg.h. */
Size
zsagg_value_size(const ZsAgg *agg)
{
	StaticAssertStmt(offsetof(ZsAggValue, integer) % sizeof(uint64) == 0 &&
					 sizeof(ZsAggValue) % sizeof(uint64) == 0,
					 "values of a group lie side by side");

	switch (agg->kind)
	{
		case ZS_AGG_COUNT_ROWS:
		case ZS_AGG_COUNT:
			return offsetof(ZsAggValue, integer);
		case ZS_AGG_SUM_INT:
		case ZS_AGG_AVG_INT:
		case ZS_AGG_BIT_AND:
		case ZS_AGG_BIT_OR:
		case ZS_AGG_BIT_XOR:
			return offsetof(ZsAggValue, integer) + sizeof(int64);
		case ZS_AGG_SUM_FLOAT4:
		case ZS_AGG_SUM_FLOAT8:
			return offsetof(ZsAggValue, sx) + sizeof(double);
		case ZS_AGG_AVG_FLOAT:
		case ZS_AGG_VAR_FLOAT:
			return offsetof(ZsAggValue, sxx) + sizeof(double);
		case ZS_AGG_MIN:
		case ZS_AGG_MAX:
			if (agg->domain == ZS_DOMAIN_DECIMAL)
				return offsetof(ZsAggValue, best) + sizeof(int64);
			if (zsagg_is_string(agg))
				return offsetof(ZsAggValue, string_size) + sizeof(uint64);
			return offsetof(ZsAggValue, integer) + sizeof(int64);
		case ZS_AGG_ANY:
		case ZS_AGG_CORE:
			return offsetof(ZsAggValue, core) + sizeof(ZsCoreValue);
		case ZS_AGG_SUM_INT8:
		case ZS_AGG_AVG_INT8:
		case ZS_AGG_SUM_NUMERIC:
		case ZS_AGG_AVG_NUMERIC:
			return offsetof(ZsAggValue, sum) + sizeof(zs_int128);
		case ZS_AGG_VAR_INT:
			break;
	}
	return sizeof(ZsAggValue);
}

/* ---- floats ------------------------------------------------------------------------------ */

/* As float8_accum() of the server. */
static void
accumulate_float(ZsAggValue *value, double newval)
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

static double
float_of(ZsDomain domain, int64 pattern)
{
	return domain == ZS_DOMAIN_FLOAT4 ? (double) zskernel_float4(pattern) :
		zskernel_float8(pattern);
}

/* ---- min and max ------------------------------------------------------------------------- */

/* Does the later of two values take the place of the earlier one? */
static bool
replaces(const ZsAgg *agg, int64 present, int64 later)
{
	switch (agg->domain)
	{
		case ZS_DOMAIN_FLOAT4:
		case ZS_DOMAIN_FLOAT8:
			{
				double		a = float_of(agg->domain, present);
				double		b = float_of(agg->domain, later);

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

static void
add_extreme(const ZsAgg *agg, ZsAggValue *value, int64 later)
{
	if (value->count == 0 || replaces(agg, value->integer, later))
		value->integer = later;
	value->count++;
}

/* See zs_agg.h. */
void
zsagg_add_extreme(const ZsAgg *agg, ZsAggValue *value, int64 later, int scale)
{
	if (agg->domain == ZS_DOMAIN_DECIMAL)
		zsagg_numeric_extreme_int(agg, value, later, scale, scale);
	else
		add_extreme(agg, value, later);
}

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
add_extreme_string(const ZsAgg *agg, ZsAggValue *value, const struct varlena *string)
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

/* ---- other steps ------------------------------------------------------------------------- */

static void
add_bits(const ZsAgg *agg, ZsAggValue *value, int64 v)
{
	if (value->count++ == 0)
		value->integer = v;
	else if (agg->kind == ZS_AGG_BIT_AND)
		value->integer &= v;
	else if (agg->kind == ZS_AGG_BIT_OR)
		value->integer |= v;
	else
		value->integer ^= v;
}

static void
add_squared(ZsAggValue *value, int64 v)
{
	value->count++;
	value->sum1 += v;
	value->sum2 += (zs_int128) v * v;
}

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

static void
add_by_core(const ZsAgg *agg, ZsAggValue *value, Datum datum)
{
	MemoryContext old = MemoryContextSwitchTo(agg->temporary);

	Assert(agg->core != NULL && agg->temporary != NULL);
	zsagg_core_add(agg->core, agg->node, &value->core, datum, false);
	MemoryContextSwitchTo(old);
	MemoryContextReset(agg->temporary);
	value->count++;
}

/* One value of a batch. */
void
zsagg_add_one(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, uint32 row)
{
	int64		v;
	union
	{
		char		buf[NUMERIC_SIZE];
		int64		align;
	}			u;

	if (agg->state != ZS_STATE_NONE)
	{
		zsagg_combine(agg, value, agg->state == ZS_STATE_INT ? vector->vals[row] :
					  (int64) vector->datums[row]);
		return;
	}
	switch (agg->kind)
	{
		case ZS_AGG_COUNT_ROWS:
		case ZS_AGG_COUNT:
			value->count++;
			return;
		case ZS_AGG_ANY:
		case ZS_AGG_CORE:
			if (agg->kind == ZS_AGG_CORE || value->count == 0)
				add_by_core(agg, value, datum_of(agg, vector, row, u.buf));
			return;
		case ZS_AGG_MIN:
		case ZS_AGG_MAX:
			if (zsagg_is_string(agg))
			{
				add_extreme_string(agg, value, (const struct varlena *) vector->datums[row]);
				return;
			}
			break;
		default:
			break;
	}
	v = vector->vals[row];
	switch (agg->kind)
	{
		case ZS_AGG_SUM_INT:
		case ZS_AGG_AVG_INT:
			value->integer = (int64) ((uint64) value->integer + (uint64) v);
			value->count++;
			break;
		case ZS_AGG_SUM_INT8:
		case ZS_AGG_AVG_INT8:
			Assert(!value->is_large);
			value->sum += v;
			value->count++;
			break;
		case ZS_AGG_SUM_NUMERIC:
		case ZS_AGG_AVG_NUMERIC:
			value->dscale = Max(value->dscale,
								vector->dscales == NULL ? vector->scale : vector->dscales[row]);
			zsagg_numeric_sum_int(agg, value, v, vector->scale);
			value->count++;
			break;
		case ZS_AGG_SUM_FLOAT4:
			value->sx4 = value->count == 0 ? zskernel_float4(v) :
				float4_pl(value->sx4, zskernel_float4(v));
			value->count++;
			break;
		case ZS_AGG_SUM_FLOAT8:
			value->sx = value->count == 0 ? zskernel_float8(v) :
				float8_pl(value->sx, zskernel_float8(v));
			value->count++;
			break;
		case ZS_AGG_AVG_FLOAT:
		case ZS_AGG_VAR_FLOAT:
			accumulate_float(value, float_of(agg->domain, v));
			break;
		case ZS_AGG_VAR_INT:
			add_squared(value, v);
			break;
		case ZS_AGG_BIT_AND:
		case ZS_AGG_BIT_OR:
		case ZS_AGG_BIT_XOR:
			add_bits(agg, value, v);
			break;
		default:
			if (agg->domain == ZS_DOMAIN_DECIMAL)
				zsagg_numeric_extreme_int(agg, value, v, vector->scale,
										  vector->dscales == NULL ? vector->scale :
										  vector->dscales[row]);
			else
				add_extreme(agg, value, v);
			break;
	}
}

/* ---- rows -------------------------------------------------------------------------------- */

/* A value as a vector of one row has it. */
static void
add_as_vector(const ZsAgg *agg, ZsAggValue *value, Datum datum)
{
	ZsColumnVector vector;
	int64		v = zsattr_value_to_int(datum, agg->width);

	Assert(!zsagg_is_string(agg) && agg->domain != ZS_DOMAIN_DECIMAL &&
		   agg->domain != ZS_DOMAIN_NONE);
	vector.vals = &v;
	zsagg_add_one(agg, value, &vector, 0);
}

/* See zs_agg.h. */
void
zsagg_add_datum(const ZsAgg *agg, ZsAggValue *value, Datum datum, bool isnull)
{
	if (agg->kind == ZS_AGG_COUNT_ROWS && agg->state == ZS_STATE_NONE)
	{
		value->count++;
		return;
	}
	if (isnull)
		return;
	if (agg->state != ZS_STATE_NONE)
	{
		zsagg_combine(agg, value, (int64) datum);
		return;
	}
	switch (agg->kind)
	{
		case ZS_AGG_COUNT:
			value->count++;
			break;
		case ZS_AGG_ANY:
		case ZS_AGG_CORE:
			if (agg->kind == ZS_AGG_CORE || value->count == 0)
				add_by_core(agg, value, datum);
			break;
		case ZS_AGG_SUM_NUMERIC:
		case ZS_AGG_AVG_NUMERIC:
			zsagg_numeric_sum(agg, value, DatumGetNumeric(datum));
			break;
		case ZS_AGG_MIN:
		case ZS_AGG_MAX:
			if (agg->domain == ZS_DOMAIN_DECIMAL)
				zsagg_numeric_extreme(agg, value, DatumGetNumeric(datum));
			else if (zsagg_is_string(agg))
			{
				struct varlena *string = PG_DETOAST_DATUM_PACKED(datum);

				add_extreme_string(agg, value, string);
				if (string != (struct varlena *) DatumGetPointer(datum))
					pfree(string);
			}
			else
				add_as_vector(agg, value, datum);
			break;
		default:
			add_as_vector(agg, value, datum);
			break;
	}
}
