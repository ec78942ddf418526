/*-------------------------------------------------------------------------
 *
 * page_meta.c
 *	  Metapage: its creation and checks, and what a backend remembers of a file.
 *
 * The metapage is block 0.  It holds the directory entries of the first trees
 * (page_directory.c), the next row number and the insert cursors (page_rows.c),
 * and the length of the file as far as free page maps know it.  A file that is shorter gets its
 * length back here.
 *
 * Locks: each function locks the metapage for the few instructions that read
 * it, and holds nothing else then, but for the relation extension lock.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_meta.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/storage.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/bulk_write.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#include "page_internal.h"
#include "zs_compat.h"
#include "zs_page.h"

/* ---- creation and checks ------------------------------------------------- */

/* Formats an empty metapage. */
static void
init_meta_page(Page page)
{
	ZsMetaPageData *meta;

	zspage_init(page, ZS_PAGE_META, ZS_TREE_TABLE, 0, 0, PG_UINT64_MAX);
	meta = zspage_meta_data(page);
	meta->magic = ZS_META_MAGIC;
	meta->version = (uint16) zs_debug_format_version;
	meta->file_blocks = 1;
	for (int i = 0; i < ZS_INSERT_CURSORS; i++)
		meta->cursors[i] = ZS_INVALID_ROW;
	((PageHeader) page)->pd_lower =
		(char *) meta + (ZS_KEEPS_XMIN(meta->version) ? sizeof(ZsMetaPageData) :
						 offsetof(ZsMetaPageData, xmin_entry)) - (char *) page;
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
	if (meta->magic != ZS_META_MAGIC || meta->version < ZS_FORMAT_VERSION_MIN)
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

/*
 * Do frozen rows of the table keep the id of the transaction that wrote them?  Those of a file that
 * an older release made do not.  Asks the metapage once for each relcache entry; locks it shared
 * then, and nothing else may be locked that comes behind it.
 */
bool
zspage_keeps_xmin(Relation rel)
{
	uint16		version = zspage_rel_cache(rel)->version;

	if (unlikely(version == 0))
	{
		Buffer		buf = zspage_lock_meta(rel, BUFFER_LOCK_SHARE);

		version = zspage_meta_data(BufferGetPage(buf))->version;
		UnlockReleaseBuffer(buf);
		/* reading the page may have processed invalidations */
		zspage_rel_cache(rel)->version = version;
	}
	return ZS_KEEPS_XMIN(version);
}

/* Copies of metapage fields, for inspection. */
void
zspage_meta_read(Relation rel, ZsMetaPageData *meta)
{
	Buffer		buf = zspage_lock_meta(rel, BUFFER_LOCK_SHARE);

	memcpy(meta, zspage_meta_data(BufferGetPage(buf)), sizeof(ZsMetaPageData));
	UnlockReleaseBuffer(buf);
	if (!ZS_KEEPS_XMIN(meta->version))
		memset(&meta->xmin_entry, 0, sizeof(ZsTreeEntry));
}

/*
 * The tree behind treeno of those that the directory has entries for, empty ones included, in
 * ascending order: from 0 to below ZS_MAX_TREES.
 */
int
zspage_next_tree(const ZsMetaPageData *meta, int treeno)
{
	int			ntrees = ZS_META_ENTRIES + (int) meta->ndirectory * ZS_DIRECTORY_ENTRIES;

	return treeno + 1 < ntrees ? treeno + 1 : Max(treeno + 1, ZS_TREE_XMIN);
}

/* ---- the length of the file ------------------------------------------------------------ */

/*
 * Makes the file, which has nblocks, as long as file_blocks.  The caller holds the relation
 * extension lock (or the table is temporary).
 */
void
zspage_make_file(Relation rel, BlockNumber nblocks, BlockNumber file_blocks)
{
	IOObject	object = RelationUsesLocalBuffers(rel) ? IOOBJECT_TEMP_RELATION : IOOBJECT_RELATION;

	if (nblocks < file_blocks)
	{
		smgrzeroextend(RelationGetSmgr(rel), MAIN_FORKNUM, nblocks, (int) (file_blocks - nblocks),
					   false);
		zs_count_io_extend(object, file_blocks - nblocks);
	}

	/*
	 * With wal_level = minimal commit may log the pages of a new file instead of syncing it, but no
	 * page that is all zeroes.  After a crash of the machine the file would end before free blocks
	 * at its end.
	 */
	if (RelationIsPermanent(rel) && !RelationNeedsWAL(rel))
	{
		Buffer		buf = ReadBufferExtended(rel, MAIN_FORKNUM, file_blocks - 1,
											 RBM_ZERO_AND_LOCK, NULL);

		zspage_init(BufferGetPage(buf), ZS_PAGE_FREE, ZS_TREE_TABLE, 0, 0, PG_UINT64_MAX);
		MarkBufferDirty(buf);
		UnlockReleaseBuffer(buf);
	}
}

/* Warns that the file is shorter than the metapage says, and is going to be made longer. */
void
zspage_report_short(Relation rel, BlockNumber nblocks, BlockNumber file_blocks)
{
	ereport(WARNING,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("file of table \"%s\" has %u of %u blocks",
					RelationGetRelationName(rel), nblocks, file_blocks),
			 errdetail("Its end is missing.  The file gets empty blocks instead."),
			 errhint("Nothing is lost if these blocks were free; zs_check() tells.  Else restore the table from a backup.")));
}

/*
 * Sees to it that the file has these free blocks.  It is shorter than the metapage says if
 * something has cut it off: a backup tool, or storage that forgot what it had confirmed.  Free
 * blocks are as good when they are made anew; what was in use is lost, as those find who read it.
 * The caller may hold what it may hold for zspage_alloc().
 */
void
zspage_ensure_blocks(Relation rel, BlockNumber start, uint32 nblocks)
{
	bool		need_lock = !RELATION_IS_LOCAL(rel);
	ZsMetaPageData meta;
	BlockNumber physical;

	Assert(nblocks > 0);
	if (likely(zspage_exists(rel, start + nblocks - 1)))
		return;
	if (need_lock)
		LockRelationForExtension(rel, ExclusiveLock);
	zspage_meta_read(rel, &meta);
	physical = zspage_physical_blocks(rel);
	if (physical < meta.file_blocks)
	{
		zspage_report_short(rel, physical, meta.file_blocks);
		zspage_make_file(rel, physical, meta.file_blocks);
	}
	if (need_lock)
		UnlockRelationForExtension(rel, ExclusiveLock);
}
