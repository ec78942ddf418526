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

#include "zs_attr.h"
#include "zs_cost.h"
#include "zs_depth.h"

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
