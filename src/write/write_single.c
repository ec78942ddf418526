/*-------------------------------------------------------------------------
 *
 * write_single.c
 *	  INSERT and UPDATE of one row, with one WAL record.
 *
 * A statement that writes one row and ends its transaction gains nothing from
 * the write buffer, and pays for it: the row number is logged when it is taken,
 * the row at commit, the old version's xmax in between.  Here the row goes
 * into the row tree, gets its visibility slot, and the old version gets
 * its xmax, in one step and one record.
 *
 * The first row that a command writes to a table takes this way; the rows that
 * follow go through the write buffer, so that commands with many rows are
 * written in groups.
 *
 * Both the TID leaves and the row leaf are locked meanwhile: this is the only
 * place where pages of two trees are.  The first lock, that of a TID leaf, is
 * waited for; the others are taken if they are free, and otherwise the row is
 * written in several steps (tid_single.c, row_single.c).  So there can be no
 * deadlock.
 *
 * WAL: XLOG_ZS_WRITE_ROW; nothing is left half done by a crash.  If the row shares large values
 * with the old one, XLOG_ZS_ATTR_SHARE before it (write_keep.c).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_single.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/rel.h"

#include "write_internal.h"
#include "zs_compat.h"
#include "zs_page.h"
#include "zs_tid.h"
#include "zs_walrec.h"

/* Rows that share more values than this go through the buffer, which pins them one by one. */
#define MAX_PINS	8

/*
 * Is this the first row that the command writes to the table?  Remembers the command, which
 * zswrite_command_forget() undoes.
 */
static bool
is_first_row(Relation rel, TransactionId xid, CommandId cid)
{
	if (zswrite_command_wrote_single(rel, xid, cid) || zswrite_command_has_rows(rel, xid, cid))
		return false;
	zswrite_command_remember(rel, xid, cid);
	return true;
}

/*
 * The slot's row as an item for the row tree, palloc'd, if that takes no more
 * than putting the values side by side; else NULL.  xmin as for zswrite_form_values().
 */
MinimalTuple
zswrite_form_simple_item(Relation rel, TupleTableSlot *slot, TransactionId xmin)
{
	TupleDesc	desc = RelationGetDescr(rel);
	MinimalTuple item;

	slot_getallattrs(slot);
	for (int i = 0; i < desc->natts; i++)
	{
		struct varlena *v = (struct varlena *) DatumGetPointer(slot->tts_values[i]);

		if (!slot->tts_isnull[i] && TupleDescAttr(desc, i)->attlen == -1 &&
			(VARATT_IS_EXTERNAL(v) || VARATT_IS_COMPRESSED(v) ||
			 VARSIZE_ANY(v) > ZS_ROW_MAX_ITEM))
			return NULL;
	}
	item = zsrow_form_item(desc, slot->tts_values, slot->tts_isnull,
						   zspage_keeps_xmin(rel) ? xmin : InvalidTransactionId);
	if (item->t_len <= ZS_ROW_MAX_ITEM)
		return item;
	pfree(item);
	return NULL;
}

/* Changes and logs all pages; nothing is pending afterwards. */
static void
write_pages(Relation rel, ZsTidPending *pending, ZsRowPlace *place)
{
	XLogRecPtr	lsn = InvalidXLogRecPtr;
	char		data[ZS_TID_MAX_SINGLE];

	Assert(CritSectionCount == 0);
	zstid_single_prepare(pending);
	START_CRIT_SECTION();
	zsrow_place_put(place);
	zstid_single_put(pending);
	if (RelationNeedsWAL(rel))
	{
		int			len;

		XLogBeginInsert();
		zsrow_place_register(place);
		len = zstid_single_register(pending, data);
		Assert(len > 0 && len <= (int) sizeof(data));
		XLogRegisterData(data, len);
		lsn = zspage_log_tree(XLOG_ZS_WRITE_ROW);
	}
	zstid_single_finish(pending, lsn);
	zsrow_place_finish(place, lsn);
	END_CRIT_SECTION();
	zsrow_place_end(place);
	zstid_single_end(pending);
	ZS_INJECTION_POINT("zs-write-row");
}

/*
 * Inserts an item of the row tree, which gets a row number of an open stripe;
 * returns that.
 */
zstid
zswrite_insert_item(Relation rel, MinimalTuple item, TransactionId xid, CommandId cid,
					uint32 token)
{
	zstid		row;
	ZsTidPending *pending = zstid_single_insert(rel, zswrite_cursor(), xid, cid,
												token, &row);
	ZsRowPlace	place;

	Assert(row < ZS_MAX_ROW && item->t_len <= ZS_ROW_MAX_ITEM);
	zsrow_item_set_row(item, row);
	if (pending != NULL && zsrow_place_find(rel, item, &place))
		write_pages(rel, pending, &place);
	else
	{
		int			ndone = 0;

		if (pending != NULL)
			zstid_single_apply_alone(pending);
		zsrow_insert(rel, &item, 1, &ndone);
	}
	return row;
}

/*
 * Inserts the slot's row, if it is the first one that the command writes to
 * the table, and a simple one; else returns false, with nothing done.
 */
bool
zswrite_insert_single(Relation rel, TupleTableSlot *slot, TransactionId xid, CommandId cid)
{
	MinimalTuple item;
	zstid		row;

	if (!TransactionIdIsNormal(xid) || !is_first_row(rel, xid, cid))
		return false;
	item = zswrite_form_simple_item(rel, slot, xid);
	if (item == NULL)
	{
		zswrite_command_forget();
		return false;
	}
	row = zswrite_insert_item(rel, item, xid, cid, 0);
	pfree(item);
	zs_tid_from_row(row, &slot->tts_tid);
	slot->tts_tableOid = RelationGetRelid(rel);
	return true;
}

/*
 * Writes the item as the new version of oldrow, *row, if that may be updated.
 */
static TM_Result
update_with_item(Relation rel, zstid oldrow, MinimalTuple item, CommandId cid, Snapshot crosscheck,
				 bool wait, LockTupleMode lockmode, const ZsKeptValues *kept, TM_FailureData *tmfd,
				 zstid *row)
{
	ZsTidPending *pending;
	ZsRowPlace	place;
	TM_Result	result;

	result = zstid_single_update(rel, oldrow, zswrite_cursor(), cid, crosscheck,
								 wait, lockmode, tmfd, row, &pending);
	if (result != TM_Ok)
		return result;
	if (pending != NULL)
	{
		Assert(*row != oldrow);
		zsrow_item_set_row(item, *row);
		if (zsrow_place_find(rel, item, &place))
		{
			zswrite_keep_share(kept, rel);
			write_pages(rel, pending, &place);
			return TM_Ok;
		}
		zstid_single_cancel(pending);
	}

	/* the row is checked; what remains to be done is the same as for a new row */
	zswrite_keep_share(kept, rel);
	*row = zswrite_insert_item(rel, item, GetCurrentTransactionId(), cid, 0);
	result = zstid_mark_updated(rel, oldrow, *row, cid, crosscheck, wait, lockmode, tmfd);
	if (result != TM_Ok)
	{
		/* nobody has seen it, and no index entry points to it */
		zsrow_delete_range(rel, *row, *row + 1);
		zswrite_keep_unshare(kept, rel);
		zstid_release_rows(rel, row, *row + 1);
	}
	return result;
}

/*
 * zswrite_update() for a row that can be written by itself: like
 * zswrite_insert_single().  *result is that of the update; false, with nothing
 * done, if the caller has to do it.
 */
bool
zswrite_update_single(Relation rel, zstid oldrow, TupleTableSlot *slot, CommandId cid,
					  Snapshot crosscheck, bool wait, LockTupleMode lockmode, ZsKeptValues *kept,
					  TM_FailureData *tmfd, TM_Result *result)
{
	TransactionId xid = GetCurrentTransactionId();
	MinimalTuple item;
	zstid		row;

	if (!is_first_row(rel, xid, cid))
		return false;
	item = zswrite_form_simple_item(rel, slot, xid);
	if (item == NULL)
	{
		zswrite_keep_find(kept, rel, slot);
		if (kept->n > 0 && kept->n <= MAX_PINS)
			item = zswrite_form_item(rel, CurrentMemoryContext, slot, xid, kept, false);
	}
	if (item == NULL)
	{
		zswrite_command_forget();
		return false;
	}

	/* pinned now, since leaves will be locked when they are counted */
	zswrite_keep_pin(kept, rel);
	*result = update_with_item(rel, oldrow, item, cid, crosscheck, wait, lockmode, kept, tmfd,
							   &row);
	zswrite_keep_unpin(kept);
	pfree(item);
	if (*result == TM_Ok)
	{
		zs_tid_from_row(row, &slot->tts_tid);
		slot->tts_tableOid = RelationGetRelid(rel);
	}
	return true;
}
