/*-------------------------------------------------------------------------
 *
 * page_change.c
 *	  Changes of directory entries: collected, then applied and logged as one.
 *
 * Blocks move between free page maps, from them to trees and back.  Such a move concerns entries on
 * one directory page, the table's own on the metapage, and perhaps an FPM page: a ZsFpmChange has
 * these pages locked and the operations.  What applies them is what redo does
 * (zspage_entry_apply()).
 *
 * WAL: PAGE_FPM.  Locks: the metapage before a directory page.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_change.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "miscadmin.h"

#include "page_internal.h"
#include "zs_compat.h"
#include "zs_page.h"

/* Appends an operation; ops[] was made large enough by the caller. */
void
zspage_change_add(ZsFpmChange *change, uint16 treeno, uint8 op,
				  BlockNumber start, uint32 length)
{
	ZsFpmOp    *o;

	Assert(length > 0 || op == ZS_FPM_CHAIN);
	Assert(change->nops < change->maxops);
	o = &change->ops[change->nops++];
	memset(o, 0, sizeof(ZsFpmOp));
	o->treeno = treeno;
	o->op = op | (treeno == ZS_TREE_XMIN ? ZS_FPM_XMIN : 0);
	o->start = start;
	o->length = length;
}

/*
 * Locks the metapage and the page with the tree's entry, which exists,
 * exclusively and sets dirbuf, first_treeno and metabuf.
 */
void
zspage_change_lock_both(Relation rel, uint16 treeno, ZsFpmChange *change)
{
	int			directory = zspage_directory_index(treeno);

	change->first_treeno = zspage_directory_first(directory);
	if (directory < 0)
	{
		zspage_directory_verify(rel);
		change->dirbuf = change->metabuf = zspage_lock_meta(rel, BUFFER_LOCK_EXCLUSIVE);
	}
	else
		change->dirbuf = zspage_lock_directory_and_meta(rel, treeno, BUFFER_LOCK_EXCLUSIVE,
														BUFFER_LOCK_EXCLUSIVE, true,
														&change->metabuf);
	zspage_entry_verify(rel, change->dirbuf, treeno, zspage_change_entry(change, treeno));
	zspage_entry_verify(rel, change->metabuf, ZS_TREE_TABLE,
						zspage_page_entry(BufferGetPage(change->metabuf), 0, ZS_TREE_TABLE));
}

/* Unlocks and releases what zspage_change_lock_both() locked. */
void
zspage_change_unlock(ZsFpmChange *change)
{
	UnlockReleaseBuffer(change->dirbuf);
	if (BufferIsValid(change->metabuf) && change->metabuf != change->dirbuf)
		UnlockReleaseBuffer(change->metabuf);
}

/* Logs a change that was applied to the pages; in its critical section. */
static void
log_change(ZsFpmChange *change, bool has_meta, const ZsFpmOp *dirops, int ndirops,
		   const ZsFpmOp *metaops, int nmetaops)
{
	xl_zs_page_fpm xlrec = {
		.file_blocks = change->file_blocks,
		.first_treeno = change->first_treeno
	};
	XLogRecPtr	lsn;

	if (change->file_blocks != 0)
		xlrec.flags |= ZS_FPMF_FILE_BLOCKS;
	if (BufferIsValid(change->chainbuf))
		xlrec.flags |= ZS_FPMF_CHAIN;
	XLogBeginInsert();
	XLogRegisterData(&xlrec, SizeOfZsPageFpm);
	XLogRegisterBuffer(0, change->dirbuf, REGBUF_STANDARD);
	if (ndirops > 0)
		XLogRegisterBufData(0, dirops, ndirops * sizeof(ZsFpmOp));
	if (has_meta)
		XLogRegisterBuffer(1, change->metabuf, REGBUF_STANDARD);
	if (nmetaops > 0)
		XLogRegisterBufData(1, metaops, nmetaops * sizeof(ZsFpmOp));
	if (BufferIsValid(change->chainbuf))
		XLogRegisterBuffer(2, change->chainbuf, REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
	lsn = zspage_log_tree(XLOG_ZS_PAGE_FPM);
	PageSetLSN(BufferGetPage(change->dirbuf), lsn);
	if (has_meta)
		PageSetLSN(BufferGetPage(change->metabuf), lsn);
	if (BufferIsValid(change->chainbuf))
		PageSetLSN(BufferGetPage(change->chainbuf), lsn);
}

/*
 * Applies the collected operations to the pages and logs them.  They are tried
 * on copies first, so that a directory entry that contradicts them is reported
 * as the corruption it is, before anything changed.
 */
void
zspage_change_apply(Relation rel, ZsFpmChange *change)
{
	Page		page = BufferGetPage(change->dirbuf);
	PGAlignedBlock copy;
	ZsTreeEntry table = {0};
	ZsFpmOp    *ops = palloc_array(ZsFpmOp, change->nops);
	int			ndirops = 0;
	int			nmetaops = 0;
	bool		has_meta;

	Assert(zs_buffer_is_exclusive(change->dirbuf));
	Assert(!BufferIsValid(change->metabuf) || zs_buffer_is_exclusive(change->metabuf));
	Assert(!BufferIsValid(change->chainbuf) || zs_buffer_is_exclusive(change->chainbuf));
	Assert(!BufferIsValid(change->chainbuf) || change->chainimage != NULL);
	Assert(change->file_blocks == 0 || BufferIsValid(change->metabuf));
	Assert(change->nops > 0);
	memcpy(copy.data, page, BLCKSZ);
	if (change->first_treeno > ZS_TREE_TABLE && BufferIsValid(change->metabuf))
		table = *zspage_page_entry(BufferGetPage(change->metabuf), 0, ZS_TREE_TABLE);

	/* those about the table's own entry go to the end, in their order */
	for (int i = 0; i < change->nops; i++)
	{
		if (change->ops[i].treeno >= change->first_treeno)
			ops[ndirops++] = change->ops[i];
	}
	for (int i = 0; i < change->nops; i++)
	{
		if (change->ops[i].treeno < change->first_treeno)
			ops[ndirops + nmetaops++] = change->ops[i];
	}
	Assert(nmetaops == 0 || BufferIsValid(change->metabuf));
	has_meta = BufferIsValid(change->metabuf) && change->metabuf != change->dirbuf &&
		(change->file_blocks != 0 || nmetaops > 0);

	for (int i = 0; i < change->nops; i++)
	{
		ZsTreeEntry *entry = i < ndirops ?
			zspage_page_entry(copy.data, change->first_treeno, ops[i].treeno) : &table;

		if (i == 0 || i == ndirops || ops[i].treeno != ops[i - 1].treeno)
			zspage_entry_verify(rel, i < ndirops ? change->dirbuf : change->metabuf, ops[i].treeno,
								entry);
		if (!zspage_entry_apply(entry, &ops[i]))
			zsbase_corrupted(rel, BufferGetBlockNumber(change->dirbuf),
							 "The free page map of tree %u contradicts operation %u on %u blocks from block %u.",
							 ops[i].treeno, ops[i].op, ops[i].length, ops[i].start);
	}
	if (change->file_blocks != 0 && !has_meta)
		zspage_meta_data(copy.data)->file_blocks = change->file_blocks;

	START_CRIT_SECTION();
	memcpy(page, copy.data, BLCKSZ);
	MarkBufferDirty(change->dirbuf);
	if (has_meta)
	{
		Page		metapage = BufferGetPage(change->metabuf);

		if (nmetaops > 0)
			*zspage_page_entry(metapage, 0, ZS_TREE_TABLE) = table;
		if (change->file_blocks != 0)
			zspage_meta_data(metapage)->file_blocks = change->file_blocks;
		MarkBufferDirty(change->metabuf);
	}
	if (BufferIsValid(change->chainbuf))
	{
		memcpy(BufferGetPage(change->chainbuf), change->chainimage, BLCKSZ);
		MarkBufferDirty(change->chainbuf);
	}
	if (RelationNeedsWAL(rel))
		log_change(change, has_meta, ops, ndirops, ops + ndirops, nmetaops);
	END_CRIT_SECTION();
	pfree(ops);
}
