/*-------------------------------------------------------------------------
 *
 * scan_missing.c
 *	  Values of columns that are younger than the row.
 *
 * A row that is neither in the row tree nor in a segment of the column has the
 * value that ALTER TABLE ADD COLUMN left in pg_attribute, or NULL.  But the segment
 * may also be lost.  So where another column has a segment that was written when
 * this one existed, its absence is an error, and not NULL (zsattr_check_missing());
 * a stripe of rows is checked once.  A row that another transaction is inserting
 * may have no columns yet: nobody but index builds looks at it.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_missing.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "scan_internal.h"
#include "zs_base.h"
#include "zs_compat.h"
#include "zs_page.h"

/*
 * Is the row one that another transaction is still inserting, or gave up?  Its columns may not
 * have been written.  Nobody but index builds and constraint checks looks at it.
 */
static bool
row_is_unfinished(ZsSlot *slot)
{
	if (!slot->has_vis || (slot->vis.infomask & HEAP_XMIN_COMMITTED) != 0 ||
		!TransactionIdIsNormal(slot->vis.xmin))
		return false;
	return !TransactionIdIsCurrentTransactionId(slot->vis.xmin) &&
		!TransactionIdDidCommit(slot->vis.xmin);
}

/*
 * Must the row, for which no column has a segment, have one?  Rows that came before all columns
 * that are left have none.  But none of these is in a table with a column that is NOT NULL, and has
 * no missing value, unless it was deleted before.  A column that our transaction has altered does
 * not count: it may be about to verify that.
 */
static bool
row_must_have_values(ZsRowSource *source, ZsSlot *slot)
{
	if (!slot->has_vis || !(slot->vis.infomask & HEAP_XMAX_INVALID))
		return false;
	for (int i = 0; i < RelationGetNumberOfAttributes(source->rel); i++)
	{
		TupleDesc	desc = RelationGetDescr(source->rel);
		Form_pg_attribute att = TupleDescAttr(desc, i);
		HeapTuple	tuple;
		bool		altered;

		if (!zs_attr_is_stored(att) || att->atthasmissing || !zs_attr_is_not_null(desc, i))
			continue;
		tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(RelationGetRelid(source->rel)),
								Int16GetDatum(i + 1));
		if (!HeapTupleIsValid(tuple))
			continue;
		altered = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
		ReleaseSysCache(tuple);
		if (!altered)
			return true;
	}
	return false;
}

/*
 * Raises an error if attribute attno (from 0) should have a segment for the row: some other column
 * has one that was written when this attribute existed, or none has one and the row is not as old
 * as that.
 */
static void
check_missing(ZsRowSource *source, ZsSlot *slot, int attno)
{
	zstid		stripe = slot->row - slot->row % ZS_STRIPE_ROWS;

	Assert(attno >= 0 && attno < source->desc->natts);
	if ((source->missing_checked == stripe && attno >= source->missing_natts) ||
		row_is_unfinished(slot))
		return;
	source->missing_natts = zsattr_check_missing(source->rel, source->desc, attno + 1, slot->row);

	/* nothing tells: nor will it for the next column */
	if (source->missing_natts == MaxHeapAttributeNumber)
	{
		if (row_must_have_values(source, slot))
			zsbase_corrupted(source->rel, zspage_tree_root(source->rel, ZS_TREE_TID),
							 "Row " UINT64_FORMAT " exists, but has no values anywhere.",
							 slot->row);
		source->missing_natts = 0;
	}
	source->missing_checked = stripe;
}

/*
 * Value of attribute attno (from 0) for the slot's row, which is neither in the row tree nor in a
 * segment: the column was dropped, or added later.  Errors: ERRCODE_DATA_CORRUPTED if it was
 * neither.
 */
Datum
zsscan_missing_value(ZsRowSource *source, ZsSlot *slot, int attno, bool *isnull)
{
	Assert(source->base.user == slot && slot->row < ZS_MAX_ROW);
	if (TupleDescAttr(source->desc, attno)->attisdropped)
	{
		*isnull = true;
		return (Datum) 0;
	}
	check_missing(source, slot, attno);
	return getmissingattr(source->desc, attno + 1, isnull);
}

/*
 * Value of attribute attno (from 0) for a visible row that is neither in the
 * row tree nor in a segment: the column was added later.  Errors:
 * ERRCODE_DATA_CORRUPTED if it was not.
 */
Datum
zsscan_source_missing(ZsRowSource *source, int attno, zstid row, bool *isnull)
{
	zstid		stripe = row - row % ZS_STRIPE_ROWS;

	Assert(attno >= 0 && attno < source->desc->natts);
	if (source->missing_checked != stripe)
		(void) zsattr_check_missing(source->rel, source->desc, attno + 1, row);
	source->missing_checked = stripe;
	return getmissingattr(source->desc, attno + 1, isnull);
}
