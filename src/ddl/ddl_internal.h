/*-------------------------------------------------------------------------
 *
 * ddl_internal.h
 *	  What the files of src/ddl share.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/ddl/ddl_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDL_INTERNAL_H
#define DDL_INTERNAL_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "utils/rel.h"

/* ---- ddl_options.c ---- */

/*
 * Table options travel as core's text arrays of "name=value", (Datum) 0 when there are none.
 * "Ours" are the options of ZsTableOptions.
 */
extern bool zsddl_options_is_ours(const DefElem *def);
extern List *zsddl_options_all_names(void);
extern bool zsddl_options_allowed(char relkind, Oid amoid);
extern void zsddl_options_write(Oid relid, Datum options);

/* ---- ddl_sort_key.c ---- */
extern void zsddl_sort_key_column_dropped(Oid relid, AttrNumber attno);
extern void zsddl_sort_key_column_altered(Oid relid, AttrNumber attno);

/* ---- ddl_creation.c ---- */
extern bool zsddl_creation_default_is_ours(void);
extern PlannedStmt *zsddl_creation_for_script(PlannedStmt *pstmt);
extern void zsddl_creation_check(Relation rel, const RangeVar *creates, bool within);

#endif							/* DDL_INTERNAL_H */
