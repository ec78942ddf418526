/*-------------------------------------------------------------------------
 *
 * node_agg_fold.c
 *	  Parameters and stable functions in group keys, arguments and FILTER clauses of aggregates.
 *
 * They are constants of the scan, as those of filters are (expr_fold.c): a key, an argument
 * or a FILTER clause gets its program when its parts have values.  Until then it has a program with
 * NULLs in their places, which tells of which type the values are going to be and never runs.
 *
 * What has a value gives it at the start.  What has none (a stable function, the value of an
 * InitPlan that has not run) may raise an error, which must come where core has it.  So a batch in
 * which a row comes to such an expression is taken row by row; when that has gone well the parts
 * are evaluated, and the next batch has programs.  An argument is not come to where FILTER lets no
 * row pass.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_fold.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "utils/memutils.h"

#include "node_agg.h"
#include "node_agg_fold.h"
#include "node_agg_plan.h"
#include "zs_expr_fold.h"
#include "zs_node_scan.h"

/* ---- the node's expressions --------------------------------------------------------- */

/* Looks for parts in a key, an argument or a FILTER clause. */
static void
init_fold(AggNodeState *state, ZsAggFold *fold, Node *expr)
{
	Assert(expr != NULL && fold->expr == NULL);
	fold->expr = expr;
	fold->parts = zsexpr_fold_find(expr);
	zsexpr_fold_init(fold->parts, NULL);
	state->folds.any = state->folds.any || fold->parts != NIL;
}

/* The argument of aggregate number i; NULL: it has none. */
static Node *
argument_of(const AggNodeState *state, int i)
{
	const Aggref *aggref = list_nth_node(Aggref, state->aggrefs, i);

	return aggref->args == NIL ? NULL :
		(Node *) linitial_node(TargetEntry, aggref->args)->expr;
}

/*
 * Looks for parts in the node's keys and aggregates, whose columns are those of desc.  Called when
 * these have been classified; zsnode_agg_folds_start() comes next.
 */
void
zsnode_agg_folds_init(AggNodeState *state, TupleDesc desc, Index varno)
{
	EState	   *estate = state->css.ss.ps.state;
	ListCell   *lc;

	state->folds.of_keys = palloc0(Max(state->nkeys, 1) * sizeof(ZsAggFold));
	foreach(lc, state->key_exprs)
	{
		int			k = foreach_current_index(lc);

		init_fold(state, &state->folds.of_keys[k], lfirst(lc));
		state->folds.of_keys[k].with_nulls = state->keys[k].expr;
	}
	foreach(lc, state->aggrefs)
	{
		NodeAgg    *agg = &state->aggs[foreach_current_index(lc)];
		const Aggref *aggref = lfirst_node(Aggref, lc);
		Node	   *arg = argument_of(state, foreach_current_index(lc));

		if (aggref->aggfilter != NULL)
			init_fold(state, &agg->filter_fold, (Node *) aggref->aggfilter);
		agg->filter_fold.with_nulls = agg->agg.filter;
		if (arg != NULL)
			init_fold(state, &agg->arg_fold, arg);
		agg->arg_fold.with_nulls = agg->agg.expr;
	}
	if (!state->folds.any)
		return;
	state->folds.desc = desc;
	state->folds.varno = varno;
	state->folds.econtext = CreateExprContext(estate);
	state->folds.context = AllocSetContextCreate(CurrentMemoryContext,
												"zedstore aggregate parameters",
												ALLOCSET_SMALL_SIZES);
}

/* The expression with the values of its parts, in the current context; NULL: not all have one. */
static Node *
fold_with_values(AggNodeState *state, ZsAggFold *fold)
{
	Assert(fold->waits && fold->parts != NIL);
	return zsexpr_fold_complete(fold->parts, fold->reached, &state->css.ss.ps,
								state->folds.econtext, state->folds.context) ?
		zsexpr_fold_replace(fold->expr, fold->parts) : NULL;
}

/* Gives the key its program if it can have one; else it goes row by row to the end. */
static void
complete_key(AggNodeState *state, int k)
{
	ZsAggFold  *fold = &state->folds.of_keys[k];
	ZsGroupKey *key = &state->keys[k];
	Node	   *expr = fold_with_values(state, fold);
	const CustomScan *cscan = (const CustomScan *) state->css.ss.ps.plan;
	Oid			eqop = list_nth_oid(list_nth(cscan->custom_private, ZS_AGG_EQOPS), k);
	ZsGroupKey	now;

	if (expr == NULL)
		return;
	fold->known = true;
	if (!zsagg_group_classify(state->folds.desc, state->folds.varno, expr, eqop, &now) ||
		now.expr == NULL || now.domain != key->domain || now.width != key->width ||
		now.has_form != key->has_form)
		return;
	key->expr = now.expr;
	fold->waits = false;
}

/* The same for FILTER. */
static void
complete_filter(AggNodeState *state, NodeAgg *agg)
{
	ZsAggFold  *fold = &agg->filter_fold;
	Node	   *expr = fold_with_values(state, fold);
	ZsQual	   *qual;

	if (expr == NULL)
		return;
	fold->known = true;
	qual = zsexpr_qual_compile(state->folds.desc, state->folds.varno, expr);
	if (qual == NULL)
		return;
	agg->agg.filter = qual;
	fold->waits = false;
}

/* The same for the argument. */
static void
complete_argument(AggNodeState *state, NodeAgg *agg)
{
	ZsAggFold  *fold = &agg->arg_fold;
	Node	   *expr = fold_with_values(state, fold);
	ZsExpr	   *program;

	if (expr == NULL)
		return;
	fold->known = true;
	program = zsexpr_compile(state->folds.desc, state->folds.varno, expr);
	if (program == NULL || zsexpr_domain(program) != agg->agg.domain ||
		zsexpr_width(program) != agg->agg.width)
		return;
	agg->agg.expr = program;
	zsnode_agg_distinct_use_argument(agg);
	fold->waits = false;
}

/*
 * Gives programs to those keys, arguments and FILTER clauses whose parts have values by now.
 * Errors: those of parts that the rows before have not had.
 */
void
zsnode_agg_folds_complete(AggNodeState *state)
{
	MemoryContext old;

	if (!state->folds.wait)
		return;
	old = MemoryContextSwitchTo(state->folds.context);
	state->folds.keys_wait = state->folds.wait = false;
	for (int k = 0; k < state->nkeys; k++)
	{
		ZsAggFold  *fold = &state->folds.of_keys[k];

		if (fold->waits && !fold->known)
			complete_key(state, k);
		state->folds.keys_wait |= fold->waits;
		state->folds.wait |= fold->waits && !fold->known;
	}
	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];

		if (agg->filter_fold.waits && !agg->filter_fold.known)
			complete_filter(state, agg);
		if (agg->arg_fold.waits && !agg->arg_fold.known)
			complete_argument(state, agg);
		state->folds.wait |= agg->filter_fold.waits && !agg->filter_fold.known;
		state->folds.wait |= agg->arg_fold.waits && !agg->arg_fold.known;
	}
	MemoryContextSwitchTo(old);
}

/* Parts have no values yet, or others. */
static void
start_fold(ZsAggFold *fold)
{
	fold->waits = fold->parts != NIL;
	fold->known = fold->reached = false;
	zsexpr_fold_forget(fold->parts);
}

/* For the first row, for the first time or anew: parameters may have changed. */
void
zsnode_agg_folds_start(AggNodeState *state)
{
	if (!state->folds.any)
		return;
	for (int k = 0; k < state->nkeys; k++)
	{
		start_fold(&state->folds.of_keys[k]);
		state->keys[k].expr = state->folds.of_keys[k].with_nulls;
	}
	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];

		start_fold(&agg->filter_fold);
		start_fold(&agg->arg_fold);
		agg->agg.filter = agg->filter_fold.with_nulls;
		agg->agg.expr = agg->arg_fold.with_nulls;
		zsnode_agg_distinct_use_argument(agg);
	}
	MemoryContextReset(state->folds.context);
	state->folds.wait = true;
	zsnode_agg_folds_complete(state);
}
