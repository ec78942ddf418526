/*-------------------------------------------------------------------------
 *
 * page_meta.c
 *	  Metapage and tree directory: where the trees are, and which row numbers
 *	  are taken.
 *
 * The metapage is block 0.  It holds the directory entries of the first trees;
 * wide tables continue on directory pages.  Entry t is found by arithmetic.
 *
 * Locks: each function locks the metapage or a directory page for the few instructions that read or
 * change it, and holds nothing else then.  Only the creation and the move of a root hold others:
 * the new root, which nobody knows yet, and the old one.
 *
 * WAL and crashes: row numbers are handed out by a record of their own before
 * rows with them are written; a crash in between leaves row numbers unused.
 * A directory page or root is linked by the record that carries its image; a
 * crash before that leaves a block that no page points to, until VACUUM finds it.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_meta.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xloginsert.h"
#include "catalog/pg_class.h"
#include "catalog/storage.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bulk_write.h"
#include "storage/smgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "page_internal.h"
#include "zs_page.h"
#include "zs_walrec.h"

/* ---- creation and checks ------------------------------------------------- */

/* Formats an empty metapage. */
static void
init_meta_page(Page page)
{
	ZsMetaPageData *meta;

	zspage_init(page, ZS_PAGE_META, ZS_TREE_TABLE, 0, 0, PG_UINT64_MAX);
	meta = zspage_meta_data(page);
	meta->magic = ZS_META_MAGIC;
	meta->version = ZS_FORMAT_VERSION;
	meta->file_blocks = 1;
	for (int i = 0; i < ZS_INSERT_CURSORS; i++)
		meta->cursors[i] = ZS_INVALID_ROW;
	((PageHeader) page)->pd_lower =
		(char *) meta + sizeof(ZsMetaPageData) - (char *) page;
}

/*
 * Writes and logs the metapage of a new, empty main or init fork.
 *
 * The relation's own relcache entry still points to the old file, so this goes
 * below the buffer manager, as core's index build of an empty fork does.
 */
void
zspage_meta_create(const RelFileLocator *locator, char persistence,
				   ForkNumber forknum)
{
	SMgrRelation smgr;
	BulkWriteState *bulk;
	BulkWriteBuffer buf;
	bool		use_wal;

	smgr = smgropen(*locator, persistence == RELPERSISTENCE_TEMP ?
					ProcNumberForTempRelations() : INVALID_PROC_NUMBER);

	/* with wal_level = minimal, commit syncs the new file instead */
	use_wal = forknum == INIT_FORKNUM ||
		(persistence == RELPERSISTENCE_PERMANENT && XLogIsNeeded());
	bulk = smgr_bulk_start_smgr(smgr, forknum, use_wal);
	buf = smgr_bulk_get_buf(bulk);
	init_meta_page((Page) buf);
	smgr_bulk_write(bulk, ZS_META_BLKNO, buf, true);
	smgr_bulk_finish(bulk);
}

/* Error unless the page is a metapage of a format version that we know. */
static void
check_meta(Relation rel, Page page)
{
	ZsMetaPageData *meta;
	const char *reason;

	/* the version comes first: a newer one may look different in everything else */
	if (!PageIsNew(page) &&
		((PageHeader) page)->pd_special == BLCKSZ - sizeof(ZsPageOpaque) &&
		ZsPageGetOpaque(page)->page_id == ZS_PAGE_ID &&
		zspage_meta_data(page)->magic == ZS_META_MAGIC &&
		zspage_meta_data(page)->version > ZS_FORMAT_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" has zedstore format version %u, which this version of zedstore_io does not know",
						RelationGetRelationName(rel), zspage_meta_data(page)->version),
				 errdetail("The newest version it knows is %d.", ZS_FORMAT_VERSION),
				 errhint("Install a newer release of zedstore_io and restart the server.")));

	if (zspage_verify(page, ZS_PAGE_META, ZS_TREE_TABLE, &reason) != ZS_PAGE_OK)
		zsbase_corrupted(rel, ZS_META_BLKNO, "The metapage is not valid: %s.", reason);
	meta = zspage_meta_data(page);
	if (meta->magic != ZS_META_MAGIC || meta->version != ZS_FORMAT_VERSION)
		zsbase_corrupted(rel, ZS_META_BLKNO,
						 "The metapage has magic number 0x%08X and version %u.",
						 meta->magic, meta->version);
	if (meta->ndirectory > ZS_MAX_DIRECTORY_PAGES || meta->next_row > ZS_MAX_ROW)
		zsbase_corrupted(rel, ZS_META_BLKNO, "The metapage has a counter out of range.");
	if (meta->next_row % ZS_STRIPE_ROWS != 0 ||
		(meta->next_row == 0 && meta->entries[ZS_TREE_TID].root != 0) || meta->file_blocks == 0 ||
		(meta->ndirectory > 0 && meta->directory[meta->ndirectory - 1] == 0) ||
		(meta->ndirectory < ZS_MAX_DIRECTORY_PAGES && meta->directory[meta->ndirectory] != 0))
		zsbase_corrupted(rel, ZS_META_BLKNO, "The metapage contradicts itself.");
	for (int i = 0; i < ZS_INSERT_CURSORS; i++)
	{
		if (meta->cursors[i] != ZS_INVALID_ROW &&
			(meta->cursors[i] % ZS_STRIPE_ROWS != 0 || meta->cursors[i] >= meta->next_row))
			zsbase_corrupted(rel, ZS_META_BLKNO,
							 "Insert cursor %d of the metapage is out of range.", i);
	}
}

/* The metapage, pinned, locked, checked. */
Buffer
zspage_lock_meta(Relation rel, int lockmode)
{
	Buffer		buf = ReadBuffer(rel, ZS_META_BLKNO);

	Assert(lockmode == BUFFER_LOCK_SHARE || lockmode == BUFFER_LOCK_EXCLUSIVE);
	LockBuffer(buf, lockmode);
	check_meta(rel, BufferGetPage(buf));
	return buf;
}

/* Copies of metapage fields, for inspection. */
void
zspage_meta_read(Relation rel, ZsMetaPageData *meta)
{
	Buffer		buf = zspage_lock_meta(rel, BUFFER_LOCK_SHARE);

	memcpy(meta, zspage_meta_data(BufferGetPage(buf)), sizeof(ZsMetaPageData));
	UnlockReleaseBuffer(buf);
}

/* How many trees the directory has entries for, empty ones included. */
int
zspage_tree_count(const ZsMetaPageData *meta)
{
	return Min(ZS_META_ENTRIES + (int) meta->ndirectory * ZS_DIRECTORY_ENTRIES, ZS_MAX_TREES);
}

/* ---- the backend's cache ---------------------------------------------------- */

/*
 * What is known of a file must be forgotten when VACUUM shortened it: before the next access, not
 * only when the invalidation that VACUUM's transaction sends at its end arrives.  The storage
 * manager hears at once of a file that was truncated, and resets its target block, of which tables
 * like ours make no other use.
 *
 * The block that stands there otherwise is one that no file has: a library that takes the table for
 * a heap fails to read it, instead of writing its row into a page of ours.
 */
#define CACHE_IS_VALID	MaxBlockNumber

/*
 * What the backend remembers of the table's file, made if there is nothing
 * yet.  Valid until the next relcache invalidation: not to be kept over
 * anything that may process one.  Forgets lengths and roots when the file was
 * shortened.
 */
ZsRelCache *
zspage_rel_cache(Relation rel)
{
	ZsRelCache *cache = (ZsRelCache *) rel->rd_amcache;
	int			ntrees = ZsTreeOfAttr(RelationGetNumberOfAttributes(rel)) + 1;

	if (unlikely(RelationGetTargetBlock(rel) != CACHE_IS_VALID))
	{
		if (cache != NULL)
		{
			cache->file_blocks = 0;
			cache->length_checked = 0;
			memset(cache->roots, 0, cache->ntrees * sizeof(BlockNumber));
		}
		RelationSetTargetBlock(rel, CACHE_IS_VALID);
	}

	/* a column added in this command may not have reached the cache's size */
	if (unlikely(cache == NULL || cache->ntrees < ntrees))
	{
		if (cache != NULL)
			pfree(cache);
		rel->rd_amcache = NULL;
		cache = MemoryContextAllocZero(CacheMemoryContext,
									   offsetof(ZsRelCache, roots) + ntrees * sizeof(BlockNumber));
		cache->ntrees = ntrees;
		cache->extension_factor = -1;
		rel->rd_amcache = cache;
	}
	return cache;
}

/* Drops the cached roots of this relcache entry. */
void
zspage_forget_roots(Relation rel)
{
	if (rel->rd_amcache != NULL)
		pfree(rel->rd_amcache);
	rel->rd_amcache = NULL;
}

/* Drops the cached root of one tree. */
void
zspage_forget_root(Relation rel, uint16 treeno)
{
	ZsRelCache *cache = zspage_rel_cache(rel);

	if (treeno < cache->ntrees)
		cache->roots[treeno] = 0;
}

/* ---- directory ---------------------------------------------------------------- */

/* Entry of treeno on a metapage or directory page whose first tree is first. */
ZsTreeEntry *
zspage_page_entry(Page page, uint16 first, uint16 treeno)
{
	Assert(treeno >= first);
	if (first == 0)
	{
		Assert(treeno < ZS_META_ENTRIES);
		return &zspage_meta_data(page)->entries[treeno];
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
	lsn = XLogInsert(ZS_RMGR_ID, XLOG_ZS_PAGE_TREE);
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
		lsn = XLogInsert(ZS_RMGR_ID, XLOG_ZS_PAGE_TREE);
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
	if (!BufferIsValid(buf))
	{
		memset(entry, 0, sizeof(ZsTreeEntry));
		return;
	}
	*entry = *zspage_page_entry(BufferGetPage(buf),
								zspage_directory_first(zspage_directory_index(treeno)),
								treeno);
	zspage_entry_verify(rel, buf, treeno, entry);
	UnlockReleaseBuffer(buf);
}

/*
 * Root of a tree, 0 if the tree is empty.  Uses the relation's cache, which
 * VACUUM may have made out of date: the page tells.
 */
BlockNumber
zspage_tree_root(Relation rel, uint16 treeno)
{
	ZsRelCache *cache = zspage_rel_cache(rel);
	ZsTreeEntry entry;

	if (treeno < cache->ntrees && cache->roots[treeno] != 0)
		return cache->roots[treeno];
	zspage_tree_entry(rel, treeno, &entry);

	/* reading the page may have processed invalidations */
	cache = zspage_rel_cache(rel);
	if (treeno < cache->ntrees)
		cache->roots[treeno] = entry.root;
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
		lsn = XLogInsert(ZS_RMGR_ID, XLOG_ZS_PAGE_TREE);
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

/* ---- row numbers ------------------------------------------------------------------ */

/* First row number never handed out: the table's logical end. */
uint64
zspage_next_row(Relation rel)
{
	Buffer		buf = zspage_lock_meta(rel, BUFFER_LOCK_SHARE);
	uint64		next_row = zspage_meta_data(BufferGetPage(buf))->next_row;

	UnlockReleaseBuffer(buf);
	return next_row;
}

/* Block numbers that TIDs of the table can have: those of its row numbers. */
BlockNumber
zspage_logical_blocks(Relation rel)
{
	return (BlockNumber) ((zspage_next_row(rel) + ZS_ROWS_PER_BLOCK - 1) / ZS_ROWS_PER_BLOCK);
}

/* Logs and applies new values; cursorno -1 = no cursor changes.  buf is exclusively locked. */
static void
update_meta(Relation rel, Buffer buf, uint64 next_row, int cursorno, uint64 cursor)
{
	ZsMetaPageData *meta = zspage_meta_data(BufferGetPage(buf));

	START_CRIT_SECTION();
	meta->next_row = next_row;
	if (cursorno >= 0)
		meta->cursors[cursorno] = cursor;
	MarkBufferDirty(buf);
	if (RelationNeedsWAL(rel))
	{
		xl_zs_page_meta xlrec = {
			.next_row = next_row,
			.cursor = cursor,
			.cursorno = cursorno
		};

		XLogBeginInsert();
		XLogRegisterData(&xlrec, SizeOfZsPageMeta);
		XLogRegisterBuffer(0, buf, REGBUF_STANDARD);
		PageSetLSN(BufferGetPage(buf), XLogInsert(ZS_RMGR_ID, XLOG_ZS_PAGE_META));
	}
	END_CRIT_SECTION();
}

/*
 * Moves next_row beyond nrows rows from the next stripe boundary, and cursor
 * cursorno (-1 = none) to them; returns the first.  buf is the metapage, exclusively locked.
 */
static uint64
hand_out_rows(Relation rel, Buffer buf, uint64 nrows, int cursorno)
{
	ZsMetaPageData *meta = zspage_meta_data(BufferGetPage(buf));
	uint64		first = TYPEALIGN64(ZS_STRIPE_ROWS, meta->next_row);

	Assert(nrows > 0 && nrows % ZS_STRIPE_ROWS == 0);
	if (first >= ZS_MAX_ROW || nrows > ZS_MAX_ROW - first)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("table \"%s\" has no row numbers left", RelationGetRelationName(rel)),
				 errhint("Rewrite the table with VACUUM FULL, or partition it.")));

	update_meta(rel, buf, first + nrows, cursorno, first);
	return first;
}

/*
 * Hands out nrows consecutive row numbers, the first aligned to
 * ZS_STRIPE_ROWS. ERRCODE_PROGRAM_LIMIT_EXCEEDED when the table is full.
 */
uint64
zspage_reserve_rows(Relation rel, uint64 nrows)
{
	Buffer		buf = zspage_lock_meta(rel, BUFFER_LOCK_EXCLUSIVE);
	uint64		first;

	first = hand_out_rows(rel, buf, TYPEALIGN64(ZS_STRIPE_ROWS, nrows), -1);
	UnlockReleaseBuffer(buf);
	ZS_INJECTION_POINT("zs-page-reserve-rows");
	return first;
}

/* Is the table's only stripe, the first, one that small inserts fill? */
static bool
first_stripe_is_open(const ZsMetaPageData *meta)
{
	if (meta->next_row != ZS_STRIPE_ROWS)
		return false;
	for (int i = 0; i < ZS_INSERT_CURSORS; i++)
	{
		if (meta->cursors[i] == 0)
			return true;
	}
	return false;
}

/*
 * Stripe that small inserts of cursor cursorno fill (0 .. ZS_INSERT_CURSORS -
 * 1).  When it is still old_stripe, or there is none, a new stripe is handed
 * out and recorded first.  Pass ZS_INVALID_ROW to ask only: then a cursor that
 * has none shares the first stripe of a table that has no other.
 */
uint64
zspage_cursor_stripe(Relation rel, int cursorno, uint64 old_stripe)
{
	Buffer		buf;
	uint64		stripe;

	Assert(cursorno >= 0 && cursorno < ZS_INSERT_CURSORS);

	/* asking is common, moving on is rare */
	buf = zspage_lock_meta(rel, BUFFER_LOCK_SHARE);
	stripe = zspage_meta_data(BufferGetPage(buf))->cursors[cursorno];
	if (stripe != ZS_INVALID_ROW && stripe != old_stripe)
	{
		UnlockReleaseBuffer(buf);
		return stripe;
	}

	/* a small table is filled in order, whoever inserts; only then sessions go apart */
	if (stripe == ZS_INVALID_ROW && old_stripe == ZS_INVALID_ROW &&
		first_stripe_is_open(zspage_meta_data(BufferGetPage(buf))))
	{
		UnlockReleaseBuffer(buf);
		return 0;
	}
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);

	LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
	stripe = zspage_meta_data(BufferGetPage(buf))->cursors[cursorno];
	if (stripe == ZS_INVALID_ROW || stripe == old_stripe)
		stripe = hand_out_rows(rel, buf, ZS_STRIPE_ROWS, cursorno);
	UnlockReleaseBuffer(buf);
	ZS_INJECTION_POINT("zs-page-cursor-stripe");
	return stripe;
}

/*
 * Points a cursor to a stripe that the caller owns and did not fill, so that
 * small inserts go on behind a bulk load.
 */
void
zspage_cursor_move(Relation rel, int cursorno, uint64 stripe)
{
	Buffer		buf = zspage_lock_meta(rel, BUFFER_LOCK_EXCLUSIVE);
	ZsMetaPageData *meta = zspage_meta_data(BufferGetPage(buf));

	Assert(cursorno >= 0 && cursorno < ZS_INSERT_CURSORS);
	Assert(stripe % ZS_STRIPE_ROWS == 0 && stripe < meta->next_row);
	if (meta->cursors[cursorno] != stripe)
		update_meta(rel, buf, meta->next_row, cursorno, stripe);
	UnlockReleaseBuffer(buf);
	ZS_INJECTION_POINT("zs-page-cursor-move");
}

/*
 * Gives rows [first, end) of an earlier reservation back if nothing was handed
 * out behind them since; otherwise returns false, and they are still the
 * caller's. first is aligned; the rows must be unused in the TID tree.
 */
bool
zspage_unreserve_rows(Relation rel, uint64 first, uint64 end)
{
	Buffer		buf;
	bool		last;

	Assert(first % ZS_STRIPE_ROWS == 0 && first <= end);
	if (first == end)
		return true;
	buf = zspage_lock_meta(rel, BUFFER_LOCK_EXCLUSIVE);
	last = zspage_meta_data(BufferGetPage(buf))->next_row == end;
	if (last)
		update_meta(rel, buf, first, -1, 0);
	UnlockReleaseBuffer(buf);
	ZS_INJECTION_POINT("zs-page-unreserve-rows");
	return last;
}
