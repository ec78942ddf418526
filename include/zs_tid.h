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

#include "zs_format.h"

/* ---- reading (tid_lookup.c, tid_scan.c) ------------------------------------ */

/* Rows [first, first + count) share a visibility slot. */
typedef struct ZsTidRun
{
	zstid		first;
	uint64		count;
	uint16		slotno;
} ZsTidRun;

/*
 * State of one row.  Returns false when the row number is unused or beyond the end, or dead (*dead
 * is set then; dead may be NULL).  A frozen row yields a slot with xmin = FrozenTransactionId and
 * HEAP_XMIN_FROZEN.  A successor in *vis is the row's own, as in those that zstid_fetch_visible()
 * and zstid_lock() give; elsewhere it is that of the slot's first row.  Takes a share lock on one
 * leaf at a time; no snapshot, no hint bits.
 */
extern bool zstid_lookup(Relation rel, zstid row, ZsVisSlot *vis, bool *dead);

/*
 * Is the row visible to the snapshot (any type)?  Fills *vis if it is.  Sets hint
 * bits.  For SNAPSHOT_DIRTY the snapshot's xmin, xmax and speculativeToken are
 * filled as by HeapTupleSatisfiesDirty.  *all_dead (may be NULL) tells that the row is dead to
 * every transaction, so that the index entry may be killed.  Does SSI checks
 * where heap does them (heap_fetch / heap_hot_search_buffer).
 */
extern bool zstid_fetch_visible(Relation rel, zstid row, Snapshot snapshot,
								ZsVisSlot *vis, bool *all_dead);

/* Has the row number no row now, and may it be handed out? */
extern bool zstid_is_unused(Relation rel, zstid row);

/*
 * Follows the update chain from *row to its latest version visible to the snapshot, as
 * heap_get_latest_tid(): leaves *row alone when there is none.
 */
extern void zstid_latest_version(Relation rel, zstid *row, Snapshot snapshot);

/*
 * Sequential reading of visibility.  Rows come in ascending order as maximal
 * runs within one leaf.  Leaves are copied out under a short share lock; nothing is
 * locked or pinned between calls.
 */
typedef struct ZsTidScan ZsTidScan;

/* rows [start, end); snapshot NULL: every row, dead ones too */
extern ZsTidScan *zstid_scan_begin(Relation rel, Snapshot snapshot, zstid start, zstid end);
extern void zstid_scan_restart(ZsTidScan *scan, zstid start, zstid end);
extern void zstid_scan_end(ZsTidScan *scan);

/*
 * Next visible run; false at the end.  *vis stays valid until the next call.
 * With snapshot NULL, run->slotno may be ZS_SLOT_DEAD (vis is NULL then).
 */
extern bool zstid_scan_next(ZsTidScan *scan, ZsTidRun *run, const ZsVisSlot **vis);

/*
 * A serializable transaction takes a predicate lock on each row that the scan
 * finds visible (bitmap scans; a scan of the whole table locks the relation
 * instead).  The scan's range lies in the logical block that starts at base; of
 * its rows only those with these offsets are locked and tested for conflicts
 * with writers (noffsets < 0: all), and runs without any are left out.  Call
 * it after zstid_scan_begin() and after each zstid_scan_restart().  Does
 * nothing in other transactions.
 */
extern void zstid_scan_lock_rows(ZsTidScan *scan, zstid base, const OffsetNumber *offsets,
								 int noffsets);

/* tid_retire.c */

/*
 * Calls fn for all rows of [first, end) in ascending runs, those that do not exist included.  vis
 * is a copy of the slot; NULL for the fixed slot numbers.  Nothing is locked meanwhile.
 */
typedef void (*ZsTidRunVisitor) (const ZsTidRun *run, ZsVisSlot *vis, void *arg);
extern void zstid_visit_runs(Relation rel, zstid first, zstid end, ZsTidRunVisitor fn, void *arg);

/* ---- visibility rules (tid_visibility.c) -------------------------------------- */

/*
 * The rules of heapam_visibility.c on a ZsVisSlot.  buffer is the (pinned, at
 * least share-locked) leaf that holds the slot when hint bits may be set on *vis, which
 * points into the page then; InvalidBuffer when *vis is a private copy.
 */
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

/* as HeapTupleSatisfiesVacuumHorizon / HeapTupleSatisfiesVacuum */
extern ZsVacuumState zstid_satisfies_vacuum(ZsVisSlot *vis, TransactionId oldest_xmin,
											Buffer buffer);

/* tid_visibility.c */

/* Was the row inserted by (a subtransaction of) the current transaction? */
extern bool zstid_is_current_xact(const ZsVisSlot *vis);

/* tid_xmax.c */

/* Is its deleter or updater (a subtransaction of) the current transaction? */
extern bool zstid_deleted_by_current_xact(const ZsVisSlot *vis);

/* Its deleting or updating transaction, a multixact's member included; Invalid if none. */
extern TransactionId zstid_update_xid(const ZsVisSlot *vis);

/* ---- writing (tid_insert.c, tid_change.c) ---------------------------------------- */

/*
 * Rows [first, first + count), unused until now, become rows of transaction xid, command
 * cid.  With xid = FrozenTransactionId they are visible to everyone at once (COPY
 * FREEZE).  Clears visibility map bits.  WAL-logged where the relation is.
 * The caller owns the row numbers (zspage_reserve_rows()).
 */
extern void zstid_insert_rows(Relation rel, zstid first, uint32 count,
							  TransactionId xid, CommandId cid);

/*
 * Takes up to nwanted adjacent unused row numbers from the open stripe of cursor
 * cursorno and makes them rows of xid, cid; a full stripe is
 * replaced by a new one.  Returns how many (at least 1), *first the first.
 * *stripe_is_fresh (may be NULL): no other row was ever taken from the stripe.
 * speculative_token != 0: a speculative insertion.
 */
extern uint32 zstid_insert_small(Relation rel, int cursorno, uint32 nwanted,
								 TransactionId xid, CommandId cid,
								 uint32 speculative_token, zstid *first);

/*
 * Gives reserved row numbers [*first, end) back that were never filled nor indexed.  They become
 * unused, and may be another session's at once: *first is advanced with each step, so that after an
 * error the caller knows which rows are still his.
 */
extern void zstid_release_rows(Relation rel, zstid *first, zstid end);

/* tid_vismap.c */

/*
 * After COPY FREEZE: sets the visibility map bits of the logical blocks within [start, end), the
 * ones at the ends included, whose rows are all frozen.  Takes one leaf's exclusive lock at
 * a time; WAL-logged where the relation is.  An optimization: what a crash or an error leaves out,
 * VACUUM does.
 */
extern void zstid_mark_frozen(Relation rel, zstid start, zstid end);

/* tid_retire.c */

/*
 * Row numbers of [first, end) that are unused will never be handed out from now on.  Of rows that
 * the caller does not own: the stripe must have been used, or somebody may be about to insert the
 * rows that he reserved.
 */
extern void zstid_retire_unused(Relation rel, zstid first, zstid end);

/*
 * Same, but only if none of them has a row; false if one has, or had until VACUUM comes by.  In
 * that case some may be retired nevertheless.
 */
extern bool zstid_retire_gap(Relation rel, zstid first, zstid end);

/* tid_insert.c */

/*
 * Forgets what this backend knows about the table's open stripes.  To be called when the
 * file is emptied in place.
 */
extern void zstid_forget_cursors(Relation rel);

/* tid_assign.c */

/*
 * Gives a frozen row of a table that nobody else can see the visibility of a row that was
 * copied (VACUUM FULL, CLUSTER): transactions older than oldest_xmin are frozen
 * or dropped on the way, an update becomes a delete.  *oldest_xid and *oldest_mxid
 * are moved back to what was kept.
 */
extern void zstid_assign_slot(Relation rel, zstid row, const ZsVisSlot *vis,
							  TransactionId oldest_xmin, TransactionId *oldest_xid,
							  MultiXactId *oldest_mxid);

/* tid_speculative.c */

/* Speculative insertion: confirm, or kill the row (it becomes dead). */
extern void zstid_finish_speculative(Relation rel, zstid row);
extern void zstid_abort_speculative(Relation rel, zstid row);

/* tid_modify.c */

/*
 * DELETE of one row with heap_delete()'s rules: waits for other transactions
 * when wait, fills *tmfd unless TM_Ok.  moved: the row goes to another partition.
 */
extern TM_Result zstid_delete(Relation rel, zstid row, CommandId cid,
							  Snapshot crosscheck, bool wait,
							  TM_FailureData *tmfd, bool moved);

/*
 * UPDATE, first half: waits and checks as heap_update() until the row may be updated by
 * us (TM_Ok, nothing changed yet) or not.  mode: LockTupleNoKeyExclusive or
 * LockTupleExclusive.
 */
extern TM_Result zstid_update_check(Relation rel, zstid row, CommandId cid,
									Snapshot crosscheck, bool wait, LockTupleMode mode,
									TM_FailureData *tmfd);

/*
 * UPDATE, second half: marks row as updated to successor.  Checks again under the lock, waits again
 * if it must.  If the result is not TM_Ok nothing was changed and the caller gives the new row's
 * number back.  With TM_Ok, tmfd->xmax is who had locked the old version (our own transaction
 * counts), or Invalid: what heap puts into the new version's xmax.
 */
extern TM_Result zstid_mark_updated(Relation rel, zstid row, zstid successor, CommandId cid,
									Snapshot crosscheck, bool wait, LockTupleMode mode,
									TM_FailureData *tmfd);

/*
 * The TID tree's part in writing one row with one WAL record (tid_stage.c, write_single.c).  A
 * stage holds the leaves, locked, and what they will contain.  There is one at a time.
 *
 * zstid_stage_insert(): a row of the cursor's open stripe, like zstid_insert_small().  Returns
 * NULL when the row was inserted at once, with its own record.
 * zstid_stage_update(): like zstid_update_check(); with TM_Ok and *stage NULL the caller goes on
 * with zstid_mark_updated(), otherwise *row is the new version.
 *
 * Then one of these: apply_alone (INSERT) inserts the row with its own record, after all; cancel
 * (UPDATE) is as if *stage had been NULL.  Both end the stage.
 *
 * Or: prepare; and within a critical section put, register (adds blocks 1 to 3 to the record in the
 * making, and writes the record's main data, at most ZS_TID_MAX_SINGLE bytes, to data; returns
 * their length), finish (sets the LSN if it is valid); behind it end.
 */
typedef struct ZsTidStage ZsTidStage;

#define ZS_TID_MAX_SINGLE	64

/* tid_stage.c */
extern ZsTidStage *zstid_stage_insert(Relation rel, int cursorno, TransactionId xid,
									  CommandId cid, uint32 speculative_token, zstid *row);
extern TM_Result zstid_stage_update(Relation rel, zstid oldrow, int cursorno, CommandId cid,
									Snapshot crosscheck, bool wait, LockTupleMode mode,
									TM_FailureData *tmfd, zstid *row, ZsTidStage **stage);
extern void zstid_stage_apply_alone(ZsTidStage *stage);
extern void zstid_stage_cancel(ZsTidStage *stage);
extern void zstid_stage_prepare(ZsTidStage *stage);
extern void zstid_stage_put(ZsTidStage *stage);
extern int	zstid_stage_register(ZsTidStage *stage, char *data);
extern void zstid_stage_finish(ZsTidStage *stage, XLogRecPtr lsn);
extern void zstid_stage_end(ZsTidStage *stage);

/* tid_lock.c */

/*
 * Row lock with heap_lock_tuple()'s rules on one version; *vis is the version's
 * slot.  Following the chain (TUPLE_LOCK_FLAG_FIND_LAST_VERSION) is the
 * caller's business, locking newer versions (TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS) is done here.
 */
extern TM_Result zstid_lock(Relation rel, zstid row, Snapshot snapshot, CommandId cid,
							LockTupleMode mode, LockWaitPolicy wait_policy, uint8 flags,
							ZsVisSlot *vis, TM_FailureData *tmfd);

/* tid_lookup.c */

/*
 * For index_delete_tuples: which of these rows, in ascending order, are dead to everyone?  Looks at
 * those that lie on one leaf of the TID tree, at least one, and returns how many these are.
 * *conflict_horizon is advanced as removing the dead ones demands.
 */
extern int	zstid_find_dead(Relation rel, const zstid *rows, int nrows, bool *dead,
							TransactionId *conflict_horizon);

/* ---- waiting (tid_wait.c) ----------------------------------------------------------------- */

/*
 * Waits for the end of a transaction that has to do with the row tid.  Returns false if it runs and
 * policy is LockWaitSkip; an error (ERRCODE_LOCK_NOT_AVAILABLE) with LockWaitError.  The caller
 * holds no content lock.
 */
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

/*
 * Second pass, after index cleanup: the dead rows of the runs are retired.  Runs ascend (slotno is
 * not looked at): one WAL record per leaf where the dead rows of the leaf are those of the list.
 * Returns how many rows.
 */
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

/*
 * Unpacks a leaf page (a copy, or locked) into slots and runs; arrays are palloc'd.  successors
 * (may be NULL) has for each run that of its first row, ZS_INVALID_ROW if it has none; those of the
 * other rows follow one by one.  Returns NULL, or what is wrong with the page.
 */
extern const char *zstid_leaf_unpack(Page page, int *nslots, ZsVisSlot **slots,
									 int *nruns, ZsTidRun **runs, zstid **successors);

/* ---- redo (tid_redo.c), description (tid_desc.c), consistency mask ----------------------- */

extern void zstid_redo(XLogReaderState *record);
extern void zstid_desc(StringInfo buf, XLogReaderState *record);

/* tid_stage.c */

/* The same for the blocks 1 to 3 of XLOG_ZS_WRITE_ROW. */
extern void zstid_single_redo(XLogReaderState *record);
extern void zstid_single_desc(StringInfo buf, XLogReaderState *record);

/* tid_redo.c */
extern void zstid_mask_page(char *page);

#endif							/* ZS_TID_H */
