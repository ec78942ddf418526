/*-------------------------------------------------------------------------
 *
 * io_file.h
 *	  Segment files, and what direct writes to them have to heed.
 *
 * io_file.c opens the files; io_cache.c knows how direct writes go together with the page cache,
 * io_hazard.c how they are waited for when their process was killed.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_file.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef IO_FILE_H
#define IO_FILE_H

#include "postgres.h"

#include "common/relpath.h"
#include "datatype/timestamp.h"
#include "storage/block.h"
#include "storage/relfilelocator.h"

/* ---- direct beside buffered writes (io_cache.c) -------------------------------- */

/* What a worker knows of the page cache of its devices. */
typedef struct ZsIoCache ZsIoCache;

/* Lives as long as the process. */
extern ZsIoCache *zsio_cache_create(void);

/* Does the server itself open relation files for direct I/O? */
extern bool zsio_cache_bypassed(void);

/*
 * Do asynchronous direct writes to a file on this device go together with the
 * server's buffered ones?  Finds out when it is asked for a device first.
 */
extern bool zsio_cache_allows_async(ZsIoCache *cache, const char *path, dev_t dev);

/*
 * Does the page cache hold at least half of the range?  False where the kernel does not tell
 * (before Linux 6.5).
 */
extern bool zsio_cache_holds(ZsIoCache *cache, int fd, off_t offset, off_t length);

/* Has the kernel begin to write a range of the page cache out.  Errors are for those who sync. */
extern void zsio_cache_start_write_back(int fd, off_t offset, off_t length);

/* Is any of it on its way to the device?  Does not wait.  False where the kernel does not tell. */
extern bool zsio_cache_writes(int fd, off_t offset, off_t length);

/* Writes a range of the page cache to the device, and waits for that; returns errno or 0. */
extern int	zsio_cache_write_back(int fd, off_t offset, off_t length);

/* ---- files (io_file.c) --------------------------------------------------------- */

/* A worker's open files. */
typedef struct ZsIoFiles ZsIoFiles;

/* One of them. */
typedef struct ZsIoFile
{
	RelFileLocator locator;
	ForkNumber	forknum;
	BlockNumber segno;
	int			fd;				/* -1: entry is free */
	int			cached_fd;		/* the same file without O_DIRECT; -1: not open */
	bool		direct;
	bool		may_be_async;	/* asynchronous writes would do no harm */
	bool		async;			/* the request under way is asynchronous */
	dev_t		dev;
	ino_t		ino;
	int			users;			/* requests in flight */
	TimestampTz used;			/* last time */
	bool		fallback_counted;
	uint64		synced_group;	/* of the runs that a sync was asked for last; 0: none */
	char		path[MAXPGPATH];
} ZsIoFile;

/* Lives as long as the process; what is found out about devices is kept in the cache. */
extern ZsIoFiles *zsio_files_create(ZsIoCache *cache);

/*
 * The segment file of a block, open for writing; NULL when it does not exist (any more)
 * or no descriptor is free.  The caller owns BM_IO_IN_PROGRESS of a block in it, so
 * the file cannot go away while the request runs.
 */
extern ZsIoFile *zsio_file_get(ZsIoFiles *files, const RelFileLocator *locator,
							   ForkNumber forknum, BlockNumber segno);

/* The request to the file has ended. */
extern void zsio_file_put(ZsIoFile *file);

/* A descriptor of the file for writes through the page cache; -1: there is none to be had. */
extern int	zsio_file_cached_fd(ZsIoFile *file);

/* From now on the file is written through the page cache; false: that cannot be done. */
extern bool zsio_file_make_buffered(ZsIoFile *file);

/*
 * Closes files without requests in flight: an open one keeps the space of a file that was
 * removed.
 */
extern void zsio_file_close_all(ZsIoFiles *files);

/* Those of them that were not used for seconds.  Cheap; to be called while a worker waits. */
extern void zsio_file_close_idle(ZsIoFiles *files);

/* ---- writes that outlive their process (io_hazard.c) --------------------------- */

/* A worker's list of files with asynchronous writes. */
typedef struct ZsIoHazard ZsIoHazard;

/* Of the worker of that number.  Lives as long as the process. */
extern ZsIoHazard *zsio_hazard_create(int worker);

/* One of the file systems of which this is known? */
extern bool zsio_known_file_system(int fd);

/* Are writes of a killed process waited for by the barrier on this file?  It is tried. */
extern bool zsio_barrier_works(int fd);

/*
 * Records the file before its first asynchronous write since the last
 * zsio_hazard_forget().  Durable when it returns.  False: it could not be
 * recorded, the file must be written synchronously.
 */
extern bool zsio_hazard_record(ZsIoHazard *hazard, const ZsIoFile *file);

/* This worker has nothing in flight: empties its list. */
extern void zsio_hazard_forget(ZsIoHazard *hazard);

/* In the postmaster, before recovery: waits until writes to recorded files have landed. */
extern void zsio_hazard_barrier(void);

#endif							/* IO_FILE_H */
