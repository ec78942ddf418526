/*-------------------------------------------------------------------------
 *
 * page_spill.c
 *	  The part of a free page map that does not fit its directory entry.
 *
 * FPM pages form a chain from the entry, newest first; each holds a sorted
 * array of extents.  Extents get there when the entry has no room for a new
 * one (its highest half moves out), and leave when an allocation finds nothing
 * in the entry.  spill_maxlen in the entry bounds the extents on all pages from
 * above, so that a request for a long run does not read the chain for nothing.
 *
 * Pages are read and pinned before the directory page is locked, and looked at
 * again under both locks (directory page first): no disk read happens under
 * the directory lock.
 *
 * One record changes the entry and one FPM page (full image), so there is no
 * crash in between.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_spill.c
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
#define SPILL_BATCH		(ZS_ENTRY_EXTENTS / 2)

static void
set_count(Page page, int n)
{
	((PageHeader) page)->pd_lower =
		(char *) (zspage_fpm_extents(page) + n) - (char *) page;
}

/* Inserts an extent into a page image that has room; merges neighbours. */
static void
page_add_extent(Page page, ZsExtent add)
{
	ZsExtent   *e = zspage_fpm_extents(page);
	int			n = zspage_fpm_count(page);
	int			i = 0;

	while (i < n && e[i].start < add.start)
		i++;
	if (i > 0 && e[i - 1].start + e[i - 1].length == add.start)
	{
		e[i - 1].length += add.length;
		if (i < n && e[i - 1].start + e[i - 1].length == e[i].start)
		{
			e[i - 1].length += e[i].length;
			memmove(&e[i], &e[i + 1], (n - i - 1) * sizeof(ZsExtent));
			n--;
		}
	}
	else if (i < n && add.start + add.length == e[i].start)
	{
		e[i].start = add.start;
		e[i].length += add.length;
	}
	else
	{
		Assert(n < (int) ZS_FPM_PAGE_EXTENTS);
		memmove(&e[i + 1], &e[i], (n - i) * sizeof(ZsExtent));
		e[i] = add;
		n++;
	}
	set_count(page, n);
}

/* Reads and locks FPM page blkno; verified. */
static Buffer
lock_fpm_page(Relation rel, uint16 treeno, Buffer buf, int lockmode)
{
	const char *reason;

	LockBuffer(buf, lockmode);
	if (zspage_verify(BufferGetPage(buf), ZS_PAGE_FPM, treeno, &reason) != ZS_PAGE_OK)
		zsbase_corrupted(rel, BufferGetBlockNumber(buf),
						 "Free page map page of tree %u: %s.", treeno, reason);
	return buf;
}

/*
 * Gives the chain a new first page.  The page is one of the tree's own free blocks, the last of the
 * highest extent, which is where it disturbs later runs least.
 */
static void
push_fpm_page(Relation rel, uint16 treeno)
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
	const ZsExtent *highest;

	change.dirbuf = zspage_lock_directory(rel, treeno, BUFFER_LOCK_EXCLUSIVE, true);
	entry = zspage_page_entry(BufferGetPage(change.dirbuf), change.first_treeno, treeno);
	if (entry->nextents == 0)
	{
		/* somebody else made room */
		UnlockReleaseBuffer(change.dirbuf);
		return;
	}
	highest = &entry->extents[entry->nextents - 1];
	blkno = highest->start + highest->length - 1;
	zspage_change_add(&change, treeno, ZS_FPM_TAKE, blkno, 1);
	zspage_change_apply(rel, &change);
	UnlockReleaseBuffer(change.dirbuf);

	ZS_INJECTION_POINT("zs-page-spill-take-page");

	/* the block is ours alone now: its buffer may be made without the lock */
	change.spillbuf = zspage_new_buffer(rel, blkno, NULL);
	zspage_init(image.data, ZS_PAGE_FPM, treeno, 0, 0, PG_UINT64_MAX);
	set_count(image.data, 0);
	change.spillimage = image.data;

	change.nops = 0;
	change.dirbuf = zspage_lock_directory(rel, treeno, BUFFER_LOCK_EXCLUSIVE, true);
	entry = zspage_page_entry(BufferGetPage(change.dirbuf), change.first_treeno, treeno);
	ZsPageGetOpaque(image.data)->right = entry->spill;
	zspage_change_add(&change, treeno, ZS_FPM_SPILL, blkno, entry->spill_maxlen);
	zspage_change_apply(rel, &change);
	UnlockReleaseBuffer(change.dirbuf);
	UnlockReleaseBuffer(change.spillbuf);
	ZS_INJECTION_POINT("zs-page-spill-push");
}

/*
 * Makes room in the entry: moves its highest extents to the first FPM page.
 */
void
zspage_spill_out(Relation rel, uint16 treeno)
{
	int			directory = zspage_directory_index(treeno);
	ZsFpmOp		ops[SPILL_BATCH + 1];
	ZsFpmChange change = {
		.first_treeno = zspage_directory_first(directory),
		.ops = ops,
		.maxops = lengthof(ops)
	};
	ZsTreeEntry entry;
	PGAlignedBlock image;
	uint32		maxlen;

	zspage_tree_entry(rel, treeno, &entry);
	if (entry.spill == 0)
	{
		push_fpm_page(rel, treeno);
		zspage_tree_entry(rel, treeno, &entry);
		if (entry.spill == 0)
			return;
	}
	change.spillbuf = zspage_read(rel, entry.spill, NULL);

	change.dirbuf = zspage_lock_directory(rel, treeno, BUFFER_LOCK_EXCLUSIVE, true);
	entry = *zspage_page_entry(BufferGetPage(change.dirbuf), change.first_treeno, treeno);
	if (entry.spill != BufferGetBlockNumber(change.spillbuf) ||
		entry.nextents < ZS_ENTRY_EXTENTS)
	{
		/* changed meanwhile: the caller looks again */
		UnlockReleaseBuffer(change.dirbuf);
		ReleaseBuffer(change.spillbuf);
		return;
	}
	lock_fpm_page(rel, treeno, change.spillbuf, BUFFER_LOCK_EXCLUSIVE);
	memcpy(image.data, BufferGetPage(change.spillbuf), BLCKSZ);
	if (zspage_fpm_count(image.data) + SPILL_BATCH > (int) ZS_FPM_PAGE_EXTENTS)
	{
		UnlockReleaseBuffer(change.spillbuf);
		UnlockReleaseBuffer(change.dirbuf);
		push_fpm_page(rel, treeno);
		return;
	}

	maxlen = entry.spill_maxlen;
	for (int i = ZS_ENTRY_EXTENTS - 1; i >= ZS_ENTRY_EXTENTS - SPILL_BATCH; i--)
	{
		zspage_change_add(&change, treeno, ZS_FPM_SPILL_OUT,
						  entry.extents[i].start, entry.extents[i].length);
		page_add_extent(image.data, entry.extents[i]);
	}
	/* merging on the page may have made an extent longer than any that came */
	for (int i = 0; i < zspage_fpm_count(image.data); i++)
		maxlen = Max(maxlen, zspage_fpm_extents(image.data)[i].length);
	zspage_change_add(&change, treeno, ZS_FPM_SPILL, entry.spill, maxlen);
	change.spillimage = image.data;
	zspage_change_apply(rel, &change);
	UnlockReleaseBuffer(change.spillbuf);
	UnlockReleaseBuffer(change.dirbuf);
	ZS_INJECTION_POINT("zs-page-spill-out");
}

/*
 * Looks through the chain under share locks, one page at a time: which page has the lowest
 * extent of at least nblocks?  *maxlen: longest extent seen.
 */
static BlockNumber
find_spilled(Relation rel, uint16 treeno, BlockNumber head, uint32 nblocks, uint32 *maxlen)
{
	BlockNumber best = 0;
	BlockNumber best_start = InvalidBlockNumber;
	uint32		npages = 0;

	*maxlen = 0;
	for (BlockNumber blkno = head; blkno != 0;)
	{
		Buffer		buf = lock_fpm_page(rel, treeno, zspage_read(rel, blkno, NULL),
										BUFFER_LOCK_SHARE);
		Page		page = BufferGetPage(buf);
		const ZsExtent *e = zspage_fpm_extents(page);
		int			n = zspage_fpm_count(page);
		BlockNumber next = ZsPageGetOpaque(page)->right;

		for (int i = 0; i < n; i++)
		{
			*maxlen = Max(*maxlen, e[i].length);
			if (e[i].length >= nblocks && e[i].start < best_start)
			{
				best = blkno;
				best_start = e[i].start;
			}
		}
		UnlockReleaseBuffer(buf);
		if (++npages > zspage_physical_blocks(rel))
			zsbase_corrupted(rel, blkno, "The free page map pages of tree %u form a circle.", treeno);
		blkno = next;
		CHECK_FOR_INTERRUPTS();
	}
	return best;
}

/*
 * Takes nblocks adjacent blocks from an FPM page, and moves a few of that page's lowest extents
 * into the entry when it has room, so that the next requests need not come here.
 * Returns 0 if no page has such a run.
 */
BlockNumber
zspage_spill_take(Relation rel, uint16 treeno, uint32 nblocks)
{
	int			directory = zspage_directory_index(treeno);
	ZsFpmOp		ops[SPILL_BATCH + 2];
	ZsFpmChange change = {
		.first_treeno = zspage_directory_first(directory),
		.ops = ops,
		.maxops = lengthof(ops)
	};
	ZsTreeEntry entry;
	PGAlignedBlock image;
	BlockNumber page_blkno;
	BlockNumber start = 0;
	uint32		maxlen;
	ZsExtent   *e;
	int			n;

	zspage_tree_entry(rel, treeno, &entry);
	if (entry.spill == 0 || entry.spill_maxlen < nblocks)
		return 0;
	page_blkno = find_spilled(rel, treeno, entry.spill, nblocks, &maxlen);

	change.spillbuf = page_blkno != 0 ? zspage_read(rel, page_blkno, NULL) : InvalidBuffer;
	change.dirbuf = zspage_lock_directory(rel, treeno, BUFFER_LOCK_EXCLUSIVE, true);
	entry = *zspage_page_entry(BufferGetPage(change.dirbuf), change.first_treeno, treeno);
	if (page_blkno == 0)
	{
		/* remember that the chain has no run that long; a lower bound would do harm only if wrong */
		if (maxlen < nblocks && entry.spill_maxlen >= nblocks)
		{
			zspage_change_add(&change, treeno, ZS_FPM_SPILL, entry.spill,
							  Max(maxlen, nblocks - 1));
			zspage_change_apply(rel, &change);
		}
		UnlockReleaseBuffer(change.dirbuf);
		return 0;
	}

	lock_fpm_page(rel, treeno, change.spillbuf, BUFFER_LOCK_EXCLUSIVE);
	memcpy(image.data, BufferGetPage(change.spillbuf), BLCKSZ);
	e = zspage_fpm_extents(image.data);
	n = zspage_fpm_count(image.data);
	for (int i = 0; i < n; i++)
	{
		if (e[i].length < nblocks)
			continue;
		start = e[i].start;
		e[i].start += nblocks;
		e[i].length -= nblocks;
		if (e[i].length == 0)
		{
			memmove(&e[i], &e[i + 1], (n - i - 1) * sizeof(ZsExtent));
			n--;
		}
		zspage_change_add(&change, treeno, ZS_FPM_SPILL_TAKE, start, nblocks);
		break;
	}
	if (start != 0)
	{
		if (entry.nextents == 0)
		{
			int			moved = Min(n, SPILL_BATCH);

			for (int i = 0; i < moved; i++)
				zspage_change_add(&change, treeno, ZS_FPM_SPILL_IN, e[i].start, e[i].length);
			memmove(&e[0], &e[moved], (n - moved) * sizeof(ZsExtent));
			n -= moved;
		}
		set_count(image.data, n);
		change.spillimage = image.data;
		zspage_change_apply(rel, &change);
	}
	UnlockReleaseBuffer(change.spillbuf);
	UnlockReleaseBuffer(change.dirbuf);
	ZS_INJECTION_POINT("zs-page-spill-in");
	return start;
}
