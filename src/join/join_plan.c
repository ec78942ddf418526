/*-------------------------------------------------------------------------
 *
 * join_plan.c
 *	  Hash joins whose costs know that scans leave out rows without a partner.
 *
 * The problem: a scan by batches below the outer side of a hash join returns only rows that may
 * have a partner (join_tap.c).  Core's costs have all of them made, handed up and looked for
 * in the hash table.  So it hashes a large table to look for a few rows in it, or takes nested
 * loops over an index.
 *
 * The idea: beside each hash join that core considers, one over a copy of the outer path whose scan
 * returns fewer rows, and costs less.  All other costs follow from core's functions.  The share of
 * rows that is left is the selectivity that the clause has for a semijoin, the least of them where
 * there are several; a part of the others passes, too, for sets of many keys are not exact.  Where
 * rows are in the order of the key, as sales are in that of dates, zone maps leave out most of the
 * vectors, and so does the cost.
 *
 * A copy stands for the same plan: the executor sees to the filter whenever it can.  It can not
 * always, so what must be true for it (join_tap.c) is looked for here as well: the outer
 * side is the scan itself, or hash joins above it, with nothing but scans and hash joins on their
 * inner sides, and none of these raises an error, nor what they return.  The scan of the copy says
 * which columns it counts on, so that an executor with assertions can see whether that comes true.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/join/join_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "zs_compat.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/geqo.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/pg_locale.h"
#include "utils/selfuncs.h"

#include "join_internal.h"
#include "join_keys.h"
#include "zs_base.h"
#include "zs_base_plan.h"
#include "zs_clause.h"
#include "zs_cost.h"
#include "zs_cost_const.h"
#include "zs_expr_guc.h"
#include "zs_join.h"
#include "zs_node_scan.h"

/* A join's keys that scans of the outer side can be told. */
typedef struct JoinKeys
{
	List	   *hashclauses;	/* RestrictInfo, all that hash */
	List	   *columns;		/* Var of the outer side, of those whose keys it can use */
	List	   *inner_columns;	/* what it is compared with */
	List	   *clauses;		/* of these */
	double	   *shares;			/* of the outer rows that have a partner by each of them */
	const ZsColumnOrder **orders;	/* how far the columns' values are in the order of rows */
} JoinKeys;

/* ---- clauses ----------------------------------------------------------------------------- */

static Var *
column_of(Node *expr)
{
	while (expr != NULL && IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	return expr != NULL && IsA(expr, Var) && ((Var *) expr)->varattno > 0 &&
		((Var *) expr)->varlevelsup == 0 ? (Var *) expr : NULL;
}

/* May a restriction of the relation?  Asked for many paths, so it is remembered of our tables. */
static bool
restrictions_may_raise(RelOptInfo *rel)
{
	ZsRelCosts *costs = zscost_find(rel);

	/* as far as is known now: parameters may */
	if (costs == NULL)
		return zsscan_any_may_raise(rel->baserestrictinfo, NULL);
	if (!costs->checked)
		costs->may_raise = zsscan_any_may_raise(rel->baserestrictinfo, NULL);
	costs->checked = true;
	return costs->may_raise;
}

static void
find_keys(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
		  JoinType jointype, List *restrictlist, JoinKeys *keys)
{
	ListCell   *lc;

	memset(keys, 0, sizeof(*keys));
	keys->hashclauses = zsjoin_hashclauses(joinrel, outer, inner, jointype, restrictlist);
	foreach(lc, keys->hashclauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		Node	   *outer_key;
		Node	   *inner_key;
		ZsJoinKeyForm form;

		outer_key = rinfo->outer_is_left ? get_leftop(rinfo->clause) : get_rightop(rinfo->clause);
		inner_key = rinfo->outer_is_left ? get_rightop(rinfo->clause) : get_leftop(rinfo->clause);
		if (column_of(outer_key) == NULL || column_of(inner_key) == NULL ||
			zscost_find(find_base_rel(root, column_of(outer_key)->varno)) == NULL ||
			!zsjoin_key_form((Node *) rinfo->clause, &form))
			continue;
		keys->columns = lappend(keys->columns, column_of(outer_key));
		keys->inner_columns = lappend(keys->inner_columns, column_of(inner_key));
		keys->clauses = lappend(keys->clauses, rinfo->clause);
	}
}

/*
 * How far are the column's values in the order of the rows, as their statistics say?  Not at all if
 * vectors may not be left out.
 */
static void
find_order(PlannerInfo *root, Var *column, ZsColumnOrder *result)
{
	RelOptInfo *rel = find_base_rel(root, column->varno);
	double		correlation;
	double		ndistinct;
	bool		is_default;
	VariableStatData vardata;

	result->known = true;
	result->order = 0;
	result->fill = 1;
	/* a clause that may raise an error has to meet all rows first */
	if (!zs_enable_zone_maps || restrictions_may_raise(rel))
		return;
	/* zone maps have strings in the order of their bytes */
	if (OidIsValid(column->varcollid) && !zs_collation_is_c(column->varcollid))
		return;
	examine_variable(root, (Node *) column, 0, &vardata);
	ndistinct = get_variable_numdistinct(&vardata, &is_default);
	correlation = zscost_correlation(&vardata);
	ReleaseVariableStats(vardata);
	if (is_default)
		return;
	Assert(correlation >= -1 && correlation <= 1);
	result->fill = 1 / Max(rel->tuples / ZS_COST_STRIPE_ROWS, 1) + 1 / Max(ndistinct, 1);
	result->order = correlation * correlation;
}

/* The same, remembered: each set of tables that the column is joined to asks for it. */
static const ZsColumnOrder *
order_of_rows(PlannerInfo *root, Var *column)
{
	RelOptInfo *rel = find_base_rel(root, column->varno);
	ZsRelCosts *costs = zscost_find(rel);
	ZsColumnOrder *result;

	Assert(costs != NULL && column->varattno > 0 && column->varattno <= rel->max_attr);
	if (costs->orders == NULL)
		costs->orders = MemoryContextAllocZero(GetMemoryChunkContext(costs),
											   rel->max_attr * sizeof(ZsColumnOrder));
	result = &costs->orders[column->varattno - 1];
	if (!result->known)
		find_order(root, column, result);
	return result;
}

/* Joins of 1.2 times as many rows or less count as being of one size. */
#define SIZES_PER_DOUBLING		4

/*
 * The share of the rows with the column that have a partner in inner.  It depends on that by the
 * clause and by the number of rows alone (eqjoinsel_semi()); of joins there are too many to ask
 * statistics for each of them, so those of about the same size have the same share.
 */
static double
share_of_partners(PlannerInfo *root, const Var *column, Node *clause, const RelOptInfo *inner,
				  SpecialJoinInfo *sjinfo)
{
	ZsRelCosts *costs = zscost_find(find_base_rel(root, column->varno));
	ZsPartnerShare new = {.clause = clause};
	MemoryContext old;
	ListCell   *lc;

	Assert(costs != NULL);
	/* what GEQO tries lives for a moment, clauses included */
	if (zs_geqo_is_at_work(root))
		return clause_selectivity(root, clause, 0, JOIN_SEMI, sjinfo);
	if (inner->reloptkind == RELOPT_BASEREL)
		new.inner = inner;
	else
		new.size = (int) (log2(Max(inner->rows, 1)) * SIZES_PER_DOUBLING);
	foreach(lc, costs->partners)
	{
		const ZsPartnerShare *known = lfirst(lc);

		if (known->clause == clause && known->inner == new.inner && known->size == new.size)
			return known->share;
	}
	new.share = clause_selectivity(root, clause, 0, JOIN_SEMI, sjinfo);
	old = MemoryContextSwitchTo(GetMemoryChunkContext(costs));
	costs->partners = lappend(costs->partners, memcpy(palloc(sizeof(new)), &new, sizeof(new)));
	MemoryContextSwitchTo(old);
	return new.share;
}

/* Fills in what depends on statistics; false if none of the keys leaves out enough rows. */
static bool
find_shares(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner, JoinKeys *keys)
{
	SpecialJoinInfo sjinfo = {.type = T_SpecialJoinInfo};
	double		least = 1;
	ListCell   *lc;

	sjinfo.min_lefthand = sjinfo.syn_lefthand = outer->relids;
	sjinfo.min_righthand = sjinfo.syn_righthand = inner->relids;
	sjinfo.jointype = JOIN_SEMI;
	keys->shares = palloc(list_length(keys->clauses) * sizeof(double));

	/* not of RestrictInfos, which remember one such figure, whichever side it is for */
	foreach(lc, keys->clauses)
	{
		int			i = foreach_current_index(lc);
		double		share = share_of_partners(root, list_nth_node(Var, keys->columns, i),
											  lfirst(lc), inner, &sjinfo);

		keys->shares[i] = share;
		least = Min(least, share);
	}
	if (least > ZS_USEFUL_SHARE)
		return false;
	keys->orders = palloc(list_length(keys->clauses) * sizeof(ZsColumnOrder *));
	foreach(lc, keys->columns)
	{
		int			i = foreach_current_index(lc);

		keys->orders[i] = order_of_rows(root, lfirst_node(Var, lc));
	}
	return true;
}

/* ---- paths ------------------------------------------------------------------------------- */

/* Does a Result node above the plan decide whether it is executed at all? */
static bool
has_gate(List *clauses)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		if (lfirst_node(RestrictInfo, lc)->pseudoconstant)
			return true;
	}
	return false;
}

/* Is executing the path known to raise no errors?  As plan_may_raise() of join_tap.c. */
static bool
is_plain(const Path *path)
{
	const JoinPath *join = (const JoinPath *) path;

	check_stack_depth();
	if (zsscan_any_may_raise(path->pathtarget->exprs, NULL))
		return false;
	switch (path->pathtype)
	{
		case T_CustomScan:
			if (!zsnode_scan_is_path(path))
				return false;
			break;
		case T_IndexScan:
		case T_IndexOnlyScan:
			if (((const IndexPath *) path)->indexorderbys != NIL)
				return false;
			break;
		case T_SeqScan:
		case T_BitmapHeapScan:
			break;
		case T_HashJoin:
			return !has_gate(join->joinrestrictinfo) &&
				!zsscan_any_may_raise(join->joinrestrictinfo, NULL) &&
				is_plain(join->outerjoinpath) && is_plain(join->innerjoinpath);
		default:
			return false;
	}
	return path->param_info == NULL && !has_gate(path->parent->baserestrictinfo) &&
		!restrictions_may_raise(path->parent);
}

static bool
goes_by_outer_rows(const HashPath *path)
{
	List	   *clauses = path->jpath.joinrestrictinfo;

	return zsjoin_goes_by_outer_rows(path->jpath.jointype) && !has_gate(clauses) &&
		!zsscan_any_may_raise(clauses, NULL) &&
		!zsscan_any_may_raise(path->jpath.path.pathtarget->exprs, NULL) &&
		is_plain(path->jpath.innerjoinpath);
}

/*
 * The scan by batches of the relation below the path from which its rows come, if it leaves out
 * rows; NULL: none.  As find_scan() of join_tap.c.
 */
static const Path *
find_scan(const Path *path, Index relid)
{
	while (path->pathtype == T_HashJoin && goes_by_outer_rows((const HashPath *) path))
		path = ((const JoinPath *) path)->outerjoinpath;
	return path->parent->relid == relid && zsnode_scan_leaves_out(path) ? path : NULL;
}

/* A copy of the path, above a scan by batches that returns a share of its rows and vectors. */
static Path *
filtered_path(PlannerInfo *root, Path *path, List *columns, double share, double vectors)
{
	HashPath   *join;
	Path	   *outer;
	Cost		own;

	check_stack_depth();
	if (path->pathtype != T_HashJoin)
		return zsnode_scan_filtered_path(root, path, columns, share, vectors);
	join = palloc(sizeof(HashPath));
	memcpy(join, path, sizeof(HashPath));
	outer = join->jpath.outerjoinpath;
	join->jpath.outerjoinpath = filtered_path(root, outer, columns, share, vectors);
	own = (path->total_cost - path->startup_cost) - (outer->total_cost - outer->startup_cost);
	path = &join->jpath.path;
	path->rows = clamp_row_est(path->rows * share);
	path->total_cost -= outer->total_cost - join->jpath.outerjoinpath->total_cost +
		Max(own, 0) * (1 - share);
	path->total_cost = Max(path->total_cost, path->startup_cost);
	return path;
}

/*
 * Of how many times the rows of the inner side are the keys noted?  Not of its own if it is a
 * parallel hash join, but of what a column comes from (find_tap_place()).  0: of too many.
 */
static double
surplus_of_keys(const Path *inner, const Var *column)
{
	const Path *source = inner;
	double		rows;

	while (source->pathtype == T_HashJoin && source->parallel_aware)
	{
		const JoinPath *join = (const JoinPath *) source;

		source = bms_is_member(column->varno, join->outerjoinpath->parent->relids) ?
			join->outerjoinpath : join->innerjoinpath;
	}
	rows = source->rows * zscost_parallel_divisor(source->parallel_workers);
	if (source != inner && rows > zsjoin_keys_most())
		return 0;
	return Max(rows / Max(inner->rows * zscost_parallel_divisor(inner->parallel_workers), 1), 1);
}

/*
 * The share of vectors that zone maps leave, given so many keys of column i.  Where its values are
 * in the order of the rows, those of a key are in one vector, and in as many more as they fill;
 * where they are not, no vector can be left out.
 */
static double
share_of_vectors(const JoinKeys *keys, int i, double nkeys)
{
	const ZsColumnOrder *order = keys->orders[i];

	Assert(order->order >= 0 && order->order <= 1 && order->fill > 0);
	if (nkeys > ZS_JOIN_KEYS_SORTED)
		return 1;
	/* as core does for scans by index */
	return 1 - order->order * (1 - Min(nkeys * order->fill, 1));
}

/*
 * The shares of the path's rows and vectors that its scan has to look at for the join, which tells
 * it the keys of these columns.
 */
static double
share_left(const Path *path, const Path *inner, const JoinKeys *keys, double *vectors,
		   List **columns)
{
	double		share = 1;
	ListCell   *lc;

	*vectors = 1;
	*columns = NIL;
	foreach(lc, keys->columns)
	{
		int			i = foreach_current_index(lc);
		double		surplus;

		if (find_scan(path, lfirst_node(Var, lc)->varno) == NULL)
			continue;
		surplus = surplus_of_keys(inner, list_nth_node(Var, keys->inner_columns, i));
		if (surplus <= 0)
			continue;
		*columns = lappend_int(*columns, lfirst_node(Var, lc)->varattno);
		share = Min(share, keys->shares[i] * surplus);
		*vectors = Min(*vectors,
					   share_of_vectors(keys, i, surplus * inner->rows *
										zscost_parallel_divisor(inner->parallel_workers)));
	}
	Assert(*vectors >= 0 && *vectors <= 1);
	return share + (1 - share) * ZS_PASSES_FALSELY * *vectors;
}

/* What looks into the hash table of the inner rows cost that core does not charge. */
static Cost
far_probes_cost(const Path *outer, const Path *inner, bool parallel_hash)
{
	double		rows = inner->rows;
	double		size;

	if (parallel_hash)
		rows *= zscost_parallel_divisor(inner->parallel_workers);
	size = rows * (MAXALIGN(inner->pathtarget->width) + ZS_HASH_ROW_OVERHEAD);
	return size <= ZS_NEAR_TABLE ? 0 :
		outer->rows * ZS_COST_FAR_HASH_PROBE * (1 - ZS_NEAR_TABLE / size);
}

/*
 * Is a loop as good as the hash join, that looks up by index the few rows of the other side which
 * have partners in inner?  It is where pages are in memory, and not much worse where they are not;
 * for more rows than expected it turns to a hash join (join_adaptive_plan.c).
 */
static bool
prefers_lookups(const Path *join, const Path *outer, const Path *inner, JoinType jointype)
{
	double		lookups = inner->rows * zscost_parallel_divisor(inner->parallel_workers);
	ListCell   *lc;

	if (!enable_nestloop || lookups > ZS_FEW_LOOKUPS || jointype == JOIN_SEMI ||
		outer->parent->reloptkind != RELOPT_BASEREL)
		return false;
	foreach(lc, outer->parent->cheapest_parameterized_paths)
	{
		const Path *path = lfirst(lc);

		if (path->param_info == NULL || zs_path_is_avoided(path) ||
			!bms_is_subset(PATH_REQ_OUTER(path), inner->parent->relids) ||
			(path->pathtype != T_IndexScan && path->pathtype != T_IndexOnlyScan &&
			 path->pathtype != T_BitmapHeapScan))
			continue;
		if (lookups * (1 + path->rows) * ZS_COST_IN_MEMORY_ROW <=
			(join->total_cost - inner->total_cost) * ZS_IN_MEMORY_SHARE &&
			inner->total_cost + lookups * path->total_cost <=
			join->total_cost * ZS_LOOKUPS_REGRET_FACTOR)
			return true;
	}
	return false;
}

/* The hash join over the outer path, if it can be filtered, and is not worse than look-ups. */
static Path *
make_join(PlannerInfo *root, RelOptInfo *joinrel, Path *outer, Path *inner, JoinType jointype,
		  JoinPathExtraData *extra, const JoinKeys *keys, bool parallel_hash)
{
	double		share;
	double		vectors;
	List	   *columns;
	JoinCostWorkspace workspace;
	Path	   *path;

	if (outer->param_info != NULL)
		return NULL;
	share = share_left(outer, inner, keys, &vectors, &columns);
	if (columns == NIL || share > ZS_USEFUL_SHARE)
		return NULL;
	Assert(keys->hashclauses != NIL && share >= 0);
	outer = filtered_path(root, outer, columns, share, vectors);
	initial_cost_hashjoin(root, &workspace, jointype, keys->hashclauses, outer, inner, extra,
						  parallel_hash);
	path = (Path *) create_hashjoin_path(root, joinrel, jointype, &workspace, extra, outer, inner,
										 parallel_hash, extra->restrictlist, NULL,
										 keys->hashclauses);

	/* core takes it that of the rows that are left no more than of all find partners */
	path->total_cost += ZS_COST_PER_NOTED_KEY * inner->rows +
		far_probes_cost(outer, inner, parallel_hash) +
		path->rows * (1 - share) * (cpu_tuple_cost + path->pathtarget->cost.per_tuple);
	return prefers_lookups(path, outer, inner, jointype) ? NULL : path;
}

/* Adds joins of parts of the outer side: with a hash table for each process, or one for all. */
static void
add_partial_joins(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
				  RelOptInfo *innerrel, JoinType jointype, JoinPathExtraData *extra,
				  const JoinKeys *keys)
{
	Path	   *inner = NULL;
	Path	   *partial_inner = NULL;
	Path	   *path;
	ListCell   *lc;

	/* core's reasons: who has found which inner rows must be known to one process, or to all */
	if ((jointype == JOIN_INNER || jointype == JOIN_SEMI) &&
		innerrel->cheapest_total_path->parallel_safe)
		inner = innerrel->cheapest_total_path;
	if (enable_parallel_hash && !zs_join_is_right_semi(jointype) &&
		innerrel->partial_pathlist != NIL)
		partial_inner = linitial(innerrel->partial_pathlist);

	foreach(lc, outerrel->partial_pathlist)
	{
		if (inner != NULL)
		{
			path = make_join(root, joinrel, lfirst(lc), inner, jointype, extra, keys, false);
			if (path != NULL)
				add_partial_path(joinrel, path);
		}
		if (partial_inner != NULL)
		{
			path = make_join(root, joinrel, lfirst(lc), partial_inner, jointype, extra, keys,
							 true);
			if (path != NULL)
				add_partial_path(joinrel, path);
		}
	}
}

/* Offers hash joins whose costs know what their keys spare the scan on the other side. */
void
zsjoin_plan_add_paths(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
					  RelOptInfo *innerrel, JoinType jointype, JoinPathExtraData *extra)
{
	Path	   *inner = innerrel->cheapest_total_path;
	List	   *outers;
	JoinKeys	keys;
	Path	   *path;
	ListCell   *lc;

	if (!zs_enable_join_filters || !zs_enable_vector_scan || !zs_enable_column_costs ||
		!zs_join_may_hash(extra) || !zsjoin_drops_lonely_rows(jointype) ||
		outerrel->rows < ZS_USEFUL_ROWS || inner == NULL || inner->param_info != NULL ||
		!bms_is_empty(joinrel->lateral_relids) || inner->rows > zsjoin_keys_most() ||
		!zsbase_query_is_ours(root) ||
		zsjoin_is_looked_up(outerrel, innerrel, jointype))
		return;
	find_keys(root, joinrel, outerrel, innerrel, jointype, extra->restrictlist, &keys);
	if (keys.columns == NIL || zsscan_any_may_raise(keys.hashclauses, NULL))
		return;
	if (!find_shares(root, outerrel, innerrel, &keys))
		return;

	/* what is added to the join's paths is never among those of its sides */
	outers = outerrel->pathlist;
	foreach(lc, outers)
	{
		path = make_join(root, joinrel, lfirst(lc), inner, jointype, extra, &keys, false);
		if (path != NULL)
			add_path(joinrel, path);
	}
	if (joinrel->consider_parallel)
		add_partial_joins(root, joinrel, outerrel, innerrel, jointype, extra, &keys);
}
