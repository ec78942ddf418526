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
 * it had lately, and a part of all buffers at least.  When a quarter of that is used up, it goes on to the
 * full lead, and writes what it found in the order of files, together with dirty neighbours, which cost no
 * request of their own.  It stands still when the hand does.
 *
 * WAL: pages whose WAL is not flushed yet are left out when they are few; else it is
 * flushed once for all of them.  On a standby that is part of each write.
 *
 * With several workers each looks at all buffers, and takes those of its own files.
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
#include "storage/buf_internals.h"
#include "utils/timestamp.h"

#include "io_internal.h"
#include "io_profile.h"

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

static int	self_no;
static uint64 last_hand;
static TimestampTz last_look;
static double speed;			/* of the hand, buffers per second */
static uint64 cleaned;			/* up to here, counted as the hand is */

void
zsio_clean_init(int worker)
{
	self_no = worker;
	last_hand = cleaned = zsio_clock_hand();
	last_look = GetCurrentTimestamp();
	speed = 0;
}

/* Where the hand is, and how fast it goes: rises at once and falls slowly. */
static uint64
watch_hand(void)
{
	TimestampTz now = GetCurrentTimestamp();
	uint64		hand = zsio_clock_hand();
	double		seconds = (now - last_look) / 1000000.0;

	if (seconds < 0.001)
		return hand;
	if (hand > last_hand && (hand - last_hand) / seconds > speed)
		speed = (hand - last_hand) / seconds;
	else
		speed -= speed * Min(seconds / 2, 1);
	last_hand = hand;
	last_look = now;
	return hand;
}

/* Where cleaning is to get to. */
static uint64
wanted_lead(void)
{
	double		lead = Max(speed * LEAD_SECONDS, NBuffers / LEAD_PART);

	return Min(lead, NBuffers);
}

/* ---- neighbours --------------------------------------------------------------- */

typedef struct Batch
{
	ZsIoItem   *items;
	int			nitems;
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
		batch->items[batch->nitems++] = item = found;
	}
}

/* Sorted items with their neighbours. */
static Batch
add_neighbours(const ZsIoWish *wish, const ZsIoItem *items, int nitems)
{
	Batch		batch = {0};

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

/* Cleans what the hand comes to next, up to end at most, and max buffers without their neighbours. */
static void
clean_batch(uint64 hand, uint64 end, int max)
{
	bool		recovery = RecoveryInProgress();
	ZsIoWish	wish = {.worker = self_no,.nworkers = Max(zsio_workers, 1)};
	ZsIoItem   *items = palloc(MAX_FOUND * sizeof(ZsIoItem));
	XLogRecPtr	lsn = InvalidXLogRecPtr;
	uint64		begin = cleaned;
	int			unflushed = 0;
	int			nitems;
	Batch		batch;

	wish.max_lsn = recovery ? PG_UINT64_MAX : GetFlushRecPtr(NULL);
	nitems = zsio_collect_ahead(&wish, &cleaned, end, items, max, &lsn, &unflushed);
	if (unflushed * FLUSH_SHARE >= nitems && unflushed > 0)
	{
		XLogFlush(lsn);
		wish.max_lsn = lsn;
	}
	else if (unflushed > 0)
	{
		int			n = 0;

		/* look at each again: a few are lost if they were changed */
		for (int i = 0; i < nitems; i++)
		{
			ZsIoItem	item = items[i];

			if (zsio_find_dirty(&wish, &item.locator, item.forknum, item.blkno, &items[n]))
				n++;
		}
		nitems = n;
	}
	qsort(items, nitems, sizeof(ZsIoItem), zsio_compare_items);

	/* pages in steady use come back as dirty as they were */
	wish.max_usage = BM_MAX_USAGE_COUNT - 1;
	batch = add_neighbours(&wish, items, nitems);
	if (batch.nitems > 0)
	{
		/* what is not written before the hand arrives, backends write */
		double		seconds = (cleaned - Min(hand, cleaned)) / Max(speed, 1);

		zsio_guard_floor(2 * nitems / Max(seconds, 0.01));
		zsio_run_write_all(batch.items, batch.nitems, ZSIO_ROLE_CLEANER);
		zsio_guard_floor(0);

		/* it may have left some: then they are looked at again */
		if (zsio_checkpoint_calls())
			cleaned = begin;
	}
	pfree(batch.items);
	pfree(items);
}

bool
zsio_clean_poll(void)
{
	uint64		hand = watch_hand();
	uint64		lead = wanted_lead();
	uint64		end = hand + lead;

	if (!zsio_cleaner)
		return false;
	cleaned = Max(cleaned, hand);
	if (cleaned - hand > lead - lead / LEAD_SLACK)
		return speed > NBuffers / 16;
	/* the other roles have their turn before the hand is chased on */
	while (cleaned < end && !zsio_checkpoint_calls())
	{
		clean_batch(hand, end, MAX_FOUND);
		hand = watch_hand();
		cleaned = Max(cleaned, hand);
	}
	return true;
}

bool
zsio_clean_turn(void)
{
	uint64		hand = watch_hand();
	uint64		lead = wanted_lead();

	cleaned = Max(cleaned, hand);
	if (!zsio_cleaner || cleaned - hand > lead - lead / LEAD_SLACK)
		return false;
	clean_batch(hand, hand + lead, MAX_TURN);
	return true;
}
