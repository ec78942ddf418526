/*-------------------------------------------------------------------------
 *
 * hooks.c
 *	  What we do in core's hooks, and in which order.
 *
 * Each hook of core's has one function here, which names its steps one after the other.  Where the
 * order of the steps matters it is said beside them.  Other libraries' functions, those that were
 * installed before ours, are called where core's own would be, or come first where the hook adds to
 * what is there.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/hooks.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "storage/ipc.h"
#include "tcop/utility.h"
#include "utils/elog.h"

#include "hooks.h"
#include "zs_am.h"
#include "zs_compat.h"
#include "zs_convert.h"
#include "zs_cost.h"
#include "zs_ddl.h"
#include "zs_io_hooks.h"
#include "zs_join.h"
#include "zs_node.h"
#include "zs_node_filter.h"
#include "zs_page.h"
#include "zs_projection.h"
#include "zs_scan.h"
#include "zs_tid.h"
#include "zs_write.h"

/* What was there before us, or NULL. */
typedef struct NextHooks
{
	planner_hook_type planner;
	ZsRelationInfoHook relation_info;
	set_rel_pathlist_hook_type rel_pathlist;
	set_join_pathlist_hook_type join_pathlist;
	create_upper_paths_hook_type upper_paths;
	ExecutorStart_hook_type executor_start;
	ProcessUtility_hook_type utility;
	object_access_hook_type object_access;
	shmem_request_hook_type shmem_request;
	shmem_startup_hook_type shmem_startup;
	emit_log_hook_type emit_log;
} NextHooks;

static NextHooks next;

/* ---- planner ----------------------------------------------------------------------------- */

static PlannedStmt *
plan_query(ZS_PLANNER_PARAMETERS)
{
	uint64		nshown = zsnode_shown_noted;
	PlannedStmt *stmt;

	zsscan_xmin_watch_query(parse);
	stmt = zsjoin_cte_plan(next.planner != NULL ? next.planner : standard_planner,
						   ZS_PLANNER_ARGS);
	if (zsnode_shown_noted != nshown)
		zsnode_shown_finish(stmt);
	return stmt;
}

/* Called for each table of the query, before costs are asked for. */
static void
relation_info(ZS_RELATION_INFO_PARAMETERS)
{
	if (next.relation_info)
		next.relation_info(ZS_RELATION_INFO_ARGS);
	zscost_watch_indexes(root, rel);
	zsjoin_exists_choose_scans(root, rel);
}

/* Core has made the paths of a relation of the query. */
static void
rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	/* makes core's paths anew, from which all others go on */
	zsjoin_exists_choose_in_filter(root, rel, rte);
	/* whoever makes further paths takes the table for what it is */
	zscost_end_charge(rel, rte);
	if (next.rel_pathlist)
		next.rel_pathlist(root, rel, rti, rte);

	zsscan_projection_watch_table(rel, rte);
	/* its costs begin with those of core's sequential scan, as core has them */
	zsnode_topn_add_path(root, rel, rte);
	zscost_add_parallel_paths(root, rel, rte);
	/* sees all paths of core's nodes */
	zscost_correct_paths(root, rel, rte);
	/* has its own costs, and replaces core's sequential scan, which top-N looks for */
	zsnode_scan_add_paths(root, rel, rte);
	/* compares with look-ups by index */
	zsnode_scan_add_lookups(root, rel, rte);
	/* costs what the cheapest scan does, and the order */
	zsnode_order_add_paths(root, rel, rte);
	/* may go on from the cheapest of all paths */
	zsnode_agg_add_eager_paths(root, rel);
}

/* Core has made the paths of a pair of relations, once for each pair that makes up joinrel. */
static void
join_pathlist(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel, RelOptInfo *innerrel,
			  JoinType jointype, JoinPathExtraData *extra)
{
	if (next.join_pathlist)
		next.join_pathlist(root, joinrel, outerrel, innerrel, jointype, extra);
	zsjoin_plan_add_paths(root, joinrel, outerrel, innerrel, jointype, extra);
	/* compares loops with hash joins, those of the line above included */
	zsjoin_bound_regret(root, joinrel, outerrel, innerrel, jointype, extra);
}

static void
upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
			RelOptInfo *output_rel, void *extra)
{
	if (next.upper_paths)
		next.upper_paths(root, stage, input_rel, output_rel, extra);
	/* before expressions go into paths of ours */
	zsjoin_exists_choose_in_aggregates(root, stage, input_rel);
	zsnode_agg_add_paths(root, stage, input_rel, output_rel, extra);
	zsnode_window_add_paths(root, stage, output_rel);
	zsnode_cache_add_paths(root, stage, output_rel);
}

/* ---- executor ---------------------------------------------------------------------------- */

/* Runs in parallel workers, too, and for EXPLAIN. */
static void
executor_start(QueryDesc *queryDesc, int eflags)
{
	uint64		nscans = zsnode_scans_begun;
	uint64		naggs = zsnode_aggs_made;

	if (next.executor_start)
		next.executor_start(queryDesc, eflags);
	else
		standard_ExecutorStart(queryDesc, eflags);

	zsscan_projection_start(queryDesc, eflags);
	if (zsnode_scans_begun != nscans)
		zsjoin_tap_connect(queryDesc);
	if (zsnode_aggs_made != naggs)
		zsnode_agg_find_sorts(queryDesc);
	zsio_heap_turns_start(queryDesc, eflags);
}

/* ---- commands ---------------------------------------------------------------------------- */

/* What of ours is around a command, innermost first. */
static void
utility_with_cluster(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
					 ProcessUtilityContext context, ParamListInfo params,
					 QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc)
{
	zsam_cluster_utility(next.utility != NULL ? next.utility : standard_ProcessUtility, pstmt,
						 queryString, readOnlyTree, context, params, queryEnv, dest, qc);
}

static void
utility_with_options(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
					 ProcessUtilityContext context, ParamListInfo params,
					 QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc)
{
	zsddl_utility(utility_with_cluster, pstmt, queryString, readOnlyTree, context, params,
				  queryEnv, dest, qc);
}

static void
process_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc)
{
	/*
	 * ALTER TABLE has the table's descriptor changed before it reads the rows, and a column may go
	 * with its type.  Rows that wait in memory have the old layout, so they are written before.
	 */
	if (zsddl_may_change_columns(pstmt->utilityStmt))
		zswrite_flush_all();
	pstmt = zsddl_extension_place(pstmt, queryString);
	zsio_throttle_utility(utility_with_options, pstmt, queryString, readOnlyTree, context, params,
						  queryEnv, dest, qc);
}

static void
object_access(ObjectAccessType access, Oid classId, Oid objectId, int subId, void *arg)
{
	if (next.object_access)
		next.object_access(access, classId, objectId, subId, arg);
	zsddl_object_access(access, classId, objectId, subId, arg);
}

/* ---- transactions ------------------------------------------------------------------------ */

/*
 * Installed once, and by the first of our functions that runs, so that core calls those of
 * libraries that are loaded behind us before: what they write at a commit is not meant by the last
 * step.
 */
static void
transaction_event(XactEvent event, void *arg)
{
	zsio_throttle_transaction(event);
	zsscan_fetch_transaction(event);
	zswrite_transaction(event);
	zspage_exchange_transaction(event);
	zsio_commit_transaction(event);
}

static void
subtransaction_event(SubXactEvent event, SubTransactionId subid, SubTransactionId parent,
					 void *arg)
{
	zswrite_subtransaction(event, subid, parent);
	zstid_unseen_subtransaction(event, subid);
}

/* ---- the postmaster, and the log ----------------------------------------------------------- */

static void
shmem_request(void)
{
	if (next.shmem_request)
		next.shmem_request();
	zsio_request_shmem();
	zsconvert_request_shmem();
}

/*
 * Runs in the postmaster before the startup process, at the first start and after every crash.
 */
static void
shmem_startup(void)
{
	if (next.shmem_startup)
		next.shmem_startup();
	zsio_startup_shmem();
	zsconvert_startup_shmem();
}

static void
emit_log(ErrorData *edata)
{
	zsio_watch_log(edata);
	if (next.emit_log)
		next.emit_log(edata);
}

/* ---- installation -------------------------------------------------------------------------- */

#define INSTALL(hook, member, function) \
	do { \
		next.member = (hook); \
		(hook) = (function); \
	} while (0)

/* Installs one function in each of core's hooks that we use.  Called once, when preloaded. */
void
zshooks_install(void)
{
	Assert(process_shared_preload_libraries_in_progress);
	RegisterXactCallback(transaction_event, NULL);
	RegisterSubXactCallback(subtransaction_event, NULL);

	INSTALL(planner_hook, planner, plan_query);
	INSTALL(zs_relation_info_hook, relation_info, relation_info);
	INSTALL(set_rel_pathlist_hook, rel_pathlist, rel_pathlist);
	INSTALL(set_join_pathlist_hook, join_pathlist, join_pathlist);
	INSTALL(create_upper_paths_hook, upper_paths, upper_paths);
	INSTALL(ExecutorStart_hook, executor_start, executor_start);
	INSTALL(ProcessUtility_hook, utility, process_utility);
	INSTALL(object_access_hook, object_access, object_access);
	INSTALL(shmem_request_hook, shmem_request, shmem_request);
	INSTALL(shmem_startup_hook, shmem_startup, shmem_startup);
	INSTALL(emit_log_hook, emit_log, emit_log);
}
