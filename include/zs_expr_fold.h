/*-------------------------------------------------------------------------
 *
 * zs_expr_fold.h
 *	  Expressions without columns in a clause: parameters and stable functions.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_expr_fold.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_EXPR_FOLD_H
#define ZS_EXPR_FOLD_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/pg_list.h"

/* ---- expr_fold.c ---- */

/*
 * A part of a clause that looks at no column: its value stays the same until the scan starts anew.
 */
typedef struct ZsFoldedPart
{
	Expr	   *expr;
	ExprState  *state;			/* NULL: not initialized */
	bool		is_direct;		/* the executor comes to it whenever it comes to the clause */
	Const	   *value;			/* NULL: not known yet */
} ZsFoldedPart;

/*
 * The parts of the clause that look at no column and are no constants yet, as a list of
 * ZsFoldedPart.  Those that have a value other than the last time they were looked at (volatile
 * functions, SubPlans) stay what they are, and the clause has no program then; nor are there parts
 * within SubPlans, whose parameters are their own.
 */
extern List *zsexpr_fold_find(Node *clause);

/* Can there be a program for a clause with such parts, whatever their values? */
extern bool zsexpr_fold_is_possible(List *parts);

/* The clause with the values of its parts in their places; NULLs where they are not known. */
extern Node *zsexpr_fold_replace(Node *clause, List *parts);

/* The clause with NULLs for its parts; NULL: there can be no program. */
extern Node *zsexpr_fold_with_nulls(Node *clause);

/* Makes the expressions' states; parent: of the node, or NULL. */
extern void zsexpr_fold_init(List *parts, PlanState *parent);

/* Sets the part's value, in the memory context.  Errors: the part's. */
extern void zsexpr_fold_evaluate(ZsFoldedPart *part, ExprContext *econtext,
								 MemoryContext context);

/*
 * May the part be evaluated before the executor comes to it?  Only parameters whose values are
 * there: it cannot raise an error, nor run a subplan.  node: the plan node that has the expression;
 * a parameter that the planner does not know to be one of its has no value.
 */
extern bool zsexpr_fold_is_ready(const ZsFoldedPart *part, const PlanState *node);

/*
 * Evaluates parts that have no value, into the memory context: those that are ready and, if a row
 * has reached the clause, those that the executor comes to with it; one below OR may never be
 * reached.  Have all a value now?  econtext is reset.  Errors: the parts'.
 */
extern bool zsexpr_fold_complete(List *parts, bool reached, const PlanState *node,
								 ExprContext *econtext, MemoryContext context);

/* None of the parts has a value any more: they may have others now. */
extern void zsexpr_fold_forget(List *parts);

#endif							/* ZS_EXPR_FOLD_H */
