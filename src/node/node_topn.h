/*-------------------------------------------------------------------------
 *
 * node_topn.h
 *	  The node of a top-N scan; private to src/node.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_topn.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef NODE_TOPN_H
#define NODE_TOPN_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "utils/sortsupport.h"

#include "node_best.h"
#include "zs_agg.h"
#include "zs_expr_filter.h"
#include "zs_expr_input.h"
#include "zs_expr_qual.h"

/* One sort key of a top-N scan. */
typedef struct ZsTopNKey
{
	AttrNumber	attno;
	Oid			sortop;
	Oid			collation;
	bool		nulls_first;
} ZsTopNKey;

/* node_key.c */

extern bool zsnode_key_of_pathkey(PathKey *pathkey, RelOptInfo *rel, ZsTopNKey *key);
extern List *zsnode_keys_pack(const ZsTopNKey *keys, int nkeys);
extern int	zsnode_keys_unpack(const List *packed, ZsTopNKey **keys);
extern Plan *zsnode_key_plan(const CustomPath *path, List *tlist, List *clauses,
							 const CustomScanMethods *methods);
extern bool zsnode_key_has_zones(TupleDesc desc, const ZsTopNKey *key);

typedef struct TopNState
{
	CustomScanState css;		/* first */
	Relation	rel;
	int64		bound;
	int			nkeys;
	ZsTopNKey  *keys;
	int			ncolumns;		/* whose values entries have: keys, then those carried */
	AttrNumber *columns;		/* their numbers */
	bool		may_carry;		/* columns are all that the plan returns */
	bool		carries;		/* the same, and all entries have their values */
	int64		nfilled;		/* how many rows have become entries */
	SortSupport sortkeys;
	ExprState  *filter;			/* the plan's */
	TupleTableSlot *keyslot;	/* what the scan reads into */
	ZsBest		best;			/* rows so far; values: of the node's columns, keys first */
	Datum	   *values;			/* keys of the row looked at */
	bool	   *isnull;
	int			nresults;		/* -1: the scan was not run yet */
	int			position;		/* number of the row returned last; 0: before the first one */
	int			nprefetched;	/* results whose pages were read ahead */
	bool		is_cold;		/* the choice had to read pages from disk */
	ZsBestEntry **results;		/* best first */
	MemoryContext context;		/* values of the entries */

	ZsIoCounts	io;				/* of scans by rows, for EXPLAIN */

	/* by batches; input is NULL: by rows */
	ZsInput    *input;			/* keyslot is its slot */
	ZsFilter   *programs;
	ZsQualCounts counts;
	bool		has_zones;		/* zone maps follow the order of the first key */
	bool		is_exact;		/* ... and different values have different images */
	bool		is_unsigned;
	bool		worst_known;	/* images of the worst value of the first key, of row worst_row */
	zstid		worst_row;
	int64		worst_low;
	int64		worst_high;
	bool		leaves_out;		/* programs compare the first key with the worst value */
	Expr	   *first_key;		/* a Var */
	ZsDomain	domain;			/* of the first key */
	Oid			better_op;		/* key < value */
	Oid			better_or_equal_op;
	bool		better_known;	/* "better" is for the value of row better_row */
	ZsQual	   *better;			/* the program; NULL: there is none for that value */
	bool		better_or_equal;	/* which operator it has */
	zstid		better_row;
	MemoryContext better_context;	/* of the program */
	uint64		nleft;			/* segments that were left alone */
} TopNState;

/* node_topn_heap.c */

extern List *zsnode_topn_pack(int64 bound, const ZsTopNKey *keys, int nkeys);
extern int	zsnode_topn_unpack(List *packed, int64 *bound, ZsTopNKey **keys);
extern bool zsnode_topn_row_passes(TopNState *state);
extern bool zsnode_topn_look_at_row(TopNState *state);

/* node_topn_batch.c */

extern void zsnode_topn_begin_batches(TopNState *state, CustomScan *cscan, Relation rel,
									  EState *estate);
extern void zsnode_topn_choose_by_batches(TopNState *state);

/* node_topn_plan.c */
extern const CustomScanMethods zsnode_topn_scan_methods;

/* node_topn_exec.c */
extern Node *zsnode_topn_create_state(CustomScan *cscan);

#endif							/* NODE_TOPN_H */
