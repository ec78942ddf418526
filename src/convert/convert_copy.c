/*-------------------------------------------------------------------------
 *
 * convert_copy.c
 *	  The transient table of a conversion, and the copy into it.
 *
 * The transient table is what core's rewrites make (make_new_heap()): the same columns with the
 * same numbers, dropped ones included, in the schema of the table.  Unlike core's it is committed
 * and lives as long as the conversion does.
 *
 * The table is copied in parts, each with a snapshot and a transaction of its own, so that a
 * conversion of many hours holds VACUUM back for no longer than one part takes.  A row that moves
 * from one part to another is seen twice or not at all; that is no harm, since it has changed, and
 * so it is in the log.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/convert/convert_copy.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/toasting.h"
#include "miscadmin.h"
#include "storage/itemptr.h"
#include "utils/snapmgr.h"

#include "convert_internal.h"
#include "zs_base.h"
#include "zs_compat.h"
#include "zs_ddl.h"
#include ZS_REWRITE_H

/*
 * Blocks of one part: 128 MB of heap, or a million rows of zedstore; an eighth of smaller tables,
 * but not so little that segments become small.
 */
#define MIN_HEAP_STEP	64
#define MAX_HEAP_STEP	16384
#define MIN_ZEDSTORE_STEP	4
#define MAX_ZEDSTORE_STEP	4096
#define PARTS	8

/*
 * Creates the transient table.  It goes with the table, if that is dropped after an interrupted
 * conversion.  The caller holds ShareUpdateExclusiveLock on the table.
 */
Oid
zsconvert_table_create(ZsConversion *conv, Relation rel)
{
	ObjectAddress transient;
	ObjectAddress table;
	Oid			oid;

	Assert(RelationGetRelid(rel) == conv->relid);
	oid = make_new_heap(conv->relid, rel->rd_rel->reltablespace, conv->method,
						rel->rd_rel->relpersistence, NoLock);
	if (conv->to_zedstore)
		zsddl_options_store(oid, conv->options, (Datum) 0);
	else
	{
		/* zedstore tables have no TOAST table, so core has made none */
		zsddl_options_store(oid, (Datum) 0, (Datum) 0);
		NewHeapCreateToastTable(oid, (Datum) 0, AccessExclusiveLock, InvalidOid);
	}
	ObjectAddressSet(transient, RelationRelationId, oid);
	ObjectAddressSet(table, RelationRelationId, conv->relid);
	recordDependencyOn(&transient, &table, DEPENDENCY_AUTO);
	return oid;
}

/* How many of the table's nblocks blocks are to be copied in one transaction. */
BlockNumber
zsconvert_copy_step(const ZsConversion *conv, BlockNumber nblocks)
{
	BlockNumber step = nblocks / PARTS;

	if (conv->to_zedstore)
		return Min(Max(step, MIN_HEAP_STEP), MAX_HEAP_STEP);
	return Min(Max(step, MIN_ZEDSTORE_STEP), MAX_ZEDSTORE_STEP);
}

/*
 * Fills `to`, a slot of the transient table with the row type desc, with the row in `from`.
 * Columns that are dropped or virtual lose their values.
 */
void
zsconvert_copy_slot(TupleTableSlot *from, TupleTableSlot *to, TupleDesc desc)
{
	Assert(from->tts_tupleDescriptor->natts == desc->natts);
	slot_getallattrs(from);
	ExecClearTuple(to);
	for (int i = 0; i < desc->natts; i++)
	{
		bool		stored = zs_attr_is_stored(TupleDescAttr(from->tts_tupleDescriptor, i));

		to->tts_values[i] = stored ? from->tts_values[i] : (Datum) 0;
		to->tts_isnull[i] = !stored || from->tts_isnull[i];
	}
	ExecStoreVirtualTuple(to);
}

/*
 * Copies the rows of the table's blocks first to last that the active snapshot sees.  Blocks behind
 * the table's end are none.
 */
void
zsconvert_copy_blocks(ZsConversion *conv, BlockNumber first, BlockNumber last)
{
	Relation	old_table = table_open(conv->relid, AccessShareLock);
	Relation	new_table = table_open(conv->transient, RowExclusiveLock);
	TupleDesc	desc = RelationGetDescr(new_table);
	TupleTableSlot *slot = table_slot_create(old_table, NULL);
	TupleTableSlot *newslot = table_slot_create(new_table, NULL);
	BulkInsertState bistate = GetBulkInsertState();
	int			options = TABLE_INSERT_SKIP_FSM | TABLE_INSERT_NO_LOGICAL;
	ItemPointerData low;
	ItemPointerData high;
	TableScanDesc scan;
	int64		nrows = 0;

	Assert(first <= last && ActiveSnapshotSet());
	ItemPointerSet(&low, first, FirstOffsetNumber);
	ItemPointerSet(&high, last, PG_UINT16_MAX);
	scan = zs_table_beginscan_tidrange(old_table, GetActiveSnapshot(), &low, &high);
	while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		zsconvert_copy_slot(slot, newslot, desc);
		table_tuple_insert(new_table, newslot, GetCurrentCommandId(true), options, bistate);
		nrows++;
	}
	table_endscan(scan);
	FreeBulkInsertState(bistate);
	table_finish_bulk_insert(new_table, options);
	ExecDropSingleTupleTableSlot(newslot);
	ExecDropSingleTupleTableSlot(slot);
	table_close(new_table, NoLock);
	table_close(old_table, NoLock);
	zsconvert_slot_add(ZS_CONVERT_ROWS_COPIED, nrows);
}
