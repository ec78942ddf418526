/*-------------------------------------------------------------------------
 *
 * am_lock.c
 *	  tuple_lock: locks a row, or the newest version of it.
 *
 * Locking one version is the TID tree's business; here is the walk along the
 * update chain that EvalPlanQual asks for, with the rules of
 * heapam_tuple_lock().
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/am/am_lock.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "zs_am.h"
#include "zs_base.h"
#include "zs_scan.h"
#include "zs_slot.h"
#include "zs_tid.h"

/* Result of one step along the chain. */
typedef enum ChainStep
{
	CHAIN_LOCK = 1,				/* this version is the one to lock */
	CHAIN_NEXT,					/* *tid is the next version */
	CHAIN_AGAIN,				/* look at the same version again */
	CHAIN_DELETED,
	CHAIN_SELF_MODIFIED,
} ChainStep;

/*
 * Looks at version *tid, which the version before it (updated by *prior_xmax) points to.  For
 * CHAIN_NEXT both become those of the next step.  *skipped: somebody changes the version, and
 * wait_policy says not to wait.
 */
static ChainStep
follow_chain(Relation rel, ItemPointer tid, TransactionId *prior_xmax, CommandId cid,
			 LockWaitPolicy wait_policy, TM_FailureData *tmfd, bool *skipped)
{
	SnapshotData snapshot;
	ZsVisSlot	vis;
	zstid		row;

	Assert(ItemPointerIsValid(tid));
	*skipped = false;
	if (ItemPointerIndicatesMovedPartitions(tid))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("tuple to be locked was already moved to another partition due to concurrent update")));

	row = zs_row_from_tid(tid);
	InitDirtySnapshot(snapshot);
	if (zstid_fetch_visible(rel, row, &snapshot, &vis, NULL, NULL))
	{
		/* the next version was inserted by whoever updated the one before, unless it is frozen */
		if (!TransactionIdEquals(vis.xmin, *prior_xmax) &&
			!(vis.infomask & HEAP_XMIN_COMMITTED && vis.xmin == FrozenTransactionId))
			return CHAIN_DELETED;
		if (TransactionIdIsValid(snapshot.xmin))
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg_internal("t_xmin %u is uncommitted in tuple (%u,%u) to be updated in table \"%s\"",
									 snapshot.xmin,
									 ItemPointerGetBlockNumber(tid),
									 ItemPointerGetOffsetNumber(tid),
									 RelationGetRelationName(rel))));
		if (TransactionIdIsValid(snapshot.xmax))
		{
			*skipped = !zstid_xact_wait(snapshot.xmax, wait_policy, rel, tid, XLTW_FetchUpdated);
			return CHAIN_AGAIN;
		}
		if (TransactionIdIsCurrentTransactionId(vis.xmin) && vis.cmin >= cid)
		{
			tmfd->xmax = *prior_xmax;
			tmfd->cmax = vis.cmin;
			return CHAIN_SELF_MODIFIED;
		}
		return CHAIN_LOCK;
	}

	if (!zstid_lookup(rel, row, &vis, NULL) || !TransactionIdEquals(vis.xmin, *prior_xmax))
		return CHAIN_DELETED;
	if (!(vis.infomask2 & (ZS_VIS2_UPDATED | ZS_VIS2_MOVED_PARTITION)))
		return CHAIN_DELETED;
	*prior_xmax = zstid_update_xid(&vis);
	if (vis.infomask2 & ZS_VIS2_MOVED_PARTITION)
		ItemPointerSetMovedPartitions(tid);
	else
		zs_tid_from_row(vis.successor, tid);
	return CHAIN_NEXT;
}

/*
 * tuple_lock: the lock is had with TM_Ok; *tid becomes the version that was locked, which the slot
 * has then.  Waits for other transactions as wait_policy says, so the caller holds no content lock.
 */
TM_Result
zsam_tuple_lock(Relation rel, ItemPointer tid, Snapshot snapshot, TupleTableSlot *slot,
				CommandId cid, LockTupleMode mode, LockWaitPolicy wait_policy, uint8 flags,
				TM_FailureData *tmfd)
{
	ItemPointerData here = *tid;
	TransactionId prior_xmax;
	ZsVisSlot	vis;
	TM_Result	result;

	zsbase_require_preload();
	Assert(TTS_IS_ZEDSTORE(slot));
	ExecClearTuple(slot);
	tmfd->traversed = false;
	for (;;)
	{
		ChainStep	step;

		result = zstid_lock(rel, zs_row_from_tid(&here), cid, mode, wait_policy, flags,
							&vis, tmfd);
		if (result != TM_Updated || !(flags & TUPLE_LOCK_FLAG_FIND_LAST_VERSION))
			break;
		Assert(TransactionIdIsValid(tmfd->xmax));
		if (ItemPointerEquals(&tmfd->ctid, &here))
			return TM_Deleted;

		here = tmfd->ctid;
		prior_xmax = tmfd->xmax;
		tmfd->traversed = true;
		do
		{
			bool		skipped;

			CHECK_FOR_INTERRUPTS();
			step = follow_chain(rel, &here, &prior_xmax, cid, wait_policy, tmfd, &skipped);
			if (skipped)
				return TM_WouldBlock;
		} while (step == CHAIN_NEXT || step == CHAIN_AGAIN);
		if (step == CHAIN_DELETED)
			return TM_Deleted;
		if (step == CHAIN_SELF_MODIFIED)
			return TM_SelfModified;
		Assert(step == CHAIN_LOCK);
	}

	*tid = here;
	/* as heap; INSERT ... ON CONFLICT looks who inserted a row that it may not see */
	if (result == TM_Ok || result == TM_Invisible || result == TM_Updated ||
		result == TM_SelfModified)
		zsscan_store_version(rel, zs_row_from_tid(&here), &vis, slot);
	return result;
}
