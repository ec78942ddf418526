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
 * A minimum or maximum needs no batch whose zone maps say that it has nothing smaller or larger; if
 * that is all there is to compute the scan is told so, and leaves out whole segments.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_batch.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "node_agg.h"
#include "zs_clause.h"

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
	ZsColumnWant want;
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

		if (state->aggs[i].filter_fold.waits ||
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
	if (state->aggs[i].arg_fold.waits)
		return false;

	if (agg->state != ZS_STATE_NONE)
		want = agg->state == ZS_STATE_INT ? ZS_WANT_INT : ZS_WANT_DATUM;
	else if (agg->kind == ZS_AGG_COUNT && !agg->distinct)
		want = ZS_WANT_NULLS;
	else if (agg->kind == ZS_AGG_COUNT && zsexpr_want_of(agg->domain) == ZS_WANT_DATUM)
		want = ZS_WANT_STRING;
	else
		want = zsexpr_want_of(agg->domain);

	/* columns of all that passed, since another aggregate may take others of them */
	if (agg->expr != NULL)
		vector = zsexpr_run(agg->expr, state->input, sel, &state->counts.qual);
	else
		vector = zsexpr_input_column(state->input, agg->attno, want, passed);
	if (vector == NULL)
		return false;
	if (vector->has_nulls)
		zskernel_bits_andnot(sel, vector->nulls);
	if (vector->has_odd && zskernel_bits_meet(vector->odd, sel))
		return false;
	*argument = vector;
	return true;
}

/* Adds the rows of passed to their groups, which have been found to be ready. */
static void
add_to_groups(AggNodeState *state, const uint64 *passed, uint32 *numbers)
{
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(passed, list);
	uint32		nabsent = 0;

	Assert(state->nkeys > 0 && CurrentMemoryContext == state->context);
	if (n == 0)
		return;
	zsagg_groups_assign(state->groups, state->input, passed, list, n, NULL, numbers);
	zsnode_agg_start_groups(state, list, n, numbers);
	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];
		uint64	   *sel = state->sels + i * ZS_KERNEL_WORDS;

		if (agg->agg.distinct)
			zsnode_agg_keep_first(agg, state->input, passed, list, n, numbers, sel);
		zsnode_agg_add_batch_groups(&agg->agg, state->values + agg->offset, state->value_size,
									state->vectors[i], sel, state->batch_groups);
	}
	zsnode_agg_write_waiting(state, list, n, numbers);

	if (!zsagg_groups_frozen(state->groups))
		return;

	for (uint32 i = 0; i < n; i++)
	{
		list[nabsent] = list[i];
		nabsent += numbers[i] == ZS_NO_GROUP ? 1 : 0;
	}
	state->absent_rows += nabsent;
	if (nabsent == 0 || zsnode_agg_pack_rows(state, list, nabsent))
		return;

	/* last, since a row's values may be decoded where the vectors are */
	for (uint32 i = 0; i < nabsent; i++)
	{
		ResetExprContext(state->rowcontext);
		zsexpr_input_store(state->input, list[i]);
		zsnode_agg_read_row(state);
		zsnode_agg_spill_row(state);
	}
	ExecClearTuple(state->input->slot);
}

/* Adds the rows of passed, without groups. */
static void
add_to_all(AggNodeState *state, const uint64 *passed)
{
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = state->has_sets ? zskernel_bits_list(passed, list) : 0;

	Assert(state->nkeys == 0 && CurrentMemoryContext == state->context);
	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];
		uint64	   *sel = state->sels + i * ZS_KERNEL_WORDS;

		if (state->has_totals[i])
		{
			state->counts.ntotals++;
			zsagg_add_totals(&agg->agg, zsnode_agg_value_of(state, 0, agg),
								  &state->totals[i]);
			continue;
		}
		if (agg->agg.distinct)
			zsnode_agg_keep_first(agg, state->input, passed, list, n, NULL, sel);
		zsagg_add_batch(&agg->agg, zsnode_agg_value_of(state, 0, agg), state->vectors[i],
						sel);
	}
	zsnode_agg_write_waiting(state, list, n, NULL);
}

/*
 * Lets the scan skip segments by the filter and, unless it is NULL, by what the minimum or maximum
 * does not need.
 */
void
zsnode_agg_set_scan_filter(AggNodeState *state, const NodeAgg *agg)
{
	MemoryContext old;
	List	   *clauses;

	Assert(agg == NULL || OidIsValid(state->zone_operator));
	ResetExprContext(state->rowcontext);
	old = MemoryContextSwitchTo(state->rowcontext->ecxt_per_tuple_memory);
	clauses = zsexpr_filter_clauses(state->filter);
	if (agg != NULL)
		clauses = lappend(clauses, zsnode_agg_zone_clause(state->input->desc, state->input->varno,
														  &agg->agg,
														  zsnode_agg_value_of(state, 0,
																			  agg),
														  state->zone_operator));
	zsexpr_input_batch_set_filters(state->input, clauses,
								   state->css.ss.ps.state->es_param_list_info);
	MemoryContextSwitchTo(old);
}

/* False if the batch has to be taken row by row; then nothing has changed. */
static bool
add_columns(AggNodeState *state, const ZsBatch *batch, uint64 *passed, uint32 *numbers)
{
	MemoryContext old;
	bool		changed = false;

	if (state->by_rows)
		return false;
	zskernel_bits_copy(passed, batch->sel);
	zsnode_agg_folds_complete(state);
	if (!zsexpr_filter_run(state->filter, state->input, passed, &state->counts.qual,
						   &changed))
		return false;
	if (changed)
		zsnode_agg_set_scan_filter(state, NULL);
	if (state->keys_wait && zskernel_bits_any(passed))
		return false;
	if (zsnode_agg_comes_again(state))
	{
		if (!zsagg_groups_ready(state->groups, state->input, passed))
			return false;
		zsnode_agg_leave_rows(state, passed);
		if (!zskernel_bits_any(passed))
			return true;
	}
	for (int i = 0; i < state->naggs; i++)
	{
		const NodeAgg *agg = &state->aggs[i];
		uint64	   *sel = state->sels + i * ZS_KERNEL_WORDS;

		state->has_totals[i] = state->nkeys == 0 &&
			zsnode_agg_get_totals(&agg->agg, zsnode_agg_value_of(state, 0, agg), state->input,
								  passed, &state->totals[i]);
		if (state->has_totals[i])
			continue;
		if (!get_argument(state, i, passed, sel, &state->vectors[i]) ||
			(agg->agg.distinct &&
			 !zsagg_groups_ready(agg->seen, state->input,
								 agg->agg.expr != NULL ? sel : passed)))
			return false;
	}
	if (state->nkeys > 0 && !zsagg_groups_ready(state->groups, state->input, passed))
		return false;

	/* nothing can be taken back from here on */
	old = MemoryContextSwitchTo(state->context);
	if (state->nkeys > 0)
		add_to_groups(state, passed, numbers);
	else
		add_to_all(state, passed);
	MemoryContextSwitchTo(old);
	return true;
}

/* ---- minimum and maximum without a look ------------------------------------------------------ */

/* Can no aggregate gain anything from the batch? */
static bool
all_ignore(AggNodeState *state)
{
	ZsColumnBounds bounds;

	for (int i = 0; i < state->naggs; i++)
	{
		const NodeAgg *agg = &state->aggs[i];

		if (!zsexpr_input_bounds(state->input, agg->agg.attno, &bounds) ||
			!zsnode_agg_ignores(&agg->agg, zsnode_agg_value_of(state, 0, agg), &bounds))
			return false;
	}
	return true;
}

/* Lets the scan skip segments that have nothing for the only minimum or maximum, as it is now. */
static void
tell_scan(AggNodeState *state, const NodeAgg *agg)
{
	int64		low;
	int64		high;

	Assert(OidIsValid(state->zone_operator) && agg->agg.has_zone);
	if (!zsnode_agg_zone(&agg->agg, zsnode_agg_value_of(state, 0, agg), &low, &high) ||
		(state->zone_told && low == state->zone_low && high == state->zone_high))
		return;
	state->zone_low = low;
	state->zone_high = high;
	state->zone_told = true;
	zsnode_agg_set_scan_filter(state, agg);
}

/* Adds the rows of the batch that pass the filter, by columns if that can be. */
void
zsnode_agg_take_batch(AggNodeState *state, const ZsBatch *batch)
{
	uint64		passed[ZS_KERNEL_WORDS];
	uint32		numbers[ZS_KERNEL_ROWS];

	Assert(state->started && !state->at_end && !state->done);
	if (state->all_ignore && all_ignore(state))
	{
		state->counts.nignored++;
		return;
	}
	if (!add_columns(state, batch, passed, numbers))
	{
		state->counts.nredone++;
		zsnode_agg_take_rows(state, batch, NULL, NULL);
		return;
	}
	state->counts.nremoved += batch->nsel - zskernel_bits_count(passed);
	if (OidIsValid(state->zone_operator))
		tell_scan(state, &state->aggs[0]);
	if (state->verifier != NULL)
		zsnode_agg_take_rows(state, batch, passed, state->nkeys > 0 ? numbers : NULL);
}
