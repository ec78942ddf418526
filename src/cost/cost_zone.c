/*-------------------------------------------------------------------------
 *
 * cost_zone.c
 *	  What zone maps leave of a table for a scan by batches.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/cost/cost_zone.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "optimizer/restrictinfo.h"
#include "utils/memutils.h"

#include "zs_attr.h"
#include "zs_cost.h"
#include "zs_cost_const.h"
#include "zs_depth.h"

/*
 * How many stripes lie over a value of the column, and what share of its rows may be in the row
 * tree, as zsscan_order_depth() says; remembered for the plan in the making.
 */
bool
zscost_column_depth(RelOptInfo *rel, Relation table, AttrNumber attno, double *depth,
					double *row_share)
{
	ZsRelCosts *costs = zscost_find(rel);
	ZsColumnDepth *known;

	if (costs == NULL)
		return zsscan_order_depth(table, attno, depth, row_share);
	Assert(attno > 0 && attno <= rel->max_attr);
	if (costs->depths == NULL)
		costs->depths = MemoryContextAllocZero(GetMemoryChunkContext(costs),
											   rel->max_attr * sizeof(ZsColumnDepth));
	known = &costs->depths[attno - 1];
	if (!known->asked)
	{
		known->has = zsscan_order_depth(table, attno, &known->depth, &known->row_share);
		known->asked = true;
	}
	*depth = known->depth;
	*row_share = known->row_share;
	return known->has;
}

/*
 * The share of the table's vectors that may have one value of the column, as their zone maps say,
 * more than 0; 1: nothing is known.
 */
double
zscost_value_share(RelOptInfo *rel, Relation table, AttrNumber attno)
{
	double		stripes = Max(rel->tuples / ZS_COST_STRIPE_ROWS, 1);
	double		depth;
	double		row_share;

	if (!zscost_column_depth(rel, table, attno, &depth, &row_share))
		return 1;
	return Min(Max(depth, 1) / stripes, 1);
}

/*
 * The share of the rows, more than 0 and at most 1, in vectors that a scan with the relation's
 * restrictions looks at: those that their zone maps do not leave out.  It reads the zone maps of
 * all segments when it is asked first.
 */
double
zscost_zone_share(RelOptInfo *rel)
{
	ZsRelCosts *costs = zscost_find(rel);

	/* a table of few segments is read in no time */
	if (costs == NULL || rel->baserestrictinfo == NIL || rel->tuples < ZS_SEGMENT_ROWS ||
		zscost_is_looked_up(rel))
		return 1;
	if (costs->zone_share == 0)
	{
		Relation	table = table_open(costs->relid, NoLock);

		costs->zone_share =
			zsscan_share_left(table, rel->relid,
							  extract_actual_clauses(rel->baserestrictinfo, false));
		table_close(table, NoLock);
	}
	Assert(costs->zone_share > 0 && costs->zone_share <= 1);
	return costs->zone_share;
}
