/*-------------------------------------------------------------------------
 *
 * io_uring.c
 *	  Asynchronous writes by io_uring.
 *
 * One ring per worker, one entry per run.  The worker alone submits and reaps, which the
 * ring is told (SINGLE_ISSUER, DEFER_TASKRUN) where the kernel knows these flags.
 *
 * Files whose writes could not be waited for after a crash (io_hazard.c), and those
 * that go through the page cache, are written by the other method (io_pool.c) here too.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_uring.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef USE_ZS_URING

#include <liburing.h>

#include "utils/memutils.h"

#include "io_worker.h"

/* While there is one to wait at besides the ring: microseconds until a look at the other. */
#define OTHER_LOOK_US	1000

/* A worker's ring. */
typedef struct ZsIoRing
{
	struct io_uring ring;
	bool		exists;
	int			nin_ring;		/* requests in flight in it */
} ZsIoRing;

static bool
uring_init(ZsIoWorker *worker, int depth, const char **reason)
{
	ZsIoRing   *me = worker->ring;
	struct io_uring_params params;
	int			error;

	if (me == NULL)
		me = worker->ring = MemoryContextAllocZero(TopMemoryContext, sizeof(ZsIoRing));
	Assert(!me->exists && me->nin_ring == 0);
	memset(&params, 0, sizeof(params));
#ifdef IORING_SETUP_DEFER_TASKRUN
	params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
#endif
	error = io_uring_queue_init_params(depth, &me->ring, &params);
	if (error == -EINVAL)
	{
		memset(&params, 0, sizeof(params));
		error = io_uring_queue_init_params(depth, &me->ring, &params);
	}
	if (error < 0)
	{
		*reason = strerror(-error);
		return false;
	}
	me->exists = true;
	return zsio_pwritev_ops.init(worker, depth, reason);
}

/* The write ended with that many bytes, or -errno. */
static void
complete(ZsIoWorker *worker, ZsIoRun *run, int result)
{
	Assert(result <= run->nblocks * BLCKSZ);
	run->done = Max(result, 0);
	run->error = Max(-result, 0);

	/* not permitted, though the file is open */
	if (run->error == EPERM && run->priority != 0)
	{
		zsio_priority_refused(worker, EPERM);
		run->error = 0;
	}

	/* short, interrupted, or refused as direct: what is missing is written synchronously */
	if (run->error == EINTR || run->error == EAGAIN || run->error == ECANCELED ||
		run->error == EINVAL)
		run->error = 0;
	if (run->error == 0 && zsio_run_missing(run) > 0)
	{
		/* direct writes must begin at a boundary */
		run->done -= run->done % PG_IO_ALIGN_SIZE;
		run->error = zsio_write_rest(run, zsio_run_missing(run));
	}
}

/*
 * What is in flight can no longer be learnt if the ring does not work.  Nobody may have the buffers
 * then: the server restarts, and waits for the writes first (io_hazard.c).
 */
static void
check_ring(int error)
{
	if (error == -EINTR || error == -EAGAIN || error == -EBUSY || error == -ENOMEM ||
		error == -ETIME)
		return;
	errno = -error;
	ereport(PANIC,
			(errmsg("io_uring of an I/O worker failed: %m")));
}

/* As io_uring_submit(); tests let it be refused. */
static int
submit_queued(ZsIoRing *me)
{
	ssize_t		refused = 0;

	ZS_INJECTION_POINT_ARG("zs-io-uring-submit", &refused);
	return refused < 0 ? (int) refused : io_uring_submit(&me->ring);
}

static void
uring_submit(ZsIoWorker *worker, ZsIoRun *run)
{
	ZsIoRing   *me = worker->ring;
	struct io_uring_sqe *sqe;
	ssize_t		length = run->nblocks * BLCKSZ;
	int			n;

	Assert(me->exists);
	Assert(run->state == ZSIO_RUN_IN_FLIGHT);
	if (run->cached || !run->file->async)
	{
		zsio_pwritev_ops.submit(worker, run);
		return;
	}
	ZS_INJECTION_POINT_ARG("zs-io-uring", &length);
	if (length < 0)
	{
		complete(worker, run, length);
		zsio_pool_finished(worker, run);
		return;
	}
	sqe = io_uring_get_sqe(&me->ring);
	if (sqe == NULL)
	{
		zsio_pwritev_ops.submit(worker, run);
		return;
	}
	io_uring_prep_write(sqe, run->fd, run->data, length, run->offset);
	io_uring_sqe_set_data(sqe, run);
	sqe->ioprio = run->priority = zsio_run_priority(worker, run);
	me->nin_ring++;
	n = submit_queued(me);

	/* else it stays in the queue, and goes when runs are reaped, or with the next submission */
	if (n < 0)
		check_ring(n);
}

static ZsIoRun *
uring_reap(ZsIoWorker *worker, long timeout_us)
{
	ZsIoRing   *me = worker->ring;
	struct io_uring_cqe *cqe = NULL;
	struct __kernel_timespec timeout;
	ZsIoRun    *run = zsio_pwritev_ops.reap(worker, 0);
	int			error;

	if (run != NULL)
		return run;

	/* of two places to wait at, look at the other one soon */
	Assert(me->nin_ring >= 0);
	if (me->nin_ring == 0)
		return zsio_pwritev_ops.reap(worker, timeout_us);
	if (zsio_pool_pending(worker) > 0 && (timeout_us < 0 || timeout_us > OTHER_LOOK_US))
		timeout_us = OTHER_LOOK_US;

	if (timeout_us < 0)
	{
		error = io_uring_submit_and_wait(&me->ring, 1);
		if (error < 0)
			check_ring(error);
		error = io_uring_peek_cqe(&me->ring, &cqe);
	}
	else
	{
		/* newer kernels' waits with a timeout do not submit what is left in the queue */
		if (io_uring_sq_ready(&me->ring) > 0 && (error = io_uring_submit(&me->ring)) < 0)
			check_ring(error);
		timeout.tv_sec = timeout_us / 1000000;
		timeout.tv_nsec = timeout_us % 1000000 * 1000;
		error = io_uring_wait_cqe_timeout(&me->ring, &cqe, &timeout);
	}
	if (error < 0)
		check_ring(error);
	if (error < 0 || cqe == NULL)
		return NULL;

	run = io_uring_cqe_get_data(cqe);
	if (run == NULL)
	{
		/* a timeout of an old kernel */
		io_uring_cqe_seen(&me->ring, cqe);
		return NULL;
	}
	me->nin_ring--;
	complete(worker, run, cqe->res);
	io_uring_cqe_seen(&me->ring, cqe);
	return run;
}

static void
uring_shutdown(ZsIoWorker *worker)
{
	ZsIoRing   *me = worker->ring;

	Assert(me->nin_ring == 0);
	zsio_pwritev_ops.shutdown(worker);
	if (me->exists)
		io_uring_queue_exit(&me->ring);
	me->exists = false;
}

const ZsIoMethodOps zsio_uring_ops = {
	.name = "io_uring",
	.method = ZSIO_METHOD_URING,
	.init = uring_init,
	.submit = uring_submit,
	.reap = uring_reap,
	.shutdown = uring_shutdown
};

#endif							/* USE_ZS_URING */
