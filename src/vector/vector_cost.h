/*-------------------------------------------------------------------------
 *
 * vector_cost.h
 *	  What is known of a relation's costs while a plan is made; private to vector_cost_*.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_cost.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_COST_H
#define VECTOR_COST_H

#include "postgres.h"

#include "access/amapi.h"
#include "nodes/pathnodes.h"
#include "utils/selfuncs.h"

#include "zs_base.h"

#define ZS_COST_STRIPE_ROWS		((double) ZS_STRIPE_ROWS)

typedef struct ZsColumnCost
{
	bool		known;
	Cost		single;			/* of a value */
	Cost		vector;
	double		pages;			/* of the file */
} ZsColumnCost;

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
	double		tree_pages;		/* of TID tree and row tree */
	double		row_share;		/* of the rows, those that are in the row tree */
	double		uncached;		/* what a fetch of a value costs in I/O */

	bool		made;			/* core has made the relation's paths */

	/* of restrictions, once joins are planned */
	bool		checked;		/* may_raise is known */
	bool		may_raise;		/* one of them may raise an error */

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
} ZsLocality;

/* ---- vector_cost_index.c ---- */

/* What is known of the relation; NULL if it is no zedstore table, or costs are core's. */
extern ZsRelCosts *zsvector_cost_find(RelOptInfo *rel);

/* ---- vector_cost_fetch.c ---- */

/*
 * How far the values of a column are in the order of the rows, as its statistics say: from -1 to 1,
 * 0 if they say nothing.
 */
extern double zsvector_cost_correlation(const VariableStatData *vardata);

/*
 * How many rows a look-up by the index clauses (IndexClause) finds: nfetched, or more if they have
 * all columns of a foreign key of rel to one of the tables that give the values.
 */
extern double zsvector_cost_rows_found(PlannerInfo *root, RelOptInfo *rel,
									   const ParamPathInfo *param, List *indexclauses,
									   double nfetched);

/*
 * Makes the columns of the set known (offset by FirstLowInvalidHeapAttributeNumber).
 */
extern void zsvector_cost_need(PlannerInfo *root, ZsRelCosts *costs, const Bitmapset *attrs);

/*
 * Columns that are looked at above a scan of rel which gets values from the relations outer (may be
 * NULL): a column that only a join clause needs is not, if the scan does the clause's work.
 */
extern Bitmapset *zsvector_cost_outputs(RelOptInfo *rel, Relids outer);

/* Columns that the clause looks at. */
extern Bitmapset *zsvector_cost_clause_columns(RelOptInfo *rel, RestrictInfo *rinfo);

/* Pages of the file that hold the columns, which are known. */
extern double zsvector_cost_pages(const ZsRelCosts *costs, const Bitmapset *attrs);

/*
 * What the columns cost of so many rows, of which nrows pass the clauses.  Clauses that applied()
 * names do not look at the row.
 */
extern Cost zsvector_cost_fetch(PlannerInfo *root, ZsRelCosts *costs, List *clauses,
								List *param_clauses,
								bool (*applied) (RestrictInfo *rinfo, void *arg), void *arg,
								Relids outer, double nfetched, double nrows, ZsLocality locality);

/* ---- vector_cost_program.c ---- */

/*
 * What the programs of a filter's clauses (RestrictInfos or not), or of values such as aggregates
 * and keys, cost for a row that they run for; reading columns is not in it.
 */
extern Cost zsvector_cost_filter(List *clauses);
extern Cost zsvector_cost_values(List *exprs);

#endif							/* VECTOR_COST_H */
