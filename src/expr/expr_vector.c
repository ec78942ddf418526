/*-------------------------------------------------------------------------
 *
 * expr_vector.c
 *	  Vectors that nodes of expressions give.
 *
 * A node has memory for its values and display scales from the first batch on, and uses it for all
 * batches.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_vector.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "expr_run.h"

/* Bytes of the strings that the nodes of a program keep. */
#define MAX_STRINGS		((Size) 16 * 1024 * 1024)

/* 10^n, of as many digits as an integer of 64 bits has. */
int64
zsexpr_power_of_ten(int n)
{
	int64		result = 1;

	Assert(n >= 0 && n <= ZS_EXPR_MAX_SCALE);
	while (n-- > 0)
		result *= 10;
	return result;
}

/* Room for the values of a batch; as long-lived as the node. */
int64 *
zsexpr_make_vals(ZsExpr *expr)
{
	return MemoryContextAllocZero(GetMemoryChunkContext(expr), ZS_KERNEL_ROWS * sizeof(int64));
}

/* Room for the display scales of a batch; as long-lived as the node. */
uint8 *
zsexpr_get_dscales(ZsExpr *expr)
{
	if (expr->dscales == NULL)
		expr->dscales = MemoryContextAllocZero(GetMemoryChunkContext(expr), ZS_KERNEL_ROWS);
	return expr->dscales;
}

/* The node's vector with room for values, and no NULLs. */
ZsColumnVector *
zsexpr_start_vector(ZsExpr *expr, uint32 nrows)
{
	ZsColumnVector *vector = &expr->vector;

	Assert(nrows <= ZS_KERNEL_ROWS);
	if (expr->vals == NULL)
		expr->vals = zsexpr_make_vals(expr);
	vector->nrows = nrows;
	vector->has_nulls = vector->has_odd = false;
	vector->vals = expr->vals;
	vector->scale = 0;
	vector->dscales = NULL;
	vector->datums = NULL;
	vector->codes = NULL;
	expr->result = vector;
	return vector;
}

/* The vector has NULLs where the argument has some, too. */
void
zsexpr_add_nulls(ZsColumnVector *vector, const ZsColumnVector *arg)
{
	if (!arg->has_nulls)
		return;
	if (!vector->has_nulls)
		zskernel_bits_copy(vector->nulls, arg->nulls);
	else
		zskernel_bits_or(vector->nulls, arg->nulls);
	vector->has_nulls = true;
}

/* The rows of sel that have values. */
void
zsexpr_rows_with_values(const ZsColumnVector *vector, const uint64 *sel, uint64 *rows)
{
	zskernel_bits_copy(rows, sel);
	if (vector->has_nulls)
		zskernel_bits_andnot(rows, vector->nulls);
}

/*
 * Bytes that the strings which the node keeps may take: the executor makes one at a time, and says
 * when that is too much.  The nodes of a program share what there is.
 */
Size
zsexpr_string_limit(const ZsExpr *expr)
{
	Assert(expr->nmakers != NULL && *expr->nmakers > 0);
	return MAX_STRINGS / *expr->nmakers;
}

/*
 * Gets ready for results of rows of the batch, or of the entries of the dictionary that coded has
 * (NULL: none).  What was kept of another batch or dictionary is forgotten; of an entry it says
 * whether its result is known.
 */
void
zsexpr_start_kept(ZsExpr *expr, uint64 batch, const ZsColumnVector *coded)
{
	ZsKeptResults *kept = &expr->kept;
	MemoryContext context = GetMemoryChunkContext(expr);
	uint64		serial = coded != NULL ? coded->serial : 0;

	Assert(batch != 0 && (coded == NULL || (coded->dict != NULL && serial != 0)));
	if (kept->context == NULL)
		kept->context = AllocSetContextCreate(context, "zedstore strings", ALLOCSET_DEFAULT_SIZES);
	else if (kept->serial == serial && (coded != NULL || kept->batch == batch))
		return;
	else
		MemoryContextReset(kept->context);
	kept->batch = batch;
	kept->serial = 0;
	if (coded == NULL)
		return;
	if (kept->size < coded->ndict)
	{
		kept->size = coded->ndict;
		kept->known = kept->known == NULL ? MemoryContextAlloc(context, kept->size) :
			repalloc(kept->known, kept->size);
		kept->results = kept->results == NULL ?
			MemoryContextAllocHuge(context, kept->size * sizeof(uint64)) :
			repalloc_huge(kept->results, kept->size * sizeof(uint64));
	}
	memset(kept->known, 0, coded->ndict);
	/* unused ones are looked at by nobody, but have to be addresses of something */
	memcpy(kept->results, coded->dict, coded->ndict * sizeof(uint64));
	kept->serial = serial;
}

/* The node's vector gets the codes of coded, and what is kept of the entries as its dictionary. */
void
zsexpr_give_entries(ZsExpr *expr, const ZsColumnVector *coded)
{
	ZsColumnVector *vector = &expr->vector;

	Assert(expr->kept.serial == coded->serial);
	vector->datums = NULL;
	vector->codes = coded->codes;
	vector->dict = expr->kept.results;
	vector->ndict = coded->ndict;
	vector->serial = coded->serial;
}
