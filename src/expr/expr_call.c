/*-------------------------------------------------------------------------
 *
 * expr_call.c
 *	  Calls of functions and operators, as nodes of a program.
 *
 * Functions are known by their OIDs, as in filters (qual_compare.c).  Those of the table
 * take arguments of one domain and give values of one; others have files of their own: strings
 * (expr_text.c, expr_concat.c), times (expr_time.c, expr_zone.c).
 *
 * Arguments are of the domain that the function wants, but that floats of 4 bytes become such of 8.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_call.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/fmgroids.h"

#include "expr_internal.h"

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

/* What we know of the function; NULL: nothing. */
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

/* The expression, a float, with 8 bytes. */
ZsExpr *
zsexpr_as_float8(ZsExpr *expr)
{
	ZsExpr	   *wider;

	if (expr->domain == ZS_DOMAIN_FLOAT8)
		return expr;
	Assert(expr->domain == ZS_DOMAIN_FLOAT4);
	wider = zsexpr_make(ZS_EXPR_FLOAT4_TO_8, ZS_DOMAIN_FLOAT8, 8, 1);
	zsexpr_add_arg(wider, expr);
	return wider;
}

/* The difference of two numerics. */
ZsExpr *
zsexpr_subtract(ZsExpr *a, ZsExpr *b)
{
	ZsExpr	   *expr = zsexpr_make(ZS_EXPR_ARITH, ZS_DOMAIN_DECIMAL, 0, 2);

	Assert(a->domain == ZS_DOMAIN_DECIMAL && b->domain == ZS_DOMAIN_DECIMAL);
	expr->op = ZS_ARITH_SUB;
	zsexpr_add_arg(expr, a);
	zsexpr_add_arg(expr, b);
	return expr;
}

/* An argument of the function, in the domain that it wants; NULL if it has another one. */
static ZsExpr *
compile_arg(ZsCompiler *compiler, Node *node, ZsDomain wanted)
{
	ZsExpr	   *arg = zsexpr_compile_node(compiler, node);

	if (arg == NULL || arg->domain == wanted)
		return arg;
	if (wanted == ZS_DOMAIN_INT && arg->domain == ZS_DOMAIN_UINT)
		return arg;
	if (wanted != ZS_DOMAIN_FLOAT8 || arg->domain != ZS_DOMAIN_FLOAT4)
		return NULL;
	return zsexpr_as_float8(arg);
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
compile_concat(ZsCompiler *compiler, List *args)
{
	ZsExpr	   *a = zsexpr_compile_node(compiler, linitial(args));

	return a == NULL ? NULL :
		zsexpr_compile_concat(compiler, a,
							  zsexpr_compile_node(compiler, lsecond(args)));
}

/* The program of a call, or NULL if there is none. */
ZsExpr *
zsexpr_compile_call(ZsCompiler *compiler, Oid funcid, List *args, Oid collation)
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
			return zsexpr_compile_time_add(funcid,
										   compile_arg(compiler, linitial(args),
													   ZS_DOMAIN_INT), lsecond(args));
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
		case F_EXTRACT_TEXT_TIMESTAMP:
		case F_EXTRACT_TEXT_TIMESTAMPTZ:
		case F_EXTRACT_TEXT_DATE:
		case F_DATE_PART_TEXT_TIMESTAMP:
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
		case F_DATE_PART_TEXT_TIMESTAMPTZ:
			return zsexpr_compile_time(funcid, linitial(args),
									   compile_arg(compiler, lsecond(args), ZS_DOMAIN_INT));
		case F_TIMESTAMP_TIMESTAMPTZ:
		case F_TIMESTAMPTZ_TIMESTAMP:
		case F_DATE_TIMESTAMPTZ:
			return zsexpr_compile_zone(funcid,
									   compile_arg(compiler, linitial(args), ZS_DOMAIN_INT));
		case F_TEXTCAT:
			return compile_concat(compiler, args);
		case F_NUMERIC_DIV:
			return zsexpr_compile_divide(compile_arg(compiler, linitial(args),
													 ZS_DOMAIN_DECIMAL),
										 compile_arg(compiler, lsecond(args),
													 ZS_DOMAIN_DECIMAL));
		default:
			break;
	}
	if (zsexpr_is_text_function(funcid))
		return zsexpr_compile_text(compiler, funcid, args, collation,
								   zsexpr_compile_node(compiler, linitial(args)));
	known = find_known(funcid);
	if (known == NULL)
		return NULL;
	nargs = known->kind == ZS_EXPR_ROUND ? 1 : list_length(args);
	expr = zsexpr_make(known->kind, known->domain, known->width, nargs);
	expr->op = known->op;
	for (int i = 0; i < nargs; i++)
	{
		ZsExpr	   *arg = compile_arg(compiler, list_nth(args, i), known->arg);

		if (arg == NULL)
			return NULL;
		zsexpr_add_arg(expr, arg);
	}
	return known->kind == ZS_EXPR_ROUND ? compile_round(expr, funcid, lsecond(args)) : expr;
}
