/*-------------------------------------------------------------------------
 *
 * page_redo.c
 *	  Redo of page images, metapage, free page map and directory records.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_redo.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlogutils.h"
#include "storage/smgr.h"

#include "page_internal.h"
#include "zs_page.h"
#include "zs_walrec.h"

/* All blocks of the record carry full images: restoring them is all. */
static void
redo_images(XLogReaderState *record)
{
	for (int i = 0; i <= XLogRecMaxBlockId(record); i++)
	{
		Buffer		buf;

		if (XLogReadBufferForRedo(record, i, &buf) != BLK_RESTORED)
			elog(ERROR, "zedstore page image record without image");
		UnlockReleaseBuffer(buf);
	}
}

static void
redo_meta(XLogReaderState *record)
{
	xl_zs_page_meta *xlrec = (xl_zs_page_meta *) XLogRecGetData(record);
	Buffer		buf;

	if (XLogReadBufferForRedo(record, 0, &buf) == BLK_NEEDS_REDO)
	{
		Page		page = BufferGetPage(buf);
		ZsMetaPageData *meta = zspage_meta_data(page);

		meta->next_row = xlrec->next_row;
		if (xlrec->cursorno >= 0)
			meta->cursors[xlrec->cursorno] = xlrec->cursor;
		PageSetLSN(page, record->EndRecPtr);
		MarkBufferDirty(buf);
	}
	if (BufferIsValid(buf))
		UnlockReleaseBuffer(buf);
}

/* The file must be as long as the record's blocks assume. */
static void
redo_file_length(XLogReaderState *record, BlockNumber file_blocks)
{
	RelFileLocator locator;
	SMgrRelation smgr;
	BlockNumber nblocks;

	XLogRecGetBlockTag(record, 0, &locator, NULL, NULL);
	smgr = smgropen(locator, INVALID_PROC_NUMBER);
	smgrcreate(smgr, MAIN_FORKNUM, true);
	nblocks = smgrnblocks(smgr, MAIN_FORKNUM);
	if (nblocks < file_blocks)
		smgrzeroextend(smgr, MAIN_FORKNUM, nblocks, (int) (file_blocks - nblocks), false);
}

static void
redo_fpm(XLogReaderState *record)
{
	xl_zs_page_fpm *xlrec = (xl_zs_page_fpm *) XLogRecGetData(record);
	Buffer		buf;

	if (xlrec->flags & ZS_FPMF_FILE_BLOCKS)
		redo_file_length(record, xlrec->file_blocks);

	if (XLogReadBufferForRedo(record, 0, &buf) == BLK_NEEDS_REDO)
	{
		Page		page = BufferGetPage(buf);
		Size		len;
		ZsFpmOp    *ops = (ZsFpmOp *) XLogRecGetBlockData(record, 0, &len);

		for (int i = 0; i < (int) (len / sizeof(ZsFpmOp)); i++)
		{
			ZsFpmOp		op;

			/* block data is not aligned */
			memcpy(&op, &ops[i], sizeof(op));
			if (!zspage_entry_apply(zspage_page_entry(page, xlrec->first_treeno, op.treeno), &op))
				elog(PANIC, "free page map of tree %u contradicts the WAL", op.treeno);
		}
		if ((xlrec->flags & ZS_FPMF_FILE_BLOCKS) && xlrec->first_treeno == 0)
			zspage_meta_data(page)->file_blocks = xlrec->file_blocks;
		PageSetLSN(page, record->EndRecPtr);
		MarkBufferDirty(buf);
	}
	if (BufferIsValid(buf))
		UnlockReleaseBuffer(buf);

	if (XLogRecHasBlockRef(record, 1))
	{
		if (XLogReadBufferForRedo(record, 1, &buf) == BLK_NEEDS_REDO)
		{
			zspage_meta_data(BufferGetPage(buf))->file_blocks = xlrec->file_blocks;
			PageSetLSN(BufferGetPage(buf), record->EndRecPtr);
			MarkBufferDirty(buf);
		}
		if (BufferIsValid(buf))
			UnlockReleaseBuffer(buf);
	}
	if (xlrec->flags & ZS_FPMF_SPILL)
	{
		if (XLogReadBufferForRedo(record, 2, &buf) != BLK_RESTORED)
			elog(ERROR, "zedstore free page map record without image");
		UnlockReleaseBuffer(buf);
	}
}

static void
redo_tree(XLogReaderState *record)
{
	xl_zs_page_tree *xlrec = (xl_zs_page_tree *) XLogRecGetData(record);
	Buffer		buf;
	Buffer		newbuf;

	/* the new page first, so that no standby reader finds a pointer to nothing */
	if (XLogReadBufferForRedo(record, 1, &newbuf) != BLK_RESTORED)
		elog(ERROR, "zedstore tree record without image");

	if (XLogReadBufferForRedo(record, 0, &buf) == BLK_NEEDS_REDO)
	{
		Page		page = BufferGetPage(buf);

		if (xlrec->directory >= 0)
		{
			ZsMetaPageData *meta = zspage_meta_data(page);

			meta->directory[xlrec->directory] = xlrec->blkno;
			meta->ndirectory = Max(meta->ndirectory, (uint32) xlrec->directory + 1);
		}
		else
			zspage_page_entry(page, xlrec->first_treeno, xlrec->treeno)->root = xlrec->blkno;
		PageSetLSN(page, record->EndRecPtr);
		MarkBufferDirty(buf);
	}
	if (BufferIsValid(buf))
		UnlockReleaseBuffer(buf);
	UnlockReleaseBuffer(newbuf);
}

void
zspage_redo(XLogReaderState *record)
{
	switch (XLogRecGetInfo(record) & XLR_RMGR_INFO_MASK)
	{
		case XLOG_ZS_PAGE_IMAGES:
			redo_images(record);
			break;
		case XLOG_ZS_PAGE_META:
			redo_meta(record);
			break;
		case XLOG_ZS_PAGE_FPM:
			redo_fpm(record);
			break;
		case XLOG_ZS_PAGE_TREE:
			redo_tree(record);
			break;
		default:
			elog(PANIC, "unknown zedstore page record");
	}
}
