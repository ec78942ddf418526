/*-------------------------------------------------------------------------
 *
 * io_commit.c
 *	  The process that commits: it waits for others, where syncs of the WAL are slow.
 *
 * The first worker measures how long a sync takes (io_group.c) and tells how long it is best to
 * wait for others before one.  A process that is about to commit lets core do that: it sets
 * commit_delay for as long as the commit takes.  Core waits in the process that is going to sync,
 * if commit_siblings others have transactions under way that have written.  Core's default of five
 * is for devices of which nothing is known; of eight sessions that also read, it is rarely met.
 * So SIBLINGS are enough for a wait that was found to be worth while, unless somebody has set
 * that, too.
 *
 * A commit_delay that somebody has set, 0 or more, in the configuration file, for a role or in the
 * session, stays.  Nor is anything changed where the commit does not wait for its WAL: with
 * synchronous_commit off, and in transactions without an id.
 *
 * The settings are core's variables, so they must not stay changed.  After PRE_COMMIT a transaction
 * either commits, or is prepared, or aborts, and tells so: then they are what they were before.
 * No code of users runs in between.  This comes last of what is done at the event
 * (src/hooks.c): what others write at a commit is not meant.
 *
 * Locks: none.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_commit.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "utils/guc_tables.h"
#include "utils/timestamp.h"

#include "io_group.h"
#include "io_internal.h"
#include "zs_io_hooks.h"

/* What the worker said longer ago than that does not count. */
#define STALE_US		5000000

/* So many others make a wait worth while, instead of core's default. */
#define SIBLINGS		3

/* The process that commits. */
typedef struct Commit
{
	/* core's settings; NULL: not looked for yet */
	struct config_generic *delay;
	struct config_generic *siblings;

	/* their values are ours, and what was there before */
	bool		held;
	int			user_delay;
	int			user_siblings;
} Commit;

static Commit mine;

/* ---- the worker --------------------------------------------------------------- */

/*
 * What the first worker knows, in microseconds: how long a sync of the WAL takes (0: not known),
 * and how long commits shall wait for others; to be repeated every few seconds.
 */
void
zsio_commit_set(double sync_us, int delay_us)
{
	Assert(sync_us >= 0);
	Assert(delay_us >= 0 && delay_us <= ZSIO_GROUP_DELAY_MAX_US);
	pg_atomic_write_u64(&zsio_shared->wal_sync_us, (uint64) sync_us);
	pg_atomic_write_u64(&zsio_shared->commit_delay_set, (uint64) GetCurrentTimestamp());
	pg_atomic_write_u32(&zsio_shared->commit_delay, (uint32) delay_us);
}

/* ---- the process that commits --------------------------------------------------- */

/* Microseconds that the worker asks for. */
static int
wanted_delay(void)
{
	uint32		delay = pg_atomic_read_u32(&zsio_shared->commit_delay);
	TimestampTz set = (TimestampTz) pg_atomic_read_u64(&zsio_shared->commit_delay_set);

	Assert(delay <= ZSIO_GROUP_DELAY_MAX_US);
	if (delay == 0 || GetCurrentTimestamp() - set >= STALE_US)
		return 0;
	return (int) delay;
}

/* Does the setting have a value that nobody has set? */
static bool
is_default(struct config_generic **setting, const char *name)
{
	if (*setting == NULL)
		*setting = find_option(name, false, true, 0);
	return *setting != NULL && (*setting)->source == PGC_S_DEFAULT;
}

/* The transaction is about to commit, or to be prepared. */
static void
hold(void)
{
	int			delay;

	Assert(!mine.held);
	if (!zsio_group_commit || zsio_workers == 0 || zsio_shared == NULL ||
		synchronous_commit == SYNCHRONOUS_COMMIT_OFF ||
		!TransactionIdIsValid(GetTopTransactionIdIfAny()) ||
		!is_default(&mine.delay, "commit_delay"))
		return;
	delay = wanted_delay();
	if (delay == 0)
		return;
	mine.user_delay = CommitDelay;
	mine.user_siblings = CommitSiblings;
	mine.held = true;
	CommitDelay = delay;
	if (is_default(&mine.siblings, "commit_siblings"))
		CommitSiblings = Min(CommitSiblings, SIBLINGS);
	pg_atomic_fetch_add_u64(&zsio_shared->commits_delayed, 1);
	ZS_INJECTION_POINT("zs-io-commit");
}

static void
let_go(void)
{
	if (!mine.held)
		return;
	mine.held = false;
	CommitDelay = mine.user_delay;
	CommitSiblings = mine.user_siblings;
}

/* A step of transaction callbacks, the last one: commits wait for each other. */
void
zsio_commit_transaction(XactEvent event)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			hold();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			let_go();
			break;
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			/* they have nothing to sync */
			Assert(!mine.held);
			break;
	}
}
