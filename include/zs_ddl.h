/*-------------------------------------------------------------------------
 *
 * zs_ddl.h
 *	  Commands that make and change tables: steps of core's hooks (src/hooks.c), and options.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_ddl.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_DDL_H
#define ZS_DDL_H

#include "postgres.h"

#include "catalog/objectaccess.h"
#include "tcop/utility.h"

/* ---- ddl_utility.c ---- */

extern bool zsddl_may_change_columns(const Node *stmt);
extern void zsddl_utility(ProcessUtility_hook_type next, PlannedStmt *pstmt,
						  const char *queryString, bool readOnlyTree,
						  ProcessUtilityContext context, ParamListInfo params,
						  QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc);

/* An object was made: stores the options of a new table, or of one that is being rewritten. */
extern void zsddl_object_access(ObjectAccessType access, Oid classId, Oid objectId, int subId,
								void *arg);
extern Oid	zsddl_leaving_for(Oid relid);

/* ---- ddl_extension.c ---- */

extern PlannedStmt *zsddl_extension_place(PlannedStmt *pstmt, const char *queryString);

/* ---- ddl_options.c ---- */

/*
 * Options come as core's text arrays of "name=value", (Datum) 0: none.  Raises core's errors for
 * values that are wrong.
 */
extern void zsddl_options_validate(Datum options);

/* ---- ddl_sort_key.c ---- */
extern void zsddl_options_store(Oid relid, Datum options, Datum before);

#endif							/* ZS_DDL_H */
