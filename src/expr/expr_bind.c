/*-------------------------------------------------------------------------
 *
 * expr_bind.c
 *	  Pseudoconstants: parameters and stable functions, as constants of a program.
 *
 * Programs compare columns with constants.  An expression of a plan may have others in their place
 * that look at no column: parameters of a prepared statement or of a nested loop, the value of an
 * InitPlan, now() - interval '1 day'.  None of them changes between a scan's start and the next
 * rescan, so the value that it has when the first row comes to it is that of all rows.  The planner
 * calls such an expression a pseudoconstant (clauses.c), and so does this file; it is bound when it
 * has got its value.
 *
 * When it is evaluated matters, since that may raise an error or run a plan.  The executor comes to
 * all arguments of operators and functions as soon as a row comes to the whole expression, whatever
 * their values; a pseudoconstant with only such nodes above it is direct.  One below AND, OR or
 * CASE may never be reached.
 *
 * Nothing is looked for within a subplan.  Its test compares with parameters that it sets itself
 * for each of its rows: elsewhere they have no value, though nothing in es_param_exec_vals tells
 * that from a zero.  What an expression may take from there are the parameters of its plan node,
 * which the planner has listed in allParam.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_bind.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_proc_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "expr_bind.h"
#include "zs_clause.h"

/* Looking for pseudoconstants, from the leaves up: each node is come to once. */
typedef struct FindContext
{
	bool		direct;			/* the executor comes to the node whenever it comes to the whole */
	bool		varies;			/* nodes so far: not all have one value for all rows of a scan */
	List	   *pseudos;
} FindContext;

typedef struct ReplaceContext
{
	List	   *pseudos;
	int			next;			/* number of the next one */
} ReplaceContext;

/* Is the node itself something that is not the same for all rows of a scan? */
static bool
varies_itself(const Node *node)
{
	switch (nodeTag(node))
	{
		case T_Var:
		case T_CaseTestExpr:
		case T_CoerceToDomainValue:
		case T_SetToDefault:
		case T_CurrentOfExpr:
		case T_NextValueExpr:
		case T_PlaceHolderVar:
			return true;
		default:
			return false;
	}
}

/* check_functions_in_node callback */
static bool
is_volatile(Oid funcid, void *context)
{
	return func_volatile(funcid) == PROVOLATILE_VOLATILE;
}

/* Does the node return more than one value for a row? */
static bool
returns_set(const Node *node)
{
	return (IsA(node, FuncExpr) && ((const FuncExpr *) node)->funcretset) ||
		(IsA(node, OpExpr) && ((const OpExpr *) node)->opretset);
}

/* Can such a node be a pseudoconstant? */
static bool
may_be_pseudo(const Node *node)
{
	switch (nodeTag(node))
	{
		case T_Param:
		case T_FuncExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_BoolExpr:
		case T_FieldSelect:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_ConvertRowtypeExpr:
		case T_CollateExpr:
		case T_CaseExpr:
		case T_ArrayExpr:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_SQLValueFunction:
		case T_NullTest:
		case T_BooleanTest:
		case T_CoerceToDomain:
		case T_SubscriptingRef:
			return true;
		default:
			return false;
	}
}

/* The node below other names for its type. */
static const Node *
strip_relabel(const Node *node)
{
	while (IsA(node, RelabelType))
		node = (const Node *) ((const RelabelType *) node)->arg;
	return node;
}

/* A constant under other names for its type is one for the compiler, too. */
static bool
is_constant(const Node *node)
{
	return IsA(strip_relabel(node), Const);
}

/* Does the executor evaluate all that is below such a node, whatever the values are? */
static bool
evaluates_all(const Node *node)
{
	switch (nodeTag(node))
	{
		case T_List:
		case T_OpExpr:
		case T_FuncExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_RelabelType:
		case T_CollateExpr:
		case T_CoerceViaIO:
		case T_NullTest:
		case T_BooleanTest:
			return true;
		case T_BoolExpr:
			return ((const BoolExpr *) node)->boolop == NOT_EXPR;
		default:
			return false;
	}
}

/*
 * Have expressions within the node a meaning only there?  Parameters in a subplan's test are set by
 * the subplan, and what an aggregate or a window function has in its lists sees other rows.
 */
static bool
is_closed(const Node *node)
{
	switch (nodeTag(node))
	{
		case T_SubLink:
		case T_SubPlan:
		case T_AlternativeSubPlan:
		case T_Aggref:
		case T_GroupingFunc:
		case T_WindowFunc:
			return true;
		default:
			return false;
	}
}

/* expression_tree_walker callback: the largest ones take the place of those within them. */
static bool
find_walker(Node *node, void *arg)
{
	FindContext *context = arg;
	bool		direct = context->direct;
	bool		varied = context->varies;
	int			npseudos = list_length(context->pseudos);
	ZsPseudoConst *pseudo;

	if (node == NULL)
		return false;
	if (is_closed(node))
	{
		context->varies = true;
		return false;
	}
	context->direct = direct && evaluates_all(node);
	context->varies = varies_itself(node);
	(void) expression_tree_walker(node, find_walker, context);
	context->direct = direct;
	if (!context->varies &&
		(check_functions_in_node(node, is_volatile, NULL) || returns_set(node)))
		context->varies = true;
	if (!context->varies && may_be_pseudo(node) && !is_constant(node))
	{
		pseudo = palloc0_object(ZsPseudoConst);
		pseudo->expr = (Expr *) node;
		pseudo->is_direct = direct;
		context->pseudos = lappend(list_truncate(context->pseudos, npseudos), pseudo);
	}
	context->varies = context->varies || varied;
	return false;
}

/* expression_tree_mutator callback; comes to them in the order in which they were found. */
static Node *
replace_mutator(Node *node, void *arg)
{
	ReplaceContext *context = arg;
	const ZsPseudoConst *pseudo;

	if (node == NULL)
		return NULL;
	check_stack_depth();
	if (is_closed(node) || context->next == list_length(context->pseudos))
		return node;
	pseudo = list_nth(context->pseudos, context->next);
	if ((Node *) pseudo->expr != node)
		return expression_tree_mutator(node, replace_mutator, arg);
	context->next++;
	if (pseudo->value != NULL)
		return (Node *) pseudo->value;
	return (Node *) makeNullConst(exprType(node), exprTypmod(node), exprCollation(node));
}

/*
 * The pseudoconstants of the expression that are no constants yet, as a list of ZsPseudoConst.
 * What has a value other than the last time it was looked at (volatile functions, SubPlans) stays
 * what it is, and the expression has no program then; nor are there pseudoconstants within
 * SubPlans, whose parameters are their own.
 */
List *
zsexpr_bind_find(Node *expr)
{
	FindContext context = {.direct = true};

	(void) find_walker(expr, &context);
	return context.pseudos;
}

/* The expression with the values of its pseudoconstants; NULLs where they are not known. */
Node *
zsexpr_bind_replace(Node *expr, List *pseudos)
{
	ReplaceContext context = {.pseudos = pseudos};
	Node	   *result;

	if (pseudos == NIL)
		return expr;
	result = replace_mutator(expr, &context);
	Assert(context.next == list_length(pseudos));
	return result;
}

/*
 * The expression with NULLs for its pseudoconstants, which tells of which type all values are going
 * to be; NULL: there can be no program with values that come later.
 */
Node *
zsexpr_unbound(Node *expr)
{
	List	   *pseudos = zsexpr_bind_find(expr);
	ListCell   *lc;

	foreach(lc, pseudos)
	{
		const ZsPseudoConst *pseudo = lfirst(lc);

		if (!pseudo->is_direct && !IsA(strip_relabel((const Node *) pseudo->expr), Param))
			return NULL;
	}
	return zsexpr_bind_replace(expr, pseudos);
}

/*
 * May it be evaluated before the executor comes to it?  Only parameters whose values are there: it
 * cannot raise an error, nor run a subplan.  node: the plan node that has the expression; a
 * parameter that the planner does not know to be one of its has no value.
 */
static bool
is_ready(const ZsPseudoConst *pseudo, const PlanState *node)
{
	const Param *param = (const Param *) strip_relabel((const Node *) pseudo->expr);

	if (!IsA(param, Param))
		return false;
	if (param->paramkind != PARAM_EXEC)
		return zsscan_param_is_ready(param, node->state->es_param_list_info);
	return bms_is_member(param->paramid, node->plan->allParam) &&
		node->state->es_param_exec_vals[param->paramid].execPlan == NULL;
}

/* Makes the expressions' states; parent: of the node, or NULL. */
void
zsexpr_bind_init(List *pseudos, PlanState *parent)
{
	ListCell   *lc;

	foreach(lc, pseudos)
	{
		ZsPseudoConst *pseudo = lfirst(lc);

		Assert(pseudo->state == NULL);
		pseudo->state = ExecInitExpr(pseudo->expr, parent);
	}
}

/* Sets its value, in the memory context.  Errors: the expression's. */
static void
evaluate(ZsPseudoConst *pseudo, ExprContext *econtext, MemoryContext context)
{
	Node	   *expr = (Node *) pseudo->expr;
	MemoryContext old;
	int16		typlen;
	bool		typbyval;
	bool		isnull;
	Datum		value = ExecEvalExprSwitchContext(pseudo->state, econtext, &isnull);

	Assert(pseudo->value == NULL);
	get_typlenbyval(exprType(expr), &typlen, &typbyval);
	old = MemoryContextSwitchTo(context);
	pseudo->value = makeConst(exprType(expr), exprTypmod(expr), exprCollation(expr), typlen,
							  isnull ? (Datum) 0 : datumCopy(value, typbyval, typlen), isnull,
							  typbyval);
	MemoryContextSwitchTo(old);
}

/*
 * Evaluates those that have no value, into the memory context: those that are ready and, if a row
 * has reached the whole expression, those that the executor comes to with it; one below OR may
 * never be reached.  Have all a value now?  econtext is reset.  Errors: the pseudoconstants'.
 */
bool
zsexpr_bind_values(List *pseudos, bool reached, const PlanState *node, ExprContext *econtext,
				   MemoryContext context)
{
	bool		bound = true;
	ListCell   *lc;

	foreach(lc, pseudos)
	{
		ZsPseudoConst *pseudo = lfirst(lc);

		if (pseudo->value == NULL &&
			((reached && pseudo->is_direct) || is_ready(pseudo, node)))
			evaluate(pseudo, econtext, context);
		bound = bound && pseudo->value != NULL;
	}
	ResetExprContext(econtext);
	return bound;
}

/* None of them has a value any more: they may have others now. */
void
zsexpr_bind_forget(List *pseudos)
{
	ListCell   *lc;

	foreach(lc, pseudos)
		((ZsPseudoConst *) lfirst(lc))->value = NULL;
}
