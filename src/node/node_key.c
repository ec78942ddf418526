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
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"
#include "utils/typcache.h"

#include "node_topn.h"
#include "zs_attr.h"
#include "zs_base_plan.h"

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

/* See node_topn.h. */
List *
zsnode_key_pack(const ZsTopNKey *key)
{
	return list_make5(zsbase_private_name(), list_make1_int(key->attno),
					  list_make1_oid(key->sortop), list_make1_oid(key->collation),
					  list_make1_int(key->nulls_first));
}

/* See node_topn.h. */
void
zsnode_key_unpack(List *packed, ZsTopNKey *key)
{
	Assert(list_length(packed) == 5);
	key->attno = (AttrNumber) linitial_int(list_nth(packed, 1));
	key->sortop = linitial_oid(list_nth(packed, 2));
	key->collation = linitial_oid(list_nth(packed, 3));
	key->nulls_first = linitial_int(list_nth(packed, 4)) != 0;
}

/* See node_topn.h. */
Plan *
zsnode_key_plan(const CustomPath *path, List *tlist, List *clauses,
				const CustomScanMethods *methods)
{
	CustomScan *cscan = makeNode(CustomScan);

	cscan->scan.plan.targetlist = tlist;
	cscan->scan.plan.qual = extract_actual_clauses(clauses, false);
	cscan->scan.scanrelid = path->path.parent->relid;
	cscan->flags = path->flags;
	cscan->custom_private = path->custom_private;
	cscan->methods = methods;
	return &cscan->scan.plan;
}
