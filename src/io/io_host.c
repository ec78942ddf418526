/*-------------------------------------------------------------------------
 *
 * io_host.c
 *	  Probing: what /proc, /sys and a few system calls tell of a volume.
 *
 * A directory's device number leads to the disk in /sys; file systems without a device of
 * their own (btrfs, for one) are looked up in the table of mounts.  Limits of
 * cgroups hold for a process if they are set for its group or for one above it, so the
 * smallest on the way up is what counts.
 *
 * statx() is called with a structure of our own: the kernel's answers do not depend on
 * how old the headers are that the library was compiled with.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_host.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#endif

#include "catalog/pg_tablespace_d.h"
#include "common/relpath.h"
#include "storage/fd.h"

#include "io_host.h"

/* ---- small files ------------------------------------------------------------------ */

/* The first line of a small file: see io_host.h. */
bool
zsio_host_line(const char *path, char *line, size_t size)
{
	int			fd = OpenTransientFile(path, O_RDONLY | PG_BINARY);
	ssize_t		n;

	Assert(size > 1);
	line[0] = '\0';
	if (fd < 0)
		return false;
	n = read(fd, line, size - 1);
	CloseTransientFile(fd);
	if (n < 0)
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return true;
}

/* The value of a key in one: see io_host.h. */
bool
zsio_host_field(const char *path, const char *key, char *value, size_t size)
{
	FILE	   *file = AllocateFile(path, "r");
	size_t		keylen = strlen(key);
	char		line[256];
	bool		found = false;

	value[0] = '\0';
	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), file) != NULL)
	{
		if (strncmp(line, key, keylen) == 0 && (line[keylen] == ':' || line[keylen] == ' '))
		{
			const char *start = line + keylen + strspn(line + keylen, ": \t");

			strlcpy(value, start, size);
			value[strcspn(value, "\n")] = '\0';
			found = true;
		}
	}
	FreeFile(file);
	return found;
}

/* ---- the device of a directory ------------------------------------------------------- */

/* Where the files of a tablespace are. */
void
zsio_host_tablespace_path(Oid tablespace, char path[MAXPGPATH])
{
	if (tablespace == DEFAULTTABLESPACE_OID)
		strlcpy(path, "base", MAXPGPATH);
	else if (tablespace == GLOBALTABLESPACE_OID)
		strlcpy(path, "global", MAXPGPATH);
	else
		snprintf(path, MAXPGPATH, "pg_tblspc/%u/%s", tablespace, TABLESPACE_VERSION_DIRECTORY);
}

#ifdef __linux__

/* One line of /proc/self/mountinfo, as far as it is looked at. */
typedef struct Mount
{
	unsigned int major;
	unsigned int minor;
	char		root[MAXPGPATH];
	char		point[MAXPGPATH];
	char		type[32];
	char		source[MAXPGPATH];
	char		options[256];	/* of the file system */
} Mount;

/*
 * 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
 */
static bool
parse_mount(const char *line, Mount *mount)
{
	const char *tail = strstr(line, " - ");

	return tail != NULL &&
		sscanf(line, "%*d %*d %u:%u %1023s %1023s", &mount->major, &mount->minor,
			   mount->root, mount->point) == 4 &&
		sscanf(tail + 3, "%31s %1023s %255s", mount->type, mount->source, mount->options) == 3;
}

/* Finds a mount that `wanted` accepts; the last one of several is on top. */
static bool
find_mount(bool (*wanted) (const Mount *mount, const void *arg), const void *arg, Mount *found)
{
	FILE	   *file = AllocateFile("/proc/self/mountinfo", "r");
	char		line[4096];
	Mount		mount;
	bool		any = false;

	if (file == NULL)
		return false;
	while (fgets(line, sizeof(line), file) != NULL)
	{
		if (parse_mount(line, &mount) && wanted(&mount, arg))
		{
			*found = mount;
			any = true;
		}
	}
	FreeFile(file);
	return any;
}

static bool
mount_is_on(const Mount *mount, const void *arg)
{
	const struct stat *st = arg;

	return mount->major == major(st->st_dev) && mount->minor == minor(st->st_dev);
}

/* The directory of a whole disk in /sys: that of a partition lies within it. */
static bool
find_disk(unsigned int major_no, unsigned int minor_no, char path[PATH_MAX])
{
	char		link[MAXPGPATH];
	char		probe[PATH_MAX + 16];

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major_no, minor_no);
	if (realpath(link, path) == NULL)
		return false;
	snprintf(probe, sizeof(probe), "%s/partition", path);
	if (access(probe, F_OK) == 0)
		*strrchr(path, '/') = '\0';
	return true;
}

/* The scheduler in use is the one in brackets: "none [mq-deadline] bfq". */
static void
read_scheduler(const char *disk, char *scheduler, size_t size)
{
	char		path[PATH_MAX + 32];
	char		line[128];
	char	   *start;

	snprintf(path, sizeof(path), "%s/queue/scheduler", disk);
	if (!zsio_host_line(path, line, sizeof(line)))
		return;
	start = strchr(line, '[');
	strlcpy(scheduler, start == NULL ? line : start + 1, size);
	scheduler[strcspn(scheduler, "]")] = '\0';
}

static void
read_disk(const char *disk, ZsIoHostVolume *volume)
{
	char		path[PATH_MAX + 32];
	char		line[64];

	strlcpy(volume->device, strrchr(disk, '/') + 1, sizeof(volume->device));
	strlcpy(volume->disk, disk, sizeof(volume->disk));
	snprintf(path, sizeof(path), "%s/dev", disk);
	(void) zsio_host_line(path, volume->device_no, sizeof(volume->device_no));
	snprintf(path, sizeof(path), "%s/device/model", disk);
	(void) zsio_host_line(path, volume->model, sizeof(volume->model));
	snprintf(path, sizeof(path), "%s/queue/rotational", disk);
	if (zsio_host_line(path, line, sizeof(line)))
		volume->rotational = line[0] == '1';
	read_scheduler(disk, volume->scheduler, sizeof(volume->scheduler));
}

/* What the volume is that the path is on; zeros where that is unknown. */
void
zsio_host_volume(const char *path, ZsIoHostVolume *volume)
{
	struct stat st;
	Mount		mount;
	char		disk[PATH_MAX];

	memset(volume, 0, sizeof(ZsIoHostVolume));
	volume->rotational = -1;
	if (stat(path, &st) != 0)
		return;
	if (find_mount(mount_is_on, &st, &mount))
	{
		struct stat source;

		strlcpy(volume->file_system, mount.type, sizeof(volume->file_system));
		if (major(st.st_dev) == 0 && stat(mount.source, &source) == 0 && S_ISBLK(source.st_mode))
			st.st_dev = source.st_rdev;
	}
	if (find_disk(major(st.st_dev), minor(st.st_dev), disk))
		read_disk(disk, volume);
}

/* ---- cgroups ---------------------------------------------------------------------------- */

static bool
mount_is_cgroup2(const Mount *mount, const void *arg)
{
	return strcmp(mount->type, "cgroup2") == 0;
}

static bool
mount_is_blkio(const Mount *mount, const void *arg)
{
	return strcmp(mount->type, "cgroup") == 0 && strstr(mount->options, "blkio") != NULL;
}

/*
 * Our group within a hierarchy: lines of /proc/self/cgroup are "0::/path" for version 2,
 * "7:blkio:/path" for version 1.
 */
static bool
own_group(int version, char *path, size_t size)
{
	FILE	   *file = AllocateFile("/proc/self/cgroup", "r");
	char		line[MAXPGPATH];
	bool		found = false;

	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), file) != NULL)
	{
		char	   *controllers = strchr(line, ':');
		char	   *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');

		if (group == NULL)
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		found = version == 2 ? strcmp(controllers, ":") == 0 :
			strstr(controllers, "blkio") != NULL;
		if (found)
			strlcpy(path, group, size);
	}
	FreeFile(file);
	return found;
}

static void
lower(uint64 *limit, const char *text)
{
	uint64		value = strtou64(text, NULL, 10);

	/* "max" */
	if (value > 0 && (*limit == 0 || value < *limit))
		*limit = value;
}

/* "8:0 rbps=1048576 wbps=max riops=max wiops=100" */
static void
read_group_v2(const char *group, const ZsIoHostVolume *volume, ZsIoCgroupLimits *limits)
{
	char		path[MAXPGPATH * 2 + 32];
	char		line[256];
	char	   *save;

	snprintf(path, sizeof(path), "%s/io.max", group);
	if (!zsio_host_field(path, volume->device_no, line, sizeof(line)))
		return;
	for (char *word = strtok_r(line, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save))
	{
		if (strncmp(word, "rbps=", 5) == 0)
			lower(&limits->read_bytes, word + 5);
		else if (strncmp(word, "wbps=", 5) == 0)
			lower(&limits->write_bytes, word + 5);
		else if (strncmp(word, "riops=", 6) == 0)
			lower(&limits->read_iops, word + 6);
		else if (strncmp(word, "wiops=", 6) == 0)
			lower(&limits->write_iops, word + 6);
	}
}

/* One file for each limit, with lines "8:0 1048576". */
static void
read_group_v1(const char *group, const ZsIoHostVolume *volume, ZsIoCgroupLimits *limits)
{
	const struct
	{
		const char *name;
		uint64	   *limit;
	}			files[] = {
		{"read_bps_device", &limits->read_bytes},
		{"write_bps_device", &limits->write_bytes},
		{"read_iops_device", &limits->read_iops},
		{"write_iops_device", &limits->write_iops},
	};

	for (int i = 0; i < (int) lengthof(files); i++)
	{
		char		path[MAXPGPATH * 2 + 64];
		char		line[64];

		snprintf(path, sizeof(path), "%s/blkio.throttle.%s", group, files[i].name);
		if (zsio_host_field(path, volume->device_no, line, sizeof(line)))
			lower(files[i].limit, line);
	}
}

/* Limits of our group and of those above it in one hierarchy. */
static void
read_hierarchy(int version, const Mount *mount, const ZsIoHostVolume *volume,
			   ZsIoCgroupLimits *limits)
{
	char		group[MAXPGPATH];
	char		path[MAXPGPATH * 2];
	char	   *below;
	size_t		root_len = strlen(mount->root);

	if (!own_group(version, group, sizeof(group)))
		return;
	/* a container may see a part of the hierarchy only */
	below = group;
	if (root_len > 1 && strncmp(group, mount->root, root_len) == 0)
		below += root_len;
	snprintf(path, sizeof(path), "%s%s", mount->point, below);

	for (;;)
	{
		size_t		len = strlen(path);

		while (len > 1 && path[len - 1] == '/')
			path[--len] = '\0';
		if (version == 2)
			read_group_v2(path, volume, limits);
		else
			read_group_v1(path, volume, limits);
		if (len <= strlen(mount->point))
			break;
		*strrchr(path, '/') = '\0';
	}
}

/* Is version 2's controller for block devices in use? */
static bool
has_io_controller(const Mount *mount)
{
	char		path[PATH_MAX + 32];
	char		line[256];

	snprintf(path, sizeof(path), "%s/cgroup.controllers", mount->point);
	if (!zsio_host_line(path, line, sizeof(line)))
		return false;
	return strncmp(line, "io ", 3) == 0 || strcmp(line, "io") == 0 || strstr(line, " io") != NULL;
}

/* Limits of our group and those above it; 0 = none. */
void
zsio_host_cgroup(const ZsIoHostVolume *volume, ZsIoCgroupLimits *limits)
{
	Mount		mount;

	memset(limits, 0, sizeof(ZsIoCgroupLimits));
	if (volume->device_no[0] == '\0')
		return;
	if (find_mount(mount_is_cgroup2, NULL, &mount) && has_io_controller(&mount))
	{
		limits->version = 2;
		read_hierarchy(2, &mount, volume, limits);
	}
	else if (find_mount(mount_is_blkio, NULL, &mount))
	{
		limits->version = 1;
		read_hierarchy(1, &mount, volume, limits);
	}
	limits->known = limits->version > 0;
}

/* The version of cgroups, and memory that our group may use: see io_host.h. */
int
zsio_host_memory(uint64 *limit)
{
	char		group[MAXPGPATH];
	char		path[MAXPGPATH * 2 + 32];
	char		line[64];
	Mount		mount;

	*limit = 0;
	if (!find_mount(mount_is_cgroup2, NULL, &mount) || !has_io_controller(&mount))
		return find_mount(mount_is_blkio, NULL, &mount) ? 1 : 0;
	if (!own_group(2, group, sizeof(group)))
		return 2;
	snprintf(path, sizeof(path), "%s%s/memory.max", mount.point, group);
	if (zsio_host_line(path, line, sizeof(line)))
		lower(limit, line);
	return 2;
}

/* ---- alignment ------------------------------------------------------------------------------ */

/* struct statx, as the kernel fills it; what follows was added in Linux 6.1, 6.11 and 6.16. */
typedef struct KernelStatx
{
	uint32		mask;
	uint32		unused[35];
	uint64		mount_id;
	uint32		direct_memory;
	uint32		direct_offset;
	uint64		subvolume;
	uint32		atomic_min;
	uint32		atomic_max;
	uint32		atomic_segments;
	uint32		direct_read_offset;
	uint32		atomic_max_fast;
	uint32		rest[17];
} KernelStatx;

StaticAssertDecl(sizeof(KernelStatx) == 256, "struct statx has 256 bytes");

#define KERNEL_STATX_DIOALIGN		0x00002000
#define KERNEL_STATX_WRITE_ATOMIC	0x00010000

/* fcntl(); all kernels that have it use the same number */
#define KERNEL_GET_RW_HINT			1035

/* The first regular file in a directory or one of its subdirectories. */
static bool
find_regular_file(const char *dir_name, int depth, char *path, size_t size)
{
	DIR		   *dir = AllocateDir(dir_name);
	struct dirent *entry;
	bool		found = false;

	if (dir == NULL)
		return false;
	while (!found && (entry = ReadDirExtended(dir, dir_name, DEBUG1)) != NULL)
	{
		char		name[MAXPGPATH];
		struct stat st;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", dir_name, entry->d_name);
		if (lstat(name, &st) != 0)
			continue;
		if (S_ISREG(st.st_mode))
		{
			strlcpy(path, name, size);
			found = true;
		}
		else if (S_ISDIR(st.st_mode) && depth > 0)
			found = find_regular_file(name, depth - 1, path, size);
	}
	FreeDir(dir);
	return found;
}

static void
ask_statx(const char *path, ZsIoAlignment *alignment)
{
	KernelStatx answer;

	memset(&answer, 0, sizeof(answer));
	if (syscall(SYS_statx, AT_FDCWD, path, 0, KERNEL_STATX_DIOALIGN | KERNEL_STATX_WRITE_ATOMIC,
				&answer) != 0)
		return;
	if (answer.mask & KERNEL_STATX_DIOALIGN)
	{
		alignment->direct_known = true;
		alignment->direct_memory = answer.direct_memory;
		alignment->direct_offset = answer.direct_offset;
	}
	if (answer.mask & KERNEL_STATX_WRITE_ATOMIC)
	{
		alignment->atomic_known = true;
		alignment->atomic_min = answer.atomic_min;
		alignment->atomic_max = answer.atomic_max;
		alignment->atomic_max_fast = answer.atomic_max_fast;
	}
}

/* What statx() and open() say of a file below the path. */
void
zsio_host_alignment(const char *path, ZsIoAlignment *alignment)
{
	char		file[MAXPGPATH];
	struct stat st;
	uint64		hint;
	int			fd;

	memset(alignment, 0, sizeof(ZsIoAlignment));
	alignment->file_found = find_regular_file(path, 1, file, sizeof(file));
	if (!alignment->file_found)
		return;
	ask_statx(file, alignment);
	if (stat(file, &st) == 0)
		alignment->record_size = (uint32) st.st_blksize;
#if PG_O_DIRECT != 0
	fd = OpenTransientFile(file, O_RDONLY | PG_BINARY | PG_O_DIRECT);
	alignment->opens_direct = fd >= 0;
	if (fd >= 0)
		CloseTransientFile(fd);
#endif
	fd = OpenTransientFile(file, O_RDONLY | PG_BINARY);
	if (fd >= 0)
	{
		alignment->hints = fcntl(fd, KERNEL_GET_RW_HINT, &hint) == 0;
		alignment->hints_known = alignment->hints || errno == EINVAL;
		CloseTransientFile(fd);
	}
}

/* ---- io_uring -------------------------------------------------------------------------------- */

/* Is there io_uring?  See io_host.h. */
int
zsio_host_try_uring(void)
{
#ifdef SYS_io_uring_setup
	/* struct io_uring_params: all zero is a plain ring */
	uint32		params[30];
	int			fd;

	memset(params, 0, sizeof(params));
	fd = (int) syscall(SYS_io_uring_setup, 1, params);
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
#else
	return ENOSYS;
#endif
}

#else							/* !__linux__ */

/* Nothing is known. */
void
zsio_host_volume(const char *path, ZsIoHostVolume *volume)
{
	memset(volume, 0, sizeof(ZsIoHostVolume));
	volume->rotational = -1;
}

/* No limits are known. */
void
zsio_host_cgroup(const ZsIoHostVolume *volume, ZsIoCgroupLimits *limits)
{
	memset(limits, 0, sizeof(ZsIoCgroupLimits));
}

/* Nothing is known. */
void
zsio_host_alignment(const char *path, ZsIoAlignment *alignment)
{
	memset(alignment, 0, sizeof(ZsIoAlignment));
}

/* Nothing is known. */
int
zsio_host_memory(uint64 *limit)
{
	return (int) (*limit = 0);
}

/* There is none. */
int
zsio_host_try_uring(void)
{
	return ENOSYS;
}
#endif							/* __linux__ */
