/*-------------------------------------------------------------------------
 *
 * vector_expr_choice.c
 *	  Runs CASE, COALESCE and NULLIF on batches, and conditions as values.
 *
 * The problem: a branch that raises an error for rows that do not reach it must not be computed for
 * them.  So each branch is asked only for the rows that come to it: those for which no condition in
 * front was true, or for which what stands in front was NULL.  Its values are put into the vector
 * of the whole at these rows.
 *
 * Branches with numerics may have other scales; the vector gets the largest one, and display scales
 * of its own where they differ.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_expr_choice.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "vector_expr_run.h"

/* What branches gave, for the rows of each. */
typedef struct Branches
{
	int			n;
	const ZsColumnVector **vectors;
	uint64	   (*rows)[ZS_KERNEL_WORDS];
} Branches;

static void
start_branches(Branches *branches, int n)
{
	branches->n = 0;
	branches->vectors = palloc(n * sizeof(ZsColumnVector *));
	branches->rows = palloc(n * sizeof(*branches->rows));
}

static void
end_branches(Branches *branches)
{
	pfree(branches->vectors);
	pfree(branches->rows);
}

/* Runs a branch for its rows. */
static bool
add_branch(const ZsExprRun *run, Branches *branches, ZsExpr *arg, const uint64 *rows)
{
	if (!zskernel_bits_any(rows))
		return true;
	branches->vectors[branches->n] = zsvector_expr_run_node(run, arg, rows);
	zskernel_bits_copy(branches->rows[branches->n], rows);
	return branches->vectors[branches->n++] != NULL;
}

/* Puts the values of one branch, at the vector's scale, into the vector. */
static bool
merge_branch(ZsExpr *expr, const ZsColumnVector *branch, const uint64 *rows, bool same_dscale)
{
	const int64 *vals = branch->vals;

	if (zsvector_expr_is_string(expr))
	{
		for (int w = 0; w < ZS_KERNEL_WORDS; w++)
		{
			for (uint64 word = rows[w]; word != 0; word &= word - 1)
			{
				uint32		row = w * 64 + __builtin_ctzll(word);

				expr->vals[row] = (int64) (branch->codes != NULL ?
										   branch->dict[branch->codes[row]] :
										   branch->datums[row]);
			}
		}
		return true;
	}
	Assert(branch->vals != NULL && branch->scale <= expr->vector.scale);
	if (branch->scale != expr->vector.scale)
	{
		if (expr->scaled[0] == NULL)
			expr->scaled[0] = zsvector_expr_make_vals(expr);
		vals = expr->scaled[0];
		if (!zskernel_scale_up_int64(branch->vals,
									 zsvector_expr_power_of_ten(expr->vector.scale - branch->scale),
									 branch->nrows, rows, expr->scaled[0]))
			return false;
	}
	zskernel_merge_int64(vals, rows, expr->vals);
	if (!same_dscale)
	{
		uint8	   *dscales = zsvector_expr_get_dscales(expr);

		for (int w = 0; w < ZS_KERNEL_WORDS; w++)
		{
			for (uint64 word = rows[w]; word != 0; word &= word - 1)
				dscales[w * 64 + __builtin_ctzll(word)] =
					(uint8) zsvector_expr_dscale(branch, w * 64 + __builtin_ctzll(word));
		}
		expr->vector.dscales = dscales;
	}
	return true;
}

/* Makes one vector of the branches' ones; rows of sel that no branch has are NULL. */
static bool
merge_branches(ZsExpr *expr, const Branches *branches, const uint64 *sel)
{
	ZsColumnVector *vector = zsvector_expr_start_vector(expr, ZS_KERNEL_ROWS);
	bool		same_dscale = true;
	bool		first = true;

	zskernel_bits_copy(vector->nulls, sel);
	for (int i = 0; i < branches->n; i++)
	{
		const ZsColumnVector *branch = branches->vectors[i];
		uint64		rows[ZS_KERNEL_WORDS];

		zsvector_expr_rows_with_values(branch, branches->rows[i], rows);
		if (!zskernel_bits_any(rows))
			continue;
		if (expr->domain == ZS_DOMAIN_DECIMAL)
		{
			same_dscale = same_dscale && branch->dscales == NULL &&
				(first || branch->scale == vector->scale);
			vector->scale = Max(vector->scale, branch->scale);
			first = false;
		}
	}
	for (int i = 0; i < branches->n; i++)
	{
		uint64		rows[ZS_KERNEL_WORDS];

		zsvector_expr_rows_with_values(branches->vectors[i], branches->rows[i], rows);
		if (!zskernel_bits_any(rows))
			continue;
		if (!merge_branch(expr, branches->vectors[i], rows, same_dscale))
			return false;
		zskernel_bits_andnot(vector->nulls, rows);
	}
	vector->has_nulls = zskernel_bits_any(vector->nulls);
	if (zsvector_expr_is_string(expr))
		vector->datums = (const uint64 *) expr->vals;
	return true;
}

/* See vector_expr_run.h. */
bool
zsvector_expr_run_case(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel)
{
	Branches	branches;
	uint64		left[ZS_KERNEL_WORDS];
	uint64		rows[ZS_KERNEL_WORDS];
	bool		ok = true;

	Assert(expr->nargs == expr->nconds || expr->nargs == expr->nconds + 1);
	start_branches(&branches, expr->nargs);
	zskernel_bits_copy(left, sel);
	for (int i = 0; i < expr->nconds && ok && zskernel_bits_any(left); i++)
	{
		ZsTruth		truth;

		ok = zsvector_qual_run(expr->conds[i], run->input, left, &truth, run->counts);
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

/* See vector_expr_run.h. */
bool
zsvector_expr_run_coalesce(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel)
{
	Branches	branches;
	uint64		left[ZS_KERNEL_WORDS];
	bool		ok = true;

	start_branches(&branches, expr->nargs);
	zskernel_bits_copy(left, sel);
	for (int i = 0; i < expr->nargs && ok && zskernel_bits_any(left); i++)
	{
		const ZsColumnVector *vector;

		ok = add_branch(run, &branches, expr->args[i], left);
		if (!ok)
			break;
		Assert(branches.n > 0);
		vector = branches.vectors[branches.n - 1];
		if (!vector->has_nulls)
			break;
		zskernel_bits_and(left, vector->nulls);
	}
	ok = ok && merge_branches(expr, &branches, sel);
	end_branches(&branches);
	return ok;
}

/* See vector_expr_run.h. */
bool
zsvector_expr_run_nullif(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel)
{
	const ZsColumnVector *arg = zsvector_expr_run_node(run, expr->args[0], sel);
	ZsColumnVector *vector;
	ZsTruth		truth;

	Assert(expr->nargs == 1 && expr->nconds == 1);
	if (arg == NULL || !zsvector_qual_run(expr->conds[0], run->input, sel, &truth, run->counts))
		return false;
	vector = zsvector_expr_start_vector(expr, arg->nrows);
	vector->vals = arg->vals;
	vector->scale = arg->scale;
	vector->dscales = arg->dscales;
	vector->datums = arg->datums;
	vector->codes = arg->codes;
	vector->dict = arg->dict;
	vector->ndict = arg->ndict;
	vector->serial = arg->serial;
	zsvector_expr_add_nulls(vector, arg);
	if (!vector->has_nulls)
		zskernel_bits_clear(vector->nulls);
	zskernel_bits_and(truth.yes, sel);
	zskernel_bits_or(vector->nulls, truth.yes);
	vector->has_nulls = true;
	return true;
}

/* See vector_expr_run.h. */
bool
zsvector_expr_run_bool(const ZsExprRun *run, ZsExpr *expr, const uint64 *sel)
{
	ZsColumnVector *vector;
	ZsTruth		truth;

	Assert(expr->nconds == 1);
	if (!zsvector_qual_run(expr->conds[0], run->input, sel, &truth, run->counts))
		return false;
	vector = zsvector_expr_start_vector(expr, ZS_KERNEL_ROWS);
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (int k = 0; k < 64; k++)
			expr->vals[w * 64 + k] = (int64) (truth.yes[w] >> k & 1);
		vector->nulls[w] = sel[w] & ~(truth.yes[w] | truth.no[w]);
	}
	vector->has_nulls = zskernel_bits_any(vector->nulls);
	return true;
}
