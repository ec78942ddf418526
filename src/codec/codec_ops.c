/*-------------------------------------------------------------------------
 *
 * codec_ops.c
 *	  The encodings that vectors have, a row for each.
 *
 * Writers and readers ask this table what an encoding can do.  So a new encoding is a file with its
 * functions, a number in ZsEncoding, a row here, and its place in the order in which writers try
 * them.  What a segment shares (dictionary, symbols, words) and whether it is worth it is the
 * business of codec_choose.c.  Encodings that share their functions do so because those look at a
 * tag within the body: streams of integers (codec_int_decode.c), and lengths followed by bytes
 * (codec_string.c).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_ops.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_alp.h"
#include "codec_numeric.h"
#include "codec_ops.h"
#include "codec_string.h"

/* ---- integers ---------------------------------------------------------- */

/* The stream that is shortest; its tag says which. */
static size_t
ints_encode(ZsSegmentEncoder *se, ZsVectorInfo *vi, uint8 *out)
{
	const ZsVectorRows *v = &se->rows;
	size_t		size;

	if (se->in->kind == ZS_KIND_INT)
	{
		size = zscodec_ints_encode_bounds(v->vals, v->n, out, &vi->zone_min, &vi->zone_max);
		vi->has_zone = !se->in->is_unsigned;
	}
	else
		size = zscodec_ints_encode(v->vals, v->n, out);
	vi->encoding = out[0] & 0x0F;
	return size;
}

/* Is the stream of the encoding that the directory says? */
static const char *
check_stream(const ZsVectorBody *body)
{
	return reader_left(&body->r) < 1 || (*body->r.p & 0x0F) != body->vi->encoding ?
		"encoding does not fit the directory" : NULL;
}

static const char *
ints_decode(const ZsSegmentInfo *info, ZsVectorBody *body, const ZsSharedState *shared,
			uint32 *want, ZsVectorOut *out)
{
	const char *err = check_stream(body);

	Assert(info->kind < ZS_KIND_NUMERIC);
	return err != NULL ? err : zscodec_ints_decode(&body->r, body->n, out->values);
}

static const char *
ints_decode_one(const ZsSegmentInfo *info, ZsVectorBody *body, uint32 entry,
				const ZsSharedState *shared, ZsVectorOut *out, uint64 *value)
{
	const char *err = check_stream(body);

	Assert(info->kind < ZS_KIND_NUMERIC);
	return err != NULL ? err : zscodec_ints_get(&body->r, body->n, entry, value);
}

static const char *
ints_ints(const ZsSegmentInfo *info, const ZsVectorInfo *vi, ZsReader *r, uint32 n,
		  const ZsSharedState *shared, uint64 *ints, int *scale, bool *found)
{
	if (reader_left(r) < 1 || (*r->p & 0x0F) != vi->encoding)
		return "encoding does not fit the directory";
	return zscodec_ints_decode(r, n, ints);
}

static bool
ints_part(const ZsSegmentInfo *info, const ZsVectorInfo *vi, ZsReader *r, uint32 n, uint32 entry,
		  const uint8 *head, uint64 *from, uint64 *to)
{
	return zscodec_ints_part(r, n, entry, head, from, to);
}

/* ---- floats, numerics -------------------------------------------------- */

static size_t
alp_encode(ZsSegmentEncoder *se, ZsVectorInfo *vi, uint8 *out)
{
	size_t		size = 0;

	if (se->alp.ncandidates > 0)
		size = zscodec_alp_encode(se->in->kind, se->rows.vals, se->rows.n, &se->alp, out);
	return size > 0 ? size : ZS_NOT_ENCODED;
}

/* Else their patterns as integers may be shorter. */
static bool
alp_settles(const ZsSegmentEncoder *se, size_t size)
{
	size_t		raw = (size_t) se->rows.n * (se->in->kind == ZS_KIND_FLOAT4 ? 4 : 8);

	return size <= raw / 2 && size > 16;
}

static const char *
alp_decode(const ZsSegmentInfo *info, ZsVectorBody *body, const ZsSharedState *shared, uint32 *want,
		   ZsVectorOut *out)
{
	return zscodec_alp_decode(info->kind, &body->r, body->n, out->values);
}

static const char *
alp_decode_one(const ZsSegmentInfo *info, ZsVectorBody *body, uint32 entry,
			   const ZsSharedState *shared, ZsVectorOut *out, uint64 *value)
{
	const char *err = zscodec_alp_decode(info->kind, &body->r, body->n, out->values);

	if (err == NULL)
		*value = out->values[entry];
	return err;
}

/* They come as integers of one scale, or as payloads. */
static size_t
numeric_encode(ZsSegmentEncoder *se, ZsVectorInfo *vi, uint8 *out)
{
	const ZsVectorRows *v = &se->rows;
	size_t		size;

	if (v->all_equal && (!se->by_ref || v->next == 0))
		return ZS_NOT_ENCODED;
	if (se->by_ref)
	{
		size = zscodec_numeric_encode(v->ptrs, v->lens, v->isext, v->n, out, &vi->has_zone,
									  &vi->zone_min, &vi->zone_max);
		return size > 0 ? size : ZS_NOT_ENCODED;
	}
	vi->has_zone = true;
	return zscodec_numeric_encode_ints(v->vals, v->n, se->in->scale, out, &vi->zone_min,
									   &vi->zone_max);
}

static const char *
numeric_decode(const ZsSegmentInfo *info, ZsVectorBody *body, const ZsSharedState *shared,
			   uint32 *want, ZsVectorOut *out)
{
	return zscodec_numeric_decode(&body->r, body->n, *want, out, body->odd_pos, &body->nodd);
}

static const char *
numeric_decode_one(const ZsSegmentInfo *info, ZsVectorBody *body, uint32 entry,
				   const ZsSharedState *shared, ZsVectorOut *out, uint64 *value)
{
	return zscodec_numeric_decode_one(&body->r, body->n, entry, out, value);
}

static const char *
numeric_ints(const ZsSegmentInfo *info, const ZsVectorInfo *vi, ZsReader *r, uint32 n,
			 const ZsSharedState *shared, uint64 *ints, int *scale, bool *found)
{
	return zscodec_numeric_decode_ints(r, n, ints, scale, found);
}

/* ---- bytes ------------------------------------------------------------- */

#define MODE(mode)		(1u << (mode))
#define ALL_MODES		(MODE(ZS_STRINGS_MODES) - 1)

/* Of what LZ4 or zstd packs as a whole, no value is found by an anchor. */
#define ANCHORED		(MODE(ZS_STRINGS_PLAIN) | MODE(ZS_STRINGS_FSST) | MODE(ZS_STRINGS_WORDS) | \
						 MODE(ZS_STRINGS_MIXED_WORDS))
#define BY_SYMBOLS		(MODE(ZS_STRINGS_FSST) | MODE(ZS_STRINGS_FSST_PACKED) | \
						 MODE(ZS_STRINGS_MIXED))
#define BY_WORDS		(MODE(ZS_STRINGS_WORDS) | MODE(ZS_STRINGS_MIXED_WORDS))

static inline bool
mode_is_in(const ZsSegmentEncoder *se, uint32 modes)
{
	return (modes >> se->mode & 1) != 0;
}

/* Where the segment's values end; loops may read that far. */
static inline const uint8 *
values_end(const ZsSegmentEncoder *se)
{
	return se->in->bytes + se->in->offsets[se->in->nrows];
}

static size_t
fsst_encode(ZsSegmentEncoder *se, const ZsLiterals *values, uint8 *out)
{
	size_t		size;

	if (se->symbols == NULL || !mode_is_in(se, BY_SYMBOLS))
		return ZS_NOT_ENCODED;
	size = zscodec_strings_encode_fsst(se->symbols, values->ptrs, values->lens, values->n,
									   values_end(se), mode_is_in(se, ANCHORED), out);
	return size < values->total ? size : ZS_NOT_ENCODED;
}

static size_t
words_encode(ZsSegmentEncoder *se, const ZsLiterals *values, uint8 *out)
{
	size_t		size;

	if (se->words == NULL || !mode_is_in(se, BY_WORDS))
		return ZS_NOT_ENCODED;
	size = zscodec_strings_encode_words(se->words, values->ptrs, values->lens, values->n,
										values_end(se), out);
	return size < values->total ? size : ZS_NOT_ENCODED;
}

static size_t
plain_encode(ZsSegmentEncoder *se, const ZsLiterals *values, uint8 *out)
{
	return zscodec_strings_encode_plain(values->ptrs, values->lens, values->n,
										se->in->kind != ZS_KIND_FIXED, mode_is_in(se, ANCHORED),
										out);
}

static const char *
strings_decode(const ZsSegmentInfo *info, ZsVectorBody *body, const ZsSharedState *shared,
			   uint32 *want, ZsVectorOut *out)
{
	/* bytes from disk may say that numerics are coded by words, which no writer does */
	if (body->some && zscodec_strings_have_some(body->vi->encoding) &&
		info->kind >= ZS_KIND_FIXED && (*want & ZS_FORM_VALUES))
		return zscodec_strings_decode_some(info, body->vi->encoding, &body->r, body->n, shared,
										   body->only, *want, out, &body->left_out);
	return zscodec_strings_decode(info, body->vi->encoding, &body->r, body->n, shared, *want, out);
}

static const char *
strings_decode_one(const ZsSegmentInfo *info, ZsVectorBody *body, uint32 entry,
				   const ZsSharedState *shared, ZsVectorOut *out, uint64 *value)
{
	return zscodec_strings_decode_one(info, body->vi->encoding, &body->r, body->n, entry, shared,
									  out, value);
}

static bool
strings_part(const ZsSegmentInfo *info, const ZsVectorInfo *vi, ZsReader *r, uint32 n, uint32 entry,
			 const uint8 *head, uint64 *from, uint64 *to)
{
	return info->kind != ZS_KIND_FIXED &&
		zscodec_strings_part(vi->encoding, r, n, entry, head, from, to);
}

/* ---- one value for all rows -------------------------------------------- */

/* By-value types have a stream, which says so itself; others the bytes. */
static size_t
const_encode(ZsSegmentEncoder *se, ZsVectorInfo *vi, uint8 *out)
{
	const ZsVectorRows *v = &se->rows;

	if (!v->all_equal)
		return ZS_NOT_ENCODED;
	Assert(se->in->kind >= ZS_KIND_NUMERIC);
	if (se->by_ref)
	{
		memcpy(out, v->ptrs[0], v->lens[0]);
		return v->lens[0];
	}
	zscodec_zone_from_scaled((int64) v->vals[0], (int64) v->vals[0], se->in->scale, &vi->zone_min,
							 &vi->zone_max);
	vi->has_zone = true;
	return zscodec_numeric_from_int((int64) v->vals[0], se->in->scale, out);
}

static const char *
const_decode(const ZsSegmentInfo *info, ZsVectorBody *body, const ZsSharedState *shared,
			 uint32 *want, ZsVectorOut *out)
{
	const char *err;

	if (info->kind == ZS_KIND_NUMERIC && (*want & (ZS_FORM_SCALED | ZS_FORM_CONST)) != 0 &&
		!zscodec_numeric_decode_const(&body->r, body->n, *want, out))
		*want &= ~ZS_FORM_SCALED;
	if (info->kind >= ZS_KIND_NUMERIC)
		return strings_decode(info, body, shared, want, out);
	if ((*want & ZS_FORM_CONST) == 0)
		return ints_decode(info, body, shared, want, out);
	err = check_stream(body);
	return err != NULL ? err : zscodec_ints_get(&body->r, body->n, 0, &out->constant);
}

static const char *
const_decode_one(const ZsSegmentInfo *info, ZsVectorBody *body, uint32 entry,
				 const ZsSharedState *shared, ZsVectorOut *out, uint64 *value)
{
	return info->kind >= ZS_KIND_NUMERIC ?
		strings_decode_one(info, body, entry, shared, out, value) :
		ints_decode_one(info, body, entry, shared, out, value);
}

static const char *
const_ints(const ZsSegmentInfo *info, const ZsVectorInfo *vi, ZsReader *r, uint32 n,
		   const ZsSharedState *shared, uint64 *ints, int *scale, bool *found)
{
	int64		value;

	if (info->kind == ZS_KIND_INT)
		return ints_ints(info, vi, r, n, shared, ints, scale, found);
	*found = zscodec_numeric_to_int(r->p, reader_left(r), scale, &value);
	for (uint32 i = 0; i < n && *found; i++)
		ints[i] = (uint64) value;
	return NULL;
}

/* ---- the table --------------------------------------------------------- */

#define KIND(kind)		(1u << (kind))
#define FLOATS			(KIND(ZS_KIND_FLOAT4) | KIND(ZS_KIND_FLOAT8))
#define BY_VALUE		(KIND(ZS_KIND_INT) | FLOATS)
#define BY_REFERENCE	(KIND(ZS_KIND_NUMERIC) | KIND(ZS_KIND_FIXED) | KIND(ZS_KIND_BYTES))
#define ANY				(BY_VALUE | BY_REFERENCE)

const ZsEncodingOps zscodec_encoding_ops[ZS_ENC_COUNT] = {
	[ZS_ENC_INVALID] = {.name = "invalid"},
	[ZS_ENC_ALLNULL] = {
		.name = "allnull",.kinds = ANY,
		.forms = ZS_FORM_SCALED | ZS_FORM_LENGTHS,
		.ext_forms = ZS_FORM_SCALED | ZS_FORM_LENGTHS,
	},
	[ZS_ENC_CONST] = {
		.name = "const",.kinds = ANY,
		.forms = ZS_FORM_CONST | ZS_FORM_SCALED | ZS_FORM_LENGTHS,
		.packed_in = ALL_MODES,.encode = const_encode,
		.decode = const_decode,.decode_one = const_decode_one,.ints = const_ints,
	},
	[ZS_ENC_FOR] = {
		.name = "for",.kinds = BY_VALUE,.is_stream = true,.encode = ints_encode,
		.decode = ints_decode,.decode_one = ints_decode_one,.ints = ints_ints,.part = ints_part,
	},
	[ZS_ENC_DELTA] = {
		.name = "delta",.kinds = BY_VALUE,.is_stream = true,
		.decode = ints_decode,.decode_one = ints_decode_one,.ints = ints_ints,
	},
	[ZS_ENC_RLE] = {
		.name = "rle",.kinds = BY_VALUE,.is_stream = true,
		.decode = ints_decode,.decode_one = ints_decode_one,.ints = ints_ints,
	},
	[ZS_ENC_SCALED] = {
		.name = "scaled",.kinds = BY_VALUE,.is_stream = true,
		.decode = ints_decode,.decode_one = ints_decode_one,.ints = ints_ints,
	},
	[ZS_ENC_DICT] = {
		.name = "dict",.kinds = ANY,
		.forms = ZS_FORM_CODES | ZS_FORM_SCALED | ZS_FORM_LENGTHS,
		.needs_shared = true,.is_stream = true,.encode = zscodec_dict_encode,
		.decode = zscodec_dict_decode,.decode_one = zscodec_dict_decode_one,
		.ints = zscodec_dict_decode_ints,
	},
	[ZS_ENC_ALP] = {
		.name = "alp",.kinds = FLOATS,
		.is_stream = true,.encode = alp_encode,.settles = alp_settles,
		.decode = alp_decode,.decode_one = alp_decode_one,
	},
	[ZS_ENC_NUMERIC] = {
		.name = "numeric",.kinds = KIND(ZS_KIND_NUMERIC),
		.forms = ZS_FORM_SCALED,.ext_forms = ZS_FORM_SCALED,
		.is_stream = true,.encode = numeric_encode,
		.decode = numeric_decode,.decode_one = numeric_decode_one,.ints = numeric_ints,
	},
	[ZS_ENC_PLAIN] = {
		.name = "plain",.kinds = BY_REFERENCE,
		.forms = ZS_FORM_LENGTHS,.ext_forms = ZS_FORM_LENGTHS,
		.packed_in = ALL_MODES & ~MODE(ZS_STRINGS_PLAIN),.encode_literals = plain_encode,
		.decode = strings_decode,.decode_one = strings_decode_one,.part = strings_part,
	},
	[ZS_ENC_FSST] = {
		.name = "fsst",.kinds = BY_REFERENCE,
		.forms = ZS_FORM_LENGTHS,.ext_forms = ZS_FORM_LENGTHS,.needs_shared = true,
		.packed_in = ALL_MODES & ~MODE(ZS_STRINGS_FSST),.encode_literals = fsst_encode,
		.decode = strings_decode,.decode_one = strings_decode_one,.part = strings_part,
	},
	[ZS_ENC_MIXED] = {
		.name = "mixed",.kinds = KIND(ZS_KIND_FIXED) | KIND(ZS_KIND_BYTES),
		.forms = ZS_FORM_LENGTHS | ZS_FORM_ENTRIES,.ext_forms = ZS_FORM_LENGTHS | ZS_FORM_ENTRIES,
		.needs_shared = true,
		.packed_in = ALL_MODES & ~MODE(ZS_STRINGS_MIXED_WORDS),.encode = zscodec_mixed_encode,
		.decode = zscodec_mixed_decode,.decode_one = zscodec_mixed_decode_one,
	},
	[ZS_ENC_WORDS] = {
		.name = "words",.kinds = BY_REFERENCE,
		.forms = ZS_FORM_LENGTHS,.ext_forms = ZS_FORM_LENGTHS,.needs_shared = true,
		.encode_literals = words_encode,
		.decode = strings_decode,.decode_one = strings_decode_one,.part = strings_part,
	},
};

/*
 * Behind those that may have no form for some values come those that have one for all: PLAIN, and
 * FOR, which stands for all streams of integers.
 */
const uint8 zscodec_encoding_order[] = {
	ZS_ENC_ALP, ZS_ENC_NUMERIC, ZS_ENC_CONST, ZS_ENC_FSST, ZS_ENC_WORDS, ZS_ENC_PLAIN, ZS_ENC_FOR,
	ZS_ENC_INVALID
};
