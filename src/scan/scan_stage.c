/*-------------------------------------------------------------------------
 *
 * scan_stage.c
 *	  Slots of a loader, which hold their rows together as columns.
 *
 * COPY fills the same slots again and again, materializes each and hands over many of them at once.
 * Copies of rows, which become columns then, would be for nothing.  So these slots have a stage
 * (write_stage.c), to which a row's values go when the slot is materialized; they are not valid in
 * the slot any more until somebody asks.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_stage.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "scan_slot.h"
#include "zs_compat.h"
#include "zs_write.h"

/* Fewer slots than these are not worth a stage. */
#define STAGE_MIN_ROWS	64

/*
 * The loader fills these slots again and again, in this order: from now on
 * they keep their values in a stage where they can.  Does nothing if they do
 * that already.
 */
void
zsslot_use_stage(Relation rel, TupleTableSlot **slots, int nslots)
{
	ZsSlot	   *first;
	MemoryContext context;

	if (nslots < STAGE_MIN_ROWS || !TTS_IS_ZEDSTORE(slots[0]) || !zswrite_stage_helps(rel))
		return;
	first = (ZsSlot *) slots[0];
	if (first->load.stage != NULL)
		return;
	context = slots[0]->tts_mcxt;
	first->load.stage = zswrite_stage_create(RelationGetDescr(rel), nslots + nslots / 4, context);
	first->load.row = 0;
	for (int i = 1; i < nslots; i++)
	{
		ZsSlot	   *zslot = (ZsSlot *) slots[i];

		/* the stage goes with the memory of its slots */
		if (!TTS_IS_ZEDSTORE(slots[i]) || slots[i]->tts_mcxt != context ||
			zslot->load.stage != NULL)
			break;
		zswrite_stage_join(first->load.stage);
		zslot->load.stage = first->load.stage;
		zslot->load.row = i;
	}
}

/* How many of these slots, from the first on, are the first rows of *stage? */
int
zsslot_count_staged(TupleTableSlot **slots, int nslots, struct ZsRowStage **stage)
{
	int			n = 0;

	Assert(nslots >= 0);
	*stage = NULL;
	for (; n < nslots; n++)
	{
		ZsSlot	   *zslot = (ZsSlot *) slots[n];

		if (!TTS_IS_ZEDSTORE(slots[n]) || !zslot->load.staged || zslot->load.row != n)
			break;
		if (n == 0)
			*stage = zslot->load.stage;
		else if (zslot->load.stage != *stage ||
				 zslot->load.group != ((ZsSlot *) slots[0])->load.group)
			break;
	}
	return n;
}

/*
 * The slot has a stage: puts its row there, all of whose values are valid; they are not valid in
 * the slot after that.  False: the stage does not take it.
 */
bool
zsslot_load_add(ZsSlot *zslot)
{
	TupleTableSlot *slot = &zslot->base;
	ZsSlotLoad *load = &zslot->load;

	Assert(load->stage != NULL);
	if (TTS_SHOULDFREE(slot) || zslot->source != NULL ||
		slot->tts_nvalid != slot->tts_tupleDescriptor->natts ||
		!zswrite_stage_add(load->stage, load->row, slot->tts_values, slot->tts_isnull))
		return false;
	load->staged = true;
	load->group = zswrite_stage_group(load->stage);
	slot->tts_nvalid = 0;
	slot->tts_flags |= TTS_FLAG_SHOULDFREE;
	return true;
}

/* Makes the first natts attributes valid from the stage. */
void
zsslot_load_fill(ZsSlot *zslot, int natts)
{
	TupleTableSlot *slot = &zslot->base;
	ZsSlotLoad *load = &zslot->load;
	MemoryContext old = CurrentMemoryContext;

	Assert(load->stage != NULL && zslot->source == NULL);
	for (int i = slot->tts_nvalid; i < natts; i++)
	{
		if (ZsTupleDescShape(slot->tts_tupleDescriptor, i)->attbyval)
			continue;
		/* an index on integers should not make a context for each slot */
		MemoryContextSwitchTo(zsslot_values_context(zslot));
		break;
	}
	zswrite_stage_get(load->stage, load->group, load->row, slot->tts_nvalid, natts,
					  slot->tts_values, slot->tts_isnull);
	MemoryContextSwitchTo(old);
	slot->tts_nvalid = Max(slot->tts_nvalid, natts);
}

/* The slot goes; the last one to leave a stage frees it. */
void
zsslot_load_leave(ZsSlotLoad *load)
{
	if (load->stage != NULL)
		zswrite_stage_leave(load->stage);
	load->stage = NULL;
	load->staged = false;
}
