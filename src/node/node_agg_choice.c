/*-------------------------------------------------------------------------
 *
 * node_agg_choice.c
 *	  Leaves out grouping by core's nodes that could cost much more than it saves.
 *
 * The problem: where few rows are expected below a grouping, sorting them, hashing them row by row
 * and collecting them into batches cost the same, and core's sort is taken since the order of its
 * rows is worth something.  Where a million come it sorts a million.  What joins and subqueries
 * return is often as wrong as that.  And parallel workers that hand over rows one by one look
 * cheaper than one process that makes none.
 *
 * The idea: bounded regret, as for nested loops (join_choice.c).  The path over rows costs next to
 * nothing more where the estimate is right, and a fraction if it is wrong; so core's path goes if
 * ours costs no more than a little more than it.  What stays: paths that group rows that come in
 * the right order anyhow, which need no memory, if they give the first groups before ours has made
 * all; and everything where the plan below costs less than it takes to begin with batches.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_choice.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "nodes/pathnodes.h"

#include "node_agg_plan.h"
#include "zs_base.h"
#include "zs_cost.h"
#include "zs_cost_const.h"
#include "zs_expr_guc.h"

/* Are the rows of the path sorted only for the grouping above it? */
static bool
sorts_all(const Path *path)
{
	return IsA(path, SortPath) || IsA(path, GatherMergePath);
}

/* Are the rows of the path handed over by processes, one by one? */
static bool
gathers_all(const Path *path)
{
	if (IsA(path, SortPath))
		path = ((const SortPath *) path)->subpath;
	return IsA(path, GatherPath) || IsA(path, GatherMergePath);
}

/*
 * Does core's path sort, hash or hand over all rows of the relation?  Or does it, though workers
 * aggregate what they find, make rows of what could stay batches?
 */
static bool
takes_all_rows(const RelOptInfo *rel, const Path *path, bool by_batches)
{
	if (IsA(path, AggPath))
	{
		const AggPath *agg = (const AggPath *) path;

		/* of groups that were made below a join there are few */
		if (zs_has_eager_groups(rel) && DO_AGGSPLIT_COMBINE(agg->aggsplit))
			return false;
		if (agg->aggstrategy == AGG_PLAIN)
			return DO_AGGSPLIT_COMBINE(agg->aggsplit) ? by_batches : gathers_all(agg->subpath);
		return agg->aggstrategy == AGG_HASHED ||
			(agg->aggstrategy == AGG_SORTED && sorts_all(agg->subpath));
	}
	if (IsA(path, GroupingSetsPath))
	{
		const GroupingSetsPath *sets = (const GroupingSetsPath *) path;

		return sets->aggstrategy != AGG_SORTED || sorts_all(sets->subpath);
	}
	if (IsA(path, GroupPath))
		return sorts_all(((const GroupPath *) path)->subpath);
	if (IsA(path, ZsUniquePath))
		return sorts_all(((const ZsUniquePath *) path)->subpath);
	return false;
}

/* Does core's path group rows in their order, but return the first group when ours has made all? */
static bool
begins_late(const Path *path, Cost cost, double factor)
{
	return (IsA(path, GroupPath) || IsA(path, ZsUniquePath) || IsA(path, GroupingSetsPath) ||
			(IsA(path, AggPath) && ((const AggPath *) path)->aggstrategy == AGG_SORTED)) &&
		cost <= factor * path->startup_cost;
}

/*
 * Takes paths of core's out of the grouped relation for which ours, with all groups, can stand in
 * at a regret that is bounded.  To be called before ours is added.  cost: what ours costs without
 * what theirs should be charged with, too; by_batches: no rows are made for ours at all.
 */
void
zsnode_agg_drop_risky_paths(const ZsAggQuery *query, const Path *ours, Cost cost, bool by_batches)
{
	ListCell   *lc;

	Assert(ours->param_info == NULL && cost <= ours->total_cost);
	if (!zs_enable_robust_joins ||
		query->rel->cheapest_total_path->total_cost < ZS_AGG_LEAST_INPUT_COST)
		return;
	foreach(lc, query->grouped_rel->pathlist)
	{
		const Path *path = lfirst(lc);
		double		factor = by_batches ? zsnode_spine_regret_factor(path, ours) :
			ZS_AGG_REGRET_FACTOR;

		if ((takes_all_rows(query->rel, path, by_batches) || begins_late(path, cost, factor)) &&
			zs_path_disabled(ours) <= zs_path_disabled(path) &&
			cost <= factor * path->total_cost + ZS_AGG_REGRET_COST)
			query->grouped_rel->pathlist = foreach_delete_current(query->grouped_rel->pathlist,
																  lc);
	}
}
