/*-------------------------------------------------------------------------
 *
 * node_key.c
 *	  Columns that rows are to be ordered by.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_key.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat_plan.h"

#include "access/stratnum.h"
#include "catalog/pg_type_d.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"
#include "utils/typcache.h"

#include "node_topn.h"
#include "zs_attr.h"

/* See node_topn.h. */
bool
zsnode_key_of_pathkey(PathKey *pathkey, RelOptInfo *rel, ZsTopNKey *key)
{
	EquivalenceMember *em;

	if (pathkey->pk_eclass->ec_has_volatile)
		return false;
	zs_foreach_member(em, pathkey->pk_eclass, rel->relids)
	{
		Expr	   *expr = em->em_expr;

		while (expr != NULL && IsA(expr, RelabelType))
			expr = ((RelabelType *) expr)->arg;
		if (expr == NULL || !IsA(expr, Var) || ((Var *) expr)->varno != rel->relid ||
			((Var *) expr)->varlevelsup != 0 || ((Var *) expr)->varattno <= 0)
			continue;
		key->attno = ((Var *) expr)->varattno;
		key->sortop = zs_pathkey_operator(pathkey, em->em_datatype);
		key->collation = pathkey->pk_eclass->ec_collation;
		key->nulls_first = pathkey->pk_nulls_first;
		return OidIsValid(key->sortop);
	}
	return false;
}

/* See node_topn.h. */
bool
zsnode_key_has_zones(TupleDesc desc, const ZsTopNKey *key)
{
	Form_pg_attribute att = TupleDescAttr(desc, key->attno - 1);
	ZsAttrKind	kind;
	Oid			type;
	Oid			opfamily;
	int			strategy;

	if (att->attisdropped)
		return false;
	zsattr_kind(att, &kind);
	if (!kind.zone_ordered)
		return false;
	type = getBaseType(att->atttypid);
	if ((type == TEXTOID || type == VARCHAROID || type == NAMEOID) &&
		!zs_collation_is_c(key->collation))
		return false;
	opfamily = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	if (!OidIsValid(opfamily))
		return false;
	strategy = get_op_opfamily_strategy(key->sortop, opfamily);
	return strategy == BTLessStrategyNumber || strategy == BTGreaterStrategyNumber;
}
