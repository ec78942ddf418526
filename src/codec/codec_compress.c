/*-------------------------------------------------------------------------
 *
 * codec_compress.c
 *	  LZ4 and zstd over a vector's body.
 *
 * A vector must be decodable alone, but 1024 short strings are too small a window for LZ4 or zstd
 * to learn from.  So a segment may carry a prefix, pieces of its own bytes in its shared area, and
 * each vector is compressed as if that text stood in front of it (the "dictionary" of both
 * libraries, raw content, no training).
 *
 * LZ4's state lives in the encoder's scratch memory: one that has digested the prefix and one to
 * work with, a copy of the first for each vector, because digesting costs more than copying 16 kB.
 * zstd's contexts are cached in two process-wide pointers; zstd allocates by malloc(), so they are
 * made once and never freed, and no callback runs while they are in use.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_compress.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_compress.h"

#include <lz4.h>
#include <lz4hc.h>
#include <zstd.h>

/* LZ4 cannot expand a byte to more than 255, zstd's shortest block says 128 kB. */
#define LZ4_RATIO_MAX		255
#define ZSTD_RATIO_MAX		65536

/* Default levels. */
#define ZSTD_LEVEL_DEFAULT	3

typedef struct Lz4State
{
	LZ4_stream_t digested;		/* knows the prefix */
	LZ4_stream_t work;
	const uint8 *prefix;		/* what digested knows, NULL = nothing yet */
	size_t		prefix_len;
} Lz4State;

static ZSTD_CCtx *zstd_cctx = NULL;
static ZSTD_DCtx *zstd_dctx = NULL;

/* Forgets the prefix; before every segment, since the next prefix may stand at the same address. */
void
zscodec_compress_begin(ZsEncoder *enc)
{
	ZsCodecBuf *buf = &enc->bufs[ZS_BUF_LZ4];

	if (buf->size >= sizeof(Lz4State))
		((Lz4State *) buf->data)->prefix = NULL;
	if (buf->size < sizeof(Lz4State))
		zscodec_buf_free(buf);
}

/* High compression; its state is large and only there when a level asks for it. */
static int
compress_lz4hc(ZsEncoder *enc, int level, const uint8 *src, int len, const uint8 *prefix,
			   size_t prefix_len, uint8 *dst, int dst_size)
{
	ZsCodecBuf *buf = &enc->bufs[ZS_BUF_LZ4HC];
	LZ4_streamHC_t *state;

	if (!zscodec_buf_reserve(buf, sizeof(LZ4_streamHC_t)))
		return 0;
	state = LZ4_initStreamHC(buf->data, sizeof(LZ4_streamHC_t));
	if (state == NULL)
		return 0;
	LZ4_resetStreamHC_fast(state, level);
	if (prefix_len > 0)
		LZ4_loadDictHC(state, (const char *) prefix, (int) prefix_len);
	return LZ4_compress_HC_continue(state, (const char *) src, (char *) dst, len, dst_size);
}

static int
compress_lz4(ZsEncoder *enc, const uint8 *src, int len, const uint8 *prefix, size_t prefix_len,
			 uint8 *dst, int dst_size)
{
	ZsCodecBuf *buf = &enc->bufs[ZS_BUF_LZ4];
	Lz4State   *state;

	if (buf->size < sizeof(Lz4State))
	{
		if (!zscodec_buf_reserve(buf, sizeof(Lz4State)))
			return 0;
		((Lz4State *) buf->data)->prefix = NULL;
	}
	state = (Lz4State *) buf->data;
	if (prefix_len == 0)
		return LZ4_compress_fast_extState(&state->work, (const char *) src, (char *) dst, len,
										  dst_size, 1);
	if (state->prefix != prefix || state->prefix_len != prefix_len)
	{
		if (LZ4_initStream(&state->digested, sizeof(state->digested)) == NULL)
			return 0;
		LZ4_loadDict(&state->digested, (const char *) prefix, (int) prefix_len);
		state->prefix = prefix;
		state->prefix_len = prefix_len;
	}
	memcpy(&state->work, &state->digested, sizeof(state->work));
	return LZ4_compress_fast_continue(&state->work, (const char *) src, (char *) dst, len, dst_size,
									  1);
}

/*
 * Compresses len bytes into dst; returns the compressed length, or 0 when it would exceed dst_size
 * or nothing is to be compressed.
 */
size_t
zscodec_compress(ZsEncoder *enc, const ZsEncodeOptions *options, const uint8 *src, size_t len,
				 const uint8 *prefix, size_t prefix_len, uint8 *dst, size_t dst_size)
{
	size_t		result;

	Assert(prefix_len <= ZS_PREFIX_MAX);
	if (len == 0 || len > ZS_VECTOR_RAW_MAX || dst_size == 0)
		return 0;
	if (options->compression == ZS_COMPRESSION_LZ4)
	{
		int			limit = (int) Min(dst_size, (size_t) LZ4_COMPRESSBOUND((int) len));
		int			n;

		if (options->level >= 2)
			n = compress_lz4hc(enc, options->level, src, (int) len, prefix, prefix_len, dst, limit);
		else
			n = compress_lz4(enc, src, (int) len, prefix, prefix_len, dst, limit);
		return n > 0 ? (size_t) n : 0;
	}
	if (options->compression != ZS_COMPRESSION_ZSTD)
		return 0;
	if (zstd_cctx == NULL && (zstd_cctx = ZSTD_createCCtx()) == NULL)
		return 0;
	result = ZSTD_compress_usingDict(zstd_cctx, dst, dst_size, src, len, prefix, prefix_len,
									 options->level != 0 ? options->level : ZSTD_LEVEL_DEFAULT);
	return ZSTD_isError(result) ? 0 : result;
}

/*
 * May these len compressed bytes stand for raw_len?  Guards allocations against broken lengths: LZ4
 * has a largest ratio, zstd says the length once more itself.
 */
bool
zscodec_raw_len_plausible(ZsCompression compression, const uint8 *src, size_t len, uint64 raw_len)
{
	if (raw_len < 1 || raw_len > 2 * ZS_VECTOR_RAW_MAX - 1)
		return false;
	if (compression == ZS_COMPRESSION_LZ4)
		return raw_len <= ((uint64) len + 1) * LZ4_RATIO_MAX;
	return raw_len <= ((uint64) len + 1) * ZSTD_RATIO_MAX &&
		ZSTD_getFrameContentSize(src, len) == raw_len;
}

/* Decompresses to exactly dst_len bytes. */
const char *
zscodec_decompress(ZsCompression compression, const uint8 *src, size_t len, const uint8 *prefix,
				   size_t prefix_len, uint8 *dst, size_t dst_len)
{
	if (len > ZS_VECTOR_RAW_MAX || dst_len > 2 * ZS_VECTOR_RAW_MAX - 1)
		return "compressed data is too long";
	if (compression == ZS_COMPRESSION_LZ4)
	{
		int			n = LZ4_decompress_safe_usingDict((const char *) src, (char *) dst, (int) len,
													  (int) dst_len, (const char *) prefix,
													  (int) prefix_len);

		return n >= 0 && (size_t) n == dst_len ? NULL : "LZ4 data is corrupted";
	}
	if (compression == ZS_COMPRESSION_ZSTD)
	{
		size_t		n;

		if (zstd_dctx == NULL && (zstd_dctx = ZSTD_createDCtx()) == NULL)
			return ZS_ERR_MEMORY;
		n = ZSTD_decompress_usingDict(zstd_dctx, dst, dst_len, src, len, prefix, prefix_len);
		return !ZSTD_isError(n) && n == dst_len ? NULL : "zstd data is corrupted";
	}
	return "compression method is unknown";
}

/*
 * Decompresses the first `wanted` bytes of dst_len, or all: *got says how many.  LZ4 can stop
 * there; of what follows nothing is known then.
 */
const char *
zscodec_decompress_front(ZsCompression compression, const uint8 *src, size_t len,
						 const uint8 *prefix, size_t prefix_len, uint8 *dst, size_t dst_len,
						 size_t wanted, size_t *got)
{
	int			n = -1;

	Assert(wanted <= dst_len);
	*got = dst_len;
	if (wanted == dst_len || compression != ZS_COMPRESSION_LZ4 || len > ZS_VECTOR_RAW_MAX)
		return zscodec_decompress(compression, src, len, prefix, prefix_len, dst, dst_len);
	if (prefix_len == 0)
		n = LZ4_decompress_safe_partial((const char *) src, (char *) dst, (int) len, (int) wanted,
										(int) wanted);
	else
	{
#if LZ4_VERSION_NUMBER >= 10904
		n = LZ4_decompress_safe_partial_usingDict((const char *) src, (char *) dst, (int) len,
												  (int) wanted, (int) wanted,
												  (const char *) prefix, (int) prefix_len);
#else
		return zscodec_decompress(compression, src, len, prefix, prefix_len, dst, dst_len);
#endif
	}
	*got = wanted;
	return n >= 0 && (size_t) n == wanted ? NULL : "LZ4 data is corrupted";
}
