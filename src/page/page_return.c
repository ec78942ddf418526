/*-------------------------------------------------------------------------
 *
 * page_return.c
 *	  Free space goes back from a tree to the table.
 *
 * A tree that has lost many pages keeps long runs of free blocks that no
 * other tree can use.  VACUUM moves them to the table's own map, where
 * zspage_alloc_runs() looks before it extends the file.
 *
 * For what VACUUM moves to the front of the file (vacuum_relocate.c) it takes
 * chosen blocks out of the table's map, and gives the old ones to it, so that
 * they join what is free at the end.
 *
 * When free extents of any map reach the end of the file, VACUUM cuts them
 * off (page_truncate.c).
 *
 * Crash: after each record the maps are valid.
 *
 * Locks: metapage, then directory page, then FPM page.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_return.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "page_internal.h"
#include "zs_page.h"
#include "zs_walrec.h"

/* Is the second extent a part of the first? */
static inline bool
has_part(ZsExtent extent, ZsExtent part)
{
	return extent.start <= part.start &&
		extent.start + extent.length >= part.start + part.length;
}

/* The extent in the entry of a locked page of which this is a part, or NULL. */
static const ZsExtent *
find_in_entry(const ZsTreeEntry *entry, ZsExtent part)
{
	for (int i = 0; i < entry->nextents; i++)
	{
		if (has_part(entry->extents[i], part))
			return &entry->extents[i];
	}
	return NULL;
}

/*
 * Locks the FPM page of the tree that has an extent of which this is a part; the directory page is
 * locked.  InvalidBuffer if there is none. Walks the chain, so pages are read under the directory
 * page's lock: the caller has just read them.
 */
static Buffer
lock_chained(Relation rel, uint16 treeno, const ZsTreeEntry *entry, ZsExtent extent)
{
	for (BlockNumber blkno = entry->chain; blkno != 0;)
	{
		Buffer		buf = zspage_read(rel, blkno, NULL);
		const ZsExtent *e = zspage_fpm_extents(BufferGetPage(buf));

		zspage_chain_lock(rel, treeno, buf, BUFFER_LOCK_EXCLUSIVE);
		for (int i = 0; i < zspage_fpm_count(BufferGetPage(buf)); i++)
		{
			if (has_part(e[i], extent))
				return buf;
		}
		blkno = ZsPageGetOpaque(BufferGetPage(buf))->right;
		UnlockReleaseBuffer(buf);
	}
	return InvalidBuffer;
}

/* Is exactly this extent on the FPM page? */
static bool
is_on_page(Page page, ZsExtent extent)
{
	const ZsExtent *e = zspage_fpm_extents(page);

	for (int i = 0; i < zspage_fpm_count(page); i++)
	{
		if (e[i].start == extent.start)
			return e[i].length == extent.length;
	}
	return false;
}

/*
 * Takes the last blocks of a free extent, as zspage_fpm_copy() showed it, away from the tree: all
 * of it to the table's map, or, with to_table false, so many off the end of the file. One record.
 * False when the extent is not there any more, or the table's entry has no room for it (*full).
 * No page is locked on entry.
 */
bool
zspage_take_away(Relation rel, uint16 treeno, ZsExtent extent, uint32 length, bool to_table,
				 bool *full)
{
	ZsExtent	part = {.start = extent.start + extent.length - length, .length = length};
	ZsFpmOp		ops[2];
	ZsFpmChange change = {.ops = ops, .maxops = lengthof(ops)};
	ZsFpmOp		gain = {.op = ZS_FPM_GAIN, .start = extent.start, .length = extent.length};
	PGAlignedBlock image;
	ZsTreeEntry *entry;
	ZsTreeEntry table;
	const ZsExtent *found;
	bool		done = false;

	Assert(extent.start != ZS_META_BLKNO && length > 0 && length <= extent.length);
	Assert(!to_table || length == extent.length);
	*full = false;
	zspage_change_lock_both(rel, treeno, &change);
	entry = zspage_change_entry(&change, treeno);
	table = *zspage_change_entry(&change, ZS_TREE_TABLE);
	if (to_table && !zspage_entry_apply(&table, &gain) && table.nextents == ZS_ENTRY_EXTENTS)
	{
		*full = true;
		zspage_change_unlock(&change);
		return false;
	}

	found = find_in_entry(entry, extent);
	if (found != NULL && found->start == extent.start && found->length == extent.length)
	{
		zspage_change_add(&change, treeno, ZS_FPM_LOSE, extent.start, extent.length);
		if (part.start > extent.start)
			zspage_change_add(&change, treeno, ZS_FPM_GAIN, extent.start,
							  part.start - extent.start);
		done = true;
	}
	else if (found == NULL)
	{
		change.chainbuf = lock_chained(rel, treeno, entry, extent);
		if (BufferIsValid(change.chainbuf) && is_on_page(BufferGetPage(change.chainbuf), extent))
		{
			memcpy(image.data, BufferGetPage(change.chainbuf), BLCKSZ);
			if (!zspage_fpm_page_cut(image.data, part.start, part.length))
				elog(ERROR, "free page map page does not hold block %u", part.start);
			change.chainimage = image.data;
			zspage_change_add(&change, treeno, ZS_FPM_CHAIN_LOSE, part.start, part.length);
			done = true;
		}
	}
	if (done)
	{
		if (to_table)
			zspage_change_add(&change, ZS_TREE_TABLE, ZS_FPM_GAIN, extent.start, extent.length);
		else
		{
			change.file_blocks = part.start;
			if (zspage_meta_data(BufferGetPage(change.metabuf))->file_blocks !=
				part.start + part.length)
				zsbase_corrupted(rel, ZS_META_BLKNO,
								 "The free page maps contradict each other at block %u.",
								 part.start);
		}
		zspage_change_apply(rel, &change);
	}
	if (BufferIsValid(change.chainbuf))
		UnlockReleaseBuffer(change.chainbuf);
	zspage_change_unlock(&change);
	return done;
}

/*
 * Moves free extents of at least minblocks blocks from the tree's map to the
 * table's, where every tree finds them; one WAL record for each. For VACUUM.
 * Returns how many blocks.
 */
uint64
zspage_return_extents(Relation rel, uint16 treeno, uint32 minblocks)
{
	ZsFpmCopy	map;
	uint64		result = 0;

	Assert(treeno != ZS_TREE_TABLE && minblocks > 0);
	zspage_fpm_copy(rel, treeno, &map);
	for (int i = 0; i < map.nextents; i++)
	{
		bool		full = true;
		bool		done = false;

		if (map.extents[i].length < minblocks)
			continue;

		/* an extent that somebody just took from is left alone */
		while (!done && full)
		{
			CHECK_FOR_INTERRUPTS();
			done = zspage_take_away(rel, treeno, map.extents[i], map.extents[i].length, true,
									&full);
			if (!done && full)
				zspage_chain_out(rel, ZS_TREE_TABLE);
		}
		ZS_INJECTION_POINT("zs-page-return");
		if (done)
			result += map.extents[i].length;
	}
	zspage_fpm_copy_free(&map);
	return result;
}

/* ---- blocks that change places ---------------------------------------------------------- */

/*
 * Operations that take part out of extent, which is in the table's entry, for the use of the tree.
 */
static void
add_cut(ZsFpmChange *change, uint16 treeno, ZsExtent extent, ZsExtent part)
{
	BlockNumber behind = part.start + part.length;

	zspage_change_add(change, ZS_TREE_TABLE, ZS_FPM_LOSE, extent.start, extent.length);
	if (part.start > extent.start)
		zspage_change_add(change, ZS_TREE_TABLE, ZS_FPM_GAIN, extent.start,
						  part.start - extent.start);
	if (behind < extent.start + extent.length)
		zspage_change_add(change, ZS_TREE_TABLE, ZS_FPM_GAIN, behind,
						  extent.start + extent.length - behind);
	zspage_change_add(change, treeno, ZS_FPM_GAIN_USED, part.start, part.length);
}

/* How many blocks from start on are free in the locked FPM page as one extent? */
static uint32
free_on_page(Page page, BlockNumber start)
{
	const ZsExtent *e = zspage_fpm_extents(page);

	for (int i = 0; i < zspage_fpm_count(page); i++)
	{
		if (has_part(e[i], (ZsExtent) {.start = start, .length = 1}))
			return e[i].start + e[i].length - start;
	}
	return 0;
}

/*
 * Takes the first of nblocks blocks out of the table's map, as many as stand in one extent. Returns
 * how many; 0 if start is not free, or the extent is on a full page and would become two.
 */
static uint32
take_piece(Relation rel, uint16 treeno, BlockNumber start, uint32 nblocks)
{
	ZsFpmOp		ops[4];
	ZsFpmChange change = {.ops = ops, .maxops = lengthof(ops)};
	ZsExtent	part = {.start = start, .length = 1};
	PGAlignedBlock image;
	const ZsTreeEntry *table;
	const ZsExtent *extent;

	for (;;)
	{
		zspage_change_lock_both(rel, treeno, &change);
		table = zspage_change_entry(&change, ZS_TREE_TABLE);
		extent = find_in_entry(table, part);
		if (extent == NULL || table->nextents < ZS_ENTRY_EXTENTS || extent->start == start ||
			extent->start + extent->length <= start + nblocks)
			break;
		/* one extent becomes two */
		zspage_change_unlock(&change);
		CHECK_FOR_INTERRUPTS();
		zspage_chain_out(rel, ZS_TREE_TABLE);
	}
	if (extent != NULL)
	{
		part.length = Min(nblocks, extent->start + extent->length - start);
		add_cut(&change, treeno, *extent, part);
	}
	else
	{
		change.chainbuf = lock_chained(rel, ZS_TREE_TABLE, table, part);
		if (BufferIsValid(change.chainbuf))
		{
			memcpy(image.data, BufferGetPage(change.chainbuf), BLCKSZ);
			part.length = Min(nblocks, free_on_page(image.data, start));
			if (zspage_fpm_page_cut(image.data, start, part.length))
			{
				change.chainimage = image.data;
				zspage_change_add(&change, ZS_TREE_TABLE, ZS_FPM_CHAIN_LOSE, start, part.length);
				zspage_change_add(&change, treeno, ZS_FPM_GAIN_USED, start, part.length);
			}
		}
	}
	if (change.nops > 0)
		zspage_change_apply(rel, &change);
	if (BufferIsValid(change.chainbuf))
		UnlockReleaseBuffer(change.chainbuf);
	zspage_change_unlock(&change);
	ZS_INJECTION_POINT("zs-page-take-free");
	return change.nops > 0 ? part.length : 0;
}

/*
 * For VACUUM, which moves what lies at the end of the file to its front: takes
 * these blocks out of the table's map for the use of the tree; false if they
 * are not free there, or, with more than a thousand extents, in the midst of
 * one that the map has no room to divide.  One WAL record for each piece of
 * the map that they stand in; a crash in between leaks those taken.  And gives
 * blocks that the tree used to the table's map, with one record.
 */
bool
zspage_take_free(Relation rel, uint16 treeno, BlockNumber start, uint32 nblocks)
{
	uint32		taken = 0;

	Assert(treeno < ZS_MAX_TREES && nblocks > 0 && start != ZS_META_BLKNO);
	zspage_ensure_blocks(rel, start, nblocks);

	/* neighbours may stand in different places of the map */
	while (taken < nblocks)
	{
		uint32		n = take_piece(rel, treeno, start + taken, nblocks - taken);

		if (n == 0)
		{
			if (taken > 0)
				zspage_free_to_table(rel, treeno, start, taken);
			return false;
		}
		taken += n;
	}
	return true;
}

/*
 * Gives the blocks [start, start + nblocks), which the tree used, to the
 * table's map, with one WAL record.  No pointer to them is left.  For VACUUM;
 * no lock held on entry.
 */
void
zspage_free_to_table(Relation rel, uint16 treeno, BlockNumber start, uint32 nblocks)
{
	ZsFpmOp		ops[2];
	ZsFpmChange change = {.ops = ops, .maxops = lengthof(ops)};
	ZsFpmOp		gain = {.op = ZS_FPM_GAIN, .start = start, .length = nblocks};

	Assert(treeno < ZS_MAX_TREES && nblocks > 0 && start != ZS_META_BLKNO);
	for (;;)
	{
		ZsTreeEntry table;

		zspage_change_lock_both(rel, treeno, &change);
		table = *zspage_change_entry(&change, ZS_TREE_TABLE);

		/* as in zspage_free_run() */
		if (zspage_entry_apply(&table, &gain) || table.nextents < ZS_ENTRY_EXTENTS)
			break;
		zspage_change_unlock(&change);
		CHECK_FOR_INTERRUPTS();
		zspage_chain_out(rel, ZS_TREE_TABLE);
	}
	zspage_change_add(&change, treeno, ZS_FPM_LOSE_USED, start, nblocks);
	zspage_change_add(&change, ZS_TREE_TABLE, ZS_FPM_GAIN, start, nblocks);
	zspage_change_apply(rel, &change);
	zspage_change_unlock(&change);
	ZS_INJECTION_POINT("zs-page-free-to-table");
}
