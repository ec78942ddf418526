/*-------------------------------------------------------------------------
 *
 * scan_xmin.c
 *	  The transaction that wrote a row, as the system column xmin shows it.
 *
 * The row's visibility slot says it until the row is frozen.  After that, in tables that keep it,
 * the row's item of the row tree says it, or a column beside those of the table.  Nobody but who
 * asks for xmin pays for that: a slot looks when it is asked, at its source as long as it has one,
 * and by the row's number later.  A row that was visible once stays where it was as long as
 * somebody might ask.
 *
 * Locks: those of reading a row and a column.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_xmin.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/transam.h"
#include "utils/rel.h"

#include "scan_internal.h"
#include "zs_page.h"
#include "zs_write.h"

/* What a row of the row tree says; FrozenTransactionId: nothing. */
static inline TransactionId
item_xmin(const MinimalTupleData *item)
{
	TransactionId xmin = zsrow_item_xmin(item);

	return TransactionIdIsValid(xmin) ? xmin : FrozenTransactionId;
}

/* The column's vector of the row's stripe, if it has the row. */
static const ZsVectorOut *
find_vector(ZsSourceColumn *column, zstid stripe, uint32 index)
{
	if (column->stripe != stripe)
	{
		column->vector = zsattr_reader_vector(column->reader, stripe);
		column->stripe = stripe;
	}
	return column->vector != NULL && index < column->vector->nrows &&
		!column->vector->isnull[index] ? column->vector : NULL;
}

static bool
single_xmin(ZsAttrReader *reader, zstid row, TransactionId *xmin)
{
	Datum		value;
	bool		isnull;

	if (!zsattr_reader_value(reader, row, &value, &isnull) || isnull)
		return false;
	*xmin = DatumGetTransactionId(value);
	return true;
}

/*
 * What segments say.  A scan reads the vectors of stripes, since it is going to ask for the
 * neighbours.
 */
static bool
column_xmin(ZsRowSource *source, zstid row, TransactionId *xmin)
{
	uint32		index = row % ZS_STRIPE_ROWS;
	const ZsVectorOut *vector;

	if (!source->by_vector)
		return single_xmin(source->xmin.reader, row, xmin);
	vector = find_vector(&source->xmin, row - index, index);
	if (vector == NULL)
		return false;
	*xmin = (TransactionId) vector->values[index];
	return true;
}

/* What the row tree says of the row. */
static bool
tree_xmin(ZsRowSource *source, zstid row, TransactionId *xmin)
{
	MinimalTuple item;

	if (source->row_located && source->row == row)
	{
		if (source->tuple != NULL)
			*xmin = item_xmin(source->tuple);
		return source->tuple != NULL;
	}
	zswrite_flush_row(source->rel, row);
	item = zsrow_fetch(source->rel, row);
	if (item == NULL)
		return false;
	*xmin = item_xmin(item);
	pfree(item);
	return true;
}

/*
 * xmin of ZsSlotSource: of the slot's row, which is a frozen one; FrozenTransactionId if the table
 * does not keep it.  A row that moves from the row tree to columns has it in both for a while, and
 * it is the same.  Errors: ERRCODE_DATA_CORRUPTED if neither has it.
 */
TransactionId
zsscan_source_xmin(ZsSlotSource *base, ZsSlot *slot)
{
	ZsRowSource *source = (ZsRowSource *) base;
	zstid		row = slot->row;
	TransactionId xmin;

	if (!zspage_keeps_xmin(source->rel))
		return FrozenTransactionId;
	if (source->xmin.reader == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(source->context);

		source->xmin.reader = zsattr_reader_begin(source->rel, source->desc, ZS_XMIN_ATTNO, 0,
												  source->strategy);
		source->xmin.stripe = ZS_INVALID_ROW;
		MemoryContextSwitchTo(old);
	}
	if (column_xmin(source, row, &xmin) || tree_xmin(source, row, &xmin))
		return xmin;

	/* VACUUM has moved it since the reader looked */
	zsattr_reader_forget(source->xmin.reader);
	source->xmin.stripe = ZS_INVALID_ROW;
	if (!column_xmin(source, row, &xmin))
		zsbase_corrupted(source->rel, zspage_tree_root(source->rel, ZS_TREE_XMIN),
						 "Row " UINT64_FORMAT " has no transaction id anywhere.", row);
	return xmin;
}

/* Ends the reader of xmin, if there is one. */
void
zsscan_source_end_xmin(ZsRowSource *source)
{
	if (source->xmin.reader != NULL)
		zsattr_reader_end(source->xmin.reader);
	source->xmin.reader = NULL;
}

/* The same for a frozen row of which nothing is at hand; FrozenTransactionId: nothing says it. */
static TransactionId
fetch_xmin(Relation rel, zstid row)
{
	TransactionId xmin = FrozenTransactionId;
	MinimalTuple item;

	if (!zspage_keeps_xmin(rel))
		return xmin;
	zswrite_flush_row(rel, row);
	item = zsrow_fetch(rel, row);
	if (item != NULL)
	{
		xmin = item_xmin(item);
		pfree(item);
	}
	else
	{
		ZsAttrReader *reader = zsattr_reader_begin(rel, RelationGetDescr(rel), ZS_XMIN_ATTNO, 0,
												   NULL);

		(void) single_xmin(reader, row, &xmin);
		zsattr_reader_end(reader);
	}
	return xmin;
}

/* The transaction that wrote the row in the slot, whose visibility is known. */
TransactionId
zsslot_xmin(ZsSlot *slot)
{
	TransactionId xmin = slot->vis.xmin;
	Relation	rel;

	Assert(slot->has_vis);
	if (xmin != FrozenTransactionId)
		return xmin;
	if (slot->source != NULL)
		return slot->source->xmin(slot->source, slot);
	rel = OidIsValid(slot->base.tts_tableOid) ?
		try_relation_open(slot->base.tts_tableOid, AccessShareLock) : NULL;
	if (rel == NULL)
		return xmin;
	if (zsbase_is_zedstore(rel))
		xmin = fetch_xmin(rel, slot->row);
	relation_close(rel, AccessShareLock);
	return xmin;
}
