/*-------------------------------------------------------------------------
 *
 * tid_row.c
 *	  One row that is to be changed, and what a failure tells the caller.
 *
 * ZsTidRow is a row together with its leaf (ZsTidTarget): UPDATE, DELETE and row
 * locks find it, look at its slot, wait without the lock and find it again, since
 * its slot may have another number then or be another one.  A failure is told in
 * the words of heap: the successor as t_ctid, its xmax, cmax if it was our own
 * command.
 *
 * Locks: the leaf exclusively between zstid_row_lock() and zstid_target_unlock().
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_row.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tableam.h"
#include "storage/bufmgr.h"

#include "tid_internal.h"
#include "zs_base.h"

/*
 * One row of a TID tree, row < ZS_MAX_ROW; nothing is locked or known of it
 * yet.
 */
void
zstid_row_init(ZsTidRow *r, Relation rel, zstid row)
{
	Assert(row < ZS_MAX_ROW);
	zstid_target_init(&r->target, rel);
	r->row = row;
	zs_tid_from_row(row, &r->tid);
	r->vis = NULL;
	r->hintbuf = InvalidBuffer;
	r->frozen = zstid_frozen_slot;
}

/*
 * Finds the row's slot in the locked leaf again, after a change.
 */
void
zstid_row_find(ZsTidRow *r)
{
	zstid_target_find(&r->target, r->row, &r->run, &r->vis);
	r->hintbuf = r->target.buf;
	if (r->run.slotno == ZS_SLOT_FROZEN)
	{
		r->frozen = zstid_frozen_slot;
		r->vis = &r->frozen;
		r->hintbuf = InvalidBuffer;
	}
}

/*
 * Locks the row's leaf for a change.  Returns false, with nothing locked, if there
 * is no such row, or it is dead.
 */
bool
zstid_row_lock(ZsTidRow *r)
{
	if (!zstid_target_lock(&r->target, r->row, false))
		return false;
	zstid_row_find(r);
	if (r->vis != NULL)
		return true;
	zstid_target_unlock(&r->target);
	return false;
}

/* A copy of the slot of the row, whose leaf is locked; a successor in it is the row's. */
void
zstid_row_copy(const ZsTidRow *r, ZsVisSlot *copy)
{
	zstid_slot_of_row(BufferGetPage(r->target.buf), &r->run, r->vis, r->row, copy);
}

/* TID that heap would have in t_ctid. */
static void
successor_tid(const ZsVisSlot *vis, zstid row, ItemPointer tid)
{
	if (vis->infomask2 & ZS_VIS2_MOVED_PARTITION)
		ItemPointerSetMovedPartitions(tid);
	else if (zstid_slot_has_successors(vis))
		zs_tid_from_row(vis->successor, tid);
	else
		zs_tid_from_row(row, tid);
}

/*
 * Tells the caller why the row could not be changed or locked.  vis is a copy of its slot
 * (zstid_row_copy()), NULL if the row is gone.
 */
void
zstid_row_failure(const ZsVisSlot *vis, zstid row, TM_Result result, TM_FailureData *tmfd)
{
	Assert(result != TM_Ok);
	Assert(result != TM_Updated || vis != NULL);

	if (vis == NULL)
	{
		zs_tid_from_row(row, &tmfd->ctid);
		tmfd->xmax = InvalidTransactionId;
		tmfd->cmax = InvalidCommandId;
		return;
	}
	successor_tid(vis, row, &tmfd->ctid);
	tmfd->xmax = zstid_update_xid(vis);
	tmfd->cmax = result == TM_SelfModified ? vis->cmax : InvalidCommandId;
}
