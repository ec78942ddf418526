/*-------------------------------------------------------------------------
 *
 * kernel_sum.c
 *	  Sums, smallest and largest values of selected rows.
 *
 * Integers are added in any order, since that does not show.  Floats are added
 * in the order of the rows, one after the other: another order gives other
 * digits.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/kernel/kernel_sum.c
 *
 *-------------------------------------------------------------------------
 */
#include "kernel_internal.h"

#define ALL_ROWS		(~UINT64CONST(0))

/* Below so many rows of 64 they are taken one by one. */
#define FEW_ROWS		12

/* All ones if row k of the word is selected, else zero. */
#define MASK_OF(word, k)	(-(((word) >> (k)) & 1))

/*
 * The sum of the selected values if all sums of up to 1024 of the values fit 64 bits, else modulo
 * 2^64.
 */
KERNEL_CLONES int64
zskernel_sum_int64_narrow(const int64 *values, const uint64 *sel)
{
	uint64		sum = 0;

	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		const int64 *v = values + w * 64;
		uint64		word = sel[w];

		if (word == ALL_ROWS)
		{
			for (int k = 0; k < 64; k++)
				sum += (uint64) v[k];
		}
		else if (__builtin_popcountll(word) < FEW_ROWS)
		{
			for (; word != 0; word &= word - 1)
				sum += (uint64) v[__builtin_ctzll(word)];
		}
		else
		{
			for (int k = 0; k < 64; k++)
				sum += (uint64) v[k] & MASK_OF(word, k);
		}
	}
	return (int64) sum;
}

/*
 * Sum of values that are all small (below 2^52 in size), whose sum fits; false if one is not.
 */
KERNEL_CLONES static bool
sum_small(const int64 *values, const uint64 *sel, int64 *result)
{
	const uint64 offset = UINT64CONST(1) << 52;
	uint64		sum = 0;
	uint64		any = 0;

	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		const int64 *v = values + w * 64;
		uint64		word = sel[w];

		if (word == ALL_ROWS)
		{
			for (int k = 0; k < 64; k++)
			{
				sum += (uint64) v[k];
				any |= (uint64) v[k] + offset;
			}
		}
		else if (__builtin_popcountll(word) < FEW_ROWS)
		{
			for (; word != 0; word &= word - 1)
			{
				uint64		u = (uint64) v[__builtin_ctzll(word)];

				sum += u;
				any |= u + offset;
			}
		}
		else
		{
			for (int k = 0; k < 64; k++)
			{
				uint64		u = (uint64) v[k] & MASK_OF(word, k);

				sum += u;
				any |= u + offset;
			}
		}
	}
	*result = (int64) sum;
	return any >> 53 == 0;
}

/*
 * The halves of large values are added apart, after 2^63 was added to each value to make it
 * unsigned; 1024 halves do not overflow.
 */
KERNEL_CLONES zs_int128
zskernel_sum_int64(const int64 *values, const uint64 *sel)
{
	uint64		low = 0;
	uint64		high = 0;
	uint64		count = 0;
	int64		small;

	if (sum_small(values, sel, &small))
		return small;
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		const int64 *v = values + w * 64;
		uint64		word = sel[w];
		int			nrows = __builtin_popcountll(word);

		count += nrows;
		if (word == ALL_ROWS)
		{
			for (int k = 0; k < 64; k++)
			{
				uint64		u = (uint64) v[k] ^ (UINT64CONST(1) << 63);

				low += u & 0xFFFFFFFF;
				high += u >> 32;
			}
		}
		else if (nrows < FEW_ROWS)
		{
			for (; word != 0; word &= word - 1)
			{
				uint64		u = (uint64) v[__builtin_ctzll(word)] ^ (UINT64CONST(1) << 63);

				low += u & 0xFFFFFFFF;
				high += u >> 32;
			}
		}
		else
		{
			for (int k = 0; k < 64; k++)
			{
				uint64		u = ((uint64) v[k] ^ (UINT64CONST(1) << 63)) & MASK_OF(word, k);

				low += u & 0xFFFFFFFF;
				high += u >> 32;
			}
		}
	}
	return ((zs_int128) high << 32) + (zs_int128) low - ((zs_int128) count << 63);
}

/* The selected value that is better than all others, beginning with one that none is worse than. */
#define EXTREME(first, better) \
	int64		best = (first); \
	\
	for (int w = 0; w < ZS_KERNEL_WORDS; w++) \
	{ \
		const int64 *v = values + w * 64; \
		uint64		word = sel[w]; \
		\
		if (word == ALL_ROWS) \
		{ \
			for (int k = 0; k < 64; k++) \
				best = v[k] better best ? v[k] : best; \
		} \
		else \
		{ \
			for (; word != 0; word &= word - 1) \
			{ \
				int			k = __builtin_ctzll(word); \
				\
				best = v[k] better best ? v[k] : best; \
			} \
		} \
	} \
	return best

/* The smallest of the selected values, of which there is at least one. */
KERNEL_CLONES int64
zskernel_min_int64(const int64 *values, const uint64 *sel)
{
	EXTREME(PG_INT64_MAX, <);
}

/* The largest of the selected values, of which there is at least one. */
KERNEL_CLONES int64
zskernel_max_int64(const int64 *values, const uint64 *sel)
{
	EXTREME(PG_INT64_MIN, >);
}

/*
 * Adds the selected floats of 8 bytes to sum one after the other, as the server's aggregates do, so
 * that the result is the same bit by bit.
 */
double
zskernel_sum_float8(const int64 *values, const uint64 *sel, double sum)
{
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		const int64 *v = values + w * 64;
		uint64		word = sel[w];

		if (word == ALL_ROWS)
		{
			for (int k = 0; k < 64; k++)
				sum += zskernel_float8(v[k]);
		}
		else
		{
			for (; word != 0; word &= word - 1)
				sum += zskernel_float8(v[__builtin_ctzll(word)]);
		}
	}
	return sum;
}

/* As zskernel_sum_float8(), of floats of 4 bytes, with their precision. */
float
zskernel_sum_float4(const int64 *values, const uint64 *sel, float sum)
{
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		const int64 *v = values + w * 64;

		for (uint64 word = sel[w]; word != 0; word &= word - 1)
			sum += zskernel_float4(v[__builtin_ctzll(word)]);
	}
	return sum;
}
