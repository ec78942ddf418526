/*-------------------------------------------------------------------------
 *
 * io_pace.c
 *	  Limits: requests and bytes per second.
 *
 * Two token buckets, each worker with its share of the settings' limits.  A bucket holds what
 * 20 ms bring, at least one request, so that a worker that was idle does not start with
 * a burst that foreground requests would have to wait behind.
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

#define BURST_SECONDS	0.02

static instr_time last_refill;
static double requests_left = 0;
static double bytes_left = 0;

static double
share(int limit, double unit)
{
	return limit * unit / Max(zsio_workers, 1);
}

static void
refill(void)
{
	instr_time	now;
	double		seconds;
	double		rate;

	INSTR_TIME_SET_CURRENT(now);
	if (INSTR_TIME_IS_ZERO(last_refill))
		last_refill = now;
	seconds = INSTR_TIME_GET_DOUBLE(now) - INSTR_TIME_GET_DOUBLE(last_refill);
	last_refill = now;

	rate = share(zsio_max_iops, 1);
	requests_left = Min(requests_left + seconds * rate, Max(rate * BURST_SECONDS, 1));
	rate = share(zsio_max_bandwidth, 1024);
	bytes_left = Min(bytes_left + seconds * rate,
					 Max(rate * BURST_SECONDS, zsio_request_blocks * BLCKSZ));
}

long
zsio_pace_delay(int nblocks)
{
	double		delay = 0;

	refill();
	if (zsio_max_iops > 0 && requests_left < 1)
		delay = Max(delay, (1 - requests_left) / share(zsio_max_iops, 1));
	if (zsio_max_bandwidth > 0 && bytes_left < nblocks * BLCKSZ)
		delay = Max(delay, (nblocks * BLCKSZ - bytes_left) / share(zsio_max_bandwidth, 1024));
	return delay == 0 ? 0 : (long) (delay * 1000000) + 1;
}

void
zsio_pace_charge(int nblocks)
{
	/* without a limit nothing flows in: there must be no debt when one is set */
	if (zsio_max_iops > 0)
	{
		/* volumes count a larger request as several of 256 kB */
		requests_left -= (nblocks * BLCKSZ + 256 * 1024 - 1) / (256 * 1024);
	}
	if (zsio_max_bandwidth > 0)
		bytes_left -= nblocks * BLCKSZ;
}
