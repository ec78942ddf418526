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

/*
 * Of a column with more segments a plan in the making is told nothing: it would take longer than a
 * plan may.  So many of their heads are read.
 */
#define ZS_PLANNED_SEGMENTS		20000
#define ZS_PLANNED_HEADS		3

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
extern bool zsscan_order_depth(Relation rel, AttrNumber attno, double *depth, double *row_share);

/* ---- scan_share.c ---- */

extern double zsscan_share_left(Relation rel, Index varno, List *clauses);

#endif							/* ZS_DEPTH_H */
