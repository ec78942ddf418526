/*-------------------------------------------------------------------------
 *
 * io_limit.c
 *	  How fast a worker may go: the guard and the limits of volumes, in a worker.
 *
 * io_guard.c and io_pace.c decide, and know nothing of the server.  Here they get what they decide
 * by: samples of what clients do, positions of WAL, settings, the time; and what they decide is
 * told to others by shared memory: to pg_stat_zedstore_io, and to processes that vacuum.
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
#include "portability/instr_time.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "io_worker.h"

/* The worker has just begun. */
void
zsio_limit_init(ZsIoWorker *worker)
{
	Assert(worker->clients_waited == NULL);
	zsio_guard_init(&worker->guard);
	zsio_guard_enable(&worker->guard, zsio_guard);
	zsio_rest_init(&worker->rest);
	worker->clients_waited = MemoryContextAllocZero(TopMemoryContext,
													MaxBackends * sizeof(TimestampTz));
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
	zsio_throttle_set(worker->shared, zsio_guard_vacuum_sleep(&worker->guard));
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
		pg_atomic_write_u32(&shared->rate, 0);
		pg_atomic_write_u32(&shared->window, zsio_guard_depth(guard));
		zsio_throttle_set(shared, 0);
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
