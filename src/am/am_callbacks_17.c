/*-------------------------------------------------------------------------
 *
 * am_callbacks_17.c
 *	  Callbacks as PostgreSQL 17 and 18 call them.
 *
 * All others of this folder have the signatures of 19.  What differs comes to them through here,
 * so that a server of 19 calls them directly and support for older ones ends with this file.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/am/am_callbacks_17.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am_internal.h"
#include "zs_am.h"
#include "zs_compat.h"
#include "zs_scan.h"
#include "zs_vacuum.h"
#include "zs_write.h"

#if ZS_CALLBACKS_ARE_WRAPPED

/* index_fetch_begin: no flags. */
IndexFetchTableData *
zsscan_index_begin_17(Relation rel)
{
	return zsscan_index_begin(rel, SO_NONE);
}

/* tuple_insert: its options are an int. */
void
zsam_tuple_insert_17(Relation rel, TupleTableSlot *slot, CommandId cid, int options,
					 BulkInsertState bistate)
{
	zsam_tuple_insert(rel, slot, cid, (uint32) options, bistate);
}

/* tuple_insert_speculative: its options are an int. */
void
zsam_tuple_insert_speculative_17(Relation rel, TupleTableSlot *slot, CommandId cid, int options,
								 BulkInsertState bistate, uint32 token)
{
	zsam_tuple_insert_speculative(rel, slot, cid, (uint32) options, bistate, token);
}

/* multi_insert: its options are an int. */
void
zsam_multi_insert_17(Relation rel, TupleTableSlot **slots, int ntuples, CommandId cid, int options,
					 BulkInsertState bistate)
{
	zsam_multi_insert(rel, slots, ntuples, cid, (uint32) options, bistate);
}

/* tuple_delete: what is an option in 19 is an argument. */
TM_Result
zsam_tuple_delete_17(Relation rel, ItemPointer tid, CommandId cid, Snapshot snapshot,
					 Snapshot crosscheck, bool wait, TM_FailureData *tmfd, bool changing_part)
{
	return zsam_tuple_delete(rel, tid, cid, changing_part ? TABLE_DELETE_CHANGING_PARTITION : 0,
							 snapshot, crosscheck, wait, tmfd);
}

/* tuple_update: no options. */
TM_Result
zsam_tuple_update_17(Relation rel, ItemPointer otid, TupleTableSlot *slot, CommandId cid,
					 Snapshot snapshot, Snapshot crosscheck, bool wait, TM_FailureData *tmfd,
					 LockTupleMode *lockmode, TU_UpdateIndexes *update_indexes)
{
	return zsam_tuple_update(rel, otid, slot, cid, 0, snapshot, crosscheck, wait, tmfd, lockmode,
							 update_indexes);
}

/* finish_bulk_insert: its options are an int. */
void
zswrite_finish_bulk_17(Relation rel, int options)
{
	zswrite_finish_bulk(rel, (uint32) options);
}

/* relation_copy_for_cluster: always alone with the table, so without a snapshot. */
void
zsam_copy_for_cluster_17(Relation old_table, Relation new_table, Relation old_index, bool use_sort,
						 TransactionId oldest_xmin, TransactionId *xid_cutoff,
						 MultiXactId *multi_cutoff, double *num_tuples, double *tups_vacuumed,
						 double *tups_recently_dead)
{
	zsam_copy_for_cluster(old_table, new_table, old_index, use_sort, oldest_xmin, NULL, xid_cutoff,
						  multi_cutoff, num_tuples, tups_vacuumed, tups_recently_dead);
}

/* relation_vacuum: its parameters are not const. */
void
zsvacuum_relation_17(Relation rel, VacuumParams *params, BufferAccessStrategy strategy)
{
	zsvacuum_relation(rel, params, strategy);
}

/* scan_analyze_next_tuple: with a horizon, which rows are counted without. */
bool
zsscan_analyze_next_tuple_17(TableScanDesc scan, TransactionId oldest_xmin, double *liverows,
							 double *deadrows, TupleTableSlot *slot)
{
	return zsscan_analyze_next_tuple(scan, liverows, deadrows, slot);
}

#endif
