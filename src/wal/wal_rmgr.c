/*-------------------------------------------------------------------------
 *
 * wal_rmgr.c
 *	  The resource manager: dispatch of redo, descriptions, masks.
 *
 * Redo itself lives beside the code that writes the records.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/wal/wal_rmgr.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/bufmask.h"
#include "access/rmgr.h"
#include "access/xlog_internal.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"

#include "zs_attr.h"
#include "zs_btree.h"
#include "zs_page.h"
#include "zs_row.h"
#include "zs_tid.h"
#include "zs_wal.h"
#include "zs_walrec.h"
#include "zs_write.h"

/* Row images change no page. */
static void
redo_nothing(XLogReaderState *record)
{
}

/* By the upper half of the info byte, without gaps. */
static const struct
{
	uint8		info;
	const char *name;
	void		(*redo) (XLogReaderState *record);
}			records[] = {
	{XLOG_ZS_PAGE_IMAGES, "PAGE_IMAGES", zspage_redo},
	{XLOG_ZS_PAGE_META, "PAGE_META", zspage_redo},
	{XLOG_ZS_PAGE_FPM, "PAGE_FPM", zspage_redo},
	{XLOG_ZS_PAGE_TREE, "PAGE_TREE", zspage_redo},
	{XLOG_ZS_BTREE_SPLIT, "BTREE_SPLIT", zsbtree_redo},
	{XLOG_ZS_BTREE_INNER, "BTREE_INNER", zsbtree_redo},
	{XLOG_ZS_TID_CHANGE, "TID_CHANGE", zstid_redo},
	{XLOG_ZS_TID_FOLD, "TID_FOLD", zstid_redo},
	{XLOG_ZS_TID_VISMAP, "TID_VISMAP", zstid_redo},
	{XLOG_ZS_ROW_INSERT, "ROW_INSERT", zsrow_redo},
	{XLOG_ZS_ROW_DELETE, "ROW_DELETE", zsrow_redo},
	{XLOG_ZS_ATTR_SHARE, "ATTR_SHARE", zsattr_redo},
	{XLOG_ZS_ATTR_REPLACE, "ATTR_REPLACE", zsattr_redo},
	{XLOG_ZS_LOGICAL, "LOGICAL", redo_nothing},
	{XLOG_ZS_WRITE_ROW, "WRITE_ROW", zswrite_redo},
	{XLOG_ZS_BTREE_MERGE, "BTREE_MERGE", zsbtree_redo},
};

/* A record's row in records[]. */
static int
find_record(uint8 info)
{
	int			i = (info & XLR_RMGR_INFO_MASK) >> 4;

	StaticAssertDecl(lengthof(records) == (XLR_RMGR_INFO_MASK >> 4) + 1,
					 "every number has a record");
	Assert(records[i].info == (info & XLR_RMGR_INFO_MASK));
	return i;
}

static void
zs_rmgr_redo(XLogReaderState *record)
{
	Assert(XLogRecGetRmid(record) == ZS_RMGR_ID);
	records[find_record(XLogRecGetInfo(record))].redo(record);
}

static const char *
zs_rmgr_identify(uint8 info)
{
	return records[find_record(info)].name;
}

static void
zs_rmgr_desc(StringInfo buf, XLogReaderState *record)
{
	char	   *data = XLogRecGetData(record);

	Assert(XLogRecGetRmid(record) == ZS_RMGR_ID);

	switch (XLogRecGetInfo(record) & XLR_RMGR_INFO_MASK)
	{
		case XLOG_ZS_PAGE_IMAGES:
			appendStringInfo(buf, "npages: %d", XLogRecMaxBlockId(record) + 1);
			break;
		case XLOG_ZS_PAGE_META:
			{
				xl_zs_page_meta *xlrec = (xl_zs_page_meta *) data;

				appendStringInfo(buf,
								 "next_row: " UINT64_FORMAT ", cursorno: %d, cursor: " UINT64_FORMAT,
								 xlrec->next_row, xlrec->cursorno, xlrec->cursor);
				break;
			}
		case XLOG_ZS_PAGE_FPM:
			{
				xl_zs_page_fpm *xlrec = (xl_zs_page_fpm *) data;
				Size		len = 0;

				(void) XLogRecGetBlockData(record, 0, &len);
				appendStringInfo(buf, "first_treeno: %u, nops: %d, file_blocks: %u, flags: 0x%04X",
								 xlrec->first_treeno, (int) (len / sizeof(ZsFpmOp)),
								 xlrec->file_blocks, xlrec->flags);
				break;
			}
		case XLOG_ZS_PAGE_TREE:
			{
				xl_zs_page_tree *xlrec = (xl_zs_page_tree *) data;

				appendStringInfo(buf, "%streeno: %u, blkno: %u, directory: %d",
								 XLogRecHasBlockRef(record, 2) ? "move, " : "",
								 xlrec->treeno, xlrec->blkno, xlrec->directory);
				break;
			}
		case XLOG_ZS_BTREE_SPLIT:
			{
				xl_zs_btree_split *xlrec = (xl_zs_btree_split *) data;

				appendStringInfo(buf, "splitkey: " UINT64_FORMAT ", right: %u, flags: 0x%04X",
								 xlrec->splitkey, xlrec->right, xlrec->flags);
				break;
			}
		case XLOG_ZS_BTREE_INNER:
			{
				xl_zs_btree_inner *xlrec = (xl_zs_btree_inner *) data;

				appendStringInfo(buf, "lokey: " UINT64_FORMAT ", child: %u, index: %u, op: %u",
								 xlrec->item.lokey, xlrec->item.child, xlrec->index, xlrec->op);
				break;
			}
		case XLOG_ZS_BTREE_MERGE:
			{
				xl_zs_btree_merge *xlrec = (xl_zs_btree_merge *) data;

				appendStringInfo(buf, "%streeno: %u, level: %u, index: %u",
								 xlrec->flags & ZS_MERGEF_MOVE ? "move, " : "",
								 xlrec->treeno, xlrec->level, xlrec->index);
				break;
			}
		case XLOG_ZS_TID_CHANGE:
		case XLOG_ZS_TID_FOLD:
		case XLOG_ZS_TID_VISMAP:
			zstid_desc(buf, record);
			break;
		case XLOG_ZS_LOGICAL:
			{
				xl_zs_logical *xlrec = (xl_zs_logical *) data;

				appendStringInfo(buf,
								 "rel: %u/%u/%u, op: %u, flags: 0x%02X, nrows: %u, raw_len: %u",
								 xlrec->locator.spcOid, xlrec->locator.dbOid,
								 xlrec->locator.relNumber, xlrec->op, xlrec->flags,
								 xlrec->nrows, xlrec->raw_len);
				break;
			}
		case XLOG_ZS_ATTR_SHARE:
			appendStringInfo(buf, "change: %d", ((xl_zs_attr_share *) data)->change);
			break;
		case XLOG_ZS_ATTR_REPLACE:
			{
				xl_zs_attr_replace *xlrec = (xl_zs_attr_replace *) data;
				Size		len = 0;

				if (XLogRecHasBlockData(record, 0))
					(void) XLogRecGetBlockData(record, 0, &len);
				appendStringInfo(buf, "index: %u, nold: %u, nnew: %d",
								 xlrec->index, xlrec->nold, (int) (len / sizeof(ZsSegmentItem)));
				break;
			}
		case XLOG_ZS_WRITE_ROW:
			zstid_single_desc(buf, record);
			break;
		default:
			appendStringInfo(buf, "data: %u bytes", XLogRecGetDataLen(record));
			break;
	}
}

/*
 * What may differ between primary and standby: LSN and checksum, the hole, and
 * hint bits.  Visibility map pages have core's format, without a special space.
 */
static void
zs_rmgr_mask(char *pagedata, BlockNumber blkno)
{
	Page		page = (Page) pagedata;

	mask_page_lsn_and_checksum(page);
	mask_page_hint_bits(page);
	if (PageGetSpecialSize(page) != sizeof(ZsPageOpaque))
		return;
	mask_unused_space(page);
	if (ZsPageGetOpaque(page)->page_type == ZS_PAGE_TID_LEAF)
		zstid_mask_page(pagedata);
	else if (ZsPageGetOpaque(page)->page_type == ZS_PAGE_ROW_LEAF)
		zsrow_mask_page(pagedata);
}

static const RmgrData zs_rmgr = {
	.rm_name = ZS_RMGR_NAME,
	.rm_redo = zs_rmgr_redo,
	.rm_desc = zs_rmgr_desc,
	.rm_identify = zs_rmgr_identify,
	.rm_mask = zs_rmgr_mask,
	.rm_decode = zswal_decode,
};

/* Registers the resource manager; only while shared libraries are preloaded. */
void
zswal_rmgr_init(void)
{
	Assert(process_shared_preload_libraries_in_progress);
	RegisterCustomRmgr(ZS_RMGR_ID, &zs_rmgr);
}
