/*-------------------------------------------------------------------------
 *
 * codec_dict.c
 *	  Finding the distinct values of a segment.
 *
 * A dictionary pays when values repeat across the segment in no particular order.  A sample of rows
 * spread over the segment says whether that may be so; only then all rows go through a hash table,
 * which starts small so that it stays in the cache for the few values it usually holds, and gives
 * up when there are too many.  Strings get a second chance: a sample does not show the pages that
 * one visitor in a thousand looks at, so a filter of hashes estimates how many rows repeat an
 * earlier one, and if there are too many distinct values for a complete dictionary, those that
 * repeat most make one, and the others remain literals.  Integers do, too: users, addresses and
 * hashes of which a segment has ten thousand or more.  Whether a large dictionary pays then is a
 * matter of its size, so the same filter counts the distinct values, and codes and entries must
 * come out well below what a few vectors take as they are.  Integers are sorted, strings too unless
 * there are many: sorted codes compare like values, pack together where values cluster, and sorted
 * entries compress better.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_dict.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_compress.h"
#include "codec_dict.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

#define SAMPLE_ROWS			1024
#define FIRST_SLOTS			1024
#define MAX_ENTRIES			ZS_SEGMENT_ROWS
#define MAX_SLOTS			(2 * MAX_ENTRIES)
#define SLOT_WORDS			(4 * MAX_ENTRIES)
#define SORT_STRINGS_MAX	4096

/*
 * Bits of the filter, the shortest average string and the smallest share of repeating rows that
 * count.
 */
#define FILTER_BITS			(1 << 21)
#define FILTER_MIN_LEN		12
#define FILTER_MIN_SHARE	8

/* Fewer rows are not worth a dictionary. */
#define MIN_ROWS			16

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

/* The hash table; slots hold entry + 1. */
typedef struct DictTable
{
	ZsDictEntry entries[MAX_ENTRIES];
	uint32		slots[SLOT_WORDS];	/* MAX_SLOTS of them; more while integers are sorted */
	uint32		order[MAX_ENTRIES];
	uint32		nslots;
	uint32		n;
	uint64		raw_bytes;
} DictTable;

static inline uint32
mix(uint64 a, uint64 b)
{
	unsigned __int128 m = (unsigned __int128) (a ^ UINT64CONST(0x9E3779B97F4A7C15)) *
		(b ^ UINT64CONST(0xD6E8FEB86659FD93));

	return (uint32) ((uint64) m ^ (uint64) (m >> 64));
}

static inline uint32
hash_bytes_of(const uint8 *p, uint32 len)
{
	uint64		a = 0;
	uint64		b = len;

	while (len > 16)
	{
		b = mix(load64(p) ^ b, load64(p + 8)) ^ (b << 32);
		p += 16;
		len -= 16;
	}
	if (len >= 8)
	{
		a = load64(p);
		b ^= load64(p + len - 8) * 3;
	}
	else if (len >= 4)
		a = load32(p) | ((uint64) load32(p + len - 4) << 32);
	else if (len > 0)
		a = p[0] | ((uint32) p[len / 2] << 8) | ((uint32) p[len - 1] << 16);
	return mix(a, b);
}

static void
clear_table(DictTable *t)
{
	t->nslots = FIRST_SLOTS;
	t->n = 0;
	t->raw_bytes = 0;
	memset(t->slots, 0, t->nslots * sizeof(uint32));
}

/* Twice the slots. */
static void
grow_table(DictTable *t)
{
	Assert(t->nslots * 2 <= MAX_SLOTS && t->n < t->nslots);
	t->nslots *= 2;
	memset(t->slots, 0, t->nslots * sizeof(uint32));
	for (uint32 i = 0; i < t->n; i++)
	{
		uint32		at = t->entries[i].hash & (t->nslots - 1);

		while (t->slots[at] != 0)
			at = (at + 1) & (t->nslots - 1);
		t->slots[at] = i + 1;
	}
}

/* Adds an entry in an empty slot; false when the table is full. */
static bool
add_entry(DictTable *t, ZsDictEntry entry, uint32 at, uint32 limit)
{
	if (t->n >= limit)
		return false;
	t->entries[t->n] = entry;
	t->raw_bytes += entry.len;
	t->slots[at] = ++t->n;
	if (t->n * 2 > t->nslots && t->nslots < MAX_SLOTS)
		grow_table(t);
	return true;
}

/* The code of an integer, new or known; ZS_DICT_NO_CODE when the table is full. */
static inline uint32
code_of_int(DictTable *t, uint64 value, uint32 limit)
{
	uint32		hash = mix(value, 0);
	uint32		at = hash & (t->nslots - 1);

	for (; t->slots[at] != 0; at = (at + 1) & (t->nslots - 1))
	{
		if (t->entries[t->slots[at] - 1].value == value)
			return t->slots[at] - 1;
	}
	return add_entry(t, (ZsDictEntry) {{.value = value}, 8, hash, 0}, at, limit) ? t->n - 1 :
		ZS_DICT_NO_CODE;
}

static inline uint32
code_of_bytes(DictTable *t, const uint8 *ptr, uint32 len, uint32 limit)
{
	uint32		hash = hash_bytes_of(ptr, len);
	uint32		at = hash & (t->nslots - 1);

	for (; t->slots[at] != 0; at = (at + 1) & (t->nslots - 1))
	{
		const ZsDictEntry *e = &t->entries[t->slots[at] - 1];

		if (e->hash == hash && e->len == len && memcmp(e->ptr, ptr, len) == 0)
			return t->slots[at] - 1;
	}
	return add_entry(t, (ZsDictEntry) {{.ptr = ptr}, len, hash, 0}, at, limit) ? t->n - 1 :
		ZS_DICT_NO_CODE;
}

static inline bool
is_set(const uint8 *flags, uint32 row)
{
	return flags != NULL && flags[row] != 0;
}

/* Do values come as integers? */
static inline bool
as_ints(const ZsColumnInput *in)
{
	return in->kind < ZS_KIND_NUMERIC || in->ints != NULL;
}

/* The code of a row's value. */
static inline uint32
code_of_row(DictTable *t, const ZsColumnInput *in, uint32 row, uint32 limit)
{
	if (!as_ints(in))
		return code_of_bytes(t, in->bytes + in->offsets[row],
							 (uint32) (in->offsets[row + 1] - in->offsets[row]), limit);
	return code_of_int(t, (uint64) in->ints[row], limit);
}

static void
clear_filter(DictTable *t)
{
	uint8	   *filter = (uint8 *) t->slots;

	memset(filter, 0, FILTER_BITS / 8);
}

/*
 * Do enough strings repeat anywhere in the segment?  A filter of hashes counts those that were seen
 * before.
 */
static bool
strings_repeat(DictTable *t, const ZsColumnInput *in)
{
	uint64		total = in->offsets[in->nrows] - in->offsets[0];
	uint64		nrepeats = 0;
	uint64		nvalues = 0;

	StaticAssertDecl(sizeof(t->slots) * 8 >= FILTER_BITS, "filter fits the slots");
	if (total / in->nrows < FILTER_MIN_LEN)
		return false;
	clear_filter(t);
	for (uint32 row = 0; row < in->nrows; row++)
	{
		uint32		hash;
		uint32		bit;

		if (is_set(in->isnull, row) || is_set(in->isext, row))
			continue;
		hash = hash_bytes_of(in->bytes + in->offsets[row],
							 (uint32) (in->offsets[row + 1] - in->offsets[row])) % FILTER_BITS;
		bit = 1u << (hash % 32);
		nrepeats += (t->slots[hash / 32] & bit) != 0;
		t->slots[hash / 32] |= bit;
		nvalues++;
	}
	return nvalues >= 4 * MIN_ROWS && nrepeats >= nvalues / FILTER_MIN_SHARE;
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
many_pay(DictTable *t, const ZsColumnInput *in)
{
	uint64		native = native_bits(in);
	uint64		ndistinct = 0;
	uint64		nvalues = 0;
	int64		min = PG_INT64_MAX;
	int64		max = PG_INT64_MIN;
	uint64		bits;
	int			width;

	clear_filter(t);
	for (uint32 row = 0; row < in->nrows; row++)
	{
		uint32		hash;
		uint32		bit;

		if (is_set(in->isnull, row))
			continue;
		hash = mix((uint64) in->ints[row], 0) % FILTER_BITS;
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

/* Do values repeat in a sample, and would codes be shorter than what they stand for? */
static bool
sample_repeats(DictTable *t, const ZsColumnInput *in)
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
	if (nseen < MIN_ROWS || t->n < 2)
		return false;
	if (in->kind >= ZS_KIND_FIXED)
		return t->n <= nseen - nseen / 4 || strings_repeat(t, in);
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

/* An integer and which entry it is. */
typedef struct IntRank
{
	int64		value;
	uint64		entry;
} IntRank;

static int
compare_ints(const void *a, const void *b)
{
	int64		x = ((const IntRank *) a)->value;
	int64		y = ((const IntRank *) b)->value;

	return x < y ? -1 : x > y;
}

/* Fills t->order with the entries in the order of their values. */
static void
sort_ints(DictTable *t)
{
	IntRank    *ranks = (IntRank *) t->slots;	/* no longer needed for lookups */

	StaticAssertDecl(sizeof(t->slots) >= ZS_DICT_ENTRIES_MAX * sizeof(IntRank),
					 "entries fit the slots");
	Assert(t->n <= ZS_DICT_ENTRIES_MAX);
	for (uint32 i = 0; i < t->n; i++)
	{
		ranks[i].value = (int64) t->entries[i].value;
		ranks[i].entry = i;
	}
	qsort(ranks, t->n, sizeof(IntRank), compare_ints);
	for (uint32 i = 0; i < t->n; i++)
		t->order[i] = (uint32) ranks[i].entry;
}

/* Of two numbers of entries of the table arg. */
static int
compare_bytes(const void *a, const void *b, void *arg)
{
	const DictTable *t = arg;
	const ZsDictEntry *x = &t->entries[*(const uint32 *) a];
	const ZsDictEntry *y = &t->entries[*(const uint32 *) b];
	int			c = memcmp(x->ptr, y->ptr, Min(x->len, y->len));

	return c != 0 ? c : x->len < y->len ? -1 : x->len > y->len;
}

/* Sorts the entries and renumbers the codes. */
static void
sort_entries(DictTable *t, bool by_ref, uint32 *codes, uint32 nrows)
{
	uint32	   *rank = t->slots;	/* no longer needed for lookups */

	Assert(t->n <= MAX_SLOTS);
	if (by_ref)
	{
		for (uint32 i = 0; i < t->n; i++)
			t->order[i] = i;
		qsort_arg(t->order, t->n, sizeof(uint32), compare_bytes, t);
	}
	else
		sort_ints(t);
	for (uint32 i = 0; i < t->n; i++)
		rank[t->order[i]] = i;
	for (uint32 row = 0; row < nrows; row++)
	{
		if (codes[row] != ZS_DICT_NO_CODE)
			codes[row] = rank[codes[row]];
	}

	/* Entries in the order of their rank: follow the cycles of the permutation. */
	for (uint32 i = 0; i < t->n; i++)
	{
		while (rank[i] != i)
		{
			uint32		to = rank[i];
			ZsDictEntry entry = t->entries[to];

			t->entries[to] = t->entries[i];
			t->entries[i] = entry;
			rank[i] = rank[to];
			rank[to] = to;
		}
	}
}

/* Codes of null rows are 0 whatever entry 0 became. */
static void
clear_null_codes(const ZsColumnInput *in, uint32 *codes)
{
	for (uint32 row = 0; row < in->nrows; row++)
	{
		if (is_set(in->isnull, row))
			codes[row] = 0;
	}
}

/*
 * Keeps only the entries that repeat most, as many as a dictionary of frequent values may have;
 * renumbers the codes.  False when hardly any row would be left with a code.
 */
static bool
keep_frequent(DictTable *t, uint32 *codes, uint32 nrows, uint32 max_entries, uint64 max_bytes)
{
	uint32	   *renumber = t->order;
	uint32		min_count = 1;
	uint32		n;
	uint64		bytes;
	uint64		ncovered;

	do
	{
		min_count++;
		n = 0;
		bytes = ncovered = 0;
		for (uint32 i = 0; i < t->n; i++)
		{
			bool		keep = t->entries[i].count >= min_count;

			renumber[i] = keep ? n : ZS_DICT_NO_CODE;
			n += keep;
			bytes += keep ? t->entries[i].len : 0;
			ncovered += keep ? t->entries[i].count : 0;
		}
	} while (n > max_entries || bytes > max_bytes);
	if (n < 2 || ncovered < nrows / FILTER_MIN_SHARE)
		return false;
	for (uint32 i = 0; i < t->n; i++)
	{
		if (renumber[i] != ZS_DICT_NO_CODE)
			t->entries[renumber[i]] = t->entries[i];
	}
	for (uint32 row = 0; row < nrows; row++)
	{
		if (codes[row] != ZS_DICT_NO_CODE)
			codes[row] = renumber[codes[row]];
	}
	t->n = n;
	t->raw_bytes = bytes;
	return true;
}

/* Entries of a numeric column that came as integers become payloads. */
static const char *
make_payloads(ZsEncoder *enc, DictTable *t, int scale)
{
	ZsCodecBuf *buf = &enc->bufs[ZS_BUF_PAYLOADS];

	buf->len = 0;
	if (!zscodec_buf_reserve(buf, (size_t) t->n * ZS_NUMERIC_PAYLOAD_MAX))
		return ZS_ERR_MEMORY;
	t->raw_bytes = 0;
	for (uint32 i = 0; i < t->n; i++)
	{
		ZsDictEntry *e = &t->entries[i];
		uint8	   *payload = buf->data + buf->len;

		e->len = (uint32) zscodec_numeric_from_int((int64) e->value, scale, payload);
		e->ptr = payload;
		buf->len += e->len;
		t->raw_bytes += e->len;
	}
	return NULL;
}

/*
 * Builds a dictionary of the values of a column; dict->n = 0 when it would not pay.  Its memory
 * belongs to the encoder and lasts until the next call.
 */
const char *
zscodec_dict_build(ZsEncoder *enc, const ZsColumnInput *in, ZsDictBuild *dict)
{
	DictTable  *t;
	bool		strings = in->kind >= ZS_KIND_FIXED;
	bool		codable = in->kind == ZS_KIND_BYTES;
	uint32		limit = in->kind == ZS_KIND_INT ? in->nrows :
		Min(ZS_DICT_SMALL_ENTRIES, in->nrows / 2);
	const char *err;

	memset(dict, 0, sizeof(*dict));
	if (in->nrows < MIN_ROWS)
		return NULL;
	if (!zscodec_buf_reserve(&enc->bufs[ZS_BUF_DICT], sizeof(DictTable)))
		return ZS_ERR_MEMORY;
	t = (DictTable *) enc->bufs[ZS_BUF_DICT].data;
	if (!sample_repeats(t, in))
		return NULL;
	if (!zscodec_buf_reserve(&enc->bufs[ZS_BUF_CODES], in->nrows * sizeof(uint32)))
		return ZS_ERR_MEMORY;
	dict->codes = (uint32 *) enc->bufs[ZS_BUF_CODES].data;

	clear_table(t);
	for (uint32 row = 0; row < in->nrows; row++)
	{
		if (is_set(in->isnull, row))
			dict->codes[row] = 0;
		else if (is_set(in->isext, row))
			dict->codes[row] = ZS_DICT_NO_CODE;
		else if (row > 0 && as_ints(in) && in->ints[row] == in->ints[row - 1] &&
				 !is_set(in->isnull, row - 1))
			dict->codes[row] = dict->codes[row - 1];
		else if ((dict->codes[row] = code_of_row(t, in, row,
												 strings ? MAX_ENTRIES : limit)) == ZS_DICT_NO_CODE)
			return NULL;
		else
			t->entries[dict->codes[row]].count++;
	}
	dict->complete = t->n <= limit && t->raw_bytes <= (codable ? ZS_DICT_CODED_BYTES :
													   ZS_DICT_BYTES_MAX) &&
		(!strings || t->n <= in->nrows / 4);
	if (!dict->complete)
	{
		if (!strings)
			return NULL;
		if (!keep_frequent(t, dict->codes, in->nrows,
						   codable ? ZS_DICT_SMALL_ENTRIES : ZS_DICT_MIXED_ENTRIES,
						   codable ? ZS_DICT_CODED_BYTES : ZS_DICT_MIXED_BYTES))
			return NULL;
		clear_null_codes(in, dict->codes);
	}
	dict->by_ref = in->kind >= ZS_KIND_NUMERIC;
	if (dict->by_ref && as_ints(in) && (err = make_payloads(enc, t, in->scale)) != NULL)
		return err;
	dict->sorted = !dict->by_ref || t->n <= SORT_STRINGS_MAX;
	if (dict->sorted)
		sort_entries(t, dict->by_ref, dict->codes, in->nrows);
	for (uint32 row = 0; row < in->nrows && strings; row++)
	{
		if (dict->codes[row] == ZS_DICT_NO_CODE)
			dict->rest_bytes += in->offsets[row + 1] - in->offsets[row];
	}
	dict->n = t->n;
	dict->raw_bytes = t->raw_bytes;
	dict->entries = t->entries;
	Assert(dict->n <= ZS_DICT_ENTRIES_MAX);
	return NULL;
}

/* Appends the dictionary to the body of a shared area. */
const char *
zscodec_dict_write(const ZsDictBuild *dict, ZsCodecBuf *body)
{
	uint64		chunk[ZS_VECTOR_ROWS];

	Assert(dict->n >= 1 && dict->n <= ZS_DICT_ENTRIES_MAX && dict->raw_bytes <= ZS_DICT_BYTES_MAX);
	if (!zscodec_buf_reserve(body, body->len + 5 + dict->raw_bytes +
							 (dict->n / ZS_VECTOR_ROWS + 1) * ZS_INTS_SIZE_MAX(ZS_VECTOR_ROWS)))
		return ZS_ERR_MEMORY;
	body->data[body->len] = dict->sorted;
	store32(body->data + body->len + 1, dict->n);
	body->len += 5;
	for (uint32 start = 0; start < dict->n; start += ZS_VECTOR_ROWS)
	{
		uint32		n = Min(dict->n - start, ZS_VECTOR_ROWS);

		for (uint32 i = 0; i < n; i++)
			chunk[i] = dict->by_ref ? dict->entries[start + i].len : dict->entries[start + i].value;
		body->len += zscodec_ints_encode(chunk, n, body->data + body->len);
	}
	if (dict->by_ref)
	{
		for (uint32 i = 0; i < dict->n; i++)
		{
			memcpy(body->data + body->len, dict->entries[i].ptr, dict->entries[i].len);
			body->len += dict->entries[i].len;
		}
	}
	return NULL;
}

/* Appends the dictionary to the body of a shared area, its entries coded by the words. */
const char *
zscodec_dict_write_coded(const ZsDictBuild *dict, const ZsWordTable *words, const uint8 *limit,
						 ZsCodecBuf *body)
{
	uint64		chunk[ZS_VECTOR_ROWS];
	uint32		nblocks = (dict->n + ZS_DICT_CODED_BLOCK - 1) / ZS_DICT_CODED_BLOCK;
	size_t		room = 9 + (2 * dict->n / ZS_VECTOR_ROWS + 3) * ZS_INTS_SIZE_MAX(ZS_VECTOR_ROWS);
	ZsBitWriter w = {NULL, 0, 0};
	uint64		block_bits[ZS_DICT_SMALL_ENTRIES / ZS_DICT_CODED_BLOCK];
	uint8	   *codes;
	uint64		before = 0;

	Assert(dict->by_ref && dict->n <= ZS_DICT_SMALL_ENTRIES &&
		   dict->raw_bytes <= ZS_DICT_CODED_BYTES);
	if (!zscodec_buf_reserve(body, body->len + room + ZS_WORDS_ENCODED_MAX(dict->raw_bytes)))
		return ZS_ERR_MEMORY;

	/*
	 * the codes go behind the largest room that the numbers in front of them may take, and are
	 * moved then
	 */
	codes = body->data + body->len + room;
	w.p = codes;
	for (uint32 i = 0; i < dict->n; i++)
	{
		zscodec_words_encode(words, dict->entries[i].ptr, dict->entries[i].len, limit, &w);
		if ((i + 1) % ZS_DICT_CODED_BLOCK == 0 || i + 1 == dict->n)
		{
			uint64		bit = (uint64) (w.p - codes) * 8 + (uint64) w.nbits;

			block_bits[i / ZS_DICT_CODED_BLOCK] = bit - before;
			before = bit;
		}
	}
	if (w.nbits > 0)
		w.p++;

	body->data[body->len] = dict->sorted;
	store32(body->data + body->len + 1, dict->n);
	body->len += 5;
	for (uint32 start = 0; start < dict->n; start += ZS_VECTOR_ROWS)
	{
		uint32		n = Min(dict->n - start, ZS_VECTOR_ROWS);

		for (uint32 i = 0; i < n; i++)
			chunk[i] = dict->entries[start + i].len;
		body->len += zscodec_ints_encode(chunk, n, body->data + body->len);
	}
	for (uint32 start = 0; start < nblocks; start += ZS_VECTOR_ROWS)
		body->len += zscodec_ints_encode(block_bits + start, Min(nblocks - start, ZS_VECTOR_ROWS),
										 body->data + body->len);
	store32(body->data + body->len, (uint32) (w.p - codes));
	body->len += 4;
	Assert(body->data + body->len <= codes);
	memmove(body->data + body->len, codes, (size_t) (w.p - codes));
	body->len += (size_t) (w.p - codes);
	return NULL;
}
