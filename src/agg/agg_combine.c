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

/* What partial aggregation by a node of ours gives to another one of ours; NONE: nothing. */
ZsAggState
zsagg_state_of(const Aggref *aggref)
{
	ZsAgg		agg = {0};

	if (aggref->aggdistinct != NIL || aggref->aggorder != NIL ||
		!zsagg_kind_of(aggref->aggfnoid, &agg.kind, &agg.domain))
		return ZS_STATE_NONE;
	return zsagg_ops_of(&agg)->state;
}

/* As zsagg_classify_unbound(), of an aggregate over states that are integers or images. */
bool
zsagg_classify_state(TupleDesc desc, Index varno, const Aggref *aggref, ZsAgg *agg)
{
	const Var  *state = (const Var *) linitial_node(TargetEntry, aggref->args)->expr;

	Assert(DO_AGGSPLIT_COMBINE(aggref->aggsplit) && aggref->aggfilter == NULL);
	if (!IsA(state, Var) || state->varno != varno ||
		!zsagg_kind_of(aggref->aggfnoid, &agg->kind, &agg->domain))
		return false;
	agg->state = zsagg_ops_of(agg)->state;
	Assert(agg->state == ZS_STATE_INT || agg->state == ZS_STATE_IMAGE);
	agg->attno = state->varattno;
	agg->width = agg->state == ZS_STATE_INT ? sizeof(int64) : -1;
	agg->collation = aggref->inputcollid;
	return TupleDescAttr(desc, agg->attno - 1)->atttypid ==
		(agg->state == ZS_STATE_INT ? INT8OID : BYTEAOID);
}

/* ---- states ------------------------------------------------------------------------------ */

/* What the aggregate has seen as bytes for another node of ours, in the current context. */
static bytea *
make_image(const ZsAgg *agg, const ZsAggValue *value)
{
	Size		size = zsagg_value_size(agg);
	Numeric		spare = NULL;
	bytea	   *image;

	if (zsagg_ops_of(agg)->is_exact_sum && value->is_large)
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
		(!zsagg_ops_of(agg)->is_exact_sum ||
		 (!value->has_nan && !value->has_pinf && !value->has_ninf));
}

/* The state of what the aggregate has seen; in the current context. */
Datum
zsagg_own_state(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	Assert(!agg->distinct);
	*isnull = false;
	/* counts and sums of integers are integers as results, too */
	if (zsagg_ops_of(agg)->state != ZS_STATE_IMAGE)
		return zsagg_result(agg, value, isnull);
	*isnull = is_empty(agg, value);
	return *isnull ? (Datum) 0 : PointerGetDatum(make_image(agg, value));
}

/* The result that the state alone has, for tests. */
Datum
zsagg_result_of_state(const ZsAgg *agg, Datum state, bool isnull, bool *result_isnull)
{
	ZsAgg		combining = *agg;
	ZsAggValue	value = {0};

	*result_isnull = isnull;
	if (zsagg_ops_of(agg)->state != ZS_STATE_IMAGE)
		return state;
	combining.state = ZS_STATE_IMAGE;
	if (!isnull)
		zsagg_combine(&combining, &value, (int64) state);
	return zsagg_result(&combining, &value, result_isnull);
}
