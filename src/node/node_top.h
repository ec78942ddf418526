/*-------------------------------------------------------------------------
 *
 * node_top.h
 *	  Which groups ORDER BY ... LIMIT leaves; private to src/node.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_top.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef NODE_TOP_H
#define NODE_TOP_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/plannodes.h"

struct ExplainState;

typedef struct ZsTop ZsTop;

/* Does the group pass HAVING?  Raises the errors that making its row would raise. */
typedef bool (*ZsTopPasses) (void *arg, uint32 group);

/*
 * A column of the group's row (0 is the first of custom_scan_tlist), valid until the group is
 * another one.
 */
typedef Datum (*ZsTopValue) (void *arg, uint32 group, int column, bool *isnull);

/*
 * What the Sort node above, which gets the rows of the scan and has a LIMIT above it, says of its
 * groups; NULL if all of them have to be handed out.  Memory comes from the current context.  Reads
 * system catalogs.
 */
extern ZsTop *zsnode_top_create(SortState *sort, const CustomScan *cscan, EState *estate);

/*
 * From the first group, for the first time or anew; once the first row is asked for, since the
 * LIMIT is known then.  False if all groups have to be handed out.
 */
extern bool zsnode_top_start(ZsTop *top);

/*
 * Chooses among so many groups those that may be among the first, of them and of all that have been
 * looked at since the start: their numbers, ascending, go to kept, which has room for all; returns
 * how many.
 */
extern uint32 zsnode_top_choose(ZsTop *top, uint32 ngroups, ZsTopPasses passes, ZsTopValue value,
								void *arg, uint32 *kept);

/*
 * Are those wanted first whose first key, a bigint, is largest?  *column is the key, as ZsTopValue
 * has columns, *bound how many are wanted.
 */
extern bool zsnode_top_largest(const ZsTop *top, int *column, int *bound);

/* Then groups are still wanted whose first key is not less than that; 0: maybe all of them. */
extern int64 zsnode_top_least(const ZsTop *top);

/* The sort key in that place, as ZsTopValue has columns; -1: there is none. */
extern int	zsnode_top_column(const ZsTop *top, int place);

/*
 * Compares a value with that of the last of the groups that are wanted, in one sort key: above 0,
 * it comes behind.  There are as many groups as are wanted (zsnode_top_least() is not 0).
 */
extern int	zsnode_top_compare(ZsTop *top, int place, Datum value, bool isnull);

/* Shows the order, in terms of custom_scan_tlist.  context: for deparse_expression(). */
extern void zsnode_top_explain(const ZsTop *top, const CustomScan *cscan, List *context,
							   struct ExplainState *es);

/* The name of a sort key with what is said of its order, in the current context. */
extern char *zsnode_sort_key_name(const char *name, Oid sortop, bool nulls_first);

#endif							/* NODE_TOP_H */
