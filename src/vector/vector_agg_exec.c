/*-------------------------------------------------------------------------
 *
 * vector_agg_exec.c
 *	  Executes aggregates by batches, over one table or over the rows of a plan.
 *
 * For each batch the filter's program runs, then each aggregate takes its column's values at the
 * rows that passed.  Programs and kernels never raise an error.  Where one of them meets something
 * that it must not decide (numerics that are no 64-bit integers, sums of floats that become
 * infinite), or the batch has rows in the row tree, the aggregates go back to what they were before
 * the batch, and its rows are taken one by one through core's expressions, so that errors and odd
 * values are core's.
 *
 * When groups and sets take more memory than they may, they are frozen: rows of other groups are
 * written out (vector_spill.c), with their keys and the aggregates' arguments, and come back when
 * the first groups have been returned.
 *
 * Groups that no row to come can belong to are returned before the end (vector_agg_early.c).
 *
 * A DISTINCT aggregate has a set of what it has seen (vector_agg_distinct.c).
 *
 * count(*) without a filter adds up the lengths of visible runs and looks at no column.
 *
 * Below core's Gather each process aggregates a share of the table and returns core's transition
 * values (vector_agg_state.c).  When its groups take too much memory it returns those that it has
 * and forgets them: core's Finalize node puts together what belongs together.
 *
 * Below ORDER BY ... LIMIT only those groups are handed out that may be among the first
 * (vector_top.c).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_agg_exec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "vector_agg_node.h"
#include "vector_agg_plan.h"
#include "vector_internal.h"
#include "vector_spill.h"
#include "vector_top.h"
#include "zs_base.h"
#include "zs_clause.h"

static inline ZsAggValue *
value_of(const AggNodeState *state, uint32 group, const NodeAgg *agg)
{
	Assert(state->nkeys == 0 ? group == 0 : group < state->maxgroups);
	return (ZsAggValue *) (state->values + group * state->value_size + agg->offset);
}

/* ---- one row ------------------------------------------------------------------------ */

/* Makes room for the values of all groups. */
static void
grow_values(AggNodeState *state)
{
	uint32		n = zsvector_groups_count(state->groups);
	Size		size = state->value_size;
	uint32		maxgroups;

	if (n <= state->maxgroups)
		return;
	maxgroups = Max(Max(n, 64), zsvector_groups_grown(state->maxgroups));
	state->values = state->values == NULL ?
		MemoryContextAllocHuge(state->context, maxgroups * size) :
		repalloc_huge(state->values, maxgroups * size);
	memset(state->values + state->maxgroups * size, 0, (maxgroups - state->maxgroups) * size);
	state->maxgroups = maxgroups;
	Assert(state->maxgroups >= n);
}

/* Takes what is needed of the row in the input's slot: row_values, in the memory of single rows. */
static void
read_row(AggNodeState *state)
{
	ExprContext *econtext = state->rowcontext;
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);

	Assert(!TTS_EMPTY(state->input->slot));
	econtext->ecxt_scantuple = state->input->slot;
	for (int k = 0; k < state->nkeys; k++)
	{
		state->key_folds[k].reached = true;
		if (state->key_states[k] == NULL)
			state->row_values[k] = slot_getattr(state->input->slot, state->keys[k].attno,
												&state->row_isnull[k]);
		else
			state->row_values[k] = ExecEvalExpr(state->key_states[k], econtext,
												&state->row_isnull[k]);
	}
	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];
		bool		passes = true;

		if (agg->filter != NULL)
		{
			agg->filter_fold.reached = true;
			passes = ExecQual(agg->filter, econtext);
			state->row_values[agg->filter_column] = BoolGetDatum(passes);
			state->row_isnull[agg->filter_column] = false;
		}
		if (agg->arg != NULL)
		{
			state->row_values[agg->arg_column] = (Datum) 0;
			state->row_isnull[agg->arg_column] = true;
			agg->arg_fold.reached = agg->arg_fold.reached || passes;
			if (passes)
				state->row_values[agg->arg_column] = ExecEvalExpr(agg->arg, econtext,
																  &state->row_isnull[agg->arg_column]);
		}
	}
	MemoryContextSwitchTo(old);
}

/* Writes out the row that was read, whose group is not in memory. */
static void
spill_row(AggNodeState *state)
{
	MemoryContext old = MemoryContextSwitchTo(state->rowcontext->ecxt_per_tuple_memory);

	Assert(zsvector_groups_frozen(state->groups) && !state->partial);
	if (state->spill == NULL)
	{
		uint32		ngroups = Max(zsvector_groups_count(state->groups), 1);
		Size		size = MemoryContextMemAllocated(state->context, true) - state->base_memory;

		MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
		state->spill = zsvector_spill_create(state->rowdesc, (double) size / ngroups);
		MemoryContextSwitchTo(state->rowcontext->ecxt_per_tuple_memory);
	}
	zsvector_spill_write(state->spill, zsvector_groups_hash_row(state->groups, state->row_values,
																state->row_isnull),
						 state->row_values, state->row_isnull, state->css.ss.ps.plan->plan_rows);
	MemoryContextSwitchTo(old);
}

/* Adds the row that was read to the group.  verify_only: to the verifier only. */
static void
add_row_values(AggNodeState *state, uint32 group, bool verify_only)
{
	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];
		Datum		datum = (Datum) 0;
		bool		isnull = false;

		if (agg->filter_column >= 0 && !DatumGetBool(state->row_values[agg->filter_column]))
			continue;
		if (agg->arg_column >= 0)
		{
			datum = state->row_values[agg->arg_column];
			isnull = state->row_isnull[agg->arg_column];
		}
		MemoryContextSwitchTo(state->rowcontext->ecxt_per_tuple_memory);
		/* a copy with a long header is not to stay */
		if (agg->agg.domain == ZS_DOMAIN_DECIMAL && !isnull)
			datum = NumericGetDatum(DatumGetNumeric(datum));
		if (state->verifier != NULL &&
			(!agg->agg.distinct ||
			 (!isnull && zsvector_agg_is_first_by_rows(state, agg, group, datum))))
			zsvector_verify_row(state->verifier, group, i, datum, isnull);
		if (verify_only || (agg->agg.distinct &&
							(isnull || !zsvector_agg_is_first(state, agg, group, datum))))
			continue;
		MemoryContextSwitchTo(state->context);
		zsvector_agg_add_datum(&agg->agg, value_of(state, group, agg), datum, isnull);
	}
}

/*
 * Adds the row that was read, or writes it out.  group: the one that it has by batches, for
 * verify_only.
 */
static void
add_row(AggNodeState *state, bool verify_only, uint32 group)
{
	MemoryContext old = MemoryContextSwitchTo(state->rowcontext->ecxt_per_tuple_memory);

	Assert(state->nkeys > 0 || group == 0);
	if (state->nkeys > 0)
	{
		uint32		own = zsvector_groups_assign_row(state->groups, state->row_values,
													 state->row_isnull);

		if (verify_only && own != group)
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg_internal("group differs: %u by batches, %u by rows", group, own)));
		group = own;
		grow_values(state);
	}
	if (group != ZS_NO_GROUP)
		add_row_values(state, group, verify_only);
	else if (!verify_only)
		spill_row(state);
	MemoryContextSwitchTo(old);
}

/*
 * Takes the batch row by row.  passed: the rows that the program let pass, to be compared, or NULL;
 * numbers: the groups of these.
 */
static void
add_rows(AggNodeState *state, const ZsBatch *batch, const uint64 *passed, const uint32 *numbers)
{
	ExprContext *econtext = state->rowcontext;
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(batch->sel, list);
	uint32		npassed = 0;

	Assert(passed == NULL || state->verifier != NULL);
	for (uint32 i = 0; i < n; i++)
	{
		bool		pass;

		ResetExprContext(econtext);
		zsvector_input_store(state->input, list[i]);
		econtext->ecxt_scantuple = state->input->slot;
		pass = ExecQual(state->filter_rows, econtext);
		if (passed != NULL && pass != zskernel_bits_get(passed, list[i]))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg_internal("filter of row " UINT64_FORMAT " differs: %s by batches, %s by rows",
									 batch->first + list[i], pass ? "false" : "true",
									 pass ? "true" : "false")));
		if (pass)
		{
			read_row(state);
			add_row(state, passed != NULL, numbers != NULL ? numbers[npassed++] : 0);
		}
		else if (passed == NULL)
			state->counts.nremoved++;
	}
	Assert(numbers == NULL || npassed == zskernel_bits_count(passed));
	ExecClearTuple(state->input->slot);
}

/* ---- one batch ------------------------------------------------------------------------ */

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
	if (state->aggs[i].ignores && zsvector_input_bounds(state->input, agg->attno, &bounds) &&
		zsvector_agg_ignores(agg, value_of(state, 0, &state->aggs[i]), &bounds))
	{
		zskernel_bits_clear(sel);
		return true;
	}
	zskernel_bits_copy(sel, passed);
	if (agg->filter != NULL && zskernel_bits_any(sel))
	{
		ZsTruth		truth;

		if (state->aggs[i].filter_fold.waits ||
			!zsvector_qual_run(agg->filter, state->input, passed, &truth, &state->counts.qual))
			return false;
		zskernel_bits_and(sel, truth.yes);
	}
	if (agg->kind == ZS_AGG_COUNT_ROWS || !zskernel_bits_any(sel) ||
		(agg->kind == ZS_AGG_COUNT && !agg->distinct && agg->expr == NULL && zs_enable_zone_maps &&
		 zsvector_input_bounds(state->input, agg->attno, &bounds) && bounds.nnulls == 0))
		return true;
	if (state->aggs[i].arg_fold.waits)
		return false;

	if (agg->kind == ZS_AGG_COUNT && !agg->distinct)
		want = ZS_WANT_NULLS;
	else if (agg->kind == ZS_AGG_COUNT && zsvector_want_of(agg->domain) == ZS_WANT_DATUM)
		want = ZS_WANT_STRING;
	else
		want = zsvector_want_of(agg->domain);

	/* columns of all that passed, since another aggregate may take others of them */
	if (agg->expr != NULL)
		vector = zsvector_expr_run(agg->expr, state->input, sel, &state->counts.qual);
	else
		vector = zsvector_input_column(state->input, agg->attno, want, passed);
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

	Assert(state->nkeys > 0 && CurrentMemoryContext == state->context);
	if (n == 0)
		return;
	zsvector_groups_assign(state->groups, state->input, passed, list, n, NULL, numbers);
	grow_values(state);
	zsvector_batch_groups_start(state->batch_groups, list, n, numbers,
								zsvector_groups_count(state->groups),
								!zsvector_groups_frozen(state->groups));
	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];
		uint64	   *sel = state->sels + i * ZS_KERNEL_WORDS;

		if (agg->agg.distinct)
			zsvector_agg_keep_first(agg, state->input, passed, list, n, numbers, sel);
		zsvector_agg_add_batch_groups(&agg->agg, state->values + agg->offset, state->value_size,
									  state->vectors[i], sel, state->batch_groups);
	}
	zsvector_agg_write_waiting(state, list, n, numbers);

	if (!zsvector_groups_frozen(state->groups))
		return;

	/* last, since a row's values may be decoded where the vectors are */
	for (uint32 i = 0; i < n; i++)
	{
		if (numbers[i] != ZS_NO_GROUP)
			continue;
		ResetExprContext(state->rowcontext);
		zsvector_input_store(state->input, list[i]);
		read_row(state);
		spill_row(state);
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
			zsvector_agg_add_totals(&agg->agg, value_of(state, 0, agg), &state->totals[i]);
			continue;
		}
		if (agg->agg.distinct)
			zsvector_agg_keep_first(agg, state->input, passed, list, n, NULL, sel);
		zsvector_agg_add_batch(&agg->agg, value_of(state, 0, agg), state->vectors[i], sel);
	}
	zsvector_agg_write_waiting(state, list, n, NULL);
}

/*
 * Lets the scan skip segments by the filter and, unless it is NULL, by what the minimum or maximum
 * does not need.
 */
static void
set_scan_filter(AggNodeState *state, const NodeAgg *agg)
{
	MemoryContext old;
	List	   *clauses;

	Assert(agg == NULL || OidIsValid(state->zone_operator));
	ResetExprContext(state->rowcontext);
	old = MemoryContextSwitchTo(state->rowcontext->ecxt_per_tuple_memory);
	clauses = zsvector_agg_filter_clauses(state->filter);
	if (agg != NULL)
		clauses = lappend(clauses, zsvector_agg_zone_clause(state->input->desc, state->input->varno,
															&agg->agg, value_of(state, 0, agg),
															state->zone_operator));
	zsvector_input_batch_set_filters(state->input, clauses,
									 state->css.ss.ps.state->es_param_list_info);
	MemoryContextSwitchTo(old);
}

/* False if the batch has to be taken row by row; then nothing has changed. */
static bool
add_columns(AggNodeState *state, const ZsBatch *batch, uint64 *passed, uint32 *numbers)
{
	MemoryContext old;
	bool		changed = false;

	if (state->by_rows || batch->has_rows)
		return false;
	zskernel_bits_copy(passed, batch->sel);
	zsvector_agg_folds_complete(state);
	if (!zsvector_agg_filter_run(state->filter, state->input, passed, &state->counts.qual,
								 &changed))
		return false;
	if (changed)
		set_scan_filter(state, NULL);
	if (state->keys_wait && zskernel_bits_any(passed))
		return false;
	for (int i = 0; i < state->naggs; i++)
	{
		state->has_totals[i] = state->nkeys == 0 &&
			zsvector_agg_get_totals(&state->aggs[i].agg, value_of(state, 0, &state->aggs[i]),
									state->input, passed, &state->totals[i]);
		if (state->has_totals[i])
			continue;
		if (!get_argument(state, i, passed, state->sels + i * ZS_KERNEL_WORDS,
						  &state->vectors[i]) ||
			(state->aggs[i].agg.distinct &&
			 !zsvector_groups_ready(state->aggs[i].seen, state->input, passed)))
			return false;
	}
	if (state->nkeys > 0 && !zsvector_groups_ready(state->groups, state->input, passed))
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

/* Finds out whether zone maps can spare something; the errors of filters must come all the same. */
static void
prepare_zones(AggNodeState *state, TupleDesc desc, ParamListInfo params)
{
	const ZsAgg *first = &state->aggs[0].agg;

	if (!zs_enable_zone_maps || state->nkeys > 0 || state->naggs == 0)
		return;
	state->all_ignore = !zsscan_expression_may_raise((Node *) state->filter_clauses, params);
	state->zone_operator = InvalidOid;
	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];
		const Aggref *aggref = list_nth_node(Aggref, state->aggrefs, i);

		zsvector_agg_find_zone(desc, &agg->agg);
		agg->ignores = agg->agg.has_zone &&
			!zsscan_expression_may_raise((Node *) aggref->aggfilter, params);
		state->all_ignore &= agg->ignores;
	}
	if (!state->all_ignore || state->verifier != NULL || state->by_rows)
	{
		state->all_ignore = false;
		return;
	}
	for (int i = 1; i < state->naggs; i++)
	{
		const ZsAgg *agg = &state->aggs[i].agg;

		if (agg->kind != first->kind || agg->attno != first->attno || agg->filter != NULL)
			return;
	}
	if (first->filter == NULL)
		state->zone_operator = zsvector_agg_zone_operator(desc, first);
}

/* Can no aggregate gain anything from the batch? */
static bool
all_ignore(AggNodeState *state)
{
	ZsColumnBounds bounds;

	for (int i = 0; i < state->naggs; i++)
	{
		const NodeAgg *agg = &state->aggs[i];

		if (!zsvector_input_bounds(state->input, agg->agg.attno, &bounds) ||
			!zsvector_agg_ignores(&agg->agg, value_of(state, 0, agg), &bounds))
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
	if (!zsvector_agg_zone(&agg->agg, value_of(state, 0, agg), &low, &high) ||
		(state->zone_told && low == state->zone_low && high == state->zone_high))
		return;
	state->zone_low = low;
	state->zone_high = high;
	state->zone_told = true;
	set_scan_filter(state, agg);
}

static void
add_batch(AggNodeState *state, const ZsBatch *batch)
{
	uint64		passed[ZS_KERNEL_WORDS];
	uint32		numbers[ZS_KERNEL_ROWS];

	Assert(state->started && !state->at_end && !state->done);
	if (state->all_ignore && !batch->has_rows && all_ignore(state))
	{
		state->counts.nignored++;
		return;
	}
	if (!add_columns(state, batch, passed, numbers))
	{
		state->counts.nredone++;
		add_rows(state, batch, NULL, NULL);
		return;
	}
	state->counts.nremoved += batch->nsel - zskernel_bits_count(passed);
	if (OidIsValid(state->zone_operator))
		tell_scan(state, &state->aggs[0]);
	if (state->verifier != NULL)
		add_rows(state, batch, passed, state->nkeys > 0 ? numbers : NULL);
}

/* ---- all of it -------------------------------------------------------------------------- */

/* The number of rows for all aggregates, none of which looks at a column. */
static void
count_input(AggNodeState *state)
{
	uint64		count = state->input->methods->count(state->input, state->verifier != NULL);

	Assert(state->counts_only && state->nkeys == 0);
	for (int i = 0; i < state->naggs; i++)
		value_of(state, 0, &state->aggs[i])->count = (int64) count;
}

/* Forgets all groups; others are going to be made. */
static void
start_fill(AggNodeState *state)
{
	Assert(state->groups_left == 0);
	MemoryContextReset(state->context);
	state->next_group = 0;
	if (state->verifier != NULL)
		zsvector_verify_reset(state->verifier);
	if (state->nkeys == 0)
		state->values = MemoryContextAllocZero(state->context, state->value_size);
	else
	{
		state->values = NULL;
		state->maxgroups = 0;
		state->groups = zsvector_agg_create_groups(state);
	}
	state->early = false;
	state->early_look = 0;
	zsvector_agg_sets_start(state);
	state->base_memory = MemoryContextMemAllocated(state->context, true);
}

/*
 * Do groups and sets take all the memory that they may?  zedstore.debug_vector_groups makes that so
 * early.
 */
static bool
is_memory_full(AggNodeState *state)
{
	Size		memory = MemoryContextMemAllocated(state->context, true);
	uint64		most = (uint64) zs_debug_vector_groups;

	state->counts.memory = Max(state->counts.memory,
							   memory + zsvector_agg_sets_buffers(state) +
							   (state->spill != NULL ? zsvector_spill_memory(state->spill) : 0));
	if (state->nkeys == 0 && !state->has_sets)
		return false;
	if (memory - state->base_memory > get_hash_memory_limit())
		return true;
	return most > 0 && ((state->nkeys > 0 && zsvector_groups_count(state->groups) >= most) ||
						zsvector_agg_sets_count(state) >= most);
}

/* There is no memory for more groups, nor for more of what DISTINCT aggregates have seen. */
static void
freeze_groups(AggNodeState *state)
{
	Assert(!state->partial);
	if (state->nkeys > 0 && (state->spill == NULL || zsvector_spill_can_divide(state->spill)))
		zsvector_groups_freeze(state->groups);
	zsvector_agg_sets_freeze(state);
}

static void
start_input(AggNodeState *state)
{
	zsvector_agg_filter_start(state->filter);
	zsvector_agg_folds_start(state);
	if (state->filter_clauses != NIL || state->zone_told)
		set_scan_filter(state, NULL);
	state->zone_told = false;
	zsvector_input_start(state->input);
}

/* Makes groups of the input's rows, until many of them are complete or there are no more rows. */
static void
aggregate_input(AggNodeState *state)
{
	const ZsBatch *batch;

	Assert(!state->at_end && !state->early);
	while ((batch = zsvector_input_next(state->input)) != NULL)
	{
		bool		full;

		add_batch(state, batch);
		full = is_memory_full(state);
		if (state->may_be_early && zsvector_agg_find_complete(state, full))
			return;
		if (full)
			freeze_groups(state);
	}
	ExecClearTuple(state->input->slot);
	state->at_end = true;
	zsvector_agg_sets_finish(state);
}

static void
start_aggregation(AggNodeState *state)
{
	Assert(!state->started && !state->partial);
	state->started = true;
	state->choosing = state->top != NULL && state->nkeys > 0 && zsvector_top_start(state->top);
	state->at_end = state->counts_only && !state->by_rows;
	start_fill(state);
	start_input(state);
	if (state->at_end)
		count_input(state);
	else
		aggregate_input(state);
}

/* Makes groups of some of the rows that were written out. */
static void
aggregate_spilled(AggNodeState *state)
{
	uint64		nmembers = 0;

	Assert(state->at_end && state->spill != NULL);
	start_fill(state);
	state->counts.nfills++;
	while (zsvector_spill_read(state->spill, state->row_values, state->row_isnull))
	{
		uint64		now;

		CHECK_FOR_INTERRUPTS();
		ResetExprContext(state->rowcontext);
		add_row(state, false, 0);
		now = zsvector_groups_count(state->groups) + zsvector_agg_sets_count(state);
		if (now > nmembers)
		{
			nmembers = now;
			if (is_memory_full(state))
				freeze_groups(state);
		}
	}
	if (is_memory_full(state))
		freeze_groups(state);
	zsvector_agg_sets_finish(state);
}

/*
 * The groups of the rows that come next, as many as there is memory for; false if there are none.
 * Without keys there is one in any case.
 */
static bool
next_share(AggNodeState *state)
{
	const ZsBatch *batch;

	Assert(state->partial && !state->done && state->spill == NULL);
	start_fill(state);
	if (!state->started)
		start_input(state);
	state->started = true;
	if (state->counts_only && !state->by_rows)
	{
		count_input(state);
		state->done = true;
		return true;
	}
	while ((batch = zsvector_input_next(state->input)) != NULL)
	{
		add_batch(state, batch);
		if (is_memory_full(state))
			return true;
	}
	ExecClearTuple(state->input->slot);
	state->done = true;
	return state->nkeys == 0 || zsvector_groups_count(state->groups) > 0;
}

static void
free_spill(AggNodeState *state)
{
	if (state->spill != NULL)
		zsvector_spill_free(state->spill);
	state->spill = NULL;
	zsvector_agg_sets_free(state);
}

/* ---- groups as rows ----------------------------------------------------------------------- */

/* A key or a result of the group, in the current context or as long as the groups live. */
static Datum
group_column(AggNodeState *state, uint32 group, int column, bool *isnull)
{
	const NodeAgg *agg;

	Assert(column >= 0 && column < state->nkeys + state->naggs);
	if (column < state->nkeys)
		return zsvector_groups_key(state->groups, group, column, isnull);
	agg = &state->aggs[column - state->nkeys];
	return (state->partial ? zsvector_agg_partial_result : zsvector_agg_result)
		(&agg->agg, value_of(state, group, agg), isnull);
}

/* Forgets the row of the group before. */
static void
turn_to_group(AggNodeState *state, uint32 group)
{
	if (state->result_group != group)
		MemoryContextReset(state->result_context);
	state->result_group = group;
}

static TupleTableSlot *
store_group(AggNodeState *state, uint32 group)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	MemoryContext old;

	Assert(slot->tts_tupleDescriptor->natts == state->nkeys + state->naggs);
	ExecClearTuple(slot);
	turn_to_group(state, group);
	old = MemoryContextSwitchTo(state->result_context);
	for (int column = 0; column < state->nkeys + state->naggs; column++)
	{
		slot->tts_values[column] = group_column(state, group, column, &slot->tts_isnull[column]);
		if (column >= state->nkeys && state->verifier != NULL &&
			!(state->counts_only && !state->by_rows))
			zsvector_verify_result(state->verifier, group, column - state->nkeys,
								   slot->tts_values[column], slot->tts_isnull[column]);
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
	old = MemoryContextSwitchTo(state->result_context);
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

	if (state->early && !zsvector_agg_is_complete(state, group))
		return false;
	if (ps->qual != NULL || state->verifier != NULL)
	{
		ResetExprContext(ps->ps_ExprContext);
		ps->ps_ExprContext->ecxt_scantuple = store_group(state, group);
		pass = ExecQual(ps->qual, ps->ps_ExprContext);
		ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
		if (!pass)
			InstrCountFiltered1(ps, 1);
		return pass;
	}
	for (int i = 0; i < state->naggs; i++)
	{
		bool		isnull;

		if (zsvector_agg_result_may_raise(&state->aggs[i].agg,
										  value_of(state, group, &state->aggs[i])))
			(void) top_value(state, group, state->nkeys + i, &isnull);
	}
	return pass;
}

/* Which of the groups in memory are to be returned?  Of those that are complete, unless all are. */
static void
choose_groups(AggNodeState *state)
{
	uint32		n = zsvector_groups_count(state->groups);
	uint32		ncomplete = state->early ? state->ncomplete : n;

	Assert(state->choosing || state->early);
	if (state->kept != NULL)
		pfree(state->kept);
	state->kept = MemoryContextAllocHuge(GetMemoryChunkContext(state->aggs),
										 Max(n, 1) * sizeof(uint32));
	state->result_group = ZS_NO_GROUP;
	if (!state->choosing)
	{
		state->groups_left = 0;
		for (uint32 group = 0; group < n; group++)
		{
			if (zsvector_agg_is_complete(state, group))
				state->kept[state->groups_left++] = group;
		}
		Assert(state->groups_left == ncomplete);
		return;
	}
	state->groups_left = zsvector_top_choose(state->top, n, top_passes, top_value, state,
											 state->kept);
	Assert(state->groups_left <= ncomplete);
	state->counts.nleft_out += ncomplete - state->groups_left;
}

/* Makes the next groups, if only none that are to be returned; false if there are no more. */
static bool
fill_groups(AggNodeState *state)
{
	Assert(state->groups_left == 0);
	if (state->done)
		return false;
	if (state->partial)
	{
		if (!next_share(state))
			return false;
	}
	else if (!state->started)
		start_aggregation(state);
	else if (!state->at_end)
	{
		zsvector_agg_forget_complete(state);
		aggregate_input(state);
	}
	else if (state->spill != NULL && zsvector_spill_next(state->spill))
		aggregate_spilled(state);
	else
	{
		state->done = true;
		free_spill(state);
		return false;
	}
	if (state->spill != NULL)
		state->counts.disk = Max(state->counts.disk, zsvector_spill_disk(state->spill));
	state->groups_left = state->nkeys == 0 ? 1 : zsvector_groups_count(state->groups);
	if (state->nkeys > 0 && state->groups_left > 0)
	{
		if (zsvector_groups_direct(state->groups))
			state->counts.ndirect++;
		else
			state->counts.nhash++;
	}
	if (state->choosing || state->early)
		choose_groups(state);
	return true;
}

static TupleTableSlot *
next_group(ScanState *ss)
{
	AggNodeState *state = (AggNodeState *) ss;
	uint32		number;

	CHECK_FOR_INTERRUPTS();
	while (state->groups_left == 0)
	{
		if (!fill_groups(state))
			return ExecClearTuple(ss->ss_ScanTupleSlot);
	}
	state->groups_left--;
	number = state->next_group++;
	Assert(state->nkeys == 0 ? number == 0 : number < zsvector_groups_count(state->groups));
	state->result_group = ZS_NO_GROUP;
	return store_group(state, state->choosing || state->early ? state->kept[number] : number);
}

static bool
recheck_group(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

/* ---- callbacks ---------------------------------------------------------------------------- */

/* Keys and aggregates, over the table's columns or over those that are made of a plan's rows. */
static void
read_plan(AggNodeState *state, CustomScan *cscan, Index varno)
{
	List	   *exprs = NIL;
	ListCell   *lc;

	foreach(lc, cscan->custom_scan_tlist)
	{
		Expr	   *expr = lfirst_node(TargetEntry, lc)->expr;

		if (!IsA(expr, Aggref))
			state->shown_keys = lappend(state->shown_keys, expr);
		exprs = lappend(exprs, expr);
	}
	if (cscan->scan.scanrelid == 0)
		exprs = list_nth(cscan->custom_private, ZS_AGG_OVER_INPUTS);
	else
	{
		int			planned_relid = intVal(list_nth(cscan->custom_private, ZS_AGG_RELID));

		/* expressions in custom_private have the numbers of the time of planning */
		state->filter_clauses = copyObject(list_nth(cscan->custom_private, ZS_AGG_FILTER));
		if (planned_relid != (int) varno)
			ChangeVarNodes((Node *) state->filter_clauses, planned_relid, varno, 0);
	}
	foreach(lc, exprs)
	{
		if (IsA(lfirst(lc), Aggref))
			state->aggrefs = lappend(state->aggrefs, lfirst(lc));
		else
			state->key_exprs = lappend(state->key_exprs, lfirst(lc));
	}
	Assert(list_length(state->key_exprs) + list_length(state->aggrefs) ==
		   list_length(cscan->custom_scan_tlist));
	state->partial = boolVal(list_nth(cscan->custom_private, ZS_AGG_PARTIAL));
}

/* Gives columns to what is kept of a row. */
static void
make_rowdesc(AggNodeState *state)
{
	int			most = state->nkeys + 2 * state->naggs;
	Oid		   *types = palloc(Max(most, 1) * sizeof(Oid));
	int			n = 0;
	ListCell   *lc;

	foreach(lc, state->key_exprs)
		types[n++] = exprType(lfirst(lc));
	foreach(lc, state->aggrefs)
	{
		const Aggref *aggref = lfirst_node(Aggref, lc);
		NodeAgg    *agg = &state->aggs[foreach_current_index(lc)];

		agg->filter_column = agg->arg_column = -1;
		if (agg->filter != NULL)
		{
			agg->filter_column = n;
			types[n++] = BOOLOID;
		}
		if (agg->arg != NULL)
		{
			agg->arg_column = n;
			types[n++] = exprType((Node *) linitial_node(TargetEntry, aggref->args)->expr);
		}
	}
	Assert(n <= most);
	state->nrowcolumns = n;
	state->row_values = palloc0(Max(n, 1) * sizeof(Datum));
	state->row_isnull = palloc0(Max(n, 1) * sizeof(bool));
	state->rowdesc = CreateTemplateTupleDesc(n);
	for (int i = 0; i < n; i++)
		TupleDescInitEntry(state->rowdesc, (AttrNumber) (i + 1), NULL, types[i], -1, 0);
	pfree(types);
}

/* Computes once what is part of several programs for all rows that pass the filter. */
static void
share_programs(AggNodeState *state)
{
	List	   *nodes = NIL;

	for (int k = 0; k < state->nkeys; k++)
	{
		if (state->keys[k].expr != NULL)
			state->keys[k].expr = zsvector_expr_share(state->keys[k].expr, &nodes);
	}
	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];

		if (agg->agg.filter != NULL || agg->agg.expr == NULL)
			continue;
		agg->agg.expr = zsvector_expr_share(agg->agg.expr, &nodes);
		if (agg->agg.distinct && agg->distinct_keys[1].expr != NULL)
			agg->distinct_keys[1].expr = zsvector_expr_share(agg->distinct_keys[1].expr, &nodes);
	}
	list_free(nodes);
}

static void
agg_begin(CustomScanState *node, EState *estate, int eflags)
{
	AggNodeState *state = (AggNodeState *) node;
	CustomScan *cscan = (CustomScan *) node->ss.ps.plan;
	bool		by_scan = cscan->scan.scanrelid > 0;
	Index		varno = by_scan ? cscan->scan.scanrelid : ZS_ROWS_VARNO;
	TupleDesc	desc = by_scan ? RelationGetDescr(node->ss.ss_currentRelation) :
		ExecTypeFromExprList(list_nth(cscan->custom_private, ZS_AGG_INPUTS));
	ListCell   *lc;
	ListCell   *lc2;

	if (!by_scan)
		node->custom_ps = list_make1(ExecInitNode(linitial(cscan->custom_plans), estate,
												  eflags & ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD |
															 EXEC_FLAG_MARK)));
	read_plan(state, cscan, varno);
	state->nkeys = list_length(state->key_exprs);
	Assert(state->nkeys <= ZS_MAX_GROUP_KEYS);
	Assert(state->nkeys == list_length(list_nth(cscan->custom_private, ZS_AGG_EQOPS)));
	state->keys = palloc0(Max(state->nkeys, 1) * sizeof(ZsGroupKey));
	state->key_states = palloc0(Max(state->nkeys, 1) * sizeof(ExprState *));
	forboth(lc, state->key_exprs, lc2, list_nth(cscan->custom_private, ZS_AGG_EQOPS))
	{
		if (!zsvector_group_classify_folded(desc, varno, lfirst(lc), lfirst_oid(lc2),
											&state->keys[foreach_current_index(lc)]))
			elog(ERROR, "rows cannot be grouped by key %d", foreach_current_index(lc) + 1);
		zsvector_core_check_equality(get_opcode(lfirst_oid(lc2)));
		if (state->keys[foreach_current_index(lc)].expr != NULL)
			state->key_states[foreach_current_index(lc)] = ExecInitExpr(lfirst(lc), NULL);
	}
	state->naggs = list_length(state->aggrefs);
	state->aggs = palloc0(state->naggs * sizeof(NodeAgg));
	state->filter = zsvector_agg_filter_create(desc, varno, state->filter_clauses, estate);

	/* without a parent: columns come from a slot that is not the node's */
	state->filter_rows = ExecInitQual(state->filter_clauses, NULL);
	state->counts_only = by_scan && state->filter_clauses == NIL && state->nkeys == 0;
	foreach(lc, state->aggrefs)
	{
		Aggref	   *aggref = lfirst_node(Aggref, lc);
		NodeAgg    *agg = &state->aggs[foreach_current_index(lc)];

		zsvector_core_check_aggregate(aggref);
		if (!zsvector_agg_classify_folded(desc, varno, aggref, &agg->agg))
			elog(ERROR, "aggregate %u has no program", aggref->aggfnoid);
		if (aggref->aggfilter != NULL)
			agg->filter = ExecInitQual(list_make1(aggref->aggfilter), NULL);
		if (aggref->args != NIL)
			agg->arg = ExecInitExpr(linitial_node(TargetEntry, aggref->args)->expr, NULL);
		if (agg->agg.kind != ZS_AGG_COUNT_ROWS || agg->agg.filter != NULL)
			state->counts_only = false;
		if (agg->agg.distinct &&
			!zsvector_agg_distinct_init(state, agg, desc, varno,
										(Node *) linitial_node(TargetEntry, aggref->args)->expr))
			elog(ERROR, "aggregate %u has no set", aggref->aggfnoid);
	}
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;

	share_programs(state);
	zsvector_agg_folds_init(state, desc, varno);
	state->vectors = palloc0(Max(state->naggs, 1) * sizeof(ZsColumnVector *));
	state->batch_groups = zsvector_batch_groups_create(state->naggs);
	state->totals = palloc0(Max(state->naggs, 1) * sizeof(ZsVectorTotals));
	state->has_totals = palloc0(Max(state->naggs, 1) * sizeof(bool));
	state->sels = palloc0(Max(state->naggs, 1) * ZS_KERNEL_WORDS * sizeof(uint64));
	state->result_context = AllocSetContextCreate(CurrentMemoryContext,
												  "zedstore aggregate results",
												  ALLOCSET_DEFAULT_SIZES);
	state->context = AllocSetContextCreate(CurrentMemoryContext, "zedstore aggregates",
										   ALLOCSET_DEFAULT_SIZES);
	foreach(lc, state->aggrefs)
	{
		NodeAgg    *agg = &state->aggs[foreach_current_index(lc)];

		zsvector_agg_begin(&agg->agg, lfirst_node(Aggref, lc), state->context);
		agg->offset = state->value_size;
		state->value_size += zsvector_agg_value_size(&agg->agg);
	}
	Assert(state->value_size % sizeof(uint64) == 0);
	state->value_size = Max(state->value_size, sizeof(int64));
	make_rowdesc(state);
	state->rowcontext = CreateExprContext(estate);
	state->by_rows = zs_debug_vector == ZS_DEBUG_VECTOR_ROWS;
	if (zs_debug_vector == ZS_DEBUG_VECTOR_VERIFY)
		state->verifier = zsvector_verify_begin(state->aggrefs);
	if (by_scan)
		prepare_zones(state, desc, estate->es_param_list_info);
	if (by_scan)
		state->input = zsvector_input_batch_create(node->ss.ss_currentRelation, varno,
												   list_concat_copy(state->key_exprs,
																	state->aggrefs),
												   state->filter_clauses, estate);
	else
		state->input = zsvector_input_rows_create(linitial(node->custom_ps),
												  list_nth(cscan->custom_private, ZS_AGG_INPUTS),
												  list_nth(cscan->custom_private, ZS_AGG_GUARDS),
												  estate);
	state->may_be_early = zsvector_agg_may_be_early(state);
}

/*
 * As ExecScan(), without its look at rows that are checked again after an update by somebody else:
 * groups of a plan's rows belong to no table, and some minor versions of the server take them for
 * rows of a join then, and return none.
 */
static TupleTableSlot *
next_group_that_passes(ScanState *ss)
{
	ExprContext *econtext = ss->ps.ps_ExprContext;

	for (;;)
	{
		TupleTableSlot *slot = next_group(ss);

		if (TupIsNull(slot))
			return ss->ps.ps_ProjInfo != NULL ?
				ExecClearTuple(ss->ps.ps_ProjInfo->pi_state.resultslot) : slot;
		ResetExprContext(econtext);
		econtext->ecxt_scantuple = slot;
		if (ss->ps.qual == NULL || ExecQual(ss->ps.qual, econtext))
			return ss->ps.ps_ProjInfo != NULL ? ExecProject(ss->ps.ps_ProjInfo) : slot;
		InstrCountFiltered1(ss, 1);
	}
}

static TupleTableSlot *
agg_exec(CustomScanState *node)
{
	return node->custom_ps != NIL ? next_group_that_passes(&node->ss) :
		ExecScan(&node->ss, next_group, recheck_group);
}

static void
agg_end(CustomScanState *node)
{
	AggNodeState *state = (AggNodeState *) node;

	free_spill(state);
	if (state->input != NULL)
		zsvector_input_end(state->input);
	if (node->custom_ps != NIL)
		ExecEndNode(linitial(node->custom_ps));
}

static void
agg_rescan(CustomScanState *node)
{
	AggNodeState *state = (AggNodeState *) node;

	state->started = state->done = false;
	state->groups_left = 0;
	free_spill(state);
	ExecScanReScan(&node->ss);
	if (node->custom_ps != NIL)
	{
		PlanState  *child = linitial(node->custom_ps);

		if (node->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(child, node->ss.ps.chgParam);
		/* else its first row sees to that */
		if (child->chgParam == NULL)
			ExecReScan(child);
	}
}

static const CustomExecMethods exec_methods = {
	.CustomName = "ZedstoreAgg",
	.BeginCustomScan = agg_begin,
	.ExecCustomScan = agg_exec,
	.EndCustomScan = agg_end,
	.ReScanCustomScan = agg_rescan,
	.EstimateDSMCustomScan = zsvector_agg_estimate_dsm,
	.InitializeDSMCustomScan = zsvector_agg_initialize_dsm,
	.ReInitializeDSMCustomScan = zsvector_agg_reinitialize_dsm,
	.InitializeWorkerCustomScan = zsvector_agg_initialize_worker,
	.ShutdownCustomScan = zsvector_agg_shutdown,
	.ExplainCustomScan = zsvector_agg_explain,
};

/* See vector_agg.h. */
void
zsvector_agg_set_sort(PlanState *ps, SortState *sort)
{
	AggNodeState *state = (AggNodeState *) ps;
	MemoryContext old;

	if (!IsA(ps, CustomScanState) || state->css.methods != &exec_methods || state->nkeys == 0 ||
		state->partial)
		return;
	old = MemoryContextSwitchTo(ps->state->es_query_cxt);
	state->top = zsvector_top_create(sort, (CustomScan *) ps->plan, ps->state);
	MemoryContextSwitchTo(old);
}

/* CreateCustomScanState: the node's state, all zeros but for its tag and methods. */
Node *
zsvector_agg_create_state(CustomScan *cscan)
{
	AggNodeState *state = palloc0(sizeof(AggNodeState));

	zsvector_top_nodes++;

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	state->css.slotOps = &TTSOpsVirtual;
	return (Node *) state;
}
