/*-------------------------------------------------------------------------
 *
 * check_vismap.c
 *	  zs_check(): visibility map bits of a TID leaf's range.
 *
 * Rules (tid_vismap.c):
 *	1. all-visible: everybody sees every row of the block that is not unused;
 *	2. all-frozen: besides, no transaction id of theirs will ever need freezing;
 *	3. a bit is set only for a block whose rows lie on one leaf;
 *	4. and only if that leaf has ZS_PAGEF_ANY_VISIBLE.
 *
 * Bits change under the leaf's exclusive lock.  So the bits are first compared
 * with a copy of the leaf; what does not fit is looked at again with the leaf
 * share-locked, which decides.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/check_vismap.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/visibilitymap.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"

#include "check_internal.h"
#include "zs_btree.h"

/* Logical blocks on one page of the map, as in visibilitymap.c. */
#define BLOCKS_PER_MAP_PAGE \
	((BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * (BITS_PER_BYTE / BITS_PER_HEAPBLOCK))

/* Blocks of one leaf that are reported; more would say nothing new. */
#define MAX_REPORTS		10

typedef struct VismapCheck
{
	BlockNumber blkno;			/* of the leaf */
	Page		page;
	int			nruns;
	const ZsTidRun *runs;
	const ZsRowFate *fates;
	Buffer		vmbuf;
	BlockNumber last_suspect;	/* logical block looked at under lock last */
	int			nreports;
} VismapCheck;

/* What is wrong with the bits of a block, given a leaf that holds its first row; NULL = nothing. */
static const char *
judge_block(ZsCheck *check, Page leaf, BlockNumber block, uint8 bits)
{
	const ZsPageOpaque *opaque = ZsPageGetOpaque(leaf);
	zstid		first = (zstid) block * ZS_ROWS_PER_BLOCK;
	zstid		end = first + ZS_ROWS_PER_BLOCK;
	ZsVisSlot  *slots;
	ZsTidRun   *runs;
	int			nslots;
	int			nruns;

	if (bits == 0)
		return NULL;
	if (bits == VISIBILITYMAP_ALL_FROZEN)
		return "is all-frozen, but not all-visible";
	if (opaque->lokey > first || opaque->hikey < end)
		return "is marked, but its rows lie on two leaves";
	if ((opaque->flags & ZS_PAGEF_ANY_VISIBLE) == 0)
		return "is marked, but the leaf says that none of its blocks is";
	if (zstid_leaf_unpack(leaf, &nslots, &slots, &nruns, &runs, NULL) != NULL)
		return NULL;			/* reported elsewhere */

	for (int i = 0; i < nruns; i++)
	{
		uint16		slotno = runs[i].slotno;
		ZsRowFate	fate;

		if (runs[i].first + runs[i].count <= first || runs[i].first >= end)
			continue;
		zscheck_row_fate(check, slotno, slotno < ZS_FIRST_REAL_SLOT ? NULL :
						 &slots[slotno - ZS_FIRST_REAL_SLOT], &fate);
		if (!fate.all_visible)
			return "is all-visible, but has rows that some do not see";
		if ((bits & VISIBILITYMAP_ALL_FROZEN) != 0 && !fate.all_frozen)
			return "is all-frozen, but has rows that are not";
	}
	return NULL;
}

/* Looks at a suspect block with its leaf locked. */
static void
settle_block(ZsCheck *check, VismapCheck *vismap, BlockNumber block)
{
	PGAlignedBlock leaf;
	const char *reason;
	uint8		bits;
	Buffer		buf;

	if (block == vismap->last_suspect || vismap->nreports >= MAX_REPORTS)
		return;
	vismap->last_suspect = block;

	/* the map page is pinned by the first call and not read again under the lock */
	(void) visibilitymap_get_status(check->rel, block, &vismap->vmbuf);
	buf = zsbtree_search(check->rel, ZS_TREE_TID, (zstid) block * ZS_ROWS_PER_BLOCK,
						 BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buf))
		return;
	bits = visibilitymap_get_status(check->rel, block, &vismap->vmbuf);
	memcpy(leaf.data, BufferGetPage(buf), BLCKSZ);
	UnlockReleaseBuffer(buf);

	reason = judge_block(check, leaf.data, block, bits);
	if (reason != NULL)
	{
		vismap->nreports++;
		zscheck_error(check, vismap->blkno, ZS_TREE_TID, "visibility map: logical block %u %s",
					  block, reason);
	}
}

/* Looks for `forbidden` bits of the logical blocks first..last. */
static void
check_blocks(ZsCheck *check, VismapCheck *vismap, uint64 first, uint64 last, uint8 forbidden)
{
	for (uint64 block = first; block <= last && vismap->nreports < MAX_REPORTS; block++)
	{
		uint8		bits = visibilitymap_get_status(check->rel, (BlockNumber) block,
													&vismap->vmbuf);

		if ((bits & forbidden) != 0 || bits == VISIBILITYMAP_ALL_FROZEN)
			settle_block(check, vismap, (BlockNumber) block);
		CHECK_FOR_INTERRUPTS();
	}
}

/* ZsCheckStep */
static void
check_bits(ZsCheck *check, void *arg)
{
	VismapCheck *vismap = arg;
	const ZsPageOpaque *opaque = ZsPageGetOpaque(vismap->page);
	uint64		nmarked = (uint64) smgrnblocks(RelationGetSmgr(check->rel), VISIBILITYMAP_FORKNUM) *
		BLOCKS_PER_MAP_PAGE;
	uint64		first = opaque->lokey / ZS_ROWS_PER_BLOCK;
	uint64		last = (Min(opaque->hikey, ZS_MAX_ROW) - 1) / ZS_ROWS_PER_BLOCK;

	if (nmarked == 0 || first >= nmarked)
		return;
	last = Min(last, nmarked - 1);
	vismap->vmbuf = InvalidBuffer;

	/* a block that the leaf has only a part of is at one of the ends */
	if (opaque->lokey % ZS_ROWS_PER_BLOCK != 0)
		check_blocks(check, vismap, first, first, VISIBILITYMAP_VALID_BITS);
	if (opaque->hikey % ZS_ROWS_PER_BLOCK != 0 && opaque->hikey < ZS_MAX_ROW)
		check_blocks(check, vismap, last, last, VISIBILITYMAP_VALID_BITS);

	if ((opaque->flags & ZS_PAGEF_ANY_VISIBLE) == 0)
		check_blocks(check, vismap, first, last, VISIBILITYMAP_VALID_BITS);
	else
	{
		for (int i = 0; i < vismap->nruns; i++)
		{
			const ZsTidRun *run = &vismap->runs[i];
			uint64		run_last = (run->first + run->count - 1) / ZS_ROWS_PER_BLOCK;

			if (vismap->fates[i].all_frozen)
				continue;
			check_blocks(check, vismap, run->first / ZS_ROWS_PER_BLOCK, Min(run_last, last),
						 vismap->fates[i].all_visible ? VISIBILITYMAP_ALL_FROZEN :
						 VISIBILITYMAP_VALID_BITS);
		}
	}
	if (BufferIsValid(vismap->vmbuf))
		ReleaseBuffer(vismap->vmbuf);
}

/* Visibility map bits of a leaf's range; fates[i] belongs to runs[i]. */
void
zscheck_vismap(ZsCheck *check, BlockNumber blkno, Page page, int nruns, const ZsTidRun *runs,
			   const ZsRowFate *fates)
{
	VismapCheck vismap = {
		.blkno = blkno,
		.page = page,
		.nruns = nruns,
		.runs = runs,
		.fates = fates,
		.last_suspect = InvalidBlockNumber
	};
	char	   *error;

	if (!smgrexists(RelationGetSmgr(check->rel), VISIBILITYMAP_FORKNUM))
		return;
	error = zscheck_protect(check, check_bits, &vismap);
	if (error != NULL)
		zscheck_error(check, blkno, ZS_TREE_TID, "visibility map: %s", error);
}
