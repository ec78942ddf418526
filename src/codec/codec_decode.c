/*
 * codec_decode.c
 *	  Decoding a vector, all rows or one.
 *
 * The body is decompressed into scratch memory if need be, the position sets at its front are read, and the
 * values of the non-null rows are decoded into the first entries of values[].  If there are nulls, the
 * entries are then moved apart, from the end, so that no second array is needed.
 */
#include "codec_alp.h"
#include "codec_compress.h"
#include "codec_numeric.h"
#include "codec_string.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/* A body that was found and whose position sets were read. */
typedef struct VectorBody
{
	const ZsVectorInfo *vi;
	ZsReader	r;				/* at the values */
	uint32		n;				/* values */
	uint32		nnulls;
	uint32		next;
	uint16		null_pos[ZS_VECTOR_ROWS];
	uint16		ext_pos[ZS_VECTOR_ROWS];
} VectorBody;

/*
 * No body of a valid segment is longer: values and their codes (FSST may double bytes it cannot shorten), position
 * sets and lengths.  Keeps broken lengths from allocating much.
 */
static uint64
body_size_max(const ZsSegmentInfo *info)
{
	return 2 * info->raw_size + 4 * ZS_INTS_SIZE_MAX(ZS_VECTOR_ROWS) + 4 * ZS_POSSET_SIZE_MAX(ZS_VECTOR_ROWS) +
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
	if (raw_len > body_size_max(info) || !zscodec_raw_len_plausible(vi->compression, vec + 4, len - 4, raw_len))
		return "vector has an impossible length";
	if (prefixed && (shared == NULL || shared->prefix == NULL))
		return "compression prefix is missing";
	if (!zscodec_arena_reserve(&out->alloc, &out->scratch, &out->scratch_size, (size_t) raw_len + ZS_SLACK))
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
			const ZsSharedState *shared, ZsVectorOut *out, VectorBody *body)
{
	const char *err;

	Assert(vi->encoding != ZS_ENC_ALLNULL);
	Assert(len == vi->len && vi->nnulls < vi->nrows);
	body->vi = vi;
	body->n = (uint32) vi->nrows - vi->nnulls;
	body->nnulls = 0;
	body->next = 0;
	if ((err = open_body(info, vi, vec, len, shared, out, &body->r)) != NULL)
		return err;
	if (vi->nnulls > 0)
	{
		if ((err = zscodec_posset_decode(&body->r, vi->nrows, body->null_pos, &body->nnulls)) != NULL)
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

/* Checks codes and looks them up. */
static ZS_CLONES bool
translate_codes(uint64 *restrict values, uint32 *restrict codes, uint32 n, const uint64 *restrict dict, uint32 ndict)
{
	uint64		bad = 0;

	for (uint32 i = 0; i < n; i++)
		bad |= values[i] >= ndict;
	if (bad)
		return false;
	for (uint32 i = 0; i < n; i++)
	{
		codes[i] = (uint32) values[i];
		values[i] = dict[values[i]];
	}
	return true;
}

static const char *
decode_dict(ZsReader *r, uint32 n, const ZsSharedState *shared, ZsVectorOut *out)
{
	const char *err;

	if (shared == NULL || shared->dict_values == NULL)
		return "dictionary is missing";
	if ((err = zscodec_ints_decode(r, n, out->values)) != NULL)
		return err;
	if (!translate_codes(out->values, out->codes, n, shared->dict_values, shared->ndict))
		return "dictionary code out of range";
	out->has_codes = true;
	return NULL;
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
	return *encoding == ZS_ENC_PLAIN || *encoding == ZS_ENC_FSST ? NULL : "encoding does not fit the type";
}

static const char *
decode_mixed(const ZsSegmentInfo *info, ZsReader *r, uint32 n, const ZsSharedState *shared, ZsVectorOut *out)
{
	uint16		pos[ZS_VECTOR_ROWS];
	uint64		known[ZS_VECTOR_ROWS];
	uint32		codes[ZS_VECTOR_ROWS];
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
	if (!translate_codes(known, codes, nknown, shared->dict_values, shared->ndict))
		return "dictionary code out of range";
	if ((err = read_literal_tag(r, &encoding)) != NULL ||
		(err = zscodec_strings_decode(info, encoding, r, nliterals, shared, out)) != NULL)
		return err;

	/* The literals are in the first entries: merge from the end. */
	literal = nliterals;
	for (uint32 i = n; i-- > 0;)
	{
		if (literal > 0 && pos[literal - 1] == i)
			out->values[i] = out->values[--literal];
		else
			out->values[i] = known[--nknown];
	}
	Assert(literal == 0 && nknown == 0);
	return NULL;
}

/* Value entry of a MIXED vector. */
static const char *
decode_mixed_entry(const ZsSegmentInfo *info, ZsReader *r, uint32 n, uint32 entry, const ZsSharedState *shared,
				   ZsVectorOut *out, uint64 *value)
{
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
	*value = shared->dict_values[codes[entry - before]];
	return NULL;
}

/* The values of the non-null rows, into the first entries. */
static const char *
decode_values(const ZsSegmentInfo *info, VectorBody *body, const ZsSharedState *shared, ZsVectorOut *out)
{
	switch (body->vi->encoding)
	{
		case ZS_ENC_DICT:
			/* A stream that says so itself, or a bare list of codes: the tag is accepted in both places. */
			return decode_dict(&body->r, body->n, shared, out);
		case ZS_ENC_MIXED:
			return decode_mixed(info, &body->r, body->n, shared, out);
		case ZS_ENC_ALP:
			return zscodec_alp_decode(info->kind, &body->r, body->n, out->values);
		case ZS_ENC_NUMERIC:
			return zscodec_numeric_decode(&body->r, body->n, out);
	}
	if (info->kind >= ZS_KIND_NUMERIC)
		return zscodec_strings_decode(info, body->vi->encoding, &body->r, body->n, shared, out);
	if (reader_left(&body->r) < 1 || (*body->r.p & 0x0F) != body->vi->encoding)
		return "encoding does not fit the directory";
	return zscodec_ints_decode(&body->r, body->n, out->values);
}

/*
 * Moves the first nrows - nnulls entries apart so that nulls get theirs, which are cleared.  isnull[] is set
 * already.
 */
static void
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

/* Marks overflow pointers; positions count non-null rows. */
static void
mark_ext(const VectorBody *body, ZsVectorOut *out)
{
	uint32		at_null = 0;
	uint32		row = 0;
	uint32		entry = 0;

	memset(out->isext, 0, body->vi->nrows * sizeof(bool));
	for (uint32 i = 0; i < body->next; i++)
	{
		for (;; row++)
		{
			if (at_null < body->nnulls && body->null_pos[at_null] == row)
				at_null++;
			else if (entry++ == body->ext_pos[i])
				break;
		}
		Assert(row < body->vi->nrows);
		out->isext[row++] = true;
	}
}

/* Common checks and an empty result. */
static const char *
begin_decode(const ZsSegmentInfo *info, int vecno, size_t len, const ZsVectorInfo **vi, ZsVectorOut *out)
{
	if (vecno < 0 || (uint32) vecno >= info->nvectors)
		return "vector number out of range";
	*vi = &info->vectors[vecno];
	if (len != (*vi)->len)
		return "vector has the wrong length";
	out->nrows = (*vi)->nrows;
	out->has_nulls = (*vi)->nnulls > 0;
	out->has_ext = (*vi)->has_ext;
	out->has_codes = false;
	out->has_scaled = false;
	return NULL;
}

const char *
zscodec_vector_decode(const ZsSegmentInfo *info, int vecno, const uint8 *vec, size_t len,
					  const ZsSharedState *shared, ZsVectorOut *out)
{
	const ZsVectorInfo *vi;
	VectorBody	body;
	const char *err;

	if ((err = begin_decode(info, vecno, len, &vi, out)) != NULL)
		return err;
	if (vi->encoding == ZS_ENC_ALLNULL)
	{
		memset(out->values, 0, vi->nrows * sizeof(uint64));
		memset(out->isnull, true, vi->nrows * sizeof(bool));
		return NULL;
	}
	if ((err = open_vector(info, vi, vec, len, shared, out, &body)) != NULL ||
		(err = decode_values(info, &body, shared, out)) != NULL)
		return err;
	memset(out->isnull, false, vi->nrows * sizeof(bool));
	if (body.nnulls > 0)
	{
		for (uint32 i = 0; i < body.nnulls; i++)
			out->isnull[body.null_pos[i]] = true;
		spread64(out->values, vi->nrows, body.null_pos, body.nnulls, out->isnull);
		if (out->has_codes)
			spread32(out->codes, vi->nrows, body.null_pos, body.nnulls);
		if (out->has_scaled)
			spread64((uint64 *) out->scaled, vi->nrows, body.null_pos, body.nnulls, out->isnull);
	}
	if (out->has_ext)
		mark_ext(&body, out);
	return NULL;
}

/* Value entry of the non-null rows. */
static const char *
decode_entry(const ZsSegmentInfo *info, VectorBody *body, uint32 entry, const ZsSharedState *shared,
			 ZsVectorOut *out, uint64 *value)
{
	const char *err;
	uint64		code;

	switch (body->vi->encoding)
	{
		case ZS_ENC_DICT:
			if (shared == NULL || shared->dict_values == NULL)
				return "dictionary is missing";
			if ((err = zscodec_ints_get(&body->r, body->n, entry, &code)) != NULL)
				return err;
			if (code >= shared->ndict)
				return "dictionary code out of range";
			*value = shared->dict_values[code];
			return NULL;
		case ZS_ENC_MIXED:
			return decode_mixed_entry(info, &body->r, body->n, entry, shared, out, value);
		case ZS_ENC_ALP:
			if ((err = zscodec_alp_decode(info->kind, &body->r, body->n, out->values)) != NULL)
				return err;
			*value = out->values[entry];
			return NULL;
		case ZS_ENC_NUMERIC:
			return zscodec_numeric_decode_one(&body->r, body->n, entry, out, value);
	}
	if (info->kind >= ZS_KIND_NUMERIC)
		return zscodec_strings_decode_one(info, body->vi->encoding, &body->r, body->n, entry, shared, out, value);
	if (reader_left(&body->r) < 1 || (*body->r.p & 0x0F) != body->vi->encoding)
		return "encoding does not fit the directory";
	return zscodec_ints_get(&body->r, body->n, entry, value);
}

const char *
zscodec_vector_decode_one(const ZsSegmentInfo *info, int vecno, const uint8 *vec, size_t len,
						  const ZsSharedState *shared, uint32 idx, ZsVectorOut *out)
{
	const ZsVectorInfo *vi;
	VectorBody	body;
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
	if ((err = decode_entry(info, &body, entry, shared, out, &value)) != NULL)
		return err;
	Assert(entry < body.n);
	out->values[idx] = value;
	out->isnull[idx] = false;
	for (uint32 i = 0; i < body.next; i++)
	{
		if (body.ext_pos[i] == entry)
			out->isext[idx] = true;
	}
	return NULL;
}

bool
zscodec_vector_part(const ZsSegmentInfo *info, int vecno, const uint8 *head, size_t head_len, uint32 idx,
					uint32 *from, uint32 *to)
{
	const ZsVectorInfo *vi = &info->vectors[vecno];
	ZsReader	r = {.p = head,.end = head + head_len};
	uint32		entry = idx;
	uint32		n = (uint32) vi->nrows - vi->nnulls;
	uint64		start;
	uint64		end;

	if (head_len >= vi->len || vi->compression != ZS_COMPRESSION_NONE || vi->has_ext || idx >= vi->nrows || n < 1)
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
	switch (vi->encoding)
	{
		case ZS_ENC_FOR:
			if (info->kind >= ZS_KIND_NUMERIC || !zscodec_ints_part(&r, n, entry, head, &start, &end))
				return false;
			break;
		case ZS_ENC_PLAIN:
		case ZS_ENC_FSST:
		case ZS_ENC_WORDS:
			if (info->kind < ZS_KIND_NUMERIC || info->kind == ZS_KIND_FIXED ||
				!zscodec_strings_part(vi->encoding, &r, n, entry, head, &start, &end))
				return false;
			break;
		default:
			return false;
	}
	if (start > vi->len)
		return false;
	*from = (uint32) Max(start, head_len);
	*to = (uint32) Max(Min(end, vi->len), *from);
	return true;
}
