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

#include "replication/decode.h"

/* wal_rmgr.c */

extern void zswal_rmgr_init(void);

/* wal_decode.c */

/* What logical decoding makes of a record: see the definition. */
extern void zswal_decode(LogicalDecodingContext *ctx, XLogRecordBuffer *buf);

#endif							/* ZS_WAL_H */
