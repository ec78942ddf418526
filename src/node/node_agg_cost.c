/*-------------------------------------------------------------------------
 *
 * node_agg_cost.c
 *	  What aggregates by batches cost.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_cost.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

#include "node_agg_plan.h"
#include "zs_agg.h"
#include "zs_base.h"
#include "zs_cost.h"
#include "zs_cost_const.h"
#include "zs_expr_guc.h"

/* Columns of the table that the expressions look at. */
static int
count_columns(Index varno, List *exprs)
{
	Bitmapset  *attrs = NULL;
	int			count;

	pull_varattnos((Node *) exprs, varno, &attrs);
	count = bms_num_members(attrs);
	bms_free(attrs);
	return count;
}

/*
 * What scanning the table and making its groups costs; of the rows this process gets one part in
 * divisor.  Columns that only aggregates and keys need are read where rows are left by the filter.
 */
Cost
zsnode_agg_table_cost(const ZsAggQuery *query, List *filter, double ngroups, double divisor)
{
	RelOptInfo *rel = query->rel;
	List	   *exprs = list_concat_copy(query->keys, query->aggrefs);
	int			nfilter = count_columns(rel->relid, filter);
	int			ncolumns = count_columns(rel->relid, list_concat_copy(filter, exprs));
	double		spc_random;
	double		spc_seq;
	double		zones = zscost_zone_share(rel);
	double		tuples = rel->tuples * zones;
	ZsBatchCosts batches;
	QualCost	qual;
	Cost		groups = 0;
	Cost		by_columns;
	Cost		by_rows;

	Assert(divisor >= 1 && nfilter <= ncolumns);
	get_tablespace_page_costs(rel->reltablespace, &spc_random, &spc_seq);
	batches = zscost_batches(query->root, rel, rel->baserestrictinfo, rel->rows / zones);
	if (!zs_enable_column_costs)
		batches.pages = rel->pages * Min((double) ncolumns / Max(rel->max_attr, 1), 1);
	if (query->keys != NIL)
		groups = rel->rows * (ZS_COST_PER_KEY * list_length(query->keys) +
							  (ngroups > ZS_LARGE_TABLE ? ZS_COST_FAR_PROBE : ZS_COST_PROBE));

	/* as core's nodes are charged */
	cost_qual_eval(&qual, rel->baserestrictinfo, query->root);
	by_rows = rel->rows * cpu_operator_cost *
		(list_length(query->aggrefs) + list_length(query->keys));
	by_columns = Max(batches.decoding * zones, tuples * ZS_COST_PER_VALUE *
					 (nfilter + batches.left * (ncolumns - nfilter))) +
		tuples * zscost_filter(filter) +
		rel->rows * ZS_COST_PER_AGG * list_length(query->aggrefs) + groups;
	by_columns = Min(by_columns, ZS_SHARE_OF_ROWWISE *
					 (by_rows + tuples * (cpu_tuple_cost + qual.per_tuple)) + groups);
	by_rows += rel->tuples * (cpu_tuple_cost + qual.per_tuple);
	by_rows *= ZS_SHARE_OF_ROWS;
	if (zones < 1)
		by_columns += rel->tuples / ZS_SEGMENT_ROWS * ZS_COST_PER_SEGMENT;
	return ZS_COST_BEGIN_BATCHES + qual.startup + batches.seeks +
		spc_seq * batches.pages * (1 - (1 - batches.row_share) * (1 - zones)) +
		(batches.row_share * by_rows + (1 - batches.row_share) * by_columns +
		 rel->rows * zscost_values(exprs)) / divisor;
}

/* What aggregates of a table cost at least, in one process, as far as that is known at once. */
Cost
zsnode_agg_least_cost(const ZsAggQuery *query)
{
	RelOptInfo *rel = query->rel;

	Assert(query->aggrefs != NIL || query->keys != NIL);
	return rel->tuples * zscost_zone_share(rel) *
		ZS_COST_PER_CLAUSE * list_length(rel->baserestrictinfo) +
		rel->rows * ZS_COST_PER_AGG * list_length(query->aggrefs);
}

/*
 * What settings such as enable_seqscan say of a scan of the table and of hashing, they say of ours.
 */
static void
mark_disabled(const ZsAggQuery *query, CustomPath *path)
{
	Path	   *child = path->custom_paths != NIL ? linitial(path->custom_paths) : NULL;
	int			disabled = query->keys != NIL && !enable_hashagg ? 1 : 0;

	Assert(list_length(path->custom_paths) <= 1);
	disabled += child != NULL ? zs_path_disabled(child) :
		zs_scan_disabled(query->rel, path->path.parallel_workers);
	zs_path_add_disabled(&path->path, disabled);
}

/* What it costs to hand over one group of one process and to combine it with others in our node. */
Cost
zsnode_agg_combine_cost(const ZsAggQuery *query)
{
	Cost		cost = ZS_COST_PER_PART + ZS_COST_PER_KEY * list_length(query->keys) +
		(query->ngroups > ZS_LARGE_TABLE ? ZS_COST_FAR_PROBE : ZS_COST_PROBE);
	ListCell   *lc;

	Assert(query->keys != NIL);
	foreach(lc, query->aggrefs)
		cost += zsagg_state_of(lfirst_node(Aggref, lc)) == ZS_STATE_IMAGE ? ZS_COST_PER_IMAGE :
			ZS_COST_PER_STATE;
	return cost;
}

/* What it costs more than core thinks to hand over a group and combine it in a node of core's. */
Cost
zsnode_agg_serial_cost(const ZsAggQuery *query)
{
	Cost		cost = 0;
	ListCell   *lc;

	foreach(lc, query->aggrefs)
	{
		const Aggref *aggref = lfirst_node(Aggref, lc);

		Assert(OidIsValid(aggref->aggtranstype));
		cost += aggref->aggtranstype == INTERNALOID ? ZS_COST_PER_SERIAL : 0;
	}
	return cost;
}

/* What a group's keys take, in bytes: a word each, and strings and the like as statistics say. */
static double
keys_width(PlannerInfo *root, List *keys)
{
	PathTarget *long_keys = create_empty_pathtarget();
	ListCell   *lc;

	foreach(lc, keys)
	{
		if (!get_typbyval(exprType(lfirst(lc))))
			add_column_to_pathtarget(long_keys, lfirst(lc), 0);
	}
	return (double) sizeof(uint64) * list_length(keys) +
		set_pathtarget_cost_width(root, long_keys)->width;
}

/* Are most groups going to be complete before the end of the scan (node_agg_early.c)? */
bool
zsnode_agg_is_in_key_order(const ZsAggQuery *query)
{
	bool		in_order = false;
	ListCell   *lc;

	if (!zs_enable_early_groups)
		return false;
	foreach(lc, query->aggrefs)
	{
		if (lfirst_node(Aggref, lc)->aggdistinct != NIL)
			return false;
	}
	foreach(lc, query->keys)
	{
		VariableStatData vardata;

		if (!IsA(lfirst(lc), Var) || !get_typbyval(exprType(lfirst(lc))))
			continue;
		examine_variable(query->root, lfirst(lc), 0, &vardata);
		in_order |= fabs(zscost_correlation(&vardata)) >= ZS_KEY_ORDER;
		ReleaseVariableStats(vardata);
	}
	return in_order;
}

/*
 * Writing out and reading rows of so many bytes, of which there are nrows and which become nmembers
 * members of size bytes each; of these, limit bytes have their place in memory.
 */
static Cost
cost_of_files(double nrows, double width, double nmembers, double size, double limit)
{
	double		most = Max(limit / 4 / BLCKSZ, 4);
	double		part = nmembers * size / limit;
	double		rows;
	double		pages;
	int			depth = 1;

	Assert(limit > 0);
	if (part <= 1)
		return 0;
	rows = nrows * (1 - 1 / part);
	pages = rows * (MAXALIGN(SizeofMinimalTupleHeader) + width) / BLCKSZ;
	for (; part > most; part /= most)
		depth++;
	return depth * (pages * (random_page_cost + seq_page_cost) + rows * 2 * cpu_tuple_cost);
}

/*
 * What it costs to write out and to read again the rows whose groups find no place in memory, and
 * what DISTINCT aggregates have no place for; once for each time that they are divided.
 */
Cost
zsnode_agg_spill_cost(const ZsAggQuery *query, double nrows)
{
	double		limit = (double) get_hash_memory_limit();
	double		width = keys_width(query->root, query->keys);
	int			naggs = list_length(query->aggrefs);
	double		size = ZS_GROUP_SIZE + width + naggs * sizeof(ZsAggValue) / 2;
	int			nsets = 0;
	Cost		cost = 0;
	ListCell   *lc;

	if (query->keys != NIL)
		cost = cost_of_files(nrows, width + naggs * sizeof(int64), query->ngroups, size, limit);

	foreach(lc, query->aggrefs)
		nsets += lfirst_node(Aggref, lc)->aggdistinct != NIL ? 1 : 0;
	foreach(lc, query->aggrefs)
	{
		const Aggref *aggref = lfirst_node(Aggref, lc);
		List	   *pair;

		if (aggref->aggdistinct == NIL)
			continue;
		Assert(list_length(aggref->args) == 1);
		pair = lappend(list_copy(query->keys), linitial_node(TargetEntry, aggref->args)->expr);
		width = sizeof(uint64) + keys_width(query->root, list_make1(llast(pair)));
		cost += cost_of_files(nrows, width,
							  estimate_num_groups(query->root, pair, nrows, NULL, NULL),
							  ZS_GROUP_SIZE + width, limit / nsets);
	}
	return cost;
}

/*
 * Sets the costs of a path whose groups are there after run_cost, and the settings' word about it.
 */
void
zsnode_agg_set_cost(const ZsAggQuery *query, CustomPath *custom, Cost run_cost, double ngroups)
{
	Path	   *path = &custom->path;
	List	   *having = list_nth(custom->custom_private, ZS_AGG_HAVING);

	Assert(ngroups >= 1);
	path->rows = ngroups;
	if (having != NIL && query->keys != NIL)
		path->rows = clamp_row_est(ngroups *
								   clauselist_selectivity(query->root, having, 0, JOIN_INNER,
														  NULL));
	if (zs_debug_vector != ZS_DEBUG_VECTOR_OFF)
	{
		/*
		 * over a table first; with the same rows there is always a plan of core's that costs more
		 */
		path->startup_cost = custom->custom_paths == NIL ? 0 :
			((Path *) linitial(custom->custom_paths))->total_cost / 2;
		path->total_cost = path->startup_cost + cpu_tuple_cost * ngroups;
		return;
	}
	path->startup_cost = run_cost + path->pathtarget->cost.startup;
	path->total_cost = run_cost + cpu_tuple_cost * ngroups + path->pathtarget->cost.startup +
		path->pathtarget->cost.per_tuple * ngroups;
	if (having != NIL)
	{
		QualCost	qual;

		cost_qual_eval(&qual, having, query->root);
		path->startup_cost += qual.startup;
		path->total_cost += qual.startup + qual.per_tuple * ngroups;
	}
	mark_disabled(query, custom);
}
