/*-------------------------------------------------------------------------
 *
 * write_parts.c
 *	  Rows waiting to be written: a part of columns and a part of whole rows.
 *
 * The column part holds consecutive row numbers from a stripe boundary on,
 * in the arrays that the codec takes; it becomes one segment per column or a few.  A
 * small gap (row numbers given back at the end of a command) is filled, after its row numbers were
 * retired: what a segment covers never gets a row later.  If single inserts of this or another
 * session have taken some of them, the part ends before the gap.
 *
 * For the same reason a part begins and ends with rows that may live: rows of rolled-back
 * subtransactions at its ends are dropped before it is written.  VACUUM may have made
 * segments of what others have in those stripes.
 *
 * A column part that is too short for segments goes into the row tree, if
 * its rows are not too wide for that.
 *
 * Values above ZS_OVERFLOW_THRESHOLD leave at once for overflow pages, so the
 * parts never hold large values.
 *
 * Here is what concerns both parts, and what becomes of the column part:
 * items or segments.  Memory and size of the column part: write_columns.c; the
 * row part: write_items.c; rows into the column part: write_append.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_parts.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "write_internal.h"
#include "zs_compat.h"
#include "zs_page.h"

/* This share of a full part may wait for the next one. */
#define MAY_WAIT_SHARE		8

/*
 * Both parts of a new buffer, empty.  Reads the catalog: an exclusion
 * constraint has rows written through.
 */
void
zswrite_parts_init(Relation rel, ZsWriteBuffer *buf)
{
	TupleDesc	desc = RelationGetDescr(rel);

	Assert(buf->context != NULL && buf->bytes == 0);
	buf->natts = desc->natts;
	buf->ncolumns = desc->natts + (zspage_keeps_xmin(rel) ? 1 : 0);
	buf->write_through = zswrite_has_exclusion_constraint(rel);
	buf->columns = NULL;
	buf->nrows = buf->maxrows = buf->nunnumbered = 0;
	buf->gaps = NULL;
	buf->ngaps = buf->maxgaps = 0;
	buf->items = NULL;
	buf->nitems = buf->maxitems = buf->nwritten = 0;
	buf->item_set = NULL;
	buf->nset = 0;
	buf->kept = NULL;
	buf->nkept = buf->maxkept = 0;
	buf->links = NULL;
	buf->nlinks = 0;
	buf->appending = false;
	buf->long_load = false;
	buf->any_aborted = false;
	buf->nlive = 0;
	buf->subxacts = NULL;
	buf->nsubxacts = buf->maxsubxacts = 0;
	buf->reserved = buf->aside = (ZsReserved) {0};
	buf->frozen_first = buf->frozen_end = 0;
}

/* Takes the last row that was appended out again. */
void
zswrite_pop(ZsWriteBuffer *buf, zstid row)
{
	zswrite_keep_forget(buf, row);
	if (buf->nitems > 0 && zsrow_item_row(buf->items[buf->nitems - 1]) == row)
		zswrite_items_drop_last(buf, buf->nitems - 1);
	else if (buf->nrows > 0 && buf->nunnumbered == 0 && buf->first + buf->nrows - 1 == row)
		zswrite_columns_pop(buf);
}

/* ---- from columns to rows ------------------------------------------------------------------- */

/* The datum of row n of a column, palloc'd where it is by reference. */
static Datum
column_datum(const ZsWriteColumn *column, uint32 n)
{
	const uint8 *data;
	Size		len;
	char	   *result;

	if (zsattr_kind_is_by_value(&column->kind))
		return (Datum) column->ints[n];
	if (column->as_ints)
	{
		result = palloc(VARHDRSZ + ZS_NUMERIC_PAYLOAD_MAX);
		len = zscodec_numeric_from_int(column->ints[n], column->scale, (uint8 *) VARDATA(result));
		SET_VARSIZE(result, VARHDRSZ + len);
		return PointerGetDatum(result);
	}
	data = column->bytes + column->offsets[n];
	len = column->offsets[n + 1] - column->offsets[n];
	if (column->any_ext && column->isext[n])
	{
		ZsOverflowPointer pointer;

		memcpy(&pointer, data, sizeof(pointer));
		return zswrite_pointer_datum(&pointer);
	}
	return zswrite_form_datum(column->attlen, data, len);
}

/* The item for row n of the column part, in the current context; NULL if the row is too wide. */
static MinimalTuple
column_item(Relation rel, ZsWriteBuffer *buf, uint32 n, Datum *values, bool *isnull)
{
	TransactionId xmin = buf->ncolumns > buf->natts ?
		(TransactionId) buf->columns[buf->natts].ints[n] : InvalidTransactionId;

	for (int i = 0; i < buf->natts; i++)
	{
		ZsWriteColumn *column = &buf->columns[i];

		isnull[i] = column->dropped || column->isnull[n];
		values[i] = isnull[i] ? (Datum) 0 : column_datum(column, n);
	}

	/*
	 * large values are on overflow pages already; pushing more out here would strand them if a
	 * later row does not fit
	 */
	return zswrite_form_values(rel, buf->context, values, isnull, xmin, false);
}

/*
 * Turns the column part into items of the row part.  False, with nothing done, when a row is too
 * wide.  An error leaves no items either: a savepoint may catch it, and all this be done again.
 */
static bool
columns_to_items(Relation rel, ZsWriteBuffer *buf)
{
	MemoryContext old = CurrentMemoryContext;
	MemoryContext per_row = AllocSetContextCreate(old, "zedstore row", ALLOCSET_DEFAULT_SIZES);
	Datum	   *values = palloc_array(Datum, Max(buf->natts, 1));
	bool	   *isnull = palloc_array(bool, Max(buf->natts, 1));
	int			nitems_before = buf->nitems;
	volatile bool fits = RelationGetNumberOfAttributes(rel) == buf->natts;

	PG_TRY();
	{
		int			gapno = 0;

		for (uint32 n = 0; n < buf->nrows && fits; n++)
		{
			zstid		row = buf->first + n;
			MinimalTuple item;

			while (gapno < buf->ngaps && row >= buf->gaps[gapno].first + buf->gaps[gapno].count)
				gapno++;
			if (gapno < buf->ngaps && row >= buf->gaps[gapno].first)
				continue;
			MemoryContextReset(per_row);
			MemoryContextSwitchTo(per_row);
			item = column_item(rel, buf, n, values, isnull);
			if (item == NULL)
				fits = false;
			else
				zswrite_append_item(buf, row, item);
			ZS_INJECTION_POINT("zs-write-item");
		}
		MemoryContextSwitchTo(old);
	}
	PG_CATCH();
	{
		zswrite_items_drop_last(buf, nitems_before);
		PG_RE_THROW();
	}
	PG_END_TRY();

	MemoryContextDelete(per_row);
	pfree(values);
	pfree(isnull);
	if (!fits)
		zswrite_items_drop_last(buf, nitems_before);
	return fits;
}

/* ---- from columns to segments ---------------------------------------------------------------- */

/* What number_first() needs. */
typedef struct NumberFirst
{
	Relation	rel;
	ZsWriteBuffer *buf;
	uint32		nrows;
} NumberFirst;

/* The rows get their numbers when their segments have their blocks. */
static zstid
number_first(void *arg)
{
	NumberFirst *number = arg;

	zswrite_number_rows(number->rel, number->buf, number->nrows);
	return number->buf->first;
}

/*
 * Writes the segments of the first nrows rows, numbering them if need be; buf->links is what
 * remains to be linked.  last: no others are likely to follow.
 */
static void
write_segments(Relation rel, ZsWriteBuffer *buf, uint32 nrows, bool last)
{
	ZsAttrColumn *columns = palloc0(Max(buf->ncolumns, 1) * sizeof(ZsAttrColumn));
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKWRITE);
	NumberFirst number = {.rel = rel, .buf = buf, .nrows = nrows};
	bool		unnumbered = buf->nunnumbered == buf->nrows;
	int			n = 0;

	Assert(buf->first % ZS_STRIPE_ROWS == 0);
	Assert(nrows > 0 && nrows <= buf->nrows);
	Assert(unnumbered || nrows <= buf->nrows - buf->nunnumbered);
	Assert(buf->links == NULL && buf->nlinks == 0);
	for (int i = 0; i < buf->ncolumns; i++)
	{
		ZsWriteColumn *from = &buf->columns[i];
		ZsAttrColumn *to = &columns[n];

		if (from->dropped)
			continue;
		n++;
		to->attno = zswrite_column_attno(buf, i);
		to->input.kind = from->kind.kind;
		to->input.width = from->kind.width;
		to->input.align = from->kind.align;
		to->input.is_unsigned = from->kind.is_unsigned;
		to->input.nrows = nrows;
		to->input.isnull = from->any_null ? from->isnull : NULL;
		to->input.isext = from->any_ext ? from->isext : NULL;
		to->input.ints = from->as_ints ? from->ints : NULL;
		to->input.scale = Max(from->scale, 0);
		to->input.raw_bytes = from->nbytes;
		/* no bytes were appended if all values are NULL or empty */
		to->input.bytes = from->bytes != NULL ? from->bytes : (const uint8 *) "";
		to->input.offsets = from->offsets;
		to->stripe_bytes = from->stripe_bytes;
		to->choice = zs_enable_kept_choices ? &from->choice : NULL;
		zswrite_compression(rel, to->attno, &to->compression, &to->compression_level);
	}
	if (n > 0)
	{
		MemoryContext old = MemoryContextSwitchTo(buf->context);

		buf->links = zsattr_write_segments(rel, unnumbered ? 0 : buf->first, nrows, buf->natts,
										   columns, n, last, unnumbered ? number_first : NULL,
										   &number, strategy);
		MemoryContextSwitchTo(old);
	}
	else if (unnumbered)
		(void) number_first(&number);
	buf->nlinks = nrows;
	for (int i = 0, k = 0; i < n; i++, k++)
	{
		ZsWriteColumn *column;

		while (buf->columns[k].dropped)
			k++;
		column = &buf->columns[k];
		column->stripe_bytes = columns[i].stripe_bytes;
		zswrite_account(buf, (int64) column->choice.words.size - (int64) column->choice_size);
		column->choice_size = column->choice.words.size;
	}
	FreeAccessStrategy(strategy);
	pfree(columns);
}

/*
 * Drops rows of rolled-back subtransactions at both ends of the column part, whole stripes in
 * front.
 */
static void
drop_aborted_ends(Relation rel, ZsWriteBuffer *buf)
{
	uint32		first = 0;

	while (buf->nrows > 0 && !zswrite_row_may_live(rel, buf, buf->first + buf->nrows - 1))
	{
		CHECK_FOR_INTERRUPTS();
		zswrite_pop(buf, buf->first + buf->nrows - 1);
	}
	while (first < buf->nrows && !zswrite_row_may_live(rel, buf, buf->first + first))
	{
		CHECK_FOR_INTERRUPTS();
		first++;
	}
	first -= first % ZS_STRIPE_ROWS;
	if (first > 0)
		zswrite_columns_drop(buf, first);
}

/*
 * Links the segments that were written, and drops their rows from the part.  An error may be
 * caught by a savepoint; then the rest is linked later, before the part gets more rows.
 */
static void
finish_segments(Relation rel, ZsWriteBuffer *buf)
{
	zstid		end = buf->first + buf->nlinks;

	Assert(buf->nlinks > 0 && buf->nlinks <= buf->nrows);
	if (buf->links != NULL)
		zsattr_link_segments(rel, buf->links);

	zswrite_end_stripe(rel, buf, end);
	zswrite_columns_drop(buf, buf->nlinks);
	buf->nlinks = 0;
	if (buf->links != NULL)
		pfree(buf->links);
	buf->links = NULL;
}

/*
 * Finishes what an interrupted zswrite_write_columns() left; to be called
 * before rows are appended.
 */
void
zswrite_resume_columns(Relation rel, ZsWriteBuffer *buf)
{
	if (unlikely(buf->nlinks > 0))
		finish_segments(rel, buf);
}

/*
 * How many of the first nrows rows, whole stripes, are written now when others follow: an eighth of
 * them may wait if that fills the last pages of the segments better, those of all columns together.
 * From what a stripe took before, it follows about what a segment takes.
 */
static uint32
choose_rows(const ZsWriteBuffer *buf, uint32 nrows)
{
	uint32		best = nrows;
	uint64		least = 0;

	Assert(nrows > 0 && nrows <= buf->nrows && nrows % ZS_STRIPE_ROWS == 0);
	for (uint32 n = nrows; n >= nrows - nrows / MAY_WAIT_SHARE; n -= ZS_STRIPE_ROWS)
	{
		uint64		waste = 0;

		for (int i = 0; i < buf->ncolumns; i++)
		{
			if (!buf->columns[i].dropped)
				waste += zsattr_expected_waste(n, buf->columns[i].stripe_bytes);
		}
		/* waste of a row, as fractions */
		if (n == nrows || waste * best < least * n)
		{
			least = waste;
			best = n;
		}
	}
	return best;
}

/*
 * Writes the parts; full: more rows follow, so the rows of the last stripe
 * may stay, and some stripes more while there is memory.
 */
void
zswrite_write_columns(Relation rel, ZsWriteBuffer *buf, bool full)
{
	uint32		nrows;

	zswrite_resume_columns(rel, buf);
	if (buf->any_aborted && buf->nrows > 0 && buf->nunnumbered == 0)
		drop_aborted_ends(rel, buf);

	/* an error came when some had got their numbers; those are whole stripes */
	if (unlikely(buf->nunnumbered > 0 && buf->nunnumbered < buf->nrows))
	{
		write_segments(rel, buf, buf->nrows - buf->nunnumbered, false);
		finish_segments(rel, buf);
	}
	nrows = buf->nrows;
	if (nrows == 0)
	{
		if (buf->columns != NULL && !full)
			zswrite_columns_free(buf);
		return;
	}
	Assert(nrows <= ZSWRITE_PART_ROWS && buf->nlinks == 0);
	if (buf->nunnumbered == nrows)
		zswrite_sort_columns(rel, buf);
	if (!full && nrows < (uint32) zs_min_segment_rows && buf->nunnumbered > 0)
		zswrite_number_rows(rel, buf, nrows);
	if (!full && nrows < (uint32) zs_min_segment_rows && columns_to_items(rel, buf))
	{
		/* they are items now, whatever happens to these */
		zswrite_columns_drop(buf, nrows);
		zswrite_columns_free(buf);
		zswrite_write_items(rel, buf);
		return;
	}

	/* segments begin at stripe boundaries: the rest of a stripe waits for its rows */
	if (full && nrows > ZS_STRIPE_ROWS)
	{
		nrows -= nrows % ZS_STRIPE_ROWS;
		if (zswrite_memory_allows(0))
			nrows = choose_rows(buf, nrows);
	}

	/* a load that was long is over; a short one may be one of many */
	write_segments(rel, buf, nrows, !full && buf->long_load);
	buf->long_load = full;
	finish_segments(rel, buf);

	/* when more rows follow, they need the memory again */
	if (buf->nrows == 0 && !full)
		zswrite_columns_free(buf);
}
