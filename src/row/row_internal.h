/*-------------------------------------------------------------------------
 *
 * row_internal.h
 *	  Private to src/row.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/row/row_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROW_INTERNAL_H
#define ROW_INTERNAL_H

#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "zs_base.h"
#include "zs_page.h"
#include "zs_row.h"

/* What an item takes on a page. */
static inline Size
zsrow_item_space(const MinimalTupleData *item)
{
	return MAXALIGN(item->t_len) + sizeof(ItemIdData);
}

/* Bytes behind the values of an item. */
static inline Size
zsrow_item_tail(const MinimalTupleData *item)
{
	return (item->t_infomask & ZS_ITEM_XMIN) != 0 ? sizeof(TransactionId) : 0;
}

/* row_leaf.c */

/* Does the item's header fit in its length? */
static inline bool
zsrow_header_is_sane(const MinimalTupleData *item)
{
	Size		hoff = SizeofMinimalTupleHeader;

	if ((item->t_infomask & HEAP_HASNULL) != 0)
		hoff += BITMAPLEN(item->t_infomask2 & HEAP_NATTS_MASK);

	/* t_hoff counts from where a heap tuple would begin */
	return item->t_hoff == MAXALIGN(hoff) + MINIMAL_TUPLE_OFFSET &&
		item->t_hoff + zsrow_item_tail(item) <= item->t_len + MINIMAL_TUPLE_OFFSET;
}

/*
 * Item at offset on a leaf, its bounds checked; NULL when they are wrong.
 */
static inline MinimalTuple
zsrow_leaf_item(Page page, OffsetNumber offset)
{
	PageHeader	phdr = (PageHeader) page;
	ItemId		lp = PageGetItemId(page, offset);
	unsigned	start = ItemIdGetOffset(lp);
	unsigned	len = ItemIdGetLength(lp);
	MinimalTuple item;

	Assert(offset >= FirstOffsetNumber && offset <= PageGetMaxOffsetNumber(page));

	if (!ItemIdIsNormal(lp) || len < SizeofMinimalTupleHeader ||
		start < phdr->pd_upper || start + len > phdr->pd_special ||
		start != MAXALIGN(start))
		return NULL;
	item = (MinimalTuple) ((char *) page + start);
	if (item->t_len != len || !zsrow_header_is_sane(item))
		return NULL;
	return item;
}

extern MinimalTuple zsrow_buffer_item(Relation rel, Buffer buf, OffsetNumber offset);
extern OffsetNumber zsrow_leaf_search(Relation rel, Buffer buf, zstid row);

/* row_delete.c */

extern void zsrow_leaf_delete(Page page, OffsetNumber first, int nitems);

/* row_leaf.c */

extern void zsrow_leaf_verify(Relation rel, Buffer buf);

/* row_single.c */

extern void zsrow_leaf_remember(Relation rel, Buffer buf);

#endif							/* ROW_INTERNAL_H */
