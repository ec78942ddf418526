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
#include "utils/rel.h"

#include "vacuum_compact.h"
#include "vacuum_internal.h"
#include "zs_row.h"

/* Rows of so many skipped leaves are counted; it takes one read of each. */
#define ZSVACUUM_MAX_COUNTED_LEAVES	4096

typedef struct ZsVacuumRun
{
	Relation	rel;
	Relation   *indexes;
	int			nindexes;
	IndexBulkDeleteResult **indstats;
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
	BlockNumber pending_block;	/* rows of this block are not in dead yet */
	int			npending;
	OffsetNumber pending[ZS_ROWS_PER_BLOCK];

	ZsDoomedList doomed;		/* overflow values of dead rows */
	ZsRowBatch *row_batch;		/* NULL: no column has such values */
	ZsRanges	changed;		/* leaves that were not all-frozen */
	ZsCompaction *compaction;	/* its results, or NULL */

	/* results */
	uint64		live_rows;
	uint64		recently_dead_rows;
	uint64		removed_rows;
	uint64		frozen_rows;
	int			num_index_scans;
	TransactionId new_relfrozenxid;
	MultiXactId new_relminmxid;
	ZsReclaim	reclaim;
} ZsVacuumRun;

/* Were more leaves skipped than counted, so that live_rows lacks rows? */
static inline bool
zsvacuum_rows_are_missing(const ZsVacuumRun *run)
{
	return run->nskipped > ZSVACUUM_MAX_COUNTED_LEAVES;
}

/* ---- dead rows (vacuum_dead.c) ---- */

/* Makes room for dead rows' numbers, shared with nworkers processes if indexes want some. */
extern void zsvacuum_dead_create(ZsVacuumRun *run, int nworkers);

/* Adds dead rows, behind those that are there: ZsDeadRunCallback. */
extern void zsvacuum_dead_collect(zstid first, uint32 count, void *arg);

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

/* The last step over all indexes, when the table's rows are known. */
extern void zsvacuum_indexes_cleanup(ZsVacuumRun *run);

/* Writes what is known of the indexes into the catalog. */
extern void zsvacuum_indexes_update_stats(ZsVacuumRun *run);

#endif							/* VACUUM_RUN_H */
