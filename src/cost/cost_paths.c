/*-------------------------------------------------------------------------
 *
 * cost_paths.c
 *	  What the other files ask about a table and its paths.
 *
 * How many rows a page of a heap would have, what share of a parallel scan each process gets,
 * whether the query reads the table as a whole, and whether another path beats all that could be
 * added.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/cost/cost_paths.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

#include "zs_base.h"
#include "zs_base_plan.h"
#include "zs_compat.h"
#include "zs_cost.h"
#include "zs_expr_guc.h"

/* Rows of so many bytes, without their headers, that a page of a heap holds. */
static double
density_of_width(int32 width)
{
	double		density = (BLCKSZ - SizeOfPageHeaderData) /
		(MAXALIGN(width) + MAXALIGN(SizeofHeapTupleHeader) + sizeof(ItemIdData));

	return Max(density, 1.0);
}

/*
 * Rows that a page of a heap with this table's columns would hold; rounded down, as heap
 * does.  attr_widths as for table_relation_estimate_size(), may be NULL.
 */
double
zscost_heap_density(Relation rel, int32 *attr_widths)
{
	return density_of_width(get_rel_data_width(rel, attr_widths));
}

/* At most so many rows, as far as that is known without statistics: strings take no room. */
double
zscost_densest_heap(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	int32		width = 0;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && att->attlen > 0)
			width += att->attlen;
	}
	return density_of_width(width);
}

/* As in costsize.c: among how many processes a path with so many workers divides its work. */
double
zscost_parallel_divisor(int workers)
{
	double		leader = parallel_leader_participation ? 1.0 - 0.3 * workers : 0;

	Assert(workers >= 0);
	return workers == 0 ? 1 : workers + Max(leader, 0);
}

/* The scan below what core puts on top of it: expressions of the target list, workers. */
static const Path *
scan_below(const Path *path)
{
	for (;;)
	{
		if (IsA(path, ProjectionPath))
			path = ((const ProjectionPath *) path)->subpath;
		else if (IsA(path, ProjectSetPath))
			path = ((const ProjectSetPath *) path)->subpath;
		else if (IsA(path, GatherPath))
			path = ((const GatherPath *) path)->subpath;
		else if (IsA(path, GatherMergePath))
			path = ((const GatherMergePath *) path)->subpath;
		else
			return path;
	}
}

/*
 * Are the relation's rows those of its table?  A library that keeps some elsewhere, as TimescaleDB
 * does with those of compressed chunks, takes core's scans out of rel->pathlist and puts paths of
 * its own there.  Then no other scan of the table may be added.
 */
bool
zscost_is_whole_table(const RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		const Path *path = scan_below(lfirst(lc));

		switch (path->pathtype)
		{
			case T_SeqScan:
			case T_IndexScan:
			case T_IndexOnlyScan:
			case T_BitmapHeapScan:
			case T_TidScan:
			case T_TidRangeScan:
				return true;
			case T_CustomScan:
				/* cheaper than all of core's */
				if (zsbase_is_path_of_ours(path))
					return true;
				break;
			default:
				break;
		}
	}
	return false;
}

/*
 * Is one of core's paths cheaper than a path by batches can be, which costs at least that much in
 * one process, with as many workers as there may be?  Then it is in vain to look for programs.
 */
bool
zscost_is_beaten(const List *pathlist, Cost least)
{
	ListCell   *lc;

	if (zs_debug_vector != ZS_DEBUG_VECTOR_OFF)
		return false;
	least /= 1 + max_parallel_workers_per_gather;
	foreach(lc, pathlist)
	{
		const Path *path = lfirst(lc);

		if (path->param_info == NULL && !zs_path_is_avoided(path) && path->total_cost < least)
			return true;
	}
	return false;
}
