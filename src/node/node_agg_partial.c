/*-------------------------------------------------------------------------
 *
 * node_agg_partial.c
 *	  Plans aggregates in parts: below core's Gather and Finalize.
 *
 * Core makes the plans of partial grouping by itself and calls no hook for them, so the whole chain
 * is made here: a target of keys and partial aggregates, Gather, a Sort if need be, and the Agg
 * node that combines the parts.  The aggregates in it are equal to those that core would have
 * there, by which setrefs.c finds them.
 *
 * Where there are groups a node of ours combines them, if it can: it takes the rows of Gather as it
 * takes those of any plan, and the states of aggregates as they are (agg_combine.c).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_partial.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/selfuncs.h"

#include "node_agg_plan.h"
#include "zs_agg.h"
#include "zs_agg_group.h"
#include "zs_cost.h"
#include "zs_cost_const.h"
#include "zs_expr_guc.h"
#include "zs_expr_input.h"

/* Can the query be aggregated in parts, as far as core is concerned? */
bool
zsnode_agg_can_divide(const ZsAggQuery *query)
{
	return query->rel->consider_parallel && query->grouped_rel->consider_parallel &&
		(query->extra->flags & GROUPING_CAN_PARTIAL_AGG) != 0;
}

/*
 * Keys, and the aggregates of target and HAVING as partial ones, which are added to *aggrefs; as
 * make_partial_grouping_target() of the server.  split: who combines them.
 */
PathTarget *
zsnode_agg_partial_target(const ZsAggQuery *query, ZsAggSplit split, List **aggrefs)
{
	PlannerInfo *root = query->root;
	PathTarget *target = query->target;
	PathTarget *partial = create_empty_pathtarget();
	ListCell   *lc;

	foreach(lc, target->exprs)
	{
		Index		sgref = get_pathtarget_sortgroupref(target, foreach_current_index(lc));

		if (sgref != 0 &&
			get_sortgroupref_clause_noerr(sgref, root->processed_groupClause) != NULL)
			add_column_to_pathtarget(partial, lfirst(lc), sgref);
	}
	/* keys without a place in GROUP BY */
	add_new_columns_to_pathtarget(partial, list_copy_tail(query->keys, query->nleading));
	/*
	 * what else target and HAVING have are expressions of these, and of keys, whose columns are not
	 * wanted by themselves
	 */
	add_new_columns_to_pathtarget(partial, query->aggrefs);
	foreach(lc, partial->exprs)
	{
		Aggref	   *aggref;

		if (!IsA(lfirst(lc), Aggref))
			continue;
		aggref = makeNode(Aggref);
		memcpy(aggref, lfirst(lc), sizeof(Aggref));
		mark_partial_aggref(aggref, AGGSPLIT_INITIAL_SERIAL);
		if (split == ZS_SPLIT_FOR_OURS && zsagg_state_of(aggref) == ZS_STATE_IMAGE)
			aggref->aggtype = BYTEAOID;
		lfirst(lc) = aggref;
		*aggrefs = lappend(*aggrefs, aggref);
	}
	Assert(list_length(*aggrefs) == list_length(query->aggrefs));
	return set_pathtarget_cost_width(root, partial);
}

/* The number of groups that each of the processes meets. */
double
zsnode_agg_partial_groups(const ZsAggQuery *query, double divisor)
{
	Assert(divisor >= 1);
	if (query->keys == NIL)
		return 1;
	return estimate_num_groups(query->root, list_copy_head(query->keys, query->nleading),
							   clamp_row_est(query->rel->rows / divisor), NULL, NULL);
}

/* Core's last step over a path, above the partial one, that returns partial aggregates. */
static Path *
final_path(const ZsAggQuery *query, Path *partial, Path *path, AggStrategy strategy, List *clauses)
{
	PlannerInfo *root = query->root;
	List	   *having = (List *) query->extra->havingQual;
	AggClauseCosts costs = {0};
	Path	   *final;

	Assert((strategy == AGG_PLAIN) == (clauses == NIL));
	if (root->parse->hasAggs)
		get_agg_clause_costs(root, AGGSPLIT_FINAL_DESERIAL, &costs);
	if (strategy == AGG_SORTED && !root->parse->hasAggs)
		final = (Path *) create_group_path(root, query->grouped_rel, path, clauses, having,
										   query->ngroups);
	else
		final = (Path *) create_agg_path(root, query->grouped_rel, path, query->target,
										 strategy, AGGSPLIT_FINAL_DESERIAL, clauses, having, &costs,
										 query->ngroups);
	final->total_cost += path->rows * zsnode_agg_serial_cost(query);
	if (strategy != AGG_SORTED)
		final->startup_cost += path->rows * zsnode_agg_serial_cost(query);
	if (zs_debug_vector != ZS_DEBUG_VECTOR_OFF)
	{
		final->startup_cost = partial->startup_cost;
		final->total_cost = partial->startup_cost + cpu_tuple_cost * query->ngroups;
	}
	return final;
}

/* Core's last step over the path in all ways. */
static List *
final_paths(const ZsAggQuery *query, Path *partial, Path *path)
{
	PlannerInfo *root = query->root;
	List	   *result = NIL;

	if (query->keys == NIL)
		return list_make1(final_path(query, partial, path, AGG_PLAIN, NIL));
	if ((query->extra->flags & GROUPING_CAN_USE_HASH) != 0)
		result = lappend(result, final_path(query, partial, path, AGG_HASHED,
											root->processed_groupClause));
	if ((query->extra->flags & GROUPING_CAN_USE_SORT) != 0)
	{
		/* without the columns by which the inputs of aggregates are ordered */
		List	   *pathkeys = list_copy_head(root->group_pathkeys, root->num_groupby_pathkeys);

		path = (Path *) create_sort_path(root, query->parent, path, pathkeys, -1.0);
		result = lappend(result, final_path(query, partial, path, AGG_SORTED,
											root->processed_groupClause));
	}
	return result;
}

/* What workers cost more to begin with than core charges; tests have costs of their own. */
static Cost
beginning_cost(bool by_batches)
{
	return by_batches && zs_debug_vector == ZS_DEBUG_VECTOR_OFF ?
		ZS_WORKERS_SHARE * parallel_setup_cost : 0;
}

/*
 * What all processes return of the partial path.  by_batches: no rows are made below it, so that
 * their beginning is dear.
 */
Path *
zsnode_agg_gather(const ZsAggQuery *query, Path *partial, bool by_batches)
{
	double		nrows = clamp_row_est(partial->rows *
									  zscost_parallel_divisor(partial->parallel_workers));
	Path	   *path;

	Assert(partial->parallel_workers > 0 && partial->parallel_safe);
	path = (Path *) create_gather_path(query->root, query->parent, partial, partial->pathtarget,
									   NULL, &nrows);
	path->startup_cost += beginning_cost(by_batches);
	path->total_cost += beginning_cost(by_batches);
	return path;
}

/*
 * Adds the plans that combine the groups of the processes of the partial path: core's final step
 * above Gather.  by_batches: no rows are made below it.  What the cheapest of them costs, without
 * the beginning of workers; ZS_COST_NEVER if there is none.
 */
Cost
zsnode_agg_add_gathered(const ZsAggQuery *query, Path *partial, bool by_batches)
{
	List	   *paths = final_paths(query, partial, zsnode_agg_gather(query, partial, by_batches));
	const Path *cheapest = NULL;
	Cost		cost;
	ListCell   *lc;

	foreach(lc, paths)
	{
		const Path *path = lfirst(lc);

		if (cheapest == NULL || path->total_cost < cheapest->total_cost)
			cheapest = path;
	}
	if (cheapest == NULL)
		return ZS_COST_NEVER;
	cost = cheapest->total_cost - beginning_cost(by_batches);
	if (by_batches)
		zsnode_agg_drop_risky_paths(query, cheapest, cost, true);
	foreach(lc, paths)
		add_path(query->grouped_rel, lfirst(lc));
	return cost;
}

/* As zsnode_agg_add_gathered(), for a partial path of one process: without Gather. */
void
zsnode_agg_add_combined(const ZsAggQuery *query, Path *partial)
{
	List	   *paths = final_paths(query, partial, partial);
	ListCell   *lc;

	Assert(partial->parallel_workers == 0);
	foreach(lc, paths)
		add_path(query->grouped_rel, lfirst(lc));
}

/* ---- a node of ours above Gather ---------------------------------------------------------- */

/*
 * Can a node of ours combine what processes have seen of the query's groups?  There have to be
 * groups: of one row for each process nothing is to be gained.
 */
bool
zsnode_agg_can_combine(const ZsAggQuery *query)
{
	ListCell   *lc;
	ListCell   *lc2;

	if (!zs_enable_combined_groups || query->keys == NIL)
		return false;
	foreach(lc, query->aggrefs)
	{
		if (zsagg_state_of(lfirst_node(Aggref, lc)) == ZS_STATE_NONE)
			return false;
	}
	forboth(lc, query->keys, lc2, query->eqops)
	{
		TupleDesc	desc = ExecTypeFromExprList(query->keys);
		int			i = foreach_current_index(lc);
		ZsGroupKey	key;

		if (!zsagg_group_classify(desc, ZS_ROWS_VARNO,
								  (Node *) makeVar(ZS_ROWS_VARNO, (AttrNumber) (i + 1),
												   exprType(lfirst(lc)), exprTypmod(lfirst(lc)),
												   exprCollation(lfirst(lc)), 0),
								  lfirst_oid(lc2), &key))
			return false;
	}
	return true;
}

/* The aggregate over a column of the node's input that has its states. */
static Aggref *
aggregate_over_states(const Aggref *aggref, const Aggref *partial, AttrNumber column)
{
	Aggref	   *result = makeNode(Aggref);
	Var		   *state = makeVar(ZS_ROWS_VARNO, column, partial->aggtype,
								exprTypmod((const Node *) partial), partial->aggcollid, 0);

	Assert(DO_AGGSPLIT_SKIPFINAL(partial->aggsplit) && column > 0);
	memcpy(result, aggref, sizeof(Aggref));
	result->aggsplit = AGGSPLIT_FINAL_DESERIAL;
	result->aggfilter = NULL;
	result->aggstar = false;
	result->args = list_make1(makeTargetEntry((Expr *) state, 1, NULL, false));
	return result;
}

/*
 * Adds the plan that combines what the partial path returns, a path of ours for ZS_SPLIT_FOR_OURS
 * with these partial aggregates, in a node of ours.  by_batches: no rows are made below it.
 * What the plan costs, without the beginning of workers.
 */
Cost
zsnode_agg_add_combining(const ZsAggQuery *query, Path *partial, List *aggrefs, bool by_batches)
{
	Path	   *gathered = zsnode_agg_gather(query, partial, by_batches);
	List	   *guards = NIL;
	List	   *over = NIL;
	AttrNumber	column = 1;
	CustomPath *path;
	Cost		cost;
	ListCell   *lc;
	ListCell   *lc2;

	Assert(list_length(aggrefs) == list_length(query->aggrefs));
	foreach(lc, query->keys)
		over = lappend(over, makeVar(ZS_ROWS_VARNO, column++, exprType(lfirst(lc)),
									 exprTypmod(lfirst(lc)), exprCollation(lfirst(lc)), 0));
	forboth(lc, query->aggrefs, lc2, aggrefs)
		over = lappend(over, aggregate_over_states(lfirst_node(Aggref, lc),
												   lfirst_node(Aggref, lc2), column++));
	foreach(lc, over)
		guards = lappend_int(guards, -1);
	path = zsnode_agg_make_path(query, query->target, query->aggrefs, gathered, NIL,
								list_make3(list_concat_copy(query->keys, aggrefs), guards, over),
								ZS_SPLIT_COMBINING);
	zsnode_agg_set_cost(query, path,
						gathered->total_cost +
						gathered->rows * zsnode_agg_combine_cost(query) +
						zsnode_agg_spill_cost(query, gathered->rows), query->ngroups);
	if (zs_debug_vector != ZS_DEBUG_VECTOR_OFF)
	{
		path->path.startup_cost = partial->startup_cost;
		path->path.total_cost = partial->startup_cost + cpu_tuple_cost * query->ngroups;
	}
	cost = path->path.total_cost - beginning_cost(by_batches);
	zsnode_agg_drop_risky_paths(query, &path->path, cost, by_batches);
	add_path(query->grouped_rel, &path->path);
	return cost;
}
