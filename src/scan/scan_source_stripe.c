/*-------------------------------------------------------------------------
 *
 * scan_source_stripe.c
 *	  A row source for scans by batches: columns of whole stripes.
 *
 * The order in which scan_source.c finds a row is the caller's here: it looks for the stripe's
 * rows in the row tree by zsscan_source_stripe() before it asks for any column.
 *
 * Nothing is locked between calls.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_source_stripe.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "scan_internal.h"

/*
 * Looks into the row tree for rows of the stripe, which comes before any look
 * into segments.  Returns them, or NULL if there are none; valid until the
 * next stripe.
 */
const ZsRowBatch *
zsscan_source_stripe(ZsRowSource *source, zstid stripe)
{
	Assert(source->by_vector && stripe % ZS_STRIPE_ROWS == 0);
	if (source->batch_stripe != stripe)
	{
		/* the tuple of a row that was looked at lies in the batch that goes */
		source->row_located = false;
		zsscan_source_load_batch(source, stripe);
	}
	return source->batch == NULL || source->batch->nitems == 0 ? NULL : source->batch;
}

/*
 * Attribute attno (from 0) in the wanted forms for the stripe, which zsscan_source_stripe() was
 * called for; NULL if no segment has any.  rows: of VALUES alone only those of these rows are
 * needed, see zsattr_reader_some(); NULL: all.  With again, past all copies, since the vector does
 * not have a row that must be somewhere; that costs something once for each column and stripe.
 */
const ZsVectorOut *
zsscan_source_forms(ZsRowSource *source, int attno, zstid stripe, uint32 want, const uint64 *rows,
					bool again)
{
	ZsSourceColumn *column = &source->columns[attno];
	ZsAttrReader *reader = zsscan_source_reader(source, attno, stripe);

	Assert(source->batch_stripe == stripe && !TupleDescAttr(source->desc, attno)->attisdropped);
	if (again && column->asked_again != source->row_looks)
	{
		zsattr_reader_forget(reader);
		column->stripe = ZS_INVALID_ROW;
		column->asked_again = source->row_looks;
	}

	/*
	 * the reader's memory is this stripe's from now on; a scan that turns round may come back to
	 * the other one
	 */
	if (column->stripe != stripe)
		column->stripe = ZS_INVALID_ROW;
	return rows != NULL && want == ZS_FORM_VALUES ? zsattr_reader_some(reader, stripe, rows) :
		zsattr_reader_forms(reader, stripe, want);
}

/* What the attribute's values in the stripe come to, as zsattr_reader_totals() says. */
bool
zsscan_source_totals(ZsRowSource *source, int attno, zstid stripe, bool extremes,
					 ZsVectorTotals *totals)
{
	ZsSourceColumn *column = &source->columns[attno];

	Assert(source->batch_stripe == stripe);
	if (column->stripe != stripe)
		column->stripe = ZS_INVALID_ROW;
	return zsattr_reader_totals(zsscan_source_reader(source, attno, stripe), stripe, extremes,
								totals);
}

/*
 * The dictionary that goes with codes of such a vector, as
 * zsattr_reader_shared() has it.
 */
const ZsSharedState *
zsscan_source_shared(ZsRowSource *source, int attno, uint64 *serial)
{
	Assert(source->columns[attno].reader != NULL);
	return zsattr_reader_shared(source->columns[attno].reader, false, serial);
}

/* The same for entries besides values, as zsattr_reader_entries() has it. */
uint32
zsscan_source_entries(ZsRowSource *source, int attno, uint64 *serial)
{
	Assert(source->columns[attno].reader != NULL);
	return zsattr_reader_entries(source->columns[attno].reader, serial);
}

/*
 * Directory of the segment that has the stripe, and the vector's number; NULL
 * if none.  Decodes nothing.
 */
const ZsSegmentInfo *
zsscan_source_info(ZsRowSource *source, int attno, zstid stripe, int *vecno)
{
	Assert(source->batch_stripe == stripe);
	return zsattr_reader_info(zsscan_source_reader(source, attno, stripe), stripe, vecno);
}
