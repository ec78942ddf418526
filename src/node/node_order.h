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
#include "utils/tuplestore.h"

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
	int			position;		/* the first that has not been returned */
	uint64		bound_serial;	/* of the bound that nsafe is for */
	int			nsafe;			/* rows that none that is left may precede */
	zstid	   *rows;
	Datum	   *values;			/* of the node's columns, row by row; keys first */
	bool	   *isnull;
} OrderRun;

/* A key, and its values in the present batch, by position; valid while the batch is. */
typedef struct OrderKey
{
	ZsTopNKey	def;
	SortSupportData sort;
	int			column;			/* place in OrderState.columns */
	bool		is_integer;		/* can be taken from a vector of integers */
	Datum		values[ZS_KERNEL_ROWS];
	bool		isnull[ZS_KERNEL_ROWS];
} OrderKey;

typedef enum OrderPhase
{
	ORDER_START,
	ORDER_NULLS,				/* rows whose first key is NULL, if it is the only one */
	ORDER_VALUES,				/* the others, merged */
	ORDER_SORTED,				/* ... sorted, from where memory was short; or NULLs */
	ORDER_END
} OrderPhase;

typedef struct OrderState
{
	CustomScanState css;		/* first */
	Relation	rel;
	int			nkeys;
	OrderKey   *keys;
	int			ncolumns;		/* that are returned or sorted by */
	AttrNumber *columns;		/* their numbers, those of keys first */
	bool		is_exact;		/* rows are equal whose first key has the same image */

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

	/* rows of the present batch, by their keys, and what of them has been returned */
	int			nlist;
	int			position;
	uint16		list[ZS_KERNEL_ROWS];

	/* the stripes that are left */
	bool		has_bound;		/* there are some: none has a row before bound */
	int64		bound;
	uint64		bound_serial;	/* counts bounds; 0 before the first */
	int			nsafe;			/* of list, those that none that is left may precede */

	binaryheap *heap;			/* of runs, by their first rows */
	OrderRun   *current;		/* its row was returned last */
	Size		memory;			/* of runs */
	Tuplesortstate *sort;
	TupleTableSlot *sortslot;	/* columns, and the row's number */

	/* rows that were returned, for who goes back */
	bool		keeps;
	Tuplestorestate *kept;
	TupleTableSlot *keep_slot;	/* columns, and the row's number: of a row that is put there */
	TupleTableSlot *kept_slot;	/* ... and of one that is read */

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

extern OrderRun *zsnode_order_make_run(OrderState *state);
extern void zsnode_order_free_run(OrderState *state, OrderRun *run);
extern void zsnode_order_store_row(OrderState *state, const OrderRun *run, int number);

/* node_order_read.c */

extern bool zsnode_order_open(OrderState *state, zstid stripe, bool nulls);

/* node_order_sort.c */

extern TupleDesc zsnode_order_row_desc(const OrderState *state);
extern void zsnode_order_store_sorted(OrderState *state, TupleTableSlot *slot);
extern bool zsnode_order_sort_nulls(OrderState *state);
extern void zsnode_order_sort_rest(OrderState *state);
extern bool zsnode_order_next_sorted(OrderState *state);
extern void zsnode_order_end_sort(OrderState *state);

/* node_order_back.c */

extern bool zsnode_order_fetch(OrderState *state, bool forward);
extern void zsnode_order_forget_kept(OrderState *state);

/* node_order_merge.c */

extern bool zsnode_order_next(OrderState *state);
extern void zsnode_order_reset(OrderState *state);

#endif							/* NODE_ORDER_H */
