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

/* So many times as many candidates as symbols are put in order: some find their slots taken. */
#define CANDIDATE_SPARES	3

/* While building, codes 0..255 are bytes and 256.. are symbols. */
#define CODE_SPACE			512
#define FIRST_SYMBOL		256

#define CANDIDATE_SLOTS		32768
#define CANDIDATES_MAX		16384

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
	Candidate	candidates[CANDIDATES_MAX];
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

static void
clear_table(ZsSymbolTable *table)
{
	table->nsymbols = 0;
	memset(table->by_byte, 0, sizeof(table->by_byte));
	memset(table->by_pair, 0, sizeof(table->by_pair));
	memset(table->hash, 0, sizeof(table->hash));
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
 * The longest symbol at the start of word, of which left bytes belong to the string; code1 0 =
 * none.
 */
static inline ZsFsstCode
find_symbol(const ZsSymbolTable *table, uint64 word, size_t left)
{
	const ZsFsstSlot *slot = &table->hash[hash_three(word)];
	ZsFsstCode	code;

	if ((word & slot->mask) == slot->symbol && slot->mask != 0 && slot->code.len <= left)
		return slot->code;
	code = table->by_pair[word & 0xFFFF];
	if (code.code1 != 0 && left >= 2)
		return code;
	return table->by_byte[word & 0xFF];
}

/* 8 bytes at p, as many as lie before limit. */
static inline uint64
load_word(const uint8 *p, const uint8 *limit)
{
	uint64		word = 0;

	if (limit - p >= 8)
		return load64(p);
	memcpy(&word, p, (size_t) (limit - p));
	return word;
}

/* Codes `budget` bytes of the sample and counts what is used and what follows what. */
static void
count_sample(const ZsSymbolTable *table, BuildScratch *s, const uint8 *const *strings,
			 const uint32 *lens, uint32 nstrings, size_t budget)
{
	memset(s->singles, 0, sizeof(s->singles));
	for (uint32 i = 0; i < nstrings && budget > 0; i++)
	{
		const uint8 *p = strings[i];
		const uint8 *end = p + Min(lens[i], budget);
		int			prev = -1;

		budget -= (size_t) (end - p);
		while (p < end)
		{
			ZsFsstCode	found = find_symbol(table, load_word(p, end), (size_t) (end - p));
			int			code = found.code1 != 0 ? FIRST_SYMBOL + found.code1 - 1 : *p;

			if (s->singles[code]++ == 0)
				memset(s->pairs[code], 0, sizeof(s->pairs[code]));
			if (prev >= 0)
				s->pairs[prev][code]++;
			prev = code;
			p += found.code1 != 0 ? found.len : 1;
		}
	}
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
	for (int a = 0; a < ncodes; a++)
	{
		uint64		symbol;
		uint32		len;

		if (s->singles[a] == 0)
			continue;
		code_bytes(table, a, &symbol, &len);
		/* A byte that becomes a symbol saves its escape too. */
		note_candidate(s, symbol, len, s->singles[a] * (len == 1 ? 8 : len));
		if (!with_pairs || len == 8)
			continue;
		for (int b = 0; b < ncodes; b++)
		{
			uint64		next;
			uint32		next_len;
			uint32		total;

			/* most are 0, and four of them are looked at together */
			if (b % 4 == 0 && b + 4 <= ncodes &&
				load64((const uint8 *) &s->pairs[a][b]) == 0)
			{
				b += 3;
				continue;
			}
			if (s->pairs[a][b] < 2)
				continue;
			code_bytes(table, b, &next, &next_len);
			total = Min(len + next_len, 8);
			note_candidate(s, (symbol | (next << (8 * len))) & len_mask(total), total,
						   s->pairs[a][b] * total);
		}
	}
}

static int
compare_candidates(const void *a, const void *b)
{
	const Candidate *ca = a;
	const Candidate *cb = b;

	if (ca->gain != cb->gain)
		return ca->gain > cb->gain ? -1 : 1;
	if (ca->len != cb->len)
		return ca->len > cb->len ? -1 : 1;
	return ca->symbol < cb->symbol ? -1 : ca->symbol > cb->symbol;
}

/*
 * Moves the candidates of the most gain to the front and puts them in order; returns how many they
 * are.  Most of the others, which gain little, are never looked at.
 */
static uint32
sort_best(Candidate *candidates, uint32 n)
{
	uint32		counts[1024] = {0};
	uint32		limit = lengthof(counts);
	uint32		best = 0;
	uint32		to = 0;

	for (uint32 i = 0; i < n; i++)
		counts[Min(candidates[i].gain, lengthof(counts) - 1)]++;
	while (limit > 0 && best < CANDIDATE_SPARES * ZS_FSST_SYMBOLS_MAX)
		best += counts[--limit];
	for (uint32 i = 0; i < n && to < best; i++)
	{
		Candidate	c = candidates[i];

		if (c.gain < limit)
			continue;
		candidates[i] = candidates[to];
		candidates[to++] = c;
	}
	Assert(to == best);
	qsort(candidates, best, sizeof(Candidate), compare_candidates);
	return best;
}

/* Adds the best candidates to the empty table, until it is full. */
static void
take_candidates(ZsSymbolTable *table, BuildScratch *s)
{
	uint32		sorted = sort_best(s->candidates, s->ncandidates);

	for (uint32 i = 0; i < s->ncandidates && table->nsymbols < ZS_FSST_SYMBOLS_MAX; i++)
	{
		if (i == sorted)
		{
			qsort(s->candidates + i, s->ncandidates - i, sizeof(Candidate), compare_candidates);
			sorted = s->ncandidates;
		}
		add_symbol(table, s->candidates[i].symbol, s->candidates[i].len);
	}
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
 * Builds a table from sample strings, of which it looks at so many bytes; scratch has
 * zscodec_fsst_scratch_size() bytes.
 */
void
zscodec_fsst_build(ZsSymbolTable *table, void *scratch, const uint8 *const *strings,
				   const uint32 *lens, uint32 nstrings, uint32 bytes)
{
	BuildScratch *s = scratch;

	Assert(bytes <= ZS_FSST_SAMPLE_MAX);
	clear_table(table);
	for (int g = 0; g < GENERATIONS; g++)
	{
		count_sample(table, s, strings, lens, nstrings,
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
	while (in < end)
	{
		ZsFsstCode	found = find_symbol(table, load_word(in, limit), (size_t) (end - in));

		if (found.code1 != 0)
		{
			*out++ = (uint8) (found.code1 - 1);
			in += found.len;
		}
		else
		{
			*out++ = ZS_FSST_ESCAPE;
			*out++ = *in++;
		}
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
