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
 * The gate is armed again, with a new virtual transaction, when pg_control says that the checkpoint is
 * complete.  Earlier would be a mistake: a checkpointer that has not yet made its list of
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

#include "io_internal.h"
#include "io_profile.h"

/* How far a spread checkpoint's writes stay ahead of the checkpointer's schedule. */
#define AHEAD			0.05

static ZsIoWorkerShared *self;
static int	self_no;
static XLogRecPtr last_redo;
static bool armed = false;
static XLogRecPtr completed_redo;	/* newest that pg_control was seen to have */
static XLogRecPtr forgotten_redo;	/* notes of files were dropped after this one */
static TimestampTz last_start;
static uint32 starts_seen;
static TimestampTz next_control_look;

/* ---- the gate --------------------------------------------------------------------- */

static void
arm(void)
{
	if (armed || RecoveryInProgress())
		return;

	/* a new virtual transaction id: the old one may be in a checkpointer's list */
	zsio_checkpoint_rest();
	StartTransactionCommand();
	pgstat_report_xact_timestamp(0);
	zsio_own_resources();
	MyProc->delayChkptFlags |= DELAY_CHKPT_START;
	armed = true;
}

void
zsio_checkpoint_disarm(void)
{
	if (armed)
		MyProc->delayChkptFlags &= ~DELAY_CHKPT_START;
	armed = false;
}

void
zsio_checkpoint_rest(void)
{
	MemoryContext old = CurrentMemoryContext;

	zsio_checkpoint_disarm();
	if (IsTransactionState())
	{
		/* other roles' requests may be in flight; no pins at the end of a transaction */
		zsio_run_drain();
		CommitTransactionCommand();
		MemoryContextSwitchTo(old);
	}
	zsio_own_resources();
}

/* Is the checkpointer waiting at the gate? */
static bool
checkpointer_waits(void)
{
	static int	pid = 0;
	PGPROC	   *proc;

	if (pid == 0)
	{
		int			n = pgstat_fetch_stat_numbackends();

		for (int i = 1; i <= n; i++)
		{
			LocalPgBackendStatus *local = pgstat_get_local_beentry_by_index(i);

			if (local->backendStatus.st_backendType == B_CHECKPOINTER)
				pid = local->backendStatus.st_procpid;
		}
		pgstat_clear_backend_activity_snapshot();
	}
	proc = pid == 0 ? NULL : AuxiliaryPidGetProc(pid);
	if (proc == NULL)
	{
		pid = 0;
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
last_is_complete(void)
{
	TimestampTz now;

	if (completed_redo >= last_redo)
		return true;
	now = GetCurrentTimestamp();
	if (now < next_control_look)
		return false;
	next_control_look = now + 100000;
	completed_redo = control_redo();
	return completed_redo >= last_redo;
}

/* ---- the schedule ------------------------------------------------------------------- */

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

static Round *this_round = NULL;

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
elapsed_part(Round *round)
{
	double		by_time = (GetCurrentTimestamp() - round->started) / 1000000.0 / CheckPointTimeout;
	double		by_wal = (double) (current_lsn() - round->start_lsn) / wal_segment_size /
		CheckPointSegments;

	return Max(by_time, by_wal) / CheckPointCompletionTarget;
}

/*
 * May the next run wait?  A checkpoint of which it is not known (yet) whether it is
 * immediate counts as such, unless it comes when a timed one is due.
 */
static bool
is_immediate(Round *round)
{
	if (!round->kind_known && pg_atomic_read_u32(&zsio_shared->starts) != starts_seen)
	{
		starts_seen = pg_atomic_read_u32(&zsio_shared->starts);
		round->immediate = pg_atomic_read_u32(&zsio_shared->start_immediate) != 0;
		round->kind_known = true;
	}
	return round->kind_known ? round->immediate : !round->probably_spread;
}

static bool
ahead_of_schedule(Round *round)
{
	if (is_immediate(round))
		return false;
	return (double) round->pos / round->nitems > elapsed_part(round) + AHEAD;
}

/*
 * The guard has to let through what is needed to be done in the time, and the WAL,
 * that a spread checkpoint has.  One that is due faster than the device writes is late in any
 * case: clients need not suffer for it, too.
 */
static void
set_floor(Round *round)
{
	double		done = Max(elapsed_part(round), 0.001);
	double		seconds = (GetCurrentTimestamp() - round->started) / 1000000.0;
	double		left = seconds / done * Max(1 - done, 0.05);
	double		per_block = round->pos > 0 ? Min((round->requests + 1) / round->pos, 1) : 1;

	zsio_guard_floor(Min((round->nitems - round->pos) * per_block / Max(left, 1),
						 zsio_guard_share()));
}

/*
 * A spread checkpoint that is late is no reason for clients to write themselves: buffers are cleaned
 * ahead of the clock hand in every other piece of time.  Many of them are the checkpoint's, too.
 */
static void
take_turns(Round *round)
{
	TimestampTz started = GetCurrentTimestamp();

	if (started < round->next_turn || is_immediate(round))
		return;
	round->cleaning = true;
	if (zsio_clean_turn())
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
round_is_over(void)
{
	if (ConfigReloadPending)
		return true;
	return GetRedoRecPtr() != last_redo;
}

bool
zsio_checkpoint_calls(void)
{
	if (round_is_over() ||
		(this_round != NULL && !this_round->cleaning && !ahead_of_schedule(this_round)))
		return true;

	/* it should not, but must not wait for long */
	return armed && checkpointer_waits();
}

static void
write_round(Round *round)
{
	ZsIoRoleStats *stats = &self->roles[ZSIO_ROLE_CHECKPOINT];
	ZsIoRun    *run = NULL;

	while (round->pos < round->nitems || run != NULL)
	{
		long		delay;

		CHECK_FOR_INTERRUPTS();
		if (run == NULL)
		{
			if (round_is_over())
				break;
			if (ahead_of_schedule(round))
			{
				zsio_checkpoint_disarm();
				zsio_guard_tick();
				(void) zsio_vacuum_poll();
				(void) zsio_clean_poll();
				zsio_run_nap(ZSIO_NAP_US);
				continue;
			}
			take_turns(round);
			run = zsio_run_claim(round->items, round->nitems, &round->pos, ZSIO_ROLE_CHECKPOINT);
			zsio_checkpoint_disarm();
			if (run == NULL)
				continue;

			/* this run is the fence now, so older ones may end */
			zsio_run_reap(0);
		}
		if (zsio_run_busy() >= zsio_guard_depth())
		{
			zsio_guard_held_up(false);
			zsio_guard_tick();
			zsio_run_nap(ZSIO_NAP_US);
			continue;
		}
		set_floor(round);
		delay = zsio_pace_delay(run->volume, run->nblocks);
		if (delay > 0)
		{
			delay = Min(delay, ZSIO_NAP_US);
			zsio_count(&stats->pace_us, delay);
			zsio_run_nap(delay);
			continue;
		}
		zsio_pace_charge(run);
		round->requests += run->counted;
		zsio_run_submit(run);
		run = NULL;
		pg_atomic_write_u64(&self->round_done, round->pos);
	}
	zsio_checkpoint_disarm();
	zsio_run_drain();
	pg_atomic_write_u64(&self->round_done, round->pos);

	/* without a transaction until the gate is armed again, so that others can tell */
	zsio_checkpoint_rest();
}

static void
log_round(Round *round, uint64 requests, uint64 blocks)
{
	if (!log_checkpoints || blocks == 0)
		return;
	ereport(LOG,
			(errmsg("I/O worker %d wrote " UINT64_FORMAT " of %d dirty buffers for the checkpoint with " UINT64_FORMAT " requests in %.3f s",
					self_no + 1, blocks, round->nitems, requests,
					(GetCurrentTimestamp() - round->started) / 1000000.0)));
}

static void
run_round(void)
{
	ZsIoRoleStats *stats = &self->roles[ZSIO_ROLE_CHECKPOINT];
	uint64		requests = pg_atomic_read_u64(&stats->requests);
	uint64		blocks = pg_atomic_read_u64(&stats->blocks);
	Round		round = {0};

	round.started = GetCurrentTimestamp();
	round.start_lsn = current_lsn();
	round.probably_spread = last_start != 0 &&
		round.started - last_start >= CheckPointTimeout * INT64CONST(1000000) * 95 / 100;
	last_start = round.started;
	round.nitems = zsio_collect_dirty(self_no, Max(zsio_workers, 1), &round.items);

	zsio_count(&stats->rounds, 1);
	pg_atomic_write_u64(&self->round_total, round.nitems);
	pg_atomic_write_u64(&self->round_done, 0);
	pg_atomic_write_u32(&self->round_active, 1);
	this_round = &round;
	write_round(&round);
	this_round = NULL;
	zsio_guard_floor(0);
	pg_atomic_write_u32(&self->round_active, 0);
	log_round(&round, pg_atomic_read_u64(&stats->requests) - requests,
			  pg_atomic_read_u64(&stats->blocks) - blocks);
	pfree(round.items);
	zsio_file_close_all();
}

/* ---- the watch -------------------------------------------------------------------------- */

void
zsio_checkpoint_init(ZsIoWorkerShared *me, int worker)
{
	self = me;
	self_no = worker;
	/* the last worker of that number may have ended in the middle of a round */
	pg_atomic_write_u32(&me->round_active, 0);
	last_redo = GetRedoRecPtr();
	completed_redo = InvalidXLogRecPtr;
	forgotten_redo = InvalidXLogRecPtr;
	last_start = 0;
	starts_seen = pg_atomic_read_u32(&zsio_shared->starts);
	next_control_look = 0;
}

bool
zsio_checkpoint_poll(void)
{
	XLogRecPtr	redo = GetRedoRecPtr();

	if (redo != last_redo)
	{
		last_redo = redo;
		if (zsio_checkpoint)
		{
			run_round();
			return true;
		}
		zsio_file_close_all();
	}
	if (armed)
	{
		/* nobody may wait for us for anything but a new REDO pointer */
		if (checkpointer_waits() && GetRedoRecPtr() == last_redo)
			zsio_checkpoint_disarm();
	}
	else if (last_is_complete() && !checkpointer_waits())
	{
		if (forgotten_redo != last_redo)
		{
			zsio_run_drain();
			zsio_hazard_forget(self_no);
			forgotten_redo = last_redo;
		}
		zsio_volumes_refresh_if_old();
		if (zsio_checkpoint)
			arm();
	}
	return false;
}
