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

/* Comparisons whose values have fixed lengths or no collation, and casts that lose nothing. */
static bool
is_total_function(Oid funcid)
{
	switch (funcid)
	{
		case F_BOOLEQ:
		case F_BOOLNE:
		case F_BOOLLT:
		case F_BOOLLE:
		case F_BOOLGT:
		case F_BOOLGE:
		case F_CHAREQ:
		case F_CHARNE:
		case F_CHARLT:
		case F_CHARLE:
		case F_CHARGT:
		case F_CHARGE:
		case F_INT2EQ:
		case F_INT2NE:
		case F_INT2LT:
		case F_INT2LE:
		case F_INT2GT:
		case F_INT2GE:
		case F_INT4EQ:
		case F_INT4NE:
		case F_INT4LT:
		case F_INT4LE:
		case F_INT4GT:
		case F_INT4GE:
		case F_INT8EQ:
		case F_INT8NE:
		case F_INT8LT:
		case F_INT8LE:
		case F_INT8GT:
		case F_INT8GE:
		case F_INT24EQ:
		case F_INT24NE:
		case F_INT24LT:
		case F_INT24LE:
		case F_INT24GT:
		case F_INT24GE:
		case F_INT28EQ:
		case F_INT28NE:
		case F_INT28LT:
		case F_INT28LE:
		case F_INT28GT:
		case F_INT28GE:
		case F_INT42EQ:
		case F_INT42NE:
		case F_INT42LT:
		case F_INT42LE:
		case F_INT42GT:
		case F_INT42GE:
		case F_INT48EQ:
		case F_INT48NE:
		case F_INT48LT:
		case F_INT48LE:
		case F_INT48GT:
		case F_INT48GE:
		case F_INT82EQ:
		case F_INT82NE:
		case F_INT82LT:
		case F_INT82LE:
		case F_INT82GT:
		case F_INT82GE:
		case F_INT84EQ:
		case F_INT84NE:
		case F_INT84LT:
		case F_INT84LE:
		case F_INT84GT:
		case F_INT84GE:
		case F_FLOAT4EQ:
		case F_FLOAT4NE:
		case F_FLOAT4LT:
		case F_FLOAT4LE:
		case F_FLOAT4GT:
		case F_FLOAT4GE:
		case F_FLOAT8EQ:
		case F_FLOAT8NE:
		case F_FLOAT8LT:
		case F_FLOAT8LE:
		case F_FLOAT8GT:
		case F_FLOAT8GE:
		case F_FLOAT48EQ:
		case F_FLOAT48NE:
		case F_FLOAT48LT:
		case F_FLOAT48LE:
		case F_FLOAT48GT:
		case F_FLOAT48GE:
		case F_FLOAT84EQ:
		case F_FLOAT84NE:
		case F_FLOAT84LT:
		case F_FLOAT84LE:
		case F_FLOAT84GT:
		case F_FLOAT84GE:
		case F_NUMERIC_EQ:
		case F_NUMERIC_NE:
		case F_NUMERIC_LT:
		case F_NUMERIC_LE:
		case F_NUMERIC_GT:
		case F_NUMERIC_GE:
		case F_OIDEQ:
		case F_OIDNE:
		case F_OIDLT:
		case F_OIDLE:
		case F_OIDGT:
		case F_OIDGE:
		case F_XIDEQ:
		case F_PG_LSN_EQ:
		case F_PG_LSN_NE:
		case F_PG_LSN_LT:
		case F_PG_LSN_LE:
		case F_PG_LSN_GT:
		case F_PG_LSN_GE:
		case F_CASH_EQ:
		case F_CASH_NE:
		case F_CASH_LT:
		case F_CASH_LE:
		case F_CASH_GT:
		case F_CASH_GE:
		case F_DATE_EQ:
		case F_DATE_NE:
		case F_DATE_LT:
		case F_DATE_LE:
		case F_DATE_GT:
		case F_DATE_GE:
		case F_TIME_EQ:
		case F_TIME_NE:
		case F_TIME_LT:
		case F_TIME_LE:
		case F_TIME_GT:
		case F_TIME_GE:
		case F_TIMETZ_EQ:
		case F_TIMETZ_NE:
		case F_TIMETZ_LT:
		case F_TIMETZ_LE:
		case F_TIMETZ_GT:
		case F_TIMETZ_GE:
		case F_TIMESTAMP_EQ:
		case F_TIMESTAMP_NE:
		case F_TIMESTAMP_LT:
		case F_TIMESTAMP_LE:
		case F_TIMESTAMP_GT:
		case F_TIMESTAMP_GE:
		case F_TIMESTAMPTZ_EQ:
		case F_TIMESTAMPTZ_NE:
		case F_TIMESTAMPTZ_LT:
		case F_TIMESTAMPTZ_LE:
		case F_TIMESTAMPTZ_GT:
		case F_TIMESTAMPTZ_GE:
		case F_DATE_EQ_TIMESTAMP:
		case F_DATE_NE_TIMESTAMP:
		case F_DATE_LT_TIMESTAMP:
		case F_DATE_LE_TIMESTAMP:
		case F_DATE_GT_TIMESTAMP:
		case F_DATE_GE_TIMESTAMP:
		case F_TIMESTAMP_EQ_DATE:
		case F_TIMESTAMP_NE_DATE:
		case F_TIMESTAMP_LT_DATE:
		case F_TIMESTAMP_LE_DATE:
		case F_TIMESTAMP_GT_DATE:
		case F_TIMESTAMP_GE_DATE:
		case F_INTERVAL_EQ:
		case F_INTERVAL_NE:
		case F_INTERVAL_LT:
		case F_INTERVAL_LE:
		case F_INTERVAL_GT:
		case F_INTERVAL_GE:
		case F_UUID_EQ:
		case F_UUID_NE:
		case F_UUID_LT:
		case F_UUID_LE:
		case F_UUID_GT:
		case F_UUID_GE:
		case F_MACADDR_EQ:
		case F_MACADDR_NE:
		case F_MACADDR_LT:
		case F_MACADDR_LE:
		case F_MACADDR_GT:
		case F_MACADDR_GE:
		case F_MACADDR8_EQ:
		case F_MACADDR8_NE:
		case F_MACADDR8_LT:
		case F_MACADDR8_LE:
		case F_MACADDR8_GT:
		case F_MACADDR8_GE:
		case F_NETWORK_EQ:
		case F_NETWORK_NE:
		case F_NETWORK_LT:
		case F_NETWORK_LE:
		case F_NETWORK_GT:
		case F_NETWORK_GE:
		case F_BYTEAEQ:
		case F_BYTEANE:
		case F_BYTEALT:
		case F_BYTEALE:
		case F_BYTEAGT:
		case F_BYTEAGE:
		case F_ENUM_EQ:
		case F_ENUM_NE:
		case F_TIDEQ:
		case F_TIDNE:
		case F_TIDLT:
		case F_TIDLE:
		case F_TIDGT:
		case F_TIDGE:
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
