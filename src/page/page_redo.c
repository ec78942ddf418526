/*-------------------------------------------------------------------------
 *
 * page_redo.c
 *	  Redo of page images, metapage, free page map and directory records.
 *
 * Operations on directory entries are applied by zspage_entry_apply(), as when
 * they were made; an operation that is not possible is a PANIC.  Pages of the free
 * page map come as full images.  The file is extended before pages behind its end
 * are written.
 *
 * Locks: as when the change was made (page_internal.h), so that a standby's queries
 * never see an entry and its FPM pages disagree.
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

/* Operations of a record on the entries of a page whose first tree is first. */
static void
redo_operations(XLogReaderState *record, uint8 block_id, Page page, uint16 first)
{
	Size		len = 0;
	char	   *data = XLogRecGetBlockData(record, block_id, &len);

	for (Size done = 0; data != NULL && done + sizeof(ZsFpmOp) <= len; done += sizeof(ZsFpmOp))
	{
		ZsFpmOp		op;

		/* block data is not aligned */
		memcpy(&op, data + done, sizeof(op));
		if (!zspage_entry_apply(zspage_page_entry(page, first, op.treeno), &op))
			elog(PANIC, "free page map of tree %u contradicts the WAL", op.treeno);
	}
}

/*
 * The directory page stays locked until the FPM pages are restored, as when the change was
 * made: who reads a map on a standby finds them as the entry says.
 */
static void
redo_fpm(XLogReaderState *record)
{
	xl_zs_page_fpm *xlrec = (xl_zs_page_fpm *) XLogRecGetData(record);
	Buffer		metabuf = InvalidBuffer;
	Buffer		buf;

	if (xlrec->flags & ZS_FPMF_FILE_BLOCKS)
		redo_file_length(record, xlrec->file_blocks);

	/* metapage before directory page */
	if (XLogRecHasBlockRef(record, 1) &&
		XLogReadBufferForRedo(record, 1, &metabuf) == BLK_NEEDS_REDO)
	{
		redo_operations(record, 1, BufferGetPage(metabuf), 0);
		if (xlrec->flags & ZS_FPMF_FILE_BLOCKS)
			zspage_meta_data(BufferGetPage(metabuf))->file_blocks = xlrec->file_blocks;
		PageSetLSN(BufferGetPage(metabuf), record->EndRecPtr);
		MarkBufferDirty(metabuf);
	}
	if (XLogReadBufferForRedo(record, 0, &buf) == BLK_NEEDS_REDO)
	{
		Page		page = BufferGetPage(buf);

		redo_operations(record, 0, page, xlrec->first_treeno);
		if ((xlrec->flags & ZS_FPMF_FILE_BLOCKS) && xlrec->first_treeno == 0)
			zspage_meta_data(page)->file_blocks = xlrec->file_blocks;
		PageSetLSN(page, record->EndRecPtr);
		MarkBufferDirty(buf);
	}
	for (int i = 2; (xlrec->flags & ZS_FPMF_CHAIN) && i <= XLogRecMaxBlockId(record); i++)
	{
		Buffer		chainbuf;

		if (XLogReadBufferForRedo(record, i, &chainbuf) != BLK_RESTORED)
			elog(ERROR, "zedstore free page map record without image");
		UnlockReleaseBuffer(chainbuf);
	}
	if (BufferIsValid(buf))
		UnlockReleaseBuffer(buf);
	if (BufferIsValid(metabuf))
		UnlockReleaseBuffer(metabuf);
}

static void
redo_tree(XLogReaderState *record)
{
	xl_zs_page_tree *xlrec = (xl_zs_page_tree *) XLogRecGetData(record);
	Buffer		buf;
	Buffer		newbuf;
	Buffer		oldbuf = InvalidBuffer;

	/* the new page first, so that no standby reader finds a pointer to nothing */
	if (XLogReadBufferForRedo(record, 1, &newbuf) != BLK_RESTORED)
		elog(ERROR, "zedstore tree record without image");
	if (XLogRecHasBlockRef(record, 2))
	{
		oldbuf = XLogInitBufferForRedo(record, 2);
		zspage_init(BufferGetPage(oldbuf), ZS_PAGE_FREE, xlrec->treeno, 0, 0, PG_UINT64_MAX);
		PageSetLSN(BufferGetPage(oldbuf), record->EndRecPtr);
		MarkBufferDirty(oldbuf);
	}

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
	if (BufferIsValid(oldbuf))
		UnlockReleaseBuffer(oldbuf);
	UnlockReleaseBuffer(newbuf);
}

/*
 * Redo of the records of the metapage, directory pages, free page maps and new
 * pages.
 */
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
