/*-------------------------------------------------------------------------
 *
 * base_query.c
 *	  Does a table, or a query that is being planned, concern us?
 *
 * Nodes that stand above plans of core's are for queries that look at a table of ours somewhere;
 * others are planned as if the library was not there.  The answer is found once for a query, when
 * it is first asked for: at that time parts of it are planned already, others are not, and a
 * reference to a CTE says nothing of what the CTE reads.  So the whole query is looked through,
 * from the top.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/base/base_query.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "zs_base.h"
#include "zs_base_plan.h"

/* The query asked for last, and the answer; forgotten with the memory that it is planned in. */
static const PlannerGlobal *last_query = NULL;
static bool last_answer;

/* Is it a table, or materialized view, of ours?  Reads system catalogs. */
bool
zsbase_rte_is_ours(const RangeTblEntry *rte)
{
	return rte->rtekind == RTE_RELATION &&
		(rte->relkind == RELKIND_RELATION || rte->relkind == RELKIND_MATVIEW) &&
		zsbase_is_zedstore_am(get_rel_relam(rte->relid));
}

/*
 * Is the relation one table of ours that a query scans, without partitions and children and not by
 * samples?  Reads system catalogs.
 */
bool
zsbase_rel_is_ours(RelOptInfo *rel, const RangeTblEntry *rte)
{
	return IS_SIMPLE_REL(rel) && !rte->inh && rte->tablesample == NULL && !IS_DUMMY_REL(rel) &&
		zsbase_rte_is_ours(rte);
}

/* Is the relation a table of ours, or does it have a partition or child that is? */
static bool
has_table_of_ours(const RangeTblEntry *rte)
{
	List	   *children;
	ListCell   *lc;
	bool		found = false;

	if (rte->rtekind != RTE_RELATION)
		return false;
	if (zsbase_is_zedstore_am(get_rel_relam(rte->relid)))
		return true;
	if (!rte->inh || !has_subclass(rte->relid))
		return false;
	children = find_all_inheritors(rte->relid, NoLock, NULL);
	foreach(lc, children)
	{
		if (zsbase_is_zedstore_am(get_rel_relam(lfirst_oid(lc))))
			found = true;
	}
	list_free(children);
	return found;
}

/* Does a query, or a part of it, look at a table of ours?  glob: NULL before it is planned. */
static bool
reads_table_of_ours(Node *node, PlannerGlobal *glob)
{
	CHECK_FOR_INTERRUPTS();
	if (node == NULL)
		return false;
	if (IsA(node, SubPlan) && glob != NULL)
	{
		PlannerInfo *subroot = list_nth(glob->subroots, ((SubPlan *) node)->plan_id - 1);

		if (reads_table_of_ours((Node *) subroot->parse, glob))
			return true;
	}
	if (IsA(node, RangeTblEntry))
		return has_table_of_ours((RangeTblEntry *) node);
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, reads_table_of_ours, glob,
								 QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, reads_table_of_ours, glob);
}

/* The same of a query that is not being planned yet.  Reads system catalogs. */
bool
zsbase_parse_is_ours(Query *query)
{
	return reads_table_of_ours((Node *) query, NULL);
}

static void
forget_answer(void *query)
{
	if (query == last_query)
		last_query = NULL;
}

/*
 * Does the query that root is a part of look at a table of ours, or at a partitioned table or
 * parent with a partition or child of ours?  Reads system catalogs.
 */
bool
zsbase_query_is_ours(PlannerInfo *root)
{
	if (root->glob != last_query)
	{
		PlannerInfo *top = root;
		MemoryContextCallback *callback = MemoryContextAlloc(root->planner_cxt,
															 sizeof(MemoryContextCallback));
		bool		answer;

		while (top->parent_root != NULL)
			top = top->parent_root;
		answer = reads_table_of_ours((Node *) top->parse, top->glob);
		callback->func = forget_answer;
		callback->arg = root->glob;
		MemoryContextRegisterResetCallback(root->planner_cxt, callback);
		last_query = root->glob;
		last_answer = answer;
	}
	return last_answer;
}
