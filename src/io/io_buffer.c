/*-------------------------------------------------------------------------
 *
 * io_buffer.c
 *	  Dirty shared buffers: finding them.
 *
 * This file and those that write (io_buffer_18.c, io_buffer_19.c) alone know buffer headers.  Their
 * layout and the meaning of their bits belong to a major version of the server: the asserts of
 * those files hold for their majors, and zs_compat.h refuses others.
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

#include "io_buffer.h"
#include "io_internal.h"
#include "zs_base.h"
#include "zs_compat.h"

StaticAssertDecl(sizeof(BufferDescPadded) == 64, "size of a buffer header");
StaticAssertDecl(ZSIO_MAX_USAGE == BM_MAX_USAGE_COUNT, "the largest usage count");

/* What is worth writing in checkpoints: the bits that BufferSync() asks for, and BM_VALID. */
#define WANTED_BITS		(BM_DIRTY | BM_VALID | BM_PERMANENT)

/* ---- finding ------------------------------------------------------------------ */

/* For qsort: core's order of writing in checkpoints. */
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

/* The page that a buffer holds whose header is locked. */
static void
identify(const BufferDesc *hdr, int buf_id, ZsIoItem *item)
{
	item->locator = BufTagGetRelFileLocator(&hdr->tag);
	item->forknum = BufTagGetForkNum(&hdr->tag);
	item->blkno = hdr->tag.blockNum;
	item->buf_id = buf_id;
}

/* Copies the identity of the buffer's page if its header has all the wanted bits. */
static bool
look_at(int buf_id, ZsIoItem *item)
{
	BufferDesc *hdr = GetBufferDescriptor(buf_id);
	ZsBufferState state = LockBufHdr(hdr);
	bool		wanted = (state & WANTED_BITS) == WANTED_BITS;

	if (wanted)
		identify(hdr, buf_id, item);
	zs_unlock_buffer_header(hdr, state);
	return wanted;
}

/*
 * The same for a buffer that nobody has pinned and that is used little.  Then nobody changes the
 * page either while its header is locked, and its LSN can be read.
 */
static bool
look_at_idle(int buf_id, int max_usage, ZsIoItem *item, XLogRecPtr *lsn)
{
	BufferDesc *hdr = GetBufferDescriptor(buf_id);
	ZsBufferState state = LockBufHdr(hdr);
	bool		wanted = (state & WANTED_BITS) == WANTED_BITS &&
		(state & BM_IO_IN_PROGRESS) == 0 && BUF_STATE_GET_REFCOUNT(state) == 0 &&
		BUF_STATE_GET_USAGECOUNT(state) <= max_usage;

	if (wanted)
	{
		identify(hdr, buf_id, item);
		*lsn = PageGetLSN((Page) BufferGetPage(BufferDescriptorGetBuffer(hdr)));
	}
	zs_unlock_buffer_header(hdr, state);
	return wanted;
}

/* By the hash of the file. */
int
zsio_file_owner(const RelFileLocator *locator, ForkNumber forknum, BlockNumber blkno, int nworkers)
{
	uint32		hash = hash_combine(murmurhash32(locator->relNumber), blkno / RELSEG_SIZE);

	Assert(nworkers > 0);
	return hash_combine(hash, forknum) % nworkers;
}

static int
owner_of(const ZsIoItem *item, int nworkers)
{
	return zsio_file_owner(&item->locator, item->forknum, item->blkno, nworkers);
}

/* All dirty buffers worth writing, sorted. */
int
zsio_collect_dirty(int worker, int nworkers, ZsIoItem **items)
{
	int			maxitems = Max(NBuffers / 8, 128);
	int			nitems = 0;

	Assert(worker >= 0 && worker < nworkers);
	*items = MemoryContextAllocHuge(CurrentMemoryContext, maxitems * sizeof(ZsIoItem));
	for (int i = 0; i < NBuffers; i++)
	{
		ZsBufferState state;

		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();

		/* a look without the lock: who is missed now is core's */
		state = zs_buffer_state(GetBufferDescriptor(i));
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

/* Buffers that the clock hand has passed. */
uint64
zsio_clock_hand(void)
{
	uint32		passes;

	/* core's background writer counts allocations: they are not asked for here */
	int			hand = StrategySyncStart(&passes, NULL);

	return (uint64) passes * NBuffers + hand;
}

/* Buffers that the hand comes to: see io_buffer.h. */
int
zsio_collect_ahead(const ZsIoWish *wish, uint64 *pos, uint64 end, ZsIoItem *items, int max,
				   XLogRecPtr *lsn, int *unflushed)
{
	int			nitems = 0;

	Assert(max > 0);
	for (; *pos < end && nitems < max; (*pos)++)
	{
		int			buf_id = *pos % NBuffers;
		ZsBufferState state = zs_buffer_state(GetBufferDescriptor(buf_id));
		ZsIoItem   *item = &items[nitems];
		XLogRecPtr	page_lsn;

		if ((*pos & 0xffff) == 0)
			CHECK_FOR_INTERRUPTS();
		if ((state & WANTED_BITS) != WANTED_BITS || BUF_STATE_GET_REFCOUNT(state) != 0 ||
			BUF_STATE_GET_USAGECOUNT(state) > wish->max_usage)
			continue;
		if (!look_at_idle(buf_id, wish->max_usage, item, &page_lsn) ||
			(wish->nworkers > 1 && owner_of(item, wish->nworkers) != wish->worker))
			continue;
		*lsn = Max(*lsn, page_lsn);
		*unflushed += page_lsn > wish->max_lsn;
		nitems++;
	}
	return nitems;
}

/* The block in the buffer, if it is as wished. */
bool
zsio_look_at(const ZsIoWish *wish, int buf_id, ZsIoItem *item)
{
	XLogRecPtr	lsn;

	return look_at_idle(buf_id, wish->max_usage, item, &lsn) && lsn <= wish->max_lsn &&
		(wish->nworkers <= 1 || owner_of(item, wish->nworkers) == wish->worker);
}

/* The same if it is that block. */
bool
zsio_look_at_block(const ZsIoWish *wish, int buf_id, const RelFileLocator *locator,
				   ForkNumber forknum, BlockNumber blkno, ZsIoItem *item)
{
	return zsio_look_at(wish, buf_id, item) &&
		item->blkno == blkno && item->forknum == forknum &&
		RelFileLocatorEquals(item->locator, *locator);
}

/* The buffer that has the block, if it is as wished. */
bool
zsio_find_dirty(const ZsIoWish *wish, const RelFileLocator *locator, ForkNumber forknum,
				BlockNumber blkno, ZsIoItem *item)
{
	int			buf_id = zsbase_find_buffer(locator, forknum, blkno);

	return buf_id >= 0 && zsio_look_at_block(wish, buf_id, locator, forknum, blkno, item);
}

/* Relations that are considered when the right one is not known. */
#define MAX_GUESSES		32

/* The relation's file, or a guess: see io_buffer.h. */
bool
zsio_find_relation(Oid database, Oid relid, BlockNumber from, BlockNumber to,
				   RelFileLocator *locator, bool *exact)
{
	RelFileLocator guesses[MAX_GUESSES];
	int			counts[MAX_GUESSES] = {0};
	int			nguesses = 0;
	int			best = 0;

	*exact = false;
	for (int i = 0; i < NBuffers; i++)
	{
		/* what is read while it changes is a wrong guess at worst */
		BufferDesc *hdr = GetBufferDescriptor(i);
		ZsBufferState state = zs_buffer_state(hdr);
		BufferTag	tag = hdr->tag;
		int			k = 0;

		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		if ((state & (BM_VALID | BM_PERMANENT)) != (BM_VALID | BM_PERMANENT) ||
			tag.dbOid != database || BufTagGetForkNum(&tag) != MAIN_FORKNUM)
			continue;
		if (BufTagGetRelNumber(&tag) == relid)
		{
			*locator = BufTagGetRelFileLocator(&tag);
			*exact = true;
			return true;
		}
		if (!(state & BM_DIRTY) || tag.blockNum < from || tag.blockNum >= to)
			continue;
		while (k < nguesses && guesses[k].relNumber != BufTagGetRelNumber(&tag))
			k++;
		if (k == MAX_GUESSES)
			continue;
		if (k == nguesses)
			guesses[nguesses++] = BufTagGetRelFileLocator(&tag);
		if (++counts[k] > counts[best])
			best = k;
	}
	if (nguesses > 0)
		*locator = guesses[best];
	return nguesses > 0;
}
