/*-------------------------------------------------------------------------
 *
 * am_relation.c
 *	  Files of a table: creation, truncation, copies, size.
 *
 * A table has two sizes.  The logical one counts row numbers, 256 to a block; core takes it for the
 * range of block numbers in TIDs.  The physical one is the file's, which scans read.  The planner
 * gets rows by the first and pages by the second.
 *
 * Buffered rows are written before a file is given up or copied, and what this backend remembers of
 * a file is forgotten when that is emptied in place.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/am/am_relation.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/multixact.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/storage.h"
#include "catalog/storage_xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/smgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "zs_am.h"
#include "zs_attr.h"
#include "zs_base.h"
#include "zs_compat_checksum.h"
#include "zs_cost.h"
#include "zs_page.h"
#include "zs_scan.h"
#include "zs_tid.h"
#include "zs_write.h"

/* Size that the planner assumes for a table that was never vacuumed. */
#define MIN_GUESSED_PAGES	10

/*
 * Up to here row numbers say little about the number of rows, since single inserts of each session
 * begin a stripe of their own; and rows are few enough to be counted.
 */
#define SPARSE_LOGICAL_BLOCKS	(ZS_INSERT_CURSORS * (ZS_STRIPE_ROWS / ZS_ROWS_PER_BLOCK))

/* Row numbers at the end of a table that nobody has taken yet are those of few stripes, mostly. */
#define OPEN_BLOCKS			(2 * (ZS_STRIPE_ROWS / ZS_ROWS_PER_BLOCK))

/*
 * relation_set_new_filelocator: makes a new, empty file for the table, with its metapage; all rows
 * of it will be newer than *freeze_xid and *minmulti.  The caller holds AccessExclusiveLock, or
 * nobody knows of the table.
 */
void
zsam_set_new_filelocator(Relation rel, const RelFileLocator *newrlocator, char persistence,
						 TransactionId *freeze_xid, MultiXactId *minmulti)
{
	SMgrRelation srel;

	zsbase_require_preload();
	Assert(RelFileNumberIsValid(newrlocator->relNumber));
	Assert(TransactionIdIsNormal(RecentXmin));

	/* TRUNCATE may be rolled back to a savepoint: buffered rows go to the old file */
	if (OidIsValid(rel->rd_rel->relfilenode))
		zswrite_flush(rel);

	*freeze_xid = RecentXmin;
	*minmulti = GetOldestMultiXactId();

	srel = RelationCreateStorage(*newrlocator, persistence, true);
	if (persistence == RELPERSISTENCE_UNLOGGED)
	{
		Assert(rel->rd_rel->relkind == RELKIND_RELATION ||
			   rel->rd_rel->relkind == RELKIND_TOASTVALUE);
		smgrcreate(srel, INIT_FORKNUM, false);
		log_smgrcreate(newrlocator, INIT_FORKNUM);
		zspage_meta_create(newrlocator, persistence, INIT_FORKNUM);
	}
	zspage_meta_create(newrlocator, persistence, MAIN_FORKNUM);
	smgrclose(srel);
}

/*
 * relation_nontransactional_truncate: empties the file in place.  For ON COMMIT DELETE ROWS, and
 * TRUNCATE of a table made in this transaction: nobody else can see the table.
 */
void
zsam_nontransactional_truncate(Relation rel)
{
	Assert(CheckRelationLockedByMe(rel, AccessExclusiveLock, false));

	zswrite_flush(rel);
	zsscan_forget_rows(rel);
	RelationTruncate(rel, 0);
	zspage_forget_roots(rel);
	zstid_forget_cursors(rel);
	zsattr_forget_segments(rel);
	zspage_meta_create(&rel->rd_locator, rel->rd_rel->relpersistence, MAIN_FORKNUM);
}

/*
 * relation_copy_data: copies the table's file to another tablespace, and drops it here at commit.
 * The caller holds AccessExclusiveLock.
 */
void
zsam_copy_data(Relation rel, const RelFileLocator *newrlocator)
{
	SMgrRelation dstrel;

	Assert(CheckRelationLockedByMe(rel, AccessExclusiveLock, false));
	Assert(!RelFileLocatorEquals(rel->rd_locator, *newrlocator));

	zswrite_flush(rel);

	/* what is copied is the files, so they must be complete */
	FlushRelationBuffers(rel);
	dstrel = RelationCreateStorage(*newrlocator, rel->rd_rel->relpersistence, true);
	RelationCopyStorage(RelationGetSmgr(rel), dstrel, MAIN_FORKNUM,
						rel->rd_rel->relpersistence);
	for (ForkNumber fork = MAIN_FORKNUM + 1; fork <= MAX_FORKNUM; fork++)
	{
		if (!smgrexists(RelationGetSmgr(rel), fork))
			continue;
		smgrcreate(dstrel, fork, false);

		/* an init fork is logged even for an unlogged table */
		if (RelationIsPermanent(rel) ||
			(rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED && fork == INIT_FORKNUM))
			log_smgrcreate(newrlocator, fork);
		RelationCopyStorage(RelationGetSmgr(rel), dstrel, fork, rel->rd_rel->relpersistence);
	}
	RelationDropStorage(rel);
	smgrclose(dstrel);
}

/*
 * Callers take the main fork's size for the range of block numbers in TIDs, so
 * this is the logical size.  pg_relation_size() looks at the file itself.
 *
 * Row numbers that this transaction has reserved and not used go back before, since ANALYZE would
 * take their blocks for a part of the table that it has seen.
 *
 * In VACUUM it is BRIN that asks, to summarize all full ranges.  Summarizing one with rows that a
 * bulk load has not written yet waits for the load.  VACUUM must not do that: for it the table ends
 * there.  Its parallel workers have the flag, too.
 *
 * The worker that gives checksums to all blocks means the file.
 */
uint64
zsam_relation_size(Relation rel, ForkNumber forknum)
{
	uint64		nblocks = 0;

	Assert(forknum >= InvalidForkNumber && forknum <= MAX_FORKNUM);

	if (forknum == MAIN_FORKNUM && (MyProc->statusFlags & PROC_IN_VACUUM) != 0)
		return zsscan_summarizable_end(rel) / ZS_ROWS_PER_BLOCK * BLCKSZ;
	if (forknum == MAIN_FORKNUM && !zs_computes_checksums())
	{
		zswrite_flush(rel);
		return (uint64) zspage_logical_blocks(rel) * BLCKSZ;
	}
	if (forknum == InvalidForkNumber)
	{
		for (int i = 0; i < MAX_FORKNUM; i++)
		{
			if (smgrexists(RelationGetSmgr(rel), i))
				nblocks += smgrnblocks(RelationGetSmgr(rel), i);
		}
	}
	else if (smgrexists(RelationGetSmgr(rel), forknum))
		nblocks = smgrnblocks(RelationGetSmgr(rel), forknum);
	return nblocks * BLCKSZ;
}

/* Rows that are there, visible to anybody or not.  For tables of a few thousand. */
static uint64
count_rows(Relation rel)
{
	ZsTidScan  *scan = zstid_scan_begin(rel, NULL, 0, zspage_next_row(rel), NULL);
	ZsTidRun	run;
	const ZsVisSlot *vis;
	uint64		nrows = 0;

	while (zstid_scan_next(scan, &run, &vis))
	{
		if (run.slotno != ZS_SLOT_DEAD)
			nrows += run.count;
	}
	zstid_scan_end(scan);
	return nrows;
}

/*
 * The share of the rows that lie in all-visible blocks.  The last blocks have row numbers that no
 * row has yet, since stripes are open for small inserts; nobody fetches anything from these.
 */
static double
visible_share(double visible, double logical, double tuples)
{
	double		unused = logical - ceil(tuples / ZS_ROWS_PER_BLOCK);

	unused = Min(Max(unused, 0), OPEN_BLOCKS);
	if (visible <= 0 || logical <= 0)
		return 0;
	return Min(1.0, visible / Max(logical - unused, 1));
}

/*
 * Tuples: the row density that VACUUM or ANALYZE found refers to logical blocks.  Row numbers are
 * not used again, so what came since then are rows, however many of the others have gone.  A table
 * that neither has seen yet is assumed to have at least ten heap pages of rows, as heap does,
 * because plans for tables that have just been created are often kept and used when they have
 * grown.  If it is small its rows are counted; else its row numbers, which bulk loads fill densely,
 * are taken for rows.
 *
 * Pages: those on disk, since they are what a scan reads, but never more than a heap would
 * have.  The file of a small table is mostly metapage, tree roots and free extents that no scan
 * comes near; charging for them would drive the planner to index scans of tables that
 * are one page of rows.  Who asks without widths of columns does not cost a plan: CREATE INDEX
 * decides about parallel workers, by the pages that a heap would have (cost_workers.c).
 */
void
zsam_estimate_size(Relation rel, int32 *attr_widths, BlockNumber *pages, double *tuples,
				   double *allvisfrac)
{
	double		logical = zspage_logical_blocks(rel);
	double		relpages = (double) rel->rd_rel->relpages;
	double		reltuples = (double) rel->rd_rel->reltuples;
	double		physical = zspage_physical_blocks(rel);
	double		min_pages = 0;

	if (reltuples < 0 && !rel->rd_rel->relhassubclass)
		min_pages = MIN_GUESSED_PAGES;
	if (reltuples >= 0 && relpages > 0)
		*tuples = logical > relpages ? reltuples + (logical - relpages) * ZS_ROWS_PER_BLOCK :
			Min(reltuples, logical * ZS_ROWS_PER_BLOCK);
	else
	{
		double		rows = logical * ZS_ROWS_PER_BLOCK;

		if (logical <= SPARSE_LOGICAL_BLOCKS)
			rows = count_rows(rel);
		*tuples = min_pages > 0 ?
			Max(min_pages * zscost_heap_density(rel, attr_widths), rows) : rows;
	}

	if (attr_widths == NULL)
		physical = MaxBlockNumber;
	/* to ask statistics for widths of columns takes longer than all else here */
	if (physical > ceil(*tuples / zscost_densest_heap(rel)))
		physical = Min(physical, ceil(*tuples / zscost_heap_density(rel, attr_widths)));
	*pages = Max(min_pages, physical);
	*allvisfrac = visible_share(rel->rd_rel->relallvisible, logical, *tuples);
}
