/*-------------------------------------------------------------------------
 *
 * zs_base_sort.h
 *	  The order that a table's rows are to be written in.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_base_sort.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_BASE_SORT_H
#define ZS_BASE_SORT_H

#include "postgres.h"

#include "access/attnum.h"
#include "catalog/pg_attribute.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"
#include "utils/tuplesort.h"

#define ZS_SORT_KEY_OPTION	"zedstore_sort_key"

/* A column that rows are sorted by. */
typedef struct ZsSortKey
{
	AttrNumber	attno;
	bool		descending;
	bool		nulls_first;
	Oid			sortop;			/* of the type's default B-tree class */
	Oid			collation;		/* C for strings: by their bytes; else none */
} ZsSortKey;

/* A member of the option's value, as parsed. */
typedef struct ZsSortKeyName
{
	char	   *name;
	bool		descending;
	bool		nulls_first;
} ZsSortKeyName;

/* Why rows cannot be sorted by the column. */
typedef enum ZsSortKeyFault
{
	ZS_KEY_FAULT_NONE,
	ZS_KEY_FAULT_MISSING,
	ZS_KEY_FAULT_NOT_STORED,
	ZS_KEY_FAULT_NO_ORDER
} ZsSortKeyFault;

/* ---- base_sort_key.c ---- */
extern List *zsbase_sort_key_parse(const char *value);
extern int	zsbase_sort_key_find(Datum options, Datum **elems, int *nelems, char **value);
extern ZsSortKeyFault zsbase_sort_key_fault(Form_pg_attribute att);
extern void zsbase_sort_key_report(ZsSortKeyFault fault, const char *name, Oid type);
extern int	zsbase_sort_key(Relation rel, bool with_index, ZsSortKey *keys);
extern int	zsbase_sort_key_of(Relation rel, const char *value, ZsSortKey *keys);
extern Tuplesortstate *zsbase_sort_begin(TupleDesc desc, const ZsSortKey *keys, int nkeys,
										 int memory);

#endif							/* ZS_BASE_SORT_H */
