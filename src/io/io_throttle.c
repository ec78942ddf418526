/*-------------------------------------------------------------------------
 *
 * io_throttle.c
 *	  VACUUM and ANALYZE are held back while clients wait behind them, or workers cannot follow.
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
 * A sleep ends with the next tick of the timer.  So ticks are the rarer the longer the user wants VACUUM to
 * sleep, and without workers there are none.  The emergency VACUUM that prevents
 * wraparound (VacuumFailsafeActive) is not held back, nor are parallel workers.
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
#include "tcop/utility.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "io_internal.h"

/* Milliseconds until the timer's first tick, and between two, at least; no sleep for workers is longer. */
#define FIRST_TICK_MS	5
#define TICK_MS			50
/* As many of the user's own sleeps are between two ticks, which cut one short. */
#define TICK_SLEEPS		20
/* Work that the sleep is for, in the units of vacuum_cost_limit: its default. */
#define COST_UNITS		200
/* What workers said longer ago than that does not count. */
#define STALE_US		5000000

static ProcessUtility_hook_type next_utility_hook = NULL;

static TimeoutId timer = MAX_TIMEOUTS;
static int	period;				/* of the timer, while it is active */

/* what the timer has set, and what was there before */
static volatile bool held = false;
static volatile double set_delay;
static volatile double user_delay;

/* ---- workers ------------------------------------------------------------------ */

void
zsio_throttle_set(ZsIoWorkerShared *me, double sleep_us)
{
	pg_atomic_write_u64(&me->vacuum_sleep_set, (uint64) GetCurrentTimestamp());
	pg_atomic_write_u32(&me->vacuum_sleep, (uint32) Min(Max(sleep_us, 0), ZSIO_MAX_VACUUM_SLEEP));
}

/* ---- the process that vacuums ------------------------------------------------- */

/* Microseconds of sleep for each COST_UNITS that workers ask for. */
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
	return most;
}

static void
let_go(void)
{
	if (!held)
		return;
	held = false;
	if (vacuum_cost_delay == set_delay)
		vacuum_cost_delay = user_delay;
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
	if (!held || vacuum_cost_delay != set_delay)
		user_delay = vacuum_cost_delay;
	if (us == 0 || delay <= user_delay)
	{
		let_go();
		return;
	}
	held = true;
	set_delay = delay;
	vacuum_cost_delay = set_delay;
	VacuumCostActive = true;
}

/* Starts the timer for a VACUUM whose cost delay, in milliseconds, is the user's. */
static void
start_timer(double delay)
{
	int			wanted = Max(TICK_MS, (int) (delay * TICK_SLEEPS));

	if (timer == MAX_TIMEOUTS)
		timer = RegisterTimeout(USER_TIMEOUT, tick);
	if (get_timeout_active(timer) && period == wanted)
		return;
	period = wanted;
	enable_timeout_every(timer,
						 TimestampTzPlusMilliseconds(GetCurrentTimestamp(), FIRST_TICK_MS),
						 period);
}

static void
stop_timer(void)
{
	if (timer != MAX_TIMEOUTS)
		disable_timeout(timer, false);
	let_go();
}

/*
 * An autovacuum worker keeps its timer until it ends.  A transaction ends after it has taken the
 * delay of the next table.
 */
static void
watch_transactions(XactEvent event, void *arg)
{
	if (!AmAutoVacuumWorkerProcess() || event != XACT_EVENT_COMMIT)
		return;
	if (zsio_throttle && zsio_workers > 0)
		start_timer(held && vacuum_cost_delay == set_delay ? user_delay : vacuum_cost_delay);
	else
		stop_timer();
}

static void
process_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *queryEnv, DestReceiver *dest,
				QueryCompletion *qc)
{
	ProcessUtility_hook_type next = next_utility_hook ? next_utility_hook : standard_ProcessUtility;

	/* one within another, which has the timer, is about to fail */
	if (!IsA(pstmt->utilityStmt, VacuumStmt) || !zsio_throttle || zsio_workers == 0 ||
		(timer != MAX_TIMEOUTS && get_timeout_active(timer)))
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

void
zsio_throttle_init(void)
{
	next_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;

	/* inherited by autovacuum workers */
	RegisterXactCallback(watch_transactions, NULL);
}
