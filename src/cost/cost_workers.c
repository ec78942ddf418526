/*-------------------------------------------------------------------------
 *
 * cost_workers.c
 *	  As many parallel workers as a heap with the same rows would get.
 *
 * Core decides by the number of pages whether a scan is worth parallel workers, and how
 * many (compute_parallel_worker()).  But the pages of a zedstore table are a fraction of
 * heap's, and the work is not: each row is decoded and goes through the same executor.
 * So tables would have to be several times larger before they get a worker, and shards
 * of a distributed table, which are small to begin with, would get none.
 *
 * The pages that a heap would have therefore decide about workers, while costs
 * remain those of the pages that are read.  A heap never has fewer, so core's own
 * partial paths never have more workers than these: partial paths are added where heap
 * would have them, and core keeps the cheaper ones.  CREATE INDEX, which asks for the size of
 * the table without widths of its columns, is told heap's pages (zsam_estimate_size()).
 *
 * The table's parallel_workers option decides alone, as on heap.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/cost/cost_workers.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "storage/bufpage.h"
#include "utils/lsyscache.h"

#include "zs_base.h"
#include "zs_base_plan.h"
#include "zs_compat.h"
#include "zs_cost.h"
#include "zs_expr_guc.h"

/* Pages that a heap with the rows of rel would have. */
static BlockNumber
heap_pages(RelOptInfo *rel, RangeTblEntry *rte)
{
	Relation	table = table_open(rte->relid, NoLock);
	double		density = zscost_heap_density(table, rel->attr_widths - rel->min_attr);

	table_close(table, NoLock);
	return (BlockNumber) Min(ceil(rel->tuples / density), (double) MaxBlockNumber);
}

/*
 * Workers for a sequential scan of the table, as many as core would take for a heap with its rows.
 */
int
zscost_scan_workers(RelOptInfo *rel, RangeTblEntry *rte)
{
	BlockNumber pages = rel->pages;

	Assert(rel->consider_parallel && rte->rtekind == RTE_RELATION);
	if (rel->rel_parallel_workers == -1)
		pages = Max(pages, heap_pages(rel, rte));
	return compute_parallel_worker(rel, pages, -1, max_parallel_workers_per_gather);
}

/*
 * The index conditions of a bitmap scan without parameters among the paths; NULL if there is none.
 */
static Path *
find_bitmapqual(List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);

		if (IsA(path, BitmapHeapPath) && path->param_info == NULL)
			return ((BitmapHeapPath *) path)->bitmapqual;
	}
	return NULL;
}

/* Workers for a scan of the pages that a bitmap leads to, if the table had so many. */
static int
bitmap_workers(PlannerInfo *root, RelOptInfo *rel, Path *bitmapqual, BlockNumber pages)
{
	BlockNumber saved = rel->pages;
	double		fetched;

	rel->pages = pages;
	fetched = compute_bitmap_pages(root, rel, bitmapqual, 1.0, NULL, NULL);
	rel->pages = saved;
	return compute_parallel_worker(rel, fetched, -1, max_parallel_workers_per_gather);
}

/* Adds partial paths where a heap would have them. */
void
zscost_add_parallel_paths(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	BlockNumber pages;
	BlockNumber saved;
	Path	   *bitmapqual;
	int			workers;

	if (!rel->consider_parallel || rel->rel_parallel_workers != -1 || zscost_is_looked_up(rel) ||
		!bms_is_empty(rel->lateral_relids) || !zscost_is_whole_table(rel) ||
		!zsbase_rel_is_ours(rel, rte))
		return;
	pages = heap_pages(rel, rte);
	if (pages <= rel->pages)
		return;

	workers = compute_parallel_worker(rel, pages, -1, max_parallel_workers_per_gather);
	if (workers > compute_parallel_worker(rel, rel->pages, -1, max_parallel_workers_per_gather))
		add_partial_path(rel, create_seqscan_path(root, rel, NULL, workers));

	bitmapqual = find_bitmapqual(rel->partial_pathlist);
	if (bitmapqual == NULL)
		bitmapqual = find_bitmapqual(rel->pathlist);
	if (bitmapqual == NULL)
		return;
	workers = bitmap_workers(root, rel, bitmapqual, pages);
	saved = rel->pages;
	rel->pages = zscost_fetch_pages(rel);
	if (workers > bitmap_workers(root, rel, bitmapqual, rel->pages))
		add_partial_path(rel, (Path *) create_bitmap_heap_path(root, rel, bitmapqual, NULL, 1.0,
															   workers));
	rel->pages = saved;
}
