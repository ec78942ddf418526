/*-------------------------------------------------------------------------
 *
 * io_vacuum.c
 *	  Pages that VACUUM and bulk writers leave dirty, written while they go on: the worker's side.
 *
 * What zedstore's own writers hand over (io_handover.c) is in this worker's queue: ranges of
 * blocks, which are looked for among shared buffers.
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

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "zs_base.h"
#include "io_worker.h"

/*
 * Times, in microseconds.
 *	- Between two looks for VACUUMs, and for a relation that was not found; the latter takes at most
 *	  one part in so many of the time.
 */
#define LOOK_US			10000
#define FIND_US			1000000
#define FIND_PART		20
/*	- That a worker stays with VACUUMs until other roles have their turn, and between two looks. */
#define TURN_US			50000
#define PAUSE_US		2000
/*	- VACUUM's pages are written when they are so old, if they are not enough before. */
#define WRITE_US		20000
/* How much faster they are written than they become dirty; and at least so many times a second. */
#define KEEP_UP			1.2
#define KEEP_UP_LEAST	4.0

/* Blocks that are looked for and written at a time, and that are enough to be written. */
#define BATCH_BLOCKS	ZSIO_RANGE_BLOCKS
#define ENOUGH_BLOCKS	32
/* VACUUM's pages are enough when they are that part of a ring. */
#define RING_SHARE		4
/* Buffers that are remembered as those of a ring: 16 MB. */
#define MAX_RING		2048
/* How far behind a VACUUM's position its pages are looked for: 32 MB. */
#define WINDOW_BLOCKS	4096
/* Blocks of an index that are looked for where it was left. */
#define AHEAD_BLOCKS	512
/* Evicted blocks that show that VACUUM is ahead, and dirty ones that make it matter: parts. */
#define AHEAD_SHARE		16
#define DIRTY_SHARE		64

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

/* A worker's view of VACUUMs. */
typedef struct ZsIoFollower
{
	Watched		watched[ZSIO_MAX_VACUUMS];
	int			nwatched;
	TimestampTz next_look;
} ZsIoFollower;

/* All dirty pages of this worker's files. */
static ZsIoWish
wish_all(const ZsIoWorker *worker)
{
	ZsIoWish	wish = {
		.max_usage = ZSIO_MAX_USAGE,
		.max_lsn = PG_UINT64_MAX,
		.worker = worker->no,
		.nworkers = Max(zsio_workers, 1)
	};

	return wish;
}

/*
 * Writes what was found, at least as fast as it became dirty, which took so many microseconds:
 * rings come around soon, and what VACUUM writes itself is in clients' way, too.
 */
static void
write_found(ZsIoWorker *worker, ZsIoItem *items, int nitems, int64 us)
{
	int			n = 0;
	int			requests = 1;

	Assert(us >= 0);
	if (nitems == 0)
		return;
	qsort(items, nitems, sizeof(ZsIoItem), zsio_compare_items);

	/* a block may have been handed over twice */
	for (int i = 1; i < nitems; i++)
	{
		if (zsio_compare_items(&items[n], &items[i]) == 0)
			continue;
		if (items[i].blkno != items[n].blkno + 1 || n % ENOUGH_BLOCKS == 0)
			requests++;
		items[++n] = items[i];
	}

	Assert(n < nitems && requests <= nitems);
	zsio_guard_floor(&worker->guard,
					 Max(KEEP_UP_LEAST, KEEP_UP * 1000000 / Max(us, PAUSE_US)) * requests);
	zsio_list_start(worker, items, n + 1, ZSIO_ROLE_VACUUM);
	zsio_guard_floor(&worker->guard, 0);
}

/* ---- the queue ---------------------------------------------------------------- */

/* Takes the next range; false: there is none. */
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
 * Writes what was handed over until now; the first write flushes the WAL for the others too.  True
 * if there was anything.
 */
static bool
write_queue(ZsIoWorker *worker)
{
	ZsIoQueue  *queue = &zsio_queues[worker->no];
	ZsIoWish	wish = {.max_usage = ZSIO_MAX_USAGE,.max_lsn = PG_UINT64_MAX,.nworkers = 1};
	ZsIoItem   *items = NULL;
	bool		worked = false;
	ZsIoRange	range;
	uint32		left = queue->pending;

	/* what comes meanwhile waits: the other roles have their turn */
	while (left > 0 && !zsio_called_away(worker))
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
		Assert(nitems <= 2 * BATCH_BLOCKS);
		left -= Min(left, popped);
		worked = true;
		write_found(worker, items, nitems, TURN_US);
		SpinLockAcquire(&queue->mutex);
		queue->pending -= popped;
		SpinLockRelease(&queue->mutex);
	}
	if (items != NULL)
		pfree(items);
	return worked;
}

/* ---- VACUUM of heap tables, and its indexes -------------------------------------- */

/*
 * The index that a VACUUM is at, if it has told.  What the process told before is not meant: a
 * VACUUM that was cancelled takes nothing back, and the next one may be of a heap table, which
 * tells nothing.
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

/* The entry of a VACUUM, a new one if it is at an earlier place; NULL: there is no room. */
static Watched *
watched_entry(ZsIoFollower *me, const ZsIoVacuum *vacuum)
{
	Watched    *entry;

	Assert(me->nwatched >= 0 && me->nwatched <= ZSIO_MAX_VACUUMS);
	for (int i = 0; i < me->nwatched; i++)
	{
		entry = &me->watched[i];
		if (entry->vacuum.pid == vacuum->pid && entry->vacuum.relid == vacuum->relid &&
			entry->vacuum.scanned <= vacuum->scanned &&
			entry->vacuum.vacuumed <= vacuum->vacuumed)
			return entry;
	}
	if (me->nwatched == ZSIO_MAX_VACUUMS)
		return NULL;
	entry = &me->watched[me->nwatched++];
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
	entry->next_find = GetCurrentTimestamp() + Max(FIND_US,
												   FIND_PART * (GetCurrentTimestamp() - now));
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
	int			buf_id = zsbase_find_buffer(locator, MAIN_FORKNUM, blkno);

	Assert(buf_id < NBuffers);
	if (buf_id < 0)
		return FOUND_NOT;
	entry->ring[entry->nring++ % MAX_RING] = buf_id;
	return zsio_look_at_block(wish, buf_id, locator, MAIN_FORKNUM, blkno, item) ?
		FOUND_DIRTY : FOUND_CLEAN;
}

/* Writes what VACUUM left dirty between two positions. */
static void
follow(ZsIoWorker *worker, Watched *entry, const ZsIoVacuum *vacuum, BlockNumber from,
	   BlockNumber to, int64 us)
{
	ZsIoWish	wish = wish_all(worker);
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
	Assert(nitems <= to - from);

	/* of what was evicted as many were dirty as of the rest, and written one by one */
	zsio_guard_vacuum_ahead(&worker->guard,
							counts[FOUND_NOT] > (to - from) / AHEAD_SHARE &&
							nitems > (to - from) / DIRTY_SHARE, GetCurrentTimestamp());
	write_found(worker, items, nitems, us);
	pfree(items);
}

/* Goes to the index that VACUUM is at: true if it has told. */
static bool
find_index(Watched *entry)
{
	RelFileLocator index;

	if (!told_index(&entry->vacuum, &index))
		return false;
	if (entry->position.forknum != MAIN_FORKNUM ||
		!RelFileLocatorEquals(index, entry->position.locator))
	{
		entry->position.locator = index;
		entry->position.forknum = MAIN_FORKNUM;
		entry->position.blkno = 0;
	}
	return true;
}

/* Adds dirty blocks of the index from its position on; returns how many items there are then. */
static int
look_ahead_in_index(Watched *entry, const ZsIoWish *wish, ZsIoItem *items, int nitems)
{
	ZsIoItem	position = entry->position;
	BlockNumber reached = position.blkno;

	for (int i = 0; i < AHEAD_BLOCKS && position.forknum == MAIN_FORKNUM; i++)
	{
		Found		found = find_in_ring(entry, wish, &position.locator, position.blkno + i,
										 &items[nitems]);

		if (found != FOUND_NOT)
			reached = position.blkno + i;
		if (found == FOUND_DIRTY)
			nitems++;
	}
	if (reached > AHEAD_BLOCKS / 2)
		entry->position.blkno = Max(position.blkno, reached - AHEAD_BLOCKS / 2);
	return nitems;
}

/*
 * Writes what VACUUM left dirty in its ring, if it is enough or was not done for us microseconds:
 * true then.  Buffers that are being written when their turn comes are replaced by others in the
 * ring, so it is looked where the last index was left, too.
 */
static bool
look_into_ring(ZsIoWorker *worker, Watched *entry, int64 us)
{
	ZsIoWish	wish = wish_all(worker);
	ZsIoItem   *items = palloc((MAX_RING + AHEAD_BLOCKS) * sizeof(ZsIoItem));
	int			nring = Min(entry->nring, (uint32) MAX_RING);
	int			nitems = 0;
	bool		told = find_index(entry);
	bool		enough;

	for (int i = 0; i < nring; i++)
	{
		if (zsio_look_at(&wish, entry->ring[i], &items[nitems]) &&
			items[nitems].locator.dbOid == entry->vacuum.database &&
			items[nitems].forknum == MAIN_FORKNUM)
			nitems++;
	}
	nitems = look_ahead_in_index(entry, &wish, items, nitems);
	Assert(nitems <= MAX_RING + AHEAD_BLOCKS);

	/* an index is read from its beginning to its end */
	for (int i = 0; i < nitems; i++)
	{
		if (RelFileLocatorEquals(items[i].locator, entry->position.locator) ?
			items[i].blkno > entry->position.blkno : !told)
			entry->position = items[i];
	}
	enough = nitems >= ENOUGH_BLOCKS || us >= WRITE_US;
	if (enough)
		write_found(worker, items, nitems, us);
	pfree(items);
	return enough;
}

/*
 * Writes behind VACUUM's position in the table if it has gone far enough or that was not done for
 * us microseconds: true then.  Each time WAL has to be flushed; but VACUUM must not get round in
 * its ring, of which half is for what it reads ahead.
 */
static bool
follow_position(ZsIoWorker *worker, Watched *entry, const ZsIoVacuum *now, int64 us)
{
	ZsIoVacuum	last = entry->vacuum;
	BlockNumber went = (now->scanned - last.scanned) + (now->vacuumed - last.vacuumed);
	BlockNumber wanted = Min(Max(VacuumBufferUsageLimit / (BLCKSZ / 1024) / RING_SHARE,
								 ENOUGH_BLOCKS), BATCH_BLOCKS);

	Assert(now->scanned >= last.scanned && now->vacuumed >= last.vacuumed);
	if (went < wanted && us < WRITE_US)
		return false;
	entry->vacuum = *now;
	follow(worker, entry, now, last.scanned, now->scanned, us);
	follow(worker, entry, now, last.vacuumed, now->vacuumed, us);
	return true;
}

/* Follows one VACUUM. */
static void
look_at_vacuum(ZsIoWorker *worker, Watched *entry, const ZsIoVacuum *vacuum)
{
	TimestampTz now = GetCurrentTimestamp();
	int64		us = Max(Min(now - entry->last_write, FIND_US), 0);
	bool		wrote = follow_position(worker, entry, vacuum, us);

	if (vacuum->in_indexes && look_into_ring(worker, entry, us))
		wrote = true;
	if (wrote)
		entry->last_write = now;
}

/* One look at all VACUUMs; true if one goes on. */
static bool
look_at_vacuums(ZsIoWorker *worker)
{
	ZsIoFollower *me = worker->follower;
	ZsIoVacuum	vacuums[ZSIO_MAX_VACUUMS];
	int			n = zsio_list_vacuums(vacuums, ZSIO_MAX_VACUUMS);

	for (int i = 0; i < me->nwatched; i++)
		me->watched[i].seen = false;
	for (int i = 0; i < n; i++)
	{
		Watched    *entry = watched_entry(me, &vacuums[i]);

		if (entry == NULL)
			continue;
		entry->seen = true;
		if (!zsio_called_away(worker))
			look_at_vacuum(worker, entry, &vacuums[i]);
	}
	for (int i = 0; i < me->nwatched;)
	{
		if (me->watched[i].seen)
			i++;
		else
			me->watched[i] = me->watched[--me->nwatched];
	}
	return me->nwatched > 0;
}

/* Stays with running VACUUMs for a while; true if one goes on. */
static bool
watch_vacuums(ZsIoWorker *worker)
{
	ZsIoFollower *me = worker->follower;
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz end = now + TURN_US;

	if (me->nwatched == 0 && now < me->next_look)
		return false;
	me->next_look = now + LOOK_US;
	while (look_at_vacuums(worker))
	{
		if (zsio_called_away(worker) || GetCurrentTimestamp() >= end)
			return true;
		zsio_limit_tick(worker);
		zsio_run_nap(worker, PAUSE_US);
	}
	return false;
}

/* ---- main --------------------------------------------------------------------- */

/* The worker begins to work: what its queue has is to be written. */
void
zsio_vacuum_begin(ZsIoWorker *worker)
{
	ZsIoQueue  *queue = &zsio_queues[worker->no];
	uint32		pending = 0;

	if (worker->follower == NULL)
		worker->follower = MemoryContextAllocZero(TopMemoryContext, sizeof(ZsIoFollower));

	/* the queue's last worker may have died with blocks that it had taken */
	SpinLockAcquire(&queue->mutex);
	for (uint32 i = queue->head; i != queue->tail; i++)
		pending += queue->ranges[i % ZSIO_QUEUE_SIZE].nblocks;
	queue->pending = pending;
	SpinLockRelease(&queue->mutex);
}

/* Writes what was handed over, and behind running VACUUMs. */
bool
zsio_vacuum_poll(ZsIoWorker *worker)
{
	bool		worked;

	Assert(worker->follower != NULL);
	if (!zsio_vacuum)
		return false;
	worked = write_queue(worker);
	return watch_vacuums(worker) || worked;
}
