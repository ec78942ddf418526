/*-------------------------------------------------------------------------
 *
 * vacuum_run.h
 *	  One VACUUM of a table: its state; private to src/vacuum.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_run.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VACUUM_RUN_H
#define VACUUM_RUN_H

#include "postgres.h"

#include "access/genam.h"
#include "access/tidstore.h"
#include "commands/vacuum.h"
#include "executor/instrument.h"
#include "pgstat.h"
#include "utils/pg_rusage.h"
#include "utils/rel.h"

#include "vacuum_compact.h"
#include "vacuum_internal.h"
#include "zs_compat.h"
#include "zs_row.h"
#include "zs_tid.h"

/* Rows of so many skipped leaves are counted; it takes one read of each. */
#define ZSVACUUM_MAX_COUNTED_LEAVES	4096

/* What there was when VACUUM began; usage only if it is going to be reported. */
typedef struct ZsVacuumStart
{
	TimestampTz time;
	BlockNumber nblocks;		/* of the file */
	PGRUsage	rusage;
	WalUsage	wal;
	BufferUsage buffers;
	PgStat_Counter read_time;	/* microseconds, with track_io_timing */
	PgStat_Counter write_time;
} ZsVacuumStart;

typedef struct ZsVacuumRun
{
	Relation	rel;
	Relation   *indexes;
	int			nindexes;
	char	  **index_names;	/* for the report, when they are closed */
	IndexBulkDeleteResult **indstats;
	ZsVacuumWorkers index_workers;	/* parallel ones, where the server counts them */
	ZsVacuumWorkers cleanup_workers;
	BufferAccessStrategy strategy;
	struct VacuumCutoffs cutoffs;
	bool		aggressive;
	bool		do_index_vacuuming;
	bool		do_index_cleanup;
	bool		skip_frozen;	/* leaves that are marked all-frozen */
	uint64		nskipped;		/* leaves that were skipped */
	Buffer		vmbuf;			/* of skip_frozen_leaves() */
	int			elevel;

	/* dead rows */
	ParallelVacuumState *pvs;
	TidStore   *dead;
	VacDeadItemsInfo *dead_info;
	Size		max_dead_bytes; /* so much memory is there for them */
	uint64		dead_bytes;		/* so much has been used, each time that they were removed ... */
	int			dead_resets;	/* ... or left; so often */
	BlockNumber pending_block;	/* rows of this block are not in dead yet */
	int			npending;
	OffsetNumber pending[ZS_ROWS_PER_BLOCK];

	ZsDoomedList doomed;		/* overflow values of dead rows */
	ZsRowBatch *row_batch;		/* NULL: no column has such values */
	ZsRanges	changed;		/* leaves that were not all-frozen */
	ZsCompaction *compaction;	/* its results, or NULL */

	/* results */
	ZsVacuumStart start;
	uint64		live_rows;
	uint64		reported_rows;	/* the same, as statistics have it */
	uint64		recently_dead_rows;
	uint64		removed_rows;
	uint64		frozen_rows;
	uint64		dead_rows;		/* collected */
	uint64		scanned_leaves; /* of the TID tree: all that the first pass looked at, ... */
	uint64		frozen_leaves;	/* ... those with rows that were frozen, ... */
	uint64		dead_leaves;	/* ... and with dead ones */
	ZsTidVmCounts vismap;
	int			num_index_scans;
	TransactionId new_relfrozenxid;
	MultiXactId new_relminmxid;
	bool		frozenxid_updated;
	bool		minmulti_updated;
	ZsReclaim	reclaim;
} ZsVacuumRun;

/* Were more leaves skipped than counted, so that live_rows lacks rows? */
static inline bool
zsvacuum_rows_are_missing(const ZsVacuumRun *run)
{
	return run->nskipped > ZSVACUUM_MAX_COUNTED_LEAVES;
}

/* ---- dead rows (vacuum_dead.c) ---- */

extern void zsvacuum_dead_create(ZsVacuumRun *run, int nworkers);

/* Adds dead rows, behind those that are there: ZsDeadRunCallback. */
extern void zsvacuum_dead_collect(zstid first, uint32 count, void *arg);

/* How many dead rows are waiting. */
static inline uint64
zsvacuum_dead_count(const ZsVacuumRun *run)
{
	return run->dead_info->num_items + run->npending;
}

/* How much is collected, for pg_stat_progress_vacuum. */
extern void zsvacuum_dead_report(const ZsVacuumRun *run);

/*
 * Second and third pass over what was collected: index entries of these rows go, then the rows.
 * Leaves them alone if indexes are not to be touched.
 */
extern void zsvacuum_dead_process(ZsVacuumRun *run);

/* ---- indexes (vacuum_indexes.c) ---- */

/*
 * The table is about to run out of transaction ids: from then on do what is needed, no more.  Warns
 * when that begins.
 */
extern void zsvacuum_check_failsafe(ZsVacuumRun *run);

/*
 * Removes the entries of the dead rows from all indexes.  False if that is not wanted, or the
 * failsafe ended it: the rows must stay, since there may be entries that lead to them.
 */
extern bool zsvacuum_indexes_vacuum(ZsVacuumRun *run);
extern void zsvacuum_indexes_cleanup(ZsVacuumRun *run);
extern void zsvacuum_indexes_update_stats(ZsVacuumRun *run);

/* ---- the report (vacuum_report.c) ---- */

extern void zsvacuum_report_begin(ZsVacuumRun *run, const VacuumParams *params);
extern void zsvacuum_report_name_indexes(ZsVacuumRun *run);
extern void zsvacuum_report_end(const ZsVacuumRun *run, const VacuumParams *params);

#endif							/* VACUUM_RUN_H */
