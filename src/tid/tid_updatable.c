/*-------------------------------------------------------------------------
 *
 * tid_updatable.c
 *	  May a row be updated, deleted or locked, and if not, why not?
 *
 * The rules of HeapTupleSatisfiesUpdate(); see tid_visibility.c about hint bits.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_updatable.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "storage/procarray.h"

#include "tid_internal.h"

/* TM_Updated or TM_Deleted, for a row whose xmax committed. */
static inline TM_Result
updated_or_deleted(const ZsVisSlot *vis)
{
	return zstid_vis_is_updated(vis) ? TM_Updated : TM_Deleted;
}

/*
 * A row of the current transaction, which curcid may see: what hinders its update?
 */
static TM_Result
own_row_updatable(ZsVisSlot *vis, CommandId curcid, Buffer buffer)
{
	if (vis->infomask & HEAP_XMAX_INVALID)
		return TM_Ok;

	/* others may hold locks that the update carried over from the old version */
	if (zstid_locked_only(vis))
	{
		bool		running = zstid_xmax_is_multi(vis) ? MultiXactIdIsRunning(vis->xmax, true) :
			TransactionIdIsInProgress(vis->xmax);

		return running ? TM_BeingModified : TM_Ok;
	}
	if (zstid_xmax_is_multi(vis))
	{
		TransactionId xmax = zstid_update_xid(vis);

		Assert(TransactionIdIsValid(xmax));
		/* the deleting subtransaction must have aborted */
		if (!zstid_xid_is_own(xmax))
			return MultiXactIdIsRunning(vis->xmax, false) ? TM_BeingModified : TM_Ok;
	}
	else if (!zstid_xid_is_own(vis->xmax))
	{
		zstid_set_hint(vis, buffer, HEAP_XMAX_INVALID, InvalidTransactionId);
		return TM_Ok;
	}
	return vis->cmax >= curcid ? TM_SelfModified : TM_Invisible;
}

/* A row whose inserter committed and whose xmax is a multixact. */
static TM_Result
multi_row_updatable(ZsVisSlot *vis, CommandId curcid, Buffer buffer)
{
	TransactionId xmax;

	if (zstid_locked_only(vis))
	{
		if (MultiXactIdIsRunning(vis->xmax, true))
			return TM_BeingModified;
		zstid_set_hint(vis, buffer, HEAP_XMAX_INVALID, InvalidTransactionId);
		return TM_Ok;
	}

	xmax = zstid_update_xid(vis);
	Assert(TransactionIdIsValid(xmax));
	if (zstid_xid_is_own(xmax))
		return vis->cmax >= curcid ? TM_SelfModified : TM_Invisible;
	if (MultiXactIdIsRunning(vis->xmax, false))
		return TM_BeingModified;
	if (TransactionIdDidCommit(xmax))
		return updated_or_deleted(vis);

	/*
	 * The update aborted or crashed.  Ask again for the other members: one may have
	 * been waiting to run until now.
	 */
	if (MultiXactIdIsRunning(vis->xmax, false))
		return TM_BeingModified;
	zstid_set_hint(vis, buffer, HEAP_XMAX_INVALID, InvalidTransactionId);
	return TM_Ok;
}

/*
 * HeapTupleSatisfiesUpdate() on a ZsVisSlot; buffer as for zstid_satisfies().
 * The leaf is locked at least shared, if vis points to it.
 */
TM_Result
zstid_satisfies_update(ZsVisSlot *vis, CommandId curcid, Buffer buffer)
{
	if (!zstid_xmin_committed(vis))
	{
		if (zstid_xmin_invalid(vis))
			return TM_Invisible;
		if (zstid_xid_is_own(vis->xmin))
		{
			if (vis->cmin >= curcid)
				return TM_Invisible;	/* inserted after the scan started */
			return own_row_updatable(vis, curcid, buffer);
		}
		if (zstid_inserter_state(vis, buffer) != ZS_INSERTER_COMMITTED)
			return TM_Invisible;
	}

	if (vis->infomask & HEAP_XMAX_INVALID)
		return TM_Ok;
	if (vis->infomask & HEAP_XMAX_COMMITTED)
		return zstid_locked_only(vis) ? TM_Ok : updated_or_deleted(vis);
	if (zstid_xmax_is_multi(vis))
		return multi_row_updatable(vis, curcid, buffer);

	if (zstid_xid_is_own(vis->xmax))
	{
		if (zstid_locked_only(vis))
			return TM_BeingModified;
		return vis->cmax >= curcid ? TM_SelfModified : TM_Invisible;
	}
	if (TransactionIdIsInProgress(vis->xmax))
		return TM_BeingModified;
	if (!TransactionIdDidCommit(vis->xmax) || zstid_locked_only(vis))
	{
		zstid_set_hint(vis, buffer, HEAP_XMAX_INVALID, InvalidTransactionId);
		return TM_Ok;
	}
	zstid_set_hint(vis, buffer, HEAP_XMAX_COMMITTED, vis->xmax);
	return updated_or_deleted(vis);
}
