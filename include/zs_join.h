/*-------------------------------------------------------------------------
 *
 * zs_join.h
 *	  Filters from hash joins, and joins that lose little where estimates are wrong.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_join.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_JOIN_H
#define ZS_JOIN_H

#include "postgres.h"

#include "executor/execdesc.h"
#include "nodes/pathnodes.h"
#include "optimizer/planner.h"

#include "zs_compat.h"

/* ---- join_cte.c ---- */
extern PlannedStmt *zsjoin_cte_plan(planner_hook_type plan, ZS_PLANNER_PARAMETERS);

/* ---- join_exists.c ---- */

extern void zsjoin_exists_choose_scans(PlannerInfo *root, const RelOptInfo *rel);
extern void zsjoin_exists_choose_in_filter(PlannerInfo *root, RelOptInfo *rel,
										   RangeTblEntry *rte);
extern void zsjoin_exists_choose_in_aggregates(PlannerInfo *root, UpperRelationKind stage,
											   const RelOptInfo *input_rel);

/* ---- join_plan.c ---- */

extern void zsjoin_plan_add_paths(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
								  RelOptInfo *innerrel, JoinType jointype,
								  JoinPathExtraData *extra);

/* ---- join_regret.c ---- */

extern void zsjoin_bound_regret(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
								RelOptInfo *innerrel, JoinType jointype,
								JoinPathExtraData *extra);

/* ---- join_tap.c ---- */

extern void zsjoin_tap_connect(QueryDesc *queryDesc);

/* ---- join_tap_batch.c ---- */

extern void zsjoin_tap_register(void);

/* ---- join_adaptive_plan.c ---- */

extern void zsjoin_adaptive_register(void);

#endif							/* ZS_JOIN_H */
