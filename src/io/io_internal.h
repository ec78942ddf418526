/*-------------------------------------------------------------------------
 *
 * io_internal.h
 *	  What all files of src/io share: settings and shared memory.
 *
 * The files and who calls whom: README.md.  What workers share is in io_worker.h.
 *
 * Locks: shared counters are atomics; the spinlock of ZsIoShared protects a few words and is held
 * for their assignment.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef IO_INTERNAL_H
#define IO_INTERNAL_H

#include "postgres.h"

#include "port/atomics.h"
#include "postmaster/bgworker.h"
#include "storage/block.h"
#include "storage/latch.h"
#include "storage/relfilelocator.h"
#include "storage/spin.h"
#include "utils/backend_progress.h"

#include "zs_compat.h"
#include "zs_io.h"

#define ZSIO_MAX_WORKERS		8
/* blocks that one request writes at most: 1 MiB */
#define ZSIO_MAX_RUN_BLOCKS		128
/* requests that one worker has in flight at most */
#define ZSIO_MAX_DEPTH			128
/* seconds until a worker is started again that ended by itself */
#define ZSIO_RESTART_SECONDS	5
/* buckets of the latency histogram: below 2^i * 64 microseconds */
#define ZSIO_LATENCY_BUCKETS	20

/* What a worker writes for. */
typedef enum ZsIoRole
{
	ZSIO_ROLE_CHECKPOINT = 0,
	ZSIO_ROLE_CLEANER,
	ZSIO_ROLE_VACUUM,
} ZsIoRole;

#define ZSIO_ROLES				3

/* ---- settings (io_guc.c) ------------------------------------------------------ */

typedef enum ZsIoMethod
{
	ZSIO_METHOD_AUTO = 0,
	ZSIO_METHOD_URING,
	ZSIO_METHOD_PWRITEV,
} ZsIoMethod;

/* Class of requests that schedulers prefer others to. */
typedef enum ZsIoPriority
{
	ZSIO_PRIORITY_NONE = 0,		/* as everybody */
	ZSIO_PRIORITY_LOW,			/* lowest of the class that everybody is in */
	ZSIO_PRIORITY_IDLE,			/* only when nobody else wants the device */
} ZsIoPriority;

extern int	zsio_workers;
extern int	zsio_method;
/* these override what the storage profile says, unless they are -1 */
extern int	zsio_request_blocks;	/* blocks of 8 kB */
extern int	zsio_queue_depth;
extern int	zsio_max_iops;		/* requests a second, all workers; 0 = no limit */
extern int	zsio_max_bandwidth; /* kB a second, all workers; 0 = no limit */
extern bool zsio_direct;
extern bool zsio_keep_cached;
extern bool zsio_own_writes;	/* to the page cache, by the worker without threads */
extern int	zsio_write_back_delay;	/* of cleaned blocks in the page cache, ms; 0: none */
extern bool zsio_checkpoint;
extern bool zsio_cleaner;
extern bool zsio_vacuum;
extern bool zsio_guard;
extern bool zsio_rest;
extern int	zsio_nice;			/* of the threads that write, beyond the worker's own */
extern bool zsio_throttle;
extern bool zsio_group_commit;
extern int	zsio_priority;
extern int	zsio_write_hint;	/* RWH_WRITE_LIFE_*; 0: none is given */

/* ---- shared memory (io_shmem.c) ----------------------------------------------- */

/* Counters of one role of one worker; written by that worker only. */
typedef struct ZsIoRoleStats
{
	pg_atomic_uint64 rounds;
	pg_atomic_uint64 requests;
	pg_atomic_uint64 blocks;
	pg_atomic_uint64 write_us;	/* sum of the requests' times */
	pg_atomic_uint64 skipped;	/* blocks left to core: locked, in use, gone */
	pg_atomic_uint64 pace_us;	/* time slept to stay within the limits */
	pg_atomic_uint64 cached;	/* requests through the page cache, for what it holds */
} ZsIoRoleStats;

/* What others see of a worker.  pid and latch under the mutex, the rest is the worker's. */
typedef struct ZsIoWorkerShared
{
	pid_t		pid;			/* 0: not running */
	Latch	   *latch;
	int			method;			/* ZsIoMethod in use */
	ZsIoRoleStats roles[ZSIO_ROLES];
	pg_atomic_uint64 errors;
	pg_atomic_uint64 fallbacks; /* files written buffered, though direct was asked for */
	pg_atomic_uint64 sync_requests_refused; /* synced by the worker itself */
	pg_atomic_uint64 latency[ZSIO_LATENCY_BUCKETS];

	/* the checkpoint round under way */
	pg_atomic_uint32 round_active;
	pg_atomic_uint64 round_total;	/* blocks */
	pg_atomic_uint64 round_done;
	pg_atomic_uint32 window;	/* requests in flight allowed now */
	pg_atomic_uint32 rate;		/* requests per second allowed now; 0: no limit */

	/* how long VACUUMs shall sleep (io_throttle.c), and when that was said */
	pg_atomic_uint32 vacuum_sleep;	/* microseconds */
	pg_atomic_uint64 vacuum_sleep_set;

	/* rests of its cleaner */
	pg_atomic_uint64 rests;
	pg_atomic_uint64 rest_us;	/* the one under way, too */
	pg_atomic_uint32 resting;	/* 1: there is one */
} ZsIoWorkerShared;

/* The index that a process vacuums. */
typedef struct ZsIoIndex
{
	int			pid;			/* 0: none */
	Oid			relid;			/* the table */
	RelFileLocator locator;
} ZsIoIndex;

#define ZSIO_MAX_VACUUMS		32

/* The workers' part of shared memory. */
typedef struct ZsIoShared
{
	slock_t		mutex;			/* pid and latch of the workers, and indexes */

	/* as zsio_vacuum_index() was told, some may be out of date */
	ZsIoIndex	indexes[ZSIO_MAX_VACUUMS];

	/* what the checkpointer's log message said of the checkpoint that started last */
	pg_atomic_uint32 starts;	/* counts messages */
	pg_atomic_uint32 start_immediate;	/* 1: immediate, 0: spread */

	/* how long commits shall wait (io_commit.c), when that was said, and why; microseconds */
	pg_atomic_uint32 commit_delay;
	pg_atomic_uint64 commit_delay_set;
	pg_atomic_uint64 wal_sync_us;	/* what a sync takes; 0: not known */
	pg_atomic_uint64 commits_delayed;	/* that were about to wait; all processes count */

	ZsIoWorkerShared workers[ZSIO_MAX_WORKERS];
} ZsIoShared;

extern ZsIoShared *zsio_shared;

/* Blocks that a backend has left dirty, of a relation's main fork, in one segment file. */
typedef struct ZsIoRange
{
	RelFileLocator locator;
	BlockNumber blkno;
	uint32		nblocks;
} ZsIoRange;

#define ZSIO_QUEUE_SIZE			1024	/* a power of 2 */
#define ZSIO_RANGE_BLOCKS		1024	/* of one range at most */

/* What is handed over to one worker. */
typedef struct ZsIoQueue
{
	slock_t		mutex;			/* for all of it; may be looked at without */
	volatile uint32 head;		/* next to take; counts on */
	volatile uint32 tail;		/* next to put */
	volatile uint32 pending;	/* blocks that are not written yet */
	ZsIoRange	ranges[ZSIO_QUEUE_SIZE];
} ZsIoQueue;

/* One for each worker; NULL when the server was started without workers. */
extern ZsIoQueue *zsio_queues;

static inline void
zsio_count(pg_atomic_uint64 *counter, uint64 n)
{
	/* one writer */
	pg_atomic_write_u64(counter, pg_atomic_read_u64(counter) + n);
}

/* Wakes all workers up: there is going to be work.  Also in critical sections. */
static inline void
zsio_wake_workers(void)
{
	for (int i = 0; i < ZSIO_MAX_WORKERS; i++)
	{
		Latch	   *latch = zsio_shared->workers[i].latch;

		if (latch != NULL)
			SetLatch(latch);
	}
}

/* What the postmaster is to know of the worker of that number; but bgw_restart_time. */
extern void zsio_worker_describe(BackgroundWorker *worker, int no);

/* ---- VACUUMs that are held back (io_throttle.c) -------------------------------- */

/* Work that is held back when it is in clients' way: VACUUM and ANALYZE. */
static inline bool
zsio_is_maintenance(ProgressCommandType command)
{
	return command == PROGRESS_COMMAND_VACUUM || command == PROGRESS_COMMAND_ANALYZE;
}

/*
 * What this worker wants VACUUMs to sleep, in microseconds; to be repeated every few seconds.
 */
extern void zsio_throttle_set(ZsIoWorkerShared *me, double sleep_us);

/* ---- commits that wait for each other (io_commit.c) ---------------------------- */

extern void zsio_commit_set(double sync_us, int delay_us);

/* ---- turns of concurrent scans (io_arbiter.c) ---------------------------------- */

/* In the hooks for shared memory; the second under AddinShmemInitLock. */
extern void zsio_arbiter_request_shmem(void);
extern void zsio_arbiter_startup_shmem(void);

#endif							/* IO_INTERNAL_H */
