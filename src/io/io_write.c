/*-------------------------------------------------------------------------
 *
 * io_write.c
 *	  One synchronous write of a run, and the I/O priority of requests.
 *
 * What both methods come down to: the threads of io_pool.c write so, and io_uring.c finishes so
 * what the kernel wrote in part or refused.
 *
 * zsio_write_rest() and zsio_set_priority() are also called by threads, which know nothing of
 * PostgreSQL: they look at the run and its file, and call the system.
 *
 * Locks: none; the run is the caller's until it returns.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_write.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "storage/fd.h"

#include "io_worker.h"

/* ---- priorities ----------------------------------------------------------------- */

/* from linux/ioprio.h, which is not everywhere */
#define PRIORITY_LOW	((2 << 13) | 7) /* best effort, lowest level */
#define PRIORITY_IDLE	(3 << 13)

/* The priority of a run: somebody waits for a checkpoint, so its requests must not starve. */
uint16
zsio_run_priority(const ZsIoWorker *worker, const ZsIoRun *run)
{
	Assert(run->role < ZSIO_ROLES);
	if (zsio_priority == ZSIO_PRIORITY_NONE || worker->priority_refused)
		return 0;
	if (zsio_priority == ZSIO_PRIORITY_IDLE && run->role != ZSIO_ROLE_CHECKPOINT)
		return PRIORITY_IDLE;
	return PRIORITY_LOW;
}

/* The kernel refuses priorities: the log says so once. */
void
zsio_priority_refused(ZsIoWorker *worker, int error)
{
	Assert(error > 0);
	if (worker->priority_refused)
		return;
	worker->priority_refused = true;
	errno = error;
	ereport(LOG,
			(errmsg("could not set the I/O priority of requests: %m")));
}

/* The priority of the calling thread; returns errno or 0. */
int
zsio_set_priority(uint16 priority)
{
#if defined(__linux__) && defined(SYS_ioprio_set)
	/* 1 stands for a thread, 0 for this one */
	if (syscall(SYS_ioprio_set, 1, 0, (int) priority) != 0)
		return errno;
	return 0;
#else
	return ENOSYS;
#endif
}

/* ---- one write ------------------------------------------------------------------ */

/* As pwrite() of so many of the missing bytes; or as if it had failed with -length. */
static ssize_t
write_some(const ZsIoRun *run, ssize_t length)
{
	errno = 0;
	if (length < 0)
	{
		errno = -length;
		return -1;
	}
	return pg_pwrite(run->fd, run->data + run->done, length, run->offset + run->done);
}

/* Has what was written through the page cache brought to the device; returns errno or 0. */
static int
write_back(ZsIoRun *run)
{
	int			error = zsio_cache_write_back(run->fd, run->offset, run->nblocks * BLCKSZ);

	run->write_back_failed = error != 0;
	return error;
}

/* What is missing of the run, to the page cache or the device; returns errno or 0. */
static int
write_missing(ZsIoRun *run, ssize_t first)
{
	ssize_t		length = Min(first, zsio_run_missing(run));
	bool		refused = false;

	Assert(run->fd >= 0 && run->file != NULL);
	Assert(run->done % PG_IO_ALIGN_SIZE == 0);
	while (zsio_run_missing(run) > 0)
	{
		ssize_t		n = write_some(run, length);

		if (n > 0)
		{
			run->done += n;
			if (n < PG_IO_ALIGN_SIZE && zsio_run_missing(run) > 0)
				return ENOSPC;
			/* direct writes must begin at a boundary */
			if (zsio_run_missing(run) > 0)
				run->done -= run->done % PG_IO_ALIGN_SIZE;
		}
		else if (n < 0 && errno == EINVAL && !refused)
		{
			/* opened, but does not write directly; another thread may have seen that first */
			refused = true;
			if (run->cached || !zsio_file_make_buffered(run->file))
				return EINVAL;
		}
		else if (n == 0 || errno != EINTR)
			return errno != 0 ? errno : ENOSPC;
		length = zsio_run_missing(run);
	}
	return 0;
}

/* What is missing of the run: see io_worker.h. */
int
zsio_write_to_cache(ZsIoRun *run)
{
	Assert(run->cached);
	return write_missing(run, zsio_run_missing(run));
}

/* Does it have to be brought from the page cache to the device? */
static inline bool
needs_write_back(const ZsIoRun *run)
{
	return run->cached && !run->later;
}

/* What is missing of the run: see io_worker.h. */
int
zsio_write_rest(ZsIoRun *run, ssize_t first)
{
	int			error = write_missing(run, first);

	return error == 0 && needs_write_back(run) ? write_back(run) : error;
}

/*
 * Several runs through the page cache: see io_worker.h.  Only the last one is waited for: when the
 * device has it, it has the others too, or nearly so.  What goes wrong with these is for the
 * checkpointer, which syncs the file.
 */
void
zsio_write_cached(ZsIoRun **runs, int nruns)
{
	ZsIoRun    *last = NULL;

	Assert(nruns > 0);
	for (int i = 0; i < nruns; i++)
	{
		ZsIoRun    *run = runs[i];

		Assert(run->cached);
		run->error = write_missing(run, zsio_run_missing(run));
		if (run->error != 0 || !needs_write_back(run))
			continue;
		if (last != NULL)
			zsio_cache_start_write_back(last->fd, last->offset, last->nblocks * BLCKSZ);
		last = run;
	}
	if (last != NULL)
		last->error = write_back(last);
}
