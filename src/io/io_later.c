/*-------------------------------------------------------------------------
 *
 * io_later.c
 *	  What the cleaner has written to the page cache goes to the device a little later.
 *
 * A buffer is cleaned because it is going to be replaced, not because its page has to be on the
 * device.  If the page cache holds the page, it is often read again from there, changed, and
 * cleaned once more; to write it to the device each time costs the volume more requests than
 * the server alone would send, which leaves such pages to the kernel.  So the cleaner
 * writes what the page cache holds there, and remembers it.  When the oldest of these blocks are
 * there for zedstore.io_write_back_delay, or there is room for few others, the kernel is asked to
 * write all of them out, once for all changes since: in the order of the file, adjacent ones
 * together, and at the rate that limits and guard allow.  So it does not put them off until they
 * come in a burst.
 *
 * Blocks that are remembered already are not remembered again.  While there is no room, what is
 * cleaned goes to the device at once.  All this is a hint: the checkpointer syncs the file in any
 * case, and who asks for blocks of a file that is another one by now makes the kernel write early.
 *
 * Invariant: the blocks that wait and those that are being written out are those of the table.
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

#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "io_worker.h"

/* Blocks that are remembered: 256 MB.  The kernel does not keep more dirty than it can, either. */
#define MAX_BLOCKS		32768
/* They are written out when there is room for less than that part of them. */
#define ROOM_PART		4

/* A worker's. */
typedef struct ZsIoLater
{
	HTAB	   *known;			/* keys are blocks, buf_id is 0 */
	int			max;			/* blocks in the table */
	ZsIoItem   *waiting;
	int			nwaiting;
	TimestampTz since;			/* the oldest of them */
	ZsIoItem   *going;			/* are being written out, in their order */
	int			ngoing;
	int			next;			/* of these */
} ZsIoLater;

#ifdef USE_ASSERT_CHECKING
static void
check(const ZsIoLater *me)
{
	Assert(me->next >= 0 && me->next <= me->ngoing);
	Assert(me->nwaiting + me->ngoing - me->next == hash_get_num_entries(me->known));
	Assert(me->nwaiting <= me->max);
}
#endif

/* The worker has just begun. */
void
zsio_later_init(ZsIoWorker *worker)
{
	HASHCTL		ctl = {0};
	ZsIoLater  *me;

	Assert(worker->later == NULL);
	me = worker->later = MemoryContextAllocZero(TopMemoryContext, sizeof(ZsIoLater));
	me->max = MAX_BLOCKS;
	me->waiting = MemoryContextAlloc(TopMemoryContext, me->max * sizeof(ZsIoItem));
	me->going = MemoryContextAlloc(TopMemoryContext, me->max * sizeof(ZsIoItem));
	ctl.keysize = ctl.entrysize = sizeof(ZsIoItem);
	ctl.hcxt = TopMemoryContext;
	me->known = hash_create("zedstore blocks to write out", me->max, &ctl,
							HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static int
room(const ZsIoLater *me)
{
	return me->max - me->nwaiting - (me->ngoing - me->next);
}

/* May the run's blocks, which are written to the page cache, stay there for now? */
bool
zsio_later_may_wait(const ZsIoWorker *worker, const ZsIoRun *run)
{
	Assert(run->cached);
#ifdef HAVE_SYNC_FILE_RANGE
	return zsio_write_back_delay > 0 && run->role == ZSIO_ROLE_CLEANER &&
		room(worker->later) >= run->nblocks;
#else
	return false;
#endif
}

/* They have been written there. */
void
zsio_later_remember(ZsIoWorker *worker, const ZsIoRun *run)
{
	ZsIoLater  *me = worker->later;
	ZsIoItem	item;

	if (me->nwaiting == 0)
		me->since = GetCurrentTimestamp();
	memset(&item, 0, sizeof(item));
	item.locator = run->first.locator;
	item.forknum = run->first.forknum;
	for (int i = 0; i < run->nblocks && room(me) > 0; i++)
	{
		bool		found;

		item.blkno = run->first.blkno + i;
		(void) hash_search(me->known, &item, HASH_ENTER, &found);
		if (!found)
			me->waiting[me->nwaiting++] = item;
	}
#ifdef USE_ASSERT_CHECKING
	check(me);
#endif
}

/* ---- on their way to the device ------------------------------------------------- */

/* Is it time for the blocks that wait? */
static bool
is_due(const ZsIoLater *me)
{
	TimestampTz now = GetCurrentTimestamp();

	if (me->nwaiting == 0)
		return false;
	/* a clock that was set back must not keep them for ever */
	return room(me) < me->max / ROOM_PART || now < me->since ||
		now - me->since >= zsio_write_back_delay * INT64CONST(1000);
}

/* They begin to be written out. */
static void
set_out(ZsIoLater *me)
{
	ZsIoItem   *emptied = me->going;

	Assert(me->next == me->ngoing);
	me->going = me->waiting;
	me->ngoing = me->nwaiting;
	me->next = 0;
	me->waiting = emptied;
	me->nwaiting = 0;
	qsort(me->going, me->ngoing, sizeof(ZsIoItem), zsio_compare_items);
}

/* Takes the next blocks that are adjacent, at most so many; returns how many. */
static int
take(ZsIoLater *me, int most, const ZsIoItem **first)
{
	int			n = 0;

	*first = &me->going[me->next];
	while (me->next < me->ngoing && n < most)
	{
		const ZsIoItem *item = &me->going[me->next];

		if (item->forknum != (*first)->forknum || item->blkno != (*first)->blkno + n ||
			(n > 0 && item->blkno % RELSEG_SIZE == 0) ||
			!RelFileLocatorEquals(item->locator, (*first)->locator))
			break;
		(void) hash_search(me->known, item, HASH_REMOVE, NULL);
		me->next++;
		n++;
	}
	Assert(n > 0);
	return n;
}

/* Has the kernel begin to write the blocks out. */
static void
write_out(ZsIoWorker *worker, const ZsIoItem *first, int nblocks)
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

	if (me->next == me->ngoing && is_due(me))
		set_out(me);
	while (me->next < me->ngoing && !zsio_called_away(worker))
	{
		int			volume = zsio_volume_of(me->going[me->next].locator.spcOid);
		int			most = zsio_volume_limits(volume)->request_blocks;
		const ZsIoItem *first;
		int			nblocks;

		CHECK_FOR_INTERRUPTS();
		if (zsio_limit_delay(worker, volume, most) > 0)
			return true;
		nblocks = take(me, most, &first);
		zsio_limit_take(worker, volume, nblocks);
		write_out(worker, first, nblocks);
	}
	return me->next < me->ngoing;
}
