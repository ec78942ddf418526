/*-------------------------------------------------------------------------
 *
 * node_order_back.c
 *	  Rows of a scan in the order of columns that were returned, for a cursor that goes back.
 *
 * The merge goes forward only.  If the executor says that somebody may go back, rows that are
 * returned are kept in a tuplestore, as a Material node keeps them.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_order_back.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "node_order.h"
#include "zs_slot.h"

/* Keeps the row in the node's slot. */
static void
keep_row(OrderState *state)
{
	TupleTableSlot *from = state->css.ss.ss_ScanTupleSlot;
	TupleTableSlot *slot = state->keep_slot;

	ExecClearTuple(slot);
	for (int k = 0; k < state->ncolumns; k++)
		slot->tts_values[k] = slot_getattr(from, state->columns[k], &slot->tts_isnull[k]);
	slot->tts_values[state->ncolumns] = Int64GetDatum((int64) zsslot_row(from));
	slot->tts_isnull[state->ncolumns] = false;
	ExecStoreVirtualTuple(slot);
	tuplestore_puttupleslot(state->kept, slot);
}

/*
 * Puts the next row, or the one before, into the node's slot; false if there is none.  Only a node
 * that keeps its rows goes back.  Errors: those of reading rows and of the filter.
 */
bool
zsnode_order_fetch(OrderState *state, bool forward)
{
	bool		at_end;

	if (!state->keeps)
	{
		Assert(forward);
		return zsnode_order_next(state);
	}
	if (state->kept == NULL)
	{
		EState	   *estate = state->css.ss.ps.state;
		MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);

		if (state->keep_slot == NULL)
		{
			TupleDesc	desc = zsnode_order_row_desc(state);

			state->keep_slot = ExecInitExtraTupleSlot(estate, desc, &TTSOpsVirtual);
			state->kept_slot = ExecInitExtraTupleSlot(estate, desc, &TTSOpsMinimalTuple);
		}
		state->kept = tuplestore_begin_heap(true, false, work_mem);
		MemoryContextSwitchTo(old);
	}
	at_end = tuplestore_ateof(state->kept);
	if (!forward && at_end)
	{
		/* the one that was returned last is passed over, unless all were */
		if (state->phase != ORDER_END && !tuplestore_advance(state->kept, false))
			return false;
		at_end = false;
	}
	if (!at_end)
	{
		if (tuplestore_gettupleslot(state->kept, forward, false, state->kept_slot))
		{
			zsnode_order_store_sorted(state, state->kept_slot);
			return true;
		}
		at_end = forward;
	}
	if (!at_end || !zsnode_order_next(state))
		return false;
	keep_row(state);
	return true;
}

/* Frees the rows that are kept for going back; there may be none. */
void
zsnode_order_forget_kept(OrderState *state)
{
	if (state->kept != NULL)
		tuplestore_end(state->kept);
	state->kept = NULL;
}
