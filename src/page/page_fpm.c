/*-------------------------------------------------------------------------
 *
 * page_fpm.c
 *	  Free page maps: handing out and taking back runs of blocks.
 *
 * Each tree has its own map, so a column's pages lie next to each other
 * however many sessions load at once.  The map is a short sorted list of extents in
 * the tree's directory entry, the rest of it on FPM pages (page_chain.c).  The
 * lowest extent that is long enough is used first.
 *
 * A bulk flush asks for the runs of all columns with one call: one record for
 * each directory page, and the page is locked only to move the ends of
 * extents.  Blocks are neither read nor written here.
 *
 * Crash: blocks that were taken and not linked into their tree are in no map
 * and on no tree; VACUUM finds them and gives them back.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_fpm.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/rel.h"

#include "page_internal.h"
#include "zs_page.h"

/*
 * Index behind the requests that are to lie side by side with request i, the first of them: with
 * ahead those for the same tree that follow it.
 */
static int
group_end(const ZsAllocRequest *requests, int nrequests, int i, ZsAllocAhead ahead)
{
	uint16		treeno = requests[i].treeno;

	Assert(i < nrequests);
	for (i++; ahead != ZS_ALLOC_SINGLE && i < nrequests && requests[i].treeno == treeno; i++)
		;
	return i;
}

/* Blocks of the requests [from, to). */
static uint32
group_blocks(const ZsAllocRequest *requests, int from, int to)
{
	uint32		n = 0;

	Assert(from <= to);
	for (int i = from; i < to; i++)
		n += requests[i].nblocks;
	return n;
}

/* The requests [from, to) get the blocks from start on. */
static void
group_place(ZsAllocRequest *requests, int from, int to, BlockNumber start)
{
	for (int i = from; i < to; i++)
	{
		requests[i].start = start;
		start += requests[i].nblocks;
	}
}

/*
 * No extent is long enough for the requests [from, to).  How many of the first ones fit into the
 * longest?  Sets *start.
 */
static int
fit_some(const ZsTreeEntry *entry, const ZsAllocRequest *requests, int from, int to,
		 BlockNumber *start)
{
	uint32		longest = 0;
	uint32		taken = 0;
	int			n = from;

	for (int i = 0; i < entry->nextents; i++)
	{
		if (entry->extents[i].length > longest)
		{
			longest = entry->extents[i].length;
			*start = entry->extents[i].start;
		}
	}
	while (n < to && taken + requests[n].nblocks <= longest)
		taken += requests[n++].nblocks;
	return n - from;
}

/*
 * Serves the requests of one directory page from the trees' own entries; those
 * that cannot be served keep start = 0.  Requests that are to lie side by side do so, or the first
 * of them take what the tree has left.
 */
static void
take_from_entries(Relation rel, int directory, ZsAllocRequest *requests, int nrequests,
				  ZsAllocAhead ahead, ZsFpmOp *ops)
{
	uint16		first = zspage_directory_first(directory);
	ZsFpmChange change = {.first_treeno = first, .ops = ops, .maxops = nrequests};
	PGAlignedBlock scratch;

	change.dirbuf = zspage_lock_directory(rel, Max(first, ZS_TREE_TABLE),
										  BUFFER_LOCK_EXCLUSIVE, true);

	/* several requests may be for one tree: look at a copy that moves along */
	memcpy(scratch.data, BufferGetPage(change.dirbuf), BLCKSZ);
	for (int i = 0, end; i < nrequests; i = end)
	{
		uint16		treeno = requests[i].treeno;
		ZsTreeEntry *entry;
		BlockNumber start;
		uint32		nblocks;
		int			n;

		end = group_end(requests, nrequests, i, ahead);
		if (zspage_directory_index(treeno) != directory)
			continue;
		entry = zspage_page_entry(scratch.data, first, treeno);
		zspage_entry_verify(rel, change.dirbuf, treeno, entry);
		nblocks = group_blocks(requests, i, end);
		n = end - i;
		start = zspage_entry_find(entry, nblocks);
		if (start == 0 && (entry->chain == 0 || entry->chain_maxlen < nblocks))
		{
			n = fit_some(entry, requests, i, end, &start);
			nblocks = group_blocks(requests, i, i + n);
		}
		if (start == 0 || n == 0)
			continue;
		zspage_change_add(&change, treeno, ZS_FPM_TAKE, start, nblocks);
		if (!zspage_entry_apply(entry, &change.ops[change.nops - 1]))
			zsbase_corrupted(rel, BufferGetBlockNumber(change.dirbuf),
							 "The free page map of tree %u is not valid.", treeno);
		group_place(requests, i, i + n, start);
	}
	if (change.nops > 0)
		zspage_change_apply(rel, &change);
	UnlockReleaseBuffer(change.dirbuf);
	ZS_INJECTION_POINT("zs-page-take");
}

/*
 * Takes adjacent blocks for several trees at once, with one WAL record per
 * directory page touched.  Requests may be in any order.  With ahead others like them will follow
 * (see zspage_extension_blocks()), and requests for one tree that stand side by side get blocks
 * that lie so, if there is room.
 */
void
zspage_alloc_runs(Relation rel, ZsAllocRequest *requests, int nrequests, ZsAllocAhead ahead)
{
	ZsFpmOp    *ops = palloc(nrequests * sizeof(ZsFpmOp));
	int			last = -2;

	Assert(nrequests > 0);
	for (int i = 0; i < nrequests; i++)
	{
		Assert(requests[i].nblocks > 0 && requests[i].treeno < ZS_MAX_TREES);
		requests[i].start = 0;
	}

	/* one visit to each directory page; requests usually come in tree order */
	for (int i = 0; i < nrequests; i++)
	{
		int			directory = zspage_directory_index(requests[i].treeno);
		bool		seen = directory == last;

		for (int j = 0; j < i && !seen; j++)
			seen = zspage_directory_index(requests[j].treeno) == directory;
		last = directory;
		if (!seen)
			take_from_entries(rel, directory, requests, nrequests, ahead, ops);
	}
	pfree(ops);

	for (int i = 0, end; i < nrequests; i = end)
	{
		end = group_end(requests, nrequests, i, ahead);
		while (i < end && requests[i].start != 0)
			i++;
		if (i == end)
			continue;
		CHECK_FOR_INTERRUPTS();
		group_place(requests, i, end,
					zspage_obtain_run(rel, requests[i].treeno, group_blocks(requests, i, end),
									  ahead));
	}
	for (int i = 0; i < nrequests; i++)
		zspage_ensure_blocks(rel, requests[i].start, requests[i].nblocks);
}

/*
 * From here to zspage_order_end() no other loader of the table takes blocks and row numbers
 * together: in each column the runs of loaders lie in the order of their rows.  A heavyweight lock,
 * held while maps change, the file grows and row numbers are given out, and given back by an
 * error's end of the (sub)transaction.  No lock is held on entry.  Nothing but the order depends
 * on it.
 */
void
zspage_order_begin(Relation rel)
{
	zspage_prepare_extension(rel);
	if (!RELATION_IS_LOCAL(rel))
		LockPage(rel, ZS_ORDER_BLKNO, ExclusiveLock);
}

/* See zspage_order_begin(). */
void
zspage_order_end(Relation rel)
{
	if (!RELATION_IS_LOCAL(rel))
		UnlockPage(rel, ZS_ORDER_BLKNO, ExclusiveLock);
}

/*
 * Takes one block from the tree's free page map, filling it up from the
 * table's map or by extending the file when it is empty.  The caller may hold
 * locks on tree pages if it has called zspage_prepare_extension(), none on the
 * metapage or directory.  A crash before the block is linked into its tree
 * leaks it until a later VACUUM finds it.
 */
BlockNumber
zspage_alloc(Relation rel, uint16 treeno)
{
	ZsAllocRequest request = {.treeno = treeno, .nblocks = 1};

	zspage_alloc_runs(rel, &request, 1, ZS_ALLOC_SINGLE);
	Assert(request.start != ZS_META_BLKNO);
	return request.start;
}

/*
 * Gives blocks back to the tree's free page map.  The caller made sure that no
 * pointer to them is left; readers that still follow a stale one notice.
 */
void
zspage_free_run(Relation rel, uint16 treeno, BlockNumber start, uint32 nblocks)
{
	int			directory = zspage_directory_index(treeno);
	ZsFpmOp		op;
	ZsFpmChange change = {
		.first_treeno = zspage_directory_first(directory),
		.ops = &op,
		.maxops = 1
	};

	Assert(treeno < ZS_MAX_TREES && nblocks > 0 && start != ZS_META_BLKNO);
	for (;;)
	{
		ZsTreeEntry copy;

		change.nops = 0;
		change.dirbuf = zspage_lock_directory(rel, treeno, BUFFER_LOCK_EXCLUSIVE, true);
		copy = *zspage_page_entry(BufferGetPage(change.dirbuf), change.first_treeno, treeno);
		zspage_change_add(&change, treeno, ZS_FPM_FREE, start, nblocks);

		/* applying is the only complete test for room */
		if (zspage_entry_apply(&copy, &op) || copy.nextents < ZS_ENTRY_EXTENTS)
			break;
		UnlockReleaseBuffer(change.dirbuf);
		CHECK_FOR_INTERRUPTS();
		zspage_chain_out(rel, treeno);
	}
	zspage_change_apply(rel, &change);
	UnlockReleaseBuffer(change.dirbuf);
	ZS_INJECTION_POINT("zs-page-free");
}

/*
 * Gives a block back that was taken for nothing: another backend was faster.
 * For writers; all other freeing is VACUUM's. While VACUUM looks for leaked
 * blocks it is left for that: VACUUM then holds ShareLock on heavyweight page
 * 0 of the table and relies on nobody else filling maps.
 */
void
zspage_give_back(Relation rel, uint16 treeno, BlockNumber blkno)
{
	bool		local = RELATION_IS_LOCAL(rel);

	if (!local && !ConditionalLockPage(rel, ZS_META_BLKNO, RowExclusiveLock))
		return;
	zspage_free_run(rel, treeno, blkno, 1);
	if (!local)
		UnlockPage(rel, ZS_META_BLKNO, RowExclusiveLock);
}
