/*-------------------------------------------------------------------------
 *
 * am_update.c
 *	  tuple_update: which row lock an UPDATE needs.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/am/am_update.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/xact.h"
#include "utils/datum.h"
#include "utils/rel.h"

#include "zs_am.h"
#include "zs_base.h"
#include "zs_scan.h"
#include "zs_slot.h"
#include "zs_tid.h"
#include "zs_write.h"

/*
 * Does the update change a column of a key that foreign keys may refer to? Then it needs
 * the stronger lock, as heap_update() decides.
 */
static LockTupleMode
update_lock_mode(Relation rel, zstid row, TupleTableSlot *newslot)
{
	Bitmapset  *keys = RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_KEY);
	TupleTableSlot *oldslot;
	ZsVisSlot	vis;
	bool		changed = false;
	int			i = -1;

	if (bms_is_empty(keys) || !zstid_lookup(rel, row, &vis, NULL))
	{
		bms_free(keys);
		return LockTupleNoKeyExclusive;
	}

	oldslot = table_slot_create(rel, NULL);
	zsscan_store_version(rel, row, &vis, oldslot);
	while (!changed && (i = bms_next_member(keys, i)) >= 0)
	{
		AttrNumber	attno = i + FirstLowInvalidHeapAttributeNumber;
		bool		oldnull;
		bool		newnull;
		Datum		oldvalue;
		Datum		newvalue;
		Form_pg_attribute att;

		if (attno <= 0)
		{
			/* no system column can be part of a key, but a whole-row reference may */
			changed = attno == 0;
			continue;
		}
		att = TupleDescAttr(RelationGetDescr(rel), attno - 1);
		oldvalue = slot_getattr(oldslot, attno, &oldnull);
		newvalue = slot_getattr(newslot, attno, &newnull);
		changed = oldnull != newnull ||
			(!oldnull && !datum_image_eq(oldvalue, newvalue, att->attbyval, att->attlen));
	}
	ExecDropSingleTupleTableSlot(oldslot);
	bms_free(keys);
	return changed ? LockTupleExclusive : LockTupleNoKeyExclusive;
}

TM_Result
zsam_tuple_update(Relation rel, ItemPointer otid, TupleTableSlot *slot, CommandId cid,
				  Snapshot snapshot, Snapshot crosscheck, bool wait, TM_FailureData *tmfd,
				  LockTupleMode *lockmode, TU_UpdateIndexes *update_indexes)
{
	TM_Result	result;

	zsbase_require_preload();
	*lockmode = update_lock_mode(rel, zs_row_from_tid(otid), slot);
	result = zswrite_update(rel, otid, slot, cid, crosscheck, wait, *lockmode, tmfd,
							update_indexes);

	/* people tell INSERT from UPDATE by RETURNING xmax = 0, since ON CONFLICT locks rows first */
	if (result == TM_Ok)
		zsslot_set_inserted(slot, GetCurrentTransactionId(), tmfd->xmax, cid);
	return result;
}
