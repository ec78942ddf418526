/*-------------------------------------------------------------------------
 *
 * codec_words_build.c
 *	  Which pieces of a text become symbols, and their codes.
 *
 * The table grows in generations as FSST's does: each codes a sample with the table so far and
 * counts symbols and pairs of neighbours; symbols and concatenated pairs are candidates, worth
 * count times length, and the best make the next table.  The first generations see a part of the
 * sample only, since what they find is short.  A segment that continues a column refines the table
 * of the one before.
 *
 * Codes are canonical, handed out by rank: the most frequent symbol first, the escape last.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_words_build.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_words_find.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

#define GENERATIONS			6

/* While building, codes 0..255 are bytes and 256.. are symbols. */
#define FIRST_SYMBOL		256
#define CODE_SPACE			(FIRST_SYMBOL + ZS_WORDS_SYMBOLS_MAX)

#define PAIR_SLOTS			32768
#define PAIRS_MAX			24576
#define CANDIDATES_MAX		32768
#define CANDIDATE_SLOTS		65536

/* Gains from here on are as good as each other. */
#define GAIN_CLASSES		4096

typedef struct PairCount
{
	uint32		key;			/* first code << 16 | second, plus 1; 0 = empty */
	uint32		count;
} PairCount;

typedef struct Candidate
{
	uint64		low;
	uint64		high;
	uint32		gain;
	uint32		len;
} Candidate;

typedef struct BuildScratch
{
	uint32		singles[CODE_SPACE];
	PairCount	pairs[PAIR_SLOTS];
	uint32		npairs;
	Candidate	candidates[CANDIDATES_MAX];
	uint32		ncandidates;
	uint16		slots[CANDIDATE_SLOTS]; /* index + 1 into candidates */
	uint32		classes[GAIN_CLASSES];
} BuildScratch;

StaticAssertDecl(CANDIDATES_MAX <= 65535, "a slot holds an index + 1");
StaticAssertDecl(CODE_SPACE <= 65535, "a pair's key holds two codes");

/* Scratch memory for building a table of words, in bytes. */
size_t
zscodec_words_scratch_size(void)
{
	return sizeof(BuildScratch);
}

static void
count_pair(BuildScratch *s, uint32 a, uint32 b)
{
	uint32		key = ((a << 16) | b) + 1;
	uint32		at = (key * 0x9E3779B1u) >> 17;

	for (; s->pairs[at].key != 0; at = (at + 1) % PAIR_SLOTS)
	{
		if (s->pairs[at].key == key)
		{
			s->pairs[at].count++;
			return;
		}
	}
	if (s->npairs == PAIRS_MAX)
		return;
	s->npairs++;
	s->pairs[at] = (PairCount)
	{
		key, 1
	};
}

StaticAssertDecl(PAIR_SLOTS == 1 << (32 - 17), "hash gives a slot");

/*
 * Codes the sample, `parts` of GENERATIONS parts of it, and counts what is used and, with_pairs,
 * what follows what; returns the bytes without symbol.
 */
static uint32
count_sample(const ZsWordTable *table, BuildScratch *s, const uint8 *const *strings,
			 const uint32 *lens, uint32 nstrings, const uint8 *limit, int parts, bool with_pairs)
{
	uint32		nescapes = 0;

	memset(s->singles, 0, sizeof(s->singles));
	memset(s->pairs, 0, sizeof(s->pairs));
	s->npairs = 0;
	for (uint32 i = 0; i < nstrings; i++)
	{
		const uint8 *p = strings[i];
		const uint8 *end = p + lens[i];
		int			prev = -1;

		if ((int) (i % GENERATIONS) >= parts)
			continue;

		while (p < end)
		{
			int			found = find_symbol(table, p, (size_t) (end - p), limit);
			int			code = found >= 0 ? FIRST_SYMBOL + found : *p;

			s->singles[code]++;
			nescapes += found < 0;
			if (prev >= 0 && with_pairs)
				count_pair(s, (uint32) prev, (uint32) code);
			prev = code;
			p += found >= 0 ? table->symbols[found].len : 1;
		}
	}
	return nescapes;
}

/* Notes a candidate; one that is known already gains. */
static void
note_candidate(BuildScratch *s, uint64 low, uint64 high, uint32 len, uint32 gain)
{
	uint32		at = (uint32) (((low ^ (high * 31) ^ len) * UINT64CONST(0x9E3779B97F4A7C15)) >> 48);

	for (; s->slots[at] != 0; at = (at + 1) % CANDIDATE_SLOTS)
	{
		Candidate  *c = &s->candidates[s->slots[at] - 1];

		if (c->low == low && c->high == high && c->len == len)
		{
			c->gain += gain;
			return;
		}
	}
	if (s->ncandidates == CANDIDATES_MAX)
		return;
	s->candidates[s->ncandidates] = (Candidate)
	{
		low, high, gain, len
	};
	s->slots[at] = (uint16) ++s->ncandidates;
}

StaticAssertDecl(CANDIDATE_SLOTS == 1 << (64 - 48), "hash gives a slot");

static inline void
code_bytes(const ZsWordTable *table, uint32 code, uint64 *low, uint64 *high, uint32 *len)
{
	const ZsWordSymbol *s;

	if (code < FIRST_SYMBOL)
	{
		*low = code;
		*high = 0;
		*len = 1;
		return;
	}
	s = &table->symbols[code - FIRST_SYMBOL];
	*low = s->low;
	*high = s->high;
	*len = s->len;
}

/*
 * Candidates of this generation: what was used, and what was used in a row.  scale: rows are so
 * many times the sample; what would not repay its place in the table is left out.
 */
static void
gather_candidates(const ZsWordTable *table, BuildScratch *s, uint32 scale)
{
	s->ncandidates = 0;
	memset(s->slots, 0, sizeof(s->slots));
	for (uint32 code = 0; code < FIRST_SYMBOL + table->nsymbols; code++)
	{
		uint64		low;
		uint64		high;
		uint32		len;

		if (s->singles[code] == 0)
			continue;
		code_bytes(table, code, &low, &high, &len);
		/* a byte that becomes a symbol saves its escape too */
		if ((uint64) s->singles[code] * scale > 2 * (len + 1))
			note_candidate(s, low, high, len, s->singles[code] * (len == 1 ? 8 : len));
	}
	for (uint32 at = 0; at < PAIR_SLOTS; at++)
	{
		const PairCount *pair = &s->pairs[at];
		uint64		low;
		uint64		high;
		uint64		next_low;
		uint64		next_high;
		uint32		len;
		uint32		next_len;
		uint32		total;

		if (pair->key == 0 || pair->count < 2)
			continue;
		code_bytes(table, (pair->key - 1) >> 16, &low, &high, &len);
		code_bytes(table, (pair->key - 1) & 0xFFFF, &next_low, &next_high, &next_len);
		if (len == ZS_WORDS_LEN_MAX)
			continue;
		total = Min(len + next_len, ZS_WORDS_LEN_MAX);
		if ((uint64) pair->count * scale <= 2 * (total + 1))
			continue;
		if (len >= 8)
			high |= next_low << (8 * (len - 8));
		else
		{
			high = (next_high << (8 * len)) | (next_low >> (64 - 8 * len));
			low |= next_low << (8 * len);
		}
		note_candidate(s, low & masks[total][0], high & masks[total][1], total,
					   pair->count * total);
	}
}

/* The best candidates become the table. */
static void
take_best(ZsWordTable *table, BuildScratch *s)
{
	uint32		limit = GAIN_CLASSES - 1;	/* this gain and more is enough */
	uint32		n = 0;

	memset(s->classes, 0, sizeof(s->classes));
	for (uint32 i = 0; i < s->ncandidates; i++)
		s->classes[Min(s->candidates[i].gain, GAIN_CLASSES - 1)]++;
	for (n = s->classes[limit]; limit > 0 &&
		 n + s->classes[limit - 1] <= ZS_WORDS_SYMBOLS_MAX; limit--)
		n += s->classes[limit - 1];
	table->nsymbols = 0;
	for (uint32 i = 0; i < s->ncandidates && table->nsymbols < ZS_WORDS_SYMBOLS_MAX; i++)
	{
		const Candidate *c = &s->candidates[i];

		if (c->gain < limit)
			continue;
		table->symbols[table->nsymbols++] = (ZsWordSymbol)
		{
			.low = c->low, .high = c->high, .len = (uint8) c->len
		};
	}
	zscodec_words_index(table);
}

/* Of two indexes of symbols of the table arg: frequent ones first, the escape last. */
static int
compare_counts(const void *a, const void *b, void *arg)
{
	const ZsWordTable *table = arg;
	uint16		x = *(const uint16 *) a;
	uint16		y = *(const uint16 *) b;
	uint32		cx = x == table->nsymbols ? 0 : table->symbols[x].count;
	uint32		cy = y == table->nsymbols ? 0 : table->symbols[y].count;

	if (cx != cy)
		return cx > cy ? -1 : 1;
	return x < y ? -1 : x > y;
}

/*
 * Lengths of Huffman codes for n counts in descending order: num[l] codes have l bits.  At most
 * ZS_WORDS_CODE_MAX bits: longer ones are cut, and others lengthened until all fit.
 */
static void
huffman_lens(const uint32 *counts, uint32 n, uint32 *num)
{
	uint64		weight[2 * (ZS_WORDS_SYMBOLS_MAX + 1)];
	uint16		parent[2 * (ZS_WORDS_SYMBOLS_MAX + 1)];
	uint8		depth[2 * (ZS_WORDS_SYMBOLS_MAX + 1)];
	int			leaf = (int) n - 1; /* next leaf, from the rarest */
	uint32		inner = n;		/* next inner node, which ascend by themselves */
	uint32		made = n;
	uint32		space = 0;

	Assert(n >= 2 && n <= ZS_WORDS_SYMBOLS_MAX + 1);
	for (uint32 i = 0; i < n; i++)
		weight[i] = counts[i];
	while (made < 2 * n - 1)
	{
		weight[made] = 0;
		for (int k = 0; k < 2; k++)
		{
			uint32		child = leaf >= 0 && (inner == made || weight[leaf] <= weight[inner]) ?
				(uint32) leaf-- : inner++;

			weight[made] += weight[child];
			parent[child] = (uint16) made;
		}
		made++;
	}
	memset(num, 0, (ZS_WORDS_CODE_MAX + 1) * sizeof(uint32));
	depth[2 * n - 2] = 0;
	for (int i = (int) (2 * n) - 3; i >= 0; i--)
	{
		depth[i] = depth[parent[i]] + 1;
		if (i < (int) n)
			num[Min(depth[i], ZS_WORDS_CODE_MAX)]++;
		depth[i] = Min(depth[i], 200);
	}
	for (int l = 1; l <= ZS_WORDS_CODE_MAX; l++)
		space += num[l] << (ZS_WORDS_CODE_MAX - l);
	while (space > 1 << ZS_WORDS_CODE_MAX)
	{
		int			l = ZS_WORDS_CODE_MAX - 1;

		while (num[l] == 0)
			l--;
		Assert(l > 0);
		num[l]--;
		num[l + 1]++;
		space -= 1 << (ZS_WORDS_CODE_MAX - l - 1);
	}
}

/* Gives the symbols their codes, by their counts. */
static void
assign_codes(ZsWordTable *table)
{
	uint32		counts[ZS_WORDS_SYMBOLS_MAX + 1];
	uint32		num[ZS_WORDS_CODE_MAX + 1];
	uint32		n = table->nsymbols + 1;
	uint32		code = 0;
	uint32		rank = 0;

	for (uint32 i = 0; i < n; i++)
		table->order[i] = (uint16) i;
	qsort_arg(table->order, n, sizeof(uint16), compare_counts, table);
	for (uint32 i = 0; i < n; i++)
		counts[i] = Max(table->symbols[table->order[i]].count, 1);
	counts[n - 1] = Min(counts[n - 1], n > 1 ? counts[n - 2] : 1);
	if (n == 1)
	{
		memset(num, 0, sizeof(num));
		num[1] = 1;
	}
	else
		huffman_lens(counts, n, num);
	for (int l = 1; l <= ZS_WORDS_CODE_MAX; l++, code <<= 1)
	{
		for (uint32 i = 0; i < num[l]; i++)
		{
			ZsWordSymbol *s = &table->symbols[table->order[rank++]];

			s->code = (uint16) code++;
			s->code_len = (uint8) l;
		}
	}
	Assert(rank == n && table->order[n - 1] == table->nsymbols);
}

/*
 * Builds a table from sample strings of at most ZS_WORDS_SAMPLE_MAX bytes; up to limit, the end of
 * the memory they lie in, may be read.  total: bytes of all strings.  scratch has
 * zscodec_words_scratch_size() bytes.  refine: the table is a good one for similar
 * strings already.
 */
void
zscodec_words_build(ZsWordTable *table, void *scratch, const uint8 *const *strings,
					const uint32 *lens, uint32 nstrings, const uint8 *limit, uint64 total,
					bool refine)
{
	BuildScratch *s = scratch;
	uint64		sample = 0;
	uint32		scale;
	uint32		kept = 0;
	uint32		nescapes;

	for (uint32 i = 0; i < nstrings; i++)
		sample += lens[i];
	Assert(sample <= ZS_WORDS_SAMPLE_MAX);
	scale = (uint32) Min(total / Max(sample, 1), 1000000) + 1;
	if (!refine)
	{
		table->nsymbols = 0;
		zscodec_words_index(table);
	}
	for (int g = refine ? GENERATIONS - 2 : 0; g < GENERATIONS; g++)
	{
		count_sample(table, s, strings, lens, nstrings, limit,
					 refine ? GENERATIONS : g + 1, g < GENERATIONS - 1);
		gather_candidates(table, s, scale);
		take_best(table, s);
	}

	/* what the longer ones left unused goes */
	nescapes = count_sample(table, s, strings, lens, nstrings, limit, GENERATIONS, false);
	for (uint32 i = 0; i < table->nsymbols; i++)
	{
		table->symbols[i].count = s->singles[FIRST_SYMBOL + i];
		if (table->symbols[i].count > 0)
			table->symbols[kept++] = table->symbols[i];
	}
	table->nsymbols = kept;
	table->symbols[kept] = (ZsWordSymbol)
	{
		.count = nescapes
	};
	zscodec_words_index(table);
	assign_codes(table);
}
