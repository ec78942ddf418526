/*-------------------------------------------------------------------------
 *
 * probe_look_up.c
 *	  Finds the partners of rows of a join's probe side.
 *
 * Batches are looked up as a whole, where their keys have vectors: by the array or the hash table
 * of integers, or as groups (probe_table.c).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/probe/probe_look_up.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "probe_internal.h"

/* The first row with the integer; ZS_NO_ROW: none. */
static inline uint32
find_int(const ZsProbeTable *table, int64 value, uint32 at)
{
	uint32		row;

	Assert(at < table->nslots);
	while ((row = table->slots[at]) != ZS_NO_ROW &&
		   zsprobe_ints_get(table->ints, row) != value)
		at = (at + 1) & (table->nslots - 1);
	return row;
}

/* As zsprobe_table_look_up(), by the array. */
static bool
look_up_array(ZsProbeTable *table, ZsInput *probe, const uint64 *sel, uint32 *partners,
			  uint64 *found)
{
	int64		store[ZS_KERNEL_ROWS];
	uint64		keyed[ZS_KERNEL_WORDS];
	const int64 *values;
	uint64		min = (uint64) table->min;
	uint64		range = (uint64) table->max - min;

	zskernel_bits_copy(keyed, sel);
	values = zsprobe_pack(table, table->probe_keys, probe, keyed, store);
	if (values == NULL)
		return false;
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		uint64		hits = 0;

		for (uint64 rows = keyed[w]; rows != 0; rows &= rows - 1)
		{
			uint32		row = w * 64 + __builtin_ctzll(rows);
			uint64		offset = (uint64) values[row] - min;
			uint32		partner = offset <= range ? table->array[offset] : ZS_NO_ROW;

			partners[row] = partner;
			hits |= (uint64) (partner != ZS_NO_ROW) << (row % 64);
		}
		found[w] = hits;
	}
	return true;
}

/* As zsprobe_table_look_up(), by hashes of integers: what is going to be looked at is fetched. */
static bool
look_up_ints(ZsProbeTable *table, ZsInput *probe, const uint64 *sel, uint32 *partners,
			 uint64 *found)
{
	int64		store[ZS_KERNEL_ROWS];
	const int64 *values;
	uint64		rows[ZS_KERNEL_WORDS];
	uint16		list[ZS_KERNEL_ROWS];
	uint32		places[ZS_KERNEL_ROWS];
	uint32		n;

	zskernel_bits_copy(rows, sel);
	values = zsprobe_pack(table, table->probe_keys, probe, rows, store);
	if (values == NULL)
		return false;
	n = zskernel_bits_list(rows, list);
	zskernel_bits_clear(found);
	for (uint32 i = 0; i < n; i++)
	{
		places[i] = zsprobe_table_place(table, values[list[i]]);
		__builtin_prefetch(&table->slots[places[i]]);
	}
	for (uint32 i = 0; i < n; i++)
	{
		uint32		row = table->slots[places[i]];

		if (row == ZS_NO_ROW)
			continue;
		if (table->ints->wide != NULL)
			__builtin_prefetch(&table->ints->wide[row]);
		else
			__builtin_prefetch(&table->ints->narrow[row]);
	}
	for (uint32 i = 0; i < n; i++)
	{
		uint32		partner = find_int(table, values[list[i]], places[i]);

		partners[list[i]] = partner;
		if (partner != ZS_NO_ROW)
			zskernel_bits_set(found, list[i]);
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

	Assert(table->groups == NULL || zsagg_groups_frozen(table->groups));
	if (table->nkeyed == 0)
	{
		zskernel_bits_clear(found);
		return true;
	}
	if (table->array != NULL)
		return look_up_array(table, probe, sel, partners, found);
	if (table->by_ints)
		return look_up_ints(table, probe, sel, partners, found);
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
	int64		value;
	uint32		number;

	Assert(table->nkeyed <= table->nrows);
	if (table->nkeyed == 0)
		return ZS_NO_ROW;
	for (int k = 0; k < table->nkeys; k++)
	{
		if (isnull[k])
			return ZS_NO_ROW;
	}
	if (table->by_ints)
	{
		if (!zsprobe_pack_row(table, values, &value))
			return ZS_NO_ROW;
		if (table->array == NULL)
			return find_int(table, value, zsprobe_table_place(table, value));
		return (uint64) value - (uint64) table->min <= (uint64) table->max - (uint64) table->min ?
			table->array[(uint64) value - (uint64) table->min] : ZS_NO_ROW;
	}
	number = zsagg_groups_assign_row(table->groups, values, isnull);
	if (number == ZS_NO_GROUP)
		return ZS_NO_ROW;
	return table->heads != NULL ? table->heads[number] : number;
}
