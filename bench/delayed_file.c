/*-------------------------------------------------------------------------
 *
 * delayed_file.c
 *	  One file whose every read and write takes so long, many of them at the same time.
 *
 *	delayed_file FOLDER BACKING MICROSECONDS THREADS
 *
 * A file system (FUSE) at FOLDER with one file, "volume", that is the file BACKING.  From the
 * signal SIGUSR1 on, until SIGUSR2, each request is answered MICROSECONDS after it came at the
 * soonest, and up to THREADS of them wait side by side.  Under a loop device that makes a volume
 * with a latency and without a limit of requests, as one across a network is.  Nothing is cached
 * here, and a write that was answered is done, so there is nothing to flush.  Runs in the
 * foreground, until FOLDER is unmounted.  Needs root.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * bench/delayed_file.c
 *
 *-------------------------------------------------------------------------
 */
#define FUSE_USE_VERSION 312
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILE_NAME	"volume"
#define FILE_INODE	2
#define MAX_REQUEST (1024 * 1024)

static int	backing;
static long slow_us;			/* what was asked for */
static volatile sig_atomic_t slow;	/* is that what requests take now? */
static int	nthreads;

static struct timespec
due(void)
{
	struct timespec t;
	long		delay_us = slow ? slow_us : 0;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += delay_us % 1000000 * 1000;
	t.tv_sec += delay_us / 1000000 + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void
sleep_until(const struct timespec *t)
{
	/* each thread once: wake up when it is due, not 50 us later */
	static __thread int precise = 0;

	if (!precise)
	{
		prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
		precise = 1;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, t, NULL) == EINTR)
		;
}

static void
set_slow(int signo)
{
	slow = signo == SIGUSR1;
}

static int
get_attributes(fuse_ino_t ino, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_ino = ino;
	st->st_nlink = 1;
	if (ino == FUSE_ROOT_ID)
	{
		st->st_mode = S_IFDIR | 0700;
		return 0;
	}
	if (ino != FILE_INODE || fstat(backing, st) != 0)
		return ENOENT;
	st->st_ino = ino;
	st->st_mode = S_IFREG | 0600;
	return 0;
}

static void
init(void *userdata, struct fuse_conn_info *conn)
{
	(void) userdata;
	conn->max_write = MAX_REQUEST;
	conn->max_background = conn->congestion_threshold = nthreads;
	if (conn->capable & FUSE_CAP_ASYNC_DIO)
		conn->want |= FUSE_CAP_ASYNC_DIO;
}

static void
lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param entry = {.ino = FILE_INODE,.attr_timeout = 3600,.entry_timeout = 3600};

	if (parent != FUSE_ROOT_ID || strcmp(name, FILE_NAME) != 0 ||
		get_attributes(FILE_INODE, &entry.attr) != 0)
		fuse_reply_err(req, ENOENT);
	else
		fuse_reply_entry(req, &entry);
}

static void
getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;
	int			error = get_attributes(ino, &st);

	(void) fi;
	if (error != 0)
		fuse_reply_err(req, error);
	else
		fuse_reply_attr(req, &st, 3600);
}

static void
open_file(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void) ino;
	fi->direct_io = 1;
	fuse_reply_open(req, fi);
}

static void
read_file(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	struct timespec t = due();
	char	   *data = malloc(size);
	ssize_t		n = data == NULL ? -1 : pread(backing, data, size, offset);

	(void) ino;
	(void) fi;
	sleep_until(&t);
	if (n < 0)
		fuse_reply_err(req, EIO);
	else
		fuse_reply_buf(req, data, n);
	free(data);
}

static void
write_file(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t offset,
		   struct fuse_file_info *fi)
{
	struct timespec t = due();
	ssize_t		n = pwrite(backing, data, size, offset);

	(void) ino;
	(void) fi;
	sleep_until(&t);
	if (n < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_write(req, n);
}

static void
sync_file(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void) ino;
	(void) datasync;
	(void) fi;
	fuse_reply_err(req, 0);
}

static void
punch(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
	  struct fuse_file_info *fi)
{
	(void) ino;
	(void) fi;
	fuse_reply_err(req, fallocate(backing, mode, offset, length) == 0 ? 0 : errno);
}

static const struct fuse_lowlevel_ops ops = {
	.init = init,
	.lookup = lookup,
	.getattr = getattr,
	.open = open_file,
	.read = read_file,
	.write = write_file,
	.fsync = sync_file,
	.fallocate = punch,
};

int
main(int argc, char **argv)
{
	char	   *names[] = {argv[0], "-o", "nosuid,nodev,fsname=delayed_file"};
	struct fuse_args args = FUSE_ARGS_INIT(3, names);
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	struct fuse_session *session;
	struct sigaction action = {.sa_handler = set_slow,.sa_flags = SA_RESTART};
	int			status;

	if (argc != 5)
	{
		fprintf(stderr, "usage: delayed_file FOLDER BACKING MICROSECONDS THREADS\n");
		return 2;
	}
	slow_us = atol(argv[3]);
	nthreads = atoi(argv[4]);
	backing = open(argv[2], O_RDWR | O_CLOEXEC);
	if (backing < 0 || slow_us < 0 || nthreads < 1)
	{
		fprintf(stderr, "delayed_file: %s: %s\n", argv[2], strerror(errno));
		return 1;
	}
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	/* the kernel writes back through us: memory that we need must not wait for that */
	prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
	session = fuse_session_new(&args, &ops, sizeof(ops), NULL);
	if (session == NULL || fuse_session_mount(session, argv[1]) != 0)
		return 1;
	fuse_loop_cfg_set_max_threads(config, nthreads);
	fuse_loop_cfg_set_idle_threads(config, nthreads);
	status = fuse_session_loop_mt(session, config);
	fuse_session_unmount(session);
	fuse_session_destroy(session);
	fuse_loop_cfg_destroy(config);
	return status != 0;
}
