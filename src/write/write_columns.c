/*-------------------------------------------------------------------------
 *
 * write_columns.c
 *	  The column part of a write buffer: its memory.
 *
 * Values of rows lie in one set of arrays a column, in the form that the codec
 * takes.  The arrays double as rows come, up to ZSWRITE_PART_ROWS, and all of
 * their memory is accounted for (zswrite_account()).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_columns.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "utils/rel.h"

#include "write_internal.h"
#include "zs_tid.h"

/*
 * Rows for which the arrays are made first: doubled twelve times they make a full part.
 */
#define INITIAL_ROWS	(ZSWRITE_PART_ROWS >> 12)

StaticAssertDecl(INITIAL_ROWS << 12 == ZSWRITE_PART_ROWS, "arrays double to a full part");

/* Longest gap within a part. */
#define MAX_GAP			ZS_STRIPE_ROWS

/*
 * Makes the columns of the part, which has none; without rows, and without
 * memory for any.
 */
void
zswrite_init_columns(Relation rel, ZsWriteBuffer *buf)
{
	TupleDesc	desc = RelationGetDescr(rel);
	ZsAllocator alloc;

	Assert(buf->columns == NULL && buf->nrows == 0 && buf->maxrows == 0);
	Assert(buf->natts == desc->natts && buf->ncolumns >= buf->natts);
	buf->columns = MemoryContextAllocZero(buf->context,
										  Max(buf->ncolumns, 1) * sizeof(ZsWriteColumn));
	zsattr_allocator(buf->context, &alloc);
	for (int i = 0; i < buf->ncolumns; i++)
	{
		Form_pg_attribute att = zsattr_form(desc, zswrite_column_attno(buf, i));

		zscodec_choice_init(&buf->columns[i].choice, &alloc);
		buf->columns[i].dropped = att->attisdropped;
		buf->columns[i].attlen = att->attlen;
		if (!att->attisdropped)
		{
			zsattr_kind(att, &buf->columns[i].kind);
			buf->columns[i].as_ints = zsattr_kind_is_by_value(&buf->columns[i].kind) ||
				buf->columns[i].kind.kind == ZS_KIND_NUMERIC;
			buf->columns[i].scale = -1;
		}
	}
}

/* Gives the arrays of all columns room for `new` rows instead of maxrows. */
static void
resize_rows(ZsWriteBuffer *buf, uint32 new)
{
	uint32		old = buf->maxrows;

	Assert(new >= buf->nrows && new <= ZSWRITE_PART_ROWS);
	for (int i = 0; i < buf->ncolumns; i++)
	{
		ZsWriteColumn *column = &buf->columns[i];

		if (column->dropped)
			continue;
		column->isnull = zswrite_grow(buf, column->isnull, old, new);
		if (column->isext != NULL)
		{
			column->isext = zswrite_grow(buf, column->isext, old, new);
			if (new > old)
				memset(column->isext + old, 0, new - old);
		}
		if (column->as_ints)
			column->ints = zswrite_grow(buf, column->ints, old * sizeof(int64),
										new * sizeof(int64));
		else
		{
			column->offsets = zswrite_grow(buf, column->offsets,
										   old == 0 ? 0 : (old + 1) * sizeof(uint64),
								   (new + 1) * sizeof(uint64));
			if (old == 0)
				column->offsets[0] = 0;
		}
	}
	buf->maxrows = new;
}

/* Makes room for more rows in all columns. */
void
zswrite_grow_rows(ZsWriteBuffer *buf)
{
	resize_rows(buf, buf->maxrows == 0 ? INITIAL_ROWS : Min(buf->maxrows * 2, ZSWRITE_PART_ROWS));
}

/* Memory that doubling the rows will take, now for the arrays and soon for the values. */
static Size
doubling_size(const ZsWriteBuffer *buf)
{
	Size		size = 0;

	for (int i = 0; i < buf->ncolumns; i++)
	{
		const ZsWriteColumn *column = &buf->columns[i];

		if (!column->dropped)
			size += buf->maxrows * (1 + (column->isext != NULL) + sizeof(uint64)) +
				column->maxbytes;
	}
	return size;
}

/* Is the column part as large as it may become? */
bool
zswrite_columns_full(const ZsWriteBuffer *buf)
{
	Assert(buf->nrows <= buf->maxrows && buf->maxrows <= ZSWRITE_PART_ROWS);
	if (likely(buf->nrows < buf->maxrows))
		return false;
	return buf->nrows == ZSWRITE_PART_ROWS ||
		(buf->nrows > ZS_STRIPE_ROWS && !zswrite_memory_allows(doubling_size(buf)));
}

/* Gives the memory of an empty column part back; the columns are to be made again. */
void
zswrite_columns_free(ZsWriteBuffer *buf)
{
	Assert(buf->columns != NULL && buf->nrows == 0 && buf->nlinks == 0);
	for (int i = 0; i < buf->ncolumns; i++)
	{
		ZsWriteColumn *column = &buf->columns[i];
		void	   *parts[] = {column->isnull, column->isext, column->ints, column->bytes,
							   column->offsets};

		if (column->dropped)
			continue;
		zswrite_account(buf, -(int64) (buf->maxrows * (1 + (column->isext != NULL)) +
									   (column->ints != NULL ? buf->maxrows * sizeof(int64) : 0) +
									   (column->offsets != NULL ? (buf->maxrows + 1) *
										sizeof(uint64) : 0) +
									   column->maxbytes + column->choice_size));
		zscodec_buf_free(&column->choice.words);
		for (int k = 0; k < (int) lengthof(parts); k++)
		{
			if (parts[k] != NULL)
				pfree(parts[k]);
		}
	}
	pfree(buf->columns);
	buf->columns = NULL;
	buf->maxrows = 0;
}

/* Gives back the memory that the rows of the column part do not need. */
void
zswrite_trim_columns(ZsWriteBuffer *buf)
{
	uint32		rows = INITIAL_ROWS;

	if (buf->columns == NULL)
		return;
	if (buf->nrows == 0)
	{
		zswrite_columns_free(buf);
		return;
	}
	while (rows < buf->nrows)
		rows = Min(rows * 2, ZSWRITE_PART_ROWS);
	if (rows < buf->maxrows)
		resize_rows(buf, rows);
	for (int i = 0; i < buf->ncolumns; i++)
	{
		ZsWriteColumn *column = &buf->columns[i];
		Size		size = Max(column->nbytes, 1024);

		if (column->dropped || size >= column->maxbytes)
			continue;
		column->bytes = zswrite_grow(buf, column->bytes, column->maxbytes, size);
		column->maxbytes = size;
	}
}

/*
 * Can the row join the present column part?
 *
 * May the row follow? It may after a gap that this function could retire.
 */
bool
zswrite_columns_accept(Relation rel, const ZsWriteBuffer *buf, zstid row)
{
	zstid		end = buf->first + buf->nrows;

	Assert(buf->nlinks == 0);	/* zswrite_resume_columns() */
	Assert(buf->nrows == 0 || buf->first % ZS_STRIPE_ROWS == 0);
	if (buf->nrows == 0)
		return row % ZS_STRIPE_ROWS == 0;
	if (likely(row == end))
		return row < buf->first + ZSWRITE_PART_ROWS;
	return row > end && row < buf->first + ZSWRITE_PART_ROWS && row - end < MAX_GAP &&
		zstid_retire_gap(rel, end, row);
}

/* Takes the last row out again. */
void
zswrite_columns_pop(ZsWriteBuffer *buf)
{
	Assert(buf->nrows > 0 && buf->nlinks == 0);
	buf->nrows--;
	for (int i = 0; i < buf->ncolumns; i++)
	{
		ZsWriteColumn *column = &buf->columns[i];

		if (column->dropped)
			continue;
		if (column->isext != NULL)
			column->isext[buf->nrows] = 0;
		if (!column->as_ints)
			column->nbytes = column->offsets[buf->nrows];
	}
}

/*
 * Drops the first n rows, whole stripes unless they are all; the rest moves to
 * the front.
 */
void
zswrite_columns_drop(ZsWriteBuffer *buf, uint32 n)
{
	uint32		rest = buf->nrows - n;

	Assert(n <= buf->nrows && (n % ZS_STRIPE_ROWS == 0 || rest == 0));
	for (int i = 0; i < buf->ncolumns; i++)
	{
		ZsWriteColumn *column = &buf->columns[i];

		if (column->dropped)
			continue;
		memmove(column->isnull, column->isnull + n, rest);
		if (column->isext != NULL)
		{
			memmove(column->isext, column->isext + n, rest);
			memset(column->isext + rest, 0, buf->maxrows - rest);
		}
		if (column->as_ints)
		{
			memmove(column->ints, column->ints + n, rest * sizeof(int64));
			column->nbytes = column->nbytes * rest / buf->nrows;
		}
		else
		{
			Size		cut = column->offsets[n];

			/* a column of NULLs alone has no memory */
			if (column->nbytes > cut)
				memmove(column->bytes, column->bytes + cut, column->nbytes - cut);
			column->nbytes -= cut;
			for (uint32 k = 0; k <= rest; k++)
				column->offsets[k] = column->offsets[n + k] - cut;
		}
		if (rest == 0)
		{
			column->any_null = column->any_ext = false;
			column->scale = -1;
		}
	}
	buf->first += n;
	buf->nrows = rest;
	buf->nunnumbered = Min(buf->nunnumbered, rest);
}
