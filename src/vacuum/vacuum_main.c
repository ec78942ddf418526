/*-------------------------------------------------------------------------
 *
 * vacuum_main.c
 *	  VACUUM of a zedstore table.
 *
 * Three passes, as heap's lazy vacuum: over the TID tree, which marks dead
 * rows, freezes and sets the visibility map; over the indexes, which lose the
 * entries of dead rows; over the dead rows, whose numbers are retired.  When
 * the memory for dead row numbers is full, the last two passes run and the first
 * goes on.  These passes do not read the columns.  What became of these is the
 * business of compaction (vacuum_compact.c), which follows.  Then space is
 * given back: vacuum_trees.c, vacuum_leaks.c, vacuum_relocate.c, vacuum_truncate.c.
 *
 * Only ShareUpdateExclusiveLock on the table is held, and page locks for
 * single leaves; readers and writers go on.  Cutting the file off takes
 * AccessExclusiveLock, if that is to be had without waiting for long.
 *
 * Crash: each leaf changes in one WAL record.  Dead rows that were found and not
 * removed are found again.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_main.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/multixact.h"
#include "access/tidstore.h"
#include "access/transam.h"
#include "access/visibilitymap.h"
#include "commands/dbcommands.h"
#include "commands/progress.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "pgstat.h"
#include "postmaster/autovacuum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/pg_rusage.h"
#include "utils/rel.h"

#include "vacuum_compact.h"
#include "vacuum_internal.h"
#include "zs_base.h"
#include "zs_btree.h"
#include "zs_compat.h"
#include "zs_io.h"
#include "zs_page.h"
#include "zs_row.h"
#include "zs_tid.h"
#include "zs_vacuum.h"
#include "zs_write.h"

/* How many rows go by between two looks at the wraparound failsafe. */
#define FAILSAFE_EVERY_ROWS		(UINT64CONST(16) * 1024 * 1024)

/* Up to this size leaked blocks are looked for in every VACUUM; in blocks. */
#define LEAK_SEARCH_ALWAYS		131072

/* Rows of so many skipped leaves are counted; it takes one read of each. */
#define MAX_COUNTED_LEAVES		4096

/* Runs of dead rows that are removed together. */
#define REMOVAL_RUNS			4096

typedef struct VacuumRun
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
} VacuumRun;

/* ---- dead rows -------------------------------------------------------------- */

static void
flush_pending(VacuumRun *run)
{
	Assert(run->npending >= 0 && run->npending <= ZS_ROWS_PER_BLOCK);
	if (run->npending == 0)
		return;
	TidStoreSetBlockOffsets(run->dead, run->pending_block, run->pending, run->npending);
	run->dead_info->num_items += run->npending;
	run->npending = 0;
}

/* ZsDeadRunCallback; runs ascend within and between leaves. */
static void
collect_dead(zstid first, uint32 count, void *arg)
{
	VacuumRun  *run = arg;

	for (zstid row = first; row < first + count; row++)
	{
		BlockNumber block = zs_row_block(row);

		/* ascending, as the store wants them */
		Assert(run->npending == 0 || block >= run->pending_block);
		if (run->npending > 0 && block != run->pending_block)
			flush_pending(run);
		Assert(run->npending == 0 ||
			   run->pending[run->npending - 1] < row % ZS_ROWS_PER_BLOCK + 1);
		run->pending_block = block;
		Assert(run->npending < ZS_ROWS_PER_BLOCK);
		run->pending[run->npending++] = (OffsetNumber) (row % ZS_ROWS_PER_BLOCK + 1);
	}
}

static void
create_dead_store(VacuumRun *run, int nworkers)
{
	int			work_mem_kb = AmAutoVacuumWorkerProcess() && autovacuum_work_mem != -1 ?
		autovacuum_work_mem : maintenance_work_mem;

	if (nworkers >= 0 && run->nindexes > 1 && run->do_index_vacuuming)
	{
		if (RelationUsesLocalBuffers(run->rel))
		{
			if (nworkers > 0)
				ereport(WARNING,
						(errmsg("disabling parallel option of vacuum on \"%s\" --- cannot vacuum temporary tables in parallel",
								RelationGetRelationName(run->rel))));
		}
		else
			run->pvs = parallel_vacuum_init(run->rel, run->indexes, run->nindexes, nworkers,
											work_mem_kb, run->elevel, run->strategy);
	}
	if (run->pvs != NULL)
		run->dead = parallel_vacuum_get_dead_items(run->pvs, &run->dead_info);
	else
	{
		run->dead_info = palloc0(sizeof(VacDeadItemsInfo));
		run->dead_info->max_bytes = (size_t) work_mem_kb * 1024;
		run->dead = TidStoreCreateLocal(run->dead_info->max_bytes, true);
	}
	pgstat_progress_update_param(PROGRESS_VACUUM_MAX_DEAD_TUPLE_BYTES, run->dead_info->max_bytes);
}

/* How much is collected, for pg_stat_progress_vacuum. */
static void
report_dead_store(const VacuumRun *run)
{
	const int	index[] = {PROGRESS_VACUUM_NUM_DEAD_ITEM_IDS, PROGRESS_VACUUM_DEAD_TUPLE_BYTES};
	const int64 values[] = {run->dead_info->num_items, TidStoreMemoryUsage(run->dead)};

	pgstat_progress_update_multi_param(lengthof(index), index, values);
}

static void
reset_dead_store(VacuumRun *run)
{
	if (run->pvs != NULL)
	{
		parallel_vacuum_reset_dead_items(run->pvs);
		run->dead = parallel_vacuum_get_dead_items(run->pvs, &run->dead_info);
	}
	else
	{
		TidStoreDestroy(run->dead);
		run->dead = TidStoreCreateLocal(run->dead_info->max_bytes, true);
		run->dead_info->num_items = 0;
	}
	report_dead_store(run);
}

/* The table is about to run out of transaction ids: do what is needed, no more. */
static void
check_failsafe(VacuumRun *run)
{
	if (VacuumFailsafeActive || !vacuum_xid_failsafe_check(&run->cutoffs))
		return;
	VacuumFailsafeActive = true;
	run->strategy = NULL;
	run->do_index_vacuuming = false;
	run->do_index_cleanup = false;
	ereport(WARNING,
			(errmsg("bypassing nonessential maintenance of table \"%s.%s.%s\" as a failsafe after %d index scans",
					get_database_name(MyDatabaseId),
					get_namespace_name(RelationGetNamespace(run->rel)),
					RelationGetRelationName(run->rel), run->num_index_scans),
			 errdetail("The table's relfrozenxid or relminmxid is too far in the past."),
			 errhint("Consider increasing configuration parameter \"maintenance_work_mem\" or \"autovacuum_work_mem\".\n"
					 "You might also need to consider other ways for VACUUM to keep up with the allocation of transaction IDs.")));
	VacuumCostActive = false;
	VacuumCostBalance = 0;
}

/* ---- indexes ------------------------------------------------------------------ */

/* Were more leaves skipped than counted, so that live_rows lacks rows? */
static inline bool
rows_are_missing(const VacuumRun *run)
{
	return run->nskipped > MAX_COUNTED_LEAVES;
}

static void
init_index_info(VacuumRun *run, Relation index, IndexVacuumInfo *info)
{
	memset(info, 0, sizeof(IndexVacuumInfo));
	info->index = index;
	info->heaprel = run->rel;
	info->report_progress = false;
	info->message_level = DEBUG2;
	info->strategy = run->strategy;
}

/*
 * A phase that works on all indexes begins; parallel workers count those that are done by
 * themselves.
 */
static void
begin_index_phase(const VacuumRun *run, int64 phase)
{
	const int	index[] = {PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_INDEXES_TOTAL};
	const int64 values[] = {phase, run->nindexes};

	pgstat_progress_update_multi_param(lengthof(index), index, values);
}

/* It is over: no index is worked on. */
static void
end_index_phase(const VacuumRun *run)
{
	const int	index[] = {
		PROGRESS_VACUUM_INDEXES_TOTAL, PROGRESS_VACUUM_INDEXES_PROCESSED,
		PROGRESS_VACUUM_NUM_INDEX_VACUUMS
	};
	const int64 values[] = {0, 0, run->num_index_scans};

	pgstat_progress_update_multi_param(lengthof(index), index, values);
}

/*
 * Removes the entries of the dead rows from all indexes.  False if that is not wanted, or the
 * failsafe ended it: the rows must stay, since there may be entries that lead to them.
 */
static bool
vacuum_indexes(VacuumRun *run)
{
	double		old_live = Max(run->rel->rd_rel->reltuples, 0);

	Assert(run->nindexes > 0 && run->npending == 0);
	check_failsafe(run);
	if (!run->do_index_vacuuming)
		return false;
	begin_index_phase(run, PROGRESS_VACUUM_PHASE_VACUUM_INDEX);
	if (run->pvs != NULL)
	{
		parallel_vacuum_bulkdel_all_indexes(run->pvs, (long) old_live, run->num_index_scans);
		check_failsafe(run);
	}
	else
	{
		for (int i = 0; i < run->nindexes && run->do_index_vacuuming; i++)
		{
			IndexVacuumInfo info;

			init_index_info(run, run->indexes[i], &info);
			info.estimated_count = true;
			info.num_heap_tuples = old_live;
			zsio_vacuum_index(run->indexes[i]);
			run->indstats[i] = vac_bulkdel_one_index(&info, run->indstats[i], run->dead,
													 run->dead_info);
			pgstat_progress_update_param(PROGRESS_VACUUM_INDEXES_PROCESSED, i + 1);
			check_failsafe(run);
		}
		zsio_vacuum_index(NULL);
	}
	run->num_index_scans++;
	end_index_phase(run);
	return run->do_index_vacuuming;
}

static void
cleanup_indexes(VacuumRun *run)
{
	Assert(run->nindexes > 0 && run->do_index_cleanup);
	begin_index_phase(run, PROGRESS_VACUUM_PHASE_INDEX_CLEANUP);
	if (run->pvs != NULL)
		parallel_vacuum_cleanup_all_indexes(run->pvs, (long) run->live_rows, run->num_index_scans,
											rows_are_missing(run));
	else
	{
		for (int i = 0; i < run->nindexes; i++)
		{
			IndexVacuumInfo info;

			init_index_info(run, run->indexes[i], &info);
			info.estimated_count = rows_are_missing(run);
			info.num_heap_tuples = run->live_rows;
			zsio_vacuum_index(run->indexes[i]);
			run->indstats[i] = vac_cleanup_one_index(&info, run->indstats[i]);
			pgstat_progress_update_param(PROGRESS_VACUUM_INDEXES_PROCESSED, i + 1);
		}
		zsio_vacuum_index(NULL);
	}
	end_index_phase(run);
}

/* Dead rows on their way to being retired, so that each leaf is changed once. */
typedef struct RemovalBatch
{
	int			nruns;
	ZsTidRun	runs[REMOVAL_RUNS];
	zstid		next_tree_row;	/* no row of the row tree before this one */
} RemovalBatch;

/*
 * Takes the batch's rows out of the row tree and the TID tree.  The data goes first, so that no
 * row of the row tree is without a state.
 */
static void
remove_batch(VacuumRun *run, RemovalBatch *batch)
{
	for (int i = 0; i < batch->nruns; i++)
	{
		zstid		first = batch->runs[i].first;
		zstid		end = first + batch->runs[i].count;

		Assert(first < end);
		Assert(i == 0 || batch->runs[i - 1].first + batch->runs[i - 1].count <= first);
		vacuum_delay_point_compat();
		if (batch->next_tree_row < first)
			batch->next_tree_row = zsrow_next(run->rel, first);
		if (batch->next_tree_row < end)
		{
			if (run->row_batch != NULL)
				zsvacuum_doom_rows(&run->doomed, first, end, run->row_batch);
			zsrow_delete_range(run->rel, first, end);
			zsvacuum_touch(&run->reclaim.row, first, end);
		}
		zsvacuum_touch(&run->reclaim.tid, first, end);
	}
	ZS_INJECTION_POINT("zs-vacuum-delete-rows");
	if (batch->nruns > 0)
		pgstat_progress_update_param(PROGRESS_VACUUM_HEAP_BLKS_VACUUMED,
									 batch->runs[batch->nruns - 1].first / ZS_ROWS_PER_BLOCK);
	run->removed_rows += zstid_remove_dead_runs(run->rel, batch->runs, batch->nruns);
	zsvacuum_doomed_free(&run->doomed);
	Assert(run->doomed.n == 0);
	batch->nruns = 0;
}

/* Dead rows, now without index entries, leave the row tree and are retired. */
static void
remove_dead_rows(VacuumRun *run)
{
	TidStoreIter *iter;
	TidStoreIterResult *result;
	RemovalBatch *batch = palloc(sizeof(RemovalBatch));

	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_VACUUM_HEAP);
	batch->nruns = 0;
	batch->next_tree_row = zsrow_next(run->rel, 0);
	iter = TidStoreBeginIterate(run->dead);
	while ((result = TidStoreIterateNext(iter)) != NULL)
	{
		OffsetNumber offsets[ZS_ROWS_PER_BLOCK];
		int			n = zs_tidstore_block_offsets(result, offsets, lengthof(offsets));
		zstid		base = zs_block_first_row(result->blkno);

		Assert(n <= (int) lengthof(offsets));
		for (int i = 0; i < n;)
		{
			int			k = i + 1;

			while (k < n && offsets[k] == offsets[k - 1] + 1)
				k++;
			if (batch->nruns == REMOVAL_RUNS)
				remove_batch(run, batch);
			batch->runs[batch->nruns].first = base + offsets[i] - 1;
			batch->runs[batch->nruns].count = k - i;
			batch->runs[batch->nruns++].slotno = ZS_SLOT_DEAD;
			i = k;
		}
	}
	remove_batch(run, batch);
	Assert(batch->nruns == 0);
	TidStoreEndIterate(iter);
	pfree(batch);
}

/* Second and third pass over what was collected. */
static void
process_dead(VacuumRun *run)
{
	flush_pending(run);
	report_dead_store(run);
	if (run->dead_info->num_items == 0)
		return;
	ZS_INJECTION_POINT("zs-vacuum-find");

	/* rows without index entries are removed even when indexes are left alone; others stay then */
	if (run->nindexes == 0 || vacuum_indexes(run))
	{
		if (run->nindexes > 0)
			ZS_INJECTION_POINT("zs-vacuum-indexes");
		remove_dead_rows(run);
	}
	reset_dead_store(run);
	Assert(run->dead_info->num_items == 0 && run->npending == 0);
	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_SCAN_HEAP);
}

/* ---- the first pass -------------------------------------------------------------- */

/* ZsTidRunVisitor: rows of a leaf that is skipped; a writer may be at it. */
static void
count_skipped(const ZsTidRun *tidrun, ZsVisSlot *vis, void *arg)
{
	VacuumRun  *run = arg;

	if (tidrun->slotno == ZS_SLOT_FROZEN || vis != NULL)
		run->live_rows += tidrun->count;
}

/*
 * Does the visibility map have what a settled leaf allows?  Looks at one block only: what is to be
 * noticed is that somebody emptied the map (pg_truncate_visibility_map()).
 */
static bool
map_is_set(VacuumRun *run, zstid first, zstid end)
{
	zstid		start = TYPEALIGN64(ZS_ROWS_PER_BLOCK, first);

	return start + ZS_ROWS_PER_BLOCK > end ||
		VM_ALL_VISIBLE(run->rel, zs_row_block(start), &run->vmbuf);
}

/*
 * Skips leaves that hold nothing but frozen rows.  Their rows still count as live: the planner's
 * figure must fall when most rows of the other leaves have gone, and rise with those that came.
 */
static zstid
skip_frozen_leaves(VacuumRun *run, zstid row, zstid end)
{
	ZsInnerItem item;
	uint64		next;

	while (run->skip_frozen && row < end &&
		   zsbtree_next_downlink(run->rel, ZS_TREE_TID, row, &item, &next) &&
		   (item.flags & ZS_INNERF_ALL_FROZEN) != 0 &&
		   map_is_set(run, row, Min(next, end)))
	{
		vacuum_delay_point_compat();
		next = Min(next, end);
		Assert(next > row);
		if (run->nskipped++ < MAX_COUNTED_LEAVES)
			zstid_visit_runs(run->rel, row, next, count_skipped, run);
		row = next;
	}
	return row;
}

/*
 * The first pass: goes through the leaves of the TID tree that are not known to be all frozen,
 * collects dead rows, freezes old ones, and remembers where something changed.  When memory for
 * dead rows is full, the other passes come in between.
 */
static void
scan_rows(VacuumRun *run)
{
	zstid		end = zspage_next_row(run->rel);
	zstid		row = 0;
	zstid		next_failsafe = FAILSAFE_EVERY_ROWS;
	ZsTidVacuumCutoffs cutoffs = {
		.oldest_xmin = run->cutoffs.OldestXmin,
		.freeze_limit = run->cutoffs.FreezeLimit,
		.oldest_mxact = run->cutoffs.OldestMxact,
		.multixact_cutoff = run->cutoffs.MultiXactCutoff,
		.aggressive = run->aggressive
	};

	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_SCAN_HEAP);
	pgstat_progress_update_param(PROGRESS_VACUUM_TOTAL_HEAP_BLKS, end / ZS_ROWS_PER_BLOCK);
	while ((row = skip_frozen_leaves(run, row, end)) < end)
	{
		ZsTidLeafResult result;

		vacuum_delay_point_compat();
		if (row >= next_failsafe)
		{
			check_failsafe(run);
			next_failsafe = row + FAILSAFE_EVERY_ROWS;
		}
		if (!zstid_vacuum_leaf(run->rel, row, &cutoffs, collect_dead, run, &result))
			break;
		run->live_rows += result.live_rows;
		run->recently_dead_rows += result.recently_dead_rows;
		run->frozen_rows += result.frozen_rows;
		if (TransactionIdIsValid(result.new_relfrozenxid) &&
			TransactionIdPrecedes(result.new_relfrozenxid, run->new_relfrozenxid))
			run->new_relfrozenxid = result.new_relfrozenxid;
		if (MultiXactIdIsValid(result.new_relminmxid) &&
			MultiXactIdPrecedes(result.new_relminmxid, run->new_relminmxid))
			run->new_relminmxid = result.new_relminmxid;

		/* a leaf that would be less than half of a merged one may have such a neighbour */
		if (result.size <= ZS_TID_SETTLED_SIZE / 2)
			zsvacuum_touch(&run->reclaim.tid, result.lokey, result.hikey);

		if (!result.was_settled)
			zsvacuum_add_range(&run->changed, result.lokey, Min(result.hikey, end));
		Assert(result.lokey <= row && result.hikey > row);
		row = result.hikey;
		pgstat_progress_update_param(PROGRESS_VACUUM_HEAP_BLKS_SCANNED,
									 Min(row, end) / ZS_ROWS_PER_BLOCK);
		report_dead_store(run);
		if (TidStoreMemoryUsage(run->dead) > run->dead_info->max_bytes)
			process_dead(run);
	}
	process_dead(run);
	if (BufferIsValid(run->vmbuf))
		ReleaseBuffer(run->vmbuf);
	run->vmbuf = InvalidBuffer;
	pgstat_progress_update_param(PROGRESS_VACUUM_HEAP_BLKS_VACUUMED, end / ZS_ROWS_PER_BLOCK);
}

/* ---- space ------------------------------------------------------------------------- */

/*
 * What the passes over the rows left goes back to where it can be used again.
 */
static void
reclaim_space(VacuumRun *run)
{
	if (VacuumFailsafeActive)
		return;
	run->reclaim.rel = run->rel;
	run->reclaim.aggressive = run->aggressive;
	zsvacuum_merge_pages(&run->reclaim);

	/* reading the pages above the bottom of a large table is too much for nothing */
	if (run->aggressive || run->removed_rows > 0 ||
		zspage_physical_blocks(run->rel) <= LEAK_SEARCH_ALWAYS)
		zsvacuum_find_leaks(&run->reclaim, run->strategy);
	zsvacuum_return_space(&run->reclaim);
	zsvacuum_relocate(&run->reclaim, run->strategy);
	zsvacuum_truncate(&run->reclaim);
}

/* ---- results ---------------------------------------------------------------------- */

static void
update_index_stats(VacuumRun *run)
{
	for (int i = 0; i < run->nindexes; i++)
	{
		IndexBulkDeleteResult *stats = run->indstats[i];

		if (stats == NULL || stats->estimated_count)
			continue;
		vac_update_relstats_compat(run->indexes[i], stats->num_pages, stats->num_index_tuples,
								   0, 0, false, InvalidTransactionId, InvalidMultiXactId);
	}
}

static void
update_table_stats(VacuumRun *run, TimestampTz starttime)
{
	BlockNumber nblocks = zspage_logical_blocks(run->rel);
	BlockNumber nvisible;
	BlockNumber nfrozen;
	double		live = run->live_rows;

	Assert(run->npending == 0);
	/* what is left is never younger than what VACUUM went by */
	Assert(!TransactionIdPrecedes(run->cutoffs.OldestXmin, run->new_relfrozenxid));
	Assert(!MultiXactIdPrecedes(run->cutoffs.OldestMxact, run->new_relminmxid));
	/* leaves that were skipped may hold rows that were not counted */
	visibilitymap_count(run->rel, &nvisible, &nfrozen);
	if (rows_are_missing(run))
		live = Max(live, run->rel->rd_rel->reltuples);
	vac_update_relstats_compat(run->rel, nblocks, live, Min(nvisible, nblocks),
							   Min(nfrozen, nblocks), run->nindexes > 0,
							   run->new_relfrozenxid, run->new_relminmxid);

	/*
	 * As heap: dead rows that stay because indexes are left alone are not reported, or autovacuum
	 * would come again at once.
	 */
	pgstat_report_vacuum_compat(run->rel, (PgStat_Counter) live,
								(PgStat_Counter) run->recently_dead_rows, starttime);
}

static void
log_results(VacuumRun *run, VacuumParams *params, TimestampTz starttime, PGRUsage *ru0)
{
	bool		verbose = (params->options & VACOPT_VERBOSE) != 0;
	const char *compaction = "";

	if (!verbose && !(AmAutoVacuumWorkerProcess() && params->log_min_duration >= 0 &&
					  (params->log_min_duration == 0 ||
					   TimestampDifferenceExceeds(starttime, GetCurrentTimestamp(),
												  params->log_min_duration))))
		return;
	if (run->compaction != NULL)
		compaction = psprintf("columns: " UINT64_FORMAT " rows moved into them, " UINT64_FORMAT
							  " segments replaced, " UINT64_FORMAT " dropped, "
							  UINT64_FORMAT " overflow values freed\n",
							  run->compaction->rows_moved, run->compaction->nreplaced,
							  run->compaction->ndropped,
							  run->doomed.nfreed + run->compaction->doomed.nfreed);
	ereport(verbose ? INFO : LOG,
			(errmsg("finished vacuuming \"%s.%s.%s\": index scans: %d",
					get_database_name(MyDatabaseId),
					get_namespace_name(RelationGetNamespace(run->rel)),
					RelationGetRelationName(run->rel), run->num_index_scans),
			 errdetail("tuples: " UINT64_FORMAT " removed, " UINT64_FORMAT " remain, "
					   UINT64_FORMAT " are dead but not yet removable\n"
					   "frozen: " UINT64_FORMAT " tuples\n"
					   "%s"
					   "new relfrozenxid: %u\n"
					   "pages: " UINT64_FORMAT " merged, " UINT64_FORMAT " leaked ones found, "
					   UINT64_FORMAT " free ones returned from columns to the table, "
					   UINT64_FORMAT " moved, %u truncated\n"
					   "system usage: %s",
					   run->removed_rows, run->live_rows, run->recently_dead_rows,
					   run->frozen_rows, compaction, run->new_relfrozenxid,
					   run->reclaim.pages_merged, run->reclaim.blocks_leaked,
					   run->reclaim.blocks_returned, run->reclaim.blocks_moved,
					   run->reclaim.blocks_truncated,
					   pg_rusage_show(ru0))));
}

/* relation_vacuum of the table access method. */
void
zsvacuum_relation(Relation rel, VacuumParams *params, BufferAccessStrategy strategy)
{
	VacuumRun	run = {0};
	TimestampTz starttime = GetCurrentTimestamp();
	PGRUsage	ru0;

	Assert(CheckRelationLockedByMe(rel, ShareUpdateExclusiveLock, true));
	zsbase_require_preload();
	pg_rusage_init(&ru0);
	pgstat_progress_start_command(PROGRESS_COMMAND_VACUUM, RelationGetRelid(rel));
	run.rel = rel;
	run.strategy = strategy;
	run.elevel = (params->options & VACOPT_VERBOSE) ? INFO : DEBUG2;
	run.reclaim.thorough = params->is_wraparound ||
		(params->options & VACOPT_DISABLE_PAGE_SKIPPING) != 0;
	run.reclaim.verbose = (params->options & VACOPT_VERBOSE) != 0;
	run.reclaim.truncate = params->truncate != VACOPTVALUE_DISABLED;
	if (!zspage_check_foreign(rel))
		run.reclaim.truncate = false;
	run.do_index_vacuuming = run.do_index_cleanup =
		params->index_cleanup != VACOPTVALUE_DISABLED;
	VacuumFailsafeActive = false;
	vac_open_indexes(rel, RowExclusiveLock, &run.nindexes, &run.indexes);
	run.indstats = palloc0(Max(run.nindexes, 1) * sizeof(IndexBulkDeleteResult *));

	run.aggressive = vacuum_get_cutoffs(rel, params, &run.cutoffs);
	run.new_relfrozenxid = run.cutoffs.OldestXmin;
	run.new_relminmxid = run.cutoffs.OldestMxact;
	run.skip_frozen = (params->options & VACOPT_DISABLE_PAGE_SKIPPING) == 0;
	if (!run.skip_frozen)
		run.aggressive = true;
	if (params->options & VACOPT_VERBOSE)
		ereport(INFO,
				(errmsg("%svacuuming \"%s.%s.%s\"", run.aggressive ? "aggressively " : "",
						get_database_name(MyDatabaseId),
						get_namespace_name(RelationGetNamespace(rel)),
						RelationGetRelationName(rel))));

	zsvacuum_doomed_init(&run.doomed, rel);
	for (int i = 0; i < RelationGetDescr(rel)->natts; i++)
	{
		if (TupleDescAttr(RelationGetDescr(rel), i)->attlen == -1 && run.row_batch == NULL)
			run.row_batch = zsrow_batch_create(CurrentMemoryContext);
	}
	check_failsafe(&run);
	create_dead_store(&run, params->nworkers);
	scan_rows(&run);
	if (run.nindexes > 0 && run.do_index_cleanup)
		cleanup_indexes(&run);
	if (run.pvs != NULL)
		parallel_vacuum_end(run.pvs, run.indstats);
	else
		TidStoreDestroy(run.dead);
	if (run.do_index_cleanup)
		update_index_stats(&run);
	vac_close_indexes(run.nindexes, run.indexes, NoLock);
	check_failsafe(&run);
	if (zs_enable_compaction && !VacuumFailsafeActive)
	{
		pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_VACUUM_HEAP);
		run.compaction = palloc(sizeof(ZsCompaction));
		zsvacuum_compact(rel, run.strategy, false, &run.changed, run.compaction);
		zsvacuum_touch_moved(run.compaction, &run.reclaim);
	}
	reclaim_space(&run);

	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_FINAL_CLEANUP);
	update_table_stats(&run, starttime);
	pgstat_progress_end_command();
	log_results(&run, params, starttime, &ru0);
}
