/*-------------------------------------------------------------------------
 *
 * node_agg_return.c
 *	  Groups in memory as rows of a node, and which of them are returned.
 *
 * A row has the group's keys, then the results of its aggregates, or their transition values in
 * partial aggregation.  It lives until the next one is made.
 *
 * Below ORDER BY ... LIMIT those groups are chosen that may be among the first (node_top.c);
 * while the input has not ended, of those that are complete.  What is chosen has passed HAVING, so
 * that the limit counts right, and results that may raise an error are computed for all groups, as
 * they would be without a limit.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_return.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "node_agg.h"
#include "node_agg_full.h"

/* A key or a result of the group, in the current context or as long as the groups live. */
static Datum
group_column(AggNodeState *state, uint32 group, int column, bool *isnull)
{
	const NodeAgg *agg;

	Assert(column >= 0 && column < state->nkeys + state->naggs);
	if (column < state->nkeys)
		return zsagg_groups_key(state->store.groups, group, column, isnull);
	agg = &state->aggs[column - state->nkeys];
	return (state->split == ZS_SPLIT_FOR_CORE ? zsagg_partial_result :
			state->split == ZS_SPLIT_FOR_OURS ? zsagg_own_state : zsagg_result)
		(&agg->agg, zsnode_agg_value_of(state, group, agg), isnull);
}

/* Forgets the row of the group before; where rows are small, many of them at a time. */
static void
turn_to_group(AggNodeState *state, uint32 group)
{
	if (state->result.group != group &&
		MemoryContextMemAllocated(state->result.context, false) > ALLOCSET_DEFAULT_INITSIZE)
		MemoryContextReset(state->result.context);
	state->result.group = group;
}

/* Compares the result of an aggregate with core's. */
static void
verify_column(AggNodeState *state, uint32 group, int i, Datum value, bool isnull)
{
	if (state->split == ZS_SPLIT_FOR_OURS)
		value = zsagg_result_of_state(&state->aggs[i].agg, value, isnull, &isnull);
	zsagg_verify_result(state->verifier, group, i, value, isnull);
}

/* The group in the node's slot. */
TupleTableSlot *
zsnode_agg_store_group(AggNodeState *state, uint32 group)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	MemoryContext old;

	Assert(slot->tts_tupleDescriptor->natts == state->nkeys + state->naggs);
	ExecClearTuple(slot);
	turn_to_group(state, group);
	old = MemoryContextSwitchTo(state->result.context);
	for (int column = 0; column < state->nkeys + state->naggs; column++)
	{
		slot->tts_values[column] = group_column(state, group, column, &slot->tts_isnull[column]);
		if (column >= state->nkeys && state->verifier != NULL &&
			!(state->counts_only && !state->by_rows))
			verify_column(state, group, column - state->nkeys, slot->tts_values[column],
						  slot->tts_isnull[column]);
	}
	MemoryContextSwitchTo(old);
	return ExecStoreVirtualTuple(slot);
}

/* ZsTopValue */
static Datum
top_value(void *arg, uint32 group, int column, bool *isnull)
{
	AggNodeState *state = arg;
	MemoryContext old;
	Datum		value;

	turn_to_group(state, group);
	old = MemoryContextSwitchTo(state->result.context);
	value = group_column(state, group, column, isnull);
	MemoryContextSwitchTo(old);
	return value;
}

/* ZsTopPasses */
static bool
top_passes(void *arg, uint32 group)
{
	AggNodeState *state = arg;
	PlanState  *ps = &state->css.ss.ps;
	bool		pass = true;

	if (!zsnode_agg_returns(state, group))
		return false;
	if (ps->qual != NULL || state->verifier != NULL)
	{
		ResetExprContext(ps->ps_ExprContext);
		ps->ps_ExprContext->ecxt_scantuple = zsnode_agg_store_group(state, group);
		pass = ExecQual(ps->qual, ps->ps_ExprContext);
		ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
		if (!pass)
			InstrCountFiltered1(ps, 1);
		return pass;
	}
	for (int i = 0; i < state->naggs; i++)
	{
		bool		isnull;

		if (zsagg_result_may_raise(&state->aggs[i].agg,
								   zsnode_agg_value_of(state, group, &state->aggs[i])))
			(void) top_value(state, group, state->nkeys + i, &isnull);
	}
	return pass;
}

/*
 * Which of the groups in memory are to be returned?  result.left says how many.  Errors: those of
 * HAVING and of results, where there is a limit.
 */
void
zsnode_agg_choose_groups(AggNodeState *state)
{
	AggResult  *result = &state->result;
	uint32		n = state->nkeys == 0 ? 1 : zsagg_groups_count(state->store.groups);
	uint32		nreturned = state->fill.stopped != NULL ? state->fill.nreturned : n;

	Assert(nreturned <= n);
	if (result->kept != NULL)
		pfree(result->kept);
	result->kept = NULL;
	result->next = 0;
	result->left = nreturned;
	if (!result->choosing && zsnode_agg_returns_all(state))
		return;

	result->kept = MemoryContextAllocHuge(GetMemoryChunkContext(state->aggs),
										  Max(n, 1) * sizeof(uint32));
	result->group = ZS_NO_GROUP;
	if (!result->choosing)
	{
		uint32		nkept = 0;

		for (uint32 group = 0; group < n; group++)
		{
			if (zsnode_agg_returns(state, group))
				result->kept[nkept++] = group;
		}
		Assert(nkept == nreturned);
		return;
	}
	result->left = zsnode_top_choose(result->top, n, top_passes, top_value, state, result->kept);
	Assert(result->left <= nreturned);
	state->counts.nleft_out += nreturned - result->left;
}
