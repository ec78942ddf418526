/*-------------------------------------------------------------------------
 *
 * scan_batch_form.c
 *	  Columns of a batch, in the forms that their readers want.
 *
 * Everything that is known about what the decoder hands out is in this file.
 *
 * A vector that lacks a selected row is asked for once more past all copies, since VACUUM may have
 * moved the row meanwhile; a column without a segment was added later and has its missing value in
 * all rows.
 *
 * Numerics become integers of one scale for the whole batch, the largest display scale of the rows
 * asked for.  Those that are none (NaN, infinities, more digits than 64 bits hold) are odd.  Other
 * rows may have another scale, so what is asked for later gets a vector of its own: one that was
 * given out stays as it is until the next batch.
 *
 * Where few rows are asked for, only their strings may be formed.  If others are asked for later,
 * all are, elsewhere in memory.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_batch_form.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "scan_batch.h"
#include "zs_codec.h"

/* Where no more than this part of the rows is asked for, not all values need be formed. */
#define SOME_PART				4

/* Display scales above this do not come as integers. */
#define MAX_DECIMAL_SCALE	18

static const int64 powers_of_ten[MAX_DECIMAL_SCALE + 1] = {
	INT64CONST(1),
	INT64CONST(10),
	INT64CONST(100),
	INT64CONST(1000),
	INT64CONST(10000),
	INT64CONST(100000),
	INT64CONST(1000000),
	INT64CONST(10000000),
	INT64CONST(100000000),
	INT64CONST(1000000000),
	INT64CONST(10000000000),
	INT64CONST(100000000000),
	INT64CONST(1000000000000),
	INT64CONST(10000000000000),
	INT64CONST(100000000000000),
	INT64CONST(1000000000000000),
	INT64CONST(10000000000000000),
	INT64CONST(100000000000000000),
	INT64CONST(1000000000000000000)
};

/* Does the vector have all rows of sel? */
static bool
covers(uint32 nrows, const uint64 *sel)
{
	for (int w = ZS_KERNEL_WORDS - 1; w >= 0; w--)
	{
		if (sel[w] != 0)
			return (uint32) w * 64 + 63 - (uint32) __builtin_clzll(sel[w]) < nrows;
	}
	return true;
}

static bool
is_subset(const uint64 *bits, const uint64 *of)
{
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		if ((bits[w] & ~of[w]) != 0)
			return false;
	}
	return true;
}

static void
set_odd(ZsColumnVector *vector, uint32 row)
{
	if (!vector->has_odd)
		zskernel_bits_clear(vector->odd);
	vector->has_odd = true;
	zskernel_bits_set(vector->odd, row);
}

/* The first row of the batch, which is known to be in the same state as all of its rows. */
static uint32
first_row(const uint64 *sel)
{
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		if (sel[w] != 0)
			return w * 64 + __builtin_ctzll(sel[w]);
	}
	return 0;
}

/* Word w of the rows of sel that are neither NULL nor odd. */
static inline uint64
rows_with_value(const ZsColumnVector *vector, const uint64 *sel, int w)
{
	uint64		word = sel[w];

	if (vector->has_nulls)
		word &= ~vector->nulls[w];
	if (vector->has_odd)
		word &= ~vector->odd[w];
	return word;
}

/*
 * Turns the numerics at datums[] into integers.
 */
static void
form_decimals(ZsBatchColumn *column, const uint64 *datums, const uint64 *sel)
{
	ZsColumnVector *vector = &column->vector;
	int			max_scale = 0;
	int			min_scale = MAX_DECIMAL_SCALE;

	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = rows_with_value(vector, sel, w); word != 0; word &= word - 1)
		{
			uint32		row = w * 64 + __builtin_ctzll(word);
			const char *datum = (const char *) datums[row];
			int			scale;

			if (!zscodec_numeric_to_int((const uint8 *) VARDATA_ANY(datum),
										VARSIZE_ANY_EXHDR(datum), &scale, &column->vals[row]) ||
				scale > MAX_DECIMAL_SCALE)
			{
				set_odd(vector, row);
				continue;
			}
			column->dscales[row] = (uint8) scale;
			max_scale = Max(max_scale, scale);
			min_scale = Min(min_scale, scale);
		}
	}
	vector->vals = column->vals;
	vector->scale = max_scale;
	vector->dscales = NULL;
	if (min_scale >= max_scale)
		return;

	/* several scales */
	vector->dscales = column->dscales;
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = rows_with_value(vector, sel, w); word != 0; word &= word - 1)
		{
			uint32		row = w * 64 + __builtin_ctzll(word);

			if (pg_mul_s64_overflow(column->vals[row],
									powers_of_ten[max_scale - column->dscales[row]],
									&column->vals[row]))
				set_odd(vector, row);
		}
	}
}

/* Gives the column a value that all rows have. */
static void
form_missing(ZsBatchScan *bs, ZsBatchColumn *column, AttrNumber attno, ZsColumnWant want)
{
	ZsColumnVector *vector = &column->vector;
	bool		isnull;
	Datum		value = zsscan_source_missing(bs->scan->source, attno - 1,
											  bs->batch.first + first_row(bs->batch.sel), &isnull);
	int64		integer = 0;

	vector->nrows = ZS_STRIPE_ROWS;
	vector->vals = column->vals;
	vector->datums = column->datums;
	if (isnull)
	{
		vector->has_nulls = true;
		memset(vector->nulls, 0xFF, sizeof(vector->nulls));
		memset(column->vals, 0, sizeof(column->vals));
		return;
	}
	if (want == ZS_WANT_INT)
	{
		switch (column->kind.width)
		{
			case 1:
				integer = (int8) DatumGetChar(value);
				break;
			case 2:
				integer = DatumGetInt16(value);
				break;
			case 4:
				integer = DatumGetInt32(value);
				break;
			default:
				integer = DatumGetInt64(value);
				break;
		}
		for (int i = 0; i < ZS_STRIPE_ROWS; i++)
			column->vals[i] = integer;
		return;
	}
	for (int i = 0; i < ZS_STRIPE_ROWS; i++)
		column->datums[i] = (uint64) value;
}

/* What to ask the decoder for first. */
static uint32
forms_of(ZsColumnWant want)
{
	switch (want)
	{
		case ZS_WANT_DECIMAL:
			return ZS_FORM_SCALED;
		case ZS_WANT_STRING:
			return ZS_FORM_CODES | ZS_FORM_LENGTHS;
		case ZS_WANT_TEXT:
			return ZS_FORM_CODES;
		case ZS_WANT_NULLS:
			return ZS_FORM_NULLS;
		case ZS_WANT_INT:
		case ZS_WANT_DATUM:
		case ZS_WANT_COUNT:
			break;
	}
	return ZS_FORM_VALUES;
}

/*
 * The batch's vector of the column in the forms of want, or in others if it has none of these.
 * NULL if no segment has the column; *partial if one has it for some of the rows.
 */
static const ZsVectorOut *
get_forms(ZsBatchScan *bs, AttrNumber attno, ZsColumnWant want, const uint64 *sel, bool *partial)
{
	ZsRowSource *source = bs->scan->source;
	zstid		stripe = bs->batch.first;
	uint32		forms = forms_of(want);
	const uint64 *rows = NULL;
	const ZsVectorOut *out;

	if (want == ZS_WANT_DATUM && zs_enable_partial_vectors &&
		zskernel_bits_count(sel) <= ZS_STRIPE_ROWS / SOME_PART)
		rows = sel;
	else if (want == ZS_WANT_DATUM)
		forms |= ZS_FORM_ENTRIES;
	out = zsscan_source_forms(source, attno - 1, stripe, forms, rows, false);
	*partial = false;
	if (out == NULL || !covers(out->nrows, bs->batch.sel))
		out = zsscan_source_forms(source, attno - 1, stripe, forms, rows, true);
	if (rows == NULL && out != NULL && (out->have & forms) == 0 && want != ZS_WANT_TEXT)
		out = zsscan_source_forms(source, attno - 1, stripe, ZS_FORM_VALUES, NULL, false);
	*partial = out != NULL && !covers(out->nrows, bs->batch.sel);
	return out;
}

/* Lets the vector point to what the decoder made. */
static void
set_forms(ZsBatchScan *bs, ZsBatchColumn *column, AttrNumber attno, ZsColumnWant want,
		  const ZsVectorOut *out)
{
	ZsColumnVector *vector = &column->vector;
	const uint64 *odd = NULL;
	const uint64 *with_ext = NULL;
	uint64		ext[ZS_KERNEL_WORDS];

	vector->nrows = out->nrows;
	vector->has_nulls = out->has_nulls;
	if (out->has_nulls)
		zskernel_bits_copy(vector->nulls, out->nulls);

	if (want == ZS_WANT_NULLS)
		return;
	if (out->has_ext)
	{
		zskernel_bits_from_bytes((const uint8 *) out->isext, out->nrows, ext);
		if (out->has_nulls)
			zskernel_bits_andnot(ext, out->nulls);
		with_ext = ext;
	}
	if (want == ZS_WANT_DECIMAL && (out->have & ZS_FORM_SCALED) != 0)
	{
		vector->vals = out->scaled;
		vector->scale = out->scale;
		vector->dscales = out->same_dscale ? NULL : out->dscales;
		odd = out->has_odd ? out->odd : NULL;
		zskernel_bits_copy(column->sel, bs->batch.sel);
	}
	else if ((want == ZS_WANT_STRING || want == ZS_WANT_TEXT) && (out->have & ZS_FORM_CODES) != 0)
	{
		const ZsSharedState *shared = zsscan_source_shared(bs->scan->source, attno - 1,
														   &vector->serial);

		vector->codes = out->codes;
		vector->dict = shared->dict_values;
		vector->ndict = shared->ndict;
		odd = with_ext;
	}
	else if (want == ZS_WANT_STRING && (out->have & ZS_FORM_LENGTHS) != 0)
	{
		vector->lengths = out->lengths;
		odd = out->has_odd ? out->odd : NULL;
	}
	else
	{
		vector->vals = (const int64 *) out->values;
		vector->datums = out->values;
		odd = with_ext;
		if ((out->have & ZS_FORM_VALUES) == 0)
			zskernel_bits_copy(column->sel, out->some);
		else if ((out->have & ZS_FORM_ENTRIES) != 0 && want == ZS_WANT_DATUM)
		{
			vector->entries = out->codes;
			vector->ndict = zsscan_source_entries(bs->scan->source, attno - 1, &vector->serial);
		}
	}
	if (odd != NULL)
	{
		vector->has_odd = true;
		zskernel_bits_copy(vector->odd, odd);
	}
}

/*
 * The column of a batch with rows of the row tree: datums only.  False: the batch has to be taken
 * row by row.
 */
static bool
form_rows(ZsBatchScan *bs, ZsBatchColumn *column, AttrNumber attno, ZsColumnWant want,
		  const uint64 *sel)
{
	ZsColumnVector *vector = &column->vector;
	const ZsRowVector *rows;

	if (zskernel_bits_count(sel) > bs->batch.nsel / SOME_PART)
		sel = bs->batch.sel;
	rows = zsscan_batch_row_vector(bs, attno, sel);
	if (rows == NULL)
		return false;
	zskernel_bits_copy(column->sel, sel);
	vector->nrows = ZS_STRIPE_ROWS;
	vector->vals = (const int64 *) rows->values;
	vector->datums = rows->values;
	vector->has_nulls = zskernel_bits_any(rows->nulls);
	zskernel_bits_copy(vector->nulls, rows->nulls);
	vector->has_odd = want != ZS_WANT_NULLS && zskernel_bits_any(rows->odd);
	zskernel_bits_copy(vector->odd, rows->odd);
	if (want == ZS_WANT_DECIMAL)
		form_decimals(column, rows->values, sel);
	return true;
}

/*
 * A column of the present batch.  sel: rows
 * whose values matter, some of the batch's. NULL: there is no such form; the
 * batch has to be taken row by row.  Valid until the next batch; what it has of rows that were not
 * in sel changes when it is asked for them.  Errors: ERRCODE_DATA_CORRUPTED.
 */
const ZsColumnVector *
zsscan_batch_column(ZsBatchScan *bs, AttrNumber attno, ZsColumnWant want, const uint64 *sel)
{
	ZsBatchColumn **place = &bs->columns[(attno - 1) * ZS_WANT_COUNT + want];
	ZsBatchColumn *column = *place;
	ZsColumnVector *vector;
	const ZsVectorOut *out;
	bool		partial;

	Assert(is_subset(sel, bs->batch.sel));
	while (column != NULL && column->generation == bs->generation)
	{
		if ((want != ZS_WANT_DECIMAL && want != ZS_WANT_DATUM && !bs->batch.has_rows) ||
			is_subset(sel, column->sel))
			return &column->vector;
		place = &column->next;
		column = *place;
	}
	if (column == NULL)
	{
		column = MemoryContextAllocZero(bs->context, sizeof(ZsBatchColumn));
		zsattr_kind(TupleDescAttr(bs->scan->source->desc, attno - 1), &column->kind);
		*place = column;
	}
	vector = &column->vector;

	column->generation = 0;
	vector->nrows = 0;
	vector->has_nulls = vector->has_odd = false;
	vector->vals = NULL;
	vector->scale = 0;
	vector->dscales = NULL;
	vector->datums = NULL;
	vector->lengths = vector->codes = vector->entries = NULL;
	vector->dict = NULL;
	zskernel_bits_copy(column->sel, bs->batch.sel);

	if (bs->batch.has_rows)
	{
		if (!form_rows(bs, column, attno, want, sel))
			return NULL;
		column->generation = bs->generation;
		return vector;
	}
	out = get_forms(bs, attno, want, sel, &partial);
	if (partial)
		return NULL;
	if (want == ZS_WANT_TEXT && out != NULL && (out->have & ZS_FORM_CODES) == 0)
		return zsscan_batch_column(bs, attno, ZS_WANT_DATUM, sel);
	if (out == NULL)
		form_missing(bs, column, attno, want);
	else
		set_forms(bs, column, attno, want, out);
	if (want == ZS_WANT_DECIMAL && (out == NULL || (out->have & ZS_FORM_SCALED) == 0))
	{
		zskernel_bits_copy(column->sel, sel);
		form_decimals(column, vector->datums, sel);
	}
	column->generation = bs->generation;
	return vector;
}

/*
 * What its zone map says of a column of the present batch; false: nothing, as where rows are in the
 * row tree.
 */
bool
zsscan_batch_bounds(ZsBatchScan *bs, AttrNumber attno, ZsColumnBounds *bounds)
{
	const ZsSegmentInfo *info;
	const ZsVectorInfo *vector;
	int			vecno;

	if (bs->batch.has_rows)
		return false;
	info = zsscan_source_info(bs->scan->source, attno - 1, bs->batch.first, &vecno);
	if (info == NULL)
		return false;
	vector = &info->vectors[vecno];
	if (!covers(vector->nrows, bs->batch.sel))
		return false;
	*bounds = zsscan_bounds_of(info, vector);
	return true;
}

/*
 * Do the filters of the scan's slot (zsscan_set_filters()) exclude all rows of the present batch,
 * by the zone maps of its vectors?  Those that somebody is asked about are not among them.  Decodes
 * nothing.
 */
bool
zsscan_batch_excluded(ZsBatchScan *bs)
{
	const ZsSlot *slot = bs->slot;

	for (int i = 0; i < slot->nfilters && !bs->batch.has_rows; i++)
	{
		ZsColumnBounds bounds;

		if (slot->filters[i].test == NULL &&
			zsscan_batch_bounds(bs, slot->filters[i].attno, &bounds) &&
			zsscan_zone_excludes(&slot->filters[i], &bounds))
			return true;
	}
	return false;
}

/*
 * What the values of a column come to, of type integer or numeric: in all rows of its vector, which
 * the caller knows to be selected (nrows of its bounds).  False: that cannot be said without
 * decoding them.  Vectors that were given out stay.  Errors: ERRCODE_DATA_CORRUPTED.
 */
bool
zsscan_batch_totals(ZsBatchScan *bs, AttrNumber attno, bool extremes, ZsVectorTotals *totals)
{
	return !bs->batch.has_rows &&
		zsscan_source_totals(bs->scan->source, attno - 1, bs->batch.first, extremes, totals);
}
