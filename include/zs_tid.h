/*-------------------------------------------------------------------------
 *
 * zs_tid.h
 *	  The TID tree: which rows exist and who may see them.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_tid.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_TID_H
#define ZS_TID_H

#include "postgres.h"

#include "access/tableam.h"
#include "access/xlogreader.h"
#include "lib/stringinfo.h"
#include "nodes/lockoptions.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "zs_compat.h"
#include "zs_format.h"

/* ---- reading (tid_lookup.c, tid_scan.c) ------------------------------------ */

/* Rows [first, first + count) share a visibility slot. */
typedef struct ZsTidRun
{
	zstid		first;
	uint64		count;
	uint16		slotno;
} ZsTidRun;

/* What a SNAPSHOT_DIRTY says about the row that it was asked about last: who is at work on it. */
typedef struct ZsTidDirty
{
	TransactionId xmin;			/* Invalid: nobody */
	TransactionId xmax;
	uint32		speculative_token;	/* 0: none */
} ZsTidDirty;

static inline ZsTidDirty
zstid_dirty_get(const SnapshotData *snapshot)
{
	Assert(snapshot->snapshot_type == SNAPSHOT_DIRTY);
	return (ZsTidDirty) {snapshot->xmin, snapshot->xmax, snapshot->speculativeToken};
}

/* dirty NULL: nobody is at work on the row. */
static inline void
zstid_dirty_set(Snapshot snapshot, const ZsTidDirty *dirty)
{
	Assert(snapshot->snapshot_type == SNAPSHOT_DIRTY);
	snapshot->xmin = dirty == NULL ? InvalidTransactionId : dirty->xmin;
	snapshot->xmax = dirty == NULL ? InvalidTransactionId : dirty->xmax;
	snapshot->speculativeToken = dirty == NULL ? 0 : dirty->speculative_token;
}

extern bool zstid_lookup(Relation rel, zstid row, ZsVisSlot *vis, bool *dead);
extern bool zstid_fetch_visible(Relation rel, zstid row, Snapshot snapshot,
								ZsVisSlot *vis, bool *all_dead, ZsTidRun *alike);
extern bool zstid_is_unused(Relation rel, zstid row);
extern void zstid_latest_version(Relation rel, zstid *row, Snapshot snapshot);

/*
 * Sequential reading of visibility.  Rows come in ascending order as maximal
 * runs within one leaf.  Leaves are copied out under a short share lock; nothing is
 * locked or pinned between calls.
 */
typedef struct ZsTidScan ZsTidScan;

extern ZsTidScan *zstid_scan_begin(Relation rel, Snapshot snapshot, zstid start, zstid end,
								   ZsIoCounts *io);
extern void zstid_scan_restart(ZsTidScan *scan, zstid start, zstid end);
extern void zstid_scan_end(ZsTidScan *scan);
extern bool zstid_scan_next(ZsTidScan *scan, ZsTidRun *run, const ZsVisSlot **vis);
extern bool zstid_scan_next_rows(ZsTidScan *scan, ZsTidRun *run, const ZsVisSlot **vis);
extern void zstid_scan_lock_rows(ZsTidScan *scan, zstid base, const OffsetNumber *offsets,
								 int noffsets);

/* tid_unseen.c */

extern bool zstid_is_unseen(Relation rel, zstid row, Snapshot snapshot, bool *all_dead);
extern void zstid_note_unseen(Relation rel, zstid row, Snapshot snapshot);
extern void zstid_forget_unseen(void);
extern void zstid_unseen_init(void);
extern void zstid_unseen_subtransaction(SubXactEvent event, SubTransactionId subid);

/* tid_retire.c */

/*
 * Calls fn for all rows of [first, end) in ascending runs, those that do not exist included.  vis
 * is a copy of the slot; NULL for the fixed slot numbers.  Nothing is locked meanwhile.
 */
typedef void (*ZsTidRunVisitor) (const ZsTidRun *run, ZsVisSlot *vis, void *arg);
extern void zstid_visit_runs(Relation rel, zstid first, zstid end, ZsTidRunVisitor fn, void *arg);

/* ---- visibility rules (tid_visibility.c) -------------------------------------- */

extern bool zstid_satisfies(ZsVisSlot *vis, Snapshot snapshot, Buffer buffer);

/* tid_updatable.c */
extern TM_Result zstid_satisfies_update(ZsVisSlot *vis, CommandId curcid, Buffer buffer);

typedef enum ZsVacuumState
{
	ZS_VACUUM_INVALID = 0,
	ZS_VACUUM_DEAD,
	ZS_VACUUM_LIVE,
	ZS_VACUUM_RECENTLY_DEAD,
	ZS_VACUUM_INSERT_IN_PROGRESS,
	ZS_VACUUM_DELETE_IN_PROGRESS,
} ZsVacuumState;

/* tid_horizon.c */

extern ZsVacuumState zstid_satisfies_vacuum(ZsVisSlot *vis, TransactionId oldest_xmin,
											Buffer buffer);
extern ZsVacuumState zstid_satisfies_vacuum_horizon(ZsVisSlot *vis, Buffer buffer,
													TransactionId *dead_after);

/* tid_visibility.c */

extern bool zstid_is_current_xact(const ZsVisSlot *vis);

/* tid_xmax.c */

extern bool zstid_deleted_by_current_xact(const ZsVisSlot *vis);
extern TransactionId zstid_update_xid(const ZsVisSlot *vis);

/* ---- writing (tid_insert.c, tid_change.c) ---------------------------------------- */

extern void zstid_insert_rows(Relation rel, zstid first, uint32 count,
							  TransactionId xid, CommandId cid);
extern uint32 zstid_insert_small(Relation rel, int cursorno, uint32 nwanted,
								 TransactionId xid, CommandId cid,
								 uint32 speculative_token, zstid *first);
extern void zstid_release_rows(Relation rel, zstid *first, zstid end);

/* tid_vismap.c */

extern void zstid_mark_frozen(Relation rel, zstid start, zstid end);

/* tid_retire.c */

extern void zstid_retire_unused(Relation rel, zstid first, zstid end);
extern bool zstid_retire_gap(Relation rel, zstid first, zstid end);

/* tid_insert.c */

extern void zstid_forget_cursors(Relation rel);

/* tid_assign.c */

extern void zstid_assign_slot(Relation rel, zstid row, const ZsVisSlot *vis,
							  TransactionId oldest_xmin, TransactionId *oldest_xid,
							  MultiXactId *oldest_mxid);

/* tid_speculative.c */

extern void zstid_finish_speculative(Relation rel, zstid row);
extern void zstid_abort_speculative(Relation rel, zstid row);

/* tid_modify.c */

extern TM_Result zstid_delete(Relation rel, zstid row, CommandId cid,
							  Snapshot crosscheck, bool wait,
							  TM_FailureData *tmfd, bool moved);
extern TM_Result zstid_update_check(Relation rel, zstid row, CommandId cid,
									Snapshot crosscheck, bool wait, LockTupleMode mode,
									TM_FailureData *tmfd);
extern TM_Result zstid_mark_updated(Relation rel, zstid row, zstid successor, CommandId cid,
									Snapshot crosscheck, bool wait, LockTupleMode mode,
									TM_FailureData *tmfd);

/*
 * The TID tree's part in writing one row with one WAL record (tid_single.c, write_single.c).  A
 * pending change holds the leaves, locked, and what they will contain.  There is one at a time.
 *
 * zstid_single_insert(): a row of the cursor's open stripe, like zstid_insert_small().  Returns
 * NULL when the row was inserted at once, with its own record.
 * zstid_single_update(): like zstid_update_check(); with TM_Ok and *pending NULL the caller goes on
 * with zstid_mark_updated(), otherwise *row is the new version.
 *
 * Then one of these: apply_alone (INSERT) inserts the row with its own record, after all; cancel
 * (UPDATE) is as if *pending had been NULL.  Both end it.
 *
 * Or: prepare; and within a critical section put, register (adds blocks 1 to 3 to the record in the
 * making, and writes the record's main data, at most ZS_TID_MAX_SINGLE bytes, to data; returns
 * their length), finish (sets the LSN if it is valid); behind it end.
 */
typedef struct ZsTidPending ZsTidPending;

#define ZS_TID_MAX_SINGLE	64

/* tid_single.c */
extern ZsTidPending *zstid_single_insert(Relation rel, int cursorno, TransactionId xid,
										 CommandId cid, uint32 speculative_token, zstid *row);
extern TM_Result zstid_single_update(Relation rel, zstid oldrow, int cursorno, CommandId cid,
									 Snapshot crosscheck, bool wait, LockTupleMode mode,
									 TM_FailureData *tmfd, zstid *row, ZsTidPending **pending);
extern void zstid_single_apply_alone(ZsTidPending *pending);
extern void zstid_single_cancel(ZsTidPending *pending);
extern void zstid_single_prepare(ZsTidPending *pending);
extern void zstid_single_put(ZsTidPending *pending);
extern int	zstid_single_register(ZsTidPending *pending, char *data);
extern void zstid_single_finish(ZsTidPending *pending, XLogRecPtr lsn);
extern void zstid_single_end(ZsTidPending *pending);

/* tid_lock.c */

extern TM_Result zstid_lock(Relation rel, zstid row, CommandId cid,
							LockTupleMode mode, LockWaitPolicy wait_policy, uint8 flags,
							ZsVisSlot *vis, TM_FailureData *tmfd);

/* tid_lookup.c */

extern int	zstid_find_dead(Relation rel, const zstid *rows, int nrows, bool *dead,
							TransactionId *conflict_horizon);

/* ---- waiting for other transactions (tid_wait.c) --------------------------------------- */

extern bool zstid_xact_wait(TransactionId xid, LockWaitPolicy policy, Relation rel,
							ItemPointer tid, XLTW_Oper oper);

/* ---- VACUUM's view (tid_vacuum.c) --------------------------------------------------- */

typedef struct ZsTidVacuumCutoffs
{
	TransactionId oldest_xmin;
	TransactionId freeze_limit;
	MultiXactId oldest_mxact;
	MultiXactId multixact_cutoff;
	bool		aggressive;
} ZsTidVacuumCutoffs;

/* Logical blocks whose bits in the visibility map were set. */
typedef struct ZsTidVmCounts
{
	uint64		visible;		/* were not all-visible */
	uint64		visible_frozen; /* ... and are all-frozen, too */
	uint64		frozen;			/* were all-visible, and are all-frozen now */
} ZsTidVmCounts;

typedef struct ZsTidLeafResult
{
	zstid		lokey;			/* range of the leaf that was processed */
	zstid		hikey;
	bool		was_settled;	/* marked all-frozen before */
	uint64		live_rows;
	uint64		recently_dead_rows;
	uint64		new_dead_rows;
	uint64		frozen_rows;
	TransactionId new_relfrozenxid; /* oldest xid left, or Invalid */
	MultiXactId new_relminmxid;
	uint32		size;			/* bytes of contents */
	ZsTidVmCounts vismap;
} ZsTidLeafResult;

/*
 * First pass over the leaf that holds row `start`: dead rows become slot 1 (dead) and
 * are reported through collect() in ascending runs, everything older than the cut-offs is
 * frozen, rows visible to everyone fold into slot 0, visibility map bits are set where
 * a whole logical block is all-visible (and all-frozen).  One WAL record with conflict
 * horizon per leaf.  Returns false beyond the last leaf.
 */
typedef void (*ZsDeadRunCallback) (zstid first, uint32 count, void *arg);
extern bool zstid_vacuum_leaf(Relation rel, zstid start, const ZsTidVacuumCutoffs *cutoffs,
							  ZsDeadRunCallback collect, void *arg, ZsTidLeafResult *result);

/* tid_remove.c */

extern uint64 zstid_remove_dead_runs(Relation rel, const ZsTidRun *runs, int nruns);

/* tid_merge.c */

/*
 * ZsMergeFunc of zs_btree.h.  Leaves are merged when both together have at most ZS_TID_MERGE_SIZE
 * bytes of contents: a leaf that is fuller is split by the next writers.  Leaves whose rows are all
 * settled may get larger: where random rows were updated they are much of the table, and many of
 * them are not written to again.
 */
#define ZS_TID_MERGE_SIZE	(ZS_PAGE_CAPACITY / 2)
#define ZS_TID_SETTLED_SIZE	(ZS_PAGE_CAPACITY * 3 / 4)
extern const char *zstid_merge_leaves(Page left, Page right, Page image, bool *merged);

/* ---- leaf contents for inspection (tid_inspect.c) ------------------------------------- */

extern const char *zstid_leaf_unpack(Page page, int *nslots, ZsVisSlot **slots,
									 int *nruns, ZsTidRun **runs, zstid **successors);

/* ---- redo (tid_redo.c), description (tid_desc.c), consistency mask ----------------------- */

extern void zstid_redo(XLogReaderState *record);
extern void zstid_desc(StringInfo buf, XLogReaderState *record);

/* tid_single.c */

extern void zstid_single_redo(XLogReaderState *record);
extern void zstid_single_desc(StringInfo buf, XLogReaderState *record);

/* tid_redo.c */
extern void zstid_mask_page(char *page);

#endif							/* ZS_TID_H */
