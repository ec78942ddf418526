/*-------------------------------------------------------------------------
 *
 * convert_wait.c
 *	  Whom a conversion waits for, and who of them waits for the conversion.
 *
 * A conversion holds a lock of its session, and waits for other transactions without waiting for
 * a lock: for the end of old snapshots, and between two tries to lock the table.  The deadlock
 * detector sees nothing of that.  ANALYZE, ALTER TABLE or CREATE INDEX of the table wait for our
 * lock, and have a snapshot, for whose end we would wait; so does whoever waits behind them, as
 * pg_dump.  A transaction that has read the table and then waits for one of them has a lock
 * besides, which we would try to get in vain.
 *
 * Such a circle ends with an error here, once it has lasted for deadlock_timeout.  It would be
 * wrong to go on without waiting for them: a transaction may read the table by its old snapshot
 * when it has got its lock.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/convert/convert_wait.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "convert_internal.h"

/*
 * Transactions of the database that may have a snapshot to which the copy's rows are too new.
 * Those that take one from now on see them.
 */
VirtualTransactionId *
zsconvert_older_transactions(const ZsConversion *conv, int *n)
{
	Assert(TransactionIdIsNormal(conv->copied_xid));
	return GetCurrentVirtualXIDs(conv->copied_xid, true, false,
								 PROC_IS_AUTOVACUUM | PROC_IN_VACUUM, n);
}

/* Keeps those of the n transactions that are still among the older ones; returns how many. */
int
zsconvert_still_older(const ZsConversion *conv, VirtualTransactionId *ids, int n)
{
	int			nleft;
	VirtualTransactionId *left = zsconvert_older_transactions(conv, &nleft);
	int			kept = 0;

	Assert(n >= 0);
	for (int i = 0; i < n; i++)
	{
		bool		found = false;

		for (int k = 0; k < nleft && !found; k++)
			found = VirtualTransactionIdEquals(ids[i], left[k]);
		if (found)
			ids[kept++] = ids[i];
	}
	pfree(left);
	return kept;
}

/* Does a process wait for a lock that we have, or for one of somebody who does? */
static bool
waits_for_us(int pid)
{
	List	   *pids = list_make1_int(pid);

	Assert(pid > 0 && pid != MyProcPid);
	/* the list grows while it is read */
	for (int i = 0; i < list_length(pids); i++)
	{
		Datum		found = DirectFunctionCall1(pg_blocking_pids,
												Int32GetDatum(list_nth_int(pids, i)));
		ArrayType  *blockers = DatumGetArrayTypeP(found);
		int32	   *values = (int32 *) ARR_DATA_PTR(blockers);
		int			n = ArrayGetNItems(ARR_NDIM(blockers), ARR_DIMS(blockers));

		for (int k = 0; k < n; k++)
		{
			if (values[k] == MyProcPid)
				return true;
			if (values[k] != 0) /* 0: a prepared transaction */
				pids = list_append_unique_int(pids, values[k]);
		}
	}
	return false;
}

/* The first of n transactions that waits for us, by its process; 0 if none does. */
static int
first_that_waits(const VirtualTransactionId *ids, int n)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "zedstore conversion",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	int			result = 0;

	for (int i = 0; i < n && result == 0; i++)
	{
		PGPROC	   *proc = ProcNumberGetProc(ids[i].procNumber);
		int			pid = proc != NULL ? proc->pid : 0;

		if (pid != 0 && pid != MyProcPid && waits_for_us(pid))
			result = pid;
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return result;
}

/*
 * Error if one of the n transactions, all of which we wait for, waits for us, and did so before,
 * for deadlock_timeout.
 */
void
zsconvert_check_circle(ZsConvertCircle *circle, const VirtualTransactionId *ids, int n)
{
	int			pid = first_that_waits(ids, n);
	TimestampTz now = GetCurrentTimestamp();

	Assert(!IsTransactionOrTransactionBlock());
	if (pid == 0 || pid != circle->pid)
	{
		circle->pid = pid;
		circle->since = now;
	}
	else if (TimestampDifferenceExceeds(circle->since, now, DeadlockTimeout))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_DEADLOCK_DETECTED),
				 errmsg("the conversion waits for a transaction that waits for the conversion"),
				 errdetail("Process %d waits for a lock on the table, or behind one who does, and keeps a lock or a snapshot.",
						   pid),
				 errhint("Call zs_convert() again when it has ended.")));
}

/* The same of transactions that keep us from locking the table. */
void
zsconvert_check_holders(ZsConvertCircle *circle, const ZsConversion *conv, LOCKMODE lockmode)
{
	LOCKTAG		tag;
	VirtualTransactionId *ids;
	int			n;

	Assert(OidIsValid(conv->lockid.relId));
	SET_LOCKTAG_RELATION(tag, conv->lockid.dbId, conv->lockid.relId);
	ids = GetLockConflicts(&tag, lockmode, &n);
	zsconvert_check_circle(circle, ids, n);
	pfree(ids);
}
