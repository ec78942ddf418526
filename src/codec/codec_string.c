/*-------------------------------------------------------------------------
 *
 * codec_string.c
 *	  By-reference values: one for all, plain, or coded by a table of symbols or words.
 *
 * Values lie side by side without separators, their lengths in an integer stream in front; a
 * fixed-length type has no lengths unless symbols are used.  To find one value without walking over
 * all before it, anchors say where every 32nd begins.  Decoding lays the values into the arena as
 * PostgreSQL wants to see them: with a varlena header, or aligned.  The arena's size follows from
 * lengths that were checked against the bytes at hand (or, for symbols, against eight times as
 * many), so broken lengths cannot make it large.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_string.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_string.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/* A flat stream of lengths may be larger than the best one: by 1 byte in so many of values. */
#define FLAT_LENS_SHARE		128

/*
 * Writes the lengths as a stream; returns its size.  Where there are anchors, some of the lengths
 * are to be had without the others, if that costs little.
 */
static size_t
encode_lens(const uint32 *lens, uint32 n, bool with_anchors, uint8 *out)
{
	uint64		wide[ZS_VECTOR_ROWS];
	uint64		total = 0;
	size_t		best;
	size_t		flat;
	uint8		temp[ZS_INTS_SIZE_MAX(ZS_VECTOR_ROWS)];

	for (uint32 i = 0; i < n; i++)
	{
		wide[i] = lens[i];
		total += lens[i];
	}
	best = zscodec_ints_encode(wide, n, out);
	if (!with_anchors || zscodec_ints_flat(out))
		return best;
	flat = zscodec_ints_encode_flat(wide, n, temp);
	if (flat > best + total / FLAT_LENS_SHARE)
		return best;
	memcpy(out, temp, flat);
	return flat;
}

/* Writes where values 32, 64, ... begin; returns the size. */
static size_t
encode_anchors(const uint64 *anchors, uint32 n, uint8 *out)
{
	uint32		count = (n - 1) / ZS_ANCHOR_STRIDE;
	int			width = count > 0 ? packed_width(bit_width(anchors[count - 1])) : 0;

	*out = (uint8) width;
	zscodec_bits_pack(anchors, count, width, 0, out + 1);
	return 1 + packed_size(count, width);
}

/*
 * Room: ZS_INTS_SIZE_MAX(n) + ZS_ANCHORS_SIZE_MAX + sum of the lengths.  Values that follow each
 * other are copied together.
 */
size_t
zscodec_strings_encode_plain(const uint8 *const *ptrs, const uint32 *lens, uint32 n, bool with_lens,
							 bool with_anchors, uint8 *out)
{
	uint8	   *p = out;
	uint64		anchors[ZS_VECTOR_ROWS / ZS_ANCHOR_STRIDE];
	uint64		total = 0;

	if (with_lens)
	{
		p += encode_lens(lens, n, with_anchors, p);
		for (uint32 i = 0; i < n; i++)
		{
			if (i > 0 && i % ZS_ANCHOR_STRIDE == 0)
				anchors[i / ZS_ANCHOR_STRIDE - 1] = total;
			total += lens[i];
		}
		p += encode_anchors(anchors, with_anchors ? n : 1, p);
	}
	for (uint32 i = 0; i < n;)
	{
		const uint8 *start = ptrs[i];
		const uint8 *end = start;

		for (; i < n && ptrs[i] == end; i++)
			end += lens[i];
		memcpy(p, start, (size_t) (end - start));
		p += end - start;
	}
	return (size_t) (p - out);
}

/*
 * Room for anchors in front of what they lead to, whose size shows later: the codes are written
 * behind it and then moved next to the anchors.
 */
static uint8 *
finish_codes(const uint64 *anchors, uint32 n, bool with_anchors, uint8 *p, const uint8 *codes,
			 size_t len)
{
	p += encode_anchors(anchors, with_anchors ? n : 1, p);
	Assert(p <= codes);
	memmove(p, codes, len);
	return p + len;
}

/* Room: ZS_INTS_SIZE_MAX(n) + ZS_ANCHORS_SIZE_MAX + ZS_FSST_ENCODED_MAX(sum of the lengths). */
size_t
zscodec_strings_encode_fsst(const ZsSymbolTable *table, const uint8 *const *ptrs,
							const uint32 *lens, uint32 n, const uint8 *limit, bool with_anchors,
							uint8 *out)
{
	uint8	   *start = out + encode_lens(lens, n, with_anchors, out);
	uint8	   *codes = start + ZS_ANCHORS_SIZE_MAX;
	uint8	   *p = codes;
	uint64		anchors[ZS_VECTOR_ROWS / ZS_ANCHOR_STRIDE];

	Assert(table->nsymbols <= ZS_FSST_SYMBOLS_MAX);
	for (uint32 i = 0; i < n; i++)
	{
		if (i > 0 && i % ZS_ANCHOR_STRIDE == 0)
			anchors[i / ZS_ANCHOR_STRIDE - 1] = (uint64) (p - codes);
		p = zscodec_fsst_encode(table, ptrs[i], lens[i], limit, p);
	}
	return (size_t) (finish_codes(anchors, n, with_anchors, start, codes, (size_t) (p - codes)) -
					 out);
}

/* Room: ZS_INTS_SIZE_MAX(n) + ZS_ANCHORS_SIZE_MAX + ZS_WORDS_ENCODED_MAX(sum of the lengths). */
size_t
zscodec_strings_encode_words(const ZsWordTable *table, const uint8 *const *ptrs, const uint32 *lens,
							 uint32 n, const uint8 *limit, uint8 *out)
{
	uint8	   *start = out + encode_lens(lens, n, true, out);
	uint8	   *codes = start + ZS_ANCHORS_SIZE_MAX;
	ZsBitWriter w = {codes, 0, 0};
	uint64		anchors[ZS_VECTOR_ROWS / ZS_ANCHOR_STRIDE];

	for (uint32 i = 0; i < n; i++)
	{
		if (i > 0 && i % ZS_ANCHOR_STRIDE == 0)
			anchors[i / ZS_ANCHOR_STRIDE - 1] = (uint64) (w.p - codes) * 8 + (uint64) w.nbits;
		zscodec_words_encode(table, ptrs[i], lens[i], limit, &w);
	}
	if (w.nbits > 0)
		w.p++;
	return (size_t) (finish_codes(anchors, n, true, start, codes, (size_t) (w.p - codes)) - out);
}

/* Short values are copied 16 bytes at a time where source and destination allow it. */
static inline void
copy_value(uint8 *dst, const uint8 *src, size_t len, const uint8 *src_end)
{
	if (likely(len <= 16 && src_end - src >= 16))
		memcpy(dst, src, 16);
	else
		memcpy(dst, src, len);
}

StaticAssertDecl(ZS_SLACK >= 16, "values may be copied in steps of 16");

/* Moves behind the anchors of n values, without looking at them. */
const char *
zscodec_anchors_skip(ZsReader *r, uint32 n)
{
	size_t		size;

	if (reader_left(r) < 1)
		return ZS_ERR_SHORT;
	if (r->p[0] > ZS_WIDTH_MAX || r->p[0] != packed_width(r->p[0]))
		return "bit width out of range";
	size = 1 + packed_size((n - 1) / ZS_ANCHOR_STRIDE, r->p[0]);
	if (reader_left(r) < size)
		return ZS_ERR_SHORT;
	r->p += size;
	return NULL;
}

/* The anchor before value idx: *first is the value it leads to. */
static const char *
read_anchor(ZsReader *r, uint32 n, uint32 idx, uint32 *first, uint64 *anchor)
{
	const uint8 *p = r->p;
	const char *err;

	*first = 0;
	*anchor = 0;
	if ((err = zscodec_anchors_skip(r, n)) != NULL)
		return err;
	if (p[0] == 0 || idx < ZS_ANCHOR_STRIDE)
		return NULL;
	*first = idx - idx % ZS_ANCHOR_STRIDE;
	*anchor = zscodec_bits_get(p + 1, (size_t) (r->p - p) - 1, idx / ZS_ANCHOR_STRIDE - 1, p[0]);
	return NULL;
}

/* The sum of lengths, which must not exceed limit. */
const char *
zscodec_lens_sum(const ZsSegmentInfo *info, const uint64 *lens, uint32 n, uint64 limit,
				 uint64 *total)
{
	*total = 0;
	for (uint32 i = 0; i < n; i++)
	{
		if (lens[i] > limit - *total || lens[i] > ZS_VALUE_SIZE_MAX)
			return "value lengths exceed the data";
		if (info->kind == ZS_KIND_FIXED && lens[i] != info->width)
			return "value has the wrong length";
		*total += lens[i];
	}
	return NULL;
}

/*
 * Lengths of n values, whose sum must not exceed what is left times the expansion; FIXED types have
 * their width.  Moves behind the anchors, if there are lengths; *anchors stays in front of them.
 */
static const char *
read_lens(const ZsSegmentInfo *info, ZsReader *r, uint32 n, bool stored, uint64 *lens,
		  uint64 *total, uint64 expansion, ZsReader *anchors)
{
	const char *err;

	if (!stored)
	{
		for (uint32 i = 0; i < n; i++)
			lens[i] = info->width;
		*total = (uint64) n * info->width;
		return *total <= reader_left(r) * expansion ? NULL : ZS_ERR_SHORT;
	}
	if ((err = zscodec_ints_decode(r, n, lens)) != NULL)
		return err;
	*anchors = *r;
	if ((err = zscodec_anchors_skip(r, n)) != NULL)
		return err;
	return zscodec_lens_sum(info, lens, n, reader_left(r) * expansion, total);
}

/* Room in the arena for n values of total bytes. */
bool
zscodec_values_reserve(const ZsSegmentInfo *info, ZsVectorOut *out, uint32 n, uint64 total)
{
	size_t		overhead = info->kind == ZS_KIND_FIXED ? info->align : ZS_VARLENA_OVERHEAD;

	return zscodec_arena_reserve(&out->alloc, &out->arena, &out->arena_size,
								 total + n * overhead + ZS_SLACK);
}

/* All rows have the value that the rest of the body is. */
static const char *
decode_const(const ZsSegmentInfo *info, ZsReader *r, uint64 *value, ZsVectorOut *out)
{
	size_t		len = reader_left(r);
	uint8	   *p;
	uint8	   *data;

	if (info->kind == ZS_KIND_FIXED && len != info->width)
		return "value has the wrong length";
	if (len > ZS_VALUE_SIZE_MAX)
		return "value is too long";
	if (!zscodec_values_reserve(info, out, 1, len))
		return ZS_ERR_MEMORY;
	p = out->arena;
	*value = zscodec_value_begin(info, &p, len, &data);
	Assert(data + len <= out->arena + out->arena_size);

	/* a segment without pages may have no bytes at all */
	if (len > 0)
		memcpy(data, r->p, len);
	return NULL;
}

/* The forms of a constant vector. */
static const char *
decode_const_forms(const ZsSegmentInfo *info, ZsReader *r, uint32 n, uint32 want, ZsVectorOut *out)
{
	uint32		len = (uint32) Min(reader_left(r), ZS_VALUE_SIZE_MAX);
	uint64		value;
	const char *err;

	if (want & (ZS_FORM_VALUES | ZS_FORM_CONST))
	{
		if ((err = decode_const(info, r, &value, out)) != NULL)
			return err;
		for (uint32 i = 0; i < n && (want & ZS_FORM_VALUES); i++)
			out->values[i] = value;
		if (want & ZS_FORM_CONST)
		{
			out->constant = value;
			out->const_length = len;
		}
	}
	for (uint32 i = 0; i < n && (want & ZS_FORM_LENGTHS); i++)
		out->lengths[i] = len;
	return NULL;
}

static const char *
decode_plain(const ZsSegmentInfo *info, ZsReader *r, uint32 n, const uint64 *lens, uint64 total,
			 ZsVectorOut *out)
{
	const uint8 *src = r->p;
	uint8	   *p;

	if (total != reader_left(r))
		return "value lengths do not add up";
	if (!zscodec_values_reserve(info, out, n, total))
		return ZS_ERR_MEMORY;
	p = out->arena;
	for (uint32 i = 0; i < n; i++)
	{
		uint8	   *data;

		out->values[i] = zscodec_value_begin(info, &p, lens[i], &data);
		copy_value(data, src, lens[i], r->end);
		p = data + lens[i];
		src += lens[i];
	}
	Assert(p <= out->arena + out->arena_size);
	return NULL;
}

static const char *
decode_fsst(const ZsSegmentInfo *info, ZsReader *r, uint32 n, const uint64 *lens, uint64 total,
			const ZsSharedState *shared, ZsVectorOut *out)
{
	uint8	   *p;

	if (!zscodec_values_reserve(info, out, n, total))
		return ZS_ERR_MEMORY;
	p = out->arena;
	for (uint32 i = 0; i < n; i++)
	{
		uint8	   *data;

		out->values[i] = zscodec_value_begin(info, &p, lens[i], &data);
		if (!zscodec_fsst_decode(r, shared->symbols, shared->symbol_lens, data, lens[i]))
			return "symbol codes are corrupted";
		p = data + lens[i];
	}
	Assert(p <= out->arena + out->arena_size);
	return reader_left(r) == 0 ? NULL : "symbol codes do not add up";
}

/*
 * Decodes n values: their lengths into out->lengths[0 .. n), themselves into out->values[0 .. n)
 * and the arena.
 */
const char *
zscodec_strings_decode(const ZsSegmentInfo *info, int encoding, ZsReader *r, uint32 n,
					   const ZsSharedState *shared, uint32 want, ZsVectorOut *out)
{
	uint64		lens[ZS_VECTOR_ROWS];
	uint64		total;
	uint64		expansion = 1;
	ZsReader	anchors = *r;
	const char *err;

	switch (encoding)
	{
		case ZS_ENC_CONST:
			return decode_const_forms(info, r, n, want, out);
		case ZS_ENC_PLAIN:
			break;
		case ZS_ENC_FSST:
			if (shared == NULL || shared->symbols == NULL)
				return "symbol table is missing";
			expansion = ZS_FSST_EXPANSION;
			break;
		case ZS_ENC_WORDS:
			if (shared == NULL || shared->words == NULL)
				return "table of words is missing";
			expansion = ZS_WORDS_EXPANSION;
			break;
		default:
			return "encoding does not fit the type";
	}
	if ((err = read_lens(info, r, n, info->kind != ZS_KIND_FIXED || encoding != ZS_ENC_PLAIN, lens,
						 &total, expansion, &anchors)) != NULL)
		return err;
	if (encoding == ZS_ENC_WORDS && total > info->raw_size)
		return "value lengths exceed the data";
	for (uint32 i = 0; i < n && (want & ZS_FORM_LENGTHS); i++)
		out->lengths[i] = (uint32) lens[i];
	if ((want & ZS_FORM_VALUES) == 0)
		return NULL;
	switch (encoding)
	{
		case ZS_ENC_PLAIN:
			return decode_plain(info, r, n, lens, total, out);
		case ZS_ENC_FSST:
			return decode_fsst(info, r, n, lens, total, shared, out);
		default:
			return zscodec_strings_decode_words(info, r, &anchors, n, lens, total, shared->words,
												out);
	}
}

/* A fixed-length value that lies there as it is. */
static const char *
decode_fixed_one(const ZsSegmentInfo *info, const ZsReader *r, uint32 n, uint32 idx,
				 ZsVectorOut *out, uint64 *value)
{
	uint8	   *p;
	uint8	   *data;

	if ((uint64) n * info->width > reader_left(r))
		return ZS_ERR_SHORT;
	if (!zscodec_values_reserve(info, out, 1, info->width))
		return ZS_ERR_MEMORY;
	p = out->arena;
	*value = zscodec_value_begin(info, &p, info->width, &data);
	memcpy(data, r->p + (size_t) idx * info->width, info->width);
	return NULL;
}

/*
 * Decodes value idx of n alone.  Only the lengths from the last anchor on are looked at; nothing
 * says that those before it are sound.
 */
const char *
zscodec_strings_decode_one(const ZsSegmentInfo *info, int encoding, ZsReader *r, uint32 n,
						   uint32 idx, const ZsSharedState *shared, ZsVectorOut *out, uint64 *value)
{
	uint64		all[ZS_VECTOR_ROWS];
	const uint64 *lens;
	bool		flat;
	uint64		total;
	uint64		before;
	uint64		anchor;
	uint32		first;
	uint32		count;
	ZsReader	stream = *r;
	ZsBitReader bits;
	const char *err;
	uint8	   *p;
	uint8	   *data;

	switch (encoding)
	{
		case ZS_ENC_CONST:
			return decode_const(info, r, value, out);
		case ZS_ENC_PLAIN:
			if (info->kind == ZS_KIND_FIXED)
				return decode_fixed_one(info, r, n, idx, out, value);
			break;
		case ZS_ENC_FSST:
			if (shared == NULL || shared->symbols == NULL)
				return "symbol table is missing";
			break;
		case ZS_ENC_WORDS:
			if (shared == NULL || shared->words == NULL)
				return "table of words is missing";
			break;
		default:
			return "encoding does not fit the type";
	}

	/* the lengths come first, but which of them matter the anchors behind them say */
	flat = reader_left(r) > 0 && zscodec_ints_flat(r->p);
	if ((err = flat ? zscodec_ints_get_some(r, n, 0, 0, all) :
		 zscodec_ints_decode(r, n, all)) != NULL ||
		(err = read_anchor(r, n, idx, &first, &anchor)) != NULL)
		return err;
	count = idx - first + 1;
	lens = flat ? all : all + first;
	if (flat && (err = zscodec_ints_get_some(&stream, n, first, count, all)) != NULL)
		return err;
	err = zscodec_lens_sum(info, lens, count, encoding == ZS_ENC_PLAIN ? reader_left(r) :
				   encoding == ZS_ENC_FSST ? reader_left(r) * ZS_FSST_EXPANSION :
				   Min(reader_left(r) * ZS_WORDS_EXPANSION, info->raw_size), &total);
	if (err != NULL)
		return err;
	before = total - lens[count - 1];
	if (!zscodec_values_reserve(info, out, 1, lens[count - 1]))
		return ZS_ERR_MEMORY;
	p = out->arena;
	*value = zscodec_value_begin(info, &p, lens[count - 1], &data);
	if (encoding == ZS_ENC_WORDS)
	{
		if (!zscodec_words_start(&bits, r, anchor) ||
			!zscodec_words_skip(&bits, shared->words, before) ||
			!zscodec_words_decode(&bits, shared->words, data, lens[count - 1]))
			return "word codes are corrupted";
		return NULL;
	}
	if (anchor > reader_left(r))
		return "value lengths exceed the data";
	r->p += anchor;
	if (encoding == ZS_ENC_FSST)
	{
		if (!zscodec_fsst_skip(r, shared->symbol_lens, before) ||
			!zscodec_fsst_decode(r, shared->symbols, shared->symbol_lens, data, lens[count - 1]))
			return "symbol codes are corrupted";
		return NULL;
	}
	if (total > reader_left(r))
		return "value lengths exceed the data";
	memcpy(data, r->p + before, lens[count - 1]);
	return NULL;
}

/*
 * Which bytes of a vector does zscodec_strings_decode_one() look at for value idx, besides those in
 * front of the strings?  The reader is on the first bytes of the vector, from head on; the offsets
 * are from there.  False: not known.
 */
bool
zscodec_strings_part(int encoding, ZsReader *r, uint32 n, uint32 idx, const uint8 *head,
					 uint64 *from, uint64 *to)
{
	const uint8 *anchors;
	size_t		size;
	uint64		none;
	uint32		group = idx / ZS_ANCHOR_STRIDE;
	uint32		ngroups = (n - 1) / ZS_ANCHOR_STRIDE + 1;
	uint64		start = 0;
	uint64		end = UINT32_MAX;

	if (reader_left(r) < 1 || !zscodec_ints_flat(r->p) ||
		zscodec_ints_get_some(r, n, 0, 0, &none) != NULL)
		return false;
	anchors = r->p;
	if (zscodec_anchors_skip(r, n) != NULL || anchors[0] == 0)
		return false;
	size = (size_t) (r->p - anchors) - 1;
	if (group > 0)
		start = zscodec_bits_get(anchors + 1, size, group - 1, anchors[0]);
	if (group + 1 < ngroups)
		end = zscodec_bits_get(anchors + 1, size, group, anchors[0]);
	if (start > end)
		return false;

	/* those of words count bits, and codes are read some bytes ahead */
	if (encoding == ZS_ENC_WORDS)
	{
		start /= 8;
		end /= 8;
	}
	*from = (uint64) (r->p - head) + start;
	*to = (uint64) (r->p - head) + end + 2 * sizeof(uint64);
	return true;
}
