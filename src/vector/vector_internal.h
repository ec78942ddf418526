/*-------------------------------------------------------------------------
 *
 * vector_internal.h
 *	  Private to src/vector.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_INTERNAL_H
#define VECTOR_INTERNAL_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "nodes/pg_list.h"

#include "zs_vector.h"

extern bool zs_enable_vector_agg;
extern bool zs_enable_early_groups;
extern bool zs_enable_vector_scan;
extern bool zs_enable_join_filters;
extern bool zs_enable_top_groups;
extern bool zs_enable_rare_groups;
extern bool zs_enable_known_strings;
extern bool zs_enable_packed_rows;
extern bool zs_enable_vector_totals;
extern bool zs_enable_combined_groups;
extern bool zs_enable_group_blocks;
extern int	zs_debug_vector_groups;

/* Members of custom_private of a ZedstoreScan. */
typedef enum ZsScanPrivate
{
	ZS_SCAN_NAME,
	ZS_SCAN_CLAUSES,			/* only of paths: RestrictInfo that have programs */
	ZS_SCAN_NFIRST = ZS_SCAN_CLAUSES,	/* only of plans: Integer, see vector_scan_plan.c */
	ZS_SCAN_TOLD				/* only of plans: columns whose keys joins tell it (int) */
} ZsScanPrivate;

/* One sort key of a top-N scan. */
typedef struct ZsTopNKey
{
	AttrNumber	attno;
	Oid			sortop;
	Oid			collation;
	bool		nulls_first;
} ZsTopNKey;

/* vector_topn_plan.c */

/* Takes apart what the plan node carries, see pack_topn(). */
extern int	zsvector_topn_unpack(List *packed, int64 *bound, ZsTopNKey **keys);

/* Is it a path of a top-N scan? */
extern bool zsvector_topn_is_path(const Path *path);

extern const CustomScanMethods zsvector_topn_scan_methods;

/* vector_topn_exec.c */
extern Node *zsvector_topn_create_state(CustomScan *cscan);

/* ---- costs (vector_cost_index.c) ---- */

/* What a scan by batches of a table costs, apart from what it does with the values. */
typedef struct ZsBatchCosts
{
	double		pages;			/* of the columns that it looks at where rows are left */
	Cost		decoding;		/* vectors of them, were all rows in columns */
	double		left;			/* share of batches that have rows left */
	double		row_share;		/* of the rows, those that are in the row tree */
} ZsBatchCosts;

/* first_clauses are applied to all rows; survivors is how many pass these. */
extern ZsBatchCosts zsvector_cost_batches(PlannerInfo *root, RelOptInfo *rel, List *first_clauses,
										  double survivors);

/*
 * Beginning a scan by batches, or beginning it anew.  (About 2 us: the filter's parameters become
 * constants of its programs.)
 */
#define ZS_COST_BEGIN_BATCHES	0.5

/*
 * Rows of the row tree have no vectors yet.  This is what batches of them cost, compared with what
 * core's nodes are charged for the same work on rows: less, so that they are taken, but no less
 * than the planner can tell apart; so indexes are used as on heap.
 */
#define ZS_SHARE_OF_ROWS		0.98

/*
 * The pages among which an index or a bitmap scan of the table finds what it fetches: rel->pages
 * has to be this while such a path is made, so that it is like those of core.
 */
extern BlockNumber zsvector_cost_fetch_pages(RelOptInfo *rel);

/* Takes what was charged off again, before core's functions make the relation's paths anew. */
extern void zsvector_cost_restart(RelOptInfo *rel);

/* vector_parallel.c */

/*
 * Are the relation's rows those of its table?  A library that keeps some elsewhere, as TimescaleDB
 * does with those of compressed chunks, takes core's scans out of rel->pathlist and puts paths of
 * its own there.  Then no other scan of the table may be added.
 */
extern bool zsvector_is_whole_table(const RelOptInfo *rel);

/* As in costsize.c: among how many processes a path with so many workers divides its work. */
extern double zsvector_parallel_divisor(int workers);

/*
 * Is one of core's paths cheaper than a path by batches can be, which costs at least that much in
 * one process, with as many workers as there may be?  Then it is in vain to look for programs.
 */
extern bool zsvector_is_beaten(const List *pathlist, Cost least);

/*
 * Workers for a sequential scan of the table, as many as core would take for a heap with its rows.
 */
extern int	zsvector_scan_workers(RelOptInfo *rel, RangeTblEntry *rte);

#endif							/* VECTOR_INTERNAL_H */
