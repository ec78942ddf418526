/*-------------------------------------------------------------------------
 *
 * io_buffer_18.c
 *	  Writing dirty shared buffers beside core: PostgreSQL 17 and 18.
 *
 * This follows FlushBuffer() of bufmgr.c: who owns BM_IO_IN_PROGRESS may write the page; a change
 * after the page was copied sets BM_JUST_DIRTIED, so the buffer stays dirty; whoever wants to drop,
 * truncate or evict the page waits for the pin or the flag before the file changes.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_buffer_18.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/condition_variable.h"
#include "utils/resowner.h"

#include "io_buffer.h"
#include "zs_base.h"
#include "zs_compat.h"

#if !ZS_BUFFER_STATE_HAS_LOCK

StaticAssertDecl(BM_LOCKED == (1U << 22) && BM_DIRTY == (1U << 23) &&
				 BM_VALID == (1U << 24) && BM_IO_IN_PROGRESS == (1U << 26) &&
				 BM_JUST_DIRTIED == (1U << 28) && BM_PERMANENT == (1U << 31),
				 "bits of buffer headers as in PostgreSQL 17 and 18");
StaticAssertDecl(sizeof(BufferDescPadded) == 64, "size of a buffer header");

/* Sets BM_IO_IN_PROGRESS unless someone else has it or the buffer is clean. */
static bool
start_write(BufferDesc *hdr)
{
#if ZS_BUFFER_IO_IS_EXTERN
	return StartBufferIO(hdr, false, true);
#else
	uint32		state;

	ResourceOwnerEnlarge(CurrentResourceOwner);
	state = LockBufHdr(hdr);
	if ((state & BM_IO_IN_PROGRESS) || !(state & BM_DIRTY))
	{
		UnlockBufHdr(hdr, state);
		return false;
	}
	UnlockBufHdr(hdr, state | BM_IO_IN_PROGRESS);
	ResourceOwnerRememberBufferIO(CurrentResourceOwner, BufferDescriptorGetBuffer(hdr));
	return true;
#endif
}

static void
end_write(BufferDesc *hdr, bool clear_dirty, uint32 set_bits)
{
#if ZS_BUFFER_IO_IS_EXTERN
	TerminateBufferIO(hdr, clear_dirty, set_bits, true, false);
#else
	uint32		state = LockBufHdr(hdr);

	Assert(state & BM_IO_IN_PROGRESS);
	state &= ~(BM_IO_IN_PROGRESS | BM_IO_ERROR);
	if (clear_dirty && !(state & BM_JUST_DIRTIED))
		state &= ~(BM_DIRTY | BM_CHECKPOINT_NEEDED);
	UnlockBufHdr(hdr, state | set_bits);
	ResourceOwnerForgetBufferIO(CurrentResourceOwner, BufferDescriptorGetBuffer(hdr));
	ConditionVariableBroadcast(BufferDescriptorGetIOCV(hdr));
#endif
}

/* Makes the buffer ours to write: see io_buffer.h. */
bool
zsio_buffer_begin(const ZsIoItem *item, char *dst, XLogRecPtr *lsn)
{
	BufferDesc *hdr = GetBufferDescriptor(item->buf_id);
	Buffer		buffer = BufferDescriptorGetBuffer(hdr);
	XLogRecPtr	page_lsn;
	uint32		state;

	Assert(item->buf_id >= 0 && item->buf_id < NBuffers);
	Assert(CurrentResourceOwner != NULL);
	Assert((uintptr_t) dst % PG_IO_ALIGN_SIZE == 0);

	/* pins it if it still holds the page, and leaves its usage count alone */
	if (!zsbase_pin_recent(&item->locator, item->forknum, item->blkno, buffer))
		return false;
	if (!zsbase_lock_buffer_if_free(buffer))
	{
		ReleaseBuffer(buffer);
		return false;
	}
	if (!start_write(hdr))
	{
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
		ReleaseBuffer(buffer);
		return false;
	}

	/* hint bits may change under the share lock: those set from here on count as new changes */
	state = LockBufHdr(hdr);
	UnlockBufHdr(hdr, state & ~BM_JUST_DIRTIED);

	memcpy(dst, BufferGetPage(buffer), BLCKSZ);

	/* of the time after the copy, which may have a hint bit whose page image is that new */
	state = LockBufHdr(hdr);
	page_lsn = PageGetLSN(BufferGetPage(buffer));
	UnlockBufHdr(hdr, state);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);

	/* pages of unlogged relations may bear LSNs that are none */
	if ((state & BM_PERMANENT) && page_lsn > *lsn)
		*lsn = page_lsn;
	PageSetChecksumInplace((Page) dst, item->blkno);
	return true;
}

/* The write ended, as result says; lets go of the buffer. */
void
zsio_buffer_end(int buf_id, const char *copy, ZsIoResult result)
{
	BufferDesc *hdr = GetBufferDescriptor(buf_id);

	Assert(buf_id >= 0 && buf_id < NBuffers);
	Assert(pg_atomic_read_u32(&hdr->state) & BM_IO_IN_PROGRESS);
	Assert(BUF_STATE_GET_REFCOUNT(pg_atomic_read_u32(&hdr->state)) > 0);
	end_write(hdr, result == ZSIO_WRITTEN, result == ZSIO_FAILED ? BM_IO_ERROR : 0);
	ReleaseBuffer(BufferDescriptorGetBuffer(hdr));
}

#endif
