/*-------------------------------------------------------------------------
 *
 * node_agg_table.c
 *	  Paths of aggregates over one table.
 *
 * The path is offered for a query over one table, or for one partition in a partitionwise plan, all
 * of whose filter consists of comparisons that programs know (qual_compile.c), whose aggregates are
 * known, with arguments that are columns or expressions for which there are programs, and which is
 * grouped, if at all, by columns or expressions of types that group_key.c knows.  Filter clauses
 * are in core's order, since some may raise errors.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_table.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "optimizer/optimizer.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "node_agg_plan.h"
#include "zs_agg_group.h"
#include "zs_base.h"
#include "zs_base_plan.h"
#include "zs_cost.h"
#include "zs_expr_filter.h"
#include "zs_expr_guc.h"

/* Is the input one zedstore table that is scanned as a whole? */
static bool
input_is_table(PlannerInfo *root, RelOptInfo *rel)
{
	RangeTblEntry *rte;

	if ((rel->reloptkind != RELOPT_BASEREL && rel->reloptkind != RELOPT_OTHER_MEMBER_REL) ||
		rel->rtekind != RTE_RELATION || IS_DUMMY_REL(rel) || !bms_is_empty(rel->lateral_relids) ||
		!zscost_is_whole_table(rel))
		return false;
	rte = planner_rt_fetch(rel->relid, root);
	return zsbase_rel_is_ours(rel, rte);
}

/*
 * Are there programs for the filter, all keys and all aggregates?  *divisible: core can combine
 * what processes have seen of these.
 */
static bool
can_run(Relation rel, Index varno, List *filter, List *keys, List *eqops, List *aggrefs,
		bool *divisible)
{
	TupleDesc	desc = RelationGetDescr(rel);
	ListCell   *lc;
	ListCell   *lc2;

	Assert(list_length(keys) == list_length(eqops));
	*divisible = true;
	if (!zsexpr_filter_possible(desc, varno, filter))
		return false;
	forboth(lc, keys, lc2, eqops)
	{
		ZsGroupKey	key;

		if (!zsagg_group_classify_unbound(desc, varno, lfirst(lc), lfirst_oid(lc2), &key))
			return false;
	}
	foreach(lc, aggrefs)
	{
		ZsAgg		agg;

		if (!zsagg_classify_unbound(desc, varno, lfirst_node(Aggref, lc), &agg))
			return false;
		*divisible &= zsagg_has_partial(&agg);
	}
	return true;
}

/*
 * The filter of the query's table in core's order, and whether core can combine the aggregates;
 * false: there is no program for the query.
 */
static bool
find_filter(const ZsAggQuery *query, List **filter, bool *divisible)
{
	PlannerInfo *root = query->root;
	RelOptInfo *rel = query->rel;
	MemoryContext programs;
	MemoryContext old;
	Relation	table;
	bool		result;
	ListCell   *lc;

	if (!input_is_table(root, rel))
		return false;
	foreach(lc, zsexpr_qual_order(root, rel->baserestrictinfo))
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		/* those without columns decide whether there is a scan at all */
		if (rinfo->pseudoconstant)
			return false;
		*filter = lappend(*filter, rinfo->clause);
	}
	table = table_open(planner_rt_fetch(rel->relid, root)->relid, NoLock);
	/* the executor makes programs of its own */
	programs = AllocSetContextCreate(CurrentMemoryContext, "zedstore program",
									 ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(programs);
	result = can_run(table, rel->relid, *filter, query->keys, query->eqops, query->aggrefs,
					 divisible);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(programs);
	table_close(table, NoLock);
	return result;
}

/* What one of divisor processes needs to aggregate its rows of the table. */
static Cost
aggregation_cost(const ZsAggQuery *query, List *filter, double ngroups, double divisor)
{
	Cost		cost = zsnode_agg_table_cost(query, filter, ngroups, divisor);

	if (!zsnode_agg_is_in_key_order(query))
		cost += zsnode_agg_spill_cost(query, query->rel->rows / divisor);
	return cost;
}

/* A path that returns partial aggregates, in one process or, if workers > 0, in several. */
static CustomPath *
make_partial_path(const ZsAggQuery *query, PathTarget *target, List *aggrefs, List *filter,
				  int workers, ZsAggSplit split)
{
	double		divisor = workers > 0 ? zscost_parallel_divisor(workers) : 1;
	double		npartial = workers > 0 ? zsnode_agg_partial_groups(query, divisor) :
		query->ngroups;
	CustomPath *path = zsnode_agg_make_path(query, target, aggrefs, NULL, filter, NIL, split);

	path->path.parallel_aware = workers > 0;
	path->path.parallel_workers = workers;
	zsnode_agg_set_cost(query, path, aggregation_cost(query, filter, npartial, divisor),
						npartial);
	return path;
}

/*
 * A path that returns partial aggregates of the query's table, in one process, or one of several
 * that share the table (workers > 0); NULL if there are no programs for it.  target, aggrefs: of
 * partial aggregation.
 */
CustomPath *
zsnode_agg_partial_table_path(const ZsAggQuery *query, PathTarget *target, List *aggrefs,
							  int workers)
{
	List	   *filter = NIL;
	bool		divisible;

	Assert(workers == 0 || query->rel->consider_parallel);
	if (!find_filter(query, &filter, &divisible) || !divisible)
		return NULL;
	return make_partial_path(query, target, aggrefs, filter, workers, ZS_SPLIT_FOR_CORE);
}

/* Adds the plan in which workers aggregate shares of the table. */
static void
add_parallel_paths(const ZsAggQuery *query, List *filter, int workers, ZsAggSplit split)
{
	List	   *aggrefs = NIL;
	PathTarget *target = zsnode_agg_partial_target(query, split, &aggrefs);
	CustomPath *path = make_partial_path(query, target, aggrefs, filter, workers, split);

	Assert(workers > 0);
	if (split == ZS_SPLIT_FOR_CORE)
		(void) zsnode_agg_add_gathered(query, &path->path, true);
	else
		(void) zsnode_agg_add_combining(query, &path->path, aggrefs, true);
}

/* Adds the paths over the table; false if there is no program for the query. */
bool
zsnode_agg_add_table_paths(const ZsAggQuery *query)
{
	RelOptInfo *rel = query->rel;
	List	   *filter = NIL;
	CustomPath *path;
	bool		divisible;
	int			workers = 0;
	ListCell   *lc;

	if (!find_filter(query, &filter, &divisible))
		return false;
	path = zsnode_agg_make_path(query, query->target, query->aggrefs, NULL, filter,
								NIL, ZS_SPLIT_NONE);
	zsnode_agg_set_cost(query, path, aggregation_cost(query, filter, query->ngroups, 1),
						query->ngroups);
	/* before others of ours are there */
	zsnode_agg_drop_risky_paths(query, &path->path, path->path.total_cost, true);

	/* as many workers as the best of core's partial paths has (cost_workers.c) */
	foreach(lc, rel->partial_pathlist)
		workers = Max(workers, ((Path *) lfirst(lc))->parallel_workers);
	if (workers > 0 && zsnode_agg_can_divide(query))
	{
		bool		combining = zsnode_agg_can_combine(query);

		if (combining)
			add_parallel_paths(query, filter, workers, ZS_SPLIT_FOR_OURS);
		else if (divisible)
		{
			add_parallel_paths(query, filter, workers, ZS_SPLIT_FOR_CORE);
			combining = true;
		}
		if (combining && zs_debug_vector != ZS_DEBUG_VECTOR_OFF && parallel_setup_cost == 0)
			return true;
	}
	add_path(query->grouped_rel, &path->path);
	return true;
}
