/*-------------------------------------------------------------------------
 *
 * inspect_order.c
 *	  zs_sortedness(): how far the rows of a table lie in the order of its columns.
 *
 * Zone maps say between which bounds the values of a segment, and of a vector, lie.  How many of
 * them lie over a value is the depth there: 1 where rows are in order, all of them where values
 * come at random.  It is what a look-up by the column reads, and what a scan in its order has to
 * keep in hand.  It is taken in the middle of each range.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/inspect_order.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "common/int.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "inspect_internal.h"
#include "zs_attr.h"
#include "zs_base_sort.h"
#include "zs_btree.h"

PG_FUNCTION_INFO_V1(zs_sortedness);

#define SORTEDNESS_COLUMNS	9

/* Bounds of segments, or of vectors. */
typedef struct Bounds
{
	int64	   *lower;
	int64	   *upper;
	Size		n;
	Size		max;
} Bounds;

typedef struct ColumnOrder
{
	AttrNumber	attno;
	Bounds		segments;
	Bounds		vectors;
} ColumnOrder;

static void
add_bounds(Bounds *bounds, int64 lower, int64 upper)
{
	Assert(lower <= upper);
	if (bounds->n == bounds->max)
	{
		Size		max = Max(bounds->max * 2, 1024);
		Size		size = max * sizeof(int64);

		bounds->lower = bounds->max == 0 ? palloc(size) : repalloc_huge(bounds->lower, size);
		bounds->upper = bounds->max == 0 ? palloc(size) : repalloc_huge(bounds->upper, size);
		bounds->max = max;
	}
	bounds->lower[bounds->n] = lower;
	bounds->upper[bounds->n++] = upper;
}

/* The vectors of a segment that was not replaced since. */
static void
add_vectors(Relation rel, ColumnOrder *order, const ZsSegmentItem *item)
{
	uint32		headlen = Min(item->payload_size, (uint32) ZS_SEGMENT_HEAD_MAX);
	uint8		head[ZS_SEGMENT_HEAD_MAX];
	ZsSegmentInfo info;
	const char *reason;

	if (!zsattr_read_payload(rel, order->attno, item, 0, headlen, head))
		return;
	reason = zscodec_segment_open(head, headlen, &info);
	if (reason != NULL)
		zsbase_corrupted(rel, item->start, "Segment of attribute %d at row " UINT64_FORMAT ": %s.",
						 order->attno, item->first_row, reason);
	for (uint32 v = 0; v < info.nvectors; v++)
	{
		if (info.vectors[v].has_zone)
			add_bounds(&order->vectors, info.vectors[v].zone_min, info.vectors[v].zone_max);
	}
}

/* Callback of zsbtree_visit_pages(). */
static void
visit_page(Relation rel, BlockNumber blkno, Page copy, void *arg)
{
	ColumnOrder *order = arg;
	const ZsSegmentItem *items = zsattr_index_items(copy);
	const char *reason;
	int			nitems;

	if (ZsPageGetOpaque(copy)->page_type != ZS_PAGE_SEGMENT_INDEX)
		return;
	reason = zsattr_index_page_check(copy);
	if (reason != NULL)
		zsbase_corrupted(rel, blkno, "Segment index page of attribute %d: %s.", order->attno,
						 reason);
	nitems = zsattr_index_count(copy);
	for (int i = 0; i < nitems; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if ((items[i].flags & ZS_SEGF_ZONE_MAP) == 0)
			continue;
		add_bounds(&order->segments, items[i].zone_min, items[i].zone_max);
		if (zsattr_item_is_uniform(&items[i]))
			add_bounds(&order->vectors, items[i].zone_min, items[i].zone_max);
		else
			add_vectors(rel, order, &items[i]);
	}
}

static int
compare_bounds(const void *a, const void *b)
{
	return pg_cmp_s64(*(const int64 *) a, *(const int64 *) b);
}

/* How many of the sorted values are not above value; or, less, below it? */
static Size
count_up_to(const int64 *values, Size n, int64 value, bool less)
{
	Size		low = 0;
	Size		high = n;

	while (low < high)
	{
		Size		middle = low + (high - low) / 2;

		if (values[middle] < value || (!less && values[middle] == value))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The average depth, and the largest one, both seen from the middle between two bounds. */
static double
depth_of(Bounds *bounds, int64 *most)
{
	int64	   *middles = bounds->n == 0 ? NULL :
		MemoryContextAllocHuge(CurrentMemoryContext, bounds->n * sizeof(int64));
	double		sum = 0;

	for (Size i = 0; i < bounds->n; i++)
		middles[i] = (int64) ((uint64) bounds->lower[i] +
							  ((uint64) bounds->upper[i] - (uint64) bounds->lower[i]) / 2);
	*most = 0;
	qsort(bounds->lower, bounds->n, sizeof(int64), compare_bounds);
	qsort(bounds->upper, bounds->n, sizeof(int64), compare_bounds);
	for (Size i = 0; i < bounds->n; i++)
	{
		Size		depth = count_up_to(bounds->lower, bounds->n, middles[i], false) -
			count_up_to(bounds->upper, bounds->n, middles[i], true);

		CHECK_FOR_INTERRUPTS();
		Assert(depth > 0 && depth <= bounds->n);
		sum += depth;
		*most = Max(*most, (int64) depth);
	}
	if (middles != NULL)
		pfree(middles);
	return bounds->n == 0 ? 0 : sum / bounds->n;
}

/* The column's place in the table's sort key, from 1; 0: none. */
static int
place_in_key(const ZsSortKey *keys, int nkeys, AttrNumber attno)
{
	for (int i = 0; i < nkeys; i++)
	{
		if (keys[i].attno == attno)
			return i + 1;
	}
	return 0;
}

/* zs_sortedness(regclass): see docs/inspection.md. */
Datum
zs_sortedness(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	rel = zsinspect_open(PG_GETARG_OID(0), AccessShareLock);
	ZsSortKey	keys[INDEX_MAX_KEYS];
	int			nkeys = zsbase_sort_key(rel, true, keys);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "zedstore column order",
												  ALLOCSET_DEFAULT_SIZES);

	zsbase_srf_init(fcinfo, SORTEDNESS_COLUMNS);
	for (AttrNumber attno = 1; attno <= RelationGetNumberOfAttributes(rel); attno++)
	{
		ColumnOrder order = {.attno = attno};
		Datum		values[SORTEDNESS_COLUMNS];
		bool		nulls[SORTEDNESS_COLUMNS] = {0};
		int			place = place_in_key(keys, nkeys, attno);
		int			n = 0;
		int64		most;
		MemoryContext old;

		if (zsattr_form(RelationGetDescr(rel), attno)->attisdropped)
			continue;
		old = MemoryContextSwitchTo(context);
		zsbtree_visit_pages(rel, ZsTreeOfAttr(attno), visit_page, &order);
		values[n++] = Int32GetDatum(attno);
		values[n] = zsinspect_attname(rel, attno, &nulls[n]);
		n++;
		nulls[n] = place == 0;
		values[n++] = Int32GetDatum(place);
		values[n++] = Int64GetDatum((int64) order.segments.n);
		values[n] = Float8GetDatum(depth_of(&order.segments, &most));
		nulls[n] = order.segments.n == 0;
		n++;
		nulls[n] = order.segments.n == 0;
		values[n++] = Int64GetDatum(most);
		values[n++] = Int64GetDatum((int64) order.vectors.n);
		values[n] = Float8GetDatum(depth_of(&order.vectors, &most));
		nulls[n] = order.vectors.n == 0;
		n++;
		nulls[n] = order.vectors.n == 0;
		values[n++] = Int64GetDatum(most);
		Assert(n == lengthof(values));
		zsinspect_put(rsinfo, values, nulls);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}
