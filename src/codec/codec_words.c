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
 * The table grows in generations as FSST's does: each codes a sample with the table so far and
 * counts symbols and pairs of neighbours; symbols and concatenated pairs are candidates, worth
 * count times length, and the best make the next table.  A segment that continues a column refines
 * the table of the one before.
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
#include "codec_words.h"

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

/* See codec_words.h. */
size_t
zscodec_words_scratch_size(void)
{
	return sizeof(BuildScratch);
}

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
hash_long(uint64 low)
{
	return (uint32) (((low & BYTES(ZS_WORDS_LONG)) * UINT64CONST(0x9E3779B97F4A7C15)) >>
					 (64 - ZS_WORDS_HASH_BITS));
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

/* The longest symbol at p, of which left bytes belong to the string; -1 = none. */
static inline int
find_symbol(const ZsWordTable *table, const uint8 *p, size_t left, const uint8 *limit)
{
	uint64		low;
	uint64		high;
	uint32		hash;
	uint32		at;

	load_words(p, limit, &low, &high);
	hash = hash_long(low);
	for (at = table->long_groups[hash]; at < table->long_groups[hash + 1]; at++)
	{
		const ZsWordSymbol *s = &table->symbols[at];

		if ((((low ^ s->low) & masks[s->len][0]) | ((high ^ s->high) & masks[s->len][1])) == 0 &&
			s->len <= left)
			return (int) at;
	}
	hash = hash_three(low);
	for (at = table->groups[hash]; at < table->groups[hash + 1]; at++)
	{
		const ZsWordSymbol *s = &table->symbols[at];

		if (((low ^ s->low) & masks[s->len][0]) == 0 && s->len <= left)
			return (int) at;
	}
	if (left >= 2 && (at = table->by_pair[low & 0xFFFF]) != 0)
		return (int) at - 1;
	return (int) table->by_byte[low & 0xFF] - 1;
}

/* Sorts the symbols of a table and makes its indexes. */
static void
index_table(ZsWordTable *table)
{
	uint32		n = table->nsymbols;
	uint32		at = 0;

	memset(table->long_groups, 0, sizeof(table->long_groups));
	memset(table->groups, 0, sizeof(table->groups));
	memset(table->by_pair, 0, sizeof(table->by_pair));
	memset(table->by_byte, 0, sizeof(table->by_byte));
	memcpy(table->unsorted, table->symbols, n * sizeof(ZsWordSymbol));

	/* where each group ends */
	for (uint32 i = 0; i < n; i++)
	{
		if (table->unsorted[i].len >= ZS_WORDS_LONG)
			table->long_groups[hash_long(table->unsorted[i].low)]++;
		else if (table->unsorted[i].len >= 3)
			table->groups[hash_three(table->unsorted[i].low)]++;
	}
	for (uint32 h = 0; h < lengthof(table->long_groups); h++)
		table->long_groups[h] = (uint16) (at += table->long_groups[h]);
	for (uint32 h = 0; h < lengthof(table->groups); h++)
		table->groups[h] = (uint16) (at += table->groups[h]);

	/* filled from the end, short ones first, the ends become the beginnings */
	for (uint32 len = 3; len <= ZS_WORDS_LEN_MAX; len++)
	{
		for (uint32 i = 0; i < n; i++)
		{
			const ZsWordSymbol *s = &table->unsorted[i];

			if (s->len == len)
				table->symbols[len >= ZS_WORDS_LONG ? --table->long_groups[hash_long(s->low)] :
							   --table->groups[hash_three(s->low)]] = *s;
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
 * Codes the sample and counts what is used and, with_pairs, what follows what; returns the bytes
 * without symbol.
 */
static uint32
count_sample(const ZsWordTable *table, BuildScratch *s, const uint8 *const *strings,
			 const uint32 *lens, uint32 nstrings, bool with_pairs)
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

		while (p < end)
		{
			int			found = find_symbol(table, p, (size_t) (end - p), end);
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
	index_table(table);
}

/* ---- codes ------------------------------------------------------------------------ */

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
 * Builds a table from sample strings of at most ZS_WORDS_SAMPLE_MAX bytes; total: of all strings.
 * scratch has zscodec_words_scratch_size() bytes.  refine: the table is a good one for similar
 * strings already.
 */
void
zscodec_words_build(ZsWordTable *table, void *scratch, const uint8 *const *strings,
					const uint32 *lens, uint32 nstrings, uint64 total, bool refine)
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
		index_table(table);
	}
	for (int g = refine ? GENERATIONS - 2 : 0; g < GENERATIONS; g++)
	{
		count_sample(table, s, strings, lens, nstrings, g < GENERATIONS - 1);
		gather_candidates(table, s, scale);
		take_best(table, s);
	}

	/* what the longer ones left unused goes */
	nescapes = count_sample(table, s, strings, lens, nstrings, false);
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
	index_table(table);
	assign_codes(table);
}

/* ---- strings ------------------------------------------------------------------------ */

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

/* The codes, as many of each length as num says. */
static const char *
fill_codes(ZsWordReader *table, const uint8 *num, uint32 n)
{
	uint32		at = 0;
	uint32		rank = 0;

	for (int l = 1; l <= ZS_WORDS_CODE_MAX; l++)
	{
		uint32		count = load16(num + 2 * (l - 1));
		uint32		width = 1u << (ZS_WORDS_CODE_MAX - l);

		if (count > n - rank || count * width > lengthof(table->codes) - at)
			return "word codes are too many";
		for (; count > 0; count--, rank++)
		{
			for (uint32 i = 0; i < width; i++)
				table->codes[at++] = (uint16) (rank << 4 | l);
		}
	}
	if (rank != n)
		return "word codes are too few";
	memset(table->codes + at, 0, (lengthof(table->codes) - at) * sizeof(uint16));
	return NULL;
}

/* Reads a table. */
const char *
zscodec_words_read(ZsReader *r, ZsWordReader *table)
{
	const char *err;
	const uint8 *lens;
	uint32		n;

	if (reader_left(r) < 2 + 2 * ZS_WORDS_CODE_MAX)
		return ZS_ERR_SHORT;
	n = load16(r->p);
	if (n < 1 || n > ZS_WORDS_SYMBOLS_MAX + 1)
		return "number of word codes out of range";
	if ((err = fill_codes(table, r->p + 2, n)) != NULL)
		return err;
	r->p += 2 + 2 * ZS_WORDS_CODE_MAX;
	table->nsymbols = --n;
	if (reader_left(r) < (n + 1) / 2)
		return ZS_ERR_SHORT;
	lens = r->p;
	r->p += (n + 1) / 2;
	for (uint32 i = 0; i < n; i++)
	{
		uint8		len = ((lens[i / 2] >> (4 * (i % 2))) & 15) + 1;

		if (reader_left(r) < len)
			return ZS_ERR_SHORT;
		table->lens[i] = len;
		if (reader_left(r) >= ZS_WORDS_LEN_MAX)
			memcpy(table->symbols[i], r->p, ZS_WORDS_LEN_MAX);
		else
			memcpy(table->symbols[i], r->p, len);
		r->p += len;
	}
	table->lens[n] = 0;
	return NULL;
}

/* Begins to read at a bit; false when there is none. */
bool
zscodec_words_start(ZsBitReader *b, const ZsReader *r, uint64 bit)
{
	if (bit / 8 > reader_left(r))
		return false;
	b->p = r->p + bit / 8;
	b->end = r->end;
	b->bits = 0;
	b->nbits = 0;
	if (bit % 8 != 0)
	{
		if (b->p == b->end)
			return false;
		b->bits = (uint64) *b->p++ << (56 + bit % 8);
		b->nbits = 8 - (int) (bit % 8);
	}
	return true;
}

/* At least 56 bits, as long as there are any. */
static inline void
refill(ZsBitReader *b)
{
	if (likely(b->end - b->p >= 8))
	{
		b->bits |= __builtin_bswap64(load64(b->p)) >> b->nbits;
		b->p += (63 - b->nbits) >> 3;
		b->nbits |= 56;
		return;
	}
	while (b->nbits <= 56 && b->p < b->end)
	{
		b->bits |= (uint64) *b->p++ << (56 - b->nbits);
		b->nbits += 8;
	}
}

/* Takes the next code; returns its rank, or -1 when there is none. */
static inline int
next_code(ZsBitReader *b, const ZsWordReader *table)
{
	uint32		entry;

	/* a code and a byte behind the escape */
	if (b->nbits < ZS_WORDS_CODE_MAX + 8)
		refill(b);
	entry = table->codes[b->bits >> (64 - ZS_WORDS_CODE_MAX)];
	b->bits <<= entry & 15;
	b->nbits -= (int) (entry & 15);
	return likely(entry != 0 && b->nbits >= 0) ? (int) (entry >> 4) : -1;
}

/*
 * Decodes a string of exactly len bytes; up to 16 bytes behind it are scribbled over.  False when
 * the codes end early, are unknown or do not add up.
 */
bool
zscodec_words_decode(ZsBitReader *b, const ZsWordReader *table, uint8 *out, size_t len)
{
	uint8	   *end = out + len;
	ZsBitReader local = *b;

	while (out < end)
	{
		int			rank = next_code(&local, table);

		if (unlikely(rank < 0))
			return false;
		if (unlikely((uint32) rank == table->nsymbols))
		{
			if (local.nbits < 8)
				return false;
			*out++ = (uint8) (local.bits >> 56);
			local.bits <<= 8;
			local.nbits -= 8;
			continue;
		}
		memcpy(out, table->symbols[rank], ZS_WORDS_LEN_MAX);
		out += table->lens[rank];
	}
	*b = local;
	return out == end;
}

/* Moves over the codes of len decoded bytes. */
bool
zscodec_words_skip(ZsBitReader *b, const ZsWordReader *table, uint64 len)
{
	uint64		done = 0;
	ZsBitReader local = *b;

	while (done < len)
	{
		int			rank = next_code(&local, table);

		if (unlikely(rank < 0))
			return false;
		if (unlikely((uint32) rank == table->nsymbols))
		{
			if (local.nbits < 8)
				return false;
			local.bits <<= 8;
			local.nbits -= 8;
			done++;
		}
		else
			done += table->lens[rank];
	}
	*b = local;
	return done == len;
}

/* Is nothing left but the padding of the last byte? */
bool
zscodec_words_at_end(const ZsBitReader *b)
{
	return b->end - b->p <= 8 && (b->end - b->p) * 8 + b->nbits < 8;
}
