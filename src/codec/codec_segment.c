/*-------------------------------------------------------------------------
 *
 * codec_segment.c
 *	  Encoding a segment: choices, vectors, shared area, head.
 *
 * The head stands in front but is known last, and whether the dictionary pays for itself shows only
 * when all vectors are encoded.  So vectors are collected in a buffer, then the shared area is
 * made, then everything is put together.  A dictionary that saved less than it costs is dropped and
 * the vectors are encoded again.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_segment.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_encode.h"

/* What the caller may not get wrong. */
static const char *
check_input(const ZsColumnInput *in)
{
	if (in->nrows < 1 || in->nrows > ZS_SEGMENT_ROWS)
		return "row count out of range";
	switch (in->kind)
	{
		case ZS_KIND_INT:
			if (in->width != 1 && in->width != 2 && in->width != 4 && in->width != 8)
				return "integer width out of range";
			return in->ints != NULL ? NULL : "values are missing";
		case ZS_KIND_FLOAT4:
		case ZS_KIND_FLOAT8:
			return in->ints != NULL ? NULL : "values are missing";
		case ZS_KIND_FIXED:
			if (in->width < 1 || in->width > 32767)
				return "value width out of range";
			if (in->align != 1 && in->align != 2 && in->align != 4 && in->align != 8)
				return "alignment out of range";
			if (in->isext != NULL)
				return "fixed-length values cannot be overflow pointers";
			break;
		case ZS_KIND_NUMERIC:
			if (in->ints != NULL)
				return in->isext != NULL ? "integers cannot be overflow pointers" :
					in->scale < 0 || in->scale > ZS_NUMERIC_SCALE_MAX ? "scale out of range" : NULL;
			break;
		case ZS_KIND_BYTES:
			break;
		default:
			return "unknown kind of values";
	}
	return in->bytes != NULL && in->offsets != NULL ? NULL : "values are missing";
}

/* Encodes all vectors into ZS_BUF_VECTORS. */
static const char *
encode_vectors(ZsSegmentEncoder *se)
{
	ZsCodecBuf *all = &se->enc->bufs[ZS_BUF_VECTORS];
	const char *err;

	all->len = 0;
	for (uint32 v = 0; v < se->nvectors; v++)
	{
		const uint8 *bytes;

		if ((err = zscodec_rows_gather(se, v, ZS_VECTOR_ROWS)) != NULL ||
			(err = zscodec_vector_encode(se, v, &bytes)) != NULL)
			return err;
		if (!zscodec_buf_append(all, bytes, se->vectors[v].len))
			return ZS_ERR_MEMORY;
	}
	return NULL;
}

/* The shared area that the vectors really refer to. */
static const char *
write_shared(ZsSegmentEncoder *se, const uint8 **area, size_t *area_len)
{
	ZsSharedParts parts = {0};
	bool		needed = false;

	for (uint32 v = 0; v < se->nvectors; v++)
		needed = needed || se->vectors[v].needs_shared;
	if (needed)
	{
		parts.dict = se->use_dict ? &se->dict : NULL;
		parts.coded = se->use_dict && zscodec_mode_coded(se->mode);
		parts.limit = se->by_ref ? se->in->bytes + se->in->offsets[se->in->nrows] : NULL;
		parts.symbols = se->symbols;
		parts.words = se->words;
		parts.prefix = se->prefix;
		parts.prefix_len = se->prefix_len;
	}
	return zscodec_shared_write(se->enc, se->options, &parts, area, area_len);
}

/* Bounds of the segment, null count, bytes of a zone map offset. */
static void
summarise(const ZsSegmentEncoder *se, ZsSegmentInfo *info, uint32 *zone_width)
{
	uint64		largest = 0;

	info->zone_min = PG_INT64_MAX;
	info->zone_max = PG_INT64_MIN;
	info->has_zone = true;
	for (uint32 v = 0; v < se->nvectors; v++)
	{
		const ZsVectorInfo *vi = &se->vectors[v];

		info->nnulls += vi->nnulls;
		if (vi->has_zone)
		{
			info->zone_min = Min(info->zone_min, vi->zone_min);
			info->zone_max = Max(info->zone_max, vi->zone_max);
		}
		else if (vi->nnulls < vi->nrows)
			info->has_zone = false;
	}
	*zone_width = 0;
	if (info->zone_min > info->zone_max)
		info->has_zone = false;
	else if (se->nvectors > 1)
	{
		largest = (uint64) info->zone_max - (uint64) info->zone_min;
		*zone_width = largest == 0 ? 0 : largest <= 0xFF ? 1 : largest <= 0xFFFF ? 2 :
			largest <= 0xFFFFFFFF ? 4 : 8;
	}
}

/*
 * Writes header, directory and zone maps.  The header has bounds whenever a vector has a zone map,
 * even if they do not cover the vectors without one; the flag at the vectors tells a reader.
 */
static size_t
write_head(const ZsSegmentEncoder *se, const ZsSegmentInfo *info, uint32 zone_width,
		   size_t shared_len, uint64 payload_len, uint8 *out)
{
	const ZsColumnInput *in = se->in;
	bool		bounds = info->zone_min <= info->zone_max;
	uint64		raw_size = se->by_ref ? in->offsets[in->nrows] - in->offsets[0] :
		in->kind == ZS_KIND_NUMERIC ?
		Min(in->raw_bytes, (uint64) (in->nrows - info->nnulls) * ZS_NUMERIC_PAYLOAD_MAX) :
		(uint64) (in->nrows - info->nnulls) *
		(in->kind == ZS_KIND_INT ? in->width : in->kind == ZS_KIND_FLOAT4 ? 4 : 8);
	uint8	   *p = out;

	p[0] = ZS_SEGMENT_MAGIC;
	p[1] = shared_len > 0 && se->use_dict &&
		(se->dict.n > ZS_DICT_SMALL_ENTRIES || zscodec_mode_coded(se->mode)) ? 2 : 1;
	p[2] = (uint8) (in->kind | (in->kind == ZS_KIND_INT &&
								in->is_unsigned ? ZS_HEADER_UNSIGNED : 0));
	p[3] = (uint8) ((in->kind == ZS_KIND_FIXED ? in->align : 1) |
					(bounds ? ZS_HEADER_HAS_BOUNDS : 0));
	store16(p + 4, (uint16) (in->kind == ZS_KIND_INT || in->kind == ZS_KIND_FIXED ? in->width : 0));
	p[6] = (uint8) zone_width;
	p[7] = (uint8) se->nvectors;
	store32(p + 8, in->nrows);
	store32(p + 12, info->nnulls);
	store32(p + 16, (uint32) shared_len);
	store64(p + 20, raw_size);
	store32(p + 28, (uint32) payload_len);
	p += ZS_HEADER_SIZE;
	if (bounds)
	{
		store64(p, (uint64) info->zone_min);
		store64(p + 8, (uint64) info->zone_max);
		p += ZS_HEADER_BOUNDS_SIZE;
	}
	for (uint32 v = 0; v < se->nvectors; v++)
	{
		const ZsVectorInfo *vi = &se->vectors[v];
		ZsDirEntry	entry = {
			vi->len,
			(uint16) (vi->nnulls | (vi->has_ext ? ZS_DIR_HAS_EXT : 0) |
					  (vi->has_zone ? ZS_DIR_HAS_ZONE : 0) |
					  (vi->needs_shared ? ZS_DIR_NEEDS_SHARED : 0)),
			vi->encoding,
			vi->compression
		};

		memcpy(p, &entry, sizeof(entry));
		p += sizeof(entry);
	}
	for (int pass = 0; pass < 2; pass++)
	{
		for (uint32 v = 0; v < se->nvectors; v++)
		{
			const ZsVectorInfo *vi = &se->vectors[v];
			uint64		offset = !vi->has_zone ? 0 :
				(uint64) (pass == 0 ? vi->zone_min : vi->zone_max) - (uint64) info->zone_min;

			Assert(zone_width == 8 || offset >> (8 * zone_width) == 0 || se->nvectors == 1);
			memcpy(p, &offset, zone_width);
			p += zone_width;
		}
	}
	return (size_t) (p - out);
}

/* Head, shared area and vectors, one after the other. */
static const char *
assemble(const ZsSegmentEncoder *se, const uint8 *area, size_t area_len, ZsCodecBuf *out)
{
	const ZsCodecBuf *all = &se->enc->bufs[ZS_BUF_VECTORS];
	ZsSegmentInfo info = {0};
	uint32		zone_width;
	uint64		payload_len;

	summarise(se, &info, &zone_width);
	payload_len = ZS_HEADER_SIZE + (info.zone_min <= info.zone_max ? ZS_HEADER_BOUNDS_SIZE : 0) +
		(uint64) se->nvectors * (ZS_DIR_ENTRY_SIZE + 2 * zone_width) + area_len + all->len;
	if (payload_len > 0xFFFFFFFF)
		return "segment exceeds 4 GB";
	if (!zscodec_buf_reserve(out, (size_t) payload_len))
		return ZS_ERR_MEMORY;
	out->len = write_head(se, &info, zone_width, area_len, payload_len, out->data);
	Assert(out->len <= ZS_SEGMENT_HEAD_MAX);
	if (area_len > 0)
		memcpy(out->data + out->len, area, area_len);
	if (all->len > 0)
		memcpy(out->data + out->len + area_len, all->data, all->len);
	Assert(out->len + area_len + all->len == payload_len);
	out->len = (size_t) payload_len;
	return NULL;
}

/*
 * Encodes a segment; out->len is reset first.  The caller lays out->data[0 .. out->len) over its
 * pages.
 */
const char *
zscodec_segment_encode(ZsEncoder *enc, const ZsColumnInput *input, const ZsEncodeOptions *options,
					   ZsCodecBuf *out)
{
	ZsSegmentEncoder se;
	const uint8 *area = NULL;
	size_t		area_len = 0;
	const char *err;

	out->len = 0;
	if ((err = check_input(input)) != NULL)
		return err;
	memset(&se, 0, offsetof(ZsSegmentEncoder, rows));
	se.enc = enc;
	se.in = input;
	se.options = options;
	se.by_ref = input->kind >= ZS_KIND_NUMERIC && input->ints == NULL;
	se.nvectors = (input->nrows + ZS_VECTOR_ROWS - 1) / ZS_VECTOR_ROWS;
	zscodec_compress_begin(enc);
	if (!input->continues)
	{
		enc->last_mode = -1;
		enc->has_words = false;
	}
	if ((err = zscodec_segment_choose(&se)) != NULL ||
		(err = encode_vectors(&se)) != NULL ||
		(err = write_shared(&se, &area, &area_len)) != NULL)
		return err;
	if (se.use_dict && input->kind < ZS_KIND_FIXED && area_len > 0 &&
		se.dict_saved + (input->kind == ZS_KIND_NUMERIC ? se.native_total / 32 : 0) < area_len)
	{
		se.use_dict = false;
		if ((err = encode_vectors(&se)) != NULL ||
			(err = write_shared(&se, &area, &area_len)) != NULL)
			return err;
	}
	return assemble(&se, area, area_len, out);
}

/* No payload of this input is longer than this (what zscodec_segment_encode() may grow out to). */
size_t
zscodec_segment_max_size(const ZsColumnInput *input)
{
	size_t		nvectors = (input->nrows + ZS_VECTOR_ROWS - 1) / ZS_VECTOR_ROWS;
	size_t		bytes = input->kind >= ZS_KIND_NUMERIC && input->ints == NULL ?
		(size_t) (input->offsets[input->nrows] - input->offsets[0]) : 0;

	/*
	 * Plain bytes or whole integers, lengths or exceptions, position sets; a shared area that paid
	 * for itself.
	 */
	return ZS_SEGMENT_HEAD_MAX + 2 * bytes +
		nvectors * (4 * ZS_INTS_SIZE_MAX(ZS_VECTOR_ROWS) + 4 * ZS_POSSET_SIZE_MAX(ZS_VECTOR_ROWS)) +
		ZS_DICT_CODED_BYTES / 4 + ZS_PREFIX_MAX + ZS_FSST_TABLE_SIZE_MAX + ZS_WORDS_TABLE_SIZE_MAX;
}
