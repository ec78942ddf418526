/*-------------------------------------------------------------------------
 *
 * vector_compile.c
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
 * src/vector/vector_compile.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/primnodes.h"

#include "vector_compile.h"
#include "vector_expr_internal.h"
#include "vector_qual_internal.h"

/* Nodes within each other; each takes about 1 kB of the stack when it runs. */
#define MAX_DEPTH		500

/* Nodes at all, most of them conditions, which take some 300 bytes. */
#define MAX_NODES		20000

/* Nodes that have vectors. */
#define MAX_VECTORS		1000

/* Conditions on strings that have tables of entries of dictionaries. */
#define MAX_TABLES		64

/* See vector_compile.h. */
bool
zsvector_compiler_enter(ZsCompiler *compiler)
{
	CHECK_FOR_INTERRUPTS();
	check_stack_depth();
	compiler->depth++;
	compiler->nnodes++;
	return compiler->depth <= MAX_DEPTH && compiler->nnodes <= MAX_NODES;
}

/* See vector_compile.h. */
void
zsvector_compiler_leave(ZsCompiler *compiler)
{
	Assert(compiler->depth > 0);
	compiler->depth--;
}

/* See vector_compile.h. */
bool
zsvector_compiler_add_vector(ZsCompiler *compiler)
{
	return ++compiler->nvectors <= MAX_VECTORS;
}

/* See vector_compile.h. */
bool
zsvector_compiler_add_string(ZsCompiler *compiler)
{
	return ++compiler->nstrings <= MAX_TABLES;
}

/* See vector_compile.h. */
int *
zsvector_compiler_add_maker(ZsCompiler *compiler)
{
	if (compiler->nmakers == NULL)
		compiler->nmakers = palloc0(sizeof(int));
	++*compiler->nmakers;
	return compiler->nmakers;
}

/* See vector_compile.h. */
void
zsvector_compiler_drop_maker(ZsCompiler *compiler)
{
	Assert(compiler->nmakers != NULL && *compiler->nmakers > 0);
	--*compiler->nmakers;
}

/* See vector_compile.h. */
Node *
zsvector_compiler_resolve(const ZsCompiler *compiler, Node *node)
{
	node = zsvector_qual_strip_relabel(node);
	if (node != NULL && IsA(node, CaseTestExpr) && compiler->case_node != NULL)
		node = compiler->case_node;
	return node;
}

/* See vector_compile.h. */
AttrNumber
zsvector_compiler_column(const ZsCompiler *compiler, Node *node, ZsDomain *domain)
{
	return zsvector_column_of(compiler->desc, compiler->varno,
							  zsvector_compiler_resolve(compiler, node), domain);
}

/* See vector_compile.h. */
bool
zsvector_compiler_know(ZsCompiler *compiler, int place, Node *node)
{
	ZsKnownProgram *known = &compiler->known[place];
	Node	   *resolved = zsvector_compiler_resolve(compiler, node);
	ZsExpr	   *program;

	Assert(place >= 0 && place < (int) lengthof(compiler->known));
	if (IsA(resolved, Var) || IsA(resolved, Const))
	{
		known->node = NULL;
		return true;
	}
	program = zsvector_expr_compile_node(compiler, node);
	known->node = node;
	known->program = program;
	return program != NULL;
}
