/*-------------------------------------------------------------------------
 *
 * scan_batch.c
 *	  Sequential scans by batches.
 *
 * The visible runs of the TID tree are gathered into a bitmap for each stripe; a COPY's
 * run of a million rows costs a few words a stripe.  The row tree is looked into
 * before any column of the stripe is, as scan_source.c demands; what it has of the batch's rows is
 * kept for those who ask for columns (scan_batch_rows.c).
 *
 * A run that goes beyond a stripe waits for the next batch.  The look at the run behind it
 * never claims the next chunk of a parallel scan, which would take the readers away
 * from the stripe whose columns nobody has asked for yet.
 *
 * Backward, a stripe is loaded as a window of its own.  Forward again, the TID tree is looked into
 * anew behind the present batch.
 *
 * Nothing is locked between calls.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_batch.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "utils/memutils.h"

#include "scan_batch.h"

/*
 * slot: of the table's type, for rows that are looked at one by one.  Its
 * columns (zsslot_set_needed()) are those that the caller will ask for, and
 * what its filters exclude (zsscan_set_filters()) is left out.  The scan is
 * one of table_beginscan() or table_beginscan_parallel() with an MVCC
 * snapshot, and is not used for anything else meanwhile.  Memory comes from
 * the current context; nothing is to be freed.
 */
ZsBatchScan *
zsscan_batch_begin(TableScanDesc sscan, TupleTableSlot *slot)
{
	ZsScanDesc	scan = (ZsScanDesc) sscan;
	ZsBatchScan *bs = palloc0(sizeof(ZsBatchScan));
	int			natts = Max(RelationGetNumberOfAttributes(sscan->rs_rd), 1);

	Assert(TTS_IS_ZEDSTORE(slot) && IsMVCCSnapshot(sscan->rs_snapshot));
	bs->scan = scan;
	bs->slot = (ZsSlot *) slot;
	bs->context = CurrentMemoryContext;
	bs->columns = palloc0(natts * ZS_WANT_COUNT * sizeof(ZsBatchColumn *));
	bs->backward_to = ZS_INVALID_ROW;
	bs->view = -1;
	return bs;
}

/* After table_rescan(). */
void
zsscan_batch_restart(ZsBatchScan *bs)
{
	bs->has_run = false;
	bs->batch.nsel = 0;
	bs->generation++;
	bs->backward_to = ZS_INVALID_ROW;
	bs->turned = false;
	bs->view = -1;
	bs->ahead = NULL;
}

/* Adds what the scan has come to so far to counts. */
void
zsscan_batch_count(const ZsBatchScan *bs, ZsBatchCounts *counts)
{
	const ZsReadCounts *read = &bs->scan->source->counts;

	counts->skipped += bs->scan->nexcluded;
	counts->read.segments += read->segments;
	counts->read.vectors += read->vectors;
	if (bs->scan->source->io != NULL)
		zs_io_counts_add(&counts->io, bs->scan->source->io);
}

static void
count_rows(ZsBatchScan *bs, uint64 n)
{
	Relation	rel = bs->scan->rs_base.rs_rd;

	if (pgstat_should_count_relation(rel))
		rel->pgstat_info->counts.tuples_returned += n;
}

static void
add_view(ZsBatchScan *bs, const ZsRunView *run, zstid end)
{
	if (bs->nviews == bs->maxviews)
	{
		bs->maxviews = Max(8, bs->maxviews * 2);
		if (bs->views == NULL)
			bs->views = MemoryContextAlloc(bs->context, bs->maxviews * sizeof(ZsRunView));
		else
			bs->views = repalloc(bs->views, bs->maxviews * sizeof(ZsRunView));
	}
	bs->views[bs->nviews] = *run;
	bs->views[bs->nviews].count = end - run->first;
	bs->nviews++;
}

/*
 * Instead of batches: the number of rows of the next run, without looking at
 * their columns; 0 at the end.
 */
uint64
zsscan_batch_next_run(ZsBatchScan *bs)
{
	uint64		count;

	CHECK_FOR_INTERRUPTS();
	if (!bs->has_run && !zsscan_next_run(bs->scan, bs->slot, false, &bs->run))
		return 0;
	bs->has_run = false;
	count = bs->run.count;
	count_rows(bs, count);
	return count;
}

/* Forgets the present batch. */
static void
leave_batch(ZsBatchScan *bs)
{
	CHECK_FOR_INTERRUPTS();
	ExecClearTuple(&bs->slot->base);
	bs->scan->source->sparse = false;
	bs->generation++;
	bs->nviews = 0;
	bs->view = -1;
}

/* Adds a run of visible rows to the batch, up to end. */
static void
add_run(ZsBatchScan *bs, const ZsRunView *run, zstid end)
{
	Assert(run->first >= bs->batch.first && run->first < end);
	Assert(end <= bs->batch.first + ZS_STRIPE_ROWS);
	zskernel_bits_set_range(bs->batch.sel, (uint32) (run->first - bs->batch.first),
							(uint32) (end - run->first));
	add_view(bs, run, end);
}

/* All runs of the batch are there. */
static ZsBatch *
complete_batch(ZsBatchScan *bs)
{
	ZsBatch    *batch = &bs->batch;
	const ZsRowBatch *rows;

	batch->nsel = zskernel_bits_count(batch->sel);
	Assert(batch->nsel > 0 && batch->first % ZS_STRIPE_ROWS == 0 && bs->nviews > 0);
	count_rows(bs, batch->nsel);

	zsscan_source_open(bs->scan->source, bs->slot->nneeded, bs->slot->needed);
	rows = zsscan_source_stripe(bs->scan->source, batch->first);
	batch->has_rows = rows != NULL && zsscan_batch_take_rows(bs, rows);
	bs->backward_to = batch->first;
	return batch;
}

/* After a step backward: lets the scan go on behind the batch. */
static void
turn_forward(ZsBatchScan *bs)
{
	ZsScanDesc	scan = bs->scan;

	Assert(bs->turned && bs->forward_from != ZS_INVALID_ROW);
	scan->window_start = scan->window_end = bs->forward_from;
	scan->tids_at = ZS_INVALID_ROW;
	scan->has_rest = false;
	scan->nviews = 0;
	bs->has_run = false;
	bs->turned = false;
}

/* The next batch with at least one row, or NULL.  Clears the slot. */
ZsBatch *
zsscan_batch_next(ZsBatchScan *bs)
{
	ZsBatch    *batch = &bs->batch;
	ZsRunView  *run = &bs->run;
	zstid		stripe_end;

	leave_batch(bs);
	if (bs->turned)
		turn_forward(bs);
	if (!bs->has_run && !zsscan_next_run(bs->scan, bs->slot, false, run))
	{
		bs->backward_to = ZS_INVALID_ROW;
		zsscan_source_rest(bs->scan->source);
		return NULL;
	}
	batch->first = run->first - run->first % ZS_STRIPE_ROWS;
	stripe_end = batch->first + ZS_STRIPE_ROWS;
	zskernel_bits_clear(batch->sel);
	do
	{
		zstid		end = Min(run->first + run->count, stripe_end);

		add_run(bs, run, end);
		if (run->first + run->count > end)
		{
			run->count -= end - run->first;
			run->first = end;
			bs->has_run = true;
		}
		else
			bs->has_run = zsscan_next_run(bs->scan, bs->slot, true, run);
	} while (bs->has_run && run->first < stripe_end);
	return complete_batch(bs);
}

/* The visible rows of [first, end), of one stripe, as the batch; NULL if there are none. */
static ZsBatch *
load_stripe(ZsBatchScan *bs, zstid first, zstid end)
{
	ZsScanDesc	scan = bs->scan;

	Assert(first < end && first % ZS_STRIPE_ROWS == 0);
	zsscan_load_window(scan, first, end);
	if (scan->nviews == 0)
		return NULL;
	bs->batch.first = first;
	zskernel_bits_clear(bs->batch.sel);
	for (int i = 0; i < scan->nviews; i++)
		add_run(bs, &scan->views[i], scan->views[i].first + scan->views[i].count);
	return complete_batch(bs);
}

/*
 * The batch of the stripe, a row number of the scan's; NULL if it has no row that the snapshot
 * sees, or the slot's filters exclude its segment.  The scan is not parallel, and is asked for
 * nothing but stripes: in any order, which its look-ahead does not foresee.
 */
ZsBatch *
zsscan_batch_seek(ZsBatchScan *bs, zstid stripe)
{
	ZsScanDesc	scan = bs->scan;
	zstid		end = Min(stripe + ZS_STRIPE_ROWS, scan->end);
	zstid		until;

	Assert(scan->rs_base.rs_parallel == NULL && stripe >= scan->start && stripe < scan->end);
	leave_batch(bs);
	bs->has_run = false;
	bs->turned = true;
	bs->forward_from = end;
	if (bs->slot->nfilters > 0 &&
		zsscan_zone_excluded(scan, bs->slot, stripe, end, &until) && until == end)
		return NULL;
	return load_stripe(bs, stripe, end);
}

/*
 * The one before it, or before the end; the last batch if the scan has not
 * begun.  Not of a parallel scan.
 */
ZsBatch *
zsscan_batch_previous(ZsBatchScan *bs)
{
	ZsScanDesc	scan = bs->scan;
	zstid		end = bs->backward_to == ZS_INVALID_ROW ? scan->end : bs->backward_to;

	Assert(scan->rs_base.rs_parallel == NULL);
	leave_batch(bs);
	bs->has_run = false;
	bs->turned = true;
	while (end > scan->start)
	{
		zstid		first = (end - 1) - (end - 1) % ZS_STRIPE_ROWS;
		zstid		until;

		CHECK_FOR_INTERRUPTS();
		if (bs->slot->nfilters > 0 &&
			zsscan_zone_excluded(scan, bs->slot, first, end, &until) && until == end)
		{
			end = first;
			continue;
		}
		bs->forward_from = first + ZS_STRIPE_ROWS;
		if (load_stripe(bs, first, end) != NULL)
			return &bs->batch;
		end = first;
	}
	bs->backward_to = bs->forward_from = scan->start;
	return NULL;
}

/*
 * Rows of a stripe of which single values are decoded; a reader would make a vector for more
 * (attr_read.c).
 */
#define MAX_SPARSE_ROWS		3

/*
 * The caller is going to store n rows of the present batch at most: of few
 * rows, single values are decoded instead of vectors.
 */
void
zsscan_batch_expect(ZsBatchScan *bs, uint32 n)
{
	bs->scan->source->sparse = n <= MAX_SPARSE_ROWS;
}

/*
 * Stores a row of the present batch (a position in it, of a row that is
 * visible) in the slot.
 */
void
zsscan_batch_store(ZsBatchScan *bs, uint32 position, TupleTableSlot *slot)
{
	zstid		row = bs->batch.first + position;
	int			low = 0;
	int			high = bs->nviews - 1;
	const ZsRunView *view;

	Assert(zskernel_bits_get(bs->batch.sel, position));
	if (bs->view >= 0)
	{
		view = &bs->views[bs->view];
		if (row >= view->first && row < view->first + view->count &&
			zsscan_advance(bs->scan->source, slot, row))
			return;
	}
	while (low < high)
	{
		int			mid = (low + high + 1) / 2;

		if (bs->views[mid].first <= row)
			low = mid;
		else
			high = mid - 1;
	}
	view = &bs->views[low];
	bs->view = low;
	Assert(row >= view->first && row < view->first + view->count);
	zsscan_store(bs->scan->source, slot, row, view->has_vis ? &view->vis : NULL);
}
