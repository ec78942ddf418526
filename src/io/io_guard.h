/*-------------------------------------------------------------------------
 *
 * io_guard.h
 *	  The controller that keeps a worker out of clients' way.
 *
 * Pure: what comes in are samples of what clients do, what the worker's requests do, and the time;
 * what comes out are a rate, a depth and a sleep for VACUUMs.  It calls nothing of the server, so
 * fuzz/guard_replay.c runs it alone.  io_limit.c runs it in a worker.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_guard.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef IO_GUARD_H
#define IO_GUARD_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"

/* Microseconds: what a VACUUM sleeps for 200 units of cost, at most. */
#define ZSIO_MAX_VACUUM_SLEEP	50000

/* A client counts as active that long after it was last seen to wait for I/O (microseconds). */
#define ZSIO_ACTIVE_US	1000000

/* The rate never falls below that (requests per second). */
#define ZSIO_GUARD_RATE_MIN		50.0
/* Nor the depth below that, unless the worker has less. */
#define ZSIO_GUARD_DEPTH_MIN	2

/* What client backends do just now, those that vacuum or analyze not among them. */
typedef struct ZsIoClients
{
	int			nwal;			/* that wait for WAL to be written or synced */
	int			nreads;			/* that wait for a read */
	int			nwrites;		/* that wait for a page to be written */
	int			nvacuums;		/* processes that vacuum or analyze */
	bool		syncing;		/* some process, whatever it is, syncs the WAL */

	/*
	 * Is there one that has waited for I/O in the last ZSIO_ACTIVE_US?  Who has left does not
	 * count, and who waits for a checkpoint is not in that one's way.
	 */
	bool		active;
} ZsIoClients;

/* The average of a signal, and what is usual. */
typedef struct ZsIoSignal
{
	double		now;
	double		usual;
} ZsIoSignal;

/* A reason for VACUUMs to sleep. */
typedef struct ZsIoSleep
{
	double		us;
	TimestampTz last_step;
} ZsIoSleep;

/*
 * All that a worker's guard knows.  Changed by the functions below only.
 */
typedef struct ZsIoGuard
{
	/* what the worker has told of itself */
	bool		enabled;		/* else there is no limit */
	int			depth;			/* requests that it can have in flight */
	int			in_flight;
	TimestampTz last_work;		/* a request ended */
	double		completed;		/* requests since the last step */
	double		completed_before;	/* in the step before */
	bool		paced;			/* was the rate what held it up since the last step? */
	bool		queued;			/* was it the depth? */
	double		floor_rate;		/* what its work needs at least */

	/* the signals */
	TimestampTz last_look;
	TimestampTz wal_wait_since; /* 0: nobody waits */
	XLogRecPtr	wal_flushed;
	ZsIoSignal	stalls;			/* age of the sync that is waited for, ms */
	ZsIoSignal	reads;			/* backends that wait for a read */
	bool		active;			/* at the last look */
	bool		was_active;		/* since the last step */
	bool		congested;		/* since the last step */

	/* the rate */
	double		rate;
	double		device;			/* the device's rate; 0: not known */
	bool		slow_start;		/* there has been no congestion yet */
	bool		unguarded;		/* nobody was active in the last step: no limit */
	TimestampTz last_step;
	TimestampTz last_eased;

	/* what is asked of VACUUMs */
	ZsIoSleep	sleep_for_clients;
	ZsIoSleep	sleep_for_worker;
	TimestampTz last_ahead;
	int			vacuums;		/* that go on */
	double		waiting_share;	/* of the time somebody waited for I/O, lately */
} ZsIoGuard;

/* ---- (io_guard.c) -------------------------------------------------------------- */

extern void zsio_guard_init(ZsIoGuard *guard);

/* What the worker tells: whether there is a guard at all, and how much can be in flight and is. */
extern void zsio_guard_enable(ZsIoGuard *guard, bool enabled);
extern void zsio_guard_set_depth(ZsIoGuard *guard, int depth);
extern void zsio_guard_started(ZsIoGuard *guard);
extern void zsio_guard_ended(ZsIoGuard *guard);

/*
 * Requests, as the volume counts them, were completed; the next one had to wait for the rate, or
 * for the depth.
 */
extern void zsio_guard_completed(ZsIoGuard *guard, int requests, TimestampTz now);
extern void zsio_guard_held_up(ZsIoGuard *guard, bool by_rate);

/* Sets what the work at hand needs at least; 0: nothing. */
extern void zsio_guard_floor(ZsIoGuard *guard, double requests_per_second);

/* The worker could not write behind a VACUUM before that came around in its ring; or could. */
extern void zsio_guard_vacuum_ahead(ZsIoGuard *guard, bool ahead, TimestampTz now);

/* Is it time for a look at clients?  Then one look: WAL is on disk up to flushed. */
extern bool zsio_guard_look_is_due(const ZsIoGuard *guard, TimestampTz now);
extern void zsio_guard_look(ZsIoGuard *guard, const ZsIoClients *clients, XLogRecPtr flushed,
							TimestampTz now);

/* Sets the rate anew if it is time to: true then. */
extern bool zsio_guard_step(ZsIoGuard *guard, TimestampTz now);

/* Requests per second allowed now, 0: no limit; and requests in flight. */
extern double zsio_guard_rate(const ZsIoGuard *guard);
extern int	zsio_guard_depth(const ZsIoGuard *guard);

/* Requests per second that are the most beside clients; very many while the device is not known. */
extern double zsio_guard_share(const ZsIoGuard *guard);

/* Microseconds that VACUUMs ought to sleep for 200 units of cost; 0: not at all. */
extern double zsio_guard_vacuum_sleep(const ZsIoGuard *guard);

#ifdef USE_ASSERT_CHECKING
extern void zsio_guard_check(const ZsIoGuard *guard);
#endif

#endif							/* IO_GUARD_H */
