/*-------------------------------------------------------------------------
 *
 * vector_agg_plan.c
 *	  Plans aggregates over one zedstore table as a scan of its own.
 *
 * Core's plan brings every row of a scan to the aggregate one by one; most of the time goes into
 * the steps of the executor.  The scan made here takes batches, applies the filter
 * to whole columns, and returns aggregates.
 *
 * The path is offered for a query over one table, or for one partition in a partitionwise plan, all
 * of whose filter consists of comparisons that programs know (vector_qual_compile.c), whose
 * aggregates are known, with arguments that are columns or expressions for which there are
 * programs, and which is grouped, if at all, by columns or expressions of types that vector_group.c
 * knows.  Filter clauses are in core's order, since some may raise errors.  HAVING and what the
 * query makes of the aggregates are the executor's.
 *
 * With parallel workers each process aggregates a share of the table (vector_agg_partial.c).  What
 * has no programs, or is not one table, may take the rows of core's plan (vector_agg_rows.c).
 *
 * custom_scan_tlist: keys, then aggregates.  custom_private: ZsAggPrivate.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_agg_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_class_d.h"
#include "catalog/pg_statistic.h"
#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

#include "vector_agg.h"
#include "vector_agg_filter.h"
#include "vector_agg_fold.h"
#include "vector_agg_plan.h"
#include "vector_group.h"
#include "vector_internal.h"
#include "vector_top.h"
#include "zs_base.h"
#include "zs_vector.h"

/* What a group takes beside its keys and its aggregates' values, in bytes. */
#define GROUP_SIZE		40

/* Rows are in the order of a key where its correlation with their places is at least this. */
#define KEY_ORDER		0.98

static create_upper_paths_hook_type next_upper_paths_hook = NULL;

/* ---- is it ours? ----------------------------------------------------------------- */

/* Is the input one zedstore table that is scanned as a whole? */
static bool
input_is_table(PlannerInfo *root, RelOptInfo *rel)
{
	RangeTblEntry *rte;

	if ((rel->reloptkind != RELOPT_BASEREL && rel->reloptkind != RELOPT_OTHER_MEMBER_REL) ||
		rel->rtekind != RTE_RELATION || IS_DUMMY_REL(rel) || !bms_is_empty(rel->lateral_relids))
		return false;
	rte = planner_rt_fetch(rel->relid, root);
	return rte->rtekind == RTE_RELATION && !rte->inh && rte->tablesample == NULL &&
		(rte->relkind == RELKIND_RELATION || rte->relkind == RELKIND_MATVIEW) &&
		zsbase_is_zedstore_am(get_rel_relam(rte->relid));
}

static bool
query_is_simple(PlannerInfo *root)
{
	Query	   *parse = root->parse;

	/* grouped by constants alone there are no groups without rows */
	return parse->commandType == CMD_SELECT && (parse->hasAggs || parse->groupClause != NIL) &&
		(parse->groupClause == NIL) == (root->processed_groupClause == NIL) &&
		list_length(root->processed_groupClause) <= ZS_MAX_GROUP_KEYS &&
		parse->groupingSets == NIL && !parse->hasTargetSRFs && parse->rowMarks == NIL;
}

typedef struct CollectContext
{
	List	   *keys;
	List	  **aggrefs;
} CollectContext;

static bool
collect_walker(Node *node, void *arg)
{
	CollectContext *context = arg;

	if (node == NULL || list_member(context->keys, node))
		return false;
	if (IsA(node, Aggref))
	{
		*context->aggrefs = list_append_unique(*context->aggrefs, node);
		return false;
	}
	if (IsA(node, Var) || IsA(node, PlaceHolderVar) || IsA(node, GroupingFunc))
		return true;
	return expression_tree_walker(node, collect_walker, arg);
}

/*
 * All aggregates of the expressions, each once; false if there is a column beside them that is in
 * no key.
 */
static bool
collect_aggregates(List *exprs, List *keys, List **aggrefs)
{
	CollectContext context = {.keys = keys,.aggrefs = aggrefs};

	return !collect_walker((Node *) exprs, &context);
}

/* Are there programs for the filter, all keys and all aggregates? */
static bool
can_run(Oid relid, Index varno, List *filter, List *keys, List *eqops, List *aggrefs)
{
	Relation	rel = table_open(relid, NoLock);
	TupleDesc	desc = RelationGetDescr(rel);
	bool		result = zsvector_agg_filter_possible(desc, varno, filter);
	ListCell   *lc;
	ListCell   *lc2;

	Assert(list_length(keys) == list_length(eqops));
	forboth(lc, keys, lc2, eqops)
	{
		ZsGroupKey	key;

		result = result && zsvector_group_classify_folded(desc, varno, lfirst(lc),
														  lfirst_oid(lc2), &key);
	}
	foreach(lc, aggrefs)
	{
		ZsAgg		agg;

		result = result && zsvector_agg_classify_folded(desc, varno, lfirst_node(Aggref, lc), &agg);
	}
	table_close(rel, NoLock);
	return result;
}

/* Can core combine what processes have seen of the aggregates? */
static bool
can_combine(Oid relid, Index varno, List *aggrefs)
{
	Relation	rel = table_open(relid, NoLock);
	bool		result = true;
	ListCell   *lc;

	foreach(lc, aggrefs)
	{
		ZsAgg		agg;

		result = result && zsvector_agg_classify_folded(RelationGetDescr(rel), varno,
												 lfirst_node(Aggref, lc), &agg) &&
			zsvector_agg_has_partial(&agg);
	}
	table_close(rel, NoLock);
	return result;
}

/* ---- path --------------------------------------------------------------------------- */

/* Keys with a SubPlan are columns of the plan below, which has its parameters. */
static bool
collect_params(Node *node, List **params)
{
	if (node == NULL || IsA(node, SubPlan))
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		*params = list_append_unique(*params, node);
	return expression_tree_walker(node, collect_params, params);
}

static Plan *
plan_agg(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		 List *custom_plans)
{
	CustomScan *cscan = makeNode(CustomScan);
	List	   *private = list_copy_head(path->custom_private, ZS_AGG_SHOWN);
	AttrNumber	resno = 1;
	ListCell   *lc;

	Assert(list_length(custom_plans) <= 1);
	foreach(lc, (List *) list_nth(path->custom_private, ZS_AGG_SHOWN))
		cscan->custom_scan_tlist = lappend(cscan->custom_scan_tlist,
										   makeTargetEntry(copyObject(lfirst(lc)), resno++, NULL,
														   false));
	if (custom_plans != NIL)
		lfirst(list_nth_cell(private, ZS_AGG_INPUTS)) =
			zsvector_agg_resolve_inputs(list_nth(private, ZS_AGG_INPUTS),
										((Plan *) linitial(custom_plans))->targetlist);
	private = copyObject(private);

	/* nobody else does that for expressions in custom_private */
	fix_opfuncids((Node *) list_nth(private, ZS_AGG_FILTER));
	fix_opfuncids((Node *) list_nth(private, ZS_AGG_INPUTS));
	fix_opfuncids((Node *) list_nth(private, ZS_AGG_OVER_INPUTS));

	/* and nobody looks for parameters there, nor in custom_scan_tlist */
	(void) collect_params((Node *) list_nth(private, ZS_AGG_FILTER), &cscan->custom_exprs);
	(void) collect_params((Node *) list_nth(path->custom_private, ZS_AGG_SHOWN),
						  &cscan->custom_exprs);

	cscan->scan.plan.targetlist = tlist;
	cscan->scan.plan.qual = copyObject(zsvector_qual_order(root,
														   list_nth(path->custom_private,
																	ZS_AGG_HAVING)));
	cscan->scan.scanrelid = intVal(list_nth(private, ZS_AGG_RELID));
	Assert((cscan->scan.scanrelid == 0) == (custom_plans != NIL));
	cscan->flags = path->flags;
	cscan->custom_plans = custom_plans;
	cscan->custom_private = private;
	cscan->methods = &zsvector_agg_scan_methods;
	return &cscan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "ZedstoreAgg",
	.PlanCustomPath = plan_agg,
};

const CustomScanMethods zsvector_agg_scan_methods = {
	.CustomName = "ZedstoreAgg",
	.CreateCustomScanState = zsvector_agg_create_state,
};

/* Columns that filter and aggregates look at. */
static int
count_columns(Index varno, List *filter, List *aggrefs)
{
	Bitmapset  *attrs = NULL;
	int			count;

	pull_varattnos((Node *) filter, varno, &attrs);
	pull_varattnos((Node *) aggrefs, varno, &attrs);
	count = bms_num_members(attrs);
	bms_free(attrs);
	return count;
}

/*
 * Decoding a value and comparing or adding it takes about a nanosecond each, where the row of a
 * sequential scan takes 70 with its aggregate; a unit of cost is some 5 us.
 */
#define COST_PER_VALUE		0.0002
#define COST_PER_CLAUSE		0.0001

/* Scanning the table and making its groups; of the rows this process gets one part in divisor. */
static Cost
table_cost(RelOptInfo *rel, List *filter, const ZsAggQuery *query, double ngroups, double divisor)
{
	int			ncolumns = count_columns(rel->relid, filter,
										 list_concat_copy(query->keys, query->aggrefs));
	double		natts = Max(rel->max_attr, 1);
	double		spc_random;
	double		spc_seq;
	Cost		cost;

	Assert(divisor >= 1);
	get_tablespace_page_costs(rel->reltablespace, &spc_random, &spc_seq);
	cost = rel->tuples * (COST_PER_VALUE * ncolumns + COST_PER_CLAUSE * list_length(filter)) +
		rel->rows * ZS_COST_PER_AGG * list_length(query->aggrefs);
	if (query->keys != NIL)
		cost += rel->rows * (ZS_COST_PER_KEY * list_length(query->keys) +
							 (ngroups > ZS_LARGE_TABLE ? ZS_COST_FAR_PROBE : ZS_COST_PROBE));
	return spc_seq * rel->pages * Min(ncolumns, natts) / natts + cost / divisor;
}

/*
 * What settings such as enable_seqscan say of a scan of the table and of hashing, they say of ours.
 */
static void
mark_disabled(CustomPath *path, bool grouped)
{
	Path	   *child = path->custom_paths != NIL ? linitial(path->custom_paths) : NULL;
	int			disabled = (child != NULL || enable_seqscan ? 0 : 1) +
		(grouped && !enable_hashagg ? 1 : 0);

	Assert(list_length(path->custom_paths) <= 1);
	zs_path_add_disabled(&path->path, disabled + (child != NULL ? zs_path_disabled(child) : 0));
}

/* What a group's keys take, in bytes. */
static double
keys_width(List *keys)
{
	double		width = 0;
	ListCell   *lc;

	foreach(lc, keys)
		width += sizeof(uint64) + (get_typbyval(exprType(lfirst(lc))) ? 0 :
								   get_typavgwidth(exprType(lfirst(lc)), exprTypmod(lfirst(lc))));
	return width;
}

/* Are most groups going to be complete before the end of the scan (vector_agg_exec.c)? */
static bool
is_in_key_order(const ZsAggQuery *query)
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
		AttStatsSlot slot;

		if (!IsA(lfirst(lc), Var) || !get_typbyval(exprType(lfirst(lc))))
			continue;
		examine_variable(query->root, lfirst(lc), 0, &vardata);
		if (HeapTupleIsValid(vardata.statsTuple) &&
			get_attstatsslot(&slot, vardata.statsTuple, STATISTIC_KIND_CORRELATION, InvalidOid,
							 ATTSTATSSLOT_NUMBERS))
		{
			in_order |= slot.nnumbers == 1 && fabs(slot.numbers[0]) >= KEY_ORDER;
			free_attstatsslot(&slot);
		}
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

/* See vector_agg_plan.h. */
Cost
zsvector_agg_spill_cost(const ZsAggQuery *query)
{
	double		limit = (double) get_hash_memory_limit();
	double		width = keys_width(query->keys);
	int			naggs = list_length(query->aggrefs);
	double		nrows = query->rel->rows;
	double		size = GROUP_SIZE + width + naggs * sizeof(ZsAggValue) / 2;
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
		width = sizeof(uint64) + keys_width(list_make1(llast(pair)));
		cost += cost_of_files(nrows, width,
							  estimate_num_groups(query->root, pair, nrows, NULL, NULL),
							  GROUP_SIZE + width, limit / nsets);
	}
	return cost;
}

/* See vector_agg_plan.h. */
void
zsvector_agg_set_cost(const ZsAggQuery *query, CustomPath *custom, Cost run_cost, double ngroups)
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
	mark_disabled(custom, query->keys != NIL);
}

/* See vector_agg_plan.h. */
CustomPath *
zsvector_agg_make_path(const ZsAggQuery *query, PathTarget *target, List *aggrefs, Path *child,
					   List *filter, List *inputs, bool partial)
{
	CustomPath *path = makeNode(CustomPath);
	List	   *private;

	Assert((child != NULL) == (inputs != NIL) && list_length(inputs) <= 3);
	Assert(child == NULL || filter == NIL);
	path->path.pathtype = T_CustomScan;
	path->path.parent = query->parent;
	path->path.pathtarget = target;
	path->path.parallel_safe = query->rel->consider_parallel &&
		query->grouped_rel->consider_parallel &&
		(child == NULL || child->parallel_safe);
	path->methods = &path_methods;
	if (child != NULL)
		path->custom_paths = list_make1(child);
	private = list_make4(makeInteger(child != NULL ? 0 : (int) query->rel->relid), filter,
						 query->eqops, makeBoolean(partial));
	for (int i = 0; i < 3; i++)
		private = lappend(private, i < list_length(inputs) ? list_nth(inputs, i) : NIL);
	private = lappend(private, list_concat_copy(query->keys, aggrefs));
	path->custom_private = lappend(private, partial ? NIL : (List *) query->extra->havingQual);
	Assert(list_length(path->custom_private) == ZS_AGG_HAVING + 1);
	if (!partial)
		path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	return path;
}

/* Adds the paths over the table; false if there is no program for the query. */
static bool
add_table_paths(const ZsAggQuery *query)
{
	PlannerInfo *root = query->root;
	RelOptInfo *rel = query->rel;
	List	   *filter = NIL;
	List	   *partial_aggrefs = NIL;
	CustomPath *path;
	PathTarget *target;
	int			workers = 0;
	RangeTblEntry *rte;
	ListCell   *lc;

	if (!input_is_table(root, rel))
		return false;
	rte = planner_rt_fetch(rel->relid, root);
	foreach(lc, zsvector_qual_order(root, rel->baserestrictinfo))
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		/* those without columns decide whether there is a scan at all */
		if (rinfo->pseudoconstant)
			return false;
		filter = lappend(filter, rinfo->clause);
	}
	if (!can_run(rte->relid, rel->relid, filter, query->keys, query->eqops, query->aggrefs))
		return false;

	/* as many workers as the best of core's partial paths has (vector_parallel.c) */
	foreach(lc, rel->partial_pathlist)
		workers = Max(workers, ((Path *) lfirst(lc))->parallel_workers);
	if (workers > 0 && zsvector_agg_can_divide(query) &&
		can_combine(rte->relid, rel->relid, query->aggrefs))
	{
		double		divisor = zsvector_agg_divisor(workers);
		double		npartial = zsvector_agg_partial_groups(query, divisor);

		target = zsvector_agg_partial_target(query, &partial_aggrefs);
		path = zsvector_agg_make_path(query, target, partial_aggrefs, NULL, filter, NIL, true);
		path->path.parallel_aware = true;
		path->path.parallel_workers = workers;
		path->path.rows = npartial;
		zsvector_agg_set_cost(query, path, table_cost(rel, filter, query, npartial, divisor),
							  npartial);
		zsvector_agg_add_gathered(query, path);
		if (zs_debug_vector != ZS_DEBUG_VECTOR_OFF && parallel_setup_cost == 0)
			return true;
	}

	path = zsvector_agg_make_path(query, query->target, query->aggrefs, NULL, filter,
								  NIL, false);
	zsvector_agg_set_cost(query, path, table_cost(rel, filter, query, query->ngroups, 1) +
						  (is_in_key_order(query) ? 0 : zsvector_agg_spill_cost(query)),
						  query->ngroups);
	add_path(query->grouped_rel, &path->path);
	return true;
}

/* ---- the hook --------------------------------------------------------------------------- */

/* Adds paths for a query that has everything but its keys and aggregates. */
static void
add_paths(ZsAggQuery *query, List *clauses)
{
	RelOptInfo *rel = query->rel;
	ListCell   *lc;

	Assert(query->keys == NIL && query->aggrefs == NIL);
	Assert(list_length(clauses) <= ZS_MAX_GROUP_KEYS);
	foreach(lc, clauses)
	{
		SortGroupClause *sgc = lfirst_node(SortGroupClause, lc);

		query->keys = lappend(query->keys, get_sortgroupclause_expr(sgc, query->extra->targetList));
		query->eqops = lappend_oid(query->eqops, sgc->eqop);
	}
	if (!collect_aggregates(query->target->exprs, query->keys, &query->aggrefs) ||
		!collect_aggregates((List *) query->extra->havingQual, query->keys, &query->aggrefs) ||
		(query->aggrefs == NIL && query->keys == NIL))
		return;
	query->ngroups = 1;
	if (query->keys != NIL)
		query->ngroups = estimate_num_groups(query->root, query->keys, rel->rows, NULL, NULL);

	/*
	 * EXPLAIN wants to know the tables of a plan node; those of upper relations are not known to
	 * all versions
	 */
	query->parent = makeNode(RelOptInfo);
	*query->parent = *query->grouped_rel;
	query->parent->relids = rel->relids;

	if (!add_table_paths(query))
		zsvector_agg_add_row_paths(query);
}

static void
add_agg_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped_rel,
			  GroupPathExtraData *extra)
{
	ZsAggQuery	query = {.root = root,.rel = rel,.grouped_rel = grouped_rel,.extra = extra,
	.target = grouped_rel->reltarget};

	if (zs_enable_vector_agg && query_is_simple(root) &&
		extra->patype != PARTITIONWISE_AGGREGATE_PARTIAL && !IS_DUMMY_REL(rel))
		add_paths(&query, root->processed_groupClause);
}

/* SELECT DISTINCT without any grouping before it is grouping by all columns. */
static void
add_distinct_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *distinct_rel)
{
	Query	   *parse = root->parse;
	GroupPathExtraData extra = {.targetList = root->processed_tlist};
	ZsAggQuery	query = {.root = root,.rel = rel,.grouped_rel = distinct_rel,.extra = &extra};

	if (!zs_enable_vector_agg || parse->commandType != CMD_SELECT || parse->hasAggs ||
		parse->groupClause != NIL || parse->groupingSets != NIL || parse->hasWindowFuncs ||
		parse->havingQual != NULL || parse->hasDistinctOn || parse->hasTargetSRFs ||
		parse->rowMarks != NIL || root->processed_distinctClause == NIL ||
		list_length(root->processed_distinctClause) > ZS_MAX_GROUP_KEYS || IS_DUMMY_REL(rel))
		return;
	query.target = rel->cheapest_total_path->pathtarget;
	add_paths(&query, root->processed_distinctClause);
}

static void
create_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
				   RelOptInfo *output_rel, void *extra)
{
	if (next_upper_paths_hook)
		next_upper_paths_hook(root, stage, input_rel, output_rel, extra);
	if (stage == UPPERREL_GROUP_AGG)
		add_agg_paths(root, input_rel, output_rel, extra);
	else if (stage == UPPERREL_DISTINCT)
		add_distinct_paths(root, input_rel, output_rel);
}

/* Makes the plans known to core.  Called once, when the library is loaded. */
void
zsvector_agg_init(void)
{
	RegisterCustomScanMethods(&zsvector_agg_scan_methods);
	zsvector_top_init();
	next_upper_paths_hook = create_upper_paths_hook;
	create_upper_paths_hook = create_upper_paths;
}
