/*-------------------------------------------------------------------------
 *
 * join_cte.c
 *	  Common table expressions that are read several times, each time only a part of them.
 *
 * The problem: what WITH names is computed as a whole and kept if the query refers to it more than
 * once.  Each reference then takes out what it needs: one year of all, one channel of three, the
 * keys of some rows.  Statistics of what is kept there are none.
 *
 * The idea: where each reference narrows the expression down, plan the query a second time, with
 * the expression put in the place of each reference, as WITH ... AS NOT MATERIALIZED does.
 * Conditions go down to the tables then, and branches of UNION ALL that cannot return anything
 * vanish.  The second plan is taken if it costs half of the first one at most.  What joins of the
 * parts cost is not to be compared where the expression is kept: it is expected to return next to
 * nothing then.  So it is enough if the parts themselves cost half of what they did.
 *
 * A reference narrows the expression if it compares a column with a constant, or if EXISTS or IN
 * look for a row of it.  Queries that cost little more than their planning are planned once.  Tests
 * that force plans by batches have it always.
 *
 * An expression that heap's plan keeps must not raise an error here that it does not raise there:
 * a condition of the reference comes before those of the expression if it is put in its place.
 * So such conditions, and the columns that they look at, must not raise any.  The opposite is as
 * with expressions that are referred to once: rows that nobody asks for raise no error.  Core sees
 * to it that nothing volatile is executed more often.
 *
 * Nor must two references see different rows where one expression has several results: it is kept
 * if it takes some of its rows by an order in which others may be their equals, or by a sample, or
 * if an aggregate's result depends on the order of its rows.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/join/join_cte.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"
#include "zs_cost_const.h"

#include "catalog/pg_aggregate.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "zs_agg.h"
#include "zs_base.h"
#include "zs_base_plan.h"
#include "zs_clause.h"
#include "zs_expr_guc.h"
#include "zs_join.h"

/* What is known of a query while it is looked through. */
typedef struct CteSearch
{
	ParamListInfo params;
	List	   *levels;			/* Query: those around, innermost first */
	bool		is_semijoin;	/* the next query is looked through for one row that fits */
	int			ntables;
	List	   *found;			/* CommonTableExpr that may be put in place, as far as is known */
	List	   *refused;		/* those that must not, or gain nothing */
} CteSearch;

/* ---- expressions that may go in place ----------------------------------------------------- */

/*
 * Has the aggregate one result, in whatever order its rows come?  Those with an order of their own
 * do if it leaves none of equal arguments open.
 */
static bool
aggregate_is_certain(const Aggref *aggref)
{
	ListCell   *lc;

	if (zsagg_ignores_order(aggref->aggfnoid) || aggref->aggkind != AGGKIND_NORMAL)
		return true;
	if (aggref->aggorder == NIL && aggref->aggdistinct == NIL)
		return false;
	foreach(lc, aggref->args)
	{
		const TargetEntry *arg = lfirst_node(TargetEntry, lc);

		if (arg->ressortgroupref == 0 && !IsA(arg->expr, Const))
			return false;
	}
	return true;
}

/* Has the function one value for each row, in whatever order those come that compare equal? */
static bool
window_is_certain(const Query *query, const WindowFunc *function)
{
	const WindowClause *clause = list_nth_node(WindowClause, query->windowClause,
											   function->winref - 1);

	Assert(clause->winref == function->winref);
	switch (function->winfnoid)
	{
		case F_RANK_:
		case F_DENSE_RANK_:
		case F_PERCENT_RANK_:
		case F_CUME_DIST_:
			return true;
		default:
			/* an aggregate takes equal rows together, unless its frame counts rows */
			return function->winagg && zsagg_ignores_order(function->winfnoid) &&
				(clause->frameOptions & FRAMEOPTION_ROWS) == 0;
	}
}

/*
 * expression_tree_walker callback: may a query return other rows the second time, under the same
 * snapshot?  context: the query that the node is in.
 */
static bool
is_uncertain(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref) && !aggregate_is_certain((const Aggref *) node))
		return true;
	if (IsA(node, WindowFunc) && !window_is_certain(context, (const WindowFunc *) node))
		return true;
	if (IsA(node, TableSampleClause) && ((TableSampleClause *) node)->repeatable == NULL)
		return true;
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;

		return query->limitCount != NULL || query->limitOffset != NULL || query->hasDistinctOn ||
			query_tree_walker(query, is_uncertain, query, 0);
	}
	return expression_tree_walker(node, is_uncertain, context);
}

/* May it be copied, and is one of its tables ours?  Reads system catalogs. */
static bool
may_be_copied(const CommonTableExpr *cte)
{
	Query	   *query = (Query *) cte->ctequery;

	return cte->ctematerialized == CTEMaterializeDefault && cte->cterefcount > 1 &&
		!cte->cterecursive && IsA(query, Query) && query->commandType == CMD_SELECT &&
		!query->hasRecursive && !query->hasModifyingCTE && query->rowMarks == NIL &&
		zsbase_parse_is_ours(query) && !contain_volatile_functions((Node *) query) &&
		!is_uncertain((Node *) query, NULL);
}

/*
 * May its tables, or those of a branch, be joined with those of the query around, as
 * is_simple_subquery() of core's?
 */
static bool
may_be_pulled_up(const Query *query)
{
	ListCell   *lc;

	check_stack_depth();
	if (query->setOperations != NULL)
	{
		foreach(lc, query->rtable)
		{
			const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

			if (rte->rtekind == RTE_SUBQUERY && may_be_pulled_up(rte->subquery))
				return true;
		}
		return false;
	}
	return !query->hasAggs && !query->hasWindowFuncs &&
		!query->hasTargetSRFs && query->groupClause == NIL && query->groupingSets == NIL &&
		query->havingQual == NULL && query->sortClause == NIL && query->distinctClause == NIL &&
		query->limitOffset == NULL && query->limitCount == NULL;
}

static bool column_is_plain(const Query *query, AttrNumber attno, ParamListInfo params);

/* Is evaluating what stands in the query's target list known to raise no error? */
static bool
expression_is_plain(const Query *query, Node *expr, ParamListInfo params)
{
	const Var  *var = (const Var *) expr;
	RangeTblEntry *rte;

	check_stack_depth();
	/* the aggregate is there before anybody looks at it */
	if (IsA(expr, Aggref) || IsA(expr, Const))
		return true;
	if (IsA(expr, RelabelType))
		return expression_is_plain(query, (Node *) ((RelabelType *) expr)->arg, params);
	if (!IsA(expr, Var))
		return !contain_var_clause(expr) && !zsscan_expression_may_raise(expr, params);
	if (var->varlevelsup > 0)
		return true;
	if (var->varattno <= 0)
		return false;
	rte = rt_fetch(var->varno, query->rtable);
	switch (rte->rtekind)
	{
		case RTE_RELATION:
			/* the expression of a virtual one takes its place later */
			return !zs_is_virtual(get_attgenerated(rte->relid, var->varattno));
		case RTE_SUBQUERY:
			return column_is_plain(rte->subquery, var->varattno, params);
		case RTE_JOIN:
			return expression_is_plain(query, list_nth(rte->joinaliasvars, var->varattno - 1),
									   params);
		default:
			break;
	}
	expr = zs_grouping_expression(rte, var->varattno);
	return expr != NULL && expression_is_plain(query, expr, params);
}

/* The same of a column that the query returns. */
static bool
column_is_plain(const Query *query, AttrNumber attno, ParamListInfo params)
{
	ListCell   *lc;

	check_stack_depth();
	if (query->setOperations == NULL)
	{
		TargetEntry *tle = attno <= 0 ? NULL : get_tle_by_resno(query->targetList, attno);

		return tle != NULL && expression_is_plain(query, (Node *) tle->expr, params);
	}
	foreach(lc, query->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind != RTE_SUBQUERY || !column_is_plain(rte->subquery, attno, params))
			return false;
	}
	return true;
}

/* ---- references --------------------------------------------------------------------------- */

/* expression_tree_walker callback: adds the conditions of WHERE and ON to the list. */
static bool
find_conditions(Node *node, void *context)
{
	List	  **found = context;

	if (node == NULL)
		return false;
	if (IsA(node, FromExpr))
		*found = list_concat(*found, make_ands_implicit((Expr *) ((FromExpr *) node)->quals));
	else if (IsA(node, JoinExpr))
		*found = list_concat(*found, make_ands_implicit((Expr *) ((JoinExpr *) node)->quals));
	else if (!IsA(node, List))
		return false;
	return expression_tree_walker(node, find_conditions, context);
}

/*
 * Does the condition look at columns of the reference, and is evaluating these known to raise no
 * error?  *is_own: it looks at no columns of others.
 */
static bool
looks_at(const Query *cte, Node *condition, int varno, ParamListInfo params, bool *is_own,
		 bool *is_plain)
{
	List	   *vars = pull_vars_of_level(condition, 0);
	bool		found = false;
	ListCell   *lc;

	*is_own = *is_plain = true;
	foreach(lc, vars)
	{
		const Var  *var = lfirst(lc);

		Assert(IsA(var, Var));
		if (var->varno != varno)
		{
			*is_own = false;
			continue;
		}
		found = true;
		if (*is_plain)
			*is_plain = column_is_plain(cte, var->varattno, params);
	}
	list_free(vars);
	return found;
}

/* Does the condition compare the columns that it looks at with what is the same for all rows? */
static bool
is_comparison(Node *condition)
{
	return (IsA(condition, OpExpr) || IsA(condition, ScalarArrayOpExpr)) &&
		!contain_subplans(condition) && !contain_volatile_functions(condition);
}

/*
 * Is less than the whole expression read by the reference, member varno of the query's range table,
 * and do its conditions raise no error if they come first?
 */
static bool
is_narrowed(const CteSearch *search, Query *query, int varno, const Query *cte)
{
	bool		narrowed = search->is_semijoin;
	bool		is_simple = may_be_pulled_up(cte);
	List	   *conditions = NIL;
	ListCell   *lc;

	(void) find_conditions((Node *) query->jointree, &conditions);
	foreach(lc, conditions)
	{
		Node	   *condition = flatten_join_alias_vars(NULL, query, copyObject(lfirst(lc)));
		bool		is_own;
		bool		is_plain;

		if (!looks_at(cte, condition, varno, search->params, &is_own, &is_plain))
			continue;
		condition = eval_const_expressions(NULL, condition);
		if ((is_own || is_simple) &&
			(!is_plain || zsscan_expression_may_raise(condition, search->params)))
			return false;
		if (is_own && is_comparison(condition))
			narrowed = true;
	}
	return narrowed;
}

/* Looks at the query's references to expressions of its own and of those around it. */
static void
judge_references(CteSearch *search, Query *query)
{
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
		const Query *owner;
		ListCell   *lc2;

		if (rte->rtekind == RTE_RELATION)
			search->ntables++;
		if (rte->rtekind != RTE_CTE || rte->ctelevelsup >= (Index) list_length(search->levels))
			continue;
		owner = list_nth(search->levels, rte->ctelevelsup);
		foreach(lc2, owner->cteList)
		{
			CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc2);

			if (strcmp(cte->ctename, rte->ctename) != 0 || !list_member_ptr(search->found, cte))
				continue;
			if (!is_narrowed(search, query, foreach_current_index(lc) + 1,
							 (const Query *) cte->ctequery))
				search->refused = list_append_unique_ptr(search->refused, cte);
		}
	}
}

/* expression_tree_walker callback: looks through queries, from the outside to the inside. */
static bool
find_in_queries(Node *node, void *context)
{
	CteSearch  *search = context;

	if (node == NULL)
		return false;
	CHECK_FOR_INTERRUPTS();
	if (IsA(node, SubLink))
	{
		const SubLink *link = (const SubLink *) node;

		if (find_in_queries(link->testexpr, context))
			return true;
		search->is_semijoin = link->subLinkType == EXISTS_SUBLINK ||
			link->subLinkType == ANY_SUBLINK;
		return find_in_queries(link->subselect, context);
	}
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;
		ListCell   *lc;

		foreach(lc, query->cteList)
		{
			if (may_be_copied(lfirst_node(CommonTableExpr, lc)))
				search->found = lappend(search->found, lfirst(lc));
		}
		search->levels = lcons(query, search->levels);
		judge_references(search, query);
		search->is_semijoin = false;
		(void) query_tree_walker(query, find_in_queries, context, 0);
		search->levels = list_delete_first(search->levels);
		return false;
	}
	return expression_tree_walker(node, find_in_queries, context);
}

static bool has_with_clause(Query *query);

/* query_tree_walker callback: stops at the first query that has a WITH clause. */
static bool
find_with_clause(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return has_with_clause((Query *) node);
	return expression_tree_walker(node, find_with_clause, context);
}

/* Asked for every query: those without subqueries answer at once. */
static bool
has_with_clause(Query *query)
{
	ListCell   *lc;

	check_stack_depth();
	if (query->cteList != NIL)
		return true;
	if (query->hasSubLinks)
		return query_tree_walker(query, find_with_clause, NULL, 0);
	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_SUBQUERY && has_with_clause(rte->subquery))
			return true;
	}
	return false;
}

/* ---- plans -------------------------------------------------------------------------------- */

/* What it costs to make the rows that joins above start from. */
static Cost
cost_below_joins(const Plan *plan)
{
	Cost		cost = 0;
	ListCell   *lc;

	if (plan == NULL)
		return 0;
	check_stack_depth();
	switch (nodeTag(plan))
	{
		case T_NestLoop:
			/* how often the inner side is looked up the costs of both sides do not say */
			if (((const NestLoop *) plan)->nestParams != NIL)
				return plan->total_cost;
			ZS_FALLTHROUGH;
		case T_HashJoin:
		case T_MergeJoin:
		case T_Hash:
		case T_Sort:
		case T_IncrementalSort:
		case T_Material:
		case T_Limit:
		case T_Gather:
		case T_GatherMerge:
			return cost_below_joins(plan->lefttree) + cost_below_joins(plan->righttree);
		case T_SubqueryScan:
			return cost_below_joins(((const SubqueryScan *) plan)->subplan);
		case T_Append:
			foreach(lc, ((const Append *) plan)->appendplans)
				cost += cost_below_joins(lfirst(lc));
			return cost;
		default:
			return plan->total_cost;
	}
}

/* The same, with expressions that are kept. */
static Cost
cost_of_parts(const PlannedStmt *stmt)
{
	Cost		cost = cost_below_joins(stmt->planTree);
	ListCell   *lc;

	foreach(lc, stmt->subplans)
	{
		if (lfirst(lc) != NULL)
			cost += ((const Plan *) lfirst(lc))->total_cost;
	}
	return cost;
}

/* Is the plan with expressions in place better than the one that keeps them? */
static bool
is_better(const PlannedStmt *in_place, const PlannedStmt *kept)
{
	if (in_place->planTree->total_cost <= ZS_INLINED_SHARE * kept->planTree->total_cost)
		return true;
	/* how often a subquery is executed its costs do not say */
	return in_place->subplans == NIL &&
		cost_of_parts(in_place) <= ZS_INLINED_SHARE * cost_of_parts(kept);
}

static void
set_materialized(List *ctes, CTEMaterialize how)
{
	ListCell   *lc;

	foreach(lc, ctes)
		lfirst_node(CommonTableExpr, lc)->ctematerialized = how;
}

/*
 * Plans a query by plan; twice, and the better one counts, if expressions of its WITH clauses may
 * be put in the place of their references.  Errors are those of plan.
 */
PlannedStmt *
zsjoin_cte_plan(planner_hook_type plan, ZS_PLANNER_PARAMETERS)
{
	CteSearch	search = {.params = params};
	PlannedStmt *kept;
	PlannedStmt *in_place;
	Query	   *copy;
	List	   *ctes;

	if (!zs_enable_inlined_ctes || parse->commandType != CMD_SELECT || parse->rowMarks != NIL ||
		parse->hasModifyingCTE || !has_with_clause(parse))
		return plan(ZS_PLANNER_ARGS);
	(void) find_in_queries((Node *) parse, &search);
	ctes = list_difference_ptr(search.found, search.refused);
	if (ctes == NIL)
		return plan(ZS_PLANNER_ARGS);

	/* planning changes the query */
	set_materialized(ctes, CTEMaterializeNever);
	copy = copyObject(parse);
	set_materialized(ctes, CTEMaterializeDefault);
	kept = plan(ZS_PLANNER_ARGS);
	if (zs_debug_vector == ZS_DEBUG_VECTOR_OFF &&
		kept->planTree->total_cost < ZS_COST_OF_PLANNING * search.ntables * search.ntables)
		return kept;
	parse = copy;
	in_place = plan(ZS_PLANNER_ARGS);
	return zs_debug_vector != ZS_DEBUG_VECTOR_OFF || is_better(in_place, kept) ? in_place : kept;
}
