/*-------------------------------------------------------------------------
 *
 * am_internal.h
 *	  Callbacks of the table access method that only its files call.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/am/am_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef AM_INTERNAL_H
#define AM_INTERNAL_H

#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "commands/vacuum.h"
#include "storage/bufmgr.h"

#include "zs_compat.h"

/* am_handler.c */
extern void zsam_tuple_insert(Relation rel, TupleTableSlot *slot, CommandId cid, uint32 options,
							  BulkInsertState bistate);
extern void zsam_tuple_insert_speculative(Relation rel, TupleTableSlot *slot, CommandId cid,
										  uint32 options, BulkInsertState bistate, uint32 token);
extern void zsam_multi_insert(Relation rel, TupleTableSlot **slots, int ntuples, CommandId cid,
							  uint32 options, BulkInsertState bistate);

/* am_callbacks_17.c: what PostgreSQL 17 and 18 call */
#if ZS_CALLBACKS_ARE_WRAPPED
extern IndexFetchTableData *zsscan_index_begin_17(Relation rel);
extern void zsam_tuple_insert_17(Relation rel, TupleTableSlot *slot, CommandId cid, int options,
								 BulkInsertState bistate);
extern void zsam_tuple_insert_speculative_17(Relation rel, TupleTableSlot *slot, CommandId cid,
											 int options, BulkInsertState bistate, uint32 token);
extern void zsam_multi_insert_17(Relation rel, TupleTableSlot **slots, int ntuples, CommandId cid,
								 int options, BulkInsertState bistate);
extern TM_Result zsam_tuple_delete_17(Relation rel, ItemPointer tid, CommandId cid,
									  Snapshot snapshot, Snapshot crosscheck, bool wait,
									  TM_FailureData *tmfd, bool changing_part);
extern TM_Result zsam_tuple_update_17(Relation rel, ItemPointer otid, TupleTableSlot *slot,
									  CommandId cid, Snapshot snapshot, Snapshot crosscheck,
									  bool wait, TM_FailureData *tmfd, LockTupleMode *lockmode,
									  TU_UpdateIndexes *update_indexes);
extern void zswrite_finish_bulk_17(Relation rel, int options);
extern void zsam_copy_for_cluster_17(Relation old_table, Relation new_table, Relation old_index,
									 bool use_sort, TransactionId oldest_xmin,
									 TransactionId *xid_cutoff, MultiXactId *multi_cutoff,
									 double *num_tuples, double *tups_vacuumed,
									 double *tups_recently_dead);
extern void zsvacuum_relation_17(Relation rel, VacuumParams *params,
								 BufferAccessStrategy strategy);
extern bool zsscan_analyze_next_tuple_17(TableScanDesc scan, TransactionId oldest_xmin,
										 double *liverows, double *deadrows,
										 TupleTableSlot *slot);
#endif

#endif							/* AM_INTERNAL_H */
