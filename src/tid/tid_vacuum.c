/*-------------------------------------------------------------------------
 *
 * tid_vacuum.c
 *	  VACUUM's passes over the TID tree.
 *
 * First pass, leaf by leaf under its exclusive lock: decide about each slot (not
 * each row), write one XLOG_ZS_TID_FOLD if any changes, set visibility map
 * bits, mark the leaf and its downlink when nothing is left to freeze or
 * remove.  Dead rows are reported from a copy after the lock is gone.
 *
 * A leaf may cover more rows than a visibility map page: it is then locked once
 * for each map page, and looked at anew each time.
 *
 * Second pass: dead rows whose index entries are gone are retired.  Rows that
 * died in between, by a writer's folding, are not among them and must stay.
 *
 * Crash: every record leaves a valid leaf.  The mark in the downlink comes last; VACUUM relies
 * on nothing else when it skips a leaf.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_vacuum.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/visibilitymap.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "tid_internal.h"
#include "zs_btree.h"
#include "zs_io.h"
#include "zs_page.h"

/* Most ranges of visibility map bits that one leaf can have. */
#define MAX_VM_RANGES	(ZS_TID_MAX_RUNS + 2)

/* A leaf under VACUUM. */
typedef struct LeafPass
{
	ZsTidTarget target;
	const ZsTidVacuumCutoffs *cutoffs;
	ZsTidLeafResult *result;
	ZsTidFold	fold;
	ZsVacuumState states[ZS_TID_MAX_SLOTS];
	uint8		slot_bits[ZS_FIRST_REAL_SLOT + ZS_TID_MAX_SLOTS];
	TransactionId visible_horizon;	/* newest xmin of rows that are visible to all
									 * and keep it */
	ZsTidVmRange ranges[MAX_VM_RANGES];
	ZsTidVmCounts vismap;		/* bits that were set on all map pages */
	PGAlignedBlock copy;		/* the leaf afterwards */
} LeafPass;

/*
 * Decides what becomes of a slot of the locked leaf.
 */
static void
judge_slot(LeafPass *pass, int i, ZsVisSlot *vis)
{
	Relation	rel = pass->target.rel;
	ZsTidFold  *fold = &pass->fold;
	ZsVacuumState state = zstid_satisfies_vacuum(vis, pass->cutoffs->oldest_xmin,
												 pass->target.buf);
	bool		all_visible = state == ZS_VACUUM_LIVE &&
		(vis->xmin == FrozenTransactionId ||
		 TransactionIdPrecedes(vis->xmin, pass->cutoffs->oldest_xmin));

	Assert(i < (int) ZS_TID_MAX_SLOTS);
	pass->states[i] = state;
	pass->slot_bits[ZS_FIRST_REAL_SLOT + i] = 0;
	fold->actions[i] = ZS_SLOTACT_KEEP;
	if (state == ZS_VACUUM_DEAD)
	{
		fold->actions[i] = ZS_SLOTACT_KILL;
		zstid_advance_dead_horizon(vis, &fold->horizon);
	}
	else if (all_visible && (vis->infomask & HEAP_XMAX_INVALID))
	{
		fold->actions[i] = ZS_SLOTACT_FREEZE;
		pass->slot_bits[ZS_FIRST_REAL_SLOT + i] = VISIBILITYMAP_VALID_BITS;
		zstid_advance_horizon(&fold->horizon, vis->xmin);
	}
	else
	{
		fold->contents[i] = *vis;
		if (zstid_freeze_slot(rel, &fold->contents[i], pass->cutoffs,
							  &pass->result->new_relfrozenxid,
							  &pass->result->new_relminmxid))
		{
			fold->actions[i] = ZS_SLOTACT_REPLACE;
			fold->nreplaced++;
			if (fold->contents[i].xmin != vis->xmin)
				zstid_advance_horizon(&fold->horizon, vis->xmin);
		}
		if (all_visible)
		{
			pass->slot_bits[ZS_FIRST_REAL_SLOT + i] = VISIBILITYMAP_ALL_VISIBLE;
			zstid_advance_horizon(&pass->visible_horizon, vis->xmin);
		}
	}
	if (fold->actions[i] != ZS_SLOTACT_KEEP)
		fold->nchanged++;
}

/*
 * Counts the rows of the locked leaf for the result.  Sets fold.all_frozen if
 * the fold leaves only frozen rows.
 */
static void
count_rows(LeafPass *pass, ZsTidWalk walk)
{
	ZsTidLeafResult *result = pass->result;
	ZsTidFold  *fold = &pass->fold;
	ZsTidRun	run;
	const char *reason;

	fold->all_frozen = true;
	while (zstid_walk_next(&walk, &run, &reason))
	{
		int			i = run.slotno - ZS_FIRST_REAL_SLOT;

		if (run.slotno == ZS_SLOT_FROZEN)
			result->live_rows += run.count;
		else if (run.slotno == ZS_SLOT_DEAD)
			fold->all_frozen = false;
		if (i < 0)
			continue;

		if (fold->actions[i] != ZS_SLOTACT_FREEZE)
			fold->all_frozen = false;
		else
			result->frozen_rows += run.count;
		switch (pass->states[i])
		{
			case ZS_VACUUM_LIVE:
			case ZS_VACUUM_DELETE_IN_PROGRESS:
				result->live_rows += run.count;
				break;
			case ZS_VACUUM_RECENTLY_DEAD:
				result->recently_dead_rows += run.count;
				break;
			case ZS_VACUUM_DEAD:
				result->new_dead_rows += run.count;
				break;
			case ZS_VACUUM_INSERT_IN_PROGRESS:
			case ZS_VACUUM_INVALID:
				break;
		}
	}
	if (reason != NULL)
		zsbase_corrupted(pass->target.rel, BufferGetBlockNumber(pass->target.buf),
						 "TID tree leaf: %s.", reason);
}

/*
 * Processes the locked leaf as far as the map page of row goes, which is pinned.
 * Returns true if the leaf has rows beyond that.
 */
static bool
process_leaf(LeafPass *pass, zstid row)
{
	ZsTidTarget *target = &pass->target;
	Page		page = BufferGetPage(target->buf);
	ZsPageOpaque *opaque = ZsPageGetOpaque(page);
	zstid		map_end = zstid_vm_page_end(row);
	zstid		map_start = map_end - zstid_vm_page_end(0);
	zstid		rows_end = opaque->lokey;
	ZsTidFold  *fold = &pass->fold;
	ZsTidWalk	walk;
	ZsTidRun	run;
	int			nranges;
	const char *reason = zstid_walk_begin(&walk, page);

	if (reason == NULL)
		reason = zstid_walk_slots_check(&walk);
	if (reason != NULL)
		zsbase_corrupted(target->rel, BufferGetBlockNumber(target->buf),
						 "TID tree leaf: %s.", reason);

	memset(pass->result, 0, sizeof(ZsTidLeafResult));
	pass->result->lokey = opaque->lokey;
	pass->result->was_settled = (opaque->flags & ZS_PAGEF_ALL_FROZEN) != 0;
	pass->result->hikey = walk.limit;
	pass->result->new_relfrozenxid = pass->cutoffs->oldest_xmin;
	pass->result->new_relminmxid = pass->cutoffs->oldest_mxact;
	pass->visible_horizon = InvalidTransactionId;
	fold->nslots = walk.nslots;
	fold->nchanged = fold->nreplaced = 0;
	fold->horizon = InvalidTransactionId;
	pass->slot_bits[ZS_SLOT_FROZEN] = pass->slot_bits[ZS_SLOT_RETIRED] = VISIBILITYMAP_VALID_BITS;
	pass->slot_bits[ZS_SLOT_DEAD] = pass->slot_bits[ZS_SLOT_UNUSED] = 0;
	for (int i = 0; i < walk.nslots; i++)
		judge_slot(pass, i, &walk.slots[i]);
	count_rows(pass, walk);

	Assert(fold->nchanged >= fold->nreplaced);

	/* the rightmost leaf is going to change; marking it would be in vain */
	if (opaque->right == 0)
		fold->all_frozen = false;

	nranges = zstid_vm_ranges(page, pass->slot_bits, map_start, map_end, target->vmbuf,
							  pass->ranges, MAX_VM_RANGES);
	if (fold->nchanged > 0 ||
		(fold->all_frozen && !(opaque->flags & ZS_PAGEF_ALL_FROZEN)))
	{
		zstid_target_fold(target, fold);
		ZS_INJECTION_POINT("zs-tid-vacuum-fold");
	}
	if (nranges > 0)
	{
		zstid_vm_count(target->vmbuf, pass->ranges, nranges, &pass->vismap);
		zstid_vm_set(target->rel, target->buf, target->vmbuf, pass->ranges, nranges,
					 pass->visible_horizon);
		ZS_INJECTION_POINT("zs-tid-vacuum-vismap");
	}

	pass->result->size = Max(((PageHeader) page)->pd_lower, (int) ZS_TID_CONTENTS_OFFSET) -
		(int) ZS_TID_CONTENTS_OFFSET;
	(void) zstid_walk_begin(&walk, page);
	while (zstid_walk_next(&walk, &run, &reason))
		rows_end = run.first + run.count;
	if (rows_end > map_end)
		return true;

	/* nothing is missing any more: VACUUM need not come here until the leaf changes */
	if (fold->all_frozen && nranges < (int) MAX_VM_RANGES && !(opaque->flags & ZS_PAGEF_ROOT))
		zsbtree_mark_frozen(target->rel, ZS_TREE_TID, opaque->lokey, true);
	return false;
}

/* Hands the dead rows of a copied leaf to the caller. */
static void
report_dead(Page copy, ZsDeadRunCallback collect, void *arg)
{
	ZsTidWalk	walk;
	ZsTidRun	run;
	const char *reason = zstid_walk_begin(&walk, copy);

	while (reason == NULL && zstid_walk_next(&walk, &run, &reason))
	{
		if (run.slotno != ZS_SLOT_DEAD)
			continue;
		while (run.count > 0)
		{
			uint32		n = (uint32) Min(run.count, UINT32_MAX);

			collect(run.first, n, arg);
			run.first += n;
			run.count -= n;
		}
	}
}

/*
 * A leaf may have been split when it is locked for its second map page; the
 * parts behind the first one are then visited by the caller's next call.
 */
bool
zstid_vacuum_leaf(Relation rel, zstid start, const ZsTidVacuumCutoffs *cutoffs,
				  ZsDeadRunCallback collect, void *arg, ZsTidLeafResult *result)
{
	LeafPass   *pass = palloc(sizeof(LeafPass));
	ZsTidLeafResult again;
	zstid		row = start;
	bool		first_time = true;
	bool		more = true;
	BlockNumber leaf;

	zstid_target_init(&pass->target, rel);
	pass->cutoffs = cutoffs;
	pass->result = result;
	memset(&pass->vismap, 0, sizeof(ZsTidVmCounts));
	while (more && row < ZS_MAX_ROW)
	{
		CHECK_FOR_INTERRUPTS();
		visibilitymap_pin(rel, zs_row_block(row), &pass->target.vmbuf);
		pass->target.buf = zsbtree_search(rel, ZS_TREE_TID, row, BUFFER_LOCK_EXCLUSIVE);
		if (!BufferIsValid(pass->target.buf))
			break;

		/* the map page of the leaf's first row comes first */
		if (first_time)
		{
			zstid		lokey = ZsPageGetOpaque(BufferGetPage(pass->target.buf))->lokey;

			if (zstid_vm_page_end(lokey) != zstid_vm_page_end(row))
			{
				zstid_target_unlock(&pass->target);
				row = lokey;
				continue;
			}
		}
		more = process_leaf(pass, row);
		if (first_time)
			memcpy(pass->copy.data, BufferGetPage(pass->target.buf), BLCKSZ);
		leaf = BufferGetBlockNumber(pass->target.buf);
		zstid_target_unlock(&pass->target);
		zsio_hand_over(rel, &leaf, 1);

		first_time = false;
		pass->result = &again;
		row = zstid_vm_page_end(row);
	}
	zstid_target_release(&pass->target);
	if (!first_time)
	{
		result->vismap = pass->vismap;
		report_dead(pass->copy.data, collect, arg);
	}
	pfree(pass);
	return !first_time;
}
