/*-------------------------------------------------------------------------
 *
 * join_hook.c
 *	  The way through the hook that joins' paths come by.
 *
 * For each pair of relations that core joins: loops of bounded regret go (join_choice.c), and those
 * that stay are accompanied by one that can turn to a hash join (join_adaptive_plan.c).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/join/join_hook.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/paths.h"

#include "join_internal.h"
#include "zs_base.h"
#include "zs_join.h"
#include "zs_node.h"

static set_join_pathlist_hook_type next_join_hook = NULL;

static void
join_pathlist(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel, RelOptInfo *innerrel,
			  JoinType jointype, JoinPathExtraData *extra)
{
	ZsJoinPair	pair;

	if (next_join_hook)
		next_join_hook(root, joinrel, outerrel, innerrel, jointype, extra);
	if ((!zs_enable_robust_joins && !zs_enable_adaptive_join) || !zsnode_query_is_ours(root) ||
		!zsjoin_pair_init(&pair, root, joinrel, outerrel, innerrel, jointype, extra))
		return;
	if (zs_enable_robust_joins)
		zsjoin_choice_drop_loops(&pair);
	if (zs_enable_adaptive_join)
		zsjoin_adaptive_add_paths(&pair);
}

/* See zs_join.h. */
void
zsjoin_init(void)
{
	zsjoin_adaptive_register();
	next_join_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = join_pathlist;
}
