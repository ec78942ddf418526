/*-------------------------------------------------------------------------
 *
 * codec_fsst.c
 *	  Compression of short strings by a table of up to 255 symbols.
 *
 * FSST (Boncz, Neumann and Leis, "FSST: Fast Random Access String Compression", 2020) replaces
 * frequent pieces of 1 to 8 bytes by one-byte codes.  Each string is coded on its own, so one
 * string can be decoded without its neighbours; code 255 announces a byte that no symbol covers.
 *
 * The table grows in generations.  Each codes a sample with the table so far and counts the symbols
 * used and the pairs that follow each other; symbols and concatenated pairs are candidates, worth
 * count times length, and the 255 best become the next table.  Lookup tries, longest first: a slot
 * chosen by the first three bytes, a table of two bytes, a table of one.  A slot holds one symbol;
 * a candidate whose slot is taken by a better one is dropped.
 *
 * Written table: u8 count, the lengths, the symbols' bytes.  Symbols are in the order of their
 * lengths: which one a code stands for need not be looked up to know how long it is.  Those of
 * older segments are not.  What reads it: codec_fsst_decode.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_fsst.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_fsst.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

#define GENERATIONS			5

/*
 * The first generations code a part of the sample, as in the reference implementation: what short
 * symbols there are shows in little text.
 */
static const uint8 sample_eighths[GENERATIONS] = {2, 4, 6, 8, 8};

/* Candidates of a gain below are grouped by it. */
#define GAINS				1024

/* While building, codes 0..255 are bytes and 256.. are symbols. */
#define CODE_SPACE			512
#define FIRST_SYMBOL		256

#define CANDIDATE_SLOTS		32768
#define CANDIDATES_MAX		16384

/* As many pairs of the sample can occur twice. */
#define REPEATED_MAX		(ZS_FSST_SAMPLE_MAX / 2)

typedef struct Candidate
{
	uint64		symbol;
	uint32		len;
	uint32		gain;
} Candidate;

typedef struct BuildScratch
{
	uint16		pairs[CODE_SPACE][CODE_SPACE];	/* rows of codes that were used */
	uint16		singles[CODE_SPACE];
	uint32		repeated[REPEATED_MAX]; /* pairs seen twice: first code * CODE_SPACE + second */
	uint32		nrepeated;
	Candidate	candidates[CANDIDATES_MAX];
	Candidate	ordered[CANDIDATES_MAX];	/* the best come first */
	uint16		groups[GAINS * 8 + 1];	/* how many they have, then where they begin */
	uint32		ncandidates;
	uint16		slots[CANDIDATE_SLOTS]; /* index + 1 into candidates */
} BuildScratch;

/* Scratch memory for building a table, in bytes. */
size_t
zscodec_fsst_scratch_size(void)
{
	return sizeof(BuildScratch);
}

static inline uint32
hash_three(uint64 word)
{
	return (uint32) (((word & 0xFFFFFF) * UINT64CONST(0x9E3779B97F4A7C15)) >> 53);
}

StaticAssertDecl(ZS_FSST_HASH_SIZE == 1 << (64 - 53), "hash gives a slot");

static inline uint64
len_mask(uint32 len)
{
	return len >= 8 ? ~UINT64CONST(0) : (UINT64CONST(1) << (8 * len)) - 1;
}

/* An empty table, from memory with anything in it. */
static void
init_table(ZsSymbolTable *table)
{
	table->nsymbols = 0;
	memset(table->by_byte, 0, sizeof(table->by_byte));
	memset(table->by_pair, 0, sizeof(table->by_pair));
	memset(table->hash, 0, sizeof(table->hash));
}

/* Takes all symbols out: they are few, and the table is large. */
static void
clear_table(ZsSymbolTable *table)
{
	for (uint32 i = 0; i < table->nsymbols; i++)
	{
		uint64		symbol = table->symbols[i];

		if (table->lens[i] == 1)
			table->by_byte[symbol] = (ZsFsstCode) {0, 0};
		else if (table->lens[i] == 2)
			table->by_pair[symbol] = (ZsFsstCode) {0, 0};
		else
			table->hash[hash_three(symbol)] = (ZsFsstSlot) {0};
	}
	table->nsymbols = 0;
}

/* Adds a symbol; false when its slot is taken. */
static bool
add_symbol(ZsSymbolTable *table, uint64 symbol, uint32 len)
{
	ZsFsstCode	code = {(uint16) (table->nsymbols + 1), (uint16) len};

	Assert(table->nsymbols < ZS_FSST_SYMBOLS_MAX && len >= 1 && len <= 8);
	if (len == 1)
		table->by_byte[symbol] = code;
	else if (len == 2)
		table->by_pair[symbol] = code;
	else
	{
		ZsFsstSlot *slot = &table->hash[hash_three(symbol)];

		if (slot->mask != 0)
			return false;
		slot->symbol = symbol;
		slot->mask = len_mask(len);
		slot->code = code;
	}
	table->symbols[table->nsymbols] = symbol;
	table->lens[table->nsymbols] = (uint8) len;
	table->nsymbols++;
	return true;
}

/*
 * The longest symbol at the start of word, of which left bytes belong to the string: its code plus
 * 1, or 0 where there is none.  Each way sets a length of its own, not one that was read: so where
 * the next symbol begins is known as soon as the way is guessed.
 */
static inline uint32
find_symbol(const ZsSymbolTable *table, uint64 word, size_t left, uint32 *len)
{
	const ZsFsstSlot *slot = &table->hash[hash_three(word)];
	uint32		code1;

	if ((word & slot->mask) == slot->symbol && slot->mask != 0 && slot->code.len <= left)
	{
		*len = slot->code.len;
		return slot->code.code1;
	}
	code1 = table->by_pair[word & 0xFFFF].code1;
	if (code1 != 0 && left >= 2)
	{
		*len = 2;
		return code1;
	}
	*len = 1;
	return table->by_byte[word & 0xFF].code1;
}

/* 8 bytes at p, as many as lie before limit. */
static inline uint64
load_word(const uint8 *p, const uint8 *limit)
{
	uint64		word = 0;

	if (likely(limit - p >= 8))
		return load64(p);
	memcpy(&word, p, (size_t) (limit - p));
	return word;
}

/* Codes `budget` bytes of the sample and counts what is used and what follows what. */
static void
count_sample(const ZsSymbolTable *table, BuildScratch *s, const uint8 *const *strings,
			 const uint32 *lens, uint32 nstrings, const uint8 *limit, size_t budget)
{
	memset(s->singles, 0, sizeof(s->singles));
	s->nrepeated = 0;
	for (uint32 i = 0; i < nstrings && budget > 0; i++)
	{
		const uint8 *p = strings[i];
		const uint8 *end = p + Min(lens[i], budget);
		int			prev = -1;

		budget -= (size_t) (end - p);
		while (p < end)
		{
			uint32		len;
			uint32		code1 = find_symbol(table, load_word(p, limit), (size_t) (end - p), &len);
			int			code = code1 != 0 ? FIRST_SYMBOL + (int) code1 - 1 : *p;

			if (s->singles[code]++ == 0)
				memset(s->pairs[code], 0, sizeof(s->pairs[code]));
			if (prev >= 0 && s->pairs[prev][code]++ == 1)
				s->repeated[s->nrepeated++] = (uint32) (prev * CODE_SPACE + code);
			prev = code;
			p += len;
		}
	}
	Assert(s->nrepeated <= REPEATED_MAX);
}

/* Notes a candidate; one that is known already gains. */
static void
note_candidate(BuildScratch *s, uint64 symbol, uint32 len, uint32 gain)
{
	uint32		at = (uint32) (((symbol ^ len) * UINT64CONST(0x9E3779B97F4A7C15)) >> 49);

	for (; s->slots[at] != 0; at = (at + 1) % CANDIDATE_SLOTS)
	{
		Candidate  *c = &s->candidates[s->slots[at] - 1];

		if (c->symbol == symbol && c->len == len)
		{
			c->gain += gain;
			return;
		}
	}
	if (s->ncandidates == CANDIDATES_MAX)
		return;
	s->candidates[s->ncandidates] = (Candidate)
	{
		symbol, len, gain
	};
	s->slots[at] = (uint16) ++s->ncandidates;
}

StaticAssertDecl(CANDIDATE_SLOTS == 1 << (64 - 49), "hash gives a slot");

static inline void
code_bytes(const ZsSymbolTable *table, int code, uint64 *symbol, uint32 *len)
{
	*symbol = code < FIRST_SYMBOL ? (uint64) code : table->symbols[code - FIRST_SYMBOL];
	*len = code < FIRST_SYMBOL ? 1 : table->lens[code - FIRST_SYMBOL];
}

/* Candidates of this generation: what was used, and in all but the last, what was used in a row. */
static void
gather_candidates(const ZsSymbolTable *table, BuildScratch *s, bool with_pairs)
{
	int			ncodes = FIRST_SYMBOL + (int) table->nsymbols;

	s->ncandidates = 0;
	memset(s->slots, 0, sizeof(s->slots));
	for (int code = 0; code < ncodes; code++)
	{
		uint64		symbol;
		uint32		len;

		if (s->singles[code] == 0)
			continue;
		code_bytes(table, code, &symbol, &len);
		/* A byte that becomes a symbol saves its escape too. */
		note_candidate(s, symbol, len, s->singles[code] * (len == 1 ? 8 : len));
	}
	for (uint32 i = 0; with_pairs && i < s->nrepeated; i++)
	{
		int			first = (int) (s->repeated[i] / CODE_SPACE);
		int			second = (int) (s->repeated[i] % CODE_SPACE);
		uint64		symbol;
		uint64		next;
		uint32		len;
		uint32		next_len;
		uint32		total;

		code_bytes(table, first, &symbol, &len);
		if (len == 8)
			continue;
		code_bytes(table, second, &next, &next_len);
		total = Min(len + next_len, 8);
		note_candidate(s, (symbol | (next << (8 * len))) & len_mask(total), total,
					   s->pairs[first][second] * total);
	}
}

static int
compare_gains(const void *a, const void *b)
{
	const Candidate *ca = a;
	const Candidate *cb = b;

	if (ca->gain != cb->gain)
		return ca->gain > cb->gain ? -1 : 1;
	if (ca->len != cb->len)
		return ca->len > cb->len ? -1 : 1;
	return ca->symbol < cb->symbol ? -1 : ca->symbol > cb->symbol;
}

/* Where a candidate's group is: that of large gains is 0, and longer symbols come first. */
static inline uint32
gain_group(const Candidate *c)
{
	Assert(c->len >= 1 && c->len <= 8);
	return c->gain >= GAINS ? 0 : (GAINS - c->gain) * 8 - c->len + 1;
}

/*
 * Adds the best candidates to the empty table, until it is full.  Those of the same gain and length
 * are a group, in which they stay in the order in which they were found; but all large gains are
 * one, which is sorted.
 */
static void
take_candidates(ZsSymbolTable *table, BuildScratch *s)
{
	uint32		nlarge;
	uint32		start = 0;

	memset(s->groups, 0, sizeof(s->groups));
	for (uint32 i = 0; i < s->ncandidates; i++)
		s->groups[gain_group(&s->candidates[i])]++;
	nlarge = s->groups[0];
	for (uint32 g = 0; g < lengthof(s->groups); g++)
	{
		uint32		n = s->groups[g];

		s->groups[g] = (uint16) start;
		start += n;
	}
	for (uint32 i = 0; i < s->ncandidates; i++)
		s->ordered[s->groups[gain_group(&s->candidates[i])]++] = s->candidates[i];
	qsort(s->ordered, nlarge, sizeof(Candidate), compare_gains);
	for (uint32 i = 0; i < s->ncandidates && table->nsymbols < ZS_FSST_SYMBOLS_MAX; i++)
		add_symbol(table, s->ordered[i].symbol, s->ordered[i].len);
}

/* Gives symbols their codes in the order of their lengths. */
static void
sort_by_length(ZsSymbolTable *table)
{
	uint64		symbols[ZS_FSST_SYMBOLS_MAX];
	uint8		lens[ZS_FSST_SYMBOLS_MAX];
	uint32		n = table->nsymbols;

	memcpy(symbols, table->symbols, n * sizeof(uint64));
	memcpy(lens, table->lens, n);
	clear_table(table);
	for (uint32 len = 1; len <= 8; len++)
	{
		for (uint32 i = 0; i < n; i++)
		{
			if (lens[i] == len)
				add_symbol(table, symbols[i], len);
		}
	}
	/* each has a slot of its own */
	Assert(table->nsymbols == n);
}

/*
 * Builds a table from sample strings, of which it looks at so many bytes; up to limit, the end of
 * the memory they lie in, may be read.  scratch has zscodec_fsst_scratch_size() bytes.
 */
void
zscodec_fsst_build(ZsSymbolTable *table, void *scratch, const uint8 *const *strings,
				   const uint32 *lens, uint32 nstrings, const uint8 *limit, uint32 bytes)
{
	BuildScratch *s = scratch;

	Assert(bytes <= ZS_FSST_SAMPLE_MAX);
	init_table(table);
	for (int g = 0; g < GENERATIONS; g++)
	{
		count_sample(table, s, strings, lens, nstrings, limit,
					 bytes / 8 * sample_eighths[g]);
		gather_candidates(table, s, g < GENERATIONS - 1);
		Assert(s->ncandidates <= CANDIDATES_MAX);
		clear_table(table);
		take_candidates(table, s);
	}
	sort_by_length(table);
}

/*
 * Codes one string; returns the end of the output.  Bytes up to limit, the end of the memory the
 * string lies in, may be read; out has ZS_FSST_ENCODED_MAX(len).
 */
uint8 *
zscodec_fsst_encode(const ZsSymbolTable *table, const uint8 *in, size_t len, const uint8 *limit,
					uint8 *out)
{
	const uint8 *end = in + len;

	Assert(end <= limit);
	/* find_symbol() where no end is near; how far a way goes is what its jump has, no variable */
	while (end - in >= 8)
	{
		uint64		word = load64(in);
		const ZsFsstSlot *slot = &table->hash[hash_three(word)];
		uint32		code1;

		if ((word & slot->mask) == slot->symbol && slot->mask != 0)
		{
			*out++ = (uint8) (slot->code.code1 - 1);
			in += slot->code.len;
			continue;
		}
		code1 = table->by_pair[word & 0xFFFF].code1;
		if (code1 != 0)
		{
			*out++ = (uint8) (code1 - 1);
			in += 2;
			continue;
		}
		code1 = table->by_byte[word & 0xFF].code1;
		*out++ = (uint8) (code1 - 1);
		if (code1 == 0)
			*out++ = *in;
		in++;
	}
	while (in < end)
	{
		uint32		found;
		uint32		code1 = find_symbol(table, load_word(in, limit), (size_t) (end - in), &found);

		*out++ = (uint8) (code1 - 1);
		if (code1 == 0)
			*out++ = *in;
		in += found;
	}
	return out;
}

/* Writes the table; returns its length, at most ZS_FSST_TABLE_SIZE_MAX. */
size_t
zscodec_fsst_write(const ZsSymbolTable *table, uint8 *out)
{
	uint8	   *p = out;

	*p++ = (uint8) table->nsymbols;
	memcpy(p, table->lens, table->nsymbols);
	p += table->nsymbols;
	for (uint32 i = 0; i < table->nsymbols; i++)
	{
		memcpy(p, &table->symbols[i], table->lens[i]);
		p += table->lens[i];
	}
	Assert(p - out <= ZS_FSST_TABLE_SIZE_MAX);
	return (size_t) (p - out);
}
