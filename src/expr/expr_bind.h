/*-------------------------------------------------------------------------
 *
 * expr_bind.h
 *	  Pseudoconstants of an expression; private to src/expr.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_bind.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef EXPR_BIND_H
#define EXPR_BIND_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "zs_expr_program.h"

/* A part of an expression that looks at no column: it has one value until the scan starts anew. */
typedef struct ZsPseudoConst
{
	Expr	   *expr;
	ExprState  *state;			/* NULL: not initialized */
	bool		is_direct;		/* the executor comes to it whenever it comes to the whole */
	Const	   *value;			/* NULL: not known yet */
} ZsPseudoConst;

extern List *zsexpr_bind_find(Node *expr);
extern Node *zsexpr_bind_replace(Node *expr, List *pseudos);
extern void zsexpr_bind_init(List *pseudos, PlanState *parent);
extern bool zsexpr_bind_values(List *pseudos, bool reached, const PlanState *node,
							   ExprContext *econtext, MemoryContext context);
extern void zsexpr_bind_forget(List *pseudos);

#endif							/* EXPR_BIND_H */
