/*-------------------------------------------------------------------------
 *
 * io_group.h
 *	  How long commits ought to wait for each other.
 *
 * Pure: calls nothing of the server, so fuzz/guard_replay.c runs it alone.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_group.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef IO_GROUP_H
#define IO_GROUP_H

#include "postgres.h"

#include "datatype/timestamp.h"

/* Microseconds: a sync that takes less is fast, and what a commit waits at most. */
#define ZSIO_GROUP_SYNC_MIN_US	1000.0
#define ZSIO_GROUP_DELAY_MAX_US	5000.0

/* Changed by the functions below only.  Times are microseconds. */
typedef struct ZsIoGroup
{
	TimestampTz last_look;		/* 0: none yet */

	/* what was seen since the last count */
	TimestampTz since;			/* of the last count; 0: none yet */
	uint64		counted;		/* syncs, by that count */
	double		syncing;		/* for how long somebody synced */

	/* what is known */
	bool		busy;			/* the device had syncs to do between the last two counts */
	double		sync;			/* how long one takes; 0: not known, or not worth knowing */
} ZsIoGroup;

/* ---- (io_group.c) -------------------------------------------------------------- */

/* Nothing is known: commits do not wait. */
extern void zsio_group_init(ZsIoGroup *group);

/* One look: does some process sync the WAL just now? */
extern void zsio_group_look(ZsIoGroup *group, bool syncing, TimestampTz now);

/* Is it time to count syncs?  Then so many were done by all processes, since whenever. */
extern bool zsio_group_count_is_due(const ZsIoGroup *group, TimestampTz now);
extern void zsio_group_count(ZsIoGroup *group, uint64 syncs, TimestampTz now);

/* How long a commit ought to wait for others before it syncs; 0: not at all. */
extern int	zsio_group_delay(const ZsIoGroup *group);

#endif							/* IO_GROUP_H */
