/*-------------------------------------------------------------------------
 *
 * vacuum_dead.c
 *	  VACUUM: dead rows, from their being found to their retirement.
 *
 * The first pass hands over the numbers of dead rows in ascending order.  They are kept as TIDs in
 * the form that index access methods ask for (access/tidstore.h), a block's rows at a time.  When
 * all have been found, or memory is full, indexes lose the entries that lead to them
 * (vacuum_indexes.c); then the rows leave the row tree and are retired, many with one change of
 * their leaf.
 *
 * Crash: rows whose index entries are gone, and that are still there, are found again and have no
 * entries then.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_dead.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/progress.h"
#include "pgstat.h"
#include "postmaster/autovacuum.h"

#include "vacuum_run.h"
#include "zs_compat.h"

/* Runs of dead rows that are removed together. */
#define REMOVAL_RUNS			4096

/* ---- collecting --------------------------------------------------------------- */

static void
flush_pending(ZsVacuumRun *run)
{
	Assert(run->npending >= 0 && run->npending <= ZS_ROWS_PER_BLOCK);
	if (run->npending == 0)
		return;
	TidStoreSetBlockOffsets(run->dead, run->pending_block, run->pending, run->npending);
	run->dead_info->num_items += run->npending;
	run->npending = 0;
}

/* ZsDeadRunCallback; runs ascend within and between leaves. */
void
zsvacuum_dead_collect(zstid first, uint32 count, void *arg)
{
	ZsVacuumRun *run = arg;

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

/* Makes room for dead rows' numbers, shared with nworkers processes if indexes want some. */
void
zsvacuum_dead_create(ZsVacuumRun *run, int nworkers)
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
	run->max_dead_bytes = run->dead_info->max_bytes;
	pgstat_progress_update_param(PROGRESS_VACUUM_MAX_DEAD_TUPLE_BYTES, run->max_dead_bytes);
}

/* How much is collected, for pg_stat_progress_vacuum. */
void
zsvacuum_dead_report(const ZsVacuumRun *run)
{
	const int	index[] = {PROGRESS_VACUUM_NUM_DEAD_ITEM_IDS, PROGRESS_VACUUM_DEAD_TUPLE_BYTES};
	const int64 values[] = {run->dead_info->num_items, TidStoreMemoryUsage(run->dead)};

	pgstat_progress_update_multi_param(lengthof(index), index, values);
}

static void
reset_dead_store(ZsVacuumRun *run)
{
	run->dead_bytes += TidStoreMemoryUsage(run->dead);
	run->dead_resets++;
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
	zsvacuum_dead_report(run);
}

/* ---- removing ----------------------------------------------------------------- */

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
remove_batch(ZsVacuumRun *run, RemovalBatch *batch)
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
remove_dead_rows(ZsVacuumRun *run)
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
void
zsvacuum_dead_process(ZsVacuumRun *run)
{
	flush_pending(run);
	zsvacuum_dead_report(run);
	if (run->dead_info->num_items == 0)
		return;
	ZS_INJECTION_POINT("zs-vacuum-find");

	/* rows without index entries are removed even when indexes are left alone; others stay then */
	if (run->nindexes == 0 || zsvacuum_indexes_vacuum(run))
	{
		if (run->nindexes > 0)
			ZS_INJECTION_POINT("zs-vacuum-indexes");
		remove_dead_rows(run);
	}
	reset_dead_store(run);
	Assert(run->dead_info->num_items == 0 && run->npending == 0);
	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_SCAN_HEAP);
}
