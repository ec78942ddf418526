/*-------------------------------------------------------------------------
 *
 * base_internal.h
 *	  What the files of src/base share.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/base/base_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_BASE_INTERNAL_H
#define ZS_BASE_INTERNAL_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "utils/rel.h"

/* base_reloptions.c */

/*
 * Table options travel as core's text arrays of "name=value", (Datum) 0 when
 * there are none.  "Ours" are the options of ZsTableOptions.
 */
extern bool zsbase_options_is_ours(const DefElem *def);
extern List *zsbase_options_all_names(void);
extern bool zsbase_options_allowed(char relkind, Oid amoid);

/* base_sort_key.c */

/* Errors: the option's value is no sort key. */
extern void zsbase_sort_key_validate(const char *value);
extern Datum zsbase_sort_key_check(Oid relid, Datum options, Datum before);
extern void zsbase_sort_key_column_dropped(Oid relid, AttrNumber attno);
extern void zsbase_sort_key_column_altered(Oid relid, AttrNumber attno);

/* base_creation.c */

/* New tables that nobody named our access method for: base_creation.c. */
extern bool zsbase_creation_default_is_ours(void);
extern PlannedStmt *zsbase_creation_for_script(PlannedStmt *pstmt);
extern void zsbase_creation_check(Relation rel, const RangeVar *creates, bool within);

#endif							/* ZS_BASE_INTERNAL_H */
