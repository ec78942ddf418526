/*-------------------------------------------------------------------------
 *
 * tid_assign.c
 *	  Visibility of rows that were copied into a new table.
 *
 * VACUUM FULL and CLUSTER write rows as frozen, and give those that are not
 * visible to everybody the slot that they had.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_assign.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/transam.h"
#include "utils/rel.h"

#include "tid_internal.h"

/*
 * Gives a frozen row of a table that nobody else can see the visibility of a
 * row that was copied (VACUUM FULL, CLUSTER): transactions older than
 * oldest_xmin are frozen or dropped on the way, an update becomes a delete.
 * *oldest_xid and *oldest_mxid are moved back to what was kept.
 */
void
zstid_assign_slot(Relation rel, zstid row, const ZsVisSlot *vis, TransactionId oldest_xmin,
				  TransactionId *oldest_xid, MultiXactId *oldest_mxid)
{
	ZsTidVacuumCutoffs cutoffs = {
		.oldest_xmin = oldest_xmin,
		.freeze_limit = oldest_xmin,
		.oldest_mxact = *oldest_mxid,
		.multixact_cutoff = *oldest_mxid
	};
	ZsVisSlot	slot = *vis;
	ZsTidChange change = {.op = ZS_TID_ASSIGN, .first = row, .count = 1, .slot = &slot};
	ZsTidRow	r;

	zstid_freeze_slot(rel, &slot, &cutoffs, oldest_xid, oldest_mxid);

	/* a successor has another row number in the new table */
	slot.infomask2 &= ~(ZS_VIS2_UPDATED | ZS_VIS2_SPECULATIVE);
	slot.successor = 0;
	if (slot.xmin == FrozenTransactionId)
	{
		slot.cmin = 0;
		if (slot.infomask & HEAP_XMAX_INVALID)
			return;
	}

	zstid_row_init(&r, rel, row);
	if (!zstid_row_lock(&r))
		elog(ERROR, "could not find copied row " UINT64_FORMAT, row);
	zstid_target_change(&r.target, &change);
	zstid_target_release(&r.target);
	ZS_INJECTION_POINT("zs-tid-assign");
}
