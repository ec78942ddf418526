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

/* With more segments nothing is said: it would take longer than a plan may. */
#define MAX_SEGMENTS	20000

/* Heads that are read. */
#define SAMPLED_HEADS	3

typedef struct Bounds
{
	int			n;
	int64	   *lower;			/* ascending, and so is the next; not those of the same */
	int64	   *upper;
} Bounds;

static int
compare_bounds(const void *a, const void *b)
{
	return pg_cmp_s64(*(const int64 *) a, *(const int64 *) b);
}

/* How many of the sorted bounds are below the value, or with equal not above it? */
static int
count_below(const int64 *bounds, int n, int64 value, bool equal)
{
	int			low = 0;
	int			high = n;

	while (low < high)
	{
		int			mid = (low + high) / 2;

		if (bounds[mid] < value || (equal && bounds[mid] == value))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* How many of them lie over a value, on average, seen from the middles of all. */
static double
depth_of(Bounds *bounds)
{
	int64	   *middles = palloc_array(int64, bounds->n + 1);
	double		sum = 0;

	Assert(bounds->n >= 0);
	if (bounds->n == 0)
		return 1;
	for (int i = 0; i < bounds->n; i++)
		middles[i] = bounds->lower[i] / 2 + bounds->upper[i] / 2;
	qsort(bounds->lower, bounds->n, sizeof(int64), compare_bounds);
	qsort(bounds->upper, bounds->n, sizeof(int64), compare_bounds);
	for (int i = 0; i < bounds->n; i++)
		sum += count_below(bounds->lower, bounds->n, middles[i], true) -
			count_below(bounds->upper, bounds->n, middles[i], false);
	pfree(middles);
	return Max(sum / bounds->n, 1);
}

static void
add_bounds(Bounds *bounds, int64 min, int64 max)
{
	Assert(min <= max);
	bounds->lower[bounds->n] = min;
	bounds->upper[bounds->n++] = max;
}

static void
make_bounds(Bounds *bounds, int n)
{
	bounds->n = 0;
	bounds->lower = palloc_array(int64, n + 1);
	bounds->upper = palloc_array(int64, n + 1);
}

/* The depth of vectors within the segment that starts at row. */
static double
depth_within(ZsAttrReader *reader, zstid row)
{
	const ZsSegmentInfo *info;
	Bounds		bounds;
	int			vecno;

	info = zsattr_reader_info(reader, row, &vecno);
	if (info == NULL)
		return 1;
	Assert(info->nvectors > 0 && info->nvectors <= ZS_SEGMENT_VECTORS);
	make_bounds(&bounds, ZS_SEGMENT_VECTORS);
	for (uint32 i = 0; i < info->nvectors; i++)
	{
		if (info->vectors[i].has_zone)
			add_bounds(&bounds, info->vectors[i].zone_min, info->vectors[i].zone_max);
	}
	return depth_of(&bounds);
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
	zstid	   *firsts = palloc_array(zstid, MAX_SEGMENTS);
	ZsAttrReader *reader;
	Bounds		bounds;
	zstid		row = 0;
	double		covered = 0;
	double		within = 0;

	make_bounds(&bounds, MAX_SEGMENTS);
	while (row < end)
	{
		int			n = zsattr_index_page_items(rel, attno, row, items, &row);

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < n; i++)
		{
			covered += items[i].nrows;
			if ((items[i].flags & ZS_SEGF_ZONE_MAP) == 0)
				continue;
			if (bounds.n == MAX_SEGMENTS)
				return false;
			firsts[bounds.n] = items[i].first_row;
			add_bounds(&bounds, items[i].zone_min, items[i].zone_max);
		}
	}
	if (bounds.n == 0)
		return false;
	Assert(bounds.n <= MAX_SEGMENTS);
	reader = zsattr_reader_begin(rel, RelationGetDescr(rel), attno, 0, NULL);
	for (int i = 0; i < SAMPLED_HEADS; i++)
		within += depth_within(reader, firsts[i * (bounds.n - 1) / (SAMPLED_HEADS - 1)]) /
			SAMPLED_HEADS;
	zsattr_reader_end(reader);
	Assert(within >= 1 - 1e-6);
	*depth = depth_of(&bounds) * within;
	*row_share = end == 0 ? 0 : Max(1 - covered / end, 0);
	pfree(items);
	pfree(firsts);
	pfree(bounds.lower);
	pfree(bounds.upper);
	return true;
}
