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
#include "storage/bufmgr.h"
#include "storage/lwlock.h"
#include "utils/spccache.h"

#include "zs_base.h"
#include "zs_compat.h"

/*
 * Locks the contents of a pinned shared buffer, at least shared, if that is possible at once; given
 * back with LockBuffer().  May be called with other content locks held, since it does not wait, but
 * not with one of this buffer.
 *
 * PostgreSQL 19 has an exclusive lock alone that does not wait, so it is refused more often there.
 */
bool
zsbase_lock_buffer_if_free(Buffer buffer)
{
	Assert(BufferIsValid(buffer) && !BufferIsLocal(buffer));
	return zs_lock_buffer_if_free(buffer);
}

/*
 * Pins a buffer that had the block when it was read last, if it has it still: ReadRecentBuffer().
 *
 * That function of PostgreSQL 19 loses a pin if this process has begun to read the block (a read
 * stream does) and not ended it: it counts a pin more, finds the page not valid, and does not give
 * the pin back.  So nothing is asked of a buffer that is not valid.  One that is valid stays so
 * while this process has a pin; without one, core looks at the bit in the step that pins.
 */
bool
zsbase_pin_recent(const RelFileLocator *locator, ForkNumber forknum, BlockNumber blkno,
				  Buffer buffer)
{
	Assert(BufferIsValid(buffer) && BlockNumberIsValid(blkno));
	if (!BufferIsLocal(buffer) &&
		(zs_buffer_state(GetBufferDescriptor(buffer - 1)) & BM_VALID) == 0)
		return false;
	return ReadRecentBuffer(*locator, forknum, blkno, buffer);
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
