/*-------------------------------------------------------------------------
 *
 * page_foreign.c
 *	  Pages that other code has written into a table's file.
 *
 * A library that calls heap_insert() does not ask for the table's access method.  Core's functions
 * make the file longer then and put heap pages behind everything that we know of; nobody would ever
 * look at them, and the next extension of the file or the next VACUUM would throw them away.  So
 * rows would be lost without a word.
 *
 * What we know of ends at file_blocks of the metapage.  Behind it there may be empty pages, left by
 * a crash or by an error between the extension of the file and its record, and free pages of ours.
 * Anything else there is foreign, and is an error for a scan, ANALYZE, VACUUM and whoever makes the
 * file longer.  A scan that has seen a file end where it ends does not look again, until the file
 * grows.
 *
 * In the part of the file that we know, the page headers tell: none of our pages but row tree
 * leaves has anything between free space and special space (zspage_verify()), and
 * zspage_rel_cache() sees to it that core finds no page to insert into.
 *
 * zedstore.ignore_foreign_pages makes the error a warning, to read the table and to write it anew.
 *
 * Locks: one page at a time, shared.  No WAL.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_foreign.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "page_internal.h"
#include "zs_page.h"

/* Reads a block and says what it finds; both are false for an empty page. */
static void
look_at_page(Relation rel, BlockNumber blkno, bool *ours, bool *foreign)
{
	Buffer		buf = ReadBuffer(rel, blkno);
	Page		page = BufferGetPage(buf);

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	*ours = !PageIsNew(page) &&
		((PageHeader) page)->pd_special == BLCKSZ - sizeof(ZsPageOpaque) &&
		ZsPageGetOpaque(page)->page_id == ZS_PAGE_ID;
	*foreign = !PageIsNew(page) && !*ours;
	UnlockReleaseBuffer(buf);
}

static bool
is_foreign(Relation rel, BlockNumber blkno)
{
	bool		ours;
	bool		foreign;

	look_at_page(rel, blkno, &ours, &foreign);
	return foreign;
}

/*
 * Is a block of a relation of whatever access method a page of ours?  Reads
 * it, with a share lock.
 */
bool
zspage_has_our_page(Relation rel, BlockNumber blkno)
{
	bool		ours;
	bool		foreign;

	look_at_page(rel, blkno, &ours, &foreign);
	return ours;
}

/*
 * First of the blocks [start, end) that holds something which is no page of
 * ours, InvalidBlockNumber if there is none.  The file has them all.  Reads
 * them, one at a time, with a share lock.
 */
BlockNumber
zspage_find_foreign(Relation rel, BlockNumber start, BlockNumber end)
{
	Assert(end <= zspage_physical_blocks(rel));

	for (BlockNumber blkno = start; blkno < end; blkno++)
	{
		CHECK_FOR_INTERRUPTS();
		if (is_foreign(rel, blkno))
			return blkno;
	}
	return InvalidBlockNumber;
}

/*
 * Raises ERRCODE_DATA_CORRUPTED for a block that is not ours; with may_ignore
 * it is but a warning if zedstore.ignore_foreign_pages is set.
 */
void
zspage_report_foreign(Relation rel, BlockNumber blkno, bool may_ignore)
{
	ereport(may_ignore && zs_ignore_foreign_pages ? WARNING : ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("table \"%s\" contains a page that is not zedstore's at block %u",
					RelationGetRelationName(rel), blkno),
			 errdetail("Code that does not know the table's access method has written into its file."),
			 errhint("What that page holds is not part of the table.  To drop it, set \"%s\" and rewrite the table with VACUUM FULL.",
					 "zedstore.ignore_foreign_pages")));
}

/*
 * The known end of the file is read before its length, so that what others add in between
 * is taken for unknown, never the other way round.
 */
static BlockNumber
find_behind_end(Relation rel, BlockNumber *physical)
{
	ZsMetaPageData meta;

	zspage_meta_read(rel, &meta);
	*physical = zspage_physical_blocks(rel);
	return zspage_find_foreign(rel, Min(meta.file_blocks, *physical), *physical);
}

/*
 * Looks at all blocks behind the known end of the file and reports the first
 * that is not ours.  Returns whether all are ours, or raises the error.  No
 * lock may be held on a page.
 */
bool
zspage_check_foreign(Relation rel)
{
	BlockNumber physical;
	BlockNumber blkno = find_behind_end(rel, &physical);

	if (blkno == InvalidBlockNumber)
		return true;
	zspage_report_foreign(rel, blkno, true);
	return false;
}

/*
 * zspage_check_foreign() for whoever is about to read the table: looks only if
 * the file is longer than it was the last time.  Costs a system call.
 */
void
zspage_check_file_end(Relation rel)
{
	BlockNumber physical = zspage_physical_blocks(rel);

	if (physical > zspage_rel_cache(rel)->length_checked)
	{
		BlockNumber blkno = find_behind_end(rel, &physical);

		if (blkno != InvalidBlockNumber)
			zspage_report_foreign(rel, blkno, true);
		zspage_rel_cache(rel)->length_checked = physical;
	}
}
