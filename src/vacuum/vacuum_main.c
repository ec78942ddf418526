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
#include "pgstat.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "vacuum_run.h"
#include "zs_base.h"
#include "zs_btree.h"
#include "zs_compat.h"
#include "zs_page.h"
#include "zs_row.h"
#include "zs_tid.h"
#include "zs_vacuum.h"

/* How many rows go by between two looks at the wraparound failsafe. */
#define FAILSAFE_EVERY_ROWS		(UINT64CONST(16) * 1024 * 1024)

/* With so many blocks in use leaked ones are looked for in every VACUUM. */
#define LEAK_SEARCH_ALWAYS		131072

/* ---- the first pass -------------------------------------------------------------- */

/* ZsTidRunVisitor: rows of a leaf that is skipped; a writer may be at it. */
static void
count_skipped(const ZsTidRun *tidrun, ZsVisSlot *vis, void *arg)
{
	ZsVacuumRun *run = arg;

	if (tidrun->slotno == ZS_SLOT_FROZEN || vis != NULL)
		run->live_rows += tidrun->count;
}

/*
 * Does the visibility map have what a settled leaf allows?  Looks at one block only: what is to be
 * noticed is that somebody emptied the map (pg_truncate_visibility_map()).
 */
static bool
map_is_set(ZsVacuumRun *run, zstid first, zstid end)
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
skip_frozen_leaves(ZsVacuumRun *run, zstid row, zstid end)
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
		if (run->nskipped++ < ZSVACUUM_MAX_COUNTED_LEAVES)
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
scan_rows(ZsVacuumRun *run)
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
	ZsBottomAhead *ahead = zsbtree_ahead_begin(run->rel, ZS_TREE_TID, end, true,
											   run->skip_frozen, NULL);

	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_SCAN_HEAP);
	pgstat_progress_update_param(PROGRESS_VACUUM_TOTAL_HEAP_BLKS, end / ZS_ROWS_PER_BLOCK);
	while ((row = skip_frozen_leaves(run, row, end)) < end)
	{
		ZsTidLeafResult result;
		uint64		ndead = zsvacuum_dead_count(run);

		vacuum_delay_point_compat();
		if (row >= next_failsafe)
		{
			zsvacuum_check_failsafe(run);
			next_failsafe = row + FAILSAFE_EVERY_ROWS;
		}
		if (ahead != NULL)
			zsbtree_ahead_reach(ahead, row);
		if (!zstid_vacuum_leaf(run->rel, row, &cutoffs, zsvacuum_dead_collect, run, &result))
			break;
		run->live_rows += result.live_rows;
		run->recently_dead_rows += result.recently_dead_rows;
		run->frozen_rows += result.frozen_rows;
		run->scanned_leaves++;
		run->frozen_leaves += result.frozen_rows > 0;
		ndead = zsvacuum_dead_count(run) - ndead;
		run->dead_leaves += ndead > 0;
		run->dead_rows += ndead;
		run->vismap.visible += result.vismap.visible;
		run->vismap.visible_frozen += result.vismap.visible_frozen;
		run->vismap.frozen += result.vismap.frozen;
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
		zsvacuum_dead_report(run);
		if (TidStoreMemoryUsage(run->dead) > run->dead_info->max_bytes)
		{
			if (ahead != NULL)
				zsbtree_ahead_rest(ahead);
			zsvacuum_dead_process(run);
		}
	}
	if (ahead != NULL)
		zsbtree_ahead_end(ahead);
	zsvacuum_dead_process(run);
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
reclaim_space(ZsVacuumRun *run)
{
	if (VacuumFailsafeActive)
		return;
	run->reclaim.rel = run->rel;
	run->reclaim.aggressive = run->aggressive;
	zsvacuum_merge_pages(&run->reclaim);

	/*
	 * Reading the pages above the bottom of a large table is too much for nothing.  What is at the
	 * end of a file that could be shorter is looked for by zsvacuum_relocate().
	 */
	if (run->aggressive || run->removed_rows > 0 ||
		zspage_used_blocks(run->rel) <= LEAK_SEARCH_ALWAYS)
		zsvacuum_find_leaks(&run->reclaim, run->strategy, 0);
	zsvacuum_return_space(&run->reclaim);
	zsvacuum_relocate(&run->reclaim, run->strategy);
	zsvacuum_truncate(&run->reclaim);
}

/* ---- results ---------------------------------------------------------------------- */

static void
update_table_stats(ZsVacuumRun *run)
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
	if (zsvacuum_rows_are_missing(run))
		live = Max(live, run->rel->rd_rel->reltuples);
	vac_update_relstats_compat(run->rel, nblocks, live, Min(nvisible, nblocks),
							   Min(nfrozen, nblocks), run->nindexes > 0,
							   run->new_relfrozenxid, run->new_relminmxid,
							   &run->frozenxid_updated, &run->minmulti_updated);
	run->reported_rows = live;
}

/*
 * What the statistics views get, the time of all that VACUUM has done among it.  As heap: dead
 * rows that stay because indexes are left alone are not reported, or autovacuum would come again at
 * once.
 */
static void
report_table_stats(const ZsVacuumRun *run)
{
	pgstat_report_vacuum_compat(run->rel, (PgStat_Counter) run->reported_rows,
								(PgStat_Counter) run->recently_dead_rows, run->start.time);
}

/* relation_vacuum of the table access method. */
void
zsvacuum_relation(Relation rel, const VacuumParams *params, BufferAccessStrategy strategy)
{
	ZsVacuumRun run = {0};

	Assert(CheckRelationLockedByMe(rel, ShareUpdateExclusiveLock, true));
	zsbase_require_preload();
	pgstat_progress_start_command(PROGRESS_COMMAND_VACUUM, RelationGetRelid(rel));
	zs_vacuum_show_starter(params);
	run.rel = rel;
	zsvacuum_report_begin(&run, params);
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
	zsvacuum_report_name_indexes(&run);
	run.indstats = palloc0(Max(run.nindexes, 1) * sizeof(IndexBulkDeleteResult *));

	run.aggressive = vacuum_get_cutoffs(rel, params, &run.cutoffs);
	run.new_relfrozenxid = run.cutoffs.OldestXmin;
	run.new_relminmxid = run.cutoffs.OldestMxact;
	run.skip_frozen = (params->options & VACOPT_DISABLE_PAGE_SKIPPING) == 0;
	if (!run.skip_frozen)
		run.aggressive = true;
	zs_vacuum_show_mode(run.aggressive);
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
	zsvacuum_check_failsafe(&run);
	zsvacuum_dead_create(&run, params->nworkers);
	scan_rows(&run);
	if (run.nindexes > 0 && run.do_index_cleanup)
		zsvacuum_indexes_cleanup(&run);
	if (run.pvs != NULL)
		parallel_vacuum_end(run.pvs, run.indstats);
	else
		TidStoreDestroy(run.dead);
	if (run.do_index_cleanup)
		zsvacuum_indexes_update_stats(&run);
	vac_close_indexes(run.nindexes, run.indexes, NoLock);
	/* while what comes now fails for want of space, rows are frozen all the same */
	update_table_stats(&run);
	zsvacuum_check_failsafe(&run);
	if (zs_enable_compaction && !VacuumFailsafeActive)
	{
		pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_VACUUM_HEAP);
		run.compaction = palloc(sizeof(ZsCompaction));
		zsvacuum_compact(rel, run.strategy, false, &run.changed, run.compaction);
		zsvacuum_touch_moved(run.compaction, &run.reclaim);
	}
	reclaim_space(&run);

	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_FINAL_CLEANUP);
	report_table_stats(&run);
	pgstat_progress_end_command();
	zsvacuum_report_end(&run, params);
}
