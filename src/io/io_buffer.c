/*-------------------------------------------------------------------------
 *
 * io_buffer.c
 *	  Dirty shared buffers: finding them, and writing them beside core.
 *
 * This file alone knows buffer headers.  It follows FlushBuffer() of bufmgr.c: who owns
 * BM_IO_IN_PROGRESS may write the page; a change after the page was copied sets
 * BM_JUST_DIRTIED, so the buffer stays dirty; whoever wants to drop, truncate
 * or evict the page waits for the pin or the flag before the file changes.
 *
 * The layout of headers and the meaning of their bits belong to a major version of the
 * server: the asserts below hold for 17 and 18, and zs_compat.h refuses others.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_buffer.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "io_internal.h"

StaticAssertDecl(BM_LOCKED == (1U << 22) && BM_DIRTY == (1U << 23) &&
				 BM_VALID == (1U << 24) && BM_IO_IN_PROGRESS == (1U << 26) &&
				 BM_JUST_DIRTIED == (1U << 28) && BM_PERMANENT == (1U << 31),
				 "bits of buffer headers as in PostgreSQL 17 and 18");
StaticAssertDecl(sizeof(BufferDescPadded) == 64, "size of a buffer header");

/* What is worth writing in checkpoints: the bits that BufferSync() asks for, and BM_VALID. */
#define WANTED_BITS		(BM_DIRTY | BM_VALID | BM_PERMANENT)

/* ---- finding ------------------------------------------------------------------ */

int
zsio_compare_items(const void *a, const void *b)
{
	const ZsIoItem *x = a;
	const ZsIoItem *y = b;

	/* tablespace, relation, fork, block: core's ckpt_buforder_comparator() */
	if (x->locator.spcOid != y->locator.spcOid)
		return x->locator.spcOid < y->locator.spcOid ? -1 : 1;
	if (x->locator.relNumber != y->locator.relNumber)
		return x->locator.relNumber < y->locator.relNumber ? -1 : 1;
	if (x->forknum != y->forknum)
		return x->forknum < y->forknum ? -1 : 1;
	if (x->blkno != y->blkno)
		return x->blkno < y->blkno ? -1 : 1;
	if (x->locator.dbOid != y->locator.dbOid)
		return x->locator.dbOid < y->locator.dbOid ? -1 : 1;
	return 0;
}

/* Copies the identity of the buffer's page if its header has all the wanted bits. */
static bool
look_at(int buf_id, ZsIoItem *item)
{
	BufferDesc *hdr = GetBufferDescriptor(buf_id);
	uint32		state = LockBufHdr(hdr);
	bool		wanted = (state & WANTED_BITS) == WANTED_BITS;

	if (wanted)
	{
		item->locator = BufTagGetRelFileLocator(&hdr->tag);
		item->forknum = BufTagGetForkNum(&hdr->tag);
		item->blkno = hdr->tag.blockNum;
		item->buf_id = buf_id;
	}
	UnlockBufHdr(hdr, state);
	return wanted;
}

/* Which worker writes a segment file. */
static int
owner_of(const ZsIoItem *item, int nworkers)
{
	uint32		hash = hash_combine(murmurhash32(item->locator.relNumber),
									item->blkno / RELSEG_SIZE);

	return hash_combine(hash, item->forknum) % nworkers;
}

int
zsio_collect_dirty(int worker, int nworkers, ZsIoItem **items)
{
	int			maxitems = Max(NBuffers / 8, 128);
	int			nitems = 0;

	*items = MemoryContextAllocHuge(CurrentMemoryContext, maxitems * sizeof(ZsIoItem));
	for (int i = 0; i < NBuffers; i++)
	{
		uint32		state;

		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();

		/* a look without the lock: who is missed now is core's */
		state = pg_atomic_read_u32(&GetBufferDescriptor(i)->state);
		if ((state & WANTED_BITS) != WANTED_BITS)
			continue;
		if (nitems == maxitems)
		{
			maxitems = Min(maxitems * 2, NBuffers);
			*items = repalloc_huge(*items, maxitems * sizeof(ZsIoItem));
		}
		if (look_at(i, &(*items)[nitems]) &&
			(nworkers == 1 || owner_of(&(*items)[nitems], nworkers) == worker))
			nitems++;
	}
	qsort(*items, nitems, sizeof(ZsIoItem), zsio_compare_items);
	return nitems;
}

/* ---- writing ------------------------------------------------------------------ */

/* Sets BM_IO_IN_PROGRESS unless someone else has it or the buffer is clean. */
static bool
start_write(BufferDesc *hdr)
{
#ifdef ZS_PG18
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
#ifdef ZS_PG18
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

bool
zsio_buffer_begin(const ZsIoItem *item, char *dst, XLogRecPtr *lsn)
{
	BufferDesc *hdr = GetBufferDescriptor(item->buf_id);
	Buffer		buffer = BufferDescriptorGetBuffer(hdr);
	LWLock	   *lock = BufferDescriptorGetContentLock(hdr);
	XLogRecPtr	page_lsn;
	uint32		state;

	/* pins it if it still holds the page, and leaves its usage count alone */
	if (!ReadRecentBuffer(item->locator, item->forknum, item->blkno, buffer))
		return false;
	if (!LWLockConditionalAcquire(lock, LW_SHARED))
	{
		ReleaseBuffer(buffer);
		return false;
	}
	if (!start_write(hdr))
	{
		LWLockRelease(lock);
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
	LWLockRelease(lock);

	/* pages of unlogged relations may bear LSNs that are none */
	if ((state & BM_PERMANENT) && page_lsn > *lsn)
		*lsn = page_lsn;
	PageSetChecksumInplace((Page) dst, item->blkno);
	return true;
}

void
zsio_buffer_end(int buf_id, ZsIoResult result)
{
	BufferDesc *hdr = GetBufferDescriptor(buf_id);

	end_write(hdr, result == ZSIO_WRITTEN, result == ZSIO_FAILED ? BM_IO_ERROR : 0);
	ReleaseBuffer(BufferDescriptorGetBuffer(hdr));
}
