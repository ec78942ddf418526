/*-------------------------------------------------------------------------
 *
 * btree_walk.c
 *	  What VACUUM asks of a tree: copies of the pages of a level, from left to right, its
 *	  height, single downlinks.
 *
 * Each step of a walk searches from the root for the key where the page before ended, so
 * that splits, merges and moves in between do no harm: keys ascend from step
 * to step, whatever happens to the pages.  A page that is merged meanwhile may
 * be seen twice, within its neighbour the second time.
 *
 * Locks: one page at a time, shared, and none between steps.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/btree/btree_walk.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "btree_internal.h"

/*
 * Copies the page of the given level that holds key; *blkno (may be NULL) is
 * where it is.  False when the tree is empty or not that high.  No lock on a
 * page of this tree held on entry.  Errors: ERRCODE_DATA_CORRUPTED.
 */
bool
zsbtree_copy_page(Relation rel, uint16 treeno, int level, uint64 key, Page copy,
				  BlockNumber *blkno)
{
	Buffer		buf = zsbtree_search_level(rel, treeno, key, level, BUFFER_LOCK_SHARE);

	if (!BufferIsValid(buf))
		return false;
	memcpy(copy, BufferGetPage(buf), BLCKSZ);
	if (blkno != NULL)
		*blkno = BufferGetBlockNumber(buf);
	UnlockReleaseBuffer(buf);
	Assert(ZsPageGetOpaque(copy)->lokey <= key);
	Assert(ZsPageGetOpaque(copy)->level == level);
	return true;
}

/*
 * Begins a walk over the pages of a level, the first of which will be the one
 * that holds key.  Nothing is read yet, and nothing has to be ended.
 */
void
zsbtree_walk_begin(ZsLevelWalk *walk, Relation rel, uint16 treeno, int level, uint64 key)
{
	Assert(level >= zsbtree_bottom_level(treeno));
	walk->rel = rel;
	walk->treeno = treeno;
	walk->level = level;
	walk->key = key;
	walk->blkno = InvalidBlockNumber;
}

/*
 * Copies the page that holds walk->key to walk->page and its block number to
 * walk->blkno; walk->key becomes the key where that page ends.  The caller may
 * raise walk->key before the next step.  False behind the last page, and when
 * the tree is empty or not that high.  Errors: ERRCODE_DATA_CORRUPTED.
 */
bool
zsbtree_walk_next(ZsLevelWalk *walk)
{
	uint64		hikey;

	if (walk->key == PG_UINT64_MAX ||
		!zsbtree_copy_page(walk->rel, walk->treeno, walk->level, walk->key, walk->page.data,
						   &walk->blkno))
		return false;
	hikey = ZsPageGetOpaque(walk->page.data)->hikey;
	Assert(hikey > walk->key);	/* so the walk comes to an end */
	walk->key = hikey;
	return true;
}

/* Level of the root, -1 when the tree is empty. */
int
zsbtree_root_level(Relation rel, uint16 treeno)
{
	const char *reason = "";
	BlockNumber root = 0;

	for (int i = 0; i < ZSBTREE_MAX_RESTARTS; i++)
	{
		Buffer		buf;
		ZsPageVerdict verdict;
		bool		is_root = false;
		int			level = -1;

		CHECK_FOR_INTERRUPTS();
		root = zspage_tree_root(rel, treeno);
		if (root == 0)
			return -1;
		buf = zspage_read(rel, root, NULL);
		LockBuffer(buf, BUFFER_LOCK_SHARE);
		verdict = zsbtree_check_page(BufferGetPage(buf), treeno, &reason);
		if (verdict == ZS_PAGE_OK)
		{
			level = ZsPageGetOpaque(BufferGetPage(buf))->level;
			is_root = (ZsPageGetOpaque(BufferGetPage(buf))->flags & ZS_PAGEF_ROOT) != 0;
			reason = "page is not the root";
		}
		UnlockReleaseBuffer(buf);
		if (is_root)
			return level;
		if (verdict == ZS_PAGE_BROKEN)
			break;

		/* it moved since the cache heard of it */
		zspage_forget_roots(rel);
	}
	zsbase_corrupted(rel, root, "Root of tree %u: %s.", treeno, reason);
}

/*
 * The downlink of the bottom page that holds key: the item, and the key where
 * its page ends (the next item's lokey).  False when the root is itself a
 * bottom page or the tree is empty.
 */
bool
zsbtree_next_downlink(Relation rel, uint16 treeno, uint64 key, ZsInnerItem *item, uint64 *end)
{
	Buffer		buf = zsbtree_search_level(rel, treeno, key, zsbtree_bottom_level(treeno) + 1,
										   BUFFER_LOCK_SHARE);
	Page		page;
	int			index;

	if (!BufferIsValid(buf))
		return false;
	page = BufferGetPage(buf);
	index = zsbtree_find_item(page, key);
	*item = zsbtree_items(page)[index];
	*end = index + 1 < zsbtree_nitems(page) ? zsbtree_items(page)[index + 1].lokey :
		ZsPageGetOpaque(page)->hikey;
	UnlockReleaseBuffer(buf);
	return true;
}
