/*-------------------------------------------------------------------------
 *
 * node_agg_below.c
 *	  Partial aggregates of a relation, for whoever combines them.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_below.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/pathnode.h"

#include "node_agg_plan.h"
#include "zs_cost.h"

/* The path whose rows cost least, among those that depend on no other relation. */
static Path *
cheapest_path(const List *paths)
{
	Path	   *result = NULL;
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);

		if (path->param_info == NULL &&
			(result == NULL || compare_path_costs(path, result, TOTAL_COST) < 0))
			result = path;
	}
	return result;
}

/* Adds paths over the relation as a whole, if it is one table. */
static bool
add_table_paths(const ZsAggQuery *query, PathTarget *target, List *aggrefs)
{
	RelOptInfo *grouped_rel = query->grouped_rel;
	CustomPath *path = zsnode_agg_partial_table_path(query, target, aggrefs, 0);
	int			workers = 0;
	ListCell   *lc;

	Assert(query->grouped_rel != query->rel);
	if (path == NULL)
		return false;
	add_path(grouped_rel, &path->path);

	/* as many workers as the best of core's partial paths has (cost_workers.c) */
	foreach(lc, query->rel->partial_pathlist)
		workers = Max(workers, ((Path *) lfirst(lc))->parallel_workers);
	if (workers > 0 && path->path.parallel_safe)
	{
		path = zsnode_agg_partial_table_path(query, target, aggrefs, workers);
		add_partial_path(grouped_rel, &path->path);
	}
	return true;
}

/*
 * Adds paths over the rows of the relation's cheapest paths.  all: or over those of any path that
 * go by batches.
 */
static void
add_row_paths(const ZsAggQuery *query, PathTarget *target, List *aggrefs, bool all)
{
	RelOptInfo *rel = query->rel;
	Path	   *child = cheapest_path(rel->pathlist);
	CustomPath *path;
	double		divisor;

	if (child == NULL)
		return;
	path = zsnode_agg_partial_row_path(query, target, aggrefs, child,
									   all ? rel->pathlist : list_make1(child),
									   all ? rel->partial_pathlist : NIL, query->ngroups);
	if (path == NULL)
		return;
	add_path(query->grouped_rel, &path->path);

	child = cheapest_path(rel->partial_pathlist);
	if (child == NULL || !path->path.parallel_safe)
		return;
	divisor = zscost_parallel_divisor(child->parallel_workers);
	path = zsnode_agg_partial_row_path(query, target, aggrefs, child,
									   all ? rel->partial_pathlist : list_make1(child), NIL,
									   zsnode_agg_partial_groups(query, divisor));
	if (path == NULL)
		return;
	path->path.parallel_workers = ((Path *) linitial(path->custom_paths))->parallel_workers;
	add_partial_path(query->grouped_rel, &path->path);
}

/*
 * Adds paths that return partial aggregates of the query's relation, for core to combine, to those
 * of its grouped relation, whole ones and partial ones, if there are programs for them.  target,
 * aggrefs: as zsnode_agg_partial_target() makes them.  all: paths of the relation have no
 * parameters, and each of them may be the one.
 */
void
zsnode_agg_add_partial_paths(const ZsAggQuery *query, PathTarget *target, List *aggrefs, bool all)
{
	if (!add_table_paths(query, target, aggrefs))
		add_row_paths(query, target, aggrefs, all);
}
