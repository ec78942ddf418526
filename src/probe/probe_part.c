/*-------------------------------------------------------------------------
 *
 * probe_part.c
 *	  Parts of both sides of a join.
 *
 * A table that memory has no room for is made of one part of its rows after the other: those whose
 * keys have a hash in one of several ranges of equal size.  Rows with the same keys are in the same
 * part, those of the probe side, too.  So a row of that has its partners in one part, and if it has
 * none, that is known when its part was looked at.
 *
 * Keys that are integers are hashed; others are left out.  Rows with a NULL among these integers
 * are in the first part.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/probe/probe_part.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "probe_internal.h"
#include "zs_attr.h"

/* The vector of a key, an integer; NULL: the batch has none. */
const ZsColumnVector *
zsprobe_int_vector(const ZsGroupKey *key, ZsInput *input, const uint64 *sel)
{
	ZsQualCounts counts = {0};
	const ZsColumnVector *vector = key->expr != NULL ?
		zsexpr_run(key->expr, input, sel, &counts) :
		zsexpr_input_column(input, key->attno, ZS_WANT_INT, sel);

	if (vector == NULL || vector->vals == NULL || zs_vector_has_odd(vector, sel))
		return NULL;
	return vector;
}

/* Can rows be divided by these keys? */
bool
zsprobe_keys_can_divide(int nkeys, const ZsGroupKey *keys)
{
	for (int k = 0; k < nkeys; k++)
	{
		if (keys[k].domain == ZS_DOMAIN_INT)
			return true;
	}
	return false;
}

/* The hash of another key. */
static inline uint64
add_key(uint64 hash, int64 value)
{
	return zskernel_bloom_hash(value ^ (int64) hash);
}

/* The part that a hash belongs to. */
static inline uint32
part_of(uint64 hash, uint32 nparts)
{
	return (uint32) (((hash >> 32) * nparts) >> 32);
}

/*
 * Takes those rows of the input's present batch from sel whose keys, of either side, are not in the
 * table's part.  False if they have no vectors.
 */
bool
zsprobe_part_leave(const ZsProbeTable *table, const ZsGroupKey *keys, ZsInput *input, uint64 *sel)
{
	uint64		hashes[ZS_KERNEL_ROWS] = {0};
	uint64		nulls[ZS_KERNEL_WORDS] = {0};
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(sel, list);

	Assert(table->part < table->nparts);
	for (int k = 0; k < table->nkeys; k++)
	{
		const ZsColumnVector *vector;

		if (keys[k].domain != ZS_DOMAIN_INT)
			continue;
		vector = zsprobe_int_vector(&keys[k], input, sel);
		if (vector == NULL)
			return false;
		if (vector->has_nulls)
			zskernel_bits_or(nulls, vector->nulls);
		for (uint32 i = 0; i < n; i++)
			hashes[i] = add_key(hashes[i], vector->vals[list[i]]);
	}
	for (uint32 i = 0; i < n; i++)
	{
		uint32		part = zskernel_bits_get(nulls, list[i]) ? 0 :
			part_of(hashes[i], table->nparts);

		if (part != table->part)
			zskernel_bits_unset(sel, list[i]);
	}
	return true;
}

/* Is a row with these keys of the probe side in the table's part? */
bool
zsprobe_part_has(const ZsProbeTable *table, const Datum *values, const bool *isnull)
{
	uint64		hash = 0;

	for (int k = 0; k < table->nkeys; k++)
	{
		if (table->probe_keys[k].domain != ZS_DOMAIN_INT)
			continue;
		if (isnull[k])
			return table->part == 0;
		hash = add_key(hash, zsattr_value_to_int(values[k],
												 (int16) table->probe_keys[k].width));
	}
	return part_of(hash, table->nparts) == table->part;
}
