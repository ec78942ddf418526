/*-------------------------------------------------------------------------
 *
 * io_internal.h
 *	  What the files of src/io share.
 *
 * A worker collects dirty buffers, cuts the sorted list into runs of adjacent
 * blocks of one segment file, and writes each run with one request.  Between
 * zsio_run_begin() and zsio_run_end() the run's buffers are pinned and carry
 * BM_IO_IN_PROGRESS; their pages were copied, so no content lock is held.
 *
 * A checkpoint comes first.  In between, and while a spread checkpoint is ahead of its
 * schedule, a worker cleans buffers ahead of the clock hand.
 *
 * Locks: a worker takes content locks conditionally only, and never waits for
 * anything but WAL flushes and its own writes while it owns a buffer's
 * BM_IO_IN_PROGRESS.  Shared counters are atomics; the spinlock of
 * ZsIoShared protects a few words and is held for their assignment.
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

#include "access/xlogdefs.h"
#include "common/relpath.h"
#include "port/atomics.h"
#include "storage/block.h"
#include "storage/buf.h"
#include "storage/latch.h"
#include "storage/relfilelocator.h"
#include "storage/spin.h"
#include "utils/backend_progress.h"
#include "utils/timestamp.h"

#include "zs_compat.h"
#include "zs_io.h"

#define ZSIO_MAX_WORKERS		8
/* blocks that one request writes at most: 1 MiB */
#define ZSIO_MAX_RUN_BLOCKS		128
/* requests that one worker has in flight at most */
#define ZSIO_MAX_DEPTH			128
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

/* Longest nap of a worker that has work to do, in microseconds. */
#define ZSIO_NAP_US				10000

/* ---- settings (io_guc.c) ------------------------------------------------------- */

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

extern int	zsio_priority;
extern int	zsio_write_hint;	/* RWH_WRITE_LIFE_*; 0: none is given */

extern int	zsio_workers;
extern int	zsio_method;
/* these override what the storage profile says, unless they are -1 */
extern int	zsio_request_blocks;	/* blocks of 8 kB */
extern int	zsio_queue_depth;
extern int	zsio_max_iops;		/* requests a second, all workers; 0 = no limit */
extern int	zsio_max_bandwidth; /* kB a second, all workers; 0 = no limit */
extern bool zsio_direct;
extern bool zsio_keep_cached;
extern bool zsio_checkpoint;
extern bool zsio_cleaner;
extern bool zsio_vacuum;
extern bool zsio_guard;
extern bool zsio_throttle;

/* ---- shared memory (io_shmem.c) ------------------------------------------------ */

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
} ZsIoWorkerShared;

/* The index that a process vacuums. */
typedef struct ZsIoIndex
{
	int			pid;			/* 0: none */
	Oid			relid;			/* the table */
	RelFileLocator locator;
} ZsIoIndex;

#define ZSIO_MAX_VACUUMS		32

typedef struct ZsIoShared
{
	slock_t		mutex;			/* pid and latch of the workers, and indexes */

	/* as zsio_vacuum_index() was told, some may be out of date */
	ZsIoIndex	indexes[ZSIO_MAX_VACUUMS];

	/* what the checkpointer's log message said of the checkpoint that started last */
	pg_atomic_uint32 starts;	/* counts messages */
	pg_atomic_uint32 start_immediate;	/* 1: immediate, 0: spread */

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

/* ---- buffers (io_buffer.c): all that knows buffer headers ------------------------ */

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

/* The buffer that holds the block, -1 if none does.  It may be replaced any time. */
extern int	zsio_find_buffer(const RelFileLocator *locator, ForkNumber forknum, BlockNumber blkno);

/* Which block the buffer holds, if it is dirty and as wished. */
extern bool zsio_look_at(const ZsIoWish *wish, int buf_id, ZsIoItem *item);

/* The same, and whether it holds the block still that it was found for. */
extern bool zsio_look_at_block(const ZsIoWish *wish, int buf_id, const RelFileLocator *locator,
							   ForkNumber forknum, BlockNumber blkno, ZsIoItem *item);

/* Finds the block among shared buffers, if the buffer is as wished. */
extern bool zsio_find_dirty(const ZsIoWish *wish, const RelFileLocator *locator,
							ForkNumber forknum, BlockNumber blkno, ZsIoItem *item);

/* Locks the contents of a pinned shared buffer, shared, if that is possible at once. */
extern bool zsio_buffer_try_lock(Buffer buffer);

/*
 * Makes the buffer this process's to write: pins it, sets BM_IO_IN_PROGRESS and copies the page to
 * dst (BLCKSZ bytes, checksum set).  *lsn is moved forward to the page's LSN.  Never
 * waits: false, and nothing held, when the buffer was replaced, is clean, locked
 * exclusively or being written.  Needs a current resource owner.
 */
extern bool zsio_buffer_begin(const ZsIoItem *item, char *dst, XLogRecPtr *lsn);

typedef enum ZsIoResult
{
	ZSIO_WRITTEN,				/* clean, unless it was changed meanwhile */
	ZSIO_FAILED,				/* stays dirty, marked with BM_IO_ERROR */
	ZSIO_GIVEN_UP,				/* stays dirty; nothing was tried */
} ZsIoResult;

/* The write ended.  Unpins the buffer. */
extern void zsio_buffer_end(int buf_id, ZsIoResult result);

/* ---- files (io_file.c) --------------------------------------------------------------- */

typedef struct ZsIoFile
{
	RelFileLocator locator;
	ForkNumber	forknum;
	BlockNumber segno;
	int			fd;				/* -1: entry is free */
	int			cached_fd;		/* the same file without O_DIRECT; -1: not open */
	bool		direct;
	bool		may_be_async;	/* asynchronous writes would do no harm */
	bool		async;			/* the request under way is asynchronous */
	dev_t		dev;
	ino_t		ino;
	int			users;			/* requests in flight */
	TimestampTz used;			/* last time */
	bool		fallback_counted;
	char		path[MAXPGPATH];
} ZsIoFile;

/*
 * The segment file of a block, open for writing; NULL when it does not exist (any more)
 * or no descriptor is free.  The caller owns BM_IO_IN_PROGRESS of a block in it, so
 * the file cannot go away while the request runs.
 */
extern ZsIoFile *zsio_file_get(const RelFileLocator *locator, ForkNumber forknum,
							   BlockNumber segno);
extern void zsio_file_put(ZsIoFile *file);
/* A descriptor of the file for writes through the page cache; -1: there is none to be had. */
extern int	zsio_file_cached_fd(ZsIoFile *file);
/* From now on the file is written through the page cache; false: that cannot be done. */
extern bool zsio_file_make_buffered(ZsIoFile *file);
/* Closes files without requests in flight: an open one keeps the space of a file that was removed. */
extern void zsio_file_close_all(void);
/* Those of them that were not used for seconds.  Cheap; to be called while a worker waits. */
extern void zsio_file_close_idle(void);

/* ---- direct beside buffered writes (io_cache.c) ---------------------------------------- */

/* Does the server itself open relation files for direct I/O? */
extern bool zsio_cache_bypassed(void);

/*
 * Do asynchronous direct writes to a file on this device go together with the
 * server's buffered ones?  Finds out when it is asked for a device first.
 */
extern bool zsio_cache_allows_async(const char *path, dev_t dev);

/*
 * Does the page cache hold at least half of the range?  False where the kernel does not tell (before
 * Linux 6.5).
 */
extern bool zsio_cache_holds(int fd, off_t offset, off_t length);

/* Writes a range of the page cache to the device, and waits for that; returns errno or 0. */
extern int	zsio_cache_write_back(int fd, off_t offset, off_t length);

/* ---- segments with asynchronous writes in flight (io_hazard.c) ------------------------- */

/* One of the file systems of which this is known? */
extern bool zsio_known_file_system(int fd);

/* Are writes of a killed process waited for by the barrier on this file?  It is tried. */
extern bool zsio_barrier_works(int fd);

/*
 * Records the file before its first asynchronous write since the last
 * zsio_hazard_forget().  Durable when it returns.  False: it could not be
 * recorded, the file must be written synchronously.
 */
extern bool zsio_hazard_record(int worker, ZsIoFile *file);

/* This worker has nothing in flight: empties its list. */
extern void zsio_hazard_forget(int worker);

/* In the postmaster, before recovery: waits until writes to recorded files have landed. */
extern void zsio_hazard_barrier(void);

/* ---- methods (io_method.c, io_pool.c, io_uring.c) ------------------------------------------------- */

typedef struct ZsIoRun
{
	int			state;			/* RunState of io_run.c */
	ZsIoFile   *file;
	int			fd;				/* one of the file's */
	bool		cached;			/* through the page cache, which holds these blocks */
	ZsIoRole	role;
	int			volume;			/* where its tablespace is */
	ZsIoItem	first;			/* its first block */
	XLogRecPtr	lsn;			/* WAL must be flushed up to here */
	int			nblocks;
	int			counted;		/* as so many requests the volume counts it */
	int			buf_ids[ZSIO_MAX_RUN_BLOCKS];
	BlockNumber blkno;			/* first block, from the start of the relation fork */
	off_t		offset;			/* in the file */
	uint32		done;			/* bytes that earlier, short writes wrote */
	uint16		priority;		/* as the kernel wants it; 0: none */
	int			priority_error; /* errno of a thread that could not set it */
	ssize_t		first_length;	/* of the next write, or -errno; 0: what is missing */
	ssize_t		write_back;		/* -errno: how tests want writing the page cache back to end */
	bool		write_back_failed;	/* the error is from that */
	char	   *data;			/* the pages, aligned for direct I/O */
	TimestampTz started;
	int			error;			/* errno of the write, 0 = it went well */
} ZsIoRun;

typedef struct ZsIoMethodOps
{
	const char *name;
	ZsIoMethod	method;

	/* false, with a message in *reason: not available here */
	bool		(*init) (int depth, const char **reason);

	/* Starts the write of a run. */
	bool		(*submit) (ZsIoRun *run);

	/*
	 * Next run that ended, or NULL.  timeout_us < 0: waits as long as it takes; 0:
	 * does not wait.
	 */
	ZsIoRun    *(*reap) (long timeout_us);

	void		(*shutdown) (void);
} ZsIoMethodOps;

extern const ZsIoMethodOps *zsio_method_start(int depth);
extern const ZsIoMethodOps zsio_pwritev_ops;
#ifdef USE_ZS_URING
extern const ZsIoMethodOps zsio_uring_ops;
#endif

/* The run ended already when it was submitted: the next to be reaped. */
extern void zsio_method_finished(ZsIoRun *run);

/* Runs that the pool has, and that are to be reaped from it. */
extern int	zsio_pool_pending(void);

/*
 * Writes what is missing of a run, synchronously; returns errno or 0.  Also called by threads: it
 * must not report errors, allocate memory or look at anything but the run and its file.
 */
extern int	zsio_write_rest(ZsIoRun *run);

/* The run's I/O priority as the kernel wants it; 0: none. */
extern uint16 zsio_run_priority(const ZsIoRun *run);

/* Sets that of the calling thread; returns errno or 0. */
extern int	zsio_set_priority(uint16 priority);

/* The kernel refuses priorities: it is said once, and they are not tried again. */
extern void zsio_priority_refused(int error);

/* ---- runs (io_run.c) --------------------------------------------------------------------- */

/*
 * Sets up slots and method of this worker from the settings; again after a change of
 * settings, with nothing in flight.
 */
extern void zsio_run_setup(ZsIoWorkerShared *me, int worker);

/*
 * Claims blocks from items[*pos] on as one run: they are pinned, marked as being
 * written, and copied.  *pos is advanced over them and over blocks that cannot be had.  NULL when
 * there is none.  Needs a free slot: fewer than zsio_run_depth() + 1 runs claimed or in flight.
 */
extern ZsIoRun *zsio_run_claim(const ZsIoItem *items, int nitems, int *pos, ZsIoRole role);

/* Starts to write a claimed run; the WAL is flushed as far as its pages need. */
extern void zsio_run_submit(ZsIoRun *run);

/* Requests in flight, and how many there may be. */
extern int	zsio_run_busy(void);
extern int	zsio_run_depth(void);

/*
 * Finishes runs that ended; waits up to timeout_us for the first (0: does not
 * wait).
 */
extern void zsio_run_reap(long timeout_us);

/*
 * Finishes all runs, waiting as long as it takes, and gives claimed ones up.  No errors: part of every
 * way out of a worker.
 */
extern void zsio_run_drain(void);

extern void zsio_run_shutdown(void);

/* Waits up to ZSIO_NAP_US, and finishes runs that end meanwhile. */
extern void zsio_run_nap(long us);

/*
 * Starts to write the sorted items, as fast as limits allow.  Returns early when
 * zsio_checkpoint_calls(); leaves requests in flight.
 */
extern void zsio_run_start_all(const ZsIoItem *items, int nitems, ZsIoRole role);

/* The same, and waits until they are written, unless it returns early. */
extern void zsio_run_write_all(const ZsIoItem *items, int nitems, ZsIoRole role);

/* ---- foreground (io_guard.c) ------------------------------------------------------------------ */

extern void zsio_guard_init(ZsIoWorkerShared *me);

/*
 * Looks at client backends when it is time to.  Cheap; to be called every 10 ms while it
 * returns true, that is, while clients do I/O.
 */
extern bool zsio_guard_tick(void);

/* Requests per second allowed now, 0: no limit; and requests in flight. */
extern double zsio_guard_rate(void);
extern int	zsio_guard_depth(void);

/*
 * Requests, as the volume counts them, ended; the next one had to wait for the rate, or for
 * the depth.
 */
extern void zsio_guard_completed(int requests);
extern void zsio_guard_held_up(bool by_rate);

/* Sets what the work at hand needs at least; 0: nothing. */
extern void zsio_guard_floor(double requests_per_second);

/* Requests per second that are the most beside clients; very many while the device's rate is not known. */
extern double zsio_guard_share(void);

/* A worker could not write behind a VACUUM before that came around in its ring; or could. */
extern void zsio_guard_vacuum_ahead(bool ahead);

/* ---- VACUUMs that are held back (io_throttle.c) ------------------------------------------- */

/* Microseconds: what a VACUUM sleeps for 200 units of cost, at most. */
#define ZSIO_MAX_VACUUM_SLEEP	50000

/* In the postmaster: installs hooks. */
extern void zsio_throttle_init(void);

/* What this worker wants VACUUMs to sleep, in microseconds; to be repeated every few seconds. */
extern void zsio_throttle_set(ZsIoWorkerShared *me, double sleep_us);

/* ---- limits (io_pace.c) ------------------------------------------------------------------- */

/*
 * Time in microseconds until a request of that many blocks fits the limits of the volume;
 * 0 = now.
 */
extern long zsio_pace_delay(int volume, int nblocks);

/* The run is about to be submitted. */
extern void zsio_pace_charge(const ZsIoRun *run);

/* It is in flight; it ended. */
extern void zsio_pace_started(const ZsIoRun *run);
extern void zsio_pace_ended(const ZsIoRun *run);

/* ---- turns of concurrent scans (io_arbiter.c) ----------------------------------------------- */

extern void zsio_arbiter_request_shmem(void);
extern void zsio_arbiter_startup_shmem(void);

/* ---- checkpoints (io_checkpoint.c) ----------------------------------------------------------- */

extern void zsio_checkpoint_init(ZsIoWorkerShared *me, int worker);

/*
 * Watches for a checkpoint, and works for it when one starts and zedstore.io_checkpoint is on.  Returns
 * false if there was no work.
 */
extern bool zsio_checkpoint_poll(void);
extern void zsio_checkpoint_disarm(void);
/* Ends the transaction of the gate.  With nothing claimed. */
extern void zsio_checkpoint_rest(void);

/* ---- processes (io_worker.c) --------------------------------------------------------------- */

/* Makes the worker's own resource owner the current one, as it must be when buffers are claimed. */
extern void zsio_own_resources(void);

/* Is there work for a checkpoint, or are there new settings, so that other work has to wait? */
extern bool zsio_checkpoint_calls(void);

/* ---- other processes (io_backends.c) ----------------------------------------------------------- */

/* A backend that vacuums a relation. */
typedef struct ZsIoVacuum
{
	int			pid;
	Oid			database;
	Oid			relid;
	BlockNumber scanned;		/* positions of the first and the second pass over it */
	BlockNumber vacuumed;
	bool		in_indexes;		/* it is at its indexes now */
} ZsIoVacuum;

/* Work that is held back when it is in clients' way: VACUUM and ANALYZE. */
static inline bool
zsio_is_maintenance(ProgressCommandType command)
{
	return command == PROGRESS_COMMAND_VACUUM || command == PROGRESS_COMMAND_ANALYZE;
}

extern int	zsio_list_vacuums(ZsIoVacuum *vacuums, int max);

/* A client counts as active that long after it was last seen to wait for I/O (microseconds). */
#define ZSIO_ACTIVE_US	1000000

/* What client backends do just now, those that vacuum or analyze not among them. */
typedef struct ZsIoClients
{
	int			nwal;			/* that wait for WAL to be written or synced */
	int			nreads;			/* that wait for a read */
	int			nvacuums;		/* processes that vacuum or analyze */

	/*
	 * Is there one that has waited for I/O in the last ZSIO_ACTIVE_US?  Who has left does not count,
	 * and who waits for a checkpoint is not in that one's way.
	 */
	bool		active;
} ZsIoClients;

/*
 * Looks at all of them.  Remembers in TopMemoryContext when each was seen to wait, 8 bytes for each
 * possible backend.
 */
extern void zsio_look_at_clients(TimestampTz now, ZsIoClients *clients);

/* ---- other work (io_vacuum.c, io_clean.c) ------------------------------------------------------ */

extern void zsio_vacuum_init(int worker);

/* Writes what was handed over, and behind running VACUUMs.  True if there was or is some work. */
extern bool zsio_vacuum_poll(void);

extern void zsio_clean_init(int worker);

/*
 * Sees to a supply of clean buffers ahead of the clock hand.  Returns true if the hand moves: look
 * again soon.
 */
extern bool zsio_clean_poll(void);

/*
 * The same in the middle of a checkpoint that is late: cleans a few buffers if the supply runs
 * short.  False: it did not.
 */
extern bool zsio_clean_turn(void);

#endif							/* IO_INTERNAL_H */
