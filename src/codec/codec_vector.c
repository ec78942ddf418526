/*-------------------------------------------------------------------------
 *
 * codec_vector.c
 *	  Encoding one vector.
 *
 * The values of the non-null rows (codec_rows.c) are encoded natively (integers, decimals,
 * strings), and, if the segment has a dictionary that knows them all, as codes as well; the smaller
 * one wins, with a small bonus for what decodes faster.  At last LZ4 or zstd may take the body as a
 * whole.  Bit-packed integers rarely compress, so after a few vain attempts only every sixteenth
 * vector is tried.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_vector.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_encode.h"

#include "codec_numeric.h"
#include "codec_string.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/* Bodies shorter than this are not compressed. */
#define MIN_COMPRESS_SIZE	48

/*
 * What compression must save: 1/25 of strings, 1/12 of integers, which would lose their random
 * access.
 */
#define STRING_SAVING		25
#define INT_SAVING			12

/* The image of entry i, or an interval around it. */
static inline bool
value_bounds(const ZsColumnInput *in, const ZsVectorRows *v, uint32 i, int64 *lower, int64 *upper)
{
	switch (in->kind)
	{
		case ZS_KIND_INT:
			*lower = *upper = zscodec_zone_from_int64((int64) v->vals[i], in->width,
													  in->is_unsigned);
			return true;
		case ZS_KIND_FLOAT4:
		case ZS_KIND_FLOAT8:
			*lower = *upper = zscodec_zone_from_pattern(in->kind, v->vals[i]);
			return true;
		case ZS_KIND_NUMERIC:
			return zscodec_zone_from_numeric(v->ptrs[i], v->lens[i], lower, upper);
		default:
			*lower = *upper = zscodec_zone_from_bytes(v->ptrs[i], v->lens[i]);
			return true;
	}
}

/* The zone map of a vector, unless the native encoding found it already. */
static void
compute_zone(const ZsColumnInput *in, const ZsVectorRows *v, ZsVectorInfo *vi)
{
	vi->has_zone = false;
	if (v->n == 0 || v->next > 0)
		return;
	vi->zone_min = PG_INT64_MAX;
	vi->zone_max = PG_INT64_MIN;
	for (uint32 i = 0; i < v->n; i++)
	{
		int64		lower;
		int64		upper;

		if (!value_bounds(in, v, i, &lower, &upper))
			return;
		vi->zone_min = Min(vi->zone_min, lower);
		vi->zone_max = Max(vi->zone_max, upper);
		if (v->all_equal && in->kind >= ZS_KIND_NUMERIC)
			break;
	}
	vi->has_zone = true;
}

/* Floats: decimals if they are any, else their patterns as integers. */
static size_t
encode_floats(const ZsSegmentEncoder *se, uint8 *out, ZsEncoding *encoding)
{
	const ZsVectorRows *v = &se->rows;
	size_t		raw = (size_t) v->n * (se->in->kind == ZS_KIND_FLOAT4 ? 4 : 8);
	size_t		size = 0;
	uint8		other[ZS_INTS_SIZE_MAX(ZS_VECTOR_ROWS)];
	size_t		other_size;

	if (se->alp.ncandidates > 0)
	{
		size = zscodec_alp_encode(se->in->kind, v->vals, v->n, &se->alp, out);
		*encoding = ZS_ENC_ALP;
		if (size > 0 && size <= raw / 2 && size > 16)
			return size;
	}
	other_size = zscodec_ints_encode(v->vals, v->n, other);
	if (size > 0 && size < other_size)
		return size;
	memcpy(out, other, other_size);
	*encoding = (ZsEncoding) (out[0] & 0x0F);
	return other_size;
}

/* Plain values, or by symbols where these shorten them. */
static size_t
encode_literals(ZsSegmentEncoder *se, const uint8 *const *ptrs, const uint32 *lens, uint32 n,
				size_t total, uint8 *out, ZsEncoding *encoding)
{
	const ZsColumnInput *in = se->in;
	const uint8 *limit = in->bytes + in->offsets[in->nrows];
	bool		fsst = se->symbols != NULL &&
		(se->mode == ZS_STRINGS_FSST || se->mode == ZS_STRINGS_FSST_PACKED ||
		 se->mode == ZS_STRINGS_MIXED);

	/* of what LZ4 or zstd packs as a whole, no value is found by an anchor */
	bool		anchors = se->mode == ZS_STRINGS_PLAIN || se->mode == ZS_STRINGS_FSST ||
		se->mode == ZS_STRINGS_WORDS || se->mode == ZS_STRINGS_MIXED_WORDS;
	size_t		size;

	if (fsst)
	{
		size = zscodec_strings_encode_fsst(se->symbols, ptrs, lens, n, limit, anchors, out);
		*encoding = ZS_ENC_FSST;
		if (size < total)
			return size;
	}
	if ((se->mode == ZS_STRINGS_WORDS || se->mode == ZS_STRINGS_MIXED_WORDS) && se->words != NULL)
	{
		size = zscodec_strings_encode_words(se->words, ptrs, lens, n, limit, out);
		*encoding = ZS_ENC_WORDS;
		if (size < total)
			return size;
	}
	*encoding = ZS_ENC_PLAIN;
	return zscodec_strings_encode_plain(ptrs, lens, n, in->kind != ZS_KIND_FIXED, anchors, out);
}

/* By-reference values without the dictionary. */
static size_t
encode_strings(ZsSegmentEncoder *se, uint8 *out, ZsEncoding *encoding)
{
	const ZsVectorRows *v = &se->rows;

	if (v->all_equal)
	{
		memcpy(out, v->ptrs[0], v->lens[0]);
		*encoding = ZS_ENC_CONST;
		return v->lens[0];
	}
	return encode_literals(se, v->ptrs, v->lens, v->n, v->total, out, encoding);
}

/* Codes for the values the dictionary knows, literals for the others; 0 when it knows none. */
static size_t
encode_mixed(ZsSegmentEncoder *se, uint32 vecno, uint8 *out)
{
	const ZsVectorRows *v = &se->rows;
	const uint32 *codes = se->dict.codes + vecno * ZS_VECTOR_ROWS;
	uint64		known[ZS_VECTOR_ROWS];
	uint16		pos[ZS_VECTOR_ROWS];
	const uint8 *ptrs[ZS_VECTOR_ROWS];
	uint32		lens[ZS_VECTOR_ROWS];
	uint32		nknown = 0;
	uint32		nliterals = 0;
	size_t		total = 0;
	ZsEncoding	encoding;
	uint8	   *p = out;
	uint8	   *tag;

	for (uint32 i = 0; i < v->n; i++)
	{
		uint32		code = codes[v->rows[i]];

		if (code != ZS_DICT_NO_CODE)
			known[nknown++] = code;
		else
		{
			pos[nliterals] = (uint16) i;
			ptrs[nliterals] = v->ptrs[i];
			lens[nliterals++] = v->lens[i];
			total += v->lens[i];
		}
	}
	Assert(nknown + nliterals == v->n);
	if (nknown == 0 || nliterals == 0)
		return 0;
	p += zscodec_posset_encode(pos, nliterals, v->n, p);
	p += zscodec_ints_encode_codes(known, nknown, p);
	tag = p++;
	p += encode_literals(se, ptrs, lens, nliterals, total, p, &encoding);
	*tag = (uint8) encoding;
	return (size_t) (p - out);
}

/* Numerics that came as integers of one scale. */
static size_t
encode_scaled_numerics(const ZsSegmentEncoder *se, ZsVectorInfo *vi, uint8 *out)
{
	const ZsVectorRows *v = &se->rows;

	if (v->all_equal)
	{
		vi->encoding = ZS_ENC_CONST;
		zscodec_zone_from_scaled((int64) v->vals[0], (int64) v->vals[0], se->in->scale,
								 &vi->zone_min, &vi->zone_max);
		vi->has_zone = true;
		return zscodec_numeric_from_int((int64) v->vals[0], se->in->scale, out);
	}
	vi->encoding = ZS_ENC_NUMERIC;
	vi->has_zone = true;
	return zscodec_numeric_encode_ints(v->vals, v->n, se->in->scale, out, &vi->zone_min,
									   &vi->zone_max);
}

/* The values of a vector in the encoding of their kind; returns the size. */
static size_t
encode_native(ZsSegmentEncoder *se, ZsVectorInfo *vi, uint8 *out)
{
	const ZsColumnInput *in = se->in;
	const ZsVectorRows *v = &se->rows;
	ZsEncoding	encoding = ZS_ENC_INVALID;
	size_t		size = 0;

	switch (in->kind)
	{
		case ZS_KIND_INT:
			size = zscodec_ints_encode_bounds(v->vals, v->n, out, &vi->zone_min, &vi->zone_max);
			vi->has_zone = !in->is_unsigned;
			encoding = (ZsEncoding) (out[0] & 0x0F);
			break;
		case ZS_KIND_FLOAT4:
		case ZS_KIND_FLOAT8:
			size = encode_floats(se, out, &encoding);
			break;
		case ZS_KIND_NUMERIC:
			if (!se->by_ref)
				return encode_scaled_numerics(se, vi, out);
			if (!v->all_equal || v->next > 0)
				size = zscodec_numeric_encode(v->ptrs, v->lens, v->isext, v->n, out,
											  &vi->has_zone, &vi->zone_min, &vi->zone_max);
			encoding = ZS_ENC_NUMERIC;
			break;
		default:
			break;
	}
	if (size == 0)
		size = encode_strings(se, out, &encoding);
	vi->encoding = (uint8) encoding;
	return size;
}

/* The codes of a vector; 0 when some value has none.  Overflow pointers never have one. */
static size_t
encode_codes(const ZsSegmentEncoder *se, uint32 vecno, uint8 *out)
{
	const ZsVectorRows *v = &se->rows;
	const uint32 *codes = se->dict.codes + vecno * ZS_VECTOR_ROWS;
	uint64		wide[ZS_VECTOR_ROWS];

	if (v->next > 0)
		return 0;
	for (uint32 i = 0; i < v->n; i++)
	{
		wide[i] = codes[v->rows[i]];
		if (wide[i] == ZS_DICT_NO_CODE)
			return 0;
	}
	if (se->in->kind >= ZS_KIND_NUMERIC)
		return zscodec_ints_encode_codes(wide, v->n, out);
	*out = ZS_ENC_DICT;
	return 1 + zscodec_ints_encode_codes(wide, v->n, out + 1);
}

/* Is the dictionary's size good enough against the native one? */
static bool
prefer_dict(ZsValueKind kind, size_t dict_size, size_t native_size)
{
	if (kind < ZS_KIND_NUMERIC)
		return dict_size + dict_size / 20 < native_size;
	/* Decoding a numeric from a dictionary is copying an address. */
	return dict_size <= native_size + native_size / 32;
}

/*
 * Encodes the values, by codes or natively, behind len bytes of position sets; returns the new
 * length.
 */
static const char *
encode_values(ZsSegmentEncoder *se, uint32 vecno, ZsVectorInfo *vi, ZsCodecBuf *body)
{
	const ZsVectorRows *v = &se->rows;
	ZsCodecBuf *other = &se->enc->bufs[ZS_BUF_OTHER];
	size_t		dict_size = 0;
	size_t		size;

	if (se->use_dict && !v->all_equal)
	{
		other->len = 0;
		if (!zscodec_buf_reserve(other, ZS_INTS_SIZE_MAX(ZS_VECTOR_ROWS) + 1))
			return ZS_ERR_MEMORY;
		dict_size = encode_codes(se, vecno, other->data);
	}
	if (dict_size > 0 && se->in->kind >= ZS_KIND_FIXED)
		size = SIZE_MAX;		/* decided for the whole segment */
	else if (se->use_dict && zscodec_mode_mixed(se->mode) && !v->all_equal &&
			 (size = encode_mixed(se, vecno, body->data + body->len)) > 0)
	{
		vi->encoding = ZS_ENC_MIXED;
		vi->needs_shared = true;
	}
	else
	{
		size = encode_native(se, vi, body->data + body->len);
		se->native_total += size;
	}
	if (dict_size > 0 && (size == SIZE_MAX || prefer_dict(se->in->kind, dict_size, size)))
	{
		if (size != SIZE_MAX && size > dict_size)
			se->dict_saved += size - dict_size;
		memcpy(body->data + body->len, other->data, dict_size);
		vi->encoding = ZS_ENC_DICT;
		vi->needs_shared = true;
		size = dict_size;
	}
	if (vi->encoding == ZS_ENC_FSST || vi->encoding == ZS_ENC_WORDS)
		vi->needs_shared = true;
	body->len += size;
	Assert(body->len + ZS_SLACK <= body->size && vi->encoding != ZS_ENC_INVALID);
	return NULL;
}

/* May compression of this vector be tried? */
static bool
worth_compressing(const ZsSegmentEncoder *se, const ZsVectorInfo *vi, uint32 vecno, size_t len)
{
	if (se->options->compression == ZS_COMPRESSION_NONE || len < MIN_COMPRESS_SIZE)
		return false;
	if (vi->encoding == ZS_ENC_PLAIN)
		return se->mode != ZS_STRINGS_PLAIN;
	if (vi->encoding == ZS_ENC_WORDS || (vi->encoding == ZS_ENC_MIXED &&
										 se->mode == ZS_STRINGS_MIXED_WORDS))
		return false;
	if (vi->encoding == ZS_ENC_FSST && se->mode == ZS_STRINGS_FSST)
		return false;
	if (vi->encoding == ZS_ENC_FSST || vi->encoding == ZS_ENC_MIXED || vi->encoding == ZS_ENC_CONST)
		return true;
	return se->nsaved * 2 > se->ntried || se->ntried < 2 || vecno % 16 == 0;
}

/* Compresses the body if that pays; *bytes and vi->len say what is to be stored. */
static const char *
compress_body(ZsSegmentEncoder *se, uint32 vecno, ZsVectorInfo *vi, const ZsCodecBuf *body,
			  const uint8 **bytes)
{
	ZsCodecBuf *packed = &se->enc->bufs[ZS_BUF_PACKED];
	bool		prefixed = vi->encoding == ZS_ENC_PLAIN && se->prefix_len > 0;
	int			saving = se->by_ref && vi->encoding != ZS_ENC_NUMERIC &&
		vi->encoding != ZS_ENC_DICT ?
		STRING_SAVING : INT_SAVING;
	size_t		limit = body->len - body->len / saving;
	size_t		size;

	*bytes = body->data;
	vi->len = (uint32) body->len;
	vi->compression = ZS_COMPRESSION_NONE;
	if (!worth_compressing(se, vi, vecno, body->len) || limit <= 4)
		return NULL;
	packed->len = 0;
	if (!zscodec_buf_reserve(packed, body->len))
		return ZS_ERR_MEMORY;
	size = zscodec_compress(se->enc, se->options, body->data, body->len,
							prefixed ? se->prefix : NULL, prefixed ? se->prefix_len : 0,
							packed->data + 4, limit - 4);
	se->ntried++;
	if (size == 0)
		return NULL;
	se->nsaved++;
	store32(packed->data, (uint32) body->len);
	*bytes = packed->data;
	Assert(size + 4 <= limit);
	vi->len = (uint32) size + 4;
	vi->compression = (uint8) se->options->compression;
	vi->needs_shared = vi->needs_shared || prefixed;
	return NULL;
}

/*
 * Encodes a vector; *bytes points to its stored form of vi->len bytes, valid until the next call.
 * se->rows must hold its rows (zscodec_rows_gather()).
 */
const char *
zscodec_vector_encode(ZsSegmentEncoder *se, uint32 vecno, const uint8 **bytes)
{
	ZsVectorInfo *vi = &se->vectors[vecno];
	const ZsVectorRows *v = &se->rows;
	ZsCodecBuf *body = &se->enc->bufs[ZS_BUF_BODY];
	size_t		room = se->by_ref ? v->total : 0;
	const char *err;

	memset(vi, 0, sizeof(*vi));
	vi->nrows = (uint16) v->nrows;
	vi->nnulls = (uint16) v->nnulls;
	vi->has_ext = v->next > 0;
	body->len = 0;
	if (v->n == 0)
	{
		vi->encoding = ZS_ENC_ALLNULL;
		*bytes = NULL;
		return NULL;
	}
	if (se->words != NULL)
		room = ZS_WORDS_ENCODED_MAX(room);
	else if (se->symbols != NULL)
		room = ZS_FSST_ENCODED_MAX(room);
	if (!zscodec_buf_reserve(body, room + ZS_ANCHORS_SIZE_MAX + 4 *
							 ZS_INTS_SIZE_MAX(ZS_VECTOR_ROWS) + 8 * ZS_VECTOR_ROWS +
							 4 * ZS_POSSET_SIZE_MAX(ZS_VECTOR_ROWS)))
		return ZS_ERR_MEMORY;
	if (v->nnulls > 0)
		body->len += zscodec_posset_encode(v->null_pos, v->nnulls, v->nrows, body->data);
	if (v->next > 0)
		body->len += zscodec_posset_encode(v->ext_pos, v->next, v->n, body->data + body->len);
	if ((err = encode_values(se, vecno, vi, body)) != NULL)
		return err;
	if (!vi->has_zone)
		compute_zone(se->in, v, vi);
	return compress_body(se, vecno, vi, body, bytes);
}
