/*-------------------------------------------------------------------------
 *
 * zs_compat_vacuum.h
 *	  Differences between the supported PostgreSQL majors: VACUUM.
 *
 * Delays, statistics, parallel workers, reports, dead TIDs.  Included by zs_compat.h.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_compat_vacuum.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_COMPAT_VACUUM_H
#define ZS_COMPAT_VACUUM_H

#include "postgres.h"

#include "zs_compat.h"

/* VACUUM: 18 counts all-frozen pages and measures delays */
#if ZS_PG_AT_LEAST(18)
#define vacuum_delay_point_compat() vacuum_delay_point(false)
#define vac_update_relstats_compat(rel, pages, tuples, visible, frozen, hasindex, xid, multi, \
								   xid_updated, multi_updated) \
	vac_update_relstats(rel, pages, tuples, visible, frozen, hasindex, xid, multi, \
						xid_updated, multi_updated, false)
#else
#define vacuum_delay_point_compat() vacuum_delay_point()
#define vac_update_relstats_compat(rel, pages, tuples, visible, frozen, hasindex, xid, multi, \
								   xid_updated, multi_updated) \
	vac_update_relstats(rel, pages, tuples, visible, hasindex, xid, multi, \
						xid_updated, multi_updated, false)
#endif

/* What VACUUM counted: 18 takes a start time, 19 the relation. */
#if ZS_PG_AT_LEAST(19)
#define pgstat_report_vacuum_compat(rel, live, dead, starttime) \
	pgstat_report_vacuum(rel, live, dead, starttime)
#elif ZS_PG_AT_LEAST(18)
#define pgstat_report_vacuum_compat(rel, live, dead, starttime) \
	pgstat_report_vacuum(RelationGetRelid(rel), (rel)->rd_rel->relisshared, live, dead, starttime)
#else
#define pgstat_report_vacuum_compat(rel, live, dead, starttime) \
	pgstat_report_vacuum(RelationGetRelid(rel), (rel)->rd_rel->relisshared, live, dead)
#endif

/* From what duration on an autovacuum is logged: 19 has another one for ANALYZE. */
#if ZS_PG_AT_LEAST(19)
#define zs_log_vacuum_min_duration(params)	((params)->log_vacuum_min_duration)
#else
#define zs_log_vacuum_min_duration(params)	((params)->log_min_duration)
#endif

/* Parallel workers on indexes: 19 counts them. */
#if ZS_PG_AT_LEAST(19)
#define ZsVacuumWorkers	PVWorkerStats
#define zs_parallel_bulkdel_indexes(pvs, rows, scans, workers) \
	parallel_vacuum_bulkdel_all_indexes((pvs), (rows), (scans), (workers))
#define zs_parallel_cleanup_indexes(pvs, rows, scans, estimated, workers) \
	parallel_vacuum_cleanup_all_indexes((pvs), (rows), (scans), (estimated), (workers))
#else
typedef struct ZsVacuumWorkers
{
	int			nplanned;
	int			nlaunched;
} ZsVacuumWorkers;

#define zs_parallel_bulkdel_indexes(pvs, rows, scans, workers) \
	((void) (workers), parallel_vacuum_bulkdel_all_indexes((pvs), (rows), (scans)))
#define zs_parallel_cleanup_indexes(pvs, rows, scans, estimated, workers) \
	((void) (workers), parallel_vacuum_cleanup_all_indexes((pvs), (rows), (scans), (estimated)))
#endif

/*
 * What VACUUM reports: from 18 on pages that were scanned eagerly (heap only), bits of the
 * visibility map, WAL buffers that were full, and the time of delays, if that is measured.  What 18
 * calls reads were misses.
 */
#if ZS_PG_AT_LEAST(18)
#define ZS_VACUUM_EAGER_PAGES	", 0 eagerly scanned"
#define ZS_VACUUM_REPORTS_VISMAP	1
#define ZS_WAL_USAGE_HAS_FULL	1
#define ZS_VACUUM_READS	"reads"
#define zs_vacuum_times_delays()	track_cost_delay_timing
#define zs_vacuum_delay_ms() \
	((double) MyBEEntry->st_progress_param[PROGRESS_VACUUM_DELAY_TIME] / 1000000.0)
#else
#define ZS_VACUUM_EAGER_PAGES	""
#define ZS_VACUUM_REPORTS_VISMAP	0
#define ZS_WAL_USAGE_HAS_FULL	0
#define ZS_VACUUM_READS	"misses"
#define zs_vacuum_times_delays()	false
#define zs_vacuum_delay_ms()	0.0
#endif

/* ... and from 19 on the memory of dead TIDs, and the size of full page images. */
#if ZS_PG_AT_LEAST(19)
#define ZS_VACUUM_REPORTS_MEMORY	1
#else
#define ZS_VACUUM_REPORTS_MEMORY	0
#endif

/* Progress of VACUUM: 19 shows who started it, and how thorough it is. */
#if ZS_PG_AT_LEAST(19)
#define zs_vacuum_show_starter(params) \
	pgstat_progress_update_param(PROGRESS_VACUUM_STARTED_BY, \
								 !AmAutoVacuumWorkerProcess() ? \
								 PROGRESS_VACUUM_STARTED_BY_MANUAL : \
								 (params)->is_wraparound ? \
								 PROGRESS_VACUUM_STARTED_BY_AUTOVACUUM_WRAPAROUND : \
								 PROGRESS_VACUUM_STARTED_BY_AUTOVACUUM)
#define zs_vacuum_show_mode(aggressive) \
	pgstat_progress_update_param(PROGRESS_VACUUM_MODE, (aggressive) ? \
								 PROGRESS_VACUUM_MODE_AGGRESSIVE : PROGRESS_VACUUM_MODE_NORMAL)
#define zs_vacuum_show_failsafe() \
	pgstat_progress_update_param(PROGRESS_VACUUM_MODE, PROGRESS_VACUUM_MODE_FAILSAFE)
#else
#define zs_vacuum_show_starter(params)	((void) (params))
#define zs_vacuum_show_mode(aggressive)	((void) (aggressive))
#define zs_vacuum_show_failsafe()	((void) 0)
#endif

/* The offsets of a block of dead TIDs, at most max; how many. */
#if ZS_PG_AT_LEAST(18)
#define zs_tidstore_block_offsets(result, offsets, max) \
	TidStoreGetBlockOffsets((result), (offsets), (max))
#else
#define zs_tidstore_block_offsets(result, to, max) \
	(AssertMacro((result)->num_offsets <= (max)), \
	 memcpy((to), (result)->offsets, (result)->num_offsets * sizeof(OffsetNumber)), \
	 (result)->num_offsets)
#endif

#endif							/* ZS_COMPAT_VACUUM_H */
