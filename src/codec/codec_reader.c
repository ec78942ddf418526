/*-------------------------------------------------------------------------
 *
 * codec_reader.c
 *	  Reading the head of a segment.
 *
 * Everything later decoding relies on is checked here once: counts, flags, known encodings, lengths
 * that add up to the payload.  What depends on a vector's bytes is checked when these are decoded.
 *
 * Invariants of an opened ZsSegmentInfo:
 *
 *	1. 1 <= nrows <= ZS_SEGMENT_ROWS, nvectors = ceil(nrows / ZS_VECTOR_ROWS), all vectors but the
 *	last are full.
 *	2. head, shared area and vectors follow each other without gaps and end at stored_size.
 *	3. A vector has encoding ALLNULL if and only if all its rows are null; then its length is 0.
 *	4. nnulls is the sum of the vectors' null counts.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_reader.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_ops.h"

/* The name that users see; "unknown" for a number that is none. */
const char *
zscodec_encoding_name(ZsEncoding encoding)
{
	return (unsigned) encoding < ZS_ENC_COUNT ? zscodec_encoding_ops[encoding].name : "unknown";
}

/* The name that users see; "unknown" for a number that is none. */
const char *
zscodec_compression_name(ZsCompression compression)
{
	switch (compression)
	{
		case ZS_COMPRESSION_NONE:
			return "none";
		case ZS_COMPRESSION_LZ4:
			return "lz4";
		case ZS_COMPRESSION_ZSTD:
			return "zstd";
	}
	return "unknown";
}

/* Kind, width and alignment. */
static const char *
read_type(const uint8 *head, ZsSegmentInfo *info)
{
	info->kind = (ZsValueKind) (head[2] & ~ZS_HEADER_UNSIGNED);
	info->is_unsigned = (head[2] & ZS_HEADER_UNSIGNED) != 0;
	info->align = head[3] & ~ZS_HEADER_HAS_BOUNDS;
	info->width = load16(head + 4);
	if (info->kind <= ZS_KIND_INVALID || info->kind > ZS_KIND_BYTES)
		return "unknown kind of values";
	if (info->is_unsigned && info->kind != ZS_KIND_INT)
		return "unknown kind of values";
	if (info->align != 1 && info->align != 2 && info->align != 4 && info->align != 8)
		return "alignment out of range";
	if (info->kind == ZS_KIND_INT ?
		info->width != 1 && info->width != 2 && info->width != 4 && info->width != 8 :
		info->kind == ZS_KIND_FIXED ? info->width < 1 || info->width > 32767 : info->width != 0)
		return "value width out of range";
	return NULL;
}

/* One directory entry; off is where the vector begins. */
static const char *
read_entry(const uint8 *p, uint32 vecno, uint64 off, ZsSegmentInfo *info)
{
	ZsVectorInfo *vi = &info->vectors[vecno];
	ZsDirEntry	entry;

	memcpy(&entry, p, sizeof(entry));
	if (entry.nulls_flags & ~ZS_DIR_KNOWN_FLAGS)
		return "vector has unknown flags";
	vi->off = (uint32) off;
	vi->len = entry.len;
	vi->nrows = (uint16) Min(info->nrows - vecno * ZS_VECTOR_ROWS, ZS_VECTOR_ROWS);
	vi->nnulls = entry.nulls_flags & ZS_DIR_NULLS_MASK;
	vi->has_ext = (entry.nulls_flags & ZS_DIR_HAS_EXT) != 0;
	vi->has_zone = (entry.nulls_flags & ZS_DIR_HAS_ZONE) != 0;
	vi->needs_shared = (entry.nulls_flags & ZS_DIR_NEEDS_SHARED) != 0;
	vi->encoding = entry.encoding;
	vi->compression = entry.compression;
	if (vi->nnulls > vi->nrows)
		return "vector has more nulls than rows";
	if (!zscodec_encoding_fits(info->kind, vi->encoding))
		return "vector has an unknown or unfitting encoding";
	if (vi->compression > ZS_COMPRESSION_ZSTD)
		return "compression method is unknown";
	if ((vi->encoding == ZS_ENC_ALLNULL) != (vi->nnulls == vi->nrows))
		return "vector's null count does not fit its encoding";
	if (vi->encoding == ZS_ENC_ALLNULL &&
		(vi->len != 0 || vi->has_zone || vi->has_ext || vi->needs_shared))
		return "vector without values has contents";
	if (vi->has_ext && info->kind != ZS_KIND_NUMERIC && info->kind != ZS_KIND_BYTES)
		return "vector has overflow pointers of a by-value type";
	if (vi->needs_shared && info->shared_len == 0)
		return "shared area is missing";
	return NULL;
}

/* Zone maps of the vectors; the segment has one when all vectors with values do. */
static const char *
read_zones(const uint8 *p, uint32 width, bool bounds, ZsSegmentInfo *info)
{
	info->has_zone = bounds;
	for (uint32 v = 0; v < info->nvectors; v++)
	{
		ZsVectorInfo *vi = &info->vectors[v];
		uint64		min = 0;
		uint64		max = 0;

		if (!vi->has_zone)
		{
			if (vi->encoding != ZS_ENC_ALLNULL)
				info->has_zone = false;
			continue;
		}
		if (!bounds)
			return "vector has a zone map but its segment has no bounds";
		memcpy(&min, p + v * width, width);
		memcpy(&max, p + (info->nvectors + v) * width, width);
		vi->zone_min = (int64) ((uint64) info->zone_min + min);
		vi->zone_max = info->nvectors == 1 ? info->zone_max :
			(int64) ((uint64) info->zone_min + max);
		if (vi->zone_min < info->zone_min || vi->zone_max > info->zone_max ||
			vi->zone_min > vi->zone_max)
			return "zone map out of bounds";
	}
	return NULL;
}

/* Directory and zone maps at p. */
static const char *
read_directory(const uint8 *p, uint32 zone_width, bool bounds, ZsSegmentInfo *info)
{
	uint64		off = (uint64) info->shared_off + info->shared_len;
	uint32		nnulls = 0;
	const char *err;

	for (uint32 v = 0; v < info->nvectors; v++)
	{
		if (off > info->stored_size)
			return "vectors exceed the segment";
		if ((err = read_entry(p + v * ZS_DIR_ENTRY_SIZE, v, off, info)) != NULL)
			return err;
		off += info->vectors[v].len;
		nnulls += info->vectors[v].nnulls;
		info->has_ext = info->has_ext || info->vectors[v].has_ext;
	}
	if (off != info->stored_size)
		return "vectors do not fill the segment";
	if (nnulls != info->nnulls)
		return "null counts do not add up";
	return read_zones(p + info->nvectors * ZS_DIR_ENTRY_SIZE, zone_width, bounds, info);
}

/* The version of a head that begins like a segment's; 0: it does not. */
int
zscodec_segment_version(const uint8 *head, size_t len)
{
	return len >= ZS_HEADER_SIZE && head[0] == ZS_SEGMENT_MAGIC ? head[1] : 0;
}

/*
 * Parses and checks header and directory.  len: bytes at hand, at most ZS_SEGMENT_HEAD_MAX are
 * looked at.
 */
const char *
zscodec_segment_open(const uint8 *head, size_t len, ZsSegmentInfo *info)
{
	const char *err;
	uint32		zone_width;
	bool		bounds;
	const uint8 *p;

	memset(info, 0, sizeof(*info));
	len = Min(len, ZS_SEGMENT_HEAD_MAX);
	if (len < ZS_HEADER_SIZE)
		return "segment header is cut off";
	if (head[0] != ZS_SEGMENT_MAGIC)
		return "segment header has the wrong magic";
	if (head[1] < ZS_CODEC_VERSION_MIN || head[1] > ZS_CODEC_VERSION_MAX)
		return "segment has a format version that this build does not know";
	if ((err = read_type(head, info)) != NULL)
		return err;
	bounds = (head[3] & ZS_HEADER_HAS_BOUNDS) != 0;
	zone_width = head[6];
	info->nvectors = head[7];
	info->nrows = load32(head + 8);
	info->nnulls = load32(head + 12);
	info->shared_len = load32(head + 16);
	info->raw_size = load64(head + 20);
	info->stored_size = load32(head + 28);
	if (info->nrows < 1 || info->nrows > ZS_SEGMENT_ROWS ||
		info->nvectors != (info->nrows + ZS_VECTOR_ROWS - 1) / ZS_VECTOR_ROWS)
		return "row count out of range";
	if (zone_width != 0 && zone_width != 1 && zone_width != 2 && zone_width != 4 && zone_width != 8)
		return "zone map width out of range";
	if (info->raw_size > info->nvectors * ZS_VECTOR_RAW_MAX)
		return "raw size out of range";
	info->head_len = ZS_HEADER_SIZE + (bounds ? ZS_HEADER_BOUNDS_SIZE : 0) +
		info->nvectors * (ZS_DIR_ENTRY_SIZE + 2 * zone_width);
	info->shared_off = info->head_len;
	if (len < info->head_len)
		return "vector directory is cut off";
	p = head + ZS_HEADER_SIZE;
	if (bounds)
	{
		info->zone_min = (int64) load64(p);
		info->zone_max = (int64) load64(p + 8);
		if (info->zone_min > info->zone_max)
			return "zone map out of bounds";
		p += ZS_HEADER_BOUNDS_SIZE;
	}
	return read_directory(p, zone_width, bounds, info);
}
