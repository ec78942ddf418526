/*-------------------------------------------------------------------------
 *
 * io_calibrate_wal.c
 *	  zs_io_calibrate('pg_wal'): what it takes to make WAL durable, by way of doing it.
 *
 * Small writes to a scratch file in pg_wal, each of them synchronized: by fdatasync(), by fsync(),
 * by opening the file so, and so around the page cache.  In turn to the next 8 kB, as a
 * commit does that fills its page, or to the same ones again ("same page"), as commits of few bytes
 * do.  By one writer, which is how the server writes its WAL, and by eight, which shows whether the
 * device would do more: if so, commits that share a write gain (commit_delay).
 *
 * The writers are threads, since each waits in a system call.  They call nothing of the server's
 * and take no signals; every way out stops and joins them.  The file is written before, as the
 * server's segments are, and has lost its name by then.  Its name is one that the server removes
 * when it starts.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_calibrate_wal.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/tuplestore.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "common/pg_prng.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "io_calibrate.h"
#include "io_internal.h"
#include "zs_compat.h"

#define WRITERS			8
#define WRITE_BYTES		8192

/* Each writer has its own part of the file. */
#define PART_BYTES		((off_t) 4 * 1024 * 1024)

/* Between two looks for interrupts. */
#define WAIT_MS			20

/* What is within 10 % of the best is as good; the server's default comes first. */
#define GOOD_ENOUGH		0.9

typedef struct Way
{
	const char *operation;
	const char *method;			/* wal_sync_method; NULL: none does that by itself */
	int			open_flags;
	bool		same_page;
	int			(*sync) (int fd);	/* or NULL */
} Way;

static const Way ways[] = {
	{"fdatasync", "fdatasync", 0, false, fdatasync},
	{"fsync", "fsync", 0, false, fsync},
	{"open_datasync", "open_datasync", O_DSYNC, false, NULL},
#if PG_O_DIRECT != 0
	{"open_datasync, direct", NULL, O_DSYNC | PG_O_DIRECT, false, NULL},
#endif
	{"fdatasync, same page", NULL, 0, true, fdatasync},
	{"open_datasync, same page", NULL, O_DSYNC, true, NULL},
};

typedef struct Crew Crew;

typedef struct Writer
{
	pthread_t	thread;
	Crew	   *crew;
	int			number;
	uint64		requests;
	double		latency;		/* sum, seconds */
	double		slowest;
	int			error;			/* errno of a write that failed, or 0 */
} Writer;

/* The writers of one measurement. */
struct Crew
{
	const Way  *way;
	int			fd;
	const char *data;			/* WRITE_BYTES, aligned */
	volatile sig_atomic_t stop;
	int			nwriters;		/* threads that run */
	Writer		writers[WRITERS];
};

/*
 * Raises the error that the calibration could not do that, a verb, with its scratch file; error:
 * errno.
 */
void
zsio_calibrate_fail(const char *what, int error, uint64 bytes, const char *where)
{
	errno = error;
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not %s the scratch file for calibration: %m", what),
			 error == ENOSPC ?
			 errhint("zs_io_calibrate() needs up to %d MB in %s.",
					 (int) (bytes / (1024 * 1024)), where) : 0));
}

ZS_NORETURN static void
fail(const char *what, int error)
{
	zsio_calibrate_fail(what, error, WRITERS * PART_BYTES, "pg_wal");
}

/* A row of the result: see io_calibrate.h. */
void
zsio_calibrate_put(ReturnSetInfo *rsinfo, const char *operation, const ZsIoCalibration *cell,
				   const char *advice)
{
	Datum		values[CALIBRATE_COLUMNS];
	bool		nulls[CALIBRATE_COLUMNS] = {0};
	double		iops = cell->requests / Max(cell->seconds, 1e-6);
	int			n = 0;

	values[n++] = CStringGetTextDatum(operation);
	values[n++] = Int32GetDatum(cell->request / 1024);
	values[n++] = Int32GetDatum(cell->depth);
	values[n++] = Int64GetDatum((int64) cell->requests);
	values[n++] = Float8GetDatum(iops);
	values[n++] = Float8GetDatum(iops * cell->request / (1024 * 1024));
	values[n++] = Float8GetDatum(cell->latency * 1000 / Max(cell->requests, 1));
	values[n++] = Float8GetDatum(cell->slowest * 1000);
	nulls[n] = advice == NULL;
	values[n++] = advice == NULL ? (Datum) 0 : CStringGetTextDatum(advice);
	Assert(n == lengthof(values));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

static double
now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* A thread.  At least one write each. */
static void *
write_and_sync(void *arg)
{
	Writer	   *writer = arg;
	Crew	   *crew = writer->crew;
	const Way  *way = crew->way;
	off_t		first = writer->number * PART_BYTES;
	off_t		offset = first;

	do
	{
		double		started = now_seconds();
		double		took;

		errno = 0;
		if (pwrite(crew->fd, crew->data, WRITE_BYTES, offset) != WRITE_BYTES ||
			(way->sync != NULL && way->sync(crew->fd) != 0))
		{
			writer->error = errno == 0 ? ENOSPC : errno;
			break;
		}
		took = now_seconds() - started;
		writer->requests++;
		writer->latency += took;
		writer->slowest = Max(writer->slowest, took);
		if (!way->same_page)
			offset = first + (offset - first + WRITE_BYTES) % PART_BYTES;
	} while (!crew->stop);
	return NULL;
}

static void
join_writers(Crew *crew)
{
	crew->stop = true;
	while (crew->nwriters > 0)
		pthread_join(crew->writers[--crew->nwriters].thread, NULL);
}

/* As a callback: the session may end, too, and its files and memory with it. */
static void
stop_writers(int code, Datum arg)
{
	Assert(DatumGetPointer(arg) != NULL);
	join_writers((Crew *) DatumGetPointer(arg));
}

/* Returns how many could be started. */
static int
start_writers(Crew *crew, int n)
{
	sigset_t	all;
	sigset_t	old;

	Assert(crew->nwriters == 0 && n <= WRITERS);
	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &old) != 0)
		return 0;
	while (crew->nwriters < n)
	{
		Writer	   *writer = &crew->writers[crew->nwriters];

		writer->crew = crew;
		writer->number = crew->nwriters;
		if (pthread_create(&writer->thread, NULL, write_and_sync, writer) != 0)
			break;
		crew->nwriters++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return crew->nwriters;
}

/* One way, n at a time: fills the cell in. */
static void
run_writers(const Way *way, int fd, const char *data, int n, double seconds, uint32 wait_event,
			ZsIoCalibration *cell)
{
	Crew	   *crew = palloc0_object(Crew);
	double		started = now_seconds();
	int			running;

	crew->way = way;
	crew->fd = fd;
	crew->data = data;
	running = start_writers(crew, n);
	PG_ENSURE_ERROR_CLEANUP(stop_writers, PointerGetDatum(crew));
	{
		while (running > 0 && now_seconds() - started < seconds)
		{
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
							 Min(WAIT_MS, (long) (seconds * 1000) + 1), wait_event);
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
	}
	PG_END_ENSURE_ERROR_CLEANUP(stop_writers, PointerGetDatum(crew));
	join_writers(crew);
	cell->seconds = now_seconds() - started;
	for (int i = 0; i < running; i++)
	{
		const Writer *writer = &crew->writers[i];

		if (writer->error != 0)
			fail("write to", writer->error);
		cell->requests += writer->requests;
		cell->latency += writer->latency;
		cell->slowest = Max(cell->slowest, writer->slowest);
	}
	pfree(crew);
}

/*
 * The same file opened once for each way; without a name from then on.  fds[i] is -1 where the file
 * system refuses a way.
 */
static void
open_files(int *fds)
{
	char		path[MAXPGPATH];
	char	   *zeros = palloc0(PART_BYTES);

	snprintf(path, sizeof(path), XLOGDIR "/xlogtemp.%d.zs_io_calibrate", MyProcPid);
	for (int i = 0; i < (int) lengthof(ways); i++)
	{
		fds[i] = OpenTransientFile(path, O_RDWR | PG_BINARY | ways[i].open_flags |
								   (i == 0 ? O_CREAT | O_TRUNC : 0));
		if (fds[i] < 0 && (i == 0 || errno != EINVAL))
		{
			int			error = errno;

			(void) unlink(path);
			fail(i == 0 ? "create" : "open", error);
		}
	}
	if (unlink(path) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not remove file \"%s\": %m", path)));
	for (int i = 0; i < WRITERS; i++)
	{
		CHECK_FOR_INTERRUPTS();
		errno = 0;
		if (pg_pwrite(fds[0], zeros, PART_BYTES, i * PART_BYTES) != PART_BYTES)
			fail("write to", errno == 0 ? ENOSPC : errno);
	}
	if (pg_fsync(fds[0]) != 0)
		fail("synchronize", errno);
	pfree(zeros);
}

/* The method to take: the first one that is about as fast as any, for a single writer. */
static int
choose_method(const ZsIoCalibration *cells)
{
	double		best = 0;

	for (int i = 0; i < (int) lengthof(ways); i++)
	{
		if (ways[i].method != NULL && cells[i].seconds > 0)
			best = Max(best, cells[i].requests / cells[i].seconds);
	}
	for (int i = 0; i < (int) lengthof(ways); i++)
	{
		if (ways[i].method != NULL && cells[i].seconds > 0 &&
			cells[i].requests / cells[i].seconds >= best * GOOD_ENOUGH)
			return i;
	}
	return 0;
}

/* Rows for each way and one and eight writers.  Takes so many seconds in all. */
void
zsio_calibrate_wal(ReturnSetInfo *rsinfo, double seconds, uint32 wait_event)
{
	static const int depths[] = {1, WRITERS};
	ZsIoCalibration cells[lengthof(depths)][lengthof(ways)];
	int			fds[lengthof(ways)];
	uint64	   *data = palloc_aligned(WRITE_BYTES, PG_IO_ALIGN_SIZE, 0);
	int			chosen;

	for (int i = 0; i < WRITE_BYTES / (int) sizeof(uint64); i++)
		data[i] = pg_prng_uint64(&pg_global_prng_state);
	memset(cells, 0, sizeof(cells));
	open_files(fds);
	for (int d = 0; d < (int) lengthof(depths); d++)
	{
		for (int i = 0; i < (int) lengthof(ways); i++)
		{
			cells[d][i].request = WRITE_BYTES;
			cells[d][i].depth = depths[d];
			if (fds[i] >= 0)
				run_writers(&ways[i], fds[i], (const char *) data, depths[d],
							seconds / (lengthof(depths) * lengthof(ways)), wait_event,
							&cells[d][i]);
		}
	}
	for (int i = 0; i < (int) lengthof(ways); i++)
	{
		if (fds[i] >= 0)
			CloseTransientFile(fds[i]);
	}
	chosen = choose_method(cells[0]);
	for (int d = 0; d < (int) lengthof(depths); d++)
	{
		for (int i = 0; i < (int) lengthof(ways); i++)
			zsio_calibrate_put(rsinfo, ways[i].operation, &cells[d][i],
							   d > 0 || i != chosen ? NULL :
							   psprintf("wal_sync_method = %s", ways[i].method));
	}
	pfree(data);
}
