/*-------------------------------------------------------------------------
 *
 * zs_zone.h
 *	  What a condition says about the values of one column, in the zone domain of zs_codec.h.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_zone.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_ZONE_H
#define ZS_ZONE_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/primnodes.h"

struct ParamListInfoData;

/* Images low .. high, both included. */
typedef struct ZsZoneRange
{
	int64		low;
	int64		high;
} ZsZoneRange;

/*
 * Values that may pass a condition.  What is not in the set does not pass; what is may pass or not.
 * Ranges ascend and do not overlap.
 */
typedef struct ZsZoneSet
{
	bool		nulls;			/* NULL may pass */
	uint32		nranges;
	ZsZoneRange *ranges;
} ZsZoneSet;

/* A set has no more ranges: neighbours are taken together. */
#define ZS_ZONE_MAX_RANGES	1024

/* scan_zone_set.c */

extern bool zsscan_zone_set_meets(const ZsZoneSet *set, int64 min, int64 max);

/* scan_zone_clause.c */

extern bool zsscan_zone_set_of(TupleDesc desc, Index varno, AttrNumber attno, Node *clause,
							   struct ParamListInfoData *params, ZsZoneSet *set);
extern bool zsscan_zone_image(TupleDesc desc, AttrNumber attno, Datum value, int64 *low,
							  int64 *high);

#endif							/* ZS_ZONE_H */
