/*-------------------------------------------------------------------------
 *
 * io_clean.c
 *	  Clean buffers ahead of the clock hand, so that backends that need a buffer
 *	  need not write its old page first.
 *
 * The hand of the clock sweep takes unpinned buffers with a usage count of 0 and
 * lowers the others' counts.  A count grows only when the buffer is used, so a
 * buffer with a count above 0 is not taken when the hand comes to it next: it is
 * enough to look at each buffer once per round of the hand, any time before the
 * hand arrives.
 *
 * The worker keeps a lead on the hand: as far as the hand goes in LEAD_SECONDS at the speed
 * it had lately, and a part of all buffers at least.  When a quarter of that is used up, it goes on
 * to the
 * full lead, and writes what it found in the order of files, together with dirty neighbours, which
 * cost no request of their own.  It stands still when the hand does.
 *
 * While clients hardly wait for I/O it leaves all that to them (io_rest.c).
 *
 * WAL: pages whose WAL is not flushed yet are left out when they are few; else it is
 * flushed once for all of them.  On a standby that is part of each write.
 *
 * With several workers each looks at all buffers, and takes those of its own files.
 *
 * Invariant: before a batch is looked for, what was cleaned is at the hand or ahead of it, and by
 * no more than all buffers.
 *
 * Locks: buffer headers one at a time (io_buffer.c).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_clean.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "io_worker.h"

#define LEAD_SECONDS	2.0
/* At least that part of all buffers, so that core's background writer finds them clean, too. */
#define LEAD_PART		8
/* What of the lead may be used up before it is seen to. */
#define LEAD_SLACK		4
/* Buffers that are collected, and written together with neighbours, at a time. */
#define MAX_FOUND		2048
#define MAX_WRITTEN		8192
/* The same in the middle of a checkpoint. */
#define MAX_TURN		64
/* Unflushed WAL of fewer than one page in so many is not worth a flush. */
#define FLUSH_SHARE		16

/* The speed of the hand: seconds between two looks at it, and in which half of it is forgotten. */
#define LOOK_SECONDS	0.001
#define SPEED_SECONDS	2
/* A hand that passes so many parts of all buffers in a second is watched closely. */
#define FAST_PART		16
/* Seconds in which a batch is to be written at the soonest, and how much faster than needed. */
#define LEAST_SECONDS	0.01
#define HURRY			2

/* A worker's part of the cleaner. */
typedef struct ZsIoCleaner
{
	uint64		last_hand;
	TimestampTz last_look;
	double		speed;			/* of the hand, buffers per second */
	uint64		cleaned;		/* up to here, counted as the hand is */
} ZsIoCleaner;

/* The worker begins to work: the hand is where it is. */
void
zsio_clean_begin(ZsIoWorker *worker)
{
	ZsIoCleaner *me = worker->cleaner;

	if (me == NULL)
		me = worker->cleaner = MemoryContextAllocZero(TopMemoryContext, sizeof(ZsIoCleaner));
	me->last_hand = me->cleaned = zsio_clock_hand();
	me->last_look = GetCurrentTimestamp();
	me->speed = 0;
}

/* Where the hand is, and how fast it goes: rises at once and falls slowly. */
static uint64
watch_hand(ZsIoCleaner *me)
{
	TimestampTz now = GetCurrentTimestamp();
	uint64		hand = zsio_clock_hand();
	double		seconds = (now - me->last_look) / 1000000.0;

	if (seconds < LOOK_SECONDS)
		return hand;
	if (hand > me->last_hand && (hand - me->last_hand) / seconds > me->speed)
		me->speed = (hand - me->last_hand) / seconds;
	else
		me->speed -= me->speed * Min(seconds / SPEED_SECONDS, 1);
	Assert(me->speed >= 0);
	me->last_hand = hand;
	me->last_look = now;
	return hand;
}

/* Where cleaning is to get to. */
static uint64
wanted_lead(const ZsIoCleaner *me)
{
	double		lead = Max(me->speed * LEAD_SECONDS, NBuffers / LEAD_PART);

	return Min(lead, NBuffers);
}

/* Is there so much of the lead that nothing has to be done? */
static bool
has_lead(const ZsIoCleaner *me, uint64 hand, uint64 lead)
{
	Assert(me->cleaned >= hand);
	return me->cleaned - hand > lead - lead / LEAD_SLACK;
}

/* ---- neighbours --------------------------------------------------------------- */

typedef struct Batch
{
	ZsIoItem   *items;
	int			nitems;			/* MAX_WRITTEN at most */
} Batch;

static bool
same_segment(const ZsIoItem *a, const ZsIoItem *b)
{
	return a->forknum == b->forknum && a->blkno / RELSEG_SIZE == b->blkno / RELSEG_SIZE &&
		RelFileLocatorEquals(a->locator, b->locator);
}

/* Blocks of the largest request for the item's device. */
static int
largest_request(const ZsIoItem *item)
{
	return zsio_volume_limits(zsio_volume_of(item->locator.spcOid))->request_blocks;
}

/* Puts dirty blocks before the item into the batch, as far as they are adjacent. */
static void
add_before(Batch *batch, const ZsIoWish *wish, const ZsIoItem *item)
{
	const ZsIoItem *last = batch->nitems > 0 ? &batch->items[batch->nitems - 1] : NULL;
	BlockNumber lowest = item->blkno / RELSEG_SIZE * RELSEG_SIZE;
	ZsIoItem	found[ZSIO_MAX_RUN_BLOCKS];
	int			most = largest_request(item);
	int			n = 0;

	if (last != NULL && same_segment(last, item))
		lowest = last->blkno + 1;
	while (n < most - 1 && item->blkno - n > lowest &&
		   zsio_find_dirty(wish, &item->locator, item->forknum, item->blkno - n - 1, &found[n]))
		n++;
	Assert(n < ZSIO_MAX_RUN_BLOCKS && batch->nitems + n < MAX_WRITTEN);
	while (n > 0)
		batch->items[batch->nitems++] = found[--n];
}

/* The same after the last one of the batch, up to the next item. */
static void
add_after(Batch *batch, const ZsIoWish *wish, const ZsIoItem *next)
{
	ZsIoItem	item = batch->items[batch->nitems - 1];
	ZsIoItem	found;
	int			most = largest_request(&item);

	for (int n = 1; n < most; n++)
	{
		if ((item.blkno + 1) % RELSEG_SIZE == 0 ||
			(next != NULL && next->blkno == item.blkno + 1 && same_segment(next, &item)) ||
			!zsio_find_dirty(wish, &item.locator, item.forknum, item.blkno + 1, &found))
			return;
		Assert(batch->nitems < MAX_WRITTEN);
		batch->items[batch->nitems++] = item = found;
	}
}

/* Sorted items with their neighbours. */
static Batch
add_neighbours(const ZsIoWish *wish, const ZsIoItem *items, int nitems)
{
	Batch		batch = {0};

	Assert(nitems <= MAX_FOUND);
	batch.items = palloc(MAX_WRITTEN * sizeof(ZsIoItem));
	for (int i = 0; i < nitems; i++)
	{
		/* room for what was collected comes first */
		bool		room = MAX_WRITTEN - batch.nitems >= nitems - i + 2 * ZSIO_MAX_RUN_BLOCKS;

		if (room)
			add_before(&batch, wish, &items[i]);
		batch.items[batch.nitems++] = items[i];
		if (room)
			add_after(&batch, wish, i + 1 < nitems ? &items[i + 1] : NULL);
	}
	return batch;
}

/* ---- one batch ---------------------------------------------------------------- */

/*
 * Leaves those items out whose WAL is not flushed yet, or flushes it if they are many; returns how
 * many are left.
 */
static int
see_to_wal(ZsIoWish *wish, ZsIoItem *items, int nitems, int unflushed, XLogRecPtr lsn)
{
	int			n = 0;

	Assert(unflushed >= 0 && unflushed <= nitems);
	if (unflushed == 0)
		return nitems;
	if (unflushed * FLUSH_SHARE >= nitems)
	{
		XLogFlush(lsn);
		wish->max_lsn = lsn;
		return nitems;
	}

	/* look at each again: a few are lost if they were changed */
	for (int i = 0; i < nitems; i++)
	{
		ZsIoItem	item = items[i];

		if (zsio_find_dirty(wish, &item.locator, item.forknum, item.blkno, &items[n]))
			n++;
	}
	return n;
}

/*
 * Cleans what the hand comes to next, up to end at most, and max buffers without their
 * neighbours.
 */
static void
clean_batch(ZsIoWorker *worker, uint64 hand, uint64 end, int max)
{
	ZsIoCleaner *me = worker->cleaner;
	ZsIoWish	wish = {.worker = worker->no,.nworkers = Max(zsio_workers, 1)};
	ZsIoItem   *items = palloc(MAX_FOUND * sizeof(ZsIoItem));
	XLogRecPtr	lsn = InvalidXLogRecPtr;
	uint64		begin = me->cleaned;
	int			unflushed = 0;
	int			nitems;
	Batch		batch;

	Assert(max > 0 && max <= MAX_FOUND);
	Assert(me->cleaned >= hand && end - hand <= NBuffers);
	wish.max_lsn = RecoveryInProgress() ? PG_UINT64_MAX : GetFlushRecPtr(NULL);
	nitems = zsio_collect_ahead(&wish, &me->cleaned, end, items, max, &lsn, &unflushed);
	nitems = see_to_wal(&wish, items, nitems, unflushed, lsn);
	qsort(items, nitems, sizeof(ZsIoItem), zsio_compare_items);

	/* pages in steady use come back as dirty as they were */
	wish.max_usage = ZSIO_MAX_USAGE - 1;
	batch = add_neighbours(&wish, items, nitems);
	if (batch.nitems > 0)
	{
		/* what is not written before the hand arrives, backends write */
		double		seconds = (me->cleaned - Min(hand, me->cleaned)) / Max(me->speed, 1);

		zsio_guard_floor(&worker->guard, HURRY * nitems / Max(seconds, LEAST_SECONDS));
		zsio_list_write(worker, batch.items, batch.nitems, ZSIO_ROLE_CLEANER);
		zsio_guard_floor(&worker->guard, 0);

		/* it may have left some: then they are looked at again */
		if (zsio_called_away(worker))
			me->cleaned = begin;
	}
	pfree(batch.items);
	pfree(items);
}

/* Sees to the lead on the hand: see io_worker.h. */
bool
zsio_clean_poll(ZsIoWorker *worker)
{
	ZsIoCleaner *me = worker->cleaner;
	uint64		hand = watch_hand(me);
	uint64		lead = wanted_lead(me);
	uint64		end = hand + lead;

	me->cleaned = Max(me->cleaned, hand);
	if (!zsio_cleaner || zsio_limit_may_rest(worker))
		return false;
	if (has_lead(me, hand, lead))
		return me->speed > NBuffers / FAST_PART;
	/* the other roles have their turn before the hand is chased on */
	while (me->cleaned < end && !zsio_called_away(worker))
	{
		clean_batch(worker, hand, end, MAX_FOUND);
		hand = watch_hand(me);
		me->cleaned = Max(me->cleaned, hand);
	}
	return true;
}

/* A turn in the middle of a checkpoint: see io_worker.h. */
bool
zsio_clean_turn(ZsIoWorker *worker)
{
	ZsIoCleaner *me = worker->cleaner;
	uint64		hand = watch_hand(me);
	uint64		lead = wanted_lead(me);

	me->cleaned = Max(me->cleaned, hand);
	if (!zsio_cleaner || zsio_limit_may_rest(worker) || has_lead(me, hand, lead))
		return false;
	clean_batch(worker, hand, hand + lead, MAX_TURN);
	return true;
}
