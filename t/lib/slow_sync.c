/*-------------------------------------------------------------------------
 *
 * slow_sync.c
 *	  For t/io_commit.pl, which builds it and has servers load it first: a device of a known speed.
 *
 * fdatasync(), which makes WAL durable, takes as many microseconds as the file $ZS_SLOW_SYNC/us
 * says, and does nothing else.  A line of $ZS_SLOW_SYNC/log tells the process and what its
 * commit_delay and commit_siblings are just then.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * t/lib/slow_sync.c
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int
open_file(const char *name, int flags)
{
	const char *folder = getenv("ZS_SLOW_SYNC");
	char		path[1024];

	if (folder == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return open(path, flags, 0600);
}

/* A variable of the server; -1: this is another program. */
static int
value_of(const char *name)
{
	const int  *value = dlsym(RTLD_DEFAULT, name);

	return value != NULL ? *value : -1;
}

static void
write_log(void)
{
	int			fd = open_file("log", O_WRONLY | O_APPEND | O_CREAT);
	char		line[64];
	int			length;

	if (fd < 0)
		return;
	length = snprintf(line, sizeof(line), "%d %d %d\n", (int) getpid(), value_of("CommitDelay"),
					  value_of("CommitSiblings"));
	if (write(fd, line, length) != length)
		abort();
	close(fd);
}

int
fdatasync(int file)
{
	int			fd = open_file("us", O_RDONLY);
	char		text[16] = {0};

	(void) file;
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		abort();
	close(fd);
	write_log();
	if (atoi(text) > 0)
		usleep(atoi(text));
	return 0;
}
