/*-------------------------------------------------------------------------
 *
 * io_worker.h
 *	  A worker process: its state, its runs, and the roles that it works for.
 *
 * A worker collects dirty buffers, cuts the sorted list into runs of adjacent
 * blocks of one segment file, and writes each run with one request.  From zsio_run_claim() until
 * the run ends its buffers are pinned and carry BM_IO_IN_PROGRESS; their pages were copied, so no
 * content lock is held.
 *
 * A checkpoint comes first.  In between, and while a spread checkpoint is ahead of its
 * schedule, a worker cleans buffers ahead of the clock hand, and writes what others hand over.
 *
 * Locks: a worker takes content locks conditionally only, and never waits for
 * anything but WAL flushes and its own writes while it owns a buffer's
 * BM_IO_IN_PROGRESS.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_worker.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef IO_WORKER_H
#define IO_WORKER_H

#include "postgres.h"

#include "utils/timestamp.h"

#include "io_buffer.h"
#include "io_file.h"
#include "io_group.h"
#include "io_guard.h"
#include "io_internal.h"
#include "io_pace.h"
#include "io_profile.h"
#include "io_rest.h"

/* Longest nap of a worker that has work to do, in microseconds. */
#define ZSIO_NAP_US				10000
/* And of one that keeps to the guard's rate: several requests are due then. */
#define ZSIO_PAUSE_US			4000

/*
 * All that a worker knows, made once by io_worker.c and passed to everybody below.  What stands
 * here as a pointer belongs to the file of that name, which alone looks inside.
 */
typedef struct ZsIoWorker
{
	int			no;				/* from 0 */
	ZsIoWorkerShared *shared;	/* what others see of it */

	ZsIoGuard	guard;
	ZsIoRest	rest;			/* the cleaner's */
	TimestampTz rest_shown;		/* when others were last told of it */
	ZsIoGroup	group;			/* the first worker's, about commits */
	ZsIoBucket	buckets[ZSIO_MAX_VOLUMES];
	TimestampTz *clients_waited;	/* see zsio_look_at_clients() */

	ZsIoCache  *cache;
	ZsIoFiles  *files;
	ZsIoHazard *hazard;
	struct ZsIoOwn *own;		/* io_own.c */
	struct ZsIoPool *pool;		/* io_pool.c */
	struct ZsIoRing *ring;		/* io_uring.c */
	bool		priority_refused;	/* by the kernel: see zsio_priority_refused() */
	const char *method_logged;	/* what the log was told last */
	struct ZsIoLater *later;	/* io_later.c */
	struct ZsIoRuns *runs;		/* io_run.c */

	struct ZsIoCheckpoints *checkpoints;	/* io_checkpoint.c */
	struct ZsIoCleaner *cleaner;	/* io_clean.c */
	struct ZsIoFollower *follower;	/* io_vacuum.c */

	/* an immediate checkpoint has begun and is not complete; set by io_checkpoint.c */
	bool		burst;

	/* is there something that comes first?  Set by io_checkpoint.c; see zsio_called_away() */
	bool		(*called_away) (struct ZsIoWorker *worker);
} ZsIoWorker;

/*
 * Is there work for a checkpoint, or are there new settings, so that other work has to wait?  Who
 * writes a list of blocks asks before each of them, without knowing who might call.
 */
static inline bool
zsio_called_away(ZsIoWorker *worker)
{
	return worker->called_away(worker);
}

/* ---- runs ---------------------------------------------------------------------- */

/*
 * The state of a run.  Only the functions named here change it, by set_state() in io_run.c, which
 * asserts that the step is one of these.
 */
typedef enum ZsIoRunState
{
	/* The slot has no run. -> CLAIMED (zsio_run_claim()) */
	ZSIO_RUN_FREE = 0,

	/*
	 * Buffers are pinned and BM_IO_IN_PROGRESS, pages copied; no file yet. -> IN_FLIGHT
	 * (zsio_run_submit()), FREE (given up: there is no file any more, or zsio_run_drain())
	 */
	ZSIO_RUN_CLAIMED,

	/*
	 * The method has it: the worker touches nothing of it until the method returns it. -> ENDED
	 * (zsio_run_reap(), zsio_run_drain())
	 */
	ZSIO_RUN_IN_FLIGHT,

	/*
	 * The write ended, well or not; the buffers are still ours. -> FREE (the same functions).
	 * After an error it stays so, and the resource owner lets go of the buffers.
	 */
	ZSIO_RUN_ENDED,
} ZsIoRunState;

typedef struct ZsIoRun
{
	ZsIoRunState state;
	ZsIoFile   *file;
	int			fd;				/* one of the file's */
	bool		cached;			/* through the page cache, which holds these blocks */
	bool		later;			/* and they stay there for now, see io_later.c */
	ZsIoRole	role;
	int			volume;			/* where its tablespace is */
	ZsIoItem	first;			/* its first block */
	XLogRecPtr	lsn;			/* WAL must be flushed up to here */
	int			nblocks;
	int			counted;		/* requests that the volume takes it for */
	int			buf_ids[ZSIO_MAX_RUN_BLOCKS];
	BlockNumber blkno;			/* first block, from the start of the relation fork */
	off_t		offset;			/* in the file */
	uint32		done;			/* bytes that earlier, short writes wrote */
	uint16		priority;		/* as the kernel wants it; 0: none */
	int			priority_error; /* errno of a thread that could not set it */
	bool		write_back_failed;	/* the error is from writing the page cache back */
	char	   *data;			/* the pages, aligned for direct I/O */
	TimestampTz started;
	uint64		group;			/* that it goes with, see io_own.c; 0: none */
	int			error;			/* errno of the write, 0 = it went well */
} ZsIoRun;

/* Bytes of a run that are not written yet. */
static inline ssize_t
zsio_run_missing(const ZsIoRun *run)
{
	Assert(run->done <= (uint32) run->nblocks * BLCKSZ);
	return (ssize_t) run->nblocks * BLCKSZ - run->done;
}

/* ---- one synchronous write (io_write.c) ---------------------------------------- */

/*
 * Writes what is missing of a run, synchronously; returns errno or 0.  The first write asks for
 * that many bytes, or fails with -errno: what is missing, unless a test wants to see what follows.
 * Also called by threads: it must not report errors, allocate memory or look at anything but the
 * run and its file.
 */
extern int	zsio_write_rest(ZsIoRun *run, ssize_t first);

/*
 * The same for several runs, all of them through the page cache: they are on their way to the
 * device together.  Leaves errno or 0 in each.
 */
extern void zsio_write_cached(ZsIoRun **runs, int nruns);

/* What is missing of the run, to the page cache only; returns errno or 0. */
extern int	zsio_write_to_cache(ZsIoRun *run);

/* The run's I/O priority as the kernel wants it; 0: none. */
extern uint16 zsio_run_priority(const ZsIoWorker *worker, const ZsIoRun *run);

/* Sets that of the calling thread; returns errno or 0. */
extern int	zsio_set_priority(uint16 priority);

/* The kernel refuses priorities: it is said once, and they are not tried again. */
extern void zsio_priority_refused(ZsIoWorker *worker, int error);

/* ---- writes of the worker itself (io_own.c) ------------------------------------- */

/* The worker has just begun. */
extern void zsio_own_init(ZsIoWorker *worker);

/*
 * Writes a run to the page cache.  False: that is for others to do.  It is reaped from here; runs
 * with the same group, if that is not 0, were all written when the first of them is.
 */
extern bool zsio_own_submit(ZsIoWorker *worker, ZsIoRun *run);

/* Next run that ended, or NULL.  waits: the worker has nothing else to do. */
extern ZsIoRun *zsio_own_reap(ZsIoWorker *worker, bool waits);

/* Runs that are to be reaped from here. */
extern int	zsio_own_pending(const ZsIoWorker *worker);

/* The worker is going to sleep: what it wrote shall go to the device meanwhile. */
extern void zsio_own_set_out(ZsIoWorker *worker);

/* ---- methods: io_method.c chooses between io_pool.c and io_uring.c --------------- */

typedef struct ZsIoMethodOps
{
	const char *name;
	ZsIoMethod	method;

	/* false, with a message in *reason: not available here */
	bool		(*init) (ZsIoWorker *worker, int depth, const char **reason);

	/* Starts the write of a run. */
	void		(*submit) (ZsIoWorker *worker, ZsIoRun *run);

	/*
	 * Next run that ended, or NULL.  timeout_us < 0: waits as long as it takes; 0:
	 * does not wait.
	 */
	ZsIoRun    *(*reap) (ZsIoWorker *worker, long timeout_us);

	/* With nothing in flight. */
	void		(*shutdown) (ZsIoWorker *worker);
} ZsIoMethodOps;

/* io_pool.c */
extern const ZsIoMethodOps zsio_pwritev_ops;

/* The run ended already when it was submitted: the next to be reaped. */
extern void zsio_pool_finished(ZsIoWorker *worker, ZsIoRun *run);

/* Runs that the pool has, and that are to be reaped from it. */
extern int	zsio_pool_pending(const ZsIoWorker *worker);

/* io_uring.c */
#ifdef USE_ZS_URING
extern const ZsIoMethodOps zsio_uring_ops;
#endif

/* io_method.c: the method for that many runs in flight, ready. */
extern const ZsIoMethodOps *zsio_method_start(ZsIoWorker *worker, int depth);

/* ---- other processes (io_backends.c) ------------------------------------------- */

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

/* At most max of them; returns how many. */
extern int	zsio_list_vacuums(ZsIoVacuum *vacuums, int max);

/*
 * Looks at all clients.  Keeps in waited, of MaxBackends zeroed elements, when each was seen to
 * wait.
 */
extern void zsio_look_at_clients(TimestampTz *waited, TimestampTz now, ZsIoClients *clients);

/* ---- how fast it may go (io_limit.c) ------------------------------------------- */

/* The worker has just begun. */
extern void zsio_limit_init(ZsIoWorker *worker);

/*
 * Looks at client backends when it is time to.  Cheap; to be called every 10 ms while it
 * returns true, that is, while clients do I/O.
 */
extern bool zsio_limit_tick(ZsIoWorker *worker);

/* If it does: need it not be called before 25 ms have passed? */
extern bool zsio_limit_is_calm(const ZsIoWorker *worker);

/*
 * The worker stops working: what it has told others does not hold any more.  May be called twice.
 */
extern void zsio_limit_end(ZsIoWorker *worker);

/* May the cleaner rest?  See io_rest.c. */
extern bool zsio_limit_may_rest(const ZsIoWorker *worker);

/*
 * Time in microseconds until a request of that many blocks fits the limits of the volume;
 * 0 = now.
 */
extern long zsio_limit_delay(ZsIoWorker *worker, int volume, int nblocks);

/* So many blocks are about to be written, without a run. */
extern void zsio_limit_take(ZsIoWorker *worker, int volume, int nblocks);

/* The run is about to be submitted; it does not go to the device after all. */
extern void zsio_limit_charge(ZsIoWorker *worker, const ZsIoRun *run);

extern void zsio_limit_refund(ZsIoWorker *worker, const ZsIoRun *run);

/* It is in flight; it ended. */
extern void zsio_limit_started(ZsIoWorker *worker, const ZsIoRun *run);
extern void zsio_limit_ended(ZsIoWorker *worker, const ZsIoRun *run);

/* ---- blocks that stay in the page cache for now (io_later.c) -------------------- */

/* The worker has just begun. */
extern void zsio_later_init(ZsIoWorker *worker);

/* May the run's blocks, which are written to the page cache, stay there for now? */
extern bool zsio_later_may_wait(const ZsIoWorker *worker, const ZsIoRun *run);

/* They have been written there. */
extern void zsio_later_remember(ZsIoWorker *worker, const ZsIoRun *run);

/*
 * Has the kernel write out what has been there for long enough, as fast as limits allow.  True if
 * more is due.
 */
extern bool zsio_later_poll(ZsIoWorker *worker);

/* ---- runs (io_run.c) ----------------------------------------------------------- */

/* The worker has just begun. */
extern void zsio_run_init(ZsIoWorker *worker);

/*
 * Sets up slots and method of this worker from the settings; again after a change of
 * settings, with nothing in flight.
 */
extern void zsio_run_setup(ZsIoWorker *worker);

/* Gives slots and method back; with nothing in flight. */
extern void zsio_run_shutdown(ZsIoWorker *worker);

/*
 * Makes the worker's own resource owner the current one, as it must be when buffers are claimed;
 * lets go of all that it has.
 */
extern void zsio_run_own_resources(ZsIoWorker *worker);
extern void zsio_run_release_resources(ZsIoWorker *worker);

/*
 * Claims blocks from items[*pos] on as one run: they are pinned, marked as being
 * written, and copied.  *pos is advanced over them and over blocks that cannot be had.  NULL when
 * there is none.  Needs a free slot: fewer than zsio_run_depth() + 1 runs claimed or in flight.
 */
extern ZsIoRun *zsio_run_claim(ZsIoWorker *worker, const ZsIoItem *items, int nitems, int *pos,
							   ZsIoRole role);

/* Starts to write a claimed run; the WAL is flushed as far as its pages need. */
extern void zsio_run_submit(ZsIoWorker *worker, ZsIoRun *run);

/* Requests in flight, and how many there may be; 0: zsio_run_setup() has to be called. */
extern int	zsio_run_busy(const ZsIoWorker *worker);
extern int	zsio_run_depth(const ZsIoWorker *worker);

/*
 * Finishes runs that ended; waits up to timeout_us for the first (0: does not
 * wait).
 */
extern void zsio_run_reap(ZsIoWorker *worker, long timeout_us);

/*
 * Finishes all runs, waiting as long as it takes, and gives claimed ones up.  No errors: part of
 * every way out of a worker.
 */
extern void zsio_run_drain(ZsIoWorker *worker);

/* Waits up to ZSIO_NAP_US, and finishes runs that end meanwhile. */
extern void zsio_run_nap(ZsIoWorker *worker, long us);

/*
 * The same, because limits do not let more through.  While the guard limits the rate it waits for
 * ZSIO_PAUSE_US, whatever ends meanwhile: who wakes up for each request and for the end of each
 * takes as much of the processor as the writes do, and clients want that then.
 */
extern void zsio_run_pause(ZsIoWorker *worker, long us);

/* Runs that are claimed or in flight on a volume. */
extern int	zsio_run_count_on(const ZsIoWorker *worker, int volume);

/* ---- lists of blocks (io_list.c) ---------------------------------------------- */

/*
 * Starts to write the sorted items, as fast as limits allow.  Returns early when the worker is
 * called away; leaves requests in flight.
 */
extern void zsio_list_start(ZsIoWorker *worker, const ZsIoItem *items, int nitems,
							ZsIoRole role);

/* The same, and waits until they are written, unless it returns early. */
extern void zsio_list_write(ZsIoWorker *worker, const ZsIoItem *items, int nitems,
							ZsIoRole role);

/* ---- behind VACUUMs and bulk writers (io_vacuum.c) ----------------------------- */

/* The worker begins to work: what its queue has is to be written. */
extern void zsio_vacuum_begin(ZsIoWorker *worker);

/* Writes what was handed over, and behind running VACUUMs.  True if there was or is some work. */
extern bool zsio_vacuum_poll(ZsIoWorker *worker);

/* ---- ahead of the clock hand (io_clean.c) -------------------------------------- */

/* The worker begins to work: the hand is where it is. */
extern void zsio_clean_begin(ZsIoWorker *worker);

/*
 * Sees to a supply of clean buffers ahead of the clock hand.  Returns true if the hand moves: look
 * again soon.
 */
extern bool zsio_clean_poll(ZsIoWorker *worker);

/*
 * The same in the middle of a checkpoint that is late: cleans a few buffers if the supply runs
 * short.  False: it did not.
 */
extern bool zsio_clean_turn(ZsIoWorker *worker);

/* ---- checkpoints (io_checkpoint.c) --------------------------------------------- */

/* Sets called_away. */
extern void zsio_checkpoint_init(ZsIoWorker *worker);

/* The worker begins to work: earlier checkpoints are not its business. */
extern void zsio_checkpoint_begin(ZsIoWorker *worker);

/*
 * Watches for a checkpoint, and works for it when one starts and zedstore.io_checkpoint is on.
 * Returns false if there was no work.
 */
extern bool zsio_checkpoint_poll(ZsIoWorker *worker);

/* Is the last checkpoint that began complete, as far as the worker knows? */
extern bool zsio_checkpoint_is_settled(const ZsIoWorker *worker);

/* Opens the gate for checkpoints. */
extern void zsio_checkpoint_disarm(ZsIoWorker *worker);

/* Ends the transaction of the gate.  With nothing claimed. */
extern void zsio_checkpoint_rest(ZsIoWorker *worker);

#endif							/* IO_WORKER_H */
