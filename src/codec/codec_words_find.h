/*-------------------------------------------------------------------------
 *
 * codec_words_find.h
 *	  Finding the longest symbol at a place of a string.
 *
 * Included by the files that build a table and that code by it: both look for a symbol at every
 * place of every string.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_words_find.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef CODEC_WORDS_FIND_H
#define CODEC_WORDS_FIND_H

#include "codec_words.h"

/* The bytes of a symbol that are in the low and in the high word, by its length. */
#define BYTES(n) \
	((n) <= 0 ? 0 : (n) >= 8 ? ~UINT64CONST(0) : (UINT64CONST(1) << (8 * ((n) & 7))) - 1)
#define BYTES_OF(n)	{BYTES(n), BYTES((n) - 8)}

static const uint64 masks[ZS_WORDS_LEN_MAX + 1][2] = {
	BYTES_OF(0), BYTES_OF(1), BYTES_OF(2), BYTES_OF(3), BYTES_OF(4), BYTES_OF(5), BYTES_OF(6),
	BYTES_OF(7), BYTES_OF(8), BYTES_OF(9), BYTES_OF(10), BYTES_OF(11), BYTES_OF(12), BYTES_OF(13),
	BYTES_OF(14), BYTES_OF(15), BYTES_OF(16)
};

static inline uint32
hash_three(uint64 low)
{
	return (uint32) (((low & 0xFFFFFF) * UINT64CONST(0x9E3779B97F4A7C15)) >>
					 (64 - ZS_WORDS_HASH_BITS));
}

static inline uint32
hash_four(uint64 low)
{
	return (uint32) (((low & 0xFFFFFFFF) * UINT64CONST(0x9E3779B97F4A7C15)) >>
					 (64 - ZS_WORDS_HASH_BITS));
}

static inline uint32
hash_long(uint64 low)
{
	return (uint32) (((low & BYTES(ZS_WORDS_LONG)) * UINT64CONST(0x9E3779B97F4A7C15)) >>
					 (64 - ZS_WORDS_HASH_BITS));
}

static inline uint32
hash_very_long(uint64 low, uint64 high)
{
	uint64		last = (high & BYTES(ZS_WORDS_VERY_LONG - 8)) * UINT64CONST(0xD6E8FEB86659FD93);

	return (uint32) (((low + last) * UINT64CONST(0x9E3779B97F4A7C15)) >> (64 - ZS_WORDS_HASH_BITS));
}

/* 16 bytes at p, as many as lie before limit. */
static inline void
load_words(const uint8 *p, const uint8 *limit, uint64 *low, uint64 *high)
{
	uint8		bytes[16] = {0};

	if (likely(limit - p >= 16))
	{
		*low = load64(p);
		*high = load64(p + 8);
		return;
	}
	memcpy(bytes, p, (size_t) (limit - p));
	*low = load64(bytes);
	*high = load64(bytes + 8);
}

/* Do these 16 bytes, of which left belong to the string, begin with the symbol? */
static inline bool
symbol_matches(const ZsWordSymbol *s, uint64 low, uint64 high, size_t left)
{
	return (((low ^ s->low) & masks[s->len][0]) | ((high ^ s->high) & masks[s->len][1])) == 0 &&
		s->len <= left;
}

/* The longest symbol at p, of which left bytes belong to the string; -1 = none. */
static inline int
find_symbol(const ZsWordTable *table, const uint8 *p, size_t left, const uint8 *limit)
{
	uint64		low;
	uint64		high;
	uint32		hash;
	uint32		at;
	uint32		group;
	uint32		end;

	load_words(p, limit, &low, &high);
	hash = hash_long(low);
	group = table->long_groups[hash];
	if (unlikely(group & ZS_WORDS_LONGER))
	{
		uint32		other = hash_very_long(low, high);

		end = table->very_long_groups[other + 1];
		for (at = table->very_long_groups[other]; at < end; at++)
		{
			if (symbol_matches(&table->symbols[at], low, high, left))
				return (int) at;
		}
	}
	end = table->long_groups[hash + 1] & ~ZS_WORDS_LONGER;
	for (at = group & ~ZS_WORDS_LONGER; at < end; at++)
	{
		if (symbol_matches(&table->symbols[at], low, high, left))
			return (int) at;
	}
	hash = hash_four(low);
	for (at = table->four_groups[hash]; at < table->four_groups[hash + 1]; at++)
	{
		const ZsWordSymbol *s = &table->symbols[at];

		if (((low ^ s->low) & masks[s->len][0]) == 0 && s->len <= left)
			return (int) at;
	}
	hash = hash_three(low);
	for (at = table->three_groups[hash]; at < table->three_groups[hash + 1]; at++)
	{
		const ZsWordSymbol *s = &table->symbols[at];

		if (((low ^ s->low) & masks[s->len][0]) == 0 && s->len <= left)
			return (int) at;
	}
	if (left >= 2 && (at = table->by_pair[low & 0xFFFF]) != 0)
		return (int) at - 1;
	return (int) table->by_byte[low & 0xFF] - 1;
}

#endif							/* CODEC_WORDS_FIND_H */
