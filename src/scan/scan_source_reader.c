/*-------------------------------------------------------------------------
 *
 * scan_source_reader.c
 *	  A row source's readers of columns.
 *
 * A column has one reader, which goes from stripe to stripe.  The inner side of a nested loop reads
 * a small table again and again, and would decode its vectors each time.  So after a while each
 * stripe of such a table gets a reader of its own, which keeps what it has decoded.  A reader takes
 * the time of some values to make, so that pays if it is used.  All of them take as much memory as
 * a hash table may (work_mem * hash_mem_multiplier); stripes that come when it is full share the
 * first reader.
 *
 * Values never change, and a reader that lacks a row is told to forget what it has (scan_source.c),
 * so what is kept is right under any snapshot.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_source_reader.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "scan_internal.h"
#include "zs_io.h"
#include "zs_page.h"
#include "zs_scan.h"

/* About how many stripes have rows, as far as ANALYZE and the file's size tell. */
double
zsscan_source_stripes(const ZsRowSource *source)
{
	double		rows = source->rel->rd_rel->reltuples;

	if (rows < 0)
		rows = (double) zspage_physical_blocks(source->rel) * ZS_ROWS_PER_BLOCK;
	return ceil(Max(rows, 1) / ZS_STRIPE_ROWS);
}

/*
 * The table is going to be read again by this source: if there is memory for the vectors of all
 * stripes, of the columns that were looked at so far, they stay from now on.  Nobody looks ahead
 * for those, since their pages have been read lately.
 */
void
zsscan_source_again(ZsRowSource *source)
{
	double		stripes;
	int			ncolumns = 0;

	Assert(!source->base.slot_keeps_values);
	if (source->keeps || source->asked_to_keep || !zs_enable_fetch_cache)
		return;
	for (int i = 0; i < source->desc->natts; i++)
		ncolumns += source->columns[i].reader != NULL ? 1 : 0;
	if (ncolumns == 0)
		return;
	stripes = zsscan_source_stripes(source);
	source->asked_to_keep = true;
	source->keeps = stripes <= ZS_KEPT_STRIPES &&
		stripes * ncolumns * ZS_KEPT_VECTOR_SIZE <= get_hash_memory_limit() &&
		zspage_physical_blocks(source->rel) <= ZS_KEPT_MAX_BLOCKS;
}

/* What the reader takes counts for the source. */
static void
count_reader(ZsRowSource *source, ZsKeptReader *kept, const ZsAttrReader *reader)
{
	Size		size = zsattr_reader_size(reader);

	Assert(source->kept_size >= kept->size);
	source->kept_size += size - kept->size;
	kept->size = size;
}

/*
 * Makes reader that of the stripe.  Where the stripe has none yet and there is memory, it is NULL
 * then.
 */
void
zsscan_column_turn(ZsRowSource *source, ZsSourceColumn *column, zstid stripe)
{
	int			place = (int) (stripe / ZS_STRIPE_ROWS % ZS_KEPT_STRIPES);
	ZsKeptReader *left;

	Assert(source->keeps && stripe % ZS_STRIPE_ROWS == 0);
	if (column->kept == NULL)
	{
		column->kept = MemoryContextAllocZero(source->context,
											  (ZS_KEPT_STRIPES + 1) * sizeof(ZsKeptReader));
		column->place = ZS_KEPT_STRIPES;
	}
	if (column->place == place)
		return;
	left = &column->kept[column->place];
	left->reader = column->reader;
	if (column->place < ZS_KEPT_STRIPES && left->reader != NULL)
		count_reader(source, left, left->reader);
	if (column->kept[place].reader == NULL && source->kept_size >= get_hash_memory_limit())
		place = ZS_KEPT_STRIPES;
	column->reader = column->kept[place].reader;
	column->place = place;
}

/* Ends all readers but that for single values. */
void
zsscan_column_end_readers(ZsSourceColumn *column)
{
	if (column->reader != NULL)
		zsattr_reader_end(column->reader);
	if (column->kept == NULL)
		return;
	for (int i = 0; i <= ZS_KEPT_STRIPES; i++)
	{
		if (i != column->place && column->kept[i].reader != NULL)
			zsattr_reader_end(column->kept[i].reader);
	}
	pfree(column->kept);
}

static void
begin_reader(ZsRowSource *source, int attno)
{
	ZsSourceColumn *column = &source->columns[attno];
	bool		keeps = zsscan_column_keeps(column);
	MemoryContext old = MemoryContextSwitchTo(source->context);

	column->reader = zsattr_reader_begin(source->rel, source->desc, attno + 1,
										 (source->stream && !keeps ? ZS_READER_STREAM : 0) |
										 (keeps ? ZS_READER_KEEP : 0) |
										 (source->gives_toast ? ZS_READER_TOAST : 0),
										 source->strategy);
	zsattr_reader_count(column->reader, &source->counts, source->io);
	if (keeps)
		count_reader(source, &column->kept[column->place], column->reader);
	else if (source->by_vector)
	{
		zsattr_reader_picks(column->reader, source->picks);
		zsattr_reader_range(column->reader, source->range_start, source->range_end,
							source->ranges);
	}
	if (source->scan_end > 0 && !keeps)
		zsattr_reader_take_turns(column->reader, source->scan_end);
	MemoryContextSwitchTo(old);
}

/*
 * Whose turn it is depends on what there is still to read, so a scan that takes turns opens all
 * columns that it needs before it reads the first one.
 */
static void
open_readers(ZsRowSource *source, int nneeded, const AttrNumber *needed)
{
	source->all_readers = true;
	for (int k = 0; k < nneeded && needed[k] < source->desc->natts; k++)
	{
		if (source->columns[needed[k]].reader == NULL)
			begin_reader(source, needed[k]);
	}
	for (int i = 0; nneeded < 0 && i < source->desc->natts; i++)
	{
		if (source->columns[i].reader == NULL && !TupleDescAttr(source->desc, i)->attisdropped)
			begin_reader(source, i);
	}
}

/*
 * For a scan by batches: opens readers for the columns (attribute numbers - 1, ascending) before
 * the first is read; -1 = all.
 */
void
zsscan_source_open(ZsRowSource *source, int nneeded, const AttrNumber *needed)
{
	Assert(source->by_vector);
	if (zsio_scan_scheduling && !source->all_readers)
		open_readers(source, nneeded, needed);
}

/*
 * The reader of attribute attno (from 0), which is not dropped, for the stripe; begins it when
 * asked first.
 */
ZsAttrReader *
zsscan_source_reader(ZsRowSource *source, int attno, zstid stripe)
{
	ZsSourceColumn *column = &source->columns[attno];

	zsscan_source_turn(source, attno, stripe);
	if (likely(column->reader != NULL))
		return column->reader;
	if (zsio_scan_scheduling && source->scan_end > 0 && !source->all_readers)
	{
		const ZsSlot *slot = source->base.user;

		open_readers(source, slot == NULL ? 0 : slot->nneeded, slot == NULL ? NULL : slot->needed);
	}
	if (column->reader == NULL)
		begin_reader(source, attno);
	return column->reader;
}
