/*-------------------------------------------------------------------------
 *
 * zs_io.h
 *	  I/O workers: asynchronous, combined, direct writes of dirty shared
 *	  buffers beside an unmodified server.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_io.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_IO_H
#define ZS_IO_H

#include "postgres.h"

#include "storage/block.h"
#include "utils/relcache.h"

/* ---- settings (io_guc.c) ----------------------------------------------------- */

/*
 * Defines the settings zedstore.io_*.  To be called once, from _PG_init, before
 * the prefix is reserved.
 */
extern void zsio_guc_init(void);

/* ---- start of the server (io_shmem.c) ---------------------------------------- */

extern void zsio_init(void);

/* ---- turns of concurrent scans (io_arbiter.c) -------------------------------- */

extern bool zsio_scan_scheduling;

/*
 * A stream of reads ahead that takes its turn with those of other processes on the same
 * device.
 */
typedef struct ZsIoScan
{
	int			volume;			/* -1: not scheduled */
	double		remaining;		/* blocks, as told last */
} ZsIoScan;

extern void zsio_scan_open(ZsIoScan *scan, Oid tablespace);

/* An estimate of what there is to read, before the first is asked for. */
extern void zsio_scan_expect(ZsIoScan *scan, double remaining);
extern void zsio_scan_ask(ZsIoScan *scan, uint32 nblocks, double remaining);

/* May be called twice; part of error cleanup. */
extern void zsio_scan_close(ZsIoScan *scan);

/* ---- for the writers of tables and for VACUUM (io_handover.c) ---------------- */

extern void zsio_hand_over(Relation rel, const BlockNumber *blocks, int nblocks);
extern void zsio_vacuum_index(Relation index);

/* ---- the worker process (io_worker.c) ---------------------------------------- */

/* Entry point of the background workers. */
extern PGDLLEXPORT void zsio_worker_main(Datum arg);

#endif							/* ZS_IO_H */
