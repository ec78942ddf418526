/*-------------------------------------------------------------------------
 *
 * io_worker.c
 *	  The background workers: life, settings, main loop.
 *
 * The first worker is registered with the postmaster when the server starts, and stays: it starts
 * the others when the setting asks for them, and when it asks for none it is an idle process that
 * wakes up for a reload only.  Others end themselves when they are too many.
 *
 * A resource owner of the worker's own has the pins.  While it watches for checkpoints it also has a
 * transaction without a snapshot, whose virtual id is what a checkpoint waits for
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
#include "utils/resowner.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "io_internal.h"

/* Milliseconds between two looks: when there is work, and for a checkpoint. */
#define WORK_MS		10
#define POLL_MS		50

/* Seconds until a worker is started again that ended by itself. */
#define RESTART_SECONDS	5

static ZsIoWorkerShared *self = NULL;
static int	self_no = -1;
static uint32 wait_main = 0;
static ResourceOwner owner = NULL;
static TimestampTz started[ZSIO_MAX_WORKERS];	/* the other workers, by the first */

/* ---- life ------------------------------------------------------------------------- */

void
zsio_own_resources(void)
{
	if (owner == NULL)
		owner = ResourceOwnerCreate(NULL, "zedstore I/O worker");
	CurrentResourceOwner = owner;
}

static void
worker_exit(int code, Datum arg)
{
	LWLockReleaseAll();
	ConditionVariableCancelSleep();
	zsio_checkpoint_disarm();
	zsio_throttle_set(self, 0);
	zsio_own_resources();
	zsio_run_drain();
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_BEFORE_LOCKS, false, true);
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_LOCKS, false, true);
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_AFTER_LOCKS, false, true);
	LockReleaseAll(DEFAULT_LOCKMETHOD, true);
	CurrentResourceOwner = NULL;
	SpinLockAcquire(&zsio_shared->mutex);
	self->pid = 0;
	self->latch = NULL;
	SpinLockRelease(&zsio_shared->mutex);
}

/* Makes this process the worker; exits when another one is. */
static void
enter(void)
{
	bool		taken;

	SpinLockAcquire(&zsio_shared->mutex);
	taken = self->pid != 0;
	if (!taken)
	{
		self->pid = MyProcPid;
		self->latch = MyLatch;
	}
	SpinLockRelease(&zsio_shared->mutex);
	if (taken)
		proc_exit(0);
	before_shmem_exit(worker_exit, (Datum) 0);
}

/* Starts the other workers, as far as they are missing. */
static void
start_others(void)
{
	static BackgroundWorkerHandle *handles[ZSIO_MAX_WORKERS];

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
		if (handles[i] != NULL && GetBackgroundWorkerPid(handles[i], &pid) != BGWH_STOPPED)
			continue;
		if (started[i] != 0 &&
			!TimestampDifferenceExceeds(started[i], GetCurrentTimestamp(), RESTART_SECONDS * 1000))
			continue;
		started[i] = GetCurrentTimestamp();
		if (handles[i] != NULL)
			pfree(handles[i]);
		handles[i] = NULL;
		memset(&worker, 0, sizeof(worker));
		snprintf(worker.bgw_name, BGW_MAXLEN, "zedstore I/O worker %d", i + 1);
		snprintf(worker.bgw_type, BGW_MAXLEN, "zedstore I/O worker");
		snprintf(worker.bgw_library_name, MAXPGPATH, "zedstore_io");
		snprintf(worker.bgw_function_name, BGW_MAXLEN, "zsio_worker_main");
		worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
		worker.bgw_start_time = BgWorkerStart_ConsistentState;
		worker.bgw_restart_time = BGW_NEVER_RESTART;
		worker.bgw_main_arg = Int32GetDatum(i);
		old = MemoryContextSwitchTo(TopMemoryContext);
		if (!RegisterDynamicBackgroundWorker(&worker, &handles[i]))
		{
			static int	complained = 0;

			handles[i] = NULL;
			if (complained != zsio_workers)
				ereport(LOG,
						(errmsg("could not start I/O worker %d", i + 1),
						 errhint("Consider increasing the configuration parameter \"%s\".",
								 "max_worker_processes")));
			complained = zsio_workers;
		}
		MemoryContextSwitchTo(old);
	}
}

/* ---- main loop ----------------------------------------------------------------------- */

/* Settings may have changed: slots, method and files are made anew when they are needed. */
static void
reload(void)
{
	ConfigReloadPending = false;
	ProcessConfigFile(PGC_SIGHUP);

	/*
	 * No gate while writes are waited for, and while pages of pg_tablespace are read, which may set
	 * hint bits: MarkBufferDirtyHint() wants DELAY_CHKPT_START for itself.
	 */
	zsio_checkpoint_rest();
	zsio_run_drain();
	zsio_run_shutdown();
	zsio_file_close_all();
	memset(started, 0, sizeof(started));
}

/*
 * The roles take notice of how things are now: of checkpoints since the worker was started, or had work
 * last, it knows nothing, and none of them is its business.
 */
static void
begin_work(void)
{
	zsio_checkpoint_init(self, self_no);
	zsio_clean_init(self_no);
	zsio_vacuum_init(self_no);
}

static void
flush_statistics(void)
{
	static TimestampTz next = 0;
	TimestampTz now = GetCurrentTimestamp();

	if (now < next)
		return;
	next = now + 1000000;
	(void) pgstat_flush_io(true);
}

void
zsio_worker_main(Datum arg)
{
	MemoryContext context;
	bool		was_active = false;

	self_no = DatumGetInt32(arg);
	Assert(self_no >= 0 && self_no < ZSIO_MAX_WORKERS);
	self = &zsio_shared->workers[self_no];

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	SetConfigOption("transaction_timeout", "0", PGC_SUSET, PGC_S_OVERRIDE);
	enter();
	wait_main = WaitEventExtensionNew("ZedstoreIoMain");

	context = AllocSetContextCreate(TopMemoryContext, "zedstore I/O worker",
									ALLOCSET_DEFAULT_SIZES);
	zsio_own_resources();
	zsio_guard_init(self);

	for (;;)
	{
		bool		active;
		long		timeout = -1;

		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
			reload();
		if (self_no > 0 && self_no >= zsio_workers)
			proc_exit(0);

		MemoryContextSwitchTo(context);
		active = self_no < zsio_workers;
		if (active && !was_active)
			begin_work();
		was_active = active;
		if (!active || !zsio_checkpoint)
			zsio_checkpoint_rest();
		if (active)
		{
			if (zsio_run_depth() == 0)
				zsio_run_setup(self, self_no);
			if (self_no == 0)
				start_others();
			timeout = POLL_MS;
			if (zsio_guard_tick())
				timeout = WORK_MS;
			if (zsio_checkpoint_poll() || zsio_vacuum_poll())
				timeout = WORK_MS;
			if (zsio_clean_poll() || zsio_run_busy() > 0)
				timeout = WORK_MS;
			zsio_run_reap(0);
			zsio_file_close_idle();
			flush_statistics();
		}
		MemoryContextReset(context);

		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | (timeout > 0 ? WL_TIMEOUT : 0),
						 timeout, wait_main);
	}
}
