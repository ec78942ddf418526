/*-------------------------------------------------------------------------
 *
 * page_extend.c
 *	  Filling up a tree's free page map: from FPM pages, from the table's map,
 *	  by extending the file.
 *
 * The file grows by zedstore_rel_extension_factor blocks at a time, in one call
 * and one small WAL record, whatever the number.  When the factor is not set, by
 * a small share of the tree, and by more only for columns that take few blocks beside
 * others.  A rest that is shorter than a run takes the run's first segments
 * (page_fpm.c).  New blocks are not touched: nobody reads a
 * block before it was initialized, and buffers for it are made without a read.
 * (Attribute-level free page maps and batched extension: A. Wang, S.
 * Chakraborty and others, pgsql-hackers, March 2020.)
 *
 * Crash: a file that was extended without the record being written is longer than file_blocks in
 * the metapage says; the next extension uses these blocks first.  The same holds after a failed
 * extension (disk full).  They are looked at before, see page_foreign.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_extend.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/rel.h"

#include "page_internal.h"
#include "zs_page.h"
#include "zs_walrec.h"

/* Bounds of the factor when the table does not set it. */
#define MAX_DEFAULT_FACTOR	1024
#define TREE_SHARE			32

/*
 * A tree is narrow if it has less than this part of what the trees of its table have on average.
 * Its runs are a few blocks each, and one share of it is less than that.  So it gets a larger part
 * of what it has, up to as many blocks as one read takes; a still larger one while that is few
 * blocks.  Tables whose trees are small on average do without that.
 */
#define NARROW_SHARE		2
#define NARROW_PART			8
#define NARROW_FIRST_PART	4
#define NARROW_FIRST_BLOCKS	8
#define NARROW_BLOCKS		16
#define NARROW_MIN_AVERAGE	32

/*
 * Has this relcache entry know how the file is to be extended.  Reads the
 * catalog if need be, and may wait for a lock there, so no page is locked: to
 * be called before the first lock of each change in which zspage_alloc() may
 * be called.  Searches of the trees for a change do it.
 */
void
zspage_prepare_extension(Relation rel)
{
	ZsTableOptions options;

	if (likely(zspage_rel_cache(rel)->extension_factor >= 0))
		return;
	zsbase_table_options(rel, &options);
	Assert(options.rel_extension_factor >= 0);

	/* reading the catalog may have processed invalidations */
	zspage_rel_cache(rel)->extension_factor = options.rel_extension_factor;
}

/* Blocks that a tree which is narrow gets for runs to come, else 0. */
static uint32
narrow_blocks(Relation rel, uint32 tree_blocks)
{
	ZsMetaPageData meta;
	uint32		average;

	zspage_meta_read(rel, &meta);
	average = meta.file_blocks / (ZsTreeOfAttr(RelationGetNumberOfAttributes(rel)) + 1);
	if (average < NARROW_MIN_AVERAGE || tree_blocks >= average / NARROW_SHARE)
		return 0;
	return Max(Min(tree_blocks / NARROW_PART, NARROW_BLOCKS),
			   Min(tree_blocks / NARROW_FIRST_PART, NARROW_FIRST_BLOCKS));
}

/*
 * Blocks by which the tree's map is filled up next time.
 *
 * How many blocks to get for a tree that has tree_blocks and needs a run of
 * nblocks. Small tables stay small: the default is a share of what the tree
 * has. ahead: what is likely to be asked for besides.  No page is locked.
 */
uint32
zspage_extension_blocks(Relation rel, uint32 tree_blocks, uint32 nblocks, ZsAllocAhead ahead)
{
	int			factor;
	uint32		share;

	Assert(nblocks > 0);
	zspage_prepare_extension(rel);
	factor = zspage_rel_cache(rel)->extension_factor;
	if (factor > 0)
		return Max((uint32) factor, nblocks);
	share = Min(tree_blocks / TREE_SHARE, MAX_DEFAULT_FACTOR);
	if (ahead == ZS_ALLOC_SINGLE)
		return Max(share, nblocks);

	/* a run that is long enough by itself may be the last one for a while */
	if (nblocks >= NARROW_BLOCKS || ahead == ZS_ALLOC_LAST)
		return nblocks;
	if (share < NARROW_BLOCKS)
		share = Max(share, narrow_blocks(rel, tree_blocks));

	/* those to come are likely to be as long: a rest that is shorter would be of no use to them */
	share -= share % nblocks;
	return Max(share, nblocks);
}

/*
 * Moves up to nwanted, at least nblocks blocks from the table's own map to the tree, in one
 * record; the first nblocks are in use at once, the rest is free.  Returns the first, or 0.
 */
static BlockNumber
take_from_table(Relation rel, uint16 treeno, uint32 nblocks, uint32 nwanted)
{
	ZsFpmOp		ops[3];
	ZsFpmChange change = {.ops = ops, .maxops = lengthof(ops)};
	ZsTreeEntry copy;
	ZsTreeEntry *table;
	BlockNumber start;

	Assert(treeno != ZS_TREE_TABLE);
	Assert(nblocks > 0 && nblocks <= nwanted);
	/* nothing there is the usual case, and share locks do not hurt each other */
	zspage_tree_entry(rel, ZS_TREE_TABLE, &copy);
	if (copy.nfree < nblocks)
		return 0;
	if (zspage_entry_find(&copy, nblocks) == 0)
		return zspage_chain_take(rel, ZS_TREE_TABLE, treeno, nblocks);

	zspage_change_lock_both(rel, treeno, &change);
	table = zspage_change_entry(&change, ZS_TREE_TABLE);
	start = zspage_entry_find(table, nblocks);
	if (start != 0)
	{
		ZsFpmOp		gain = {.treeno = treeno, .op = ZS_FPM_GAIN, .start = start + nblocks};
		uint32		got = nblocks;

		for (int i = 0; i < table->nextents; i++)
		{
			if (table->extents[i].start == start)
				got = Min(table->extents[i].length, nwanted);
		}
		gain.length = got - nblocks;
		copy = *zspage_change_entry(&change, treeno);
		if (got > nblocks && !zspage_entry_apply(&copy, &gain))
			got = nblocks;
		zspage_change_add(&change, ZS_TREE_TABLE, ZS_FPM_LOSE, start, got);
		zspage_change_add(&change, treeno, ZS_FPM_GAIN_USED, start, nblocks);
		if (got > nblocks)
			zspage_change_add(&change, treeno, ZS_FPM_GAIN, gain.start, gain.length);
		zspage_change_apply(rel, &change);
	}
	zspage_change_unlock(&change);
	return start;
}

/*
 * Makes the file nblocks longer than the free page maps know.  Caller holds the relation
 * extension lock (or the table is temporary).
 */
static BlockNumber
extend_file(Relation rel, uint32 nblocks, BlockNumber *file_blocks)
{
	Buffer		metabuf = zspage_lock_meta(rel, BUFFER_LOCK_SHARE);
	BlockNumber known = zspage_meta_data(BufferGetPage(metabuf))->file_blocks;
	BlockNumber physical;

	UnlockReleaseBuffer(metabuf);
	if ((uint64) known + nblocks >= MaxBlockNumber)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("cannot extend relation \"%s\" beyond %u blocks",
						RelationGetRelationName(rel), MaxBlockNumber)));

	*file_blocks = known + nblocks;
	physical = zspage_physical_blocks(rel);
	if (unlikely(physical > known))
	{
		BlockNumber foreign = zspage_find_foreign(rel, known, physical);

		if (foreign != InvalidBlockNumber)
			zspage_report_foreign(rel, foreign, false);
	}
	if (unlikely(physical < known))
		zspage_report_short(rel, physical, known);
	zspage_make_file(rel, physical, *file_blocks);
	return known;
}

/*
 * Adds the run [start, start + length) to the tree, the first nblocks of it in use at
 * once, the rest free.  The known end of the file moves to file_blocks.
 */
static void
give_to_tree(Relation rel, uint16 treeno, BlockNumber start, uint32 length,
			 uint32 nblocks, BlockNumber file_blocks)
{
	ZsFpmOp		ops[2];
	ZsFpmChange change = {
		.file_blocks = file_blocks,
		.ops = ops,
		.maxops = lengthof(ops)
	};
	ZsFpmOp		gain = {
		.treeno = treeno,
		.op = ZS_FPM_GAIN,
		.start = start + nblocks,
		.length = length - nblocks
	};

	Assert(nblocks <= length && start + length == file_blocks);
	for (;;)
	{
		ZsTreeEntry copy;

		zspage_change_lock_both(rel, treeno, &change);
		copy = *zspage_change_entry(&change, treeno);
		if (gain.length == 0 || zspage_entry_apply(&copy, &gain) ||
			copy.nextents < ZS_ENTRY_EXTENTS)
			break;

		zspage_change_unlock(&change);
		zspage_chain_out(rel, treeno);
	}
	zspage_change_add(&change, treeno, ZS_FPM_GAIN_USED, start, nblocks);
	if (gain.length > 0)
		zspage_change_add(&change, treeno, ZS_FPM_GAIN, gain.start, gain.length);
	zspage_change_apply(rel, &change);
	zspage_change_unlock(&change);
	ZS_INJECTION_POINT("zs-page-gain");
}

/* Takes a run from the tree's entry if it has one by now. */
static BlockNumber
take_from_tree(Relation rel, uint16 treeno, uint32 nblocks)
{
	int			directory = zspage_directory_index(treeno);
	ZsFpmOp		op;
	ZsFpmChange change = {
		.first_treeno = zspage_directory_first(directory),
		.ops = &op,
		.maxops = 1
	};
	BlockNumber start;

	change.dirbuf = zspage_lock_directory(rel, treeno, BUFFER_LOCK_EXCLUSIVE, true);
	start = zspage_entry_find(zspage_page_entry(BufferGetPage(change.dirbuf),
												change.first_treeno, treeno), nblocks);
	if (start != 0)
	{
		zspage_change_add(&change, treeno, ZS_FPM_TAKE, start, nblocks);
		zspage_change_apply(rel, &change);
	}
	UnlockReleaseBuffer(change.dirbuf);
	return start;
}

/* Takes a run that the tree's own map does not have (page_extend.c). */
BlockNumber
zspage_obtain_run(Relation rel, uint16 treeno, uint32 nblocks, ZsAllocAhead ahead)
{
	bool		need_lock = !RELATION_IS_LOCAL(rel);
	ZsTreeEntry entry;
	uint32		nwanted;
	BlockNumber start;
	BlockNumber file_blocks;

	Assert(treeno < ZS_MAX_TREES && nblocks > 0 && CritSectionCount == 0);
	start = zspage_chain_take(rel, treeno, treeno, nblocks);
	if (start != 0)
		return start;

	zspage_tree_entry(rel, treeno, &entry);
	/* transaction ids take few blocks, and most tables never more than one */
	nwanted = treeno == ZS_TREE_XMIN ? nblocks :
		zspage_extension_blocks(rel, entry.nblocks, nblocks, ahead);
	if (treeno != ZS_TREE_TABLE)
	{
		start = take_from_table(rel, treeno, nblocks, nwanted);
		if (start != 0)
		{
			ZS_INJECTION_POINT("zs-page-take-table");
			return start;
		}
	}

	if (need_lock)
	{
		LockRelationForExtension(rel, ExclusiveLock);

		/* whoever held the lock may have worked for the same tree */
		start = take_from_tree(rel, treeno, nblocks);
		if (start != 0)
		{
			UnlockRelationForExtension(rel, ExclusiveLock);
			return start;
		}
	}
	start = extend_file(rel, nwanted, &file_blocks);
	ZS_INJECTION_POINT("zs-page-extend");
	give_to_tree(rel, treeno, start, nwanted, nblocks, file_blocks);
	if (need_lock)
		UnlockRelationForExtension(rel, ExclusiveLock);
	return start;
}
