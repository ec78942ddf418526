/*-------------------------------------------------------------------------
 *
 * io_group.c
 *	  How long commits ought to wait for each other, by how long a sync of the WAL takes.
 *
 * On a volume that counts requests, or takes its time for each, commits gain when several share a
 * sync.  They do so by themselves while one is under way.  Core's commit_delay lets the one who is
 * about to sync wait for more of them: best for half the time that a sync takes.  On a fast disk
 * that is a loss.
 *
 * How long a sync takes the server measures only when it is told to.  But a worker looks every few
 * milliseconds whether somebody syncs the WAL, which is one process at a time, and statistics
 * count syncs.  The time for which somebody did, divided by their number, is what one takes.
 * Waits for others are not in it, so what comes out does not grow by what is made of it.
 *
 * Processes report their counts up to a second late, so a count after idle times says nothing.
 *
 * Invariants:
 *	1. Times are not negative.
 *	2. A delay is 0, or half of a slow sync, and ZSIO_GROUP_DELAY_MAX_US at most.
 *
 * Locks: none.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_group.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "io_group.h"

/* Microseconds between two counts. */
#define COUNT_US		2000000
/* What a look stands for at most: a worker that is busy otherwise sees nothing meanwhile. */
#define LOOK_US			50000

/* Fewer syncs between two counts, or in a smaller part of the time, are nobody's trouble. */
#define LEAST_SYNCS		10
#define LEAST_SHARE		0.1

/* The part of what one count says that counts at once. */
#define FOLLOW			0.5

/* Nothing is known: see io_group.h. */
void
zsio_group_init(ZsIoGroup *group)
{
	memset(group, 0, sizeof(ZsIoGroup));
}

/* One look: see io_group.h. */
void
zsio_group_look(ZsIoGroup *group, bool syncing, TimestampTz now)
{
	/* the clock may have been set back */
	TimestampTz passed = group->last_look == 0 ? 0 : Max(now - group->last_look, 0);

	group->last_look = now;
	if (syncing)
		group->syncing += Min(passed, LOOK_US);
	Assert(group->syncing >= 0);	/* 1 */
}

/* Is it time to count syncs? */
bool
zsio_group_count_is_due(const ZsIoGroup *group, TimestampTz now)
{
	return group->since == 0 || now < group->since || now - group->since >= COUNT_US;
}

/* Takes what was seen since the last count. */
static void
learn(ZsIoGroup *group, uint64 syncs, double passed)
{
	bool		busy = syncs >= LEAST_SYNCS && group->syncing >= passed * LEAST_SHARE;
	double		sync = busy ? group->syncing / syncs : 0;

	if (!busy || !group->busy)
		group->sync = 0;
	else if (group->sync == 0)
		group->sync = sync;
	else
		group->sync += (sync - group->sync) * FOLLOW;
	group->busy = busy;
	Assert(group->sync >= 0);	/* 1 */
}

/* So many syncs were done: see io_group.h. */
void
zsio_group_count(ZsIoGroup *group, uint64 syncs, TimestampTz now)
{
	Assert(zsio_group_count_is_due(group, now));

	/* the first one, a clock that was set back, or statistics that were reset */
	if (group->since == 0 || now < group->since || syncs < group->counted)
	{
		group->busy = false;
		group->sync = 0;
	}
	else
		learn(group, syncs - group->counted, (double) (now - group->since));
	group->since = now;
	group->counted = syncs;
	group->syncing = 0;
}

/* How long a commit ought to wait for others, in microseconds. */
int
zsio_group_delay(const ZsIoGroup *group)
{
	double		delay = group->sync < ZSIO_GROUP_SYNC_MIN_US ? 0 : group->sync / 2;

	Assert(delay >= 0);			/* 2 */
	return (int) Min(delay, ZSIO_GROUP_DELAY_MAX_US);
}
