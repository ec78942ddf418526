/*-------------------------------------------------------------------------
 *
 * attr_redo.c
 *	  Redo of changes to segment index pages, and to the count in an overflow value.
 *
 * A record is applied by the function that made the change first
 * (zsattr_overflow_change_shares(), zsattr_index_replace()), so both arrive at
 * the same bytes.  What a record asks of a page that does not have it is a PANIC:
 * the page and the WAL belong to different histories.  Writing pages of segments
 * and overflow values is logged by full images (page_redo.c).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_redo.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlogutils.h"

#include "attr_internal.h"
#include "zs_walrec.h"

static void
redo_share(XLogReaderState *record)
{
	const xl_zs_attr_share *xlrec = (const xl_zs_attr_share *) XLogRecGetData(record);
	Buffer		buf;

	if (XLogReadBufferForRedo(record, 0, &buf) == BLK_NEEDS_REDO)
	{
		Page		page = BufferGetPage(buf);

		if (xlrec->change < 0 && zsattr_overflow_shares(page) == 0)
			elog(PANIC, "overflow value does not match the share record: nobody shares it");
		zsattr_overflow_change_shares(page, xlrec->change);
		PageSetLSN(page, record->EndRecPtr);
		MarkBufferDirty(buf);
	}
	if (BufferIsValid(buf))
		UnlockReleaseBuffer(buf);
}

static void
redo_replace(XLogReaderState *record)
{
	const xl_zs_attr_replace *xlrec = (const xl_zs_attr_replace *) XLogRecGetData(record);
	Buffer		buf;

	if (XLogReadBufferForRedo(record, 0, &buf) == BLK_NEEDS_REDO)
	{
		Page		page = BufferGetPage(buf);
		int			count = zsattr_index_count(page);
		Size		len = 0;
		char	   *data = XLogRecHasBlockData(record, 0) ?
			XLogRecGetBlockData(record, 0, &len) : NULL;
		int			nitems = (int) (len / sizeof(ZsSegmentItem));

		if (len % sizeof(ZsSegmentItem) != 0 || xlrec->index + xlrec->nold > count ||
			count - xlrec->nold + nitems > (int) ZS_SEGMENT_INDEX_CAPACITY)
			elog(PANIC,
				 "segment index page does not match the replace record: items %u to %u of %d",
				 xlrec->index, xlrec->index + xlrec->nold, count);
		zsattr_index_replace(page, xlrec->index, xlrec->nold, (ZsSegmentItem *) data, nitems);
		Assert(zsattr_index_page_check(page) == NULL);
		PageSetLSN(page, record->EndRecPtr);
		MarkBufferDirty(buf);
	}
	if (BufferIsValid(buf))
		UnlockReleaseBuffer(buf);
}

/* Redo of XLOG_ZS_ATTR_SHARE and XLOG_ZS_ATTR_REPLACE. */
void
zsattr_redo(XLogReaderState *record)
{
	uint8		info = XLogRecGetInfo(record) & ~XLR_INFO_MASK;

	switch (info)
	{
		case XLOG_ZS_ATTR_SHARE:
			redo_share(record);
			break;
		case XLOG_ZS_ATTR_REPLACE:
			redo_replace(record);
			break;
		default:
			elog(PANIC, "zsattr_redo: unknown op code %u", info);
	}
}
