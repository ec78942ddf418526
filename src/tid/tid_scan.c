/*-------------------------------------------------------------------------
 *
 * tid_scan.c
 *	  Sequential reading of visibility.
 *
 * A scan copies one leaf at a time under a short share lock and works on the
 * copy.  What each slot means to the snapshot is found out once, right after
 * the copy was made; so a run costs a few instructions, no matter how many
 * rows it has.  Doing it later would be wrong: a scan may rest for hours, and
 * the status of the transactions in its copy may be gone by then.
 *
 * A dirty snapshot tells its user whom to wait for, of the row that was returned
 * last.  What the tests of the slots said is kept, and goes to the snapshot with
 * each run: who waits in vain, since that transaction has ended meanwhile, scans
 * again.
 *
 * With an MVCC snapshot an old copy is as good as a new one, so a scan that
 * reads many small ranges of one leaf (a bitmap scan) copies the leaf once.
 *
 * Hint bits that the tests set in the copy are carried to the page when the scan
 * has read it: the leaf is share-locked again, and each slot that still says
 * the same gets them.
 *
 * Serializable transactions: a scan of the whole table runs under a predicate
 * lock on the relation, which the caller took before; looking at the copy is
 * then as good as looking at the page.  Slots are tested when a run needs
 * them, so that there is no conflict over rows that the scan does not reach.  A
 * scan that is to lock the rows it returns (zstid_scan_lock_rows()) tests
 * them and takes the predicate locks under the content lock instead.  It may
 * name the rows that it wants of a logical block; others are then neither
 * locked nor tested, as if each had been fetched alone.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_scan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "tid_internal.h"
#include "zs_btree.h"
#include "zs_page.h"

/* What is known about a slot. */
typedef enum SlotVerdict
{
	SLOT_UNTESTED = 0,
	SLOT_VISIBLE,
	SLOT_INVISIBLE,
} SlotVerdict;

struct ZsTidScan
{
	Relation	rel;
	Snapshot	snapshot;		/* NULL: all rows, dead ones too */
	zstid		next;			/* first row that was not looked at yet */
	zstid		end;
	bool		lock_rows;		/* predicate locks for each row returned */
	bool		serializable;	/* look for conflicts with writers */
	bool		wants_some;		/* of the block at wanted_base only these rows */
	zstid		wanted_base;
	uint64		wanted[ZS_ROWS_PER_BLOCK / 64];

	ZsBottomVisitor visitor;	/* of leaves */

	/* the present leaf, or the one before */
	bool		have_leaf;
	bool		hints_set;		/* the copy has hint bits that the page lacks */
	BlockNumber blkno;
	zstid		leaf_start;
	zstid		leaf_end;
	ZsTidWalk	walk;			/* over the copy */
	uint8		verdicts[ZS_TID_MAX_SLOTS];
	ZsTidDirty *dirty;			/* of each slot; NULL: the snapshot has another type */
	ZsVisSlot	frozen;
	PGAlignedBlock page;
};

/*
 * rows [start, end); snapshot NULL: every row, dead ones too.  What look-ahead does is added to io,
 * which may be NULL and outlives the scan.
 */
ZsTidScan *
zstid_scan_begin(Relation rel, Snapshot snapshot, zstid start, zstid end, ZsIoCounts *io)
{
	ZsTidScan  *scan = palloc(sizeof(ZsTidScan));

	scan->rel = rel;
	scan->snapshot = snapshot;
	memset(&scan->visitor, 0, sizeof(scan->visitor));
	scan->visitor.io = io;
	scan->have_leaf = false;
	scan->leaf_start = scan->leaf_end = 0;
	scan->hints_set = false;
	scan->lock_rows = false;
	scan->wants_some = false;
	scan->serializable = snapshot != NULL &&
		CheckForSerializableConflictOutNeeded(rel, snapshot);
	scan->frozen = zstid_frozen_slot;
	scan->dirty = NULL;
	if (snapshot != NULL && snapshot->snapshot_type == SNAPSHOT_DIRTY)
		scan->dirty = palloc(ZS_TID_MAX_SLOTS * sizeof(ZsTidDirty));
	zstid_scan_restart(scan, start, end);
	return scan;
}

/*
 * A serializable transaction takes a predicate lock on each row that the scan
 * finds visible (bitmap scans; a scan of the whole table locks the relation
 * instead).  The scan's range lies in the logical block that starts at base;
 * of its rows only those with these offsets are locked and tested for
 * conflicts with writers (noffsets < 0: all), and runs without any are left
 * out.  Call it after zstid_scan_begin() and after each zstid_scan_restart().
 * Does nothing in other transactions.
 */
void
zstid_scan_lock_rows(ZsTidScan *scan, zstid base, const OffsetNumber *offsets, int noffsets)
{
	if (!scan->serializable)
		return;
	Assert(!scan->have_leaf);
	scan->lock_rows = true;
	scan->wants_some = noffsets >= 0;
	if (!scan->wants_some)
		return;
	scan->wanted_base = base;
	memset(scan->wanted, 0, sizeof(scan->wanted));
	for (int i = 0; i < noffsets; i++)
	{
		/* an index entry can only be corrupt to have another offset */
		if (offsets[i] >= 1 && offsets[i] <= ZS_ROWS_PER_BLOCK)
			scan->wanted[(offsets[i] - 1) / 64] |= UINT64CONST(1) << (offsets[i] - 1) % 64;
	}
}

static inline bool
is_wanted(const ZsTidScan *scan, zstid row)
{
	uint64		i = row - scan->wanted_base;

	Assert(row >= scan->wanted_base && i < ZS_ROWS_PER_BLOCK);
	return (scan->wanted[i / 64] >> i % 64 & 1) != 0;
}

static bool
any_wanted(const ZsTidScan *scan, const ZsTidRun *run)
{
	for (uint64 i = 0; i < run->count; i++)
	{
		if (is_wanted(scan, run->first + i))
			return true;
	}
	return false;
}

/*
 * Carries hint bits from the copy to the page, if it still is that page.
 */
static void
store_hints(ZsTidScan *scan)
{
	Buffer		buf = zspage_read(scan->rel, scan->blkno, NULL);
	Page		page = BufferGetPage(buf);
	ZsTidWalk	walk;

	scan->hints_set = false;
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	if (zspage_verify(page, ZS_PAGE_TID_LEAF, ZS_TREE_TID, NULL) == ZS_PAGE_OK &&
		zstid_walk_begin(&walk, page) == NULL)
	{
		int			nslots = Min(walk.nslots, scan->walk.nslots);

		for (int i = 0; i < nslots; i++)
		{
			if (zstid_slots_alike(&walk.slots[i], &scan->walk.slots[i]))
				zstid_copy_hints(&walk.slots[i], &scan->walk.slots[i], buf);
		}
	}
	UnlockReleaseBuffer(buf);
}

/* Forgets the present leaf. */
static void
drop_leaf(ZsTidScan *scan)
{
	if (scan->hints_set)
		store_hints(scan);
	scan->have_leaf = false;
}

/* Puts the walk in front of scan->next, which lies in the present leaf. */
static void
position_walk(ZsTidScan *scan)
{
	const char *reason = zstid_walk_begin(&scan->walk, scan->page.data);

	if (reason != NULL)
		zsbase_corrupted(scan->rel, scan->blkno, "TID tree leaf: %s.", reason);
	zstid_walk_skip(&scan->walk, scan->next);
}

/*
 * Goes on with rows [start, end) instead, in the same snapshot.  A scan of an
 * MVCC snapshot keeps its copy of a leaf if start lies in it.
 */
void
zstid_scan_restart(ZsTidScan *scan, zstid start, zstid end)
{
	scan->next = start;
	scan->end = Min(end, ZS_MAX_ROW);
	if (!scan->have_leaf)
		return;
	if (scan->snapshot != NULL && scan->snapshot->snapshot_type == SNAPSHOT_MVCC &&
		!scan->serializable && start >= scan->leaf_start && start < scan->leaf_end)
		position_walk(scan);
	else
		drop_leaf(scan);
}

/* Frees the scan.  It holds no lock between calls, and no pins but those of look-ahead. */
void
zstid_scan_end(ZsTidScan *scan)
{
	drop_leaf(scan);
	zsbtree_visitor_end(&scan->visitor);
	if (scan->dirty != NULL)
		pfree(scan->dirty);
	pfree(scan);
}

static pg_noinline void
test_slot(ZsTidScan *scan, int i)
{
	ZsVisSlot  *vis = &scan->walk.slots[i];
	uint16		infomask = vis->infomask;
	bool		visible = zstid_satisfies(vis, scan->snapshot, InvalidBuffer);

	if (scan->serializable)
		zstid_conflict_out(visible, scan->rel, vis, InvalidBuffer, scan->snapshot);
	scan->verdicts[i] = visible ? SLOT_VISIBLE : SLOT_INVISIBLE;
	if (scan->dirty != NULL)
		scan->dirty[i] = zstid_dirty_get(scan->snapshot);
	if (vis->infomask != infomask)
		scan->hints_set = true;
}

/* Is the slot visible to the scan's snapshot? */
static inline bool
slot_is_visible(ZsTidScan *scan, uint16 slotno)
{
	int			i = slotno - ZS_FIRST_REAL_SLOT;

	if (scan->verdicts[i] == SLOT_UNTESTED)
		test_slot(scan, i);
	return scan->verdicts[i] == SLOT_VISIBLE;
}

/* Tells a dirty snapshot who is at work on the rows of the run, which the scan returns. */
static inline void
tell_snapshot(ZsTidScan *scan, const ZsTidRun *run)
{
	if (likely(scan->dirty == NULL))
		return;
	zstid_dirty_set(scan->snapshot, run->slotno < ZS_FIRST_REAL_SLOT ? NULL :
					&scan->dirty[run->slotno - ZS_FIRST_REAL_SLOT]);
}

/*
 * Is the slot one of rows that were deleted by a transaction that is known to have committed,
 * before all that the snapshot takes for running?  Who inserted them does not matter then.
 */
static inline bool
is_long_deleted(const ZsVisSlot *vis, Snapshot snapshot)
{
	return (vis->infomask & (HEAP_XMAX_COMMITTED | HEAP_XMAX_IS_MULTI | HEAP_XMAX_INVALID |
							 HEAP_LOCK_MASK | HEAP_XMAX_LOCK_ONLY)) == HEAP_XMAX_COMMITTED &&
		TransactionIdPrecedes(vis->xmax, snapshot->xmin);
}

/*
 * Tests all slots of the leaf.  Most have been written by a transaction that is known to have
 * committed, before all that the snapshot takes for running, or deleted by one; or by this one,
 * which inserted and deleted the rows itself.
 */
static void
test_slots(ZsTidScan *scan)
{
	Snapshot	snapshot = scan->snapshot;
	bool		is_mvcc = snapshot->snapshot_type == SNAPSHOT_MVCC;
	TransactionId own = GetTopTransactionIdIfAny();

	for (int i = 0; i < scan->walk.nslots; i++)
	{
		const ZsVisSlot *vis = &scan->walk.slots[i];

		if (is_mvcc && (vis->infomask & (HEAP_XMIN_FROZEN | HEAP_XMAX_INVALID)) ==
			(HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID) &&
			TransactionIdPrecedes(vis->xmin, snapshot->xmin))
			scan->verdicts[i] = SLOT_VISIBLE;
		else if (is_mvcc && is_long_deleted(vis, snapshot))
			scan->verdicts[i] = SLOT_INVISIBLE;
		else if (is_mvcc && TransactionIdIsValid(own) && zstid_is_deleted_by_inserter(vis, own))
			scan->verdicts[i] = vis->cmin < snapshot->curcid && vis->cmax >= snapshot->curcid ?
				SLOT_VISIBLE : SLOT_INVISIBLE;
		else
			(void) slot_is_visible(scan, ZS_FIRST_REAL_SLOT + i);
	}
}

/*
 * Next run of the present leaf that the scan returns, from scan->next on.
 */
static bool
next_run_of_leaf(ZsTidScan *scan, ZsTidRun *run, const ZsVisSlot **vis)
{
	const char *reason;

	while (zstid_walk_next(&scan->walk, run, &reason))
	{
		zstid		run_end = run->first + run->count;

		if (run_end <= scan->next || run->slotno == ZS_SLOT_UNUSED ||
			run->slotno == ZS_SLOT_RETIRED)
			continue;
		if (run->first >= scan->end)
			return false;
		run->first = Max(run->first, scan->next);
		run->count = Min(run_end, scan->end) - run->first;
		if (scan->wants_some && !any_wanted(scan, run))
			continue;

		if (run->slotno == ZS_SLOT_DEAD)
		{
			*vis = NULL;
			if (scan->snapshot == NULL)
				return true;
		}
		else if (run->slotno == ZS_SLOT_FROZEN)
		{
			*vis = &scan->frozen;
			return true;
		}
		else
		{
			*vis = zstid_walk_slot(&scan->walk, run->slotno);
			if (scan->snapshot == NULL || slot_is_visible(scan, run->slotno))
				return true;
		}
	}
	if (reason != NULL)
		zsbase_corrupted(scan->rel, scan->blkno, "TID tree leaf: %s.", reason);
	return false;
}

/*
 * Takes predicate locks on the visible rows of the copied leaf that the scan wants.
 * The page is still locked.
 */
static void
lock_visible_rows(ZsTidScan *scan)
{
	ZsTidWalk	saved = scan->walk;
	ZsTidRun	run;
	const ZsVisSlot *vis;

	while (next_run_of_leaf(scan, &run, &vis))
	{
		for (uint64 i = 0; i < run.count; i++)
		{
			ItemPointerData tid;

			if (scan->wants_some && !is_wanted(scan, run.first + i))
				continue;
			zs_tid_from_row(run.first + i, &tid);
			PredicateLockTID(scan->rel, &tid, scan->snapshot, vis->xmin);
		}
	}
	scan->walk = saved;
}

/* The leaf with scan->next is about to be read: looks ahead if the scan goes from leaf to leaf. */
static void
look_ahead(ZsTidScan *scan)
{
	uint64		width = scan->leaf_end - scan->leaf_start;
	bool		follows = width > 0 && scan->next >= scan->leaf_end &&
		scan->next - scan->leaf_end <= width;

	(void) zsbtree_visit(&scan->visitor, scan->rel, ZS_TREE_TID, scan->next, follows, NULL,
						 GetMemoryChunkContext(scan));
}

/* The block that is likely to hold scan->next, by the leaf before; 0: not known. */
static BlockNumber
next_block(const ZsTidScan *scan)
{
	return scan->leaf_end > scan->leaf_start && scan->next == scan->leaf_end ?
		ZsPageGetOpaque(scan->page.data)->right : 0;
}

/*
 * Copies the leaf that holds scan->next.  False when the tree is empty.
 */
static bool
load_leaf(ZsTidScan *scan)
{
	Buffer		buf;
	Page		page;
	int			pd_lower;
	const char *reason;

	CHECK_FOR_INTERRUPTS();
	Assert(!scan->have_leaf);
	look_ahead(scan);
	buf = zsbtree_search_near(scan->rel, ZS_TREE_TID, next_block(scan), scan->next,
							  BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buf))
		return false;

	/* the hole needs no copying */
	page = BufferGetPage(buf);
	pd_lower = ((PageHeader) page)->pd_lower;
	memcpy(scan->page.data, page, pd_lower);
	memcpy(ZsPageGetOpaque(scan->page.data), ZsPageGetOpaque(page), sizeof(ZsPageOpaque));
	scan->blkno = BufferGetBlockNumber(buf);

	position_walk(scan);
	reason = zstid_walk_slots_check(&scan->walk);
	if (reason != NULL)
		zsbase_corrupted(scan->rel, scan->blkno, "TID tree leaf: %s.", reason);
	scan->leaf_start = ZsPageGetOpaque(page)->lokey;
	scan->leaf_end = scan->walk.limit;
	memset(scan->verdicts, SLOT_UNTESTED, scan->walk.nslots);
	scan->have_leaf = true;
	if (scan->lock_rows)
		lock_visible_rows(scan);
	UnlockReleaseBuffer(buf);

	if (scan->snapshot != NULL && !scan->serializable)
		test_slots(scan);
	return true;
}

/*
 * Next visible run; false at the end.  *vis stays valid until the next call.
 * With snapshot NULL, run->slotno may be ZS_SLOT_DEAD (vis is NULL then).  A
 * SNAPSHOT_DIRTY has xmin, xmax and speculativeToken of the run, as
 * HeapTupleSatisfiesDirty() fills them, from a moment after the scan began; all are
 * invalid where nobody is at work, and at the end.
 */
bool
zstid_scan_next(ZsTidScan *scan, ZsTidRun *run, const ZsVisSlot **vis)
{
	while (scan->next < scan->end)
	{
		if (!scan->have_leaf && !load_leaf(scan))
			break;
		if (next_run_of_leaf(scan, run, vis))
		{
			Assert(run->count > 0);
			tell_snapshot(scan, run);
			scan->next = run->first + run->count;
			return true;
		}
		if (scan->leaf_end >= scan->end)
			break;
		scan->next = scan->leaf_end;
		drop_leaf(scan);
	}

	/* the leaf is kept for the next range */
	if (scan->hints_set)
		store_hints(scan);
	if (scan->dirty != NULL)
		zstid_dirty_set(scan->snapshot, NULL);
	scan->next = scan->end;
	return false;
}

/*
 * Adds the runs of the leaf to *run that are visible and follow without a gap.  The snapshot is an
 * MVCC one, and all slots have been tested.
 */
static void
extend_run(ZsTidScan *scan, ZsTidRun *run)
{
	const char *reason = NULL;
	ZsTidRun	more;

	while (scan->next < scan->end && zstid_walk_next(&scan->walk, &more, &reason))
	{
		zstid		end = Min(more.first + more.count, scan->end);

		Assert(more.first == scan->next);
		scan->next = end;
		if (more.slotno < ZS_FIRST_REAL_SLOT ? more.slotno != ZS_SLOT_FROZEN :
			scan->verdicts[more.slotno - ZS_FIRST_REAL_SLOT] != SLOT_VISIBLE)
			return;
		run->count = end - run->first;
	}
	if (reason != NULL)
		zsbase_corrupted(scan->rel, scan->blkno, "TID tree leaf: %s.", reason);
}

/*
 * Next visible rows, whoever wrote them: like zstid_scan_next(), but where each row has a slot of
 * its own as many as lie side by side on a leaf come together.  *vis is NULL then.
 */
bool
zstid_scan_next_rows(ZsTidScan *scan, ZsTidRun *run, const ZsVisSlot **vis)
{
	if (!zstid_scan_next(scan, run, vis))
		return false;
	if (scan->snapshot != NULL && scan->snapshot->snapshot_type == SNAPSHOT_MVCC &&
		!scan->serializable)
	{
		extend_run(scan, run);
		*vis = NULL;
	}
	return true;
}
