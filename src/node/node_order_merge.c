/*-------------------------------------------------------------------------
 *
 * node_order_merge.c
 *	  Merges the stripes of a table in the order of its columns.
 *
 * Stripes come in the order of the bounds of their zone maps (scan_order.c).  One is opened when
 * its bound may come before the smallest row in hand: its rows that pass the filter are sorted by
 * their keys (node_order_read.c).  They are returned from the batch, whose columns are decoded when
 * somebody looks at them, until another stripe may have a row among those that are left.  These are
 * copied then, to a run, before that stripe is opened; a heap of runs, beside the batch, tells
 * which row is next.  Bounds may be too wide, never too narrow; what is compared in the heap are
 * the values themselves, by the operators of the keys' types.
 *
 * Bounds are those of the first key.  With further keys all stripes are opened that may have rows
 * whose first key is equal to that of the smallest row in hand.
 *
 * Runs take as much memory as stripes lie over each other.  If that exceeds work_mem, all that is
 * in hand, and all that is left, goes to a sort (node_order_sort.c).
 *
 * Rows whose first key is NULL are outside of zone maps: they are found apart, before all others or
 * behind them, and sorted by further keys.  Stripes with rows in the row tree, and those from
 * before the column was added, are opened first of all; they are looked at again for NULLs.
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

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "node_order.h"
#include "zs_slot.h"
#include "zs_zone.h"

/* ---- runs ---------------------------------------------------------------------------------- */

/* A key of the first row that the run has left, by its place among the run's values. */
static inline Size
first_place(const OrderState *state, const OrderRun *run, int k)
{
	return (Size) run->position * state->ncolumns + state->keys[k].column;
}

/* For the heap, whose largest member comes first: the smallest row. */
static int
compare_runs(Datum a, Datum b, void *arg)
{
	OrderState *state = arg;
	const OrderRun *left = (const OrderRun *) DatumGetPointer(a);
	const OrderRun *right = (const OrderRun *) DatumGetPointer(b);

	for (int k = 0; k < state->nkeys; k++)
	{
		Size		i = first_place(state, left, k);
		Size		j = first_place(state, right, k);
		int			c = ApplySortComparator(left->values[i], left->isnull[i], right->values[j],
											right->isnull[j], &state->keys[k].sort);

		if (c != 0)
			return -c;
	}
	return 0;
}

/* Does the row of the present batch come no later than the first of the run? */
static bool
comes_first(OrderState *state, uint16 position, const OrderRun *run)
{
	for (int k = 0; k < state->nkeys; k++)
	{
		OrderKey   *key = &state->keys[k];
		Size		i = first_place(state, run, k);
		int			c = ApplySortComparator(key->values[position], key->isnull[position],
											run->values[i], run->isnull[i], &key->sort);

		if (c != 0)
			return c < 0;
	}
	return true;
}

/* Copies the rows that the present batch has left. */
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
	state->position = state->nlist;
}

/* ---- merging --------------------------------------------------------------------------------- */

/* May a stripe with that bound have a row in front of one with that key? */
static bool
may_precede(const OrderState *state, int64 bound, Datum key)
{
	int64		low;
	int64		high;

	if (!zsscan_zone_image(RelationGetDescr(state->rel), state->keys[0].def.attno, key, &low,
						   &high))
		return true;
	/* rows that are equal come in any order */
	if (state->keys[0].sort.ssup_reverse)
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

/*
 * How many of the rows, from first on, may no stripe that is left precede?  key_of() tells the
 * first key of each.
 */
static int
count_safe(const OrderState *state, int first, int nrows,
		   Datum (*key_of) (const OrderState *state, const void *arg, int i), const void *arg)
{
	int			low = first;
	int			high = nrows;

	while (state->has_bound && low < high)
	{
		int			mid = low + (high - low) / 2;

		if (may_precede(state, state->bound, key_of(state, arg, mid)))
			high = mid;
		else
			low = mid + 1;
	}
	return high;
}

static Datum
key_of_list(const OrderState *state, const void *arg, int i)
{
	return state->keys[0].values[state->list[i]];
}

static Datum
key_of_run(const OrderState *state, const void *arg, int i)
{
	const OrderRun *run = arg;

	return run->values[(Size) i * state->ncolumns + state->keys[0].column];
}

/* Asks what is left, which is another stripe now. */
static void
find_bound(OrderState *state)
{
	zstid		stripe;

	state->has_bound = zsscan_order_bound(state->order, &state->bound, &stripe);
	state->bound_serial++;
	state->nsafe = count_safe(state, state->position, state->nlist, key_of_list, NULL);
}

static bool
first_is_safe(OrderState *state, OrderRun *run)
{
	if (run->bound_serial != state->bound_serial)
	{
		run->bound_serial = state->bound_serial;
		run->nsafe = count_safe(state, run->position, run->nrows, key_of_run, run);
	}
	return run->position < run->nsafe;
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
		if (zsnode_order_open(state, state->loose[state->next_loose++], false))
			add_run(state);
	}
	find_bound(state);
	return true;
}

/* Opens the next stripe; what the present batch has left is copied before. */
static void
open_next(OrderState *state)
{
	if (state->position < state->nlist)
		add_run(state);
	if (zsnode_order_open(state, zsscan_order_next(state->order), false))
		state->most_open = Max(state->most_open, binaryheap_size(state->heap) + 1);
	find_bound(state);
}

/* The row of a run that was returned last has been looked at until now. */
static void
leave_current(OrderState *state)
{
	OrderRun   *run = state->current;

	state->current = NULL;
	if (run == NULL)
		return;
	if (++run->position < run->nrows)
		binaryheap_replace_first(state->heap, PointerGetDatum(run));
	else
	{
		(void) binaryheap_remove_first(state->heap);
		zsnode_order_free_run(state, run);
	}
}

/* The next row whose first key is not NULL: of the present batch, or of a run. */
static bool
next_value(OrderState *state)
{
	leave_current(state);
	for (;;)
	{
		OrderRun   *run = binaryheap_empty(state->heap) ? NULL :
			(OrderRun *) DatumGetPointer(binaryheap_first(state->heap));

		if (state->position < state->nlist &&
			(run == NULL || comes_first(state, state->list[state->position], run)))
		{
			if (state->position < state->nsafe)
			{
				zsscan_batch_store(state->batches, state->list[state->position++],
								   state->css.ss.ss_ScanTupleSlot);
				return true;
			}
		}
		else if (run != NULL && first_is_safe(state, run))
		{
			zsnode_order_store_row(state, run, run->position);
			state->current = run;
			return true;
		}
		else if (run == NULL && !state->has_bound)
			return false;
		if (memory_is_short(state))
		{
			zsnode_order_sort_rest(state);
			return zsnode_order_next_sorted(state);
		}
		open_next(state);
	}
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
		(void) zsnode_order_open(state, stripe, true);
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

	state->order = zsscan_order_begin(state->batches, state->keys[0].def.attno,
									  state->keys[0].sort.ssup_reverse);
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

	zsnode_order_end_sort(state);
	state->nlist = state->position = 0;
	if (!state->nulls_done && (state->keys[0].def.nulls_first || state->values_done))
	{
		state->nulls_done = true;
		state->next_loose = 0;
		state->phase = ORDER_NULLS;
		if (state->nkeys > 1 && !zsnode_order_sort_nulls(state))
			state->nlist = state->position = 0;
	}
	else if (!state->values_done)
	{
		state->values_done = true;
		state->phase = ORDER_VALUES;
		if (!open_loose(state))
			zsnode_order_sort_rest(state);
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
			found = zsnode_order_next_sorted(state);
			break;
		case ORDER_START:
		case ORDER_END:
			break;
	}
	MemoryContextSwitchTo(old);
	return found;
}

/* The next row in the order of the key, in the node's slot; false behind the last. */
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

/* Forgets all that has been read. */
void
zsnode_order_reset(OrderState *state)
{
	ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
	if (state->order != NULL && state->phase != ORDER_END)
		state->nleft += zsscan_order_skipped(state->order);
	zsnode_order_end_sort(state);
	state->order = NULL;
	state->heap = NULL;
	state->current = NULL;
	state->loose = NULL;
	state->nloose = state->maxloose = state->next_loose = 0;
	state->nlist = state->position = 0;
	state->memory = 0;
	state->nreturned = 0;
	state->phase = ORDER_START;
	MemoryContextReset(state->context);
}
