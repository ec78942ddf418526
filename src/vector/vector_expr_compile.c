/*-------------------------------------------------------------------------
 *
 * vector_expr_compile.c
 *	  From an expression to a program over batches.
 *
 * As in filters (vector_qual_compile.c) functions are known by their OIDs.  Those taken here may
 * raise errors: of overflow, of division by zero, of dates out of range.  Programs have all they
 * need to see that one would be raised, and give the batch back then; nothing here decides which
 * error it is.
 *
 * A form of CASE with a value to be compared ("CASE x WHEN 1 THEN ...") becomes one with
 * conditions.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_expr_compile.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "varatt.h"

#include "vector_agg.h"
#include "vector_expr_internal.h"
#include "zs_codec.h"

/* ---- functions -------------------------------------------------------------- */

typedef struct Known
{
	Oid			funcid;
	ZsExprKind	kind;
	ZsArith		op;
	ZsDomain	arg;			/* of all arguments */
	ZsDomain	domain;			/* of the result */
	int			width;
} Known;

#define INT_ARITH(name, arith, width) \
	{F_INT##name, ZS_EXPR_ARITH, arith, ZS_DOMAIN_INT, ZS_DOMAIN_INT, width}
#define INT_FOUR(name, width) \
	INT_ARITH(name##PL, ZS_ARITH_ADD, width), INT_ARITH(name##MI, ZS_ARITH_SUB, width), \
	INT_ARITH(name##MUL, ZS_ARITH_MUL, width), INT_ARITH(name##DIV, ZS_ARITH_DIV, width)
#define FLOAT_FOUR(name, domain, width) \
	{F_##name##PL, ZS_EXPR_ARITH, ZS_ARITH_ADD, domain, domain, width}, \
	{F_##name##MI, ZS_EXPR_ARITH, ZS_ARITH_SUB, domain, domain, width}, \
	{F_##name##MUL, ZS_EXPR_ARITH, ZS_ARITH_MUL, domain, domain, width}, \
	{F_##name##DIV, ZS_EXPR_ARITH, ZS_ARITH_DIV, domain, domain, width}
#define UNARY(funcid, kind, domain, width)	{funcid, kind, 0, domain, domain, width}
#define CAST(funcid, kind, arg, domain, width)	{funcid, kind, 0, arg, domain, width}

static const Known known_functions[] = {
	INT_FOUR(2, 2),
	INT_FOUR(4, 4),
	INT_FOUR(24, 4),
	INT_FOUR(42, 4),
	INT_FOUR(8, 8),
	INT_FOUR(28, 8),
	INT_FOUR(82, 8),
	INT_FOUR(48, 8),
	INT_FOUR(84, 8),
	INT_ARITH(2MOD, ZS_ARITH_MOD, 2),
	INT_ARITH(4MOD, ZS_ARITH_MOD, 4),
	INT_ARITH(8MOD, ZS_ARITH_MOD, 8),
	{F_MOD_INT2_INT2, ZS_EXPR_ARITH, ZS_ARITH_MOD, ZS_DOMAIN_INT, ZS_DOMAIN_INT, 2},
	{F_MOD_INT4_INT4, ZS_EXPR_ARITH, ZS_ARITH_MOD, ZS_DOMAIN_INT, ZS_DOMAIN_INT, 4},
	{F_MOD_INT8_INT8, ZS_EXPR_ARITH, ZS_ARITH_MOD, ZS_DOMAIN_INT, ZS_DOMAIN_INT, 8},
	UNARY(F_INT2UM, ZS_EXPR_NEG, ZS_DOMAIN_INT, 2),
	UNARY(F_INT4UM, ZS_EXPR_NEG, ZS_DOMAIN_INT, 4),
	UNARY(F_INT8UM, ZS_EXPR_NEG, ZS_DOMAIN_INT, 8),
	UNARY(F_INT2ABS, ZS_EXPR_ABS, ZS_DOMAIN_INT, 2),
	UNARY(F_INT4ABS, ZS_EXPR_ABS, ZS_DOMAIN_INT, 4),
	UNARY(F_INT8ABS, ZS_EXPR_ABS, ZS_DOMAIN_INT, 8),
	UNARY(F_ABS_INT2, ZS_EXPR_ABS, ZS_DOMAIN_INT, 2),
	UNARY(F_ABS_INT4, ZS_EXPR_ABS, ZS_DOMAIN_INT, 4),
	UNARY(F_ABS_INT8, ZS_EXPR_ABS, ZS_DOMAIN_INT, 8),
	CAST(F_INT2UP, ZS_EXPR_SAME, ZS_DOMAIN_INT, ZS_DOMAIN_INT, 2),
	CAST(F_INT4UP, ZS_EXPR_SAME, ZS_DOMAIN_INT, ZS_DOMAIN_INT, 4),
	CAST(F_INT8UP, ZS_EXPR_SAME, ZS_DOMAIN_INT, ZS_DOMAIN_INT, 8),
	CAST(F_NUMERIC_UPLUS, ZS_EXPR_SAME, ZS_DOMAIN_DECIMAL, ZS_DOMAIN_DECIMAL, 0),
	CAST(F_FLOAT4UP, ZS_EXPR_SAME, ZS_DOMAIN_FLOAT4, ZS_DOMAIN_FLOAT4, 4),
	CAST(F_FLOAT8UP, ZS_EXPR_SAME, ZS_DOMAIN_FLOAT8, ZS_DOMAIN_FLOAT8, 8),
	CAST(F_INT4_INT2, ZS_EXPR_SAME, ZS_DOMAIN_INT, ZS_DOMAIN_INT, 4),
	CAST(F_INT8_INT2, ZS_EXPR_SAME, ZS_DOMAIN_INT, ZS_DOMAIN_INT, 8),
	CAST(F_INT8_INT4, ZS_EXPR_SAME, ZS_DOMAIN_INT, ZS_DOMAIN_INT, 8),
	CAST(F_INT2_INT4, ZS_EXPR_NARROW, ZS_DOMAIN_INT, ZS_DOMAIN_INT, 2),
	CAST(F_INT2_INT8, ZS_EXPR_NARROW, ZS_DOMAIN_INT, ZS_DOMAIN_INT, 2),
	CAST(F_INT4_INT8, ZS_EXPR_NARROW, ZS_DOMAIN_INT, ZS_DOMAIN_INT, 4),
	CAST(F_INT4_BOOL, ZS_EXPR_SAME, ZS_DOMAIN_INT, ZS_DOMAIN_INT, 4),
	CAST(F_NUMERIC_INT2, ZS_EXPR_SAME, ZS_DOMAIN_INT, ZS_DOMAIN_DECIMAL, 0),
	CAST(F_NUMERIC_INT4, ZS_EXPR_SAME, ZS_DOMAIN_INT, ZS_DOMAIN_DECIMAL, 0),
	CAST(F_NUMERIC_INT8, ZS_EXPR_SAME, ZS_DOMAIN_INT, ZS_DOMAIN_DECIMAL, 0),
	CAST(F_FLOAT8_INT2, ZS_EXPR_INT_TO_FLOAT, ZS_DOMAIN_INT, ZS_DOMAIN_FLOAT8, 8),
	CAST(F_FLOAT8_INT4, ZS_EXPR_INT_TO_FLOAT, ZS_DOMAIN_INT, ZS_DOMAIN_FLOAT8, 8),
	CAST(F_FLOAT8_INT8, ZS_EXPR_INT_TO_FLOAT, ZS_DOMAIN_INT, ZS_DOMAIN_FLOAT8, 8),
	CAST(F_FLOAT4_INT2, ZS_EXPR_INT_TO_FLOAT, ZS_DOMAIN_INT, ZS_DOMAIN_FLOAT4, 4),
	CAST(F_FLOAT4_INT4, ZS_EXPR_INT_TO_FLOAT, ZS_DOMAIN_INT, ZS_DOMAIN_FLOAT4, 4),
	CAST(F_FLOAT4_INT8, ZS_EXPR_INT_TO_FLOAT, ZS_DOMAIN_INT, ZS_DOMAIN_FLOAT4, 4),
	CAST(F_FLOAT8_FLOAT4, ZS_EXPR_FLOAT4_TO_8, ZS_DOMAIN_FLOAT4, ZS_DOMAIN_FLOAT8, 8),
	CAST(F_FLOAT8_NUMERIC, ZS_EXPR_DECIMAL_TO_FLOAT, ZS_DOMAIN_DECIMAL, ZS_DOMAIN_FLOAT8, 8),

	{F_NUMERIC_ADD, ZS_EXPR_ARITH, ZS_ARITH_ADD, ZS_DOMAIN_DECIMAL, ZS_DOMAIN_DECIMAL, 0},
	{F_NUMERIC_SUB, ZS_EXPR_ARITH, ZS_ARITH_SUB, ZS_DOMAIN_DECIMAL, ZS_DOMAIN_DECIMAL, 0},
	{F_NUMERIC_MUL, ZS_EXPR_ARITH, ZS_ARITH_MUL, ZS_DOMAIN_DECIMAL, ZS_DOMAIN_DECIMAL, 0},
	{F_NUMERIC_MOD, ZS_EXPR_ARITH, ZS_ARITH_MOD, ZS_DOMAIN_DECIMAL, ZS_DOMAIN_DECIMAL, 0},
	{F_MOD_NUMERIC_NUMERIC, ZS_EXPR_ARITH, ZS_ARITH_MOD, ZS_DOMAIN_DECIMAL, ZS_DOMAIN_DECIMAL, 0},
	UNARY(F_NUMERIC_UMINUS, ZS_EXPR_NEG, ZS_DOMAIN_DECIMAL, 0),
	UNARY(F_NUMERIC_ABS, ZS_EXPR_ABS, ZS_DOMAIN_DECIMAL, 0),
	UNARY(F_ABS_NUMERIC, ZS_EXPR_ABS, ZS_DOMAIN_DECIMAL, 0),
	UNARY(F_ROUND_NUMERIC_INT4, ZS_EXPR_ROUND, ZS_DOMAIN_DECIMAL, 0),
	UNARY(F_NUMERIC_NUMERIC_INT4, ZS_EXPR_ROUND, ZS_DOMAIN_DECIMAL, 0),

	FLOAT_FOUR(FLOAT4, ZS_DOMAIN_FLOAT4, 4),
	FLOAT_FOUR(FLOAT8, ZS_DOMAIN_FLOAT8, 8),
	FLOAT_FOUR(FLOAT48, ZS_DOMAIN_FLOAT8, 8),
	FLOAT_FOUR(FLOAT84, ZS_DOMAIN_FLOAT8, 8),
	UNARY(F_FLOAT4UM, ZS_EXPR_NEG, ZS_DOMAIN_FLOAT4, 4),
	UNARY(F_FLOAT8UM, ZS_EXPR_NEG, ZS_DOMAIN_FLOAT8, 8),
	UNARY(F_FLOAT4ABS, ZS_EXPR_ABS, ZS_DOMAIN_FLOAT4, 4),
	UNARY(F_FLOAT8ABS, ZS_EXPR_ABS, ZS_DOMAIN_FLOAT8, 8),
	UNARY(F_ABS_FLOAT4, ZS_EXPR_ABS, ZS_DOMAIN_FLOAT4, 4),
	UNARY(F_ABS_FLOAT8, ZS_EXPR_ABS, ZS_DOMAIN_FLOAT8, 8),

	{F_DATE_PLI, ZS_EXPR_DATE_ADD, ZS_ARITH_ADD, ZS_DOMAIN_INT, ZS_DOMAIN_INT, 4},
	{F_DATE_MII, ZS_EXPR_DATE_ADD, ZS_ARITH_SUB, ZS_DOMAIN_INT, ZS_DOMAIN_INT, 4},
	{F_DATE_MI, ZS_EXPR_DATE_DIFF, ZS_ARITH_SUB, ZS_DOMAIN_INT, ZS_DOMAIN_INT, 4},
	CAST(F_TIMESTAMP_DATE, ZS_EXPR_DATE_TO_TIMESTAMP, ZS_DOMAIN_INT, ZS_DOMAIN_INT, 8),
	CAST(F_DATE_TIMESTAMP, ZS_EXPR_TIMESTAMP_TO_DATE, ZS_DOMAIN_INT, ZS_DOMAIN_INT, 4),
};

static const Known *
find_known(Oid funcid)
{
	for (int i = 0; i < (int) lengthof(known_functions); i++)
	{
		if (known_functions[i].funcid == funcid)
			return &known_functions[i];
	}
	return NULL;
}

/* ---- nodes ------------------------------------------------------------------- */

typedef struct Compiler
{
	TupleDesc	desc;
	Index		varno;
} Compiler;

static ZsExpr *compile(const Compiler *compiler, Node *node);

/* See vector_expr_internal.h. */
ZsExpr *
zsvector_expr_make(ZsExprKind kind, ZsDomain domain, int width, int nargs)
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

static void
add_arg(ZsExpr *expr, ZsExpr *arg)
{
	Assert(arg != NULL);
	expr->args[expr->nargs++] = arg;
}

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

static ZsExpr *
compile_const(const Const *c)
{
	ZsDomain	domain = domain_of_type(c->consttype);
	ZsExpr	   *expr;

	if (domain == ZS_DOMAIN_NONE)
		return NULL;
	expr = zsvector_expr_make(ZS_EXPR_CONST, domain, c->constbyval ? c->constlen : 0, 0);
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
		expr->value = zsvector_datum_to_int64(c->constlen, c->constvalue);
	return expr;
}

static ZsExpr *
compile_column(const Compiler *compiler, const Var *var)
{
	ZsDomain	domain;
	AttrNumber	attno = zsvector_column_of(compiler->desc, compiler->varno, (Node *) var, &domain);
	ZsExpr	   *expr;

	if (attno == InvalidAttrNumber || domain == ZS_DOMAIN_NONE)
		return NULL;
	expr = zsvector_expr_make(ZS_EXPR_COLUMN, domain,
					 Max(TupleDescAttr(compiler->desc, attno - 1)->attlen, 0), 0);
	expr->attno = attno;
	return expr;
}

/* A condition around the expression; false if there is no program for it. */
static bool
add_cond(const Compiler *compiler, ZsExpr *expr, Node *cond)
{
	ZsQual	   *qual = zsvector_qual_compile(compiler->desc, compiler->varno, cond);

	Assert(expr->conds != NULL);
	if (qual == NULL)
		return false;
	expr->conds[expr->nconds++] = qual;
	return true;
}

static void
make_conds(ZsExpr *expr, int n)
{
	Assert(expr->conds == NULL && n > 0);
	expr->conds = palloc0(n * sizeof(ZsQual *));
}

/* See vector_expr_internal.h. */
ZsExpr *
zsvector_expr_as_float8(ZsExpr *expr)
{
	ZsExpr	   *wider;

	if (expr->domain == ZS_DOMAIN_FLOAT8)
		return expr;
	Assert(expr->domain == ZS_DOMAIN_FLOAT4);
	wider = zsvector_expr_make(ZS_EXPR_FLOAT4_TO_8, ZS_DOMAIN_FLOAT8, 8, 1);
	add_arg(wider, expr);
	return wider;
}

/* See vector_expr_internal.h. */
ZsExpr *
zsvector_expr_subtract(ZsExpr *a, ZsExpr *b)
{
	ZsExpr	   *expr = zsvector_expr_make(ZS_EXPR_ARITH, ZS_DOMAIN_DECIMAL, 0, 2);

	Assert(a->domain == ZS_DOMAIN_DECIMAL && b->domain == ZS_DOMAIN_DECIMAL);
	expr->op = ZS_ARITH_SUB;
	add_arg(expr, a);
	add_arg(expr, b);
	return expr;
}

/* An argument of the function, in the domain that it wants; NULL if it has another one. */
static ZsExpr *
compile_arg(const Compiler *compiler, Node *node, ZsDomain wanted)
{
	ZsExpr	   *arg = compile(compiler, node);

	if (arg == NULL || arg->domain == wanted)
		return arg;
	if (wanted == ZS_DOMAIN_INT && arg->domain == ZS_DOMAIN_UINT)
		return arg;
	if (wanted != ZS_DOMAIN_FLOAT8 || arg->domain != ZS_DOMAIN_FLOAT4)
		return NULL;
	return zsvector_expr_as_float8(arg);
}

/* round(numeric, scale) and numeric(numeric, typmod) */
static ZsExpr *
compile_round(ZsExpr *expr, Oid funcid, Node *arg)
{
	const Const *c = (const Const *) arg;
	int32		typmod;

	Assert(expr->kind == ZS_EXPR_ROUND && expr->nargs == 1);
	if (!IsA(c, Const) || c->constisnull)
		return NULL;
	if (funcid == F_ROUND_NUMERIC_INT4)
		expr->scale = DatumGetInt32(c->constvalue);
	else
	{
		int			precision;

		typmod = DatumGetInt32(c->constvalue);
		if (typmod < (int32) VARHDRSZ)
		{
			expr->kind = ZS_EXPR_SAME;
			return expr;
		}
		typmod -= VARHDRSZ;
		precision = typmod >> 16 & 0xFFFF;
		expr->scale = ((typmod & 0x7FF) ^ 1024) - 1024;
		if (precision <= ZS_EXPR_MAX_SCALE)
		{
			expr->limit = 1;
			for (int i = 0; i < precision; i++)
				expr->limit *= 10;
		}
	}
	return expr->scale >= 0 && expr->scale <= ZS_EXPR_MAX_SCALE ? expr : NULL;
}

static ZsExpr *
compile_call(const Compiler *compiler, Oid funcid, List *args, Oid collation)
{
	const Known *known;
	ZsExpr	   *expr;
	int			nargs;

	switch (funcid)
	{
		case F_TIMESTAMP_PL_INTERVAL:
		case F_TIMESTAMP_MI_INTERVAL:
		case F_TIMESTAMPTZ_PL_INTERVAL:
		case F_TIMESTAMPTZ_MI_INTERVAL:
		case F_DATE_PL_INTERVAL:
		case F_DATE_MI_INTERVAL:
			return zsvector_expr_compile_time_add(funcid,
												  compile_arg(compiler, linitial(args),
															  ZS_DOMAIN_INT), lsecond(args));
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
		case F_EXTRACT_TEXT_TIMESTAMP:
		case F_EXTRACT_TEXT_TIMESTAMPTZ:
		case F_EXTRACT_TEXT_DATE:
		case F_DATE_PART_TEXT_TIMESTAMP:
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
		case F_DATE_PART_TEXT_TIMESTAMPTZ:
			return zsvector_expr_compile_time(funcid, linitial(args),
											  compile_arg(compiler, lsecond(args), ZS_DOMAIN_INT));
		case F_TIMESTAMP_TIMESTAMPTZ:
		case F_TIMESTAMPTZ_TIMESTAMP:
		case F_DATE_TIMESTAMPTZ:
			return zsvector_expr_compile_zone(funcid,
											  compile_arg(compiler, linitial(args), ZS_DOMAIN_INT));
		case F_TEXTCAT:
			return zsvector_expr_compile_concat(compile(compiler, linitial(args)),
												compile(compiler, lsecond(args)));
		default:
			break;
	}
	if (zsvector_expr_is_text_function(funcid))
		return zsvector_expr_compile_text(funcid, args, collation,
										  compile(compiler, linitial(args)));
	known = find_known(funcid);
	if (known == NULL)
		return NULL;
	nargs = known->kind == ZS_EXPR_ROUND ? 1 : list_length(args);
	expr = zsvector_expr_make(known->kind, known->domain, known->width, nargs);
	expr->op = known->op;
	for (int i = 0; i < nargs; i++)
	{
		ZsExpr	   *arg = compile_arg(compiler, list_nth(args, i), known->arg);

		if (arg == NULL)
			return NULL;
		add_arg(expr, arg);
	}
	return known->kind == ZS_EXPR_ROUND ? compile_round(expr, funcid, lsecond(args)) : expr;
}

/* A condition as a value. */
static ZsExpr *
compile_bool(const Compiler *compiler, Node *node)
{
	ZsExpr	   *expr = zsvector_expr_make(ZS_EXPR_BOOL, ZS_DOMAIN_INT, 1, 0);

	make_conds(expr, 1);
	return add_cond(compiler, expr, node) ? expr : NULL;
}

/*
 * Puts the value in the place of what stands for it in conditions of a CASE; a CASE within has its
 * own.
 */
static Node *
replace_case_value(Node *node, void *value)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, CaseTestExpr))
		return copyObject((Node *) value);
	if (IsA(node, CaseExpr) && ((CaseExpr *) node)->arg != NULL)
	{
		CaseExpr   *c = copyObject((CaseExpr *) node);

		c->arg = (Expr *) replace_case_value((Node *) c->arg, value);
		c->defresult = (Expr *) replace_case_value((Node *) c->defresult, value);
		return (Node *) c;
	}
	return expression_tree_mutator(node, replace_case_value, value);
}

static ZsExpr *
compile_case(const Compiler *compiler, const CaseExpr *c)
{
	int			n = list_length(c->args);
	ZsExpr	   *expr = zsvector_expr_make(ZS_EXPR_CASE, ZS_DOMAIN_NONE, 0, n + 1);
	ListCell   *lc;

	make_conds(expr, n);
	foreach(lc, c->args)
	{
		CaseWhen   *when = lfirst_node(CaseWhen, lc);
		Node	   *cond = (Node *) when->expr;
		ZsExpr	   *arg;

		if (c->arg != NULL)
			cond = replace_case_value(cond, c->arg);
		if (!add_cond(compiler, expr, cond))
			return NULL;
		arg = compile(compiler, (Node *) when->result);
		if (arg == NULL)
			return NULL;
		add_arg(expr, arg);
	}
	if (c->defresult != NULL)
	{
		ZsExpr	   *arg = compile(compiler, (Node *) c->defresult);

		if (arg == NULL)
			return NULL;
		add_arg(expr, arg);
	}
	return expr;
}

static ZsExpr *
compile_coalesce(const Compiler *compiler, const CoalesceExpr *c)
{
	ZsExpr	   *expr = zsvector_expr_make(ZS_EXPR_COALESCE, ZS_DOMAIN_NONE, 0,
										  list_length(c->args));
	ListCell   *lc;

	foreach(lc, c->args)
	{
		ZsExpr	   *arg = compile(compiler, lfirst(lc));

		if (arg == NULL)
			return NULL;
		add_arg(expr, arg);
	}
	return expr;
}

static ZsExpr *
compile_nullif(const Compiler *compiler, const NullIfExpr *n)
{
	OpExpr	   *op = makeNode(OpExpr);
	ZsExpr	   *expr = zsvector_expr_make(ZS_EXPR_NULLIF, ZS_DOMAIN_NONE, 0, 1);
	ZsExpr	   *arg = compile(compiler, linitial(n->args));

	/* both are the same struct with another tag */
	memcpy(op, n, sizeof(OpExpr));
	op->xpr.type = T_OpExpr;
	make_conds(expr, 1);
	if (arg == NULL || !add_cond(compiler, expr, (Node *) op))
		return NULL;
	add_arg(expr, arg);
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

static ZsExpr *
compile(const Compiler *compiler, Node *node)
{
	ZsExpr	   *expr;

	check_stack_depth();
	switch (nodeTag(node))
	{
		case T_RelabelType:
			return compile(compiler, (Node *) ((RelabelType *) node)->arg);
		case T_Var:
			return compile_column(compiler, (Var *) node);
		case T_Const:
			return compile_const((Const *) node);
		case T_FuncExpr:
			{
				FuncExpr   *f = (FuncExpr *) node;

				return f->funcretset || f->funcvariadic ? NULL :
					compile_call(compiler, f->funcid, f->args, f->inputcollid);
			}
		case T_OpExpr:
			{
				OpExpr	   *op = (OpExpr *) node;

				expr = compile_call(compiler,
									OidIsValid(op->opfuncid) ? op->opfuncid : get_opcode(op->opno),
									op->args, op->inputcollid);
				return expr == NULL && op->opresulttype == BOOLOID ? compile_bool(compiler, node) :
					expr;
			}
		case T_CoerceViaIO:
			{
				Node	   *arg = (Node *) ((CoerceViaIO *) node)->arg;

				return zsvector_expr_compile_text_of(exprType(arg), exprType(node),
													 compile(compiler, arg));
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

/* See vector_expr.h. */
ZsExpr *
zsvector_expr_compile(TupleDesc desc, Index varno, Node *expr)
{
	Compiler	compiler = {.desc = desc, .varno = varno};

	Assert(expr != NULL && varno > 0);
	return compile(&compiler, expr);
}

/* See vector_expr.h. */
ZsDomain
zsvector_expr_domain(const ZsExpr *expr)
{
	return expr->domain;
}

/* See vector_expr.h. */
int
zsvector_expr_width(const ZsExpr *expr)
{
	return expr->width;
}
