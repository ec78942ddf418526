/*-------------------------------------------------------------------------
 *
 * vacuum_indexes.c
 *	  VACUUM: what is done to the indexes of a table.
 *
 * As in core's VACUUM, by the leader or by parallel workers.  Statistics of the indexes and
 * progress are core's, too.  The wraparound failsafe, which is looked at between indexes, ends all
 * this.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_indexes.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/multixact.h"
#include "commands/dbcommands.h"
#include "commands/progress.h"
#include "pgstat.h"
#include "utils/lsyscache.h"

#include "vacuum_run.h"
#include "zs_compat.h"
#include "zs_io.h"

/* The table is about to run out of transaction ids: do what is needed, no more. */
void
zsvacuum_check_failsafe(ZsVacuumRun *run)
{
	if (VacuumFailsafeActive || !vacuum_xid_failsafe_check(&run->cutoffs))
		return;
	VacuumFailsafeActive = true;
	run->strategy = NULL;
	run->do_index_vacuuming = false;
	run->do_index_cleanup = false;
	zs_vacuum_show_failsafe();
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

static void
init_index_info(ZsVacuumRun *run, Relation index, IndexVacuumInfo *info)
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
begin_index_phase(const ZsVacuumRun *run, int64 phase)
{
	const int	index[] = {PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_INDEXES_TOTAL};
	const int64 values[] = {phase, run->nindexes};

	pgstat_progress_update_multi_param(lengthof(index), index, values);
}

/* It is over: no index is worked on. */
static void
end_index_phase(const ZsVacuumRun *run)
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
bool
zsvacuum_indexes_vacuum(ZsVacuumRun *run)
{
	double		old_live = Max(run->rel->rd_rel->reltuples, 0);

	Assert(run->nindexes > 0 && run->npending == 0);
	zsvacuum_check_failsafe(run);
	if (!run->do_index_vacuuming)
		return false;
	begin_index_phase(run, PROGRESS_VACUUM_PHASE_VACUUM_INDEX);
	if (run->pvs != NULL)
	{
		zs_parallel_bulkdel_indexes(run->pvs, (long) old_live, run->num_index_scans,
									&run->index_workers);
		zsvacuum_check_failsafe(run);
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
			zsvacuum_check_failsafe(run);
		}
		zsio_vacuum_index(NULL);
	}
	run->num_index_scans++;
	end_index_phase(run);
	return run->do_index_vacuuming;
}

/* The last step over all indexes, when the table's rows are known. */
void
zsvacuum_indexes_cleanup(ZsVacuumRun *run)
{
	Assert(run->nindexes > 0 && run->do_index_cleanup);
	begin_index_phase(run, PROGRESS_VACUUM_PHASE_INDEX_CLEANUP);
	if (run->pvs != NULL)
		zs_parallel_cleanup_indexes(run->pvs, (long) run->live_rows, run->num_index_scans,
									zsvacuum_rows_are_missing(run), &run->cleanup_workers);
	else
	{
		for (int i = 0; i < run->nindexes; i++)
		{
			IndexVacuumInfo info;

			init_index_info(run, run->indexes[i], &info);
			info.estimated_count = zsvacuum_rows_are_missing(run);
			info.num_heap_tuples = run->live_rows;
			zsio_vacuum_index(run->indexes[i]);
			run->indstats[i] = vac_cleanup_one_index(&info, run->indstats[i]);
			pgstat_progress_update_param(PROGRESS_VACUUM_INDEXES_PROCESSED, i + 1);
		}
		zsio_vacuum_index(NULL);
	}
	end_index_phase(run);
}

/* Writes what is known of the indexes into the catalog. */
void
zsvacuum_indexes_update_stats(ZsVacuumRun *run)
{
	for (int i = 0; i < run->nindexes; i++)
	{
		IndexBulkDeleteResult *stats = run->indstats[i];

		if (stats == NULL || stats->estimated_count)
			continue;
		vac_update_relstats_compat(run->indexes[i], stats->num_pages, stats->num_index_tuples,
								   0, 0, false, InvalidTransactionId, InvalidMultiXactId, NULL,
								   NULL);
	}
}
