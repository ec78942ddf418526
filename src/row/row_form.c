/*-------------------------------------------------------------------------
 *
 * row_form.c
 *	  Items of the row tree, formed from values.
 *
 * An item is what core forms as a minimal tuple, and behind the values the id of
 * the transaction that writes the row, in tables that keep it.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/row/row_form.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"

#include "row_internal.h"

/* Does one of the row's values need a null bitmap? */
static bool
has_nulls(TupleDesc desc, const bool *isnull)
{
	return memchr(isnull, true, desc->natts) != NULL;
}

/* Where the values begin, from the item's start. */
static Size
values_offset(TupleDesc desc, bool any_null)
{
	return MAXALIGN(SizeofMinimalTupleHeader + (any_null ? BITMAPLEN(desc->natts) : 0));
}

/* The size in bytes of the item that zsrow_form_item() makes of the values. */
Size
zsrow_item_size(TupleDesc desc, const Datum *values, const bool *isnull, TransactionId xmin)
{
	return values_offset(desc, has_nulls(desc, isnull)) +
		heap_compute_data_size(desc, values, isnull) +
		(TransactionIdIsValid(xmin) ? sizeof(TransactionId) : 0);
}

/*
 * An item without a row number, palloc'd; large values are pointers already.  It says that xmin
 * wrote the row, unless that is InvalidTransactionId.  The same as heap_form_minimal_tuple(), and
 * what is behind the values.
 */
MinimalTuple
zsrow_form_item(TupleDesc desc, const Datum *values, const bool *isnull, TransactionId xmin)
{
	bool		any_null = has_nulls(desc, isnull);
	Size		offset = values_offset(desc, any_null);
	Size		size = heap_compute_data_size(desc, values, isnull);
	Size		len = offset + size + (TransactionIdIsValid(xmin) ? sizeof(TransactionId) : 0);
	MinimalTuple item = palloc0(len);

	item->t_len = len;
	HeapTupleHeaderSetNatts(item, desc->natts);
	item->t_hoff = offset + MINIMAL_TUPLE_OFFSET;
	heap_fill_tuple(desc, values, isnull, (char *) item + offset, size, &item->t_infomask,
					any_null ? item->t_bits : NULL);
	if (TransactionIdIsValid(xmin))
	{
		item->t_infomask |= ZS_ITEM_XMIN;
		memcpy((char *) item + offset + size, &xmin, sizeof(xmin));
	}
	Assert(item->t_len == zsrow_item_size(desc, values, isnull, xmin));
	Assert(zsrow_item_xmin(item) == xmin);
	return item;
}
