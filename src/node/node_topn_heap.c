/*-------------------------------------------------------------------------
 *
 * node_topn_heap.c
 *	  The best rows that a top-N scan has seen so far, and its sort keys.
 *
 * A heap has the worst of the rows on top, so a row that is not better than that one costs a
 * comparison and nothing else.  Rows that compare equal come in the order of their row numbers.
 *
 * Where the plan returns nothing but columns of the keys and of the filter, the heap has the values
 * of these, too, and no row is fetched: to find one value a dictionary may have to be read, which
 * the scan has read before.  When rows enter the heap all the time, as they do if they come in
 * the opposite order, copying values takes longer than fetching a few rows, and is given up; so it
 * is when the values take more than work_mem.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_topn_heap.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "node_topn.h"
#include "zs_base_plan.h"
#include "zs_slot.h"

/* Of so many rows that became entries the values were copied. */
#define MAX_CARRIED_FILLS(bound)	(16 * (bound) + 1000)

/* ---- custom_private -------------------------------------------------------- */

/* Members of custom_private, of paths and of plans; lists have a member for each key. */
typedef enum TopNPrivate
{
	TOPN_NAME,					/* zsbase_private_name() */
	TOPN_BOUND,
	TOPN_KEYS
} TopNPrivate;

/* What a path and a plan node carry in custom_private: how many rows are wanted, and the keys. */
List *
zsnode_topn_pack(int64 bound, const ZsTopNKey *keys, int nkeys)
{
	Assert(bound > 0);
	return list_make3(zsbase_private_name(), makeInteger((int) bound),
					  zsnode_keys_pack(keys, nkeys));
}

/*
 * Takes apart what zsnode_topn_pack() made: returns how many keys there are, *keys in the current
 * context.
 */
int
zsnode_topn_unpack(List *packed, int64 *bound, ZsTopNKey **keys)
{
	Assert(list_length(packed) == TOPN_KEYS + 1);
	*bound = intVal(list_nth(packed, TOPN_BOUND));
	Assert(*bound > 0);
	return zsnode_keys_unpack(list_nth(packed, TOPN_KEYS), keys);
}

/* ---- the heap -------------------------------------------------------------------- */

/* Frees all values but those of keys; what was carried is fetched in the end. */
static void
stop_carrying(TopNState *state)
{
	TupleDesc	desc = state->keyslot->tts_tupleDescriptor;

	Assert(state->carries && state->nresults < 0);
	state->carries = false;
	for (int i = state->nkeys; i < state->ncolumns; i++)
	{
		if (TupleDescAttr(desc, state->columns[i] - 1)->attbyval)
			continue;
		for (int k = 0; k < binaryheap_size(state->best.heap); k++)
		{
			const ZsBestEntry *entry = &state->best.entries[k];

			if (!entry->isnull[i])
				pfree(DatumGetPointer(entry->values[i]));
		}
	}
}

/* Takes the row in keyslot into the heap, which has room or a worse one. */
static void
take_row(TopNState *state)
{
	TupleDesc	desc = state->keyslot->tts_tupleDescriptor;
	MemoryContext old = MemoryContextSwitchTo(state->context);
	bool		used;
	ZsBestEntry *entry = zsnode_best_claim(&state->best, state->ncolumns, &used);

	entry->row = zsslot_row(state->keyslot);
	if (state->carries &&
		(++state->nfilled > MAX_CARRIED_FILLS(state->bound) ||
		 MemoryContextMemAllocated(state->context, false) > work_mem * (Size) 1024))
		stop_carrying(state);
	for (int i = 0; i < (state->carries ? state->ncolumns : state->nkeys); i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, state->columns[i] - 1);

		if (i >= state->nkeys)
			state->values[i] = slot_getattr(state->keyslot, state->columns[i], &state->isnull[i]);
		zsnode_best_set(entry, i, state->values[i], state->isnull[i], att->attbyval, att->attlen,
						used);
	}
	zsnode_best_enter(&state->best, entry, used);
	MemoryContextSwitchTo(old);
}

/* Takes the row in keyslot over if it is among the best so far; is it? */
bool
zsnode_topn_look_at_row(TopNState *state)
{
	Assert(!TTS_EMPTY(state->keyslot));
	for (int i = 0; i < state->nkeys; i++)
		state->values[i] = slot_getattr(state->keyslot, state->keys[i].attno, &state->isnull[i]);

	if (zsnode_best_is_full(&state->best))
	{
		const ZsBestEntry *worst = zsnode_best_worst(&state->best);
		int			c = zsnode_best_compare(&state->best, state->values, state->isnull, worst);

		/* equal keys: the earlier row */
		if (c > 0 || (c == 0 && zsslot_row(state->keyslot) > worst->row))
			return false;
	}
	take_row(state);
	return true;
}

/* Does the row in keyslot pass the filter?  Errors: the filter's. */
bool
zsnode_topn_row_passes(TopNState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;

	ResetExprContext(econtext);
	econtext->ecxt_scantuple = state->keyslot;
	return ExecQual(state->filter, econtext);
}
