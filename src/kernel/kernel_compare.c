/*-------------------------------------------------------------------------
 *
 * kernel_compare.c
 *	  Values against constants, lists, and each other.
 *
 * Each sets a word of the bitmap from 64 comparisons at a time, in a loop that the
 * compiler turns into vector instructions (KERNEL_CLONES).  An operator is chosen
 * once a batch, outside of the loop.  Floats are compared as PostgreSQL orders them:
 * NaN equals NaN and is larger than all else, -0 equals 0.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/kernel/kernel_compare.c
 *
 *-------------------------------------------------------------------------
 */
#include "kernel_internal.h"

/* Lists up to this length are compared member by member. */
#define SHORT_LIST		24

/* The six loops of one type: left and right are expressions in i. */
#define COMPARE_ALL(n, op, bits, left, right) \
	switch (op) \
	{ \
		case ZS_CMP_LT: \
			FILL_BITS(n, bits, (left) < (right)); \
			break; \
		case ZS_CMP_LE: \
			FILL_BITS(n, bits, (left) <= (right)); \
			break; \
		case ZS_CMP_EQ: \
			FILL_BITS(n, bits, (left) == (right)); \
			break; \
		case ZS_CMP_NE: \
			FILL_BITS(n, bits, (left) != (right)); \
			break; \
		case ZS_CMP_GE: \
			FILL_BITS(n, bits, (left) >= (right)); \
			break; \
		case ZS_CMP_GT: \
			FILL_BITS(n, bits, (left) > (right)); \
			break; \
	}

/* Which of n values compare so with c? */
KERNEL_CLONES void
zskernel_compare_int64(const int64 *values, uint32 n, ZsCompare op, int64 c, uint64 *bits)
{
	Assert(n <= ZS_KERNEL_ROWS);
	COMPARE_ALL(n, op, bits, values[i], c);
}

/*
 * Which of n values compare so with c, as unsigned integers?  Those of 32 bits are sign-extended,
 * the constant too, which keeps their order.
 */
KERNEL_CLONES void
zskernel_compare_uint64(const int64 *values, uint32 n, ZsCompare op, int64 c, uint64 *bits)
{
	Assert(n <= ZS_KERNEL_ROWS);
	COMPARE_ALL(n, op, bits, (uint64) values[i], (uint64) c);
}

/* Which of n pairs of values compare so? */
KERNEL_CLONES void
zskernel_compare_int64s(const int64 *a, const int64 *b, uint32 n, ZsCompare op, uint64 *bits)
{
	Assert(n <= ZS_KERNEL_ROWS);
	COMPARE_ALL(n, op, bits, a[i], b[i]);
}

/* As zskernel_compare_int64s(), of unsigned integers. */
KERNEL_CLONES void
zskernel_compare_uint64s(const int64 *a, const int64 *b, uint32 n, ZsCompare op, uint64 *bits)
{
	Assert(n <= ZS_KERNEL_ROWS);
	COMPARE_ALL(n, op, bits, (uint64) a[i], (uint64) b[i]);
}

/*
 * With a constant that is a number, "not less" is what "greater or equal, or NaN" is, and so on.
 * With NaN as the constant only "is it NaN" is left.
 */
#define COMPARE_FLOATS(n, op, bits, value, c) \
	do { \
		if ((c) != (c)) \
		{ \
			switch (op) \
			{ \
				case ZS_CMP_LT: \
				case ZS_CMP_NE: \
					FILL_BITS(n, bits, (value) == (value)); \
					break; \
				case ZS_CMP_EQ: \
				case ZS_CMP_GE: \
					FILL_BITS(n, bits, (value) != (value)); \
					break; \
				case ZS_CMP_LE: \
					zskernel_bits_clear(bits); \
					zskernel_bits_set_range(bits, 0, n); \
					break; \
				case ZS_CMP_GT: \
					zskernel_bits_clear(bits); \
					break; \
			} \
			break; \
		} \
		switch (op) \
		{ \
			case ZS_CMP_LT: \
				FILL_BITS(n, bits, (value) < (c)); \
				break; \
			case ZS_CMP_LE: \
				FILL_BITS(n, bits, (value) <= (c)); \
				break; \
			case ZS_CMP_EQ: \
				FILL_BITS(n, bits, (value) == (c)); \
				break; \
			case ZS_CMP_NE: \
				FILL_BITS(n, bits, !((value) == (c))); \
				break; \
			case ZS_CMP_GE: \
				FILL_BITS(n, bits, !((value) < (c))); \
				break; \
			case ZS_CMP_GT: \
				FILL_BITS(n, bits, !((value) <= (c))); \
				break; \
		} \
	} while (0)

/*
 * Which of n floats of 8 bytes compare so with c?  In PostgreSQL's order: NaN equals NaN and is
 * larger than all others, -0 equals 0.
 */
KERNEL_CLONES void
zskernel_compare_float8(const int64 *values, uint32 n, ZsCompare op, double c, uint64 *bits)
{
	Assert(n <= ZS_KERNEL_ROWS);
	COMPARE_FLOATS(n, op, bits, zskernel_float8(values[i]), c);
}

/* As zskernel_compare_float8(), of floats of 4 bytes. */
KERNEL_CLONES void
zskernel_compare_float4(const int64 *values, uint32 n, ZsCompare op, double c, uint64 *bits)
{
	Assert(n <= ZS_KERNEL_ROWS);
	COMPARE_FLOATS(n, op, bits, (double) zskernel_float4(values[i]), c);
}

/* -1, 0, 1 */
static inline int
float_order(double a, double b)
{
	bool		a_nan = a != a;
	bool		b_nan = b != b;

	return (a_nan | b_nan) ? (int) a_nan - (int) b_nan : (int) (a > b) - (int) (a < b);
}

/* Which of n pairs of floats of 8 bytes compare so?  In the order of zskernel_compare_float8(). */
KERNEL_CLONES void
zskernel_compare_float8s(const int64 *a, const int64 *b, uint32 n, ZsCompare op, uint64 *bits)
{
	Assert(n <= ZS_KERNEL_ROWS);
	COMPARE_ALL(n, op, bits, float_order(zskernel_float8(a[i]), zskernel_float8(b[i])), 0);
}

static inline bool
is_listed(int64 value, const int64 *list, uint32 nlist)
{
	uint32		low = 0;
	uint32		high = nlist;

	while (low < high)
	{
		uint32		mid = (low + high) / 2;

		if (list[mid] < value)
			low = mid + 1;
		else
			high = mid;
	}
	return low < nlist && list[low] == value;
}

/* Which of n values are in the ascending list of nlist? */
KERNEL_CLONES void
zskernel_in_int64(const int64 *values, uint32 n, const int64 *list, uint32 nlist, uint64 *bits)
{
	Assert(n <= ZS_KERNEL_ROWS);
	if (nlist <= SHORT_LIST)
	{
		uint64		member[ZS_KERNEL_WORDS];

		zskernel_bits_clear(bits);
		for (uint32 k = 0; k < nlist; k++)
		{
			int64		c = list[k];

			FILL_BITS(n, member, values[i] == c);
			zskernel_bits_or(bits, member);
		}
		return;
	}
	FILL_BITS(n, bits, is_listed(values[i], list, nlist));
}

/* Which of n lengths are equal to c? */
KERNEL_CLONES void
zskernel_equal_uint32(const uint32 *values, uint32 n, uint32 c, uint64 *bits)
{
	Assert(n <= ZS_KERNEL_ROWS);
	FILL_BITS(n, bits, values[i] == c);
}

/* Which of n codes have 1 in table?  Codes are below its length. */
KERNEL_CLONES void
zskernel_in_table(const uint32 *codes, uint32 n, const uint8 *table, uint64 *bits)
{
	Assert(n <= ZS_KERNEL_ROWS);
	FILL_BITS(n, bits, table[codes[i]]);
}

/* Which of n values, minus low, are members of a bitmap that has room for nmembers? */
KERNEL_CLONES void
zskernel_in_bitmap(const int64 *values, uint32 n, int64 low, const uint64 *bitmap, uint64 nmembers,
				   uint64 *bits)
{
	Assert(n <= ZS_KERNEL_ROWS && nmembers > 0);
	for (uint32 w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		uint32		first = w * 64;
		uint32		end = Min(first + 64, n);
		uint64		word = 0;

		for (uint32 i = first; i < end; i++)
		{
			uint64		offset = (uint64) values[i] - (uint64) low;
			uint64		inside = offset < nmembers;

			offset = inside ? offset : 0;
			word |= (bitmap[offset / 64] >> (offset % 64) & inside) << (i - first);
		}
		bits[w] = word;
	}
}

/* Which of n values may have been added to the filter?  All that have been, and few others. */
KERNEL_CLONES void
zskernel_in_bloom(const int64 *values, uint32 n, const uint64 *words, uint32 log2_words,
				  uint64 *bits)
{
	Assert(n <= ZS_KERNEL_ROWS && log2_words > 0 && log2_words <= ZS_BLOOM_MAX_LOG2);
	for (uint32 w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		uint32		first = w * 64;
		uint32		end = Min(first + 64, n);
		uint64		word = 0;

		for (uint32 i = first; i < end; i++)
		{
			uint64		hash = zskernel_bloom_hash(values[i]);
			uint64		mask = zskernel_bloom_mask(hash);
			uint64		found = words[zskernel_bloom_word(hash, log2_words)] & mask;

			word |= (uint64) (found == mask) << (i - first);
		}
		bits[w] = word;
	}
}
