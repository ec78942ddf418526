/*-------------------------------------------------------------------------
 *
 * cost_program.c
 *	  What programs of filters and expressions cost for a row.
 *
 * A comparison of integers takes half a nanosecond a row, arithmetic one; a unit of cost is some
 * 5 us.  Where core's function is called for each string, it costs what core says.  A program runs
 * for all rows of a batch that may come to it, so each branch of a CASE is charged, as by core, and
 * what its conditions compare once.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/cost/cost_program.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "zs_cost.h"
#include "zs_cost_const.h"
#include "zs_expr_qual.h"

/* Are the values strings? */
static bool
is_string(Oid type)
{
	type = getBaseType(type);
	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID;
}

/* A call, without its arguments. */
static Cost
cost_of_call(const Node *node, Oid funcid, List *args)
{
	bool		compares = zsexpr_is_comparison(funcid);
	Oid			type;

	/* a constant of the scan */
	Assert(OidIsValid(funcid));
	if (args == NIL)
		return 0;
	type = exprType(linitial(args));
	if (is_string(type) || is_string(exprType(node)))
	{
		QualCost	call = {0};

		if (compares)
			return ZS_COST_PER_STRING;
		add_function_cost(NULL, funcid, NULL, &call);
		return call.per_tuple;
	}
	if (type == NUMERICOID)
		return ZS_COST_PER_NUMERIC;
	return compares ? ZS_COST_PER_CLAUSE : ZS_COST_PER_VALUE;
}

/* Integers are looked for by halves; others are compared with each member. */
static Cost
cost_of_array(const ScalarArrayOpExpr *op, Oid funcid)
{
	Node	   *array = lsecond(op->args);
	double		nmembers = IsA(array, Const) ? Max(estimate_array_length(NULL, array), 1) :
		ZS_UNKNOWN_MEMBERS;
	Cost		call = cost_of_call((const Node *) op, funcid, op->args);

	Assert(nmembers >= 1);
	return call == ZS_COST_PER_CLAUSE ? call * (1 + log2(nmembers)) : call * nmembers;
}

/* expression_tree_walker callback: adds up what nodes cost. */
static bool
cost_walker(Node *node, void *arg)
{
	Cost	   *cost = arg;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_RestrictInfo:
			return cost_walker((Node *) ((RestrictInfo *) node)->clause, arg);
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			{
				OpExpr	   *op = (OpExpr *) node;

				*cost += cost_of_call(node, OidIsValid(op->opfuncid) ? op->opfuncid :
									  get_opcode(op->opno), op->args);
				if (!IsA(node, OpExpr))
					*cost += ZS_COST_PER_VALUE;
				break;
			}
		case T_FuncExpr:
			*cost += cost_of_call(node, ((FuncExpr *) node)->funcid, ((FuncExpr *) node)->args);
			break;
		case T_ScalarArrayOpExpr:
			{
				ScalarArrayOpExpr *op = (ScalarArrayOpExpr *) node;

				*cost += cost_of_array(op, OidIsValid(op->opfuncid) ? op->opfuncid :
									   get_opcode(op->opno));
				break;
			}
		case T_CoerceViaIO:
			*cost += cpu_operator_cost;
			break;
		case T_CaseExpr:
			*cost += ZS_COST_PER_CLAUSE * list_length(((CaseExpr *) node)->args);
			break;
		case T_CoalesceExpr:
			*cost += ZS_COST_PER_CLAUSE * list_length(((CoalesceExpr *) node)->args);
			break;
		case T_NullTest:
		case T_BooleanTest:
			*cost += ZS_COST_PER_CLAUSE;
			break;
		default:
			break;
	}
	return expression_tree_walker(node, cost_walker, arg);
}

/*
 * What the programs of a filter's clauses (RestrictInfos or not) cost for a row that they run for;
 * reading columns is not in it.
 */
Cost
zscost_filter(List *clauses)
{
	Cost		total = 0;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		Cost		cost = 0;

		(void) cost_walker(lfirst(lc), &cost);
		Assert(cost >= 0);
		total += Max(cost, ZS_COST_PER_CLAUSE);
	}
	return total;
}

/*
 * What the programs of values such as aggregates and keys cost for a row that they run for; reading
 * columns is not in it.
 */
Cost
zscost_values(List *exprs)
{
	Cost		cost = 0;

	(void) cost_walker((Node *) exprs, &cost);
	Assert(cost >= 0);
	return cost;
}
