/*-------------------------------------------------------------------------
 *
 * io_throttle.c
 *	  VACUUM and ANALYZE are held back while clients wait behind them, or workers cannot
 *	  follow.
 *
 * An aggressive VACUUM takes all that a small volume can do.  The workers
 * see what that does to clients (io_guard.c), and when VACUUM gets round in its ring before
 * they have written it (io_vacuum.c).  They tell how long VACUUM ought to sleep for each
 * COST_UNITS of work, and the process that vacuums does, by way of core's cost-based delay:
 * a timer sets vacuum_cost_delay to what the workers ask for, if that is more than what
 * the user has asked for, and back to that.  So it sleeps where core sleeps, without locks.
 *
 * The timer runs in VACUUM and ANALYZE commands, which pass ProcessUtility_hook, and in autovacuum
 * workers, in which the end of the first transaction comes before the first VACUUM.  Its
 * handler is a signal handler: it reads shared atomics and sets core's variables.
 * What core itself assigns to them meanwhile is what the user has asked for since.
 *
 * A sleep ends with the next tick of the timer.  So ticks are the rarer the longer the user wants
 * VACUUM to sleep, and without workers there are none.  The emergency VACUUM that prevents
 * wraparound (VacuumFailsafeActive) is not held back, nor are parallel workers.
 *
 * Pages that the process has to write itself, because its ring came around too soon, stay in the
 * page cache until there are so many that the kernel writes all of them at once, and commits wait
 * for seconds.  So it asks the kernel to begin early, by way of core's backend_flush_after, unless
 * the user has set that.
 *
 * Locks: none.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_throttle.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/progress.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "tcop/utility.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "io_guard.h"
#include "io_internal.h"
#include "zs_io_hooks.h"

/*
 * Milliseconds until the timer's first tick, and between two, at least; no sleep for workers is
 * longer.
 */
#define FIRST_TICK_MS	5
#define TICK_MS			50
/* As many of the user's own sleeps are between two ticks, which cut one short. */
#define TICK_SLEEPS		20
/* Work that the sleep is for, in the units of vacuum_cost_limit: its default. */
#define COST_UNITS		200
/* Blocks that the process writes before it asks the kernel to write them out: 256 kB. */
#define FLUSH_AFTER		32
/* What workers said longer ago than that does not count. */
#define STALE_US		5000000

/* The process that vacuums: its timer, which is a signal handler. */
typedef struct Throttle
{
	TimeoutId	timer;			/* MAX_TIMEOUTS: not registered */
	int			period;			/* of the timer, while it is active */

	/* what the timer has set, and what was there before */
	volatile bool held;
	volatile double set_delay;
	volatile double user_delay;

	bool		flushes;		/* backend_flush_after is ours */
} Throttle;

static Throttle mine = {.timer = MAX_TIMEOUTS};

/* ---- workers ------------------------------------------------------------------ */

/* What this worker asks of VACUUMs, in microseconds for COST_UNITS. */
void
zsio_throttle_set(ZsIoWorkerShared *me, double sleep_us)
{
	Assert(me != NULL);
	pg_atomic_write_u64(&me->vacuum_sleep_set, (uint64) GetCurrentTimestamp());
	pg_atomic_write_u32(&me->vacuum_sleep, (uint32) Min(Max(sleep_us, 0), ZSIO_MAX_VACUUM_SLEEP));
}

/* ---- the process that vacuums ------------------------------------------------- */

/* Microseconds of sleep for each COST_UNITS that workers ask for.  In a signal handler. */
static uint32
wanted_sleep(void)
{
	TimestampTz now = GetCurrentTimestamp();
	uint32		most = 0;

	if (!zsio_throttle || zsio_workers == 0 || VacuumFailsafeActive ||
		MyBEEntry == NULL || !zsio_is_maintenance(MyBEEntry->st_progress_command))
		return 0;
	for (int i = 0; i < ZSIO_MAX_WORKERS; i++)
	{
		ZsIoWorkerShared *worker = &zsio_shared->workers[i];
		uint32		us = pg_atomic_read_u32(&worker->vacuum_sleep);

		if (us > most &&
			now - (TimestampTz) pg_atomic_read_u64(&worker->vacuum_sleep_set) < STALE_US)
			most = us;
	}
	Assert(most <= ZSIO_MAX_VACUUM_SLEEP);
	return most;
}

/* The delay is the user's again. */
static void
let_go(void)
{
	if (!mine.held)
		return;
	mine.held = false;
	if (vacuum_cost_delay == mine.set_delay)
		vacuum_cost_delay = mine.user_delay;
	if (vacuum_cost_delay <= 0 || VacuumFailsafeActive)
	{
		VacuumCostActive = false;
		VacuumCostBalance = 0;
	}
}

/* In a signal handler. */
static void
tick(void)
{
	uint32		us = wanted_sleep();
	double		delay = Min(us / 1000.0 * vacuum_cost_limit / COST_UNITS, TICK_MS);

	/* core has set it, or it is the first time */
	if (!mine.held || vacuum_cost_delay != mine.set_delay)
		mine.user_delay = vacuum_cost_delay;
	if (us == 0 || delay <= mine.user_delay)
	{
		let_go();
		return;
	}
	mine.held = true;
	mine.set_delay = delay;
	vacuum_cost_delay = mine.set_delay;
	VacuumCostActive = true;
}

/* From now on the process's own writes go to the device soon, or when the user says. */
static void
set_flushing(bool on)
{
	if (on && backend_flush_after == 0)
	{
		backend_flush_after = FLUSH_AFTER;
		mine.flushes = true;
	}
	else if (!on && mine.flushes)
	{
		if (backend_flush_after == FLUSH_AFTER)
			backend_flush_after = 0;
		mine.flushes = false;
	}
}

/* Starts the timer for a VACUUM whose cost delay, in milliseconds, is the user's. */
static void
start_timer(double delay)
{
	int			wanted = Max(TICK_MS, (int) (delay * TICK_SLEEPS));

	Assert(delay >= 0);
	set_flushing(true);
	if (mine.timer == MAX_TIMEOUTS)
		mine.timer = RegisterTimeout(USER_TIMEOUT, tick);
	if (get_timeout_active(mine.timer) && mine.period == wanted)
		return;
	mine.period = wanted;
	zsio_wake_workers();
	enable_timeout_every(mine.timer,
						 TimestampTzPlusMilliseconds(GetCurrentTimestamp(), FIRST_TICK_MS),
						 mine.period);
}

static void
stop_timer(void)
{
	if (mine.timer != MAX_TIMEOUTS)
		disable_timeout(mine.timer, false);
	set_flushing(false);
	let_go();
}

/*
 * An autovacuum worker keeps its timer until it ends.  A transaction ends after it has taken the
 * delay of the next table.
 */
void
zsio_throttle_transaction(XactEvent event)
{
	if (!AmAutoVacuumWorkerProcess() || event != XACT_EVENT_COMMIT)
		return;
	if (zsio_throttle && zsio_workers > 0)
		start_timer(mine.held && vacuum_cost_delay == mine.set_delay ?
					mine.user_delay : vacuum_cost_delay);
	else
		stop_timer();
}

/* A step of ProcessUtility: calls next, with a timer around VACUUM and ANALYZE. */
void
zsio_throttle_utility(ProcessUtility_hook_type next, PlannedStmt *pstmt, const char *queryString,
					  bool readOnlyTree, ProcessUtilityContext context, ParamListInfo params,
					  QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc)
{
	/* one within another, which has the timer, is about to fail */
	if (!IsA(pstmt->utilityStmt, VacuumStmt) || !zsio_throttle || zsio_workers == 0 ||
		(mine.timer != MAX_TIMEOUTS && get_timeout_active(mine.timer)))
	{
		next(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);
		return;
	}
	PG_TRY();
	{
		start_timer(VacuumCostDelay);
		next(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);
	}
	PG_FINALLY();
	{
		stop_timer();

		/* as vacuum() left it: a tick may have come between an error there and here */
		VacuumCostActive = false;
		VacuumCostBalance = 0;
	}
	PG_END_TRY();
}
