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

/* How far a column's zone maps follow the order of its values (cost_zone.c). */
typedef struct ZsColumnDepth
{
	bool		asked;
	bool		has;			/* zone maps; what follows is known then */
	double		depth;			/* stripes over a value */
	double		row_share;		/* of the rows, those that may be in the row tree */
} ZsColumnDepth;

/* The share of the relation's rows that have a partner, for joins (join_plan.c). */
typedef struct ZsPartnerShare
{
	const Node *clause;
	const RelOptInfo *inner;	/* the table with the partners; NULL: a join ... */
	int			size;			/* ... of about so many rows, as a logarithm */
	double		share;
} ZsPartnerShare;

/* The columns that a clause looks at, offset by FirstLowInvalidHeapAttributeNumber. */
typedef struct ZsClauseColumns
{
	const RestrictInfo *rinfo;
	Bitmapset  *attrs;
} ZsClauseColumns;

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
	ZsColumnDepth *depths;		/* of attributes 1 .. rel->max_attr; NULL: not asked for yet */
	List	   *or_columns;		/* ZsClauseColumns, of restrictions with OR */

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

extern ZsRelCosts *zscost_find(RelOptInfo *rel);
extern void zscost_remember(ZsRelCosts *costs);
extern void zscost_forget(RelOptInfo *rel);
extern bool zscost_is_looked_up(RelOptInfo *rel);

/* ---- cost_index.c ---- */

extern void zscost_watch_indexes(PlannerInfo *root, RelOptInfo *rel);
extern void zscost_end_charge(RelOptInfo *rel, RangeTblEntry *rte);
extern void zscost_correct_paths(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);
extern BlockNumber zscost_fetch_pages(RelOptInfo *rel);
extern void zscost_restart(RelOptInfo *rel);

/* A correlation of statistics: anybody may have said anything by pg_restore_attribute_stats(). */
static inline double
zscost_sane_correlation(double correlation)
{
	return isnan(correlation) ? 0 : Min(Max(correlation, -1), 1);
}

/* ---- cost_fetch.c ---- */

extern double zscost_correlation(const VariableStatData *vardata);
extern double zscost_rows_found(PlannerInfo *root, RelOptInfo *rel,
								const ParamPathInfo *param, List *indexclauses,
								double nfetched);
extern void zscost_need(PlannerInfo *root, ZsRelCosts *costs, const Bitmapset *attrs);
extern Bitmapset *zscost_outputs(RelOptInfo *rel, Relids outer);
extern Bitmapset *zscost_clause_columns(RelOptInfo *rel, RestrictInfo *rinfo);
extern Cost zscost_seeks(const ZsRelCosts *costs, double ncolumns);
extern double zscost_pages(const ZsRelCosts *costs, const Bitmapset *attrs);
extern Cost zscost_fetch(PlannerInfo *root, ZsRelCosts *costs, List *clauses,
						 List *param_clauses,
						 bool (*applied) (RestrictInfo *rinfo, void *arg), void *arg,
						 Relids outer, double nfetched, double nrows, ZsLocality locality);
extern double zscost_loops(PlannerInfo *root, const ParamPathInfo *param);
extern Cost zscost_excess_of_pages(PlannerInfo *root, const ZsRelCosts *costs,
								   const IndexPath *path, Selectivity selectivity,
								   double correlation);

/* ---- cost_key.c ---- */

extern bool zscost_is_key_lookup(const Path *path);
extern const IndexOptInfo *zscost_key_lookup(const RelOptInfo *rel);
extern const IndexOptInfo *zscost_known_key(ZsRelCosts *costs);
extern Cost zscost_of_lookup(const RelOptInfo *rel);
extern void zscost_charge_lookup(IndexPath *path);
extern bool zscost_has_lookup(ZsRelCosts *costs);

/* ---- cost_batches.c ---- */

/* What a scan by batches of a table costs, apart from what it does with the values. */
typedef struct ZsBatchCosts
{
	double		pages;			/* of the columns that it looks at where rows are left */
	Cost		seeks;			/* for getting to where they begin, see zscost_seeks() */
	Cost		decoding;		/* vectors of them, were all rows in columns */
	Cost		others_decoding;	/* of the columns that are read where rows are left, were that
								 * all batches */
	double		left;			/* share of batches that have rows left */
	double		row_share;		/* of the rows, those that are in the row tree */
} ZsBatchCosts;

extern double zscost_batches_left(const RelOptInfo *rel, double survivors);
extern ZsBatchCosts zscost_batches(PlannerInfo *root, RelOptInfo *rel, List *first_clauses,
								   double survivors);

/* ---- cost_zone.c ---- */

extern bool zscost_column_depth(RelOptInfo *rel, Relation table, AttrNumber attno, double *depth,
								double *row_share);
extern double zscost_value_share(RelOptInfo *rel, Relation table, AttrNumber attno);
extern double zscost_zone_share(RelOptInfo *rel);

/* ---- cost_program.c ---- */

extern Cost zscost_filter(List *clauses);
extern Cost zscost_values(List *exprs);

/* ---- cost_paths.c ---- */

extern double zscost_heap_density(Relation rel, int32 *attr_widths);
extern double zscost_densest_heap(Relation rel);
extern bool zscost_is_whole_table(const RelOptInfo *rel);
extern double zscost_parallel_divisor(int workers);
extern bool zscost_is_beaten(const List *pathlist, Cost least);

/* ---- cost_workers.c ---- */

extern void zscost_add_parallel_paths(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);
extern int	zscost_scan_workers(RelOptInfo *rel, RangeTblEntry *rte);

#endif							/* ZS_COST_H */
