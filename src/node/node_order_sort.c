/*-------------------------------------------------------------------------
 *
 * node_order_sort.c
 *	  What a scan in the order of columns has to sort: rows that work_mem has no room for, and rows
 *	  whose first key is NULL.
 *
 * Rows with NULL are outside of zone maps: by further keys they are sorted.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_order_sort.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "node_order.h"
#include "zs_slot.h"

/* ---- a sort ----------------------------------------------------------------------------- */

/* What rows look like that are sorted or kept: the node's columns, and the row's number. */
TupleDesc
zsnode_order_row_desc(const OrderState *state)
{
	TupleDesc	desc = CreateTemplateTupleDesc(state->ncolumns + 1);

	for (int k = 0; k < state->ncolumns; k++)
		TupleDescCopyEntry(desc, k + 1, RelationGetDescr(state->rel), state->columns[k]);
	TupleDescInitEntry(desc, state->ncolumns + 1, "row", INT8OID, -1, 0);
	zs_tupledesc_finalize(desc);
	return desc;
}

static void
begin_sort(OrderState *state)
{
	TupleDesc	desc = zsnode_order_row_desc(state);
	AttrNumber *attnos = palloc_array(AttrNumber, state->nkeys);
	Oid		   *sortops = palloc_array(Oid, state->nkeys);
	Oid		   *collations = palloc_array(Oid, state->nkeys);
	bool	   *nulls_first = palloc_array(bool, state->nkeys);

	Assert(state->sort == NULL && state->sortslot == NULL);
	for (int k = 0; k < state->nkeys; k++)
	{
		const OrderKey *key = &state->keys[k];

		attnos[k] = (AttrNumber) (key->column + 1);
		sortops[k] = key->def.sortop;
		collations[k] = key->def.collation;
		nulls_first[k] = key->def.nulls_first;
	}
	state->sortslot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	state->sort = tuplesort_begin_heap(desc, state->nkeys, attnos, sortops, collations,
									   nulls_first, work_mem, NULL, TUPLESORT_NONE);
}

/* Gives a row to the sort. */
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

/* What the list has left. */
static void
put_list(OrderState *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	Datum	   *values = palloc_array(Datum, state->ncolumns);
	bool	   *isnull = palloc_array(bool, state->ncolumns);

	for (; state->position < state->nlist; state->position++)
	{
		zsscan_batch_store(state->batches, state->list[state->position], slot);
		for (int k = 0; k < state->ncolumns; k++)
			values[k] = slot_getattr(slot, state->columns[k], &isnull[k]);
		put_row(state, zsslot_row(slot), values, isnull);
	}
	pfree(values);
	pfree(isnull);
}

static void
perform_sort(OrderState *state)
{
	TupleDesc	desc = state->sortslot->tts_tupleDescriptor;

	tuplesort_performsort(state->sort);
	ExecDropSingleTupleTableSlot(state->sortslot);
	state->sortslot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	state->phase = ORDER_SORTED;
}

/*
 * Puts the row in a slot of zsnode_order_row_desc() into the node's slot; values by reference stay
 * where they are.
 */
void
zsnode_order_store_sorted(OrderState *state, TupleTableSlot *slot)
{
	slot_getallattrs(slot);
	zsslot_store_values(state->css.ss.ss_ScanTupleSlot, state->rel,
						(zstid) DatumGetInt64(slot->tts_values[state->ncolumns]), NULL,
						state->ncolumns, state->columns, slot->tts_values, slot->tts_isnull);
}

/* Puts the next row of the sort into the node's slot; false behind the last one. */
bool
zsnode_order_next_sorted(OrderState *state)
{
	TupleTableSlot *slot = state->sortslot;

	if (!tuplesort_gettupleslot(state->sort, true, false, slot, NULL))
		return false;
	zsnode_order_store_sorted(state, slot);
	return true;
}

/* Frees the sort; there may be none. */
void
zsnode_order_end_sort(OrderState *state)
{
	if (state->sort != NULL)
		tuplesort_end(state->sort);
	if (state->sortslot != NULL)
		ExecDropSingleTupleTableSlot(state->sortslot);
	state->sort = NULL;
	state->sortslot = NULL;
}

/* ---- what is sorted ---------------------------------------------------------------------- */

/* Reads and sorts the rows that are NULL in the first key; false if there are none. */
bool
zsnode_order_sort_nulls(OrderState *state)
{
	for (;;)
	{
		zstid		stripe = state->next_loose < state->nloose ?
			state->loose[state->next_loose++] : zsscan_order_nulls(state->order, false);

		if (stripe == ZS_INVALID_ROW)
			break;
		if (!zsnode_order_open(state, stripe, true))
			continue;
		if (state->sort == NULL)
			begin_sort(state);
		put_list(state);
	}
	if (state->sort == NULL)
		return false;
	perform_sort(state);
	return true;
}

/*
 * Merging takes too much memory: sorts all rows that are in hand and all that have not been read.
 */
void
zsnode_order_sort_rest(OrderState *state)
{
	zstid		stripe;

	begin_sort(state);
	state->sorted_from = (int64) state->nreturned + 1;
	put_list(state);
	while (!binaryheap_empty(state->heap))
	{
		OrderRun   *run = (OrderRun *) DatumGetPointer(binaryheap_remove_first(state->heap));

		for (int i = run->position; i < run->nrows; i++)
		{
			Size		place = (Size) i * state->ncolumns;

			put_row(state, run->rows[i], run->values + place, run->isnull + place);
		}
		zsnode_order_free_run(state, run);
	}
	while (state->next_loose < state->nloose)
	{
		if (zsnode_order_open(state, state->loose[state->next_loose++], false))
			put_list(state);
	}
	while ((stripe = zsscan_order_next(state->order)) != ZS_INVALID_ROW)
	{
		if (zsnode_order_open(state, stripe, false))
			put_list(state);
	}
	perform_sort(state);
}
