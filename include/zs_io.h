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

/*
 * Defines the settings zedstore.io_*.  To be called once, from _PG_init, before
 * the prefix is reserved.
 */
extern void zsio_guc_init(void);

/*
 * Reserves shared memory, installs hooks and registers the worker.  Only while shared libraries are
 * preloaded.
 */
extern void zsio_init(void);

/* Entry point of the background workers. */
extern PGDLLEXPORT void zsio_worker_main(Datum arg);

#endif							/* ZS_IO_H */
