/*-------------------------------------------------------------------------
 *
 * kernel_group.c
 *	  Numbers of groups from small ranges of keys, and sums of a few groups.
 *
 * Each group has several accumulators, which rows take in turn: a row need not wait until what its
 * neighbour, often of the same group, has stored comes back.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/kernel/kernel_group.c
 *
 *-------------------------------------------------------------------------
 */
#include "kernel_internal.h"

/* Accumulators of a group. */
#define LANES	4

/* Negative if the number of a value, from 0 on, is above the last one. */
#define BEYOND(number, last)	((number) | ((last) - (number)))

/* Rows 0 to n - 1, without NULLs. */
static KERNEL_CLONES bool
codes_of_all(const int64 *restrict values, uint32 n, int64 low, uint64 last, uint32 factor,
			 uint32 *restrict codes)
{
	uint64		bad = 0;

	for (uint32 i = 0; i < n; i++)
	{
		uint64		number = (uint64) values[i] - (uint64) low;

		bad |= BEYOND(number, last);
		codes[i] = codes[i] * factor + (uint32) number + 1;
	}
	return (int64) bad >= 0;
}

static KERNEL_CLONES bool
codes_of_all_with_nulls(const int64 *restrict values, const uint64 *nulls, uint32 n, int64 low,
						uint64 last, uint32 factor, uint32 *restrict codes)
{
	uint64		bad = 0;

	for (uint32 from = 0; from < n; from += 64)
	{
		uint64		word = nulls[from / 64];
		uint32		to = Min(n - from, 64);

		for (uint32 k = 0; k < to; k++)
		{
			uint64		keep = (word >> k & 1) - 1;
			uint64		number = (uint64) values[from + k] - (uint64) low;

			bad |= BEYOND(number, last) & keep;
			codes[from + k] = codes[from + k] * factor + (uint32) ((number + 1) & keep);
		}
	}
	return (int64) bad >= 0;
}

/*
 * Codes of n rows, those of list (NULL: the first n): codes[i] * factor + (0 for NULL, 1 for low, 2
 * for low + 1, ...).  nulls may be NULL.  False if a value has no code below count; then the codes
 * are undefined.
 */
bool
zskernel_group_codes(const int64 *values, const uint64 *nulls, const uint16 *list, uint32 n,
					 int64 low, uint64 count, uint32 factor, uint32 *codes)
{
	uint64		last = count - 2;
	uint64		bad = 0;

	Assert(n <= ZS_KERNEL_ROWS && count > 1 && count >> 32 == 0);
	if (list == NULL)
		return nulls == NULL ? codes_of_all(values, n, low, last, factor, codes) :
			codes_of_all_with_nulls(values, nulls, n, low, last, factor, codes);
	for (uint32 i = 0; i < n; i++)
	{
		uint32		row = list[i];
		uint64		number = (uint64) values[row] - (uint64) low;

		if (nulls != NULL && zskernel_bits_get(nulls, row))
			codes[i] *= factor;
		else
		{
			bad |= BEYOND(number, last);
			codes[i] = codes[i] * factor + (uint32) number + 1;
		}
	}
	return (int64) bad >= 0;
}

/* numbers[i] = table[codes[i]]; false if one of them is none. */
bool
zskernel_group_numbers(const uint32 *codes, uint32 n, const uint32 *table, uint32 none,
					   uint32 *numbers)
{
	uint32		missing = 0;

	for (uint32 i = 0; i < n; i++)
	{
		uint32		number = table[codes[i]];

		missing |= (uint32) (number == none);
		numbers[i] = number;
	}
	return missing == 0;
}

/* How many of n rows each of ngroups groups has; the rows' groups are below ngroups. */
void
zskernel_group_count(const uint32 *groups, uint32 n, uint32 ngroups, uint32 *counts)
{
	uint32		lanes[LANES][ZS_KERNEL_GROUPS] = {{0}};
	uint32		i = 0;

	Assert(n <= ZS_KERNEL_ROWS && ngroups <= ZS_KERNEL_GROUPS);
	for (; i + LANES <= n; i += LANES)
	{
		for (int lane = 0; lane < LANES; lane++)
			lanes[lane][groups[i + lane]]++;
	}
	for (; i < n; i++)
		lanes[0][groups[i]]++;
	for (uint32 k = 0; k < ngroups; k++)
		counts[k] = lanes[0][k] + lanes[1][k] + lanes[2][k] + lanes[3][k];
}

/* What is below 2^52 in size makes it 0 above bit 52. */
#define LARGE(value)	((uint64) (value) + (UINT64CONST(1) << 52))

/*
 * Sums by group of n rows, those of list (NULL: the first n).  False, and the sums are undefined,
 * if a value is not below 2^52 in size.
 */
bool
zskernel_group_sum(const int64 *values, const uint16 *list, const uint32 *groups, uint32 n,
				   uint32 ngroups, int64 *sums)
{
	uint64		lanes[LANES][ZS_KERNEL_GROUPS];
	uint64		any = 0;
	uint32		i = 0;

	Assert(n <= ZS_KERNEL_ROWS && ngroups <= ZS_KERNEL_GROUPS);
	for (int lane = 0; lane < LANES; lane++)
		memset(lanes[lane], 0, ngroups * sizeof(uint64));
	if (list == NULL)
	{
		for (; i + LANES <= n; i += LANES)
		{
			for (int lane = 0; lane < LANES; lane++)
			{
				lanes[lane][groups[i + lane]] += (uint64) values[i + lane];
				any |= LARGE(values[i + lane]);
			}
		}
	}
	else
	{
		for (; i + LANES <= n; i += LANES)
		{
			for (int lane = 0; lane < LANES; lane++)
			{
				int64		value = values[list[i + lane]];

				lanes[lane][groups[i + lane]] += (uint64) value;
				any |= LARGE(value);
			}
		}
	}
	for (; i < n; i++)
	{
		int64		value = values[list == NULL ? i : list[i]];

		lanes[0][groups[i]] += (uint64) value;
		any |= LARGE(value);
	}
	for (uint32 k = 0; k < ngroups; k++)
		sums[k] = (int64) (lanes[0][k] + lanes[1][k] + lanes[2][k] + lanes[3][k]);
	return any >> 53 == 0;
}
