/*-------------------------------------------------------------------------
 *
 * node_agg.h
 *	  The state of a node that aggregates by batches; private to src/node.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef NODE_AGG_H
#define NODE_AGG_H

#include "postgres.h"

#include "access/parallel.h"
#include "commands/explain.h"

#include "node_agg_fold.h"
#include "node_top.h"
#include "zs_agg.h"
#include "zs_agg_group.h"
#include "zs_agg_spill.h"
#include "zs_expr_filter.h"
#include "zs_expr_input.h"

/* One aggregate of the node. */
typedef struct NodeAgg
{
	ZsAgg		agg;
	ExprState  *filter;			/* FILTER, for single rows; or NULL */
	ExprState  *arg;			/* or NULL */
	Size		offset;			/* of its value in those of a group */
	int			filter_column;	/* of a row's values: does it pass FILTER? -1: there is none */
	int			arg_column;		/* -1: there is none */
	ZsAggFold	filter_fold;	/* FILTER, and the argument (node_agg_fold.c) */
	ZsAggFold	arg_fold;
	bool		ignores;		/* may have what zone maps say it needs not see */

	/* DISTINCT (node_agg_distinct.c) */
	ZsGroupKey	distinct_keys[2];	/* the group's number, and the argument */
	TupleDesc	pairdesc;		/* of pairs of these; without grouping, of the argument */
	ZsGroups   *seen;			/* pairs of these */
	MemoryContext set_context;	/* of seen */
	ZsGroups   *seen_by_rows;	/* the same for the verifier */
	MemoryContext verify_context;	/* of these */
	ZsSpill    *spill;			/* pairs that seen has no room for; NULL: there are none */
	bool		waits;			/* rows of the batch have such pairs: waiting */
	uint64		waiting[ZS_KERNEL_WORDS];
} NodeAgg;

/* What EXPLAIN tells, of one process or of all of them. */
typedef struct AggCounts
{
	uint64		nredone;		/* batches */
	uint64		ntotals;		/* vectors that were taken as a whole */
	uint64		nremoved;		/* rows */
	uint64		nfills;			/* times that groups were made of rows that had been written out */
	uint64		memory;			/* largest, in bytes */
	uint64		disk;			/* the same */
	uint64		nignored;		/* batches that change no minimum or maximum */
	ZsBatchCounts scan;
	uint64		ndirect;		/* tables of groups that were found by ranges of keys */
	uint64		nhash;			/* by a hash */
	uint64		nleft_out;		/* groups that ORDER BY ... LIMIT leaves out */
	uint64		nleft_rows;		/* rows without memory, of groups that it leaves out */
	uint64		nagain;			/* times that the input was read again for such rows */
	uint64		nearly;			/* groups returned before the end */
	ZsQualCounts qual;
} AggCounts;

/* Shared by the processes of a parallel plan. */
typedef struct SharedAgg
{
	int			nworkers;
	Size		scan_offset;	/* of the parallel scan */
	AggCounts	counts[FLEXIBLE_ARRAY_MEMBER];	/* of each worker, written by it when it is done */
} SharedAgg;

typedef struct AggNodeState
{
	CustomScanState css;		/* first */
	Relation	rel;			/* whose rows are aggregated; NULL: those of a plan */
	List	   *filter_clauses;
	List	   *aggrefs;
	ZsFilter *filter;
	ExprState  *filter_rows;	/* the same for single rows */
	bool		counts_only;	/* no column has to be looked at */
	int			nkeys;			/* 0: one group of all rows */
	ZsGroupKey *keys;
	List	   *key_exprs;
	List	   *shown_keys;		/* by EXPLAIN */
	ExprState **key_states;		/* of keys that are no columns */
	ZsAggFold  *key_folds;
	int			naggs;
	NodeAgg    *aggs;

	/* parameters and stable functions of keys and aggregates (node_agg_fold.c) */
	bool		has_folds;
	bool		folds_wait;		/* some have no values yet */
	bool		keys_wait;		/* keys have no programs */
	TupleDesc	fold_desc;
	Index		fold_varno;
	ExprContext *fold_econtext;
	MemoryContext fold_context; /* values and programs that a rescan changes */

	char	   *values_memory;	/* of values, which begin with a cache line */
	char	   *values;			/* value_size bytes for each group: a value of each aggregate */
	Size		value_size;
	uint32		maxgroups;		/* groups that values has room for */
	const ZsColumnVector **vectors; /* of the aggregates, in a batch */
	uint64	   *sels;			/* rows that they take, in a batch */
	ZsBatchGroups *batch_groups;
	ZsVectorTotals *totals;		/* instead of a vector and rows, where has_totals */
	bool	   *has_totals;
	ZsGroups   *groups;
	MemoryContext groups_context;
	uint32		next_group;		/* the next to be returned */
	Datum	   *row_values;		/* what is kept of a row: keys, and what aggregates take of it */
	bool	   *row_isnull;
	TupleDesc	rowdesc;
	ZsSpill    *spill;			/* NULL: no row was written out */
	struct ZsAggPack *pack;		/* NULL: no row was packed */
	ZsInput    *input;
	ExprContext *rowcontext;	/* of single rows */
	MemoryContext context;		/* of the values and groups */
	MemoryContext result_context;	/* of the row returned last */
	ZsAggVerifier *verifier;
	bool		has_sets;		/* there are aggregates with DISTINCT */
	bool		by_rows;		/* zedstore.debug_vector = rows */
	bool		all_ignore;		/* batches may be left out without a look at their rows */
	Oid			zone_operator;	/* what the scan needs not see is said by the first aggregate;
								 * InvalidOid: it is not */
	int64		zone_low;		/* of what it was told last, if zone_told */
	int64		zone_high;
	bool		zone_told;
	bool		started;		/* the table was scanned, or is being scanned */
	bool		at_end;			/* all rows of the input were taken */
	bool		done;			/* there are no more groups but groups_left */
	uint32		groups_left;	/* in memory, to be returned */

	bool		may_be_early;	/* groups that are complete may be returned before the end */
	uint64		fill_rows;		/* taken since the last fill began */
	uint64		frozen_rows;	/* of these, those before groups were frozen */
	uint64		absent_rows;	/* of these, those after that, whose groups are not in memory */
	uint32		early_look;		/* not with less groups than these */
	bool		early;			/* only those are returned whose early_key lies outside of: */
	int			early_key;
	int64		ahead_min;
	int64		ahead_max;
	uint32		ncomplete;		/* number of those */

	uint32		rare_look;		/* with so many groups more may not be needed */
	bool		counted_in_vain;	/* they were, and are not counted again before there is need */

	ZsTop	   *top;			/* the groups that the Sort node above wants; NULL: all */
	bool		choosing;		/* not all of them are returned */
	uint32	   *kept;			/* numbers of those that are, if choosing or early */
	uint32		result_group;	/* of which there is something in result_context */

	ZsAggSplit	split;
	bool		partial;		/* returns transition values, or states for a node of ours */
	struct ZsAggBlocks *blocks;	/* NULL: it returns groups one by one */
	SharedAgg  *shared;			/* NULL: no other process takes part */

	Size		base_memory;	/* what is there before the first group */
	Size		full_memory;	/* what there was when that was too much; 0: it was not */
	AggCounts	counts;
	AggCounts	worker_counts;	/* of all workers */
} AggNodeState;

/* What the aggregate has seen of the group; as long as there are no more groups. */
static inline ZsAggValue *
zsnode_agg_value_of(const AggNodeState *state, uint32 group, const NodeAgg *agg)
{
	Assert(state->nkeys == 0 ? group == 0 : group < state->maxgroups);
	return (ZsAggValue *) (state->values + group * state->value_size + agg->offset);
}

/* ---- minimum and maximum without a look (node_agg_zone.c) ---- */

extern void zsnode_agg_prepare_zones(AggNodeState *state, TupleDesc desc, ParamListInfo params);

/* ---- the node's groups and values (node_agg_groups.c) ---- */

extern ZsGroups *zsnode_agg_create_groups(AggNodeState *state);
extern void zsnode_agg_grow_values(AggNodeState *state);
extern void zsnode_agg_start_groups(AggNodeState *state, const uint16 *list, uint32 n,
									const uint32 *numbers);

/* ---- rows one by one (node_agg_single.c) ---- */

extern void zsnode_agg_read_row(AggNodeState *state);
extern void zsnode_agg_open_spill(AggNodeState *state);
extern void zsnode_agg_spill_row(AggNodeState *state);
extern void zsnode_agg_take_row(AggNodeState *state, bool verify_only, uint32 group);
extern void zsnode_agg_take_rows(AggNodeState *state, const ZsBatch *batch, const uint64 *passed,
								 const uint32 *numbers);

/* ---- batches (node_agg_batch.c) ---- */

extern void zsnode_agg_set_scan_filter(AggNodeState *state, const NodeAgg *agg);
extern void zsnode_agg_take_batch(AggNodeState *state, const ZsBatch *batch);

/* ---- rows written out by columns (node_agg_pack.c) ---- */

typedef struct ZsAggPack ZsAggPack;

extern bool zsnode_agg_pack_rows(AggNodeState *state, const uint16 *list, uint32 n);
extern void zsnode_agg_add_packed(AggNodeState *state);
extern bool zsnode_agg_collect_packed(AggNodeState *state, uint64 hash, uint32 len);
extern void zsnode_agg_forget_packed(AggNodeState *state);

/* ---- all groups (node_agg_fill.c) ---- */

extern void zsnode_agg_free_spill(AggNodeState *state);
extern bool zsnode_agg_fill_groups(AggNodeState *state);

/* ---- groups as rows (node_agg_return.c) ---- */

extern TupleTableSlot *zsnode_agg_store_group(AggNodeState *state, uint32 group);
extern void zsnode_agg_choose_groups(AggNodeState *state);

/* ---- groups in blocks (node_agg_block.c) ---- */

typedef struct ZsAggBlocks ZsAggBlocks;

extern void zsnode_agg_blocks_init(AggNodeState *state, TupleDesc desc);
extern TupleTableSlot *zsnode_agg_store_block(AggNodeState *state);

/* ---- groups of few rows (node_agg_rare.c) ---- */

extern void zsnode_agg_count_rare(AggNodeState *state);
extern bool zsnode_agg_know_wanted(AggNodeState *state);
extern bool zsnode_agg_counts_in_vain(const AggNodeState *state);
extern bool zsnode_agg_leave_rare(AggNodeState *state);

/* Do rows come that have been counted?  Then those that are not wanted are taken out of passed. */
extern bool zsnode_agg_comes_again(const AggNodeState *state);
extern void zsnode_agg_leave_rows(AggNodeState *state, uint64 *passed);

/* ---- groups that are complete (node_agg_early.c) ---- */

extern bool zsnode_agg_may_be_early(const AggNodeState *state);
extern bool zsnode_agg_is_complete(const AggNodeState *state, uint32 group);
extern bool zsnode_agg_find_complete(AggNodeState *state, bool full);
extern void zsnode_agg_forget_complete(AggNodeState *state);

/* ---- parameters (node_agg_fold.c) ---- */

extern void zsnode_agg_folds_init(AggNodeState *state, TupleDesc desc, Index varno);
extern void zsnode_agg_folds_start(AggNodeState *state);
extern void zsnode_agg_folds_complete(AggNodeState *state);

/* ---- DISTINCT (node_agg_distinct.c) ---- */

extern bool zsnode_agg_distinct_init(AggNodeState *state, NodeAgg *agg, TupleDesc desc,
									 Index varno, Node *arg);

/* The argument's program is that of the set, too, if it has one; called when it has changed. */
extern void zsnode_agg_distinct_use_argument(NodeAgg *agg);
extern void zsnode_agg_sets_start(AggNodeState *state);
extern void zsnode_agg_sets_freeze(AggNodeState *state);
extern void zsnode_agg_sets_finish(AggNodeState *state);
extern void zsnode_agg_sets_free(AggNodeState *state);

/* How many members the sets have together; bytes of buffers for what was written. */
extern uint64 zsnode_agg_sets_count(const AggNodeState *state);
extern Size zsnode_agg_sets_buffers(const AggNodeState *state);

extern void zsnode_agg_keep_first(NodeAgg *agg, ZsInput *input, const uint64 *passed,
								  const uint16 *list, uint32 n, const uint32 *numbers,
								  uint64 *sel);
extern void zsnode_agg_write_waiting(AggNodeState *state, const uint16 *list, uint32 n,
									 const uint32 *numbers);
extern bool zsnode_agg_is_first(AggNodeState *state, NodeAgg *agg, uint32 group, Datum value);
extern bool zsnode_agg_is_first_by_rows(AggNodeState *state, NodeAgg *agg, uint32 group,
										Datum value);

/* ---- callbacks of the node (node_agg_report.c) ---- */

extern void zsnode_agg_explain(CustomScanState *node, List *ancestors, ExplainState *es);

extern Size zsnode_agg_estimate_dsm(CustomScanState *node, ParallelContext *pcxt);
extern void zsnode_agg_initialize_dsm(CustomScanState *node, ParallelContext *pcxt,
									  void *coordinate);
extern void zsnode_agg_reinitialize_dsm(CustomScanState *node, ParallelContext *pcxt,
										void *coordinate);
extern void zsnode_agg_initialize_worker(CustomScanState *node, shm_toc *toc, void *coordinate);
extern void zsnode_agg_shutdown(CustomScanState *node);

#endif							/* NODE_AGG_H */
