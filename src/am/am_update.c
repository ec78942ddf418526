/*-------------------------------------------------------------------------
 *
 * am_update.c
 *	  tuple_update and tuple_delete: which row lock an UPDATE needs, and what
 *	  logical decoding has to know of the old row.
 *
 * The old row's columns are read for three reasons only: of a key that foreign keys may refer to,
 * of the replica identity, or all of them if that is FULL; and large values, if the new row has
 * some of the same length, which the two versions may share then (write_keep.c).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/am/am_update.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/sysattr.h"
#include "access/xact.h"
#include "nodes/bitmapset.h"
#include "pgstat.h"
#include "utils/datum.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "zs_am.h"
#include "zs_attr.h"
#include "zs_base.h"
#include "zs_projection.h"
#include "zs_scan.h"
#include "zs_slot.h"
#include "zs_tid.h"
#include "zs_write.h"

/*
 * The old row of an update or delete, fetched when it is first asked for, with the columns of attrs
 * (as RelationGetIndexAttrBitmap() returns them), or all.
 */
typedef struct OldRow
{
	Relation	rel;
	zstid		row;
	TupleTableSlot *newslot;	/* of an update */
	TupleTableSlot *slot;		/* NULL: not fetched */
	bool		borrowed;		/* slot is the executor's */
} OldRow;

/* The slot with the row, NULL if there is no such row. */
static TupleTableSlot *
fetch_old_row(OldRow *old, const Bitmapset *attrs, bool all)
{
	ZsVisSlot	vis;

	Assert(old->row < ZS_MAX_ROW);

	/* the executor mostly has just fetched it */
	if (old->slot == NULL)
	{
		old->slot = zsscan_stored_version(old->rel, old->row);
		if (old->slot == old->newslot)
			old->slot = NULL;
		old->borrowed = old->slot != NULL;
	}
	if (old->slot == NULL && zstid_lookup(old->rel, old->row, &vis, NULL))
	{
		Bitmapset  *attnos = NULL;
		int			i = -1;

		while ((i = bms_next_member(attrs, i)) >= 0)
		{
			if (i + FirstLowInvalidHeapAttributeNumber > 0)
				attnos = bms_add_member(attnos, i + FirstLowInvalidHeapAttributeNumber);
		}
		old->slot = table_slot_create(old->rel, NULL);
		zsslot_set_needed(old->slot, attnos, all);
		zsscan_store_version(old->rel, old->row, &vis, old->slot);
		bms_free(attnos);
	}
	return old->slot;
}

static void
drop_old_row(OldRow *old)
{
	if (old->slot == NULL || old->borrowed)
		return;
	/* frees the set of columns, which a command of many rows must not pile up */
	zsslot_set_needed(old->slot, NULL, true);
	ExecDropSingleTupleTableSlot(old->slot);
}

/* Do two rows differ in a column of attrs? */
static bool
columns_differ(Relation rel, const Bitmapset *attrs, TupleTableSlot *oldslot,
			   TupleTableSlot *newslot)
{
	bool		differ = false;
	int			i = -1;

	while (!differ && (i = bms_next_member(attrs, i)) >= 0)
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
			differ = attno == 0;
			continue;
		}
		Assert(attno <= RelationGetNumberOfAttributes(rel));
		att = TupleDescAttr(RelationGetDescr(rel), attno - 1);
		oldvalue = slot_getattr(oldslot, attno, &oldnull);
		newvalue = slot_getattr(newslot, attno, &newnull);
		differ = oldnull != newnull ||
			(!oldnull && !datum_image_eq(oldvalue, newvalue, att->attbyval, att->attlen));
	}
	return differ;
}

/*
 * Of the overflow pointers that a row has, keeps those whose value is also the new row's; returns
 * how many.
 */
static int
keep_unchanged(OldRow *old, const Bitmapset *attrs, ZsKeptValue *values, int n)
{
	OldRow		whole = {.rel = old->rel,.row = old->row,.newslot = old->newslot};
	int			nkept = 0;

	for (int i = 0; i < n; i++)
	{
		AttrNumber	attno = values[i].attno;
		Datum		newvalue = old->newslot->tts_values[attno - 1];
		Datum		oldvalue;
		bool		isnull;

		Assert(attno > 0 && !old->newslot->tts_isnull[attno - 1]);
		/* what the executor has copied from the old row */
		if (zsattr_toast_is_of(old->rel, (struct varlena *) DatumGetPointer(newvalue)))
		{
			if (zsattr_toast_leads_to((struct varlena *) DatumGetPointer(newvalue),
									  &values[i].pointer))
				values[nkept++] = values[i];
			continue;
		}
		if (toast_raw_datum_size(newvalue) - VARHDRSZ != values[i].pointer.raw_size)
			continue;
		if (fetch_old_row(&whole, attrs, false) == NULL)
			break;
		oldvalue = slot_getattr(whole.slot, attno, &isnull);
		if (!isnull && (DatumGetPointer(oldvalue) == DatumGetPointer(newvalue) ||
						datum_image_eq(oldvalue, newvalue, false, -1)))
			values[nkept++] = values[i];
	}
	drop_old_row(&whole);
	return nkept;
}

/*
 * Large values of the old row (arg) that its new version has, too: ZsKeptValues.find.
 */
static void
find_kept_values(ZsKeptValues *kept)
{
	OldRow	   *old = kept->arg;
	TupleDesc	desc = RelationGetDescr(old->rel);
	TupleTableSlot *slot = old->newslot;
	Bitmapset  *attrs = NULL;
	int			n = 0;

	for (int i = 0; i < desc->natts; i++)
	{
		if (slot->tts_isnull[i] || TupleDescAttr(desc, i)->attlen != -1 ||
			TupleDescAttr(desc, i)->attisdropped ||
			toast_raw_datum_size(slot->tts_values[i]) <= ZSWRITE_PUSH_OUT_THRESHOLD)
			continue;
		attrs = bms_add_member(attrs, i + 1 - FirstLowInvalidHeapAttributeNumber);
		n++;
	}
	if (n > 0)
	{
		kept->values = palloc_array(ZsKeptValue, n);
		n = zswrite_stored_pointers(old->rel, old->row, attrs, kept->values);
		kept->n = keep_unchanged(old, attrs, kept->values, n);
	}
	bms_free(attrs);
}

/*
 * Is the change logged for logical decoding?  To be asked once for each change, and by a
 * transaction that has an xid: before, PostgreSQL 19 may switch decoding on and off.  no_logical:
 * the caller has said that it is not to be logged.
 */
static bool
is_logged(Relation rel, bool no_logical)
{
	Assert(TransactionIdIsValid(GetCurrentTransactionIdIfAny()));
	return RelationIsLogicallyLogged(rel) && !no_logical;
}

/* Is the whole old row to be logged? */
static inline bool
logs_whole_row(Relation rel, bool logged)
{
	return logged && rel->rd_rel->relreplident == REPLICA_IDENTITY_FULL;
}

/* Columns of the replica identity, if the change is logged and it is one of columns. */
static Bitmapset *
identity_columns(Relation rel, bool logged)
{
	if (!logged ||
		rel->rd_rel->relreplident == REPLICA_IDENTITY_NOTHING ||
		rel->rd_rel->relreplident == REPLICA_IDENTITY_FULL)
		return NULL;
	return RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_IDENTITY_KEY);
}

/*
 * The old row of an update or delete that was done: what the replica identity needs of it, NULL if
 * that is nothing.
 */
static TupleTableSlot *
old_row_to_log(OldRow *old, const Bitmapset *identity, bool whole)
{
	if (!whole && bms_is_empty(identity))
		return NULL;
	if (fetch_old_row(old, identity, whole) == NULL)
		elog(ERROR, "could not find row " UINT64_FORMAT " of table \"%s\" to log it",
			 old->row, RelationGetRelationName(old->rel));
	return old->slot;
}

/*
 * tuple_update: writes slot's row as the new version of row otid.  Result, *tmfd and *lockmode as
 * heap_update() has them.  Waits for other transactions with wait; the caller holds no content
 * lock.  options: TABLE_UPDATE_*.
 *
 * An update that changes a column of a key that foreign keys may refer to needs the stronger lock,
 * as heap_update() decides.
 */
TM_Result
zsam_tuple_update(Relation rel, ItemPointer otid, TupleTableSlot *slot, CommandId cid,
				  uint32 options, Snapshot snapshot, Snapshot crosscheck, bool wait,
				  TM_FailureData *tmfd, LockTupleMode *lockmode,
				  TU_UpdateIndexes *update_indexes)
{
	OldRow		old = {.rel = rel,.row = zs_row_from_tid(otid),.newslot = slot};
	ZsKeptValues kept = {.find = find_kept_values,.arg = &old};
	Bitmapset  *keys = RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_KEY);
	Bitmapset  *identity;
	bool		logged;
	bool		whole;
	bool		identity_changed = false;
	TM_Result	result;

	zsbase_require_preload();
	Assert(ItemPointerIsValid(otid));
	(void) GetCurrentTransactionId();
	logged = is_logged(rel, (options & TABLE_UPDATE_NO_LOGICAL) != 0);
	identity = identity_columns(rel, logged);
	whole = logs_whole_row(rel, logged);
	*lockmode = LockTupleNoKeyExclusive;
	if (!bms_is_empty(keys) || !bms_is_empty(identity))
	{
		Bitmapset  *attrs = bms_union(keys, identity);
		TupleTableSlot *oldslot = fetch_old_row(&old, attrs, whole);

		if (oldslot != NULL)
		{
			if (columns_differ(rel, keys, oldslot, slot))
				*lockmode = LockTupleExclusive;
			identity_changed = columns_differ(rel, identity, oldslot, slot);
		}
		bms_free(attrs);
	}

	result = zswrite_update(rel, otid, slot, cid, crosscheck, wait, *lockmode, &kept, tmfd,
							update_indexes);
	if (result == TM_Ok)
	{
		/* locks that were on the row make it a MultiXactId */
		zsscan_version_changed(rel, old.row,
							   TransactionIdIsValid(tmfd->xmax) ? InvalidTransactionId :
							   GetCurrentTransactionId(), cid);
		/* who swaps files afterwards does not ask for what is buffered for this one */
		if (options & TABLE_UPDATE_NO_LOGICAL)
			zswrite_flush(rel);
		if (logged)
			zswrite_log_update(rel, old_row_to_log(&old, identity, whole), slot, identity_changed,
							   &kept);

		/*
		 * people tell INSERT from UPDATE by RETURNING xmax = 0, since ON CONFLICT locks rows first
		 */
		zsslot_set_inserted(slot, GetCurrentTransactionId(), tmfd->xmax, cid);
	}
	drop_old_row(&old);
	if (kept.values != NULL)
		pfree(kept.values);
	bms_free(keys);
	bms_free(identity);
	return result;
}

/*
 * tuple_delete: result and *tmfd as heap_delete() has them.  Waits for other transactions with
 * wait; the caller holds no content lock.  options: TABLE_DELETE_*.
 */
TM_Result
zsam_tuple_delete(Relation rel, ItemPointer tid, CommandId cid, uint32 options, Snapshot snapshot,
				  Snapshot crosscheck, bool wait, TM_FailureData *tmfd)
{
	TM_Result	result;
	bool		logged;

	zsbase_require_preload();
	Assert(ItemPointerIsValid(tid));
	(void) GetCurrentTransactionId();
	logged = is_logged(rel, (options & TABLE_DELETE_NO_LOGICAL) != 0);
	zswrite_refuse_catalog(rel);
	result = zstid_delete(rel, zs_row_from_tid(tid), cid, crosscheck, wait, tmfd,
						  (options & TABLE_DELETE_CHANGING_PARTITION) != 0);
	if (result != TM_Ok)
		return result;
	zsscan_forget_version(rel, zs_row_from_tid(tid));
	zsscan_version_changed(rel, zs_row_from_tid(tid), InvalidTransactionId, cid);

	if (logged)
	{
		OldRow		old = {.rel = rel,.row = zs_row_from_tid(tid)};
		Bitmapset  *identity = identity_columns(rel, logged);

		zswrite_log_delete(rel, old_row_to_log(&old, identity, logs_whole_row(rel, logged)));
		drop_old_row(&old);
		bms_free(identity);
	}
	pgstat_count_heap_delete(rel);
	return TM_Ok;
}
