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

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "utils/lsyscache.h"

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

/* What stands below RelabelType nodes. */
static Node *
strip_relabel(Node *node)
{
	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node;
}

/*
 * The column and its domain, if expr is a column of the table and nothing else but another name for
 * its type.
 */
AttrNumber
zsexpr_column_of(TupleDesc desc, Index varno, Node *expr, ZsDomain *domain)
{
	const Var  *var = (const Var *) strip_relabel(expr);
	Form_pg_attribute att;
	ZsAttrKind	kind;
	Oid			type;

	*domain = ZS_DOMAIN_NONE;
	if (var == NULL || !IsA(var, Var) || var->varno != (int) varno || var->varlevelsup != 0 ||
		var->varattno <= 0 || var->varattno > desc->natts)
		return InvalidAttrNumber;
	att = TupleDescAttr(desc, var->varattno - 1);
	if (att->attisdropped)
		return InvalidAttrNumber;
	zsattr_kind(att, &kind);
	type = getBaseType(att->atttypid);
	switch (kind.kind)
	{
		case ZS_KIND_INT:
			*domain = kind.is_unsigned ? ZS_DOMAIN_UINT : ZS_DOMAIN_INT;
			break;
		case ZS_KIND_FLOAT4:
			*domain = ZS_DOMAIN_FLOAT4;
			break;
		case ZS_KIND_FLOAT8:
			*domain = ZS_DOMAIN_FLOAT8;
			break;
		case ZS_KIND_NUMERIC:
			if (kind.layout == ZS_LAYOUT_PACKED)
				*domain = ZS_DOMAIN_DECIMAL;
			break;
		case ZS_KIND_BYTES:
			if (kind.layout != ZS_LAYOUT_PACKED)
				break;
			if (type == TEXTOID || type == VARCHAROID)
				*domain = ZS_DOMAIN_TEXT;
			else if (type == BPCHAROID)
				*domain = ZS_DOMAIN_BPCHAR;
			break;
		case ZS_KIND_FIXED:
		case ZS_KIND_INVALID:
			break;
	}
	return var->varattno;
}

/* What to ask zsscan_batch_column() for. */
ZsColumnWant
zsexpr_want_of(ZsDomain domain)
{
	switch (domain)
	{
		case ZS_DOMAIN_DECIMAL:
			return ZS_WANT_DECIMAL;
		case ZS_DOMAIN_NONE:
		case ZS_DOMAIN_TEXT:
		case ZS_DOMAIN_BPCHAR:
			return ZS_WANT_DATUM;
		default:
			return ZS_WANT_INT;
	}
}

/* A node with room for nargs arguments. */
ZsExpr *
zsexpr_make(ZsExprKind kind, ZsDomain domain, int width, int nargs)
{
	ZsExpr	   *expr = palloc0(sizeof(ZsExpr));

	Assert(nargs >= 0 && width >= 0 && width <= (int) sizeof(int64));
	expr->kind = kind;
	expr->domain = domain;
	expr->width = width;
	expr->args = palloc0(Max(nargs, 1) * sizeof(ZsExpr *));
	expr->scaled_scale[0] = expr->scaled_scale[1] = -1;
	return expr;
}

/* Gives the node its next argument. */
void
zsexpr_add_arg(ZsExpr *expr, ZsExpr *arg)
{
	Assert(arg != NULL);
	expr->args[expr->nargs++] = arg;
}

/* What the values of the expression are. */
ZsDomain
zsexpr_domain(const ZsExpr *expr)
{
	return expr->domain;
}

/* The bytes of its values, if they are by value. */
int
zsexpr_width(const ZsExpr *expr)
{
	return expr->width;
}

/* ---- one program being made --------------------------------------------------------------- */

/*
 * Begins a node; false: the program would be too large, and there is none.  Each call needs one of
 * zsexpr_compiler_leave().  Errors: a cancel, a stack that is too deep.
 */
bool
zsexpr_compiler_enter(ZsCompiler *compiler)
{
	CHECK_FOR_INTERRUPTS();
	check_stack_depth();
	compiler->depth++;
	compiler->nnodes++;
	return compiler->depth <= MAX_DEPTH && compiler->nnodes <= MAX_NODES;
}

/* Ends a node. */
void
zsexpr_compiler_leave(ZsCompiler *compiler)
{
	Assert(compiler->depth > 0);
	compiler->depth--;
}

/* Counts a node with a vector; false: the program would be too large. */
bool
zsexpr_compiler_add_vector(ZsCompiler *compiler)
{
	return ++compiler->nvectors <= MAX_VECTORS;
}

/* Counts a condition on strings; false: it must not have a table of a dictionary's entries. */
bool
zsexpr_compiler_add_string(ZsCompiler *compiler)
{
	return ++compiler->nstrings <= MAX_TABLES;
}

/* Counts a node that makes strings; the address of how many the program has in the end. */
int *
zsexpr_compiler_add_maker(ZsCompiler *compiler)
{
	if (compiler->nmakers == NULL)
		compiler->nmakers = palloc0(sizeof(int));
	++*compiler->nmakers;
	return compiler->nmakers;
}

/* Takes a node that makes strings out of the count. */
void
zsexpr_compiler_drop_maker(ZsCompiler *compiler)
{
	Assert(compiler->nmakers != NULL && *compiler->nmakers > 0);
	--*compiler->nmakers;
}

/*
 * What stands below RelabelType nodes; in the place of what stands for the value of a CASE this, if
 * it is a column or a constant.
 */
Node *
zsexpr_compiler_resolve(const ZsCompiler *compiler, Node *node)
{
	node = strip_relabel(node);
	if (node != NULL && IsA(node, CaseTestExpr) && compiler->case_node != NULL)
		node = compiler->case_node;
	return node;
}

/* zsexpr_column_of() for a node of the program. */
AttrNumber
zsexpr_compiler_column(const ZsCompiler *compiler, Node *node, ZsDomain *domain)
{
	return zsexpr_column_of(compiler->desc, compiler->varno,
							zsexpr_compiler_resolve(compiler, node), domain);
}

/*
 * Compiles the node if it is neither a column nor a constant, so that the conditions that follow
 * find its program; false: there is none.  place: of compiler->known.
 */
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
