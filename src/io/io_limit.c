/*-------------------------------------------------------------------------
 *
 * io_limit.c
 *	  How fast a worker may go: the guard and the limits of volumes, in a worker.
 *
 * io_guard.c and io_pace.c decide, and know nothing of the server.  Here they get what they decide
 * by: samples of what clients do, positions of WAL, settings, the time; and what they decide is
 * told to others by shared memory: to pg_stat_zedstore_io, to processes that vacuum, and to those
 * that commit (io_group.c).
 *
 * Locks: none.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_limit.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "io_worker.h"

/* Microseconds: looks can miss syncs that take less.  And averages that are as good as 0. */
#define CALM_SYNC_US	5000.0
#define CALM_WAITS		0.5

/* The worker has just begun. */
void
zsio_limit_init(ZsIoWorker *worker)
{
	Assert(worker->clients_waited == NULL);
	zsio_guard_init(&worker->guard);
	zsio_guard_enable(&worker->guard, zsio_guard);
	zsio_rest_init(&worker->rest);
	zsio_group_init(&worker->group);
	worker->clients_waited = MemoryContextAllocZero(TopMemoryContext,
													MaxBackends * sizeof(TimestampTz));
}

/* Syncs of the WAL that processes have reported; writes where these sync. */
static uint64
count_syncs(void)
{
	bool		by_writing = wal_sync_method == WAL_SYNC_METHOD_OPEN ||
		wal_sync_method == WAL_SYNC_METHOD_OPEN_DSYNC;

#ifdef ZS_WAL_IS_IN_IO_STATS
	PgStat_IO  *stats = pgstat_fetch_stat_io();
	uint64		n = 0;

	for (int i = 0; i < BACKEND_NUM_TYPES; i++)
		n += stats->stats[i].counts[IOOBJECT_WAL][IOCONTEXT_NORMAL]
			[by_writing ? IOOP_WRITE : IOOP_FSYNC];
	return n;
#else
	PgStat_WalStats *stats = pgstat_fetch_stat_wal();

	return by_writing ? stats->wal_write : stats->wal_sync;
#endif
}

/* How long shall commits wait for each other?  That is for the first worker to say. */
static void
see_to_commits(ZsIoWorker *worker, bool syncing, TimestampTz now)
{
	ZsIoGroup  *group = &worker->group;

	if (worker->no != 0)
		return;
	if (!zsio_group_commit || RecoveryInProgress())
	{
		zsio_group_init(group);
		zsio_commit_set(0, 0);
		return;
	}
	zsio_group_look(group, syncing, now);
	if (zsio_group_count_is_due(group, now))
		zsio_group_count(group, count_syncs(), now);
	zsio_commit_set(group->sync, zsio_group_delay(group));
}

/* Tells others whether the cleaner rests, and for how long it has. */
static void
show_rest(ZsIoWorker *worker, bool resting, TimestampTz now)
{
	ZsIoWorkerShared *shared = worker->shared;
	bool		rested = pg_atomic_read_u32(&shared->resting) != 0;

	/* the clock may have been set back */
	if (rested && now > worker->rest_shown)
		zsio_count(&shared->rest_us, now - worker->rest_shown);
	if (resting && !rested)
		zsio_count(&shared->rests, 1);
	pg_atomic_write_u32(&shared->resting, resting);
	worker->rest_shown = now;
}

static void
look(ZsIoWorker *worker, TimestampTz now)
{
	XLogRecPtr	flushed = RecoveryInProgress() ? InvalidXLogRecPtr : GetFlushRecPtr(NULL);
	ZsIoClients clients;

	zsio_look_at_clients(worker->clients_waited, now, &clients);
	zsio_guard_look(&worker->guard, &clients, flushed, now);
	zsio_rest_look(&worker->rest, worker->guard.stalls.now, clients.nreads + clients.nwrites,
				   worker->burst, now);
	show_rest(worker, zsio_cleaner && zsio_limit_may_rest(worker), now);
	see_to_commits(worker, clients.syncing, now);
	zsio_throttle_set(worker->shared, zsio_guard_vacuum_sleep(&worker->guard));
}

/* What others were told of clients does not hold any more: nobody looks at them. */
static void
tell_nothing(ZsIoWorker *worker)
{
	pg_atomic_write_u32(&worker->shared->rate, 0);
	zsio_throttle_set(worker->shared, 0);
	show_rest(worker, false, GetCurrentTimestamp());
	if (worker->no == 0)
		zsio_commit_set(0, 0);
}

/* The worker stops working: see io_worker.h. */
void
zsio_limit_end(ZsIoWorker *worker)
{
	Assert(worker->shared != NULL);
	tell_nothing(worker);
	zsio_rest_init(&worker->rest);
	zsio_group_init(&worker->group);
}

/* May the cleaner rest?  Not where clients' own writes go around the page cache. */
bool
zsio_limit_may_rest(const ZsIoWorker *worker)
{
	return zsio_guard && zsio_rest && worker->rest.resting && !zsio_cache_bypassed();
}

/* Looks at client backends when it is time to; true while they do I/O. */
bool
zsio_limit_tick(ZsIoWorker *worker)
{
	ZsIoWorkerShared *shared = worker->shared;
	ZsIoGuard  *guard = &worker->guard;
	TimestampTz now;

	zsio_guard_enable(guard, zsio_guard);
	if (!zsio_guard)
	{
		pg_atomic_write_u32(&shared->window, zsio_guard_depth(guard));
		tell_nothing(worker);
		return false;
	}
	now = GetCurrentTimestamp();
	if (zsio_guard_look_is_due(guard, now))
		look(worker, now);
	if (zsio_guard_step(guard, now))
	{
		pg_atomic_write_u32(&shared->window, zsio_guard_depth(guard));
		pg_atomic_write_u32(&shared->rate, (uint32) zsio_guard_rate(guard));
	}
	return guard->active;
}

/*
 * May the next look come later?  If nothing is in flight, looks see nobody wait, and syncs of the
 * WAL are known to be too short for them to see more.
 */
bool
zsio_limit_is_calm(const ZsIoWorker *worker)
{
	const ZsIoGuard *guard = &worker->guard;

	return zsio_guard && guard->in_flight == 0 && guard->vacuums == 0 &&
		guard->stalls.now < CALM_WAITS && guard->reads.now < CALM_WAITS &&
		worker->group.sync > 0 && worker->group.sync < CALM_SYNC_US;
}

/* This worker's part of a limit; 0 = no limit. */
static double
share(double limit)
{
	return limit / Max(zsio_workers, 1);
}

/* What flows into the bucket of a volume. */
static void
get_flow(const ZsIoWorker *worker, int volume, ZsIoFlow *flow)
{
	const ZsIoLimits *limits = zsio_volume_limits(volume);
	double		limit = share(limits->write_iops);
	double		guard = zsio_guard_rate(&worker->guard);

	flow->requests = limit == 0 || guard == 0 ? Max(limit, guard) : Min(limit, guard);
	flow->bytes = share(limits->write_bytes);
	flow->request_bytes = limits->request_blocks * BLCKSZ;
	flow->queue_depth = limits->queue_depth;
}

static ZsIoBucket *
bucket_of(ZsIoWorker *worker, int volume)
{
	Assert(volume >= 0 && volume < ZSIO_MAX_VOLUMES);
	return &worker->buckets[volume];
}

/* Microseconds until a request of that many blocks fits the volume's limits; 0: now. */
long
zsio_limit_delay(ZsIoWorker *worker, int volume, int nblocks)
{
	instr_time	now;
	ZsIoFlow	flow;
	bool		by_rate;
	long		delay;

	Assert(nblocks > 0 && nblocks <= ZSIO_MAX_RUN_BLOCKS);
	zsio_limit_tick(worker);
	get_flow(worker, volume, &flow);
	INSTR_TIME_SET_CURRENT(now);
	delay = zsio_pace_delay(bucket_of(worker, volume), &flow, nblocks * BLCKSZ,
							INSTR_TIME_GET_DOUBLE(now), &by_rate);
	if (by_rate)
		zsio_guard_held_up(&worker->guard, true);
	return delay;
}

/* So many blocks are about to be written on the volume, without a run. */
void
zsio_limit_take(ZsIoWorker *worker, int volume, int nblocks)
{
	ZsIoFlow	flow;
	int			bytes = nblocks * BLCKSZ;

	Assert(nblocks > 0);
	get_flow(worker, volume, &flow);
	zsio_pace_charge(bucket_of(worker, volume), &flow,
					 zsio_requests_counted(zsio_volume_limits(volume), bytes), bytes);
}

/* The run is about to be submitted. */
void
zsio_limit_charge(ZsIoWorker *worker, const ZsIoRun *run)
{
	ZsIoFlow	flow;

	Assert(run->state == ZSIO_RUN_CLAIMED);
	get_flow(worker, run->volume, &flow);
	zsio_pace_charge(bucket_of(worker, run->volume), &flow, run->counted, run->nblocks * BLCKSZ);
}

/* It does not go to the device: what was charged is given back. */
void
zsio_limit_refund(ZsIoWorker *worker, const ZsIoRun *run)
{
	ZsIoFlow	flow;

	Assert(run->state == ZSIO_RUN_CLAIMED && run->later);
	get_flow(worker, run->volume, &flow);
	zsio_pace_refund(bucket_of(worker, run->volume), &flow, run->counted,
					 run->nblocks * BLCKSZ);
}

/* It is in flight. */
void
zsio_limit_started(ZsIoWorker *worker, const ZsIoRun *run)
{
	Assert(run->state == ZSIO_RUN_IN_FLIGHT);
	zsio_pace_started(bucket_of(worker, run->volume));
	zsio_guard_started(&worker->guard);
}

/* It ended, with or without an error. */
void
zsio_limit_ended(ZsIoWorker *worker, const ZsIoRun *run)
{
	Assert(run->state == ZSIO_RUN_ENDED);
	zsio_pace_ended(bucket_of(worker, run->volume));
	zsio_guard_ended(&worker->guard);
}
