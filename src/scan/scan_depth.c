/*-------------------------------------------------------------------------
 *
 * scan_depth.c
 *	  How many stripes lie over each other in the order of a column?
 *
 * A scan in that order holds as many at a time.  The zone maps of all segments tell how many of
 * these lie over a value; the heads of three of them tell the same of vectors within a segment.
 * The product of both is the depth: 1 for a table that is in order, all stripes for one whose
 * values lie at random.
 *
 * Nothing is locked between calls.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_depth.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "miscadmin.h"

#include "zs_attr.h"
#include "zs_depth.h"
#include "zs_page.h"
#include "zs_row.h"

/* ---- ranges ------------------------------------------------------------------------------- */

/* Adds a range.  Memory comes from the current context. */
void
zsscan_bounds_add(ZsZoneBounds *bounds, int64 lower, int64 upper)
{
	Assert(lower <= upper);
	if (bounds->n == bounds->max)
	{
		Size		max = Max(bounds->max * 2, ZS_SEGMENT_VECTORS);
		Size		size = max * sizeof(int64);

		bounds->lower = bounds->max == 0 ? palloc(size) : repalloc_huge(bounds->lower, size);
		bounds->upper = bounds->max == 0 ? palloc(size) : repalloc_huge(bounds->upper, size);
		bounds->max = max;
	}
	bounds->lower[bounds->n] = lower;
	bounds->upper[bounds->n++] = upper;
}

/* Adds the ranges of a segment's vectors. */
void
zsscan_bounds_add_vectors(ZsZoneBounds *bounds, const ZsSegmentInfo *info)
{
	for (uint32 i = 0; i < info->nvectors; i++)
	{
		if (info->vectors[i].has_zone)
			zsscan_bounds_add(bounds, info->vectors[i].zone_min, info->vectors[i].zone_max);
	}
}

/* Gives their memory back; there are none then. */
static void
free_bounds(ZsZoneBounds *bounds)
{
	if (bounds->max > 0)
	{
		pfree(bounds->lower);
		pfree(bounds->upper);
	}
	memset(bounds, 0, sizeof(*bounds));
}

static int
compare_bounds(const void *a, const void *b)
{
	return pg_cmp_s64(*(const int64 *) a, *(const int64 *) b);
}

/* How many of the sorted bounds are below the value, or with equal not above it? */
static Size
count_below(const int64 *bounds, Size n, int64 value, bool equal)
{
	Size		low = 0;
	Size		high = n;

	while (low < high)
	{
		Size		mid = low + (high - low) / 2;

		if (bounds[mid] < value || (equal && bounds[mid] == value))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * How many of the ranges lie over a value, on average, seen from the middles of all; 1 if there are
 * none.  *most: the largest number.  Sorts them.
 */
double
zsscan_bounds_depth(ZsZoneBounds *bounds, Size *most)
{
	int64	   *middles;
	double		sum = 0;

	*most = 0;
	if (bounds->n == 0)
		return 1;
	middles = MemoryContextAllocHuge(CurrentMemoryContext, bounds->n * sizeof(int64));
	for (Size i = 0; i < bounds->n; i++)
		middles[i] = (int64) ((uint64) bounds->lower[i] +
							  ((uint64) bounds->upper[i] - (uint64) bounds->lower[i]) / 2);
	qsort(bounds->lower, bounds->n, sizeof(int64), compare_bounds);
	qsort(bounds->upper, bounds->n, sizeof(int64), compare_bounds);
	for (Size i = 0; i < bounds->n; i++)
	{
		Size		depth = count_below(bounds->lower, bounds->n, middles[i], true) -
			count_below(bounds->upper, bounds->n, middles[i], false);

		CHECK_FOR_INTERRUPTS();
		Assert(depth > 0 && depth <= bounds->n);
		sum += depth;
		*most = Max(*most, depth);
	}
	pfree(middles);
	return sum / bounds->n;
}

/* ---- tables ------------------------------------------------------------------------------- */

/* The depth of vectors within the segment that starts at row. */
static double
depth_within(ZsAttrReader *reader, zstid row)
{
	const ZsSegmentInfo *info;
	ZsZoneBounds bounds = {0};
	Size		most;
	double		depth;
	int			vecno;

	info = zsattr_reader_info(reader, row, &vecno);
	if (info == NULL)
		return 1;
	Assert(info->nvectors > 0 && info->nvectors <= ZS_SEGMENT_VECTORS);
	zsscan_bounds_add_vectors(&bounds, info);
	depth = zsscan_bounds_depth(&bounds, &most);
	free_bounds(&bounds);
	return depth;
}

/*
 * How many stripes of the table lie over a value of the column, whose zone maps follow its order,
 * on average; and the share of the row numbers that no segment has, whose rows may be in the row
 * tree.
 * False: that is not known.  Takes no locks that are held on return.  Errors:
 * ERRCODE_DATA_CORRUPTED.
 */
bool
zsscan_order_depth(Relation rel, AttrNumber attno, double *depth, double *row_share)
{
	ZsSegmentItem *items = palloc_array(ZsSegmentItem, ZS_SEGMENT_INDEX_CAPACITY);
	zstid		end = zspage_next_row(rel);
	zstid	   *firsts = palloc_array(zstid, ZS_PLANNED_SEGMENTS);
	ZsAttrReader *reader;
	ZsZoneBounds bounds = {0};
	Size		most;
	zstid		row = 0;
	double		covered = 0;
	double		within = 0;

	while (row < end)
	{
		int			n = zsattr_index_page_items(rel, attno, row, items, &row);

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < n; i++)
		{
			covered += items[i].nrows;
			if ((items[i].flags & ZS_SEGF_ZONE_MAP) == 0)
				continue;
			if (bounds.n == ZS_PLANNED_SEGMENTS)
				return false;
			firsts[bounds.n] = items[i].first_row;
			zsscan_bounds_add(&bounds, items[i].zone_min, items[i].zone_max);
		}
	}
	if (bounds.n == 0)
		return false;
	Assert(bounds.n <= ZS_PLANNED_SEGMENTS);
	reader = zsattr_reader_begin(rel, RelationGetDescr(rel), attno, 0, NULL);
	for (int i = 0; i < ZS_PLANNED_HEADS; i++)
		within += depth_within(reader, firsts[i * (bounds.n - 1) / (ZS_PLANNED_HEADS - 1)]) /
			ZS_PLANNED_HEADS;
	zsattr_reader_end(reader);
	Assert(within >= 1 - 1e-6);
	*depth = zsscan_bounds_depth(&bounds, &most) * within;
	*row_share = end == 0 ? 0 : Max(1 - covered / end, 0);
	pfree(items);
	pfree(firsts);
	free_bounds(&bounds);
	return true;
}
