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

#include "executor/execdesc.h"
#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "nodes/pathnodes.h"

/* scan_projection.c */

extern void zsscan_projection_watch_table(RelOptInfo *rel, RangeTblEntry *rte);
extern void zsscan_projection_start(QueryDesc *queryDesc, int eflags);

/* scan_xmin_plan.c */

extern void zsscan_xmin_watch_query(Query *parse);

/* scan_mask.c */

extern void zsslot_set_needed(TupleTableSlot *slot, const Bitmapset *attnos,
							  bool all);
extern void zsslot_set_rechecked(TupleTableSlot *slot, const Bitmapset *attnos);

#endif							/* ZS_PROJECTION_H */
