/*-------------------------------------------------------------------------
 *
 * write_reserve.c
 *	  Row numbers for new rows.
 *
 * A single INSERT (write_single.c) takes the next free row number of an open stripe, which it
 * shares with other sessions.  A command that goes on inserting reserves in
 * doubling steps and soon gets stripes of its own; bulk loaders get them at
 * once.  Rows in stripes of our own become segments directly, the others go
 * into the row tree.
 *
 * Reserved rows are in the TID tree as "insert in progress" from the moment of
 * reservation.  What was reserved and not used goes back before anybody reads the
 * table with our snapshot, and at the latest before commit.
 *
 * COPY FREEZE reserves rows as frozen.  The range they lie in is remembered, and gets its
 * bits in the visibility map when the buffer is flushed and nothing is reserved any more.
 *
 * An UPDATE whose rows share large values with their old versions (write_keep.c) stays with small
 * reservations for some time, since these rows go into the row tree.  Wide rows between them that
 * share nothing would leave a page for each large value there; so they get stripes of our own, and
 * reservations of both kinds are used side by side.
 *
 * Reservations divide a loader's rows into parts, since those of other sessions lie between.
 * Where nobody looks for a row before it is written, a bulk loader therefore has none: its rows
 * wait without numbers and get them when they are written, all of a part at once.  Indexes and
 * AFTER ROW triggers look; so does a serializable transaction's reader, which must find the row of
 * a writer that runs at the same time.  The slots of such rows have no valid TID.
 *
 * The tail of a bulk load's last stripe becomes the open stripe of the session's cursor, so that
 * rows that follow get the row numbers that follow.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_reserve.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/proc.h"

#include "write_internal.h"
#include "zs_page.h"
#include "zs_tid.h"

/* Rows of one command after which it gets stripes of its own. */
#define SMALL_ROWS		64

/*
 * Rows that follow one which must go into the row tree and go there too.  So a command that has
 * such rows now and then neither writes all others as rows, nor begins stripes again and again that
 * it hardly uses.
 */
#define ROWS_ONLY_RUN	(4 * ZS_STRIPE_ROWS)

/*
 * Factor from one reservation of stripes to the next.  When other sessions load too, each one
 * is a part of its own, and small parts make short runs of blocks.
 */
#define BULK_GROWTH		16

/* The cursor in the metapage whose open stripe takes this backend's small inserts. */
int
zswrite_cursor(void)
{
	Assert(MyProcNumber >= 0);
	return MyProcNumber % ZS_INSERT_CURSORS;
}

static void
reserve_small(Relation rel, ZsWriteBuffer *buf)
{
	ZsReserved *r = &buf->reserved;
	zstid		first;
	uint32		n = zstid_insert_small(rel, zswrite_cursor(), r->step, buf->xid, buf->cid, 0,
									   &first);

	Assert(n >= 1 && n <= r->step);
	Assert(first / ZS_STRIPE_ROWS == (first + n - 1) / ZS_STRIPE_ROWS);
	r->next = first;
	r->end = first + n;
	r->owned = false;
}

static void
reserve_stripes(Relation rel, ZsWriteBuffer *buf)
{
	ZsReserved *r = &buf->reserved;

	r->step = TYPEALIGN(ZS_STRIPE_ROWS, r->step);
	r->next = zspage_reserve_rows(rel, r->step);
	r->end = r->next + r->step;
	r->owned = true;
	Assert(r->next % ZS_STRIPE_ROWS == 0 && r->end <= ZS_MAX_ROW);
	zstid_insert_rows(rel, r->next, r->step, buf->xid, buf->cid);
}

/*
 * The next row, which may but need not go into the row tree, comes among rows that must.  Should it
 * become part of a column?  A narrow one is as good there.  The large values of a wide one would
 * take a page each, so after some of them stripes of our own are better.
 */
static bool
belongs_to_columns(Relation rel, ZsWriteBuffer *buf, TupleTableSlot *slot)
{
	Assert(buf->rows_only > 0);
	return zswrite_is_wide(rel, slot) && ++buf->nwide > SMALL_ROWS;
}

/* What is reserved of the other kind is used from now on, if anything is. */
static void
swap_reserved(ZsWriteBuffer *buf)
{
	ZsReserved	aside = buf->aside;

	Assert(aside.next >= aside.end || aside.owned != buf->reserved.owned);
	buf->aside = buf->reserved;
	buf->reserved = aside;
	buf->reserved.owned = !buf->aside.owned;
}

/*
 * Row number for the next row, which is in the slot; *owned tells where it must be stored.  bulk:
 * take stripes of our own at once.  rows_only: it must be stored in the row
 * tree, as some rows of this command that follow.
 */
zstid
zswrite_reserve_row(Relation rel, ZsWriteBuffer *buf, TransactionId xid, CommandId cid,
					TupleTableSlot *slot, bool bulk, bool rows_only, bool *owned)
{
	ZsReserved *r = &buf->reserved;
	bool		same_command = buf->xid == xid && buf->cid == cid;

	Assert(!(bulk && rows_only));
	if (rows_only)
	{
		if (buf->rows_only == 0 || !same_command)
			buf->nwide = 0;
		buf->rows_only = ROWS_ONLY_RUN;
	}
	else if (unlikely(buf->rows_only > 0))
	{
		buf->rows_only = same_command ? buf->rows_only - 1 : 0;
		if (buf->rows_only > 0 && !bulk)
			bulk = belongs_to_columns(rel, buf, slot);
	}
	if (same_command && buf->rows_only > 0 &&
		(r->owned ? rows_only || (!bulk && r->next >= r->end) : bulk))
		swap_reserved(buf);
	if (likely(same_command && r->next < r->end && (r->owned ? !rows_only : !bulk)))
	{
		*owned = r->owned;
		return r->next++;
	}

	if (!same_command || buf->rows_only == 0)
		zswrite_release_rows(rel, buf);
	Assert(r->next >= r->end);
	if (!same_command)
		r->step = zswrite_command_wrote_single(rel, xid, cid) ? 2 : 1;
	else if (r->step >= ZS_STRIPE_ROWS)
		r->step = Min(r->step * BULK_GROWTH, ZSWRITE_PART_ROWS);
	else
		r->step = Max(r->step * 2, 1);
	buf->xid = xid;
	buf->cid = cid;
	if (buf->rows_only > 0 && !bulk)
		r->step = Min(r->step, SMALL_ROWS);
	if (bulk || r->step > SMALL_ROWS)
		reserve_stripes(rel, buf);
	else
		reserve_small(rel, buf);
	if (xid == FrozenTransactionId)
	{
		buf->frozen_first = buf->frozen_end == 0 ? r->next : Min(buf->frozen_first, r->next);
		buf->frozen_end = Max(buf->frozen_end, r->end);
	}
	*owned = r->owned;
	Assert(r->next < r->end && (!bulk || *owned) && (!rows_only || !*owned));
	return r->next++;
}

/*
 * The subtransaction that the reserved row numbers belong to has ended, or they went back: there
 * are none.
 */
void
zswrite_forget_reserved(ZsWriteBuffer *buf)
{
	buf->reserved.next = buf->reserved.end = 0;
	buf->aside.next = buf->aside.end = 0;
}

/*
 * Gives back the row numbers that are reserved and not used: to
 * the stripe or, with whole stripes behind all others, to the table.  Others
 * of our own stripes are retired, the rest of the last one goes to a cursor.
 * After an error that a savepoint catches, what is left is still reserved.
 */
static void
release(Relation rel, ZsReserved *r)
{
	zstid		next = r->next;
	zstid		end = r->end;
	zstid		tail;

	if (next >= end)
		return;

	/*
	 * an error may be caught by a savepoint: what is left is still reserved then, and goes back
	 * later
	 */
	zstid_release_rows(rel, &r->next, end);

	/* steps double from what was used: a command that reads as it writes stays with small ones */
	r->step -= Min(r->step - 1, end - next);
	if (!r->owned)
		return;

	Assert(end % ZS_STRIPE_ROWS == 0);
	tail = TYPEALIGN64(ZS_STRIPE_ROWS, next);
	if (!zspage_unreserve_rows(rel, tail, end))
		zstid_retire_unused(rel, tail, end);
	if (tail != next)
		zspage_cursor_move(rel, zswrite_cursor(), tail - ZS_STRIPE_ROWS);
}

/* Gives back all row numbers that are reserved for the buffer and not used: release(). */
void
zswrite_release_rows(Relation rel, ZsWriteBuffer *buf)
{
	release(rel, &buf->aside);
	buf->aside.step = 0;
	release(rel, &buf->reserved);
}

/*
 * Segments of the rows before `end` were written.  Rows that would follow within their last stripe
 * cannot begin a part: gives their numbers back.
 */
void
zswrite_end_stripe(Relation rel, ZsWriteBuffer *buf, zstid end)
{
	zstid		tail = TYPEALIGN64(ZS_STRIPE_ROWS, end);
	const ZsReserved *r = &buf->reserved;
	const ZsReserved *aside = &buf->aside;

	if ((r->owned && r->next >= end && r->next < tail) ||
		(aside->owned && aside->next >= end && aside->next < tail))
		zswrite_release_rows(rel, buf);
}

/*
 * May the next rows of this bulk load, which belong to (xid, cid), wait in the column part without
 * numbers?  If so the part is ready for them.  Else rows that wait so get their numbers now.
 * Rows with numbers and rows without are not mixed, and neither are rows of several commands.
 */
bool
zswrite_begin_unnumbered(Relation rel, ZsWriteBuffer *buf, TransactionId xid, CommandId cid)
{
	const TriggerDesc *triggers = rel->trigdesc;
	bool		same_command = buf->xid == xid && buf->cid == cid;

	Assert(buf->nunnumbered <= buf->nrows);

	/* rows that have numbers do not keep those of this command from being sorted */
	if (!same_command && buf->nunnumbered == 0 && buf->nrows >= (uint32) zs_min_segment_rows &&
		zswrite_is_sorted_table(rel))
		zswrite_write_columns(rel, buf, false);
	if (zs_enable_late_row_numbers && xid != FrozenTransactionId &&
		!rel->rd_rel->relhasindex && !buf->write_through && !zswrite_committing &&
		(triggers == NULL || !triggers->trig_insert_after_row) && !IsolationIsSerializable() &&
		(buf->nunnumbered > 0 ? same_command :
		 buf->nrows == 0 && !(same_command && zswrite_has_reserved(buf))))
	{
		if (buf->nunnumbered == 0)
		{
			zswrite_release_rows(rel, buf);
			buf->xid = xid;
			buf->cid = cid;
			buf->reserved.step = 1;
			buf->rows_only = 0;
			buf->first = 0;
		}
		return true;
	}
	zswrite_end_unnumbered(rel, buf);
	return false;
}

/* Rows of the part that wait without numbers are sorted, and get them. */
void
zswrite_end_unnumbered(Relation rel, ZsWriteBuffer *buf)
{
	/* an error may have left some with and some without */
	if (buf->nunnumbered > 0 && buf->nunnumbered < buf->nrows)
		zswrite_write_columns(rel, buf, false);
	else if (buf->nunnumbered > 0)
	{
		zswrite_sort_columns(rel, buf);
		zswrite_number_rows(rel, buf, buf->nrows);
	}
}

/*
 * Gives the first nrows rows of a part without numbers theirs, in stripes of our own: all rows, or
 * whole stripes.  After an error that a savepoint catches, what was reserved goes back later.
 */
void
zswrite_number_rows(Relation rel, ZsWriteBuffer *buf, uint32 nrows)
{
	Assert(buf->nunnumbered > 0 && buf->nunnumbered == buf->nrows);
	Assert(nrows == buf->nrows || (nrows < buf->nrows && nrows % ZS_STRIPE_ROWS == 0));

	zswrite_release_rows(rel, buf);
	buf->reserved.step = nrows;
	reserve_stripes(rel, buf);
	buf->first = buf->reserved.next;
	buf->reserved.next += nrows;
	buf->nunnumbered -= nrows;
	ZS_INJECTION_POINT("zs-write-number");
	zswrite_release_rows(rel, buf);
}
