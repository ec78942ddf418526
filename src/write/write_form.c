/*-------------------------------------------------------------------------
 *
 * write_form.c
 *	  Items of the row tree, formed from the values of a row.
 *
 * An item holds a whole row (MinimalTuple).  Large values leave it for overflow pages, the largest
 * first, until it fits; what an UPDATE shares with the old row (write_keep.c) is a pointer there
 * already.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_form.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/transam.h"
#include "utils/memutils.h"

#include "write_internal.h"
#include "zs_page.h"

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
	if (zspage_keeps_xmin(rel))
		size += sizeof(TransactionId);
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
	return zsrow_item_size(desc, slot->tts_values, slot->tts_isnull,
						   zspage_keeps_xmin(rel) ? FrozenTransactionId : InvalidTransactionId) >
		ZS_ROW_MAX_ITEM;
}

/*
 * The item for a row with these values, palloc'd in context.  NULL if it does
 * not fit, with push_out only if no value is left that may leave for overflow
 * pages; values[] has their pointers then.  xmin: the transaction that writes the row, which the
 * item says if the table keeps that.
 */
MinimalTuple
zswrite_form_values(Relation rel, MemoryContext context, Datum *values, const bool *isnull,
					TransactionId xmin, bool push_out)
{
	TupleDesc	desc = RelationGetDescr(rel);
	MemoryContext old;
	MinimalTuple item;

	if (!zspage_keeps_xmin(rel))
		xmin = InvalidTransactionId;
	while (zsrow_item_size(desc, values, isnull, xmin) > ZS_ROW_MAX_ITEM)
	{
		if (!push_out || !push_out_largest(rel, values, isnull))
			return NULL;
	}
	old = MemoryContextSwitchTo(context);
	item = zsrow_form_item(desc, values, isnull, xmin);
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
zswrite_form_item(Relation rel, MemoryContext context, TupleTableSlot *slot, TransactionId xmin,
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
	item = zswrite_form_values(rel, context, values, slot->tts_isnull, xmin, push_out);
	if (item == NULL && push_out)
		elog(ERROR, "row of table \"%s\" does not fit an item of the row tree",
			 RelationGetRelationName(rel));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
	return item;
}
