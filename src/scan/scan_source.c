/*-------------------------------------------------------------------------
 *
 * scan_source.c
 *	  From a row number to column values.
 *
 * A row is looked for in the row tree first: rows only ever move from there
 * into segments, the segments are written before the row-tree copy goes, so a
 * reader in this order never misses a row.  Everything else is in the segments.
 * What was copied from them before the look into the row tree may lack the row; so
 * before a column counts as absent it is looked up once more, past all copies.
 *
 * A column may have no segment for a row because the column was added later;
 * its value is the attribute's missing value.  Segments remember how many
 * attributes the table had, so that a segment that is lost is told from
 * one that never was.
 *
 * Nothing is locked between calls.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_source.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "storage/procarray.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "scan_internal.h"
#include "zs_io.h"
#include "zs_page.h"
#include "zs_write.h"

static void source_fill(ZsSlotSource *base, ZsSlot *slot, int first, int natts,
						bool only_needed);

static bool source_find_vis(ZsSlotSource *base, ZsSlot *slot);

static void
init_columns(ZsRowSource *source)
{
	int			natts = source->desc->natts;

	source->columns = MemoryContextAllocZero(source->context,
											 Max(natts, 1) * sizeof(ZsSourceColumn));
	for (int i = 0; i < natts; i++)
		source->columns[i].stripe = ZS_INVALID_ROW;
}

static void
end_columns(ZsRowSource *source)
{
	zsscan_source_end_xmin(source);
	for (int i = 0; i < source->desc->natts; i++)
	{
		zsscan_column_end_readers(&source->columns[i]);
		if (source->columns[i].single != NULL)
			zsattr_reader_end(source->columns[i].single);
	}
	pfree(source->columns);
	source->kept_size = 0;
}

/* Ends the readers of all columns, whose memory others can use then. */
void
zsscan_source_end_readers(ZsRowSource *source)
{
	end_columns(source);
	init_columns(source);
}

/*
 * Does the source's descriptor say the same of stored rows as that of its slot?  ALTER TABLE takes
 * missing values out of the table's before it rewrites the rows, even if no type changes.  A slot's
 * may lack them for other reasons, since not all copies of a descriptor have them.
 */
static bool
same_layout(TupleDesc source_desc, TupleDesc slot_desc)
{
	if (source_desc->natts != slot_desc->natts)
		return false;
	for (int i = 0; i < source_desc->natts; i++)
	{
		Form_pg_attribute x = TupleDescAttr(source_desc, i);
		Form_pg_attribute y = TupleDescAttr(slot_desc, i);

		if (x->atttypid != y->atttypid || x->attisdropped != y->attisdropped ||
			(y->atthasmissing && !x->atthasmissing))
			return false;
	}
	return true;
}

/*
 * The reader's slot says what the rows look like: ALTER TABLE reads the old rows when the
 * relation's descriptor is the new one already.
 */
static void
adopt_descriptor(ZsRowSource *source, TupleDesc desc)
{
	MemoryContext old;

	source->slot_desc = desc;
	if (same_layout(source->desc, desc))
		return;
	end_columns(source);
	if (source->ahead != NULL)
		zsattr_ahead_end(source->ahead);
	source->ahead = NULL;
	old = MemoryContextSwitchTo(source->context);
	source->desc = CreateTupleDescCopyConstr(desc);
	MemoryContextSwitchTo(old);
	init_columns(source);
}

/*
 * Makes the source independent of the relation's descriptor, which may go
 * before it.
 */
void
zsscan_source_copy_desc(ZsRowSource *source)
{
	MemoryContext old = MemoryContextSwitchTo(source->context);

	source->desc = CreateTupleDescCopyConstr(source->desc);
	MemoryContextSwitchTo(old);
}

/*
 * strategy may be NULL.  Memory comes from a child of the current context,
 * which zsscan_source_free() deletes.
 */
ZsRowSource *
zsscan_source_create(Relation rel, bool by_vector, bool stream,
					 BufferAccessStrategy strategy)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "zedstore row source",
												  ALLOCSET_DEFAULT_SIZES);
	ZsRowSource *source = MemoryContextAllocZero(context, sizeof(ZsRowSource));

	source->base.fill = source_fill;
	source->base.xmin = zsscan_source_xmin;
	source->base.find_vis = source_find_vis;
	source->base.relid = RelationGetRelid(rel);
	source->base.locator = rel->rd_locator;
	source->rel = rel;
	source->desc = source->slot_desc = RelationGetDescr(rel);
	source->context = context;
	source->strategy = strategy;
	source->by_vector = by_vector;
	source->stream = stream;
	init_columns(source);
	source->range_end = ZS_MAX_ROW;
	source->row = ZS_INVALID_ROW;
	source->batch_stripe = ZS_INVALID_ROW;
	source->tree_stripe = ZS_INVALID_ROW;
	source->missing_checked = ZS_INVALID_ROW;
	return source;
}

/*
 * The rows [start, end) are what a scan reads next.  Drops what is known of
 * the present stripe, and tells the readers that are open.  ranges: as for zsattr_reader_range().
 *
 * What was copied from the row tree for an MVCC snapshot stays right as long as the scan does: all
 * rows that it sees were written before it began, their values never change, and one that is not in
 * the copy had left for segments by then.  So a small table that is scanned again and again is
 * copied once.
 */
void
zsscan_source_range(ZsRowSource *source, zstid start, zstid end, const ZsRowRanges *ranges)
{
	Assert(start <= end);
	zsslot_detach(&source->base);
	source->range_start = start;
	source->range_end = end;
	source->ranges = ranges;
	source->row_located = false;
	if (!source->trust_next_tree_row)
	{
		source->batch_stripe = ZS_INVALID_ROW;
		source->next_tree_row = 0;
	}
	zsscan_source_rest_tree(source);
	for (int i = 0; i < source->desc->natts; i++)
	{
		ZsAttrReader *reader = zsscan_column_first_reader(&source->columns[i]);

		source->columns[i].stripe = ZS_INVALID_ROW;
		if (reader == NULL)
			continue;
		zsattr_reader_range(reader, start, end, ranges);
		if (source->scan_end > 0)
			zsattr_reader_take_turns(reader, source->scan_end);
	}
}

/*
 * Ends the readers, takes the source away from the slot that reads from it,
 * and frees its memory.
 */
void
zsscan_source_free(ZsRowSource *source)
{
	zsslot_detach(&source->base);
	end_columns(source);
	zsbtree_visitor_end(&source->tree_visitor);
	if (source->batch != NULL)
		zsrow_batch_free(source->batch);
	MemoryContextDelete(source->context);
}

/* ---- row tree ------------------------------------------------------------- */

/* Finds out whether the row is in the row tree. */
static void
locate_row(ZsRowSource *source, ZsSlot *slot)
{
	zstid		row = slot->row;
	zstid		stripe = row - row % ZS_STRIPE_ROWS;

	if (source->row_located && source->row == row)
		return;
	if (source->tuple_owned)
		pfree(source->tuple);
	source->tuple = NULL;
	source->tuple_owned = false;
	memset(&source->progress, 0, sizeof(source->progress));
	if (source->by_vector)
	{
		if (unlikely(source->batch_stripe != stripe))
			zsscan_source_load_batch(source, stripe);
		source->tuple = source->batch == NULL || source->batch->nitems == 0 ? NULL :
			zsscan_source_tree_row(source, row);
	}
	else
	{
		MemoryContext old;

		/* our own row may not have left the write buffer */
		zswrite_flush_row(source->rel, row);
		old = MemoryContextSwitchTo(source->base.slot_keeps_values ? zsslot_values_context(slot) :
									source->context);
		source->tuple = zsrow_fetch(source->rel, row);
		source->tuple_owned = source->tuple != NULL && !source->base.slot_keeps_values;
		MemoryContextSwitchTo(old);
	}
	Assert(source->tuple == NULL || zsrow_item_row(source->tuple) == row);
	source->row = row;
	source->row_located = true;
}

/* ---- values --------------------------------------------------------------------- */

/*
 * Value of an overflow pointer that a vector or a tuple holds, or a TOAST pointer to it: an UPDATE
 * asks for all columns of the old row, and mostly leaves large values as they are.
 */
static Datum
fetch_overflow(ZsRowSource *source, ZsSlot *slot, int attno, const ZsOverflowPointer *pointer)
{
	MemoryContext old = MemoryContextSwitchTo(zsslot_values_context(slot));
	char	   *value = source->gives_toast ? palloc(ZS_TOAST_POINTER_SIZE) : NULL;

	Assert(source->base.user == slot);
	if (value == NULL || !zsattr_toast_from_pointer(source->rel, pointer, value))
		value = (char *) zsattr_overflow_read(source->rel, attno + 1, pointer);
	MemoryContextSwitchTo(old);
	return PointerGetDatum(value);
}

/* The column's values for a stripe are in vector from now on; NULL = no segment covers it. */
static void
set_vector(ZsSourceColumn *column, zstid stripe, const ZsVectorOut *vector)
{
	Assert(stripe % ZS_STRIPE_ROWS == 0);
	column->stripe = stripe;
	column->vector = vector;
	column->ndirect = 0;
	if (vector != NULL && !vector->has_ext)
	{
		column->ndirect = vector->nrows;
		column->values = vector->values;
		column->isnull = vector->isnull;
	}
}

/*
 * One column of the slot's row, of whose stripe few rows are wanted: this value alone, copied into
 * the slot's memory.  False if the vector is at hand, or nothing is found.
 */
static bool
sparse_value(ZsRowSource *source, ZsSlot *slot, int attno, Datum *value, bool *isnull)
{
	ZsSourceColumn *column = &source->columns[attno];
	Form_pg_attribute att = TupleDescAttr(source->desc, attno);
	MemoryContext old;

	if (att->attisdropped ||
		(column->reader != NULL &&
		 zsattr_reader_has_values(column->reader, slot->row - slot->row % ZS_STRIPE_ROWS)))
		return false;
	if (column->single == NULL)
	{
		old = MemoryContextSwitchTo(source->context);
		column->single = zsattr_reader_begin(source->rel, source->desc, attno + 1, 0,
											 source->strategy);
		zsattr_reader_count(column->single, &source->counts, source->io);
		MemoryContextSwitchTo(old);
	}
	if (!zsattr_reader_value(column->single, slot->row, value, isnull))
		return false;
	if (!*isnull && !att->attbyval)
	{
		old = MemoryContextSwitchTo(zsslot_values_context(slot));
		*value = datumCopy(*value, false, att->attlen);
		MemoryContextSwitchTo(old);
	}
	return true;
}

/* One column of the slot's row from the segments, whole vectors. */
static Datum
vector_value(ZsRowSource *source, ZsSlot *slot, int attno, bool *isnull)
{
	ZsSourceColumn *column = &source->columns[attno];
	uint32		index = slot->row % ZS_STRIPE_ROWS;
	zstid		stripe = slot->row - index;
	const ZsVectorOut *vector;
	Datum		value;

	Assert(source->by_vector && attno < source->desc->natts);
	if (unlikely(column->stripe != stripe))
	{
		zsscan_source_turn(source, attno, stripe);
		if (column->reader != NULL &&
			zsattr_reader_at_hand(column->reader, slot->row, &value, isnull))
			return value;
		if (source->sparse && !zsscan_column_keeps(column) &&
			sparse_value(source, slot, attno, &value, isnull))
			return value;
		set_vector(column, stripe,
				   TupleDescAttr(source->desc, attno)->attisdropped ? NULL :
				   zsattr_reader_vector(zsscan_source_reader(source, attno, stripe), stripe));
	}
	vector = column->vector;
	if (unlikely(vector == NULL || index >= vector->nrows))
	{
		if (column->asked_again != source->row_looks && column->reader != NULL)
		{
			zsattr_reader_forget(column->reader);
			set_vector(column, stripe, zsattr_reader_vector(column->reader, stripe));
			vector = column->vector;
			column->asked_again = source->row_looks;
		}
		if (vector == NULL || index >= vector->nrows)
			return zsscan_missing_value(source, slot, attno, isnull);
	}
	*isnull = vector->isnull[index];
	if (unlikely(vector->has_ext && vector->isext[index]))
	{
		ZsOverflowPointer pointer;

		memcpy(&pointer, VARDATA_ANY(DatumGetPointer((Datum) vector->values[index])),
			   sizeof(pointer));
		return fetch_overflow(source, slot, attno, &pointer);
	}
	return (Datum) vector->values[index];
}

/* One column of the slot's row from the segments, this value alone. */
static Datum
single_value(ZsRowSource *source, ZsSlot *slot, int attno, bool *isnull)
{
	Datum		value;

	Assert(attno < source->desc->natts);
	/* the reader may need the memory of the vector that the column has */
	source->columns[attno].stripe = ZS_INVALID_ROW;
	if (TupleDescAttr(source->desc, attno)->attisdropped)
		return zsscan_missing_value(source, slot, attno, isnull);
	if (!zsattr_reader_value(zsscan_source_reader(source, attno,
												  slot->row - slot->row % ZS_STRIPE_ROWS),
							 slot->row, &value, isnull))
	{
		if (!source->presumed)
			return zsscan_missing_value(source, slot, attno, isnull);
		source->presumed_wrong = true;
		*isnull = true;
		return (Datum) 0;
	}
	if (source->base.slot_keeps_values && !*isnull && !TupleDescAttr(source->desc, attno)->attbyval)
	{
		MemoryContext old = MemoryContextSwitchTo(zsslot_values_context(slot));

		value = datumCopy(value, false, TupleDescAttr(source->desc, attno)->attlen);
		MemoryContextSwitchTo(old);
	}
	return value;
}

/* Fetches those values of a row-tree tuple that are elsewhere and were asked for. */
static void
fetch_large_values(ZsRowSource *source, ZsSlot *slot, int first, int natts, bool only_needed)
{
	TupleTableSlot *base = &slot->base;

	for (int i = first; i < Min(natts, (int) HeapTupleHeaderGetNatts(source->tuple)); i++)
	{
		ZsOverflowPointer pointer;
		bool		needed = !only_needed || slot->nneeded < 0;

		if (TupleDescAttr(source->desc, i)->attlen != -1 || base->tts_isnull[i] ||
			!VARATT_IS_EXTERNAL(DatumGetPointer(base->tts_values[i])))
			continue;
		for (int k = 0; k < slot->nneeded && !needed; k++)
			needed = slot->needed[k] == i;
		if (!needed)
			continue;
		zsattr_overflow_from_datum((struct varlena *) DatumGetPointer(base->tts_values[i]),
								   &pointer);
		base->tts_values[i] = fetch_overflow(source, slot, i, &pointer);
	}
}

/*
 * Columns first .. natts - 1 of a row-tree tuple, like heap.  With overflow values only what was
 * asked for is valid.
 */
static void
fill_from_tuple(ZsRowSource *source, ZsSlot *slot, int first, int natts, bool only_needed)
{
	TupleTableSlot *base = &slot->base;

	Assert(source->row == slot->row && zsrow_item_row(source->tuple) == slot->row);
	natts = Min(natts, source->desc->natts);
	if (source->progress.natts != first)
	{
		memset(&source->progress, 0, sizeof(source->progress));
		first = 0;
	}
	zsrow_deform_on(source->rel, source->desc, source->tuple, &source->progress, natts,
					base->tts_values, base->tts_isnull);
	if (unlikely((source->tuple->t_infomask & HEAP_HASEXTERNAL) != 0))
		fetch_large_values(source, slot, first, natts, only_needed);
}

/*
 * One column of the slot's row.  The value is nearly always in a vector that is
 * decoded already; everything else is out of line.
 */
static inline void
fill_column(ZsRowSource *source, ZsSlot *slot, int attno, zstid stripe, uint32 index)
{
	const ZsSourceColumn *column = &source->columns[attno];
	Datum	   *value = &slot->base.tts_values[attno];
	bool	   *isnull = &slot->base.tts_isnull[attno];

	if (likely(column->stripe == stripe && index < column->ndirect))
	{
		*value = (Datum) column->values[index];
		*isnull = column->isnull[index];
		return;
	}
	*value = source->by_vector ? vector_value(source, slot, attno, isnull) :
		single_value(source, slot, attno, isnull);
}

/* Lets memory look for the values of several columns at once, before the first is decoded. */
static void
expect_columns(ZsRowSource *source, ZsSlot *slot, int first, int natts)
{
	for (int k = zsslot_find_needed(slot, first);
		 k < slot->nneeded && slot->needed[k] < natts; k++)
	{
		ZsAttrReader *reader = source->columns[slot->needed[k]].reader;

		if (reader != NULL)
			zsattr_reader_expect(reader, slot->row);
	}
}

/*
 * fill_columns() where no read streams are used: when a column had to be read from disk, those
 * behind it are read side by side.
 */
static void
fill_columns_ahead(ZsRowSource *source, ZsSlot *slot, int first, int natts, bool only_needed)
{
	uint32		index = slot->row % ZS_STRIPE_ROWS;
	zstid		stripe = slot->row - index;
	uint64		reads = zsattr_ahead_pages_read();
	bool		masked = only_needed && slot->nneeded >= 0;
	int			k = masked ? zsslot_find_needed(slot, first) : first;
	bool		asked = !zs_enable_read_stream;

	if (masked && !source->by_vector)
		expect_columns(source, slot, first, natts);
	for (int n = masked ? slot->nneeded : natts; k < n; k++)
	{
		int			attno = masked ? slot->needed[k] : k;

		if (attno >= natts)
			break;
		if (unlikely(!asked && (source->cold || zsattr_ahead_pages_read() != reads)))
		{
			zsscan_prefetch_row(source, slot, attno, natts, only_needed);
			asked = true;
		}
		fill_column(source, slot, attno, stripe, index);
	}
	source->cold = zsattr_ahead_pages_read() != reads;
}

/*
 * Columns of the slot's row, which is not in the row tree.
 */
static void
fill_columns(ZsRowSource *source, ZsSlot *slot, int first, int natts, bool only_needed)
{
	uint32		index = slot->row % ZS_STRIPE_ROWS;
	zstid		stripe = slot->row - index;

	natts = Min(natts, source->desc->natts);
	if (!source->stream || source->sparse)
	{
		fill_columns_ahead(source, slot, first, natts, only_needed);
		return;
	}
	if (only_needed && slot->nneeded >= 0)
	{
		for (int k = zsslot_find_needed(slot, first);
			 k < slot->nneeded && slot->needed[k] < natts; k++)
			fill_column(source, slot, slot->needed[k], stripe, index);
		return;
	}
	for (int i = first; i < natts; i++)
		fill_column(source, slot, i, stripe, index);
}

/*
 * Does this backend know of a segment that covers the row, one of the first column that is wanted?
 * Then the row has its values in segments, and a look into the row tree is spared.  A segment
 * covers no number of a row that came later, so it does not matter how old that knowledge is.
 */
static bool
is_in_known_segment(ZsRowSource *source, ZsSlot *slot, int first, int natts, bool only_needed)
{
	int			attno = first;

	if (only_needed && slot->nneeded >= 0)
	{
		int			k = zsslot_find_needed(slot, first);

		attno = k < slot->nneeded ? slot->needed[k] : natts;
	}
	natts = Min(natts, source->desc->natts);
	while (attno < natts && TupleDescAttr(source->desc, attno)->attisdropped)
		attno++;
	return attno < natts &&
		zsattr_segment_is_known(source->rel, attno + 1, slot->row);
}

static void
source_fill(ZsSlotSource *base, ZsSlot *slot, int first, int natts, bool only_needed)
{
	ZsRowSource *source = (ZsRowSource *) base;

	Assert(source->base.user == slot && slot->row < ZS_MAX_ROW);
	if (!source->by_vector && !(source->row_located && source->row == slot->row) &&
		is_in_known_segment(source, slot, first, natts, only_needed))
	{
		source->presumed = true;
		source->presumed_wrong = false;
		fill_columns(source, slot, first, natts, only_needed);
		if (likely(!source->presumed_wrong))
			return;
		/* VACUUM is moving the row, or a column was added later */
	}

	source->presumed = false;
	locate_row(source, slot);
	if (source->tuple != NULL)
		fill_from_tuple(source, slot, first, natts, only_needed);
	else
		fill_columns(source, slot, first, natts, only_needed);
}

/* A row that a scan has found visible: what the TID tree says of it now. */
static bool
source_find_vis(ZsSlotSource *base, ZsSlot *slot)
{
	ZsRowSource *source = (ZsRowSource *) base;

	return zstid_lookup(source->rel, slot->row, &slot->vis, NULL);
}

/* ---- rows ------------------------------------------------------------------------ */

/* Gives the slot, whose own source has left it, this one, which outlives slots. */
void
zsscan_attach(ZsRowSource *source, ZsSlot *slot)
{
	Assert(source->base.slot_keeps_values && !source->by_vector);
	zsslot_detach(&source->base);
	source->row_located = false;
	if (unlikely(source->slot_desc != slot->base.tts_tupleDescriptor))
		adopt_descriptor(source, slot->base.tts_tupleDescriptor);
	zsslot_attach(slot, &source->base);
	zsslot_watch(&slot->base);
}

/* Stores a row in a slot; decodes at once when lazy decoding is off. */
void
zsscan_store(ZsRowSource *source, TupleTableSlot *slot, zstid row, const ZsVisSlot *vis)
{
	Assert(TTS_IS_ZEDSTORE(slot) && row < ZS_MAX_ROW);
	/* a caller that did not clear the last row's slot keeps its values */
	if (unlikely(source->base.user != NULL))
	{
		if (&source->base.user->base == slot)
			ExecClearTuple(slot);
		else
			zsslot_detach(&source->base);
	}
	if (unlikely(source->slot_desc != slot->tts_tupleDescriptor))
		adopt_descriptor(source, slot->tts_tupleDescriptor);
	zsslot_store(slot, &source->base, row, vis);
	slot->tts_tableOid = RelationGetRelid(source->rel);
	/* before anything can fail: the source may outlive the slot */
	if (source->base.slot_keeps_values)
		zsslot_watch(slot);
	if (unlikely(!zs_enable_lazy_decode))
		slot_getsomeattrs(slot, slot->tts_tupleDescriptor->natts);
}
