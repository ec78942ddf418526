/*-------------------------------------------------------------------------
 *
 * page_chain.c
 *	  The part of a free page map that does not fit its directory entry.
 *
 * FPM pages form a chain from the entry, newest first; each holds a sorted
 * array of extents.  Extents get there when the entry has no room for a new
 * one (its highest half moves out), and leave when an allocation finds nothing
 * in the entry.  chain_maxlen in the entry bounds the extents on all pages from
 * above, so that a request for a long run does not read the chain for nothing.
 *
 * Pages are read and pinned before the directory page is locked, and looked at
 * again under both locks (directory page first): no disk read happens under
 * the directory lock.  VACUUM takes pages out of the chain (page_tidy.c); these
 * become ZS_PAGE_FREE in the same record, so what is an FPM page of the tree
 * under the directory lock is in the chain.
 *
 * One record changes the entry and one FPM page (full image), so there is no
 * crash in between.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_chain.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "page_internal.h"
#include "zs_page.h"
#include "zs_walrec.h"

/* How many extents move between entry and FPM page at a time. */
#define CHAIN_SHARE		(ZS_ENTRY_EXTENTS / 2)

/*
 * Locks a page that is known to be in the tree's chain: by its directory entry, or by the page
 * before, with the directory page locked.
 */
void
zspage_chain_lock(Relation rel, uint16 treeno, Buffer buf, int lockmode)
{
	const char *reason;

	Assert(lockmode == BUFFER_LOCK_SHARE || lockmode == BUFFER_LOCK_EXCLUSIVE);
	LockBuffer(buf, lockmode);
	if (zspage_verify(BufferGetPage(buf), ZS_PAGE_FPM, treeno, &reason) == ZS_PAGE_OK)
		reason = zspage_fpm_page_check(BufferGetPage(buf));
	if (reason != NULL)
		zsbase_corrupted(rel, BufferGetBlockNumber(buf),
						 "Free page map page of tree %u: %s.", treeno, reason);
}

/*
 * Gives the chain a new first page. The page is one of the tree's own free blocks, the first
 * of the lowest extent: FPM pages at the end of the file would keep it from being truncated.
 */
void
zspage_chain_push(Relation rel, uint16 treeno)
{
	int			directory = zspage_directory_index(treeno);
	ZsFpmOp		ops[2];
	ZsFpmChange change = {
		.first_treeno = zspage_directory_first(directory),
		.ops = ops,
		.maxops = lengthof(ops)
	};
	ZsTreeEntry *entry;
	PGAlignedBlock image;
	BlockNumber blkno;

	change.dirbuf = zspage_lock_directory(rel, treeno, BUFFER_LOCK_EXCLUSIVE, true);
	entry = zspage_page_entry(BufferGetPage(change.dirbuf), change.first_treeno, treeno);
	zspage_entry_verify(rel, change.dirbuf, treeno, entry);
	if (entry->nextents == 0)
	{
		/* somebody else made room */
		UnlockReleaseBuffer(change.dirbuf);
		return;
	}
	blkno = entry->extents[0].start;
	zspage_change_add(&change, treeno, ZS_FPM_TAKE, blkno, 1);
	zspage_change_apply(rel, &change);
	UnlockReleaseBuffer(change.dirbuf);
	ZS_INJECTION_POINT("zs-page-chain-take-page");

	zspage_ensure_blocks(rel, blkno, 1);

	/* the block is ours alone now: its buffer may be made without the lock */
	change.chainbuf = zspage_new_buffer(rel, blkno, NULL);
	LockBuffer(change.chainbuf, BUFFER_LOCK_UNLOCK);
	zspage_init(image.data, ZS_PAGE_FPM, treeno, 0, 0, PG_UINT64_MAX);
	zspage_fpm_set_count(image.data, 0);
	change.chainimage = image.data;

	change.nops = 0;
	change.dirbuf = zspage_lock_directory(rel, treeno, BUFFER_LOCK_EXCLUSIVE, true);
	LockBuffer(change.chainbuf, BUFFER_LOCK_EXCLUSIVE);
	entry = zspage_page_entry(BufferGetPage(change.dirbuf), change.first_treeno, treeno);
	ZsPageGetOpaque(image.data)->right = entry->chain;
	zspage_change_add(&change, treeno, ZS_FPM_CHAIN, blkno, entry->chain_maxlen);
	zspage_change_apply(rel, &change);
	UnlockReleaseBuffer(change.chainbuf);
	UnlockReleaseBuffer(change.dirbuf);
	ZS_INJECTION_POINT("zs-page-chain-push");
}

/*
 * Makes room in the entry: moves its highest extents to the first FPM page.
 */
void
zspage_chain_out(Relation rel, uint16 treeno)
{
	int			directory = zspage_directory_index(treeno);
	ZsFpmOp		ops[CHAIN_SHARE + 1];
	ZsFpmChange change = {
		.first_treeno = zspage_directory_first(directory),
		.ops = ops,
		.maxops = lengthof(ops)
	};
	ZsTreeEntry entry;
	PGAlignedBlock image;
	uint32		maxlen;

	zspage_tree_entry(rel, treeno, &entry);
	if (entry.chain == 0)
	{
		zspage_chain_push(rel, treeno);
		zspage_tree_entry(rel, treeno, &entry);
		if (entry.chain == 0)
			return;
	}
	change.chainbuf = zspage_read(rel, entry.chain, NULL);

	change.dirbuf = zspage_lock_directory(rel, treeno, BUFFER_LOCK_EXCLUSIVE, true);
	entry = *zspage_page_entry(BufferGetPage(change.dirbuf), change.first_treeno, treeno);
	zspage_entry_verify(rel, change.dirbuf, treeno, &entry);
	if (entry.chain != BufferGetBlockNumber(change.chainbuf) ||
		entry.nextents < ZS_ENTRY_EXTENTS)
	{
		/* changed meanwhile: the caller looks again */
		UnlockReleaseBuffer(change.dirbuf);
		ReleaseBuffer(change.chainbuf);
		return;
	}
	zspage_chain_lock(rel, treeno, change.chainbuf, BUFFER_LOCK_EXCLUSIVE);
	memcpy(image.data, BufferGetPage(change.chainbuf), BLCKSZ);
	if (zspage_fpm_count(image.data) + CHAIN_SHARE > (int) ZS_FPM_PAGE_EXTENTS)
	{
		UnlockReleaseBuffer(change.chainbuf);
		UnlockReleaseBuffer(change.dirbuf);
		zspage_chain_push(rel, treeno);
		return;
	}

	maxlen = entry.chain_maxlen;
	for (int i = ZS_ENTRY_EXTENTS - 1; i >= ZS_ENTRY_EXTENTS - CHAIN_SHARE; i--)
	{
		zspage_change_add(&change, treeno, ZS_FPM_CHAIN_OUT,
						  entry.extents[i].start, entry.extents[i].length);
		zspage_fpm_page_add(image.data, entry.extents[i]);
	}
	/* merging on the page may have made an extent longer than any that came */
	for (int i = 0; i < zspage_fpm_count(image.data); i++)
		maxlen = Max(maxlen, zspage_fpm_extents(image.data)[i].length);
	zspage_change_add(&change, treeno, ZS_FPM_CHAIN, entry.chain, maxlen);
	change.chainimage = image.data;
	zspage_change_apply(rel, &change);
	UnlockReleaseBuffer(change.chainbuf);
	UnlockReleaseBuffer(change.dirbuf);
	ZS_INJECTION_POINT("zs-page-chain-out");
}

/*
 * FPM pages that were read before the directory page was locked: a chain is walked until a page
 * is met that is not among them, which is then read without a lock, and so on.
 */
typedef struct PinnedPages
{
	int			n;
	Buffer		pages[ZSPAGE_MAX_PINNED];
} PinnedPages;

static Buffer
find_pinned(const PinnedPages *pinned, BlockNumber blkno)
{
	Assert(pinned->n >= 0 && pinned->n <= ZSPAGE_MAX_PINNED);
	for (int i = 0; i < pinned->n; i++)
	{
		if (BufferGetBlockNumber(pinned->pages[i]) == blkno)
			return pinned->pages[i];
	}
	return InvalidBuffer;
}

static void
release_pinned(PinnedPages *pinned)
{
	for (int i = 0; i < pinned->n; i++)
		ReleaseBuffer(pinned->pages[i]);
	pinned->n = 0;
}

/*
 * Looks through the chain from head on; the directory page is locked, so the pages are what
 * they are said to be.  Which page has the lowest extent of at least nblocks?  *best (pinned
 * once more, or Invalid) is the answer, *maxlen the longest extent seen.  Returns 0, or the
 * page that has to be pinned first.
 */
static BlockNumber
find_chained(Relation rel, uint16 treeno, BlockNumber head, uint32 nblocks,
			 const PinnedPages *pinned, Buffer *best, uint32 *maxlen)
{
	BlockNumber best_start = InvalidBlockNumber;
	uint32		npages = 0;

	*maxlen = 0;
	*best = InvalidBuffer;
	for (BlockNumber blkno = head; blkno != 0;)
	{
		Buffer		buf = find_pinned(pinned, blkno);
		const ZsExtent *e;
		int			n;
		bool		better = false;

		if (BufferIsValid(buf))
			IncrBufferRefCount(buf);
		else if (pinned->n == ZSPAGE_MAX_PINNED)
			buf = zspage_read(rel, blkno, NULL);
		else
		{
			if (BufferIsValid(*best))
				ReleaseBuffer(*best);
			return blkno;
		}
		if (++npages > ZSPAGE_MAX_PINNED && npages > zspage_physical_blocks(rel))
			zsbase_corrupted(rel, blkno, "The free page map pages of tree %u form a circle.",
							 treeno);

		zspage_chain_lock(rel, treeno, buf, BUFFER_LOCK_SHARE);
		e = zspage_fpm_extents(BufferGetPage(buf));
		n = zspage_fpm_count(BufferGetPage(buf));
		for (int i = 0; i < n; i++)
		{
			*maxlen = Max(*maxlen, e[i].length);
			if (e[i].length >= nblocks && e[i].start < best_start)
			{
				best_start = e[i].start;
				better = true;
			}
		}
		blkno = ZsPageGetOpaque(BufferGetPage(buf))->right;
		LockBuffer(buf, BUFFER_LOCK_UNLOCK);
		if (better)
		{
			if (BufferIsValid(*best))
				ReleaseBuffer(*best);
			*best = buf;
		}
		else
			ReleaseBuffer(buf);
	}
	return 0;
}

/*
 * Takes nblocks adjacent blocks from the FPM page that change->chainbuf is, pinned, of one tree's
 * map for the use of treeno.  The pages with the entries are locked.  Returns the first block.
 */
static BlockNumber
take_from_page(Relation rel, uint16 from, uint16 treeno, uint32 nblocks, ZsFpmChange *change)
{
	PGAlignedBlock image;
	ZsExtent   *e = zspage_fpm_extents(image.data);
	BlockNumber start = 0;
	int			n;

	zspage_chain_lock(rel, from, change->chainbuf, BUFFER_LOCK_EXCLUSIVE);
	memcpy(image.data, BufferGetPage(change->chainbuf), BLCKSZ);
	n = zspage_fpm_count(image.data);
	for (int i = 0; i < n && start == 0; i++)
	{
		if (e[i].length >= nblocks)
			start = e[i].start;
	}
	Assert(start != 0);
	if (!zspage_fpm_page_cut(image.data, start, nblocks))
		elog(ERROR, "free page map page does not hold block %u", start);
	n = zspage_fpm_count(image.data);
	if (from == treeno)
		zspage_change_add(change, from, ZS_FPM_CHAIN_TAKE, start, nblocks);
	else
	{
		zspage_change_add(change, from, ZS_FPM_CHAIN_LOSE, start, nblocks);
		zspage_change_add(change, treeno, ZS_FPM_GAIN_USED, start, nblocks);
	}
	if (zspage_change_entry(change, from)->nextents == 0)
	{
		int			moved = Min(n, CHAIN_SHARE);

		for (int i = 0; i < moved; i++)
			zspage_change_add(change, from, ZS_FPM_CHAIN_IN, e[i].start, e[i].length);
		memmove(&e[0], &e[moved], (n - moved) * sizeof(ZsExtent));
		zspage_fpm_set_count(image.data, n - moved);
	}
	change->chainimage = image.data;
	zspage_change_apply(rel, change);
	LockBuffer(change->chainbuf, BUFFER_LOCK_UNLOCK);
	return start;
}

/*
 * Takes nblocks adjacent blocks from an FPM page of one tree's map, for the use of treeno, the
 * same tree or, if from is the table, any.  Also moves a few of that page's lowest extents into
 * the entry when it has none, so that the next requests need not come here.  Returns 0 if no
 * page has such a run.
 */
BlockNumber
zspage_chain_take(Relation rel, uint16 from, uint16 treeno, uint32 nblocks)
{
	ZsFpmOp		ops[CHAIN_SHARE + 2];
	ZsFpmChange change = {.ops = ops, .maxops = lengthof(ops)};
	PinnedPages pinned = {0};
	ZsTreeEntry entry;
	BlockNumber start = 0;
	BlockNumber missing;

	Assert(nblocks > 0 && (from == treeno || from == ZS_TREE_TABLE));
	/* share locks do not hurt each other */
	zspage_tree_entry(rel, from, &entry);
	if (entry.chain == 0 || entry.chain_maxlen < nblocks)
		return 0;

	do
	{
		uint32		maxlen;

		CHECK_FOR_INTERRUPTS();
		if (from == treeno)
		{
			change.first_treeno = zspage_directory_first(zspage_directory_index(treeno));
			change.dirbuf = zspage_lock_directory(rel, treeno, BUFFER_LOCK_EXCLUSIVE, true);
		}
		else
			zspage_change_lock_both(rel, treeno, &change);

		entry = *zspage_change_entry(&change, from);
		zspage_entry_verify(rel, from < change.first_treeno ? change.metabuf : change.dirbuf, from,
							&entry);
		missing = find_chained(rel, from, entry.chain, nblocks, &pinned, &change.chainbuf, &maxlen);
		if (missing == 0 && BufferIsValid(change.chainbuf))
		{
			start = take_from_page(rel, from, treeno, nblocks, &change);
			ReleaseBuffer(change.chainbuf);
		}
		else if (missing == 0 && maxlen < entry.chain_maxlen)
		{
			/* remember how long the longest run there is */
			zspage_change_add(&change, from, ZS_FPM_CHAIN, entry.chain, maxlen);
			zspage_change_apply(rel, &change);
		}
		zspage_change_unlock(&change);
		if (missing != 0)
			pinned.pages[pinned.n++] = zspage_read(rel, missing, NULL);
	} while (missing != 0);
	release_pinned(&pinned);
	if (start != 0)
		ZS_INJECTION_POINT("zs-page-chain-in");
	return start;
}
