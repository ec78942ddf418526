/*-------------------------------------------------------------------------
 *
 * tid_edit.c
 *	  Changes of a TID tree leaf in memory.
 *
 * A change is a small logical statement ("these rows were inserted by that
 * transaction"), and it is what WAL carries.  The session that makes it and
 * the process that replays it run the same functions of this file on the same
 * page, so these must be deterministic: the outcome depends on the page and
 * the statement, but not on hint bits, which a standby may have set otherwise.
 * Hence slots are compared without them.
 *
 * Two kinds of change exist: ZsTidChange gives one range of rows another slot;
 * ZsTidFold says for each slot of the leaf what becomes of it.
 *
 * tid_splice.c does the most frequent changes of this kind on the bytes of the
 * page.  This file is the definition: where both can do a change, the page must
 * say the same afterwards (fuzz/tid_leaf_fuzz.c compares them).
 *
 * Every function leaves a leaf that fulfils the invariants of tid_leaf.c.  No
 * locks, no memory allocation, no ereport.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_edit.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"

#include "tid_internal.h"

/* Bits that an updater, deleter or locker sets anew. */
#define XMAX_BITS2	(HEAP_KEYS_UPDATED | ZS_VIS2_UPDATED | ZS_VIS2_MOVED_PARTITION)

const ZsVisSlot zstid_frozen_slot = {
	.xmin = FrozenTransactionId,
	.infomask = HEAP_XMIN_FROZEN | HEAP_XMAX_INVALID
};

/*
 * Do two slots say the same, but for which rows are the successors of updated ones?  Hint bits
 * follow from the rest.
 */
bool
zstid_slots_alike(const ZsVisSlot *a, const ZsVisSlot *b)
{
	return a->xmin == b->xmin && a->xmax == b->xmax &&
		a->cmin == b->cmin && a->cmax == b->cmax &&
		(a->successor == b->successor || zstid_slot_has_successors(a)) &&
		((a->infomask ^ b->infomask) & ~ZS_VIS_HINT_BITS) == 0 &&
		a->infomask2 == b->infomask2;
}

/* How many rows with the slot number come before row, and behind it. */
uint64
zstid_leaf_rank(const ZsTidLeaf *leaf, int slotno, zstid row, uint64 *behind)
{
	uint64		before = 0;

	*behind = 0;
	for (int i = 0; i < leaf->nruns; i++)
	{
		const ZsTidRun *run = &leaf->runs[i];
		zstid		end = run->first + run->count;

		if (run->slotno != slotno)
			continue;
		if (run->first < row)
			before += Min(end, row) - run->first;
		if (end > row + 1)
			*behind += end - Max(run->first, row + 1);
	}
	return before;
}

/*
 * Number of the slot with these contents for a row, which is added if there is none.  A row with a
 * successor can only be the last one of a slot.
 */
static int
find_or_add_slot(ZsTidLeaf *leaf, const ZsVisSlot *slot, zstid row)
{
	for (int i = 0; i < leaf->nslots; i++)
	{
		uint64		behind;

		if (!zstid_slots_alike(&leaf->slots[i], slot))
			continue;
		if (!zstid_slot_has_successors(slot) ||
			(leaf->slots[i].successor +
			 (int64) zstid_leaf_rank(leaf, ZS_FIRST_REAL_SLOT + i, row,
									 &behind) == slot->successor &&
			 behind == 0))
			return ZS_FIRST_REAL_SLOT + i;
	}
	Assert(leaf->nslots < (int) lengthof(leaf->slots));
	leaf->slots[leaf->nslots++] = *slot;
	return ZS_FIRST_REAL_SLOT + leaf->nslots - 1;
}

/*
 * Row, in run i, is going to leave its slot, which has successors: those of the rows behind it must
 * stay what they are.  before: how many rows of the slot come before it.
 */
static void
detach_row(ZsTidLeaf *leaf, int i, zstid row, uint64 before)
{
	int			slotno = leaf->runs[i].slotno;
	ZsVisSlot  *slot = &leaf->slots[slotno - ZS_FIRST_REAL_SLOT];
	zstid		end = leaf->runs[i].first + leaf->runs[i].count;
	int			newno = ZS_FIRST_REAL_SLOT + leaf->nslots;

	if (before == 0)
	{
		slot->successor++;
		return;
	}

	Assert(leaf->nslots < (int) lengthof(leaf->slots));
	leaf->slots[leaf->nslots] = *slot;
	leaf->slots[leaf->nslots++].successor += before + 1;
	if (end > row + 1)
	{
		memmove(&leaf->runs[i + 1], &leaf->runs[i], (leaf->nruns - i) * sizeof(ZsTidRun));
		leaf->nruns++;
		leaf->runs[i].count = row + 1 - leaf->runs[i].first;
		leaf->runs[i + 1].first = row + 1;
		leaf->runs[i + 1].count = end - (row + 1);
	}
	for (int j = i + 1; j < leaf->nruns; j++)
	{
		if (leaf->runs[j].slotno == slotno)
			leaf->runs[j].slotno = newno;
	}
}

/* Removes slots that no run uses any more; keeps the order of the others. */
static void
drop_unused_slots(ZsTidLeaf *leaf)
{
	bool		used[ZS_TID_MAX_SLOTS + 2] = {false};
	uint16		newno[ZS_TID_MAX_SLOTS + 2];
	int			nslots = 0;

	for (int i = 0; i < leaf->nruns; i++)
	{
		if (leaf->runs[i].slotno >= ZS_FIRST_REAL_SLOT)
			used[leaf->runs[i].slotno - ZS_FIRST_REAL_SLOT] = true;
	}
	for (int i = 0; i < leaf->nslots; i++)
	{
		if (!used[i])
			continue;
		if (nslots < i)
			leaf->slots[nslots] = leaf->slots[i];
		newno[i] = ZS_FIRST_REAL_SLOT + nslots;
		nslots++;
	}
	if (nslots == leaf->nslots)
		return;
	leaf->nslots = nslots;
	for (int i = 0; i < leaf->nruns; i++)
	{
		if (leaf->runs[i].slotno >= ZS_FIRST_REAL_SLOT)
			leaf->runs[i].slotno = newno[leaf->runs[i].slotno - ZS_FIRST_REAL_SLOT];
	}
}

/* Merges neighbours with the same slot and cuts off unused rows at the end. */
static void
merge_runs(ZsTidLeaf *leaf)
{
	int			nruns = 0;

	for (int i = 0; i < leaf->nruns; i++)
	{
		if (nruns > 0 && leaf->runs[nruns - 1].slotno == leaf->runs[i].slotno)
			leaf->runs[nruns - 1].count += leaf->runs[i].count;
		else
			leaf->runs[nruns++] = leaf->runs[i];
	}
	if (nruns > 0 && leaf->runs[nruns - 1].slotno == ZS_SLOT_UNUSED)
		nruns--;
	leaf->nruns = nruns;
}

static inline zstid
run_end(const ZsTidRun *run)
{
	return run->first + run->count;
}

/* Index of the run that holds row; nruns if row lies behind the last run. */
static int
find_run(const ZsTidLeaf *leaf, zstid row)
{
	int			low = 0;
	int			high = leaf->nruns;

	while (low < high)
	{
		int			mid = (low + high) / 2;

		if (run_end(&leaf->runs[mid]) <= row)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Appends to a short list of runs, merging. */
static void
push_run(ZsTidRun *list, int *n, zstid first, uint64 count, int slotno)
{
	if (*n > 0 && list[*n - 1].slotno == slotno)
		list[*n - 1].count += count;
	else
	{
		list[*n].first = first;
		list[*n].count = count;
		list[*n].slotno = slotno;
		(*n)++;
	}
}

/*
 * Gives rows [first, first + count) the slot slotno.
 */
static void
set_range(ZsTidLeaf *leaf, zstid first, uint64 count, int slotno)
{
	zstid		last = first + count;
	ZsTidRun	list[5];
	int			n = 0;
	int			i = find_run(leaf, first);
	int			start = i;
	int			j;
	bool		slots_lost = false;

	Assert(count > 0 && first >= leaf->lokey && last <= leaf->hikey);

	if (i > 0)
	{
		start = i - 1;
		list[n++] = leaf->runs[start];
	}
	if (i < leaf->nruns)
	{
		if (leaf->runs[i].first < first)
			push_run(list, &n, leaf->runs[i].first, first - leaf->runs[i].first,
					 leaf->runs[i].slotno);
	}
	else
	{
		zstid		end = i > 0 ? run_end(&leaf->runs[i - 1]) : leaf->lokey;

		if (end < first)
			push_run(list, &n, end, first - end, ZS_SLOT_UNUSED);
	}
	push_run(list, &n, first, count, slotno);

	for (j = i; j < leaf->nruns && leaf->runs[j].first < last; j++)
	{
		if (leaf->runs[j].slotno >= ZS_FIRST_REAL_SLOT)
			slots_lost = true;
		if (run_end(&leaf->runs[j]) > last)
			break;
	}
	if (j < leaf->nruns)
	{
		zstid		rest = Max(last, leaf->runs[j].first);

		push_run(list, &n, rest, run_end(&leaf->runs[j]) - rest, leaf->runs[j].slotno);
		j++;
	}

	Assert(n <= 5);
	Assert(start + n + leaf->nruns - j <= (int) lengthof(leaf->runs));
	if (start + n != j)
		memmove(&leaf->runs[start + n], &leaf->runs[j],
				(leaf->nruns - j) * sizeof(ZsTidRun));
	memcpy(&leaf->runs[start], list, n * sizeof(ZsTidRun));
	leaf->nruns += start + n - j;

	if (leaf->nruns > 0 && leaf->runs[leaf->nruns - 1].slotno == ZS_SLOT_UNUSED)
		leaf->nruns--;
	if (slots_lost)
		drop_unused_slots(leaf);
}

/* Rows of the range that have the fixed slot `from` are retired, the others stay. */
static void
retire_rows(ZsTidLeaf *leaf, zstid first, uint64 count, int from)
{
	zstid		last = first + count;
	zstid		end = leaf->nruns > 0 ? run_end(&leaf->runs[leaf->nruns - 1]) : leaf->lokey;
	int			i;

	/* unused rows behind the last run */
	if (from == ZS_SLOT_UNUSED && end < last)
	{
		leaf->runs[leaf->nruns].first = end;
		leaf->runs[leaf->nruns].count = last - end;
		leaf->runs[leaf->nruns++].slotno = ZS_SLOT_UNUSED;
	}

	/* runs that reach out of the range are cut */
	i = find_run(leaf, first);
	if (i < leaf->nruns && leaf->runs[i].slotno == from && leaf->runs[i].first < first)
	{
		memmove(&leaf->runs[i + 1], &leaf->runs[i], (leaf->nruns - i) * sizeof(ZsTidRun));
		leaf->nruns++;
		leaf->runs[i].count = first - leaf->runs[i].first;
		i++;
		leaf->runs[i].first = first;
		leaf->runs[i].count -= leaf->runs[i - 1].count;
	}
	for (; i < leaf->nruns && leaf->runs[i].first < last; i++)
	{
		if (leaf->runs[i].slotno != from)
			continue;
		if (run_end(&leaf->runs[i]) > last)
		{
			memmove(&leaf->runs[i + 1], &leaf->runs[i],
					(leaf->nruns - i) * sizeof(ZsTidRun));
			leaf->nruns++;
			leaf->runs[i].count = last - leaf->runs[i].first;
			leaf->runs[i + 1].first = last;
			leaf->runs[i + 1].count -= leaf->runs[i].count;
		}
		leaf->runs[i].slotno = ZS_SLOT_RETIRED;
	}
	Assert(leaf->nruns <= (int) lengthof(leaf->runs));
	merge_runs(leaf);
}

/* Slot of a row that is updated, deleted or locked. */
static void
set_xmax(const ZsTidChange *change, ZsVisSlot *slot)
{
	slot->xmax = change->xid;
	slot->infomask = (slot->infomask & ~HEAP_XMAX_BITS) | change->infomask;
	if (change->op == ZS_TID_XMAX)
	{
		slot->infomask2 = (slot->infomask2 & ~XMAX_BITS2) | change->infomask2;
		slot->cmax = change->cid;
		slot->successor = zstid_slot_has_successors(slot) ? (int64) change->first +
			change->successor : 0;
		return;
	}

	slot->infomask2 = (slot->infomask2 & ~HEAP_KEYS_UPDATED) |
		(change->infomask2 & HEAP_KEYS_UPDATED);
	/* a row that is only locked has no successor; an updated one keeps it */
	if (HEAP_XMAX_IS_LOCKED_ONLY(change->infomask))
	{
		slot->infomask2 &= ~(ZS_VIS2_UPDATED | ZS_VIS2_MOVED_PARTITION);
		slot->cmax = 0;
		if ((slot->infomask2 & ZS_VIS2_SPECULATIVE) == 0)
			slot->successor = 0;
	}
}

/*
 * The slot that rows have after a change, which all had the slot old_slotno before (old: its
 * contents, if it is in the slot table, with the successor of the first of these rows).  *slotno is
 * a fixed number, or ZS_SLOT_IN_TABLE, and then *slot has the contents.  Returns NULL, or why these
 * rows cannot be changed so.
 */
const char *
zstid_edit_slot(const ZsTidChange *change, int old_slotno, const ZsVisSlot *old,
				ZsVisSlot *slot, int *slotno)
{
	bool		exists = old_slotno == ZS_SLOT_FROZEN || old_slotno >= ZS_FIRST_REAL_SLOT;

	*slotno = ZS_SLOT_IN_TABLE;
	switch (change->op)
	{
		case ZS_TID_INSERT:
			if (old_slotno != ZS_SLOT_UNUSED)
				return "row is in use already";
			if (change->xid == FrozenTransactionId)
			{
				*slotno = ZS_SLOT_FROZEN;
				return NULL;
			}
			memset(slot, 0, sizeof(ZsVisSlot));
			slot->xmin = change->xid;
			slot->cmin = change->cid;
			slot->infomask = HEAP_XMAX_INVALID;
			slot->infomask2 = change->token != 0 ? ZS_VIS2_SPECULATIVE : 0;
			slot->successor = change->token;
			return NULL;
		case ZS_TID_XMAX:
		case ZS_TID_LOCK:
			if (!exists || change->count != 1)
				return "there is no such row";
			*slot = old_slotno == ZS_SLOT_FROZEN ? zstid_frozen_slot : *old;
			set_xmax(change, slot);
			return NULL;
		case ZS_TID_CONFIRM:
			if (old_slotno < ZS_FIRST_REAL_SLOT || change->count != 1 ||
				(old->infomask2 & ZS_VIS2_SPECULATIVE) == 0)
				return "row was not inserted speculatively";
			*slot = *old;
			slot->infomask2 &= ~ZS_VIS2_SPECULATIVE;
			slot->successor = 0;
			return NULL;
		case ZS_TID_ASSIGN:
			if (old_slotno != ZS_SLOT_FROZEN || change->count != 1)
				return "there is no such frozen row";
			*slot = *change->slot;
			return NULL;
		case ZS_TID_KILL:
		case ZS_TID_RELEASE:
			if (old_slotno >= ZS_FIRST_REAL_SLOT && zstid_slot_has_successors(old))
				return "row has a successor";
			*slotno = change->op == ZS_TID_KILL ? ZS_SLOT_DEAD : ZS_SLOT_UNUSED;
			return NULL;
	}
	return "unknown operation";
}

/*
 * Applies a change of a range of rows.  Returns NULL, or why that is impossible;
 * the leaf is undefined then.
 */
const char *
zstid_edit_apply(ZsTidLeaf *leaf, const ZsTidChange *change)
{
	int			i;
	int			old_slotno = ZS_SLOT_UNUSED;
	ZsVisSlot	old;
	ZsVisSlot	slot;
	int			slotno;
	uint64		before = 0;		/* rows of the same slot, if that has successors */
	uint64		behind = 0;
	const char *reason;

	if (change->count == 0 || change->first < leaf->lokey ||
		change->first >= leaf->hikey || change->count > leaf->hikey - change->first)
		return "rows are outside of the page's key range";

	if (change->op == ZS_TID_REMOVE_DEAD || change->op == ZS_TID_RETIRE)
	{
		retire_rows(leaf, change->first, change->count,
					change->op == ZS_TID_RETIRE ? ZS_SLOT_UNUSED : ZS_SLOT_DEAD);
		return NULL;
	}

	i = find_run(leaf, change->first);
	if (i < leaf->nruns)
	{
		old_slotno = leaf->runs[i].slotno;
		if (old_slotno >= ZS_FIRST_REAL_SLOT)
		{
			old = leaf->slots[old_slotno - ZS_FIRST_REAL_SLOT];
			if (zstid_slot_has_successors(&old))
			{
				before = zstid_leaf_rank(leaf, old_slotno, change->first, &behind);
				old.successor += before;
			}
		}
		if (change->op == ZS_TID_INSERT &&
			change->first + change->count > run_end(&leaf->runs[i]))
			return "row is in use already";
	}
	reason = zstid_edit_slot(change, old_slotno, &old, &slot, &slotno);
	if (reason != NULL)
		return reason;

	/* what concerns several runs */
	for (int j = i + 1; j < leaf->nruns && leaf->runs[j].first < change->first + change->count; j++)
	{
		if (leaf->runs[j].slotno >= ZS_FIRST_REAL_SLOT &&
			zstid_slot_has_successors(&leaf->slots[leaf->runs[j].slotno - ZS_FIRST_REAL_SLOT]))
			return "row has a successor";
	}
	if (behind > 0)
		detach_row(leaf, i, change->first, before);
	if (slotno == ZS_SLOT_IN_TABLE)
		slotno = find_or_add_slot(leaf, &slot, change->first);
	set_range(leaf, change->first, change->count, slotno);
	return NULL;
}

/*
 * Applies the action for each slot.  Never makes the contents grow.
 */
void
zstid_edit_fold(ZsTidLeaf *leaf, const ZsTidFold *fold)
{
	uint16		newno[ZS_TID_MAX_SLOTS + 2];

	Assert(fold->nslots == leaf->nslots);
	for (int i = 0; i < leaf->nslots; i++)
	{
		newno[i] = ZS_FIRST_REAL_SLOT + i;
		if (fold->actions[i] == ZS_SLOTACT_FREEZE)
			newno[i] = ZS_SLOT_FROZEN;
		else if (fold->actions[i] == ZS_SLOTACT_KILL)
			newno[i] = ZS_SLOT_DEAD;
		else if (fold->actions[i] == ZS_SLOTACT_REPLACE)
		{
			leaf->slots[i] = fold->contents[i];
			if (leaf->slots[i].xmin == FrozenTransactionId)
				leaf->slots[i].cmin = 0;
			/* what belonged to an xmax that is gone */
			if (leaf->slots[i].xmax == InvalidTransactionId)
			{
				leaf->slots[i].cmax = 0;
				if ((leaf->slots[i].infomask2 & ZS_VIS2_SPECULATIVE) == 0)
					leaf->slots[i].successor = 0;
			}
		}
	}

	/* slots may have become equal; those with successors are as different as these */
	for (int i = 0; i < leaf->nslots && fold->nreplaced > 0; i++)
	{
		if (newno[i] < ZS_FIRST_REAL_SLOT || zstid_slot_has_successors(&leaf->slots[i]))
			continue;
		for (int j = 0; j < i; j++)
		{
			if (newno[j] == ZS_FIRST_REAL_SLOT + j &&
				zstid_slots_alike(&leaf->slots[i], &leaf->slots[j]))
			{
				newno[i] = newno[j];
				break;
			}
		}
	}

	for (int i = 0; i < leaf->nruns; i++)
	{
		if (leaf->runs[i].slotno >= ZS_FIRST_REAL_SLOT)
			leaf->runs[i].slotno = newno[leaf->runs[i].slotno - ZS_FIRST_REAL_SLOT];
	}
	merge_runs(leaf);
	drop_unused_slots(leaf);
}
