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
 * older segments are not.
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

/* Codes the sample and counts what is used and what follows what. */
static void
count_sample(const ZsSymbolTable *table, BuildScratch *s, const uint8 *const *strings,
			 const uint32 *lens, uint32 nstrings)
{
	size_t		budget = ZS_FSST_SAMPLE_MAX;

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

/* Builds a table from sample strings; scratch has zscodec_fsst_scratch_size() bytes. */
void
zscodec_fsst_build(ZsSymbolTable *table, void *scratch, const uint8 *const *strings,
				   const uint32 *lens, uint32 nstrings)
{
	BuildScratch *s = scratch;

	clear_table(table);
	for (int g = 0; g < GENERATIONS; g++)
	{
		count_sample(table, s, strings, lens, nstrings);
		gather_candidates(table, s, g < GENERATIONS - 1);
		Assert(s->ncandidates <= CANDIDATES_MAX);
		qsort(s->candidates, s->ncandidates, sizeof(Candidate), compare_candidates);
		clear_table(table);
		for (uint32 i = 0; i < s->ncandidates && table->nsymbols < ZS_FSST_SYMBOLS_MAX; i++)
			add_symbol(table, s->candidates[i].symbol, s->candidates[i].len);
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

/* Reads a table into arrays of 256; codes without symbol get length 0, which decoding refuses. */
const char *
zscodec_fsst_read(ZsReader *r, uint64 *symbols, uint8 *lens, uint32 *nsymbols)
{
	size_t		total = 0;

	if (reader_left(r) < 1)
		return ZS_ERR_SHORT;
	*nsymbols = *r->p++;
	if (reader_left(r) < *nsymbols)
		return ZS_ERR_SHORT;
	memset(symbols, 0, 256 * sizeof(uint64));
	memset(lens, 0, 256);
	for (uint32 i = 0; i < *nsymbols; i++)
	{
		lens[i] = r->p[i];
		if (lens[i] < 1 || lens[i] > 8)
			return "symbol length out of range";
		total += lens[i];
	}
	r->p += *nsymbols;
	if (reader_left(r) < total)
		return ZS_ERR_SHORT;
	for (uint32 i = 0; i < *nsymbols; i++)
	{
		memcpy(&symbols[i], r->p, lens[i]);
		r->p += lens[i];
	}
	return NULL;
}

/*
 * Decodes a string of exactly len bytes; up to 8 bytes behind it are scribbled over.  False when
 * the codes end early, are unknown or do not add up.
 */
bool
zscodec_fsst_decode(ZsReader *r, const uint64 *symbols, const uint8 *lens, uint8 *out, size_t len)
{
	const uint8 *p = r->p;
	const uint8 *p_end = r->end;
	uint8	   *end = out + len;

	while (out < end)
	{
		uint8		code;

		if (p >= p_end)
			return false;
		code = *p++;
		if (likely(code != ZS_FSST_ESCAPE))
		{
			if (unlikely(lens[code] == 0))
				return false;
			store64(out, symbols[code]);
			out += lens[code];
		}
		else
		{
			if (p >= p_end)
				return false;
			*out++ = *p++;
		}
	}
	r->p = p;
	return out == end;
}

/* Codes that are looked at together. */
#define BLOCK_CODES		64

/* Fewer decoded bytes are skipped code by code. */
#define BLOCKS_MIN		1024

/*
 * Which codes stand for more than 1, 2, .. 7 bytes: those from limits[0], limits[1] .. on; from
 * limits[7] on there are none.  False if symbols are not in the order of their lengths.
 */
static bool
length_limits(const uint8 *lens, uint8 *limits)
{
	int			n = 0;

	for (int len = 1; len <= 8; len++)
	{
		while (lens[n] == len)
			n++;
		limits[len - 1] = (uint8) n;
	}
	return n == ZS_FSST_ESCAPE || lens[n] == 0;
}

/* Codes, or what is made of them, side by side; a comparison gives 0 and 0xFF. */
typedef uint8 CodeVector __attribute__((vector_size(BLOCK_CODES / 2)));

/* The sum of 32 bytes' words, each byte of which is at most 127. */
static inline uint32
sum_bytes(uint64 words)
{
	words = (words & UINT64CONST(0x00FF00FF00FF00FF)) +
		((words >> 8) & UINT64CONST(0x00FF00FF00FF00FF));
	return (uint32) ((words * UINT64CONST(0x0001000100010001)) >> 48);
}

/*
 * The bytes that the codes of a block stand for, escaped ones with their escapes: that of an escape
 * at its end, too, which lies behind it.  The byte before the block is looked at as well.  0: they
 * have to be looked at one by one.
 */
static ZS_CLONES uint32
block_bytes(const uint8 *p, const uint8 *limits)
{
	CodeVector	bad = {0};
	uint64		words[BLOCK_CODES / 2 / sizeof(uint64)];
	uint64		sum = 0;

	if (p[-1] == ZS_FSST_ESCAPE)
		return 0;
	for (int half = 0; half < 2; half++)
	{
		CodeVector	code;
		CodeVector	before;
		CodeVector	escape;
		CodeVector	escaped;
		CodeVector	len;

		memcpy(&code, p + half * sizeof(code), sizeof(code));
		memcpy(&before, p + half * sizeof(code) - 1, sizeof(code));
		escape = (CodeVector) (code == ZS_FSST_ESCAPE);
		escaped = (CodeVector) (before == ZS_FSST_ESCAPE);
		len = 1 - (CodeVector) (code >= limits[0]);
		for (int i = 1; i < 7; i++)
			len -= (CodeVector) (code >= limits[i]);

		/* an escape behind another may be the byte that this one is for */
		bad |= (escape & escaped) | ((CodeVector) (code >= limits[7]) & ~escape & ~escaped);
		/* an escape is above all limits, and stands for one byte */
		len = (len - (escape & 7)) & ~escaped;
		memcpy(words, &len, sizeof(len));
		sum += words[0] + words[1] + words[2] + words[3];
	}
	memcpy(words, &bad, sizeof(bad));
	return (words[0] | words[1] | words[2] | words[3]) != 0 ? 0 : sum_bytes(sum);
}

StaticAssertDecl(BLOCK_CODES == 2 * 4 * sizeof(uint64), "a half is four words");

/*
 * Moves over the codes of len decoded bytes.  Those of a vector that LZ4 or zstd has packed may be
 * many.  There is a byte before the first one.
 */
bool
zscodec_fsst_skip(ZsReader *r, const uint8 *lens, uint64 len)
{
	const uint8 *p = r->p;
	const uint8 *end = r->end;
	uint64		done = 0;
	uint8		limits[8];

	if (len >= BLOCKS_MIN && length_limits(lens, limits))
	{
		while (done + BLOCK_CODES * 8 <= len && end - p >= BLOCK_CODES + 1)
		{
			uint32		sum = block_bytes(p, limits);
			const uint8 *block_end = p + BLOCK_CODES;

			if (likely(sum > 0))
			{
				done += sum;
				p = block_end + (block_end[-1] == ZS_FSST_ESCAPE);
				continue;
			}
			while (p < block_end)
			{
				if (lens[*p] == 0 && *p != ZS_FSST_ESCAPE)
					return false;
				done += *p == ZS_FSST_ESCAPE ? 1 : lens[*p];
				p += *p == ZS_FSST_ESCAPE ? 2 : 1;
			}
		}
	}
	while (done < len)
	{
		uint8		code;

		if (p >= end)
			return false;
		code = *p++;
		if (code == ZS_FSST_ESCAPE)
		{
			if (p >= end)
				return false;
			p++;
			done++;
		}
		else if (lens[code] == 0)
			return false;
		else
			done += lens[code];
	}
	r->p = p;
	return done == len;
}
