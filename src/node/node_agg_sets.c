/*-------------------------------------------------------------------------
 *
 * node_agg_sets.c
 *	  Grouping sets over groups that were made by batches.
 *
 * The problem: core brings each row to each of the sets of ROLLUP, CUBE and GROUPING SETS, one by
 * one, or sorts all rows for them.
 *
 * The idea: rows that agree in all keys of all sets are in one group of each set.  ZedstoreAgg
 * makes partial aggregates of these, as it does below Gather, and core's node makes the sets of
 * them, as Finalize would: there are as many as there are groups by all keys, and not as many as
 * there are rows.
 *
 *		ZedstoreGroupingSets
 *		 -> Finalize MixedAggregate
 *			 -> ZedstoreAgg, Partial		group by all keys
 *
 * Core has paths for grouping sets that are not split, and no way to ask for others.  So the plan
 * node is told when it is there, and for that something of ours has to stand above it.  It hands on
 * its rows.  References to aggregates in it become those of the combining kind when core resolves
 * them (set_plan_refs()), as in any Finalize node.
 *
 * Which queries: aggregates that can be combined, and have the same result in whatever order rows
 * come; sums of floats do not.  Keys and extremes of which equal ones look the same: which of 1.0
 * and 1.00 is shown depends on the order, too.
 *
 * Gray et al., Data Cube: A Relational Aggregation Operator Generalizing Group-By, Cross-Tab, and
 * Sub-Totals (1997), compute coarser sets from the finest one like that.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_sets.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "access/nbtree.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/prep.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "node_agg_plan.h"
#include "zs_agg.h"
#include "zs_base_plan.h"
#include "zs_cost_const.h"
#include "zs_expr_guc.h"
#include "zs_node.h"

/* ---- execution --------------------------------------------------------------------------- */

static void
begin_sets(CustomScanState *node, EState *estate, int eflags)
{
	const CustomScan *cscan = (const CustomScan *) node->ss.ps.plan;

	node->custom_ps = list_make1(ExecInitNode(linitial(cscan->custom_plans), estate, eflags));
	zsnode_child_any_slot(node);
}

/* ExecCustomScan: the next row of core's node. */
static TupleTableSlot *
exec_sets(CustomScanState *node)
{
	Assert(list_length(node->custom_ps) == 1);
	return zsnode_child_project(node, ExecProcNode(linitial(node->custom_ps)));
}

static void
end_sets(CustomScanState *node)
{
	ExecEndNode(linitial(node->custom_ps));
}

static void
rescan_sets(CustomScanState *node)
{
	zsnode_child_rescan(node, linitial(node->custom_ps));
}

static const CustomExecMethods exec_methods = {
	.CustomName = "ZedstoreGroupingSets",
	.BeginCustomScan = begin_sets,
	.ExecCustomScan = exec_sets,
	.EndCustomScan = end_sets,
	.ReScanCustomScan = rescan_sets,
};

static Node *
create_state(CustomScan *cscan)
{
	CustomScanState *node = makeNode(CustomScanState);

	node->methods = &exec_methods;
	return (Node *) node;
}

const CustomScanMethods zsnode_sets_scan_methods = {
	.CustomName = "ZedstoreGroupingSets",
	.CreateCustomScanState = create_state,
};

/* ---- plan nodes -------------------------------------------------------------------------- */

/* PlanCustomPath: core's node below combines partial aggregates. */
static Plan *
plan_sets(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		  List *custom_plans)
{
	CustomScan *cscan = makeNode(CustomScan);
	Agg		   *agg = linitial_node(Agg, custom_plans);
	ListCell   *lc;

	Assert(list_length(custom_plans) == 1 && clauses == NIL);
	Assert(agg->groupingSets != NIL && agg->aggsplit == AGGSPLIT_SIMPLE);
	agg->aggsplit = AGGSPLIT_FINAL_DESERIAL;
	foreach(lc, agg->chain)
		lfirst_node(Agg, lc)->aggsplit = AGGSPLIT_FINAL_DESERIAL;
	cscan->scan.plan.targetlist = tlist;
	cscan->scan.scanrelid = 0;
	cscan->flags = path->flags;
	cscan->custom_plans = custom_plans;
	cscan->custom_scan_tlist = copyObject(agg->plan.targetlist);
	cscan->custom_private = list_make1(zsbase_private_name());
	cscan->methods = &zsnode_sets_scan_methods;
	return &cscan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "ZedstoreGroupingSets",
	.PlanCustomPath = plan_sets,
};

/* ---- which queries ----------------------------------------------------------------------- */

/*
 * Are values of the expression the same to the last bit if they are equal?  As
 * _bt_allequalimage(), which takes it that strings of type character have a length.
 */
static bool
looks_the_same(Node *expr)
{
	Oid			collation = exprCollation(expr);
	TypeCacheEntry *type = lookup_type_cache(exprType(expr), TYPECACHE_BTREE_OPFAMILY);
	Oid			proc;

	if (!OidIsValid(type->btree_opf) ||
		(getBaseType(exprType(expr)) == BPCHAROID && exprTypmod(expr) < 0))
		return false;
	proc = get_opfamily_proc(type->btree_opf, type->btree_opintype, type->btree_opintype,
							 BTEQUALIMAGE_PROC);
	return OidIsValid(proc) &&
		DatumGetBool(OidFunctionCall1Coll(proc, collation,
										  ObjectIdGetDatum(type->btree_opintype)));
}

/* Has the aggregate one result, and no error, in whatever order and parts its rows come? */
static bool
is_exact(const Aggref *aggref)
{
	ZsAggKind	kind;
	ZsDomain	domain;

	/* intervals are added up one after the other, and may be too large on the way */
	if (aggref->aggkind != AGGKIND_NORMAL || !zsagg_ignores_order(aggref->aggfnoid) ||
		aggref->aggfnoid == F_SUM_INTERVAL || aggref->aggfnoid == F_AVG_INTERVAL)
		return false;
	/* what has no kind of its own is an extreme, or a variance of numerics */
	if (!zsagg_kind_of(aggref->aggfnoid, &kind, &domain) ||
		(kind == ZS_AGG_CORE && aggref->aggtype != NUMERICOID))
		kind = ZS_AGG_MIN;
	return (kind != ZS_AGG_MIN && kind != ZS_AGG_MAX) ||
		looks_the_same((Node *) linitial_node(TargetEntry, aggref->args)->expr);
}

/*
 * Have all sets the same results if they are made of partial aggregates?  And can the node above
 * core's tell what core's returns by the expressions?  Not if two of them are equal and their
 * values are not: keys that are NULL in different sets, and constants, or what is volatile.
 */
static bool
can_combine(const ZsAggQuery *query)
{
	const PlannerInfo *root = query->root;
	List	   *seen = NIL;
	ListCell   *lc;

	if (root->hasNonPartialAggs || root->hasNonSerialAggs ||
		contain_volatile_functions((Node *) query->target->exprs) ||
		contain_volatile_functions(query->extra->havingQual))
		return false;
	foreach(lc, query->aggrefs)
	{
		if (!is_exact(lfirst_node(Aggref, lc)))
			return false;
	}
	foreach(lc, query->keys)
	{
		Node	   *key = lfirst(lc);

		if (!contain_var_clause(key) || list_member(seen, key) || !looks_the_same(key))
			return false;
		seen = lappend(seen, key);
	}
	return true;
}

/* ---- paths ------------------------------------------------------------------------------- */

/* Do core's rows come in an order, by which it finds the first of its rollups? */
static bool
needs_order(const GroupingSetsPath *core)
{
	ListCell   *lc;

	foreach(lc, core->rollups)
	{
		const RollupData *rollup = lfirst_node(RollupData, lc);

		if (!rollup->is_hashed && rollup->groupClause != NIL)
			return true;
	}
	return false;
}

/* Core's path for the sets, above partial aggregates that partial returns, and ours above that. */
static Path *
make_path(const ZsAggQuery *query, const GroupingSetsPath *core, Path *partial,
		  const AggClauseCosts *costs)
{
	PlannerInfo *root = query->root;
	CustomPath *path = makeNode(CustomPath);
	Path	   *below = partial;
	GroupingSetsPath *sets;

	Assert(partial->parallel_workers == 0);
	/* keys that are the same in all rows need none */
	if (needs_order(core) && root->group_pathkeys != NIL)
		below = (Path *) create_sort_path(root, query->parent, partial, root->group_pathkeys, -1.0);
	sets = create_groupingsets_path(root, query->grouped_rel, below,
									(List *) query->extra->havingQual, core->aggstrategy,
									core->rollups, costs);
	path->path.pathtype = T_CustomScan;
	path->path.parent = query->parent;
	path->path.pathtarget = sets->path.pathtarget;
	path->path.parallel_safe = sets->path.parallel_safe;
	path->path.rows = sets->path.rows;
	path->path.pathkeys = sets->path.pathkeys;
	path->path.startup_cost = sets->path.startup_cost;
	path->path.total_cost = sets->path.total_cost + partial->rows * zsnode_agg_serial_cost(query) +
		sets->path.rows * cpu_operator_cost;
	if (zs_debug_vector != ZS_DEBUG_VECTOR_OFF)
	{
		path->path.startup_cost = partial->startup_cost;
		path->path.total_cost = partial->startup_cost + cpu_tuple_cost * query->ngroups;
	}
	zs_path_add_disabled(&path->path, zs_path_disabled(&sets->path));
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(sets);
	path->methods = &path_methods;
	return &path->path;
}

/* Does the path, of partial aggregates, take batches of rel, a table or joins, as they are? */
static bool
goes_by_batches(const RelOptInfo *rel, const Path *path)
{
	const CustomPath *partial = (const CustomPath *) path;

	return partial->custom_paths == NIL ||
		!(list_member_ptr(rel->pathlist, linitial(partial->custom_paths)) ||
		  list_member_ptr(rel->partial_pathlist, linitial(partial->custom_paths)));
}

/* The cheapest of the paths for the sets, for each of core's; adds those to the list. */
static Path *
make_paths(const ZsAggQuery *query, Path *partial, List **paths)
{
	AggClauseCosts costs = {0};
	Path	   *best = NULL;
	ListCell   *lc;

	get_agg_clause_costs(query->root, AGGSPLIT_FINAL_DESERIAL, &costs);
	foreach(lc, query->grouped_rel->pathlist)
	{
		const GroupingSetsPath *core = lfirst(lc);
		Path	   *path;

		if (!IsA(core, GroupingSetsPath))
			continue;
		path = make_path(query, core, partial, &costs);
		*paths = lappend(*paths, path);
		if (best == NULL || compare_path_costs(path, best, TOTAL_COST) < 0)
			best = path;
	}
	return best;
}

/*
 * Adds paths for a query with grouping sets, whose keys are those of all sets, as they are before
 * they are grouped; its target and parent are those of the groups, its grouped relation has core's
 * paths already.
 */
void
zsnode_agg_add_sets_paths(const ZsAggQuery *query)
{
	RelOptInfo *grouped_rel = query->grouped_rel;
	RelOptInfo *partial_rel = makeNode(RelOptInfo);
	ZsAggQuery	below = *query;
	List	   *aggrefs = NIL;
	List	   *paths = NIL;
	PathTarget *target;
	Path	   *whole;
	Path	   *best;
	ListCell   *lc;

	Assert(query->keys != NIL && query->nleading == list_length(query->keys));
	if (!zsbase_query_is_ours(query->root) || !can_combine(query) ||
		(query->ngroups > ZS_SETS_GROUPS_SHARE * query->rel->rows &&
		 zs_debug_vector == ZS_DEBUG_VECTOR_OFF))
		return;
	*partial_rel = *query->parent;
	partial_rel->pathlist = partial_rel->partial_pathlist = NIL;
	below.grouped_rel = partial_rel;
	target = zsnode_agg_partial_target(query, ZS_SPLIT_FOR_CORE, &aggrefs);
	partial_rel->reltarget = target;
	if (list_length(target->exprs) != list_length(query->keys) + list_length(aggrefs))
		return;
	zsnode_agg_add_partial_paths(&below, target, aggrefs, true);
	if (partial_rel->pathlist == NIL)
		return;

	/* the first ones of the lists are the cheapest */
	whole = linitial(partial_rel->pathlist);
	best = make_paths(query, whole, &paths);
	/* core does not divide grouping sets, and does not say whether it could */
	if (partial_rel->partial_pathlist != NIL && query->rel->consider_parallel &&
		grouped_rel->consider_parallel)
		(void) make_paths(query, zsnode_agg_gather(query, linitial(partial_rel->partial_pathlist),
												   true), &paths);
	if (best != NULL)
		zsnode_agg_drop_risky_paths(query, best, best->total_cost,
									goes_by_batches(query->rel, whole));
	foreach(lc, paths)
		add_path(grouped_rel, lfirst(lc));
}
