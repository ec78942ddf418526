/*-------------------------------------------------------------------------
 *
 * zs_expr_guc.h
 *	  Settings of plans by batches.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_expr_guc.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_EXPR_GUC_H
#define ZS_EXPR_GUC_H

#include "postgres.h"

/* ---- expr_guc.c ---- */

extern void zsexpr_guc_init(void);

/* zedstore.debug_vector */
typedef enum ZsDebugVector
{
	ZS_DEBUG_VECTOR_OFF,
	ZS_DEBUG_VECTOR_FORCE,
	ZS_DEBUG_VECTOR_VERIFY,
	ZS_DEBUG_VECTOR_ROWS
} ZsDebugVector;

extern int	zs_debug_vector;

extern void zsexpr_guc_init(void);
extern bool zs_enable_vector_agg;
extern bool zs_enable_early_groups;
extern bool zs_enable_ordered_scan; /* ZedstoreOrder */
extern bool zs_enable_vector_scan;
extern bool zs_enable_join_filters;
extern bool zs_enable_vector_join;
extern bool zs_enable_top_groups;
extern bool zs_enable_rare_groups;
extern bool zs_enable_known_strings;
extern bool zs_enable_packed_rows;
extern bool zs_enable_vector_totals;
extern bool zs_enable_combined_groups;
extern int	zs_debug_vector_groups;

#endif							/* ZS_EXPR_GUC_H */
