/*-------------------------------------------------------------------------
 *
 * probe_join.c
 *	  An input that joins the batches of another one with a table.
 *
 * Where no row has more than one partner, a batch of the join is one of the probe side with fewer
 * rows, and a partner for each of them: the probe side's columns are its own vectors, and of the
 * build side those columns are gathered that somebody asks for (probe_gather.c).  Where rows have
 * more of them, a batch is up to 1024 pairs, and both sides' columns are gathered.
 *
 * Conditions of the join are tried on pairs.  For SEMI and ANTI joins one pair that passes is
 * enough: all rows of the batch are tried with their first partners, those that are left with their
 * second ones, and so on.  Rows of a LEFT or FULL join of which no pair passed come behind the
 * pairs of their batch.  Joins that have to know which rows of the build side found a partner
 * (RIGHT, FULL, RIGHT ANTI, RIGHT SEMI) mark them (probe_matched.c); rows without one come behind
 * the last batch of the probe side.
 *
 * The build side may come in parts (probe_part.c): then the probe side is read once for each of
 * them, and the batches follow each other.
 *
 * A batch whose keys have no vectors is looked up row by row, as all are by
 * zedstore.debug_vector = rows.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/probe/probe_join.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"

#include "probe_internal.h"
#include "zs_compat.h"
#include "zs_expr_guc.h"

/* ---- partners ------------------------------------------------------------------------------ */

/* The values of the keys of the row in the probe side's slot. */
static void
read_keys(ZsProbeJoin *join, Datum *values, bool *isnull)
{
	TupleTableSlot *slot = join->probe->slot;

	join->econtext->ecxt_scantuple = slot;
	for (int k = 0; k < join->nkeys; k++)
	{
		if (join->key_states[k] == NULL)
			values[k] = slot_getattr(slot, join->keys[k].attno, &isnull[k]);
		else
			values[k] = ExecEvalExprSwitchContext(join->key_states[k], join->econtext, &isnull[k]);
	}
}

/* Looks up the row at the place of the source. */
static uint32
look_up_row(ZsProbeJoin *join, uint32 place)
{
	Datum		values[ZS_MAX_GROUP_KEYS];
	bool		isnull[ZS_MAX_GROUP_KEYS];
	MemoryContext old;
	uint32		result;

	ResetExprContext(join->econtext);
	zsexpr_input_store(join->probe, place);
	read_keys(join, values, isnull);
	old = MemoryContextSwitchTo(join->econtext->ecxt_per_tuple_memory);
	result = zsprobe_table_look_up_row(join->table, values, isnull);
	MemoryContextSwitchTo(old);
	return result;
}

/* Looks up all rows of the source one by one; or compares with what was found by columns. */
static void
look_up_rows(ZsProbeJoin *join, uint64 *found, bool verify)
{
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(join->source->sel, list);

	if (!verify)
		zskernel_bits_clear(found);
	for (uint32 i = 0; i < n; i++)
	{
		uint32		partner = look_up_row(join, list[i]);

		if (verify && partner != (zskernel_bits_get(found, list[i]) ?
								  join->partners[list[i]] : ZS_NO_ROW))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg_internal("partner of row " UINT64_FORMAT " differs by batches and by rows",
									 join->source->first + list[i])));
		join->partners[list[i]] = partner;
		if (partner != ZS_NO_ROW)
			zskernel_bits_set(found, list[i]);
	}
	ExecClearTuple(join->probe->slot);
}

/* Finds the partners of the source's rows. */
static void
look_up(ZsProbeJoin *join, uint64 *found)
{
	if (zs_debug_vector == ZS_DEBUG_VECTOR_ROWS ||
		!zsprobe_table_look_up(join->table, join->probe, join->source->sel, join->partners, found))
		look_up_rows(join, found, false);
	else if (zs_debug_vector == ZS_DEBUG_VECTOR_VERIFY)
		look_up_rows(join, found, true);
}

/*
 * Takes those rows from the source that are not in the table's part: they have their turn with
 * another one.
 */
static void
take_part(ZsProbeJoin *join)
{
	uint64	   *sel = join->own_source.sel;

	join->own_source = *join->source;
	if (zs_debug_vector == ZS_DEBUG_VECTOR_ROWS ||
		!zsprobe_part_leave(join->table, join->keys, join->probe, sel))
	{
		uint16		list[ZS_KERNEL_ROWS];
		uint32		n = zskernel_bits_list(sel, list);
		Datum		values[ZS_MAX_GROUP_KEYS];
		bool		isnull[ZS_MAX_GROUP_KEYS];

		for (uint32 i = 0; i < n; i++)
		{
			ResetExprContext(join->econtext);
			zsexpr_input_store(join->probe, list[i]);
			read_keys(join, values, isnull);
			if (!zsprobe_part_has(join->table, values, isnull))
				zskernel_bits_unset(sel, list[i]);
		}
		ExecClearTuple(join->probe->slot);
	}
	join->own_source.nsel = zskernel_bits_count(sel);
	join->source = &join->own_source;
}

/* ---- conditions ---------------------------------------------------------------------------- */

/*
 * Takes those rows from the batch, which has been made, that do not pass the filter.  Errors: those
 * of its clauses.
 */
static void
apply(ZsProbeJoin *join, ZsFilter *filter)
{
	ZsBatch    *batch = &join->batch;
	ExprContext *econtext = join->econtext;
	uint64		passed[ZS_KERNEL_WORDS];
	bool		changed = false;
	bool		decided;

	if (filter == NULL || batch->nsel == 0)
		return;
	decided = zsexpr_filter_run(filter, &join->base, batch, passed, &join->counts, &changed);
	if (!decided)
		zskernel_bits_copy(passed, batch->sel);
	if (!decided || zsexpr_filter_has_rest(filter))
	{
		uint16		list[ZS_KERNEL_ROWS];
		uint32		n = zskernel_bits_list(passed, list);

		for (uint32 i = 0; i < n; i++)
		{
			ResetExprContext(econtext);
			zsexpr_input_store(&join->base, list[i]);
			econtext->ecxt_scantuple = join->base.slot;
			if (!zsexpr_filter_row_passes(filter, econtext, !decided))
				zskernel_bits_unset(passed, list[i]);
		}
		ExecClearTuple(join->base.slot);
	}
	zskernel_bits_copy(batch->sel, passed);
	batch->nsel = zskernel_bits_count(passed);
}

/* The batch becomes the source with these rows only, by its own places. */
static void
set_rows(ZsProbeJoin *join, const uint64 *rows)
{
	Assert(join->source != NULL);
	join->in_pairs = false;
	join->batch.first = join->source->first;
	join->batch.has_rows = join->source->has_rows;
	zskernel_bits_copy(join->batch.sel, rows);
	join->batch.nsel = zskernel_bits_count(rows);
	zsprobe_join_turn(join);
}

/* The rows of found that have a partner with which they pass the conditions. */
static void
find_matching(ZsProbeJoin *join, const uint64 *found, uint64 *matching)
{
	uint64		open[ZS_KERNEL_WORDS];

	zskernel_bits_copy(open, found);
	zskernel_bits_clear(matching);
	join->lonely = false;
	while (zskernel_bits_any(open))
	{
		uint16		list[ZS_KERNEL_ROWS];
		uint32		n;

		CHECK_FOR_INTERRUPTS();
		set_rows(join, open);
		apply(join, join->joinqual);
		zskernel_bits_or(matching, join->batch.sel);
		zskernel_bits_andnot(open, join->batch.sel);
		if (join->table->next == NULL)
			return;
		n = zskernel_bits_list(open, list);
		for (uint32 i = 0; i < n; i++)
		{
			uint32		next = join->table->next[join->partners[list[i]]];

			join->partners[list[i]] = next;
			if (next == ZS_NO_ROW)
				zskernel_bits_unset(open, list[i]);
		}
	}
}

/* Are rows of the probe side returned that have no partner, beside those that have? */
static bool
fills_probe(const ZsProbeJoin *join)
{
	return join->jointype == JOIN_LEFT || join->jointype == JOIN_FULL;
}

/* Leaves those pairs of the batch that pass the conditions, and tells the table of them. */
static void
test_pairs(ZsProbeJoin *join)
{
	bool		is_semi = zs_join_is_right_semi(join->jointype);

	if (is_semi && join->joinqual != NULL)
		zsprobe_matched_leave(join);
	apply(join, join->joinqual);
	if (is_semi)
		zsprobe_matched_take(join);
	else if (join->table->matched != NULL)
		zsprobe_matched_mark(join, join->batch.sel);
	if (join->jointype == JOIN_RIGHT_ANTI)
	{
		zskernel_bits_clear(join->batch.sel);
		join->batch.nsel = 0;
	}
}

/* The next batch of the pairs of the source, which may be empty; has_more says whether to go on. */
static void
next_pairs(ZsProbeJoin *join)
{
	if (zskernel_bits_any(join->left))
	{
		zsprobe_pairs_make(join);
		test_pairs(join);
		if (fills_probe(join))
		{
			uint16		list[ZS_KERNEL_ROWS];
			uint32		n = zskernel_bits_list(join->batch.sel, list);

			for (uint32 i = 0; i < n; i++)
				zskernel_bits_unset(join->unmatched, join->places[list[i]]);
		}
		join->has_more = fills_probe(join) || zskernel_bits_any(join->left);
		return;
	}
	Assert(fills_probe(join));
	join->has_more = false;
	join->lonely = true;
	for (int i = 0; i < ZS_KERNEL_ROWS; i++)
		join->partners[i] = ZS_NO_ROW;
	set_rows(join, join->unmatched);
}

/* ---- batches ------------------------------------------------------------------------------- */

/* These rows of the source have no partner: columns of the build side are NULL in them. */
static void
set_lonely(ZsProbeJoin *join, const uint64 *rows)
{
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(rows, list);

	for (uint32 i = 0; i < n; i++)
		join->partners[list[i]] = ZS_NO_ROW;
	join->lonely = n > 0;
}

/* All rows of the source are in the batch, of which those in found have a partner. */
static void
set_all_rows(ZsProbeJoin *join, const uint64 *found)
{
	uint64		others[ZS_KERNEL_WORDS];

	zskernel_bits_copy(others, join->source->sel);
	zskernel_bits_andnot(others, found);
	set_lonely(join, others);
	set_rows(join, join->source->sel);
}

/* The rows of a SEMI or ANTI join, of which those in found have partners by their keys. */
static void
set_semi_rows(ZsProbeJoin *join, uint64 *found)
{
	uint64		rows[ZS_KERNEL_WORDS];

	if (join->joinqual != NULL)
	{
		find_matching(join, found, rows);
		zskernel_bits_copy(found, rows);
	}
	if (join->jointype == JOIN_ANTI)
	{
		zskernel_bits_copy(rows, join->source->sel);
		zskernel_bits_andnot(rows, found);
		zskernel_bits_copy(found, rows);
		set_lonely(join, found);
	}
	set_rows(join, found);
}

/* Makes the batch of the source, or starts with its pairs. */
static void
join_batch(ZsProbeJoin *join)
{
	uint64		found[ZS_KERNEL_WORDS];

	look_up(join, found);
	if (join->jointype == JOIN_SEMI || join->jointype == JOIN_ANTI)
		set_semi_rows(join, found);
	else if (join->jointype == JOIN_RIGHT_ANTI && join->joinqual == NULL)
	{
		zsprobe_matched_mark_copies(join, found);
		zskernel_bits_clear(found);
		set_rows(join, found);
	}
	else if (zsprobe_pairs_needed(join, found))
	{
		zsprobe_pairs_start(join, found);
		next_pairs(join);
	}
	else
	{
		join->lonely = false;
		if (!fills_probe(join) || join->joinqual != NULL)
		{
			set_rows(join, found);
			test_pairs(join);
			zskernel_bits_copy(found, join->batch.sel);
		}
		else if (join->table->matched != NULL)
			zsprobe_matched_mark(join, found);
		if (fills_probe(join))
			set_all_rows(join, found);
	}
	apply(join, join->qual);
}

/* Has the join no row, whatever the probe side has? */
static bool
is_empty(const ZsProbeJoin *join)
{
	return join->table->nrows == 0 && zsprobe_join_needs_build(join->jointype);
}

/* The next batch of the probe side, if that may have any more, or the table's rows behind it. */
static bool
start_batch(ZsProbeJoin *join)
{
	if (!join->in_tail)
	{
		join->source = is_empty(join) ? NULL : zsexpr_input_next(join->probe);
		if (join->source != NULL)
		{
			join->batch.nsel = 0;
			if (join->table->nparts > 1 && !zsprobe_join_needs_build(join->jointype))
				take_part(join);
			if (join->source->nsel > 0)
				join_batch(join);
			return true;
		}
		if (is_empty(join) || !zsprobe_join_fills_build(join->jointype))
			return false;
		join->in_tail = true;
		join->tail = 0;
	}
	if (!zsprobe_matched_tail(join))
		return false;
	apply(join, join->qual);
	return true;
}

/* Begins with the probe side, for what the table has.  Nobody asks that of an empty join. */
static void
start_probe(ZsProbeJoin *join)
{
	join->source = NULL;
	join->batch.nsel = 0;
	join->has_more = join->in_tail = false;
	zsprobe_matched_reset(join->table);
	if (!is_empty(join))
		zsexpr_input_start(join->probe);
}

/* The next batch with a row; false behind the last. */
static bool
next_batch_with_rows(ZsProbeJoin *join)
{
	do
	{
		CHECK_FOR_INTERRUPTS();
		if (join->has_more)
		{
			next_pairs(join);
			apply(join, join->qual);
		}
		else if (!start_batch(join))
		{
			if (!join->next_part(join->arg))
				return false;
			start_probe(join);
		}
	} while (join->batch.nsel == 0);
	return true;
}

/* ZsInputMethods.next */
static const ZsBatch *
next_batch(ZsInput *input)
{
	ZsProbeJoin *join = (ZsProbeJoin *) input;
	NodeInstrumentation *instrument = join->node->instrument;
	bool		found;

	ExecClearTuple(input->slot);
	if (instrument != NULL)
		InstrStartNode(instrument);
	found = next_batch_with_rows(join);
	if (instrument != NULL)
		InstrStopNode(instrument, found ? join->batch.nsel : 0);
	return found ? &join->batch : NULL;
}

/* ZsInputMethods.start: the table has been filled */
static void
start_join(ZsInput *input)
{
	ZsProbeJoin *join = (ZsProbeJoin *) input;

	join->first_part(join->arg);
	if (join->joinqual != NULL)
		(void) zsexpr_filter_start(join->joinqual);
	if (join->qual != NULL)
		(void) zsexpr_filter_start(join->qual);
	start_probe(join);
}

/* ---- columns ------------------------------------------------------------------------------- */

/* ZsInputMethods.column */
static const ZsColumnVector *
join_column(ZsInput *input, AttrNumber attno, ZsColumnWant want, const uint64 *sel)
{
	ZsProbeJoin *join = (ZsProbeJoin *) input;
	int			column = attno - join->nouter - 1;

	Assert(attno > 0 && attno <= input->desc->natts && bms_is_member(attno, join->used));
	if (column < 0 && join->in_tail)
		return zsprobe_matched_nulls(want);
	if (column < 0 && join->in_pairs)
		return zsprobe_pairs_column(join, attno, want, sel);
	if (column < 0)
		return zsexpr_input_column(join->probe, attno, want, sel);
	if (join->gathered[column] == NULL)
		join->gathered[column] = MemoryContextAllocZero(GetMemoryChunkContext(join),
														ZS_GATHER_FORMS * sizeof(ZsGathered));
	return zsprobe_gather(join->table, join->columns[column], want, join->partners, join->lonely,
						  sel, input->serial, join->gathered[column]);
}

/* ZsInputMethods.bounds: those of all rows of the probe side's batch */
static bool
join_bounds(ZsInput *input, AttrNumber attno, ZsColumnBounds *bounds)
{
	ZsProbeJoin *join = (ZsProbeJoin *) input;

	return attno <= join->nouter && !join->in_tail &&
		zsexpr_input_bounds(join->probe, attno, bounds);
}

/* ZsInputMethods.store */
static void
store_row(ZsInput *input, uint32 position)
{
	ZsProbeJoin *join = (ZsProbeJoin *) input;
	TupleTableSlot *slot = input->slot;
	TupleTableSlot *outer = join->probe->slot;
	MemoryContext old;
	int			attno = -1;

	Assert(position < ZS_KERNEL_ROWS && zskernel_bits_get(join->batch.sel, position));
	ExecClearTuple(slot);
	ResetExprContext(join->row_econtext);
	old = MemoryContextSwitchTo(join->row_econtext->ecxt_per_tuple_memory);
	if (!join->in_tail)
		zsexpr_input_store(join->probe, join->in_pairs ? join->places[position] : position);
	while ((attno = bms_next_member(join->used, attno)) >= 0 && attno <= input->desc->natts)
	{
		Datum	   *value = &slot->tts_values[attno - 1];
		bool	   *isnull = &slot->tts_isnull[attno - 1];

		if (attno <= join->nouter && join->in_tail)
		{
			*value = (Datum) 0;
			*isnull = true;
		}
		else if (attno <= join->nouter)
			*value = slot_getattr(outer, (AttrNumber) attno, isnull);
		else
			zsprobe_gather_slot(join->table, join->columns[attno - join->nouter - 1],
								join->partners[position], value, isnull);
	}
	MemoryContextSwitchTo(old);
	ExecStoreVirtualTuple(slot);
}

/* ZsInputMethods.end */
static void
end_join(ZsInput *input)
{
	ExecClearTuple(input->slot);
	zsexpr_input_end(((ZsProbeJoin *) input)->probe);
}

static const ZsInputMethods join_methods = {
	.start = start_join,
	.next = next_batch,
	.column = join_column,
	.bounds = join_bounds,
	.store = store_row,
	.end = end_join,
};

/*
 * The join as an input.  Its table is to be filled before it is started; the filters are started
 * by it.  Memory comes from the current context.
 */
ZsInput *
zsprobe_join_create(const ZsProbeSpec *spec, EState *estate)
{
	ZsProbeJoin *join = palloc0(sizeof(ZsProbeJoin));
	ZsInput    *input = &join->base;
	ListCell   *lc;

	Assert(spec->nkeys == list_length(spec->key_exprs));
	input->methods = &join_methods;
	input->desc = spec->desc;
	input->varno = ZS_ROWS_VARNO;
	input->slot = zs_alloc_table_slot(&estate->es_tupleTable, spec->desc, &TTSOpsVirtual);
	memset(input->slot->tts_isnull, true, spec->desc->natts * sizeof(bool));
	join->jointype = spec->jointype;
	join->probe = spec->probe;
	join->table = spec->table;
	join->nouter = spec->desc->natts - spec->nbuild;
	join->columns = palloc(Max(spec->nbuild, 1) * sizeof(AttrNumber));
	memcpy(join->columns, spec->columns, spec->nbuild * sizeof(AttrNumber));
	join->used = spec->used;
	join->nkeys = spec->nkeys;
	join->keys = spec->keys;
	join->key_states = palloc0(spec->nkeys * sizeof(ExprState *));
	foreach(lc, spec->key_exprs)
	{
		int			k = foreach_current_index(lc);

		if (spec->keys[k].expr != NULL)
			join->key_states[k] = ExecInitExpr(lfirst(lc), NULL);
	}
	join->econtext = CreateExprContext(estate);
	join->row_econtext = CreateExprContext(estate);
	join->joinqual = spec->joinqual;
	join->qual = spec->qual;
	join->node = spec->node;
	join->first_part = spec->first_part;
	join->next_part = spec->next_part;
	join->arg = spec->arg;
	join->gathered = palloc0(Max(spec->nbuild, 1) * sizeof(ZsGathered *));
	join->picked = palloc0(Max(join->nouter, 1) * ZS_WANT_COUNT * sizeof(ZsPicked *));
	return input;
}
