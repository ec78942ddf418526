/*-------------------------------------------------------------------------
 *
 * io_calibrate.h
 *	  What the files behind zs_io_calibrate() share.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_calibrate.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef IO_CALIBRATE_H
#define IO_CALIBRATE_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "zs_compat.h"

/* What was measured of one kind of request. */
typedef struct ZsIoCalibration
{
	bool		write;
	int			request;		/* bytes */
	int			depth;
	uint64		requests;
	double		seconds;
	double		latency;		/* sum of the requests' times, seconds */
	double		slowest;
} ZsIoCalibration;

/* ---- io_calibrate_wal.c -------------------------------------------------------------- */

#define CALIBRATE_COLUMNS	9

/*
 * Raises what "could not <what> the scratch file" says of the errno; where the disk is full, with
 * the bytes that a measurement there needs.
 */
ZS_NORETURN extern void zsio_calibrate_fail(const char *what, int error, uint64 bytes,
											const char *where);

/* A row of the result; advice may be NULL. */
extern void zsio_calibrate_put(ReturnSetInfo *rsinfo, const char *operation,
							   const ZsIoCalibration *cell, const char *advice);
extern void zsio_calibrate_wal(ReturnSetInfo *rsinfo, double seconds, uint32 wait_event);

#endif							/* IO_CALIBRATE_H */
