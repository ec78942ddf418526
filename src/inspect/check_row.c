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
#include "access/tupmacs.h"
#include "miscadmin.h"
#include "varatt.h"

#include "check_internal.h"
#include "zs_row.h"

/* One row that is being taken apart. */
typedef struct RowWalk
{
	ZsCheck    *check;
	MinimalTuple item;
	zstid		row;
	const char *data;			/* first attribute */
	uint32		len;			/* bytes from there on */
	uint32		off;			/* next attribute */
} RowWalk;

typedef struct LeafRows
{
	BlockNumber blkno;
	Page		page;
	zstid		row;			/* out: first row that is unused in the TID tree */
	bool		found;
} LeafRows;

static MinimalTuple
leaf_item(Page page, OffsetNumber offset)
{
	return (MinimalTuple) PageGetItem(page, PageGetItemId(page, offset));
}

/* ---- attributes -------------------------------------------------------------------- */

/* A varlena attribute at walk->off; steps over it.  What is wrong, or NULL. */
static const char *
check_varlena(RowWalk *walk, Form_pg_attribute att)
{
	const char *datum;
	uint32		left;
	uint32		size;

	/* a zero byte is padding in front of a four-byte header */
	if (walk->off < walk->len && !VARATT_NOT_PAD_BYTE(walk->data + walk->off))
		walk->off = (uint32) att_align_nominal(walk->off, att->attalign);
	if (walk->off >= walk->len)
		return "ends too early";
	datum = walk->data + walk->off;
	left = walk->len - walk->off;

	if (VARATT_IS_1B_E(datum))
	{
		ZsOverflowPointer pointer;

		if (left < VARHDRSZ_EXTERNAL || VARTAG_EXTERNAL(datum) != VARTAG_ONDISK ||
			left < ZS_OVERFLOW_DATUM_SIZE)
			return "has an overflow pointer of unknown form";
		zsattr_overflow_from_datum((const struct varlena *) datum, &pointer);
		zscheck_overflow(walk->check, ZsTreeOfAttr(att->attnum), walk->row, &pointer);
		size = ZS_OVERFLOW_DATUM_SIZE;
	}
	else if (VARATT_IS_1B(datum))
		size = VARSIZE_1B(datum);
	else
	{
		if (left < VARHDRSZ || VARSIZE_4B(datum) < VARHDRSZ)
			return "has a broken header";
		size = VARSIZE_4B(datum);
	}
	if (size > left)
		return "is longer than the row";
	walk->off += size;
	return NULL;
}

/* Any attribute that is not null. */
static const char *
check_attribute(RowWalk *walk, Form_pg_attribute att)
{
	if (att->attlen == -1)
		return check_varlena(walk, att);

	walk->off = (uint32) att_align_nominal(walk->off, att->attalign);
	if (att->attlen == -2)
	{
		const char *end;

		if (walk->off >= walk->len)
			return "ends too early";
		end = memchr(walk->data + walk->off, 0, walk->len - walk->off);
		if (end == NULL)
			return "is not terminated";
		walk->off = (uint32) (end + 1 - walk->data);
		return NULL;
	}
	walk->off += att->attlen;
	return walk->off <= walk->len ? NULL : "ends too early";
}

/* ZsCheckStep */
static void
look_for_row(ZsCheck *check, void *arg)
{
	LeafRows   *leaf = arg;

	leaf->found = zscheck_row_needed(check, leaf->row);
}

/*
 * May somebody ask for the row?  One that is left of an aborted transaction need not fit the table: the
 * transaction may have added a column, whose number has another type today or none.
 */
static bool
row_is_needed(ZsCheck *check, zstid row)
{
	LeafRows	leaf = {.row = row};

	return zscheck_protect(check, look_for_row, &leaf) == NULL && leaf.found;
}

/* All attributes of one row. */
static void
check_attributes(RowWalk *walk, BlockNumber blkno)
{
	TupleDesc	desc = RelationGetDescr(walk->check->rel);
	const MinimalTupleData *item = walk->item;
	bool		has_nulls = (item->t_infomask & HEAP_HASNULL) != 0;
	int			natts = HeapTupleHeaderGetNatts(item);

	for (int i = 0; i < Min(natts, desc->natts); i++)
	{
		const char *reason;

		if (has_nulls && att_isnull(i, item->t_bits))
			continue;
		reason = check_attribute(walk, TupleDescAttr(desc, i));
		if (reason != NULL)
		{
			if (row_is_needed(walk->check, walk->row))
				zscheck_error(walk->check, blkno, ZS_TREE_ROW,
							  "row tree leaf: attribute %d of row " UINT64_FORMAT " %s",
							  i + 1, walk->row, reason);
			return;
		}
	}
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
	ZsTidScan  *scan = zstid_scan_begin(check->rel, NULL, first, last + 1);
	ZsTidRun	run = {0};
	const ZsVisSlot *vis;

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
	}
	zstid_scan_end(scan);
}

static void
check_item(ZsCheck *check, BlockNumber blkno, MinimalTuple item)
{
	RowWalk		walk = {.check = check, .item = item, .row = zsrow_item_row(item)};

	walk.data = (const char *) item + item->t_hoff - MINIMAL_TUPLE_OFFSET;
	walk.len = item->t_len - (item->t_hoff - MINIMAL_TUPLE_OFFSET);
	check_attributes(&walk, blkno);

	if (HeapTupleHeaderGetNatts(item) > RelationGetNumberOfAttributes(check->rel) &&
		row_is_needed(check, walk.row))
		zscheck_error(check, blkno, ZS_TREE_ROW,
					  "row tree leaf: row " UINT64_FORMAT " has %d attributes, the table has %d",
					  walk.row, HeapTupleHeaderGetNatts(item),
					  RelationGetNumberOfAttributes(check->rel));
}

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
}
