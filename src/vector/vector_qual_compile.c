/*-------------------------------------------------------------------------
 *
 * vector_qual_compile.c
 *	  From a boolean expression to a program over batches.
 *
 * Comparisons (vector_qual_compare.c) cannot raise an error; of the expressions that they compare
 * some can (vector_expr_compile.c).  Where one would, the batch is given back, and it is asked for
 * no row for which the executor would not ask for it but those for which a condition in front is
 * unknown: so a program never hides an error, and the executor decides whether there is one.
 *
 * A column may stand below RelabelType nodes, which change the name of a type and no bit of its
 * values; the comparison's function decides how the bits are understood.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_qual_compile.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "vector_qual_internal.h"
#include "zs_codec.h"

/* See vector_qual_internal.h. */
Node *
zsvector_qual_strip_relabel(Node *node)
{
	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node;
}

/* See vector_qual.h. */
AttrNumber
zsvector_column_of(TupleDesc desc, Index varno, Node *expr, ZsDomain *domain)
{
	const Var  *var = (const Var *) zsvector_qual_strip_relabel(expr);
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

/* See vector_qual.h. */
ZsColumnWant
zsvector_want_of(ZsDomain domain)
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

/* See vector_qual_internal.h. */
bool
zsvector_qual_match_domain(ZsDomain have, ZsDomain *wanted)
{
	switch (*wanted)
	{
		case ZS_DOMAIN_INT:
		case ZS_DOMAIN_UINT:
			return have == ZS_DOMAIN_INT || have == ZS_DOMAIN_UINT;
		case ZS_DOMAIN_FLOAT4:
		case ZS_DOMAIN_FLOAT8:
			if (have != ZS_DOMAIN_FLOAT4 && have != ZS_DOMAIN_FLOAT8)
				return false;
			*wanted = have;
			return true;
		default:
			return have == *wanted;
	}
}

/* ---- nodes ------------------------------------------------------------------------ */

/* See vector_qual_internal.h. */
ZsQual *
zsvector_qual_make(ZsQualKind kind)
{
	ZsQual	   *qual = palloc0(sizeof(ZsQual));

	qual->kind = kind;
	return qual;
}

/* See vector_qual_internal.h. */
ZsQual *
zsvector_qual_make_const(bool isnull, bool value)
{
	ZsQual	   *qual = zsvector_qual_make(ZS_QUAL_CONST);

	qual->is_true = !isnull && value;
	qual->is_false = !isnull && !value;
	return qual;
}

/* See vector_qual_internal.h. */
ZsQual *
zsvector_qual_make_list(ZsQualKind kind, int nargs)
{
	ZsQual	   *qual = zsvector_qual_make(kind);

	qual->args = palloc0(Max(nargs, 1) * sizeof(ZsQual *));
	return qual;
}

static ZsQual *
compile_list(TupleDesc desc, Index varno, ZsQualKind kind, List *args)
{
	ZsQual	   *qual = zsvector_qual_make_list(kind, list_length(args));
	ListCell   *lc;

	foreach(lc, args)
	{
		ZsQual	   *arg = zsvector_qual_compile(desc, varno, lfirst(lc));

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
	qual = zsvector_qual_make_list(kind, 1);
	qual->args[qual->nargs++] = arg;
	return qual;
}

static ZsQual *
compile_boolean_test(TupleDesc desc, Index varno, const BooleanTest *test)
{
	ZsQual	   *arg = zsvector_qual_compile(desc, varno, (Node *) test->arg);

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

/* IS [NOT] NULL of a column, or of a condition. */
static ZsQual *
compile_null_test(TupleDesc desc, Index varno, const NullTest *test)
{
	ZsDomain	domain;
	AttrNumber	attno = zsvector_column_of(desc, varno, (Node *) test->arg, &domain);
	ZsQual	   *qual;

	if (test->argisrow)
		return NULL;
	if (attno == InvalidAttrNumber && exprType((Node *) test->arg) == BOOLOID)
		qual = make_unary(ZS_QUAL_IS_UNKNOWN,
						  zsvector_qual_compile(desc, varno, (Node *) test->arg));
	else
	{
		ZsExpr	   *expr = NULL;

		if (attno == InvalidAttrNumber)
			expr = zsvector_expr_compile(desc, varno, (Node *) test->arg);
		if (expr == NULL && domain == ZS_DOMAIN_NONE)
			return NULL;
		qual = zsvector_qual_make(ZS_QUAL_NULL);
		qual->attno = attno;
		qual->expr = expr;
		qual->domain = domain;
	}
	if (qual == NULL)
		return NULL;
	return test->nulltesttype == IS_NULL ? qual : make_unary(ZS_QUAL_NOT, qual);
}

static Node *
make_is_null(Node *arg)
{
	NullTest   *test = makeNode(NullTest);

	test->arg = (Expr *) arg;
	test->nulltesttype = IS_NULL;
	test->location = -1;
	return (Node *) test;
}

/* "a IS DISTINCT FROM b" is "NOT (a = b IS TRUE OR a IS NULL AND b IS NULL)". */
static ZsQual *
compile_distinct(TupleDesc desc, Index varno, const DistinctExpr *distinct)
{
	OpExpr	   *op = makeNode(OpExpr);
	ZsQual	   *either;
	ZsQual	   *both = zsvector_qual_make_list(ZS_QUAL_AND, 2);
	ListCell   *lc;

	Assert(list_length(distinct->args) == 2);
	/* both are the same struct with another tag */
	memcpy(op, distinct, sizeof(OpExpr));
	op->xpr.type = T_OpExpr;
	either = zsvector_qual_make_list(ZS_QUAL_OR, 2);
	either->args[either->nargs++] = make_unary(ZS_QUAL_IS_TRUE,
											   zsvector_qual_compile_op(desc, varno, op));
	if (either->args[0] == NULL)
		return NULL;
	foreach(lc, distinct->args)
	{
		Node	   *arg = zsvector_qual_strip_relabel(lfirst(lc));
		ZsQual	   *isnull = IsA(arg, Const) ?
			zsvector_qual_make_const(false, ((Const *) arg)->constisnull) :
			zsvector_qual_compile(desc, varno, make_is_null(arg));

		if (isnull == NULL)
			return NULL;
		both->args[both->nargs++] = isnull;
	}
	either->args[either->nargs++] = both;
	return make_unary(ZS_QUAL_NOT, either);
}

/* See vector_qual.h. */
ZsQual *
zsvector_qual_compile(TupleDesc desc, Index varno, Node *expr)
{
	Assert(varno > 0);
	if (expr == NULL)
		return zsvector_qual_make_list(ZS_QUAL_AND, 0);
	check_stack_depth();
	switch (nodeTag(expr))
	{
		case T_List:
			return compile_list(desc, varno, ZS_QUAL_AND, (List *) expr);
		case T_BoolExpr:
			{
				BoolExpr   *b = (BoolExpr *) expr;

				if (b->boolop == NOT_EXPR)
					return make_unary(ZS_QUAL_NOT,
									  zsvector_qual_compile(desc, varno, linitial(b->args)));
				return compile_list(desc, varno, b->boolop == AND_EXPR ? ZS_QUAL_AND : ZS_QUAL_OR,
									b->args);
			}
		case T_OpExpr:
			return zsvector_qual_compile_op(desc, varno, (OpExpr *) expr);
		case T_ScalarArrayOpExpr:
			return zsvector_qual_compile_array_op(desc, varno, (ScalarArrayOpExpr *) expr);
		case T_NullTest:
			return compile_null_test(desc, varno, (NullTest *) expr);
		case T_DistinctExpr:
			return compile_distinct(desc, varno, (DistinctExpr *) expr);
		case T_BooleanTest:
			return compile_boolean_test(desc, varno, (BooleanTest *) expr);
		case T_Const:
			{
				Const	   *c = (Const *) expr;

				return c->consttype != BOOLOID ? NULL :
					zsvector_qual_make_const(c->constisnull, !c->constisnull &&
											 DatumGetBool(c->constvalue));
			}
		case T_Var:
			{
				ZsDomain	domain;
				AttrNumber	attno = zsvector_column_of(desc, varno, expr, &domain);

				if (attno == InvalidAttrNumber || ((Var *) expr)->vartype != BOOLOID)
					return NULL;
				return zsvector_qual_make_compare(desc, attno, domain, ZS_CMP_NE,
												  BoolGetDatum(false), BOOLOID);
			}
		case T_FuncExpr:
			{
				FuncExpr   *f = (FuncExpr *) expr;
				ZsQual	   *qual = zsvector_qual_compile_like(desc, varno, f->funcid, f->args,
															  f->inputcollid);

				return qual != NULL ? qual : zsvector_qual_compile_value(desc, varno, expr);
			}
		case T_CaseExpr:
		case T_CoalesceExpr:
		case T_NullIfExpr:
			return zsvector_qual_compile_value(desc, varno, expr);
		default:
			return NULL;
	}
}
