/*-------------------------------------------------------------------------
 *
 * agg_classify.c
 *	  Which aggregates are computed by batches, and how.
 *
 * Aggregates are known by the OIDs of the server's own.  One is taken if its argument is a column
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
#include "zs_expr_fold.h"

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
	{F_COUNT_, ZS_AGG_COUNT_ROWS, ZS_DOMAIN_NONE},
	{F_COUNT_ANY, ZS_AGG_COUNT, ZS_DOMAIN_NONE},
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
	if (!zsagg_group_classify(desc, varno, (Node *) arg->expr, sgc->eqop, &key))
		return false;
	/* the set's program is the argument's */
	if ((key.expr == NULL) != (agg->expr == NULL) ||
		(key.expr != NULL && zsexpr_domain(key.expr) != agg->domain))
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

/* See zs_agg.h. */
bool
zsagg_kind_of(Oid aggfnoid, ZsAggKind *kind, ZsDomain *domain)
{
	for (int i = 0; i < (int) lengthof(known_aggregates); i++)
	{
		if (known_aggregates[i].aggfnoid != aggfnoid)
			continue;
		*kind = known_aggregates[i].kind;
		*domain = known_aggregates[i].domain;
		/* its result is made by core's function of what is written in core's format */
		return *kind != ZS_AGG_VAR_INT || zsagg_state_is_known();
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

/* See zs_agg.h. */
bool
zsagg_classify_folded(TupleDesc desc, Index varno, Aggref *aggref, ZsAgg *agg)
{
	Aggref	   *folded = makeNode(Aggref);
	ListCell   *lc;

	memcpy(folded, aggref, sizeof(Aggref));
	if (aggref->aggfilter != NULL)
	{
		folded->aggfilter = (Expr *) zsexpr_fold_with_nulls((Node *) aggref->aggfilter);
		if (folded->aggfilter == NULL)
			return false;
	}
	folded->args = NIL;
	foreach(lc, aggref->args)
	{
		TargetEntry *tle = flatCopyTargetEntry(lfirst_node(TargetEntry, lc));

		tle->expr = (Expr *) zsexpr_fold_with_nulls((Node *) tle->expr);
		if (tle->expr == NULL)
			return false;
		folded->args = lappend(folded->args, tle);
	}
	Assert(list_length(folded->args) == list_length(aggref->args));
	return classify(desc, varno, folded, agg);
}
