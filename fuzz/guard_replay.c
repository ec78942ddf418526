/*-------------------------------------------------------------------------
 *
 * guard_replay.c
 *	  What decides in src/io, without a server: the I/O workers' guard, their token buckets, the
 *	  turns of scans, and how long commits wait for each other.
 *
 * Built from src/io/io_group.c, io_guard.c, io_pace.c, io_rest.c and io_turn.c and a server's
 * headers.
 *
 *	  1. Replay: what a worker saw and did on a server, line by line from files, must give what it
 *		 gave there.
 *	  2. Rules: made-up clients, and what the guard has to do then, the cleaner, and
 *		 commits.
 *	  3. A device that serves clients and a worker in turn, with and without the guard.
 *	  4. Random samples: invariants, and the bounds of what comes out.
 *	  5. Buckets: what gets through in any time, for random limits and requests.
 *	  6. Scans of random sizes on one volume: with turns, and all at once.
 *
 *	  make build/guard_replay [PG_CONFIG=...]
 *
 *	  usage: guard_replay steps seed [file ...]
 *
 * Lines of a file, times in microseconds:
 *	  D depth				set up
 *	  L now nwal nreads nvacuums active flushed		a look at clients
 *	  T now rate depth		a step, and what is allowed then
 *	  +						a request is in flight
 *	  C now requests		one was completed
 *	  H by_rate				the next one had to wait
 *	  F rate				the floor
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * fuzz/guard_replay.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "../src/io/io_group.h"
#include "../src/io/io_guard.h"
#include "../src/io/io_pace.h"
#include "../src/io/io_rest.h"
#include "../src/io/io_turn.h"
#include "fuzz_server.h"

#define START		INT64CONST(800000000000000)
#define MS			1000
#define SECOND		INT64CONST(1000000)
#define DEPTH		32

static const char *test_name;

static double
part(void)
{
	return rnd(1000000) / 1000000.0;
}

static void
expect(bool ok, const char *what, double value)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s (%g)\n", test_name, what, value);
	exit(1);
}

/* ---- replay --------------------------------------------------------------------- */

static bool
same(double a, double b)
{
	return fabs(a - b) <= 1e-6 * Max(fabs(a), fabs(b));
}

static long
replay(const char *path)
{
	FILE	   *file = fopen(path, "r");
	ZsIoGuard	guard;
	char		line[256];
	long		nlines = 0;
	long		nsteps = 0;

	test_name = path;
	expect(file != NULL, "cannot be opened", 0);
	zsio_guard_init(&guard);
	zsio_guard_enable(&guard, true);
	while (fgets(line, sizeof(line), file) != NULL)
	{
		ZsIoClients clients = {0};
		long long	now = 0;
		long long	flushed = 0;
		int			n = 0;
		int			flag = 0;
		double		value = 0;

		nlines++;
		if (line[0] == '#')
			continue;
		if (sscanf(line, "D %d", &n) == 1)
			zsio_guard_set_depth(&guard, n);
		else if (sscanf(line, "L %lld %d %d %d %d %lld", &now, &clients.nwal, &clients.nreads,
						&clients.nvacuums, &flag, &flushed) == 6)
		{
			clients.active = flag != 0;
			expect(zsio_guard_look_is_due(&guard, now), "no look is due, line", nlines);
			zsio_guard_look(&guard, &clients, flushed, now);
		}
		else if (sscanf(line, "T %lld %lf %d", &now, &value, &n) == 3)
		{
			expect(zsio_guard_step(&guard, now), "no step is due, line", nlines);
			expect(same(zsio_guard_rate(&guard), value), "another rate, line", nlines);
			expect(zsio_guard_depth(&guard) == n, "another depth, line", nlines);
			nsteps++;
		}
		else if (line[0] == '+')
			zsio_guard_started(&guard);
		else if (sscanf(line, "C %lld %d", &now, &n) == 2)
		{
			zsio_guard_ended(&guard);
			zsio_guard_completed(&guard, n, now);
		}
		else if (sscanf(line, "H %d", &flag) == 1)
			zsio_guard_held_up(&guard, flag != 0);
		else if (sscanf(line, "F %lf", &value) == 1)
			zsio_guard_floor(&guard, value);
		else
			expect(false, "cannot be read, line", nlines);
	}
	fclose(file);
	expect(nsteps > 10, "too few steps", nsteps);
	return nsteps;
}

/* ---- rules ---------------------------------------------------------------------- */

/* A worker that always has something to write, on a device that does what it is asked for. */
typedef struct World
{
	ZsIoGuard	guard;
	TimestampTz now;
	XLogRecPtr	flushed;
	double		device;			/* requests per second */
	double		tokens;
} World;

static void
begin(World *world, double device)
{
	memset(world, 0, sizeof(World));
	zsio_guard_init(&world->guard);
	zsio_guard_enable(&world->guard, true);
	zsio_guard_set_depth(&world->guard, DEPTH);
	world->now = START;
	world->device = device;
}

/* What may be seen from outside, always. */
static void
check_bounds(const ZsIoGuard *guard)
{
	double		rate = zsio_guard_rate(guard);
	int			depth = zsio_guard_depth(guard);
	double		sleep = zsio_guard_vacuum_sleep(guard);

#ifdef USE_ASSERT_CHECKING
	zsio_guard_check(guard);
#endif
	expect(rate == 0 || rate >= ZSIO_GUARD_RATE_MIN, "a rate below the minimum", rate);
	expect(rate == 0 || rate >= guard->floor_rate, "a rate below the floor", rate);
	expect(depth >= Min(ZSIO_GUARD_DEPTH_MIN, guard->depth), "too small a depth", depth);
	expect(depth <= guard->depth, "more depth than there is", depth);
	expect(sleep >= 0 && sleep <= ZSIO_MAX_VACUUM_SLEEP, "a sleep out of bounds", sleep);
	expect(zsio_guard_share(guard) > 0, "no share", zsio_guard_share(guard));
}

/* One look's time: the worker sends what it may. */
static void
pass(World *world, int nwal, int nreads, bool active, bool syncing)
{
	ZsIoClients clients = {.nwal = nwal,.nreads = nreads,.active = active,
	.nvacuums = world->guard.vacuums};
	ZsIoGuard  *guard = &world->guard;
	double		rate = zsio_guard_rate(guard);

	world->now += 10 * MS;
	if (!syncing)
		world->flushed++;
	if (rate > 0 && rate < world->device)
	{
		world->tokens += rate / 100;
		zsio_guard_held_up(guard, true);
	}
	else
	{
		world->tokens += world->device / 100;
		zsio_guard_held_up(guard, false);
	}
	while (world->tokens >= 1)
	{
		zsio_guard_started(guard);
		zsio_guard_ended(guard);
		zsio_guard_completed(guard, 1, world->now);
		world->tokens--;
	}
	if (zsio_guard_look_is_due(guard, world->now))
		zsio_guard_look(guard, &clients, world->flushed, world->now);
	zsio_guard_step(guard, world->now);
	check_bounds(guard);
}

static void
pass_seconds(World *world, double seconds, int nwal, int nreads, bool active, bool syncing)
{
	TimestampTz end = world->now + (TimestampTz) (seconds * SECOND);

	while (world->now < end)
		pass(world, nwal, nreads, active, syncing);
}

static void
test_rules(void)
{
	World		world;
	ZsIoGuard  *guard = &world.guard;
	double		before;

	test_name = "nobody is there";
	begin(&world, 1000);
	pass_seconds(&world, 1, 0, 0, false, false);
	expect(zsio_guard_rate(guard) == 0, "a limit", zsio_guard_rate(guard));
	expect(zsio_guard_depth(guard) == DEPTH, "less than all depth", zsio_guard_depth(guard));
	pass_seconds(&world, 10, 0, 0, false, false);
	before = zsio_guard_share(guard);

	test_name = "a client comes";
	pass_seconds(&world, 0.5, 0, 0, true, false);
	expect(zsio_guard_rate(guard) > 0, "no limit", 0);
	expect(zsio_guard_rate(guard) <= zsio_guard_share(guard), "more than its share",
		   zsio_guard_rate(guard));

	test_name = "a sync hangs";
	pass_seconds(&world, 5, 1, 0, true, true);
	expect(zsio_guard_rate(guard) == ZSIO_GUARD_RATE_MIN, "not the minimum",
		   zsio_guard_rate(guard));
	expect(zsio_guard_depth(guard) == ZSIO_GUARD_DEPTH_MIN, "not the least depth",
		   zsio_guard_depth(guard));
	expect(zsio_guard_share(guard) <= before, "the device got faster", zsio_guard_share(guard));

	test_name = "a floor";
	zsio_guard_floor(guard, 400);
	pass_seconds(&world, 1, 1, 0, true, true);
	expect(zsio_guard_rate(guard) >= 400, "is not kept", zsio_guard_rate(guard));
	zsio_guard_floor(guard, 0);

	test_name = "it recovers";
	pass_seconds(&world, 60, 0, 0, true, false);
	expect(zsio_guard_rate(guard) > 5 * ZSIO_GUARD_RATE_MIN, "does not rise again",
		   zsio_guard_rate(guard));

	test_name = "clients leave";
	pass_seconds(&world, 0.3, 0, 0, false, false);
	expect(zsio_guard_rate(guard) == 0, "a limit", zsio_guard_rate(guard));

	test_name = "reads wait";
	begin(&world, 1000);
	pass_seconds(&world, 2, 0, 0, true, false);
	pass_seconds(&world, 5, 0, 20, true, false);
	expect(zsio_guard_rate(guard) <= 2 * ZSIO_GUARD_RATE_MIN, "does not slow down",
		   zsio_guard_rate(guard));

	test_name = "what lasts is usual";
	pass_seconds(&world, 300, 0, 20, true, false);
	expect(zsio_guard_rate(guard) > 3 * ZSIO_GUARD_RATE_MIN, "slow for ever",
		   zsio_guard_rate(guard));

	test_name = "switched off";
	zsio_guard_enable(guard, false);
	expect(zsio_guard_rate(guard) == 0, "a limit", zsio_guard_rate(guard));
	expect(zsio_guard_depth(guard) == DEPTH, "less than all depth", zsio_guard_depth(guard));
}

/* So many seconds of looks, in which clients wait like that; returns for how long it rested. */
static double
rest_seconds(ZsIoRest *rest, TimestampTz *now, double seconds, double stall, int nwaiting,
			 bool excused)
{
	TimestampTz end = *now + (TimestampTz) (seconds * SECOND);
	double		rested = 0;

	for (; *now < end; *now += 10 * MS)
	{
		zsio_rest_look(rest, stall, nwaiting, excused, *now);
		rested += rest->resting ? 0.01 : 0;
	}
	return rested;
}

/* The cleaner rests while clients hardly wait. */
static void
test_rest(void)
{
	ZsIoRest	rest;
	TimestampTz now = START;
	double		rested;

	test_name = "the cleaner rests";
	zsio_rest_init(&rest);
	rested = rest_seconds(&rest, &now, 9, 0.5, 0, false);
	expect(rested == 0, "before it knows enough", rested);
	rest_seconds(&rest, &now, 2, 0.5, 0, false);
	expect(rest.resting, "though nobody waits: not", 0);

	test_name = "waits that a checkpoint makes";
	rested = rest_seconds(&rest, &now, 5, 100, 8, true);
	expect(rested > 4.9, "end the rest", rested);

	test_name = "a client waits for long";
	rested = rest_seconds(&rest, &now, 5, 50, 0, false);
	expect(rested < 0.5, "it rests on", rested);
	rested = rest_seconds(&rest, &now, 5, 50, 0, true);
	expect(rested == 0, "it rests when a checkpoint comes", rested);

	test_name = "clients wait for pages whenever it rests";
	zsio_rest_init(&rest);
	rested = 0;
	for (int i = 0; i < 360; i++)
	{
		/* ten seconds of work or rest */
		rested += rest_seconds(&rest, &now, 10, 0, rest.resting ? 4 : 0, false);
	}
	expect(rested > 0, "it never tries", rested);
	expect(rested < 120, "too often", rested);
	expect(rest.after_us == ZSIO_REST_AFTER_MAX_US, "not as rarely as it could",
		   (double) rest.after_us);

	test_name = "waits after a long rest";
	rest_seconds(&rest, &now, 1400, 0, 0, false);
	expect(rest.resting, "it does not rest", 0);
	rest_seconds(&rest, &now, 2, 0, 4, false);
	expect(!rest.resting, "it rests on", 0);
	expect(rest.after_us == ZSIO_REST_AFTER_US, "it waits long for the next",
		   (double) rest.after_us);

	test_name = "a clock that is set back";
	rest_seconds(&rest, &now, 5, 0, 0, false);
	now -= 3600 * SECOND;
	rest_seconds(&rest, &now, 12, 0, 0, false);
	expect(rest.resting, "it waits for the clock", 0);
}

/*
 * So many seconds in which a device syncs all the time or for a part of it, each sync taking so
 * many microseconds.  Processes report their syncs a second late.  *now and *syncs go on.
 */
static void
sync_seconds(ZsIoGroup *group, TimestampTz *now, uint64 *syncs, double seconds, double sync_us,
			 double busy)
{
	TimestampTz end = *now + (TimestampTz) (seconds * SECOND);
	uint64		rate = sync_us == 0 ? 0 : (uint64) (SECOND / sync_us * busy);
	uint64		before = *syncs;
	TimestampTz began = *now;

	for (; *now < end; *now += 9 * MS)
	{
		TimestampTz known = Max(*now - began - SECOND, 0);

		zsio_group_look(group, part() < busy, *now);
		*syncs = before + known * rate / SECOND;
		if (zsio_group_count_is_due(group, *now))
			zsio_group_count(group, *syncs, *now);
		expect(zsio_group_delay(group) >= 0 && zsio_group_delay(group) <= ZSIO_GROUP_DELAY_MAX_US,
			   "a delay out of bounds", zsio_group_delay(group));
	}
}

/* Commits wait where syncs are slow, for half of what one takes. */
static void
test_group(void)
{
	ZsIoGroup	group;
	TimestampTz now = START;
	uint64		syncs = 12345;

	test_name = "commits, slow syncs";
	zsio_group_init(&group);
	expect(zsio_group_delay(&group) == 0, "a delay of which nothing is known", 0);
	sync_seconds(&group, &now, &syncs, 30, 4000, 0.8);
	expect(zsio_group_delay(&group) > 1600 && zsio_group_delay(&group) < 2400, "not half of a sync",
		   zsio_group_delay(&group));

	test_name = "commits, very slow syncs";
	sync_seconds(&group, &now, &syncs, 60, 50000, 0.9);
	expect(zsio_group_delay(&group) == ZSIO_GROUP_DELAY_MAX_US, "not the longest delay",
		   zsio_group_delay(&group));

	test_name = "commits, fast syncs";
	sync_seconds(&group, &now, &syncs, 30, 500, 0.9);
	expect(zsio_group_delay(&group) == 0, "a delay", zsio_group_delay(&group));

	test_name = "commits, few syncs";
	sync_seconds(&group, &now, &syncs, 30, 4000, 0.8);
	expect(zsio_group_delay(&group) > 0, "no delay before", 0);
	sync_seconds(&group, &now, &syncs, 30, 4000, 0.02);
	expect(zsio_group_delay(&group) == 0, "a delay", zsio_group_delay(&group));

	test_name = "commits after idle times";
	sync_seconds(&group, &now, &syncs, 60, 0, 0);
	for (int i = 0; i < 20; i++)
	{
		/* the first count comes when few have reported their syncs */
		sync_seconds(&group, &now, &syncs, 1.5, 900, 0.9);
		expect(zsio_group_delay(&group) == 0, "a delay", zsio_group_delay(&group));
		sync_seconds(&group, &now, &syncs, 6, 0, 0);
	}

	test_name = "commits, statistics that are reset";
	sync_seconds(&group, &now, &syncs, 30, 4000, 0.8);
	syncs = 0;
	sync_seconds(&group, &now, &syncs, 2, 4000, 0.8);
	expect(zsio_group_delay(&group) == 0, "a delay by two counts that are not comparable",
		   zsio_group_delay(&group));

	test_name = "commits, a clock that is set back";
	sync_seconds(&group, &now, &syncs, 30, 4000, 0.8);
	now -= 3600 * SECOND;
	sync_seconds(&group, &now, &syncs, 30, 4000, 0.8);
	expect(zsio_group_delay(&group) > 1600 && zsio_group_delay(&group) < 2400, "not half of a sync",
		   zsio_group_delay(&group));
}

/* VACUUMs are held back while clients wait, and only then. */
static void
test_vacuum(void)
{
	World		world;
	ZsIoGuard  *guard = &world.guard;
	double		sleep;

	test_name = "a VACUUM alone";
	begin(&world, 1000);
	guard->vacuums = 1;
	pass_seconds(&world, 5, 0, 0, true, false);
	zsio_guard_vacuum_ahead(guard, true, world.now);
	expect(zsio_guard_vacuum_sleep(guard) == 0, "sleeps", zsio_guard_vacuum_sleep(guard));

	test_name = "a VACUUM beside a sync that hangs";
	pass_seconds(&world, 3, 1, 0, true, true);
	sleep = zsio_guard_vacuum_sleep(guard);
	expect(sleep == ZSIO_MAX_VACUUM_SLEEP, "does not sleep as long as it may", sleep);

	test_name = "all is well again";
	pass_seconds(&world, 30, 0, 0, true, false);
	expect(zsio_guard_vacuum_sleep(guard) == 0, "sleeps on", zsio_guard_vacuum_sleep(guard));

	test_name = "a VACUUM that is ahead of the worker";
	begin(&world, 1000);
	guard->vacuums = 1;
	for (int i = 0; i < 300; i++)
	{
		pass(&world, i % 2, 0, true, false);
		zsio_guard_vacuum_ahead(guard, true, world.now);
	}
	sleep = zsio_guard_vacuum_sleep(guard);
	expect(sleep > 0, "does not sleep", sleep);
	for (int i = 0; i < 1000; i++)
	{
		pass(&world, i % 2, 0, true, false);
		zsio_guard_vacuum_ahead(guard, false, world.now);
	}
	expect(zsio_guard_vacuum_sleep(guard) < sleep / 2, "sleeps on",
		   zsio_guard_vacuum_sleep(guard));
}

/* ---- a device ------------------------------------------------------------------- */

/*
 * It serves requests one by one in the order of their arrival.  One client commits again and again,
 * which takes one request, thinks for a while, and the worker sends what it may.
 */
static void
simulate(bool guarded, double *latency, double *rate)
{
	const int	service_us = 1000;
	const int	think_us = 2000;
	const int64 seconds = 30;	/* in the first third of which the worker does nothing */
	const TimestampTz work = START + seconds / 3 * SECOND;
	ZsIoGuard	guard;
	TimestampTz now = START;
	TimestampTz served = START; /* the last of those that wait is */
	TimestampTz ends[DEPTH];	/* of the worker's requests, in their order */
	int			first = 0;
	TimestampTz client_asked = 0;
	TimestampTz client_served = 0;
	TimestampTz client_next = START;
	XLogRecPtr	flushed = 0;
	double		tokens = 0;
	double		waited = 0;
	int64		commits = 0;
	int64		completed = 0;
	TimestampTz last = now;

	zsio_guard_init(&guard);
	zsio_guard_enable(&guard, guarded);
	zsio_guard_set_depth(&guard, DEPTH);
	for (; now < START + seconds * SECOND; now += 500)
	{
		bool		counts = now > work;
		double		allowed = zsio_guard_rate(&guard);

		/* what ended */
		while (guard.in_flight > 0 && ends[first] <= now)
		{
			first = (first + 1) % DEPTH;
			zsio_guard_ended(&guard);
			zsio_guard_completed(&guard, 1, now);
			completed += counts;
		}
		if (client_asked != 0 && client_served <= now)
		{
			waited += counts ? client_served - client_asked : 0;
			commits += counts;
			client_asked = 0;
			client_next = client_served + think_us;
			flushed++;
		}

		/* what is asked for */
		if (client_asked == 0 && now >= client_next)
		{
			client_asked = now;
			client_served = served = Max(served, now) + service_us;
		}
		tokens = Min(tokens + allowed * (now - last) / SECOND, Max(allowed * 0.02, 1));
		last = now;
		while (now > work && guard.in_flight < DEPTH)
		{
			if (guard.in_flight >= zsio_guard_depth(&guard))
			{
				zsio_guard_held_up(&guard, false);
				break;
			}
			if (allowed > 0 && tokens < 1)
			{
				zsio_guard_held_up(&guard, true);
				break;
			}
			tokens -= allowed > 0 ? 1 : 0;
			served = Max(served, now) + service_us;
			ends[(first + guard.in_flight) % DEPTH] = served;
			zsio_guard_started(&guard);
		}
		if (guarded && zsio_guard_look_is_due(&guard, now))
		{
			ZsIoClients clients = {.nwal = client_asked != 0,.active = true};

			zsio_guard_look(&guard, &clients, flushed, now);
		}
		if (guarded)
			zsio_guard_step(&guard, now);
		if (guarded)
			check_bounds(&guard);
	}
	*latency = waited / Max(commits, 1) / MS;
	*rate = completed / (seconds * 2 / 3.0);
}

static void
test_device(void)
{
	double		with;
	double		without;
	double		rate;
	double		full_rate;

	test_name = "a device for both";
	simulate(false, &without, &full_rate);
	simulate(true, &with, &rate);
	printf("guard: a commit takes %.1f ms instead of %.1f ms, the worker has %.0f of %.0f requests "
		   "per second\n",
		   with, without, rate, full_rate);
	expect(with < without / 2, "commits gain too little", with);
	expect(rate > ZSIO_GUARD_RATE_MIN, "the worker starves", rate);
}

/* ---- anything ------------------------------------------------------------------- */

static void
test_random(long steps)
{
	ZsIoGuard	guard;
	TimestampTz now = START;
	XLogRecPtr	flushed = 0;
	double		p_wait = 0.1;
	int			depth = DEPTH;

	test_name = "random samples";
	zsio_guard_init(&guard);
	zsio_guard_enable(&guard, true);
	zsio_guard_set_depth(&guard, depth);
	for (long i = 0; i < steps; i++)
	{
		ZsIoClients clients = {0};

		if (rnd(2000) == 0)
			p_wait = part();
		if (rnd(5000) == 0 && guard.in_flight == 0)
		{
			depth = 1 + rnd(128);
			zsio_guard_set_depth(&guard, depth);
		}
		if (rnd(5000) == 0)
			zsio_guard_enable(&guard, rnd(4) != 0);
		/* rarely the clock jumps, or is set back */
		now += rnd(1000) == 0 ? (int64) rnd(20000000) - 5000000 : rnd(5000);
		clients.nwal = part() < p_wait ? rnd(100) : 0;
		clients.nreads = part() < p_wait ? rnd(100) : 0;
		clients.nvacuums = rnd(100) == 0 ? rnd(4) : guard.vacuums;
		clients.active = clients.nwal + clients.nreads > 0 || rnd(3) == 0;
		flushed += rnd(2);
		switch (rnd(6))
		{
			case 0:
				if (guard.in_flight < depth)
					zsio_guard_started(&guard);
				break;
			case 1:
				if (guard.in_flight > 0)
				{
					zsio_guard_ended(&guard);
					zsio_guard_completed(&guard, 1 + rnd(8), now);
				}
				break;
			case 2:
				zsio_guard_held_up(&guard, rnd(2));
				break;
			case 3:
				zsio_guard_floor(&guard, rnd(10) == 0 ? rnd(100000) : 0);
				break;
			case 4:
				zsio_guard_vacuum_ahead(&guard, rnd(2), now);
				break;
		}
		if (zsio_guard_look_is_due(&guard, now))
			zsio_guard_look(&guard, &clients, flushed, now);
		zsio_guard_step(&guard, now);
		check_bounds(&guard);
	}
}

/* ---- buckets -------------------------------------------------------------------- */

/*
 * Requests of random sizes as fast as a bucket lets them; what got through is what flowed in, at
 * most.
 */
static void
test_bucket(void)
{
	ZsIoFlow	flow = {0};
	ZsIoBucket	bucket = {0};
	double		now = 1 + part();
	double		start = now;
	double		requests = 0;
	double		bytes = 0;
	double		most;
	int			largest = 1 + rnd(128);

	test_name = "a bucket";
	flow.requests = rnd(3) == 0 ? 0 : 1 + rnd(20000);
	flow.bytes = rnd(3) == 0 ? 0 : 1e6 + rnd(1000000000);
	flow.request_bytes = largest * 8192.0;
	flow.queue_depth = 1 + rnd(64);
	for (int i = 0; i < 500; i++)
	{
		double		size = (1 + rnd(largest)) * 8192.0;
		int			counted = 1 + (int) (size / (256 * 1024));
		bool		by_rate;
		long		delay = zsio_pace_delay(&bucket, &flow, size, now, &by_rate);

		expect(delay >= 0, "a delay below zero", delay);
		expect(!by_rate || flow.requests > 0, "a rate that there is not", 0);
		if (flow.requests == 0 && flow.bytes == 0)
			expect(delay == 0 || bucket.in_flight >= flow.queue_depth, "a delay without limit",
				   delay);
		if (delay > 0 && bucket.in_flight >= flow.queue_depth)
		{
			zsio_pace_ended(&bucket);
			continue;
		}
		if (delay > 0)
		{
			/* who waits as long as it was told may go then */
			now += delay / 1e6;
			delay = zsio_pace_delay(&bucket, &flow, size, now, &by_rate);
			expect(delay <= 1, "it has waited, and is told to wait on", delay);
			now += 1e-6;
		}
		zsio_pace_charge(&bucket, &flow, counted, size);
		zsio_pace_started(&bucket);
		requests += counted;
		bytes += size;
		if (rnd(2) == 0)
			zsio_pace_ended(&bucket);
	}
	if (flow.requests > 0)
	{
		most = flow.requests * (now - start) + Max(flow.requests * 0.02, 1) + 2 + largest / 32;
		expect(requests <= most, "too many requests", requests / most);
	}
	if (flow.bytes > 0)
	{
		most = flow.bytes * (now - start) + Max(flow.bytes * 0.02, flow.request_bytes) +
			flow.request_bytes;
		expect(bytes <= most, "too many bytes", bytes / most);
	}
}

/* ---- turns ---------------------------------------------------------------------- */

#define MAX_SCANS	8
#define SEGMENT		(64 * 8192.0)
#define READ_RATE	10e6

/*
 * Scans begin at their time and read so many segments one by one from a device that serves them in
 * the order of their requests.  Gives when each ended, in seconds.
 */
static void
scan_all(int n, const double *begins, const int *segments, bool scheduled, double *ends)
{
	ZsIoTurnBucket bucket = {.rate = READ_RATE};
	ZsIoTurn	turns[MAX_SCANS] = {0};
	int			left[MAX_SCANS];
	TimestampTz served[MAX_SCANS] = {0};	/* the request under way; 0: none */
	TimestampTz asked[MAX_SCANS] = {0}; /* began to wait for its turn */
	TimestampTz device = START;
	int			running = n;

	memcpy(left, segments, n * sizeof(int));
	for (TimestampTz now = START; running > 0; now += 5 * MS)
	{
		expect(now < START + 3600 * SECOND, "a scan does not end", running);
		for (int i = 0; i < n; i++)
		{
			ZsIoTurn   *me = &turns[i];

			if (left[i] == 0 || now < START + (TimestampTz) (begins[i] * SECOND))
				continue;
			if (served[i] != 0 && served[i] > now)
				continue;
			if (served[i] != 0 && --left[i] == 0)
			{
				ends[i] = (served[i] - START) / (double) SECOND;
				memset(me, 0, sizeof(ZsIoTurn));
				running--;
				continue;
			}
			served[i] = 0;
			if (asked[i] == 0)
				asked[i] = now;
			me->pid = me->leader = i + 1;
			me->remaining = left[i] * SEGMENT;
			me->active = now;
			zsio_turn_refill(&bucket, now);
			expect(bucket.left <= READ_RATE, "the bucket runs over", bucket.left);
			if (scheduled && !zsio_turn_may_read(&bucket, turns, MAX_SCANS, me, now) &&
				(now - asked[i]) / (double) SECOND <
				zsio_turn_longest_wait(&bucket, turns, MAX_SCANS, me, SEGMENT))
			{
				me->waiting = true;
				me->waited += 0.005;
				continue;
			}
			me->waiting = false;
			asked[i] = 0;
			zsio_turn_take(&bucket, SEGMENT);
			device = Max(device, now) + (TimestampTz) (SEGMENT / READ_RATE * SECOND);
			served[i] = device;
		}
	}
}

/* Returns the mean time with turns as a part of that without. */
static double
test_turns(void)
{
	double		begins[MAX_SCANS] = {0};
	int			segments[MAX_SCANS];
	double		with[MAX_SCANS];
	double		without[MAX_SCANS];
	double		mean_with = 0;
	double		mean_without = 0;
	double		gain;
	double		last_with = 0;
	double		last_without = 0;
	int			n = 2 + rnd(MAX_SCANS - 1);

	test_name = "turns of scans";
	for (int i = 0; i < n; i++)
		segments[i] = 20 + rnd(200);
	scan_all(n, begins, segments, true, with);
	scan_all(n, begins, segments, false, without);
	for (int i = 0; i < n; i++)
	{
		mean_with += with[i] / n;
		mean_without += without[i] / n;
		last_with = Max(last_with, with[i]);
		last_without = Max(last_without, without[i]);
	}
	expect(mean_with <= mean_without, "the mean is longer", mean_with / mean_without);
	expect(last_with <= last_without * 1.1, "the last ends later", last_with / last_without);

	gain = mean_with / mean_without;

	/* short ones that keep coming do not keep a long one out for ever */
	test_name = "a long scan beside short ones";
	begins[0] = 0;
	segments[0] = 100;
	for (int i = 1; i < MAX_SCANS; i++)
	{
		begins[i] = (i - 1) * 3.1;
		segments[i] = 60;
	}
	scan_all(MAX_SCANS, begins, segments, true, with);
	expect(with[1] < with[0], "the first short one does not come first", with[1]);
	expect(with[0] < with[MAX_SCANS - 1], "the long one comes last", with[0]);
	return gain;
}

int
main(int argc, char **argv)
{
	long		steps = argc > 1 ? atol(argv[1]) : 300000;
	uint64		seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	long		nsteps = 0;
	double		gain = 0;

	rnd_start(seed);
	for (int i = 3; i < argc; i++)
		nsteps += replay(argv[i]);
	test_rules();
	test_rest();
	test_group();
	test_vacuum();
	test_device();
	test_random(steps);
	for (long i = 0; i < steps / 500; i++)
		test_bucket();
	for (long i = 0; i < steps / 5000; i++)
		gain += test_turns() / (steps / 5000);
	printf("turns: scans end after %.0f %% of the time\n", gain * 100);
	expect(gain < 0.9, "turns gain too little", gain);
	printf("ok: the guard as recorded (%ld steps), by its rules and on %ld random samples; "
		   "buckets; "
		   "turns; seed %llu\n",
		   nsteps, steps, (unsigned long long) seed);
	return 0;
}
