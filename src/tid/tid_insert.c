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
#include "utils/inval.h"
#include "utils/rel.h"

#include "tid_internal.h"
#include "zs_btree.h"
#include "zs_page.h"

/* Where this backend inserted last, per table and cursor. */
typedef struct CursorCache
{
	RelFileLocator locator;
	Oid			relid;			/* InvalidOid = entry is free */
	int			cursorno;
	zstid		stripe;
	zstid		next;			/* rows of the stripe before are taken */
} CursorCache;

#define CURSOR_CACHE_SIZE	32

static CursorCache cursor_cache[CURSOR_CACHE_SIZE];
static bool callback_registered = false;

/* Forgets the cursors of a table, or of all with InvalidOid. */
static void
forget_cursors(Datum arg, Oid relid)
{
	for (int i = 0; i < CURSOR_CACHE_SIZE; i++)
	{
		if (!OidIsValid(relid) || cursor_cache[i].relid == relid)
			cursor_cache[i].relid = InvalidOid;
	}
}

void
zstid_forget_cursors(Relation rel)
{
	forget_cursors((Datum) 0, RelationGetRelid(rel));
}

/* The cache entry for a cursor; its stripe is invalid when nothing is known. */
static CursorCache *
find_cursor(Relation rel, int cursorno)
{
	CursorCache *cache;

	if (!callback_registered)
	{
		CacheRegisterRelcacheCallback(forget_cursors, (Datum) 0);
		callback_registered = true;
	}
	cache = &cursor_cache[(RelationGetRelid(rel) * 31 + cursorno) % CURSOR_CACHE_SIZE];
	if (cache->relid != RelationGetRelid(rel) || cache->cursorno != cursorno ||
		!RelFileLocatorEquals(cache->locator, rel->rd_locator))
	{
		cache->relid = RelationGetRelid(rel);
		cache->cursorno = cursorno;
		cache->locator = rel->rd_locator;
		cache->stripe = cache->next = ZS_INVALID_ROW;
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
 * ZS_INVALID_ROW if there is none.
 */
static zstid
find_unused(ZsTidTarget *target, zstid start, zstid end, uint64 *count)
{
	ZsTidWalk	walk;
	ZsTidRun	run;
	const char *reason = zstid_walk_begin(&walk, BufferGetPage(target->buf));

	if (reason == NULL)
	{
		zstid_walk_skip(&walk, start);
		while (zstid_walk_next(&walk, &run, &reason))
		{
			zstid		run_end = Min(run.first + run.count, end);

			if (run.slotno == ZS_SLOT_UNUSED && run_end > start && run.first < end)
			{
				start = Max(run.first, start);
				*count = run_end - start;
				return start;
			}
			if (run.first >= end)
				return ZS_INVALID_ROW;
		}
	}
	if (reason != NULL)
		zsbase_corrupted(target->rel, BufferGetBlockNumber(target->buf),
						 "TID tree leaf: %s.", reason);

	/* rows behind the last run */
	start = Max(walk.row, start);
	if (start >= end)
		return ZS_INVALID_ROW;
	*count = end - start;
	return start;
}

/*
 * Takes unused rows of [*start, end), one leaf at a time; *start is advanced
 * over leaves without any.  Returns how many rows were taken, from *start on.
 */
static uint32
take_rows(ZsTidTarget *target, zstid *start, zstid end, ZsTidChange *change, uint32 nwanted)
{
	while (*start < end)
	{
		zstid		leaf_end;
		zstid		row;
		uint64		count;

		CHECK_FOR_INTERRUPTS();
		zstid_target_lock(target, *start, true);
		leaf_end = Min(end, step_end(target, *start));
		row = find_unused(target, *start, leaf_end, &count);
		if (row != ZS_INVALID_ROW)
		{
			Assert(row >= *start && row + count <= leaf_end);
			CheckForSerializableConflictIn(target->rel, NULL, InvalidBlockNumber);
			change->first = row;
			change->count = Min(count, nwanted);
			zstid_target_change(target, change);
			zstid_target_unlock(target);
			ZS_INJECTION_POINT("zs-tid-insert-small");
			*start = row;
			return (uint32) change->count;
		}
		zstid_target_unlock(target);
		*start = leaf_end;
	}
	return 0;
}

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
	CursorCache *cache = find_cursor(rel, cursorno);
	zstid		stripe = cache->stripe;
	zstid		start = cache->next;
	uint32		ntaken;

	Assert(nwanted > 0 && cursorno >= 0 && cursorno < ZS_INSERT_CURSORS);
	zstid_target_init(&target, rel);
	if (stripe == ZS_INVALID_ROW)
		start = stripe = zspage_cursor_stripe(rel, cursorno, ZS_INVALID_ROW);

	for (;;)
	{
		if (stripe != ZS_INVALID_ROW)
		{
			Assert(stripe % ZS_STRIPE_ROWS == 0);
			ntaken = take_rows(&target, &start, stripe + ZS_STRIPE_ROWS, &change, nwanted);
			if (ntaken > 0)
				break;
		}
		/* full, or there is none yet; another session may have been faster */
		start = stripe = zspage_cursor_stripe(rel, cursorno, stripe);
	}
	zstid_target_release(&target);
	*first = start;

	/* an invalidation may have emptied the entry meanwhile */
	cache = find_cursor(rel, cursorno);
	cache->stripe = stripe;
	cache->next = start + ntaken;
	return ntaken;
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
		CursorCache *cache = &cursor_cache[i];

		if (cache->relid == RelationGetRelid(rel) && cache->next == end &&
			first >= cache->stripe && first < cache->stripe + ZS_STRIPE_ROWS &&
			RelFileLocatorEquals(cache->locator, rel->rd_locator))
			cache->next = first;
	}
}

void
zstid_release_rows(Relation rel, zstid first, uint32 count)
{
	ZsTidTarget target;
	zstid		row = first;
	zstid		end = first + count;

	step_back(rel, first, end);
	zstid_target_init(&target, rel);
	while (row < end)
	{
		ZsTidChange change = {.op = ZS_TID_RELEASE, .first = row};

		if (!zstid_target_lock(&target, row, false))
			elog(ERROR, "could not find TID tree leaf of row " UINT64_FORMAT, row);
		change.count = Min(end, step_end(&target, row)) - row;
		zstid_target_change(&target, &change);
		zstid_target_unlock(&target);
		ZS_INJECTION_POINT("zs-tid-release");
		row += change.count;
	}
	zstid_target_release(&target);
}
