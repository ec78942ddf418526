/*-------------------------------------------------------------------------
 *
 * am_cluster_command.c
 *	  CLUSTER without an index sorts tables by their keys.
 *
 * Core's CLUSTER t takes the index that an earlier CLUSTER marked, and raises an error if there is
 * none; CLUSTER alone does the same to all tables that have such an index.  A table of ours that
 * has none, but the option zedstore_sort_key, is rewritten in the order of that key, as VACUUM FULL
 * would (am_cluster.c), within a transaction block, too.  CLUSTER of a partitioned table, and
 * CLUSTER alone, rewrite each such table in a transaction of its own, the latter after core has
 * done its part.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/am/am_cluster_command.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"

#include "zs_am.h"
#include "zs_base.h"
#include "zs_base_sort.h"
#include "zs_compat_cluster.h"

/* Is it a table of ours with a key, and without an index that CLUSTER marked? */
static bool
is_sorted_by_key(Relation rel)
{
	ZsSortKey	keys[INDEX_MAX_KEYS];
	bool		result;
	List	   *indexes;
	ListCell   *lc;

	if ((rel->rd_rel->relkind != RELKIND_RELATION && rel->rd_rel->relkind != RELKIND_MATVIEW) ||
		!zsbase_is_zedstore(rel) || zsbase_sort_key(rel, false, keys) == 0)
		return false;
	result = true;
	indexes = RelationGetIndexList(rel);
	foreach(lc, indexes)
		result = result && !get_index_isclustered(lfirst_oid(lc));
	list_free(indexes);
	return result;
}

/* May the user cluster it?  Says so if not, in core's words. */
static bool
is_permitted(Oid relid)
{
	if (pg_class_aclcheck(relid, GetUserId(), ACL_MAINTAIN) == ACLCHECK_OK)
		return true;
	ereport(WARNING,
			(errmsg("permission denied to cluster \"%s\", skipping it", get_rel_name(relid))));
	return false;
}

/* Tables and materialized views of ours in this database, in the current context. */
static List *
list_tables(void)
{
	Relation	pg_class = table_open(RelationRelationId, AccessShareLock);
	TableScanDesc scan = table_beginscan_catalog(pg_class, 0, NULL);
	List	   *result = NIL;
	HeapTuple	tuple;

	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		CHECK_FOR_INTERRUPTS();
		/* options of ours are rare: no other table is opened */
		if ((form->relkind == RELKIND_RELATION || form->relkind == RELKIND_MATVIEW) &&
			!heap_attisnull(tuple, Anum_pg_class_reloptions, NULL) &&
			zsbase_is_zedstore_am(form->relam))
			result = lappend_oid(result, form->oid);
	}
	table_endscan(scan);
	table_close(pg_class, AccessShareLock);
	return result;
}

/* Leaves those that are sorted by a key and that the user may cluster; locks none of them. */
static List *
choose_tables(const List *relids)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, relids)
	{
		Relation	rel = try_relation_open(lfirst_oid(lc), AccessShareLock);

		CHECK_FOR_INTERRUPTS();
		if (rel == NULL)
			continue;
		if (is_sorted_by_key(rel) && !RELATION_IS_OTHER_TEMP(rel) &&
			is_permitted(RelationGetRelid(rel)))
			result = lappend_oid(result, RelationGetRelid(rel));
		relation_close(rel, AccessShareLock);
	}
	return result;
}

/*
 * Each in a transaction of its own, in the midst of one without a snapshot, and back in such a one.
 * Those that have changed meanwhile are left out.
 */
static void
cluster_tables(const List *relids, bool verbose, bool is_top_level)
{
	ListCell   *lc;

	CommitTransactionCommand();
	foreach(lc, relids)
	{
		Relation	rel;

		StartTransactionCommand();
		/* functions in indexes may want it */
		PushActiveSnapshot(GetTransactionSnapshot());
		rel = try_relation_open(lfirst_oid(lc), AccessExclusiveLock);
		if (rel != NULL && (!is_sorted_by_key(rel) || !is_permitted(RelationGetRelid(rel))))
			relation_close(rel, AccessExclusiveLock);
		else if (rel != NULL)
			zs_cluster_rel(rel, verbose, is_top_level);
		PopActiveSnapshot();
		CommitTransactionCommand();
	}
	StartTransactionCommand();
}

/*
 * A table that was named: true if it was done.  Else core is to do it, or to raise its error; the
 * lock is core's, too.
 */
static bool
cluster_one(const RangeVar *name, bool verbose, bool is_top_level)
{
	Oid			relid = RangeVarGetRelidExtended(name, AccessExclusiveLock, 0,
												 RangeVarCallbackMaintainsTable, NULL);
	Relation	rel = table_open(relid, NoLock);
	List	   *partitions;
	MemoryContext old;

	if (RELATION_IS_OTHER_TEMP(rel))
	{
		table_close(rel, NoLock);
		return false;
	}
	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
	{
		if (!is_sorted_by_key(rel))
		{
			table_close(rel, NoLock);
			return false;
		}
		CheckTableNotInUse(rel, "CLUSTER");
		zs_cluster_rel(rel, verbose, is_top_level);
		return true;
	}
	table_close(rel, NoLock);
	old = MemoryContextSwitchTo(PortalContext);
	partitions = choose_tables(find_all_inheritors(relid, NoLock, NULL));
	MemoryContextSwitchTo(old);
	if (partitions == NIL)
		return false;
	PreventInTransactionBlock(is_top_level, "CLUSTER");
	PopActiveSnapshot();
	cluster_tables(partitions, verbose, is_top_level);
	return true;
}

/* All tables that have a key; core has done its part. */
static void
cluster_all(bool verbose, bool is_top_level)
{
	MemoryContext old = MemoryContextSwitchTo(PortalContext);
	List	   *tables = choose_tables(list_tables());

	MemoryContextSwitchTo(old);
	cluster_tables(tables, verbose, is_top_level);
}

/* Is VERBOSE asked for?  *known: nothing else is. */
static bool
is_verbose(const List *params, bool *known)
{
	bool		verbose = false;
	ListCell   *lc;

	*known = true;
	foreach(lc, params)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (strcmp(option->defname, "verbose") == 0)
			verbose = defGetBoolean(option);
		else
			*known = false;
	}
	return verbose;
}

/*
 * A step of ProcessUtility: CLUSTER without an index of tables with a sort key.  Others go to next.
 */
void
zsam_cluster_utility(ProcessUtility_hook_type next, PlannedStmt *pstmt, const char *queryString,
					 bool readOnlyTree, ProcessUtilityContext context, ParamListInfo params,
					 QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc)
{
	bool		is_top_level = context == PROCESS_UTILITY_TOPLEVEL;
	RangeVar   *name = NULL;
	List	   *options = NIL;
	bool		ours = zs_is_cluster_without_index(pstmt->utilityStmt, &name, &options) &&
		zsbase_is_installed();
	bool		verbose = ours && is_verbose(options, &ours);

	if (ours && name != NULL)
	{
		PreventCommandIfParallelMode("CLUSTER");
		PreventCommandDuringRecovery("CLUSTER");
		if (cluster_one(name, verbose, is_top_level))
			return;
	}
	next(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);
	if (ours && name == NULL)
		cluster_all(verbose, is_top_level);
}
