/*-------------------------------------------------------------------------
 *
 * page_truncate.c
 *	  The free end of the file goes to the operating system.
 *
 * When free extents of any map reach the end of the file, VACUUM cuts them
 * off.  From the end downwards one record each takes a piece of an extent out of its map
 * and moves file_blocks to where it began; then the file itself is truncated, by
 * core's record, of which only the main fork is made use of: the visibility
 * map's blocks are logical ones.  Whoever waits for the table meanwhile gets it after that, with
 * what was cut off until then.
 *
 * Crash: after each record the maps are valid.  What lies beyond file_blocks
 * is used by the next extension, or cut off by the next VACUUM.
 *
 * Locks: AccessExclusiveLock on the table, so that no reader, here or on a
 * standby, follows a pointer into what is cut off; pages as in page_return.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_truncate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xloginsert.h"
#include "catalog/storage.h"
#include "catalog/storage_xlog.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/smgr.h"
#include "utils/inval.h"
#include "utils/rel.h"

#include "page_internal.h"
#include "zs_compat.h"
#include "zs_page.h"
#include "zs_walrec.h"

/*
 * So many blocks are cut off between two looks whether somebody waits for the table, which are as
 * far apart as heap's (VACUUM_TRUNCATE_LOCK_CHECK_INTERVAL).
 */
#define CUT_BLOCKS				1024
#define WAITERS_INTERVAL_MS		20

typedef struct OwnedExtent
{
	ZsExtent	extent;
	uint16		treeno;
} OwnedExtent;

/* Highest first. */
static int
compare_owned(const void *a, const void *b)
{
	BlockNumber x = ((const OwnedExtent *) a)->extent.start;
	BlockNumber y = ((const OwnedExtent *) b)->extent.start;

	return x < y ? 1 : x > y ? -1 : 0;
}

/*
 * Extents of all maps from the end of the known file down, without gaps; *n of them.
 */
static OwnedExtent *
tail_extents(Relation rel, int *n)
{
	ZsMetaPageData meta;
	OwnedExtent *tail = NULL;
	int			ntail = 0;
	int			maxtail = 0;
	BlockNumber end;

	zspage_meta_read(rel, &meta);
	for (int treeno = 0; treeno < ZS_MAX_TREES; treeno = zspage_next_tree(&meta, treeno))
	{
		ZsFpmCopy	map;

		CHECK_FOR_INTERRUPTS();
		zspage_fpm_copy(rel, (uint16) treeno, &map);
		if (ntail + map.nextents > maxtail)
		{
			maxtail = Max(2 * maxtail, ntail + map.nextents);
			tail = tail == NULL ?
				palloc_extended(maxtail * sizeof(OwnedExtent), MCXT_ALLOC_HUGE) :
				repalloc_huge(tail, maxtail * sizeof(OwnedExtent));
		}
		for (int i = 0; i < map.nextents; i++)
		{
			tail[ntail].extent = map.extents[i];
			tail[ntail++].treeno = (uint16) treeno;
		}
		zspage_fpm_copy_free(&map);
	}
	if (ntail > 0)
		qsort(tail, ntail, sizeof(OwnedExtent), compare_owned);

	end = meta.file_blocks;
	for (*n = 0; *n < ntail && tail[*n].extent.start + tail[*n].extent.length == end; (*n)++)
		end = tail[*n].extent.start;
	return tail;
}

/*
 * First block of the file's free tail: all blocks from there on are free, or
 * unknown to the maps.  The length of the file when there is none.
 */
BlockNumber
zspage_free_tail(Relation rel)
{
	ZsMetaPageData meta;
	int			n;
	OwnedExtent *tail = tail_extents(rel, &n);
	BlockNumber result;

	zspage_meta_read(rel, &meta);
	result = n > 0 ? tail[n - 1].extent.start : meta.file_blocks;
	if (tail != NULL)
		pfree(tail);
	return Min(result, zspage_physical_blocks(rel));
}

/*
 * Shortens the main fork: RelationTruncate() without the other forks. The comments there say
 * why each step is where it is.
 */
static void
truncate_file(Relation rel, BlockNumber old_blocks, BlockNumber new_blocks)
{
	SMgrRelation smgr = RelationGetSmgr(rel);
	ForkNumber	fork = MAIN_FORKNUM;

	smgr->smgr_targblock = InvalidBlockNumber;
	for (int i = 0; i <= MAX_FORKNUM; i++)
		smgr->smgr_cached_nblocks[i] = InvalidBlockNumber;
	RelationPreTruncate(rel);

	Assert((MyProc->delayChkptFlags & (DELAY_CHKPT_START | DELAY_CHKPT_COMPLETE)) == 0);
	MyProc->delayChkptFlags |= DELAY_CHKPT_START | DELAY_CHKPT_COMPLETE;

	START_CRIT_SECTION();
	if (RelationNeedsWAL(rel))
	{
		xl_smgr_truncate xlrec = {
			.blkno = new_blocks,
			.rlocator = rel->rd_locator,
			.flags = SMGR_TRUNCATE_HEAP
		};
		XLogRecPtr	lsn;

		XLogBeginInsert();
		XLogRegisterData(&xlrec, sizeof(xlrec));
		lsn = XLogInsert(RM_SMGR_ID, XLOG_SMGR_TRUNCATE | XLR_SPECIAL_REL_UPDATE);
		XLogFlush(lsn);
	}
	zs_smgrtruncate(RelationGetSmgr(rel), &fork, 1, &old_blocks, &new_blocks);
	END_CRIT_SECTION();

	MyProc->delayChkptFlags &= ~(DELAY_CHKPT_START | DELAY_CHKPT_COMPLETE);
}

/*
 * Names the blocks that are going to be cut off in the WAL.  pg_rewind copies from the new primary
 * what the WAL of the old one names.  What lies there may be in use on the other server, which
 * parted from this one before the pages were freed; neither that nor zeroes, when the file grows
 * again, leave a block reference.
 */
static void
log_cut_blocks(Relation rel, BlockNumber start, BlockNumber end)
{
	PGAlignedBlock page;

	/* pg_rewind needs one of the two */
	if (!RelationNeedsWAL(rel) || !XLogHintBitIsNeeded() || start >= end)
		return;
	zspage_init(page.data, ZS_PAGE_FREE, ZS_TREE_TABLE, 0, 0, PG_UINT64_MAX);
	XLogEnsureRecordSpace(XLR_MAX_BLOCK_ID - 1, 0);
	while (start < end)
	{
		int			n = (int) Min(end - start, XLR_MAX_BLOCK_ID);

		CHECK_FOR_INTERRUPTS();
		XLogBeginInsert();
		for (int i = 0; i < n; i++)
			XLogRegisterBlock(i, &rel->rd_locator, MAIN_FORKNUM, start + i, page.data,
							  REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
		START_CRIT_SECTION();
		(void) zspage_log_tree(XLOG_ZS_PAGE_IMAGES);
		END_CRIT_SECTION();
		start += n;
	}
}

/* Does somebody wait for the table?  Looks when it did not do so for a while, as heap's VACUUM. */
static bool
has_waiters(Relation rel, instr_time *looked)
{
	instr_time	now;
	instr_time	elapsed;

	INSTR_TIME_SET_CURRENT(now);
	elapsed = now;
	INSTR_TIME_SUBTRACT(elapsed, *looked);
	if (INSTR_TIME_GET_MICROSEC(elapsed) / 1000 < WAITERS_INTERVAL_MS)
		return false;
	*looked = now;
	return LockHasWaitersRelation(rel, AccessExclusiveLock);
}

/*
 * Takes free extents (highest first) off the end of the maps, and blocks behind the maps' end off
 * that of the file, which has nblocks: names them in the WAL, piece by piece from the end.  Blocks
 * that the maps do not know are looked at before (page_foreign.c).  Ends early (*suspended) when
 * somebody waits for the table.  Returns where the file is to end.
 */
static BlockNumber
cut_tail(Relation rel, const OwnedExtent *tail, int ntail, BlockNumber nblocks, bool *suspended)
{
	ZsMetaPageData meta;
	BlockNumber end = nblocks;
	instr_time	looked;

	INSTR_TIME_SET_CURRENT(looked);
	zspage_meta_read(rel, &meta);
	while (end > meta.file_blocks && !*suspended)
	{
		BlockNumber start = end - Min(end - meta.file_blocks, CUT_BLOCKS);
		BlockNumber foreign = zspage_find_foreign(rel, start, end);

		if (foreign != InvalidBlockNumber)
			zspage_report_foreign(rel, foreign, false);
		log_cut_blocks(rel, start, end);
		end = start;
		*suspended = has_waiters(rel, &looked);
	}
	for (int i = 0; i < ntail && !*suspended; i++)
	{
		ZsExtent	extent = tail[i].extent;

		while (extent.length > 0 && !*suspended)
		{
			uint32		length = Min(extent.length, CUT_BLOCKS);
			BlockNumber start = extent.start + extent.length - length;
			bool		full;

			CHECK_FOR_INTERRUPTS();
			if (!zspage_take_away(rel, tail[i].treeno, extent, length, false, &full))
				zsbase_corrupted(rel, ZS_META_BLKNO,
								 "The free page map of tree %u does not have its free blocks from %u on.",
								 tail[i].treeno, start);
			ZS_INJECTION_POINT("zs-page-cut-tail");
			log_cut_blocks(rel, start, end);
			end = Min(end, start);
			extent.length -= length;
			*suspended = has_waiters(rel, &looked);
		}
	}
	return end;
}

/*
 * Takes the free tail out of the maps, as of now, and shortens the file. The
 * caller holds AccessExclusiveLock on the table. Returns the new length in
 * blocks; *old_blocks is the length before.  *suspended: somebody waits for the table, so the
 * caller is to let it go; more may be left to cut off.
 */
BlockNumber
zspage_truncate_tail(Relation rel, BlockNumber *old_blocks, bool *suspended)
{
	BlockNumber end;
	int			n;
	OwnedExtent *tail = tail_extents(rel, &n);

	Assert(CheckRelationLockedByMe(rel, AccessExclusiveLock, false));
	*suspended = false;
	*old_blocks = zspage_physical_blocks(rel);
	end = cut_tail(rel, tail, n, *old_blocks, suspended);
	if (tail != NULL)
		pfree(tail);

	ZS_INJECTION_POINT("zs-page-truncate");
	if (*old_blocks <= end)
		return *old_blocks;
	truncate_file(rel, *old_blocks, end);

	/* the length of the file is remembered there; others lose it with VACUUM's invalidation */
	zspage_forget_roots(rel);
	CacheInvalidateRelcache(rel);
	return end;
}
