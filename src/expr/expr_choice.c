/*-------------------------------------------------------------------------
 *
 * expr_choice.c
 *	  Runs CASE, COALESCE and NULLIF on batches, and conditions as values.
 *
 * The problem: a branch that raises an error for rows that do not reach it must not be computed for
 * them.  So each branch is asked only for the rows that come to it: those for which no condition in
 * front was true, or for which what stands in front was NULL.  Its values are put into the vector
 * of the whole at these rows.
 *
 * What the conditions of a CASE compare is computed once, in front of them, for all rows that come
 * to the CASE.
 *
 * Branches with numerics may have other scales; the vector gets the largest one, and display scales
 * of its own where they differ.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_choice.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "miscadmin.h"

#include "expr_run.h"

/* What a branch gave, and for which rows. */
typedef struct Branch
{
	const ZsColumnVector *vector;	/* NULL: the constant */
	const ZsExpr *constant;
	uint64		rows[ZS_KERNEL_WORDS];
} Branch;

typedef struct Branches
{
	int			n;
	Branch	   *list;
} Branches;

/* Room for n branches. */
static void
start_branches(Branches *branches, int n)
{
	branches->n = 0;
	branches->list = palloc_array(Branch, n);
}

/* Gives it back. */
static void
end_branches(Branches *branches)
{
	pfree(branches->list);
}

/* Runs a branch for its rows.  A constant needs no vector. */
static bool
add_branch(const ZsExprRun *run, Branches *branches, ZsExpr *arg, const uint64 *rows)
{
	Branch	   *branch = &branches->list[branches->n];

	if (!zskernel_bits_any(rows))
		return true;
	branch->constant = arg;
	branch->vector = arg->kind == ZS_EXPR_CONST ? NULL : zsexpr_run_node(run, arg, rows);
	zskernel_bits_copy(branch->rows, rows);
	branches->n++;
	return branch->vector != NULL || arg->kind == ZS_EXPR_CONST;
}

/* The branch's rows that have values. */
static void
rows_of_branch(const Branch *branch, uint64 *rows)
{
	if (branch->vector != NULL)
		zsexpr_rows_with_values(branch->vector, branch->rows, rows);
	else if (branch->constant->isnull)
		zskernel_bits_clear(rows);
	else
		zskernel_bits_copy(rows, branch->rows);
}

/* The scale of the decimals that a branch gave. */
static int
scale_of_branch(const Branch *branch)
{
	return branch->vector != NULL ? branch->vector->scale : branch->constant->scale;
}

/* Display scales of the branch's rows. */
static void
merge_dscales(ZsExpr *expr, const Branch *branch, const uint64 *rows)
{
	uint8	   *dscales = zsexpr_get_dscales(expr);

	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = rows[w]; word != 0; word &= word - 1)
		{
			uint32		row = w * 64 + __builtin_ctzll(word);

			dscales[row] = (uint8) (branch->vector == NULL ? branch->constant->scale :
									zsexpr_dscale(branch->vector, row));
		}
	}
	expr->vector.dscales = dscales;
}

/* Puts a constant, at the vector's scale, into the vector's rows; false if it does not fit. */
static bool
merge_constant(ZsExpr *expr, const ZsExpr *constant, const uint64 *rows)
{
	int64		value = constant->value;

	Assert(!constant->isnull && constant->scale <= expr->vector.scale);
	if (pg_mul_s64_overflow(value,
							zsexpr_power_of_ten(expr->vector.scale - constant->scale),
							&value))
		return false;
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		uint64		word = rows[w];
		int64	   *to = expr->vals + w * 64;

		if (word == ~UINT64CONST(0))
		{
			for (int k = 0; k < 64; k++)
				to[k] = value;
			continue;
		}
		for (; word != 0; word &= word - 1)
			to[__builtin_ctzll(word)] = value;
	}
	return true;
}

/* Takes the strings of a branch for the rows that it is for. */
static void
merge_strings(ZsExpr *expr, const ZsColumnVector *vector, const uint64 *rows)
{
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = rows[w]; word != 0; word &= word - 1)
		{
			uint32		row = w * 64 + __builtin_ctzll(word);

			expr->vals[row] = (int64) (vector->codes != NULL ? vector->dict[vector->codes[row]] :
									   vector->datums[row]);
		}
	}
}

/* Puts integers or patterns, at the vector's scale, into the vector's rows; false: do not fit. */
static bool
merge_values(ZsExpr *expr, const ZsColumnVector *vector, const uint64 *rows)
{
	const int64 *vals = vector->vals;

	Assert(vector->vals != NULL && vector->scale <= expr->vector.scale);
	if (vector->scale != expr->vector.scale)
	{
		if (expr->scaled[0] == NULL)
			expr->scaled[0] = zsexpr_make_vals(expr);
		vals = expr->scaled[0];
		if (!zskernel_scale_up_int64(vector->vals,
									 zsexpr_power_of_ten(expr->vector.scale - vector->scale),
									 vector->nrows, rows, expr->scaled[0]))
			return false;
	}
	zskernel_merge_int64(vals, rows, expr->vals);
	return true;
}

/* The scale of all branches; are display scales the same for all rows? */
static bool
find_scale(const ZsExpr *expr, const Branches *branches, int *scale)
{
	bool		same_dscale = true;
	bool		first = true;

	*scale = 0;
	for (int i = 0; i < branches->n && expr->domain == ZS_DOMAIN_DECIMAL; i++)
	{
		const Branch *branch = &branches->list[i];
		uint64		rows[ZS_KERNEL_WORDS];

		rows_of_branch(branch, rows);
		if (!zskernel_bits_any(rows))
			continue;
		same_dscale = same_dscale && (branch->vector == NULL || branch->vector->dscales == NULL) &&
			(first || scale_of_branch(branch) == *scale);
		*scale = Max(*scale, scale_of_branch(branch));
		first = false;
	}
	return same_dscale;
}

/* Makes one vector of the branches' ones; rows of sel that no branch has are NULL. */
static bool
merge_branches(ZsExpr *expr, const Branches *branches, const uint64 *sel)
{
	ZsColumnVector *vector = zsexpr_start_vector(expr, ZS_KERNEL_ROWS);
	bool		same_dscale = find_scale(expr, branches, &vector->scale);

	zskernel_bits_copy(vector->nulls, sel);
	for (int i = 0; i < branches->n; i++)
	{
		const Branch *branch = &branches->list[i];
		uint64		rows[ZS_KERNEL_WORDS];

		rows_of_branch(branch, rows);
		if (!zskernel_bits_any(rows))
			continue;
		if (branch->vector != NULL && zsexpr_is_string(expr))
			merge_strings(expr, branch->vector, rows);
		else if (branch->vector != NULL ? !merge_values(expr, branch->vector, rows) :
				 !merge_constant(expr, branch->constant, rows))
			return false;
		if (!same_dscale)
			merge_dscales(expr, branch, rows);
		zskernel_bits_andnot(vector->nulls, rows);
	}
	vector->has_nulls = zskernel_bits_any(vector->nulls);
	if (zsexpr_is_string(expr))
		vector->datums = (const uint64 *) expr->vals;
	return true;
}

/* Runs CASE for the rows of sel; false: the batch must be taken row by row. */
bool
zsexpr_run_case(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel)
{
	Branches	branches;
	uint64		left[ZS_KERNEL_WORDS];
	uint64		rows[ZS_KERNEL_WORDS];
	bool		ok = true;

	Assert(expr->nargs == expr->nconds || expr->nargs == expr->nconds + 1);
	/* conditions ask for some of these rows, and find it */
	if (expr->operand != NULL && zsexpr_run_node(run, expr->operand, sel) == NULL)
		return false;
	start_branches(&branches, expr->nargs);
	zskernel_bits_copy(left, sel);
	for (int i = 0; i < expr->nconds && ok && zskernel_bits_any(left); i++)
	{
		ZsTruth		truth;

		CHECK_FOR_INTERRUPTS();
		ok = zsexpr_qual_run(expr->conds[i], run->input, left, &truth, run->counts);
		if (!ok)
			break;
		zskernel_bits_copy(rows, left);
		zskernel_bits_and(rows, truth.yes);
		zskernel_bits_andnot(left, rows);
		ok = add_branch(run, &branches, expr->args[i], rows);
	}
	if (ok && expr->nargs > expr->nconds)
		ok = add_branch(run, &branches, expr->args[expr->nconds], left);
	ok = ok && merge_branches(expr, &branches, sel);
	end_branches(&branches);
	return ok;
}

/* Runs COALESCE for the rows of sel; false: the batch must be taken row by row. */
bool
zsexpr_run_coalesce(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel)
{
	Branches	branches;
	uint64		left[ZS_KERNEL_WORDS];
	bool		ok = true;

	start_branches(&branches, expr->nargs);
	zskernel_bits_copy(left, sel);
	for (int i = 0; i < expr->nargs && ok && zskernel_bits_any(left); i++)
	{
		uint64		rows[ZS_KERNEL_WORDS];

		ok = add_branch(run, &branches, expr->args[i], left);
		if (!ok)
			break;
		Assert(branches.n > 0);
		rows_of_branch(&branches.list[branches.n - 1], rows);
		zskernel_bits_andnot(left, rows);
	}
	ok = ok && merge_branches(expr, &branches, sel);
	end_branches(&branches);
	return ok;
}

/* Runs NULLIF for the rows of sel; false: the batch must be taken row by row. */
bool
zsexpr_run_nullif(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel)
{
	const ZsColumnVector *arg = zsexpr_run_node(run, expr->args[0], sel);
	ZsColumnVector *vector;
	ZsTruth		truth;

	Assert(expr->nargs == 1 && expr->nconds == 1);
	if (arg == NULL || !zsexpr_qual_run(expr->conds[0], run->input, sel, &truth, run->counts))
		return false;
	vector = zsexpr_start_vector(expr, arg->nrows);
	vector->vals = arg->vals;
	vector->scale = arg->scale;
	vector->dscales = arg->dscales;
	vector->datums = arg->datums;
	vector->codes = arg->codes;
	vector->dict = arg->dict;
	vector->ndict = arg->ndict;
	vector->serial = arg->serial;
	zsexpr_add_nulls(vector, arg);
	if (!vector->has_nulls)
		zskernel_bits_clear(vector->nulls);
	zskernel_bits_and(truth.yes, sel);
	zskernel_bits_or(vector->nulls, truth.yes);
	vector->has_nulls = true;
	return true;
}

/*
 * Runs a condition as a boolean value for the rows of sel; false: the batch must be taken row by
 * row.
 */
bool
zsexpr_run_bool(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel)
{
	ZsColumnVector *vector;
	ZsTruth		truth;

	Assert(expr->nconds == 1);
	if (!zsexpr_qual_run(expr->conds[0], run->input, sel, &truth, run->counts))
		return false;
	vector = zsexpr_start_vector(expr, ZS_KERNEL_ROWS);
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (int k = 0; k < 64; k++)
			expr->vals[w * 64 + k] = (int64) (truth.yes[w] >> k & 1);
		vector->nulls[w] = sel[w] & ~(truth.yes[w] | truth.no[w]);
	}
	vector->has_nulls = zskernel_bits_any(vector->nulls);
	return true;
}
