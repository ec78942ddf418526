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
 * Invariants: what a bucket holds is no more than that; no more requests are in flight than were
 * started.
 *
 * Locks: none.  Nothing here calls the server: see io_pace.h.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_pace.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "io_pace.h"

#define BURST_SECONDS	0.02

/* While the volume has all the requests in flight that it should have. */
#define QUEUE_WAIT_US	1000

/* What is in the bucket now. */
static void
refill(ZsIoBucket *bucket, const ZsIoFlow *flow, double now)
{
	double		seconds;

	if (bucket->refilled == 0)
		bucket->refilled = now;
	seconds = now - bucket->refilled;
	Assert(seconds >= 0);
	bucket->refilled = now;
	bucket->requests = Min(bucket->requests + seconds * flow->requests,
						   Max(flow->requests * BURST_SECONDS, 1));
	bucket->bytes = Min(bucket->bytes + seconds * flow->bytes,
						Max(flow->bytes * BURST_SECONDS, flow->request_bytes));
}

/* When a request may be sent: see io_pace.h. */
long
zsio_pace_delay(ZsIoBucket *bucket, const ZsIoFlow *flow, double bytes, double now, bool *by_rate)
{
	double		delay = 0;

	Assert(flow->requests >= 0 && flow->bytes >= 0);
	Assert(bytes > 0);
	*by_rate = false;
	if (bucket->in_flight >= flow->queue_depth)
		return QUEUE_WAIT_US;
	refill(bucket, flow, now);
	if (flow->requests > 0 && bucket->requests < 1)
	{
		delay = (1 - bucket->requests) / flow->requests;
		*by_rate = true;
	}
	if (flow->bytes > 0 && bucket->bytes < bytes)
		delay = Max(delay, (bytes - bucket->bytes) / flow->bytes);
	Assert(delay >= 0);
	return delay == 0 ? 0 : (long) (delay * 1000000) + 1;
}

/* Takes a request out of the bucket. */
void
zsio_pace_charge(ZsIoBucket *bucket, const ZsIoFlow *flow, int requests, double bytes)
{
	Assert(requests > 0 && bytes > 0);

	/* without a limit nothing flows in: there must be no debt when one is set */
	if (flow->requests > 0)
		bucket->requests -= requests;
	if (flow->bytes > 0)
		bucket->bytes -= bytes;
}

/* Puts a request back into the bucket: it was not sent. */
void
zsio_pace_refund(ZsIoBucket *bucket, const ZsIoFlow *flow, int requests, double bytes)
{
	Assert(requests > 0 && bytes > 0);
	if (flow->requests > 0)
		bucket->requests += requests;
	if (flow->bytes > 0)
		bucket->bytes += bytes;
}

/* One more request is in flight. */
void
zsio_pace_started(ZsIoBucket *bucket)
{
	Assert(bucket->in_flight >= 0);
	bucket->in_flight++;
}

/* One has ended. */
void
zsio_pace_ended(ZsIoBucket *bucket)
{
	Assert(bucket->in_flight > 0);
	bucket->in_flight--;
}
