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
