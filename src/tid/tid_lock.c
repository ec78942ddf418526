/*-------------------------------------------------------------------------
 *
 * tid_lock.c
 *	  Row locks: SELECT ... FOR UPDATE and its weaker relatives.
 *
 * The rules are those of heap_lock_tuple() and README.tuplock.  The lock is
 * an entry in the row's xmax; who must wait for another holder queues on the
 * heavyweight lock of the TID.
 *
 * The loop in zstid_lock(): lock the leaf, ask zstid_satisfies_update().  If
 * somebody is or was there, unlock the leaf and find out whether that one is in
 * the way (settle_holders()): we may hold a strong enough lock already; both locks may go
 * together; or we wait.  Whenever xmax changed while the leaf was not locked, the loop
 * starts over.
 *
 * WAL: XLOG_ZS_TID_CHANGE.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_lock.c
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
#include "utils/rel.h"

#include "tid_internal.h"

/* One attempt to lock a row. */
typedef struct RowLock
{
	ZsTidRow	r;
	LockTupleMode mode;
	LockWaitPolicy policy;
	bool		follow_updates; /* lock newer versions too */
	bool		first_time;		/* own locks were not looked for yet */
	bool		skip_tuple_lock;	/* we hold a weaker lock: do not queue */
	bool		have_tuple_lock;
	ZsVisSlot	seen;			/* the slot when the leaf was unlocked */
} RowLock;

/* What came out of looking at the holders. */
typedef enum LockStep
{
	LOCK_RETRY = 1,				/* start over; nothing is locked */
	LOCK_HELD,					/* we hold the lock already; nothing is locked */
	LOCK_FAILED,				/* *result says why; nothing is locked */
	LOCK_GRANTED,				/* we may lock the row; the leaf is locked */
} LockStep;

static Relation
lock_rel(const RowLock *lock)
{
	return lock->r.target.rel;
}

/*
 * Does a subtransaction of ours hold a lock at least as strong?  Notes whether we hold
 * a weaker one.
 */
static bool
lock_is_held(RowLock *lock)
{
	const ZsVisSlot *seen = &lock->seen;
	bool		held = false;

	if (seen->infomask & HEAP_XMAX_IS_MULTI)
	{
		MultiXactMember *members;
		int			nmembers = GetMultiXactIdMembers(seen->xmax, &members, false,
													 HEAP_XMAX_IS_LOCKED_ONLY(seen->infomask));

		for (int i = 0; i < nmembers && !held; i++)
		{
			if (!TransactionIdIsCurrentTransactionId(members[i].xid))
				continue;
			if (zstid_lockmode_of_mxact(members[i].status) >= lock->mode)
				held = true;
			else
				lock->skip_tuple_lock = true;
		}
		if (nmembers > 0)
			pfree(members);
		return held;
	}

	if (!TransactionIdIsCurrentTransactionId(seen->xmax))
		return false;
	switch (lock->mode)
	{
		case LockTupleKeyShare:
			return true;
		case LockTupleShare:
			return HEAP_XMAX_IS_SHR_LOCKED(seen->infomask) ||
				HEAP_XMAX_IS_EXCL_LOCKED(seen->infomask);
		case LockTupleNoKeyExclusive:
			return HEAP_XMAX_IS_EXCL_LOCKED(seen->infomask);
		case LockTupleExclusive:
			return HEAP_XMAX_IS_EXCL_LOCKED(seen->infomask) &&
				(seen->infomask2 & HEAP_KEYS_UPDATED);
	}
	return false;
}

/*
 * Locks the leaf again.  False, with nothing locked, if the row is gone, or if
 * xmax must be as it was and is not.
 */
static bool
relock(RowLock *lock, bool same_xmax)
{
	Assert(!BufferIsValid(lock->r.target.buf));
	if (!zstid_row_lock(&lock->r))
		return false;
	if (!same_xmax || !zstid_xmax_changed(lock->r.vis, &lock->seen))
		return true;
	zstid_target_unlock(&lock->r.target);
	return false;
}

/* Unlocks the leaf for another try. */
static LockStep
retry(RowLock *lock)
{
	zstid_target_unlock(&lock->r.target);
	return LOCK_RETRY;
}

/* Locks the newer versions, if the caller wants that and there are any. */
static TM_Result
follow_chain(RowLock *lock)
{
	if (!lock->follow_updates || HEAP_XMAX_IS_LOCKED_ONLY(lock->seen.infomask) ||
		!zstid_vis_is_updated(&lock->seen))
		return TM_Ok;
	return zstid_lock_chain(lock_rel(lock), &lock->seen,
							GetCurrentTransactionId(), lock->mode);
}

/* KEY SHARE: goes together with everything but a change of the key. */
static LockStep
settle_key_share(RowLock *lock, TM_Result *result, bool *sleep)
{
	bool		updated = !HEAP_XMAX_IS_LOCKED_ONLY(lock->seen.infomask);
	const ZsVisSlot *vis;
	TM_Result	chain;

	if (lock->seen.infomask2 & HEAP_KEYS_UPDATED)
		return LOCK_GRANTED;

	/* before the leaf is locked again, since it may wait */
	chain = follow_chain(lock);
	if (chain != TM_Ok)
	{
		*result = chain;
		return LOCK_FAILED;
	}
	if (!relock(lock, false))
		return LOCK_RETRY;

	/* xmax may have changed, as long as it still does not conflict */
	vis = lock->r.vis;
	if (!zstid_is_only_locked(vis) && ((vis->infomask2 & HEAP_KEYS_UPDATED) || !updated))
		return retry(lock);
	*sleep = false;
	return LOCK_GRANTED;
}

/* SHARE: goes together with share locks. */
static LockStep
settle_share(RowLock *lock, bool *sleep)
{
	if (!HEAP_XMAX_IS_LOCKED_ONLY(lock->seen.infomask) ||
		HEAP_XMAX_IS_EXCL_LOCKED(lock->seen.infomask))
		return LOCK_GRANTED;
	if (!relock(lock, false))
		return LOCK_RETRY;
	if (!HEAP_XMAX_IS_LOCKED_ONLY(lock->r.vis->infomask) ||
		HEAP_XMAX_IS_EXCL_LOCKED(lock->r.vis->infomask))
		return retry(lock);
	*sleep = false;
	return LOCK_GRANTED;
}

/* NO KEY UPDATE: goes together with KEY SHARE. */
static LockStep
settle_no_key(RowLock *lock, bool *sleep)
{
	bool		compatible;

	if (lock->seen.infomask & HEAP_XMAX_IS_MULTI)
		compatible = !zstid_multi_conflicts(lock->seen.xmax, lock->seen.infomask,
											lock->mode, NULL);
	else
		compatible = HEAP_XMAX_IS_KEYSHR_LOCKED(lock->seen.infomask);
	if (!compatible)
		return LOCK_GRANTED;
	if (!relock(lock, true))
		return LOCK_RETRY;
	*sleep = false;
	return LOCK_GRANTED;
}

/*
 * Waits for the holders, with the leaf unlocked, and locks it again.
 */
static LockStep
wait_for_holders(RowLock *lock, TM_Result *result)
{
	Relation	rel = lock_rel(lock);
	const ZsVisSlot *seen = &lock->seen;
	TM_Result	chain;
	bool		done;

	/* our turn in the queue; who holds a weaker lock must not queue */
	if (!lock->skip_tuple_lock &&
		!zstid_tuplock_acquire(rel, &lock->r.tid, lock->mode, lock->policy,
							   &lock->have_tuple_lock))
	{
		*result = TM_WouldBlock;
		return LOCK_FAILED;
	}

	if (seen->infomask & HEAP_XMAX_IS_MULTI)
		done = zstid_multi_wait(seen->xmax, zstid_mxact_status(lock->mode, false),
								seen->infomask, lock->policy, rel, &lock->r.tid,
								XLTW_Lock, NULL);
	else
		done = zstid_xact_wait(seen->xmax, lock->policy, rel, &lock->r.tid, XLTW_Lock);
	if (!done)
	{
		*result = TM_WouldBlock;
		return LOCK_FAILED;
	}

	chain = follow_chain(lock);
	if (chain != TM_Ok)
	{
		*result = chain;
		return LOCK_FAILED;
	}
	if (!relock(lock, true))
		return LOCK_RETRY;
	if (!(seen->infomask & HEAP_XMAX_IS_MULTI))
		zstid_hint_xmax(lock->r.vis, lock->r.hintbuf);
	return LOCK_GRANTED;
}

/*
 * xmax names somebody: *result is TM_BeingModified, TM_Updated or TM_Deleted.  The
 * leaf is locked on entry.
 */
static LockStep
settle_holders(RowLock *lock, TM_Result *result)
{
	LockStep	step = LOCK_GRANTED;
	bool		sleep = true;
	const ZsVisSlot *vis;

	zstid_row_copy(&lock->r, &lock->seen);
	zstid_target_unlock(&lock->r.target);

	/*
	 * If we hold a strong enough lock we must not queue, or we would deadlock
	 * with those who wait for us.
	 */
	if (lock->first_time)
	{
		lock->first_time = false;
		if (lock_is_held(lock))
			return LOCK_HELD;
	}

	switch (lock->mode)
	{
		case LockTupleKeyShare:
			step = settle_key_share(lock, result, &sleep);
			break;
		case LockTupleShare:
			step = settle_share(lock, &sleep);
			break;
		case LockTupleNoKeyExclusive:
			step = settle_no_key(lock, &sleep);
			break;
		case LockTupleExclusive:
			break;
	}
	if (step != LOCK_GRANTED)
		return step;

	/* nobody but ourselves, with a weaker lock */
	if (sleep && !(lock->seen.infomask & HEAP_XMAX_IS_MULTI) &&
		TransactionIdIsCurrentTransactionId(lock->seen.xmax))
	{
		if (!relock(lock, true))
			return LOCK_RETRY;
		Assert(HEAP_XMAX_IS_LOCKED_ONLY(lock->r.vis->infomask));
		sleep = false;
	}

	if (sleep)
	{
		/* waiting for an update that committed is of no use */
		if (*result != TM_BeingModified)
			return LOCK_FAILED;
		step = wait_for_holders(lock, result);
		if (step != LOCK_GRANTED)
			return step;
	}

	vis = lock->r.vis;
	if (!sleep || (vis->infomask & HEAP_XMAX_INVALID) ||
		HEAP_XMAX_IS_LOCKED_ONLY(vis->infomask) || zstid_is_only_locked(vis))
	{
		*result = TM_Ok;
		return LOCK_GRANTED;
	}
	*result = zstid_vis_is_updated(vis) ? TM_Updated : TM_Deleted;
	zstid_row_copy(&lock->r, &lock->seen);
	zstid_target_unlock(&lock->r.target);
	return LOCK_FAILED;
}

/* Writes the lock into xmax; the leaf is locked. */
static void
apply_lock(RowLock *lock)
{
	ZsTidChange change = {.op = ZS_TID_LOCK, .first = lock->r.row, .count = 1};

	Assert(BufferIsValid(lock->r.target.buf) && lock->r.vis != NULL);
	MultiXactIdSetOldestMember();
	zstid_compute_xmax(lock->r.vis, GetCurrentTransactionId(), lock->mode, false, &change);
	zstid_target_change(&lock->r.target, &change);
	ZS_INJECTION_POINT("zs-tid-lock");
	zstid_row_find(&lock->r);
}

/*
 * Locks the row or finds out why not.  *vis and *tmfd are filled from the slot as
 * it is in the end.
 */
static TM_Result
lock_row(RowLock *lock, CommandId cid, ZsVisSlot *vis, TM_FailureData *tmfd)
{
	for (;;)
	{
		TM_Result	result;
		LockStep	step = LOCK_GRANTED;

		CHECK_FOR_INTERRUPTS();
		if (!zstid_row_lock(&lock->r))
		{
			zstid_row_failure(NULL, lock->r.row, TM_Deleted, tmfd);
			return TM_Deleted;
		}
		result = zstid_satisfies_update(lock->r.vis, cid, lock->r.hintbuf);
		zstid_row_copy(&lock->r, vis);

		/* possible for ON CONFLICT, which has an error of its own for it */
		if (result == TM_Invisible)
			return result;
		if (result == TM_SelfModified)
		{
			zstid_row_failure(vis, lock->r.row, result, tmfd);
			return result;
		}
		if (result != TM_Ok)
			step = settle_holders(lock, &result);

		switch (step)
		{
			case LOCK_RETRY:
				continue;
			case LOCK_HELD:
				*vis = lock->seen;
				return TM_Ok;
			case LOCK_FAILED:
				*vis = lock->seen;
				zstid_row_failure(vis, lock->r.row, result, tmfd);
				return result;
			case LOCK_GRANTED:
				apply_lock(lock);
				zstid_row_copy(&lock->r, vis);
				return TM_Ok;
		}
	}
}

/*
 * Row lock with heap_lock_tuple()'s rules on one version; *vis is the
 * version's slot.  Following the chain (TUPLE_LOCK_FLAG_FIND_LAST_VERSION) is
 * the caller's business, locking newer versions
 * (TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS) is done here.
 */
TM_Result
zstid_lock(Relation rel, zstid row, CommandId cid, LockTupleMode mode,
		   LockWaitPolicy wait_policy, uint8 flags, ZsVisSlot *vis, TM_FailureData *tmfd)
{
	RowLock		lock = {
		.mode = mode,
		.policy = wait_policy,
		.follow_updates = (flags & TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS) != 0,
		.first_time = true
	};
	TM_Result	result;

	/* not under the leaf's lock */
	(void) GetCurrentTransactionId();

	zstid_row_init(&lock.r, rel, row);
	result = lock_row(&lock, cid, vis, tmfd);
	zstid_target_release(&lock.r.target);
	zstid_tuplock_release(rel, &lock.r.tid, mode, &lock.have_tuple_lock);
	return result;
}
