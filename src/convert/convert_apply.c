/*-------------------------------------------------------------------------
 *
 * convert_apply.c
 *	  Brings the copy of a table up to date with its log.
 *
 * For each key in the log: what the copy has of it goes, and what the table has now comes.  "Now"
 * is one snapshot, by which the log is read, too: an entry that it sees is of a change that it
 * sees.  Those entries are deleted in the same transaction.  Whatever the copy had of the key
 * before, it is right afterwards, be it a row that two parts of the copy saw, or one that none
 * saw.
 *
 * Indexes of the copy are not unique, so the keys may be taken in any order and in any portions,
 * though the table has other unique columns.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/convert/convert_apply.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "convert_internal.h"
#include "zs_compat.h"

/* Entries of the log in one transaction. */
#define MAX_CHANGES 1000000

typedef struct Apply
{
	ZsConversion *conv;
	Snapshot	snapshot;
	Relation	old_table;
	Relation	old_index;
	Relation	new_table;
	Relation	new_index;
	TupleTableSlot *keyslot;
	TupleTableSlot *oldslot;
	TupleTableSlot *newslot;
	TupleTableSlot *foundslot;	/* of the new table */
	EState	   *estate;
	ResultRelInfo *result;
	ScanKeyData scankeys[INDEX_MAX_KEYS];
} Apply;

/* Scan keys for an index that has the key's columns first, without their values. */
static void
make_scan_keys(Apply *apply)
{
	Relation	index = apply->old_index;

	for (int i = 0; i < apply->conv->key.n; i++)
	{
		Oid			type = index->rd_opcintype[i];
		Oid			operator = get_opfamily_member(index->rd_opfamily[i], type, type,
												   BTEqualStrategyNumber);

		if (!OidIsValid(operator))
			elog(ERROR, "missing operator %d(%u,%u) in opfamily %u", BTEqualStrategyNumber, type,
				 type, index->rd_opfamily[i]);
		ScanKeyEntryInitialize(&apply->scankeys[i], 0, (AttrNumber) (i + 1), BTEqualStrategyNumber,
							   InvalidOid, index->rd_indcollation[i], get_opcode(operator),
							   (Datum) 0);
	}
}

/* A scan for the rows of a table that have the key in keyslot. */
static IndexScanDesc
begin_key_scan(Apply *apply, Relation table, Relation index, Snapshot snapshot)
{
	IndexScanDesc scan = zs_index_beginscan(table, index, snapshot, apply->conv->key.n, 0,
											SO_NONE);

	for (int i = 0; i < apply->conv->key.n; i++)
	{
		bool		isnull;

		apply->scankeys[i].sk_argument = slot_getattr(apply->keyslot, i + 1, &isnull);
		Assert(!isnull);
	}
	index_rescan(scan, apply->scankeys, apply->conv->key.n, NULL, 0);
	return scan;
}

/* Takes entries out of the log. */
static int64
take_log(Apply *apply, Relation log, Tuplestorestate *keys)
{
	TableScanDesc scan = zs_table_beginscan(log, apply->snapshot, SO_NONE);
	TupleTableSlot *slot = table_slot_create(log, NULL);
	int64		n = 0;

	while (n < MAX_CHANGES && table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		tuplestore_puttupleslot(keys, slot);
		simple_heap_delete(log, &slot->tts_tid);
		n++;
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	return n;
}

/* Removes what the copy has of the key. */
static void
delete_key(Apply *apply)
{
	IndexScanDesc scan = begin_key_scan(apply, apply->new_table, apply->new_index, SnapshotSelf);

	while (index_getnext_slot(scan, ForwardScanDirection, apply->foundslot))
	{
		CHECK_FOR_INTERRUPTS();
		simple_table_tuple_delete(apply->new_table, &apply->foundslot->tts_tid, apply->snapshot);
	}
	index_endscan(scan);
}

/* Has the copy got a row of the key? */
static bool
copy_has_key(Apply *apply)
{
	IndexScanDesc scan = begin_key_scan(apply, apply->new_table, apply->new_index, SnapshotSelf);
	bool		found = index_getnext_slot(scan, ForwardScanDirection, apply->foundslot);

	ExecClearTuple(apply->foundslot);
	index_endscan(scan);
	return found;
}

/* Copies the table's row of the key, if there is one. */
static void
insert_key(Apply *apply)
{
	TupleDesc	desc = RelationGetDescr(apply->new_table);
	IndexScanDesc scan;

	Assert(RelationGetDescr(apply->old_table)->natts == desc->natts);
	if (copy_has_key(apply))
		return;					/* the key stands in the log twice */
	scan = begin_key_scan(apply, apply->old_table, apply->old_index, apply->snapshot);
	if (index_getnext_slot(scan, ForwardScanDirection, apply->oldslot))
	{
		zsconvert_copy_slot(apply->oldslot, apply->newslot, desc);
		table_tuple_insert(apply->new_table, apply->newslot, GetCurrentCommandId(true),
						   TABLE_INSERT_NO_LOGICAL, NULL);
		ResetPerTupleExprContext(apply->estate);
		zs_insert_index_tuples(apply->result, apply->newslot, apply->estate);
		ExecClearTuple(apply->newslot);
	}
	ExecClearTuple(apply->oldslot);
	index_endscan(scan);
}

static void
for_each_key(Apply *apply, Tuplestorestate *keys, void (*fn) (Apply *apply))
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "zedstore conversion",
												  ALLOCSET_DEFAULT_SIZES);

	tuplestore_rescan(keys);
	while (tuplestore_gettupleslot(keys, true, false, apply->keyslot))
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		CHECK_FOR_INTERRUPTS();
		fn(apply);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
}

static void
open_tables(Apply *apply)
{
	ZsConversion *conv = apply->conv;

	apply->old_table = table_open(conv->relid, AccessShareLock);
	apply->old_index = index_open(conv->key_index, AccessShareLock);
	apply->new_table = table_open(conv->transient, RowExclusiveLock);
	apply->new_index = index_open(conv->new_key_index, RowExclusiveLock);
	apply->oldslot = table_slot_create(apply->old_table, NULL);
	apply->newslot = table_slot_create(apply->new_table, NULL);
	apply->foundslot = table_slot_create(apply->new_table, NULL);
	apply->estate = CreateExecutorState();
	apply->result = makeNode(ResultRelInfo);
	InitResultRelInfo(apply->result, apply->new_table, 1, NULL, 0);
	ExecOpenIndices(apply->result, false);
	make_scan_keys(apply);
}

/* Locks stay until the transaction ends. */
static void
close_tables(Apply *apply)
{
	ExecCloseIndices(apply->result);
	FreeExecutorState(apply->estate);
	ExecDropSingleTupleTableSlot(apply->oldslot);
	ExecDropSingleTupleTableSlot(apply->newslot);
	ExecDropSingleTupleTableSlot(apply->foundslot);
	index_close(apply->new_index, NoLock);
	table_close(apply->new_table, NoLock);
	index_close(apply->old_index, NoLock);
	table_close(apply->old_table, NoLock);
}

/*
 * Applies what the active snapshot sees of the log, up to MAX_CHANGES entries, to the transient
 * table.  Returns the number of entries.
 */
int64
zsconvert_apply_changes(ZsConversion *conv)
{
	Apply		apply = {.conv = conv, .snapshot = GetActiveSnapshot()};
	Relation	log = table_open(conv->key.log, RowExclusiveLock);
	Tuplestorestate *keys = tuplestore_begin_heap(false, false, maintenance_work_mem);
	int64		n;

	Assert(OidIsValid(conv->new_key_index) && OidIsValid(conv->key.log));
	Assert(RelationGetDescr(log)->natts == conv->key.n);
	n = take_log(&apply, log, keys);
	if (n > 0)
	{
		open_tables(&apply);
		apply.keyslot = MakeSingleTupleTableSlot(RelationGetDescr(log), &TTSOpsMinimalTuple);
		for_each_key(&apply, keys, delete_key);
		CommandCounterIncrement();
		for_each_key(&apply, keys, insert_key);
		ExecDropSingleTupleTableSlot(apply.keyslot);
		close_tables(&apply);
	}
	tuplestore_end(keys);
	table_close(log, NoLock);
	zsconvert_slot_add(ZS_CONVERT_CHANGES_APPLIED, n);
	return n;
}
