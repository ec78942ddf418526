/*-------------------------------------------------------------------------
 *
 * btree_move.c
 *	  Pages move to other blocks.
 *
 *	  before:	parent	[A][B][C]			after:	parent	[A][B'][C]
 *				A -> B -> C						A -> B' -> C	B: free
 *
 * One record does it all, as with a merge: the new block gets what the page
 * holds, the downlink and the left sibling's right link lead there, the old
 * page becomes a free page.  A backend on its way to the old one finds that it
 * is not what its pointer promised and starts again from the root.
 *
 * A root has no such pointers, but an entry in the tree directory, which
 * backends remember.  One that comes to a block that is not the root any more
 * reads the directory again.
 *
 * Only VACUUM moves pages, and only VACUUM merges them (ShareUpdateExclusiveLock);
 * the page may be split meanwhile, which leaves its block and first key.
 *
 * Locks: left sibling, page, parent, the new page, all exclusive, in this order.  Nobody knows of
 * the new page; somebody with an old pointer to its block may have that locked for a moment.  Not
 * while somebody keeps pages in their places (btree_stay.c).
 * A root: the root, the new page, then its directory page.
 *
 * Crash: the block comes from the table's map with a record before, and the old
 * one goes there with a record behind; a crash in between leaks one of them.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/btree/btree_move.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "btree_internal.h"
#include "zs_compat.h"
#include "zs_walrec.h"

/*
 * Locks the page of the level that begins with lokey and its left sibling, if it has one.  False,
 * with nothing locked, if the page does not lie in block `from`.
 */
static bool
lock_with_left(Relation rel, uint16 treeno, int level, uint64 lokey, BlockNumber from,
			   Buffer *lbuf, Buffer *buf)
{
	Buffer		first = zsbtree_search_level(rel, treeno, lokey > 0 ? lokey - 1 : 0, level,
											 BUFFER_LOCK_EXCLUSIVE);
	const ZsPageOpaque *opaque;

	*lbuf = *buf = InvalidBuffer;
	if (!BufferIsValid(first))
		return false;
	opaque = ZsPageGetOpaque(BufferGetPage(first));
	if (lokey == 0)
	{
		*buf = first;
		if (BufferGetBlockNumber(first) == from && !(opaque->flags & ZS_PAGEF_ROOT))
			return true;
	}
	else
	{
		*lbuf = first;
		if (opaque->hikey == lokey && opaque->right == from)
		{
			*buf = zsbtree_lock_right(rel, treeno, opaque);
			return true;
		}
	}
	UnlockReleaseBuffer(first);
	return false;
}

/* The change itself, on locked pages. */
static void
do_move(Relation rel, uint16 treeno, Buffer lbuf, Buffer buf, Buffer newbuf, Buffer parent,
		int index)
{
	xl_zs_btree_merge xlrec = {
		.index = index,
		.treeno = treeno,
		.level = ZsPageGetOpaque(BufferGetPage(buf))->level,
		.flags = ZS_MERGEF_MOVE
	};
	BlockNumber to = BufferGetBlockNumber(newbuf);

	Assert(zs_buffer_is_exclusive(buf) && zs_buffer_is_exclusive(newbuf));
	Assert(zs_buffer_is_exclusive(parent));
	Assert(!BufferIsValid(lbuf) || zs_buffer_is_exclusive(lbuf));
	Assert(index >= 0 && index < zsbtree_nitems(BufferGetPage(parent)));
	START_CRIT_SECTION();
	memcpy(BufferGetPage(newbuf), BufferGetPage(buf), BLCKSZ);
	zspage_init(BufferGetPage(buf), ZS_PAGE_FREE, treeno, xlrec.level, 0, PG_UINT64_MAX);
	zsbtree_items(BufferGetPage(parent))[index].child = to;
	MarkBufferDirty(newbuf);
	MarkBufferDirty(buf);
	MarkBufferDirty(parent);
	if (BufferIsValid(lbuf))
	{
		ZsPageGetOpaque(BufferGetPage(lbuf))->right = to;
		MarkBufferDirty(lbuf);
	}
	if (RelationNeedsWAL(rel))
	{
		XLogRecPtr	lsn;

		XLogBeginInsert();
		XLogRegisterData(&xlrec, SizeOfZsBtreeMerge);
		XLogRegisterBuffer(0, newbuf, REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
		XLogRegisterBuffer(1, buf, REGBUF_WILL_INIT | REGBUF_STANDARD);
		XLogRegisterBuffer(2, parent, REGBUF_STANDARD);
		if (BufferIsValid(lbuf))
			XLogRegisterBuffer(3, lbuf, REGBUF_STANDARD);
		lsn = zspage_log_tree(XLOG_ZS_BTREE_MERGE);
		PageSetLSN(BufferGetPage(newbuf), lsn);
		PageSetLSN(BufferGetPage(buf), lsn);
		PageSetLSN(BufferGetPage(parent), lsn);
		if (BufferIsValid(lbuf))
			PageSetLSN(BufferGetPage(lbuf), lsn);
	}
	END_CRIT_SECTION();
}

/*
 * Moves the page of the given level that begins with key lokey, if it still
 * lies in block `from`, to block `to`, which zspage_take_free() gave, in one
 * WAL record.  The block that becomes free is the caller's to give back:
 * `from`, or with false, and nothing changed, `to`.  No lock is held on entry.
 * Roots: with level and key of no meaning, zsbtree_move_root().  For VACUUM.
 */
bool
zsbtree_move_page(Relation rel, uint16 treeno, int level, uint64 lokey, BlockNumber from,
				  BlockNumber to, BufferAccessStrategy strategy)
{
	Buffer		newbuf;
	Buffer		lbuf;
	Buffer		buf;
	Buffer		parent;
	int			index;

	Assert(from != to && level >= zsbtree_bottom_level(treeno));
	if (!lock_with_left(rel, treeno, level, lokey, from, &lbuf, &buf))
		return false;
	if (!zsbtree_removal_begin(rel))
	{
		UnlockReleaseBuffer(buf);
		if (BufferIsValid(lbuf))
			UnlockReleaseBuffer(lbuf);
		return false;
	}
	parent = zsbtree_search_parent(rel, treeno, lokey, level + 1);
	if (!BufferIsValid(parent))
		zsbase_corrupted(rel, from, "Page of tree %u, level %d has no parent.", treeno, level);
	index = zsbtree_find_item(BufferGetPage(parent), lokey);

	/* the left sibling's split is complete, so there is a downlink */
	if (zsbtree_items(BufferGetPage(parent))[index].child != from ||
		zsbtree_items(BufferGetPage(parent))[index].lokey != lokey)
		zsbase_corrupted(rel, BufferGetBlockNumber(parent),
						 "Inner page of tree %u: the item for row " UINT64_FORMAT " leads to block %u, not to %u.",
						 treeno, lokey, zsbtree_items(BufferGetPage(parent))[index].child, from);

	newbuf = zspage_new_buffer(rel, to, strategy);
	do_move(rel, treeno, lbuf, buf, newbuf, parent, index);
	zsbtree_removal_end(rel);
	UnlockReleaseBuffer(parent);
	UnlockReleaseBuffer(buf);
	if (BufferIsValid(lbuf))
		UnlockReleaseBuffer(lbuf);
	UnlockReleaseBuffer(newbuf);
	ZS_INJECTION_POINT("zs-btree-move");
	return true;
}

/*
 * Moves the root of the tree from block `from` to block `to`, which
 * zspage_take_free() gave, if it still lies there: as zsbtree_move_page() does
 * it for other pages.
 */
bool
zsbtree_move_root(Relation rel, uint16 treeno, BlockNumber from, BlockNumber to,
				  BufferAccessStrategy strategy)
{
	Buffer		buf = zspage_read(rel, from, NULL);
	const char *reason;
	bool		is_root;

	Assert(from != to);
	LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
	is_root = zsbtree_check_page(BufferGetPage(buf), treeno, &reason) == ZS_PAGE_OK &&
		(ZsPageGetOpaque(BufferGetPage(buf))->flags & ZS_PAGEF_ROOT) != 0 &&
		zsbtree_removal_begin(rel);
	if (is_root)
	{
		Buffer		newbuf = zspage_new_buffer(rel, to, strategy);

		zspage_tree_move_root(rel, treeno, buf, newbuf);
		zsbtree_removal_end(rel);
		UnlockReleaseBuffer(newbuf);
	}
	UnlockReleaseBuffer(buf);
	if (is_root)
		ZS_INJECTION_POINT("zs-btree-move-root");
	return is_root;
}
