/*-------------------------------------------------------------------------
 *
 * write_append.c
 *	  Rows from slots into the column part.
 *
 * Rows come in groups, and a group is appended column by column: what a column is, is looked at
 * once for a group, and a group is small enough that slots and values are still in the processor's
 * cache when the last column takes its turn.
 *
 * Numerics become integers on the way, which is what the codec wants in the end.  The first one
 * that is none, or is of another scale, turns the column's values into bytes.
 *
 * The part counts the new rows when all columns have them.  An error in between leaves more bytes
 * in some columns than the rows have; the next group starts by cutting them off.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_append.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"

#include "write_internal.h"

/* Rows of a group. */
#define GROUP_ROWS		64

/* The rows that are being appended. */
typedef struct RowGroup
{
	Relation	rel;
	ZsWriteBuffer *buf;
	uint32		first;			/* index of the first in the part */
	int			n;
	const Datum *values[GROUP_ROWS];
	const bool *isnull[GROUP_ROWS];
} RowGroup;

static void
reserve_bytes(ZsWriteBuffer *buf, ZsWriteColumn *column, Size len)
{
	Size		new = Max(column->maxbytes * 2, 1024);

	while (new < column->nbytes + len)
		new *= 2;
	column->bytes = zswrite_grow(buf, column->bytes, column->maxbytes, new);
	column->maxbytes = new;
}

static inline void
append_bytes(ZsWriteBuffer *buf, ZsWriteColumn *column, const void *data, Size len)
{
	/* there is memory even if all bytes are none: nobody wants null pointers */
	if (unlikely(column->nbytes + len > column->maxbytes || column->bytes == NULL))
		reserve_bytes(buf, column, len);
	zs_copy_short(column->bytes + column->nbytes, data, len);
	column->nbytes += len;
}

/* ---- numerics as integers -------------------------------------------------------- */

/*
 * Turns the integers of a numeric column, and those of the group's first nrows rows, into bytes.
 */
static void
ints_to_bytes(const RowGroup *group, ZsWriteColumn *column, int nrows)
{
	ZsWriteBuffer *buf = group->buf;
	uint32		total = group->first + nrows;

	Assert(column->kind.kind == ZS_KIND_NUMERIC && column->as_ints && column->offsets == NULL);
	column->nbytes = 0;
	column->offsets = zswrite_grow(buf, NULL, 0, (buf->maxrows + 1) * sizeof(uint64));
	column->offsets[0] = 0;
	for (uint32 i = 0; i < total; i++)
	{
		if (column->nbytes + ZS_NUMERIC_PAYLOAD_MAX > column->maxbytes)
			reserve_bytes(buf, column, ZS_NUMERIC_PAYLOAD_MAX);
		if (!column->isnull[i])
			column->nbytes += zscodec_numeric_from_int(column->ints[i], column->scale,
													   column->bytes + column->nbytes);
		column->offsets[i + 1] = column->nbytes;
	}
	column->as_ints = false;
	zswrite_account(buf, -(int64) (buf->maxrows * sizeof(int64)));
	pfree(column->ints);
	column->ints = NULL;
}

/*
 * Appends numerics, element c of the rows, as long as they can be integers; returns how many rows
 * that was.
 */
static int
append_numerics(const RowGroup *group, ZsWriteColumn *column, int c)
{
	int64	   *ints = column->ints + group->first;
	uint8	   *isnull = column->isnull + group->first;
	Size		nbytes = 0;

	for (int i = 0; i < group->n; i++)
	{
		struct varlena *v = (struct varlena *) DatumGetPointer(group->values[i][c]);
		int			scale;
		Size		len;

		isnull[i] = group->isnull[i][c];
		ints[i] = 0;
		if (isnull[i])
		{
			column->any_null = true;
			continue;
		}
		if (unlikely(VARATT_IS_EXTERNAL(v) || VARATT_IS_COMPRESSED(v)))
			return i;
		len = VARSIZE_ANY_EXHDR(v);
		if (unlikely(!zscodec_numeric_to_int((uint8 *) VARDATA_ANY(v), len, &scale, &ints[i])))
			return i;
		if (unlikely(scale != column->scale))
		{
			if (column->scale >= 0)
				return i;
			column->scale = scale;
		}
		nbytes += len;
	}
	column->nbytes += nbytes;
	return group->n;
}

/* ---- values as bytes ---------------------------------------------------------------- */

/* Marks a row of the part as an overflow pointer. */
static void
mark_ext(ZsWriteBuffer *buf, ZsWriteColumn *column, uint32 row)
{
	if (column->isext == NULL)
	{
		column->isext = zswrite_grow(buf, NULL, 0, buf->maxrows);
		memset(column->isext, 0, buf->maxrows);
	}
	column->isext[row] = 1;
	column->any_ext = true;
}

/* Anything but a value of moderate length as it is; row is its place in the part. */
static pg_noinline void
append_unusual_varlena(const RowGroup *group, ZsWriteColumn *column, AttrNumber attno, uint32 row,
					   struct varlena *v)
{
	struct varlena *plain = v;

	if (VARATT_IS_EXTERNAL(v) || VARATT_IS_COMPRESSED(v))
		plain = detoast_attr(v);
	if (VARSIZE_ANY_EXHDR(plain) > ZS_OVERFLOW_THRESHOLD)
	{
		ZsOverflowPointer pointer;
		ZsCompression compression;
		int			level;

		zswrite_compression(group->rel, attno, &compression, &level);
		zsattr_overflow_write(group->rel, attno, VARDATA_ANY(plain), VARSIZE_ANY_EXHDR(plain),
							  compression, level, &pointer);
		mark_ext(group->buf, column, row);
		append_bytes(group->buf, column, &pointer, sizeof(pointer));
	}
	else
		append_bytes(group->buf, column, VARDATA_ANY(plain), VARSIZE_ANY_EXHDR(plain));
	if (plain != v)
		pfree(plain);
}

/* Appends by-reference values, element c of the group's rows from `start` on. */
static void
append_by_reference(const RowGroup *group, ZsWriteColumn *column, AttrNumber attno, int c,
					int start)
{
	ZsWriteBuffer *buf = group->buf;
	uint8	   *isnull = column->isnull + group->first;
	uint64	   *offsets = column->offsets + group->first;

	for (int i = start; i < group->n; i++)
	{
		Datum		value = group->values[i][c];

		isnull[i] = group->isnull[i][c];
		if (isnull[i])
			column->any_null = true;
		else if (column->attlen == -1)
		{
			struct varlena *v = (struct varlena *) DatumGetPointer(value);

			if (likely(VARATT_IS_4B_U(v) && VARSIZE_4B(v) - VARHDRSZ <= ZS_OVERFLOW_THRESHOLD))
				append_bytes(buf, column, VARDATA_4B(v), VARSIZE_4B(v) - VARHDRSZ);
			else if (VARATT_IS_SHORT(v) && !VARATT_IS_EXTERNAL(v))
				append_bytes(buf, column, VARDATA_SHORT(v), VARSIZE_SHORT(v) - VARHDRSZ_SHORT);
			else
				append_unusual_varlena(group, column, attno, group->first + i, v);
		}
		else if (column->attlen == -2)
			append_bytes(buf, column, DatumGetCString(value), strlen(DatumGetCString(value)) + 1);
		else
			append_bytes(buf, column, DatumGetPointer(value), column->attlen);
		offsets[i + 1] = column->nbytes;
	}
}

/* ---- by-value types ----------------------------------------------------------------- */

/* attlen is known where this is called. */
static pg_attribute_always_inline void
append_ints_loop(const RowGroup *group, ZsWriteColumn *column, int c, int16 attlen)
{
	int64	   *ints = column->ints + group->first;
	uint8	   *isnull = column->isnull + group->first;
	bool		any_null = false;

	for (int i = 0; i < group->n; i++)
	{
		bool		null = group->isnull[i][c];

		ints[i] = null ? 0 : zsattr_value_to_int(group->values[i][c], attlen);
		isnull[i] = null;
		any_null |= null;
	}
	if (any_null)
		column->any_null = true;
}

static void
append_ints(const RowGroup *group, ZsWriteColumn *column, int c)
{
	switch (column->attlen)
	{
		case 1:
			append_ints_loop(group, column, c, 1);
			break;
		case 2:
			append_ints_loop(group, column, c, 2);
			break;
		case 4:
			append_ints_loop(group, column, c, 4);
			break;
		default:
			append_ints_loop(group, column, c, 8);
	}
}

/* ---- rows --------------------------------------------------------------------------- */

/* A row that does not exist: it repeats integers, so that it costs nothing. */
static void
append_gap_row(ZsWriteBuffer *buf)
{
	uint32		n = buf->nrows;

	if (n == buf->maxrows)
		zswrite_grow_rows(buf);
	for (int i = 0; i < buf->ncolumns; i++)
	{
		ZsWriteColumn *column = &buf->columns[i];

		if (column->dropped)
			continue;
		if (column->as_ints)
		{
			column->ints[n] = column->ints[n - 1];
			column->isnull[n] = column->isnull[n - 1];
		}
		else
		{
			column->isnull[n] = true;
			column->any_null = true;
			column->offsets[n + 1] = column->nbytes;
		}
	}
	buf->nrows++;
}

/* Fills the row numbers up to row, and remembers that they are not the part's. */
static void
append_gap(ZsWriteBuffer *buf, zstid row)
{
	ZsWriteGap *gap;

	if (buf->ngaps == buf->maxgaps)
	{
		int			n = Max(8, buf->maxgaps * 2);

		buf->gaps = zswrite_grow(buf, buf->gaps, buf->maxgaps * sizeof(ZsWriteGap),
								 n * sizeof(ZsWriteGap));
		buf->maxgaps = n;
	}
	gap = &buf->gaps[buf->ngaps++];
	gap->first = buf->first + buf->nrows;
	gap->count = (uint32) (row - gap->first);
	while (buf->first + buf->nrows < row)
		append_gap_row(buf);
}

/* Forgets what an append that failed left behind the last row. */
static void
cut_off_rest(ZsWriteBuffer *buf)
{
	for (int c = 0; c < buf->natts; c++)
	{
		ZsWriteColumn *column = &buf->columns[c];

		if (column->dropped || column->as_ints)
			continue;
		column->nbytes = column->offsets[buf->nrows];
		if (column->isext != NULL)
			memset(column->isext + buf->nrows, 0, Min(GROUP_ROWS, buf->maxrows - buf->nrows));
	}
}

/* The next n rows, which the part does not count yet, are written by transaction xmin. */
static void
append_xmins(ZsWriteBuffer *buf, TransactionId xmin, int n)
{
	ZsWriteColumn *column;

	if (buf->ncolumns == buf->natts)
		return;
	Assert(TransactionIdIsValid(xmin));
	column = &buf->columns[buf->natts];
	for (uint32 i = buf->nrows; i < buf->nrows + n; i++)
	{
		column->ints[i] = (int32) xmin;
		column->isnull[i] = 0;
	}
}

/* Makes the part ready for rows from `row` on; returns how many of n it has room for. */
static int
begin_append(Relation rel, ZsWriteBuffer *buf, zstid row, int n)
{
	Assert(n > 0);
	Assert(buf->nrows == 0 ? row % ZS_STRIPE_ROWS == 0 : row >= buf->first + buf->nrows);
	if (buf->columns == NULL)
		zswrite_init_columns(rel, buf);
	if (buf->maxrows == 0)
		zswrite_grow_rows(buf);
	if (unlikely(buf->appending))
		cut_off_rest(buf);
	buf->appending = true;
	if (buf->nrows == 0)
	{
		buf->first = row;
		buf->ngaps = 0;
	}
	if (buf->first + buf->nrows < row)
		append_gap(buf, row);
	if (buf->nrows == buf->maxrows)
		zswrite_grow_rows(buf);
	return Min(n, (int) (buf->maxrows - buf->nrows));
}

/*
 * Appends rows to the column part, which must accept the first: as many of
 * the nslots as there is room for, at least one.  They get row numbers from
 * row on, which must be behind all earlier ones.  Returns their number.  May
 * write overflow values; after an error the part is as before.  xmin: the transaction that
 * writes them.
 */
int
zswrite_append_columns(Relation rel, ZsWriteBuffer *buf, zstid row, TupleTableSlot **slots,
					   int nslots, TransactionId xmin)
{
	RowGroup	group;

	group.n = begin_append(rel, buf, row, Min(nslots, GROUP_ROWS));
	group.rel = rel;
	group.buf = buf;
	group.first = buf->nrows;
	for (int i = 0; i < group.n; i++)
	{
		slot_getallattrs(slots[i]);
		group.values[i] = slots[i]->tts_values;
		group.isnull[i] = slots[i]->tts_isnull;
	}
	for (int c = 0; c < buf->natts; c++)
	{
		ZsWriteColumn *column = &buf->columns[c];
		int			done = 0;

		if (column->dropped)
			continue;
		if (zsattr_kind_is_by_value(&column->kind))
		{
			append_ints(&group, column, c);
			continue;
		}
		if (column->as_ints)
		{
			done = append_numerics(&group, column, c);
			if (done == group.n)
				continue;
			ints_to_bytes(&group, column, done);
		}
		append_by_reference(&group, column, c + 1, c, done);
	}
	append_xmins(buf, xmin, group.n);
	buf->nrows += group.n;
	buf->appending = false;
	return group.n;
}

/* ---- rows of a stage ----------------------------------------------------------------- */

/* Numerics of a stage that are not all integers of the part's scale: one by one. */
static void
append_images_singly(Relation rel, ZsWriteBuffer *buf, ZsWriteColumn *column, AttrNumber attno,
					 const ZsStageColumn *from, int start, int n)
{
	Datum		values[GROUP_ROWS];
	RowGroup	group = {.rel = rel,.buf = buf};

	for (int done = 0; done < n; done += group.n)
	{
		int			nints = 0;

		group.first = buf->nrows + done;
		group.n = Min(n - done, GROUP_ROWS);
		for (int i = 0; i < group.n; i++)
		{
			int			at = start + done + i;

			values[i] = PointerGetDatum(from->u.images + 2 * at);
			group.values[i] = &values[i];
			group.isnull[i] = (const bool *) &from->isnull[at];
		}
		if (column->as_ints)
		{
			nints = append_numerics(&group, column, 0);
			if (nints == group.n)
				continue;
			ints_to_bytes(&group, column, nints);
		}
		append_by_reference(&group, column, attno, 0, nints);
	}
}

static void
append_images(Relation rel, ZsWriteBuffer *buf, ZsWriteColumn *column, AttrNumber attno,
			  const ZsStageColumn *from, int start, int n)
{
	uint64		nbytes;

	Assert(column->kind.kind == ZS_KIND_NUMERIC);
	if (column->as_ints && column->scale >= 0 &&
		zscodec_numerics_to_ints(from->u.images + 2 * start, n, column->scale,
								 column->ints + buf->nrows, &nbytes))
	{
		memcpy(column->isnull + buf->nrows, from->isnull + start, n);
		column->nbytes += nbytes;
		if (memchr(from->isnull + start, true, n) != NULL)
			column->any_null = true;
	}
	else
		append_images_singly(rel, buf, column, attno, from, start, n);
}

static void
append_staged_bytes(ZsWriteBuffer *buf, ZsWriteColumn *column, const ZsStageColumn *from, int start,
					int n)
{
	uint32		skip = from->u.ends[start];
	uint64	   *offsets = column->offsets + buf->nrows;
	uint64		base = column->nbytes - skip;

	Assert(!column->as_ints && offsets[0] == column->nbytes);
	append_bytes(buf, column, from->bytes + skip, from->u.ends[start + n] - skip);
	for (int i = 1; i <= n; i++)
		offsets[i] = base + from->u.ends[start + i];
}

/* As zswrite_append_columns(), for the rows [start, start + n) of a stage. */
int
zswrite_append_staged(Relation rel, ZsWriteBuffer *buf, zstid row, const ZsRowStage *stage,
					  int start, int n, TransactionId xmin)
{
	n = begin_append(rel, buf, row, n);
	Assert(stage->natts == buf->natts && start + n <= stage->nrows);
	for (int c = 0; c < buf->natts; c++)
	{
		ZsWriteColumn *column = &buf->columns[c];
		const ZsStageColumn *from = &stage->columns[c];

		Assert(column->dropped == (from->form == ZS_STAGE_DROPPED));
		if (column->dropped)
			continue;
		if (from->form == ZS_STAGE_NUMERIC)
		{
			append_images(rel, buf, column, c + 1, from, start, n);
			continue;
		}
		if (zsattr_kind_is_by_value(&column->kind))
			memcpy(column->ints + buf->nrows, from->u.ints + start, n * sizeof(int64));
		else
			append_staged_bytes(buf, column, from, start, n);
		memcpy(column->isnull + buf->nrows, from->isnull + start, n);
		if (memchr(from->isnull + start, true, n) != NULL)
			column->any_null = true;
	}
	append_xmins(buf, xmin, n);
	buf->nrows += n;
	buf->appending = false;
	return n;
}
