/*-------------------------------------------------------------------------
 *
 * scan_source_tree.c
 *	  A row source for scans: the rows of a stripe that are in the row tree.
 *
 * A scan that comes from stripe to stripe with such rows, as in a table of many small inserts
 * before VACUUM, has the leaves to come read ahead (btree_ahead.c).
 *
 * Locks: those of zsrow_next() and zsrow_fetch_range(); none between calls.  Pins: those of
 * look-ahead.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_source_tree.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "scan_internal.h"

/* Gives back what look-ahead has pinned: the scan goes on somewhere else, or not at all. */
void
zsscan_source_rest_tree(ZsRowSource *source)
{
	zsbtree_visitor_rest(&source->tree_visitor);
	source->tree_stripe = ZS_INVALID_ROW;
}

/* The leaves with rows of the stripe are about to be read: their look-ahead, if there is any. */
static ZsBottomAhead *
look_ahead(ZsRowSource *source, zstid stripe)
{
	bool		follows = source->tree_stripe != ZS_INVALID_ROW &&
		stripe == source->tree_stripe + ZS_STRIPE_ROWS;

	if (!source->stream || !zsbtree_visit(&source->tree_visitor, source->rel, ZS_TREE_ROW, stripe,
										  follows, source->strategy, source->context))
		return NULL;
	return source->tree_visitor.ahead;
}

/* Loads the row-tree rows of the stripe unless it is known to have none. */
void
zsscan_source_load_batch(ZsRowSource *source, zstid stripe)
{
	ZsBottomAhead *ahead;

	Assert(source->by_vector && stripe % ZS_STRIPE_ROWS == 0);
	source->batch_stripe = stripe;
	source->batch_pos = 0;
	source->row_looks++;
	if (source->batch != NULL)
		source->batch->nitems = 0;
	if (source->trust_next_tree_row && source->next_tree_row >= stripe + ZS_STRIPE_ROWS &&
		stripe >= source->next_tree_from)
		return;

	/* behind a stripe with rows there comes another one */
	ahead = look_ahead(source, stripe);
	if (source->tree_stripe == ZS_INVALID_ROW || stripe != source->tree_stripe + ZS_STRIPE_ROWS)
	{
		source->next_tree_from = stripe;
		source->next_tree_row = zsrow_next(source->rel, stripe);
		if (source->next_tree_row >= stripe + ZS_STRIPE_ROWS)
			return;
	}
	if (source->batch == NULL)
		source->batch = zsrow_batch_create(source->context);
	source->next_tree_row = 0;
	if (zsrow_fetch_range_ahead(source->rel, stripe, stripe + ZS_STRIPE_ROWS, source->batch,
								ahead) > 0)
		source->tree_stripe = stripe;
	ZS_INJECTION_POINT("zs-source-batch");
}

/*
 * The scan has come to its end, and no slot has a row of it: the memory of the row tree's rows goes
 * to others, unless the table is read again and again.
 */
void
zsscan_source_rest(ZsRowSource *source)
{
	if (source->batch == NULL || source->keeps || source->tuple_owned || source->base.user != NULL)
		return;
	zsrow_batch_free(source->batch);
	source->batch = NULL;
	source->batch_stripe = ZS_INVALID_ROW;
	source->tuple = NULL;
	source->row_located = false;
}

/* The row's tuple in the present batch; rows are asked for in either direction. */
MinimalTuple
zsscan_source_tree_row(ZsRowSource *source, zstid row)
{
	ZsRowBatch *batch = source->batch;
	int			low = 0;
	int			high;

	Assert(source->batch_stripe == row - row % ZS_STRIPE_ROWS);
	/* the next row is usually the next item */
	if (source->batch_pos < batch->nitems &&
		zsrow_item_row(batch->items[source->batch_pos]) == row)
		return batch->items[source->batch_pos++];

	high = batch->nitems;
	while (low < high)
	{
		int			mid = (low + high) / 2;
		zstid		found = zsrow_item_row(batch->items[mid]);

		if (found == row)
		{
			source->batch_pos = mid + 1;
			return batch->items[mid];
		}
		if (found < row)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}
