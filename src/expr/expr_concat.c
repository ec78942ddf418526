/*-------------------------------------------------------------------------
 *
 * expr_concat.c
 *	  Strings put together, and integers as strings, by batches.
 *
 * Where all arguments but one are constants and that has a dictionary, there is one result for each
 * entry in use, and the result has a dictionary again.  Else the strings of a batch are made for
 * the rows that are asked for, all in one piece of memory.
 *
 * A batch whose strings would take much memory is given back: the executor, which makes one string
 * at a time, says when that is too much.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_concat.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "expr_run.h"

/* An integer of 8 bytes as a string, with its header. */
#define INT_SIZE		MAXALIGN(VARHDRSZ + MAXINT8LEN + 1)

/* ---- compile ------------------------------------------------------------------- */

/* Adds what the node is made of, or the node, to the arguments of expr. */
static void
add_pieces(ZsCompiler *compiler, ZsExpr *expr, ZsExpr *arg)
{
	if (arg->kind != ZS_EXPR_CONCAT)
	{
		zsexpr_add_arg(expr, arg);
		return;
	}
	zsexpr_compiler_drop_maker(compiler);
	for (int i = 0; i < arg->nargs; i++)
		zsexpr_add_arg(expr, arg->args[i]);
}

/* Two strings put together; NULL if one of them is none (or NULL). */
ZsExpr *
zsexpr_compile_concat(ZsCompiler *compiler, ZsExpr *a, ZsExpr *b)
{
	ZsExpr	   *expr;

	if (a == NULL || b == NULL || a->domain != ZS_DOMAIN_TEXT || b->domain != ZS_DOMAIN_TEXT)
		return NULL;
	/* "a || b || c" makes one string, not two */
	expr = zsexpr_make(ZS_EXPR_CONCAT, ZS_DOMAIN_TEXT, 0,
					   Max(a->nargs, 1) + Max(b->nargs, 1));
	add_pieces(compiler, expr, a);
	add_pieces(compiler, expr, b);
	expr->nmakers = zsexpr_compiler_add_maker(compiler);
	return expr;
}

/* An integer of type from as a string of type to; NULL if there is no program. */
ZsExpr *
zsexpr_compile_text_of(ZsCompiler *compiler, Oid from, Oid to, ZsExpr *arg)
{
	ZsExpr	   *expr;

	if (arg == NULL || arg->domain != ZS_DOMAIN_INT || (to != TEXTOID && to != VARCHAROID) ||
		(from != INT2OID && from != INT4OID && from != INT8OID))
		return NULL;
	expr = zsexpr_make(ZS_EXPR_INT_TO_TEXT, ZS_DOMAIN_TEXT, 0, 1);
	expr->args[expr->nargs++] = arg;
	expr->nmakers = zsexpr_compiler_add_maker(compiler);
	return expr;
}

/* ---- run ------------------------------------------------------------------------ */

/* The string of a row, a datum with any header. */
static inline const char *
string_at(const ZsColumnVector *vector, uint32 row)
{
	return (const char *) (vector->codes != NULL ? vector->dict[vector->codes[row]] :
						   vector->datums[row]);
}

/* Bytes of the strings of a row put together, with a header. */
static Size
size_of_all(const ZsColumnVector *const *args, int nargs, uint32 row)
{
	Size		size = VARHDRSZ;

	for (int i = 0; i < nargs; i++)
		size += VARSIZE_ANY_EXHDR(string_at(args[i], row));
	return MAXALIGN(size);
}

/* Writes the strings of a row behind each other to where there is room; returns its address. */
static uint64
put_all(char *to, const ZsColumnVector *const *args, int nargs, uint32 row)
{
	char	   *end = VARDATA(to);

	for (int i = 0; i < nargs; i++)
	{
		const char *string = string_at(args[i], row);
		Size		len = VARSIZE_ANY_EXHDR(string);

		memcpy(end, VARDATA_ANY(string), len);
		end += len;
	}
	SET_VARSIZE(to, end - to);
	return (uint64) (uintptr_t) to;
}

/* The vector with a dictionary, if all others are constants; else NULL. */
static const ZsColumnVector *
find_coded(const ZsExpr *expr, const ZsColumnVector *const *args)
{
	const ZsColumnVector *coded = NULL;

	for (int i = 0; i < expr->nargs; i++)
	{
		if (expr->args[i]->kind == ZS_EXPR_CONST)
			continue;
		if (coded != NULL || args[i]->codes == NULL)
			return NULL;
		coded = args[i];
	}
	return coded;
}

/* One result for each entry of the dictionary that one of the rows has. */
static bool
run_dictionary(ZsExpr *expr, uint64 batch, const ZsColumnVector *coded,
			   const ZsColumnVector *const *args, const uint64 *rows)
{
	ZsKeptResults *kept = &expr->kept;
	Size		limit = zsexpr_string_limit(expr);

	zsexpr_start_kept(expr, batch, coded);
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = rows[w]; word != 0; word &= word - 1)
		{
			uint32		row = w * 64 + __builtin_ctzll(word);
			uint32		code = coded->codes[row];
			Size		size;

			if (kept->known[code])
				continue;
			size = size_of_all(args, expr->nargs, row);
			/* strings of entries stay as long as the dictionary */
			if (size > limit / 16 ||
				MemoryContextMemAllocated(kept->context, false) + size > limit)
				return false;
			kept->results[code] = put_all(MemoryContextAlloc(kept->context, size), args,
										  expr->nargs, row);
			kept->known[code] = true;
		}
	}
	zsexpr_give_entries(expr, coded);
	return true;
}

/*
 * Computes the vector, which was started, for rows whose arguments have values.  batch: its serial;
 * args: as many vectors as the node has arguments.  False: the strings would take too much memory.
 */
bool
zsexpr_run_concat(ZsExpr *expr, uint64 batch, const ZsColumnVector *const *args,
				  const uint64 *rows)
{
	const ZsColumnVector *coded = find_coded(expr, args);
	Size		total = 0;
	char	   *to;

	Assert(expr->kind == ZS_EXPR_CONCAT && expr->nargs >= 2 && batch != 0);
	expr->vector.datums = (const uint64 *) expr->vals;
	if (coded != NULL)
		return run_dictionary(expr, batch, coded, args, rows);
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = rows[w]; word != 0; word &= word - 1)
			total += size_of_all(args, expr->nargs, w * 64 + __builtin_ctzll(word));
	}
	if (total > zsexpr_string_limit(expr))
		return false;
	/* what was made for other rows of the batch stays */
	zsexpr_start_kept(expr, batch, NULL);
	to = MemoryContextAlloc(expr->kept.context, Max(total, 1));
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = rows[w]; word != 0; word &= word - 1)
		{
			uint32		row = w * 64 + __builtin_ctzll(word);

			expr->vals[row] = (int64) put_all(to, args, expr->nargs, row);
			to += MAXALIGN(VARSIZE(to));
		}
	}
	return true;
}

/*
 * Computes the vector, which was started, for rows whose argument has a value.  batch: its serial.
 * False: the strings would take too much memory.
 */
bool
zsexpr_run_text_of(ZsExpr *expr, uint64 batch, const ZsColumnVector *arg,
				   const uint64 *rows)
{
	uint32		n = zskernel_bits_count(rows);
	char	   *to;

	Assert(expr->kind == ZS_EXPR_INT_TO_TEXT && batch != 0 && arg->vals != NULL);
	if (n * INT_SIZE > zsexpr_string_limit(expr))
		return false;
	zsexpr_start_kept(expr, batch, NULL);
	to = MemoryContextAlloc(expr->kept.context, Max(n, 1) * INT_SIZE);
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = rows[w]; word != 0; word &= word - 1)
		{
			uint32		row = w * 64 + __builtin_ctzll(word);

			SET_VARSIZE(to, VARHDRSZ + pg_lltoa(arg->vals[row], VARDATA(to)));
			expr->vals[row] = (int64) (uintptr_t) to;
			to += INT_SIZE;
		}
	}
	expr->vector.datums = (const uint64 *) expr->vals;
	return true;
}
