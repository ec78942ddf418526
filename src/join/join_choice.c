/*-------------------------------------------------------------------------
 *
 * join_choice.c
 *	  Leaves out nested loops and sorts that could cost much more than they save.
 *
 * The problem: a nested loop that reads its inner side anew for each outer row is the cheapest plan
 * where one outer row is expected, by a few units.  Where there are ten thousand it reads the inner
 * side ten thousand times, and nobody waits for the answer.  Estimates of joins, of subqueries and
 * of CTEs are often as wrong as that.
 *
 * The idea: bounded regret.  The loop reads its inner side once at least.  A hash join reads it
 * once and makes a table of it, so it costs a small factor more if the estimate is right, and as
 * good as nothing in comparison if it is wrong.  The loop goes if the hash join, by core's own
 * costs, is within that factor.  Loops whose inner side is looked up by the outer row, cheaply,
 * stay: they are the right plan for few rows, and join_adaptive_plan.c looks after many.
 *
 * A merge join that sorts its inputs is another bet on few rows, with less at stake: it goes if the
 * hash join is within a smaller factor.  The scan on the other side of a hash join can leave out
 * rows without a partner, too (join_tap.c), which no cost of core's knows.
 *
 * Not where the first rows are all that is wanted: a loop can return one after two reads.  If they
 * are the first in an order, that goes for loops that return rows in an order, and have begun with
 * that when the hash join has not.  But not if a merge join returns them nearly as soon: it takes
 * no longer where there are fewer partners than expected, and the loop compares each row with each.
 *
 * Babu, Bizarro and DeWitt, "Proactive Re-optimization" (2005), choose plans by what they cost over
 * a range of estimates; this is the case of two plans, one of which is nearly flat.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/join/join_choice.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"
#include "zs_cost_const.h"

#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "join_internal.h"
#include "zs_expr_guc.h"
#include "zs_node.h"
#include "zs_node_scan.h"

/* Is a part of the rows all that this level of the query is asked for? */
static bool
wants_first_rows(const PlannerInfo *root)
{
	const Query *parse = root->parse;

	return root->tuple_fraction > 0 && parse->groupClause == NIL && parse->groupingSets == NIL &&
		!parse->hasAggs && parse->distinctClause == NIL && parse->sortClause == NIL &&
		!parse->hasWindowFuncs && parse->setOperations == NULL && !root->hasHavingQual;
}

/*
 * Does the loop read its inner side, or something as dear, for each outer row?  A look-up by zone
 * maps takes ten times one by index, and is as dear if no adaptive join looks after it.
 */
static bool
reads_anew(const ZsJoinPair *pair, const NestPath *path)
{
	const Path *inner = path->jpath.innerjoinpath;

	return inner->param_info == NULL || inner->total_cost > ZS_CHEAP_LOOKUP_COST ||
		(zsnode_scan_is_lookup(inner) && !zsjoin_pair_may_adapt(pair));
}

/*
 * Are rows in an order of the query's all that it takes to begin with the answer, and are they more
 * than are asked for?
 */
static bool
wants_first_in_order(const PlannerInfo *root, double nrows)
{
	const Query *parse = root->parse;

	if (root->tuple_fraction <= 0 || root->tuple_fraction >= Max(nrows, 1) ||
		root->query_pathkeys == NIL || parse->groupingSets != NIL)
		return false;
	if (parse->groupClause == NIL)
		return !parse->hasAggs && !root->hasHavingQual;
	/* groups may come one by one, if these need not be sorted */
	return pathkeys_contained_in(root->sort_pathkeys, root->group_pathkeys);
}

/*
 * Does the join return rows in an order of which the first ones may be asked for?  It does not gain
 * much by that if its sides take as long to begin with as other does as a whole, and may compare
 * each row with each.
 */
static bool
is_in_order(const ZsJoinPair *pair, const Path *path, const Path *other)
{
	if (IsA(path, NestPath) && other != NULL)
	{
		const Path *inner = ((const NestPath *) path)->jpath.innerjoinpath;

		if (inner->param_info == NULL &&
			path->startup_cost + inner->total_cost > ZS_SHARE_TO_BEGIN * other->total_cost)
			return false;
	}
	return path->pathkeys != NIL && wants_first_in_order(pair->root, path->rows) &&
		linitial(path->pathkeys) == linitial(pair->root->query_pathkeys);
}

/* What it costs to get those rows of the path that are asked for, if these are the first ones. */
static Cost
first_rows_cost(const PlannerInfo *root, const Path *path)
{
	double		share = root->tuple_fraction < 1 ? root->tuple_fraction :
		root->tuple_fraction / Max(path->rows, 1);

	Assert(root->tuple_fraction > 0);
	return path->startup_cost + Min(share, 1) * (path->total_cost - path->startup_cost);
}

/*
 * Is there another path than a loop, in an order of the query's, that returns the first rows about
 * as soon, and all of them sooner?
 */
static bool
has_ordered_other(const ZsJoinPair *pair, const List *pathlist, const Path *loop)
{
	const PlannerInfo *root = pair->root;
	ListCell   *lc;

	Assert(root->query_pathkeys != NIL);
	foreach(lc, pathlist)
	{
		const Path *path = lfirst(lc);

		if (!IsA(path, NestPath) && path->param_info == NULL && path->pathkeys != NIL &&
			linitial(path->pathkeys) == linitial(root->query_pathkeys) &&
			zs_path_disabled(path) <= zs_path_disabled(loop) &&
			path->total_cost <= loop->total_cost &&
			first_rows_cost(root, path) <= ZS_ORDER_REGRET_FACTOR * first_rows_cost(root, loop))
			return true;
	}
	return false;
}

/* Is the loop's cost less than that of other by so little that it is not worth the risk? */
static bool
is_bounded(const Path *loop, const Path *other)
{
	Cost		limit = IsA(loop, NestPath) ?
		ZS_REGRET_FACTOR * loop->total_cost + ZS_REGRET_COST :
		ZS_SORT_REGRET_FACTOR * loop->total_cost;

	return other != NULL && zs_path_disabled(other) <= zs_path_disabled(loop) &&
		other->total_cost <= limit;
}

/*
 * Does a side of the merge join come in its order from a scan of ours that sorts, and are its rows
 * aggregated?  Then a hash join by batches is what it would keep away, which nobody has costed yet.
 */
static bool
sorts_for_groups(const ZsJoinPair *pair, const JoinPath *path)
{
	const Query *parse = pair->root->parse;

	return (parse->hasAggs || parse->groupClause != NIL || parse->distinctClause != NIL) &&
		zs_enable_vector_join &&
		(zsnode_order_is_path(path->outerjoinpath) || zsnode_order_is_path(path->innerjoinpath));
}

/* A join of the pair, in either order, that costs much if there are more rows than expected? */
static bool
is_risky(const ZsJoinPair *pair, const Path *path)
{
	if (path->param_info != NULL || !(IsA(path, NestPath) || IsA(path, MergePath)) ||
		!zsjoin_pair_has(pair, (const JoinPath *) path))
		return false;
	if (IsA(path, MergePath))
		return ((const MergePath *) path)->outersortkeys != NIL ||
			((const MergePath *) path)->innersortkeys != NIL ||
			sorts_for_groups(pair, (const JoinPath *) path);
	return reads_anew(pair, (const NestPath *) path);
}

/* Takes out of the list the loops that go if best is there instead; how many are these? */
static int
drop_from(const ZsJoinPair *pair, List **pathlist, const Path *best)
{
	ListCell   *lc;
	int			ndropped = 0;

	Assert(best == NULL || best->param_info == NULL);
	foreach(lc, *pathlist)
	{
		Path	   *path = lfirst(lc);

		if (!is_risky(pair, path))
			continue;
		if (is_in_order(pair, path, best) ?
			!IsA(path, NestPath) || !has_ordered_other(pair, *pathlist, path) :
			!is_bounded(path, best))
			continue;
		*pathlist = foreach_delete_current(*pathlist, lc);
		ndropped++;
	}
	return ndropped;
}

static Path *
cheaper(Path *a, Path *b)
{
	if (a == NULL || b == NULL)
		return a == NULL ? b : a;
	if (zs_path_disabled(a) != zs_path_disabled(b))
		return zs_path_disabled(a) < zs_path_disabled(b) ? a : b;
	return a->total_cost <= b->total_cost ? a : b;
}

/* The cheapest of the list that is neither a loop nor risky and needs no other relation. */
static Path *
cheapest_other(const ZsJoinPair *pair, List *pathlist)
{
	Path	   *best = NULL;
	ListCell   *lc;

	foreach(lc, pathlist)
	{
		Path	   *path = lfirst(lc);

		if (!IsA(path, NestPath) && path->param_info == NULL && !is_risky(pair, path))
			best = cheaper(best, path);
	}
	return best;
}

static bool
has_risky(const ZsJoinPair *pair, List *pathlist)
{
	ListCell   *lc;

	foreach(lc, pathlist)
	{
		Path	   *path = lfirst(lc);

		if (is_risky(pair, path))
			return true;
	}
	return false;
}

/*
 * Drops the pair's loops whose regret is bounded, from the join's paths and its partial ones, and
 * adds the hash join that stands in for them: core has thrown it away while the loop looked
 * cheaper.
 */
void
zsjoin_choice_drop_loops(const ZsJoinPair *pair)
{
	RelOptInfo *joinrel = pair->joinrel;
	Path	   *outer = pair->outer;
	Path	   *inner = pair->inner;

	Assert(outer->param_info == NULL && inner->param_info == NULL);
	if (wants_first_rows(pair->root))
		return;
	if (has_risky(pair, joinrel->pathlist))
	{
		Path	   *hash = zsjoin_pair_hash(pair, outer, inner, false);

		if (pair->jointype == JOIN_INNER)
			hash = cheaper(hash, zsjoin_pair_hash(pair, inner, outer, true));
		if (drop_from(pair, &joinrel->pathlist,
					  cheaper(hash, cheapest_other(pair, joinrel->pathlist))) > 0)
			add_path(joinrel, hash);
	}
	if (joinrel->consider_parallel && pair->partial_outer != NIL &&
		inner->parallel_safe && has_risky(pair, joinrel->partial_pathlist))
	{
		Path	   *hash = zsjoin_pair_hash(pair, linitial(pair->partial_outer), inner, false);

		if (drop_from(pair, &joinrel->partial_pathlist,
					  cheaper(hash, cheapest_other(pair, joinrel->partial_pathlist))) > 0)
			add_partial_path(joinrel, hash);
	}
}
