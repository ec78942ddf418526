/*-------------------------------------------------------------------------
 *
 * join_exists.c
 *	  EXISTS that is no join: by a hash table rather than by a subquery for each row.
 *
 * The problem: for EXISTS below OR, in a target list and the like core keeps two plans
 * (AlternativeSubPlan): the subquery executed for each row, and a hash table of what it returns for
 * all.  It takes the costs of the first wherever it plans, and chooses when the plan is complete,
 * by the rows of one execution of the node that asks: a scan by index below a nested loop is
 * executed a million times, and counts as asking twice.  Executing the subquery stops at the first
 * row, which core takes to come after an even share of the table.  Where there is none it comes to
 * the table's end, each time.
 *
 * The idea: what can lose little is taken.
 *
 *	1. If the subquery itself costs as much as half of making the hash table, when all its rows are
 *	   asked for, it is a scan.  Asking twice for what is not there costs more than the table then.
 *	   Decided before anything of the query is costed.
 *	2. Else, in the filter of a table: if the rows that the rest of the filter leaves, each with a
 *	   subquery, cost more than the table.  So the loss is one table, where another plan would have
 *	   come to few of the rows.  Decided when core has made the relation's paths, whose costs have
 *	   the first plan in them; so these are made again.
 *
 *	3. Else, in the arguments and filters of aggregates, which core takes to be executed once for
 *	   each group: if all rows that are aggregated, each with a subquery, cost more than the table.
 *	   Decided when core has made the paths of the aggregation.
 *
 * The plan that is not taken stays where it is, behind the other one, and costs too much for
 * setrefs.c to choose it.  Core compares expressions: so all of them are changed before the first
 * is copied, and none that may be a member of an equivalence class is changed later.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/join/join_exists.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "access/table.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"

#include "zs_base.h"
#include "zs_base_plan.h"
#include "zs_cost.h"
#include "zs_cost_const.h"
#include "zs_join.h"
#include "zs_node.h"

/* ---- the two plans ------------------------------------------------------------------------ */

/* expression_tree_walker callback: adds AlternativeSubPlans that may be decided to the list. */
static bool
find_alternatives(Node *node, void *context)
{
	List	  **found = context;

	if (node == NULL)
		return false;
	if (IsA(node, AlternativeSubPlan))
	{
		List	   *subplans = ((AlternativeSubPlan *) node)->subplans;

		if (list_length(subplans) == 2 && !linitial_node(SubPlan, subplans)->useHashTable &&
			lsecond_node(SubPlan, subplans)->useHashTable)
			*found = lappend(*found, node);
	}
	else if (IsA(node, RestrictInfo))
		return find_alternatives((Node *) ((RestrictInfo *) node)->clause, context);
	return expression_tree_walker(node, find_alternatives, context);
}

static void
take_hashed(AlternativeSubPlan *alternative)
{
	SubPlan    *correlated = linitial_node(SubPlan, alternative->subplans);

	Assert(list_length(alternative->subplans) == 2);
	Assert(lsecond_node(SubPlan, alternative->subplans)->useHashTable);
	Assert(!correlated->useHashTable);
	correlated->startup_cost = ZS_COST_NEVER;
	alternative->subplans = list_make2(lsecond(alternative->subplans), correlated);
}

/* ---- subqueries that are scans ------------------------------------------------------------ */

/* Does one run of the correlated subquery cost about what reading its table costs? */
static bool
is_scan(PlannerInfo *root, const AlternativeSubPlan *alternative)
{
	const SubPlan *correlated = linitial_node(SubPlan, alternative->subplans);
	const SubPlan *hashed = lsecond_node(SubPlan, alternative->subplans);
	const Plan *plan = list_nth(root->glob->subplans, correlated->plan_id - 1);

	return plan->total_cost >= ZS_SHARE_OF_SCAN * hashed->startup_cost;
}

/*
 * Chooses between the two plans of EXISTS in expressions where the subquery is a scan.  Called for
 * each table of the query that is named in it, before anything is costed or copied; does its work
 * once.  Partitions come later.
 */
void
zsjoin_exists_choose_scans(PlannerInfo *root, const RelOptInfo *rel)
{
	List	   *found = NIL;
	ListCell   *lc;

	if (!zs_enable_robust_joins || !root->hasAlternativeSubPlans ||
		rel->rtekind != RTE_RELATION || rel->reloptkind != RELOPT_BASEREL ||
		root->eq_classes != NIL)
		return;
	(void) find_alternatives((Node *) root->parse->targetList, &found);
	(void) find_alternatives((Node *) root->parse->jointree, &found);
	(void) find_alternatives(root->parse->havingQual, &found);
	if (found == NIL || !zsbase_query_is_ours(root))
		return;
	foreach(lc, found)
	{
		AlternativeSubPlan *alternative = lfirst_node(AlternativeSubPlan, lc);

		if (is_scan(root, alternative))
			take_hashed(alternative);
	}
	list_free(found);
}

/* ---- filters of tables -------------------------------------------------------------------- */

/* Core's own paths can be made anew; what another extension has added cannot. */
static bool
paths_are_core_s(const List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		const Node *path = lfirst(lc);

		if (!IsA(path, Path) && !IsA(path, IndexPath) && !IsA(path, BitmapHeapPath) &&
			!IsA(path, TidPath) && !IsA(path, TidRangePath))
			return false;
	}
	return true;
}

/* expression_tree_walker callback: forgets what clauses cost. */
static bool
forget_costs(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RestrictInfo))
	{
		((RestrictInfo *) node)->eval_cost.startup = -1;
		return forget_costs((Node *) ((RestrictInfo *) node)->orclause, context);
	}
	return expression_tree_walker(node, forget_costs, context);
}

/* As set_plain_rel_pathlist() of core's allpaths.c. */
static void
make_paths_anew(PlannerInfo *root, RelOptInfo *rel)
{
	int			workers;

	Assert(IS_SIMPLE_REL(rel));
	zscost_restart(rel);
	(void) forget_costs((Node *) rel->baserestrictinfo, NULL);
	cost_qual_eval(&rel->baserestrictcost, rel->baserestrictinfo, root);
	rel->pathlist = NIL;
	rel->partial_pathlist = NIL;
	add_path(rel, create_seqscan_path(root, rel, rel->lateral_relids, 0));
	if (rel->consider_parallel && rel->lateral_relids == NULL)
	{
		workers = compute_parallel_worker(rel, rel->pages, -1, max_parallel_workers_per_gather);
		if (workers > 0)
			add_partial_path(rel, create_seqscan_path(root, rel, NULL, workers));
	}
	create_index_paths(root, rel);
	(void) create_tidscan_paths(root, rel);
}

/* Takes hash tables for those of the relation's clauses that ask for many rows; true if any. */
static bool
decide_filter(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *found = NIL;
	List	   *others = NIL;
	bool		changed = false;
	double		nrows;
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		const RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		int			n = list_length(found);

		if (rinfo->parent_ec == NULL && rinfo->left_ec == NULL && rinfo->right_ec == NULL)
			(void) find_alternatives(lfirst(lc), &found);
		if (list_length(found) == n)
			others = lappend(others, lfirst(lc));
	}
	if (found == NIL || !zsbase_query_is_ours(root))
		return false;
	nrows = rel->tuples * clauselist_selectivity(root, others, 0, JOIN_INNER, NULL);
	foreach(lc, found)
	{
		AlternativeSubPlan *alternative = lfirst_node(AlternativeSubPlan, lc);
		const SubPlan *correlated = linitial_node(SubPlan, alternative->subplans);
		const SubPlan *hashed = lsecond_node(SubPlan, alternative->subplans);

		if (nrows * correlated->per_call_cost <= hashed->startup_cost)
			continue;
		take_hashed(alternative);
		changed = true;
	}
	return changed;
}

/*
 * Chooses between the two plans of EXISTS in the filter of a table.  A step of set_rel_pathlist,
 * the first one: where the choice changes, core's paths of the table are made anew.
 */
void
zsjoin_exists_choose_in_filter(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	if (zs_enable_robust_joins && root->hasAlternativeSubPlans && rel->baserestrictinfo != NIL &&
		rte->rtekind == RTE_RELATION && !rte->inh && rte->tablesample == NULL &&
		rel->fdwroutine == NULL && !IS_DUMMY_REL(rel) &&
		paths_are_core_s(rel->pathlist) && paths_are_core_s(rel->partial_pathlist) &&
		decide_filter(root, rel))
		make_paths_anew(root, rel);
}

/* ---- aggregates ---------------------------------------------------------------------------- */

/* expression_tree_walker callback: adds those of aggregates' arguments and filters to the list. */
static bool
find_in_aggregates(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
		return expression_tree_walker(node, find_alternatives, context);
	return expression_tree_walker(node, find_in_aggregates, context);
}

/*
 * Chooses between the two plans of EXISTS in aggregates and their filters: a step of
 * create_upper_paths, when core has made the paths of UPPERREL_GROUP_AGG.  A column of the result
 * that is sorted by is a member of an equivalence class, and aggregates of partitions are copies:
 * these stay as they are.
 */
void
zsjoin_exists_choose_in_aggregates(PlannerInfo *root, UpperRelationKind stage,
								   const RelOptInfo *input_rel)
{
	List	   *found = NIL;
	ListCell   *lc;

	if (stage != UPPERREL_GROUP_AGG || !zs_enable_robust_joins || !root->hasAlternativeSubPlans ||
		!root->parse->hasAggs || IS_OTHER_REL(input_rel) ||
		(enable_partitionwise_aggregate && input_rel->part_scheme != NULL))
		return;
	foreach(lc, root->processed_tlist)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (tle->ressortgroupref == 0)
			(void) find_in_aggregates((Node *) tle->expr, &found);
	}
	(void) find_in_aggregates(root->parse->havingQual, &found);
	if (found == NIL || !zsbase_query_is_ours(root))
		return;
	foreach(lc, found)
	{
		AlternativeSubPlan *alternative = lfirst_node(AlternativeSubPlan, lc);
		const SubPlan *correlated = linitial_node(SubPlan, alternative->subplans);
		const SubPlan *hashed = lsecond_node(SubPlan, alternative->subplans);

		if (correlated->useHashTable)
			continue;			/* met twice */
		if (input_rel->rows * correlated->per_call_cost > hashed->startup_cost)
			take_hashed(alternative);
	}
	list_free(found);
}
