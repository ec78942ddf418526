/*-------------------------------------------------------------------------
 *
 * scan_batch_rows.c
 *	  Columns of a batch some of whose rows are in the row tree.
 *
 * Such a stripe has vectors like others: its rows of the row tree are taken apart column by column
 * (row_vector.c), and what is in segments is put beside them.  A row may be in both for a moment,
 * while VACUUM moves it; the values are the same.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_batch_rows.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "scan_batch.h"
#include "zs_codec.h"

/*
 * Takes the present batch's rows out of those of its stripe; false if there are none.  What they
 * came to stays where a scan comes to the same batch again, as that of a table of one stripe does.
 */
bool
zsscan_batch_take_rows(ZsBatchScan *bs, const ZsRowBatch *rows)
{
	uint64		look = bs->scan->source->row_looks;

	if (bs->rows != NULL && bs->rows_look == look && !bs->rows_mixed &&
		memcmp(bs->rows_sel, bs->batch.sel, sizeof(bs->rows_sel)) == 0)
		return zskernel_bits_any(bs->rows->rows);
	if (bs->rows == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(bs->context);

		bs->rows = zsrow_vectors_create(bs->scan->rs_base.rs_rd, bs->scan->source->desc);
		MemoryContextSwitchTo(old);
	}
	bs->rows_look = look;
	bs->rows_mixed = false;
	zskernel_bits_copy(bs->rows_sel, bs->batch.sel);
	return zsrow_vectors_start(bs->rows, rows, bs->batch.first, bs->batch.sel);
}

/* Gives the rows, whose columns are younger than they are, the missing value. */
static void
add_missing(ZsBatchScan *bs, ZsRowVector *vector, AttrNumber attno, const uint64 *rows,
			uint32 first)
{
	bool		isnull;
	Datum		value = zsscan_source_missing(bs->scan->source, attno - 1, bs->batch.first + first,
											  &isnull);

	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		if (isnull)
			vector->nulls[w] |= rows[w];
		for (uint64 word = isnull ? 0 : rows[w]; word != 0; word &= word - 1)
			vector->values[w * 64 + __builtin_ctzll(word)] = (uint64) value;
	}
}

/* The column's values in a segment. */
static void
add_values(ZsRowVector *vector, const ZsVectorOut *out, const uint64 *rows)
{
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		if (out->has_nulls)
			vector->nulls[w] |= rows[w] & out->nulls[w];
		for (uint64 word = rows[w]; word != 0; word &= word - 1)
		{
			uint32		row = w * 64 + __builtin_ctzll(word);

			vector->values[row] = out->values[row];
			if (unlikely(out->has_ext && out->isext[row] && !out->isnull[row]))
				vector->odd[w] |= word & -word;
		}
	}
}

static bool
covers(uint32 nrows, const uint64 *rows)
{
	for (int w = ZS_KERNEL_WORDS - 1; w >= 0; w--)
	{
		if (rows[w] != 0)
			return (uint32) w * 64 + 63 - (uint32) __builtin_clzll(rows[w]) < nrows;
	}
	return true;
}

/* Adds those rows that are in segments; false if a segment lacks one. */
static bool
add_others(ZsBatchScan *bs, ZsRowVector *vector, AttrNumber attno, const uint64 *rows)
{
	ZsRowSource *source = bs->scan->source;
	const ZsVectorOut *out = zsscan_source_forms(source, attno - 1, bs->batch.first,
												 ZS_FORM_VALUES, NULL, false);
	uint32		first = 0;

	if (out == NULL || !covers(out->nrows, rows))
		out = zsscan_source_forms(source, attno - 1, bs->batch.first, ZS_FORM_VALUES, NULL, true);
	if (out != NULL && !covers(out->nrows, rows))
		return false;
	while (!zskernel_bits_get(rows, first))
		first++;
	bs->rows_mixed = true;
	if (out == NULL)
		add_missing(bs, vector, attno, rows, first);
	else
		add_values(vector, out, rows);
	zskernel_bits_or(vector->have, rows);
	return true;
}

/*
 * A column of the present batch, of the rows of sel and maybe others; NULL: that cannot be told.
 * Errors: ERRCODE_DATA_CORRUPTED.
 */
ZsRowVector *
zsscan_batch_row_vector(ZsBatchScan *bs, AttrNumber attno, const uint64 *sel)
{
	ZsRowVector *vector;
	uint64		others[ZS_KERNEL_WORDS];

	Assert(bs->batch.has_rows && !TupleDescAttr(bs->rows->desc, attno - 1)->attisdropped);
	vector = zsrow_vectors_get(bs->rows, attno - 1, sel);
	zskernel_bits_copy(others, bs->batch.sel);
	zskernel_bits_andnot(others, bs->rows->rows);
	zskernel_bits_andnot(others, vector->have);
	if (zskernel_bits_meet(others, sel) && !add_others(bs, vector, attno, others))
		return NULL;
	return vector;
}
