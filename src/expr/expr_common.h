/*-------------------------------------------------------------------------
 *
 * expr_common.h
 *	  What the compilers of filters and of expressions share; private to src/expr.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_common.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef EXPR_COMMON_H
#define EXPR_COMMON_H

#include "postgres.h"

#include "access/tupdesc.h"

#include "zs_expr_qual.h"

/* An expression that has its program already. */
typedef struct ZsKnownProgram
{
	const Node *node;			/* the very node, not one like it; NULL: none */
	struct ZsExpr *program;
} ZsKnownProgram;

/*
 * One program being made: where its columns are, what it shares and how large it is.  Whoever
 * changes one of the first members for a part of the program puts back what was there.
 */
typedef struct ZsCompiler
{
	TupleDesc	desc;
	Index		varno;

	/*
	 * The value that "CASE value WHEN ..." compares: a column or a constant, or a program that the
	 * CASE runs first.  Neither: there is no such value around.
	 */
	Node	   *case_node;
	struct ZsExpr *case_program;

	/* arguments that the condition being compiled is not the first one to have */
	ZsKnownProgram known[2];

	int			depth;			/* of the node being compiled */
	int			nnodes;			/* all that there have been */
	int			nvectors;		/* those of expressions that need a vector of their own */
	int			nstrings;		/* conditions on strings */
	int		   *nmakers;		/* nodes that make strings, of which each knows; NULL: none yet */
} ZsCompiler;

/* expr_common.c */

extern bool zsexpr_compiler_enter(ZsCompiler *compiler);
extern void zsexpr_compiler_leave(ZsCompiler *compiler);
extern bool zsexpr_compiler_add_vector(ZsCompiler *compiler);
extern bool zsexpr_compiler_add_string(ZsCompiler *compiler);
extern int *zsexpr_compiler_add_maker(ZsCompiler *compiler);
extern void zsexpr_compiler_drop_maker(ZsCompiler *compiler);
extern Node *zsexpr_compiler_resolve(const ZsCompiler *compiler, Node *node);
extern AttrNumber zsexpr_compiler_column(const ZsCompiler *compiler, Node *node,
										 ZsDomain *domain);
extern bool zsexpr_compiler_know(ZsCompiler *compiler, int place, Node *node);

/* expr_compile.c */

extern struct ZsExpr *zsexpr_compile_node(ZsCompiler *compiler, Node *node);

#endif							/* EXPR_COMMON_H */
