/*
 * codec_string.c
 *	  By-reference values: one for all, plain, or coded by a symbol table.
 *
 * Values lie side by side without separators, their lengths in an integer stream in front; a fixed-length type
 * has no lengths unless symbols are used.  Decoding lays the values into the arena as PostgreSQL wants to see them:
 * with a varlena header, or aligned.  The arena's size follows from lengths that were checked against the
 * bytes at hand (or, for symbols, against eight times as many), so broken lengths cannot make it large.
 */
#include "codec_string.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/* A code stands for at most 8 bytes. */
#define FSST_EXPANSION		8

/* Writes the lengths as a stream; returns its size. */
static size_t
encode_lens(const uint32 *lens, uint32 n, uint8 *out)
{
	uint64		wide[ZS_VECTOR_ROWS];

	for (uint32 i = 0; i < n; i++)
		wide[i] = lens[i];
	return zscodec_ints_encode(wide, n, out);
}

/* Room: ZS_INTS_SIZE_MAX(n) + sum of the lengths.  Values that follow each other are copied together. */
size_t
zscodec_strings_encode_plain(const uint8 *const *ptrs, const uint32 *lens, uint32 n, bool with_lens, uint8 *out)
{
	uint8	   *p = out + (with_lens ? encode_lens(lens, n, out) : 0);

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

/* Room: ZS_INTS_SIZE_MAX(n) + ZS_FSST_ENCODED_MAX(sum of the lengths). */
size_t
zscodec_strings_encode_fsst(const ZsSymbolTable *table, const uint8 *const *ptrs, const uint32 *lens, uint32 n,
							const uint8 *limit, uint8 *out)
{
	uint8	   *p = out + encode_lens(lens, n, out);

	Assert(table->nsymbols <= ZS_FSST_SYMBOLS_MAX);
	for (uint32 i = 0; i < n; i++)
		p = zscodec_fsst_encode(table, ptrs[i], lens[i], limit, p);
	return (size_t) (p - out);
}

static inline uint8 *
align_up(uint8 *p, uint32 align)
{
	return (uint8 *) (((uintptr_t) p + align - 1) & ~(uintptr_t) (align - 1));
}

/* Begins a value of len bytes at *p: returns its address, sets *data to where its bytes go. */
static inline uint64
begin_value(const ZsSegmentInfo *info, uint8 **p, uint64 len, uint8 **data)
{
	if (info->kind == ZS_KIND_FIXED)
	{
		*data = align_up(*p, info->align);
		return (uint64) (uintptr_t) *data;
	}
	return zscodec_varlena_start(p, len, data);
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

/* Lengths of n values whose sum must not exceed limit; FIXED types have their width. */
static const char *
read_lens(const ZsSegmentInfo *info, ZsReader *r, uint32 n, bool stored, uint64 *lens, uint64 *total,
		  uint64 expansion)
{
	const char *err;
	uint64		limit;

	if (!stored)
	{
		for (uint32 i = 0; i < n; i++)
			lens[i] = info->width;
		*total = (uint64) n * info->width;
		return *total <= reader_left(r) * expansion ? NULL : ZS_ERR_SHORT;
	}
	if ((err = zscodec_ints_decode(r, n, lens)) != NULL)
		return err;
	limit = reader_left(r) * expansion;
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

/* Room in the arena for n values of total bytes. */
static bool
reserve_values(const ZsSegmentInfo *info, ZsVectorOut *out, uint32 n, uint64 total)
{
	size_t		overhead = info->kind == ZS_KIND_FIXED ? info->align : ZS_VARLENA_OVERHEAD;

	return zscodec_arena_reserve(&out->alloc, &out->arena, &out->arena_size, total + n * overhead + ZS_SLACK);
}

/* All rows have the value that the rest of the body is. */
static const char *
decode_const(const ZsSegmentInfo *info, ZsReader *r, uint32 n, ZsVectorOut *out)
{
	size_t		len = reader_left(r);
	uint8	   *p;
	uint8	   *data;
	uint64		value;

	if (info->kind == ZS_KIND_FIXED && len != info->width)
		return "value has the wrong length";
	if (len > ZS_VALUE_SIZE_MAX)
		return "value is too long";
	if (!reserve_values(info, out, 1, len))
		return ZS_ERR_MEMORY;
	p = out->arena;
	value = begin_value(info, &p, len, &data);
	Assert(data + len <= out->arena + out->arena_size);
	memcpy(data, r->p, len);
	for (uint32 i = 0; i < n; i++)
		out->values[i] = value;
	return NULL;
}

static const char *
decode_plain(const ZsSegmentInfo *info, ZsReader *r, uint32 n, ZsVectorOut *out)
{
	uint64		lens[ZS_VECTOR_ROWS];
	uint64		total;
	const uint8 *src;
	const char *err;
	uint8	   *p;

	if ((err = read_lens(info, r, n, info->kind != ZS_KIND_FIXED, lens, &total, 1)) != NULL)
		return err;
	if (total != reader_left(r))
		return "value lengths do not add up";
	if (!reserve_values(info, out, n, total))
		return ZS_ERR_MEMORY;
	src = r->p;
	p = out->arena;
	for (uint32 i = 0; i < n; i++)
	{
		uint8	   *data;

		out->values[i] = begin_value(info, &p, lens[i], &data);
		copy_value(data, src, lens[i], r->end);
		p = data + lens[i];
		src += lens[i];
	}
	Assert(p <= out->arena + out->arena_size);
	return NULL;
}

static const char *
decode_fsst(const ZsSegmentInfo *info, ZsReader *r, uint32 n, const ZsSharedState *shared, ZsVectorOut *out)
{
	uint64		lens[ZS_VECTOR_ROWS];
	uint64		total;
	const char *err;
	uint8	   *p;

	if (shared == NULL || shared->symbols == NULL)
		return "symbol table is missing";
	if ((err = read_lens(info, r, n, true, lens, &total, FSST_EXPANSION)) != NULL)
		return err;
	if (!reserve_values(info, out, n, total))
		return ZS_ERR_MEMORY;
	p = out->arena;
	for (uint32 i = 0; i < n; i++)
	{
		uint8	   *data;

		out->values[i] = begin_value(info, &p, lens[i], &data);
		if (!zscodec_fsst_decode(r, shared->symbols, shared->symbol_lens, data, lens[i]))
			return "symbol codes are corrupted";
		p = data + lens[i];
	}
	Assert(p <= out->arena + out->arena_size);
	return reader_left(r) == 0 ? NULL : "symbol codes do not add up";
}

/* Decodes n values into out->values[0 .. n) and the arena. */
const char *
zscodec_strings_decode(const ZsSegmentInfo *info, int encoding, ZsReader *r, uint32 n,
					   const ZsSharedState *shared, ZsVectorOut *out)
{
	switch (encoding)
	{
		case ZS_ENC_CONST:
			return decode_const(info, r, n, out);
		case ZS_ENC_PLAIN:
			return decode_plain(info, r, n, out);
		case ZS_ENC_FSST:
			return decode_fsst(info, r, n, shared, out);
	}
	return "encoding does not fit the type";
}

/* Decodes value idx of n alone. */
const char *
zscodec_strings_decode_one(const ZsSegmentInfo *info, int encoding, ZsReader *r, uint32 n, uint32 idx,
						   const ZsSharedState *shared, ZsVectorOut *out, uint64 *value)
{
	uint64		lens[ZS_VECTOR_ROWS];
	uint64		total;
	uint64		before = 0;
	bool		fsst = encoding == ZS_ENC_FSST;
	const char *err;
	uint8	   *p;
	uint8	   *data;

	if (encoding == ZS_ENC_CONST)
	{
		err = decode_const(info, r, 1, out);
		*value = out->values[0];
		return err;
	}
	if (encoding != ZS_ENC_PLAIN && !fsst)
		return "encoding does not fit the type";
	if (fsst && (shared == NULL || shared->symbols == NULL))
		return "symbol table is missing";
	err = read_lens(info, r, n, fsst || info->kind != ZS_KIND_FIXED, lens, &total, fsst ? FSST_EXPANSION : 1);
	if (err != NULL)
		return err;
	for (uint32 i = 0; i < idx; i++)
		before += lens[i];
	if (!reserve_values(info, out, 1, lens[idx]))
		return ZS_ERR_MEMORY;
	p = out->arena;
	*value = begin_value(info, &p, lens[idx], &data);
	if (fsst)
	{
		if (!zscodec_fsst_skip(r, shared->symbol_lens, before) ||
			!zscodec_fsst_decode(r, shared->symbols, shared->symbol_lens, data, lens[idx]))
			return "symbol codes are corrupted";
		return NULL;
	}
	Assert(before + lens[idx] <= reader_left(r));
	memcpy(data, r->p + before, lens[idx]);
	return NULL;
}
