/*-------------------------------------------------------------------------
 *
 * zs_wal.h
 *	  The WAL resource manager.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_wal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_WAL_H
#define ZS_WAL_H

#include "postgres.h"

/* Registers the resource manager; only while shared libraries are preloaded. */
extern void zswal_rmgr_init(void);

#endif							/* ZS_WAL_H */
