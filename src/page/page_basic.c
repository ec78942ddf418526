/*-------------------------------------------------------------------------
 *
 * page_basic.c
 *	  Formatting, verifying, reading and writing single pages.
 *
 * Every page carries its identity in its special space.  Readers check it
 * after each step along a pointer; that is what makes stale pointers harmless
 * and wrong bytes visible.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_basic.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#include "page_internal.h"
#include "zs_compat.h"
#include "zs_page.h"
#include "zs_walrec.h"

/* Pages that go into one record of images. */
#define MAX_IMAGES		XLR_MAX_BLOCK_ID

static const char *const page_type_names[] = {
	[ZS_PAGE_INVALID] = "invalid page",
	[ZS_PAGE_META] = "metapage",
	[ZS_PAGE_DIRECTORY] = "tree directory page",
	[ZS_PAGE_FPM] = "free page map page",
	[ZS_PAGE_INNER] = "inner page",
	[ZS_PAGE_TID_LEAF] = "TID tree leaf",
	[ZS_PAGE_ROW_LEAF] = "row tree leaf",
	[ZS_PAGE_SEGMENT_INDEX] = "segment index page",
	[ZS_PAGE_SEGMENT] = "segment page",
	[ZS_PAGE_OVERFLOW] = "overflow page",
	[ZS_PAGE_FREE] = "free page",
};

/*
 * Formats a page image of BLCKSZ bytes: page header, zeroed contents, special
 * space with the given identity.  No WAL, no locks.
 */
void
zspage_init(Page page, ZsPageType type, uint16 treeno, uint8 level,
			uint64 lokey, uint64 hikey)
{
	ZsPageOpaque *opaque;

	Assert(type > ZS_PAGE_INVALID && type <= ZS_PAGE_FREE && treeno < ZS_MAX_TREES);
	PageInit(page, BLCKSZ, sizeof(ZsPageOpaque));
	opaque = ZsPageGetOpaque(page);
	opaque->lokey = lokey;
	opaque->hikey = hikey;
	opaque->treeno = treeno;
	opaque->level = level;
	opaque->page_type = (uint8) type;
	opaque->version = ZS_PAGE_VERSION;
	opaque->page_id = ZS_PAGE_ID;
}

/* Name of a page type for messages, e.g. "TID tree leaf". */
const char *
zspage_type_name(int type)
{
	if (type < 0 || type >= (int) lengthof(page_type_names))
		return "page of unknown type";
	return page_type_names[type];
}

/* Bounds of the page header that all later code relies on. */
static bool
header_is_sane(Page page)
{
	PageHeader	phdr = (PageHeader) page;

	return PageGetPageSize(page) == BLCKSZ &&
		phdr->pd_special == BLCKSZ - sizeof(ZsPageOpaque) &&
		phdr->pd_lower >= SizeOfPageHeaderData &&
		phdr->pd_lower <= phdr->pd_upper &&
		phdr->pd_upper <= phdr->pd_special;
}

/*
 * Does the page carry zedstore's identity, this type and this tree, and sane
 * pd_lower / pd_upper / pd_special?  A zeroed page is ZS_PAGE_OTHER when
 * reached by a pointer that may be stale.  *reason (may be NULL) is set to a
 * static text unless ZS_PAGE_OK.  Caller holds a content lock or a copy.
 */
ZsPageVerdict
zspage_verify(Page page, ZsPageType type, uint16 treeno, const char **reason)
{
	const char *dummy;
	ZsPageOpaque *opaque;

	if (reason == NULL)
		reason = &dummy;
	*reason = NULL;

	/* a block that was allocated and never written, or lost in a crash */
	if (PageIsNew(page))
	{
		*reason = "page is empty";
		return ZS_PAGE_OTHER;
	}
	if (!header_is_sane(page))
	{
		*reason = "invalid page header";
		return ZS_PAGE_BROKEN;
	}
	opaque = ZsPageGetOpaque(page);
	if (opaque->page_id == ZS_PAGE_ID && opaque->page_type != ZS_PAGE_ROW_LEAF &&
		((PageHeader) page)->pd_upper != ((PageHeader) page)->pd_special)
	{
		*reason = "something that is not zedstore's lies on the page";
		return ZS_PAGE_BROKEN;
	}
	if (opaque->page_id != ZS_PAGE_ID)
	{
		*reason = "no zedstore page identifier";
		return ZS_PAGE_BROKEN;
	}
	if (opaque->version != ZS_PAGE_VERSION)
	{
		*reason = opaque->version > ZS_PAGE_VERSION ?
			"page has a format version that this build does not know" : "unknown format version";
		return ZS_PAGE_BROKEN;
	}
	if (opaque->page_type == ZS_PAGE_INVALID || opaque->page_type > ZS_PAGE_FREE ||
		opaque->treeno >= ZS_MAX_TREES)
	{
		*reason = "invalid page type or tree number";
		return ZS_PAGE_BROKEN;
	}
	if (opaque->page_type != type || opaque->treeno != treeno)
	{
		*reason = "page belongs elsewhere";
		return ZS_PAGE_OTHER;
	}
	if (opaque->lokey >= opaque->hikey && type >= ZS_PAGE_INNER)
	{
		*reason = "key range is empty";
		return ZS_PAGE_BROKEN;
	}
	return ZS_PAGE_OK;
}

/* Blocks that the main fork has on disk. */
BlockNumber
zspage_physical_blocks(Relation rel)
{
	return smgrnblocks(RelationGetSmgr(rel), MAIN_FORKNUM);
}

/* Does the file have block blkno? */
bool
zspage_exists(Relation rel, BlockNumber blkno)
{
	ZsRelCache *cache = zspage_rel_cache(rel);

	if (unlikely(blkno >= cache->file_blocks))
		cache->file_blocks = zspage_physical_blocks(rel);
	return blkno < cache->file_blocks;
}

/* Raises the error for a block that the file does not have, though something leads to it. */
ZS_NORETURN static void
report_missing(Relation rel, BlockNumber blkno, const char *leads)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("table \"%s\" contains corrupted page at block %u",
					RelationGetRelationName(rel), blkno),
			 errdetail_internal("%s this block, but the file has only %u blocks.", leads,
								zspage_physical_blocks(rel)),
			 errhint("The end of the file is missing.  zs_check() tells what is lost with it; restore the table from a backup.")));
	pg_unreachable();
}

/*
 * Returns block blkno pinned and exclusively locked, zeroed; used for blocks
 * that were just allocated. Reads nothing from disk.
 *
 * Free blocks lie in the file, to which zspage_ensure_blocks() sees. A buffer for one that does
 * not could never be written, and no checkpoint would succeed any more.
 */
Buffer
zspage_new_buffer(Relation rel, BlockNumber blkno, BufferAccessStrategy strategy)
{
	Assert(blkno != ZS_META_BLKNO);
	if (unlikely(!zspage_exists(rel, blkno)))
		report_missing(rel, blkno, "The free page map lists");
	return ReadBufferExtended(rel, MAIN_FORKNUM, blkno, RBM_ZERO_AND_LOCK, strategy);
}

/*
 * Buffers that blocks were found in last, so that they are found again without the shared
 * table of buffers.  What stands here may be out of date; a buffer is asked what it holds.
 */
typedef struct BufferHint
{
	RelFileNumber relnumber;
	BlockNumber blkno;
	Buffer		buf;			/* InvalidBuffer: none */
	uint32		nreads;
} BufferHint;

#define NHINTS		16384		/* a power of two */

/*
 * One read in so many goes the usual way all the same: only that raises the buffer's usage count,
 * without which the pages used most would be evicted first.
 */
#define READS_PER_HINT	8

static BufferHint buffer_hints[NHINTS];

/* So many bytes are brought near; the processor sees by itself that more are read in sequence. */
#define EXPECTED_BYTES	256

static inline BufferHint *
find_hint(RelFileNumber relnumber, BlockNumber blkno)
{
	return &buffer_hints[murmurhash32(relnumber * 31 + blkno) % NHINTS];
}

/*
 * The block's buffer, pinned, if the hint still leads there.  Counts as a hit like any other.  A
 * temporary table may have the file number of another one, and then their buffers differ in nothing
 * but whose they are.
 */
static inline bool
read_hinted(Relation rel, BlockNumber blkno, BufferHint *hint)
{
	if (!zs_enable_fetch_cache || hint->blkno != blkno ||
		hint->relnumber != rel->rd_locator.relNumber ||
		!BufferIsValid(hint->buf) || BufferIsLocal(hint->buf) != RelationUsesLocalBuffers(rel) ||
		++hint->nreads % READS_PER_HINT == 0 ||
		!zsbase_pin_recent(&rel->rd_locator, MAIN_FORKNUM, blkno, hint->buf))
		return false;
	pgstat_count_buffer_read(rel);
	pgstat_count_buffer_hit(rel);
	zs_count_io_hit(BufferIsLocal(hint->buf) ? IOOBJECT_TEMP_RELATION : IOOBJECT_RELATION);
	if (VacuumCostActive)
		VacuumCostBalance += VacuumCostPageHit;
	return true;
}

/*
 * Pins block blkno; errors when it lies beyond the end of the file.
 *
 * The cached file length spares a system call for each read; it only ever lags
 * behind, except after a truncation, which invalidates the relation's cache.
 */
Buffer
zspage_read(Relation rel, BlockNumber blkno, BufferAccessStrategy strategy)
{
	ZsRelCache *cache = zspage_rel_cache(rel);
	BufferHint *hint;

	if (unlikely(blkno >= cache->file_blocks))
	{
		cache->file_blocks = zspage_physical_blocks(rel);
		if (blkno >= cache->file_blocks)
			report_missing(rel, blkno, "A pointer leads to");
	}
	if (strategy != NULL)
		return ReadBufferExtended(rel, MAIN_FORKNUM, blkno, RBM_NORMAL, strategy);

	hint = find_hint(rel->rd_locator.relNumber, blkno);
	if (!read_hinted(rel, blkno, hint))
	{
		hint->buf = ReadBufferExtended(rel, MAIN_FORKNUM, blkno, RBM_NORMAL, NULL);
		hint->relnumber = rel->rd_locator.relNumber;
		hint->blkno = blkno;
	}
	return hint->buf;
}

/*
 * The block is going to be read soon, and of its contents the bytes behind the page header from
 * offset on: if its buffer is known, they are brought near.  To be called for several blocks before
 * the first is read, so that memory answers for all of them at once.  No errors, whatever blkno.
 */
void
zspage_expect(Relation rel, BlockNumber blkno, uint32 offset)
{
	const BufferHint *hint = find_hint(rel->rd_locator.relNumber, blkno);

	offset += MAXALIGN(SizeOfPageHeaderData);
	if (hint->blkno == blkno && hint->relnumber == rel->rd_locator.relNumber &&
		BufferIsValid(hint->buf) && !BufferIsLocal(hint->buf))
		zsbase_expect_buffer(hint->buf, offset, Min(BLCKSZ - offset, EXPECTED_BYTES));
}

/*
 * As LockBuffer() with BUFFER_LOCK_SHARE or BUFFER_LOCK_EXCLUSIVE, but does
 * not wait: false, and not locked, if the lock is not free.
 */
bool
zspage_try_lock(Buffer buf, int lockmode)
{
	if (lockmode == BUFFER_LOCK_EXCLUSIVE)
		return ConditionalLockBuffer(buf);

	Assert(lockmode == BUFFER_LOCK_SHARE);
	return BufferIsLocal(buf) || zsbase_lock_buffer_if_free(buf);
}

/* Writes and logs up to MAX_IMAGES pages with one record. */
static void
write_record(Relation rel, int npages, const BlockNumber *blocks, char **images,
			 BufferAccessStrategy strategy)
{
	Buffer		buffers[MAX_IMAGES];

	Assert(npages > 0 && npages <= MAX_IMAGES);

	for (int i = 0; i < npages; i++)
	{
		Assert(ZsPageGetOpaque(images[i])->page_id == ZS_PAGE_ID);
		buffers[i] = zspage_new_buffer(rel, blocks[i], strategy);
	}

	if (RelationNeedsWAL(rel))
		XLogEnsureRecordSpace(npages - 1, 0);

	START_CRIT_SECTION();
	for (int i = 0; i < npages; i++)
	{
		memcpy(BufferGetPage(buffers[i]), images[i], BLCKSZ);
		MarkBufferDirty(buffers[i]);
	}
	if (RelationNeedsWAL(rel))
	{
		XLogRecPtr	lsn;

		XLogBeginInsert();
		for (int i = 0; i < npages; i++)
			XLogRegisterBuffer(i, buffers[i], REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
		lsn = zspage_log_data(XLOG_ZS_PAGE_IMAGES, images[npages / 2]);
		for (int i = 0; i < npages; i++)
			PageSetLSN(BufferGetPage(buffers[i]), lsn);
	}
	END_CRIT_SECTION();

	for (int i = 0; i < npages; i++)
		UnlockReleaseBuffer(buffers[i]);
	ZS_INJECTION_POINT("zs-page-images");
}

/*
 * Writes finished page images to the given blocks (just allocated, strictly
 * private to the caller), up to any number, and logs them as full images
 * without their holes, up to XLR_MAX_BLOCK_ID per record.  Takes and releases
 * each block's buffer lock; nothing else may be locked that a checkpoint
 * needs. Pages must have been made by zspage_init() with pd_lower set.
 */
void
zspage_write_images(Relation rel, int npages, const BlockNumber *blocks,
					char **images, BufferAccessStrategy strategy)
{
	Assert(npages > 0 && CritSectionCount == 0);
	for (int done = 0; done < npages; done += MAX_IMAGES)
	{
		CHECK_FOR_INTERRUPTS();
		write_record(rel, Min(npages - done, MAX_IMAGES), blocks + done, images + done,
					 strategy);
	}
}
