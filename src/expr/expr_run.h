/*-------------------------------------------------------------------------
 *
 * expr_run.h
 *	  What the files that run expressions share; private to src/expr.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_run.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef EXPR_RUN_H
#define EXPR_RUN_H

#include "postgres.h"

#include "expr_internal.h"

/* One run of a program. */
typedef struct ZsExprRun
{
	ZsInput    *input;
	uint64		serial;			/* of the batch */
	ZsQualCounts *counts;
} ZsExprRun;

static inline bool
zsexpr_is_string(const ZsExpr *expr)
{
	return expr->domain == ZS_DOMAIN_TEXT || expr->domain == ZS_DOMAIN_BPCHAR;
}

/* The display scale of a numeric. */
static inline int
zsexpr_dscale(const ZsColumnVector *vector, uint32 row)
{
	return vector->dscales != NULL ? vector->dscales[row] : vector->scale;
}

/* ---- vectors of nodes (expr_vector.c) ---- */

extern int64 zsexpr_power_of_ten(int n);
extern int64 *zsexpr_make_vals(ZsExpr *expr);
extern uint8 *zsexpr_get_dscales(ZsExpr *expr);

/* The node's vector with room for values, and no NULLs. */
extern ZsColumnVector *zsexpr_start_vector(ZsExpr *expr, uint32 nrows);
extern void zsexpr_add_nulls(ZsColumnVector *vector, const ZsColumnVector *arg);

/* The rows of sel that have values. */
extern void zsexpr_rows_with_values(const ZsColumnVector *vector, const uint64 *sel,
									uint64 *rows);
extern void zsexpr_start_kept(ZsExpr *expr, uint64 batch, const ZsColumnVector *coded);
extern Size zsexpr_string_limit(const ZsExpr *expr);
extern void zsexpr_give_entries(ZsExpr *expr, const ZsColumnVector *coded);

/* ---- divisions by constants (expr_divide.c) ---- */

extern bool zsexpr_run_divide(ZsExpr *expr, const ZsColumnVector *a, const uint64 *rows);

/* ---- choices (expr_choice.c) ---- */

extern bool zsexpr_run_case(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel);
extern bool zsexpr_run_coalesce(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel);
extern bool zsexpr_run_nullif(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel);
extern bool zsexpr_run_bool(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel);

/* ---- nodes of all kinds (expr_run.c) ---- */

extern const ZsColumnVector *zsexpr_run_node(const ZsExprRun *run, ZsExpr *expr,
											 const uint64 *sel);

#endif							/* EXPR_RUN_H */
