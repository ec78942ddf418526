/*-------------------------------------------------------------------------
 *
 * btree_walk.c
 *	  Copies of pages of one level, from left to right, for VACUUM.
 *
 * Each step searches from the root for the key where the page before ended, so
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
