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

/* Room for values, or display scales, of a batch; as long-lived as the node. */
extern int64 *zsexpr_make_vals(ZsExpr *expr);
extern uint8 *zsexpr_get_dscales(ZsExpr *expr);

/* The node's vector with room for values, and no NULLs. */
extern ZsColumnVector *zsexpr_start_vector(ZsExpr *expr, uint32 nrows);

/* The vector has NULLs where the argument has some, too. */
extern void zsexpr_add_nulls(ZsColumnVector *vector, const ZsColumnVector *arg);

/* The rows of sel that have values. */
extern void zsexpr_rows_with_values(const ZsColumnVector *vector, const uint64 *sel,
									uint64 *rows);

/*
 * Gets ready for results of rows of the batch, or of the entries of the dictionary that coded has
 * (NULL: none).  What was kept of another batch or dictionary is forgotten; of an entry it says
 * whether its result is known.
 */
extern void zsexpr_start_kept(ZsExpr *expr, uint64 batch, const ZsColumnVector *coded);

/*
 * Bytes that the strings which the node keeps may take: the executor makes one at a time, and says
 * when that is too much.  The nodes of a program share what there is.
 */
extern Size zsexpr_string_limit(const ZsExpr *expr);

/* The node's vector gets the codes of coded, and what is kept of the entries as its dictionary. */
extern void zsexpr_give_entries(ZsExpr *expr, const ZsColumnVector *coded);

/* ---- choices (expr_choice.c) ---- */

/* Run a node of the kind for the rows of sel; false: the batch must be taken row by row. */
extern bool zsexpr_run_case(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel);
extern bool zsexpr_run_coalesce(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel);
extern bool zsexpr_run_nullif(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel);
extern bool zsexpr_run_bool(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel);

/* ---- nodes of all kinds (expr_run.c) ---- */

/* The node's vector for the rows of sel, or NULL: the batch must be taken row by row. */
extern const ZsColumnVector *zsexpr_run_node(const ZsExprRun *run, ZsExpr *expr,
											 const uint64 *sel);

#endif							/* EXPR_RUN_H */
