/*-------------------------------------------------------------------------
 *
 * codec_buf.c
 *	  Growing buffers over the caller's allocator.
 *
 * Freed before the larger one is taken where the contents are not needed, so that scratch memory
 * never exists twice; pointers are cleared first, so that a callback that raises leaves nothing
 * dangling.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_buf.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_internal.h"

/* Makes buf empty; nothing is allocated yet.  alloc is copied. */
void
zscodec_buf_init(ZsCodecBuf *buf, const ZsAllocator *alloc)
{
	Assert(alloc->alloc != NULL && alloc->free != NULL);
	buf->data = NULL;
	buf->len = 0;
	buf->size = 0;
	buf->alloc = *alloc;
}

/* Gives back what buf has.  It is empty then, and may be used again. */
void
zscodec_buf_free(ZsCodecBuf *buf)
{
	uint8	   *old = buf->data;

	buf->data = NULL;
	buf->len = 0;
	buf->size = 0;
	if (old != NULL)
		buf->alloc.free(buf->alloc.ctx, old);
}

/* Makes room for at least size bytes in all, keeping the first len; false when out of memory. */
bool
zscodec_buf_reserve(ZsCodecBuf *buf, size_t size)
{
	uint8	   *data;
	size_t		newsize;

	if (size <= buf->size)
		return true;
	newsize = Max(size, buf->size + buf->size / 2);
	newsize = Max(newsize, 1024);
	if (buf->len == 0)
		zscodec_buf_free(buf);
	data = buf->alloc.alloc(buf->alloc.ctx, newsize);
	if (data == NULL)
		return false;
	if (buf->len > 0)
		memcpy(data, buf->data, buf->len);
	if (buf->data != NULL)
		buf->alloc.free(buf->alloc.ctx, buf->data);
	buf->data = data;
	buf->size = newsize;
	Assert(buf->len <= buf->size);
	return true;
}

/* Adds bytes at the end; false when out of memory. */
bool
zscodec_buf_append(ZsCodecBuf *buf, const void *bytes, size_t len)
{
	Assert(len == 0 || bytes != NULL);
	if (!zscodec_buf_reserve(buf, buf->len + len))
		return false;
	if (len > 0)
		memcpy(buf->data + buf->len, bytes, len);
	buf->len += len;
	return true;
}

/* Makes *mem at least need bytes long, contents lost when it grows; false when out of memory. */
bool
zscodec_arena_reserve(const ZsAllocator *alloc, uint8 **mem, size_t *size, size_t need)
{
	uint8	   *old = *mem;

	if (need <= *size)
		return true;
	*mem = NULL;
	*size = 0;
	if (old != NULL)
		alloc->free(alloc->ctx, old);
	need = Max(need + need / 4, 16384);
	*mem = alloc->alloc(alloc->ctx, need);
	if (*mem == NULL)
		return false;
	*size = need;
	return true;
}

/* Makes an encoder without memory and without a segment to continue.  alloc is copied. */
void
zscodec_encoder_init(ZsEncoder *enc, const ZsAllocator *alloc)
{
	Assert(alloc->alloc != NULL && alloc->free != NULL);
	enc->alloc = *alloc;
	enc->last_mode = -1;
	enc->last_total = 0;
	enc->has_words = false;
	for (int i = 0; i < ZS_ENCODER_BUFS; i++)
		zscodec_buf_init(&enc->bufs[i], alloc);
}

/* Gives back what the encoder has; may be called any number of times. */
void
zscodec_encoder_free(ZsEncoder *enc)
{
	for (int i = 0; i < ZS_ENCODER_BUFS; i++)
		zscodec_buf_free(&enc->bufs[i]);
}

/* Makes an empty state; allocates nothing.  The allocator is copied. */
void
zscodec_shared_init(ZsSharedState *shared, const ZsAllocator *alloc)
{
	memset(shared, 0, sizeof(*shared));
	shared->alloc = *alloc;
}

/* Back to empty; may be called at any time. */
void
zscodec_shared_free(ZsSharedState *shared)
{
	ZsAllocator alloc = shared->alloc;
	uint8	   *mem = shared->mem;
	uint8	   *scaled_mem = shared->scaled_mem;
	uint8	   *body = shared->body;
	struct ZsCodedDict *coded = shared->coded;
	uint8	   *arena = coded != NULL ? coded->arena : NULL;

	zscodec_shared_init(shared, &alloc);
	if (mem != NULL)
		alloc.free(alloc.ctx, mem);
	if (scaled_mem != NULL)
		alloc.free(alloc.ctx, scaled_mem);
	if (body != NULL)
		alloc.free(alloc.ctx, body);
	if (coded != NULL)
		alloc.free(alloc.ctx, coded);
	if (arena != NULL)
		alloc.free(alloc.ctx, arena);
}

/* Bytes of memory that the shared state has now; forming values and integers makes it more. */
size_t
zscodec_shared_memory(const ZsSharedState *shared)
{
	return (size_t) shared->mem_size + shared->scaled_size +
		(shared->coded != NULL && shared->coded->arena != NULL ? shared->coded->arena_size : 0);
}

/* Makes an empty vector; allocates nothing.  The allocator is copied. */
void
zscodec_vector_init(ZsVectorOut *out, const ZsAllocator *alloc)
{
	Assert(alloc->alloc != NULL && alloc->free != NULL);
	out->alloc = *alloc;
	out->nrows = 0;
	out->have = 0;
	out->has_nulls = out->has_ext = out->has_odd = false;
	out->scale = 0;
	out->arena = out->kept = NULL;
	out->arena_size = out->kept_size = 0;
	out->scratch = NULL;
	out->scratch_size = 0;
	out->body = NULL;
}

/* Lets what values[] points to stay over the next decode of values, but not over this again. */
void
zscodec_vector_keep(ZsVectorOut *out)
{
	uint8	   *arena = out->arena;
	size_t		size = out->arena_size;

	out->arena = out->kept;
	out->arena_size = out->kept_size;
	out->kept = arena;
	out->kept_size = size;
}

/* Frees the vector's memory; may be called any number of times. */
void
zscodec_vector_free(ZsVectorOut *out)
{
	uint8	   *arena = out->arena;
	uint8	   *kept = out->kept;
	uint8	   *scratch = out->scratch;

	out->arena = out->kept = NULL;
	out->arena_size = out->kept_size = 0;
	out->scratch = NULL;
	out->scratch_size = 0;
	out->nrows = 0;
	if (arena != NULL)
		out->alloc.free(out->alloc.ctx, arena);
	if (kept != NULL)
		out->alloc.free(out->alloc.ctx, kept);
	if (scratch != NULL)
		out->alloc.free(out->alloc.ctx, scratch);
}
