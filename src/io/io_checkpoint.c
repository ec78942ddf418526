/*-------------------------------------------------------------------------
 *
 * io_checkpoint.c
 *	  Writing for checkpoints and restartpoints.
 *
 * That a checkpoint started shows in the REDO pointer, which changes for nothing else.  The
 * worker then collects the dirty buffers and writes them in the order in which the checkpointer
 * is going to.
 *
 * Gate: CreateCheckPoint() waits, between REDO and BufferSync(), for transactions that are
 * delaying it (DELAY_CHKPT_START).  The worker is such a transaction all the time,
 * and lets go when its first run is claimed, which takes milliseconds.
 *
 * Fence: the checkpointer walks the same list.  It waits for a buffer that is being
 * written, so it stays behind the worker, also while the worker keeps to its limits; for that
 * the next run is always claimed before the present ones are reaped.
 *
 * The gate is armed again, with a new virtual transaction, when pg_control says that the checkpoint
 * is complete.  Earlier would be a mistake: a checkpointer that has not yet made its list of
 * transactions to wait for would find the new one there, and wait for a worker that
 * waits for it.  A checkpointer that waits without a change of REDO is let go
 * at once.  Restartpoints have no gate, and the worker no transaction during recovery.
 *
 * Whatever the worker does not write, for whatever reason, the checkpointer does.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_checkpoint.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "catalog/pg_control.h"
#include "miscadmin.h"
#include "postmaster/bgwriter.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/fd.h"
#include "storage/lwlock.h"
#include "storage/pmsignal.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/backend_status.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "io_worker.h"

/* How far a spread checkpoint's writes stay ahead of the checkpointer's schedule. */
#define AHEAD			0.05

/* What counts at least as the part of its time that has passed, and as the part that is left. */
#define FLOOR_LEAST_DONE	0.001
#define FLOOR_LEAST_LEFT	0.05

/* The part of checkpoint_timeout after which the next checkpoint is probably a timed one. */
#define PROBABLY_TIMED	0.95

/* Microseconds between two looks at pg_control. */
#define CONTROL_LOOK_US	100000

/* A checkpoint that the worker writes for. */
typedef struct Round
{
	ZsIoItem   *items;
	int			nitems;
	int			pos;
	TimestampTz started;
	XLogRecPtr	start_lsn;
	double		requests;		/* submitted, as volumes count them */
	bool		immediate;
	bool		kind_known;
	bool		probably_spread;
	bool		cleaning;		/* the cleaner has its turn */
	TimestampTz next_turn;		/* not before */
} Round;

/* What a worker knows of checkpoints. */
typedef struct ZsIoCheckpoints
{
	bool		armed;			/* the gate is closed */
	XLogRecPtr	last_redo;		/* of the checkpoint that began last */
	XLogRecPtr	completed_redo; /* newest that pg_control was seen to have */
	XLogRecPtr	forgotten_redo; /* notes of files were dropped after this one */
	TimestampTz last_start;
	uint32		starts_seen;	/* of the messages that ZsIoShared counts */
	TimestampTz next_control_look;
	int			checkpointer_pid;	/* 0: not known */
	Round	   *round;			/* NULL: none is under way */
} ZsIoCheckpoints;

/* ---- the gate --------------------------------------------------------------------- */

/* Closes the gate: the next checkpoint waits for this worker. */
static void
arm(ZsIoWorker *worker)
{
	ZsIoCheckpoints *me = worker->checkpoints;

	if (me->armed || RecoveryInProgress())
		return;
	Assert(me->round == NULL);

	/* a new virtual transaction id: the old one may be in a checkpointer's list */
	zsio_checkpoint_rest(worker);
	StartTransactionCommand();
	pgstat_report_xact_timestamp(0);
	zsio_run_own_resources(worker);
	Assert((MyProc->delayChkptFlags & DELAY_CHKPT_START) == 0);
	MyProc->delayChkptFlags |= DELAY_CHKPT_START;
	me->armed = true;
}

/* Opens the gate.  No errors: part of the way out of a worker. */
void
zsio_checkpoint_disarm(ZsIoWorker *worker)
{
	if (worker->checkpoints->armed)
		MyProc->delayChkptFlags &= ~DELAY_CHKPT_START;
	worker->checkpoints->armed = false;
}

/* Opens the gate and ends its transaction. */
void
zsio_checkpoint_rest(ZsIoWorker *worker)
{
	MemoryContext old = CurrentMemoryContext;

	zsio_checkpoint_disarm(worker);
	if (IsTransactionState())
	{
		/* other roles' requests may be in flight; no pins at the end of a transaction */
		zsio_run_drain(worker);
		CommitTransactionCommand();
		MemoryContextSwitchTo(old);
	}
	Assert(!IsTransactionState());
	zsio_run_own_resources(worker);
}

/* The process id of the checkpointer; 0: there is none now. */
static int
find_checkpointer(void)
{
	int			n = pgstat_fetch_stat_numbackends();
	int			pid = 0;

	for (int i = 1; i <= n; i++)
	{
		LocalPgBackendStatus *local = pgstat_get_local_beentry_by_index(i);

		if (local->backendStatus.st_backendType == B_CHECKPOINTER)
			pid = local->backendStatus.st_procpid;
	}
	pgstat_clear_backend_activity_snapshot();
	return pid;
}

/* Is the checkpointer waiting at the gate? */
static bool
checkpointer_waits(ZsIoCheckpoints *me)
{
	PGPROC	   *proc;

	if (me->checkpointer_pid == 0)
		me->checkpointer_pid = find_checkpointer();
	proc = me->checkpointer_pid == 0 ? NULL : AuxiliaryPidGetProc(me->checkpointer_pid);
	if (proc == NULL)
	{
		me->checkpointer_pid = 0;
		return false;
	}
	return *(volatile uint32 *) &proc->wait_event_info == WAIT_EVENT_CHECKPOINT_DELAY_START;
}

/*
 * REDO of the last checkpoint that is complete; InvalidXLogRecPtr if it cannot be read now.
 * get_controlfile() would end the server, for what is only a look.
 */
static XLogRecPtr
control_redo(void)
{
	ControlFileData control;
	pg_crc32c	crc;
	ssize_t		size = -1;
	int			fd;

	LWLockAcquire(ControlFileLock, LW_SHARED);
	fd = BasicOpenFile(XLOG_CONTROL_FILE, O_RDONLY | PG_BINARY);
	if (fd >= 0)
	{
		pgstat_report_wait_start(WAIT_EVENT_CONTROL_FILE_READ);
		size = read(fd, &control, sizeof(control));
		pgstat_report_wait_end();
		close(fd);
	}
	LWLockRelease(ControlFileLock);
	if (size != sizeof(control))
		return InvalidXLogRecPtr;
	INIT_CRC32C(crc);
	COMP_CRC32C(crc, &control, offsetof(ControlFileData, crc));
	FIN_CRC32C(crc);
	return EQ_CRC32C(crc, control.crc) ? control.checkPointCopy.redo : InvalidXLogRecPtr;
}

/* Is the last checkpoint that began complete?  Looks at pg_control ten times a second. */
static bool
last_is_complete(ZsIoCheckpoints *me)
{
	TimestampTz now;

	if (me->completed_redo >= me->last_redo)
		return true;
	now = GetCurrentTimestamp();
	if (now < me->next_control_look)
		return false;
	me->next_control_look = now + CONTROL_LOOK_US;
	me->completed_redo = control_redo();
	return me->completed_redo >= me->last_redo;
}

/* Nothing is left to be watched but the next one: see io_worker.h. */
bool
zsio_checkpoint_is_settled(const ZsIoWorker *worker)
{
	const ZsIoCheckpoints *me = worker->checkpoints;

	return me->completed_redo >= me->last_redo && me->last_redo == GetRedoRecPtr();
}

/* ---- the schedule ------------------------------------------------------------------- */

static XLogRecPtr
current_lsn(void)
{
	return RecoveryInProgress() ? GetXLogReplayRecPtr(NULL) : GetInsertRecPtr();
}

/*
 * Part of the time, or of the WAL, that the checkpoint has until the next is due, which has
 * passed: as IsCheckpointOnSchedule().
 */
static double
elapsed_part(const Round *round)
{
	double		by_time = (GetCurrentTimestamp() - round->started) / 1000000.0 / CheckPointTimeout;
	double		by_wal = (double) (current_lsn() - round->start_lsn) / wal_segment_size /
		CheckPointSegments;

	Assert(CheckPointTimeout > 0 && CheckPointSegments > 0);
	return Max(by_time, by_wal) / CheckPointCompletionTarget;
}

/*
 * May the next run wait?  A checkpoint of which it is not known (yet) whether it is
 * immediate counts as such, unless it comes when a timed one is due.
 */
static bool
is_immediate(ZsIoCheckpoints *me)
{
	Round	   *round = me->round;

	if (!round->kind_known && pg_atomic_read_u32(&zsio_shared->starts) != me->starts_seen)
	{
		me->starts_seen = pg_atomic_read_u32(&zsio_shared->starts);
		round->immediate = pg_atomic_read_u32(&zsio_shared->start_immediate) != 0;
		round->kind_known = true;
	}
	return round->kind_known ? round->immediate : !round->probably_spread;
}

static bool
ahead_of_schedule(ZsIoCheckpoints *me)
{
	Round	   *round = me->round;

	if (is_immediate(me))
		return false;
	Assert(round->nitems > 0 && round->pos <= round->nitems);
	return (double) round->pos / round->nitems > elapsed_part(round) + AHEAD;
}

/*
 * The guard has to let through what is needed to be done in the time, and the WAL,
 * that a spread checkpoint has.  One that is due faster than the device writes is late in any
 * case: clients need not suffer for it, too.
 */
static void
set_floor(ZsIoWorker *worker)
{
	Round	   *round = worker->checkpoints->round;
	double		done = Max(elapsed_part(round), FLOOR_LEAST_DONE);
	double		seconds = (GetCurrentTimestamp() - round->started) / 1000000.0;
	double		left = seconds / done * Max(1 - done, FLOOR_LEAST_LEFT);
	double		per_block = round->pos > 0 ? Min((round->requests + 1) / round->pos, 1) : 1;

	Assert(round != NULL && round->pos <= round->nitems);
	zsio_guard_floor(&worker->guard,
					 Min((round->nitems - round->pos) * per_block / Max(left, 1),
						 zsio_guard_share(&worker->guard)));
}

/*
 * A spread checkpoint that is late is no reason for clients to write themselves: buffers are
 * cleaned ahead of the clock hand in every other piece of time.  Many of them are the checkpoint's,
 * too.
 */
static void
take_turns(ZsIoWorker *worker)
{
	Round	   *round = worker->checkpoints->round;
	TimestampTz started = GetCurrentTimestamp();

	if (started < round->next_turn || is_immediate(worker->checkpoints))
		return;
	Assert(!round->cleaning);
	round->cleaning = true;
	if (zsio_clean_turn(worker))
	{
		TimestampTz ended = GetCurrentTimestamp();

		round->next_turn = ended + (ended - started);
	}
	else
		round->next_turn = started + ZSIO_NAP_US;
	round->cleaning = false;
}

/* ---- one checkpoint ------------------------------------------------------------------- */

/* Has another checkpoint begun, or the worker something better to do? */
static bool
round_is_over(const ZsIoCheckpoints *me)
{
	if (ConfigReloadPending)
		return true;
	return GetRedoRecPtr() != me->last_redo;
}

/* What zsio_called_away() calls: other work has to wait. */
static bool
calls(ZsIoWorker *worker)
{
	ZsIoCheckpoints *me = worker->checkpoints;

	if (round_is_over(me) ||
		(me->round != NULL && !me->round->cleaning && !ahead_of_schedule(me)))
		return true;

	/* a checkpointer waits at a gate that ought to be open: not for long */
	return me->armed && checkpointer_waits(me);
}

/* Other work while the checkpoint is ahead of its schedule, for a nap's time. */
static void
do_other_work(ZsIoWorker *worker)
{
	zsio_checkpoint_disarm(worker);
	zsio_limit_tick(worker);
	(void) zsio_vacuum_poll(worker);
	(void) zsio_clean_poll(worker);
	(void) zsio_later_poll(worker);
	zsio_run_nap(worker, ZSIO_NAP_US);
}

/* The next run, which is the fence then.  NULL: no block that is left can be had. */
static ZsIoRun *
claim_next(ZsIoWorker *worker)
{
	Round	   *round = worker->checkpoints->round;
	ZsIoRun    *run;

	take_turns(worker);
	run = zsio_run_claim(worker, round->items, round->nitems, &round->pos,
						 ZSIO_ROLE_CHECKPOINT);
	zsio_checkpoint_disarm(worker);

	/* older ones may end now */
	if (run != NULL)
		zsio_run_reap(worker, 0);
	return run;
}

/* Submits the run if limits allow that; else waits for a short time, and returns false. */
static bool
submit_or_wait(ZsIoWorker *worker, ZsIoRun *run)
{
	ZsIoRoleStats *stats = &worker->shared->roles[ZSIO_ROLE_CHECKPOINT];
	Round	   *round = worker->checkpoints->round;
	long		delay;

	Assert(run->state == ZSIO_RUN_CLAIMED && run->role == ZSIO_ROLE_CHECKPOINT);
	if (zsio_run_busy(worker) >= zsio_guard_depth(&worker->guard))
	{
		zsio_guard_held_up(&worker->guard, false);
		zsio_limit_tick(worker);
		zsio_run_pause(worker, ZSIO_NAP_US);
		return false;
	}
	set_floor(worker);
	delay = zsio_limit_delay(worker, run->volume, run->nblocks);
	if (delay > 0)
	{
		delay = Min(delay, ZSIO_NAP_US);
		zsio_count(&stats->pace_us, delay);
		zsio_run_pause(worker, delay);
		return false;
	}
	zsio_limit_charge(worker, run);
	round->requests += run->counted;
	zsio_run_submit(worker, run);
	pg_atomic_write_u64(&worker->shared->round_done, round->pos);
	return true;
}

/*
 * Writes the round's list in its order, as fast as schedule and limits want it.  Ends early when
 * another checkpoint has begun or settings have changed: the checkpointer writes the rest.  A run
 * is always claimed before it is waited for others (see "Fence").
 */
static void
write_round(ZsIoWorker *worker)
{
	ZsIoCheckpoints *me = worker->checkpoints;
	Round	   *round = me->round;
	ZsIoRun    *run = NULL;

	while (round->pos < round->nitems || run != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (run == NULL)
		{
			if (round_is_over(me))
				break;
			worker->burst = is_immediate(me);
			if (ahead_of_schedule(me))
			{
				do_other_work(worker);
				continue;
			}
			run = claim_next(worker);
		}
		if (run != NULL && submit_or_wait(worker, run))
			run = NULL;
	}
	zsio_checkpoint_disarm(worker);
	zsio_run_drain(worker);
	Assert(zsio_run_busy(worker) == 0);
	pg_atomic_write_u64(&worker->shared->round_done, round->pos);

	/* without a transaction until the gate is armed again, so that others can tell */
	zsio_checkpoint_rest(worker);
}

static void
log_round(const ZsIoWorker *worker, uint64 requests, uint64 blocks)
{
	const Round *round = worker->checkpoints->round;

	if (!log_checkpoints || blocks == 0)
		return;
	ereport(LOG,
			(errmsg("I/O worker %d wrote " UINT64_FORMAT " of %d dirty buffers for the checkpoint "
					"with " UINT64_FORMAT " requests in %.3f s",
					worker->no + 1, blocks, round->nitems, requests,
					(GetCurrentTimestamp() - round->started) / 1000000.0)));
}

/* A checkpoint has begun: writes for it. */
static void
run_round(ZsIoWorker *worker)
{
	ZsIoCheckpoints *me = worker->checkpoints;
	ZsIoWorkerShared *shared = worker->shared;
	ZsIoRoleStats *stats = &shared->roles[ZSIO_ROLE_CHECKPOINT];
	uint64		requests = pg_atomic_read_u64(&stats->requests);
	uint64		blocks = pg_atomic_read_u64(&stats->blocks);
	Round		round = {0};

	Assert(me->round == NULL);
	round.started = GetCurrentTimestamp();
	round.start_lsn = current_lsn();
	round.probably_spread = me->last_start != 0 &&
		round.started - me->last_start >= CheckPointTimeout * 1000000.0 * PROBABLY_TIMED;
	me->last_start = round.started;
	round.nitems = zsio_collect_dirty(worker->no, Max(zsio_workers, 1), &round.items);

	zsio_count(&stats->rounds, 1);
	pg_atomic_write_u64(&shared->round_total, round.nitems);
	pg_atomic_write_u64(&shared->round_done, 0);
	pg_atomic_write_u32(&shared->round_active, 1);
	Assert(round.nitems >= 0 && round.nitems <= NBuffers);
	me->round = &round;
	write_round(worker);
	zsio_guard_floor(&worker->guard, 0);
	pg_atomic_write_u32(&shared->round_active, 0);
	log_round(worker, pg_atomic_read_u64(&stats->requests) - requests,
			  pg_atomic_read_u64(&stats->blocks) - blocks);
	me->round = NULL;
	pfree(round.items);
	zsio_file_close_all(worker->files);
}

/* ---- the watch -------------------------------------------------------------------------- */

/* The worker has just begun. */
void
zsio_checkpoint_init(ZsIoWorker *worker)
{
	Assert(worker->checkpoints == NULL);
	worker->checkpoints = MemoryContextAllocZero(TopMemoryContext, sizeof(ZsIoCheckpoints));
	worker->called_away = calls;
}

/* The worker begins to work: what began earlier is not its business. */
void
zsio_checkpoint_begin(ZsIoWorker *worker)
{
	ZsIoCheckpoints *me = worker->checkpoints;

	Assert(!me->armed && me->round == NULL);
	/* the last worker of that number may have ended in the middle of a round */
	pg_atomic_write_u32(&worker->shared->round_active, 0);
	me->last_redo = GetRedoRecPtr();
	me->completed_redo = InvalidXLogRecPtr;
	me->forgotten_redo = InvalidXLogRecPtr;
	me->last_start = 0;
	me->starts_seen = pg_atomic_read_u32(&zsio_shared->starts);
	me->next_control_look = 0;
}

/* A new REDO pointer is a checkpoint; a complete one lets the gate be closed again. */
bool
zsio_checkpoint_poll(ZsIoWorker *worker)
{
	ZsIoCheckpoints *me = worker->checkpoints;
	XLogRecPtr	redo = GetRedoRecPtr();

	if (redo != me->last_redo)
	{
		me->last_redo = redo;
		if (zsio_checkpoint)
		{
			run_round(worker);
			return true;
		}
		worker->burst = pg_atomic_read_u32(&zsio_shared->start_immediate) != 0;
		zsio_file_close_all(worker->files);
	}
	if (me->armed)
	{
		/* nobody may wait for us for anything but a new REDO pointer */
		if (checkpointer_waits(me) && GetRedoRecPtr() == me->last_redo)
			zsio_checkpoint_disarm(worker);
	}
	else if (last_is_complete(me))
	{
		worker->burst = false;
		if (checkpointer_waits(me))
			return false;
		if (me->forgotten_redo != me->last_redo)
		{
			zsio_run_drain(worker);
			Assert(zsio_run_busy(worker) == 0);
			zsio_hazard_forget(worker->hazard);
			me->forgotten_redo = me->last_redo;
		}
		zsio_volumes_refresh_if_old();
		if (zsio_checkpoint)
			arm(worker);
	}
	return false;
}
