/*-------------------------------------------------------------------------
 *
 * node_topn_exec.c
 *	  Executes a top-N scan.
 *
 * First the whole table is scanned with a slot of which only the columns of
 * the filter and of the sort keys are decoded.  A heap holds the best rows so
 * far, the worst of them on top; a row that is not better than that one costs
 * a comparison and nothing else.  Then the heap's rows are sorted and fetched
 * by row number, with the visibility that the scan found: under the query's
 * snapshot neither the rows nor their values can change.
 *
 * If the scan had to read pages from disk, so will the fetches.  All rows are known then, so the
 * pages of several are read side by side.
 *
 * The heap: node_topn_heap.c.  Batches of rows instead of single ones: node_topn_batch.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_topn_exec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "access/tableam.h"
#include "commands/explain.h"
#include ZS_EXPLAIN_FORMAT_H
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "node_top.h"
#include "node_topn.h"
#include "zs_node_scan.h"
#include "zs_attr_ahead.h"
#include "zs_base.h"
#include "zs_expr_guc.h"
#include "zs_projection.h"
#include "zs_scan.h"
#include "zs_slot.h"
#include "zs_tid.h"

/* Rows whose pages are read side by side. */
#define PREFETCHED_ROWS	32

/* ---- first phase ------------------------------------------------------------------- */

static void
choose_by_rows(TopNState *state)
{
	ScanState  *ss = &state->css.ss;
	TableScanDesc scan = zs_table_beginscan(state->rel, ss->ps.state->es_snapshot,
											zs_scan_flags(ss->ps.state));

	while (table_scan_getnextslot(scan, ForwardScanDirection, state->keyslot))
	{
		CHECK_FOR_INTERRUPTS();
		if (zsnode_topn_row_passes(state))
			(void) zsnode_topn_look_at_row(state);
		else
			InstrCountFiltered1(&ss->ps, 1);
	}
	ExecClearTuple(state->keyslot);
	if (zs_scan_io_counts(scan) != NULL)
		zs_io_counts_add(&state->io, zs_scan_io_counts(scan));
	table_endscan(scan);
}

/* ---- results --------------------------------------------------------------------- */

static void
choose_rows(TopNState *state)
{
	uint64		pages_read = zsattr_ahead_pages_read();

	Assert(state->nresults < 0);
	zsnode_best_reset(&state->best);
	MemoryContextReset(state->context);
	state->carries = state->may_carry;
	state->nfilled = 0;
	if (state->input != NULL)
		zsnode_topn_choose_by_batches(state);
	else
		choose_by_rows(state);

	state->nresults = zsnode_best_sort(&state->best, state->results);
	state->position = state->nprefetched = 0;
	state->is_cold = zsattr_ahead_pages_read() != pages_read;
}

/* ---- second phase --------------------------------------------------------------------- */

/* Compares what was carried with what the row has. */
static void
verify_carried(TopNState *state, const ZsBestEntry *entry)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;

	zsscan_store_version(state->rel, entry->row, NULL, slot);
	for (int i = 0; i < state->ncolumns; i++)
	{
		Form_pg_attribute att = TupleDescAttr(slot->tts_tupleDescriptor, state->columns[i] - 1);
		bool		isnull;
		Datum		value = slot_getattr(slot, state->columns[i], &isnull);

		if (isnull != entry->isnull[i] ||
			(!isnull && !datum_image_eq(value, entry->values[i], att->attbyval, att->attlen)))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg_internal("column %d of row " UINT64_FORMAT " differs in the heap",
									 state->columns[i], entry->row)));
	}
}

/* Reads the pages of the next results side by side. */
static void
prefetch_results(TopNState *state)
{
	zstid		rows[PREFETCHED_ROWS];
	int			n = 0;

	Assert(state->nprefetched == state->position - 1 && !state->carries);
	while (n < PREFETCHED_ROWS && state->nprefetched < state->nresults)
		rows[n++] = state->results[state->nprefetched++]->row;
	zsscan_prefetch_versions(state->rel, rows, n, state->css.ss.ss_ScanTupleSlot);
}

/*
 * Goes one row on, in the direction of the query; false behind the last row, or before the first.
 * It goes no farther than there, so that it can turn round, as a Sort can.
 */
static bool
move_on(TopNState *state)
{
	bool		backward = ScanDirectionIsBackward(state->css.ss.ps.state->es_direction);

	if (backward && state->position > 0)
		state->position--;
	else if (!backward && state->position <= state->nresults)
		state->position++;
	return state->position > 0 && state->position <= state->nresults;
}

static TupleTableSlot *
next_row(ScanState *ss)
{
	TopNState  *state = (TopNState *) ss;
	TupleTableSlot *slot = ss->ss_ScanTupleSlot;
	ZsBestEntry *entry;
	ZsVisSlot	vis;

	if (state->nresults < 0)
		choose_rows(state);
	if (!move_on(state))
		return ExecClearTuple(slot);
	if (state->is_cold && !state->carries && state->position - 1 == state->nprefetched)
		prefetch_results(state);
	entry = state->results[state->position - 1];
	if (state->carries)
	{
		if (zs_debug_vector == ZS_DEBUG_VECTOR_VERIFY)
			verify_carried(state, entry);
		zsslot_store_values(slot, state->rel, entry->row,
							zstid_lookup(state->rel, entry->row, &vis, NULL) ? &vis : NULL,
							state->ncolumns, state->columns, entry->values, entry->isnull);
		return slot;
	}
	/* who wrote it is found out if somebody asks */
	zsscan_store_version(state->rel, entry->row, NULL, slot);
	return slot;
}

static bool
recheck_row(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

/* ---- callbacks --------------------------------------------------------------------------- */

/*
 * Finds the columns whose values entries have.  needed: those of filter and keys, all: every one.
 */
static void
find_columns(TopNState *state, const CustomScan *cscan, const Bitmapset *needed, bool all)
{
	Bitmapset  *returned = NULL;
	Bitmapset  *keys = NULL;
	int			i = -1;

	state->columns = palloc((state->nkeys + bms_num_members(needed)) * sizeof(AttrNumber));
	for (int k = 0; k < state->nkeys; k++)
	{
		state->columns[k] = state->keys[k].attno;
		keys = bms_add_member(keys, state->keys[k].attno);
	}
	state->ncolumns = state->nkeys;
	pull_varattnos((Node *) cscan->scan.plan.targetlist, cscan->scan.scanrelid, &returned);
	state->may_carry = !all;
	while (state->may_carry && (i = bms_next_member(returned, i)) >= 0)
	{
		int			attno = i + FirstLowInvalidHeapAttributeNumber;

		if (attno <= 0 || !bms_is_member(attno, needed))
			state->may_carry = false;
		else if (!bms_is_member(attno, keys))
			state->columns[state->ncolumns++] = (AttrNumber) attno;
	}
	if (!state->may_carry)
		state->ncolumns = state->nkeys;
	bms_free(returned);
	bms_free(keys);
}

static void
topn_begin(CustomScanState *node, EState *estate, int eflags)
{
	TopNState  *state = (TopNState *) node;
	CustomScan *cscan = (CustomScan *) node->ss.ps.plan;
	Relation	rel = node->ss.ss_currentRelation;
	Bitmapset  *varattnos = NULL;
	Bitmapset  *needed = NULL;
	bool		all = false;
	int			i = -1;

	state->rel = rel;
	/* rows are sorted: WHERE CURRENT OF must not take the node for a scan, as it takes no Sort */
	node->ss.ss_currentRelation = NULL;
	state->nkeys = zsnode_topn_unpack(cscan->custom_private, &state->bound, &state->keys);
	state->nresults = -1;
	Assert(state->bound > 0 && state->nkeys > 0);
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;

	/*
	 * ExecScan() is not to ask it again: what it depends on may change after the choice (a cursor
	 * and a setting)
	 */
	state->filter = node->ss.ps.qual;
	node->ss.ps.qual = NULL;

	state->sortkeys = palloc0(state->nkeys * sizeof(SortSupportData));
	pull_varattnos((Node *) cscan->scan.plan.qual, cscan->scan.scanrelid, &varattnos);
	while ((i = bms_next_member(varattnos, i)) >= 0)
	{
		int			attno = i + FirstLowInvalidHeapAttributeNumber;

		if (attno == 0)
			all = true;
		else if (attno > 0)
			needed = bms_add_member(needed, attno);
	}
	for (i = 0; i < state->nkeys; i++)
	{
		SortSupport key = &state->sortkeys[i];

		needed = bms_add_member(needed, state->keys[i].attno);
		key->ssup_cxt = CurrentMemoryContext;
		key->ssup_collation = state->keys[i].collation;
		key->ssup_nulls_first = state->keys[i].nulls_first;
		key->ssup_attno = state->keys[i].attno;
		PrepareSortSupportFromOrderingOp(state->keys[i].sortop, key);
	}

	find_columns(state, cscan, needed, all);
	if (zs_enable_vector_scan &&
		zsexpr_filter_possible(RelationGetDescr(rel), cscan->scan.scanrelid,
							   cscan->scan.plan.qual))
		zsnode_topn_begin_batches(state, cscan, rel, estate);
	else
	{
		state->keyslot = zs_alloc_table_slot(&estate->es_tupleTable, RelationGetDescr(rel),
											&TTSOpsZedstore);
		zsslot_set_needed(state->keyslot, needed, all || !zs_enable_column_projection);
	}
	state->context = AllocSetContextCreate(CurrentMemoryContext, "zedstore top-N keys",
										   ALLOCSET_DEFAULT_SIZES);
	zsnode_best_init(&state->best, (int) state->bound, state->nkeys, state->sortkeys, true);
	state->results = palloc(state->bound * sizeof(ZsBestEntry *));
	state->values = palloc(state->ncolumns * sizeof(Datum));
	state->isnull = palloc(state->ncolumns * sizeof(bool));
}

static TupleTableSlot *
topn_exec(CustomScanState *node)
{
	return ExecScan(&node->ss, next_row, recheck_row);
}

static void
topn_end(CustomScanState *node)
{
	TopNState  *state = (TopNState *) node;

	/* everything else lives in the query's memory */
	if (state->input != NULL)
		zsexpr_input_end(state->input);
}

static void
topn_rescan(CustomScanState *node)
{
	TopNState  *state = (TopNState *) node;

	/* the same rows again, if no parameter has changed: the filter has nothing volatile */
	if (node->ss.ps.chgParam != NULL)
		state->nresults = -1;
	state->position = 0;
	ExecScanReScan(&node->ss);
}

static void
topn_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	TopNState  *state = (TopNState *) node;
	TupleDesc	desc = RelationGetDescr(state->rel);
	List	   *names = NIL;

	for (int i = 0; i < state->nkeys; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, state->keys[i].attno - 1);

		names = lappend(names, zsnode_sort_key_name(NameStr(att->attname), state->keys[i].sortop,
													state->keys[i].nulls_first));
	}
	ExplainPropertyList("Sort Key", names, es);
	ExplainPropertyInteger("Rows Kept", NULL, state->bound, es);
	if (es->analyze && state->input != NULL)
	{
		ZsBatchCounts counts = zsexpr_input_batch_counts(state->input);

		counts.skipped += state->nleft;
		zsnode_explain_scan_counts(&counts, es);
	}
	else if (es->analyze)
		zsnode_explain_io(&state->io, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "ZedstoreTopN",
	.BeginCustomScan = topn_begin,
	.ExecCustomScan = topn_exec,
	.EndCustomScan = topn_end,
	.ReScanCustomScan = topn_rescan,
	.ExplainCustomScan = topn_explain,
};

/* CreateCustomScanState: the node's state, all zeros but for its tag and methods. */
Node *
zsnode_topn_create_state(CustomScan *cscan)
{
	TopNState  *state = palloc0(sizeof(TopNState));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	state->css.slotOps = &TTSOpsZedstore;
	return (Node *) state;
}
