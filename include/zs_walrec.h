/*-------------------------------------------------------------------------
 *
 * zs_walrec.h
 *	  Every WAL record of zedstore, with its block references and the redo
 *	  function that reads it.
 *
 * Redo lives beside the code that logs (page_redo.c, btree_redo.c,
 * tid_redo.c, row_redo.c, attr_redo.c, write_redo.c); wal_rmgr.c only dispatches.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_walrec.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_WALREC_H
#define ZS_WALREC_H

#include "postgres.h"

#include "storage/relfilelocator.h"

#include "zs_format.h"

/* Resource manager id and name, to be registered on PostgreSQL's wiki page. */
#define ZS_RMGR_ID				158
#define ZS_RMGR_NAME			"zedstore"

/* info bits: four are ours */
#define XLOG_ZS_PAGE_IMAGES		0x00	/* page_redo.c */
#define XLOG_ZS_PAGE_META		0x10	/* page_redo.c */
#define XLOG_ZS_PAGE_FPM		0x20	/* page_redo.c */
#define XLOG_ZS_PAGE_TREE		0x30	/* page_redo.c */
#define XLOG_ZS_BTREE_SPLIT		0x40	/* btree_redo.c */
#define XLOG_ZS_BTREE_INNER		0x50	/* btree_redo.c */
#define XLOG_ZS_TID_CHANGE		0x60	/* tid_redo.c */
#define XLOG_ZS_TID_FOLD		0x70	/* tid_redo.c */
#define XLOG_ZS_TID_VISMAP		0x80	/* tid_redo.c */
#define XLOG_ZS_ROW_INSERT		0x90	/* row_redo.c */
#define XLOG_ZS_ROW_DELETE		0xA0	/* row_redo.c */
#define XLOG_ZS_ATTR_SHARE		0xB0	/* attr_redo.c */
#define XLOG_ZS_ATTR_REPLACE	0xC0	/* attr_redo.c */
#define XLOG_ZS_LOGICAL			0xD0	/* wal_decode.c; nothing to redo */
#define XLOG_ZS_WRITE_ROW		0xE0	/* write_redo.c */
#define XLOG_ZS_BTREE_MERGE		0xF0	/* btree_redo.c */

/* ---- page ----------------------------------------------------------------- */

/*
 * XLOG_ZS_PAGE_IMAGES: no data.  Blocks 0..n, each with a forced full image.
 */

/*
 * XLOG_ZS_PAGE_META: next_row and cursors after the change.
 * Block 0: metapage.
 */
typedef struct xl_zs_page_meta
{
	uint64		next_row;		/* 0 */
	uint64		cursor;			/* 8: new value of cursors[cursorno] */
	int32		cursorno;		/* 16: -1 = none */
} xl_zs_page_meta;

#define SizeOfZsPageMeta		(offsetof(xl_zs_page_meta, cursorno) + sizeof(int32))

/*
 * XLOG_ZS_PAGE_FPM: changes to the directory entries of one page, and to the
 * table's own.
 * Block 0: metapage or directory page; its data is an array of ZsFpmOp.  When
 * a map is put in order (no data): forced full image.
 * Block 1 (ZS_FPMF_FILE_BLOCKS, or blocks move to or from the table's map): the
 * metapage, unless it is block 0; its data is an array of ZsFpmOp for tree 0.
 * Blocks 2 and up (ZS_FPMF_CHAIN): FPM pages, and those that are none any more,
 * forced full images.
 *
 * With ZS_FPMF_FILE_BLOCKS redo makes the main fork at least file_blocks long.
 */
typedef struct xl_zs_page_fpm
{
	BlockNumber file_blocks;	/* 0 */
	uint16		flags;			/* 4: ZS_FPMF_* */
	uint16		first_treeno;	/* 6: tree of the page's first entry */
} xl_zs_page_fpm;

#define SizeOfZsPageFpm			sizeof(xl_zs_page_fpm)
#define ZS_FPMF_FILE_BLOCKS		0x0001
#define ZS_FPMF_CHAIN			0x0002

typedef struct ZsFpmOp
{
	uint16		treeno;			/* 0 */
	uint8		op;				/* 2: ZS_FPM_*, perhaps with ZS_FPM_XMIN */
	uint8		unused;			/* 3 */
	BlockNumber start;			/* 4: CHAIN: new first FPM page */
	uint32		length;			/* 8: CHAIN: new chain_maxlen */
} ZsFpmOp;

#define ZS_FPM_TAKE				1	/* blocks leave the map, the tree uses them */
#define ZS_FPM_FREE				2	/* blocks the tree used enter its map */
#define ZS_FPM_GAIN				3	/* blocks join the tree, free */
#define ZS_FPM_GAIN_USED		4	/* blocks join the tree, in use at once */
#define ZS_FPM_LOSE				5	/* free blocks leave the tree */
#define ZS_FPM_CHAIN			6	/* the FPM page chain has a new head */
#define ZS_FPM_CHAIN_IN			7	/* extent moves from an FPM page to the entry */
#define ZS_FPM_CHAIN_OUT		8	/* extent moves from the entry to an FPM page */
#define ZS_FPM_CHAIN_TAKE		9	/* blocks on an FPM page are used by the tree */
#define ZS_FPM_CHAIN_LOSE		10	/* free blocks on an FPM page leave the tree */
#define ZS_FPM_LOSE_USED		11	/* blocks the tree used leave it */

/*
 * In op whenever the tree is ZS_TREE_XMIN: a release that does not know that tree, whose entry is
 * at no place that it could compute, stops at an operation that it does not know.
 */
#define ZS_FPM_XMIN				0x80

/*
 * XLOG_ZS_PAGE_TREE: a tree gets its root, or the directory a page; or either of them moves.
 * Block 0: metapage or directory page whose entry changes.
 * Block 1: root page, or directory page, full image.
 * Block 2 (it moves): where the page was, which becomes a free page (made anew).
 */
typedef struct xl_zs_page_tree
{
	uint16		treeno;			/* 0 */
	uint16		first_treeno;	/* 2: tree of block 0's first entry */
	BlockNumber blkno;			/* 4: new root or directory page */
	int32		directory;		/* 8: index of the new directory page, -1 = root */
} xl_zs_page_tree;

#define SizeOfZsPageTree		sizeof(xl_zs_page_tree)

/* ---- btree ------------------------------------------------------------------ */

/*
 * XLOG_ZS_BTREE_SPLIT.
 *
 * Not the root: block 0: left page (full image, or with ZS_SPLITF_LEFT_KEPT
 * only hikey, right and the flag change); block 1: right page, full image.
 * Root: block 0: root page, full image; blocks 1 and 2: its new children, full
 * images.
 */
typedef struct xl_zs_btree_split
{
	uint64		splitkey;		/* 0 */
	BlockNumber right;			/* 8: block number of the right page */
	uint16		flags;			/* 12: ZS_SPLITF_* */
} xl_zs_btree_split;

#define SizeOfZsBtreeSplit		(offsetof(xl_zs_btree_split, flags) + sizeof(uint16))
#define ZS_SPLITF_ROOT			0x0001
#define ZS_SPLITF_LEFT_KEPT		0x0002

/*
 * XLOG_ZS_BTREE_INNER: an item enters an inner page, or changes its flags.
 * Block 0: inner page.  Block 1 (insert): left child, whose
 * ZS_PAGEF_INCOMPLETE_SPLIT is cleared.
 */
typedef struct xl_zs_btree_inner
{
	ZsInnerItem item;			/* 0 */
	uint16		index;			/* 16: position in the array */
	uint8		op;				/* 18: ZS_INNER_* */
} xl_zs_btree_inner;

#define SizeOfZsBtreeInner		(offsetof(xl_zs_btree_inner, op) + sizeof(uint8))
#define ZS_INNER_INSERT			1
#define ZS_INNER_FLAGS			2

/*
 * XLOG_ZS_BTREE_MERGE: a page takes over what its right sibling holds.
 * Block 0: left page, full image.  Block 1: right page, which becomes a free
 * page (made anew).  Block 2: their parent, which loses the right one's item.
 *
 * With ZS_MERGEF_MOVE a page moves to another block.  Block 0: the new place, full image.  Block 1:
 * the old place, which becomes a free page (made anew).  Block 2: the parent, whose item leads to
 * the new place.  Block 3, unless the page is the first of its level: the left sibling, whose right
 * link does.
 */
typedef struct xl_zs_btree_merge
{
	uint32		left_flags;		/* 0: flags of the left page's item */
	uint16		index;			/* 4: of the right page's item, or the moved page's */
	uint16		treeno;			/* 6 */
	uint8		level;			/* 8: of the merged pages */
	uint8		flags;			/* 9: ZS_MERGEF_* */
} xl_zs_btree_merge;

#define SizeOfZsBtreeMerge		(offsetof(xl_zs_btree_merge, flags) + sizeof(uint8))
#define ZS_MERGEF_MOVE			0x01

/* ---- tid -------------------------------------------------------------------- */

/*
 * XLOG_ZS_TID_CHANGE: rows of one leaf get another history.
 * Block 0: TID leaf.  Block 1 (ZS_TIDF_VM_*): visibility map page, whose bits
 * for the logical blocks of these rows are cleared.
 *
 * The fixed part is followed by what the flags and the operation announce, in
 * this order; integers marked v are varints (tid_record.c):
 *	  ZS_TIDF_COUNT: v row count - 1; otherwise the change is about one row
 *	  ZS_TIDF_XID: TransactionId; otherwise the record's own transaction
 *	  INSERT: v cmin; with ZS_TIDF_TOKEN: v speculative token
 *	  XMAX, LOCK: uint8 infobits (ZS_TIDX_*); XMAX: v cmax;
 *		with ZS_TIDX_UPDATED: v successor - row, zigzag
 *	  ASSIGN: ZsVisSlot
 */
typedef struct xl_zs_tid_change
{
	uint32		row_low;		/* 0: first row, lower 32 bits */
	uint8		row_high;		/* 4: upper 8 bits */
	uint8		op;				/* 5: ZS_TID_* */
	uint8		flags;			/* 6: ZS_TIDF_* */
} xl_zs_tid_change;

#define SizeOfZsTidChange		(offsetof(xl_zs_tid_change, flags) + sizeof(uint8))

#define ZS_TID_INSERT			1	/* unused rows become rows of a transaction */
#define ZS_TID_XMAX				2	/* a row is updated or deleted */
#define ZS_TID_LOCK				3	/* a row is locked */
#define ZS_TID_CONFIRM			4	/* a speculative insertion is confirmed */
#define ZS_TID_KILL				5	/* rows die at once */
#define ZS_TID_RELEASE			6	/* rows that were never filled become unused */
#define ZS_TID_REMOVE_DEAD		7	/* dead rows of the range are retired */
#define ZS_TID_ASSIGN			8	/* a frozen row gets a slot from elsewhere */
#define ZS_TID_RETIRE			9	/* unused row numbers of the range are retired */

#define ZS_TIDF_COUNT			0x01
#define ZS_TIDF_XID				0x02
#define ZS_TIDF_TOKEN			0x04
#define ZS_TIDF_VM_VISIBLE		0x10	/* clear both bits of each block */
#define ZS_TIDF_VM_FROZEN		0x20	/* clear only the all-frozen bits */

/* what becomes of the infomask bits about xmax, in one byte */
#define ZS_TIDX_IS_MULTI		0x01
#define ZS_TIDX_LOCK_ONLY		0x02
#define ZS_TIDX_EXCL_LOCK		0x04
#define ZS_TIDX_KEYSHR_LOCK		0x08
#define ZS_TIDX_KEYS_UPDATED	0x10
#define ZS_TIDX_UPDATED			0x20
#define ZS_TIDX_MOVED_PARTITION	0x40

/*
 * XLOG_ZS_TID_FOLD: slots of one leaf are settled, by VACUUM or by a writer that
 * needs room.
 * Block 0: TID leaf.
 *
 * Followed by two bits per slot (0 keep, 1 freeze, 2 kill, 3 replace), lowest
 * first, and for each replaced slot a ZsTidFoldSlot.
 */
typedef struct xl_zs_tid_fold
{
	TransactionId horizon;		/* 0: snapshotConflictHorizon */
	uint16		nslots;			/* 4: slots of the leaf before */
	uint8		flags;			/* 6: ZS_TIDFOLDF_* */
} xl_zs_tid_fold;

#define SizeOfZsTidFold			(offsetof(xl_zs_tid_fold, flags) + sizeof(uint8))
#define ZS_TIDFOLDF_CATALOG		0x01	/* conflict with logical slots too */
#define ZS_TIDFOLDF_ALL_FROZEN	0x02	/* sets ZS_PAGEF_ALL_FROZEN */

typedef struct ZsTidFoldSlot
{
	TransactionId xmin;			/* 0 */
	TransactionId xmax;			/* 4 */
	uint16		infomask;		/* 8 */
	uint16		infomask2;		/* 10 */
} ZsTidFoldSlot;

/*
 * XLOG_ZS_TID_VISMAP: visibility map bits are set, or, with ZS_TIDVMF_CLEAR, cleared.
 * Block 0: visibility map page; its data is an array of ZsTidVmRange.
 * Block 1 (ZS_TIDVMF_LEAF): TID leaf that gets ZS_PAGEF_ANY_VISIBLE.
 */
typedef struct xl_zs_tid_vismap
{
	TransactionId horizon;		/* 0: snapshotConflictHorizon */
	uint16		nranges;		/* 4 */
	uint8		flags;			/* 6: ZS_TIDVMF_* */
} xl_zs_tid_vismap;

#define SizeOfZsTidVismap		(offsetof(xl_zs_tid_vismap, flags) + sizeof(uint8))
#define ZS_TIDVMF_CATALOG		0x01
#define ZS_TIDVMF_LEAF			0x02
#define ZS_TIDVMF_CLEAR			0x04

typedef struct ZsTidVmRange
{
	BlockNumber first;			/* 0: logical block */
	uint16		nblocks;		/* 4 */
	uint16		bits;			/* 6: VISIBILITYMAP_ALL_* */
} ZsTidVmRange;

/* ---- row -------------------------------------------------------------------- */

/*
 * XLOG_ZS_ROW_INSERT: neighbouring items enter a row leaf.
 * Block 0: row leaf; its data is the items, back to back, each MinimalTuple
 * as long as its t_len says.
 */
typedef struct xl_zs_row_insert
{
	uint16		offset;			/* 0: offset number of the first new item */
	uint16		nitems;			/* 2 */
} xl_zs_row_insert;

#define SizeOfZsRowInsert		sizeof(xl_zs_row_insert)

/*
 * XLOG_ZS_ROW_DELETE: neighbouring items leave a row leaf.
 * Block 0: row leaf.
 */
typedef struct xl_zs_row_delete
{
	uint16		offset;			/* 0: offset number of the first item */
	uint16		nitems;			/* 2 */
} xl_zs_row_delete;

#define SizeOfZsRowDelete		sizeof(xl_zs_row_delete)

/* ---- attr ------------------------------------------------------------------- */

/*
 * XLOG_ZS_ATTR_SHARE: one row more has a pointer to an overflow value, or one less of several.
 * Block 0: first page of the value.
 */
typedef struct xl_zs_attr_share
{
	int8		change;			/* 0: 1 or -1 */
} xl_zs_attr_share;

#define SizeOfZsAttrShare		sizeof(xl_zs_attr_share)

/*
 * XLOG_ZS_ATTR_REPLACE: neighbouring items of a segment index page (or none of them, when a new one
 * enters between two) give way to others, or to none.  Block 0: segment index page; its data is the
 * new ZsSegmentItems.
 */
typedef struct xl_zs_attr_replace
{
	uint16		index;			/* 0: of the first item */
	uint16		nold;			/* 2: items that go, may be 0 */
} xl_zs_attr_replace;

#define SizeOfZsAttrReplace		sizeof(xl_zs_attr_replace)

/* ---- logical decoding ------------------------------------------------------ */

/*
 * XLOG_ZS_LOGICAL: a change of rows as logical decoding tells it.  No block references.  Behind
 * the fixed part stand images, together raw_len bytes, which ZS_LOGICALF_LZ4 says are compressed:
 * nrows new ones (INSERT), the new and perhaps the old one (UPDATE), perhaps the old one
 * (DELETE).
 */
typedef struct xl_zs_logical
{
	RelFileLocator locator;		/* 0 */
	uint32		raw_len;		/* 12 */
	uint16		nrows;			/* 16: images */
	uint8		op;				/* 18: ZS_LOGICAL_* */
	uint8		flags;			/* 19: ZS_LOGICALF_* */
} xl_zs_logical;

#define SizeOfZsLogical			(offsetof(xl_zs_logical, flags) + sizeof(uint8))

#define ZS_LOGICAL_INSERT		1
#define ZS_LOGICAL_UPDATE		2
#define ZS_LOGICAL_DELETE		3

#define ZS_LOGICALF_OLD_KEY		0x01	/* the last image: columns of the replica identity,
										 * NULL elsewhere */
#define ZS_LOGICALF_OLD_ROW		0x02	/* the last image: the whole old row */
#define ZS_LOGICALF_LZ4			0x04

/*
 * One image, not aligned: a heap tuple without the transaction part of its header.
 * Followed by len bytes, from the tuple's t_bits on.
 */
typedef struct xl_zs_logical_row
{
	uint32		len;			/* 0 */
	uint16		infomask2;		/* 4 */
	uint16		infomask;		/* 6 */
	uint8		hoff;			/* 8 */
} xl_zs_logical_row;

#define SizeOfZsLogicalRow		(offsetof(xl_zs_logical_row, hoff) + sizeof(uint8))

/* ---- write ------------------------------------------------------------------ */

/*
 * XLOG_ZS_WRITE_ROW: one row of the record's transaction, in all trees that hold it; by INSERT, or
 * with ZS_WRITEF_UPDATE as the new version of a row that gets its xmax.
 * Block 0: row leaf; its data is xl_zs_row_single and the row.
 * Block 1: TID leaf of the row.
 * Block 2 (ZS_WRITEF_OTHER_LEAF): TID leaf of the old version, if it is another one.
 * Block 3 (ZS_WRITEF_VM): visibility map page of the old version, whose bits are cleared.
 *
 * Behind the fixed part, integers marked v being varints (tid_record.c): v command id; with
 * ZS_WRITEF_TOKEN v speculative token; with ZS_WRITEF_UPDATE uint8 infobits (ZS_TIDX_*) of
 * the old version, v new row - old row, zigzag.
 */
typedef struct xl_zs_write_row
{
	uint32		row_low;		/* 0: row number, lower 32 bits */
	uint8		row_high;		/* 4: upper 8 bits */
	uint8		flags;			/* 5: ZS_WRITEF_* */
} xl_zs_write_row;

#define SizeOfZsWriteRow		(offsetof(xl_zs_write_row, flags) + sizeof(uint8))
#define ZS_WRITEF_UPDATE		0x01
#define ZS_WRITEF_OTHER_LEAF	0x02
#define ZS_WRITEF_VM			0x04
#define ZS_WRITEF_TOKEN			0x08

/*
 * The row of XLOG_ZS_WRITE_ROW: followed by its null bitmap, if it has one, and the values.  What
 * else stands in the item's header follows from these.
 */
typedef struct xl_zs_row_single
{
	uint16		offset;			/* 0: offset number */
	uint16		infomask2;		/* 2 */
	uint16		infomask;		/* 4 */
} xl_zs_row_single;

#define SizeOfZsRowSingle		sizeof(xl_zs_row_single)

#endif							/* ZS_WALREC_H */
