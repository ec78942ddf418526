/*-------------------------------------------------------------------------
 *
 * wal_layout.c
 *	  The layout of pages and WAL records, a second time.
 *
 * Files and WAL of earlier releases stay readable (docs/format.md): recovery of
 * a server that crashed under an older library, and a standby whose primary has
 * one, replay what that library logged.  So what this file says about a struct,
 * a flag or a number does not change; things are added.  Whoever has to change a
 * line here writes a new format version, or a record with another info or flag,
 * and keeps the code that reads the old one.
 *
 * The bytes of segments are those of t/fixtures.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/wal/wal_layout.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"

#include "zs_compression.h"
#include "zs_format.h"
#include "zs_walrec.h"

#define SIZE(type, size) \
	StaticAssertDecl(sizeof(type) == (size), "size of " #type)
#define AT(type, field, offset) \
	StaticAssertDecl(offsetof(type, field) == (offset), "offset of " #type "." #field)
#define IS(name, value) \
	StaticAssertDecl((name) == (value), "value of " #name)

/* ---- numbers of the format ----------------------------------------------------- */

IS(ZS_ROW_BITS, 40);
IS(ZS_ROWS_PER_BLOCK, 256);
IS(ZS_STRIPE_ROWS, 1024);
IS(ZS_TREE_TABLE, 0);
IS(ZS_TREE_TID, 1);
IS(ZS_TREE_ROW, 2);
IS(ZS_PAGE_ID, 0xF2ED);
IS(ZS_PAGEF_ROOT, 0x0001);
IS(ZS_PAGEF_INCOMPLETE_SPLIT, 0x0002);
IS(ZS_PAGEF_ALL_FROZEN, 0x0004);
IS(ZS_PAGEF_ANY_VISIBLE, 0x0008);
IS(ZS_META_BLKNO, 0);
IS(ZS_META_MAGIC, 0x5A454453);
IS(ZS_ENTRY_EXTENTS, 12);
IS(ZS_INSERT_CURSORS, 8);
IS(ZS_MAX_DIRECTORY_PAGES, 32);
IS(ZS_META_ENTRIES, 60);
IS(ZS_DIRECTORY_ENTRIES, 63);
IS(ZS_INNERF_ALL_FROZEN, 0x0001);
IS(ZS_SEGF_ZONE_MAP, 0x0001);
IS(ZS_SEGF_HAS_NULLS, 0x0002);
IS(ZS_SEGF_HAS_OVERFLOW, 0x0004);
IS(ZS_SEGF_UNSIGNED, 0x0008);
IS(ZS_OVERFLOW_SIZE_MASK, 0x3FFFFFFF);
IS(ZS_OVERFLOW_PLAIN, 0x00000000);
IS(ZS_OVERFLOW_LZ4, 0x40000000);
IS(ZS_OVERFLOW_ZSTD, 0x80000000);
IS(ZS_VIS2_UPDATED, 0x0001);
IS(ZS_VIS2_MOVED_PARTITION, 0x0002);
IS(ZS_VIS2_SPECULATIVE, 0x0004);
IS(ZS_SLOT_FROZEN, 0);
IS(ZS_SLOT_DEAD, 1);
IS(ZS_SLOT_UNUSED, 2);
IS(ZS_SLOT_RETIRED, 3);
IS(ZS_FIRST_REAL_SLOT, 4);
IS(ZS_RUN_REAL, 0x80);
IS(ZS_RUN_LONG, 31);
IS(ZS_RUN_FAR, 127);
IS(ZS_TID_MARKS, 16);
IS(ZS_MAX_ROW, (UINT64CONST(1) << 40) - 256);
IS(ZS_MAX_SEGMENT_ROWS, 65536);
IS(ZS_PAGE_CAPACITY, 8128);
IS(ZS_TREE_XMIN, 1603);
IS(ZS_MAX_TREES, 1604);
IS(ZS_XMIN_ATTNO, -2);
IS(ZS_ITEM_XMIN, 0x0100);
IS(ZS_PAGE_VERSION, 3);
IS(ZS_ROW_MAX_ITEM, 2024);
IS(ZS_VIS_HINT_BITS, 0x0F00);
IS(ZS_COMPRESSION_NONE, 0);
IS(ZS_COMPRESSION_LZ4, 1);
IS(ZS_COMPRESSION_ZSTD, 2);

/* ---- kinds of pages ------------------------------------------------------------ */

IS(ZS_PAGE_INVALID, 0);
IS(ZS_PAGE_META, 1);
IS(ZS_PAGE_DIRECTORY, 2);
IS(ZS_PAGE_FPM, 3);
IS(ZS_PAGE_INNER, 4);
IS(ZS_PAGE_TID_LEAF, 5);
IS(ZS_PAGE_ROW_LEAF, 6);
IS(ZS_PAGE_SEGMENT_INDEX, 7);
IS(ZS_PAGE_SEGMENT, 8);
IS(ZS_PAGE_OVERFLOW, 9);
IS(ZS_PAGE_FREE, 10);

/* ---- structs on pages ---------------------------------------------------------- */

SIZE(ZsPageOpaque, 40);
AT(ZsPageOpaque, lokey, 0);
AT(ZsPageOpaque, hikey, 8);
AT(ZsPageOpaque, right, 16);
AT(ZsPageOpaque, position, 20);
AT(ZsPageOpaque, stamp, 24);
AT(ZsPageOpaque, treeno, 28);
AT(ZsPageOpaque, flags, 30);
AT(ZsPageOpaque, page_type, 32);
AT(ZsPageOpaque, level, 33);
AT(ZsPageOpaque, version, 34);
AT(ZsPageOpaque, unused, 36);
AT(ZsPageOpaque, page_id, 38);

SIZE(ZsExtent, 8);
AT(ZsExtent, start, 0);
AT(ZsExtent, length, 4);

SIZE(ZsTreeEntry, 128);
AT(ZsTreeEntry, root, 0);
AT(ZsTreeEntry, nblocks, 4);
AT(ZsTreeEntry, nfree, 8);
AT(ZsTreeEntry, chain, 12);
AT(ZsTreeEntry, chain_maxlen, 16);
AT(ZsTreeEntry, nextents, 20);
AT(ZsTreeEntry, flags, 22);
AT(ZsTreeEntry, unused, 24);
AT(ZsTreeEntry, extents, 32);

SIZE(ZsMetaPageData, 8056);
AT(ZsMetaPageData, magic, 0);
AT(ZsMetaPageData, version, 4);
AT(ZsMetaPageData, flags, 6);
AT(ZsMetaPageData, next_row, 8);
AT(ZsMetaPageData, cursors, 16);
AT(ZsMetaPageData, file_blocks, 80);
AT(ZsMetaPageData, ndirectory, 84);
AT(ZsMetaPageData, directory, 88);
AT(ZsMetaPageData, unused, 216);
AT(ZsMetaPageData, entries, 248);
AT(ZsMetaPageData, xmin_entry, 7928);

SIZE(ZsDirectoryPageData, 8064);
AT(ZsDirectoryPageData, entries, 0);

SIZE(ZsInnerItem, 16);
AT(ZsInnerItem, lokey, 0);
AT(ZsInnerItem, child, 8);
AT(ZsInnerItem, flags, 12);

SIZE(ZsSegmentItem, 64);
AT(ZsSegmentItem, first_row, 0);
AT(ZsSegmentItem, zone_min, 8);
AT(ZsSegmentItem, zone_max, 16);
AT(ZsSegmentItem, nrows, 24);
AT(ZsSegmentItem, nnulls, 28);
AT(ZsSegmentItem, start, 32);
AT(ZsSegmentItem, nblocks, 36);
AT(ZsSegmentItem, stamp, 40);
AT(ZsSegmentItem, flags, 44);
AT(ZsSegmentItem, payload_size, 48);
AT(ZsSegmentItem, raw_size, 52);
AT(ZsSegmentItem, nholes, 56);
AT(ZsSegmentItem, unused, 60);

SIZE(ZsOverflowPointer, 16);
AT(ZsOverflowPointer, start, 0);
AT(ZsOverflowPointer, stamp, 4);
AT(ZsOverflowPointer, raw_size, 8);
AT(ZsOverflowPointer, stored_size, 12);

SIZE(ZsVisSlot, 32);
AT(ZsVisSlot, xmin, 0);
AT(ZsVisSlot, xmax, 4);
AT(ZsVisSlot, cmin, 8);
AT(ZsVisSlot, cmax, 12);
AT(ZsVisSlot, successor, 16);
AT(ZsVisSlot, infomask, 24);
AT(ZsVisSlot, infomask2, 26);
AT(ZsVisSlot, unused, 28);

SIZE(ZsTidLeafHeader, 104);
AT(ZsTidLeafHeader, nslots, 0);
AT(ZsTidLeafHeader, stream_size, 2);
AT(ZsTidLeafHeader, nruns, 4);
AT(ZsTidLeafHeader, mark_row, 8);
AT(ZsTidLeafHeader, mark_offset, 72);

/* ---- numbers of WAL records ---------------------------------------------------- */

IS(ZS_RMGR_ID, 158);
IS(XLOG_ZS_PAGE_IMAGES, 0x00);
IS(XLOG_ZS_PAGE_META, 0x10);
IS(XLOG_ZS_PAGE_FPM, 0x20);
IS(XLOG_ZS_PAGE_TREE, 0x30);
IS(XLOG_ZS_BTREE_SPLIT, 0x40);
IS(XLOG_ZS_BTREE_INNER, 0x50);
IS(XLOG_ZS_TID_CHANGE, 0x60);
IS(XLOG_ZS_TID_FOLD, 0x70);
IS(XLOG_ZS_TID_VISMAP, 0x80);
IS(XLOG_ZS_ROW_INSERT, 0x90);
IS(XLOG_ZS_ROW_DELETE, 0xA0);
IS(XLOG_ZS_ATTR_SHARE, 0xB0);
IS(XLOG_ZS_ATTR_REPLACE, 0xC0);
IS(XLOG_ZS_LOGICAL, 0xD0);
IS(XLOG_ZS_WRITE_ROW, 0xE0);
IS(XLOG_ZS_BTREE_MERGE, 0xF0);
IS(ZS_FPMF_FILE_BLOCKS, 0x0001);
IS(ZS_FPMF_CHAIN, 0x0002);
IS(ZS_FPM_TAKE, 1);
IS(ZS_FPM_FREE, 2);
IS(ZS_FPM_GAIN, 3);
IS(ZS_FPM_GAIN_USED, 4);
IS(ZS_FPM_LOSE, 5);
IS(ZS_FPM_CHAIN, 6);
IS(ZS_FPM_CHAIN_IN, 7);
IS(ZS_FPM_CHAIN_OUT, 8);
IS(ZS_FPM_CHAIN_TAKE, 9);
IS(ZS_FPM_CHAIN_LOSE, 10);
IS(ZS_FPM_LOSE_USED, 11);
IS(ZS_FPM_XMIN, 0x80);
IS(ZS_SPLITF_ROOT, 0x0001);
IS(ZS_SPLITF_LEFT_KEPT, 0x0002);
IS(ZS_INNER_INSERT, 1);
IS(ZS_INNER_FLAGS, 2);
IS(ZS_MERGEF_MOVE, 0x01);
IS(ZS_TID_INSERT, 1);
IS(ZS_TID_XMAX, 2);
IS(ZS_TID_LOCK, 3);
IS(ZS_TID_CONFIRM, 4);
IS(ZS_TID_KILL, 5);
IS(ZS_TID_RELEASE, 6);
IS(ZS_TID_REMOVE_DEAD, 7);
IS(ZS_TID_ASSIGN, 8);
IS(ZS_TID_RETIRE, 9);
IS(ZS_TIDF_COUNT, 0x01);
IS(ZS_TIDF_XID, 0x02);
IS(ZS_TIDF_TOKEN, 0x04);
IS(ZS_TIDF_VM_VISIBLE, 0x10);
IS(ZS_TIDF_VM_FROZEN, 0x20);
IS(ZS_TIDX_IS_MULTI, 0x01);
IS(ZS_TIDX_LOCK_ONLY, 0x02);
IS(ZS_TIDX_EXCL_LOCK, 0x04);
IS(ZS_TIDX_KEYSHR_LOCK, 0x08);
IS(ZS_TIDX_KEYS_UPDATED, 0x10);
IS(ZS_TIDX_UPDATED, 0x20);
IS(ZS_TIDX_MOVED_PARTITION, 0x40);
IS(ZS_TIDFOLDF_CATALOG, 0x01);
IS(ZS_TIDFOLDF_ALL_FROZEN, 0x02);
IS(ZS_TIDVMF_CATALOG, 0x01);
IS(ZS_TIDVMF_LEAF, 0x02);
IS(ZS_TIDVMF_CLEAR, 0x04);
IS(ZS_LOGICAL_INSERT, 1);
IS(ZS_LOGICAL_UPDATE, 2);
IS(ZS_LOGICAL_DELETE, 3);
IS(ZS_LOGICALF_OLD_KEY, 0x01);
IS(ZS_LOGICALF_OLD_ROW, 0x02);
IS(ZS_LOGICALF_LZ4, 0x04);
IS(ZS_WRITEF_UPDATE, 0x01);
IS(ZS_WRITEF_OTHER_LEAF, 0x02);
IS(ZS_WRITEF_VM, 0x04);
IS(ZS_WRITEF_TOKEN, 0x08);

/* ---- WAL records --------------------------------------------------------------- */

SIZE(xl_zs_page_meta, 24);
AT(xl_zs_page_meta, next_row, 0);
AT(xl_zs_page_meta, cursor, 8);
AT(xl_zs_page_meta, cursorno, 16);

SIZE(xl_zs_page_fpm, 8);
AT(xl_zs_page_fpm, file_blocks, 0);
AT(xl_zs_page_fpm, flags, 4);
AT(xl_zs_page_fpm, first_treeno, 6);

SIZE(ZsFpmOp, 12);
AT(ZsFpmOp, treeno, 0);
AT(ZsFpmOp, op, 2);
AT(ZsFpmOp, unused, 3);
AT(ZsFpmOp, start, 4);
AT(ZsFpmOp, length, 8);

SIZE(xl_zs_page_tree, 12);
AT(xl_zs_page_tree, treeno, 0);
AT(xl_zs_page_tree, first_treeno, 2);
AT(xl_zs_page_tree, blkno, 4);
AT(xl_zs_page_tree, directory, 8);

SIZE(xl_zs_btree_split, 16);
AT(xl_zs_btree_split, splitkey, 0);
AT(xl_zs_btree_split, right, 8);
AT(xl_zs_btree_split, flags, 12);

SIZE(xl_zs_btree_inner, 24);
AT(xl_zs_btree_inner, item, 0);
AT(xl_zs_btree_inner, index, 16);
AT(xl_zs_btree_inner, op, 18);

SIZE(xl_zs_btree_merge, 12);
AT(xl_zs_btree_merge, left_flags, 0);
AT(xl_zs_btree_merge, index, 4);
AT(xl_zs_btree_merge, treeno, 6);
AT(xl_zs_btree_merge, level, 8);
AT(xl_zs_btree_merge, flags, 9);

SIZE(xl_zs_tid_change, 8);
AT(xl_zs_tid_change, row_low, 0);
AT(xl_zs_tid_change, row_high, 4);
AT(xl_zs_tid_change, op, 5);
AT(xl_zs_tid_change, flags, 6);

SIZE(xl_zs_tid_fold, 8);
AT(xl_zs_tid_fold, horizon, 0);
AT(xl_zs_tid_fold, nslots, 4);
AT(xl_zs_tid_fold, flags, 6);

SIZE(ZsTidFoldSlot, 12);
AT(ZsTidFoldSlot, xmin, 0);
AT(ZsTidFoldSlot, xmax, 4);
AT(ZsTidFoldSlot, infomask, 8);
AT(ZsTidFoldSlot, infomask2, 10);

SIZE(xl_zs_tid_vismap, 8);
AT(xl_zs_tid_vismap, horizon, 0);
AT(xl_zs_tid_vismap, nranges, 4);
AT(xl_zs_tid_vismap, flags, 6);

SIZE(ZsTidVmRange, 8);
AT(ZsTidVmRange, first, 0);
AT(ZsTidVmRange, nblocks, 4);
AT(ZsTidVmRange, bits, 6);

SIZE(xl_zs_row_insert, 4);
AT(xl_zs_row_insert, offset, 0);
AT(xl_zs_row_insert, nitems, 2);

SIZE(xl_zs_row_delete, 4);
AT(xl_zs_row_delete, offset, 0);
AT(xl_zs_row_delete, nitems, 2);

SIZE(xl_zs_attr_share, 1);
AT(xl_zs_attr_share, change, 0);

SIZE(xl_zs_attr_replace, 4);
AT(xl_zs_attr_replace, index, 0);
AT(xl_zs_attr_replace, nold, 2);

SIZE(xl_zs_logical, 20);
AT(xl_zs_logical, locator, 0);
AT(xl_zs_logical, raw_len, 12);
AT(xl_zs_logical, nrows, 16);
AT(xl_zs_logical, op, 18);
AT(xl_zs_logical, flags, 19);

SIZE(xl_zs_logical_row, 12);
AT(xl_zs_logical_row, len, 0);
AT(xl_zs_logical_row, infomask2, 4);
AT(xl_zs_logical_row, infomask, 6);
AT(xl_zs_logical_row, hoff, 8);

SIZE(xl_zs_write_row, 8);
AT(xl_zs_write_row, row_low, 0);
AT(xl_zs_write_row, row_high, 4);
AT(xl_zs_write_row, flags, 5);

SIZE(xl_zs_row_single, 6);
AT(xl_zs_row_single, offset, 0);
AT(xl_zs_row_single, infomask2, 2);
AT(xl_zs_row_single, infomask, 4);

IS(SizeOfZsPageMeta, 20);
IS(SizeOfZsPageFpm, 8);
IS(SizeOfZsPageTree, 12);
IS(SizeOfZsBtreeSplit, 14);
IS(SizeOfZsBtreeInner, 19);
IS(SizeOfZsBtreeMerge, 10);
IS(SizeOfZsTidChange, 7);
IS(SizeOfZsTidFold, 7);
IS(SizeOfZsTidVismap, 7);
IS(SizeOfZsRowInsert, 4);
IS(SizeOfZsRowDelete, 4);
IS(SizeOfZsAttrShare, 1);
IS(SizeOfZsAttrReplace, 4);
IS(SizeOfZsLogical, 20);
IS(SizeOfZsLogicalRow, 9);
IS(SizeOfZsWriteRow, 6);
IS(SizeOfZsRowSingle, 6);
