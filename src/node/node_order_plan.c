/*-------------------------------------------------------------------------
 *
 * node_order_plan.c
 *	  Plans scans whose rows come in the order of columns.
 *
 * A table is often in the order of a column, all of it or in part: of the time when rows were
 * written, of a key that it was loaded by.  The zone maps tell how far, and a scan that merges what
 * overlaps (node_order_merge.c) returns its rows in that order without a sort.  Further keys order
 * rows that are equal in the first.  Core uses the path for ORDER BY, LIMIT, merge joins, grouping,
 * DISTINCT, windows, and MergeAppend over partitions, below an Incremental Sort where keys are
 * wanted that are no columns.
 *
 * The costs are those of the scan without order, for each row a search among the stripes that lie
 * over each other and a copy of it, and the heads of segments that are opened again and again.  How
 * many stripes these are, the depth, is found out from the zone maps (scan_depth.c).  Where rows in
 * hand would exceed work_mem there is no path, nor where costs are core's, which know nothing of
 * columns, or where it takes longer to look at zone maps than a path that is there.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_order_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat_plan.h"

#include <math.h>

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_class_d.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "node_order.h"
#include "zs_base.h"
#include "zs_base_plan.h"
#include "zs_clause.h"
#include "zs_cost.h"
#include "zs_cost_const.h"
#include "zs_depth.h"
#include "zs_expr_guc.h"
#include "zs_node.h"
#include "zs_node_scan.h"

/* ---- plan -------------------------------------------------------------------- */

static Plan *
plan_order(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		   List *custom_plans)
{
	return zsnode_key_plan(path, tlist, clauses, &zsnode_order_methods);
}

static const CustomPathMethods path_methods = {
	.CustomName = "ZedstoreOrder",
	.PlanCustomPath = plan_order,
};

const CustomScanMethods zsnode_order_methods = {
	.CustomName = "ZedstoreOrder",
	.CreateCustomScanState = zsnode_order_create_state,
};

/* Is it a path of ours that returns a table's rows in the order of columns? */
bool
zsnode_order_is_path(const Path *path)
{
	return path->pathtype == T_CustomScan &&
		((const CustomPath *) path)->methods == &path_methods;
}

/* ---- paths ------------------------------------------------------------------- */

/* The cheapest path that reads all of the table in sequence; NULL: none. */
static Path *
find_scan(RelOptInfo *rel)
{
	Path	   *best = NULL;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		if ((path->pathtype == T_SeqScan || zsnode_scan_is_path(path)) &&
			path->param_info == NULL &&
			(best == NULL || path->total_cost < best->total_cost))
			best = path;
	}
	return best;
}

/* System columns that a row in hand does not have. */
static bool
wants_visibility(const RelOptInfo *rel)
{
	for (AttrNumber attno = FirstLowInvalidHeapAttributeNumber + 1; attno < 0; attno++)
	{
		if (attno != SelfItemPointerAttributeNumber && attno != TableOidAttributeNumber &&
			!bms_is_empty(rel->attr_needed[attno - rel->min_attr]))
			return true;
	}
	return false;
}

/*
 * Heads that are opened beside those of the scan without order: of all segments of the key, which
 * tell of their vectors, and where stripes lie over each other, so that the next one is of another
 * segment, those of all columns with each stripe.
 */
static Cost
cost_heads(const RelOptInfo *rel, int ncolumns, double depth)
{
	double		heads = rel->tuples / ZS_SEGMENT_ROWS +
		rel->tuples / ZS_COST_STRIPE_ROWS * ncolumns * Min(depth - 1, 1);

	return heads * ZS_COST_PER_HEAD;
}

static void
cost_order(Path *path, const Path *scan, const RelOptInfo *rel, double depth, double row_share)
{
	Cost		run_cost = scan->total_cost - scan->startup_cost;
	int			ncolumns = Max(list_length(rel->reltarget->exprs), 1);
	double		copied = rel->rows * Min(depth - 1, 1);
	double		first = Min(ZS_COST_STRIPE_ROWS * depth / Max(rel->tuples, 1), 1);

	zs_path_add_disabled(path, zs_path_disabled(scan));
	/* rows of the row tree are in hand before the first is returned */
	first = Max(first, row_share);
	copied += rel->rows * row_share;
	run_cost += rel->rows * log2(depth + 1) * cpu_operator_cost +
		copied * (ZS_COST_PER_COPY + (ncolumns - 1) * ZS_COST_PER_COPIED_COLUMN) +
		cost_heads(rel, ncolumns, depth);
	/* all segments are listed before the first row */
	path->startup_cost = scan->startup_cost + first * run_cost +
		rel->tuples / ZS_SEGMENT_ROWS * ZS_COST_PER_LOOK;
	path->total_cost = path->startup_cost + (1 - first) * run_cost;
}

/* Bytes that rows in hand take, about: those of all stripes that lie over each other. */
static double
memory_needed(const RelOptInfo *rel, double depth, double row_share)
{
	double		per_row = rel->reltarget->width + 32.0 +
		list_length(rel->reltarget->exprs) * (sizeof(Datum) + 8.0);
	double		share = rel->rows / Max(rel->tuples, 1);

	/* one that lies over no other is not copied */
	return (Max(depth - 1, 0) * ZS_COST_STRIPE_ROWS * 1.5 + row_share * rel->tuples) * share *
		per_row;
}

/*
 * Adds a path for the pathkeys, or as many of them as are columns of the relation, if rows can come
 * in the order of the first.
 */
static void
add_order_path(RelOptInfo *rel, Relation table, List *pathkeys, const Path *scan)
{
	ZsTopNKey  *keys = palloc_array(ZsTopNKey, list_length(pathkeys));
	int			nkeys = 0;
	CustomPath *path;
	double		depth;
	double		row_share;

	while (nkeys < list_length(pathkeys) &&
		   zsnode_key_of_pathkey(list_nth(pathkeys, nkeys), rel, &keys[nkeys]))
		nkeys++;
	if (nkeys == 0 || !zsnode_key_has_zones(RelationGetDescr(table), &keys[0]) ||
		!zscost_column_depth(rel, table, keys[0].attno, &depth, &row_share))
		return;
	if (zs_debug_vector == ZS_DEBUG_VECTOR_OFF &&
		memory_needed(rel, depth, row_share) > work_mem * 1024.0)
		return;
	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.parallel_safe = rel->consider_parallel;
	path->path.rows = rel->rows;
	path->path.pathkeys = list_copy_head(pathkeys, nkeys);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION | CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
	path->methods = &path_methods;
	path->custom_private = list_make2(zsbase_private_name(), zsnode_keys_pack(keys, nkeys));
	cost_order(&path->path, scan, rel, depth, row_share);
	add_path(rel, &path->path);
}

/* Pathkeys that a merge join may want of the relation. */
static List *
merge_pathkeys(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *result = NIL;
	ListCell   *lc;

	if (!rel->has_eclass_joins || !enable_mergejoin)
		return NIL;
	foreach(lc, root->eq_classes)
	{
		EquivalenceClass *ec = lfirst(lc);
		EquivalenceMember *em;

		if (ec->ec_has_volatile || !bms_is_subset(rel->relids, ec->ec_relids) ||
			bms_membership(ec->ec_relids) != BMS_MULTIPLE)
			continue;
		zs_foreach_member(em, ec, rel->relids)
		{
			TypeCacheEntry *type;
			List	   *pathkeys;

			if (!bms_equal(em->em_relids, rel->relids) || !IsA(em->em_expr, Var))
				continue;
			type = lookup_type_cache(em->em_datatype, TYPECACHE_LT_OPR);
			if (!OidIsValid(type->lt_opr))
				break;
			pathkeys = build_expression_pathkey(root, em->em_expr, type->lt_opr, rel->relids,
												false);
			if (pathkeys != NIL && truncate_useless_pathkeys(root, rel, pathkeys) != NIL)
				result = list_append_unique_ptr(result, linitial(pathkeys));
			break;
		}
	}
	return result;
}

/*
 * A step of set_rel_pathlist: paths of a zedstore table in the order that the query asks for or a
 * merge join may want, where zone maps follow that order.  Core has made its paths of the table.
 */
void
zsnode_order_add_paths(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	List	   *wanted;
	PathKey    *first = root->query_pathkeys == NIL ? NULL : linitial(root->query_pathkeys);
	Path	   *scan;
	Relation	table;
	ListCell   *lc;

	if (!zs_enable_ordered_scan || !zs_enable_zone_maps || !zs_enable_column_costs ||
		!zsbase_rel_is_ours(rel, rte) || zscost_is_looked_up(rel) ||
		root->parse->commandType != CMD_SELECT || !bms_is_empty(rel->lateral_relids) ||
		wants_visibility(rel) || zsscan_any_may_raise(rel->baserestrictinfo, NULL))
		return;
	wanted = merge_pathkeys(root, rel);
	if ((wanted == NIL && first == NULL) || (scan = find_scan(rel)) == NULL ||
		zscost_is_beaten(rel->pathlist, rel->tuples / ZS_SEGMENT_ROWS * ZS_COST_PER_LOOK))
		return;
	table = table_open(rte->relid, NoLock);
	if (first != NULL)
		add_order_path(rel, table, root->query_pathkeys, scan);
	foreach(lc, wanted)
	{
		if (lfirst(lc) != first)
			add_order_path(rel, table, list_make1(lfirst(lc)), scan);
	}
	table_close(table, NoLock);
}
