/*-------------------------------------------------------------------------
 *
 * node_order_run.c
 *	  Runs of a scan in the order of a column: rows of a stripe that were copied.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_order_run.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "node_order.h"
#include "zs_slot.h"

/* Frees the run, and the memory that is counted for it. */
void
zsnode_order_free_run(OrderState *state, OrderRun *run)
{
	state->memory -= MemoryContextMemAllocated(run->context, true);
	MemoryContextDelete(run->context);
}

/*
 * Copies the rows that the list has left, in their order; the run is freed by
 * zsnode_order_free_run(), or with the node.
 */
OrderRun *
zsnode_order_make_run(OrderState *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	MemoryContext context = AllocSetContextCreate(state->context, "zedstore ordered run",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	OrderRun   *run = palloc0_object(OrderRun);

	run->context = context;
	run->nrows = state->nlist - state->position;
	run->rows = palloc_array(zstid, run->nrows);
	run->values = palloc_array(Datum, (Size) run->nrows * state->ncolumns);
	run->isnull = palloc_array(bool, (Size) run->nrows * state->ncolumns);
	for (int i = 0; i < run->nrows; i++)
	{
		zsscan_batch_store(state->batches, state->list[state->position + i], slot);
		run->rows[i] = zsslot_row(slot);
		for (int k = 0; k < state->ncolumns; k++)
		{
			Form_pg_attribute att = TupleDescAttr(slot->tts_tupleDescriptor,
												  state->columns[k] - 1);
			Size		place = (Size) i * state->ncolumns + k;
			Datum		value = slot_getattr(slot, state->columns[k], &run->isnull[place]);

			run->values[place] = run->isnull[place] ? (Datum) 0 :
				datumCopy(value, att->attbyval, att->attlen);
		}
	}
	MemoryContextSwitchTo(old);
	state->memory += MemoryContextMemAllocated(context, true);
	return run;
}

/* Puts row `number` of the run into the node's slot; its values stay the run's. */
void
zsnode_order_store_row(OrderState *state, const OrderRun *run, int number)
{
	Size		place = (Size) number * state->ncolumns;

	zsslot_store_values(state->css.ss.ss_ScanTupleSlot, state->rel, run->rows[number], NULL,
						state->ncolumns, state->columns, run->values + place,
						run->isnull + place);
}
