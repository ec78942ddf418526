/*-------------------------------------------------------------------------
 *
 * attr_index.c
 *	  Segment index pages: the bottom of an attribute's B-tree.
 *
 * An index page holds an array of ZsSegmentItem, sorted by first row.  Its key
 * range says which first rows belong on it.
 *
 * Invariants:
 *	1. items are sorted by first_row and do not overlap;
 *	2. every item's first_row lies within the page's [lokey, hikey);
 *	3. an item's blocks hold exactly its payload.
 *
 * A segment may reach beyond the page's hikey: pages are split at the first
 * row of some segment, but when that one is unlinked later, a new segment may
 * lie across the old border.  So a search that finds no item at or before its
 * row looks at the page to the left too.  A segment covers 65,536 rows at most,
 * which bounds how far to the left.
 *
 * Locks: one index page at a time; linking and replacing hold it exclusively,
 * for the time of one memmove and one WAL record.
 *
 * WAL: XLOG_ZS_ATTR_REPLACE, and those of zsbtree_split().
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_index.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "attr_internal.h"
#include "zs_btree.h"
#include "zs_compat.h"
#include "zs_walrec.h"

#define ZS_SEGF_KNOWN	(ZS_SEGF_ZONE_MAP | ZS_SEGF_HAS_NULLS | ZS_SEGF_HAS_OVERFLOW | \
						 ZS_SEGF_UNSIGNED)

/* ---- checks ------------------------------------------------------------ */

/* What is wrong with an item of the tree; NULL = nothing. */
static const char *
item_check(uint16 treeno, const ZsSegmentItem *item)
{
	if (item->first_row % ZS_STRIPE_ROWS != 0)
		return "segment does not start at a stripe";
	if (item->nrows == 0 || item->nrows > ZS_SEGMENT_ROWS ||
		item->first_row > ZS_MAX_ROW - item->nrows)
		return "segment's row count is out of range";
	if (item->nnulls > item->nrows ||
		item->nholes > (treeno == ZS_TREE_XMIN ? item->nrows : item->nnulls))
		return "segment has more nulls than rows";
	if (treeno == ZS_TREE_XMIN && item->nnulls > 0)
		return "segment of transaction ids has nulls";
	if (ZsSegmentFlagsNatts(item->flags) < 1 ||
		ZsSegmentFlagsNatts(item->flags) > MaxHeapAttributeNumber)
		return "segment's attribute count is out of range";
	if (zsattr_item_is_uniform(item))
	{
		if ((item->flags & 0xFFFF & ~(ZS_SEGF_KNOWN | ZS_SEGF_UNIFORM_MASK)) != 0)
			return "segment has unknown flags";
		return zsattr_uniform_check(item);
	}
	if (item->payload_size == 0 || item->payload_size > MaxAllocSize ||
		item->nblocks != (item->payload_size + ZS_PAGE_CAPACITY - 1) / ZS_PAGE_CAPACITY)
		return "segment's size does not match its blocks";
	if (item->start == ZS_META_BLKNO || item->start > MaxBlockNumber - item->nblocks)
		return "segment's block number is out of range";
	if ((item->flags & 0xFFFF & ~ZS_SEGF_KNOWN) != 0)
		return "segment has unknown flags";
	if (item->unused != 0)
		return "segment's item has unknown contents";
	return NULL;
}

/* Is pd_lower the end of an array of items?  Its other bounds were verified. */
static bool
count_is_sane(Page page)
{
	return (((PageHeader) page)->pd_lower - MAXALIGN(SizeOfPageHeaderData)) %
		sizeof(ZsSegmentItem) == 0;
}

/* What is wrong with a segment index page that passed zspage_verify(); NULL = nothing. */
const char *
zsattr_index_page_check(Page page)
{
	const ZsPageOpaque *opaque = ZsPageGetOpaque(page);
	const ZsSegmentItem *items = zsattr_index_items(page);
	int			nitems;

	if (!count_is_sane(page))
		return "item array has a broken end";
	nitems = zsattr_index_count(page);
	for (int i = 0; i < nitems; i++)
	{
		const char *reason = item_check(opaque->treeno, &items[i]);

		if (reason != NULL)
			return reason;
		if (items[i].first_row < opaque->lokey || items[i].first_row >= opaque->hikey)
			return "segment starts outside the page's key range";
		if (i > 0 && items[i - 1].first_row + items[i - 1].nrows > items[i].first_row)
			return "segments overlap or are out of order";
	}
	return NULL;
}

/* Errors unless the locked page is sound; before it is changed or copied. */
static void
check_page(Relation rel, AttrNumber attno, BlockNumber blkno, Page page)
{
	const char *reason = zsattr_index_page_check(page);

	if (reason != NULL)
		zsbase_corrupted(rel, blkno, "Segment index page of attribute %d: %s.", attno, reason);
}

/* ---- looking up -------------------------------------------------------- */

/* How many of the items start at or before row. */
int
zsattr_index_position(const ZsSegmentItem *items, int nitems, zstid row)
{
	int			low = 0;
	int			high = nitems;

	while (low < high)
	{
		int			mid = (low + high) / 2;

		if (items[mid].first_row <= row)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * Copies the segment index page that holds row to copy (BLCKSZ bytes) and checks it.  False when
 * the tree is empty.
 */
bool
zsattr_index_copy(Relation rel, AttrNumber attno, zstid row, Page copy)
{
	BlockNumber blkno;
	Buffer		buf;

	buf = zsbtree_search(rel, ZsTreeOfAttr(attno), row, BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buf))
		return false;
	blkno = BufferGetBlockNumber(buf);
	memcpy(copy, BufferGetPage(buf), BLCKSZ);
	UnlockReleaseBuffer(buf);
	check_page(rel, attno, blkno, copy);
	return true;
}

/*
 * Copies item i of the locked page in buf, checked.  Errors release the lock by aborting the
 * transaction.
 */
static void
copy_item(Relation rel, AttrNumber attno, Buffer buf, int i, ZsSegmentItem *item)
{
	const char *reason;

	*item = zsattr_index_items(BufferGetPage(buf))[i];
	reason = item_check(ZsTreeOfAttr(attno), item);
	if (reason != NULL)
		zsbase_corrupted(rel, BufferGetBlockNumber(buf),
						 "Segment index page of attribute %d: %s.", attno, reason);
}

/* Number of items on the locked page in buf. */
static int
checked_count(Relation rel, AttrNumber attno, Buffer buf)
{
	if (!count_is_sane(BufferGetPage(buf)))
		zsbase_corrupted(rel, BufferGetBlockNumber(buf),
						 "Segment index page of attribute %d: %s.", attno,
						 "item array has a broken end");
	return zsattr_index_count(BufferGetPage(buf));
}

/*
 * Last segment that starts at or before row, looking left as far as one that covers row may start.
 */
static bool
find_covering(Relation rel, AttrNumber attno, zstid row, ZsSegmentItem *item)
{
	zstid		key = row;

	for (;;)
	{
		Buffer		buf;
		Page		page;
		zstid		lokey;
		int			position;

		buf = zsbtree_search(rel, ZsTreeOfAttr(attno), key, BUFFER_LOCK_SHARE);
		if (!BufferIsValid(buf))
			return false;
		page = BufferGetPage(buf);
		position = zsattr_index_position(zsattr_index_items(page),
										 checked_count(rel, attno, buf), row);
		if (position > 0)
			copy_item(rel, attno, buf, position - 1, item);
		lokey = ZsPageGetOpaque(page)->lokey;
		UnlockReleaseBuffer(buf);

		if (position > 0)
			return zsattr_item_covers(item, row);
		if (lokey == 0 || row - lokey >= ZS_SEGMENT_ROWS)
			return false;
		CHECK_FOR_INTERRUPTS();
		key = lokey - 1;
	}
}

/* First segment that starts after row. */
static bool
find_next(Relation rel, AttrNumber attno, zstid row, ZsSegmentItem *item)
{
	uint16		treeno = ZsTreeOfAttr(attno);
	Buffer		buf;

	buf = zsbtree_search(rel, treeno, row, BUFFER_LOCK_SHARE);
	while (BufferIsValid(buf))
	{
		Page		page = BufferGetPage(buf);
		int			nitems = checked_count(rel, attno, buf);
		int			position = zsattr_index_position(zsattr_index_items(page), nitems, row);

		if (position < nitems)
		{
			copy_item(rel, attno, buf, position, item);
			UnlockReleaseBuffer(buf);
			return true;
		}
		buf = zsbtree_step_right(rel, treeno, buf, ZsPageGetOpaque(page)->hikey,
								 BUFFER_LOCK_SHARE);
	}
	return false;
}

/*
 * The segment item that covers row, straight from the tree (one descent); false if none.  Also the
 * next one after row when exact is false.
 */
bool
zsattr_find_segment(Relation rel, AttrNumber attno, zstid row, bool exact,
					ZsSegmentItem *item)
{
	if (find_covering(rel, attno, row, item))
		return true;
	return !exact && find_next(rel, attno, row, item);
}

/* ---- linking ----------------------------------------------------------- */

/* Splits the page in buf: its first nleft items stay, rows from splitkey on go to a new page. */
static void
split_page_at(Relation rel, AttrNumber attno, Buffer buf, int nleft, zstid splitkey)
{
	Page		page = BufferGetPage(buf);
	const ZsPageOpaque *opaque = ZsPageGetOpaque(page);
	const ZsSegmentItem *items = zsattr_index_items(page);
	uint16		treeno = ZsTreeOfAttr(attno);
	int			nitems = zsattr_index_count(page);
	PGAlignedBlock left;
	PGAlignedBlock right;

	Assert(zs_buffer_is_exclusive(buf));
	Assert(opaque->lokey < splitkey && splitkey < opaque->hikey);
	Assert(nleft >= 0 && nleft <= nitems);
	zspage_init((Page) left.data, ZS_PAGE_SEGMENT_INDEX, treeno,
				zsbtree_bottom_level(treeno), opaque->lokey, splitkey);
	memcpy(zsattr_index_items((Page) left.data), items, nleft * sizeof(ZsSegmentItem));
	zsattr_index_set_count((Page) left.data, nleft);

	zspage_init((Page) right.data, ZS_PAGE_SEGMENT_INDEX, treeno,
				zsbtree_bottom_level(treeno), splitkey, opaque->hikey);
	memcpy(zsattr_index_items((Page) right.data), items + nleft,
		   (nitems - nleft) * sizeof(ZsSegmentItem));
	zsattr_index_set_count((Page) right.data, nitems - nleft);

	zsbtree_split(rel, treeno, buf, splitkey, (Page) left.data, (Page) right.data,
				  nleft == nitems);
}

/*
 * Splits the full page in buf, into which item is to go at `position`.
 *
 * Rows come in ascending order but for several sessions that overtake each other, so left pages
 * should stay full: a split for an item behind all others moves nothing, one on the rightmost page
 * leaves nine tenths on the left.
 */
static void
split_page(Relation rel, AttrNumber attno, Buffer buf, const ZsSegmentItem *item, int position)
{
	Page		page = BufferGetPage(buf);
	const ZsPageOpaque *opaque = ZsPageGetOpaque(page);
	const ZsSegmentItem *items = zsattr_index_items(page);
	int			nitems = zsattr_index_count(page);
	int			nleft;
	zstid		splitkey;

	if (position == nitems)
		nleft = nitems;
	else if (opaque->hikey == PG_UINT64_MAX)
		nleft = nitems * 9 / 10;
	else
		nleft = nitems / 2;
	splitkey = nleft == nitems ? item->first_row : items[nleft].first_row;
	split_page_at(rel, attno, buf, nleft, splitkey);
}

/* Logs a change by zsattr_index_replace(), within its critical section. */
static void
log_replace(Buffer buf, int position, int nold, const ZsSegmentItem *items, int nitems)
{
	xl_zs_attr_replace xlrec;
	XLogRecPtr	lsn;

	Assert(CritSectionCount > 0);
	Assert(position >= 0 && position <= (int) ZS_SEGMENT_INDEX_CAPACITY);
	Assert(nold >= 0 && nold <= (int) ZS_SEGMENT_INDEX_CAPACITY);

	xlrec.index = (uint16) position;
	xlrec.nold = (uint16) nold;
	XLogBeginInsert();
	XLogRegisterData(&xlrec, SizeOfZsAttrReplace);
	XLogRegisterBuffer(0, buf, REGBUF_STANDARD);
	if (nitems > 0)
		XLogRegisterBufData(0, items, nitems * sizeof(ZsSegmentItem));
	lsn = zspage_log_tree(XLOG_ZS_ATTR_REPLACE);
	PageSetLSN(BufferGetPage(buf), lsn);
}

/*
 * Puts nitems items in the place of nold ones from position on; used by redo, too.  The page has
 * room for them.
 */
void
zsattr_index_replace(Page page, int position, int nold, const ZsSegmentItem *items, int nitems)
{
	ZsSegmentItem *all = zsattr_index_items(page);
	int			count = zsattr_index_count(page);

	Assert(position >= 0 && nold >= 0 && position + nold <= count);
	Assert(count - nold + nitems <= (int) ZS_SEGMENT_INDEX_CAPACITY);

	memmove(&all[position + nitems], &all[position + nold],
			(count - position - nold) * sizeof(ZsSegmentItem));
	if (nitems > 0)
		memcpy(&all[position], items, nitems * sizeof(ZsSegmentItem));
	zsattr_index_set_count(page, count - nold + nitems);
}

/*
 * Puts item on the exclusively locked page in buf, or splits that page and returns false.  Releases
 * buf.
 */
static bool
insert_item(Relation rel, AttrNumber attno, Buffer buf, const ZsSegmentItem *item)
{
	Page		page = BufferGetPage(buf);
	ZsSegmentItem *items = zsattr_index_items(page);
	int			nitems;
	int			position;

	Assert(zs_buffer_is_exclusive(buf));

	check_page(rel, attno, BufferGetBlockNumber(buf), page);
	nitems = zsattr_index_count(page);
	position = zsattr_index_position(items, nitems, item->first_row);
	if ((position > 0 && zsattr_item_covers(&items[position - 1], item->first_row)) ||
		(position < nitems && zsattr_item_covers(item, items[position].first_row)))
		zsbase_corrupted(rel, BufferGetBlockNumber(buf),
						 "Segment index page of attribute %d: new segment at row " UINT64_FORMAT " overlaps another one.",
						 attno, item->first_row);

	if (nitems == ZS_SEGMENT_INDEX_CAPACITY)
	{
		split_page(rel, attno, buf, item, position);
		return false;
	}

	START_CRIT_SECTION();
	zsattr_index_replace(page, position, 0, item, 1);
	MarkBufferDirty(buf);
	if (RelationNeedsWAL(rel))
		log_replace(buf, position, 0, item, 1);
	END_CRIT_SECTION();

	Assert(zsattr_index_page_check(page) == NULL);
	UnlockReleaseBuffer(buf);
	return true;
}

/*
 * Puts a segment into its column's tree.  The caller holds no page lock.  An overlap with another
 * segment is an error (corruption).
 */
void
zsattr_segment_link(Relation rel, AttrNumber attno, const ZsSegmentItem *item)
{
	ZsSegmentItem other;

	Assert(item_check(ZsTreeOfAttr(attno), item) == NULL);

	/* overlaps with neighbouring pages; insert_item() checks its own */
	if (zsattr_find_segment(rel, attno, item->first_row, false, &other) &&
		other.first_row < item->first_row + item->nrows)
		zsbase_corrupted(rel, other.start,
						 "Attribute %d: new segment at row " UINT64_FORMAT " overlaps the one at row " UINT64_FORMAT ".",
						 attno, item->first_row, other.first_row);

	for (;;)
	{
		Buffer		buf = zsbtree_search_or_create(rel, ZsTreeOfAttr(attno), item->first_row);

		if (insert_item(rel, attno, buf, item))
			return;
		CHECK_FOR_INTERRUPTS();
	}
}

/* ---- replacing --------------------------------------------------------- */

/*
 * Splits the page in buf so that what lies in [first, end) stays together: in front of it or
 * behind, whichever leaves less on its page.
 */
static void
split_around(Relation rel, AttrNumber attno, Buffer buf, zstid first, zstid end)
{
	Page		page = BufferGetPage(buf);
	const ZsSegmentItem *items = zsattr_index_items(page);
	int			nitems = zsattr_index_count(page);
	int			nbefore = 0;
	int			nuntil;

	while (nbefore < nitems && items[nbefore].first_row < first)
		nbefore++;
	nuntil = nbefore;
	while (nuntil < nitems && items[nuntil].first_row < end)
		nuntil++;
	if (nitems - nuntil > nbefore)
		split_page_at(rel, attno, buf, nuntil, items[nuntil].first_row);
	else
		split_page_at(rel, attno, buf, nbefore, first);
}

/*
 * Takes the segments that lie in [first, end) out of the tree, and puts items (in order, within
 * that range) in their place, in one WAL record.  No segment may lie in the range with a part of
 * its rows.  The old ones are copied to old, which has room for ZS_SEGMENT_INDEX_CAPACITY; their
 * runs are the caller's to free.  Returns false, with nothing changed, if the range lies on two
 * index pages.
 */
bool
zsattr_segments_replace(Relation rel, AttrNumber attno, zstid first, zstid end,
						const ZsSegmentItem *items, int nitems, ZsSegmentItem *old, int *nold)
{
	Assert(first < end);
	Assert(nitems == 0 || items[0].first_row >= first);
	Assert(nitems == 0 || items[nitems - 1].first_row + items[nitems - 1].nrows <= end);

	for (;;)
	{
		Buffer		buf;
		Page		page;
		ZsSegmentItem *all;
		int			count;
		int			position = 0;
		int			until;

		CHECK_FOR_INTERRUPTS();
		buf = nitems > 0 ? zsbtree_search_or_create(rel, ZsTreeOfAttr(attno), first) :
			zsbtree_search(rel, ZsTreeOfAttr(attno), first, BUFFER_LOCK_EXCLUSIVE);
		if (!BufferIsValid(buf))
		{
			*nold = 0;
			return true;
		}
		page = BufferGetPage(buf);
		check_page(rel, attno, BufferGetBlockNumber(buf), page);
		if (ZsPageGetOpaque(page)->hikey < end)
		{
			/* a split since the caller looked; nothing is changed */
			UnlockReleaseBuffer(buf);
			return false;
		}
		all = zsattr_index_items(page);
		count = zsattr_index_count(page);
		while (position < count && all[position].first_row < first)
			position++;
		until = position;
		while (until < count && all[until].first_row < end)
			until++;
		if ((position > 0 && zsattr_item_covers(&all[position - 1], first)) ||
			(until > position && all[until - 1].first_row + all[until - 1].nrows > end))
			zsbase_corrupted(rel, BufferGetBlockNumber(buf),
							 "Segment index page of attribute %d: rows " UINT64_FORMAT " to " UINT64_FORMAT " are replaced, but some segment has only a part of them.",
							 attno, first, end - 1);
		if (count - (until - position) + nitems > (int) ZS_SEGMENT_INDEX_CAPACITY)
		{
			split_around(rel, attno, buf, first, end);
			continue;
		}

		*nold = until - position;
		memcpy(old, &all[position], *nold * sizeof(ZsSegmentItem));
		if (*nold == 0 && nitems == 0)
		{
			UnlockReleaseBuffer(buf);
			return true;
		}

		START_CRIT_SECTION();
		zsattr_index_replace(page, position, *nold, items, nitems);
		MarkBufferDirty(buf);
		if (RelationNeedsWAL(rel))
			log_replace(buf, position, *nold, items, nitems);
		END_CRIT_SECTION();

		Assert(zsattr_index_page_check(page) == NULL);
		UnlockReleaseBuffer(buf);
		return true;
	}
}

/*
 * Puts another item, which differs in where the segment lies only, in the place of old.  False,
 * with nothing changed, if old is not in the tree any more.
 */
bool
zsattr_segment_repoint(Relation rel, AttrNumber attno, const ZsSegmentItem *old,
					   const ZsSegmentItem *item)
{
	Buffer		buf = zsbtree_search(rel, ZsTreeOfAttr(attno), old->first_row,
									 BUFFER_LOCK_EXCLUSIVE);
	ZsSegmentItem *items;
	int			position;

	Assert(item->first_row == old->first_row && item->nrows == old->nrows &&
		   item->nblocks == old->nblocks && item->payload_size == old->payload_size);

	if (!BufferIsValid(buf))
		return false;
	check_page(rel, attno, BufferGetBlockNumber(buf), BufferGetPage(buf));
	items = zsattr_index_items(BufferGetPage(buf));
	position = zsattr_index_position(items, zsattr_index_count(BufferGetPage(buf)),
									 old->first_row) - 1;
	if (position < 0 || memcmp(&items[position], old, sizeof(ZsSegmentItem)) != 0)
	{
		UnlockReleaseBuffer(buf);
		return false;
	}

	START_CRIT_SECTION();
	items[position] = *item;
	MarkBufferDirty(buf);
	if (RelationNeedsWAL(rel))
		log_replace(buf, position, 1, item, 1);
	END_CRIT_SECTION();

	UnlockReleaseBuffer(buf);
	return true;
}
