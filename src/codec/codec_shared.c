/*-------------------------------------------------------------------------
 *
 * codec_shared.c
 *	  The area that the vectors of a segment share: writing and opening it.
 *
 * It holds at most these, in this order: the dictionary, the FSST symbol table, the words, the
 * compression prefix.  The body is compressed as a whole if that helps; dictionary entries that
 * begin alike then cost little.  Opening it forms the dictionary's values once as vectors hand them
 * out, so that decoding a dictionary vector copies addresses and nothing else.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_shared.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_compress.h"
#include "codec_dict.h"

/* No area of ours is longer: dictionary with its lengths, symbol table, prefix. */
#define BODY_SIZE_MAX \
	(ZS_DICT_CODED_SIZE_MAX + ZS_DICT_ENTRIES_MAX * 16 + ZS_FSST_TABLE_SIZE_MAX + \
	 ZS_WORDS_TABLE_SIZE_MAX + ZS_PREFIX_MAX + 65536)

/* Compression below this saves nothing. */
#define MIN_COMPRESS_SIZE	64

/*
 * Writes the area; *area points into the encoder's memory and lasts until the next segment.
 * Nothing to share: *area_len = 0.
 */
const char *
zscodec_shared_write(ZsEncoder *enc, const ZsEncodeOptions *options, const ZsSharedParts *parts,
					 const uint8 **area, size_t *area_len)
{
	ZsCodecBuf *body = &enc->bufs[ZS_BUF_SHARED];
	ZsCodecBuf *packed = &enc->bufs[ZS_BUF_PACKED];
	const char *err;
	uint8		flags = 0;
	uint8		compression = ZS_COMPRESSION_NONE;
	size_t		body_len;
	size_t		size = 0;

	*area_len = 0;
	body->len = 0;
	packed->len = 0;
	if (parts->dict == NULL && parts->symbols == NULL && parts->words == NULL &&
		parts->prefix_len == 0)
		return NULL;
	if (!zscodec_buf_reserve(body, ZS_SHARED_HEADER_SIZE + ZS_FSST_TABLE_SIZE_MAX + 4 +
							 parts->prefix_len))
		return ZS_ERR_MEMORY;
	body->len = ZS_SHARED_HEADER_SIZE;
	if (parts->dict != NULL && !parts->coded)
	{
		flags |= ZS_SHARED_HAS_DICT;
		if ((err = zscodec_dict_write(parts->dict, body)) != NULL)
			return err;
	}
	if (parts->symbols != NULL)
	{
		flags |= ZS_SHARED_HAS_SYMBOLS;
		if (!zscodec_buf_reserve(body, body->len + ZS_FSST_TABLE_SIZE_MAX))
			return ZS_ERR_MEMORY;
		body->len += zscodec_fsst_write(parts->symbols, body->data + body->len);
	}
	if (parts->words != NULL)
	{
		flags |= ZS_SHARED_HAS_WORDS;
		if (!zscodec_buf_reserve(body, body->len + ZS_WORDS_TABLE_SIZE_MAX + ZS_SLACK))
			return ZS_ERR_MEMORY;
		body->len += zscodec_words_write(parts->words, body->data + body->len);
	}
	if (parts->dict != NULL && parts->coded)
	{
		flags |= ZS_SHARED_HAS_CODED;
		if ((err = zscodec_dict_write_coded(parts->dict, parts->words, parts->limit, body)) != NULL)
			return err;
	}
	if (parts->prefix_len > 0)
	{
		uint32		prefix_len = (uint32) parts->prefix_len;

		flags |= ZS_SHARED_HAS_PREFIX;
		if (!zscodec_buf_append(body, &prefix_len, sizeof(prefix_len)) ||
			!zscodec_buf_append(body, parts->prefix, parts->prefix_len))
			return ZS_ERR_MEMORY;
	}

	body_len = body->len - ZS_SHARED_HEADER_SIZE;
	Assert(body_len <= BODY_SIZE_MAX);
	if (body_len >= MIN_COMPRESS_SIZE && !parts->coded && zscodec_buf_reserve(packed, body->len))
		size = zscodec_compress(enc, options, body->data + ZS_SHARED_HEADER_SIZE, body_len, NULL, 0,
								packed->data + ZS_SHARED_HEADER_SIZE, body_len - body_len / 32);
	if (size > 0)
	{
		compression = (uint8) options->compression;
		memcpy(body->data + ZS_SHARED_HEADER_SIZE, packed->data + ZS_SHARED_HEADER_SIZE, size);
	}
	else
		size = body_len;
	body->data[0] = flags;
	body->data[1] = compression;
	store32(body->data + 2, (uint32) body_len);
	*area = body->data;
	*area_len = ZS_SHARED_HEADER_SIZE + size;
	return NULL;
}

/* Dictionary lengths and what they add up to; fixed-length values must all have their width. */
static const char *
check_dict_lens(const ZsSegmentInfo *info, const ZsReader *r, const uint64 *lens, uint32 n)
{
	uint64		left = reader_left(r);

	for (uint32 i = 0; i < n; i++)
	{
		if (lens[i] > left)
			return "dictionary entry is too long";
		if (info->kind == ZS_KIND_FIXED && lens[i] != info->width)
			return "dictionary entry has the wrong length";
		left -= lens[i];
	}
	return NULL;
}

/* Reads the dictionary into values[], whose by-reference entries are formed at *arena. */
static const char *
open_dict(const ZsSegmentInfo *info, ZsReader *r, ZsSharedState *shared, uint64 *values,
		  uint8 *arena)
{
	const char *err;
	uint32		n = shared->ndict;

	for (uint32 start = 0; start < n; start += ZS_VECTOR_ROWS)
	{
		if ((err = zscodec_ints_decode(r, Min(n - start, ZS_VECTOR_ROWS), values + start)) != NULL)
			return err;
	}
	if (info->kind < ZS_KIND_NUMERIC)
		return NULL;
	if ((err = check_dict_lens(info, r, values, n)) != NULL)
		return err;
	for (uint32 i = 0; i < n; i++)
	{
		uint64		len = values[i];
		uint8	   *data;

		if (info->kind == ZS_KIND_FIXED)
		{
			data = (uint8 *) (((uintptr_t) arena + info->align - 1) & ~(uintptr_t) (info->align -
																					1));
			values[i] = (uint64) (uintptr_t) data;
		}
		else
			values[i] = zscodec_varlena_start(&arena, len, &data);
		Assert(len <= reader_left(r));
		memcpy(data, r->p, len);
		r->p += len;
		arena = data + len;
	}
	return NULL;
}

/* The symbol table and the words, in this order. */
static const char *
open_tables(ZsReader *r, int flags, ZsSharedState *shared, uint64 *symbols, uint8 *symbol_lens,
			ZsWordReader *words)
{
	const char *err;

	if (flags & ZS_SHARED_HAS_SYMBOLS)
	{
		if ((err = zscodec_fsst_read(r, symbols, symbol_lens, &shared->nsymbols)) != NULL)
			return err;
		shared->symbols = symbols;
		shared->symbol_lens = symbol_lens;
	}
	if (flags & ZS_SHARED_HAS_WORDS)
	{
		if ((err = zscodec_words_read(r, words)) != NULL)
			return err;
		shared->words = words;
	}
	return NULL;
}

/* The prefix, which is to stay where it is. */
static const char *
open_prefix(ZsReader *r, ZsSharedState *shared)
{
	if (reader_left(r) < 4)
		return ZS_ERR_SHORT;
	shared->prefix_len = load32(r->p);
	r->p += 4;
	if (shared->prefix_len > ZS_PREFIX_MAX)
		return "compression prefix is too long";
	if (reader_left(r) < shared->prefix_len)
		return ZS_ERR_SHORT;
	shared->prefix = r->p;
	r->p += shared->prefix_len;
	return NULL;
}

/* Entries of the dictionary at p. */
static const char *
read_count(const ZsSegmentInfo *info, const ZsReader *r, ZsSharedState *shared)
{
	if (reader_left(r) < 5)
		return ZS_ERR_SHORT;
	shared->ndict = load32(r->p + 1);
	return shared->ndict >= 1 && shared->ndict <= Min((uint32) ZS_DICT_ENTRIES_MAX, info->nrows) ?
		NULL :
		"dictionary has an impossible number of entries";
}

/* Memory that is given back by zscodec_shared_free(). */
static uint8 *
take(ZsSharedState *shared, size_t size)
{
	uint8	   *mem = shared->alloc.alloc(shared->alloc.ctx, size);

	if (mem != NULL)
		shared->mem_size += (uint32) size;
	return mem;
}

/* Where the words begin in memory that has ZS_WORDS_ALIGN bytes more than they take. */
static ZsWordReader *
align_words(uint8 *mem)
{
	uintptr_t	at = (uintptr_t) mem + ZS_WORDS_ALIGN - 1;

	return (ZsWordReader *) (at - at % ZS_WORDS_ALIGN);
}

/*
 * Opens the parts at the reader.  Memory: symbols 256 * 8 | symbol lengths 256 | words | dictionary
 * values | formed entries; a coded dictionary has its own.
 */
static const char *
open_parts(const ZsSegmentInfo *info, ZsReader *r, int flags, ZsSharedState *shared)
{
	size_t		words_off = 256 * sizeof(uint64) + 256;
	size_t		values_off = words_off +
		((flags & ZS_SHARED_HAS_WORDS) ?
		 ((sizeof(ZsWordReader) + 7) & ~(size_t) 7) + ZS_WORDS_ALIGN : 0);
	size_t		size = values_off;
	const char *err;

	if (flags & ZS_SHARED_HAS_DICT)
	{
		if ((err = read_count(info, r, shared)) != NULL)
			return err;
		size += shared->ndict * sizeof(uint64);
		if (info->kind >= ZS_KIND_NUMERIC)
			size += shared->ndict * (size_t) (info->kind == ZS_KIND_FIXED ? info->align :
											  ZS_VARLENA_OVERHEAD) + reader_left(r);
	}
	if ((shared->mem = take(shared, size)) == NULL)
		return ZS_ERR_MEMORY;
	if (flags & ZS_SHARED_HAS_DICT)
	{
		uint64	   *values = (uint64 *) (shared->mem + values_off);

		shared->dict_sorted = r->p[0] != 0;
		r->p += 5;
		if ((err = open_dict(info, r, shared, values, (uint8 *) (values + shared->ndict))) != NULL)
			return err;
		shared->dict_values = values;
	}
	if ((err = open_tables(r, flags, shared, (uint64 *) shared->mem,
						   shared->mem + 256 * sizeof(uint64),
						   align_words(shared->mem + words_off))) != NULL)
		return err;
	if (flags & ZS_SHARED_HAS_CODED)
	{
		if ((err = read_count(info, r, shared)) != NULL)
			return err;
		shared->coded = (ZsCodedDict *) take(shared, zscodec_dict_coded_size(shared->ndict));
		if (shared->coded == NULL)
			return ZS_ERR_MEMORY;
		if ((err = zscodec_dict_open_coded(r, shared)) != NULL)
			return err;
		shared->dict_values = shared->coded->values;
	}
	if ((flags & ZS_SHARED_HAS_PREFIX) && (err = open_prefix(r, shared)) != NULL)
		return err;
	Assert(r->p <= r->end);
	return reader_left(r) == 0 ? NULL : "shared area has trailing bytes";
}

static const char *
open_area(const ZsSegmentInfo *info, const uint8 *bytes, size_t len, ZsSharedState *shared)
{
	const char *err;
	int			flags;
	int			compression;
	size_t		body_len;
	bool		keep;
	ZsReader	r;

	if (len < ZS_SHARED_HEADER_SIZE)
		return ZS_ERR_SHORT;
	flags = bytes[0];
	compression = bytes[1];
	body_len = load32(bytes + 2);
	if (flags == 0 || flags > ZS_SHARED_KNOWN_FLAGS)
		return "shared area has unknown parts";
	if ((flags & ZS_SHARED_HAS_CODED) &&
		((flags & ZS_SHARED_HAS_DICT) || !(flags & ZS_SHARED_HAS_WORDS) ||
		 info->kind != ZS_KIND_BYTES))
		return "shared area has parts that do not fit";
	if (body_len < 5 || body_len > BODY_SIZE_MAX)
		return "shared area has an impossible length";
	bytes += ZS_SHARED_HEADER_SIZE;
	len -= ZS_SHARED_HEADER_SIZE;
	if (compression == ZS_COMPRESSION_NONE ? body_len != len :
		!zscodec_raw_len_plausible(compression, bytes, len, body_len))
		return "shared area has an impossible length";

	/* codes and prefix stay where they are */
	keep = (flags & (ZS_SHARED_HAS_CODED | ZS_SHARED_HAS_PREFIX)) != 0;
	r.p = bytes;
	if (compression != ZS_COMPRESSION_NONE || keep)
	{
		if ((shared->body = take(shared, body_len)) == NULL)
			return ZS_ERR_MEMORY;
		r.p = shared->body;
	}
	r.end = r.p + body_len;
	if (compression != ZS_COMPRESSION_NONE)
	{
		if ((err = zscodec_decompress(compression, bytes, len, NULL, 0, shared->body,
									  body_len)) != NULL)
			return err;
	}
	else if (keep)
		memcpy(shared->body, bytes, body_len);
	if ((err = open_parts(info, &r, flags, shared)) != NULL)
		return err;
	if (!keep && shared->body != NULL)
	{
		shared->alloc.free(shared->alloc.ctx, shared->body);
		shared->body = NULL;
		shared->mem_size -= (uint32) body_len;
	}
	return NULL;
}

/*
 * Parses the shared area; what shared held before is freed.  bytes need not stay valid.  Call it
 * also for shared_len 0 (or zscodec_shared_free()) when one ZsSharedState serves several segments.
 */
const char *
zscodec_shared_open(const ZsSegmentInfo *info, const uint8 *bytes, size_t len,
					ZsSharedState *shared)
{
	const char *err;

	zscodec_shared_free(shared);
	if (len != info->shared_len)
		return "shared area has the wrong length";
	if (len == 0)
		return NULL;
	err = open_area(info, bytes, len, shared);
	if (err != NULL)
		zscodec_shared_free(shared);
	return err;
}
