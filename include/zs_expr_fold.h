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

extern List *zsexpr_fold_find(Node *clause);
extern bool zsexpr_fold_is_possible(List *parts);
extern Node *zsexpr_fold_replace(Node *clause, List *parts);
extern Node *zsexpr_fold_with_nulls(Node *clause);
extern void zsexpr_fold_init(List *parts, PlanState *parent);
extern void zsexpr_fold_evaluate(ZsFoldedPart *part, ExprContext *econtext,
								 MemoryContext context);
extern bool zsexpr_fold_is_ready(const ZsFoldedPart *part, const PlanState *node);
extern bool zsexpr_fold_complete(List *parts, bool reached, const PlanState *node,
								 ExprContext *econtext, MemoryContext context);
extern void zsexpr_fold_forget(List *parts);

#endif							/* ZS_EXPR_FOLD_H */
