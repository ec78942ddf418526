/*-------------------------------------------------------------------------
 *
 * join_rules.c
 *	  Which hash joins can tell a scan by batches what they look for.
 *
 * Asked twice: of paths, when a join's costs are worked out (join_plan.c), and of plans,
 * when they are executed (join_tap.c).  What the planner counts on must come true, so both
 * ask here.  A build with assertions compares what they say (join_tap.c).
 *
 * The rules themselves: join_tap.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/join/join_rules.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "nodes/pathnodes.h"
#include "optimizer/restrictinfo.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "join_internal.h"
#include "zs_clause.h"
#include "zs_probe.h"

/*
 * Is the clause an equality of values that are equal if they are the same integers or bytes?  Then
 * how a scan is told.  Reads system catalogs.
 */
bool
zsjoin_key_form(const Node *clause, ZsJoinKeyForm *form)
{
	const OpExpr *op = (const OpExpr *) clause;
	Oid			funcid;

	if (!IsA(clause, OpExpr))
		return false;
	funcid = get_opcode(op->opno);
	*form = (ZsJoinKeyForm) {.form = ZS_ROW_FILTER_INT};
	if (funcid == F_ENUM_EQ || zsprobe_is_integer_equality(funcid))
		return true;
	form->form = ZS_ROW_FILTER_HASH;
	form->strips_blanks = funcid == F_BPCHAREQ;
	form->has_images = !form->strips_blanks;
	switch (funcid)
	{
		case F_TEXTEQ:
		case F_BPCHAREQ:
		case F_NAMEEQ:
			return OidIsValid(op->inputcollid) && get_collation_isdeterministic(op->inputcollid);
		case F_BYTEAEQ:
		case F_UUID_EQ:
			return true;
		default:
			return false;
	}
}

/* Does a join of this type drop rows of the outer side that have no partner? */
bool
zsjoin_drops_lonely_rows(JoinType type)
{
	return type == JOIN_INNER || type == JOIN_SEMI || type == JOIN_RIGHT ||
		type == JOIN_RIGHT_ANTI || zs_join_is_right_semi(type);
}

/* Does each row come from an outer row, and is none but those that it comes from changed by it? */
bool
zsjoin_goes_by_outer_rows(JoinType type)
{
	return type == JOIN_INNER || type == JOIN_LEFT || type == JOIN_SEMI || type == JOIN_ANTI;
}

/* Does the clause compare a side of the join with the other one?  As in joinpath.c. */
static bool
has_both_sides(RestrictInfo *rinfo, const RelOptInfo *outer, const RelOptInfo *inner)
{
	if (bms_is_subset(rinfo->left_relids, outer->relids) &&
		bms_is_subset(rinfo->right_relids, inner->relids))
		rinfo->outer_is_left = true;
	else if (bms_is_subset(rinfo->left_relids, inner->relids) &&
			 bms_is_subset(rinfo->right_relids, outer->relids))
		rinfo->outer_is_left = false;
	else
		return false;
	return rinfo->outer_is_left ||
		OidIsValid(get_commutator(castNode(OpExpr, rinfo->clause)->opno));
}

/*
 * The clauses (RestrictInfo) by which outer and inner rows can be hashed, as hash_inner_and_outer()
 * finds them; sets their outer_is_left.
 */
List *
zsjoin_hashclauses(const RelOptInfo *joinrel, const RelOptInfo *outer,
				   const RelOptInfo *inner, JoinType jointype, List *restrictlist)
{
	List	   *clauses = NIL;
	ListCell   *lc;

	foreach(lc, restrictlist)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		Assert(!rinfo->pseudoconstant || !rinfo->can_join);
		if (IS_OUTER_JOIN(jointype) && RINFO_IS_PUSHED_DOWN(rinfo, joinrel->relids))
			continue;
		if (rinfo->can_join && OidIsValid(rinfo->hashjoinoperator) &&
			has_both_sides(rinfo, outer, inner))
			clauses = lappend(clauses, rinfo);
	}
	return clauses;
}
