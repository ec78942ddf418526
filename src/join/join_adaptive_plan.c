/*-------------------------------------------------------------------------
 *
 * join_adaptive_plan.c
 *	  Nested loops over an index that turn to a hash join when there are many outer rows.
 *
 * The problem: a loop that looks up its inner rows by an index is right for ten outer rows and
 * ruinous for a million, and the number of rows that a join returns is underestimated by a factor
 * of a thousand where columns are correlated.
 *
 * The idea: decide when the rows are there.  A path has both joins, made of core's own nodes, over
 * one outer side:
 *
 *		ZedstoreAdaptiveJoin
 *		 -> outer side
 *		 -> Nested Loop  -> ZedstoreTee, inner side by an index
 *		 -> Hash Join    -> ZedstoreTee and the inner side as a whole
 *
 * The tees hand on rows of the outer side, which is a plan of its own and runs once.  The loop's
 * tee counts them, and pretends to be at the end after so many; the node then runs the hash join,
 * whose tee goes on where the other one stopped.  Each outer row is seen by one of the joins, so
 * the rows of both together are those of the join, if it is one that treats each outer row by
 * itself: INNER, LEFT, SEMI and ANTI.
 *
 * The number of rows is that for which the loop costs as much as the hash join as a whole: so the
 * two together cost at most about twice what the better one of them would have.
 *
 * A hash join may have the tee on either side, if it is INNER, or SEMI since 18.  The outer rows
 * become the hash table if they are fewer than the inner ones even when they are many, also if that
 * seems to cost more: costs take many rows to have as few different keys as the few that are
 * expected.  A scan of the inner side knows the join's keys in this case (join_tap.c).
 *
 * Adaptive joins as in SQL Server 2017 and Oracle 12c, which buffer rows up to a threshold before
 * they begin with either join.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/join/join_adaptive_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "join_internal.h"
#include "zs_join.h"
#include "zs_base.h"
#include "zs_base_plan.h"
#include "zs_cost_const.h"
#include "zs_node.h"

/* Tells a node's tees from those of other nodes in the plan. */
static int	last_id = 0;

/* ---- nodes ----------------------------------------------------------------------------------- */

static Plan *
plan_custom(CustomPath *path, List *tlist, List *scan_tlist, List *custom_plans,
			const CustomScanMethods *methods)
{
	CustomScan *cscan = makeNode(CustomScan);

	Assert(list_length(tlist) == list_length(scan_tlist) || path->flags != 0);
	cscan->scan.plan.targetlist = tlist;
	cscan->scan.scanrelid = 0;
	cscan->flags = path->flags;
	cscan->custom_plans = custom_plans;
	cscan->custom_scan_tlist = copyObject(scan_tlist);
	cscan->custom_private = path->custom_private;
	cscan->methods = methods;
	return &cscan->scan.plan;
}

static const CustomScanMethods tee_scan_methods = {
	.CustomName = "ZedstoreTee",
	.CreateCustomScanState = zsjoin_tee_create_state,
};

static const CustomScanMethods adaptive_scan_methods = {
	.CustomName = "ZedstoreAdaptiveJoin",
	.CreateCustomScanState = zsjoin_adaptive_create_state,
};

/* Its columns are those of the outer side's plan: both come from the same path target. */
static Plan *
plan_tee(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		 List *custom_plans)
{
	return plan_custom(path, tlist, tlist, NIL, &tee_scan_methods);
}

/* Its columns are those of the two joins, which are the same. */
static Plan *
plan_adaptive(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
			  List *custom_plans)
{
	Plan	   *loop = list_nth(custom_plans, ZS_ADAPTIVE_LOOP);

	Assert(list_length(custom_plans) == ZS_ADAPTIVE_NCHILDREN);
	Assert(list_length(loop->targetlist) ==
		   list_length(((Plan *) list_nth(custom_plans, ZS_ADAPTIVE_HASH))->targetlist));
	return plan_custom(path, tlist, loop->targetlist, custom_plans, &adaptive_scan_methods);
}

static const CustomPathMethods tee_path_methods = {
	.CustomName = "ZedstoreTee",
	.PlanCustomPath = plan_tee,
};

static const CustomPathMethods adaptive_path_methods = {
	.CustomName = "ZedstoreAdaptiveJoin",
	.PlanCustomPath = plan_adaptive,
};

static CustomPath *
make_custom(RelOptInfo *rel, PathTarget *target, const CustomPathMethods *methods)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = target;
	path->methods = methods;
	return path;
}

/* Rows of the outer side, in the place of it; they cost nothing here. */
static Path *
make_tee(const Path *outer, double rows, int id)
{
	CustomPath *tee = make_custom(outer->parent, outer->pathtarget, &tee_path_methods);

	Assert(outer->param_info == NULL && rows >= 0);
	tee->path.rows = clamp_row_est(rows);
	tee->path.parallel_safe = outer->parallel_safe;
	tee->path.parallel_workers = outer->parallel_workers;
	tee->custom_private = list_make2(zsbase_private_name(), makeInteger(id));
	return &tee->path;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* After so many outer rows the loop has cost as much as the hash join does as a whole. */
static int
break_even(const Path *loop, double outer_rows, const Path *hash)
{
	Cost		per_row = (loop->total_cost - loop->startup_cost) / Max(outer_rows, 1);

	Assert(loop->total_cost >= loop->startup_cost && hash->total_cost > 0);
	if (zs_debug_switch_after > 0)
		return zs_debug_switch_after;
	if (per_row <= 0)
		return PG_INT32_MAX;
	return (int) Max(Min(hash->total_cost / per_row, (double) PG_INT32_MAX), 1);
}

/* The pair's loop over the paths of its sides, costed by core's functions. */
static Path *
make_loop(const ZsJoinPair *pair, Path *outer, Path *inner)
{
	JoinCostWorkspace workspace;

	zs_initial_cost_nestloop(pair->root, &workspace, pair->jointype, outer, inner, pair->extra);
	return (Path *) create_nestloop_path(pair->root, pair->joinrel, pair->jointype, &workspace,
										 pair->extra, outer, inner, pair->extra->restrictlist, NIL,
										 NULL);
}

/* The loop with a tee, which costs nothing, in the place of its outer side. */
static Path *
loop_over(const NestPath *core, Path *tee)
{
	const Path *outer = core->jpath.outerjoinpath;
	NestPath   *loop = palloc(sizeof(NestPath));
	Path	   *path = &loop->jpath.path;

	Assert(tee->total_cost == 0);
	memcpy(loop, core, sizeof(NestPath));
	loop->jpath.outerjoinpath = tee;
	zs_path_add_disabled(path, -zs_path_disabled(outer));
	path->startup_cost = Max(path->startup_cost - outer->startup_cost, 0);
	path->total_cost = Max(path->total_cost - outer->total_cost, path->startup_cost);
	return path;
}

/* The loop's inner side is looked up by the outer row; the adaptive path that stands for both. */
static CustomPath *
make_adaptive(const ZsJoinPair *pair, const NestPath *core)
{
	Path	   *outer = core->jpath.outerjoinpath;
	Path	   *inner = pair->innerrel->cheapest_total_path;
	int			id = ++last_id;
	Path	   *tee = make_tee(outer, outer->rows, id);
	Path	   *many = make_tee(outer, Max(ZS_ADAPTIVE_TIMES * outer->rows, ZS_ADAPTIVE_ROWS), id);
	Path	   *loop = loop_over(core, tee);
	Path	   *hash = zsjoin_pair_hash(pair, many, inner, false);
	Path	   *cheapest;
	double		factor = zs_debug_switch_after > 0 ? ZS_ADAPTIVE_FORCED : 1 - ZS_ADAPTIVE_GAIN;
	CustomPath *path;

	Assert(core->jpath.path.param_info == NULL && outer->param_info == NULL);
	Assert(core->jpath.innerjoinpath->param_info != NULL && inner->param_info == NULL);
	cheapest = hash;
	if (zsjoin_pair_can_swap(pair) && inner->rows > many->rows)
	{
		Path	   *swapped = zsjoin_pair_hash(pair, inner, many, true);

		if (swapped != NULL)
		{
			if (swapped->total_cost < hash->total_cost)
				cheapest = swapped;
			hash = swapped;
		}
	}

	path = make_custom(pair->joinrel, pair->joinrel->reltarget, &adaptive_path_methods);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make3(outer, loop, hash);
	path->custom_private = list_make3(zsbase_private_name(), makeInteger(id),
									  makeInteger(break_even(loop, outer->rows, cheapest)));
	path->path.rows = core->jpath.path.rows;
	path->path.parallel_safe = core->jpath.path.parallel_safe && hash->parallel_safe;
	path->path.parallel_workers = core->jpath.path.parallel_workers;
	zs_path_add_disabled(&path->path, zs_path_disabled(&core->jpath.path));
	path->path.startup_cost = core->jpath.path.startup_cost * factor;
	path->path.total_cost = core->jpath.path.total_cost * factor;
	return path;
}

/* Is it a loop that may become adaptive? */
static bool
is_candidate(const ZsJoinPair *pair, const Path *path)
{
	const NestPath *loop = (const NestPath *) path;
	const Path *outer;
	const Path *inner;

	if (!IsA(path, NestPath) || path->param_info != NULL)
		return false;
	outer = loop->jpath.outerjoinpath;
	inner = loop->jpath.innerjoinpath;
	return outer->parent == pair->outerrel && inner->parent == pair->innerrel &&
		loop->jpath.jointype == pair->jointype && outer->param_info == NULL &&
		bms_is_subset(PATH_REQ_OUTER(inner), pair->outerrel->relids) &&
		inner->param_info != NULL && !zsjoin_path_is_single_row(outer);
}

/*
 * Is there a clause whose side effects, or whose plan, must not stand in two plans?  RestrictInfos
 * remember whether they are volatile.
 */
static bool
is_indivisible(const PlannerInfo *root, List *clauses)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (contain_volatile_functions((Node *) rinfo) ||
			(root->glob->subplans != NIL && contain_subplans((Node *) rinfo->clause)))
			return true;
	}
	return false;
}

/*
 * Must the relation's plan stand in one place only?  All scans of a recursive query's work table
 * share one position.  A subquery's relations are numbered for the whole query once for each of
 * its plans, in place (set_plan_references()).
 */
static bool
is_singular(const PlannerInfo *root, int relid)
{
	const RangeTblEntry *rte = root->simple_rte_array[relid];

	return rte->rtekind == RTE_SUBQUERY || (rte->rtekind == RTE_CTE && rte->self_reference);
}

/* Is there one in the join's conditions, or something like it in the inner side? */
static bool
is_forbidden(const ZsJoinPair *pair)
{
	if (is_indivisible(pair->root, pair->extra->restrictlist))
		return true;
	for (int relid = 1; relid < pair->root->simple_rel_array_size; relid++)
	{
		RelOptInfo *rel = pair->root->simple_rel_array[relid];

		/* partitions and members of UNION ALL are known by their parents */
		if (rel == NULL || !(bms_is_member(relid, pair->innerrel->relids) ||
							 bms_overlap(rel->top_parent_relids, pair->innerrel->relids)))
			continue;
		if (is_indivisible(pair->root, rel->baserestrictinfo) || is_singular(pair->root, relid))
			return true;
	}
	return false;
}

/* Loops that core may have thrown away since they are dear, for tests. */
static List *
forced_loops(const ZsJoinPair *pair, List *outer_paths)
{
	List	   *loops = NIL;
	ListCell   *lc;

	foreach(lc, pair->innerrel->cheapest_parameterized_paths)
	{
		Path	   *inner = lfirst(lc);

		if (inner->param_info != NULL &&
			bms_is_subset(PATH_REQ_OUTER(inner), pair->outerrel->relids))
			loops = lappend(loops, make_loop(pair, linitial(outer_paths), inner));
	}
	return loops;
}

/*
 * Adds to each loop of the pair that looks up inner rows a path that turns to a hash join, to the
 * join's paths and to its partial ones.
 */
void
zsjoin_adaptive_add_paths(const ZsJoinPair *pair)
{
	RelOptInfo *joinrel = pair->joinrel;
	List	   *loops = NIL;
	List	   *partial_loops = NIL;
	List	   *paths = joinrel->pathlist;
	List	   *partial_paths = joinrel->consider_parallel &&
		pair->innerrel->cheapest_total_path->parallel_safe ? joinrel->partial_pathlist : NIL;
	ListCell   *lc;

	if (!zsjoin_pair_may_adapt(pair))
		return;
	if (zs_debug_switch_after > 0)
	{
		paths = forced_loops(pair, list_make1(pair->outerrel->cheapest_total_path));
		if (partial_paths != NIL && pair->outerrel->partial_pathlist != NIL)
			partial_paths = forced_loops(pair, pair->outerrel->partial_pathlist);
	}
	foreach(lc, paths)
	{
		if (is_candidate(pair, lfirst(lc)))
			loops = lappend(loops, lfirst(lc));
	}
	foreach(lc, partial_paths)
	{
		if (is_candidate(pair, lfirst(lc)) && ((Path *) lfirst(lc))->parallel_safe)
			partial_loops = lappend(partial_loops, lfirst(lc));
	}
	if ((loops == NIL && partial_loops == NIL) || is_forbidden(pair))
		return;

	/* all of them first: add_path() frees loops that cost more than what is added */
	foreach(lc, loops)
		lfirst(lc) = make_adaptive(pair, lfirst(lc));
	foreach(lc, partial_loops)
		lfirst(lc) = make_adaptive(pair, lfirst(lc));
	foreach(lc, loops)
		add_path(joinrel, lfirst(lc));
	foreach(lc, partial_loops)
		add_partial_path(joinrel, lfirst(lc));
}

static bool
is_tee(const Path *path)
{
	return path->pathtype == T_CustomScan &&
		((const CustomPath *) path)->methods == &tee_path_methods;
}

/*
 * The hash join that an adaptive path may turn to, over the outer side itself; NULL for other
 * paths.  Where processes share the outer rows, and these would become the hash table, the sides
 * change places; NULL, too, if they cannot.
 */
static HashPath *
hash_of_path(const Path *path)
{
	const CustomPath *adaptive = (const CustomPath *) path;
	Path	   *outer;
	HashPath   *hash;

	if (path->pathtype != T_CustomScan || adaptive->methods != &adaptive_path_methods)
		return NULL;
	Assert(list_length(adaptive->custom_paths) == ZS_ADAPTIVE_NCHILDREN);
	outer = list_nth(adaptive->custom_paths, ZS_ADAPTIVE_OUTER);
	hash = palloc(sizeof(HashPath));
	memcpy(hash, list_nth_node(HashPath, adaptive->custom_paths, ZS_ADAPTIVE_HASH),
		   sizeof(HashPath));
	if (is_tee(hash->jpath.outerjoinpath))
		hash->jpath.outerjoinpath = outer;
	else if (path->parallel_workers == 0)
		hash->jpath.innerjoinpath = outer;
	else if (hash->jpath.jointype == JOIN_INNER)
	{
		/* nor are inner rows believed to be unique then */
		Assert(!hash->jpath.inner_unique);
		hash->jpath.innerjoinpath = hash->jpath.outerjoinpath;
		hash->jpath.outerjoinpath = outer;
	}
	else
		return NULL;
	hash->jpath.path.pathtarget = path->pathtarget;
	hash->jpath.path.rows = path->rows;
	hash->jpath.path.parallel_safe = path->parallel_safe;
	hash->jpath.path.parallel_workers = path->parallel_workers;
	return hash;
}

/*
 * Makes the nodes known to core, for plans that are read from text, and the hash joins of paths to
 * those who join by batches; from _PG_init.
 */
void
zsjoin_adaptive_register(void)
{
	zsnode_spine_hash_of = hash_of_path;
	RegisterCustomScanMethods(&tee_scan_methods);
	RegisterCustomScanMethods(&adaptive_scan_methods);
}
