/*-------------------------------------------------------------------------
 *
 * check_row.c
 *	  zs_check(): leaves of the row tree.
 *
 * zsrow_leaf_check() checks that items are where they should be.  Here each
 * item is taken apart, attribute by attribute, without believing a length; and
 * its row number must be one that the TID tree knows, or a later insertion
 * into the same number would find it taken.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/check_row.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "miscadmin.h"

#include "check_internal.h"
#include "zs_row.h"

typedef struct LeafRows
{
	BlockNumber blkno;
	Page		page;
	zstid		row;			/* out: first row that is unused in the TID tree */
	bool		found;
	zstid		other_row;		/* out: the last row that names another inserter than that */
	bool		other_found;
} LeafRows;

static MinimalTuple
leaf_item(Page page, OffsetNumber offset)
{
	Assert(offset >= FirstOffsetNumber && offset <= PageGetMaxOffsetNumber(page));
	return (MinimalTuple) PageGetItem(page, PageGetItemId(page, offset));
}

/* ---- attributes -------------------------------------------------------------------- */

/* ZsCheckStep */
static void
look_for_row(ZsCheck *check, void *arg)
{
	LeafRows   *leaf = arg;

	leaf->found = zscheck_row_needed(check, leaf->row);
}

/*
 * May somebody ask for the row?  One that is left of an aborted transaction need not fit the table:
 * the transaction may have added a column, whose number has another type today or none.
 */
static bool
row_is_needed(ZsCheck *check, zstid row)
{
	LeafRows	leaf = {.row = row};

	return zscheck_protect(check, look_for_row, &leaf) == NULL && leaf.found;
}

/* All attributes of one row. */
static void
check_attributes(ZsCheck *check, BlockNumber blkno, MinimalTuple item)
{
	zstid		row = zsrow_item_row(item);
	ZsRowWalk	walk;

	zsrow_walk_begin(&walk, RelationGetDescr(check->rel), item);
	while (zsrow_walk_next(&walk))
	{
		ZsOverflowPointer pointer;

		if (!walk.is_pointer)
			continue;
		zsattr_overflow_from_datum((const struct varlena *) walk.value, &pointer);
		zscheck_overflow(check, ZsTreeOfAttr(walk.attno), row, &pointer, false);
	}
	if (walk.reason != NULL && row_is_needed(check, row))
		zscheck_error(check, blkno, ZS_TREE_ROW,
					  "row tree leaf: attribute %d of row " UINT64_FORMAT " %s",
					  walk.attno, row, walk.reason);
}

/* ---- leaves ------------------------------------------------------------------------- */

/*
 * ZsCheckStep: is each row of the leaf a row of the TID tree?
 */
static void
compare_with_tids(ZsCheck *check, void *arg)
{
	LeafRows   *leaf = arg;
	OffsetNumber maxoff = PageGetMaxOffsetNumber(leaf->page);
	zstid		first = zsrow_item_row(leaf_item(leaf->page, FirstOffsetNumber));
	zstid		last = zsrow_item_row(leaf_item(leaf->page, maxoff));
	ZsTidScan  *scan = zstid_scan_begin(check->rel, NULL, first, last + 1, NULL);
	ZsTidRun	run = {0};
	const ZsVisSlot *vis;

	Assert(maxoff >= FirstOffsetNumber && first <= last && !leaf->found);
	for (OffsetNumber offset = FirstOffsetNumber; offset <= maxoff && !leaf->found; offset++)
	{
		zstid		row = zsrow_item_row(leaf_item(leaf->page, offset));
		bool		more = true;

		while (more && run.first + run.count <= row)
			more = zstid_scan_next(scan, &run, &vis);
		if (!more || row < run.first)
		{
			leaf->row = row;
			leaf->found = true;
		}
		else if (run.slotno >= ZS_FIRST_REAL_SLOT && TransactionIdIsNormal(vis->xmin) &&
				 ZS_KEEPS_XMIN(check->meta.version) &&
				 zsrow_item_xmin(leaf_item(leaf->page, offset)) != vis->xmin)
		{
			leaf->other_row = row;
			leaf->other_found = true;
		}
	}
	zstid_scan_end(scan);
}

static void
check_item(ZsCheck *check, BlockNumber blkno, MinimalTuple item)
{
	zstid		row = zsrow_item_row(item);

	check_attributes(check, blkno, item);

	if (TransactionIdIsValid(zsrow_item_xmin(item)) != ZS_KEEPS_XMIN(check->meta.version) &&
		row_is_needed(check, row))
		zscheck_error(check, blkno, ZS_TREE_ROW,
					  ZS_KEEPS_XMIN(check->meta.version) ?
					  "row tree leaf: row " UINT64_FORMAT " has no transaction id" :
					  "row tree leaf: row " UINT64_FORMAT " has a transaction id, the table keeps none",
					  row);
	if (HeapTupleHeaderGetNatts(item) > RelationGetNumberOfAttributes(check->rel) &&
		row_is_needed(check, row))
		zscheck_error(check, blkno, ZS_TREE_ROW,
					  "row tree leaf: row " UINT64_FORMAT " has %d attributes, the table has %d",
					  row, HeapTupleHeaderGetNatts(item),
					  RelationGetNumberOfAttributes(check->rel));
}

/*
 * A leaf of the row tree, a copy: its items, its overflow pointers, and
 * whether the rows exist.
 */
void
zscheck_row_leaf(ZsCheck *check, BlockNumber blkno, Page page)
{
	LeafRows	leaf = {.blkno = blkno, .page = page};
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
	const char *reason = zsrow_leaf_check(page);
	char	   *error;

	if (reason != NULL)
	{
		zscheck_error(check, blkno, ZS_TREE_ROW, "row tree leaf: %s", reason);
		return;
	}
	if (maxoff == 0)
		return;

	for (OffsetNumber offset = FirstOffsetNumber; offset <= maxoff; offset++)
		check_item(check, blkno, leaf_item(page, offset));

	/* a TID tree that cannot be read is reported by itself */
	error = zscheck_protect(check, compare_with_tids, &leaf);
	if (error == NULL && leaf.found)
		zscheck_error(check, blkno, ZS_TREE_ROW,
					  "row tree leaf: row " UINT64_FORMAT " is unused in the TID tree", leaf.row);
	if (error == NULL && leaf.other_found && row_is_needed(check, leaf.other_row))
		zscheck_error(check, blkno, ZS_TREE_ROW,
					  "row tree leaf: row " UINT64_FORMAT " has another transaction id than in the TID tree",
					  leaf.other_row);
}
