/*-------------------------------------------------------------------------
 *
 * node_order_exec.c
 *	  Executes a scan in the order of columns: the callbacks of the node.
 *
 * In EvalPlanQual one row is tested; that goes through core's loop.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_order_exec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "access/sysattr.h"
#include "access/tableam.h"
#include "commands/explain.h"
#include ZS_EXPLAIN_FORMAT_H
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "node_order.h"
#include "node_top.h"
#include "zs_node_scan.h"
#include "zs_expr_guc.h"
#include "zs_projection.h"
#include "zs_slot.h"

/* For EvalPlanQual: any row of the table. */
static TupleTableSlot *
access_row(ScanState *ss)
{
	OrderState *state = (OrderState *) ss;

	if (state->scan == NULL)
		state->scan = zs_table_beginscan(ss->ss_currentRelation, ss->ps.state->es_snapshot,
										 SO_NONE);
	if (table_scan_getnextslot(state->scan, ss->ps.state->es_direction, ss->ss_ScanTupleSlot))
		return ss->ss_ScanTupleSlot;
	return NULL;
}

static bool
recheck_row(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

/* Tells the scan what it may skip by the values that the filter's parameters have by now. */
static void
set_filters(OrderState *state)
{
	ScanState  *ss = &state->css.ss;
	List	   *clauses = state->programs == NULL ? ss->ps.plan->qual : NIL;
	MemoryContext old = MemoryContextSwitchTo(state->context);

	if (state->programs != NULL)
	{
		(void) zsexpr_filter_start(state->programs);
		clauses = zsexpr_filter_clauses(state->programs);
	}
	zsscan_set_filters(ss->ss_ScanTupleSlot, state->rel, ((Scan *) ss->ps.plan)->scanrelid,
					   clauses, ss->ps.state->es_param_list_info);
	MemoryContextSwitchTo(old);
}

static void
start_scan(OrderState *state)
{
	ScanState  *ss = &state->css.ss;

	if (state->batches == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(ss->ps.state->es_query_cxt);

		state->scan = zs_table_beginscan(state->rel, ss->ps.state->es_snapshot,
										 zs_scan_flags(ss->ps.state));
		state->batches = zsscan_batch_begin(state->scan, ss->ss_ScanTupleSlot);
		state->input = zsexpr_input_batch_wrap(state->batches,
											   ((Scan *) ss->ps.plan)->scanrelid,
											   ss->ss_ScanTupleSlot);
		MemoryContextSwitchTo(old);
	}
	else
	{
		table_rescan(state->scan, NULL);
		zsscan_batch_restart(state->batches);
	}
	set_filters(state);
}

static TupleTableSlot *
order_exec(CustomScanState *node)
{
	OrderState *state = (OrderState *) node;
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;

	if (unlikely(node->ss.ps.state->es_epq_active != NULL))
		return ExecScan(&node->ss, access_row, recheck_row);
	ResetExprContext(econtext);
	if (state->phase == ORDER_START)
		start_scan(state);
	if (!zsnode_order_fetch(state, ScanDirectionIsForward(node->ss.ps.state->es_direction)))
	{
		ExecClearTuple(slot);
		return projection != NULL ? ExecClearTuple(projection->pi_state.resultslot) : slot;
	}
	if (projection == NULL)
		return slot;
	econtext->ecxt_scantuple = slot;
	return ExecProject(projection);
}

/* ---- begin, end -------------------------------------------------------------------------- */

/* Finds the columns that rows in hand are made of. */
static void
find_columns(OrderState *state, const CustomScan *cscan)
{
	TupleDesc	desc = RelationGetDescr(state->rel);
	Bitmapset  *attrs = NULL;
	Bitmapset  *keys = NULL;
	bool		all;

	pull_varattnos((Node *) cscan->scan.plan.targetlist, cscan->scan.scanrelid, &attrs);
	all = bms_is_member(-FirstLowInvalidHeapAttributeNumber, attrs) ||
		state->css.ss.ps.ps_ProjInfo == NULL;
	state->columns = palloc_array(AttrNumber, desc->natts + 1);
	for (int k = 0; k < state->nkeys; k++)
	{
		OrderKey   *key = &state->keys[k];

		/* one column by two collations */
		while (key->column < state->ncolumns &&
			   state->columns[key->column] != key->def.attno)
			key->column++;
		if (key->column == state->ncolumns)
			state->columns[state->ncolumns++] = key->def.attno;
		keys = bms_add_member(keys, key->def.attno);
	}
	for (AttrNumber attno = 1; attno <= desc->natts; attno++)
	{
		if (!bms_is_member(attno, keys) && !TupleDescAttr(desc, attno - 1)->attisdropped &&
			(all || bms_is_member(attno - FirstLowInvalidHeapAttributeNumber, attrs)))
			state->columns[state->ncolumns++] = attno;
	}
	bms_free(attrs);
	bms_free(keys);
}

/* Finds out how values of the keys are read and compared. */
static void
make_keys(OrderState *state, const ZsTopNKey *keys)
{
	TupleDesc	desc = RelationGetDescr(state->rel);
	ZsAttrKind	kind;

	state->keys = palloc0_array(OrderKey, state->nkeys);
	for (int k = 0; k < state->nkeys; k++)
	{
		OrderKey   *key = &state->keys[k];

		key->def = keys[k];
		zsattr_kind(TupleDescAttr(desc, key->def.attno - 1), &kind);
		key->is_integer = kind.kind == ZS_KIND_INT && !kind.is_unsigned && kind.width > 1;
		if (k == 0)
			state->is_exact = state->nkeys == 1 && zsattr_kind_is_by_value(&kind);
		key->sort.ssup_cxt = CurrentMemoryContext;
		key->sort.ssup_collation = key->def.collation;
		key->sort.ssup_nulls_first = key->def.nulls_first;
		key->sort.ssup_attno = key->def.attno;
		PrepareSortSupportFromOrderingOp(key->def.sortop, &key->sort);
	}
}

static void
order_begin(CustomScanState *node, EState *estate, int eflags)
{
	OrderState *state = (OrderState *) node;
	CustomScan *cscan = (CustomScan *) node->ss.ps.plan;
	Relation	rel = node->ss.ss_currentRelation;
	ZsTopNKey  *keys;

	state->rel = rel;
	state->sorted_from = -1;
	state->nkeys = zsnode_keys_unpack(lsecond(cscan->custom_private), &keys);
	make_keys(state, keys);
	if (estate->es_epq_active != NULL || (eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return;
	state->keeps = (eflags & EXEC_FLAG_BACKWARD) != 0;
	zsscan_set_needed(&node->ss);
	find_columns(state, cscan);
	state->context = AllocSetContextCreate(CurrentMemoryContext, "zedstore ordered scan",
										   ALLOCSET_DEFAULT_SIZES);
	state->keycontext = AllocSetContextCreate(CurrentMemoryContext, "zedstore ordered keys",
											  ALLOCSET_DEFAULT_SIZES);
	if (cscan->scan.plan.qual != NIL && zs_enable_vector_scan &&
		zsexpr_filter_possible(RelationGetDescr(rel), cscan->scan.scanrelid,
							   cscan->scan.plan.qual))
		state->programs = zsexpr_filter_create(RelationGetDescr(rel), cscan->scan.scanrelid,
											   cscan->scan.plan.qual,
											   list_length(cscan->scan.plan.qual), &node->ss.ps,
											   NULL);
}

static void
order_end(CustomScanState *node)
{
	OrderState *state = (OrderState *) node;

	zsnode_order_forget_kept(state);
	if (state->context != NULL)
		zsnode_order_reset(state);
	if (state->scan != NULL)
		table_endscan(state->scan);
}

static void
order_rescan(CustomScanState *node)
{
	OrderState *state = (OrderState *) node;

	zsnode_order_forget_kept(state);
	if (state->context != NULL)
		zsnode_order_reset(state);
	else if (state->scan != NULL)
		table_rescan(state->scan, NULL);
	ExecScanReScan(&node->ss);
}

static void
order_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	OrderState *state = (OrderState *) node;
	ZsBatchCounts counts = {0};
	List	   *names = NIL;

	for (int k = 0; k < state->nkeys; k++)
	{
		const ZsTopNKey *key = &state->keys[k].def;
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(state->rel), key->attno - 1);

		names = lappend(names, zsnode_sort_key_name(NameStr(att->attname), key->sortop,
													key->nulls_first));
	}
	ExplainPropertyList("Order Key", names, es);
	if (!es->analyze)
		return;
	if (state->sorted_from < 0)
		ExplainPropertyText("Order", "merged", es);
	else
		ExplainPropertyText("Order", psprintf("sorted from row " INT64_FORMAT,
											  state->sorted_from), es);
	if (es->format != EXPLAIN_FORMAT_TEXT || state->most_open > 1)
		ExplainPropertyInteger("Stripes Merged", NULL, state->most_open, es);
	if (state->batches != NULL)
		zsscan_batch_count(state->batches, &counts);
	counts.skipped += state->nleft;
	if (state->order != NULL && state->phase != ORDER_END)
		counts.skipped += zsscan_order_skipped(state->order);
	zsnode_explain_scan_counts(&counts, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "ZedstoreOrder",
	.BeginCustomScan = order_begin,
	.ExecCustomScan = order_exec,
	.EndCustomScan = order_end,
	.ReScanCustomScan = order_rescan,
	.ExplainCustomScan = order_explain,
};

/* CreateCustomScanState: a node that has not begun. */
Node *
zsnode_order_create_state(CustomScan *cscan)
{
	OrderState *state = palloc0(sizeof(OrderState));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	state->css.slotOps = &TTSOpsZedstore;
	return (Node *) state;
}
