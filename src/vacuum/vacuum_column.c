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
 * Numerics are kept as integers as long as they are such of one scale, as COPY keeps them
 * (write_append.c): most segments can give and take them so, and no numeric is formed.  The rows of
 * a vector are appended together where all of them come from it.
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
#include "access/transam.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "vacuum_compact.h"
#include "zs_write.h"

/*
 * A builder, palloc'd, without rows for column attno, which is not dropped;
 * its first row will be row number first, where a stripe begins.  reader: who reads segments, and
 * stays the caller's; NULL: the builder makes one, which does not look ahead.
 */
ZsColumnBuilder *
zsvacuum_builder_create(Relation rel, AttrNumber attno, zstid first, ZsAttrReader *reader)
{
	Form_pg_attribute att = zsattr_form(RelationGetDescr(rel), attno);
	ZsColumnBuilder *builder = palloc0_object(ZsColumnBuilder);

	Assert(first % ZS_STRIPE_ROWS == 0 && !att->attisdropped);
	builder->rel = rel;
	builder->attno = attno;
	zsattr_kind(att, &builder->kind);
	builder->attlen = att->attlen;
	builder->by_value = zsattr_kind_is_by_value(&builder->kind);
	builder->as_ints = builder->by_value || builder->kind.kind == ZS_KIND_NUMERIC;
	builder->scale = -1;
	builder->first = first;
	builder->natts = MaxHeapAttributeNumber;
	builder->stripe = ZS_INVALID_ROW;
	builder->reader = reader;
	builder->own_reader = reader == NULL;
	return builder;
}

/* Ends the builder's own reader.  The memory goes with its context. */
void
zsvacuum_builder_end(ZsColumnBuilder *builder)
{
	if (builder->reader != NULL && builder->own_reader)
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

/* Makes room for n more rows. */
static void
reserve_rows(ZsColumnBuilder *builder, uint32 n)
{
	uint32		old = builder->maxrows;
	uint32		new = Max(old * 2, ZS_STRIPE_ROWS);

	if (likely(builder->nrows + n <= old))
		return;
	while (new < builder->nrows + n)
		new *= 2;
	builder->isnull = resize(builder, builder->isnull, old, new);
	builder->isext = resize(builder, builder->isext, old, new);
	if (builder->as_ints)
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

/* Makes room for more bytes. */
static void
reserve_bytes(ZsColumnBuilder *builder, Size len)
{
	Size		new = Max(builder->maxbytes * 2, 8192);

	if (likely(builder->nbytes + len <= builder->maxbytes))
		return;
	while (new < builder->nbytes + len)
		new *= 2;
	builder->bytes = resize(builder, builder->bytes, builder->maxbytes, new);
	builder->maxbytes = new;
}

/* Begins another row, NULL so far. */
static inline uint32
add_row(ZsColumnBuilder *builder, uint8 isnull)
{
	uint32		n = builder->nrows;

	reserve_rows(builder, 1);
	builder->isnull[n] = isnull;
	builder->isext[n] = 0;
	if (isnull != 0)
		builder->any_null = true;
	if (builder->as_ints)
		builder->ints[n] = 0;
	else
		builder->offsets[n + 1] = builder->nbytes;
	builder->nrows++;
	return n;
}

/* Turns numerics that were integers into bytes: one came that is none, or of another scale. */
static void
ints_to_bytes(ZsColumnBuilder *builder)
{
	int64	   *ints = builder->ints;
	Size		size = builder->maxrows * sizeof(int64);
	Size		offsets_size = builder->maxrows == 0 ? 0 : (builder->maxrows + 1) * sizeof(uint64);

	Assert(builder->kind.kind == ZS_KIND_NUMERIC && builder->as_ints && builder->offsets == NULL);
	builder->as_ints = false;
	builder->ints = NULL;
	builder->nbytes = 0;
	if (offsets_size == 0)
		return;
	builder->offsets = resize(builder, NULL, 0, offsets_size);
	builder->offsets[0] = 0;
	for (uint32 i = 0; i < builder->nrows; i++)
	{
		reserve_bytes(builder, ZS_NUMERIC_PAYLOAD_MAX);
		if (builder->isnull[i] == 0)
			builder->nbytes += zscodec_numeric_from_int(ints[i], builder->scale,
														builder->bytes + builder->nbytes);
		builder->offsets[i + 1] = builder->nbytes;
	}
	builder->size -= size;
	pfree(ints);
}

static inline void
add_bytes(ZsColumnBuilder *builder, uint32 n, const void *data, Size len)
{
	Assert(!builder->as_ints && n < builder->nrows);
	reserve_bytes(builder, len);
	/* empty strings alone take no memory */
	if (len > 0)
		memcpy(builder->bytes + builder->nbytes, data, len);
	builder->nbytes += len;
	builder->offsets[n + 1] = builder->nbytes;
}

/* A numeric, if it is an integer of the builder's scale. */
static bool
add_numeric_int(ZsColumnBuilder *builder, const uint8 *payload, Size len)
{
	int			scale;
	int64		value;
	uint32		n;

	if (!zscodec_numeric_to_int(payload, len, &scale, &value) ||
		(scale != builder->scale && builder->scale >= 0))
		return false;
	builder->scale = scale;
	n = add_row(builder, 0);
	builder->ints[n] = value;
	builder->nbytes += len;
	return true;
}

static void
add_pointer(ZsColumnBuilder *builder, const ZsOverflowPointer *pointer)
{
	uint32		n;

	if (builder->as_ints)
		ints_to_bytes(builder);
	n = add_row(builder, 0);
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
	else if (!builder->as_ints ||
			 !add_numeric_int(builder, (uint8 *) VARDATA_ANY(plain), VARSIZE_ANY_EXHDR(plain)))
	{
		if (builder->as_ints)
			ints_to_bytes(builder);
		add_bytes(builder, add_row(builder, 0), VARDATA_ANY(plain), VARSIZE_ANY_EXHDR(plain));
	}
	if (plain != v)
		pfree(plain);
}

static void
add_value(ZsColumnBuilder *builder, Datum value, bool isnull)
{
	if (isnull)
		(void) add_row(builder, ZS_NULL_VALUE);
	else if (builder->attlen == -1)
		add_varlena(builder, (struct varlena *) DatumGetPointer(value));
	else
	{
		uint32		n = add_row(builder, 0);

		if (builder->by_value)
			builder->ints[n] = zsattr_value_to_int(value, builder->attlen);
		else if (builder->attlen == -2)
			add_bytes(builder, n, DatumGetCString(value), strlen(DatumGetCString(value)) + 1);
		else
			add_bytes(builder, n, DatumGetPointer(value), builder->attlen);
	}
}

/* Appends a row.  isext: the value is the address of a pointer to the overflow page where it is. */
void
zsvacuum_builder_add(ZsColumnBuilder *builder, Datum value, bool isnull, bool isext)
{
	if (isext && !isnull)
		add_pointer(builder, (const ZsOverflowPointer *) DatumGetPointer(value));
	else
		add_value(builder, value, isnull);
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

/* Makes the vector of the stripe the present one, in these forms if it has them. */
static void
load_vector(ZsColumnBuilder *builder, zstid stripe, uint32 want)
{
	ZsSegmentItem item;

	Assert(stripe % ZS_STRIPE_ROWS == 0);
	if (builder->reader == NULL)
		builder->reader = zsattr_reader_begin(builder->rel, RelationGetDescr(builder->rel),
											  builder->attno, 0, NULL);
	builder->vector = zsattr_reader_forms(builder->reader, stripe, want);
	if (builder->stripe == stripe)
		return;
	builder->stripe = stripe;
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

	if (builder->stripe != stripe || (builder->vector != NULL &&
									  (builder->vector->have & ZS_FORM_VALUES) == 0))
		load_vector(builder, stripe, ZS_FORM_VALUES);
	vector = builder->vector;
	if (vector == NULL || index >= vector->nrows)
	{
		if (vector != NULL)
			check_missing(builder, stripe + index);
		if (builder->attno == ZS_XMIN_ATTNO)
			zsbase_corrupted(builder->rel, zspage_tree_root(builder->rel, ZS_TREE_XMIN),
							 "Row " UINT64_FORMAT " has no transaction id anywhere.",
							 stripe + index);
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

/*
 * Can the values of a vector's first nrows rows be appended as they are?  If so the builder has
 * them in the form that it keeps, else it has them as VALUES.
 */
static bool
load_whole(ZsColumnBuilder *builder, zstid stripe, uint32 nrows)
{
	const ZsVectorOut *vector;

	if (builder->as_ints && !builder->by_value)
	{
		load_vector(builder, stripe, ZS_FORM_SCALED);
		vector = builder->vector;
		if (vector != NULL && (vector->have & ZS_FORM_SCALED) != 0 && !vector->has_odd &&
			!vector->has_ext && vector->same_dscale && vector->nrows >= nrows &&
			(vector->scale == builder->scale || builder->scale < 0))
			return true;
	}
	load_vector(builder, stripe, ZS_FORM_VALUES);
	vector = builder->vector;
	return vector != NULL && vector->nrows >= nrows && !vector->has_ext &&
		(builder->by_value || (builder->attlen == -1 && !builder->as_ints));
}

/* Appends rows of the present vector: the first nrows, those that are not live as holes. */
static void
append_whole(ZsColumnBuilder *builder, const uint8 *fates, uint32 nrows)
{
	const ZsVectorOut *vector = builder->vector;
	const uint64 *values = builder->by_value ? vector->values : (const uint64 *) vector->scaled;
	uint32		first = builder->nrows;
	uint32		nvalues = 0;
	uint8	   *isnull;

	/* which rows are gone is as good as random, so no branches */
	reserve_rows(builder, nrows);
	isnull = builder->isnull + first;
	for (uint32 i = 0; i < nrows; i++)
	{
		uint8		hole = -(uint8) (fates[i] != ZS_FATE_LIVE);

		isnull[i] = (hole & ZS_NULL_HOLE) |
			(~hole & -(uint8) vector->isnull[i] & ZS_NULL_VALUE);
		nvalues += isnull[i] == 0;
	}
	memset(builder->isext + first, 0, nrows);
	builder->any_null |= nvalues < nrows;
	builder->nrows += nrows;
	if (builder->as_ints)
	{
		int64	   *ints = builder->ints + first;
		uint64		sizes = 1;

		for (uint32 i = 0; i < nrows; i++)
		{
			uint64		value = values[i] & -(uint64) (isnull[i] == 0);

			ints[i] = (int64) value;
			sizes |= value ^ (uint64) ((int64) value >> 63);
		}
		if (!builder->by_value)
		{
			builder->scale = vector->scale;
			/* about: a header, and two bytes for each four digits */
			builder->nbytes += nvalues * (4 + 2 * (pg_leftmost_one_pos64(sizes) / 13));
		}
	}
	else
	{
		for (uint32 i = 0; i < nrows; i++)
		{
			struct varlena *v = (struct varlena *) DatumGetPointer((Datum) vector->values[i]);

			if (isnull[i] == 0)
				add_bytes(builder, first + i, VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v));
			else
				builder->offsets[first + i + 1] = builder->nbytes;
		}
	}
}

/* ---- stripes ------------------------------------------------------------------------ */

/* The builder's value of a row of the row tree, whose attributes are there. */
static void
add_from_item(ZsColumnBuilder *builder, const MinimalTupleData *item, const Datum *values,
			  const bool *isnull)
{
	int			attno = builder->attno;
	TransactionId xmin = zsrow_item_xmin(item);

	if (attno == ZS_XMIN_ATTNO)
		add_value(builder, TransactionIdGetDatum(TransactionIdIsValid(xmin) ? xmin :
												 FrozenTransactionId), false);
	else
		add_value(builder, values[attno - 1], isnull[attno - 1]);
	builder->natts = Min(builder->natts, HeapTupleHeaderGetNatts(item));
}

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
	Datum	   *values;
	bool	   *isnull;
	int			nitems = batch != NULL ? batch->nitems : 0;
	int			pos = 0;
	uint32		result = 0;

	Assert(nbuilders > 0 && nrows <= ZS_STRIPE_ROWS);
	if (nitems == 0 && nbuilders == 1 && memchr(stripe->fates, ZS_FATE_LIVE, nrows) != NULL &&
		load_whole(builders[0], stripe->first, nrows))
	{
		append_whole(builders[0], stripe->fates, nrows);
		return 0;
	}
	values = palloc_array(Datum, desc->natts);
	isnull = palloc_array(bool, desc->natts);
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
				add_from_item(builders[k], batch->items[pos], values, isnull);
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

/*
 * Holes of xmin, which are no nulls (see ZsAttrColumn), get the value of a neighbour, so that one
 * transaction's rows remain rows of one value.
 */
static void
fill_holes(ZsColumnBuilder *builder)
{
	int64		value = 0;
	uint32		i = 0;

	Assert(builder->attno == ZS_XMIN_ATTNO && builder->as_ints);
	if (!builder->any_null)
		return;
	while (i < builder->nrows && builder->isnull[i] != 0)
		i++;
	if (i < builder->nrows)
		value = builder->ints[i];
	for (i = 0; i < builder->nrows; i++)
	{
		if (builder->isnull[i] == 0)
			value = builder->ints[i];
		else
			builder->ints[i] = value;
	}
}

/* The builder's rows as a column to be written. */
void
zsvacuum_builder_rewrite(ZsColumnBuilder *builder, ZsAttrRewrite *rewrite)
{
	ZsAttrColumn *column = &rewrite->column;
	ZsColumnInput *input = &column->input;

	Assert(builder->reader == NULL && builder->nrows > 0);
	if (builder->attno == ZS_XMIN_ATTNO)
		fill_holes(builder);
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
	input->ints = builder->as_ints ? builder->ints : NULL;
	input->scale = Max(builder->scale, 0);
	input->raw_bytes = builder->as_ints ? builder->nbytes : 0;
	input->bytes = builder->bytes != NULL ? builder->bytes : (const uint8 *) "";
	input->offsets = builder->offsets;
}
