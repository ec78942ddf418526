/*-------------------------------------------------------------------------
 *
 * page_rows.c
 *	  Row numbers: which are taken, and where small inserts go.
 *
 * Locks: the metapage, for the few instructions that read or change it, and
 * nothing else.
 *
 * WAL and crashes: row numbers are handed out by a record of their own before
 * rows with them are written; a crash in between leaves row numbers unused.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_rows.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "page_internal.h"
#include "zs_page.h"
#include "zs_walrec.h"

/* First row number never handed out: the table's logical end. */
uint64
zspage_next_row(Relation rel)
{
	Buffer		buf = zspage_lock_meta(rel, BUFFER_LOCK_SHARE);
	uint64		next_row = zspage_meta_data(BufferGetPage(buf))->next_row;

	UnlockReleaseBuffer(buf);
	return next_row;
}

/* Block numbers that TIDs of the table can have: those of its row numbers. */
BlockNumber
zspage_logical_blocks(Relation rel)
{
	return (BlockNumber) ((zspage_next_row(rel) + ZS_ROWS_PER_BLOCK - 1) / ZS_ROWS_PER_BLOCK);
}

/* Logs and applies new values; cursorno -1 = no cursor changes.  buf is exclusively locked. */
static void
update_meta(Relation rel, Buffer buf, uint64 next_row, int cursorno, uint64 cursor)
{
	ZsMetaPageData *meta = zspage_meta_data(BufferGetPage(buf));

	START_CRIT_SECTION();
	meta->next_row = next_row;
	if (cursorno >= 0)
		meta->cursors[cursorno] = cursor;
	MarkBufferDirty(buf);
	if (RelationNeedsWAL(rel))
	{
		xl_zs_page_meta xlrec = {
			.next_row = next_row,
			.cursor = cursor,
			.cursorno = cursorno
		};

		XLogBeginInsert();
		XLogRegisterData(&xlrec, SizeOfZsPageMeta);
		XLogRegisterBuffer(0, buf, REGBUF_STANDARD);
		PageSetLSN(BufferGetPage(buf), zspage_log_tree(XLOG_ZS_PAGE_META));
	}
	END_CRIT_SECTION();
}

/*
 * Moves next_row beyond nrows rows from the next stripe boundary, and cursor
 * cursorno (-1 = none) to them; returns the first.  buf is the metapage, exclusively locked.
 */
static uint64
hand_out_rows(Relation rel, Buffer buf, uint64 nrows, int cursorno)
{
	ZsMetaPageData *meta = zspage_meta_data(BufferGetPage(buf));
	uint64		first = TYPEALIGN64(ZS_STRIPE_ROWS, meta->next_row);

	Assert(nrows > 0 && nrows % ZS_STRIPE_ROWS == 0);
	if (first >= ZS_MAX_ROW || nrows > ZS_MAX_ROW - first)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("table \"%s\" has no row numbers left", RelationGetRelationName(rel)),
				 errhint("Rewrite the table with VACUUM FULL, or partition it.")));

	update_meta(rel, buf, first + nrows, cursorno, first);
	return first;
}

/*
 * Hands out nrows consecutive row numbers, the first aligned to
 * ZS_STRIPE_ROWS. ERRCODE_PROGRAM_LIMIT_EXCEEDED when the table is full.
 */
uint64
zspage_reserve_rows(Relation rel, uint64 nrows)
{
	Buffer		buf = zspage_lock_meta(rel, BUFFER_LOCK_EXCLUSIVE);
	uint64		first;

	first = hand_out_rows(rel, buf, TYPEALIGN64(ZS_STRIPE_ROWS, nrows), -1);
	UnlockReleaseBuffer(buf);
	ZS_INJECTION_POINT("zs-page-reserve-rows");
	return first;
}

/* Is the table's only stripe, the first, one that small inserts fill? */
static bool
first_stripe_is_open(const ZsMetaPageData *meta)
{
	if (meta->next_row != ZS_STRIPE_ROWS)
		return false;
	for (int i = 0; i < ZS_INSERT_CURSORS; i++)
	{
		if (meta->cursors[i] == 0)
			return true;
	}
	return false;
}

/*
 * Stripe that small inserts of cursor cursorno fill (0 .. ZS_INSERT_CURSORS -
 * 1).  When it is still old_stripe, or there is none, a new stripe is handed
 * out and recorded first.  Pass ZS_INVALID_ROW to ask only: then a cursor that
 * has none shares the first stripe of a table that has no other.
 */
uint64
zspage_cursor_stripe(Relation rel, int cursorno, uint64 old_stripe)
{
	Buffer		buf;
	uint64		stripe;

	Assert(cursorno >= 0 && cursorno < ZS_INSERT_CURSORS);

	/* asking is common, moving on is rare */
	buf = zspage_lock_meta(rel, BUFFER_LOCK_SHARE);
	stripe = zspage_meta_data(BufferGetPage(buf))->cursors[cursorno];
	if (stripe != ZS_INVALID_ROW && stripe != old_stripe)
	{
		UnlockReleaseBuffer(buf);
		return stripe;
	}

	/* a small table is filled in order, whoever inserts; only then sessions go apart */
	if (stripe == ZS_INVALID_ROW && old_stripe == ZS_INVALID_ROW &&
		first_stripe_is_open(zspage_meta_data(BufferGetPage(buf))))
	{
		UnlockReleaseBuffer(buf);
		return 0;
	}
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);

	LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
	stripe = zspage_meta_data(BufferGetPage(buf))->cursors[cursorno];
	if (stripe == ZS_INVALID_ROW || stripe == old_stripe)
		stripe = hand_out_rows(rel, buf, ZS_STRIPE_ROWS, cursorno);
	UnlockReleaseBuffer(buf);
	ZS_INJECTION_POINT("zs-page-cursor-stripe");
	return stripe;
}

/*
 * Points a cursor to a stripe that the caller owns and did not fill, so that
 * small inserts go on behind a bulk load.
 */
void
zspage_cursor_move(Relation rel, int cursorno, uint64 stripe)
{
	Buffer		buf = zspage_lock_meta(rel, BUFFER_LOCK_EXCLUSIVE);
	ZsMetaPageData *meta = zspage_meta_data(BufferGetPage(buf));

	Assert(cursorno >= 0 && cursorno < ZS_INSERT_CURSORS);
	Assert(stripe % ZS_STRIPE_ROWS == 0 && stripe < meta->next_row);
	if (meta->cursors[cursorno] != stripe)
		update_meta(rel, buf, meta->next_row, cursorno, stripe);
	UnlockReleaseBuffer(buf);
	ZS_INJECTION_POINT("zs-page-cursor-move");
}

/*
 * Gives rows [first, end) of an earlier reservation back if nothing was handed
 * out behind them since; otherwise returns false, and they are still the
 * caller's. first is aligned; the rows must be unused in the TID tree.
 */
bool
zspage_unreserve_rows(Relation rel, uint64 first, uint64 end)
{
	Buffer		buf;
	bool		last;

	Assert(first % ZS_STRIPE_ROWS == 0 && first <= end);
	if (first == end)
		return true;
	buf = zspage_lock_meta(rel, BUFFER_LOCK_EXCLUSIVE);
	last = zspage_meta_data(BufferGetPage(buf))->next_row == end;
	if (last)
		update_meta(rel, buf, first, -1, 0);
	UnlockReleaseBuffer(buf);
	ZS_INJECTION_POINT("zs-page-unreserve-rows");
	return last;
}
