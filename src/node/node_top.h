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

extern ZsTop *zsnode_top_create(SortState *sort, const CustomScan *cscan, EState *estate);
extern bool zsnode_top_start(ZsTop *top);
extern uint32 zsnode_top_choose(ZsTop *top, uint32 ngroups, ZsTopPasses passes, ZsTopValue value,
								void *arg, uint32 *kept);
extern bool zsnode_top_largest(const ZsTop *top, int *column, int *bound);
extern int64 zsnode_top_least(const ZsTop *top);
extern int	zsnode_top_column(const ZsTop *top, int place);
extern int	zsnode_top_compare(ZsTop *top, int place, Datum value, bool isnull);
extern void zsnode_top_explain(const ZsTop *top, const CustomScan *cscan, List *context,
							   struct ExplainState *es);
extern char *zsnode_sort_key_name(const char *name, Oid sortop, bool nulls_first);

#endif							/* NODE_TOP_H */
