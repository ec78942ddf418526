/*-------------------------------------------------------------------------
 *
 * zs_depth.h
 *	  How far a table is in the order of a column.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_depth.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_DEPTH_H
#define ZS_DEPTH_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "zs_codec.h"
#include "zs_format.h"

/* A plan in the making looks at so many index pages of a column at most, and at so many heads. */
#define ZS_PLANNED_PAGES		32
#define ZS_PLANNED_HEADS		3

/* Segments of a column: all of them, or those of some of its index pages. */
typedef struct ZsPlannedSegments
{
	ZsSegmentItem *items;		/* in the order of rows */
	int			n;
	double		weight;			/* so many segments does each stand for; at least 1 */
} ZsPlannedSegments;

/* Ranges of zone maps, of segments or of vectors; all zeros: none. */
typedef struct ZsZoneBounds
{
	int64	   *lower;			/* in any order; and so is upper, not that of the same range */
	int64	   *upper;
	Size		n;
	Size		max;			/* that there is room for */
} ZsZoneBounds;

/* ---- scan_depth.c ---- */

extern void zsscan_bounds_add(ZsZoneBounds *bounds, int64 lower, int64 upper);
extern void zsscan_bounds_add_vectors(ZsZoneBounds *bounds, const ZsSegmentInfo *info);
extern double zsscan_bounds_depth(ZsZoneBounds *bounds, Size *most);
extern void zsscan_planned_segments(Relation rel, AttrNumber attno, ZsPlannedSegments *segments);
extern bool zsscan_order_depth(Relation rel, AttrNumber attno, double *depth, double *row_share);

/* ---- scan_share.c ---- */

extern double zsscan_share_left(Relation rel, Index varno, List *clauses);

#endif							/* ZS_DEPTH_H */
