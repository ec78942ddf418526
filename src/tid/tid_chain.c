/*-------------------------------------------------------------------------
 *
 * tid_chain.c
 *	  Locking the newer versions of a row.
 *
 * Who locks an old version of a row that was updated must hold the newer versions too,
 * or the row could be deleted under the lock.  The rules are those of
 * heap_lock_updated_tuple().  One leaf is locked at a time; the heavyweight row
 * lock is not taken, since walking a chain is rare and short.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_chain.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/procarray.h"

#include "tid_internal.h"

/*
 * What a holder of a version means to us.
 */
typedef enum HolderVerdict
{
	HOLDER_HARMLESS = 1,
	HOLDER_IS_US,				/* we hold the version already */
	HOLDER_WAIT,				/* wait for it, then look again */
	HOLDER_CONFLICT,			/* it committed: we come too late */
} HolderVerdict;

/*
 * Judges transaction xid, which holds the version with the given status, when we
 * want a lock of the given mode.
 */
static HolderVerdict
judge_holder(MultiXactStatus status, TransactionId xid, LockTupleMode mode)
{
	bool		conflict = zstid_mxact_conflict(status, zstid_mxact_status(mode, false));

	/* in progress must be asked before committed */
	if (zstid_xid_is_own(xid))
		return HOLDER_IS_US;
	if (TransactionIdIsInProgress(xid))
		return conflict ? HOLDER_WAIT : HOLDER_HARMLESS;

	/* locks end with their transaction, updates stay */
	if (TransactionIdDidCommit(xid) && ISUPDATE_from_mxstatus(status) && conflict)
		return HOLDER_CONFLICT;
	return HOLDER_HARMLESS;
}

/*
 * Judges all holders of a version.  *wait_for is set with HOLDER_WAIT.
 */
static HolderVerdict
judge_holders(const ZsVisSlot *vis, LockTupleMode mode, TransactionId *wait_for)
{
	HolderVerdict verdict = HOLDER_HARMLESS;
	MultiXactMember *members;
	int			nmembers;

	*wait_for = InvalidTransactionId;
	if (vis->infomask & HEAP_XMAX_INVALID)
		return HOLDER_HARMLESS;
	if (!(vis->infomask & HEAP_XMAX_IS_MULTI))
	{
		*wait_for = vis->xmax;
		return judge_holder(zstid_xmax_status(vis), vis->xmax, mode);
	}

	nmembers = GetMultiXactIdMembers(vis->xmax, &members, false,
									 HEAP_XMAX_IS_LOCKED_ONLY(vis->infomask));
	for (int i = 0; i < nmembers && verdict == HOLDER_HARMLESS; i++)
	{
		*wait_for = members[i].xid;
		verdict = judge_holder(members[i].status, members[i].xid, mode);
	}
	if (nmembers > 0)
		pfree(members);
	return verdict;
}

/* Is this the last version of the chain? */
bool
zstid_chain_ends(const ZsVisSlot *vis)
{
	return (vis->infomask & HEAP_XMAX_INVALID) ||
		(vis->infomask2 & ZS_VIS2_MOVED_PARTITION) ||
		!zstid_slot_has_successors(vis) ||
		zstid_is_only_locked(vis);
}

/*
 * Locks one version, if it is one: inserted by prior_xmax, which did not abort.
 * Waits for conflicting holders.  Returns TM_Ok with *last telling whether the
 * chain ends here; else TM_Updated or TM_Deleted.  vis is a copy of the version's slot
 * afterwards.
 */
static TM_Result
lock_version(Relation rel, zstid row, TransactionId prior_xmax, TransactionId xid,
			 LockTupleMode mode, ZsVisSlot *vis, bool *last)
{
	ZsTidRow	r;
	TM_Result	result = TM_Ok;

	Assert(row < ZS_MAX_ROW);
	*last = true;
	zstid_row_init(&r, rel, row);
	for (;;)
	{
		ZsTidChange change = {.op = ZS_TID_LOCK, .first = row, .count = 1};
		TransactionId wait_for;
		HolderVerdict verdict;

		CHECK_FOR_INTERRUPTS();

		/* removed since its inserter aborted, or another row in its place */
		if (!zstid_row_lock(&r))
			break;
		if ((TransactionIdIsValid(prior_xmax) && r.vis->xmin != prior_xmax) ||
			TransactionIdDidAbort(r.vis->xmin))
			break;

		verdict = judge_holders(r.vis, mode, &wait_for);
		if (verdict == HOLDER_WAIT)
		{
			zstid_target_unlock(&r.target);
			zstid_xact_wait(wait_for, LockWaitBlock, rel, &r.tid, XLTW_LockUpdated);
			continue;
		}
		if (verdict == HOLDER_CONFLICT)
		{
			result = zstid_vis_is_updated(r.vis) ? TM_Updated : TM_Deleted;
			break;
		}
		if (verdict == HOLDER_HARMLESS)
		{
			zstid_compute_xmax(r.vis, xid, mode, false, &change);
			zstid_target_change(&r.target, &change);
			ZS_INJECTION_POINT("zs-tid-lock-chain");
			zstid_row_find(&r);
		}
		zstid_row_copy(&r, vis);
		*last = zstid_chain_ends(vis);
		break;
	}
	zstid_target_release(&r.target);
	return result;
}

/*
 * Locks all versions newer than the prior one, of whose slot a copy (zstid_row_copy()) is
 * given, for transaction xid.  No leaf is locked.  TM_Updated or TM_Deleted if a
 * version was modified by a transaction that committed and conflicts.
 */
TM_Result
zstid_lock_chain(Relation rel, const ZsVisSlot *prior, TransactionId xid, LockTupleMode mode)
{
	ZsVisSlot	vis = *prior;
	bool		last = (vis.infomask2 & ZS_VIS2_MOVED_PARTITION) ||
		!zstid_slot_has_successors(&vis);

	if (!last)
		MultiXactIdSetOldestMember();
	while (!last)
	{
		TransactionId prior_xmax = zstid_update_xid(&vis);
		TM_Result	result = lock_version(rel, vis.successor, prior_xmax, xid, mode, &vis, &last);

		if (result != TM_Ok)
			return result;
	}
	return TM_Ok;
}
