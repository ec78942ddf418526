/*-------------------------------------------------------------------------
 *
 * write_insert.c
 *	  INSERT, COPY and UPDATE of the table access method.
 *
 * Each row takes one of three ways.  The first row of a command is written at once if it is a
 * simple one (write_single.c).  The others get a row number (write_reserve.c) and wait in the
 * table's write buffer: as columns where the number is in a stripe of our own, else as an item for
 * the row tree.  What is larger than an item may be needs a stripe of its own.
 *
 * An UPDATE checks the old version, inserts the new one, and marks the old one last: a crash or an
 * error in between leaves a row that nobody sees, but no successor that is not there.  If the mark
 * fails, the new row leaves the buffer again, and its number goes back.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_insert.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/predicate.h"
#include "storage/proc.h"
#include "utils/rel.h"

#include "write_internal.h"
#include "zs_page.h"
#include "zs_tid.h"

/* From this many rows in one call on a loader gets stripes of its own. */
#define BULK_ROWS	64

/* Rows are in the buffer to stay.  Writes what it is full of. */
static void
write_if_full(Relation rel, ZsWriteBuffer *buf)
{
	while (unlikely(zswrite_columns_full(buf)))
	{
		if (buf->nrows < ZSWRITE_PART_ROWS && zswrite_buffer_make_room(buf))
			continue;
		zswrite_write_columns(rel, buf, true);
		break;
	}
	zswrite_buffer_check_limit(rel, buf);
}

/*
 * The same for the last rows of a call.  Writes all if the table wants that, or nobody else is
 * going to.
 */
static void
end_insert(Relation rel, ZsWriteBuffer *buf)
{
	if (buf->write_through || zswrite_committing)
		zswrite_flush(rel);
	else
		write_if_full(rel, buf);
}

static void
check_may_insert(Relation rel)
{
	zsbase_require_preload();
	zswrite_refuse_catalog(rel);
	if (IsParallelWorker())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot insert tuples in a parallel worker")));
}

/*
 * The transaction that rows are inserted by, with these TABLE_INSERT_* options:
 * FrozenTransactionId for COPY FREEZE, else the current one, which gets its xid
 * now.
 */
static TransactionId
inserter(uint32 options)
{
	return (options & TABLE_INSERT_FROZEN) ? FrozenTransactionId : GetCurrentTransactionId();
}

/* Rows that a call brings, and how they are to be written. */
typedef struct NewRows
{
	Relation	rel;
	TupleTableSlot **slots;
	int			nslots;
	const ZsRowStage *stage;	/* has the first nstaged of them, too; NULL with 0 */
	int			nstaged;
	const ZsKeptValues *kept;	/* what the one row shares, or NULL */
	TransactionId xid;
	TransactionId xmin;			/* whose rows they are, if xid says that they are frozen, too */
	CommandId	cid;
	bool		bulk;			/* into stripes of our own at once */
} NewRows;

/*
 * Reserves row numbers for the rows behind the first `done`, at least one, and appends them to the
 * buffer.  Returns how many rows that was; they have consecutive numbers, and *first is the first.
 */
static int
insert_rows(ZsWriteBuffer *buf, const NewRows *rows, int done, zstid *first)
{
	Relation	rel = rows->rel;
	TupleTableSlot **slots = rows->slots + done;
	int			nstaged = Max(rows->nstaged - done, 0);
	bool		keeps = rows->kept != NULL && rows->kept->n > 0;
	bool		bulk = rows->bulk;
	bool		owned;
	zstid		row;
	int			n = 1;

	Assert(done < rows->nslots && rows->nstaged <= rows->nslots);
	Assert(rows->kept == NULL || (rows->nslots == 1 && !bulk));

	zswrite_end_unnumbered(rel, buf);

	/* a row that is too wide for the row tree needs stripes of its own */
	if (!bulk && (keeps || !(buf->reserved.owned && buf->reserved.next < buf->reserved.end &&
							 buf->xid == rows->xid && buf->cid == rows->cid)))
		bulk = !zswrite_fits_item(rel, slots[0]);
	keeps = keeps && !bulk;
	row = zswrite_reserve_row(rel, buf, rows->xid, rows->cid, slots[0], bulk, keeps, &owned);

	/* only now, because forming an item may write large values to overflow pages */
	if (owned)
	{
		if (!zswrite_columns_accept(rel, buf, row))
			zswrite_write_columns(rel, buf, false);
		n = (int) Min((uint64) (nstaged > 0 ? nstaged : rows->nslots - done),
					  1 + (buf->reserved.end - buf->reserved.next));
		if (nstaged > 0)
			n = zswrite_append_staged(rel, buf, row, rows->stage, done, n, rows->xmin);
		else
			n = zswrite_append_columns(rel, buf, row, slots, n, rows->xmin);
		buf->reserved.next += n - 1;
		Assert(buf->reserved.next <= buf->reserved.end);
	}
	else
	{
		MinimalTuple item = zswrite_form_item(rel, buf->context, slots[0], rows->xmin,
											  keeps ? rows->kept : NULL, true);

		zswrite_append_item(buf, row, item);
		if (keeps)
			zswrite_keep_remember(buf, row, rows->kept);
	}
	for (int i = 0; i < n; i++)
	{
		zs_tid_from_row(row + i, &slots[i]->tts_tid);
		slots[i]->tts_tableOid = RelationGetRelid(rel);
	}
	*first = row;
	return n;
}

/*
 * As insert_rows(), for a load whose rows wait without numbers (zswrite_begin_unnumbered()); the
 * slots' TIDs are not valid then.
 */
static int
insert_unnumbered(ZsWriteBuffer *buf, const NewRows *rows, int done)
{
	Relation	rel = rows->rel;
	TupleTableSlot **slots = rows->slots + done;
	int			nstaged = Max(rows->nstaged - done, 0);
	int			n = nstaged > 0 ? nstaged : rows->nslots - done;
	zstid		row;

	Assert(rows->kept == NULL && done < rows->nslots);
	/* only after an error was it left full */
	if (unlikely(buf->nrows == ZSWRITE_PART_ROWS))
		zswrite_write_columns(rel, buf, true);
	row = buf->first + buf->nrows;
	if (nstaged > 0)
		n = zswrite_append_staged(rel, buf, row, rows->stage, done, n, rows->xmin);
	else
		n = zswrite_append_columns(rel, buf, row, slots, n, rows->xmin);
	buf->nunnumbered += n;
	for (int i = 0; i < n; i++)
	{
		ItemPointerSetInvalid(&slots[i]->tts_tid);
		slots[i]->tts_tableOid = RelationGetRelid(rel);
	}
	return n;
}

/* Rows behind the first `done` into the buffer, at least one; returns how many that was. */
static int
add_rows(ZsWriteBuffer *buf, const NewRows *rows, int done)
{
	zstid		row;

	if (rows->bulk && zswrite_begin_unnumbered(rows->rel, buf, rows->xid, rows->cid))
		return insert_unnumbered(buf, rows, done);
	return insert_rows(buf, rows, done, &row);
}

/*
 * Reserves a row number for the slot's row, visible as "insert in progress" to
 * others from now on, and keeps the values in the write buffer.  Sets
 * slot->tts_tid.  options: TABLE_INSERT_*.  bulk: the caller is a bulk loader, which gets stripes
 * of its own, and whose rows may do without numbers for the time being (write_reserve.c).
 */
void
zswrite_insert(Relation rel, TupleTableSlot *slot, CommandId cid, uint32 options, bool bulk)
{
	NewRows		rows = {.rel = rel, .slots = &slot, .nslots = 1, .cid = cid, .bulk = bulk};
	ZsWriteBuffer *buf;

	check_may_insert(rel);
	CheckForSerializableConflictIn(rel, NULL, InvalidBlockNumber);
	rows.xid = inserter(options);
	rows.xmin = GetCurrentTransactionId();
	if (!bulk && zswrite_insert_single(rel, slot, rows.xid, cid))
	{
		zswrite_log_insert(rel, &slot, 1, NULL, 0, options);
		pgstat_count_heap_insert(rel, 1);
		return;
	}
	buf = zswrite_buffer(rel);
	(void) add_rows(buf, &rows, 0);
	zswrite_count_rows(buf, 1);
	end_insert(rel, buf);
	zswrite_log_insert(rel, &slot, 1, NULL, 0, options);
	pgstat_count_heap_insert(rel, 1);
}

/*
 * Writes a row of another table as a frozen one, into stripes of our own: the new file of a table
 * that is rewritten.  xmin: the transaction that wrote the row there, as the table shows it.
 */
void
zswrite_copy_row(Relation rel, TupleTableSlot *slot, CommandId cid, TransactionId xmin)
{
	NewRows		rows = {
		.rel = rel,
		.slots = &slot,
		.nslots = 1,
		.xid = FrozenTransactionId,
		.xmin = xmin,
		.cid = cid,
		.bulk = true
	};
	ZsWriteBuffer *buf;

	check_may_insert(rel);
	buf = zswrite_buffer(rel);
	(void) add_rows(buf, &rows, 0);
	zswrite_count_rows(buf, 1);
	end_insert(rel, buf);
	pgstat_count_heap_insert(rel, 1);
}

/*
 * zswrite_insert() for many rows.  Those of the first nstaged slots are the
 * first ones of a stage as well, which may be NULL with 0.
 */
void
zswrite_multi_insert(Relation rel, TupleTableSlot **slots, int ntuples,
					 const ZsRowStage *stage, int nstaged, CommandId cid, uint32 options, bool bulk)
{
	NewRows		rows = {
		.rel = rel,
		.slots = slots,
		.nslots = ntuples,
		.stage = stage,
		.nstaged = nstaged,
		.cid = cid
	};
	ZsWriteBuffer *buf;

	check_may_insert(rel);
	CheckForSerializableConflictIn(rel, NULL, InvalidBlockNumber);
	rows.xid = inserter(options);
	rows.xmin = GetCurrentTransactionId();
	buf = zswrite_buffer(rel);

	/* a short COPY is no bulk load, unless it is the end of one */
	rows.bulk = bulk && (ntuples >= BULK_ROWS ||
						 ((buf->reserved.owned || buf->nunnumbered > 0) &&
						  buf->xid == rows.xid && buf->cid == cid));
	for (int done = 0; done < ntuples;)
	{
		int			n = add_rows(buf, &rows, done);

		zswrite_count_rows(buf, n);
		done += n;
		if (done == ntuples)
			end_insert(rel, buf);
		else
			write_if_full(rel, buf);
	}
	zswrite_log_insert(rel, slots, ntuples, stage, nstaged, options);
	pgstat_count_heap_insert(rel, ntuples);
}

/* Inserts speculatively: the row is written through at once. */
void
zswrite_insert_speculative(Relation rel, TupleTableSlot *slot, CommandId cid, uint32 options,
						   uint32 token)
{
	TransactionId xid;
	MinimalTuple item;
	zstid		row;

	check_may_insert(rel);
	CheckForSerializableConflictIn(rel, NULL, InvalidBlockNumber);
	xid = inserter(options);
	item = zswrite_form_simple_item(rel, slot, xid);
	if (item == NULL)
	{
		if (!zswrite_fits_item(rel, slot))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("row is too wide for INSERT ... ON CONFLICT into a zedstore table"),
					 errhint("Use columns of variable length, which may be stored apart from the row.")));
		item = zswrite_form_item(rel, CurrentMemoryContext, slot, xid, NULL, true);
	}

	/* others compare their rows with ours before we commit: write it now */
	row = zswrite_insert_item(rel, item, xid, cid, token);
	ZS_INJECTION_POINT("zs-write-speculative");
	pfree(item);
	zs_tid_from_row(row, &slot->tts_tid);
	slot->tts_tableOid = RelationGetRelid(rel);
	pgstat_count_heap_insert(rel, 1);
}

/* ---- UPDATE -------------------------------------------------------------------- */

/*
 * tuple_update of the table access method; lockmode is LockTupleExclusive when
 * a key that foreign keys may refer to changes, else LockTupleNoKeyExclusive.
 */
TM_Result
zswrite_update(Relation rel, ItemPointer otid, TupleTableSlot *slot, CommandId cid,
			   Snapshot crosscheck, bool wait, LockTupleMode lockmode, ZsKeptValues *kept,
			   TM_FailureData *tmfd, TU_UpdateIndexes *update_indexes)
{
	zstid		oldrow = zs_row_from_tid(otid);
	NewRows		rows = {
		.rel = rel,
		.slots = &slot,
		.nslots = 1,
		.kept = kept,
		.xid = GetCurrentTransactionId(),
		.xmin = GetCurrentTransactionId(),
		.cid = cid
	};
	ZsWriteBuffer *buf;
	zstid		newrow;
	TM_Result	result;

	zsbase_require_preload();
	zswrite_refuse_catalog(rel);
	if (IsInParallelMode())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot update tuples during a parallel operation")));
	*update_indexes = TU_None;
	if (zswrite_update_single(rel, oldrow, slot, cid, crosscheck, wait, lockmode, kept, tmfd,
							  &result))
	{
		if (result == TM_Ok)
		{
			pgstat_count_heap_update(rel, false, false);
			*update_indexes = TU_All;
		}
		return result;
	}
	result = zstid_update_check(rel, oldrow, cid, crosscheck, wait, lockmode, tmfd);
	if (result != TM_Ok)
		return result;

	zswrite_keep_find(kept, rel, slot);

	/* the new version first: a successor that is not there would be corruption */
	buf = zswrite_buffer(rel);
	(void) insert_rows(buf, &rows, 0, &newrow);
	Assert(newrow != oldrow);
	ZS_INJECTION_POINT("zs-write-new-version");
	result = zstid_mark_updated(rel, oldrow, newrow, cid, crosscheck, wait, lockmode, tmfd);
	if (result != TM_Ok)
	{
		buf = zswrite_buffer(rel);
		zswrite_pop(buf, newrow);
		zstid_release_rows(rel, &newrow, newrow + 1);
		return result;
	}
	zswrite_count_rows(buf, 1);
	end_insert(rel, buf);
	pgstat_count_heap_update(rel, false, false);
	*update_indexes = TU_All;
	return TM_Ok;
}
