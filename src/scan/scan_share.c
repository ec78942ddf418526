/*-------------------------------------------------------------------------
 *
 * scan_share.c
 *	  What do zone maps leave of a table for a filter?
 *
 * The planner asks before it knows how the table is to be read.  The constants of the filter are
 * known by then, and so are the zone maps of the segments, from a few pages (of a very large table
 * some of them stand for all); of those segments that are left the heads of three tell how many of
 * their vectors are.  Of a filter that looks at several columns that column counts which leaves
 * least; of an OR over several columns its arms together.
 *
 * Nothing is locked between calls.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_share.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "scan_batch.h"
#include "scan_zone_set.h"
#include "zs_attr.h"
#include "zs_clause.h"
#include "zs_depth.h"
#include "zs_page.h"
#include "zs_zone.h"

/* Arms of an OR over several columns: each takes another look at zone maps. */
#define MAX_ARMS	8

/* A column, and what the filter says about its values. */
typedef struct ColumnZones
{
	Relation	rel;
	ZsZoneFilter filter;
	double		nleft;			/* rows of segments that the filter does not exclude */
	double		ncovered;		/* rows of all segments */
	uint32		largest;		/* rows of the largest of them */
	uint64		nsegments;		/* that are not excluded */
	zstid		sample[ZS_PLANNED_HEADS];	/* first rows of some of them */
} ColumnZones;

/* Looks at the zone maps of the segments. */
static void
look_at_segments(ColumnZones *zones)
{
	ZsPlannedSegments segments;

	zsscan_planned_segments(zones->rel, zones->filter.attno, &segments);
	for (int i = 0; i < segments.n; i++)
	{
		const ZsSegmentItem *item = &segments.items[i];
		double		nrows = item->nrows * segments.weight;

		zones->ncovered += nrows;
		zones->largest = Max(zones->largest, item->nrows);
		if (zsscan_zone_excludes_segment(&zones->filter, item))
			continue;
		/* the first ones, and then now and then one: they are spread over the table */
		if (zones->nsegments < ZS_PLANNED_HEADS)
			zones->sample[zones->nsegments] = item->first_row;
		else if ((zones->nsegments & (zones->nsegments + 1)) == 0)
			zones->sample[pg_leftmost_one_pos64(zones->nsegments + 1) % ZS_PLANNED_HEADS] =
				item->first_row;
		zones->nsegments++;
		zones->nleft += nrows;
	}
	/* there may be one among those that were not looked at */
	if (zones->nsegments == 0 && segments.weight > 1)
		zones->nleft = zones->largest;
	pfree(segments.items);
}

/* The share of the vectors of the sampled segments that are left. */
static double
share_within(const ColumnZones *zones)
{
	ZsAttrReader *reader = zsattr_reader_begin(zones->rel, RelationGetDescr(zones->rel),
											   zones->filter.attno, 0, NULL);
	double		nvectors = 0;
	double		nleft = 0;

	for (uint64 i = 0; i < Min(zones->nsegments, ZS_PLANNED_HEADS); i++)
	{
		int			vecno;
		const ZsSegmentInfo *info = zsattr_reader_info(reader, zones->sample[i], &vecno);

		if (info == NULL)
			continue;
		for (uint32 k = 0; k < info->nvectors; k++)
		{
			ZsColumnBounds bounds = zsscan_bounds_of(info, &info->vectors[k]);

			nleft += zsscan_zone_excludes(&zones->filter, &bounds) ? 0 : 1;
		}
		nvectors += info->nvectors;
	}
	zsattr_reader_end(reader);
	return nvectors == 0 ? 1 : nleft / nvectors;
}

/* The share of the table's rows that the column's zone maps leave. */
static double
share_of_column(ColumnZones *zones)
{
	ZsAttrKind	kind;
	double		left;

	zsattr_kind(TupleDescAttr(RelationGetDescr(zones->rel), zones->filter.attno - 1), &kind);
	zones->filter.is_unsigned = kind.is_unsigned;
	look_at_segments(zones);
	left = zones->nsegments == 0 ? zones->nleft : zones->nleft * share_within(zones);
	return Min(Max(left, ZS_STRIPE_ROWS) / Max(zones->ncovered, ZS_STRIPE_ROWS), 1);
}

/* Adds what the clause says about each of its columns to the list of ColumnZones. */
static List *
add_clause(List *columns, Relation rel, Index varno, Node *clause)
{
	Bitmapset  *attrs = NULL;
	int			i = -1;

	pull_varattnos(clause, varno, &attrs);
	while ((i = bms_next_member(attrs, i)) >= 0)
	{
		AttrNumber	attno = i + FirstLowInvalidHeapAttributeNumber;
		ColumnZones *zones = NULL;
		ZsZoneSet	set;
		ListCell   *lc;

		if (attno <= 0 || attno > RelationGetNumberOfAttributes(rel) ||
			!zsscan_zone_set_of(RelationGetDescr(rel), varno, attno, clause, NULL, &set))
			continue;
		foreach(lc, columns)
		{
			if (((ColumnZones *) lfirst(lc))->filter.attno == attno)
				zones = lfirst(lc);
		}
		if (zones != NULL)
		{
			zsscan_set_intersect(&zones->filter.set, &set);
			continue;
		}
		zones = palloc0_object(ColumnZones);
		zones->rel = rel;
		zones->filter.attno = attno;
		zones->filter.set = set;
		columns = lappend(columns, zones);
	}
	bms_free(attrs);
	return columns;
}

/* The same as below, of an OR over several columns; 1 for other clauses. */
static double
share_of_arms(Relation rel, Index varno, Node *clause)
{
	Bitmapset  *attrs = NULL;
	double		share = 0;
	ListCell   *lc;

	if (!is_orclause(clause) || list_length(((BoolExpr *) clause)->args) > MAX_ARMS)
		return 1;
	pull_varattnos(clause, varno, &attrs);
	/* what it says about one column is known as a whole */
	if (bms_membership(attrs) != BMS_MULTIPLE)
		return 1;
	check_stack_depth();
	foreach(lc, ((BoolExpr *) clause)->args)
	{
		Node	   *arm = lfirst(lc);

		share += zsscan_share_left(rel, varno, is_andclause(arm) ? ((BoolExpr *) arm)->args :
								   list_make1(arm));
		if (share >= 1)
			return 1;
	}
	return share;
}

/*
 * The share of the rows that are in segments, more than 0 and at most 1, in vectors of which zone
 * maps do not say that no row passes.  clauses: the filter, in the order in which it is applied,
 * with columns of varno; what is no constant yet leaves all.  Takes no locks that are held on
 * return.  Errors: ERRCODE_DATA_CORRUPTED.
 */
double
zsscan_share_left(Relation rel, Index varno, List *clauses)
{
	List	   *columns = NIL;
	double		share = 1;
	ListCell   *lc;

	if (!zs_enable_zone_maps)
		return 1;
	foreach(lc, clauses)
	{
		/* what stands behind it is not looked at before it */
		if (zsscan_expression_may_raise(lfirst(lc), NULL))
			break;
		columns = add_clause(columns, rel, varno, lfirst(lc));
		share = Min(share, share_of_arms(rel, varno, lfirst(lc)));
	}
	foreach(lc, columns)
		share = Min(share, share_of_column(lfirst(lc)));
	list_free_deep(columns);
	Assert(share > 0 && share <= 1);
	return share;
}
