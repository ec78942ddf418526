/*-------------------------------------------------------------------------
 *
 * node_agg_sort.c
 *	  Which nodes with groups stand below ORDER BY ... LIMIT.
 *
 * When a query starts, the Sort node below a Limit node is made known to the node below it, if that
 * is one of ours with groups.  What it does then: node_top.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_sort.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"

#include "node_agg_plan.h"
#include "zs_expr_guc.h"
#include "zs_node.h"

/* Goes where ExecSetTupleBound() will go, down from a Limit node. */
static void
find_sort(PlanState *ps)
{
	PlanState  *child;

	if (ps == NULL)
		return;
	check_stack_depth();
	switch (nodeTag(ps))
	{
		case T_SortState:
			child = outerPlanState(ps);
			if (IsA(child, AppendState))
			{
				for (int i = 0; i < ((AppendState *) child)->as_nplans; i++)
					zsnode_agg_set_sort(((AppendState *) child)->appendplans[i],
										(SortState *) ps);
			}
			else
				zsnode_agg_set_sort(child, (SortState *) ps);
			break;
		case T_AppendState:
			for (int i = 0; i < ((AppendState *) ps)->as_nplans; i++)
				find_sort(((AppendState *) ps)->appendplans[i]);
			break;
		case T_MergeAppendState:
			for (int i = 0; i < ((MergeAppendState *) ps)->ms_nplans; i++)
				find_sort(((MergeAppendState *) ps)->mergeplans[i]);
			break;
		case T_SubqueryScanState:
			if (ps->qual == NULL)
				find_sort(((SubqueryScanState *) ps)->subplan);
			break;
		case T_ResultState:
		case T_GatherState:
		case T_GatherMergeState:
			find_sort(outerPlanState(ps));
			break;
		default:
			break;
	}
}

/* planstate_tree_walker callback */
static bool
find_limits(PlanState *ps, void *context)
{
	if (ps == NULL)
		return false;
	if (IsA(ps, LimitState))
		find_sort(outerPlanState(ps));
	return planstate_tree_walker(ps, find_limits, context);
}

/* A query with such nodes has started: those below a Sort node with a LIMIT are told. */
void
zsnode_agg_find_sorts(QueryDesc *queryDesc)
{
	if (zs_enable_top_groups)
		(void) find_limits(queryDesc->planstate, NULL);
}
