/*-------------------------------------------------------------------------
 *
 * vacuum_move.c
 *	  Rows of the row tree become columns.
 *
 * Neighbouring closed stripes with rows in the row tree make a unit, of at most 64
 * stripes.  Its rows are read once and collected for all columns; the segments of
 * all columns are written and linked; then the rows leave the row tree.
 *
 *		row tree	   [ . . . . . . . . . . . ]
 *		column 1	[seg]							before
 *		column 1	[seg                    ]		after
 *
 * Where a unit begins in a stripe that a segment has a part of, as behind a bulk load,
 * the column's part is rounded out to that segment's border, and its values come
 * along.  For a few rows behind a long segment that is not worth it; they stay in the
 * row tree until the segment is rewritten for other reasons.
 *
 * The rows of a unit have the same number of attributes; columns that are younger get no
 * segments.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_move.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/vacuum.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "vacuum_compact.h"

/* Rows of a segment that are rewritten for what lies behind them in its last stripe. */
#define MAX_ROUND_OUT		(8 * ZS_STRIPE_ROWS)

/* Stripes without rows that a unit may hold in a row. */
#define MAX_GAP_STRIPES		8

typedef struct MoveUnit
{
	ZsCompaction *compaction;
	zstid		first;
	zstid		end;
	zstid		limit;			/* it cannot go beyond */
	int			natts;			/* attributes of its rows */
	uint64		nrows;			/* of them in the row tree, live */
	ZsRowBatch *batch;
	ZsStripe	stripe;			/* the one looked at last */
	int			ncolumns;
	ZsColumnBuilder **builders;
	ZsSegmentItem *covers;		/* per builder: segment that begins before or in
								 * the first stripe; nrows = 0: none */
} MoveUnit;

/* ---- the first stripe ---------------------------------------------------------------- */

/* One of the unit's columns, and the segment of it that the first stripe lies in. */
static void
add_column(MoveUnit *unit, AttrNumber attno)
{
	Relation	rel = unit->compaction->rel;
	ZsSegmentItem *cover = &unit->covers[unit->ncolumns];
	ZsSegmentItem next;
	zstid		from = unit->first;

	if (zsattr_find_segment(rel, attno, unit->first, true, cover))
		from = cover->first_row + cover->nrows;
	else
		cover->nrows = 0;
	if (zsattr_find_segment(rel, attno, from, false, &next))
		unit->limit = Min(unit->limit, next.first_row);
	unit->builders[unit->ncolumns++] =
		zsvacuum_builder_create(rel, attno, cover->nrows > 0 ?
								Min(cover->first_row, unit->first) : unit->first,
								NULL);
}

/* Columns of the unit; xmin, which all rows have, is the last. */
static void
init_columns(MoveUnit *unit)
{
	Relation	rel = unit->compaction->rel;
	TupleDesc	desc = RelationGetDescr(rel);

	Assert(unit->ncolumns == 0 && unit->first % ZS_STRIPE_ROWS == 0);
	unit->builders = palloc0_array(ZsColumnBuilder *, desc->natts + 1);
	unit->covers = palloc0_array(ZsSegmentItem, desc->natts + 1);
	unit->limit = unit->first + ZS_MAX_SEGMENT_ROWS;
	for (int i = 0; i < Min(unit->natts, desc->natts); i++)
	{
		if (!TupleDescAttr(desc, i)->attisdropped)
			add_column(unit, i + 1);
	}
	if (zspage_keeps_xmin(rel))
		add_column(unit, ZS_XMIN_ATTNO);
}

/* Do the segments of all columns have all live rows of the first stripe's batch? */
static bool
is_covered(const MoveUnit *unit)
{
	for (int k = 0; k < unit->ncolumns; k++)
	{
		const ZsSegmentItem *cover = &unit->covers[k];

		if (cover->nrows == 0)
			return false;
		for (int i = 0; i < unit->batch->nitems; i++)
		{
			zstid		row = zsrow_item_row(unit->batch->items[i]);

			Assert(row - unit->stripe.first < ZS_STRIPE_ROWS);
			if (unit->stripe.fates[row - unit->stripe.first] == ZS_FATE_LIVE &&
				row - cover->first_row >= cover->nrows)
				return false;
		}
	}
	return unit->ncolumns > 0;
}

/*
 * Would a long segment have to be rewritten for a part of its last stripe?  One of xmin may be, as
 * it costs next to nothing.
 */
static bool
is_straggler(const MoveUnit *unit)
{
	for (int k = 0; k < unit->ncolumns; k++)
	{
		if (unit->covers[k].nrows > 0 && unit->builders[k]->attno != ZS_XMIN_ATTNO &&
			unit->covers[k].first_row + MAX_ROUND_OUT < unit->first)
			return true;
	}
	return false;
}

/*
 * Rows before or behind the unit that a column's segment has, too.
 */
static void
gather_rest(MoveUnit *unit, ZsColumnBuilder *builder, zstid first, zstid end)
{
	ZsStripe   *stripe = palloc(sizeof(ZsStripe));

	Assert(first <= end && first % ZS_STRIPE_ROWS == 0);
	Assert(builder->first + builder->nrows == first);
	for (zstid row = first; row < end; row += ZS_STRIPE_ROWS)
	{
		vacuum_delay_point_compat();
		zsvacuum_load_stripe(unit->compaction, row, stripe);
		(void) zsvacuum_gather(&builder, 1, stripe,
							   (uint32) Min(end - row, (zstid) ZS_STRIPE_ROWS), NULL);
	}
	pfree(stripe);
}

/* ---- growing -------------------------------------------------------------------------- */

/* Takes the values of dropped columns along to the list of what is freed. */
static void
doom_dropped(MoveUnit *unit)
{
	for (int i = 0; i < unit->batch->nitems; i++)
	{
		zstid		row = zsrow_item_row(unit->batch->items[i]);

		if (unit->stripe.fates[row - unit->stripe.first] == ZS_FATE_LIVE)
			zsvacuum_doom_dropped(&unit->compaction->doomed, unit->batch->items[i]);
	}
}

static void
add_stripe(MoveUnit *unit)
{
	Assert(unit->stripe.first == unit->end && unit->end < unit->limit);
	unit->nrows += zsvacuum_gather(unit->builders, unit->ncolumns, &unit->stripe,
								   ZS_STRIPE_ROWS, unit->batch);
	unit->end = unit->stripe.first + ZS_STRIPE_ROWS;
}

static Size
memory_used(const MoveUnit *unit)
{
	Size		size = 0;

	for (int k = 0; k < unit->ncolumns; k++)
		size += unit->builders[k]->size;
	return size;
}

/* Are the stripes from the unit's end to `end` free of rows, and will they stay so? */
static bool
is_gap(MoveUnit *unit, zstid end)
{
	Assert(end >= unit->end && end % ZS_STRIPE_ROWS == 0);
	if (end - unit->end > MAX_GAP_STRIPES * ZS_STRIPE_ROWS)
		return false;
	for (zstid row = unit->end; row < end; row += ZS_STRIPE_ROWS)
	{
		if (zsvacuum_stripe_is_open(unit->compaction, row))
			return false;
		zsvacuum_load_stripe(unit->compaction, row, &unit->stripe);
		if (!unit->stripe.settled || unit->stripe.unused || unit->stripe.nlive > 0)
			return false;
	}
	return true;
}

/*
 * Adds the next stripe that has rows in the row tree, and what lies between as holes; false if the
 * unit ends before it.  A unit ends with a stripe that has rows: a transaction whose buffered rows
 * were rolled back may still write a segment over stripes without (write_parts.c).
 */
static bool
grow_unit(MoveUnit *unit)
{
	ZsCompaction *compaction = unit->compaction;
	zstid		next = zsrow_next(compaction->rel, unit->end);
	int			natts = 0;

	Assert(unit->end > unit->first && unit->end % ZS_STRIPE_ROWS == 0);
	vacuum_delay_point_compat();
	if (next == ZS_INVALID_ROW || memory_used(unit) > (Size) zs_write_buffer_size * 1024)
		return false;
	next -= next % ZS_STRIPE_ROWS;
	if (next >= unit->limit || !is_gap(unit, next) ||
		!zsvacuum_close_stripe(compaction, next, &unit->stripe, unit->batch) ||
		zsvacuum_count_live(&unit->stripe, unit->batch, &natts) == 0 ||
		natts != unit->natts)
		return false;
	if (next > unit->end)
	{
		ZsStripe   *gap = palloc(sizeof(ZsStripe));

		memset(gap, 0, sizeof(ZsStripe));
		for (; unit->end < next; unit->end += ZS_STRIPE_ROWS)
			(void) zsvacuum_gather(unit->builders, unit->ncolumns, gap, ZS_STRIPE_ROWS, NULL);
		pfree(gap);
	}
	add_stripe(unit);
	return true;
}

/* Are the unit's rows worth segments of their own, or with the small one before? */
static bool
is_large_enough(const MoveUnit *unit)
{
	ZsSegmentItem item;
	uint64		nrows = unit->nrows;

	if (unit->compaction->force)
		return nrows > 0;
	if (unit->first > 0 &&
		zsattr_find_segment(unit->compaction->rel, unit->builders[0]->attno, unit->first - 1, true,
							&item) &&
		item.nrows <= ZS_MAX_SEGMENT_ROWS - ZS_STRIPE_ROWS)
		nrows += item.nrows - item.nholes;
	return nrows >= (uint64) zs_min_segment_rows;
}

/* ---- moving ---------------------------------------------------------------------------- */

/*
 * Takes the unit's live rows out of the row tree.
 */
static void
forget_rows(MoveUnit *unit)
{
	ZsCompaction *compaction = unit->compaction;
	zstid		row = unit->first;
	bool		any_dropped = false;

	Assert(unit->end > unit->first);
	for (int i = 0; i < RelationGetDescr(compaction->rel)->natts; i++)
		any_dropped |= TupleDescAttr(RelationGetDescr(compaction->rel), i)->attisdropped;
	while ((row = zsrow_next(compaction->rel, row)) < unit->end)
	{
		row -= row % ZS_STRIPE_ROWS;
		vacuum_delay_point_compat();
		zsvacuum_load_stripe(compaction, row, &unit->stripe);
		if (any_dropped)
		{
			zsrow_fetch_range(compaction->rel, row, row + ZS_STRIPE_ROWS, unit->batch);
			doom_dropped(unit);
		}
		zsvacuum_forget_rows(compaction, &unit->stripe);
		row += ZS_STRIPE_ROWS;
	}
}

/* Writes the columns of the unit. */
static bool
write_columns(MoveUnit *unit)
{
	ZsCompaction *compaction = unit->compaction;
	ZsAttrRewrite *rewrites = palloc_array(ZsAttrRewrite, unit->ncolumns);
	bool		done = true;

	for (int k = 0; k < unit->ncolumns; k++)
	{
		Assert(unit->builders[k]->first + unit->builders[k]->nrows >= unit->end);
		zsvacuum_builder_end(unit->builders[k]);
		unit->builders[k]->natts = Min(unit->builders[k]->natts, unit->natts);
		zsvacuum_builder_rewrite(unit->builders[k], &rewrites[k]);
	}
	compaction->builders = unit->builders;
	compaction->nbuilders = unit->ncolumns;
	zsattr_rewrite(compaction->rel, rewrites, unit->ncolumns, NULL, compaction->strategy,
				   zsvacuum_segment_gone, compaction);
	compaction->nbuilders = 0;
	for (int k = 0; k < unit->ncolumns; k++)
		done &= rewrites[k].done;
	zsvacuum_add_range(&compaction->changed, unit->first, unit->end);
	return done;
}

/*
 * Moves the unit that begins with the given stripe, which has rows in the row tree, if it can and
 * is worth it.  Returns where the next one may begin.
 */
static zstid
move_unit(ZsCompaction *compaction, zstid first)
{
	MoveUnit   *unit = palloc0_object(MoveUnit);
	bool		done;

	Assert(first % ZS_STRIPE_ROWS == 0);
	unit->compaction = compaction;
	unit->first = unit->end = first;
	unit->batch = zsrow_batch_create(CurrentMemoryContext);
	if (!zsvacuum_close_stripe(compaction, first, &unit->stripe, unit->batch) ||
		zsvacuum_count_live(&unit->stripe, unit->batch, &unit->natts) == 0)
		return first + ZS_STRIPE_ROWS;
	init_columns(unit);
	if (unit->ncolumns == 0)
		return first + ZS_STRIPE_ROWS;

	if (is_covered(unit))
	{
		/* an earlier run did not get to the end */
		unit->end = first + ZS_STRIPE_ROWS;
		forget_rows(unit);
		zsvacuum_doomed_free(&compaction->doomed);
		return unit->end;
	}
	if (!compaction->force && is_straggler(unit))
	{
		compaction->rows_left += zsvacuum_count_live(&unit->stripe, unit->batch, &unit->natts);
		return first + ZS_STRIPE_ROWS;
	}

	for (int k = 0; k < unit->ncolumns; k++)
		gather_rest(unit, unit->builders[k], unit->builders[k]->first, first);
	add_stripe(unit);
	while (grow_unit(unit))
		;
	if (!is_large_enough(unit))
	{
		compaction->rows_left += unit->nrows;
		for (int k = 0; k < unit->ncolumns; k++)
			zsvacuum_builder_end(unit->builders[k]);
		return unit->end;
	}
	for (int k = 0; k < unit->ncolumns; k++)
	{
		const ZsSegmentItem *cover = &unit->covers[k];

		if (cover->nrows > 0 && cover->first_row + cover->nrows > unit->end)
			gather_rest(unit, unit->builders[k], unit->end, cover->first_row + cover->nrows);
	}
	done = write_columns(unit);
	ZS_INJECTION_POINT("zs-compact-linked");
	if (done)
	{
		forget_rows(unit);
		compaction->rows_moved += unit->nrows;
	}
	ZS_INJECTION_POINT("zs-compact-moved");
	zsvacuum_doomed_free(&compaction->doomed);
	return unit->end;
}

/* Rows of the row tree become columns (vacuum_move.c). */
void
zsvacuum_move_rows(ZsCompaction *compaction)
{
	zstid		row = 0;

	while ((row = zsrow_next(compaction->rel, row)) != ZS_INVALID_ROW &&
		   row < compaction->next_row)
	{
		MemoryContext oldcontext;
		zstid		end;

		vacuum_delay_point_compat();
		MemoryContextReset(compaction->context);
		oldcontext = MemoryContextSwitchTo(compaction->context);
		end = move_unit(compaction, row - row % ZS_STRIPE_ROWS);
		Assert(end > row);
		row = end;
		MemoryContextSwitchTo(oldcontext);
	}
}
