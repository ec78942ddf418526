/*-------------------------------------------------------------------------
 *
 * write_keep.c
 *	  Large values that an UPDATE leaves as they are.
 *
 * A value that is too large for a row lies on pages of its own, and the row has a pointer
 * (attr_overflow.c).  An UPDATE of another column would write the value again, whole,
 * to new pages and to the log.  Instead the new version gets the old one's pointer, and
 * the value counts that it has one more.
 *
 * That is found out only for rows that do not fit the row tree as they are: then the old row's
 * pointers are looked up, and compared with those that the new row has from it (attr_toast.c), so
 * that nobody reads the values; a value of the new row's own is compared if it has the same length.
 *
 * The value counts a pointer before the row that has it is written, so that it never has more than
 * it knows of.  For a single row that is in the same step; for buffered ones when they are written,
 * since a transaction that is rolled back before does not write them.  Rows with such a pointer go
 * into the row tree, not into column parts, where rows of rolled-back subtransactions may be
 * written with the others.
 *
 * Why the value is there still: the old version is visible to the snapshot of the UPDATE, or locked
 * by it; from then on its xmax is ours.  It cannot be removed before we end, unless a
 * subtransaction of ours does, whose buffered rows are dropped then.
 *
 * Crash, or an error, between the count and the row: the value counts one pointer too many
 * (docs/wal.md).
 *
 * As in heap, where a new version has the same TOAST pointer; heap does not need to count, because
 * the version that gives a value up marks it deleted.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_keep.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "write_internal.h"
#include "zs_compat.h"

/*
 * The overflow pointers that the columns attrs (as
 * RelationGetIndexAttrBitmap() returns them) of a stored row have; returns how
 * many.  values has room for one a column.
 */
int
zswrite_stored_pointers(Relation rel, zstid row, const Bitmapset *attrs, ZsKeptValue *values)
{
	MinimalTuple item = zsrow_fetch(rel, row);
	int			n = 0;

	/* rows leave the row tree after their segments are there */
	if (item != NULL)
	{
		ZsRowWalk	walk;

		if (item->t_infomask & HEAP_HASEXTERNAL)
		{
			zsrow_walk_begin(&walk, RelationGetDescr(rel), item);
			while (zsrow_walk_next(&walk))
			{
				if (!walk.is_pointer ||
					!bms_is_member(walk.attno - FirstLowInvalidHeapAttributeNumber, attrs))
					continue;
				values[n].attno = walk.attno;
				zsattr_overflow_from_datum((const struct varlena *) walk.value, &values[n].pointer);
				n++;
			}
		}
		pfree(item);
	}
	else
	{
		int			i = -1;

		while ((i = bms_next_member(attrs, i)) >= 0)
		{
			values[n].attno = (AttrNumber) (i + FirstLowInvalidHeapAttributeNumber);
			if (zsattr_find_pointer(rel, values[n].attno, row, &values[n].pointer))
				n++;
		}
	}
	return n;
}

/* Has them looked for, unless that was done or the new row is not a wide one. */
void
zswrite_keep_find(ZsKeptValues *kept, Relation rel, TupleTableSlot *slot)
{
	if (kept->asked)
		return;
	Assert(kept->n == 0 && kept->values == NULL);
	kept->asked = true;
	if (zs_enable_value_sharing && zswrite_is_wide(rel, slot))
		kept->find(kept);
}

/* ---- counting ---------------------------------------------------------------- */

/* Pins the values' first pages, for zswrite_keep_share(), and lets go of them. */
void
zswrite_keep_pin(ZsKeptValues *kept, Relation rel)
{
	for (int i = 0; i < kept->n; i++)
		kept->values[i].buf = zsattr_overflow_pin(rel, &kept->values[i].pointer);
}

/* Lets go of the pages that zswrite_keep_pin() pinned. */
void
zswrite_keep_unpin(ZsKeptValues *kept)
{
	for (int i = 0; i < kept->n; i++)
		ReleaseBuffer(kept->values[i].buf);
}

/* The values count one pointer more each, and one less. */
void
zswrite_keep_share(const ZsKeptValues *kept, Relation rel)
{
	for (int i = 0; i < kept->n; i++)
		zsattr_overflow_share(rel, kept->values[i].attno, &kept->values[i].pointer,
							  kept->values[i].buf);
	if (kept->n > 0)
		ZS_INJECTION_POINT("zs-write-share");
}

/*
 * The values count one pointer less each: takes back what zswrite_keep_share()
 * did.
 */
void
zswrite_keep_unshare(const ZsKeptValues *kept, Relation rel)
{
	for (int i = 0; i < kept->n; i++)
		(void) zsattr_overflow_free(rel, kept->values[i].attno, &kept->values[i].pointer);
}

/* ---- rows in the buffer --------------------------------------------------------- */

/*
 * As zswrite_keep_share(), for a row in the buffer: to be counted when it is
 * written.
 */
void
zswrite_keep_remember(ZsWriteBuffer *buf, zstid row, const ZsKeptValues *kept)
{
	Assert(buf->nitems > 0 && zsrow_item_row(buf->items[buf->nitems - 1]) == row);
	if (buf->nkept + kept->n > buf->maxkept)
	{
		int			n = Max(buf->maxkept * 2, buf->nkept + kept->n);

		buf->kept = zswrite_grow(buf, buf->kept, buf->maxkept * sizeof(ZsKeptPointer),
								 n * sizeof(ZsKeptPointer));
		buf->maxkept = n;
	}
	for (int i = 0; i < kept->n; i++)
	{
		ZsKeptPointer *to = &buf->kept[buf->nkept++];

		Assert(i == 0 || kept->values[i - 1].attno < kept->values[i].attno);
		to->row = row;
		to->attno = kept->values[i].attno;
		to->pointer = kept->values[i].pointer;
	}
}

/*
 * The row, the last one of the buffer, is taken out of it: what it was to
 * share is forgotten.
 */
void
zswrite_keep_forget(ZsWriteBuffer *buf, zstid row)
{
	while (buf->nkept > 0 && buf->kept[buf->nkept - 1].row == row)
		buf->nkept--;
}

/* For bsearch(): a row number and an item. */
static int
compare_with_item(const void *key, const void *element)
{
	zstid		row = *(const zstid *) key;
	zstid		other = zsrow_item_row(*(MinimalTuple const *) element);

	return row < other ? -1 : row > other;
}

/*
 * Counts those of all buffered items, which are in order and about to be
 * written.
 */
void
zswrite_keep_share_buffered(Relation rel, ZsWriteBuffer *buf)
{
	/*
	 * one after the other leaves the list: an error may be caught by a savepoint, and all this be
	 * done again
	 */
	while (buf->nkept > 0)
	{
		const ZsKeptPointer *kept = &buf->kept[buf->nkept - 1];

		CHECK_FOR_INTERRUPTS();
		if (bsearch(&kept->row, buf->items, buf->nitems, sizeof(MinimalTuple),
					compare_with_item) != NULL)
		{
			Buffer		pin = zsattr_overflow_pin(rel, &kept->pointer);

			zsattr_overflow_share(rel, kept->attno, &kept->pointer, pin);
			ReleaseBuffer(pin);
		}
		buf->nkept--;
		ZS_INJECTION_POINT("zs-write-share-buffered");
	}
}
