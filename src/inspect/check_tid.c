/*-------------------------------------------------------------------------
 *
 * check_tid.c
 *	  zs_check(): leaves of the TID tree.
 *
 * zstid_leaf_unpack() checks the bytes of a leaf.  Here is what they say: are
 * the transactions possible, do hint bits agree with the commit log, do flags
 * of pages agree with their contents.
 *
 * From each slot follows the fate of its rows: whether somebody may ask for
 * their data (check_cover.c) and whether the visibility map may say that
 * everybody sees them (check_vismap.c).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/check_tid.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/lwlock.h"
#include "storage/procarray.h"
#include "storage/standby.h"
#include "utils/memutils.h"
#include "utils/memutils.h"

#include "check_internal.h"

/* ---- transactions ----------------------------------------------------------------- */

/*
 * Oldest transaction that the visibility map may not take for settled.  Unlike
 * GetOldestNonRemovableTransactionId() it never goes back, so a bit that was right when it
 * was set is right today; pg_visibility decides the same way.
 */
static TransactionId
settled_horizon(Relation rel)
{
	TransactionId result;

	if (RecoveryInProgress())
		return XidFromFullTransactionId(ReadNextFullTransactionId());
	if (RELATION_IS_LOCAL(rel))
		return GetOldestNonRemovableTransactionId(rel);
	result = GetRunningTransactionData()->oldestDatabaseRunningXid;
	LWLockRelease(ProcArrayLock);
	LWLockRelease(XidGenLock);
	return result;
}

/* What is wrong with a transaction id of the table; NULL = nothing. */
static const char *
check_xid(ZsCheck *check, TransactionId xid)
{
	TransactionId next = XidFromFullTransactionId(ReadNextFullTransactionId());
	TransactionId frozen = check->rel->rd_rel->relfrozenxid;

	if (!TransactionIdIsNormal(xid))
		return NULL;
	if (!TransactionIdPrecedes(xid, next))
		return "lies in the future";
	if (TransactionIdIsNormal(frozen) && TransactionIdPrecedes(xid, frozen))
		return "precedes the table's relfrozenxid";
	return NULL;
}

static const char *
check_multi(ZsCheck *check, MultiXactId multi)
{
	MultiXactId next = ReadNextMultiXactId();
	MultiXactId oldest = check->rel->rd_rel->relminmxid;

	if (!MultiXactIdIsValid(multi))
		return "is invalid";
	if (!MultiXactIdPrecedes(multi, next))
		return "lies in the future";
	if (MultiXactIdIsValid(oldest) && MultiXactIdPrecedes(multi, oldest))
		return "precedes the table's relminmxid";
	return NULL;
}

/*
 * What is wrong with a slot, palloc'd; NULL = nothing.  Asks the commit log, but only about
 * transactions that it knows.
 */
static char *
check_slot(ZsCheck *check, const ZsVisSlot *vis)
{
	bool		xmin_frozen = vis->xmin == FrozenTransactionId;
	bool		is_multi = (vis->infomask & HEAP_XMAX_IS_MULTI) != 0;
	const char *reason;

	if (!TransactionIdIsValid(vis->xmin))
		return pstrdup("xmin is invalid");
	if ((reason = check_xid(check, vis->xmin)) != NULL)
		return psprintf("xmin %u %s", vis->xmin, reason);
	reason = is_multi ? check_multi(check, vis->xmax) : check_xid(check, vis->xmax);
	if (reason != NULL && (vis->infomask & HEAP_XMAX_INVALID) == 0)
		return psprintf("xmax %u %s", vis->xmax, reason);
	if ((vis->infomask & ~ZS_VIS_INFOMASK_BITS) != 0 ||
		(vis->infomask2 & ~ZS_VIS_INFOMASK2_BITS) != 0 ||
		vis->unused != 0)
		return psprintf("invalid flags 0x%04X and 0x%04X", vis->infomask, vis->infomask2);

	if (TransactionIdIsNormal(vis->xmin) && !xmin_frozen)
	{
		uint16		hints = vis->infomask & (HEAP_XMIN_COMMITTED | HEAP_XMIN_INVALID);

		if (hints == HEAP_XMIN_COMMITTED && !TransactionIdDidCommit(vis->xmin))
			return psprintf("xmin %u is marked as committed and did not commit", vis->xmin);
		if (hints == HEAP_XMIN_INVALID && TransactionIdDidCommit(vis->xmin))
			return psprintf("xmin %u is marked as aborted and committed", vis->xmin);
	}
	if ((vis->infomask & HEAP_XMAX_COMMITTED) != 0 && !is_multi &&
		TransactionIdIsNormal(vis->xmax) && !TransactionIdDidCommit(vis->xmax))
		return psprintf("xmax %u is marked as committed and did not commit", vis->xmax);
	return NULL;
}

/* ---- fates --------------------------------------------------------------------------- */

/*
 * Fate of rows with slot slotno; vis NULL for the fixed numbers.  May raise
 * errors.
 */
void
zscheck_row_fate(ZsCheck *check, uint16 slotno, const ZsVisSlot *vis, ZsRowFate *fate)
{
	ZsVisSlot	slot;
	TransactionId settled;
	ZsVacuumState state;
	bool		xmin_frozen;

	memset(fate, 0, sizeof(*fate));
	if (slotno < ZS_FIRST_REAL_SLOT)
	{
		fate->needed = slotno == ZS_SLOT_FROZEN;
		fate->all_visible = fate->all_frozen = slotno != ZS_SLOT_DEAD;
		return;
	}
	Assert(vis != NULL);
	slot = *vis;

	/* data are on their pages when the inserter commits, not before */
	xmin_frozen = !TransactionIdIsNormal(slot.xmin);
	if (!xmin_frozen && !TransactionIdDidCommit(slot.xmin))
		return;

	/* the tests set hint bits, in this copy */
	state = zstid_satisfies_vacuum(&slot, GetOldestNonRemovableTransactionId(check->rel),
								   InvalidBuffer);
	fate->needed = state != ZS_VACUUM_DEAD && state != ZS_VACUUM_INSERT_IN_PROGRESS;

	settled = settled_horizon(check->rel);
	fate->all_visible = state == ZS_VACUUM_LIVE &&
		(xmin_frozen || TransactionIdPrecedes(slot.xmin, settled));
	fate->all_frozen = fate->all_visible && xmin_frozen &&
		((slot.infomask & HEAP_XMAX_INVALID) != 0 || slot.xmax == InvalidTransactionId);
	Assert(!fate->all_frozen || fate->all_visible);
}

/* Must the row have data?  May raise errors. */
bool
zscheck_row_needed(ZsCheck *check, zstid row)
{
	return zscheck_range_needed(check, row, row + 1);
}

/* Must any row of [first, end) have data?  May raise errors. */
bool
zscheck_range_needed(ZsCheck *check, zstid first, zstid end)
{
	ZsTidScan  *scan = zstid_scan_begin(check->rel, NULL, first, end, NULL);
	const ZsVisSlot *vis;
	ZsTidRun	run;
	bool		needed = false;

	Assert(first < end);
	while (!needed && zstid_scan_next(scan, &run, &vis))
	{
		ZsRowFate	fate;

		zscheck_row_fate(check, run.slotno, vis, &fate);
		needed = fate.needed;
	}
	zstid_scan_end(scan);
	return needed;
}

/* ---- leaves -------------------------------------------------------------------------- */

typedef struct LeafCheck
{
	BlockNumber blkno;
	Page		page;
	bool		marked_frozen;	/* by the downlink */
	int			nslots;
	ZsVisSlot  *slots;
	int			nruns;
	ZsTidRun   *runs;
	zstid	   *successors;		/* of the first row of each run */
	ZsRowFate  *fates;			/* one a run */
} LeafCheck;

/* Slots, and the fates of the runs.  Rows with an impossible slot are left alone afterwards. */
static void
check_slots(ZsCheck *check, LeafCheck *leaf)
{
	ZsRowFate  *fates = palloc0(Max(leaf->nslots, 1) * sizeof(ZsRowFate));

	Assert(leaf->nslots >= 0 && leaf->nruns >= 0);
	for (int i = 0; i < leaf->nslots; i++)
	{
		char	   *reason = check_slot(check, &leaf->slots[i]);

		if (reason != NULL)
		{
			zscheck_error(check, leaf->blkno, ZS_TREE_TID, "visibility slot %d: %s",
						  ZS_FIRST_REAL_SLOT + i, reason);
			fates[i].all_visible = fates[i].all_frozen = true;
		}
		else
			zscheck_row_fate(check, ZS_FIRST_REAL_SLOT + i, &leaf->slots[i], &fates[i]);
	}
	leaf->fates = palloc(Max(leaf->nruns, 1) * sizeof(ZsRowFate));
	for (int i = 0; i < leaf->nruns; i++)
	{
		uint16		slotno = leaf->runs[i].slotno;

		/* zstid_leaf_unpack() has looked at this */
		Assert(slotno < ZS_FIRST_REAL_SLOT + leaf->nslots);
		if (slotno >= ZS_FIRST_REAL_SLOT)
			leaf->fates[i] = fates[slotno - ZS_FIRST_REAL_SLOT];
		else
			zscheck_row_fate(check, slotno, NULL, &leaf->fates[i]);
	}
	pfree(fates);
}

/* What runs say that their slots alone do not. */
static void
check_runs(ZsCheck *check, LeafCheck *leaf)
{
	zstid		next_row = check->meta.next_row;
	bool		settled = true;

	for (int i = 0; i < leaf->nruns; i++)
	{
		const ZsTidRun *run = &leaf->runs[i];
		zstid		successor = leaf->successors[i];

		Assert(run->count > 0 && (i == 0 || run[-1].first + run[-1].count == run->first));
		if (run->slotno == ZS_SLOT_UNUSED)
			continue;
		if (run->first + run->count > next_row)
		{
			next_row = zspage_next_row(check->rel);
			if (run->first + run->count > next_row)
				zscheck_error(check, leaf->blkno, ZS_TREE_TID,
							  "rows up to " UINT64_FORMAT " are in use, but the next row number is " UINT64_FORMAT,
							  run->first + run->count - 1, next_row);
		}
		if (run->slotno != ZS_SLOT_FROZEN && run->slotno != ZS_SLOT_RETIRED)
			settled = false;
		if (successor != ZS_INVALID_ROW &&
			(successor >= next_row || successor + run->count > next_row))
			zscheck_error(check, leaf->blkno, ZS_TREE_TID,
						  "row " UINT64_FORMAT " was updated to row " UINT64_FORMAT ", which does not exist",
						  run->first, successor);
	}
	if (!settled && (ZsPageGetOpaque(leaf->page)->flags & ZS_PAGEF_ALL_FROZEN) != 0)
		zscheck_error(check, leaf->blkno, ZS_TREE_TID, "leaf is marked as all-frozen and is not");
	if (!settled && leaf->marked_frozen)
		zscheck_error(check, leaf->blkno, ZS_TREE_TID,
					  "leaf is marked as all-frozen by its parent and is not");
}

/* ZsCheckStep: all that may raise errors about transactions. */
static void
check_leaf(ZsCheck *check, void *arg)
{
	LeafCheck  *leaf = arg;

	check_slots(check, leaf);
	check_runs(check, leaf);
}

/*
 * A leaf of the TID tree, a copy; marked_frozen: its downlink says that all
 * its rows are frozen.  Checks visibility map and completeness of the rows,
 * too.
 */
void
zscheck_tid_leaf(ZsCheck *check, BlockNumber blkno, Page page, bool marked_frozen)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "zedstore check of a TID leaf",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	LeafCheck	leaf = {.blkno = blkno, .page = page, .marked_frozen = marked_frozen};
	const char *reason;
	char	   *error;

	reason = zstid_leaf_unpack(page, &leaf.nslots, &leaf.slots, &leaf.nruns, &leaf.runs,
							   &leaf.successors);
	if (reason != NULL)
		zscheck_error(check, blkno, ZS_TREE_TID, "TID tree leaf: %s", reason);
	else if ((error = zscheck_protect(check, check_leaf, &leaf)) != NULL)
		zscheck_error(check, blkno, ZS_TREE_TID, "TID tree leaf: %s", error);
	else
	{
		Assert(leaf.fates != NULL);
		zscheck_vismap(check, blkno, page, leaf.nruns, leaf.runs, leaf.fates);
		zscheck_cover(check, blkno, leaf.nruns, leaf.runs, leaf.fates);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
