/*-------------------------------------------------------------------------
 *
 * join_pair.c
 *	  A pair of relations that are being joined, and hash joins of it.
 *
 * Where one row is looked up by key, and by its columns one row of each further table, nobody can
 * do better, and statements of this kind run for less time than it takes to plan them: for them
 * nothing is tried here.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/join/join_pair.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"

#include "join_internal.h"
#include "zs_base.h"
#include "zs_cost.h"
#include "zs_expr_guc.h"
#include "zs_join.h"

/* Is it certain that a path returns one row at most?  That it is estimated is no proof. */
bool
zsjoin_path_is_single_row(const Path *path)
{
	RelOptInfo *rel = path->parent;

	check_stack_depth();
	if (IsA(path, NestPath) || IsA(path, HashPath) || IsA(path, MergePath))
	{
		const JoinPath *join = (const JoinPath *) path;

		return zsjoin_path_is_single_row(join->outerjoinpath) &&
			(join->inner_unique || join->jointype == JOIN_SEMI || join->jointype == JOIN_ANTI ||
			 zsjoin_path_is_single_row(join->innerjoinpath));
	}
	if (IsA(path, AggPath) && ((const AggPath *) path)->aggstrategy == AGG_PLAIN)
		return true;
	return rel->reloptkind == RELOPT_BASEREL && rel->rtekind == RTE_RELATION &&
		(zscost_is_looked_up(rel) || zscost_key_lookup(rel) != NULL);
}

/* Has the one side a row at most, by whose columns a row of the other one is looked up? */
static bool
looks_up(const RelOptInfo *one, const RelOptInfo *other)
{
	ListCell   *lc;

	if (one->cheapest_total_path == NULL || one->cheapest_total_path->rows > 1 ||
		!zsjoin_path_is_single_row(one->cheapest_total_path))
		return false;
	foreach(lc, other->cheapest_parameterized_paths)
	{
		const Path *path = lfirst(lc);

		if (path->param_info != NULL && !zs_path_is_avoided(path) &&
			bms_is_subset(PATH_REQ_OUTER(path), one->relids) && zscost_is_key_lookup(path))
			return true;
	}
	return false;
}

/*
 * Has one of the sides a row at most, by whose columns a row of the other side, a table, is looked
 * up in a unique index?  Then no path need be added to those of core.  False if a developer's
 * setting asks for others.
 */
bool
zsjoin_is_looked_up(const RelOptInfo *outerrel, const RelOptInfo *innerrel, JoinType jointype)
{
	return enable_nestloop && zs_debug_switch_after == 0 &&
		zs_debug_vector == ZS_DEBUG_VECTOR_OFF &&
		((zsjoin_goes_by_outer_rows(jointype) && looks_up(outerrel, innerrel)) ||
		 (zsjoin_drops_lonely_rows(jointype) && jointype != JOIN_SEMI &&
		  looks_up(innerrel, outerrel)));
}

/*
 * What core joins when it makes an inner join of a semijoin, by leaving out duplicates of one side
 * first: a pair of kind JOIN_UNIQUE_OUTER or JOIN_UNIQUE_INNER.
 */
static void
leave_out_duplicates(ZsJoinPair *pair, JoinType jointype)
{
	SpecialJoinInfo *sjinfo = pair->extra->sjinfo;

	Assert(sjinfo->jointype == JOIN_SEMI);
	pair->jointype = JOIN_INNER;
	pair->is_unique = true;
	if (jointype == JOIN_UNIQUE_OUTER)
	{
		pair->outer = zs_unique_path(pair->root, pair->outerrel, sjinfo);
		pair->partial_outer = zs_unique_partial_paths(pair->outerrel);
	}
	else
		pair->inner = zs_unique_path(pair->root, pair->innerrel, sjinfo);
}

/*
 * Fills *pair in.  False if a hash join of core's could not take the place of a nested loop over
 * these relations, or is not allowed to.
 */
bool
zsjoin_pair_init(ZsJoinPair *pair, PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
				 RelOptInfo *innerrel, JoinType jointype, JoinPathExtraData *extra)
{
	bool		is_unique = jointype == JOIN_UNIQUE_OUTER || jointype == JOIN_UNIQUE_INNER;

	Assert(!bms_overlap(outerrel->relids, innerrel->relids));
	if (!zs_join_may_hash(extra) || (jointype != JOIN_INNER && jointype != JOIN_LEFT &&
									 jointype != JOIN_SEMI && jointype != JOIN_ANTI && !is_unique))
		return false;
	pair->outer = outerrel->cheapest_total_path;
	pair->inner = innerrel->cheapest_total_path;
	if (pair->outer == NULL || pair->outer->param_info != NULL || pair->inner == NULL ||
		pair->inner->param_info != NULL || !bms_is_empty(joinrel->lateral_relids))
		return false;
	pair->root = root;
	pair->joinrel = joinrel;
	pair->outerrel = outerrel;
	pair->innerrel = innerrel;
	pair->partial_outer = outerrel->partial_pathlist;
	pair->jointype = jointype;
	pair->is_unique = false;
	pair->extra = extra;
	if (is_unique)
		leave_out_duplicates(pair, jointype);
	Assert(pair->outer != NULL && pair->inner != NULL);
	pair->hashclauses = zsjoin_hashclauses(joinrel, outerrel, innerrel, pair->jointype,
										   extra->restrictlist);
	return pair->hashclauses != NIL;
}

/* May adaptive joins stand for loops of the pair, as far as settings, the query and the pair go? */
bool
zsjoin_pair_may_adapt(const ZsJoinPair *pair)
{
	/*
	 * Inner sides of joined partitions are parameterized by the parents; tees stand for paths of a
	 * relation, not for those that leave out its duplicates.
	 */
	return zs_enable_adaptive_join && pair->joinrel->reloptkind == RELOPT_JOINREL &&
		pair->root->rowMarks == NIL && pair->root->parse->commandType == CMD_SELECT &&
		!pair->is_unique;
}

/* Can a hash join of the pair have its hash table on the outer side? */
bool
zsjoin_pair_can_swap(const ZsJoinPair *pair)
{
	return pair->jointype == JOIN_INNER || (pair->jointype == JOIN_SEMI && ZS_HAS_RIGHT_SEMI);
}

/*
 * A hash join of paths of the two relations, costed by core's functions.  swapped: the hash table
 * is made of what is the outer side otherwise; see zsjoin_pair_can_swap().
 */
Path *
zsjoin_pair_hash(const ZsJoinPair *pair, Path *outer, Path *inner, bool swapped)
{
	JoinPathExtraData extra = *pair->extra;
	JoinType	jointype = pair->jointype;
	List	   *clauses = pair->hashclauses;
	JoinCostWorkspace workspace;

	Assert(outer->param_info == NULL && inner->param_info == NULL);
	if (swapped)
	{
		/* whether a row has one partner at most is known of the pair's inner side, not of this */
		Assert(zsjoin_pair_can_swap(pair));
		if (jointype == JOIN_SEMI)
			jointype = ZS_JOIN_RIGHT_SEMI;
		extra.inner_unique = false;
		clauses = zsjoin_hashclauses(pair->joinrel, pair->innerrel, pair->outerrel,
									 pair->jointype, extra.restrictlist);
		if (clauses == NIL)
			return NULL;
	}
	initial_cost_hashjoin(pair->root, &workspace, jointype, clauses, outer, inner, &extra, false);
	return (Path *) create_hashjoin_path(pair->root, pair->joinrel, jointype, &workspace, &extra,
										 outer, inner, false, extra.restrictlist, NULL, clauses);
}

/* Does it join these two, in either order? */
bool
zsjoin_pair_has(const ZsJoinPair *pair, const JoinPath *path)
{
	const RelOptInfo *outer = path->outerjoinpath->parent;
	const RelOptInfo *inner = path->innerjoinpath->parent;

	return (outer == pair->outerrel && inner == pair->innerrel) ||
		(outer == pair->innerrel && inner == pair->outerrel);
}
