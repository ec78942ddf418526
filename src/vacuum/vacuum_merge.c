/*-------------------------------------------------------------------------
 *
 * vacuum_merge.c
 *	  Segments that lost rows, and small ones.
 *
 * Where something changed, the segments of each column are judged by how many of
 * their rows are left; the TID tree tells, columns are not read for it:
 *
 *	- a segment without a row that somebody may ask for is dropped;
 *	- one that lost more than a sixth of the rows it had is written anew.  Autovacuum comes
 *	  when a fifth of a table has changed, and then makes it as small as it can be: of heap it
 *	  would write as many pages, and larger ones;
 *	- neighbours that together have at least twice the rows of the largest of
 *	  them become one, as long as that is no longer than 64 stripes and its values no
 *	  more than zedstore.write_buffer_size.  So a
 *	  row that came with a trickle is written anew a number of times that grows
 *	  with the logarithm of the segment it ends in.
 *
 * The first of these is done by itself before the others (drop_only), since it takes no space.
 *
 * A merge closes the stripes between its segments, and takes along what the row tree
 * has there.  When all columns have such rows they leave the row tree.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_merge.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/vacuum.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "vacuum_compact.h"

#define SEGMENT_STRIPES		(ZS_MAX_SEGMENT_ROWS / ZS_STRIPE_ROWS)

/* Stripes that are looked at together; segments may reach beyond by one segment less a stripe. */
#define WINDOW_STRIPES		1024

/* As many groups in a row are encoded as was chosen for the first, like those of a flush. */
#define MAX_CONTINUED		4

#define STRIPE_UNSETTLED	0x01	/* an inserter is running, or a cursor is there */
#define STRIPE_UNUSED		0x02	/* some row number may be handed out */

typedef struct Window
{
	ZsCompaction *compaction;
	zstid		first;
	zstid		end;			/* segments that begin before are judged */
	zstid		known_end;		/* of the stripes below */
	uint16		nlive[WINDOW_STRIPES + SEGMENT_STRIPES];
	uint8		flags[WINDOW_STRIPES + SEGMENT_STRIPES];

	/* of the column that is being written */
	ZsEncoder	encoder;
	int			nwritten;		/* groups since the encoder chose anew; 0 = it does next */
	uint64		chosen_for;		/* live rows of the group it chose for */
} Window;

/* ---- the window ---------------------------------------------------------------------- */

/* ZsTidRunVisitor */
static void
count_run(const ZsTidRun *run, ZsVisSlot *vis, void *arg)
{
	Window	   *window = arg;
	zstid		row = run->first;
	zstid		end = run->first + run->count;
	bool		live = run->slotno == ZS_SLOT_FROZEN;
	uint8		flags = run->slotno == ZS_SLOT_UNUSED ? STRIPE_UNUSED : 0;

	Assert(row >= window->first && end <= window->known_end);
	if (vis != NULL)
	{
		ZsVacuumState state = zstid_satisfies_vacuum(vis, InvalidTransactionId, InvalidBuffer);

		live = state != ZS_VACUUM_DEAD;
		if (state == ZS_VACUUM_INSERT_IN_PROGRESS || zstid_is_current_xact(vis))
			flags = STRIPE_UNSETTLED;
	}
	while (row < end)
	{
		int			i = (int) ((row - window->first) / ZS_STRIPE_ROWS);
		zstid		stripe_end = Min(end, window->first + (zstid) (i + 1) * ZS_STRIPE_ROWS);

		if (live)
			window->nlive[i] += (uint16) (stripe_end - row);
		window->flags[i] |= flags;
		row = stripe_end;
	}
}

static void
load_window(Window *window, zstid first, zstid end)
{
	ZsCompaction *compaction = window->compaction;

	Assert(first % ZS_STRIPE_ROWS == 0 && first < end);
	Assert(end - first <= WINDOW_STRIPES * (zstid) ZS_STRIPE_ROWS);
	window->first = first;
	window->end = end;
	window->known_end = Min(end + ZS_MAX_SEGMENT_ROWS, ZS_MAX_ROW - ZS_MAX_ROW % ZS_STRIPE_ROWS);
	memset(window->nlive, 0, sizeof(window->nlive));
	memset(window->flags, 0, sizeof(window->flags));
	zstid_visit_runs(compaction->rel, first, window->known_end, count_run, window);
	for (int i = 0; i < ZS_INSERT_CURSORS; i++)
	{
		zstid		cursor = compaction->cursors[i];

		if (cursor != ZS_INVALID_ROW && cursor >= first && cursor < window->known_end)
			window->flags[(cursor - first) / ZS_STRIPE_ROWS] |= STRIPE_UNSETTLED;
	}
	for (zstid row = Max(first,
						 compaction->next_row); row < window->known_end; row += ZS_STRIPE_ROWS)
		window->flags[(row - first) / ZS_STRIPE_ROWS] |= STRIPE_UNSETTLED;
}

/* Live rows among [first, end); rows of a stripe that a segment ends in count as its own. */
static uint64
count_live(const Window *window, zstid first, zstid end)
{
	uint64		n = 0;

	Assert(first >= window->first && end <= window->known_end);
	for (zstid row = first; row < end; row += ZS_STRIPE_ROWS)
		n += Min(window->nlive[(row - window->first) / ZS_STRIPE_ROWS], end - row);
	return n;
}

/* ---- choosing -------------------------------------------------------------------------- */

/* A segment that is judged. */
typedef struct Candidate
{
	ZsSegmentItem item;
	uint64		nlive;
	bool		sparse;			/* lost more than a sixth of its rows */
} Candidate;

/*
 * Can the segments a and b, neighbours, become parts of one?  The stripes of both and between are
 * closed.
 */
static bool
can_join(const Window *window, const Candidate *a, const Candidate *b)
{
	zstid		a_end = a->item.first_row + a->item.nrows;
	zstid		b_end = b->item.first_row + b->item.nrows;

	if (ZsSegmentFlagsNatts(a->item.flags) != ZsSegmentFlagsNatts(b->item.flags))
		return false;
	for (zstid row = a->item.first_row; row < b_end; row += ZS_STRIPE_ROWS)
	{
		int			i = (int) ((row - window->first) / ZS_STRIPE_ROWS);

		if (window->flags[i] & STRIPE_UNSETTLED)
			return false;
		/* without a segment the row numbers may be about to be used */
		if ((window->flags[i] & STRIPE_UNUSED) && row >= a_end && row < b->item.first_row)
			return false;
	}
	return true;
}

/*
 * How many candidates from the first on are to become one: 0 if the first is to stay, 1 if it is to
 * be written anew alone.
 */
static int
choose_group(const Window *window, const Candidate *candidates, int ncandidates)
{
	zstid		first = candidates[0].item.first_row;
	uint64		total = candidates[0].nlive;
	uint64		largest = candidates[0].sparse ? 0 : candidates[0].nlive;
	uint64		size = candidates[0].item.raw_size;
	int			chosen = candidates[0].sparse ? 1 : 0;

	Assert(ncandidates > 0);
	for (int n = 1; n < ncandidates; n++)
	{
		const Candidate *next = &candidates[n];

		if (next->item.first_row + next->item.nrows - first > ZS_MAX_SEGMENT_ROWS ||
			size + next->item.raw_size > (uint64) zs_write_buffer_size * 1024 ||
			!can_join(window, next - 1, next))
			break;
		total += next->nlive;
		size += next->item.raw_size;
		if (!next->sparse)
			largest = Max(largest, next->nlive);
		if (total >= 2 * largest)
			chosen = n + 1;
	}
	return chosen;
}

/* ---- rewriting --------------------------------------------------------------------------- */

/* Segments that become one, in the order of their rows. */
typedef struct Group
{
	const Candidate *candidates;
	int			n;
} Group;

/* Groups of a column, and who reads them: while one is written those behind it are read ahead. */
typedef struct GroupList
{
	Group	   *groups;
	int			ngroups;
	ZsAttrReader *reader;
	ZsRowRanges ranges;			/* of the groups */
} GroupList;

static void
group_rows(const Group *group, zstid *first, zstid *end)
{
	const ZsSegmentItem *last = &group->candidates[group->n - 1].item;

	*first = group->candidates[0].item.first_row;
	*end = last->first_row + last->nrows;
}

/* ZsRangeSource: the rows of a group */
static bool
next_group(void *arg, uint64 number, zstid *start, zstid *end)
{
	const GroupList *list = arg;

	Assert(number > 0);
	if (number > (uint64) list->ngroups)
		return false;
	group_rows(&list->groups[number - 1], start, end);
	return true;
}

/*
 * May a group with so many rows be encoded as the ones before?  To choose takes most of the time
 * that strings take.
 */
static bool
continue_column(Window *window, uint64 nlive)
{
	Assert(window->nwritten >= 0 && window->nwritten <= MAX_CONTINUED);
	if (window->nwritten == 0 || window->nwritten >= MAX_CONTINUED ||
		nlive > 2 * window->chosen_for || nlive < window->chosen_for / 2)
	{
		window->nwritten = 1;
		window->chosen_for = nlive;
		return false;
	}
	window->nwritten++;
	return true;
}

/* Writes the rows of a group anew.  False if that could not be done. */
static bool
rewrite_group(Window *window, AttrNumber attno, GroupList *list, int number)
{
	ZsCompaction *compaction = window->compaction;
	Relation	rel = compaction->rel;
	const Candidate *candidates = list->groups[number].candidates;
	int			n = list->groups[number].n;
	zstid		first;
	zstid		end;
	ZsColumnBuilder *builder;
	ZsRowBatch *batch = zsrow_batch_create(CurrentMemoryContext);
	ZsStripe   *stripe = palloc(sizeof(ZsStripe));
	zstid		next_tree_row;
	uint64		nlive = 0;
	ZsAttrRewrite rewrite;

	group_rows(&list->groups[number], &first, &end);
	Assert(n > 0 && first < end);
	next_tree_row = zsrow_next(rel, first);
	list->ranges.number = number + 1;
	zsattr_reader_range(list->reader, first, end, &list->ranges);
	builder = zsvacuum_builder_create(rel, attno, first, list->reader);
	for (int i = 0; i < n; i++)
	{
		builder->natts = Min(builder->natts, ZsSegmentFlagsNatts(candidates[i].item.flags));
		nlive += candidates[i].nlive;
	}
	for (zstid row = first; row < end; row += ZS_STRIPE_ROWS)
	{
		uint32		nrows = (uint32) Min(end - row, (zstid) ZS_STRIPE_ROWS);

		vacuum_delay_point_compat();
		batch->nitems = 0;
		if (next_tree_row < row)
			next_tree_row = zsrow_next(rel, row);

		/* the stripe in which the group ends stays as open as it is */
		if (nrows < ZS_STRIPE_ROWS || n == 1)
			zsvacuum_load_stripe(compaction, row, stripe);
		else if (!zsvacuum_close_stripe(compaction, row, stripe, batch))
		{
			zsvacuum_builder_end(builder);
			return false;
		}
		else if (next_tree_row < row + ZS_STRIPE_ROWS)
			zsvacuum_add_range(&compaction->covered, row, row + ZS_STRIPE_ROWS);
		(void) zsvacuum_gather(&builder, 1, stripe, nrows, batch);
	}
	zsvacuum_builder_end(builder);
	zsvacuum_builder_rewrite(builder, &rewrite);
	compaction->builders = &builder;
	compaction->nbuilders = 1;
	rewrite.column.input.continues = continue_column(window, nlive);
	zsattr_rewrite(rel, &rewrite, 1, &window->encoder, compaction->strategy,
				   zsvacuum_segment_gone, compaction);
	compaction->nbuilders = 0;
	if (!rewrite.done)
		return false;
	compaction->nreplaced += n;
	/* of the table's columns */
	if (attno != ZS_XMIN_ATTNO)
		compaction->rows_rewritten += nlive;
	return true;
}

/* Writes anew what of the candidates is to be. */
static void
rewrite_groups(Window *window, AttrNumber attno, const Candidate *candidates, int ncandidates)
{
	ZsCompaction *compaction = window->compaction;
	Relation	rel = compaction->rel;
	GroupList	list = {.groups = palloc_array(Group, Max(ncandidates, 1))};

	list.ranges.source = next_group;
	list.ranges.arg = &list;
	for (int i = 0; i < ncandidates;)
	{
		int			n = choose_group(window, &candidates[i], ncandidates - i);

		if (n > 0)
			list.groups[list.ngroups++] = (Group) {&candidates[i], n};
		i += Max(n, 1);
	}
	if (list.ngroups > 0)
		list.reader = zsattr_reader_begin(rel, RelationGetDescr(rel), attno,
										  ZS_READER_STREAM | ZS_READER_MAINTENANCE, NULL);
	for (int i = 0; i < list.ngroups; i++)
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "zedstore merge",
													  ALLOCSET_DEFAULT_SIZES);
		MemoryContext oldcontext = MemoryContextSwitchTo(context);

		(void) rewrite_group(window, attno, &list, i);
		zsvacuum_doomed_free(&compaction->doomed);
		MemoryContextSwitchTo(oldcontext);
		MemoryContextDelete(context);
	}
	if (list.reader != NULL)
		zsattr_reader_end(list.reader);
	pfree(list.groups);
}

/* ZsTidRunVisitor: is there a row, or could one come? */
static void
find_rows(const ZsTidRun *run, ZsVisSlot *vis, void *arg)
{
	if (run->slotno == ZS_SLOT_FROZEN || run->slotno == ZS_SLOT_UNUSED ||
		(vis != NULL &&
		 zstid_satisfies_vacuum(vis, InvalidTransactionId, InvalidBuffer) != ZS_VACUUM_DEAD))
		*(bool *) arg = true;
}

/*
 * Is it sure that nobody will ask for a row of the segment?  The window may be older than the
 * segment, so this looks again.
 */
static bool
is_dead(Window *window, const ZsSegmentItem *item)
{
	bool		found = false;

	zstid_visit_runs(window->compaction->rel, item->first_row, item->first_row + item->nrows,
					 find_rows, &found);
	return !found;
}

/* Takes a segment without rows away. */
static void
drop_segment(Window *window, AttrNumber attno, const ZsSegmentItem *item)
{
	ZsCompaction *compaction = window->compaction;

	zsattr_drop_segments(compaction->rel, attno, item->first_row, item->first_row + item->nrows,
						 zsvacuum_segment_gone, compaction);
	compaction->ndropped++;
}

/*
 * Judges segments of one index page that begin in the window.
 */
static void
process_items(Window *window, AttrNumber attno, const ZsSegmentItem *items, int nitems)
{
	ZsCompaction *compaction = window->compaction;
	Candidate  *candidates = palloc_array(Candidate, Max(nitems, 1));
	int			n = 0;

	for (int i = 0; i < nitems; i++)
	{
		zstid		first = items[i].first_row;
		zstid		end = first + items[i].nrows;
		Candidate  *candidate = &candidates[n];

		if (first < window->first || first >= window->end)
			continue;
		vacuum_delay_point_compat();
		candidate->item = items[i];
		candidate->nlive = count_live(window, first, end);
		candidate->sparse = candidate->nlive * 6 < (uint64) (items[i].nrows - items[i].nholes) * 5;
		if (candidate->nlive == 0 && is_dead(window, &items[i]))
		{
			drop_segment(window, attno, &items[i]);
			zsvacuum_doomed_free(&compaction->doomed);
		}
		else
			n++;
	}
	if (!compaction->drop_only)
		rewrite_groups(window, attno, candidates, n);
	pfree(candidates);
}

static void
process_column(Window *window, AttrNumber attno)
{
	ZsSegmentItem *items = palloc_array(ZsSegmentItem, ZS_SEGMENT_INDEX_CAPACITY);
	zstid		row = window->first;

	window->nwritten = 0;
	while (row < window->end)
	{
		zstid		page_end;
		int			nitems = zsattr_index_page_items(window->compaction->rel, attno, row,
													 items, &page_end);

		Assert(page_end > row);
		CHECK_FOR_INTERRUPTS();
		process_items(window, attno, items, nitems);
		row = page_end;
	}
	pfree(items);
}

static void
process_window(ZsCompaction *compaction, zstid first, zstid end)
{
	TupleDesc	desc = RelationGetDescr(compaction->rel);
	Window	   *window = palloc(sizeof(Window));
	ZsAllocator alloc;

	window->compaction = compaction;
	zsattr_allocator(CurrentMemoryContext, &alloc);
	zscodec_encoder_init(&window->encoder, &alloc);
	load_window(window, first, end);
	for (int i = 0; i < desc->natts; i++)
	{
		if (!TupleDescAttr(desc, i)->attisdropped)
			process_column(window, i + 1);
	}
	if (zspage_keeps_xmin(compaction->rel))
		process_column(window, ZS_XMIN_ATTNO);
	zscodec_encoder_free(&window->encoder);
	pfree(window);
}

/* ---- rows that came into columns on the way ------------------------------------------------ */

/* Has the column the live rows of the stripe's batch? */
static bool
column_covers(Relation rel, AttrNumber attno, const ZsStripe *stripe, const ZsRowBatch *batch)
{
	ZsSegmentItem item;

	if (!zsattr_find_segment(rel, attno, stripe->first, true, &item))
		return false;
	for (int i = 0; i < batch->nitems; i++)
	{
		zstid		row = zsrow_item_row(batch->items[i]);

		if (stripe->fates[row - stripe->first] == ZS_FATE_LIVE &&
			row - item.first_row >= item.nrows)
			return false;
	}
	return true;
}

/* Have all columns, and xmin? */
static bool
stripe_is_covered(Relation rel, const ZsStripe *stripe, const ZsRowBatch *batch, int natts)
{
	TupleDesc	desc = RelationGetDescr(rel);

	for (int attno = 1; attno <= Min(natts, desc->natts); attno++)
	{
		if (!TupleDescAttr(desc, attno - 1)->attisdropped &&
			!column_covers(rel, attno, stripe, batch))
			return false;
	}
	return !zspage_keeps_xmin(rel) || column_covers(rel, ZS_XMIN_ATTNO, stripe, batch);
}

static void
forget_covered(ZsCompaction *compaction)
{
	ZsStripe   *stripe = palloc(sizeof(ZsStripe));
	ZsRowBatch *batch = zsrow_batch_create(CurrentMemoryContext);

	for (int r = 0; r < compaction->covered.n; r++)
	{
		zstid		end = compaction->covered.ranges[r].end;

		Assert(compaction->covered.ranges[r].first % ZS_STRIPE_ROWS == 0);
		for (zstid row = compaction->covered.ranges[r].first; row < end; row += ZS_STRIPE_ROWS)
		{
			int			natts = 0;
			uint32		nlive;

			vacuum_delay_point_compat();
			if (!zsvacuum_close_stripe(compaction, row, stripe, batch) ||
				(nlive = zsvacuum_count_live(stripe, batch, &natts)) == 0 ||
				!stripe_is_covered(compaction->rel, stripe, batch, natts))
				continue;
			for (int i = 0; i < batch->nitems; i++)
			{
				if (stripe->fates[zsrow_item_row(batch->items[i]) - row] == ZS_FATE_LIVE)
					zsvacuum_doom_dropped(&compaction->doomed, batch->items[i]);
			}
			zsvacuum_forget_rows(compaction, stripe);
			compaction->rows_moved += nlive;
			zsvacuum_doomed_free(&compaction->doomed);
		}
	}
	zsrow_batch_free(batch);
	pfree(stripe);
}

/*
 * Segments in the changed ranges are dropped, replaced and merged
 * (vacuum_merge.c).
 */
void
zsvacuum_merge_segments(ZsCompaction *compaction)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(compaction->context);

	for (int i = 0; i < compaction->changed.n; i++)
	{
		struct ZsRange range = compaction->changed.ranges[i];
		zstid		end = Min(TYPEALIGN64(ZS_STRIPE_ROWS, range.end), compaction->next_row);
		zstid		row = range.first - range.first % ZS_STRIPE_ROWS;

		/* a segment that reaches into the range may begin before it */
		row -= Min(row, ZS_MAX_SEGMENT_ROWS - ZS_STRIPE_ROWS);
		while (row < end)
		{
			zstid		window_end = Min(end, row + WINDOW_STRIPES * (zstid) ZS_STRIPE_ROWS);

			MemoryContextReset(compaction->context);
			process_window(compaction, row, window_end);
			row = window_end;
		}
	}
	MemoryContextReset(compaction->context);
	if (!compaction->drop_only)
	{
		zsvacuum_sort_ranges(&compaction->covered);
		forget_covered(compaction);
	}
	MemoryContextSwitchTo(oldcontext);
}
