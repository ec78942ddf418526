/*-------------------------------------------------------------------------
 *
 * scan_mask.c
 *	  The masks of columns in slots.
 *
 * A slot of a scan node has one mask, or two: for rows whose conditions the node checks again, and
 * for the others.  A mask is an array of attribute numbers - 1 in ascending order.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_mask.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "scan_slot.h"
#include "zs_projection.h"

static void
free_masks(ZsSlot *slot)
{
	if (slot->needed != NULL)
		pfree(slot->needed);
	if (slot->others != NULL)
		pfree(slot->others);
	slot->needed = slot->others = NULL;
	slot->nneeded = -1;
	slot->rechecked = false;
}

/* The set as an array in the slot's memory; returns how many there are. */
static int
make_mask(TupleTableSlot *slot, const Bitmapset *attnos, AttrNumber **mask)
{
	int			attno = -1;
	int			n = 0;

	*mask = MemoryContextAlloc(slot->tts_mcxt,
							   Max(bms_num_members(attnos), 1) * sizeof(AttrNumber));
	while ((attno = bms_next_member(attnos, attno)) >= 0)
	{
		Assert(attno >= 1 && attno <= slot->tts_tupleDescriptor->natts);
		(*mask)[n++] = attno - 1;
	}
	Assert(n == bms_num_members(attnos));
	return n;
}

/*
 * Says which columns of a zedstore table the reader of this slot will look at:
 * the attribute numbers (from 1) in attnos, or all of them.  A slot that was
 * never told has all.  The slot copies the set.
 *
 * Implemented with the slot type.  What a copy or a materialized form of a
 * masked slot has in the other columns is up to the slot, but making it has to
 * be possible: an index scan ordered by an operator keeps copies of rows and
 * stores them back into the slot.
 */
void
zsslot_set_needed(TupleTableSlot *slot, const Bitmapset *attnos, bool all)
{
	ZsSlot	   *zslot = (ZsSlot *) slot;

	if (!TTS_IS_ZEDSTORE(slot))
		return;
	free_masks(zslot);
	if (!all)
		zslot->nneeded = make_mask(slot, attnos, &zslot->needed);
}

/*
 * Of rows whose conditions the reader checks again it looks at these columns, which are more than
 * those of zsslot_set_needed().
 */
void
zsslot_set_rechecked(TupleTableSlot *slot, const Bitmapset *attnos)
{
	ZsSlot	   *zslot = (ZsSlot *) slot;

	Assert(TTS_IS_ZEDSTORE(slot) && zslot->nneeded >= 0 && zslot->others == NULL);
	zslot->nothers = make_mask(slot, attnos, &zslot->others);
	Assert(zslot->nothers >= zslot->nneeded);
}

/* The place among the slot's needed columns of the first one that is not before column `first`. */
int
zsslot_find_needed(const ZsSlot *slot, int first)
{
	int			low = 0;
	int			high = slot->nneeded;

	if (first == 0)
		return 0;
	while (low < high)
	{
		int			mid = (low + high) / 2;

		if (slot->needed[mid] < first)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}
