/*-------------------------------------------------------------------------
 *
 * io_list.c
 *	  Writes sorted lists of blocks, for all roles but checkpoints.
 *
 * Runs are claimed as long as limits allow, then submitted together, so that WAL is flushed once
 * for all of them.  No run is kept claimed while the worker waits: nobody waits behind these
 * buffers.
 *
 * Before each run it is asked whether the worker is called away (zsio_called_away()): for a
 * checkpoint, or by new settings.
 *
 * Locks: see io_run.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_list.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"

#include "io_worker.h"

/* Submits claimed runs; the WAL is flushed at once as far as any of them needs. */
static void
submit_all(ZsIoWorker *worker, ZsIoRun **claimed, int nclaimed)
{
	XLogRecPtr	lsn = InvalidXLogRecPtr;

	for (int i = 0; i < nclaimed; i++)
		lsn = Max(lsn, claimed[i]->lsn);
	if (!XLogRecPtrIsInvalid(lsn))
		XLogFlush(lsn);
	for (int i = 0; i < nclaimed; i++)
		zsio_run_submit(worker, claimed[i]);
}

/*
 * How many microseconds until the run that starts with the item may be written; 0: now.
 */
static long
wait_for_turn(ZsIoWorker *worker, const ZsIoItem *item, int nclaimed, ZsIoRoleStats *stats)
{
	const ZsIoLimits *limits;
	int			volume;
	long		delay;

	if (zsio_run_busy(worker) + nclaimed >= zsio_guard_depth(&worker->guard))
	{
		zsio_guard_held_up(&worker->guard, false);
		zsio_limit_tick(worker);
		return ZSIO_NAP_US;
	}
	volume = zsio_volume_of(item->locator.spcOid);
	limits = zsio_volume_limits(volume);
	if (nclaimed > 0 && zsio_run_count_on(worker, volume) >= limits->queue_depth)
		return ZSIO_NAP_US;
	delay = Min(zsio_limit_delay(worker, volume, limits->request_blocks), ZSIO_NAP_US);
	if (nclaimed == 0)
		zsio_count(&stats->pace_us, delay);
	return delay;
}

/* Starts to write a list: see io_worker.h. */
void
zsio_list_start(ZsIoWorker *worker, const ZsIoItem *items, int nitems, ZsIoRole role)
{
	ZsIoRoleStats *stats = &worker->shared->roles[role];
	ZsIoRun    *claimed[ZSIO_MAX_DEPTH + 1];
	int			nclaimed = 0;
	int			pos = 0;

	zsio_count(&stats->rounds, 1);
	for (;;)
	{
		bool		more = pos < nitems && !zsio_called_away(worker);
		long		delay = more ? wait_for_turn(worker, &items[pos], nclaimed, stats) : 0;

		CHECK_FOR_INTERRUPTS();
		if (more && delay == 0)
		{
			/* backends that evict pages do not find these; WAL is flushed once for all */
			ZsIoRun    *run = zsio_run_claim(worker, items, nitems, &pos, role);

			if (run == NULL)
				continue;
			Assert(nclaimed < lengthof(claimed));
			zsio_limit_charge(worker, run);
			claimed[nclaimed++] = run;
		}
		else if (nclaimed > 0)
		{
			/* nobody waits behind these buffers: do not hold them while waiting */
			submit_all(worker, claimed, nclaimed);
			nclaimed = 0;
			zsio_run_reap(worker, 0);
		}
		else if (more)
			zsio_run_pause(worker, delay);
		else
			break;
	}
	Assert(nclaimed == 0);
}

/* Writes a list, unless the worker is called away. */
void
zsio_list_write(ZsIoWorker *worker, const ZsIoItem *items, int nitems, ZsIoRole role)
{
	zsio_list_start(worker, items, nitems, role);
	while (zsio_run_busy(worker) > 0 && !zsio_called_away(worker))
		zsio_run_nap(worker, ZSIO_NAP_US);
}
