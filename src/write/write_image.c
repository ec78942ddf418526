/*-------------------------------------------------------------------------
 *
 * write_image.c
 *	  Images of rows as tuples in heap's form, for logical decoding.
 *
 * What comes out is what heap_form_tuple() would make of the row (form_tuple_is_right() compares,
 * with asserts); but that takes three calls for each value, and a load with wal_level = logical
 * would spend an eighth of its time there.
 *
 * Values that stand elsewhere (overflow pages, TOAST tables of other tables, expanded objects) are
 * fetched; there is no TOAST table, so they stand in the image.  Those that an update shares with
 * the old row are left out, as heap leaves out unchanged TOASTed ones: an external varlena stands
 * for them.  Rows of a loader come from its stage (write_stage.c), column by column.
 *
 * Images of one record lie one behind the other in memory of their own.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_image.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "utils/memutils.h"

#include "write_image.h"
#include "write_internal.h"

/* The most that the images of one record may take: the record's own limit, less its headers. */
#define LOGICAL_MAX_SIZE	((Size) XLogRecordMaxSize - 1024 * 1024)

/* Begins, without images. */
void
zswrite_images_begin(ZsRowImages *images, Relation rel)
{
	int			natts = Max(RelationGetNumberOfAttributes(rel), 1);

	images->rel = rel;
	images->context = AllocSetContextCreate(CurrentMemoryContext, "zedstore row images",
											ALLOCSET_DEFAULT_SIZES);
	images->own_values = MemoryContextAlloc(images->context, natts * sizeof(Datum));
	images->own_isnull = MemoryContextAlloc(images->context, natts * sizeof(bool));
	images->varlenas = MemoryContextAlloc(images->context, natts * sizeof(int));
	images->columns = MemoryContextAlloc(images->context, natts * sizeof(ZsImageColumn));
	images->fixed_bound = 0;
	images->has_dropped = false;
	images->has_cstrings = false;
	images->nvarlenas = 0;
	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);

		images->columns[i].len = att->attlen;
		images->columns[i].byval = att->attbyval;
		images->columns[i].packable = att->attstorage != TYPSTORAGE_PLAIN;
		images->columns[i].alignby = (uint8) att_align_nominal(1, att->attalign);
		if (att->attisdropped)
			images->has_dropped = true;
		else if (att->attlen == -1)
			images->varlenas[images->nvarlenas++] = i;
		else if (att->attlen == -2)
			images->has_cstrings = true;
		else
			images->fixed_bound += att->attlen + MAXIMUM_ALIGNOF;
	}
	images->tuple = NULL;
	images->tuple_size = 0;
	images->data = NULL;
	images->len = images->size = 0;
	images->nrows = 0;
}

/* Ends, and frees all memory of the images. */
void
zswrite_images_end(ZsRowImages *images)
{
	MemoryContextDelete(images->context);
}

/* Makes room for len more bytes. */
static char *
images_reserve(ZsRowImages *images, Size len)
{
	Size		needed = images->len + len;

	if (needed > LOGICAL_MAX_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row of table \"%s\" is too large to be logged for logical decoding",
						RelationGetRelationName(images->rel)),
				 errdetail("The row takes %zu bytes in the WAL, the maximum is %zu.",
						   needed, LOGICAL_MAX_SIZE)));
	if (needed > images->size)
	{
		/* one large row is exact, many small ones double */
		Size		size = Max(needed, Min(images->size * 2, 2 * ZSWRITE_LOGICAL_RECORD_SIZE));

		if (images->data == NULL)
			images->data = MemoryContextAlloc(images->context, size);
		else
			images->data = repalloc(images->data, size);
		images->size = size;
	}
	return images->data + images->len;
}

/* ---- the row in work -------------------------------------------------------------- */

/*
 * Does column attno (from 1) belong into the image?  attrs as RelationGetIndexAttrBitmap() returns
 * it, NULL for all.
 */
static inline bool
wanted_column(TupleDesc desc, AttrNumber attno, const Bitmapset *attrs)
{
	return !TupleDescAttr(desc, attno - 1)->attisdropped &&
		(attrs == NULL || bms_is_member(attno - FirstLowInvalidHeapAttributeNumber, attrs));
}

/* Does a value of the slot's row stand elsewhere? */
static bool
has_external(const ZsRowImages *images, TupleTableSlot *slot)
{
	for (int i = 0; i < images->nvarlenas; i++)
	{
		int			column = images->varlenas[i];

		if (!slot->tts_isnull[column] &&
			VARATT_IS_EXTERNAL(DatumGetPointer(slot->tts_values[column])))
			return true;
	}
	return false;
}

/*
 * The value of column attno (from 1) that the old row has, too, and that is left out of the image:
 * not one of identity.  NULL: it is not left out.
 */
static inline const ZsKeptValue *
left_out(const ZsKeptValues *kept, const Bitmapset *identity, AttrNumber attno)
{
	if (kept == NULL || bms_is_member(attno - FirstLowInvalidHeapAttributeNumber, identity))
		return NULL;
	for (int i = 0; i < kept->n; i++)
	{
		if (kept->values[i].attno == attno)
			return &kept->values[i];
	}
	return NULL;
}

/*
 * Makes the slot's row the one in work: columns that are not wanted become NULL, and values
 * that stand elsewhere (overflow pages, TOAST tables of other tables, expanded objects) are
 * fetched.  Values that are compressed where they are stay so, output plugins know them.
 * In the place of values that the old row has, too, (kept, or NULL; but not of columns of identity)
 * come pointers, which nobody follows; such a value is not fetched.
 */
static void
load_row(ZsRowImages *images, TupleTableSlot *slot, const Bitmapset *attrs,
		 const ZsKeptValues *kept, const Bitmapset *identity)
{
	TupleDesc	desc = RelationGetDescr(images->rel);

	Assert(kept == NULL || attrs == NULL);
	if (attrs == NULL)
		slot_getallattrs(slot);
	if (attrs == NULL && kept == NULL && !images->has_dropped && slot->tts_nvalid >= desc->natts &&
		!has_external(images, slot))
	{
		images->values = slot->tts_values;
		images->isnull = slot->tts_isnull;
		return;
	}

	images->values = images->own_values;
	images->isnull = images->own_isnull;
	for (int i = 0; i < desc->natts; i++)
	{
		const ZsKeptValue *pointer;
		struct varlena *v;

		images->isnull[i] = true;
		images->values[i] = (Datum) 0;
		if (!wanted_column(desc, i + 1, attrs))
			continue;
		images->values[i] = slot_getattr(slot, i + 1, &images->isnull[i]);
		if (images->isnull[i] || TupleDescAttr(desc, i)->attlen != -1)
			continue;
		v = (struct varlena *) DatumGetPointer(images->values[i]);
		pointer = left_out(kept, identity, i + 1);
		if (pointer != NULL)
			images->values[i] = zswrite_pointer_datum(&pointer->pointer);
		else if (VARATT_IS_EXTERNAL(v))
			images->values[i] = PointerGetDatum(detoast_external_attr(v));
	}
}

/* Frees what load_row() fetched. */
static void
unload_row(ZsRowImages *images, TupleTableSlot *slot)
{
	if (images->values == slot->tts_values)
		return;
	for (int i = 0; i < images->nvarlenas; i++)
	{
		int			column = images->varlenas[i];

		if (!images->isnull[column] && images->values[column] != slot->tts_values[column])
			pfree(DatumGetPointer(images->values[column]));
	}
}

/* ---- tuples ------------------------------------------------------------------------ */

#ifdef USE_ASSERT_CHECKING
/* Is what form_tuple() made as core would have made it? */
static bool
form_tuple_is_right(ZsRowImages *images, const xl_zs_logical_row *header)
{
	HeapTuple	tuple = heap_form_tuple(RelationGetDescr(images->rel), images->values,
										images->isnull);
	bool		result = header->len == tuple->t_len - SizeofHeapTupleHeader &&
		header->infomask2 == tuple->t_data->t_infomask2 &&
		header->infomask == tuple->t_data->t_infomask &&
		header->hoff == tuple->t_data->t_hoff &&
		memcmp(images->tuple + SizeofHeapTupleHeader,
			   (char *) tuple->t_data + SizeofHeapTupleHeader, header->len) == 0;

	heap_freetuple(tuple);
	return result;
}
#endif

/* Zeroes up to the next multiple of alignby.  There is room for MAXIMUM_ALIGNOF bytes. */
static inline char *
pad_to(char *to, int alignby)
{
	memset(to, 0, MAXIMUM_ALIGNOF);
	return (char *) TYPEALIGN(alignby, to);
}

/*
 * Puts the header of a varlena of len bytes that is not compressed, and returns where the bytes go.
 */
static inline char *
put_varlena_header(char *to, const ZsImageColumn *column, Size len)
{
	if (column->packable && len + VARHDRSZ_SHORT <= VARATT_SHORT_MAX)
	{
		SET_VARSIZE_SHORT(to, len + VARHDRSZ_SHORT);
		return to + VARHDRSZ_SHORT;
	}
	to = pad_to(to, column->alignby);
	SET_VARSIZE(to, len + VARHDRSZ);
	return to + VARHDRSZ;
}

/* Puts a varlena where a tuple has it; returns the end. */
static inline char *
put_varlena(char *to, const ZsImageColumn *column, struct varlena *v, uint16 *infomask)
{
	Size		len;

	if (VARATT_IS_4B_U(v))
	{
		len = VARSIZE_4B(v) - VARHDRSZ;
		to = put_varlena_header(to, column, len);
		memcpy(to, VARDATA_4B(v), len);
		return to + len;
	}
	len = VARSIZE_ANY(v);
	if (VARATT_IS_EXTERNAL(v))
	{
		/* one that was left out; no alignment, and nobody follows it */
		*infomask |= HEAP_HASEXTERNAL;
	}
	else if (!VARATT_IS_SHORT(v))
		to = pad_to(to, column->alignby);
	memcpy(to, v, len);
	return to + len;
}

/* An upper bound of what the values of the row in work take in a tuple. */
static Size
bound_values(const ZsRowImages *images)
{
	TupleDesc	desc = RelationGetDescr(images->rel);
	Size		bound = images->fixed_bound;

	/* strings of C are no columns of tables that people make */
	if (images->has_cstrings)
		return heap_compute_data_size(desc, images->values, images->isnull) + MAXIMUM_ALIGNOF;
	for (int i = 0; i < images->nvarlenas; i++)
	{
		int			column = images->varlenas[i];

		if (!images->isnull[column])
			bound += VARSIZE_ANY(DatumGetPointer(images->values[column])) + MAXIMUM_ALIGNOF;
	}
	return bound;
}

/*
 * Begins a tuple in images->tuple, without the fixed part of its header.  bound: of what the values
 * take.  Returns where the first of them goes.
 */
static char *
begin_tuple(ZsRowImages *images, xl_zs_logical_row *header, bool has_null, Size bound)
{
	int			natts = RelationGetNumberOfAttributes(images->rel);
	int			hoff = MAXALIGN(SizeofHeapTupleHeader + (has_null ? BITMAPLEN(natts) : 0));

	bound += hoff - SizeofHeapTupleHeader;

	/*
	 * refuses a row that is too large before memory for it is asked for, which might fail less
	 * clearly
	 */
	(void) images_reserve(images, SizeOfZsLogicalRow + bound);

	/* the fixed header's place is kept, for the alignment of what follows */
	if (SizeofHeapTupleHeader + bound > images->tuple_size)
	{
		if (images->tuple != NULL)
			pfree(images->tuple);
		images->tuple_size = TYPEALIGN(1024, SizeofHeapTupleHeader + bound);
		images->tuple = palloc(images->tuple_size);
	}
	memset(images->tuple + SizeofHeapTupleHeader, 0, hoff - SizeofHeapTupleHeader);
	header->infomask2 = (uint16) natts;
	header->infomask = has_null ? HEAP_HASNULL : 0;
	header->hoff = (uint8) hoff;
	return images->tuple + hoff;
}

/*
 * Forms the row in work as a tuple; fills the image's header.
 *
 * What comes out is heap_form_tuple()'s (form_tuple_is_right()); but that takes three calls for
 * each value, and a load with wal_level = logical would spend an eighth of its time there.
 */
static void
form_tuple(ZsRowImages *images, xl_zs_logical_row *header)
{
	int			natts = RelationGetNumberOfAttributes(images->rel);
	bool		has_null = memchr(images->isnull, true, natts) != NULL;
	char	   *to = begin_tuple(images, header, has_null, bound_values(images));
	uint8	   *bits = (uint8 *) images->tuple + SizeofHeapTupleHeader;

	for (int i = 0; i < natts; i++)
	{
		const ZsImageColumn *column = &images->columns[i];
		Datum		value = images->values[i];

		if (images->isnull[i])
			continue;
		if (has_null)
			bits[i >> 3] |= 1 << (i & 7);
		if (column->byval)
		{
			to = pad_to(to, column->alignby);
			store_att_byval(to, value, column->len);
			to += column->len;
		}
		else if (column->len == -1)
		{
			header->infomask |= HEAP_HASVARWIDTH;
			to = put_varlena(to, column, (struct varlena *) DatumGetPointer(value),
							 &header->infomask);
		}
		else
		{
			Size		len = column->len > 0 ? column->len : strlen(DatumGetCString(value)) + 1;

			if (column->len < 0)
				header->infomask |= HEAP_HASVARWIDTH;
			to = pad_to(to, column->alignby);
			memcpy(to, DatumGetPointer(value), len);
			to += len;
		}
	}
	header->len = (uint32) (to - images->tuple - SizeofHeapTupleHeader);
	Assert(form_tuple_is_right(images, header));
}

/* ---- tuples of a stage --------------------------------------------------------------- */

/* An upper bound of what the values of row number row of the stage take. */
static Size
bound_staged(const ZsRowImages *images, const ZsRowStage *stage, int row)
{
	Size		bound = images->fixed_bound +
		(Size) images->nvarlenas * (ZS_NUMERIC_IMAGE_SIZE + MAXIMUM_ALIGNOF);

	for (int i = 0; i < stage->nbytes; i++)
	{
		const ZsStageColumn *column = &stage->columns[stage->bytes[i]];

		bound += column->u.ends[row + 1] - column->u.ends[row] + VARHDRSZ + MAXIMUM_ALIGNOF;
	}
	return bound;
}

/* Puts the value that the stage has at row; returns the end. */
static inline char *
put_staged(char *to, const ZsImageColumn *column, const ZsStageColumn *from, int row)
{
	const char *bytes;
	Size		len;

	if (from->form == ZS_STAGE_INT)
	{
		to = pad_to(to, column->alignby);
		store_att_byval(to, (Datum) from->u.ints[row], column->len);
		return to + column->len;
	}
	if (from->form == ZS_STAGE_NUMERIC)
	{
		/* all of the image at once: there is room, and what is too much is written over */
		bytes = (const char *) (from->u.images + 2 * row);
		len = VARSIZE_4B(bytes) - VARHDRSZ;
		to = put_varlena_header(to, column, len);
		memcpy(to, bytes + VARHDRSZ, ZS_NUMERIC_IMAGE_SIZE - VARHDRSZ);
		return to + len;
	}
	bytes = from->bytes + from->u.ends[row];
	len = from->u.ends[row + 1] - from->u.ends[row];
	if (from->form == ZS_STAGE_VARLENA)
		to = put_varlena_header(to, column, len);
	else
		to = pad_to(to, column->alignby);
	memcpy(to, bytes, len);
	return to + len;
}

#ifdef USE_ASSERT_CHECKING
/* Is the tuple what the values of the stage's row give? */
static bool
form_staged_is_right(ZsRowImages *images, const ZsRowStage *stage, int row,
					 const xl_zs_logical_row *header)
{
	images->values = images->own_values;
	images->isnull = images->own_isnull;
	zswrite_stage_get(stage, stage->group, row, 0, stage->natts, images->values, images->isnull);
	return form_tuple_is_right(images, header);
}
#endif

/* The same as form_tuple() of a row of a stage. */
static void
form_staged(ZsRowImages *images, const ZsRowStage *stage, int row, xl_zs_logical_row *header)
{
	bool		has_null = images->has_dropped || stage->has_null[row];
	char	   *to = begin_tuple(images, header, has_null, bound_staged(images, stage, row));
	uint8	   *bits = (uint8 *) images->tuple + SizeofHeapTupleHeader;

	for (int i = 0; i < stage->natts; i++)
	{
		const ZsStageColumn *from = &stage->columns[i];

		if (from->form == ZS_STAGE_DROPPED || from->isnull[row])
			continue;
		if (has_null)
			bits[i >> 3] |= 1 << (i & 7);
		if (images->columns[i].len < 0)
			header->infomask |= HEAP_HASVARWIDTH;
		to = put_staged(to, &images->columns[i], from, row);
	}
	header->len = (uint32) (to - images->tuple - SizeofHeapTupleHeader);
	Assert(form_staged_is_right(images, stage, row, header));
}

/* ---- images --------------------------------------------------------------------------- */

/* Adds the tuple that was formed to the images. */
static void
append_tuple(ZsRowImages *images, const xl_zs_logical_row *header)
{
	char	   *dst = images_reserve(images, SizeOfZsLogicalRow + header->len);

	memcpy(dst, header, SizeOfZsLogicalRow);
	memcpy(dst + SizeOfZsLogicalRow, images->tuple + SizeofHeapTupleHeader, header->len);
	images->len += SizeOfZsLogicalRow + header->len;
	images->nrows++;
}

/*
 * Appends the image of the slot's row; of the columns in attrs if that is not NULL.  kept (or
 * NULL): values that may be left out, but for the columns of identity.
 */
void
zswrite_images_append(ZsRowImages *images, TupleTableSlot *slot, const Bitmapset *attrs,
					  const ZsKeptValues *kept, const Bitmapset *identity)
{
	MemoryContext old = MemoryContextSwitchTo(images->context);
	xl_zs_logical_row header;

	load_row(images, slot, attrs, kept, identity);
	form_tuple(images, &header);
	unload_row(images, slot);
	append_tuple(images, &header);
	MemoryContextSwitchTo(old);
}

/* Appends the image of a row of the stage. */
void
zswrite_images_append_staged(ZsRowImages *images, const ZsRowStage *stage, int row)
{
	MemoryContext old = MemoryContextSwitchTo(images->context);
	xl_zs_logical_row header;

	form_staged(images, stage, row, &header);
	append_tuple(images, &header);
	MemoryContextSwitchTo(old);
}
