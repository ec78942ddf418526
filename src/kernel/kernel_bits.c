/*-------------------------------------------------------------------------
 *
 * kernel_bits.c
 *	  Bitmaps of the rows of a batch.
 *
 * Bit i of a bitmap of ZS_KERNEL_ROWS bits is row i of the batch; bits behind the
 * last row are 0.  Loops go word by word without a branch that depends on data,
 * but for the list of rows, which skips zero bits.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/kernel/kernel_bits.c
 *
 *-------------------------------------------------------------------------
 */
#include "kernel_internal.h"

/* Sets rows [first, first + count), which the batch has room for. */
void
zskernel_bits_set_range(uint64 *bits, uint32 first, uint32 count)
{
	uint32		end = first + count;

	Assert(end <= ZS_KERNEL_ROWS);
	for (uint32 w = first / 64; w * 64 < end; w++)
	{
		uint32		from = Max(first, w * 64) - w * 64;
		uint32		to = Min(end, w * 64 + 64) - w * 64;

		if (from < to)
			bits[w] |= (~UINT64CONST(0) >> (64 - (to - from))) << from;
	}
}

/* How many rows are set. */
KERNEL_CLONES uint32
zskernel_bits_count(const uint64 *bits)
{
	uint32		count = 0;

	for (int i = 0; i < ZS_KERNEL_WORDS; i++)
		count += __builtin_popcountll(bits[i]);
	return count;
}

/* The rows in ascending order; list has room for all.  Returns how many. */
KERNEL_CLONES uint32
zskernel_bits_list(const uint64 *bits, uint16 *list)
{
	uint32		n = 0;

	for (int i = 0; i < ZS_KERNEL_WORDS; i++)
	{
		if (bits[i] == ~UINT64CONST(0))
		{
			uint16	   *to = list + n;

			for (int k = 0; k < 64; k++)
				to[k] = (uint16) (i * 64 + k);
			n += 64;
			continue;
		}
		for (uint64 word = bits[i]; word != 0; word &= word - 1)
			list[n++] = (uint16) (i * 64 + __builtin_ctzll(word));
	}
	return n;
}

/* Bits from n bytes of which each is 0 or 1. */
KERNEL_CLONES void
zskernel_bits_from_bytes(const uint8 *bytes, uint32 n, uint64 *bits)
{
	Assert(n <= ZS_KERNEL_ROWS);
	for (uint32 w = 0; w < n / 64; w++)
		bits[w] = pack64(bytes + w * 64);
	for (uint32 w = n / 64; w < ZS_KERNEL_WORDS; w++)
		bits[w] = 0;
	for (uint32 i = n / 64 * 64; i < n; i++)
		bits[i / 64] |= (uint64) (bytes[i] != 0) << (i % 64);
}
