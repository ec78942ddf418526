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

#include "node_agg_join.h"
#include "node_top.h"
#include "zs_agg.h"
#include "zs_agg_group.h"
#include "zs_agg_spill.h"
#include "zs_expr_filter.h"
#include "zs_expr_input.h"
#include "zs_expr_program.h"

/* What a DISTINCT aggregate has seen (node_agg_distinct.c). */
typedef struct AggSet
{
	ZsGroupKey	keys[2];		/* the group's number, and the argument */
	TupleDesc	pairdesc;		/* of pairs of these; without grouping, of the argument */
	ZsGroups   *seen;			/* pairs of these */
	MemoryContext context;		/* of seen */
	ZsGroups   *seen_by_rows;	/* the same for the verifier */
	MemoryContext verify_context;	/* of these */
	ZsSpill    *spill;			/* pairs that seen has no room for; NULL: there are none */
	bool		waits;			/* rows of the batch have such pairs: waiting */
	uint64		waiting[ZS_KERNEL_WORDS];
} AggSet;

/* One aggregate of the node. */
typedef struct NodeAgg
{
	ZsAgg		agg;
	ExprState  *filter;			/* FILTER, for single rows; or NULL */
	ExprState  *arg;			/* or NULL */
	Size		offset;			/* of its value in those of a group */
	int			filter_column;	/* of a row's values: does it pass FILTER? -1: there is none */
	int			arg_column;		/* -1: there is none */
	ZsProgram	filter_program; /* agg.filter, and agg.expr; all zeros: there is none */
	ZsProgram	arg_program;
	bool		ignores;		/* may have what zone maps say it needs not see */
	AggSet		set;
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

/* What the groups of a batch have in common for all aggregates (node_agg_groups.c). */
typedef struct ZsBatchGroups ZsBatchGroups;

/* How far the node is with its input.  What may follow on what: zsnode_agg_turn_to(). */
typedef enum AggPhase
{
	ZS_AGG_UNSTARTED,			/* nothing was asked for since the last rescan */
	ZS_AGG_READING,				/* the input has more rows, as far as is known */
	ZS_AGG_READING_AGAIN,		/* the same, for the second time: rows that were only counted */
	ZS_AGG_READ,				/* it has none; rows that were written out may be left */
	ZS_AGG_DONE					/* there are no more groups but those in memory */
} AggPhase;

/* Groups and their values in memory (node_agg_groups.c). */
typedef struct AggStore
{
	MemoryContext context;		/* of all of it */
	ZsGroups   *groups;
	MemoryContext groups_context;	/* of groups */
	char	   *values_memory;	/* of values, which begin with a cache line */
	char	   *values;			/* value_size bytes for each group: a value of each aggregate */
	Size		value_size;
	uint32		maxgroups;		/* groups that values has room for */
	Size		base_memory;	/* what is there before the first group */
	Size		full_memory;	/* what there was when that was too much; 0: it was not */
} AggStore;

/* Of the batch that is being added (node_agg_batch.c); arrays have a member for each aggregate. */
typedef struct AggBatch
{
	const ZsColumnVector **vectors; /* arguments */
	uint64	   *sels;			/* ZS_KERNEL_WORDS each: rows that it takes */
	ZsVectorTotals *totals;		/* instead of a vector and rows, where has_totals */
	bool	   *has_totals;
	ZsBatchGroups *groups;
} AggBatch;

/* Of the row that is being added (node_agg_single.c). */
typedef struct AggRow
{
	ExprContext *econtext;		/* its memory */
	Datum	   *values;			/* what is kept of it: keys, and what aggregates take of it */
	bool	   *isnull;
	TupleDesc	desc;			/* of these */
} AggRow;

/* Rows that wait on disk (node_agg_single.c, node_agg_pack.c). */
typedef struct AggWritten
{
	ZsSpill    *spill;			/* NULL: no row was written out */
	struct ZsAggPack *pack;		/* NULL: no row was packed */
} AggWritten;

/* Minimum and maximum guided by zone maps (node_agg_zone.c). */
typedef struct AggZones
{
	bool		all_ignore;		/* batches may be left out without a look at their rows */
	Oid			operator;		/* what the scan needs not see is said by the first aggregate;
								 * InvalidOid: it is not */
	int64		low;			/* of what it was told last, if told */
	int64		high;
	bool		told;
} AggZones;

/* The filling that goes on, or was the last (node_agg_fill.c). */
typedef struct AggFill
{
	AggPhase	phase;
	const struct AggAsked *stopped; /* by whom, before the input's end; NULL: it was not */
	uint32		nreturned;		/* groups that are to be returned, if stopped */
	uint64		nrows;			/* taken since it began */
	uint64		frozen_rows;	/* of these, those before groups were frozen */
	uint64		absent_rows;	/* of these, those after that, whose groups are not in memory */
} AggFill;

/* Groups that are being returned (node_agg_return.c). */
typedef struct AggResult
{
	uint32		left;			/* groups in memory, to be returned */
	uint32		next;			/* the next of them */
	ZsTop	   *top;			/* the groups that the Sort node above wants; NULL: all */
	bool		choosing;		/* not all of them are returned */
	uint32	   *kept;			/* numbers of those that are; NULL: all are */
	MemoryContext context;		/* of the row returned last */
	uint32		group;			/* of which there is something in context */
} AggResult;

/* Other processes of the plan (node_agg_report.c). */
typedef struct AggWorkers
{
	SharedAgg  *shared;			/* NULL: no other process takes part */
	AggCounts	counts;			/* of all workers */
} AggWorkers;

typedef struct AggNodeState
{
	CustomScanState css;		/* first */

	/* what the plan says (node_agg_exec.c) */
	Relation	rel;			/* whose rows are aggregated; NULL: those of a plan */
	List	   *filter_clauses;
	List	   *aggrefs;
	List	   *key_exprs;
	List	   *shown_keys;		/* by EXPLAIN */
	int			nkeys;			/* 0: one group of all rows */
	ZsGroupKey *keys;
	ExprState **key_states;		/* of keys that are no columns */
	int			naggs;
	NodeAgg    *aggs;
	bool		has_sets;		/* there are aggregates with DISTINCT */
	bool		counts_only;	/* no column has to be looked at */
	ZsAggSplit	split;
	bool		partial;		/* returns transition values, or states for a node of ours */
	bool		by_rows;		/* zedstore.debug_vector = rows */

	ZsInput    *input;
	ZsAggJoins *joins;			/* below it, done by batches; NULL: none */
	ZsFilter   *filter;
	ZsPrograms *programs;		/* of keys and aggregates; those of the filter are its own */
	ZsProgram  *key_programs;
	AggStore	store;
	AggBatch	batch;
	AggRow		row;
	AggWritten	written;
	AggZones	zones;
	AggFill		fill;
	int			nanswers;		/* to full memory (node_agg_full.c) */
	struct AggAsked *answers;
	AggResult	result;
	AggWorkers	workers;
	AggCounts	counts;
	ZsAggVerifier *verifier;	/* NULL: nothing is verified */
} AggNodeState;

/* What the aggregate has seen of the group; as long as there are no more groups. */
static inline ZsAggValue *
zsnode_agg_value_of(const AggNodeState *state, uint32 group, const NodeAgg *agg)
{
	const AggStore *store = &state->store;

	Assert(state->nkeys == 0 ? group == 0 : group < store->maxgroups);
	return (ZsAggValue *) (store->values + group * store->value_size + agg->offset);
}

/* ---- a batch as a whole (node_agg_total.c) ---- */

extern bool zsnode_agg_get_totals(const ZsAgg *agg, const ZsAggValue *value, ZsInput *input,
								  const uint64 *sel, ZsVectorTotals *totals);

/* ---- minimum and maximum without a look (node_agg_zone.c) ---- */

extern bool zsnode_agg_ignores(const ZsAgg *agg, ZsAggValue *value, const ZsColumnBounds *bounds);
extern void zsnode_agg_set_scan_filter(AggNodeState *state);
extern void zsnode_agg_prepare_zones(AggNodeState *state, TupleDesc desc, ParamListInfo params);
extern bool zsnode_agg_zones_ignore(AggNodeState *state);
extern void zsnode_agg_zones_tell(AggNodeState *state);
extern void zsnode_agg_zones_forget(AggNodeState *state);

/* ---- the node's groups and values (node_agg_groups.c) ---- */

extern ZsBatchGroups *zsnode_batch_groups_create(int naggs);
extern void zsnode_agg_add_batch_groups(const ZsAgg *agg, char *values, Size stride,
										const ZsColumnVector *vector, const uint64 *sel,
										ZsBatchGroups *batch);
extern ZsGroups *zsnode_agg_create_groups(AggNodeState *state);
extern void zsnode_agg_grow_values(AggNodeState *state);
extern void zsnode_agg_start_groups(AggNodeState *state, const uint16 *list, uint32 n,
									const uint32 *numbers);

/* ---- rows one by one (node_agg_single.c) ---- */

extern void zsnode_agg_read_row(AggNodeState *state);
extern void zsnode_agg_open_spill(AggNodeState *state);
extern void zsnode_agg_spill_row(AggNodeState *state);
extern void zsnode_agg_take_row(AggNodeState *state, bool verify_only, uint32 group);
extern void zsnode_agg_take_rows(AggNodeState *state, const ZsBatch *batch);
extern void zsnode_agg_verify_rows(AggNodeState *state, const uint64 *passed,
								   const uint32 *numbers);

/* ---- batches (node_agg_batch.c) ---- */

extern void zsnode_agg_take_batch(AggNodeState *state, const ZsBatch *batch);

/* ---- rows written out by columns (node_agg_pack.c) ---- */

typedef struct ZsAggPack ZsAggPack;

extern void zsnode_agg_write_absent(AggNodeState *state, uint16 *list, uint32 n,
									const uint32 *numbers);
extern void zsnode_agg_add_packed(AggNodeState *state);
extern bool zsnode_agg_collect_packed(AggNodeState *state, uint64 hash, uint32 len);
extern void zsnode_agg_forget_packed(AggNodeState *state);

/* ---- all groups (node_agg_fill.c) ---- */

extern void zsnode_agg_turn_to(AggNodeState *state, AggPhase phase);
extern ZsInput *zsnode_agg_create_rows(AggNodeState *state);
extern void zsnode_agg_free_spill(AggNodeState *state);
extern bool zsnode_agg_fill_groups(AggNodeState *state);

/* ---- groups as rows (node_agg_return.c) ---- */

extern TupleTableSlot *zsnode_agg_store_group(AggNodeState *state, uint32 group);
extern void zsnode_agg_choose_groups(AggNodeState *state);

/* ---- DISTINCT (node_agg_distinct.c) ---- */

extern bool zsnode_agg_distinct_init(AggNodeState *state, NodeAgg *agg, TupleDesc desc,
									 Index varno, Node *arg);
extern void zsnode_agg_sets_use_arguments(AggNodeState *state);
extern void zsnode_agg_sets_start(AggNodeState *state);
extern void zsnode_agg_sets_freeze(AggNodeState *state);
extern void zsnode_agg_sets_finish(AggNodeState *state);
extern void zsnode_agg_sets_free(AggNodeState *state);
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
