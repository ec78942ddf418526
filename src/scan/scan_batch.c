/*-------------------------------------------------------------------------
 *
 * scan_batch.c
 *	  Sequential scans by batches.
 *
 * The visible runs of the TID tree are gathered into a bitmap for each stripe; a COPY's
 * run of a million rows costs a few words a stripe.  The row tree is looked into
 * before any column of the stripe is, as scan_source.c demands, and a batch some of whose rows
 * are there has no columns: it is taken row by row.
 *
 * A run that goes beyond a stripe waits for the next batch.  The look at the run behind it
 * never claims the next chunk of a parallel scan, which would take the readers away
 * from the stripe whose columns nobody has asked for yet.
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
	return bs;
}

void
zsscan_batch_restart(ZsBatchScan *bs)
{
	bs->has_run = false;
	bs->batch.nsel = 0;
	bs->generation++;
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

ZsBatch *
zsscan_batch_next(ZsBatchScan *bs)
{
	ZsBatch    *batch = &bs->batch;
	ZsRunView  *run = &bs->run;
	const ZsRowBatch *rows;
	zstid		stripe_end;

	CHECK_FOR_INTERRUPTS();
	ExecClearTuple(&bs->slot->base);
	bs->generation++;
	bs->nviews = 0;
	if (!bs->has_run && !zsscan_next_run(bs->scan, bs->slot, false, run))
		return NULL;
	batch->first = run->first - run->first % ZS_STRIPE_ROWS;
	stripe_end = batch->first + ZS_STRIPE_ROWS;
	zskernel_bits_clear(batch->sel);
	do
	{
		zstid		end = Min(run->first + run->count, stripe_end);

		zskernel_bits_set_range(batch->sel, (uint32) (run->first - batch->first),
								(uint32) (end - run->first));
		add_view(bs, run, end);
		if (run->first + run->count > end)
		{
			run->count -= end - run->first;
			run->first = end;
			bs->has_run = true;
		}
		else
			bs->has_run = zsscan_next_run(bs->scan, bs->slot, true, run);
	} while (bs->has_run && run->first < stripe_end);
	batch->nsel = zskernel_bits_count(batch->sel);
	count_rows(bs, batch->nsel);

	zsscan_source_open(bs->scan->source, bs->slot->nneeded, bs->slot->needed);
	rows = zsscan_source_stripe(bs->scan->source, batch->first);
	batch->has_rows = false;
	for (int i = 0; rows != NULL && i < rows->nitems && !batch->has_rows; i++)
		batch->has_rows = zskernel_bits_get(batch->sel,
											(uint32) (zsrow_item_row(rows->items[i]) - batch->first));
	return batch;
}

void
zsscan_batch_store(ZsBatchScan *bs, uint32 position, TupleTableSlot *slot)
{
	zstid		row = bs->batch.first + position;
	int			low = 0;
	int			high = bs->nviews - 1;
	const ZsRunView *view;

	Assert(zskernel_bits_get(bs->batch.sel, position));
	while (low < high)
	{
		int			mid = (low + high + 1) / 2;

		if (bs->views[mid].first <= row)
			low = mid;
		else
			high = mid - 1;
	}
	view = &bs->views[low];
	Assert(row >= view->first && row < view->first + view->count);
	zsscan_store(bs->scan->source, slot, row, view->has_vis ? &view->vis : NULL);
}
