/*-------------------------------------------------------------------------
 *
 * tid_xmax.c
 *	  What stands in xmax: lockers, updaters, multixacts.
 *
 * Lock modes, their conflicts, and how an xmax is made from the old one and a
 * new locker or updater are heap's (heapam.c and README.tuplock): both kinds
 * of table share multixacts and the lock manager's view of rows.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_xmax.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/transam.h"
#include "access/xact.h"
#include "storage/lock.h"
#include "storage/procarray.h"

#include "tid_internal.h"

/*
 * Updating transaction in a multixact that is not lock-only.
 */
TransactionId
zstid_multi_update_xid(MultiXactId multi, uint16 infomask)
{
	TransactionId result = InvalidTransactionId;
	MultiXactMember *members;
	int			nmembers;

	Assert(!(infomask & HEAP_XMAX_LOCK_ONLY));
	Assert(infomask & HEAP_XMAX_IS_MULTI);

	nmembers = GetMultiXactIdMembers(multi, &members, false, false);
	for (int i = 0; i < nmembers; i++)
	{
		if (ISUPDATE_from_mxstatus(members[i].status))
		{
			Assert(!TransactionIdIsValid(result));
			result = members[i].xid;
		}
	}
	if (nmembers > 0)
		pfree(members);

	/* the flags come from a page, and perhaps from one that was damaged */
	if (!TransactionIdIsValid(result))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("MultiXactId %u has no updating transaction, but a row says so", multi)));
	return result;
}

/*
 * Its deleting or updating transaction, a multixact's member included; Invalid
 * if none.
 *
 * As HeapTupleHeaderGetUpdateXid(): the updater in xmax if that is a multixact
 * with one, else xmax as it stands.
 */
TransactionId
zstid_update_xid(const ZsVisSlot *vis)
{
	if (!(vis->infomask & HEAP_XMAX_INVALID) && (vis->infomask & HEAP_XMAX_IS_MULTI) &&
		!(vis->infomask & HEAP_XMAX_LOCK_ONLY))
		return zstid_multi_update_xid(vis->xmax, vis->infomask);
	return vis->xmax;
}

/* Is its deleter or updater (a subtransaction of) the current transaction? */
bool
zstid_deleted_by_current_xact(const ZsVisSlot *vis)
{
	return !(vis->infomask & HEAP_XMAX_INVALID) &&
		!HEAP_XMAX_IS_LOCKED_ONLY(vis->infomask) &&
		zstid_xid_is_own(zstid_update_xid(vis));
}

/* What each row lock mode means to the lock manager and in multixacts. */
static const struct
{
	LOCKMODE	hwlock;
	int			lockstatus;
	int			updstatus;
}			mode_info[LockTupleExclusive + 1] = {
	[LockTupleKeyShare] = {AccessShareLock, MultiXactStatusForKeyShare, -1},
	[LockTupleShare] = {RowShareLock, MultiXactStatusForShare, -1},
	[LockTupleNoKeyExclusive] = {ExclusiveLock, MultiXactStatusForNoKeyUpdate,
	MultiXactStatusNoKeyUpdate},
	[LockTupleExclusive] = {AccessExclusiveLock, MultiXactStatusForUpdate,
	MultiXactStatusUpdate},
};

/* Row lock mode that a multixact member holds. */
static const LockTupleMode status_mode[MaxMultiXactStatus + 1] = {
	[MultiXactStatusForKeyShare] = LockTupleKeyShare,
	[MultiXactStatusForShare] = LockTupleShare,
	[MultiXactStatusForNoKeyUpdate] = LockTupleNoKeyExclusive,
	[MultiXactStatusForUpdate] = LockTupleExclusive,
	[MultiXactStatusNoKeyUpdate] = LockTupleNoKeyExclusive,
	[MultiXactStatusUpdate] = LockTupleExclusive,
};

/* Heavyweight lock on the row that goes with a row lock mode. */
LOCKMODE
zstid_heavyweight_mode(LockTupleMode mode)
{
	Assert(mode <= LockTupleExclusive);
	return mode_info[mode].hwlock;
}

/* The row lock that a multixact member with this status has, at least. */
LockTupleMode
zstid_lockmode_of_mxact(MultiXactStatus status)
{
	return status_mode[status];
}

/*
 * Status of a multixact member that locks or, with is_update, updates a row in
 * this mode.  An update in a mode that no update has is an error.
 */
MultiXactStatus
zstid_mxact_status(LockTupleMode mode, bool is_update)
{
	int			status = is_update ? mode_info[mode].updstatus : mode_info[mode].lockstatus;

	if (status == -1)
		elog(ERROR, "invalid lock tuple mode %d/%s", mode, is_update ? "true" : "false");
	return (MultiXactStatus) status;
}

/* Do the row locks that two members hold exclude each other? */
bool
zstid_mxact_conflict(MultiXactStatus a, MultiXactStatus b)
{
	return DoLockModesConflict(mode_info[status_mode[a]].hwlock,
							   mode_info[status_mode[b]].hwlock);
}

/*
 * Status that an xmax which is no multixact would have as a member of one.
 */
MultiXactStatus
zstid_xmax_status(const ZsVisSlot *vis)
{
	bool		keys_updated = (vis->infomask2 & HEAP_KEYS_UPDATED) != 0;

	Assert(!(vis->infomask & HEAP_XMAX_IS_MULTI));
	if (!HEAP_XMAX_IS_LOCKED_ONLY(vis->infomask))
		return keys_updated ? MultiXactStatusUpdate : MultiXactStatusNoKeyUpdate;
	if (HEAP_XMAX_IS_KEYSHR_LOCKED(vis->infomask))
		return MultiXactStatusForKeyShare;
	if (HEAP_XMAX_IS_SHR_LOCKED(vis->infomask))
		return MultiXactStatusForShare;
	if (HEAP_XMAX_IS_EXCL_LOCKED(vis->infomask))
		return keys_updated ? MultiXactStatusForUpdate : MultiXactStatusForNoKeyUpdate;
	elog(ERROR, "invalid lock status in row");
}

/*
 * Infomask bits for an xmax that is this multixact, which was just made or is
 * known to be recent.
 */
void
zstid_multi_infomask(MultiXactId multi, uint16 *infomask, uint16 *infomask2)
{
	MultiXactMember *members;
	int			nmembers = GetMultiXactIdMembers(multi, &members, false, false);
	uint16		bits = HEAP_XMAX_IS_MULTI;
	uint16		bits2 = 0;
	bool		has_update = false;
	LockTupleMode strongest = LockTupleKeyShare;

	for (int i = 0; i < nmembers; i++)
	{
		MultiXactStatus status = members[i].status;

		strongest = Max(strongest, status_mode[status]);
		if (status == MultiXactStatusForUpdate || status == MultiXactStatusUpdate)
			bits2 |= HEAP_KEYS_UPDATED;
		if (ISUPDATE_from_mxstatus(status))
			has_update = true;
	}
	if (nmembers > 0)
		pfree(members);

	if (strongest >= LockTupleNoKeyExclusive)
		bits |= HEAP_XMAX_EXCL_LOCK;
	else if (strongest == LockTupleShare)
		bits |= HEAP_XMAX_SHR_LOCK;
	else
		bits |= HEAP_XMAX_KEYSHR_LOCK;
	if (!has_update)
		bits |= HEAP_XMAX_LOCK_ONLY;

	*infomask = bits;
	*infomask2 = bits2;
}

/*
 * Does a member of the multixact stand in the way of the current transaction
 * taking a lock of this mode?  *current_is_member (may be NULL): the current
 * transaction is a member.
 */
bool
zstid_multi_conflicts(MultiXactId multi, uint16 infomask, LockTupleMode mode,
					  bool *current_is_member)
{
	MultiXactMember *members;
	int			nmembers = GetMultiXactIdMembers(multi, &members, false,
												 HEAP_XMAX_IS_LOCKED_ONLY(infomask));
	bool		result = false;

	for (int i = 0; i < nmembers; i++)
	{
		TransactionId xid = members[i].xid;

		if (result && (current_is_member == NULL || *current_is_member))
			break;
		if (zstid_xid_is_own(xid))
		{
			if (current_is_member != NULL)
				*current_is_member = true;
			continue;
		}
		if (result ||
			!DoLockModesConflict(mode_info[status_mode[members[i].status]].hwlock,
								 mode_info[mode].hwlock))
			continue;

		/* updaters that aborted, and lockers that are gone, do not count */
		if (ISUPDATE_from_mxstatus(members[i].status))
			result = !TransactionIdDidAbort(xid);
		else
			result = TransactionIdIsInProgress(xid);
	}
	if (nmembers > 0)
		pfree(members);
	return result;
}

/* The xmax of a transaction that is alone. */
static void
set_single_xmax(ZsTidChange *change, TransactionId xid, LockTupleMode mode, bool is_update)
{
	Assert(TransactionIdIsNormal(xid));
	change->xid = xid;
	change->infomask = change->infomask2 = 0;
	if (mode == LockTupleExclusive)
		change->infomask2 = HEAP_KEYS_UPDATED;
	if (is_update)
		return;

	change->infomask = HEAP_XMAX_LOCK_ONLY;
	switch (mode)
	{
		case LockTupleKeyShare:
			change->infomask |= HEAP_XMAX_KEYSHR_LOCK;
			break;
		case LockTupleShare:
			change->infomask |= HEAP_XMAX_SHR_LOCK;
			break;
		case LockTupleNoKeyExclusive:
		case LockTupleExclusive:
			change->infomask |= HEAP_XMAX_EXCL_LOCK;
			break;
	}
}

/*
 * New xmax, for a row with these contents, when transaction add locks it in a
 * mode or (is_update) updates or deletes it: fills xid, infomask and infomask2 of the
 * change.  May make a multixact, so not in a critical section; the caller has
 * called MultiXactIdSetOldestMember() and zstid_satisfies_update().
 */
void
zstid_compute_xmax(const ZsVisSlot *vis, TransactionId add, LockTupleMode mode,
				   bool is_update, ZsTidChange *change)
{
	bool		lock_only = HEAP_XMAX_IS_LOCKED_ONLY(vis->infomask);
	MultiXactStatus old_status;

	Assert(TransactionIdIsCurrentTransactionId(add));
	if (vis->infomask & HEAP_XMAX_INVALID)
	{
		set_single_xmax(change, add, mode, is_update);
		return;
	}

	if (vis->infomask & HEAP_XMAX_IS_MULTI)
	{
		Assert(!(vis->infomask & HEAP_XMAX_COMMITTED));

		/* nobody left in it, except maybe an updater that committed */
		if (!MultiXactIdIsRunning(vis->xmax, lock_only) &&
			(lock_only ||
			 !TransactionIdDidCommit(zstid_multi_update_xid(vis->xmax, vis->infomask))))
		{
			set_single_xmax(change, add, mode, is_update);
			return;
		}
		change->xid = MultiXactIdExpand((MultiXactId) vis->xmax, add,
										zstid_mxact_status(mode, is_update));
		zstid_multi_infomask(change->xid, &change->infomask, &change->infomask2);
		return;
	}

	old_status = zstid_xmax_status(vis);
	if (vis->infomask & HEAP_XMAX_COMMITTED)
	{
		/* a committed update stays in xmax, beside the new locker */
	}
	else if (TransactionIdIsInProgress(vis->xmax))
	{
		/* the same transaction: only the stronger of both locks counts */
		if (vis->xmax == add)
		{
			Assert(lock_only);
			set_single_xmax(change, add, Max(mode, status_mode[old_status]), is_update);
			return;
		}
	}
	else if (lock_only || !TransactionIdDidCommit(vis->xmax))
	{
		/* ended after the caller looked */
		set_single_xmax(change, add, mode, is_update);
		return;
	}
	change->xid = MultiXactIdCreate(vis->xmax, old_status, add,
									zstid_mxact_status(mode, is_update));
	zstid_multi_infomask(change->xid, &change->infomask, &change->infomask2);
}
