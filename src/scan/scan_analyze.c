/*-------------------------------------------------------------------------
 *
 * scan_analyze.c
 *	  The sample of ANALYZE.
 *
 * ANALYZE's block sampler draws from the logical blocks that relation_size
 * reports; the physical blocks that its read stream would read have nothing
 * to do with them, so only the numbers are taken from the stream.
 *
 * The problem: row numbers are not used again.  In a table that had many times more
 * rows than it has (a queue) most logical blocks have no row, and a sample of all blocks meets few
 * of those that do.
 *
 * The idea: where less than half of the blocks have a row, dead or alive, the blocks drawn stand
 * for those.  Of N blocks L have rows; block b stands for number floor(b * L / N) of them.  So each
 * of the L blocks has some neighbouring numbers that stand for it.  It is read when the first of
 * them is drawn.  ANALYZE takes the rows it was shown for those of so many blocks out of N; each
 * number drawn therefore counts the block's rows divided by how many numbers stand for the block,
 * which makes the expected total right, and exact when all numbers are drawn.
 *
 * Which blocks have rows is found out by reading the TID tree, unless that has more pages than the
 * sample of ANALYZE has blocks by default.  It is short where rows are gone, since VACUUM merges
 * its leaves.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_analyze.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "scan_desc.h"
#include "zs_page.h"

/*
 * Pages of a TID tree that ANALYZE reads: as many as it samples blocks with the default statistics
 * target.
 */
#define MAX_TID_PAGES	30000

/* Ranges of blocks that it remembers; 16 bytes each. */
#define MAX_RANGES		1000000

/* Adjacent logical blocks with rows. */
typedef struct BlockRange
{
	BlockNumber first;
	uint32		count;
	uint64		before;			/* blocks with rows in front of it */
} BlockRange;

typedef struct ZsAnalyzeBlocks
{
	ReadStream *stream;			/* which draws the numbers */
	BlockRange *ranges;			/* NULL: blocks stand for themselves */
	int			nranges;
	uint64		noccupied;		/* blocks in them */

	/* the present block */
	uint64		index;			/* among those with rows */
	bool		repeated;		/* drawn again, by a number that stands for the same */
	double		weight;			/* what a row of it counts */
	double		live;			/* counted in it so far */
	double		dead;
} ZsAnalyzeBlocks;

/* Finds the blocks that have rows; leaves out->ranges NULL where that would not pay. */
static void
find_occupied(ZsScanDesc scan, ZsAnalyzeBlocks *out)
{
	Relation	rel = scan->rs_base.rs_rd;
	int			maxranges = 64;
	uint64		next = 0;		/* blocks before this one are in ranges if they have rows */
	ZsTreeEntry entry;
	ZsTidScan  *tids;
	ZsTidRun	run;
	const ZsVisSlot *vis;

	zspage_tree_entry(rel, ZS_TREE_TID, &entry);
	if (entry.nblocks - Min(entry.nfree, entry.nblocks) > MAX_TID_PAGES)
		return;

	out->ranges = palloc(maxranges * sizeof(BlockRange));
	tids = zstid_scan_begin(rel, NULL, 0, scan->end, NULL);
	while (zstid_scan_next(tids, &run, &vis))
	{
		uint64		first = Max(run.first / ZS_ROWS_PER_BLOCK, next);
		uint64		end = (run.first + run.count - 1) / ZS_ROWS_PER_BLOCK + 1;

		if (first >= end)
			continue;
		if (out->nranges > 0 && first == next)
			out->ranges[out->nranges - 1].count += end - first;
		else
		{
			if (out->nranges == MAX_RANGES)
				break;
			if (out->nranges == maxranges)
			{
				maxranges = Min(maxranges * 2, MAX_RANGES);
				out->ranges = repalloc(out->ranges, maxranges * sizeof(BlockRange));
			}
			out->ranges[out->nranges].first = (BlockNumber) first;
			out->ranges[out->nranges].count = (uint32) (end - first);
			out->ranges[out->nranges].before = out->noccupied;
			out->nranges++;
		}
		out->noccupied += end - first;
		next = end;
		if (out->noccupied * 2 > scan->nblocks)
			break;
	}
	zstid_scan_end(tids);

	if (out->nranges == 0 || out->nranges == MAX_RANGES ||
		out->noccupied * 2 > scan->nblocks)
	{
		pfree(out->ranges);
		out->ranges = NULL;
	}
}

/* The first number that stands for the block with rows that has this index. */
static inline uint64
first_number(const ZsAnalyzeBlocks *blocks, uint64 nblocks, uint64 index)
{
	return (index * nblocks + blocks->noccupied - 1) / blocks->noccupied;
}

static BlockNumber
occupied_block(const ZsAnalyzeBlocks *blocks, uint64 index)
{
	int			low = 0;
	int			high = blocks->nranges - 1;

	Assert(index < blocks->noccupied);
	while (low < high)
	{
		int			mid = (low + high + 1) / 2;

		if (blocks->ranges[mid].before <= index)
			low = mid;
		else
			high = mid - 1;
	}
	return blocks->ranges[low].first + (BlockNumber) (index - blocks->ranges[low].before);
}

/* Does a number that was drawn stand for a block with rows that has an index?  Then that. */
static inline bool
drawn_index(ZsScanDesc scan, BlockNumber number, uint64 *index)
{
	if (scan->analyze->ranges == NULL || number >= scan->nblocks)
		return false;
	*index = number * scan->analyze->noccupied / scan->nblocks;
	return true;
}

/*
 * Leaves out the rows of the present block whose transactions had not ended when the block was
 * loaded: snapshot is older than that.  One may commit before ANALYZE comes to its rows; but then
 * the row tree has been copied without them, and of the row numbers that were reserved for them
 * some may have been given back.
 */
static void
leave_out_late_rows(ZsScanDesc scan, Snapshot snapshot)
{
	int			nkept = 0;

	for (int i = 0; i < scan->nviews; i++)
	{
		const ZsRunView *view = &scan->views[i];

		if (view->has_vis && (view->vis.infomask & HEAP_XMIN_COMMITTED) == 0 &&
			TransactionIdIsNormal(view->vis.xmin) && !zstid_is_current_xact(&view->vis) &&
			XidInMVCCSnapshot(view->vis.xmin, snapshot))
			continue;
		scan->views[nkept++] = *view;
	}
	scan->nviews = nkept;
}

/* Makes the block that number stands for the present one. */
static void
load_drawn(ZsScanDesc scan, BlockNumber number)
{
	ZsAnalyzeBlocks *blocks = scan->analyze;
	Snapshot	snapshot;
	uint64		index;

	blocks->repeated = false;
	if (drawn_index(scan, number, &index))
	{
		blocks->repeated = index == blocks->index;
		if (blocks->repeated)
			return;
		blocks->index = index;
		blocks->weight = 1.0 / (first_number(blocks, scan->nblocks, index + 1) -
								first_number(blocks, scan->nblocks, index));
		number = occupied_block(blocks, index);
	}
	blocks->live = blocks->dead = 0;
	snapshot = GetLatestSnapshot();
	zsscan_load_block(scan, number, true);
	leave_out_late_rows(scan, snapshot);
}

/*
 * ZsBlockSource: the next number that is drawn, in `drawn`, and the block that it
 * stands for.  The drawing does not depend on what is found in the blocks.
 */
static bool
next_drawn(void *arg, ZsScanBlock *block)
{
	ZsScanDesc	scan = arg;
	BufferAccessStrategy strategy;
	uint64		index;

	block->drawn = read_stream_next_block(scan->analyze->stream, &strategy);
	if (!BlockNumberIsValid(block->drawn))
		return false;
	block->block = block->drawn;
	if (drawn_index(scan, block->drawn, &index))
		block->block = occupied_block(scan->analyze, index);
	block->by_vector = true;
	block->first = 0;
	return true;
}

/* scan_analyze_next_block of the table access method: contract in tableam.h. */
bool
zsscan_analyze_next_block(TableScanDesc sscan, ReadStream *stream)
{
	ZsScanDesc	scan = (ZsScanDesc) sscan;
	const ZsScanBlock *block;

	CHECK_FOR_INTERRUPTS();
	if (scan->analyze == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(scan->source->context);

		scan->analyze = palloc0(sizeof(ZsAnalyzeBlocks));
		scan->analyze->index = PG_UINT64_MAX;
		scan->analyze->weight = 1;
		find_occupied(scan, scan->analyze);
		MemoryContextSwitchTo(old);
	}
	scan->analyze->stream = stream;
	if (scan->prefetch == NULL)
		scan->prefetch = zsscan_prefetch_begin(scan, NULL, true, next_drawn, scan);
	block = zsscan_prefetch_next(scan->prefetch);
	if (block == NULL)
		return false;
	load_drawn(scan, block->drawn);
	return true;
}

/* The same decisions as heapam_scan_analyze_next_tuple(): is the row of the view to be sampled? */
static bool
classify_row(ZsAnalyzeBlocks *blocks, ZsRunView *view)
{
	TransactionId dead_after;

	if (!view->has_vis)
	{
		blocks->dead++;
		return false;
	}
	switch (zstid_satisfies_vacuum_horizon(&view->vis, InvalidBuffer, &dead_after))
	{
		case ZS_VACUUM_LIVE:
			blocks->live++;
			return true;
		case ZS_VACUUM_DEAD:
		case ZS_VACUUM_RECENTLY_DEAD:
			blocks->dead++;
			return false;
		case ZS_VACUUM_INSERT_IN_PROGRESS:
			if (!zstid_is_current_xact(&view->vis))
				return false;
			blocks->live++;
			return true;
		case ZS_VACUUM_DELETE_IN_PROGRESS:
			if (zstid_deleted_by_current_xact(&view->vis))
			{
				blocks->dead++;
				return false;
			}
			blocks->live++;
			return true;
		case ZS_VACUUM_INVALID:
			break;
	}
	elog(ERROR, "unexpected result of visibility check");
	return false;
}

/* scan_analyze_next_tuple of the table access method: contract in tableam.h. */
bool
zsscan_analyze_next_tuple(TableScanDesc sscan, double *liverows, double *deadrows,
						  TupleTableSlot *slot)
{
	ZsScanDesc	scan = (ZsScanDesc) sscan;
	ZsAnalyzeBlocks *blocks = scan->analyze;

	while (!blocks->repeated && zsscan_next_in_window(scan))
	{
		ZsRunView  *view = &scan->views[scan->view];

		if (classify_row(blocks, view))
		{
			zsscan_store(scan->source, slot, scan->row, &view->vis);
			return true;
		}
	}

	/* the block is through, or was read before */
	*liverows += blocks->live * blocks->weight;
	*deadrows += blocks->dead * blocks->weight;
	ExecClearTuple(slot);
	return false;
}
