/*-------------------------------------------------------------------------
 *
 * io_method.c
 *	  How a run gets to the file: the choice of the method, and one synchronous write.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_method.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "storage/fd.h"

#include "io_internal.h"

/* ---- priorities ----------------------------------------------------------------- */

/* from linux/ioprio.h, which is not everywhere */
#define PRIORITY_LOW	((2 << 13) | 7) /* best effort, lowest level */
#define PRIORITY_IDLE	(3 << 13)

static bool priority_refused = false;

/* Somebody waits for a checkpoint, so its requests must not starve. */
uint16
zsio_run_priority(const ZsIoRun *run)
{
	if (zsio_priority == ZSIO_PRIORITY_NONE || priority_refused)
		return 0;
	if (zsio_priority == ZSIO_PRIORITY_IDLE && run->role != ZSIO_ROLE_CHECKPOINT)
		return PRIORITY_IDLE;
	return PRIORITY_LOW;
}

void
zsio_priority_refused(int error)
{
	if (priority_refused)
		return;
	priority_refused = true;
	errno = error;
	ereport(LOG,
			(errmsg("could not set the I/O priority of requests: %m")));
}

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

/* As pwrite(), but for the first time as tests want it: of another length, or -errno. */
static ssize_t
write_some(ZsIoRun *run)
{
	ssize_t		length = run->nblocks * BLCKSZ - run->done;

	if (run->first_length != 0)
		length = Min(length, run->first_length);
	run->first_length = 0;
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
	int			error = run->write_back < 0 ? -run->write_back :
		zsio_cache_write_back(run->fd, run->offset, run->nblocks * BLCKSZ);

	run->write_back_failed = error != 0;
	return error;
}

int
zsio_write_rest(ZsIoRun *run)
{
	uint32		size = run->nblocks * BLCKSZ;
	bool		refused = false;

	while (run->done < size)
	{
		ssize_t		n;

		/* direct writes must begin at a boundary */
		run->done -= run->done % PG_IO_ALIGN_SIZE;
		errno = 0;
		n = write_some(run);
		if (n > 0)
		{
			run->done += n;
			if (n < PG_IO_ALIGN_SIZE && run->done < size)
				return ENOSPC;
		}
		else if (n < 0 && errno == EINTR)
			continue;
		else if (n < 0 && errno == EINVAL && !refused)
		{
			/* opened, but does not write directly; another thread may have seen that first */
			refused = true;
			if (run->cached || !zsio_file_make_buffered(run->file))
				return EINVAL;
		}
		else
			return errno != 0 ? errno : ENOSPC;
	}
	return run->cached ? write_back(run) : 0;
}

/* ---- the choice ----------------------------------------------------------------------- */

const ZsIoMethodOps *
zsio_method_start(int depth)
{
	static const char *logged = NULL;
	const ZsIoMethodOps *ops = &zsio_pwritev_ops;
	const char *reason = NULL;

	if (zsio_method != ZSIO_METHOD_PWRITEV)
	{
#ifdef USE_ZS_URING
		if (zsio_uring_ops.init(depth, &reason))
			ops = &zsio_uring_ops;
#else
		reason = "the library was built without liburing";
#endif
	}
	if (ops == &zsio_pwritev_ops)
		(void) ops->init(depth, &reason);
	if (ops->name != logged)
	{
		if (zsio_method != ZSIO_METHOD_PWRITEV && ops == &zsio_pwritev_ops)
			ereport(LOG,
					(errmsg("I/O worker uses method \"%s\"", ops->name),
					 errdetail("io_uring is not available: %s.", reason)));
		else
			ereport(LOG,
					(errmsg("I/O worker uses method \"%s\"", ops->name)));
		logged = ops->name;
	}
	return ops;
}
