/*-------------------------------------------------------------------------
 *
 * tid_retire.c
 *	  Row numbers that will never be handed out.
 *
 * A segment has a value for each row number that it covers, and readers keep
 * copies of segments.  So a row number within a segment must not get a row
 * later: whoever covers row numbers that have none retires them first, under
 * the leaf's exclusive lock, where small inserts look for unused ones.
 *
 * Locks: one leaf at a time, shared to look, exclusively to change.
 *
 * WAL: XLOG_ZS_TID_CHANGE for each leaf.  A crash in between leaves some
 * retired: row numbers that are lost, which harms nobody.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_retire.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "tid_internal.h"
#include "zs_btree.h"
#include "zs_page.h"

/*
 * Calls fn for all rows of [first, end) in ascending runs, those that do not
 * exist included.  vis is a copy of the slot; NULL for the fixed slot numbers.
 * Nothing is locked meanwhile.
 */
void
zstid_visit_runs(Relation rel, zstid first, zstid end, ZsTidRunVisitor fn, void *arg)
{
	PGAlignedBlock copy;

	end = Min(end, ZS_MAX_ROW);
	while (first < end)
	{
		ZsTidWalk	walk;
		ZsTidRun	run;
		zstid		leaf_end;
		BlockNumber blkno;
		const char *reason;
		Buffer		buf;

		CHECK_FOR_INTERRUPTS();
		buf = zsbtree_search(rel, ZS_TREE_TID, first, BUFFER_LOCK_SHARE);
		if (!BufferIsValid(buf))
		{
			run.first = first;
			run.count = end - first;
			run.slotno = ZS_SLOT_UNUSED;
			fn(&run, NULL, arg);
			return;
		}
		memcpy(copy.data, BufferGetPage(buf), BLCKSZ);
		blkno = BufferGetBlockNumber(buf);
		UnlockReleaseBuffer(buf);

		reason = zstid_walk_begin(&walk, copy.data);
		leaf_end = Min(walk.limit, end);
		if (reason == NULL)
			zstid_walk_skip(&walk, first);
		while (reason == NULL && first < leaf_end && zstid_walk_next(&walk, &run, &reason))
		{
			zstid		run_end = Min(run.first + run.count, leaf_end);

			if (run_end <= first)
				continue;
			run.first = first;
			run.count = run_end - first;
			fn(&run, zstid_walk_slot(&walk, run.slotno), arg);
			first = run_end;
		}
		if (reason != NULL)
			zsbase_corrupted(rel, blkno, "TID tree leaf: %s.", reason);

		/* rows behind the last run */
		if (first < leaf_end)
		{
			run.first = first;
			run.count = leaf_end - first;
			run.slotno = ZS_SLOT_UNUSED;
			fn(&run, NULL, arg);
			first = leaf_end;
		}
	}
}

/* What rows of a range have. */
typedef struct RangeSlots
{
	bool		unused;
	bool		retired;
	bool		others;
} RangeSlots;

static void
note_run(const ZsTidRun *run, ZsVisSlot *vis, void *arg)
{
	RangeSlots *slots = arg;

	if (run->slotno == ZS_SLOT_UNUSED)
		slots->unused = true;
	else if (run->slotno == ZS_SLOT_RETIRED)
		slots->retired = true;
	else
		slots->others = true;
}

/* Same for rows of a locked leaf. */
static RangeSlots
look_at_rows(ZsTidTarget *target, zstid first, zstid end)
{
	RangeSlots	slots = {0};
	ZsTidWalk	walk;
	ZsTidRun	run;
	const char *reason = zstid_walk_begin(&walk, BufferGetPage(target->buf));

	if (reason == NULL)
		zstid_walk_skip(&walk, first);
	while (reason == NULL && first < end && zstid_walk_next(&walk, &run, &reason))
	{
		if (run.first + run.count <= first)
			continue;
		note_run(&run, NULL, &slots);
		first = run.first + run.count;
	}
	if (reason != NULL)
		zsbase_corrupted(target->rel, BufferGetBlockNumber(target->buf),
						 "TID tree leaf: %s.", reason);
	if (first < end)
		slots.unused = true;
	return slots;
}

/*
 * Retires the unused row numbers of [first, end); with all, only those of leaves where the
 * range has nothing else.  False if it stopped at such a leaf.
 */
static bool
retire_range(Relation rel, zstid first, zstid end, bool all)
{
	ZsTidTarget target;
	bool		result = true;

	zstid_target_init(&target, rel);
	while (first < end && result)
	{
		ZsTidChange change = {.op = ZS_TID_RETIRE, .first = first};
		RangeSlots	slots;
		zstid		part_end;

		CHECK_FOR_INTERRUPTS();
		if (!zstid_target_lock(&target, first, true))
			break;
		part_end = Min(ZsPageGetOpaque(BufferGetPage(target.buf))->hikey,
					   zstid_vm_page_end(first));
		part_end = Min(part_end, end);
		slots = look_at_rows(&target, first, part_end);
		if (all && slots.others)
			result = false;
		else if (slots.unused)
		{
			change.count = part_end - first;
			zstid_target_change(&target, &change);
		}
		zstid_target_unlock(&target);
		first = part_end;
	}
	zstid_target_release(&target);
	return result;
}

/*
 * Row numbers of [first, end) that are unused will never be handed out from
 * now on.  Of rows that the caller does not own: the stripe must have been
 * used, or a session may be about to insert rows that it reserved.
 */
void
zstid_retire_unused(Relation rel, zstid first, zstid end)
{
	RangeSlots	slots = {0};

	/* locking a leaf for a change costs it its mark of being all-frozen */
	zstid_visit_runs(rel, first, end, note_run, &slots);
	if (slots.unused)
		(void) retire_range(rel, first, end, false);
}

/*
 * As zstid_retire_unused(), but only if none of the row numbers has a row;
 * false if one has, or had until VACUUM comes by.  In that case some may be
 * retired nevertheless.
 */
bool
zstid_retire_gap(Relation rel, zstid first, zstid end)
{
	return retire_range(rel, first, end, true);
}
