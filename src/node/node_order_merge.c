/*-------------------------------------------------------------------------
 *
 * node_order_merge.c
 *	  Merges the stripes of a table in the order of a column.
 *
 * Stripes come in the order of the bounds of their zone maps (scan_order.c).  One is opened when
 * its bound may come before the smallest row in hand: its rows that pass the filter are sorted by
 * their keys, mostly by one look that finds them sorted.  If no other stripe may have a row among
 * them, they are returned from the batch, whose columns are decoded when somebody looks at them.
 * Else they are copied, to a run, and a heap of runs tells which row is next.  Bounds may be too
 * wide, never too narrow; what is compared in the heap are the values themselves, by the operator
 * of the key's type.
 *
 * Runs take as much memory as stripes lie over each other.  If that exceeds work_mem, all that is
 * in hand, and all that is left, goes to a sort.
 *
 * Rows whose key is NULL are outside of zone maps: they are found apart, before all others or
 * behind them.  Stripes with rows in the row tree, and those from before the column was added, are
 * opened first of all; they are looked at again for NULLs.
 *
 * Small materialized aggregates: G. Moerkotte, VLDB 1998.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_order_merge.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "node_order.h"
#include "zs_slot.h"
#include "zs_zone.h"

/* ---- a stripe's rows --------------------------------------------------------------------- */

/* Leaves the rows of the batch that pass; those that programs did not decide are tested. */
static void
filter_batch(OrderState *state, const ZsBatch *batch, uint64 *passed)
{
	ScanState  *ss = &state->css.ss;
	ExprContext *econtext = ss->ps.ps_ExprContext;
	uint16		list[ZS_KERNEL_ROWS];
	bool		changed = false;
	uint32		n;

	if (state->programs != NULL &&
		zsexpr_filter_run(state->programs, state->input, batch, passed, &state->counts,
						  &changed) &&
		!(zsexpr_filter_has_rest(state->programs) && zskernel_bits_any(passed)))
	{
		InstrCountFiltered1(&ss->ps, batch->nsel - zskernel_bits_count(passed));
		return;
	}
	zskernel_bits_copy(passed, batch->sel);
	if (ss->ps.qual == NULL)
		return;
	n = zskernel_bits_list(batch->sel, list);
	for (uint32 i = 0; i < n; i++)
	{
		ResetExprContext(econtext);
		zsscan_batch_store(state->batches, list[i], ss->ss_ScanTupleSlot);
		econtext->ecxt_scantuple = ss->ss_ScanTupleSlot;
		if (!ExecQual(ss->ps.qual, econtext))
		{
			passed[list[i] / 64] &= ~(UINT64CONST(1) << (list[i] % 64));
			InstrCountFiltered1(&ss->ps, 1);
		}
	}
	ResetExprContext(econtext);
}

/*
 * Reads the keys of the rows of passed into keys, by their positions; takes those out whose key is
 * NULL, or with nulls all others.  Keys by reference stay as long as the batch.
 */
static void
read_keys(OrderState *state, const ZsBatch *batch, uint64 *passed, bool nulls)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	Form_pg_attribute att = TupleDescAttr(slot->tts_tupleDescriptor, state->key.attno - 1);
	const ZsColumnVector *vector = NULL;
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n;

	if (state->is_integer && !nulls && zskernel_bits_any(passed))
		vector = zsexpr_input_column(state->input, state->key.attno, ZS_WANT_INT, passed);
	if (vector != NULL && vector->vals != NULL && !vector->has_odd)
	{
		if (vector->has_nulls)
			zskernel_bits_andnot(passed, vector->nulls);
		n = zskernel_bits_list(passed, list);
		for (uint32 i = 0; i < n; i++)
			state->keys[list[i]] = Int64GetDatum(vector->vals[list[i]]);
		return;
	}
	n = zskernel_bits_list(passed, list);
	for (uint32 i = 0; i < n; i++)
	{
		bool		isnull;
		Datum		value;

		zsscan_batch_store(state->batches, list[i], slot);
		value = slot_getattr(slot, state->key.attno, &isnull);
		if (isnull != nulls)
			passed[list[i] / 64] &= ~(UINT64CONST(1) << (list[i] % 64));
		else if (!isnull)
			state->keys[list[i]] = att->attbyval ? value :
				datumCopy(value, false, att->attlen);
	}
}

static int
compare_positions(const void *a, const void *b, void *arg)
{
	OrderState *state = arg;
	uint16		left = *(const uint16 *) a;
	uint16		right = *(const uint16 *) b;
	int			c = ApplySortComparator(state->keys[left], false, state->keys[right], false,
										&state->sortkey);

	return c != 0 ? c : (left < right ? -1 : left > right);
}

/* Puts the list of the batch's rows in the order of their keys. */
static void
sort_list(OrderState *state)
{
	for (int i = 1; i < state->nlist; i++)
	{
		if (ApplySortComparator(state->keys[state->list[i - 1]], false,
								state->keys[state->list[i]], false, &state->sortkey) > 0)
		{
			qsort_arg(state->list, state->nlist, sizeof(uint16), compare_positions, state);
			return;
		}
	}
}

/* Opens the stripe: its rows, by their keys, are in the list.  nulls: those with NULL alone. */
static bool
open_stripe(OrderState *state, zstid stripe, bool nulls)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	const ZsBatch *batch;
	uint64		passed[ZS_KERNEL_WORDS];
	MemoryContext old;

	CHECK_FOR_INTERRUPTS();
	ResetExprContext(econtext);
	zsexpr_input_batch_turn(state->input);
	batch = zsscan_batch_seek(state->batches, stripe);
	state->nlist = 0;
	state->position = 0;
	if (batch == NULL)
		return false;
	filter_batch(state, batch, passed);
	/* keys that are copied live until the next batch */
	MemoryContextReset(state->keycontext);
	old = MemoryContextSwitchTo(state->keycontext);
	read_keys(state, batch, passed, nulls);
	MemoryContextSwitchTo(old);
	state->nlist = (int) zskernel_bits_list(passed, state->list);
	if (!nulls)
		sort_list(state);
	return state->nlist > 0;
}

/* ---- runs ---------------------------------------------------------------------------------- */

static Datum
first_key(const OrderState *state, const OrderRun *run)
{
	return run->values[(Size) run->sorted[run->position] * state->ncolumns];
}

/* For the heap, whose largest member comes first: the smallest row. */
static int
compare_runs(Datum a, Datum b, void *arg)
{
	OrderState *state = arg;
	const OrderRun *left = (const OrderRun *) DatumGetPointer(a);
	const OrderRun *right = (const OrderRun *) DatumGetPointer(b);

	return -ApplySortComparator(first_key(state, left), false, first_key(state, right), false,
								&state->sortkey);
}

static void
add_run(OrderState *state)
{
	OrderRun   *run = zsnode_order_make_run(state);

	/* it may have room for a few members only */
	if (binaryheap_size(state->heap) >= state->heap->bh_space)
	{
		binaryheap *larger = binaryheap_allocate(state->heap->bh_space * 2, compare_runs, state);

		for (int i = 0; i < binaryheap_size(state->heap); i++)
			binaryheap_add_unordered(larger, binaryheap_get_node(state->heap, i));
		binaryheap_build(larger);
		binaryheap_free(state->heap);
		state->heap = larger;
	}
	binaryheap_add(state->heap, PointerGetDatum(run));
	state->most_open = Max(state->most_open, binaryheap_size(state->heap));
}

/* ---- merging --------------------------------------------------------------------------------- */

/* May a stripe with that bound have a row in front of one with that key? */
static bool
may_precede(const OrderState *state, int64 bound, Datum key)
{
	int64		low;
	int64		high;

	if (!zsscan_zone_image(RelationGetDescr(state->rel), state->key.attno, key, &low, &high))
		return true;
	/* rows that are equal come in any order */
	if (state->sortkey.ssup_reverse)
		return state->is_exact ? bound > low : bound >= low;
	return state->is_exact ? bound < high : bound <= high;
}

static void
remember_loose(OrderState *state, zstid stripe)
{
	if (state->nloose == state->maxloose)
	{
		state->maxloose = Max(64, 2 * state->maxloose);
		state->loose = state->loose == NULL ?
			MemoryContextAlloc(state->context, state->maxloose * sizeof(zstid)) :
			repalloc_huge(state->loose, state->maxloose * sizeof(zstid));
	}
	state->loose[state->nloose++] = stripe;
}

static bool
memory_is_short(const OrderState *state)
{
	return state->memory > work_mem * (Size) 1024;
}

/* Gives a row in the node's slot to the sort. */
static void
put_row(OrderState *state, zstid row, const Datum *values, const bool *isnull)
{
	TupleTableSlot *slot = state->sortslot;

	ExecClearTuple(slot);
	memcpy(slot->tts_values, values, state->ncolumns * sizeof(Datum));
	memcpy(slot->tts_isnull, isnull, state->ncolumns * sizeof(bool));
	slot->tts_values[state->ncolumns] = Int64GetDatum((int64) row);
	slot->tts_isnull[state->ncolumns] = false;
	ExecStoreVirtualTuple(slot);
	tuplesort_puttupleslot(state->sort, slot);
}

static void
put_list(OrderState *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	Datum	   *values = palloc_array(Datum, state->ncolumns);
	bool	   *isnull = palloc_array(bool, state->ncolumns);

	for (int i = 0; i < state->nlist; i++)
	{
		zsscan_batch_store(state->batches, state->list[i], slot);
		for (int k = 0; k < state->ncolumns; k++)
			values[k] = slot_getattr(slot, state->columns[k], &isnull[k]);
		put_row(state, zsslot_row(slot), values, isnull);
	}
	pfree(values);
	pfree(isnull);
}

/* Sorts all that is in hand, and all that is left. */
static void
sort_rest(OrderState *state)
{
	TupleDesc	desc = CreateTemplateTupleDesc(state->ncolumns + 1);
	AttrNumber	first = 1;
	zstid		stripe;

	for (int k = 0; k < state->ncolumns; k++)
		TupleDescCopyEntry(desc, k + 1, RelationGetDescr(state->rel), state->columns[k]);
	TupleDescInitEntry(desc, state->ncolumns + 1, "row", INT8OID, -1, 0);
	zs_tupledesc_finalize(desc);
	state->sortslot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	state->sort = tuplesort_begin_heap(desc, 1, &first, &state->key.sortop, &state->key.collation,
									   &state->key.nulls_first, work_mem, NULL, TUPLESORT_NONE);
	state->sorted_from = (int64) state->nreturned + 1;
	while (!binaryheap_empty(state->heap))
	{
		OrderRun   *run = (OrderRun *) DatumGetPointer(binaryheap_remove_first(state->heap));

		for (int i = run->position; i < run->nrows; i++)
		{
			Size		place = (Size) run->sorted[i] * state->ncolumns;

			put_row(state, run->rows[run->sorted[i]], run->values + place, run->isnull + place);
		}
		zsnode_order_free_run(state, run);
	}
	while (state->next_loose < state->nloose)
	{
		if (open_stripe(state, state->loose[state->next_loose++], false))
			put_list(state);
	}
	while ((stripe = zsscan_order_next(state->order)) != ZS_INVALID_ROW)
	{
		if (open_stripe(state, stripe, false))
			put_list(state);
	}
	tuplesort_performsort(state->sort);
	ExecDropSingleTupleTableSlot(state->sortslot);
	state->sortslot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	state->phase = ORDER_SORTED;
}

/* The next row of the sort. */
static bool
next_sorted(OrderState *state)
{
	TupleTableSlot *slot = state->sortslot;

	if (!tuplesort_gettupleslot(state->sort, true, false, slot, NULL))
		return false;
	slot_getallattrs(slot);
	zsslot_store_values(state->css.ss.ss_ScanTupleSlot, state->rel,
						(zstid) DatumGetInt64(slot->tts_values[state->ncolumns]), NULL,
						state->ncolumns, state->columns, slot->tts_values, slot->tts_isnull);
	return true;
}

/* All stripes of which nothing is known are opened; false if memory is short for that. */
static bool
open_loose(OrderState *state)
{
	state->next_loose = 0;
	while (state->next_loose < state->nloose)
	{
		if (memory_is_short(state))
			return false;
		if (open_stripe(state, state->loose[state->next_loose++], false))
			add_run(state);
	}
	return true;
}

/*
 * Opens stripes until none that is left may precede the first row in hand; false if memory is
 * short.  The rows of one that overlaps with nothing become those that are returned next.
 */
static bool
open_stripes(OrderState *state)
{
	int64		bound;
	zstid		stripe;

	while (zsscan_order_bound(state->order, &bound, &stripe))
	{
		if (!binaryheap_empty(state->heap) &&
			!may_precede(state, bound,
						 first_key(state, (OrderRun *)
								   DatumGetPointer(binaryheap_first(state->heap)))))
			return true;
		if (memory_is_short(state))
			return false;
		if (!open_stripe(state, zsscan_order_next(state->order), false))
			continue;
		if (binaryheap_empty(state->heap) &&
			(!zsscan_order_bound(state->order, &bound, &stripe) ||
			 !may_precede(state, bound, state->keys[state->list[state->nlist - 1]])))
		{
			state->is_direct = true;
			state->most_open = Max(state->most_open, 1);
			return true;
		}
		add_run(state);
	}
	return true;
}

/* The next row whose key is not NULL. */
static bool
next_value(OrderState *state)
{
	OrderRun   *run;

	if (state->is_direct)
	{
		if (state->position < state->nlist)
		{
			zsscan_batch_store(state->batches, state->list[state->position++],
							   state->css.ss.ss_ScanTupleSlot);
			return true;
		}
		state->is_direct = false;
	}
	/* the row returned last was looked at until now */
	run = state->current;
	state->current = NULL;
	if (run != NULL)
	{
		if (++run->position < run->nrows)
			binaryheap_replace_first(state->heap, PointerGetDatum(run));
		else
		{
			(void) binaryheap_remove_first(state->heap);
			zsnode_order_free_run(state, run);
		}
	}
	if (!open_stripes(state))
	{
		sort_rest(state);
		return next_sorted(state);
	}
	if (state->is_direct)
		return next_value(state);
	if (binaryheap_empty(state->heap))
		return false;
	run = (OrderRun *) DatumGetPointer(binaryheap_first(state->heap));
	zsnode_order_store_row(state, run, run->sorted[run->position]);
	state->current = run;
	return true;
}

/* ---- NULLs, and phases -------------------------------------------------------------------- */

/* The next row whose key is NULL. */
static bool
next_null(OrderState *state)
{
	while (state->position >= state->nlist)
	{
		zstid		stripe;

		if (state->next_loose < state->nloose)
			stripe = state->loose[state->next_loose++];
		else
			stripe = zsscan_order_nulls(state->order, false);
		if (stripe == ZS_INVALID_ROW)
			return false;
		(void) open_stripe(state, stripe, true);
	}
	zsscan_batch_store(state->batches, state->list[state->position++],
					   state->css.ss.ss_ScanTupleSlot);
	return true;
}

static void
start(OrderState *state)
{
	MemoryContext old = MemoryContextSwitchTo(state->context);
	zstid		stripe;

	state->order = zsscan_order_begin(state->batches, state->key.attno,
									  state->sortkey.ssup_reverse);
	state->heap = binaryheap_allocate(16, compare_runs, state);
	while ((stripe = zsscan_order_loose(state->order)) != ZS_INVALID_ROW)
		remember_loose(state, stripe);
	MemoryContextSwitchTo(old);
	state->nulls_done = state->values_done = false;
}

/* Goes on to the next phase: NULLs and values, in the order that is asked for. */
static void
next_phase(OrderState *state)
{
	MemoryContext old = MemoryContextSwitchTo(state->context);

	state->nlist = state->position = 0;
	state->is_direct = false;
	if (!state->nulls_done && (state->key.nulls_first || state->values_done))
	{
		state->nulls_done = true;
		state->next_loose = 0;
		state->phase = ORDER_NULLS;
	}
	else if (!state->values_done)
	{
		state->values_done = true;
		state->phase = ORDER_VALUES;
		if (!open_loose(state))
			sort_rest(state);
	}
	else
	{
		state->nleft += zsscan_order_skipped(state->order);
		state->phase = ORDER_END;
	}
	MemoryContextSwitchTo(old);
}

static bool
next_of_phase(OrderState *state)
{
	MemoryContext old = MemoryContextSwitchTo(state->context);
	bool		found = false;

	switch (state->phase)
	{
		case ORDER_NULLS:
			found = next_null(state);
			break;
		case ORDER_VALUES:
			found = next_value(state);
			break;
		case ORDER_SORTED:
			found = next_sorted(state);
			break;
		case ORDER_START:
		case ORDER_END:
			break;
	}
	MemoryContextSwitchTo(old);
	return found;
}

/* See node_order.h. */
bool
zsnode_order_next(OrderState *state)
{
	if (state->phase == ORDER_START)
	{
		start(state);
		next_phase(state);
	}
	while (state->phase != ORDER_END)
	{
		if (next_of_phase(state))
		{
			state->nreturned++;
			return true;
		}
		next_phase(state);
	}
	return false;
}

/* See node_order.h. */
void
zsnode_order_reset(OrderState *state)
{
	ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
	if (state->order != NULL && state->phase != ORDER_END)
		state->nleft += zsscan_order_skipped(state->order);
	if (state->sort != NULL)
		tuplesort_end(state->sort);
	if (state->sortslot != NULL)
		ExecDropSingleTupleTableSlot(state->sortslot);
	state->sort = NULL;
	state->sortslot = NULL;
	state->order = NULL;
	state->heap = NULL;
	state->current = NULL;
	state->loose = NULL;
	state->nloose = state->maxloose = state->next_loose = 0;
	state->nlist = state->position = 0;
	state->is_direct = false;
	state->memory = 0;
	state->nreturned = 0;
	state->phase = ORDER_START;
	MemoryContextReset(state->context);
}
