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
#include "access/multixact.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "tid_internal.h"

/*
 * Sets hint bits.  xid: the transaction that they say committed, or Invalid
 * when they say that one aborted.
 */
void
zstid_set_hint(ZsVisSlot *vis, Buffer buffer, uint16 mask, TransactionId xid)
{
	if (BufferIsValid(buffer))
	{
		if (TransactionIdIsValid(xid))
		{
			XLogRecPtr	commit_lsn = TransactionIdGetCommitLSN(xid);

			if (BufferIsPermanent(buffer) && XLogNeedsFlush(commit_lsn) &&
				BufferGetLSNAtomic(buffer) < commit_lsn)
				return;
		}
		vis->infomask |= mask;
		MarkBufferDirtyHint(buffer, true);
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

	Assert(zstid_slots_equal(to, from));
	if (missing & HEAP_XMIN_COMMITTED)
		zstid_set_hint(to, buffer, HEAP_XMIN_COMMITTED, from->xmin);
	if (missing & HEAP_XMAX_COMMITTED)
		zstid_set_hint(to, buffer, HEAP_XMAX_COMMITTED, from->xmax);
	if (missing & (HEAP_XMIN_INVALID | HEAP_XMAX_INVALID))
		zstid_set_hint(to, buffer, missing & (HEAP_XMIN_INVALID | HEAP_XMAX_INVALID),
					   InvalidTransactionId);
}

static inline bool
xmin_frozen(const ZsVisSlot *vis)
{
	return vis->xmin == FrozenTransactionId;
}

static inline bool
xmin_committed(const ZsVisSlot *vis)
{
	return xmin_frozen(vis) || (vis->infomask & HEAP_XMIN_COMMITTED) != 0;
}

static inline bool
xmin_invalid(const ZsVisSlot *vis)
{
	return !xmin_frozen(vis) && (vis->infomask & HEAP_XMIN_INVALID) != 0;
}

static inline bool
locked_only(const ZsVisSlot *vis)
{
	return HEAP_XMAX_IS_LOCKED_ONLY(vis->infomask);
}

static inline bool
xmax_is_multi(const ZsVisSlot *vis)
{
	return (vis->infomask & HEAP_XMAX_IS_MULTI) != 0;
}

bool
zstid_is_current_xact(const ZsVisSlot *vis)
{
	return TransactionIdIsNormal(vis->xmin) &&
		TransactionIdIsCurrentTransactionId(vis->xmin);
}

/* TM_Updated or TM_Deleted, for a row whose xmax committed. */
static inline TM_Result
updated_or_deleted(const ZsVisSlot *vis)
{
	return zstid_vis_is_updated(vis) ? TM_Updated : TM_Deleted;
}

/*
 * Did the inserter commit, in a test that does not depend on a snapshot?  Sets
 * hint bits.  The inserter is not the current transaction.
 */
typedef enum InserterState
{
	INSERTER_COMMITTED = 1,
	INSERTER_RUNNING,
	INSERTER_ABORTED,
} InserterState;

static InserterState
inserter_state(ZsVisSlot *vis, Buffer buffer)
{
	if (TransactionIdIsInProgress(vis->xmin))
		return INSERTER_RUNNING;
	if (TransactionIdDidCommit(vis->xmin))
	{
		zstid_set_hint(vis, buffer, HEAP_XMIN_COMMITTED, vis->xmin);
		return INSERTER_COMMITTED;
	}
	/* it must have aborted or crashed */
	zstid_set_hint(vis, buffer, HEAP_XMIN_INVALID, InvalidTransactionId);
	return INSERTER_ABORTED;
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
	if (locked_only(vis))
		return false;
	if (xmax_is_multi(vis))
	{
		TransactionId xmax = zstid_update_xid(vis);

		Assert(TransactionIdIsValid(xmax));
		return TransactionIdIsCurrentTransactionId(xmax);
	}
	if (!TransactionIdIsCurrentTransactionId(vis->xmax))
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
	{
		dirty->xmin = dirty->xmax = InvalidTransactionId;
		dirty->speculativeToken = 0;
	}

	if (!xmin_committed(vis))
	{
		if (xmin_invalid(vis))
			return false;
		if (TransactionIdIsCurrentTransactionId(vis->xmin))
			return !own_row_deleted(vis, buffer);
		switch (inserter_state(vis, buffer))
		{
			case INSERTER_RUNNING:
				if (dirty == NULL)
					return false;
				if (vis->infomask2 & ZS_VIS2_SPECULATIVE)
				{
					dirty->speculativeToken = (uint32) vis->successor;
					Assert(dirty->speculativeToken != 0);
				}
				dirty->xmin = vis->xmin;
				return true;
			case INSERTER_ABORTED:
				return false;
			case INSERTER_COMMITTED:
				break;
		}
	}

	if (vis->infomask & HEAP_XMAX_INVALID)
		return true;
	if (locked_only(vis) && (vis->infomask & (HEAP_XMAX_COMMITTED | HEAP_XMAX_IS_MULTI)))
		return true;
	if (vis->infomask & HEAP_XMAX_COMMITTED)
		return false;

	if (xmax_is_multi(vis))
	{
		xmax = zstid_update_xid(vis);
		Assert(TransactionIdIsValid(xmax));
		if (TransactionIdIsCurrentTransactionId(xmax))
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
	if (TransactionIdIsCurrentTransactionId(xmax))
		return locked_only(vis);
	if (TransactionIdIsInProgress(xmax))
	{
		if (dirty != NULL && !locked_only(vis))
			dirty->xmax = xmax;
		return true;
	}
	if (!TransactionIdDidCommit(xmax) || locked_only(vis))
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
	return xmin_committed(vis) || !xmin_invalid(vis);
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

	if (!xmin_committed(vis))
	{
		if (xmin_invalid(vis))
			return false;
		if (TransactionIdIsCurrentTransactionId(vis->xmin))
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
	else if (!xmin_frozen(vis) && XidInMVCCSnapshot(vis->xmin, snapshot))
		return false;

	if (vis->infomask & HEAP_XMAX_INVALID)
		return true;
	if (locked_only(vis))
		return true;

	xmax = xmax_is_multi(vis) ? zstid_update_xid(vis) : vis->xmax;
	Assert(TransactionIdIsValid(xmax));

	if (xmax_is_multi(vis) || !(vis->infomask & HEAP_XMAX_COMMITTED))
	{
		if (TransactionIdIsCurrentTransactionId(xmax))
			return vis->cmax >= snapshot->curcid;
		if (XidInMVCCSnapshot(xmax, snapshot))
			return true;
		if (TransactionIdDidCommit(xmax))
		{
			if (!xmax_is_multi(vis))
				zstid_set_hint(vis, buffer, HEAP_XMAX_COMMITTED, xmax);
			return false;
		}
		/* it aborted or crashed; lockers of a multixact may still be running */
		if (!xmax_is_multi(vis))
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
		return !GlobalVisTestIsRemovableXid(snapshot->vistest, dead_after);
	return state != ZS_VACUUM_DEAD;
}

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

/*
 * A row of the current transaction, which curcid may see: what hinders its update?
 */
static TM_Result
own_row_updatable(ZsVisSlot *vis, CommandId curcid, Buffer buffer)
{
	if (vis->infomask & HEAP_XMAX_INVALID)
		return TM_Ok;

	/* others may hold locks that the update carried over from the old version */
	if (locked_only(vis))
	{
		bool		running = xmax_is_multi(vis) ? MultiXactIdIsRunning(vis->xmax, true) :
			TransactionIdIsInProgress(vis->xmax);

		return running ? TM_BeingModified : TM_Ok;
	}
	if (xmax_is_multi(vis))
	{
		TransactionId xmax = zstid_update_xid(vis);

		Assert(TransactionIdIsValid(xmax));
		/* the deleting subtransaction must have aborted */
		if (!TransactionIdIsCurrentTransactionId(xmax))
			return MultiXactIdIsRunning(vis->xmax, false) ? TM_BeingModified : TM_Ok;
	}
	else if (!TransactionIdIsCurrentTransactionId(vis->xmax))
	{
		zstid_set_hint(vis, buffer, HEAP_XMAX_INVALID, InvalidTransactionId);
		return TM_Ok;
	}
	return vis->cmax >= curcid ? TM_SelfModified : TM_Invisible;
}

/* A row whose inserter committed and whose xmax is a multixact. */
static TM_Result
multi_row_updatable(ZsVisSlot *vis, CommandId curcid, Buffer buffer)
{
	TransactionId xmax;

	if (locked_only(vis))
	{
		if (MultiXactIdIsRunning(vis->xmax, true))
			return TM_BeingModified;
		zstid_set_hint(vis, buffer, HEAP_XMAX_INVALID, InvalidTransactionId);
		return TM_Ok;
	}

	xmax = zstid_update_xid(vis);
	Assert(TransactionIdIsValid(xmax));
	if (TransactionIdIsCurrentTransactionId(xmax))
		return vis->cmax >= curcid ? TM_SelfModified : TM_Invisible;
	if (MultiXactIdIsRunning(vis->xmax, false))
		return TM_BeingModified;
	if (TransactionIdDidCommit(xmax))
		return updated_or_deleted(vis);

	/*
	 * The update aborted or crashed.  Ask again for the other members: one may have
	 * been waiting to run until now.
	 */
	if (MultiXactIdIsRunning(vis->xmax, false))
		return TM_BeingModified;
	zstid_set_hint(vis, buffer, HEAP_XMAX_INVALID, InvalidTransactionId);
	return TM_Ok;
}

TM_Result
zstid_satisfies_update(ZsVisSlot *vis, CommandId curcid, Buffer buffer)
{
	if (!xmin_committed(vis))
	{
		if (xmin_invalid(vis))
			return TM_Invisible;
		if (TransactionIdIsCurrentTransactionId(vis->xmin))
		{
			if (vis->cmin >= curcid)
				return TM_Invisible;	/* inserted after the scan started */
			return own_row_updatable(vis, curcid, buffer);
		}
		if (inserter_state(vis, buffer) != INSERTER_COMMITTED)
			return TM_Invisible;
	}

	if (vis->infomask & HEAP_XMAX_INVALID)
		return TM_Ok;
	if (vis->infomask & HEAP_XMAX_COMMITTED)
		return locked_only(vis) ? TM_Ok : updated_or_deleted(vis);
	if (xmax_is_multi(vis))
		return multi_row_updatable(vis, curcid, buffer);

	if (TransactionIdIsCurrentTransactionId(vis->xmax))
	{
		if (locked_only(vis))
			return TM_BeingModified;
		return vis->cmax >= curcid ? TM_SelfModified : TM_Invisible;
	}
	if (TransactionIdIsInProgress(vis->xmax))
		return TM_BeingModified;
	if (!TransactionIdDidCommit(vis->xmax) || locked_only(vis))
	{
		zstid_set_hint(vis, buffer, HEAP_XMAX_INVALID, InvalidTransactionId);
		return TM_Ok;
	}
	zstid_set_hint(vis, buffer, HEAP_XMAX_COMMITTED, vis->xmax);
	return updated_or_deleted(vis);
}

/*
 * The inserter committed and xmax is an update or delete, or a lock: what does
 * VACUUM make of the row?
 */
static ZsVacuumState
vacuum_state_of_xmax(ZsVisSlot *vis, Buffer buffer, TransactionId *dead_after)
{
	if (locked_only(vis))
	{
		if (!(vis->infomask & HEAP_XMAX_COMMITTED))
		{
			bool		running = xmax_is_multi(vis) ? MultiXactIdIsRunning(vis->xmax, true) :
				TransactionIdIsInProgress(vis->xmax);

			if (!running)
				zstid_set_hint(vis, buffer, HEAP_XMAX_INVALID, InvalidTransactionId);
		}
		return ZS_VACUUM_LIVE;
	}

	if (xmax_is_multi(vis))
	{
		TransactionId xmax = zstid_update_xid(vis);

		Assert(TransactionIdIsValid(xmax));
		if (TransactionIdIsInProgress(xmax))
			return ZS_VACUUM_DELETE_IN_PROGRESS;
		if (TransactionIdDidCommit(xmax))
		{
			/* lockers may be running, but they hold the newer versions too */
			*dead_after = xmax;
			return ZS_VACUUM_RECENTLY_DEAD;
		}
		if (!MultiXactIdIsRunning(vis->xmax, false))
			zstid_set_hint(vis, buffer, HEAP_XMAX_INVALID, InvalidTransactionId);
		return ZS_VACUUM_LIVE;
	}

	if (!(vis->infomask & HEAP_XMAX_COMMITTED))
	{
		if (TransactionIdIsInProgress(vis->xmax))
			return ZS_VACUUM_DELETE_IN_PROGRESS;
		if (!TransactionIdDidCommit(vis->xmax))
		{
			zstid_set_hint(vis, buffer, HEAP_XMAX_INVALID, InvalidTransactionId);
			return ZS_VACUUM_LIVE;
		}
		zstid_set_hint(vis, buffer, HEAP_XMAX_COMMITTED, vis->xmax);
	}
	*dead_after = vis->xmax;
	return ZS_VACUUM_RECENTLY_DEAD;
}

/*
 * As HeapTupleSatisfiesVacuumHorizon(): with ZS_VACUUM_RECENTLY_DEAD, *dead_after is
 * the transaction that must be compared with the horizon; Invalid otherwise.
 */
ZsVacuumState
zstid_satisfies_vacuum_horizon(ZsVisSlot *vis, Buffer buffer, TransactionId *dead_after)
{
	*dead_after = InvalidTransactionId;

	if (!xmin_committed(vis))
	{
		if (xmin_invalid(vis))
			return ZS_VACUUM_DEAD;
		if (TransactionIdIsCurrentTransactionId(vis->xmin))
		{
			if ((vis->infomask & HEAP_XMAX_INVALID) || locked_only(vis) ||
				zstid_is_only_locked(vis))
				return ZS_VACUUM_INSERT_IN_PROGRESS;
			if (TransactionIdIsCurrentTransactionId(zstid_update_xid(vis)))
				return ZS_VACUUM_DELETE_IN_PROGRESS;
			/* the deleting subtransaction must have aborted */
			return ZS_VACUUM_INSERT_IN_PROGRESS;
		}
		switch (inserter_state(vis, buffer))
		{
			case INSERTER_RUNNING:
				return ZS_VACUUM_INSERT_IN_PROGRESS;
			case INSERTER_ABORTED:
				return ZS_VACUUM_DEAD;
			case INSERTER_COMMITTED:
				break;
		}
	}
	if (vis->infomask & HEAP_XMAX_INVALID)
		return ZS_VACUUM_LIVE;
	return vacuum_state_of_xmax(vis, buffer, dead_after);
}

ZsVacuumState
zstid_satisfies_vacuum(ZsVisSlot *vis, TransactionId oldest_xmin, Buffer buffer)
{
	TransactionId dead_after;
	ZsVacuumState state = zstid_satisfies_vacuum_horizon(vis, buffer, &dead_after);

	if (state == ZS_VACUUM_RECENTLY_DEAD && TransactionIdPrecedes(dead_after, oldest_xmin))
		return ZS_VACUUM_DEAD;
	return state;
}

/*
 * Is the row surely dead to all, judging by the hint bits that a test just set?
 */
bool
zstid_is_surely_dead(const ZsVisSlot *vis, GlobalVisState *vistest)
{
	if (!xmin_committed(vis))
		return xmin_invalid(vis);
	if ((vis->infomask & HEAP_XMAX_INVALID) || locked_only(vis) || xmax_is_multi(vis) ||
		!(vis->infomask & HEAP_XMAX_COMMITTED))
		return false;
	return GlobalVisTestIsRemovableXid(vistest, vis->xmax);
}

/*
 * Is the row not updated, but at most locked?  The updater in a multixact may
 * have aborted.
 */
bool
zstid_is_only_locked(const ZsVisSlot *vis)
{
	TransactionId xmax;

	if (vis->infomask & (HEAP_XMAX_INVALID | HEAP_XMAX_LOCK_ONLY))
		return true;
	if (!TransactionIdIsValid(vis->xmax))
		return true;
	if (!xmax_is_multi(vis))
		return false;

	xmax = zstid_update_xid(vis);
	Assert(TransactionIdIsValid(xmax));
	if (TransactionIdIsCurrentTransactionId(xmax))
		return false;
	if (TransactionIdIsInProgress(xmax))
		return false;
	return !TransactionIdDidCommit(xmax);
}
