/*-------------------------------------------------------------------------
 *
 * cost_index.c
 *	  What reading a zedstore table costs, for core's scan nodes.
 *
 * The problem: the planner takes any table for a heap.  There a row that an index leads to costs
 * one page, and the columns come with it; a sequential scan reads all pages.  Here a row costs a
 * look at the TID tree and, for each column that is looked at, a look into a segment: 1 to 2 us
 * where the value is decoded alone, next to nothing where a neighbour was fetched just before.  A
 * sequential scan reads the pages of the needed columns.
 *
 * The idea: core's estimates stay, I/O included, and what they do not know of is added to them.
 *
 * Index scans.  cost_index() asks the index access method for the costs of the index;
 * zscost_watch_indexes() puts estimate_index() in front of that.  It learns there how many rows
 * will be fetched, for which filters, in how many loops and with which correlation, and works out
 * what the columns of these rows cost.  It must not add that to the index's own costs, since a
 * bitmap scan over the same path takes these as its own.  cost_index() also adds, per row, what the
 * path's target costs.  So the path gets a target of its own that costs so much more, until core
 * has compared the paths of the relation; then set_rel_pathlist() gives it back the relation's
 * target.
 *
 * A row that a unique index leads to is charged at once: that is what the table is asked for by
 * statements that run in no time (cost_key.c).
 *
 * Bitmap scans.  cost_bitmap_heap_scan() charges the relation's restrictions for each row fetched.
 * They cost more while core makes the index paths of the relation: what a fetch costs if the bitmap
 * selects as many rows as the restrictions do, or any few rows in nested loops.  What a bitmap scan
 * costs depends on how densely its rows lie, so set_rel_pathlist() corrects those that are left.
 *
 * Pages.  What core takes for the pages of the table, while it makes the paths of indexes, are the
 * pages of the columns that a fetch looks at: no other pages can be read, however many rows are
 * fetched.  Tables that are joined keep all of theirs: fetches of the inner side of a nested loop
 * lie far apart, and wait for memory longer than the constants below say.
 *
 * Sequential scans.  They have the relation's pages in their costs (zsam_estimate_size()); the
 * pages of other columns are taken out again.  Then all paths are compared anew.
 *
 * Index-only scans need nothing: of pages that are not all-visible they ask for the visibility of a
 * row only.
 *
 * Units.  As everywhere in the planner, 1 is what reading a page in sequence costs.  The constants
 * were measured as processor time against sequential scans of heap, with all data in memory
 * (docs/benchmarks-queries.md, "Costs of fetches"): core's sequential scan takes 4 to 6 us for each
 * unit of its costs.  What is not in memory is charged beyond that by the share of the query's
 * tables that effective_cache_size does not hold.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/cost/cost_index.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/amapi.h"
#include "access/sysattr.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

#include "zs_base.h"
#include "zs_compat.h"
#include "zs_cost.h"
#include "zs_cost_const.h"

/* ---- index paths ------------------------------------------------------------------ */

static bool
applied_by_index(RestrictInfo *rinfo, void *arg)
{
	return is_redundant_with_indexclauses(rinfo, ((IndexPath *) arg)->indexclauses);
}

/*
 * How closely rows in the order of the index follow each other in the table.  Of an index of
 * several columns btcostestimate() takes a quarter off the first one's correlation, for the others
 * may mix what has the same first value.  That matters if the rows of a value fill more than a
 * stripe.
 */
static double
row_correlation(PlannerInfo *root, const IndexOptInfo *index, double correlation)
{
	RelOptInfo *rel = index->rel;
	Var		   *first;

	if (index->relam != BTREE_AM_OID || index->nkeycolumns < 2 || correlation == 0 ||
		index->indexkeys[0] <= 0)
		return correlation;
	first = (Var *) linitial_node(TargetEntry, index->indextlist)->expr;
	if (!IsA(first, Var) ||
		rel->tuples / estimate_num_groups(root, list_make1(first), rel->tuples, NULL,
										  NULL) > ZS_COST_STRIPE_ROWS)
		return correlation;
	return Max(Min(correlation / ZS_MULTICOLUMN_FACTOR, 1), -1);
}

/* Makes the path's target cost what fetching its rows costs. */
static void
charge_path(PlannerInfo *root, ZsRelCosts *costs, IndexPath *path, Selectivity selectivity,
			double correlation, double loops)
{
	RelOptInfo *rel = costs->rel;
	ParamPathInfo *param = path->path.param_info;
	double		nestimated = clamp_row_est(selectivity * rel->tuples);
	double		nfetched = zscost_rows_found(root, rel, param, path->indexclauses,
											 nestimated);
	ZsLocality	locality = {.ascending = false, .loops = loops};
	PathTarget *target;
	Cost		excess;
	Cost		cost;

	Assert(path->path.parent == rel);
	correlation = zscost_sane_correlation(correlation);
	excess = zscost_excess_of_pages(root, costs, path, selectivity, correlation);
	correlation = row_correlation(root, path->indexinfo, correlation);
	locality.together = correlation * correlation;
	cost = zscost_fetch(root, costs, path->indexinfo->indrestrictinfo,
						param != NULL ? param->ppi_clauses : NIL, applied_by_index, path,
						param != NULL ? param->ppi_req_outer : NULL, nfetched,
						path->path.rows * (nfetched / nestimated), locality);
	Assert(cost >= 0);
	target = palloc(sizeof(PathTarget));
	*target = *rel->reltarget;
	target->cost.per_tuple += (cost - excess) / Max(path->path.rows, 1);
	path->path.pathtarget = target;
}

/* A relation and the columns that are keys of its indexes. */
typedef struct IndexKeys
{
	RelOptInfo *rel;
	Bitmapset  *attrs;
} IndexKeys;

static void
collect_index_keys(RelOptInfo *rel, IndexKeys *keys)
{
	ListCell   *lc;

	keys->rel = rel;
	keys->attrs = NULL;
	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);

		for (int i = 0; i < index->nkeycolumns; i++)
		{
			if (index->indexkeys[i] != 0)
				keys->attrs = bms_add_member(keys->attrs, index->indexkeys[i] -
											 FirstLowInvalidHeapAttributeNumber);
		}
	}
}

static bool
maybe_applied(RestrictInfo *rinfo, void *arg)
{
	IndexKeys  *keys = arg;

	return bms_is_subset(zscost_clause_columns(keys->rel, rinfo), keys->attrs);
}

/*
 * The pages that fetches look at, as far as that is the same for all indexes.  Columns that clauses
 * of joins need are among them, though some index may do the work of such a clause.
 */
static BlockNumber
fetch_pages(PlannerInfo *root, ZsRelCosts *costs, IndexKeys *keys)
{
	RelOptInfo *rel = costs->rel;
	Bitmapset  *attrs = zscost_outputs(rel, NULL);
	double		pages;
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (!rinfo->pseudoconstant && !maybe_applied(rinfo, keys))
			attrs = bms_join(attrs, zscost_clause_columns(rel, rinfo));
	}
	zscost_need(root, costs, attrs);
	pages = costs->tree_pages + zscost_pages(costs, attrs);
	bms_free(attrs);
	return (BlockNumber) Max(Min(pages, rel->pages), Min(rel->pages, 1));
}

/*
 * Charges a fetch to the relation's restrictions, for bitmap scans over index paths that are in the
 * making.  Rather too little than too much: what is dropped now is not considered any more.
 */
static void
charge_restrictions(PlannerInfo *root, ZsRelCosts *costs, IndexPath *path)
{
	RelOptInfo *rel = costs->rel;
	bool		restriction = path->path.param_info == NULL && path->indexclauses != NIL;
	IndexKeys	keys;
	ZsLocality	locality = {.together = 0, .ascending = true};
	double		n;

	if (costs->made || (costs->charged && (costs->restricted || !restriction)))
		return;
	collect_index_keys(rel, &keys);
	if (!costs->charged)
	{
		costs->restrictcost = rel->baserestrictcost;
		costs->pages = rel->pages;
		costs->fetch_pages = rel->joininfo == NIL && !rel->has_eclass_joins ?
			fetch_pages(root, costs, &keys) : rel->pages;
		rel->pages = costs->fetch_pages;
	}
	costs->charged = true;
	costs->restricted = restriction;
	n = restriction ? rel->rows : 1;
	costs->on_top = zscost_fetch(root, costs, rel->baserestrictinfo, NIL, maybe_applied,
								 &keys, root->all_baserels, n, n, locality) / Max(n, 1);
	rel->baserestrictcost.per_tuple = costs->restrictcost.per_tuple + costs->on_top;
}

/* The same where one row is looked up by key: as much as for an index scan. */
static void
charge_lookups(ZsRelCosts *costs)
{
	RelOptInfo *rel = costs->rel;

	if (costs->made || costs->charged)
		return;
	costs->restrictcost = rel->baserestrictcost;
	costs->pages = costs->fetch_pages = rel->pages;
	costs->charged = costs->restricted = true;
	costs->on_top = zscost_of_lookup(rel);
	rel->baserestrictcost.per_tuple += costs->on_top;
}

/* Takes what was charged off again, before core's functions make the relation's paths anew. */
void
zscost_restart(RelOptInfo *rel)
{
	ZsRelCosts *costs = zscost_find(rel);

	if (costs == NULL || !costs->charged)
		return;
	Assert(!costs->made);
	rel->pages = costs->pages;
	rel->baserestrictcost = costs->restrictcost;
	costs->charged = costs->restricted = false;
}

/*
 * The pages among which an index or a bitmap scan of the table finds what it fetches: rel->pages
 * has to be this while such a path is made, so that it is like those of core.
 */
BlockNumber
zscost_fetch_pages(RelOptInfo *rel)
{
	ZsRelCosts *costs = zscost_find(rel);

	return costs != NULL && costs->charged ? costs->fetch_pages : rel->pages;
}

/* amcostestimate of all indexes of zedstore tables. */
static void
estimate_index(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
			   Selectivity *selectivity, double *correlation, double *pages)
{
	IndexOptInfo *index = path->indexinfo;
	ZsRelCosts *costs = zscost_find(index->rel);
	amcostestimate_function estimate = NULL;

	for (int i = 0; costs != NULL && i < costs->nindexes; i++)
	{
		if (costs->indexes[i] == index)
			estimate = costs->estimates[i];
	}
	/* somebody's copy */
	if (estimate == NULL)
		estimate = GetIndexAmRoutineByAmId(index->relam, false)->amcostestimate;
	estimate(root, path, loop_count, startup, total, selectivity, correlation, pages);
	if (costs == NULL || !zs_enable_column_costs)
		return;
	if (zscost_known_key(costs) == NULL)
		charge_restrictions(root, costs, path);
	else
		charge_lookups(costs);
	if (path->path.pathtype != T_IndexScan)
		return;
	if (index == zscost_known_key(costs) && path->path.param_info == NULL)
		zscost_charge_lookup(path);
	else
		charge_path(root, costs, path, *selectivity, *correlation, loop_count);
}

/*
 * A step of get_relation_info: takes the place of amcostestimate of all indexes of a zedstore
 * table, before anybody asks for costs, and remembers what its columns cost.
 */
void
zscost_watch_indexes(PlannerInfo *root, RelOptInfo *rel)
{
	const RangeTblEntry *table = root->simple_rte_array[rel->relid];
	ZsRelCosts *costs;
	ListCell   *lc;

	zscost_forget(rel);
	if (rel->rtekind != RTE_RELATION || table->inh || !zs_enable_column_costs ||
		!zsbase_is_zedstore_am(get_rel_relam(table->relid)))
		return;
	costs = palloc0(sizeof(ZsRelCosts));
	costs->rel = rel;
	costs->relid = table->relid;
	costs->indexes = palloc(Max(list_length(rel->indexlist), 1) * sizeof(IndexOptInfo *));
	costs->estimates = palloc(Max(list_length(rel->indexlist), 1) *
							  sizeof(amcostestimate_function));
	zscost_remember(costs);

	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);

		/* partitioned indexes have none */
		if (index->amcostestimate == NULL)
			continue;
		costs->indexes[costs->nindexes] = index;
		costs->estimates[costs->nindexes++] = index->amcostestimate;
		index->amcostestimate = estimate_index;
		Assert(costs->nindexes <= list_length(rel->indexlist));
	}
}

/* ---- paths that core has made ----------------------------------------------------- */

/* Index clauses of all indexes below a bitmap heap scan. */
static List *
bitmap_clauses(Path *path, List *clauses)
{
	List	   *children = NIL;
	ListCell   *lc;

	if (IsA(path, IndexPath))
		return list_concat(clauses, ((IndexPath *) path)->indexclauses);
	if (IsA(path, BitmapAndPath))
		children = ((BitmapAndPath *) path)->bitmapquals;
	else if (IsA(path, BitmapOrPath))
		children = ((BitmapOrPath *) path)->bitmapquals;
	foreach(lc, children)
		clauses = bitmap_clauses(lfirst(lc), clauses);
	return clauses;
}

static bool
applied_by_bitmap(RestrictInfo *rinfo, void *arg)
{
	return is_redundant_with_indexclauses(rinfo, (List *) arg);
}

/* Puts what the fetches of a bitmap scan cost in place of what was charged for them before. */
static void
correct_bitmap_path(PlannerInfo *root, ZsRelCosts *costs, BitmapHeapPath *path)
{
	RelOptInfo *rel = costs->rel;
	ParamPathInfo *param = path->path.param_info;
	ZsLocality	locality = {.ascending = true, .loops = zscost_loops(root, param)};
	List	   *clauses = bitmap_clauses(path->bitmapqual, NIL);
	Cost		index_cost;
	Selectivity selectivity;
	double		nestimated;
	double		nfetched;
	Cost		cost;

	cost_bitmap_tree_node(path->bitmapqual, &index_cost, &selectivity);
	nestimated = clamp_row_est(selectivity * rel->tuples);
	nfetched = zscost_rows_found(root, rel, param, clauses, nestimated);
	cost = zscost_fetch(root, costs, rel->baserestrictinfo,
						param != NULL ? param->ppi_clauses : NIL, applied_by_bitmap, clauses,
						param != NULL ? param->ppi_req_outer : NULL, nfetched,
						(param != NULL ? param->ppi_rows : rel->rows) *
						(nfetched / nestimated), locality);
	path->path.total_cost += (cost - costs->on_top * nestimated) /
		zscost_parallel_divisor(path->path.parallel_workers);
	path->path.total_cost = Max(path->path.total_cost, path->path.startup_cost);
}

/*
 * The pages that a sequential scan reads, at most those of the relation, and what getting to them
 * is charged.
 */
static double
sequential_pages(PlannerInfo *root, ZsRelCosts *costs, Cost *seeks)
{
	RelOptInfo *rel = costs->rel;
	Bitmapset  *attrs = zscost_outputs(rel, NULL);
	double		pages;
	ListCell   *lc;

	*seeks = 0;
	if (!zs_enable_column_projection)
		return rel->pages;
	foreach(lc, rel->baserestrictinfo)
		attrs = bms_join(attrs, zscost_clause_columns(rel, lfirst_node(RestrictInfo, lc)));
	zscost_need(root, costs, attrs);
	pages = costs->tree_pages + zscost_pages(costs, attrs);
	*seeks = zscost_seeks(costs, bms_num_members(attrs));
	bms_free(attrs);
	return Min(pages, rel->pages);
}

/* Takes the pages of columns that a sequential scan does not read out of its costs. */
static void
correct_seqscan(PlannerInfo *root, ZsRelCosts *costs, Path *path)
{
	RelOptInfo *rel = costs->rel;
	Cost		seeks;
	double		pages = sequential_pages(root, costs, &seeks);
	Cost		seq_page;

	get_tablespace_page_costs(rel->reltablespace, NULL, &seq_page);
	Assert(pages <= rel->pages);
	path->startup_cost += seeks;
	path->total_cost += seeks - seq_page * (rel->pages - pages);
}

/*
 * A bitmap scan for one row by key has been charged less than the index scan, while core compared
 * them.  It gains nothing by its bitmap: the index scan, from which it was made, takes its place.
 */
static Path *
without_bitmap(Path *path)
{
	Path	   *index = IsA(path, BitmapHeapPath) ? ((BitmapHeapPath *) path)->bitmapqual : NULL;

	return index != NULL && zscost_is_key_lookup(index) && index->pathtype == T_IndexScan &&
		(!zs_path_is_avoided(index) || zs_path_is_avoided(path)) ? index : path;
}

static void
correct_path(PlannerInfo *root, ZsRelCosts *costs, Path *path)
{
	if (path->parent != costs->rel)
		return;
	switch (path->pathtype)
	{
		case T_SeqScan:
			if (!costs->looked_up)
				correct_seqscan(root, costs, path);
			break;
		case T_BitmapHeapScan:
			if (IsA(path, BitmapHeapPath))
				correct_bitmap_path(root, costs, (BitmapHeapPath *) path);
			break;
		case T_IndexScan:
			/* it was charged by this */
			path->pathtarget = costs->rel->reltarget;
			break;
		default:
			break;
	}
}

/*
 * Is there a path that needs nothing from other relations and reads all of the table in sequence?
 * Core may have dropped it for an index path when it seemed to read more pages.
 */
static bool
lacks_seqscan(RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		if (((Path *) lfirst(lc))->pathtype == T_SeqScan)
			return false;
	}
	/* WHERE CURRENT OF can do with nothing else than a TID scan */
	foreach(lc, rel->baserestrictinfo)
	{
		if (IsA(lfirst_node(RestrictInfo, lc)->clause, CurrentOfExpr))
			return false;
	}
	return true;
}

/* What is known of the table; NULL: its costs are core's. */
static ZsRelCosts *
find_table(RelOptInfo *rel, const RangeTblEntry *rte)
{
	return rte->rtekind == RTE_RELATION && !rte->inh ? zscost_find(rel) : NULL;
}

/*
 * A step of set_rel_pathlist, the first one for costs: core has made its paths, and what was on top
 * of them while they were made goes, before others add theirs.
 */
void
zscost_end_charge(RelOptInfo *rel, RangeTblEntry *rte)
{
	ZsRelCosts *costs = find_table(rel, rte);

	if (costs == NULL)
		return;
	if (costs->charged)
		rel->pages = costs->pages;
	costs->made = true;
	costs->looked_up = zscost_has_lookup(costs);
}

/*
 * A step of set_rel_pathlist, when there are all paths of core's scan nodes: corrects their costs,
 * and drops those that are beaten then.
 */
void
zscost_correct_paths(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	ZsRelCosts *costs = find_table(rel, rte);
	List	   *paths;
	ListCell   *lc;

	if (costs == NULL)
		return;
	if (costs->charged)
		rel->baserestrictcost = costs->restrictcost;
	costs->charged = false;
	if (rel->pathlist == NIL || IS_DUMMY_REL(rel))
		return;

	/* costs have changed, and with them which path is better than another one */
	if (!costs->looked_up && rte->tablesample == NULL && zscost_is_whole_table(rel) &&
		lacks_seqscan(rel))
		rel->pathlist = lappend(rel->pathlist,
								create_seqscan_path(root, rel, rel->lateral_relids, 0));
	paths = rel->pathlist;
	rel->pathlist = NIL;
	foreach(lc, paths)
	{
		Path	   *path = without_bitmap(lfirst(lc));

		correct_path(root, costs, path);
		add_path(rel, path);
	}
	paths = rel->partial_pathlist;
	rel->partial_pathlist = NIL;
	foreach(lc, paths)
	{
		correct_path(root, costs, lfirst(lc));
		add_partial_path(rel, lfirst(lc));
	}
}
