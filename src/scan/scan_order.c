/*-------------------------------------------------------------------------
 *
 * scan_order.c
 *	  The stripes of a table in the order of a column's zone maps.
 *
 * Who wants rows in the order of a column need not read all of them first: a stripe can be left
 * alone as long as the bound of its zone map comes behind what is wanted next.  This file tells
 * stripe after stripe in the order of their bounds: ascending by the smallest image of their values
 * (zs_codec.h), or descending by the largest.  Nothing is assumed of how rows lie.
 *
 * All segments of the column are listed once, from its index pages: an item for up to 65,536 rows.
 * They stand in a heap by their bounds.  When one comes to its top, its head is read, and its
 * vectors take its place.
 *
 * Three kinds of stripes:
 *
 *	1. loose ones, of which nothing is known: with rows in the row tree, or without a segment of
 *	   the column (it was added later).  They come first.
 *	2. those whose rows have values and lie in one segment; in the order of bounds.  A vector
 *	   without a zone map has the best bound that there is.
 *	3. those with NULLs, which are outside of zone maps; in the order of rows.  A stripe may be of
 *	   the second kind, too.
 *
 * Stripes of the second and third kind in which no row passes the filter of the scan's slot are not
 * told: of a segment that its zone map does not exclude the heads of the filter's columns are read
 * before the stripes come up, too.
 *
 * The row tree is looked into before the segments are listed, since VACUUM removes rows from there
 * after they are in segments.  The scan's snapshot sees no row that comes later.  A reader may have
 * a copy of a segment's head from before VACUUM replaced it; where it has not the rows that the
 * list has, the segment's bound stands for those of its vectors.
 *
 * Nothing is locked between calls.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_order.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "scan_batch.h"
#include "zs_attr.h"
#include "zs_order.h"
#include "zs_row.h"

/* A segment, or the vector of a stripe. */
typedef struct OrderEntry
{
	int64		bound;			/* smaller comes first: of descending ones ~image */
	zstid		first;
	uint32		nrows;
	bool		is_vector;
} OrderEntry;

/* Rows of a segment of which some are NULL. */
typedef struct OrderRange
{
	zstid		first;
	zstid		end;
} OrderRange;

struct ZsScanOrder
{
	ZsBatchScan *bs;
	AttrNumber	attno;
	bool		descending;
	bool		is_unsigned;	/* as the column's type is ordered */
	MemoryContext context;
	ZsAttrReader *heads;		/* of segments; the scan's own reader may have a batch open */
	ZsAttrReader **filter_heads;	/* of the filters' columns, by attribute; NULL: not yet */
	OrderEntry *heap;
	int			nheap;
	int			maxheap;
	int			nsegments;		/* of the heap's entries, those that are segments */
	uint64	   *loose;			/* a bit for each stripe */
	uint64	   *told;			/* those that zsscan_order_next() has told */
	zstid		nstripes;
	zstid		next_loose;		/* stripes in front of it have been told */
	OrderRange *nulls;			/* segments with NULLs */
	int			nnulls;
	int			maxnulls;
	int			null_range;		/* the one that is told now */
	zstid		next_null;		/* its stripes in front of it have been told */
	zstid		null_kept_until;	/* see is_excluded() */
};

/* ---- the heap ------------------------------------------------------------------------- */

static bool
comes_first(const OrderEntry *a, const OrderEntry *b)
{
	if (a->bound != b->bound)
		return a->bound < b->bound;
	return a->first < b->first;
}

static void
push_entry(ZsScanOrder *order, const OrderEntry *entry)
{
	int			i = order->nheap++;

	Assert(entry->first < order->bs->scan->end);
	if (order->nheap > order->maxheap)
	{
		order->maxheap = Max(256, 2 * order->maxheap);
		order->heap = order->heap == NULL ?
			MemoryContextAlloc(order->context, order->maxheap * sizeof(OrderEntry)) :
			repalloc_huge(order->heap, order->maxheap * sizeof(OrderEntry));
	}
	while (i > 0 && comes_first(entry, &order->heap[(i - 1) / 2]))
	{
		order->heap[i] = order->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	order->heap[i] = *entry;
	order->nsegments += !entry->is_vector;
}

static OrderEntry
pop_entry(ZsScanOrder *order)
{
	OrderEntry	result = order->heap[0];
	OrderEntry	last = order->heap[--order->nheap];
	int			i = 0;

	Assert(order->nheap >= 0);
	for (;;)
	{
		int			child = 2 * i + 1;

		if (child >= order->nheap)
			break;
		if (child + 1 < order->nheap &&
			comes_first(&order->heap[child + 1], &order->heap[child]))
			child++;
		if (!comes_first(&order->heap[child], &last))
			break;
		order->heap[i] = order->heap[child];
		i = child;
	}
	order->heap[i] = last;
	order->nsegments -= !result.is_vector;
	return result;
}

/* ---- what there is --------------------------------------------------------------------- */

static bool
has_stripe(const uint64 *bits, zstid row)
{
	zstid		stripe = row / ZS_STRIPE_ROWS;

	return (bits[stripe / 64] & UINT64CONST(1) << (stripe % 64)) != 0;
}

/* Marks all stripes with rows of [first, end). */
static void
set_stripes(uint64 *bits, zstid first, zstid end)
{
	for (zstid stripe = first / ZS_STRIPE_ROWS; stripe * ZS_STRIPE_ROWS < end; stripe++)
		bits[stripe / 64] |= UINT64CONST(1) << (stripe % 64);
}

/* No segment has rows of [first, end): the stripes that have some that the scan sees are loose. */
static void
add_gap(ZsScanOrder *order, zstid first, zstid end)
{
	ZsScanDesc	scan = order->bs->scan;

	zsscan_load_window(scan, first, end);
	for (int i = 0; i < scan->nviews; i++)
		set_stripes(order->loose, scan->views[i].first, zsscan_view_end(&scan->views[i]));
}

/* Where a segment or vector with these bounds stands. */
static int64
bound_of(const ZsScanOrder *order, bool has_zone, bool is_unsigned, int64 min, int64 max)
{
	if (!has_zone || is_unsigned != order->is_unsigned)
		return PG_INT64_MIN;
	return order->descending ? ~max : min;
}

static void
add_segment(ZsScanOrder *order, const ZsSegmentItem *item)
{
	OrderEntry	entry = {.first = item->first_row, .nrows = item->nrows};

	if (item->nnulls > item->nholes)
	{
		if (order->nnulls == order->maxnulls)
		{
			order->maxnulls = Max(64, 2 * order->maxnulls);
			order->nulls = order->nulls == NULL ?
				MemoryContextAlloc(order->context, order->maxnulls * sizeof(OrderRange)) :
				repalloc_huge(order->nulls, order->maxnulls * sizeof(OrderRange));
		}
		order->nulls[order->nnulls].first = item->first_row;
		order->nulls[order->nnulls++].end = item->first_row + item->nrows;
	}
	if (item->nnulls == item->nrows)
		return;
	entry.bound = bound_of(order, (item->flags & ZS_SEGF_ZONE_MAP) != 0,
						   (item->flags & ZS_SEGF_UNSIGNED) != 0, item->zone_min, item->zone_max);
	push_entry(order, &entry);
}

/* Lists the segments of the column that have rows of [0, end). */
static void
list_segments(ZsScanOrder *order, Relation rel, zstid end)
{
	ZsSegmentItem *items = palloc_array(ZsSegmentItem, ZS_SEGMENT_INDEX_CAPACITY);
	zstid		covered = 0;
	zstid		row = 0;

	while (row < end)
	{
		zstid		page_end;
		int			n = zsattr_index_page_items(rel, order->attno, row, items, &page_end);

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < n && items[i].first_row < end; i++)
		{
			if (items[i].first_row > covered)
				add_gap(order, covered, items[i].first_row);
			covered = Max(covered, items[i].first_row + items[i].nrows);
			add_segment(order, &items[i]);
		}
		row = page_end;
	}
	if (covered < end)
		add_gap(order, covered, end);
	pfree(items);
}

/* Marks the stripes that have rows in the row tree. */
static void
look_at_row_tree(ZsScanOrder *order, Relation rel, zstid end)
{
	zstid		row = 0;

	while ((row = zsrow_next(rel, row)) < end)
	{
		CHECK_FOR_INTERRUPTS();
		set_stripes(order->loose, row, row + 1);
		row += ZS_STRIPE_ROWS - row % ZS_STRIPE_ROWS;
	}
}

/*
 * Gets ready to tell the stripes of the scan, which has just begun or begun anew, is not parallel
 * and is used by zsscan_batch_seek() from now on.  attno: a column whose zone maps follow its order
 * (ZsAttrKind.zone_ordered).  Memory comes from the current context.
 */
ZsScanOrder *
zsscan_order_begin(ZsBatchScan *bs, AttrNumber attno, bool descending)
{
	Relation	rel = bs->scan->rs_base.rs_rd;
	zstid		end = bs->scan->end;
	ZsScanOrder *order = palloc0_object(ZsScanOrder);
	ZsAttrKind	kind;
	Size		size;

	Assert(bs->scan->rs_base.rs_parallel == NULL && bs->scan->start == 0);
	zsattr_kind(TupleDescAttr(RelationGetDescr(rel), attno - 1), &kind);
	Assert(kind.zone_ordered);
	order->bs = bs;
	order->attno = attno;
	order->descending = descending;
	order->is_unsigned = kind.is_unsigned;
	order->context = CurrentMemoryContext;
	order->heads = zsattr_reader_begin(rel, RelationGetDescr(rel), attno, 0, NULL);
	order->nstripes = (end + ZS_STRIPE_ROWS - 1) / ZS_STRIPE_ROWS;
	/* segments may reach beyond the scan's end */
	size = ((order->nstripes + ZS_SEGMENT_VECTORS) / 64 + 1) * sizeof(uint64);
	order->loose = palloc_extended(size, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	order->told = palloc_extended(size, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	look_at_row_tree(order, rel, end);
	list_segments(order, rel, end);
	return order;
}

/* ---- stripe after stripe --------------------------------------------------------------- */

/* The first row of the next loose stripe; ZS_INVALID_ROW: there is no other one. */
zstid
zsscan_order_loose(ZsScanOrder *order)
{
	while (order->next_loose < order->nstripes)
	{
		zstid		stripe = order->next_loose;
		uint64		word = order->loose[stripe / 64] >> (stripe % 64);

		CHECK_FOR_INTERRUPTS();
		if (word == 0)
		{
			order->next_loose = (stripe / 64 + 1) * 64;
			continue;
		}
		stripe += __builtin_ctzll(word);
		order->next_loose = stripe + 1;
		if (stripe < order->nstripes)
			return stripe * ZS_STRIPE_ROWS;
	}
	return ZS_INVALID_ROW;
}

/* The head of the segment, if it is the one that was listed. */
static const ZsSegmentInfo *
open_head(ZsScanOrder *order, zstid first, uint32 nrows)
{
	const ZsSegmentInfo *info;
	int			vecno;

	info = zsattr_reader_info(order->heads, first, &vecno);
	return info != NULL && vecno == 0 && info->nrows == nrows ? info : NULL;
}

/* The reader of heads of a filter's column. */
static ZsAttrReader *
filter_reader(ZsScanOrder *order, AttrNumber attno)
{
	Relation	rel = order->bs->scan->rs_base.rs_rd;
	MemoryContext old = MemoryContextSwitchTo(order->context);

	if (order->filter_heads == NULL)
		order->filter_heads = palloc0_array(ZsAttrReader *, RelationGetNumberOfAttributes(rel));
	if (order->filter_heads[attno - 1] == NULL)
		order->filter_heads[attno - 1] = zsattr_reader_begin(rel, RelationGetDescr(rel), attno, 0,
															 NULL);
	MemoryContextSwitchTo(old);
	return order->filter_heads[attno - 1];
}

/* Says the zone map of its vector that no row of the stripe passes the filter? */
static bool
vector_is_excluded(ZsScanOrder *order, const ZsZoneFilter *filter, zstid stripe, uint32 nrows)
{
	const ZsSegmentInfo *info;
	ZsColumnBounds bounds;
	int			vecno;

	/* others are asked when the stripe is read */
	if (filter->test != NULL)
		return false;
	info = zsattr_reader_info(filter_reader(order, filter->attno), stripe, &vecno);
	if (info == NULL || info->vectors[vecno].nrows < nrows)
		return false;
	bounds = zsscan_bounds_of(info, &info->vectors[vecno]);
	return zsscan_zone_excludes(filter, &bounds);
}

/*
 * Can no row of the stripe pass the slot's filter?  It is not loose, and segments have the first
 * nrows rows of it.  end: of the segment that is looked through.  *kept_until: rows in front of it
 * are known to be in segments that are not excluded; 0 at the beginning.
 */
static bool
is_excluded(ZsScanOrder *order, zstid stripe, uint32 nrows, zstid end, zstid *kept_until)
{
	const ZsSlot *slot = order->bs->slot;

	if (slot->nfilters == 0)
		return false;
	if (stripe >= *kept_until)
	{
		zstid		until;

		if (!zsscan_zone_excluded(order->bs->scan, slot, stripe, end, &until))
			*kept_until = until;
		else if (until >= Min(stripe + nrows, end))
			return true;
	}
	for (int i = 0; i < slot->nfilters; i++)
	{
		if (vector_is_excluded(order, &slot->filters[i], stripe, nrows))
			return true;
	}
	return false;
}

/* The segment's vectors take its place in the heap. */
static void
expand(ZsScanOrder *order, const OrderEntry *segment)
{
	const ZsSegmentInfo *info = NULL;
	zstid		end = Min(segment->first + segment->nrows, order->bs->scan->end);
	zstid		kept_until = 0;
	bool		opened = false;

	Assert(!segment->is_vector && segment->nrows > 0);
	for (uint32 i = 0; i * ZS_STRIPE_ROWS < segment->nrows; i++)
	{
		const ZsVectorInfo *vector;
		OrderEntry	entry = {
			.bound = segment->bound,
			.first = segment->first + i * ZS_STRIPE_ROWS,
			.is_vector = true
		};

		if (entry.first >= end)
			break;
		if (has_stripe(order->loose, entry.first) ||
			is_excluded(order, entry.first, Min(segment->nrows - i * ZS_STRIPE_ROWS,
												ZS_STRIPE_ROWS), end, &kept_until))
			continue;
		if (!opened)
			info = open_head(order, segment->first, segment->nrows);
		opened = true;
		vector = info == NULL ? NULL : &info->vectors[i];
		if (vector != NULL && vector->nnulls == vector->nrows)
			continue;
		if (vector != NULL)
			entry.bound = bound_of(order, vector->has_zone, info->is_unsigned, vector->zone_min,
								   vector->zone_max);
		push_entry(order, &entry);
	}
	if (opened)
		zsattr_reader_forget(order->heads);
}

/*
 * Makes the heap's first entry a vector that has not been told; false if there is none left.  One
 * that has been told had NULLs, or VACUUM put a segment in the place of others while they were
 * listed.
 */
static bool
find_first(ZsScanOrder *order)
{
	while (order->nheap > 0)
	{
		const OrderEntry *first = &order->heap[0];
		OrderEntry	segment;

		if (first->is_vector && !has_stripe(order->told, first->first))
			return true;
		segment = pop_entry(order);
		CHECK_FOR_INTERRUPTS();
		if (!segment.is_vector)
			expand(order, &segment);
	}
	return false;
}

/*
 * An image that no value of the stripes that are still to come stands in front of, ascending, or
 * behind, descending; *first: all of these whose bound is the same have no smaller row numbers.
 * False if there are none.  PG_INT64_MIN and PG_INT64_MAX may stand for anything.
 */
bool
zsscan_order_bound(ZsScanOrder *order, int64 *bound, zstid *first)
{
	if (!find_first(order))
		return false;
	*bound = order->descending ? ~order->heap[0].bound : order->heap[0].bound;
	*first = order->heap[0].first;
	return true;
}

/*
 * The first row of the next stripe in the order of bounds, whose values that are not NULL lie no
 * farther in front than zsscan_order_bound() said; ZS_INVALID_ROW: there is no other one.  Loose
 * ones are not among them.
 */
zstid
zsscan_order_next(ZsScanOrder *order)
{
	zstid		first;

	if (!find_first(order))
		return ZS_INVALID_ROW;
	first = pop_entry(order).first;
	Assert(first % ZS_STRIPE_ROWS == 0 && !has_stripe(order->loose, first));
	set_stripes(order->told, first, first + 1);
	return first;
}

/*
 * The first row of the next stripe that may have NULLs, in the order of rows; ZS_INVALID_ROW: there
 * is no other one.  Loose ones are not among them.  With whole, the caller takes stripes as a
 * whole, and no one is told twice, neither here nor by zsscan_order_next().
 */
zstid
zsscan_order_nulls(ZsScanOrder *order, bool whole)
{
	while (order->null_range < order->nnulls)
	{
		const OrderRange *range = &order->nulls[order->null_range];
		const ZsSegmentInfo *info = NULL;

		CHECK_FOR_INTERRUPTS();
		if (order->next_null < range->first)
			order->next_null = range->first;
		if (order->next_null < range->end)
			info = open_head(order, range->first, range->end - range->first);
		while (order->next_null < range->end)
		{
			zstid		stripe = order->next_null;

			order->next_null += ZS_STRIPE_ROWS;
			if (stripe >= order->bs->scan->end || has_stripe(order->loose, stripe) ||
				(whole && has_stripe(order->told, stripe)) ||
				(info != NULL &&
				 info->vectors[(stripe - range->first) / ZS_STRIPE_ROWS].nnulls == 0) ||
				is_excluded(order, stripe, (uint32) Min(range->end - stripe, ZS_STRIPE_ROWS),
							range->end, &order->null_kept_until))
				continue;
			if (whole)
				set_stripes(order->told, stripe, stripe + 1);
			return stripe;
		}
		order->null_range++;
		order->null_kept_until = 0;
	}
	return ZS_INVALID_ROW;
}

/* How many segments have been left alone so far, all of them. */
uint64
zsscan_order_skipped(const ZsScanOrder *order)
{
	return order->nsegments;
}
