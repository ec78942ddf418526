/*-------------------------------------------------------------------------
 *
 * convert_run.c
 *	  The steps of a conversion.
 *
 *	1. ShareUpdateExclusiveLock on the table for the session: no DDL, no VACUUM, no other conversion
 *	   until the end.  Log and transient table are made.
 *	2. The trigger.  It needs ShareRowExclusiveLock, which waits for all writers to end, so that all
 *	   who write later have it.
 *	3. The copy, in parts (convert_copy.c).
 *	4. Indexes of the copy.
 *	5. Changes are applied, again and again, until few are left (convert_apply.c).
 *	6. Wait until no snapshot is left that would find the copy's rows too new to be seen
 *	   (convert_wait.c).
 *	7. Exchange: AccessExclusiveLock, tried for a short time and again after a pause; the last
 *	   changes; the trigger goes; files and access method change places (convert_swap.c).
 *	8. The old file is dropped.
 *
 * Each step is a transaction or several.  An error in one of them undoes all if it comes before
 * the exchange is committed; else the old file is still dropped.  The end of the backend or of the
 * server leaves the table as it was, with things that do nothing (convert_undo.c).
 *
 * A transaction with an older snapshot than the last changes in step 5 that reads the table for the
 * first time after the exchange finds it as it was at those, at most some tenths of a second
 * before the exchange.  ALTER TABLE's rewrite would show it an empty table.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/convert/convert_run.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_trigger.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/lwlock.h"
#include "tcop/pquery.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/portal.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "convert_internal.h"
#include "zs_compat.h"

/* The exchange is tried when no more changes than this came during the last round. */
#define FEW_CHANGES 200

/* Tries to lock the table for the removal of the trigger, when a conversion is undone. */
#define UNDO_TRIES 100

#define SHORT_PAUSE_MS	20
#define LONGEST_PAUSE_MS	10000

/* What a step changes of the session, to be put back at its end. */
typedef struct Step
{
	Oid			user;
	int			context;
	int			nestlevel;
} Step;

/*
 * Begins a transaction.  Expressions of indexes run as the table's owner, as in core's rewrites.
 */
static void
begin_step(const ZsConversion *conv, Step *step)
{
	StartTransactionCommand();
	XactIsoLevel = XACT_READ_COMMITTED;
	GetUserIdAndSecContext(&step->user, &step->context);
	SetUserIdAndSecContext(conv->owner, step->context | SECURITY_RESTRICTED_OPERATION);
	step->nestlevel = NewGUCNestLevel();
	RestrictSearchPath();
	PushActiveSnapshot(GetTransactionSnapshot());
}

static void
end_step(const Step *step)
{
	PopActiveSnapshot();
	AtEOXact_GUC(false, step->nestlevel);
	SetUserIdAndSecContext(step->user, step->context);
	CommitTransactionCommand();
}

/* An injection point behind a step: in a transaction, which those that wait need. */
#define STEP_POINT(conv, name) \
	do { \
		Step		point; \
		begin_step((conv), &point); \
		ZS_INJECTION_POINT(name); \
		end_step(&point); \
	} while (0)

static void
pause_ms(int ms)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms,
					 PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* Error if waiting has taken as long as it may. */
static void
check_time(const ZsConversion *conv, TimestampTz since)
{
	if (TimestampDifferenceExceeds(since, GetCurrentTimestamp(), conv->timeout * 1000))
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("the conversion could not end within %d seconds", conv->timeout),
				 errdetail("Other transactions kept locks or snapshots, or wrote faster than changes could be applied."),
				 errhint("End them, or call zs_convert() with a longer \"lock_timeout\" or \"timeout\".")));
}

/* ---- steps 1 and 2 -------------------------------------------------------------- */

static void
make_tables(ZsConversion *conv)
{
	Step		step;
	Relation	rel;

	begin_step(conv, &step);
	LockRelationIdForSession(&conv->lockid, ShareUpdateExclusiveLock);
	if (!zsconvert_remove(conv->relid, conv->trigger_function, conv->lock_timeout, UNDO_TRIES))
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("could not remove what an interrupted conversion left")));
	CommandCounterIncrement();
	rel = table_open(conv->relid, ShareUpdateExclusiveLock);
	zsconvert_index_list(conv, rel);
	conv->key.log = zsconvert_log_create(rel, &conv->key);
	conv->transient = zsconvert_table_create(conv, rel);
	conv->transient_lockid = (LockRelId) {.relId = conv->transient,.dbId = MyDatabaseId};
	LockRelationIdForSession(&conv->transient_lockid, ShareUpdateExclusiveLock);
	table_close(rel, NoLock);
	zsconvert_slot_set(ZS_CONVERT_INDEXES_TOTAL, conv->nindexes);
	end_step(&step);
	STEP_POINT(conv, "zs-convert-tables");
}

static void
make_trigger(ZsConversion *conv)
{
	TimestampTz since = GetCurrentTimestamp();
	ZsConvertCircle circle = {0};
	int			ms = SHORT_PAUSE_MS;
	bool		done = false;

	zsconvert_slot_follow(&conv->key);
	while (!done)
	{
		Step		step;

		begin_step(conv, &step);
		zsconvert_slot_add(ZS_CONVERT_LOCK_TRIES, 1);
		done = zsconvert_try_locks(list_make1_oid(conv->relid), ShareRowExclusiveLock,
								   conv->lock_timeout);
		if (done)
			zsconvert_trigger_create(conv->relid, conv->key.log, conv->trigger_function);
		end_step(&step);
		if (done)
			break;
		check_time(conv, since);
		zsconvert_check_holders(&circle, conv, ShareRowExclusiveLock);
		pause_ms(ms);
		ms = Min(ms * 2, LONGEST_PAUSE_MS);
	}
	STEP_POINT(conv, "zs-convert-trigger");
}

/* ---- steps 3 and 4 --------------------------------------------------------------- */

static void
copy_table(ZsConversion *conv)
{
	BlockNumber nblocks;
	BlockNumber size;
	Relation	rel;
	Step		step;

	zsconvert_slot_phase(ZS_CONVERT_COPYING);
	begin_step(conv, &step);
	rel = table_open(conv->relid, AccessShareLock);
	nblocks = RelationGetNumberOfBlocks(rel);
	table_close(rel, NoLock);
	end_step(&step);
	zsconvert_slot_set(ZS_CONVERT_BLOCKS_TOTAL, nblocks);
	size = zsconvert_copy_step(conv, nblocks);

	for (BlockNumber first = 0; first < nblocks; first += Min(size, nblocks - first))
	{
		BlockNumber last = first + Min(size, nblocks - first) - 1;

		begin_step(conv, &step);
		zsconvert_copy_blocks(conv, first, last);
		if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
			conv->copied_xid = GetTopTransactionIdIfAny();
		end_step(&step);
		zsconvert_slot_set(ZS_CONVERT_BLOCKS_DONE, (int64) last + 1);
		STEP_POINT(conv, "zs-convert-part");
	}
	STEP_POINT(conv, "zs-convert-copied");
}

static void
build_indexes(ZsConversion *conv)
{
	zsconvert_slot_phase(ZS_CONVERT_INDEXING);
	for (int i = 0; i < conv->nindexes; i++)
	{
		Step		step;

		begin_step(conv, &step);
		zsconvert_index_create(conv, i);
		end_step(&step);
		zsconvert_slot_add(ZS_CONVERT_INDEXES_DONE, 1);
		STEP_POINT(conv, "zs-convert-index");
	}
}

/* ---- steps 5 and 6 --------------------------------------------------------------- */

/* Applies changes until few are left. */
static void
catch_up(ZsConversion *conv, TimestampTz since)
{
	int64		n;

	do
	{
		Step		step;

		begin_step(conv, &step);
		n = zsconvert_apply_changes(conv);
		end_step(&step);
		CHECK_FOR_INTERRUPTS();
		if (n > FEW_CHANGES)
			check_time(conv, since);
	} while (n > FEW_CHANGES);
}

static void
wait_for_snapshots(ZsConversion *conv, TimestampTz since)
{
	ZsConvertCircle circle = {0};
	VirtualTransactionId *ids;
	int			n;

	if (!TransactionIdIsValid(conv->copied_xid))
		return;					/* nothing was copied */
	zsconvert_slot_phase(ZS_CONVERT_WAITING);
	MemoryContextSwitchTo(conv->context);
	ids = zsconvert_older_transactions(conv, &n);
	for (int round = 1; (n = zsconvert_still_older(conv, ids, n)) > 0; round++)
	{
		pause_ms(SHORT_PAUSE_MS);
		check_time(conv, since);
		if (round % 50 == 0)
		{
			zsconvert_check_circle(&circle, ids, n);
			catch_up(conv, since);
		}
		MemoryContextSwitchTo(conv->context);
	}
	pfree(ids);
}

/* ---- steps 7 and 8 --------------------------------------------------------------- */

/* All that the exchange locks. */
static List *
locks_of_exchange(const ZsConversion *conv)
{
	List	   *result = list_make2_oid(conv->relid, conv->transient);

	for (int i = 0; i < conv->nindexes; i++)
	{
		result = lappend_oid(result, conv->indexes[i]);
		result = lappend_oid(result, conv->new_indexes[i]);
	}
	return result;
}

/* One try of the exchange: false if the locks were not to be had. */
static bool
try_exchange(ZsConversion *conv)
{
	ObjectAddress trigger;
	Step		step;

	begin_step(conv, &step);
	zsconvert_slot_add(ZS_CONVERT_LOCK_TRIES, 1);
	if (!zsconvert_try_locks(locks_of_exchange(conv), AccessExclusiveLock, conv->lock_timeout))
	{
		end_step(&step);
		return false;
	}
	ZS_INJECTION_POINT("zs-convert-locked");

	/* whoever wrote has ended; see all of it */
	PushActiveSnapshot(GetLatestSnapshot());
	while (zsconvert_apply_changes(conv) > 0)
	{
		PopActiveSnapshot();
		CommandCounterIncrement();
		PushActiveSnapshot(GetLatestSnapshot());
	}
	PopActiveSnapshot();
	ZS_INJECTION_POINT("zs-convert-applied");

	ObjectAddressSet(trigger, TriggerRelationId,
					 zsconvert_trigger_find(conv->relid, conv->trigger_function));
	if (!OidIsValid(trigger.objectId))
		elog(ERROR, "the trigger of the conversion is gone");
	performDeletion(&trigger, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
	CommandCounterIncrement();
	zsconvert_swap(conv);
	ZS_INJECTION_POINT("zs-convert-swapped");
	end_step(&step);
	STEP_POINT(conv, "zs-convert-exchanged");
	return true;
}

static void
exchange(ZsConversion *conv)
{
	TimestampTz since = GetCurrentTimestamp();
	ZsConvertCircle circle = {0};
	int			ms = SHORT_PAUSE_MS;

	zsconvert_slot_phase(ZS_CONVERT_CATCHING_UP);
	catch_up(conv, since);
	STEP_POINT(conv, "zs-convert-caught-up");
	wait_for_snapshots(conv, since);
	zsconvert_slot_phase(ZS_CONVERT_EXCHANGING);
	for (;;)
	{
		catch_up(conv, since);
		if (try_exchange(conv))
			return;
		check_time(conv, since);
		zsconvert_check_holders(&circle, conv, AccessExclusiveLock);
		pause_ms(ms);
		ms = Min(ms * 2, LONGEST_PAUSE_MS);
	}
}

static void
drop_old(ZsConversion *conv)
{
	Step		step;

	zsconvert_slot_phase(ZS_CONVERT_DROPPING);
	begin_step(conv, &step);
	foreach_oid(leftover, zsconvert_leftovers(conv->relid))
		zsconvert_drop_table(leftover);
	end_step(&step);
	STEP_POINT(conv, "zs-convert-dropped");
	begin_step(conv, &step);
	zsconvert_rename_toast(conv->relid);
	end_step(&step);
}

/* ---- all of it ------------------------------------------------------------------- */

/*
 * Undoes what is left after an error, outside of a transaction.  What cannot be removed is told by
 * a warning: it does no harm, and the error that came first is the one to be reported.
 */
static void
undo(ZsConversion *conv)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		Step		step;

		zsconvert_slot_phase(ZS_CONVERT_DROPPING);
		begin_step(conv, &step);
		if (!zsconvert_remove(conv->relid, conv->trigger_function, conv->lock_timeout, UNDO_TRIES))
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("could not lock the table")));
		end_step(&step);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		AbortOutOfAnyTransaction();
		MemoryContextSwitchTo(context);
		ereport(WARNING,
				(errmsg("what the conversion made could not be removed: %s", error->message),
				 errhint("Call zs_convert_cleanup() or zs_convert() again.")));
		FreeErrorData(error);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
}

/*
 * Converts a table.  Called in a transaction of its own that has changed nothing; it ends it,
 * and returns in another one, as VACUUM does.  The caller has a slot, which it gives back.
 */
void
zsconvert_run(ZsConversion *conv)
{
	MemoryContext context = CurrentMemoryContext;

	Assert(OidIsValid(conv->relid) && OidIsValid(conv->key_index));
	ForgetPortalSnapshots();
	CommitTransactionCommand();
	MemoryContextSwitchTo(conv->context);
	PG_TRY();
	{
		make_tables(conv);
		make_trigger(conv);
		copy_table(conv);
		build_indexes(conv);
		exchange(conv);
		drop_old(conv);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(conv->context);
		error = CopyErrorData();
		FlushErrorState();

		/* nobody may write for the log once others may alter the table */
		LWLockReleaseAll();
		zsconvert_slot_ignore();
		AbortOutOfAnyTransaction(); /* and with it the session's locks ... */
		LockReleaseAll(DEFAULT_LOCKMETHOD, true);	/* ... if there was one */
		MemoryContextSwitchTo(conv->context);
		undo(conv);
		StartTransactionCommand();
		MemoryContextSwitchTo(context);
		ReThrowError(error);
	}
	PG_END_TRY();
	UnlockRelationIdForSession(&conv->transient_lockid, ShareUpdateExclusiveLock);
	UnlockRelationIdForSession(&conv->lockid, ShareUpdateExclusiveLock);
	StartTransactionCommand();
	MemoryContextSwitchTo(context);
}
