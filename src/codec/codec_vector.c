/*-------------------------------------------------------------------------
 *
 * codec_vector.c
 *	  Encoding one vector.
 *
 * The values of the non-null rows (codec_rows.c) are encoded natively, in the first encoding of
 * those for their kind that has a good form for them (codec_ops.c), and, if the segment has a
 * dictionary that knows them all, as codes as well; the smaller one wins, with a small bonus for
 * what decodes faster.  At last LZ4 or zstd may take the body as a whole.  Bit-packed integers
 * rarely compress, so after a few vain attempts only every sixteenth vector is tried.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_vector.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_encode.h"
#include "codec_ops.h"
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

/* The values of a vector in an encoding of their own; returns the size. */
static size_t
encode_native(ZsSegmentEncoder *se, ZsVectorInfo *vi, uint8 *out)
{
	const ZsVectorRows *v = &se->rows;
	ZsLiterals	values = {v->ptrs, v->lens, v->n, v->total};
	uint8		other[ZS_INTS_SIZE_MAX(ZS_VECTOR_ROWS)];
	size_t		best = ZS_NOT_ENCODED;
	uint8		encoding = ZS_ENC_INVALID;

	for (const uint8 *e = zscodec_encoding_order; *e != ZS_ENC_INVALID; e++)
	{
		const ZsEncodingOps *ops = &zscodec_encoding_ops[*e];
		uint8	   *to = best == ZS_NOT_ENCODED ? out : other;
		size_t		size;

		if (!zscodec_encoding_fits(se->in->kind, *e))
			continue;
		vi->encoding = *e;
		size = ops->encode != NULL ? ops->encode(se, vi, to) :
			ops->encode_literals(se, &values, to);
		if (size == ZS_NOT_ENCODED)
			continue;
		if (size <= best)
		{
			if (best != ZS_NOT_ENCODED)
				memcpy(out, other, size);
			best = size;
			encoding = vi->encoding;
		}
		if (ops->settles == NULL || ops->settles(se, size))
			break;
		/* what follows fits the array */
		Assert(se->in->kind < ZS_KIND_NUMERIC);
	}
	Assert(best != ZS_NOT_ENCODED);
	vi->encoding = encoding;
	return best;
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
encode_values(ZsSegmentEncoder *se, ZsVectorInfo *vi, ZsCodecBuf *body)
{
	bool		use_dict = se->use_dict && !se->rows.all_equal;
	ZsCodecBuf *other = &se->enc->bufs[ZS_BUF_OTHER];
	size_t		dict_size = ZS_NOT_ENCODED;
	size_t		size = ZS_NOT_ENCODED;

	if (use_dict)
	{
		other->len = 0;
		if (!zscodec_buf_reserve(other, ZS_INTS_SIZE_MAX(ZS_VECTOR_ROWS) + 1))
			return ZS_ERR_MEMORY;
		dict_size = zscodec_dict_encode(se, vi, other->data);
	}
	/* whether strings have codes was decided for the whole segment */
	if (dict_size == ZS_NOT_ENCODED || se->in->kind < ZS_KIND_FIXED)
	{
		if (use_dict && zscodec_mode_mixed(se->mode))
			size = zscodec_mixed_encode(se, vi, body->data + body->len);
		vi->encoding = ZS_ENC_MIXED;
		if (size == ZS_NOT_ENCODED)
		{
			size = encode_native(se, vi, body->data + body->len);
			se->native_total += size;
		}
	}
	if (dict_size != ZS_NOT_ENCODED &&
		(size == ZS_NOT_ENCODED || prefer_dict(se->in->kind, dict_size, size)))
	{
		if (size != ZS_NOT_ENCODED && size > dict_size)
			se->dict_saved += size - dict_size;
		memcpy(body->data + body->len, other->data, dict_size);
		vi->encoding = ZS_ENC_DICT;
		size = dict_size;
	}
	vi->needs_shared = zscodec_encoding_ops[vi->encoding].needs_shared;
	body->len += size;
	Assert(body->len + ZS_SLACK <= body->size && vi->encoding != ZS_ENC_INVALID);
	return NULL;
}

/* May compression of this vector be tried? */
static bool
worth_compressing(const ZsSegmentEncoder *se, const ZsVectorInfo *vi, uint32 vecno, size_t len)
{
	const ZsEncodingOps *ops = &zscodec_encoding_ops[vi->encoding];

	if (se->options->compression == ZS_COMPRESSION_NONE || len < MIN_COMPRESS_SIZE)
		return false;
	if (!ops->is_stream)
		return (ops->packed_in >> se->mode & 1) != 0;
	return se->nsaved * 2 > se->ntried || se->ntried < 2 || vecno % 16 == 0;
}

/* Compresses the body if that pays; *bytes and vi->len say what is to be stored. */
static const char *
compress_body(ZsSegmentEncoder *se, uint32 vecno, ZsVectorInfo *vi, const ZsCodecBuf *body,
			  const uint8 **bytes)
{
	ZsCodecBuf *packed = &se->enc->bufs[ZS_BUF_PACKED];
	bool		prefixed = vi->encoding == ZS_ENC_PLAIN && se->prefix_len > 0;
	int			saving = se->by_ref && !zscodec_encoding_ops[vi->encoding].is_stream ?
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
	if ((err = encode_values(se, vi, body)) != NULL)
		return err;
	if (!vi->has_zone)
		compute_zone(se->in, v, vi);
	return compress_body(se, vecno, vi, body, bytes);
}
