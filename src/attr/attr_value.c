/*-------------------------------------------------------------------------
 *
 * attr_value.c
 *	  Single values of a column: of a row that an index leads to.
 *
 * The first values that are asked for of a stripe are decoded one by one, from those bytes of their
 * vector that they take.  Bytes that were compressed are kept without compression, if the stripe is
 * asked for again (attr_body.c).  A few values of one stripe in a row are a sign of locality: then
 * the whole vector is decoded, and the next values cost an array access.
 *
 * Locks: none held between calls.  Nothing is written.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_value.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "attr_internal.h"

/* Single values of one stripe after which the whole vector gets decoded. */
#define VALUES_BEFORE_VECTOR	3

/*
 * Attribute attno has no segment for the row: error if it should have one, which another
 * attribute's segment tells that covers the row.  desc as for zsattr_reader_begin().  Returns how
 * many attributes the table had when that segment was written; MaxHeapAttributeNumber if there is
 * none.  Errors: ERRCODE_DATA_CORRUPTED.
 */
int
zsattr_check_missing(Relation rel, TupleDesc desc, AttrNumber attno, zstid row)
{
	for (int i = 0; i < desc->natts; i++)
	{
		ZsSegmentItem item;
		int			natts;

		if (TupleDescAttr(desc, i)->attisdropped || i + 1 == attno ||
			!zsattr_find_segment(rel, i + 1, row, true, &item))
			continue;
		natts = ZsSegmentFlagsNatts(item.flags);
		if (natts >= attno)
			zsbase_corrupted(rel, zspage_tree_root(rel, ZsTreeOfAttr(attno)),
							 "Column \"%s\" has no segment for row " UINT64_FORMAT ", which column \"%s\" has in block %u.",
							 NameStr(zsattr_form(desc, attno)->attname), row,
							 NameStr(TupleDescAttr(desc, i)->attname), item.start);
		return natts;
	}
	return MaxHeapAttributeNumber;
}

/* Row idx of vec as a Datum; fetches an overflow value, or gives a pointer to it. */
static void
extract_value(ZsAttrReader *reader, const ZsVectorOut *vec, uint32 idx, Datum *value, bool *isnull)
{
	*isnull = vec->isnull[idx];
	*value = (Datum) vec->values[idx];
	if (!*isnull && vec->has_ext && vec->isext[idx])
	{
		MemoryContext oldcontext;
		ZsOverflowPointer pointer;
		struct varlena *whole;

		if (reader->value_context == NULL)
			reader->value_context = AllocSetContextCreate(reader->owner,
														  "zedstore overflow value",
														  ALLOCSET_SMALL_SIZES);
		MemoryContextReset(reader->value_context);
		oldcontext = MemoryContextSwitchTo(reader->value_context);
		zsattr_overflow_from_vector(vec, idx, &pointer);
		whole = palloc(ZS_TOAST_POINTER_SIZE);
		if ((reader->flags & ZS_READER_TOAST) == 0 || reader->kind.layout == ZS_LAYOUT_CSTRING ||
			!zsattr_toast_from_pointer(reader->rel, &pointer, (char *) whole))
			whole = zsattr_overflow_read(reader->rel, reader->attno, &pointer);
		MemoryContextSwitchTo(oldcontext);
		if (reader->kind.layout == ZS_LAYOUT_CSTRING)
			*value = CStringGetDatum(VARDATA(whole));
		else
			*value = PointerGetDatum(whole);
	}
}

/* The one value from bytes that are kept; false if none are. */
static bool
value_of_body(ZsAttrReader *reader, ZsSegmentHead *head, int vecno, uint32 idx, const char **error)
{
	const ZsVectorInfo *vector = &head->info.vectors[vecno];
	ZsVectorOut *vec = &reader->space->vec;
	const uint8 *body;
	size_t		len;

	if (vector->compression == ZS_COMPRESSION_NONE || !head->cached || !zs_enable_fetch_cache ||
		(vector->needs_shared && !head->shared_open))
		return false;
	body = zsattr_body_find(head, vecno, &len);
	if (body == NULL)
		return false;
	vec->body = body;
	vec->body_len = len;
	*error = zscodec_vector_decode_one(&head->info, vecno, NULL, vector->len, &head->shared, idx,
									   false, vec);
	return true;
}

/* The one value from the vector's bytes, which are kept uncompressed if others may be wanted. */
static const char *
value_of_vector(ZsAttrReader *reader, ZsSegmentHead *head, int vecno, uint32 idx,
				const uint8 *bytes)
{
	const ZsVectorInfo *vector = &head->info.vectors[vecno];
	ZsVectorOut *vec = &reader->space->vec;
	bool		keep = vector->compression != ZS_COMPRESSION_NONE && head->cached &&
		zs_enable_fetch_cache && zsattr_body_wanted(head, vecno);
	const char *error = zscodec_vector_decode_one(&head->info, vecno, bytes, vector->len,
												  &head->shared, idx, keep, vec);

	if (error == NULL && keep && vec->body != NULL)
		zsattr_body_keep(head, vecno, vec->body, vec->body_len);
	return error;
}

/* Decodes the one value; false when no segment covers row. */
static bool
decode_value(ZsAttrReader *reader, zstid row, Datum *value, bool *isnull)
{
	uint32		idx = row % ZS_STRIPE_ROWS;
	ZsSegmentHead *head = zsattr_segment_find(reader, row, false);
	ZsVectorOut *vec = &reader->space->vec;
	const uint8 *bytes;
	const char *error;
	int			vecno;

	/*
	 * what was decoded before may lie in the window, which is going to move; an error may end that
	 * half way
	 */
	reader->vec_stripe = ZS_INVALID_ROW;
	reader->value_row = ZS_INVALID_ROW;
	for (;;)
	{
		if (head == NULL)
			return false;
		vecno = (int) ((row - head->item.first_row) / ZS_VECTOR_ROWS);
		Assert(idx < head->info.vectors[vecno].nrows);
		if (value_of_body(reader, head, vecno, idx, &error))
			break;
		/* who asks for a second value of the stripe may ask for more */
		if (likely(reader->nvalues > 1 ? zsattr_segment_vector(reader, vecno, &bytes) :
				   zsattr_segment_value(reader, vecno, idx, &bytes)))
		{
			error = value_of_vector(reader, head, vecno, idx, bytes);
			break;
		}
		head = zsattr_segment_reload(reader, row, false);
	}
	if (unlikely(error != NULL))
		zsattr_segment_corrupted(reader, &head->item, error);
	if (unlikely(zsattr_needs_reshape(&reader->kind)))
		zsattr_reshape_values(reader, vec, idx, idx);
	reader->value_row = row;
	extract_value(reader, vec, idx, value, isnull);
	return true;
}

/*
 * zsattr_reader_value() is going to be called for the row: what it looks at is brought near, as far
 * as this costs nothing but time.  To be called for several columns before the first is read.  The
 * value of another stripe, given before, is gone.
 */
void
zsattr_reader_expect(ZsAttrReader *reader, zstid row)
{
	zstid		stripe = row - row % ZS_STRIPE_ROWS;
	ZsSegmentHead *head = reader->head;
	const ZsVectorInfo *vector;

	if (!zs_enable_fetch_cache || stripe == reader->vec_stripe || stripe == reader->value_stripe)
		return;
	if (head == NULL || !zsattr_item_covers(&head->item, row))
	{
		head = zsattr_head_find(reader->rel, reader->treeno, row);
		if (head == NULL)
			return;
		zsattr_segment_close(reader);
		reader->head = head;
	}
	vector = &head->info.vectors[(row - head->item.first_row) / ZS_VECTOR_ROWS];
	if (vector->len > 0 && !zsattr_item_is_uniform(&head->item))
		zspage_expect(reader->rel, head->item.start + vector->off / ZS_PAGE_CAPACITY,
					  vector->off % ZS_PAGE_CAPACITY);
}

/*
 * The value of a row.  False when no segment covers the row, which was looked up in the tree then.
 * An overflow value is fetched, or a pointer to it given (ZS_READER_TOAST); what is by reference is
 * valid until the next call for this reader.  Errors: ERRCODE_DATA_CORRUPTED.
 */
bool
zsattr_reader_value(ZsAttrReader *reader, zstid row, Datum *value, bool *isnull)
{
	zstid		stripe = row - row % ZS_STRIPE_ROWS;

	if (!zs_enable_fetch_cache)
	{
		zsattr_reader_forget(reader);
		return decode_value(reader, row, value, isnull);
	}

	if (stripe != reader->vec_stripe || (reader->space->vec.have & ZS_FORM_VALUES) == 0)
	{
		/* an UPDATE asks for the old row's values more than once */
		if (row == reader->value_row)
		{
			extract_value(reader, &reader->space->vec, row % ZS_STRIPE_ROWS, value, isnull);
			return true;
		}
		if (stripe != reader->value_stripe)
		{
			reader->value_stripe = stripe;
			reader->nvalues = 0;
		}
		if (++reader->nvalues <= VALUES_BEFORE_VECTOR)
			return decode_value(reader, row, value, isnull);
		if (zsattr_reader_vector(reader, stripe) == NULL)
			return false;
	}
	if (unlikely(row % ZS_STRIPE_ROWS >= reader->space->vec.nrows))
	{
		/* the row may have come into a segment since the vector was decoded */
		zsattr_reader_forget(reader);
		return decode_value(reader, row, value, isnull);
	}
	extract_value(reader, &reader->space->vec, row % ZS_STRIPE_ROWS, value, isnull);
	return true;
}
