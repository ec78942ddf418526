/*-------------------------------------------------------------------------
 *
 * node_shown.c
 *	  What EXPLAIN shows of window functions in our nodes.
 *
 * A node over the rows of another plan has a list of expressions that its columns stand for,
 * custom_scan_tlist.  Nodes above are planned by comparing their expressions with these, so window
 * functions have to be there as core has them.  EXPLAIN, though, looks for the WindowAgg that a
 * window function belongs to when it comes to one in such a list, and raises an error since there
 * is none (get_windowfunc_expr()).  So once the plan is made they are replaced by calls of the
 * same functions.  Nobody evaluates them.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_shown.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"

#include "zs_node.h"

uint64		zsnode_shown_noted = 0;

static bool
has_window_function(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return IsA(node, WindowFunc) || expression_tree_walker(node, has_window_function, context);
}

/* Counts the node if zsnode_shown_finish() is to be called for its plan. */
void
zsnode_shown_note(const CustomScan *cscan)
{
	if (has_window_function((Node *) cscan->custom_scan_tlist, NULL))
		zsnode_shown_noted++;
}

static Node *
replace_functions(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, WindowFunc))
	{
		WindowFunc *function = (WindowFunc *) node;

		return (Node *) makeFuncExpr(function->winfnoid, function->wintype,
									 (List *) replace_functions((Node *) function->args, context),
									 function->wincollid, function->inputcollid,
									 COERCE_EXPLICIT_CALL);
	}
	return expression_tree_mutator(node, replace_functions, context);
}

static void finish_plan(Plan *plan);

static void
finish_plans(List *plans)
{
	ListCell   *lc;

	foreach(lc, plans)
		finish_plan(lfirst(lc));
}

static void
finish_plan(Plan *plan)
{
	/* a subquery's plan that is not used is missing */
	if (plan == NULL)
		return;
	check_stack_depth();
	finish_plan(plan->lefttree);
	finish_plan(plan->righttree);
	switch (nodeTag(plan))
	{
		case T_Append:
			finish_plans(((Append *) plan)->appendplans);
			break;
		case T_MergeAppend:
			finish_plans(((MergeAppend *) plan)->mergeplans);
			break;
		case T_SubqueryScan:
			finish_plan(((SubqueryScan *) plan)->subplan);
			break;
		case T_CustomScan:
			{
				CustomScan *cscan = (CustomScan *) plan;

				finish_plans(cscan->custom_plans);
				if (has_window_function((Node *) cscan->custom_scan_tlist, NULL))
					cscan->custom_scan_tlist =
						(List *) replace_functions((Node *) cscan->custom_scan_tlist, NULL);
				break;
			}
		default:
			break;
	}
}

/*
 * A step of the planner's hook, once the plan is made, if zsnode_shown_noted has grown meanwhile.
 */
void
zsnode_shown_finish(PlannedStmt *stmt)
{
	finish_plan(stmt->planTree);
	finish_plans(stmt->subplans);
}
