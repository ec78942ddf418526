/*-------------------------------------------------------------------------
 *
 * node_agg_fill.c
 *	  Makes the groups that a node returns next.
 *
 * Usually there is one filling: all rows of the input become groups in memory.  Where groups are
 * many there may be more of them (node_agg_full.c): the input goes on where it stopped, rows that
 * were written out become groups, or the input is read again.
 *
 * Memory of groups is that of store.context; each filling but those that go on with the groups that
 * there are starts by forgetting it.
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
#include "node_agg_full.h"
#include "node_agg_plan.h"

/*
 * The input comes to its end, or is read anew.  A rescan may come at any time.
 */
void
zsnode_agg_turn_to(AggNodeState *state, AggPhase phase)
{
	static const bool may_follow[ZS_AGG_DONE + 1][ZS_AGG_DONE + 1] = {
		[ZS_AGG_UNSTARTED] = {[ZS_AGG_READING] = true, [ZS_AGG_READ] = true},
		[ZS_AGG_READING] = {[ZS_AGG_READ] = true},
		[ZS_AGG_READING_AGAIN] = {[ZS_AGG_READ] = true},
		[ZS_AGG_READ] = {[ZS_AGG_READING_AGAIN] = true, [ZS_AGG_DONE] = true},
	};

	Assert(phase == ZS_AGG_UNSTARTED || may_follow[state->fill.phase][phase]);
	(void) may_follow;
	state->fill.phase = phase;
}

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
	Assert(state->result.left == 0);
	MemoryContextReset(state->store.context);
	if (state->verifier != NULL)
		zsagg_verify_reset(state->verifier);
	if (state->nkeys == 0)
		state->store.values = MemoryContextAllocZero(state->store.context, state->store.value_size);
	else
	{
		state->store.values = NULL;
		state->store.maxgroups = 0;
		state->store.groups = zsnode_agg_create_groups(state);
	}
	state->fill.stopped = NULL;
	state->fill.nrows = 0;
	zsnode_agg_answers_start_fill(state);
	zsnode_agg_sets_start(state);
	state->store.base_memory = MemoryContextMemAllocated(state->store.context, true);
	state->store.full_memory = 0;
}

/* The rows of the plan below, whose joins core does. */
ZsInput *
zsnode_agg_create_rows(AggNodeState *state)
{
	const CustomScan *cscan = (const CustomScan *) state->css.ss.ps.plan;

	return zsexpr_input_rows_create(linitial(state->css.custom_ps),
									list_nth(cscan->custom_private, ZS_AGG_INPUTS),
									list_nth(cscan->custom_private, ZS_AGG_GUARDS),
									state->css.ss.ps.state);
}

/* Joins cannot be done by batches: from here on core does them. */
static void
take_rows_of_core(AggNodeState *state)
{
	MemoryContext old;

	if (state->input != zsnode_agg_joins_input(state->joins))
		return;
	old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	zsexpr_input_end(state->input);
	state->input = zsnode_agg_create_rows(state);
	MemoryContextSwitchTo(old);
}

/* From the first row on, with filters and parameters as they are now. */
static void
start_input(AggNodeState *state)
{
	(void) zsexpr_filter_start(state->filter);
	if (zsexpr_programs_start(state->programs))
		zsnode_agg_sets_use_arguments(state);
	zsnode_agg_zones_forget(state);
	if (state->joins != NULL && !zsnode_agg_joins_start(state->joins))
		take_rows_of_core(state);
	zsexpr_input_start(state->input);
}

/*
 * Makes groups of the input's rows, until groups are to be returned, or there are no more rows.
 * False if that was begun in the wrong way, and has to begin again.
 */
static bool
aggregate_input(AggNodeState *state)
{
	const ZsBatch *batch;

	Assert(state->fill.phase == ZS_AGG_READING || state->fill.phase == ZS_AGG_READING_AGAIN);
	while ((batch = zsexpr_input_next(state->input)) != NULL)
	{
		zsnode_agg_take_batch(state, batch);
		switch (zsnode_agg_ask_answers(state))
		{
			case ZS_AGG_RETURN:
				return true;
			case ZS_AGG_BEGIN_AGAIN:
				return false;
			case ZS_AGG_GO_ON:
			case ZS_AGG_FREEZE:
				break;
		}
	}
	ExecClearTuple(state->input->slot);
	zsnode_agg_turn_to(state, ZS_AGG_READ);
	zsnode_agg_sets_finish(state);
	return true;
}

/* For the first groups, once after each rescan. */
static void
start_aggregation(AggNodeState *state)
{
	AggCounts	counts = state->counts;

	state->result.choosing = state->result.top != NULL && state->nkeys > 0 &&
		zsnode_top_start(state->result.top);
	zsnode_agg_answers_start(state);
	start_fill(state);
	start_input(state);
	if (state->counts_only && !state->by_rows)
	{
		zsnode_agg_turn_to(state, ZS_AGG_READ);
		count_input(state);
		return;
	}
	zsnode_agg_turn_to(state, ZS_AGG_READING);
	if (aggregate_input(state))
		return;

	zsnode_agg_free_spill(state);
	counts.memory = state->counts.memory;
	counts.nagain++;
	state->counts = counts;
	start_fill(state);
	start_input(state);
	if (!aggregate_input(state))
		elog(ERROR, "groups were counted in vain twice");
}

/* Goes on with the input, when groups that were complete, or all, have been returned. */
static void
go_on_with_input(AggNodeState *state)
{
	const AggAsked *stopped = state->fill.stopped;

	Assert(stopped != NULL && state->result.left == 0);
	state->fill.stopped = NULL;
	if (stopped->answer->forget_returned != NULL)
		stopped->answer->forget_returned(state, stopped->own);
	else
		start_fill(state);
	(void) aggregate_input(state);
}

/*
 * Writes out rows that were only counted before.  Groups are frozen, and those in memory have been
 * returned: that their rows are added to them again does not matter.
 */
static void
take_input_again(AggNodeState *state)
{
	AggCounts	counts = state->counts;

	Assert(state->result.left == 0 && zsagg_groups_frozen(state->store.groups));
	zsnode_agg_zones_forget(state);
	zsexpr_input_start(state->input);
	zsnode_agg_turn_to(state, ZS_AGG_READING_AGAIN);
	(void) aggregate_input(state);
	Assert(state->fill.phase == ZS_AGG_READ);
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

	Assert(state->fill.phase == ZS_AGG_READ && state->written.spill != NULL);
	start_fill(state);
	state->counts.nfills++;
	while ((what = zsagg_spill_look(state->written.spill, &hash, &len)) != ZS_SPILLED_END)
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
			ResetExprContext(state->row.econtext);
			zsagg_spill_read_tuple(state->written.spill, len, state->row.values, state->row.isnull);
			zsnode_agg_take_row(state, false, 0);
		}
		now = zsagg_groups_count(state->store.groups) + zsnode_agg_sets_count(state);
		if (now > nmembers)
		{
			nmembers = now;
			zsnode_agg_freeze_if_full(state);
		}
	}
	zsnode_agg_add_packed(state);
	zsnode_agg_freeze_if_full(state);
	zsnode_agg_sets_finish(state);
}

/* Forgets the rows that were written out. */
void
zsnode_agg_free_spill(AggNodeState *state)
{
	if (state->written.spill != NULL)
	{
		state->counts.nleft_rows += zsagg_spill_left_out(state->written.spill);
		state->counts.disk = Max(state->counts.disk, zsagg_spill_disk(state->written.spill));
		zsagg_spill_free(state->written.spill);
	}
	state->written.spill = NULL;
	zsnode_agg_forget_packed(state);
	zsnode_agg_sets_free(state);
}

/* Makes the next groups, if only none that are to be returned; false if there are no more. */
bool
zsnode_agg_fill_groups(AggNodeState *state)
{
	AggFill    *fill = &state->fill;

	Assert(state->result.left == 0);
	if (fill->phase == ZS_AGG_READ && state->written.spill != NULL &&
		zsnode_agg_answers_want_input(state))
		take_input_again(state);
	switch (fill->phase)
	{
		case ZS_AGG_UNSTARTED:
			start_aggregation(state);
			break;
		case ZS_AGG_READING:
			go_on_with_input(state);
			break;
		case ZS_AGG_READ:
			if (state->written.spill == NULL || !zsagg_spill_next(state->written.spill))
			{
				zsnode_agg_turn_to(state, ZS_AGG_DONE);
				zsnode_agg_free_spill(state);
				return false;
			}
			aggregate_spilled(state);
			break;
		case ZS_AGG_READING_AGAIN:
			elog(ERROR, "input was not read again to its end");
			break;
		case ZS_AGG_DONE:
			return false;
	}
	if (state->written.spill != NULL)
		state->counts.disk = Max(state->counts.disk, zsagg_spill_disk(state->written.spill));
	if (state->nkeys > 0 && zsagg_groups_count(state->store.groups) > 0)
	{
		if (zsagg_groups_direct(state->store.groups))
			state->counts.ndirect++;
		else
			state->counts.nhash++;
	}
	zsnode_agg_choose_groups(state);
	return true;
}
