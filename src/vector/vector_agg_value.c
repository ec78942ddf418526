/*-------------------------------------------------------------------------
 *
 * vector_agg_value.c
 *	  What aggregates compute: their states, from batches and from single rows.
 *
 * The results are those of core's aggregates, to the last digit:
 *
 *	- Sums of integers of 2 and 4 bytes wrap at 64 bits, as core's do; those of 8 bytes and of numerics are exact
 *	  (vector_agg_numeric.c).
 *	- Floats are added in the order of the rows, and averages keep the sum of squared differences for the one thing that
 *	  it shows in: core raises an error when it overflows.
 *	- Variances of integers are made by core's final functions, from sums that are given to them in the form in which
 *	  parallel workers would.
 *	- Of values that compare equal, min and max of floats, numerics and texts return the last one, those of char(n) the
 *	  first.
 *	- Of a DISTINCT aggregate the caller adds only the first of equal values.
 *
 * What is left is done by core's transition functions, value by value.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_agg_value.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_aggregate_d.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "libpq/pqformat.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/varlena.h"
#include "varatt.h"

#include "vector_agg.h"
#include "vector_group.h"
#include "zs_codec.h"

/* ---- which aggregates ---------------------------------------------------------- */

typedef struct KnownAggregate
{
	Oid			aggfnoid;
	ZsAggKind	kind;
	ZsDomain	domain;			/* of the argument; NONE: any */
} KnownAggregate;

#define VARIANCES(name) \
	{F_##name##_INT2, ZS_AGG_VAR_INT, ZS_DOMAIN_INT}, \
	{F_##name##_INT4, ZS_AGG_VAR_INT, ZS_DOMAIN_INT}, \
	{F_##name##_INT8, ZS_AGG_CORE, ZS_DOMAIN_INT}, \
	{F_##name##_NUMERIC, ZS_AGG_CORE, ZS_DOMAIN_DECIMAL}, \
	{F_##name##_FLOAT4, ZS_AGG_VAR_FLOAT, ZS_DOMAIN_FLOAT4}, \
	{F_##name##_FLOAT8, ZS_AGG_VAR_FLOAT, ZS_DOMAIN_FLOAT8}

static const KnownAggregate known_aggregates[] = {
	{F_SUM_INT2, ZS_AGG_SUM_INT, ZS_DOMAIN_INT},
	{F_SUM_INT4, ZS_AGG_SUM_INT, ZS_DOMAIN_INT},
	{F_SUM_INT8, ZS_AGG_SUM_INT8, ZS_DOMAIN_INT},
	{F_SUM_NUMERIC, ZS_AGG_SUM_NUMERIC, ZS_DOMAIN_DECIMAL},
	{F_SUM_FLOAT4, ZS_AGG_SUM_FLOAT4, ZS_DOMAIN_FLOAT4},
	{F_SUM_FLOAT8, ZS_AGG_SUM_FLOAT8, ZS_DOMAIN_FLOAT8},
	{F_AVG_INT2, ZS_AGG_AVG_INT, ZS_DOMAIN_INT},
	{F_AVG_INT4, ZS_AGG_AVG_INT, ZS_DOMAIN_INT},
	{F_AVG_INT8, ZS_AGG_AVG_INT8, ZS_DOMAIN_INT},
	{F_AVG_NUMERIC, ZS_AGG_AVG_NUMERIC, ZS_DOMAIN_DECIMAL},
	{F_AVG_FLOAT4, ZS_AGG_AVG_FLOAT, ZS_DOMAIN_FLOAT4},
	{F_AVG_FLOAT8, ZS_AGG_AVG_FLOAT, ZS_DOMAIN_FLOAT8},
	{F_MIN_INT2, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_INT4, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_INT8, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_DATE, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_TIME, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_TIMESTAMP, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_TIMESTAMPTZ, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_MONEY, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_OID, ZS_AGG_MIN, ZS_DOMAIN_UINT},
	{F_MIN_PG_LSN, ZS_AGG_MIN, ZS_DOMAIN_UINT},
	{F_MIN_XID8, ZS_AGG_MIN, ZS_DOMAIN_UINT},
	{F_MIN_FLOAT4, ZS_AGG_MIN, ZS_DOMAIN_FLOAT4},
	{F_MIN_FLOAT8, ZS_AGG_MIN, ZS_DOMAIN_FLOAT8},
	{F_MIN_NUMERIC, ZS_AGG_MIN, ZS_DOMAIN_DECIMAL},
	{F_MIN_TEXT, ZS_AGG_MIN, ZS_DOMAIN_TEXT},
	{F_MIN_BPCHAR, ZS_AGG_MIN, ZS_DOMAIN_BPCHAR},
	{F_MIN_INTERVAL, ZS_AGG_CORE, ZS_DOMAIN_NONE},
	{F_MIN_TIMETZ, ZS_AGG_CORE, ZS_DOMAIN_NONE},
	{F_MIN_INET, ZS_AGG_CORE, ZS_DOMAIN_NONE},
	{F_MAX_INT2, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_INT4, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_INT8, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_DATE, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_TIME, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_TIMESTAMP, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_TIMESTAMPTZ, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_MONEY, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_OID, ZS_AGG_MAX, ZS_DOMAIN_UINT},
	{F_MAX_PG_LSN, ZS_AGG_MAX, ZS_DOMAIN_UINT},
	{F_MAX_XID8, ZS_AGG_MAX, ZS_DOMAIN_UINT},
	{F_MAX_FLOAT4, ZS_AGG_MAX, ZS_DOMAIN_FLOAT4},
	{F_MAX_FLOAT8, ZS_AGG_MAX, ZS_DOMAIN_FLOAT8},
	{F_MAX_NUMERIC, ZS_AGG_MAX, ZS_DOMAIN_DECIMAL},
	{F_MAX_TEXT, ZS_AGG_MAX, ZS_DOMAIN_TEXT},
	{F_MAX_BPCHAR, ZS_AGG_MAX, ZS_DOMAIN_BPCHAR},
	{F_MAX_INTERVAL, ZS_AGG_CORE, ZS_DOMAIN_NONE},
	{F_MAX_TIMETZ, ZS_AGG_CORE, ZS_DOMAIN_NONE},
	{F_MAX_INET, ZS_AGG_CORE, ZS_DOMAIN_NONE},
	{F_BOOL_AND, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_EVERY, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_BOOL_OR, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_BIT_AND_INT2, ZS_AGG_BIT_AND, ZS_DOMAIN_INT},
	{F_BIT_AND_INT4, ZS_AGG_BIT_AND, ZS_DOMAIN_INT},
	{F_BIT_AND_INT8, ZS_AGG_BIT_AND, ZS_DOMAIN_INT},
	{F_BIT_OR_INT2, ZS_AGG_BIT_OR, ZS_DOMAIN_INT},
	{F_BIT_OR_INT4, ZS_AGG_BIT_OR, ZS_DOMAIN_INT},
	{F_BIT_OR_INT8, ZS_AGG_BIT_OR, ZS_DOMAIN_INT},
	{F_BIT_XOR_INT2, ZS_AGG_BIT_XOR, ZS_DOMAIN_INT},
	{F_BIT_XOR_INT4, ZS_AGG_BIT_XOR, ZS_DOMAIN_INT},
	{F_BIT_XOR_INT8, ZS_AGG_BIT_XOR, ZS_DOMAIN_INT},
	{F_ANY_VALUE, ZS_AGG_ANY, ZS_DOMAIN_NONE},
	VARIANCES(VAR_POP),
	VARIANCES(VAR_SAMP),
	VARIANCES(VARIANCE),
	VARIANCES(STDDEV_POP),
	VARIANCES(STDDEV_SAMP),
	VARIANCES(STDDEV),
};

/*
 * DISTINCT: the result depends neither on the order of the values nor on which of equal ones is
 * taken; core adds them in their own order.
 */
static bool
classify_distinct(TupleDesc desc, Index varno, Aggref *aggref, ZsAgg *agg)
{
	const SortGroupClause *sgc = linitial_node(SortGroupClause, aggref->aggdistinct);
	const TargetEntry *arg = linitial_node(TargetEntry, aggref->args);
	ZsGroupKey	key;

	Assert(list_length(aggref->aggdistinct) == 1 && list_length(aggref->args) == 1);
	agg->distinct = agg->kind != ZS_AGG_MIN && agg->kind != ZS_AGG_MAX;
	agg->distinct_eqop = sgc->eqop;
	if (!zsvector_group_classify(desc, varno, (Node *) arg->expr, sgc->eqop, &key))
		return false;
	switch (agg->kind)
	{
		case ZS_AGG_COUNT:
		case ZS_AGG_SUM_INT:
		case ZS_AGG_SUM_INT8:
		case ZS_AGG_AVG_INT:
		case ZS_AGG_AVG_INT8:
		case ZS_AGG_VAR_INT:
			return true;
		case ZS_AGG_SUM_NUMERIC:
		case ZS_AGG_AVG_NUMERIC:
			/* equal numerics of one scale look the same */
			return exprTypmod((Node *) arg->expr) >= 0;
		case ZS_AGG_MIN:
		case ZS_AGG_MAX:
			return agg->domain == ZS_DOMAIN_INT || agg->domain == ZS_DOMAIN_UINT;
		default:
			return false;
	}
}

/* See vector_agg.h. */
bool
zsvector_agg_classify(TupleDesc desc, Index varno, Aggref *aggref, ZsAgg *agg)
{
	Node	   *arg;

	memset(agg, 0, sizeof(*agg));
	if (aggref->agglevelsup != 0 || aggref->aggorder != NIL ||
		aggref->aggdirectargs != NIL || aggref->aggvariadic || aggref->aggkind != AGGKIND_NORMAL)
		return false;
	if (aggref->aggfilter != NULL)
	{
		agg->filter = zsvector_qual_compile(desc, varno, (Node *) aggref->aggfilter);
		if (agg->filter == NULL)
			return false;
	}
	if (aggref->aggfnoid == F_COUNT_)
	{
		agg->kind = ZS_AGG_COUNT_ROWS;
		return aggref->aggstar;
	}
	if (list_length(aggref->args) != 1)
		return false;
	arg = (Node *) linitial_node(TargetEntry, aggref->args)->expr;
	agg->attno = zsvector_column_of(desc, varno, arg, &agg->domain);
	if (agg->attno == InvalidAttrNumber)
	{
		agg->expr = zsvector_expr_compile(desc, varno, arg);
		if (agg->expr == NULL)
			return false;
		agg->domain = zsvector_expr_domain(agg->expr);
		agg->width = zsvector_expr_width(agg->expr);
		if ((agg->domain == ZS_DOMAIN_TEXT || agg->domain == ZS_DOMAIN_BPCHAR) &&
			aggref->aggfnoid != F_COUNT_ANY)
			return false;
	}
	else
		agg->width = TupleDescAttr(desc, agg->attno - 1)->attlen;
	agg->collation = aggref->inputcollid;
	if (aggref->aggfnoid == F_COUNT_ANY)
	{
		agg->kind = ZS_AGG_COUNT;
		return aggref->aggdistinct == NIL || classify_distinct(desc, varno, aggref, agg);
	}
	for (int i = 0; i < (int) lengthof(known_aggregates); i++)
	{
		const KnownAggregate *known = &known_aggregates[i];

		if (known->aggfnoid != aggref->aggfnoid)
			continue;
		agg->kind = known->kind;
		if (known->domain != ZS_DOMAIN_NONE && known->domain != agg->domain)
			return false;
		/* core says what is wrong with a comparison that has no collation */
		if ((agg->domain == ZS_DOMAIN_TEXT || agg->domain == ZS_DOMAIN_BPCHAR) &&
			!OidIsValid(agg->collation) &&
			(agg->kind == ZS_AGG_MIN || agg->kind == ZS_AGG_MAX))
			return false;
		return aggref->aggdistinct == NIL || classify_distinct(desc, varno, aggref, agg);
	}
	return false;
}

/* See vector_agg.h. */
void
zsvector_agg_begin(ZsAgg *agg, const Aggref *aggref, MemoryContext context)
{
	Assert(agg->node == NULL && MemoryContextIsValid(context));
	agg->node = zsvector_core_node(context);
	agg->temporary = AllocSetContextCreate(CurrentMemoryContext, "zedstore aggregate's rows",
										   ALLOCSET_SMALL_SIZES);
	if (agg->kind == ZS_AGG_VAR_INT || agg->kind == ZS_AGG_VAR_FLOAT || agg->kind == ZS_AGG_ANY ||
		agg->kind == ZS_AGG_CORE)
	{
		agg->core = palloc(sizeof(ZsCoreAgg));
		zsvector_core_init(agg->core, aggref);
	}
}

/* See vector_agg.h. */
bool
zsvector_agg_is_flat(const ZsAgg *agg)
{
	bool		is_string = agg->domain == ZS_DOMAIN_TEXT || agg->domain == ZS_DOMAIN_BPCHAR;

	switch (agg->kind)
	{
		case ZS_AGG_MIN:
		case ZS_AGG_MAX:
			return !is_string;
		case ZS_AGG_ANY:
		case ZS_AGG_CORE:
			return false;
		default:
			return !agg->distinct;
	}
}

/* See vector_agg.h. */
Size
zsvector_agg_value_size(const ZsAgg *agg)
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
				break;
			if (agg->domain == ZS_DOMAIN_TEXT || agg->domain == ZS_DOMAIN_BPCHAR)
				return offsetof(ZsAggValue, string_size) + sizeof(uint64);
			return offsetof(ZsAggValue, integer) + sizeof(int64);
		case ZS_AGG_ANY:
		case ZS_AGG_CORE:
			return offsetof(ZsAggValue, core) + sizeof(ZsCoreValue);
		case ZS_AGG_SUM_INT8:
		case ZS_AGG_AVG_INT8:
		case ZS_AGG_SUM_NUMERIC:
		case ZS_AGG_AVG_NUMERIC:
		case ZS_AGG_VAR_INT:
			break;
	}
	return sizeof(ZsAggValue);
}

/* ---- floats -------------------------------------------------------------------------- */

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

/* ---- min and max ------------------------------------------------------------------------ */

static bool
is_string(const ZsAgg *agg)
{
	return agg->domain == ZS_DOMAIN_TEXT || agg->domain == ZS_DOMAIN_BPCHAR;
}

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

/* See vector_agg.h. */
void
zsvector_agg_add_extreme(const ZsAgg *agg, ZsAggValue *value, int64 later, int scale)
{
	if (agg->domain == ZS_DOMAIN_DECIMAL)
		zsvector_numeric_extreme_int(agg, value, later, scale, scale);
	else
		add_extreme(agg, value, later);
}

static bool
string_replaces(const ZsAgg *agg, const char *present, size_t present_len, const char *later,
				size_t later_len)
{
	int			cmp;

	present_len = zsvector_compared_length(agg->domain, present, present_len);
	later_len = zsvector_compared_length(agg->domain, later, later_len);
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

/* ---- other steps -------------------------------------------------------------------------- */

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
			return zsvector_int64_to_datum(agg->width, vector->vals[row]);
		case ZS_DOMAIN_FLOAT4:
			return Float4GetDatum(zskernel_float4(vector->vals[row]));
		case ZS_DOMAIN_FLOAT8:
			return Float8GetDatum(zskernel_float8(vector->vals[row]));
		case ZS_DOMAIN_DECIMAL:
			{
				int			dscale = vector->dscales == NULL ? vector->scale : vector->dscales[row];
				Numeric		num = zsvector_numeric_make(vector->vals[row], vector->scale, dscale);

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
	zsvector_core_add(agg->core, agg->node, &value->core, datum, false);
	MemoryContextSwitchTo(old);
	MemoryContextReset(agg->temporary);
	value->count++;
}

/* ---- batches ---------------------------------------------------------------------------------- */

/* One value of a batch. */
static void
add_one(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, uint32 row)
{
	int64		v;
	union
	{
		char		buf[NUMERIC_SIZE];
		int64		align;
	}			u;

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
			if (is_string(agg))
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
			value->sum += v;
			value->count++;
			break;
		case ZS_AGG_SUM_NUMERIC:
		case ZS_AGG_AVG_NUMERIC:
			value->dscale = Max(value->dscale,
								vector->dscales == NULL ? vector->scale : vector->dscales[row]);
			zsvector_numeric_sum_int(agg, value, v, vector->scale);
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
				zsvector_numeric_extreme_int(agg, value, v, vector->scale,
											 vector->dscales == NULL ? vector->scale :
											 vector->dscales[row]);
			else
				add_extreme(agg, value, v);
			break;
	}
}

/* The rows of sel one after the other. */
static void
add_each(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, const uint64 *sel)
{
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = sel[w]; word != 0; word &= word - 1)
			add_one(agg, value, vector, w * 64 + __builtin_ctzll(word));
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
	zsvector_numeric_sum_int(agg, value, zskernel_sum_int64(vector->vals, sel), vector->scale);
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
	zsvector_agg_add_extreme(agg, value, best, vector->scale);
	value->count = count;
}

/* See vector_agg.h. */
void
zsvector_agg_add_batch(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector,
					   const uint64 *sel)
{
	uint32		count = zskernel_bits_count(sel);

	if (count == 0)
		return;
	Assert(vector != NULL || agg->kind == ZS_AGG_COUNT_ROWS || agg->kind == ZS_AGG_COUNT);
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

static inline void
add_decimal(const ZsAgg *agg, ZsAggValue *value, int64 v, int scale)
{
	value->count++;
	value->dscale = Max(value->dscale, scale);

	/* a sum of 64 bits or so is far from the ends of 128 */
	if (likely(value->scale == scale && (int64) (value->sum >> 64) == (int64) (value->sum >> 127)))
		value->sum += v;
	else
		zsvector_numeric_sum_int(agg, value, v, scale);
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
			__builtin_prefetch(values + groups[i + FETCH_AHEAD] * stride, 1); \
		(void) v; \
		step; \
	}

/* See vector_agg.h. */
void
zsvector_agg_add_groups(const ZsAgg *agg, char *values, Size stride, bool is_far,
						const ZsColumnVector *vector, const uint64 *sel, const uint16 *list,
						uint32 n, const uint32 *groups)
{
	const int64 *vals = vector != NULL ? vector->vals : NULL;
	uint16		sublist[ZS_KERNEL_ROWS];
	uint32		subgroups[ZS_KERNEL_ROWS];
	uint32		nsub = 0;

	Assert(n > 0 && n <= ZS_KERNEL_ROWS && list[n - 1] < ZS_KERNEL_ROWS);
	for (uint32 i = 0; i < n; i++)
	{
		sublist[nsub] = list[i];
		subgroups[nsub] = groups[i];
		nsub += groups[i] != PG_UINT32_MAX && zskernel_bits_get(sel, list[i]) ? 1 : 0;
	}
	list = sublist;
	groups = subgroups;
	n = nsub;
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
			/* FALLTHROUGH */
		default:
			FOR_EACH_ROW(add_one(agg, value, vector, row));
			break;
	}
}

/* ---- rows ----------------------------------------------------------------------------------------- */

/* The integer or pattern of a by-value datum, as a decoded vector has it. */
int64
zsvector_datum_to_int64(int size, Datum datum)
{
	switch (size)
	{
		case 1:
			return (int8) DatumGetChar(datum);
		case 2:
			return DatumGetInt16(datum);
		case 4:
			return DatumGetInt32(datum);
		default:
			Assert(size == sizeof(int64));
			return DatumGetInt64(datum);
	}
}

/* A value as a vector of one row has it. */
static void
add_as_vector(const ZsAgg *agg, ZsAggValue *value, Datum datum)
{
	ZsColumnVector vector;
	int64		v = zsvector_datum_to_int64(agg->width, datum);

	Assert(!is_string(agg) && agg->domain != ZS_DOMAIN_DECIMAL && agg->domain != ZS_DOMAIN_NONE);
	vector.vals = &v;
	add_one(agg, value, &vector, 0);
}

/* See vector_agg.h. */
void
zsvector_agg_add_datum(const ZsAgg *agg, ZsAggValue *value, Datum datum, bool isnull)
{
	if (agg->kind == ZS_AGG_COUNT_ROWS)
	{
		value->count++;
		return;
	}
	if (isnull)
		return;
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
			zsvector_numeric_sum(agg, value, DatumGetNumeric(datum));
			break;
		case ZS_AGG_MIN:
		case ZS_AGG_MAX:
			if (agg->domain == ZS_DOMAIN_DECIMAL)
				zsvector_numeric_extreme(agg, value, DatumGetNumeric(datum));
			else if (is_string(agg))
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

/* ---- results ---------------------------------------------------------------------------------------- */

/* See vector_agg.h. */
Datum
zsvector_int64_to_datum(int size, int64 value)
{
	switch (size)
	{
		case 1:
			return CharGetDatum((char) value);
		case 2:
			return Int16GetDatum((int16) value);
		case 4:
			return Int32GetDatum((int32) value);
		default:
			Assert(size == sizeof(int64));
			return Int64GetDatum(value);
	}
}

/* See vector_agg.h. */
Datum
zsvector_agg_variance_state(const ZsAggValue *value)
{
	StringInfoData buf;

	Assert(value->count > 0 && value->sum2 >= 0);
	pq_begintypsend(&buf);
	pq_sendint64(&buf, value->count);
	zsvector_state_send_numeric(&buf, zsvector_numeric_make(value->sum1, 0, 0));
	zsvector_state_send_numeric(&buf, zsvector_numeric_make(value->sum2, 0, 0));
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
	zsvector_core_deserialize(agg->core, agg->node, zsvector_agg_variance_state(value), false,
							  &trans);
	return zsvector_core_result(agg->core, agg->node, &trans, isnull);
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
	return zsvector_core_result(agg->core, agg->node, &trans, isnull);
}

/* See vector_agg.h. */
Datum
zsvector_agg_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
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
			return zsvector_numeric_result(agg, value, isnull);
		case ZS_AGG_VAR_INT:
			return variance_of_ints(agg, value, isnull);
		case ZS_AGG_VAR_FLOAT:
			return variance_of_floats(agg, value, isnull);
		case ZS_AGG_ANY:
		case ZS_AGG_CORE:
			return zsvector_core_result(agg->core, agg->node, &value->core, isnull);
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
				return NumericGetDatum(zsvector_numeric_best(value));
			if (is_string(agg))
				return PointerGetDatum(value->string);
			return zsvector_int64_to_datum(agg->width, value->integer);
	}
}

/* See vector_agg.h. */
bool
zsvector_agg_result_may_raise(const ZsAgg *agg, const ZsAggValue *value)
{
	switch (agg->kind)
	{
		case ZS_AGG_SUM_NUMERIC:
		case ZS_AGG_AVG_NUMERIC:
			return value->spare != NULL;
		case ZS_AGG_CORE:
			return OidIsValid(agg->core->finalfn.fn_oid);
		default:
			return false;
	}
}
