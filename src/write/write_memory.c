/*-------------------------------------------------------------------------
 *
 * write_memory.c
 *	  Memory of the write buffers of a transaction, those of all tables together.
 *
 * What parts take is counted here, for zedstore.write_buffer_size.  It lives in the context of
 * its buffer, which goes as a whole.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_memory.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "write_internal.h"

static Size total_bytes = 0;	/* of all buffers */

/*
 * The buffer takes delta bytes more or, if it is negative, less.  All memory
 * of the two parts goes through here.
 */
void
zswrite_account(ZsWriteBuffer *buf, int64 delta)
{
	Assert(delta >= 0 || (Size) -delta <= buf->bytes);
	buf->bytes += delta;
	total_bytes += delta;
}

/* May the buffers together grow by so many bytes? */
bool
zswrite_memory_allows(Size more)
{
	return total_bytes + more <= (Size) zs_write_buffer_size * 1024;
}

/* All buffers are gone, with the transaction. */
void
zswrite_memory_forget(void)
{
	total_bytes = 0;
}

/* Memory of the part, accounted for; old may be NULL. */
void *
zswrite_grow(ZsWriteBuffer *buf, void *old, Size old_size, Size new_size)
{
	Assert(new_size > 0 && (old == NULL) == (old_size == 0));
	zswrite_account(buf, (int64) new_size - (int64) old_size);
	if (old == NULL)
		return MemoryContextAllocHuge(buf->context, new_size);
	return repalloc_huge(old, new_size);
}
