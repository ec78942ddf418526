/*-------------------------------------------------------------------------
 *
 * io_turn.c
 *	  Which of several large scans reads first: the decision.
 *
 * A volume that is limited divides its requests fairly among all who read, so
 * scans that run at the same time all end late.  Here a scan asks before it reads a
 * segment ahead.  On each volume with a read limit:
 *
 *	- the scan with the least left to read never waits;
 *	- the others read what it leaves of the limit: a bucket fills at a little less than the rate
 *	  of the limit, what anybody reads is taken out of it, and they go on when it is full;
 *	- what a scan has left counts for less the longer it has waited: as if it had been reading at a
 *	  fifth of the limit all the time, so that scans that come later and are
 *	  shorter do not keep it waiting for ever;
 *	- no wait for one segment takes longer than twenty times what the volume needs for
 *	  one of each waiting scan, so everyone gets at least a twentieth of the volume's rate together.
 *
 * Locks: the caller's.  Nothing here calls the server: see io_turn.h.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_turn.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "io_turn.h"

/* Seconds that the bucket holds, that it may be behind, and that a scan counts after it asked. */
#define BURST_SECONDS	0.05
#define DEBT_SECONDS	0.25
#define ACTIVE_SECONDS	1.0

/* The part of the bucket that is as good as full. */
#define FULL_PART		0.99

/*
 * The part of the limit at which the bucket fills.  Below 1: where two scans use all of the limit
 * the bucket must run dry, or nobody would ever have to wait.
 */
#define FILL_PART		0.75

/*
 * The part of its limit by which a volume's time of waiting counts.  At 1 two equal scans would
 * change places all the time.
 */
#define AGEING			0.2

/* A wait is at most that many times what the volume needs for a segment of each waiting scan. */
#define WAIT_FACTOR		20
#define WAIT_MIN		0.05
#define WAIT_MAX		5.0

static double
seconds_between(TimestampTz from, TimestampTz to)
{
	return to > from ? (to - from) / 1000000.0 : 0;
}

/* What flowed in until now. */
void
zsio_turn_refill(ZsIoTurnBucket *bucket, TimestampTz now)
{
	double		seconds = seconds_between(bucket->refilled, now);

	Assert(bucket->rate > 0);
	bucket->left = Min(bucket->left + seconds * bucket->rate * FILL_PART,
					   bucket->rate * BURST_SECONDS);
	bucket->refilled = now;
}

/* Somebody reads that much. */
void
zsio_turn_take(ZsIoTurnBucket *bucket, double bytes)
{
	Assert(bytes >= 0);
	bucket->left = Max(bucket->left - bytes, -bucket->rate * DEBT_SECONDS);
}

/* What was taken and came from the cache. */
void
zsio_turn_give_back(ZsIoTurnBucket *bucket, double bytes)
{
	Assert(bytes >= 0);
	bucket->left = Min(bucket->left + bytes, bucket->rate * BURST_SECONDS);
}

/*
 * Does the volume do less than it could?  A bucket that is merely not empty says little: whose turn
 * it is takes a segment at a time.
 */
static bool
is_full(const ZsIoTurnBucket *bucket)
{
	return bucket->left >= bucket->rate * BURST_SECONDS * FULL_PART;
}

/* What counts when it is decided whose turn it is: less comes first. */
static double
rank(const ZsIoTurn *turn, const ZsIoTurnBucket *bucket)
{
	return turn->remaining - turn->waited * bucket->rate * AGEING;
}

static bool
is_competitor(const ZsIoTurn *turn, const ZsIoTurn *me, TimestampTz now)
{
	return turn->pid != 0 && turn->volume == me->volume && turn->leader != me->leader &&
		(turn->waiting || seconds_between(turn->active, now) < ACTIVE_SECONDS);
}

/* May it read now?  Equals go by their place. */
bool
zsio_turn_may_read(const ZsIoTurnBucket *bucket, const ZsIoTurn *turns, int nturns,
				   const ZsIoTurn *me, TimestampTz now)
{
	double		own = rank(me, bucket);

	Assert(me >= turns && me < turns + nturns);
	Assert(me->pid != 0 && me->waited >= 0);
	if (is_full(bucket))
		return true;
	for (int i = 0; i < nturns; i++)
	{
		const ZsIoTurn *turn = &turns[i];
		double		other;

		if (!is_competitor(turn, me, now))
			continue;
		other = rank(turn, bucket);
		if (other < own || (other == own && turn < me))
			return false;
	}
	return true;
}

/* Seconds that it waits at most: by how many wait. */
double
zsio_turn_longest_wait(const ZsIoTurnBucket *bucket, const ZsIoTurn *turns, int nturns,
					   const ZsIoTurn *me, double bytes)
{
	double		seconds = bytes / bucket->rate * WAIT_FACTOR;
	int			nwaiting = 0;

	Assert(bucket->rate > 0 && bytes >= 0);
	for (int i = 0; i < nturns; i++)
		nwaiting += turns[i].pid != 0 && turns[i].waiting && turns[i].volume == me->volume;
	return Min(Max(seconds * Max(nwaiting, 1), WAIT_MIN), WAIT_MAX);
}
