/*-------------------------------------------------------------------------
 *
 * expr_common.c
 *	  What the compilers of filters and of expressions share.
 *
 * The problem: some expressions become programs that mention an argument more than once.  "CASE x
 * WHEN 1 ... WHEN 2 ..." compares x again and again, NULLIF(x, y) compares x and gives it, "x IS
 * DISTINCT FROM y" asks for NULLs, too.  Compiled anew for each mention, n such expressions within
 * each other would give a program of 2^n nodes.  So such an argument has one program, which all
 * mentions share.  It gives its vector to the first of them, which asks for all rows that come to
 * any, and the vector is still there for the others.
 *
 * A program has a vector of 8 kB for each node, where the executor has a few bytes, and it runs by
 * recursion, where the executor has a list of steps.  So programs are bounded: an expression with
 * more nodes, or a deeper one, has none, and goes row by row through the executor.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_common.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/primnodes.h"

#include "expr_common.h"
#include "expr_internal.h"
#include "qual_internal.h"

/* Nodes within each other; each takes about 1 kB of the stack when it runs. */
#define MAX_DEPTH		500

/* Nodes at all, most of them conditions, which take some 300 bytes. */
#define MAX_NODES		20000

/* Nodes that have vectors. */
#define MAX_VECTORS		1000

/* Conditions on strings that have tables of entries of dictionaries. */
#define MAX_TABLES		64

/* See expr_common.h. */
bool
zsexpr_compiler_enter(ZsCompiler *compiler)
{
	CHECK_FOR_INTERRUPTS();
	check_stack_depth();
	compiler->depth++;
	compiler->nnodes++;
	return compiler->depth <= MAX_DEPTH && compiler->nnodes <= MAX_NODES;
}

/* See expr_common.h. */
void
zsexpr_compiler_leave(ZsCompiler *compiler)
{
	Assert(compiler->depth > 0);
	compiler->depth--;
}

/* See expr_common.h. */
bool
zsexpr_compiler_add_vector(ZsCompiler *compiler)
{
	return ++compiler->nvectors <= MAX_VECTORS;
}

/* See expr_common.h. */
bool
zsexpr_compiler_add_string(ZsCompiler *compiler)
{
	return ++compiler->nstrings <= MAX_TABLES;
}

/* See expr_common.h. */
int *
zsexpr_compiler_add_maker(ZsCompiler *compiler)
{
	if (compiler->nmakers == NULL)
		compiler->nmakers = palloc0(sizeof(int));
	++*compiler->nmakers;
	return compiler->nmakers;
}

/* See expr_common.h. */
void
zsexpr_compiler_drop_maker(ZsCompiler *compiler)
{
	Assert(compiler->nmakers != NULL && *compiler->nmakers > 0);
	--*compiler->nmakers;
}

/* See expr_common.h. */
Node *
zsexpr_compiler_resolve(const ZsCompiler *compiler, Node *node)
{
	node = zsexpr_qual_strip_relabel(node);
	if (node != NULL && IsA(node, CaseTestExpr) && compiler->case_node != NULL)
		node = compiler->case_node;
	return node;
}

/* See expr_common.h. */
AttrNumber
zsexpr_compiler_column(const ZsCompiler *compiler, Node *node, ZsDomain *domain)
{
	return zsexpr_column_of(compiler->desc, compiler->varno,
							zsexpr_compiler_resolve(compiler, node), domain);
}

/* See expr_common.h. */
bool
zsexpr_compiler_know(ZsCompiler *compiler, int place, Node *node)
{
	ZsKnownProgram *known = &compiler->known[place];
	Node	   *resolved = zsexpr_compiler_resolve(compiler, node);
	ZsExpr	   *program;

	Assert(place >= 0 && place < (int) lengthof(compiler->known));
	if (IsA(resolved, Var) || IsA(resolved, Const))
	{
		known->node = NULL;
		return true;
	}
	program = zsexpr_compile_node(compiler, node);
	known->node = node;
	known->program = program;
	return program != NULL;
}
