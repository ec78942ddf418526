/*-------------------------------------------------------------------------
 *
 * node_order.h
 *	  The node of a scan in the order of a column; private to src/node.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_order.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef NODE_ORDER_H
#define NODE_ORDER_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "utils/sortsupport.h"
#include "utils/tuplesort.h"

#include "lib/binaryheap.h"
#include "node_topn.h"
#include "zs_batch.h"
#include "zs_expr_filter.h"
#include "zs_expr_input.h"
#include "zs_order.h"

/* Rows of a stripe, copied and sorted by their keys. */
typedef struct OrderRun
{
	MemoryContext context;		/* of all of it */
	int			nrows;
	int			position;		/* in sorted: the first that has not been returned */
	uint16	   *sorted;			/* numbers of rows */
	zstid	   *rows;
	Datum	   *values;			/* of the node's columns, row by row; the key first */
	bool	   *isnull;
} OrderRun;

typedef enum OrderPhase
{
	ORDER_START,
	ORDER_NULLS,				/* rows whose key is NULL */
	ORDER_VALUES,				/* the others, merged */
	ORDER_SORTED,				/* ... sorted, from where memory was short */
	ORDER_END
} OrderPhase;

typedef struct OrderState
{
	CustomScanState css;		/* first */
	Relation	rel;
	ZsTopNKey	key;
	SortSupportData sortkey;
	int			ncolumns;		/* that are returned or sorted by */
	AttrNumber *columns;		/* their numbers, the key's first */
	bool		is_integer;		/* the key can be taken from a vector of integers */
	bool		is_exact;		/* different values of it have different images */

	ZsFilter   *programs;		/* of the whole filter; NULL: it goes row by row */
	ZsQualCounts counts;
	TableScanDesc scan;
	ZsBatchScan *batches;
	ZsInput    *input;
	MemoryContext context;		/* of what a rescan changes */
	MemoryContext keycontext;	/* keys of the present batch */
	ZsScanOrder *order;

	OrderPhase	phase;
	bool		nulls_done;
	bool		values_done;
	zstid	   *loose;			/* stripes of which nothing is known */
	int			nloose;
	int			maxloose;
	int			next_loose;		/* to be looked at for NULLs */

	/* rows of the present batch that are returned next */
	bool		is_direct;
	int			nlist;
	int			position;
	uint16		list[ZS_KERNEL_ROWS];
	Datum		keys[ZS_KERNEL_ROWS];	/* by position in the batch; valid while the batch is */

	binaryheap *heap;			/* of runs, by their first rows */
	OrderRun   *current;		/* its row was returned last */
	Size		memory;			/* of runs */
	Tuplesortstate *sort;
	TupleTableSlot *sortslot;	/* columns, and the row's number */

	/* for EXPLAIN */
	uint64		nreturned;
	int64		sorted_from;	/* row from which rows were sorted; -1: all were merged */
	int			most_open;		/* runs at a time */
	uint64		nleft;			/* segments that were left alone */
	ZsBatchCounts ended;
} OrderState;

/* node_order_plan.c */
extern const CustomScanMethods zsnode_order_methods;

/* node_order_exec.c */
extern Node *zsnode_order_create_state(CustomScan *cscan);

/* node_order_run.c */

/* The rows in the list, copied; forgotten again; one of them in the node's slot. */
extern OrderRun *zsnode_order_make_run(OrderState *state);
extern void zsnode_order_free_run(OrderState *state, OrderRun *run);
extern void zsnode_order_store_row(OrderState *state, const OrderRun *run, int number);

/* node_order_merge.c */

/* The next row in the order of the key, in the node's slot; false behind the last. */
extern bool zsnode_order_next(OrderState *state);

/* Forgets all that has been read. */
extern void zsnode_order_reset(OrderState *state);

#endif							/* NODE_ORDER_H */
