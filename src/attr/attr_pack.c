/*-------------------------------------------------------------------------
 *
 * attr_pack.c
 *	  Compression of overflow values.
 *
 * A value is compressed in chunks of 1 MB, each on its own:
 *
 *		u32 length, top bit: stored as it is; so many bytes; next chunk ...
 *
 * Chunks keep large values interruptible and bound what reading one takes
 * beside the value itself.  LZ4 looks back 64 kB, so it loses nothing by them.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_pack.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <lz4.h>
#include <lz4hc.h>
#include <zstd.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "attr_internal.h"

/* Bytes after which compression that saves too little is given up. */
#define TRY_SIZE			(4 * (Size) ZS_OVERFLOW_CHUNK)

/* What size bytes have to shrink to: a sixteenth less. */
#define TARGET_SIZE(size)	((size) - (size) / 16)

/*
 * Compresses one chunk; returns its length, or 0 when that does not fit in
 * dst_size.
 */
static uint32
compress_chunk(ZsCompression compression, int level, const char *src, Size len,
			   char *dst, Size dst_size)
{
	Size		result;

	if (compression == ZS_COMPRESSION_LZ4)
	{
		if (level > 1)
			return (uint32) LZ4_compress_HC(src, dst, (int) len, (int) dst_size, level);
		return (uint32) LZ4_compress_default(src, dst, (int) len, (int) dst_size);
	}
	result = ZSTD_compress(dst, dst_size, src, len, level != 0 ? level : ZSTD_CLEVEL_DEFAULT);
	return ZSTD_isError(result) ? 0 : (uint32) result;
}

/*
 * Packs one chunk, header included, to dst, which has room for room bytes.
 * Returns the bytes written, 0 when they do not fit.
 */
static Size
pack_chunk(ZsCompression compression, int level, const char *src, Size len,
		   char *dst, Size room)
{
	uint32		header;

	if (room <= ZS_OVERFLOW_CHUNK_HEADER)
		return 0;
	room -= ZS_OVERFLOW_CHUNK_HEADER;
	header = compress_chunk(compression, level, src, len, dst + ZS_OVERFLOW_CHUNK_HEADER,
							Min(room, len - 1));
	if (header == 0)
	{
		if (len > room)
			return 0;
		memcpy(dst + ZS_OVERFLOW_CHUNK_HEADER, src, len);
		header = (uint32) len | ZS_OVERFLOW_CHUNK_PLAIN;
	}
	memcpy(dst, &header, ZS_OVERFLOW_CHUNK_HEADER);
	return ZS_OVERFLOW_CHUNK_HEADER + (header & ~ZS_OVERFLOW_CHUNK_PLAIN);
}

/*
 * Compresses a value, palloc'd in the current context; NULL when that saves
 * too little.
 */
char *
zsattr_overflow_pack(const char *data, Size size, ZsCompression compression, int level,
					 Size *packed_size)
{
	Size		target = TARGET_SIZE(size);
	Size		used = 0;
	char	   *packed;

	Assert(compression != ZS_COMPRESSION_NONE);

	packed = MemoryContextAllocHuge(CurrentMemoryContext, target);
	for (Size done = 0; done < size;)
	{
		Size		len = Min(size - done, (Size) ZS_OVERFLOW_CHUNK);
		Size		written;

		CHECK_FOR_INTERRUPTS();
		written = pack_chunk(compression, level, data + done, len, packed + used, target - used);
		used += written;
		done += len;
		if (written == 0 || (done == TRY_SIZE && used > TARGET_SIZE(done)))
		{
			pfree(packed);
			return NULL;
		}
	}
	*packed_size = used;
	return packed;
}

/*
 * Decompresses one chunk of len bytes to exactly size bytes; compression is
 * ZS_OVERFLOW_*.  NULL or what is wrong.
 */
const char *
zsattr_overflow_unpack_chunk(uint32 compression, const char *src, Size len, char *dst, Size size)
{
	if (compression == ZS_OVERFLOW_LZ4)
	{
		if (LZ4_decompress_safe(src, dst, (int) len, (int) size) != (int) size)
			return "LZ4 data is broken";
	}
	else if (ZSTD_decompress(dst, size, src, len) != size)
		return "zstd data is broken";
	return NULL;
}
