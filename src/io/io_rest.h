/*-------------------------------------------------------------------------
 *
 * io_rest.h
 *	  When the cleaner may rest.
 *
 * Pure: calls nothing of the server, so fuzz/guard_replay.c runs it alone.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_rest.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef IO_REST_H
#define IO_REST_H

#include "postgres.h"

#include "datatype/timestamp.h"

/* Microseconds: the shortest time without waits before a rest, and the longest. */
#define ZSIO_REST_AFTER_US		INT64CONST(10000000)
#define ZSIO_REST_AFTER_MAX_US	INT64CONST(640000000)

/* Clients hardly wait: milliseconds of a sync, and clients at a time, on the average. */
#define ZSIO_REST_STALL_MS		2.0
#define ZSIO_REST_CLIENTS		0.5

/* Changed by the functions below only. */
typedef struct ZsIoRest
{
	double		stall;			/* averages */
	double		waiting;
	TimestampTz last_look;		/* 0: none yet */
	TimestampTz calm_since;		/* 0: clients wait */
	int64		after_us;		/* so long they must not, before it rests */
	bool		resting;
	TimestampTz resting_since;
} ZsIoRest;

/* ---- (io_rest.c) --------------------------------------------------------------- */

/* Nothing is known of clients: no rest. */
extern void zsio_rest_init(ZsIoRest *rest);

/*
 * One look: how long the sync of WAL that clients wait for has taken, in milliseconds, and how many
 * of them wait for a page to be read or written.  excused: an immediate checkpoint is under way,
 * and what is seen meanwhile is its doing.
 */
extern void zsio_rest_look(ZsIoRest *rest, double stall, int nwaiting, bool excused,
						   TimestampTz now);

#endif							/* IO_REST_H */
