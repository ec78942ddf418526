/*-------------------------------------------------------------------------
 *
 * btree_redo.c
 *	  Redo of splits, merges, moves and inner page changes.
 *
 * A standby's readers follow pointers while redo runs, so the pages a pointer
 * leads to are restored before, or together with, the page that holds it.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/btree/btree_redo.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlogutils.h"

#include "btree_internal.h"
#include "zs_walrec.h"

/* Restores a block that always carries its image; returns it locked. */
static Buffer
restore(XLogReaderState *record, uint8 block_id)
{
	Buffer		buf;

	if (XLogReadBufferForRedo(record, block_id, &buf) != BLK_RESTORED)
		elog(ERROR, "zedstore split record lacks the image of block %u", block_id);
	return buf;
}

static void
redo_split(XLogReaderState *record)
{
	xl_zs_btree_split *xlrec = (xl_zs_btree_split *) XLogRecGetData(record);
	Buffer		buf;
	Buffer		rbuf;

	if (xlrec->flags & ZS_SPLITF_ROOT)
	{
		Buffer		lbuf = restore(record, 1);

		rbuf = restore(record, 2);
		buf = restore(record, 0);
		UnlockReleaseBuffer(lbuf);
		UnlockReleaseBuffer(rbuf);
		UnlockReleaseBuffer(buf);
		return;
	}

	rbuf = restore(record, 1);
	if (!(xlrec->flags & ZS_SPLITF_LEFT_KEPT))
		buf = restore(record, 0);
	else if (XLogReadBufferForRedo(record, 0, &buf) == BLK_NEEDS_REDO)
	{
		ZsPageOpaque *opaque = ZsPageGetOpaque(BufferGetPage(buf));

		opaque->hikey = xlrec->splitkey;
		opaque->right = xlrec->right;
		opaque->flags |= ZS_PAGEF_INCOMPLETE_SPLIT;
		PageSetLSN(BufferGetPage(buf), record->EndRecPtr);
		MarkBufferDirty(buf);
	}
	UnlockReleaseBuffer(rbuf);
	if (BufferIsValid(buf))
		UnlockReleaseBuffer(buf);
}

static void
redo_inner(XLogReaderState *record)
{
	xl_zs_btree_inner *xlrec = (xl_zs_btree_inner *) XLogRecGetData(record);
	Buffer		buf;

	if (XLogReadBufferForRedo(record, 0, &buf) == BLK_NEEDS_REDO)
	{
		Page		page = BufferGetPage(buf);

		if (xlrec->op == ZS_INNER_INSERT)
			zsbtree_put_item(page, xlrec->index, &xlrec->item);
		else
			zsbtree_items(page)[xlrec->index] = xlrec->item;
		PageSetLSN(page, record->EndRecPtr);
		MarkBufferDirty(buf);
	}
	if (BufferIsValid(buf))
		UnlockReleaseBuffer(buf);

	if (XLogRecHasBlockRef(record, 1))
	{
		if (XLogReadBufferForRedo(record, 1, &buf) == BLK_NEEDS_REDO)
		{
			ZsPageGetOpaque(BufferGetPage(buf))->flags &= ~ZS_PAGEF_INCOMPLETE_SPLIT;
			PageSetLSN(BufferGetPage(buf), record->EndRecPtr);
			MarkBufferDirty(buf);
		}
		if (BufferIsValid(buf))
			UnlockReleaseBuffer(buf);
	}
}

/*
 * Locks as the merge itself does, so that a standby's reader finds the keys of the right page
 * wherever it comes from.
 */
static void
redo_merge(XLogReaderState *record)
{
	xl_zs_btree_merge *xlrec = (xl_zs_btree_merge *) XLogRecGetData(record);
	Buffer		lbuf = restore(record, 0);
	Buffer		rbuf = XLogInitBufferForRedo(record, 1);
	Buffer		parent;

	zspage_init(BufferGetPage(rbuf), ZS_PAGE_FREE, xlrec->treeno, xlrec->level, 0, PG_UINT64_MAX);
	PageSetLSN(BufferGetPage(rbuf), record->EndRecPtr);
	MarkBufferDirty(rbuf);

	if (XLogReadBufferForRedo(record, 2, &parent) == BLK_NEEDS_REDO)
	{
		Page		page = BufferGetPage(parent);

		if (xlrec->index < 1 || xlrec->index >= zsbtree_nitems(page))
			elog(PANIC, "inner page does not match the merge record: item %u of %d",
				 xlrec->index, zsbtree_nitems(page));
		zsbtree_drop_item(page, xlrec->index, xlrec->left_flags);
		PageSetLSN(page, record->EndRecPtr);
		MarkBufferDirty(parent);
	}
	if (BufferIsValid(parent))
		UnlockReleaseBuffer(parent);
	UnlockReleaseBuffer(rbuf);
	UnlockReleaseBuffer(lbuf);
}

/* In the order of the move itself: the left sibling first, then the page, then the parent. */
static void
redo_move(XLogReaderState *record)
{
	xl_zs_btree_merge *xlrec = (xl_zs_btree_merge *) XLogRecGetData(record);
	Buffer		lbuf = InvalidBuffer;
	Buffer		newbuf;
	Buffer		oldbuf;
	Buffer		parent;
	BlockNumber blkno;

	XLogRecGetBlockTag(record, 0, NULL, NULL, &blkno);
	if (XLogRecHasBlockRef(record, 3) &&
		XLogReadBufferForRedo(record, 3, &lbuf) == BLK_NEEDS_REDO)
	{
		ZsPageGetOpaque(BufferGetPage(lbuf))->right = blkno;
		PageSetLSN(BufferGetPage(lbuf), record->EndRecPtr);
		MarkBufferDirty(lbuf);
	}
	newbuf = restore(record, 0);
	oldbuf = XLogInitBufferForRedo(record, 1);
	zspage_init(BufferGetPage(oldbuf), ZS_PAGE_FREE, xlrec->treeno, xlrec->level, 0, PG_UINT64_MAX);
	PageSetLSN(BufferGetPage(oldbuf), record->EndRecPtr);
	MarkBufferDirty(oldbuf);

	if (XLogReadBufferForRedo(record, 2, &parent) == BLK_NEEDS_REDO)
	{
		Page		page = BufferGetPage(parent);

		if (xlrec->index >= zsbtree_nitems(page))
			elog(PANIC, "inner page does not match the move record: item %u of %d",
				 xlrec->index, zsbtree_nitems(page));
		zsbtree_items(page)[xlrec->index].child = blkno;
		PageSetLSN(page, record->EndRecPtr);
		MarkBufferDirty(parent);
	}
	if (BufferIsValid(parent))
		UnlockReleaseBuffer(parent);
	UnlockReleaseBuffer(oldbuf);
	UnlockReleaseBuffer(newbuf);
	if (BufferIsValid(lbuf))
		UnlockReleaseBuffer(lbuf);
}

/*
 * Redo of the records of B-tree pages.  Locks the pages in the order of the
 * block references, as the change did.
 */
void
zsbtree_redo(XLogReaderState *record)
{
	switch (XLogRecGetInfo(record) & XLR_RMGR_INFO_MASK)
	{
		case XLOG_ZS_BTREE_SPLIT:
			redo_split(record);
			break;
		case XLOG_ZS_BTREE_INNER:
			redo_inner(record);
			break;
		case XLOG_ZS_BTREE_MERGE:
			if (((xl_zs_btree_merge *) XLogRecGetData(record))->flags & ZS_MERGEF_MOVE)
				redo_move(record);
			else
				redo_merge(record);
			break;
		default:
			elog(PANIC, "unknown zedstore B-tree record");
	}
}
