/*-------------------------------------------------------------------------
 *
 * zs_am.h
 *	  The table access method's callbacks that are neither scans nor writes of
 *	  rows.  Contracts are those of tableam.h.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_am.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_AM_H
#define ZS_AM_H

#include "postgres.h"

#include "access/tableam.h"
#include "tcop/utility.h"
#include "utils/rel.h"

/* am_handler.c */
extern const TableAmRoutine zs_table_am_routine;

/* am_relation.c */
extern void zsam_set_new_filelocator(Relation rel, const RelFileLocator *newrlocator,
									 char persistence, TransactionId *freeze_xid,
									 MultiXactId *minmulti);
extern void zsam_nontransactional_truncate(Relation rel);
extern void zsam_copy_data(Relation rel, const RelFileLocator *newrlocator);
extern uint64 zsam_relation_size(Relation rel, ForkNumber forknum);
extern void zsam_estimate_size(Relation rel, int32 *attr_widths, BlockNumber *pages,
							   double *tuples, double *allvisfrac);

/* am_cluster.c */
extern void zsam_copy_for_cluster(Relation old_table, Relation new_table, Relation old_index,
								  bool use_sort, TransactionId oldest_xmin, Snapshot snapshot,
								  TransactionId *xid_cutoff, MultiXactId *multi_cutoff,
								  double *num_tuples, double *tups_vacuumed,
								  double *tups_recently_dead);

/* am_cluster_command.c */

extern void zsam_cluster_utility(ProcessUtility_hook_type next, PlannedStmt *pstmt,
								 const char *queryString, bool readOnlyTree,
								 ProcessUtilityContext context, ParamListInfo params,
								 QueryEnvironment *queryEnv, DestReceiver *dest,
								 QueryCompletion *qc);

/* am_update.c */
extern TM_Result zsam_tuple_update(Relation rel, ItemPointer otid, TupleTableSlot *slot,
								   CommandId cid, uint32 options, Snapshot snapshot,
								   Snapshot crosscheck, bool wait, TM_FailureData *tmfd,
								   LockTupleMode *lockmode,
								   TU_UpdateIndexes *update_indexes);
extern TM_Result zsam_tuple_delete(Relation rel, ItemPointer tid, CommandId cid,
								   uint32 options, Snapshot snapshot, Snapshot crosscheck,
								   bool wait, TM_FailureData *tmfd);

/* am_lock.c */
extern TM_Result zsam_tuple_lock(Relation rel, ItemPointer tid, Snapshot snapshot,
								 TupleTableSlot *slot, CommandId cid, LockTupleMode mode,
								 LockWaitPolicy wait_policy, uint8 flags,
								 TM_FailureData *tmfd);

#endif							/* ZS_AM_H */
