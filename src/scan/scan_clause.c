/*-------------------------------------------------------------------------
 *
 * scan_clause.c
 *	  Can evaluating an expression raise an error?
 *
 * The executor evaluates the clauses of a filter from left to right and stops at the
 * first that is not true.  Who skips rows by a clause before core evaluates those in
 * front of it hides the errors that these would have raised.  So only
 * clauses in front of the first one that may raise, or has side effects, may skip rows.
 *
 * The answer is a list of what is known not to raise: variables, constants, NULL
 * tests, boolean connectives, and functions of the server itself, by OID, that compare values or
 * widen them.  Functions are never looked up by name.  What is not on
 * the list counts as something that may raise.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_clause.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/params.h"
#include "nodes/pathnodes.h"
#include "nodes/primnodes.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "varatt.h"

#include "zs_clause.h"

/* The comparisons of two types, which have the operator within their names; cases of a switch. */
#define SIX_OF(left, right) \
	case F_##left##EQ##right: case F_##left##NE##right: \
	case F_##left##LT##right: case F_##left##LE##right: \
	case F_##left##GT##right: case F_##left##GE##right

#define SIX(name)	SIX_OF(name, )

/* Comparisons whose values have fixed lengths or no collation, and casts that lose nothing. */
static bool
is_total_function(Oid funcid)
{
	switch (funcid)
	{
		SIX(BOOL):
		SIX(CHAR):
		SIX(INT2):
		SIX(INT4):
		SIX(INT8):
		SIX(INT24):
		SIX(INT28):
		SIX(INT42):
		SIX(INT48):
		SIX(INT82):
		SIX(INT84):
		SIX(FLOAT4):
		SIX(FLOAT8):
		SIX(FLOAT48):
		SIX(FLOAT84):
		SIX(NUMERIC_):
		SIX(OID):
		SIX(PG_LSN_):
		SIX(CASH_):
		SIX(DATE_):
		SIX(TIME_):
		SIX(TIMETZ_):
		SIX(TIMESTAMP_):
		SIX(TIMESTAMPTZ_):
		SIX_OF(DATE_, _TIMESTAMP):
		SIX_OF(TIMESTAMP_, _DATE):
		SIX(INTERVAL_):
		SIX(UUID_):
		SIX(MACADDR_):
		SIX(MACADDR8_):
		SIX(NETWORK_):
		SIX(BYTEA):
		SIX(TID):
		case F_XIDEQ:
		case F_ENUM_EQ:
		case F_ENUM_NE:
		case F_INT4_INT2:
		case F_INT8_INT2:
		case F_INT8_INT4:
		case F_FLOAT4_INT2:
		case F_FLOAT8_INT2:
		case F_FLOAT8_INT4:
		case F_FLOAT8_FLOAT4:
		case F_NUMERIC_INT2:
		case F_NUMERIC_INT4:
		case F_NUMERIC_INT8:
			return true;
		default:
			return false;
	}
}

#undef SIX
#undef SIX_OF

/* Comparisons of strings, which raise an error if they got no collation. */
static bool
is_string_comparison(Oid funcid)
{
	switch (funcid)
	{
		case F_TEXTEQ:
		case F_TEXTNE:
		case F_TEXT_LT:
		case F_TEXT_LE:
		case F_TEXT_GT:
		case F_TEXT_GE:
		case F_BPCHAREQ:
		case F_BPCHARNE:
		case F_BPCHARLT:
		case F_BPCHARLE:
		case F_BPCHARGT:
		case F_BPCHARGE:
		case F_NAMEEQ:
		case F_NAMENE:
		case F_NAMELT:
		case F_NAMELE:
		case F_NAMEGT:
		case F_NAMEGE:
		case F_NAMEEQTEXT:
		case F_NAMENETEXT:
		case F_TEXTEQNAME:
		case F_TEXTNENAME:
			return true;
		default:
			return false;
	}
}

/*
 * Is the value of an external parameter there, so that asking for it raises no error?  A procedural
 * language is asked as the planner does: it gives what it can give without risk.  params may be
 * NULL, which has no values.
 */
bool
zsscan_param_is_ready(const Param *param, ParamListInfo params)
{
	ParamExternData workspace;
	const ParamExternData *value;

	if (param->paramkind != PARAM_EXTERN || params == NULL || param->paramid <= 0 ||
		param->paramid > params->numParams)
		return false;
	if (params->paramFetch != NULL)
		value = params->paramFetch(params, param->paramid, true, &workspace);
	else
		value = &params->params[param->paramid - 1];
	return OidIsValid(value->ptype) && value->ptype == param->paramtype;
}

/*
 * The constant that the node is, below other names for its type, or the value of an external
 * parameter that is there; NULL: neither.  By-reference values are the parameter's.
 */
const Const *
zsscan_constant_of(Node *node, ParamListInfo params)
{
	const Param *param;
	ParamExternData workspace;
	const ParamExternData *value;
	int16		typlen;
	bool		typbyval;

	while (node != NULL && (IsA(node, RelabelType) || IsA(node, CollateExpr)))
		node = IsA(node, RelabelType) ? (Node *) ((RelabelType *) node)->arg :
			(Node *) ((CollateExpr *) node)->arg;
	if (node == NULL || IsA(node, Const))
		return (const Const *) node;
	if (!IsA(node, Param) || !zsscan_param_is_ready((const Param *) node, params))
		return NULL;
	param = (const Param *) node;
	value = params->paramFetch != NULL ?
		params->paramFetch(params, param->paramid, true, &workspace) :
		&params->params[param->paramid - 1];
	get_typlenbyval(param->paramtype, &typlen, &typbyval);
	return makeConst(param->paramtype, param->paramtypmod, param->paramcollid, typlen,
					 value->value, value->isnull, typbyval);
}

/* Comparisons with a pattern, whose only error is an escape at the pattern's end. */
static bool
is_pattern_match(Oid funcid)
{
	return funcid == F_TEXTLIKE || funcid == F_TEXTNLIKE ||
		funcid == F_BPCHARLIKE || funcid == F_BPCHARNLIKE ||
		funcid == F_NAMELIKE || funcid == F_NAMENLIKE || funcid == F_STARTS_WITH;
}

/* Is the pattern known, and does it not end within an escape? */
static bool
pattern_is_sound(Oid funcid, Node *pattern, ParamListInfo params)
{
	const Const *c = zsscan_constant_of(pattern, params);
	struct varlena *v;
	const char *bytes;
	size_t		len;

	if (c == NULL)
		return false;
	if (c->constisnull || funcid == F_STARTS_WITH)
		return true;
	v = PG_DETOAST_DATUM_PACKED(c->constvalue);
	bytes = VARDATA_ANY(v);
	len = VARSIZE_ANY_EXHDR(v);
	for (size_t i = 0; i < len; i++)
	{
		if (bytes[i] == '\\' && ++i == len)
			return false;
	}
	return true;
}

/* Divisions of integers and their remainders: no errors but by 0, and some by -1. */
static bool
is_division(Oid funcid)
{
	switch (funcid)
	{
		case F_INT2DIV:
		case F_INT24DIV:
		case F_INT28DIV:
		case F_INT42DIV:
		case F_INT4DIV:
		case F_INT48DIV:
		case F_INT82DIV:
		case F_INT84DIV:
		case F_INT8DIV:
		case F_INT2MOD:
		case F_INT4MOD:
		case F_INT8MOD:
			return true;
		default:
			return false;
	}
}

/* Is the divisor known, and positive? */
static bool
divisor_is_sound(Node *divisor, ParamListInfo params)
{
	const Const *c = zsscan_constant_of(divisor, params);

	if (c == NULL)
		return false;
	if (c->constisnull)
		return true;
	switch (c->consttype)
	{
		case INT2OID:
			return DatumGetInt16(c->constvalue) > 0;
		case INT4OID:
			return DatumGetInt32(c->constvalue) > 0;
		case INT8OID:
			return DatumGetInt64(c->constvalue) > 0;
		default:
			return false;
	}
}

static bool
call_may_raise(Oid funcid, Oid collation, List *args, ParamListInfo params)
{
	if (is_total_function(funcid))
		return false;
	if (is_string_comparison(funcid))
		return !OidIsValid(collation);
	if (is_pattern_match(funcid))
		return !OidIsValid(collation) || !get_collation_isdeterministic(collation) ||
			!pattern_is_sound(funcid, lsecond(args), params);
	if (is_division(funcid))
		return !divisor_is_sound(lsecond(args), params);
	return true;
}

/* expression_tree_walker callback: stops at the first node that may raise. */
static bool
may_raise_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
			/* a table's row is put together as it is; that of a function may be of another type */
			return ((Var *) node)->varattno == InvalidAttrNumber &&
				((Var *) node)->vartype == RECORDOID;
		case T_Const:
			return false;
		case T_Param:
			/* an InitPlan runs when somebody asks for its value */
			return !zsscan_param_is_ready((const Param *) node, context);
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			{
				OpExpr	   *op = (OpExpr *) node;
				Oid			funcid = OidIsValid(op->opfuncid) ? op->opfuncid : get_opcode(op->opno);

				if (call_may_raise(funcid, op->inputcollid, op->args, context))
					return true;
			}
			break;
		case T_FuncExpr:
			{
				FuncExpr   *func = (FuncExpr *) node;

				if (call_may_raise(func->funcid, func->inputcollid, func->args, context))
					return true;
			}
			break;
		case T_ScalarArrayOpExpr:
			{
				ScalarArrayOpExpr *op = (ScalarArrayOpExpr *) node;
				Oid			funcid = OidIsValid(op->opfuncid) ? op->opfuncid : get_opcode(op->opno);

				/* an array of patterns is not looked at */
				if (zsscan_constant_of(lsecond(op->args), context) == NULL ||
					is_pattern_match(funcid) ||
					call_may_raise(funcid, op->inputcollid, op->args, context))
					return true;
			}
			break;
		case T_NullTest:
			if (((NullTest *) node)->argisrow)
				return true;
			break;
		case T_BoolExpr:
		case T_BooleanTest:
		case T_RelabelType:
		case T_CollateExpr:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CaseTestExpr:
		case T_CoalesceExpr:
		case T_List:
		case T_TargetEntry:
		case T_PlaceHolderVar:
			break;
		default:
			return true;
	}
	return expression_tree_walker(node, may_raise_walker, context);
}

/*
 * May evaluating the expression (or a list of them) raise an error, or have an
 * effect of another kind? False only if it is known that it does not.  params:
 * those of the execution; NULL = not known, such as at plan time, when
 * external parameters count as what may raise. Reads system catalogs.
 */
bool
zsscan_expression_may_raise(Node *node, struct ParamListInfoData *params)
{
	return may_raise_walker(node, params);
}

/*
 * May one of the expressions (Expr, TargetEntry, RestrictInfo) raise an error, or have another
 * effect?  params as for zsscan_expression_may_raise().
 */
bool
zsscan_any_may_raise(List *exprs, struct ParamListInfoData *params)
{
	ListCell   *lc;

	foreach(lc, exprs)
	{
		Node	   *expr = lfirst(lc);

		if (IsA(expr, TargetEntry))
			expr = (Node *) ((TargetEntry *) expr)->expr;
		else if (IsA(expr, RestrictInfo))
			expr = (Node *) ((RestrictInfo *) expr)->clause;
		if (zsscan_expression_may_raise(expr, params))
			return true;
	}
	return false;
}
