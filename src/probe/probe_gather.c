/*-------------------------------------------------------------------------
 *
 * probe_gather.c
 *	  Columns of a join's build side, at the places of a batch.
 *
 * Values are gathered when somebody asks for them, for the rows that he asks for: of an integer one
 * load for each row.  Of a string nothing is copied: the codes of a dictionary are handed out, so
 * that what is found out of a string is found out once.  Numerics that are not kept as integers of
 * one scale (probe_store.c) become such once, for all rows of the table.
 *
 * A row without a partner has NULLs.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/probe/probe_gather.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "varatt.h"

#include "probe_internal.h"
#include "zs_expr.h"

/* The numerics of the column as integers. */
static void
make_decimals(ZsProbeTable *table, ZsProbeColumn *column)
{
	Size		bits = (Size) (table->nrows / 64 + 1) * sizeof(uint64);

	Assert(column->form == ZS_PROBE_DATUMS && column->scaled == NULL);
	column->dscales = MemoryContextAllocHuge(table->context, Max(table->nrows, 1));
	column->decimal_odd = MemoryContextAllocHuge(table->context, bits);
	if (column->has_odd)
		memcpy(column->decimal_odd, column->odd, bits);
	else
		memset(column->decimal_odd, 0, bits);
	column->scaled = MemoryContextAllocHuge(table->context,
											Max(table->nrows, 1) * sizeof(int64));
	column->decimal_has_odd =
		zsexpr_decimals_of_datums((const uint64 *) column->ints.wide, table->nrows,
								  column->has_nulls ? column->nulls : NULL, column->decimal_odd,
								  column->scaled, column->dscales, &column->scale,
								  &column->uniform) || column->has_odd;
}

/* The integers at the partners of n rows. */
static void
gather_ints(const ZsProbeInts *from, const uint32 *partners, const uint16 *list, uint32 n,
			int64 *to)
{
	const int64 *wide = from->wide;
	const int32 *narrow = from->narrow;

	for (uint32 i = 0; i < n; i++)
		to[list[i]] = wide != NULL ? wide[partners[list[i]]] : narrow[partners[list[i]]];
}

/* The bits of one bitmap at the partners of n rows. */
static void
gather_bits(const uint64 *from, const uint32 *partners, const uint16 *list, uint32 n, uint64 *to)
{
	for (uint32 i = 0; i < n; i++)
	{
		if (zskernel_bits_get(from, partners[list[i]]))
			zskernel_bits_set(to, list[i]);
	}
}

/* The values in the form, at the places of n rows that have partners. */
static void
gather_form(ZsProbeColumn *column, ZsGatherForm form, const uint32 *partners,
			const uint16 *list, uint32 n, ZsGathered *gathered)
{
	ZsColumnVector *vector = &gathered->vector;

	switch (form)
	{
		case ZS_GATHER_NULLS:
			break;
		case ZS_GATHER_VALUES:
			gather_ints(&column->ints, partners, list, n, gathered->vals);
			/* without an entry all rows are NULL */
			for (uint32 i = 0; i < n && column->nentries > 0 && column->form == ZS_PROBE_CODES;
				 i++)
				gathered->vals[list[i]] = (int64) column->entries[gathered->vals[list[i]]];
			if (column->typbyval)
				vector->vals = gathered->vals;
			else
				vector->datums = (const uint64 *) gathered->vals;
			break;
		case ZS_GATHER_DECIMALS:
			if (column->form == ZS_PROBE_DECIMALS)
				gather_ints(&column->ints, partners, list, n, gathered->vals);
			else
				gather_ints(&(ZsProbeInts) {.wide = column->scaled}, partners, list, n,
							gathered->vals);
			vector->vals = gathered->vals;
			vector->scale = column->scale;
			vector->dscales = NULL;
			if (column->form == ZS_PROBE_DECIMALS || column->uniform)
				break;
			vector->dscales = gathered->dscales;
			for (uint32 i = 0; i < n; i++)
				gathered->dscales[list[i]] = column->dscales[partners[list[i]]];
			break;
		case ZS_GATHER_CODES:
			for (uint32 i = 0; i < n; i++)
				gathered->codes[list[i]] = (uint32) zsprobe_ints_get(&column->ints,
																	 partners[list[i]]);
			vector->codes = gathered->codes;
			vector->dict = column->entries;
			vector->serial = zsprobe_column_serial(column);
			break;
	}
}

/* The form in which a column gives what is wanted; false: in none. */
static bool
choose_form(ZsProbeTable *table, ZsProbeColumn *column, ZsColumnWant want, ZsGatherForm *form)
{
	*form = ZS_GATHER_VALUES;
	switch (want)
	{
		case ZS_WANT_INT:
			return column->form == ZS_PROBE_INTS;
		case ZS_WANT_DECIMAL:
			*form = ZS_GATHER_DECIMALS;
			if (column->form == ZS_PROBE_DECIMALS)
				return true;
			if (column->first_form != ZS_PROBE_DECIMALS)
				return false;
			if (column->scaled == NULL)
				make_decimals(table, column);
			return true;
		case ZS_WANT_STRING:
		case ZS_WANT_TEXT:
			/* without an entry all rows are NULL */
			if (column->form == ZS_PROBE_CODES && column->nentries > 0)
				*form = ZS_GATHER_CODES;
			return column->form == ZS_PROBE_CODES || column->form == ZS_PROBE_DATUMS;
		case ZS_WANT_DATUM:
			return column->form == ZS_PROBE_CODES || column->form == ZS_PROBE_DATUMS;
		default:
			*form = ZS_GATHER_NULLS;
			return true;
	}
}

/* The array that the form needs is there; what it had for a table before is nothing to anybody. */
static void
need_arrays(const ZsProbeColumn *column, ZsGatherForm form, MemoryContext context,
			ZsGathered *gathered)
{
	if ((form == ZS_GATHER_VALUES || form == ZS_GATHER_DECIMALS) && gathered->vals == NULL)
		gathered->vals = MemoryContextAllocZero(context, ZS_KERNEL_ROWS * sizeof(int64));
	if (form == ZS_GATHER_CODES && gathered->codes == NULL)
		gathered->codes = MemoryContextAllocZero(context, ZS_KERNEL_ROWS * sizeof(uint32));
	else if (form == ZS_GATHER_CODES &&
			 (column->serial == 0 || gathered->vector.serial != column->serial))
		memset(gathered->codes, 0, ZS_KERNEL_ROWS * sizeof(uint32));
	if (form == ZS_GATHER_DECIMALS && gathered->dscales == NULL)
		gathered->dscales = MemoryContextAllocZero(context, ZS_KERNEL_ROWS);
}

/*
 * A column of the table for the rows of sel of a batch, by their partners; lonely: some may have
 * none (ZS_NO_ROW), and are NULL.  NULL if it has not the form that is wanted.  serial: of the
 * batch.  all: an array of one for each form, a chunk of memory of its own, all zeros the first
 * time, which has the vector as long as the batch is there.
 */
const ZsColumnVector *
zsprobe_gather(ZsProbeTable *table, AttrNumber attno, ZsColumnWant want, const uint32 *partners,
			   bool lonely, const uint64 *sel, uint64 serial, ZsGathered *all)
{
	ZsProbeColumn *column = &table->columns[attno - 1];
	ZsGathered *gathered;
	ZsColumnVector *vector;
	ZsGatherForm form;
	uint64		rows[ZS_KERNEL_WORDS];
	uint64		all_rows[ZS_KERNEL_WORDS];
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n;

	Assert(attno > 0 && attno <= table->ncolumns && column->wanted);
	Assert(partners != NULL && serial != 0);
	if (!choose_form(table, column, want, &form))
		return NULL;
	gathered = &all[form];
	vector = &gathered->vector;
	if (zsprobe_rows_are_known(gathered->serial, gathered->sel, serial, sel, all_rows))
		return vector;
	sel = all_rows;
	need_arrays(column, form, GetMemoryChunkContext(all), gathered);
	gathered->serial = serial;
	zskernel_bits_copy(gathered->sel, sel);
	vector->has_nulls = vector->has_odd = false;
	vector->nrows = 0;
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		rows[w] = sel[w];
		vector->nulls[w] = vector->odd[w] = 0;
		for (uint64 bits = lonely ? sel[w] : 0; bits != 0; bits &= bits - 1)
		{
			if (partners[w * 64 + __builtin_ctzll(bits)] == ZS_NO_ROW)
				vector->nulls[w] |= bits & -bits;
		}
		rows[w] &= ~vector->nulls[w];
		if (sel[w] != 0)
			vector->nrows = w * 64 + 64 - (uint32) __builtin_clzll(sel[w]);
	}
	n = zskernel_bits_list(rows, list);
	gather_form(column, form, partners, list, n, gathered);
	vector->ndict = form == ZS_GATHER_CODES ? column->nentries : 0;
	if (column->has_nulls)
		gather_bits(column->nulls, partners, list, n, vector->nulls);
	vector->has_nulls = lonely || column->has_nulls;
	if (form == ZS_GATHER_DECIMALS ? column->decimal_has_odd : column->has_odd)
	{
		gather_bits(form == ZS_GATHER_DECIMALS ? column->decimal_odd : column->odd, partners, list,
					n, vector->odd);
		vector->has_odd = true;
	}
	return vector;
}

/* A column of one row of the table (ZS_NO_ROW: NULL), in the current context or the table's. */
void
zsprobe_gather_slot(const ZsProbeTable *table, AttrNumber attno, uint32 row, Datum *value,
					bool *isnull)
{
	const ZsProbeColumn *column = &table->columns[attno - 1];
	int64		number;

	Assert(column->wanted && (row == ZS_NO_ROW || row < table->nrows));
	*isnull = row == ZS_NO_ROW || (column->has_nulls && zskernel_bits_get(column->nulls, row));
	*value = (Datum) 0;
	if (*isnull)
		return;
	number = zsprobe_ints_get(&column->ints, row);
	switch (column->form)
	{
		case ZS_PROBE_INTS:
			*value = zsexpr_int_to_datum(column->typlen, number);
			break;
		case ZS_PROBE_DECIMALS:
			*value = NumericGetDatum(zsexpr_numeric_make(number, column->scale, column->scale));
			break;
		case ZS_PROBE_CODES:
			*value = (Datum) column->entries[number];
			break;
		case ZS_PROBE_DATUMS:
			*value = (Datum) number;
			break;
	}
}
