/*-------------------------------------------------------------------------
 *
 * node_agg_partition.c
 *	  Plans aggregates over a partitioned table in parts, one for each partition.
 *
 * Where a query groups by all columns of the partition key, core aggregates each partition by
 * itself and calls the hook for each of them.  Else groups have rows in several partitions: core
 * combines partial aggregates of the partitions, for which it calls no hook.  So that plan is made
 * here, as that below Gather is (node_agg_partial.c): Append of partial aggregates, and core's
 * Finalize above it; in one process, or with a partition for each process.
 *
 * Partitions that are no zedstore tables, or whose filters programs do not know, get core's partial
 * aggregates over their cheapest paths.
 *
 * As in core this is planned with enable_partitionwise_aggregate only.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_partition.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "port/pg_bitutils.h"

#include "node_agg_plan.h"
#include "zs_compat.h"
#include "zs_expr_guc.h"

/* What is made of the partitions. */
typedef struct Parts
{
	List	   *paths;
	int			nours;
	bool		parallel_safe;	/* all of them */
} Parts;

/* The query, and the target of partial aggregation, in terms of one of its partitions. */
static PathTarget *
translate_query(const ZsAggQuery *query, PathTarget *target, RelOptInfo *rel, ZsAggQuery *child)
{
	PlannerInfo *root = query->root;
	PathTarget *child_target = copy_pathtarget(target);
	int			nappinfos;
	AppendRelInfo **appinfos = find_appinfos_by_relids(root, rel->relids, &nappinfos);

	Assert(rel->reloptkind == RELOPT_OTHER_MEMBER_REL);
	*child = *query;
	child->rel = rel;
	child->keys = (List *) adjust_appendrel_attrs(root, (Node *) query->keys, nappinfos, appinfos);
	child->aggrefs = (List *) adjust_appendrel_attrs(root, (Node *) query->aggrefs, nappinfos,
													 appinfos);
	child_target->exprs = (List *) adjust_appendrel_attrs(root, (Node *) target->exprs, nappinfos,
														  appinfos);
	pfree(appinfos);
	child->parent = makeNode(RelOptInfo);
	*child->parent = *query->parent;
	child->parent->relids = rel->relids;
	child->parent->reltarget = child_target;
	child->ngroups = zsnode_agg_partial_groups(child, 1);
	return child_target;
}

/* Core's partial aggregation of a partition; NULL if there can be none by hashing. */
static Path *
make_core_path(const ZsAggQuery *query, PathTarget *target)
{
	PlannerInfo *root = query->root;
	Path	   *child = query->rel->cheapest_total_path;
	AggClauseCosts costs = {0};

	if (child == NULL || child->param_info != NULL ||
		(query->keys != NIL && (query->extra->flags & GROUPING_CAN_USE_HASH) == 0))
		return NULL;
	if (root->parse->hasAggs)
		get_agg_clause_costs(root, AGGSPLIT_INITIAL_SERIAL, &costs);
	return (Path *) create_agg_path(root, query->parent, child, target,
									query->keys == NIL ? AGG_PLAIN : AGG_HASHED,
									AGGSPLIT_INITIAL_SERIAL, root->processed_groupClause, NIL,
									&costs, query->ngroups);
}

/* Adds paths for the partitions of the query's table; false: one of them has none. */
static bool
add_parts(const ZsAggQuery *query, PathTarget *target, Parts *parts)
{
	RelOptInfo *rel = query->rel;
	int			i = -1;

	while ((i = bms_next_member(rel->live_parts, i)) >= 0)
	{
		RelOptInfo *part = rel->part_rels[i];
		ZsAggQuery	child;
		PathTarget *child_target;
		List	   *aggrefs = NIL;
		Path	   *path;
		ListCell   *lc;

		if (part == NULL || IS_DUMMY_REL(part))
			continue;
		if (part->reloptkind != RELOPT_OTHER_MEMBER_REL)
			return false;
		child_target = translate_query(query, target, part, &child);
		if (IS_PARTITIONED_REL(part))
		{
			if (!add_parts(&child, child_target, parts))
				return false;
			continue;
		}
		foreach(lc, child_target->exprs)
		{
			if (IsA(lfirst(lc), Aggref))
				aggrefs = lappend(aggrefs, lfirst(lc));
		}
		Assert(list_length(aggrefs) == list_length(query->aggrefs));
		path = (Path *) zsnode_agg_partial_table_path(&child, child_target, aggrefs, 0);
		if (path != NULL)
			parts->nours++;
		else
			path = make_core_path(&child, child_target);
		if (path == NULL)
			return false;
		parts->paths = lappend(parts->paths, path);
		parts->parallel_safe = parts->parallel_safe && path->parallel_safe;
	}
	return true;
}

/* Did core aggregate partitions by themselves? */
static bool
is_partitionwise(RelOptInfo *grouped_rel)
{
	ListCell   *lc;

	foreach(lc, grouped_rel->pathlist)
	{
		if (IsA(lfirst(lc), AppendPath) || IsA(lfirst(lc), MergeAppendPath))
			return true;
	}
	return false;
}

/* Adds paths that combine partial aggregates of partitions; false if there are none. */
bool
zsnode_agg_add_partition_paths(const ZsAggQuery *query)
{
	PlannerInfo *root = query->root;
	RelOptInfo *rel = query->rel;
	Parts		parts = {.parallel_safe = true};
	List	   *aggrefs = NIL;
	PathTarget *target;
	RelOptInfo *parent;
	int			workers;

	if (query->extra->patype != PARTITIONWISE_AGGREGATE_FULL ||
		(query->extra->flags & GROUPING_CAN_PARTIAL_AGG) == 0 ||
		!IS_PARTITIONED_REL(rel) || !IS_SIMPLE_REL(rel) || !bms_is_empty(rel->lateral_relids) ||
		is_partitionwise(query->grouped_rel))
		return false;
	target = zsnode_agg_partial_target(query, ZS_SPLIT_FOR_CORE, &aggrefs);
	if (!add_parts(query, target, &parts) || parts.nours == 0)
		return false;

	parent = makeNode(RelOptInfo);
	*parent = *query->parent;
	parent->reltarget = target;
	workers = Min(pg_leftmost_one_pos32((uint32) list_length(parts.paths)) + 1,
				  max_parallel_workers_per_gather);
	if (enable_parallel_append && workers > 0 && parts.parallel_safe &&
		list_length(parts.paths) > 1 && zsnode_agg_can_divide(query))
	{
		List	   *copied = list_copy(parts.paths);

		zsnode_agg_add_gathered(query, (Path *)
								zs_create_append_path(root, parent, copied, workers, true), true);
		if (zs_debug_vector != ZS_DEBUG_VECTOR_OFF && parallel_setup_cost == 0)
			return true;
	}
	zsnode_agg_add_combined(query, (Path *)
							zs_create_append_path(root, parent, parts.paths, 0, false));
	return true;
}
