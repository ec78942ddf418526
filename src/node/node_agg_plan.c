/*-------------------------------------------------------------------------
 *
 * node_agg_plan.c
 *	  Plans aggregates by batches.
 *
 * Core's plan brings every row of a scan to the aggregate one by one; most of the time goes into
 * the steps of the executor.  The scan made here takes batches, applies the filter
 * to whole columns, and returns aggregates.
 *
 * A query over one table, or one partition in a partitionwise plan, gets the paths of
 * node_agg_table.c.  With parallel workers each process aggregates a share of the table
 * (node_agg_partial.c), and partitions may be aggregated in parts (node_agg_partition.c).  What has
 * no programs, or is not one table, may take the rows of core's plan (node_agg_rows.c).  HAVING and
 * what the query makes of the aggregates are the executor's.
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
#include "catalog/pg_constraint.h"
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
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/typcache.h"

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

/* ---- is it ours? ----------------------------------------------------------------- */

static bool
query_is_simple(PlannerInfo *root)
{
	Query	   *parse = root->parse;

	/* grouped by constants alone there are no groups without rows */
	return parse->commandType == CMD_SELECT && (parse->hasAggs || parse->groupClause != NIL) &&
		(parse->groupClause == NIL) == (root->processed_groupClause == NIL) &&
		list_length(root->processed_groupClause) <= ZS_MAX_GROUP_KEYS &&
		!parse->hasTargetSRFs && parse->rowMarks == NIL;
}

typedef struct CollectContext
{
	List	   *keys;
	List	  **aggrefs;
	bool		has_sets;		/* GROUPING() is core's to compute */
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
	if (IsA(node, GroupingFunc))
		return !context->has_sets;
	if (IsA(node, Var) || IsA(node, PlaceHolderVar))
		return true;
	return expression_tree_walker(node, collect_walker, arg);
}

/*
 * Finds the aggregates of the query's target and of HAVING, each once; false if there is a column
 * beside them that is in no key.
 */
static bool
find_aggregates(ZsAggQuery *query)
{
	CollectContext context = {
		.keys = query->keys,
		.aggrefs = &query->aggrefs,
		.has_sets = query->root->parse->groupingSets != NIL
	};

	Assert(query->aggrefs == NIL);
	return !collect_walker((Node *) query->target->exprs, &context) &&
		!collect_walker((Node *) query->extra->havingQual, &context);
}

/*
 * Has the column one value in each group, because the query groups by it, or by a primary key of
 * its table?  Others may stand beside keys, too: where an expression over a key is computed above a
 * window or a sort, core has the grouping return the columns of the key, from any row of the group.
 */
static bool
is_dependent(const ZsAggQuery *query, Node *node)
{
	const Query *parse = query->root->parse;
	const Var  *var = (const Var *) node;
	const RangeTblEntry *rte;
	List	   *constraints = NIL;
	ListCell   *lc;

	foreach(lc, parse->groupClause != NIL ? parse->groupClause : parse->distinctClause)
	{
		if (equal(get_sortgroupclause_expr(lfirst_node(SortGroupClause, lc),
										   query->extra->targetList), node))
			return true;
	}
	if (!IsA(var, Var) || IS_SPECIAL_VARNO(var->varno))
		return false;
	rte = planner_rt_fetch(var->varno, query->root);
	return rte->rtekind == RTE_RELATION &&
		check_functional_grouping(rte->relid, var->varno, 0, query->keys, &constraints);
}

/*
 * expression_tree_walker callback: columns that the keys decide become keys; true if one has no
 * equality.
 */
static bool
add_dependent_key(Node *node, void *arg)
{
	ZsAggQuery *query = arg;
	Oid			eqop;

	if (node == NULL || IsA(node, Aggref) || list_member(query->keys, node))
		return false;
	if (!IsA(node, Var) && !IsA(node, PlaceHolderVar))
		return expression_tree_walker(node, add_dependent_key, arg);
	if (!is_dependent(query, node))
		return true;
	eqop = lookup_type_cache(exprType(node), TYPECACHE_EQ_OPR)->eq_opr;
	if (!OidIsValid(eqop))
		return true;
	query->keys = lappend(query->keys, node);
	query->eqops = lappend_oid(query->eqops, eqop);
	return false;
}

/*
 * Columns that a primary key among the keys decides need no place in GROUP BY, and core drops those
 * that are there.  Here they are keys: the groups are the same.  False if there is one that cannot.
 */
static bool
add_dependent_keys(ZsAggQuery *query)
{
	return query->keys == NIL ||
		(!add_dependent_key((Node *) query->target->exprs, query) &&
		 !add_dependent_key((Node *) query->extra->havingQual, query) &&
		 list_length(query->keys) <= ZS_MAX_GROUP_KEYS);
}

/* ---- paths ------------------------------------------------------------------------------ */

/* The query's keys are those of the clauses. */
static void
set_keys(ZsAggQuery *query, List *clauses)
{
	ListCell   *lc;

	Assert(query->keys == NIL && query->aggrefs == NIL);
	Assert(list_length(clauses) <= ZS_MAX_GROUP_KEYS);
	foreach(lc, clauses)
	{
		SortGroupClause *sgc = lfirst_node(SortGroupClause, lc);

		query->keys = lappend(query->keys, get_sortgroupclause_expr(sgc, query->extra->targetList));
		query->eqops = lappend_oid(query->eqops, sgc->eqop);
	}
	query->nleading = list_length(query->keys);
}

/*
 * EXPLAIN wants to know the tables of a plan node; those of upper relations are not known to all
 * versions.
 */
static void
set_parent(ZsAggQuery *query)
{
	query->parent = makeNode(RelOptInfo);
	*query->parent = *query->grouped_rel;
	query->parent->relids = query->rel->relids;
}

/* Adds paths for a query that has everything but its keys and aggregates. */
static void
add_paths(ZsAggQuery *query, List *clauses)
{
	RelOptInfo *rel = query->rel;

	set_keys(query, clauses);
	if (!add_dependent_keys(query) || !find_aggregates(query) ||
		(query->aggrefs == NIL && query->keys == NIL))
		return;
	query->ngroups = 1;
	if (query->keys != NIL)
		query->ngroups = zsnode_agg_partial_groups(query, 1);

	set_parent(query);
	if (IS_SIMPLE_REL(rel) &&
		zscost_is_beaten(query->grouped_rel->pathlist, zsnode_agg_least_cost(query)))
		return;
	if (zsnode_agg_add_table_paths(query) ||
		(zsnode_agg_add_partition_paths(query) && zs_debug_vector != ZS_DEBUG_VECTOR_OFF))
		return;
	zsnode_agg_add_row_paths(query);
}

/*
 * The same for one with grouping sets.  In its target a key is what it is in a group, NULL in those
 * of sets that lack it; to make the groups it is taken as it was before, and so are its keys.
 */
static void
add_sets_paths(ZsAggQuery *query)
{
	PlannerInfo *root = query->root;

	set_keys(query, root->processed_groupClause);
	if (query->keys == NIL || !find_aggregates(query))
		return;
	query->target = copy_pathtarget(query->target);
	query->target->exprs = (List *) zs_before_grouping(root, (Node *) query->target->exprs);
	query->keys = (List *) zs_before_grouping(root, (Node *) query->keys);
	query->ngroups = zsnode_agg_partial_groups(query, 1);
	set_parent(query);
	zsnode_agg_add_sets_paths(query);
}

static void
add_agg_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped_rel,
			  GroupPathExtraData *extra)
{
	ZsAggQuery	query = {.root = root,.rel = rel,.grouped_rel = grouped_rel,.extra = extra,
	.target = grouped_rel->reltarget};

	if (!zs_enable_vector_agg || !query_is_simple(root) ||
		extra->patype == PARTITIONWISE_AGGREGATE_PARTIAL || IS_DUMMY_REL(rel))
		return;
	if (root->parse->groupingSets != NIL)
		add_sets_paths(&query);
	else
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

/*
 * A step of create_upper_paths: adds our paths for GROUP BY, aggregates and DISTINCT to those that
 * core has made for the stage.  extra: core's, of UPPERREL_GROUP_AGG.
 */
void
zsnode_agg_add_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
					 RelOptInfo *output_rel, void *extra)
{
	if (stage == UPPERREL_GROUP_AGG)
		add_agg_paths(root, input_rel, output_rel, extra);
	else if (stage == UPPERREL_DISTINCT)
		add_distinct_paths(root, input_rel, output_rel);
}
