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
#include "utils/datum.h"
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

/* See node_topn.h. */
List *
zsnode_topn_pack(int64 bound, const ZsTopNKey *keys, int nkeys)
{
	Assert(bound > 0);
	return list_make3(zsbase_private_name(), makeInteger((int) bound),
					  zsnode_keys_pack(keys, nkeys));
}

/* See node_topn.h. */
int
zsnode_topn_unpack(List *packed, int64 *bound, ZsTopNKey **keys)
{
	Assert(list_length(packed) == TOPN_KEYS + 1);
	*bound = intVal(list_nth(packed, TOPN_BOUND));
	Assert(*bound > 0);
	return zsnode_keys_unpack(list_nth(packed, TOPN_KEYS), keys);
}

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

/* See node_topn.h. */
int
zsnode_topn_compare_heap(Datum a, Datum b, void *arg)
{
	return compare_entries(arg, (TopNEntry *) DatumGetPointer(a),
						   (TopNEntry *) DatumGetPointer(b));
}

/* See node_topn.h. */
int
zsnode_topn_compare_results(const void *a, const void *b, void *arg)
{
	return compare_entries(arg, *(TopNEntry *const *) a, *(TopNEntry *const *) b);
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
		for (int k = 0; k < binaryheap_size(state->heap); k++)
		{
			if (!state->entries[k].isnull[i])
				pfree(DatumGetPointer(state->entries[k].values[i]));
		}
	}
}

/* Takes the row in keyslot over into entry. */
static void
fill_entry(TopNState *state, TopNEntry *entry, bool used)
{
	TupleDesc	desc = state->keyslot->tts_tupleDescriptor;
	MemoryContext old = MemoryContextSwitchTo(state->context);

	Assert(entry >= state->entries && entry < state->entries + state->bound);
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
		if (used && !att->attbyval && !entry->isnull[i])
			pfree(DatumGetPointer(entry->values[i]));
		entry->isnull[i] = state->isnull[i];
		entry->values[i] = state->isnull[i] ? (Datum) 0 :
			datumCopy(state->values[i], att->attbyval, att->attlen);
	}
	MemoryContextSwitchTo(old);
}

/* See node_topn.h. */
void
zsnode_topn_look_at_row(TopNState *state)
{
	TopNEntry  *worst;
	int			c;

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

	/* equal keys: the earlier row */
	c = compare_keys(state, state->values, state->isnull, worst->values, worst->isnull);
	if (c > 0 || (c == 0 && zsslot_row(state->keyslot) > worst->row))
		return;
	fill_entry(state, worst, true);
	binaryheap_replace_first(state->heap, PointerGetDatum(worst));
}

/* See node_topn.h. */
bool
zsnode_topn_row_passes(TopNState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;

	ResetExprContext(econtext);
	econtext->ecxt_scantuple = state->keyslot;
	return ExecQual(state->filter, econtext);
}
