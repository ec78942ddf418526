/*-------------------------------------------------------------------------
 *
 * row_single.c
 *	  One row into the row tree, as part of a change of other pages too.
 *
 * A session that writes row after row comes back to the same leaf, at whose
 * end its open stripe grows.  So it remembers the block, and while that is the
 * right leaf, has room and is not locked, the row goes there without a descent
 * and without waiting.  The caller holds the TID leaf's lock at that time: not
 * to wait is what keeps the order of locks simple.  In all other cases
 * nothing happens here, and the caller uses zsrow_insert().
 *
 * Locks: one leaf exclusively, taken only if it is free.
 *
 * WAL: the caller's record, of which the leaf is block 0.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/row/row_single.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "access/xlogutils.h"
#include "miscadmin.h"

#include "row_internal.h"
#include "zs_btree.h"
#include "zs_walrec.h"

/* Where this backend inserted last, per table; may be wrong. */
typedef struct LeafCache
{
	RelFileLocator locator;
	BlockNumber blkno;			/* 0 = not known */
	XLogRecPtr	lsn;			/* with this LSN the leaf is known to be sound */
} LeafCache;

#define LEAF_CACHE_SIZE		32

static LeafCache leaf_cache[LEAF_CACHE_SIZE];

static LeafCache *
find_leaf(Relation rel)
{
	return &leaf_cache[rel->rd_locator.relNumber % LEAF_CACHE_SIZE];
}

/*
 * Rows were put on the leaf in buf, which is sound; the next single row may follow them
 * (row_single.c).
 */
void
zsrow_leaf_remember(Relation rel, Buffer buf)
{
	LeafCache  *cache = find_leaf(rel);

	cache->locator = rel->rd_locator;
	cache->blkno = BufferGetBlockNumber(buf);
	cache->lsn = PageGetLSN(BufferGetPage(buf));
}

/* See ZsRowPlace in zs_row.h. */
bool
zsrow_place_find(Relation rel, MinimalTuple item, ZsRowPlace *place)
{
	LeafCache  *cache = find_leaf(rel);
	zstid		row = zsrow_item_row(item);
	Page		page;

	Assert(item->t_len <= ZS_ROW_MAX_ITEM);

	if (cache->blkno == 0 || !RelFileLocatorEquals(cache->locator, rel->rd_locator))
		return false;
	place->buf = zsbtree_try_bottom(rel, ZS_TREE_ROW, row, cache->blkno);
	if (!BufferIsValid(place->buf))
		return false;
	page = BufferGetPage(place->buf);

	/* behind all others of the leaf, or it is no simple case */
	place->offset = PageGetMaxOffsetNumber(page) + 1;
	place->item = item;
	if (((PageHeader) page)->pd_upper - ((PageHeader) page)->pd_lower >= zsrow_item_space(item) &&
		(place->offset == FirstOffsetNumber ||
		 zsrow_item_row(zsrow_buffer_item(rel, place->buf, place->offset - 1)) < row))
	{
		/*
		 * looking at all items costs as much as a tenth of the insertion; usually we are the last
		 * who changed it
		 */
		if (unlikely(PageGetLSN(page) != cache->lsn))
			zsrow_leaf_verify(rel, place->buf);
		place->lsn = &cache->lsn;
		return true;
	}
	UnlockReleaseBuffer(place->buf);
	return false;
}

/* See ZsRowPlace in zs_row.h. */
void
zsrow_place_put(ZsRowPlace *place)
{
	if (PageAddItem(BufferGetPage(place->buf), (void *) place->item, place->item->t_len,
					place->offset, false, false) == InvalidOffsetNumber)
		elog(PANIC, "failed to add item to row tree leaf");
	MarkBufferDirty(place->buf);
}

/* Offset of the first value in an item. */
static uint32
values_offset(const MinimalTupleData *item)
{
	return item->t_hoff - MINIMAL_TUPLE_OFFSET;
}

/* See ZsRowPlace in zs_row.h. */
void
zsrow_place_register(ZsRowPlace *place)
{
	MinimalTuple item = place->item;
	xl_zs_row_single *xlrec = &place->xlrec;

	xlrec->offset = place->offset;
	xlrec->infomask2 = item->t_infomask2;
	xlrec->infomask = item->t_infomask;
	XLogRegisterBuffer(0, place->buf, REGBUF_STANDARD);
	XLogRegisterBufData(0, xlrec, SizeOfZsRowSingle);
	if (item->t_infomask & HEAP_HASNULL)
		XLogRegisterBufData(0, item->t_bits, BITMAPLEN(item->t_infomask2 & HEAP_NATTS_MASK));
	if (item->t_len > values_offset(item))
		XLogRegisterBufData(0, (char *) item + values_offset(item),
							item->t_len - values_offset(item));
}

/* See ZsRowPlace in zs_row.h. */
void
zsrow_place_finish(ZsRowPlace *place, XLogRecPtr lsn)
{
	if (!XLogRecPtrIsInvalid(lsn))
		PageSetLSN(BufferGetPage(place->buf), lsn);
}

/* See ZsRowPlace in zs_row.h. */
void
zsrow_place_end(ZsRowPlace *place)
{
	Assert(!zsbase_check_due() || zsrow_leaf_check(BufferGetPage(place->buf)) == NULL);
	*place->lsn = PageGetLSN(BufferGetPage(place->buf));
	UnlockReleaseBuffer(place->buf);
}

/* Makes the item again that zsrow_place_register() took apart. */
static MinimalTuple
rebuild_item(zstid row, const char *data, Size len, char *buf)
{
	MinimalTuple item = (MinimalTuple) buf;
	xl_zs_row_single xlrec;
	Size		bitmap_len = 0;

	if (len < SizeOfZsRowSingle)
		return NULL;
	memcpy(&xlrec, data, SizeOfZsRowSingle);
	data += SizeOfZsRowSingle;
	len -= SizeOfZsRowSingle;
	if (xlrec.infomask & HEAP_HASNULL)
		bitmap_len = BITMAPLEN(xlrec.infomask2 & HEAP_NATTS_MASK);
	if (len < bitmap_len || len - bitmap_len +
		MAXALIGN(SizeofMinimalTupleHeader + bitmap_len) > ZS_ROW_MAX_ITEM)
		return NULL;

	memset(item, 0, MAXALIGN(SizeofMinimalTupleHeader + bitmap_len));
	item->t_infomask2 = xlrec.infomask2;
	item->t_infomask = xlrec.infomask;
	item->t_hoff = MAXALIGN(SizeofMinimalTupleHeader + bitmap_len) + MINIMAL_TUPLE_OFFSET;
	zsrow_item_set_row(item, row);
	memcpy(item->t_bits, data, bitmap_len);
	memcpy(buf + values_offset(item), data + bitmap_len, len - bitmap_len);
	item->t_len = values_offset(item) + len - bitmap_len;
	return item;
}

/* Redo of the row leaf of an XLOG_ZS_WRITE_ROW record. */
void
zsrow_single_redo(XLogReaderState *record, zstid row)
{
	Buffer		buf;

	if (XLogReadBufferForRedo(record, 0, &buf) == BLK_NEEDS_REDO)
	{
		Page		page = BufferGetPage(buf);
		Size		len;
		const char *data = XLogRecGetBlockData(record, 0, &len);
		PGAlignedBlock space;
		MinimalTuple item = rebuild_item(row, data, len, space.data);
		xl_zs_row_single xlrec;

		if (item == NULL)
			elog(PANIC, "single row record has a broken row");
		memcpy(&xlrec, data, SizeOfZsRowSingle);
		if (PageAddItem(page, (void *) item, item->t_len, xlrec.offset, false, false) ==
			InvalidOffsetNumber)
			elog(PANIC, "failed to add item to row tree leaf");
		Assert(!zsbase_check_due() || zsrow_leaf_check(page) == NULL);
		PageSetLSN(page, record->EndRecPtr);
		MarkBufferDirty(buf);
	}
	if (BufferIsValid(buf))
		UnlockReleaseBuffer(buf);
}
