/*-------------------------------------------------------------------------
 *
 * tid_insert.c
 *	  New rows.
 *
 * Bulk writers own aligned stripes and insert them as one run.  Small inserts
 * share open stripes, one per cursor; the session takes row numbers under the
 * lock of the leaf that holds them.  Where a session found room last it looks
 * first next time: a small cache per backend, which may be wrong, since what
 * counts is read under the lock.
 *
 * Row numbers taken in advance and not filled go back (zstid_release_rows()) before
 * the transaction ends.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_insert.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"

#include "tid_internal.h"
#include "zs_btree.h"
#include "zs_page.h"

#define CURSOR_CACHE_SIZE	32

static ZsTidCursor cursor_cache[CURSOR_CACHE_SIZE];
static bool listening = false;

/* Forgets the cursors of a table, or of all with InvalidOid. */
static void
forget_cursors(Oid relid)
{
	for (int i = 0; i < CURSOR_CACHE_SIZE; i++)
	{
		if (!OidIsValid(relid) || cursor_cache[i].relid == relid)
			cursor_cache[i].relid = InvalidOid;
	}
}

/*
 * Forgets what this backend knows about the table's open stripes.  To be
 * called when the file is emptied in place.
 */
void
zstid_forget_cursors(Relation rel)
{
	forget_cursors(RelationGetRelid(rel));
}

/* The cache entry for a cursor; its stripe is invalid when nothing is known. */
ZsTidCursor *
zstid_cursor_find(Relation rel, int cursorno)
{
	ZsTidCursor *cache;

	if (!listening)
	{
		zsbase_listen_relcache(forget_cursors);
		listening = true;
	}
	cache = &cursor_cache[(RelationGetRelid(rel) * 31 + cursorno) % CURSOR_CACHE_SIZE];
	if (cache->relid != RelationGetRelid(rel) || cache->cursorno != cursorno ||
		!RelFileLocatorEquals(cache->locator, rel->rd_locator))
	{
		cache->relid = RelationGetRelid(rel);
		cache->cursorno = cursorno;
		cache->locator = rel->rd_locator;
		cache->stripe = cache->next = ZS_INVALID_ROW;
		cache->leaf = 0;
	}
	return cache;
}

/*
 * End of the rows that one change that starts at row can be about: the leaf's
 * end, or that of the visibility map page.
 */
static zstid
step_end(ZsTidTarget *target, zstid row)
{
	ZsPageOpaque *opaque = ZsPageGetOpaque(BufferGetPage(target->buf));

	return Min(opaque->hikey, zstid_vm_page_end(row));
}

/*
 * Rows [first, first + count), unused until now, become rows of transaction
 * xid, command cid.  With xid = FrozenTransactionId they are visible to
 * everyone at once (COPY FREEZE).  Clears visibility map bits.  WAL-logged
 * where the relation is. The caller owns the row numbers
 * (zspage_reserve_rows()).
 */
void
zstid_insert_rows(Relation rel, zstid first, uint32 count, TransactionId xid, CommandId cid)
{
	ZsTidTarget target;
	zstid		row = first;
	zstid		end = first + count;

	Assert(count > 0 && end <= ZS_MAX_ROW);
	zstid_target_init(&target, rel);
	while (row < end)
	{
		ZsTidChange change = {.op = ZS_TID_INSERT, .first = row, .xid = xid, .cid = cid};

		CHECK_FOR_INTERRUPTS();
		zstid_target_lock(&target, row, true);
		CheckForSerializableConflictIn(rel, NULL, InvalidBlockNumber);
		change.count = Min(end, step_end(&target, row)) - row;
		zstid_target_change(&target, &change);
		zstid_target_unlock(&target);
		ZS_INJECTION_POINT("zs-tid-insert-stripes");
		row += change.count;
		Assert(row <= end);
	}
	zstid_target_release(&target);
}

/*
 * First unused row of [start, end) in the locked leaf, and how many follow it.  Returns
 * ZS_INVALID_ROW if there is none.  The target remembers where the row is.
 */
zstid
zstid_find_unused(ZsTidTarget *target, zstid start, zstid end, uint64 *count)
{
	Page		page = BufferGetPage(target->buf);
	ZsTidWalk	walk;
	ZsTidWalk	before;			/* in front of the run that was read last */
	ZsTidRun	run;
	const char *reason = zstid_walk_begin(&walk, page);

	/* so that the run before the one looked for is passed, too */
	if (reason == NULL && start > walk.row)
		zstid_walk_seek(&walk, PageGetLSN(page), start - 1);
	before = walk;
	target->near = walk;
	while (reason == NULL && walk.row < end && zstid_walk_next(&walk, &run, &reason))
	{
		zstid		run_end = Min(run.first + run.count, end);

		if (run.slotno == ZS_SLOT_UNUSED && run_end > start)
		{
			start = Max(run.first, start);
			*count = run_end - start;
			if (run.first < start)
				target->near = before;
			target->near_row = start;
			return start;
		}
		target->near = before;
		before = walk;
	}
	if (reason != NULL)
		zsbase_corrupted(target->rel, BufferGetBlockNumber(target->buf),
						 "TID tree leaf: %s.", reason);

	/* rows behind the last run */
	start = Max(walk.row, start);
	if (start >= end)
		return ZS_INVALID_ROW;
	*count = end - start;
	target->near_row = start;
	return start;
}

/*
 * Finds unused rows of [*start, end), one leaf at a time, and makes the change be about up to
 * nwanted of them; their leaf stays locked.  *start is advanced over leaves without any.
 */
static bool
lock_unused(ZsTidTarget *target, zstid *start, zstid end, ZsTidChange *change, uint32 nwanted)
{
	while (*start < end)
	{
		zstid		leaf_end;
		zstid		row;
		uint64		count;

		CHECK_FOR_INTERRUPTS();
		zstid_target_lock(target, *start, true);
		leaf_end = Min(end, step_end(target, *start));
		row = zstid_find_unused(target, *start, leaf_end, &count);
		if (row != ZS_INVALID_ROW)
		{
			Assert(row >= *start && row + count <= leaf_end);
			change->first = row;
			change->count = Min(count, nwanted);
			return true;
		}
		zstid_target_unlock(target);
		*start = leaf_end;
	}
	return false;
}

/*
 * Takes up to nwanted unused rows of the cursor's stripe for a change, which says the rest.  With
 * keep_lock the change is not made: the leaf stays locked for the caller to do so.  Otherwise the
 * target is let go.
 */
void
zstid_take_rows(Relation rel, int cursorno, uint32 nwanted, ZsTidChange *change,
				ZsTidTarget *target, bool keep_lock)
{
	ZsTidCursor *cache = zstid_cursor_find(rel, cursorno);
	zstid		stripe = cache->stripe;
	zstid		start = cache->next;
	BlockNumber leaf;

	Assert(nwanted > 0 && cursorno >= 0 && cursorno < ZS_INSERT_CURSORS);
	zstid_target_init(target, rel);
	if (stripe == ZS_INVALID_ROW)
		start = stripe = zspage_cursor_stripe(rel, cursorno, ZS_INVALID_ROW);

	for (;;)
	{
		if (stripe != ZS_INVALID_ROW)
		{
			Assert(stripe % ZS_STRIPE_ROWS == 0);
			if (lock_unused(target, &start, stripe + ZS_STRIPE_ROWS, change, nwanted))
				break;
		}
		/* full, or there is none yet; another session may have been faster */
		start = stripe = zspage_cursor_stripe(rel, cursorno, stripe);
	}
	leaf = BufferGetBlockNumber(target->buf);
	CheckForSerializableConflictIn(rel, NULL, InvalidBlockNumber);
	if (!keep_lock)
	{
		zstid_target_change(target, change);
		zstid_target_release(target);
		ZS_INJECTION_POINT("zs-tid-insert-small");
	}

	/* an invalidation may have emptied the entry meanwhile */
	cache = zstid_cursor_find(rel, cursorno);
	cache->stripe = stripe;
	cache->next = change->first + change->count;
	cache->leaf = leaf;
}

/*
 * Takes up to nwanted adjacent unused row numbers from the open stripe of
 * cursor cursorno and makes them rows of xid, cid; a full stripe is replaced
 * by a new one.  Returns how many (at least 1), *first the first.
 * *stripe_is_fresh (may be NULL): no other row was ever taken from the stripe.
 * speculative_token != 0: a speculative insertion.
 */
uint32
zstid_insert_small(Relation rel, int cursorno, uint32 nwanted, TransactionId xid,
				   CommandId cid, uint32 speculative_token, zstid *first)
{
	ZsTidTarget target;
	ZsTidChange change = {
		.op = ZS_TID_INSERT,
		.xid = xid,
		.cid = cid,
		.token = speculative_token
	};

	zstid_take_rows(rel, cursorno, nwanted, &change, &target, false);
	*first = change.first;
	return (uint32) change.count;
}

/*
 * Rows [first, end) were not used after all: if they were taken last, they are
 * the next to be taken.
 */
static void
step_back(Relation rel, zstid first, zstid end)
{
	for (int i = 0; i < CURSOR_CACHE_SIZE; i++)
	{
		ZsTidCursor *cache = &cursor_cache[i];

		if (cache->relid == RelationGetRelid(rel) && cache->next == end &&
			first >= cache->stripe && first < cache->stripe + ZS_STRIPE_ROWS &&
			RelFileLocatorEquals(cache->locator, rel->rd_locator))
			cache->next = first;
	}
}

/*
 * Gives reserved row numbers [*first, end) back that were never filled nor
 * indexed.  They become unused, and may be another session's at once: *first
 * is advanced with each step, so that after an error the caller knows which
 * rows are still its own.
 */
void
zstid_release_rows(Relation rel, zstid *first, zstid end)
{
	ZsTidTarget target;

	step_back(rel, *first, end);
	zstid_target_init(&target, rel);
	while (*first < end)
	{
		ZsTidChange change = {.op = ZS_TID_RELEASE, .first = *first};

		if (!zstid_target_lock(&target, *first, false))
			elog(ERROR, "could not find TID tree leaf of row " UINT64_FORMAT, *first);
		change.count = Min(end, step_end(&target, *first)) - *first;
		zstid_target_change(&target, &change);
		*first += change.count;
		zstid_target_unlock(&target);
		ZS_INJECTION_POINT("zs-tid-release");
	}
	zstid_target_release(&target);
}
