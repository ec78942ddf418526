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

/* vacuum_main.c */

extern void zsvacuum_relation(Relation rel, const struct VacuumParams *params,
							  BufferAccessStrategy strategy);

#endif							/* ZS_VACUUM_H */
