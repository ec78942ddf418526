/*-------------------------------------------------------------------------
 *
 * tid_horizon.c
 *	  Might anybody still see a row?
 *
 * The rules of HeapTupleSatisfiesVacuumHorizon() and its relatives; see
 * tid_visibility.c about hint bits.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_horizon.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/transam.h"
#include "access/xact.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "tid_internal.h"
#include "zs_compat.h"

/*
 * The inserter committed and xmax is an update or delete, or a lock: what does
 * VACUUM make of the row?
 */
static ZsVacuumState
vacuum_state_of_xmax(ZsVisSlot *vis, Buffer buffer, TransactionId *dead_after)
{
	if (zstid_locked_only(vis))
	{
		if (!(vis->infomask & HEAP_XMAX_COMMITTED))
		{
			bool		running = zstid_xmax_is_multi(vis) ? MultiXactIdIsRunning(vis->xmax, true) :
				TransactionIdIsInProgress(vis->xmax);

			if (!running)
				zstid_set_hint(vis, buffer, HEAP_XMAX_INVALID, InvalidTransactionId);
		}
		return ZS_VACUUM_LIVE;
	}

	if (zstid_xmax_is_multi(vis))
	{
		TransactionId xmax = zstid_update_xid(vis);

		Assert(TransactionIdIsValid(xmax));
		if (TransactionIdIsInProgress(xmax))
			return ZS_VACUUM_DELETE_IN_PROGRESS;
		if (TransactionIdDidCommit(xmax))
		{
			/* lockers may be running, but they hold the newer versions too */
			*dead_after = xmax;
			return ZS_VACUUM_RECENTLY_DEAD;
		}
		if (!MultiXactIdIsRunning(vis->xmax, false))
			zstid_set_hint(vis, buffer, HEAP_XMAX_INVALID, InvalidTransactionId);
		return ZS_VACUUM_LIVE;
	}

	if (!(vis->infomask & HEAP_XMAX_COMMITTED))
	{
		if (TransactionIdIsInProgress(vis->xmax))
			return ZS_VACUUM_DELETE_IN_PROGRESS;
		if (!TransactionIdDidCommit(vis->xmax))
		{
			zstid_set_hint(vis, buffer, HEAP_XMAX_INVALID, InvalidTransactionId);
			return ZS_VACUUM_LIVE;
		}
		zstid_set_hint(vis, buffer, HEAP_XMAX_COMMITTED, vis->xmax);
	}
	*dead_after = vis->xmax;
	return ZS_VACUUM_RECENTLY_DEAD;
}

/*
 * As HeapTupleSatisfiesVacuumHorizon(): with ZS_VACUUM_RECENTLY_DEAD, *dead_after is
 * the transaction that must be compared with the horizon; Invalid otherwise.
 */
ZsVacuumState
zstid_satisfies_vacuum_horizon(ZsVisSlot *vis, Buffer buffer, TransactionId *dead_after)
{
	*dead_after = InvalidTransactionId;

	if (!zstid_xmin_committed(vis))
	{
		if (zstid_xmin_invalid(vis))
			return ZS_VACUUM_DEAD;
		if (zstid_xid_is_own(vis->xmin))
		{
			if ((vis->infomask & HEAP_XMAX_INVALID) || zstid_locked_only(vis) ||
				zstid_is_only_locked(vis))
				return ZS_VACUUM_INSERT_IN_PROGRESS;
			if (zstid_xid_is_own(zstid_update_xid(vis)))
				return ZS_VACUUM_DELETE_IN_PROGRESS;
			/* the deleting subtransaction must have aborted */
			return ZS_VACUUM_INSERT_IN_PROGRESS;
		}
		switch (zstid_inserter_state(vis, buffer))
		{
			case ZS_INSERTER_RUNNING:
				return ZS_VACUUM_INSERT_IN_PROGRESS;
			case ZS_INSERTER_ABORTED:
				return ZS_VACUUM_DEAD;
			case ZS_INSERTER_COMMITTED:
				break;
		}
	}
	if (vis->infomask & HEAP_XMAX_INVALID)
		return ZS_VACUUM_LIVE;
	return vacuum_state_of_xmax(vis, buffer, dead_after);
}

/* as HeapTupleSatisfiesVacuumHorizon / HeapTupleSatisfiesVacuum */
ZsVacuumState
zstid_satisfies_vacuum(ZsVisSlot *vis, TransactionId oldest_xmin, Buffer buffer)
{
	TransactionId dead_after;
	ZsVacuumState state = zstid_satisfies_vacuum_horizon(vis, buffer, &dead_after);

	if (state == ZS_VACUUM_RECENTLY_DEAD && TransactionIdPrecedes(dead_after, oldest_xmin))
		return ZS_VACUUM_DEAD;
	return state;
}

/*
 * Is the row surely dead to all, judging by the hint bits that a test just set?
 */
bool
zstid_is_surely_dead(const ZsVisSlot *vis, GlobalVisState *vistest)
{
	if (!zstid_xmin_committed(vis))
		return zstid_xmin_invalid(vis);
	if ((vis->infomask & HEAP_XMAX_INVALID) || zstid_locked_only(vis) || zstid_xmax_is_multi(vis) ||
		!(vis->infomask & HEAP_XMAX_COMMITTED))
		return false;
	return zs_xid_is_removable(vistest, vis->xmax);
}

/*
 * Is the row not updated, but at most locked?  The updater in a multixact may
 * have aborted.
 */
bool
zstid_is_only_locked(const ZsVisSlot *vis)
{
	TransactionId xmax;

	if (vis->infomask & (HEAP_XMAX_INVALID | HEAP_XMAX_LOCK_ONLY))
		return true;
	if (!TransactionIdIsValid(vis->xmax))
		return true;
	if (!zstid_xmax_is_multi(vis))
		return false;

	xmax = zstid_update_xid(vis);
	Assert(TransactionIdIsValid(xmax));
	if (zstid_xid_is_own(xmax))
		return false;
	if (TransactionIdIsInProgress(xmax))
		return false;
	return !TransactionIdDidCommit(xmax);
}
