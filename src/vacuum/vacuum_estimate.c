/*-------------------------------------------------------------------------
 *
 * vacuum_estimate.c
 *	  What sorting a table by a key would make of its columns.
 *
 * A segment of the sorted table has rows from all over the table, next to each other in the order
 * of the key.  So a sample of neighbours, or of any rows, does not show what becomes of it: values
 * that go with the key repeat within the segment, others lose the order in which they came.  What
 * is encoded here are two such segments: the keys of some stripes tell between which keys about as
 * many rows as a segment has are to be found, at a quarter and at three quarters of the order; a
 * look at the keys of all stripes, or of many spread over a large table, finds these rows; their
 * values are put into order and encoded, as VACUUM FULL does it.  Of a table that is not larger
 * than the two, all rows are taken.
 *
 * Rows count that are in segments, whether anybody sees them or not.  Values on overflow pages
 * stay there, of which the segments have pointers; in the key they count as NULL.  Nothing is
 * written, and nothing locked between calls.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_estimate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "common/int.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"
#include "utils/tuplesort.h"

#include "vacuum_compact.h"
#include "zs_base_sort.h"
#include "zs_compat.h"
#include "zs_depth.h"
#include "zs_vacuum.h"

/* Stripes whose keys are looked at to find the rows of a window: 16.8 million rows. */
#define MAX_STRIPES			16384

/* Stripes whose keys say where windows are. */
#define SAMPLE_STRIPES		64

/* Places of the order of which a segment is encoded. */
#define WINDOWS				2

/* Neighbours in the order of the key; without bounds: all rows. */
typedef struct SortWindow
{
	bool		bounded;
	Datum		low[INDEX_MAX_KEYS];
	bool		low_null[INDEX_MAX_KEYS];
	Datum		high[INDEX_MAX_KEYS];
	bool		high_null[INDEX_MAX_KEYS];
	Tuplesortstate *sort;
	uint32		nrows;
	uint32		maxrows;
	zstid	   *rows;			/* in the order of the key */
} SortWindow;

typedef struct SortSample
{
	Relation	rel;
	const ZsSortKey *keys;		/* columns of the table */
	ZsSortKey	places[INDEX_MAX_KEYS];	/* the same in desc */
	int			nkeys;
	SortSupportData compare[INDEX_MAX_KEYS];
	ZsAttrReader *readers[INDEX_MAX_KEYS];
	zstid	   *stripes;		/* that are looked at, ascending */
	Size		nstripes;
	Size		nvectors;		/* of a column, all of them */
	TupleDesc	desc;			/* the keys, and the row's number */
	TupleTableSlot *slot;		/* of the row that is looked at */
	int			nwindows;
	SortWindow	windows[WINDOWS];
} SortSample;

/* ---- the rows of a window ---------------------------------------------------------------- */

/* The stripes in segments of the first key's column, or as many of them as may be looked at. */
static void
list_stripes(SortSample *sample)
{
	ZsSegmentItem *items = palloc_array(ZsSegmentItem, ZS_SEGMENT_INDEX_CAPACITY);
	zstid		end = zspage_next_row(sample->rel);
	zstid		row = 0;
	Size		n = 0;
	Size		max = MAX_STRIPES;

	sample->stripes = palloc_array(zstid, max);
	while (row < end)
	{
		int			nitems = zsattr_index_page_items(sample->rel, sample->keys[0].attno, row, items,
													 &row);

		for (int i = 0; i < nitems; i++)
		{
			CHECK_FOR_INTERRUPTS();
			for (uint32 k = 0; k < items[i].nrows; k += ZS_STRIPE_ROWS)
			{
				if (n == max)
				{
					max *= 2;
					sample->stripes = repalloc_huge(sample->stripes, max * sizeof(zstid));
				}
				sample->stripes[n++] = items[i].first_row + k;
			}
		}
	}
	sample->nvectors = n;
	sample->nstripes = Min(n, MAX_STRIPES);
	for (Size i = 0; i < sample->nstripes; i++)
		sample->stripes[i] = sample->stripes[i * n / sample->nstripes];
	pfree(items);
}

/* The key's vectors of a stripe, and how many rows all of them have. */
static uint32
load_keys(SortSample *sample, zstid stripe, const ZsVectorOut **vectors)
{
	uint32		nrows = ZS_STRIPE_ROWS;

	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < sample->nkeys; i++)
	{
		vectors[i] = zsattr_reader_vector(sample->readers[i], stripe);
		nrows = vectors[i] == NULL ? 0 : Min(nrows, vectors[i]->nrows);
	}
	return nrows;
}

/* Makes a row the slot's. */
static void
store_row(SortSample *sample, const ZsVectorOut **vectors, zstid stripe, uint32 n)
{
	TupleTableSlot *slot = sample->slot;

	ExecClearTuple(slot);
	for (int i = 0; i < sample->nkeys; i++)
	{
		slot->tts_isnull[i] = vectors[i]->isnull[n] ||
			(vectors[i]->has_ext && vectors[i]->isext[n]);
		slot->tts_values[i] = (Datum) vectors[i]->values[n];
	}
	slot->tts_isnull[sample->nkeys] = false;
	slot->tts_values[sample->nkeys] = Int64GetDatum((int64) (stripe + n));
	ExecStoreVirtualTuple(slot);
}

/* The slot's key against a bound. */
static int
compare_key(SortSample *sample, const Datum *values, const bool *isnull)
{
	for (int i = 0; i < sample->nkeys; i++)
	{
		int			result = ApplySortComparator(sample->slot->tts_values[i],
												 sample->slot->tts_isnull[i], values[i],
												 isnull[i], &sample->compare[i]);

		if (result != 0)
			return result;
	}
	return 0;
}

static Tuplesortstate *
begin_sort(const SortSample *sample)
{
	return zsbase_sort_begin(sample->desc, sample->places, sample->nkeys, work_mem);
}

/* Copies the key of a sorted row. */
static void
copy_key(SortSample *sample, TupleTableSlot *slot, Datum *values, bool *isnull)
{
	slot_getsomeattrs(slot, sample->nkeys);
	for (int i = 0; i < sample->nkeys; i++)
	{
		Form_pg_attribute att = TupleDescAttr(sample->desc, i);

		isnull[i] = slot->tts_isnull[i];
		values[i] = isnull[i] ? (Datum) 0 :
			datumCopy(slot->tts_values[i], att->attbyval, att->attlen);
	}
}

/* Says between which keys the windows are. */
static void
choose_bounds(SortSample *sample)
{
	Tuplesortstate *sort = begin_sort(sample);
	TupleTableSlot *sorted = MakeSingleTupleTableSlot(sample->desc, &TTSOpsMinimalTuple);
	Size		nstripes = Min(sample->nstripes, SAMPLE_STRIPES);
	int64		nrows = 0;
	int64		width;

	for (Size i = 0; i < nstripes; i++)
	{
		const ZsVectorOut *vectors[INDEX_MAX_KEYS];
		zstid		stripe = sample->stripes[i * sample->nstripes / nstripes];
		uint32		n = load_keys(sample, stripe, vectors);

		for (uint32 k = 0; k < n; k++)
		{
			store_row(sample, vectors, stripe, k);
			tuplesort_puttupleslot(sort, sample->slot);
			nrows++;
		}
	}
	tuplesort_performsort(sort);
	width = nrows * (ZS_SEGMENT_ROWS / ZS_STRIPE_ROWS) / (int64) sample->nstripes;
	for (int64 n = 0; tuplesort_gettupleslot(sort, true, false, sorted, NULL); n++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int w = 0; w < sample->nwindows; w++)
		{
			SortWindow *window = &sample->windows[w];
			int64		first = nrows * (2 * w + 1) / (2 * sample->nwindows) - width / 2;

			if (n == Max(first, 0))
				copy_key(sample, sorted, window->low, window->low_null);
			if (n == Min(Max(first, 0) + Max(width - 1, 0), nrows - 1))
			{
				copy_key(sample, sorted, window->high, window->high_null);
				window->bounded = true;
			}
		}
	}
	ExecDropSingleTupleTableSlot(sorted);
	tuplesort_end(sort);
}

/* Is the slot's row one of the window's? */
static bool
is_in_window(SortSample *sample, const SortWindow *window)
{
	return window->nrows < window->maxrows &&
		(!window->bounded ||
		 (compare_key(sample, window->low, window->low_null) >= 0 &&
		  compare_key(sample, window->high, window->high_null) <= 0));
}

/* Finds the rows of all windows, and puts them into order. */
static void
find_rows(SortSample *sample)
{
	TupleTableSlot *sorted = MakeSingleTupleTableSlot(sample->desc, &TTSOpsMinimalTuple);

	for (int w = 0; w < sample->nwindows; w++)
		sample->windows[w].sort = begin_sort(sample);
	for (Size i = 0; i < sample->nstripes; i++)
	{
		const ZsVectorOut *vectors[INDEX_MAX_KEYS];
		uint32		n = load_keys(sample, sample->stripes[i], vectors);

		for (uint32 k = 0; k < n; k++)
		{
			store_row(sample, vectors, sample->stripes[i], k);
			for (int w = 0; w < sample->nwindows; w++)
			{
				if (!is_in_window(sample, &sample->windows[w]))
					continue;
				tuplesort_puttupleslot(sample->windows[w].sort, sample->slot);
				sample->windows[w].nrows++;
			}
		}
	}
	for (int w = 0; w < sample->nwindows; w++)
	{
		SortWindow *window = &sample->windows[w];
		uint32		n = 0;

		window->rows = palloc_array(zstid, Max(window->nrows, 1));
		tuplesort_performsort(window->sort);
		while (tuplesort_gettupleslot(window->sort, true, false, sorted, NULL))
		{
			bool		isnull;

			window->rows[n++] = (zstid) DatumGetInt64(slot_getattr(sorted, sample->nkeys + 1,
																   &isnull));
		}
		Assert(n == window->nrows);
		tuplesort_end(window->sort);
	}
	ExecDropSingleTupleTableSlot(sorted);
}

/* ---- their columns ----------------------------------------------------------------------- */

/* A row of a segment that is to be encoded, and its place there. */
typedef struct PlacedRow
{
	zstid		row;
	uint32		place;
} PlacedRow;

static int
compare_placed(const void *a, const void *b)
{
	return pg_cmp_u64(((const PlacedRow *) a)->row, ((const PlacedRow *) b)->row);
}

/* Reads the column's values of rows [from, to) of placed, which are of one stripe. */
static void
read_stripe(ZsAttrReader *reader, Form_pg_attribute att, const PlacedRow *placed, uint32 from,
			uint32 to, NullableDatum *values, uint8 *isext)
{
	zstid		stripe = placed[from].row - placed[from].row % ZS_STRIPE_ROWS;
	uint64		wanted[ZS_VECTOR_WORDS] = {0};
	const ZsVectorOut *vector;

	CHECK_FOR_INTERRUPTS();
	for (uint32 i = from; i < to; i++)
		wanted[(placed[i].row - stripe) / 64] |= UINT64CONST(1) << (placed[i].row % 64);
	vector = zsattr_reader_some(reader, stripe, wanted);
	for (uint32 i = from; i < to; i++)
	{
		uint32		n = (uint32) (placed[i].row - stripe);
		uint32		place = placed[i].place;
		ZsOverflowPointer *pointer;

		isext[place] = 0;
		/* a column that is younger than the row has one value in all of them */
		values[place].isnull = vector == NULL || n >= vector->nrows || vector->isnull[n];
		if (values[place].isnull)
			continue;
		if (!vector->has_ext || !vector->isext[n])
		{
			values[place].value = datumCopy((Datum) vector->values[n], att->attbyval, att->attlen);
			continue;
		}
		isext[place] = 1;
		pointer = palloc_object(ZsOverflowPointer);
		zsattr_overflow_from_vector(vector, n, pointer);
		values[place].value = PointerGetDatum(pointer);
	}
}

/* The column's values of the rows, in their order, as input of the codec. */
static void
gather_column(SortSample *sample, AttrNumber attno, ZsAttrReader *reader, const zstid *rows,
			  uint32 nrows, ZsAttrRewrite *rewrite)
{
	ZsColumnBuilder *builder = zsvacuum_builder_create(sample->rel, attno, 0, reader);
	Form_pg_attribute att = zsattr_form(RelationGetDescr(sample->rel), attno);
	PlacedRow  *placed = palloc_array(PlacedRow, nrows);
	NullableDatum *values = palloc_array(NullableDatum, nrows);
	uint8	   *isext = palloc_array(uint8, nrows);
	uint32		from = 0;

	for (uint32 i = 0; i < nrows; i++)
		placed[i] = (PlacedRow) {rows[i], i};
	qsort(placed, nrows, sizeof(PlacedRow), compare_placed);
	while (from < nrows)
	{
		uint32		to = from + 1;

		while (to < nrows &&
			   placed[to].row / ZS_STRIPE_ROWS == placed[from].row / ZS_STRIPE_ROWS)
			to++;
		read_stripe(reader, att, placed, from, to, values, isext);
		from = to;
	}
	for (uint32 i = 0; i < nrows; i++)
		zsvacuum_builder_add(builder, values[i].value, values[i].isnull, isext[i] != 0);
	zsvacuum_builder_end(builder);
	zsvacuum_builder_rewrite(builder, rewrite);
}

/* How many vectors lie over a value, given those of both windows apart, and together. */
static double
estimate_depth(const SortSample *sample, ZsZoneBounds *apart, ZsZoneBounds *together)
{
	double		within = 0;
	double		nwithin = 0;
	double		all;
	Size		most;

	for (int w = 0; w < sample->nwindows; w++)
	{
		within += zsscan_bounds_depth(&apart[w], &most) * apart[w].n;
		nwithin += (double) apart[w].n * apart[w].n;
	}
	all = zsscan_bounds_depth(together, &most);
	if (together->n == 0 || sample->nwindows == 1)
		return all;
	/* depth and size of a window */
	within /= together->n;
	nwithin /= together->n;

	/* a value that fills all of a window may go on behind it: as large a part of the table */
	if (within > 0.9 * nwithin || together->n <= nwithin)
		return 1 + (all - 1) / Max((double) together->n - 1, 1) * ((double) sample->nvectors - 1);
	/* values of other windows, too, are all over the table */
	return within + (all - within) / (together->n - nwithin) *
		Max((double) sample->nvectors - nwithin, 0);
}

/* What becomes of a column. */
static void
estimate_column(SortSample *sample, AttrNumber attno, ZsSortEstimate *estimate)
{
	ZsAttrReader *reader = zsattr_reader_begin(sample->rel, RelationGetDescr(sample->rel), attno,
											   0, NULL);
	ZsZoneBounds apart[WINDOWS] = {0};
	ZsZoneBounds together = {0};
	ZsAllocator alloc;
	ZsEncoder	encoder;
	ZsCodecBuf	payload;
	double		size = 0;
	double		nrows = 0;

	zsattr_allocator(CurrentMemoryContext, &alloc);
	zscodec_encoder_init(&encoder, &alloc);
	zscodec_buf_init(&payload, &alloc);
	for (int w = 0; w < sample->nwindows; w++)
	{
		const SortWindow *window = &sample->windows[w];

		for (uint32 from = 0; from < window->nrows; from += ZS_SEGMENT_ROWS)
		{
			uint32		n = Min(window->nrows - from, ZS_SEGMENT_ROWS);
			ZsAttrRewrite rewrite;
			ZsSegmentInfo info;
			ZsSegmentItem item;

			gather_column(sample, attno, reader, window->rows + from, n, &rewrite);
			rewrite.column.input.continues = nrows > 0;
			zsattr_encode_column(sample->rel, 0, &encoder, &rewrite.column, &payload, &info,
								 &item);
			zsscan_bounds_add_vectors(&apart[w], &info);
			zsscan_bounds_add_vectors(&together, &info);
			/* of one value there are no pages */
			if (!zsattr_item_is_uniform(&item))
				size += item.payload_size;
			nrows += n;
		}
	}
	zsattr_reader_end(reader);
	Assert(nrows > 0 && size >= 0);
	estimate->row_bytes = size / nrows;
	estimate->vector_depth = estimate_depth(sample, apart, &together);
}

/* Readers and comparisons of the key's columns. */
static void
begin_sample(SortSample *sample, Relation rel, const ZsSortKey *keys, int nkeys)
{
	memset(sample, 0, sizeof(*sample));
	sample->rel = rel;
	sample->keys = keys;
	sample->nkeys = nkeys;
	sample->desc = CreateTemplateTupleDesc(nkeys + 1);
	for (int i = 0; i < nkeys; i++)
	{
		SortSupport compare = &sample->compare[i];

		sample->places[i] = keys[i];
		sample->places[i].attno = i + 1;
		TupleDescCopyEntry(sample->desc, i + 1, RelationGetDescr(rel), keys[i].attno);
		sample->readers[i] = zsattr_reader_begin(rel, RelationGetDescr(rel), keys[i].attno, 0,
												 NULL);
		compare->ssup_cxt = CurrentMemoryContext;
		compare->ssup_collation = keys[i].collation;
		compare->ssup_nulls_first = keys[i].nulls_first;
		compare->ssup_attno = i + 1;
		PrepareSortSupportFromOrderingOp(keys[i].sortop, compare);
	}
	TupleDescInitEntry(sample->desc, nkeys + 1, "row", INT8OID, -1, 0);
	zs_tupledesc_finalize(sample->desc);
	sample->slot = MakeSingleTupleTableSlot(sample->desc, &TTSOpsVirtual);
}

/*
 * Fills estimates, one for each attribute of the table that is not dropped, for its rows in the
 * order of the keys.  False, with nothing filled: there are no segments.  Reads the key's columns,
 * up to 16.8 million rows of them, and of the others what it takes for two segments; in work_mem,
 * about.  Locks: none but the caller's, who has opened the table.  Errors: ERRCODE_DATA_CORRUPTED.
 */
bool
zsvacuum_estimate_sort(Relation rel, const ZsSortKey *keys, int nkeys, ZsSortEstimate *estimates)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "zedstore sort estimate",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext per_column = AllocSetContextCreate(context, "zedstore sort estimate of a column",
													 ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SortSample	sample;
	uint32		nrows = 0;
	bool		small;

	Assert(nkeys > 0 && nkeys <= INDEX_MAX_KEYS);
	begin_sample(&sample, rel, keys, nkeys);
	list_stripes(&sample);
	small = sample.nstripes <= WINDOWS * ZS_SEGMENT_VECTORS;
	sample.nwindows = small ? 1 : WINDOWS;
	for (int w = 0; w < sample.nwindows; w++)
		sample.windows[w].maxrows = (small ? WINDOWS : 1) * ZS_SEGMENT_ROWS;
	if (!small)
		choose_bounds(&sample);
	find_rows(&sample);
	for (int i = 0; i < nkeys; i++)
		zsattr_reader_end(sample.readers[i]);
	ExecDropSingleTupleTableSlot(sample.slot);
	for (int w = 0; w < sample.nwindows; w++)
		nrows += sample.windows[w].nrows;
	for (AttrNumber attno = 1; attno <= RelationGetNumberOfAttributes(rel) && nrows > 0; attno++)
	{
		if (zsattr_form(RelationGetDescr(rel), attno)->attisdropped)
			continue;
		MemoryContextSwitchTo(per_column);
		estimate_column(&sample, attno, &estimates[attno - 1]);
		MemoryContextSwitchTo(context);
		MemoryContextReset(per_column);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return nrows > 0;
}
