/*-------------------------------------------------------------------------
 *
 * io_own.c
 *	  Runs through the page cache that the worker writes itself, without threads.
 *
 * A write to the page cache is a copy, which takes less time than to hand it to a thread and to
 * wake up twice.  What may take long is the way to the device, and for that nobody has to wait:
 * the kernel is asked to begin with it, and asked again later whether it is done.  So runs go
 * together in groups: they are written one by one, then the kernel is asked to write all of them
 * out, and they end when it has.  Pace and depth hold as they do for threads.
 *
 * Checkpoints' runs come in the order of the file.  The kernel gets one range for all that a group
 * has of a file, which costs it half of what single blocks do.  What else is dirty in that range
 * is written, too: the checkpointer is going to sync it.
 *
 * Of groups that are done the last run ends first, and the oldest one at the end.  The checkpointer
 * waits for the oldest: it is woken up once for all.
 *
 * All this is for devices that are fast.  Where the guard allows few requests, where the volume
 * has limits, and after a call of the system that took long, threads write: they may be held up,
 * the worker has to look at clients.
 *
 * The kernel is not asked whether it could write, which it tells once: the checkpointer learns that
 * when it syncs the file.
 *
 * Invariants:
 *	1. Runs stand in order of arrival: those that are on their way to the device, then the others.
 *	2. No run of a group is returned before all of them are written to the page cache.
 *
 * Locks: none; the runs' buffers are BM_IO_IN_PROGRESS.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_own.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "io_worker.h"

/* A group is full with so many runs, or blocks. */
#define GROUP_RUNS		16
#define GROUP_BLOCKS	128

/* Requests a second that the guard must allow. */
#define FAST_RATE		1000

/* Microseconds that are too many for one call of the system, and until the next trial then. */
#define SLOW_US			50000
#define SLOW_FOR_US		5000000

/* Microseconds until a group sets out that is not full, and between two looks at one. */
#define SET_OUT_US		2000
#define LOOK_US			500

/* A worker's. */
typedef struct ZsIoOwn
{
	ZsIoRun    *runs[ZSIO_MAX_DEPTH + 1];
	int			nruns;
	int			ngoing;			/* the first so many are on their way */
	int			nblocks;		/* of the others */
	ZsIoRun    *ended[ZSIO_MAX_DEPTH + 1];	/* are returned from the end */
	int			nended;
	uint64		group;			/* number of the present one */
	TimestampTz next_look;		/* at those on their way */
	TimestampTz slow_until;
} ZsIoOwn;

#ifdef USE_ASSERT_CHECKING
static void
check(const ZsIoOwn *me)
{
	Assert(me->ngoing >= 0 && me->ngoing <= me->nruns);
	Assert(me->nruns + me->nended <= (int) lengthof(me->runs));
	for (int i = 0; i < me->nruns; i++)
	{
		Assert(me->runs[i]->state == ZSIO_RUN_IN_FLIGHT);
		Assert(me->runs[i]->group > 0);
		Assert((me->runs[i]->group < me->group) == (i < me->ngoing));	/* 1 */
	}
}
#endif

/* The worker has just begun. */
void
zsio_own_init(ZsIoWorker *worker)
{
	Assert(worker->own == NULL);
	worker->own = MemoryContextAllocZero(TopMemoryContext, sizeof(ZsIoOwn));
	worker->own->group = 1;
}

/* Runs that are to be reaped from here. */
int
zsio_own_pending(const ZsIoWorker *worker)
{
	return worker->own->nruns + worker->own->nended;
}

/* A call of the system took from then until now. */
static void
see_speed(ZsIoOwn *me, TimestampTz from, TimestampTz now)
{
	if (now - from > SLOW_US)
		me->slow_until = now + SLOW_FOR_US;
}

/* Is the run one for the worker itself? */
static bool
is_own(ZsIoWorker *worker, const ZsIoRun *run)
{
	ZsIoOwn    *me = worker->own;
	const ZsIoLimits *limits = zsio_volume_limits(run->volume);
	double		rate = zsio_guard_rate(&worker->guard);

	if (!zsio_own_writes || !run->cached || zsio_run_priority(worker, run) != 0)
		return false;

	/* the clock may have been set back */
	if (run->started < me->slow_until && me->slow_until - run->started <= SLOW_FOR_US)
		return false;

	/* what stays in the page cache for now does not meet the device */
	return run->later ||
		(limits->write_iops == 0 && limits->write_bytes == 0 && (rate == 0 || rate >= FAST_RATE));
}

/* ---- groups --------------------------------------------------------------------- */

/* Does the run go on in the range that ends there? */
static bool
extends(const ZsIoRun *last, const ZsIoRun *run)
{
	return run->fd == last->fd && run->role == ZSIO_ROLE_CHECKPOINT &&
		last->role == ZSIO_ROLE_CHECKPOINT && run->offset > last->offset;
}

/* The kernel begins to write out what the worker has written to the page cache. */
void
zsio_own_set_out(ZsIoWorker *worker)
{
	ZsIoOwn    *me = worker->own;
	TimestampTz from;
	int			first = me->ngoing;

	if (me->ngoing == me->nruns)
		return;
	ZS_INJECTION_POINT_ARG("zs-io-own", NULL);
	from = GetCurrentTimestamp();
	for (int i = first; i < me->nruns; i++)
	{
		ZsIoRun    *run = me->runs[i];

		if (i + 1 < me->nruns && extends(run, me->runs[i + 1]))
			continue;
		zsio_cache_start_write_back(run->fd, me->runs[first]->offset,
									run->offset + (off_t) run->nblocks * BLCKSZ -
									me->runs[first]->offset);
		first = i + 1;
	}
	Assert(first == me->nruns);
	me->ngoing = me->nruns;
	me->nblocks = 0;
	me->group++;
	see_speed(me, from, GetCurrentTimestamp());
#ifdef USE_ASSERT_CHECKING
	check(me);
#endif
}

/*
 * Ends the oldest group if it is on the device; false: it is not.  Only its last run is looked at:
 * when the device has that, it has the others too, or nearly so.
 */
static bool
look(ZsIoOwn *me, TimestampTz now)
{
	int			n = 1;
	ZsIoRun    *last;

	while (n < me->ngoing && me->runs[n]->group == me->runs[0]->group)
		n++;
	last = me->runs[n - 1];
	if (zsio_cache_writes(last->fd, last->offset, (off_t) last->nblocks * BLCKSZ))
	{
		me->next_look = now + LOOK_US;
		return false;
	}
	memcpy(me->ended + me->nended, me->runs, n * sizeof(ZsIoRun *));
	me->nended += n;
	me->nruns -= n;
	me->ngoing -= n;
	memmove(me->runs, me->runs + n, me->nruns * sizeof(ZsIoRun *));
#ifdef USE_ASSERT_CHECKING
	check(me);
#endif
	return true;
}

/* ---- what the pool calls -------------------------------------------------------- */

/* Writes the run to the page cache: see io_worker.h. */
bool
zsio_own_submit(ZsIoWorker *worker, ZsIoRun *run)
{
	ZsIoOwn    *me = worker->own;

	Assert(run->state == ZSIO_RUN_IN_FLIGHT);
	if (!is_own(worker, run))
		return false;
	run->error = zsio_write_to_cache(run);
	see_speed(me, run->started, GetCurrentTimestamp());
	if (run->error != 0 || run->later)
	{
		me->ended[me->nended++] = run;
		return true;
	}
	run->group = me->group;
	me->runs[me->nruns++] = run;
	me->nblocks += run->nblocks;
	if (me->nruns - me->ngoing >= GROUP_RUNS || me->nblocks >= GROUP_BLOCKS)
		zsio_own_set_out(worker);
	return true;
}

/* Next run that ended, or NULL: see io_worker.h. */
ZsIoRun *
zsio_own_reap(ZsIoWorker *worker, bool waits)
{
	ZsIoOwn    *me = worker->own;

	if (me->nended == 0 && me->nruns > 0)
	{
		TimestampTz now = GetCurrentTimestamp();

		if (me->nruns > me->ngoing &&
			(waits || now - me->runs[me->ngoing]->started > SET_OUT_US))
			zsio_own_set_out(worker);
		if (waits || now >= me->next_look || me->next_look - now > LOOK_US)
		{
			while (me->ngoing > 0 && look(me, now))
				;
		}
	}
	return me->nended > 0 ? me->ended[--me->nended] : NULL;
}
