/*-------------------------------------------------------------------------
 *
 * io_buffer_19.c
 *	  Writing dirty shared buffers beside core: PostgreSQL 19.
 *
 * As in FlushBuffer() of bufmgr.c, who owns BM_IO_IN_PROGRESS may write the page, and whoever wants
 * to drop, truncate or evict it waits for the pin or the flag before the file changes.  But core
 * holds a share-exclusive lock of the contents until its write has ended, so that the page cannot
 * change, and no bit of the header says whether it has.  Such a lock would make others wait for the
 * device; here the page is copied under a lock, and the lock given back.
 *
 * The problem is the end: the page may become clean only if what is in memory is what was written.
 *
 * The idea: compare the page with the copy, and clear BM_DIRTY in the very step that finds nobody
 * changing it.
 *
 * (a) Compare without any lock.  This finds most changes, and brings the page into the processor's
 * cache.
 *
 * (b) Lock the header and compare again.  If someone has the contents locked exclusively, or the
 * page differs, it stays dirty.
 *
 * (c) With one compare-and-swap clear BM_DIRTY and the others, and unlock the header; if the
 * contents are locked exclusively by then, the page stays dirty.
 *
 * Who changes a page locks its contents exclusively, marks the buffer dirty, changes it (or the
 * other way round), and unlocks.  Marking it dirty waits until the header is unlocked.  So:
 *
 * - who had unlocked the contents before (b) compared has left his change in the page, or has
 *   changed nothing;
 * - who locks them later cannot get past marking the buffer dirty before (c), so he still has his
 *   lock then and is seen by (c); or he locks them after (c), and makes the buffer dirty anew.
 *
 * A change of another kind are hint bits.  They are set under a share-exclusive lock, and the
 * buffer is marked dirty after that, which waits for the header.  Those that (b) did not see, and
 * whose setter finds the buffer dirty still, may get lost: they are hints.
 *
 * When checksums are enabled while the server runs, pages are marked dirty so that they are written
 * with one, and those of unlogged tables do not change with that.  So what was copied before does
 * not make a page clean; such a copy has 0 for a checksum, which none ever is.
 *
 * The checksum field is left out, since core sets it on the shared page when it writes.  A lock of
 * the contents is of no use here: the checkpointer that waits for this very write holds it
 * share-exclusive, so that a conditional one would be refused for just the pages that it comes to.
 *
 * fuzz/buffer_model.c runs this file with threads for writers, setters of hint bits, core's flush
 * and a worker on one header.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_buffer_19.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/condition_variable.h"
#include "utils/resowner.h"

#include "io_buffer.h"
#include "zs_base.h"
#include "zs_compat.h"

#if ZS_BUFFER_STATE_HAS_LOCK

StaticAssertDecl(BM_LOCKED == (UINT64CONST(1) << 22) && BM_DIRTY == (UINT64CONST(1) << 23) &&
				 BM_VALID == (UINT64CONST(1) << 24) &&
				 BM_IO_IN_PROGRESS == (UINT64CONST(1) << 26) &&
				 BM_IO_ERROR == (UINT64CONST(1) << 27) &&
				 BM_CHECKPOINT_NEEDED == (UINT64CONST(1) << 30) &&
				 BM_PERMANENT == (UINT64CONST(1) << 31) &&
				 BM_LOCK_VAL_EXCLUSIVE == (UINT64CONST(1) << 53),
				 "bits of buffer headers as in PostgreSQL 19");
StaticAssertDecl(sizeof(BufferDescPadded) == 64, "size of a buffer header");

/* ---- the beginning ------------------------------------------------------------------ */

/*
 * Pins the buffer if it still holds the page, and leaves its usage count alone: what the cleaner
 * writes has to stay as old as it is.  A count that somebody else raises meanwhile may lose one.
 */
static bool
pin_as_it_is(const ZsIoItem *item, BufferDesc *hdr)
{
	uint64		state = pg_atomic_read_u64(&hdr->state);
	bool		raised = BUF_STATE_GET_USAGECOUNT(state) < BM_MAX_USAGE_COUNT;

	if (!zsbase_pin_recent(&item->locator, item->forknum, item->blkno,
						   BufferDescriptorGetBuffer(hdr)))
		return false;
	if (!raised)
		return true;
	state = pg_atomic_read_u64(&hdr->state);
	while (BUF_STATE_GET_USAGECOUNT(state) > 0)
	{
		if (state & BM_LOCKED)
			state = WaitBufHdrUnlocked(hdr);
		if (pg_atomic_compare_exchange_u64(&hdr->state, &state, state - BUF_USAGECOUNT_ONE))
			break;
	}
	return true;
}

/* Makes the buffer ours to write: see io_buffer.h. */
bool
zsio_buffer_begin(const ZsIoItem *item, char *dst, XLogRecPtr *lsn)
{
	BufferDesc *hdr = GetBufferDescriptor(item->buf_id);
	Buffer		buffer = BufferDescriptorGetBuffer(hdr);
	bool		permanent;

	Assert(item->buf_id >= 0 && item->buf_id < NBuffers);
	Assert(CurrentResourceOwner != NULL);
	Assert((uintptr_t) dst % PG_IO_ALIGN_SIZE == 0);

	if (!pin_as_it_is(item, hdr))
		return false;
	if (!zsbase_lock_buffer_if_free(buffer))
	{
		ReleaseBuffer(buffer);
		return false;
	}
	if (StartSharedBufferIO(hdr, false, false, NULL) != BUFFER_IO_READY_FOR_IO)
	{
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
		ReleaseBuffer(buffer);
		return false;
	}
	memcpy(dst, BufferGetPage(buffer), BLCKSZ);
	permanent = (pg_atomic_read_u64(&hdr->state) & BM_PERMANENT) != 0;
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);

	/* pages of unlogged relations may bear LSNs that are none */
	if (permanent && PageGetLSN((Page) dst) > *lsn)
		*lsn = PageGetLSN((Page) dst);
	if (!DataChecksumsNeedWrite())
		((PageHeader) dst)->pd_checksum = 0;
	PageSetChecksum((Page) dst, item->blkno);
	return true;
}

/* ---- the end ------------------------------------------------------------------------- */

/* Is the page as the copy, but for the checksum? */
static bool
is_as_copied(const char *page, const char *copy)
{
	const Size	checksum = offsetof(PageHeaderData, pd_checksum);
	const Size	behind = checksum + sizeof(((PageHeader) 0)->pd_checksum);

	return memcmp(page, copy, checksum) == 0 &&
		memcmp(page + behind, copy + behind, BLCKSZ - behind) == 0;
}

/* Was the page copied before checksums were enabled? */
static bool
lacks_checksum(const char *copy)
{
	return DataChecksumsNeedWrite() && ((const PageHeaderData *) copy)->pd_checksum == 0 &&
		!PageIsNew((const PageData *) copy);
}

/*
 * Ends the write with a clean buffer if nobody has changed the page, or is about to; false: nothing
 * was done.  Does not wait for anybody but for who has the header locked.
 */
static bool
end_clean(BufferDesc *hdr, const char *copy)
{
	const char *page = BufferGetPage(BufferDescriptorGetBuffer(hdr));
	uint64		state;

	if (!is_as_copied(page, copy) || lacks_checksum(copy))
		return false;

	state = LockBufHdr(hdr);
	if ((state & BM_LOCK_VAL_EXCLUSIVE) == 0)
	{
		/* what was changed under a lock that is no longer held is to be seen */
		pg_read_barrier();
		if (is_as_copied(page, copy))
		{
			/* locking the header says what the state was without BM_LOCKED or with it */
			state = pg_atomic_read_u64(&hdr->state);
			while ((state & BM_LOCK_VAL_EXCLUSIVE) == 0)
			{
				Assert(state & BM_LOCKED);
				if (pg_atomic_compare_exchange_u64(&hdr->state, &state,
												   state & ~(BM_DIRTY | BM_CHECKPOINT_NEEDED |
															 BM_IO_IN_PROGRESS | BM_IO_ERROR |
															 BM_LOCKED)))
					return true;
			}
		}
	}
	UnlockBufHdr(hdr);
	return false;
}

/* The write ended, as result says; lets go of the buffer. */
void
zsio_buffer_end(int buf_id, const char *copy, ZsIoResult result)
{
	BufferDesc *hdr = GetBufferDescriptor(buf_id);
	Buffer		buffer = BufferDescriptorGetBuffer(hdr);

	Assert(buf_id >= 0 && buf_id < NBuffers);
	Assert(pg_atomic_read_u64(&hdr->state) & BM_IO_IN_PROGRESS);
	Assert(BUF_STATE_GET_REFCOUNT(pg_atomic_read_u64(&hdr->state)) > 0);
	if (result == ZSIO_WRITTEN && end_clean(hdr, copy))
	{
		ResourceOwnerForgetBufferIO(CurrentResourceOwner, buffer);
		ConditionVariableBroadcast(BufferDescriptorGetIOCV(hdr));
	}
	else
		TerminateBufferIO(hdr, false, result == ZSIO_FAILED ? BM_IO_ERROR : 0, true, false);
	ReleaseBuffer(buffer);
}

#endif
