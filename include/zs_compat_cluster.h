/*-------------------------------------------------------------------------
 *
 * zs_compat_cluster.h
 *	  Differences between the supported PostgreSQL majors: CLUSTER.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_compat_cluster.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_COMPAT_CLUSTER_H
#define ZS_COMPAT_CLUSTER_H

#include "postgres.h"

#include "access/table.h"
#include "nodes/parsenodes.h"
#include "utils/rel.h"

#include "zs_compat.h"
#include ZS_REWRITE_H

/* CLUSTER, which 19 calls a kind of REPACK. */
#if ZS_PG_AT_LEAST(19)
static inline bool
zs_is_cluster_without_index(Node *stmt, RangeVar **name, List **options)
{
	RepackStmt *cluster = (RepackStmt *) stmt;

	if (!IsA(stmt, RepackStmt) || cluster->command != REPACK_COMMAND_CLUSTER ||
		cluster->indexname != NULL)
		return false;
	*name = cluster->relation == NULL ? NULL : cluster->relation->relation;
	*options = cluster->params;
	return true;
}
#else
static inline bool
zs_is_cluster_without_index(Node *stmt, RangeVar **name, List **options)
{
	ClusterStmt *cluster = (ClusterStmt *) stmt;

	if (!IsA(stmt, ClusterStmt) || cluster->indexname != NULL)
		return false;
	*name = cluster->relation;
	*options = cluster->params;
	return true;
}
#endif

/*
 * Rewrites the table, which is locked in ACCESS EXCLUSIVE mode, by no index, and closes it.
 */
static inline void
zs_cluster_rel(Relation rel, bool verbose, bool is_top_level)
{
	ClusterParams params = {.options = verbose ? CLUOPT_VERBOSE : 0};

#if ZS_PG_AT_LEAST(19)
	cluster_rel(REPACK_COMMAND_CLUSTER, rel, InvalidOid, &params, is_top_level);
#elif ZS_PG_AT_LEAST(18)
	cluster_rel(rel, InvalidOid, &params);
#else
	Oid			relid = RelationGetRelid(rel);

	table_close(rel, NoLock);
	cluster_rel(relid, InvalidOid, &params);
#endif
}

#endif							/* ZS_COMPAT_CLUSTER_H */
