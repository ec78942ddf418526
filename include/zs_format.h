/*-------------------------------------------------------------------------
 *
 * zs_format.h
 *	  Every byte that zedstore puts on disk.
 *
 * A zedstore table lives in the main fork of its relation, in ordinary 8 kB
 * pages with PostgreSQL's page header.  Each page identifies itself in its
 * special space (ZsPageOpaque), so that a reader that followed a stale
 * pointer notices and starts again from the root, and so that zs_check() can
 * verify the file without trusting any pointer.
 *
 * Two forks beside the main fork: the visibility map, in core's own page
 * format but indexed by *logical* block (row number / 256), and the init fork
 * of unlogged tables (one empty metapage).
 *
 * All integers are in the machine's byte order, as everywhere in PostgreSQL.
 * Zero is never a valid pointer to a page (block 0 is the metapage), so that a
 * zeroed directory entry means "this tree is empty".
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_format.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_FORMAT_H
#define ZS_FORMAT_H

#include "postgres.h"

#include "access/sysattr.h"
#include "storage/block.h"
#include "storage/bufpage.h"
#include "storage/itemptr.h"

/* ---- row numbers ------------------------------------------------------- */

/*
 * A row number is the tuple's logical identity: 40 bits, counted from 0.  The
 * TID of row r is (r >> 8, (r & 255) + 1): 256 offsets stay below
 * MaxHeapTuplesPerPage, which bitmaps, GIN and the executor assume.
 */
typedef uint64 zstid;

#define ZS_ROW_BITS				40
#define ZS_INVALID_ROW			UINT64_MAX
/* one past the largest row number; block 0xFFFFFFFF is InvalidBlockNumber */
#define ZS_MAX_ROW				((UINT64CONST(1) << ZS_ROW_BITS) - 256)
#define ZS_ROWS_PER_BLOCK		256
/* aligned group of rows that one vector holds */
#define ZS_STRIPE_ROWS			1024
/* rows of a segment at most; ZS_SEGMENT_ROWS of zs_codec.h */
#define ZS_MAX_SEGMENT_ROWS		(64 * ZS_STRIPE_ROWS)

/* ---- trees ------------------------------------------------------------- */

/*
 * Trees are numbered: 0 stands for the table itself (it has a free page map
 * but no pages), 1 is the TID tree, 2 the row tree, attribute k is 2 + k.  Behind
 * those of MaxHeapAttributeNumber attributes comes that of the system column xmin,
 * which is an attribute tree like these (ZS_XMIN_ATTNO).
 */
#define ZS_TREE_TABLE			0
#define ZS_TREE_TID				1
#define ZS_TREE_ROW				2
#define ZS_TREE_XMIN			(1600 + 3)
#define ZS_MAX_TREES			(1600 + 4)
#define ZS_XMIN_ATTNO			MinTransactionIdAttributeNumber
#define ZsTreeOfAttr(attno) \
	((uint16) ((attno) == ZS_XMIN_ATTNO ? ZS_TREE_XMIN : (attno) + 2))
/* of trees of attributes */
#define ZsAttrOfTree(treeno) \
	((treeno) == ZS_TREE_XMIN ? ZS_XMIN_ATTNO : (int) (treeno) - 2)

/* ---- page identity ----------------------------------------------------- */

#define ZS_PAGE_ID				0xF2ED	/* last two bytes of every page */

/*
 * The version of a table's format stands on its metapage.  Tables of version 4 keep the xmin of
 * their frozen rows (ZS_KEEPS_XMIN); in all else pages are as in version 3, and say so.
 */
#define ZS_FORMAT_VERSION		4
#define ZS_FORMAT_VERSION_MIN	3
#define ZS_PAGE_VERSION			3
#define ZS_KEEPS_XMIN(version)	((version) >= 4)

typedef enum ZsPageType
{
	ZS_PAGE_INVALID = 0,
	ZS_PAGE_META,				/* block 0 */
	ZS_PAGE_DIRECTORY,			/* continuation of the tree directory */
	ZS_PAGE_FPM,				/* extents that do not fit the directory */
	ZS_PAGE_INNER,				/* B-tree page above the bottom level */
	ZS_PAGE_TID_LEAF,			/* bottom of the TID tree, level 0 */
	ZS_PAGE_ROW_LEAF,			/* bottom of the row tree, level 0 */
	ZS_PAGE_SEGMENT_INDEX,		/* bottom of an attribute's B-tree, level 1 */
	ZS_PAGE_SEGMENT,			/* vectors, level 0 of an attribute tree */
	ZS_PAGE_OVERFLOW,			/* part of one large value, level 0 */
	ZS_PAGE_FREE,				/* was a tree or FPM page and is none any more:
								 * whoever comes here followed a stale pointer */
} ZsPageType;

/* ZsPageOpaque.flags */
#define ZS_PAGEF_ROOT			0x0001	/* root of its tree */
#define ZS_PAGEF_INCOMPLETE_SPLIT 0x0002	/* right sibling has no downlink yet */
#define ZS_PAGEF_ALL_FROZEN		0x0004	/* TID leaf: nothing to freeze or remove */
#define ZS_PAGEF_ANY_VISIBLE	0x0008	/* TID leaf: some logical block of its
										 * range may have visibility map bits */

/*
 * Special space of every page, the metapage included.
 */
typedef struct ZsPageOpaque
{
	uint64		lokey;			/* 0: first row number that the page covers;
								 * first page of an overflow value: how many
								 * pointers beyond one lead to it */
	uint64		hikey;			/* 8: one past the last, PG_UINT64_MAX for the
								 * rightmost page of a level */
	BlockNumber right;			/* 16: next page of the level in key order, 0
								 * at the end; segment and overflow pages:
								 * next page of the same run */
	uint32		position;		/* 20: position within the run of a segment or
								 * an overflow value, from 0 */
	uint32		stamp;			/* 24: equal on all pages of one segment or
								 * overflow value, and in the entry that
								 * points to it; random */
	uint16		treeno;			/* 28 */
	uint16		flags;			/* 30: ZS_PAGEF_* */
	uint8		page_type;		/* 32: ZsPageType */
	uint8		level;			/* 33 */
	uint16		version;		/* 34: ZS_PAGE_VERSION */
	uint16		unused;			/* 36: zero */
	uint16		page_id;		/* 38: ZS_PAGE_ID */
} ZsPageOpaque;

StaticAssertDecl(sizeof(ZsPageOpaque) == 40, "on-disk size of ZsPageOpaque");

/*
 * PageGetSpecialPointer() would assert on a page that is not ours, and the
 * identity is what tells.
 */
#define ZsPageGetOpaque(page) \
	((ZsPageOpaque *) ((char *) (page) + BLCKSZ - sizeof(ZsPageOpaque)))

/* Bytes between page header and special space. */
#define ZS_PAGE_CAPACITY \
	(BLCKSZ - MAXALIGN(SizeOfPageHeaderData) - sizeof(ZsPageOpaque))

/* ---- metapage and tree directory ---------------------------------------- */

#define ZS_META_BLKNO			0
#define ZS_META_MAGIC			0x5A454453

/* A run of adjacent blocks. */
typedef struct ZsExtent
{
	BlockNumber start;
	uint32		length;
} ZsExtent;

#define ZS_ENTRY_EXTENTS		12

/*
 * One tree.  The free page map keeps its extents sorted by start, neighbours
 * merged; the lowest ones stand here, further ones on FPM pages (all of them
 * above the ones here).
 */
typedef struct ZsTreeEntry
{
	BlockNumber root;			/* 0: only VACUUM moves it; 0 = tree is
								 * empty */
	uint32		nblocks;		/* 4: blocks that the tree owns, free or not */
	uint32		nfree;			/* 8: of these, blocks in the free page map */
	BlockNumber chain;			/* 12: first FPM page, 0 = none */
	uint32		chain_maxlen;	/* 16: upper bound of the extent lengths on FPM
								 * pages */
	uint16		nextents;		/* 20: extents in use below */
	uint16		flags;			/* 22: zero */
	uint64		unused;			/* 24: zero */
	ZsExtent	extents[ZS_ENTRY_EXTENTS];	/* 32 */
} ZsTreeEntry;

StaticAssertDecl(sizeof(ZsTreeEntry) == 128, "on-disk size of ZsTreeEntry");

#define ZS_INSERT_CURSORS		8
#define ZS_MAX_DIRECTORY_PAGES	32
#define ZS_META_ENTRIES			60
#define ZS_DIRECTORY_ENTRIES	63

/*
 * Contents of block 0.  Tree t < ZS_META_ENTRIES stands here, and that of xmin; the others on
 * the directory pages in order.
 */
typedef struct ZsMetaPageData
{
	uint32		magic;			/* 0: ZS_META_MAGIC */
	uint16		version;		/* 4: ZS_FORMAT_VERSION when the file was made */
	uint16		flags;			/* 6: zero */
	uint64		next_row;		/* 8: first row number never handed out */
	uint64		cursors[ZS_INSERT_CURSORS]; /* 16: first row of the stripes
											 * that small inserts fill;
											 * ZS_INVALID_ROW = none */
	BlockNumber file_blocks;	/* 80: blocks known to the free page maps; what
								 * the file has beyond is unused */
	uint32		ndirectory;		/* 84: directory pages in use */
	BlockNumber directory[ZS_MAX_DIRECTORY_PAGES];	/* 88 */
	uint64		unused[4];		/* 216: zero */
	ZsTreeEntry entries[ZS_META_ENTRIES];	/* 248 */
	ZsTreeEntry xmin_entry;		/* 7928: ZS_TREE_XMIN; not there in version 3 */
} ZsMetaPageData;

StaticAssertDecl(sizeof(ZsMetaPageData) == 248 + (ZS_META_ENTRIES + 1) * 128,
				 "on-disk size of ZsMetaPageData");
StaticAssertDecl(sizeof(ZsMetaPageData) <= BLCKSZ - 24 - 40,
				 "metapage fits into a page");

/* Contents of a directory continuation page. */
typedef struct ZsDirectoryPageData
{
	ZsTreeEntry entries[ZS_DIRECTORY_ENTRIES];
} ZsDirectoryPageData;

StaticAssertDecl(ZS_META_ENTRIES + ZS_MAX_DIRECTORY_PAGES * ZS_DIRECTORY_ENTRIES >= ZS_TREE_XMIN,
				 "directory holds every tree");

/*
 * Contents of an FPM page: extents sorted by start, pd_lower ends them.
 */
#define ZS_FPM_PAGE_EXTENTS		(ZS_PAGE_CAPACITY / sizeof(ZsExtent))

/* ---- inner pages -------------------------------------------------------- */

/*
 * Item of an inner page (any tree), sorted by lokey; pd_lower ends the array.
 * The first item's lokey equals the page's lokey.
 */
typedef struct ZsInnerItem
{
	uint64		lokey;			/* 0 */
	BlockNumber child;			/* 8 */
	uint32		flags;			/* 12: ZS_INNERF_* */
} ZsInnerItem;

StaticAssertDecl(sizeof(ZsInnerItem) == 16, "on-disk size of ZsInnerItem");

#define ZS_INNERF_ALL_FROZEN	0x0001	/* TID tree: child holds only slots 0,
										 * 2 and 3; a hint that is cleared before
										 * the child changes */

#define ZS_INNER_CAPACITY		(ZS_PAGE_CAPACITY / sizeof(ZsInnerItem))

/* ---- attribute trees ---------------------------------------------------- */

/*
 * Item of a segment index page (bottom of an attribute's B-tree), sorted by
 * first_row, never overlapping; pd_lower ends the array.
 *
 * zone_min and zone_max are in the order-preserving int64 domain of
 * zs_codec.h; valid only with ZS_SEGF_ZONE_MAP.
 */
typedef struct ZsSegmentItem
{
	uint64		first_row;		/* 0 */
	int64		zone_min;		/* 8 */
	int64		zone_max;		/* 16 */
	uint32		nrows;			/* 24: row numbers covered, 1..65536 */
	uint32		nnulls;			/* 28 */
	BlockNumber start;			/* 32: first block of the run; UNIFORM: 0 */
	uint32		nblocks;		/* 36; UNIFORM: 0 */
	uint32		stamp;			/* 40: ZsPageOpaque.stamp of its pages; UNIFORM: bytes 0 to 3 of
								 * the body */
	uint32		flags;			/* 44: ZS_SEGF_* */
	uint32		payload_size;	/* 48: bytes of payload on the run */
	uint32		raw_size;		/* 52: bytes before encoding, capped */
	uint32		nholes;			/* 56: rows of nnulls that did not exist when it
								 * was written */
	uint32		unused;			/* 60: zero; UNIFORM: bytes 4 to 7 of the body */
} ZsSegmentItem;

StaticAssertDecl(sizeof(ZsSegmentItem) == 64, "on-disk size of ZsSegmentItem");

#define ZS_SEGF_ZONE_MAP		0x0001	/* zone_min, zone_max are valid */
#define ZS_SEGF_HAS_NULLS		0x0002
#define ZS_SEGF_HAS_OVERFLOW	0x0004	/* some values are overflow pointers */
#define ZS_SEGF_UNSIGNED		0x0008	/* the zone map is that of an unsigned type */

/*
 * All rows have one value, or all are null: the segment has no pages, its payload follows from the
 * item (ZsUniform of zs_codec.h).  Then flags say besides: the bytes of a vector (0 to 8), the
 * kind of values (ZsValueKind), the width of integers (0 to 3: 1, 2, 4, 8 bytes).
 */
#define ZS_SEGF_UNIFORM			0x0010
#define ZS_SEGF_BODY_SHIFT		5
#define ZS_SEGF_BODY_MASK		0x01E0
#define ZS_SEGF_KIND_SHIFT		9
#define ZS_SEGF_KIND_MASK		0x0E00
#define ZS_SEGF_WIDTH_SHIFT		12
#define ZS_SEGF_WIDTH_MASK		0x3000
#define ZS_SEGF_UNIFORM_MASK \
	(ZS_SEGF_UNIFORM | ZS_SEGF_BODY_MASK | ZS_SEGF_KIND_MASK | ZS_SEGF_WIDTH_MASK)

/*
 * Upper half of flags: how many attributes the rows have at least; if the
 * segment was written by their inserter, as many as the table had.
 */
#define ZsSegmentFlagsNatts(flags)	((int) ((flags) >> 16))
#define ZsSegmentNattsFlags(natts)	((uint32) (natts) << 16)

#define ZS_SEGMENT_INDEX_CAPACITY (ZS_PAGE_CAPACITY / sizeof(ZsSegmentItem))

/*
 * Segment and overflow pages carry plain payload bytes between page header
 * and special space, ZS_PAGE_CAPACITY on all pages of a run but the last;
 * pd_lower ends them.
 */

/*
 * Stands in a row or a vector for a value that is too large for it.  Written
 * into row-tree tuples as an external varlena with va_tag VARTAG_ONDISK whose
 * 16 bytes are this struct; no TOAST table is ever involved.
 */
typedef struct ZsOverflowPointer
{
	BlockNumber start;			/* 0: first block of the run */
	uint32		stamp;			/* 4: ZsPageOpaque.stamp of its pages */
	uint32		raw_size;		/* 8: payload bytes of the value, without
								 * varlena header */
	uint32		stored_size;	/* 12: bytes on the pages; the top two bits
								 * name the compression, ZS_OVERFLOW_* */
} ZsOverflowPointer;

StaticAssertDecl(sizeof(ZsOverflowPointer) == 16, "on-disk size of ZsOverflowPointer");

/* in an item of the row tree: behind the header and the tag of an external varlena */
#define ZS_OVERFLOW_DATUM_SIZE	(2 + sizeof(ZsOverflowPointer))

#define ZS_OVERFLOW_SIZE_MASK	0x3FFFFFFF
#define ZS_OVERFLOW_PLAIN		0x00000000
#define ZS_OVERFLOW_LZ4			0x40000000
#define ZS_OVERFLOW_ZSTD		0x80000000

/* ---- TID tree ----------------------------------------------------------- */

/*
 * A visibility slot: one distinct history that many rows may share.  Fields
 * mean what the fields of a heap tuple's header mean; cmin and cmax stand side
 * by side, so there are no combo command ids.
 */
typedef struct ZsVisSlot
{
	TransactionId xmin;			/* 0: FrozenTransactionId when frozen; the row may have its
								 * own (ZS_TREE_XMIN, ZS_ITEM_XMIN) */
	TransactionId xmax;			/* 4: or a MultiXactId; 0 = none */
	CommandId	cmin;			/* 8 */
	CommandId	cmax;			/* 12 */
	int64		successor;		/* 16: UPDATE: new row number of the first of the
								 * slot's rows in the leaf, the next one's is
								 * the next one; speculative insertion: the
								 * token */
	uint16		infomask;		/* 24: HEAP_XMIN_*, HEAP_XMAX_* bits as in
								 * htup_details.h */
	uint16		infomask2;		/* 26: HEAP_KEYS_UPDATED and ZS_VIS2_* */
	uint32		unused;			/* 28: zero */
} ZsVisSlot;

StaticAssertDecl(sizeof(ZsVisSlot) == 32, "on-disk size of ZsVisSlot");

/* infomask2 bits beside core's HEAP_KEYS_UPDATED (0x2000) */
#define ZS_VIS2_UPDATED			0x0001	/* xmax is an UPDATE: successor is valid */
#define ZS_VIS2_MOVED_PARTITION 0x0002	/* the update moved the row away */
#define ZS_VIS2_SPECULATIVE		0x0004	/* successor holds the token */

/* all bits that are in use */
#define ZS_VIS_INFOMASK_BITS \
	(HEAP_XMIN_COMMITTED | HEAP_XMIN_INVALID | HEAP_XMAX_COMMITTED | HEAP_XMAX_INVALID | \
	 HEAP_XMAX_IS_MULTI | HEAP_LOCK_MASK | HEAP_XMAX_LOCK_ONLY | HEAP_UPDATED)
#define ZS_VIS_INFOMASK2_BITS \
	(HEAP_KEYS_UPDATED | ZS_VIS2_UPDATED | ZS_VIS2_MOVED_PARTITION | ZS_VIS2_SPECULATIVE)

/* infomask bits that may be set without WAL */
#define ZS_VIS_HINT_BITS \
	(HEAP_XMIN_COMMITTED | HEAP_XMIN_INVALID | HEAP_XMAX_COMMITTED | HEAP_XMAX_INVALID)

/* slot numbers with a fixed meaning; others index the leaf's slot table */
#define ZS_SLOT_FROZEN			0	/* visible to everyone */
#define ZS_SLOT_DEAD			1	/* removed, index entries may remain */
#define ZS_SLOT_UNUSED			2	/* no row here, may be handed out */
#define ZS_SLOT_RETIRED			3	/* no row here, and there never will be one */
#define ZS_FIRST_REAL_SLOT		4

/*
 * TID leaf: behind the page header stands ZsTidLeafHeader, then nslots
 * ZsVisSlots, then the run stream of stream_size bytes: runs that together
 * cover [lokey, hikey) except for a
 * tail of unused rows, which is not stored (an empty leaf has pd_lower right
 * behind the page header and no ZsTidLeafHeader).  pd_lower ends the stream.
 * Neighbouring runs differ in their slot.  Every slot is used by some run.
 *
 * A run with a fixed slot number is a byte 0cccccss: s the slot number, c the length - 1; with c =
 * 31 a varint follows, the length - 32.  Other runs are a byte 1sssssss, s the slot number -
 * ZS_FIRST_REAL_SLOT; with s = 127 a varint follows, the slot number - ZS_FIRST_REAL_SLOT - 127;
 * then a varint, the length.  Varints have the low seven bits first, the top bit says that more
 * bytes follow.
 */
#define ZS_RUN_REAL				0x80
#define ZS_RUN_LONG				31	/* c of lengths from 32 on */
#define ZS_RUN_FAR				127 /* s of slot numbers from ZS_FIRST_REAL_SLOT + 127 on */

#define ZS_TID_MARKS	16

typedef struct ZsTidLeafHeader
{
	uint16		nslots;			/* 0 */
	uint16		stream_size;	/* 2: bytes */
	uint32		nruns;			/* 4 */

	/*
	 * Marks, in ascending order: the run at mark_offset of the stream begins with row lokey +
	 * mark_row.  The first offset 0 ends them.
	 */
	uint32		mark_row[ZS_TID_MARKS]; /* 8 */
	uint16		mark_offset[ZS_TID_MARKS];	/* 72 */
} ZsTidLeafHeader;

StaticAssertDecl(sizeof(ZsTidLeafHeader) == 104, "on-disk size of ZsTidLeafHeader");

/* ---- row tree ----------------------------------------------------------- */

/*
 * Row leaf: core's line pointer array (PageAddItemExtended), sorted by row
 * number, every line pointer LP_NORMAL.  An item is core's MinimalTuple; its
 * six padding bytes (mt_padding), which core leaves zero, hold the row number,
 * low byte first.  Values too large for an item are external varlenas with a
 * ZsOverflowPointer.  With ZS_ITEM_XMIN in t_infomask, a bit of which minimal tuples make no use,
 * the last four bytes of the item are no value but the id of the transaction that wrote the row.
 */
#define ZS_ITEM_XMIN			HEAP_XMIN_COMMITTED

/* largest item that a row leaf takes: four to a page */
#define ZS_ROW_MAX_ITEM \
	((ZS_PAGE_CAPACITY - 4 * sizeof(ItemIdData)) / 4 / MAXIMUM_ALIGNOF * MAXIMUM_ALIGNOF)

#endif							/* ZS_FORMAT_H */
