/*-------------------------------------------------------------------------
 *
 * scan_stage.c
 *	  Slots of a loader, which hold their rows together as columns.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_stage.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/rel.h"

#include "zs_slot.h"
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
	if (first->stage != NULL)
		return;
	context = slots[0]->tts_mcxt;
	first->stage = zswrite_stage_create(RelationGetDescr(rel), nslots + nslots / 4, context);
	first->stage_row = 0;
	for (int i = 1; i < nslots; i++)
	{
		ZsSlot	   *zslot = (ZsSlot *) slots[i];

		/* the stage goes with the memory of its slots */
		if (!TTS_IS_ZEDSTORE(slots[i]) || slots[i]->tts_mcxt != context || zslot->stage != NULL)
			break;
		zswrite_stage_join(first->stage);
		zslot->stage = first->stage;
		zslot->stage_row = i;
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

		if (!TTS_IS_ZEDSTORE(slots[n]) || !zslot->staged || zslot->stage_row != n)
			break;
		if (n == 0)
			*stage = zslot->stage;
		else if (zslot->stage != *stage || zslot->stage_group != ((ZsSlot *) slots[0])->stage_group)
			break;
	}
	return n;
}
