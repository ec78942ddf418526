/*-------------------------------------------------------------------------
 *
 * node_agg_full.c
 *	  What is done when groups become many: the answers, and when memory is full.
 *
 * Behind each batch the answers are asked one after the other (node_agg_full.h):
 *
 *	- groups that are complete are returned before the end of the input (node_agg_early.c);
 *	- groups are frozen when they take more memory than they may: rows of others are written out
 *	  (spill.c), and become groups when the first ones have been returned;
 *	- when a few groups tell which ones are wanted no others are made, and rows of others are
 *	  counted (node_agg_rare.c);
 *	- partial aggregation may return a group more than once: where rows of a group lie together,
 *	  more rows have to be written out, once groups are frozen, than groups were made of as many
 *	  rows.  Then all groups are returned as they are, and new ones are made of the rows that
 *	  follow.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_full.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "node_agg.h"
#include "node_agg_full.h"
#include "zs_expr_guc.h"

/* With so many rows after groups were frozen it is known how many of them are written out. */
#define TRIAL_ROWS		4096

/* ---- memory ---------------------------------------------------------------------------- */

/* Is there room in all arrays for as many groups as a batch may bring? */
static bool
is_room_left(const AggStore *store)
{
	uint32		ngroups = zsagg_groups_count(store->groups);

	return store->maxgroups >= ngroups + ZS_STRIPE_ROWS &&
		zsagg_groups_room(store->groups) >= ZS_STRIPE_ROWS;
}

/*
 * Do groups and sets take all the memory that they may?  An array that has grown beyond that is
 * used up, as long as nothing else takes more: its room would be lost.
 * zedstore.debug_vector_groups says how many groups are enough.
 */
static bool
is_memory_full(AggNodeState *state)
{
	AggStore   *store = &state->store;
	ZsSpill    *spill = state->written.spill;
	Size		memory = MemoryContextMemAllocated(store->context, true);
	uint64		most = (uint64) zs_debug_vector_groups;

	state->counts.memory = Max(state->counts.memory,
							   memory + zsnode_agg_sets_buffers(state) +
							   (spill != NULL ? zsagg_spill_memory(spill) : 0));
	if (state->nkeys == 0 && !state->has_sets)
		return false;
	if (memory - store->base_memory > get_hash_memory_limit())
	{
		if (store->full_memory == 0)
			store->full_memory = memory;
		if (memory > store->full_memory || state->nkeys == 0 || state->has_sets ||
			!is_room_left(store))
			return true;
	}
	return most > 0 && ((state->nkeys > 0 && zsagg_groups_count(store->groups) >= most) ||
						zsnode_agg_sets_count(state) >= most);
}

/* No more groups are made, nor is more remembered of what DISTINCT aggregates have seen. */
static void
freeze_groups(AggNodeState *state)
{
	ZsSpill    *spill = state->written.spill;

	if (state->nkeys > 0 && !zsagg_groups_frozen(state->store.groups) &&
		(spill == NULL || zsagg_spill_can_divide(spill)))
	{
		zsagg_groups_freeze(state->store.groups);
		state->fill.frozen_rows = state->fill.nrows;
		state->fill.absent_rows = 0;
	}
	zsnode_agg_sets_freeze(state);
}

/* Where rows that were written out become groups there is one answer only. */
void
zsnode_agg_freeze_if_full(AggNodeState *state)
{
	Assert(state->fill.phase == ZS_AGG_READ);
	if (is_memory_full(state))
		freeze_groups(state);
}

/* ---- answers that need no file ----------------------------------------------------------- */

/* The node itself stands for what an answer keeps that keeps nothing. */
static void *
spill_begin(AggNodeState *state)
{
	return state;
}

/* Rows of groups that are not in memory are written out. */
static AggAdvice
spill_advise(AggNodeState *state, void *own, bool full)
{
	return full ? ZS_AGG_FREEZE : ZS_AGG_GO_ON;
}

static const AggAnswer spill_answer = {
	.begin = spill_begin,
	.advise = spill_advise,
};

/* Groups may be returned more than once where somebody combines them. */
static void *
share_begin(AggNodeState *state)
{
	return state->partial && state->nkeys > 0 ? state : NULL;
}

/*
 * Are the groups in memory to be returned as they are, and others to be made?  Handing over a group
 * and writing a row cost about the same.
 */
static AggAdvice
share_advise(AggNodeState *state, void *own, bool full)
{
	const AggFill *fill = &state->fill;
	uint64		nrows = fill->nrows - fill->frozen_rows;
	uint32		ngroups = zsagg_groups_count(state->store.groups);

	if (!zsagg_groups_frozen(state->store.groups) || nrows < TRIAL_ROWS)
		return ZS_AGG_GO_ON;
	Assert(fill->absent_rows <= nrows);
	if ((double) fill->absent_rows / nrows <= (double) ngroups / Max(fill->frozen_rows, 1))
		return ZS_AGG_GO_ON;
	state->fill.nreturned = ngroups;
	return ZS_AGG_RETURN;
}

static const AggAnswer share_answer = {
	.begin = share_begin,
	.advise = share_advise,
};

/* ---- the table ------------------------------------------------------------------------------ */

/*
 * In the order in which they are asked.  Complete groups make room, so that nothing has to be
 * written out.  What is frozen already is not frozen for another reason; and the share looks at
 * rows of frozen groups.
 */
static const AggAnswer *const all_answers[] = {
	&zsnode_agg_early,
	&spill_answer,
	&zsnode_agg_rare,
	&share_answer,
};

/* The node begins, and its input is there: which answers will it ask? */
void
zsnode_agg_answers_begin(AggNodeState *state)
{
	Assert(state->input != NULL && state->nanswers == 0);
	state->answers = palloc(lengthof(all_answers) * sizeof(AggAsked));
	for (int i = 0; i < (int) lengthof(all_answers); i++)
	{
		void	   *own = all_answers[i]->begin(state);

		if (own == NULL)
			continue;
		state->answers[state->nanswers].answer = all_answers[i];
		state->answers[state->nanswers++].own = own;
	}
}

/* Tells the answers that the input is going to be read from its first row on. */
void
zsnode_agg_answers_start(AggNodeState *state)
{
	for (int i = 0; i < state->nanswers; i++)
	{
		const AggAsked *asked = &state->answers[i];

		if (asked->answer->start != NULL)
			asked->answer->start(state, asked->own);
	}
}

/* Tells the answers that all groups have been forgotten. */
void
zsnode_agg_answers_start_fill(AggNodeState *state)
{
	for (int i = 0; i < state->nanswers; i++)
	{
		const AggAsked *asked = &state->answers[i];

		if (asked->answer->start_fill != NULL)
			asked->answer->start_fill(state, asked->own);
	}
}

/*
 * Asks the answers, behind a batch, and freezes groups if one says so.  Returns what else is to be
 * done; fill.stopped says who wants groups to be returned.  Errors: those of zone maps.
 */
AggAdvice
zsnode_agg_ask_answers(AggNodeState *state)
{
	bool		full = is_memory_full(state);

	Assert(state->fill.stopped == NULL);
	for (int i = 0; i < state->nanswers; i++)
	{
		const AggAsked *asked = &state->answers[i];

		switch (asked->answer->advise(state, asked->own, full))
		{
			case ZS_AGG_GO_ON:
				break;
			case ZS_AGG_FREEZE:
				freeze_groups(state);
				break;
			case ZS_AGG_RETURN:
				state->fill.stopped = asked;
				return ZS_AGG_RETURN;
			case ZS_AGG_BEGIN_AGAIN:
				return ZS_AGG_BEGIN_AGAIN;
		}
	}
	return ZS_AGG_GO_ON;
}

/* Tells the answers that the next row will be the first that is written out. */
void
zsnode_agg_answers_spill_opened(AggNodeState *state)
{
	Assert(state->written.spill != NULL);
	for (int i = 0; i < state->nanswers; i++)
	{
		const AggAsked *asked = &state->answers[i];

		if (asked->answer->spill_opened != NULL)
			asked->answer->spill_opened(state, asked->own);
	}
}

/* Does one of the answers need the input again, before rows come that were written out? */
bool
zsnode_agg_answers_want_input(AggNodeState *state)
{
	Assert(state->fill.phase == ZS_AGG_READ && state->written.spill != NULL);
	for (int i = 0; i < state->nanswers; i++)
	{
		const AggAsked *asked = &state->answers[i];

		if (asked->answer->wants_input != NULL && asked->answer->wants_input(state, asked->own))
			return true;
	}
	return false;
}

/*
 * Takes rows that are not wanted out of passed, of those that come again.  False if the batch has
 * to be taken row by row.
 */
bool
zsnode_agg_answers_leave_rows(AggNodeState *state, uint64 *passed)
{
	Assert(state->fill.phase == ZS_AGG_READING_AGAIN);
	if (!zsagg_groups_ready(state->store.groups, state->input, passed))
		return false;
	for (int i = 0; i < state->nanswers; i++)
	{
		const AggAsked *asked = &state->answers[i];

		if (asked->answer->leave_rows != NULL)
			asked->answer->leave_rows(state, asked->own, passed);
	}
	return true;
}

/* Are all groups in memory to be returned, as far as the answers are concerned? */
bool
zsnode_agg_returns_all(const AggNodeState *state)
{
	const AggAsked *stopped = state->fill.stopped;

	return stopped == NULL || stopped->answer->returns == NULL;
}

/* Is this one? */
bool
zsnode_agg_returns(const AggNodeState *state, uint32 group)
{
	const AggAsked *stopped = state->fill.stopped;

	return zsnode_agg_returns_all(state) || stopped->answer->returns(state, stopped->own, group);
}
