/*-------------------------------------------------------------------------
 *
 * write_batch.c
 *	  Rows waiting to be written: a batch of columns and a batch of whole rows.
 *
 * The column batch holds consecutive row numbers from a stripe boundary on,
 * in the arrays that the codec takes; it becomes one segment per column or a few.  A
 * small gap (row numbers given back at the end of a command) is filled, after its row numbers were
 * retired: what a segment covers never gets a row later.  If single inserts of this or another
 * session have taken some of them, the batch ends before the gap.
 *
 * For the same reason a batch begins and ends with rows that may live: rows of rolled-back
 * subtransactions at its ends are dropped before it is written.  VACUUM may have made
 * segments of what others have in those stripes.
 *
 * A column batch that is too short for segments goes into the row tree, if
 * its rows are not too wide for that.
 *
 * Values above ZS_OVERFLOW_THRESHOLD leave at once for overflow pages, so the
 * batches never hold large values.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_batch.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_index.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "write_internal.h"
#include "zs_compat.h"
#include "zs_tid.h"

/* Rows for which the arrays are made first; they double from there, to reach a full batch. */
#define INITIAL_ROWS	58

/* Longest gap within a batch. */
#define MAX_GAP			ZS_STRIPE_ROWS

/*
 * Others who check an exclusion constraint compare their values with those of rows that are being
 * inserted, unless the index can tell for sure.
 */
static bool
has_exclusion_constraint(Relation rel)
{
	bool		result = false;
	List	   *indexes;
	ListCell   *lc;

	if (!rel->rd_rel->relhasindex)
		return false;
	indexes = RelationGetIndexList(rel);
	foreach(lc, indexes)
	{
		HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(lc)));

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for index %u", lfirst_oid(lc));
		result |= ((Form_pg_index) GETSTRUCT(tuple))->indisexclusion;
		ReleaseSysCache(tuple);
	}
	list_free(indexes);
	return result;
}

/*
 * Both batches of a new buffer, empty.  Reads the catalog: an exclusion
 * constraint has rows written through.
 */
void
zswrite_batch_init(Relation rel, ZsWriteBuffer *buf)
{
	TupleDesc	desc = RelationGetDescr(rel);

	buf->natts = desc->natts;
	buf->write_through = has_exclusion_constraint(rel);
	buf->columns = NULL;
	buf->nrows = buf->maxrows = 0;
	buf->gaps = NULL;
	buf->ngaps = buf->maxgaps = 0;
	buf->items = NULL;
	buf->nitems = buf->maxitems = buf->nwritten = 0;
	buf->kept = NULL;
	buf->nkept = buf->maxkept = 0;
	buf->links = NULL;
	buf->nlinks = 0;
	buf->any_aborted = false;
	buf->subxacts = NULL;
	buf->nsubxacts = buf->maxsubxacts = 0;
	buf->next = buf->end = 0;
	buf->frozen_first = buf->frozen_end = 0;
}

static void free_columns(ZsWriteBuffer *buf);

/* ---- memory of the column batch ------------------------------------------------ */

/* Memory of the batch, accounted for; old may be NULL. */
void *
zswrite_grow(ZsWriteBuffer *buf, void *old, Size old_size, Size new_size)
{
	zswrite_account(buf, (int64) new_size - (int64) old_size);
	if (old == NULL)
		return MemoryContextAllocHuge(buf->context, new_size);
	return repalloc_huge(old, new_size);
}

/*
 * Makes the columns of the batch, which has none; without rows, and without
 * memory for any.
 */
void
zswrite_init_columns(Relation rel, ZsWriteBuffer *buf)
{
	TupleDesc	desc = RelationGetDescr(rel);

	buf->columns = MemoryContextAllocZero(buf->context,
										  Max(buf->natts, 1) * sizeof(ZsWriteColumn));
	for (int i = 0; i < buf->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

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

	Assert(new >= buf->nrows && new <= ZSWRITE_BATCH_ROWS);
	for (int i = 0; i < buf->natts; i++)
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
	resize_rows(buf, buf->maxrows == 0 ? INITIAL_ROWS : Min(buf->maxrows * 2, ZSWRITE_BATCH_ROWS));
}

/* Memory that doubling the rows will take, now for the arrays and soon for the values. */
static Size
doubling_size(const ZsWriteBuffer *buf)
{
	Size		size = 0;

	for (int i = 0; i < buf->natts; i++)
	{
		const ZsWriteColumn *column = &buf->columns[i];

		if (!column->dropped)
			size += buf->maxrows * (1 + (column->isext != NULL) + sizeof(uint64)) +
				column->maxbytes;
	}
	return size;
}

/* Is the column batch as large as it may become? */
bool
zswrite_columns_full(const ZsWriteBuffer *buf)
{
	if (likely(buf->nrows < buf->maxrows))
		return false;
	return buf->nrows == ZSWRITE_BATCH_ROWS ||
		(buf->nrows > ZS_STRIPE_ROWS && !zswrite_memory_allows(doubling_size(buf)));
}

/* Gives back the memory that the rows of the column batch do not need. */
void
zswrite_trim_columns(ZsWriteBuffer *buf)
{
	uint32		rows = INITIAL_ROWS;

	if (buf->columns == NULL)
		return;
	if (buf->nrows == 0)
	{
		free_columns(buf);
		return;
	}
	while (rows < buf->nrows)
		rows = Min(rows * 2, ZSWRITE_BATCH_ROWS);
	if (rows < buf->maxrows)
		resize_rows(buf, rows);
	for (int i = 0; i < buf->natts; i++)
	{
		ZsWriteColumn *column = &buf->columns[i];
		Size		size = Max(column->nbytes, 1024);

		if (column->dropped || size >= column->maxbytes)
			continue;
		column->bytes = zswrite_grow(buf, column->bytes, column->maxbytes, size);
		column->maxbytes = size;
	}
}

/* How large values of a column are to be compressed. */
void
zswrite_compression(Relation rel, AttrNumber attno, ZsCompression *compression, int *level)
{
	ZsTableOptions options;
	char		attcompression = TupleDescAttr(RelationGetDescr(rel), attno - 1)->attcompression;

	zsbase_table_options(rel, &options);
	*compression = options.compression;
	*level = options.compression_level;

	/* ALTER COLUMN SET COMPRESSION: pglz, which segments do not know, asks for a tight method */
	if (attcompression == 'l')
		*compression = ZS_COMPRESSION_LZ4;
	else if (attcompression == 'p')
		*compression = ZS_COMPRESSION_ZSTD;
}

/* ---- the column batch ---------------------------------------------------------------- */

/*
 * Can the row join the present column batch?
 *
 * May the row follow? It may after a gap that this function could retire.
 */
bool
zswrite_columns_accept(Relation rel, const ZsWriteBuffer *buf, zstid row)
{
	zstid		end = buf->first + buf->nrows;

	if (buf->nrows == 0)
		return row % ZS_STRIPE_ROWS == 0;
	if (likely(row == end))
		return row < buf->first + ZSWRITE_BATCH_ROWS;
	return row > end && row < buf->first + ZSWRITE_BATCH_ROWS && row - end < MAX_GAP &&
		zstid_retire_gap(rel, end, row);
}

/* Frees an item that leaves the row batch. */
static void
free_item(ZsWriteBuffer *buf, MinimalTuple item)
{
	zswrite_account(buf, -(int64) item->t_len);
	pfree(item);
}

/* Takes the last row that was appended out again. */
void
zswrite_pop(ZsWriteBuffer *buf, zstid row)
{
	zswrite_keep_forget(buf, row);
	if (buf->nitems > 0 && zsrow_item_row(buf->items[buf->nitems - 1]) == row)
	{
		free_item(buf, buf->items[--buf->nitems]);
		return;
	}
	if (buf->nrows > 0 && buf->first + buf->nrows - 1 == row)
	{
		buf->nrows--;
		for (int i = 0; i < buf->natts; i++)
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
}

/* Drops the first n rows; the rest moves to the front. */
static void
drop_rows(ZsWriteBuffer *buf, uint32 n)
{
	uint32		rest = buf->nrows - n;

	for (int i = 0; i < buf->natts; i++)
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
}

/* Gives the memory of an empty column batch back. */
static void
free_columns(ZsWriteBuffer *buf)
{
	Assert(buf->nrows == 0);
	for (int i = 0; i < buf->natts; i++)
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
									   column->maxbytes));
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

/* Writes the segments of the first nrows rows; buf->links is what remains to be linked. */
static void
write_segments(Relation rel, ZsWriteBuffer *buf, uint32 nrows)
{
	ZsAttrColumn *columns = palloc0(Max(buf->natts, 1) * sizeof(ZsAttrColumn));
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKWRITE);
	int			n = 0;

	for (int i = 0; i < buf->natts; i++)
	{
		ZsWriteColumn *from = &buf->columns[i];
		ZsAttrColumn *to = &columns[n];

		if (from->dropped)
			continue;
		n++;
		to->attno = i + 1;
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
		zswrite_compression(rel, i + 1, &to->compression, &to->compression_level);
	}
	if (n > 0)
	{
		MemoryContext old = MemoryContextSwitchTo(buf->context);

		buf->links = zsattr_write_segments(rel, buf->first, nrows, buf->natts, columns, n,
										   strategy);
		MemoryContextSwitchTo(old);
	}
	buf->nlinks = nrows;
	for (int i = 0; i < n; i++)
		buf->columns[columns[i].attno - 1].stripe_bytes = columns[i].stripe_bytes;
	FreeAccessStrategy(strategy);
	pfree(columns);
}

/* ---- the row batch ---------------------------------------------------------------------- */

/* An external varlena that stands for a value on overflow pages, palloc'd. */
Datum
zswrite_pointer_datum(const ZsOverflowPointer *pointer)
{
	char	   *datum = palloc(ZS_OVERFLOW_DATUM_SIZE);

	zsattr_overflow_to_datum(pointer, datum);
	return PointerGetDatum(datum);
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
			if (VARATT_IS_EXTENDED(DatumGetPointer(value)) &&
				!VARATT_IS_SHORT(DatumGetPointer(value)))
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
 * Forms the item in a context; values may be changed.  NULL if it does not fit, after values were
 * pushed out if that is allowed.
 */
static MinimalTuple
form_item(Relation rel, MemoryContext context, Datum *values, const bool *isnull, bool push_out)
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
	item = form_item(rel, context, values, slot->tts_isnull, push_out);
	if (item == NULL && push_out)
		elog(ERROR, "row of table \"%s\" does not fit an item of the row tree",
			 RelationGetRelationName(rel));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
	return item;
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
	zsrow_item_set_row(item, row);
	zswrite_account(buf, item->t_len);
	buf->items[buf->nitems++] = item;
}

static int
compare_items(const void *a, const void *b)
{
	zstid		ra = zsrow_item_row(*(MinimalTuple const *) a);
	zstid		rb = zsrow_item_row(*(MinimalTuple const *) b);

	return ra < rb ? -1 : ra > rb;
}

/*
 * Is the buffered row one that the transaction may still commit?  Frozen rows are, but only those
 * that were reserved as such: VACUUM may have given the row number of a rolled-back one to others,
 * and frozen theirs.  VACUUM FULL, which writes frozen rows only, has changed their slots since.
 */
static bool
row_may_live(Relation rel, const ZsWriteBuffer *buf, zstid row)
{
	ZsVisSlot	vis;

	if (!zstid_lookup(rel, row, &vis, NULL))
		return false;
	if (vis.xmin == FrozenTransactionId && row >= buf->frozen_first && row < buf->frozen_end)
		return true;
	return buf->xid == FrozenTransactionId || TransactionIdIsCurrentTransactionId(vis.xmin);
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
		live[i] = row_may_live(rel, buf, zsrow_item_row(buf->items[i]));
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
	zswrite_keep_share_buffered(rel, buf);
	zsrow_insert(rel, buf->items, buf->nitems, &buf->nwritten);
	drop_written_items(buf);
}

/* ---- from columns to rows ------------------------------------------------------------------- */

/*
 * A by-reference datum of the type's length, palloc'd; data are what follows
 * its header.
 */
Datum
zswrite_form_datum(int16 attlen, const void *data, Size len)
{
	Size		header = attlen == -1 ? VARHDRSZ : 0;
	char	   *result = palloc(header + len);

	if (attlen == -1)
		SET_VARSIZE(result, VARHDRSZ + len);
	memcpy(result + header, data, len);
	return PointerGetDatum(result);
}

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

/* Takes the last items of the row batch away again; nitems stay. */
static void
drop_last_items(ZsWriteBuffer *buf, int nitems)
{
	while (buf->nitems > nitems)
		free_item(buf, buf->items[--buf->nitems]);
}

/* The item for row n of the column batch, in the current context; NULL if the row is too wide. */
static MinimalTuple
column_item(Relation rel, ZsWriteBuffer *buf, uint32 n, Datum *values, bool *isnull)
{
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
	return form_item(rel, buf->context, values, isnull, false);
}

/*
 * Turns the column batch into items of the row batch.  False, with nothing done, when a row is too
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
		drop_last_items(buf, nitems_before);
		PG_RE_THROW();
	}
	PG_END_TRY();

	MemoryContextDelete(per_row);
	pfree(values);
	pfree(isnull);
	if (!fits)
		drop_last_items(buf, nitems_before);
	return fits;
}

/*
 * Drops rows of rolled-back subtransactions at both ends of the column batch, whole stripes in
 * front.
 */
static void
drop_aborted_ends(Relation rel, ZsWriteBuffer *buf)
{
	uint32		first = 0;

	while (buf->nrows > 0 && !row_may_live(rel, buf, buf->first + buf->nrows - 1))
	{
		CHECK_FOR_INTERRUPTS();
		zswrite_pop(buf, buf->first + buf->nrows - 1);
	}
	while (first < buf->nrows && !row_may_live(rel, buf, buf->first + first))
	{
		CHECK_FOR_INTERRUPTS();
		first++;
	}
	first -= first % ZS_STRIPE_ROWS;
	if (first > 0)
		drop_rows(buf, first);
}

/*
 * Links the segments that were written, and drops their rows from the batch.  An error may be
 * caught by a savepoint; then the rest is linked later, before the batch gets more rows.
 */
static void
finish_segments(Relation rel, ZsWriteBuffer *buf)
{
	zstid		end = buf->first + buf->nlinks;

	if (buf->links != NULL)
		zsattr_link_segments(rel, buf->links);

	/* rows that would follow within the last stripe cannot begin a batch */
	if (buf->owned && buf->next >= end && buf->next < TYPEALIGN64(ZS_STRIPE_ROWS, end))
		zswrite_release_rows(rel, buf);
	drop_rows(buf, buf->nlinks);
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
 * Writes the batches; full: more rows follow, so the rows of the last stripe
 * may stay.
 */
void
zswrite_write_columns(Relation rel, ZsWriteBuffer *buf, bool full)
{
	uint32		nrows;

	zswrite_resume_columns(rel, buf);
	if (buf->any_aborted && buf->nrows > 0)
		drop_aborted_ends(rel, buf);
	nrows = buf->nrows;
	if (nrows == 0)
	{
		if (buf->columns != NULL && !full)
			free_columns(buf);
		return;
	}
	Assert(nrows <= ZSWRITE_BATCH_ROWS);
	if (!full && nrows < (uint32) zs_min_segment_rows && columns_to_items(rel, buf))
	{
		/* they are items now, whatever happens to these */
		drop_rows(buf, nrows);
		free_columns(buf);
		zswrite_write_items(rel, buf);
		return;
	}

	/* segments begin at stripe boundaries: the rest of a stripe waits for its rows */
	if (full && nrows > ZS_STRIPE_ROWS)
		nrows -= nrows % ZS_STRIPE_ROWS;
	write_segments(rel, buf, nrows);
	finish_segments(rel, buf);

	/* when more rows follow, they need the memory again */
	if (buf->nrows == 0 && !full)
		free_columns(buf);
}
