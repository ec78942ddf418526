/*-------------------------------------------------------------------------
 *
 * node_order_read.c
 *	  Reads a stripe for a scan in the order of columns: rows that pass the filter, by their keys.
 *
 * Mostly one look finds them sorted.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_order_read.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "node_order.h"

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
			zskernel_bits_unset(passed, list[i]);
			InstrCountFiltered1(&ss->ps, 1);
		}
	}
	ResetExprContext(econtext);
}

/* Reads a key of the rows; by reference it stays as long as the batch. */
static void
read_key(OrderState *state, OrderKey *key, const uint64 *rows)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	Form_pg_attribute att = TupleDescAttr(slot->tts_tupleDescriptor, key->def.attno - 1);
	const ZsColumnVector *vector = NULL;
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(rows, list);

	if (key->is_integer && n > 0)
		vector = zsexpr_input_column(state->input, key->def.attno, ZS_WANT_INT, rows);
	if (vector != NULL && vector->vals != NULL && !vector->has_odd)
	{
		for (uint32 i = 0; i < n; i++)
		{
			uint16		place = list[i];

			key->isnull[place] = vector->has_nulls &&
				(vector->nulls[place / 64] >> (place % 64) & 1) != 0;
			key->values[place] = Int64GetDatum(vector->vals[place]);
		}
		return;
	}
	for (uint32 i = 0; i < n; i++)
	{
		uint16		place = list[i];
		Datum		value;

		zsscan_batch_store(state->batches, place, slot);
		value = slot_getattr(slot, key->def.attno, &key->isnull[place]);
		key->values[place] = key->isnull[place] || att->attbyval ? value :
			datumCopy(value, false, att->attlen);
	}
}

/*
 * Reads the keys of the rows of passed, and takes those out whose first key is NULL, or with nulls
 * all others.
 */
static void
read_keys(OrderState *state, uint64 *passed, bool nulls)
{
	OrderKey   *first = &state->keys[0];
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n;

	read_key(state, first, passed);
	n = zskernel_bits_list(passed, list);
	for (uint32 i = 0; i < n; i++)
	{
		if (first->isnull[list[i]] != nulls)
			zskernel_bits_unset(passed, list[i]);
	}
	/* rows with NULL go to a sort, or come as they are */
	for (int k = 1; k < state->nkeys && !nulls; k++)
		read_key(state, &state->keys[k], passed);
}

static inline int
compare_places(const OrderState *state, uint16 left, uint16 right)
{
	for (int k = 0; k < state->nkeys; k++)
	{
		OrderKey   *key = &state->keys[k];
		int			c = ApplySortComparator(key->values[left], key->isnull[left],
											key->values[right], key->isnull[right], &key->sort);

		if (c != 0)
			return c;
	}
	return 0;
}

static int
compare_positions(const void *a, const void *b, void *arg)
{
	uint16		left = *(const uint16 *) a;
	uint16		right = *(const uint16 *) b;
	int			c = compare_places(arg, left, right);

	return c != 0 ? c : (left < right ? -1 : left > right);
}

/* Puts the list of the batch's rows in the order of their keys. */
static void
sort_list(OrderState *state)
{
	for (int i = 1; i < state->nlist; i++)
	{
		if (compare_places(state, state->list[i - 1], state->list[i]) > 0)
		{
			qsort_arg(state->list, state->nlist, sizeof(uint16), compare_positions, state);
			return;
		}
	}
}

/*
 * Opens the stripe, which begins with that row number: its rows that pass the filter are in
 * state->list, by their keys.  nulls: only those whose first key is NULL, else only the others.
 * False if there are none.  Errors: those of the filter.
 */
bool
zsnode_order_open(OrderState *state, zstid stripe, bool nulls)
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
	zsscan_batch_expect(state->batches, zskernel_bits_count(passed));
	/* keys that are copied live until the next batch */
	MemoryContextReset(state->keycontext);
	old = MemoryContextSwitchTo(state->keycontext);
	read_keys(state, passed, nulls);
	MemoryContextSwitchTo(old);
	state->nlist = (int) zskernel_bits_list(passed, state->list);
	if (!nulls)
		sort_list(state);
	return state->nlist > 0;
}
