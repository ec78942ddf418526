/*-------------------------------------------------------------------------
 *
 * io_hazard.c
 *	  Writes that outlive the process that started them.
 *
 * What io_uring submitted goes on when the process is killed: it may reach the disk
 * seconds later, when crash recovery is already writing the same blocks.
 * A synchronous write cannot do that.  So:
 *
 *	1. the first asynchronous write to a segment file since the last
 *	   checkpoint is preceded by a record of the file's path in a list that is
 *	   on disk before the write is submitted;
 *	2. before recovery begins, the postmaster puts a barrier on each recorded
 *	   file: fallocate() of a range that exists waits for direct I/O in flight on
 *	   ext4 and xfs (fsync and ftruncate to the same size do not, on ext4);
 *	3. where the barrier does not work, and when the list cannot be written, files are
 *	   written synchronously.
 *
 * A list is one file per worker in the data directory, a path per line.
 * Entries that are out of date cost a barrier more, and nothing else.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_hazard.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/falloc.h>
#include <sys/vfs.h>
#endif

#include "common/file_perm.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "io_file.h"
#include "io_internal.h"

#define LIST_NAME		"zedstore_io_worker"

/* statfs() */
#define MAGIC_EXT4		0xEF53
#define MAGIC_XFS		0x58465342

/* What the list has: paths, by what makes them. */
typedef struct FileKey
{
	RelFileLocator locator;
	ForkNumber	forknum;
	BlockNumber segno;
} FileKey;

struct ZsIoHazard
{
	int			worker;			/* its number */
	int			fd;				/* of the list; -1: not open */
	bool		broken;			/* it could not be written */
	HTAB	   *recorded;		/* of FileKey; NULL: the list is empty */
};

/* The list is empty, or left by an earlier worker and made anew when it is opened. */
ZsIoHazard *
zsio_hazard_create(int worker)
{
	ZsIoHazard *me = MemoryContextAllocZero(TopMemoryContext, sizeof(ZsIoHazard));

	Assert(worker >= 0 && worker < ZSIO_MAX_WORKERS);
	me->worker = worker;
	me->fd = -1;
	return me;
}

/* ext4 or xfs? */
bool
zsio_known_file_system(int fd)
{
#ifdef __linux__
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return false;
	return (uint32) fs.f_type == MAGIC_EXT4 || (uint32) fs.f_type == MAGIC_XFS;
#else
	return false;
#endif
}

/* Waits for direct I/O in flight.  The first block is there, so nothing changes. */
static bool
barrier(int fd)
{
#ifdef __linux__
	int			result;

	do
	{
		result = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, BLCKSZ);
	} while (result != 0 && errno == EINTR);
	return result == 0;
#else
	errno = ENOSYS;
	return false;
#endif
}

/* Can writes in flight to this file be waited for? */
bool
zsio_barrier_works(int fd)
{
	/* refused by ext2, and for files with block maps that ext3 left on ext4 */
	return zsio_known_file_system(fd) && barrier(fd);
}

/* Opens this worker's list; the file and its name are on disk then. */
static bool
open_list(ZsIoHazard *me)
{
	char		name[MAXPGPATH];

	Assert(me->fd < 0);
	snprintf(name, sizeof(name), "%s.%d", LIST_NAME, me->worker);
	me->fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, pg_file_create_mode);
	if (me->fd < 0)
		return false;
	if (pg_fsync(me->fd) != 0)
	{
		close(me->fd);
		me->fd = -1;
		return false;
	}
	fsync_fname(".", true);
	return true;
}

/* The file is in the list when this returns true: see io_file.h. */
bool
zsio_hazard_record(ZsIoHazard *me, const ZsIoFile *file)
{
	FileKey		key = {file->locator, file->forknum, file->segno};
	char		line[MAXPGPATH + 1];
	int			len;

	Assert(file->users > 0);
	if (me->broken)
		return false;
	if (me->recorded == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(FileKey),.entrysize = sizeof(FileKey)};

		me->recorded = hash_create("zedstore I/O files", 64, &ctl, HASH_ELEM | HASH_BLOBS);
	}
	if (hash_search(me->recorded, &key, HASH_FIND, NULL) != NULL)
		return true;
	len = snprintf(line, sizeof(line), "%s\n", file->path);
	Assert(len > 1 && len < (int) sizeof(line));
	if ((me->fd < 0 && !open_list(me)) ||
		write(me->fd, line, len) != len || pg_fsync(me->fd) != 0)
	{
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not write file \"%s.%d\": %m", LIST_NAME, me->worker),
				 errdetail("The I/O worker writes synchronously from now on.")));
		me->broken = true;
		return false;
	}
	(void) hash_search(me->recorded, &key, HASH_ENTER, NULL);
	return true;
}

/* Empties the list.  With nothing in flight. */
void
zsio_hazard_forget(ZsIoHazard *me)
{
	if (me->recorded != NULL && ftruncate(me->fd, 0) == 0)
	{
		hash_destroy(me->recorded);
		me->recorded = NULL;
	}
}

/* Waits until direct writes in flight to the file have landed. */
static void
wait_for_writes(const char *path)
{
	int			fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
	{
		if (errno != ENOENT)
			ereport(LOG,
					(errcode_for_file_access(),
					 errmsg("could not open file \"%s\": %m", path)));
		return;
	}
	if (!barrier(fd))
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not wait for writes to file \"%s\": %m", path)));
	close(fd);
}

/* A path that a worker would have recorded? */
static bool
path_is_sane(const char *path)
{
	return (strncmp(path, "base/", 5) == 0 || strncmp(path, "global/", 7) == 0 ||
			strncmp(path, "pg_tblspc/", 10) == 0) && strstr(path, "..") == NULL;
}

/* All lists are waited for and removed: see io_file.h. */
void
zsio_hazard_barrier(void)
{
	for (int worker = 0; worker < ZSIO_MAX_WORKERS; worker++)
	{
		char		name[MAXPGPATH];
		char		line[MAXPGPATH + 2];
		int			nfiles = 0;
		FILE	   *list;

		snprintf(name, sizeof(name), "%s.%d", LIST_NAME, worker);
		list = AllocateFile(name, "r");
		if (list == NULL)
		{
			if (errno != ENOENT)
				ereport(LOG,
						(errcode_for_file_access(),
						 errmsg("could not open file \"%s\": %m", name)));
			continue;
		}
		while (fgets(line, sizeof(line), list) != NULL)
		{
			size_t		len = strlen(line);

			/* a line that was cut off was not acted upon */
			if (len == 0 || line[len - 1] != '\n')
				break;
			line[len - 1] = '\0';
			if (!path_is_sane(line))
				continue;
			wait_for_writes(line);
			nfiles++;
		}
		FreeFile(list);
		if (nfiles > 0)
			ereport(LOG,
					(errmsg_plural("waited for writes in flight to %d file that I/O worker %d was "
								   "writing",
								   "waited for writes in flight to %d files that I/O worker %d was "
								   "writing",
								   nfiles, nfiles, worker + 1)));
		if (unlink(name) != 0)
			ereport(LOG,
					(errcode_for_file_access(),
					 errmsg("could not remove file \"%s\": %m", name)));
	}
}
