/*-------------------------------------------------------------------------
 *
 * zs_expr_filter.h
 *	  The filter of a table that is read by batches, whichever node reads it.
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

#include "zs_batch.h"
#include "zs_expr_input.h"
#include "zs_expr_qual.h"

typedef struct ZsFilter ZsFilter;

/* ---- expr_filter.c ---- */

extern bool zsexpr_filter_clause_possible(TupleDesc desc, Index varno, Node *clause,
										  int *nvectors);
extern bool zsexpr_filter_possible(TupleDesc desc, Index varno, List *clauses);
extern ZsFilter *zsexpr_filter_create(TupleDesc desc, Index varno, List *clauses, int nfirst,
									  PlanState *node, PlanState *parent);
extern bool zsexpr_filter_start(ZsFilter *filter);
extern bool zsexpr_filter_run(ZsFilter *filter, ZsInput *input, const ZsBatch *batch,
							  uint64 *passed, ZsQualCounts *counts, bool *changed);
extern bool zsexpr_filter_row_passes(const ZsFilter *filter, ExprContext *econtext, bool all);

extern List *zsexpr_filter_clauses(const ZsFilter *filter);
extern List *zsexpr_filter_rest(const ZsFilter *filter);
extern bool zsexpr_filter_raises_nothing(const ZsFilter *filter);
extern bool zsexpr_filter_has_rest(const ZsFilter *filter);
extern bool zsexpr_filter_rest_may_raise(const ZsFilter *filter);

#endif							/* ZS_EXPR_FILTER_H */
