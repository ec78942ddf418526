/*-------------------------------------------------------------------------
 *
 * btree_redo.c
 *	  Redo of splits and inner page changes.
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
		default:
			elog(PANIC, "unknown zedstore B-tree record");
	}
}
