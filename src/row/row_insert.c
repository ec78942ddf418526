/*-------------------------------------------------------------------------
 *
 * row_insert.c
 *	  Rows into the row tree.
 *
 * A batch goes in leaf by leaf.  Rows that become neighbours on a leaf share
 * one WAL record; several records are needed only where the batch interleaves
 * with rows that are there.
 *
 * Splits keep leaves full for the pattern that small inserts make: a few open
 * stripes, each filled in ascending order.  A row behind all others of its
 * leaf opens a new leaf.  A row in front of another stripe's rows has those
 * moved away, so that its own stripe goes on at the end of a leaf.  Only else
 * is the leaf halved.
 *
 * Locks: one leaf exclusively at a time.
 *
 * WAL: XLOG_ZS_ROW_INSERT for each group of neighbours, and those of
 * zsbtree_split().  A crash in between leaves rows whose inserter did not
 * commit.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/row/row_insert.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "row_internal.h"
#include "zs_btree.h"
#include "zs_walrec.h"

/* Start of the stripe that row belongs to. */
static zstid
stripe_of(zstid row)
{
	return row - row % ZS_STRIPE_ROWS;
}

/*
 * Offset of the first item that moves to the right page when the full leaf in
 * buf splits to take row at `offset`, and the key that parts them.
 */
static OffsetNumber
choose_split(Relation rel, Buffer buf, zstid row, OffsetNumber offset, zstid *splitkey)
{
	Page		page = BufferGetPage(buf);
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
	Size		half;
	Size		space = 0;
	OffsetNumber first;

	if (offset > maxoff)
	{
		*splitkey = row;
		return offset;
	}
	*splitkey = stripe_of(zsrow_item_row(zsrow_buffer_item(rel, buf, offset)));
	if (*splitkey > row)
		return offset;

	half = (((PageHeader) page)->pd_special - ((PageHeader) page)->pd_upper) / 2;
	for (first = FirstOffsetNumber; first < maxoff; first++)
	{
		space += zsrow_item_space(zsrow_buffer_item(rel, buf, first));
		if (space >= half)
			break;
	}
	if (first < maxoff)
		first++;
	*splitkey = zsrow_item_row(zsrow_buffer_item(rel, buf, first));
	return first;
}

/* Copies the items [first, end) of src to dst, which has none. */
static void
copy_items(Relation rel, Buffer src, OffsetNumber first, OffsetNumber end, Page dst)
{
	for (OffsetNumber offset = first; offset < end; offset++)
	{
		MinimalTuple item = zsrow_buffer_item(rel, src, offset);

		if (PageAddItem(dst, (void *) item, item->t_len, InvalidOffsetNumber, false, false) ==
			InvalidOffsetNumber)
			elog(ERROR, "row tree leaf overflows while it is split");
	}
}

/*
 * Splits the leaf in buf, which has no room for row at offset; releases buf.
 */
static void
split_leaf(Relation rel, Buffer buf, zstid row, OffsetNumber offset)
{
	Page		page = BufferGetPage(buf);
	const ZsPageOpaque *opaque = ZsPageGetOpaque(page);
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
	OffsetNumber first;
	zstid		splitkey;
	PGAlignedBlock left;
	PGAlignedBlock right;

	first = choose_split(rel, buf, row, offset, &splitkey);
	Assert(opaque->lokey < splitkey && splitkey < opaque->hikey);
	Assert(first > FirstOffsetNumber || splitkey > row);

	zspage_init((Page) left.data, ZS_PAGE_ROW_LEAF, ZS_TREE_ROW, 0, opaque->lokey, splitkey);
	copy_items(rel, buf, FirstOffsetNumber, first, (Page) left.data);
	zspage_init((Page) right.data, ZS_PAGE_ROW_LEAF, ZS_TREE_ROW, 0, splitkey, opaque->hikey);
	copy_items(rel, buf, first, maxoff + 1, (Page) right.data);

	zsbtree_split(rel, ZS_TREE_ROW, buf, splitkey, (Page) left.data, (Page) right.data,
				  first > maxoff);
}

/*
 * How many of the items can go to offset: below hikey and the item that stands
 * there now, and within the free space.
 */
static int
count_fitting(Relation rel, Buffer buf, OffsetNumber offset, MinimalTuple *items, int nitems)
{
	Page		page = BufferGetPage(buf);
	zstid		end = ZsPageGetOpaque(page)->hikey;
	Size		room = ((PageHeader) page)->pd_upper - ((PageHeader) page)->pd_lower;
	int			n;

	if (offset <= PageGetMaxOffsetNumber(page))
		end = zsrow_item_row(zsrow_buffer_item(rel, buf, offset));
	for (n = 0; n < nitems && zsrow_item_row(items[n]) < end; n++)
	{
		Size		space = zsrow_item_space(items[n]);

		if (space > room)
			break;
		room -= space;
	}
	return n;
}

static void
log_insert(Buffer buf, OffsetNumber offset, int nitems, const char *data, Size len)
{
	xl_zs_row_insert xlrec;
	XLogRecPtr	lsn;

	xlrec.offset = offset;
	xlrec.nitems = (uint16) nitems;
	XLogBeginInsert();
	XLogRegisterData(&xlrec, SizeOfZsRowInsert);
	XLogRegisterBuffer(0, buf, REGBUF_STANDARD);
	XLogRegisterBufData(0, data, len);
	lsn = zspage_log_tree(XLOG_ZS_ROW_INSERT);
	PageSetLSN(BufferGetPage(buf), lsn);
}

/* Puts items, which fit, on the exclusively locked leaf in buf. */
static void
add_items(Relation rel, Buffer buf, OffsetNumber offset, MinimalTuple *items, int nitems)
{
	Page		page = BufferGetPage(buf);
	PGAlignedBlock data;
	Size		len = 0;

	/* the items of one leaf, back to back, fit in a block */
	for (int i = 0; i < nitems; i++)
	{
		Assert(len + items[i]->t_len <= sizeof(data));
		memcpy(data.data + len, items[i], items[i]->t_len);
		len += items[i]->t_len;
	}

	START_CRIT_SECTION();
	for (int i = 0; i < nitems; i++)
	{
		if (PageAddItem(page, (void *) items[i], items[i]->t_len, offset + i, false, false) ==
			InvalidOffsetNumber)
			elog(PANIC, "failed to add item to row tree leaf");
	}
	MarkBufferDirty(buf);
	if (RelationNeedsWAL(rel))
		log_insert(buf, offset, nitems, data.data, len);
	END_CRIT_SECTION();

	Assert(zsrow_leaf_check(page) == NULL);
}

/*
 * Puts as many of the items from *ndone on as possible on the leaf in buf (exclusively
 * locked), which covers that item's row number, and releases it.  Advances
 * *ndone; after a split not to the end of the leaf.
 */
static void
insert_into_leaf(Relation rel, Buffer buf, MinimalTuple *items, int nitems, int *ndone)
{
	zsrow_leaf_verify(rel, buf);
	while (*ndone < nitems)
	{
		zstid		row = zsrow_item_row(items[*ndone]);
		OffsetNumber offset;
		int			n;

		if (row >= ZsPageGetOpaque(BufferGetPage(buf))->hikey)
			break;
		offset = zsrow_leaf_search(rel, buf, row);
		if (offset <= PageGetMaxOffsetNumber(BufferGetPage(buf)) &&
			zsrow_item_row(zsrow_buffer_item(rel, buf, offset)) == row)
			zsbase_corrupted(rel, BufferGetBlockNumber(buf),
							 "Row tree leaf: row " UINT64_FORMAT " is to be inserted, but it is there already.",
							 row);
		n = count_fitting(rel, buf, offset, items + *ndone, nitems - *ndone);
		if (n == 0)
		{
			split_leaf(rel, buf, row, offset);
			return;
		}
		add_items(rel, buf, offset, items + *ndone, n);
		*ndone += n;
		ZS_INJECTION_POINT("zs-row-insert");
	}
	zsrow_leaf_remember(rel, buf);
	UnlockReleaseBuffer(buf);
}

/*
 * Writes rows to the row tree.  items are complete (row number set, at most
 * ZS_ROW_MAX_ITEM bytes, large values already in overflow pages), in
 * ascending order of row number.  A row number that is present already is an
 * error (corruption).  As many rows as fit go into one WAL record.
 *
 * *ndone says how many of them are there already, and is advanced with each record: after an error
 * the caller knows which ones are left.
 */
void
zsrow_insert(Relation rel, MinimalTuple *items, int nitems, int *ndone)
{
#ifdef USE_ASSERT_CHECKING
	for (int i = 0; i < nitems; i++)
	{
		Assert(items[i]->t_len <= ZS_ROW_MAX_ITEM);
		Assert(i == 0 || zsrow_item_row(items[i - 1]) < zsrow_item_row(items[i]));
	}
#endif

	while (*ndone < nitems)
	{
		Buffer		buf;

		CHECK_FOR_INTERRUPTS();
		buf = zsbtree_search_or_create(rel, ZS_TREE_ROW, zsrow_item_row(items[*ndone]));
		insert_into_leaf(rel, buf, items, nitems, ndone);
	}
}
