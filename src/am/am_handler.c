/*-------------------------------------------------------------------------
 *
 * am_handler.c
 *	  The TableAmRoutine: between PostgreSQL and the modules below.
 *
 * Most callbacks are functions of those modules.  Here is the glue of the others: what has to be
 * put together from two modules (a row is written by write, and its system columns shown by scan),
 * and what tableam.h asks and we have no opinion of our own on.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/am/am_handler.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "fmgr.h"
#include "storage/predicate.h"
#include "utils/syscache.h"

#include "am_internal.h"
#include "zs_am.h"
#include "zs_attr.h"
#include "zs_base.h"
#include "zs_compat.h"
#include "zs_ddl.h"
#include "zs_scan.h"
#include "zs_slot.h"
#include "zs_tid.h"
#include "zs_vacuum.h"
#include "zs_write.h"

PG_FUNCTION_INFO_V1(zedstore_tableam_handler);

static const TupleTableSlotOps *
zs_slot_callbacks(Relation rel)
{
	return &TTSOpsZedstore;
}

/* ---- rows in ------------------------------------------------------------ */

/*
 * The row in the slot comes from a rewrite.  ALTER TABLE that adds a virtual generated column
 * computes its values, too (18).  They are not to be stored, since the type of such a column may
 * change without a rewrite.  The table that is written to does not know which columns are virtual,
 * but the slot does.
 */
static void
forget_virtual_values(TupleTableSlot *slot)
{
	TupleDesc	desc = slot->tts_tupleDescriptor;

	if (likely(desc->constr == NULL))
		return;
	slot_getallattrs(slot);
	for (int i = 0; i < desc->natts; i++)
	{
		if (!zs_attr_is_stored(TupleDescAttr(desc, i)))
			slot->tts_isnull[i] = true;
	}
}

/* tuple_insert: contract in tableam.h. */
void
zsam_tuple_insert(Relation rel, TupleTableSlot *slot, CommandId cid, uint32 options,
				  BulkInsertState bistate)
{
	/*
	 * New tables are filled in bulk.  A COPY row by row, because of triggers, may be of any length:
	 * like other commands it turns out to be a bulk load or not.
	 */
	bool		bulk = bistate != NULL && (options & TABLE_INSERT_SKIP_FSM) != 0;

	if (bulk)
		forget_virtual_values(slot);
	zswrite_insert(rel, slot, cid, options, bulk);

	/*
	 * REPACK (CONCURRENTLY) adds what changed meanwhile in this way, and then swaps the files of
	 * two tables without saying that it has ended: the row must not wait for a reader of this one.
	 * A bulk load, as that of zs_convert(), says when it has ended.
	 */
	if ((options & TABLE_INSERT_NO_LOGICAL) && !bulk)
		zswrite_flush(rel);
	zsslot_set_inserted(slot, GetCurrentTransactionId(), InvalidTransactionId, cid);
}

/* tuple_insert_speculative: contract in tableam.h. */
void
zsam_tuple_insert_speculative(Relation rel, TupleTableSlot *slot, CommandId cid, uint32 options,
							  BulkInsertState bistate, uint32 token)
{
	zswrite_insert_speculative(rel, slot, cid, options, token);
	zsslot_set_inserted(slot, GetCurrentTransactionId(), InvalidTransactionId, cid);
}

static void
zs_tuple_complete_speculative(Relation rel, TupleTableSlot *slot, uint32 token, bool succeeded)
{
	zstid		row = zs_row_from_tid(&slot->tts_tid);

	Assert(ItemPointerIsValid(&slot->tts_tid) && row < ZS_MAX_ROW);
	if (succeeded)
	{
		zstid_finish_speculative(rel, row);
		zswrite_log_insert(rel, &slot, 1, NULL, 0, 0);
	}
	else
		zstid_abort_speculative(rel, row);
}

/* multi_insert: contract in tableam.h. */
void
zsam_multi_insert(Relation rel, TupleTableSlot **slots, int ntuples, CommandId cid, uint32 options,
				  BulkInsertState bistate)
{
	ZsRowStage *stage;
	int			nstaged = zsslot_count_staged(slots, ntuples, &stage);

	/* COPY FROM may have nothing for a partition when it writes what it has */
	Assert(ntuples >= 0 && nstaged >= 0 && nstaged <= ntuples);
	zswrite_multi_insert(rel, slots, ntuples, stage, nstaged, cid, options, bistate != NULL);

	/* what fills so many slots is likely to fill them again */
	zsslot_use_stage(rel, slots, ntuples);
}

/* ---- others ---------------------------------------------------------------- */

/* The access method that ALTER TABLE is about to give to the table, NULL if it is not. */
static const TableAmRoutine *
next_access_method(Relation rel)
{
	Oid			amoid = zsddl_leaving_for(RelationGetRelid(rel));
	HeapTuple	tuple;
	Oid			handler;

	if (!OidIsValid(amoid))
		return NULL;
	tuple = SearchSysCache1(AMOID, ObjectIdGetDatum(amoid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for access method %u", amoid);
	handler = ((Form_pg_am) GETSTRUCT(tuple))->amhandler;
	ReleaseSysCache(tuple);
	return GetTableAmRoutine(handler);
}

/*
 * Large values have overflow pages of their own.  But when the table gets another access method,
 * the new file gets a TOAST table only if the table has one before.
 */
static bool
zs_needs_toast_table(Relation rel)
{
	const TableAmRoutine *next = next_access_method(rel);

	return next != NULL && next->relation_needs_toast_table(rel);
}

static Oid
zs_toast_am(Relation rel)
{
	const TableAmRoutine *next = next_access_method(rel);

	return next != NULL ? next->relation_toast_am(rel) : HEAP_TABLE_AM_OID;
}

const TableAmRoutine zs_table_am_routine = {
	.type = T_TableAmRoutine,

	.slot_callbacks = zs_slot_callbacks,

	.scan_begin = zsscan_begin,
	.scan_end = zsscan_end,
	.scan_rescan = zsscan_rescan,
	.scan_getnextslot = zsscan_getnextslot,
	.scan_set_tidrange = zsscan_set_tidrange,
	.scan_getnextslot_tidrange = zsscan_getnextslot_tidrange,

	.parallelscan_estimate = zsscan_parallel_estimate,
	.parallelscan_initialize = zsscan_parallel_initialize,
	.parallelscan_reinitialize = zsscan_parallel_reinitialize,

	.index_fetch_begin = ZS_CALLBACK(zsscan_index_begin),
	.index_fetch_reset = zsscan_index_reset,
	.index_fetch_end = zsscan_index_end,
	.index_fetch_tuple = zsscan_index_tuple,

	.tuple_fetch_row_version = zsscan_fetch_row_version,
	.tuple_tid_valid = zsscan_tid_valid,
	.tuple_get_latest_tid = zsscan_get_latest_tid,
	.tuple_satisfies_snapshot = zsscan_satisfies_snapshot,
	.index_delete_tuples = zsscan_index_delete_tuples,

	.tuple_insert = ZS_CALLBACK(zsam_tuple_insert),
	.tuple_insert_speculative = ZS_CALLBACK(zsam_tuple_insert_speculative),
	.tuple_complete_speculative = zs_tuple_complete_speculative,
	.multi_insert = ZS_CALLBACK(zsam_multi_insert),
	.tuple_delete = ZS_CALLBACK(zsam_tuple_delete),
	.tuple_update = ZS_CALLBACK(zsam_tuple_update),
	.tuple_lock = zsam_tuple_lock,
	.finish_bulk_insert = ZS_CALLBACK(zswrite_finish_bulk),

	.relation_set_new_filelocator = zsam_set_new_filelocator,
	.relation_nontransactional_truncate = zsam_nontransactional_truncate,
	.relation_copy_data = zsam_copy_data,
	.relation_copy_for_cluster = ZS_CALLBACK(zsam_copy_for_cluster),
	.relation_vacuum = ZS_CALLBACK(zsvacuum_relation),
	.scan_analyze_next_block = zsscan_analyze_next_block,
	.scan_analyze_next_tuple = ZS_CALLBACK(zsscan_analyze_next_tuple),
	.index_build_range_scan = zsscan_index_build_range,
	.index_validate_scan = zsscan_index_validate,

	.relation_size = zsam_relation_size,
	.relation_needs_toast_table = zs_needs_toast_table,
	.relation_toast_am = zs_toast_am,
	.relation_fetch_toast_slice = zsattr_toast_fetch,
	.relation_estimate_size = zsam_estimate_size,

#if !ZS_BITMAP_SCAN_ITERATES
	.scan_bitmap_next_block = zsscan_bitmap_next_block,
#endif
	.scan_bitmap_next_tuple = zsscan_bitmap_next_tuple,
	.scan_sample_next_block = zsscan_sample_next_block,
	.scan_sample_next_tuple = zsscan_sample_next_tuple,
};

/* The handler of the access method; zs_base.h knows tables of ours by what it returns. */
Datum
zedstore_tableam_handler(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(&zs_table_am_routine);
}
