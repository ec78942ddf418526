/*-------------------------------------------------------------------------
 *
 * node_agg_batch.c
 *	  Adds batches to the aggregates of a node, by columns.
 *
 * The problem: no error may be hidden or come early, and nothing that was added can be taken back.
 * So a batch is looked at in two steps.  The first one runs the filter and finds for each aggregate
 * the rows that it takes and the vector with its argument, and for each key whether there is one.
 * Any of these may say that it must not decide: then nothing has changed yet, and the batch goes to
 * node_agg_single.c as a whole.  The second step adds, and cannot fail.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_batch.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "node_agg.h"
#include "node_agg_full.h"

/* ---- columns ------------------------------------------------------------------------ */

/*
 * Finds the rows of passed that the aggregate takes (sel), and the vector that has its argument, if
 * it needs one.  False if the batch has to be taken row by row.
 */
static bool
get_argument(AggNodeState *state, int i, const uint64 *passed, uint64 *sel,
			 const ZsColumnVector **argument)
{
	const ZsAgg *agg = &state->aggs[i].agg;
	const ZsColumnVector *vector;
	ZsColumnBounds bounds;

	Assert(i >= 0 && i < state->naggs);
	*argument = NULL;
	if (state->aggs[i].ignores && zsexpr_input_bounds(state->input, agg->attno, &bounds) &&
		zsnode_agg_ignores(agg, zsnode_agg_value_of(state, 0, &state->aggs[i]), &bounds))
	{
		zskernel_bits_clear(sel);
		return true;
	}
	zskernel_bits_copy(sel, passed);
	if (agg->filter != NULL && zskernel_bits_any(sel))
	{
		ZsTruth		truth;

		if (state->aggs[i].filter_program.waits ||
			!zsexpr_qual_run(agg->filter, state->input, passed, &truth, &state->counts.qual))
			return false;
		zskernel_bits_and(sel, truth.yes);
	}
	if (!zskernel_bits_any(sel))
		return true;
	if (agg->state == ZS_STATE_NONE &&
		(agg->kind == ZS_AGG_COUNT_ROWS ||
		 (agg->kind == ZS_AGG_COUNT && !agg->distinct && agg->expr == NULL && zs_enable_zone_maps &&
		  zsexpr_input_bounds(state->input, agg->attno, &bounds) && bounds.nnulls == 0)))
		return true;
	if (state->aggs[i].arg_program.waits)
		return false;

	/* columns of all that passed, since another aggregate may take others of them */
	if (agg->expr != NULL)
		vector = zsexpr_run(agg->expr, state->input, sel, &state->counts.qual);
	else
		vector = zsexpr_input_column(state->input, agg->attno, zsagg_want_of(agg), passed);
	if (vector == NULL)
		return false;
	if (vector->has_nulls)
		zskernel_bits_andnot(sel, vector->nulls);
	if (zs_vector_has_odd(vector, sel))
		return false;
	*argument = vector;
	return true;
}

/* ---- adding ------------------------------------------------------------------------- */

/* Adds the rows of passed to their groups, which have been found to be ready. */
static void
add_to_groups(AggNodeState *state, const uint64 *passed, uint32 *numbers)
{
	const AggStore *store = &state->store;
	const AggBatch *batch = &state->batch;
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(passed, list);

	Assert(state->nkeys > 0 && CurrentMemoryContext == store->context);
	if (n == 0)
		return;
	zsagg_groups_assign(store->groups, state->input, passed, list, n, NULL, numbers);
	zsnode_agg_start_groups(state, list, n, numbers);
	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];
		uint64	   *sel = batch->sels + i * ZS_KERNEL_WORDS;

		if (agg->agg.distinct)
			zsnode_agg_keep_first(agg, state->input, passed, list, n, numbers, sel);
		zsnode_agg_add_batch_groups(&agg->agg, store->values + agg->offset, store->value_size,
									batch->vectors[i], sel, batch->groups);
	}
	zsnode_agg_write_waiting(state, list, n, numbers);
	if (zsagg_groups_frozen(store->groups))
		zsnode_agg_write_absent(state, list, n, numbers);
}

/* Adds the rows of passed, without groups. */
static void
add_to_all(AggNodeState *state, const uint64 *passed)
{
	const AggBatch *batch = &state->batch;
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = state->has_sets ? zskernel_bits_list(passed, list) : 0;

	Assert(state->nkeys == 0 && CurrentMemoryContext == state->store.context);
	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];
		ZsAggValue *value = zsnode_agg_value_of(state, 0, agg);
		uint64	   *sel = batch->sels + i * ZS_KERNEL_WORDS;

		if (batch->has_totals[i])
		{
			state->counts.ntotals++;
			zsagg_add_totals(&agg->agg, value, &batch->totals[i]);
			continue;
		}
		if (agg->agg.distinct)
			zsnode_agg_keep_first(agg, state->input, passed, list, n, NULL, sel);
		zsagg_add_batch(&agg->agg, value, batch->vectors[i], sel);
	}
	zsnode_agg_write_waiting(state, list, n, NULL);
}

/*
 * Gets arguments, totals and sets of all aggregates ready for the rows of passed.  False if the
 * batch has to be taken row by row.
 */
static bool
get_arguments(AggNodeState *state, const uint64 *passed)
{
	AggBatch   *batch = &state->batch;

	for (int i = 0; i < state->naggs; i++)
	{
		const NodeAgg *agg = &state->aggs[i];
		uint64	   *sel = batch->sels + i * ZS_KERNEL_WORDS;

		batch->has_totals[i] = state->nkeys == 0 &&
			zsnode_agg_get_totals(&agg->agg, zsnode_agg_value_of(state, 0, agg), state->input,
								  passed, &batch->totals[i]);
		if (batch->has_totals[i])
			continue;
		if (!get_argument(state, i, passed, sel, &batch->vectors[i]) ||
			(agg->agg.distinct &&
			 !zsagg_groups_ready(agg->set.seen, state->input,
								 agg->agg.expr != NULL ? sel : passed)))
			return false;
	}
	return true;
}

/* Has a key no program that may run? */
static bool
keys_wait(const AggNodeState *state)
{
	for (int k = 0; k < state->nkeys; k++)
	{
		if (state->key_programs[k].waits)
			return true;
	}
	return false;
}

/*
 * Adds the batch.  passed receives the rows that pass the filter, numbers those of their groups.
 * False if the batch has to be taken row by row; then nothing has changed.
 */
static bool
add_columns(AggNodeState *state, const ZsBatch *batch, uint64 *passed, uint32 *numbers)
{
	MemoryContext old;
	bool		changed = false;
	bool		decided;

	if (state->by_rows)
		return false;
	if (zsexpr_programs_bind(state->programs))
		zsnode_agg_sets_use_arguments(state);
	decided = zsexpr_filter_run(state->filter, state->input, batch, passed, &state->counts.qual,
								&changed);
	if (changed)
		zsnode_agg_set_scan_filter(state);
	if (!decided ||
		((zsexpr_filter_has_rest(state->filter) || keys_wait(state)) &&
		 zskernel_bits_any(passed)))
		return false;
	if (state->fill.phase == ZS_AGG_READING_AGAIN &&
		!zsnode_agg_answers_leave_rows(state, passed))
		return false;
	if (!get_arguments(state, passed) ||
		(state->nkeys > 0 && !zsagg_groups_ready(state->store.groups, state->input, passed)))
		return false;

	/* nothing can be taken back from here on */
	old = MemoryContextSwitchTo(state->store.context);
	if (state->nkeys > 0)
		add_to_groups(state, passed, numbers);
	else
		add_to_all(state, passed);
	MemoryContextSwitchTo(old);
	return true;
}

/*
 * Adds the rows of the batch that pass the filter, by columns if that can be.  Errors: those of
 * expressions and aggregates; files that cannot be written.
 */
void
zsnode_agg_take_batch(AggNodeState *state, const ZsBatch *batch)
{
	uint64		passed[ZS_KERNEL_WORDS];
	uint32		numbers[ZS_KERNEL_ROWS];

	if (zsnode_agg_zones_ignore(state))
		return;
	if (!add_columns(state, batch, passed, numbers))
	{
		state->counts.nredone++;
		zsnode_agg_take_rows(state, batch);
		return;
	}
	state->counts.nremoved += batch->nsel - zskernel_bits_count(passed);
	zsnode_agg_zones_tell(state);
	if (state->verifier != NULL)
		zsnode_agg_verify_rows(state, passed, state->nkeys > 0 ? numbers : NULL);
}
