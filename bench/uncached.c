/*-------------------------------------------------------------------------
 *
 * uncached.c
 *	  Ways to bring blocks of a file to the device while others use the page cache.
 *
 *	  uncached FILE MEGABYTES KILOBYTES DEPTH SECONDS
 *
 * Writes requests of that many kilobytes at random places of the file, DEPTH of them in
 * flight, by each of these ways, in turn, SECONDS each:
 *
 *	  threads	a thread per request, pwrite() with O_DIRECT: what the I/O workers do where
 *				large folios forbid asynchronous direct writes
 *	  cached	the same through the page cache, then sync_file_range()
 *	  uncached	the same with RWF_DONTCACHE (Linux 6.14)
 *	  ring		io_uring with RWF_DONTCACHE, linked with sync_file_range()
 *	  direct	io_uring with O_DIRECT: not possible beside buffered writes of large folios
 *
 * Prints for each way: requests a second, microseconds of processor time a request (the
 * kernel's threads for the ring included), median and 99th percentile of a request's
 * milliseconds, and megabytes of the file in the page cache at the end.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * bench/uncached.c
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x80
#endif

#define MAX_DEPTH 64
#define MAX_REQUESTS 4000000
#define WAIT_FOR_DEVICE \
	(SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER)

static const char *path;
static uint64_t file_size;
static size_t length;
static int	depth;
static double seconds;

static char *data;
static int	fd;
static double ends;
static double *latencies;
static uint64_t nrequests;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void
die(const char *what, int error)
{
	fprintf(stderr, "uncached: %s: %s\n", what, strerror(error));
	exit(1);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static double
processor_time(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static off_t
random_place(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (off_t) (*state % (file_size / length) * length);
}

static void
finished(double since)
{
	pthread_mutex_lock(&lock);
	if (nrequests < MAX_REQUESTS)
		latencies[nrequests++] = now() - since;
	pthread_mutex_unlock(&lock);
}

/* ---- threads ---------------------------------------------------------------------- */

typedef struct Writer
{
	uint64_t	state;
	int			flags;			/* RWF_* */
	bool		sync;			/* wait for the device after the write */
} Writer;

static void *
write_requests(void *arg)
{
	Writer	   *me = arg;

	while (now() < ends)
	{
		struct iovec iov = {data, length};
		off_t		place = random_place(&me->state);
		double		since = now();

		if (pwritev2(fd, &iov, 1, place, me->flags) != (ssize_t) length)
			die("write", errno);
		if (me->sync && sync_file_range(fd, place, length, WAIT_FOR_DEVICE) != 0)
			die("sync_file_range", errno);
		finished(since);
	}
	return NULL;
}

static void
by_threads(int flags, bool sync)
{
	pthread_t	threads[MAX_DEPTH];
	Writer		writers[MAX_DEPTH];

	for (int i = 0; i < depth; i++)
	{
		writers[i] = (Writer) {.state = 88172645463325252ULL + i,.flags = flags,.sync = sync};
		pthread_create(&threads[i], NULL, write_requests, &writers[i]);
	}
	for (int i = 0; i < depth; i++)
		pthread_join(threads[i], NULL);
}

/* ---- io_uring --------------------------------------------------------------------- */

typedef struct Slot
{
	double		since;
	int			parts;			/* completions to come */
} Slot;

/* Queues a write, and what waits for the device behind it. */
static void
queue_request(struct io_uring *ring, Slot *slot, uint64_t *state, int flags, bool sync)
{
	off_t		place = random_place(state);
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_write(sqe, fd, data, length, place);
	sqe->rw_flags = flags;
	io_uring_sqe_set_data(sqe, slot);
	slot->since = now();
	slot->parts = 1;
	if (sync)
	{
		io_uring_sqe_set_flags(sqe, IOSQE_IO_LINK);
		sqe = io_uring_get_sqe(ring);
		io_uring_prep_sync_file_range(sqe, fd, length, place, WAIT_FOR_DEVICE);
		io_uring_sqe_set_data(sqe, slot);
		slot->parts = 2;
	}
}

static void
by_ring(int flags, bool sync)
{
	struct io_uring ring;
	struct io_uring_params params = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN
	};
	Slot		slots[MAX_DEPTH];
	uint64_t	state = 88172645463325252ULL;
	int			in_flight = 0;
	int			error = io_uring_queue_init_params(2 * MAX_DEPTH, &ring, &params);

	if (error < 0)
		die("io_uring", -error);
	for (; in_flight < depth; in_flight++)
		queue_request(&ring, &slots[in_flight], &state, flags, sync);
	while (in_flight > 0)
	{
		struct io_uring_cqe *cqe;

		io_uring_submit_and_wait(&ring, 1);
		while (io_uring_peek_cqe(&ring, &cqe) == 0)
		{
			Slot	   *slot = io_uring_cqe_get_data(cqe);

			if (cqe->res < 0)
				die("completion", -cqe->res);
			io_uring_cqe_seen(&ring, cqe);
			if (--slot->parts > 0)
				continue;
			finished(slot->since);
			if (now() < ends)
				queue_request(&ring, slot, &state, flags, sync);
			else
				in_flight--;
		}
	}
	io_uring_queue_exit(&ring);
}

/* ---- main -------------------------------------------------------------------------- */

static int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

static double
cached_megabytes(void)
{
	size_t		pages = file_size / 4096;
	unsigned char *resident = malloc(pages);
	void	   *map = mmap(NULL, file_size, PROT_READ, MAP_SHARED, fd, 0);
	size_t		n = 0;

	if (map == MAP_FAILED || mincore(map, file_size, resident) != 0)
		die("mincore", errno);
	for (size_t i = 0; i < pages; i++)
		n += resident[i] & 1;
	munmap(map, file_size);
	free(resident);
	return n * 4096 / 1e6;
}

static void
measure(const char *name, bool ring, int open_flags, int flags, bool sync)
{
	double		began;
	double		processor;

	fd = open(path, O_RDWR | open_flags);
	if (fd < 0)
		die(path, errno);
	fdatasync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	nrequests = 0;
	began = now();
	ends = began + seconds;
	processor = processor_time();
	if (ring)
		by_ring(flags, sync);
	else
		by_threads(flags, sync);
	processor = processor_time() - processor;
	began = now() - began;
	qsort(latencies, nrequests, sizeof(double), compare_doubles);
	printf("%s\t%.0f\t%.1f\t%.2f\t%.2f\t%.0f\n", name, nrequests / began,
		   processor * 1e6 / nrequests, latencies[nrequests / 2] * 1e3,
		   latencies[nrequests * 99 / 100] * 1e3, cached_megabytes());
	fflush(stdout);
	close(fd);
}

int
main(int argc, char **argv)
{
	if (argc != 6)
	{
		fprintf(stderr, "usage: uncached FILE MEGABYTES KILOBYTES DEPTH SECONDS\n");
		return 1;
	}
	path = argv[1];
	file_size = strtoull(argv[2], NULL, 10) << 20;
	length = strtoull(argv[3], NULL, 10) << 10;
	depth = atoi(argv[4]);
	seconds = atof(argv[5]);
	if (depth < 1 || depth > MAX_DEPTH || length == 0 || file_size < length)
		die("arguments", EINVAL);
	data = aligned_alloc(4096, length);
	latencies = malloc(sizeof(double) * MAX_REQUESTS);
	for (size_t i = 0; i < length; i++)
		data[i] = (char) (i * 2654435761u >> 13);

	/* blocks that were written before, as those of relations are */
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (uint64_t at = 0; at + length <= file_size; at += length)
	{
		if (pwrite(fd, data, length, (off_t) at) != (ssize_t) length)
			die(path, errno);
	}
	close(fd);

	printf("way\trequests/s\tus/request\tmedian ms\tp99 ms\tMB cached\n");
	measure("threads", false, O_DIRECT, 0, false);
	measure("cached", false, 0, 0, true);
	measure("uncached", false, 0, RWF_DONTCACHE, true);
	measure("ring", true, 0, RWF_DONTCACHE, true);
	measure("direct", true, O_DIRECT, 0, false);
	unlink(path);
	return 0;
}
