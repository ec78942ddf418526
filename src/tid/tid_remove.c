/*-------------------------------------------------------------------------
 *
 * tid_remove.c
 *	  VACUUM's second pass over the TID tree: dead rows are retired.
 *
 * The caller lists the rows whose index entries it removed.  In each leaf,
 * neighbouring runs of the list are put into one change as long as no other dead row lies
 * between them; so a leaf usually takes one WAL record, however many
 * rows died in it.
 *
 * Logical blocks that have no rows but frozen ones now get their visibility map bits.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_remove.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/visibilitymap.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "tid_internal.h"
#include "zs_page.h"

/* Changes that are prepared for one leaf before they are done. */
#define MAX_CHANGES		64

/* Ranges of visibility map bits set after one round in a leaf. */
#define MAX_VM_RANGES	512

/* One change, and where it begins in the caller's list. */
typedef struct PlannedChange
{
	ZsTidChange change;
	int			i;
	zstid		row;
	uint64		ndead;
} PlannedChange;

/* Reads the states of ascending rows of a locked leaf. */
typedef struct DeadCounter
{
	ZsTidWalk	walk;
	ZsTidRun	run;			/* the run that was read last */
	bool		have_run;
} DeadCounter;

/* Dead rows in [first, end); both ascend from call to call. */
static uint64
count_dead(ZsTidTarget *target, DeadCounter *counter, zstid first, zstid end)
{
	uint64		count = 0;
	const char *reason = NULL;

	for (;;)
	{
		if (counter->have_run)
		{
			zstid		run_end = counter->run.first + counter->run.count;

			if (counter->run.first >= end)
				break;
			if (counter->run.slotno == ZS_SLOT_DEAD && run_end > first)
				count += Min(run_end, end) - Max(counter->run.first, first);
			if (run_end >= end)
				break;
		}
		counter->have_run = zstid_walk_next(&counter->walk, &counter->run, &reason);
		if (!counter->have_run)
			break;
	}
	if (reason != NULL)
		zsbase_corrupted(target->rel, BufferGetBlockNumber(target->buf),
						 "TID tree leaf: %s.", reason);
	return count;
}

/*
 * Prepares changes for the rows of the list that lie before end.  *i and *row
 * say where the list goes on; they are advanced.  Returns the number of changes.
 */
static int
plan_changes(ZsTidTarget *target, const ZsTidRun *runs, int nruns, zstid end,
			 int *i, zstid *row, PlannedChange *plan)
{
	DeadCounter counter = {.have_run = false};
	int			nchanges = 0;
	const char *reason = zstid_walk_begin(&counter.walk, BufferGetPage(target->buf));

	if (reason != NULL)
		zsbase_corrupted(target->rel, BufferGetBlockNumber(target->buf),
						 "TID tree leaf: %s.", reason);
	while (*i < nruns && *row < end)
	{
		zstid		list_end = runs[*i].first + runs[*i].count;
		zstid		run_end = Min(list_end, end);
		PlannedChange *last = nchanges > 0 ? &plan[nchanges - 1] : NULL;
		uint64		ndead;

		if (last != NULL &&
			count_dead(target, &counter, last->change.first + last->change.count, *row) > 0)
			last = NULL;
		if (last == NULL && nchanges == MAX_CHANGES)
			break;

		ndead = count_dead(target, &counter, *row, run_end);
		if (ndead > 0 && last == NULL)
		{
			last = &plan[nchanges++];
			last->change = (ZsTidChange)
			{
				.op = ZS_TID_REMOVE_DEAD, .first = *row
			};
			last->i = *i;
			last->row = *row;
			last->ndead = 0;
		}
		if (ndead > 0)
		{
			last->change.count = run_end - last->change.first;
			last->ndead += ndead;
		}
		Assert(run_end > *row);
		*row = run_end;
		if (run_end == list_end && ++(*i) < nruns)
			*row = runs[*i].first;
	}
	return nchanges;
}

/* Sets bits for blocks around [first, end) that have no rows but frozen ones. */
static void
set_frozen_blocks(ZsTidTarget *target, zstid first, zstid end)
{
	uint8		slot_bits[ZS_FIRST_REAL_SLOT + ZS_TID_MAX_SLOTS] = {0};
	ZsTidVmRange ranges[MAX_VM_RANGES];
	int			nranges;

	slot_bits[ZS_SLOT_FROZEN] = slot_bits[ZS_SLOT_RETIRED] = VISIBILITYMAP_VALID_BITS;
	nranges = zstid_vm_ranges(BufferGetPage(target->buf), slot_bits,
							  first & ~(zstid) (ZS_ROWS_PER_BLOCK - 1),
							  TYPEALIGN64(ZS_ROWS_PER_BLOCK, end),
							  target->vmbuf, ranges, MAX_VM_RANGES);
	if (nranges > 0)
	{
		zstid_vm_set(target->rel, target->buf, target->vmbuf, ranges, nranges,
					 InvalidTransactionId);
		ZS_INJECTION_POINT("zs-tid-remove-vismap");
	}
}

/*
 * Second pass, after index cleanup: the dead rows of the runs are retired.
 * Runs ascend (slotno is not looked at): one WAL record per leaf where the
 * dead rows of the leaf are those of the list. Returns how many rows.
 */
uint64
zstid_remove_dead_runs(Relation rel, const ZsTidRun *runs, int nruns)
{
	ZsTidTarget target;
	PlannedChange plan[MAX_CHANGES];
	uint64		removed = 0;
	int			i = 0;
	zstid		row = nruns > 0 ? runs[0].first : 0;

	zstid_target_init(&target, rel);
	while (i < nruns)
	{
		zstid		start = row;
		zstid		end;
		int			nchanges;
		int			ndone;

		CHECK_FOR_INTERRUPTS();
		Assert(row >= runs[i].first && row < runs[i].first + runs[i].count);
		visibilitymap_pin(rel, zs_row_block(row), &target.vmbuf);
		if (!zstid_target_lock(&target, row, false))
			break;
		end = Min(ZsPageGetOpaque(BufferGetPage(target.buf))->hikey, zstid_vm_page_end(row));
		nchanges = plan_changes(&target, runs, nruns, end, &i, &row, plan);

		for (ndone = 0; ndone < nchanges; ndone++)
		{
			/* there was room for one; cutting runs of dead rows may have taken it */
			if (ndone > 0 &&
				zstid_leaf_free_space(BufferGetPage(target.buf)) < ZS_TID_MAX_GROWTH)
			{
				i = plan[ndone].i;
				row = plan[ndone].row;
				break;
			}
			zstid_target_change(&target, &plan[ndone].change);
			ZS_INJECTION_POINT("zs-tid-remove");
			removed += plan[ndone].ndead;
		}
		if (ndone > 0)
			set_frozen_blocks(&target, start, plan[ndone - 1].change.first +
							  plan[ndone - 1].change.count);
		zstid_target_unlock(&target);
	}
	zstid_target_release(&target);
	return removed;
}
