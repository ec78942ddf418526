/*-------------------------------------------------------------------------
 *
 * zs_cost.h
 *	  What is known of a relation's costs while a plan is made; private to vector_cost_*.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_cost.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_COST_H
#define ZS_COST_H

#include "postgres.h"

#include <math.h>

#include "access/amapi.h"
#include "nodes/pathnodes.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"

#include "zs_base.h"

typedef struct ZsColumnCost
{
	bool		known;
	Cost		single;			/* of a value */
	Cost		vector;
	Cost		unpack;			/* undoing the compression of a vector for one of its values */
	double		size;			/* of a vector without compression, in bytes */
	double		pages;			/* of the file */
} ZsColumnCost;

/* How far a column's values are in the order of the rows, for joins (join_plan.c). */
typedef struct ZsColumnOrder
{
	bool		known;
	double		order;			/* 0 to 1 */
	double		fill;			/* the share of vectors that one value then fills */
} ZsColumnOrder;

/* The share of the relation's rows that have a partner, for joins (join_plan.c). */
typedef struct ZsPartnerShare
{
	const Node *clause;
	const RelOptInfo *inner;	/* the table with the partners; NULL: a join ... */
	int			size;			/* ... of about so many rows, as a logarithm */
	double		share;
} ZsPartnerShare;

/* What is known of a relation of the plan in the making. */
typedef struct ZsRelCosts
{
	RelOptInfo *rel;			/* hash key of its entry */
	Oid			relid;
	int			nindexes;
	IndexOptInfo **indexes;
	amcostestimate_function *estimates; /* what estimate_index() stands in front of */
	ZsColumnCost *columns;		/* of attributes 1 .. rel->max_attr; NULL: not asked for yet; what
								 * follows is known with it */
	BlockNumber *blocks;		/* of the trees, by number */
	double		tree_pages;		/* of TID tree and row tree */
	double		row_share;		/* of the rows, those that are in the row tree */
	double		uncached;		/* what a fetch of a value costs in I/O */
	bool		keeps;			/* look-ups keep what they decode, as far as there is memory */
	double		zone_share;		/* zscost_zone_share(); 0: not asked for yet */

	bool		made;			/* core has made the relation's paths */

	/* once core asks for costs of indexes */
	bool		key_known;
	const IndexOptInfo *key;	/* see zscost_key_lookup() */
	bool		looked_up;		/* see zscost_is_looked_up() */

	/* of restrictions, once joins are planned */
	bool		checked;		/* may_raise is known */
	bool		may_raise;		/* one of them may raise an error */
	ZsColumnOrder *orders;		/* of attributes 1 .. rel->max_attr; NULL: not asked for yet */
	List	   *partners;		/* ZsPartnerShare */

	/* while rel->baserestrictcost has something on top, and rel->pages something else */
	bool		charged;
	BlockNumber pages;			/* what rel->pages was */
	BlockNumber fetch_pages;	/* what it is */
	bool		restricted;		/* some index path has restrictions only */
	QualCost	restrictcost;	/* without it */
	Cost		on_top;
	MemoryContextCallback forget;
} ZsRelCosts;

/* How rows lie that are fetched one after the other. */
typedef struct ZsLocality
{
	double		together;		/* share of them that lie side by side */
	bool		ascending;		/* else the others come in any order */
	double		loops;			/* how often that is done, in one scan; 0: not known */
} ZsLocality;

/* ---- cost_known.c ---- */

/* What is known of the relation; NULL if it is no zedstore table, or costs are core's. */
extern ZsRelCosts *zscost_find(RelOptInfo *rel);

/*
 * costs->rel is known from now on, until the memory goes that is the current one; core frees the
 * relation of a join that it removes, so another one may get its place: that is forgotten first.
 */
extern void zscost_remember(ZsRelCosts *costs);
extern void zscost_forget(RelOptInfo *rel);

/*
 * Is it a table of some size, for which core has made a path that looks up one row by a unique
 * index (zscost_has_lookup())?  Then no other path is worth the time to plan it.
 */
extern bool zscost_is_looked_up(RelOptInfo *rel);

/* ---- cost_index.c ---- */

/*
 * Steps of the planner's hooks for one table.  First its indexes, before anybody asks for costs;
 * when core has made its paths, what was on top of them while they were made goes, before others
 * add theirs; and when these have, the costs of core's scan nodes are corrected.
 */
extern void zscost_watch_indexes(PlannerInfo *root, RelOptInfo *rel);
extern void zscost_end_charge(RelOptInfo *rel, RangeTblEntry *rte);
extern void zscost_correct_paths(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);

/* What a scan by batches of a table costs, apart from what it does with the values. */
typedef struct ZsBatchCosts
{
	double		pages;			/* of the columns that it looks at where rows are left */
	Cost		decoding;		/* vectors of them, were all rows in columns */
	double		left;			/* share of batches that have rows left */
	double		row_share;		/* of the rows, those that are in the row tree */
} ZsBatchCosts;

/* first_clauses are applied to all rows; survivors is how many pass these. */
extern ZsBatchCosts zscost_batches(PlannerInfo *root, RelOptInfo *rel, List *first_clauses,
								   double survivors);

/*
 * The pages among which an index or a bitmap scan of the table finds what it fetches: rel->pages
 * has to be this while such a path is made, so that it is like those of core.
 */
extern BlockNumber zscost_fetch_pages(RelOptInfo *rel);

/* Takes what was charged off again, before core's functions make the relation's paths anew. */
extern void zscost_restart(RelOptInfo *rel);

/* A correlation of statistics: anybody may have said anything by pg_restore_attribute_stats(). */
static inline double
zscost_sane_correlation(double correlation)
{
	return isnan(correlation) ? 0 : Min(Max(correlation, -1), 1);
}

/* ---- cost_fetch.c ---- */

/*
 * How far the values of a column are in the order of the rows, as its statistics say: from -1 to 1,
 * 0 if they say nothing.
 */
extern double zscost_correlation(const VariableStatData *vardata);

/*
 * How many rows a look-up by the index clauses (IndexClause) finds: nfetched, or more if they have
 * all columns of a foreign key of rel to one of the tables that give the values.
 */
extern double zscost_rows_found(PlannerInfo *root, RelOptInfo *rel,
								const ParamPathInfo *param, List *indexclauses,
								double nfetched);

/*
 * Makes the columns of the set known (offset by FirstLowInvalidHeapAttributeNumber).
 */
extern void zscost_need(PlannerInfo *root, ZsRelCosts *costs, const Bitmapset *attrs);

/*
 * Columns that are looked at above a scan of rel which gets values from the relations outer (may be
 * NULL): a column that only a join clause needs is not, if the scan does the clause's work.
 */
extern Bitmapset *zscost_outputs(RelOptInfo *rel, Relids outer);

/* Columns that the clause looks at. */
extern Bitmapset *zscost_clause_columns(RelOptInfo *rel, RestrictInfo *rinfo);

/* Pages of the file that hold the columns, which are known. */
extern double zscost_pages(const ZsRelCosts *costs, const Bitmapset *attrs);

/*
 * What the columns cost of so many rows, of which nrows pass the clauses.  Clauses that applied()
 * names do not look at the row.
 */
extern Cost zscost_fetch(PlannerInfo *root, ZsRelCosts *costs, List *clauses,
						 List *param_clauses,
						 bool (*applied) (RestrictInfo *rinfo, void *arg), void *arg,
						 Relids outer, double nfetched, double nrows, ZsLocality locality);

/*
 * How often a path with such parameters (NULL: none) is asked for rows, about as core's
 * get_loop_count() has it; 0: not known.
 */
extern double zscost_loops(PlannerInfo *root, const ParamPathInfo *param);

/*
 * What core charges an index scan for the table's pages beyond what it would take to read all of
 * them in sequence.  Pages of columns are few, and all of them are read sooner than many of them at
 * random; else an index scan would seem dearer than a scan by batches that reads the same.
 */
extern Cost zscost_excess_of_pages(PlannerInfo *root, const ZsRelCosts *costs,
								   const IndexPath *path, Selectivity selectivity,
								   double correlation);

/* ---- cost_key.c ---- */

/* Does a path compare all columns of a unique index, with values of other tables as well? */
extern bool zscost_is_key_lookup(const Path *path);

/*
 * The unique index all columns of which are compared with values that are the same for all rows, so
 * that the relation has one row at most that passes; NULL: there is none.  Goes through clauses and
 * indexes each time.
 */
extern const IndexOptInfo *zscost_key_lookup(const RelOptInfo *rel);

/*
 * The same, remembered, if the table has some rows: where a constant is all that the look-up is
 * charged, and other paths are not worth the time to plan them.
 */
extern const IndexOptInfo *zscost_known_key(ZsRelCosts *costs);

/* What the columns of one row take, about; nobody looks at the table for it. */
extern Cost zscost_of_lookup(const RelOptInfo *rel);

/* Makes the path's target cost so much more. */
extern void zscost_charge_lookup(IndexPath *path);

/* Has core made a path, and an allowed one, that looks up the row by the known key? */
extern bool zscost_has_lookup(ZsRelCosts *costs);

/* ---- cost_zone.c ---- */

/*
 * The share of the rows, more than 0 and at most 1, in vectors that a scan with the relation's
 * restrictions looks at: those that their zone maps do not leave out.  It reads the zone maps of
 * all segments when it is asked first.
 */
extern double zscost_zone_share(RelOptInfo *rel);

/* ---- cost_program.c ---- */

/*
 * What the programs of a filter's clauses (RestrictInfos or not), or of values such as aggregates
 * and keys, cost for a row that they run for; reading columns is not in it.
 */
extern Cost zscost_filter(List *clauses);
extern Cost zscost_values(List *exprs);

/* ---- cost_paths.c ---- */

extern double zscost_heap_density(Relation rel, int32 *attr_widths);

/* At most so many rows, as far as that is known without statistics: strings take no room. */
extern double zscost_densest_heap(Relation rel);

/*
 * Are the relation's rows those of its table?  A library that keeps some elsewhere, as TimescaleDB
 * does with those of compressed chunks, takes core's scans out of rel->pathlist and puts paths of
 * its own there.  Then no other scan of the table may be added.
 */
extern bool zscost_is_whole_table(const RelOptInfo *rel);

/* As in costsize.c: among how many processes a path with so many workers divides its work. */
extern double zscost_parallel_divisor(int workers);

/*
 * Is one of core's paths cheaper than a path by batches can be, which costs at least that much in
 * one process, with as many workers as there may be?  Then it is in vain to look for programs.
 */
extern bool zscost_is_beaten(const List *pathlist, Cost least);

/* ---- cost_workers.c ---- */

/* Adds partial paths where a heap would have them. */
extern void zscost_add_parallel_paths(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);

/*
 * Workers for a sequential scan of the table, as many as core would take for a heap with its rows.
 */
extern int	zscost_scan_workers(RelOptInfo *rel, RangeTblEntry *rte);

#endif							/* ZS_COST_H */
