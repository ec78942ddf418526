/*-------------------------------------------------------------------------
 *
 * attr_ahead.c
 *	  Look-ahead for readers that go by single rows or stripes.
 *
 * A sequential scan has a stream for each column (attr_stream.c), since it wants all pages of it.
 * Others know the rows that they will ask for: a bitmap scan, ANALYZE, a row that an index
 * found.  Such a caller says for each row and column that it wishes it, in the order in which it
 * will read.  One read stream for all columns brings the pages.
 *
 *	  wish (row, column)
 *		 |   tree of the column: where is the segment?
 *		 |   head of the segment, from the backend's cache: where is the vector?
 *		 v
 *	  pages -> read stream -> shared buffers
 *
 * Wishes are taken in batches.  What leads to the pages of a batch is read first, all of it side by
 * side: roots of trees that nobody has looked at yet, then heads that the cache does not have.
 * After that the pages of the vectors go to the stream.
 *
 * Where a column's wishes go on from page to page, its pages are asked for in growing
 * windows, into the segment behind.  So a sample that meets every stripe is read
 * with large requests.
 *
 * A buffer is released as soon as the stream has delivered it.  The caller's reader finds it in
 * shared buffers, and verifies it there as always.  So whatever happens here, it never decides
 * what is read: a wish that leads nowhere, to a segment that was replaced meanwhile, or to pages
 * that were evicted again is merely slow.
 *
 * When nothing has been read from disk for a while, look-ahead rests: then it would only look for
 * pages twice.  It begins again when pages were missing.
 *
 * Locks: those of a descent, and a page's share lock for a copy of its head.  Pins: those of the
 * read stream; one delivered buffer between calls.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_ahead.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/smgr.h"
#include "utils/memutils.h"

#include "attr_ahead.h"

/* Wishes of the first batch, since a LIMIT may end the scan; the next ones are larger. */
#define MIN_BATCH			32

/* Pages of a column that are asked for beyond the present wish. */
#define MAX_WINDOW			16

/* Shared buffers that windows of all columns may fill: one in so many. */
#define WINDOW_SHARE		8

/*
 * The kernel is told of whole groups of so many blocks, as its own look-ahead begins where nobody
 * tells it anything.  On a volume that counts requests they cost what a block costs, and rows that
 * are wanted next may lie near.
 */
#define ADVISED_BLOCKS		4

/*
 * So many steps of the reader without a page from disk, and look-ahead rests.  A window may have
 * the pages of some 200 blocks.
 */
#define STEPS_BEFORE_REST	256

ZsAheadCounts zsattr_ahead_counts;

/* ---- reading a list of pages --------------------------------------------------- */

/* ReadStreamBlockNumberCB over the runs. */
static BlockNumber
next_of_runs(ReadStream *stream, void *callback_private_data, void *per_buffer_data)
{
	ZsAttrAhead *ahead = callback_private_data;

	while (ahead->run < ahead->nruns)
	{
		ZsAheadRun *run = &ahead->runs[ahead->run];

		if (run->next < run->end)
		{
			zsattr_ahead_counts.wish_pages++;
			return run->next++;
		}
		ahead->run++;
	}
	return InvalidBlockNumber;
}

/*
 * Tells the kernel the runs that are in no buffer, as many as there may be requests under way.
 * The stream would ask for all of them at once, too; but with io_method = worker core's few I/O
 * workers read one after the other, and a backend waits for a row's columns in turns.
 */
static void
advise_runs(ZsAttrAhead *ahead)
{
	Relation	rel = ahead->rel;
	int			most = zsbase_io_concurrency(rel, (ahead->flags & READ_STREAM_MAINTENANCE) != 0);

	if (ahead->nruns < 2 || !ZS_READS_BY_IO_WORKERS || RelationUsesLocalBuffers(rel) ||
		(io_direct_flags & IO_DIRECT_DATA) != 0)
		return;
	for (int i = 0; i < ahead->nruns && most > 0; i++)
	{
		BlockNumber from = ahead->runs[i].next;
		BlockNumber to = ahead->runs[i].end;

		CHECK_FOR_INTERRUPTS();
		while (from < to && zsbase_find_buffer(&rel->rd_locator, MAIN_FORKNUM, from) >= 0)
			from++;
		while (from < to && zsbase_find_buffer(&rel->rd_locator, MAIN_FORKNUM, to - 1) >= 0)
			to--;
		if (from < to)
		{
			from -= from % ADVISED_BLOCKS;
			to += (ADVISED_BLOCKS - to % ADVISED_BLOCKS) % ADVISED_BLOCKS;
			(void) smgrprefetch(RelationGetSmgr(rel), MAIN_FORKNUM, from, to - from);
			most--;
		}
	}
}

/* Reads the pages of all runs side by side, and forgets the runs. */
void
zsattr_ahead_read_runs(ZsAttrAhead *ahead)
{
	ReadStream *stream;
	Buffer		buf;

	if (ahead->nruns > 0)
	{
		MemoryContext old = MemoryContextSwitchTo(ahead->context);

		ahead->run = 0;
		advise_runs(ahead);
		stream = read_stream_begin_relation(ahead->flags | READ_STREAM_FULL, ahead->strategy,
											ahead->rel, MAIN_FORKNUM, next_of_runs, ahead, 0);
		zs_stream_count_io(stream, ahead->io);
		while (BufferIsValid(buf = read_stream_next_buffer(stream, NULL)))
		{
			CHECK_FOR_INTERRUPTS();
			ReleaseBuffer(buf);
		}
		read_stream_end(stream);
		MemoryContextSwitchTo(old);
	}
	ahead->nruns = 0;
	ahead->run = 0;
}

/* ---- life ---------------------------------------------------------------------------- */

/*
 * A look-ahead of the relation's attributes, described by desc; maintenance: for VACUUM and the
 * like, by maintenance_io_concurrency.  Memory comes from a context of its own, below the current
 * one.
 */
ZsAttrAhead *
zsattr_ahead_begin(Relation rel, TupleDesc desc, bool maintenance, BufferAccessStrategy strategy)
{
	ZsAttrAhead *ahead = palloc0_object(ZsAttrAhead);
	int			natts = Max(desc->natts, 1);

	ahead->rel = rel;
	ahead->desc = desc;
	ahead->strategy = strategy;
	ahead->flags = maintenance ? READ_STREAM_MAINTENANCE : READ_STREAM_DEFAULT;
	ahead->context = CurrentMemoryContext;
	ahead->columns = palloc0_array(ZsAheadColumn, natts);
	ahead->max_window = Min(Max(NBuffers / WINDOW_SHARE / natts, 1), MAX_WINDOW);
	ahead->pending = InvalidBuffer;
	ahead->seen_reads = zsattr_ahead_pages_read();
	return ahead;
}

/* Adds what look-ahead does from now on to io, which may be NULL and outlives it. */
void
zsattr_ahead_count_io(ZsAttrAhead *ahead, ZsIoCounts *io)
{
	Assert(ahead->stream == NULL);
	ahead->io = io;
}

/* Gives back all pins, and forgets what was to be read. */
static void
stop(ZsAttrAhead *ahead)
{
	/* not all pages of the windows may have been asked for */
	for (int i = 0; i < ahead->desc->natts && ahead->running; i++)
		ahead->columns[i].entered = ahead->columns[i].reaches = false;

	if (BufferIsValid(ahead->pending))
		ReleaseBuffer(ahead->pending);
	ahead->pending = InvalidBuffer;
	if (ahead->running)
		read_stream_reset(ahead->stream);
	ahead->running = false;
	ahead->nwishes = ahead->nruns = ahead->run = 0;
}

/* Gives back all pins and the memory. */
void
zsattr_ahead_end(ZsAttrAhead *ahead)
{
	stop(ahead);
	if (ahead->stream != NULL)
		read_stream_end(ahead->stream);
	if (ahead->wishes != NULL)
		pfree(ahead->wishes);
	if (ahead->runs != NULL)
		pfree(ahead->runs);
	pfree(ahead->columns);
	pfree(ahead);
}

/* Makes room for a batch: as long as nothing has to be read from disk there is none. */
static void
need_batch(ZsAttrAhead *ahead)
{
	if (ahead->wishes == NULL)
		ahead->wishes = MemoryContextAlloc(ahead->context, ZS_AHEAD_BATCH * sizeof(ZsAheadWish));
	if (ahead->runs == NULL)
		ahead->runs = MemoryContextAlloc(ahead->context, ZS_AHEAD_RUNS * sizeof(ZsAheadRun));
}

/* ---- a few wishes at once -------------------------------------------------------------- */

/* Reads the pages of n wishes side by side, and returns when they are there. */
void
zsattr_ahead_fetch(ZsAttrAhead *ahead, const ZsAttrWish *wishes, int n)
{
	Assert(!ahead->running);
	/* an error may have come in the midst of the last call, and the caller lived on */
	ahead->nwishes = ahead->nruns = ahead->run = 0;
	need_batch(ahead);
	for (int i = 0; i < n; i++)
	{
		ahead->wishes[ahead->nwishes++].wish = wishes[i];
		if (ahead->nwishes == ZS_AHEAD_BATCH || i == n - 1)
		{
			zsattr_ahead_plan(ahead);
			zsattr_ahead_read_runs(ahead);
		}
	}
}

/* ---- many, one after the other ------------------------------------------------------------ */

/* Takes wishes from the source until there are pages to read; false if there are no more. */
static bool
next_batch(ZsAttrAhead *ahead)
{
	need_batch(ahead);
	do
	{
		CHECK_FOR_INTERRUPTS();
		while (ahead->nwishes < ahead->batch_size && !ahead->source_ended)
		{
			ZsWishResult result = ahead->source(ahead->source_arg,
												&ahead->wishes[ahead->nwishes].wish);

			if (result == ZS_WISH_GIVEN)
			{
				ahead->given_tag = ahead->wishes[ahead->nwishes++].wish.tag;
				zsattr_ahead_counts.farthest = Max(zsattr_ahead_counts.farthest,
												   ahead->given_tag - ahead->reached_tag);
			}
			else if (result == ZS_WISH_END)
				ahead->source_ended = true;
			else
				break;
		}
		if (ahead->nwishes == 0)
			return false;
		ahead->batch_size = Min(ahead->batch_size * 2, ZS_AHEAD_BATCH);
		zsattr_ahead_plan(ahead);
	} while (ahead->nruns == 0);
	return true;
}

/*
 * ReadStreamBlockNumberCB.  A source that has no more for now must not end the stream, which would
 * have to find its depth again: it gets a page that is in some buffer, and for which nobody waits.
 */
static BlockNumber
next_block(ReadStream *stream, void *callback_private_data, void *per_buffer_data)
{
	ZsAttrAhead *ahead = callback_private_data;
	uint64	   *tag = per_buffer_data;
	BlockNumber blkno = next_of_runs(stream, ahead, NULL);

	if (!BlockNumberIsValid(blkno))
	{
		if (next_batch(ahead))
			blkno = next_of_runs(stream, ahead, NULL);
		else if (ahead->source_ended || !ahead->any_block)
			return InvalidBlockNumber;
		else
		{
			/*
			 * All wishes up to the one given last were taken, and those of what the reader has come
			 * to.  So this counts as a page of later ones, and does not make the reader go on.
			 */
			*tag = Max(ahead->given_tag, ahead->reached_tag + 1);
			return ZS_META_BLKNO;
		}
	}
	Assert(ahead->run < ahead->nruns);
	ahead->any_block = true;
	*tag = ahead->runs[ahead->run].tag;
	return blkno;
}

/*
 * Makes wishes come from a source, which is asked when zsattr_ahead_reach() is called.  Once, and
 * zsattr_ahead_fetch() is not called then.
 */
void
zsattr_ahead_start(ZsAttrAhead *ahead, ZsWishSource source, void *arg)
{
	Assert(!ahead->running);
	ahead->source = source;
	ahead->source_arg = arg;
	ahead->source_ended = false;
	ahead->batch_size = MIN_BATCH;
	ahead->any_block = false;
	ahead->given_tag = ahead->reached_tag = 0;
}

/* Should there be any look-ahead now?  Looks at what was read from disk since the last call. */
static bool
is_cold(ZsAttrAhead *ahead)
{
	uint64		reads = zsattr_ahead_pages_read();

	if (reads != ahead->seen_reads)
		ahead->steps_to_rest = STEPS_BEFORE_REST;
	else if (ahead->steps_to_rest > 0)
		ahead->steps_to_rest--;
	ahead->seen_reads = reads;
	return ahead->steps_to_rest > 0;
}

/*
 * The reader has come to the wishes with this tag: their pages are there on return, and those of
 * later ones are on their way, unless nothing had to be read from disk for a while.  Waits for
 * reads.
 */
void
zsattr_ahead_reach(ZsAttrAhead *ahead, uint64 tag)
{
	Assert(ahead->source != NULL && tag >= ahead->reached_tag);
	ahead->reached_tag = tag;
	if (!is_cold(ahead))
	{
		if (ahead->running)
			stop(ahead);
		return;
	}
	if (!ahead->running)
	{
		if (ahead->source_ended)
			return;
		if (ahead->stream == NULL)
		{
			MemoryContext old = MemoryContextSwitchTo(ahead->context);

			ahead->stream = read_stream_begin_relation(ahead->flags, ahead->strategy, ahead->rel,
													   MAIN_FORKNUM, next_block, ahead,
													   sizeof(uint64));
			zs_stream_count_io(ahead->stream, ahead->io);
			MemoryContextSwitchTo(old);
		}
		ahead->running = true;
	}

	/* ends: what the stream asks for from now on has later tags, once it has all up to this one */
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (!BufferIsValid(ahead->pending))
		{
			void	   *buffer_tag;

			ahead->pending = read_stream_next_buffer(ahead->stream, &buffer_tag);
			if (!BufferIsValid(ahead->pending))
			{
				/* all that the source has for now */
				stop(ahead);
				return;
			}
			ahead->pending_tag = *(uint64 *) buffer_tag;
		}
		if (ahead->pending_tag > tag)
			return;
		ReleaseBuffer(ahead->pending);
		ahead->pending = InvalidBuffer;
	}
}
