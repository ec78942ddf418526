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
 * Runs through the page cache are taken several at a time: the device has them together, and thread
 * and worker are woken up once for all.  So such a run calls a thread only if none works, if there
 * are enough of them for one more, or when the worker begins to wait.  Where processors are short
 * it takes a thread a while to come; until then it counts as working.
 *
 * What goes to the page cache the worker writes itself where that does not hold it up (io_own.c).
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
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "utils/memutils.h"

#include "io_worker.h"

#define MAX_THREADS		16
/* Runs through the page cache that a thread takes at a time. */
#define BATCH			8
/* Microseconds between two looks at what the worker wrote itself. */
#define OWN_LOOK_US		500

/* Runs in order of arrival. */
typedef struct Queue
{
	ZsIoRun    *runs[ZSIO_MAX_DEPTH + 1];
	int			head;
	int			length;
} Queue;

/* A worker's pool. */
typedef struct ZsIoPool
{
	/* under the mutex */
	pthread_mutex_t mutex;
	pthread_cond_t work_came;
	pthread_cond_t work_ended;
	Queue		waiting;
	Queue		finished;
	int			nworking;		/* threads that have runs */
	int			nsleeping;		/* threads that wait for work */
	int			ncalled;		/* of these: were woken up and do not know it yet */
	bool		stopping;

	/* the worker's */
	pthread_t	threads[MAX_THREADS];
	int			nthreads;
	int			wanted_threads;
	int			nice;			/* of threads, beyond the worker's */
	bool		started;
	int			npending;		/* submitted and not yet reaped */
} ZsIoPool;

static void
push(Queue *queue, ZsIoRun *run)
{
	Assert(queue->length >= 0 && queue->length < (int) lengthof(queue->runs));
	queue->runs[(queue->head + queue->length) % lengthof(queue->runs)] = run;
	queue->length++;
}

static ZsIoRun *
pop(Queue *queue)
{
	ZsIoRun    *run = queue->runs[queue->head];

	Assert(queue->length > 0);

	queue->head = (queue->head + 1) % lengthof(queue->runs);
	queue->length--;
	return run;
}

/*
 * Clients come first where processors are short: a thread does not interrupt them when its write
 * ends, and gets less time.  The worker itself, which has locks, stays as it is.  On Linux both
 * hold for the calling thread alone; elsewhere, or where they are refused, it goes on without.
 */
static void
step_back(int increment)
{
#ifdef __linux__
	struct sched_param param = {0};

	if (increment == 0)
		return;
	(void) sched_setscheduler(0, SCHED_BATCH, &param);
	(void) !nice(increment);
#endif
}

/*
 * Takes the next run off the list, and the next ones with it if all go through the page cache with
 * the same priority.  Returns how many.
 */
static int
pop_batch(Queue *queue, ZsIoRun **runs)
{
	int			n = 0;

	do
	{
		runs[n++] = pop(queue);
	} while (n < BATCH && queue->length > 0 && runs[0]->cached &&
			 queue->runs[queue->head]->cached &&
			 queue->runs[queue->head]->priority == runs[0]->priority);
	return n;
}

/* A thread.  Nothing in here may touch PostgreSQL's state, or report errors. */
static void *
write_runs(void *arg)
{
	ZsIoPool   *pool = arg;
	uint16		priority = 0;	/* of this thread */

	step_back(pool->nice);
	pthread_mutex_lock(&pool->mutex);
	while (!pool->stopping)
	{
		ZsIoRun    *runs[BATCH];
		int			nruns;

		if (pool->waiting.length == 0)
		{
			pool->nsleeping++;
			pthread_cond_wait(&pool->work_came, &pool->mutex);
			pool->nsleeping--;
			/* it may have come by itself */
			if (pool->ncalled > 0)
				pool->ncalled--;
			continue;
		}
		nruns = pop_batch(&pool->waiting, runs);
		pool->nworking++;
		pthread_mutex_unlock(&pool->mutex);
		if (runs[0]->priority != priority)
			runs[0]->priority_error = zsio_set_priority(runs[0]->priority);
		if (runs[0]->priority_error == 0)
			priority = runs[0]->priority;
		if (runs[0]->cached)
			zsio_write_cached(runs, nruns);
		else
			runs[0]->error = zsio_write_rest(runs[0], zsio_run_missing(runs[0]));
		pthread_mutex_lock(&pool->mutex);
		pool->nworking--;
		for (int i = 0; i < nruns; i++)
			push(&pool->finished, runs[i]);
		/* who is woken up finds the mutex free */
		pthread_mutex_unlock(&pool->mutex);
		pthread_cond_signal(&pool->work_ended);
		pthread_mutex_lock(&pool->mutex);
	}
	pthread_mutex_unlock(&pool->mutex);
	return NULL;
}

static void
start_threads(ZsIoPool *pool)
{
	sigset_t	all;
	sigset_t	old;

	Assert(pool->nthreads == 0);
	pool->started = true;
	pool->stopping = false;
	/* signals are the worker's */
	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &old) != 0)
		return;
	while (pool->nthreads < pool->wanted_threads &&
		   pthread_create(&pool->threads[pool->nthreads], NULL, write_runs, pool) == 0)
		pool->nthreads++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static bool
pool_init(ZsIoWorker *worker, int depth, const char **reason)
{
	ZsIoPool   *pool = worker->pool;

	if (pool == NULL)
	{
		pool = worker->pool = MemoryContextAllocZero(TopMemoryContext, sizeof(ZsIoPool));
		pthread_mutex_init(&pool->mutex, NULL);
		pthread_cond_init(&pool->work_came, NULL);
		pthread_cond_init(&pool->work_ended, NULL);
	}
	Assert(pool->nthreads == 0 && pool->npending == 0);
	pool->wanted_threads = Min(depth, MAX_THREADS);
	pool->nice = zsio_nice;
	pool->waiting.length = pool->finished.length = 0;
	pool->nsleeping = pool->ncalled = 0;
	pool->started = false;
	return true;
}

/* A run that ended already: it is reaped from here. */
void
zsio_pool_finished(ZsIoWorker *worker, ZsIoRun *run)
{
	ZsIoPool   *pool = worker->pool;

	Assert(run->state == ZSIO_RUN_IN_FLIGHT);
	pool->npending++;
	pthread_mutex_lock(&pool->mutex);
	push(&pool->finished, run);
	pthread_mutex_unlock(&pool->mutex);
}

/* Runs that are to be reaped from here. */
int
zsio_pool_pending(const ZsIoWorker *worker)
{
	return worker->pool->npending;
}

/* Tests make the first write fail, or write less; and writing the page cache back fail. */
static bool
is_tampered_with(ZsIoRun *run, ssize_t *first)
{
	ssize_t		wrote_back = 0;

	ZS_INJECTION_POINT_ARG("zs-io-pwrite", first);
	if (run->cached)
		ZS_INJECTION_POINT_ARG("zs-io-write-back", &wrote_back);
	if (wrote_back < 0)
	{
		run->error = -wrote_back;
		run->write_back_failed = true;
	}
	return run->error != 0 || *first != zsio_run_missing(run);
}

/*
 * Counts a thread that is to be woken up for what waits; false: all are awake, or about to be.
 * Under the mutex.
 */
static bool
call_thread(ZsIoPool *pool)
{
	Assert(pool->ncalled >= 0 && pool->ncalled <= pool->nsleeping);
	if (pool->ncalled == pool->nsleeping)
		return false;
	pool->ncalled++;
	return true;
}

static void
pool_submit(ZsIoWorker *worker, ZsIoRun *run)
{
	ZsIoPool   *pool = worker->pool;
	ssize_t		first = zsio_run_missing(run);
	bool		tampered = is_tampered_with(run, &first);
	bool		call;

	Assert(run->state == ZSIO_RUN_IN_FLIGHT);
	if (!tampered && zsio_own_submit(worker, run))
	{
		pool->npending++;
		return;
	}
	if (!pool->started)
		start_threads(pool);
	if (pool->nthreads == 0 || tampered)
	{
		if (run->error == 0)
			run->error = zsio_write_rest(run, first);
		zsio_pool_finished(worker, run);
		return;
	}
	run->priority = zsio_run_priority(worker, run);
	pool->npending++;
	pthread_mutex_lock(&pool->mutex);
	push(&pool->waiting, run);
	call = (!run->cached || pool->nworking + pool->ncalled == 0 ||
			pool->waiting.length >= BATCH * (pool->ncalled + 1)) && call_thread(pool);
	pthread_mutex_unlock(&pool->mutex);
	if (call)
		pthread_cond_signal(&pool->work_came);
}

/* Next run that a thread has ended, or NULL; waits as pool_reap(). */
static ZsIoRun *
wait_for_threads(ZsIoPool *pool, long timeout_us)
{
	ZsIoRun    *run = NULL;
	struct timespec until;

	if (timeout_us > 0)
	{
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += timeout_us % 1000000 * 1000;
		until.tv_sec += timeout_us / 1000000 + until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
	}
	pthread_mutex_lock(&pool->mutex);
	if (pool->finished.length == 0 && pool->waiting.length > 0 && timeout_us != 0 &&
		call_thread(pool))
		pthread_cond_signal(&pool->work_came);
	while (pool->finished.length == 0 && timeout_us != 0)
	{
		if (timeout_us < 0)
			pthread_cond_wait(&pool->work_ended, &pool->mutex);
		else if (pthread_cond_timedwait(&pool->work_ended, &pool->mutex, &until) != 0)
			break;
	}
	if (pool->finished.length > 0)
		run = pop(&pool->finished);
	pthread_mutex_unlock(&pool->mutex);
	return run;
}

static ZsIoRun *
pool_reap(ZsIoWorker *worker, long timeout_us)
{
	ZsIoPool   *pool = worker->pool;
	ZsIoRun    *run = NULL;
	bool		more = pool->npending > 0;

	while (run == NULL && more)
	{
		int			nown = zsio_own_pending(worker);
		long		us = timeout_us;

		/* nobody is woken up by the end of the worker's own writes */
		if (nown > 0 && (timeout_us < 0 || timeout_us > OWN_LOOK_US))
			us = OWN_LOOK_US;
		more = us != timeout_us;
		if (timeout_us > 0)
			timeout_us -= us;
		run = zsio_own_reap(worker, us != 0);
		if (run == NULL && (us != 0 || nown < pool->npending))
			run = wait_for_threads(pool, us);
	}
	if (run == NULL)
		return NULL;
	pool->npending--;
	Assert(pool->npending >= 0);
	if (run->priority_error != 0)
		zsio_priority_refused(worker, run->priority_error);
	return run;
}

static void
pool_shutdown(ZsIoWorker *worker)
{
	ZsIoPool   *pool = worker->pool;

	Assert(pool->npending == 0);
	pthread_mutex_lock(&pool->mutex);
	pool->stopping = true;
	pthread_cond_broadcast(&pool->work_came);
	pthread_mutex_unlock(&pool->mutex);
	while (pool->nthreads > 0)
		pthread_join(pool->threads[--pool->nthreads], NULL);
	pool->started = false;
}

const ZsIoMethodOps zsio_pwritev_ops = {
	.name = "pwritev",
	.method = ZSIO_METHOD_PWRITEV,
	.init = pool_init,
	.submit = pool_submit,
	.reap = pool_reap,
	.shutdown = pool_shutdown
};
