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

/*
 * Describes a pathkey as a key on a column of rel, which may be a partition; false if it is none.
 */
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

/* Do the zone maps of the column follow the order of the key?  Reads system catalogs. */
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

/* Lists that keys are packed in. */
typedef enum KeyLists
{
	KEY_ATTNOS,
	KEY_SORTOPS,
	KEY_COLLATIONS,
	KEY_NULLS_FIRST
} KeyLists;

/*
 * Keys as a list, which a path and a plan node carry in custom_private and copyObject() can copy;
 * at least one.
 */
List *
zsnode_keys_pack(const ZsTopNKey *keys, int nkeys)
{
	List	   *attnos = NIL;
	List	   *sortops = NIL;
	List	   *collations = NIL;
	List	   *nulls_first = NIL;

	Assert(nkeys > 0);
	for (int i = 0; i < nkeys; i++)
	{
		attnos = lappend_int(attnos, keys[i].attno);
		sortops = lappend_oid(sortops, keys[i].sortop);
		collations = lappend_oid(collations, keys[i].collation);
		nulls_first = lappend_int(nulls_first, keys[i].nulls_first);
	}
	return list_make4(attnos, sortops, collations, nulls_first);
}

/*
 * Takes apart what zsnode_keys_pack() made: returns how many keys there are, *keys in the current
 * context.
 */
int
zsnode_keys_unpack(const List *packed, ZsTopNKey **keys)
{
	int			nkeys = list_length(list_nth(packed, KEY_ATTNOS));

	Assert(list_length(packed) == KEY_NULLS_FIRST + 1);
	*keys = palloc_array(ZsTopNKey, nkeys);
	for (int i = 0; i < nkeys; i++)
	{
		(*keys)[i].attno = (AttrNumber) list_nth_int(list_nth(packed, KEY_ATTNOS), i);
		(*keys)[i].sortop = list_nth_oid(list_nth(packed, KEY_SORTOPS), i);
		(*keys)[i].collation = list_nth_oid(list_nth(packed, KEY_COLLATIONS), i);
		(*keys)[i].nulls_first = list_nth_int(list_nth(packed, KEY_NULLS_FIRST), i) != 0;
	}
	return nkeys;
}

/* The plan node of a path with sort keys over one table, whose filter is the node's own. */
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
