/*-------------------------------------------------------------------------
 *
 * tid_vismap.c
 *	  The visibility map of a zedstore table.
 *
 * The fork has core's page format, two bits per block, so that core's readers
 * (index-only scans, relation statistics) work unchanged.  Its blocks are the
 * logical ones: 256 row numbers each.  Core's functions that set and clear
 * bits log records of heap, which name heap pages; hence these.
 *
 * Rules:
 *	  1. A bit is set or cleared only under the exclusive lock of the TID leaf
 *		 that holds the block's rows.
 *	  2. A bit is set only for a block that lies within one leaf.
 *	  3. A leaf for whose range a bit may be set has ZS_PAGEF_ANY_VISIBLE, set in the
 *		 same WAL record.
 *
 * The map page is pinned before the leaf is locked; its content lock is taken
 * last and held for a few instructions.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_vismap.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/visibilitymap.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "tid_internal.h"
#include "zs_btree.h"
#include "zs_page.h"

/* core's layout, see visibilitymap.c */
#define BLOCKS_PER_BYTE		(BITS_PER_BYTE / BITS_PER_HEAPBLOCK)
#define MAP_SIZE			(BLCKSZ - MAXALIGN(SizeOfPageHeaderData))
#define BLOCKS_PER_PAGE		(MAP_SIZE * BLOCKS_PER_BYTE)
#define ROWS_PER_PAGE		((zstid) BLOCKS_PER_PAGE * ZS_ROWS_PER_BLOCK)

/* Ranges that go into one record. */
#define MAX_RANGES			512

/* First row behind those that the map page of row covers. */
zstid
zstid_vm_page_end(zstid row)
{
	return (row / ROWS_PER_PAGE + 1) * ROWS_PER_PAGE;
}

/* Byte of the map page that holds the block's bits, and their place in it. */
static inline uint8 *
block_byte(Buffer vmbuf, BlockNumber blkno, int *shift)
{
	BlockNumber index = blkno % BLOCKS_PER_PAGE;

	Assert(BufferIsValid(vmbuf));
	Assert(BufferGetBlockNumber(vmbuf) == blkno / BLOCKS_PER_PAGE);
	*shift = (index % BLOCKS_PER_BYTE) * BITS_PER_HEAPBLOCK;
	return (uint8 *) PageGetContents(BufferGetPage(vmbuf)) + index / BLOCKS_PER_BYTE;
}

/*
 * Is any of the bits set for one of the blocks first..last?  They lie on the
 * same map page.  The caller holds the leaf's lock, so that they cannot change.
 */
bool
zstid_vm_test(Buffer vmbuf, BlockNumber first, BlockNumber last, uint8 bits)
{
	for (BlockNumber blkno = first; blkno <= last; blkno++)
	{
		int			shift;
		uint8	   *byte = block_byte(vmbuf, blkno, &shift);

		/* long ranges: nothing in four blocks at once */
		if (shift == 0 && *byte == 0 && last - blkno >= BLOCKS_PER_BYTE)
		{
			blkno += BLOCKS_PER_BYTE - 1;
			continue;
		}
		if ((*byte >> shift) & bits)
			return true;
	}
	return false;
}

/*
 * Clears bits of the blocks first..last.  The map page is exclusively locked;
 * called in the critical section of the change that needs it, and in redo.
 */
void
zstid_vm_clear(Buffer vmbuf, BlockNumber first, BlockNumber last, uint8 bits)
{
	Assert(bits != VISIBILITYMAP_ALL_VISIBLE);
	for (BlockNumber blkno = first; blkno <= last; blkno++)
	{
		int			shift;
		uint8	   *byte = block_byte(vmbuf, blkno, &shift);

		*byte &= ~(bits << shift);
	}
	MarkBufferDirty(vmbuf);
}

/* Are all these bits set for all of the blocks? */
static bool
all_set(Buffer vmbuf, BlockNumber first, uint32 nblocks, uint8 bits)
{
	for (uint32 i = 0; i < nblocks; i++)
	{
		int			shift;
		uint8	   *byte = block_byte(vmbuf, first + i, &shift);

		if (((*byte >> shift) & bits) != bits)
			return false;
	}
	return true;
}

/* Collects ranges of blocks. */
typedef struct RangeList
{
	ZsTidVmRange *ranges;
	int			nranges;
	int			max_ranges;
	Buffer		vmbuf;
} RangeList;

/* Adds blocks, unless the map has these bits already. */
static void
add_range(RangeList *list, BlockNumber first, uint32 nblocks, uint8 bits)
{
	ZsTidVmRange *last = list->nranges > 0 ? &list->ranges[list->nranges - 1] : NULL;

	/* frozen but not visible to all is no state that the map knows */
	if (!(bits & VISIBILITYMAP_ALL_VISIBLE) || nblocks == 0 ||
		all_set(list->vmbuf, first, nblocks, bits))
		return;
	if (last != NULL && last->first + last->nblocks == first && last->bits == bits)
	{
		last->nblocks += nblocks;
		return;
	}
	if (list->nranges == list->max_ranges)
		return;
	list->ranges[list->nranges].first = first;
	list->ranges[list->nranges].nblocks = nblocks;
	list->ranges[list->nranges].bits = bits;
	list->nranges++;
}

/*
 * Blocks of the rows [start, end) of a locked leaf for which bits may be set and
 * are not yet.  slot_bits: by slot number, the bits that a row with this slot
 * allows its block to have.  All blocks lie on the map page in vmbuf; those that
 * the leaf holds only in part are left out.  Returns the number of ranges; what is beyond
 * max_ranges is left for next time.
 */
int
zstid_vm_ranges(Page page, const uint8 *slot_bits, zstid start, zstid end, Buffer vmbuf,
				ZsTidVmRange *ranges, int max_ranges)
{
	RangeList	list = {.ranges = ranges, .max_ranges = max_ranges, .vmbuf = vmbuf};
	const ZsPageOpaque *opaque = ZsPageGetOpaque(page);
	ZsTidWalk	walk;
	ZsTidRun	run;
	const char *reason = zstid_walk_begin(&walk, page);
	zstid		block_end = 0;	/* end of the block that is being looked at */
	uint8		bits = 0;		/* what its rows so far allow; 0 rows allow nothing */
	bool		any_row = false;

	/* only whole blocks */
	start = TYPEALIGN64(ZS_ROWS_PER_BLOCK, Max(start, opaque->lokey));
	if (end > opaque->hikey)
		end = opaque->hikey;
	end &= ~(zstid) (ZS_ROWS_PER_BLOCK - 1);

	while (reason == NULL && zstid_walk_next(&walk, &run, &reason))
	{
		zstid		row = Max(run.first, start);
		zstid		run_end = Min(run.first + run.count, end);

		while (row < run_end && run.slotno != ZS_SLOT_UNUSED)
		{
			zstid		next;

			if (row >= block_end)
			{
				if (any_row)
					add_range(&list, (BlockNumber) (block_end / ZS_ROWS_PER_BLOCK) - 1, 1, bits);
				any_row = false;
				bits = VISIBILITYMAP_VALID_BITS;
				block_end = (row / ZS_ROWS_PER_BLOCK + 1) * ZS_ROWS_PER_BLOCK;
			}
			if (row % ZS_ROWS_PER_BLOCK == 0 && run_end - row >= ZS_ROWS_PER_BLOCK)
			{
				uint32		nblocks = (uint32) ((run_end - row) / ZS_ROWS_PER_BLOCK);

				add_range(&list, (BlockNumber) (row / ZS_ROWS_PER_BLOCK), nblocks,
						  slot_bits[run.slotno]);
				row += (zstid) nblocks * ZS_ROWS_PER_BLOCK;
				block_end = row;
				continue;
			}
			next = Min(run_end, block_end);
			any_row = true;
			bits &= slot_bits[run.slotno];
			row = next;
		}
	}
	if (any_row)
		add_range(&list, (BlockNumber) (block_end / ZS_ROWS_PER_BLOCK) - 1, 1, bits);
	return list.nranges;
}

/*
 * Adds to counts what setting the bits of these ranges changes.  The caller holds the leaf's lock,
 * so that they cannot change.
 */
void
zstid_vm_count(Buffer vmbuf, const ZsTidVmRange *ranges, int nranges, ZsTidVmCounts *counts)
{
	for (int i = 0; i < nranges; i++)
	{
		bool		frozen = (ranges[i].bits & VISIBILITYMAP_ALL_FROZEN) != 0;

		for (uint32 k = 0; k < ranges[i].nblocks; k++)
		{
			int			shift;
			uint8		old = *block_byte(vmbuf, ranges[i].first + k, &shift) >> shift;

			if (!(old & VISIBILITYMAP_ALL_VISIBLE))
			{
				counts->visible++;
				counts->visible_frozen += frozen;
			}
			else if (frozen && !(old & VISIBILITYMAP_ALL_FROZEN))
				counts->frozen++;
		}
	}
}

/* Sets bits of a range; used under the page's lock and in redo. */
void
zstid_vm_apply(Buffer vmbuf, const ZsTidVmRange *ranges, int nranges)
{
	for (int i = 0; i < nranges; i++)
	{
		Assert((ranges[i].bits & ~VISIBILITYMAP_VALID_BITS) == 0);
		Assert(ranges[i].bits != VISIBILITYMAP_ALL_FROZEN);
		for (uint32 k = 0; k < ranges[i].nblocks; k++)
		{
			int			shift;
			uint8	   *byte = block_byte(vmbuf, ranges[i].first + k, &shift);

			*byte |= ranges[i].bits << shift;
		}
	}
	MarkBufferDirty(vmbuf);
}

/* Logs a change of the map page in a critical section. */
static void
log_vismap(Buffer leafbuf, Buffer vmbuf, const ZsTidVmRange *ranges, int nranges,
		   TransactionId horizon, uint8 flags)
{
	xl_zs_tid_vismap xlrec = {
		.horizon = horizon,
		.nranges = nranges,
		.flags = flags
	};
	XLogRecPtr	lsn;

	XLogBeginInsert();
	XLogRegisterData(&xlrec, SizeOfZsTidVismap);
	XLogRegisterBuffer(0, vmbuf, 0);
	XLogRegisterBufData(0, ranges, nranges * sizeof(ZsTidVmRange));
	if (flags & ZS_TIDVMF_LEAF)
		XLogRegisterBuffer(1, leafbuf, REGBUF_STANDARD);
	lsn = zspage_log_tree(XLOG_ZS_TID_VISMAP);
	PageSetLSN(BufferGetPage(vmbuf), lsn);
	if (flags & ZS_TIDVMF_LEAF)
		PageSetLSN(BufferGetPage(leafbuf), lsn);
}

/*
 * Sets bits for ranges of blocks that lie on the map page pinned in vmbuf.
 * The leaf is exclusively locked and holds all rows of these blocks; it gets
 * ZS_PAGEF_ANY_VISIBLE.  horizon: newest transaction whose rows become
 * all-visible by this.
 */
void
zstid_vm_set(Relation rel, Buffer leafbuf, Buffer vmbuf, const ZsTidVmRange *ranges,
			 int nranges, TransactionId horizon)
{
	ZsPageOpaque *opaque = ZsPageGetOpaque(BufferGetPage(leafbuf));

	Assert(nranges > 0 && !RecoveryInProgress());
	LockBuffer(vmbuf, BUFFER_LOCK_EXCLUSIVE);
	while (nranges > 0)
	{
		int			n = Min(nranges, MAX_RANGES);
		bool		first_time = (opaque->flags & ZS_PAGEF_ANY_VISIBLE) == 0;
		uint8		flags = first_time ? ZS_TIDVMF_LEAF : 0;

		if (RelationIsAccessibleInLogicalDecoding(rel))
			flags |= ZS_TIDVMF_CATALOG;

		START_CRIT_SECTION();
		zstid_vm_apply(vmbuf, ranges, n);
		if (first_time)
		{
			opaque->flags |= ZS_PAGEF_ANY_VISIBLE;
			MarkBufferDirty(leafbuf);
		}
		if (RelationNeedsWAL(rel))
			log_vismap(leafbuf, vmbuf, ranges, n, horizon, flags);
		END_CRIT_SECTION();

		ranges += n;
		nranges -= n;
	}
	LockBuffer(vmbuf, BUFFER_LOCK_UNLOCK);
}

/*
 * Clears both bits of a block that a page split is going to cut in two.  The leaf is
 * exclusively locked, the map page pinned.
 */
void
zstid_vm_clear_block(Relation rel, Buffer vmbuf, BlockNumber blkno)
{
	ZsTidVmRange range = {.first = blkno, .nblocks = 1, .bits = VISIBILITYMAP_VALID_BITS};

	LockBuffer(vmbuf, BUFFER_LOCK_EXCLUSIVE);
	START_CRIT_SECTION();
	zstid_vm_clear(vmbuf, blkno, blkno, VISIBILITYMAP_VALID_BITS);
	if (RelationNeedsWAL(rel))
		log_vismap(InvalidBuffer, vmbuf, &range, 1, InvalidTransactionId, ZS_TIDVMF_CLEAR);
	END_CRIT_SECTION();
	LockBuffer(vmbuf, BUFFER_LOCK_UNLOCK);
}

/*
 * After COPY FREEZE: sets the visibility map bits of the logical blocks within
 * [start, end), the ones at the ends included, whose rows are all frozen.
 * Takes one leaf's exclusive lock at a time; WAL-logged where the relation is.
 * An optimization: what a crash or an error leaves out, VACUUM does.
 *
 * Sets the bits of blocks whose rows are all frozen. Ranges beyond MAX_RANGES
 * in one leaf are left to VACUUM; a load has few.
 */
void
zstid_mark_frozen(Relation rel, zstid start, zstid end)
{
	uint8		slot_bits[ZS_FIRST_REAL_SLOT + ZS_TID_MAX_SLOTS] = {0};
	ZsTidVmRange ranges[MAX_RANGES];
	Buffer		vmbuf = InvalidBuffer;
	zstid		row = start & ~(zstid) (ZS_ROWS_PER_BLOCK - 1);

	slot_bits[ZS_SLOT_FROZEN] = slot_bits[ZS_SLOT_RETIRED] = VISIBILITYMAP_VALID_BITS;
	end = TYPEALIGN64(ZS_ROWS_PER_BLOCK, end);
	while (row < end)
	{
		Buffer		buf;
		zstid		step_end;
		int			nranges;

		CHECK_FOR_INTERRUPTS();
		visibilitymap_pin(rel, zs_row_block(row), &vmbuf);
		buf = zsbtree_search(rel, ZS_TREE_TID, row, BUFFER_LOCK_EXCLUSIVE);
		if (!BufferIsValid(buf))
			break;
		step_end = Min(ZsPageGetOpaque(BufferGetPage(buf))->hikey, zstid_vm_page_end(row));
		nranges = zstid_vm_ranges(BufferGetPage(buf), slot_bits, row, Min(step_end, end), vmbuf,
								  ranges, MAX_RANGES);
		if (nranges > 0)
			zstid_vm_set(rel, buf, vmbuf, ranges, nranges, InvalidTransactionId);
		UnlockReleaseBuffer(buf);
		Assert(step_end > row);
		row = step_end;
	}
	if (BufferIsValid(vmbuf))
		ReleaseBuffer(vmbuf);
}
