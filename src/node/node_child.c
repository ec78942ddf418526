/*-------------------------------------------------------------------------
 *
 * node_child.c
 *	  Nodes of ours that hand on rows of the plan below.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_child.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "zs_node.h"

/*
 * For BeginCustomScan: the node's rows are slots of the plan below, of whatever kind, so no
 * expression may rely on one kind.
 */
void
zsnode_child_any_slot(CustomScanState *node)
{
	node->ss.ps.scanopsset = true;
	node->ss.ps.scanopsfixed = false;
	node->ss.ps.scanops = NULL;
	ExecAssignScanProjectionInfoWithVarno(&node->ss, INDEX_VAR);
}

/* A slot of the plan below, or NULL, as the node above wants it. */
TupleTableSlot *
zsnode_child_project(CustomScanState *node, TupleTableSlot *slot)
{
	ExprContext *econtext = node->ss.ps.ps_ExprContext;

	Assert(node->ss.ps.qual == NULL);
	if (TupIsNull(slot) || node->ss.ps.ps_ProjInfo == NULL)
		return slot;
	econtext->ecxt_scantuple = slot;
	ResetExprContext(econtext);
	return ExecProject(node->ss.ps.ps_ProjInfo);
}

/* For ReScanCustomScan: the plan below begins anew, with the parameters that have changed. */
void
zsnode_child_rescan(CustomScanState *node, PlanState *child)
{
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, node->ss.ps.chgParam);
	/* ExecProcNode() does it where parameters have changed */
	if (child->chgParam == NULL)
		ExecReScan(child);
}
