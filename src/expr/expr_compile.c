/*-------------------------------------------------------------------------
 *
 * expr_compile.c
 *	  From an expression to a program over batches.
 *
 * Functions (expr_call.c) may raise errors: of overflow, of division by zero, of dates out
 * of range.  Programs have all they need to see that one would be raised, and give the batch back
 * then; nothing here decides which error it is.
 *
 * What is mentioned more than once, as x in "CASE x WHEN 1 THEN ... WHEN 2 ...", has one program
 * (expr_common.c).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_compile.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "varatt.h"

#include "expr_internal.h"
#include "qual_internal.h"
#include "zs_codec.h"

/* How constants of the type become values. */
static ZsDomain
domain_of_type(Oid type)
{
	switch (getBaseType(type))
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case CASHOID:
			return ZS_DOMAIN_INT;
		case OIDOID:
			return ZS_DOMAIN_UINT;
		case FLOAT4OID:
			return ZS_DOMAIN_FLOAT4;
		case FLOAT8OID:
			return ZS_DOMAIN_FLOAT8;
		case NUMERICOID:
			return ZS_DOMAIN_DECIMAL;
		case TEXTOID:
		case VARCHAROID:
			return ZS_DOMAIN_TEXT;
		case BPCHAROID:
			return ZS_DOMAIN_BPCHAR;
		default:
			return ZS_DOMAIN_NONE;
	}
}

/* A constant; NULL if values of its type have no form. */
static ZsExpr *
compile_const(const Const *c)
{
	ZsDomain	domain = domain_of_type(c->consttype);
	ZsExpr	   *expr;

	if (domain == ZS_DOMAIN_NONE)
		return NULL;
	expr = zsexpr_make(ZS_EXPR_CONST, domain, c->constbyval ? c->constlen : 0, 0);
	expr->isnull = c->constisnull;
	if (c->constisnull)
		return expr;
	if (domain == ZS_DOMAIN_DECIMAL)
	{
		struct varlena *v = PG_DETOAST_DATUM_PACKED(c->constvalue);

		if (!zscodec_numeric_to_int((const uint8 *) VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v),
									&expr->scale, &expr->value) ||
			expr->scale > ZS_EXPR_MAX_SCALE)
			return NULL;
	}
	else if (domain == ZS_DOMAIN_TEXT || domain == ZS_DOMAIN_BPCHAR)
		expr->value = (int64) PointerGetDatum(PG_DETOAST_DATUM_COPY(c->constvalue));
	else
		expr->value = zsattr_value_to_int(c->constvalue, c->constlen);
	return expr;
}

/* A column; NULL if its values have no form. */
static ZsExpr *
compile_column(ZsCompiler *compiler, const Var *var)
{
	ZsDomain	domain;
	AttrNumber	attno = zsexpr_column_of(compiler->desc, compiler->varno, (Node *) var, &domain);
	ZsExpr	   *expr;

	if (attno == InvalidAttrNumber || domain == ZS_DOMAIN_NONE)
		return NULL;
	expr = zsexpr_make(ZS_EXPR_COLUMN, domain,
					   Max(TupleDescAttr(compiler->desc, attno - 1)->attlen, 0), 0);
	expr->attno = attno;
	return expr;
}

/* A condition around the expression; false if there is no program for it. */
static bool
add_cond(ZsCompiler *compiler, ZsExpr *expr, Node *cond)
{
	ZsQual	   *qual = zsexpr_qual_compile_node(compiler, cond);

	Assert(expr->conds != NULL);
	if (qual == NULL)
		return false;
	expr->conds[expr->nconds++] = qual;
	return true;
}

/* Room for n conditions. */
static void
make_conds(ZsExpr *expr, int n)
{
	Assert(expr->conds == NULL && n > 0);
	expr->conds = palloc0(n * sizeof(ZsQual *));
}

/* A condition as a value. */
static ZsExpr *
compile_bool(ZsCompiler *compiler, Node *node)
{
	ZsExpr	   *expr = zsexpr_make(ZS_EXPR_BOOL, ZS_DOMAIN_INT, 1, 0);

	make_conds(expr, 1);
	return add_cond(compiler, expr, node) ? expr : NULL;
}

/* A branch of CASE or COALESCE; false if there is no program for it. */
static bool
add_branch(ZsCompiler *compiler, ZsExpr *expr, Node *branch)
{
	ZsExpr	   *arg = zsexpr_compile_node(compiler, branch);

	if (arg == NULL)
		return false;
	/* it needs no vector here (expr_choice.c) */
	if (arg->kind == ZS_EXPR_CONST)
		compiler->nvectors--;
	zsexpr_add_arg(expr, arg);
	return true;
}

/*
 * The condition of a branch of a CASE; the compiler knows the value that it compares meanwhile.
 * False if there is no program for it.
 */
static bool
add_case_cond(ZsCompiler *compiler, ZsExpr *expr, Node *value, Node *cond)
{
	Node	   *outer_node = compiler->case_node;
	ZsExpr	   *outer_program = compiler->case_program;
	bool		ok;

	compiler->case_node = value;
	compiler->case_program = expr->operand;
	ok = add_cond(compiler, expr, cond);
	compiler->case_node = outer_node;
	compiler->case_program = outer_program;
	return ok;
}

/*
 * A value to be compared ("CASE value WHEN ...") that is no column and no constant is computed once
 * for all rows that come to the CASE, as by the executor.
 */
static ZsExpr *
compile_case(ZsCompiler *compiler, const CaseExpr *c)
{
	int			n = list_length(c->args);
	ZsExpr	   *expr = zsexpr_make(ZS_EXPR_CASE, ZS_DOMAIN_NONE, 0, n + 1);
	Node	   *value = NULL;
	ListCell   *lc;

	make_conds(expr, n);
	if (c->arg != NULL)
	{
		value = zsexpr_compiler_resolve(compiler, (Node *) c->arg);
		if (!IsA(value, Var) && !IsA(value, Const))
		{
			value = NULL;
			expr->operand = zsexpr_compile_node(compiler, (Node *) c->arg);
			if (expr->operand == NULL)
				return NULL;
		}
	}
	foreach(lc, c->args)
	{
		CaseWhen   *when = lfirst_node(CaseWhen, lc);

		if (!add_case_cond(compiler, expr, value, (Node *) when->expr) ||
			!add_branch(compiler, expr, (Node *) when->result))
			return NULL;
	}
	if (c->defresult != NULL && !add_branch(compiler, expr, (Node *) c->defresult))
		return NULL;
	return expr;
}

static ZsExpr *
compile_coalesce(ZsCompiler *compiler, const CoalesceExpr *c)
{
	ZsExpr	   *expr = zsexpr_make(ZS_EXPR_COALESCE, ZS_DOMAIN_NONE, 0,
								   list_length(c->args));
	ListCell   *lc;

	foreach(lc, c->args)
	{
		if (!add_branch(compiler, expr, lfirst(lc)))
			return NULL;
	}
	return expr;
}

/* The comparison asks for the value of all rows again, and finds it. */
static ZsExpr *
compile_nullif(ZsCompiler *compiler, const NullIfExpr *n)
{
	OpExpr	   *op = makeNode(OpExpr);
	ZsExpr	   *expr = zsexpr_make(ZS_EXPR_NULLIF, ZS_DOMAIN_NONE, 0, 1);
	ZsKnownProgram outer[lengthof(compiler->known)];
	ZsExpr	   *arg = NULL;
	bool		ok = false;

	/* both are the same struct with another tag */
	memcpy(op, n, sizeof(OpExpr));
	op->xpr.type = T_OpExpr;
	make_conds(expr, 1);
	memcpy(outer, compiler->known, sizeof(outer));
	compiler->known[1].node = NULL;
	if (zsexpr_compiler_know(compiler, 0, linitial(n->args)))
	{
		arg = zsexpr_compile_node(compiler, linitial(n->args));
		ok = arg != NULL && add_cond(compiler, expr, (Node *) op);
	}
	memcpy(compiler->known, outer, sizeof(outer));
	if (!ok)
		return NULL;
	zsexpr_add_arg(expr, arg);
	return expr;
}

/* What has the values of its arguments: all of them have to be of one domain and width. */
static ZsExpr *
unite_args(ZsExpr *expr)
{
	if (expr == NULL)
		return NULL;
	Assert(expr->nargs > 0);
	expr->domain = expr->args[0]->domain;
	expr->width = expr->args[0]->width;
	for (int i = 1; i < expr->nargs; i++)
	{
		if (expr->args[i]->domain != expr->domain || expr->args[i]->width != expr->width)
			return NULL;
	}
	return expr;
}

/* What stands for the value of a CASE. */
static ZsExpr *
compile_case_value(ZsCompiler *compiler)
{
	Node	   *value = compiler->case_node;

	if (value == NULL)
		return compiler->case_program;
	return IsA(value, Var) ? compile_column(compiler, (Var *) value) :
		compile_const((Const *) value);
}

static ZsExpr *
compile_any(ZsCompiler *compiler, Node *node)
{
	switch (nodeTag(node))
	{
		case T_RelabelType:
			return zsexpr_compile_node(compiler, (Node *) ((RelabelType *) node)->arg);
		case T_Var:
			return compile_column(compiler, (Var *) node);
		case T_Const:
			return compile_const((Const *) node);
		case T_CaseTestExpr:
			return compile_case_value(compiler);
		case T_FuncExpr:
			{
				FuncExpr   *f = (FuncExpr *) node;

				return f->funcretset || f->funcvariadic ? NULL :
					zsexpr_compile_call(compiler, f->funcid, f->args, f->inputcollid);
			}
		case T_OpExpr:
			{
				OpExpr	   *op = (OpExpr *) node;

				/* no function with a program gives a boolean */
				if (op->opresulttype == BOOLOID)
					return compile_bool(compiler, node);
				return zsexpr_compile_call(compiler,
										   OidIsValid(op->opfuncid) ? op->opfuncid :
										   get_opcode(op->opno), op->args, op->inputcollid);
			}
		case T_CoerceViaIO:
			{
				Node	   *arg = (Node *) ((CoerceViaIO *) node)->arg;

				return zsexpr_compile_text_of(compiler, exprType(arg), exprType(node),
											  zsexpr_compile_node(compiler, arg));
			}
		case T_CaseExpr:
			return unite_args(compile_case(compiler, (CaseExpr *) node));
		case T_CoalesceExpr:
			return unite_args(compile_coalesce(compiler, (CoalesceExpr *) node));
		case T_NullIfExpr:
			return unite_args(compile_nullif(compiler, (NullIfExpr *) node));
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_ScalarArrayOpExpr:
		case T_DistinctExpr:
			return compile_bool(compiler, node);
		default:
			return NULL;
	}
}

/* The program of an expression, or NULL if there is none. */
ZsExpr *
zsexpr_compile_node(ZsCompiler *compiler, Node *node)
{
	ZsExpr	   *expr = NULL;

	for (int i = 0; i < (int) lengthof(compiler->known); i++)
	{
		if (compiler->known[i].node == node)
			return compiler->known[i].program;
	}
	if (zsexpr_compiler_enter(compiler))
		expr = compile_any(compiler, node);
	zsexpr_compiler_leave(compiler);
	if (expr != NULL && expr->kind != ZS_EXPR_COLUMN && !zsexpr_compiler_add_vector(compiler))
		return NULL;
	return expr;
}

/*
 * Makes a program of an expression over the columns of one table (varno); NULL if it has something
 * that programs do not know.  Nothing in a program raises an error: where the executor would, or
 * might, the program gives the batch back.  Memory comes from the current context.  Reads system
 * catalogs.
 */
ZsExpr *
zsexpr_compile(TupleDesc desc, Index varno, Node *expr)
{
	ZsCompiler	compiler = {.desc = desc, .varno = varno};

	Assert(expr != NULL && varno > 0);
	return zsexpr_compile_node(&compiler, expr);
}
