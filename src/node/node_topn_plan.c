/*-------------------------------------------------------------------------
 *
 * node_topn_plan.c
 *	  Plans ORDER BY ... LIMIT over one zedstore table as a scan of its own.
 *
 * Core's plan for "SELECT * FROM t ORDER BY k LIMIT 20" copies every row, all
 * columns of it, into the sort, which throws all but 20 away.  A columnar
 * table need not put together rows that nobody will see: the scan made here
 * reads the filter's and the sort's columns, keeps the best n row numbers, and
 * fetches the other columns of these n rows at the end.
 *
 * The path is offered where the limit is known to apply to the rows of this
 * table directly: a query of one table, or its partitions, without grouping, DISTINCT, window or
 * set-returning functions, with constant LIMIT and OFFSET and sort keys that are
 * columns.  Its rows are in the order of the query, so that only a Limit node
 * comes on top.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_topn_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/sysattr.h"
#include "access/table.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "node_topn.h"
#include "zs_base.h"
#include "zs_base_plan.h"
#include "zs_clause.h"
#include "zs_compat.h"
#include "zs_cost.h"
#include "zs_cost_const.h"
#include "zs_expr_filter.h"
#include "zs_expr_guc.h"
#include "zs_node.h"

/* Above this many rows fetching them one by one loses what was won. */
#define MAX_BOUND	1000

/* ---- path ---------------------------------------------------------------------- */

/* The rows that LIMIT and OFFSET ask for together; 0 if that is not a small constant. */
static int64
constant_bound(Query *parse)
{
	Node	   *parts[] = {parse->limitCount, parse->limitOffset};
	int64		bound = 0;

	if (parse->limitOption != LIMIT_OPTION_COUNT || parse->limitCount == NULL)
		return 0;
	for (int i = 0; i < (int) lengthof(parts); i++)
	{
		Const	   *c = (Const *) parts[i];

		if (c == NULL)
			continue;
		if (!IsA(c, Const) || c->constisnull || c->consttype != INT8OID)
			return 0;
		if (DatumGetInt64(c->constvalue) < 0 || DatumGetInt64(c->constvalue) > MAX_BOUND)
			return 0;
		bound += DatumGetInt64(c->constvalue);
	}
	return bound <= MAX_BOUND ? bound : 0;
}

/*
 * Is it the query that core makes of a minimum or maximum (planagg.c), for a path in the order of
 * an index?  Its first row need not look like the one that the aggregate would return: 1.0, 1.00.
 */
static bool
is_extreme(const PlannerInfo *root)
{
	const TargetEntry *tle = root->parse->targetList == NIL ? NULL :
		linitial_node(TargetEntry, root->parse->targetList);

	return root->parent_root != NULL && root->parent_root->parse->hasAggs && tle != NULL &&
		tle->resname != NULL && strcmp(tle->resname, "agg_target") == 0;
}

static bool
query_is_simple(PlannerInfo *root, RelOptInfo *rel)
{
	Query	   *parse = root->parse;

	if (parse->commandType != CMD_SELECT || parse->rowMarks != NIL ||
		root->limit_tuples <= 0 || root->query_pathkeys == NIL ||
		root->query_pathkeys != root->sort_pathkeys || is_extreme(root))
		return false;
	/* the rows of partitions are sorted and merged, and the limit applies to what comes out */
	if ((rel->reloptkind != RELOPT_BASEREL && rel->reloptkind != RELOPT_OTHER_MEMBER_REL) ||
		!bms_is_empty(rel->lateral_relids) ||
		bms_membership(root->all_baserels) != BMS_SINGLETON)
		return false;

	/* a filter is run for each row before any is returned, which side effects would show */
	return !contain_volatile_functions((Node *) rel->baserestrictinfo);
}

static Plan *
plan_topn(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		  List *custom_plans)
{
	return zsnode_key_plan(path, tlist, clauses, &zsnode_topn_scan_methods);
}

static const CustomPathMethods path_methods = {
	.CustomName = "ZedstoreTopN",
	.PlanCustomPath = plan_topn,
};

const CustomScanMethods zsnode_topn_scan_methods = {
	.CustomName = "ZedstoreTopN",
	.CreateCustomScanState = zsnode_topn_create_state,
};

/*
 * Will the filter be applied to batches?  *in_order: and these come in the order of the zone maps
 * of the first key?
 */
static bool
is_by_batches(RelOptInfo *rel, RangeTblEntry *rte, const ZsTopNKey *key, bool *in_order)
{
	List	   *clauses = extract_actual_clauses(rel->baserestrictinfo, false);
	Relation	table;
	bool		result;

	*in_order = false;
	if (!zs_enable_vector_scan)
		return false;
	table = table_open(rte->relid, NoLock);
	result = zsexpr_filter_possible(RelationGetDescr(table), rel->relid, clauses);
	*in_order = result && zs_enable_zone_maps &&
		zsnode_key_has_zones(RelationGetDescr(table), key) && !zsscan_any_may_raise(clauses, NULL);
	table_close(table, NoLock);
	return result;
}

/*
 * The share of the rows that are looked at if stripes come in the order of the first key.  Rows
 * that lie in that order are in the first stripes, as many as pass the filter until there are
 * enough.  Others are one in a stripe.  Of keys that are equal in many rows, and not the only one,
 * all have to be looked at.
 */
static double
share_looked_at(PlannerInfo *root, RelOptInfo *rel, const ZsTopNKey *key, int nkeys, int64 bound)
{
	const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	Var		   *var = makeVar(rel->relid, key->attno, get_atttype(rte->relid, key->attno), -1,
							  key->collation, 0);
	double		rows = bound * rel->tuples / Max(rel->rows, 1);
	VariableStatData vardata;
	double		ndistinct;
	bool		is_default;
	double		apart;
	double		looked_at;

	examine_variable(root, (Node *) var, 0, &vardata);
	ndistinct = get_variable_numdistinct(&vardata, &is_default);
	apart = zscost_correlation(&vardata);
	apart = 1 - apart * apart;
	ReleaseVariableStats(vardata);
	if (nkeys > 1 && !is_default)
		rows = Max(rows, rel->tuples / Max(ndistinct, 1));
	looked_at = ZS_COST_STRIPE_ROWS * (1 + rows * apart) + rows;
	return Min(looked_at / Max(rel->tuples, 1), 1);
}

/*
 * Only the columns of filter and keys are read, no row is put together, and nearly every row
 * costs one comparison, with the worst of those kept.
 */
static void
cost_topn(PlannerInfo *root, RelOptInfo *rel, Path *seqscan, CustomPath *path,
		  const ZsTopNKey *keys, int nkeys, int64 bound, bool by_batches, bool in_order)
{
	Bitmapset  *attrs = NULL;
	double		ncolumns;
	double		column_share;
	ZsBatchCosts batches;
	Cost		per_tuple;
	double		share;
	double		passed;
	QualCost	qual;

	pull_varattnos((Node *) extract_actual_clauses(rel->baserestrictinfo, false), rel->relid,
				   &attrs);
	for (int i = 0; i < nkeys; i++)
		attrs = bms_add_member(attrs, keys[i].attno - FirstLowInvalidHeapAttributeNumber);
	ncolumns = Min(bms_num_members(attrs), Max(rel->max_attr, 1));
	bms_free(attrs);

	cost_qual_eval(&qual, rel->baserestrictinfo, root);
	batches = zscost_batches(root, rel, rel->baserestrictinfo, rel->rows);
	column_share = (1 - batches.row_share) * ncolumns / Max(rel->max_attr, 1);
	per_tuple = ZS_SHARE_OF_KEYS * cpu_tuple_cost + qual.per_tuple;
	if (by_batches)
		per_tuple = Min(per_tuple, ZS_COST_PER_VALUE * ncolumns +
						zscost_filter(rel->baserestrictinfo));
	per_tuple += batches.row_share *
		(ZS_SHARE_OF_ROWS * (cpu_tuple_cost + qual.per_tuple) - per_tuple);
	share = in_order ? share_looked_at(root, rel, &keys[0], nkeys, bound) : 1;
	passed = rel->rows * share;
	if (by_batches)
		share = Min(share, zscost_zone_share(rel));
	/* rows that are in no columns are looked at, and each segment is listed */
	share = batches.row_share + (1 - batches.row_share) * share;
	zs_path_add_disabled(&path->path, zs_path_disabled(seqscan));
	path->path.startup_cost = ZS_COST_BEGIN_BATCHES + batches.seeks +
		seq_page_cost * rel->pages * (batches.row_share + column_share) * share +
		qual.startup + rel->tuples * per_tuple * share +
		(in_order ? rel->tuples / ZS_SEGMENT_ROWS * cpu_operator_cost : 0) +
		passed * cpu_operator_cost + bound * log2(bound + 1.0) * cpu_operator_cost;
	path->path.total_cost = path->path.startup_cost + bound * cpu_tuple_cost;
}

/*
 * A step of set_rel_pathlist: adds a path for ORDER BY columns LIMIT of a constant over one
 * zedstore table.  Core has made its paths of the table.
 */
void
zsnode_topn_add_path(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	CustomPath *path;
	Path	   *seqscan = NULL;
	ListCell   *lc;
	ZsTopNKey  *keys;
	int			nkeys = 0;
	int64		bound;
	bool		by_batches;
	bool		in_order;

	if (!zs_enable_topn || !query_is_simple(root, rel) || !zsbase_rel_is_ours(rel, rte) ||
		zscost_is_looked_up(rel))
		return;
	bound = constant_bound(root->parse);
	if (bound == 0)
		return;
	keys = palloc(list_length(root->query_pathkeys) * sizeof(ZsTopNKey));
	foreach(lc, root->query_pathkeys)
	{
		if (!zsnode_key_of_pathkey(lfirst(lc), rel, &keys[nkeys++]))
			return;
	}
	foreach(lc, rel->pathlist)
	{
		Path	   *p = lfirst(lc);

		if (p->pathtype == T_SeqScan && p->param_info == NULL)
			seqscan = p;
	}
	if (seqscan == NULL)
		return;

	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.rows = Min((double) bound, rel->rows);
	path->path.pathkeys = root->query_pathkeys;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION | CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
	path->methods = &path_methods;
	path->custom_private = zsnode_topn_pack(bound, keys, nkeys);

	by_batches = is_by_batches(rel, rte, &keys[0], &in_order);
	cost_topn(root, rel, seqscan, path, keys, nkeys, bound, by_batches, in_order);
	add_path(rel, &path->path);
}
