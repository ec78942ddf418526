/*-------------------------------------------------------------------------
 *
 * scan_desc.h
 *	  The scan descriptor; private to src/scan.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_desc.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SCAN_DESC_H
#define SCAN_DESC_H

#include "postgres.h"

#include "access/relscan.h"
#include "port/atomics.h"

#include "scan_internal.h"
#include "zs_scan.h"

/* Visible rows that share a slot. */
typedef struct ZsRunView
{
	zstid		first;
	uint64		count;
	bool		has_vis;		/* false: dead row of a scan that shows them */
	ZsVisSlot	vis;
	ZsTidDirty	dirty;			/* of scans of a dirty snapshot only */
} ZsRunView;

/* One past the last row of the view. */
static inline zstid
zsscan_view_end(const ZsRunView *view)
{
	return view->first + view->count;
}

/* Chunks of a parallel scan that a process has at a time. */
#define ZS_CLAIMED_CHUNKS	32

typedef struct ZsScanChunk
{
	zstid		start;
	zstid		end;
} ZsScanChunk;

/*
 * Where a scan stands: the visible runs of a window of row numbers, and a row in
 * them.  Going forward the window is one run of the TID tree; backward, and
 * for scans by block, it is a fixed range that is loaded as a whole.
 */
typedef struct ZsScanDescData
{
	TableScanDescData rs_base;	/* first */
	ZsRowSource *source;
	ZsTidScan  *tids;
	int			nagain;			/* how often it was begun anew, to ZS_LOOPS_BEFORE_KEEPING */
	bool		is_dirty;		/* the snapshot is to be told of each row who is at work on it */
	bool		hides_any;		/* it returns no row (scan_any.c) */
	zstid		start;			/* rows of the scan, or of the parallel chunk */
	zstid		end;

	zstid		window_start;
	zstid		window_end;
	zstid		tids_at;		/* where tids goes on; ZS_INVALID_ROW = nowhere */
	ZsRunView  *views;
	int			nviews;
	int			maxviews;
	int			view;			/* present view; -1 before the first, nviews
								 * behind the last */
	zstid		row;			/* present row when view is valid */

	/* what is left of the run that was read last, in forward direction */
	bool		has_rest;
	ZsRunView	rest;
	uint64		nexcluded;		/* segments that zone maps excluded */
	zstid		excluded;		/* first row of the last of them; INVALID = none */
	zstid		zone_from;		/* what they said last, of rows [from, until) */
	zstid		zone_until;
	bool		zone_excluded;

	struct ZsScanPick *pick;	/* what look-ahead leaves out; NULL: nothing */

	/* parallel scan */
	bool		in_chunk;
	AttrNumber	widest;			/* column whose segments chunks are made of; 0 = none */
	int			max_segments;	/* of a chunk */
	uint64		chunk;			/* number of the present chunk; 0 = none yet */
	uint64		claimed;		/* of the last one that this process has claimed */
	ZsScanChunk chunks[ZS_CLAIMED_CHUNKS];	/* at number % ZS_CLAIMED_CHUNKS */
	ZsRowRanges ranges;			/* leads from the present chunk to those behind it */

	/* scans by block: bitmap, sample, analyze */
	BlockNumber block;
	uint64		nblocks;
	BlockNumber sample_next;	/* next block of a sample of all blocks */
	int			noffsets;		/* exact bitmap page; -1: all rows of the block */
	int			offset_pos;
	int			nsingle;		/* rows of a bitmap that were looked up one by one */
	OffsetNumber offsets[ZS_ROWS_PER_BLOCK];
	bool		recheck;
	struct ZsAnalyzeBlocks *analyze;	/* ANALYZE; NULL before its first block */
	struct ZsScanPrefetch *prefetch;	/* NULL before the first block, and if there is none */
} ZsScanDescData;

typedef ZsScanDescData *ZsScanDesc;

typedef struct ParallelZsScanDescData
{
	ParallelTableScanDescData base;
	pg_atomic_uint64 next_row;	/* first row not handed out */
	pg_atomic_uint32 nprocesses;	/* that have claimed a chunk */
	uint64		end_row;		/* of those that are handed out */
	uint64		table_end;		/* the first row that the table did not have */
} ParallelZsScanDescData;

typedef ParallelZsScanDescData *ParallelZsScanDesc;

/* A row of the view is returned: tells a dirty snapshot who is at work on it. */
static inline void
zsscan_tell_snapshot(ZsScanDesc scan, const ZsRunView *view)
{
	if (unlikely(scan->is_dirty))
		zstid_dirty_set(scan->rs_base.rs_snapshot, &view->dirty);
}

/* scan_seq.c */

extern void zsscan_load_window(ZsScanDesc scan, zstid start, zstid end);
extern void zsscan_load_rows(ZsScanDesc scan, zstid base, const OffsetNumber *offsets,
							 int noffsets);

/* scan_pick.c */

typedef struct ZsScanPick ZsScanPick;

extern void zsscan_pick_begin(ZsScanDesc scan);
extern void zsscan_pick_for(ZsScanPick *picks, const ZsSlot *slot);
extern void zsscan_pick_end(ZsScanPick *picks);

/* scan_block.c */

extern void zsscan_load_block(ZsScanDesc scan, BlockNumber block, bool by_vector);
extern bool zsscan_next_in_window(ZsScanDesc scan);

/* scan_chunk.c */

extern bool zsscan_next_chunk(ZsScanDesc scan, const ZsSlot *slot);
extern void zsscan_limit_chunks(ZsScanDesc scan, zstid start, zstid end);
extern void zsscan_forget_chunks(ZsScanDesc scan);

/* scan_prefetch.c */

/* A block that a scan is going to come to. */
typedef struct ZsScanBlock
{
	BlockNumber block;
	uint32		first;			/* first row of it that is wanted */
	bool		by_vector;		/* as for zsscan_load_block() */
	BlockNumber drawn;			/* ANALYZE: number that stands for the block */
	bool		recheck;		/* bitmap scans ... */
	bool		lossy;
	int			noffsets;		/* -1: all rows */
	OffsetNumber offsets[ZS_ROWS_PER_BLOCK];
} ZsScanBlock;

typedef bool (*ZsBlockSource) (void *arg, ZsScanBlock *block);

typedef struct ZsScanPrefetch ZsScanPrefetch;

extern ZsScanPrefetch *zsscan_prefetch_begin(ZsScanDesc scan, TupleTableSlot *slot,
											 bool maintenance, ZsBlockSource source, void *arg);
extern const ZsScanBlock *zsscan_prefetch_next(ZsScanPrefetch *prefetch);
extern void zsscan_prefetch_end(ZsScanPrefetch *prefetch);

/* scan_seq.c */

extern const ZsRunView *zsscan_find_view(ZsScanDesc scan, zstid row);
extern bool zsscan_next_run(ZsScanDesc scan, const ZsSlot *slot, bool stay, ZsRunView *run);

/* scan_zone.c */

extern bool zsscan_zone_excludes(const ZsZoneFilter *filter, const ZsColumnBounds *bounds);
extern bool zsscan_zone_excludes_segment(const ZsZoneFilter *filter, const ZsSegmentItem *item);
extern bool zsscan_stripe_excluded(ZsScanDesc scan, const ZsSlot *slot, zstid row, zstid end);
extern bool zsscan_zone_excluded(ZsScanDesc scan, const ZsSlot *slot, zstid row, zstid end,
								 zstid *until);

#endif							/* SCAN_DESC_H */
