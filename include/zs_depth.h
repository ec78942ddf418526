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

#include "utils/rel.h"

/* scan_depth.c */

extern bool zsscan_order_depth(Relation rel, AttrNumber attno, double *depth, double *row_share);

#endif							/* ZS_DEPTH_H */
