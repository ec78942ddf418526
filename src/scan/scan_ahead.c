/*-------------------------------------------------------------------------
 *
 * scan_ahead.c
 *	  What values a scan by batches may still meet.
 *
 * Where a table is in the order of a column, as with keys that are given in the order of insertion,
 * an aggregate need not keep all its groups until the end: those whose keys lie outside of what
 * the zone maps of the segments to come allow are complete.
 *
 * The zone maps are read once for each scan and column, when somebody asks for the first time:
 * about one entry for 60,000 rows.  That is enough for the whole scan, since its snapshot sees no
 * row that comes later, and no row's value changes; VACUUM may put rows into other segments.
 *
 * Rows in the row tree are covered by no zone map, and are looked at one by one if they are not too
 * many.  That comes first, since VACUUM removes rows from there after they are in segments.
 *
 * Nothing is locked between calls.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_ahead.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/rel.h"

#include "scan_batch.h"
#include "zs_attr.h"
#include "zs_row.h"

/* A segment, or the rows of a stripe in the row tree; and all that end behind it. */
typedef struct AheadRange
{
	zstid		end;			/* behind its last row */
	int64		min;
	int64		max;
} AheadRange;

struct ZsScanAhead
{
	ZsScanAhead *other;			/* of another column, or NULL */
	AttrNumber	attno;
	bool		known;
	int			nranges;
	int			maxranges;
	int			next;			/* the first that is ahead */
	AheadRange *ranges;
};

/* With more rows in the row tree nothing is known. */
#define MAX_TREE_ROWS	65536

static void
add_range(ZsScanAhead *ahead, zstid end, int64 min, int64 max)
{
	AheadRange *range;

	if (ahead->nranges == ahead->maxranges)
	{
		ahead->maxranges = Max(64, ahead->maxranges * 2);
		ahead->ranges = ahead->ranges == NULL ? palloc_array(AheadRange, ahead->maxranges) :
			repalloc_huge(ahead->ranges, ahead->maxranges * sizeof(AheadRange));
	}
	range = &ahead->ranges[ahead->nranges++];
	range->end = end;
	range->min = min;
	range->max = max;
}

/* Adds the rows of one stripe in the row tree; returns how many. */
static int
add_stripe(ZsScanAhead *ahead, Relation rel, zstid first, zstid end, ZsRowBatch *rows)
{
	TupleDesc	desc = RelationGetDescr(rel);
	Datum	   *values = palloc_array(Datum, desc->natts);
	bool	   *isnull = palloc_array(bool, desc->natts);
	int64		min = PG_INT64_MAX;
	int64		max = PG_INT64_MIN;
	int			n = zsrow_fetch_range(rel, first, end, rows);

	for (int i = 0; i < n; i++)
	{
		int64		value;

		zsrow_deform(rel, desc, rows->items[i], values, isnull);
		if (isnull[ahead->attno - 1])
			continue;
		value = zsattr_value_to_int(values[ahead->attno - 1],
									TupleDescAttr(desc, ahead->attno - 1)->attlen);
		min = Min(min, value);
		max = Max(max, value);
	}
	if (min <= max)
		add_range(ahead, end, min, max);
	pfree(values);
	pfree(isnull);
	return n;
}

/* Looks at the rows of [row, end) in the row tree; false if they are too many. */
static bool
read_row_tree(ZsScanAhead *ahead, Relation rel, zstid row, zstid end)
{
	ZsRowBatch *rows = zsrow_batch_create(CurrentMemoryContext);
	int			n = 0;

	while (n < MAX_TREE_ROWS && (row = zsrow_next(rel, row)) < end)
	{
		zstid		stripe_end = row - row % ZS_STRIPE_ROWS + ZS_STRIPE_ROWS;

		CHECK_FOR_INTERRUPTS();
		n += add_stripe(ahead, rel, row, stripe_end, rows);
		row = stripe_end;
	}
	zsrow_batch_free(rows);
	return n < MAX_TREE_ROWS;
}

/* Reads the zone maps of [row, end); false if they do not say enough. */
static bool
read_zones(ZsScanAhead *ahead, Relation rel, zstid row, zstid end)
{
	ZsSegmentItem item;

	while (row < end && zsattr_find_segment(rel, ahead->attno, row, false, &item))
	{
		CHECK_FOR_INTERRUPTS();
		if (item.first_row >= end)
			break;
		row = item.first_row + item.nrows;
		if (item.nnulls == item.nrows)
			continue;
		if ((item.flags & ZS_SEGF_ZONE_MAP) == 0 || (item.flags & ZS_SEGF_UNSIGNED) != 0)
			return false;
		add_range(ahead, row, item.zone_min, item.zone_max);
	}
	return true;
}

static int
compare_ranges(const void *a, const void *b)
{
	zstid		left = ((const AheadRange *) a)->end;
	zstid		right = ((const AheadRange *) b)->end;

	return left < right ? -1 : left > right;
}

/* Finds out about all rows of [row, end). */
static bool
read_all(ZsScanAhead *ahead, Relation rel, zstid row, zstid end)
{
	/* rows from before the column was added are in none of its segments */
	if (TupleDescAttr(RelationGetDescr(rel), ahead->attno - 1)->atthasmissing ||
		!read_row_tree(ahead, rel, row, end) || !read_zones(ahead, rel, row, end))
		return false;
	if (ahead->nranges > 0)
		qsort(ahead->ranges, ahead->nranges, sizeof(AheadRange), compare_ranges);
	for (int i = ahead->nranges - 2; i >= 0; i--)
	{
		ahead->ranges[i].min = Min(ahead->ranges[i].min, ahead->ranges[i + 1].min);
		ahead->ranges[i].max = Max(ahead->ranges[i].max, ahead->ranges[i + 1].max);
	}
	return true;
}

/* What is known of the column, from the present batch on. */
static ZsScanAhead *
look_ahead(ZsBatchScan *bs, AttrNumber attno)
{
	MemoryContext old = MemoryContextSwitchTo(bs->context);
	ZsScanAhead *ahead = palloc0_object(ZsScanAhead);

	ahead->other = bs->ahead;
	ahead->attno = attno;
	ahead->known = read_all(ahead, bs->scan->rs_base.rs_rd, bs->batch.first + ZS_STRIPE_ROWS,
							bs->scan->end);
	MemoryContextSwitchTo(old);
	return ahead;
}

/*
 * The smallest and the largest value of the column, an integer with a sign, that the scan may meet
 * behind the present batch; min > max if there is none but NULLs.  False: any.  Not of a parallel
 * scan, nor of one that turns back.  Takes no locks that are held on return.  Errors:
 * ERRCODE_DATA_CORRUPTED.
 *
 * Small materialized aggregates: G. Moerkotte, VLDB 1998.
 */
bool
zsscan_batch_ahead(ZsBatchScan *bs, AttrNumber attno, int64 *min, int64 *max)
{
	zstid		row = bs->batch.first + ZS_STRIPE_ROWS;
	ZsScanAhead *ahead = bs->ahead;

	Assert(bs->scan->rs_base.rs_parallel == NULL && !bs->turned);
	while (ahead != NULL && ahead->attno != attno)
		ahead = ahead->other;
	if (ahead == NULL)
		ahead = bs->ahead = look_ahead(bs, attno);
	if (!ahead->known)
		return false;
	while (ahead->next < ahead->nranges && ahead->ranges[ahead->next].end <= row)
		ahead->next++;
	*min = PG_INT64_MAX;
	*max = PG_INT64_MIN;
	if (ahead->next < ahead->nranges)
	{
		*min = ahead->ranges[ahead->next].min;
		*max = ahead->ranges[ahead->next].max;
	}
	return true;
}
