/*-------------------------------------------------------------------------
 *
 * page_directory.c
 *	  Tree directory: where the trees are, and what blocks they have.
 *
 * The metapage holds the entries of the first trees; wide tables continue on
 * directory pages.  Entry t is found by arithmetic.
 *
 * Locks: each function locks the metapage or a directory page for the few
 * instructions that read or change it, and holds nothing else then.  Only the
 * creation and the move of a root hold others: the new root, which nobody
 * knows yet, and the old one.  The metapage comes before a directory page, and
 * both before the pages of free page maps (page_internal.h).
 *
 * WAL and crashes: a directory page or root is linked by the record that
 * carries its image; a crash before that leaves a block that no page points
 * to, until VACUUM finds it.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_directory.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "page_internal.h"
#include "zs_page.h"
#include "zs_walrec.h"

/* Entry of treeno on a metapage or directory page whose first tree is first. */
ZsTreeEntry *
zspage_page_entry(Page page, uint16 first, uint16 treeno)
{
	Assert(treeno >= first);
	if (first == 0)
	{
		Assert(treeno < ZS_META_ENTRIES || treeno == ZS_TREE_XMIN);
		return treeno == ZS_TREE_XMIN ? &zspage_meta_data(page)->xmin_entry :
			&zspage_meta_data(page)->entries[treeno];
	}
	Assert(treeno - first < ZS_DIRECTORY_ENTRIES);
	return &((ZsDirectoryPageData *) PageGetContents(page))->entries[treeno - first];
}

/* Logs that a root, or with directory >= 0 a directory page, has moved. */
static void
log_move(Buffer entrybuf, Buffer newbuf, Buffer oldbuf, uint16 treeno, uint16 first_treeno,
		 int directory)
{
	xl_zs_page_tree xlrec = {
		.treeno = treeno,
		.first_treeno = first_treeno,
		.blkno = BufferGetBlockNumber(newbuf),
		.directory = directory
	};
	XLogRecPtr	lsn;

	XLogBeginInsert();
	XLogRegisterData(&xlrec, SizeOfZsPageTree);
	XLogRegisterBuffer(0, entrybuf, REGBUF_STANDARD);
	XLogRegisterBuffer(1, newbuf, REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
	XLogRegisterBuffer(2, oldbuf, REGBUF_WILL_INIT | REGBUF_STANDARD);
	lsn = zspage_log_tree(XLOG_ZS_PAGE_TREE);
	PageSetLSN(BufferGetPage(entrybuf), lsn);
	PageSetLSN(BufferGetPage(newbuf), lsn);
	PageSetLSN(BufferGetPage(oldbuf), lsn);
}

/* Adds directory page number directory, unless another backend just did. */
static void
create_directory_page(Relation rel, int directory)
{
	BlockNumber blkno = zspage_alloc(rel, ZS_TREE_TABLE);
	Buffer		buf = zspage_new_buffer(rel, blkno, NULL);
	Page		page = BufferGetPage(buf);
	Buffer		metabuf;
	ZsMetaPageData *meta;

	metabuf = zspage_lock_meta(rel, BUFFER_LOCK_EXCLUSIVE);
	meta = zspage_meta_data(BufferGetPage(metabuf));
	if (meta->directory[directory] != 0)
	{
		UnlockReleaseBuffer(metabuf);
		UnlockReleaseBuffer(buf);
		zspage_give_back(rel, ZS_TREE_TABLE, blkno);
		return;
	}

	ZS_INJECTION_POINT("zs-page-directory-block");

	START_CRIT_SECTION();
	zspage_init(page, ZS_PAGE_DIRECTORY, ZS_TREE_TABLE, 0, directory, directory + 1);
	((PageHeader) page)->pd_lower = PageGetContents(page) + sizeof(ZsDirectoryPageData) - page;
	meta->directory[directory] = blkno;
	meta->ndirectory = Max(meta->ndirectory, (uint32) directory + 1);
	MarkBufferDirty(buf);
	MarkBufferDirty(metabuf);
	if (RelationNeedsWAL(rel))
	{
		xl_zs_page_tree xlrec = {.blkno = blkno, .directory = directory};
		XLogRecPtr	lsn;

		XLogBeginInsert();
		XLogRegisterData(&xlrec, SizeOfZsPageTree);
		XLogRegisterBuffer(0, metabuf, REGBUF_STANDARD);
		XLogRegisterBuffer(1, buf, REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
		lsn = zspage_log_tree(XLOG_ZS_PAGE_TREE);
		PageSetLSN(page, lsn);
		PageSetLSN(BufferGetPage(metabuf), lsn);
	}
	END_CRIT_SECTION();

	UnlockReleaseBuffer(metabuf);
	UnlockReleaseBuffer(buf);
	ZS_INJECTION_POINT("zs-page-directory");
}

/*
 * The directory page of treeno, which is not on the metapage, pinned only.
 * InvalidBuffer if it does not exist and create is false.
 */
static Buffer
pin_directory(Relation rel, uint16 treeno, bool create)
{
	int			directory = zspage_directory_index(treeno);
	BlockNumber blkno;

	Assert(treeno < ZS_MAX_TREES && directory >= 0);
	for (;;)
	{
		Buffer		buf = zspage_lock_meta(rel, BUFFER_LOCK_SHARE);

		blkno = zspage_meta_data(BufferGetPage(buf))->directory[directory];
		UnlockReleaseBuffer(buf);
		if (blkno != 0)
			return zspage_read(rel, blkno, NULL);
		if (!create)
			return InvalidBuffer;
		create_directory_page(rel, directory);
	}
}

/*
 * Locks the directory page that the metapage, which is locked, leads to, and which is pinned.
 */
static void
lock_pinned_directory(Relation rel, int directory, Buffer buf, int lockmode)
{
	const char *reason = NULL;

	LockBuffer(buf, lockmode);
	if (zspage_verify(BufferGetPage(buf), ZS_PAGE_DIRECTORY, ZS_TREE_TABLE, &reason) == ZS_PAGE_OK)
		reason = ZsPageGetOpaque(BufferGetPage(buf))->lokey == (uint64) directory ?
			NULL : "wrong position";
	if (reason != NULL)
		zsbase_corrupted(rel, BufferGetBlockNumber(buf),
						 "Tree directory page %d is not valid: %s.", directory, reason);
}

/*
 * Errors if an entry of buf's page, whose first tree is first, cannot be
 * right: before blocks are taken from it or given to it.
 */
void
zspage_entry_verify(Relation rel, Buffer buf, uint16 treeno, const ZsTreeEntry *entry)
{
	const char *reason = zspage_entry_check(entry);

	if (unlikely(reason != NULL))
		zsbase_corrupted(rel, BufferGetBlockNumber(buf), "The directory entry of tree %u: %s.",
						 treeno, reason);
}

/* Blocks of the trees whose entries stand in an array. */
static uint64
count_blocks(const ZsTreeEntry *entries, int nentries)
{
	uint64		result = 0;

	for (int i = 0; i < nentries; i++)
		result += entries[i].nblocks;
	return result;
}

/*
 * Every block of the file but the metapage is counted for one tree, in the record that moves the
 * known end of the file or the block.  So the metapage, which is locked, and the directory pages,
 * that are locked here, tell if an entry is missing.  False if directory pages have come or moved
 * since they were pinned.
 */
static bool
check_sum(Relation rel, Buffer metabuf, const Buffer *pages, int npages)
{
	const ZsMetaPageData *meta = zspage_meta_data(BufferGetPage(metabuf));
	uint64		nblocks = count_blocks(meta->entries, ZS_META_ENTRIES) + 1;

	if (ZS_KEEPS_XMIN(meta->version))
		nblocks += meta->xmin_entry.nblocks;
	if ((int) meta->ndirectory != npages)
		return false;
	for (int i = 0; i < npages; i++)
	{
		if (meta->directory[i] != (BufferIsValid(pages[i]) ? BufferGetBlockNumber(pages[i]) : 0))
			return false;
	}
	for (int i = 0; i < npages; i++)
	{
		const ZsDirectoryPageData *directory;

		if (!BufferIsValid(pages[i]))
			continue;
		lock_pinned_directory(rel, i, pages[i], BUFFER_LOCK_SHARE);
		directory = (ZsDirectoryPageData *) PageGetContents(BufferGetPage(pages[i]));
		nblocks += count_blocks(directory->entries, ZS_DIRECTORY_ENTRIES);
		LockBuffer(pages[i], BUFFER_LOCK_UNLOCK);
	}
	if (nblocks != meta->file_blocks)
		zsbase_corrupted(rel, ZS_META_BLKNO,
						 "The trees in the directory have " UINT64_FORMAT " blocks, but the file should have %u.",
						 nblocks, meta->file_blocks);
	return true;
}

/*
 * Errors if the trees' blocks do not add up to the file: something in the
 * directory is wrong, e.g. zeroed. Looks at the directory once for each
 * relcache entry; no lock of a metapage or directory page held on entry.
 */
void
zspage_directory_verify(Relation rel)
{
	bool		done = zspage_rel_cache(rel)->directory_checked;

	while (unlikely(!done))
	{
		ZsMetaPageData meta;
		Buffer		pages[ZS_MAX_DIRECTORY_PAGES];
		Buffer		metabuf;

		zspage_meta_read(rel, &meta);
		for (int i = 0; i < (int) meta.ndirectory; i++)
			pages[i] = meta.directory[i] == 0 ? InvalidBuffer :
				zspage_read(rel, meta.directory[i], NULL);
		metabuf = zspage_lock_meta(rel, BUFFER_LOCK_SHARE);
		done = check_sum(rel, metabuf, pages, (int) meta.ndirectory);
		UnlockReleaseBuffer(metabuf);
		for (int i = 0; i < (int) meta.ndirectory; i++)
		{
			if (BufferIsValid(pages[i]))
				ReleaseBuffer(pages[i]);
		}
		/* reading may have processed invalidations */
		zspage_rel_cache(rel)->directory_checked = done;
	}
}

/*
 * The directory page of treeno, which is not on the metapage, and the metapage
 * before it, both pinned, locked, checked. InvalidBuffer, and *metabuf too, if
 * it does not exist and create is false.
 *
 * Metapage before directory page; the page is read before either is locked.
 * VACUUM may move it after we looked where it is, and the block may belong to
 * a tree then, for whose page no one may wait here: the metapage's lock keeps
 * it where it is.
 */
Buffer
zspage_lock_directory_and_meta(Relation rel, uint16 treeno, int lockmode, int meta_lockmode,
							   bool create, Buffer *metabuf)
{
	int			directory = zspage_directory_index(treeno);

	zspage_directory_verify(rel);
	for (;;)
	{
		Buffer		buf = pin_directory(rel, treeno, create);

		*metabuf = InvalidBuffer;
		if (!BufferIsValid(buf))
			return buf;
		*metabuf = zspage_lock_meta(rel, meta_lockmode);
		if (zspage_meta_data(BufferGetPage(*metabuf))->directory[directory] ==
			BufferGetBlockNumber(buf))
		{
			lock_pinned_directory(rel, directory, buf, lockmode);
			return buf;
		}
		UnlockReleaseBuffer(*metabuf);
		ReleaseBuffer(buf);
	}
}

/*
 * The metapage or directory page that holds treeno, pinned, locked, checked.
 * InvalidBuffer if the directory page does not exist and create is false.
 */
Buffer
zspage_lock_directory(Relation rel, uint16 treeno, int lockmode, bool create)
{
	Buffer		buf;
	Buffer		metabuf;

	if (zspage_directory_index(treeno) < 0)
	{
		zspage_directory_verify(rel);
		return zspage_lock_meta(rel, lockmode);
	}
	buf = zspage_lock_directory_and_meta(rel, treeno, lockmode, BUFFER_LOCK_SHARE, create,
										 &metabuf);
	if (BufferIsValid(metabuf))
		UnlockReleaseBuffer(metabuf);
	return buf;
}

/*
 * Moves directory page number directory from one block to another (from
 * zspage_take_free()), in one WAL record; false, with nothing changed, if it
 * is not there.  For VACUUM.
 */
bool
zspage_move_directory(Relation rel, int directory, BlockNumber from, BlockNumber to)
{
	Buffer		newbuf = zspage_new_buffer(rel, to, NULL);
	Buffer		oldbuf = zspage_read(rel, from, NULL);
	Buffer		metabuf = zspage_lock_meta(rel, BUFFER_LOCK_EXCLUSIVE);
	ZsMetaPageData *meta = zspage_meta_data(BufferGetPage(metabuf));
	bool		moved = meta->directory[directory] == from;

	if (moved)
	{
		lock_pinned_directory(rel, directory, oldbuf, BUFFER_LOCK_EXCLUSIVE);

		START_CRIT_SECTION();
		memcpy(BufferGetPage(newbuf), BufferGetPage(oldbuf), BLCKSZ);
		zspage_init(BufferGetPage(oldbuf), ZS_PAGE_FREE, ZS_TREE_TABLE, 0, 0, PG_UINT64_MAX);
		meta->directory[directory] = to;
		MarkBufferDirty(newbuf);
		MarkBufferDirty(oldbuf);
		MarkBufferDirty(metabuf);
		if (RelationNeedsWAL(rel))
			log_move(metabuf, newbuf, oldbuf, ZS_TREE_TABLE, 0, directory);
		END_CRIT_SECTION();
		LockBuffer(oldbuf, BUFFER_LOCK_UNLOCK);
	}
	UnlockReleaseBuffer(metabuf);
	ReleaseBuffer(oldbuf);
	UnlockReleaseBuffer(newbuf);
	ZS_INJECTION_POINT("zs-page-move-directory");
	return moved;
}

/* Copy of a tree's directory entry; zeroes when it has none yet. */
void
zspage_tree_entry(Relation rel, uint16 treeno, ZsTreeEntry *entry)
{
	Buffer		buf = zspage_lock_directory(rel, treeno, BUFFER_LOCK_SHARE, false);

	Assert(treeno < ZS_MAX_TREES);
	memset(entry, 0, sizeof(ZsTreeEntry));
	if (!BufferIsValid(buf))
		return;
	if (treeno == ZS_TREE_XMIN &&
		!ZS_KEEPS_XMIN(zspage_meta_data(BufferGetPage(buf))->version))
	{
		UnlockReleaseBuffer(buf);
		return;
	}
	*entry = *zspage_page_entry(BufferGetPage(buf),
								zspage_directory_first(zspage_directory_index(treeno)),
								treeno);
	zspage_entry_verify(rel, buf, treeno, entry);
	UnlockReleaseBuffer(buf);
}

/*
 * blocks[t] becomes the number of blocks of tree t, free ones left out, for the first ntrees trees,
 * among which that of xmin is not.  Locks each page of the directory once, shared.
 */
void
zspage_tree_blocks(Relation rel, int ntrees, BlockNumber *blocks)
{
	uint16		treeno = 0;

	Assert(ntrees > 0 && ntrees <= ZS_TREE_XMIN);
	memset(blocks, 0, ntrees * sizeof(BlockNumber));
	while (treeno < ntrees)
	{
		int			directory = zspage_directory_index(treeno);
		Buffer		buf = zspage_lock_directory(rel, treeno, BUFFER_LOCK_SHARE, false);

		for (; treeno < ntrees && zspage_directory_index(treeno) == directory; treeno++)
		{
			ZsTreeEntry *entry;

			if (!BufferIsValid(buf))
				continue;
			entry = zspage_page_entry(BufferGetPage(buf), zspage_directory_first(directory),
									  treeno);
			zspage_entry_verify(rel, buf, treeno, entry);
			blocks[treeno] = entry->nblocks - Min(entry->nfree, entry->nblocks);
		}
		if (BufferIsValid(buf))
			UnlockReleaseBuffer(buf);
	}
}

/*
 * Blocks of the file that are in no free page map, the metapage and leaked ones included.  Reads
 * all directory pages; others may change the maps meanwhile.
 */
BlockNumber
zspage_used_blocks(Relation rel)
{
	ZsMetaPageData meta;
	uint64		nfree = 0;

	zspage_meta_read(rel, &meta);
	for (int treeno = 0; treeno < ZS_MAX_TREES; treeno = zspage_next_tree(&meta, treeno))
	{
		ZsTreeEntry entry;

		zspage_tree_entry(rel, (uint16) treeno, &entry);
		nfree += entry.nfree;
	}
	return (BlockNumber) (meta.file_blocks - Min(nfree, (uint64) meta.file_blocks - 1));
}

/*
 * Root of a tree, 0 if the tree is empty.  Uses the relation's cache, which
 * VACUUM may have made out of date: the page tells.
 */
BlockNumber
zspage_tree_root(Relation rel, uint16 treeno)
{
	BlockNumber *cached = zspage_cached_root(zspage_rel_cache(rel), treeno);
	ZsTreeEntry entry;

	if (cached != NULL && *cached != 0)
		return *cached;
	zspage_tree_entry(rel, treeno, &entry);

	/* reading the page may have processed invalidations */
	cached = zspage_cached_root(zspage_rel_cache(rel), treeno);
	if (cached != NULL)
		*cached = entry.root;
	return entry.root;
}

/*
 * Makes blkno (from zspage_alloc(), its buffer exclusively locked by the
 * caller and holding image) the root of the empty tree treeno: one WAL record.
 * Returns false, and changes nothing, when another backend was faster.
 */
bool
zspage_tree_create(Relation rel, uint16 treeno, Buffer rootbuf, Page image)
{
	uint16		first = zspage_directory_first(zspage_directory_index(treeno));
	Buffer		dirbuf = zspage_lock_directory(rel, treeno, BUFFER_LOCK_EXCLUSIVE, true);
	ZsTreeEntry *entry = zspage_page_entry(BufferGetPage(dirbuf), first, treeno);

	if (entry->root != 0)
	{
		UnlockReleaseBuffer(dirbuf);
		return false;
	}

	START_CRIT_SECTION();
	memcpy(BufferGetPage(rootbuf), image, BLCKSZ);
	entry->root = BufferGetBlockNumber(rootbuf);
	MarkBufferDirty(rootbuf);
	MarkBufferDirty(dirbuf);
	if (RelationNeedsWAL(rel))
	{
		xl_zs_page_tree xlrec = {
			.treeno = treeno,
			.first_treeno = first,
			.blkno = BufferGetBlockNumber(rootbuf),
			.directory = -1
		};
		XLogRecPtr	lsn;

		XLogBeginInsert();
		XLogRegisterData(&xlrec, SizeOfZsPageTree);
		XLogRegisterBuffer(0, dirbuf, REGBUF_STANDARD);
		XLogRegisterBuffer(1, rootbuf, REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
		lsn = zspage_log_tree(XLOG_ZS_PAGE_TREE);
		PageSetLSN(BufferGetPage(rootbuf), lsn);
		PageSetLSN(BufferGetPage(dirbuf), lsn);
	}
	END_CRIT_SECTION();

	UnlockReleaseBuffer(dirbuf);
	ZS_INJECTION_POINT("zs-page-root");
	return true;
}

/*
 * Moves the root of a tree from oldbuf to newbuf (from zspage_take_free()),
 * both exclusively locked: one WAL record.  The old page becomes a free page,
 * by which those notice who come there.
 */
void
zspage_tree_move_root(Relation rel, uint16 treeno, Buffer oldbuf, Buffer newbuf)
{
	uint16		first = zspage_directory_first(zspage_directory_index(treeno));
	Buffer		dirbuf = zspage_lock_directory(rel, treeno, BUFFER_LOCK_EXCLUSIVE, false);
	ZsTreeEntry *entry = BufferIsValid(dirbuf) ?
		zspage_page_entry(BufferGetPage(dirbuf), first, treeno) : NULL;

	if (entry == NULL || entry->root != BufferGetBlockNumber(oldbuf))
		zsbase_corrupted(rel, BufferGetBlockNumber(oldbuf),
						 "Page says that it is the root of tree %u, which the directory does not.", treeno);

	START_CRIT_SECTION();
	memcpy(BufferGetPage(newbuf), BufferGetPage(oldbuf), BLCKSZ);
	zspage_init(BufferGetPage(oldbuf), ZS_PAGE_FREE, treeno, 0, 0, PG_UINT64_MAX);
	entry->root = BufferGetBlockNumber(newbuf);
	MarkBufferDirty(oldbuf);
	MarkBufferDirty(newbuf);
	MarkBufferDirty(dirbuf);
	if (RelationNeedsWAL(rel))
		log_move(dirbuf, newbuf, oldbuf, treeno, first, -1);
	END_CRIT_SECTION();

	UnlockReleaseBuffer(dirbuf);
	zspage_forget_roots(rel);
}
