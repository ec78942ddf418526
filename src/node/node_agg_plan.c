/*-------------------------------------------------------------------------
 *
 * node_agg_plan.c
 *	  Plans aggregates over one zedstore table as a scan of its own.
 *
 * Core's plan brings every row of a scan to the aggregate one by one; most of the time goes into
 * the steps of the executor.  The scan made here takes batches, applies the filter
 * to whole columns, and returns aggregates.
 *
 * The path is offered for a query over one table, or for one partition in a partitionwise plan, all
 * of whose filter consists of comparisons that programs know (qual_compile.c), whose
 * aggregates are known, with arguments that are columns or expressions for which there are
 * programs, and which is grouped, if at all, by columns or expressions of types that
 * group_key.c knows.  Filter clauses are in core's order, since some may raise errors.
 * HAVING and what the query makes of the aggregates are the executor's.
 *
 * With parallel workers each process aggregates a share of the table (node_agg_partial.c), and
 * partitions may be aggregated in parts (node_agg_partition.c).  What has no programs, or is not
 * one table, may take the rows of core's plan (node_agg_rows.c).
 *
 * custom_scan_tlist: keys, then aggregates.  custom_private: ZsAggPrivate.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_class_d.h"
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
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"

#include "node_agg_fold.h"
#include "node_agg_plan.h"
#include "node_top.h"
#include "zs_agg.h"
#include "zs_agg_group.h"
#include "zs_base.h"
#include "zs_base_plan.h"
#include "zs_cost.h"
#include "zs_expr_filter.h"
#include "zs_expr_guc.h"
#include "zs_node.h"

static create_upper_paths_hook_type next_upper_paths_hook = NULL;

/* ---- is it ours? ----------------------------------------------------------------- */

/* Is the input one zedstore table that is scanned as a whole? */
static bool
input_is_table(PlannerInfo *root, RelOptInfo *rel)
{
	RangeTblEntry *rte;

	if ((rel->reloptkind != RELOPT_BASEREL && rel->reloptkind != RELOPT_OTHER_MEMBER_REL) ||
		rel->rtekind != RTE_RELATION || IS_DUMMY_REL(rel) || !bms_is_empty(rel->lateral_relids) ||
		!zscost_is_whole_table(rel))
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

/*
 * Are there programs for the filter, all keys and all aggregates?  *divisible: core can combine
 * what processes have seen of these.
 */
static bool
can_run(Relation rel, Index varno, List *filter, List *keys, List *eqops, List *aggrefs,
		bool *divisible)
{
	TupleDesc	desc = RelationGetDescr(rel);
	ListCell   *lc;
	ListCell   *lc2;

	Assert(list_length(keys) == list_length(eqops));
	*divisible = true;
	if (!zsexpr_filter_possible(desc, varno, filter))
		return false;
	forboth(lc, keys, lc2, eqops)
	{
		ZsGroupKey	key;

		if (!zsnode_group_classify_folded(desc, varno, lfirst(lc), lfirst_oid(lc2), &key))
			return false;
	}
	foreach(lc, aggrefs)
	{
		ZsAgg		agg;

		if (!zsnode_agg_classify_folded(desc, varno, lfirst_node(Aggref, lc), &agg))
			return false;
		*divisible &= zsagg_has_partial(&agg);
	}
	return true;
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
			zsnode_agg_resolve_inputs(list_nth(private, ZS_AGG_INPUTS),
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
	cscan->scan.plan.qual = copyObject(zsexpr_qual_order(root,
														 list_nth(path->custom_private,
																  ZS_AGG_HAVING)));
	cscan->scan.scanrelid = intVal(list_nth(private, ZS_AGG_RELID));
	Assert((cscan->scan.scanrelid == 0) == (custom_plans != NIL));
	cscan->flags = path->flags;
	cscan->custom_plans = custom_plans;
	cscan->custom_private = private;
	cscan->methods = &zsnode_agg_scan_methods;
	return &cscan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "ZedstoreAgg",
	.PlanCustomPath = plan_agg,
};

const CustomScanMethods zsnode_agg_scan_methods = {
	.CustomName = "ZedstoreAgg",
	.CreateCustomScanState = zsnode_agg_create_state,
};

/* See node_agg_plan.h. */
CustomPath *
zsnode_agg_make_path(const ZsAggQuery *query, PathTarget *target, List *aggrefs, Path *child,
					 List *filter, List *inputs, ZsAggSplit split)
{
	CustomPath *path = makeNode(CustomPath);
	bool		partial = split == ZS_SPLIT_FOR_CORE || split == ZS_SPLIT_FOR_OURS;
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
	private = list_make5(zsbase_private_name(),
						 makeInteger(child != NULL ? 0 : (int) query->rel->relid), filter,
						 query->eqops, makeInteger(split));
	for (int i = 0; i < 3; i++)
		private = lappend(private, i < list_length(inputs) ? list_nth(inputs, i) : NIL);
	private = lappend(private, list_concat_copy(query->keys, aggrefs));
	path->custom_private = lappend(private, partial ? NIL : (List *) query->extra->havingQual);
	Assert(list_length(path->custom_private) == ZS_AGG_HAVING + 1);
	if (!partial)
		path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	return path;
}

/*
 * The filter of the query's table in core's order, and whether core can combine the aggregates;
 * false: there is no program for the query.
 */
static bool
find_filter(const ZsAggQuery *query, List **filter, bool *divisible)
{
	PlannerInfo *root = query->root;
	RelOptInfo *rel = query->rel;
	MemoryContext programs;
	MemoryContext old;
	Relation	table;
	bool		result;
	ListCell   *lc;

	if (!input_is_table(root, rel))
		return false;
	foreach(lc, zsexpr_qual_order(root, rel->baserestrictinfo))
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		/* those without columns decide whether there is a scan at all */
		if (rinfo->pseudoconstant)
			return false;
		*filter = lappend(*filter, rinfo->clause);
	}
	table = table_open(planner_rt_fetch(rel->relid, root)->relid, NoLock);
	/* the executor makes programs of its own */
	programs = AllocSetContextCreate(CurrentMemoryContext, "zedstore program",
									 ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(programs);
	result = can_run(table, rel->relid, *filter, query->keys, query->eqops, query->aggrefs,
					 divisible);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(programs);
	table_close(table, NoLock);
	return result;
}

/* What one of divisor processes needs to aggregate its rows of the table. */
static Cost
aggregation_cost(const ZsAggQuery *query, List *filter, double ngroups, double divisor)
{
	Cost		cost = zsnode_agg_table_cost(query, filter, ngroups, divisor);

	if (!zsnode_agg_is_in_key_order(query))
		cost += zsnode_agg_spill_cost(query, query->rel->rows / divisor);
	return cost;
}

/* See node_agg_plan.h. */
CustomPath *
zsnode_agg_partial_table_path(const ZsAggQuery *query, PathTarget *target, List *aggrefs)
{
	List	   *filter = NIL;
	CustomPath *path;
	bool		divisible;

	if (!find_filter(query, &filter, &divisible) || !divisible)
		return NULL;
	path = zsnode_agg_make_path(query, target, aggrefs, NULL, filter, NIL, ZS_SPLIT_FOR_CORE);
	zsnode_agg_set_cost(query, path, aggregation_cost(query, filter, query->ngroups, 1),
						query->ngroups);
	return path;
}

/* Adds the plan in which workers aggregate shares of the table. */
static void
add_parallel_paths(const ZsAggQuery *query, List *filter, int workers, ZsAggSplit split)
{
	double		divisor = zscost_parallel_divisor(workers);
	double		npartial = zsnode_agg_partial_groups(query, divisor);
	List	   *aggrefs = NIL;
	PathTarget *target = zsnode_agg_partial_target(query, split, &aggrefs);
	CustomPath *path = zsnode_agg_make_path(query, target, aggrefs, NULL, filter, NIL, split);

	Assert(workers > 0);
	path->path.parallel_aware = true;
	path->path.parallel_workers = workers;
	path->path.rows = npartial;
	zsnode_agg_set_cost(query, path, aggregation_cost(query, filter, npartial, divisor),
						npartial);
	if (split == ZS_SPLIT_FOR_CORE)
		zsnode_agg_add_gathered(query, &path->path);
	else
		zsnode_agg_add_combining(query, &path->path, aggrefs);
}

/* Adds the paths over the table; false if there is no program for the query. */
static bool
add_table_paths(const ZsAggQuery *query)
{
	RelOptInfo *rel = query->rel;
	List	   *filter = NIL;
	CustomPath *path;
	bool		divisible;
	int			workers = 0;
	ListCell   *lc;

	if (!find_filter(query, &filter, &divisible))
		return false;

	/* as many workers as the best of core's partial paths has (cost_workers.c) */
	foreach(lc, rel->partial_pathlist)
		workers = Max(workers, ((Path *) lfirst(lc))->parallel_workers);
	if (workers > 0 && zsnode_agg_can_divide(query))
	{
		bool		combining = zsnode_agg_can_combine(query);

		if (combining)
			add_parallel_paths(query, filter, workers, ZS_SPLIT_FOR_OURS);
		else if (divisible)
		{
			add_parallel_paths(query, filter, workers, ZS_SPLIT_FOR_CORE);
			combining = true;
		}
		if (combining && zs_debug_vector != ZS_DEBUG_VECTOR_OFF && parallel_setup_cost == 0)
			return true;
	}

	path = zsnode_agg_make_path(query, query->target, query->aggrefs, NULL, filter,
								NIL, ZS_SPLIT_NONE);
	zsnode_agg_set_cost(query, path, aggregation_cost(query, filter, query->ngroups, 1),
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

	if (IS_SIMPLE_REL(rel) &&
		zscost_is_beaten(query->grouped_rel->pathlist, zsnode_agg_least_cost(query)))
		return;
	if (add_table_paths(query) ||
		(zsnode_agg_add_partition_paths(query) && zs_debug_vector != ZS_DEBUG_VECTOR_OFF))
		return;
	zsnode_agg_add_row_paths(query);
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
zsnode_agg_init(void)
{
	RegisterCustomScanMethods(&zsnode_agg_scan_methods);
	zsnode_top_init();
	next_upper_paths_hook = create_upper_paths_hook;
	create_upper_paths_hook = create_upper_paths;
}
