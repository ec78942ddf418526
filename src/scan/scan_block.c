/*-------------------------------------------------------------------------
 *
 * scan_block.c
 *	  Scans by logical block of 256 rows: bitmap, TABLESAMPLE; what ANALYZE (scan_analyze.c) shares
 *	  with them.
 *
 * A block's visible rows are loaded as one window of the scan.  Values are
 * decoded one by one where few rows of a block are wanted, by whole vectors
 * otherwise.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_block.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tsmapi.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "pgstat.h"
#include "utils/rel.h"

#include "scan_desc.h"
#include "zs_compat.h"
#include "zs_page.h"

/* From this many rows of a block on it pays to decode vectors. */
#define VECTOR_ROWS		16

/*
 * The first rows of a bitmap are looked up one by one, of blocks with so few of them: mostly these
 * are all that it has, and then copying a leaf of the TID tree, and judging all of its slots, costs
 * more than finding the row on it.
 */
#define SINGLE_ROWS		16
#define SINGLE_ROWS_OF_BLOCK	4

/* Comes to a logical block, whose rows are to be the window. */
static void
enter_block(ZsScanDesc scan, BlockNumber block, bool by_vector)
{
	Assert(BlockNumberIsValid(block));
	zsslot_detach(&scan->source->base);
	scan->block = block;
	scan->source->by_vector = by_vector;
	scan->source->row_located = false;

	/* rows may have come since the block before was looked at */
	if (scan->rs_base.rs_flags & SO_TYPE_ANALYZE)
		scan->source->batch_stripe = ZS_INVALID_ROW;
	scan->view = -1;
}

/*
 * Makes a logical block the window.  by_vector: values are decoded by whole
 * vectors, otherwise one by one.
 */
void
zsscan_load_block(ZsScanDesc scan, BlockNumber block, bool by_vector)
{
	zstid		start = zs_block_first_row(block);

	enter_block(scan, block, by_vector);
	zsscan_load_window(scan, start, start + ZS_ROWS_PER_BLOCK);
}

/*
 * Moves scan->row to the next row of such a window, in order; false behind the
 * last.
 */
bool
zsscan_next_in_window(ZsScanDesc scan)
{
	if (scan->view >= 0 && scan->view < scan->nviews &&
		scan->row + 1 < scan->views[scan->view].first + scan->views[scan->view].count)
	{
		scan->row++;
		return true;
	}
	Assert(scan->view >= -1 && scan->view <= scan->nviews);
	if (scan->view + 1 >= scan->nviews)
		return false;
	scan->view++;
	scan->row = scan->views[scan->view].first;
	return true;
}

static void
store_row(ZsScanDesc scan, TupleTableSlot *slot, zstid row, const ZsRunView *view)
{
	Assert(row >= view->first && row < view->first + view->count);
	zsslot_recheck(slot, scan->recheck);
	zsscan_store(scan->source, slot, row, view->has_vis ? &view->vis : NULL);
	zsscan_tell_snapshot(scan, view);
}

/* ---- bitmap ------------------------------------------------------------------ */

/* Makes those rows of a block the window that lie from the first to the last one of its page. */
static void
load_wanted_part(ZsScanDesc scan, zstid start)
{
	OffsetNumber first = scan->offsets[0];
	OffsetNumber last = scan->offsets[scan->noffsets - 1];

	/* an index entry can only be corrupt to have another offset */
	if (first < 1 || last < first || last > ZS_ROWS_PER_BLOCK)
	{
		first = 1;
		last = ZS_ROWS_PER_BLOCK;
	}
	zsscan_load_window(scan, start + first - 1, start + last);
}

/* Takes over a page of the bitmap. */
static void
start_bitmap_page(ZsScanDesc scan, BlockNumber block, int noffsets)
{
	zstid		start = zs_block_first_row(block);

	Assert(noffsets <= (int) lengthof(scan->offsets));
	/* before the block is loaded: serializable transactions lock these rows only */
	scan->noffsets = noffsets;
	scan->offset_pos = 0;
	enter_block(scan, block, noffsets < 0 || noffsets >= VECTOR_ROWS);
	if (noffsets < 0)
		zsscan_load_window(scan, start, start + ZS_ROWS_PER_BLOCK);
	else if (noffsets <= SINGLE_ROWS_OF_BLOCK && scan->nsingle + noffsets <= SINGLE_ROWS)
	{
		zsscan_load_rows(scan, start, scan->offsets, noffsets);
		scan->nsingle += noffsets;
	}
	else
		load_wanted_part(scan, start);
}

/* Next visible row of the bitmap page in the slot. */
static bool
next_bitmap_row(ZsScanDesc scan, TupleTableSlot *slot)
{
	if (scan->block == InvalidBlockNumber)
		return false;
	if (scan->noffsets < 0)
	{
		if (!zsscan_next_in_window(scan))
			return false;
		store_row(scan, slot, scan->row, &scan->views[scan->view]);
		return true;
	}
	while (scan->offset_pos < scan->noffsets)
	{
		OffsetNumber offset = scan->offsets[scan->offset_pos++];
		zstid		row = zs_block_first_row(scan->block) + offset - 1;
		const ZsRunView *view;

		/* an index entry can only be corrupt to have such an offset */
		if (offset < 1 || offset > ZS_ROWS_PER_BLOCK)
			continue;
		view = zsscan_find_view(scan, row);
		if (view == NULL)
			continue;
		store_row(scan, slot, row, view);
		return true;
	}
	return false;
}

#if ZS_BITMAP_SCAN_ITERATES
/* ZsBlockSource: the next page of the bitmap. */
static bool
next_bitmap_page(void *arg, ZsScanBlock *block)
{
	ZsScanDesc	scan = arg;
	TBMIterateResult page;

	if (!tbm_iterate(&scan->rs_base.st.rs_tbmiterator, &page))
		return false;
	block->block = page.blockno;
	block->recheck = page.recheck;
	block->lossy = page.lossy;
	block->noffsets = -1;
	if (!page.lossy)
	{
		block->noffsets = tbm_extract_page_tuple(&page, block->offsets, lengthof(block->offsets));
		/* more offsets than a block has rows: an index that lies */
		block->noffsets = Min(block->noffsets, (int) lengthof(block->offsets));
	}
	block->by_vector = block->noffsets < 0 || block->noffsets >= VECTOR_ROWS;
	block->first = 0;
	if (!block->by_vector && block->noffsets > 0 && block->offsets[0] >= 1 &&
		block->offsets[0] <= ZS_ROWS_PER_BLOCK)
		block->first = block->offsets[0] - 1;
	return true;
}

/* scan_bitmap_next_tuple of the table access method: contract in tableam.h. */
bool
zsscan_bitmap_next_tuple(TableScanDesc sscan, TupleTableSlot *slot, bool *recheck,
						 uint64 *lossy_pages, uint64 *exact_pages)
{
	ZsScanDesc	scan = (ZsScanDesc) sscan;

	while (!next_bitmap_row(scan, slot))
	{
		const ZsScanBlock *block;

		CHECK_FOR_INTERRUPTS();
		if (scan->prefetch == NULL)
			scan->prefetch = zsscan_prefetch_begin(scan, slot, false, next_bitmap_page, scan);
		block = zsscan_prefetch_next(scan->prefetch);
		if (block == NULL)
		{
			ExecClearTuple(slot);
			scan->block = InvalidBlockNumber;
			return false;
		}
		if (block->lossy)
			(*lossy_pages)++;
		else
		{
			(*exact_pages)++;
			memcpy(scan->offsets, block->offsets, block->noffsets * sizeof(OffsetNumber));
		}
		scan->recheck = block->recheck;
		start_bitmap_page(scan, block->block, block->noffsets);
	}
	*recheck = scan->recheck;
	pgstat_count_heap_fetch(sscan->rs_rd);
	return true;
}
#else
/* scan_bitmap_next_block of the table access method: contract in tableam.h. */
bool
zsscan_bitmap_next_block(TableScanDesc sscan, TBMIterateResult *tbmres)
{
	ZsScanDesc	scan = (ZsScanDesc) sscan;
	int			noffsets = tbmres->ntuples;

	if (noffsets >= 0)
	{
		noffsets = Min(noffsets, (int) lengthof(scan->offsets));
		memcpy(scan->offsets, tbmres->offsets, noffsets * sizeof(OffsetNumber));
	}
	scan->recheck = tbmres->recheck;
	start_bitmap_page(scan, tbmres->blockno, noffsets);
	return scan->nviews > 0;
}

/* scan_bitmap_next_tuple of the table access method: contract in tableam.h. */
bool
zsscan_bitmap_next_tuple(TableScanDesc sscan, TBMIterateResult *tbmres, TupleTableSlot *slot)
{
	if (!next_bitmap_row((ZsScanDesc) sscan, slot))
	{
		ExecClearTuple(slot);
		return false;
	}
	pgstat_count_heap_fetch(sscan->rs_rd);
	return true;
}
#endif

/* ---- TABLESAMPLE ----------------------------------------------------------------- */

/*
 * ZsBlockSource: a sample that leaves the choice of blocks to the scan goes through all of them.
 * One that chooses may do so by what it met before, so it is not asked ahead of time.
 */
static bool
next_sample_block(void *arg, ZsScanBlock *block)
{
	ZsScanDesc	scan = arg;

	if (scan->sample_next >= scan->nblocks)
		return false;
	block->block = scan->sample_next++;
	block->by_vector = false;
	block->first = 0;
	return true;
}

/* scan_sample_next_block of the table access method: contract in tableam.h. */
bool
zsscan_sample_next_block(TableScanDesc sscan, SampleScanState *scanstate)
{
	ZsScanDesc	scan = (ZsScanDesc) sscan;
	TsmRoutine *tsm = scanstate->tsmroutine;
	BlockNumber block;

	CHECK_FOR_INTERRUPTS();
	if (scan->nblocks == 0)
		return false;
	if (tsm->NextSampleBlock != NULL)
		block = tsm->NextSampleBlock(scanstate, (BlockNumber) scan->nblocks);
	else
	{
		const ZsScanBlock *next;

		if (scan->prefetch == NULL)
			scan->prefetch = zsscan_prefetch_begin(scan, scanstate->ss.ss_ScanTupleSlot, false,
												   next_sample_block, scan);
		next = zsscan_prefetch_next(scan->prefetch);
		block = next == NULL ? InvalidBlockNumber : next->block;
	}
	if (!BlockNumberIsValid(block))
	{
		scan->block = InvalidBlockNumber;
		return false;
	}
	zsscan_load_block(scan, block, false);
	return true;
}

/* scan_sample_next_tuple of the table access method: contract in tableam.h. */
bool
zsscan_sample_next_tuple(TableScanDesc sscan, SampleScanState *scanstate, TupleTableSlot *slot)
{
	ZsScanDesc	scan = (ZsScanDesc) sscan;
	TsmRoutine *tsm = scanstate->tsmroutine;

	for (;;)
	{
		OffsetNumber offset;
		const ZsRunView *view;
		zstid		row;

		CHECK_FOR_INTERRUPTS();
		offset = tsm->NextSampleTuple(scanstate, scan->block, ZS_ROWS_PER_BLOCK);
		if (!OffsetNumberIsValid(offset))
		{
			ExecClearTuple(slot);
			return false;
		}
		row = scan->window_start + offset - 1;
		view = zsscan_find_view(scan, row);
		if (view == NULL)
			continue;
		store_row(scan, slot, row, view);
		pgstat_count_heap_getnext(sscan->rs_rd);
		return true;
	}
}
