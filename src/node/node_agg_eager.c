/*-------------------------------------------------------------------------
 *
 * node_agg_eager.c
 *	  Plans aggregates by batches below joins.
 *
 * PostgreSQL 19 may group the rows of a relation before they are joined, by the columns that the
 * query groups by and by those that joins look at, and combine the groups above the joins (eager
 * aggregation).  Where rules allow it and groups have rows enough, a relation of the query has
 * another one beside it that stands for its groups, with a target of keys and partial aggregates.
 * That one gets paths of ours here, before core adds its own: over one table, in one process or in
 * several; over its partitions, each of which is grouped by itself; or over rows of any other path.
 * What is above is core's.
 *
 * Core has no hook for groups of what a join returns: these it makes by itself.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_eager.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "port/pg_bitutils.h"
#include "utils/typcache.h"

#include "node_agg_plan.h"
#include "zs_agg_group.h"
#include "zs_base_plan.h"
#include "zs_expr_guc.h"
#include "zs_node.h"

#if ZS_PLANS_EAGER_AGGREGATES

/*
 * The keys: those that decide which group a row is in, then columns of the target that are the same
 * in all rows of a group.  False if one of the latter has no equality.
 */
static bool
find_keys(ZsAggQuery *query, const RelAggInfo *info)
{
	ListCell   *lc;

	Assert(list_length(info->group_clauses) == list_length(info->group_exprs));
	query->keys = list_copy(info->group_exprs);
	query->nleading = list_length(query->keys);
	foreach(lc, info->group_clauses)
		query->eqops = lappend_oid(query->eqops, lfirst_node(SortGroupClause, lc)->eqop);
	foreach(lc, info->target->exprs)
	{
		Node	   *node = lfirst(lc);
		Oid			eqop;

		if (IsA(node, Aggref) || list_member(query->keys, node))
			continue;
		eqop = lookup_type_cache(exprType(node), TYPECACHE_EQ_OPR)->eq_opr;
		if (!OidIsValid(eqop))
			return false;
		query->keys = lappend(query->keys, node);
		query->eqops = lappend_oid(query->eqops, eqop);
	}
	return list_length(query->keys) <= ZS_MAX_GROUP_KEYS;
}

/*
 * The aggregates as the query has them, in terms of its relation; those of the target are partial
 * ones, in the same order.
 */
static void
find_aggregates(ZsAggQuery *query, const RelAggInfo *info, List **partial)
{
	PlannerInfo *root = query->root;
	RelOptInfo *rel = query->rel;
	ListCell   *lc;

	foreach(lc, root->agg_clause_list)
		query->aggrefs = lappend(query->aggrefs, lfirst_node(AggClauseInfo, lc)->aggref);
	if (IS_OTHER_REL(rel))
		query->aggrefs = (List *)
			adjust_appendrel_attrs_multilevel(root, (Node *) query->aggrefs, rel, rel->top_parent);
	foreach(lc, info->target->exprs)
	{
		if (IsA(lfirst(lc), Aggref))
			*partial = lappend(*partial, lfirst(lc));
	}
	Assert(list_length(*partial) == list_length(query->aggrefs));
}

/* ---- paths over a table, and over rows ----------------------------------------------------- */

/* Adds paths for the groups of a relation that is no partitioned table. */
static void
add_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped_rel)
{
	const RelAggInfo *info = grouped_rel->agg_info;
	GroupPathExtraData extra = {0};
	ZsAggQuery	query = {.root = root,.rel = rel,.grouped_rel = grouped_rel,
		.parent = grouped_rel,.extra = &extra,.target = info->target};
	List	   *aggrefs = NIL;

	if (!find_keys(&query, info))
		return;
	find_aggregates(&query, info, &aggrefs);
	query.ngroups = zsnode_agg_partial_groups(&query, 1);
	zsnode_agg_add_partial_paths(&query, info->target, aggrefs, false);
}

/* ---- partitions ---------------------------------------------------------------------------- */

/* The relation of a partition's groups, with its paths; NULL if there are none. */
static RelOptInfo *
partition_groups(PlannerInfo *root, RelOptInfo *part)
{
	RelOptInfo *grouped_rel = part->grouped_rel;
	RelAggInfo *info;

	if (grouped_rel == NULL)
	{
		/* too few rows in a group to make them for a join of the partition alone */
		info = create_rel_agg_info(root, part, true);
		if (info == NULL)
			return NULL;
		info->apply_agg_at = part->relids;
		info->agg_useful = true;
		grouped_rel = build_grouped_rel(root, part);
		grouped_rel->reltarget = info->target;
		grouped_rel->rows = info->grouped_rows;
		grouped_rel->agg_info = info;
		add_paths(root, part, grouped_rel);
		generate_grouped_paths(root, grouped_rel, part);
		if (grouped_rel->pathlist != NIL)
			set_cheapest(grouped_rel);
	}
	return grouped_rel->cheapest_total_path != NULL ? grouped_rel : NULL;
}

/*
 * Collects paths for the groups of each partition of the table, and of theirs; false if one of them
 * has none.  *nours: how many of the paths are ours.
 */
static bool
collect_parts(PlannerInfo *root, RelOptInfo *rel, List **paths, int *nours)
{
	int			i = -1;

	while ((i = bms_next_member(rel->live_parts, i)) >= 0)
	{
		RelOptInfo *part = rel->part_rels[i];
		RelOptInfo *grouped_rel;

		if (part == NULL || IS_DUMMY_REL(part))
			continue;
		if (IS_PARTITIONED_REL(part))
		{
			if (!collect_parts(root, part, paths, nours))
				return false;
			continue;
		}
		grouped_rel = part->reloptkind == RELOPT_OTHER_MEMBER_REL ?
			partition_groups(root, part) : NULL;
		if (grouped_rel == NULL || grouped_rel->cheapest_total_path->param_info != NULL)
			return false;
		*paths = lappend(*paths, grouped_rel->cheapest_total_path);
		*nours += zsbase_is_path_of_ours(llast(*paths)) ? 1 : 0;
	}
	return *paths != NIL;
}

/*
 * Appends the groups of partitions, for the relation of those of a table: partial or complete paths
 * for the same.
 *
 * Core looks for partitions that the executor may leave out by restrictions of the table above
 * Append, up to which it goes from each partition.  It knows that table by its own relation, and
 * misses one that is a partition itself where its groups stand for it.  So such a one has no
 * restrictions here.
 */
static Path *
append_groups(PlannerInfo *root, RelOptInfo *grouped_rel, List *paths, int workers)
{
	RelOptInfo *parent;

	if (grouped_rel->reloptkind == RELOPT_BASEREL)
		return (Path *) zs_create_append_path(root, grouped_rel, paths, workers, workers > 0);
	parent = makeNode(RelOptInfo);
	*parent = *grouped_rel;
	parent->baserestrictinfo = NIL;
	return (Path *) create_projection_path(root, grouped_rel, (Path *)
										   zs_create_append_path(root, parent, paths, workers,
																 workers > 0),
										   grouped_rel->reltarget);
}

/* Adds paths that append the groups of each partition, if partitions are grouped by themselves. */
static void
add_partition_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped_rel)
{
	List	   *paths = NIL;
	int			nours = 0;
	bool		parallel_safe = grouped_rel->consider_parallel;
	int			workers;
	ListCell   *lc;

	if (!enable_partitionwise_aggregate || !bms_is_empty(rel->lateral_relids) ||
		!collect_parts(root, rel, &paths, &nours) || nours == 0)
		return;
	foreach(lc, paths)
		parallel_safe &= ((Path *) lfirst(lc))->parallel_safe;
	workers = Min(pg_leftmost_one_pos32((uint32) list_length(paths)) + 1,
				  max_parallel_workers_per_gather);
	if (enable_parallel_append && workers > 0 && parallel_safe && list_length(paths) > 1)
		add_partial_path(grouped_rel, append_groups(root, grouped_rel, list_copy(paths), workers));
	add_path(grouped_rel, append_groups(root, grouped_rel, paths, 0));
}

/*
 * Adds paths for the groups of a relation of the query, if core is going to make any, to the
 * relation that stands for these.
 */
void
zsnode_agg_add_eager_paths(PlannerInfo *root, RelOptInfo *rel)
{
	RelOptInfo *grouped_rel = rel->grouped_rel;

	if (!zs_enable_vector_agg || grouped_rel == NULL || IS_DUMMY_REL(rel) ||
		!grouped_rel->agg_info->agg_useful || grouped_rel->agg_info->group_clauses == NIL ||
		!bms_equal(grouped_rel->agg_info->apply_agg_at, rel->relids))
		return;
	if (IS_PARTITIONED_REL(rel))
		add_partition_paths(root, rel, grouped_rel);
	add_paths(root, rel, grouped_rel);
}

#else

/* Before PostgreSQL 19 nothing is grouped below joins. */
void
zsnode_agg_add_eager_paths(PlannerInfo *root, RelOptInfo *rel)
{
}

#endif
