/*-------------------------------------------------------------------------
 *
 * scan_projection.c
 *	  Finds out which columns of zedstore tables a plan looks at.
 *
 * The problem: table_scan_getnextslot() and its siblings return "the next row"
 * and do not say what the caller wants of it.  A heap has the whole row at hand;
 * a zedstore table reads and decodes every column separately.
 *
 * The idea: the plan knows.  When the executor has started, walk the tree of
 * plan states and put the columns that a scan node's expressions mention
 * into the node's scan slot, which belongs to this node alone.  The
 * access method finds the mask in the slot that it is handed.  A slot without
 * a mask stands for all columns, so a path that is not covered here (triggers,
 * EvalPlanQual, which builds plan states of its own, COPY, ANALYZE,
 * constraints) is slower, not wrong.
 *
 * What a scan node looks at:
 *
 *		its target list and its filter;
 *		index scans: the original index conditions, for lossy indexes, which
 *		btrees never are, and the original ordering expressions;
 *		bitmap scans: the original index conditions, for lossy indexes, and
 *		else in rows of lossy pages;
 *		TID scans: the TID conditions;
 *		an index-only scan: no column of the table, it only fetches the row's
 *		visibility;
 *		all columns, if a whole-row variable is among these, and if the node
 *		does not project, for then its slot is the result that others see.
 *
 * The last one would void all of this, because the planner prefers target lists
 * that are equal to the table's columns: for a heap they save a projection.
 * It does not do so for a table of which a system column is needed, since the
 * columns of a heap tuple do not include these (use_physical_tlist() in
 * createplan.c).  So the planner hook marks "tableoid" as needed.
 * It runs when the paths of a base relation are complete.  After that point the
 * planner looks at attr_needed in two places only: in the one just named, and
 * when it builds the target list of a join, for columns that stand in the
 * target list of the base relation already (build_joinrel_tlist() in relnode.c).
 * So the mark adds no column to any target list.
 *
 * The executor hook also turns off what PostgreSQL 17's bitmap scan node
 * prefetches by itself: it takes the block numbers of TIDs for physical ones.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_projection.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/sysattr.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"

#include "scan_internal.h"
#include "zs_base.h"
#include "zs_base_plan.h"
#include "zs_batch.h"
#include "zs_projection.h"
#include "zs_write.h"

/* ---- planner --------------------------------------------------------------- */

/*
 * Keeps the planner from asking for all columns of a zedstore table.  Children
 * of partitioned and inherited tables never get a physical target list.
 */
void
zsscan_projection_watch_table(RelOptInfo *rel, RangeTblEntry *rte)
{
	int			tableoid = TableOidAttributeNumber - rel->min_attr;

	if (!zs_enable_column_projection ||
		rel->reloptkind != RELOPT_BASEREL ||
		!zsbase_rte_is_ours(rte))
		return;

	Assert(tableoid >= 0);
	rel->attr_needed[tableoid] = bms_add_member(rel->attr_needed[tableoid], 0);
}

/* ---- executor -------------------------------------------------------------- */

/* Is one of the table's system columns that tell who wrote a row among the expressions? */
static bool
has_vis_column(const ScanState *node, List *exprs)
{
	Bitmapset  *vars = NULL;
	bool		found = false;

	pull_varattnos((Node *) exprs, ((Scan *) node->ps.plan)->scanrelid, &vars);
	for (int attno = MaxCommandIdAttributeNumber; attno <= MinTransactionIdAttributeNumber; attno++)
		found = found || bms_is_member(attno - FirstLowInvalidHeapAttributeNumber, vars);
	bms_free(vars);
	return found;
}

/*
 * Columns of the node's table among the expressions; *all is set if they are all.
 */
static Bitmapset *
collect_columns(ScanState *node, List *exprs, bool *all)
{
	Index		scanrelid = ((Scan *) node->ps.plan)->scanrelid;
	Bitmapset  *vars = NULL;
	Bitmapset  *columns = NULL;
	int			member = -1;

	Assert(scanrelid > 0);
	pull_varattnos((Node *) exprs, scanrelid, &vars);
	while ((member = bms_next_member(vars, member)) >= 0)
	{
		int			attno = member + FirstLowInvalidHeapAttributeNumber;

		Assert(attno <= RelationGetDescr(node->ss_currentRelation)->natts);
		if (attno == InvalidAttrNumber)
			*all = true;		/* whole row */
		else if (attno > 0)
			columns = bms_add_member(columns, attno);
	}
	bms_free(vars);
	return columns;
}

/*
 * Puts the mask into a scan node's slot.  The node looks at more than its target list and filter:
 * at always, and at rechecked in rows of which zsslot_recheck() says so.
 */
static void
stamp_scan_slot(ScanState *node, List *always, List *rechecked)
{
	Plan	   *plan = node->ps.plan;
	Bitmapset  *needed = NULL;
	bool		all = (node->ps.ps_ProjInfo == NULL);
	bool		all_rechecked = false;

	if (!zs_enable_column_projection)
		return;

	Assert(node->ss_ScanTupleSlot != NULL);
	if (!all)
		needed = bms_join(bms_join(collect_columns(node, plan->targetlist, &all),
								   collect_columns(node, plan->qual, &all)),
						  collect_columns(node, always, &all));
	zsslot_set_needed(node->ss_ScanTupleSlot, needed, all);
	zsslot_want_vis(node->ss_ScanTupleSlot, has_vis_column(node, plan->targetlist) ||
					has_vis_column(node, plan->qual));
	if (!all && rechecked != NIL)
	{
		needed = bms_join(needed, collect_columns(node, rechecked, &all_rechecked));
		if (all_rechecked)
			zsslot_set_needed(node->ss_ScanTupleSlot, NULL, true);
		else
			zsslot_set_rechecked(node->ss_ScanTupleSlot, needed);
	}
	bms_free(needed);
}

/*
 * Tells the slot of a node that scans a zedstore table which columns the plan
 * looks at, by the node's target list and filter.  To be called after the
 * node's projection was made.
 */
void
zsscan_set_needed(ScanState *node)
{
	stamp_scan_slot(node, NIL, NIL);
}

/*
 * Do rows that the index returns pass its conditions, so that nobody looks at them again?  A check
 * by EvalPlanQual has slots of its own.
 */
static bool
is_exact_index(Relation index)
{
	return index != NULL && index->rd_rel->relam == BTREE_AM_OID;
}

/* The same for the indexes of a bitmap; pages for which memory is short are lossy all the same. */
static bool
is_exact_bitmap(PlanState *node)
{
	PlanState **children = NULL;
	int			nchildren = 0;

	if (IsA(node, BitmapIndexScanState))
		return is_exact_index(((BitmapIndexScanState *) node)->biss_RelationDesc);
	if (IsA(node, BitmapAndState))
	{
		children = ((BitmapAndState *) node)->bitmapplans;
		nchildren = ((BitmapAndState *) node)->nplans;
	}
	else if (IsA(node, BitmapOrState))
	{
		children = ((BitmapOrState *) node)->bitmapplans;
		nchildren = ((BitmapOrState *) node)->nplans;
	}
	for (int i = 0; i < nchildren; i++)
	{
		if (!is_exact_bitmap(children[i]))
			return false;
	}
	return nchildren > 0;
}

/* Prepares a node that scans a zedstore table. */
static void
prepare_scan_node(ScanState *node)
{
	Plan	   *plan = node->ps.plan;

	switch (nodeTag(node))
	{
		case T_SeqScanState:
		case T_SampleScanState:
			stamp_scan_slot(node, NIL, NIL);
			break;
		case T_IndexScanState:
			stamp_scan_slot(node,
							is_exact_index(((IndexScanState *) node)->iss_RelationDesc) ? NIL :
							list_concat_copy(((IndexScan *) plan)->indexqualorig,
											 ((IndexScan *) plan)->indexorderbyorig), NIL);
			break;
		case T_IndexOnlyScanState:
			/* its scan slot holds index columns; this one fetches the row */
			if (zs_enable_column_projection)
				zsslot_set_needed(((IndexOnlyScanState *) node)->ioss_TableSlot,
								  NULL, false);
			break;
		case T_BitmapHeapScanState:
			if (is_exact_bitmap(outerPlanState(node)))
				stamp_scan_slot(node, NIL, ((BitmapHeapScan *) plan)->bitmapqualorig);
			else
				stamp_scan_slot(node, ((BitmapHeapScan *) plan)->bitmapqualorig, NIL);
			zs_bitmap_scan_disable_prefetch((BitmapHeapScanState *) node);
			break;
		case T_TidScanState:
			stamp_scan_slot(node, ((TidScan *) plan)->tidquals, NIL);
			break;
		case T_TidRangeScanState:
			stamp_scan_slot(node, ((TidRangeScan *) plan)->tidrangequals, NIL);
			break;
		default:
			elog(ERROR, "unrecognized node type: %d", (int) nodeTag(node));
	}
}

/*
 * planstate_tree_walker callback.  The walker comes to every child that was
 * initialized: to those of Append and MergeAppend that were not pruned, and to
 * the subplans that some expression refers to.
 */
static bool
prepare_scan_nodes(PlanState *planstate, void *context)
{
	/* a subplan that cannot run in this parallel worker */
	if (planstate == NULL)
		return false;

	switch (nodeTag(planstate))
	{
		case T_SeqScanState:
			if (zsbase_is_zedstore(((ScanState *) planstate)->ss_currentRelation))
			{
				prepare_scan_node((ScanState *) planstate);
				zsscan_stamp_filters((ScanState *) planstate);
			}
			break;
		case T_SampleScanState:
		case T_IndexScanState:
		case T_IndexOnlyScanState:
		case T_BitmapHeapScanState:
		case T_TidScanState:
		case T_TidRangeScanState:
			if (zsbase_is_zedstore(((ScanState *) planstate)->ss_currentRelation))
				prepare_scan_node((ScanState *) planstate);
			break;
		default:
			break;
	}

	return planstate_tree_walker(planstate, prepare_scan_nodes, context);
}

/* Has the executor opened a zedstore table? */
static bool
uses_zedstore(const EState *estate)
{
	for (Index i = 0; i < estate->es_range_table_size; i++)
	{
		Relation	rel = estate->es_relations[i];

		if (rel != NULL && zsbase_is_zedstore(rel))
			return true;
	}
	return false;
}

/*
 * A query has started: its scan nodes get the columns that they need.  Runs in parallel workers
 * too.
 */
void
zsscan_projection_start(QueryDesc *queryDesc, int eflags)
{
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return;

	/*
	 * workers do not see this backend's write buffers, and functions may read tables that the plan
	 * does not name
	 */
	if (queryDesc->plannedstmt->parallelModeNeeded && !IsParallelWorker())
		zswrite_flush_all();
	if (uses_zedstore(queryDesc->estate))
		(void) prepare_scan_nodes(queryDesc->planstate, NULL);
}
