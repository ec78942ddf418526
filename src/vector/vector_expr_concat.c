/*-------------------------------------------------------------------------
 *
 * vector_expr_concat.c
 *	  Strings put together, and integers as strings, by batches.
 *
 * Where one argument is a constant and the other one has a dictionary, there is one result for each
 * entry in use, and the result has a dictionary again.  Else the strings of a batch are made for
 * the rows that are asked for, all in one piece of memory.
 *
 * A batch whose strings would take much memory is given back: the executor, which makes one string
 * at a time, says when that is too much.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_expr_concat.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "vector_expr_run.h"

/* Bytes of the strings of a batch. */
#define MAX_STRINGS		((Size) 16 * 1024 * 1024)

/* An integer of 8 bytes as a string, with its header. */
#define INT_SIZE		MAXALIGN(VARHDRSZ + MAXINT8LEN + 1)

/* ---- compile ------------------------------------------------------------------- */

/* See vector_expr_internal.h. */
ZsExpr *
zsvector_expr_compile_concat(ZsExpr *a, ZsExpr *b)
{
	ZsExpr	   *expr;

	if (a == NULL || b == NULL || a->domain != ZS_DOMAIN_TEXT || b->domain != ZS_DOMAIN_TEXT)
		return NULL;
	expr = zsvector_expr_make(ZS_EXPR_CONCAT, ZS_DOMAIN_TEXT, 0, 2);
	expr->args[expr->nargs++] = a;
	expr->args[expr->nargs++] = b;
	return expr;
}

/* See vector_expr_internal.h. */
ZsExpr *
zsvector_expr_compile_text_of(Oid from, Oid to, ZsExpr *arg)
{
	ZsExpr	   *expr;

	if (arg == NULL || arg->domain != ZS_DOMAIN_INT || (to != TEXTOID && to != VARCHAROID) ||
		(from != INT2OID && from != INT4OID && from != INT8OID))
		return NULL;
	expr = zsvector_expr_make(ZS_EXPR_INT_TO_TEXT, ZS_DOMAIN_TEXT, 0, 1);
	expr->args[expr->nargs++] = arg;
	return expr;
}

/* ---- run ------------------------------------------------------------------------ */

static inline const char *
string_at(const ZsColumnVector *vector, uint32 row)
{
	return (const char *) (vector->codes != NULL ? vector->dict[vector->codes[row]] :
						   vector->datums[row]);
}

static inline Size
size_of_both(const char *a, const char *b)
{
	return MAXALIGN(VARHDRSZ + VARSIZE_ANY_EXHDR(a) + VARSIZE_ANY_EXHDR(b));
}

/* Writes both strings behind each other to where there is room; returns its address. */
static uint64
put_both(char *to, const char *a, const char *b)
{
	Size		alen = VARSIZE_ANY_EXHDR(a);
	Size		blen = VARSIZE_ANY_EXHDR(b);

	SET_VARSIZE(to, VARHDRSZ + alen + blen);
	memcpy(VARDATA(to), VARDATA_ANY(a), alen);
	memcpy(VARDATA(to) + alen, VARDATA_ANY(b), blen);
	return (uint64) (uintptr_t) to;
}

/* One result for each entry of the dictionary that one of the rows has. */
static bool
run_dictionary(ZsExpr *expr, uint64 batch, const ZsColumnVector *a, const ZsColumnVector *b,
			   const uint64 *rows)
{
	ZsKeptResults *kept = &expr->kept;
	const ZsColumnVector *coded = a->codes != NULL ? a : b;

	Assert((a->codes != NULL) != (b->codes != NULL));
	zsvector_expr_start_kept(expr, batch, coded);
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = rows[w]; word != 0; word &= word - 1)
		{
			uint32		row = w * 64 + __builtin_ctzll(word);
			uint32		code = coded->codes[row];
			const char *x = string_at(a, row);
			const char *y = string_at(b, row);
			Size		size;

			if (kept->known[code])
				continue;
			size = size_of_both(x, y);
			/* strings of entries stay as long as the dictionary */
			if (size > MAX_STRINGS / 16 ||
				MemoryContextMemAllocated(kept->context, false) + size > MAX_STRINGS)
				return false;
			kept->results[code] = put_both(MemoryContextAlloc(kept->context, size), x, y);
			kept->known[code] = true;
		}
	}
	zsvector_expr_give_entries(expr, coded);
	return true;
}

/* See vector_expr_internal.h. */
bool
zsvector_expr_run_concat(ZsExpr *expr, uint64 batch, const ZsColumnVector *a,
						 const ZsColumnVector *b, const uint64 *rows)
{
	Size		total = 0;
	char	   *to;

	Assert(expr->kind == ZS_EXPR_CONCAT && expr->nargs == 2 && batch != 0);
	expr->vector.datums = (const uint64 *) expr->vals;
	if ((a->codes != NULL && expr->args[1]->kind == ZS_EXPR_CONST) ||
		(b->codes != NULL && expr->args[0]->kind == ZS_EXPR_CONST))
		return run_dictionary(expr, batch, a, b, rows);
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = rows[w]; word != 0; word &= word - 1)
		{
			uint32		row = w * 64 + __builtin_ctzll(word);

			total += size_of_both(string_at(a, row), string_at(b, row));
		}
	}
	if (total > MAX_STRINGS)
		return false;
	/* what was made for other rows of the batch stays */
	zsvector_expr_start_kept(expr, batch, NULL);
	to = MemoryContextAlloc(expr->kept.context, Max(total, 1));
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = rows[w]; word != 0; word &= word - 1)
		{
			uint32		row = w * 64 + __builtin_ctzll(word);
			const char *x = string_at(a, row);
			const char *y = string_at(b, row);

			expr->vals[row] = (int64) put_both(to, x, y);
			to += size_of_both(x, y);
		}
	}
	return true;
}

/* See vector_expr_internal.h. */
void
zsvector_expr_run_text_of(ZsExpr *expr, uint64 batch, const ZsColumnVector *arg,
						  const uint64 *rows)
{
	uint32		n = zskernel_bits_count(rows);
	char	   *to;

	Assert(expr->kind == ZS_EXPR_INT_TO_TEXT && batch != 0 && arg->vals != NULL);
	zsvector_expr_start_kept(expr, batch, NULL);
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
}
