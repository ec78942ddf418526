/*-------------------------------------------------------------------------
 *
 * group_direct.c
 *	  Numbers of groups whose keys lie in small ranges.
 *
 * This is what DuckDB calls perfect hash aggregation, but that no statistics have to promise the
 * ranges: they are those of the keys that have come.
 *
 * A combination of words is a number, its code: 0 is NULL, then follow low, low + 1, ..., and so on
 * from key to key.  An array has the group of each code.  Integers and numbers of dictionary
 * entries become codes by loops over columns; only the first row of a group has its words put
 * together.
 *
 *	1. The words of all groups lie in the ranges, and all groups are in the array, if there is one:
 *	   those that are found otherwise, row by row, are told here.
 *	2. Ranges only grow, and the array is made anew when one does.
 *
 * When the ranges are too large for good, hashes find all groups.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/group_direct.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "group_internal.h"

/*
 * So many combinations are looked up without a hash; more, if they take this part of the memory
 * that groups may have, and there are rows enough for each to be met.
 */
#define DIRECT_SIZE		65536
#define DIRECT_PART		8
#define DIRECT_ROWS		8
#define DIRECT_MOST		(16 * 1024 * 1024)

/* The largest array that there may be. */
uint64
zsagg_group_direct_most(void)
{
	return Min(Max(get_hash_memory_limit() / DIRECT_PART / sizeof(uint32), DIRECT_SIZE),
			   DIRECT_MOST);
}

/* How many words, with NULL, the key's range may have as long as the other keys' do not grow. */
static int64
room_of_key(const ZsGroups *groups, int key)
{
	uint64		room = groups->direct_most;

	for (int k = 0; k < groups->nkeys; k++)
	{
		if (k != key)
			room /= Max(groups->counts[k], 1);
	}
	return (int64) room;
}

/* Lets the key's range have the words from low to high, too; false if it has to be too large. */
static bool
widen_range(ZsGroups *groups, int key, int64 low, int64 high)
{
	int64		old_high = groups->lows[key] + (int64) groups->counts[key] - 2;
	bool		known = groups->counts[key] > 1;

	Assert(low <= high && groups->is_direct);
	if (known)
	{
		low = Min(low, groups->lows[key]);
		high = Max(high, old_high);
	}
	if ((uint64) high - (uint64) low > groups->direct_most - 2)
		return false;
	/* rows often come in ascending order, and numbers of strings always do */
	if (known && high > old_high && high < PG_INT64_MAX - (int64) groups->direct_most)
		high = Max(high, Min(high + (high - low) / 2, low + room_of_key(groups, key) - 2));
	groups->lows[key] = low;
	groups->counts[key] = (uint64) (high - low) + 2;
	Assert(groups->counts[key] <= groups->direct_most);
	return true;
}

/* The code of words that lie in the ranges. */
static uint32
code_of_words(const ZsGroups *groups, const uint64 *words)
{
	uint32		code = 0;

	for (int k = 0; k < groups->nkeys; k++)
	{
		uint32		digit = (words[0] >> k & 1) != 0 ? 0 :
			(uint32) (words[1 + k] - (uint64) groups->lows[k] + 1);

		Assert(digit < groups->counts[k]);
		code = code * (uint32) groups->counts[k] + digit;
	}
	return code;
}

/* Tells the ranges and the array of a group that was not found by its code. */
void
zsagg_group_note(ZsGroups *groups, uint32 group)
{
	const uint64 *words = zsagg_group_words(groups, group);
	bool		changed = false;

	Assert(group < groups->ngroups);
	for (int k = 0; k < groups->nkeys && groups->is_direct; k++)
	{
		bool		isnull = (words[0] >> k & 1) != 0;

		if (isnull ? groups->counts[k] > 0 :
			groups->counts[k] > 1 &&
			words[1 + k] - (uint64) groups->lows[k] <= groups->counts[k] - 2)
			continue;
		if (isnull)
			groups->counts[k] = 1;
		else
			groups->is_direct = widen_range(groups, k, (int64) words[1 + k], (int64) words[1 + k]);
		changed = true;
	}
	if (groups->direct == NULL)
		return;
	if (groups->is_direct && !changed)
		groups->direct[code_of_words(groups, words)] = group;
	else
	{
		pfree(groups->direct);
		groups->direct = NULL;
	}
}

/*
 * Integers in whose range the key's words are, with NULLs or without (*nulls is NULL); *list are
 * the rows, NULL: all from the first on.  Not of strings with codes.
 */
static const int64 *
ints_of_key(ZsGroups *groups, int key, const ZsKeyInput *in, uint32 n, uint64 *null_bits,
			const uint64 **nulls, const uint16 **list)
{
	size_t		stride = (size_t) groups->nwords;

	Assert(in->map == NULL && (in->vector != NULL || in->given != NULL));
	*nulls = NULL;
	if (in->is_plain && in->vector != NULL)
	{
		if (in->vector->has_nulls)
			*nulls = in->vector->nulls;
		return in->vector->vals;
	}
	*list = NULL;
	for (uint32 i = 0; i < n && in->is_plain; i++)
		groups->batch_ints[i] = in->given[i];
	if (in->is_plain)
		return groups->batch_ints;
	zskernel_bits_clear(null_bits);
	for (uint32 i = 0; i < n; i++)
	{
		const uint64 *words = groups->batch_words + i * stride;

		groups->batch_ints[i] = (int64) words[1 + key];
		null_bits[i / 64] |= (words[0] >> key & 1) << (i % 64);
	}
	*nulls = null_bits;
	return groups->batch_ints;
}

/* Are all rows NULL?  rows: as for ints_of_key(). */
static bool
are_null(const uint64 *nulls, const uint16 *rows, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
	{
		if (nulls == NULL || !zskernel_bits_get(nulls, rows == NULL ? i : rows[i]))
			return false;
	}
	return true;
}

/* Adds what the key's words contribute to the codes; false if they are not in its range. */
static bool
add_codes(ZsGroups *groups, int key, const ZsKeyInput *in, const uint16 *list, bool is_dense,
		  uint32 n)
{
	uint32	   *codes = groups->batch_codes;
	uint64		count = groups->counts[key];
	const ZsColumnVector *vector = in->vector;
	uint64		null_bits[ZS_KERNEL_WORDS];
	const uint64 *nulls;
	const uint16 *rows = is_dense ? NULL : list;
	const int64 *ints;

	Assert(count <= groups->direct_most);
	if (in->map == NULL)
	{
		ints = ints_of_key(groups, key, in, n, null_bits, &nulls, &rows);
		if (count == 1)
			return are_null(nulls, rows, n);
		return count > 1 &&
			zskernel_group_codes(ints, nulls, rows, n, groups->lows[key], count, (uint32) count,
								 codes);
	}
	zsagg_string_number_codes(groups, key, in, list, n);
	if (count <= groups->tables[key].nstrings)
		return false;
	for (uint32 i = 0; i < n; i++)
	{
		uint32		row = list[i];
		bool		is_null = vector->has_nulls && zskernel_bits_get(vector->nulls, row);
		uint32		number = is_null ? 0 : in->map->numbers[vector->codes[row]] + 1;

		/* a string that frozen groups do not have */
		if (unlikely(number >= count))
			return false;
		codes[i] = codes[i] * (uint32) count + number;
	}
	return true;
}

/* Lets the key's range have all of the batch's words; false if it has to be too large. */
static bool
extend_range(ZsGroups *groups, int key, const ZsKeyInput *in, const uint16 *list, uint32 n)
{
	int64		low = PG_INT64_MAX;
	int64		high = PG_INT64_MIN;

	if (in->map != NULL)
	{
		low = 0;
		high = Max((int64) groups->tables[key].nstrings - 1, 0);
	}
	else
	{
		uint64		null_bits[ZS_KERNEL_WORDS];
		const uint64 *nulls;
		const int64 *ints = ints_of_key(groups, key, in, n, null_bits, &nulls, &list);

		for (uint32 i = 0; i < n; i++)
		{
			uint32		row = list == NULL ? i : list[i];

			if (nulls != NULL && zskernel_bits_get(nulls, row))
				continue;
			low = Min(low, ints[row]);
			high = Max(high, ints[row]);
		}
		if (low > high)
		{
			/* only NULLs, which say nothing about where values will be */
			groups->counts[key] = Max(groups->counts[key], 1);
			return true;
		}
	}
	return widen_range(groups, key, low, high);
}

/*
 * Makes an array for all combinations, in which all groups are; false if there are too many of
 * them, for good or for the time being.
 */
static bool
make_direct(ZsGroups *groups)
{
	uint64		size = 1;

	for (int k = 0; k < groups->nkeys && size <= groups->direct_most; k++)
		size *= groups->counts[k];
	groups->is_direct = size <= groups->direct_most;
	if (size > DIRECT_SIZE)
		groups->direct_from = size / DIRECT_ROWS;
	if (groups->direct != NULL)
		pfree(groups->direct);
	groups->direct = NULL;
	if (!groups->is_direct || groups->nrows < groups->direct_from)
		return false;
	Assert(size > 0);
	groups->direct = MemoryContextAlloc(groups->context, size * sizeof(uint32));
	memset(groups->direct, 0xFF, size * sizeof(uint32));
	for (uint32 i = 0; i < groups->ngroups; i++)
		groups->direct[code_of_words(groups, zsagg_group_words(groups, i))] = i;
	return true;
}

/*
 * Makes codes of the combinations in the batch, batch_codes, by which groups can be looked up;
 * false if that cannot be.  If not all keys are plain, the batch's words are there.
 */
bool
zsagg_group_codes(ZsGroups *groups, const ZsKeyInput *in, const uint16 *list, uint32 n)
{
	bool		is_dense = n == (uint32) list[n - 1] + 1;
	bool		changed = groups->direct == NULL;

	Assert(groups->is_direct && n > 0 && n <= ZS_KERNEL_ROWS);
	for (;;)
	{
		memset(groups->batch_codes, 0, n * sizeof(uint32));
		for (int k = 0; k < groups->nkeys; k++)
		{
			if (add_codes(groups, k, &in[k], list, is_dense, n))
				continue;
			/* frozen: there are no groups beyond the ranges, and no numbers for other strings */
			if (groups->frozen)
				return false;
			if (!extend_range(groups, k, &in[k], list, n))
			{
				groups->is_direct = false;
				return false;
			}
			changed = true;
		}
		if (!changed)
			return true;
		if (!make_direct(groups))
			return false;
		changed = false;
	}
}

/* The groups of the batch, by its codes; has_words: the batch's words are there. */
void
zsagg_group_look_up(ZsGroups *groups, const ZsKeyInput *in, const uint16 *list, uint32 n,
					bool has_words, uint32 *numbers)
{
	const uint32 *codes = groups->batch_codes;

	Assert(groups->is_direct && groups->direct != NULL);
	if (zskernel_group_numbers(codes, n, groups->direct, ZS_NO_GROUP, numbers) || groups->frozen)
		return;
	for (uint32 i = 0; i < n; i++)
	{
		uint64		row[1 + 2 * ZS_MAX_GROUP_KEYS];

		if (numbers[i] != ZS_NO_GROUP)
			continue;
		/* an earlier row may have been the first of its group */
		if (groups->direct[codes[i]] == ZS_NO_GROUP)
		{
			if (!has_words)
				zsagg_group_set_words(groups, in, list, i, 1, row);
			groups->direct[codes[i]] =
				zsagg_group_add(groups,
								has_words ? groups->batch_words + i * (size_t) groups->nwords :
								row);
		}
		numbers[i] = groups->direct[codes[i]];
	}
}

