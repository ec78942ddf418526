/*-------------------------------------------------------------------------
 *
 * probe_key.c
 *	  Which keys rows can be joined by here.
 *
 * A key has an expression on either side, which is one that rows can be grouped by (group_key.c):
 * keys of a build side are groups, and rows of the probe side are looked up among them.  So both
 * sides need words that are equal exactly if the join's operator says that the values are.  That
 * operator compares values of one type, or integers of different width, whose word is their value.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/probe/probe_key.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "zs_probe.h"

/*
 * Does the function say whether two numbers are equal that hash joins and our vectors have as
 * integers, those of dates and times among them?
 */
bool
zsprobe_is_integer_equality(Oid funcid)
{
	switch (funcid)
	{
		case F_INT2EQ:
		case F_INT4EQ:
		case F_INT8EQ:
		case F_INT24EQ:
		case F_INT28EQ:
		case F_INT42EQ:
		case F_INT48EQ:
		case F_INT82EQ:
		case F_INT84EQ:
		case F_DATE_EQ:
		case F_TIME_EQ:
		case F_TIMESTAMP_EQ:
		case F_TIMESTAMPTZ_EQ:
			return true;
		default:
			return false;
	}
}

/* Does the function say that values of a type are equal as that type's own equality does? */
static bool
is_known_equality(Oid funcid)
{
	switch (funcid)
	{
		case F_BOOLEQ:
		case F_OIDEQ:
		case F_FLOAT4EQ:
		case F_FLOAT8EQ:
		case F_NUMERIC_EQ:
		case F_TEXTEQ:
		case F_BPCHAREQ:
		case F_BYTEAEQ:
		case F_UUID_EQ:
			return true;
		default:
			return zsprobe_is_integer_equality(funcid);
	}
}

/*
 * Describes the key of one side of a join: expr over columns of desc (ZS_ROWS_VARNO), compared by
 * the clause.  False if rows cannot be joined by it here.  Reads system catalogs.
 */
bool
zsprobe_key_classify(TupleDesc desc, Node *expr, const Node *clause, ZsGroupKey *key)
{
	const OpExpr *op = (const OpExpr *) clause;
	Oid			eqop;

	if (!IsA(clause, OpExpr) || !is_known_equality(get_opcode(op->opno)) ||
		(OidIsValid(op->inputcollid) && op->inputcollid != exprCollation(expr)))
		return false;
	eqop = lookup_type_cache(exprType(expr), TYPECACHE_EQ_OPR)->eq_opr;
	if (!OidIsValid(eqop) || !zsagg_group_classify(desc, ZS_ROWS_VARNO, expr, eqop, key))
		return false;
	/* nothing is shown of it; of floats it says that patterns are not words */
	key->has_form = key->domain == ZS_DOMAIN_FLOAT4 || key->domain == ZS_DOMAIN_FLOAT8;
	return true;
}

/* Have values of both keys the same words if they are equal? */
bool
zsprobe_keys_match(const ZsGroupKey *a, const ZsGroupKey *b)
{
	return a->domain == b->domain &&
		(a->domain == ZS_DOMAIN_INT || a->domain == ZS_DOMAIN_UINT || a->width == b->width);
}
