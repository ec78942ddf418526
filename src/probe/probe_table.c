/*-------------------------------------------------------------------------
 *
 * probe_table.c
 *	  The rows of a join's build side, found by their keys.
 *
 * Rows lie by columns, of those that are wanted.  Where the key is one integer and its values lie
 * in a range that is not much larger than there are rows, an array has the row of each value, which
 * DuckDB calls a perfect hash join.  All other keys are groups (zs_agg_group.h): they have one
 * normal form, strings are looked up once for each entry of a dictionary, and a group's number is
 * that of its row as long as no keys are there twice.
 *
 * Rows with a NULL among their keys have no partner, and are not there.  Rows with the same keys
 * are chained behind the first of them, unless one is as good as all.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/probe/probe_table.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "probe_internal.h"
#include "zs_attr.h"

/* Room for so many rows at first. */
#define FIRST_ROWS		1024

/* An array has so many members at least, or so many for each row. */
#define ARRAY_SIZE		65536
#define ARRAY_FACTOR	8

/*
 * A table for rows of an input with these columns, without any yet.  wanted: numbers of those that
 * can be gathered.  keys: columns of the input, and what they are compared with; in memory that
 * stays.  keeps_copies: all rows with the same keys are wanted, not one of them.
 */
ZsProbeTable *
zsprobe_table_create(MemoryContext parent, TupleDesc desc, const Bitmapset *wanted, int nkeys,
					 const ZsGroupKey *build_keys, const ZsGroupKey *probe_keys,
					 bool keeps_copies)
{
	ZsProbeTable *table = MemoryContextAllocZero(parent, sizeof(ZsProbeTable));

	Assert(nkeys > 0 && nkeys <= ZS_MAX_GROUP_KEYS);
	table->context = AllocSetContextCreate(parent, "zedstore join table", ALLOCSET_DEFAULT_SIZES);
	table->ncolumns = desc->natts;
	table->columns = MemoryContextAllocZero(parent, desc->natts * sizeof(ZsProbeColumn));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		table->columns[i].wanted = bms_is_member(i + 1, wanted);
		table->columns[i].typlen = att->attlen;
		table->columns[i].typbyval = att->attbyval;
	}
	table->nkeys = nkeys;
	table->build_keys = build_keys;
	table->probe_keys = probe_keys;
	table->keeps_copies = keeps_copies;
	table->by_ints = nkeys == 1 && build_keys[0].domain == ZS_DOMAIN_INT;
	return table;
}

/* All rows go, and their memory. */
void
zsprobe_table_forget(ZsProbeTable *table)
{
	MemoryContextReset(table->context);
	for (int i = 0; i < table->ncolumns; i++)
	{
		const ZsProbeColumn *column = &table->columns[i];

		table->columns[i] = (ZsProbeColumn) {.wanted = column->wanted, .typlen = column->typlen,
			.typbyval = column->typbyval};
	}
	table->nrows = table->maxrows = table->ngroups = 0;
	table->next = table->array = table->heads = NULL;
	table->ints = NULL;
	table->groups = NULL;
	table->group_keys = NULL;
}

/* How many rows it has. */
uint64
zsprobe_table_rows(const ZsProbeTable *table)
{
	return table->nrows;
}

/* Are rows found by an array, not by hashes? */
bool
zsprobe_table_is_array(const ZsProbeTable *table)
{
	return table->array != NULL;
}

/* Bytes that it takes. */
static Size
table_memory(const ZsProbeTable *table)
{
	return MemoryContextMemAllocated(table->context, true);
}

/* ---- rows ---------------------------------------------------------------------------- */

/* An array of n members becomes one of more; NULL: there is none yet. */
static void *
grow_array(ZsProbeTable *table, void *array, Size n)
{
	return array == NULL ? MemoryContextAllocHuge(table->context, n) : repalloc_huge(array, n);
}

/* Bytes of a bitmap of n rows. */
static Size
bitmap_size(uint32 n)
{
	return (Size) (n / 64 + 1) * sizeof(uint64);
}

/* Bits of rows from old rows on are zeros. */
static uint64 *
grow_bitmap(ZsProbeTable *table, uint64 *bits, uint32 old, uint32 n)
{
	Size		from = bits == NULL ? 0 : bitmap_size(old);

	bits = grow_array(table, bits, bitmap_size(n));
	memset((char *) bits + from, 0, bitmap_size(n) - from);
	return bits;
}

/* Makes room for as many more rows as a batch has. */
static void
make_room(ZsProbeTable *table)
{
	uint32		old = table->maxrows;
	uint32		n = old;

	if (table->nrows + ZS_KERNEL_ROWS <= old)
		return;
	while (n < table->nrows + ZS_KERNEL_ROWS)
		n = Max(FIRST_ROWS, n * 2);
	for (int i = 0; i < table->ncolumns; i++)
	{
		ZsProbeColumn *column = &table->columns[i];

		if (!column->wanted)
			continue;
		column->vals = grow_array(table, column->vals, (Size) n * sizeof(int64));
		if (column->has_nulls)
			column->nulls = grow_bitmap(table, column->nulls, old, n);
		if (column->has_odd)
			column->odd = grow_bitmap(table, column->odd, old, n);
	}
	if (table->by_ints)
		table->ints = grow_array(table, table->ints, (Size) n * sizeof(int64));
	if (table->next != NULL)
	{
		table->next = grow_array(table, table->next, (Size) n * sizeof(uint32));
		memset(table->next + old, 0xFF, (Size) (n - old) * sizeof(uint32));
	}
	if (table->heads != NULL)
		table->heads = grow_array(table, table->heads, (Size) n * sizeof(uint32));
	table->maxrows = n;
}

/* Remembers that a row has a property of a column. */
static void
set_bit(ZsProbeTable *table, bool *has, uint64 **bits, uint32 row)
{
	if (!*has)
		*bits = grow_bitmap(table, NULL, 0, table->maxrows);
	*has = true;
	zskernel_bits_set(*bits, row);
}

/* A copy of a value that is no integer. */
static Datum
copy_value(ZsProbeTable *table, const ZsProbeColumn *column, Datum value)
{
	Size		size = column->typlen > 0 ? (Size) column->typlen :
		column->typlen == -1 ? VARSIZE_ANY(DatumGetPointer(value)) :
		strlen(DatumGetCString(value)) + 1;
	void	   *copy = MemoryContextAlloc(table->context, size);

	memcpy(copy, DatumGetPointer(value), size);
	return PointerGetDatum(copy);
}

/* Appends one column of rows of the input's batch, from row nrows on. */
static void
append_column(ZsProbeTable *table, AttrNumber attno, ZsInput *input, const uint64 *sel,
			  const uint16 *list, uint32 n)
{
	ZsProbeColumn *column = &table->columns[attno - 1];
	const ZsColumnVector *vector = zsexpr_input_column(input, attno, column->typbyval ?
													   ZS_WANT_INT : ZS_WANT_DATUM, sel);

	Assert(column->wanted && vector != NULL && table->nrows + n <= table->maxrows);
	for (uint32 i = 0; i < n; i++)
	{
		uint32		row = table->nrows + i;

		if (vector->has_nulls && zskernel_bits_get(vector->nulls, list[i]))
		{
			set_bit(table, &column->has_nulls, &column->nulls, row);
			column->vals[row] = 0;
			continue;
		}
		if (column->typbyval)
		{
			column->vals[row] = vector->vals[list[i]];
			continue;
		}
		column->vals[row] = (int64) copy_value(table, column, (Datum) vector->datums[list[i]]);
		if (vector->has_odd && zskernel_bits_get(vector->odd, list[i]))
			set_bit(table, &column->has_odd, &column->odd, row);
	}
}

/* Rows get chains, in which there are none yet. */
static void
need_chains(ZsProbeTable *table)
{
	if (table->next != NULL)
		return;
	table->next = grow_array(table, NULL, (Size) table->maxrows * sizeof(uint32));
	memset(table->next, 0xFF, (Size) table->maxrows * sizeof(uint32));
}

/* The row has the same keys as head, the first one. */
static void
chain_row(ZsProbeTable *table, uint32 head, uint32 row)
{
	Assert(head < row);
	need_chains(table);
	table->next[row] = table->next[head];
	table->next[head] = row;
}

/*
 * A row has the keys of the group, which may be a new one.  False if it is one of others that are
 * as good.
 */
static bool
take_group(ZsProbeTable *table, uint32 group, uint32 row)
{
	Assert(group <= table->ngroups);
	if (group == table->ngroups)
	{
		table->ngroups++;
		if (table->heads != NULL)
			table->heads[group] = row;
		else
			Assert(group == row || !table->keeps_copies);
		return true;
	}
	if (!table->keeps_copies)
		return false;
	if (table->heads == NULL)
	{
		table->heads = grow_array(table, NULL, (Size) table->maxrows * sizeof(uint32));
		for (uint32 i = 0; i < table->ngroups; i++)
			table->heads[i] = i;
	}
	chain_row(table, table->heads[group], row);
	return true;
}

/* The groups of rows of the batch. */
static void
find_groups(ZsProbeTable *table, ZsInput *input, const uint64 *sel, const uint16 *list, uint32 n,
			uint32 *numbers)
{
	Datum		values[ZS_MAX_GROUP_KEYS];
	bool		isnull[ZS_MAX_GROUP_KEYS];

	if (zsagg_groups_ready(table->groups, input, sel))
	{
		zsagg_groups_assign(table->groups, input, sel, list, n, NULL, numbers);
		return;
	}
	for (uint32 i = 0; i < n; i++)
	{
		zsexpr_input_store(input, list[i]);
		for (int k = 0; k < table->nkeys; k++)
			values[k] = slot_getattr(input->slot, table->build_keys[k].attno, &isnull[k]);
		numbers[i] = zsagg_groups_assign_row(table->groups, values, isnull);
	}
	ExecClearTuple(input->slot);
}

/* Groups for the keys of rows, as those of the build side. */
static void
create_groups(ZsProbeTable *table)
{
	table->group_keys = MemoryContextAlloc(table->context, table->nkeys * sizeof(ZsGroupKey));
	memcpy(table->group_keys, table->build_keys, table->nkeys * sizeof(ZsGroupKey));
	table->groups = zsagg_groups_create(table->context, table->nkeys, table->group_keys);
}

/* Adds the rows of the input's present batch that have all keys. */
static void
add_batch(ZsProbeTable *table, ZsInput *input, const ZsBatch *batch)
{
	MemoryContext old;
	uint64		sel[ZS_KERNEL_WORDS];
	uint16		list[ZS_KERNEL_ROWS];
	uint32		numbers[ZS_KERNEL_ROWS];
	uint32		n;

	make_room(table);
	zskernel_bits_copy(sel, batch->sel);
	for (int k = 0; k < table->nkeys; k++)
	{
		const ZsColumnVector *vector = zsexpr_input_column(input, table->build_keys[k].attno,
														   ZS_WANT_NULLS, batch->sel);

		if (vector->has_nulls)
			zskernel_bits_andnot(sel, vector->nulls);
	}
	n = zskernel_bits_list(sel, list);
	if (n == 0)
		return;
	if (table->by_ints)
	{
		const ZsColumnVector *vector = zsexpr_input_column(input, table->build_keys[0].attno,
														   ZS_WANT_INT, sel);

		for (uint32 i = 0; i < n; i++)
		{
			int64		value = vector->vals[list[i]];

			table->ints[table->nrows + i] = value;
			table->min = table->nrows + i == 0 ? value : Min(table->min, value);
			table->max = table->nrows + i == 0 ? value : Max(table->max, value);
		}
	}
	else
	{
		uint32		kept = 0;

		old = MemoryContextSwitchTo(table->context);
		find_groups(table, input, sel, list, n, numbers);
		MemoryContextSwitchTo(old);
		for (uint32 i = 0; i < n; i++)
		{
			if (take_group(table, numbers[i], table->nrows + kept))
				list[kept++] = list[i];
		}
		n = kept;
	}
	for (int i = 0; i < table->ncolumns; i++)
	{
		if (table->columns[i].wanted)
			append_column(table, (AttrNumber) (i + 1), input, sel, list, n);
	}
	table->nrows += n;
}

/* ---- keys that are integers --------------------------------------------------------------- */

/* Rows by an array; false if that would be too large. */
static bool
make_array(ZsProbeTable *table, Size limit)
{
	uint64		range = (uint64) table->max - (uint64) table->min;

	if (range >= Max(ARRAY_SIZE, (uint64) table->nrows * ARRAY_FACTOR) ||
		(range >= ARRAY_SIZE &&
		 table_memory(table) + (range + 1) * sizeof(uint32) > limit))
		return false;
	table->array = MemoryContextAllocHuge(table->context, (range + 1) * sizeof(uint32));
	memset(table->array, 0xFF, (range + 1) * sizeof(uint32));
	for (uint32 row = 0; row < table->nrows; row++)
	{
		uint32	   *place = &table->array[(uint64) table->ints[row] - (uint64) table->min];

		if (*place == ZS_NO_ROW)
			*place = row;
		else if (table->keeps_copies)
			chain_row(table, *place, row);
	}
	return true;
}

/* Rows by hashes of their integers. */
static void
hash_ints(ZsProbeTable *table)
{
	MemoryContext old = MemoryContextSwitchTo(table->context);
	ZsColumnVector *vector = palloc0(sizeof(ZsColumnVector));
	const ZsColumnVector *vectors[1] = {vector};
	uint16		list[ZS_KERNEL_ROWS];
	uint32		numbers[ZS_KERNEL_ROWS];

	create_groups(table);
	for (uint32 i = 0; i < ZS_KERNEL_ROWS; i++)
		list[i] = (uint16) i;
	for (uint32 from = 0; from < table->nrows; from += ZS_KERNEL_ROWS)
	{
		uint32		n = Min(table->nrows - from, ZS_KERNEL_ROWS);

		CHECK_FOR_INTERRUPTS();
		vector->nrows = n;
		vector->vals = table->ints + from;
		zsagg_groups_assign_vectors(table->groups, vectors, list, n, numbers);
		for (uint32 i = 0; i < n; i++)
			(void) take_group(table, numbers[i], from + i);
	}
	pfree(vector);
	MemoryContextSwitchTo(old);
}

/*
 * Takes all rows of the input, which the caller has started, for the table, which has none.  limit:
 * bytes that it may take.  Errors: those of the input's rows.
 */
ZsProbeFill
zsprobe_table_fill(ZsProbeTable *table, ZsInput *input, Size limit)
{
	const ZsBatch *batch;

	Assert(table->nrows == 0 && table->maxrows == 0);
	if (!table->by_ints)
		create_groups(table);
	while ((batch = zsexpr_input_next(input)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		add_batch(table, input, batch);
		if (table_memory(table) > limit || table->nrows >= PG_INT32_MAX / 2)
			return ZS_PROBE_TOO_LARGE;
	}
	if (table->by_ints && table->nrows > 0)
	{
		if (!make_array(table, limit))
			hash_ints(table);
		pfree(table->ints);
		table->ints = NULL;
	}
	if (table->groups != NULL)
	{
		memcpy(table->group_keys, table->probe_keys, table->nkeys * sizeof(ZsGroupKey));
		zsagg_groups_freeze(table->groups);
	}
	return table_memory(table) > limit ? ZS_PROBE_TOO_LARGE : ZS_PROBE_FILLED;
}

/* ---- looking up ---------------------------------------------------------------------------- */

/* The vector of the only key, an integer; NULL: the batch has none. */
static const ZsColumnVector *
int_vector(const ZsGroupKey *key, ZsInput *probe, const uint64 *sel)
{
	ZsQualCounts counts = {0};
	const ZsColumnVector *vector = key->expr != NULL ?
		zsexpr_run(key->expr, probe, sel, &counts) :
		zsexpr_input_column(probe, key->attno, ZS_WANT_INT, sel);

	if (vector == NULL || vector->vals == NULL ||
		(vector->has_odd && zskernel_bits_meet(vector->odd, sel)))
		return NULL;
	return vector;
}

/* As zsprobe_table_look_up(), by the array. */
static bool
look_up_array(ZsProbeTable *table, ZsInput *probe, const uint64 *sel, uint32 *partners,
			  uint64 *found)
{
	const ZsColumnVector *vector = int_vector(&table->probe_keys[0], probe, sel);
	uint64		min = (uint64) table->min;
	uint64		range = (uint64) table->max - min;

	if (vector == NULL)
		return false;
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		uint64		rows = sel[w];
		uint64		hits = 0;

		if (vector->has_nulls)
			rows &= ~vector->nulls[w];
		for (; rows != 0; rows &= rows - 1)
		{
			uint32		row = w * 64 + __builtin_ctzll(rows);
			uint64		offset = (uint64) vector->vals[row] - min;
			uint32		partner = offset <= range ? table->array[offset] : ZS_NO_ROW;

			partners[row] = partner;
			hits |= (uint64) (partner != ZS_NO_ROW) << (row % 64);
		}
		found[w] = hits;
	}
	return true;
}

/*
 * Looks up the rows of sel of the probe side's present batch: found are those that have a partner,
 * and partners says, by their places, the first of these.  False if they have to be looked up row
 * by row.
 */
bool
zsprobe_table_look_up(ZsProbeTable *table, ZsInput *probe, const uint64 *sel, uint32 *partners,
					  uint64 *found)
{
	MemoryContext old;
	uint16		list[ZS_KERNEL_ROWS];
	uint32		numbers[ZS_KERNEL_ROWS];
	uint32		n;

	Assert(table->ints == NULL && (table->groups == NULL || zsagg_groups_frozen(table->groups)));
	if (table->nrows == 0)
	{
		zskernel_bits_clear(found);
		return true;
	}
	if (table->array != NULL)
		return look_up_array(table, probe, sel, partners, found);
	n = zskernel_bits_list(sel, list);
	if (!zsagg_groups_ready(table->groups, probe, sel))
		return false;
	old = MemoryContextSwitchTo(table->context);
	zsagg_groups_assign(table->groups, probe, sel, list, n, NULL, numbers);
	MemoryContextSwitchTo(old);
	zskernel_bits_clear(found);
	for (uint32 i = 0; i < n; i++)
	{
		if (numbers[i] == ZS_NO_GROUP)
			continue;
		partners[list[i]] = table->heads != NULL ? table->heads[numbers[i]] : numbers[i];
		zskernel_bits_set(found, list[i]);
	}
	return true;
}

/* The first partner of a row with these keys of the probe side; ZS_NO_ROW: none. */
uint32
zsprobe_table_look_up_row(ZsProbeTable *table, const Datum *values, const bool *isnull)
{
	uint32		number;

	if (table->nrows == 0)
		return ZS_NO_ROW;
	for (int k = 0; k < table->nkeys; k++)
	{
		if (isnull[k])
			return ZS_NO_ROW;
	}
	if (table->array != NULL)
	{
		int64		value = zsattr_value_to_int(values[0], table->probe_keys[0].width);
		uint64		offset = (uint64) value - (uint64) table->min;

		return offset <= (uint64) table->max - (uint64) table->min ? table->array[offset] :
			ZS_NO_ROW;
	}
	number = zsagg_groups_assign_row(table->groups, values, isnull);
	if (number == ZS_NO_GROUP)
		return ZS_NO_ROW;
	return table->heads != NULL ? table->heads[number] : number;
}
