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

/*
 * May the command change columns of tables, or drop some: ALTER TABLE, DROP, DROP OWNED, DISCARD
 * TEMP?
 */
extern bool zsddl_may_change_columns(const Node *stmt);

/*
 * Calls next with the command without our options, which are stored while it is executed or after
 * it.  Errors: options that are unknown or out of range.
 */
extern void zsddl_utility(ProcessUtility_hook_type next, PlannedStmt *pstmt,
						  const char *queryString, bool readOnlyTree,
						  ProcessUtilityContext context, ParamListInfo params,
						  QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc);

/* An object was made: stores the options of a new table, or of one that is being rewritten. */
extern void zsddl_object_access(ObjectAccessType access, Oid classId, Oid objectId, int subId,
								void *arg);

/*
 * The access method that the ALTER TABLE being executed gives to this zedstore table, InvalidOid if
 * there is none.
 */
extern Oid	zsddl_leaving_for(Oid relid);

/* ---- ddl_extension.c ---- */

/*
 * A CREATE EXTENSION of ours that names no schema: a copy with the schema zedstore, which is made
 * if it is missing.  Any other command: as it is.
 */
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
