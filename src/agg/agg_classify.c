/*-------------------------------------------------------------------------
 *
 * agg_classify.c
 *	  Which aggregates are computed by batches, and how.
 *
 * One that we know (agg_known.c) is taken if its argument is a column
 * or an expression that has a program; where it is not, the query's plan is core's.
 *
 * A DISTINCT aggregate is taken if its result depends neither on the order of the values nor on
 * which of equal ones is taken: core adds them in their own order.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_classify.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"

#include "zs_agg.h"
#include "zs_agg_group.h"
#include "zs_expr_program.h"

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
	agg->distinct = zsagg_ops_of(agg)->distinct != ZS_DISTINCT_IGNORED;
	agg->distinct_eqop = sgc->eqop;
	if (!zsagg_group_classify(desc, varno, (Node *) arg->expr, sgc->eqop, &key))
		return false;
	/* the set's program is the argument's */
	if ((key.expr == NULL) != (agg->expr == NULL) ||
		(key.expr != NULL && zsexpr_domain(key.expr) != agg->domain))
		return false;
	switch (zsagg_ops_of(agg)->distinct)
	{
		case ZS_DISTINCT_FIRST:
			return true;
		case ZS_DISTINCT_ONE_SCALE:
			return exprTypmod((Node *) arg->expr) >= 0;
		case ZS_DISTINCT_IGNORED:
			return agg->domain == ZS_DOMAIN_INT || agg->domain == ZS_DOMAIN_UINT;
		case ZS_DISTINCT_UNKNOWN:
			break;
	}
	return false;
}

/* Describes the aggregate, whose parts are all there; false if it is none that we know. */
static bool
classify(TupleDesc desc, Index varno, Aggref *aggref, ZsAgg *agg)
{
	ZsAggState	state = zsagg_state_of(aggref);
	ZsDomain	domain;
	Node	   *arg;

	memset(agg, 0, sizeof(*agg));
	if (DO_AGGSPLIT_COMBINE(aggref->aggsplit) && state != ZS_STATE_VALUE)
		return state != ZS_STATE_NONE && zsagg_classify_state(desc, varno, aggref, agg);
	if (aggref->agglevelsup != 0 || aggref->aggorder != NIL ||
		aggref->aggdirectargs != NIL || aggref->aggvariadic || aggref->aggkind != AGGKIND_NORMAL)
		return false;
	if (aggref->aggfilter != NULL)
	{
		agg->filter = zsexpr_qual_compile(desc, varno, (Node *) aggref->aggfilter);
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
	agg->attno = zsexpr_column_of(desc, varno, arg, &agg->domain);
	if (agg->attno == InvalidAttrNumber)
	{
		agg->expr = zsexpr_compile(desc, varno, arg);
		if (agg->expr == NULL)
			return false;
		agg->domain = zsexpr_domain(agg->expr);
		agg->width = zsexpr_width(agg->expr);
		if ((agg->domain == ZS_DOMAIN_TEXT || agg->domain == ZS_DOMAIN_BPCHAR) &&
			aggref->aggfnoid != F_COUNT_ANY)
			return false;
	}
	else
		agg->width = TupleDescAttr(desc, agg->attno - 1)->attlen;
	agg->collation = aggref->inputcollid;
	if (!zsagg_kind_of(aggref->aggfnoid, &agg->kind, &domain) ||
		(domain != ZS_DOMAIN_NONE && domain != agg->domain))
		return false;
	/* core says what is wrong with a comparison that has no collation */
	if ((agg->domain == ZS_DOMAIN_TEXT || agg->domain == ZS_DOMAIN_BPCHAR) &&
		!OidIsValid(agg->collation) && (agg->kind == ZS_AGG_MIN || agg->kind == ZS_AGG_MAX))
		return false;
	return aggref->aggdistinct == NIL || classify_distinct(desc, varno, aggref, agg);
}

/*
 * Describes the aggregate; false if it is none that we know.  varno: the table's in its
 * expressions.  Parts of these that look at no column are NULLs: can there be programs, whatever
 * their values turn out to be?  Programs in *agg are not to run if there are such parts.
 */
bool
zsagg_classify_unbound(TupleDesc desc, Index varno, Aggref *aggref, ZsAgg *agg)
{
	Aggref	   *unbound = makeNode(Aggref);
	ListCell   *lc;

	memcpy(unbound, aggref, sizeof(Aggref));
	if (aggref->aggfilter != NULL)
	{
		unbound->aggfilter = (Expr *) zsexpr_unbound((Node *) aggref->aggfilter);
		if (unbound->aggfilter == NULL)
			return false;
	}
	unbound->args = NIL;
	foreach(lc, aggref->args)
	{
		TargetEntry *tle = flatCopyTargetEntry(lfirst_node(TargetEntry, lc));

		tle->expr = (Expr *) zsexpr_unbound((Node *) tle->expr);
		if (tle->expr == NULL)
			return false;
		unbound->args = lappend(unbound->args, tle);
	}
	Assert(list_length(unbound->args) == list_length(aggref->args));
	return classify(desc, varno, unbound, agg);
}
