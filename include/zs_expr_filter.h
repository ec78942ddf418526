/*-------------------------------------------------------------------------
 *
 * zs_expr_filter.h
 *	  The filter of a table whose rows are aggregated by batches.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_expr_filter.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_EXPR_FILTER_H
#define ZS_EXPR_FILTER_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "zs_expr_qual.h"

typedef struct ZsFilter ZsFilter;

/* ---- expr_filter.c ---- */

/*
 * Can there be programs for the clauses, whatever their parameters turn out to be?  Reads system
 * catalogs.
 */
extern bool zsexpr_filter_possible(TupleDesc desc, Index varno, List *clauses);

/*
 * node: whose filter it is.  Memory comes from the current context.  Reads system catalogs.  To be
 * started before it runs.
 */
extern ZsFilter *zsexpr_filter_create(TupleDesc desc, Index varno, List *clauses,
									  PlanState *node);

/* For the first row, for the first time or anew: parameters may have changed. */
extern void zsexpr_filter_start(ZsFilter *filter);

/* The clauses with the values that are known in the place of parameters, in the current context. */
extern List *zsexpr_filter_clauses(const ZsFilter *filter);

/*
 * Leaves those rows of the present batch in passed that pass.  False if the batch has to be taken
 * row by row, by all clauses in core's order.  Sets *changed when the clauses have got values.
 * Errors: those that the rows of the batch before have not had.
 */
extern bool zsexpr_filter_run(ZsFilter *filter, ZsInput *input, uint64 *passed,
							  ZsQualCounts *counts, bool *changed);

#endif							/* ZS_EXPR_FILTER_H */
