/*-------------------------------------------------------------------------
 *
 * group_key.c
 *	  Which keys rows can be grouped by here.
 *
 * What counts as equal is what the key's operator says.  Integers, dates and the like, floats,
 * numerics, strings of deterministic collations, bytea and uuid have an equality that can be told
 * from bytes; a key that is an expression must be one that programs know, too.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/group_key.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/uuid.h"

#include "group_internal.h"
#include "zs_expr_program.h"
#include "zs_agg.h"
#include "zs_compat.h"

/*
 * Describes a key that is an expression; false if it has no program, or no words that are equal
 * exactly if the operator says so.
 */
static bool
classify_expr(TupleDesc desc, Index varno, Node *expr, Oid eqop, ZsGroupKey *key)
{
	key->expr = zsexpr_compile(desc, varno, expr);
	if (key->expr == NULL)
		return false;
	key->domain = zsexpr_domain(key->expr);
	key->width = zsexpr_width(key->expr);
	if (!zsexpr_is_equality(get_opcode(eqop), key->domain))
		return false;
	switch (key->domain)
	{
		case ZS_DOMAIN_INT:
		case ZS_DOMAIN_UINT:
			return true;
		case ZS_DOMAIN_TEXT:
		case ZS_DOMAIN_BPCHAR:
			key->width = -1;
			key->has_form = key->domain == ZS_DOMAIN_BPCHAR;
			return OidIsValid(exprCollation(expr)) &&
				get_collation_isdeterministic(exprCollation(expr));
		case ZS_DOMAIN_DECIMAL:
			key->width = -1;
			ZS_FALLTHROUGH;
		default:
			key->has_form = true;
			return true;
	}
}

/*
 * Describes the key; false if rows cannot be grouped by it here.  eqop: what says that two values
 * are equal.  Reads system catalogs.
 */
bool
zsagg_group_classify(TupleDesc desc, Index varno, Node *expr, Oid eqop, ZsGroupKey *key)
{
	Form_pg_attribute att;
	Oid			collation = exprCollation(expr);

	memset(key, 0, sizeof(*key));
	key->attno = zsexpr_column_of(desc, varno, expr, &key->domain);
	if (key->attno == InvalidAttrNumber)
		return classify_expr(desc, varno, expr, eqop, key);
	att = TupleDescAttr(desc, key->attno - 1);
	key->width = att->attlen;
	if (key->domain == ZS_DOMAIN_NONE)
	{
		Oid			function = get_opcode(eqop);

		return (function == F_UUID_EQ && att->attlen == UUID_LEN) ||
			(function == F_BYTEAEQ && att->attlen == -1);
	}
	if (!zsexpr_is_equality(get_opcode(eqop), key->domain))
		return false;
	switch (key->domain)
	{
		case ZS_DOMAIN_INT:
		case ZS_DOMAIN_UINT:
			return att->attbyval;
		case ZS_DOMAIN_FLOAT4:
		case ZS_DOMAIN_FLOAT8:
			key->has_form = true;
			return att->attbyval;
		case ZS_DOMAIN_DECIMAL:
			key->has_form = true;
			return true;
		case ZS_DOMAIN_TEXT:
			return OidIsValid(collation) && get_collation_isdeterministic(collation);
		case ZS_DOMAIN_BPCHAR:
			/* without a length, blanks at the end may differ among equal strings */
			key->has_form = att->atttypid != BPCHAROID || att->atttypmod < 0;
			return OidIsValid(collation) && get_collation_isdeterministic(collation);
		default:
			return false;
	}
}

/*
 * As zsagg_group_classify(), with NULLs in the place of parts that look at no column: can rows be
 * grouped by it, whatever the values of these turn out to be?  The key's program is not to run if
 * there are any.
 */
bool
zsagg_group_classify_unbound(TupleDesc desc, Index varno, Node *expr, Oid eqop, ZsGroupKey *key)
{
	Node	   *unbound = zsexpr_unbound(expr);

	return unbound != NULL && zsagg_group_classify(desc, varno, unbound, eqop, key);
}
