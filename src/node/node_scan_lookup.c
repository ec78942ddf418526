/*-------------------------------------------------------------------------
 *
 * node_scan_lookup.c
 *	  Scans by batches that look rows up by a value of another relation.
 *
 * The problem: a nested loop looks its inner rows up by an index on the column of the join.  Where
 * there is none, or one that has the column behind others and is read from end to end, the inner
 * table is read as a whole for each outer row, or a hash table made of all of it for a few.
 *
 * The idea: zone maps are an index, of tables that lie in the order of a column.  A scan whose
 * filter has the join's clause, with the outer row's value as a parameter, asks zone maps anew for
 * each outer row, and reads the vectors that may have it.  So core is offered scans with the
 * parameters that clauses of joins give, where few vectors lie over one value; and does what it
 * does with look-ups by index: loops, semijoins, joins below them, partitions.  A loop over such a
 * scan turns to a hash join if there are many outer rows (join_adaptive_plan.c).
 *
 * BRIN has no such scans: a bitmap of its pages is dear for each row.  The parameters are found as
 * postgres_fdw finds those of its own.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_scan_lookup.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/rel.h"

#include "node_scan_internal.h"
#include "zs_base.h"
#include "zs_base_plan.h"
#include "zs_clause.h"
#include "zs_cost.h"
#include "zs_cost_const.h"
#include "zs_expr_guc.h"
#include "zs_node.h"
#include "zs_zone.h"

/* A relation of the plan in the making, and its table. */
typedef struct Lookup
{
	PlannerInfo *root;
	RelOptInfo *rel;
	Relation	table;
	double		most;			/* share of the vectors that a scan may look at, exclusive */
} Lookup;

/* ---- clauses ----------------------------------------------------------------------------- */

/* Arguments of a comparison: NULL is in the place of those without a column of the relation. */
static List *
forget_arguments(Lookup *lookup, List *args)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, args)
	{
		Node	   *arg = lfirst(lc);

		if (!bms_is_member(lookup->rel->relid, pull_varnos(lookup->root, arg)))
			arg = (Node *) makeNullConst(exprType(arg), exprTypmod(arg), exprCollation(arg));
		result = lappend(result, arg);
	}
	return result;
}

/*
 * The condition with NULL in the place of what it compares columns of the relation with: what other
 * relations give is one value in each scan.
 */
static Node *
forget_others(Lookup *lookup, Node *node)
{
	Node	   *copy;
	ListCell   *lc;

	check_stack_depth();
	if (!IsA(node, OpExpr) && !IsA(node, ScalarArrayOpExpr) && !IsA(node, FuncExpr) &&
		!IsA(node, DistinctExpr) && !IsA(node, BoolExpr))
		return node;
	copy = copyObject(node);
	switch (nodeTag(copy))
	{
		case T_OpExpr:
		case T_DistinctExpr:
			((OpExpr *) copy)->args = forget_arguments(lookup, ((OpExpr *) copy)->args);
			break;
		case T_ScalarArrayOpExpr:
			((ScalarArrayOpExpr *) copy)->args =
				forget_arguments(lookup, ((ScalarArrayOpExpr *) copy)->args);
			break;
		case T_FuncExpr:
			((FuncExpr *) copy)->args = forget_arguments(lookup, ((FuncExpr *) copy)->args);
			break;
		default:
			foreach(lc, castNode(BoolExpr, copy)->args)
				lfirst(lc) = forget_others(lookup, lfirst(lc));
			break;
	}
	return copy;
}

/* Does the clause say which zone maps of the column a scan need look at, once it is evaluated? */
static bool
bounds_column(Lookup *lookup, AttrNumber attno, Node *clause)
{
	ZsZoneSet	set;

	return zsscan_zone_set_of(RelationGetDescr(lookup->table), lookup->rel->relid, attno,
							  forget_others(lookup, clause), NULL, &set);
}

/* Is the clause an equality, of which one value passes? */
static bool
is_equality(const RestrictInfo *rinfo)
{
	return rinfo->mergeopfamilies != NIL || OidIsValid(rinfo->hashjoinoperator);
}

/* The share of the vectors that the clauses (RestrictInfo) leave by the column's zone maps. */
static double
share_of_column(Lookup *lookup, AttrNumber attno, List *clauses)
{
	List	   *ranges = NIL;
	bool		equal = false;
	double		share = zscost_value_share(lookup->rel, lookup->table, attno);
	ListCell   *lc;

	if (share >= lookup->most)
		return share;
	foreach(lc, clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (!bounds_column(lookup, attno, (Node *) rinfo->clause))
			continue;
		if (is_equality(rinfo))
			equal = true;
		else
			ranges = lappend(ranges, rinfo);
	}
	if (!equal && ranges == NIL)
		return 1;
	if (!equal)
		share += clauselist_selectivity(lookup->root, ranges, lookup->rel->relid, JOIN_INNER,
										NULL);
	return Min(share, 1);
}

/* The same, of the column that leaves least. */
static double
share_left(Lookup *lookup, List *clauses)
{
	Bitmapset  *attrs = NULL;
	double		share = 1;
	int			i = -1;
	ListCell   *lc;

	foreach(lc, clauses)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, lc)->clause, lookup->rel->relid, &attrs);
	while ((i = bms_next_member(attrs, i)) >= 0)
	{
		AttrNumber	attno = i + FirstLowInvalidHeapAttributeNumber;

		if (attno > 0)
			share = Min(share, share_of_column(lookup, attno, clauses));
	}
	bms_free(attrs);
	return share;
}

/* ---- parameters -------------------------------------------------------------------------- */

/* ec_matches_callback: is the member the column whose number is at arg? */
static bool
is_column(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *ec, EquivalenceMember *em,
		  void *arg)
{
	const Var  *var = (const Var *) em->em_expr;

	return IsA(var, Var) && var->varno == (int) rel->relid &&
		var->varattno == *(AttrNumber *) arg;
}

/* The columns of the relation that equivalence classes equate with columns of others. */
static Bitmapset *
equated_columns(Lookup *lookup)
{
	RelOptInfo *rel = lookup->rel;
	Bitmapset  *attnos = NULL;
	ListCell   *lc;

	foreach(lc, lookup->root->eq_classes)
	{
		EquivalenceClass *ec = lfirst(lc);
		EquivalenceMember *em;

		if (ec->ec_has_volatile || bms_membership(ec->ec_relids) != BMS_MULTIPLE ||
			!bms_overlap(ec->ec_relids, rel->top_parent_relids != NULL ? rel->top_parent_relids :
						 rel->relids))
			continue;
		zs_foreach_member(em, ec, rel->relids)
		{
			if (bms_equal(em->em_relids, rel->relids) && IsA(em->em_expr, Var) &&
				((Var *) em->em_expr)->varattno > 0)
				attnos = bms_add_member(attnos, ((Var *) em->em_expr)->varattno);
		}
	}
	return attnos;
}

/* The clauses of joins (RestrictInfo) that a scan could have for its own. */
static List *
join_clauses(Lookup *lookup)
{
	RelOptInfo *rel = lookup->rel;
	List	   *result = NIL;
	Bitmapset  *attnos;
	int			i = -1;
	ListCell   *lc;

	foreach(lc, rel->joininfo)
	{
		if (join_clause_is_movable_to(lfirst_node(RestrictInfo, lc), rel))
			result = lappend(result, lfirst(lc));
	}
	if (!rel->has_eclass_joins)
		return result;
	attnos = equated_columns(lookup);
	while ((i = bms_next_member(attnos, i)) >= 0)
	{
		AttrNumber	attno = i;
		List	   *clauses;

		if (zscost_value_share(rel, lookup->table, attno) >= lookup->most)
			continue;
		clauses = generate_implied_equalities_for_column(lookup->root, rel, is_column, &attno,
														 rel->lateral_referencers);
		result = list_concat(result, clauses);
	}
	bms_free(attnos);
	return result;
}

/* Does core have a path with some of the parameters that costs no more than ours at least does? */
static bool
is_beaten(const RelOptInfo *rel, Relids outer)
{
	Cost		least = ZS_COST_OF_LOOKUP + rel->tuples / ZS_SEGMENT_ROWS * ZS_COST_PER_SEGMENT;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		const Path *path = lfirst(lc);

		if (bms_is_subset(PATH_REQ_OUTER(path), outer) && !zs_path_is_avoided(path) &&
			path->total_cost <= least)
			return true;
	}
	return false;
}

/* ---- paths ------------------------------------------------------------------------------- */

/* Adds the path of a scan with the values that these relations give, if it reads little. */
static void
add_lookup(Lookup *lookup, Relids outer)
{
	RelOptInfo *rel = lookup->rel;
	ParamPathInfo *param = get_baserel_parampathinfo(lookup->root, rel, outer);
	List	   *clauses = list_concat_copy(rel->baserestrictinfo, param->ppi_clauses);
	List	   *vector_clauses;
	double		share;
	ListCell   *lc;

	/* a clause that may raise an error has to meet all rows first */
	if (zsscan_any_may_raise(clauses, NULL) || contain_volatile_functions((Node *) clauses))
		return;
	share = share_left(lookup, param->ppi_clauses);
	if (share >= lookup->most)
		return;
	vector_clauses = zsnode_scan_vector_clauses(lookup->table, rel->relid, clauses);
	foreach(lc, param->ppi_clauses)
	{
		if (!list_member_ptr(vector_clauses, lfirst(lc)))
			return;
	}
	add_path(rel, zsnode_scan_lookup_path(lookup->root, rel, vector_clauses, outer, share));
}

/*
 * A step of set_rel_pathlist: adds scans that look rows up by values of other relations to the
 * paths of a zedstore table, where zone maps leave little of it.
 */
void
zsnode_scan_add_lookups(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	bool		forced = zs_debug_vector != ZS_DEBUG_VECTOR_OFF;
	Lookup		lookup = {.root = root, .rel = rel, .most = forced ? 2 : ZS_LOOKUP_SHARE};
	List	   *outers = NIL;
	ListCell   *lc;

	if (!zs_enable_zone_lookups || !zs_enable_zone_maps || !zs_enable_column_costs ||
		(rel->joininfo == NIL && !rel->has_eclass_joins) ||
		(rel->tuples < ZS_SEGMENT_ROWS && !forced) || !zsnode_scan_is_possible(root, rel, rte))
		return;
	lookup.table = table_open(rte->relid, NoLock);
	foreach(lc, join_clauses(&lookup))
	{
		Relids		outer = bms_union(lfirst_node(RestrictInfo, lc)->clause_relids,
									  rel->lateral_relids);
		bool		known = false;
		ListCell   *other;

		CHECK_FOR_INTERRUPTS();
		outer = bms_del_member(outer, rel->relid);
		foreach(other, outers)
			known = known || bms_equal(lfirst(other), outer);
		if (known || bms_is_empty(outer) || (!forced && is_beaten(rel, outer)))
			continue;
		outers = lappend(outers, outer);
		add_lookup(&lookup, outer);
	}
	table_close(lookup.table, NoLock);
}
