/*-------------------------------------------------------------------------
 *
 * node_agg_plan.h
 *	  Paths of aggregates by batches; private to src/node.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_plan.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef NODE_AGG_PLAN_H
#define NODE_AGG_PLAN_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "zs_agg.h"

/* What is to be aggregated. */
typedef struct ZsAggQuery
{
	PlannerInfo *root;
	RelOptInfo *rel;			/* the input */
	RelOptInfo *grouped_rel;
	RelOptInfo *parent;			/* grouped_rel, with the input's tables */
	GroupPathExtraData *extra;
	PathTarget *target;			/* what complete paths return */
	List	   *keys;
	int			nleading;		/* so many of them decide what group it is, and all others */
	List	   *eqops;			/* of the keys */
	List	   *aggrefs;		/* each once */
	double		ngroups;
} ZsAggQuery;

/*
 * Members of CustomPath.custom_private.  What the plan has in its custom_private has the same
 * numbers, without the expressions that are in custom_scan_tlist and qual.
 */
typedef enum ZsAggPrivate
{
	ZS_AGG_NAME,				/* zsbase_private_name() */
	ZS_AGG_RELID,				/* the table's range table index; 0: rows of a plan */
	ZS_AGG_FILTER,				/* of the table's rows */
	ZS_AGG_EQOPS,
	ZS_AGG_SPLIT,				/* ZsAggSplit */
	ZS_AGG_INPUTS,				/* rows: their columns, as expressions over the plan's output */
	ZS_AGG_GUARDS,				/* rows: as for zsexpr_input_rows_create() */
	ZS_AGG_OVER_INPUTS,			/* rows: keys and aggregates over these columns */
	ZS_AGG_REREADS,				/* of plans: may parts of it be read twice? (Boolean) */
	ZS_AGG_SHOWN,				/* keys, then aggregates; only of paths, like HAVING */
	ZS_AGG_HAVING
} ZsAggPrivate;

/* ---- node_agg_path.c ---- */

extern CustomPath *zsnode_agg_make_path(const ZsAggQuery *query, PathTarget *target,
										List *aggrefs, Path *child, List *filter, List *inputs,
										ZsAggSplit split);
extern bool zsnode_agg_may_read_twice(const PlannerInfo *root);

/* ---- node_agg_table.c ---- */

extern bool zsnode_agg_add_table_paths(const ZsAggQuery *query);
extern CustomPath *zsnode_agg_partial_table_path(const ZsAggQuery *query, PathTarget *target,
												 List *aggrefs, int workers);

/* ---- node_agg_cost.c ---- */

extern Cost zsnode_agg_table_cost(const ZsAggQuery *query, List *filter, double ngroups,
								  double divisor);
extern Cost zsnode_agg_least_cost(const ZsAggQuery *query);
extern bool zsnode_agg_is_in_key_order(const ZsAggQuery *query);
extern void zsnode_agg_set_cost(const ZsAggQuery *query, CustomPath *path, Cost run_cost,
								double ngroups);
extern Cost zsnode_agg_spill_cost(const ZsAggQuery *query, double nrows);
extern Cost zsnode_agg_combine_cost(const ZsAggQuery *query);
extern Cost zsnode_agg_serial_cost(const ZsAggQuery *query);

/* ---- node_agg_partial.c ---- */

extern bool zsnode_agg_can_divide(const ZsAggQuery *query);
extern PathTarget *zsnode_agg_partial_target(const ZsAggQuery *query, ZsAggSplit split,
											 List **aggrefs);
extern double zsnode_agg_partial_groups(const ZsAggQuery *query, double divisor);
extern Path *zsnode_agg_gather(const ZsAggQuery *query, Path *partial, bool by_batches);
extern Cost zsnode_agg_add_gathered(const ZsAggQuery *query, Path *partial, bool by_batches);
extern void zsnode_agg_add_combined(const ZsAggQuery *query, Path *partial);
extern bool zsnode_agg_can_combine(const ZsAggQuery *query);
extern Cost zsnode_agg_add_combining(const ZsAggQuery *query, Path *partial, List *aggrefs,
									 bool by_batches);

/* ---- node_agg_choice.c ---- */

extern void zsnode_agg_drop_risky_paths(const ZsAggQuery *query, const Path *ours,
										Cost cost, bool by_batches);

/* ---- node_agg_spine_path.c ---- */

extern double zsnode_spine_regret_factor(const Path *path, const Path *ours);
extern Path *zsnode_spine_path(PlannerInfo *root, Path *path, bool whole);

/* ---- node_agg_partition.c ---- */

extern bool zsnode_agg_add_partition_paths(const ZsAggQuery *query);

/* ---- node_agg_rows.c ---- */

extern void zsnode_agg_add_row_paths(const ZsAggQuery *query);
extern CustomPath *zsnode_agg_partial_row_path(const ZsAggQuery *query, PathTarget *target,
											   List *aggrefs, Path *child, List *paths,
											   List *partial, double ngroups);

/* ---- node_agg_below.c ---- */

extern void zsnode_agg_add_partial_paths(const ZsAggQuery *query, PathTarget *target, List *aggrefs,
										 bool all);

/* ---- node_agg_sets.c ---- */

extern void zsnode_agg_add_sets_paths(const ZsAggQuery *query);
extern const CustomScanMethods zsnode_sets_scan_methods;

/* ---- node_agg_path.c ---- */

extern const CustomScanMethods zsnode_agg_scan_methods;

/* ---- node_agg_exec.c ---- */

extern Node *zsnode_agg_create_state(CustomScan *cscan);
extern void zsnode_agg_set_sort(PlanState *ps, SortState *sort);

#endif							/* NODE_AGG_PLAN_H */
