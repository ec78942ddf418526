/*-------------------------------------------------------------------------
 *
 * io_handover.c
 *	  Pages that VACUUM and bulk writers leave dirty: the side of these backends.
 *
 * Both use a small ring of buffers, and write its pages themselves when they come to use a buffer
 * again: one block at a time, each with a flush of WAL before it.  A worker writes them first; its
 * side is io_vacuum.c.
 *
 * zedstore's own writers (bulk load, VACUUM, compaction) hand blocks over: ranges of
 * blocks, in one bounded queue per worker, to which a file belongs.  The entry is a hint: a worker
 * looks for the blocks among shared buffers, and takes those that are dirty and not
 * in use.  So nothing has to be kept in step when buffers are replaced, relations
 * dropped, or a worker dies: who comes after it finds its queue.
 * The writer waits when the worker is far behind; not long, and not at all when
 * there is no worker, or one that is busy with a checkpoint.
 *
 * Locks: a queue's spinlock, or that of ZsIoShared, for a few instructions, with no other; the
 * holder takes no lock.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_handover.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/rel.h"
#include "utils/wait_event.h"

#include "io_buffer.h"
#include "io_internal.h"

/* Blocks of one range, and those that may wait for a worker at most. */
#define RANGE_BLOCKS	ZSIO_RANGE_BLOCKS
#define LIMIT_BLOCKS	1024
/* The same: that part of shared buffers, and at least so many. */
#define LIMIT_PART		16
#define LIMIT_LEAST		32
/* The worker is woken when so many wait: 256 kB. */
#define WAKE_BLOCKS		32
/*
 * A backend waits this long at a time, and in all for each block that it hands over: 20 ms for
 * 2 MB.  What it did not wait may be made up for later, up to a limit.
 */
#define WAIT_STEP_MS	2
#define WAIT_BLOCK_US	80
#define WAIT_MAX_US		20000

/* What this backend has handed over. */
typedef struct HandOver
{
	int			wait_credit;	/* how long it may wait, microseconds */
	uint32		wait_event;		/* 0: not asked for yet */
} HandOver;

static HandOver mine;

/* ---- blocks ------------------------------------------------------------------- */

/* Blocks that may wait for one worker. */
static uint32
queue_limit(void)
{
	return Max(Min(NBuffers / LIMIT_PART, LIMIT_BLOCKS), LIMIT_LEAST);
}

/* Appends a range, to the last one if it continues that; false: no room. */
static bool
push(ZsIoQueue *queue, const ZsIoRange *range)
{
	bool		done = true;
	ZsIoRange  *last;

	Assert(range->nblocks > 0);
	SpinLockAcquire(&queue->mutex);
	Assert(queue->tail - queue->head <= ZSIO_QUEUE_SIZE);
	last = &queue->ranges[(queue->tail - 1) % ZSIO_QUEUE_SIZE];
	if (queue->tail != queue->head && last->blkno + last->nblocks == range->blkno &&
		range->blkno % RELSEG_SIZE != 0 && last->nblocks < RANGE_BLOCKS &&
		RelFileLocatorEquals(last->locator, range->locator))
		last->nblocks += range->nblocks;
	else if (queue->tail - queue->head < ZSIO_QUEUE_SIZE)
		queue->ranges[queue->tail++ % ZSIO_QUEUE_SIZE] = *range;
	else
		done = false;
	if (done)
		queue->pending += range->nblocks;
	SpinLockRelease(&queue->mutex);
	return done;
}

/* Waits until the worker has caught up by half; false: it has not. */
static bool
wait_for_worker(ZsIoWorkerShared *worker, ZsIoQueue *queue)
{
	if (queue->pending <= queue_limit())
		return true;
	if (mine.wait_event == 0)
		mine.wait_event = WaitEventExtensionNew("ZedstoreIoHandOver");
	while (queue->pending > queue_limit() / 2)
	{
		/* not with a lightweight lock held */
		if (mine.wait_credit < WAIT_STEP_MS * 1000 || worker->pid == 0 ||
			pg_atomic_read_u32(&worker->round_active) != 0 || InterruptHoldoffCount > 0)
			return false;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 WAIT_STEP_MS, mine.wait_event);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		mine.wait_credit -= WAIT_STEP_MS * 1000;
	}
	return true;
}

/* Puts a range of blocks of one file into the queue of its worker. */
static void
hand_over_range(ZsIoRange *range)
{
	int			number = zsio_file_owner(&range->locator, MAIN_FORKNUM, range->blkno,
										 zsio_workers);
	ZsIoWorkerShared *worker = &zsio_shared->workers[number];
	ZsIoQueue  *queue = &zsio_queues[number];
	uint32		wake = Min(WAKE_BLOCKS, queue_limit());
	uint32		before;

	Assert(range->blkno / RELSEG_SIZE == (range->blkno + range->nblocks - 1) / RELSEG_SIZE);
	Assert(number >= 0 && number < ZSIO_MAX_WORKERS);
	if (worker->pid == 0 || !wait_for_worker(worker, queue))
		return;
	before = queue->pending;
	if (push(queue, range) && before < wake && before + range->nblocks >= wake)
	{
		Latch	   *latch = worker->latch;

		if (latch != NULL)
			SetLatch(latch);
	}
}

/*
 * The caller has made these blocks of the main fork dirty and is not going to change them soon: a
 * worker may write them.  Ascending block numbers are best.  May wait for a few milliseconds when
 * the worker is far behind, but not with a lightweight lock held.  Does nothing without workers.
 */
void
zsio_hand_over(Relation rel, const BlockNumber *blocks, int nblocks)
{
	ZsIoRange	range;

	Assert(CritSectionCount == 0);
	Assert(nblocks <= 0 || blocks != NULL);
	if (zsio_queues == NULL || !zsio_vacuum || zsio_workers == 0 || nblocks <= 0 ||
		rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		return;
	mine.wait_credit = Min(mine.wait_credit + nblocks * WAIT_BLOCK_US, WAIT_MAX_US);
	range.locator = rel->rd_locator;
	range.blkno = blocks[0];
	range.nblocks = 1;
	for (int i = 1; i < nblocks; i++)
	{
		Assert(BlockNumberIsValid(blocks[i]));
		if (blocks[i] == range.blkno + range.nblocks && blocks[i] % RELSEG_SIZE != 0)
		{
			range.nblocks++;
			continue;
		}
		hand_over_range(&range);
		range.blkno = blocks[i];
		range.nblocks = 1;
	}
	hand_over_range(&range);
}

/* ---- indexes of zedstore tables ------------------------------------------------ */

/*
 * The caller is about to vacuum that index, in the order of its blocks; NULL: it is done with
 * indexes.  A hint for the workers, which forget it when it is out of date.
 */
void
zsio_vacuum_index(Relation index)
{
	ZsIoIndex  *mine = NULL;

	if (zsio_queues == NULL || zsio_workers == 0)
		return;
	SpinLockAcquire(&zsio_shared->mutex);
	for (int i = 0; i < ZSIO_MAX_VACUUMS; i++)
	{
		ZsIoIndex  *entry = &zsio_shared->indexes[i];

		if (entry->pid == MyProcPid || (entry->pid == 0 && mine == NULL))
			mine = entry;
		if (entry->pid == MyProcPid)
			break;
	}

	/* a backend that ended in an error has left its entry behind: others may have it */
	if (mine == NULL)
		mine = &zsio_shared->indexes[MyProcPid % ZSIO_MAX_VACUUMS];
	if (index == NULL)
		mine->pid = mine->pid == MyProcPid ? 0 : mine->pid;
	else
	{
		mine->pid = MyProcPid;
		mine->relid = index->rd_index->indrelid;
		mine->locator = index->rd_locator;
	}
	SpinLockRelease(&zsio_shared->mutex);
}
