/*-------------------------------------------------------------------------
 *
 * row_redo.c
 *	  Redo of changes to row-tree leaves.
 *
 * Items go onto the page as they were added first, and where: the record has the
 * offset of the first one.  A record whose lengths do not add up, or that asks for
 * items that are not there, is a PANIC.  Splits, merges and roots are the records
 * of src/btree.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/row/row_redo.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlogutils.h"

#include "row_internal.h"
#include "zs_walrec.h"

static void
redo_insert(XLogReaderState *record)
{
	const xl_zs_row_insert *xlrec = (const xl_zs_row_insert *) XLogRecGetData(record);
	Buffer		buf;

	if (XLogReadBufferForRedo(record, 0, &buf) == BLK_NEEDS_REDO)
	{
		Page		page = BufferGetPage(buf);
		Size		len;
		const char *data = XLogRecGetBlockData(record, 0, &len);
		const char *end = data + len;

		for (int i = 0; i < xlrec->nitems; i++)
		{
			PGAlignedBlock item;
			uint32		item_len = 0;

			if (end - data >= (ptrdiff_t) SizeofMinimalTupleHeader)
				memcpy(&item_len, data, sizeof(item_len));
			if (item_len < SizeofMinimalTupleHeader || item_len > ZS_ROW_MAX_ITEM ||
				item_len > end - data)
				elog(PANIC, "row insert record is too short for its items");
			/* items lie unaligned in the record */
			memcpy(item.data, data, item_len);
			if (PageAddItem(page, item.data, item_len, xlrec->offset + i, false, false) ==
				InvalidOffsetNumber)
				elog(PANIC, "failed to add item to row tree leaf");
			data += item_len;
		}
		if (data != end)
			elog(PANIC, "row insert record is too long for its items");
		Assert(zsrow_leaf_check(page) == NULL);
		PageSetLSN(page, record->EndRecPtr);
		MarkBufferDirty(buf);
	}
	if (BufferIsValid(buf))
		UnlockReleaseBuffer(buf);
}

static void
redo_delete(XLogReaderState *record)
{
	const xl_zs_row_delete *xlrec = (const xl_zs_row_delete *) XLogRecGetData(record);
	Buffer		buf;

	if (XLogReadBufferForRedo(record, 0, &buf) == BLK_NEEDS_REDO)
	{
		Page		page = BufferGetPage(buf);

		if (xlrec->nitems == 0 || xlrec->offset < FirstOffsetNumber ||
			xlrec->offset + xlrec->nitems - 1 > PageGetMaxOffsetNumber(page))
			elog(PANIC, "row tree leaf does not match the delete record");
		zsrow_leaf_delete(page, xlrec->offset, xlrec->nitems);
		Assert(zsrow_leaf_check(page) == NULL);
		PageSetLSN(page, record->EndRecPtr);
		MarkBufferDirty(buf);
	}
	if (BufferIsValid(buf))
		UnlockReleaseBuffer(buf);
}

/* Redo of XLOG_ZS_ROW_INSERT and XLOG_ZS_ROW_DELETE. */
void
zsrow_redo(XLogReaderState *record)
{
	uint8		info = XLogRecGetInfo(record) & ~XLR_INFO_MASK;

	switch (info)
	{
		case XLOG_ZS_ROW_INSERT:
			redo_insert(record);
			break;
		case XLOG_ZS_ROW_DELETE:
			redo_delete(record);
			break;
		default:
			elog(PANIC, "zsrow_redo: unknown op code %u", info);
	}
}

/*
 * Clears the bytes that align a leaf's items, for wal_consistency_checking: they are
 * what was there before, and a full page image leaves out the hole where items grow into.
 */
void
zsrow_mask_page(char *page)
{
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);

	for (OffsetNumber offset = FirstOffsetNumber; offset <= maxoff; offset++)
	{
		ItemId		id = PageGetItemId(page, offset);
		Size		len = ItemIdGetLength(id);

		if (ItemIdHasStorage(id))
			memset(page + ItemIdGetOffset(id) + len, 0, MAXALIGN(len) - len);
	}
}
