/*-------------------------------------------------------------------------
 *
 * io_run.c
 *	  Runs: adjacent dirty blocks on their way to the file.
 *
 * A run is claimed (its buffers are pinned and BM_IO_IN_PROGRESS, its pages copied),
 * submitted (WAL flushed, write under way) and finished.  When it is finished
 * successfully the checkpointer is asked to sync the file first, then the buffers become
 * clean: a checkpoint that finds them clean must know of the file.
 *
 * An error anywhere leaves by way of zsio_run_drain(), which waits for what is in
 * flight before resource owners let go of the buffers.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_run.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "access/xlog.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/pmsignal.h"
#include "storage/sync.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "io_internal.h"
#include "io_profile.h"

/* Seconds between two messages about failed writes. */
#define ERROR_LOG_INTERVAL	10

typedef enum RunState
{
	RUN_FREE = 0,
	RUN_CLAIMED,
	RUN_IN_FLIGHT,
} RunState;

static ZsIoWorkerShared *self = NULL;
static int	self_no;
static const ZsIoMethodOps *ops = NULL;
static MemoryContext run_context = NULL;
static ZsIoRun *runs = NULL;	/* depth + 1: one may be claimed ahead */
static int	depth = 0;
static int	run_blocks = 0;		/* blocks that a slot has memory for */
static int	nbusy = 0;
static TimestampTz last_error_logged = 0;

void
zsio_run_setup(ZsIoWorkerShared *me, int worker)
{
	/* of all workers together an eighth */
	int			max_pinned = Max(NBuffers / 8 / Max(zsio_workers, 1), 4);

	Assert(nbusy == 0);
	zsio_run_shutdown();
	self = me;
	self_no = worker;
	zsio_volumes_refresh();
	zsio_volumes_largest(&run_blocks, &depth);
	run_blocks = Min(run_blocks, max_pinned / 2);
	depth = Max(Min(depth, max_pinned / run_blocks - 1), 1);

	run_context = AllocSetContextCreate(TopMemoryContext, "zedstore I/O runs",
										ALLOCSET_DEFAULT_SIZES);
	runs = MemoryContextAllocZero(run_context, (depth + 1) * sizeof(ZsIoRun));
	for (int i = 0; i <= depth; i++)
		runs[i].data = MemoryContextAllocAligned(run_context, (Size) run_blocks * BLCKSZ,
												 PG_IO_ALIGN_SIZE, MCXT_ALLOC_HUGE);
	ops = zsio_method_start(depth + 1);
	self->method = ops->method;
	pg_atomic_write_u32(&self->window, depth);
}

void
zsio_run_shutdown(void)
{
	Assert(nbusy == 0);
	if (ops != NULL)
		ops->shutdown();
	ops = NULL;
	if (run_context != NULL)
		MemoryContextDelete(run_context);
	run_context = NULL;
	runs = NULL;
	depth = 0;
}

int
zsio_run_busy(void)
{
	return nbusy;
}

int
zsio_run_depth(void)
{
	return depth;
}

/* ---- the end of a run -------------------------------------------------------------- */

static void
release(ZsIoRun *run, ZsIoResult result)
{
	for (int i = 0; i < run->nblocks; i++)
		zsio_buffer_end(run->buf_ids[i], result);
	if (run->file != NULL)
		zsio_file_put(run->file);
	run->file = NULL;
	run->nblocks = 0;
	run->state = RUN_FREE;
}

/*
 * The kernel has reported that page cache of the file could not be written.  It does that once, and
 * it may be about what others wrote to the file: the checkpointer would not learn of it.
 */
static void
report_lost_error(ZsIoRun *run, int error)
{
	errno = error;
	ereport(enableFsync ? data_sync_elevel(LOG) : LOG,
			(errcode_for_file_access(),
			 errmsg("could not fsync file \"%s\": %m", run->file->path)));
}

/*
 * Sees to it that the next checkpoint syncs the file; false, with the run's error set: its contents may
 * be lost.
 */
static bool
request_sync(ZsIoRun *run)
{
	FileTag		tag;

	memset(&tag, 0, sizeof(tag));
	tag.handler = SYNC_HANDLER_MD;
	tag.rlocator = run->file->locator;
	tag.forknum = run->file->forknum;
	tag.segno = run->file->segno;
	if (RegisterSyncRequest(&tag, SYNC_REQUEST, false))
		return true;

	/* the queue is full */
	zsio_count(&self->sync_requests_refused, 1);
	if (pg_fdatasync(run->file->fd) == 0)
		return true;

	run->error = errno;
	report_lost_error(run, errno);
	return false;
}

static void
log_error(ZsIoRun *run)
{
	TimestampTz now = GetCurrentTimestamp();

	zsio_count(&self->errors, 1);
	if (!TimestampDifferenceExceeds(last_error_logged, now, ERROR_LOG_INTERVAL * 1000))
		return;
	last_error_logged = now;
	errno = run->error;
	ereport(LOG,
			(errcode_for_file_access(),
			 errmsg("could not write blocks %u..%u in file \"%s\": %m",
					run->blkno, run->blkno + run->nblocks - 1, run->file->path),
			 errdetail("The pages stay dirty in shared buffers.")));
}

static void
count_run(ZsIoRun *run)
{
	ZsIoRoleStats *stats = &self->roles[run->role];
	uint64		us = GetCurrentTimestamp() - run->started;
	int			bucket = 0;

	zsio_count(&stats->requests, 1);
	zsio_count(&stats->blocks, run->nblocks);
	zsio_count(&stats->cached, run->cached);
	zsio_guard_completed(run->counted);
	zsio_count(&stats->write_us, us);
	while (bucket < ZSIO_LATENCY_BUCKETS - 1 && us >= (UINT64CONST(64) << bucket))
		bucket++;
	zsio_count(&self->latency[bucket], 1);
#ifdef ZS_PG18
	pgstat_count_io_op(IOOBJECT_RELATION, IOCONTEXT_NORMAL, IOOP_WRITE, 1,
					   (uint64) run->nblocks * BLCKSZ);
#else
	pgstat_count_io_op_n(IOOBJECT_RELATION, IOCONTEXT_NORMAL, IOOP_WRITE, run->nblocks);
#endif
}

static void
finish(ZsIoRun *run)
{
	Assert(run->state == RUN_IN_FLIGHT && nbusy > 0);
	nbusy--;
	zsio_pace_ended(run);
	ZS_INJECTION_POINT_ARG("zs-io-written", NULL);
	if (run->write_back_failed)
		report_lost_error(run, run->error);
	if (run->error != 0 || !request_sync(run))
	{
		log_error(run);
		release(run, ZSIO_FAILED);
		return;
	}
	count_run(run);
	ZS_INJECTION_POINT_ARG("zs-io-release", NULL);
	release(run, ZSIO_WRITTEN);
}

void
zsio_run_reap(long timeout_us)
{
	ZsIoRun    *run;

	while (nbusy > 0 && (run = ops->reap(timeout_us)) != NULL)
	{
		finish(run);
		timeout_us = 0;
	}
}

void
zsio_run_drain(void)
{
	while (nbusy > 0)
	{
		ZsIoRun    *run = ops->reap(-1);

		if (run != NULL)
			finish(run);
	}
	for (int i = 0; runs != NULL && i <= depth; i++)
	{
		if (runs[i].state == RUN_CLAIMED)
			release(&runs[i], ZSIO_GIVEN_UP);
	}
}

/* ---- the beginning ------------------------------------------------------------------- */

static ZsIoRun *
free_slot(void)
{
	for (int i = 0; i <= depth; i++)
	{
		if (runs[i].state == RUN_FREE)
			return &runs[i];
	}
	return NULL;
}

/* Does the block follow the last one of the run, in the same file? */
static bool
continues(const ZsIoItem *last, const ZsIoItem *item)
{
	return item->blkno == last->blkno + 1 && item->blkno % RELSEG_SIZE != 0 &&
		item->forknum == last->forknum && RelFileLocatorEquals(item->locator, last->locator);
}

ZsIoRun *
zsio_run_claim(const ZsIoItem *items, int nitems, int *pos, ZsIoRole role)
{
	ZsIoRun    *run = free_slot();
	const ZsIoItem *last = NULL;
	int			most = run_blocks;

	if (run == NULL)
		return NULL;
	Assert(run->nblocks == 0 && run->file == NULL);
	run->lsn = InvalidXLogRecPtr;
	while (*pos < nitems && run->nblocks < most)
	{
		const ZsIoItem *item = &items[*pos];

		if (last != NULL && !continues(last, item))
			break;
		(*pos)++;
		if (zsio_buffer_begin(item, run->data + (Size) run->nblocks * BLCKSZ, &run->lsn))
		{
			/* from here on it is given back whatever happens */
			run->state = RUN_CLAIMED;
			run->buf_ids[run->nblocks++] = item->buf_id;
			if (last == NULL)
			{
				run->first = *item;
				run->blkno = item->blkno;
				run->volume = zsio_volume_of(item->locator.spcOid);
				most = Min(run_blocks, zsio_volume_limits(run->volume)->request_blocks);
			}
			last = item;
			continue;
		}
		zsio_count(&self->roles[role].skipped, 1);
		if (last != NULL)
			break;
		CHECK_FOR_INTERRUPTS();
	}
	if (last == NULL)
		return NULL;
	ZS_INJECTION_POINT_ARG("zs-io-claimed", NULL);
	run->role = role;
	run->counted = zsio_requests_counted(zsio_volume_limits(run->volume), run->nblocks * BLCKSZ);
	run->done = 0;
	run->first_length = 0;
	run->write_back = 0;
	run->write_back_failed = false;
	run->priority = 0;
	run->priority_error = 0;
	run->error = 0;
	run->offset = (off_t) (run->blkno % RELSEG_SIZE) * BLCKSZ;
	return run;
}

/* May the run's file be written asynchronously? */
static bool
may_be_async(ZsIoFile *file)
{
	return ops->method == ZSIO_METHOD_URING && file->direct && file->may_be_async &&
		zsio_hazard_record(self_no, file);
}

/*
 * Chooses the way into the file.  Blocks that the page cache holds are written through it, if they would
 * have to be read from the device otherwise when a buffer is needed for them again.
 */
static void
choose_descriptor(ZsIoRun *run)
{
	ZsIoFile   *file = run->file;

	run->fd = file->fd;
	run->cached = false;
	if (!zsio_keep_cached || !file->direct || zsio_cache_bypassed() ||
		!zsio_cache_holds(file->fd, run->offset, (off_t) run->nblocks * BLCKSZ))
		return;
	run->fd = zsio_file_cached_fd(file);
	run->cached = run->fd >= 0;
	if (!run->cached)
		run->fd = file->fd;
}

void
zsio_run_submit(ZsIoRun *run)
{
	Assert(run->state == RUN_CLAIMED);
	ZS_INJECTION_POINT_ARG("zs-io-open", NULL);
	run->file = zsio_file_get(&run->first.locator, run->first.forknum,
							  run->first.blkno / RELSEG_SIZE);
	if (run->file == NULL)
	{
		/* removed or moved: whoever did it does not need these pages written */
		zsio_count(&self->roles[run->role].skipped, run->nblocks);
		release(run, ZSIO_GIVEN_UP);
		return;
	}
	if (zsio_direct && !run->file->direct && !run->file->fallback_counted)
	{
		zsio_count(&self->fallbacks, 1);
		run->file->fallback_counted = true;
	}
	choose_descriptor(run);
	run->file->async = !run->cached && may_be_async(run->file);

	ZS_INJECTION_POINT_ARG("zs-io-flush", NULL);
	if (!XLogRecPtrIsInvalid(run->lsn))
		XLogFlush(run->lsn);
	ZS_INJECTION_POINT_ARG("zs-io-submit", NULL);
	run->started = GetCurrentTimestamp();
	run->state = RUN_IN_FLIGHT;
	nbusy++;
	zsio_pace_started(run);
	(void) ops->submit(run);
}

/* ---- lists of other roles --------------------------------------------------------------- */

/* Submits claimed runs; the WAL is flushed at once as far as any of them needs. */
static void
submit_all(ZsIoRun **claimed, int nclaimed)
{
	XLogRecPtr	lsn = InvalidXLogRecPtr;

	for (int i = 0; i < nclaimed; i++)
		lsn = Max(lsn, claimed[i]->lsn);
	if (!XLogRecPtrIsInvalid(lsn))
		XLogFlush(lsn);
	for (int i = 0; i < nclaimed; i++)
		zsio_run_submit(claimed[i]);
}

void
zsio_run_nap(long us)
{
	us = Min(us, ZSIO_NAP_US);
	if (nbusy > 0)
		zsio_run_reap(us);
	else
		pg_usleep(us);
	zsio_file_close_idle();
	CHECK_FOR_INTERRUPTS();

	/* the next postmaster cannot start before this process is gone */
	if (!PostmasterIsAlive())
		proc_exit(1);
}

/* Runs that are claimed or in flight on a volume. */
static int
runs_on_volume(int volume)
{
	int			n = 0;

	for (int i = 0; i <= depth; i++)
		n += runs[i].state != RUN_FREE && runs[i].volume == volume;
	return n;
}

/*
 * How many microseconds until the run that starts with the item may be written; 0: now.
 */
static long
wait_for_turn(const ZsIoItem *item, int nclaimed, ZsIoRoleStats *stats)
{
	const ZsIoLimits *limits;
	int			volume;
	long		delay;

	if (nbusy + nclaimed >= zsio_guard_depth())
	{
		zsio_guard_held_up(false);
		zsio_guard_tick();
		return ZSIO_NAP_US;
	}
	volume = zsio_volume_of(item->locator.spcOid);
	limits = zsio_volume_limits(volume);
	if (nclaimed > 0 && runs_on_volume(volume) >= limits->queue_depth)
		return ZSIO_NAP_US;
	delay = Min(zsio_pace_delay(volume, limits->request_blocks), ZSIO_NAP_US);
	if (nclaimed == 0)
		zsio_count(&stats->pace_us, delay);
	return delay;
}

void
zsio_run_start_all(const ZsIoItem *items, int nitems, ZsIoRole role)
{
	ZsIoRoleStats *stats = &self->roles[role];
	ZsIoRun    *claimed[ZSIO_MAX_DEPTH + 1];
	int			nclaimed = 0;
	int			pos = 0;

	zsio_count(&stats->rounds, 1);
	for (;;)
	{
		bool		more = pos < nitems && !zsio_checkpoint_calls();
		long		delay = more ? wait_for_turn(&items[pos], nclaimed, stats) : 0;

		CHECK_FOR_INTERRUPTS();
		if (more && delay == 0)
		{
			/* who is about to evict these pages does not find them; WAL is flushed once for all */
			ZsIoRun    *run = zsio_run_claim(items, nitems, &pos, role);

			if (run == NULL)
				continue;
			zsio_pace_charge(run);
			claimed[nclaimed++] = run;
		}
		else if (nclaimed > 0)
		{
			/* nobody waits behind these buffers: do not hold them while waiting */
			submit_all(claimed, nclaimed);
			nclaimed = 0;
			zsio_run_reap(0);
		}
		else if (more)
			zsio_run_nap(delay);
		else
			break;
	}
}

void
zsio_run_write_all(const ZsIoItem *items, int nitems, ZsIoRole role)
{
	zsio_run_start_all(items, nitems, role);
	while (nbusy > 0 && !zsio_checkpoint_calls())
		zsio_run_nap(ZSIO_NAP_US);
}
