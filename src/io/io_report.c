/*-------------------------------------------------------------------------
 *
 * io_report.c
 *	  zs_io_report(): what limits I/O on this host.
 *
 * A row for each thing looked at: where it applies, what was found, advice where there
 * is something to gain, and why it matters.  What cannot be found out is
 * reported as unknown, and never an error.  The probes run in the backend, whose rights and
 * limits are those of the other processes of the server.  Rows about
 * settings: io_report_settings.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_report.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/resource.h>
#include <sys/utsname.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_tablespace.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "io_host.h"
#include "io_internal.h"
#include "io_profile.h"
#include "io_report.h"
#include "zs_base.h"

PG_FUNCTION_INFO_V1(zs_io_report);

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

/* ---- kernel ------------------------------------------------------------------------- */

static void
report_kernel(ReturnSetInfo *rsinfo)
{
	struct utsname name;

	zsio_report_put(rsinfo, "kernel", NULL,
					uname(&name) == 0 ? psprintf("%s %s", name.sysname, name.release) : UNKNOWN,
					NULL,
					"What direct I/O, io_uring and untorn writes can do depends on it.");
}

static void
report_uring(ReturnSetInfo *rsinfo)
{
	char		line[64];
	int			disabled = -1;
	bool		filtered = false;
	int			error = zsio_host_try_uring();
	const char *advice = NULL;

	if (zsio_host_line("/proc/sys/kernel/io_uring_disabled", line, sizeof(line)))
		disabled = atoi(line);
	if (zsio_host_field("/proc/self/status", "Seccomp", line, sizeof(line)))
		filtered = atoi(line) == 2;
	else
		strlcpy(line, UNKNOWN, sizeof(line));

	if (error == ENOSYS)
		advice = "Use a kernel with io_uring (Linux 5.1 or later), or a container runtime that "
				 "lets it through.";
	else if (error == ENOMEM)
		advice = "Raise the limit of locked memory (ulimit -l).";
	else if (error != 0 && disabled > 0)
		advice = "Set kernel.io_uring_disabled = 0, or make the server's group "
				 "kernel.io_uring_group.";
	else if (error != 0 && filtered)
		advice = "Permit io_uring_setup, io_uring_enter and io_uring_register in the container's "
				 "seccomp profile.";
	else if (error != 0)
		advice = "Find out what refuses io_uring_setup().";
#ifndef USE_ZS_URING
	else
		advice = "Build zedstore_io with liburing.";
#endif
	zsio_report_put(rsinfo, "io_uring", NULL,
					error == 0 ? "available" : psprintf("refused: %s", strerror(error)), advice,
					"I/O workers keep many writes in flight with it; without it a worker has up "
					"to 16 threads that write one at a time each.");
	zsio_report_put(rsinfo, "kernel.io_uring_disabled", NULL,
					disabled < 0 ? UNKNOWN : psprintf("%d", disabled),
					disabled > 0 ? "Set it to 0 if the server may use io_uring." : NULL,
					"1 allows io_uring to one group only, 2 to nobody.");
	zsio_report_put(rsinfo, "seccomp", NULL,
					strcmp(line, UNKNOWN) == 0 ? UNKNOWN : filtered ? "filtered" : "not filtered",
					NULL,
					"Container runtimes filter system calls, io_uring among them.");
}

/* vm.dirty_*: the page cache may hold back gigabytes and write them all at once. */
static void
report_dirty(ReturnSetInfo *rsinfo)
{
	static const struct
	{
		const char *item;
		const char *bytes_item;
		int			most;		/* per cent */
		const char *advice;
		const char *reason;
	}			limits[] = {
		{"vm.dirty_background_ratio", "vm.dirty_background_bytes", 5,
			"Set vm.dirty_background_bytes to what the device writes in a second or less, for "
			"example 64 MB.",
		"From here on the kernel writes in the background what the server wrote to files; later "
		"means in bursts."},
		{"vm.dirty_ratio", "vm.dirty_bytes", 20,
			"Set vm.dirty_bytes to a few hundred MB.",
		"From here on the kernel makes processes that write wait."},
	};
	static const char *const times[][2] = {
		{"vm.dirty_expire_centisecs",
		"After that time written data has to go to the device."},
		{"vm.dirty_writeback_centisecs",
		"The kernel looks that often for data that is old enough; 0 means never."},
	};
	char		path[MAXPGPATH];
	char		line[64];

	for (int i = 0; i < (int) lengthof(limits); i++)
	{
		Assert(strchr(limits[i].bytes_item, '.') != NULL && strchr(limits[i].item, '.') != NULL);
		snprintf(path, sizeof(path), "/proc/sys/vm/%s", strchr(limits[i].bytes_item, '.') + 1);
		if (zsio_host_line(path, line, sizeof(line)) && strcmp(line, "0") != 0)
		{
			zsio_report_put(rsinfo, limits[i].bytes_item, NULL, line, NULL, limits[i].reason);
			continue;
		}
		snprintf(path, sizeof(path), "/proc/sys/vm/%s", strchr(limits[i].item, '.') + 1);
		if (!zsio_host_line(path, line, sizeof(line)))
			zsio_report_put(rsinfo, limits[i].item, NULL, UNKNOWN, NULL, limits[i].reason);
		else
			zsio_report_put(rsinfo, limits[i].item, NULL, psprintf("%s %%", line),
							atoi(line) > limits[i].most ? limits[i].advice : NULL,
							limits[i].reason);
	}
	for (int i = 0; i < (int) lengthof(times); i++)
	{
		snprintf(path, sizeof(path), "/proc/sys/vm/%s", strchr(times[i][0], '.') + 1);
		zsio_report_put(rsinfo, times[i][0], NULL,
						zsio_host_line(path, line, sizeof(line)) ? line : UNKNOWN, NULL,
						times[i][1]);
	}
}

static void
report_huge_pages(ReturnSetInfo *rsinfo)
{
	char		line[128];
	const char *status = GetConfigOption("huge_pages_status", true, false);
	bool		large = (Size) NBuffers * BLCKSZ >= UINT64CONST(1) << 30;
	bool		in_use = status != NULL && strcmp(status, "on") == 0;
	char	   *chosen;

	zsio_report_put(rsinfo, "huge_pages", NULL,
					psprintf("%s, in use: %s",
							 GetConfigOptionByName("huge_pages", NULL, false),
							 status == NULL ? UNKNOWN : status),
					large && !in_use ?
					psprintf("Set vm.nr_hugepages to at least shared_memory_size_in_huge_pages "
							 "(%s).",
							 GetConfigOptionByName("shared_memory_size_in_huge_pages", NULL,
												   false)) : NULL,
					"With ordinary pages each backend has page tables for all shared buffers that "
					"it touched.");
	zsio_report_put(rsinfo, "vm.nr_hugepages", NULL,
					zsio_host_line("/proc/sys/vm/nr_hugepages", line, sizeof(line)) ?
					line : UNKNOWN, NULL,
					"Explicit huge pages set aside by the kernel.");
	if (!zsio_host_line("/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof(line)))
		strlcpy(line, UNKNOWN, sizeof(line));
	chosen = strchr(line, '[') != NULL ? strchr(line, '[') + 1 : line;
	chosen[strcspn(chosen, "]")] = '\0';
	zsio_report_put(rsinfo, "transparent huge pages", NULL, chosen,
					strcmp(chosen, "always") == 0 ? "Set them to madvise." : NULL,
					"Compaction of memory for them may stop processes for a time; shared buffers "
					"want explicit huge pages.");
}

static void
report_clock(ReturnSetInfo *rsinfo)
{
	char		line[64];
	bool		known = zsio_host_line(CLOCK_SOURCE, line, sizeof(line));
	bool		slow = known && (strcmp(line, "hpet") == 0 || strcmp(line, "acpi_pm") == 0 ||
								 strcmp(line, "xen") == 0);

	zsio_report_put(rsinfo, "clock source", NULL, known ? line : UNKNOWN,
					slow ?
					"Use a clock that is read without a system call: tsc or kvm-clock." : NULL,
					"track_io_timing and EXPLAIN ANALYZE read the clock twice for each call.");
}

static void
report_locked_memory(ReturnSetInfo *rsinfo)
{
	struct rlimit limit;
	const char *setting = UNKNOWN;
	bool		small = false;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
	{
		small = limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < 8 * 1024 * 1024;
		setting = limit.rlim_cur == RLIM_INFINITY ? "unlimited" :
			psprintf(UINT64_FORMAT " kB", (uint64) limit.rlim_cur / 1024);
	}
	zsio_report_put(rsinfo, "RLIMIT_MEMLOCK", NULL, setting,
					small ? "Raise it to 8 MB or more (LimitMEMLOCK= of the service)." : NULL,
					"Kernels before 5.12 count the memory of rings, and all count registered "
					"buffers, against it.");
}

/* ---- volumes ---------------------------------------------------------------------------- */

static const char *
limit_text(const char *name, uint64 value, uint64 unit)
{
	Assert(unit > 0);
	return value == 0 ? "" : psprintf("%s " UINT64_FORMAT " ", name, value / unit);
}

/* Disks of clouds say whose they are, but not what was bought. */
static bool
is_cloud_volume(const char *model)
{
	static const char *const models[] = {
		"Amazon Elastic Block Store", "PersistentDisk", "nvme_card-pd", "MSFT NVMe", "Virtual Disk",
	};

	for (int i = 0; i < (int) lengthof(models); i++)
	{
		if (strncmp(model, models[i], strlen(models[i])) == 0)
			return true;
	}
	return false;
}

static void
report_device(ReturnSetInfo *rsinfo, const char *object, const ZsIoHostVolume *volume)
{
	bool		rotational = volume->rotational == 1;
	const char *scheduler = volume->scheduler;
	const char *advice = NULL;

	zsio_report_put(rsinfo, "file system", object,
					volume->file_system[0] != '\0' ? volume->file_system : UNKNOWN, NULL,
					"I/O workers write asynchronously on ext4 and xfs; see docs/io.md for the "
					"reason.");
	zsio_report_put(rsinfo, "device", object,
					volume->device[0] == '\0' ? UNKNOWN :
					volume->model[0] == '\0' ? volume->device :
					psprintf("%s (%s)", volume->device, volume->model),
					is_cloud_volume(volume->model) && zsio_profile == ZSIO_PROFILE_AUTO ?
					"Name the type of the volume in zedstore.io_profile." : NULL,
					"Tablespaces on one device share its limits.");
	zsio_report_put(rsinfo, "rotational", object,
					volume->rotational < 0 ? UNKNOWN : rotational ? "yes" : "no", NULL,
					"Virtual disks often say so wrongly; zedstore.io_profile names the kind of "
					"volume.");
	if (strcmp(scheduler, "bfq") == 0 && !rotational)
		advice = "Use none or mq-deadline, unless background I/O is to yield by priority.";
	else if (strcmp(scheduler, "none") == 0 && rotational)
		advice = "Use mq-deadline or bfq.";
	zsio_report_put(rsinfo, "scheduler", object, scheduler[0] != '\0' ? scheduler : UNKNOWN, advice,
					"It orders requests of different processes; priorities count with bfq and "
					"mq-deadline only.");
}

static void
report_cgroup(ReturnSetInfo *rsinfo, const char *object, const ZsIoHostVolume *volume)
{
	ZsIoCgroupLimits limits;
	const char *setting;
	bool		limited;

	zsio_host_cgroup(volume, &limits);
	limited = limits.read_iops + limits.write_iops + limits.read_bytes + limits.write_bytes > 0;
	if (!limits.known)
		setting = UNKNOWN;
	else if (!limited)
		setting = psprintf("none (version %d)", limits.version);
	else
		setting = psprintf("%s%s%s%s(version %d)",
						   limit_text("read IOPS", limits.read_iops, 1),
						   limit_text("write IOPS", limits.write_iops, 1),
						   limit_text("read kB/s", limits.read_bytes, 1024),
						   limit_text("write kB/s", limits.write_bytes, 1024),
						   limits.version);
	zsio_report_put(rsinfo, "cgroup limits", object, setting,
					limited ?
					"Let zedstore.io_profile be auto, which keeps below them, or set "
					"zedstore.io_max_iops and zedstore.io_max_bandwidth." : NULL,
					"Requests beyond the limit wait in the kernel, foreground and background "
					"alike.");
}

static void
report_alignment(ReturnSetInfo *rsinfo, const char *object, const ZsIoAlignment *alignment)
{
	ZsIoAlignment a = *alignment;

	zsio_report_put(rsinfo, "direct I/O", object,
					!a.file_found ? UNKNOWN : a.opens_direct ? "yes" : "refused",
					a.file_found && !a.opens_direct ?
					"Use a file system with direct I/O, or set zedstore.io_direct = off." : NULL,
					"I/O workers write around the page cache, where each page would be kept a "
					"second time.");
	zsio_report_put(rsinfo, "direct I/O alignment", object,
					!a.direct_known ? UNKNOWN :
					psprintf("memory %u, offset %u", a.direct_memory, a.direct_offset),
					a.direct_known && a.direct_offset > BLCKSZ ?
					"Set zedstore.io_direct = off: pages are smaller than what the device "
					"writes directly." : NULL,
					"Requests that are not aligned are refused, or written through the page "
					"cache.");
	zsio_report_put(rsinfo, "untorn writes", object,
					!a.atomic_known ? UNKNOWN : a.atomic_max == 0 ? "no" :
					psprintf("%u to %u bytes%s", a.atomic_min, a.atomic_max,
							 a.atomic_max_fast > 0 && a.atomic_max_fast < a.atomic_max ?
							 psprintf(", without copying up to %u", a.atomic_max_fast) : ""),
					NULL,
					"What the device or file system writes as a whole if a write asks for it; the "
					"server's writes do not.");
	zsio_report_put(rsinfo, "write hints", object,
					!a.hints_known ? UNKNOWN : a.hints ? "yes" : "no", NULL,
					"Files can tell devices with streams how long their data will live.");
}

/*
 * May a crash leave a page half written?  Returns whether that is impossible.
 *
 * Only a file system that writes each record anew, and whose records have room for a page, promises
 * that for all writes.  Untorn writes of others have to be asked for with each write.
 */
static bool
report_torn_pages(ReturnSetInfo *rsinfo, const char *object, const ZsIoHostVolume *volume,
				  const ZsIoAlignment *a)
{
	bool		zfs = strcmp(volume->file_system, "zfs") == 0;
	bool		never = zfs && a->file_found && a->record_size >= BLCKSZ &&
		a->record_size % BLCKSZ == 0;
	const char *setting;
	const char *advice = NULL;

	if (never)
		setting = psprintf("never: zfs writes records of %u bytes as a whole", a->record_size);
	else if (volume->file_system[0] == '\0' || (zfs && !a->file_found))
		setting = UNKNOWN;
	else if (zfs)
	{
		setting = psprintf("possible: zfs has records of %u bytes", a->record_size);
		advice = "Use a recordsize of 8 kB or more for new files.";
	}
	else if (a->atomic_known && a->atomic_min <= BLCKSZ && a->atomic_max >= BLCKSZ)
		setting = psprintf("possible: %s can write 8 kB as a whole, but is not asked to",
						   volume->file_system);
	else
		setting = psprintf("possible: %s does not promise otherwise", volume->file_system);
	zsio_report_put(rsinfo, "torn pages", object, setting, advice,
					"Where no crash can leave a page half written, full_page_writes is not "
					"needed; standbys and restored backups need such a volume, too.");
	return never;
}

/* The queue of the disk, and the kernel's writeback to it. */
static void
report_queue(ReturnSetInfo *rsinfo, const char *object, const ZsIoHostVolume *volume)
{
	static const struct
	{
		const char *item;
		const char *dir;		/* NULL: the disk's own */
		const char *file;
		const char *unit;
		const char *reason;
	}			values[] = {
		{"read_ahead_kb", NULL, "queue/read_ahead_kb", " kB",
		"How far the kernel reads ahead when pages are read one after the other through its "
		"cache."},
		{"max_sectors_kb", NULL, "queue/max_sectors_kb", " kB",
		"The kernel cuts larger requests into pieces of that size."},
		{"nr_requests", NULL, "queue/nr_requests", "",
		"So many requests can wait in the scheduler's queue; processes with more wait."},
		{"wbt_lat_usec", NULL, "queue/wbt_lat_usec", " us",
		"When reads take longer than that, the kernel writes less from its cache; direct writes "
		"go on.  0 means never."},
		{"bdi max_bytes", "/sys/class/bdi", "max_bytes", "",
		"The device may have at most that much of the dirty page cache."},
		{"bdi strict_limit", "/sys/class/bdi", "strict_limit", "",
		"With 1 the share of the device is kept to even while there is little dirty page cache."},
	};
	int			combine_kb = zs_io_combine_limit() * (BLCKSZ / 1024);

	for (int i = 0; i < (int) lengthof(values); i++)
	{
		char		path[MAXPGPATH + 128];
		char		line[64];
		bool		known = volume->device_no[0] != '\0';
		const char *advice = NULL;

		if (values[i].dir == NULL)
			snprintf(path, sizeof(path), "%s/%s", volume->disk, values[i].file);
		else
			snprintf(path, sizeof(path), "%s/%s/%s", values[i].dir, volume->device_no,
					 values[i].file);
		known = known && zsio_host_line(path, line, sizeof(line));
		if (known && i == 1 && atoi(line) < combine_kb)
			advice = psprintf("Raise it to %d, as far as max_hw_sectors_kb allows.", combine_kb);
		zsio_report_put(rsinfo, values[i].item, object,
						known ? psprintf("%s%s", line, values[i].unit) : UNKNOWN, advice,
						values[i].reason);
	}
}

/* All about one volume; returns whether no crash can tear a page there. */
static bool
report_volume(ReturnSetInfo *rsinfo, const char *object, const char *path)
{
	ZsIoHostVolume volume;
	ZsIoAlignment alignment;

	zsio_host_volume(path, &volume);
	zsio_host_alignment(path, &alignment);
	report_device(rsinfo, object, &volume);
	report_queue(rsinfo, object, &volume);
	report_cgroup(rsinfo, object, &volume);
	report_alignment(rsinfo, object, &alignment);
	return report_torn_pages(rsinfo, object, &volume, &alignment);
}

/* All volumes; returns whether no crash can tear a page in any tablespace. */
static bool
report_volumes(ReturnSetInfo *rsinfo)
{
	bool		never_torn = true;
	Relation	rel = table_open(TableSpaceRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(rel, TablespaceOidIndexId, true, NULL, 0, NULL);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_tablespace form = (Form_pg_tablespace) GETSTRUCT(tuple);
		char		path[MAXPGPATH];

		zsio_host_tablespace_path(form->oid, path);
		if (!report_volume(rsinfo, NameStr(form->spcname), path))
			never_torn = false;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	(void) report_volume(rsinfo, "pg_wal", "pg_wal");
	return never_torn;
}

/* zs_io_report(): a row for each item. */
Datum
zs_io_report(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	zsbase_srf_init(fcinfo, REPORT_COLUMNS);
	report_kernel(rsinfo);
	report_uring(rsinfo);
	report_dirty(rsinfo);
	report_huge_pages(rsinfo);
	report_clock(rsinfo);
	report_locked_memory(rsinfo);
	zsio_report_settings(rsinfo, report_volumes(rsinfo));
	zsio_report_wal(rsinfo);
	return (Datum) 0;
}
