/*-------------------------------------------------------------------------
 *
 * io_pace.c
 *	  Limits: requests and bytes per second.
 *
 * Two token buckets for each volume, each worker with its share of the volume's limits;
 * requests also by what the guard allows.  A bucket holds what 20 ms bring, at least one
 * request, so that a worker that was idle does not start with a burst that foreground
 * requests would have to wait behind.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_pace.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "portability/instr_time.h"

#include "io_internal.h"
#include "io_profile.h"

#define BURST_SECONDS	0.02

/* While the volume has all the requests in flight that it should have. */
#define QUEUE_WAIT_US	1000

typedef struct Bucket
{
	instr_time	last_refill;
	double		requests_left;
	double		bytes_left;
	int			in_flight;
} Bucket;

static Bucket buckets[ZSIO_MAX_VOLUMES];

/* This worker's part of a limit; 0 = no limit. */
static double
share(double limit)
{
	return limit / Max(zsio_workers, 1);
}

/* Requests per second; 0: no limit. */
static double
request_rate(const ZsIoLimits *limits)
{
	double		limit = share(limits->write_iops);
	double		guard = zsio_guard_rate();

	if (limit == 0 || guard == 0)
		return Max(limit, guard);
	return Min(limit, guard);
}

static void
refill(Bucket *bucket, const ZsIoLimits *limits)
{
	instr_time	now;
	double		seconds;
	double		rate;

	INSTR_TIME_SET_CURRENT(now);
	if (INSTR_TIME_IS_ZERO(bucket->last_refill))
		bucket->last_refill = now;
	seconds = INSTR_TIME_GET_DOUBLE(now) - INSTR_TIME_GET_DOUBLE(bucket->last_refill);
	bucket->last_refill = now;

	rate = request_rate(limits);
	bucket->requests_left = Min(bucket->requests_left + seconds * rate,
								Max(rate * BURST_SECONDS, 1));
	rate = share(limits->write_bytes);
	bucket->bytes_left = Min(bucket->bytes_left + seconds * rate,
							 Max(rate * BURST_SECONDS, limits->request_blocks * BLCKSZ));
}

long
zsio_pace_delay(int volume, int nblocks)
{
	const ZsIoLimits *limits = zsio_volume_limits(volume);
	Bucket	   *bucket = &buckets[volume];
	double		bytes = nblocks * BLCKSZ;
	double		delay = 0;
	double		rate;

	zsio_guard_tick();
	if (bucket->in_flight >= limits->queue_depth)
		return QUEUE_WAIT_US;
	refill(bucket, limits);
	rate = request_rate(limits);
	if (rate > 0 && bucket->requests_left < 1)
	{
		delay = (1 - bucket->requests_left) / rate;
		zsio_guard_held_up(true);
	}
	if (limits->write_bytes > 0 && bucket->bytes_left < bytes)
		delay = Max(delay, (bytes - bucket->bytes_left) / share(limits->write_bytes));
	return delay == 0 ? 0 : (long) (delay * 1000000) + 1;
}

void
zsio_pace_charge(const ZsIoRun *run)
{
	const ZsIoLimits *limits = zsio_volume_limits(run->volume);
	Bucket	   *bucket = &buckets[run->volume];

	/* without a limit nothing flows in: there must be no debt when one is set */
	if (request_rate(limits) > 0)
		bucket->requests_left -= run->counted;
	if (limits->write_bytes > 0)
		bucket->bytes_left -= run->nblocks * BLCKSZ;
}

void
zsio_pace_started(const ZsIoRun *run)
{
	buckets[run->volume].in_flight++;
}

void
zsio_pace_ended(const ZsIoRun *run)
{
	Assert(buckets[run->volume].in_flight > 0);
	buckets[run->volume].in_flight--;
}
