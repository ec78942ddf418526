/*-------------------------------------------------------------------------
 *
 * zs_base_plan.h
 *	  What marks paths, plans and queries as ours.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_base_plan.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_BASE_PLAN_H
#define ZS_BASE_PLAN_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/value.h"

/* ---- base_plan.c ---- */
extern String *zsbase_private_name(void);
extern bool zsbase_is_path_of_ours(const Path *path);

/* ---- base_query.c ---- */
extern bool zsbase_rte_is_ours(const RangeTblEntry *rte);
extern bool zsbase_rel_is_ours(RelOptInfo *rel, const RangeTblEntry *rte);
extern bool zsbase_query_is_ours(PlannerInfo *root);
extern bool zsbase_parse_is_ours(Query *query);

#endif							/* ZS_BASE_PLAN_H */
