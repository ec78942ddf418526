/*-------------------------------------------------------------------------
 *
 * tid_room.c
 *	  A full TID tree leaf: settle its slots, or split it.
 *
 * Most slots of a leaf that single-row writers filled belong to transactions
 * that ended before every snapshot in use.  Rows of these that are visible to
 * all go to slot 0, rows that are dead to all to slot 1 (index entries
 * may still point to them, so they are not unused), and the runs of the leaf
 * collapse.  Only when this frees too little does the leaf split.
 *
 * A split keeps all rows as they are.  Where it may choose, it cuts between
 * logical blocks; a block that is cut nevertheless loses its visibility map
 * bits first, since these speak for blocks that lie within one leaf.
 *
 * WAL: XLOG_ZS_TID_FOLD, XLOG_ZS_TID_VISMAP, and btree's split record; a crash after
 * any of them leaves a valid tree.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_room.c
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
#include "utils/snapmgr.h"

#include "tid_internal.h"
#include "zs_btree.h"
#include "zs_compat.h"
#include "zs_page.h"

/* A fold that frees less is followed by a split, so that folds stay rare. */
#define MIN_FOLD_GAIN	(ZS_PAGE_CAPACITY / 8)

/* A cut between logical blocks may make one half this large. */
#define MAX_ALIGNED_HALF	(ZS_PAGE_CAPACITY * 3 / 4)

/* With this share of the contents before a row, in sixteenths, changes come in ascending order. */
#define MIN_ASCENDING		15

/* Advances the conflict horizon to xid. */
void
zstid_advance_horizon(TransactionId *horizon, TransactionId xid)
{
	if (TransactionIdIsNormal(xid) &&
		(!TransactionIdIsValid(*horizon) || TransactionIdPrecedes(*horizon, xid)))
		*horizon = xid;
}

/*
 * Adds to the horizon the transactions whose snapshots on a standby could still see
 * a dead row: its deleter, unless the row was never visible to another one.
 */
void
zstid_advance_dead_horizon(const ZsVisSlot *vis, TransactionId *horizon)
{
	TransactionId xmax = zstid_update_xid(vis);

	if (vis->xmin == FrozenTransactionId || (vis->infomask & HEAP_XMIN_COMMITTED) ||
		(!(vis->infomask & HEAP_XMIN_INVALID) && TransactionIdDidCommit(vis->xmin)))
	{
		if (xmax != vis->xmin)
			zstid_advance_horizon(horizon, xmax);
	}
}

/*
 * What becomes of a slot when nobody's snapshot needs it any more.
 */
static ZsSlotAction
choose_action(ZsVisSlot *vis, Buffer buf, GlobalVisState *vistest, TransactionId *horizon)
{
	TransactionId dead_after;

	switch (zstid_satisfies_vacuum_horizon(vis, buf, &dead_after))
	{
		case ZS_VACUUM_DEAD:
			zstid_advance_dead_horizon(vis, horizon);
			return ZS_SLOTACT_KILL;
		case ZS_VACUUM_RECENTLY_DEAD:
			if (!zs_xid_is_removable(vistest, dead_after))
				return ZS_SLOTACT_KEEP;
			zstid_advance_dead_horizon(vis, horizon);
			return ZS_SLOTACT_KILL;
		case ZS_VACUUM_LIVE:
			/* a running locker must stay */
			if (!(vis->infomask & HEAP_XMAX_INVALID))
				return ZS_SLOTACT_KEEP;
			if (vis->xmin == FrozenTransactionId)
				return ZS_SLOTACT_FREEZE;
			if (!zs_xid_is_removable(vistest, vis->xmin))
				return ZS_SLOTACT_KEEP;
			zstid_advance_horizon(horizon, vis->xmin);
			return ZS_SLOTACT_FREEZE;
		default:
			return ZS_SLOTACT_KEEP;
	}
}

/*
 * Settles what can be settled in the locked leaf.
 */
static void
fold_leaf(ZsTidTarget *target)
{
	ZsTidWalk	walk;
	ZsTidFold	fold;
	GlobalVisState *vistest;
	const char *reason = zstid_walk_begin(&walk, BufferGetPage(target->buf));

	if (reason == NULL)
		reason = zstid_walk_slots_check(&walk);
	if (reason != NULL)
		zsbase_corrupted(target->rel, BufferGetBlockNumber(target->buf),
						 "TID tree leaf: %s.", reason);

	/*
	 * Nobody but us can see a table made in this transaction, concludes core.  But VACUUM FULL and
	 * CLUSTER put rows into a new table that older snapshots are going to look at.
	 */
	vistest = GlobalVisTestFor(target->rel->rd_createSubid != InvalidSubTransactionId &&
							   !target->rel->rd_islocaltemp ? NULL : target->rel);
	fold.nslots = walk.nslots;
	fold.nchanged = fold.nreplaced = 0;
	fold.horizon = InvalidTransactionId;
	fold.all_frozen = false;
	for (int i = 0; i < walk.nslots; i++)
	{
		fold.actions[i] = choose_action(&walk.slots[i], target->buf, vistest, &fold.horizon);
		if (fold.actions[i] != ZS_SLOTACT_KEEP)
			fold.nchanged++;
	}
	if (fold.nchanged > 0)
		zstid_target_fold(target, &fold);
}

/*
 * Copies the part [lokey, hikey) of a leaf and drops what it does not use.  Slots
 * keep their order: with numbers that never grow, a part never takes more bytes
 * than the whole.
 */
static void
copy_part(const ZsTidLeaf *leaf, zstid lokey, zstid hikey, ZsTidLeaf *part)
{
	uint16		newno[ZS_TID_MAX_SLOTS + ZS_FIRST_REAL_SLOT] = {0};
	uint64		before[ZS_TID_MAX_SLOTS + ZS_FIRST_REAL_SLOT] = {0};	/* rows left of the part */

	part->lokey = lokey;
	part->hikey = hikey;
	part->nslots = part->nruns = 0;
	for (int i = 0; i < leaf->nruns; i++)
	{
		ZsTidRun	run = leaf->runs[i];
		zstid		end = Min(run.first + run.count, hikey);

		if (run.first < lokey)
			before[run.slotno] += Min(end, lokey) - run.first;
		run.first = Max(run.first, lokey);
		if (run.first >= end)
			continue;
		run.count = end - run.first;
		if (run.slotno >= ZS_FIRST_REAL_SLOT)
			newno[run.slotno] = 1;
		part->runs[part->nruns++] = run;
	}
	if (part->nruns > 0 && part->runs[part->nruns - 1].slotno == ZS_SLOT_UNUSED)
		part->nruns--;

	for (int i = 0; i < leaf->nslots; i++)
	{
		if (newno[i + ZS_FIRST_REAL_SLOT] == 0)
			continue;
		newno[i + ZS_FIRST_REAL_SLOT] = ZS_FIRST_REAL_SLOT + part->nslots;
		part->slots[part->nslots] = leaf->slots[i];
		if (zstid_slot_has_successors(&leaf->slots[i]))
			part->slots[part->nslots].successor += before[i + ZS_FIRST_REAL_SLOT];
		part->nslots++;
	}
	for (int i = 0; i < part->nruns; i++)
	{
		if (part->runs[i].slotno >= ZS_FIRST_REAL_SLOT)
			part->runs[i].slotno = newno[part->runs[i].slotno];
	}
}

static Size
part_size(const ZsTidLeaf *leaf, zstid lokey, zstid hikey, ZsTidLeaf *part)
{
	copy_part(leaf, lokey, hikey, part);
	return zstid_leaf_size(part);
}

/*
 * Row at which the leaf's contents divide into halves: between logical blocks
 * where that leaves neither half too large, else between any two rows.
 *
 * row is the one that wants room.  If nearly all contents lie before it, changes
 * come in ascending order, as those of a large DELETE or UPDATE do; the cut is then in front
 * of it, so that the left page stays full.
 */
static zstid
choose_split_row(const ZsTidLeaf *leaf, zstid row, ZsTidLeaf *part)
{
	zstid		low = leaf->lokey + 1;
	zstid		high;
	zstid		candidates[2];
	Size		total = zstid_leaf_size(leaf);

	Assert(leaf->nruns > 0);
	high = leaf->runs[leaf->nruns - 1].first + leaf->runs[leaf->nruns - 1].count;

	if (row > leaf->lokey && part_size(leaf, leaf->lokey, row, part) * 16 >= total * MIN_ASCENDING)
	{
		zstid		key = row & ~(zstid) (ZS_ROWS_PER_BLOCK - 1);

		if (key > leaf->lokey && part_size(leaf, key, leaf->hikey, part) <= MAX_ALIGNED_HALF)
			return key;
		return row;
	}

	/* the smallest row whose left part has half of the bytes */
	while (low < high)
	{
		zstid		mid = low + (high - low) / 2;

		if (part_size(leaf, leaf->lokey, mid, part) * 2 >= total)
			high = mid;
		else
			low = mid + 1;
	}

	candidates[0] = low & ~(zstid) (ZS_ROWS_PER_BLOCK - 1);
	candidates[1] = candidates[0] + ZS_ROWS_PER_BLOCK;
	for (int i = 0; i < 2; i++)
	{
		zstid		key = candidates[i];

		if (key > leaf->lokey && key < leaf->hikey &&
			part_size(leaf, leaf->lokey, key, part) <= MAX_ALIGNED_HALF &&
			part_size(leaf, key, leaf->hikey, part) <= MAX_ALIGNED_HALF)
			return key;
	}
	return low;
}

/* Writes the part [lokey, hikey) of a leaf as a page image. */
static void
form_image(const ZsTidLeaf *leaf, zstid lokey, zstid hikey, ZsTidLeaf *part, Page image)
{
	zspage_init(image, ZS_PAGE_TID_LEAF, ZS_TREE_TID, 0, lokey, hikey);
	copy_part(leaf, lokey, hikey, part);
	if (!zstid_leaf_write(part, image))
		elog(ERROR, "half of a TID tree leaf does not fit a page");
}

/*
 * If splitkey lies within a logical block: takes the block's visibility map bits away.  Returns
 * false when the map page was not pinned; the leaf has been released then.  The page may be another
 * one than that of the target's row, which the caller is going to ask for again; so each has its
 * own pin.
 */
static bool
clear_cut_block(ZsTidTarget *target, zstid splitkey)
{
	ZsPageOpaque *opaque = ZsPageGetOpaque(BufferGetPage(target->buf));
	BlockNumber blkno = zs_row_block(splitkey);
	Buffer	   *vmbuf = visibilitymap_pin_ok(blkno, target->vmbuf) ?
		&target->vmbuf : &target->cut_vmbuf;

	if (splitkey % ZS_ROWS_PER_BLOCK == 0 || !(opaque->flags & ZS_PAGEF_ANY_VISIBLE))
		return true;
	if (!visibilitymap_pin_ok(blkno, *vmbuf))
	{
		zstid_target_unlock(target);
		visibilitymap_pin(target->rel, blkno, vmbuf);
		return false;
	}
	if (zstid_vm_test(*vmbuf, blkno, blkno, VISIBILITYMAP_VALID_BITS))
	{
		zstid_vm_clear_block(target->rel, *vmbuf, blkno);
		ZS_INJECTION_POINT("zs-tid-room-vismap");
	}
	return true;
}

/*
 * Splits the target's leaf and releases it.
 */
static void
split_leaf(ZsTidTarget *target)
{
	Page		page = BufferGetPage(target->buf);
	ZsTidLeaf  *leaf = &zstid_scratch;
	ZsTidLeaf  *part;
	PGAlignedBlock left;
	PGAlignedBlock right;
	zstid		end;
	zstid		splitkey;
	bool		appending;
	const char *reason = zstid_leaf_read(page, leaf);
	Buffer		buf = target->buf;

	if (reason != NULL)
		zsbase_corrupted(target->rel, BufferGetBlockNumber(buf), "TID tree leaf: %s.", reason);
	Assert(leaf->nruns > 1);
	Assert(target->row >= leaf->lokey && target->row < leaf->hikey);
	part = palloc(sizeof(ZsTidLeaf));

	/*
	 * Rows behind all others that are there come one after the other: they go to
	 * a page of their own, and this one stays full.
	 */
	end = leaf->runs[leaf->nruns - 1].first + leaf->runs[leaf->nruns - 1].count;
	appending = target->row >= end;
	if (appending)
	{
		splitkey = target->row & ~(zstid) (ZS_ROWS_PER_BLOCK - 1);
		if (splitkey < end)
			splitkey = target->row;
	}
	else
		splitkey = choose_split_row(leaf, target->row, part);

	Assert(splitkey > leaf->lokey && splitkey < leaf->hikey);
	if (clear_cut_block(target, splitkey))
	{
		form_image(leaf, splitkey, leaf->hikey, part, right.data);
		if (!appending)
			form_image(leaf, leaf->lokey, splitkey, part, left.data);

		target->buf = InvalidBuffer;
		zsbtree_split(target->rel, ZS_TREE_TID, buf, splitkey,
					  appending ? NULL : left.data, right.data, appending);
	}
	pfree(part);
}

/*
 * The target's leaf, exclusively locked, has no room for a change at
 * target->row.  Makes some and releases the leaf; the caller locks it again.
 */
void
zstid_make_room(ZsTidTarget *target)
{
	fold_leaf(target);
	ZS_INJECTION_POINT("zs-tid-room-fold");
	if (zstid_leaf_free_space(BufferGetPage(target->buf)) >= MIN_FOLD_GAIN)
		zstid_target_unlock(target);
	else
		split_leaf(target);
	Assert(!BufferIsValid(target->buf));
}
