/*-------------------------------------------------------------------------
 *
 * zs_node.h
 *	  Custom scans: tables, top-N and aggregates by batches, the cache of subqueries' results.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_node.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_NODE_H
#define ZS_NODE_H

#include "postgres.h"

#include "executor/execdesc.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "zs_expr_input.h"

/*
 * Steps of the planner's hooks: paths for one table, once core has made its own; and for what comes
 * above the joins.
 */

/* ---- node_cache_plan.c ---- */
extern void zsnode_cache_add_paths(PlannerInfo *root, UpperRelationKind stage,
								   RelOptInfo *final_rel);

/* ---- node_window_plan.c ---- */
extern void zsnode_window_add_paths(PlannerInfo *root, UpperRelationKind stage,
									RelOptInfo *window_rel);

/* ---- node_child.c ---- */
extern void zsnode_child_any_slot(CustomScanState *node);
extern TupleTableSlot *zsnode_child_project(CustomScanState *node, TupleTableSlot *slot);
extern void zsnode_child_rescan(CustomScanState *node, PlanState *child);

/* ---- node_shown.c ---- */

/* Nodes that this process has planned and that zsnode_shown_finish() is for. */
extern uint64 zsnode_shown_noted;

extern void zsnode_shown_note(const CustomScan *cscan);
extern void zsnode_shown_finish(PlannedStmt *stmt);

/* ---- node_scan_plan.c ---- */
extern void zsnode_scan_add_paths(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);

/* ---- node_scan_lookup.c ---- */
extern void zsnode_scan_add_lookups(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);

/* ---- node_topn_plan.c ---- */
extern void zsnode_topn_add_path(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);

/* ---- node_order_plan.c ---- */

extern bool zsnode_order_is_path(const Path *path);
extern void zsnode_order_add_paths(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);

/* ---- node_agg_plan.c ---- */
extern void zsnode_agg_add_paths(PlannerInfo *root, UpperRelationKind stage,
								 RelOptInfo *input_rel, RelOptInfo *output_rel, void *extra);

/* ---- node_agg_eager.c ---- */
extern void zsnode_agg_add_eager_paths(PlannerInfo *root, RelOptInfo *rel);

/* ---- node_agg_exec.c ---- */

/* Nodes that make groups and that this process has made. */
extern uint64 zsnode_aggs_made;

/* ---- node_agg_join.c ---- */

extern bool zsnode_join_is_by_batches(const HashJoinState *join);

/*
 * Sees all batches whose rows make the table of a join by batches, before its outer side is read:
 * node is the plan below Hash, whose ExecProcNode is not called; exprs (OUTER_VAR: node's columns)
 * are the input's columns; batch is NULL behind the last one.
 */
typedef void (*ZsBuildTap) (PlanState *node, ZsInput *input, const List *exprs,
							const ZsBatch *batch);
extern ZsBuildTap zsnode_build_tap;

/* ---- node_agg_spine_path.c ---- */

/*
 * For a path that begins as a loop and may turn to a hash join: a path for that hash join alone;
 * NULL for other paths.
 */
typedef HashPath *(*ZsHashOfPath) (const Path *path);
extern ZsHashOfPath zsnode_spine_hash_of;

/* ---- node_agg_sort.c ---- */

extern void zsnode_agg_find_sorts(QueryDesc *queryDesc);

/* ---- node_register.c ---- */

extern void zsnode_register(void);

#endif							/* ZS_NODE_H */
