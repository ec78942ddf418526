/*-------------------------------------------------------------------------
 *
 * row_attrs.c
 *	  The attributes of row-tree items.
 *
 * Items are minimal tuples.  Core takes such tuples apart without a look at their
 * length, and follows the lengths that stand in them wherever they lead.  Here
 * the bytes come from disk, so they are walked over with bounds.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/row/row_attrs.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "storage/bufpage.h"
#include "varatt.h"

#include "row_internal.h"

/* Begins a walk, see ZsRowWalk in zs_row.h. */
void
zsrow_walk_begin(ZsRowWalk *walk, TupleDesc desc, const MinimalTupleData *item)
{
	memset(walk, 0, sizeof(ZsRowWalk));
	walk->desc = desc;
	walk->item = item;
	walk->natts = Min(HeapTupleHeaderGetNatts(item), desc->natts);
	walk->data = (const char *) item + item->t_hoff - MINIMAL_TUPLE_OFFSET;
	walk->len = item->t_len - zsrow_item_tail(item) - (item->t_hoff - MINIMAL_TUPLE_OFFSET);
}

/* Bytes of the varlena of which left are there; 0 with *reason. */
static uint32
varlena_size(const char *datum, uint32 left, const char **reason)
{
	if (VARATT_IS_1B_E(datum))
	{
		if (left < ZS_OVERFLOW_DATUM_SIZE || VARTAG_EXTERNAL(datum) != VARTAG_ONDISK)
		{
			*reason = "has an overflow pointer of unknown form";
			return 0;
		}
		return ZS_OVERFLOW_DATUM_SIZE;
	}
	if (VARATT_IS_1B(datum))
		return VARSIZE_1B(datum);
	if (left < VARHDRSZ || VARSIZE_4B(datum) < VARHDRSZ)
	{
		*reason = "has a broken header";
		return 0;
	}
	return VARSIZE_4B(datum);
}

/* The next attribute, see ZsRowWalk in zs_row.h. */
bool
zsrow_walk_next(ZsRowWalk *walk)
{
	Form_pg_attribute att;
	const char *datum;
	uint32		left;
	uint32		size;

	do
	{
		if (walk->attno == walk->natts || walk->reason != NULL)
			return false;
		walk->attno++;
	} while ((walk->item->t_infomask & HEAP_HASNULL) != 0 &&
			 att_isnull(walk->attno - 1, walk->item->t_bits));

	/* a zero byte is padding in front of a varlena's four-byte header */
	att = TupleDescAttr(walk->desc, walk->attno - 1);
	if (att->attlen != -1 || (walk->off < walk->len &&
							  !VARATT_NOT_PAD_BYTE(walk->data + walk->off)))
		walk->off = (uint32) att_align_nominal(walk->off, att->attalign);
	if (walk->off >= walk->len)
	{
		walk->reason = "ends too early";
		return false;
	}

	datum = walk->data + walk->off;
	left = walk->len - walk->off;
	if (att->attlen == -1)
		size = varlena_size(datum, left, &walk->reason);
	else if (att->attlen == -2)
		size = (uint32) strnlen(datum, left) + 1;
	else
		size = att->attlen;
	walk->is_pointer = att->attlen == -1 && VARATT_IS_1B_E(datum);
	if (walk->reason == NULL && size > left)
		walk->reason = "is longer than the row";
	else if (walk->is_pointer && (walk->item->t_infomask & HEAP_HASEXTERNAL) == 0)
		walk->reason = "has an overflow pointer in a row without any";
	walk->off += size;
	walk->value = datum;
	return walk->reason == NULL;
}

/*
 * Raises the error for an item that cannot be taken apart: ERRCODE_DATA_CORRUPTED.
 */
void
zsrow_corrupted(Relation rel, TupleDesc desc, const MinimalTupleData *item)
{
	ZsRowWalk	walk;

	zsrow_walk_begin(&walk, desc, item);
	while (zsrow_walk_next(&walk))
		;
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("table \"%s\" contains a corrupted row",
					RelationGetRelationName(rel)),
			 errdetail_internal("Row tree: attribute %d of row " UINT64_FORMAT " %s.",
								walk.attno, zsrow_item_row(item),
								walk.reason != NULL ? walk.reason : "is not whole")));
}
