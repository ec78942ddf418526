/*-------------------------------------------------------------------------
 *
 * zs_vacuum.h
 *	  VACUUM of zedstore tables.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_vacuum.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_VACUUM_H
#define ZS_VACUUM_H

#include "postgres.h"

#include "commands/vacuum.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "zs_base_sort.h"

/* vacuum_main.c */

extern void zsvacuum_relation(Relation rel, const struct VacuumParams *params,
							  BufferAccessStrategy strategy);

/* vacuum_estimate.c */

/* What sorting the table would make of a column. */
typedef struct ZsSortEstimate
{
	double		row_bytes;		/* in segments, a row */
	double		vector_depth;	/* so many vectors lie over a value, on average; 1 in order */
} ZsSortEstimate;

extern bool zsvacuum_estimate_sort(Relation rel, const ZsSortKey *keys, int nkeys,
								   ZsSortEstimate *estimates);

#endif							/* ZS_VACUUM_H */
