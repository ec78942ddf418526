/*-------------------------------------------------------------------------
 *
 * io_report.c
 *	  zs_io_report(): what limits I/O on this host.
 *
 * A row for each thing looked at: where it applies, what was found, advice where there
 * is something to gain, and why it matters.  What cannot be found out is
 * reported as unknown, and never an error.  The probes run in the backend, whose rights and
 * limits are those of the other processes of the server.
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
#include "access/xlog.h"
#include "access/xlogutils.h"
#include "catalog/pg_tablespace.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "postmaster/bgwriter.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "io_host.h"
#include "io_internal.h"
#include "zs_base.h"
#include "io_profile.h"

PG_FUNCTION_INFO_V1(zs_io_report);

#define UNKNOWN		"unknown"
#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define REPORT_COLUMNS	5

/* One row; object and advice may be NULL. */
static void
put(ReturnSetInfo *rsinfo, const char *item, const char *object, const char *setting,
	const char *advice, const char *reason)
{
	Datum		values[REPORT_COLUMNS] = {0};
	bool		nulls[REPORT_COLUMNS] = {false, object == NULL, false, advice == NULL, false};

	Assert(item != NULL && setting != NULL && reason != NULL);
	CHECK_FOR_INTERRUPTS();
	values[0] = CStringGetTextDatum(item);
	if (object != NULL)
		values[1] = CStringGetTextDatum(object);
	values[2] = CStringGetTextDatum(setting);
	if (advice != NULL)
		values[3] = CStringGetTextDatum(advice);
	values[4] = CStringGetTextDatum(reason);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* ---- kernel ------------------------------------------------------------------------- */

static void
report_kernel(ReturnSetInfo *rsinfo)
{
	struct utsname name;

	put(rsinfo, "kernel", NULL,
		uname(&name) == 0 ? psprintf("%s %s", name.sysname, name.release) : UNKNOWN, NULL,
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
	put(rsinfo, "io_uring", NULL,
		error == 0 ? "available" : psprintf("refused: %s", strerror(error)), advice,
		"I/O workers keep many writes in flight with it; without it a worker has up to 16 threads "
		"that write one at a time each.");
	put(rsinfo, "kernel.io_uring_disabled", NULL,
		disabled < 0 ? UNKNOWN : psprintf("%d", disabled),
		disabled > 0 ? "Set it to 0 if the server may use io_uring." : NULL,
		"1 allows io_uring to one group only, 2 to nobody.");
	put(rsinfo, "seccomp", NULL,
		strcmp(line, UNKNOWN) == 0 ? UNKNOWN : filtered ? "filtered" : "not filtered", NULL,
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
			put(rsinfo, limits[i].bytes_item, NULL, line, NULL, limits[i].reason);
			continue;
		}
		snprintf(path, sizeof(path), "/proc/sys/vm/%s", strchr(limits[i].item, '.') + 1);
		if (!zsio_host_line(path, line, sizeof(line)))
			put(rsinfo, limits[i].item, NULL, UNKNOWN, NULL, limits[i].reason);
		else
			put(rsinfo, limits[i].item, NULL, psprintf("%s %%", line),
				atoi(line) > limits[i].most ? limits[i].advice : NULL, limits[i].reason);
	}
	for (int i = 0; i < (int) lengthof(times); i++)
	{
		snprintf(path, sizeof(path), "/proc/sys/vm/%s", strchr(times[i][0], '.') + 1);
		put(rsinfo, times[i][0], NULL,
			zsio_host_line(path, line, sizeof(line)) ? line : UNKNOWN, NULL, times[i][1]);
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

	put(rsinfo, "huge_pages", NULL,
		psprintf("%s, in use: %s", GetConfigOptionByName("huge_pages", NULL, false),
				 status == NULL ? UNKNOWN : status),
		large && !in_use ?
		psprintf("Set vm.nr_hugepages to at least shared_memory_size_in_huge_pages (%s).",
				 GetConfigOptionByName("shared_memory_size_in_huge_pages", NULL, false)) : NULL,
		"With ordinary pages each backend has page tables for all shared buffers that it touched.");
	put(rsinfo, "vm.nr_hugepages", NULL,
		zsio_host_line("/proc/sys/vm/nr_hugepages", line, sizeof(line)) ? line : UNKNOWN, NULL,
		"Explicit huge pages set aside by the kernel.");
	if (!zsio_host_line("/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof(line)))
		strlcpy(line, UNKNOWN, sizeof(line));
	chosen = strchr(line, '[') != NULL ? strchr(line, '[') + 1 : line;
	chosen[strcspn(chosen, "]")] = '\0';
	put(rsinfo, "transparent huge pages", NULL, chosen,
		strcmp(chosen, "always") == 0 ? "Set them to madvise." : NULL,
		"Compaction of memory for them may stop processes for a time; shared buffers want explicit "
		"huge pages.");
}

static void
report_clock(ReturnSetInfo *rsinfo)
{
	char		line[64];
	bool		known = zsio_host_line(CLOCK_SOURCE, line, sizeof(line));
	bool		slow = known && (strcmp(line, "hpet") == 0 || strcmp(line, "acpi_pm") == 0 ||
								 strcmp(line, "xen") == 0);

	put(rsinfo, "clock source", NULL, known ? line : UNKNOWN,
		slow ? "Use a clock that is read without a system call: tsc or kvm-clock." : NULL,
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
	put(rsinfo, "RLIMIT_MEMLOCK", NULL, setting,
		small ? "Raise it to 8 MB or more (LimitMEMLOCK= of the service)." : NULL,
		"Kernels before 5.12 count the memory of rings, and all count registered buffers, against "
		"it.");
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

	put(rsinfo, "file system", object,
		volume->file_system[0] != '\0' ? volume->file_system : UNKNOWN, NULL,
		"I/O workers write asynchronously on ext4 and xfs; see docs/io.md for the reason.");
	put(rsinfo, "device", object,
		volume->device[0] == '\0' ? UNKNOWN :
		volume->model[0] == '\0' ? volume->device :
		psprintf("%s (%s)", volume->device, volume->model),
		is_cloud_volume(volume->model) && zsio_profile == ZSIO_PROFILE_AUTO ?
		"Name the type of the volume in zedstore.io_profile." : NULL,
		"Tablespaces on one device share its limits.");
	put(rsinfo, "rotational", object,
		volume->rotational < 0 ? UNKNOWN : rotational ? "yes" : "no", NULL,
		"Virtual disks often say so wrongly; zedstore.io_profile names the kind of volume.");
	if (strcmp(scheduler, "bfq") == 0 && !rotational)
		advice = "Use none or mq-deadline, unless background I/O is to yield by priority.";
	else if (strcmp(scheduler, "none") == 0 && rotational)
		advice = "Use mq-deadline or bfq.";
	put(rsinfo, "scheduler", object, scheduler[0] != '\0' ? scheduler : UNKNOWN, advice,
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
	put(rsinfo, "cgroup limits", object, setting,
		limited ?
		"Let zedstore.io_profile be auto, which keeps below them, or set zedstore.io_max_iops and "
		"zedstore.io_max_bandwidth." : NULL,
		"Requests beyond the limit wait in the kernel, foreground and background alike.");
}

static void
report_alignment(ReturnSetInfo *rsinfo, const char *object, const char *path)
{
	ZsIoAlignment a;

	zsio_host_alignment(path, &a);
	put(rsinfo, "direct I/O", object,
		!a.file_found ? UNKNOWN : a.opens_direct ? "yes" : "refused",
		a.file_found && !a.opens_direct ?
		"Use a file system with direct I/O, or set zedstore.io_direct = off." : NULL,
		"I/O workers write around the page cache, where each page would be kept a second time.");
	put(rsinfo, "direct I/O alignment", object,
		!a.direct_known ? UNKNOWN :
		psprintf("memory %u, offset %u", a.direct_memory, a.direct_offset),
		a.direct_known && a.direct_offset > BLCKSZ ?
		"Set zedstore.io_direct = off: pages are smaller than what the device writes "
		"directly." : NULL,
		"Requests that are not aligned are refused, or written through the page cache.");
	put(rsinfo, "untorn writes", object,
		!a.atomic_known ? UNKNOWN : a.atomic_max == 0 ? "no" :
		psprintf("%u to %u bytes", a.atomic_min, a.atomic_max),
		NULL,
		"A device that never tears 8 kB would make full_page_writes needless, if all writes asked "
		"for it; the server does not.");
	put(rsinfo, "write hints", object,
		!a.hints_known ? UNKNOWN : a.hints ? "yes" : "no", NULL,
		"Files can tell devices with streams how long their data will live.");
}

static void
report_volume(ReturnSetInfo *rsinfo, const char *object, const char *path)
{
	ZsIoHostVolume	volume;

	zsio_host_volume(path, &volume);
	report_device(rsinfo, object, &volume);
	report_cgroup(rsinfo, object, &volume);
	report_alignment(rsinfo, object, path);
}

static void
report_volumes(ReturnSetInfo *rsinfo)
{
	Relation	rel = table_open(TableSpaceRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(rel, TablespaceOidIndexId, true, NULL, 0, NULL);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_tablespace form = (Form_pg_tablespace) GETSTRUCT(tuple);
		char		path[MAXPGPATH];

		zsio_host_tablespace_path(form->oid, path);
		report_volume(rsinfo, NameStr(form->spcname), path);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	report_volume(rsinfo, "pg_wal", "pg_wal");
}

/* ---- settings -------------------------------------------------------------------- */

static void
put_setting(ReturnSetInfo *rsinfo, const char *name, const char *advice, const char *reason)
{
	const char *value = GetConfigOptionByName(name, NULL, true);

	put(rsinfo, name, NULL, value == NULL ? "not in this version" : value,
		value == NULL ? NULL : advice, reason);
}

static void
report_settings(ReturnSetInfo *rsinfo)
{
	const char *method = GetConfigOption("io_method", true, false);

	put_setting(rsinfo, "full_page_writes",
				fullPageWrites ? NULL : "Leave it on unless the file system never tears pages.",
				"The first change of a page after a checkpoint puts the whole page into the WAL.");
	put_setting(rsinfo, "wal_compression",
				fullPageWrites && wal_compression == WAL_COMPRESSION_NONE ?
				"Set it to lz4 or zstd where the server has them." : NULL,
				"Compresses those whole pages; costs processor time, saves most of the WAL after a "
				"checkpoint.");
	put_setting(rsinfo, "io_method",
				method != NULL && strcmp(method, "sync") == 0 ?
				"Set it to worker or io_uring." : NULL,
				"How the server reads ahead: what zs_prewarm() and scans get from large requests.");
	put_setting(rsinfo, "checkpoint_timeout",
				CheckPointTimeout < 600 ?
				"Set it to 15 minutes or more if recovery may take as long." : NULL,
				"Each checkpoint writes all dirty buffers, and makes each page go whole into the "
				"WAL once more.");
	put_setting(rsinfo, "checkpoint_completion_target",
				CheckPointCompletionTarget < 0.7 ? "Set it to 0.9." : NULL,
				"The part of that time over which a checkpoint spreads its writes.");
	put_setting(rsinfo, "max_wal_size",
				max_wal_size_mb < 4096 ?
				"Raise it until checkpoints are timed, not requested "
				"(pg_stat_checkpointer)." : NULL,
				"A checkpoint starts early when that much WAL was written, and is the more "
				"hurried.");
	put_setting(rsinfo, "zedstore.io_workers",
				zsio_workers == 0 ?
				"Set it to 1 if checkpoints, VACUUM or evicted buffers disturb other I/O." : NULL,
				"Processes that write for checkpoints, ahead of backends that need buffers, and "
				"behind VACUUM: within limits, with large direct requests.");
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
	report_volumes(rsinfo);
	report_settings(rsinfo);
	return (Datum) 0;
}
