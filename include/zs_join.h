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

/* ---- join_exists.c ---- */

/*
 * Choose between the two plans of EXISTS in expressions: for subqueries that are scans, before
 * anything of the query is costed; for the filter of a table, whose paths of core's are made anew
 * then; and for aggregates, when core has made the paths of UPPERREL_GROUP_AGG.
 */
extern void zsjoin_exists_choose_scans(PlannerInfo *root, const RelOptInfo *rel);
extern void zsjoin_exists_choose_in_filter(PlannerInfo *root, RelOptInfo *rel,
										   RangeTblEntry *rte);
extern void zsjoin_exists_choose_in_aggregates(PlannerInfo *root, UpperRelationKind stage,
											   const RelOptInfo *input_rel);

/* ---- join_plan.c ---- */

/* Offers hash joins whose costs know what their keys spare the scan on the other side. */
extern void zsjoin_plan_add_paths(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
								  RelOptInfo *innerrel, JoinType jointype,
								  JoinPathExtraData *extra);

/* ---- join_regret.c ---- */

/* Drops loops that may cost much, and adds adaptive ones, among the paths of a pair. */
extern void zsjoin_bound_regret(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
								RelOptInfo *innerrel, JoinType jointype,
								JoinPathExtraData *extra);

/* ---- join_tap.c ---- */

/* A query with scans by batches has started: hash joins tell these what they look for. */
extern void zsjoin_tap_connect(QueryDesc *queryDesc);

/* ---- join_adaptive_plan.c ---- */

/* Makes the nodes known to core; from _PG_init. */
extern void zsjoin_adaptive_register(void);

#endif							/* ZS_JOIN_H */
