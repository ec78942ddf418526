/*-------------------------------------------------------------------------
 *
 * vector_topn_exec.c
 *	  Executes a top-N scan.
 *
 * First the whole table is scanned with a slot of which only the columns of
 * the filter and of the sort keys are decoded.  A heap holds the best rows so
 * far, the worst of them on top; a row that is not better than that one costs
 * a comparison and nothing else.  Then the heap's rows are sorted and fetched
 * by row number, with the visibility that the scan found: under the query's
 * snapshot neither the rows nor their values can change.
 *
 * Rows that compare equal come in the order of their row numbers.
 *
 * Where there are programs for all of the filter, it is applied to batches as aggregates do it
 * (vector_agg_filter.c): they, too, look at all rows before they return one.  Of what passes, rows
 * whose first key is an integer worse than the worst one kept are left out, by zone maps and by
 * vectors.  That comes behind the filter, which may have to raise an error for a row whatever its
 * key is.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_topn_exec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "access/tableam.h"
#include "catalog/pg_type_d.h"
#include "commands/explain.h"
#include ZS_EXPLAIN_FORMAT_H
#include "executor/executor.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/sortsupport.h"
#include "utils/typcache.h"

#include "vector_agg.h"
#include "vector_agg_filter.h"
#include "vector_input.h"
#include "vector_internal.h"
#include "vector_top.h"
#include "zs_base.h"
#include "zs_kernel.h"
#include "zs_projection.h"
#include "zs_scan.h"
#include "zs_slot.h"

/* A row in the heap. */
typedef struct TopNEntry
{
	zstid		row;
	ZsVisSlot	vis;
	Datum	   *values;			/* one a key, copied */
	bool	   *isnull;
} TopNEntry;

typedef struct TopNState
{
	CustomScanState css;		/* first */
	int64		bound;
	int			nkeys;
	ZsTopNKey  *keys;
	SortSupport sortkeys;
	ExprState  *filter;			/* the plan's */
	TupleTableSlot *keyslot;	/* what the scan reads into */
	binaryheap *heap;
	TopNEntry  *entries;		/* bound of them */
	Datum	   *values;			/* keys of the row looked at */
	bool	   *isnull;
	int			nresults;		/* -1: the scan was not run yet */
	int			next_result;
	TopNEntry **results;		/* best first */
	MemoryContext context;		/* values of the entries */

	/* by batches; input is NULL: by rows */
	ZsInput    *input;			/* keyslot is its slot */
	ZsAggFilter *programs;
	ZsQualCounts counts;
	bool		leaves_out;		/* the first key's vectors are compared with the worst value */
} TopNState;

/* ---- comparison ------------------------------------------------------------------ */

static int
compare_keys(TopNState *state, const Datum *avalues, const bool *anulls,
			 const Datum *bvalues, const bool *bnulls)
{
	for (int i = 0; i < state->nkeys; i++)
	{
		int			c = ApplySortComparator(avalues[i], anulls[i], bvalues[i], bnulls[i],
											&state->sortkeys[i]);

		if (c != 0)
			return c;
	}
	return 0;
}

static int
compare_entries(TopNState *state, const TopNEntry *a, const TopNEntry *b)
{
	int			c = compare_keys(state, a->values, a->isnull, b->values, b->isnull);

	if (c == 0)
		c = a->row < b->row ? -1 : a->row > b->row;
	return c;
}

/* For the heap, whose largest member comes first: the worst row. */
static int
compare_heap(Datum a, Datum b, void *arg)
{
	return compare_entries(arg, (TopNEntry *) DatumGetPointer(a),
						   (TopNEntry *) DatumGetPointer(b));
}

static int
compare_results(const void *a, const void *b, void *arg)
{
	return compare_entries(arg, *(TopNEntry *const *) a, *(TopNEntry *const *) b);
}

/* ---- first phase ------------------------------------------------------------------- */

/* Takes the row in keyslot over into entry. */
static void
fill_entry(TopNState *state, TopNEntry *entry, bool used)
{
	TupleDesc	desc = state->keyslot->tts_tupleDescriptor;
	MemoryContext old = MemoryContextSwitchTo(state->context);

	Assert(entry >= state->entries && entry < state->entries + state->bound);
	entry->row = zsslot_row(state->keyslot);
	entry->vis = *zsslot_vis(state->keyslot);
	for (int i = 0; i < state->nkeys; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, state->keys[i].attno - 1);

		if (used && !att->attbyval && !entry->isnull[i])
			pfree(DatumGetPointer(entry->values[i]));
		entry->isnull[i] = state->isnull[i];
		entry->values[i] = state->isnull[i] ? (Datum) 0 :
			datumCopy(state->values[i], att->attbyval, att->attlen);
	}
	MemoryContextSwitchTo(old);
}

static void
look_at_row(TopNState *state)
{
	TopNEntry  *worst;

	Assert(!TTS_EMPTY(state->keyslot));
	for (int i = 0; i < state->nkeys; i++)
		state->values[i] = slot_getattr(state->keyslot, state->keys[i].attno, &state->isnull[i]);

	if (binaryheap_size(state->heap) < state->bound)
	{
		TopNEntry  *entry = &state->entries[binaryheap_size(state->heap)];

		fill_entry(state, entry, false);
		binaryheap_add(state->heap, PointerGetDatum(entry));
		return;
	}
	worst = (TopNEntry *) DatumGetPointer(binaryheap_first(state->heap));

	/* equal keys: the earlier row, which is here already, stays */
	if (compare_keys(state, state->values, state->isnull, worst->values, worst->isnull) >= 0)
		return;
	fill_entry(state, worst, true);
	binaryheap_replace_first(state->heap, PointerGetDatum(worst));
}

/* Does the row in keyslot pass the filter? */
static bool
row_passes(TopNState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;

	ResetExprContext(econtext);
	econtext->ecxt_scantuple = state->keyslot;
	return ExecQual(state->filter, econtext);
}

static void
choose_by_rows(TopNState *state)
{
	ScanState  *ss = &state->css.ss;
	TableScanDesc scan = table_beginscan(ss->ss_currentRelation, ss->ps.state->es_snapshot, 0,
										 NULL);

	while (table_scan_getnextslot(scan, ForwardScanDirection, state->keyslot))
	{
		CHECK_FOR_INTERRUPTS();
		if (row_passes(state))
			look_at_row(state);
		else
			InstrCountFiltered1(&ss->ps, 1);
	}
	ExecClearTuple(state->keyslot);
	table_endscan(scan);
}

/* ---- by batches ------------------------------------------------------------------ */

/* Can the first key be compared with integers of a vector? */
static bool
key_is_integer(const TopNState *state, TupleDesc desc)
{
	const ZsTopNKey *key = &state->keys[0];
	Oid			type = TupleDescAttr(desc, key->attno - 1)->atttypid;
	TypeCacheEntry *cache;

	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			cache = lookup_type_cache(type, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
			return key->sortop == cache->lt_opr || key->sortop == cache->gt_opr;
		default:
			return false;
	}
}

/* Could none of the values between these have a place in the heap? */
static bool
are_worse(const TopNState *state, int64 min, int64 max, int64 worst)
{
	bool		strict = state->nkeys > 1;

	if (state->sortkeys[0].ssup_reverse)
		return strict ? max < worst : max <= worst;
	return strict ? min > worst : min >= worst;
}

/* Takes rows of the batch out of passed that cannot have a place in the heap. */
static void
leave_out_worse(TopNState *state, uint64 *passed)
{
	const TopNEntry *entry;
	AttrNumber	attno = state->keys[0].attno;
	bool		nulls_first = state->keys[0].nulls_first;
	bool		reverse = state->sortkeys[0].ssup_reverse;
	uint64		bits[ZS_KERNEL_WORDS];
	const ZsColumnVector *vector;
	ZsColumnBounds bounds;
	int64		worst;

	if (!state->leaves_out || binaryheap_size(state->heap) < state->bound)
		return;
	entry = (const TopNEntry *) DatumGetPointer(binaryheap_first(state->heap));
	if (entry->isnull[0])
		return;
	worst = zsattr_value_to_int(entry->values[0],
								TupleDescAttr(state->input->desc, attno - 1)->attlen);
	if (zs_enable_zone_maps && zsvector_input_bounds(state->input, attno, &bounds) &&
		bounds.has_zone && !bounds.is_unsigned && (bounds.nnulls == 0 || !nulls_first) &&
		are_worse(state, bounds.min, bounds.max, worst))
	{
		zskernel_bits_clear(passed);
		return;
	}
	vector = zsvector_input_column(state->input, attno, ZS_WANT_INT, passed);
	if (vector == NULL || vector->vals == NULL || vector->has_odd)
		return;
	zskernel_compare_int64(vector->vals, vector->nrows,
						   reverse ? (state->nkeys > 1 ? ZS_CMP_GE : ZS_CMP_GT) :
						   (state->nkeys > 1 ? ZS_CMP_LE : ZS_CMP_LT), worst, bits);
	if (vector->has_nulls && nulls_first)
		zskernel_bits_or(bits, vector->nulls);
	else if (vector->has_nulls)
		zskernel_bits_andnot(bits, vector->nulls);
	zskernel_bits_and(passed, bits);
}

/* Tells the scan what it may skip by the values that the filter's parameters have by now. */
static void
set_scan_filter(TopNState *state)
{
	ScanState  *ss = &state->css.ss;
	MemoryContext old;

	ResetExprContext(ss->ps.ps_ExprContext);
	old = MemoryContextSwitchTo(ss->ps.ps_ExprContext->ecxt_per_tuple_memory);
	zsvector_input_batch_set_filters(state->input, zsvector_agg_filter_clauses(state->programs),
									 ss->ps.state->es_param_list_info);
	MemoryContextSwitchTo(old);
}

/* The rows of the batch that pass; false: its rows have to be looked at one by one. */
static bool
filter_batch(TopNState *state, const ZsBatch *batch, uint64 *passed)
{
	bool		changed = false;

	if (batch->has_rows || zs_debug_vector == ZS_DEBUG_VECTOR_ROWS)
		return false;
	zskernel_bits_copy(passed, batch->sel);
	if (!zsvector_agg_filter_run(state->programs, state->input, passed, &state->counts, &changed))
		return false;
	if (changed)
		set_scan_filter(state);
	return true;
}

static void
look_at_batch(TopNState *state, const ZsBatch *batch)
{
	uint16		list[ZS_KERNEL_ROWS];
	uint64		passed[ZS_KERNEL_WORDS];
	bool		filtered = filter_batch(state, batch, passed);
	bool		one_by_one = !filtered || zs_debug_vector == ZS_DEBUG_VECTOR_VERIFY;
	uint32		nremoved = 0;
	uint32		n;

	if (!one_by_one)
	{
		nremoved = batch->nsel - zskernel_bits_count(passed);
		leave_out_worse(state, passed);
	}
	n = zskernel_bits_list(one_by_one ? batch->sel : passed, list);
	for (uint32 i = 0; i < n; i++)
	{
		zsvector_input_store(state->input, list[i]);
		if (one_by_one)
		{
			bool		pass = row_passes(state);

			if (filtered && pass != zskernel_bits_get(passed, list[i]))
				ereport(ERROR,
						(errcode(ERRCODE_INTERNAL_ERROR),
						 errmsg_internal("filter of row " UINT64_FORMAT " differs by batches",
										 batch->first + list[i])));
			if (!pass)
			{
				nremoved++;
				continue;
			}
		}
		look_at_row(state);
	}
	InstrCountFiltered1(&state->css.ss.ps, nremoved);
}

static void
choose_by_batches(TopNState *state)
{
	const ZsBatch *batch;

	zsvector_agg_filter_start(state->programs);
	set_scan_filter(state);
	zsvector_input_start(state->input);
	while ((batch = zsvector_input_next(state->input)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		look_at_batch(state, batch);
	}
	zsvector_input_end(state->input);
}

/* ---- results --------------------------------------------------------------------- */

static void
choose_rows(TopNState *state)
{
	Assert(state->nresults < 0);
	binaryheap_reset(state->heap);
	MemoryContextReset(state->context);
	if (state->input != NULL)
		choose_by_batches(state);
	else
		choose_by_rows(state);

	state->nresults = binaryheap_size(state->heap);
	Assert(state->nresults <= state->bound);
	for (int i = 0; i < state->nresults; i++)
		state->results[i] = &state->entries[i];
	qsort_arg(state->results, state->nresults, sizeof(TopNEntry *), compare_results, state);
	state->next_result = 0;
}

/* ---- second phase --------------------------------------------------------------------- */

static TupleTableSlot *
next_row(ScanState *ss)
{
	TopNState  *state = (TopNState *) ss;
	TupleTableSlot *slot = ss->ss_ScanTupleSlot;
	TopNEntry  *entry;

	if (state->nresults < 0)
		choose_rows(state);
	if (state->next_result >= state->nresults)
		return ExecClearTuple(slot);
	entry = state->results[state->next_result++];
	zsscan_store_version(ss->ss_currentRelation, entry->row, &entry->vis, slot);
	return slot;
}

static bool
recheck_row(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

/* ---- callbacks --------------------------------------------------------------------------- */

/* The scan of batches, with the filter's programs. */
static void
begin_batches(TopNState *state, CustomScan *cscan, Relation rel, EState *estate)
{
	TupleDesc	desc = RelationGetDescr(rel);
	Index		varno = cscan->scan.scanrelid;
	List	   *exprs = NIL;

	for (int i = 0; i < state->nkeys; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, state->keys[i].attno - 1);

		exprs = lappend(exprs, makeVar(varno, state->keys[i].attno, att->atttypid, att->atttypmod,
									   att->attcollation, 0));
	}
	state->programs = zsvector_agg_filter_create(desc, varno, cscan->scan.plan.qual, estate);
	state->input = zsvector_input_batch_create(rel, varno, exprs, cscan->scan.plan.qual, estate);
	state->keyslot = state->input->slot;
	state->leaves_out = key_is_integer(state, desc);
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

	state->nkeys = zsvector_topn_unpack(cscan->custom_private, &state->bound, &state->keys);
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

	if (zs_enable_vector_scan &&
		zsvector_agg_filter_possible(RelationGetDescr(rel), cscan->scan.scanrelid,
									 cscan->scan.plan.qual))
		begin_batches(state, cscan, rel, estate);
	else
	{
		state->keyslot = ExecAllocTableSlot(&estate->es_tupleTable, RelationGetDescr(rel),
											&TTSOpsZedstore);
		zsslot_set_needed(state->keyslot, needed, all || !zs_enable_column_projection);
	}
	state->context = AllocSetContextCreate(CurrentMemoryContext, "zedstore top-N keys",
										   ALLOCSET_DEFAULT_SIZES);
	state->heap = binaryheap_allocate((int) state->bound, compare_heap, state);
	state->entries = palloc0(state->bound * sizeof(TopNEntry));
	state->results = palloc(state->bound * sizeof(TopNEntry *));
	for (i = 0; i < state->bound; i++)
	{
		state->entries[i].values = palloc(state->nkeys * sizeof(Datum));
		state->entries[i].isnull = palloc(state->nkeys * sizeof(bool));
	}
	state->values = palloc(state->nkeys * sizeof(Datum));
	state->isnull = palloc(state->nkeys * sizeof(bool));
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
		zsvector_input_end(state->input);
}

static void
topn_rescan(CustomScanState *node)
{
	((TopNState *) node)->nresults = -1;
	ExecScanReScan(&node->ss);
}

static void
topn_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	TopNState  *state = (TopNState *) node;
	TupleDesc	desc = RelationGetDescr(node->ss.ss_currentRelation);
	List	   *names = NIL;

	for (int i = 0; i < state->nkeys; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, state->keys[i].attno - 1);

		names = lappend(names, zsvector_sort_key_name(NameStr(att->attname), state->keys[i].sortop,
													  state->keys[i].nulls_first));
	}
	ExplainPropertyList("Sort Key", names, es);
	ExplainPropertyInteger("Rows Kept", NULL, state->bound, es);
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
zsvector_topn_create_state(CustomScan *cscan)
{
	TopNState  *state = palloc0(sizeof(TopNState));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	state->css.slotOps = &TTSOpsZedstore;
	return (Node *) state;
}
