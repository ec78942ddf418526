/*-------------------------------------------------------------------------
 *
 * io_later.c
 *	  What the cleaner has written to the page cache goes to the device a little later.
 *
 * A buffer is cleaned because it is going to be replaced, not because its page has to be on the
 * device.  If the page cache holds the page, it is often read again from there, changed, and
 * cleaned once more; to write it to the device each time costs the volume more requests than
 * the server alone would send, which leaves such pages to the kernel.  So the cleaner
 * writes what the page cache holds there, and remembers it.  After zedstore.io_write_back_delay the
 * kernel is asked to write these blocks out, at the rate that limits and guard allow, once for all
 * changes since.  So the kernel does not put them off until they come in a burst.
 *
 * Blocks that are remembered already are not remembered again.  There is room for MAX_LATER blocks;
 * while there is none, what is cleaned goes to the device at once.  All this is a hint: the
 * checkpointer syncs the file in any case, and who asks for blocks of a file that is another one by
 * now makes the kernel write early.
 *
 * Invariant: the blocks of the queue are those of the table.
 *
 * Locks: none.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_later.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "io_worker.h"

/* Blocks that are remembered: 32 MB, less than what small hosts let a volume have dirty. */
#define MAX_LATER		4096

/* One block; the key of the table, so it has no padding that is not zeroed. */
typedef struct Block
{
	RelFileLocator locator;
	ForkNumber	forknum;
	BlockNumber blkno;
} Block;

typedef struct Entry
{
	Block		block;
	TimestampTz due;
} Entry;

/* A worker's. */
typedef struct ZsIoLater
{
	HTAB	   *known;
	Entry		queue[MAX_LATER];	/* a ring, in order of time */
	uint32		head;			/* next to write out; counts on */
	uint32		tail;			/* next to put */
} ZsIoLater;

/* The worker has just begun. */
void
zsio_later_init(ZsIoWorker *worker)
{
	HASHCTL		ctl = {0};

	Assert(worker->later == NULL);
	worker->later = MemoryContextAllocZero(TopMemoryContext, sizeof(ZsIoLater));
	ctl.keysize = ctl.entrysize = sizeof(Block);
	ctl.hcxt = TopMemoryContext;
	worker->later->known = hash_create("zedstore blocks to write out", MAX_LATER, &ctl,
									   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* May the run's blocks, which are written to the page cache, stay there for now? */
bool
zsio_later_may_wait(const ZsIoWorker *worker, const ZsIoRun *run)
{
	const ZsIoLater *me = worker->later;

	Assert(run->cached);
#ifdef HAVE_SYNC_FILE_RANGE
	return zsio_write_back_delay > 0 && run->role == ZSIO_ROLE_CLEANER &&
		me->tail - me->head + run->nblocks <= MAX_LATER;
#else
	return false;
#endif
}

/* They have been written there. */
void
zsio_later_remember(ZsIoWorker *worker, const ZsIoRun *run)
{
	ZsIoLater  *me = worker->later;
	TimestampTz due = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), zsio_write_back_delay);
	Block		block;

	memset(&block, 0, sizeof(block));
	block.locator = run->first.locator;
	block.forknum = run->first.forknum;
	for (int i = 0; i < run->nblocks && me->tail - me->head < MAX_LATER; i++)
	{
		bool		found;

		block.blkno = run->first.blkno + i;
		(void) hash_search(me->known, &block, HASH_ENTER, &found);
		if (found)
			continue;
		me->queue[me->tail % MAX_LATER].block = block;
		me->queue[me->tail % MAX_LATER].due = due;
		me->tail++;
	}
	Assert(hash_get_num_entries(me->known) == me->tail - me->head);
}

/* Takes the oldest blocks that are adjacent, at most so many; returns how many. */
static int
take(ZsIoLater *me, int most, Block *first)
{
	int			n = 0;

	*first = me->queue[me->head % MAX_LATER].block;
	while (me->head != me->tail && n < most)
	{
		Block	   *block = &me->queue[me->head % MAX_LATER].block;

		if (block->forknum != first->forknum || block->blkno != first->blkno + n ||
			(n > 0 && block->blkno % RELSEG_SIZE == 0) ||
			!RelFileLocatorEquals(block->locator, first->locator))
			break;
		(void) hash_search(me->known, block, HASH_REMOVE, NULL);
		me->head++;
		n++;
	}
	Assert(n > 0);
	Assert(hash_get_num_entries(me->known) == me->tail - me->head);
	return n;
}

/* Has the kernel begin to write the blocks out. */
static void
write_out(ZsIoWorker *worker, const Block *first, int nblocks)
{
	ZsIoFile   *file = zsio_file_get(worker->files, &first->locator, first->forknum,
									 first->blkno / RELSEG_SIZE);
	int			fd;

	if (file == NULL)
		return;
	fd = zsio_file_cached_fd(file);
	if (fd >= 0)
		zsio_cache_start_write_back(fd, (off_t) (first->blkno % RELSEG_SIZE) * BLCKSZ,
									(off_t) nblocks * BLCKSZ);
	ZS_INJECTION_POINT_ARG("zs-io-later", NULL);
	zsio_file_put(file);
}

/* Sees to blocks that are due: see io_worker.h. */
bool
zsio_later_poll(ZsIoWorker *worker)
{
	ZsIoLater  *me = worker->later;
	TimestampTz now = GetCurrentTimestamp();

	while (me->head != me->tail && !zsio_called_away(worker))
	{
		const Entry *oldest = &me->queue[me->head % MAX_LATER];
		int			volume = zsio_volume_of(oldest->block.locator.spcOid);
		int			most = zsio_volume_limits(volume)->request_blocks;
		Block		first;
		int			nblocks;

		/* a clock that was set back must not keep them for ever */
		if (oldest->due > now &&
			oldest->due - now <= zsio_write_back_delay * INT64CONST(1000))
			return false;
		if (zsio_limit_delay(worker, volume, most) > 0)
			return true;
		nblocks = take(me, most, &first);
		zsio_limit_take(worker, volume, nblocks);
		write_out(worker, &first, nblocks);
	}
	return me->head != me->tail;
}
