/*-------------------------------------------------------------------------
 *
 * zs_expr_input.h
 *	  Where batches come from.
 *
 * Programs, groups and aggregates ask an input for batches and for columns of them, and do not care
 * who made them: a scan of a zedstore table (expr_input_table.c), or any plan whose rows are
 * collected (expr_input_rows.c).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_expr_input.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_EXPR_INPUT_H
#define ZS_EXPR_INPUT_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "zs_batch.h"
#include "zs_order.h"

typedef struct ZsInput ZsInput;

/* What the functions below call; their comments say what is expected. */
typedef struct ZsInputMethods
{
	void		(*start) (ZsInput *input);
	const ZsBatch *(*next) (ZsInput *input);
	uint64		(*count) (ZsInput *input, bool verify); /* NULL: batches have to be counted */
	const ZsColumnVector *(*column) (ZsInput *input, AttrNumber attno, ZsColumnWant want,
									 const uint64 *sel);
	bool		(*bounds) (ZsInput *input, AttrNumber attno, ZsColumnBounds *bounds);
	/* NULL: never */
	bool		(*excluded) (ZsInput *input);
	/* NULL: nothing is known */
	bool		(*ahead) (ZsInput *input, AttrNumber attno, int64 *min, int64 *max);
	/* NULL: never */
	bool		(*totals) (ZsInput *input, AttrNumber attno, bool extremes, ZsVectorTotals *totals);
	void		(*store) (ZsInput *input, uint32 position);
	void		(*end) (ZsInput *input);
} ZsInputMethods;

struct ZsInput
{
	const ZsInputMethods *methods;
	TupleDesc	desc;			/* of its columns */
	Index		varno;			/* of its columns in expressions */
	TupleTableSlot *slot;		/* for rows that are looked at one by one */
	uint64		serial;			/* of the present batch: no other of this process has the same */
};

/* The last serial that was given away. */
extern uint64 zsexpr_input_last_serial;

/* From the first row, for the first time or anew. */
static inline void
zsexpr_input_start(ZsInput *input)
{
	input->methods->start(input);
}

/* The next batch with at least one row, or NULL.  Clears the slot. */
static inline const ZsBatch *
zsexpr_input_next(ZsInput *input)
{
	input->serial = ++zsexpr_input_last_serial;
	return input->methods->next(input);
}

/* As zsscan_batch_column(). */
static inline const ZsColumnVector *
zsexpr_input_column(ZsInput *input, AttrNumber attno, ZsColumnWant want, const uint64 *sel)
{
	return input->methods->column(input, attno, want, sel);
}

/* As zsscan_batch_excluded(): no row passes the filter that the input was given. */
static inline bool
zsexpr_input_excluded(ZsInput *input)
{
	return input->methods->excluded != NULL && input->methods->excluded(input);
}

/* As zsscan_batch_bounds(). */
static inline bool
zsexpr_input_bounds(ZsInput *input, AttrNumber attno, ZsColumnBounds *bounds)
{
	return input->methods->bounds(input, attno, bounds);
}

/* As zsscan_batch_ahead(). */
static inline bool
zsexpr_input_ahead(ZsInput *input, AttrNumber attno, int64 *min, int64 *max)
{
	return input->methods->ahead != NULL && input->methods->ahead(input, attno, min, max);
}

/* As zsscan_batch_totals(). */
static inline bool
zsexpr_input_totals(ZsInput *input, AttrNumber attno, bool extremes, ZsVectorTotals *totals)
{
	return input->methods->totals != NULL && input->methods->totals(input, attno, extremes, totals);
}

/* Stores a row of the present batch (a position in it) in the input's slot. */
static inline void
zsexpr_input_store(ZsInput *input, uint32 position)
{
	input->methods->store(input, position);
}

static inline void
zsexpr_input_end(ZsInput *input)
{
	input->methods->end(input);
}

/* expr_input_table.c */

extern ZsInput *zsexpr_input_batch_create(Relation rel, Index varno, List *exprs, List *filter,
										  EState *estate);
extern void zsexpr_input_batch_share(ZsInput *input, ParallelTableScanDesc pscan);
extern void zsexpr_input_batch_set_filters(ZsInput *input, List *filter, ParamListInfo params);
extern ZsScanOrder *zsexpr_input_batch_order(ZsInput *input, AttrNumber attno, bool descending);
extern const ZsBatch *zsexpr_input_batch_seek(ZsInput *input, zstid stripe);
extern ZsBatchCounts zsexpr_input_batch_counts(const ZsInput *input);
extern ZsInput *zsexpr_input_batch_wrap(ZsBatchScan *bs, Index varno, TupleTableSlot *slot);

static inline void
zsexpr_input_batch_turn(ZsInput *input)
{
	input->serial = ++zsexpr_input_last_serial;
}

/* varno of columns of an input of rows in expressions over it */
#define ZS_ROWS_VARNO	1

/* expr_input_rows.c */

extern ZsInput *zsexpr_input_rows_create(PlanState *plan, List *exprs, List *guards,
										 EState *estate);

#endif							/* ZS_EXPR_INPUT_H */
