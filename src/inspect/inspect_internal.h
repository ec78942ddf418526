/*-------------------------------------------------------------------------
 *
 * inspect_internal.h
 *	  Private to src/inspect: helpers of the pg_zs_* functions.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/inspect_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INSPECT_INTERNAL_H
#define INSPECT_INTERNAL_H

#include "postgres.h"

#include "access/transam.h"
#include "fmgr.h"
#include "funcapi.h"
#include "storage/lockdefs.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "zs_attr.h"
#include "zs_base.h"
#include "zs_format.h"

/* attno as the functions show it: attribute trees are positive */
#define ZS_SHOWN_TID_TREE		0
#define ZS_SHOWN_ROW_TREE		(-1)

/* inspect_relation.c */

extern Relation zsinspect_open(Oid relid, LOCKMODE lockmode);
extern Datum zsinspect_tree_attno(uint16 treeno, bool *isnull);
extern Datum zsinspect_attname(Relation rel, int attno, bool *isnull);
extern char *zsinspect_slot_flags(uint16 slotno, const ZsVisSlot *vis);
extern ZsTreeEntry *zsinspect_tree_entries(Relation rel, const ZsMetaPageData *meta);

extern void zsinspect_count_extent(Relation rel, uint16 treeno, ZsExtent extent, uint64 *nextents);

/* inspect_segments.c */

extern bool zsinspect_column_is_readable(Relation rel, AttrNumber attno);
extern char *zsinspect_zone_text(Form_pg_attribute att, int64 zone);
extern double zsinspect_zone_place(const ZsAttrKind *kind, int64 zone);

/* Key or block number as the functions show it: the open ends are finite. */
static inline int64
zsinspect_shown_key(uint64 key)
{
	return (int64) Min(key, ZS_MAX_ROW);
}

static inline int64
zsinspect_shown_block(BlockNumber right)
{
	return right == 0 ? (int64) InvalidBlockNumber : (int64) right;
}

/* One more row of the function's result. */
static inline void
zsinspect_put(ReturnSetInfo *rsinfo, const Datum *values, const bool *nulls)
{
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

#endif							/* INSPECT_INTERNAL_H */
