/*-------------------------------------------------------------------------
 *
 * expr_run.c
 *	  Runs expressions on batches.
 *
 * Each node gives a vector for the rows that it is asked for, and keeps it for the batch.  What is
 * asked for later of the same node is computed together with what it has, so that a vector given
 * out stays right.
 *
 * A kernel that meets an error looks at the rows that were asked for and have no NULL; if one of
 * those is wrong the batch is given back, and the executor finds out which error is the first.
 * Branches of CASE and COALESCE are asked only for rows that reach them (expr_choice.c).
 *
 * Numerics are integers of one scale for the batch; where the display scales of rows differ they
 * come beside.  A sum has the larger display scale of its arguments, a product both.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_run.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "miscadmin.h"
#include "utils/date.h"
#include "utils/timestamp.h"

#include "expr_run.h"
#include "qual_internal.h"

/* Dates and timestamps that are numbers; infinite ones are the executor's. */
#define FIRST_DATE		(DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE)
#define LAST_DATE		(DATE_END_JULIAN - POSTGRES_EPOCH_JDATE - 1)
#define LAST_TIMESTAMP_DATE	(TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE - 1)
#define FIRST_TIMESTAMP	MIN_TIMESTAMP
#define LAST_TIMESTAMP	(END_TIMESTAMP - 1)

/* ---- leaves --------------------------------------------------------------------- */

/* The values of a column. */
static bool
run_column(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel)
{
	ZsColumnWant want = zsexpr_is_string(expr) ? ZS_WANT_TEXT :
		zsexpr_want_of(expr->domain);
	const ZsColumnVector *vector = zsexpr_input_column(run->input, expr->attno, want, sel);

	Assert(expr->attno > 0 && expr->attno <= run->input->desc->natts);
	if (vector == NULL || zs_vector_has_odd(vector, sel))
		return false;
	Assert(zsexpr_is_string(expr) ? vector->codes != NULL || vector->datums != NULL :
		   vector->vals != NULL);
	expr->result = vector;
	return true;
}

/* A constant for all rows. */
static bool
run_const(ZsExpr *expr)
{
	bool		known = expr->vals != NULL;
	ZsColumnVector *vector = zsexpr_start_vector(expr, ZS_KERNEL_ROWS);

	vector->scale = expr->scale;
	if (zsexpr_is_string(expr))
		vector->datums = (const uint64 *) expr->vals;
	if (expr->isnull)
	{
		vector->has_nulls = true;
		memset(vector->nulls, 0xFF, sizeof(vector->nulls));
	}
	for (int i = 0; i < ZS_KERNEL_ROWS && !known; i++)
		expr->vals[i] = expr->value;
	return true;
}

/* ---- numerics ------------------------------------------------------------------- */

/* All rows have the constant at the scale: later batches have values at other rows. */
static bool
fill_at_scale(ZsExpr *expr, int argno, const ZsColumnVector *vector, int scale)
{
	int64	   *scaled = expr->scaled[argno];
	int64		value;

	if (expr->scaled_scale[argno] == scale)
		return true;
	if (pg_mul_s64_overflow(vector->vals[0], zsexpr_power_of_ten(scale - vector->scale),
							&value))
		return false;
	for (int i = 0; i < ZS_KERNEL_ROWS; i++)
		scaled[i] = value;
	expr->scaled_scale[argno] = scale;
	return true;
}

/* The argument's values at a scale that is not smaller; NULL if one of the rows does not fit. */
static const int64 *
values_at_scale(ZsExpr *expr, int argno, const ZsColumnVector *vector, int scale,
				const uint64 *rows)
{
	bool		fits;

	Assert(argno >= 0 && argno < expr->nargs && vector->scale <= scale);
	if (vector->scale == scale)
		return vector->vals;
	if (expr->scaled[argno] == NULL)
		expr->scaled[argno] = zsexpr_make_vals(expr);
	if (expr->args[argno]->kind == ZS_EXPR_CONST)
		fits = fill_at_scale(expr, argno, vector, scale);
	else
		fits = zskernel_scale_up_int64(vector->vals,
									   zsexpr_power_of_ten(scale - vector->scale),
									   vector->nrows, rows, expr->scaled[argno]);
	return fits ? expr->scaled[argno] : NULL;
}

/*
 * Display scales of sums and products, where those of rows differ; false: one is larger than any
 * that a vector has.
 */
static bool
set_dscales(ZsExpr *expr, const ZsColumnVector *a, const ZsColumnVector *b)
{
	uint8	   *dscales;

	if (a->dscales == NULL && b->dscales == NULL)
		return true;
	dscales = zsexpr_get_dscales(expr);
	for (uint32 i = 0; i < expr->vector.nrows; i++)
	{
		int			x = zsexpr_dscale(a, i);
		int			y = zsexpr_dscale(b, i);
		int			dscale = expr->op == ZS_ARITH_MUL ? x + y : Max(x, y);

		if (dscale > PG_UINT8_MAX)
			return false;
		dscales[i] = (uint8) dscale;
	}
	expr->vector.dscales = dscales;
	return true;
}

static bool
run_decimal_arith(ZsExpr *expr, const ZsColumnVector *a, const ZsColumnVector *b,
				  const uint64 *rows)
{
	ZsColumnVector *vector = &expr->vector;
	const int64 *x = a->vals;
	const int64 *y = b->vals;

	Assert(expr->op != ZS_ARITH_DIV);
	vector->scale = expr->op == ZS_ARITH_MUL ? a->scale + b->scale : Max(a->scale, b->scale);
	if (vector->scale > ZS_EXPR_MAX_SCALE)
		return false;
	if (!set_dscales(expr, a, b))
		return false;
	if (expr->op == ZS_ARITH_MUL)
		return zskernel_mul_int64(8, x, y, vector->nrows, rows, expr->vals);
	x = values_at_scale(expr, 0, a, vector->scale, rows);
	y = values_at_scale(expr, 1, b, vector->scale, rows);
	if (x == NULL || y == NULL)
		return false;
	if (expr->op == ZS_ARITH_MOD)
		return zskernel_mod_int64(x, y, vector->nrows, rows, expr->vals);
	return expr->op == ZS_ARITH_ADD ? zskernel_add_int64(8, x, y, vector->nrows, rows, expr->vals) :
		zskernel_sub_int64(8, x, y, vector->nrows, rows, expr->vals);
}

static bool
run_round(ZsExpr *expr, const ZsColumnVector *a, const uint64 *rows)
{
	ZsColumnVector *vector = &expr->vector;

	Assert(expr->scale >= 0 && expr->scale <= ZS_EXPR_MAX_SCALE);
	vector->scale = expr->scale;
	if (a->scale < expr->scale)
	{
		if (!zskernel_scale_up_int64(a->vals, zsexpr_power_of_ten(expr->scale - a->scale),
									 vector->nrows,
									 rows, expr->vals))
			return false;
	}
	else if (a->scale > expr->scale)
		zskernel_round_int64(a->vals, zsexpr_power_of_ten(a->scale - expr->scale),
							 vector->nrows,
							 expr->vals);
	else
		vector->vals = a->vals;
	return expr->limit == 0 ||
		zskernel_in_range_int64(vector->vals, 1 - expr->limit, expr->limit - 1, vector->nrows,
								rows);
}

/* ---- dates and times --------------------------------------------------------------- */

/* An array of one value. */
static const int64 *
filled(ZsExpr *expr, int64 value)
{
	if (expr->scaled[0] == NULL)
	{
		expr->scaled[0] = zsexpr_make_vals(expr);
		for (int i = 0; i < ZS_KERNEL_ROWS; i++)
			expr->scaled[0][i] = value;
	}
	return expr->scaled[0];
}

static bool
run_timestamp_add(ZsExpr *expr, const ZsColumnVector *a, const uint64 *rows)
{
	uint32		n = expr->vector.nrows;

	return zskernel_in_range_int64(a->vals, FIRST_TIMESTAMP, LAST_TIMESTAMP, n, rows) &&
		zskernel_add_int64(8, a->vals, filled(expr, expr->usecs), n, rows, expr->vals) &&
		zskernel_in_range_int64(expr->vals, FIRST_TIMESTAMP, LAST_TIMESTAMP, n, rows);
}

/* ---- functions of one or two arguments --------------------------------------------------- */

/* Functions and operators with one argument. */
static bool
run_unary(ZsExpr *expr, const ZsColumnVector *a, const uint64 *rows)
{
	ZsColumnVector *vector = &expr->vector;
	bool		is_float = expr->domain == ZS_DOMAIN_FLOAT4 || expr->domain == ZS_DOMAIN_FLOAT8;
	int			width = expr->domain == ZS_DOMAIN_DECIMAL ? 8 : expr->width;
	uint32		n = vector->nrows;

	Assert(a->vals != NULL && n <= ZS_KERNEL_ROWS);
	switch (expr->kind)
	{
		case ZS_EXPR_SAME:
			vector->vals = a->vals;
			vector->scale = a->scale;
			vector->dscales = a->dscales;
			return true;
		case ZS_EXPR_NARROW:
			vector->vals = a->vals;
			return zskernel_fits_int64(width, a->vals, n, rows);
		case ZS_EXPR_NEG:
		case ZS_EXPR_ABS:
			vector->scale = a->scale;
			vector->dscales = a->dscales;
			if (is_float)
				zskernel_flip_sign(width, expr->kind == ZS_EXPR_ABS, a->vals, n, expr->vals);
			else if (expr->kind == ZS_EXPR_ABS)
				return zskernel_abs_int64(width, a->vals, n, rows, expr->vals);
			else
				return zskernel_neg_int64(width, a->vals, n, rows, expr->vals);
			return true;
		case ZS_EXPR_INT_TO_FLOAT:
			if (expr->domain == ZS_DOMAIN_FLOAT4)
				zskernel_float4_from_int64(a->vals, n, expr->vals);
			else
				zskernel_float8_from_int64(a->vals, n, expr->vals);
			return true;
		case ZS_EXPR_FLOAT4_TO_8:
			zskernel_float8_from_float4(a->vals, n, expr->vals);
			return true;
		case ZS_EXPR_DECIMAL_TO_FLOAT:
			return zskernel_float8_from_decimal(a->vals,
												(double) zsexpr_power_of_ten(a->scale), n,
												rows,
												expr->vals);
		case ZS_EXPR_ROUND:
			return run_round(expr, a, rows);
		case ZS_EXPR_DIVIDE:
			return zsexpr_run_divide(expr, a, rows);
		case ZS_EXPR_DATE_TO_TIMESTAMP:
			return zskernel_in_range_int64(a->vals, FIRST_DATE, LAST_TIMESTAMP_DATE, n, rows) &&
				zskernel_scale_up_int64(a->vals, USECS_PER_DAY, n, rows, expr->vals);
		case ZS_EXPR_TIMESTAMP_TO_DATE:
			zskernel_floor_int64(a->vals, USECS_PER_DAY, n, expr->vals);
			return zskernel_in_range_int64(a->vals, FIRST_TIMESTAMP, LAST_TIMESTAMP, n, rows);
		case ZS_EXPR_TIMESTAMP_ADD:
			return run_timestamp_add(expr, a, rows);
		case ZS_EXPR_TIME_FLOOR:
			Assert(expr->usecs > 0);
			zskernel_floor_to_int64(a->vals, expr->usecs, n, expr->vals);
			return zskernel_in_range_int64(a->vals, FIRST_TIMESTAMP, LAST_TIMESTAMP, n, rows) &&
				zskernel_in_range_int64(expr->vals, FIRST_TIMESTAMP, LAST_TIMESTAMP, n, rows);
		case ZS_EXPR_TIME_PART:
			Assert(expr->usecs > 0 && expr->limit > 0);
			zskernel_part_of_int64(a->vals, expr->usecs, expr->limit, n, expr->vals);
			return zskernel_in_range_int64(a->vals, FIRST_TIMESTAMP, LAST_TIMESTAMP, n, rows);
		case ZS_EXPR_DATE_FIELD:
			zskernel_date_field(expr->field, a->vals, rows, expr->vals);
			return zskernel_in_range_int64(a->vals, ZS_DATE_FIRST, ZS_DATE_LAST, n, rows);
		case ZS_EXPR_DATE_BEGIN:
			zskernel_date_begin(expr->field, a->vals, rows, expr->vals);
			return zskernel_in_range_int64(a->vals, ZS_DATE_FIRST, ZS_DATE_LAST, n, rows);
		case ZS_EXPR_TO_LOCAL:
		case ZS_EXPR_FROM_LOCAL:
		case ZS_EXPR_LOCAL_FLOOR:
			return zsexpr_run_zone(expr, a->vals, rows, expr->vals);
		case ZS_EXPR_SCALED:
			vector->vals = a->vals;
			vector->scale = expr->scale;
			return true;
		default:
			return false;
	}
}

/* Functions and operators with two arguments. */
static bool
run_binary(ZsExpr *expr, const ZsColumnVector *a, const ZsColumnVector *b, const uint64 *rows)
{
	uint32		n = expr->vector.nrows;

	Assert(a->vals != NULL && b->vals != NULL);
	if (expr->kind == ZS_EXPR_DATE_ADD || expr->kind == ZS_EXPR_DATE_DIFF)
	{
		if (!zskernel_in_range_int64(a->vals, FIRST_DATE, LAST_DATE, n, rows) ||
			(expr->kind == ZS_EXPR_DATE_DIFF &&
			 !zskernel_in_range_int64(b->vals, FIRST_DATE, LAST_DATE, n, rows)))
			return false;
		if (!(expr->op == ZS_ARITH_ADD ?
			  zskernel_add_int64(4, a->vals, b->vals, n, rows, expr->vals) :
			  zskernel_sub_int64(4, a->vals, b->vals, n, rows, expr->vals)))
			return false;
		return expr->kind == ZS_EXPR_DATE_DIFF ||
			zskernel_in_range_int64(expr->vals, FIRST_DATE, LAST_DATE, n, rows);
	}
	switch (expr->domain)
	{
		case ZS_DOMAIN_DECIMAL:
			return run_decimal_arith(expr, a, b, rows);
		case ZS_DOMAIN_FLOAT4:
			return zskernel_arith_float4(expr->op, a->vals, b->vals, n, rows, expr->vals);
		case ZS_DOMAIN_FLOAT8:
			return zskernel_arith_float8(expr->op, a->vals, b->vals, n, rows, expr->vals);
		default:
			break;
	}
	switch (expr->op)
	{
		case ZS_ARITH_ADD:
			return zskernel_add_int64(expr->width, a->vals, b->vals, n, rows, expr->vals);
		case ZS_ARITH_SUB:
			return zskernel_sub_int64(expr->width, a->vals, b->vals, n, rows, expr->vals);
		case ZS_ARITH_MUL:
			return zskernel_mul_int64(expr->width, a->vals, b->vals, n, rows, expr->vals);
		case ZS_ARITH_DIV:
			return zskernel_div_int64(expr->width, a->vals, b->vals, n, rows, expr->vals);
		case ZS_ARITH_MOD:
			return zskernel_mod_int64(a->vals, b->vals, n, rows, expr->vals);
	}
	return false;
}

/*
 * All functions here are strict.  values: of the arguments.  rows: those of sel in which all have
 * values.
 */
static bool
run_arguments(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel,
			  const ZsColumnVector **values, uint64 *rows)
{
	ZsColumnVector *vector;
	uint32		nrows = ZS_KERNEL_ROWS;

	Assert(expr->nargs > 0);
	for (int i = 0; i < expr->nargs; i++)
	{
		values[i] = zsexpr_run_node(run, expr->args[i], sel);
		if (values[i] == NULL)
			return false;
		nrows = Min(nrows, values[i]->nrows);
	}
	vector = zsexpr_start_vector(expr, nrows);
	for (int i = 0; i < expr->nargs; i++)
		zsexpr_add_nulls(vector, values[i]);
	zsexpr_rows_with_values(vector, sel, rows);
	return true;
}

/* Functions that have a file of their own. */
static bool
run_function(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel)
{
	const ZsColumnVector *args[2] = {NULL, NULL};
	uint64		rows[ZS_KERNEL_WORDS];

	Assert(expr->nargs == 1 || expr->nargs == 2);
	if (!run_arguments(run, expr, sel, args, rows))
		return false;
	if (expr->kind == ZS_EXPR_TEXT_CALL)
		return zsexpr_run_text(expr, run->serial, args[0], rows);
	if (expr->kind == ZS_EXPR_INT_TO_TEXT)
		return zsexpr_run_text_of(expr, run->serial, args[0], rows);
	return expr->nargs == 1 ? run_unary(expr, args[0], rows) :
		run_binary(expr, args[0], args[1], rows);
}

static bool
run_concat(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel)
{
	const ZsColumnVector **args = palloc_array(const ZsColumnVector *, expr->nargs);
	uint64		rows[ZS_KERNEL_WORDS];
	bool		ok = run_arguments(run, expr, sel, args, rows) &&
		zsexpr_run_concat(expr, run->serial, args, rows);

	pfree(args);
	return ok;
}

/* ---- all ----------------------------------------------------------------------------------- */

/* Computes a node whose value is not known yet for the batch. */
static bool
compute(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel)
{
	switch (expr->kind)
	{
		case ZS_EXPR_COLUMN:
			return run_column(run, expr, sel);
		case ZS_EXPR_CONST:
			return run_const(expr);
		case ZS_EXPR_CASE:
			return zsexpr_run_case(run, expr, sel);
		case ZS_EXPR_COALESCE:
			return zsexpr_run_coalesce(run, expr, sel);
		case ZS_EXPR_NULLIF:
			return zsexpr_run_nullif(run, expr, sel);
		case ZS_EXPR_BOOL:
			return zsexpr_run_bool(run, expr, sel);
		case ZS_EXPR_CONCAT:
			return run_concat(run, expr, sel);
		default:
			return run_function(run, expr, sel);
	}
}

static void forget(ZsExpr *expr, uint64 serial);

/* Forgets what expressions within the condition gave. */
static void
forget_condition(const ZsQual *qual, uint64 serial)
{
	if (qual->expr != NULL)
		forget(qual->expr, serial);
	if (qual->expr2 != NULL)
		forget(qual->expr2, serial);
	for (int i = 0; i < qual->nargs; i++)
		forget_condition(qual->args[i], serial);
}

/*
 * Forgets what the node and those below it gave.  A node that is shared is come to from several
 * sides, and is passed once.
 */
static void
forget(ZsExpr *expr, uint64 serial)
{
	if (expr->serial != serial)
		return;
	Assert(!expr->is_shared);
	expr->serial = 0;
	for (int i = 0; i < expr->nargs; i++)
		forget(expr->args[i], serial);
	for (int i = 0; i < expr->nconds; i++)
		forget_condition(expr->conds[i], serial);
	if (expr->operand != NULL)
		forget(expr->operand, serial);
}

/*
 * The node's vector for the rows of sel, or NULL: the batch must be taken row by row.  Where more
 * rows are asked for than before, what is below is computed again, too: a node may use the vector
 * of another one, which changes when some other node asks that one for more rows.
 */
const ZsColumnVector *
zsexpr_run_node(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel)
{
	uint64		rows[ZS_KERNEL_WORDS];

	zskernel_bits_copy(rows, sel);
	if (expr->serial == run->serial)
	{
		zskernel_bits_andnot(rows, expr->done);
		if (!zskernel_bits_any(rows))
			return expr->result;
		zskernel_bits_or(rows, expr->done);
		forget(expr, run->serial);
	}
	check_stack_depth();
	expr->serial = 0;
	if (!compute(run, expr, rows))
		return NULL;
	Assert(expr->result != NULL);
	expr->serial = run->serial;
	zskernel_bits_copy(expr->done, rows);
	return expr->result;
}

/*
 * The expression's values for the rows of sel, some of the present batch's, none of which is odd.
 * NULL if the batch has to be taken row by row, because one of the rows has a value that only the
 * executor understands, or an error.  Valid until the next batch, or until the program runs for
 * rows that it has not run for.
 */
const ZsColumnVector *
zsexpr_run(ZsExpr *expr, ZsInput *input, const uint64 *sel, ZsQualCounts *counts)
{
	ZsExprRun	run = {.input = input, .serial = input->serial, .counts = counts};

	Assert(input->serial != 0);
	return zsexpr_run_node(&run, expr, sel);
}
