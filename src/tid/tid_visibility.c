/*-------------------------------------------------------------------------
 *
 * tid_visibility.c
 *	  Who sees a row: the rules of heap on a visibility slot.
 *
 * These are the rules of PostgreSQL's heapam_visibility.c; what is said there about
 * the order of tests (a transaction is asked for "in progress" before "did
 * commit") holds here.  Three things are simpler: there are no tuples moved by
 * old VACUUM FULLs, cmin and cmax stand side by side, so that no combo command
 * id is ever resolved, and a frozen row has xmin = FrozenTransactionId.
 *
 * Hint bits: with a buffer, *vis points into that page, which is at least
 * share-locked, and hint bits go to the page under heap's rule (the commit
 * record is flushed, or the page's LSN will flush it).  With InvalidBuffer, *vis is a
 * private copy, whose hint bits are set freely; zstid_copy_hints() carries
 * them to the page later.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_visibility.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "tid_internal.h"
#include "zs_compat.h"

/*
 * Sets hint bits.  xid: the transaction that they say committed, or Invalid
 * when they say that one aborted.
 */
void
zstid_set_hint(ZsVisSlot *vis, Buffer buffer, uint16 mask, TransactionId xid)
{
	Assert((mask & ~ZS_VIS_HINT_BITS) == 0);
	Assert(!((vis->infomask | mask) & HEAP_XMAX_COMMITTED) ||
		   !((vis->infomask | mask) & HEAP_XMAX_INVALID));
	if (BufferIsValid(buffer))
	{
		Assert((char *) vis > (char *) BufferGetPage(buffer) &&
			   (char *) vis < (char *) BufferGetPage(buffer) + BLCKSZ);
		if (TransactionIdIsValid(xid))
		{
			XLogRecPtr	commit_lsn = TransactionIdGetCommitLSN(xid);

			if (BufferIsPermanent(buffer) && XLogNeedsFlush(commit_lsn) &&
				BufferGetLSNAtomic(buffer) < commit_lsn)
				return;
		}
		/* refused while the page is on its way to disk: whoever comes next sets them */
		if (!zs_begin_hint_bits(buffer))
			return;
		vis->infomask |= mask;
		zs_end_hint_bits(buffer);
	}
	else
		vis->infomask |= mask;
}

/*
 * Copies hint bits from a private copy to the slot on a page that is share-locked.
 * Both say the same otherwise.
 */
void
zstid_copy_hints(ZsVisSlot *to, const ZsVisSlot *from, Buffer buffer)
{
	uint16		missing = from->infomask & ~to->infomask & ZS_VIS_HINT_BITS;

	Assert(zstid_slots_alike(to, from));
	if (missing & HEAP_XMIN_COMMITTED)
		zstid_set_hint(to, buffer, HEAP_XMIN_COMMITTED, from->xmin);
	if (missing & HEAP_XMAX_COMMITTED)
		zstid_set_hint(to, buffer, HEAP_XMAX_COMMITTED, from->xmax);
	if (missing & (HEAP_XMIN_INVALID | HEAP_XMAX_INVALID))
		zstid_set_hint(to, buffer, missing & (HEAP_XMIN_INVALID | HEAP_XMAX_INVALID),
					   InvalidTransactionId);
}

/* Was the row inserted by (a subtransaction of) the current transaction? */
bool
zstid_is_current_xact(const ZsVisSlot *vis)
{
	return TransactionIdIsNormal(vis->xmin) &&
		zstid_xid_is_own(vis->xmin);
}

/*
 * Did the inserter commit, in a test that does not depend on a snapshot?  Sets
 * hint bits.  The inserter is not the current transaction.
 */
ZsInserterState
zstid_inserter_state(ZsVisSlot *vis, Buffer buffer)
{
	Assert(TransactionIdIsNormal(vis->xmin));
	if (TransactionIdIsInProgress(vis->xmin))
		return ZS_INSERTER_RUNNING;
	if (TransactionIdDidCommit(vis->xmin))
	{
		zstid_set_hint(vis, buffer, HEAP_XMIN_COMMITTED, vis->xmin);
		return ZS_INSERTER_COMMITTED;
	}
	/* it must have aborted or crashed */
	zstid_set_hint(vis, buffer, HEAP_XMIN_INVALID, InvalidTransactionId);
	return ZS_INSERTER_ABORTED;
}

/*
 * A row of the current transaction: did it delete the row itself, whenever?  Clears
 * the traces of a subtransaction that aborted.
 */
static bool
own_row_deleted(ZsVisSlot *vis, Buffer buffer)
{
	if (vis->infomask & HEAP_XMAX_INVALID)
		return false;
	if (zstid_locked_only(vis))
		return false;
	if (zstid_xmax_is_multi(vis))
	{
		TransactionId xmax = zstid_update_xid(vis);

		Assert(TransactionIdIsValid(xmax));
		return zstid_xid_is_own(xmax);
	}
	if (!zstid_xid_is_own(vis->xmax))
	{
		zstid_set_hint(vis, buffer, HEAP_XMAX_INVALID, InvalidTransactionId);
		return false;
	}
	return true;
}

/*
 * SNAPSHOT_SELF and SNAPSHOT_DIRTY, which differ in what they make of
 * transactions in progress.  dirty is NULL for the former.
 */
static bool
satisfies_self_or_dirty(ZsVisSlot *vis, Snapshot dirty, Buffer buffer)
{
	TransactionId xmax;

	if (dirty != NULL)
		zstid_dirty_set(dirty, NULL);

	if (!zstid_xmin_committed(vis))
	{
		if (zstid_xmin_invalid(vis))
			return false;
		if (zstid_xid_is_own(vis->xmin))
			return !own_row_deleted(vis, buffer);
		switch (zstid_inserter_state(vis, buffer))
		{
			case ZS_INSERTER_RUNNING:
				if (dirty == NULL)
					return false;
				if (vis->infomask2 & ZS_VIS2_SPECULATIVE)
				{
					dirty->speculativeToken = (uint32) vis->successor;
					Assert(dirty->speculativeToken != 0);
				}
				dirty->xmin = vis->xmin;
				return true;
			case ZS_INSERTER_ABORTED:
				return false;
			case ZS_INSERTER_COMMITTED:
				break;
		}
	}

	if (vis->infomask & HEAP_XMAX_INVALID)
		return true;
	if (zstid_locked_only(vis) && (vis->infomask & (HEAP_XMAX_COMMITTED | HEAP_XMAX_IS_MULTI)))
		return true;
	if (vis->infomask & HEAP_XMAX_COMMITTED)
		return false;

	if (zstid_xmax_is_multi(vis))
	{
		xmax = zstid_update_xid(vis);
		Assert(TransactionIdIsValid(xmax));
		if (zstid_xid_is_own(xmax))
			return false;
		if (TransactionIdIsInProgress(xmax))
		{
			if (dirty != NULL)
				dirty->xmax = xmax;
			return true;
		}
		return !TransactionIdDidCommit(xmax);
	}

	xmax = vis->xmax;
	if (zstid_xid_is_own(xmax))
		return zstid_locked_only(vis);
	if (TransactionIdIsInProgress(xmax))
	{
		if (dirty != NULL && !zstid_locked_only(vis))
			dirty->xmax = xmax;
		return true;
	}
	if (!TransactionIdDidCommit(xmax) || zstid_locked_only(vis))
	{
		zstid_set_hint(vis, buffer, HEAP_XMAX_INVALID, InvalidTransactionId);
		return true;
	}
	zstid_set_hint(vis, buffer, HEAP_XMAX_COMMITTED, xmax);
	return false;
}

/* SNAPSHOT_TOAST: everything but rows that are known to be aborted. */
static bool
satisfies_toast(const ZsVisSlot *vis)
{
	return zstid_xmin_committed(vis) || !zstid_xmin_invalid(vis);
}

/* MVCC, the inserter is the current transaction. */
static bool
own_row_visible(ZsVisSlot *vis, Snapshot snapshot, Buffer buffer)
{
	if (vis->cmin >= snapshot->curcid)
		return false;			/* inserted after the scan started */
	if (!own_row_deleted(vis, buffer))
		return true;
	return vis->cmax >= snapshot->curcid;	/* deleted after the scan started */
}

/*
 * SNAPSHOT_MVCC.  As heap does, hint bits are not set for transactions that
 * run in the eyes of the snapshot.
 */
static bool
satisfies_mvcc(ZsVisSlot *vis, Snapshot snapshot, Buffer buffer)
{
	TransactionId xmax;

	Assert(snapshot->regd_count > 0 || snapshot->active_count > 0);

	if (!zstid_xmin_committed(vis))
	{
		if (zstid_xmin_invalid(vis))
			return false;
		if (zstid_xid_is_own(vis->xmin))
			return own_row_visible(vis, snapshot, buffer);
		if (XidInMVCCSnapshot(vis->xmin, snapshot))
			return false;
		if (!TransactionIdDidCommit(vis->xmin))
		{
			zstid_set_hint(vis, buffer, HEAP_XMIN_INVALID, InvalidTransactionId);
			return false;
		}
		zstid_set_hint(vis, buffer, HEAP_XMIN_COMMITTED, vis->xmin);
	}
	else if (!zstid_xmin_frozen(vis) && XidInMVCCSnapshot(vis->xmin, snapshot))
		return false;

	if (vis->infomask & HEAP_XMAX_INVALID)
		return true;
	if (zstid_locked_only(vis))
		return true;

	xmax = zstid_xmax_is_multi(vis) ? zstid_update_xid(vis) : vis->xmax;

	/* as the flags of a slot that was damaged may say */
	if (unlikely(!TransactionIdIsValid(xmax)))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("row inserted by transaction %u has no updating transaction, but its flags say so",
						vis->xmin)));

	if (zstid_xmax_is_multi(vis) || !(vis->infomask & HEAP_XMAX_COMMITTED))
	{
		if (zstid_xid_is_own(xmax))
			return vis->cmax >= snapshot->curcid;
		if (XidInMVCCSnapshot(xmax, snapshot))
			return true;
		if (TransactionIdDidCommit(xmax))
		{
			if (!zstid_xmax_is_multi(vis))
				zstid_set_hint(vis, buffer, HEAP_XMAX_COMMITTED, xmax);
			return false;
		}
		/* it aborted or crashed; lockers of a multixact may still be running */
		if (!zstid_xmax_is_multi(vis))
			zstid_set_hint(vis, buffer, HEAP_XMAX_INVALID, InvalidTransactionId);
		return true;
	}
	return XidInMVCCSnapshot(xmax, snapshot);
}

/* SNAPSHOT_NON_VACUUMABLE: might anybody see the row? */
static bool
satisfies_non_vacuumable(ZsVisSlot *vis, Snapshot snapshot, Buffer buffer)
{
	TransactionId dead_after;
	ZsVacuumState state = zstid_satisfies_vacuum_horizon(vis, buffer, &dead_after);

	if (state == ZS_VACUUM_RECENTLY_DEAD)
		return !zs_xid_is_removable(snapshot->vistest, dead_after);
	return state != ZS_VACUUM_DEAD;
}

/*
 * The rules of heapam_visibility.c on a ZsVisSlot.  buffer is the (pinned, at
 * least share-locked) leaf that holds the slot when hint bits may be set on
 * *vis, which points into the page then; InvalidBuffer when *vis is a private
 * copy.
 */
bool
zstid_satisfies(ZsVisSlot *vis, Snapshot snapshot, Buffer buffer)
{
	switch (snapshot->snapshot_type)
	{
		case SNAPSHOT_MVCC:
			return satisfies_mvcc(vis, snapshot, buffer);
		case SNAPSHOT_SELF:
			return satisfies_self_or_dirty(vis, NULL, buffer);
		case SNAPSHOT_ANY:
			return true;
		case SNAPSHOT_TOAST:
			return satisfies_toast(vis);
		case SNAPSHOT_DIRTY:
			return satisfies_self_or_dirty(vis, snapshot, buffer);
		case SNAPSHOT_HISTORIC_MVCC:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("zedstore tables cannot be read with a historic snapshot")));
			break;
		case SNAPSHOT_NON_VACUUMABLE:
			return satisfies_non_vacuumable(vis, snapshot, buffer);
	}
	return false;
}
