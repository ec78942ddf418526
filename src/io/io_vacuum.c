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
 * The buffers in which these blocks are found are VACUUM's ring.  It uses it for the indexes,
 * too, of which the status shows no position: there the worker looks into the ring.
 *
 * While a VACUUM goes on the worker does not wait for its writes: who looks again late finds that
 * VACUUM has come around in its ring.
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
#define LOOK_US			10000
#define FIND_US			1000000
/* Time that a worker stays with VACUUMs until other roles have their turn, and between two looks. */
#define TURN_US			50000
#define PAUSE_US		2000
/* Blocks of an index that are looked for where it was left. */
#define AHEAD_BLOCKS	512
/* Evicted blocks that show that VACUUM is ahead, and dirty ones that make it matter: parts of all. */
#define AHEAD_SHARE		16
#define DIRTY_SHARE		64
/* VACUUM's pages are written when they are that part of a ring, or so old. */
#define RING_SHARE		4
#define WRITE_US		20000
/* Buffers that are remembered as those of a ring: 16 MB. */
#define MAX_RING		2048
/* How much faster VACUUM's pages are written than they become dirty. */
#define KEEP_UP			1.2

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

/* ---- indexes of zedstore tables ------------------------------------------------ */

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

	/* who ended in an error has left his behind: others may have it */
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

/*
 * The index that a VACUUM is at, if it has told.  What the process told before is not meant: a VACUUM that was cancelled
 * takes nothing back, and the next one may be of a heap table, which tells nothing.
 */
static bool
told_index(const ZsIoVacuum *vacuum, RelFileLocator *locator)
{
	bool		found = false;

	SpinLockAcquire(&zsio_shared->mutex);
	for (int i = 0; i < ZSIO_MAX_VACUUMS && !found; i++)
	{
		ZsIoIndex  *entry = &zsio_shared->indexes[i];

		found = entry->pid == vacuum->pid && entry->relid == vacuum->relid &&
			entry->locator.dbOid == vacuum->database;
		if (found)
			*locator = entry->locator;
	}
	SpinLockRelease(&zsio_shared->mutex);
	return found;
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

/*
 * Writes what was found, at least as fast as it became dirty, which took so many microseconds: rings come
 * around soon, and what VACUUM writes itself is in clients' way, too.
 */
static void
write_found(ZsIoItem *items, int nitems, int64 us)
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

	zsio_guard_floor(Max(4.0, KEEP_UP * 1000000 / Max(us, PAUSE_US)) * requests);
	zsio_run_start_all(items, n + 1, ZSIO_ROLE_VACUUM);
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
		write_found(items, nitems, TURN_US);
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
	TimestampTz last_write;
	uint32		nring;			/* buffers where its blocks were found; counts on */
	int			ring[MAX_RING];
	ZsIoItem	position;		/* in an index; no fork: not known */
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
	entry->position.forknum = InvalidForkNumber;
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

typedef enum Found
{
	FOUND_NOT,					/* it was evicted */
	FOUND_CLEAN,				/* or in use */
	FOUND_DIRTY,
} Found;

/* Looks for a block that VACUUM has been at, and remembers its buffer. */
static Found
find_in_ring(Watched *entry, const ZsIoWish *wish, const RelFileLocator *locator,
			 BlockNumber blkno, ZsIoItem *item)
{
	int			buf_id = zsio_find_buffer(locator, MAIN_FORKNUM, blkno);

	if (buf_id < 0)
		return FOUND_NOT;
	entry->ring[entry->nring++ % MAX_RING] = buf_id;
	return zsio_look_at_block(wish, buf_id, locator, MAIN_FORKNUM, blkno, item) ?
		FOUND_DIRTY : FOUND_CLEAN;
}

/* Writes what VACUUM left dirty between two positions. */
static void
follow(Watched *entry, const ZsIoVacuum *vacuum, BlockNumber from, BlockNumber to,
	   int64 us)
{
	ZsIoWish	wish = {.max_usage = BM_MAX_USAGE_COUNT,.max_lsn = PG_UINT64_MAX,
	.worker = self_no,.nworkers = Max(zsio_workers, 1)};
	ZsIoItem   *items;
	int			nitems;
	int			counts[FOUND_DIRTY + 1] = {0};

	/* what is farther behind has left the ring */
	if (to > WINDOW_BLOCKS)
		from = Max(from, to - WINDOW_BLOCKS);
	if (from >= to || !find_file(entry, vacuum, from, to))
		return;
	items = palloc((to - from) * sizeof(ZsIoItem));
	for (BlockNumber blkno = from; blkno < to; blkno++)
		counts[find_in_ring(entry, &wish, &entry->locator, blkno, &items[counts[FOUND_DIRTY]])]++;
	nitems = counts[FOUND_DIRTY];

	/* of what was evicted as many were dirty as of the rest, and written one by one */
	zsio_guard_vacuum_ahead(counts[FOUND_NOT] > (to - from) / AHEAD_SHARE &&
							nitems > (to - from) / DIRTY_SHARE);
	write_found(items, nitems, us);
	pfree(items);
}

/*
 * Writes what VACUUM left dirty in its ring, if it is enough or was not done for us microseconds: true
 * then.  Buffers that are being written when their turn comes are replaced by others in the ring, so it
 * is looked where the last index was left, too.
 */
static bool
look_into_ring(Watched *entry, int64 us)
{
	ZsIoWish	wish = {.max_usage = BM_MAX_USAGE_COUNT,.max_lsn = PG_UINT64_MAX,
	.worker = self_no,.nworkers = Max(zsio_workers, 1)};
	ZsIoItem   *items = palloc((MAX_RING + AHEAD_BLOCKS) * sizeof(ZsIoItem));
	int			nring = Min(entry->nring, (uint32) MAX_RING);
	int			nitems = 0;
	RelFileLocator index;
	ZsIoItem	position;
	BlockNumber reached;
	bool		told;
	bool		enough;

	told = told_index(&entry->vacuum, &index);
	if (told &&
		!(entry->position.forknum == MAIN_FORKNUM &&
		  RelFileLocatorEquals(index, entry->position.locator)))
	{
		entry->position.locator = index;
		entry->position.forknum = MAIN_FORKNUM;
		entry->position.blkno = 0;
	}
	position = entry->position;
	reached = position.blkno;
	for (int i = 0; i < nring; i++)
	{
		if (zsio_look_at(&wish, entry->ring[i], &items[nitems]) &&
			items[nitems].locator.dbOid == entry->vacuum.database &&
			items[nitems].forknum == MAIN_FORKNUM)
			nitems++;
	}
	for (int i = 0; i < AHEAD_BLOCKS && position.forknum == MAIN_FORKNUM; i++)
	{
		Found		found = find_in_ring(entry, &wish, &position.locator, position.blkno + i,
										 &items[nitems]);

		if (found != FOUND_NOT)
			reached = position.blkno + i;
		if (found == FOUND_DIRTY)
			nitems++;
	}
	if (reached > AHEAD_BLOCKS / 2)
		entry->position.blkno = Max(position.blkno, reached - AHEAD_BLOCKS / 2);

	/* an index is read from its beginning to its end */
	for (int i = 0; i < nitems; i++)
	{
		if (RelFileLocatorEquals(items[i].locator, entry->position.locator) ?
			items[i].blkno > entry->position.blkno : !told)
			entry->position = items[i];
	}
	enough = nitems >= WAKE_BLOCKS || us >= WRITE_US;
	if (enough)
		write_found(items, nitems, us);
	pfree(items);
	return enough;
}

/*
 * Writes behind VACUUM's position in the table if it has gone far enough or that was not done for us
 * microseconds: true then.  Each time WAL has to be flushed; but VACUUM must not get round in its ring, of
 * which half is for what it reads ahead.
 */
static bool
follow_position(Watched *entry, const ZsIoVacuum *now, int64 us)
{
	ZsIoVacuum	last = entry->vacuum;
	BlockNumber went = (now->scanned - last.scanned) + (now->vacuumed - last.vacuumed);
	BlockNumber wanted = Min(Max(VacuumBufferUsageLimit / (BLCKSZ / 1024) / RING_SHARE,
								 WAKE_BLOCKS), BATCH_BLOCKS);

	if (went < wanted && us < WRITE_US)
		return false;
	entry->vacuum = *now;
	follow(entry, now, last.scanned, now->scanned, us);
	follow(entry, now, last.vacuumed, now->vacuumed, us);
	return true;
}

/* One look at all VACUUMs; true if one goes on. */
static bool
look_at_vacuums(void)
{
	ZsIoVacuum	vacuums[ZSIO_MAX_VACUUMS];
	int			n = zsio_list_vacuums(vacuums, ZSIO_MAX_VACUUMS);

	for (int i = 0; i < nwatched; i++)
		watched[i].seen = false;
	for (int i = 0; i < n; i++)
	{
		Watched    *entry = watched_entry(&vacuums[i]);
		TimestampTz now;
		int64		us;
		bool		wrote;

		if (entry == NULL)
			continue;
		entry->seen = true;
		if (zsio_checkpoint_calls())
			continue;
		now = GetCurrentTimestamp();
		us = Min(now - entry->last_write, FIND_US);
		wrote = follow_position(entry, &vacuums[i], us);
		if (vacuums[i].in_indexes && look_into_ring(entry, us))
			wrote = true;
		if (wrote)
			entry->last_write = now;
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

/* Stays with running VACUUMs for a while; true if one goes on. */
static bool
watch_vacuums(void)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz end = now + TURN_US;

	if (nwatched == 0 && now < next_look)
		return false;
	next_look = now + LOOK_US;
	while (look_at_vacuums())
	{
		if (zsio_checkpoint_calls() || GetCurrentTimestamp() >= end)
			return true;
		zsio_guard_tick();
		zsio_run_nap(PAUSE_US);
	}
	return false;
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
