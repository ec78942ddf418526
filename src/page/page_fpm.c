/*-------------------------------------------------------------------------
 *
 * page_fpm.c
 *	  Free page maps: handing out and taking back runs of blocks.
 *
 * Each tree has its own map, so a column's pages lie next to each other
 * however many sessions load at once.  The map is a short sorted list of extents in
 * the tree's directory entry, the rest of it on FPM pages (page_spill.c).  The
 * lowest extent that is long enough is used first.
 *
 * A bulk flush asks for the runs of all columns with one call: one record for
 * each directory page, and the page is locked only to move the ends of
 * extents.  Blocks are neither read nor written here.
 *
 * Crash: blocks that were taken and not linked into their tree are in no map
 * and on no tree; zs_check() finds them, VACUUM FULL gives them back.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_fpm.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "page_internal.h"
#include "zs_page.h"
#include "zs_walrec.h"

/* Appends an operation; ops[] was made large enough by the caller. */
void
zspage_change_add(ZsFpmChange *change, uint16 treeno, uint8 op,
				  BlockNumber start, uint32 length)
{
	ZsFpmOp    *o;

	Assert(change->nops < change->maxops);
	o = &change->ops[change->nops++];
	memset(o, 0, sizeof(ZsFpmOp));
	o->treeno = treeno;
	o->op = op;
	o->start = start;
	o->length = length;
}

/*
 * Applies the collected operations to the page and logs them.  They are tried
 * on a copy first, so that a directory entry that contradicts them is reported
 * as the corruption it is, before anything changed.
 */
void
zspage_change_apply(Relation rel, ZsFpmChange *change)
{
	Page		page = BufferGetPage(change->dirbuf);
	PGAlignedBlock copy;
	bool		has_meta = change->file_blocks != 0 && change->metabuf != change->dirbuf;

	Assert(change->nops > 0);
	memcpy(copy.data, page, BLCKSZ);
	for (int i = 0; i < change->nops; i++)
	{
		ZsFpmOp    *op = &change->ops[i];

		if (!zspage_entry_apply(zspage_page_entry(copy.data, change->first_treeno, op->treeno), op))
			zsbase_corrupted(rel, BufferGetBlockNumber(change->dirbuf),
							 "The free page map of tree %u contradicts operation %u on %u blocks from block %u.",
							 op->treeno, op->op, op->length, op->start);
	}
	if (change->file_blocks != 0 && !has_meta)
		zspage_meta_data(copy.data)->file_blocks = change->file_blocks;

	START_CRIT_SECTION();
	memcpy(page, copy.data, BLCKSZ);
	MarkBufferDirty(change->dirbuf);
	if (has_meta)
	{
		zspage_meta_data(BufferGetPage(change->metabuf))->file_blocks = change->file_blocks;
		MarkBufferDirty(change->metabuf);
	}
	if (BufferIsValid(change->spillbuf))
	{
		memcpy(BufferGetPage(change->spillbuf), change->spillimage, BLCKSZ);
		MarkBufferDirty(change->spillbuf);
	}
	if (RelationNeedsWAL(rel))
	{
		xl_zs_page_fpm xlrec = {
			.file_blocks = change->file_blocks,
			.first_treeno = change->first_treeno
		};
		XLogRecPtr	lsn;

		if (change->file_blocks != 0)
			xlrec.flags |= ZS_FPMF_FILE_BLOCKS;
		if (BufferIsValid(change->spillbuf))
			xlrec.flags |= ZS_FPMF_SPILL;
		XLogBeginInsert();
		XLogRegisterData(&xlrec, SizeOfZsPageFpm);
		XLogRegisterBuffer(0, change->dirbuf, REGBUF_STANDARD);
		XLogRegisterBufData(0, change->ops, change->nops * sizeof(ZsFpmOp));
		if (has_meta)
			XLogRegisterBuffer(1, change->metabuf, REGBUF_STANDARD);
		if (BufferIsValid(change->spillbuf))
			XLogRegisterBuffer(2, change->spillbuf, REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
		lsn = XLogInsert(ZS_RMGR_ID, XLOG_ZS_PAGE_FPM);
		PageSetLSN(page, lsn);
		if (has_meta)
			PageSetLSN(BufferGetPage(change->metabuf), lsn);
		if (BufferIsValid(change->spillbuf))
			PageSetLSN(BufferGetPage(change->spillbuf), lsn);
	}
	END_CRIT_SECTION();
}

/*
 * Serves the requests of one directory page from the trees' own entries; those
 * that cannot be served keep start = 0.
 */
static void
take_from_entries(Relation rel, int directory, ZsAllocRequest *requests, int nrequests,
				  ZsFpmOp *ops)
{
	uint16		first = zspage_directory_first(directory);
	ZsFpmChange change = {.first_treeno = first, .ops = ops, .maxops = nrequests};
	PGAlignedBlock scratch;

	change.dirbuf = zspage_lock_directory(rel, Max(first, ZS_TREE_TABLE),
										  BUFFER_LOCK_EXCLUSIVE, true);

	/* several requests may be for one tree: look at a copy that moves along */
	memcpy(scratch.data, BufferGetPage(change.dirbuf), BLCKSZ);
	for (int i = 0; i < nrequests; i++)
	{
		ZsAllocRequest *req = &requests[i];
		ZsTreeEntry *entry;
		BlockNumber start;

		if (zspage_directory_index(req->treeno) != directory)
			continue;
		entry = zspage_page_entry(scratch.data, first, req->treeno);
		if (entry->nextents > ZS_ENTRY_EXTENTS)
			zsbase_corrupted(rel, BufferGetBlockNumber(change.dirbuf),
							 "The directory entry of tree %u has %u extents.",
							 req->treeno, entry->nextents);
		start = zspage_entry_find(entry, req->nblocks);
		if (start == 0)
			continue;
		zspage_change_add(&change, req->treeno, ZS_FPM_TAKE, start, req->nblocks);
		if (!zspage_entry_apply(entry, &change.ops[change.nops - 1]))
			zsbase_corrupted(rel, BufferGetBlockNumber(change.dirbuf),
							 "The free page map of tree %u is not valid.", req->treeno);
		req->start = start;
	}
	if (change.nops > 0)
		zspage_change_apply(rel, &change);
	UnlockReleaseBuffer(change.dirbuf);
	ZS_INJECTION_POINT("zs-page-take");
}

void
zspage_alloc_runs(Relation rel, ZsAllocRequest *requests, int nrequests)
{
	ZsFpmOp    *ops = palloc(nrequests * sizeof(ZsFpmOp));
	int			last = -2;

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
			take_from_entries(rel, directory, requests, nrequests, ops);
	}
	pfree(ops);

	for (int i = 0; i < nrequests; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (requests[i].start == 0)
			requests[i].start = zspage_obtain_run(rel, requests[i].treeno, requests[i].nblocks);
	}
}

BlockNumber
zspage_alloc(Relation rel, uint16 treeno)
{
	ZsAllocRequest request = {.treeno = treeno, .nblocks = 1};

	zspage_alloc_runs(rel, &request, 1);
	return request.start;
}

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
		zspage_spill_out(rel, treeno);
	}
	zspage_change_apply(rel, &change);
	UnlockReleaseBuffer(change.dirbuf);
	ZS_INJECTION_POINT("zs-page-free");
}

void
zspage_fpm_visit(Relation rel, uint16 treeno, ZsExtentVisitor fn, void *arg)
{
	ZsTreeEntry entry;
	BlockNumber blkno;
	uint64		steps = 0;

	zspage_tree_entry(rel, treeno, &entry);
	for (int i = 0; i < entry.nextents; i++)
		fn(treeno, entry.extents[i], arg);

	for (blkno = entry.spill; blkno != 0;)
	{
		Buffer		buf = zspage_read(rel, blkno, NULL);
		PGAlignedBlock copy;
		const char *reason;
		int			n;

		CHECK_FOR_INTERRUPTS();
		LockBuffer(buf, BUFFER_LOCK_SHARE);
		memcpy(copy.data, BufferGetPage(buf), BLCKSZ);
		UnlockReleaseBuffer(buf);
		if (zspage_verify(copy.data, ZS_PAGE_FPM, treeno, &reason) != ZS_PAGE_OK)
			zsbase_corrupted(rel, blkno, "Free page map page of tree %u: %s.", treeno, reason);
		if (++steps > zspage_physical_blocks(rel))
			zsbase_corrupted(rel, blkno, "The free page map pages of tree %u form a circle.", treeno);
		n = zspage_fpm_count(copy.data);
		for (int i = 0; i < n; i++)
			fn(treeno, zspage_fpm_extents(copy.data)[i], arg);
		blkno = ZsPageGetOpaque(copy.data)->right;
	}
}
