/*-------------------------------------------------------------------------
 *
 * io_cache.c
 *	  Direct writes beside the server's buffered ones.
 *
 * The server reads and writes relation files through the page cache (unless debug_io_direct says
 * otherwise), the workers write around it.  After a direct write the kernel
 * drops what the cache holds of the range.  If it cannot, because the folio was made dirty
 * meanwhile, it reports EIO to the next fsync() of the file, and the server panics.
 * Nobody dirties the blocks that a worker is writing, but a large folio holds neighbours too.
 *
 * Synchronous direct writes are safe on ext4 and xfs: both hold the inode's lock until
 * the cache is clean again, and buffered writes need that lock.  Asynchronous
 * ones give it back when they are submitted; they are safe where folios
 * are not larger than what the workers write, which a trial shows: of a range that
 * was written at once, a part is thrown out of the cache; with a large folio the part stays.
 *
 * Other file systems are not known to order the two, so there files are written through
 * the cache.
 *
 * A page that is evicted from shared buffers is often read again, and then it is good to
 * have it in the cache: a host with much memory holds all of a database there.  A direct write
 * would drop it.  So blocks that the cache holds are written through it, and to the device at once:
 * the request ends when they are there, as a direct one does, and nothing piles up in the cache.
 * On a host where memory is short the cache has lost the block long before its buffer is cleaned,
 * and the write is direct.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_cache.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "storage/fd.h"
#include "utils/memutils.h"

#include "io_file.h"
#include "io_internal.h"

#define TRIAL_SIZE		(64 * 1024)
#define TRIALS			4
#define MAX_DEVICES		16

typedef struct Device
{
	dev_t		dev;
	bool		large_folios;
} Device;

struct ZsIoCache
{
	Device		devices[MAX_DEVICES];
	int			ndevices;
	bool		refused;		/* the kernel does not tell what the cache holds */
};

/* Nothing is known yet. */
ZsIoCache *
zsio_cache_create(void)
{
	return MemoryContextAllocZero(TopMemoryContext, sizeof(ZsIoCache));
}

/* Is debug_io_direct on for relations? */
bool
zsio_cache_bypassed(void)
{
	return (io_direct_flags & IO_DIRECT_DATA) != 0;
}

#if defined(O_TMPFILE) && defined(RWF_NOWAIT) && defined(POSIX_FADV_DONTNEED)

/* Is the start of a range still cached that was thrown out?  True also if that cannot be told. */
static bool
survives(int fd, const char *data, off_t offset)
{
	char		buffer[512];
	struct iovec iov = {buffer, sizeof(buffer)};

	if (pg_pwrite(fd, data, TRIAL_SIZE, offset) != TRIAL_SIZE || fdatasync(fd) != 0 ||
		posix_fadvise(fd, offset, BLCKSZ, POSIX_FADV_DONTNEED) != 0)
		return true;
	return preadv2(fd, &iov, 1, offset, RWF_NOWAIT) >= 0 || errno != EAGAIN;
}

/*
 * Does the page cache hold files of this directory in folios larger than a block?  Writes a
 * nameless file.
 */
static bool
has_large_folios(const char *dir)
{
	char	   *data;
	int			fd = open(dir, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	bool		large = false;

	if (fd < 0)
		return true;
	data = palloc0(TRIAL_SIZE);
	for (int i = 0; i < TRIALS && !large; i++)
		large = survives(fd, data, (off_t) i * TRIAL_SIZE);
	pfree(data);
	close(fd);
	return large;
}

#else

static bool
has_large_folios(const char *dir)
{
	return true;
}

#endif

/* Are asynchronous direct writes harmless on that device?  Tried once for each. */
bool
zsio_cache_allows_async(ZsIoCache *me, const char *path, dev_t dev)
{
	char		dir[MAXPGPATH];
	Device	   *device;

	Assert(path[0] != '\0');
	Assert(me->ndevices >= 0 && me->ndevices <= MAX_DEVICES);
	for (int i = 0; i < me->ndevices; i++)
	{
		if (me->devices[i].dev == dev)
			return !me->devices[i].large_folios;
	}
	if (me->ndevices == MAX_DEVICES)
		return false;
	strlcpy(dir, path, sizeof(dir));
	get_parent_directory(dir);
	device = &me->devices[me->ndevices++];
	device->dev = dev;
	device->large_folios = has_large_folios(dir);
	if (device->large_folios)
		ereport(LOG,
				(errmsg("I/O worker writes with threads to files in the file system of \"%s\"",
						dir),
				 errdetail("Writes by io_uring and the server's buffered writes would get in each "
						   "other's way, because its page cache has large folios.")));
	return !device->large_folios;
}

/* ---- what the cache holds ------------------------------------------------------- */

/* from linux/mman.h of Linux 6.5, which is not everywhere */
#if defined(__linux__) && !defined(SYS_cachestat) && !defined(__alpha__)
#define SYS_cachestat	451
#endif

/* As struct cachestat. */
typedef struct CacheState
{
	uint64		cached;
	uint64		dirty;
	uint64		writeback;
	uint64		evicted;
	uint64		recently_evicted;
} CacheState;

/* What the cache has of a range, in pages of the system; false: the kernel does not tell. */
static bool
get_state(int fd, off_t offset, off_t length, CacheState *state)
{
#ifdef SYS_cachestat
	struct
	{
		uint64		offset;
		uint64		length;
	}			range = {offset, length};

	Assert(fd >= 0 && length > 0);
	return syscall(SYS_cachestat, fd, &range, state, 0) == 0;
#else
	errno = ENOSYS;
	return false;
#endif
}

/* Does the cache hold at least half of the range? */
bool
zsio_cache_holds(ZsIoCache *me, int fd, off_t offset, off_t length)
{
	CacheState	state;

	if (me->refused)
		return false;
	if (get_state(fd, offset, length, &state))
		return state.cached * sysconf(_SC_PAGESIZE) * 2 >= length;
	/* what is wrong with one file only says nothing about others */
	me->refused = errno == ENOSYS || errno == EPERM || errno == EACCES;
	return false;
}

/* Is any of the range on its way to the device? */
bool
zsio_cache_writes(int fd, off_t offset, off_t length)
{
	CacheState	state;

	return get_state(fd, offset, length, &state) && state.writeback > 0;
}

/* Does not wait, and takes no error away from those who sync the file. */
void
zsio_cache_start_write_back(int fd, off_t offset, off_t length)
{
	Assert(fd >= 0 && offset >= 0 && length > 0);
#ifdef HAVE_SYNC_FILE_RANGE
	(void) sync_file_range(fd, offset, length, SYNC_FILE_RANGE_WRITE);
#endif
}

/* Also called by threads. */
int
zsio_cache_write_back(int fd, off_t offset, off_t length)
{
	Assert(fd >= 0 && offset >= 0 && length > 0);
#ifdef HAVE_SYNC_FILE_RANGE
	/* where that does not work the checkpoint's sync writes it */
	if (sync_file_range(fd, offset, length, SYNC_FILE_RANGE_WAIT_BEFORE |
						SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER) != 0 &&
		errno != ENOSYS && errno != ESPIPE)
		return errno;
#endif
	return 0;
}
