/*-------------------------------------------------------------------------
 *
 * codec_ops.c
 *	  The encodings that vectors have, a row for each.
 *
 * Readers ask this table what an encoding can do.  So a new encoding is a file with its functions,
 * a number in ZsEncoding and a row here; when it is written is the business of codec_choose.c and
 * codec_vector.c.  Encodings that share their functions do so because those look at a tag within
 * the body: streams of integers (codec_int_decode.c), and lengths followed by bytes
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

static bool
ints_part(const ZsSegmentInfo *info, const ZsVectorInfo *vi, ZsReader *r, uint32 n, uint32 entry,
		  const uint8 *head, uint64 *from, uint64 *to)
{
	return zscodec_ints_part(r, n, entry, head, from, to);
}

/* ---- floats, numerics -------------------------------------------------- */

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

/* ---- bytes ------------------------------------------------------------- */

static const char *
strings_decode(const ZsSegmentInfo *info, ZsVectorBody *body, const ZsSharedState *shared,
			   uint32 *want, ZsVectorOut *out)
{
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

/* By-value types have a stream, others the bytes. */
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
		.decode = const_decode,.decode_one = const_decode_one,
	},
	[ZS_ENC_FOR] = {
		.name = "for",.kinds = BY_VALUE,
		.decode = ints_decode,.decode_one = ints_decode_one,.part = ints_part,
	},
	[ZS_ENC_DELTA] = {
		.name = "delta",.kinds = BY_VALUE,
		.decode = ints_decode,.decode_one = ints_decode_one,
	},
	[ZS_ENC_RLE] = {
		.name = "rle",.kinds = BY_VALUE,
		.decode = ints_decode,.decode_one = ints_decode_one,
	},
	[ZS_ENC_SCALED] = {
		.name = "scaled",.kinds = BY_VALUE,
		.decode = ints_decode,.decode_one = ints_decode_one,
	},
	[ZS_ENC_DICT] = {
		.name = "dict",.kinds = ANY,
		.forms = ZS_FORM_CODES | ZS_FORM_SCALED | ZS_FORM_LENGTHS,
		.decode = zscodec_dict_decode,.decode_one = zscodec_dict_decode_one,
	},
	[ZS_ENC_ALP] = {
		.name = "alp",.kinds = FLOATS,
		.decode = alp_decode,.decode_one = alp_decode_one,
	},
	[ZS_ENC_NUMERIC] = {
		.name = "numeric",.kinds = KIND(ZS_KIND_NUMERIC),
		.forms = ZS_FORM_SCALED,.ext_forms = ZS_FORM_SCALED,
		.decode = numeric_decode,.decode_one = numeric_decode_one,
	},
	[ZS_ENC_PLAIN] = {
		.name = "plain",.kinds = BY_REFERENCE,
		.forms = ZS_FORM_LENGTHS,.ext_forms = ZS_FORM_LENGTHS,.is_literal = true,
		.decode = strings_decode,.decode_one = strings_decode_one,.part = strings_part,
	},
	[ZS_ENC_FSST] = {
		.name = "fsst",.kinds = BY_REFERENCE,
		.forms = ZS_FORM_LENGTHS,.ext_forms = ZS_FORM_LENGTHS,.is_literal = true,
		.decode = strings_decode,.decode_one = strings_decode_one,.part = strings_part,
	},
	[ZS_ENC_MIXED] = {
		.name = "mixed",.kinds = KIND(ZS_KIND_FIXED) | KIND(ZS_KIND_BYTES),
		.forms = ZS_FORM_LENGTHS,.ext_forms = ZS_FORM_LENGTHS,
		.decode = zscodec_mixed_decode,.decode_one = zscodec_mixed_decode_one,
	},
	[ZS_ENC_WORDS] = {
		.name = "words",.kinds = BY_REFERENCE,
		.forms = ZS_FORM_LENGTHS,.ext_forms = ZS_FORM_LENGTHS,.is_literal = true,
		.decode = strings_decode,.decode_one = strings_decode_one,.part = strings_part,
	},
};
