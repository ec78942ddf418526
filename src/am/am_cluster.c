/*-------------------------------------------------------------------------
 *
 * am_cluster.c
 *	  VACUUM FULL, CLUSTER and REPACK: a new file with the rows that anybody may see.
 *
 * Rows visible to everyone become frozen in the new file.  Others keep their
 * transactions: they are written frozen first, since nobody but us can see the
 * new file, and get their visibility slot afterwards.  Update chains between
 * them end: a transaction that follows one finds the row deleted.
 *
 * REPACK (CONCURRENTLY) of PostgreSQL 19 has others write to the old table meanwhile.  It gives a
 * snapshot, and adds by itself what its rows do not show.  These become rows of the transaction
 * that repacks, as in heap: older snapshots must not take them for what they saw.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/am/am_cluster.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/multixact.h"
#include "access/sysattr.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_type_d.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"

#include "zs_am.h"
#include "zs_base.h"
#include "zs_base_sort.h"
#include "zs_compat.h"
#include "zs_page.h"
#include "zs_scan.h"
#include "zs_slot.h"
#include "zs_tid.h"
#include "zs_write.h"

typedef struct CopyState
{
	Relation	old_table;
	Relation	new_table;
	TransactionId oldest_xmin;
	Snapshot	snapshot;		/* NULL: nobody else writes, and all rows are looked at */
	TupleTableSlot *newslot;
	double		num_tuples;
	double		vacuumed;
	double		recently_dead;
	TransactionId oldest_xid;	/* oldest left in the new table */
	MultiXactId oldest_mxid;
} CopyState;

/* What becomes of a row: false = it is dead.  *keep: its slot must be kept. */
static bool
judge_row(CopyState *state, ZsVisSlot *vis, bool *keep)
{
	Assert(TransactionIdIsNormal(state->oldest_xmin));

	if (state->snapshot != NULL)
	{
		/* the scan has judged */
		*keep = false;
		state->num_tuples += 1;
		return true;
	}
	*keep = true;
	switch (zstid_satisfies_vacuum(vis, state->oldest_xmin, InvalidBuffer))
	{
		case ZS_VACUUM_DEAD:
			state->vacuumed += 1;
			return false;
		case ZS_VACUUM_RECENTLY_DEAD:
			state->recently_dead += 1;
			break;
		case ZS_VACUUM_LIVE:
			*keep = TransactionIdIsNormal(vis->xmin) &&
				!TransactionIdPrecedes(vis->xmin, state->oldest_xmin);
			break;
		case ZS_VACUUM_INSERT_IN_PROGRESS:
			if (!zstid_is_current_xact(vis))
				elog(WARNING, "concurrent insert in progress within table \"%s\"",
					 RelationGetRelationName(state->old_table));
			break;
		case ZS_VACUUM_DELETE_IN_PROGRESS:
			if (!zstid_deleted_by_current_xact(vis))
				elog(WARNING, "concurrent delete in progress within table \"%s\"",
					 RelationGetRelationName(state->old_table));
			state->recently_dead += 1;
			break;
		case ZS_VACUUM_INVALID:
			elog(ERROR, "unexpected result of visibility check");
	}
	state->num_tuples += 1;
	return true;
}

/*
 * For a row that was judged before it was sorted: must its slot be kept?  Then *vis is that.
 */
static bool
find_kept_slot(const CopyState *state, zstid row, ZsVisSlot *vis)
{
	CopyState	counts = *state;
	bool		keep = false;

	if (state->snapshot == NULL && zstid_lookup(state->old_table, row, vis, NULL))
		(void) judge_row(&counts, vis, &keep);
	return keep;
}

/*
 * Writes a row to the new table with visibility vis (kept if keep).  xmin: the transaction that
 * wrote it.
 */
static void
copy_row(CopyState *state, TupleTableSlot *slot, TransactionId xmin, ZsVisSlot *vis, bool keep)
{
	TupleDesc	newdesc = RelationGetDescr(state->new_table);
	zstid		row;

	Assert(slot->tts_tupleDescriptor->natts == newdesc->natts);

	slot_getallattrs(slot);
	ExecClearTuple(state->newslot);
	for (int i = 0; i < newdesc->natts; i++)
	{
		/* dropped columns lose their values, as in heap's rewrite */
		bool		dropped = TupleDescAttr(newdesc, i)->attisdropped;

		state->newslot->tts_values[i] = dropped ? (Datum) 0 : slot->tts_values[i];
		state->newslot->tts_isnull[i] = dropped || slot->tts_isnull[i];
	}
	ExecStoreVirtualTuple(state->newslot);
	if (state->snapshot != NULL)
		zswrite_insert(state->new_table, state->newslot, GetCurrentCommandId(true),
					   TABLE_INSERT_NO_LOGICAL, true);
	else
		zswrite_copy_row(state->new_table, state->newslot, GetCurrentCommandId(true), xmin);
	if (!keep)
		return;
	Assert(ItemPointerIsValid(&state->newslot->tts_tid));
	row = zs_row_from_tid(&state->newslot->tts_tid);
	zstid_assign_slot(state->new_table, row, vis, state->oldest_xmin, &state->oldest_xid,
					  &state->oldest_mxid);
}

/* The transaction that wrote the slot's row. */
static TransactionId
slot_xmin(TupleTableSlot *slot)
{
	bool		isnull;

	return DatumGetTransactionId(slot_getsysattr(slot, MinTransactionIdAttributeNumber, &isnull));
}

/* In the order of the old table. */
static void
copy_in_order(CopyState *state, TableScanDesc scan, TupleTableSlot *slot)
{
	uint64		nscanned = 0;

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		ZsVisSlot	vis = *zsslot_vis(slot);
		bool		keep;

		CHECK_FOR_INTERRUPTS();
		if ((++nscanned & 0xfff) == 0)
			pgstat_progress_update_param(PROGRESS_REPACK_HEAP_TUPLES_SCANNED, nscanned);
		if (judge_row(state, &vis, &keep))
			copy_row(state, slot, slot_xmin(slot), &vis, keep);
	}
}

/* In the order of an index, by scanning it. */
static void
copy_by_index(CopyState *state, Relation index, TupleTableSlot *slot)
{
	IndexScanDesc scan = zs_index_beginscan(state->old_table, index,
											state->snapshot != NULL ? state->snapshot : SnapshotAny,
											0, 0, SO_NONE);

	zsscan_index_show_any(scan->xs_heapfetch);
	index_rescan(scan, NULL, 0, NULL, 0);
	while (index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		ZsVisSlot	vis = *zsslot_vis(slot);
		bool		keep;

		CHECK_FOR_INTERRUPTS();
		if (scan->xs_recheck)
			elog(ERROR, "CLUSTER does not support lossy index conditions");
		if (judge_row(state, &vis, &keep))
			copy_row(state, slot, slot_xmin(slot), &vis, keep);
	}
	index_endscan(scan);
}

/*
 * In the order of an index, by sorting.  The tuples that are sorted carry their old TID,
 * by which their visibility is found again.
 */
static void
copy_sorted(CopyState *state, TableScanDesc scan, Relation index, TupleTableSlot *slot)
{
	Tuplesortstate *sort = tuplesort_begin_cluster(RelationGetDescr(state->old_table), index,
												   maintenance_work_mem, NULL, TUPLESORT_NONE);
	TupleTableSlot *sorted = MakeSingleTupleTableSlot(RelationGetDescr(state->old_table),
													  &TTSOpsHeapTuple);
	HeapTuple	tuple;

	/* the planner chose the sort, which it knows of B-trees only */
	Assert(index->rd_rel->relam == BTREE_AM_OID);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		ZsVisSlot	vis = *zsslot_vis(slot);
		bool		keep;

		CHECK_FOR_INTERRUPTS();
		if (!judge_row(state, &vis, &keep))
			continue;
		tuple = ExecCopySlotHeapTuple(slot);
		tuplesort_putheaptuple(sort, tuple);
		heap_freetuple(tuple);
	}
	pgstat_progress_update_param(PROGRESS_REPACK_PHASE, PROGRESS_REPACK_PHASE_SORT_TUPLES);
	tuplesort_performsort(sort);
	pgstat_progress_update_param(PROGRESS_REPACK_PHASE, PROGRESS_REPACK_PHASE_WRITE_NEW_HEAP);

	while ((tuple = tuplesort_getheaptuple(sort, true)) != NULL)
	{
		ZsVisSlot	vis;
		bool		keep;

		CHECK_FOR_INTERRUPTS();
		keep = find_kept_slot(state, zs_row_from_tid(&tuple->t_self), &vis);
		ExecStoreHeapTuple(tuple, sorted, false);
		copy_row(state, sorted, HeapTupleHeaderGetRawXmin(tuple->t_data), &vis, keep);
	}
	ExecDropSingleTupleTableSlot(sorted);
	tuplesort_end(sort);
}

/*
 * The row type that is sorted by a key: the table's columns, then the row's old number and the
 * transaction that wrote it.
 */
static TupleDesc
sorted_desc(TupleDesc desc)
{
	TupleDesc	result = CreateTemplateTupleDesc(desc->natts + 2);

	for (int i = 1; i <= desc->natts; i++)
		TupleDescCopyEntry(result, i, desc, i);
	TupleDescInitEntry(result, desc->natts + 1, "row", INT8OID, -1, 0);
	TupleDescInitEntry(result, desc->natts + 2, "xmin", XIDOID, -1, 0);
	zs_tupledesc_finalize(result);
	return result;
}

/* In the order of a key, by sorting. */
static void
copy_by_key(CopyState *state, TableScanDesc scan, const ZsSortKey *keys, int nkeys,
			TupleTableSlot *slot)
{
	TupleDesc	desc = sorted_desc(RelationGetDescr(state->old_table));
	int			natts = desc->natts - 2;
	TupleTableSlot *unsorted = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	TupleTableSlot *sorted = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	TupleTableSlot *row = MakeSingleTupleTableSlot(RelationGetDescr(state->old_table),
												   &TTSOpsVirtual);
	Tuplesortstate *sort = zsbase_sort_begin(desc, keys, nkeys, maintenance_work_mem);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		ZsVisSlot	vis = *zsslot_vis(slot);
		bool		keep;

		CHECK_FOR_INTERRUPTS();
		if (!judge_row(state, &vis, &keep))
			continue;
		slot_getallattrs(slot);
		ExecClearTuple(unsorted);
		memcpy(unsorted->tts_values, slot->tts_values, natts * sizeof(Datum));
		memcpy(unsorted->tts_isnull, slot->tts_isnull, natts * sizeof(bool));
		unsorted->tts_values[natts] = Int64GetDatum((int64) zs_row_from_tid(&slot->tts_tid));
		unsorted->tts_values[natts + 1] = TransactionIdGetDatum(slot_xmin(slot));
		unsorted->tts_isnull[natts] = unsorted->tts_isnull[natts + 1] = false;
		ExecStoreVirtualTuple(unsorted);
		tuplesort_puttupleslot(sort, unsorted);
	}
	pgstat_progress_update_param(PROGRESS_REPACK_PHASE, PROGRESS_REPACK_PHASE_SORT_TUPLES);
	tuplesort_performsort(sort);
	pgstat_progress_update_param(PROGRESS_REPACK_PHASE, PROGRESS_REPACK_PHASE_WRITE_NEW_HEAP);

	while (tuplesort_gettupleslot(sort, true, false, sorted, NULL))
	{
		ZsVisSlot	vis;
		bool		keep;

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(sorted);
		keep = find_kept_slot(state, (zstid) DatumGetInt64(sorted->tts_values[natts]), &vis);
		ExecClearTuple(row);
		memcpy(row->tts_values, sorted->tts_values, natts * sizeof(Datum));
		memcpy(row->tts_isnull, sorted->tts_isnull, natts * sizeof(bool));
		ExecStoreVirtualTuple(row);
		copy_row(state, row, DatumGetTransactionId(sorted->tts_values[natts + 1]), &vis, keep);
	}
	ExecDropSingleTupleTableSlot(row);
	ExecDropSingleTupleTableSlot(sorted);
	ExecDropSingleTupleTableSlot(unsorted);
	tuplesort_end(sort);
}

/*
 * relation_copy_for_cluster: rewrites old_table into new_table, in the order of old_index if there
 * is one, by scanning it or (use_sort) by sorting.  Nobody else writes to them: core's commands
 * hold AccessExclusiveLock, TimescaleDB's reorder_chunk() lets others read with ExclusiveLock.
 * Without an index the table's sort key gives the order, or the index that CLUSTER marked.
 * With a snapshot (REPACK (CONCURRENTLY) of 19) others write, and the rows that it sees are copied.
 * Without, rows that died before oldest_xmin stay behind; *xid_cutoff and *multi_cutoff become the
 * oldest that the new table has, if they were newer.
 */
void
zsam_copy_for_cluster(Relation old_table, Relation new_table, Relation old_index, bool use_sort,
					  TransactionId oldest_xmin, Snapshot snapshot, TransactionId *xid_cutoff,
					  MultiXactId *multi_cutoff, double *num_tuples, double *tups_vacuumed,
					  double *tups_recently_dead)
{
	TupleTableSlot *slot = table_slot_create(old_table, NULL);
	ZsSortKey	keys[INDEX_MAX_KEYS];
	int			nkeys = old_index == NULL ? zsbase_sort_key(old_table, true, keys) : 0;
	CopyState	state = {
		.old_table = old_table,
		.new_table = new_table,
		.oldest_xmin = oldest_xmin,
		.snapshot = snapshot,
		.newslot = table_slot_create(new_table, NULL),
		.oldest_xid = oldest_xmin,
		.oldest_mxid = GetOldestMultiXactId()
	};

	zsbase_require_preload();
	Assert(CheckRelationLockedByMe(old_table, snapshot != NULL ? ShareUpdateExclusiveLock :
								   ExclusiveLock, true));
	Assert(old_index != NULL || !use_sort);
	if (old_index != NULL && !use_sort)
	{
		const int	progress_index[] = {PROGRESS_REPACK_PHASE, PROGRESS_REPACK_INDEX_RELID};
		int64		progress_val[] = {PROGRESS_REPACK_PHASE_INDEX_SCAN_HEAP,
									  RelationGetRelid(old_index)};

		pgstat_progress_update_multi_param(2, progress_index, progress_val);
		zswrite_flush(old_table);
		copy_by_index(&state, old_index, slot);
	}
	else
	{
		TableScanDesc scan = zs_table_beginscan(old_table,
												  snapshot != NULL ? snapshot : SnapshotAny,
												  SO_NONE);

		zsscan_show_any(scan);
		pgstat_progress_update_param(PROGRESS_REPACK_PHASE, PROGRESS_REPACK_PHASE_SEQ_SCAN_HEAP);
		pgstat_progress_update_param(PROGRESS_REPACK_TOTAL_HEAP_BLKS,
									 RelationGetNumberOfBlocks(old_table));
		if (old_index != NULL)
			copy_sorted(&state, scan, old_index, slot);
		else if (nkeys > 0)
			copy_by_key(&state, scan, keys, nkeys, slot);
		else
			copy_in_order(&state, scan, slot);
		table_endscan(scan);
	}
	zswrite_flush(new_table);
	ExecDropSingleTupleTableSlot(state.newslot);
	ExecDropSingleTupleTableSlot(slot);

	/* everything older than this is frozen or gone */
	if (TransactionIdPrecedes(state.oldest_xid, *xid_cutoff))
		*xid_cutoff = state.oldest_xid;
	if (MultiXactIdPrecedes(state.oldest_mxid, *multi_cutoff))
		*multi_cutoff = state.oldest_mxid;
	*num_tuples = state.num_tuples;
	*tups_vacuumed = state.vacuumed;
	*tups_recently_dead = state.recently_dead;
}
