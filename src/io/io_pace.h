/*-------------------------------------------------------------------------
 *
 * io_pace.h
 *	  Token buckets: requests and bytes per second of one volume.
 *
 * Pure: calls nothing of the server.  Times are seconds of any clock that does not go back.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_pace.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef IO_PACE_H
#define IO_PACE_H

#include "postgres.h"

/* What flows into a bucket, this worker's part of the volume's limits; 0: no limit. */
typedef struct ZsIoFlow
{
	double		requests;		/* a second */
	double		bytes;			/* a second */
	double		request_bytes;	/* of the largest request */
	int			queue_depth;	/* requests that may be in flight */
} ZsIoFlow;

/* Zeroed at first. */
typedef struct ZsIoBucket
{
	double		refilled;		/* when; 0: never */
	double		requests;		/* that it holds; below 0 after a request that counts as many */
	double		bytes;
	int			in_flight;
} ZsIoBucket;

/* ---- (io_pace.c) --------------------------------------------------------------- */

/*
 * Time in microseconds until a request of that many bytes fits; 0 = now.  *by_rate: it is the rate
 * of requests that it has to wait for.
 */
extern long zsio_pace_delay(ZsIoBucket *bucket, const ZsIoFlow *flow, double bytes, double now,
							bool *by_rate);

/* A request is about to be submitted that counts as so many. */
extern void zsio_pace_charge(ZsIoBucket *bucket, const ZsIoFlow *flow, int requests,
							 double bytes);

/* It was not sent: puts it back. */
extern void zsio_pace_refund(ZsIoBucket *bucket, const ZsIoFlow *flow, int requests,
							 double bytes);

/* It is in flight; it ended. */
extern void zsio_pace_started(ZsIoBucket *bucket);
extern void zsio_pace_ended(ZsIoBucket *bucket);

#endif							/* IO_PACE_H */
