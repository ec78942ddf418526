/*-------------------------------------------------------------------------
 *
 * io_worker.c
 *	  The background workers: life, settings, main loop.
 *
 * The first worker is registered with the postmaster when the server starts, and stays: it starts
 * the others when the setting asks for them, and when it asks for none it is an idle process that
 * wakes up for a reload only.  Others end themselves when they are too many.
 *
 * A resource owner of the worker's own has the pins.  While it watches for checkpoints it also has
 * a transaction without a snapshot, whose virtual id is what a checkpoint waits for
 * (io_checkpoint.c); not during recovery, where conflicts would be resolved with
 * it.  It belongs to no database.
 *
 * Every way out leads through worker_exit() (errors and termination, the
 * postmaster's death), which waits for the writes in flight before anybody lets go of the buffers;
 * but for SIGQUIT and SIGKILL, for which there is io_hazard.c.  After an error the
 * postmaster starts the worker again.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_worker.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/condition_variable.h"
#include "storage/ipc.h"
#include "storage/lock.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/pgstat_internal.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "io_worker.h"
#include "zs_compat.h"

/* Milliseconds between two looks: when there is work, */
#define WORK_MS		10
/* while clients do I/O that is fast, */
#define CALM_MS		25
/* for a checkpoint, */
#define POLL_MS		50
/* and when there has been no work for so many of them, if somebody wakes us up for a checkpoint. */
#define IDLE_MS		500
#define IDLE_AFTER	100
/* And between two reports to the statistics of the server. */
#define STATISTICS_MS	1000

/* The other workers, as the first one has started them. */
typedef struct Others
{
	BackgroundWorkerHandle *handles[ZSIO_MAX_WORKERS];
	TimestampTz started[ZSIO_MAX_WORKERS];
	int			complained;		/* of so many that could not all be started */
} Others;

/* The main loop's own. */
typedef struct MainLoop
{
	ZsIoWorker	worker;
	Others		others;
	TimestampTz next_flush;		/* of statistics */
	int			nidle;			/* looks without work, one after the other */
} MainLoop;

/* ---- life ------------------------------------------------------------------------- */

/* The other files' part of a worker; in the order of the layers. */
static void
init_worker(ZsIoWorker *worker, int no)
{
	worker->no = no;
	worker->shared = &zsio_shared->workers[no];
	worker->cache = zsio_cache_create();
	worker->files = zsio_files_create(worker->cache);
	worker->hazard = zsio_hazard_create(no);
	zsio_own_init(worker);
	zsio_run_init(worker);
	zsio_later_init(worker);
	zsio_limit_init(worker);
	zsio_checkpoint_init(worker);
}

/* before_shmem_exit callback */
static void
worker_exit(int code, Datum arg)
{
	ZsIoWorker *worker = (ZsIoWorker *) DatumGetPointer(arg);
	ZsIoWorkerShared *shared = worker->shared;

	Assert(shared->pid == MyProcPid);
	LWLockReleaseAll();
	ConditionVariableCancelSleep();
	zsio_checkpoint_disarm(worker);
	zsio_limit_end(worker);
	zsio_run_own_resources(worker);
	zsio_run_drain(worker);
	zsio_run_release_resources(worker);
	LockReleaseAll(DEFAULT_LOCKMETHOD, true);
	CurrentResourceOwner = NULL;
	SpinLockAcquire(&zsio_shared->mutex);
	shared->pid = 0;
	shared->latch = NULL;
	SpinLockRelease(&zsio_shared->mutex);
}

/* Makes this process the worker; exits when another one is. */
static void
enter(ZsIoWorker *worker)
{
	ZsIoWorkerShared *shared = worker->shared;
	bool		taken;

	SpinLockAcquire(&zsio_shared->mutex);
	taken = shared->pid != 0;
	if (!taken)
	{
		shared->pid = MyProcPid;
		shared->latch = MyLatch;
	}
	SpinLockRelease(&zsio_shared->mutex);
	if (taken)
		proc_exit(0);
	before_shmem_exit(worker_exit, PointerGetDatum(worker));
}

/* Starts the other workers, as far as they are missing. */
static void
start_others(Others *others)
{
	for (int i = 1; i < zsio_workers; i++)
	{
		BackgroundWorker worker;
		MemoryContext old;
		pid_t		pid;

		/* it may have been started by this process's predecessor */
		SpinLockAcquire(&zsio_shared->mutex);
		pid = zsio_shared->workers[i].pid;
		SpinLockRelease(&zsio_shared->mutex);
		if (pid != 0)
			continue;
		if (others->handles[i] != NULL &&
			GetBackgroundWorkerPid(others->handles[i], &pid) != BGWH_STOPPED)
			continue;
		if (others->started[i] != 0 &&
			!TimestampDifferenceExceeds(others->started[i], GetCurrentTimestamp(),
										ZSIO_RESTART_SECONDS * 1000))
			continue;
		others->started[i] = GetCurrentTimestamp();
		if (others->handles[i] != NULL)
			pfree(others->handles[i]);
		others->handles[i] = NULL;
		zsio_worker_describe(&worker, i);
		worker.bgw_restart_time = BGW_NEVER_RESTART;
		old = MemoryContextSwitchTo(TopMemoryContext);
		if (!RegisterDynamicBackgroundWorker(&worker, &others->handles[i]))
		{
			others->handles[i] = NULL;
			if (others->complained != zsio_workers)
				ereport(LOG,
						(errmsg("could not start I/O worker %d", i + 1),
						 errhint("Consider increasing the configuration parameter \"%s\".",
								 "max_worker_processes")));
			others->complained = zsio_workers;
		}
		MemoryContextSwitchTo(old);
	}
}

/* ---- main loop ----------------------------------------------------------------------- */

/* Settings may have changed: slots, method and files are made anew when they are needed. */
static void
reload(MainLoop *loop)
{
	ZsIoWorker *worker = &loop->worker;

	ConfigReloadPending = false;
	ProcessConfigFile(PGC_SIGHUP);

	/*
	 * No gate while writes are waited for, and while pages of pg_tablespace are read, which may set
	 * hint bits: MarkBufferDirtyHint() wants DELAY_CHKPT_START for itself.
	 */
	zsio_checkpoint_rest(worker);
	zsio_run_drain(worker);
	zsio_run_shutdown(worker);
	zsio_file_close_all(worker->files);
	memset(loop->others.started, 0, sizeof(loop->others.started));
}

/*
 * The roles take notice of how things are now: of checkpoints since the worker was started, or had
 * work last, it knows nothing, and none of them is its business.
 */
static void
begin_work(ZsIoWorker *worker)
{
	zsio_checkpoint_begin(worker);
	zsio_clean_begin(worker);
	zsio_vacuum_begin(worker);
}

static void
flush_statistics(MainLoop *loop)
{
	TimestampTz now = GetCurrentTimestamp();

	if (now < loop->next_flush)
		return;
	loop->next_flush = now + STATISTICS_MS * 1000;
	(void) pgstat_flush_io(true);
}

/* All roles once; returns milliseconds until the next time. */
static long
work(MainLoop *loop)
{
	ZsIoWorker *worker = &loop->worker;
	long		timeout = POLL_MS;

	if (zsio_run_depth(worker) == 0)
		zsio_run_setup(worker);
	if (worker->no == 0)
		start_others(&loop->others);
	if (zsio_limit_tick(worker))
		timeout = zsio_limit_is_calm(worker) ? CALM_MS : WORK_MS;
	if (zsio_checkpoint_poll(worker) || zsio_vacuum_poll(worker))
		timeout = WORK_MS;
	if (zsio_clean_poll(worker) || zsio_run_busy(worker) > 0)
		timeout = WORK_MS;
	if (zsio_later_poll(worker))
		timeout = WORK_MS;
	zsio_run_reap(worker, 0);
	zsio_file_close_idle(worker->files);
	flush_statistics(loop);

	/*
	 * The checkpointer's message (io_shmem.c), VACUUM commands and who hands blocks over wake an
	 * idle worker up; of others' work it learns a little later then.
	 */
	loop->nidle = timeout < POLL_MS ? 0 : loop->nidle + 1;
	if (loop->nidle > IDLE_AFTER && log_checkpoints && zs_log_min_messages() <= ERROR &&
		zsio_checkpoint_is_settled(worker))
		timeout = IDLE_MS;
	return timeout;
}

/* Entry point of the background workers; the argument is the worker's number, from 0. */
void
zsio_worker_main(Datum arg)
{
	int			no = DatumGetInt32(arg);
	MainLoop   *loop = MemoryContextAllocZero(TopMemoryContext, sizeof(MainLoop));
	ZsIoWorker *worker = &loop->worker;
	MemoryContext context;
	uint32		wait_event;
	bool		was_active = false;

	Assert(no >= 0 && no < ZSIO_MAX_WORKERS);
	Assert(zsio_shared != NULL && zsio_queues != NULL);
	init_worker(worker, no);

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	SetConfigOption("transaction_timeout", "0", PGC_SUSET, PGC_S_OVERRIDE);
	/* counts as they are now: io_limit.c */
	SetConfigOption("stats_fetch_consistency", "none", PGC_SUSET, PGC_S_OVERRIDE);
	enter(worker);
	wait_event = WaitEventExtensionNew("ZedstoreIoMain");

	context = AllocSetContextCreate(TopMemoryContext, "zedstore I/O worker",
									ALLOCSET_DEFAULT_SIZES);
	zsio_run_own_resources(worker);

	for (;;)
	{
		bool		active;
		long		timeout = -1;

		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
			reload(loop);
		if (no > 0 && no >= zsio_workers)
			proc_exit(0);

		MemoryContextSwitchTo(context);
		active = no < zsio_workers;
		if (active && !was_active)
			begin_work(worker);
		if (!active && was_active)
			zsio_limit_end(worker);
		was_active = active;
		if (!active || !zsio_checkpoint)
			zsio_checkpoint_rest(worker);
		if (active)
			timeout = work(loop);
		MemoryContextReset(context);

		if (WaitLatch(MyLatch,
					  WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | (timeout > 0 ? WL_TIMEOUT : 0),
					  timeout, wait_event) & WL_LATCH_SET)
			loop->nidle = 0;
	}
}
