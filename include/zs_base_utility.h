/*-------------------------------------------------------------------------
 *
 * zs_base_utility.h
 *	  Steps of core's hooks for commands with options of zedstore tables; called by src/hooks.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_base_utility.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_BASE_UTILITY_H
#define ZS_BASE_UTILITY_H

#include "postgres.h"

#include "catalog/objectaccess.h"
#include "tcop/utility.h"

/* ---- base_utility.c ---- */

/*
 * May the command change columns of tables, or drop some: ALTER TABLE, DROP, DROP OWNED, DISCARD
 * TEMP?
 */
extern bool zsbase_may_change_columns(const Node *stmt);

/*
 * Calls next with the command without our options, which are stored while it is executed or after
 * it.  Errors: options that are unknown or out of range.
 */
extern void zsbase_utility(ProcessUtility_hook_type next, PlannedStmt *pstmt,
						   const char *queryString, bool readOnlyTree,
						   ProcessUtilityContext context, ParamListInfo params,
						   QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc);

/* An object was made: stores the options of a new table, or of one that is being rewritten. */
extern void zsbase_object_access(ObjectAccessType access, Oid classId, Oid objectId, int subId,
								 void *arg);

#endif							/* ZS_BASE_UTILITY_H */
