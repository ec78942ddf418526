/*-------------------------------------------------------------------------
 *
 * codec_dict_sample.c
 *	  May a dictionary pay?
 *
 * A dictionary pays when values repeat across the segment in no particular order.  A sample of rows
 * spread over the segment says whether that may be so.  Strings get a second chance: a sample does
 * not show the pages that one visitor in a thousand looks at, so a filter of hashes estimates how
 * many rows repeat an earlier one.  Integers do, too: users, addresses and hashes of which a
 * segment has ten thousand or more.  Whether a large dictionary pays then is a matter of its size,
 * so the same filter counts the distinct values, and codes and entries must come out well below
 * what a few vectors take as they are.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_dict_sample.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_dict_table.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

#define SAMPLE_ROWS			1024

/* Bits of the filter for a full segment, a power of two, and for a row of a smaller one. */
#define FILTER_BITS			(1 << 21)
#define FILTER_ROW_BITS		32

/* The shortest average string that counts. */
#define FILTER_MIN_LEN		12

/*
 * Many distinct integers: repeats in the sample, bits of the range from which on a large dictionary
 * is thought of.
 */
#define MANY_MIN_REPEATS	12
#define MANY_MIN_WIDTH		20

/*
 * A large dictionary must save one in so many bytes, and bits that a sorted entry takes beyond
 * those of the gaps.
 */
#define MANY_SAVING			5
#define MANY_ENTRY_BITS		3

/* Makes an empty filter for so many rows; returns its bits, a power of two. */
static uint32
clear_filter(ZsDictTable *t, uint32 nrows)
{
	uint32		bits = FILTER_BITS;

	StaticAssertDecl(sizeof(t->slots) * 8 >= FILTER_BITS, "filter fits the slots");
	while (bits / 2 >= Max(nrows, 1) * FILTER_ROW_BITS)
		bits /= 2;
	memset(t->slots, 0, bits / 8);
	return bits;
}

/*
 * Do enough strings repeat anywhere in the segment?  A filter of hashes counts those that were seen
 * before.  hashes[row] is set for all values that are no overflow pointers, if it says so.
 */
static bool
strings_repeat(ZsDictTable *t, const ZsColumnInput *in, uint32 *hashes)
{
	uint64		total = in->offsets[in->nrows] - in->offsets[0];
	uint64		nrepeats = 0;
	uint64		nvalues = 0;
	uint32		nbits;

	if (total / in->nrows < FILTER_MIN_LEN)
		return false;
	nbits = clear_filter(t, in->nrows);
	for (uint32 row = 0; row < in->nrows; row++)
	{
		uint32		hash;
		uint32		bit;

		if (is_set(in->isnull, row) || is_set(in->isext, row))
			continue;
		hashes[row] = hash_of_row(in, row);
		hash = hashes[row] & (nbits - 1);
		bit = 1u << (hash % 32);
		nrepeats += (t->slots[hash / 32] & bit) != 0;
		t->slots[hash / 32] |= bit;
		nvalues++;
	}
	return nvalues >= 4 * ZS_DICT_MIN_ROWS && nrepeats >= nvalues / ZS_DICT_MIN_SHARE;
}

/* Bits that a value takes as it is, in 64ths, in three vectors. */
static uint64
native_bits(const ZsColumnInput *in)
{
	uint32		nvectors = in->nrows / ZS_VECTOR_ROWS;
	uint64		values[ZS_VECTOR_ROWS];
	uint8		out[ZS_INTS_SIZE_MAX(ZS_VECTOR_ROWS)];
	uint64		size = 0;
	uint64		nvalues = 0;

	for (uint32 i = 0; i < 3; i++)
	{
		uint32		first = nvectors * i / 3 * ZS_VECTOR_ROWS;
		uint32		n = 0;

		for (uint32 row = first; row < Min(in->nrows, first + ZS_VECTOR_ROWS); row++)
		{
			if (!is_set(in->isnull, row))
				values[n++] = (uint64) in->ints[row];
		}
		if (n > 0)
			size += zscodec_ints_encode(values, n, out);
		nvalues += n;
	}
	return nvalues == 0 ? 0 : size * 8 * 64 / nvalues;
}

/*
 * Would a large dictionary of integers save enough?  Its size follows from the number of distinct
 * values.
 */
static bool
many_pay(ZsDictTable *t, const ZsColumnInput *in)
{
	uint64		native = native_bits(in);
	uint64		ndistinct = 0;
	uint64		nvalues = 0;
	int64		min = PG_INT64_MAX;
	int64		max = PG_INT64_MIN;
	uint64		bits;
	uint32		nbits = clear_filter(t, in->nrows);
	int			width;

	for (uint32 row = 0; row < in->nrows; row++)
	{
		uint32		hash;
		uint32		bit;

		if (is_set(in->isnull, row))
			continue;
		hash = mix((uint64) in->ints[row], 0) & (nbits - 1);
		bit = 1u << (hash % 32);
		ndistinct += (t->slots[hash / 32] & bit) == 0;
		t->slots[hash / 32] |= bit;
		min = Min(min, in->ints[row]);
		max = Max(max, in->ints[row]);
		nvalues++;
	}
	if (ndistinct < 2 || ndistinct > ZS_DICT_ENTRIES_MAX)
		return false;
	width = bit_width(ndistinct - 1);
	bits = ndistinct * (uint64) (Max(bit_width((uint64) max - (uint64) min) - width, 0) +
								 MANY_ENTRY_BITS) +
		nvalues * (uint64) width;
	return bits * 64 <= nvalues * (native - native / MANY_SAVING);
}

/*
 * Do values repeat in a sample, and would codes be shorter than what they stand for?  t: memory to
 * use; what is in it afterwards means nothing.  If all strings had to be hashed for that, *hashed
 * is set, and hashes has those of all rows with a value here.
 */
bool
zscodec_dict_may_pay(ZsDictTable *t, const ZsColumnInput *in, uint32 *hashes, bool *hashed)
{
	uint32		step = Max(in->nrows / SAMPLE_ROWS, 1);
	uint32		most = in->kind >= ZS_KIND_FIXED ||
		in->kind == ZS_KIND_INT ? in->nrows : (in->nrows / step + 1) / 4;
	uint32	   *seen = t->order;	/* how often, by code */
	uint32		nseen = 0;
	uint32		nknown = 0;
	uint32		nonce = 0;
	int64		min = PG_INT64_MAX;
	int64		max = PG_INT64_MIN;

	*hashed = false;
	clear_table(t);
	for (uint32 row = 0; row < in->nrows; row += step)
	{
		uint32		code;

		if (is_set(in->isnull, row) || is_set(in->isext, row))
			continue;
		code = code_of_row(t, in, row, ZS_DICT_ENTRIES_MAX);
		if (code == ZS_DICT_NO_CODE || t->n > most)
			return false;
		if (t->n > nknown)
			seen[nknown++] = 0;
		nseen++;
		nonce += seen[code] == 0;
		nonce -= seen[code] == 1;
		seen[code]++;
		if (in->kind < ZS_KIND_NUMERIC)
		{
			min = Min(min, in->ints[row]);
			max = Max(max, in->ints[row]);
		}
	}
	if (nseen < ZS_DICT_MIN_ROWS || t->n < 2)
		return false;
	if (in->kind >= ZS_KIND_FIXED)
	{
		if (t->n <= nseen - nseen / 4)
			return true;
		*hashed = strings_repeat(t, in, hashes);
		return *hashed;
	}
	/*
	 * Values seen once foretell as large a share of unseen ones among the other rows (Good and
	 * Turing).
	 */
	if (t->n > nseen / 4 || nonce > nseen / 32)
		return in->kind == ZS_KIND_INT && nseen - t->n >= MANY_MIN_REPEATS &&
			bit_width((uint64) max - (uint64) min) >= MANY_MIN_WIDTH && many_pay(t, in);
	return in->kind == ZS_KIND_NUMERIC ||
		bit_width(t->n) + 2 <= bit_width((uint64) max - (uint64) min);
}
