/*-------------------------------------------------------------------------
 *
 * tid_wait.c
 *	  Waiting for the transactions that stand in a row's xmax.
 *
 * A session that must wait for a row first takes the heavyweight lock on its TID,
 * and keeps it until it has marked the row or given up; so sessions get their turn in
 * the order they came (README.tuplock of heap).  No content lock is held here.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_wait.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/transam.h"
#include "access/xact.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/procarray.h"
#include "utils/rel.h"

#include "tid_internal.h"

static void
lock_not_available(Relation rel)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("could not obtain lock on row in relation \"%s\"",
					RelationGetRelationName(rel))));
}

/*
 * Takes the heavyweight lock on a row unless the caller has it.  Returns false
 * if it cannot be had with LockWaitSkip.
 */
bool
zstid_tuplock_acquire(Relation rel, ItemPointer tid, LockTupleMode mode,
					  LockWaitPolicy policy, bool *have_tuple_lock)
{
	LOCKMODE	lockmode = zstid_heavyweight_mode(mode);

	if (*have_tuple_lock)
		return true;
	switch (policy)
	{
		case LockWaitBlock:
			LockTuple(rel, tid, lockmode);
			break;
		case LockWaitSkip:
			if (!ZsConditionalLockTuple(rel, tid, lockmode, false))
				return false;
			break;
		case LockWaitError:
			if (!ZsConditionalLockTuple(rel, tid, lockmode, zs_log_lock_failures))
				lock_not_available(rel);
			break;
	}
	*have_tuple_lock = true;
	return true;
}

/*
 * Releases the heavyweight lock on the row if *have_tuple_lock, which is false
 * afterwards.
 */
void
zstid_tuplock_release(Relation rel, ItemPointer tid, LockTupleMode mode,
					  bool *have_tuple_lock)
{
	if (*have_tuple_lock)
		UnlockTuple(rel, tid, zstid_heavyweight_mode(mode));
	*have_tuple_lock = false;
}

/*
 * Waits for the end of a transaction.  Returns false if it runs and
 * policy is LockWaitSkip; raises an error with LockWaitError.
 */
bool
zstid_xact_wait(TransactionId xid, LockWaitPolicy policy, Relation rel,
				ItemPointer tid, XLTW_Oper oper)
{
	switch (policy)
	{
		case LockWaitBlock:
			XactLockTableWait(xid, rel, tid, oper);
			return true;
		case LockWaitSkip:
			return ZsConditionalXactLockTableWait(xid, false);
		case LockWaitError:
			if (!ZsConditionalXactLockTableWait(xid, zs_log_lock_failures))
				lock_not_available(rel);
			return true;
	}
	return true;
}

/*
 * Waits for all members of the multixact, other than the current transaction,
 * that conflict with a member of the given status.  *remaining (may be NULL) is the number of
 * members that may still run: those of the current transaction, and those
 * that do not conflict.  Result as zstid_xact_wait().
 */
bool
zstid_multi_wait(MultiXactId multi, MultiXactStatus status, uint16 infomask,
				 LockWaitPolicy policy, Relation rel, ItemPointer tid,
				 XLTW_Oper oper, int *remaining)
{
	MultiXactMember *members;
	int			nmembers = GetMultiXactIdMembers(multi, &members, false,
												 HEAP_XMAX_IS_LOCKED_ONLY(infomask));
	int			nremaining = 0;
	bool		result = true;

	for (int i = 0; i < nmembers && result; i++)
	{
		if (TransactionIdIsCurrentTransactionId(members[i].xid))
			nremaining++;
		else if (zstid_mxact_conflict(members[i].status, status))
			result = zstid_xact_wait(members[i].xid, policy, rel, tid, oper);
		else if (remaining != NULL && TransactionIdIsInProgress(members[i].xid))
			nremaining++;
	}
	if (nmembers > 0)
		pfree(members);
	if (remaining != NULL)
		*remaining = nremaining;
	return result;
}

/*
 * Sets hint bits after the transaction in xmax, which is no multixact, has
 * ended.  If it aborted or only locked the row, HEAP_XMAX_INVALID is set for
 * certain; nothing else may be concluded from what is not set.
 */
void
zstid_hint_xmax(ZsVisSlot *vis, Buffer buffer)
{
	Assert(!(vis->infomask & HEAP_XMAX_IS_MULTI));
	if (vis->infomask & (HEAP_XMAX_COMMITTED | HEAP_XMAX_INVALID))
		return;
	if (!HEAP_XMAX_IS_LOCKED_ONLY(vis->infomask) && TransactionIdDidCommit(vis->xmax))
		zstid_set_hint(vis, buffer, HEAP_XMAX_COMMITTED, vis->xmax);
	else
		zstid_set_hint(vis, buffer, HEAP_XMAX_INVALID, InvalidTransactionId);
}
