/*-------------------------------------------------------------------------
 *
 * io_calibrate.c
 *	  zs_io_calibrate(): what a tablespace's device does, measured.
 *
 * Requests at random places of a scratch file, direct ones where the file system
 * lets them: reads and writes of several sizes, one at a time and many in flight.  The
 * file is in the tablespace's folder for temporary files, which base backups leave out
 * and the server empties when it starts, and it loses its name as soon as it is
 * open: whatever becomes of this process, nothing stays behind.
 *
 * Requests in flight use memory of this process, so every way out waits for
 * them.  Many in flight takes io_uring; without it only single requests are
 * measured.  'pg_wal' is another matter: io_calibrate_wal.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_calibrate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef USE_ZS_URING
#include <liburing.h>
#endif

#include "catalog/pg_tablespace_d.h"
#include "commands/tablespace.h"
#include "common/file_utils.h"
#include "common/pg_prng.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "storage/fd.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "io_calibrate.h"
#include "io_internal.h"
#include "zs_base.h"

PG_FUNCTION_INFO_V1(zs_io_calibrate);

#define FILE_BYTES		((off_t) 256 * 1024 * 1024)
#define MAX_REQUEST		(1024 * 1024)
#define MAX_DEPTH		32

/* Part of the time that goes into writing the file for the first time, at most. */
#define FILL_PART		0.25

/* Between two looks for interrupts while requests are in flight. */
#define WAIT_MS			100

/* What is within 10 % of the best is as good. */
#define GOOD_ENOUGH		0.9

typedef struct Slot
{
	char	   *data;
	instr_time	started;
	bool		busy;
} Slot;

typedef struct Scratch
{
	int			fd;
	bool		direct;
	bool		has_ring;
	off_t		size;			/* written so far: requests stay below */
	int			in_flight;
	Slot		slots[MAX_DEPTH];
	pg_prng_state random;
#ifdef USE_ZS_URING
	struct io_uring ring;
#endif
} Scratch;

static uint32 wait_event = 0;

static double
seconds_since(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_DOUBLE(now);
}

/* ---- the file ---------------------------------------------------------------------- */

ZS_NORETURN static void
fail(const char *what, int error)
{
	zsio_calibrate_fail(what, error, FILE_BYTES, "the tablespace");
}

static void
open_scratch(Scratch *scratch, Oid tablespace)
{
	char		dir[MAXPGPATH];
	char		path[MAXPGPATH + 64];

	TempTablespacePath(dir, tablespace);
	if (MakePGDirectory(dir) < 0 && errno != EEXIST)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not create directory \"%s\": %m", dir)));
	snprintf(path, sizeof(path), "%s/%s%d.zs_io_calibrate", dir, PG_TEMP_FILE_PREFIX, MyProcPid);

	scratch->fd = -1;
	scratch->direct = false;
	if (PG_O_DIRECT != 0)
	{
		scratch->fd = OpenTransientFile(path, O_RDWR | O_CREAT | O_TRUNC | PG_BINARY | PG_O_DIRECT);
		scratch->direct = scratch->fd >= 0;
	}
	if (scratch->fd < 0 && (PG_O_DIRECT == 0 || errno == EINVAL))
		scratch->fd = OpenTransientFile(path, O_RDWR | O_CREAT | O_TRUNC | PG_BINARY);
	if (scratch->fd < 0)
		fail("create", errno);
	if (unlink(path) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not remove file \"%s\": %m", path)));
}

/*
 * Writes the file from the beginning, as far as the time lasts: requests are to meet written
 * blocks.
 */
static void
fill(Scratch *scratch, double seconds)
{
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	while (scratch->size < FILE_BYTES &&
		   (scratch->size < 4 * MAX_REQUEST || seconds_since(start) < seconds))
	{
		ssize_t		n;

		CHECK_FOR_INTERRUPTS();
		errno = 0;
		pgstat_report_wait_start(wait_event);
		n = pg_pwrite(scratch->fd, scratch->slots[0].data, MAX_REQUEST, scratch->size);
		pgstat_report_wait_end();
		if (n < 0 && errno == EINTR)
			continue;
		if (n != MAX_REQUEST)
			fail("write", errno != 0 ? errno : ENOSPC);
		scratch->size += n;
	}
	if (pg_fsync(scratch->fd) != 0)
		fail("sync", errno);
}

/* ---- requests ------------------------------------------------------------------------ */

/* Where a request of that size begins: at a multiple of it, within what was written. */
static off_t
random_offset(Scratch *scratch, int request)
{
	Assert(request > 0 && scratch->size >= request);
	return (off_t) pg_prng_uint64_range(&scratch->random, 0, scratch->size / request - 1) * request;
}

/* A request has ended. */
static void
count(ZsIoCalibration *cell, Slot *slot)
{
	double		seconds = seconds_since(slot->started);

	Assert(seconds >= 0);
	cell->requests++;
	cell->latency += seconds;
	cell->slowest = Max(cell->slowest, seconds);
	slot->busy = false;
}

/* One request, and its end. */
static void
request_now(Scratch *scratch, ZsIoCalibration *cell, Slot *slot)
{
	off_t		offset = random_offset(scratch, cell->request);
	ssize_t		n;

	Assert(!slot->busy && cell->request <= MAX_REQUEST);
	INSTR_TIME_SET_CURRENT(slot->started);
	pgstat_report_wait_start(wait_event);
	errno = 0;
	n = cell->write ? pg_pwrite(scratch->fd, slot->data, cell->request, offset) :
		pg_pread(scratch->fd, slot->data, cell->request, offset);
	pgstat_report_wait_end();
	if (n != cell->request && errno != EINTR)
		fail(cell->write ? "write" : "read", errno != 0 ? errno : EIO);
	count(cell, slot);
}

#ifdef USE_ZS_URING

static void
submit(Scratch *scratch, ZsIoCalibration *cell, Slot *slot)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&scratch->ring);
	off_t		offset = random_offset(scratch, cell->request);
	int			n;

	Assert(sqe != NULL && !slot->busy);
	Assert(scratch->in_flight < MAX_DEPTH);
	Assert(cell->request <= MAX_REQUEST);
	if (cell->write)
		io_uring_prep_write(sqe, scratch->fd, slot->data, cell->request, offset);
	else
		io_uring_prep_read(sqe, scratch->fd, slot->data, cell->request, offset);
	io_uring_sqe_set_data(sqe, slot);
	INSTR_TIME_SET_CURRENT(slot->started);
	slot->busy = true;
	scratch->in_flight++;
	do
	{
		n = io_uring_submit(&scratch->ring);
	} while (n == -EINTR || n == -EAGAIN);
	if (n < 0)
	{
		slot->busy = false;
		scratch->in_flight--;
		fail("start a request to", -n);
	}
}

/* The slot whose request ended, with its result; NULL: none within the time. */
static Slot *
reap(Scratch *scratch, int *result)
{
	struct io_uring_cqe *cqe = NULL;
	struct __kernel_timespec timeout = {.tv_nsec = WAIT_MS * 1000000};
	Slot	   *slot;
	int			error;

	pgstat_report_wait_start(wait_event);
	error = io_uring_wait_cqe_timeout(&scratch->ring, &cqe, &timeout);
	pgstat_report_wait_end();
	if (error < 0 || cqe == NULL)
		return NULL;
	slot = io_uring_cqe_get_data(cqe);
	*result = cqe->res;
	io_uring_cqe_seen(&scratch->ring, cqe);
	if (slot != NULL)
		scratch->in_flight--;
	Assert(scratch->in_flight >= 0);
	return slot;
}

/* Waits for all that is in flight; part of every way out. */
static void
drain(Scratch *scratch)
{
	int			result;

	while (scratch->in_flight > 0)
	{
		Slot	   *slot = reap(scratch, &result);

		if (slot != NULL)
			slot->busy = false;
	}
}

static void
start_ring(Scratch *scratch)
{
	scratch->has_ring = io_uring_queue_init(MAX_DEPTH, &scratch->ring, 0) == 0;
}

static void
stop_ring(Scratch *scratch)
{
	if (!scratch->has_ring)
		return;
	drain(scratch);
	io_uring_queue_exit(&scratch->ring);
	scratch->has_ring = false;
}

/* Keeps that many requests in flight until the time is over. */
static void
run_deep(Scratch *scratch, ZsIoCalibration *cell, double seconds)
{
	instr_time	start;
	int			result;

	Assert(scratch->has_ring && scratch->in_flight == 0);
	INSTR_TIME_SET_CURRENT(start);
	for (int i = 0; i < cell->depth; i++)
		submit(scratch, cell, &scratch->slots[i]);
	while (scratch->in_flight > 0)
	{
		Slot	   *slot = reap(scratch, &result);

		CHECK_FOR_INTERRUPTS();
		if (slot == NULL)
			continue;
		if (result != cell->request)
			fail(cell->write ? "write" : "read", result < 0 ? -result : EIO);
		count(cell, slot);
		if (seconds_since(start) < seconds)
			submit(scratch, cell, slot);
	}
	cell->seconds = seconds_since(start);
}

#else							/* !USE_ZS_URING */

static void
start_ring(Scratch *scratch)
{
}

static void
stop_ring(Scratch *scratch)
{
}

static void
run_deep(Scratch *scratch, ZsIoCalibration *cell, double seconds)
{
	Assert(false);
}

#endif							/* USE_ZS_URING */

static void
run_cell(Scratch *scratch, ZsIoCalibration *cell, double seconds)
{
	instr_time	start;

	if (cell->depth > 1)
	{
		run_deep(scratch, cell, seconds);
		return;
	}
	INSTR_TIME_SET_CURRENT(start);
	do
	{
		CHECK_FOR_INTERRUPTS();
		request_now(scratch, cell, &scratch->slots[0]);
	} while (seconds_since(start) < seconds);
	cell->seconds = seconds_since(start);
}

/* ---- all of it -------------------------------------------------------------------------- */

static const int sizes[] = {8192, 65536, 262144, 1048576};
static const int depths[] = {1, 8, MAX_DEPTH};

#define NCELLS	((int) (2 * lengthof(sizes) * lengthof(depths)))

/* Fills the cells, each in its part of the time; returns how many there are. */
static int
measure(Scratch *scratch, ZsIoCalibration *cells, double seconds)
{
	int			ndepths = scratch->has_ring ? lengthof(depths) : 1;
	double		each;
	int			n = 0;

	fill(scratch, seconds * FILL_PART);
	each = seconds * (1 - FILL_PART) / (2 * lengthof(sizes) * ndepths);
	for (int op = 0; op < 2; op++)
	{
		for (int i = 0; i < (int) lengthof(sizes); i++)
		{
			for (int j = 0; j < ndepths; j++)
			{
				cells[n].write = op == 1;
				cells[n].request = sizes[i];
				cells[n].depth = depths[j];
				run_cell(scratch, &cells[n++], each);
			}
		}
	}
	Assert(n <= NCELLS);
	return n;
}

static double
bytes_per_second(const ZsIoCalibration *cell)
{
	return cell->requests * (double) cell->request / Max(cell->seconds, 1e-6);
}

/*
 * The writes to recommend: the fewest in flight, then the smallest, which are as fast as
 * any.
 */
static const ZsIoCalibration *
recommend(const ZsIoCalibration *cells, int n)
{
	const ZsIoCalibration *chosen = NULL;
	double		best = 0;

	Assert(n > 0);
	for (int i = 0; i < n; i++)
	{
		if (cells[i].write)
			best = Max(best, bytes_per_second(&cells[i]));
	}
	for (int i = 0; i < n; i++)
	{
		if (cells[i].write && bytes_per_second(&cells[i]) >= best * GOOD_ENOUGH &&
			(chosen == NULL || cells[i].depth < chosen->depth))
			chosen = &cells[i];
	}
	return chosen;
}

static void
put_cell(ReturnSetInfo *rsinfo, const Scratch *scratch, const ZsIoCalibration *cell,
		 bool recommended)
{
	const char *advice = NULL;

	Assert(cell->request > 0 && cell->depth > 0);
	if (recommended && scratch->direct)
		advice = psprintf("zedstore.io_request_size = %dkB, "
						  "zedstore.io_queue_depth = %d; as limits for "
						  "background writes zedstore.io_max_iops = %.0f or "
						  "zedstore.io_max_bandwidth = %.0fkB leave half of "
						  "it to others",
						  cell->request / 1024, cell->depth,
						  Max(cell->requests / cell->seconds / 2, 1),
						  Max(bytes_per_second(cell) / 1024 / 2, 1));
	else if (recommended)
		advice = "The file system refuses direct I/O: the page cache was measured, not the "
			"device.";
	zsio_calibrate_put(rsinfo, cell->write ? "write" : "read", cell, advice);
}

static void
calibrate(ReturnSetInfo *rsinfo, Scratch *scratch, Oid tablespace, double seconds)
{
	ZsIoCalibration cells[NCELLS];
	const ZsIoCalibration *recommended;
	int			n;

	memset(cells, 0, sizeof(cells));
	open_scratch(scratch, tablespace);
	start_ring(scratch);
	PG_TRY();
	{
		n = measure(scratch, cells, seconds);
	}
	PG_FINALLY();
	{
		stop_ring(scratch);
	}
	PG_END_TRY();
	CloseTransientFile(scratch->fd);

	recommended = recommend(cells, n);
	for (int i = 0; i < n; i++)
		put_cell(rsinfo, scratch, &cells[i], &cells[i] == recommended);
}

/* zs_io_calibrate(tablespace, seconds): a row for each kind of request. */
Datum
zs_io_calibrate(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	bool		of_wal = strcmp(NameStr(*PG_GETARG_NAME(0)), "pg_wal") == 0;
	Oid			tablespace = get_tablespace_oid(NameStr(*PG_GETARG_NAME(0)), of_wal);
	double		seconds = PG_GETARG_FLOAT8(1);
	Scratch    *scratch;

	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to call %s", "zs_io_calibrate()")));
	if (!(seconds > 0 && seconds <= 3600))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("calibration must last more than 0 and at most 3600 seconds")));
	zsbase_srf_init(fcinfo, CALIBRATE_COLUMNS);
	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("ZedstoreIoCalibrate");

	/* no tablespace can have a name that begins so */
	if (of_wal)
	{
		zsio_calibrate_wal(rsinfo, seconds, wait_event);
		return (Datum) 0;
	}
	scratch = palloc0(sizeof(Scratch));
	pg_prng_seed(&scratch->random, MyProcPid);
	for (int i = 0; i < MAX_DEPTH; i++)
	{
		uint64	   *words = palloc_aligned(MAX_REQUEST, PG_IO_ALIGN_SIZE, 0);

		/* no device is to make less of it */
		for (int j = 0; j < MAX_REQUEST / (int) sizeof(uint64); j++)
			words[j] = pg_prng_uint64(&scratch->random);
		scratch->slots[i].data = (char *) words;
	}
	calibrate(rsinfo, scratch, tablespace, seconds);
	return (Datum) 0;
}
