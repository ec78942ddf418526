/*-------------------------------------------------------------------------
 *
 * vacuum_report.c
 *	  What VACUUM VERBOSE and the log of autovacuum say in the end.
 *
 * The text is heap's, word for word and in its order (heap_vacuum_rel() in vacuumlazy.c), since
 * people and programs look for it.  Behind it come lines on what heap does not have.  Pages are
 * those of the file, so of the first pass those are counted that it looks at, the leaves of the TID
 * tree.  Bits of the visibility map stand for 256 row numbers each.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_report.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "commands/dbcommands.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/backend_status.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "vacuum_run.h"
#include "zs_compat.h"
#include "zs_page.h"

/* May there be something to report in the end? */
static bool
is_wanted(const VacuumParams *params)
{
	return (params->options & VACOPT_VERBOSE) != 0 ||
		(AmAutoVacuumWorkerProcess() && zs_log_vacuum_min_duration(params) >= 0);
}

/* Remembers what there is now; run->rel is set. */
void
zsvacuum_report_begin(ZsVacuumRun *run, const VacuumParams *params)
{
	ZsVacuumStart *start = &run->start;

	start->time = GetCurrentTimestamp();
	start->nblocks = zspage_physical_blocks(run->rel);
	if (!is_wanted(params))
		return;
	pg_rusage_init(&start->rusage);
	start->wal = pgWalUsage;
	start->buffers = pgBufferUsage;
	start->read_time = pgStatBlockReadTime;
	start->write_time = pgStatBlockWriteTime;
}

/* Remembers the indexes' names, which are open. */
void
zsvacuum_report_name_indexes(ZsVacuumRun *run)
{
	run->index_names = palloc_array(char *, Max(run->nindexes, 1));
	for (int i = 0; i < run->nindexes; i++)
		run->index_names[i] = pstrdup(RelationGetRelationName(run->indexes[i]));
}

/* Pages as a part of what the table had in the beginning. */
static double
percent(const ZsVacuumRun *run, uint64 npages)
{
	return run->start.nblocks == 0 ? 100.0 : 100.0 * npages / run->start.nblocks;
}

/* Who was vacuumed, and by whom; there is no line's end yet. */
static void
add_title(StringInfo buf, const ZsVacuumRun *run, const VacuumParams *params)
{
	if (params->options & VACOPT_VERBOSE)
		appendStringInfoString(buf, "finished vacuuming ");
	else
		appendStringInfo(buf, "automatic %svacuum %sof table ",
						 run->aggressive ? "aggressive " : "",
						 params->is_wraparound ? "to prevent wraparound " : "");
	appendStringInfo(buf, "\"%s.%s.%s\": index scans: %d\n",
					 get_database_name(MyDatabaseId),
					 get_namespace_name(RelationGetNamespace(run->rel)),
					 RelationGetRelationName(run->rel), run->num_index_scans);
}

/* Pages and rows. */
static void
add_table(StringInfo buf, const ZsVacuumRun *run)
{
	appendStringInfo(buf, "pages: %u removed, %u remain, " UINT64_FORMAT
					 " scanned (%.2f%% of total)%s\n",
					 run->reclaim.blocks_truncated, zspage_physical_blocks(run->rel),
					 run->scanned_leaves, percent(run, run->scanned_leaves),
					 ZS_VACUUM_EAGER_PAGES);
	appendStringInfo(buf, "tuples: " UINT64_FORMAT " removed, " UINT64_FORMAT " remain, "
					 UINT64_FORMAT " are dead but not yet removable\n",
					 run->removed_rows, run->reported_rows + run->recently_dead_rows,
					 run->recently_dead_rows);
}

/* Transaction ids, freezing and the visibility map. */
static void
add_freezing(StringInfo buf, const ZsVacuumRun *run)
{
	appendStringInfo(buf, "removable cutoff: %u, which was %d XIDs old when operation ended\n",
					 run->cutoffs.OldestXmin,
					 (int32) (ReadNextTransactionId() - run->cutoffs.OldestXmin));
	if (run->frozenxid_updated)
		appendStringInfo(buf, "new relfrozenxid: %u, which is %d XIDs ahead of previous value\n",
						 run->new_relfrozenxid,
						 (int32) (run->new_relfrozenxid - run->cutoffs.relfrozenxid));
	if (run->minmulti_updated)
		appendStringInfo(buf, "new relminmxid: %u, which is %d MXIDs ahead of previous value\n",
						 run->new_relminmxid,
						 (int32) (run->new_relminmxid - run->cutoffs.relminmxid));
	appendStringInfo(buf, "frozen: " UINT64_FORMAT " pages from table (%.2f%% of total) had "
					 UINT64_FORMAT " tuples frozen\n",
					 run->frozen_leaves, percent(run, run->frozen_leaves), run->frozen_rows);
#if ZS_VACUUM_REPORTS_VISMAP
	appendStringInfo(buf, "visibility map: " UINT64_FORMAT " pages set all-visible, "
					 UINT64_FORMAT " pages set all-frozen (" UINT64_FORMAT " were all-visible)\n",
					 run->vismap.visible, run->vismap.visible_frozen + run->vismap.frozen,
					 run->vismap.frozen);
#endif
}

/* Indexes; a table without any never has rows that wait for them. */
static void
add_indexes(StringInfo buf, const ZsVacuumRun *run)
{
	uint64		leaves = run->nindexes > 0 ? run->dead_leaves : 0;
	uint64		rows = run->nindexes > 0 ? run->dead_rows : 0;
	const char *scan;

	if (run->do_index_vacuuming)
		scan = run->num_index_scans == 0 ? "not needed" : "needed";
	else
		scan = VacuumFailsafeActive ? "bypassed by failsafe" : "bypassed";
	appendStringInfo(buf, "index scan %s: " UINT64_FORMAT " pages from table (%.2f%% of total) %s "
					 UINT64_FORMAT " dead item identifiers%s\n",
					 scan, leaves, percent(run, leaves), run->do_index_vacuuming ? "had" : "have",
					 rows, run->do_index_vacuuming ? " removed" : "");
	if (run->index_workers.nplanned > 0)
		appendStringInfo(buf, "parallel workers: index vacuum: %d planned, %d launched in total\n",
						 run->index_workers.nplanned, run->index_workers.nlaunched);
	if (run->cleanup_workers.nplanned > 0)
		appendStringInfo(buf, "parallel workers: index cleanup: %d planned, %d launched\n",
						 run->cleanup_workers.nplanned, run->cleanup_workers.nlaunched);
	for (int i = 0; i < run->nindexes; i++)
	{
		IndexBulkDeleteResult *stats = run->indstats[i];

		if (stats != NULL)
			appendStringInfo(buf, "index \"%s\": pages: %u in total, %u newly deleted, "
							 "%u currently deleted, %u reusable\n",
							 run->index_names[i], stats->num_pages, stats->pages_newly_deleted,
							 stats->pages_deleted, stats->pages_free);
	}
}

/* What it took: time, buffers, WAL.  The last line has no end. */
static void
add_usage(StringInfo buf, const ZsVacuumRun *run, TimestampTz endtime)
{
	const ZsVacuumStart *start = &run->start;
	BufferUsage buffers = {0};
	WalUsage	wal = {0};
	long		secs;
	int			usecs;
	double		per_second = 0;
	int64		read;
	int64		dirtied;

	TimestampDifference(start->time, endtime, &secs, &usecs);
	WalUsageAccumDiff(&wal, &pgWalUsage, &start->wal);
	BufferUsageAccumDiff(&buffers, &pgBufferUsage, &start->buffers);
	read = buffers.shared_blks_read + buffers.local_blks_read;
	dirtied = buffers.shared_blks_dirtied + buffers.local_blks_dirtied;

	if (zs_vacuum_times_delays())
		appendStringInfo(buf, "delay time: %.3f ms\n", zs_vacuum_delay_ms());
	if (track_io_timing)
		appendStringInfo(buf, "I/O timings: read: %.3f ms, write: %.3f ms\n",
						 (double) (pgStatBlockReadTime - start->read_time) / 1000,
						 (double) (pgStatBlockWriteTime - start->write_time) / 1000);
	if (secs > 0 || usecs > 0)
		per_second = (double) BLCKSZ / (1024 * 1024) / (secs + usecs / 1000000.0);
	appendStringInfo(buf, "avg read rate: %.3f MB/s, avg write rate: %.3f MB/s\n",
					 read * per_second, dirtied * per_second);
	appendStringInfo(buf, "buffer usage: " INT64_FORMAT " hits, " INT64_FORMAT " %s, " INT64_FORMAT
					 " dirtied\n",
					 buffers.shared_blks_hit + buffers.local_blks_hit, read, ZS_VACUUM_READS,
					 dirtied);
	appendStringInfo(buf, "WAL usage: " INT64_FORMAT " records, " INT64_FORMAT
					 " full page images, " UINT64_FORMAT " bytes",
					 wal.wal_records, wal.wal_fpi, wal.wal_bytes);
#if ZS_VACUUM_REPORTS_MEMORY
	appendStringInfo(buf, ", " UINT64_FORMAT " full page image bytes", wal.wal_fpi_bytes);
#endif
#if ZS_WAL_USAGE_HAS_FULL
	appendStringInfo(buf, ", " INT64_FORMAT " buffers full", wal.wal_buffers_full);
#endif
#if ZS_VACUUM_REPORTS_MEMORY
	appendStringInfo(buf, "\nmemory usage: dead item storage %.2f MB accumulated across %d reset%s "
					 "(limit %.2f MB each)",
					 (double) run->dead_bytes / (1024 * 1024), run->dead_resets,
					 run->dead_resets == 1 ? "" : "s",
					 (double) run->max_dead_bytes / (1024 * 1024));
#endif
	appendStringInfo(buf, "\nsystem usage: %s", pg_rusage_show(&start->rusage));
}

/* What heap does not have.  Without a line's end, as what is before it. */
static void
add_own(StringInfo buf, const ZsVacuumRun *run)
{
	const ZsReclaim *reclaim = &run->reclaim;

	if (run->compaction != NULL)
		appendStringInfo(buf, "\ncolumns: " UINT64_FORMAT " rows moved into them, " UINT64_FORMAT
						 " left in the row tree as too few, " UINT64_FORMAT
						 " segments replaced, " UINT64_FORMAT " dropped, " UINT64_FORMAT
						 " overflow values freed",
						 run->compaction->rows_moved, run->compaction->rows_left,
						 run->compaction->nreplaced, run->compaction->ndropped,
						 run->doomed.nfreed + run->compaction->doomed.nfreed);
	appendStringInfo(buf, "\nspace: " UINT64_FORMAT " pages merged, " UINT64_FORMAT
					 " leaked ones found, " UINT64_FORMAT
					 " free ones returned from columns to the table, " UINT64_FORMAT " moved",
					 reclaim->pages_merged, reclaim->blocks_leaked, reclaim->blocks_returned,
					 reclaim->blocks_moved);
}

/*
 * Tells what was done, as heap does, if VERBOSE or log_autovacuum_min_duration ask for it.  The
 * progress command has ended.
 */
void
zsvacuum_report_end(const ZsVacuumRun *run, const VacuumParams *params)
{
	bool		verbose = (params->options & VACOPT_VERBOSE) != 0;
	TimestampTz endtime;
	StringInfoData buf;

	if (!is_wanted(params))
		return;
	endtime = GetCurrentTimestamp();
	if (!verbose && zs_log_vacuum_min_duration(params) > 0 &&
		!TimestampDifferenceExceeds(run->start.time, endtime, zs_log_vacuum_min_duration(params)))
		return;

	initStringInfo(&buf);
	add_title(&buf, run, params);
	add_table(&buf, run);
	add_freezing(&buf, run);
	add_indexes(&buf, run);
	add_usage(&buf, run, endtime);
	add_own(&buf, run);
	ereport(verbose ? INFO : LOG, (errmsg_internal("%s", buf.data)));
	pfree(buf.data);
}
