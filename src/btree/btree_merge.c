/*-------------------------------------------------------------------------
 *
 * btree_merge.c
 *	  Page merges: what a page holds moves to its left neighbour.
 *
 *	  before:	parent	[A][B][C]			after:	parent	[A][C]
 *				A -> B -> C						A -> C		B: free
 *
 * One record does it all: the left page gets the contents, the high key and
 * the right link of the right one, the parent loses the right page's downlink,
 * and the right page becomes a free page.  Every key is found before and
 * after.  A reader that is on its way to the right page, by its downlink or by
 * a right link read before, finds a free page or something else that is not
 * what its pointer promised, and starts again from the root.
 *
 * Only children of one parent are merged, so a parent keeps at least one item,
 * and its own key range stays.  Merging the parents in turn brings children of
 * two parents together.  Roots have no neighbours; the height of a tree stays.
 *
 * Only VACUUM merges, one at a time (ShareUpdateExclusiveLock).
 *
 * Locks: left page, right page, parent, all exclusive, in this order; no
 * backend that holds a page waits for one to the left of it or below it.  Not while somebody keeps
 * pages in their places (btree_stay.c): the next VACUUM merges them.
 *
 * Crash: the block of the right page goes to the tree's free page map with a
 * record of its own; a crash in between leaks it.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/btree/btree_merge.c
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

/* Inner pages are merged when the result leaves as much room for new items. */
#define MAX_MERGED_ITEMS	(ZS_INNER_CAPACITY * 6 / 10)

/*
 * Takes the item at index out, and gives the one before it these flags: what a
 * merge does to the parent.
 */
void
zsbtree_drop_item(Page page, int index, uint32 left_flags)
{
	ZsInnerItem *items = zsbtree_items(page);
	int			nitems = zsbtree_nitems(page);

	Assert(index > 0 && index < nitems);
	items[index - 1].flags = left_flags;
	memmove(&items[index], &items[index + 1], (nitems - index - 1) * sizeof(ZsInnerItem));
	zsbtree_set_nitems(page, nitems - 1);
}

/* ZsMergeFunc for inner pages. */
static const char *
merge_inner(Page left, Page right, Page image, bool *merged)
{
	int			nleft = zsbtree_nitems(left);
	int			nright = zsbtree_nitems(right);

	*merged = nleft + nright <= (int) MAX_MERGED_ITEMS;
	if (*merged)
	{
		memcpy(zsbtree_items(image), zsbtree_items(left), nleft * sizeof(ZsInnerItem));
		memcpy(zsbtree_items(image) + nleft, zsbtree_items(right), nright * sizeof(ZsInnerItem));
		zsbtree_set_nitems(image, nleft + nright);
	}
	return NULL;
}

/*
 * The right sibling of a locked page, exclusively locked; nobody but VACUUM
 * merges or moves it.
 */
Buffer
zsbtree_lock_right(Relation rel, uint16 treeno, const ZsPageOpaque *left)
{
	Buffer		buf = zspage_read(rel, left->right, NULL);
	const ZsPageOpaque *opaque;
	const char *reason = NULL;

	/* its left neighbour is locked, so nobody can have merged it away */
	LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
	if (zsbtree_check_page(BufferGetPage(buf), treeno, &reason) == ZS_PAGE_OK)
	{
		opaque = ZsPageGetOpaque(BufferGetPage(buf));
		if (opaque->level != left->level || opaque->lokey != left->hikey ||
			(opaque->flags & ZS_PAGEF_ROOT))
			reason = "page is not the right sibling that its neighbour says";
	}
	if (reason != NULL)
		zsbase_corrupted(rel, BufferGetBlockNumber(buf), "Page of tree %u: %s.", treeno, reason);
	return buf;
}

/*
 * The parent of both pages, exclusively locked, and the index of the right page's item.
 * InvalidBuffer when they have two parents.
 */
static Buffer
lock_parent(Relation rel, uint16 treeno, Buffer lbuf, Buffer rbuf, int *index)
{
	const ZsPageOpaque *right = ZsPageGetOpaque(BufferGetPage(rbuf));
	Buffer		buf = zsbtree_search_parent(rel, treeno, right->lokey, right->level + 1);
	const ZsInnerItem *items;

	if (!BufferIsValid(buf))
		zsbase_corrupted(rel, BufferGetBlockNumber(rbuf),
						 "Page of tree %u, level %d has no parent.", treeno, right->level);
	items = zsbtree_items(BufferGetPage(buf));
	*index = zsbtree_find_item(BufferGetPage(buf), right->lokey);

	/* the left page's split is complete, so there is a downlink */
	if (items[*index].child != BufferGetBlockNumber(rbuf) ||
		items[*index].lokey != right->lokey ||
		(*index > 0 && items[*index - 1].child != BufferGetBlockNumber(lbuf)))
		zsbase_corrupted(rel, BufferGetBlockNumber(buf),
						 "Inner page of tree %u: the item for row " UINT64_FORMAT " leads to block %u, not to %u.",
						 treeno, right->lokey, items[*index].child, BufferGetBlockNumber(rbuf));
	if (*index > 0)
		return buf;
	UnlockReleaseBuffer(buf);
	return InvalidBuffer;
}

/* The change itself, on locked pages. */
static void
do_merge(Relation rel, uint16 treeno, Buffer lbuf, Buffer rbuf, Buffer parent, int index,
		 Page image)
{
	ZsPageOpaque *left = ZsPageGetOpaque(BufferGetPage(lbuf));
	ZsPageOpaque *right = ZsPageGetOpaque(BufferGetPage(rbuf));
	ZsPageOpaque *merged = ZsPageGetOpaque(image);
	const ZsInnerItem *items = zsbtree_items(BufferGetPage(parent));
	xl_zs_btree_merge xlrec = {
		.index = index,
		.treeno = treeno,
		.level = left->level
	};

	Assert(zs_buffer_is_exclusive(lbuf) && zs_buffer_is_exclusive(rbuf));
	Assert(zs_buffer_is_exclusive(parent));
	Assert(merged->lokey == left->lokey && merged->hikey == right->hikey);
	merged->right = right->right;
	merged->flags = ((left->flags | right->flags) & ZS_PAGEF_ANY_VISIBLE) |
		(left->flags & right->flags & ZS_PAGEF_ALL_FROZEN);
	if (merged->flags & ZS_PAGEF_ALL_FROZEN)
		xlrec.left_flags = items[index - 1].flags & items[index].flags;

	START_CRIT_SECTION();
	memcpy(BufferGetPage(lbuf), image, BLCKSZ);
	zspage_init(BufferGetPage(rbuf), ZS_PAGE_FREE, treeno, xlrec.level, 0, PG_UINT64_MAX);
	zsbtree_drop_item(BufferGetPage(parent), index, xlrec.left_flags);
	MarkBufferDirty(lbuf);
	MarkBufferDirty(rbuf);
	MarkBufferDirty(parent);
	if (RelationNeedsWAL(rel))
	{
		XLogRecPtr	lsn;

		XLogBeginInsert();
		XLogRegisterData(&xlrec, SizeOfZsBtreeMerge);
		XLogRegisterBuffer(0, lbuf, REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
		XLogRegisterBuffer(1, rbuf, REGBUF_WILL_INIT | REGBUF_STANDARD);
		XLogRegisterBuffer(2, parent, REGBUF_STANDARD);
		lsn = zspage_log_tree(XLOG_ZS_BTREE_MERGE);
		PageSetLSN(BufferGetPage(lbuf), lsn);
		PageSetLSN(BufferGetPage(rbuf), lsn);
		PageSetLSN(BufferGetPage(parent), lsn);
	}
	END_CRIT_SECTION();
}

/*
 * Merges the page of the given level that holds key with its right sibling, if
 * both have the same parent and fn agrees (NULL: inner pages), in one WAL
 * record. The right page's block goes back to the tree's free page map;
 * readers that still come there start again from the root. *end is where the
 * page that holds key ends afterwards. Returns whether pages were merged. No
 * lock is held on entry. A crash before the block reaches the map leaks it.
 * Errors: ERRCODE_DATA_CORRUPTED.
 */
bool
zsbtree_merge_right(Relation rel, uint16 treeno, int level, uint64 key, ZsMergeFunc fn,
					uint64 *end)
{
	Buffer		lbuf = zsbtree_search_level(rel, treeno, key, level, BUFFER_LOCK_EXCLUSIVE);
	Buffer		rbuf;
	Buffer		parent = InvalidBuffer;
	BlockNumber rblkno;
	ZsPageOpaque *left;
	ZsPageOpaque *right;
	PGAlignedBlock image;
	int			index = 0;
	bool		merged = false;

	Assert((fn == NULL) == (level > zsbtree_bottom_level(treeno)));
	*end = PG_UINT64_MAX;
	if (!BufferIsValid(lbuf))
		return false;
	left = ZsPageGetOpaque(BufferGetPage(lbuf));
	*end = left->hikey;
	if (left->right == 0)
	{
		UnlockReleaseBuffer(lbuf);
		return false;
	}
	Assert(!(left->flags & (ZS_PAGEF_ROOT | ZS_PAGEF_INCOMPLETE_SPLIT)));

	rblkno = left->right;
	rbuf = zsbtree_lock_right(rel, treeno, left);
	right = ZsPageGetOpaque(BufferGetPage(rbuf));

	/* a split that is not complete has its turn when the caller comes to that page */
	if (!(right->flags & ZS_PAGEF_INCOMPLETE_SPLIT))
	{
		const char *reason;

		zspage_init(image.data, left->page_type, treeno, left->level, left->lokey, right->hikey);
		reason = (fn != NULL ? fn : merge_inner) (BufferGetPage(lbuf), BufferGetPage(rbuf),
												  image.data, &merged);
		if (reason != NULL)
			zsbase_corrupted(rel, BufferGetBlockNumber(lbuf),
							 "Pages %u and %u of tree %u: %s.",
							 BufferGetBlockNumber(lbuf), rblkno, treeno, reason);
	}
	if (merged && zsbtree_removal_begin(rel))
	{
		parent = lock_parent(rel, treeno, lbuf, rbuf, &index);
		merged = BufferIsValid(parent);
		if (merged)
		{
			do_merge(rel, treeno, lbuf, rbuf, parent, index, image.data);
			*end = left->hikey;
			UnlockReleaseBuffer(parent);
		}
		zsbtree_removal_end(rel);
	}
	else
		merged = false;
	UnlockReleaseBuffer(rbuf);
	UnlockReleaseBuffer(lbuf);
	if (merged)
	{
		ZS_INJECTION_POINT("zs-btree-merge");
		zspage_free_run(rel, treeno, rblkno, 1);
	}
	return merged;
}
