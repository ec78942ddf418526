/*-------------------------------------------------------------------------
 *
 * codec_decode.c
 *	  Decoding a vector, all rows or one.
 *
 * The body is decompressed into scratch memory if need be, the position sets at its front are read,
 * and the wanted forms of the non-null rows are decoded into the first entries of their arrays.  If
 * there are nulls, the entries are then moved apart, from the end, so that no second array is
 * needed.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_decode.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_compress.h"
#include "codec_numeric.h"
#include "codec_ops.h"
#include "codec_string.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/*
 * No body of a valid segment is longer: values and their codes (FSST may double bytes it cannot
 * shorten), position sets and lengths.  Keeps broken lengths from allocating much.
 */
static uint64
body_size_max(const ZsSegmentInfo *info)
{
	return 2 * info->raw_size + 4 * ZS_INTS_SIZE_MAX(ZS_VECTOR_ROWS) + 4 *
		ZS_POSSET_SIZE_MAX(ZS_VECTOR_ROWS) +
		8 * ZS_VECTOR_ROWS;
}

/* Sets the reader on the body, decompressing it first if it is compressed. */
static const char *
open_body(const ZsSegmentInfo *info, const ZsVectorInfo *vi, const uint8 *vec, size_t len,
		  const ZsSharedState *shared, ZsVectorOut *out, ZsReader *r)
{
	bool		prefixed = vi->needs_shared && vi->encoding == ZS_ENC_PLAIN;
	uint32		raw_len;
	const char *err;

	r->p = vec;
	r->end = vec + len;
	if (vi->compression == ZS_COMPRESSION_NONE)
		return NULL;
	if (len < 4)
		return ZS_ERR_SHORT;
	raw_len = load32(vec);
	if (raw_len > body_size_max(info) ||
		!zscodec_raw_len_plausible(vi->compression, vec + 4, len - 4, raw_len))
		return "vector has an impossible length";
	if (prefixed && (shared == NULL || shared->prefix == NULL))
		return "compression prefix is missing";
	if (!zscodec_arena_reserve(&out->alloc, &out->scratch, &out->scratch_size,
							   (size_t) raw_len + ZS_SLACK))
		return ZS_ERR_MEMORY;
	err = zscodec_decompress(vi->compression, vec + 4, len - 4, prefixed ? shared->prefix : NULL,
							 prefixed ? shared->prefix_len : 0, out->scratch, raw_len);
	r->p = out->scratch;
	r->end = out->scratch + raw_len;
	return err;
}

/* Finds the values of a vector that has some. */
static const char *
open_vector(const ZsSegmentInfo *info, const ZsVectorInfo *vi, const uint8 *vec, size_t len,
			const ZsSharedState *shared, ZsVectorOut *out, ZsVectorBody *body)
{
	const char *err;

	Assert(vi->encoding != ZS_ENC_ALLNULL);
	Assert(len == vi->len && vi->nnulls < vi->nrows);
	body->vi = vi;
	body->n = (uint32) vi->nrows - vi->nnulls;
	body->nnulls = 0;
	body->next = 0;
	body->nodd = 0;
	if ((err = open_body(info, vi, vec, len, shared, out, &body->r)) != NULL)
		return err;
	if (vi->nnulls > 0)
	{
		if ((err = zscodec_posset_decode(&body->r, vi->nrows, body->null_pos,
										 &body->nnulls)) != NULL)
			return err;
		if (body->nnulls != vi->nnulls)
			return "null count does not fit the directory";
	}
	if (vi->has_ext)
	{
		if ((err = zscodec_posset_decode(&body->r, body->n, body->ext_pos, &body->next)) != NULL)
			return err;
	}
	return NULL;
}

/* Are all codes those of entries? */
static ZS_CLONES bool
codes_below(const uint64 *codes, uint32 n, uint32 ndict)
{
	uint64		bad = 0;

	for (uint32 i = 0; i < n; i++)
		bad |= codes[i] >= ndict;
	return bad == 0;
}

/* Forms what a coded dictionary has for valid codes. */
static const char *
form_entries(const uint64 *codes, uint32 n, const ZsSharedState *shared)
{
	const char *err;

	for (uint32 i = 0; i < n && shared->coded != NULL; i++)
	{
		if ((err = zscodec_dict_need(shared, codes[i])) != NULL)
			return err;
	}
	return NULL;
}

/* Looks codes up; values may be the same array. */
static ZS_CLONES void
look_up_codes(const uint64 *codes, uint32 n, const uint64 *dict, uint64 *values)
{
	for (uint32 i = 0; i < n; i++)
		values[i] = dict[codes[i]];
}

static ZS_CLONES void
narrow_codes(const uint64 *restrict codes, uint32 n, uint32 *restrict out)
{
	for (uint32 i = 0; i < n; i++)
		out[i] = (uint32) codes[i];
}

/* Integers of the numerics that codes stand for. */
static void
look_up_scaled(const uint64 *codes, ZsVectorBody *body, const ZsSharedState *shared,
			   ZsVectorOut *out)
{
	look_up_codes(codes, body->n, (const uint64 *) shared->dict_scaled, (uint64 *) out->scaled);
	out->scale = shared->dict_scale;
	out->same_dscale = shared->dict_same_dscale;
	for (uint32 i = 0; i < body->n && !out->same_dscale; i++)
		out->dscales[i] = shared->dict_dscales[codes[i]];
	for (uint32 i = 0; i < body->n && shared->dict_has_odd; i++)
	{
		body->odd_pos[body->nodd] = (uint16) i;
		body->nodd += shared->dict_dscales[codes[i]] == ZS_DSCALE_ODD;
	}
}

/*
 * A stream that says so itself, or a bare list of codes: the tag is accepted in both places.  See
 * codec_ops.h.
 */
const char *
zscodec_dict_decode(const ZsSegmentInfo *info, ZsVectorBody *body, const ZsSharedState *shared,
					uint32 *want, ZsVectorOut *out)
{
	uint64		local[ZS_VECTOR_ROWS];
	uint64	   *codes = *want & ZS_FORM_VALUES ? out->values : local;
	uint32		n = body->n;
	const char *err;

	if (shared == NULL || shared->dict_values == NULL)
		return "dictionary is missing";
	if ((err = zscodec_ints_decode(&body->r, n, codes)) != NULL)
		return err;
	if (!codes_below(codes, n, shared->ndict))
		return "dictionary code out of range";
	if (*want & ZS_FORM_CODES)
		narrow_codes(codes, n, out->codes);
	if (shared->dict_scaled == NULL)
		*want &= ~ZS_FORM_SCALED;
	if (*want & ZS_FORM_SCALED)
		look_up_scaled(codes, body, shared, out);
	for (uint32 i = 0; i < n && (*want & ZS_FORM_LENGTHS); i++)
		out->lengths[i] = zscodec_dict_len(shared, codes[i]);
	if ((*want & ZS_FORM_VALUES) == 0)
		return NULL;
	if ((err = form_entries(codes, n, shared)) != NULL)
		return err;
	look_up_codes(codes, n, shared->dict_values, out->values);
	return NULL;
}

/* See codec_ops.h. */
const char *
zscodec_dict_decode_one(const ZsSegmentInfo *info, ZsVectorBody *body, uint32 entry,
						const ZsSharedState *shared, ZsVectorOut *out, uint64 *value)
{
	const char *err;
	uint64		code;

	if (shared == NULL || shared->dict_values == NULL)
		return "dictionary is missing";
	if ((err = zscodec_ints_get(&body->r, body->n, entry, &code)) != NULL)
		return err;
	if (code >= shared->ndict)
		return "dictionary code out of range";
	return zscodec_dict_one(shared, code, out, value);
}

/* A MIXED vector in front of its literals; pos[] are the literals' places among the n values. */
static const char *
read_mixed(ZsReader *r, uint32 n, const ZsSharedState *shared, uint16 *pos, uint32 *nliterals)
{
	const char *err;

	if (shared == NULL || shared->dict_values == NULL)
		return "dictionary is missing";
	if ((err = zscodec_posset_decode(r, n, pos, nliterals)) != NULL)
		return err;
	return *nliterals >= 1 && *nliterals < n ? NULL : "literal count out of range";
}

/* The encoding of the literals of a MIXED vector. */
static const char *
read_literal_tag(ZsReader *r, int *encoding)
{
	if (reader_left(r) < 1)
		return ZS_ERR_SHORT;
	*encoding = *r->p++;
	return *encoding < ZS_ENC_COUNT && zscodec_encoding_ops[*encoding].is_literal ? NULL :
		"encoding does not fit the type";
}

/* See codec_ops.h. */
const char *
zscodec_mixed_decode(const ZsSegmentInfo *info, ZsVectorBody *body, const ZsSharedState *shared,
					 uint32 *want, ZsVectorOut *out)
{
	ZsReader   *r = &body->r;
	uint32		n = body->n;
	uint16		pos[ZS_VECTOR_ROWS];
	uint64		known[ZS_VECTOR_ROWS];
	uint32		nliterals;
	uint32		nknown;
	uint32		literal;
	const char *err;
	int			encoding;

	if ((err = read_mixed(r, n, shared, pos, &nliterals)) != NULL)
		return err;
	nknown = n - nliterals;
	if ((err = zscodec_ints_decode(r, nknown, known)) != NULL)
		return err;
	if (!codes_below(known, nknown, shared->ndict))
		return "dictionary code out of range";
	if ((*want & ZS_FORM_VALUES) && (err = form_entries(known, nknown, shared)) != NULL)
		return err;
	if ((err = read_literal_tag(r, &encoding)) != NULL ||
		(err = zscodec_strings_decode(info, encoding, r, nliterals, shared, *want, out)) != NULL)
		return err;

	/* The literals are in the first entries: merge from the end. */
	literal = nliterals;
	for (uint32 i = n; i-- > 0;)
	{
		if (literal > 0 && pos[literal - 1] == i)
		{
			literal--;
			if (*want & ZS_FORM_VALUES)
				out->values[i] = out->values[literal];
			if (*want & ZS_FORM_LENGTHS)
				out->lengths[i] = out->lengths[literal];
		}
		else
		{
			nknown--;
			if (*want & ZS_FORM_VALUES)
				out->values[i] = shared->dict_values[known[nknown]];
			if (*want & ZS_FORM_LENGTHS)
				out->lengths[i] = zscodec_dict_len(shared, known[nknown]);
		}
	}
	Assert(literal == 0 && nknown == 0);
	return NULL;
}

/* See codec_ops.h. */
const char *
zscodec_mixed_decode_one(const ZsSegmentInfo *info, ZsVectorBody *body, uint32 entry,
						 const ZsSharedState *shared, ZsVectorOut *out, uint64 *value)
{
	ZsReader   *r = &body->r;
	uint32		n = body->n;
	uint16		pos[ZS_VECTOR_ROWS];
	uint64		codes[ZS_VECTOR_ROWS];
	uint32		nliterals;
	uint32		before = 0;
	const char *err;
	int			encoding;

	if ((err = read_mixed(r, n, shared, pos, &nliterals)) != NULL ||
		(err = zscodec_ints_decode(r, n - nliterals, codes)) != NULL)
		return err;
	while (before < nliterals && pos[before] < entry)
		before++;
	if (before < nliterals && pos[before] == entry)
	{
		if ((err = read_literal_tag(r, &encoding)) != NULL)
			return err;
		return zscodec_strings_decode_one(info, encoding, r, nliterals, before, shared, out, value);
	}
	if (codes[entry - before] >= shared->ndict)
		return "dictionary code out of range";
	return zscodec_dict_one(shared, codes[entry - before], out, value);
}

/* Words that are moved at once. */
#define MOVE_BLOCK		4

/*
 * Moves words up, by at least a block.  Up to three words in front of either place are read and
 * written: there are only words that have been moved, or that others are going to be moved to.
 */
static inline void
move_up64(uint64 *dst, const uint64 *src, uint32 count)
{
	Assert(dst >= src + MOVE_BLOCK);
	for (int64 left = count; left > 0; left -= MOVE_BLOCK)
	{
		uint64		block[MOVE_BLOCK];

		memcpy(block, src + left - MOVE_BLOCK, sizeof(block));
		memcpy(dst + left - MOVE_BLOCK, block, sizeof(block));
	}
}

/*
 * Moves the first nrows - nnulls entries apart so that nulls get theirs, which are cleared.
 * isnull[] is set already.
 */
static ZS_CLONES void
spread64(uint64 *vals, uint32 nrows, const uint16 *null_pos, uint32 nnulls, const bool *isnull)
{
	uint32		src = nrows - nnulls;
	uint32		dst = nrows;

	Assert(nnulls < nrows);
	if (nnulls > nrows / 16)
	{
		/* Short stretches: row by row, without asking. */
		for (uint32 row = nrows; row-- > 0;)
		{
			uint64		keep = (uint64) isnull[row] - 1;

			src -= (uint32) (keep & 1);
			vals[row] = vals[src] & keep;
		}
		return;
	}
	for (uint32 j = nnulls; j-- > 0;)
	{
		uint32		count = dst - null_pos[j] - 1;

		src -= count;
		if (j + 1 >= MOVE_BLOCK && src >= MOVE_BLOCK)
			move_up64(vals + null_pos[j] + 1, vals + src, count);
		else
			memmove(vals + null_pos[j] + 1, vals + src, count * sizeof(uint64));
		vals[null_pos[j]] = 0;
		dst = null_pos[j];
	}
	Assert(src == dst);
}

static void
spread32(uint32 *vals, uint32 nrows, const uint16 *null_pos, uint32 nnulls)
{
	uint32		src = nrows - nnulls;
	uint32		dst = nrows;

	for (uint32 j = nnulls; j-- > 0;)
	{
		uint32		count = dst - null_pos[j] - 1;

		src -= count;
		memmove(vals + null_pos[j] + 1, vals + src, count * sizeof(uint32));
		vals[null_pos[j]] = 0;
		dst = null_pos[j];
	}
}

static void
spread8(uint8 *vals, uint32 nrows, const uint16 *null_pos, uint32 nnulls)
{
	uint32		src = nrows - nnulls;
	uint32		dst = nrows;

	for (uint32 j = nnulls; j-- > 0;)
	{
		uint32		count = dst - null_pos[j] - 1;

		src -= count;
		memmove(vals + null_pos[j] + 1, vals + src, count);
		vals[null_pos[j]] = 0;
		dst = null_pos[j];
	}
}

/* The rows of ascending values pos[0 .. n), in place. */
static void
rows_of_values(const ZsVectorBody *body, uint16 *pos, uint32 n)
{
	uint32		before = 0;		/* nulls in front of the row */

	for (uint32 i = 0; i < n; i++)
	{
		while (before < body->nnulls && body->null_pos[before] <= pos[i] + before)
			before++;
		pos[i] += (uint16) before;
		Assert(pos[i] < body->vi->nrows);
	}
}

/* A bitmap of flags, eight at a time: the product has bit i of the result from byte i. */
static void
collect_nulls(const bool *isnull, uint32 nrows, uint64 *nulls)
{
	uint32		row = 0;

	for (; row + 8 <= nrows; row += 8)
		nulls[row / 64] |= (load64((const uint8 *) isnull + row) *
							UINT64CONST(0x0102040810204080)) >> 56 << (row % 64);
	for (; row < nrows; row++)
		nulls[row / 64] |= (uint64) isnull[row] << (row % 64);
}

/* Null flags and those of overflow pointers, whose positions become rows. */
static void
mark_nulls(ZsVectorBody *body, ZsVectorOut *out)
{
	uint32		nrows = body->vi->nrows;

	memset(out->isnull, false, nrows * sizeof(bool));
	memset(out->nulls, 0, sizeof(out->nulls));
	for (uint32 i = 0; i < body->nnulls; i++)
		out->isnull[body->null_pos[i]] = true;
	if (body->nnulls > ZS_VECTOR_ROWS / 16)
		collect_nulls(out->isnull, nrows, out->nulls);
	else
	{
		for (uint32 i = 0; i < body->nnulls; i++)
			out->nulls[body->null_pos[i] / 64] |= UINT64CONST(1) << (body->null_pos[i] % 64);
	}
	if (!out->has_ext)
		return;
	memset(out->isext, 0, nrows * sizeof(bool));
	rows_of_values(body, body->ext_pos, body->next);
	for (uint32 i = 0; i < body->next; i++)
		out->isext[body->ext_pos[i]] = true;
}

/* Moves what was decoded of the values to their rows. */
static void
spread_forms(const ZsVectorBody *body, uint32 have, ZsVectorOut *out)
{
	uint32		nrows = body->vi->nrows;
	uint32		nnulls = body->nnulls;

	if (have & ZS_FORM_VALUES)
		spread64(out->values, nrows, body->null_pos, nnulls, out->isnull);
	if (have & ZS_FORM_SCALED)
		spread64((uint64 *) out->scaled, nrows, body->null_pos, nnulls, out->isnull);
	if ((have & ZS_FORM_SCALED) && !out->same_dscale)
		spread8(out->dscales, nrows, body->null_pos, nnulls);
	if (have & ZS_FORM_CODES)
		spread32(out->codes, nrows, body->null_pos, nnulls);
	if (have & ZS_FORM_LENGTHS)
		spread32(out->lengths, nrows, body->null_pos, nnulls);
}

/* Rows that SCALED or LENGTHS say nothing of. */
static void
set_odd(const uint16 *rows, uint32 n, uint32 have, ZsVectorOut *out)
{
	for (uint32 i = 0; i < n; i++)
	{
		out->odd[rows[i] / 64] |= UINT64CONST(1) << (rows[i] % 64);
		if (have & ZS_FORM_LENGTHS)
			out->lengths[rows[i]] = 0;
		if (have & ZS_FORM_SCALED)
			out->scaled[rows[i]] = out->dscales[rows[i]] = 0;
	}
}

/* Marks them; the positions of overflow pointers are rows already. */
static void
mark_odd(ZsVectorBody *body, uint32 have, ZsVectorOut *out)
{
	out->has_odd = body->nodd + body->next > 0;
	if (!out->has_odd)
		return;
	memset(out->odd, 0, sizeof(out->odd));
	rows_of_values(body, body->odd_pos, body->nodd);
	set_odd(body->odd_pos, body->nodd, have, out);
	set_odd(body->ext_pos, body->next, have, out);
}

/* Common checks and an empty result. */
static const char *
begin_decode(const ZsSegmentInfo *info, int vecno, size_t len, const ZsVectorInfo **vi,
			 ZsVectorOut *out)
{
	if (vecno < 0 || (uint32) vecno >= info->nvectors)
		return "vector number out of range";
	*vi = &info->vectors[vecno];
	if (len != (*vi)->len)
		return "vector has the wrong length";
	out->nrows = (*vi)->nrows;
	out->has_nulls = (*vi)->nnulls > 0;
	out->has_ext = (*vi)->has_ext;
	out->have = 0;
	return NULL;
}

/* See zs_codec.h. */
uint32
zscodec_vector_forms(const ZsSegmentInfo *info, int vecno)
{
	const ZsVectorInfo *vi = &info->vectors[vecno];
	const ZsEncodingOps *ops = &zscodec_encoding_ops[vi->encoding];
	uint32		forms = ZS_FORM_NULLS | ZS_FORM_VALUES;

	forms |= vi->has_ext ? ops->ext_forms : ops->forms;
	if (info->kind != ZS_KIND_NUMERIC)
		forms &= ~ZS_FORM_SCALED;
	if (info->kind != ZS_KIND_BYTES)
		forms &= ~ZS_FORM_LENGTHS;
	return forms;
}

/* All rows of a vector without values. */
static void
fill_nulls(const ZsVectorInfo *vi, uint32 want, ZsVectorOut *out)
{
	uint32		nrows = vi->nrows;

	memset(out->isnull, true, nrows * sizeof(bool));
	memset(out->nulls, 0, sizeof(out->nulls));
	memset(out->nulls, 0xFF, nrows / 64 * sizeof(uint64));
	if (nrows % 64 != 0)
		out->nulls[nrows / 64] = (UINT64CONST(1) << (nrows % 64)) - 1;
	if (want & ZS_FORM_VALUES)
		memset(out->values, 0, nrows * sizeof(uint64));
	if (want & ZS_FORM_SCALED)
	{
		memset(out->scaled, 0, nrows * sizeof(int64));
		out->scale = 0;
		out->same_dscale = true;
	}
	if (want & ZS_FORM_LENGTHS)
		memset(out->lengths, 0, nrows * sizeof(uint32));
	if (want & (ZS_FORM_SCALED | ZS_FORM_LENGTHS))
		out->has_odd = false;
}

/* See zs_codec.h. */
const char *
zscodec_vector_decode(const ZsSegmentInfo *info, int vecno, const uint8 *vec, size_t len,
					  const ZsSharedState *shared, uint32 want, ZsVectorOut *out)
{
	const ZsVectorInfo *vi;
	const ZsEncodingOps *ops;
	ZsVectorBody body;
	const char *err;

	if ((err = begin_decode(info, vecno, len, &vi, out)) != NULL)
		return err;
	ops = &zscodec_encoding_ops[vi->encoding];
	want &= zscodec_vector_forms(info, vecno);
	if (want == 0)
		return NULL;
	if (want & ZS_FORM_CONST)
	{
		want &= ~(ZS_FORM_VALUES | ZS_FORM_SCALED | ZS_FORM_LENGTHS);
		out->has_const_scaled = false;
	}
	want |= ZS_FORM_NULLS;
	if (vi->encoding == ZS_ENC_ALLNULL)
	{
		fill_nulls(vi, want, out);
		out->have = want;
		return NULL;
	}
	if (want == ZS_FORM_NULLS && vi->nnulls == 0 && !vi->has_ext)
	{
		memset(out->isnull, false, vi->nrows * sizeof(bool));
		memset(out->nulls, 0, sizeof(out->nulls));
		out->have = want;
		return NULL;
	}
	if ((err = open_vector(info, vi, vec, len, shared, out, &body)) != NULL)
		return err;
	if (want != ZS_FORM_NULLS && (err = ops->decode(info, &body, shared, &want, out)) != NULL)
		return err;
	mark_nulls(&body, out);
	if (body.nnulls > 0)
		spread_forms(&body, want, out);
	if (want & (ZS_FORM_SCALED | ZS_FORM_LENGTHS))
		mark_odd(&body, want, out);
	out->have = want;
	return NULL;
}

/* ---- totals ------------------------------------------------------------ */

/* Integers of which 1024 can be added up in 64 bits are smaller than this in size. */
#define TOTAL_LIMIT		(UINT64CONST(1) << 52)

/* False if one of the integers is too large. */
static ZS_CLONES bool
add_up(const uint64 *ints, uint32 n, int64 *result)
{
	uint64		sum = 0;
	uint64		any = 0;

	for (uint32 i = 0; i < n; i++)
	{
		sum += ints[i];
		any |= ints[i] + TOTAL_LIMIT;
	}
	*result = (int64) sum;
	return any < 2 * TOTAL_LIMIT;
}

static ZS_CLONES void
find_extremes(const uint64 *ints, uint32 n, ZsVectorTotals *totals)
{
	int64		min = PG_INT64_MAX;
	int64		max = PG_INT64_MIN;

	for (uint32 i = 0; i < n; i++)
	{
		int64		v = (int64) ints[i];

		min = v < min ? v : min;
		max = v > max ? v : max;
	}
	totals->min = min;
	totals->max = max;
}

/* The integers that codes of n values stand for. */
static const char *
decode_dict_ints(const ZsSegmentInfo *info, ZsReader *r, uint32 n, const ZsSharedState *shared,
				 uint64 *ints, int *scale, bool *found)
{
	const char *err;

	if (shared == NULL || shared->dict_values == NULL)
		return "dictionary is missing";
	*found = info->kind == ZS_KIND_INT ||
		(shared->dict_scaled != NULL && shared->dict_same_dscale && !shared->dict_has_odd);
	if (!*found)
		return NULL;
	if ((err = zscodec_ints_decode(r, n, ints)) != NULL)
		return err;
	if (!codes_below(ints, n, shared->ndict))
		return "dictionary code out of range";
	*scale = shared->dict_scale;
	look_up_codes(ints, n, info->kind == ZS_KIND_INT ? shared->dict_values :
				  (const uint64 *) shared->dict_scaled, ints);
	return NULL;
}

/*
 * The values of a vector as integers of one scale, without places for nulls; *found is false if
 * they are none.
 */
static const char *
decode_ints(const ZsSegmentInfo *info, const ZsVectorInfo *vi, ZsReader *r, uint32 n,
			const ZsSharedState *shared, uint64 *ints, int *scale, bool *found)
{
	int64		value;

	*found = true;
	*scale = 0;
	if (vi->encoding == ZS_ENC_DICT)
		return decode_dict_ints(info, r, n, shared, ints, scale, found);
	if (info->kind == ZS_KIND_INT)
	{
		if (reader_left(r) < 1 || (*r->p & 0x0F) != vi->encoding)
			return "encoding does not fit the directory";
		return zscodec_ints_decode(r, n, ints);
	}
	if (vi->encoding == ZS_ENC_NUMERIC)
		return zscodec_numeric_decode_ints(r, n, ints, scale, found);
	*found = vi->encoding == ZS_ENC_CONST &&
		zscodec_numeric_to_int(r->p, reader_left(r), scale, &value);
	for (uint32 i = 0; i < n && *found; i++)
		ints[i] = (uint64) value;
	return NULL;
}

/* See zs_codec.h. */
const char *
zscodec_vector_totals(const ZsSegmentInfo *info, int vecno, const uint8 *vec, size_t len,
					  const ZsSharedState *shared, bool extremes, ZsVectorOut *out,
					  ZsVectorTotals *totals, bool *found)
{
	const ZsVectorInfo *vi;
	ZsReader	r;
	uint64		ints[ZS_VECTOR_ROWS];
	uint32		nnulls = 0;
	const char *err;

	*found = false;
	if (vecno < 0 || (uint32) vecno >= info->nvectors)
		return "vector number out of range";
	vi = &info->vectors[vecno];
	if (len != vi->len)
		return "vector has the wrong length";
	if ((info->kind != ZS_KIND_INT && info->kind != ZS_KIND_NUMERIC) || vi->has_ext)
		return NULL;
	totals->nrows = vi->nrows;
	totals->nvalues = (uint32) vi->nrows - vi->nnulls;
	*found = totals->nvalues == 0;
	if (*found)
		return NULL;
	if ((err = open_body(info, vi, vec, len, shared, out, &r)) != NULL)
		return err;
	if (vi->nnulls > 0 && (err = zscodec_posset_skip(&r, vi->nrows, &nnulls)) != NULL)
		return err;
	if (nnulls != vi->nnulls)
		return "null count does not fit the directory";
	if ((err = decode_ints(info, vi, &r, totals->nvalues, shared, ints, &totals->scale,
						   found)) != NULL)
	{
		*found = false;
		return err;
	}
	*found = *found && add_up(ints, totals->nvalues, &totals->sum);
	if (*found && extremes)
		find_extremes(ints, totals->nvalues, totals);
	return NULL;
}

/* What a numeric's code leads to. */
static void
add_scaled(const ZsSharedState *shared, ZsVectorOut *out)
{
	out->scale = shared->dict_scale;
	out->same_dscale = shared->dict_same_dscale;
	out->has_odd = false;
	memset(out->odd, 0, sizeof(out->odd));
	for (uint32 i = 0; i < out->nrows; i++)
	{
		uint8		dscale = shared->dict_dscales[out->codes[i]];
		bool		odd = dscale == ZS_DSCALE_ODD && !out->isnull[i];

		out->scaled[i] = out->isnull[i] ? 0 : shared->dict_scaled[out->codes[i]];
		out->dscales[i] = out->isnull[i] || odd ? 0 : dscale;
		out->odd[i / 64] |= (uint64) odd << (i % 64);
		out->has_odd = out->has_odd || odd;
	}
}

/* See zs_codec.h. */
const char *
zscodec_vector_from_codes(const ZsSegmentInfo *info, const ZsSharedState *shared, uint32 want,
						  ZsVectorOut *out)
{
	const char *err;

	Assert((out->have & ZS_FORM_CODES) != 0 && shared->ndict > 0);
	want &= ZS_FORM_VALUES | (info->kind == ZS_KIND_NUMERIC &&
							  shared->dict_scaled != NULL ? ZS_FORM_SCALED : 0) |
		(info->kind == ZS_KIND_BYTES ? ZS_FORM_LENGTHS : 0);
	if (want & ZS_FORM_VALUES)
	{
		for (uint32 i = 0; i < out->nrows && shared->coded != NULL; i++)
		{
			if (!out->isnull[i] && (err = zscodec_dict_need(shared, out->codes[i])) != NULL)
				return err;
		}
		for (uint32 i = 0; i < out->nrows; i++)
			out->values[i] = out->isnull[i] ? 0 : shared->dict_values[out->codes[i]];
	}
	if (want & ZS_FORM_LENGTHS)
	{
		for (uint32 i = 0; i < out->nrows; i++)
			out->lengths[i] = out->isnull[i] ? 0 : zscodec_dict_len(shared, out->codes[i]);
		out->has_odd = false;
	}
	if (want & ZS_FORM_SCALED)
		add_scaled(shared, out);
	out->have |= want;
	return NULL;
}

/* See zs_codec.h. */
const char *
zscodec_vector_decode_one(const ZsSegmentInfo *info, int vecno, const uint8 *vec, size_t len,
						  const ZsSharedState *shared, uint32 idx, ZsVectorOut *out)
{
	const ZsVectorInfo *vi;
	ZsVectorBody body;
	const char *err;
	uint32		entry = idx;
	uint64		value;

	if ((err = begin_decode(info, vecno, len, &vi, out)) != NULL)
		return err;
	if (idx >= vi->nrows)
		return "row number out of range";
	out->values[idx] = 0;
	out->isnull[idx] = true;
	out->isext[idx] = false;
	if (vi->encoding == ZS_ENC_ALLNULL)
		return NULL;
	if ((err = open_vector(info, vi, vec, len, shared, out, &body)) != NULL)
		return err;
	for (uint32 i = 0; i < body.nnulls && body.null_pos[i] <= idx; i++)
	{
		if (body.null_pos[i] == idx)
			return NULL;
		entry--;
	}
	Assert(entry < body.n);
	err = zscodec_encoding_ops[vi->encoding].decode_one(info, &body, entry, shared, out, &value);
	if (err != NULL)
		return err;
	out->values[idx] = value;
	out->isnull[idx] = false;
	for (uint32 i = 0; i < body.next; i++)
	{
		if (body.ext_pos[i] == entry)
			out->isext[idx] = true;
	}
	return NULL;
}

/* See zs_codec.h. */
bool
zscodec_vector_part(const ZsSegmentInfo *info, int vecno, const uint8 *head, size_t head_len,
					uint32 idx, uint32 *from, uint32 *to)
{
	const ZsVectorInfo *vi = &info->vectors[vecno];
	const ZsEncodingOps *ops = &zscodec_encoding_ops[vi->encoding];
	ZsReader	r = {.p = head,.end = head + head_len};
	uint32		entry = idx;
	uint32		n = (uint32) vi->nrows - vi->nnulls;
	uint64		start;
	uint64		end;

	if (head_len >= vi->len || vi->compression != ZS_COMPRESSION_NONE || vi->has_ext ||
		idx >= vi->nrows || n < 1)
		return false;
	if (vi->nnulls > 0)
	{
		uint16		null_pos[ZS_VECTOR_ROWS];
		uint32		nnulls;

		if (zscodec_posset_decode(&r, vi->nrows, null_pos, &nnulls) != NULL || nnulls != vi->nnulls)
			return false;
		*from = *to = (uint32) head_len;
		for (uint32 i = 0; i < nnulls && null_pos[i] <= idx; i++)
		{
			if (null_pos[i] == idx)
				return true;
			entry--;
		}
	}
	if (ops->part == NULL || !ops->part(info, vi, &r, n, entry, head, &start, &end))
		return false;
	if (start > vi->len)
		return false;
	*from = (uint32) Max(start, head_len);
	*to = (uint32) Max(Min(end, vi->len), *from);
	return true;
}
