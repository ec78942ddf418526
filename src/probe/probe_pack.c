/*-------------------------------------------------------------------------
 *
 * probe_pack.c
 *	  Several keys as one integer.
 *
 * Keys that are integers of 64 bits in all, as the build side has them, lie side by side in one,
 * the first one at the top.  Equal integers are equal keys, so nothing else has to be compared, and
 * rows are found as by one key.  A row of the probe side, whose keys may be of wider types, has no
 * partner if one of them is out of the range of the build side's type.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/probe/probe_pack.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "probe_internal.h"
#include "zs_attr.h"

/* What a row takes beside its columns, measured: 8 for the integer, 6 to 12 for its place. */
#define PACKED_ROW_SIZE		16
#define GROUP_ROW_SIZE		48

/* Do these keys of a build side fit into one integer? */
bool
zsprobe_keys_can_pack(int nkeys, const ZsGroupKey *keys)
{
	int			width = 0;

	for (int k = 0; k < nkeys; k++)
	{
		if (keys[k].domain != ZS_DOMAIN_INT)
			return false;
		Assert(keys[k].width > 0);
		width += keys[k].width;
	}
	return nkeys == 1 || width <= (int) sizeof(int64);
}

/*
 * Bytes that a table of so many rows is expected to take, as planner and executor have it: columns
 * of width bytes, and beside them the integer and its place in the hash table, or a group of keys.
 */
double
zsprobe_table_expected_size(double nrows, int width, bool pack)
{
	Assert(nrows >= 0 && width >= 0);
	return nrows * (MAXALIGN(width) + (pack ? PACKED_ROW_SIZE : GROUP_ROW_SIZE));
}

/* The integer with another key behind those that it has, whose type takes so many bits. */
static inline int64
add_key(int64 packed, int64 value, int bits)
{
	return (int64) ((uint64) packed << bits | ((uint64) value & ((UINT64CONST(1) << bits) - 1)));
}

/* Is the value one of an integer type of so many bits? */
static inline bool
is_in_range(int64 value, int bits)
{
	return value == (int64) ((uint64) value << (64 - bits)) >> (64 - bits);
}

/* Bits of the table's key k. */
static inline int
key_bits(const ZsProbeTable *table, int k)
{
	Assert(table->nkeys > 1);
	return table->build_keys[k].width * BITS_PER_BYTE;
}

/*
 * The integers of the input's present batch, by place: of those of rows that have all keys and may
 * have a partner, which are left in rows.  keys: of either side of the table.  store: room for
 * several keys.  NULL if only rows give them.
 */
const int64 *
zsprobe_pack(const ZsProbeTable *table, const ZsGroupKey *keys, ZsInput *input, uint64 *rows,
			 int64 *store)
{
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n;

	Assert(table->by_ints);
	for (int k = 0; k < table->nkeys; k++)
	{
		const ZsColumnVector *vector = zsprobe_int_vector(&keys[k], input, rows);
		int			bits;

		if (vector == NULL)
			return NULL;
		if (vector->has_nulls)
			zskernel_bits_andnot(rows, vector->nulls);
		if (table->nkeys == 1)
			return vector->vals;
		bits = key_bits(table, k);
		n = zskernel_bits_list(rows, list);
		for (uint32 i = 0; i < n; i++)
		{
			int64		value = vector->vals[list[i]];

			store[list[i]] = add_key(k == 0 ? 0 : store[list[i]], value, bits);
			if (!is_in_range(value, bits))
				zskernel_bits_unset(rows, list[i]);
		}
	}
	return store;
}

/*
 * The integer of a row with these keys of the probe side, none of which is NULL; false if it has no
 * partner.
 */
bool
zsprobe_pack_row(const ZsProbeTable *table, const Datum *values, int64 *packed)
{
	Assert(table->by_ints);
	*packed = 0;
	for (int k = 0; k < table->nkeys; k++)
	{
		int64		value = zsattr_value_to_int(values[k], (int16) table->probe_keys[k].width);

		if (table->nkeys == 1)
			*packed = value;
		else if (is_in_range(value, key_bits(table, k)))
			*packed = add_key(*packed, value, key_bits(table, k));
		else
			return false;
	}
	return true;
}
