/*-------------------------------------------------------------------------
 *
 * expr_input_rows.c
 *	  Batches of the rows that any plan returns.
 *
 * Rows are taken from the plan one by one, 1024 for a batch, and of each row the columns that are
 * needed are kept: integers and floats as vectors have them, all else as datums that are copied.  A
 * column is an expression over the plan's output, which core's executor evaluates when the row
 * comes, in the order of the columns, so that its errors are core's.  A column may be guarded by
 * another one: it is not evaluated where that is not true, which is what FILTER does with
 * arguments.
 *
 * Numerics become integers of a common scale when they are asked for so; values that are stored out
 * of line or compressed are odd, and their batch is taken row by row.  A batch ends early when its
 * values are large.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_input_rows.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "zs_codec.h"
#include "zs_compat.h"
#include "zs_expr.h"
#include "zs_expr_input.h"

/* A batch has no more rows once it has so many bytes of datums. */
#define MAX_BYTES		((Size) 512 * 1024)

typedef struct RowColumn
{
	AttrNumber	outer;			/* of the plan's output; 0: the expression */
	ExprState  *expr;
	int			guard;			/* column that says whether to evaluate this one; -1: always */
	int16		typlen;
	bool		typbyval;
	int64	   *vals;			/* of by-value types; else addresses */
	ZsColumnVector vector;		/* integers, or datums */
	ZsColumnVector *decimal;	/* NULL: not asked for yet in any batch */
	bool		decimal_made;	/* for the present batch */
	int64	   *scaled;
	uint8	   *dscales;
} RowColumn;

typedef struct RowInput
{
	ZsInput		base;			/* first */
	PlanState  *plan;
	ExprContext *econtext;
	MemoryContext context;		/* of datums of the present batch */
	MemoryContext own_context;
	int			ncolumns;
	RowColumn  *columns;
	AttrNumber	maxouter;
	bool		evaluates;		/* there are expressions */
	bool		ended;
	zstid		nrows;			/* so far */
	ZsBatch		batch;
} RowInput;

/* ZsInputMethods.start */
static void
start_rows(ZsInput *input)
{
	RowInput   *rows = (RowInput *) input;

	rows->ended = false;
	rows->nrows = 0;
}

/* Copies a datum for the time of the batch; adds to *bytes what it takes. */
static Datum
keep_datum(RowInput *rows, const RowColumn *column, Datum datum, Size *bytes)
{
	MemoryContext old;

	Assert(!column->typbyval);
	if (column->typlen == -1 && !VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)))
	{
		Size		size = VARSIZE_ANY(DatumGetPointer(datum));
		void	   *copy = MemoryContextAlloc(rows->context, size);

		memcpy(copy, DatumGetPointer(datum), size);
		*bytes += size;
		return PointerGetDatum(copy);
	}
	old = MemoryContextSwitchTo(rows->context);
	datum = datumCopy(datum, false, column->typlen);
	MemoryContextSwitchTo(old);
	*bytes += datumGetSize(datum, false, column->typlen);
	return datum;
}

/* Copies the columns of a row of the plan to a place in the batch.  *bytes: of copies so far. */
static void
keep_row(RowInput *rows, TupleTableSlot *slot, uint32 row, Size *bytes)
{
	Assert(row < ZS_KERNEL_ROWS);
	if (rows->maxouter > 0)
		slot_getsomeattrs(slot, rows->maxouter);
	if (rows->evaluates)
	{
		ResetExprContext(rows->econtext);
		rows->econtext->ecxt_outertuple = slot;
	}
	for (int i = 0; i < rows->ncolumns; i++)
	{
		RowColumn  *column = &rows->columns[i];
		Datum		value = (Datum) 0;
		bool		isnull = true;

		if (column->outer > 0)
		{
			value = slot->tts_values[column->outer - 1];
			isnull = slot->tts_isnull[column->outer - 1];
		}
		else if (column->guard < 0 ||
				 (rows->columns[column->guard].vals[row] != 0 &&
				  !zskernel_bits_get(rows->columns[column->guard].vector.nulls, row)))
			value = ExecEvalExprSwitchContext(column->expr, rows->econtext, &isnull);
		if (isnull)
		{
			column->vector.has_nulls = true;
			zskernel_bits_set(column->vector.nulls, row);
			column->vals[row] = 0;
		}
		else if (column->typbyval)
			column->vals[row] = zsattr_value_to_int(value, column->typlen);
		else
		{
			value = keep_datum(rows, column, value, bytes);
			column->vals[row] = (int64) value;
			if (column->typlen == -1 &&
				(VARATT_IS_EXTERNAL(DatumGetPointer(value)) ||
				 VARATT_IS_COMPRESSED(DatumGetPointer(value))))
			{
				column->vector.has_odd = true;
				zskernel_bits_set(column->vector.odd, row);
			}
		}
	}
}

/* ---- rows ------------------------------------------------------------------------------ */

/* ZsInputMethods.next: as many rows as a batch has, or as there are bytes for */
static const ZsBatch *
next_rows(ZsInput *input)
{
	RowInput   *rows = (RowInput *) input;
	ZsBatch    *batch = &rows->batch;
	uint32		n = 0;
	Size		bytes = 0;

	CHECK_FOR_INTERRUPTS();
	ExecClearTuple(input->slot);
	MemoryContextReset(rows->context);
	for (int i = 0; i < rows->ncolumns; i++)
	{
		RowColumn  *column = &rows->columns[i];

		column->vector.has_nulls = column->vector.has_odd = column->decimal_made = false;
		zskernel_bits_clear(column->vector.nulls);
		zskernel_bits_clear(column->vector.odd);
	}
	while (!rows->ended && n < ZS_KERNEL_ROWS && bytes < MAX_BYTES)
	{
		TupleTableSlot *slot = ExecProcNode(rows->plan);

		if (TupIsNull(slot))
			rows->ended = true;
		else
			keep_row(rows, slot, n++, &bytes);
	}
	if (n == 0)
		return NULL;
	for (int i = 0; i < rows->ncolumns; i++)
		rows->columns[i].vector.nrows = n;
	batch->first = rows->nrows;
	batch->nsel = n;
	batch->has_rows = false;
	zskernel_bits_clear(batch->sel);
	zskernel_bits_set_range(batch->sel, 0, n);
	rows->nrows += n;
	return batch;
}

/* ---- columns ------------------------------------------------------------------------ */

/* The column's numerics as integers of one scale. */
static const ZsColumnVector *
decimal_vector(RowInput *rows, RowColumn *column)
{
	ZsColumnVector *vector = column->decimal;
	bool		uniform;

	Assert(column->typlen == -1);
	if (column->decimal_made)
		return vector;
	if (vector == NULL)
	{
		vector = MemoryContextAllocZero(rows->own_context, sizeof(ZsColumnVector));
		column->scaled = MemoryContextAlloc(rows->own_context, ZS_KERNEL_ROWS * sizeof(int64));
		column->dscales = MemoryContextAlloc(rows->own_context, ZS_KERNEL_ROWS);
		column->decimal = vector;
	}
	*vector = column->vector;
	vector->datums = NULL;
	if (zsexpr_decimals_of_datums((const uint64 *) column->vals, vector->nrows,
								  vector->has_nulls ? vector->nulls : NULL, vector->odd,
								  column->scaled, column->dscales, &vector->scale, &uniform))
		vector->has_odd = true;
	vector->vals = column->scaled;
	vector->dscales = uniform ? NULL : column->dscales;
	column->decimal_made = true;
	return vector;
}

/* ZsInputMethods.column */
static const ZsColumnVector *
row_column(ZsInput *input, AttrNumber attno, ZsColumnWant want, const uint64 *sel)
{
	RowInput   *rows = (RowInput *) input;
	RowColumn  *column = &rows->columns[attno - 1];

	Assert(attno > 0 && attno <= rows->ncolumns);
	switch (want)
	{
		case ZS_WANT_INT:
			return column->typbyval ? &column->vector : NULL;
		case ZS_WANT_DECIMAL:
			return column->typbyval ? NULL : decimal_vector(rows, column);
		case ZS_WANT_DATUM:
		case ZS_WANT_STRING:
		case ZS_WANT_TEXT:
			return column->typbyval ? NULL : &column->vector;
		case ZS_WANT_NULLS:
			return &column->vector;
		default:
			return NULL;
	}
}

/* ZsInputMethods.bounds: nothing is known */
static bool
row_bounds(ZsInput *input, AttrNumber attno, ZsColumnBounds *bounds)
{
	return false;
}

/* ZsInputMethods.store */
static void
store_row(ZsInput *input, uint32 position)
{
	RowInput   *rows = (RowInput *) input;
	TupleTableSlot *slot = input->slot;

	Assert(position < rows->batch.nsel);
	ExecClearTuple(slot);
	for (int i = 0; i < rows->ncolumns; i++)
	{
		RowColumn  *column = &rows->columns[i];

		slot->tts_isnull[i] = zskernel_bits_get(column->vector.nulls, position);
		slot->tts_values[i] = column->typbyval ?
			zsexpr_int_to_datum(column->typlen, column->vals[position]) :
			(Datum) column->vals[position];
	}
	ExecStoreVirtualTuple(slot);
}

/* ZsInputMethods.end */
static void
end_rows(ZsInput *input)
{
	ExecClearTuple(input->slot);
}

static const ZsInputMethods row_methods = {
	.start = start_rows,
	.next = next_rows,
	.column = row_column,
	.bounds = row_bounds,
	.store = store_row,
	.end = end_rows,
};

/*
 * The rows of a plan, whose execution the caller begins, rescans and ends.  Its columns are the
 * expressions over the plan's output (OUTER_VAR); guards: for each the number of an earlier boolean
 * column that has to be true for it to be evaluated, or -1.  It can be read once.  Memory comes
 * from the current context.
 */
ZsInput *
zsexpr_input_rows_create(PlanState *plan, List *exprs, List *guards, EState *estate)
{
	RowInput   *rows = palloc0(sizeof(RowInput));
	ZsInput    *input = &rows->base;
	ListCell   *lc;
	ListCell   *lc2;

	Assert(list_length(exprs) == list_length(guards));
	input->methods = &row_methods;
	input->desc = ExecTypeFromExprList(exprs);
	input->varno = ZS_ROWS_VARNO;
	input->slot = zs_alloc_table_slot(&estate->es_tupleTable, input->desc, &TTSOpsVirtual);
	rows->plan = plan;
	rows->own_context = CurrentMemoryContext;
	rows->context = BumpContextCreate(CurrentMemoryContext, "zedstore rows", 0, 64 * 1024,
									  1024 * 1024);
	rows->econtext = CreateExprContext(estate);
	rows->ncolumns = list_length(exprs);
	rows->columns = palloc0(Max(rows->ncolumns, 1) * sizeof(RowColumn));
	forboth(lc, exprs, lc2, guards)
	{
		RowColumn  *column = &rows->columns[foreach_current_index(lc)];
		const Var  *var = lfirst(lc);
		Form_pg_attribute att = TupleDescAttr(input->desc, foreach_current_index(lc));

		column->guard = lfirst_int(lc2);
		Assert(column->guard >= -1 && column->guard < foreach_current_index(lc));
		column->typlen = att->attlen;
		column->typbyval = att->attbyval;
		column->vals = palloc0(ZS_KERNEL_ROWS * sizeof(int64));
		if (column->typbyval)
			column->vector.vals = column->vals;
		else
			column->vector.datums = (const uint64 *) column->vals;
		if (IsA(var, Var) && column->guard < 0)
		{
			Assert(var->varno == OUTER_VAR && var->varattno > 0);
			column->outer = var->varattno;
			rows->maxouter = Max(rows->maxouter, column->outer);
		}
		else
		{
			column->expr = ExecInitExpr((Expr *) var, NULL);
			rows->evaluates = true;
		}
	}
	return input;
}
