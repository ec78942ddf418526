/*-------------------------------------------------------------------------
 *
 * tid_serial.c
 *	  Serializable isolation: conflicts of a reader with writers.
 *
 * The rules are those of HeapCheckForSerializableConflictOut() in heapam.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_serial.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/subtrans.h"
#include "access/transam.h"
#include "access/xact.h"
#include "storage/predicate.h"
#include "utils/snapmgr.h"

#include "tid_internal.h"

/*
 * A row with these contents was read, and was visible or not: is there a
 * rw-conflict out to its inserter or deleter?  Called for each slot once, after
 * the predicate lock that covers the row was taken.
 */
void
zstid_conflict_out(bool visible, Relation rel, ZsVisSlot *vis, Buffer buffer,
				   Snapshot snapshot)
{
	TransactionId xid = InvalidTransactionId;

	if (!CheckForSerializableConflictOutNeeded(rel, snapshot))
		return;

	switch (zstid_satisfies_vacuum(vis, TransactionXmin, buffer))
	{
		case ZS_VACUUM_LIVE:
			if (visible)
				return;
			xid = vis->xmin;
			break;
		case ZS_VACUUM_RECENTLY_DEAD:
		case ZS_VACUUM_DELETE_IN_PROGRESS:
			xid = visible ? zstid_update_xid(vis) : vis->xmin;
			if (TransactionIdPrecedes(xid, TransactionXmin))
			{
				Assert(!visible);
				return;
			}
			break;
		case ZS_VACUUM_INSERT_IN_PROGRESS:
			xid = vis->xmin;
			break;
		case ZS_VACUUM_DEAD:
			Assert(!visible);
			return;
		case ZS_VACUUM_INVALID:
			elog(ERROR, "unrecognized vacuum state of a row");
	}
	Assert(TransactionIdIsValid(xid));
	Assert(TransactionIdFollowsOrEquals(xid, TransactionXmin));

	/* only the top level transaction counts, and not our own */
	if (TransactionIdEquals(xid, GetTopTransactionIdIfAny()))
		return;
	xid = SubTransGetTopmostTransaction(xid);
	if (TransactionIdPrecedes(xid, TransactionXmin))
		return;
	CheckForSerializableConflictOut(rel, xid, snapshot);
}
