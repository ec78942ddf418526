/*-------------------------------------------------------------------------
 *
 * page_extent.c
 *	  Arithmetic on the extents of one directory entry, or of one FPM page.
 *
 * The functions for entries run when a change is made first and in redo, so
 * both arrive at the same bytes.  Those for FPM pages change an image, which the
 * record has in full.  None of them looks at a buffer or a relation:
 * fuzz/page_extent_fuzz.c compares them with an array of blocks, without a
 * server.
 *
 * Invariants of an entry:
 *	  1. extents are sorted by start, do not overlap and do not touch
 *	  2. no extent is empty
 *	  3. nfree = sum of the extents here + what lies on FPM pages
 *	  4. nfree <= nblocks
 *	  5. unused array members are zero
 *
 * 1 and 2 hold for an FPM page as well.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_extent.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "page_internal.h"
#include "zs_page.h"

/*
 * What is wrong with a directory entry; NULL = nothing.
 *
 * Invariants 1, 2, 4 and 5; 3 as far as it can be seen here.
 */
const char *
zspage_entry_check(const ZsTreeEntry *entry)
{
	uint64		nfree = 0;

	if (entry->nextents > ZS_ENTRY_EXTENTS)
		return "too many extents";
	for (int i = 0; i < ZS_ENTRY_EXTENTS; i++)
	{
		const ZsExtent *e = &entry->extents[i];

		if (i >= entry->nextents)
		{
			if (e->start != 0 || e->length != 0)
				return "unused extent is not zero";
			continue;
		}
		if (e->length == 0 || e->start == ZS_META_BLKNO)
			return "empty extent";
		if ((uint64) e->start + e->length > MaxBlockNumber)
			return "extent out of range";
		if (i > 0 && (uint64) e[-1].start + e[-1].length >= e->start)
			return "extents overlap or touch";
		nfree += e->length;
	}
	if (nfree > entry->nfree || (entry->chain == 0 && nfree != entry->nfree))
		return "free block count does not match the extents";
	if (entry->nfree > entry->nblocks)
		return "more free blocks than blocks";
	return NULL;
}

/*
 * NULL, or what is wrong with the extents of an FPM page: they are sorted and
 * do not touch.
 */
const char *
zspage_fpm_page_check(Page page)
{
	const ZsExtent *e = zspage_fpm_extents(page);
	int			n = zspage_fpm_count(page);

	if (((PageHeader) page)->pd_lower != (char *) (e + n) - (char *) page)
		return "extent array has a broken end";
	for (int i = 0; i < n; i++)
	{
		if (e[i].length == 0 || e[i].start == ZS_META_BLKNO ||
			(uint64) e[i].start + e[i].length > MaxBlockNumber)
			return "extent out of range";
		if (i > 0 && (uint64) e[i - 1].start + e[i - 1].length >= e[i].start)
			return "extents overlap or touch";
	}
	return NULL;
}

/*
 * Adds an extent to the image of an FPM page that has room for it and none of
 * its blocks, merging neighbours.
 */
void
zspage_fpm_page_add(Page image, ZsExtent add)
{
	ZsExtent   *e = zspage_fpm_extents(image);
	int			n = zspage_fpm_count(image);
	int			i = 0;

	while (i < n && e[i].start < add.start)
		i++;
	if (i > 0 && e[i - 1].start + e[i - 1].length == add.start)
	{
		e[i - 1].length += add.length;
		if (i < n && e[i - 1].start + e[i - 1].length == e[i].start)
		{
			e[i - 1].length += e[i].length;
			memmove(&e[i], &e[i + 1], (n - i - 1) * sizeof(ZsExtent));
			n--;
		}
	}
	else if (i < n && add.start + add.length == e[i].start)
	{
		e[i].start = add.start;
		e[i].length += add.length;
	}
	else
	{
		Assert(n < (int) ZS_FPM_PAGE_EXTENTS);
		memmove(&e[i + 1], &e[i], (n - i) * sizeof(ZsExtent));
		e[i] = add;
		n++;
	}
	zspage_fpm_set_count(image, n);
}

/*
 * Takes blocks out of the image of an FPM page, from within an extent too; false, with nothing
 * changed, if it does not have them in one extent, or has no room for the two parts that are left.
 */
bool
zspage_fpm_page_cut(Page image, BlockNumber start, uint32 length)
{
	ZsExtent   *e = zspage_fpm_extents(image);
	int			n = zspage_fpm_count(image);
	int			i = 0;

	while (i < n && e[i].start + e[i].length < start + length)
		i++;
	if (i == n || e[i].start > start)
		return false;
	if (e[i].length == length)
		memmove(&e[i], &e[i + 1], (--n - i) * sizeof(ZsExtent));
	else if (e[i].start == start)
	{
		e[i].start += length;
		e[i].length -= length;
	}
	else if (e[i].start + e[i].length == start + length)
		e[i].length -= length;
	else if (n == (int) ZS_FPM_PAGE_EXTENTS)
		return false;
	else
	{
		memmove(&e[i + 1], &e[i], (n - i) * sizeof(ZsExtent));
		n++;
		e[i].length = start - e[i].start;
		e[i + 1].length -= start + length - e[i + 1].start;
		e[i + 1].start = start + length;
	}
	zspage_fpm_set_count(image, n);
	return true;
}

static void
remove_extent(ZsTreeEntry *entry, int i)
{
	memmove(&entry->extents[i], &entry->extents[i + 1],
			(entry->nextents - i - 1) * sizeof(ZsExtent));
	entry->nextents--;
	memset(&entry->extents[entry->nextents], 0, sizeof(ZsExtent));
}

/* Adds a run of free blocks, merging neighbours; false when it has no room. */
static bool
add_extent(ZsTreeEntry *entry, BlockNumber start, uint32 length)
{
	ZsExtent   *e = entry->extents;
	int			i = 0;
	bool		joins_left;
	bool		joins_right;

	while (i < entry->nextents && e[i].start < start)
		i++;
	/* overlapping what is free already means that somebody freed it twice */
	if ((i > 0 && e[i - 1].start + e[i - 1].length > start) ||
		(i < entry->nextents && start + length > e[i].start))
		return false;

	joins_left = i > 0 && e[i - 1].start + e[i - 1].length == start;
	joins_right = i < entry->nextents && start + length == e[i].start;
	if (joins_left)
	{
		e[i - 1].length += length;
		if (joins_right)
		{
			e[i - 1].length += e[i].length;
			remove_extent(entry, i);
		}
	}
	else if (joins_right)
	{
		e[i].start = start;
		e[i].length += length;
	}
	else
	{
		if (entry->nextents == ZS_ENTRY_EXTENTS)
			return false;
		memmove(&e[i + 1], &e[i], (entry->nextents - i) * sizeof(ZsExtent));
		e[i].start = start;
		e[i].length = length;
		entry->nextents++;
	}
	return true;
}

/* Removes a run that lies at one end of an extent; false when it does not. */
static bool
take_extent(ZsTreeEntry *entry, BlockNumber start, uint32 length)
{
	for (int i = 0; i < entry->nextents; i++)
	{
		ZsExtent   *e = &entry->extents[i];

		if (start < e->start || start + length > e->start + e->length)
			continue;
		if (start == e->start)
		{
			e->start += length;
			e->length -= length;
		}
		else if (start + length == e->start + e->length)
			e->length -= length;
		else
			return false;
		if (e->length == 0)
			remove_extent(entry, i);
		return true;
	}
	return false;
}

/*
 * Redo of a record with entry changes, and the same step when it is done
 * first. False when the entry has no room for the extent, or the blocks are
 * not there.
 */
bool
zspage_entry_apply(ZsTreeEntry *entry, const ZsFpmOp *op)
{
	switch (op->op & ~ZS_FPM_XMIN)
	{
		case ZS_FPM_TAKE:
			if (!take_extent(entry, op->start, op->length))
				return false;
			entry->nfree -= op->length;
			return true;
		case ZS_FPM_FREE:
			if (!add_extent(entry, op->start, op->length))
				return false;
			entry->nfree += op->length;
			return true;
		case ZS_FPM_GAIN:
			if (!add_extent(entry, op->start, op->length))
				return false;
			entry->nfree += op->length;
			entry->nblocks += op->length;
			return true;
		case ZS_FPM_GAIN_USED:
			entry->nblocks += op->length;
			return true;
		case ZS_FPM_LOSE:
			if (!take_extent(entry, op->start, op->length))
				return false;
			entry->nfree -= op->length;
			entry->nblocks -= op->length;
			return true;
		case ZS_FPM_CHAIN:
			entry->chain = op->start;
			entry->chain_maxlen = op->length;
			return true;
		case ZS_FPM_CHAIN_IN:
			return add_extent(entry, op->start, op->length);
		case ZS_FPM_CHAIN_OUT:
			return take_extent(entry, op->start, op->length);
		case ZS_FPM_CHAIN_TAKE:
			if (op->length > entry->nfree)
				return false;
			entry->nfree -= op->length;
			return true;
		case ZS_FPM_CHAIN_LOSE:
			if (op->length > entry->nfree || op->length > entry->nblocks)
				return false;
			entry->nfree -= op->length;
			entry->nblocks -= op->length;
			return true;
		case ZS_FPM_LOSE_USED:
			if (op->length > entry->nblocks - entry->nfree)
				return false;
			entry->nblocks -= op->length;
			return true;
	}
	return false;
}

/* Start of the entry's lowest extent of at least nblocks, or 0. */
BlockNumber
zspage_entry_find(const ZsTreeEntry *entry, uint32 nblocks)
{
	for (int i = 0; i < entry->nextents; i++)
	{
		if (entry->extents[i].length >= nblocks)
			return entry->extents[i].start;
	}
	return 0;
}
