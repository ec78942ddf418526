/*-------------------------------------------------------------------------
 *
 * scan_seq.c
 *	  Sequential scans: forward, backward, parallel, over a range of TIDs.
 *
 * The TID tree says which rows there are and who may see them, run by run; a
 * million rows of one COPY are one run, whose visibility is decided once.
 * Column values are not touched here: the slot decodes what is looked at.
 *
 * Backward, rows come from windows of one stripe that are loaded whole and
 * walked from the end; a change of direction within a window just turns round.
 *
 * Chunks of parallel scans: scan_chunk.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_seq.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/skey.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "scan_desc.h"
#include "zs_compat.h"
#include "zs_page.h"
#include "zs_write.h"

/* ---- begin, end ------------------------------------------------------------ */

/* A ring for tables that would wash out the buffer cache, as for heap. */
static BufferAccessStrategy
choose_strategy(Relation rel, uint32 flags)
{
	if ((flags & SO_ALLOW_STRAT) != 0 && !RelationUsesLocalBuffers(rel) &&
		zspage_physical_blocks(rel) > (BlockNumber) NBuffers / 4)
		return GetAccessStrategy(BAS_BULKREAD);
	return NULL;
}

static bool
is_sequential(uint32 flags)
{
	return (flags & (SO_TYPE_SEQSCAN | SO_TYPE_TIDRANGESCAN)) != 0;
}

/* Positions the scan before its first row. */
static void
init_position(ZsScanDesc scan)
{
	ParallelZsScanDesc pscan = (ParallelZsScanDesc) scan->rs_base.rs_parallel;

	scan->start = 0;
	scan->end = pscan != NULL ? pscan->end_row : zspage_next_row(scan->rs_base.rs_rd);
	scan->nblocks = (scan->end + ZS_ROWS_PER_BLOCK - 1) / ZS_ROWS_PER_BLOCK;
	scan->window_start = scan->window_end = ZS_INVALID_ROW;
	scan->tids_at = scan->excluded = ZS_INVALID_ROW;
	scan->has_rest = false;
	scan->zone_from = scan->zone_until = scan->nviews = 0;
	scan->view = -1;
	zsscan_forget_chunks(scan);
	scan->block = InvalidBlockNumber;
	scan->noffsets = -1;
	scan->sample_next = scan->offset_pos = scan->nsingle = 0;
	if (scan->prefetch != NULL)
		zsscan_prefetch_end(scan->prefetch);
	scan->prefetch = NULL;
	zsscan_pick_for(scan->pick, NULL);
	if (is_sequential(scan->rs_base.rs_flags))
		scan->source->scan_end = scan->end;
	zsscan_source_range(scan->source, scan->start, scan->end, NULL);
}

/* scan_begin of the table access method: contract in tableam.h. */
TableScanDesc
zsscan_begin(Relation rel, Snapshot snapshot, int nkeys, struct ScanKeyData *key,
			 ParallelTableScanDesc pscan, uint32 flags)
{
	ZsScanDesc	scan;

	zsbase_require_preload();
	RelationIncrementReferenceCount(rel);
	zswrite_flush(rel);
	zspage_check_file_end(rel);

	scan = palloc0(sizeof(ZsScanDescData));
	scan->rs_base.rs_rd = rel;
	scan->rs_base.rs_snapshot = snapshot;
	scan->rs_base.rs_nkeys = nkeys;
	scan->rs_base.rs_flags = flags;
	scan->rs_base.rs_parallel = pscan;
	scan->is_dirty = snapshot != NULL && snapshot->snapshot_type == SNAPSHOT_DIRTY;
	scan->hides_any = snapshot == SnapshotAny && zsscan_any_is_hidden(rel);
	if (nkeys > 0)
	{
		scan->rs_base.rs_key = palloc(nkeys * sizeof(ScanKeyData));
		memcpy(scan->rs_base.rs_key, key, nkeys * sizeof(ScanKeyData));
	}

	/*
	 * As heap: serializable transactions depend on the whole table.  That goes for TID range
	 * scans, too, although heap takes no predicate locks for them.
	 */
	if ((flags & (SO_TYPE_SEQSCAN | SO_TYPE_SAMPLESCAN | SO_TYPE_TIDRANGESCAN)) != 0 &&
		snapshot != NULL)
		PredicateLockRelation(rel, snapshot);

	scan->source = zsscan_source_create(rel, true, is_sequential(flags),
										choose_strategy(rel, flags));
	if ((flags & SO_SCAN_INSTRUMENT) != 0)
		zs_scan_begin_io_counts(&scan->rs_base);
	scan->source->io = scan->source->tree_visitor.io = zs_scan_io_counts(&scan->rs_base);
	scan->source->trust_next_tree_row = snapshot != NULL && IsMVCCSnapshot(snapshot) &&
		is_sequential(flags);
	if (is_sequential(flags) && zs_enable_read_stream)
		zsscan_pick_begin(scan);
	init_position(scan);
	if (flags & SO_TYPE_SEQSCAN)
		pgstat_count_heap_scan(rel);
	return (TableScanDesc) scan;
}

/* scan_end of the table access method: contract in tableam.h. */
void
zsscan_end(TableScanDesc sscan)
{
	ZsScanDesc	scan = (ZsScanDesc) sscan;

	/* the slot may still want values; the rest goes with the source's memory */
	if (scan->prefetch != NULL)
		zsscan_prefetch_end(scan->prefetch);
	if (scan->tids != NULL)
		zstid_scan_end(scan->tids);
	zsscan_pick_end(scan->pick);
	zsscan_source_free(scan->source);
	if (zs_scan_io_counts(&scan->rs_base) != NULL)
		zs_scan_end_io_counts(&scan->rs_base);
	if (scan->rs_base.rs_key != NULL)
		pfree(scan->rs_base.rs_key);
	if (scan->rs_base.rs_flags & SO_TEMP_SNAPSHOT)
		UnregisterSnapshot(scan->rs_base.rs_snapshot);
	RelationDecrementReferenceCount(scan->rs_base.rs_rd);
	pfree(scan);
}

/* scan_rescan of the table access method: contract in tableam.h. */
void
zsscan_rescan(TableScanDesc sscan, struct ScanKeyData *key, bool set_params,
			  bool allow_strat, bool allow_sync, bool allow_pagemode)
{
	ZsScanDesc	scan = (ZsScanDesc) sscan;

	if (key != NULL && sscan->rs_nkeys > 0)
		memcpy(sscan->rs_key, key, sscan->rs_nkeys * sizeof(ScanKeyData));
	if (set_params)
	{
		if (allow_strat)
			sscan->rs_flags |= SO_ALLOW_STRAT;
		else
			sscan->rs_flags &= ~SO_ALLOW_STRAT;
	}
	zswrite_flush(sscan->rs_rd);
	/* a bitmap may lead to few rows */
	if (scan->nagain < ZS_LOOPS_BEFORE_KEEPING)
		scan->nagain++;
	if (sscan->rs_parallel == NULL &&
		(is_sequential(sscan->rs_flags) || scan->nagain == ZS_LOOPS_BEFORE_KEEPING))
		zsscan_source_again(scan->source);
	init_position(scan);
	if (sscan->rs_flags & SO_TYPE_SEQSCAN)
		pgstat_count_heap_scan(sscan->rs_rd);
}

/* ---- windows ----------------------------------------------------------------- */

/* Adds a view behind those that are there. */
static void
add_view(ZsScanDesc scan, const ZsRunView *view)
{
	Assert(view->count > 0);
	Assert(scan->nviews == 0 || zsscan_view_end(&scan->views[scan->nviews - 1]) <= view->first);
	if (scan->nviews == scan->maxviews)
	{
		scan->maxviews = Max(8, scan->maxviews * 2);
		if (scan->views == NULL)
			scan->views = MemoryContextAlloc(scan->source->context,
											 scan->maxviews * sizeof(ZsRunView));
		else
			scan->views = repalloc(scan->views, scan->maxviews * sizeof(ZsRunView));
	}
	scan->views[scan->nviews++] = *view;
}

/* Makes the scan of the TID tree go on at row `from`. */
static void
position_tids(ZsScanDesc scan, zstid from, zstid end)
{
	MemoryContext old = MemoryContextSwitchTo(scan->source->context);
	bool		any = (scan->rs_base.rs_flags & SO_TYPE_ANALYZE) != 0;

	if (scan->tids == NULL)
		scan->tids = zstid_scan_begin(scan->rs_base.rs_rd,
									  any ? NULL : scan->rs_base.rs_snapshot, from, end,
									  scan->source->io);
	else
		zstid_scan_restart(scan->tids, from, end);
	if (scan->rs_base.rs_flags & SO_TYPE_BITMAPSCAN)
		zstid_scan_lock_rows(scan->tids, zs_block_first_row(scan->block), scan->offsets,
							 scan->noffsets);
	MemoryContextSwitchTo(old);
}

/* Loads the visible runs of [start, end) as the window. */
void
zsscan_load_window(ZsScanDesc scan, zstid start, zstid end)
{
	ZsTidRun	run;
	const ZsVisSlot *vis;

	Assert(start < end);
	scan->nviews = 0;
	scan->window_start = start;
	scan->window_end = end;
	position_tids(scan, start, end);
	while (zstid_scan_next(scan->tids, &run, &vis))
	{
		ZsRunView	view = {.first = run.first, .count = run.count, .has_vis = vis != NULL};

		if (vis != NULL)
			view.vis = *vis;
		if (scan->is_dirty)
			view.dirty = zstid_dirty_get(scan->rs_base.rs_snapshot);
		add_view(scan, &view);
	}
	scan->tids_at = ZS_INVALID_ROW;
	Assert(scan->nviews == 0 || scan->views[0].first >= start);
}

/*
 * Loads the visible ones of some rows of a logical block, which begins at base, as the window: each
 * is looked up by itself, as for an index scan.  Offsets are ascending; a corrupt one is no row.
 */
void
zsscan_load_rows(ZsScanDesc scan, zstid base, const OffsetNumber *offsets, int noffsets)
{
	scan->nviews = 0;
	scan->window_start = base;
	scan->window_end = base + ZS_ROWS_PER_BLOCK;
	scan->tids_at = ZS_INVALID_ROW;
	for (int i = 0; i < noffsets; i++)
	{
		ZsRunView	view = {.first = base + offsets[i] - 1,.count = 1,.has_vis = true};

		Assert(i == 0 || offsets[i - 1] < offsets[i]);
		if (offsets[i] < 1 || offsets[i] > ZS_ROWS_PER_BLOCK ||
			!zstid_fetch_visible(scan->rs_base.rs_rd, view.first, scan->rs_base.rs_snapshot,
								 &view.vis, NULL, NULL))
			continue;
		if (scan->is_dirty)
			view.dirty = zstid_dirty_get(scan->rs_base.rs_snapshot);
		add_view(scan, &view);
	}
}

/* Is the row visible within the window?  Then its view, else NULL. */
const ZsRunView *
zsscan_find_view(ZsScanDesc scan, zstid row)
{
	int			low = 0;
	int			high = scan->nviews;

	Assert(row >= scan->window_start && row < scan->window_end);
	while (low < high)
	{
		int			mid = (low + high) / 2;
		ZsRunView  *view = &scan->views[mid];

		if (row < view->first)
			high = mid;
		else if (row >= view->first + view->count)
			low = mid + 1;
		else
			return view;
	}
	return NULL;
}

/* The next run of the TID tree, or what is left of the last one. */
static bool
next_tid_run(ZsScanDesc scan, const ZsSlot *slot, ZsRunView *run)
{
	ZsTidRun	tids;
	const ZsVisSlot *vis;

	if (scan->tids_at != scan->window_end)
	{
		position_tids(scan, scan->window_end, scan->end);
		scan->has_rest = false;
	}
	if (scan->has_rest)
	{
		*run = scan->rest;
		scan->has_rest = false;
		return true;
	}
	if (!(slot->no_vis ? zstid_scan_next_rows(scan->tids, &tids, &vis) :
		  zstid_scan_next(scan->tids, &tids, &vis)))
		return false;
	run->first = tids.first;
	run->count = tids.count;
	run->has_vis = vis != NULL;
	if (vis != NULL)
		run->vis = *vis;
	if (scan->is_dirty)
		run->dirty = zstid_dirty_get(scan->rs_base.rs_snapshot);
	return true;
}

/*
 * Cuts the run where zone maps exclude rows: *run becomes its first part that has to be read,
 * what follows is kept for later.  False if nothing of it has to be read.  Scans by rows come to
 * one stripe after the other, whose vectors' zone maps are asked, too; those by batches ask for
 * themselves (zsscan_batch_excluded()).
 */
static bool
apply_filters(ZsScanDesc scan, const ZsSlot *slot, bool by_rows, ZsRunView *run)
{
	zstid		end = run->first + run->count;
	zstid		row = run->first;
	zstid		until;

	Assert(slot->nfilters > 0 && row < end);
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (!zsscan_zone_excluded(scan, slot, row, end, &until))
		{
			if (!by_rows)
				break;
			until = Min(until, row - row % ZS_STRIPE_ROWS + ZS_STRIPE_ROWS);
			if (!zsscan_stripe_excluded(scan, slot, row, until))
				break;
		}
		row = until;
		if (row >= end)
			return false;
	}
	Assert(until > row && until <= end);
	if (until < end)
	{
		scan->has_rest = true;
		scan->rest = *run;
		scan->rest.first = until;
		scan->rest.count = end - until;
	}
	run->first = row;
	run->count = until - row;
	return true;
}

/*
 * Next window in forward direction: one run, or a part of it.  With `stay` a parallel scan claims
 * no other chunk.  by_rows: see apply_filters().
 */
static bool
load_forward(ZsScanDesc scan, const ZsSlot *slot, bool stay, bool by_rows)
{
	zsscan_pick_for(scan->pick, slot);
	for (;;)
	{
		ZsRunView	run;

		if (scan->rs_base.rs_parallel != NULL && !scan->in_chunk)
		{
			if (stay || !zsscan_next_chunk(scan, slot))
				return false;
			scan->in_chunk = true;
		}
		if (scan->window_end == ZS_INVALID_ROW)
			scan->window_start = scan->window_end = scan->start;
		while (scan->window_end < scan->end && next_tid_run(scan, slot, &run))
		{
			bool		wanted = slot->nfilters == 0 || apply_filters(scan, slot, by_rows, &run);

			Assert(run.first >= scan->window_end && zsscan_view_end(&run) <= scan->end);
			scan->window_start = run.first;
			scan->window_end = scan->tids_at = run.first + run.count;
			if (!wanted)
				continue;
			scan->nviews = 0;
			add_view(scan, &run);
			return true;
		}
		scan->nviews = 0;
		scan->window_start = scan->window_end = scan->end;
		scan->tids_at = ZS_INVALID_ROW;
		if (scan->rs_base.rs_parallel == NULL)
			return false;
		scan->in_chunk = false;
	}
}

/* Next window in backward direction: what lies before the present one. */
static bool
load_backward(ZsScanDesc scan)
{
	zstid		end;

	Assert(scan->rs_base.rs_parallel == NULL);
	if (scan->window_start == ZS_INVALID_ROW)
		scan->window_start = scan->window_end = scan->end;
	end = scan->window_start;
	while (end > scan->start)
	{
		zstid		start = Max(scan->start, (end - 1) - (end - 1) % ZS_STRIPE_ROWS);

		CHECK_FOR_INTERRUPTS();
		zsscan_load_window(scan, start, end);
		if (scan->nviews > 0)
			return true;
		end = start;
	}
	scan->nviews = 0;
	scan->window_start = scan->window_end = scan->start;
	return false;
}

/*
 * The next run of visible rows in forward direction that the slot's filters do
 * not exclude, for scans that go by runs and never by rows.  With stay, false
 * also where a parallel scan would have to claim its next chunk, which makes
 * readers leave the present one.
 */
bool
zsscan_next_run(ZsScanDesc scan, const ZsSlot *slot, bool stay, ZsRunView *run)
{
	if (!load_forward(scan, slot, stay, false))
		return false;
	Assert(scan->nviews == 1);
	*run = scan->views[0];
	return true;
}

/* Moves to the next row of the present run, if it has one. */
static inline bool
next_row_of_run(ZsScanDesc scan)
{
	if (likely(scan->view >= 0 && scan->view < scan->nviews))
	{
		ZsRunView  *view = &scan->views[scan->view];

		if (likely(scan->row + 1 < view->first + view->count))
		{
			scan->row++;
			return true;
		}
	}
	return false;
}

/* Moves to the first row of the next run; false at the end. */
static bool
next_run(ZsScanDesc scan, const ZsSlot *slot)
{
	scan->view++;
	if (scan->view >= scan->nviews)
	{
		if (!load_forward(scan, slot, false, true))
		{
			scan->view = 0;
			return false;
		}
		scan->view = 0;
	}
	Assert(scan->nviews > 0);
	scan->row = scan->views[scan->view].first;
	return true;
}

static bool
previous_row(ZsScanDesc scan)
{
	if (scan->view >= 0 && scan->view < scan->nviews && scan->row > scan->views[scan->view].first)
	{
		scan->row--;
		return true;
	}
	scan->view--;
	if (scan->view < 0)
	{
		if (!load_backward(scan))
		{
			scan->view = -1;
			return false;
		}
		scan->view = scan->nviews - 1;
	}
	scan->row = scan->views[scan->view].first + scan->views[scan->view].count - 1;
	return true;
}

/* ---- rows ------------------------------------------------------------------------ */

static bool
keys_match(ZsScanDesc scan, TupleTableSlot *slot)
{
	for (int i = 0; i < scan->rs_base.rs_nkeys; i++)
	{
		ScanKey		key = &scan->rs_base.rs_key[i];
		bool		isnull;
		Datum		value;

		if (key->sk_flags & SK_ISNULL)
			return false;
		value = slot_getattr(slot, key->sk_attno, &isnull);
		if (isnull || !DatumGetBool(FunctionCall2Coll(&key->sk_func, key->sk_collation,
													  value, key->sk_argument)))
			return false;
	}
	return true;
}

/* scan_getnextslot of the table access method: contract in tableam.h. */
bool
zsscan_getnextslot(TableScanDesc sscan, ScanDirection direction, TupleTableSlot *slot)
{
	ZsScanDesc	scan = (ZsScanDesc) sscan;

	Assert(TTS_IS_ZEDSTORE(slot));
	for (;;)
	{
		ZsRunView  *view;

		if (likely(ScanDirectionIsForward(direction) && next_row_of_run(scan)))
		{
			if (likely(sscan->rs_nkeys == 0 && !scan->is_dirty &&
					   zsscan_advance(scan->source, slot, scan->row)))
				break;
		}
		else if (scan->hides_any ||
				 !(ScanDirectionIsBackward(direction) ? previous_row(scan) :
				   next_run(scan, (ZsSlot *) slot)))
		{
			ExecClearTuple(slot);
			zsscan_source_rest(scan->source);
			return false;
		}
		view = &scan->views[scan->view];
		zsscan_store(scan->source, slot, scan->row, view->has_vis ? &view->vis : NULL);
		zsscan_tell_snapshot(scan, view);
		if (sscan->rs_nkeys == 0 || keys_match(scan, slot))
			break;
		CHECK_FOR_INTERRUPTS();
	}
	pgstat_count_heap_getnext(sscan->rs_rd);
	return true;
}

/* ---- TID range ---------------------------------------------------------------------- */

/* scan_set_tidrange of the table access method: contract in tableam.h. */
void
zsscan_set_tidrange(TableScanDesc sscan, ItemPointer mintid, ItemPointer maxtid)
{
	ZsScanDesc	scan = (ZsScanDesc) sscan;
	uint64		minoff = ItemPointerGetOffsetNumberNoCheck(mintid);
	uint64		maxoff = ItemPointerGetOffsetNumberNoCheck(maxtid);
	uint64		min;
	uint64		max;

	/* offsets from 1; those beyond a block's last row clamp to its end */
	min = zs_block_first_row(ItemPointerGetBlockNumberNoCheck(mintid)) +
		(minoff == 0 ? 0 : Min(minoff - 1, ZS_ROWS_PER_BLOCK));
	max = zs_block_first_row(ItemPointerGetBlockNumberNoCheck(maxtid)) +
		Min(maxoff, ZS_ROWS_PER_BLOCK);

	init_position(scan);
	scan->end = Min(max, scan->end);
	scan->start = Min(min, scan->end);
	Assert(scan->start <= scan->end);
	if (sscan->rs_parallel != NULL)
		zsscan_limit_chunks(scan, scan->start, scan->end);
	scan->source->scan_end = scan->end;
	zsscan_source_range(scan->source, scan->start, scan->end, NULL);
}

/* scan_getnextslot_tidrange of the table access method: contract in tableam.h. */
bool
zsscan_getnextslot_tidrange(TableScanDesc sscan, ScanDirection direction, TupleTableSlot *slot)
{
	return zsscan_getnextslot(sscan, direction, slot);
}
