/*-------------------------------------------------------------------------
 *
 * scan_index_build.c
 *	  Rows for CREATE INDEX: the full scan, and the second pass of CREATE
 *	  INDEX CONCURRENTLY.
 *
 * The rules which rows are indexed, and which the index must not be used for
 * yet, are those of heapam_index_build_range_scan(); there are no HOT chains
 * here, so each row stands for itself.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_index_build.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"

#include "scan_desc.h"
#include "zs_page.h"
#include "zs_write.h"

/* What to do with a row. */
typedef enum BuildAction
{
	BUILD_SKIP = 1,
	BUILD_INDEX_LIVE,			/* index, and count it for uniqueness */
	BUILD_INDEX_DEAD,			/* index without uniqueness check */
	BUILD_RECHECK,				/* state changed while waiting */
} BuildAction;

/*
 * Decides about a row by its slot.  Waits for other transactions where a unique index depends on
 * them, as heap does.
 */
static BuildAction
choose_action(Relation rel, ZsVisSlot *vis, zstid row, TransactionId oldest_xmin,
			  bool checking_uniqueness, bool anyvisible, double *reltuples)
{
	ItemPointerData tid;
	TransactionId xwait;

	zs_tid_from_row(row, &tid);
	switch (zstid_satisfies_vacuum(vis, oldest_xmin, InvalidBuffer))
	{
		case ZS_VACUUM_DEAD:
			return BUILD_SKIP;
		case ZS_VACUUM_LIVE:
			*reltuples += 1;
			return BUILD_INDEX_LIVE;
		case ZS_VACUUM_RECENTLY_DEAD:
			/* some old snapshot may see it */
			return BUILD_INDEX_DEAD;
		case ZS_VACUUM_INSERT_IN_PROGRESS:
			if (anyvisible)
			{
				*reltuples += 1;
				return BUILD_INDEX_LIVE;
			}
			xwait = vis->xmin;
			if (!TransactionIdIsCurrentTransactionId(xwait))
			{
				if (checking_uniqueness)
				{
					XactLockTableWait(xwait, rel, &tid, XLTW_InsertIndexUnique);
					return BUILD_RECHECK;
				}
			}
			else
				*reltuples += 1;
			return BUILD_INDEX_LIVE;
		case ZS_VACUUM_DELETE_IN_PROGRESS:
			if (anyvisible)
				return BUILD_INDEX_DEAD;
			if (zstid_deleted_by_current_xact(vis))
				return BUILD_INDEX_DEAD;
			xwait = zstid_update_xid(vis);
			if (checking_uniqueness)
			{
				XactLockTableWait(xwait, rel, &tid, XLTW_InsertIndexUnique);
				return BUILD_RECHECK;
			}
			*reltuples += 1;
			return BUILD_INDEX_LIVE;
		case ZS_VACUUM_INVALID:
			break;
	}
	elog(ERROR, "unexpected result of visibility check");
	return BUILD_SKIP;
}

/* ---- rows that others are inserting ------------------------------------------------- */

/*
 * Transactions; many may be subtransactions of one, which has a row of each in its memory.
 */
typedef struct XidSetEntry
{
	TransactionId xid;			/* hash key */
	char		status;			/* simplehash's */
} XidSetEntry;

#define SH_PREFIX		xid_set
#define SH_ELEMENT_TYPE	XidSetEntry
#define SH_KEY_TYPE		TransactionId
#define SH_KEY			xid
#define SH_HASH_KEY(tb, key)	murmurhash32(key)
#define SH_EQUAL(tb, a, b)		((a) == (b))
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

#define XID_SET_SIZE	16		/* to begin with */

/* Rows that others have begun to insert, without values in the file. */
typedef struct UnwrittenRows
{
	Relation	rel;
	AttrNumber	last_attno;		/* the column that gets its segments last */
	zstid		first;			/* ZS_MAX_ROW if there is none */
	xid_set_hash *xids;			/* their transactions */
} UnwrittenRows;

/*
 * First row of the run without its values in the file, ZS_MAX_ROW if all have them.  A writer has
 * those of single rows there from the start; those of a bulk load wait in its memory.
 */
static zstid
find_unwritten(const UnwrittenRows *unwritten, const ZsTidRun *run)
{
	zstid		row = run->first;
	zstid		end = run->first + run->count;

	while (row < end)
	{
		ZsSegmentItem item;

		CHECK_FOR_INTERRUPTS();
		if (zsattr_find_segment(unwritten->rel, unwritten->last_attno, row, true, &item))
			row = item.first_row + item.nrows;
		else if (zsrow_next(unwritten->rel, row) == row)
			row++;
		else
			return row;
	}
	return ZS_MAX_ROW;
}

/* ZsTidRunVisitor */
static void
note_unwritten(const ZsTidRun *run, ZsVisSlot *vis, void *arg)
{
	UnwrittenRows *unwritten = arg;
	zstid		row;
	bool		found;

	/* runs ascend, so those of an inserter that is known by now say nothing new */
	if (vis == NULL || zstid_is_current_xact(vis) ||
		xid_set_lookup(unwritten->xids, vis->xmin) != NULL ||
		zstid_satisfies_vacuum(vis, InvalidTransactionId,
							   InvalidBuffer) != ZS_VACUUM_INSERT_IN_PROGRESS)
		return;
	row = find_unwritten(unwritten, run);
	if (row == ZS_MAX_ROW)
		return;
	unwritten->first = Min(unwritten->first, row);
	(void) xid_set_insert(unwritten->xids, vis->xmin, &found);
}

static void
find_unwritten_rows(UnwrittenRows *unwritten, Relation rel, zstid first, zstid end)
{
	TupleDesc	desc = RelationGetDescr(rel);

	unwritten->rel = rel;
	unwritten->last_attno = desc->natts;
	unwritten->first = ZS_MAX_ROW;
	unwritten->xids = xid_set_create(CurrentMemoryContext, XID_SET_SIZE, NULL);
	while (unwritten->last_attno > 0 &&
		   TupleDescAttr(desc, unwritten->last_attno - 1)->attisdropped)
		unwritten->last_attno--;
	if (unwritten->last_attno > 0)
		zstid_visit_runs(rel, first, end, note_unwritten, unwritten);
}

/*
 * Summarizing a range of rows (BRIN) takes in rows that are being inserted: whoever inserted them
 * found no summary then, and does not come back.  But their values may be in the inserter's memory
 * still.  So wait for inserters of such rows.  Those who come later find the placeholder that the
 * index has for the range by now.
 */
static void
wait_for_writers(Relation rel, zstid first, zstid end)
{
	UnwrittenRows unwritten;
	xid_set_iterator iterator;
	XidSetEntry *entry;

	find_unwritten_rows(&unwritten, rel, first, end);
	xid_set_start_iterate(unwritten.xids, &iterator);
	while ((entry = xid_set_iterate(unwritten.xids, &iterator)) != NULL)
		XactLockTableWait(entry->xid, NULL, NULL, XLTW_None);
	xid_set_destroy(unwritten.xids);
}

/*
 * The first row whose values are still in the memory of another transaction
 * that inserts it, or the number of row numbers handed out if there is none.
 * Block ranges up to there can be summarized without waiting. Walks the TID
 * tree, and locks one of its leaves at a time, shared.
 */
zstid
zsscan_summarizable_end(Relation rel)
{
	UnwrittenRows unwritten;
	zstid		end = zspage_next_row(rel);

	find_unwritten_rows(&unwritten, rel, 0, end);
	xid_set_destroy(unwritten.xids);
	return Min(unwritten.first, end);
}

/* ---- building ---------------------------------------------------------------------- */

static void
report_progress(ZsScanDesc scan, zstid row)
{
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
								 (row - scan->start) / ZS_ROWS_PER_BLOCK);
}

/* index_build_range_scan of the table access method: contract in tableam.h. */
double
zsscan_index_build_range(Relation rel, Relation index, IndexInfo *info,
						 bool allow_sync, bool anyvisible, bool progress,
						 BlockNumber start_blockno, BlockNumber numblocks,
						 IndexBuildCallback callback, void *callback_state,
						 TableScanDesc sscan)
{
	bool		checking_uniqueness = info->ii_Unique || info->ii_ExclusionOps != NULL;
	bool		need_unregister = false;
	TransactionId oldest_xmin = InvalidTransactionId;
	Snapshot	snapshot;
	EState	   *estate = CreateExecutorState();
	ExprContext *econtext = GetPerTupleExprContext(estate);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	ExprState  *predicate;
	ZsScanDesc	scan;
	double		reltuples = 0;
	uint64		nrows = 0;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	Assert(OidIsValid(index->rd_rel->relam));
	Assert(!(anyvisible && checking_uniqueness));
	econtext->ecxt_scantuple = slot;
	predicate = ExecPrepareQual(info->ii_Predicate, estate);

	/* all rows for a plain build, a snapshot's rows for a concurrent one */
	if (!IsBootstrapProcessingMode() && !info->ii_Concurrent)
		oldest_xmin = GetOldestNonRemovableTransactionId(rel);
	if (sscan == NULL)
	{
		if (TransactionIdIsValid(oldest_xmin))
			snapshot = SnapshotAny;
		else
		{
			snapshot = RegisterSnapshot(GetTransactionSnapshot());
			need_unregister = true;
		}
		sscan = table_beginscan_strat(rel, snapshot, 0, NULL, true, allow_sync);
	}
	else
		snapshot = sscan->rs_snapshot;
	scan = (ZsScanDesc) sscan;
	zsscan_show_any(sscan);
	Assert(snapshot == SnapshotAny ? TransactionIdIsValid(oldest_xmin) :
		   !TransactionIdIsValid(oldest_xmin));

	if (start_blockno != 0 || numblocks != InvalidBlockNumber)
	{
		ItemPointerData min;
		ItemPointerData max;

		ItemPointerSet(&min, start_blockno, 1);
		ItemPointerSet(&max, numblocks == InvalidBlockNumber ? MaxBlockNumber - 1 :
					   start_blockno + numblocks - 1, ZS_ROWS_PER_BLOCK);
		zsscan_set_tidrange(sscan, &min, &max);
	}
	if (anyvisible)
		wait_for_writers(rel, scan->start, scan->end);
	if (progress)
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL,
									 (scan->end - scan->start) / ZS_ROWS_PER_BLOCK);

	while (zsscan_getnextslot(sscan, ForwardScanDirection, slot))
	{
		ZsSlot	   *zslot = (ZsSlot *) slot;
		BuildAction action = BUILD_INDEX_LIVE;
		ItemPointerData tid = slot->tts_tid;

		CHECK_FOR_INTERRUPTS();
		if (progress && (++nrows & 0xffff) == 0)
			report_progress(scan, zslot->row);

		if (snapshot != SnapshotAny)
			reltuples += 1;
		else
		{
			action = choose_action(rel, &zslot->vis, zslot->row, oldest_xmin,
								   checking_uniqueness, anyvisible, &reltuples);
			while (action == BUILD_RECHECK)
			{
				bool		dead;

				CHECK_FOR_INTERRUPTS();
				if (!zstid_lookup(rel, zslot->row, &zslot->vis, &dead))
					action = BUILD_SKIP;
				else
					action = choose_action(rel, &zslot->vis, zslot->row, oldest_xmin,
										   checking_uniqueness, anyvisible, &reltuples);
			}
		}
		if (action == BUILD_SKIP)
			continue;

		MemoryContextReset(econtext->ecxt_per_tuple_memory);
		if (predicate != NULL && !ExecQual(predicate, econtext))
			continue;
		FormIndexDatum(info, slot, estate, values, isnull);
		callback(index, &tid, values, isnull, action == BUILD_INDEX_LIVE, callback_state);
	}
	if (progress)
		report_progress(scan, scan->end);

	table_endscan(sscan);
	if (need_unregister)
		UnregisterSnapshot(snapshot);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);

	/* these may have been pointing to the now-gone estate */
	info->ii_ExpressionsState = NIL;
	info->ii_PredicateState = NULL;
	return reltuples;
}

/* ---- second pass of CREATE INDEX CONCURRENTLY ------------------------------------- */

/* Next TID that the index has, in order; false at the end. */
static bool
next_indexed_row(ValidateIndexState *state, zstid *row)
{
	bool		isnull;
	Datum		value;
	ItemPointerData tid;

	if (!tuplesort_getdatum(state->tuplesort, true, false, &value, &isnull, NULL))
		return false;
	Assert(!isnull);
	itemptr_decode(&tid, DatumGetInt64(value));
	*row = zs_row_from_tid(&tid);
	return true;
}

/* index_validate_scan of the table access method: contract in tableam.h. */
void
zsscan_index_validate(Relation rel, Relation index, IndexInfo *info, Snapshot snapshot,
					  ValidateIndexState *state)
{
	EState	   *estate = CreateExecutorState();
	ExprContext *econtext = GetPerTupleExprContext(estate);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	ExprState  *predicate = ExecPrepareQual(info->ii_Predicate, estate);
	TableScanDesc sscan = table_beginscan_strat(rel, snapshot, 0, NULL, true, false);
	ZsScanDesc	scan = (ZsScanDesc) sscan;
	zstid		indexed = 0;
	bool		more;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	econtext->ecxt_scantuple = slot;
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, scan->nblocks);
	more = next_indexed_row(state, &indexed);

	/* both sequences ascend: a merge */
	while (zsscan_getnextslot(sscan, ForwardScanDirection, slot))
	{
		zstid		row = ((ZsSlot *) slot)->row;
		ItemPointerData tid = slot->tts_tid;

		CHECK_FOR_INTERRUPTS();
		state->htups += 1;
		if (((uint64) state->htups & 0xffff) == 0)
			report_progress(scan, row);
		while (more && indexed < row)
			more = next_indexed_row(state, &indexed);
		if (more && indexed == row)
			continue;

		MemoryContextReset(econtext->ecxt_per_tuple_memory);
		if (predicate != NULL && !ExecQual(predicate, econtext))
			continue;
		FormIndexDatum(info, slot, estate, values, isnull);
		index_insert(index, values, isnull, &tid, rel,
					 info->ii_Unique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO, false, info);
		state->tups_inserted += 1;
	}
	report_progress(scan, scan->end);

	table_endscan(sscan);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
	info->ii_ExpressionsState = NIL;
	info->ii_PredicateState = NULL;
}
