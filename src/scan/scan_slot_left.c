/*-------------------------------------------------------------------------
 *
 * scan_slot_left.c
 *	  Slots and their sources, and what a slot keeps that its source leaves.
 *
 * A slot of heap pins the page of its row, so the row survives the end of the scan that found it.
 * A slot here keeps what was asked for, and where its row is: most callers that end a scan before
 * they let go of the slot look at nothing more (exclusion constraints), or at a column or two
 * (uniqueness that is checked later), of perhaps many.  Who does look has a snapshot or a lock that
 * keeps the row, as it has to have for the TOAST values of a heap.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_slot_left.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/datum.h"
#include "utils/memutils.h"

#include "scan_slot.h"
#include "zs_compat.h"

static ZsSlotFinder find_row = NULL;

/* Names who gives a slot that its source has left another one; for _PG_init. */
void
zsslot_find_by(ZsSlotFinder finder)
{
	find_row = finder;
}

/*
 * Gives a slot that its source has left one that has its row.  Errors: those of reading; the table
 * has another file.
 */
void
zsslot_find_left(ZsSlot *slot)
{
	Assert(slot->source == NULL && OidIsValid(slot->left.relid) && find_row != NULL);
	find_row(slot);
	Assert(slot->source != NULL && !OidIsValid(slot->left.relid));
}

/* Gives the slot, which has a row but no source, this one, which has no user. */
void
zsslot_attach(ZsSlot *slot, ZsSlotSource *source)
{
	Assert(slot->source == NULL && source->user == NULL);
	source->user = slot;
	slot->source = source;
	slot->left.relid = InvalidOid;
}

/* Copies the values that are valid into the slot's memory. */
static void
keep_valid(ZsSlot *zslot)
{
	TupleTableSlot *slot = &zslot->base;
	MemoryContext old = CurrentMemoryContext;

	for (int i = 0; i < slot->tts_nvalid; i++)
	{
		ZsAttrShape *att = ZsTupleDescShape(slot->tts_tupleDescriptor, i);

		if (att->attbyval || slot->tts_isnull[i])
			continue;
		MemoryContextSwitchTo(zsslot_values_context(zslot));
		slot->tts_values[i] = datumCopy(slot->tts_values[i], false, att->attlen);
	}
	MemoryContextSwitchTo(old);
}

/*
 * The source is about to forget the row: its user keeps what is valid and looks for the row again
 * when somebody asks for more, unless it is the slot of a scan node that projects columns
 * (zsslot_set_needed()); such a slot has none until its next row.
 */
void
zsslot_detach(ZsSlotSource *source)
{
	ZsSlot	   *user = source->user;

	if (user == NULL)
		return;
	Assert(user->source == source || user->source == NULL);

	/* a slot that was materialized before still counts as a user */
	if (user->source == source && !TTS_SHOULDFREE(&user->base))
	{
		if (user->nneeded >= 0 && !source->slot_keeps_values)
		{
			/*
			 * A scan node's own slot, which nobody else sees: the node has asked for its next row,
			 * or ends.  Whole rows would be decoded for nothing then, at each LIMIT.
			 */
			user->base.tts_nvalid = 0;
		}
		else
		{
			if (!source->slot_keeps_values)
				keep_valid(user);
			user->left.relid = source->relid;
			user->left.locator = source->locator;
		}
	}
	if (user->source == source)
		zsslot_unlink(user);
	source->user = NULL;
}

/* The same, when the row goes: its user keeps all values. */
void
zsslot_detach_values(ZsSlotSource *source)
{
	if (source->user != NULL && source->user->source == source)
		ExecMaterializeSlot(&source->user->base);
	zsslot_detach(source);
}

/* The slot's memory is about to be freed. */
static void
slot_is_gone(void *arg)
{
	zsslot_unlink((ZsSlot *) arg);
}

/*
 * The slot's source outlives commands: tell it when the slot's memory goes
 * without the slot having been cleared, as it does in a subtransaction that
 * fails.  For the row that is in the slot now.
 */
void
zsslot_watch(TupleTableSlot *slot)
{
	ZsSlot	   *zslot = (ZsSlot *) slot;

	Assert(TTS_IS_ZEDSTORE(slot) && zslot->source != NULL);
	if (zslot->memory.watched)
		return;
	/* a child of the slot's own context goes before the slot does, and is reset with each row */
	zslot->memory.gone.func = slot_is_gone;
	zslot->memory.gone.arg = zslot;
	MemoryContextRegisterResetCallback(zsslot_values_context(zslot), &zslot->memory.gone);
	zslot->memory.watched = true;
}

/*
 * The transaction ends: the source forgets its user, who is not looked at any
 * more.
 */
void
zsslot_abandon(ZsSlotSource *source)
{
	if (source->user != NULL)
		zsslot_unlink(source->user);
}
