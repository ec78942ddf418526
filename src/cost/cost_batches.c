/*-------------------------------------------------------------------------
 *
 * cost_batches.c
 *	  What reading a table's columns by batches costs.
 *
 * Columns of the filter are read and decoded for all batches, others for those batches that have
 * rows left.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/cost/cost_batches.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/sysattr.h"
#include "optimizer/cost.h"

#include "zs_cost.h"
#include "zs_cost_const.h"

/* Vectors of the columns, of so many stripes. */
static Cost
vectors_cost(const ZsRelCosts *costs, const Bitmapset *attrs, double stripes)
{
	Cost		cost = 0;
	int			i = -1;

	while ((i = bms_next_member(attrs, i)) >= 0)
	{
		AttrNumber	attno = i + FirstLowInvalidHeapAttributeNumber;

		if (attno > 0 && attno <= costs->rel->max_attr)
		{
			Assert(costs->columns[attno - 1].known);
			cost += stripes * costs->columns[attno - 1].vector;
		}
	}
	return cost;
}

/* The share of the table's batches that have rows left where so many rows are. */
double
zscost_batches_left(const RelOptInfo *rel, double survivors)
{
	Assert(survivors >= 0);
	return 1 - exp(-survivors / ceil(Max(rel->tuples, 1) / ZS_COST_STRIPE_ROWS));
}

/*
 * What reading the table's columns by batches costs: first_clauses are applied to all rows,
 * survivors is how many pass these; other columns are read for them.
 */
ZsBatchCosts
zscost_batches(PlannerInfo *root, RelOptInfo *rel, List *first_clauses, double survivors)
{
	ZsRelCosts *costs = zscost_find(rel);
	double		stripes = ceil(Max(rel->tuples, 1) / ZS_COST_STRIPE_ROWS);
	ZsBatchCosts result = {.pages = rel->pages, .left = zscost_batches_left(rel, survivors)};
	Bitmapset  *first = NULL;
	Bitmapset  *others;
	ListCell   *lc;

	if (costs == NULL)
		return result;
	foreach(lc, first_clauses)
		first = bms_join(first, zscost_clause_columns(rel, lfirst_node(RestrictInfo, lc)));
	others = zscost_outputs(rel, NULL);
	foreach(lc, rel->baserestrictinfo)
		others = bms_join(others, zscost_clause_columns(rel, lfirst_node(RestrictInfo, lc)));
	others = bms_del_members(others, first);
	zscost_need(root, costs, first);
	zscost_need(root, costs, others);
	result.pages = costs->tree_pages + zscost_pages(costs, first) +
		result.left * zscost_pages(costs, others);
	result.pages = Min(result.pages, rel->pages);
	result.others_decoding = vectors_cost(costs, others, stripes);
	result.decoding = vectors_cost(costs, first, stripes) + result.left * result.others_decoding;
	result.row_share = costs->row_share;
	result.seeks = zscost_seeks(costs, bms_num_members(first) +
								result.left * bms_num_members(others));
	Assert(result.row_share >= 0 && result.row_share <= 1);
	bms_free(first);
	bms_free(others);
	return result;
}
