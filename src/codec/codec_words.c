/*-------------------------------------------------------------------------
 *
 * codec_words.c
 *	  Compression of text by a table of frequent pieces with prefix codes.
 *
 * Where FSST (codec_fsst.c) has 255 symbols of at most 8 bytes and one byte for each, this has up
 * to 2047 of at most 16, whole words for most languages, with Huffman codes of at most 12 bits.
 * Text shrinks as far as it does under LZ4 or zstd with a prefix, but each string can still be
 * decoded alone; in exchange the table takes some kilobytes of each segment.
 *
 * How the table is found: codec_words_build.c.  Decoding: codec_words_decode.c.
 *
 * Codes are canonical, handed out by rank: the most frequent symbol first, the escape last.  The
 * escape announces a byte of 8 bits that no symbol covers.
 *
 * Written table:
 *
 *		u16	number of codes, the escape included
 *		12 times u16: codes of 1, 2, .. 12 bits
 *		lengths of the symbols - 1, by rank, two in a byte, the first in the low half
 *		bytes of the symbols
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_words.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_words_find.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/* Where the group of a symbol of three bytes or more is noted. */
static inline uint16 *
group_of(ZsWordTable *table, const ZsWordSymbol *s)
{
	uint16	   *group;

	Assert(s->len >= 3 && s->len <= ZS_WORDS_LEN_MAX);
	if (s->len == 3)
		return &table->three_groups[hash_three(s->low)];
	if (s->len < ZS_WORDS_LONG)
		return &table->four_groups[hash_four(s->low)];
	group = &table->long_groups[hash_long(s->low)];
	if (s->len >= ZS_WORDS_VERY_LONG && (*group & ZS_WORDS_LONGER) != 0)
		return &table->very_long_groups[hash_very_long(s->low, s->high)];
	return group;
}

/* Turns the sizes of groups into where they end; returns where the last does. */
static uint32
end_groups(uint16 *groups, uint32 at)
{
	for (uint32 h = 0; h <= 1 << ZS_WORDS_HASH_BITS; h++)
	{
		at += groups[h] & ~ZS_WORDS_LONGER;
		groups[h] = (uint16) (at | (groups[h] & ZS_WORDS_LONGER));
	}
	return at;
}

/* Marks the groups of long symbols from which the very long ones are taken out. */
static void
mark_large_groups(ZsWordTable *table)
{
	for (uint32 i = 0; i < table->nsymbols; i++)
	{
		if (table->unsorted[i].len >= ZS_WORDS_LONG)
			table->long_groups[hash_long(table->unsorted[i].low)]++;
	}
	for (uint32 h = 0; h < lengthof(table->long_groups); h++)
		table->long_groups[h] = table->long_groups[h] > ZS_WORDS_GROUP_MAX ? ZS_WORDS_LONGER : 0;
}

/* Sorts the symbols of a table and makes its indexes, by which they are found. */
void
zscodec_words_index(ZsWordTable *table)
{
	uint32		n = table->nsymbols;
	uint32		at = 0;

	StaticAssertDecl(ZS_WORDS_SYMBOLS_MAX < ZS_WORDS_LONGER, "a place and the mark of a group");
	memset(table->very_long_groups, 0, sizeof(table->very_long_groups));
	memset(table->long_groups, 0, sizeof(table->long_groups));
	memset(table->four_groups, 0, sizeof(table->four_groups));
	memset(table->three_groups, 0, sizeof(table->three_groups));
	memset(table->by_pair, 0, sizeof(table->by_pair));
	memset(table->by_byte, 0, sizeof(table->by_byte));
	memcpy(table->unsorted, table->symbols, n * sizeof(ZsWordSymbol));
	mark_large_groups(table);
	for (uint32 i = 0; i < n; i++)
	{
		if (table->unsorted[i].len >= 3)
			++*group_of(table, &table->unsorted[i]);
	}
	at = end_groups(table->very_long_groups, at);
	at = end_groups(table->long_groups, at);
	at = end_groups(table->four_groups, at);
	at = end_groups(table->three_groups, at);

	/* filled from the end, short ones first, the ends become the beginnings */
	for (uint32 len = 3; len <= ZS_WORDS_LEN_MAX; len++)
	{
		for (uint32 i = 0; i < n; i++)
		{
			const ZsWordSymbol *s = &table->unsorted[i];

			if (s->len == len)
				table->symbols[--*group_of(table, s) & ~ZS_WORDS_LONGER] = *s;
		}
	}
	for (uint32 i = 0; i < n; i++)
	{
		const ZsWordSymbol *s = &table->unsorted[i];

		if (s->len >= 3)
			continue;
		table->symbols[at++] = *s;
		if (s->len == 2)
			table->by_pair[s->low] = (uint16) at;
		else
			table->by_byte[s->low] = (uint16) at;
	}
	Assert(at == n);
}

static inline void
put_bits(ZsBitWriter *w, uint32 bits, int n)
{
	Assert(n > 0 && n <= 32 && w->nbits < 8);
	w->bits |= (uint64) bits << (64 - n - w->nbits);
	w->nbits += n;
	store64(w->p, __builtin_bswap64(w->bits));
	w->p += w->nbits >> 3;
	w->bits <<= w->nbits & ~7;
	w->nbits &= 7;
}

/*
 * Codes one string.  Bytes up to limit, the end of the memory the string lies in, may be read; w
 * has room for ZS_WORDS_ENCODED_MAX(len).
 */
void
zscodec_words_encode(const ZsWordTable *table, const uint8 *in, size_t len, const uint8 *limit,
					 ZsBitWriter *w)
{
	const uint8 *end = in + len;
	const ZsWordSymbol *escape = &table->symbols[table->nsymbols];
	ZsBitWriter local = *w;

	Assert(end <= limit);
	while (in < end)
	{
		int			found = find_symbol(table, in, (size_t) (end - in), limit);

		if (likely(found >= 0))
		{
			put_bits(&local, table->symbols[found].code, table->symbols[found].code_len);
			in += table->symbols[found].len;
		}
		else
			put_bits(&local, ((uint32) escape->code << 8) | *in++, escape->code_len + 8);
	}
	*w = local;
}

/* Writes the table; returns its length, at most ZS_WORDS_TABLE_SIZE_MAX. */
size_t
zscodec_words_write(const ZsWordTable *table, uint8 *out)
{
	uint8	   *p = out + 2 + 2 * ZS_WORDS_CODE_MAX;
	uint32		n = table->nsymbols;

	memset(out, 0, 2 + 2 * ZS_WORDS_CODE_MAX);
	store16(out, (uint16) (n + 1));
	for (uint32 i = 0; i <= n; i++)
	{
		uint8	   *num = out + 2 * table->symbols[i].code_len;

		store16(num, load16(num) + 1);
	}
	memset(p, 0, (n + 1) / 2);
	for (uint32 rank = 0; rank < n; rank++)
		p[rank / 2] |= (uint8) ((table->symbols[table->order[rank]].len - 1) << (4 * (rank % 2)));
	p += (n + 1) / 2;
	for (uint32 rank = 0; rank < n; rank++)
	{
		const ZsWordSymbol *s = &table->symbols[table->order[rank]];

		memcpy(p, &s->low, Min(s->len, 8));
		if (s->len > 8)
			memcpy(p + 8, &s->high, s->len - 8);
		p += s->len;
	}
	Assert(p - out <= ZS_WORDS_TABLE_SIZE_MAX);
	return (size_t) (p - out);
}
