/*-------------------------------------------------------------------------
 *
 * zs_vector.h
 *	  Plans of our own for queries that columns can answer better than rows.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_vector.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_VECTOR_H
#define ZS_VECTOR_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/value.h"
#include "utils/rel.h"

/*
 * Other libraries look at custom_private of every CustomPath and CustomScan for what they have put
 * there themselves, and take its first member for a node, even before they know whose it is.  So
 * the lists have nothing but nodes (NIL is an empty list), and begin with one that names us.
 */
static inline String *
zsvector_private_name(void)
{
	return makeString(pstrdup("zedstore_io"));
}

/* vector_guc.c */

/* zedstore.debug_vector */
typedef enum ZsDebugVector
{
	ZS_DEBUG_VECTOR_OFF,
	ZS_DEBUG_VECTOR_FORCE,
	ZS_DEBUG_VECTOR_VERIFY,
	ZS_DEBUG_VECTOR_ROWS
} ZsDebugVector;

extern int	zs_debug_vector;

/* Defines the settings; from _PG_init. */
extern void zsvector_guc_init(void);

/* vector_topn_plan.c */

/* Install planner hooks and register custom scans. */
extern void zsvector_topn_init(void);

/* vector_agg_plan.c */
extern void zsvector_agg_init(void);

/* vector_parallel.c */
extern double zsvector_heap_density(Relation rel, int32 *attr_widths);
extern void zsvector_parallel_init(void);

/* vector_cost_index.c */

/*
 * Installs the planner hooks that correct the costs of core's scans of zedstore tables.  To be
 * called behind the other init functions that install hooks for paths, so that it sees their paths,
 * too.
 */
extern void zsvector_cost_init(void);

/* vector_join_tap.c */

/* Installs the executor hook that lets hash joins tell scans what they look for. */
extern void zsvector_join_init(void);

/* vector_join_plan.c */

/* Installs the hook that offers hash joins whose costs know these filters. */
extern void zsvector_join_plan_init(void);

/* vector_join_rules.c */

/*
 * The clauses (RestrictInfo) by which outer and inner rows can be hashed, as hash_inner_and_outer()
 * finds them; sets their outer_is_left.
 */
extern List *zsvector_join_hashclauses(const RelOptInfo *joinrel, const RelOptInfo *outer,
									   const RelOptInfo *inner, JoinType jointype,
									   List *restrictlist);

/* vector_scan_plan.c */

/*
 * To be called behind that: what it offers has its own costs, and others look for core's sequential
 * scan.
 */
extern void zsvector_scan_init(void);

/* vector_join_exists.c */

/*
 * Installs the hooks that choose between the two plans of EXISTS.  To be called last, so that its
 * hook is called first.
 */
extern void zsvector_exists_init(void);

#endif							/* ZS_VECTOR_H */
