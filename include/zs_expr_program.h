/*-------------------------------------------------------------------------
 *
 * zs_expr_program.h
 *	  Expressions of a plan node with their programs, whose parameters may come later.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_expr_program.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_EXPR_PROGRAM_H
#define ZS_EXPR_PROGRAM_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "zs_expr.h"
#include "zs_expr_qual.h"

/* All programs of a plan node that look at the same rows. */
typedef struct ZsPrograms ZsPrograms;

/*
 * One of them: a clause of a filter, the FILTER clause or the argument of an aggregate, a group
 * key.  Its owner gives it memory, and may read it.
 */
typedef struct ZsProgram
{
	Node	   *expr;
	List	   *pseudos;		/* ZsPseudoConst; NIL: the program is there from the beginning */
	ZsQual	  **condition;		/* where its owner has the program: one of these two */
	ZsExpr	  **value;
	ZsQual	   *unbound_condition;	/* the program with NULLs for pseudoconstants; never runs */
	ZsExpr	   *unbound_value;

	/* since the programs were started last */
	bool		bound;			/* all pseudoconstants have values */
	bool		waits;			/* the program must not run: it is not bound, or there is none with
								 * these values */
	bool		reached;		/* a row has come to the expression; set by the owner */
} ZsProgram;

/* ---- expr_bind.c ---- */

extern Node *zsexpr_unbound(Node *expr);

/* ---- expr_program.c ---- */

extern ZsPrograms *zsexpr_programs_create(TupleDesc desc, Index varno, PlanState *node,
										  PlanState *parent);
extern void zsexpr_programs_add_condition(ZsPrograms *programs, ZsProgram *program, Node *expr,
										  ZsQual **condition);
extern void zsexpr_programs_add_value(ZsPrograms *programs, ZsProgram *program, Node *expr,
									  ZsExpr **value);
extern bool zsexpr_programs_start(ZsPrograms *programs);
extern bool zsexpr_programs_bind(ZsPrograms *programs);
extern bool zsexpr_program_bind(ZsPrograms *programs, ZsProgram *program);
extern bool zsexpr_program_is_bound_by_row(const ZsProgram *program);
extern Node *zsexpr_program_known_expr(const ZsProgram *program);

#endif							/* ZS_EXPR_PROGRAM_H */
