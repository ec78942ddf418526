/*-------------------------------------------------------------------------
 *
 * write_items.c
 *	  The row batch of a write buffer: items for the row tree.
 *
 * An item is a minimal tuple of at most ZS_ROW_MAX_ITEM bytes.  What is larger
 * leaves its largest values on overflow pages, if the caller allows that.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_items.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "write_internal.h"

/* ---- forming items ---------------------------------------------------------------------- */

/* An external varlena that stands for a value on overflow pages, palloc'd. */
Datum
zswrite_pointer_datum(const ZsOverflowPointer *pointer)
{
	char	   *datum = palloc(ZS_OVERFLOW_DATUM_SIZE);

	zsattr_overflow_to_datum(pointer, datum);
	return PointerGetDatum(datum);
}

/*
 * A by-reference datum of the type's length, palloc'd; data are what follows
 * its header.
 */
Datum
zswrite_form_datum(int16 attlen, const void *data, Size len)
{
	Size		header = attlen == -1 ? VARHDRSZ : 0;
	char	   *result = palloc(header + len);

	Assert(attlen == -1 || attlen == -2 || (Size) attlen == len);
	if (attlen == -1)
		SET_VARSIZE(result, VARHDRSZ + len);
	memcpy(result + header, data, len);
	return PointerGetDatum(result);
}

/*
 * Replaces the largest plain value of the row that is worth it by an overflow pointer; false when
 * there is none.
 */
static bool
push_out_largest(Relation rel, Datum *values, const bool *isnull)
{
	TupleDesc	desc = RelationGetDescr(rel);
	Size		largest = ZSWRITE_PUSH_OUT_THRESHOLD;
	int			victim = -1;
	ZsOverflowPointer pointer;
	ZsCompression compression;
	int			level;
	struct varlena *v;

	for (int i = 0; i < desc->natts; i++)
	{
		if (isnull[i] || TupleDescAttr(desc, i)->attlen != -1 ||
			VARATT_IS_EXTERNAL(DatumGetPointer(values[i])) ||
			VARSIZE_ANY(DatumGetPointer(values[i])) <= largest)
			continue;
		largest = VARSIZE_ANY(DatumGetPointer(values[i]));
		victim = i;
	}
	if (victim < 0)
		return false;

	v = (struct varlena *) DatumGetPointer(values[victim]);
	zswrite_compression(rel, victim + 1, &compression, &level);
	zsattr_overflow_write(rel, victim + 1, VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v),
						  compression, level, &pointer);
	values[victim] = zswrite_pointer_datum(&pointer);
	return true;
}

/* Size of the row's item if it were formed now; nothing is written. */
static Size
item_size(TupleDesc desc, const Datum *values, const bool *isnull)
{
	bool		any_null = false;
	Size		len = SizeofMinimalTupleHeader;

	for (int i = 0; i < desc->natts && !any_null; i++)
		any_null = isnull[i];
	if (any_null)
		len += BITMAPLEN(desc->natts);
	return MAXALIGN(len) + heap_compute_data_size(desc, values, isnull);
}

/*
 * Would the row fit an item, with all its large values pushed out?  Nothing is written.  The answer
 * may be no for a row that just fits, but a yes is certain.
 */
bool
zswrite_fits_item(Relation rel, TupleTableSlot *slot)
{
	TupleDesc	desc = RelationGetDescr(rel);
	Size		size = MAXALIGN(SizeofMinimalTupleHeader + BITMAPLEN(desc->natts));

	slot_getallattrs(slot);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Datum		value = slot->tts_values[i];
		Size		len;

		if (slot->tts_isnull[i])
			continue;
		size = att_align_nominal(size, att->attalign);
		if (att->attlen == -1)
		{
			if (VARATT_IS_EXTERNAL(DatumGetPointer(value)) ||
				VARATT_IS_COMPRESSED(DatumGetPointer(value)))
				len = toast_raw_datum_size(value);
			else
				len = VARSIZE_ANY(DatumGetPointer(value));
			size += len > ZSWRITE_PUSH_OUT_THRESHOLD ? ZS_OVERFLOW_DATUM_SIZE : len;
		}
		else
			size = att_addlength_datum(size, att->attlen, value);
	}
	return size <= ZS_ROW_MAX_ITEM;
}

/* Would the row, with all its values in it, be too large for an item? */
bool
zswrite_is_wide(Relation rel, TupleTableSlot *slot)
{
	TupleDesc	desc = RelationGetDescr(rel);

	slot_getallattrs(slot);
	for (int i = 0; i < desc->natts; i++)
	{
		struct varlena *v = (struct varlena *) DatumGetPointer(slot->tts_values[i]);

		if (!slot->tts_isnull[i] && TupleDescAttr(desc, i)->attlen == -1 &&
			(VARATT_IS_EXTERNAL(v) || VARATT_IS_COMPRESSED(v)))
			return true;
	}
	return item_size(desc, slot->tts_values, slot->tts_isnull) > ZS_ROW_MAX_ITEM;
}

/*
 * The item for a row with these values, palloc'd in context.  NULL if it does
 * not fit, with push_out only if no value is left that may leave for overflow
 * pages; values[] has their pointers then.
 */
MinimalTuple
zswrite_form_values(Relation rel, MemoryContext context, Datum *values, const bool *isnull,
					bool push_out)
{
	TupleDesc	desc = RelationGetDescr(rel);
	MemoryContext old;
	MinimalTuple item;

	while (item_size(desc, values, isnull) > ZS_ROW_MAX_ITEM)
	{
		if (!push_out || !push_out_largest(rel, values, isnull))
			return NULL;
	}
	old = MemoryContextSwitchTo(context);
	item = zs_heap_form_minimal_tuple(desc, values, (bool *) isnull, 0);
	MemoryContextSwitchTo(old);
	Assert(item->t_len <= ZS_ROW_MAX_ITEM);
	return item;
}

/*
 * The slot's row as an item for the row tree, palloc'd in context.  kept (may
 * be NULL): pointers that stand for values. push_out: writes other large
 * values to overflow pages, as many as are needed; the row must fit then
 * (zswrite_fits_item()).  Else NULL if it does not.
 */
MinimalTuple
zswrite_form_item(Relation rel, MemoryContext context, TupleTableSlot *slot,
				  const ZsKeptValues *kept, bool push_out)
{
	TupleDesc	desc = RelationGetDescr(rel);
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext, "zedstore row",
											   ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);
	Datum	   *values = palloc(Max(desc->natts, 1) * sizeof(Datum));
	int			nextkept = 0;
	MinimalTuple item;

	slot_getallattrs(slot);
	for (int i = 0; i < desc->natts; i++)
	{
		struct varlena *v;

		values[i] = slot->tts_values[i];
		if (kept != NULL && nextkept < kept->n && kept->values[nextkept].attno == i + 1)
		{
			values[i] = zswrite_pointer_datum(&kept->values[nextkept++].pointer);
			continue;
		}
		if (slot->tts_isnull[i] || TupleDescAttr(desc, i)->attlen != -1)
			continue;
		v = (struct varlena *) DatumGetPointer(values[i]);
		if (VARATT_IS_EXTERNAL(v) || VARATT_IS_COMPRESSED(v))
			values[i] = PointerGetDatum(detoast_attr(v));
	}
	item = zswrite_form_values(rel, context, values, slot->tts_isnull, push_out);
	if (item == NULL && push_out)
		elog(ERROR, "row of table \"%s\" does not fit an item of the row tree",
			 RelationGetRelationName(rel));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
	return item;
}

/* ---- the batch ----------------------------------------------------------------------------- */

/* Frees an item that leaves the row batch. */
static void
free_item(ZsWriteBuffer *buf, MinimalTuple item)
{
	zswrite_account(buf, -(int64) item->t_len);
	pfree(item);
}

/*
 * Appends an item, palloc'd in the buffer's context, to the row batch, as row
 * number row.  The batch owns it from now on.
 */
void
zswrite_append_item(ZsWriteBuffer *buf, zstid row, MinimalTuple item)
{
	if (buf->nitems == buf->maxitems)
	{
		int			n = Max(8, buf->maxitems * 2);

		buf->items = zswrite_grow(buf, buf->items, buf->maxitems * sizeof(MinimalTuple),
						  n * sizeof(MinimalTuple));
		buf->maxitems = n;
	}
	Assert(row < ZS_MAX_ROW && item->t_len <= ZS_ROW_MAX_ITEM);
	zsrow_item_set_row(item, row);
	zswrite_account(buf, item->t_len);
	buf->items[buf->nitems++] = item;
}

/* Takes the last items of the row batch away again and frees them; nitems stay. */
void
zswrite_items_drop_last(ZsWriteBuffer *buf, int nitems)
{
	Assert(nitems >= buf->nwritten && nitems <= buf->nitems);
	while (buf->nitems > nitems)
		free_item(buf, buf->items[--buf->nitems]);
}

static int
compare_items(const void *a, const void *b)
{
	zstid		ra = zsrow_item_row(*(MinimalTuple const *) a);
	zstid		rb = zsrow_item_row(*(MinimalTuple const *) b);

	return ra < rb ? -1 : ra > rb;
}

/* Each row is there once. */
static void
check_order(const ZsWriteBuffer *buf)
{
#ifdef USE_ASSERT_CHECKING
	for (int i = 1; i < buf->nitems; i++)
		Assert(zsrow_item_row(buf->items[i - 1]) < zsrow_item_row(buf->items[i]));
#endif
}

/*
 * Drops the rows of subtransactions that were rolled back.  VACUUM may have taken their row numbers
 * already, and given them to others; those of our own live rows it leaves alone.
 */
static void
drop_aborted_items(Relation rel, ZsWriteBuffer *buf)
{
	bool	   *live = palloc_array(bool, Max(buf->nitems, 1));
	int			kept = 0;

	/*
	 * an error here may be caught by a savepoint, and all this be done again: nothing is changed
	 * before all are judged
	 */
	for (int i = 0; i < buf->nitems; i++)
	{
		CHECK_FOR_INTERRUPTS();
		live[i] = zswrite_row_may_live(rel, buf, zsrow_item_row(buf->items[i]));
		if (!live[i])
			ZS_INJECTION_POINT("zs-write-judge");
	}
	for (int i = 0; i < buf->nitems; i++)
	{
		if (live[i])
			buf->items[kept++] = buf->items[i];
		else
			free_item(buf, buf->items[i]);
	}
	buf->nitems = kept;
	pfree(live);
}

/* Frees the first n items. */
static void
drop_items(ZsWriteBuffer *buf, int n)
{
	Assert(n >= 0 && n <= buf->nitems);
	for (int i = 0; i < n; i++)
		free_item(buf, buf->items[i]);
	buf->nitems -= n;
	if (buf->nitems > 0)
		memmove(buf->items, buf->items + n, buf->nitems * sizeof(MinimalTuple));
}

/* Drops the items that are in the row tree. */
static void
drop_written_items(ZsWriteBuffer *buf)
{
	int			n = buf->nwritten;

	buf->nwritten = 0;
	drop_items(buf, n);
}

/*
 * Writes the row batch to the row tree, without rows of subtransactions that
 * were rolled back.  After an error that a savepoint catches it can be called
 * again: it goes on behind the items that are in the tree.
 */
void
zswrite_write_items(Relation rel, ZsWriteBuffer *buf)
{
	drop_written_items(buf);
	if (buf->any_aborted)
		drop_aborted_items(rel, buf);
	if (buf->nitems == 0)
	{
		buf->nkept = 0;
		return;
	}

	/* stripes of the cursor ascend in time, but not always */
	qsort(buf->items, buf->nitems, sizeof(MinimalTuple), compare_items);
	check_order(buf);
	zswrite_keep_share_buffered(rel, buf);
	zsrow_insert(rel, buf->items, buf->nitems, &buf->nwritten);
	drop_written_items(buf);
}
