/*-------------------------------------------------------------------------
 *
 * base_buffer.c
 *	  What core's buffer manager can do and has no function for.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/base/base_buffer.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/buf_internals.h"
#include "storage/lwlock.h"
#include "utils/spccache.h"

#include "zs_base.h"

/*
 * Locks the contents of a pinned shared buffer, shared, if that is possible at once; given back
 * with LockBuffer().  May be called with other content locks held, since it does not wait.
 */
bool
zsbase_lock_buffer_if_free(Buffer buffer)
{
	Assert(BufferIsValid(buffer) && !BufferIsLocal(buffer));
	return LWLockConditionalAcquire(BufferDescriptorGetContentLock(GetBufferDescriptor(buffer - 1)),
									LW_SHARED);
}

/*
 * Tells the processor that the contents of a shared buffer are going to be looked at soon: the
 * descriptor, both ends of the page, and len bytes from offset on.  Whether the buffer is still
 * what the caller takes it for, and pinned, does not matter.
 */
void
zsbase_expect_buffer(Buffer buffer, uint32 offset, uint32 len)
{
	const char *page = (const char *) BufferBlocks + (Size) (buffer - 1) * BLCKSZ;

	Assert(BufferIsValid(buffer) && !BufferIsLocal(buffer) && offset + len <= BLCKSZ);
	__builtin_prefetch(GetBufferDescriptor(buffer - 1), 1);
	__builtin_prefetch(page);
	__builtin_prefetch(page + BLCKSZ - 1);
	for (uint32 i = 0; i < len; i += PG_CACHE_LINE_SIZE / 2)
		__builtin_prefetch(page + offset + i);
}

/*
 * The index of the shared buffer that has the block, -1: none.  It is not pinned, so that is a
 * guess as soon as it is known.  Takes a lock of the buffer mapping, briefly.
 */
int
zsbase_find_buffer(const RelFileLocator *locator, ForkNumber forknum, BlockNumber blkno)
{
	BufferTag	tag;
	uint32		hash;
	LWLock	   *lock;
	int			buf_id;

	Assert(BlockNumberIsValid(blkno));
	InitBufferTag(&tag, locator, forknum, blkno);
	hash = BufTableHashCode(&tag);
	lock = BufMappingPartitionLock(hash);
	LWLockAcquire(lock, LW_SHARED);
	buf_id = BufTableLookup(&tag, hash);
	LWLockRelease(lock);
	return buf_id;
}

/*
 * Does the setting that counts for a reader of the table ask for any look-ahead?  With maintenance
 * that is maintenance_io_concurrency.
 */
bool
zsbase_ahead_is_wanted(Relation rel, bool maintenance)
{
	return zs_enable_read_stream && zsbase_io_concurrency(rel, maintenance) > 0;
}

/* The setting that counts for a reader of the table; 0: it is not to have requests under way. */
int
zsbase_io_concurrency(Relation rel, bool maintenance)
{
	Oid			space = rel->rd_locator.spcOid;

	return maintenance ? get_tablespace_maintenance_io_concurrency(space) :
		get_tablespace_io_concurrency(space);
}
