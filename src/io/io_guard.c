/*-------------------------------------------------------------------------
 *
 * io_guard.c
 *	  Keeps the workers out of the way of client backends: the controller.
 *
 * Where a device is the bottleneck, what the workers send is what commits and reads
 * wait behind.  The worker's own completion times do not show that in time, so it looks
 * at those who suffer: every few milliseconds at the wait events of client backends.
 *
 *	- Stalls: somebody waits for WAL to be written or synced, and the position up to which WAL is
 *	  on disk has not moved since a look before: one sync has taken at least that long.
 *	- Reads: how many backends wait for one.
 *
 * Of both there is an average of the last fraction of a second, which is compared
 * with what is usual.  That is learned while the worker has nothing in flight, and
 * follows slowly while it has: what lasts is not the worker's doing, or all that the
 * device can do.  Looks are equally far apart in both cases, since what is seen depends on it.
 *
 * The rate (requests per second, as the storage profile counts them) rises by small steps while
 * all is well, and falls by a large one when it is not: when a signal is high, or the device
 * completes much less than the rate allows.  It begins low, and rises faster until that happens
 * for the first time.  While no client waits for I/O, other than for the checkpoint, the worker
 * goes as fast as it can; what it achieves then is the device's rate, and DEVICE_SHARE of it is
 * the most that it takes when there are clients again.
 * The queue's depth follows the rate: what is in flight has to be done in QUEUE_SECONDS.
 *
 * The rate does not fall below a floor: what a checkpoint needs to be complete before the
 * next is due, but not more than DEVICE_SHARE, and a small share of the device's rate; what keeps
 * the cleaner ahead of the clock hand, or clients would have to write the same pages.
 *
 * A VACUUM that takes the device is held back in the same way (io_throttle.c).  The worker asks it
 * to sleep: twice as long each time that a signal is high, and less by and by while all is well.
 * Its sleep grows, too, when the worker cannot write VACUUM's pages before VACUUM comes around in
 * its ring.  While no client waits for I/O it does not sleep.
 *
 * Each worker guards for itself, as connections do that share a line.
 *
 * Nothing here calls the server: see io_guard.h.  Numbers of requests are as the storage profile
 * counts them.
 *
 * Invariants, asserted by zsio_guard_check():
 *	1. The rate is between ZSIO_GUARD_RATE_MIN and RATE_MAX.
 *	2. What is known of the device, the floor and the signals is not negative.
 *	3. No more requests are in flight than the worker has slots for.
 *	4. Sleeps are between 0 and ZSIO_MAX_VACUUM_SLEEP, shares of time between 0 and 1.
 *
 * Locks: none.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_guard.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "io_guard.h"

#define SECOND_US		1000000.0

/* Microseconds between two looks, and between two steps of the rate. */
#define LOOK_US			8000
#define STEP_US			100000
/* Microseconds between two reductions, for the first to show. */
#define EASE_US			300000

/* Time constants of averages, in seconds: what is; what is usual, when idle and when working. */
#define NOW_SECONDS		0.3
#define IDLE_SECONDS	3.0
#define WORK_SECONDS	30.0

/* A signal is high at so many times what is usual, and a slack: */
#define HIGH_FACTOR		2
/* what is no congestion yet: average age of syncs (ms), reads waiting. */
#define STALL_SLACK		4.0
#define READ_SLACK		1.0
/* A sync that alone is one (ms), beyond so many times what is usual. */
#define LONG_STALL		50.0
#define LONG_STALL_FACTOR	4

/* A reduction leaves that share of the rate; a device is full that does not do this share of it. */
#define EASE			0.6
#define SATURATED_SHARE	0.5
/* While all is well: by that factor when the rate is new, by that part or so much else. */
#define SLOW_START_RISE	1.2
#define RISE_PART		0.03
#define RISE_LEAST		5.0

/* What workers take of the device beside clients, and what they may always take for their floor. */
#define DEVICE_SHARE	0.5
#define FLOOR_SHARE		0.1
/* The device's rate: the part of a lower one that counts at once, what congestion leaves of it, */
#define DEVICE_FOLLOW	0.1
#define DEVICE_EASE		0.9
/* and what it rises by when the worker keeps to its share without congestion. */
#define DEVICE_RISE		1.02

/* What is in flight has to be done in that time. */
#define QUEUE_SECONDS	0.01

/*
 * Microseconds that a VACUUM sleeps: when it begins while clients wait for I/O, the first step
 * else, and what is as good as nothing.
 */
#define SLEEP_FIRST		(ZSIO_MAX_VACUUM_SLEEP / 4)
#define SLEEP_START		1000.0
#define SLEEP_MIN		50.0
#define SLEEP_GROWTH	2.0
/* Microseconds between two steps: two ticks of its timer. */
#define SLEEP_STEP_US	100000
/* Nobody is in the way of clients that wait for I/O less than that part of the last time. */
#define WAITING_SHARE	0.1
#define WAITING_SECONDS	1.0
/* Time constants of the way back, in seconds. */
#define SLEEP_SECONDS	10.0
#define AHEAD_SECONDS	1.0

/* requests per second */
#define RATE_START		100.0
#define RATE_MAX		1000000.0

StaticAssertDecl((int) ZSIO_GUARD_RATE_MIN <= (int) RATE_START &&
				 (int) RATE_START <= (int) RATE_MAX,
				 "the first rate is one that is allowed");
StaticAssertDecl(SLEEP_FIRST <= ZSIO_MAX_VACUUM_SLEEP, "the first sleep is one that is allowed");

static double
seconds_between(TimestampTz from, TimestampTz to)
{
	return (to - from) / SECOND_US;
}

#ifdef USE_ASSERT_CHECKING
static void
check_sleep(const ZsIoSleep *sleep)
{
	Assert(sleep->us >= 0 && sleep->us <= ZSIO_MAX_VACUUM_SLEEP);	/* 4 */
}

/* Asserts the invariants above. */
void
zsio_guard_check(const ZsIoGuard *guard)
{
	Assert(guard->rate >= ZSIO_GUARD_RATE_MIN && guard->rate <= RATE_MAX);	/* 1 */
	Assert(guard->device >= 0 && guard->floor_rate >= 0);	/* 2 */
	Assert(guard->completed >= 0 && guard->completed_before >= 0);
	Assert(guard->stalls.now >= 0 && guard->stalls.usual >= 0);
	Assert(guard->reads.now >= 0 && guard->reads.usual >= 0);
	Assert(guard->in_flight >= 0 && guard->in_flight <= guard->depth + 1);	/* 3 */
	check_sleep(&guard->sleep_for_clients);
	check_sleep(&guard->sleep_for_worker);
	Assert(guard->vacuums >= 0);
	Assert(guard->waiting_share >= 0 && guard->waiting_share <= 1); /* 4 */
}
#endif

/* A guard that knows nothing yet. */
void
zsio_guard_init(ZsIoGuard *guard)
{
	memset(guard, 0, sizeof(ZsIoGuard));
	guard->rate = RATE_START;
	guard->slow_start = true;
}

/* ---- what the worker tells ---------------------------------------------------- */

/* Switches the limits on or off.  What was learned stays. */
void
zsio_guard_enable(ZsIoGuard *guard, bool enabled)
{
	guard->enabled = enabled;
}

/* How many requests the worker can have in flight from now on; none is. */
void
zsio_guard_set_depth(ZsIoGuard *guard, int depth)
{
	Assert(depth >= 0);
	Assert(guard->in_flight == 0);
	guard->depth = depth;
}

/* A request is in flight. */
void
zsio_guard_started(ZsIoGuard *guard)
{
	guard->in_flight++;
	Assert(guard->in_flight <= guard->depth + 1);	/* 3 */
}

/* It ended, with or without an error. */
void
zsio_guard_ended(ZsIoGuard *guard)
{
	Assert(guard->in_flight > 0);
	guard->in_flight--;
}

/* A write was completed that counts as so many requests. */
void
zsio_guard_completed(ZsIoGuard *guard, int requests, TimestampTz now)
{
	Assert(requests > 0);
	guard->completed += requests;
	guard->last_work = now;
}

/* The next request had to wait for the rate, or for the depth. */
void
zsio_guard_held_up(ZsIoGuard *guard, bool by_rate)
{
	if (by_rate)
		guard->paced = true;
	else
		guard->queued = true;
}

/* Sets what the work at hand needs at least; 0: nothing. */
void
zsio_guard_floor(ZsIoGuard *guard, double requests_per_second)
{
	guard->floor_rate = requests_per_second <= 0 ? 0 :
		Max(requests_per_second, guard->device * FLOOR_SHARE);
}

/* ---- the signals -------------------------------------------------------------- */

static bool
working(const ZsIoGuard *guard, TimestampTz now)
{
	return guard->in_flight > 0 || now - guard->last_work < STEP_US || guard->vacuums > 0;
}

/* Takes a step of that time constant towards the value. */
static void
follow(double *average, double value, double seconds, double constant)
{
	Assert(seconds >= 0 && constant > 0);
	*average += (value - *average) * Min(seconds / constant, 1);
}

/* True if the signal is well above what is usual. */
static bool
update(ZsIoGuard *guard, ZsIoSignal *signal, double value, double slack, TimestampTz now)
{
	double		seconds = seconds_between(guard->last_look, now);
	bool		high;

	follow(&signal->now, value, seconds, NOW_SECONDS);
	high = signal->now > HIGH_FACTOR * signal->usual + slack;
	follow(&signal->usual, signal->now, seconds,
		   working(guard, now) && signal->now > signal->usual ? WORK_SECONDS : IDLE_SECONDS);
	return high;
}

/* Milliseconds that the present sync has taken at least. */
static double
stall_age(ZsIoGuard *guard, int nwaiting, XLogRecPtr flushed, TimestampTz now)
{
	if (nwaiting == 0)
	{
		guard->wal_wait_since = 0;
		return 0;
	}
	if (guard->wal_wait_since == 0 || flushed != guard->wal_flushed)
	{
		guard->wal_wait_since = now;
		guard->wal_flushed = flushed;
	}
	return (now - guard->wal_wait_since) / 1000.0;
}

/* ---- VACUUMs ------------------------------------------------------------------ */

/* Longer at once, shorter by and by. */
static void
step_sleep(const ZsIoGuard *guard, ZsIoSleep *sleep, bool longer, double seconds, double constant,
		   TimestampTz now)
{
	if (guard->vacuums == 0)
		sleep->us = 0;
	else if (!longer)
		follow(&sleep->us, 0, seconds, constant);
	else if (now - sleep->last_step >= SLEEP_STEP_US)
	{
		sleep->us = Min(Max(sleep->us * SLEEP_GROWTH, SLEEP_START), ZSIO_MAX_VACUUM_SLEEP);
		sleep->last_step = now;
	}
}

/* What VACUUMs are to sleep, in microseconds; 0: nothing. */
double
zsio_guard_vacuum_sleep(const ZsIoGuard *guard)
{
	double		us = 0;

	if (guard->waiting_share > WAITING_SHARE)
		us = guard->vacuums > 0 ?
			Max(guard->sleep_for_clients.us, guard->sleep_for_worker.us) : SLEEP_FIRST;
	return us < SLEEP_MIN ? 0 : us;
}

/* A VACUUM came around in its ring before the worker had written it, or did not. */
void
zsio_guard_vacuum_ahead(ZsIoGuard *guard, bool ahead, TimestampTz now)
{
	/* the clock may have been set back */
	double		seconds = Max(seconds_between(guard->last_ahead, now), 0);

	step_sleep(guard, &guard->sleep_for_worker, ahead, seconds, AHEAD_SECONDS, now);
	guard->last_ahead = now;
}

/* Looks are equally far apart, busy or not. */
bool
zsio_guard_look_is_due(const ZsIoGuard *guard, TimestampTz now)
{
	return now - guard->last_look >= LOOK_US;
}

/* One look at what clients do.  To be called when it is due. */
void
zsio_guard_look(ZsIoGuard *guard, const ZsIoClients *clients, XLogRecPtr flushed, TimestampTz now)
{
	double		seconds = seconds_between(guard->last_look, now);
	bool		waiting = clients->nwal + clients->nreads > 0;
	double		age;
	bool		high;

	Assert(zsio_guard_look_is_due(guard, now));
	Assert(clients->nwal >= 0 && clients->nreads >= 0 && clients->nvacuums >= 0);
	follow(&guard->waiting_share, waiting, seconds, WAITING_SECONDS);
	if (clients->nvacuums > guard->vacuums && guard->waiting_share > WAITING_SHARE)
		guard->sleep_for_clients.us = Max(guard->sleep_for_clients.us, SLEEP_FIRST);
	guard->vacuums = clients->nvacuums;
	age = stall_age(guard, clients->nwal, flushed, now);
	high = update(guard, &guard->stalls, age, STALL_SLACK, now) ||
		age > LONG_STALL + LONG_STALL_FACTOR * guard->stalls.usual;
	high = update(guard, &guard->reads, clients->nreads, READ_SLACK, now) || high;
	if (high)
		guard->congested = true;
	guard->active = clients->active;
	guard->was_active |= guard->active;
	step_sleep(guard, &guard->sleep_for_clients, high, seconds, SLEEP_SECONDS, now);
	guard->last_look = now;
#ifdef USE_ASSERT_CHECKING
	zsio_guard_check(guard);
#endif
}

/* ---- the rate ----------------------------------------------------------------- */

static double
allowed_rate(const ZsIoGuard *guard)
{
	return guard->unguarded ? RATE_MAX : Max(guard->rate, guard->floor_rate);
}

/* Requests per second that are the most beside clients; RATE_MAX while that is not known. */
double
zsio_guard_share(const ZsIoGuard *guard)
{
	return guard->device > 0 ? guard->device * DEVICE_SHARE : RATE_MAX;
}

/* Requests per second allowed now; 0: no limit. */
double
zsio_guard_rate(const ZsIoGuard *guard)
{
	double		allowed = allowed_rate(guard);

	return guard->enabled && allowed < RATE_MAX ? allowed : 0;
}

/* Requests allowed in flight now: what the rate does in QUEUE_SECONDS. */
int
zsio_guard_depth(const ZsIoGuard *guard)
{
	double		allowed = allowed_rate(guard) * QUEUE_SECONDS;

	if (guard->enabled && allowed < guard->depth)
		return Min(Max((int) ceil(allowed), ZSIO_GUARD_DEPTH_MIN), guard->depth);
	return guard->depth;
}

/* A large step down, unless the last one was just now. */
static void
ease(ZsIoGuard *guard, double speed, bool saturated, TimestampTz now)
{
	/* volumes become slow when their credit is used up */
	guard->device = Max(Min(guard->device, speed), guard->device * DEVICE_EASE);
	if (guard->slow_start || now - guard->last_eased > EASE_US)
	{
		guard->rate = Min(guard->rate, guard->slow_start || saturated ? speed : guard->rate) *
			(guard->slow_start ? DEVICE_SHARE : EASE);
		guard->last_eased = now;
	}
	guard->slow_start = false;
}

/* A small step up, for a worker that the rate has held up. */
static void
rise(ZsIoGuard *guard)
{
	if (guard->rate >= zsio_guard_share(guard))
		guard->device *= DEVICE_RISE;
	else if (guard->slow_start)
		guard->rate *= SLOW_START_RISE;
	else
		guard->rate += Max(guard->rate * RISE_PART, RISE_LEAST);
}

/* What the requests of the last step say. */
static void
learn(ZsIoGuard *guard, TimestampTz now)
{
	double		speed = guard->completed / seconds_between(guard->last_step, now);
	bool		saturated = guard->queued && guard->completed_before > 0 &&
		speed < allowed_rate(guard) * SATURATED_SHARE;

	if (saturated && zsio_guard_depth(guard) == guard->depth)
		guard->device = Max(speed, guard->device + (speed - guard->device) * DEVICE_FOLLOW);
	if (!guard->was_active)
		return;
	if ((guard->congested || saturated) && guard->completed > 0)
		ease(guard, speed, saturated, now);
	else if (guard->paced)
		rise(guard);
}

/* Sets the rate anew every STEP_US, by what was seen since; false: it is not time. */
bool
zsio_guard_step(ZsIoGuard *guard, TimestampTz now)
{
	if (now - guard->last_step < STEP_US)
		return false;
	if (guard->completed == 0 && now - guard->last_work > ZSIO_ACTIVE_US)
	{
		/* it did nothing lately: where to begin */
		guard->slow_start = guard->device == 0;
		if (guard->slow_start)
			guard->rate = RATE_START;
	}
	else
		learn(guard, now);
	guard->unguarded = !guard->was_active;
	if (guard->device > 0)
		guard->rate = guard->unguarded ? zsio_guard_share(guard) :
			Min(guard->rate, zsio_guard_share(guard));
	guard->rate = Min(Max(guard->rate, ZSIO_GUARD_RATE_MIN), RATE_MAX);
	guard->last_step = now;
	guard->completed_before = guard->completed;
	guard->completed = 0;
	guard->congested = guard->paced = guard->queued = guard->was_active = false;
#ifdef USE_ASSERT_CHECKING
	zsio_guard_check(guard);
#endif
	return true;
}
