/*-------------------------------------------------------------------------
 *
 * vector_agg_plan.c
 *	  Plans aggregates over one zedstore table as a scan of its own.
 *
 * Core's plan brings every row of a scan to the aggregate one by one; most of the time goes into
 * the steps of the executor.  The scan made here takes batches, applies the filter
 * to whole columns, and returns aggregates.
 *
 * The path is offered for a query over one table, or for one partition in a
 * partitionwise plan, all of whose filter consists of comparisons that programs know
 * (vector_qual_compile.c), whose aggregates are known and have columns as arguments, and which is grouped by columns if at all.  Nothing of that can raise
 * an error but the aggregates themselves, so neither the order of filter clauses nor that of security
 * levels shows.  HAVING and what the query makes of the aggregates are the executor's.
 *
 * Where the table is worth parallel workers, a second path is offered: each process aggregates the share of the table that it gets, and
 * a Finalize Agg node of core's combines what Gather brings.  Core calls no hook for the partial part, so the whole
 * chain is made here.
 *
 * custom_private of the path: the table's range table index, the filter, keys and aggregates, HAVING, equality operators of the keys,
 * whether it is partial; of the plan: the first two and the last two.  custom_scan_tlist: keys, then aggregates.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_agg_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_class_d.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

#include "vector_agg.h"
#include "vector_group.h"
#include "vector_internal.h"
#include "zs_base.h"
#include "zs_vector.h"

/* What a group takes beside its keys and its aggregates' values, in bytes. */
#define GROUP_SIZE		40

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

/* All aggregates of the expressions, each once; false if there is a column beside them that is no key. */
static bool
collect_aggregates(List *exprs, List *keys, List **aggrefs)
{
	List	   *vars = pull_var_clause((Node *) exprs, PVC_INCLUDE_AGGREGATES |
									   PVC_RECURSE_WINDOWFUNCS | PVC_INCLUDE_PLACEHOLDERS);
	ListCell   *lc;

	foreach(lc, vars)
	{
		if (list_member(keys, lfirst(lc)))
			continue;
		if (!IsA(lfirst(lc), Aggref))
			return false;
		*aggrefs = list_append_unique(*aggrefs, lfirst(lc));
	}
	return true;
}

/* Are there programs for the filter, all keys and all aggregates? */
static bool
can_run(Oid relid, Index varno, List *filter, List *keys, List *eqops, List *aggrefs)
{
	Relation	rel = table_open(relid, NoLock);
	TupleDesc	desc = RelationGetDescr(rel);
	bool		result = zsvector_qual_compile(desc, varno, (Node *) filter) != NULL;
	ListCell   *lc;
	ListCell   *lc2;

	forboth(lc, keys, lc2, eqops)
	{
		ZsGroupKey	key;

		result = result && zsvector_group_classify(desc, varno, lfirst(lc), lfirst_oid(lc2), &key);
	}
	foreach(lc, aggrefs)
	{
		ZsAgg		agg;

		result = result && zsvector_agg_classify(desc, varno, lfirst_node(Aggref, lc), &agg);
	}
	table_close(rel, NoLock);
	return result;
}

/* ---- path --------------------------------------------------------------------------- */

static Plan *
plan_agg(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		 List *custom_plans)
{
	CustomScan *cscan = makeNode(CustomScan);
	List	   *filter = copyObject(lsecond(path->custom_private));
	AttrNumber	resno = 1;
	ListCell   *lc;

	/* nobody else does that for expressions in custom_private */
	fix_opfuncids((Node *) filter);
	foreach(lc, (List *) lthird(path->custom_private))
		cscan->custom_scan_tlist = lappend(cscan->custom_scan_tlist,
										   makeTargetEntry(copyObject(lfirst(lc)), resno++, NULL, false));
	cscan->scan.plan.targetlist = tlist;
	cscan->scan.plan.qual = copyObject(lfourth(path->custom_private));
	cscan->scan.scanrelid = intVal(linitial(path->custom_private));
	cscan->flags = path->flags;
	cscan->custom_private = list_make4(linitial(path->custom_private), filter,
									   list_nth(path->custom_private, 4),
									   list_nth(path->custom_private, 5));
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
#define COST_PER_AGG		0.0002
#define COST_PER_KEY		0.0004
#define COST_PROBE			0.001	/* while the table of groups is near */
#define COST_FAR_PROBE		0.005
#define LARGE_TABLE			10000	/* groups */

/* divisor: of the rows this process gets one part */
static void
cost_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *filter, List *keys, List *aggrefs,
		  List *having, double ngroups, double npasses, double divisor)
{
	int			ncolumns = count_columns(rel->relid, filter, list_concat_copy(keys, aggrefs));
	double		natts = Max(rel->max_attr, 1);
	double		spc_random;
	double		spc_seq;
	Cost		cost;

	get_tablespace_page_costs(rel->reltablespace, &spc_random, &spc_seq);
	cost = rel->tuples * (COST_PER_VALUE * ncolumns + COST_PER_CLAUSE * list_length(filter)) +
		rel->rows * COST_PER_AGG * list_length(aggrefs);
	if (keys != NIL)
		cost += rel->rows * (COST_PER_KEY * list_length(keys) +
							 (ngroups > LARGE_TABLE ? COST_FAR_PROBE : COST_PROBE));
	cost = spc_seq * rel->pages * Min(ncolumns, natts) / natts + cost / divisor;
	cost *= npasses;
	if (zs_debug_vector != ZS_DEBUG_VECTOR_OFF)
		cost = 0;
	path->path.startup_cost = cost;
	path->path.total_cost = cost + cpu_tuple_cost * ngroups;
	if (having != NIL && zs_debug_vector == ZS_DEBUG_VECTOR_OFF)
	{
		QualCost	qual;

		cost_qual_eval(&qual, having, root);
		path->path.startup_cost += qual.startup;
		path->path.total_cost += qual.startup + qual.per_tuple * ngroups;
	}
	if (zs_debug_vector == ZS_DEBUG_VECTOR_OFF)
	{
		path->path.startup_cost += path->path.pathtarget->cost.startup;
		path->path.total_cost += path->path.pathtarget->cost.startup +
			path->path.pathtarget->cost.per_tuple * ngroups;
	}
}

/* What settings such as enable_seqscan say of a scan of the table and of hashing, they say of ours. */
static void
mark_disabled(CustomPath *path, bool grouped)
{
	int			disabled = (enable_seqscan ? 0 : 1) + (grouped && !enable_hashagg ? 1 : 0);

	if (zs_debug_vector != ZS_DEBUG_VECTOR_OFF)
		return;
#ifdef ZS_PG18
	path->path.disabled_nodes = disabled;
#else
	path->path.startup_cost += disabled * disable_cost;
	path->path.total_cost += disabled * disable_cost;
#endif
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

/* The path itself, without costs.  target: what it returns; having: what that is filtered by. */
static CustomPath *
make_path(RelOptInfo *rel, RelOptInfo *parent, PathTarget *target, List *filter, List *keys,
		  List *eqops, List *aggrefs, List *having, bool partial)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = parent;
	path->path.pathtarget = target;
	path->path.parallel_safe = rel->consider_parallel && parent->consider_parallel;
	path->methods = &path_methods;
	path->custom_private = list_make5(makeInteger(rel->relid), filter, list_concat_copy(keys, aggrefs),
									  having, eqops);
	path->custom_private = lappend(path->custom_private, makeBoolean(partial));
	return path;
}

/* ---- partial aggregation -------------------------------------------------------------- */

/* Keys, and the aggregates of target and HAVING as partial ones; as make_partial_grouping_target() of the server. */
static PathTarget *
make_partial_target(PlannerInfo *root, PathTarget *target, Node *having, List **aggrefs)
{
	PathTarget *partial = create_empty_pathtarget();
	List	   *others = NIL;
	ListCell   *lc;

	foreach(lc, target->exprs)
	{
		Index		sgref = get_pathtarget_sortgroupref(target, foreach_current_index(lc));

		if (sgref != 0 &&
			get_sortgroupref_clause_noerr(sgref, root->processed_groupClause) != NULL)
			add_column_to_pathtarget(partial, lfirst(lc), sgref);
		else
			others = lappend(others, lfirst(lc));
	}
	if (having != NULL)
		others = lappend(others, having);
	add_new_columns_to_pathtarget(partial, pull_var_clause((Node *) others, PVC_INCLUDE_AGGREGATES |
														   PVC_RECURSE_WINDOWFUNCS |
														   PVC_INCLUDE_PLACEHOLDERS));
	foreach(lc, partial->exprs)
	{
		Aggref	   *aggref;

		if (!IsA(lfirst(lc), Aggref))
			continue;
		aggref = makeNode(Aggref);
		memcpy(aggref, lfirst(lc), sizeof(Aggref));
		mark_partial_aggref(aggref, AGGSPLIT_INITIAL_SERIAL);
		lfirst(lc) = aggref;
		*aggrefs = lappend(*aggrefs, aggref);
	}
	return set_pathtarget_cost_width(root, partial);
}

/* What core divides the work of a partial path by. */
static double
parallel_divisor(int workers)
{
	double		leader = parallel_leader_participation ? 1.0 - 0.3 * workers : 0;

	return workers + Max(leader, 0);
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

		result = result && zsvector_agg_classify(RelationGetDescr(rel), varno, lfirst_node(Aggref, lc), &agg) &&
			zsvector_agg_has_partial(&agg);
	}
	table_close(rel, NoLock);
	return result;
}

/* Core's last step over a path that returns partial aggregates. */
static void
add_final_path(PlannerInfo *root, RelOptInfo *grouped_rel, GroupPathExtraData *extra, Path *path,
			   AggStrategy strategy, List *clauses, double ngroups)
{
	AggClauseCosts costs = {0};
	Path	   *final;

	if (root->parse->hasAggs)
		get_agg_clause_costs(root, AGGSPLIT_FINAL_DESERIAL, &costs);
	if (strategy == AGG_SORTED && !root->parse->hasAggs)
		final = (Path *) create_group_path(root, grouped_rel, path, clauses,
										   (List *) extra->havingQual, ngroups);
	else
		final = (Path *) create_agg_path(root, grouped_rel, path, grouped_rel->reltarget, strategy,
										 AGGSPLIT_FINAL_DESERIAL, clauses,
										 (List *) extra->havingQual, &costs, ngroups);
	if (zs_debug_vector != ZS_DEBUG_VECTOR_OFF)
	{
		final->startup_cost = 0;
		final->total_cost = cpu_tuple_cost * ngroups;
	}
	add_path(grouped_rel, final);
}

/*
 * Adds the plans whose processes aggregate a share of the table each; false if there are none.  As many workers as the best of core's
 * partial paths has (vector_parallel.c).
 */
static bool
add_gathered_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped_rel, RelOptInfo *parent,
				   GroupPathExtraData *extra, List *filter, List *keys, List *eqops, double ngroups)
{
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	List	   *aggrefs = NIL;
	int			workers = 0;
	double		divisor;
	double		npartial = 1;
	double		nrows;
	PathTarget *target;
	CustomPath *partial;
	Path	   *gather;
	ListCell   *lc;

	if (!rel->consider_parallel || !grouped_rel->consider_parallel ||
		(extra->flags & GROUPING_CAN_PARTIAL_AGG) == 0)
		return false;
	foreach(lc, rel->partial_pathlist)
		workers = Max(workers, ((Path *) lfirst(lc))->parallel_workers);
	if (workers == 0)
		return false;
	target = make_partial_target(root, grouped_rel->reltarget, extra->havingQual, &aggrefs);
	if (!can_combine(rte->relid, rel->relid, aggrefs))
		return false;

	divisor = parallel_divisor(workers);
	if (keys != NIL)
		npartial = estimate_num_groups(root, keys, clamp_row_est(rel->rows / divisor), NULL, NULL);
	partial = make_path(rel, parent, target, filter, keys, eqops, aggrefs, NIL, true);
	partial->path.parallel_aware = true;
	partial->path.parallel_workers = workers;
	partial->path.rows = npartial;
	cost_path(root, rel, partial, filter, keys, aggrefs, NIL, npartial, 1, divisor);
	mark_disabled(partial, keys != NIL);

	nrows = clamp_row_est(npartial * divisor);
	gather = (Path *) create_gather_path(root, parent, &partial->path, target, NULL, &nrows);
	if (keys == NIL)
	{
		add_final_path(root, grouped_rel, extra, gather, AGG_PLAIN, NIL, 1);
		return true;
	}
	if ((extra->flags & GROUPING_CAN_USE_HASH) != 0)
		add_final_path(root, grouped_rel, extra, gather, AGG_HASHED, root->processed_groupClause,
					   ngroups);
	if ((extra->flags & GROUPING_CAN_USE_SORT) != 0)
	{
		/* without the columns by which the inputs of aggregates are ordered */
		List	   *pathkeys = list_copy_head(root->group_pathkeys, root->num_groupby_pathkeys);

		add_final_path(root, grouped_rel, extra,
					   (Path *) create_sort_path(root, parent, gather, pathkeys, -1.0),
					   AGG_SORTED, root->processed_groupClause, ngroups);
	}
	return true;
}

/* ---- the hook --------------------------------------------------------------------------- */

static void
add_agg_path(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped_rel, GroupPathExtraData *extra)
{
	RangeTblEntry *rte;
	RelOptInfo *parent;
	CustomPath *path;
	List	   *filter = NIL;
	List	   *keys = NIL;
	List	   *eqops = NIL;
	List	   *aggrefs = NIL;
	double		ngroups = 1;
	double		npasses = 1;
	ListCell   *lc;

	if (!zs_enable_vector_agg || !query_is_simple(root) || !input_is_table(root, rel) ||
		extra->patype == PARTITIONWISE_AGGREGATE_PARTIAL)
		return;
	rte = planner_rt_fetch(rel->relid, root);
	foreach(lc, rel->baserestrictinfo)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		/* those without columns decide whether there is a scan at all */
		if (rinfo->pseudoconstant)
			return;
		filter = lappend(filter, rinfo->clause);
	}
	foreach(lc, root->processed_groupClause)
	{
		SortGroupClause *sgc = lfirst_node(SortGroupClause, lc);

		keys = lappend(keys, get_sortgroupclause_expr(sgc, extra->targetList));
		eqops = lappend_oid(eqops, sgc->eqop);
	}
	if (!collect_aggregates(grouped_rel->reltarget->exprs, keys, &aggrefs) ||
		!collect_aggregates((List *) extra->havingQual, keys, &aggrefs) ||
		(aggrefs == NIL && keys == NIL) ||
		!can_run(rte->relid, rel->relid, filter, keys, eqops, aggrefs))
		return;
	if (keys != NIL)
	{
		ngroups = estimate_num_groups(root, keys, rel->rows, NULL, NULL);


		/* core's node writes out what does not fit; ours scans the table again, for a quarter, a sixteenth, ... at a time */
		for (double memory = ngroups * (GROUP_SIZE + keys_width(keys) +
										list_length(aggrefs) * sizeof(ZsAggValue));
			 memory > get_hash_memory_limit(); memory /= 4)
			npasses = npasses == 1 ? 5 : npasses * 4;
	}

	/* EXPLAIN wants to know the tables of a plan node; those of upper relations are not known to all versions */
	parent = makeNode(RelOptInfo);
	*parent = *grouped_rel;
	parent->relids = rel->relids;

	/* zero costs of everything else are for tests of parallel plans only */
	if (add_gathered_paths(root, rel, grouped_rel, parent, extra, filter, keys, eqops, ngroups) &&
		zs_debug_vector != ZS_DEBUG_VECTOR_OFF && parallel_setup_cost == 0)
		return;

	path = make_path(rel, parent, grouped_rel->reltarget, filter, keys, eqops, aggrefs,
					 (List *) extra->havingQual, false);
	path->path.rows = ngroups;
	if (extra->havingQual != NULL && keys != NIL)
		path->path.rows = clamp_row_est(ngroups * clauselist_selectivity(root, (List *) extra->havingQual, 0,
																		 JOIN_INNER, NULL));
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	cost_path(root, rel, path, filter, keys, aggrefs, (List *) extra->havingQual, ngroups,
			  npasses, 1);
	mark_disabled(path, keys != NIL);
	add_path(grouped_rel, &path->path);
}

static void
create_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
				   RelOptInfo *output_rel, void *extra)
{
	if (next_upper_paths_hook)
		next_upper_paths_hook(root, stage, input_rel, output_rel, extra);
	if (stage == UPPERREL_GROUP_AGG)
		add_agg_path(root, input_rel, output_rel, extra);
}

void
zsvector_agg_init(void)
{
	RegisterCustomScanMethods(&zsvector_agg_scan_methods);
	next_upper_paths_hook = create_upper_paths_hook;
	create_upper_paths_hook = create_upper_paths;
}
