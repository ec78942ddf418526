/*-------------------------------------------------------------------------
 *
 * probe_table.c
 *	  The rows of a join's build side, found by their keys.
 *
 * Rows lie by columns, of those that are wanted (probe_store.c).  Where the key is one integer and
 * its values lie in a range that is not much larger than there are rows, an array has the row of
 * each value, which DuckDB calls a perfect hash join; else an open hash table has it.  All other
 * keys are groups (zs_agg_group.h): they have one normal form, strings are looked up once for each
 * entry of a dictionary, and a group's number is that of its row as long as no keys are there
 * twice.
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
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "probe_internal.h"
#include "zs_attr.h"

/* Room for fewer rows than that is doubled when it is full. */
#define FEW_ROWS		8192

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
		zsprobe_column_init(&table->columns[i], TupleDescAttr(desc, i),
							bms_is_member(i + 1, wanted));
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
		zsprobe_column_forget(&table->columns[i]);
	table->nrows = table->maxrows = table->ngroups = 0;
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
		table->heads = zsprobe_grow(table, NULL, (Size) table->maxrows * sizeof(uint32));
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

/* Notes the integers by which rows of the batch are found, and where they lie. */
static void
note_ints(ZsProbeTable *table, ZsInput *input, const uint64 *sel, const uint16 *list, uint32 n)
{
	const ZsColumnVector *vector = zsexpr_input_column(input, table->build_keys[0].attno,
													   ZS_WANT_INT, sel);

	if (table->nrows == 0)
		table->min = table->max = vector->vals[list[0]];
	for (uint32 i = 0; i < n; i++)
	{
		int64		value = vector->vals[list[i]];

		table->min = Min(table->min, value);
		table->max = Max(table->max, value);
		if (table->ints == &table->own_ints)
			zsprobe_ints_set(table, &table->own_ints, table->nrows + i, value);
	}
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
		note_ints(table, input, sel, list, n);
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
			zsprobe_column_append(table, (AttrNumber) (i + 1), input, sel, list, n);
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
		 zsprobe_table_memory(table) + (range + 1) * sizeof(uint32) > limit))
		return false;
	table->array = MemoryContextAllocHuge(table->context, (range + 1) * sizeof(uint32));
	memset(table->array, 0xFF, (range + 1) * sizeof(uint32));
	for (uint32 row = 0; row < table->nrows; row++)
	{
		uint32	   *place = &table->array[(uint64) zsprobe_ints_get(table->ints, row) -
									  (uint64) table->min];

		if (row % ZS_KERNEL_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		if (*place == ZS_NO_ROW)
			*place = row;
		else if (table->keeps_copies)
			chain_row(table, *place, row);
	}
	return true;
}

/* Where to look for an integer first. */
static inline uint32
place_of(const ZsProbeTable *table, int64 value)
{
	uint64		hash = (uint64) value * UINT64CONST(0x9E3779B97F4A7C15);

	return (uint32) (hash >> 32) & (table->nslots - 1);
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
		uint32		at = place_of(table, value);

		if (row % ZS_KERNEL_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		while (table->slots[at] != ZS_NO_ROW &&
			   zsprobe_ints_get(table->ints, table->slots[at]) != value)
			at = (at + 1) & (table->nslots - 1);
		if (table->slots[at] == ZS_NO_ROW)
			table->slots[at] = row;
		else if (table->keeps_copies)
			chain_row(table, table->slots[at], row);
	}
}

/* The first row with the integer; ZS_NO_ROW: none. */
static inline uint32
find_int(const ZsProbeTable *table, int64 value, uint32 at)
{
	uint32		row;

	while ((row = table->slots[at]) != ZS_NO_ROW &&
		   zsprobe_ints_get(table->ints, row) != value)
		at = (at + 1) & (table->nslots - 1);
	return row;
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
	table->values = GenerationContextCreate(table->context, "zedstore join values",
											ALLOCSET_DEFAULT_SIZES);
	table->ints = &table->own_ints;
	if (!table->by_ints)
		create_groups(table);
	else if (table->columns[table->build_keys[0].attno - 1].wanted)
		table->ints = &table->columns[table->build_keys[0].attno - 1].ints;
	while ((batch = zsexpr_input_next(input)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		add_batch(table, input, batch);
		if (zsprobe_table_memory(table) > limit || table->nrows >= PG_INT32_MAX / 2)
			return ZS_PROBE_TOO_LARGE;
	}
	if (table->by_ints && table->nrows > 0)
	{
		if (!make_array(table, limit))
			hash_ints(table);
	}
	if (table->groups != NULL)
	{
		memcpy(table->group_keys, table->probe_keys, table->nkeys * sizeof(ZsGroupKey));
		zsagg_groups_freeze(table->groups);
	}
	return zsprobe_table_memory(table) > limit ? ZS_PROBE_TOO_LARGE : ZS_PROBE_FILLED;
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

/* As zsprobe_table_look_up(), by hashes of integers: what is going to be looked at is fetched. */
static bool
look_up_ints(ZsProbeTable *table, ZsInput *probe, const uint64 *sel, uint32 *partners,
			 uint64 *found)
{
	const ZsColumnVector *vector = int_vector(&table->probe_keys[0], probe, sel);
	uint64		rows[ZS_KERNEL_WORDS];
	uint16		list[ZS_KERNEL_ROWS];
	uint32		places[ZS_KERNEL_ROWS];
	uint32		n;

	if (vector == NULL)
		return false;
	zskernel_bits_copy(rows, sel);
	if (vector->has_nulls)
		zskernel_bits_andnot(rows, vector->nulls);
	n = zskernel_bits_list(rows, list);
	zskernel_bits_clear(found);
	for (uint32 i = 0; i < n; i++)
	{
		places[i] = place_of(table, vector->vals[list[i]]);
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
		uint32		partner = find_int(table, vector->vals[list[i]], places[i]);

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
	if (table->nrows == 0)
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
	if (table->by_ints)
	{
		int64		value = zsattr_value_to_int(values[0], table->probe_keys[0].width);

		return find_int(table, value, place_of(table, value));
	}
	number = zsagg_groups_assign_row(table->groups, values, isnull);
	if (number == ZS_NO_GROUP)
		return ZS_NO_ROW;
	return table->heads != NULL ? table->heads[number] : number;
}
