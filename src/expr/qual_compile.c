/*-------------------------------------------------------------------------
 *
 * qual_compile.c
 *	  From a boolean expression to a program over batches.
 *
 * Comparisons (qual_compare.c) cannot raise an error; of the expressions that they compare
 * some can (expr_compile.c).  Where one would, the batch is given back, and it is asked for
 * no row for which the executor would not ask for it but those for which a condition in front is
 * unknown: so a program never hides an error, and the executor decides whether there is one.
 *
 * A column may stand below RelabelType nodes, which change the name of a type and no bit of its
 * values; the comparison's function decides how the bits are understood.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/qual_compile.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "qual_internal.h"
#include "zs_codec.h"

/* ---- nodes ------------------------------------------------------------------------ */

static ZsQual *
compile_list(ZsCompiler *compiler, ZsQualKind kind, List *args)
{
	ZsQual	   *qual = zsexpr_qual_make_list(kind, list_length(args));
	ListCell   *lc;

	foreach(lc, args)
	{
		ZsQual	   *arg = zsexpr_qual_compile_node(compiler, lfirst(lc));

		if (arg == NULL)
			return NULL;
		qual->args[qual->nargs++] = arg;
	}
	return qual;
}

/* A node with one argument around it. */
static ZsQual *
make_unary(ZsQualKind kind, ZsQual *arg)
{
	ZsQual	   *qual;

	if (arg == NULL)
		return NULL;
	qual = zsexpr_qual_make_list(kind, 1);
	qual->args[qual->nargs++] = arg;
	return qual;
}

static ZsQual *
compile_boolean_test(ZsCompiler *compiler, const BooleanTest *test)
{
	ZsQual	   *arg = zsexpr_qual_compile_node(compiler, (Node *) test->arg);

	switch (test->booltesttype)
	{
		case IS_TRUE:
			return make_unary(ZS_QUAL_IS_TRUE, arg);
		case IS_NOT_TRUE:
			return make_unary(ZS_QUAL_NOT, make_unary(ZS_QUAL_IS_TRUE, arg));
		case IS_FALSE:
			return make_unary(ZS_QUAL_IS_FALSE, arg);
		case IS_NOT_FALSE:
			return make_unary(ZS_QUAL_NOT, make_unary(ZS_QUAL_IS_FALSE, arg));
		case IS_UNKNOWN:
			return make_unary(ZS_QUAL_IS_UNKNOWN, arg);
		case IS_NOT_UNKNOWN:
			return make_unary(ZS_QUAL_NOT, make_unary(ZS_QUAL_IS_UNKNOWN, arg));
	}
	return NULL;
}

/* "value IS NULL", of a column or a program. */
static ZsQual *
make_null_test(AttrNumber attno, ZsDomain domain, ZsExpr *expr)
{
	ZsQual	   *qual = zsexpr_qual_make(ZS_QUAL_NULL);

	Assert((attno != InvalidAttrNumber) != (expr != NULL));
	qual->attno = attno;
	qual->expr = expr;
	qual->domain = domain;
	return qual;
}

/* IS [NOT] NULL of a column, or of a condition. */
static ZsQual *
compile_null_test(ZsCompiler *compiler, const NullTest *test)
{
	ZsDomain	domain;
	AttrNumber	attno = zsexpr_compiler_column(compiler, (Node *) test->arg, &domain);
	ZsQual	   *qual;

	if (test->argisrow)
		return NULL;
	if (attno == InvalidAttrNumber && exprType((Node *) test->arg) == BOOLOID)
		qual = make_unary(ZS_QUAL_IS_UNKNOWN,
						  zsexpr_qual_compile_node(compiler, (Node *) test->arg));
	else
	{
		ZsExpr	   *expr = NULL;

		if (attno == InvalidAttrNumber)
			expr = zsexpr_compile_node(compiler, (Node *) test->arg);
		if (expr == NULL && domain == ZS_DOMAIN_NONE)
			return NULL;
		qual = make_null_test(attno, domain, expr);
	}
	if (qual == NULL)
		return NULL;
	return test->nulltesttype == IS_NULL ? qual : make_unary(ZS_QUAL_NOT, qual);
}

/* "arg IS NULL" of an argument that the compiler knows if it is no column and no constant. */
static ZsQual *
compile_known_null(ZsCompiler *compiler, Node *arg, const ZsKnownProgram *known)
{
	Node	   *resolved = zsexpr_compiler_resolve(compiler, arg);
	ZsDomain	domain;
	AttrNumber	attno;

	if (known->node != NULL)
		return make_null_test(InvalidAttrNumber, ZS_DOMAIN_NONE, known->program);
	if (IsA(resolved, Const))
		return zsexpr_qual_make_const(false, ((Const *) resolved)->constisnull);
	attno = zsexpr_compiler_column(compiler, resolved, &domain);
	return attno == InvalidAttrNumber || domain == ZS_DOMAIN_NONE ? NULL :
		make_null_test(attno, domain, NULL);
}

/* "NOT (a = b IS TRUE OR a IS NULL AND b IS NULL)", whose arguments the compiler knows. */
static ZsQual *
compile_known_distinct(ZsCompiler *compiler, const OpExpr *op)
{
	ZsQual	   *either = zsexpr_qual_make_list(ZS_QUAL_OR, 2);
	ZsQual	   *both = zsexpr_qual_make_list(ZS_QUAL_AND, 2);

	either->args[0] = make_unary(ZS_QUAL_IS_TRUE, zsexpr_qual_compile_op(compiler, op));
	if (either->args[0] == NULL)
		return NULL;
	for (int i = 0; i < 2; i++)
	{
		ZsQual	   *isnull = compile_known_null(compiler, list_nth(op->args, i),
												&compiler->known[i]);

		if (isnull == NULL)
			return NULL;
		both->args[both->nargs++] = isnull;
	}
	either->args[1] = both;
	either->nargs = 2;
	return make_unary(ZS_QUAL_NOT, either);
}

/*
 * "a IS DISTINCT FROM b".  The comparison comes first and asks for both values of all rows, so that
 * the tests for NULL find them.
 */
static ZsQual *
compile_distinct(ZsCompiler *compiler, const DistinctExpr *distinct)
{
	OpExpr	   *op = makeNode(OpExpr);
	ZsKnownProgram outer[lengthof(compiler->known)];
	ZsQual	   *qual = NULL;

	Assert(list_length(distinct->args) == 2);
	/* both are the same struct with another tag */
	memcpy(op, distinct, sizeof(OpExpr));
	op->xpr.type = T_OpExpr;
	memcpy(outer, compiler->known, sizeof(outer));
	if (zsexpr_compiler_know(compiler, 0, linitial(op->args)) &&
		zsexpr_compiler_know(compiler, 1, lsecond(op->args)))
		qual = compile_known_distinct(compiler, op);
	memcpy(compiler->known, outer, sizeof(outer));
	return qual;
}

/* A value of type boolean that is a column, a constant, or something that has a program. */
static ZsQual *
compile_boolean_value(ZsCompiler *compiler, Node *expr)
{
	Node	   *value = zsexpr_compiler_resolve(compiler, expr);
	ZsDomain	domain;
	AttrNumber	attno;

	if (exprType(expr) != BOOLOID)
		return NULL;
	if (IsA(value, Const))
	{
		Const	   *c = (Const *) value;

		return zsexpr_qual_make_const(c->constisnull, !c->constisnull &&
									  DatumGetBool(c->constvalue));
	}
	attno = zsexpr_compiler_column(compiler, value, &domain);
	if (attno != InvalidAttrNumber)
		return zsexpr_qual_make_compare(compiler, attno, domain, ZS_CMP_NE,
										BoolGetDatum(false), BOOLOID);
	return IsA(value, Var) ? NULL : zsexpr_qual_compile_value(compiler, expr);
}

static ZsQual *
compile_any(ZsCompiler *compiler, Node *expr)
{
	switch (nodeTag(expr))
	{
		case T_List:
			return compile_list(compiler, ZS_QUAL_AND, (List *) expr);
		case T_BoolExpr:
			{
				BoolExpr   *b = (BoolExpr *) expr;

				if (b->boolop == NOT_EXPR)
					return make_unary(ZS_QUAL_NOT,
									  zsexpr_qual_compile_node(compiler, linitial(b->args)));
				return compile_list(compiler, b->boolop == AND_EXPR ? ZS_QUAL_AND : ZS_QUAL_OR,
									b->args);
			}
		case T_OpExpr:
			return zsexpr_qual_compile_op(compiler, (OpExpr *) expr);
		case T_ScalarArrayOpExpr:
			return zsexpr_qual_compile_array_op(compiler, (ScalarArrayOpExpr *) expr);
		case T_NullTest:
			return compile_null_test(compiler, (NullTest *) expr);
		case T_DistinctExpr:
			return compile_distinct(compiler, (DistinctExpr *) expr);
		case T_BooleanTest:
			return compile_boolean_test(compiler, (BooleanTest *) expr);
		case T_FuncExpr:
			{
				FuncExpr   *f = (FuncExpr *) expr;

				return zsexpr_qual_is_like_function(f->funcid) ?
					zsexpr_qual_compile_like(compiler, f->funcid, f->args, f->inputcollid) :
					zsexpr_qual_compile_value(compiler, expr);
			}
		case T_Const:
		case T_Var:
		case T_CaseTestExpr:
			return compile_boolean_value(compiler, expr);
		case T_CaseExpr:
		case T_CoalesceExpr:
		case T_NullIfExpr:
			return zsexpr_qual_compile_value(compiler, expr);
		default:
			return NULL;
	}
}

/* The program of a condition, or of a list of them joined by AND; NULL if there is none. */
ZsQual *
zsexpr_qual_compile_node(ZsCompiler *compiler, Node *expr)
{
	ZsQual	   *qual = NULL;

	if (zsexpr_compiler_enter(compiler))
		qual = compile_any(compiler, expr);
	zsexpr_compiler_leave(compiler);
	return qual;
}

/*
 * Makes a program of a boolean expression, or of a list of them joined by AND, over the columns of
 * one table (varno); NULL if it has something that programs do not know.  A program raises no
 * error: where the executor would, or might, it gives the batch back.  Its answer is that of the
 * executor.  An empty list gives a program that is always true.  Memory comes from the current
 * context.  Reads system catalogs.  Errors: a cancel, a stack that is too deep.
 */
ZsQual *
zsexpr_qual_compile(TupleDesc desc, Index varno, Node *expr)
{
	ZsCompiler	compiler = {.desc = desc, .varno = varno};
	ZsQual	   *qual;

	Assert(varno > 0);
	if (expr == NULL)
		return zsexpr_qual_make_list(ZS_QUAL_AND, 0);
	qual = zsexpr_qual_compile_node(&compiler, expr);
	if (qual != NULL)
		qual->nvectors = compiler.nvectors;
	return qual;
}

/* How many vectors a program needs, beside those of columns. */
int
zsexpr_qual_nvectors(const ZsQual *qual)
{
	return qual->nvectors;
}

/*
 * Is there such a program?  Leaves no memory behind.  *nvectors grows by the vectors that it needs;
 * NULL: nobody asks.
 */
bool
zsexpr_qual_has_program(TupleDesc desc, Index varno, Node *expr, int *nvectors)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "zedstore program",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	const ZsQual *qual = zsexpr_qual_compile(desc, varno, expr);
	bool		result = qual != NULL;

	if (result && nvectors != NULL)
		*nvectors += qual->nvectors;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return result;
}
