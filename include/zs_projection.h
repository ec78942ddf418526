/*-------------------------------------------------------------------------
 *
 * zs_projection.h
 *	  The needed-column mask: tells scan slots which columns a plan looks at.
 *
 * Core's scan nodes ask a table for complete rows.  Two hooks find out what a
 * plan needs of them; the slots of zedstore tables carry it to the access
 * method.  See scan_projection.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_projection.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_PROJECTION_H
#define ZS_PROJECTION_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "nodes/bitmapset.h"

/* scan_projection.c */

/* Installs the planner hook and the executor hook, in front of others. */
extern void zsscan_projection_init(void);

/* scan_slot.c */

/*
 * Says which columns of a zedstore table the reader of this slot will look
 * at: the attribute numbers (from 1) in attnos, or all of them.  A slot that
 * was never told has all.  The slot copies the set.
 *
 * Implemented with the slot type.  What a copy or a materialized form of a
 * masked slot has in the other columns is up to the slot, but making it has to
 * be possible: an index scan ordered by an operator keeps copies of rows and
 * stores them back into the slot.
 */
extern void zsslot_set_needed(TupleTableSlot *slot, const Bitmapset *attnos,
							  bool all);

#endif							/* ZS_PROJECTION_H */
