/*-------------------------------------------------------------------------
 *
 * io_turn.h
 *	  Whose turn it is, of scans that read from one volume.
 *
 * Pure: calls nothing of the server, so fuzz/guard_replay.c runs it alone.  io_arbiter.c keeps
 * these structs in shared memory, under its lock.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_turn.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef IO_TURN_H
#define IO_TURN_H

#include "postgres.h"

#include "datatype/timestamp.h"

/* The bucket of a volume with a limit of reads; zeroed at first, but for the rate. */
typedef struct ZsIoTurnBucket
{
	double		rate;			/* bytes a second */
	double		left;			/* bytes that it holds */
	TimestampTz refilled;
} ZsIoTurnBucket;

/* A process that scans. */
typedef struct ZsIoTurn
{
	int			pid;			/* 0: free */
	int			leader;			/* of the parallel query, or pid */
	int			volume;
	bool		waiting;
	double		remaining;		/* bytes */
	double		waited;			/* seconds */
	TimestampTz active;			/* asked last */
	uint64		grants;			/* for statistics */
	uint64		waits;
} ZsIoTurn;

/* ---- (io_turn.c) --------------------------------------------------------------- */

/*
 * What flowed into the bucket until now; what somebody reads, and what turned out not to be read.
 */
extern void zsio_turn_refill(ZsIoTurnBucket *bucket, TimestampTz now);
extern void zsio_turn_take(ZsIoTurnBucket *bucket, double bytes);
extern void zsio_turn_give_back(ZsIoTurnBucket *bucket, double bytes);

/*
 * May one of the scans read now?  It may if the volume does less than it could, or if it is the
 * first of those that read from it.
 */
extern bool zsio_turn_may_read(const ZsIoTurnBucket *bucket, const ZsIoTurn *turns, int nturns,
							   const ZsIoTurn *me, TimestampTz now);

/* Seconds that it waits at most for so many bytes. */
extern double zsio_turn_longest_wait(const ZsIoTurnBucket *bucket, const ZsIoTurn *turns,
									 int nturns, const ZsIoTurn *me, double bytes);

#endif							/* IO_TURN_H */
