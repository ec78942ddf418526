/*-------------------------------------------------------------------------
 *
 * scan_depth.c
 *	  How many stripes lie over each other in the order of a column?
 *
 * A scan in that order holds as many at a time.  The zone maps of all segments tell how many of
 * these lie over a value; the heads of three of them tell the same of vectors within a segment.
 * The product of both is the depth: 1 for a table that is in order, all stripes for one whose
 * values lie at random.  Of a large table some index pages stand for all.
 *
 * Each statement that is planned asks for columns of its joins, so a backend remembers what it
 * found out, as long as the column's segments are the same.
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

#include "common/hashfn.h"
#include "common/int.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "zs_attr.h"
#include "zs_depth.h"
#include "zs_page.h"
#include "zs_row.h"

/* So many columns' depths are remembered; for one more all are forgotten. */
#define MAX_KNOWN		4096

/* What is remembered of a column. */
typedef struct KnownDepth
{
	struct KnownKey
	{
		RelFileLocator locator;
		uint32		attno;
	}			key;			/* first */
	uint64		segments;		/* hash of all that was known of them */
	double		depth;
} KnownDepth;

static HTAB *known_depths = NULL;

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

/* Adds the items of the index page with the row.  Sets *end of its range, and *span, its rows. */
static void
add_page(Relation rel, AttrNumber attno, zstid row, ZsPlannedSegments *segments, zstid *end,
		 double *span)
{
	ZsSegmentItem *items = segments->items + segments->n;
	int			n = zsattr_index_page_items(rel, attno, row, items, end);
	zstid		from = n > 0 ? Min(items[0].first_row, row) : row;

	CHECK_FOR_INTERRUPTS();
	Assert(*end > row);
	segments->n += n;
	*span = (double) (Min(*end, zspage_next_row(rel)) - from);
}

/*
 * The column's segments for a plan in the making: all, or of a column with many index pages those
 * of some that are spread over the table.  So planning takes no longer than for a table of a
 * quarter of a billion rows, whatever the table's size.  Memory comes from the current context.
 * Takes no locks that are held on return.  Errors: ERRCODE_DATA_CORRUPTED.
 */
void
zsscan_planned_segments(Relation rel, AttrNumber attno, ZsPlannedSegments *segments)
{
	zstid		end = zspage_next_row(rel);
	zstid		row = 0;
	double		span;
	double		seen = 0;

	segments->items = palloc_array(ZsSegmentItem, ZS_PLANNED_PAGES * ZS_SEGMENT_INDEX_CAPACITY);
	segments->n = 0;
	segments->weight = 1;
	for (int i = 0; i < ZS_PLANNED_PAGES && row < end; i++)
		add_page(rel, attno, row, segments, &row, &span);
	if (row >= end)
		return;

	segments->n = 0;
	row = 0;
	for (int i = 0; i < ZS_PLANNED_PAGES && row < end; i++)
	{
		row = Max(row, end / ZS_PLANNED_PAGES * i);
		if (row >= end)
			break;
		add_page(rel, attno, row, segments, &row, &span);
		seen += span;
	}
	segments->weight = Max((double) end / Max(seen, 1), 1);
}

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

/* ... of all, by those of some of n segments, which start at firsts. */
static double
depth_of_vectors(Relation rel, AttrNumber attno, const zstid *firsts, Size n)
{
	ZsAttrReader *reader = zsattr_reader_begin(rel, RelationGetDescr(rel), attno, 0, NULL);
	double		within = 0;

	for (int i = 0; i < ZS_PLANNED_HEADS; i++)
		within += depth_within(reader, firsts[i * (n - 1) / (ZS_PLANNED_HEADS - 1)]) /
			ZS_PLANNED_HEADS;
	zsattr_reader_end(reader);
	Assert(within >= 1 - 1e-6);
	return within;
}

/* The depth of the table, some of whose segments have zone maps. */
static double
depth_of_segments(Relation rel, AttrNumber attno, const ZsPlannedSegments *segments)
{
	zstid	   *firsts = palloc_array(zstid, segments->n);
	ZsZoneBounds bounds = {0};
	Size		most;
	double		within;
	double		depth;

	for (int i = 0; i < segments->n; i++)
	{
		const ZsSegmentItem *item = &segments->items[i];

		if ((item->flags & ZS_SEGF_ZONE_MAP) == 0)
			continue;
		firsts[bounds.n] = item->first_row;
		zsscan_bounds_add(&bounds, item->zone_min, item->zone_max);
	}
	Assert(bounds.n > 0);
	within = depth_of_vectors(rel, attno, firsts, bounds.n);
	/* those that were not looked at lie over each other as these do */
	depth = (1 + (zsscan_bounds_depth(&bounds, &most) - 1) * segments->weight) * within;
	pfree(firsts);
	free_bounds(&bounds);
	return depth;
}

/* What is remembered of the column, or a place for it: then it has no segments. */
static KnownDepth *
find_known(Relation rel, AttrNumber attno)
{
	struct KnownKey key;
	KnownDepth *known;
	bool		found;

	if (known_depths != NULL && hash_get_num_entries(known_depths) >= MAX_KNOWN)
	{
		hash_destroy(known_depths);
		known_depths = NULL;
	}
	if (known_depths == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(key), .entrysize = sizeof(KnownDepth)};

		known_depths = hash_create("zedstore depths", 64, &ctl, HASH_ELEM | HASH_BLOBS);
	}
	memset(&key, 0, sizeof(key));
	key.locator = rel->rd_locator;
	key.attno = attno;
	known = hash_search(known_depths, &key, HASH_ENTER, &found);
	if (!found)
		known->segments = 0;
	return known;
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
	ZsPlannedSegments segments;
	zstid		end = zspage_next_row(rel);
	double		covered = 0;
	bool		has_zones = false;
	KnownDepth *known;
	uint64		hash;

	zsscan_planned_segments(rel, attno, &segments);
	for (int i = 0; i < segments.n; i++)
	{
		covered += segments.items[i].nrows * segments.weight;
		has_zones |= (segments.items[i].flags & ZS_SEGF_ZONE_MAP) != 0;
	}
	if (!has_zones)
		return false;
	/* the weight says how much of the table they stand for; 0 stands for nothing */
	hash = hash_bytes_extended((const unsigned char *) segments.items,
							   segments.n * (int) sizeof(ZsSegmentItem),
							   (uint64) (segments.weight * 16)) | 1;
	known = find_known(rel, attno);
	if (known->segments != hash)
	{
		known->depth = depth_of_segments(rel, attno, &segments);
		known->segments = hash;
	}
	*depth = known->depth;
	*row_share = end == 0 ? 0 : Max(1 - covered / end, 0);
	pfree(segments.items);
	return true;
}
