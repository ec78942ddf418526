/*-------------------------------------------------------------------------
 *
 * dirty_scan.c
 *	  For t/scan_dirty.pl, which builds it: what a SNAPSHOT_DIRTY says about each row that a table
 *	  returns.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * t/lib/dirty_scan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/tableam.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#if PG_VERSION_NUM >= 190000
#define table_beginscan(rel, snapshot, nkeys, keys) \
	table_beginscan((rel), (snapshot), (nkeys), (keys), SO_NONE)
#define table_beginscan_tidrange(rel, snapshot, min, max) \
	table_beginscan_tidrange((rel), (snapshot), (min), (max), SO_NONE)
#endif

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(dirty_scan);

/* What no function that fills a snapshot leaves there. */
#define POISON	((TransactionId) 0xFFFFFFF0)

typedef struct DirtyScan
{
	ReturnSetInfo *rsinfo;
	SnapshotData snapshot;
} DirtyScan;

static Snapshot
poison(DirtyScan *scan)
{
	scan->snapshot.xmin = scan->snapshot.xmax = POISON;
	scan->snapshot.speculativeToken = POISON;
	return &scan->snapshot;
}

/* One row of the result: the first column, which is an integer, and the snapshot's fields. */
static void
put_row(DirtyScan *scan, Datum a)
{
	Datum		values[4];
	bool		nulls[4] = {false};

	values[0] = a;
	values[1] = TransactionIdGetDatum(scan->snapshot.xmin);
	values[2] = TransactionIdGetDatum(scan->snapshot.xmax);
	values[3] = BoolGetDatum(scan->snapshot.speculativeToken != 0);
	tuplestore_putvalues(scan->rsinfo->setResult, scan->rsinfo->setDesc, values, nulls);
}

/*
 * A copy for a trigger, or for ANALYZE: a heap tuple whose header has no TID is a composite value,
 * with its type where others have xmin, and heap_deform_tuple() of some minor versions looks that
 * up.
 */
static void
check_copy(TupleTableSlot *slot)
{
	bool		isnull;
	HeapTuple	tuple;
	HeapTupleHeader header;

	/* the copy is to have it, too */
	(void) slot_getsysattr(slot, MinTransactionIdAttributeNumber, &isnull);
	tuple = ExecCopySlotHeapTuple(slot);
	header = tuple->t_data;
	if (!ItemPointerEquals(&tuple->t_self, &slot->tts_tid))
		elog(ERROR, "a copy has another TID");
	if (!ItemPointerIsValid(&header->t_ctid) &&
		(HeapTupleHeaderGetTypeId(header) != slot->tts_tupleDescriptor->tdtypeid ||
		 HeapTupleHeaderGetTypMod(header) != slot->tts_tupleDescriptor->tdtypmod))
		elog(ERROR, "a copy is a composite value of another type");
	heap_freetuple(tuple);
}

static void
put_slot(DirtyScan *scan, TupleTableSlot *slot)
{
	bool		isnull;
	Datum		a = slot_getattr(slot, 1, &isnull);

	put_row(scan, a);
	check_copy(slot);
}

static void
scan_rows(DirtyScan *scan, Relation rel, TupleTableSlot *slot, bool forward, bool backward)
{
	TableScanDesc desc = table_beginscan(rel, &scan->snapshot, 0, NULL);

	for (;;)
	{
		poison(scan);
		if (!table_scan_getnextslot(desc, ForwardScanDirection, slot))
			break;
		if (forward)
			put_slot(scan, slot);
	}
	for (;;)
	{
		poison(scan);
		if (!backward || !table_scan_getnextslot(desc, BackwardScanDirection, slot))
			break;
		put_slot(scan, slot);
	}
	table_endscan(desc);
}

static void
scan_backward(DirtyScan *scan, Relation rel, TupleTableSlot *slot)
{
	TableScanDesc desc = table_beginscan(rel, &scan->snapshot, 0, NULL);

	for (;;)
	{
		poison(scan);
		if (!table_scan_getnextslot(desc, BackwardScanDirection, slot))
			break;
		put_slot(scan, slot);
	}
	table_endscan(desc);
}

static void
scan_tids(DirtyScan *scan, Relation rel, TupleTableSlot *slot)
{
	ItemPointerData min;
	ItemPointerData max;
	TableScanDesc desc;

	ItemPointerSet(&min, 0, 1);
	ItemPointerSet(&max, MaxBlockNumber, MaxOffsetNumber);
	desc = table_beginscan_tidrange(rel, &scan->snapshot, &min, &max);
	for (;;)
	{
		poison(scan);
		if (!table_scan_getnextslot_tidrange(desc, ForwardScanDirection, slot))
			break;
		put_slot(scan, slot);
	}
	table_endscan(desc);
}

/* Each version that there is, by its TID, or asked whether it is visible. */
static void
ask_versions(DirtyScan *scan, Relation rel, TupleTableSlot *slot, bool fetch)
{
	TableScanDesc desc = table_beginscan(rel, SnapshotAny, 0, NULL);
	TupleTableSlot *other = table_slot_create(rel, NULL);

	while (table_scan_getnextslot(desc, ForwardScanDirection, slot))
	{
		if (fetch ? table_tuple_fetch_row_version(rel, &slot->tts_tid, poison(scan), other) :
			table_tuple_satisfies_snapshot(rel, slot, poison(scan)))
			put_slot(scan, fetch ? other : slot);
	}
	ExecDropSingleTupleTableSlot(other);
	table_endscan(desc);
}

static void
scan_index(DirtyScan *scan, Relation rel)
{
	List	   *indexes = RelationGetIndexList(rel);
	Relation	index = relation_open(linitial_oid(indexes), AccessShareLock);
	SysScanDesc desc = systable_beginscan_ordered(rel, index, &scan->snapshot, 0, NULL);

	for (;;)
	{
		HeapTuple	tuple;
		bool		isnull;

		poison(scan);
		tuple = systable_getnext_ordered(desc, ForwardScanDirection);
		if (tuple == NULL)
			break;
		put_row(scan, heap_getattr(tuple, 1, RelationGetDescr(rel), &isnull));
	}
	systable_endscan_ordered(desc);
	relation_close(index, AccessShareLock);
}

/* dirty_scan(table, how): (value of the first column, xmin, xmax, is there a token?) by row */
Datum
dirty_scan(PG_FUNCTION_ARGS)
{
	Relation	rel = table_open(PG_GETARG_OID(0), AccessShareLock);
	char	   *how = text_to_cstring(PG_GETARG_TEXT_PP(1));
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	DirtyScan	scan;

	InitMaterializedSRF(fcinfo, 0);
	scan.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	InitDirtySnapshot(scan.snapshot);
	if (strcmp(how, "forward") == 0)
		scan_rows(&scan, rel, slot, true, false);
	else if (strcmp(how, "back from the end") == 0)
		scan_rows(&scan, rel, slot, false, true);
	else if (strcmp(how, "backward") == 0)
		scan_backward(&scan, rel, slot);
	else if (strcmp(how, "range of TIDs") == 0)
		scan_tids(&scan, rel, slot);
	else if (strcmp(how, "by TID") == 0)
		ask_versions(&scan, rel, slot, true);
	else if (strcmp(how, "visible?") == 0)
		ask_versions(&scan, rel, slot, false);
	else if (strcmp(how, "by index") == 0)
		scan_index(&scan, rel);
	else
		elog(ERROR, "no such scan: %s", how);
	ExecDropSingleTupleTableSlot(slot);
	table_close(rel, AccessShareLock);
	return (Datum) 0;
}
