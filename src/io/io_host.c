/*-------------------------------------------------------------------------
 *
 * io_host.c
 *	  Probing: what /proc, /sys and a few system calls tell of a volume.
 *
 * A directory's device number leads to the disk in /sys; file systems without a device of
 * their own (btrfs, for one) are looked up in the table of mounts.
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

/*
 * 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
 */
static bool
parse_mount(const char *line, ZsIoMount *mount)
{
	const char *tail = strstr(line, " - ");

	return tail != NULL &&
		sscanf(line, "%*d %*d %u:%u %1023s %1023s", &mount->major, &mount->minor,
			   mount->root, mount->point) == 4 &&
		sscanf(tail + 3, "%31s %1023s %255s", mount->type, mount->source, mount->options) == 3;
}

/* A mount: see io_host.h. */
bool
zsio_host_mount(bool (*wanted) (const ZsIoMount *mount, const void *arg), const void *arg,
				ZsIoMount *found)
{
	FILE	   *file = AllocateFile("/proc/self/mountinfo", "r");
	char		line[4096];
	ZsIoMount	mount;
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
mount_is_on(const ZsIoMount *mount, const void *arg)
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
	ZsIoMount	mount;
	char		disk[PATH_MAX];

	memset(volume, 0, sizeof(ZsIoHostVolume));
	volume->rotational = -1;
	if (stat(path, &st) != 0)
		return;
	if (zsio_host_mount(mount_is_on, &st, &mount))
	{
		struct stat source;

		strlcpy(volume->file_system, mount.type, sizeof(volume->file_system));
		if (major(st.st_dev) == 0 && stat(mount.source, &source) == 0 && S_ISBLK(source.st_mode))
			st.st_dev = source.st_rdev;
	}
	if (find_disk(major(st.st_dev), minor(st.st_dev), disk))
		read_disk(disk, volume);
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

/* Is there io_uring?  Makes a small ring and throws it away; returns errno, 0 = there is. */
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

/* Nothing is known. */
void
zsio_host_alignment(const char *path, ZsIoAlignment *alignment)
{
	memset(alignment, 0, sizeof(ZsIoAlignment));
}

/* There is none. */
int
zsio_host_try_uring(void)
{
	return ENOSYS;
}
#endif							/* __linux__ */
