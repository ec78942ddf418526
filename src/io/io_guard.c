/*-------------------------------------------------------------------------
 *
 * io_guard.c
 *	  Keeps the workers out of the way of client backends.
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
 * A VACUUM that takes the device is held back in the same way (io_throttle.c): the sleep
 * that is asked of it grows by a large factor when a signal is high, and shrinks slowly while all is
 * well.  So it does when the worker cannot write its pages before it comes around in its
 * ring; unless nobody else wants the device.
 *
 * Each worker guards for itself, as connections do that share a line.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_guard.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xlog.h"
#include "utils/timestamp.h"

#include "io_internal.h"

/* Microseconds between two looks, and between two steps of the rate. */
#define LOOK_US			8000
#define STEP_US			100000
/* Microseconds between two reductions, for the first to show. */
#define EASE_US			300000
/* Time constants of averages, in seconds: what is; what is usual, when idle and when working. */
#define NOW_SECONDS		0.3
#define IDLE_SECONDS	3.0
#define WORK_SECONDS	30.0
/* What is no congestion yet, whatever is usual: average age of syncs (ms), reads waiting. */
#define STALL_SLACK		4.0
#define READ_SLACK		1.0
/* A sync that alone is one (ms). */
#define LONG_STALL		50.0

/* A reduction leaves that share of the rate. */
#define EASE			0.6
#define DEVICE_SHARE	0.5
#define FLOOR_SHARE		0.1
#define QUEUE_SECONDS	0.01

/*
 * Microseconds that a VACUUM sleeps: when it begins while clients wait for I/O, the first step else, and
 * what is as good as nothing.
 */
#define SLEEP_FIRST		(ZSIO_MAX_VACUUM_SLEEP / 4.0)
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
#define RATE_MIN		50.0
#define RATE_MAX		1000000.0

static ZsIoWorkerShared *self = NULL;

/* The average of a signal, and what is usual. */
typedef struct Signal
{
	double		now;
	double		usual;
} Signal;

/* the signals */
static TimestampTz last_look = 0;
static TimestampTz wal_wait_since = 0;
static XLogRecPtr wal_flushed;
static Signal stalls;			/* age of the sync that is waited for, ms */
static Signal reads;			/* backends that wait for a read */
static bool active = false;		/* at the last look */
static bool was_active = false; /* since the last step */
static bool congested = false;	/* since the last step */

/* the rate */
static double rate = RATE_START;
static double device = 0;		/* the device's rate, 0: not known */
static double floor_rate = 0;
static bool slow_start = true;
static bool unguarded = false;	/* nobody was active in the last step: no limit */
static TimestampTz last_step = 0;
static TimestampTz last_work = 0;
static double completed = 0;	/* requests since the last step */
static TimestampTz last_eased = 0;
static double completed_before = 0; /* in the step before */
static bool paced = false;		/* was the rate what held the worker up? */
static bool queued = false;		/* was it the depth? */

/* What is asked of VACUUMs. */
typedef struct Sleep
{
	double		us;
	TimestampTz last_step;
} Sleep;

static Sleep sleep_for_clients;
static Sleep sleep_for_worker;
static int	vacuums = 0;		/* that go on */
static double waiting_share = 0;	/* of the time somebody waited for I/O, lately */

void
zsio_guard_init(ZsIoWorkerShared *me)
{
	self = me;
}

/* ---- the signals -------------------------------------------------------------- */

static bool
working(TimestampTz now)
{
	return zsio_run_busy() > 0 || now - last_work < STEP_US || vacuums > 0;
}

/* Takes a step of that time constant towards the value. */
static void
follow(double *average, double value, double seconds, double constant)
{
	*average += (value - *average) * Min(seconds / constant, 1);
}

/* True if the signal is well above what is usual. */
static bool
update(Signal *signal, double value, double slack, TimestampTz now)
{
	double		seconds = (now - last_look) / 1000000.0;
	bool		high;

	follow(&signal->now, value, seconds, NOW_SECONDS);
	high = signal->now > 2 * signal->usual + slack;
	follow(&signal->usual, signal->now, seconds,
		   working(now) && signal->now > signal->usual ? WORK_SECONDS : IDLE_SECONDS);
	return high;
}

/* Milliseconds that the present sync has taken at least. */
static double
stall_age(int nwaiting, TimestampTz now)
{
	XLogRecPtr	flushed = RecoveryInProgress() ? InvalidXLogRecPtr : GetFlushRecPtr(NULL);

	if (nwaiting == 0)
	{
		wal_wait_since = 0;
		return 0;
	}
	if (wal_wait_since == 0 || flushed != wal_flushed)
	{
		wal_wait_since = now;
		wal_flushed = flushed;
	}
	return (now - wal_wait_since) / 1000.0;
}

/* ---- VACUUMs ------------------------------------------------------------------ */

/* Longer at once, shorter by and by. */
static void
step_sleep(Sleep *sleep, bool longer, double seconds, double constant, TimestampTz now)
{
	if (vacuums == 0)
		sleep->us = 0;
	else if (!longer)
		follow(&sleep->us, 0, seconds, constant);
	else if (now - sleep->last_step >= SLEEP_STEP_US)
	{
		sleep->us = Min(Max(sleep->us * SLEEP_GROWTH, SLEEP_START), ZSIO_MAX_VACUUM_SLEEP);
		sleep->last_step = now;
	}
}

/* Tells VACUUMs how long to sleep. */
static void
throttle(TimestampTz now)
{
	double		us = 0;

	if (waiting_share > WAITING_SHARE)
		us = vacuums > 0 ? Max(sleep_for_clients.us, sleep_for_worker.us) : SLEEP_FIRST;
	zsio_throttle_set(self, us < SLEEP_MIN ? 0 : us);
}

void
zsio_guard_vacuum_ahead(bool ahead)
{
	TimestampTz now = GetCurrentTimestamp();
	static TimestampTz last = 0;

	step_sleep(&sleep_for_worker, ahead, (now - last) / 1000000.0, AHEAD_SECONDS, now);
	last = now;
}

static void
look(TimestampTz now)
{
	ZsIoClients clients;
	double		age;
	bool		high;

	if (now - last_look < LOOK_US)
		return;
	zsio_look_at_clients(now, &clients);
	follow(&waiting_share, clients.nwal + clients.nreads > 0, (now - last_look) / 1000000.0, WAITING_SECONDS);
	if (clients.nvacuums > vacuums && waiting_share > WAITING_SHARE)
		sleep_for_clients.us = Max(sleep_for_clients.us, SLEEP_FIRST);
	vacuums = clients.nvacuums;
	age = stall_age(clients.nwal, now);
	high = update(&stalls, age, STALL_SLACK, now) || age > LONG_STALL + 4 * stalls.usual;
	high = update(&reads, clients.nreads, READ_SLACK, now) || high;
	if (high)
		congested = true;
	active = clients.active;
	was_active |= active;
	step_sleep(&sleep_for_clients, high, (now - last_look) / 1000000.0, SLEEP_SECONDS, now);
	throttle(now);
	last_look = now;
}

/* ---- the rate ----------------------------------------------------------------- */

static double
allowed_rate(void)
{
	return unguarded ? RATE_MAX : Max(rate, floor_rate);
}

static void
step(TimestampTz now)
{
	double		seconds = (now - last_step) / 1000000.0;

	if (now - last_step < STEP_US)
		return;
	if (completed == 0 && now - last_work > ZSIO_ACTIVE_US)
	{
		/* it did nothing lately: where to begin */
		slow_start = device == 0;
		if (slow_start)
			rate = RATE_START;
	}
	else
	{
		double		speed = completed / seconds;
		bool		saturated = queued && completed_before > 0 && speed < allowed_rate() / 2;

		if (saturated && zsio_guard_depth() == zsio_run_depth())
			device = Max(speed, device + (speed - device) * 0.1);
		if (was_active && (congested || saturated) && completed > 0)
		{
			/* volumes become slow when their credit is used up */
			device = Max(Min(device, speed), device * 0.9);
			if (slow_start || now - last_eased > EASE_US)
			{
				rate = Min(rate, slow_start || saturated ? speed : rate) *
					(slow_start ? DEVICE_SHARE : EASE);
				last_eased = now;
			}
			slow_start = false;
		}
		else if (was_active && paced && rate >= zsio_guard_share())
			device *= 1.02;
		else if (was_active && paced)
			rate = slow_start ? rate * 1.2 : rate + Max(rate * 0.03, 5);
	}
	unguarded = !was_active;
	if (device > 0)
		rate = unguarded ? zsio_guard_share() : Min(rate, zsio_guard_share());
	rate = Min(Max(rate, RATE_MIN), RATE_MAX);
	pg_atomic_write_u32(&self->window, zsio_guard_depth());
	pg_atomic_write_u32(&self->rate, (uint32) zsio_guard_rate());
	last_step = now;
	completed_before = completed;
	completed = 0;
	congested = paced = queued = was_active = false;
}

bool
zsio_guard_tick(void)
{
	TimestampTz now;

	if (!zsio_guard)
	{
		pg_atomic_write_u32(&self->rate, 0);
		pg_atomic_write_u32(&self->window, zsio_run_depth());
		zsio_throttle_set(self, 0);
		return false;
	}
	now = GetCurrentTimestamp();
	look(now);
	step(now);
	return active;
}

double
zsio_guard_rate(void)
{
	double		allowed = allowed_rate();

	return zsio_guard && allowed < RATE_MAX ? allowed : 0;
}

int
zsio_guard_depth(void)
{
	double		allowed = allowed_rate() * QUEUE_SECONDS;
	int			depth = zsio_run_depth();

	if (zsio_guard && allowed < depth)
		depth = Min(Max((int) ceil(allowed), 2), depth);
	return depth;
}

void
zsio_guard_completed(int requests)
{
	completed += requests;
	last_work = GetCurrentTimestamp();
}

void
zsio_guard_held_up(bool by_rate)
{
	if (by_rate)
		paced = true;
	else
		queued = true;
}

double
zsio_guard_share(void)
{
	return device > 0 ? device * DEVICE_SHARE : RATE_MAX;
}

void
zsio_guard_floor(double requests_per_second)
{
	floor_rate = requests_per_second <= 0 ? 0 :
		Max(requests_per_second, device * FLOOR_SHARE);
}
