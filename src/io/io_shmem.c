/*-------------------------------------------------------------------------
 *
 * io_shmem.c
 *	  Shared memory of the I/O workers, and the steps of hooks that need it.
 *
 * zsio_startup_shmem() runs in the postmaster before the startup process, at the first start and
 * after every crash; the barrier of io_hazard.c belongs there.  zsio_watch_log() sees the
 * checkpointer's "checkpoint starting" message inside of a critical section: it touches atomics and
 * latches only.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_shmem.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/elog.h"

#include "io_file.h"
#include "io_internal.h"
#include "zs_io_hooks.h"

ZsIoShared *zsio_shared = NULL;
ZsIoQueue  *zsio_queues = NULL;

/* Was the server started with workers?  The postmaster's, inherited by all processes. */
static bool registered;

/* A step of shmem_request: asks for space in shared memory; in the postmaster. */
void
zsio_request_shmem(void)
{
	RequestAddinShmemSpace(MAXALIGN(sizeof(ZsIoShared)));
	zsio_arbiter_request_shmem();
	if (registered)
		RequestAddinShmemSpace(MAXALIGN(ZSIO_MAX_WORKERS * sizeof(ZsIoQueue)));
}

/* All counters of a worker are 0. */
static void
init_worker(ZsIoWorkerShared *worker)
{
	memset(worker, 0, sizeof(ZsIoWorkerShared));
	for (int i = 0; i < ZSIO_ROLES; i++)
	{
		ZsIoRoleStats *role = &worker->roles[i];

		pg_atomic_init_u64(&role->rounds, 0);
		pg_atomic_init_u64(&role->requests, 0);
		pg_atomic_init_u64(&role->blocks, 0);
		pg_atomic_init_u64(&role->write_us, 0);
		pg_atomic_init_u64(&role->skipped, 0);
		pg_atomic_init_u64(&role->pace_us, 0);
		pg_atomic_init_u64(&role->cached, 0);
	}
	pg_atomic_init_u64(&worker->errors, 0);
	pg_atomic_init_u64(&worker->fallbacks, 0);
	pg_atomic_init_u64(&worker->sync_requests_refused, 0);
	for (int i = 0; i < ZSIO_LATENCY_BUCKETS; i++)
		pg_atomic_init_u64(&worker->latency[i], 0);
	pg_atomic_init_u32(&worker->round_active, 0);
	pg_atomic_init_u64(&worker->round_total, 0);
	pg_atomic_init_u64(&worker->round_done, 0);
	pg_atomic_init_u32(&worker->window, 0);
	pg_atomic_init_u32(&worker->rate, 0);
	pg_atomic_init_u32(&worker->vacuum_sleep, 0);
	pg_atomic_init_u64(&worker->vacuum_sleep_set, 0);
	pg_atomic_init_u64(&worker->rests, 0);
	pg_atomic_init_u64(&worker->rest_us, 0);
	pg_atomic_init_u32(&worker->resting, 0);
}

/*
 * A step of shmem_startup: what is in shared memory at first and after every crash; in the
 * postmaster.
 */
void
zsio_startup_shmem(void)
{
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	zsio_shared = ShmemInitStruct("zedstore I/O workers", sizeof(ZsIoShared), &found);
	if (!found)
	{
		SpinLockInit(&zsio_shared->mutex);
		memset(zsio_shared->indexes, 0, sizeof(zsio_shared->indexes));
		pg_atomic_init_u32(&zsio_shared->starts, 0);
		pg_atomic_init_u32(&zsio_shared->start_immediate, 0);
		pg_atomic_init_u32(&zsio_shared->commit_delay, 0);
		pg_atomic_init_u64(&zsio_shared->commit_delay_set, 0);
		pg_atomic_init_u64(&zsio_shared->wal_sync_us, 0);
		pg_atomic_init_u64(&zsio_shared->commits_delayed, 0);
		for (int i = 0; i < ZSIO_MAX_WORKERS; i++)
			init_worker(&zsio_shared->workers[i]);
	}
	zsio_arbiter_startup_shmem();

	if (registered)
		zsio_queues = ShmemInitStruct("zedstore I/O queues",
									  ZSIO_MAX_WORKERS * sizeof(ZsIoQueue), &found);
	for (int i = 0; registered && !found && i < ZSIO_MAX_WORKERS; i++)
	{
		memset(&zsio_queues[i], 0, sizeof(ZsIoQueue));
		SpinLockInit(&zsio_queues[i].mutex);
	}
	LWLockRelease(AddinShmemInitLock);

	Assert(zsio_shared != NULL);
	Assert(!registered || zsio_queues != NULL);
	if (!IsUnderPostmaster)
		zsio_hazard_barrier();
}

/* Tells the workers at once that a checkpoint started, and how it is going to be paced. */
void
zsio_watch_log(ErrorData *edata)
{
	if (MyBackendType == B_CHECKPOINTER && edata->elevel == LOG && edata->message_id != NULL &&
		edata->message != NULL && zsio_shared != NULL &&
		(strncmp(edata->message_id, "checkpoint starting:", 20) == 0 ||
		 strncmp(edata->message_id, "restartpoint starting:", 22) == 0))
	{
		/* 19 calls it fast; without the word the checkpoint is spread over time */
		pg_atomic_write_u32(&zsio_shared->start_immediate,
							strstr(edata->message, " immediate") != NULL ||
							strstr(edata->message, " fast") != NULL);
		pg_atomic_fetch_add_u32(&zsio_shared->starts, 1);
		zsio_wake_workers();
	}
}

/* What the postmaster is to know of a worker, but for when it is to be started again. */
void
zsio_worker_describe(BackgroundWorker *worker, int no)
{
	Assert(no >= 0 && no < ZSIO_MAX_WORKERS);
	memset(worker, 0, sizeof(BackgroundWorker));
	snprintf(worker->bgw_name, BGW_MAXLEN, "zedstore I/O worker %d", no + 1);
	snprintf(worker->bgw_type, BGW_MAXLEN, "zedstore I/O worker");
	snprintf(worker->bgw_library_name, MAXPGPATH, "zedstore_io");
	snprintf(worker->bgw_function_name, BGW_MAXLEN, "zsio_worker_main");
	worker->bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker->bgw_start_time = BgWorkerStart_ConsistentState;
	worker->bgw_main_arg = Int32GetDatum(no);
}

/*
 * The first worker starts and stops the others; see io_worker.c.  It is there, idle, in a server
 * without workers too: only what was registered now can come back after a crash.
 */
static void
register_worker(void)
{
	BackgroundWorker worker;

	zsio_worker_describe(&worker, 0);
	worker.bgw_restart_time = ZSIO_RESTART_SECONDS;
	RegisterBackgroundWorker(&worker);
}

/* Registers the first worker.  Only while shared libraries are preloaded. */
void
zsio_init(void)
{
	Assert(process_shared_preload_libraries_in_progress);
	registered = !IsBinaryUpgrade && (max_worker_processes > 0 || zsio_workers > 0);
	if (registered)
		register_worker();
}
