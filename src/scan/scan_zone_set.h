/*-------------------------------------------------------------------------
 *
 * scan_zone_set.h
 *	  Sets of values in the zone domain, and the images of constants; private to src/scan.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_zone_set.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SCAN_ZONE_SET_H
#define SCAN_ZONE_SET_H

#include "postgres.h"

#include "zs_attr.h"
#include "zs_zone.h"

/* scan_zone_set.c */

extern void zsscan_set_none(ZsZoneSet *set, bool nulls);
extern void zsscan_set_range(ZsZoneSet *set, int64 low, int64 high);
extern void zsscan_set_all(ZsZoneSet *set, bool nulls);
extern bool zsscan_set_is_all(const ZsZoneSet *set);
extern void zsscan_set_normalize(ZsZoneSet *set);
extern void zsscan_set_append(ZsZoneSet *set, uint32 *room, const ZsZoneSet *other);
extern void zsscan_set_intersect(ZsZoneSet *set, const ZsZoneSet *other);

extern int64 zsscan_image_of_beginning(const uint8 *bytes, size_t len, uint8 rest);
extern void zsscan_set_compared(const ZsAttrKind *kind, Oid type, int strategy, Datum value,
								Oid value_type, ZsZoneSet *set);

#endif							/* SCAN_ZONE_SET_H */
