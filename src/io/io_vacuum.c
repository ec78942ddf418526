/*-------------------------------------------------------------------------
 *
 * io_vacuum.c
 *	  Pages that VACUUM and bulk writers leave dirty, written while they go on.
 *
 * Both use a small ring of buffers, and write its pages themselves when they come to use a buffer
 * again: one block at a time, each with a flush of WAL before it.  A worker writes them first.
 *
 * zedstore's own writers (bulk load, VACUUM, compaction) hand blocks over: ranges of
 * blocks, in one bounded queue per worker, to which a file belongs.  The entry is a hint: a worker
 * looks for the blocks among shared buffers, and takes those that are dirty and not
 * in use.  So nothing has to be kept in step when buffers are replaced, relations
 * dropped, or a worker dies: who comes after it finds its queue.
 * The writer waits when the worker is far behind; not long, and not at all when
 * there is no worker, or one that is busy with a checkpoint.
 *
 * Heap's VACUUM is watched from outside: its backend's status shows the
 * relation's OID, and the block it has come to (io_backends.c).  Blocks between two looks are
 * treated as if they were handed over.  The relation's file is found among shared
 * buffers, by its number, which is the OID unless the relation was rewritten; else
 * it is the relation of that database that has most dirty pages where VACUUM has just been.
 * A wrong guess costs some early writes.
 *
 * Locks: a queue's spinlock, for a few instructions, with no other; the holder
 * takes no lock.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_vacuum.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "storage/buf_internals.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "io_internal.h"

/* Blocks that are looked for and written at a time. */
#define BATCH_BLOCKS	1024
/* The worker is woken when so many wait: 256 kB. */
#define WAKE_BLOCKS		32
/*
 * A backend waits this long at a time, and in all for each block that it hands over: 20 ms for
 * 2 MB.  What it did not wait may be made up for later, up to a limit.
 */
#define WAIT_STEP_MS	2
#define WAIT_BLOCK_US	80
#define WAIT_MAX_US		20000
/* How far behind a VACUUM's position its pages are looked for: 32 MB. */
#define WINDOW_BLOCKS	4096
/* Microseconds between two looks for VACUUMs, and for a relation that was not found. */
#define LOOK_US			100000
#define FIND_US			1000000

static int	self_no;

/* how long this backend may wait, microseconds */
static int	wait_credit = 0;

/* ---- the queue: backends ------------------------------------------------------ */

/* Blocks that may wait for one worker. */
static uint32
queue_limit(void)
{
	return Max(Min(NBuffers / 16, BATCH_BLOCKS), 32);
}

/* Appends a range, to the last one if it continues that; false: no room. */
static bool
push(ZsIoQueue *queue, const ZsIoRange *range)
{
	bool		done = true;
	ZsIoRange  *last;

	SpinLockAcquire(&queue->mutex);
	last = &queue->ranges[(queue->tail - 1) % ZSIO_QUEUE_SIZE];
	if (queue->tail != queue->head && last->blkno + last->nblocks == range->blkno &&
		range->blkno % RELSEG_SIZE != 0 && last->nblocks < BATCH_BLOCKS &&
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
	static uint32 wait_event = 0;

	if (queue->pending <= queue_limit())
		return true;
	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("ZedstoreIoHandOver");
	while (queue->pending > queue_limit() / 2)
	{
		/* not with a lightweight lock held */
		if (wait_credit < WAIT_STEP_MS * 1000 || worker->pid == 0 ||
			pg_atomic_read_u32(&worker->round_active) != 0 || InterruptHoldoffCount > 0)
			return false;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 WAIT_STEP_MS, wait_event);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		wait_credit -= WAIT_STEP_MS * 1000;
	}
	return true;
}

static void
hand_over_range(ZsIoRange *range)
{
	int			number = zsio_file_owner(&range->locator, MAIN_FORKNUM, range->blkno,
										 zsio_workers);
	ZsIoWorkerShared *worker = &zsio_shared->workers[number];
	ZsIoQueue  *queue = &zsio_queues[number];
	uint32		wake = Min(WAKE_BLOCKS, queue_limit());
	uint32		before;

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

void
zsio_hand_over(Relation rel, const BlockNumber *blocks, int nblocks)
{
	ZsIoRange	range;

	Assert(CritSectionCount == 0);
	if (zsio_queues == NULL || !zsio_vacuum || zsio_workers == 0 || nblocks <= 0 ||
		rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		return;
	wait_credit = Min(wait_credit + nblocks * WAIT_BLOCK_US, WAIT_MAX_US);
	range.locator = rel->rd_locator;
	range.blkno = blocks[0];
	range.nblocks = 1;
	for (int i = 1; i < nblocks; i++)
	{
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

/* ---- the queue: worker -------------------------------------------------------- */

static bool
pop(ZsIoQueue *queue, ZsIoRange *range)
{
	bool		found;

	SpinLockAcquire(&queue->mutex);
	found = queue->head != queue->tail;
	if (found)
		*range = queue->ranges[queue->head++ % ZSIO_QUEUE_SIZE];
	SpinLockRelease(&queue->mutex);
	return found;
}

/* Looks for the blocks [from, to); returns how many are in items then. */
static int
find_blocks(const ZsIoWish *wish, const RelFileLocator *locator, BlockNumber from,
			BlockNumber to, ZsIoItem *items, int nitems, int max)
{
	for (BlockNumber blkno = from; blkno < to && nitems < max; blkno++)
	{
		if (zsio_find_dirty(wish, locator, MAIN_FORKNUM, blkno, &items[nitems]))
			nitems++;
	}
	return nitems;
}

static void
write_found(ZsIoItem *items, int nitems)
{
	int			n = 0;
	int			requests = 1;

	if (nitems == 0)
		return;
	qsort(items, nitems, sizeof(ZsIoItem), zsio_compare_items);

	/* a block may have been handed over twice */
	for (int i = 1; i < nitems; i++)
	{
		if (zsio_compare_items(&items[n], &items[i]) == 0)
			continue;
		if (items[i].blkno != items[n].blkno + 1 || n % WAKE_BLOCKS == 0)
			requests++;
		items[++n] = items[i];
	}

	/* rings come around soon */
	zsio_guard_floor(4 * requests);
	zsio_run_write_all(items, n + 1, ZSIO_ROLE_VACUUM);
	zsio_guard_floor(0);
}

/*
 * Writes what was handed over until now; the first write flushes the WAL for the others too.  True if
 * there was anything.
 */
static bool
write_queue(void)
{
	ZsIoQueue  *queue = &zsio_queues[self_no];
	ZsIoWish	wish = {.max_usage = BM_MAX_USAGE_COUNT,.max_lsn = PG_UINT64_MAX,.nworkers = 1};
	ZsIoItem   *items = NULL;
	bool		worked = false;
	ZsIoRange	range;
	uint32		left = queue->pending;

	/* what comes meanwhile waits: the other roles have their turn */
	while (left > 0 && !zsio_checkpoint_calls())
	{
		int			nitems = 0;
		uint32		popped = 0;

		if (items == NULL && queue->head != queue->tail)
			items = palloc(2 * BATCH_BLOCKS * sizeof(ZsIoItem));
		while (items != NULL && popped < BATCH_BLOCKS && pop(queue, &range))
		{
			/* ranges are short enough for the second half */
			nitems = find_blocks(&wish, &range.locator, range.blkno,
								 range.blkno + range.nblocks, items, nitems, 2 * BATCH_BLOCKS);
			popped += range.nblocks;
		}
		if (popped == 0)
			break;
		left -= Min(left, popped);
		worked = true;
		write_found(items, nitems);
		SpinLockAcquire(&queue->mutex);
		queue->pending -= popped;
		SpinLockRelease(&queue->mutex);
	}
	if (items != NULL)
		pfree(items);
	return worked;
}

/* ---- VACUUM of heap tables ----------------------------------------------------- */

/* A backend that vacuums a relation. */
typedef struct Watched
{
	ZsIoVacuum	vacuum;			/* as it was seen last */
	bool		seen;
	bool		found;			/* locator is valid */
	bool		exact;			/* and is no guess */
	RelFileLocator locator;
	TimestampTz next_find;
} Watched;

static Watched watched[ZSIO_MAX_VACUUMS];
static int	nwatched = 0;
static TimestampTz next_look = 0;

static Watched *
watched_entry(const ZsIoVacuum *vacuum)
{
	Watched    *entry;

	for (int i = 0; i < nwatched; i++)
	{
		entry = &watched[i];
		if (entry->vacuum.pid == vacuum->pid && entry->vacuum.relid == vacuum->relid &&
			entry->vacuum.scanned <= vacuum->scanned &&
			entry->vacuum.vacuumed <= vacuum->vacuumed)
			return entry;
	}
	if (nwatched == ZSIO_MAX_VACUUMS)
		return NULL;
	entry = &watched[nwatched++];
	memset(entry, 0, sizeof(Watched));
	entry->vacuum = *vacuum;
	entry->vacuum.scanned = entry->vacuum.vacuumed = 0;
	return entry;
}

/* The relation's file, if shared buffers tell. */
static bool
find_file(Watched *entry, const ZsIoVacuum *vacuum, BlockNumber from, BlockNumber to)
{
	TimestampTz now = GetCurrentTimestamp();

	if (entry->exact || now < entry->next_find)
		return entry->found;
	entry->found = zsio_find_relation(vacuum->database, vacuum->relid, from, to,
									  &entry->locator, &entry->exact);

	/* that looks at all buffers if need be: a small part of the time */
	entry->next_find = GetCurrentTimestamp() + Max(FIND_US, 20 * (GetCurrentTimestamp() - now));
	return entry->found;
}

/* Writes what VACUUM left dirty between two positions. */
static void
follow(Watched *entry, const ZsIoVacuum *vacuum, BlockNumber from, BlockNumber to)
{
	ZsIoWish	wish = {.max_usage = BM_MAX_USAGE_COUNT,.max_lsn = PG_UINT64_MAX,
	.worker = self_no,.nworkers = Max(zsio_workers, 1)};
	ZsIoItem   *items;
	int			nitems;

	/* what is farther behind has left the ring */
	if (to > WINDOW_BLOCKS)
		from = Max(from, to - WINDOW_BLOCKS);
	if (from >= to || !find_file(entry, vacuum, from, to))
		return;
	items = palloc((to - from) * sizeof(ZsIoItem));
	nitems = find_blocks(&wish, &entry->locator, from, to, items, 0, to - from);
	write_found(items, nitems);
	pfree(items);
}

/* True if a VACUUM goes on. */
static bool
watch_vacuums(void)
{
	ZsIoVacuum	vacuums[ZSIO_MAX_VACUUMS];
	TimestampTz now = GetCurrentTimestamp();
	int			n;

	if (nwatched == 0 && now < next_look)
		return false;
	next_look = now + LOOK_US;
	n = zsio_list_vacuums(vacuums, ZSIO_MAX_VACUUMS);
	for (int i = 0; i < nwatched; i++)
		watched[i].seen = false;
	for (int i = 0; i < n && !zsio_checkpoint_calls(); i++)
	{
		Watched    *entry = watched_entry(&vacuums[i]);
		ZsIoVacuum	last;

		if (entry == NULL)
			continue;
		last = entry->vacuum;
		entry->vacuum = vacuums[i];
		entry->seen = true;
		follow(entry, &vacuums[i], last.scanned, vacuums[i].scanned);
		follow(entry, &vacuums[i], last.vacuumed, vacuums[i].vacuumed);
	}
	for (int i = 0; i < nwatched;)
	{
		if (watched[i].seen)
			i++;
		else
			watched[i] = watched[--nwatched];
	}
	return nwatched > 0;
}

/* ---- main --------------------------------------------------------------------- */

void
zsio_vacuum_init(int worker)
{
	ZsIoQueue  *queue = &zsio_queues[worker];
	uint32		pending = 0;

	self_no = worker;

	/* the queue's last worker may have died with blocks that it had taken */
	SpinLockAcquire(&queue->mutex);
	for (uint32 i = queue->head; i != queue->tail; i++)
		pending += queue->ranges[i % ZSIO_QUEUE_SIZE].nblocks;
	queue->pending = pending;
	SpinLockRelease(&queue->mutex);
}

bool
zsio_vacuum_poll(void)
{
	bool		worked;

	if (!zsio_vacuum)
		return false;
	worked = write_queue();
	return watch_vacuums() || worked;
}
