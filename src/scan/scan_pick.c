/*-------------------------------------------------------------------------
 *
 * scan_pick.c
 *	  Which stripes will a sequential scan ask for, as far as zone maps tell?
 *
 * For look-ahead, which would read all pages of a segment else: columns have a stream each, which
 * asks for a segment's rows when it comes to it (attr_pick.c).  What one of them was told is kept
 * for the others, whose segments mostly have the same rows.
 *
 * It takes the heads of the filter's columns, read before the scan comes to them.  Where the filter
 * left out nothing lately, that is time lost if they have to be waited for.  So then only some
 * segments are looked at, the fewer the longer that goes on.
 *
 * Nothing depends on the answer but what is read ahead.  Nothing is locked between calls.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_pick.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/rel.h"

#include "scan_batch.h"
#include "scan_desc.h"
#include "zs_attr.h"
#include "zs_row.h"

/* Answers that are kept.  Look-ahead over a narrow column is some segments ahead of others. */
#define KEPT_PICKS		32

/* Segments that are not looked at, after all of one was picked again and again. */
#define MAX_PAUSE		8

#define ALL_STRIPES		PG_UINT64_MAX

typedef struct Pick
{
	zstid		first;
	uint32		nrows;			/* 0: none yet */
	uint64		stripes;
} Pick;

/* Beside the source, whose streams ask; as long as the scan. */
struct ZsScanPick
{
	ZsStripePicks picks;
	ZsScanDesc	scan;
	const ZsSlot *slot;			/* that the scan fills; NULL: not begun */
	ZsAttrReader **heads;		/* of the filters' columns, by attribute; NULL: not yet */
	uint32		pause;			/* segments that are not looked at ... */
	uint32		paused;			/* ... of which so many are behind */
	uint32		npicks;
	Pick		kept[KEPT_PICKS];	/* the last ones, at number % KEPT_PICKS */
};

/* Takes the stripes of [from, until) out of those of the pick. */
static void
leave_out(Pick *pick, zstid from, zstid until)
{
	/* a part of a stripe stays */
	uint32		first = (uint32) ((from - pick->first + ZS_STRIPE_ROWS - 1) / ZS_STRIPE_ROWS);
	uint32		end = (uint32) ((until - pick->first) / ZS_STRIPE_ROWS);

	if (until == pick->first + pick->nrows)
		end = (pick->nrows + ZS_STRIPE_ROWS - 1) / ZS_STRIPE_ROWS;
	for (uint32 i = first; i < end; i++)
		pick->stripes &= ~(UINT64CONST(1) << i);
}

/* The reader for heads of a column. */
static ZsAttrReader *
head_reader(ZsScanPick *picks, AttrNumber attno)
{
	ZsRowSource *source = picks->scan->source;
	MemoryContext old = MemoryContextSwitchTo(source->context);

	if (picks->heads == NULL)
		picks->heads = palloc0_array(ZsAttrReader *, source->desc->natts);
	if (picks->heads[attno - 1] == NULL)
		picks->heads[attno - 1] = zsattr_reader_begin(source->rel, source->desc, attno, 0,
													  source->strategy);
	MemoryContextSwitchTo(old);
	return picks->heads[attno - 1];
}

/* Takes out what the zone maps of the vectors of [from, until), in one segment, exclude. */
static void
apply_vectors(ZsScanPick *picks, const ZsZoneFilter *filter, Pick *pick, zstid from, zstid until)
{
	for (zstid stripe = from - from % ZS_STRIPE_ROWS; stripe < until; stripe += ZS_STRIPE_ROWS)
	{
		zstid		begin = Max(stripe, from);
		zstid		end = Min(stripe + ZS_STRIPE_ROWS, until);
		const ZsSegmentInfo *info;
		ZsColumnBounds bounds;
		int			vecno;

		if ((pick->stripes >> ((stripe - pick->first) / ZS_STRIPE_ROWS) & 1) == 0)
			continue;
		info = zsattr_reader_info(head_reader(picks, filter->attno), stripe, &vecno);
		if (info == NULL || info->vectors[vecno].nrows < end - stripe)
			continue;
		bounds = zsscan_bounds_of(info, &info->vectors[vecno]);
		if (zsscan_zone_excludes(filter, &bounds))
			leave_out(pick, begin, end);
	}
}

/* Takes out what the filter excludes. */
static void
apply_filter(ZsScanPick *picks, const ZsZoneFilter *filter, Pick *pick)
{
	zstid		end = pick->first + pick->nrows;
	zstid		row = pick->first;
	ZsSegmentItem item;

	while (row < end && pick->stripes != 0 &&
		   zsattr_find_segment(picks->scan->source->rel, filter->attno, row, false, &item))
	{
		zstid		from = Max(row, item.first_row);
		zstid		until = Min(item.first_row + item.nrows, end);

		CHECK_FOR_INTERRUPTS();
		if (item.first_row >= end)
			break;
		if (zsscan_zone_excludes_segment(filter, &item))
			leave_out(pick, from, until);
		else
			apply_vectors(picks, filter, pick, from, until);
		row = until;
	}
}

/* Finds out about the rows of the pick. */
static void
look(ZsScanPick *picks, Pick *pick)
{
	uint64		all = PG_UINT64_MAX >> (63 - (pick->nrows - 1) / ZS_STRIPE_ROWS);
	const ZsSlot *slot = picks->slot;

	pick->stripes = ALL_STRIPES;
	if (slot == NULL || slot->nfilters == 0)
		return;
	if (picks->paused < picks->pause)
	{
		picks->paused++;
		return;
	}
	pick->stripes = all;
	for (int i = 0; i < slot->nfilters; i++)
	{
		/* others are asked when the scan comes to the segment */
		if (slot->filters[i].test == NULL)
			apply_filter(picks, &slot->filters[i], pick);
	}
	/* rows of the row tree are in no zone map */
	if (pick->stripes != all &&
		zsrow_next(picks->scan->source->rel, pick->first) < pick->first + pick->nrows)
		pick->stripes = all;
	picks->paused = 0;
	picks->pause = pick->stripes != all ? 0 : Min(MAX_PAUSE, 2 * picks->pause + 1);
}

/* ZsStripePicker */
static uint64
pick_stripes(void *arg, zstid first, uint32 nrows)
{
	ZsScanPick *picks = arg;
	Pick		pick = {.first = first,.nrows = nrows};

	Assert(first % ZS_STRIPE_ROWS == 0 && nrows > 0 && nrows <= ZS_SEGMENT_ROWS);
	for (int i = 0; i < KEPT_PICKS; i++)
	{
		const Pick *kept = &picks->kept[i];

		if (kept->first == first && kept->nrows == nrows)
			return kept->stripes;
	}
	look(picks, &pick);
	picks->kept[picks->npicks++ % KEPT_PICKS] = pick;
	return pick.stripes;
}

/* Gives the scan's source the picks.  Before its first range. */
void
zsscan_pick_begin(ZsScanDesc scan)
{
	ZsScanPick *picks = MemoryContextAllocZero(scan->source->context, sizeof(ZsScanPick));

	picks->scan = scan;
	picks->picks.pick = pick_stripes;
	picks->picks.arg = picks;
	scan->pick = picks;
	scan->source->picks = &picks->picks;
}

/*
 * The scan goes on for the slot, whose filters stay as they are; NULL: it begins, again maybe.
 * picks may be NULL.
 */
void
zsscan_pick_for(ZsScanPick *picks, const ZsSlot *slot)
{
	if (picks == NULL || picks->slot == slot)
		return;
	picks->slot = slot;
	picks->pause = picks->paused = 0;
	memset(picks->kept, 0, sizeof(picks->kept));
}

/* Ends the readers.  picks may be NULL. */
void
zsscan_pick_end(ZsScanPick *picks)
{
	int			natts = picks == NULL ? 0 : picks->scan->source->desc->natts;

	for (int i = 0; i < natts && picks->heads != NULL; i++)
	{
		if (picks->heads[i] != NULL)
			zsattr_reader_end(picks->heads[i]);
	}
}
