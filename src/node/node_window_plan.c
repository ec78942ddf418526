/*-------------------------------------------------------------------------
 *
 * node_window_plan.c
 *	  Plans ranking window functions without a tuplestore.
 *
 * Core has made paths with a WindowAgg for each clause of WINDOW, one on top of the other, and
 * sorts in between.  Each that computes nothing but row_number(), rank() and dense_rank() is
 * replaced by a node that counts rows as they go by (node_window_exec.c), in the same place, with
 * the same rows below and above.  What these functions return does not depend on the frame; a
 * clause whose frame has offsets is left to core all the same, which complains of those that are
 * negative or NULL.
 *
 * The node's rows are those of the plan below, and the functions' results: custom_scan_tlist.
 *
 * Costs are those of the path below, and of what core charges for its node the share that was
 * measured.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_window_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat_plan.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "node_window.h"
#include "zs_base.h"
#include "zs_base_plan.h"
#include "zs_cost_const.h"
#include "zs_node.h"

/* ---- plan ------------------------------------------------------------------------------------ */

/* Which function is it?  0: none that the node knows. */
static int
known_function(const WindowFunc *function)
{
	if (zs_window_function_has_nulls_clause(function))
		return 0;
	switch (function->winfnoid)
	{
		case F_ROW_NUMBER:
			return ZS_WINDOW_ROW_NUMBER;
		case F_RANK_:
			return ZS_WINDOW_RANK;
		case F_DENSE_RANK_:
			return ZS_WINDOW_DENSE_RANK;
		default:
			return 0;
	}
}

/* Keys as columns of the plan below, functions that compare, and collations. */
static List *
resolve_keys(List *clauses, List *tlist)
{
	List	   *columns = NIL;
	List	   *functions = NIL;
	List	   *collations = NIL;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		TargetEntry *tle = get_sortgroupclause_tle(clause, tlist);

		columns = lappend_int(columns, tle->resno);
		functions = lappend_oid(functions, get_opcode(clause->eqop));
		collations = lappend_oid(collations, exprCollation((Node *) tle->expr));
	}
	return list_make3(columns, functions, collations);
}

/* PlanCustomPath */
static Plan *
plan_window(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
			List *custom_plans)
{
	CustomScan *cscan = makeNode(CustomScan);
	List	   *below = ((Plan *) linitial(custom_plans))->targetlist;
	List	   *functions = NIL;
	ListCell   *lc;

	Assert(list_length(custom_plans) == 1 && clauses == NIL);
	cscan->custom_scan_tlist = copyObject(below);
	foreach(lc, (List *) list_nth(path->custom_private, ZS_WINDOW_FUNCTIONS))
	{
		WindowFunc *function = lfirst_node(WindowFunc, lc);

		functions = lappend_int(functions, known_function(function));
		cscan->custom_scan_tlist = lappend(cscan->custom_scan_tlist,
										   makeTargetEntry(copyObject((Expr *) function),
														   list_length(below) +
														   list_length(functions), NULL, false));
	}
	cscan->scan.plan.targetlist = tlist;
	cscan->scan.plan.qual = copyObject(list_nth(path->custom_private, ZS_WINDOW_QUAL));
	cscan->custom_exprs = copyObject(list_nth(path->custom_private, ZS_WINDOW_RUN_CONDITION));
	cscan->flags = path->flags;
	cscan->custom_plans = custom_plans;
	cscan->custom_private =
		list_make4(zsbase_private_name(),
				   resolve_keys(list_nth(path->custom_private, ZS_WINDOW_PARTITION), below),
				   resolve_keys(list_nth(path->custom_private, ZS_WINDOW_ORDER), below),
				   functions);
	cscan->methods = &zsnode_window_scan_methods;
	zsnode_shown_note(cscan);
	return &cscan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "ZedstoreWindow",
	.PlanCustomPath = plan_window,
};

const CustomScanMethods zsnode_window_scan_methods = {
	.CustomName = "ZedstoreWindow",
	.CreateCustomScanState = zsnode_window_create_state,
};

/* ---- paths ----------------------------------------------------------------------------------- */

/* The functions of core's path, each once; NIL if the node does not know them all. */
static List *
find_functions(const WindowAggPath *path)
{
	List	   *found = pull_var_clause((Node *) list_make2(path->path.pathtarget->exprs,
															path->runCondition),
										PVC_INCLUDE_AGGREGATES | PVC_INCLUDE_WINDOWFUNCS |
										PVC_INCLUDE_PLACEHOLDERS);
	List	   *result = NIL;
	ListCell   *lc;

	if ((path->winclause->frameOptions & (FRAMEOPTION_START_OFFSET | FRAMEOPTION_END_OFFSET)) != 0)
		return NIL;
	foreach(lc, found)
	{
		WindowFunc *function = lfirst(lc);

		if (!IsA(function, WindowFunc) || function->winref != path->winclause->winref)
			continue;
		if (known_function(function) == 0)
			return NIL;
		result = list_append_unique(result, function);
	}
	return result;
}

static Path *
make_path(const WindowAggPath *core, Path *subpath, List *functions)
{
	CustomPath *path = makeNode(CustomPath);
	const QualCost *target = &core->path.pathtarget->cost;
	Cost		own = core->path.total_cost - core->subpath->total_cost - target->startup -
		target->per_tuple * core->path.rows;

	path->path.pathtype = T_CustomScan;
	path->path.parent = core->path.parent;
	path->path.pathtarget = core->path.pathtarget;
	path->path.parallel_safe = core->path.parallel_safe && subpath->parallel_safe;
	path->path.rows = core->path.rows;
	path->path.pathkeys = core->path.pathkeys;
	zs_path_add_disabled(&path->path, zs_path_disabled(subpath));
	path->path.startup_cost = subpath->startup_cost + target->startup;
	path->path.total_cost = subpath->total_cost + target->startup +
		target->per_tuple * core->path.rows + Max(own, 0) * ZS_COST_WINDOW_SHARE;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(subpath);
	path->custom_private = list_make3(zsbase_private_name(), core->winclause->partitionClause,
									  core->winclause->orderClause);
	path->custom_private = lappend(path->custom_private, functions);
	/* below the topmost window all rows are returned, which filters them */
	path->custom_private = lappend(path->custom_private,
								   core->topwindow ? core->runCondition : NIL);
	path->custom_private = lappend(path->custom_private, core->qual);
	path->methods = &path_methods;
	return &path->path;
}

/* A copy of core's path over another one that returns the same rows. */
static Path *
copy_over(const Path *path, Size size, const Path *old, const Path *new)
{
	Path	   *copy = palloc(size);

	memcpy(copy, path, size);
	/* what comes before the first row of a sort is all of its input */
	copy->startup_cost += IsA(path, SortPath) ? new->total_cost - old->total_cost :
		new->startup_cost - old->startup_cost;
	copy->total_cost += new->total_cost - old->total_cost;
	copy->startup_cost = Min(copy->startup_cost, copy->total_cost);
	return copy;
}

/* The path with our node where it can be; the same path if it can be nowhere. */
static Path *
replace_windows(Path *path)
{
	Path	   *below;

	check_stack_depth();
	if (IsA(path, WindowAggPath))
	{
		WindowAggPath *window = (WindowAggPath *) path;
		List	   *functions = find_functions(window);

		below = replace_windows(window->subpath);
		if (functions != NIL)
			return make_path(window, below, functions);
		if (below != window->subpath)
		{
			window = (WindowAggPath *) copy_over(path, sizeof(WindowAggPath), window->subpath,
												 below);
			window->subpath = below;
		}
		return &window->path;
	}
	if (IsA(path, SortPath) || IsA(path, IncrementalSortPath))
	{
		/* the one is the beginning of the other */
		SortPath   *sort = (SortPath *) path;

		below = replace_windows(sort->subpath);
		if (below != sort->subpath)
		{
			sort = (SortPath *) copy_over(path, IsA(path, SortPath) ? sizeof(SortPath) :
										  sizeof(IncrementalSortPath), sort->subpath, below);
			sort->subpath = below;
		}
		return &sort->path;
	}
	return path;
}

/*
 * A step of create_upper_paths: paths whose ranking functions need no tuplestore, beside core's;
 * for queries that look at a table of ours.
 */
void
zsnode_window_add_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *window_rel)
{
	List	   *paths;
	ListCell   *lc;

	if (stage != UPPERREL_WINDOW || !zs_enable_window || !zsbase_query_is_ours(root))
		return;
	/* adding one may take away another one */
	paths = list_copy(window_rel->pathlist);
	foreach(lc, paths)
		lfirst(lc) = replace_windows(lfirst(lc));
	foreach(lc, paths)
	{
		if (!list_member_ptr(window_rel->pathlist, lfirst(lc)))
			add_path(window_rel, lfirst(lc));
	}
}
