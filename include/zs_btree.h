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

#include "zs_compat.h"
#include "zs_format.h"

/* btree_search.c */

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

extern Buffer zsbtree_search(Relation rel, uint16 treeno, uint64 key, int lockmode);
extern Buffer zsbtree_try_bottom(Relation rel, uint16 treeno, uint64 key, BlockNumber blkno);
extern Buffer zsbtree_search_or_create(Relation rel, uint16 treeno, uint64 key);
extern Buffer zsbtree_search_near(Relation rel, uint16 treeno, BlockNumber blkno, uint64 key,
								  int lockmode);

/*
 * The bottom page that holds nextkey, which lies at or behind the hikey of buf's page.  buf is
 * locked on entry and released; the result is locked in lockmode, or InvalidBuffer when buf was the
 * rightmost page.
 */
static inline Buffer
zsbtree_step_right(Relation rel, uint16 treeno, Buffer buf, uint64 nextkey, int lockmode)
{
	BlockNumber right = ZsPageGetOpaque(BufferGetPage(buf))->right;

	Assert(nextkey >= ZsPageGetOpaque(BufferGetPage(buf))->hikey);
	UnlockReleaseBuffer(buf);
	return right == 0 ? InvalidBuffer : zsbtree_search_near(rel, treeno, right, nextkey, lockmode);
}


/* btree_split.c */

extern void zsbtree_split(Relation rel, uint16 treeno, Buffer buf, uint64 splitkey,
						  Page left, Page right, bool left_unchanged);
extern void zsbtree_mark_frozen(Relation rel, uint16 treeno, uint64 key, bool frozen);

/* btree_search.c */


/* ---- walks over many pages (btree_walk.c) ----------------------------------- */

extern int	zsbtree_root_level(Relation rel, uint16 treeno);
extern bool zsbtree_next_downlink(Relation rel, uint16 treeno, uint64 key,
								  ZsInnerItem *item, uint64 *end);
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

/* ---- look-ahead over bottom pages (btree_ahead.c) ----------------------------- */

typedef struct ZsBottomAhead ZsBottomAhead;

extern ZsBottomAhead *zsbtree_ahead_begin(Relation rel, uint16 treeno, uint64 end,
										  bool maintenance, bool skip_frozen,
										  BufferAccessStrategy strategy);
extern void zsbtree_ahead_reach(ZsBottomAhead *ahead, uint64 key);
extern void zsbtree_ahead_rest(ZsBottomAhead *ahead);
extern void zsbtree_ahead_end(ZsBottomAhead *ahead);

/* A visitor that looks ahead once it goes from page to page; all zeros at first. */
typedef struct ZsBottomVisitor
{
	ZsBottomAhead *ahead;		/* NULL: none yet, or not wanted */
	bool		asked;			/* whether it is wanted */
	uint32		nfollowing;		/* steps to what is next to the step before */
	ZsIoCounts *io;				/* what look-ahead counts, or NULL */
} ZsBottomVisitor;

extern bool zsbtree_visit(ZsBottomVisitor *visitor, Relation rel, uint16 treeno, uint64 key,
						  bool follows, BufferAccessStrategy strategy, MemoryContext context);
extern void zsbtree_visitor_rest(ZsBottomVisitor *visitor);
extern void zsbtree_visitor_end(ZsBottomVisitor *visitor);

/* ---- merges and moves (btree_merge.c, btree_move.c) -------------------------- */

/*
 * Forms the contents of two neighbouring pages on image, which zspage_init() made with the key
 * range of both; pages are locked. Sets *merged to false when they are better left alone.
 * Returns NULL, or what is wrong with one of the pages. No locks, no change of the pages.
 */
typedef const char *(*ZsMergeFunc) (Page left, Page right, Page image, bool *merged);

/* btree_merge.c */

extern bool zsbtree_merge_right(Relation rel, uint16 treeno, int level, uint64 key,
								ZsMergeFunc fn, uint64 *end);

/* btree_move.c */

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
