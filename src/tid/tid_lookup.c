/*-------------------------------------------------------------------------
 *
 * tid_lookup.c
 *	  State of single rows.
 *
 * One descent, and a walk over the run stream under the leaf's share lock; the
 * leaf is not unpacked and nothing is allocated.  The visibility test runs
 * under the lock too, on the slot in the page, and sets hint bits there.
 *
 * Serializable transactions take their predicate lock on the row under the same
 * lock, so that a writer either sees the lock or is seen by us.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_lookup.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "tid_internal.h"
#include "zs_btree.h"
#include "zs_compat.h"
#include "zs_page.h"

/*
 * Share-locks the leaf of a row and finds its run.  Returns InvalidBuffer when there is
 * no such row number.  *vis: the slot in the page, or *frozen when the row is frozen;
 * NULL when it is unused or dead.
 */
static Buffer
lock_row(Relation rel, zstid row, ZsTidRun *run, ZsVisSlot **vis, ZsVisSlot *frozen)
{
	Buffer		buf;
	const char *reason;

	*vis = NULL;
	if (row >= ZS_MAX_ROW)
		return InvalidBuffer;
	buf = zsbtree_search(rel, ZS_TREE_TID, row, BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buf))
		return InvalidBuffer;

	/* hint bits change the LSN under a share lock, hence not PageGetLSN() */
	reason = zstid_leaf_find(BufferGetPage(buf), BufferGetLSNAtomic(buf), row, run, vis, NULL);
	if (reason != NULL)
		zsbase_corrupted(rel, BufferGetBlockNumber(buf), "TID tree leaf: %s.", reason);
	if (run->slotno == ZS_SLOT_FROZEN)
	{
		*frozen = zstid_frozen_slot;
		*vis = frozen;
	}
	return buf;
}

/* Hint bits of a frozen row's private slot must not reach the page. */
static inline Buffer
hint_buffer(Buffer buf, const ZsVisSlot *vis, const ZsVisSlot *frozen)
{
	return vis == frozen ? InvalidBuffer : buf;
}

/*
 * State of one row.  Returns false when the row number is unused or beyond the
 * end, or dead (*dead is set then; dead may be NULL).  A frozen row yields a
 * slot with xmin = FrozenTransactionId and HEAP_XMIN_FROZEN.  A successor in
 * *vis is the row's own, as in those that zstid_fetch_visible() and
 * zstid_lock() give; elsewhere it is that of the slot's first row.  Takes a
 * share lock on one leaf at a time; no snapshot, no hint bits.
 */
bool
zstid_lookup(Relation rel, zstid row, ZsVisSlot *result, bool *dead)
{
	ZsTidRun	run;
	ZsVisSlot	frozen;
	ZsVisSlot  *vis;
	Buffer		buf = lock_row(rel, row, &run, &vis, &frozen);

	if (dead != NULL)
		*dead = false;
	if (!BufferIsValid(buf))
		return false;
	if (vis != NULL)
		zstid_slot_of_row(BufferGetPage(buf), &run, vis, row, result);
	else if (dead != NULL)
		*dead = run.slotno == ZS_SLOT_DEAD;
	UnlockReleaseBuffer(buf);
	return vis != NULL;
}

/* Has the row number no row now, and may it be handed out? */
bool
zstid_is_unused(Relation rel, zstid row)
{
	ZsTidRun	run;
	ZsVisSlot	frozen;
	ZsVisSlot  *vis;
	Buffer		buf = lock_row(rel, row, &run, &vis, &frozen);
	bool		unused = BufferIsValid(buf) && vis == NULL && run.slotno == ZS_SLOT_UNUSED;

	if (BufferIsValid(buf))
		UnlockReleaseBuffer(buf);
	return unused;
}

/*
 * Is the row visible to the snapshot (any type)?  Fills *vis if it is.  Sets
 * hint bits.  For SNAPSHOT_DIRTY the snapshot's xmin, xmax and
 * speculativeToken are filled as by HeapTupleSatisfiesDirty.  *all_dead (may
 * be NULL) tells that the row is dead to every transaction, so that the index
 * entry may be killed.  Does SSI checks where heap does them (heap_fetch /
 * heap_hot_search_buffer).
 *
 * *alike (may be NULL): with an MVCC snapshot, rows beside this one of which the same can be said,
 * *vis included, as long as the snapshot is the same; count 0: none.  Others may change them
 * meanwhile, which the snapshot does not see.
 */
bool
zstid_fetch_visible(Relation rel, zstid row, Snapshot snapshot, ZsVisSlot *result,
					bool *all_dead, ZsTidRun *alike)
{
	ZsTidRun	run;
	ZsVisSlot	frozen;
	ZsVisSlot  *vis;
	bool		valid;
	ZsVisSlot	unseen;
	Buffer		buf = lock_row(rel, row, &run, &vis, &frozen);

	if (alike != NULL)
		alike->count = 0;
	if (vis == NULL)
	{
		/* as heap: nothing is there, so an index entry leads nowhere */
		if (BufferIsValid(buf))
			UnlockReleaseBuffer(buf);
		if (snapshot->snapshot_type == SNAPSHOT_DIRTY)
			zstid_dirty_set(snapshot, NULL);
		if (all_dead != NULL)
			*all_dead = true;
		return false;
	}

	valid = zstid_satisfies(vis, snapshot, hint_buffer(buf, vis, &frozen));
	zstid_conflict_out(valid, rel, vis, hint_buffer(buf, vis, &frozen), snapshot);
	if (valid)
	{
		ItemPointerData tid;

		zs_tid_from_row(row, &tid);
		PredicateLockTID(rel, &tid, snapshot, vis->xmin);
		zstid_slot_of_row(BufferGetPage(buf), &run, vis, row, result);
		if (alike != NULL && snapshot->snapshot_type == SNAPSHOT_MVCC &&
			(vis->infomask & HEAP_XMAX_INVALID) != 0 && !zstid_slot_has_successors(vis) &&
			!CheckForSerializableConflictOutNeeded(rel, snapshot))
			*alike = run;
	}
	if (all_dead != NULL)
		*all_dead = !valid && zstid_is_surely_dead(vis, GlobalVisTestFor(rel));
	if (valid || all_dead == NULL || *all_dead)
	{
		UnlockReleaseBuffer(buf);
		return valid;
	}
	unseen = *vis;
	UnlockReleaseBuffer(buf);
	*all_dead = zstid_own_check_dead(&unseen);
	return false;
}

/*
 * Follows the update chain from *row to its latest version visible to the
 * snapshot, as heap_get_latest_tid(): leaves *row alone when there is none.
 */
void
zstid_latest_version(Relation rel, zstid *row, Snapshot snapshot)
{
	zstid		current = *row;
	TransactionId prior_xmax = InvalidTransactionId;

	for (;;)
	{
		ZsTidRun	run;
		ZsVisSlot	frozen;
		ZsVisSlot  *vis;
		bool		valid;
		bool		last;
		Buffer		buf;

		CHECK_FOR_INTERRUPTS();
		buf = lock_row(rel, current, &run, &vis, &frozen);

		/* the end of the chain, or an unrelated row that came in its place */
		if (vis == NULL ||
			(TransactionIdIsValid(prior_xmax) && vis->xmin != prior_xmax))
		{
			if (BufferIsValid(buf))
				UnlockReleaseBuffer(buf);
			return;
		}

		valid = zstid_satisfies(vis, snapshot, hint_buffer(buf, vis, &frozen));
		zstid_conflict_out(valid, rel, vis, hint_buffer(buf, vis, &frozen), snapshot);
		if (valid)
			*row = current;

		last = zstid_chain_ends(vis);
		if (!last)
		{
			ZsVisSlot	copy;

			zstid_slot_of_row(BufferGetPage(buf), &run, vis, current, &copy);
			current = copy.successor;
			prior_xmax = zstid_update_xid(&copy);
		}
		UnlockReleaseBuffer(buf);
		if (last)
			return;
	}
}

/* Is a row with this history dead to everyone?  Advances *conflict_horizon if it is. */
static bool
is_dead(Relation rel, ZsVisSlot *vis, Buffer hintbuf, TransactionId *conflict_horizon)
{
	TransactionId dead_after;
	ZsVacuumState state = zstid_satisfies_vacuum_horizon(vis, hintbuf, &dead_after);

	/* nobody on a standby will ever see it either */
	if (state == ZS_VACUUM_DELETE_IN_PROGRESS)
		return zstid_own_is_dead(vis);
	if (state != ZS_VACUUM_DEAD &&
		!(state == ZS_VACUUM_RECENTLY_DEAD &&
		  zs_xid_is_removable(GlobalVisTestFor(rel), dead_after)))
		return false;
	zstid_advance_dead_horizon(vis, conflict_horizon);
	return true;
}

/*
 * For index_delete_tuples: which of these rows, in ascending order, are dead
 * to everyone?  Looks at those that lie on one leaf of the TID tree, at least
 * one, and returns how many these are. *conflict_horizon is advanced as
 * removing the dead ones demands.
 */
int
zstid_find_dead(Relation rel, const zstid *rows, int nrows, bool *dead,
				TransactionId *conflict_horizon)
{
	Buffer		buf;
	Page		page;
	ZsTidWalk	walk;
	ZsTidRun	run = {.count = 0};
	const char *reason;
	int			judged = -1;	/* slot that verdict is about */
	bool		verdict = false;
	int			n;

	Assert(nrows > 0);
	zstid_own_prepare();
	buf = rows[0] < ZS_MAX_ROW ? zsbtree_search(rel, ZS_TREE_TID, rows[0], BUFFER_LOCK_SHARE) :
		InvalidBuffer;
	if (!BufferIsValid(buf))
	{
		/* there is no such row number */
		dead[0] = true;
		return 1;
	}
	page = BufferGetPage(buf);
	reason = zstid_walk_begin(&walk, page);
	for (n = 0; n < nrows && rows[n] < walk.limit && reason == NULL; n++)
	{
		Assert(n == 0 || rows[n] >= rows[n - 1]);
		if (rows[n] >= walk.row)
		{
			zstid_walk_skip(&walk, rows[n]);
			while (rows[n] >= walk.row && zstid_walk_next(&walk, &run, &reason))
				;
			if (reason != NULL)
				break;
			/* behind the last run */
			if (rows[n] >= walk.row)
				run.slotno = ZS_SLOT_UNUSED;
		}

		/* what killed a row without leaving a slot has logged its horizon then */
		if (run.slotno < ZS_FIRST_REAL_SLOT)
			dead[n] = run.slotno != ZS_SLOT_FROZEN;
		else
		{
			if (judged != run.slotno)
				verdict = is_dead(rel, zstid_walk_slot(&walk, run.slotno), buf,
								  conflict_horizon);
			judged = run.slotno;
			dead[n] = verdict;
		}
	}
	if (reason != NULL)
		zsbase_corrupted(rel, BufferGetBlockNumber(buf), "TID tree leaf: %s.", reason);
	UnlockReleaseBuffer(buf);
	return n;
}
