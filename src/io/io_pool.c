/*-------------------------------------------------------------------------
 *
 * io_pool.c
 *	  Method "pwritev": threads of the worker that write synchronously.
 *
 * It keeps as many requests in flight as io_uring does, and needs nothing of the system:
 * where io_uring does not exist or is refused, where writes of a killed process could not
 * be waited for (io_hazard.c), and beside buffered writes to large folios (io_cache.c).
 * A process that is killed is not gone before its threads' writes have ended.
 *
 * The threads know nothing of PostgreSQL: they block all signals, take a run off one list,
 * write, and put it on another.  They start with the first write.  Where they cannot, the
 * worker itself writes.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_pool.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "io_internal.h"

#define MAX_THREADS		16

/* Runs in order of arrival. */
typedef struct Queue
{
	ZsIoRun    *runs[ZSIO_MAX_DEPTH + 1];
	int			head;
	int			length;
} Queue;

/* all of this under the mutex, but for what only the worker itself uses */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_came = PTHREAD_COND_INITIALIZER;
static pthread_cond_t work_ended = PTHREAD_COND_INITIALIZER;
static Queue waiting;
static Queue finished;
static bool stopping;

/* the worker's */
static pthread_t threads[MAX_THREADS];
static int	nthreads = 0;
static int	wanted_threads = 0;
static bool started = false;
static int	npending = 0;		/* submitted and not yet reaped */

static void
push(Queue *queue, ZsIoRun *run)
{
	queue->runs[(queue->head + queue->length) % lengthof(queue->runs)] = run;
	queue->length++;
}

static ZsIoRun *
pop(Queue *queue)
{
	ZsIoRun    *run = queue->runs[queue->head];

	queue->head = (queue->head + 1) % lengthof(queue->runs);
	queue->length--;
	return run;
}

/* A thread.  Nothing in here may touch PostgreSQL's state, or report errors. */
static void *
write_runs(void *arg)
{
	uint16		priority = 0;	/* of this thread */

	pthread_mutex_lock(&mutex);
	while (!stopping)
	{
		ZsIoRun    *run;

		if (waiting.length == 0)
		{
			pthread_cond_wait(&work_came, &mutex);
			continue;
		}
		run = pop(&waiting);
		pthread_mutex_unlock(&mutex);
		if (run->priority != priority)
			run->priority_error = zsio_set_priority(run->priority);
		if (run->priority_error == 0)
			priority = run->priority;
		run->error = zsio_write_rest(run);
		pthread_mutex_lock(&mutex);
		push(&finished, run);
		pthread_cond_signal(&work_ended);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void
start_threads(void)
{
	sigset_t	all;
	sigset_t	old;

	started = true;
	stopping = false;
	/* signals are the worker's */
	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &old) != 0)
		return;
	while (nthreads < wanted_threads &&
		   pthread_create(&threads[nthreads], NULL, write_runs, NULL) == 0)
		nthreads++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static bool
pool_init(int depth, const char **reason)
{
	Assert(nthreads == 0 && npending == 0);
	wanted_threads = Min(depth, MAX_THREADS);
	waiting.length = finished.length = 0;
	started = false;
	return true;
}

void
zsio_method_finished(ZsIoRun *run)
{
	npending++;
	pthread_mutex_lock(&mutex);
	push(&finished, run);
	pthread_mutex_unlock(&mutex);
}

static bool
pool_submit(ZsIoRun *run)
{
	/* tests make the first write fail, or write less */
	run->first_length = run->nblocks * BLCKSZ - run->done;
	ZS_INJECTION_POINT_ARG("zs-io-pwrite", &run->first_length);
	if (run->cached)
		ZS_INJECTION_POINT_ARG("zs-io-write-back", &run->write_back);

	if (!started)
		start_threads();
	if (nthreads == 0)
	{
		run->error = zsio_write_rest(run);
		zsio_method_finished(run);
		return true;
	}
	run->priority = zsio_run_priority(run);
	npending++;
	pthread_mutex_lock(&mutex);
	push(&waiting, run);
	pthread_cond_signal(&work_came);
	pthread_mutex_unlock(&mutex);
	return true;
}

static ZsIoRun *
pool_reap(long timeout_us)
{
	ZsIoRun    *run = NULL;
	struct timespec until;

	if (npending == 0)
		return NULL;
	if (timeout_us > 0)
	{
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += timeout_us % 1000000 * 1000;
		until.tv_sec += timeout_us / 1000000 + until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
	}
	pthread_mutex_lock(&mutex);
	while (finished.length == 0 && timeout_us != 0)
	{
		if (timeout_us < 0)
			pthread_cond_wait(&work_ended, &mutex);
		else if (pthread_cond_timedwait(&work_ended, &mutex, &until) != 0)
			break;
	}
	if (finished.length > 0)
		run = pop(&finished);
	pthread_mutex_unlock(&mutex);
	if (run == NULL)
		return NULL;
	npending--;
	if (run->priority_error != 0)
		zsio_priority_refused(run->priority_error);
	return run;
}

static void
pool_shutdown(void)
{
	Assert(npending == 0);
	pthread_mutex_lock(&mutex);
	stopping = true;
	pthread_cond_broadcast(&work_came);
	pthread_mutex_unlock(&mutex);
	while (nthreads > 0)
		pthread_join(threads[--nthreads], NULL);
	started = false;
}

int
zsio_pool_pending(void)
{
	return npending;
}

const ZsIoMethodOps zsio_pwritev_ops = {
	.name = "pwritev",
	.method = ZSIO_METHOD_PWRITEV,
	.init = pool_init,
	.submit = pool_submit,
	.reap = pool_reap,
	.shutdown = pool_shutdown
};
