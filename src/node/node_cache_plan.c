/*-------------------------------------------------------------------------
 *
 * node_cache_plan.c
 *	  Puts a cache of results on top of correlated subqueries.
 *
 * The problem: an expression's subquery that looks at columns of the query around it is run once
 * for each row, and core remembers nothing of it (ExecScanSubPlan()).  "... where x > (select
 * avg(x) * 1.2 from t where t.store = o.store)" computes as many averages as o has rows, though
 * there are a dozen stores.
 *
 * The idea: the subquery's paths get a node on top that looks up the values of the outer columns
 * first.  That is what Memoize does for the inner side of nested loops, as Neumann and Kemper
 * ("Unnesting Arbitrary Queries", 2015) say what a system must do at least that does not unnest;
 * core has the node, but no place for it here, and no means to give up where all values differ.
 *
 * The subquery of an expression is told from one in FROM by its parent: expressions are planned
 * before the arrays of relations are set up (subquery_planner()).  It is correlated if the parent
 * has parameters for it, since make_subplan() takes these away for each of its subqueries, those
 * for subqueries of the subquery included.
 *
 * Costs are those of the path below and a little for the look-up: how many values there will be is
 * not known when the subquery is planned, and a lower cost would invite plans that ask more often.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_cache_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "utils/lsyscache.h"

#include "node_cache.h"
#include "zs_base.h"
#include "zs_base_plan.h"
#include "zs_node.h"

/* ---- what may be remembered ------------------------------------------------------------------ */

/* For check_functions_in_node(). */
static bool
is_volatile(Oid funcid, void *context)
{
	return func_volatile(funcid) == PROVOLATILE_VOLATILE;
}

/*
 * Does a query return something else when it is asked again, or lock rows?  Subqueries that have
 * been planned already stand as SubPlan nodes in its expressions; their queries are found by these.
 */
static bool
is_unrepeatable(Node *node, PlannerGlobal *glob)
{
	CHECK_FOR_INTERRUPTS();
	if (node == NULL)
		return false;
	if (IsA(node, SubPlan))
	{
		PlannerInfo *subroot = list_nth(glob->subroots, ((SubPlan *) node)->plan_id - 1);

		if (is_unrepeatable((Node *) subroot->parse, glob) ||
			is_unrepeatable((Node *) subroot->init_plans, glob))
			return true;
	}
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;
		ListCell   *lc;

		if (query->commandType != CMD_SELECT || query->rowMarks != NIL)
			return true;
		foreach(lc, query->rtable)
		{
			if (lfirst_node(RangeTblEntry, lc)->tablesample != NULL)
				return true;
		}
		return query_tree_walker(query, is_unrepeatable, glob, 0);
	}
	if (IsA(node, NextValueExpr) || IsA(node, CurrentOfExpr))
		return true;
	/* of this node alone: what is below comes by itself */
	if (check_functions_in_node(node, is_volatile, NULL))
		return true;
	return expression_tree_walker(node, is_unrepeatable, glob);
}

/* ---- path ------------------------------------------------------------------------------------ */

/* PlanCustomPath */
static Plan *
plan_cache(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		   List *custom_plans)
{
	CustomScan *cscan = makeNode(CustomScan);
	Plan	   *child = linitial(custom_plans);

	Assert(list_length(custom_plans) == 1 && clauses == NIL);
	/* where the target list does not matter, it is empty, and rows are the child's */
	cscan->scan.plan.targetlist = tlist;
	cscan->scan.scanrelid = 0;
	cscan->flags = path->flags;
	cscan->custom_plans = custom_plans;
	cscan->custom_scan_tlist = copyObject(child->targetlist);
	cscan->custom_private = path->custom_private;
	cscan->methods = &zsnode_cache_scan_methods;
	zsnode_shown_note(cscan);
	return &cscan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "ZedstoreCache",
	.PlanCustomPath = plan_cache,
};

const CustomScanMethods zsnode_cache_scan_methods = {
	.CustomName = "ZedstoreCache",
	.CreateCustomScanState = zsnode_cache_create_state,
};

/* The parent's parameters for this subquery, as expressions. */
static List *
make_keys(const PlannerInfo *parent)
{
	List	   *keys = NIL;
	ListCell   *lc;

	foreach(lc, parent->plan_params)
	{
		PlannerParamItem *item = lfirst(lc);
		Param	   *param = makeNode(Param);

		Assert(item->paramId >= 0);
		param->paramkind = PARAM_EXEC;
		param->paramid = item->paramId;
		param->paramtype = exprType(item->item);
		param->paramtypmod = exprTypmod(item->item);
		param->paramcollid = exprCollation(item->item);
		param->location = -1;
		keys = lappend(keys, param);
	}
	return keys;
}

/*
 * custom_private of path and node: who we are; is the first row all that is asked for; the keys.
 * These are no custom_exprs: where the subquery returns one of them as it is, core would put a
 * column of custom_scan_tlist in its place.  The node has the parameters of the plan below anyway.
 */
static Path *
make_path(RelOptInfo *rel, Path *subpath, List *keys, bool first_row)
{
	CustomPath *path = makeNode(CustomPath);

	Assert(keys != NIL && subpath->param_info == NULL);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;		/* not a table's, with its clauses */
	path->path.pathtarget = subpath->pathtarget;
	path->path.parallel_safe = subpath->parallel_safe;
	path->path.rows = subpath->rows;
	zs_path_add_disabled(&path->path, zs_path_disabled(subpath));
	path->path.startup_cost = subpath->startup_cost + list_length(keys) * cpu_operator_cost;
	path->path.total_cost = subpath->total_cost + list_length(keys) * cpu_operator_cost;
	path->path.pathkeys = subpath->pathkeys;
	path->custom_paths = list_make1(subpath);
	path->custom_private = list_make3(zsbase_private_name(), makeBoolean(first_row),
									  keys);
	path->methods = &path_methods;
	return &path->path;
}

/*
 * A step of create_upper_paths: puts the node on top of all paths of a correlated subquery in an
 * expression that may be run again with the same parameters.
 */
void
zsnode_cache_add_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *final_rel)
{
	PlannerInfo *parent = root->parent_root;
	List	   *keys;
	ListCell   *lc;
	bool		first_row;

	if (stage != UPPERREL_FINAL || !zs_enable_result_cache || parent == NULL ||
		parent->simple_rel_array != NULL || parent->plan_params == NIL)
		return;
	if (is_unrepeatable((Node *) root->parse, root->glob) ||
		is_unrepeatable((Node *) root->init_plans, root->glob) || !zsbase_query_is_ours(root))
		return;

	/* of all expressions with a subquery only EXISTS asks for no column: simplify_EXISTS_query() */
	first_row = root->parse->targetList == NIL;
	keys = make_keys(parent);
	foreach(lc, final_rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		if (path->param_info == NULL)
			lfirst(lc) = make_path(final_rel, path, keys, first_row);
	}
}
