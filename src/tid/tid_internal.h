/*-------------------------------------------------------------------------
 *
 * tid_internal.h
 *	  Private to src/tid.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TID_INTERNAL_H
#define TID_INTERNAL_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/multixact.h"
#include "nodes/lockoptions.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "zs_compat.h"
#include "zs_format.h"
#include "zs_tid.h"
#include "zs_walrec.h"

/* ---- bytes of a leaf (tid_leaf.c, tid_walk.c) ------------------------------------------ */

#define ZS_TID_CONTENTS_OFFSET	MAXALIGN(SizeOfPageHeaderData)

/* a run takes a byte at least, two with a slot, and each slot needs a run */
#define ZS_TID_MAX_RUNS \
	(ZS_PAGE_CAPACITY - sizeof(ZsTidLeafHeader))
#define ZS_TID_MAX_SLOTS \
	((ZS_PAGE_CAPACITY - sizeof(ZsTidLeafHeader)) / (sizeof(ZsVisSlot) + 2))

/*
 * A leaf whose runs take this many bytes is full: rows are found by walking over the runs, and
 * the thousands of them that random updates leave behind would cost more than an inner page.
 */
#define ZS_TID_MAX_STREAM	6144

/*
 * No change of one range of rows makes a leaf's contents grow by more: two new slots (one for the
 * rows, one for those behind them that had their slot before), and three runs of at most 8 bytes in
 * place of one.  zstid_leaf_free_space() sees to what the numbers of the others may take.
 */
#define ZS_TID_MAX_GROWTH		(2 * sizeof(ZsVisSlot) + 32)

/* A leaf in memory; slots[i] has the number ZS_FIRST_REAL_SLOT + i. */
typedef struct ZsTidLeaf
{
	zstid		lokey;
	zstid		hikey;			/* at most ZS_MAX_ROW */
	int			nslots;
	int			nruns;
	ZsVisSlot	slots[ZS_TID_MAX_SLOTS + 2];
	ZsTidRun	runs[ZS_TID_MAX_RUNS + 4];
} ZsTidLeaf;

/* Reads the runs of a leaf one after the other, without unpacking it. */
typedef struct ZsTidWalk
{
	const ZsTidLeafHeader *header;	/* in the page; NULL: an empty leaf */
	const uint8 *stream;
	zstid		lokey;
	ZsVisSlot  *slots;			/* in the page */
	int			nslots;
	const uint8 *ptr;			/* next run */
	const uint8 *end;
	zstid		row;			/* first row of the next run */
	zstid		limit;			/* end of the leaf's range */
	uint32		nruns;			/* runs passed, if it has skipped none */
	bool		skipped;
} ZsTidWalk;

/*
 * May this be a slot?  Who asks about transactions must know that there is an inserter.
 */
static inline bool
zstid_slot_is_valid(const ZsVisSlot *slot)
{
	return slot->xmin >= FrozenTransactionId && slot->unused == 0 &&
		(uint64) slot->successor < ZS_MAX_ROW &&
		(slot->infomask & ~ZS_VIS_INFOMASK_BITS) == 0 &&
		(slot->infomask2 & ~ZS_VIS_INFOMASK2_BITS) == 0 &&
		(slot->infomask & (HEAP_XMAX_COMMITTED | HEAP_XMAX_INVALID)) !=
		(HEAP_XMAX_COMMITTED | HEAP_XMAX_INVALID);
}

extern const char *zstid_walk_begin(ZsTidWalk *walk, Page page);
extern const char *zstid_walk_slots_check(const ZsTidWalk *walk);
extern bool zstid_walk_next(ZsTidWalk *walk, ZsTidRun *run, const char **reason);
extern void zstid_walk_skip(ZsTidWalk *walk, zstid row);
extern void zstid_walk_seek(ZsTidWalk *walk, XLogRecPtr version, zstid row);
extern void zstid_walk_carry(XLogRecPtr from, XLogRecPtr to, zstid lokey, uint32 kept);
extern uint64 zstid_rows_before(const ZsTidWalk *start, XLogRecPtr version, const uint8 *ptr,
								int slotno);

/* Slot of a run that the walk returned; NULL for the fixed slot numbers. */
static inline ZsVisSlot *
zstid_walk_slot(const ZsTidWalk *walk, uint16 slotno)
{
	return slotno < ZS_FIRST_REAL_SLOT ? NULL : &walk->slots[slotno - ZS_FIRST_REAL_SLOT];
}

/* Varints of the run stream and of WAL records. */
static inline Size
zstid_varint_size(uint64 value)
{
	Size		size = 1;

	while (value >= 0x80)
	{
		value >>= 7;
		size++;
	}
	return size;
}

static inline uint8 *
zstid_put_varint(uint8 *ptr, uint64 value)
{
	while (value >= 0x80)
	{
		*ptr++ = (uint8) (value | 0x80);
		value >>= 7;
	}
	*ptr++ = (uint8) value;
	return ptr;
}

/* Longest run in the stream: its slot, and a varint of a row count. */
#define ZS_TID_RUN_BYTES	8

/* Bytes of a run in the stream (zs_format.h). */
static inline Size
zstid_run_size(uint64 count, int slotno)
{
	if (slotno < ZS_FIRST_REAL_SLOT)
		return count <= ZS_RUN_LONG ? 1 : 1 + zstid_varint_size(count - ZS_RUN_LONG - 1);
	slotno -= ZS_FIRST_REAL_SLOT;
	return 1 + (slotno < ZS_RUN_FAR ? 0 : zstid_varint_size(slotno - ZS_RUN_FAR)) +
		zstid_varint_size(count);
}

static inline uint8 *
zstid_put_run(uint8 *ptr, uint64 count, int slotno)
{
	if (slotno < ZS_FIRST_REAL_SLOT)
	{
		if (count <= ZS_RUN_LONG)
		{
			*ptr++ = (uint8) ((count - 1) << 2 | slotno);
			return ptr;
		}
		*ptr++ = (uint8) (ZS_RUN_LONG << 2 | slotno);
		return zstid_put_varint(ptr, count - ZS_RUN_LONG - 1);
	}
	slotno -= ZS_FIRST_REAL_SLOT;
	*ptr++ = (uint8) (ZS_RUN_REAL | Min(slotno, ZS_RUN_FAR));
	if (slotno >= ZS_RUN_FAR)
		ptr = zstid_put_varint(ptr, slotno - ZS_RUN_FAR);
	return zstid_put_varint(ptr, count);
}

/* Bytes of the stream between two marks that are tolerated. */
static inline uint32
zstid_mark_distance(uint32 stream_size)
{
	return Max(256, 2 * stream_size / (ZS_TID_MARKS + 1));
}

extern void zstid_marks_build(ZsTidLeafHeader *header, const uint8 *stream);
extern const char *zstid_leaf_find(Page page, XLogRecPtr version, zstid row, ZsTidRun *run,
								   ZsVisSlot **slot, ZsTidWalk *near);
extern const char *zstid_leaf_read(Page page, ZsTidLeaf *leaf);
extern Size zstid_leaf_size(const ZsTidLeaf *leaf);
extern bool zstid_leaf_write(const ZsTidLeaf *leaf, Page image);
extern void zstid_leaf_install(Page page, Page image, uint32 missing);
extern Size zstid_leaf_free_space(Page page);
extern uint64 zstid_count_rows(const uint8 *ptr, const uint8 *end, int slotno);
extern void zstid_slot_of_row(Page page, const ZsTidRun *run, const ZsVisSlot *slot, zstid row,
							  ZsVisSlot *copy);

/* Do the rows of a slot have successors? */
static inline bool
zstid_slot_has_successors(const ZsVisSlot *slot)
{
	return (slot->infomask2 & ZS_VIS2_UPDATED) != 0;
}

/*
 * A scratch copy of a leaf, about 190 kB, which the backend has once.  Nothing that uses it calls
 * anything that might use it, too.
 */
extern ZsTidLeaf zstid_scratch;

/* ---- changes (tid_edit.c, tid_splice.c, tid_record.c) -------------------------------------- */

/* One change of a range of rows within one leaf: what a WAL record says. */
typedef struct ZsTidChange
{
	uint8		op;				/* ZS_TID_* */
	zstid		first;
	uint64		count;
	TransactionId xid;			/* INSERT: xmin; XMAX, LOCK: xmax, may be a
								 * MultiXactId */
	CommandId	cid;			/* INSERT: cmin; XMAX: cmax */
	uint32		token;			/* INSERT: speculative token or 0 */
	uint16		infomask;		/* XMAX, LOCK: new HEAP_XMAX_* bits */
	uint16		infomask2;		/* XMAX, LOCK: HEAP_KEYS_UPDATED, ZS_VIS2_* */
	int64		successor;		/* XMAX with ZS_VIS2_UPDATED: its row number -
								 * that of the row */
	const ZsVisSlot *slot;		/* ASSIGN */
	ZsVisSlot	slot_buffer;	/* what it points to after decoding */
} ZsTidChange;

/* What a leaf-wide pass does with a slot. */
typedef enum ZsSlotAction
{
	ZS_SLOTACT_KEEP = 0,
	ZS_SLOTACT_FREEZE,			/* rows go to ZS_SLOT_FROZEN */
	ZS_SLOTACT_KILL,			/* rows go to ZS_SLOT_DEAD */
	ZS_SLOTACT_REPLACE,			/* the slot gets other contents */
} ZsSlotAction;

typedef struct ZsTidFold
{
	int			nslots;			/* of the leaf before */
	int			nchanged;		/* actions other than KEEP */
	int			nreplaced;
	TransactionId horizon;		/* snapshotConflictHorizon */
	bool		all_frozen;		/* set ZS_PAGEF_ALL_FROZEN */
	uint8		actions[ZS_TID_MAX_SLOTS];
	ZsVisSlot	contents[ZS_TID_MAX_SLOTS]; /* for REPLACE */
} ZsTidFold;

extern bool zstid_slots_alike(const ZsVisSlot *a, const ZsVisSlot *b);
extern uint64 zstid_leaf_rank(const ZsTidLeaf *leaf, int slotno, zstid row, uint64 *behind);
extern const char *zstid_edit_slot(const ZsTidChange *change, int old_slotno,
								   const ZsVisSlot *old, ZsVisSlot *slot, int *slotno);
extern const char *zstid_edit_apply(ZsTidLeaf *leaf, const ZsTidChange *change);
extern void zstid_edit_fold(ZsTidLeaf *leaf, const ZsTidFold *fold);

/* what zstid_edit_slot() says when the new slot is not one of the fixed ones */
#define ZS_SLOT_IN_TABLE		(-1)

/* What a change leaves alone, and what is not in the image of it. */
typedef struct ZsTidKept
{
	uint32		kept;			/* bytes of the run stream, from its beginning, that stay */
	uint32		missing;		/* so many of them are not in the image */
} ZsTidKept;

extern const char *zstid_change_compute(Page page, XLogRecPtr version, const ZsTidChange *change,
										const ZsTidWalk *near, Page image, ZsTidKept *kept);

#define ZS_TID_MAX_RECORD		ZS_TID_MAX_SINGLE

extern int	zstid_record_encode(const ZsTidChange *change, TransactionId record_xid,
								uint8 vm_flags, char *buf);
extern bool zstid_record_decode(const char *data, Size size, TransactionId record_xid,
								ZsTidChange *change, uint8 *vm_flags);

/* What XLOG_ZS_WRITE_ROW says about TID leaves, besides its block references. */
typedef struct ZsTidSingle
{
	uint8		flags;			/* ZS_WRITEF_* */
	ZsTidChange insert;
	ZsTidChange xmax;			/* with ZS_WRITEF_UPDATE */
} ZsTidSingle;

extern int	zstid_single_encode(const ZsTidSingle *single, char *buf);
extern bool zstid_single_decode(const char *data, Size size, TransactionId record_xid,
								ZsTidSingle *single);

/* ---- doing changes (tid_change.c, tid_room.c) --------------------------------- */

/*
 * The leaf that is to be changed, exclusively locked, and the visibility map
 * page of the row that is to be changed, pinned, when the leaf has any bits.
 */
typedef struct ZsTidTarget
{
	Relation	rel;
	zstid		row;
	Buffer		buf;
	Buffer		vmbuf;
	Buffer		cut_vmbuf;		/* map page of a block that a split cuts, if it
								 * is another one, pinned */
	zstid		near_row;		/* near is a walk in front of this row; Invalid
								 * = none; until the leaf changes */
	ZsTidWalk	near;
} ZsTidTarget;

extern void zstid_target_init(ZsTidTarget *target, Relation rel);
extern bool zstid_target_lock(ZsTidTarget *target, zstid row, bool create);
extern void zstid_target_unlock(ZsTidTarget *target);
extern void zstid_target_release(ZsTidTarget *target);
extern void zstid_target_change(ZsTidTarget *target, const ZsTidChange *change);
extern void zstid_target_fold(ZsTidTarget *target, const ZsTidFold *fold);
extern void zstid_change_clear_vm(Buffer vmbuf, const ZsTidChange *change, uint8 vm_flags);

/* tid_redo.c */

extern void zstid_redo_vm(XLogReaderState *record, uint8 block_id, const ZsTidChange *change,
						  uint8 vm_flags);
extern void zstid_redo_leaf(XLogReaderState *record, uint8 block_id,
							const ZsTidChange *const *changes, int nchanges);

/* tid_change.c */
extern bool zstid_fold_decode(const char *data, Size size, const ZsVisSlot *slots,
							  ZsTidFold *fold);
extern void zstid_target_find(ZsTidTarget *target, zstid row, ZsTidRun *run,
							  ZsVisSlot **slot);
extern uint8 zstid_change_vm_flags(ZsTidTarget *target, const ZsTidChange *change);

/* tid_room.c */
extern void zstid_make_room(ZsTidTarget *target);
extern void zstid_advance_horizon(TransactionId *horizon, TransactionId xid);
extern void zstid_advance_dead_horizon(const ZsVisSlot *vis, TransactionId *horizon);

/* Where new rows go (tid_insert.c): what the backend remembers of a cursor. */
typedef struct ZsTidCursor
{
	RelFileLocator locator;
	Oid			relid;			/* InvalidOid = entry is free */
	int			cursorno;
	zstid		stripe;
	zstid		next;			/* rows of the stripe before are taken */
	BlockNumber leaf;			/* that holds them, most likely; 0 = not known */
} ZsTidCursor;

/* tid_insert.c */
extern ZsTidCursor *zstid_cursor_find(Relation rel, int cursorno);
extern zstid zstid_find_unused(ZsTidTarget *target, zstid start, zstid end, uint64 *count);
extern void zstid_take_rows(Relation rel, int cursorno, uint32 nwanted, ZsTidChange *change,
							ZsTidTarget *target, bool keep_lock);

/* tid_vismap.c */

extern zstid zstid_vm_page_end(zstid row);

/* ---- visibility map (tid_vismap.c) ---------------------------------------------- */

extern bool zstid_vm_test(Buffer vmbuf, BlockNumber first, BlockNumber last, uint8 bits);
extern void zstid_vm_clear(Buffer vmbuf, BlockNumber first, BlockNumber last, uint8 bits);
extern void zstid_vm_apply(Buffer vmbuf, const ZsTidVmRange *ranges, int nranges);
extern int	zstid_vm_ranges(Page page, const uint8 *slot_bits, zstid start, zstid end,
							Buffer vmbuf, ZsTidVmRange *ranges, int max_ranges);
extern void zstid_vm_count(Buffer vmbuf, const ZsTidVmRange *ranges, int nranges,
						   ZsTidVmCounts *counts);
extern void zstid_vm_set(Relation rel, Buffer leafbuf, Buffer vmbuf,
						 const ZsTidVmRange *ranges, int nranges, TransactionId horizon);
extern void zstid_vm_clear_block(Relation rel, Buffer vmbuf, BlockNumber blkno);

/* ---- visibility (tid_visibility.c, tid_updatable.c, tid_horizon.c) ---------------- */

static inline bool
zstid_xmin_frozen(const ZsVisSlot *vis)
{
	return vis->xmin == FrozenTransactionId;
}

static inline bool
zstid_xmin_committed(const ZsVisSlot *vis)
{
	return zstid_xmin_frozen(vis) || (vis->infomask & HEAP_XMIN_COMMITTED) != 0;
}

static inline bool
zstid_xmin_invalid(const ZsVisSlot *vis)
{
	return !zstid_xmin_frozen(vis) && (vis->infomask & HEAP_XMIN_INVALID) != 0;
}

static inline bool
zstid_locked_only(const ZsVisSlot *vis)
{
	return HEAP_XMAX_IS_LOCKED_ONLY(vis->infomask);
}

static inline bool
zstid_xmax_is_multi(const ZsVisSlot *vis)
{
	return (vis->infomask & HEAP_XMAX_IS_MULTI) != 0;
}

/* What became of a row's inserter, which is not the current transaction. */
typedef enum ZsInserterState
{
	ZS_INSERTER_COMMITTED = 1,
	ZS_INSERTER_RUNNING,
	ZS_INSERTER_ABORTED,
} ZsInserterState;

extern ZsInserterState zstid_inserter_state(ZsVisSlot *vis, Buffer buffer);

extern bool zstid_is_only_locked(const ZsVisSlot *vis);
extern bool zstid_is_surely_dead(const ZsVisSlot *vis, GlobalVisState *vistest);
extern void zstid_set_hint(ZsVisSlot *vis, Buffer buffer, uint16 mask, TransactionId xid);
extern void zstid_copy_hints(ZsVisSlot *to, const ZsVisSlot *from, Buffer buffer);

/* tid_own.c */
extern bool zstid_xid_is_own(TransactionId xid);
extern void zstid_own_forget_xids(void);
extern void zstid_own_prepare(void);
extern bool zstid_own_is_dead(const ZsVisSlot *vis);
extern bool zstid_own_check_dead(const ZsVisSlot *vis);

/* tid_serial.c */
extern void zstid_conflict_out(bool visible, Relation rel, ZsVisSlot *vis,
							   Buffer buffer, Snapshot snapshot);

/* A slot that says "visible to everyone". */
extern const ZsVisSlot zstid_frozen_slot;

/* Did the transaction, which is running, insert the row and delete it itself? */
static inline bool
zstid_is_deleted_by_inserter(const ZsVisSlot *vis, TransactionId xid)
{
	return vis->xmin == xid && vis->xmax == xid && !zstid_locked_only(vis) &&
		(vis->infomask & (HEAP_XMAX_INVALID | HEAP_XMAX_IS_MULTI)) == 0;
}

static inline bool
zstid_vis_is_updated(const ZsVisSlot *vis)
{
	return (vis->infomask2 & (ZS_VIS2_UPDATED | ZS_VIS2_MOVED_PARTITION)) != 0;
}

/* ---- xmax and multixacts (tid_xmax.c) ------------------------------------------------ */

extern TransactionId zstid_multi_update_xid(MultiXactId multi, uint16 infomask);
extern void zstid_multi_infomask(MultiXactId multi, uint16 *infomask, uint16 *infomask2);
extern MultiXactStatus zstid_mxact_status(LockTupleMode mode, bool is_update);
extern LOCKMODE zstid_heavyweight_mode(LockTupleMode mode);
extern LockTupleMode zstid_lockmode_of_mxact(MultiXactStatus status);
extern bool zstid_mxact_conflict(MultiXactStatus a, MultiXactStatus b);
extern bool zstid_multi_conflicts(MultiXactId multi, uint16 infomask, LockTupleMode mode,
								  bool *current_is_member);
extern MultiXactStatus zstid_xmax_status(const ZsVisSlot *vis);
extern void zstid_compute_xmax(const ZsVisSlot *vis, TransactionId add, LockTupleMode mode,
							   bool is_update, ZsTidChange *change);

/* ---- freezing (tid_freeze.c) ----------------------------------------------------------- */

extern bool zstid_freeze_slot(Relation rel, ZsVisSlot *vis, const ZsTidVacuumCutoffs *cutoffs,
							  TransactionId *oldest_xid, MultiXactId *oldest_mxid);

/* ---- waiting for other transactions (tid_wait.c) -------------------------------------- */

extern bool zstid_tuplock_acquire(Relation rel, ItemPointer tid, LockTupleMode mode,
								  LockWaitPolicy policy, bool *have_tuple_lock);
extern void zstid_tuplock_release(Relation rel, ItemPointer tid, LockTupleMode mode,
								  bool *have_tuple_lock);
extern bool zstid_multi_wait(MultiXactId multi, MultiXactStatus status, uint16 infomask,
							 LockWaitPolicy policy, Relation rel, ItemPointer tid,
							 XLTW_Oper oper, int *remaining);
extern void zstid_hint_xmax(ZsVisSlot *vis, Buffer buffer);

/* Has xmax been changed since a copy of the slot was made? */
static inline bool
zstid_xmax_changed(const ZsVisSlot *now, const ZsVisSlot *seen)
{
	const uint16 interesting = HEAP_XMAX_IS_MULTI | HEAP_XMAX_LOCK_ONLY | HEAP_LOCK_MASK;

	return now->xmax != seen->xmax ||
		((now->infomask ^ seen->infomask) & interesting) != 0;
}

/* ---- changes of single rows (tid_row.c) ------------------------------------------------ */

/*
 * One row of the target's leaf.  vis points to its slot in the page, or to
 * frozen; hintbuf is the buffer for hint bits, Invalid in the latter case.
 */
typedef struct ZsTidRow
{
	ZsTidTarget target;
	zstid		row;
	ItemPointerData tid;
	ZsTidRun	run;
	ZsVisSlot  *vis;
	Buffer		hintbuf;
	ZsVisSlot	frozen;
} ZsTidRow;

extern void zstid_row_init(ZsTidRow *r, Relation rel, zstid row);
extern bool zstid_row_lock(ZsTidRow *r);
extern void zstid_row_find(ZsTidRow *r);
extern void zstid_row_copy(const ZsTidRow *r, ZsVisSlot *copy);
extern void zstid_row_failure(const ZsVisSlot *vis, zstid row, TM_Result result,
							  TM_FailureData *tmfd);
/* One attempt to modify a row (tid_modify.c). */
typedef struct ZsTidModify
{
	ZsTidRow	r;
	LockTupleMode mode;
	XLTW_Oper	oper;			/* XLTW_Delete or XLTW_Update */
	CommandId	cid;
	Snapshot	crosscheck;
	bool		wait;
	bool		have_tuple_lock;	/* heavyweight; set when we waited */
	bool		lockers_checked;	/* lockers_remain is valid */
	bool		lockers_remain; /* somebody in xmax may still hold a lock */
} ZsTidModify;

/* tid_modify.c */
extern void zstid_modify_init(ZsTidModify *m, Relation rel, zstid row, LockTupleMode mode,
							  XLTW_Oper oper, CommandId cid, Snapshot crosscheck, bool wait);
extern void zstid_modify_end(ZsTidModify *m);
extern TM_Result zstid_modify_check(ZsTidModify *m, TM_FailureData *tmfd);
extern void zstid_modify_postpone(ZsTidModify *m);

/* tid_chain.c */
extern bool zstid_chain_ends(const ZsVisSlot *vis);
extern TM_Result zstid_lock_chain(Relation rel, const ZsVisSlot *prior, TransactionId xid,
								  LockTupleMode mode);

#endif							/* TID_INTERNAL_H */
