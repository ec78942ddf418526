/*-------------------------------------------------------------------------
 *
 * node_agg_rows.c
 *	  Plans aggregates by batches over the rows of any plan of core's.
 *
 * Joins, subqueries, appended partitions and scans with filters that programs do not know return
 * rows.  The node collects them into batches (expr_input_rows.c), which pays where the aggregates
 * are dear, as those of numerics are, or where there are groups: core looks into its hash table row
 * by row.  Only queries that look at a table of ours are planned so.
 *
 * The node sees an input whose columns are the keys, which the plan below returns as columns of its
 * own, and what aggregates need.  Keys and aggregates are written anew over these columns; what
 * EXPLAIN shows, and what the nodes above look for, are the old ones in custom_scan_tlist.
 * Arguments and conditions of FILTER that programs do not know are columns themselves: they are
 * evaluated row by row, in the order in which core does it, and arguments only for rows that pass
 * their FILTER.  So their errors are core's; volatile ones are left to core all the same, since it
 * decides how often they are called.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_rows.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "utils/memutils.h"

#include "node_agg_plan.h"
#include "zs_agg.h"
#include "zs_agg_group.h"
#include "zs_base_plan.h"
#include "zs_cost.h"
#include "zs_cost_const.h"
#include "zs_expr_guc.h"
#include "zs_node.h"
#include "zs_node_scan.h"
#include "zs_probe.h"

/* Columns of an input of rows, and keys and aggregates over them. */
typedef struct RowSpec
{
	List	   *inputs;
	List	   *guards;
	List	   *keys;
	List	   *aggrefs;
} RowSpec;

/* Whose rows are taken. */
typedef struct RowInput
{
	Path	   *path;
	bool		by_batches;		/* its joins are done by the node (zsnode_spine_path()) */
	bool		row_by_row;		/* there is an input that has to be computed so */
} RowInput;

/* ---- columns ------------------------------------------------------------------------- */

/*
 * The column of the expression, a new one if there is none; guard: as in
 * zsexpr_input_rows_create().
 */
static Var *
input_column(RowSpec *spec, Expr *expr, int guard)
{
	int			i = 0;
	ListCell   *lc;
	ListCell   *lc2;

	Assert(guard >= -1 && guard < list_length(spec->inputs));
	Assert(list_length(spec->inputs) == list_length(spec->guards));
	/* looking at a column cannot fail */
	if (IsA(expr, Var))
		guard = -1;
	forboth(lc, spec->inputs, lc2, spec->guards)
	{
		if (lfirst_int(lc2) == guard && equal(lfirst(lc), expr))
			break;
		i++;
	}
	if (lc == NULL)
	{
		spec->inputs = lappend(spec->inputs, expr);
		spec->guards = lappend_int(spec->guards, guard);
	}
	return makeVar(ZS_ROWS_VARNO, (AttrNumber) (i + 1), exprType((Node *) expr),
				   exprTypmod((Node *) expr), exprCollation((Node *) expr), 0);
}

/* Replaces columns of the plan below by those of the input. */
static Node *
replace_columns(Node *node, void *spec)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) || IsA(node, PlaceHolderVar))
		return (Node *) input_column(spec, (Expr *) node, -1);
	return expression_tree_mutator(node, replace_columns, spec);
}

/* Is the aggregate known, over these inputs?  Leaves no memory behind. */
static bool
has_program(List *inputs, Aggref *aggref)
{
	MemoryContext program = AllocSetContextCreate(CurrentMemoryContext, "zedstore program",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(program);
	ZsAgg		agg;
	bool		result = zsagg_classify_unbound(ExecTypeFromExprList(inputs), ZS_ROWS_VARNO,
													aggref, &agg);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(program);
	return result;
}

/*
 * The aggregate over columns of the input.  If it is known with expressions as they are, these run
 * on whole batches; else they are columns, evaluated row by row.
 */
static Aggref *
aggregate_over_inputs(RowSpec *spec, Aggref *aggref)
{
	RowSpec		tried = *spec;
	Aggref	   *result;
	int			guard = -1;
	ListCell   *lc;

	tried.inputs = list_copy(spec->inputs);
	tried.guards = list_copy(spec->guards);
	result = (Aggref *) expression_tree_mutator((Node *) aggref, replace_columns, &tried);
	if (has_program(tried.inputs, result))
	{
		*spec = tried;
		return result;
	}

	result = makeNode(Aggref);
	memcpy(result, aggref, sizeof(Aggref));
	if (aggref->aggfilter != NULL)
	{
		Var		   *condition = input_column(spec, aggref->aggfilter, -1);

		result->aggfilter = (Expr *) condition;
		guard = condition->varattno - 1;
	}
	result->args = NIL;
	foreach(lc, aggref->args)
	{
		TargetEntry *tle = flatCopyTargetEntry(lfirst_node(TargetEntry, lc));

		tle->expr = (Expr *) input_column(spec, tle->expr, guard);
		result->args = lappend(result->args, tle);
	}
	return result;
}

static int
compare_transno(const ListCell *a, const ListCell *b)
{
	return lfirst_node(Aggref, a)->aggtransno - lfirst_node(Aggref, b)->aggtransno;
}

/* Columns get the order in which core evaluates what is in them. */
static void
make_spec(const ZsAggQuery *query, List *aggrefs, RowSpec *spec)
{
	List	   *ordered = list_copy(aggrefs);
	ListCell   *lc;

	memset(spec, 0, sizeof(*spec));
	foreach(lc, query->keys)
		spec->keys = lappend(spec->keys, input_column(spec, lfirst(lc), -1));
	list_sort(ordered, compare_transno);
	foreach(lc, ordered)
		(void) aggregate_over_inputs(spec, lfirst_node(Aggref, lc));
	foreach(lc, aggrefs)
		spec->aggrefs = lappend(spec->aggrefs,
								aggregate_over_inputs(spec, lfirst_node(Aggref, lc)));
}

/* ---- the plan below ---------------------------------------------------------------------- */

/* Does the expression need a column that is not among exprs? */
static bool
lacks_column(Node *node, void *exprs)
{
	if (node == NULL)
		return false;
	if (!IsA(node, Const) && !IsA(node, Param) && list_member(exprs, node))
		return false;
	if (IsA(node, Var))
		return true;
	return expression_tree_walker(node, lacks_column, exprs);
}

/* ---- costs and paths ------------------------------------------------------------------------ */

/*
 * A sum that takes core far longer than us, if no expression has to be evaluated row by row for it.
 */
static bool
is_dear(const ZsAgg *agg, const RowSpec *spec)
{
	Assert(agg->attno >= 0 && agg->attno <= list_length(spec->inputs));
	if (agg->expr == NULL &&
		(agg->attno == InvalidAttrNumber || !IsA(list_nth(spec->inputs, agg->attno - 1), Var)))
		return false;
	return zsagg_ops_of(agg)->is_exact_sum;
}

/*
 * Can the inputs be computed above joins by batches?  Not if one of them is a row, or must not be
 * computed for some rows.  *programs: there are programs for all of them.
 */
static bool
inputs_are_possible(const RowSpec *spec, bool *programs)
{
	RowSpec		below = {0};
	List	   *exprs = NIL;
	ListCell   *lc;

	foreach(lc, spec->guards)
	{
		if (lfirst_int(lc) >= 0)
			return false;
	}
	foreach(lc, spec->inputs)
		exprs = lappend(exprs, replace_columns(lfirst(lc), &below));
	foreach(lc, below.inputs)
	{
		if (IsA(lfirst(lc), Var) && lfirst_node(Var, lc)->varattno <= 0)
			return false;
	}
	Assert(list_length(exprs) == list_length(spec->inputs));
	*programs = zsprobe_can_project(ExecTypeFromExprList(below.inputs), exprs);
	return true;
}

/* Does the path come from a scan of a table that has more than one stripe? */
static bool
is_of_large_table(const Path *path)
{
	if (IsA(path, ProjectionPath))
		path = ((const ProjectionPath *) path)->subpath;
	while (IsA(path, HashPath))
		path = ((const HashPath *) path)->jpath.outerjoinpath;
	return path->parent->tuples > ZS_STRIPE_ROWS;
}

/*
 * Are keys and aggregates known?  *divisible: core can combine them, too; *worth: they are worth
 * collecting rows for, be they what they are.
 */
static bool
can_run(const ZsAggQuery *query, const RowSpec *spec, bool *divisible, bool *worth)
{
	TupleDesc	desc = ExecTypeFromExprList(spec->inputs);
	int			ndear = 0;
	ListCell   *lc;
	ListCell   *lc2;

	Assert(list_length(spec->keys) == list_length(query->eqops));
	*divisible = true;
	forboth(lc, spec->keys, lc2, query->eqops)
	{
		ZsGroupKey	key;

		if (!zsagg_group_classify(desc, ZS_ROWS_VARNO, lfirst(lc), lfirst_oid(lc2), &key))
			return false;
	}
	foreach(lc, spec->aggrefs)
	{
		ZsAgg		agg;

		if (!zsagg_classify_unbound(desc, ZS_ROWS_VARNO, lfirst_node(Aggref, lc), &agg))
			return false;
		ndear += is_dear(&agg, spec) ? 1 : 0;
		*divisible &= zsagg_has_partial(&agg);
	}
	*worth = query->keys != NIL || ndear > 1 || zs_debug_vector != ZS_DEBUG_VECTOR_OFF;
	return true;
}

/* What the aggregates of the input's rows cost, with the input. */
static Cost
rows_cost(const ZsAggQuery *query, const RowSpec *spec, const RowInput *input, double ngroups)
{
	const Path *child = input->path;
	QualCost	inputs;
	double		per_row;

	Assert(child->param_info == NULL);
	cost_qual_eval(&inputs, spec->inputs, query->root);
	per_row = ZS_COST_PER_AGG * list_length(spec->aggrefs) + zscost_values(spec->aggrefs);
	if (input->by_batches && !input->row_by_row)
		per_row += zscost_values(spec->inputs);
	else
		per_row += ZS_COST_PER_INPUT_ROW + inputs.per_tuple +
			ZS_COST_PER_INPUT_COLUMN * list_length(spec->inputs);
	if (query->keys != NIL)
		per_row += ZS_COST_PER_KEY * list_length(query->keys) +
			(ngroups > ZS_LARGE_TABLE ? ZS_COST_FAR_PROBE / 2 : ZS_COST_PROBE / 2);
	return child->total_cost + inputs.startup + child->rows * per_row +
		zsnode_agg_spill_cost(query, child->rows);
}

static CustomPath *
make_row_path(const ZsAggQuery *query, PathTarget *target, List *aggrefs, const RowInput *input,
			  double ngroups, ZsAggSplit split)
{
	RowSpec		spec;
	CustomPath *path;

	Assert(input->path->parallel_workers == 0 || split != ZS_SPLIT_NONE);
	make_spec(query, aggrefs, &spec);
	path = zsnode_agg_make_path(query, target, aggrefs, input->path, NIL,
								list_make3(spec.inputs, spec.guards,
										   list_concat_copy(spec.keys, spec.aggrefs)), split);
	zsnode_agg_set_cost(query, path, rows_cost(query, &spec, input, ngroups), ngroups);
	return path;
}

/*
 * Can the aggregates be made of rows with such columns, from the input *spec?  *divisible, *worth:
 * as in can_run().
 */
static bool
find_spec(const ZsAggQuery *query, const PathTarget *columns, RowSpec *spec, bool *divisible,
		  bool *worth)
{
	if (!zsbase_query_is_ours(query->root) ||
		contain_volatile_functions((Node *) query->aggrefs) ||
		contain_subplans((Node *) query->aggrefs))
		return false;
	make_spec(query, query->aggrefs, spec);
	return !lacks_column((Node *) spec->inputs, columns->exprs) &&
		can_run(query, spec, divisible, worth);
}

/*
 * Takes the path for *best if its joins are done by batches, for less; cheapest: a path that
 * settings do not speak against.  whole: by one process.
 */
static void
try_batches(PlannerInfo *root, const Path *cheapest, Path *path, bool whole, Path **best)
{
	path = zsnode_spine_path(root, path, whole);
	if (path != NULL && zs_path_disabled(path) <= zs_path_disabled(cheapest) &&
		(*best == NULL || path->total_cost < (*best)->total_cost))
		*best = path;
}

/*
 * The cheapest of the paths whose joins are done by batches; NULL if there is none, or one that
 * settings speak against.  One process can do what those in partial do, if they are given: core has
 * dropped the same joins of one process where rows that workers hand over are believed to cost
 * less.
 */
static RowInput
find_batches(const ZsAggQuery *query, const RowSpec *spec, const Path *cheapest, List *paths,
			 List *partial)
{
	RowInput	batches = {NULL, true, false};
	bool		programs = true;
	ListCell   *lc;

	Assert(cheapest->param_info == NULL && list_length(spec->keys) == list_length(query->keys));
	foreach(lc, paths)
		try_batches(query->root, cheapest, lfirst(lc), false, &batches.path);
	foreach(lc, partial)
		try_batches(query->root, cheapest, lfirst(lc), true, &batches.path);
	/* asked last: most queries have no such joins */
	if (batches.path != NULL && (!inputs_are_possible(spec, &programs) ||
								 !zsnode_agg_may_read_twice(query->root)))
		batches.path = NULL;
	batches.row_by_row = !programs;
	return batches;
}

/*
 * Whose rows are taken: those of the cheapest path, or batches of joins, if there are any (path
 * not NULL).  Where few rows are expected both cost much the same, and if more come batches take a
 * third of the time, or less; so these are taken for somewhat more.  ngroups: of the rows;
 * parallel_cost: of a plan by batches that there is already, which is as good a reason to leave
 * rows out.  The path is NULL if that is to be the only plan.
 */
static RowInput
choose_input(const ZsAggQuery *query, const RowSpec *spec, Path *cheapest,
			 const RowInput *batches, double ngroups, Cost parallel_cost)
{
	RowInput	rows = {cheapest, false, true};
	Cost		rows_only = rows_cost(query, spec, &rows, ngroups);
	Cost		most;

	if (batches->path == NULL)
		return parallel_cost <= ZS_BATCHES_REGRET_FACTOR * rows_only ? *batches : rows;
	most = zsnode_spine_regret_factor(cheapest, batches->path) * rows_only;
	return Min(rows_cost(query, spec, batches, ngroups), parallel_cost) <= most ? *batches : rows;
}

/* Is it worth while to aggregate these rows by batches? */
static bool
is_worth(const RowInput *input, bool worth)
{
	Assert(input->path != NULL);
	return worth || (input->by_batches && is_of_large_table(input->path));
}

/*
 * A path that returns partial aggregates of the child's rows, of ngroups groups, or of one of the
 * paths if that goes by batches, or of one of partial by one process; NULL if there are no programs
 * for it.  target, aggrefs: of partial aggregation.
 */
CustomPath *
zsnode_agg_partial_row_path(const ZsAggQuery *query, PathTarget *target, List *aggrefs,
							Path *child, List *paths, List *partial, double ngroups)
{
	RowSpec		spec;
	RowInput	batches;
	RowInput	input;
	bool		divisible;
	bool		worth;

	if (child->param_info != NULL ||
		!find_spec(query, child->pathtarget, &spec, &divisible, &worth) || !divisible)
		return NULL;
	batches = find_batches(query, &spec, child, paths, partial);
	input = choose_input(query, &spec, child, &batches, ngroups, ZS_COST_NEVER);
	if (!is_worth(&input, worth))
		return NULL;
	return make_row_path(query, target, aggrefs, &input, ngroups, ZS_SPLIT_FOR_CORE);
}

/*
 * Adds the plans in which processes aggregate parts of the rows; false if there are none.  worth:
 * as in can_run(); whole: the path by which one process joins by batches, NULL if there is none,
 * beside which others that join row by row have to gain much; *cost: what the cheapest costs of
 * those that go by batches, without the beginning of workers; ZS_COST_NEVER if there is none.
 */
static bool
add_parallel_paths(const ZsAggQuery *query, const RowSpec *spec, bool worth,
				   const CustomPath *whole, Cost *cost)
{
	RelOptInfo *rel = query->rel;
	Path	   *cheapest = linitial(rel->partial_pathlist);
	double		npartial = zsnode_agg_partial_groups(query,
													 zscost_parallel_divisor(cheapest->parallel_workers));
	ZsAggSplit	split = zsnode_agg_can_combine(query) ? ZS_SPLIT_FOR_OURS : ZS_SPLIT_FOR_CORE;
	List	   *aggrefs = NIL;
	PathTarget *target = zsnode_agg_partial_target(query, split, &aggrefs);
	RowInput	batches;
	RowInput	input;
	CustomPath *path;
	Cost		total;

	*cost = ZS_COST_NEVER;
	if (lacks_column((Node *) spec->inputs, cheapest->pathtarget->exprs))
		return false;
	batches = find_batches(query, spec, cheapest, rel->partial_pathlist, NIL);
	input = choose_input(query, spec, cheapest, &batches, npartial, ZS_COST_NEVER);
	if (!is_worth(&input, worth))
		return false;
	if (whole != NULL && !input.by_batches && zs_debug_vector == ZS_DEBUG_VECTOR_OFF &&
		whole->path.total_cost <= ZS_WORKERS_REGRET_FACTOR *
		(parallel_setup_cost + rows_cost(query, spec, &input, npartial)))
		return false;
	path = make_row_path(query, target, aggrefs, &input, npartial, split);
	path->path.parallel_workers = input.path->parallel_workers;
	if (split == ZS_SPLIT_FOR_CORE)
		total = zsnode_agg_add_gathered(query, &path->path, input.by_batches);
	else
		total = zsnode_agg_add_combining(query, &path->path, aggrefs, input.by_batches);
	if (input.by_batches)
		*cost = total;
	return true;
}

/*
 * Adds paths over rows of the input: of its cheapest path, or of one that goes by batches.  Core's
 * paths for which this can stand in go before others of ours are there, which are none of these.
 */
void
zsnode_agg_add_row_paths(const ZsAggQuery *query)
{
	RelOptInfo *rel = query->rel;
	Path	   *cheapest = rel->cheapest_total_path;
	RowSpec		spec;
	RowInput	batches;
	RowInput	input;
	CustomPath *whole = NULL;
	CustomPath *path;
	bool		divisible;
	bool		worth;
	Cost		parallel_cost = ZS_COST_NEVER;

	if (cheapest == NULL || cheapest->param_info != NULL ||
		!find_spec(query, cheapest->pathtarget, &spec, &divisible, &worth))
		return;
	batches = find_batches(query, &spec, cheapest, rel->pathlist, rel->partial_pathlist);
	input = choose_input(query, &spec, cheapest, &batches, query->ngroups, ZS_COST_NEVER);
	if (input.by_batches)
	{
		whole = make_row_path(query, query->target, query->aggrefs, &input, query->ngroups,
							  ZS_SPLIT_NONE);
		if (is_worth(&input, worth))
			zsnode_agg_drop_risky_paths(query, &whole->path, whole->path.total_cost, true);
	}
	if (divisible && zsnode_agg_can_divide(query) && rel->partial_pathlist != NIL &&
		add_parallel_paths(query, &spec, worth, whole, &parallel_cost) &&
		zs_debug_vector != ZS_DEBUG_VECTOR_OFF && parallel_setup_cost == 0)
		return;
	input = choose_input(query, &spec, cheapest, &batches, query->ngroups, parallel_cost);
	if (input.path == NULL || !is_worth(&input, worth))
		return;
	/* if one by batches was chosen before it is chosen again */
	path = whole != NULL ? whole :
		make_row_path(query, query->target, query->aggrefs, &input, query->ngroups, ZS_SPLIT_NONE);
	if (!input.by_batches && query->keys != NIL)
		zsnode_agg_drop_risky_paths(query, &path->path, path->path.total_cost, false);
	add_path(query->grouped_rel, &path->path);
}
