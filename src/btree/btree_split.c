/*-------------------------------------------------------------------------
 *
 * btree_split.c
 *	  Page splits and downlinks.
 *
 * A page that is not the root splits in two steps.  The first record writes
 * the right page and the left one with the new right link and
 * ZS_PAGEF_INCOMPLETE_SPLIT; from then on every key is found, by the right link.
 * The second inserts the downlink into the parent and clears the flag.  A
 * crash or an error in between leaves the flag; the next writer that meets
 * the page inserts the downlink (as nbtree does).
 *
 * The root splits in one record: its content goes into two new pages, and the
 * root becomes their parent, one level higher.
 *
 * Locks: the left page stays exclusively locked while the parent is searched
 * and locked; pages are only ever waited for upwards.  New blocks are taken
 * with the left page locked, as nbtree does.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/btree/btree_split.c
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

/* Inserts item at index into a page that has room. */
void
zsbtree_put_item(Page page, int index, const ZsInnerItem *item)
{
	ZsInnerItem *items = zsbtree_items(page);
	int			nitems = zsbtree_nitems(page);

	Assert(nitems < (int) ZS_INNER_CAPACITY);
	Assert(index >= 0 && index <= nitems);
	memmove(&items[index + 1], &items[index], (nitems - index) * sizeof(ZsInnerItem));
	items[index] = *item;
	zsbtree_set_nitems(page, nitems + 1);
}

/* Identity of one half of a page. */
static void
set_identity(Page image, const ZsPageOpaque *old, uint64 lokey, uint64 hikey,
			 BlockNumber right, uint16 flags)
{
	ZsPageOpaque *opaque = ZsPageGetOpaque(image);

	*opaque = *old;
	opaque->lokey = lokey;
	opaque->hikey = hikey;
	opaque->right = right;
	opaque->flags = flags;
}

/* Moves the root's halves into new pages below it; releases buf. */
static void
split_root(Relation rel, uint16 treeno, Buffer buf, uint64 splitkey, Page left, Page right)
{
	ZsPageOpaque old = *ZsPageGetOpaque(BufferGetPage(buf));
	uint16		flags = old.flags & ~ZS_PAGEF_ROOT;
	BlockNumber lblkno = zspage_alloc(rel, treeno);
	BlockNumber rblkno = zspage_alloc(rel, treeno);
	Buffer		lbuf = zspage_new_buffer(rel, lblkno, NULL);
	Buffer		rbuf = zspage_new_buffer(rel, rblkno, NULL);
	PGAlignedBlock root;
	ZsInnerItem item = {0};

	ZS_INJECTION_POINT("zs-btree-root-split-blocks");
	set_identity(left, &old, old.lokey, splitkey, rblkno, flags);
	set_identity(right, &old, splitkey, old.hikey, old.right, flags);
	Assert(old.right == 0 && old.lokey == 0);

	zspage_init(root.data, ZS_PAGE_INNER, treeno, old.level + 1, old.lokey, old.hikey);
	ZsPageGetOpaque(root.data)->flags = ZS_PAGEF_ROOT;
	zsbtree_set_nitems(root.data, 0);
	item.lokey = old.lokey;
	item.child = lblkno;
	zsbtree_put_item(root.data, 0, &item);
	item.lokey = splitkey;
	item.child = rblkno;
	zsbtree_put_item(root.data, 1, &item);

	START_CRIT_SECTION();
	memcpy(BufferGetPage(lbuf), left, BLCKSZ);
	memcpy(BufferGetPage(rbuf), right, BLCKSZ);
	memcpy(BufferGetPage(buf), root.data, BLCKSZ);
	MarkBufferDirty(lbuf);
	MarkBufferDirty(rbuf);
	MarkBufferDirty(buf);
	if (RelationNeedsWAL(rel))
	{
		xl_zs_btree_split xlrec = {
			.splitkey = splitkey, .right = rblkno, .flags = ZS_SPLITF_ROOT
		};
		XLogRecPtr	lsn;

		XLogBeginInsert();
		XLogRegisterData(&xlrec, SizeOfZsBtreeSplit);
		XLogRegisterBuffer(0, buf, REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
		XLogRegisterBuffer(1, lbuf, REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
		XLogRegisterBuffer(2, rbuf, REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
		lsn = zspage_log_tree(XLOG_ZS_BTREE_SPLIT);
		PageSetLSN(BufferGetPage(buf), lsn);
		PageSetLSN(BufferGetPage(lbuf), lsn);
		PageSetLSN(BufferGetPage(rbuf), lsn);
	}
	END_CRIT_SECTION();

	UnlockReleaseBuffer(rbuf);
	UnlockReleaseBuffer(lbuf);
	UnlockReleaseBuffer(buf);
	ZS_INJECTION_POINT("zs-btree-root-split");
}

/* First step of a split; leaves buf locked, with ZS_PAGEF_INCOMPLETE_SPLIT. */
static void
split_page(Relation rel, uint16 treeno, Buffer buf, uint64 splitkey, Page left, Page right,
		   bool left_kept)
{
	Page		page = BufferGetPage(buf);
	ZsPageOpaque *opaque = ZsPageGetOpaque(page);
	ZsPageOpaque old = *opaque;
	BlockNumber rblkno = zspage_alloc(rel, treeno);
	Buffer		rbuf = zspage_new_buffer(rel, rblkno, NULL);

	ZS_INJECTION_POINT("zs-btree-split-block");
	set_identity(right, &old, splitkey, old.hikey, old.right, old.flags);
	if (!left_kept)
		set_identity(left, &old, old.lokey, splitkey, rblkno,
					 old.flags | ZS_PAGEF_INCOMPLETE_SPLIT);

	START_CRIT_SECTION();
	memcpy(BufferGetPage(rbuf), right, BLCKSZ);
	if (left_kept)
	{
		opaque->hikey = splitkey;
		opaque->right = rblkno;
		opaque->flags |= ZS_PAGEF_INCOMPLETE_SPLIT;
	}
	else
		memcpy(page, left, BLCKSZ);
	MarkBufferDirty(rbuf);
	MarkBufferDirty(buf);
	if (RelationNeedsWAL(rel))
	{
		xl_zs_btree_split xlrec = {
			.splitkey = splitkey,
			.right = rblkno,
			.flags = left_kept ? ZS_SPLITF_LEFT_KEPT : 0
		};
		XLogRecPtr	lsn;

		XLogBeginInsert();
		XLogRegisterData(&xlrec, SizeOfZsBtreeSplit);
		XLogRegisterBuffer(0, buf, REGBUF_STANDARD | (left_kept ? 0 : REGBUF_FORCE_IMAGE));
		XLogRegisterBuffer(1, rbuf, REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
		lsn = zspage_log_tree(XLOG_ZS_BTREE_SPLIT);
		PageSetLSN(page, lsn);
		PageSetLSN(BufferGetPage(rbuf), lsn);
	}
	END_CRIT_SECTION();
	UnlockReleaseBuffer(rbuf);
}

/*
 * Splits the bottom page in buf (exclusively locked) at splitkey (lokey <
 * splitkey < hikey).  left and right are page images made with zspage_init()
 * that hold the new contents; this function fills in their special space.
 * When left_unchanged, the left page's contents stay as they are on the page
 * (appending splits), and left may be NULL.
 *
 * The new page is allocated, the change logged, the downlink inserted.  buf is
 * unlocked and released.  The caller searches again for its key. Errors leave
 * the tree as it was (disk full) or valid with an incomplete split.
 */
void
zsbtree_split(Relation rel, uint16 treeno, Buffer buf, uint64 splitkey,
			  Page left, Page right, bool left_unchanged)
{
	ZsPageOpaque *opaque = ZsPageGetOpaque(BufferGetPage(buf));

	Assert(splitkey > opaque->lokey && splitkey < opaque->hikey);
	Assert(!(opaque->flags & ZS_PAGEF_INCOMPLETE_SPLIT));

	if (opaque->flags & ZS_PAGEF_ROOT)
	{
		PGAlignedBlock copy;

		if (left_unchanged)
		{
			memcpy(copy.data, BufferGetPage(buf), BLCKSZ);
			left = copy.data;
		}
		split_root(rel, treeno, buf, splitkey, left, right);
		return;
	}
	split_page(rel, treeno, buf, splitkey, left, right, left_unchanged);
	ZS_INJECTION_POINT("zs-btree-split");
	zsbtree_finish_split(rel, treeno, buf);
	UnlockReleaseBuffer(buf);
}

/*
 * Splits a full inner page (exclusively locked; released here) so that newkey
 * finds room.  Ascending insertion leaves the left page full.
 */
static void
split_inner(Relation rel, uint16 treeno, Buffer buf, uint64 newkey)
{
	Page		page = BufferGetPage(buf);
	ZsPageOpaque *opaque = ZsPageGetOpaque(page);
	int			nitems = zsbtree_nitems(page);
	ZsInnerItem *items = zsbtree_items(page);
	PGAlignedBlock left;
	PGAlignedBlock right;
	int			nleft;

	nleft = newkey > items[nitems - 1].lokey ? nitems - 1 : nitems / 2;
	zspage_init(left.data, ZS_PAGE_INNER, treeno, opaque->level, opaque->lokey, opaque->hikey);
	zspage_init(right.data, ZS_PAGE_INNER, treeno, opaque->level, opaque->lokey, opaque->hikey);
	memcpy(zsbtree_items(left.data), items, nleft * sizeof(ZsInnerItem));
	zsbtree_set_nitems(left.data, nleft);
	memcpy(zsbtree_items(right.data), items + nleft, (nitems - nleft) * sizeof(ZsInnerItem));
	zsbtree_set_nitems(right.data, nitems - nleft);
	zsbtree_split(rel, treeno, buf, items[nleft].lokey, left.data, right.data, false);
}

/* Inserts the item into the parent and clears the left page's flag, in one record. */
static void
insert_downlink(Relation rel, Buffer parent, Buffer leftbuf, const ZsInnerItem *item)
{
	Page		page = BufferGetPage(parent);
	int			index = zsbtree_find_item(page, item->lokey) + 1;
	bool		present = zsbtree_items(page)[index - 1].lokey == item->lokey;

	if (present && zsbtree_items(page)[index - 1].child != item->child)
		zsbase_corrupted(rel, BufferGetBlockNumber(parent),
						 "Two pages start at row " UINT64_FORMAT ": blocks %u and %u.",
						 item->lokey, zsbtree_items(page)[index - 1].child, item->child);
	if (present)
		zsbase_corrupted(rel, BufferGetBlockNumber(leftbuf),
						 "Page says that its split at row " UINT64_FORMAT " is not complete, but block %u has the downlink.",
						 item->lokey, BufferGetBlockNumber(parent));

	START_CRIT_SECTION();
	zsbtree_put_item(page, index, item);
	ZsPageGetOpaque(BufferGetPage(leftbuf))->flags &= ~ZS_PAGEF_INCOMPLETE_SPLIT;
	MarkBufferDirty(parent);
	MarkBufferDirty(leftbuf);
	if (RelationNeedsWAL(rel))
	{
		xl_zs_btree_inner xlrec = {.item = *item, .index = index, .op = ZS_INNER_INSERT};
		XLogRecPtr	lsn;

		XLogBeginInsert();
		XLogRegisterData(&xlrec, SizeOfZsBtreeInner);
		XLogRegisterBuffer(0, parent, REGBUF_STANDARD);
		XLogRegisterBuffer(1, leftbuf, REGBUF_STANDARD);
		lsn = zspage_log_tree(XLOG_ZS_BTREE_INNER);
		PageSetLSN(page, lsn);
		PageSetLSN(BufferGetPage(leftbuf), lsn);
	}
	END_CRIT_SECTION();
}

/*
 * Inserts the downlink of the right sibling of leftbuf (exclusively locked,
 * ZS_PAGEF_INCOMPLETE_SPLIT set) and clears the flag; leaves leftbuf locked.
 */
void
zsbtree_finish_split(Relation rel, uint16 treeno, Buffer leftbuf)
{
	ZsPageOpaque *left = ZsPageGetOpaque(BufferGetPage(leftbuf));
	ZsInnerItem item = {.lokey = left->hikey, .child = left->right};

	Assert(zs_buffer_is_exclusive(leftbuf));
	Assert(left->flags & ZS_PAGEF_INCOMPLETE_SPLIT);
	Assert(!(left->flags & ZS_PAGEF_ROOT));
	for (;;)
	{
		Buffer		parent = zsbtree_search_parent(rel, treeno, item.lokey, left->level + 1);

		if (!BufferIsValid(parent))
			zsbase_corrupted(rel, BufferGetBlockNumber(leftbuf),
							 "Page of tree %u, level %d has no parent.", treeno, left->level);
		if (zsbtree_nitems(BufferGetPage(parent)) < (int) ZS_INNER_CAPACITY)
		{
			insert_downlink(rel, parent, leftbuf, &item);
			UnlockReleaseBuffer(parent);
			ZS_INJECTION_POINT("zs-btree-downlink");
			return;
		}
		split_inner(rel, treeno, parent, item.lokey);
	}
}

/*
 * Sets or clears ZS_INNERF_ALL_FROZEN in the downlink of the bottom page that
 * holds key.  Logged.  The caller may hold that bottom page locked, and
 * nothing above it.
 */
void
zsbtree_mark_frozen(Relation rel, uint16 treeno, uint64 key, bool frozen)
{
	Buffer		buf = zsbtree_search_parent(rel, treeno, key, zsbtree_bottom_level(treeno) + 1);
	Page		page;
	int			index;
	ZsInnerItem item;

	/* the root is itself a bottom page: there is no downlink to mark */
	if (!BufferIsValid(buf))
		return;

	page = BufferGetPage(buf);
	index = zsbtree_find_item(page, key);
	item = zsbtree_items(page)[index];
	if (((item.flags & ZS_INNERF_ALL_FROZEN) != 0) != frozen)
	{
		item.flags ^= ZS_INNERF_ALL_FROZEN;
		START_CRIT_SECTION();
		zsbtree_items(page)[index] = item;
		MarkBufferDirty(buf);
		if (RelationNeedsWAL(rel))
		{
			xl_zs_btree_inner xlrec = {.item = item, .index = index, .op = ZS_INNER_FLAGS};

			XLogBeginInsert();
			XLogRegisterData(&xlrec, SizeOfZsBtreeInner);
			XLogRegisterBuffer(0, buf, REGBUF_STANDARD);
			PageSetLSN(page, zspage_log_tree(XLOG_ZS_BTREE_INNER));
		}
		END_CRIT_SECTION();
		ZS_INJECTION_POINT("zs-btree-frozen");
	}
	UnlockReleaseBuffer(buf);
}
