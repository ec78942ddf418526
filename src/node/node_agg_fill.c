/*-------------------------------------------------------------------------
 *
 * node_agg_fill.c
 *	  Makes the groups that a node returns next.
 *
 * Usually there is one filling: all rows of the input become groups in memory.  There are more
 *
 *	- when groups take more memory than they may: they are frozen, rows of others are written out
 *	  (spill.c), and become groups when the first ones have been returned;
 *	- when groups can be returned before the end of the input (node_agg_early.c): then the input
 *	  goes on where it stopped;
 *	- when a few groups tell which ones are wanted (node_agg_rare.c): then no others are made, and
 *	  rows of others are counted; the input is read again if some of them are wanted after all;
 *	- in partial aggregation, which may return a group more than once: where rows of a group lie
 *	  together, more rows have to be written out, once groups are frozen, than groups were made
 *	  of as many rows.  Then all groups are returned as they are, and new ones are made of the
 *	  rows that follow.
 *
 * Memory of groups is that of state->context; each filling but those of the second kind starts by
 * forgetting it.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_fill.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "node_agg.h"
#include "zs_expr_guc.h"

/* With so many rows after groups were frozen it is known how many of them are written out. */
#define TRIAL_ROWS		4096

/* The number of rows for all aggregates, none of which looks at a column. */
static void
count_input(AggNodeState *state)
{
	uint64		count = state->input->methods->count(state->input, state->verifier != NULL);

	Assert(state->counts_only && state->nkeys == 0);
	for (int i = 0; i < state->naggs; i++)
		zsnode_agg_value_of(state, 0, &state->aggs[i])->count = (int64) count;
}

/* Forgets all groups; others are going to be made. */
static void
start_fill(AggNodeState *state)
{
	Assert(state->groups_left == 0);
	MemoryContextReset(state->context);
	state->next_group = 0;
	if (state->verifier != NULL)
		zsagg_verify_reset(state->verifier);
	if (state->nkeys == 0)
		state->values = MemoryContextAllocZero(state->context, state->value_size);
	else
	{
		state->values = NULL;
		state->maxgroups = 0;
		state->groups = zsnode_agg_create_groups(state);
	}
	state->early = false;
	state->early_look = 0;
	state->fill_rows = 0;
	state->rare_look = 0;
	zsnode_agg_sets_start(state);
	state->base_memory = MemoryContextMemAllocated(state->context, true);
	state->full_memory = 0;
}

/* Is there room in all arrays for as many groups as a batch may bring? */
static bool
is_room_left(const AggNodeState *state)
{
	uint32		ngroups = zsagg_groups_count(state->groups);

	return state->maxgroups >= ngroups + ZS_STRIPE_ROWS &&
		zsagg_groups_room(state->groups) >= ZS_STRIPE_ROWS;
}

/*
 * Do groups and sets take all the memory that they may?  An array that has grown beyond that is
 * used up, as long as nothing else takes more: its room would be lost.
 * zedstore.debug_vector_groups says how many groups are enough.
 */
static bool
is_memory_full(AggNodeState *state)
{
	Size		memory = MemoryContextMemAllocated(state->context, true);
	uint64		most = (uint64) zs_debug_vector_groups;

	state->counts.memory = Max(state->counts.memory,
							   memory + zsnode_agg_sets_buffers(state) +
							   (state->spill != NULL ? zsagg_spill_memory(state->spill) : 0));
	if (state->nkeys == 0 && !state->has_sets)
		return false;
	if (memory - state->base_memory > get_hash_memory_limit())
	{
		if (state->full_memory == 0)
			state->full_memory = memory;
		if (memory > state->full_memory || state->nkeys == 0 || state->has_sets ||
			!is_room_left(state))
			return true;
	}
	return most > 0 && ((state->nkeys > 0 && zsagg_groups_count(state->groups) >= most) ||
						zsnode_agg_sets_count(state) >= most);
}

/* There is no memory for more groups, nor for more of what DISTINCT aggregates have seen. */
static void
freeze_groups(AggNodeState *state)
{
	if (state->nkeys > 0 && !zsagg_groups_frozen(state->groups) &&
		(state->spill == NULL || zsagg_spill_can_divide(state->spill)))
	{
		zsagg_groups_freeze(state->groups);
		state->frozen_rows = state->fill_rows;
		state->absent_rows = 0;
	}
	zsnode_agg_sets_freeze(state);
}

/*
 * Are the groups in memory to be returned as they are, and others to be made?  Handing over a group
 * and writing a row cost about the same.
 */
static bool
is_share_complete(const AggNodeState *state)
{
	uint64		nrows = state->fill_rows - state->frozen_rows;

	if (!state->partial || state->nkeys == 0 || !zsagg_groups_frozen(state->groups) ||
		nrows < TRIAL_ROWS)
		return false;
	Assert(state->absent_rows <= nrows);
	return (double) state->absent_rows / nrows >
		(double) zsagg_groups_count(state->groups) / Max(state->frozen_rows, 1);
}

static void
start_input(AggNodeState *state)
{
	zsexpr_filter_start(state->filter);
	zsnode_agg_folds_start(state);
	if (state->filter_clauses != NIL || state->zone_told)
		zsnode_agg_set_scan_filter(state, NULL);
	state->zone_told = false;
	zsexpr_input_start(state->input);
}

/*
 * Makes groups of the input's rows, until many of them are complete, or all are to be returned, or
 * there are no more rows.  False if that was begun in the wrong way: counted_in_vain is set, and it
 * has to begin again.
 */
static bool
aggregate_input(AggNodeState *state)
{
	const ZsBatch *batch;
	bool		was_full = false;

	Assert(!state->at_end && !state->early);
	while ((batch = zsexpr_input_next(state->input)) != NULL)
	{
		bool		full;

		zsnode_agg_take_batch(state, batch);
		full = is_memory_full(state);
		was_full = was_full || full;
		if (state->may_be_early && zsnode_agg_find_complete(state, full))
			return true;
		if (full || zsnode_agg_know_wanted(state))
			freeze_groups(state);
		else if (!was_full && zsnode_agg_counts_in_vain(state))
		{
			state->counted_in_vain = true;
			return false;
		}
		if (is_share_complete(state))
			return true;
	}
	ExecClearTuple(state->input->slot);
	state->at_end = true;
	zsnode_agg_sets_finish(state);
	return true;
}

static void
start_aggregation(AggNodeState *state)
{
	AggCounts	counts = state->counts;

	Assert(!state->started);
	state->started = true;
	state->choosing = state->top != NULL && state->nkeys > 0 && zsnode_top_start(state->top);
	state->at_end = state->counts_only && !state->by_rows;
	state->counted_in_vain = false;
	start_fill(state);
	start_input(state);
	if (state->at_end)
		count_input(state);
	else if (!aggregate_input(state))
	{
		zsnode_agg_free_spill(state);
		counts.memory = state->counts.memory;
		counts.nagain++;
		state->counts = counts;
		start_fill(state);
		start_input(state);
		if (!aggregate_input(state))
			elog(ERROR, "groups were counted in vain twice");
	}
}

/*
 * Writes out rows that were only counted before.  Groups are frozen, and those in memory have been
 * returned: that their rows are added to them again does not matter.
 */
static void
take_input_again(AggNodeState *state)
{
	AggCounts	counts = state->counts;

	Assert(state->at_end && state->groups_left == 0 && zsagg_groups_frozen(state->groups));
	if (state->filter_clauses != NIL)
		zsnode_agg_set_scan_filter(state, NULL);
	zsexpr_input_start(state->input);
	state->at_end = false;
	(void) aggregate_input(state);
	Assert(state->at_end && !state->early);
	/* rows are told of once */
	counts.memory = state->counts.memory;
	counts.nagain++;
	state->counts = counts;
}

/* Makes groups of some of the rows that were written out. */
static void
aggregate_spilled(AggNodeState *state)
{
	uint64		nmembers = 0;
	ZsSpilled	what;
	uint64		hash;
	uint32		len;

	Assert(state->at_end && state->spill != NULL);
	start_fill(state);
	state->counts.nfills++;
	while ((what = zsagg_spill_look(state->spill, &hash, &len)) != ZS_SPILLED_END)
	{
		uint64		now;

		CHECK_FOR_INTERRUPTS();
		if (what == ZS_SPILLED_PACKED)
		{
			if (!zsnode_agg_collect_packed(state, hash, len))
				continue;
			zsnode_agg_add_packed(state);
		}
		else
		{
			/* the order of rows stays */
			zsnode_agg_add_packed(state);
			ResetExprContext(state->rowcontext);
			zsagg_spill_read_tuple(state->spill, len, state->row_values, state->row_isnull);
			zsnode_agg_take_row(state, false, 0);
		}
		now = zsagg_groups_count(state->groups) + zsnode_agg_sets_count(state);
		if (now > nmembers)
		{
			nmembers = now;
			if (is_memory_full(state))
				freeze_groups(state);
		}
	}
	zsnode_agg_add_packed(state);
	if (is_memory_full(state))
		freeze_groups(state);
	zsnode_agg_sets_finish(state);
}

/* Forgets the rows that were written out. */
void
zsnode_agg_free_spill(AggNodeState *state)
{
	if (state->spill != NULL)
	{
		state->counts.nleft_rows += zsagg_spill_left_out(state->spill);
		state->counts.disk = Max(state->counts.disk, zsagg_spill_disk(state->spill));
		zsagg_spill_free(state->spill);
	}
	state->spill = NULL;
	zsnode_agg_forget_packed(state);
	zsnode_agg_sets_free(state);
}

/* Makes the next groups, if only none that are to be returned; false if there are no more. */
bool
zsnode_agg_fill_groups(AggNodeState *state)
{
	Assert(state->groups_left == 0);
	if (state->done)
		return false;
	if (state->started && state->at_end && state->spill != NULL && zsnode_agg_leave_rare(state))
		take_input_again(state);
	if (!state->started)
		start_aggregation(state);
	else if (!state->at_end)
	{
		if (state->early)
			zsnode_agg_forget_complete(state);
		else
			start_fill(state);
		(void) aggregate_input(state);
	}
	else if (state->spill != NULL && zsagg_spill_next(state->spill))
		aggregate_spilled(state);
	else
	{
		state->done = true;
		zsnode_agg_free_spill(state);
		return false;
	}
	if (state->spill != NULL)
		state->counts.disk = Max(state->counts.disk, zsagg_spill_disk(state->spill));
	state->groups_left = state->nkeys == 0 ? 1 : zsagg_groups_count(state->groups);
	if (state->nkeys > 0 && state->groups_left > 0)
	{
		if (zsagg_groups_direct(state->groups))
			state->counts.ndirect++;
		else
			state->counts.nhash++;
	}
	if (state->choosing || state->early)
		zsnode_agg_choose_groups(state);
	return true;
}
