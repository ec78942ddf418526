/*-------------------------------------------------------------------------
 *
 * io_host.h
 *	  What the host says about volumes: file system, device, limits.
 *
 * Nothing here fails: what cannot be found out is left unknown, which is also what
 * other systems than Linux answer.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_host.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef IO_HOST_H
#define IO_HOST_H

#include "postgres.h"

/* ---- files of /proc and /sys --------------------------------------------------- */

/*
 * The first line of a small file without its line feed; false, and an empty line, when
 * it cannot be read.
 */
extern bool zsio_host_line(const char *path, char *line, size_t size);

/* The value behind "key" in a file of "key value" or "key: value" lines; false: not there. */
extern bool zsio_host_field(const char *path, const char *key, char *value, size_t size);

/* ---- volumes --------------------------------------------------------------------- */

/* Answers of statx() for a file of the volume. */
typedef struct ZsIoAlignment
{
	bool		file_found;		/* there was a file to ask */
	bool		direct_known;
	uint32		direct_memory;	/* alignment of memory; 0: no direct I/O */
	uint32		direct_offset;	/* alignment of offset and size */
	bool		atomic_known;
	uint32		atomic_min;		/* untorn writes of that size up to ... */
	uint32		atomic_max;		/* ... that; 0: none */
	uint32		atomic_max_fast;	/* up to that the device does it; 0: not known */
	uint32		record_size;	/* st_blksize of the file: of ZFS the size of its records */
	bool		opens_direct;	/* open() with O_DIRECT went well */
	bool		hints_known;
	bool		hints;			/* the file takes write-lifetime hints */
} ZsIoAlignment;

/* What the host says of a volume; what holds for it is in io_profile.h. */
typedef struct ZsIoHostVolume
{
	char		file_system[32];	/* empty: unknown, as everywhere below */
	char		device[64];		/* whole disk, as in /sys/block */
	char		device_no[32];	/* its "major:minor" */
	char		model[64];
	char		scheduler[32];
	char		disk[MAXPGPATH];	/* its directory in /sys */
	int			rotational;		/* -1: unknown */
} ZsIoHostVolume;

/* One line of /proc/self/mountinfo, as far as it is looked at. */
typedef struct ZsIoMount
{
	unsigned int major;
	unsigned int minor;
	char		root[MAXPGPATH];	/* of the file system, as far as it is seen */
	char		point[MAXPGPATH];
	char		type[32];
	char		source[MAXPGPATH];
	char		options[256];	/* of the file system */
} ZsIoMount;

#ifdef __linux__
/* Finds a mount that wanted accepts; the last one of several is on top. */
extern bool zsio_host_mount(bool (*wanted) (const ZsIoMount *mount, const void *arg),
							const void *arg, ZsIoMount *found);
#endif

/* Where the files of a tablespace are, from the data directory. */
extern void zsio_host_tablespace_path(Oid tablespace, char path[MAXPGPATH]);

extern void zsio_host_volume(const char *path, ZsIoHostVolume *volume);
extern void zsio_host_alignment(const char *path, ZsIoAlignment *alignment);

/* ---- cgroups (io_host_cgroup.c) -------------------------------------------------- */

/* Read and write limits of a cgroup for one device; 0 = none. */
typedef struct ZsIoCgroupLimits
{
	bool		known;			/* a controller for block devices was found */
	int			version;		/* of that controller */
	uint64		read_iops;
	uint64		write_iops;
	uint64		read_bytes;
	uint64		write_bytes;
} ZsIoCgroupLimits;

/* Limits of our group and of those above it. */
extern void zsio_host_cgroup(const ZsIoHostVolume *volume, ZsIoCgroupLimits *limits);

/* The version of cgroups that counts our I/O; 0: not known. */
extern int	zsio_host_cgroup_version(void);

/* The memory that our group and those above it may use, bytes, 0 = no limit; false: not known. */
extern bool zsio_host_memory(uint64 *limit);

/* ---- io_uring ---------------------------------------------------------------------- */

extern int	zsio_host_try_uring(void);

#endif							/* IO_HOST_H */
