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

/* Stripes side by side with rows in the tree after which more are expected. */
#define STRIPES_BEFORE_AHEAD	2

/* Gives back what look-ahead has pinned: the scan goes on somewhere else, or not at all. */
void
zsscan_source_rest_tree(ZsRowSource *source)
{
	if (source->tree_ahead != NULL)
		zsbtree_ahead_rest(source->tree_ahead);
	source->tree_stripe = ZS_INVALID_ROW;
	source->tree_stripes = 0;
}

/* The same for good. */
void
zsscan_source_end_tree(ZsRowSource *source)
{
	if (source->tree_ahead != NULL)
		zsbtree_ahead_end(source->tree_ahead);
	source->tree_ahead = NULL;
}

/* The leaves with rows of the stripe are about to be read. */
static void
look_ahead(ZsRowSource *source, zstid stripe)
{
	if (source->tree_stripe == ZS_INVALID_ROW || stripe != source->tree_stripe + ZS_STRIPE_ROWS)
	{
		if (source->tree_stripes > 0)
			zsscan_source_rest_tree(source);
		return;
	}
	if (++source->tree_stripes < STRIPES_BEFORE_AHEAD)
		return;
	if (!source->tree_asked)
	{
		MemoryContext old = MemoryContextSwitchTo(source->context);

		source->tree_asked = true;
		source->tree_ahead = zsbtree_ahead_begin(source->rel, ZS_TREE_ROW, ZS_MAX_ROW, false, false,
												 source->strategy);
		MemoryContextSwitchTo(old);
	}
	if (source->tree_ahead != NULL)
		zsbtree_ahead_reach(source->tree_ahead, stripe);
}

/* Loads the row-tree rows of the stripe unless it is known to have none. */
void
zsscan_source_load_batch(ZsRowSource *source, zstid stripe)
{
	Assert(source->by_vector && stripe % ZS_STRIPE_ROWS == 0);
	source->batch_stripe = stripe;
	source->batch_pos = 0;
	source->row_looks++;
	if (source->batch != NULL)
		source->batch->nitems = 0;
	if (source->trust_next_tree_row && source->next_tree_row >= stripe + ZS_STRIPE_ROWS &&
		stripe >= source->next_tree_from)
		return;

	if (source->stream)
		look_ahead(source, stripe);
	source->next_tree_from = stripe;
	source->next_tree_row = zsrow_next(source->rel, stripe);
	if (source->next_tree_row >= stripe + ZS_STRIPE_ROWS)
		return;
	if (source->batch == NULL)
		source->batch = zsrow_batch_create(source->context);
	zsrow_fetch_range_ahead(source->rel, stripe, stripe + ZS_STRIPE_ROWS, source->batch,
							source->tree_stripes >= STRIPES_BEFORE_AHEAD ?
							source->tree_ahead : NULL);
	source->next_tree_row = 0;
	source->tree_stripe = stripe;
}
