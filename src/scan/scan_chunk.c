/*-------------------------------------------------------------------------
 *
 * scan_chunk.c
 *	  Chunks of parallel scans.
 *
 * A parallel scan hands out chunks of rows by an atomic counter: segments of the column that takes
 * most of the reading, since processes that share a segment both read its head and the pages in
 * between.  While there is plenty, a chunk has several segments that lie side by side, which are
 * read with as few requests as in a serial scan.  Towards the end there are parts of
 * segments, so that processes finish together.
 *
 * A process that came to the end of its chunk and only then claimed the next one would have nothing
 * in flight at that moment, column for column.  So the streams of its columns, which are ahead of
 * the reader, ask for the chunks behind it, and these are claimed then:
 *
 *			  reader           a stream
 *				v                 v
 *		[ chunk 7 ][ chunk 8 ][ chunk 9 ]      claimed by this process, in a ring
 *
 * Others cannot have what is claimed, so it is the less the nearer the end is, and nothing when
 * there is little left for each process that takes part.  A table of a few stripes is handed out
 * stripe by stripe.  Without streams nothing is claimed ahead.
 *
 * Invariant: the ring has chunks `chunk` to `claimed`, of numbers that go up by one; their rows
 * go up, too.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_chunk.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/rel.h"

#include "scan_desc.h"
#include "zs_attr.h"
#include "zs_compat.h"
#include "zs_page.h"
#include "zs_write.h"

/*
 * Chunks of equal size that what is left is good for, for each process that takes part; and those
 * of parts of a segment ...
 */
#define CHUNKS_OF_PROCESS		4
#define PARTS_OF_PROCESS		2

/* ... of which there may be so many, as far as one knows at first. */
#define MIN_PROCESSES			2

/* Segments of a chunk; one where a filter may leave some of them out, and make chunks unequal. */
#define MAX_SEGMENTS			8

/* The smallest part of a segment, unless the table is so small that it would be too much. */
#define MIN_PART				(ZS_SEGMENT_ROWS / 4)

/* A chunk is claimed ahead while for each one that is, there are so many for every process. */
#define CHUNKS_LEFT				2

/* The column of those that the slot needs that has most blocks; 0 if there is none. */
static AttrNumber
widest_column(Relation rel, const ZsSlot *slot)
{
	TupleDesc	desc = RelationGetDescr(rel);
	int			n = slot->nneeded >= 0 ? slot->nneeded : desc->natts;
	uint64		nblocks = 0;
	AttrNumber	widest = 0;

	for (int k = 0; k < n; k++)
	{
		int			attno = slot->nneeded >= 0 ? slot->needed[k] : k;
		ZsTreeEntry entry;

		if (attno >= desc->natts || TupleDescAttr(desc, attno)->attisdropped)
			continue;
		zspage_tree_entry(rel, ZsTreeOfAttr(attno + 1), &entry);
		if (entry.nblocks > nblocks)
		{
			nblocks = entry.nblocks;
			widest = attno + 1;
		}
	}
	return widest;
}

/* Behind the stripe of the segment's last row. */
static zstid
segment_end(const ZsSegmentItem *item)
{
	return TYPEALIGN64(ZS_STRIPE_ROWS, item->first_row + item->nrows);
}

/*
 * Behind the segment of the scan's widest column that has row start, and behind as many of those
 * that follow it in the file as fit into `most` rows.
 */
static zstid
segments_end(ZsScanDesc scan, zstid start, uint64 most)
{
	Relation	rel = scan->rs_base.rs_rd;
	zstid		end = start + ZS_SEGMENT_ROWS;
	ZsSegmentItem item;
	ZsSegmentItem next;

	if (scan->widest == 0 || !zsattr_find_segment(rel, scan->widest, start, false, &item))
		return end;
	/* rows that are in no segment */
	if (item.first_row > start)
		return Min(end, item.first_row);
	end = segment_end(&item);
	for (int n = 1; n < scan->max_segments; n++)
	{
		if (!zsattr_find_segment(rel, scan->widest, end, true, &next) ||
			next.start != item.start + item.nblocks || segment_end(&next) - start > most)
			break;
		item = next;
		end = segment_end(&item);
	}
	return end;
}

/* The end of the next chunk when start is the first row that is not handed out. */
static zstid
chunk_end(ZsScanDesc scan, uint64 start, uint32 nprocesses)
{
	ParallelZsScanDesc pscan = (ParallelZsScanDesc) scan->rs_base.rs_parallel;
	uint64		left = pscan->end_row - start;
	uint64		least = Min(pscan->end_row / (nprocesses * CHUNKS_OF_PROCESS), MIN_PART);
	uint64		part = Max(left / (nprocesses * PARTS_OF_PROCESS), least);
	zstid		end = segments_end(scan, start, left / (nprocesses * CHUNKS_OF_PROCESS));

	Assert(end > start);
	part = Max(TYPEALIGN64(ZS_STRIPE_ROWS, part), ZS_STRIPE_ROWS);
	/* leave no small rest of a segment */
	if (part < ZS_SEGMENT_ROWS && start + part + least <= end)
		end = start - start % ZS_STRIPE_ROWS + part;
	return Min(end, pscan->end_row);
}

/* Claims a chunk, as number `ahead` of those ahead of the reader if there are enough. */
static bool
claim_chunk(ZsScanDesc scan, uint64 ahead)
{
	ParallelZsScanDesc pscan = (ParallelZsScanDesc) scan->rs_base.rs_parallel;
	uint64		start = pg_atomic_read_u64(&pscan->next_row);
	uint32		nprocesses = pg_atomic_read_u32(&pscan->nprocesses);
	ZsScanChunk *chunk;
	zstid		end;

	if (scan->claimed == 0)
		nprocesses = pg_atomic_add_fetch_u32(&pscan->nprocesses, 1);
	nprocesses = Max(nprocesses, MIN_PROCESSES);
	do
	{
		if (start >= pscan->end_row)
			return false;
		end = chunk_end(scan, start, nprocesses);
		if (ahead * nprocesses * CHUNKS_LEFT * (end - start) > pscan->end_row - start)
			return false;
	} while (!pg_atomic_compare_exchange_u64(&pscan->next_row, &start, end));

	Assert(end > start && end <= pscan->end_row);
	chunk = &scan->chunks[++scan->claimed % ZS_CLAIMED_CHUNKS];
	chunk->start = start;
	chunk->end = end;
	return true;
}

/*
 * ZsRangeSource: the rows of chunk `number`, the one behind another one that was claimed.  For the
 * streams, which are ahead of the reader.
 */
static bool
chunk_of_number(void *arg, uint64 number, zstid *start, zstid *end)
{
	ZsScanDesc	scan = arg;
	const ZsScanChunk *chunk;

	Assert(number >= scan->chunk && number <= scan->claimed + 1);
	if (number > scan->claimed)
	{
		uint64		ahead = number - scan->chunk;

		if (ahead >= ZS_CLAIMED_CHUNKS || !claim_chunk(scan, ahead))
			return false;
	}
	chunk = &scan->chunks[number % ZS_CLAIMED_CHUNKS];
	*start = chunk->start;
	*end = chunk->end;
	return true;
}

/*
 * Makes the next chunk that this process has claimed, or claims now, the scan's range.  The slot
 * says which columns are going to be read.
 */
bool
zsscan_next_chunk(ZsScanDesc scan, const ZsSlot *slot)
{
	const ZsScanChunk *chunk;

	if (scan->claimed == 0)
	{
		scan->widest = widest_column(scan->rs_base.rs_rd, slot);
		scan->max_segments = MAX_SEGMENTS;
		for (int i = 0; i < slot->nfilters; i++)
		{
			/* a test may exclude nothing, if values are in no order */
			if (slot->filters[i].test == NULL)
				scan->max_segments = 1;
		}
	}
	if (scan->chunk == scan->claimed && !claim_chunk(scan, 0))
		return false;
	scan->chunk++;
	Assert(scan->chunk <= scan->claimed && scan->claimed - scan->chunk < ZS_CLAIMED_CHUNKS);
	chunk = &scan->chunks[scan->chunk % ZS_CLAIMED_CHUNKS];
	scan->start = chunk->start;
	scan->end = chunk->end;
	scan->window_start = scan->window_end = scan->start;
	scan->tids_at = ZS_INVALID_ROW;
	scan->nviews = 0;
	scan->ranges.source = chunk_of_number;
	scan->ranges.arg = scan;
	scan->ranges.number = scan->chunk;
	zsscan_source_range(scan->source, scan->start, scan->end, &scan->ranges);
	return true;
}

/*
 * A parallel scan of the rows [start, end) alone, which are among those of the table when it began.
 * Each process says so before it claims a chunk, and all say the same: those that come later find
 * the range as they want it, and rows handed out already stay so.
 */
void
zsscan_limit_chunks(ZsScanDesc scan, zstid start, zstid end)
{
	ParallelZsScanDesc pscan = (ParallelZsScanDesc) scan->rs_base.rs_parallel;
	uint64		next_row = pg_atomic_read_u64(&pscan->next_row);

	Assert(scan->claimed == 0 && start <= end);
	pscan->end_row = end;
	while (next_row < start &&
		   !pg_atomic_compare_exchange_u64(&pscan->next_row, &next_row, start))
		;
}

/* The scan begins anew: nothing is claimed. */
void
zsscan_forget_chunks(ZsScanDesc scan)
{
	scan->in_chunk = false;
	scan->chunk = scan->claimed = 0;
}

/* ---- callbacks ------------------------------------------------------------------------- */

/* parallelscan_estimate of the table access method: contract in tableam.h. */
Size
zsscan_parallel_estimate(Relation rel)
{
	return sizeof(ParallelZsScanDescData);
}

/* parallelscan_initialize of the table access method: contract in tableam.h. */
Size
zsscan_parallel_initialize(Relation rel, ParallelTableScanDesc pscan)
{
	ParallelZsScanDesc zpscan = (ParallelZsScanDesc) pscan;

	/* workers cannot see our write buffer */
	zswrite_flush(rel);
	zs_parallelscan_set_table(&zpscan->base, rel);
	zpscan->base.phs_syncscan = false;
	pg_atomic_init_u64(&zpscan->next_row, 0);
	pg_atomic_init_u32(&zpscan->nprocesses, 0);
	zpscan->end_row = zpscan->table_end = zspage_next_row(rel);
	return sizeof(ParallelZsScanDescData);
}

/* parallelscan_reinitialize of the table access method: contract in tableam.h. */
void
zsscan_parallel_reinitialize(Relation rel, ParallelTableScanDesc pscan)
{
	ParallelZsScanDesc zpscan = (ParallelZsScanDesc) pscan;

	pg_atomic_write_u64(&zpscan->next_row, 0);
	pg_atomic_write_u32(&zpscan->nprocesses, 0);
	/* the next range of TIDs may reach further than the last one */
	zpscan->end_row = zpscan->table_end;
}
