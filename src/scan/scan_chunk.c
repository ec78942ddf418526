/*-------------------------------------------------------------------------
 *
 * scan_chunk.c
 *	  Chunks of parallel scans.
 *
 * A parallel scan hands out chunks of rows by an atomic counter: one segment each, smaller ones
 * towards the end so that processes finish together.
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
#include "zs_compat.h"
#include "zs_page.h"
#include "zs_write.h"

/* Chunks of equal size that what is left is good for, for each process that takes part ... */
#define CHUNKS_OF_PROCESS		8

/* ... of which there may be so many, as far as one knows at first. */
#define MIN_PROCESSES			2

/* A chunk is claimed ahead while for each one that is, there are so many for every process. */
#define CHUNKS_LEFT				2

/*
 * Rows of the next chunk when start is the first that is not handed out.  Pieces of a segment that
 * go to several processes are dear, since each of them reads its head and the pages in between.
 */
static uint64
chunk_size(ParallelZsScanDesc pscan, uint64 start, uint32 nprocesses)
{
	uint64		size = (pscan->end_row - start) / (nprocesses * CHUNKS_OF_PROCESS);

	/* a whole segment while there are plenty, a stripe at the end */
	size = Min(Max(TYPEALIGN64(ZS_STRIPE_ROWS, size), ZS_STRIPE_ROWS), ZS_SEGMENT_ROWS);
	/* do not reach into the next segment */
	return Min(size, ZS_SEGMENT_ROWS - start % ZS_SEGMENT_ROWS);
}

/* Claims a chunk, as number `ahead` of those ahead of the reader if there are enough. */
static bool
claim_chunk(ZsScanDesc scan, uint64 ahead)
{
	ParallelZsScanDesc pscan = (ParallelZsScanDesc) scan->rs_base.rs_parallel;
	uint64		start = pg_atomic_read_u64(&pscan->next_row);
	uint32		nprocesses = pg_atomic_read_u32(&pscan->nprocesses);
	ZsScanChunk *chunk;
	uint64		size;

	if (scan->claimed == 0)
		nprocesses = pg_atomic_add_fetch_u32(&pscan->nprocesses, 1);
	nprocesses = Max(nprocesses, MIN_PROCESSES);
	do
	{
		if (start >= pscan->end_row)
			return false;
		size = chunk_size(pscan, start, nprocesses);
		if (ahead * nprocesses * CHUNKS_LEFT * size > pscan->end_row - start)
			return false;
	} while (!pg_atomic_compare_exchange_u64(&pscan->next_row, &start, start + size));

	Assert(size > 0 && start / ZS_SEGMENT_ROWS == (start + size - 1) / ZS_SEGMENT_ROWS);
	chunk = &scan->chunks[++scan->claimed % ZS_CLAIMED_CHUNKS];
	chunk->start = start;
	chunk->end = Min(start + size, pscan->end_row);
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

/* Makes the next chunk that this process has claimed, or claims now, the scan's range. */
bool
zsscan_next_chunk(ZsScanDesc scan)
{
	const ZsScanChunk *chunk;

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
	zpscan->end_row = zspage_next_row(rel);
	return sizeof(ParallelZsScanDescData);
}

/* parallelscan_reinitialize of the table access method: contract in tableam.h. */
void
zsscan_parallel_reinitialize(Relation rel, ParallelTableScanDesc pscan)
{
	ParallelZsScanDesc zpscan = (ParallelZsScanDesc) pscan;

	pg_atomic_write_u64(&zpscan->next_row, 0);
	pg_atomic_write_u32(&zpscan->nprocesses, 0);
}
