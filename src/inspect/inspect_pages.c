/*-------------------------------------------------------------------------
 *
 * inspect_pages.c
 *	  pg_zs_btree_pages: one row for each page of each tree.
 *
 * The columns are those of the function of the same name in the Zedstore
 * prototype of 2020, so queries written for that still run.  What they mean here:
 *
 *	  attno				0 the TID tree, -1 the row tree, k attribute k
 *	  level				0 for leaves and for the pages of segments, 1 and up for
 *						the pages that lead there
 *	  nextblk			next page of the level in key order; 4294967295 at the end.
 *						Within a segment that is the next block of its run, behind
 *						its last page the first one of the next segment.
 *	  lokey, hikey		row numbers; all pages of a segment have the segment's
 *	  nitems			inner pages: downlinks; index pages: segments; TID leaves: runs;
 *						row leaves: rows; segment pages: rows of the vectors that
 *						begin on the page
 *	  ncompressed		of these vectors, how many are compressed by LZ4 or zstd
 *	  totalsz			bytes of contents, 0 for pages that only lead to others
 *	  uncompressedsz	the page's share of the bytes before encoding
 *
 * Only the first page of a segment is read; the rest is known from the
 * segment's item and its vector directory.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/inspect_pages.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"

#include "inspect_internal.h"
#include "zs_attr.h"
#include "zs_btree.h"
#include "zs_page.h"
#include "zs_row.h"
#include "zs_tid.h"

PG_FUNCTION_INFO_V1(pg_zs_btree_pages);

typedef struct PageList
{
	ReturnSetInfo *rsinfo;
	uint16		treeno;
	ZsSegmentItem pending;		/* segment whose successor is not known yet; nblocks
								 * 0 = none */
} PageList;

/* One row of the result. */
typedef struct PageRow
{
	BlockNumber blkno;
	int64		nextblk;
	int			level;
	uint64		lokey;
	uint64		hikey;
	int			nitems;
	int			ncompressed;
	int			totalsz;
	int			uncompressedsz;
	int			freespace;
} PageRow;

#define PAGE_COLUMNS	11

static void
put_page(PageList *list, const PageRow *row)
{
	Datum		values[PAGE_COLUMNS];
	bool		nulls[PAGE_COLUMNS] = {0};

	Assert(row->level >= 0 && row->totalsz >= 0 && row->freespace >= 0);
	values[0] = Int64GetDatum(row->blkno);
	values[1] = Int64GetDatum(row->nextblk);
	values[2] = zsinspect_tree_attno(list->treeno, &nulls[2]);
	values[3] = Int32GetDatum(row->level);
	values[4] = Int64GetDatum(zsinspect_shown_key(row->lokey));
	values[5] = Int64GetDatum(zsinspect_shown_key(row->hikey));
	values[6] = Int32GetDatum(row->nitems);
	values[7] = Int32GetDatum(row->ncompressed);
	values[8] = Int32GetDatum(row->totalsz);
	values[9] = Int32GetDatum(row->uncompressedsz);
	values[10] = Int32GetDatum(row->freespace);
	zsinspect_put(list->rsinfo, values, nulls);
}

/* ---- segments ----------------------------------------------------------------- */

/* Counts the vectors that begin on each page of the segment. */
static void
count_vectors(const ZsSegmentInfo *info, const ZsSegmentItem *item, PageRow *rows)
{
	Assert(item->nblocks > 0);
	for (uint32 v = 0; v < info->nvectors; v++)
	{
		const ZsVectorInfo *vector = &info->vectors[v];
		uint32		position = Min(vector->off / ZS_PAGE_CAPACITY, item->nblocks - 1);

		rows[position].nitems += vector->nrows;
		if (vector->compression != ZS_COMPRESSION_NONE)
			rows[position].ncompressed++;
	}
}

/*
 * Rows for the pages of the pending segment; next is the block that follows it
 * in key order, 0 at the end.
 */
static void
put_pending(Relation rel, PageList *list, BlockNumber next)
{
	ZsSegmentItem *item = &list->pending;
	AttrNumber	attno = (AttrNumber) ZsAttrOfTree(list->treeno);
	uint32		headlen = Min(item->payload_size, (uint32) ZS_SEGMENT_HEAD_MAX);
	uint8		head[ZS_SEGMENT_HEAD_MAX];
	ZsSegmentInfo info;
	PageRow    *rows;

	if (item->nblocks == 0)
		return;

	rows = palloc0(item->nblocks * sizeof(PageRow));
	if (!zsattr_read_payload(rel, attno, item, 0, headlen, head))
		rows[0].nitems = item->nrows;	/* replaced meanwhile */
	else
	{
		const char *reason;

		zsattr_refuse_newer(rel, head, headlen);
		reason = zscodec_segment_open(head, headlen, &info);
		if (reason != NULL)
			zsbase_corrupted(rel, item->start,
							 "Segment of attribute %d at row " UINT64_FORMAT ": %s.",
							 attno, item->first_row, reason);
		count_vectors(&info, item, rows);
	}

	for (uint32 position = 0; position < item->nblocks; position++)
	{
		PageRow    *row = &rows[position];
		uint64		begin = (uint64) position * ZS_PAGE_CAPACITY;
		uint64		end = Min(begin + ZS_PAGE_CAPACITY, item->payload_size);
		uint64		share = item->raw_size * end / item->payload_size -
			item->raw_size * begin / item->payload_size;

		Assert(begin < end);
		row->blkno = item->start + position;
		row->nextblk = position + 1 < item->nblocks ? (int64) row->blkno + 1 :
			zsinspect_shown_block(next);
		row->lokey = item->first_row;
		row->hikey = item->first_row + item->nrows;
		row->totalsz = (int) (end - begin);
		row->uncompressedsz = (int) Min(share, (uint64) PG_INT32_MAX);
		row->freespace = (int) (ZS_PAGE_CAPACITY - (end - begin));
		put_page(list, row);
	}
	pfree(rows);
	item->nblocks = 0;
}

static void
put_segments(Relation rel, BlockNumber blkno, Page page, PageList *list)
{
	const ZsSegmentItem *items = zsattr_index_items(page);
	const char *reason = zsattr_index_page_check(page);
	int			nitems;

	if (reason != NULL)
		zsbase_corrupted(rel, blkno, "Segment index page of attribute %d: %s.",
						 ZsAttrOfTree(list->treeno), reason);
	nitems = zsattr_index_count(page);
	for (int i = 0; i < nitems; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (zsattr_item_is_uniform(&items[i]))
			continue;
		put_pending(rel, list, items[i].start);
		list->pending = items[i];
	}
}

/* ---- other pages ---------------------------------------------------------------- */

/* Runs of a TID leaf, and the bytes that they and their slots take. */
static void
measure_tid_leaf(Relation rel, BlockNumber blkno, Page page, PageRow *row)
{
	ZsVisSlot  *slots;
	ZsTidRun   *runs;
	int			nslots;
	const char *reason = zstid_leaf_unpack(page, &nslots, &slots, &row->nitems, &runs, NULL);

	if (reason != NULL)
		zsbase_corrupted(rel, blkno, "TID tree leaf: %s.", reason);
	pfree(slots);
	pfree(runs);
	row->totalsz = row->uncompressedsz =
		Max(((PageHeader) page)->pd_lower, (int) MAXALIGN(SizeOfPageHeaderData)) -
		(int) MAXALIGN(SizeOfPageHeaderData);
}

static void
measure_row_leaf(Relation rel, BlockNumber blkno, Page page, PageRow *row)
{
	const char *reason = zsrow_leaf_check(page);

	if (reason != NULL)
		zsbase_corrupted(rel, blkno, "Row tree leaf: %s.", reason);
	row->nitems = PageGetMaxOffsetNumber(page);
	for (OffsetNumber offset = FirstOffsetNumber; offset <= row->nitems; offset++)
		row->totalsz += ItemIdGetLength(PageGetItemId(page, offset));
	row->uncompressedsz = row->totalsz;
}

/* Callback of zsbtree_visit_pages(). */
static void
visit_page(Relation rel, BlockNumber blkno, Page copy, void *arg)
{
	PageList   *list = arg;
	PageHeader	phdr = (PageHeader) copy;
	const ZsPageOpaque *opaque = ZsPageGetOpaque(copy);
	PageRow		row = {
		.blkno = blkno,
		.nextblk = zsinspect_shown_block(opaque->right),
		.level = opaque->level,
		.lokey = opaque->lokey,
		.hikey = opaque->hikey,
		.freespace = phdr->pd_upper - phdr->pd_lower
	};

	CHECK_FOR_INTERRUPTS();
	switch (opaque->page_type)
	{
		case ZS_PAGE_INNER:
			row.nitems = zsbtree_nitems(copy);
			break;
		case ZS_PAGE_TID_LEAF:
			measure_tid_leaf(rel, blkno, copy, &row);
			break;
		case ZS_PAGE_ROW_LEAF:
			measure_row_leaf(rel, blkno, copy, &row);
			break;
		default:
			Assert(opaque->page_type == ZS_PAGE_SEGMENT_INDEX);
			row.nitems = zsattr_index_count(copy);
	}
	put_page(list, &row);
	if (opaque->page_type == ZS_PAGE_SEGMENT_INDEX)
		put_segments(rel, blkno, copy, list);
}

/* pg_zs_btree_pages(regclass): see docs/inspection.md. */
Datum
pg_zs_btree_pages(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	rel = zsinspect_open(PG_GETARG_OID(0), AccessShareLock);
	PageList	list = {.rsinfo = rsinfo};
	int			last = ZsTreeOfAttr(RelationGetNumberOfAttributes(rel));

	zsbase_srf_init(fcinfo, PAGE_COLUMNS);
	for (int treeno = ZS_TREE_TID; treeno <= last; treeno++)
	{
		list.treeno = (uint16) treeno;
		zsbtree_visit_pages(rel, list.treeno, visit_page, &list);
		put_pending(rel, &list, 0);
	}
	list.treeno = ZS_TREE_XMIN;
	zsbtree_visit_pages(rel, list.treeno, visit_page, &list);
	put_pending(rel, &list, 0);

	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}
