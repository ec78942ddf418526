/*-------------------------------------------------------------------------
 *
 * io_run.c
 *	  Runs: adjacent dirty blocks on their way to the file.
 *
 * A run is claimed (its buffers are pinned and BM_IO_IN_PROGRESS, its pages copied),
 * submitted (WAL flushed, write under way) and finished: the states are in io_worker.h.  When it is
 * finished successfully the checkpointer is asked to sync the file first, then the buffers become
 * clean: a checkpoint that finds them clean must know of the file.
 *
 * An error anywhere leaves by way of zsio_run_drain(), which waits for what is in
 * flight before resource owners let go of the buffers.
 *
 * Invariants:
 *	1. nbusy slots are in flight; at most one is claimed beyond depth.
 *	2. A free slot has no blocks and no file.
 *
 * Locks: BM_IO_IN_PROGRESS of the runs' buffers, and nothing else for longer than a call.
 * WAL: is flushed before a page is written; none is emitted.
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
#include "utils/resowner.h"
#include "utils/timestamp.h"

#include "io_worker.h"

/* Seconds between two messages about failed writes. */
#define ERROR_LOG_INTERVAL	10

/* A worker's runs. */
typedef struct ZsIoRuns
{
	const ZsIoMethodOps *ops;	/* NULL: not set up */
	MemoryContext context;
	ZsIoRun    *slots;			/* depth + 1: one may be claimed ahead */
	int			depth;			/* 0: not set up */
	int			max_blocks;		/* that a slot has memory for */
	int			nbusy;			/* in flight */
	TimestampTz last_error_logged;
	ResourceOwner owner;		/* of pins and BM_IO_IN_PROGRESS */
} ZsIoRuns;

/* ---- slots --------------------------------------------------------------------- */

/* The worker has just begun. */
void
zsio_run_init(ZsIoWorker *worker)
{
	Assert(worker->runs == NULL);
	worker->runs = MemoryContextAllocZero(TopMemoryContext, sizeof(ZsIoRuns));
}

/* Slots and method, as the settings want them. */
void
zsio_run_setup(ZsIoWorker *worker)
{
	ZsIoRuns   *runs = worker->runs;

	/* of all workers together an eighth */
	int			max_pinned = Max(NBuffers / 8 / Max(zsio_workers, 1), 4);

	Assert(runs->nbusy == 0);
	zsio_run_shutdown(worker);
	zsio_volumes_refresh();
	zsio_volumes_largest(&runs->max_blocks, &runs->depth);
	runs->max_blocks = Min(runs->max_blocks, max_pinned / 2);
	runs->depth = Max(Min(runs->depth, max_pinned / runs->max_blocks - 1), 1);
	Assert(runs->max_blocks > 0 && runs->max_blocks <= ZSIO_MAX_RUN_BLOCKS);
	Assert(runs->depth <= ZSIO_MAX_DEPTH);

	runs->context = AllocSetContextCreate(TopMemoryContext, "zedstore I/O runs",
										  ALLOCSET_DEFAULT_SIZES);
	runs->slots = MemoryContextAllocZero(runs->context, (runs->depth + 1) * sizeof(ZsIoRun));
	for (int i = 0; i <= runs->depth; i++)
		runs->slots[i].data = MemoryContextAllocAligned(runs->context,
														(Size) runs->max_blocks * BLCKSZ,
														PG_IO_ALIGN_SIZE, MCXT_ALLOC_HUGE);
	runs->ops = zsio_method_start(worker, runs->depth + 1);
	zsio_guard_set_depth(&worker->guard, runs->depth);
	worker->shared->method = runs->ops->method;
	pg_atomic_write_u32(&worker->shared->window, runs->depth);
}

/* Gives slots and method back. */
void
zsio_run_shutdown(ZsIoWorker *worker)
{
	ZsIoRuns   *runs = worker->runs;

	Assert(runs->nbusy == 0);
	if (runs->ops != NULL)
		runs->ops->shutdown(worker);
	runs->ops = NULL;
	if (runs->context != NULL)
		MemoryContextDelete(runs->context);
	runs->context = NULL;
	runs->slots = NULL;
	runs->depth = 0;
	zsio_guard_set_depth(&worker->guard, 0);
}

/* Requests in flight. */
int
zsio_run_busy(const ZsIoWorker *worker)
{
	return worker->runs->nbusy;
}

/* How many there may be. */
int
zsio_run_depth(const ZsIoWorker *worker)
{
	return worker->runs->depth;
}

/* The worker's resource owner is the current one from here on. */
void
zsio_run_own_resources(ZsIoWorker *worker)
{
	ZsIoRuns   *runs = worker->runs;

	if (runs->owner == NULL)
		runs->owner = ResourceOwnerCreate(NULL, "zedstore I/O worker");
	CurrentResourceOwner = runs->owner;
}

/* Lets go of all that it has.  With nothing in flight. */
void
zsio_run_release_resources(ZsIoWorker *worker)
{
	ZsIoRuns   *runs = worker->runs;

	Assert(runs->nbusy == 0);
	Assert(runs->owner != NULL);
	ResourceOwnerRelease(runs->owner, RESOURCE_RELEASE_BEFORE_LOCKS, false, true);
	ResourceOwnerRelease(runs->owner, RESOURCE_RELEASE_LOCKS, false, true);
	ResourceOwnerRelease(runs->owner, RESOURCE_RELEASE_AFTER_LOCKS, false, true);
}

#ifdef USE_ASSERT_CHECKING
/* The steps that a run may take; the states say who takes them. */
static bool
may_become(ZsIoRunState from, ZsIoRunState to)
{
	switch (from)
	{
		case ZSIO_RUN_FREE:
			return to == ZSIO_RUN_CLAIMED;
		case ZSIO_RUN_CLAIMED:
			return to == ZSIO_RUN_IN_FLIGHT || to == ZSIO_RUN_FREE;
		case ZSIO_RUN_IN_FLIGHT:
			return to == ZSIO_RUN_ENDED;
		case ZSIO_RUN_ENDED:
			return to == ZSIO_RUN_FREE;
	}
	return false;
}
#endif

static void
set_state(ZsIoRun *run, ZsIoRunState state)
{
	Assert(may_become(run->state, state));
	Assert((run->nblocks == 0) == (state == ZSIO_RUN_FREE));	/* 2 */
	run->state = state;
}

/* ---- the end of a run -------------------------------------------------------------- */

/* Gives buffers and file back: the slot is free. */
static void
release(ZsIoRun *run, ZsIoResult result)
{
	Assert(run->nblocks > 0 && run->nblocks <= ZSIO_MAX_RUN_BLOCKS);
	Assert(run->state == (result == ZSIO_GIVEN_UP ? ZSIO_RUN_CLAIMED : ZSIO_RUN_ENDED));
	for (int i = 0; i < run->nblocks; i++)
		zsio_buffer_end(run->buf_ids[i], run->data + (Size) i * BLCKSZ, result);
	if (run->file != NULL)
		zsio_file_put(run->file);
	run->file = NULL;
	run->nblocks = 0;
	set_state(run, ZSIO_RUN_FREE);
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
 * Sees to it that the next checkpoint syncs the file; false, with the run's error set: its contents
 * may be lost.
 */
static bool
request_sync(ZsIoWorker *worker, ZsIoRun *run)
{
	FileTag		tag;

	/* that was done when all of them were written */
	if (run->group != 0 && run->file->synced_group == run->group)
		return true;
	memset(&tag, 0, sizeof(tag));
	tag.handler = SYNC_HANDLER_MD;
	tag.rlocator = run->file->locator;
	tag.forknum = run->file->forknum;
	tag.segno = run->file->segno;
	run->file->synced_group = run->group;
	if (RegisterSyncRequest(&tag, SYNC_REQUEST, false))
		return true;

	/* the queue is full */
	zsio_count(&worker->shared->sync_requests_refused, 1);
	if (pg_fdatasync(run->file->fd) == 0)
		return true;

	run->file->synced_group = 0;
	run->error = errno;
	report_lost_error(run, errno);
	return false;
}

/* Counts a failed write; the log gets a few of them. */
static void
log_error(ZsIoWorker *worker, ZsIoRun *run)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz *last = &worker->runs->last_error_logged;

	Assert(run->error > 0);
	zsio_count(&worker->shared->errors, 1);
	if (!TimestampDifferenceExceeds(*last, now, ERROR_LOG_INTERVAL * 1000))
		return;
	*last = now;
	errno = run->error;
	ereport(LOG,
			(errcode_for_file_access(),
			 errmsg("could not write blocks %u..%u in file \"%s\": %m",
					run->blkno, run->blkno + run->nblocks - 1, run->file->path),
			 errdetail("The pages stay dirty in shared buffers.")));
}

/* Counts a write that went well. */
static void
count_run(ZsIoWorker *worker, ZsIoRun *run)
{
	ZsIoRoleStats *stats = &worker->shared->roles[run->role];
	TimestampTz now = GetCurrentTimestamp();
	uint64		us = now - run->started;
	int			bucket = 0;

	zsio_count(&stats->requests, 1);
	zsio_count(&stats->blocks, run->nblocks);
	zsio_count(&stats->cached, run->cached);

	/* what the device did not see does not tell how fast it is */
	if (!run->later)
		zsio_guard_completed(&worker->guard, run->counted, now);
	zsio_count(&stats->write_us, us);
	while (bucket < ZSIO_LATENCY_BUCKETS - 1 && us >= (UINT64CONST(64) << bucket))
		bucket++;
	zsio_count(&worker->shared->latency[bucket], 1);
	zs_count_io_write(run->nblocks);
}

/* The method has returned the run. */
static void
finish(ZsIoWorker *worker, ZsIoRun *run)
{
	Assert(worker->runs->nbusy > 0);
	Assert(run->file != NULL);
	Assert(run->error >= 0);
	worker->runs->nbusy--;
	set_state(run, ZSIO_RUN_ENDED);
	zsio_limit_ended(worker, run);
	ZS_INJECTION_POINT_ARG("zs-io-written", NULL);
	if (run->write_back_failed)
		report_lost_error(run, run->error);
	if (run->error != 0 || !request_sync(worker, run))
	{
		log_error(worker, run);
		release(run, ZSIO_FAILED);
		return;
	}
	count_run(worker, run);
	if (run->later && !proc_exit_inprogress)
		zsio_later_remember(worker, run);
	ZS_INJECTION_POINT_ARG("zs-io-release", NULL);
	release(run, ZSIO_WRITTEN);
}

/* Finishes what ended: see io_worker.h. */
void
zsio_run_reap(ZsIoWorker *worker, long timeout_us)
{
	ZsIoRuns   *runs = worker->runs;
	ZsIoRun    *run;

	while (runs->nbusy > 0 && (run = runs->ops->reap(worker, timeout_us)) != NULL)
	{
		finish(worker, run);
		timeout_us = 0;
	}
}

/* Nothing is claimed or in flight afterwards. */
void
zsio_run_drain(ZsIoWorker *worker)
{
	ZsIoRuns   *runs = worker->runs;

	while (runs->nbusy > 0)
	{
		ZsIoRun    *run = runs->ops->reap(worker, -1);

		if (run != NULL)
			finish(worker, run);
	}
	for (int i = 0; runs->slots != NULL && i <= runs->depth; i++)
	{
		Assert(runs->slots[i].state != ZSIO_RUN_IN_FLIGHT); /* 1 */
		if (runs->slots[i].state == ZSIO_RUN_CLAIMED)
			release(&runs->slots[i], ZSIO_GIVEN_UP);
	}
}

/* ---- the beginning ------------------------------------------------------------------- */

static ZsIoRun *
free_slot(ZsIoRuns *runs)
{
	for (int i = 0; i <= runs->depth; i++)
	{
		ZsIoRun    *run = &runs->slots[i];

		Assert(run->state != ZSIO_RUN_FREE || (run->nblocks == 0 && run->file == NULL));	/* 2 */
		if (run->state == ZSIO_RUN_FREE)
			return run;
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

/* As many adjacent blocks as make one request: see io_worker.h. */
ZsIoRun *
zsio_run_claim(ZsIoWorker *worker, const ZsIoItem *items, int nitems, int *pos, ZsIoRole role)
{
	ZsIoRuns   *runs = worker->runs;
	ZsIoRun    *run = free_slot(runs);
	const ZsIoItem *last = NULL;
	int			most = runs->max_blocks;

	Assert(*pos >= 0 && *pos <= nitems);
	Assert(CurrentResourceOwner == runs->owner);
	if (run == NULL)
		return NULL;
	run->lsn = InvalidXLogRecPtr;
	while (*pos < nitems && run->nblocks < most)
	{
		const ZsIoItem *item = &items[*pos];

		if (last != NULL && !continues(last, item))
			break;
		(*pos)++;
		if (zsio_buffer_begin(item, run->data + (Size) run->nblocks * BLCKSZ, &run->lsn))
		{
			run->buf_ids[run->nblocks++] = item->buf_id;
			if (last == NULL)
			{
				/* from here on it is given back whatever happens */
				set_state(run, ZSIO_RUN_CLAIMED);
				run->first = *item;
				run->blkno = item->blkno;
				run->volume = zsio_volume_of(item->locator.spcOid);
				most = Min(runs->max_blocks,
						   zsio_volume_limits(run->volume)->request_blocks);
			}
			last = item;
			continue;
		}
		zsio_count(&worker->shared->roles[role].skipped, 1);
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
	run->write_back_failed = false;
	run->priority = 0;
	run->priority_error = 0;
	run->error = 0;
	run->group = 0;
	run->offset = (off_t) (run->blkno % RELSEG_SIZE) * BLCKSZ;
	return run;
}

/* May the run's file be written asynchronously? */
static bool
may_be_async(ZsIoWorker *worker, ZsIoFile *file)
{
	return worker->runs->ops->method == ZSIO_METHOD_URING && file->direct && file->may_be_async &&
		zsio_hazard_record(worker->hazard, file);
}

/*
 * Chooses the way into the file.  Blocks that the page cache holds are written through it, if they
 * would have to be read from the device otherwise when a buffer is needed for them again.
 */
static void
choose_descriptor(ZsIoWorker *worker, ZsIoRun *run)
{
	ZsIoFile   *file = run->file;

	run->fd = file->fd;
	run->cached = run->later = false;
	if (!zsio_keep_cached || !file->direct || zsio_cache_bypassed() ||
		!zsio_cache_holds(worker->cache, file->fd, run->offset,
						  (off_t) run->nblocks * BLCKSZ))
		return;
	run->fd = zsio_file_cached_fd(file);
	run->cached = run->fd >= 0;
	if (!run->cached)
		run->fd = file->fd;
	else if (zsio_later_may_wait(worker, run))
	{
		run->later = true;
		zsio_limit_refund(worker, run);
	}
}

/* The write is under way afterwards, or the run was given up. */
void
zsio_run_submit(ZsIoWorker *worker, ZsIoRun *run)
{
	ZsIoWorkerShared *shared = worker->shared;

	Assert(run->state == ZSIO_RUN_CLAIMED);
	Assert(run->first.blkno % RELSEG_SIZE + run->nblocks <= RELSEG_SIZE);
	ZS_INJECTION_POINT_ARG("zs-io-open", NULL);
	run->file = zsio_file_get(worker->files, &run->first.locator, run->first.forknum,
							  run->first.blkno / RELSEG_SIZE);
	if (run->file == NULL)
	{
		/* removed or moved: whoever did it does not need these pages written */
		zsio_count(&shared->roles[run->role].skipped, run->nblocks);
		release(run, ZSIO_GIVEN_UP);
		return;
	}
	if (zsio_direct && !run->file->direct && !run->file->fallback_counted)
	{
		zsio_count(&shared->fallbacks, 1);
		run->file->fallback_counted = true;
	}
	choose_descriptor(worker, run);
	run->file->async = !run->cached && may_be_async(worker, run->file);

	ZS_INJECTION_POINT_ARG("zs-io-flush", NULL);
	if (!XLogRecPtrIsInvalid(run->lsn))
		XLogFlush(run->lsn);
	ZS_INJECTION_POINT_ARG("zs-io-submit", NULL);
	run->started = GetCurrentTimestamp();
	set_state(run, ZSIO_RUN_IN_FLIGHT);
	worker->runs->nbusy++;
	Assert(worker->runs->nbusy <= worker->runs->depth + 1); /* 1 */
	zsio_limit_started(worker, run);
	worker->runs->ops->submit(worker, run);
}

/* ---- waiting ------------------------------------------------------------------------- */

/* Runs that are claimed or in flight on a volume. */
int
zsio_run_count_on(const ZsIoWorker *worker, int volume)
{
	const ZsIoRuns *runs = worker->runs;
	int			n = 0;

	for (int i = 0; i <= runs->depth; i++)
		n += runs->slots[i].state != ZSIO_RUN_FREE && runs->slots[i].volume == volume;
	return n;
}

/* What is always to be done between two naps. */
static void
look_around(ZsIoWorker *worker)
{
	zsio_file_close_idle(worker->files);
	CHECK_FOR_INTERRUPTS();

	/* the next postmaster cannot start before this process is gone */
	if (!PostmasterIsAlive())
		proc_exit(1);
}

/* Waits for a short time, or until a run ends. */
void
zsio_run_nap(ZsIoWorker *worker, long us)
{
	Assert(us >= 0);
	us = Min(us, ZSIO_NAP_US);
	if (worker->runs->nbusy > 0)
		zsio_run_reap(worker, us);
	else
		pg_usleep(us);
	look_around(worker);
}

/* Waits because of limits: see io_worker.h. */
void
zsio_run_pause(ZsIoWorker *worker, long us)
{
	Assert(us >= 0);
	if (zsio_guard_rate(&worker->guard) == 0)
	{
		zsio_run_nap(worker, us);
		return;
	}
	zsio_own_set_out(worker);
	pg_usleep(ZSIO_PAUSE_US);
	zsio_run_reap(worker, 0);
	look_around(worker);
}
