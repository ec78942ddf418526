/*-------------------------------------------------------------------------
 *
 * io_file.c
 *	  Segment files of relations, opened for direct writes.
 *
 * The server's own file descriptors are buffered ones, so workers open the
 * files themselves.  A path may come to mean another file: relations move, file numbers are
 * used again.  So each use compares the open file with what the path names now;
 * the caller owns BM_IO_IN_PROGRESS of a block in it, and a backend that is about
 * to remove or shorten the file waits for that, so it cannot change after that.  Nor can it while
 * requests to it are in flight: then it need not be compared again.
 *
 * DROP TABLE truncates the files of a table, but those of a database are removed as they are, and
 * an open one keeps its space.  So none stays open that nothing was written to lately.
 *
 * Invariant: an entry with users is open, and names the file that it was opened for.
 *
 * Locks: none are taken.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_file.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "io_file.h"
#include "io_internal.h"

/* Microseconds until a file is closed that nothing is written to, and between two looks. */
#define IDLE_US		5000000
#define LOOK_US		1000000

/* each request in flight may go to a file of its own */
#define MAX_FILES	(ZSIO_MAX_DEPTH + 1)

struct ZsIoFiles
{
	ZsIoFile	files[MAX_FILES];
	ZsIoCache  *cache;
	TimestampTz next_look;		/* for those that nothing is written to */
	bool		hint_complained;
};

/* No file is open yet. */
ZsIoFiles *
zsio_files_create(ZsIoCache *cache)
{
	ZsIoFiles  *me = MemoryContextAllocZero(TopMemoryContext, sizeof(ZsIoFiles));

	Assert(cache != NULL);
	for (int i = 0; i < MAX_FILES; i++)
		me->files[i].fd = me->files[i].cached_fd = -1;
	me->cache = cache;
	return me;
}

static void
close_file(ZsIoFile *file)
{
	Assert(file->users == 0);
	Assert(file->fd >= 0);
	close(file->fd);
	ReleaseExternalFD();
	file->fd = -1;
	if (file->cached_fd >= 0)
	{
		close(file->cached_fd);
		ReleaseExternalFD();
		file->cached_fd = -1;
	}
}

/* Where the entry for the file is, or may be put; NULL if all are in use. */
static ZsIoFile *
find_entry(ZsIoFiles *me, const RelFileLocator *locator, ForkNumber forknum, BlockNumber segno)
{
	ZsIoFile   *victim = NULL;

	for (int i = 0; i < MAX_FILES; i++)
	{
		ZsIoFile   *file = &me->files[i];

		Assert(file->users == 0 || file->fd >= 0);
		if (file->fd >= 0 && file->segno == segno && file->forknum == forknum &&
			RelFileLocatorEquals(file->locator, *locator))
			return file;
		if (file->users == 0 &&
			(victim == NULL || file->fd < 0 || (victim->fd >= 0 && file->used < victim->used)))
			victim = file;
	}
	if (victim != NULL)
	{
		if (victim->fd >= 0)
			close_file(victim);
		victim->locator = *locator;
		victim->forknum = forknum;
		victim->segno = segno;
	}
	return victim;
}

static void
make_path(ZsIoFile *file)
{
	size_t		len;

	zs_copy_relpath(file->path, file->locator, file->forknum);
	len = strlen(file->path);
	Assert(len > 0);
	if (file->segno > 0)
		snprintf(file->path + len, MAXPGPATH - len, ".%u", file->segno);
}

/*
 * Tells the device how long the contents are going to live, where it wants to know.  The
 * hint stays with the file while the system remembers it.
 */
static void
give_hint(ZsIoFiles *me, const ZsIoFile *file)
{
#ifdef F_SET_RW_HINT
	uint64		hint = zsio_write_hint;

	if (hint == 0 || fcntl(file->fd, F_SET_RW_HINT, &hint) == 0 ||
		me->hint_complained)
		return;
	me->hint_complained = true;
	ereport(LOG,
			(errcode_for_file_access(),
			 errmsg("could not set the write hint of file \"%s\": %m", file->path)));
#endif
}

/* Opens the entry's file; false: it is not there, or cannot be opened now. */
static bool
open_file(ZsIoFiles *me, ZsIoFile *file)
{
	struct stat st;

	Assert(file->fd < 0 && file->users == 0);
	if (!AcquireExternalFD())
	{
		/* make room: files that nothing is written to now can be opened again */
		zsio_file_close_all(me);
		if (!AcquireExternalFD())
			return false;
	}
	make_path(file);
	file->direct = false;
	file->fallback_counted = false;
	file->synced_group = 0;
	file->fd = -1;
	file->may_be_async = false;
	if (zsio_direct && PG_O_DIRECT != 0)
	{
		file->fd = open(file->path, O_RDWR | O_CLOEXEC | PG_O_DIRECT);
		file->direct = file->fd >= 0;
	}
	if (file->fd < 0 && (!zsio_direct || PG_O_DIRECT == 0 || errno == EINVAL))
		file->fd = open(file->path, O_RDWR | O_CLOEXEC);
	if (file->fd < 0)
	{
		ReleaseExternalFD();
		return false;
	}
	if (fstat(file->fd, &st) != 0 ||
		(file->direct && !zsio_cache_bypassed() && !zsio_known_file_system(file->fd) &&
		 !zsio_file_make_buffered(file)))
	{
		close_file(file);
		return false;
	}
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	file->may_be_async = file->direct && zsio_barrier_works(file->fd) &&
		(zsio_cache_bypassed() || zsio_cache_allows_async(me->cache, file->path, file->dev));
	give_hint(me, file);
	return true;
}

/* The file of a segment, for one request more: see io_file.h. */
ZsIoFile *
zsio_file_get(ZsIoFiles *me, const RelFileLocator *locator, ForkNumber forknum,
			  BlockNumber segno)
{
	ZsIoFile   *file = find_entry(me, locator, forknum, segno);

	if (file == NULL)
		return NULL;
	if (file->fd >= 0 && file->users == 0)
	{
		struct stat st;

		if (stat(file->path, &st) != 0)
		{
			close_file(file);
			return NULL;
		}
		if (st.st_dev != file->dev || st.st_ino != file->ino)
			close_file(file);
	}
	if (file->fd < 0 && !open_file(me, file))
		return NULL;
	file->users++;
	file->used = GetCurrentTimestamp();
	return file;
}

/* A request to it has ended. */
void
zsio_file_put(ZsIoFile *file)
{
	Assert(file->users > 0);
	file->users--;
}

/* The file without O_DIRECT, opened if it is not; -1: that cannot be done. */
int
zsio_file_cached_fd(ZsIoFile *file)
{
	struct stat st;

	Assert(file->fd >= 0 && file->users > 0);
	if (!file->direct)
		return file->fd;
	if (file->cached_fd >= 0 || !AcquireExternalFD())
		return file->cached_fd;
	file->cached_fd = open(file->path, O_RDWR | O_CLOEXEC);
	if (file->cached_fd >= 0 &&
		fstat(file->cached_fd, &st) == 0 && st.st_dev == file->dev && st.st_ino == file->ino)
		return file->cached_fd;

	/* it should be there, with the caller's BM_IO_IN_PROGRESS: then it is written directly */
	if (file->cached_fd >= 0)
		close(file->cached_fd);
	file->cached_fd = -1;
	ReleaseExternalFD();
	return -1;
}

/*
 * Direct writes are refused.  The flag goes from the open file description, so that requests of the
 * same file that are in flight are not disturbed.
 */
bool
zsio_file_make_buffered(ZsIoFile *file)
{
	int			flags = fcntl(file->fd, F_GETFL);

	if (!file->direct)
		return true;
	if (flags < 0 || fcntl(file->fd, F_SETFL, flags & ~PG_O_DIRECT) < 0)
		return false;
	file->direct = false;
	return true;
}

/* Closes files without requests in flight that were used last before that time. */
static void
close_files(ZsIoFiles *me, TimestampTz before)
{
	for (int i = 0; i < MAX_FILES; i++)
	{
		ZsIoFile   *file = &me->files[i];

		if (file->fd >= 0 && file->users == 0 && file->used < before)
			close_file(file);
	}
}

/* All without requests in flight. */
void
zsio_file_close_all(ZsIoFiles *me)
{
	close_files(me, DT_NOEND);
}

/* Those that nothing was written to for a while. */
void
zsio_file_close_idle(ZsIoFiles *me)
{
	TimestampTz now = GetCurrentTimestamp();

	if (now < me->next_look)
		return;
	me->next_look = now + LOOK_US;
	close_files(me, now - IDLE_US);
}
