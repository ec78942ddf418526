/*-------------------------------------------------------------------------
 *
 * io_host_cgroup.c
 *	  Probing: limits of control groups, of I/O and of memory.
 *
 * A limit holds for a process if it is set for its group or for one above it, so the smallest on
 * the way up is what counts.  With version 2 all controllers share one hierarchy, with version 1
 * each one has its own, where a process may be in another group; systems that mount both use
 * version 2 for the controllers that version 1 does not have.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_host_cgroup.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"

#include "io_host.h"

#ifdef __linux__

/* Version 1 says "none" so, less what is not a whole page. */
#define NO_MEMORY_LIMIT		(UINT64CONST(1) << 60)

/* A hierarchy of groups, and how a controller is found in it. */
typedef struct Hierarchy
{
	int			version;
	const char *controller;		/* of version 1 */
	ZsIoMount	mount;
} Hierarchy;

/* Reads what it is after from the directory of a group. */
typedef void (*GroupReader) (const char *group, void *arg);

/* Is the word one of those that are separated by commas or blanks? */
static bool
has_word(const char *list, const char *word)
{
	size_t		len = strlen(word);

	while (*list != '\0')
	{
		size_t		n = strcspn(list, ", ");

		if (n == len && strncmp(list, word, len) == 0)
			return true;
		list += n;
		list += strspn(list, ", ");
	}
	return false;
}

static bool
mount_is_cgroup2(const ZsIoMount *mount, const void *arg)
{
	return strcmp(mount->type, "cgroup2") == 0;
}

static bool
mount_has_controller(const ZsIoMount *mount, const void *arg)
{
	return strcmp(mount->type, "cgroup") == 0 && has_word(mount->options, arg);
}

/*
 * The hierarchy in which the controller is in use, by its names with version 2 and 1; false: there
 * is none.
 */
static bool
find_hierarchy(const char *name2, const char *name1, Hierarchy *found)
{
	char		path[MAXPGPATH + 32];
	char		line[256];

	found->controller = name1;
	if (zsio_host_mount(mount_is_cgroup2, NULL, &found->mount))
	{
		found->version = 2;
		snprintf(path, sizeof(path), "%s/cgroup.controllers", found->mount.point);
		if (zsio_host_line(path, line, sizeof(line)) && has_word(line, name2))
			return true;
	}
	found->version = 1;
	return zsio_host_mount(mount_has_controller, name1, &found->mount);
}

/*
 * Our group within a hierarchy: lines of /proc/self/cgroup are "0::/path" for version 2,
 * "7:cpu,cpuacct:/path" for version 1.
 */
static bool
own_group(const Hierarchy *hierarchy, char *path, size_t size)
{
	FILE	   *file = AllocateFile("/proc/self/cgroup", "r");
	char		line[MAXPGPATH];
	bool		found = false;

	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), file) != NULL)
	{
		char	   *controllers = strchr(line, ':');
		char	   *group = controllers == NULL ? NULL : strchr(++controllers, ':');

		if (group == NULL)
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		found = hierarchy->version == 2 ? controllers[0] == '\0' :
			has_word(controllers, hierarchy->controller);
		if (found)
			strlcpy(path, group, size);
	}
	FreeFile(file);
	return found;
}

/* Calls the reader for our group and for those above it; false: ours is not to be seen. */
static bool
read_hierarchy(const Hierarchy *hierarchy, GroupReader reader, void *arg)
{
	const ZsIoMount *mount = &hierarchy->mount;
	char		group[MAXPGPATH];
	char		path[MAXPGPATH * 2];
	char	   *below = group;
	size_t		root_len = strlen(mount->root);
	bool		seen;

	if (!own_group(hierarchy, group, sizeof(group)))
		return false;
	/* a container may see a part of the hierarchy only */
	if (root_len > 1 && strncmp(group, mount->root, root_len) == 0)
		below += root_len;
	snprintf(path, sizeof(path), "%s%s", mount->point, below);
	seen = access(path, F_OK) == 0;

	for (;;)
	{
		size_t		len = strlen(path);

		CHECK_FOR_INTERRUPTS();
		while (len > 1 && path[len - 1] == '/')
			path[--len] = '\0';
		reader(path, arg);
		if (len <= strlen(mount->point))
			return seen;
		*strrchr(path, '/') = '\0';
	}
}

static void
lower(uint64 *limit, const char *text)
{
	uint64		value = strtou64(text, NULL, 10);

	/* "max" */
	if (value > 0 && (*limit == 0 || value < *limit))
		*limit = value;
}

/* ---- of I/O ----------------------------------------------------------------------------- */

/* What is read for a volume. */
typedef struct IoReader
{
	const ZsIoHostVolume *volume;
	ZsIoCgroupLimits *limits;
} IoReader;

/* "8:0 rbps=1048576 wbps=max riops=max wiops=100" */
static void
read_io_v2(const char *group, void *arg)
{
	const IoReader *reader = arg;
	ZsIoCgroupLimits *limits = reader->limits;
	char		path[MAXPGPATH * 2 + 32];
	char		line[256];
	char	   *save;

	snprintf(path, sizeof(path), "%s/io.max", group);
	if (!zsio_host_field(path, reader->volume->device_no, line, sizeof(line)))
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
read_io_v1(const char *group, void *arg)
{
	const IoReader *reader = arg;
	ZsIoCgroupLimits *limits = reader->limits;
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
		if (zsio_host_field(path, reader->volume->device_no, line, sizeof(line)))
			lower(files[i].limit, line);
	}
}

/* Limits of I/O: see io_host.h. */
void
zsio_host_cgroup(const ZsIoHostVolume *volume, ZsIoCgroupLimits *limits)
{
	Hierarchy	hierarchy;
	IoReader	reader = {.volume = volume,.limits = limits};

	Assert(volume != NULL && limits != NULL);
	memset(limits, 0, sizeof(ZsIoCgroupLimits));
	if (volume->device_no[0] == '\0' || !find_hierarchy("io", "blkio", &hierarchy))
		return;
	limits->known = true;
	limits->version = hierarchy.version;
	(void) read_hierarchy(&hierarchy, hierarchy.version == 2 ? read_io_v2 : read_io_v1, &reader);
}

/* The version that counts it: see io_host.h. */
int
zsio_host_cgroup_version(void)
{
	Hierarchy	hierarchy;

	return find_hierarchy("io", "blkio", &hierarchy) ? hierarchy.version : 0;
}

/* ---- of memory ------------------------------------------------------------------------------ */

static void
read_memory(const char *group, const char *name, uint64 *limit)
{
	char		path[MAXPGPATH * 2 + 32];
	char		line[64];

	snprintf(path, sizeof(path), "%s/%s", group, name);
	if (zsio_host_line(path, line, sizeof(line)))
		lower(limit, line);
}

static void
read_memory_v2(const char *group, void *arg)
{
	read_memory(group, "memory.max", arg);
}

static void
read_memory_v1(const char *group, void *arg)
{
	read_memory(group, "memory.limit_in_bytes", arg);
}

/* The memory that we may use: see io_host.h. */
bool
zsio_host_memory(uint64 *limit)
{
	Hierarchy	hierarchy;

	*limit = 0;
	if (!find_hierarchy("memory", "memory", &hierarchy) ||
		!read_hierarchy(&hierarchy, hierarchy.version == 2 ? read_memory_v2 : read_memory_v1,
						limit))
		return false;
	if (*limit > NO_MEMORY_LIMIT)
		*limit = 0;
	return true;
}

#else							/* !__linux__ */

/* No limits are known. */
void
zsio_host_cgroup(const ZsIoHostVolume *volume, ZsIoCgroupLimits *limits)
{
	memset(limits, 0, sizeof(ZsIoCgroupLimits));
}

/* Not known. */
int
zsio_host_cgroup_version(void)
{
	return 0;
}

/* Not known. */
bool
zsio_host_memory(uint64 *limit)
{
	*limit = 0;
	return false;
}

#endif							/* __linux__ */
