/*-------------------------------------------------------------------------
 *
 * probe_store.c
 *	  Columns of a join's build side, in little memory.
 *
 * A table that does not fit into memory is of no use, so its columns take what their values need:
 *
 *	- integers have 32 bits until the first one needs more;
 *	- numerics are such integers as long as all have one scale, which is shown, too;
 *	- strings are numbers of entries of a dictionary, as long as these are few.
 *
 * A column for which that does not hold any more becomes one of datums, each with its own copy of
 * the value.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/probe/probe_store.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "probe_internal.h"
#include "zs_expr.h"

/* A dictionary has so many entries at most: codes of all rows may be looked at (group_string.c). */
#define MAX_ENTRIES		(PG_UINT16_MAX + 1)

/* With so many entries it has to be worth while: each has this many rows. */
#define TRIED_ENTRIES	1024
#define ROWS_PER_ENTRY	4

/* Serials of our dictionaries are told apart by this bit: those of segments count up. */
#define TABLE_SERIAL	(UINT64CONST(1) << 63)

#define NO_ENTRY		PG_UINT32_MAX

/* An array of n bytes; NULL: there is none yet. */
void *
zsprobe_grow(ZsProbeTable *table, void *array, Size n)
{
	return array == NULL ? MemoryContextAllocHuge(table->context, n) : repalloc_huge(array, n);
}

/* ---- integers -------------------------------------------------------------------------- */

/* Room for n integers. */
void
zsprobe_ints_grow(ZsProbeTable *table, ZsProbeInts *ints, uint32 n)
{
	if (ints->wide != NULL)
		ints->wide = zsprobe_grow(table, ints->wide, (Size) n * sizeof(int64));
	else
		ints->narrow = zsprobe_grow(table, ints->narrow, (Size) n * sizeof(int32));
}

/* The integer of the row, of which those before are there; room for table->maxrows. */
void
zsprobe_ints_set(ZsProbeTable *table, ZsProbeInts *ints, uint32 row, int64 value)
{
	Assert(row < table->maxrows);
	if (ints->wide != NULL)
	{
		ints->wide[row] = value;
		return;
	}
	if (likely(value == (int32) value))
	{
		ints->narrow[row] = (int32) value;
		return;
	}
	ints->wide = zsprobe_grow(table, NULL, (Size) table->maxrows * sizeof(int64));
	for (uint32 i = 0; i < row; i++)
		ints->wide[i] = ints->narrow[i];
	pfree(ints->narrow);
	ints->narrow = NULL;
	ints->wide[row] = value;
}

/* ---- strings --------------------------------------------------------------------------- */

/* A copy of a value that is no integer. */
static uint64
copy_value(ZsProbeTable *table, int16 typlen, uint64 datum)
{
	const char *value = DatumGetPointer((Datum) datum);
	Size		size = typlen > 0 ? (Size) typlen : typlen == -1 ? VARSIZE_ANY(value) :
		strlen(value) + 1;
	void	   *copy = MemoryContextAlloc(table->values, size);

	memcpy(copy, value, size);
	return (uint64) PointerGetDatum(copy);
}

/* Puts the entries into a hash table of so many slots. */
static void
hash_entries(ZsProbeTable *table, ZsProbeColumn *column, uint32 nslots)
{
	column->slots = zsprobe_grow(table, column->slots, nslots * sizeof(uint32));
	memset(column->slots, 0xFF, nslots * sizeof(uint32));
	column->nslots = nslots;
	for (uint32 i = 0; i < column->nentries; i++)
	{
		const char *entry = (const char *) column->entries[i];
		uint32		at = (uint32) zskernel_hash(VARDATA_ANY(entry), VARSIZE_ANY_EXHDR(entry)) &
			(nslots - 1);

		while (column->slots[at] != NO_ENTRY)
			at = (at + 1) & (nslots - 1);
		column->slots[at] = i;
	}
}

/* The number of the string in the dictionary, where it may be new; NO_ENTRY: it has no room. */
static uint32
entry_of(ZsProbeTable *table, ZsProbeColumn *column, uint64 datum)
{
	const char *bytes = VARDATA_ANY(DatumGetPointer((Datum) datum));
	Size		len = VARSIZE_ANY_EXHDR(DatumGetPointer((Datum) datum));
	uint32		at;

	Assert(column->form == ZS_PROBE_CODES && column->typlen == -1);
	if (column->nslots < 2 * (column->nentries + 1))
		hash_entries(table, column, Max(column->nslots * 2, 64));
	for (at = (uint32) zskernel_hash(bytes, len) & (column->nslots - 1);
		 column->slots[at] != NO_ENTRY; at = (at + 1) & (column->nslots - 1))
	{
		const char *entry = (const char *) column->entries[column->slots[at]];

		if (VARSIZE_ANY_EXHDR(entry) == len && memcmp(VARDATA_ANY(entry), bytes, len) == 0)
			return column->slots[at];
	}
	if (column->nentries == MAX_ENTRIES ||
		(column->nentries >= TRIED_ENTRIES &&
		 column->nentries * ROWS_PER_ENTRY > table->nrows))
		return NO_ENTRY;
	if (column->nentries == column->maxentries)
	{
		column->maxentries = Max(column->maxentries * 2, 32);
		column->entries = zsprobe_grow(table, column->entries,
									   column->maxentries * sizeof(uint64));
	}
	column->entries[column->nentries] = copy_value(table, column->typlen, datum);
	column->slots[at] = column->nentries;
	return column->nentries++;
}

/* ---- columns --------------------------------------------------------------------------- */

/* How the values of a type are kept at first. */
void
zsprobe_column_init(ZsProbeColumn *column, Form_pg_attribute att, bool wanted)
{
	*column = (ZsProbeColumn) {.wanted = wanted, .typlen = att->attlen, .typbyval = att->attbyval,
		.form = ZS_PROBE_DATUMS};
	if (att->attbyval)
		column->form = ZS_PROBE_INTS;
	else if (getBaseType(att->atttypid) == NUMERICOID)
		column->form = ZS_PROBE_DECIMALS;
	else if (att->attlen == -1)
		column->form = ZS_PROBE_CODES;
	column->first_form = column->form;
}

/* The column is empty again. */
void
zsprobe_column_forget(ZsProbeColumn *column)
{
	*column = (ZsProbeColumn) {.wanted = column->wanted, .typlen = column->typlen,
		.typbyval = column->typbyval, .form = column->first_form,
		.first_form = column->first_form};
}

/* The column's first rows, so many, which are all that it has, get datums. */
static void
turn_to_datums(ZsProbeTable *table, ZsProbeColumn *column, uint32 rows)
{
	ZsProbeInts ints = column->ints;
	MemoryContext old = MemoryContextSwitchTo(table->values);

	Assert(column->form == ZS_PROBE_DECIMALS || column->form == ZS_PROBE_CODES);
	column->ints = (ZsProbeInts) {.wide = zsprobe_grow(table, NULL,
													   (Size) table->maxrows * sizeof(int64))};
	for (uint32 row = 0; row < rows; row++)
	{
		int64		value = zsprobe_ints_get(&ints, row);

		if (row % ZS_KERNEL_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		if (column->has_nulls && zskernel_bits_get(column->nulls, row))
			column->ints.wide[row] = 0;
		else if (column->form == ZS_PROBE_CODES)
			column->ints.wide[row] = (int64) column->entries[value];
		else
			column->ints.wide[row] =
				(int64) NumericGetDatum(zsexpr_numeric_make(value, column->scale, column->scale));
	}
	MemoryContextSwitchTo(old);
	if (ints.narrow != NULL)
		pfree(ints.narrow);
	if (ints.wide != NULL)
		pfree(ints.wide);
	column->form = ZS_PROBE_DATUMS;
}

/*
 * The vector of the batch's column in the form that the column has, which may become another; NULL
 * if there are values that only rows give.
 */
static const ZsColumnVector *
batch_vector(ZsProbeTable *table, ZsProbeColumn *column, AttrNumber attno, ZsInput *input,
			 const uint64 *sel)
{
	const ZsColumnVector *vector;

	if (column->form == ZS_PROBE_DECIMALS)
	{
		uint64		values[ZS_KERNEL_WORDS];
		bool		any;

		vector = zsexpr_input_column(input, attno, ZS_WANT_DECIMAL, sel);
		zskernel_bits_copy(values, sel);
		if (vector != NULL && vector->has_nulls)
			zskernel_bits_andnot(values, vector->nulls);
		any = zskernel_bits_any(values);
		if (vector != NULL && vector->vals != NULL && vector->dscales == NULL &&
			!zs_vector_has_odd(vector, sel) &&
			(!any || !column->has_scale || column->scale == vector->scale))
		{
			if (any)
				column->scale = vector->scale;
			column->has_scale |= any;
			return vector;
		}
		turn_to_datums(table, column, table->nrows);
	}
	vector = zsexpr_input_column(input, attno, column->typbyval ? ZS_WANT_INT : ZS_WANT_DATUM,
								 sel);
	if (vector == NULL || (column->typbyval ? vector->vals == NULL : vector->datums == NULL) ||
		(!table->by_rows && zs_vector_has_odd(vector, sel)))
		return NULL;
	if (column->form == ZS_PROBE_CODES && zs_vector_has_odd(vector, sel))
		turn_to_datums(table, column, table->nrows);
	return vector;
}

/* Remembers that a row has a property of a column. */
static void
set_bit(ZsProbeTable *table, bool *has, uint64 **bits, uint32 row)
{
	if (!*has)
		*bits = zsprobe_bitmap_grow(table, NULL, 0, table->maxrows);
	*has = true;
	zskernel_bits_set(*bits, row);
}

/* A bitmap of n rows, those from old on with zeros; NULL: there is none yet. */
uint64 *
zsprobe_bitmap_grow(ZsProbeTable *table, uint64 *bits, uint32 old, uint32 n)
{
	Size		from = bits == NULL ? 0 : (Size) (old / 64 + 1) * sizeof(uint64);
	Size		size = (Size) (n / 64 + 1) * sizeof(uint64);

	bits = zsprobe_grow(table, bits, size);
	memset((char *) bits + from, 0, size - from);
	return bits;
}

/*
 * Appends the column of n rows of the input's batch, from row nrows of the table on.  False if
 * there are values that only rows give; then the table is of no use any more.
 */
bool
zsprobe_column_append(ZsProbeTable *table, AttrNumber attno, ZsInput *input, const uint64 *sel,
					  const uint16 *list, uint32 n)
{
	ZsProbeColumn *column = &table->columns[attno - 1];
	const ZsColumnVector *vector = batch_vector(table, column, attno, input, sel);

	Assert(column->wanted && table->nrows + n <= table->maxrows);
	if (vector == NULL)
		return false;
	for (uint32 i = 0; i < n; i++)
	{
		uint32		row = table->nrows + i;
		int64		value = 0;

		if (vector->has_nulls && zskernel_bits_get(vector->nulls, list[i]))
			set_bit(table, &column->has_nulls, &column->nulls, row);
		else if (column->form == ZS_PROBE_INTS || column->form == ZS_PROBE_DECIMALS)
			value = vector->vals[list[i]];
		else
		{
			uint64		datum = vector->datums[list[i]];

			if (column->form == ZS_PROBE_CODES)
			{
				value = entry_of(table, column, datum);
				if (value == NO_ENTRY)
					turn_to_datums(table, column, row);
			}
			if (column->form == ZS_PROBE_DATUMS)
				value = (int64) copy_value(table, column->typlen, datum);
			if (vector->has_odd && zskernel_bits_get(vector->odd, list[i]))
				set_bit(table, &column->has_odd, &column->odd, row);
		}
		zsprobe_ints_set(table, &column->ints, row, value);
	}
	return true;
}

/* The serial of the column's dictionary. */
uint64
zsprobe_column_serial(ZsProbeColumn *column)
{
	static uint64 last_serial = TABLE_SERIAL;

	Assert(column->form == ZS_PROBE_CODES);
	if (column->serial == 0)
		column->serial = ++last_serial;
	return column->serial;
}
