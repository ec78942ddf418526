/*-------------------------------------------------------------------------
 *
 * vacuum_search.c
 *	  The search for blocks that maps and trees of a table have.
 *
 * What is found is marked in a bitmap: the blocks of free page maps, the maps' own pages, all pages
 * of trees, and what the items of segment index pages lead to.  Leaves, segments and values are not
 * read for that.
 *
 * Trees come before maps, so that what was found in a tree is counted as in use by its entry; the
 * table's map comes before those of the trees, into which blocks move from it.  The search also
 * tells who might have a block in hand: transactions that have a lock for writing when it ends.  If
 * there were none, and no entry of a tree changed meanwhile, its numbers are exact.
 *
 * Locks: those of searches, one page at a time.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_search.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/vacuum.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#include "vacuum_search.h"
#include "zs_attr.h"
#include "zs_btree.h"

/* How long to wait for transactions that were writing, in steps. */
#define WAIT_TIMEOUT_MS		1000
#define WAIT_STEP_MS		20

/* Blocks were found; those that are in use count for the tree. */
void
zsvacuum_search_see(ZsLeakSearch *search, uint16 treeno, BlockNumber start, uint32 nblocks,
					bool used)
{
	uint64		end = (uint64) start + nblocks;

	Assert(treeno < ZS_MAX_TREES);
	if (end > MaxBlockNumber)
		zsbase_corrupted(search->rel, start, "A run of %u blocks of tree %u begins here.",
						 nblocks, treeno);
	if (end > search->maxseen)
	{
		BlockNumber newmax = (BlockNumber) TYPEALIGN64(64,
													   Max(end,
														   search->maxseen + search->maxseen / 4));

		search->seen = repalloc_huge(search->seen, newmax / 8);
		memset(search->seen + search->maxseen / 64, 0, (newmax - search->maxseen) / 8);
		search->maxseen = newmax;
	}
	for (uint64 blkno = start; blkno < end; blkno++)
	{
		if (zsvacuum_was_seen(search, (BlockNumber) blkno))
			continue;
		search->seen[blkno / 64] |= UINT64CONST(1) << blkno % 64;
		if (used)
			search->nfound[treeno]++;
	}
}

/* ---- trees ------------------------------------------------------------------------ */

/* What the items of a page lead to. */
static void
see_items(ZsLeakSearch *search, uint16 treeno, BlockNumber blkno, Page page)
{
	const char *reason;

	switch (ZsPageGetOpaque(page)->page_type)
	{
		case ZS_PAGE_INNER:
			for (int i = 0; i < zsbtree_nitems(page); i++)
				zsvacuum_search_see(search, treeno, zsbtree_items(page)[i].child, 1, true);
			break;
		case ZS_PAGE_SEGMENT_INDEX:
			reason = zsattr_index_page_check(page);
			if (reason != NULL)
				zsbase_corrupted(search->rel, blkno, "Segment index page of tree %u: %s.", treeno,
								 reason);
			for (int i = 0; i < zsattr_index_count(page); i++)
			{
				const ZsSegmentItem *item = &zsattr_index_items(page)[i];

				if (!zsattr_item_is_uniform(item))
					zsvacuum_search_see(search, treeno, item->start, item->nblocks, true);
			}
			break;
		default:
			break;
	}
}

/*
 * All pages of a tree but leaves of the TID and row tree whose split was not finished.
 */
static void
see_tree(ZsLeakSearch *search, uint16 treeno)
{
	Relation	rel = search->rel;
	int			level = zsbtree_root_level(rel, treeno);

	if (level == 0)
		zsvacuum_search_see(search, treeno, zspage_tree_root(rel, treeno), 1, true);
	for (; level > 0; level--)
	{
		ZsLevelWalk walk;

		zsbtree_walk_begin(&walk, rel, treeno, level, 0);
		while (zsbtree_walk_next(&walk))
		{
			vacuum_delay_point_compat();
			zsvacuum_search_see(search, treeno, walk.blkno, 1, true);
			see_items(search, treeno, walk.blkno, walk.page.data);
		}
	}
}

/* ---- maps, and who writes ----------------------------------------------------------- */

static void
see_map(ZsLeakSearch *search, uint16 treeno)
{
	ZsFpmCopy	map;

	Assert(treeno < ZS_MAX_TREES);
	zspage_fpm_copy(search->rel, treeno, &map);
	search->entries[treeno] = map.entry;
	for (int i = 0; i < map.npages; i++)
		zsvacuum_search_see(search, treeno, map.pages[i], 1, true);
	for (int i = 0; i < map.nextents; i++)
		zsvacuum_search_see(search, treeno, map.extents[i].start, map.extents[i].length, false);
	zspage_fpm_copy_free(&map);
}

/* Transactions that hold a lock with which blocks can be taken; others than ours. */
static VirtualTransactionId *
find_writers(Relation rel, int *nwriters)
{
	LOCKTAG		tag;

	*nwriters = 0;
	if (RELATION_IS_LOCAL(rel))
		return NULL;
	SET_LOCKTAG_RELATION(tag, rel->rd_lockInfo.lockRelId.dbId, rel->rd_lockInfo.lockRelId.relId);

	/* RowShareLock and whatever is stronger */
	return GetLockConflicts(&tag, ExclusiveLock, nwriters);
}

/* ---- the search ----------------------------------------------------------------------- */

/*
 * Finds what can be found in the directory's trees. Trees come before maps, so that what was found
 * in a tree is counted as in use by its entry; the table's map comes before those of the trees,
 * into which blocks move from it.
 */
static ZsLeakSearch *
search_trees(Relation rel, BufferAccessStrategy strategy)
{
	ZsLeakSearch *search = palloc0(sizeof(ZsLeakSearch));
	ZsTreeEntry *before;
	ZsMetaPageData *meta = &search->meta;

	zspage_meta_read(rel, meta);
	ZS_INJECTION_POINT("zs-vacuum-leaks");
	search->rel = rel;
	search->strategy = strategy;
	search->nblocks = meta->file_blocks;
	search->entries = palloc0_array(ZsTreeEntry, ZS_MAX_TREES);
	search->nfound = palloc0_array(uint64, ZS_MAX_TREES);
	search->maxseen = (BlockNumber) TYPEALIGN64(64, (uint64) meta->file_blocks + 1);
	search->seen = palloc_extended(search->maxseen / 8, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	before = palloc_array(ZsTreeEntry, ZS_MAX_TREES);
	for (int treeno = 0; treeno < ZS_MAX_TREES; treeno = zspage_next_tree(meta, treeno))
		zspage_tree_entry(rel, (uint16) treeno, &before[treeno]);
	(void) find_writers(rel, &search->nwriters);
	search->quiet = search->nwriters == 0;

	/* the metapage is no tree's */
	zsvacuum_search_see(search, ZS_TREE_TABLE, ZS_META_BLKNO, 1, false);
	for (int i = 0; i < (int) meta->ndirectory; i++)
		zsvacuum_search_see(search, ZS_TREE_TABLE, meta->directory[i], 1, true);
	for (int treeno = ZS_TREE_TID; treeno < ZS_MAX_TREES; treeno = zspage_next_tree(meta, treeno))
	{
		if (before[treeno].root != 0)
			see_tree(search, (uint16) treeno);
	}
	for (int treeno = 0; treeno < ZS_MAX_TREES; treeno = zspage_next_tree(meta, treeno))
	{
		see_map(search, (uint16) treeno);
		if (before[treeno].nblocks != search->entries[treeno].nblocks ||
			before[treeno].nfree != search->entries[treeno].nfree)
			search->quiet = false;
	}
	pfree(before);
	search->writers = find_writers(rel, &search->nwriters);
	return search;
}

/*
 * A writer may have given the directory another page meanwhile.  That page, the trees that stand
 * there, and blocks in their maps would count as found nowhere; so the search begins anew.
 */
ZsLeakSearch *
zsvacuum_search_run(Relation rel, BufferAccessStrategy strategy)
{
	for (;;)
	{
		ZsLeakSearch *search = search_trees(rel, strategy);
		ZsMetaPageData meta;

		zspage_meta_read(rel, &meta);
		if (meta.ndirectory == search->meta.ndirectory)
			return search;
		pfree(search->seen);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Blocks that a tree's entry counts as in use and that were not found. */
int64
zsvacuum_search_missing(const ZsLeakSearch *search, int treeno)
{
	const ZsTreeEntry *entry = &search->entries[treeno];
	int64		missing = (int64) entry->nblocks - (int64) entry->nfree -
		(int64) search->nfound[treeno];

	Assert(treeno >= 0 && treeno < ZS_MAX_TREES);
	/* zs_check() says more */
	if (missing < 0)
		ereport(DEBUG1,
				(errmsg_internal("tree %d of \"%s\" has " INT64_FORMAT " blocks more than its directory entry says",
								 treeno, RelationGetRelationName(search->rel), -missing)));
	return Max(missing, 0);
}

/* Waits a moment for the writers to end; false if some of them go on. */
bool
zsvacuum_search_writers_are_gone(ZsLeakSearch *search)
{
	int			waited = 0;

	for (int i = 0; i < search->nwriters; i++)
	{
		while (!VirtualXactLock(search->writers[i], false))
		{
			CHECK_FOR_INTERRUPTS();
			if (waited >= WAIT_TIMEOUT_MS)
				return false;
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
							 WAIT_STEP_MS, WAIT_EVENT_VACUUM_DELAY);
			ResetLatch(MyLatch);
			waited += WAIT_STEP_MS;
		}
	}
	return true;
}
