/*-------------------------------------------------------------------------
 *
 * probe_table.c
 *	  The rows of a join's build side, and how they are found by their keys.
 *
 * Rows lie by columns, of those that are wanted (probe_store.c).  Where the keys are one integer
 * (probe_pack.c) and its values lie in a range that is not much larger than there are rows, an
 * array has the row of each value, which DuckDB calls a perfect hash join; else an open hash table
 * has it.  All other keys are groups (zs_agg_group.h): they have one normal form, strings are
 * looked up once for each entry of a dictionary, and a group's number is that of its row as long
 * as no keys are there twice.
 *
 * A table may be filled with one part of the rows (probe_part.c).
 *
 * Rows with a NULL among their keys have no partner.  They are not there, unless the join returns
 * rows of the build side that have none: then they lie among the others, and are not found.  Rows
 * with the same keys are chained behind the first of them, unless one is as good as all.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/probe/probe_table.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "probe_internal.h"

/* Room for fewer rows than that is doubled when it is full. */
#define FEW_ROWS		8192

/* An array has so many members at least, or so many for each row. */
#define ARRAY_SIZE		65536
#define ARRAY_FACTOR	8

/*
 * A table for rows of an input with these columns, without any yet.  wanted: numbers of those that
 * can be gathered.  keys: columns of the input, and what they are compared with; in memory that
 * stays.  keep: bits of ZsProbeKeep.
 */
ZsProbeTable *
zsprobe_table_create(MemoryContext parent, TupleDesc desc, const Bitmapset *wanted, int nkeys,
					 const ZsGroupKey *build_keys, const ZsGroupKey *probe_keys, int keep)
{
	ZsProbeTable *table = MemoryContextAllocZero(parent, sizeof(ZsProbeTable));

	Assert(nkeys > 0 && nkeys <= ZS_MAX_GROUP_KEYS);
	table->context = AllocSetContextCreate(parent, "zedstore join table", ALLOCSET_DEFAULT_SIZES);
	table->ncolumns = desc->natts;
	table->columns = MemoryContextAllocZero(parent, desc->natts * sizeof(ZsProbeColumn));
	for (int i = 0; i < desc->natts; i++)
		zsprobe_column_init(&table->columns[i], TupleDescAttr(desc, i),
							bms_is_member(i + 1, wanted));
	table->nkeys = nkeys;
	table->build_keys = build_keys;
	table->probe_keys = probe_keys;
	table->keep = keep;
	table->by_ints = zsprobe_keys_can_pack(nkeys, build_keys);
	table->nparts = 1;
	return table;
}

/* From now on it is filled with this part of the rows (from 0), of so many that are about equal. */
void
zsprobe_table_set_part(ZsProbeTable *table, uint32 part, uint32 nparts)
{
	Assert(part < nparts);
	Assert(nparts == 1 || zsprobe_keys_can_divide(table->nkeys, table->build_keys));
	table->part = part;
	table->nparts = nparts;
}

/* All rows go, and their memory. */
void
zsprobe_table_forget(ZsProbeTable *table)
{
	MemoryContextReset(table->context);
	for (int i = 0; i < table->ncolumns; i++)
		zsprobe_column_forget(&table->columns[i]);
	table->nrows = table->maxrows = table->nkeyed = table->ngroups = 0;
	table->keyless = table->matched = NULL;
	table->next = table->array = table->slots = table->heads = NULL;
	table->own_ints = (ZsProbeInts) {0};
	table->values = NULL;
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
Size
zsprobe_table_memory(const ZsProbeTable *table)
{
	return MemoryContextMemAllocated(table->context, true);
}

/* ---- rows ---------------------------------------------------------------------------- */

/* Makes room for as many more rows as a batch has. */
static void
make_room(ZsProbeTable *table)
{
	uint32		old = table->maxrows;
	uint32		n = old;

	if (table->nrows + ZS_KERNEL_ROWS <= old)
		return;
	/* memory that is not used counts, too */
	n = Max(table->nrows + ZS_KERNEL_ROWS, n < FEW_ROWS ? n * 2 : n + n / 8);
	for (int i = 0; i < table->ncolumns; i++)
	{
		ZsProbeColumn *column = &table->columns[i];

		if (!column->wanted)
			continue;
		zsprobe_ints_grow(table, &column->ints, n);
		if (column->has_nulls)
			column->nulls = zsprobe_bitmap_grow(table, column->nulls, old, n);
		if (column->has_odd)
			column->odd = zsprobe_bitmap_grow(table, column->odd, old, n);
	}
	if (table->by_ints && table->ints == &table->own_ints)
		zsprobe_ints_grow(table, &table->own_ints, n);
	if (table->next != NULL)
	{
		table->next = zsprobe_grow(table, table->next, (Size) n * sizeof(uint32));
		memset(table->next + old, 0xFF, (Size) (n - old) * sizeof(uint32));
	}
	if (table->heads != NULL)
		table->heads = zsprobe_grow(table, table->heads, (Size) n * sizeof(uint32));
	if (table->keyless != NULL)
		table->keyless = zsprobe_bitmap_grow(table, table->keyless, old, n);
	table->maxrows = n;
}

/* Rows get chains, in which there are none yet. */
static void
need_chains(ZsProbeTable *table)
{
	if (table->next != NULL)
		return;
	table->next = zsprobe_grow(table, NULL, (Size) table->maxrows * sizeof(uint32));
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

/* From here on the number of a group need not be that of its first row. */
static void
need_heads(ZsProbeTable *table)
{
	if (table->heads != NULL)
		return;
	table->heads = zsprobe_grow(table, NULL, (Size) table->maxrows * sizeof(uint32));
	for (uint32 i = 0; i < table->ngroups; i++)
		table->heads[i] = i;
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
			Assert(group == row || !(table->keep & ZS_PROBE_COPIES));
		return true;
	}
	if (!(table->keep & ZS_PROBE_COPIES))
		return false;
	need_heads(table);
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

/*
 * Notes the integers by which rows of the batch are found, and where they lie; false if only rows
 * give them.
 */
static bool
note_ints(ZsProbeTable *table, ZsInput *input, const uint64 *sel, const uint16 *list, uint32 n)
{
	int64		store[ZS_KERNEL_ROWS];
	uint64		rows[ZS_KERNEL_WORDS];
	const int64 *values;

	zskernel_bits_copy(rows, sel);
	values = zsprobe_pack(table, table->build_keys, input, rows, store);
	if (values == NULL)
		return false;
	if (table->nkeyed == 0)
		table->min = table->max = values[list[0]];
	for (uint32 i = 0; i < n; i++)
	{
		int64		value = values[list[i]];

		table->min = Min(table->min, value);
		table->max = Max(table->max, value);
		if (table->ints == &table->own_ints)
			zsprobe_ints_set(table, &table->own_ints, table->nrows + i, value);
	}
	return true;
}

/* Appends the n rows of list of the batch, with the columns that are wanted; false as above. */
static bool
append_rows(ZsProbeTable *table, ZsInput *input, const uint64 *sel, const uint16 *list, uint32 n)
{
	for (int i = 0; i < table->ncolumns; i++)
	{
		if (table->columns[i].wanted &&
			!zsprobe_column_append(table, (AttrNumber) (i + 1), input, sel, list, n))
			return false;
	}
	table->nrows += n;
	return true;
}

/* Adds rows of the batch that have all keys; false as above. */
static bool
add_keyed(ZsProbeTable *table, ZsInput *input, const uint64 *sel)
{
	MemoryContext old;
	uint16		list[ZS_KERNEL_ROWS];
	uint32		numbers[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(sel, list);

	if (n == 0)
		return true;
	if (table->by_ints)
	{
		if (!note_ints(table, input, sel, list, n))
			return false;
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
	table->nkeyed += n;
	return append_rows(table, input, sel, list, n);
}

/* Adds rows of the batch that nobody finds; false as above. */
static bool
add_keyless(ZsProbeTable *table, ZsInput *input, const uint64 *sel)
{
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(sel, list);

	if (n == 0)
		return true;
	Assert((table->keep & ZS_PROBE_KEYLESS) && table->nrows + n <= table->maxrows);
	if (table->keyless == NULL)
		table->keyless = zsprobe_bitmap_grow(table, NULL, 0, table->maxrows);
	if (!table->by_ints)
		need_heads(table);
	for (uint32 i = 0; i < n; i++)
	{
		zskernel_bits_set(table->keyless, table->nrows + i);
		if (table->by_ints && table->ints == &table->own_ints)
			zsprobe_ints_set(table, &table->own_ints, table->nrows + i, 0);
	}
	return append_rows(table, input, sel, list, n);
}

/* Adds the rows of the input's present batch; false as above. */
static bool
add_batch(ZsProbeTable *table, ZsInput *input, const ZsBatch *batch)
{
	uint64		sel[ZS_KERNEL_WORDS];
	uint64		others[ZS_KERNEL_WORDS];

	make_room(table);
	zskernel_bits_copy(sel, batch->sel);
	for (int k = 0; k < table->nkeys; k++)
	{
		const ZsColumnVector *vector = zsexpr_input_column(input, table->build_keys[k].attno,
														   ZS_WANT_NULLS, batch->sel);

		if (vector == NULL)
			return false;
		if (vector->has_nulls)
			zskernel_bits_andnot(sel, vector->nulls);
	}
	zskernel_bits_copy(others, batch->sel);
	zskernel_bits_andnot(others, sel);
	if (table->nparts > 1 && !zsprobe_part_leave(table, table->build_keys, input, sel))
		return false;
	if (!add_keyed(table, input, sel))
		return false;
	if (!(table->keep & ZS_PROBE_KEYLESS) || table->part > 0)
		return true;
	return add_keyless(table, input, others);
}

/* ---- keys that are integers --------------------------------------------------------------- */

/* Has the row all keys? */
static inline bool
is_keyed(const ZsProbeTable *table, uint32 row)
{
	return table->keyless == NULL || !zskernel_bits_get(table->keyless, row);
}

/* Rows by an array; false if that would be too large. */
static bool
make_array(ZsProbeTable *table, Size limit)
{
	uint64		range = (uint64) table->max - (uint64) table->min;

	if (range >= Max(ARRAY_SIZE, (uint64) table->nrows * ARRAY_FACTOR) ||
		(range >= ARRAY_SIZE &&
		 zsprobe_table_memory(table) + (range + 1) * sizeof(uint32) > limit))
		return false;
	table->array = MemoryContextAllocHuge(table->context, (range + 1) * sizeof(uint32));
	memset(table->array, 0xFF, (range + 1) * sizeof(uint32));
	for (uint32 row = 0; row < table->nrows; row++)
	{
		uint32	   *place;

		if (row % ZS_KERNEL_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		if (!is_keyed(table, row))
			continue;
		place = &table->array[(uint64) zsprobe_ints_get(table->ints, row) - (uint64) table->min];
		if (*place == ZS_NO_ROW)
			*place = row;
		else if (table->keep & ZS_PROBE_COPIES)
			chain_row(table, *place, row);
	}
	return true;
}

/* Rows by hashes of their integers. */
static void
hash_ints(ZsProbeTable *table)
{
	table->nslots = (uint32) pg_nextpower2_32(Max(table->nrows + table->nrows / 2, 64));
	table->slots = zsprobe_grow(table, NULL, (Size) table->nslots * sizeof(uint32));
	memset(table->slots, 0xFF, (Size) table->nslots * sizeof(uint32));
	for (uint32 row = 0; row < table->nrows; row++)
	{
		int64		value = zsprobe_ints_get(table->ints, row);
		uint32		at = zsprobe_table_place(table, value);

		if (row % ZS_KERNEL_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		if (!is_keyed(table, row))
			continue;
		while (table->slots[at] != ZS_NO_ROW &&
			   zsprobe_ints_get(table->ints, table->slots[at]) != value)
			at = (at + 1) & (table->nslots - 1);
		if (table->slots[at] == ZS_NO_ROW)
			table->slots[at] = row;
		else if (table->keep & ZS_PROBE_COPIES)
			chain_row(table, table->slots[at], row);
	}
}

/* How many rows are left of the input? */
static uint64
count_rows(ZsInput *input)
{
	uint64		rows = 0;
	const ZsBatch *batch;

	while ((batch = zsexpr_input_next(input)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		rows += batch->nsel;
	}
	return rows;
}

/*
 * Takes all rows of the input, which the caller has started, or those of the table's part of them,
 * for the table, which has none.
 * by_rows: it collects core's rows, so nothing else gives values.  limit: bytes that the table may
 * take.  If that is not enough *kept is the number of rows that it was enough for, and *total that
 * of all rows of the input, which is read to its end.  Errors: those of the input's rows.
 */
ZsProbeFill
zsprobe_table_fill(ZsProbeTable *table, ZsInput *input, bool by_rows, Size limit, uint64 *kept,
				   uint64 *total)
{
	const ZsBatch *batch;

	Assert(table->nrows == 0 && table->maxrows == 0);
	table->values = GenerationContextCreate(table->context, "zedstore join values",
											ALLOCSET_DEFAULT_SIZES);
	table->ints = &table->own_ints;
	table->by_rows = by_rows;
	if (!table->by_ints)
		create_groups(table);
	else if (table->nkeys == 1 &&
			 table->columns[table->build_keys[0].attno - 1].wanted)
		table->ints = &table->columns[table->build_keys[0].attno - 1].ints;
	while ((batch = zsexpr_input_next(input)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (!add_batch(table, input, batch))
		{
			Assert(!by_rows);
			return ZS_PROBE_NEEDS_ROWS;
		}
		if (zsprobe_table_memory(table) > limit || table->nrows >= PG_INT32_MAX / 2)
		{
			*kept = table->nrows;
			*total = table->nrows + count_rows(input);
			return ZS_PROBE_TOO_LARGE;
		}
	}
	if (table->by_ints && table->nkeyed > 0)
	{
		if (!make_array(table, limit))
			hash_ints(table);
	}
	if (table->groups != NULL)
	{
		memcpy(table->group_keys, table->probe_keys, table->nkeys * sizeof(ZsGroupKey));
		zsagg_groups_freeze(table->groups);
	}
	if (table->keep & ZS_PROBE_MATCHED)
		table->matched = zsprobe_bitmap_grow(table, NULL, 0, table->nrows);
	*kept = *total = table->nrows;
	return zsprobe_table_memory(table) > limit ? ZS_PROBE_TOO_LARGE : ZS_PROBE_FILLED;
}
