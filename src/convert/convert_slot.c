/*-------------------------------------------------------------------------
 *
 * convert_slot.c
 *	  Which tables are being converted now, in shared memory.
 *
 * Two ask: the progress view, and the trigger that follows changes.  The trigger writes to the log
 * only while a slot names it.  So a conversion that ended in any way, with its server too, leaves a
 * trigger that does nothing, since slots do not outlive their backend nor the shared memory.
 *
 * A slot is claimed before the trigger exists, and the trigger's commit comes before the first
 * snapshot of the copy; no change is missed then.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/convert/convert_slot.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lock.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "convert_internal.h"
#include "zs_base.h"
#include "zs_convert.h"

PG_FUNCTION_INFO_V1(pg_stat_get_zedstore_conversions);

/* Conversions at the same time, in all databases. */
#define MAX_CONVERSIONS 16

#define TRANCHE_NAME "zedstore_conversions"

typedef struct Slot
{
	ZsConvertPhase phase;		/* ZS_CONVERT_FREE: the rest means nothing */
	int			pid;
	Oid			dboid;
	Oid			relid;
	Oid			method;
	TimestampTz started;
	bool		following;		/* does the trigger log changes? */
	ZsConvertKey key;
	int64		counters[ZS_CONVERT_COUNTERS];
} Slot;

/* All fields are protected by the lock. */
typedef struct Slots
{
	LWLock	   *lock;
	Slot		slots[MAX_CONVERSIONS];
} Slots;

static Slots *shared = NULL;
static Slot *mine = NULL;		/* this backend's */

static const char *const phase_names[] = {
	[ZS_CONVERT_FREE] = "none",
	[ZS_CONVERT_STARTING] = "starting",
	[ZS_CONVERT_COPYING] = "copying",
	[ZS_CONVERT_INDEXING] = "building indexes",
	[ZS_CONVERT_CATCHING_UP] = "catching up",
	[ZS_CONVERT_WAITING] = "waiting for older snapshots",
	[ZS_CONVERT_EXCHANGING] = "exchanging",
	[ZS_CONVERT_DROPPING] = "dropping"
};

/* ---- shared memory ----------------------------------------------------------- */

/* A step of core's hook: asks for the shared memory of conversions. */
void
zsconvert_request_shmem(void)
{
	RequestAddinShmemSpace(MAXALIGN(sizeof(Slots)));
	RequestNamedLWLockTranche(TRANCHE_NAME, 1);
}

/* A step of core's hook: the slots, all of them free, as the server starts. */
void
zsconvert_startup_shmem(void)
{
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("zedstore conversions", sizeof(Slots), &found);
	if (!found)
	{
		memset(shared, 0, sizeof(Slots));
		shared->lock = &GetNamedLWLockTranche(TRANCHE_NAME)->lock;
	}
	LWLockRelease(AddinShmemInitLock);
}

/* ---- this backend's conversion ------------------------------------------------ */

/* Gives the slot back, if there is one. */
void
zsconvert_slot_release(void)
{
	if (mine == NULL)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	Assert(mine->pid == MyProcPid);
	mine->phase = ZS_CONVERT_FREE;
	mine->following = false;
	LWLockRelease(shared->lock);
	mine = NULL;
}

static void
release_at_exit(int code, Datum arg)
{
	/* an error may have left the lock held */
	LWLockReleaseAll();

	/*
	 * Between two steps there is no transaction whose abort would release the locks that the
	 * session holds, and core leaves those behind, in the name of whoever gets our PGPROC next.
	 */
	if (mine != NULL && !IsTransactionOrTransactionBlock())
		LockReleaseAll(DEFAULT_LOCKMETHOD, true);
	zsconvert_slot_release();
}

/* The slot of a conversion of the table, NULL if there is none.  The lock is held. */
static Slot *
find_slot(Oid relid)
{
	Assert(LWLockHeldByMe(shared->lock));
	for (int i = 0; i < MAX_CONVERSIONS; i++)
	{
		Slot	   *slot = &shared->slots[i];

		if (slot->phase != ZS_CONVERT_FREE && slot->dboid == MyDatabaseId && slot->relid == relid)
			return slot;
	}
	return NULL;
}

/*
 * Takes a slot for the conversion of a table to access method `method`.  Error if there is none, or
 * if another session converts the table.
 */
void
zsconvert_slot_claim(Oid relid, Oid method)
{
	static bool registered = false;
	Slot	   *slot = NULL;
	bool		busy;

	zsbase_require_preload();
	Assert(mine == NULL && shared != NULL);
	if (!registered)
	{
		before_shmem_exit(release_at_exit, (Datum) 0);
		registered = true;
	}

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	busy = find_slot(relid) != NULL;
	for (int i = 0; i < MAX_CONVERSIONS && !busy && slot == NULL; i++)
	{
		if (shared->slots[i].phase == ZS_CONVERT_FREE)
			slot = &shared->slots[i];
	}
	if (slot != NULL)
	{
		memset(slot, 0, sizeof(Slot));
		slot->phase = ZS_CONVERT_STARTING;
		slot->pid = MyProcPid;
		slot->dboid = MyDatabaseId;
		slot->relid = relid;
		slot->method = method;
		slot->started = GetCurrentTimestamp();
		mine = slot;
	}
	LWLockRelease(shared->lock);

	if (busy)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("the table is being converted by another session")));
	if (slot == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("too many tables are being converted"),
				 errdetail("At most %d can be at the same time.", MAX_CONVERSIONS)));
}

/* From now on the trigger logs the key of each changed row. */
void
zsconvert_slot_follow(const ZsConvertKey *key)
{
	Assert(mine != NULL && OidIsValid(key->log));
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	mine->key = *key;
	mine->following = true;
	LWLockRelease(shared->lock);
}

/* From now on the trigger does nothing. */
void
zsconvert_slot_ignore(void)
{
	Assert(mine != NULL);
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	mine->following = false;
	LWLockRelease(shared->lock);
}

/* Says what is done now. */
void
zsconvert_slot_phase(ZsConvertPhase phase)
{
	Assert(mine != NULL && phase != ZS_CONVERT_FREE);
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	mine->phase = phase;
	LWLockRelease(shared->lock);
}

/* Sets a number of the progress view. */
void
zsconvert_slot_set(ZsConvertCounter counter, int64 value)
{
	Assert(mine != NULL && counter < ZS_CONVERT_COUNTERS);
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	mine->counters[counter] = value;
	LWLockRelease(shared->lock);
}

/* Adds to a number of the progress view. */
void
zsconvert_slot_add(ZsConvertCounter counter, int64 value)
{
	Assert(mine != NULL && counter < ZS_CONVERT_COUNTERS);
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	mine->counters[counter] += value;
	LWLockRelease(shared->lock);
}

/* ---- everybody ---------------------------------------------------------------- */

/*
 * For the trigger of a table: does a conversion that lives want changes in this log?  *key becomes
 * a copy of the key's columns then.
 */
bool
zsconvert_slot_find(Oid relid, Oid log, ZsConvertKey *key)
{
	Slot	   *slot;
	bool		found;

	if (shared == NULL)
		return false;
	LWLockAcquire(shared->lock, LW_SHARED);
	slot = find_slot(relid);
	found = slot != NULL && slot->following && slot->key.log == log;
	if (found)
		*key = slot->key;
	LWLockRelease(shared->lock);
	return found;
}

/* Does any session convert the table now? */
bool
zsconvert_slot_is_busy(Oid relid)
{
	bool		busy;

	if (shared == NULL)
		return false;
	LWLockAcquire(shared->lock, LW_SHARED);
	busy = find_slot(relid) != NULL;
	LWLockRelease(shared->lock);
	return busy;
}

/* pg_stat_get_zedstore_conversions(): see docs/adopt-convert.md. */
Datum
pg_stat_get_zedstore_conversions(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Slot	   *copy = palloc(sizeof(shared->slots));

	zsbase_srf_init(fcinfo, 6 + ZS_CONVERT_COUNTERS);
	if (shared == NULL)
		return (Datum) 0;
	LWLockAcquire(shared->lock, LW_SHARED);
	memcpy(copy, shared->slots, sizeof(shared->slots));
	LWLockRelease(shared->lock);

	for (int i = 0; i < MAX_CONVERSIONS; i++)
	{
		Datum		values[6 + ZS_CONVERT_COUNTERS];
		bool		nulls[6 + ZS_CONVERT_COUNTERS] = {0};
		int			n = 0;

		if (copy[i].phase == ZS_CONVERT_FREE)
			continue;
		values[n++] = Int32GetDatum(copy[i].pid);
		values[n++] = ObjectIdGetDatum(copy[i].dboid);
		values[n++] = ObjectIdGetDatum(copy[i].relid);
		values[n++] = ObjectIdGetDatum(copy[i].method);
		values[n++] = TimestampTzGetDatum(copy[i].started);
		values[n++] = CStringGetTextDatum(phase_names[copy[i].phase]);
		for (int k = 0; k < ZS_CONVERT_COUNTERS; k++)
			values[n++] = Int64GetDatum(copy[i].counters[k]);
		Assert(n == lengthof(values));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
