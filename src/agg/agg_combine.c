/*-------------------------------------------------------------------------
 *
 * agg_combine.c
 *	  States of aggregates that go from one node of ours to another.
 *
 * Below Gather each process makes groups of its share of the rows.  Core's Finalize node takes
 * transition values: those of numerics are serialized digit by digit, and combined group by group.
 * Where there are many groups that takes longer than to make them.  A node of ours takes states as
 * they are in memory:
 *
 *	- a minimum, a maximum, a sum of floats or bits is the value itself, and the same aggregate of
 *	  these values is the result;
 *	- a count and a sum of small integers are integers, which are added up;
 *	- all others are the bytes of their ZsAggValue, an image, in a bytea.  What is behind a pointer
 *	  of it, the part of a numeric sum that core keeps, follows as a numeric.
 *
 * Images are read by processes of the same server and binary only, and never stored.  Aggregates
 * that core's transition functions compute have none.
 *
 * An aggregate that combines has the state's column as its argument, and AGGSPLIT_FINAL_DESERIAL,
 * as in core's plans.  No FILTER: partial aggregates have seen to it.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_combine.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "varatt.h"

#include "zs_agg.h"

/* ---- planning ---------------------------------------------------------------------------- */

static ZsAggState
state_of(ZsAggKind kind)
{
	switch (kind)
	{
		case ZS_AGG_COUNT_ROWS:
		case ZS_AGG_COUNT:
		case ZS_AGG_SUM_INT:
			return ZS_STATE_INT;
		case ZS_AGG_SUM_FLOAT4:
		case ZS_AGG_SUM_FLOAT8:
		case ZS_AGG_MIN:
		case ZS_AGG_MAX:
		case ZS_AGG_BIT_AND:
		case ZS_AGG_BIT_OR:
		case ZS_AGG_BIT_XOR:
			return ZS_STATE_VALUE;
		case ZS_AGG_SUM_INT8:
		case ZS_AGG_SUM_NUMERIC:
		case ZS_AGG_AVG_INT:
		case ZS_AGG_AVG_INT8:
		case ZS_AGG_AVG_NUMERIC:
		case ZS_AGG_AVG_FLOAT:
		case ZS_AGG_VAR_INT:
		case ZS_AGG_VAR_FLOAT:
			return ZS_STATE_IMAGE;
		case ZS_AGG_ANY:
		case ZS_AGG_CORE:
			return ZS_STATE_NONE;
	}
	return ZS_STATE_NONE;
}

/* See zs_agg.h. */
ZsAggState
zsagg_state_of(const Aggref *aggref)
{
	ZsAggKind	kind;
	ZsDomain	domain;

	if (aggref->aggdistinct != NIL || aggref->aggorder != NIL ||
		!zsagg_kind_of(aggref->aggfnoid, &kind, &domain))
		return ZS_STATE_NONE;
	return state_of(kind);
}

/* See zs_agg.h. */
bool
zsagg_classify_state(TupleDesc desc, Index varno, const Aggref *aggref, ZsAgg *agg)
{
	const Var  *state = (const Var *) linitial_node(TargetEntry, aggref->args)->expr;

	Assert(DO_AGGSPLIT_COMBINE(aggref->aggsplit) && aggref->aggfilter == NULL);
	if (!IsA(state, Var) || state->varno != varno ||
		!zsagg_kind_of(aggref->aggfnoid, &agg->kind, &agg->domain))
		return false;
	agg->state = state_of(agg->kind);
	Assert(agg->state == ZS_STATE_INT || agg->state == ZS_STATE_IMAGE);
	agg->attno = state->varattno;
	agg->width = agg->state == ZS_STATE_INT ? sizeof(int64) : -1;
	agg->collation = aggref->inputcollid;
	return TupleDescAttr(desc, agg->attno - 1)->atttypid ==
		(agg->state == ZS_STATE_INT ? INT8OID : BYTEAOID);
}

/* ---- states ------------------------------------------------------------------------------ */

static bool
is_exact_sum(const ZsAgg *agg)
{
	return agg->kind == ZS_AGG_SUM_INT8 || agg->kind == ZS_AGG_AVG_INT8 ||
		agg->kind == ZS_AGG_SUM_NUMERIC || agg->kind == ZS_AGG_AVG_NUMERIC;
}

static bytea *
make_image(const ZsAgg *agg, const ZsAggValue *value)
{
	Size		size = zsagg_value_size(agg);
	Numeric		spare = NULL;
	bytea	   *image;

	if (is_exact_sum(agg) && value->is_large)
		spare = zsagg_numeric_spare(agg, value);
	image = palloc(VARHDRSZ + size + (spare != NULL ? VARSIZE(spare) : 0));
	memcpy(VARDATA(image), value, size);
	if (spare != NULL)
	{
		/* in an image, is_large says that there is a spare part beside sum */
		memcpy(VARDATA(image) + offsetof(ZsAggValue, sum), &value->large->sum, sizeof(zs_int128));
		memcpy(VARDATA(image) + size, spare, VARSIZE(spare));
		size += VARSIZE(spare);
	}
	SET_VARSIZE(image, VARHDRSZ + size);
	return image;
}

/* Has the aggregate, whose states are images, seen nothing? */
static bool
is_empty(const ZsAgg *agg, const ZsAggValue *value)
{
	return value->count == 0 &&
		(!is_exact_sum(agg) || (!value->has_nan && !value->has_pinf && !value->has_ninf));
}

/* See zs_agg.h. */
bool
zsagg_put_image(const ZsAgg *agg, const ZsAggValue *value, char *to, bool *isnull)
{
	Assert(state_of(agg->kind) == ZS_STATE_IMAGE);
	if (is_exact_sum(agg) && value->is_large)
		return false;
	*isnull = is_empty(agg, value);
	memcpy(to, value, zsagg_value_size(agg));
	return true;
}

/* See zs_agg.h. */
Datum
zsagg_own_state(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	Assert(!agg->distinct);
	*isnull = false;
	switch (state_of(agg->kind))
	{
		case ZS_STATE_IMAGE:
			*isnull = is_empty(agg, value);
			return *isnull ? (Datum) 0 : PointerGetDatum(make_image(agg, value));
		default:
			/* counts and sums of integers are integers as results, too */
			return zsagg_result(agg, value, isnull);
	}
}

/* As float8_combine() of the server. */
static void
combine_floats(ZsAggValue *value, const ZsAggValue *other)
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

static void
combine_exact(const ZsAgg *agg, ZsAggValue *value, const ZsAggValue *other, const char *spare)
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

static void
combine_image(const ZsAgg *agg, ZsAggValue *value, const char *image)
{
	Size		size = zsagg_value_size(agg);
	ZsAggValue	other;

	memcpy(&other, image, size);
	switch (agg->kind)
	{
		case ZS_AGG_AVG_INT:
			value->integer = (int64) ((uint64) value->integer + (uint64) other.integer);
			value->count += other.count;
			break;
		case ZS_AGG_VAR_INT:
			value->sum1 += other.sum1;
			value->sum2 += other.sum2;
			value->count += other.count;
			break;
		case ZS_AGG_AVG_FLOAT:
		case ZS_AGG_VAR_FLOAT:
			combine_floats(value, &other);
			break;
		default:
			Assert(is_exact_sum(agg));
			combine_exact(agg, value, &other, image + size);
			break;
	}
}

/* See zs_agg.h. */
void
zsagg_combine(const ZsAgg *agg, ZsAggValue *value, int64 state)
{
	Assert(agg->state == ZS_STATE_INT || agg->state == ZS_STATE_IMAGE);
	if (agg->state == ZS_STATE_IMAGE)
		combine_image(agg, value, VARDATA_ANY((const void *) (intptr_t) state));
	else if (agg->kind == ZS_AGG_SUM_INT)
	{
		value->integer = (int64) ((uint64) value->integer + (uint64) state);
		value->count++;
	}
	else
		value->count += state;
}

/* See zs_agg.h. */
Datum
zsagg_result_of_state(const ZsAgg *agg, Datum state, bool isnull, bool *result_isnull)
{
	ZsAgg		combining = *agg;
	ZsAggValue	value = {0};

	*result_isnull = isnull;
	if (state_of(agg->kind) != ZS_STATE_IMAGE)
		return state;
	combining.state = ZS_STATE_IMAGE;
	if (!isnull)
		zsagg_combine(&combining, &value, (int64) state);
	return zsagg_result(&combining, &value, result_isnull);
}
