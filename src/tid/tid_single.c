/*-------------------------------------------------------------------------
 *
 * tid_single.c
 *	  The TID tree's part in writing one row with one WAL record.
 *
 * A session that inserts or updates a single row changes two or three pages:
 * the row leaf, the TID leaf of the row, and, in an UPDATE, the TID leaf of
 * the old version.  With one record for all of them (write_single.c) a
 * statement logs one header instead of three.  For that, all pages have to
 * be locked at the same time.
 *
 * At first it finds and locks the leaves and computes their new contents:
 *
 *	  INSERT	the leaf of the new row, waiting for its lock as usual
 *	  UPDATE	the leaf of the old row, waiting, with all the checks and waits of an
 *				update; then the leaf of the new row, if its lock is free
 *
 * Only the first lock is ever waited for, the others are taken if they are
 * free and the change is a simple one.  So no order among them is needed, and
 * no deadlock is possible.  If something is not simple, the caller does the
 * same in several steps, each with its own record.
 *
 * Simple means: the backend remembers the leaf that its open stripe is in;
 * there is room on the leaves; the new row clears no visibility map bits; the
 * old row has no row locks of others that the new one would inherit.
 *
 * WAL: the caller's XLOG_ZS_WRITE_ROW, of which blocks 1 to 3 are ours.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_single.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"

#include "tid_internal.h"
#include "zs_btree.h"
#include "zs_page.h"

struct ZsTidPending
{
	Relation	rel;
	ZsTidSingle single;
	ZsTidTarget target;			/* leaf of the new row; its buffer is the old
								 * row's if both are on one leaf */
	ZsTidModify modify;			/* UPDATE: the old row */
	PGAlignedBlock image;		/* new contents of the new row's leaf */
	PGAlignedBlock old_image;	/* ... of the old row's, if it is another one */
};

/* Memory of the one pending change that a backend can have; an error just leaves it. */
static ZsTidPending pending_change;

/* Are old and new row on different leaves? */
static inline bool
has_other_leaf(const ZsTidPending *pending)
{
	return (pending->single.flags & ZS_WRITEF_OTHER_LEAF) != 0;
}

static ZsTidPending *
begin_pending(Relation rel, TransactionId xid, CommandId cid)
{
	ZsTidPending *pending = &pending_change;

	pending->rel = rel;
	pending->single.flags = 0;
	pending->single.insert = (ZsTidChange)
	{
		.op = ZS_TID_INSERT, .count = 1, .xid = xid, .cid = cid
	};
	zstid_target_init(&pending->target, rel);
	return pending;
}

/* Computes the contents of a page after a change; what does not fit it is corruption. */
static void
compute_image(ZsTidPending *pending, ZsTidTarget *target, Page page, const ZsTidChange *change,
			  Page image)
{
	const ZsTidWalk *near = target != NULL && target->near_row == change->first ?
		&target->near : NULL;
	const char *reason = zstid_change_compute(page, InvalidXLogRecPtr, change, near, image,
											  NULL);

	if (reason != NULL)
		zsbase_corrupted(pending->rel,
						 BufferGetBlockNumber(target != NULL ? target->buf :
											  pending->modify.r.target.buf),
						 "TID tree leaf, row " UINT64_FORMAT ", operation %d: %s.",
						 change->first, change->op, reason);
}

/*
 * Prepares a row in the open stripe of the cursor, like zstid_insert_small():
 * *row is its number, and its leaf is locked exclusively.  NULL when the row
 * was inserted at once, with its own record.  Order of the calls: zs_tid.h.
 */
ZsTidPending *
zstid_single_insert(Relation rel, int cursorno, TransactionId xid, CommandId cid, uint32 token,
					zstid *row)
{
	ZsTidPending *pending = begin_pending(rel, xid, cid);
	ZsTidChange *change = &pending->single.insert;

	if (token != 0)
		pending->single.flags |= ZS_WRITEF_TOKEN;
	change->token = token;
	zstid_take_rows(rel, cursorno, 1, change, &pending->target, true);
	*row = change->first;

	/* a frozen row has nothing to inherit from the record's transaction */
	Assert(TransactionIdIsNormal(xid));
	if (zstid_change_vm_flags(&pending->target, change) != 0)
	{
		zstid_single_apply_alone(pending);
		return NULL;
	}
	compute_image(pending, &pending->target, BufferGetPage(pending->target.buf), change,
				  pending->image.data);
	return pending;
}

/*
 * INSERT: inserts the prepared row with its own record, after all.  Nothing is
 * pending then.
 */
void
zstid_single_apply_alone(ZsTidPending *pending)
{
	Assert((pending->single.flags & ZS_WRITEF_UPDATE) == 0);
	zstid_target_change(&pending->target, &pending->single.insert);
	zstid_target_release(&pending->target);
}

/* Is the row's xmax one that an update by xid just replaces?  Nobody's, or xid's own lock. */
static bool
xmax_is_simple(const ZsVisSlot *vis, TransactionId xid)
{
	if (vis->infomask & HEAP_XMAX_INVALID)
		return true;
	return (vis->infomask & HEAP_XMAX_IS_MULTI) == 0 && vis->xmax == xid;
}

/*
 * Locks the leaf for the new row of an UPDATE, whose old row's leaf is locked, if that is free, and
 * chooses the row.
 */
static bool
find_new_row(ZsTidPending *pending, int cursorno)
{
	ZsTidCursor *cursor = zstid_cursor_find(pending->rel, cursorno);
	ZsTidTarget *old = &pending->modify.r.target;
	ZsTidTarget *target = &pending->target;
	ZsTidChange *change = &pending->single.insert;
	Size		growth = ZS_TID_MAX_GROWTH;
	ZsPageOpaque *opaque;
	uint64		count;

	if (cursor->stripe == ZS_INVALID_ROW || cursor->leaf == 0)
		return false;
	if (BufferGetBlockNumber(old->buf) == cursor->leaf)
	{
		target->buf = old->buf;
		growth *= 2;
	}
	else
	{
		target->buf = zsbtree_try_bottom(pending->rel, ZS_TREE_TID, cursor->next, cursor->leaf);
		pending->single.flags |= ZS_WRITEF_OTHER_LEAF;
	}
	if (!BufferIsValid(target->buf))
		return false;

	opaque = ZsPageGetOpaque(BufferGetPage(target->buf));
	target->row = cursor->next;
	if (cursor->next < opaque->lokey || cursor->next >= opaque->hikey ||
		(has_other_leaf(pending) && (opaque->flags & ZS_PAGEF_ALL_FROZEN) != 0 &&
		 (opaque->flags & ZS_PAGEF_ROOT) == 0) ||
		zstid_leaf_free_space(BufferGetPage(target->buf)) < growth)
		return false;
	change->first = zstid_find_unused(target, cursor->next,
									  Min(opaque->hikey, cursor->stripe + ZS_STRIPE_ROWS), &count);
	if (change->first == ZS_INVALID_ROW)
		return false;

	/* the map page that the old row needs usually serves the new one too */
	if (opaque->flags & ZS_PAGEF_ANY_VISIBLE)
	{
		BlockNumber blkno = zs_row_block(change->first);

		if (!visibilitymap_pin_ok(blkno, old->vmbuf) ||
			zstid_vm_test(old->vmbuf, blkno, blkno, VISIBILITYMAP_VALID_BITS))
			return false;
	}
	cursor->next = change->first + 1;
	return true;
}

/* Lets go of the new row's leaf, but not of the old one's. */
static void
release_new_leaf(ZsTidPending *pending)
{
	if (has_other_leaf(pending))
		zstid_target_unlock(&pending->target);
	pending->target.buf = InvalidBuffer;
}

/* Computes what both leaves will look like. */
static void
compute_update(ZsTidPending *pending)
{
	ZsTidTarget *old = &pending->modify.r.target;
	Page		page = BufferGetPage(pending->target.buf);

	if (has_other_leaf(pending))
	{
		compute_image(pending, &pending->target, page, &pending->single.insert,
					  pending->image.data);
		compute_image(pending, old, BufferGetPage(old->buf), &pending->single.xmax,
					  pending->old_image.data);
	}
	else
	{
		PGAlignedBlock between;

		compute_image(pending, &pending->target, page, &pending->single.insert,
					  pending->image.data);
		memcpy(between.data, page, BLCKSZ);
		zstid_leaf_install(between.data, pending->image.data, 0);
		compute_image(pending, NULL, between.data, &pending->single.xmax, pending->image.data);
	}
}

/*
 * Prepares an UPDATE of oldrow, which is checked as by zstid_update_check().
 * With TM_Ok and *pending NULL the caller goes on with zstid_mark_updated();
 * otherwise *row is the new version, and the leaves of both are locked
 * exclusively.  Order of the calls: zs_tid.h.
 */
TM_Result
zstid_single_update(Relation rel, zstid oldrow, int cursorno, CommandId cid, Snapshot crosscheck,
					bool wait, LockTupleMode mode, TM_FailureData *tmfd, zstid *row,
					ZsTidPending **result)
{
	TransactionId xid = GetCurrentTransactionId();
	ZsTidPending *pending = begin_pending(rel, xid, cid);
	ZsTidModify *m = &pending->modify;
	ZsTidChange *xmax = &pending->single.xmax;
	TM_Result	outcome;

	*result = NULL;
	MultiXactIdSetOldestMember();
	pending->single.flags |= ZS_WRITEF_UPDATE;
	zstid_modify_init(m, rel, oldrow, mode, XLTW_Update, cid, crosscheck, wait);
	outcome = zstid_modify_check(m, tmfd);
	if (outcome != TM_Ok)
		return outcome;

	if (m->have_tuple_lock || !xmax_is_simple(m->r.vis, xid) || !find_new_row(pending, cursorno))
	{
		release_new_leaf(pending);
		zstid_modify_postpone(m);
		return TM_Ok;
	}
	*row = pending->single.insert.first;
	CheckForSerializableConflictIn(rel, NULL, InvalidBlockNumber);
	CheckForSerializableConflictIn(rel, &m->r.tid, ItemPointerGetBlockNumber(&m->r.tid));
	tmfd->xmax = (m->r.vis->infomask & HEAP_XMAX_INVALID) ||
		(m->lockers_checked && !m->lockers_remain) ? InvalidTransactionId : m->r.vis->xmax;

	*xmax = (ZsTidChange)
	{
		.op = ZS_TID_XMAX, .first = oldrow, .count = 1, .cid = cid,
		.successor = (int64) *row - (int64) oldrow
	};
	zstid_compute_xmax(m->r.vis, xid, mode, true, xmax);
	xmax->infomask2 |= ZS_VIS2_UPDATED;

	Assert(xmax->xid == xid && (xmax->infomask & HEAP_XMAX_IS_MULTI) == 0);
	compute_update(pending);
	if (zstid_change_vm_flags(&m->r.target, xmax) != 0)
		pending->single.flags |= ZS_WRITEF_VM;
	*result = pending;
	return TM_Ok;
}

/*
 * UPDATE: as if zstid_single_update() had left *pending NULL.  Unlocks the leaves
 * and ends what is pending.
 */
void
zstid_single_cancel(ZsTidPending *pending)
{
	Assert((pending->single.flags & ZS_WRITEF_UPDATE) != 0);
	release_new_leaf(pending);
	zstid_modify_postpone(&pending->modify);
}

/*
 * Pins what the change needs, and computes the leaves' new contents.  The last
 * step that may raise an error or allocate.
 */
void
zstid_single_prepare(ZsTidPending *pending)
{
	if (pending->single.flags & ZS_WRITEF_VM)
		LockBuffer(pending->modify.r.target.vmbuf, BUFFER_LOCK_EXCLUSIVE);
}

/* Puts computed contents on a leaf. */
static void
install(Buffer buf, Page image)
{
	zstid_leaf_install(BufferGetPage(buf), image, 0);
	ZsPageGetOpaque(BufferGetPage(buf))->flags &= ~ZS_PAGEF_ALL_FROZEN;
	MarkBufferDirty(buf);
}

/*
 * Within the critical section: puts the new contents on the leaves, and clears
 * bits of the visibility map.
 */
void
zstid_single_put(ZsTidPending *pending)
{
	ZsTidTarget *old = &pending->modify.r.target;

	if (pending->single.flags & ZS_WRITEF_VM)
		zstid_change_clear_vm(old->vmbuf, &pending->single.xmax, ZS_TIDF_VM_VISIBLE);
	install(pending->target.buf, pending->image.data);
	if (has_other_leaf(pending))
		install(old->buf, pending->old_image.data);
}

/*
 * Within the critical section: adds blocks 1 to 3 to the WAL record in the
 * making, and writes the record's main data, at most ZS_TID_MAX_SINGLE bytes,
 * to data.  Returns their length.
 */
int
zstid_single_register(ZsTidPending *pending, char *data)
{
	ZsTidTarget *old = &pending->modify.r.target;

	XLogRegisterBuffer(1, pending->target.buf, REGBUF_STANDARD);
	if (has_other_leaf(pending))
		XLogRegisterBuffer(2, old->buf, REGBUF_STANDARD);
	if (pending->single.flags & ZS_WRITEF_VM)
		XLogRegisterBuffer(3, old->vmbuf, 0);
	return zstid_single_encode(&pending->single, data);
}

/*
 * Within the critical section: sets the LSN of the pages that were changed, if
 * it is valid.
 */
void
zstid_single_finish(ZsTidPending *pending, XLogRecPtr lsn)
{
	ZsTidTarget *old = &pending->modify.r.target;

	/* leaves have none after a change that is not logged, see zstid_walk_seek() */
	PageSetLSN(BufferGetPage(pending->target.buf), lsn);
	if (has_other_leaf(pending))
		PageSetLSN(BufferGetPage(old->buf), lsn);
	if (!XLogRecPtrIsInvalid(lsn) && (pending->single.flags & ZS_WRITEF_VM))
		PageSetLSN(BufferGetPage(old->vmbuf), lsn);
}

/* Behind the critical section: unlocks and releases all pages of the change. */
void
zstid_single_end(ZsTidPending *pending)
{
	if (pending->single.flags & ZS_WRITEF_VM)
		LockBuffer(pending->modify.r.target.vmbuf, BUFFER_LOCK_UNLOCK);
	if (pending->single.flags & ZS_WRITEF_UPDATE)
	{
		release_new_leaf(pending);
		zstid_modify_end(&pending->modify);
	}
	else
		zstid_target_release(&pending->target);
}

/* ---- redo ---------------------------------------------------------------------- */

/*
 * Redo of XLOG_ZS_WRITE_ROW as far as TID leaves and the visibility map go:
 * blocks 1 to 3 of the record.
 */
void
zstid_single_redo(XLogReaderState *record)
{
	ZsTidSingle single;
	const ZsTidChange *changes[] = {&single.insert, &single.xmax};
	bool		both;

	if (!zstid_single_decode(XLogRecGetData(record), XLogRecGetDataLen(record),
							 XLogRecGetXid(record), &single))
		elog(PANIC, "single row record is broken");

	if (single.flags & ZS_WRITEF_VM)
		zstid_redo_vm(record, 3, &single.xmax, ZS_TIDF_VM_VISIBLE);
	both = (single.flags & (ZS_WRITEF_UPDATE | ZS_WRITEF_OTHER_LEAF)) == ZS_WRITEF_UPDATE;
	zstid_redo_leaf(record, 1, changes, both ? 2 : 1);
	if (single.flags & ZS_WRITEF_OTHER_LEAF)
		zstid_redo_leaf(record, 2, &changes[1], 1);
}

/*
 * Description of XLOG_ZS_WRITE_ROW for pg_waldump and the like; says so if it
 * cannot be decoded.
 */
void
zstid_single_desc(StringInfo buf, XLogReaderState *record)
{
	ZsTidSingle single;

	if (!zstid_single_decode(XLogRecGetData(record), XLogRecGetDataLen(record),
							 XLogRecGetXid(record), &single))
	{
		appendStringInfoString(buf, "invalid record");
		return;
	}
	appendStringInfo(buf, "row: " UINT64_FORMAT ", cmin: %u", single.insert.first,
					 single.insert.cid);
	if (single.flags & ZS_WRITEF_TOKEN)
		appendStringInfo(buf, ", token: %u", single.insert.token);
	if (single.flags & ZS_WRITEF_UPDATE)
		appendStringInfo(buf, ", updated: " UINT64_FORMAT ", infomask: 0x%04X, infomask2: 0x%04X",
						 single.xmax.first, single.xmax.infomask, single.xmax.infomask2);
	if (single.flags & ZS_WRITEF_VM)
		appendStringInfoString(buf, ", clears all-visible");
}
