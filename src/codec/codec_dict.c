/*-------------------------------------------------------------------------
 *
 * codec_dict.c
 *	  Finding the distinct values of a segment.
 *
 * Where a sample says that a dictionary may pay (codec_dict_sample.c), all rows go through a hash
 * table, which gives up when there are too many values.  Strings with too many distinct values for
 * a complete dictionary get one of those that repeat most, and the others remain literals.
 * Integers are sorted, strings too unless there are many: sorted codes compare like values, pack
 * together where values cluster, and sorted entries compress better.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_dict.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_compress.h"
#include "codec_dict_table.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

#define SORT_STRINGS_MAX	4096

/* So many bits of integers are sorted in one pass; fewer integers are compared with each other. */
#define DIGIT_BITS			11
#define DIGITS				(1 << DIGIT_BITS)
#define SORT_DIGITS_MIN		256

/* Rows of bytes whose slots are asked for at a time. */
#define ROWS_AHEAD			32

/* Integers of which the largest is less than this above the smallest are found by a table. */
#define NARROW_RANGE		(32 * 1024)

/* An integer, by its distance from the smallest, and which entry it is. */
typedef struct IntRank
{
	uint64		value;
	uint64		entry;
} IntRank;

static int
compare_ints(const void *a, const void *b)
{
	uint64		x = ((const IntRank *) a)->value;
	uint64		y = ((const IntRank *) b)->value;

	return x < y ? -1 : x > y;
}

/* Sorts n integers below 2^nbits, digit by digit from the lowest; returns where they are then. */
static IntRank *
sort_digits(IntRank *from, IntRank *to, uint32 n, int nbits)
{
	uint32		starts[DIGITS];

	for (int shift = 0; shift < nbits; shift += DIGIT_BITS)
	{
		IntRank    *sorted = to;
		uint32		before = 0;

		memset(starts, 0, sizeof(starts));
		for (uint32 i = 0; i < n; i++)
			starts[from[i].value >> shift & (DIGITS - 1)]++;
		for (uint32 d = 0; d < DIGITS; d++)
		{
			uint32		count = starts[d];

			starts[d] = before;
			before += count;
		}
		Assert(before == n);
		for (uint32 i = 0; i < n; i++)
			to[starts[from[i].value >> shift & (DIGITS - 1)]++] = from[i];
		to = from;
		from = sorted;
	}
	return from;
}

/* Fills t->order with the entries in the order of their values. */
static void
sort_ints(ZsDictTable *t)
{
	IntRank    *ranks = (IntRank *) t->slots;	/* no longer needed for lookups */
	int64		min = PG_INT64_MAX;
	uint64		all = 0;

	StaticAssertDecl(sizeof(t->slots) >= 2 * ZS_DICT_ENTRIES_MAX * sizeof(IntRank),
					 "entries fit the slots twice");
	for (uint32 i = 0; i < t->n; i++)
		min = Min(min, (int64) t->entries[i].value);
	for (uint32 i = 0; i < t->n; i++)
	{
		ranks[i].value = t->entries[i].value - (uint64) min;
		ranks[i].entry = i;
		all |= ranks[i].value;
	}
	if (t->n < SORT_DIGITS_MIN)
		qsort(ranks, t->n, sizeof(IntRank), compare_ints);
	else
		ranks = sort_digits(ranks, ranks + t->n, t->n, bit_width(all));
	for (uint32 i = 0; i < t->n; i++)
		t->order[i] = (uint32) ranks[i].entry;
}

/* Of two numbers of entries of the table arg. */
static int
compare_bytes(const void *a, const void *b, void *arg)
{
	const ZsDictTable *t = arg;
	const ZsDictEntry *x = &t->entries[*(const uint32 *) a];
	const ZsDictEntry *y = &t->entries[*(const uint32 *) b];
	int			c = memcmp(x->ptr, y->ptr, Min(x->len, y->len));

	return c != 0 ? c : x->len < y->len ? -1 : x->len > y->len;
}

/* Sorts the entries and renumbers the codes. */
static void
sort_entries(ZsDictTable *t, bool by_ref, uint32 *codes, uint32 nrows)
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
keep_frequent(ZsDictTable *t, uint32 *codes, uint32 nrows, uint32 max_entries, uint64 max_bytes)
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
	if (n < 2 || ncovered < nrows / ZS_DICT_MIN_SHARE)
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
make_payloads(ZsEncoder *enc, ZsDictTable *t, int scale)
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

/* Smallest and largest of the integers; false if there are none. */
static ZS_WIDE_CLONES bool
find_bounds(const ZsColumnInput *in, int64 *min, int64 *max)
{
	const uint8 *isnull = in->isnull;
	int64		least = PG_INT64_MAX;
	int64		most = PG_INT64_MIN;

	for (uint32 row = 0; row < in->nrows; row++)
	{
		int64		v = in->ints[row];
		bool		null = isnull != NULL && isnull[row] != 0;

		least = !null && v < least ? v : least;
		most = !null && v > most ? v : most;
	}
	*min = least;
	*max = most;
	return least <= most;
}

/*
 * Gives the rows their codes, where all integers are among `range` from min on: a table of all that
 * may occur takes the place of the hash table, and entries come in the order of their values.
 */
static void
code_narrow(ZsDictTable *t, const ZsColumnInput *in, int64 min, uint32 range, uint32 *codes)
{
	uint32	   *ranks = t->slots;
	const uint8 *isnull = in->isnull;

	StaticAssertDecl(NARROW_RANGE <= lengthof(t->slots) && NARROW_RANGE <= MAX_ENTRIES,
					 "slots and entries for all values of a narrow range");
	Assert(range >= 1 && range <= NARROW_RANGE);
	memset(ranks, 0, range * sizeof(uint32));
	for (uint32 row = 0; row < in->nrows; row++)
	{
		if (!is_set(isnull, row))
			ranks[in->ints[row] - min] = 1;
	}
	t->n = 0;
	for (uint32 i = 0; i < range; i++)
	{
		uint32		occurs = ranks[i];

		t->entries[t->n] = (ZsDictEntry) {{.value = (uint64) min + i}, 8, 0, 0};
		ranks[i] = t->n;
		t->n += occurs;
	}
	t->raw_bytes = (uint64) t->n * 8;
	for (uint32 row = 0; row < in->nrows; row++)
		codes[row] = is_set(isnull, row) ? 0 : ranks[in->ints[row] - min];
}

/* Gives integers their codes by the hash table; false if it gets too many entries. */
static bool
code_ints(ZsDictTable *t, const ZsColumnInput *in, uint32 limit, uint32 *codes)
{
	clear_table(t);
	for (uint32 row = 0; row < in->nrows; row++)
	{
		if (is_set(in->isnull, row))
			codes[row] = 0;
		else if (is_set(in->isext, row))
			codes[row] = ZS_DICT_NO_CODE;
		else if (row > 0 && in->ints[row] == in->ints[row - 1] && !is_set(in->isnull, row - 1))
			codes[row] = codes[row - 1];
		else if ((codes[row] = code_of_int(t, (uint64) in->ints[row], limit)) == ZS_DICT_NO_CODE)
			return false;
		else
			t->entries[codes[row]].count++;
	}
	return true;
}

/*
 * The same for values that are bytes.  hashed: codes has their hashes, and loses them.  Where a
 * table is large, looking up waits for the memory, so slots are asked for some rows before.
 */
static bool
code_bytes(ZsDictTable *t, const ZsColumnInput *in, uint32 limit, bool hashed, uint32 *codes)
{
	clear_table(t);
	for (uint32 start = 0; start < in->nrows; start += ROWS_AHEAD)
	{
		uint32		end = Min(start + ROWS_AHEAD, in->nrows);

		for (uint32 row = start; row < end; row++)
		{
			if (is_set(in->isnull, row) || is_set(in->isext, row))
				continue;
			if (!hashed)
				codes[row] = hash_of_row(in, row);
			__builtin_prefetch(&t->slots[codes[row] & (t->nslots - 1)]);
		}
		for (uint32 row = start; row < end; row++)
		{
			if (is_set(in->isnull, row))
				codes[row] = 0;
			else if (is_set(in->isext, row))
				codes[row] = ZS_DICT_NO_CODE;
			else
			{
				codes[row] = code_of_bytes(t, in->bytes + in->offsets[row],
										   (uint32) (in->offsets[row + 1] - in->offsets[row]),
										   codes[row], limit);
				if (codes[row] == ZS_DICT_NO_CODE)
					return false;
				t->entries[codes[row]].count++;
			}
		}
	}
	return true;
}

/*
 * Builds a dictionary of the values of a column; dict->n = 0 when it would not pay.  Its memory
 * belongs to the encoder and lasts until the next call.
 */
const char *
zscodec_dict_build(ZsEncoder *enc, const ZsColumnInput *in, ZsDictBuild *dict)
{
	ZsDictTable  *t;
	bool		strings = in->kind >= ZS_KIND_FIXED;
	bool		codable = in->kind == ZS_KIND_BYTES;
	uint32		limit = in->kind == ZS_KIND_INT ? in->nrows :
		Min(ZS_DICT_SMALL_ENTRIES, in->nrows / 2);
	bool		ascending;
	bool		hashed;
	int64		min;
	int64		max;
	const char *err;

	memset(dict, 0, sizeof(*dict));
	if (in->nrows < ZS_DICT_MIN_ROWS)
		return NULL;
	if (!zscodec_buf_reserve(&enc->bufs[ZS_BUF_DICT], sizeof(ZsDictTable)))
		return ZS_ERR_MEMORY;
	t = (ZsDictTable *) enc->bufs[ZS_BUF_DICT].data;
	if (!zscodec_buf_reserve(&enc->bufs[ZS_BUF_CODES], in->nrows * sizeof(uint32)))
		return ZS_ERR_MEMORY;
	dict->codes = (uint32 *) enc->bufs[ZS_BUF_CODES].data;
	if (!zscodec_dict_may_pay(t, in, dict->codes, &hashed))
		return NULL;

	ascending = as_ints(in) && in->isext == NULL && find_bounds(in, &min, &max) &&
		(uint64) max - (uint64) min < Min(in->nrows, NARROW_RANGE);
	if (ascending)
		code_narrow(t, in, min, (uint32) (max - min) + 1, dict->codes);
	else if (as_ints(in) ? !code_ints(t, in, limit, dict->codes) :
			 !code_bytes(t, in, strings ? MAX_ENTRIES : limit, hashed, dict->codes))
		return NULL;
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
	if (dict->sorted && (dict->by_ref || !ascending))
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
