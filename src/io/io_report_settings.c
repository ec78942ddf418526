/*-------------------------------------------------------------------------
 *
 * io_report_settings.c
 *	  zs_io_report(): settings of the server that decide about I/O, and its WAL.
 *
 * Settings are compared with what the volumes want, by their profiles (io_profile.h): the deepest
 * queue and the largest request that one of them is best with.  The share of whole pages in the WAL
 * is estimated from pg_stat_wal, which counts them but not their bytes.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_report_settings.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/tuplestore.h"
#include <math.h>

#include "access/xlog.h"
#include "access/xlogutils.h"
#include "common/file_utils.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "nodes/execnodes.h"
#include "optimizer/optimizer.h"
#include "postmaster/bgwriter.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "io_host.h"
#include "io_internal.h"
#include "io_profile.h"
#include "io_report.h"
#include "zs_base.h"
#include "zs_compat.h"

/* What an image of a page takes in the WAL on average: most pages are not quite full. */
#define IMAGE_BYTES		7000.0

/* One row: see io_report.h. */
void
zsio_report_put(ReturnSetInfo *rsinfo, const char *item, const char *object, const char *setting,
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

/* The row of a setting; some versions do not have it. */
static void
put_setting(ReturnSetInfo *rsinfo, const char *name, const char *advice, const char *reason)
{
	const char *value = GetConfigOptionByName(name, NULL, true);

	Assert(reason != NULL);
	zsio_report_put(rsinfo, name, NULL, value == NULL ? "not in this version" :
					value[0] == '\0' ? "none" : value,
					value == NULL ? NULL : advice, reason);
}

/* How far readers look ahead, and how large their requests are. */
static void
report_reads(ReturnSetInfo *rsinfo)
{
	const char *method = GetConfigOption("io_method", true, false);
	bool		rotational;
	bool		known;
	int			request_blocks;
	int			depth;
	int			combine = zs_io_combine_limit();
	const char *deeper;

	zsio_volumes_refresh();
	zsio_volumes_largest(&request_blocks, &depth);
	known = zsio_volumes_have_profile(&rotational);
	deeper = psprintf("Set it to %d, the queue that the volume is best with.", depth);
	put_setting(rsinfo, "io_method",
				method != NULL && strcmp(method, "sync") == 0 ?
				"Set it to worker or io_uring." : NULL,
				"How the server reads ahead: what zs_prewarm() and scans get from large requests.");
	put_setting(rsinfo, "io_combine_limit",
				combine < request_blocks ?
				psprintf("Set it to %d kB, which the volume counts as one request.",
						 request_blocks * (BLCKSZ / 1024)) : NULL,
				"Neighbouring blocks are read with one request up to that size.");
	put_setting(rsinfo, "io_max_combine_limit",
				zs_io_max_combine_limit() < request_blocks ?
				psprintf("Set it to %d kB; it takes a restart.",
						 request_blocks * (BLCKSZ / 1024)) : NULL,
				"io_combine_limit cannot be larger.");
	put_setting(rsinfo, "effective_io_concurrency",
				known && effective_io_concurrency < depth ? deeper : NULL,
				"Scans have so many reads in flight.");
	put_setting(rsinfo, "maintenance_io_concurrency",
				known && maintenance_io_concurrency < depth ? deeper : NULL,
				"VACUUM, ANALYZE and index builds have so many reads in flight.");
	put_setting(rsinfo, "random_page_cost",
				random_page_cost >= 4 && known && !rotational ?
				"Set it to 1.1 to 2." : NULL,
				"The planner avoids indexes where it is high; 4 was measured on disks that turn.");
}

static void
report_checkpoints(ReturnSetInfo *rsinfo)
{
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
	put_setting(rsinfo, "recovery_init_sync_method",
				recovery_init_sync_method == DATA_DIR_SYNC_METHOD_FSYNC ?
				"Set it to syncfs if nothing else writes to the same file systems." : NULL,
				"After a crash each file of the data directory is synchronized, one by one or by "
				"file system.");
	put_setting(rsinfo, "file_copy_method", NULL,
				"CREATE DATABASE with STRATEGY FILE_COPY and ALTER DATABASE SET TABLESPACE copy "
				"files, or share their blocks where the file system can (clone).");
}

/* Memory that the group of the server may use. */
static void
report_memory(ReturnSetInfo *rsinfo)
{
	uint64		limit;
	bool		known = zsio_host_memory(&limit);
	int			version = zsio_host_cgroup_version();
	bool		tight = limit > 0 && limit / 4 * 3 < (uint64) NBuffers * BLCKSZ;

	zsio_report_put(rsinfo, "memory limit", NULL,
					!known ? UNKNOWN : limit == 0 ? "none" :
					psprintf(UINT64_FORMAT " MB", limit / (1024 * 1024)),
					tight ? "Leave room beside shared_buffers, a quarter at least." : NULL,
					"The page cache counts, too: near the limit the kernel writes and forgets it "
					"while the server waits.");
	zsio_report_put(rsinfo, "cgroup of writeback", NULL,
					version == 0 ? UNKNOWN : version == 1 ? "not counted" : "counted",
					version == 1 ?
					"Limit I/O with version 2 of cgroups, or let I/O workers write directly." : NULL,
					"With version 1 limits do not hold for what the kernel writes from the page "
					"cache, which is most of what the server writes.");
}

/* Settings of the server; see io_report.h. */
void
zsio_report_settings(ReturnSetInfo *rsinfo, bool never_torn)
{
	const char *advice = NULL;

	if (fullPageWrites && never_torn)
		advice = "It may be off, as long as standbys and backups are on such volumes, too.";
	else if (!fullPageWrites && !never_torn)
		advice = "Turn it on: see torn pages.";
	put_setting(rsinfo, "full_page_writes", advice,
				"The first change of a page after a checkpoint puts the whole page into the WAL.");
	put_setting(rsinfo, "wal_compression",
				fullPageWrites && wal_compression == WAL_COMPRESSION_NONE ?
				"Set it to lz4 or zstd where the server has them." : NULL,
				"Compresses those whole pages; costs processor time, saves most of the WAL after a "
				"checkpoint.");
	report_reads(rsinfo);
	report_checkpoints(rsinfo);
	report_memory(rsinfo);
}

/* How the WAL is written, and what is in it; see io_report.h. */
void
zsio_report_wal(ReturnSetInfo *rsinfo)
{
	PgStat_WalStats *stats = pgstat_fetch_stat_wal();
	double		bytes = (double) zs_wal_stat(stats, wal_bytes);
	double		images = (double) zs_wal_stat(stats, wal_fpi);
	double		share = bytes > 0 ? Min(images * IMAGE_BYTES / bytes, 1.0) : 0;
	bool		compressed = wal_compression != WAL_COMPRESSION_NONE;
	bool		some_compressed = compressed;

#ifdef USE_LZ4
	/* pages of trees: page_wal.c */
	some_compressed = compressed || zs_wal_compression == ZS_WAL_COMPRESSION_AUTO;
#endif
	zsio_report_put(rsinfo, "full page images", NULL,
					psprintf("%.0f in %.0f MB of WAL, %s %.0f %%", images, bytes / 1e6,
							 some_compressed ? "at most" : "about", share * 100),
					share > 0.5 && !compressed ?
					"Set wal_compression, and raise checkpoint_timeout and max_wal_size." : NULL,
					"Since pg_stat_wal was reset. Bulk loads and index builds log whole pages "
					"whatever full_page_writes says.");
	put_setting(rsinfo, "wal_sync_method", NULL,
				"zs_io_calibrate('pg_wal') measures what they take on this volume.");
	put_setting(rsinfo, "debug_io_direct", NULL,
				"With wal in it the WAL is written around the page cache.");
	put_setting(rsinfo, "wal_buffers",
				XLOGbuffers < 2048 && NBuffers >= 65536 ? "Set it to 16 MB or more." : NULL,
				"When it is full, sessions write the WAL themselves, before they commit.");
	put_setting(rsinfo, "commit_delay", NULL,
				"Commits that wait so many microseconds for others share a sync of the WAL. "
				"zedstore.io_group_commit sets it where that gains, unless somebody has.");
	put_setting(rsinfo, "wal_recycle", NULL,
				"Old segments are written over; file systems that copy on write want it off.");
	put_setting(rsinfo, "wal_init_zero", NULL,
				"New segments are filled with zeros first; file systems that copy on write want "
				"it off.");
	put_setting(rsinfo, "min_wal_size",
				min_wal_size_mb * 8 < max_wal_size_mb ?
				"Raise it towards max_wal_size if the load comes in waves." : NULL,
				"Segments up to that size are kept for reuse; others are made anew when they are "
				"needed.");
}
