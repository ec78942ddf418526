/*-------------------------------------------------------------------------
 *
 * scan_zone.c
 *	  Skips segments in which no row can pass a sequential scan's filter.
 *
 * The entry of a segment carries the smallest and the largest value of its
 * rows, and how many of these are NULL.  When the executor starts, conditions on single columns are
 * picked out of the scan node's filter, as sets of values that may pass (scan_zone_clause.c), and
 * put into its slot, beside the needed-column mask.  The scan asks for each segment that it comes
 * to whether the filter excludes it, and if so goes on behind it.  Of a segment that it does not
 * exclude, the head has the same for each vector.  The node still applies the whole filter to every
 * row that it gets, so that what cannot be expressed here is simply not used.
 *
 * Core evaluates the clauses of a filter in their order.  One that may raise an error must meet all
 * rows that pass those in front of it, so only these are picked (scan_clause.c).
 *
 * Rows in the row tree are not covered by any zone map; a range that has some is read.
 *
 * Who knows of other reasons for which rows are not wanted is asked about each segment, too: the
 * filters of hash joins are (node_row_filter.c).
 *
 * Small materialized aggregates: G. Moerkotte, VLDB 1998.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_zone.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "scan_batch.h"
#include "scan_desc.h"
#include "zs_attr.h"
#include "zs_batch.h"
#include "zs_clause.h"
#include "zs_codec.h"
#include "zs_zone.h"

/* ---- picking filters out of a qual ------------------------------------------ */

/* Room for one more filter in the slot. */
static ZsZoneFilter *
add_filter(ZsSlot *slot, AttrNumber attno)
{
	ZsZoneFilter *filter;

	if (slot->filter_context == NULL)
		slot->filter_context = AllocSetContextCreate(slot->base.tts_mcxt, "zedstore zone filters",
													 ALLOCSET_SMALL_SIZES);
	if (slot->nfilters == slot->maxfilters)
	{
		slot->maxfilters = Max(4, 2 * slot->maxfilters);
		slot->filters = slot->filters == NULL ?
			MemoryContextAlloc(slot->filter_context, slot->maxfilters * sizeof(ZsZoneFilter)) :
			repalloc_array(slot->filters, ZsZoneFilter, slot->maxfilters);
	}
	filter = &slot->filters[slot->nfilters++];
	memset(filter, 0, sizeof(*filter));
	filter->attno = attno;
	return filter;
}

/* Adds what the clause says about each of its columns. */
static void
add_clause(ZsSlot *slot, Relation rel, Index scanrelid, Node *clause, ParamListInfo params)
{
	Bitmapset  *attrs = NULL;
	int			i = -1;

	pull_varattnos(clause, scanrelid, &attrs);
	while ((i = bms_next_member(attrs, i)) >= 0)
	{
		AttrNumber	attno = i + FirstLowInvalidHeapAttributeNumber;
		ZsZoneSet	set;
		ZsZoneFilter *filter;
		ZsAttrKind	kind;

		if (attno <= 0 || attno > RelationGetNumberOfAttributes(rel) ||
			!zsscan_zone_set_of(RelationGetDescr(rel), scanrelid, attno, clause, params, &set))
			continue;
		filter = add_filter(slot, attno);
		zsattr_kind(TupleDescAttr(RelationGetDescr(rel), attno - 1), &kind);
		filter->is_unsigned = kind.is_unsigned;
		filter->set = set;
		if (set.nranges > 0)
		{
			filter->set.ranges = MemoryContextAlloc(slot->filter_context,
													set.nranges * sizeof(ZsZoneRange));
			memcpy(filter->set.ranges, set.ranges, set.nranges * sizeof(ZsZoneRange));
		}
	}
}

/*
 * Puts those clauses of qual that can skip segments into the slot, in place of
 * those that are there.  All clauses are applied by somebody else, too.
 * scanrelid: the varno of the table's columns in qual.  params: as in
 * zs_clause.h.
 */
void
zsscan_set_filters(TupleTableSlot *base, Relation rel, Index scanrelid, List *qual,
				   struct ParamListInfoData *params)
{
	ZsSlot	   *slot = (ZsSlot *) base;
	MemoryContext context;
	MemoryContext old;
	ListCell   *lc;

	if (!TTS_IS_ZEDSTORE(base))
		return;
	if (slot->filter_context != NULL)
		MemoryContextReset(slot->filter_context);
	slot->filters = NULL;
	slot->nfilters = slot->maxfilters = 0;
	if (!zs_enable_zone_maps || qual == NIL)
		return;
	context = AllocSetContextCreate(CurrentMemoryContext, "zedstore zone sets",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	foreach(lc, qual)
	{
		Node	   *clause = lfirst(lc);

		/* what stands behind a clause that may raise an error would hide it */
		if (zsscan_expression_may_raise(clause, params))
			break;
		add_clause(slot, rel, scanrelid, clause, params);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/*
 * Has test asked for each segment which values of the column rows may have that are wanted, besides
 * what zsscan_set_filters() says, which comes before and makes the slot forget this.  Does nothing
 * if equal values of the column need not have one image, or zone maps are off.
 */
void
zsscan_add_zone_test(TupleTableSlot *base, Relation rel, AttrNumber attno, ZsZoneTest test,
					 void *arg)
{
	ZsSlot	   *slot = (ZsSlot *) base;
	ZsZoneFilter *filter;
	ZsAttrKind	kind;

	Assert(attno > 0 && attno <= RelationGetNumberOfAttributes(rel));
	if (!TTS_IS_ZEDSTORE(base) || !zs_enable_zone_maps)
		return;
	zsattr_kind(TupleDescAttr(RelationGetDescr(rel), attno - 1), &kind);
	if ((kind.kind != ZS_KIND_INT && kind.kind != ZS_KIND_BYTES && kind.kind != ZS_KIND_FIXED) ||
		!kind.zone_equal || kind.is_unsigned)
		return;
	filter = add_filter(slot, attno);
	filter->test = test;
	filter->arg = arg;
}

/*
 * Gives the scan node's slot the conditions of its filter that zone maps can
 * tell about: zsscan_set_filters() for a node of the executor.
 */
void
zsscan_stamp_filters(ScanState *node)
{
	zsscan_set_filters(node->ss_ScanTupleSlot, node->ss_currentRelation,
					   ((Scan *) node->ps.plan)->scanrelid, node->ps.plan->qual,
					   node->ps.state->es_param_list_info);
}

/* ---- applying them ---------------------------------------------------------------- */

/*
 * Can no row pass whose values bounds describes?  A zone map says nothing about a column whose type
 * was ordered otherwise when it was written (ALTER TABLE makes an integer an oid without a
 * rewrite).
 */
bool
zsscan_zone_excludes(const ZsZoneFilter *filter, const ZsColumnBounds *bounds)
{
	if (filter->test != NULL)
		return bounds->has_zone && bounds->is_unsigned == filter->is_unsigned &&
			filter->test(filter->arg, filter->attno, bounds->min, bounds->max);
	if (filter->set.nulls && bounds->nnulls > 0)
		return false;
	if (bounds->nnulls == bounds->nrows || filter->set.nranges == 0)
		return true;
	return bounds->has_zone && bounds->is_unsigned == filter->is_unsigned &&
		!zsscan_zone_set_meets(&filter->set, bounds->min, bounds->max);
}

/* Can no row of the segment pass? */
bool
zsscan_zone_excludes_segment(const ZsZoneFilter *filter, const ZsSegmentItem *item)
{
	/* rows that did not exist when it was written are none that anybody sees */
	ZsColumnBounds bounds = {
		.has_zone = (item->flags & ZS_SEGF_ZONE_MAP) != 0,
		.is_unsigned = (item->flags & ZS_SEGF_UNSIGNED) != 0,
		.min = item->zone_min,
		.max = item->zone_max,
		.nrows = item->nrows - item->nholes,
		.nnulls = item->nnulls - item->nholes
	};

	Assert(item->nholes <= item->nnulls && item->nnulls <= item->nrows);
	return zsscan_zone_excludes(filter, &bounds);
}

/*
 * Do the slot's filters exclude the rows of [row, end), which are of one stripe, by the zone maps
 * of its vectors?  The scan, one by rows, is about to come to them.
 */
bool
zsscan_stripe_excluded(ZsScanDesc scan, const ZsSlot *slot, zstid row, zstid end)
{
	zstid		stripe = row - row % ZS_STRIPE_ROWS;

	Assert(row < end && end <= stripe + ZS_STRIPE_ROWS);
	/* the row tree comes before any segment */
	if (zsscan_source_stripe(scan->source, stripe) != NULL)
		return false;
	for (int i = 0; i < slot->nfilters; i++)
	{
		const ZsZoneFilter *filter = &slot->filters[i];
		const ZsSegmentInfo *info;
		const ZsVectorInfo *vector;
		ZsColumnBounds bounds;
		int			vecno;

		if (filter->test != NULL ||
			(info = zsscan_source_info(scan->source, filter->attno - 1, stripe, &vecno)) == NULL)
			continue;
		vector = &info->vectors[vecno];
		if (end - stripe > vector->nrows)
			continue;
		bounds = zsscan_bounds_of(info, vector);
		if (zsscan_zone_excludes(filter, &bounds))
			return true;
	}
	return false;
}

/*
 * Do the slot's filters exclude all rows from row on?  *until (at most end) is
 * where the answer ends.
 *
 * The last answer is remembered, for runs of rows may be short.  It is right for what the scan's
 * snapshot sees, whatever becomes of the segment: no such row comes into it but from the row tree,
 * in which there was none.
 */
bool
zsscan_zone_excluded(ZsScanDesc scan, const ZsSlot *slot, zstid row, zstid end, zstid *until)
{
	Relation	rel = scan->rs_base.rs_rd;

	Assert(row < end);
	if (row >= scan->zone_from && row < scan->zone_until)
	{
		*until = Min(scan->zone_until, end);
		return scan->zone_excluded;
	}
	scan->zone_from = row;
	scan->zone_until = PG_UINT64_MAX;
	scan->zone_excluded = false;
	for (int i = 0; i < slot->nfilters && !scan->zone_excluded; i++)
	{
		const ZsZoneFilter *filter = &slot->filters[i];
		ZsSegmentItem item;
		zstid		segment_end;
		zstid		next;

		/* no segment: rows of the row tree, or from before the column was added */
		if (!zsattr_find_segment(rel, filter->attno, row, false, &item))
			continue;
		if (item.first_row > row)
		{
			scan->zone_until = Min(scan->zone_until, item.first_row);
			continue;
		}
		segment_end = item.first_row + item.nrows;
		if (zsscan_zone_excludes_segment(filter, &item) &&
			(next = zsrow_next(rel, row)) >= Min(segment_end, end))
		{
			scan->zone_until = Min(segment_end, next);
			scan->zone_excluded = true;
			if (item.first_row != scan->excluded)
				scan->nexcluded++;
			scan->excluded = item.first_row;
		}
		else
			scan->zone_until = Min(scan->zone_until, segment_end);
	}
	Assert(scan->zone_until > row);
	*until = Min(scan->zone_until, end);
	return scan->zone_excluded;
}
