/*-------------------------------------------------------------------------
 *
 * codec_decode.c
 *	  Decoding a vector, all rows or one.
 *
 * The body is decompressed into scratch memory if need be, the position sets at its front are read,
 * and the wanted forms of the non-null rows are decoded into the first entries of their arrays, by
 * the functions of the encoding (codec_ops.c).  If there are nulls, the entries are then moved
 * apart (codec_spread.c).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_decode.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_compress.h"
#include "codec_ops.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/*
 * The front of a compressed body that has a row's string ends so many bytes and rows behind where
 * it would be if all were equally long.
 */
#define FRONT_BYTES		4096
#define FRONT_ROWS		32

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

/*
 * How much of a compressed body of raw_len bytes is likely to be needed for row idx alone?  Strings
 * lie there in the order of the rows, behind positions and lengths.
 */
static size_t
front_of_body(const ZsSegmentInfo *info, const ZsVectorInfo *vi, uint32 raw_len, uint32 idx)
{
	size_t		front;

	if (info->kind < ZS_KIND_FIXED ||
		(vi->encoding != ZS_ENC_PLAIN && vi->encoding != ZS_ENC_FSST))
		return raw_len;
	front = FRONT_BYTES + (size_t) ((uint64) raw_len * (idx + FRONT_ROWS) / vi->nrows);
	/* less of it is no gain if it turns out not to be enough */
	return front < raw_len - raw_len / 8 ? front : raw_len;
}

/*
 * Sets the reader on the body, decompressing it first if it is compressed, or only the part of it
 * that is likely to be needed for row idx: *is_part says so.
 */
static const char *
open_front(const ZsSegmentInfo *info, const ZsVectorInfo *vi, const uint8 *vec, size_t len,
		   const ZsSharedState *shared, const uint32 *idx, ZsVectorOut *out, ZsReader *r,
		   bool *is_part)
{
	bool		prefixed = vi->needs_shared && vi->encoding == ZS_ENC_PLAIN;
	uint32		raw_len;
	size_t		got;
	const char *err;

	r->p = vec;
	r->end = vec + len;
	out->body = NULL;
	*is_part = false;
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
	err = zscodec_decompress_front(vi->compression, vec + 4, len - 4,
								   prefixed ? shared->prefix : NULL,
								   prefixed ? shared->prefix_len : 0, out->scratch, raw_len,
								   idx == NULL ? raw_len : front_of_body(info, vi, raw_len, *idx),
								   &got);
	r->p = out->scratch;
	r->end = out->scratch + got;
	*is_part = got < raw_len;
	if (err == NULL && !*is_part)
	{
		out->body = out->scratch;
		out->body_len = raw_len;
	}
	return err;
}

/* Sets the reader on the body, decompressing it first if it is compressed. */
const char *
zscodec_open_body(const ZsSegmentInfo *info, const ZsVectorInfo *vi, const uint8 *vec, size_t len,
				  const ZsSharedState *shared, ZsVectorOut *out, ZsReader *r)
{
	bool		is_part;

	return open_front(info, vi, vec, len, shared, NULL, out, r, &is_part);
}

/* Prepares for the values of a vector that has some. */
static void
begin_body(const ZsVectorInfo *vi, ZsVectorBody *body)
{
	Assert(vi->encoding != ZS_ENC_ALLNULL && vi->nnulls < vi->nrows);
	body->vi = vi;
	body->n = (uint32) vi->nrows - vi->nnulls;
	body->nnulls = 0;
	body->next = 0;
	body->nodd = 0;
	body->some = body->left_out = false;
}

/* Reads the position sets in front of the values. */
static const char *
read_positions(const ZsVectorInfo *vi, ZsVectorBody *body)
{
	const char *err;

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

/* Finds the values of a vector that has some. */
static const char *
open_vector(const ZsSegmentInfo *info, const ZsVectorInfo *vi, const uint8 *vec, size_t len,
			const ZsSharedState *shared, ZsVectorOut *out, ZsVectorBody *body)
{
	const char *err;

	Assert(len == vi->len);
	begin_body(vi, body);
	err = zscodec_open_body(info, vi, vec, len, shared, out, &body->r);
	return err != NULL ? err : read_positions(vi, body);
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

/*
 * The forms that a vector may have besides NULLS, by the directory alone.  Those not returned here
 * it does not have; SCALED of a vector that returns it here may turn out not to be there.
 */
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

/* Notes which values the rows have. */
static void
choose_values(const uint64 *rows, ZsVectorBody *body)
{
	uint32		before = 0;		/* nulls in front of the row */

	if (body->nnulls == 0)
	{
		memcpy(body->only, rows, sizeof(body->only));
		return;
	}
	memset(body->only, 0, sizeof(body->only));
	for (uint32 w = 0; w < ZS_VECTOR_WORDS; w++)
	{
		for (uint64 word = rows[w]; word != 0; word &= word - 1)
		{
			uint32		row = w * 64 + (uint32) __builtin_ctzll(word);

			while (before < body->nnulls && body->null_pos[before] < row)
				before++;
			if (before == body->nnulls || body->null_pos[before] != row)
				body->only[(row - before) / 64] |= UINT64CONST(1) << ((row - before) % 64);
		}
	}
}

/* The rows that there are, of those of a batch. */
static void
cut_rows(const uint64 *rows, uint32 nrows, uint64 *cut)
{
	memcpy(cut, rows, ZS_VECTOR_WORDS * sizeof(uint64));
	if (nrows % 64 != 0)
		cut[nrows / 64] &= (UINT64CONST(1) << (nrows % 64)) - 1;
	for (uint32 w = (nrows + 63) / 64; w < ZS_VECTOR_WORDS; w++)
		cut[w] = 0;
}

/* rows: of VALUES only those of these rows matter; NULL: all. */
static const char *
decode_vector(const ZsSegmentInfo *info, int vecno, const uint8 *vec, size_t len,
			  const ZsSharedState *shared, uint32 want, const uint64 *rows, ZsVectorOut *out)
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
		zscodec_fill_nulls(vi, want, out);
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
	if (rows != NULL)
	{
		cut_rows(rows, vi->nrows, out->some);
		choose_values(out->some, &body);
		body.some = true;
	}
	if (want != ZS_FORM_NULLS && (err = ops->decode(info, &body, shared, &want, out)) != NULL)
		return err;
	zscodec_mark_nulls(&body, out);
	if (body.nnulls > 0)
		zscodec_spread_forms(&body, want, out);
	if (want & (ZS_FORM_SCALED | ZS_FORM_LENGTHS))
		zscodec_mark_odd(&body, want, out);
	if (body.left_out)
		want = (want & ~ZS_FORM_VALUES) | ZS_FORM_SOME;
	out->have = want;
	return NULL;
}

/*
 * Decodes all rows of a vector into those of the wanted forms that it has; out->have says which.
 * vec need not stay valid afterwards.  After an error out->have is 0.
 */
const char *
zscodec_vector_decode(const ZsSegmentInfo *info, int vecno, const uint8 *vec, size_t len,
					  const ZsSharedState *shared, uint32 want, ZsVectorOut *out)
{
	return decode_vector(info, vecno, vec, len, shared, want, NULL, out);
}

/*
 * As zscodec_vector_decode() for VALUES, of which only those of rows, a bitmap, are needed.  Where
 * forming all would take longer, out->have has SOME, out->some is rows, and values[] of others are
 * undefined.
 */
const char *
zscodec_vector_decode_some(const ZsSegmentInfo *info, int vecno, const uint8 *vec, size_t len,
						   const ZsSharedState *shared, const uint64 *rows, ZsVectorOut *out)
{
	return decode_vector(info, vecno, vec, len, shared, ZS_FORM_VALUES, rows, out);
}

/* Decodes row idx from a body, on which body->r is. */
static const char *
decode_row(const ZsSegmentInfo *info, const ZsVectorInfo *vi, const ZsSharedState *shared,
		   uint32 idx, ZsVectorBody *body, ZsVectorOut *out)
{
	const char *err;
	uint32		entry = idx;
	uint64		value;

	if ((err = read_positions(vi, body)) != NULL)
		return err;
	for (uint32 i = 0; i < body->nnulls && body->null_pos[i] <= idx; i++)
	{
		if (body->null_pos[i] == idx)
			return NULL;
		entry--;
	}
	Assert(entry < body->n);
	err = zscodec_encoding_ops[vi->encoding].decode_one(info, body, entry, shared, out, &value);
	if (err != NULL)
		return err;
	out->values[idx] = value;
	out->isnull[idx] = false;
	for (uint32 i = 0; i < body->next; i++)
	{
		if (body->ext_pos[i] == entry)
			out->isext[idx] = true;
	}
	return NULL;
}

/*
 * Decodes row idx (0 .. nrows - 1) of a vector; values[idx], isnull[idx] and, when has_ext,
 * isext[idx] of out are set, all other rows are undefined, and out->have is 0.  The value stays
 * valid until the next decode into out.  So do, with `whole`, body_len bytes at body: a compressed
 * vector without compression, else NULL.  With vec NULL it is decoded from such bytes at body.
 */
const char *
zscodec_vector_decode_one(const ZsSegmentInfo *info, int vecno, const uint8 *vec, size_t len,
						  const ZsSharedState *shared, uint32 idx, bool whole, ZsVectorOut *out)
{
	const ZsVectorInfo *vi;
	ZsVectorBody body;
	bool		is_part;
	const char *err;

	if ((err = begin_decode(info, vecno, len, &vi, out)) != NULL)
		return err;
	if (idx >= vi->nrows)
		return "row number out of range";
	out->values[idx] = 0;
	out->isnull[idx] = true;
	out->isext[idx] = false;
	if (vi->encoding == ZS_ENC_ALLNULL)
	{
		out->body = NULL;
		return NULL;
	}
	begin_body(vi, &body);
	if (vec == NULL && len > 0 && vi->compression != ZS_COMPRESSION_NONE)
	{
		body.r.p = out->body;
		body.r.end = out->body + out->body_len;
		return decode_row(info, vi, shared, idx, &body, out);
	}
	err = open_front(info, vi, vec, len, shared, whole ? NULL : &idx, out, &body.r, &is_part);
	if (err == NULL)
		err = decode_row(info, vi, shared, idx, &body, out);

	/* it reaches farther, or the bytes are wrong: all of them tell */
	if (err != NULL && !whole && is_part)
	{
		begin_body(vi, &body);
		err = open_front(info, vi, vec, len, shared, NULL, out, &body.r, &is_part);
		if (err == NULL)
			err = decode_row(info, vi, shared, idx, &body, out);
	}
	return err;
}

/*
 * Which bytes of a vector does zscodec_vector_decode_one() look at for row idx?  head has its first
 * head_len bytes, fewer than all; true: these and bytes [*from, *to) behind them, which may be
 * none.  False: any.
 */
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
