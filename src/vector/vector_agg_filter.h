/*-------------------------------------------------------------------------
 *
 * vector_agg_filter.h
 *	  The filter of a table whose rows are aggregated by batches; private to src/vector.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_agg_filter.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_AGG_FILTER_H
#define VECTOR_AGG_FILTER_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "vector_qual.h"

typedef struct ZsAggFilter ZsAggFilter;

/*
 * Can there be programs for the clauses, whatever their parameters turn out to be?  Reads system
 * catalogs.
 */
extern bool zsvector_agg_filter_possible(TupleDesc desc, Index varno, List *clauses);

/*
 * node: whose filter it is.  Memory comes from the current context.  Reads system catalogs.  To be
 * started before it runs.
 */
extern ZsAggFilter *zsvector_agg_filter_create(TupleDesc desc, Index varno, List *clauses,
											   PlanState *node);

/* For the first row, for the first time or anew: parameters may have changed. */
extern void zsvector_agg_filter_start(ZsAggFilter *filter);

/* The clauses with the values that are known in the place of parameters, in the current context. */
extern List *zsvector_agg_filter_clauses(const ZsAggFilter *filter);

/*
 * Leaves those rows of the present batch in passed that pass.  False if the batch has to be taken
 * row by row, by all clauses in core's order.  Sets *changed when the clauses have got values.
 * Errors: those that the rows of the batch before have not had.
 */
extern bool zsvector_agg_filter_run(ZsAggFilter *filter, ZsInput *input, uint64 *passed,
									ZsQualCounts *counts, bool *changed);

#endif							/* VECTOR_AGG_FILTER_H */
