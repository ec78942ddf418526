/*-------------------------------------------------------------------------
 *
 * row_leaf.c
 *	  Items on a row-tree leaf.
 *
 * Invariants of a leaf:
 *	1. line pointers are LP_NORMAL, in ascending order of row number;
 *	2. every row number lies within the page's [lokey, hikey);
 *	3. an item lies between pd_upper and the special space, aligned, and is as
 *	   long as its t_len;
 *	4. items do not share bytes, and fill the space from pd_upper on;
 *	5. an item's header (null bitmap included) lies within the item, and in front of
 *	   the transaction id if the item has one.
 *
 * Reading checks 3 and 5 for the items it touches; zsrow_leaf_check() all.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/row/row_leaf.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "row_internal.h"

/* Gives the item its row number. */
void
zsrow_item_set_row(MinimalTuple item, zstid row)
{
	Assert(row < ZS_MAX_ROW);

	for (int i = 0; i < MINIMAL_TUPLE_PADDING; i++)
		item->mt_padding[i] = (char) (row >> (8 * i) & 0xFF);
}

/* The transaction that wrote the row; InvalidTransactionId: the item does not say. */
TransactionId
zsrow_item_xmin(const MinimalTupleData *item)
{
	TransactionId xmin;

	if ((item->t_infomask & ZS_ITEM_XMIN) == 0)
		return InvalidTransactionId;
	Assert(item->t_len >= SizeofMinimalTupleHeader + sizeof(xmin));
	memcpy(&xmin, (const char *) item + item->t_len - sizeof(xmin), sizeof(xmin));
	return xmin;
}

/*
 * The item at an offset of a leaf whose content lock the caller holds; wrong bounds are an error.
 */
MinimalTuple
zsrow_buffer_item(Relation rel, Buffer buf, OffsetNumber offset)
{
	MinimalTuple item = zsrow_leaf_item(BufferGetPage(buf), offset);

	if (unlikely(item == NULL))
		zsbase_corrupted(rel, BufferGetBlockNumber(buf),
						 "Row tree leaf: item %u has broken bounds.", offset);
	return item;
}

/*
 * Offset of the first item of the locked leaf whose row number is at least
 * row; one past the last item if there is none.
 */
OffsetNumber
zsrow_leaf_search(Relation rel, Buffer buf, zstid row)
{
	OffsetNumber low = FirstOffsetNumber;
	OffsetNumber high = PageGetMaxOffsetNumber(BufferGetPage(buf)) + 1;

	while (low < high)
	{
		OffsetNumber mid = (low + high) / 2;

		if (zsrow_item_row(zsrow_buffer_item(rel, buf, mid)) < row)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* What is wrong with a row leaf (a copy, or locked); NULL = nothing. */
const char *
zsrow_leaf_check(Page page)
{
	PageHeader	phdr = (PageHeader) page;
	const ZsPageOpaque *opaque = ZsPageGetOpaque(page);
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
	uint64		used[BLCKSZ / MAXIMUM_ALIGNOF / 64] = {0};
	zstid		previous = ZS_INVALID_ROW;
	Size		space = 0;

	if ((phdr->pd_lower - SizeOfPageHeaderData) % sizeof(ItemIdData) != 0)
		return "line pointer array has a broken end";

	for (OffsetNumber offset = FirstOffsetNumber; offset <= maxoff; offset++)
	{
		MinimalTuple item = zsrow_leaf_item(page, offset);
		int			first;
		int			last;
		zstid		row;

		if (item == NULL)
			return "item has broken bounds";
		row = zsrow_item_row(item);
		if (row < opaque->lokey || row >= opaque->hikey || row >= ZS_MAX_ROW)
			return "row number is outside the page's key range";
		if (previous != ZS_INVALID_ROW && row <= previous)
			return "row numbers are not in ascending order";
		previous = row;

		space += MAXALIGN(item->t_len);
		first = (int) (((char *) item - (char *) page) / MAXIMUM_ALIGNOF);
		last = first + (int) ((item->t_len - 1) / MAXIMUM_ALIGNOF);
		for (int i = first; i <= last; i++)
		{
			if ((used[i / 64] & UINT64CONST(1) << i % 64) != 0)
				return "items share bytes";
			used[i / 64] |= UINT64CONST(1) << i % 64;
		}
	}
	if (phdr->pd_upper + space != phdr->pd_special)
		return "items do not fill their space";
	return NULL;
}

/* Errors (data corrupted) unless the locked leaf is sound: before it is changed. */
void
zsrow_leaf_verify(Relation rel, Buffer buf)
{
	const char *reason = zsrow_leaf_check(BufferGetPage(buf));

	if (reason != NULL)
		zsbase_corrupted(rel, BufferGetBlockNumber(buf), "Row tree leaf: %s.", reason);
}
