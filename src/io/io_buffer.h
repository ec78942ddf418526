/*-------------------------------------------------------------------------
 *
 * io_buffer.h
 *	  Dirty shared buffers: io_buffer.c, io_buffer_18.c and io_buffer_19.c.
 *
 * All that knows buffer headers.  Nothing in here is about workers: what is found is a list of
 * items, and who writes one begins and ends it.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_buffer.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef IO_BUFFER_H
#define IO_BUFFER_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "common/relpath.h"
#include "storage/block.h"
#include "storage/buf.h"
#include "storage/relfilelocator.h"

/* ---- (io_buffer.c) ------------------------------------------------------------- */

/* Usage counts go up to this. */
#define ZSIO_MAX_USAGE			5

/* A dirty buffer as it was seen. */
typedef struct ZsIoItem
{
	RelFileLocator locator;
	ForkNumber	forknum;
	BlockNumber blkno;
	int			buf_id;
} ZsIoItem;

/*
 * Collects dirty, valid buffers of permanent relations, ordered as core's
 * checkpointer orders them.  With nworkers > 1 only those in segment files that are this
 * worker's.  *items is palloc'd.  Takes buffer header locks one at a time.
 */
extern int	zsio_collect_dirty(int worker, int nworkers, ZsIoItem **items);

extern int	zsio_compare_items(const void *a, const void *b);

/* How many buffers the clock hand has passed since the server started. */
extern uint64 zsio_clock_hand(void);

/*
 * Which dirty buffers to take: those that nobody has pinned, used max_usage times
 * at most since the clock hand passed.
 */
typedef struct ZsIoWish
{
	int			max_usage;
	XLogRecPtr	max_lsn;		/* WAL is flushed up to here */
	int			worker;			/* of this worker's files only */
	int			nworkers;
} ZsIoWish;

/*
 * Collects dirty, unpinned buffers of permanent relations that the clock hand comes to
 * between *pos and end, at most max of them, in the order of the hand; *pos is moved to where
 * it ended.  Those beyond max_lsn are among them: *unflushed counts them, and *lsn moves
 * forward to the pages' LSNs.
 */
extern int	zsio_collect_ahead(const ZsIoWish *wish, uint64 *pos, uint64 end, ZsIoItem *items,
							   int max, XLogRecPtr *lsn, int *unflushed);

/* Which of nworkers writes a segment file. */
extern int	zsio_file_owner(const RelFileLocator *locator, ForkNumber forknum,
							BlockNumber blkno, int nworkers);

/*
 * The relation of that number in the database, if one of its pages is in a buffer (*exact);
 * else the one that has most dirty pages with block numbers [from, to) there.  Looks at all
 * headers, without locks.
 */
extern bool zsio_find_relation(Oid database, Oid relid, BlockNumber from, BlockNumber to,
							   RelFileLocator *locator, bool *exact);

/* Which block the buffer holds, if it is dirty and as wished. */
extern bool zsio_look_at(const ZsIoWish *wish, int buf_id, ZsIoItem *item);

/* The same, and whether it holds the block still that it was found for. */
extern bool zsio_look_at_block(const ZsIoWish *wish, int buf_id, const RelFileLocator *locator,
							   ForkNumber forknum, BlockNumber blkno, ZsIoItem *item);

/* Finds the block among shared buffers, if the buffer is as wished. */
extern bool zsio_find_dirty(const ZsIoWish *wish, const RelFileLocator *locator,
							ForkNumber forknum, BlockNumber blkno, ZsIoItem *item);

/* ---- writing (io_buffer_18.c, io_buffer_19.c) -------------------------------------- */

/*
 * Makes the buffer this process's to write: pins it, sets BM_IO_IN_PROGRESS and copies the page to
 * dst (BLCKSZ bytes, checksum set).  *lsn is moved forward to the page's LSN.  Never
 * waits: false, and nothing held, when the buffer was replaced, is clean, locked
 * exclusively (19: at all) or being written.  Needs a current resource owner.
 */
extern bool zsio_buffer_begin(const ZsIoItem *item, char *dst, XLogRecPtr *lsn);

typedef enum ZsIoResult
{
	ZSIO_WRITTEN,				/* clean, unless it was changed meanwhile */
	ZSIO_FAILED,				/* stays dirty, marked with BM_IO_ERROR */
	ZSIO_GIVEN_UP,				/* stays dirty; nothing was tried */
} ZsIoResult;

/*
 * The write ended.  copy: what was written, as zsio_buffer_begin() filled it.  Unpins the buffer;
 * never waits for a lock of its contents.
 */
extern void zsio_buffer_end(int buf_id, const char *copy, ZsIoResult result);

#endif							/* IO_BUFFER_H */
