/*-------------------------------------------------------------------------
 *
 * check_space.c
 *	  zs_check(): blocks, metapage, tree directory, free page maps.
 *
 * Every block of the file is one of: the metapage, a directory page, an FPM
 * page, a page of a tree, a page of a segment or overflow value, part of an extent in
 * exactly one free page map, or leaked.  Whoever finds a block claims it; a
 * block that is claimed twice is an error, one that nobody claims has leaked.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/check_space.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "check_internal.h"

/* Leaked runs that are listed one by one. */
#define MAX_LEAKS		100

/* ---- pages -------------------------------------------------------------------- */

typedef struct PageRead
{
	BlockNumber blkno;
	Page		copy;
} PageRead;

/* Copies block blkno, which may have a page of any kind.  Errors: those of reading it. */
void
zscheck_copy_page(ZsCheck *check, BlockNumber blkno, Page copy)
{
	Buffer		buf = ReadBufferExtended(check->rel, MAIN_FORKNUM, blkno, RBM_NORMAL,
										 check->strategy);

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	memcpy(copy, BufferGetPage(buf), BLCKSZ);
	UnlockReleaseBuffer(buf);
}

/* ZsCheckStep */
static void
copy_page(ZsCheck *check, void *arg)
{
	const PageRead *page = arg;

	zscheck_copy_page(check, page->blkno, page->copy);
}

/*
 * Copies block blkno; false, after reporting, when it cannot be read.  what
 * names it in the message.
 */
bool
zscheck_read_page(ZsCheck *check, uint16 treeno, BlockNumber blkno, const char *what, Page copy)
{
	PageRead	page = {.blkno = blkno, .copy = copy};
	char	   *error;

	Assert(treeno < ZS_MAX_TREES && what != NULL);
	if (blkno >= check->nblocks && blkno >= zspage_physical_blocks(check->rel))
	{
		zscheck_error(check, blkno, treeno, "%s lies beyond the end of the file", what);
		return false;
	}
	error = zscheck_protect(check, copy_page, &page);
	if (error == NULL)
		return true;
	zscheck_error(check, blkno, treeno, "%s cannot be read: %s", what, error);
	pfree(error);
	return false;
}

/* ---- claims --------------------------------------------------------------------- */

static inline bool
test_bit(const uint64 *bitmap, BlockNumber blkno)
{
	return (bitmap[blkno / 64] & UINT64CONST(1) << blkno % 64) != 0;
}

static inline void
set_bit(uint64 *bitmap, BlockNumber blkno)
{
	bitmap[blkno / 64] |= UINT64CONST(1) << blkno % 64;
}

/*
 * The blocks [start, start + nblocks) were found to be `what` of the tree.
 * False, after reporting, when one of them lies beyond the file or was found
 * before.
 */
bool
zscheck_claim(ZsCheck *check, uint16 treeno, BlockNumber start, uint32 nblocks, const char *what)
{
	uint64		end = (uint64) start + nblocks;

	Assert(treeno < ZS_MAX_TREES && nblocks > 0);
	check->nfound[treeno] += nblocks;
	if (end > check->nblocks && end > zspage_physical_blocks(check->rel))
	{
		zscheck_error(check, start, treeno, "%s of %u blocks lies beyond the end of the file",
					  what, nblocks);
		return false;
	}

	/* blocks that came after the pass began are not tracked */
	for (uint64 blkno = start; blkno < Min(end, check->nblocks); blkno++)
	{
		if (test_bit(check->used, (BlockNumber) blkno))
		{
			zscheck_error(check, (BlockNumber) blkno, treeno,
						  "block is used twice, the second time as part of %s at block %u",
						  what, start);
			return false;
		}
		set_bit(check->used, (BlockNumber) blkno);
	}
	return true;
}

/* As zscheck_claim(), for a page of an overflow value, which may be met twice. */
void
zscheck_claim_overflow(ZsCheck *check, uint16 treeno, BlockNumber blkno)
{
	Assert(ZsAttrOfTree(treeno) >= 1);
	/* the row tree and a segment may hold the same value while it moves */
	if (blkno < check->nblocks && test_bit(check->overflow, blkno))
		return;
	if (zscheck_claim(check, treeno, blkno, 1, "overflow value") && blkno < check->nblocks)
		set_bit(check->overflow, blkno);
}

/* ---- metapage and directory -------------------------------------------------------- */

/* ZsCheckStep */
static void
read_metapage(ZsCheck *check, void *arg)
{
	zspage_meta_read(check->rel, &check->meta);
}

static void
check_cursors(ZsCheck *check)
{
	const ZsMetaPageData *meta = &check->meta;

	if (meta->next_row % ZS_STRIPE_ROWS != 0)
		zscheck_error(check, ZS_META_BLKNO, ZS_TREE_TABLE,
					  "next row number " UINT64_FORMAT " is not at a stripe boundary", meta->next_row);
	for (int i = 0; i < ZS_INSERT_CURSORS; i++)
	{
		zstid		stripe = meta->cursors[i];

		if (stripe != ZS_INVALID_ROW &&
			(stripe % ZS_STRIPE_ROWS != 0 || stripe >= meta->next_row))
			zscheck_error(check, ZS_META_BLKNO, ZS_TREE_TABLE,
						  "insert cursor %d points to row " UINT64_FORMAT ", the next row number is " UINT64_FORMAT,
						  i, stripe, meta->next_row);
	}
}

/* Checks the entries of one directory page and keeps them. */
static void
check_entries(ZsCheck *check, BlockNumber blkno, int first, int nentries,
			  const ZsTreeEntry *entries)
{
	Assert(first == 0 || first >= ZS_META_ENTRIES);
	for (int i = 0; i < nentries && first + i < ZS_MAX_TREES; i++)
	{
		const ZsTreeEntry *entry = &entries[i];
		uint16		treeno = (uint16) (first + i);
		const char *reason = zspage_entry_check(entry);

		if (reason == NULL && treeno == ZS_TREE_TABLE && entry->root != 0)
			reason = "the table itself has a root";
		if (reason == NULL && (entry->flags != 0 || entry->unused != 0))
			reason = "unused fields are not zero";
		if (reason == NULL && entry->nblocks == 0 && (entry->root != 0 || entry->chain != 0))
			reason = "tree without blocks has pages";
		if (reason != NULL)
			zscheck_error(check, blkno, treeno, "directory entry of tree %u: %s", treeno, reason);

		check->entries[treeno] = *entry;

		/* what the loops over extents rely on */
		if (entry->nextents > ZS_ENTRY_EXTENTS)
			check->entries[treeno].nextents = 0;
	}
}

static void
check_directory_page(ZsCheck *check, int directory)
{
	BlockNumber blkno = check->meta.directory[directory];
	PGAlignedBlock copy;
	const char *reason;

	Assert(directory >= 0 && directory < ZS_MAX_DIRECTORY_PAGES);
	if (blkno == 0)
	{
		zscheck_error(check, ZS_META_BLKNO, ZS_TREE_TABLE, "tree directory page %d is missing",
					  directory);
		return;
	}
	if (!zscheck_claim(check, ZS_TREE_TABLE, blkno, 1, "tree directory page") ||
		!zscheck_read_page(check, ZS_TREE_TABLE, blkno, "tree directory page", copy.data))
		return;
	if (zspage_verify(copy.data, ZS_PAGE_DIRECTORY, ZS_TREE_TABLE, &reason) != ZS_PAGE_OK)
	{
		zscheck_error(check, blkno, ZS_TREE_TABLE, "tree directory page %d: %s", directory, reason);
		return;
	}
	if (ZsPageGetOpaque(copy.data)->lokey != (uint64) directory)
		zscheck_error(check, blkno, ZS_TREE_TABLE,
					  "tree directory page %d says that it is page " UINT64_FORMAT,
					  directory, ZsPageGetOpaque(copy.data)->lokey);
	check_entries(check, blkno, ZS_META_ENTRIES + directory * ZS_DIRECTORY_ENTRIES,
				  Min(ZS_DIRECTORY_ENTRIES,
					  ZS_TREE_XMIN - (ZS_META_ENTRIES + directory * ZS_DIRECTORY_ENTRIES)),
				  ((ZsDirectoryPageData *) PageGetContents(copy.data))->entries);
}

/*
 * Metapage and directory, into check->meta and ->entries; false: nothing else
 * can be checked.
 */
bool
zscheck_directory(ZsCheck *check)
{
	ZsMetaPageData *meta = &check->meta;
	char	   *error;

	/* the error for a format version that is too new is none of data and goes on */
	error = zscheck_protect(check, read_metapage, NULL);
	if (error != NULL)
	{
		zscheck_error(check, ZS_META_BLKNO, ZS_TREE_TABLE, "%s", error);
		return false;
	}

	/* what the metapage counts exists on a standby too: redo extends the file */
	if (meta->file_blocks > check->nblocks &&
		meta->file_blocks > zspage_physical_blocks(check->rel))
		zscheck_error(check, ZS_META_BLKNO, ZS_TREE_TABLE,
					  "the file has %u blocks, the metapage says %u",
					  check->nblocks, meta->file_blocks);
	check_cursors(check);

	/* the metapage belongs to no tree */
	zscheck_claim(check, ZS_TREE_TABLE, ZS_META_BLKNO, 1, "metapage");
	check->nfound[ZS_TREE_TABLE] = 0;

	check_entries(check, ZS_META_BLKNO, 0, ZS_META_ENTRIES, meta->entries);
	if (ZS_KEEPS_XMIN(meta->version))
		check_entries(check, ZS_META_BLKNO, ZS_TREE_XMIN, 1, &meta->xmin_entry);
	for (int i = 0; i < ZS_MAX_DIRECTORY_PAGES; i++)
	{
		if (i < (int) meta->ndirectory)
			check_directory_page(check, i);
		else if (meta->directory[i] != 0)
			zscheck_error(check, ZS_META_BLKNO, ZS_TREE_TABLE,
						  "tree directory page %d is not counted", i);
	}
	return true;
}

/* ---- free page maps ------------------------------------------------------------------- */

static void
check_extent(ZsCheck *check, uint16 treeno, ZsExtent extent, uint64 *nfree)
{
	Assert(treeno < ZS_MAX_TREES);
	*nfree += extent.length;
	if (extent.length == 0 || extent.start == ZS_META_BLKNO ||
		(uint64) extent.start + extent.length > MaxBlockNumber)
	{
		zscheck_error(check, extent.start, treeno, "free extent of %u blocks is not valid",
					  extent.length);
		return;
	}
	zscheck_claim(check, treeno, extent.start, extent.length, "free extent");
}

/* Extents of one FPM page. */
static void
check_fpm_page(ZsCheck *check, uint16 treeno, BlockNumber blkno, Page page, uint64 *nfree)
{
	const ZsExtent *extents = (const ZsExtent *) PageGetContents(page);
	Size		size = ((PageHeader) page)->pd_lower - MAXALIGN(SizeOfPageHeaderData);
	int			n = (int) (size / sizeof(ZsExtent));

	if (size % sizeof(ZsExtent) != 0)
		zscheck_error(check, blkno, treeno, "free page map page: extent array has a broken end");
	for (int i = 0; i < n; i++)
	{
		if (i > 0 && (uint64) extents[i - 1].start + extents[i - 1].length >= extents[i].start)
			zscheck_error(check, blkno, treeno,
						  "free page map page: extents at blocks %u and %u overlap or touch",
						  extents[i - 1].start, extents[i].start);
		if (extents[i].length > check->entries[treeno].chain_maxlen)
			zscheck_error(check, blkno, treeno,
						  "free page map page: extent of %u blocks is longer than the directory says (%u)",
						  extents[i].length, check->entries[treeno].chain_maxlen);
		check_extent(check, treeno, extents[i], nfree);
	}
}

/*
 * The free page map of a tree: extents, FPM pages, and the number of free
 * blocks.
 */
void
zscheck_free_space(ZsCheck *check, uint16 treeno)
{
	const ZsTreeEntry *entry = &check->entries[treeno];
	uint64		nfree = 0;
	BlockNumber blkno;

	Assert(treeno < ZS_MAX_TREES && entry->nextents <= ZS_ENTRY_EXTENTS);
	for (int i = 0; i < entry->nextents; i++)
		check_extent(check, treeno, entry->extents[i], &nfree);

	for (blkno = entry->chain; blkno != 0;)
	{
		PGAlignedBlock copy;
		const char *reason;

		/* a circle ends here: its first page is claimed */
		if (!zscheck_claim(check, treeno, blkno, 1, "free page map page") ||
			!zscheck_read_page(check, treeno, blkno, "free page map page", copy.data))
			return;
		if (zspage_verify(copy.data, ZS_PAGE_FPM, treeno, &reason) != ZS_PAGE_OK)
		{
			zscheck_error(check, blkno, treeno, "free page map page: %s", reason);
			return;
		}
		check_fpm_page(check, treeno, blkno, copy.data, &nfree);
		blkno = ZsPageGetOpaque(copy.data)->right;
	}
	if (nfree != entry->nfree)
		zscheck_error(check, InvalidBlockNumber, treeno,
					  "directory entry counts %u free blocks, the free page map has " UINT64_FORMAT,
					  entry->nfree, nfree);
}

/* ---- the sum of it all ---------------------------------------------------------------- */

/* Reports blocks of the known file that nobody claimed; returns how many. */
static uint64
report_leaks(ZsCheck *check)
{
	BlockNumber end = Min(check->meta.file_blocks, check->nblocks);
	uint64		nleaked = 0;
	uint64		nlisted = 0;
	int			nruns = 0;

	for (BlockNumber blkno = 1; blkno < end;)
	{
		BlockNumber start = blkno;

		if (test_bit(check->used, blkno))
		{
			blkno++;
			continue;
		}
		while (blkno < end && !test_bit(check->used, blkno))
			blkno++;
		nleaked += blkno - start;
		if (++nruns <= MAX_LEAKS)
		{
			zscheck_report(check, ZS_SEVERITY_NOTICE, start, ZS_TREE_TABLE,
						   "leaked: nothing points to the %u blocks from here on; VACUUM (DISABLE_PAGE_SKIPPING) gives them back",
						   blkno - start);
			nlisted += blkno - start;
		}
		CHECK_FOR_INTERRUPTS();
	}
	Assert(nlisted <= nleaked && (nlisted == nleaked || nruns > MAX_LEAKS));
	if (nlisted < nleaked)
		zscheck_report(check, ZS_SEVERITY_NOTICE, InvalidBlockNumber, ZS_TREE_TABLE,
					   "leaked: " UINT64_FORMAT " more blocks in %d places",
					   nleaked - nlisted, nruns - MAX_LEAKS);
	return nleaked;
}

/* Reports pages that are not ours behind the known end of the file. */
static void
report_foreign(ZsCheck *check)
{
	BlockNumber end = zspage_physical_blocks(check->rel);
	BlockNumber blkno = Min(check->meta.file_blocks, end);

	for (;;)
	{
		BlockNumber start = zspage_find_foreign(check->rel, blkno, end);

		if (start == InvalidBlockNumber)
			break;
		for (blkno = start + 1; blkno < end; blkno++)
		{
			if (zspage_find_foreign(check->rel, blkno, blkno + 1) == InvalidBlockNumber)
				break;
		}
		Assert(blkno > start && blkno <= end);
		zscheck_error(check, start, ZS_TREE_TABLE,
					  "the %u blocks from here on hold something that is not zedstore's",
					  blkno - start);
	}
}

/* After everything was claimed: what is left, and do the counters agree? */
void
zscheck_account_blocks(ZsCheck *check)
{
	uint64		nblocks = 0;
	uint64		nmissing = 0;
	uint64		nleaked = report_leaks(check);

	report_foreign(check);
	for (int treeno = 0; treeno < ZS_MAX_TREES; treeno++)
	{
		uint64		owned = check->entries[treeno].nblocks;

		nblocks += owned;
		if (check->nfound[treeno] > owned)
			zscheck_error(check, InvalidBlockNumber, (uint16) treeno,
						  "directory entry counts " UINT64_FORMAT " blocks, but the tree has " UINT64_FORMAT,
						  owned, check->nfound[treeno]);
		else
			nmissing += owned - check->nfound[treeno];
	}
	if (nblocks >= check->meta.file_blocks)
		zscheck_error(check, ZS_META_BLKNO, ZS_TREE_TABLE,
					  "directory entries count " UINT64_FORMAT " blocks, the metapage knows of %u",
					  nblocks, check->meta.file_blocks);
	else if (nmissing > nleaked)
		zscheck_error(check, ZS_META_BLKNO, ZS_TREE_TABLE,
					  "directory entries count " UINT64_FORMAT " blocks that were not found, only " UINT64_FORMAT " have leaked",
					  nmissing, nleaked);
}
