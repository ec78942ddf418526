/*-------------------------------------------------------------------------
 *
 * io_rest.c
 *	  When the cleaner may rest, since clients hardly wait for I/O.
 *
 * A page that is cleaned ahead of the clock hand is written to the device.  A page that a client
 * evicts goes to the kernel's page cache, where it may be changed many more times before
 * the kernel or the next checkpoint writes it out.  On a fast device with enough memory that is
 * cheaper, and nobody waits for it.  So the cleaner rests when clients have hardly waited for
 * I/O for a while, and begins again within a second or so when they do.
 *
 * It may be the cleaner itself that keeps them from waiting.  Then waits come back soon after it
 * has begun to rest, and the next rest has to be preceded by twice as long a time without waits;
 * when they did not come back for that time, by the shortest time again.
 *
 * Invariants:
 *	1. The averages are not negative.
 *	2. The time that has to precede a rest is within its bounds.
 *	3. It rests only while clients hardly wait.
 *
 * Locks: none.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_rest.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "io_rest.h"

/* Time constant of the averages, in seconds. */
#define AVERAGE_SECONDS	1.0

/* Nothing is known: see io_rest.h. */
void
zsio_rest_init(ZsIoRest *rest)
{
	memset(rest, 0, sizeof(ZsIoRest));
	rest->after_us = ZSIO_REST_AFTER_US;
}

/* Clients wait: the rest is over, and too short a one makes the next one come later. */
static void
wake_up(ZsIoRest *rest, TimestampTz now)
{
	if (rest->resting)
	{
		if (now - rest->resting_since < rest->after_us)
			rest->after_us = Min(rest->after_us * 2, ZSIO_REST_AFTER_MAX_US);
		else
			rest->after_us = ZSIO_REST_AFTER_US;
	}
	rest->resting = false;
	rest->calm_since = 0;
}

/* One look at clients: see io_rest.h. */
void
zsio_rest_look(ZsIoRest *rest, double stall, int nwaiting, bool excused, TimestampTz now)
{
	/* the clock may have been set back */
	double		seconds = rest->last_look == 0 ? 0 : Max((now - rest->last_look) / 1000000.0, 0);
	double		part = Min(seconds / AVERAGE_SECONDS, 1);

	Assert(stall >= 0 && nwaiting >= 0);
	rest->last_look = now;
	if (excused)
		return;
	rest->stall += (stall - rest->stall) * part;
	rest->waiting += (nwaiting - rest->waiting) * part;
	Assert(rest->stall >= 0 && rest->waiting >= 0); /* 1 */

	if (rest->stall > ZSIO_REST_STALL_MS || rest->waiting > ZSIO_REST_CLIENTS)
		wake_up(rest, now);
	else if (rest->calm_since == 0 || rest->calm_since > now)
		rest->calm_since = now;
	else if (!rest->resting && now - rest->calm_since >= rest->after_us)
	{
		rest->resting = true;
		rest->resting_since = now;
	}
	Assert(rest->after_us >= ZSIO_REST_AFTER_US &&
		   rest->after_us <= ZSIO_REST_AFTER_MAX_US);	/* 2 */
	Assert(!rest->resting || rest->calm_since != 0);	/* 3 */
}
