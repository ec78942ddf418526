/*-------------------------------------------------------------------------
 *
 * codec_uniform.c
 *	  Segments of one value.
 *
 * A column that has the same value in all rows, or none in any, is common: flags that nobody sets,
 * codes that are always 0, texts that are empty.  Each vector of such a segment takes a few bytes,
 * the same in all vectors, and what the head says follows from a few numbers.  So the caller need
 * not store the payload: from ZsUniform it is made again, byte for byte, wherever a part of it is
 * wanted.  Everything else works on a payload as always.
 *
 * Invariant: zscodec_uniform_find() says yes only of a payload that zscodec_uniform_bytes() makes.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_uniform.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_internal.h"

/* The largest head: that of a full segment with bounds; vectors have no zone maps of their own. */
#define UNIFORM_HEAD_MAX \
	(ZS_HEADER_SIZE + ZS_HEADER_BOUNDS_SIZE + ZS_SEGMENT_VECTORS * ZS_DIR_ENTRY_SIZE)

StaticAssertDecl(UNIFORM_HEAD_MAX + ZS_SEGMENT_VECTORS * ZS_UNIFORM_BODY_MAX <=
				 ZS_UNIFORM_PAYLOAD_MAX, "payload of a segment of one value fits its limit");

static uint32
count_vectors(const ZsUniform *uniform)
{
	return (uniform->nrows + ZS_VECTOR_ROWS - 1) / ZS_VECTOR_ROWS;
}

static uint32
head_size(const ZsUniform *uniform)
{
	return ZS_HEADER_SIZE + (uniform->has_zone ? ZS_HEADER_BOUNDS_SIZE : 0) +
		count_vectors(uniform) * ZS_DIR_ENTRY_SIZE;
}

/* Length of the payload of a uniform segment, in bytes; at most ZS_UNIFORM_PAYLOAD_MAX. */
uint32
zscodec_uniform_size(const ZsUniform *uniform)
{
	Assert(uniform->nrows >= 1 && uniform->nrows <= ZS_SEGMENT_ROWS);
	Assert(uniform->body_len <= ZS_UNIFORM_BODY_MAX);
	return head_size(uniform) + count_vectors(uniform) * uniform->body_len;
}

/* Writes the head as codec_segment.c does; returns its size. */
static uint32
write_head(const ZsUniform *uniform, uint8 *out)
{
	uint32		nvectors = count_vectors(uniform);
	uint8	   *p = out;

	p[0] = ZS_SEGMENT_MAGIC;
	p[1] = ZS_CODEC_VERSION_MIN;
	p[2] = (uint8) (uniform->kind | (uniform->is_unsigned ? ZS_HEADER_UNSIGNED : 0));
	p[3] = (uint8) (uniform->align | (uniform->has_zone ? ZS_HEADER_HAS_BOUNDS : 0));
	store16(p + 4, uniform->width);
	p[6] = 0;
	p[7] = (uint8) nvectors;
	store32(p + 8, uniform->nrows);
	store32(p + 12, uniform->all_null ? uniform->nrows : 0);
	store32(p + 16, 0);
	store64(p + 20, uniform->raw_size);
	store32(p + 28, zscodec_uniform_size(uniform));
	p += ZS_HEADER_SIZE;
	if (uniform->has_zone)
	{
		store64(p, (uint64) uniform->zone_min);
		store64(p + 8, (uint64) uniform->zone_max);
		p += ZS_HEADER_BOUNDS_SIZE;
	}
	for (uint32 v = 0; v < nvectors; v++)
	{
		uint32		nrows = Min(uniform->nrows - v * ZS_VECTOR_ROWS, ZS_VECTOR_ROWS);
		ZsDirEntry	entry = {
			uniform->body_len,
			(uint16) ((uniform->all_null ? nrows : 0) | (uniform->has_zone ? ZS_DIR_HAS_ZONE : 0)),
			uniform->all_null ? ZS_ENC_ALLNULL : ZS_ENC_CONST,
			ZS_COMPRESSION_NONE
		};

		memcpy(p, &entry, sizeof(entry));
		p += sizeof(entry);
	}
	Assert((uint32) (p - out) == head_size(uniform));
	return (uint32) (p - out);
}

/* Makes bytes [from, to) of the payload of a uniform segment. */
void
zscodec_uniform_bytes(const ZsUniform *uniform, uint32 from, uint32 to, uint8 *dst)
{
	uint32		head_len = head_size(uniform);

	Assert(from <= to && to <= zscodec_uniform_size(uniform));
	if (from < head_len)
	{
		uint8		head[UNIFORM_HEAD_MAX];
		uint32		len = Min(to, head_len) - from;

		(void) write_head(uniform, head);
		memcpy(dst, head + from, len);
		dst += len;
		from += len;
	}
	for (; from < to; from++)
		*dst++ = uniform->body[(from - head_len) % uniform->body_len];
}

/* Is the payload, which was opened to info, that of a uniform segment?  Sets *uniform. */
bool
zscodec_uniform_find(const uint8 *payload, const ZsSegmentInfo *info, ZsUniform *uniform)
{
	const ZsVectorInfo *first = &info->vectors[0];
	uint8		bytes[ZS_UNIFORM_PAYLOAD_MAX];

	if ((first->encoding != ZS_ENC_CONST && first->encoding != ZS_ENC_ALLNULL) ||
		first->len > ZS_UNIFORM_BODY_MAX)
		return false;
	memset(uniform, 0, sizeof(*uniform));
	uniform->kind = info->kind;
	uniform->width = info->width;
	uniform->align = info->align;
	uniform->is_unsigned = info->is_unsigned;
	uniform->has_zone = info->has_zone;
	uniform->all_null = first->encoding == ZS_ENC_ALLNULL;
	uniform->nrows = info->nrows;
	uniform->raw_size = info->raw_size;
	uniform->zone_min = info->zone_min;
	uniform->zone_max = info->zone_max;
	uniform->body_len = (uint8) first->len;
	memcpy(uniform->body, payload + first->off, first->len);
	if (zscodec_uniform_size(uniform) != info->stored_size)
		return false;
	zscodec_uniform_bytes(uniform, 0, info->stored_size, bytes);
	return memcmp(bytes, payload, info->stored_size) == 0;
}
