/*-------------------------------------------------------------------------
 *
 * io_method.c
 *	  How a run gets to the file: the choice, and the synchronous method.
 *
 * "pwritev" writes each run at once with pwrite().  It is what is left where the system
 * has no io_uring or refuses it, where writes of a killed process could not be waited
 * for (io_hazard.c), and the reference that tests compare with.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_method.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "lib/ilist.h"
#include "storage/fd.h"

#include "io_internal.h"

/* ---- one write ------------------------------------------------------------------ */

/*
 * As pwrite().  Tests make it fail, or write less: they change the length, to
 * -errno.
 */
static ssize_t
write_some(int fd, const char *data, size_t size, off_t offset)
{
	ssize_t		length = size;

	ZS_INJECTION_POINT_ARG("zs-io-pwrite", &length);
	if (length < 0)
	{
		errno = -length;
		return -1;
	}
	return pg_pwrite(fd, data, length, offset);
}

int
zsio_write_rest(ZsIoRun *run)
{
	uint32		size = run->nblocks * BLCKSZ;

	while (run->done < size)
	{
		ssize_t		n;

		/* direct writes must begin at a boundary */
		run->done -= run->done % PG_IO_ALIGN_SIZE;
		errno = 0;
		n = write_some(run->file->fd, run->data + run->done, size - run->done,
					   run->offset + run->done);
		if (n > 0)
		{
			run->done += n;
			if (n < PG_IO_ALIGN_SIZE && run->done < size)
				return ENOSPC;
		}
		else if (n < 0 && errno == EINTR)
			continue;
		else if (n < 0 && errno == EINVAL && run->file->direct)
		{
			/* opened, but does not write directly */
			if (!zsio_file_make_buffered(run->file))
				return EINVAL;
		}
		else
			return errno != 0 ? errno : ENOSPC;
	}
	return 0;
}

/* ---- the synchronous method -------------------------------------------------------- */

static ZsIoRun *finished[ZSIO_MAX_DEPTH + 1];
static int	nfinished = 0;

static bool
pwritev_init(int depth, const char **reason)
{
	nfinished = 0;
	return true;
}

static bool
pwritev_submit(ZsIoRun *run)
{
	run->error = zsio_write_rest(run);
	zsio_method_finished(run);
	return true;
}

void
zsio_method_finished(ZsIoRun *run)
{
	Assert(nfinished < (int) lengthof(finished));
	finished[nfinished++] = run;
}

static ZsIoRun *
pwritev_reap(long timeout_us)
{
	return nfinished > 0 ? finished[--nfinished] : NULL;
}

static void
pwritev_shutdown(void)
{
	Assert(nfinished == 0);
}

const ZsIoMethodOps zsio_pwritev_ops = {
	.name = "pwritev",
	.method = ZSIO_METHOD_PWRITEV,
	.init = pwritev_init,
	.submit = pwritev_submit,
	.reap = pwritev_reap,
	.shutdown = pwritev_shutdown
};

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
