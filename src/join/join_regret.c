/*-------------------------------------------------------------------------
 *
 * join_regret.c
 *	  What becomes of the paths of a pair of relations.
 *
 * For each pair of relations that core joins: loops of bounded regret go (join_choice.c), and those
 * that stay are accompanied by one that can turn to a hash join (join_adaptive_plan.c).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/join/join_regret.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/paths.h"

#include "join_internal.h"
#include "zs_base.h"
#include "zs_base_plan.h"
#include "zs_join.h"
#include "zs_node.h"

/* Is there a path that may be a bet on few rows? */
static bool
has_bet(const List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		if (IsA(lfirst(lc), NestPath) || IsA(lfirst(lc), MergePath))
			return true;
	}
	return false;
}

/* Drops loops that may cost much, and adds adaptive ones, among the paths of a pair. */
void
zsjoin_bound_regret(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
					RelOptInfo *innerrel, JoinType jointype, JoinPathExtraData *extra)
{
	ZsJoinPair	pair;

	if ((!zs_enable_robust_joins && !zs_enable_adaptive_join) || !zsbase_query_is_ours(root) ||
		zsjoin_is_looked_up(outerrel, innerrel, jointype) ||
		!(zs_debug_switch_after > 0 || has_bet(joinrel->pathlist) ||
		  has_bet(joinrel->partial_pathlist)) ||
		!zsjoin_pair_init(&pair, root, joinrel, outerrel, innerrel, jointype, extra))
		return;
	if (zs_enable_robust_joins)
		zsjoin_choice_drop_loops(&pair);
	zsjoin_adaptive_add_paths(&pair);
}
