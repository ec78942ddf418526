/*-------------------------------------------------------------------------
 *
 * node_agg_single.c
 *	  Adds rows to the aggregates of a node, one by one.
 *
 * This is for the rows of batches that no program may decide, for rows that were written out and
 * come back, and for all rows beside their batches when these are verified.  Keys, filters and
 * arguments go through core's expressions, so errors and odd values are core's.
 *
 * What is kept of a row are its key and, for each aggregate, whether it passes FILTER and its
 * argument: row.values and row.isnull, in the memory of single rows.  A row is written out in the
 * same form, if its group is not in memory and no group may be added any more.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_single.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "node_agg.h"
#include "node_agg_full.h"

/* Takes what is needed of the row in the input's slot: row.values, in the memory of single rows. */
void
zsnode_agg_read_row(AggNodeState *state)
{
	ExprContext *econtext = state->row.econtext;
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);

	Assert(!TTS_EMPTY(state->input->slot));
	econtext->ecxt_scantuple = state->input->slot;
	for (int k = 0; k < state->nkeys; k++)
	{
		state->key_programs[k].reached = true;
		if (state->key_states[k] == NULL)
			state->row.values[k] = slot_getattr(state->input->slot, state->keys[k].attno,
												&state->row.isnull[k]);
		else
			state->row.values[k] = ExecEvalExpr(state->key_states[k], econtext,
												&state->row.isnull[k]);
	}
	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];
		bool		passes = true;

		if (agg->filter != NULL)
		{
			agg->filter_program.reached = true;
			passes = ExecQual(agg->filter, econtext);
			state->row.values[agg->filter_column] = BoolGetDatum(passes);
			state->row.isnull[agg->filter_column] = false;
		}
		if (agg->arg != NULL)
		{
			state->row.values[agg->arg_column] = (Datum) 0;
			state->row.isnull[agg->arg_column] = true;
			agg->arg_program.reached = agg->arg_program.reached || passes;
			if (passes)
				state->row.values[agg->arg_column] =
					ExecEvalExpr(agg->arg, econtext, &state->row.isnull[agg->arg_column]);
		}
	}
	MemoryContextSwitchTo(old);
}

/* Makes sure that rows of groups that are not in memory can be written. */
void
zsnode_agg_open_spill(AggNodeState *state)
{
	uint32		ngroups = Max(zsagg_groups_count(state->store.groups), 1);
	Size		size;
	MemoryContext old;

	Assert(zsagg_groups_frozen(state->store.groups));
	if (state->written.spill != NULL)
		return;
	size = MemoryContextMemAllocated(state->store.context, true) - state->store.base_memory;
	old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	state->written.spill = zsagg_spill_create(state->row.desc, (double) size / ngroups);
	zsnode_agg_answers_spill_opened(state);
	MemoryContextSwitchTo(old);
}

/* Writes out the row that was read, whose group is not in memory. */
void
zsnode_agg_spill_row(AggNodeState *state)
{
	MemoryContext old = MemoryContextSwitchTo(state->row.econtext->ecxt_per_tuple_memory);
	uint64		hash;

	zsnode_agg_open_spill(state);
	hash = zsagg_groups_hash_row(state->store.groups, state->row.values, state->row.isnull);
	if (zsagg_spill_wants(state->written.spill, hash))
		zsagg_spill_write(state->written.spill, hash, state->row.values, state->row.isnull,
						  state->css.ss.ps.plan->plan_rows);
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

		if (agg->filter_column >= 0 && !DatumGetBool(state->row.values[agg->filter_column]))
			continue;
		if (agg->arg_column >= 0)
		{
			datum = state->row.values[agg->arg_column];
			isnull = state->row.isnull[agg->arg_column];
		}
		MemoryContextSwitchTo(state->row.econtext->ecxt_per_tuple_memory);
		/* a copy with a long header is not to stay */
		if (agg->agg.domain == ZS_DOMAIN_DECIMAL && !isnull)
			datum = NumericGetDatum(DatumGetNumeric(datum));
		if (state->verifier != NULL &&
			(!agg->agg.distinct ||
			 (!isnull && zsnode_agg_is_first_by_rows(state, agg, group, datum))))
			zsagg_verify_row(state->verifier, group, i, datum, isnull);
		if (verify_only || (agg->agg.distinct &&
							(isnull || !zsnode_agg_is_first(state, agg, group, datum))))
			continue;
		MemoryContextSwitchTo(state->store.context);
		zsagg_add_datum(&agg->agg, zsnode_agg_value_of(state, group, agg), datum, isnull);
	}
}

/*
 * Adds the row that was read, or writes it out.  group: the one that it has by batches, for
 * verify_only.
 */
void
zsnode_agg_take_row(AggNodeState *state, bool verify_only, uint32 group)
{
	MemoryContext old = MemoryContextSwitchTo(state->row.econtext->ecxt_per_tuple_memory);

	Assert(state->nkeys > 0 || group == 0);
	if (state->nkeys > 0)
	{
		uint32		own = zsagg_groups_assign_row(state->store.groups, state->row.values,
												  state->row.isnull);

		if (verify_only && own != group)
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg_internal("group differs: %u by batches, %u by rows", group, own)));
		group = own;
		state->fill.nrows += verify_only ? 0 : 1;
		zsnode_agg_grow_values(state);
	}
	if (group != ZS_NO_GROUP)
		add_row_values(state, group, verify_only);
	else if (!verify_only)
	{
		state->fill.absent_rows++;
		zsnode_agg_spill_row(state);
	}
	MemoryContextSwitchTo(old);
}

/* Takes the batch row by row, by all clauses of the filter.  Errors: those of expressions. */
void
zsnode_agg_take_rows(AggNodeState *state, const ZsBatch *batch)
{
	ExprContext *econtext = state->row.econtext;
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(batch->sel, list);

	for (uint32 i = 0; i < n; i++)
	{
		ResetExprContext(econtext);
		zsexpr_input_store(state->input, list[i]);
		econtext->ecxt_scantuple = state->input->slot;
		if (zsexpr_filter_row_passes(state->filter, econtext, true))
		{
			zsnode_agg_read_row(state);
			zsnode_agg_take_row(state, false, 0);
		}
		else
			state->counts.nremoved++;
	}
	ExecClearTuple(state->input->slot);
}

/*
 * Gives the rows of passed, which have been added, to the verifier, too.  numbers: their groups;
 * NULL: all are in one.  Errors: a row has another group row by row.
 */
void
zsnode_agg_verify_rows(AggNodeState *state, const uint64 *passed, const uint32 *numbers)
{
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(passed, list);

	Assert(state->verifier != NULL);
	for (uint32 i = 0; i < n; i++)
	{
		ResetExprContext(state->row.econtext);
		zsexpr_input_store(state->input, list[i]);
		zsnode_agg_read_row(state);
		zsnode_agg_take_row(state, true, numbers != NULL ? numbers[i] : 0);
	}
	ExecClearTuple(state->input->slot);
}
