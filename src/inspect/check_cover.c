/*-------------------------------------------------------------------------
 *
 * check_cover.c
 *	  zs_check(): every row that somebody may ask for has its data.
 *
 * A row's data are in the row tree or, column by column, in segments.  Rows only
 * move from there to here, and a reader looks in this order, so does the check.
 *
 *	rows needed		[......................]  [.........]
 *	in row tree			 [...]
 *	to be covered	[...]	  [............]  [.........]	by segments of each column
 *
 * A column that was added later has no segments for older rows.  What tells
 * is how many attributes the table had when the segments of other columns
 * were written; the first attribute has always been there.
 *
 * A row number that may still be handed out must not be covered: a reader that found it in a
 * copy of the segment would take it for a row without a value.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/check_cover.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "check_internal.h"
#include "zs_row.h"

/* Rows that are looked at in one protected step. */
#define STEP_ROWS		(64 * ZS_STRIPE_ROWS)

/* What is known about a column. */
typedef struct CoverColumn
{
	zstid		first;			/* segment found last covers [first, end) */
	zstid		end;
	int			natts;			/* from its flags */
	zstid		gap_first;		/* no segment in here, and that was settled */
	zstid		gap_end;
} CoverColumn;

/* Kept over the leaves of a pass. */
typedef struct ZsCover
{
	MemoryContext context;
	int			natts;
	CoverColumn *columns;		/* one per attribute, and the last of xmin */
	ZsRowBatch *batch;
} ZsCover;

typedef struct CoverStep
{
	zstid		first;
	zstid		end;
	int			nruns;
	const ZsTidRun *runs;
	const ZsRowFate *fates;
} CoverStep;

static ZsCover *
get_cover(ZsCheck *check)
{
	if (check->cover == NULL)
	{
		MemoryContext context = AllocSetContextCreate(GetMemoryChunkContext(check),
													  "zedstore check of coverage",
													  ALLOCSET_DEFAULT_SIZES);
		ZsCover    *cover = MemoryContextAllocZero(context, sizeof(ZsCover));

		cover->context = context;
		cover->natts = RelationGetNumberOfAttributes(check->rel);
		cover->columns = MemoryContextAllocZero(context,
												(cover->natts + 1) * sizeof(CoverColumn));
		cover->batch = zsrow_batch_create(context);
		check->cover = cover;
	}
	return check->cover;
}

/* What is known about column attno, which may be ZS_XMIN_ATTNO. */
static CoverColumn *
cover_column(ZsCheck *check, int attno)
{
	ZsCover    *cover = get_cover(check);

	Assert(attno == ZS_XMIN_ATTNO || (attno >= 1 && attno <= cover->natts));
	return &cover->columns[attno == ZS_XMIN_ATTNO ? cover->natts : attno - 1];
}

/* ---- segments --------------------------------------------------------------------- */

/* Looks the segment that covers row up, past everything remembered. */
static bool
find_segment(ZsCheck *check, int attno, zstid row)
{
	CoverColumn *column = cover_column(check, attno);
	ZsSegmentItem item;

	if (!zsattr_find_segment(check->rel, attno, row, true, &item))
		return false;
	column->first = item.first_row;
	column->end = item.first_row + item.nrows;
	column->natts = ZsSegmentFlagsNatts(item.flags);
	return true;
}

static inline bool
covers(const CoverColumn *column, zstid row)
{
	return column->first <= row && row < column->end;
}

/*
 * How many attributes the table had when the columns at row were written; 0 if no column says.
 * *end: up to which row that holds.
 */
static int
natts_at(ZsCheck *check, zstid row, zstid *end)
{
	ZsCover    *cover = get_cover(check);

	for (int attno = 1; attno <= cover->natts; attno++)
	{
		CoverColumn *column = &cover->columns[attno - 1];

		if (covers(column, row) || find_segment(check, attno, row))
		{
			*end = Min(*end, column->end);
			return column->natts;
		}
	}
	return 0;
}

/* First row behind row for which some column has a segment. */
static zstid
next_segment(ZsCheck *check, zstid row)
{
	zstid		next = ZS_MAX_ROW;

	for (int attno = 1; attno <= get_cover(check)->natts; attno++)
	{
		ZsSegmentItem item;

		if (zsattr_find_segment(check->rel, attno, row, false, &item))
			next = Min(next, item.first_row);
	}
	return next;
}

/* Has some column a segment that begins before row? */
static bool
has_segment_before(ZsCheck *check, zstid row)
{
	for (int attno = 1; attno <= get_cover(check)->natts; attno++)
	{
		ZsSegmentItem item;

		if (zsattr_find_segment(check->rel, attno, 0, false, &item) && item.first_row < row)
			return true;
	}
	return false;
}

/*
 * No segment of the column covers row, which is not in the row tree: is that an error?
 * Settles the question up to the next segment of this or another column.
 */
static void
settle_gap(ZsCheck *check, int attno, zstid row)
{
	CoverColumn *column = cover_column(check, attno);
	ZsSegmentItem item;
	zstid		end = ZS_MAX_ROW;
	int			natts;

	Assert(!covers(column, row));
	if (zsattr_find_segment(check->rel, attno, row, false, &item))
		end = item.first_row;
	natts = natts_at(check, row, &end);
	column->gap_first = row;
	column->gap_end = Max(end, row + 1);

	/* xmin, which has a negative number, is as old as the table */
	if (attno <= natts || (attno == 1 && has_segment_before(check, row)))
		zscheck_error(check, check->entries[ZsTreeOfAttr(attno)].root != 0 ?
					  check->entries[ZsTreeOfAttr(attno)].root : InvalidBlockNumber,
					  ZsTreeOfAttr(attno),
					  "column \"%s\" has no data for row " UINT64_FORMAT,
					  NameStr(zsattr_form(RelationGetDescr(check->rel), attno)->attname),
					  row);
	else if (natts == 0)
	{
		/*
		 * the first rows may be of a time when the table had no columns at all, of which nothing
		 * tells
		 */
		if (attno == 1)
			zscheck_report(check, ZS_SEVERITY_NOTICE, InvalidBlockNumber, ZsTreeOfAttr(attno),
						   "column \"%s\" has no data for row " UINT64_FORMAT ", which is right if the table had no columns then",
						   NameStr(TupleDescAttr(RelationGetDescr(check->rel), attno - 1)->attname),
						   row);
		column->gap_end = Max(next_segment(check, row), row + 1);
	}
}

/* Rows [first, end) must be covered by segments of the column. */
static void
check_column(ZsCheck *check, int attno, zstid first, zstid end)
{
	CoverColumn *column = cover_column(check, attno);

	while (first < end)
	{
		if (covers(column, first) || (column->gap_first > first || first >= column->gap_end))
		{
			if (covers(column, first) || find_segment(check, attno, first))
			{
				Assert(column->end > first);
				first = column->end;
				continue;
			}
			settle_gap(check, attno, first);
		}
		Assert(column->gap_end > first);
		first = column->gap_end;
		CHECK_FOR_INTERRUPTS();
	}
}

static void
check_columns(ZsCheck *check, zstid first, zstid end)
{
	TupleDesc	desc = RelationGetDescr(check->rel);

	if (first >= end)
		return;
	for (int attno = 1; attno <= get_cover(check)->natts; attno++)
	{
		if (!TupleDescAttr(desc, attno - 1)->attisdropped)
			check_column(check, attno, first, end);
	}
	if (ZS_KEEPS_XMIN(check->meta.version))
		check_column(check, ZS_XMIN_ATTNO, first, end);
}

/* ---- rows ---------------------------------------------------------------------------- */

/* Rows [first, end), all needed, within a stripe: those not in the row tree are in segments. */
static void
check_stripe(ZsCheck *check, zstid first, zstid end)
{
	ZsRowBatch *batch = get_cover(check)->batch;
	zstid		next = first;

	Assert(first < end && first / ZS_STRIPE_ROWS == (end - 1) / ZS_STRIPE_ROWS);
	zsrow_fetch_range(check->rel, first, end, batch);
	for (int i = 0; i < batch->nitems; i++)
	{
		zstid		row = zsrow_item_row(batch->items[i]);

		Assert(row >= next && row < end);
		check_columns(check, next, row);
		next = row + 1;
	}
	check_columns(check, next, end);
}

static void
check_rows(ZsCheck *check, zstid first, zstid end)
{
	zstid		next_tree_row = 0;	/* no row of the row tree in [first, this) */

	while (first < end)
	{
		zstid		stripe_end = Min(end, first - first % ZS_STRIPE_ROWS + ZS_STRIPE_ROWS);

		CHECK_FOR_INTERRUPTS();
		if (next_tree_row <= first)
			next_tree_row = zsrow_next(check->rel, first);
		if (next_tree_row >= stripe_end)
		{
			zstid		clear_end = Min(end, next_tree_row);

			check_columns(check, first, clear_end);
			first = clear_end;
		}
		else
		{
			check_stripe(check, first, stripe_end);
			first = stripe_end;
			next_tree_row = 0;
		}
	}
}

/*
 * Row numbers [first, end) were unused when the leaf was copied.  Writers that have taken some
 * since may have written segments, so what is covered is asked for again.
 */
static void
check_unused_in(ZsCheck *check, int attno, zstid first, zstid end)
{
	zstid		row = first;
	ZsSegmentItem item;

	while (row < end && zsattr_find_segment(check->rel, attno, row, false, &item) &&
		   item.first_row < end)
	{
		CHECK_FOR_INTERRUPTS();
		row = Max(row, item.first_row);
		if (zstid_is_unused(check->rel, row))
		{
			zscheck_error(check, item.start, ZsTreeOfAttr(attno),
						  "column \"%s\" has a segment for row " UINT64_FORMAT ", which may still be handed out",
						  NameStr(zsattr_form(RelationGetDescr(check->rel), attno)->attname), row);
			return;
		}
		row = item.first_row + item.nrows;
	}
}

/* The same for all columns. */
static void
check_unused(ZsCheck *check, zstid first, zstid end)
{
	TupleDesc	desc = RelationGetDescr(check->rel);

	for (int attno = 1; attno <= get_cover(check)->natts; attno++)
	{
		if (!TupleDescAttr(desc, attno - 1)->attisdropped)
			check_unused_in(check, attno, first, end);
	}
	check_unused_in(check, ZS_XMIN_ATTNO, first, end);
}

/* ZsCheckStep: neighbouring runs whose rows are all needed make one range. */
static void
check_step(ZsCheck *check, void *arg)
{
	CoverStep  *step = arg;
	zstid		first = 0;
	zstid		end = 0;

	for (int i = 0; i < step->nruns; i++)
	{
		zstid		run_first = Max(step->runs[i].first, step->first);
		zstid		run_end = Min(step->runs[i].first + step->runs[i].count, step->end);

		if (run_first < run_end && step->runs[i].slotno == ZS_SLOT_UNUSED)
			check_unused(check, run_first, run_end);
		if (run_first >= run_end || !step->fates[i].needed)
			continue;
		if (run_first != end)
		{
			check_rows(check, first, end);
			first = run_first;
		}
		end = run_end;
	}
	check_rows(check, first, end);
}

/*
 * Rows of these runs with fates[i].needed have data in every column that
 * existed.
 */
void
zscheck_cover(ZsCheck *check, BlockNumber blkno, int nruns, const ZsTidRun *runs,
			  const ZsRowFate *fates)
{
	zstid		end = nruns > 0 ? runs[nruns - 1].first + runs[nruns - 1].count : 0;
	int			run = 0;

	for (zstid first = nruns > 0 ? runs[0].first : 0; first < end; first += STEP_ROWS)
	{
		CoverStep	step = {.first = first, .end = Min(first + STEP_ROWS, end)};
		char	   *error;
		int			last;

		/* the runs that the step touches */
		while (runs[run].first + runs[run].count <= step.first)
			run++;
		for (last = run; last + 1 < nruns && runs[last + 1].first < step.end; last++)
			;
		step.nruns = last - run + 1;
		step.runs = runs + run;
		step.fates = fates + run;

		error = zscheck_protect(check, check_step, &step);
		if (error != NULL)
		{
			zscheck_error(check, blkno, ZS_TREE_TID,
						  "data of rows " UINT64_FORMAT " to " UINT64_FORMAT " cannot be looked for: %s",
						  step.first, step.end - 1, error);
			pfree(error);
		}
	}
}
