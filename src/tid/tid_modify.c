/*-------------------------------------------------------------------------
 *
 * tid_modify.c
 *	  DELETE of a row, and the mark that an UPDATE leaves on the old one.
 *
 * Both end other transactions' claims on the row the way heap_delete() and
 * heap_update() do: look at xmax under the leaf's lock; if a running
 * transaction is in the way, unlock, wait, lock again, and start over unless
 * xmax is still what it was.
 *
 * An UPDATE is one call where it can be (tid_single.c), else two: zstid_update_check() before the
 * new row is made, so that no work is done for nothing, and zstid_mark_updated() after.  Between
 * them another session may get ahead.  To keep waiting sessions in the order they came, the check
 * locks the row if it had to wait, as heap does when it must let go of the page in the middle of an
 * update.
 *
 * Row locks of others that an update leaves in force (KEY SHARE against an update that keeps
 * the key) must hold for the new version too.  They are put on it before the old
 * version is marked, since nobody finds the new one through the chain until then.
 *
 * WAL: one XLOG_ZS_TID_CHANGE for the row, and for the new version one more when it
 * inherits locks.  A crash leaves marks of an aborted transaction.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_modify.c
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
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"

#include "tid_internal.h"

/*
 * One attempt to modify a row: remembers the arguments of zstid_delete() or
 * zstid_update_check(); nothing is locked.  zstid_modify_end() must follow.
 */
void
zstid_modify_init(ZsTidModify *m, Relation rel, zstid row, LockTupleMode mode, XLTW_Oper oper,
				  CommandId cid, Snapshot crosscheck, bool wait)
{
	zstid_row_init(&m->r, rel, row);
	m->mode = mode;
	m->oper = oper;
	m->cid = cid;
	m->crosscheck = crosscheck;
	m->wait = wait;
	m->have_tuple_lock = false;
	m->lockers_checked = m->lockers_remain = false;
}

/* Lets go of everything. */
void
zstid_modify_end(ZsTidModify *m)
{
	zstid_target_release(&m->r.target);
	zstid_tuplock_release(m->r.target.rel, &m->r.tid, m->mode, &m->have_tuple_lock);
}

/*
 * Waits for those in xmax that are in the way.  The leaf is locked on entry; returns with
 * it locked, and true, if xmax is the same as before.  Otherwise nothing is
 * locked and the caller starts over.
 */
static bool
wait_for_xmax(ZsTidModify *m)
{
	Relation	rel = m->r.target.rel;
	ZsVisSlot	seen = *m->r.vis;
	TransactionId xwait = seen.xmax;

	m->lockers_checked = m->lockers_remain = false;
	if (seen.infomask & HEAP_XMAX_IS_MULTI)
	{
		bool		current_is_member = false;
		int			remaining;

		if (!zstid_multi_conflicts(xwait, seen.infomask, m->mode, &current_is_member))
			return true;
		zstid_target_unlock(&m->r.target);
		/* a holder of a lock must not queue: the others wait for it */
		if (!current_is_member)
			zstid_tuplock_acquire(rel, &m->r.tid, m->mode, LockWaitBlock,
								  &m->have_tuple_lock);
		zstid_multi_wait(xwait, zstid_mxact_status(m->mode, true), seen.infomask,
						 LockWaitBlock, rel, &m->r.tid, m->oper, &remaining);
		m->lockers_checked = true;
		m->lockers_remain = remaining != 0;
	}
	else if (zstid_xid_is_own(xwait) ||
			 (HEAP_XMAX_IS_KEYSHR_LOCKED(seen.infomask) && m->mode == LockTupleNoKeyExclusive))
	{
		/* our own lock, or one that does not hinder us */
		m->lockers_checked = m->lockers_remain = true;
		return true;
	}
	else
	{
		zstid_target_unlock(&m->r.target);
		zstid_tuplock_acquire(rel, &m->r.tid, m->mode, LockWaitBlock, &m->have_tuple_lock);
		zstid_xact_wait(xwait, LockWaitBlock, rel, &m->r.tid, m->oper);
		m->lockers_checked = true;
	}

	Assert(!BufferIsValid(m->r.target.buf));
	if (!zstid_row_lock(&m->r))
		return false;
	if (zstid_xmax_changed(m->r.vis, &seen))
	{
		zstid_target_unlock(&m->r.target);
		return false;
	}
	if (!(seen.infomask & HEAP_XMAX_IS_MULTI))
		zstid_hint_xmax(m->r.vis, m->r.hintbuf);
	return true;
}

/* Error of a caller that hands us a row it cannot have seen. */
static void
invisible_row(ZsTidModify *m)
{
	zstid_modify_end(m);
	if (m->oper == XLTW_Delete)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("attempted to delete invisible tuple")));
	else
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("attempted to update invisible tuple")));
}

/*
 * Waits and checks until it is known whether we may modify the row.  With
 * TM_Ok the leaf is locked; otherwise everything is let go, and *tmfd says why.
 */
TM_Result
zstid_modify_check(ZsTidModify *m, TM_FailureData *tmfd)
{
	TM_Result	result;

	for (;;)
	{
		ZsVisSlot  *vis;

		CHECK_FOR_INTERRUPTS();
		if (!zstid_row_lock(&m->r))
		{
			/* pruned; only possible for a caller without a snapshot on the row */
			zstid_row_failure(NULL, m->r.row, TM_Deleted, tmfd);
			zstid_modify_end(m);
			return TM_Deleted;
		}

		vis = m->r.vis;
		result = zstid_satisfies_update(vis, m->cid, m->r.hintbuf);
		if (result == TM_Invisible)
			invisible_row(m);
		if (result != TM_BeingModified || !m->wait)
		{
			/* nobody was in the way: what xmax names, if anything, is gone */
			m->lockers_checked = true;
			m->lockers_remain = false;
			break;
		}
		if (!wait_for_xmax(m))
			continue;

		vis = m->r.vis;
		if ((vis->infomask & HEAP_XMAX_INVALID) ||
			HEAP_XMAX_IS_LOCKED_ONLY(vis->infomask) || zstid_is_only_locked(vis))
			result = TM_Ok;
		else
			result = zstid_vis_is_updated(vis) ? TM_Updated : TM_Deleted;
		break;
	}

	/* transaction-snapshot mode: referential integrity must not touch newer rows */
	if (result == TM_Ok && m->crosscheck != InvalidSnapshot &&
		!zstid_satisfies(m->r.vis, m->crosscheck, m->r.hintbuf))
		result = TM_Updated;

	if (result != TM_Ok)
	{
		ZsVisSlot	copy;

		zstid_row_copy(&m->r, &copy);
		zstid_row_failure(&copy, m->r.row, result, tmfd);
		zstid_modify_end(m);
	}
	return result;
}

/*
 * Writes the new xmax; zstid_modify_check() said TM_Ok.  Lets go of everything.
 */
static void
modify_apply(ZsTidModify *m, uint16 infomask2, int64 successor)
{
	ZsTidChange change = {
		.op = ZS_TID_XMAX,
		.first = m->r.row,
		.count = 1,
		.cid = m->cid,
		.successor = successor
	};

	/*
	 * The leaf stays locked from here until the change is on the page, so no
	 * reader can slip in between check and change.
	 */
	Assert(BufferIsValid(m->r.target.buf));
	CheckForSerializableConflictIn(m->r.target.rel, &m->r.tid,
								   ItemPointerGetBlockNumber(&m->r.tid));
	MultiXactIdSetOldestMember();
	zstid_compute_xmax(m->r.vis, GetCurrentTransactionId(), m->mode, true, &change);
	change.infomask2 |= infomask2;
	zstid_target_change(&m->r.target, &change);
	zstid_modify_end(m);
	ZS_INJECTION_POINT("zs-tid-xmax");
}

/*
 * DELETE of one row with heap_delete()'s rules: waits for other transactions
 * when wait, fills *tmfd unless TM_Ok.  moved: the row goes to another
 * partition.
 */
TM_Result
zstid_delete(Relation rel, zstid row, CommandId cid, Snapshot crosscheck, bool wait,
			 TM_FailureData *tmfd, bool moved)
{
	ZsTidModify		m;
	TM_Result	result;

	if (IsInParallelMode())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot delete tuples during a parallel operation")));

	/* not under the leaf's lock */
	(void) GetCurrentTransactionId();

	zstid_modify_init(&m, rel, row, LockTupleExclusive, XLTW_Delete, cid, crosscheck, wait);
	result = zstid_modify_check(&m, tmfd);
	if (result == TM_Ok)
		modify_apply(&m, moved ? ZS_VIS2_MOVED_PARTITION : 0, 0);
	return result;
}

/*
 * The row may be updated, but that happens later.  Lets go of everything.
 */
void
zstid_modify_postpone(ZsTidModify *m)
{
	/* others wait for this row: hold it until it is marked */
	if (m->have_tuple_lock)
	{
		ZsTidChange change = {.op = ZS_TID_LOCK, .first = m->r.row, .count = 1};

		MultiXactIdSetOldestMember();
		zstid_compute_xmax(m->r.vis, GetCurrentTransactionId(), m->mode, false, &change);
		zstid_target_change(&m->r.target, &change);
		ZS_INJECTION_POINT("zs-tid-update-lock");
	}
	zstid_modify_end(m);
}

/*
 * UPDATE, first half: waits and checks as heap_update() until the row may be
 * updated by us (TM_Ok, nothing changed yet) or not.  mode:
 * LockTupleNoKeyExclusive or LockTupleExclusive.
 */
TM_Result
zstid_update_check(Relation rel, zstid row, CommandId cid, Snapshot crosscheck, bool wait,
				   LockTupleMode mode, TM_FailureData *tmfd)
{
	ZsTidModify		m;
	TM_Result	result;

	Assert(mode == LockTupleNoKeyExclusive || mode == LockTupleExclusive);
	if (IsInParallelMode())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot update tuples during a parallel operation")));
	(void) GetCurrentTransactionId();

	zstid_modify_init(&m, rel, row, mode, XLTW_Update, cid, crosscheck, wait);
	result = zstid_modify_check(&m, tmfd);
	if (result == TM_Ok)
		zstid_modify_postpone(&m);
	return result;
}

/* Row locks in xmax that the new version must inherit. */
typedef struct Inherited
{
	TransactionId xmax;			/* Invalid = none */
	uint16		infomask;
	uint16		infomask2;
} Inherited;

/*
 * What the new version inherits from the old one, which is checked and locked.
 */
static void
find_inherited(const ZsTidModify *m, Inherited *inherited)
{
	const ZsVisSlot *vis = m->r.vis;

	inherited->xmax = InvalidTransactionId;
	if ((vis->infomask & HEAP_XMAX_INVALID) || (m->lockers_checked && !m->lockers_remain))
		return;

	if (vis->infomask & HEAP_XMAX_IS_MULTI)
	{
		inherited->xmax = vis->xmax;
		zstid_multi_infomask(vis->xmax, &inherited->infomask, &inherited->infomask2);
	}
	else if (!zstid_xid_is_own(vis->xmax))
	{
		/* nothing else is left in force by an update */
		inherited->xmax = vis->xmax;
		inherited->infomask = HEAP_XMAX_KEYSHR_LOCK | HEAP_XMAX_LOCK_ONLY;
		inherited->infomask2 = 0;
	}
}

/* Puts inherited locks on the new version, which nobody else has found yet. */
static void
put_inherited(Relation rel, zstid successor, const Inherited *inherited)
{
	ZsTidChange change = {
		.op = ZS_TID_LOCK,
		.first = successor,
		.count = 1,
		.xid = inherited->xmax,
		.infomask = inherited->infomask,
		.infomask2 = inherited->infomask2
	};
	ZsTidRow	r;

	zstid_row_init(&r, rel, successor);
	if (!zstid_row_lock(&r))
		elog(ERROR, "could not find new row " UINT64_FORMAT " of an update", successor);
	zstid_target_change(&r.target, &change);
	zstid_target_release(&r.target);
	ZS_INJECTION_POINT("zs-tid-inherit");
}

/*
 * UPDATE, second half: marks row as updated to successor.  Checks again under
 * the lock, waits again if it must.  If the result is not TM_Ok nothing was
 * changed and the caller gives the new row's number back.  With TM_Ok,
 * tmfd->xmax is who had locked the old version (our own transaction counts),
 * or Invalid: what heap puts into the new version's xmax.
 */
TM_Result
zstid_mark_updated(Relation rel, zstid row, zstid successor, CommandId cid,
				   Snapshot crosscheck, bool wait, LockTupleMode mode, TM_FailureData *tmfd)
{
	ZsTidModify		m;
	Inherited	done = {.xmax = InvalidTransactionId};

	Assert(row != successor);
	zstid_modify_init(&m, rel, row, mode, XLTW_Update, cid, crosscheck, wait);
	for (;;)
	{
		TM_Result	result = zstid_modify_check(&m, tmfd);
		Inherited	inherited;

		if (result != TM_Ok)
			return result;
		find_inherited(&m, &inherited);
		if (!TransactionIdIsValid(inherited.xmax) || inherited.xmax == done.xmax)
			break;

		/* only one leaf is locked at a time; look again afterwards */
		zstid_target_unlock(&m.r.target);
		MultiXactIdSetOldestMember();
		put_inherited(rel, successor, &inherited);
		done = inherited;
	}
	tmfd->xmax = (m.r.vis->infomask & HEAP_XMAX_INVALID) ||
		(m.lockers_checked && !m.lockers_remain) ? InvalidTransactionId : m.r.vis->xmax;
	modify_apply(&m, ZS_VIS2_UPDATED, (int64) successor - (int64) row);
	return TM_Ok;
}
