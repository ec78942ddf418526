/*-------------------------------------------------------------------------
 *
 * node_agg_spine.c
 *	  Finds the hash joins of core's below a node that could be done by batches.
 *
 * They form a spine: a hash join, below its outer side another one, and so on, and a ZedstoreScan
 * at the end.  What the joins hand up is written anew over columns that nobody projects in between:
 * those of the scan's table, then those of the lowest join's inner side, then those of the next.
 * They have fixed numbers, most of which nobody looks at.
 *
 * Errors.  An expression of a target list in between would be evaluated for rows that a join above
 * drops: it must not raise an error, for it will not be.  That of the topmost join may, since its
 * rows are all taken.  The condition of a RIGHT SEMI join must not either: core does not try it on
 * inner rows that have had a partner, and of a batch it is tried on all pairs at once.
 *
 * NULLs.  Where a RIGHT or FULL join returns an inner row by itself, what is below its outer side
 * is NULL, be it a column or an expression of a target list there, as those of subqueries are.
 * Columns are NULL then; expressions are computed above the join from these, and have to be NULL
 * for that.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_spine.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/rel.h"

#include "node_agg_join.h"
#include "zs_clause.h"
#include "zs_compat.h"
#include "zs_cost_const.h"
#include "zs_node_scan.h"
#include "zs_probe.h"

/* Where expressions are that are written anew. */
typedef struct Place
{
	ZsSpine    *spine;
	int			njoins;			/* OUTER_VAR is what so many joins return */
	ZsSpineJoin *join;			/* INNER_VAR is its build side; NULL: there is none */
	bool		failed;			/* there is something that cannot be written anew */
} Place;

static Node *rewrite(Node *node, void *context);

/*
 * Is what so many of the lowest joins return NULL in rows of one of those above, which it returns
 * for the sake of its inner side?
 */
static bool
is_nulled_above(const ZsSpine *spine, int njoins)
{
	for (int i = njoins; i < spine->njoins; i++)
	{
		const HashJoin *join = (const HashJoin *) spine->joins[i].state->js.ps.plan;

		if (zsprobe_join_fills_build(join->join.jointype))
			return true;
	}
	return false;
}

/* Is the expression NULL if all of its columns are? */
static bool
is_null_of_nulls(Node *expr)
{
	return contain_var_clause(expr) && !contain_nonstrict_functions(expr);
}

/* The column of the scan's table and all build sides with that number. */
static Node *
make_column(Place *place, int number, const Node *like)
{
	place->spine->used = bms_add_member(place->spine->used, number);
	return (Node *) makeVar(ZS_ROWS_VARNO, (AttrNumber) number, exprType(like), exprTypmod(like),
							exprCollation(like), 0);
}

/* What so many joins, or none, return as a column, over the columns of the spine. */
static Node *
rewrite_output(Place *place, int njoins, AttrNumber attno)
{
	ZsSpine    *spine = place->spine;
	const Plan *plan = njoins > 0 ? spine->joins[njoins - 1].state->js.ps.plan :
		spine->scan->ss.ps.plan;
	Node	   *expr = (Node *) list_nth_node(TargetEntry, plan->targetlist, attno - 1)->expr;
	Place		below = {.spine = spine};

	if (njoins == 0)
		below.njoins = -1;
	else
	{
		below.njoins = njoins - 1;
		below.join = &spine->joins[njoins - 1];
	}
	/* the topmost one's rows are all taken, and so are values of columns */
	if (njoins < spine->njoins && !IsA(expr, Var) &&
		(zsscan_expression_may_raise(expr, spine->scan->ss.ps.state->es_param_list_info) ||
		 (is_nulled_above(spine, njoins) && !is_null_of_nulls(expr))))
	{
		place->failed = true;
		return expr;
	}
	expr = rewrite(expr, &below);
	place->failed |= below.failed;
	return expr;
}

/* expression_tree_mutator callback */
static Node *
rewrite(Node *node, void *context)
{
	Place	   *place = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		const Var  *var = (const Var *) node;

		if (var->varattno <= 0)
			place->failed = true;
		else if (place->njoins < 0)
			return make_column(place, var->varattno, node);
		else if (var->varno == OUTER_VAR)
			return rewrite_output(place, place->njoins, var->varattno);
		else if (var->varno == INNER_VAR && place->join != NULL)
			return make_column(place, place->join->nbefore + var->varattno, node);
		else
			place->failed = true;
		return node;
	}
	if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan))
	{
		place->failed = true;
		return node;
	}
	return expression_tree_mutator(node, rewrite, context);
}

/* Writes the join's clauses and keys anew; false if that cannot be. */
static bool
rewrite_join(ZsSpine *spine, int i)
{
	ZsSpineJoin *join = &spine->joins[i];
	const HashJoin *plan = (const HashJoin *) join->state->js.ps.plan;
	Place		place = {.spine = spine, .njoins = i, .join = join};

	join->joinqual = (List *) rewrite((Node *) plan->join.joinqual, &place);
	join->qual = (List *) rewrite((Node *) plan->join.plan.qual, &place);
	join->key_exprs = (List *) rewrite((Node *) plan->hashkeys, &place);
	return !place.failed &&
		!(zs_join_is_right_semi(plan->join.jointype) &&
		  zsscan_expression_may_raise((Node *) plan->join.joinqual,
									  spine->scan->ss.ps.state->es_param_list_info));
}

/* The number of the expression over the build side among those that are wanted of it. */
static int
build_column(ZsSpineJoin *join, Expr *expr)
{
	ListCell   *lc;

	foreach(lc, join->build_exprs)
	{
		if (equal(lfirst(lc), expr))
			return foreach_current_index(lc) + 1;
	}
	join->build_exprs = lappend(join->build_exprs, expr);
	return list_length(join->build_exprs);
}

/* Does the node evaluate what takes long for each row? */
static bool
is_dear(const Plan *plan)
{
	QualCost	filter;
	QualCost	output;

	cost_qual_eval(&filter, plan->qual, NULL);
	cost_qual_eval(&output, plan->targetlist, NULL);
	return filter.per_tuple + output.per_tuple > ZS_DEAR_EXPRESSIONS;
}

/*
 * Does the plan return the same rows whenever it is read, at the cost of scans and of looking rows
 * up, or of what it has kept?
 */
static bool
rereads(const Plan *plan)
{
	ListCell   *lc;

	check_stack_depth();
	if (is_dear(plan))
		return false;
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			return ((const CustomScan *) plan)->methods == &zsnode_scan_methods;
		case T_SeqScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
		case T_ValuesScan:
		case T_FunctionScan:
		case T_CteScan:
		case T_NamedTuplestoreScan:
			return true;
		case T_SubqueryScan:
			return rereads(((const SubqueryScan *) plan)->subplan);
		case T_Result:
			return outerPlan(plan) == NULL || rereads(outerPlan(plan));
		case T_Hash:
			return rereads(outerPlan(plan));
		case T_HashJoin:
			return rereads(outerPlan(plan)) && rereads(innerPlan(plan));
		case T_Append:
			foreach(lc, ((const Append *) plan)->appendplans)
			{
				if (!rereads(lfirst(lc)))
					return false;
			}
			return true;
		default:
			return false;
	}
}

/* What is needed of the join's build side; false: there is something that cannot be had. */
static bool
choose_build_columns(const ZsSpine *spine, ZsSpineJoin *join)
{
	List	   *hashkeys = ((Hash *) join->hash->ps.plan)->hashkeys;
	ListCell   *lc;

	if (contain_subplans((Node *) hashkeys))
		return false;
	join->columns = palloc0(Max(join->nbuild, 1) * sizeof(AttrNumber));
	foreach(lc, join->build->plan->targetlist)
	{
		int			k = foreach_current_index(lc);
		const Node *expr = (const Node *) lfirst_node(TargetEntry, lc)->expr;

		if (bms_is_member(join->nbefore + k + 1, spine->used))
			join->columns[k] = (AttrNumber)
				build_column(join, (Expr *) makeVar(OUTER_VAR, (AttrNumber) (k + 1),
													exprType(expr), exprTypmod(expr),
													exprCollation(expr), 0));
	}
	foreach(lc, hashkeys)
	{
		Node	   *key = lfirst(lc);

		if (IsA(key, Var))
			key = (Node *) makeVar(OUTER_VAR, ((Var *) key)->varattno, exprType(key),
								   exprTypmod(key), exprCollation(key), 0);
		join->build_keys = lappend_int(join->build_keys, build_column(join, (Expr *) key));
	}
	return true;
}

/*
 * The spine whose topmost join is top, which is to return the expressions over top's rows
 * (OUTER_VAR).  NULL if there is none of so many joins at least, or something of it cannot be done
 * without its rows.  Memory comes from the current context.
 */
ZsSpine *
zsnode_spine_find(PlanState *top, List *exprs, int least)
{
	ZsSpine    *spine;
	Place		place;
	PlanState  *node = top;
	int			njoins = 0;
	int			natts;

	for (; IsA(node, HashJoinState) && !node->plan->parallel_aware; node = outerPlanState(node))
		njoins++;
	if (njoins < least || njoins > ZS_SPINE_MAX_JOINS || !IsA(node, CustomScanState) ||
		((CustomScan *) node->plan)->methods != &zsnode_scan_methods)
		return NULL;
	spine = palloc0(sizeof(ZsSpine));
	spine->scan = (CustomScanState *) node;
	spine->njoins = njoins;
	spine->joins = palloc0(Max(njoins, 1) * sizeof(ZsSpineJoin));
	node = top;
	for (int i = njoins - 1; i >= 0; i--, node = outerPlanState(node))
	{
		ZsSpineJoin *join = &spine->joins[i];

		join->state = (HashJoinState *) node;
		join->hash = (HashState *) innerPlanState(node);
		join->build = outerPlanState(&join->hash->ps);
		join->rereads = !is_dear(spine->scan->ss.ps.plan) && rereads(join->build->plan);
		join->nbuild = list_length(join->build->plan->targetlist);
	}
	natts = RelationGetNumberOfAttributes(spine->scan->ss.ss_currentRelation);
	for (int i = 0; i < njoins; i++)
	{
		spine->joins[i].nbefore = natts;
		natts += spine->joins[i].nbuild;
	}
	if (natts > MaxTupleAttributeNumber)
		return NULL;
	for (int i = 0; i < njoins; i++)
	{
		if (!rewrite_join(spine, i))
			return NULL;
	}
	place = (Place) {.spine = spine, .njoins = njoins};
	spine->exprs = (List *) rewrite((Node *) exprs, &place);
	if (place.failed)
		return NULL;
	for (int i = 0; i < njoins; i++)
	{
		if (!choose_build_columns(spine, &spine->joins[i]))
			return NULL;
	}
	return spine;
}

/* The columns of the scan's table and of the build sides of the lowest joins. */
TupleDesc
zsnode_spine_desc(const ZsSpine *spine, int njoins)
{
	TupleDesc	table = RelationGetDescr(spine->scan->ss.ss_currentRelation);
	TupleDesc	desc;
	AttrNumber	attno = 1;

	Assert(njoins <= spine->njoins);
	desc = CreateTemplateTupleDesc(njoins == 0 ? table->natts :
								   spine->joins[njoins - 1].nbefore +
								   spine->joins[njoins - 1].nbuild);
	for (; attno <= table->natts; attno++)
		TupleDescCopyEntry(desc, attno, table, attno);
	for (int i = 0; i < njoins; i++)
	{
		ListCell   *lc;

		foreach(lc, spine->joins[i].build->plan->targetlist)
		{
			const Node *expr = (const Node *) lfirst_node(TargetEntry, lc)->expr;

			TupleDescInitEntry(desc, attno, NULL, exprType(expr), exprTypmod(expr), 0);
			TupleDescInitEntryCollation(desc, attno++, exprCollation(expr));
		}
	}
	Assert(attno == desc->natts + 1);
	zs_tupledesc_finalize(desc);
	return desc;
}
