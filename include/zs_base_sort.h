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
#include "utils/rel.h"

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

/* ---- base_sort_key.c ---- */
extern int	zsbase_sort_key(Relation rel, bool with_index, ZsSortKey *keys);

#endif							/* ZS_BASE_SORT_H */
