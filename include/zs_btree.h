/*-------------------------------------------------------------------------
 *
 * zs_btree.h
 *	  The B-tree that the three kinds of tree share: inner pages, descent,
 *	  page splits.  Keys are row numbers.
 *
 * A tree's bottom pages (TID leaf, row leaf, segment index page) belong to
 * its own module; to this one they are a key range and a right link.
 *
 * After Lehman and Yao, "Efficient Locking for Concurrent Operations on
 * B-Trees" (1981): right links and high keys, one page locked at a time on
 * the way down.  The root keeps its block when it splits: its content goes into
 * two new children.  A page whose right sibling has no downlink yet carries
 * ZS_PAGEF_INCOMPLETE_SPLIT; the next writer that meets it finishes the split.
 * VACUUM merges pages that have become empty or nearly so with their left
 * neighbour, and moves pages, roots too, to the front of the file.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_btree.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_BTREE_H
#define ZS_BTREE_H

#include "postgres.h"

#include "access/xlogreader.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "zs_format.h"

/* btree_search.c */

/* Page type and level of a tree's bottom pages. */
extern ZsPageType zsbtree_bottom_type(uint16 treeno);
extern uint8 zsbtree_bottom_level(uint16 treeno);

/* Items of an inner page whose header was verified. */
static inline ZsInnerItem *
zsbtree_items(Page page)
{
	return (ZsInnerItem *) PageGetContents(page);
}

static inline int
zsbtree_nitems(Page page)
{
	return (int) ((((PageHeader) page)->pd_lower - MAXALIGN(SizeOfPageHeaderData)) /
				  sizeof(ZsInnerItem));
}

/*
 * Finds the bottom page whose [lokey, hikey) holds key and returns it pinned
 * and locked in lockmode (BUFFER_LOCK_SHARE or BUFFER_LOCK_EXCLUSIVE);
 * InvalidBuffer when the tree is empty.  The page's identity has been
 * verified.  With BUFFER_LOCK_EXCLUSIVE incomplete splits on the way are
 * finished.  The caller holds no lock on any page of this tree.
 * Errors: ERRCODE_DATA_CORRUPTED.
 */
extern Buffer zsbtree_search(Relation rel, uint16 treeno, uint64 key, int lockmode);

/*
 * The bottom page in block blkno, exclusively locked, if it is the one that holds key and its lock
 * is free; else InvalidBuffer.  Never waits for a lock, so the caller may hold others, those of
 * pages of this tree too (but not of this page).
 */
extern Buffer zsbtree_try_bottom(Relation rel, uint16 treeno, uint64 key, BlockNumber blkno);

/*
 * Same as zsbtree_search(), but creates the root, empty, when the tree is empty; always exclusive.
 * An empty bottom page is made by zspage_init() alone (pd_lower right behind
 * the page header); each module takes that for an empty page.
 */
extern Buffer zsbtree_search_or_create(Relation rel, uint16 treeno, uint64 key);

/*
 * The bottom page that holds nextkey, which lies at or behind the hikey of buf's page.  buf is
 * locked on entry and released; the result is locked in lockmode, or
 * InvalidBuffer when buf was the rightmost page.
 */
extern Buffer zsbtree_step_right(Relation rel, uint16 treeno, Buffer buf,
								 uint64 nextkey, int lockmode);

/* btree_split.c */

/*
 * Splits the bottom page in buf (exclusively locked) at splitkey
 * (lokey < splitkey < hikey).  left and right are page images made with
 * zspage_init() that hold the new contents; this function fills in their
 * special space.  When left_unchanged, the left page's contents stay as they
 * are on the page (appending splits), and left may be NULL.
 *
 * The new page is allocated, the change logged, the downlink inserted.  buf is
 * unlocked and released.  The caller searches again for its key.
 * Errors leave the tree as it was (disk full) or valid with an incomplete
 * split.
 */
extern void zsbtree_split(Relation rel, uint16 treeno, Buffer buf, uint64 splitkey,
						  Page left, Page right, bool left_unchanged);

/*
 * Sets or clears ZS_INNERF_ALL_FROZEN in the downlink of the bottom page that
 * holds key.  Logged.  The caller may hold that bottom page locked, and nothing above it.
 */
extern void zsbtree_mark_frozen(Relation rel, uint16 treeno, uint64 key, bool frozen);

/* btree_search.c */

/*
 * The downlink of the bottom page that holds key: the item, and the key where its page ends
 * (the next item's lokey).  False when the root is itself a bottom page or the tree is empty.
 */
extern bool zsbtree_next_downlink(Relation rel, uint16 treeno, uint64 key,
								  ZsInnerItem *item, uint64 *end);

/* Level of the root, -1 when the tree is empty. */
extern int	zsbtree_root_level(Relation rel, uint16 treeno);

/* ---- walks over many pages (btree_walk.c) ----------------------------------- */

extern bool zsbtree_copy_page(Relation rel, uint16 treeno, int level, uint64 key,
							  Page copy, BlockNumber *blkno);

/* Pages of one level, left to right. */
typedef struct ZsLevelWalk
{
	Relation	rel;
	uint16		treeno;
	int			level;
	uint64		key;			/* the next page holds it; PG_UINT64_MAX = there is none */
	BlockNumber blkno;			/* where the page copied last is */
	PGAlignedBlock page;		/* its copy */
} ZsLevelWalk;

extern void zsbtree_walk_begin(ZsLevelWalk *walk, Relation rel, uint16 treeno, int level,
							   uint64 key);
extern bool zsbtree_walk_next(ZsLevelWalk *walk);

/* ---- merges and moves (btree_merge.c, btree_move.c) -------------------------- */

/*
 * Forms the contents of two neighbouring pages on image, which zspage_init() made with the key
 * range of both; pages are locked. Sets *merged to false when they are better left alone.
 * Returns NULL, or what is wrong with one of the pages. No locks, no change of the pages.
 */
typedef const char *(*ZsMergeFunc) (Page left, Page right, Page image, bool *merged);

/* btree_merge.c */

/*
 * Merges the page of the given level that holds key with its right sibling, if both have the
 * same parent and fn agrees (NULL: inner pages), in one WAL record. The right page's block
 * goes back to the tree's free page map; readers that still come there start again from the
 * root. *end is where the page that holds key ends afterwards. Returns whether pages were
 * merged. No lock is held on entry. A crash before the block reaches the map leaks it. Errors:
 * ERRCODE_DATA_CORRUPTED.
 */
extern bool zsbtree_merge_right(Relation rel, uint16 treeno, int level, uint64 key,
								ZsMergeFunc fn, uint64 *end);

/* btree_move.c */

/*
 * Moves the page of the given level that begins with key lokey, if it still lies in block `from`,
 * to block `to`, which zspage_take_free() gave, in one WAL record.  The block that becomes free is
 * the caller's to give back: `from`, or with false, and nothing changed, `to`.  No lock is held on
 * entry.  Roots: with level and key of no meaning, zsbtree_move_root().  For VACUUM.
 */
extern bool zsbtree_move_page(Relation rel, uint16 treeno, int level, uint64 lokey,
							  BlockNumber from, BlockNumber to, BufferAccessStrategy strategy);
extern bool zsbtree_move_root(Relation rel, uint16 treeno, BlockNumber from, BlockNumber to,
							  BufferAccessStrategy strategy);

/* btree_search.c */

/* Calls fn with a copy of each page, top level first, left to right; for inspection. */
typedef void (*ZsTreePageVisitor) (Relation rel, BlockNumber blkno, Page copy, void *arg);
extern void zsbtree_visit_pages(Relation rel, uint16 treeno, ZsTreePageVisitor fn, void *arg);

/* ---- redo (btree_redo.c), called by wal/ ----------------------------------- */

extern void zsbtree_redo(XLogReaderState *record);

#endif							/* ZS_BTREE_H */
