/*-------------------------------------------------------------------------
 *
 * scan_slot.h
 *	  What is in a slot of a zedstore table; private to src/scan.
 *
 * A slot does not hold a row but knows where to get it: a source (a scan's
 * present stripe, or a fetch by TID) decodes a column when somebody looks at it.
 * The source and the slot know each other; whichever goes first tells the other.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_slot.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SCAN_SLOT_H
#define SCAN_SLOT_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/memutils.h"

#include "zs_batch.h"
#include "zs_slot.h"
#include "zs_zone.h"

typedef struct ZsSlot ZsSlot;

/*
 * Where a slot's values come from.  fill() stores the values of attributes
 * first .. natts - 1 (counted from 0) of row slot->row into tts_values and
 * tts_isnull; with only_needed it may leave attributes outside slot->needed
 * alone.  By-reference values stay valid until the slot is cleared.
 */
typedef struct ZsSlotSource
{
	void		(*fill) (struct ZsSlotSource *source, ZsSlot *slot, int first, int natts,
						 bool only_needed);
	TransactionId (*xmin) (struct ZsSlotSource *source, ZsSlot *slot);	/* of a frozen row */
	/* sets slot->vis, of a row that was stored without it; NULL: cannot */
	bool		(*find_vis) (struct ZsSlotSource *source, ZsSlot *slot);
	ZsSlot	   *user;			/* the slot that reads from it now */
	bool		slot_keeps_values;	/* fill() puts by-reference values into the
									 * slot's memory.context */
	Oid			relid;			/* the table, and its file: a slot that the source leaves can */
	RelFileLocator locator;		/* find its row by them again */
} ZsSlotSource;

/*
 * A condition on a column: the values that may pass, or somebody who is asked.
 */
typedef struct ZsZoneFilter
{
	AttrNumber	attno;
	bool		is_unsigned;	/* the column's type is ordered so */
	ZsZoneSet	set;
	ZsZoneTest	test;			/* instead of that; NULL: nobody */
	void	   *arg;			/* of test */
} ZsZoneFilter;

/* Memory that a slot has for values. */
typedef struct ZsSlotMemory
{
	MemoryContext context;		/* large values fetched for this row; made when first needed */
	char	   *data;			/* values after materialization, kept for the next row's */
	Size		data_size;
	MemoryContextCallback gone; /* see zsslot_watch() */
	bool		watched;		/* that is registered */
} ZsSlotMemory;

/* Where the row of a slot is that its source has left. */
typedef struct ZsSlotLeft
{
	Oid			relid;			/* InvalidOid: it has a source, or all values */
	RelFileLocator locator;
} ZsSlotLeft;

/* A loader's slot: it and its neighbours hold their rows together, as columns (scan_stage.c). */
typedef struct ZsSlotLoad
{
	struct ZsRowStage *stage;	/* it belongs to all slots that point to it; NULL: no such slot */
	int			row;			/* the slot's place there */
	bool		staged;			/* values that are not valid are there */
	uint64		group;
} ZsSlotLoad;

struct ZsSlot
{
	TupleTableSlot base;

	/* the row: where its values come from, and who may see it */
	ZsSlotSource *source;		/* NULL: values are in the slot, or left says where */
	ZsSlotLeft	left;
	zstid		row;
	bool		has_vis;		/* vis is valid: system columns can be shown */
	ZsVisSlot	vis;

	/* what a scan node wants of all rows (scan_projection.c, scan_zone.c) */
	bool		no_vis;			/* system columns are not among it: rows may come without vis */
	int			nneeded;		/* -1: all columns */
	AttrNumber *needed;			/* attribute numbers - 1, ascending */
	AttrNumber *others;			/* the mask of other rows, see zsslot_recheck(); NULL: the same */
	int			nothers;
	bool		rechecked;		/* this is the mask of rows whose conditions are checked again */
	int			nfilters;		/* rows that fail them need not be returned */
	int			maxfilters;
	ZsZoneFilter *filters;
	MemoryContext filter_context;	/* of these; NULL: there were none yet */

	ZsSlotMemory memory;
	ZsSlotLoad	load;
};

/* Memory context for values that live as long as the row in the slot. */
static inline MemoryContext
zsslot_values_context(ZsSlot *slot)
{
	if (slot->memory.context == NULL)
		slot->memory.context = AllocSetContextCreate(slot->base.tts_mcxt, "zedstore slot values",
													 ALLOCSET_SMALL_SIZES);
	return slot->memory.context;
}

/*
 * To be called before a row is stored, of which the reader is going to check the conditions that it
 * was found by, or not.
 */
static inline void
zsslot_recheck(TupleTableSlot *slot, bool recheck)
{
	ZsSlot	   *zslot = (ZsSlot *) slot;
	AttrNumber *needed = zslot->needed;
	int			nneeded = zslot->nneeded;

	Assert(TTS_IS_ZEDSTORE(slot));
	if (likely(zslot->others == NULL || zslot->rechecked == recheck))
		return;
	zslot->rechecked = recheck;
	zslot->needed = zslot->others;
	zslot->nneeded = zslot->nothers;
	zslot->others = needed;
	zslot->nothers = nneeded;
}

/* Forgets the source, from both sides. */
static inline void
zsslot_unlink(ZsSlot *slot)
{
	if (slot->source != NULL)
	{
		Assert(slot->source->user == slot);
		slot->source->user = NULL;
		slot->source = NULL;
	}
}

/* scan_mask.c */

extern int	zsslot_find_needed(const ZsSlot *slot, int first);

/* scan_slot.c */

extern void zsslot_store(TupleTableSlot *slot, ZsSlotSource *source, zstid row,
						 const ZsVisSlot *vis);

/* scan_slot_left.c */

extern void zsslot_attach(ZsSlot *slot, ZsSlotSource *source);
extern void zsslot_detach(ZsSlotSource *source);
extern void zsslot_detach_values(ZsSlotSource *source);
extern void zsslot_watch(TupleTableSlot *slot);
extern void zsslot_abandon(ZsSlotSource *source);

/*
 * Gives a slot that its source has left another one (zsslot_attach()): somebody looks at a column
 * that is not valid.
 */
typedef void (*ZsSlotFinder) (ZsSlot *slot);
extern void zsslot_find_by(ZsSlotFinder finder);
extern void zsslot_find_left(ZsSlot *slot);

/* scan_xmin.c */

extern TransactionId zsslot_xmin(ZsSlot *slot);

/* scan_stage.c */

extern bool zsslot_load_add(ZsSlot *slot);
extern void zsslot_load_fill(ZsSlot *slot, int natts);
extern void zsslot_load_leave(ZsSlotLoad *load);

#endif							/* SCAN_SLOT_H */
