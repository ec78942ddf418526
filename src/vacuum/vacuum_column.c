/*-------------------------------------------------------------------------
 *
 * vacuum_column.c
 *	  A column put together from the row tree and from segments.
 *
 * The builder collects values in the arrays that the codec takes.  Overflow
 * pointers are carried over as they are.  Rows that nobody will ask for
 * become holes, NULLs that are counted apart: what is left of a segment is
 * judged by them.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_column.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "vacuum_compact.h"
#include "zs_write.h"

/*
 * A builder, palloc'd, without rows for column attno, which is not dropped;
 * its first row will be row number first, where a stripe begins.  Segments in front of row number
 * end are read ahead; 0 = none.
 */
ZsColumnBuilder *
zsvacuum_builder_create(Relation rel, AttrNumber attno, zstid first, zstid end)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), attno - 1);
	ZsColumnBuilder *builder = palloc0_object(ZsColumnBuilder);

	Assert(first % ZS_STRIPE_ROWS == 0 && !att->attisdropped);
	builder->rel = rel;
	builder->attno = attno;
	zsattr_kind(att, &builder->kind);
	builder->attlen = att->attlen;
	builder->by_value = zsattr_kind_is_by_value(&builder->kind);
	builder->first = first;
	builder->end = end;
	builder->natts = MaxHeapAttributeNumber;
	builder->stripe = ZS_INVALID_ROW;
	return builder;
}

/* Ends the builder's reader.  The memory goes with its context. */
void
zsvacuum_builder_end(ZsColumnBuilder *builder)
{
	if (builder->reader != NULL)
		zsattr_reader_end(builder->reader);
	builder->reader = NULL;
}

/* ---- appending ------------------------------------------------------------------ */

static void *
resize(ZsColumnBuilder *builder, void *old, Size old_size, Size new_size)
{
	Assert((old == NULL) == (old_size == 0));
	builder->size += new_size - old_size;
	return old == NULL ? MemoryContextAllocHuge(CurrentMemoryContext, new_size) :
		repalloc_huge(old, new_size);
}

/* Makes room for another row. */
static void
grow_rows(ZsColumnBuilder *builder)
{
	uint32		old = builder->maxrows;
	uint32		new = Max(old * 2, ZS_STRIPE_ROWS);

	builder->isnull = resize(builder, builder->isnull, old, new);
	builder->isext = resize(builder, builder->isext, old, new);
	if (builder->by_value)
		builder->ints = resize(builder, builder->ints, old * sizeof(int64), new * sizeof(int64));
	else
	{
		builder->offsets = resize(builder, builder->offsets,
								  old == 0 ? 0 : (old + 1) * sizeof(uint64),
								  (new + 1) * sizeof(uint64));
		if (old == 0)
			builder->offsets[0] = 0;
	}
	builder->maxrows = new;
}

/* Begins another row, NULL so far. */
static inline uint32
add_row(ZsColumnBuilder *builder, uint8 isnull)
{
	uint32		n = builder->nrows;

	if (unlikely(n == builder->maxrows))
		grow_rows(builder);
	builder->isnull[n] = isnull;
	builder->isext[n] = 0;
	if (isnull != 0)
		builder->any_null = true;
	if (builder->by_value)
		builder->ints[n] = 0;
	else
		builder->offsets[n + 1] = builder->nbytes;
	builder->nrows++;
	return n;
}

static void
add_bytes(ZsColumnBuilder *builder, uint32 n, const void *data, Size len)
{
	Assert(!builder->by_value && n + 1 == builder->nrows);
	if (unlikely(builder->nbytes + len > builder->maxbytes))
	{
		Size		new = Max(builder->maxbytes * 2, 8192);

		while (new < builder->nbytes + len)
			new *= 2;
		builder->bytes = resize(builder, builder->bytes, builder->maxbytes, new);
		builder->maxbytes = new;
	}
	/* empty strings alone take no memory */
	if (len > 0)
		memcpy(builder->bytes + builder->nbytes, data, len);
	builder->nbytes += len;
	builder->offsets[n + 1] = builder->nbytes;
}

static void
add_pointer(ZsColumnBuilder *builder, const ZsOverflowPointer *pointer)
{
	uint32		n = add_row(builder, 0);

	builder->isext[n] = 1;
	builder->any_ext = true;
	add_bytes(builder, n, pointer, sizeof(ZsOverflowPointer));
}

/* A value as segments and the row tree have it, or a default. */
static void
add_varlena(ZsColumnBuilder *builder, struct varlena *v)
{
	struct varlena *plain = v;

	if (VARATT_IS_EXTERNAL_ONDISK(v))
	{
		ZsOverflowPointer pointer;

		zsattr_overflow_from_datum(v, &pointer);
		add_pointer(builder, &pointer);
		return;
	}
	if (VARATT_IS_EXTERNAL(v) || VARATT_IS_COMPRESSED(v))
		plain = detoast_attr(v);
	if (VARSIZE_ANY_EXHDR(plain) > ZS_OVERFLOW_THRESHOLD)
	{
		ZsOverflowPointer pointer;
		ZsCompression compression;
		int			level;

		zswrite_compression(builder->rel, builder->attno, &compression, &level);
		zsattr_overflow_write(builder->rel, builder->attno, VARDATA_ANY(plain),
							  VARSIZE_ANY_EXHDR(plain), compression, level, &pointer);
		add_pointer(builder, &pointer);
	}
	else
	{
		uint32		n = add_row(builder, 0);

		add_bytes(builder, n, VARDATA_ANY(plain), VARSIZE_ANY_EXHDR(plain));
	}
	if (plain != v)
		pfree(plain);
}

static void
add_value(ZsColumnBuilder *builder, Datum value, bool isnull)
{
	uint32		n;

	if (isnull)
		(void) add_row(builder, ZS_NULL_VALUE);
	else if (builder->attlen == -1)
		add_varlena(builder, (struct varlena *) DatumGetPointer(value));
	else
	{
		n = add_row(builder, 0);
		if (builder->by_value)
			builder->ints[n] = zsattr_value_to_int(value, builder->attlen);
		else if (builder->attlen == -2)
			add_bytes(builder, n, DatumGetCString(value), strlen(DatumGetCString(value)) + 1);
		else
			add_bytes(builder, n, DatumGetPointer(value), builder->attlen);
	}
}

/* ---- values from segments -------------------------------------------------------- */

/*
 * No segment of the column covers a row that must have data: the column is younger than the row,
 * unless some other column says that the row has this attribute.
 */
static void
check_missing(ZsColumnBuilder *builder, zstid row)
{
	int			natts = zsattr_check_missing(builder->rel, RelationGetDescr(builder->rel),
											 builder->attno, row);

	builder->natts = Min(builder->natts, natts);
}

/* Makes the vector of the stripe the present one. */
static void
load_vector(ZsColumnBuilder *builder, zstid stripe)
{
	ZsSegmentItem item;

	Assert(stripe % ZS_STRIPE_ROWS == 0);
	if (builder->reader == NULL)
	{
		bool		ahead = stripe + ZS_STRIPE_ROWS < builder->end;

		builder->reader = zsattr_reader_begin(builder->rel, RelationGetDescr(builder->rel),
											  builder->attno,
											  ahead ? ZS_READER_STREAM | ZS_READER_MAINTENANCE : 0,
											  NULL);
		zsattr_reader_range(builder->reader, stripe, builder->end, NULL);
	}
	builder->stripe = stripe;
	builder->vector = zsattr_reader_vector(builder->reader, stripe);
	if (builder->vector != NULL &&
		zsattr_find_segment(builder->rel, builder->attno, stripe, true, &item))
		builder->natts = Min(builder->natts, ZsSegmentFlagsNatts(item.flags));
	else
		check_missing(builder, stripe);
}

static void
add_from_segment(ZsColumnBuilder *builder, zstid stripe, uint32 index)
{
	const ZsVectorOut *vector;
	Datum		value;
	bool		isnull;

	if (builder->stripe != stripe)
		load_vector(builder, stripe);
	vector = builder->vector;
	if (vector == NULL || index >= vector->nrows)
	{
		if (vector != NULL)
			check_missing(builder, stripe + index);
		value = getmissingattr(RelationGetDescr(builder->rel), builder->attno, &isnull);
		add_value(builder, value, isnull);
	}
	else if (vector->has_ext && vector->isext[index] && !vector->isnull[index])
	{
		ZsOverflowPointer pointer;

		zsattr_overflow_from_vector(vector, index, &pointer);
		add_pointer(builder, &pointer);
	}
	else
		add_value(builder, (Datum) vector->values[index], vector->isnull[index]);
}

/* ---- stripes ------------------------------------------------------------------------ */

/*
 * Appends the first nrows rows of a stripe to all builders: from the row
 * tree's batch (may be NULL) if it has them, else from the segments, else what
 * the column has for rows that are older than it.  What nobody will ask for
 * becomes a hole.  Returns how many rows came from the batch.
 */
uint32
zsvacuum_gather(ZsColumnBuilder **builders, int nbuilders, const ZsStripe *stripe, uint32 nrows,
				const ZsRowBatch *batch)
{
	Relation	rel = builders[0]->rel;
	TupleDesc	desc = RelationGetDescr(rel);
	Datum	   *values = palloc_array(Datum, desc->natts);
	bool	   *isnull = palloc_array(bool, desc->natts);
	int			nitems = batch != NULL ? batch->nitems : 0;
	int			pos = 0;
	uint32		result = 0;

	Assert(nbuilders > 0 && nrows <= ZS_STRIPE_ROWS);
	for (uint32 i = 0; i < nrows; i++)
	{
		zstid		row = stripe->first + i;
		bool		in_batch;

		while (pos < nitems && zsrow_item_row(batch->items[pos]) < row)
			pos++;
		in_batch = pos < nitems && zsrow_item_row(batch->items[pos]) == row;
		if (stripe->fates[i] != ZS_FATE_LIVE)
		{
			for (int k = 0; k < nbuilders; k++)
				(void) add_row(builders[k], ZS_NULL_HOLE);
		}
		else if (in_batch)
		{
			zsrow_deform(rel, desc, batch->items[pos], values, isnull);
			for (int k = 0; k < nbuilders; k++)
			{
				int			attno = builders[k]->attno;

				add_value(builders[k], values[attno - 1], isnull[attno - 1]);
				builders[k]->natts = Min(builders[k]->natts,
										 HeapTupleHeaderGetNatts(batch->items[pos]));
			}
			result++;
		}
		else
		{
			for (int k = 0; k < nbuilders; k++)
				add_from_segment(builders[k], stripe->first, i);
		}
	}
	pfree(values);
	pfree(isnull);
	return result;
}

/* The builder's rows as a column to be written. */
void
zsvacuum_builder_rewrite(ZsColumnBuilder *builder, ZsAttrRewrite *rewrite)
{
	ZsAttrColumn *column = &rewrite->column;
	ZsColumnInput *input = &column->input;

	Assert(builder->reader == NULL && builder->nrows > 0);
	memset(rewrite, 0, sizeof(ZsAttrRewrite));
	rewrite->first_row = builder->first;
	column->attno = builder->attno;
	column->natts = Min(builder->natts, RelationGetNumberOfAttributes(builder->rel));
	zswrite_compression(builder->rel, builder->attno, &column->compression,
						&column->compression_level);
	input->kind = builder->kind.kind;
	input->width = builder->kind.width;
	input->align = builder->kind.align;
	input->is_unsigned = builder->kind.is_unsigned;
	input->nrows = builder->nrows;
	input->isnull = builder->any_null ? builder->isnull : NULL;
	input->isext = builder->any_ext ? builder->isext : NULL;
	input->ints = builder->ints;
	input->bytes = builder->bytes != NULL ? builder->bytes : (const uint8 *) "";
	input->offsets = builder->offsets;
}
