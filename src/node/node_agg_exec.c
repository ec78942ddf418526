/*-------------------------------------------------------------------------
 *
 * node_agg_exec.c
 *	  Executes aggregates by batches, over one table or over the rows of a plan.
 *
 * For each batch the filter's program runs, then each aggregate takes its column's values at the
 * rows that passed.  Programs and kernels never raise an error.  Where one of them meets something
 * that it must not decide (numerics that are no 64-bit integers, sums of floats that become
 * infinite), the aggregates go back to what they were before the batch, and its rows are taken one
 * by one through core's expressions, so that errors and odd values are core's.
 *
 * When groups and sets take more memory than they may, they are frozen: rows of other groups are
 * written out (spill.c), with their keys and the aggregates' arguments, and come back when
 * the first groups have been returned.
 *
 * Groups that no row to come can belong to are returned before the end (node_agg_early.c).
 *
 * A DISTINCT aggregate has a set of what it has seen (node_agg_distinct.c).
 *
 * count(*) without a filter adds up the lengths of visible runs and looks at no column.
 *
 * Below core's Gather each process aggregates a share of the table and returns core's transition
 * values (agg_partial.c).  When its groups take too much memory it returns those that it has
 * and forgets them: core's Finalize node puts together what belongs together.  Where there are
 * groups, another node of ours can do that, which takes states as they are (agg_combine.c).
 *
 * Below ORDER BY ... LIMIT only those groups are handed out that may be among the first
 * (node_top.c).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_exec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "node_agg.h"
#include "node_agg_full.h"
#include "node_agg_plan.h"
#include "node_top.h"
#include "zs_compat.h"
#include "zs_expr_guc.h"
#include "zs_node.h"

uint64		zsnode_aggs_made = 0;

/* ExecScanAccessMtd: the next group in the node's slot; empty at the end. */
static TupleTableSlot *
next_group(ScanState *ss)
{
	AggNodeState *state = (AggNodeState *) ss;
	uint32		number;

	CHECK_FOR_INTERRUPTS();
	while (state->result.left == 0)
	{
		if (!zsnode_agg_fill_groups(state))
			return ExecClearTuple(ss->ss_ScanTupleSlot);
	}
	state->result.left--;
	number = state->result.next++;
	Assert(state->nkeys == 0 ? number == 0 : number < zsagg_groups_count(state->store.groups));
	state->result.group = ZS_NO_GROUP;
	return zsnode_agg_store_group(state, state->result.kept != NULL ?
								  state->result.kept[number] : number);
}

/* ExecScanRecheckMtd: there is nothing to be checked. */
static bool
recheck_group(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

/* ---- callbacks ---------------------------------------------------------------------------- */

/* Keys and aggregates, over the table's columns or over those that are made of a plan's rows. */
static void
read_plan(AggNodeState *state, CustomScan *cscan, Index varno)
{
	List	   *exprs = NIL;
	ListCell   *lc;

	foreach(lc, cscan->custom_scan_tlist)
	{
		Expr	   *expr = lfirst_node(TargetEntry, lc)->expr;

		if (!IsA(expr, Aggref))
			state->shown_keys = lappend(state->shown_keys, expr);
		exprs = lappend(exprs, expr);
	}
	if (cscan->scan.scanrelid == 0)
		exprs = list_nth(cscan->custom_private, ZS_AGG_OVER_INPUTS);
	else
	{
		int			planned_relid = intVal(list_nth(cscan->custom_private, ZS_AGG_RELID));

		/* expressions in custom_private have the numbers of the time of planning */
		state->filter_clauses = copyObject(list_nth(cscan->custom_private, ZS_AGG_FILTER));
		if (planned_relid != (int) varno)
			ChangeVarNodes((Node *) state->filter_clauses, planned_relid, varno, 0);
	}
	foreach(lc, exprs)
	{
		if (IsA(lfirst(lc), Aggref))
			state->aggrefs = lappend(state->aggrefs, lfirst(lc));
		else
			state->key_exprs = lappend(state->key_exprs, lfirst(lc));
	}
	Assert(list_length(state->key_exprs) + list_length(state->aggrefs) ==
		   list_length(cscan->custom_scan_tlist));
	state->split = (ZsAggSplit) intVal(list_nth(cscan->custom_private, ZS_AGG_SPLIT));
	state->partial = state->split == ZS_SPLIT_FOR_CORE || state->split == ZS_SPLIT_FOR_OURS;
}

/* Gives columns to what is kept of a row. */
static void
make_rowdesc(AggNodeState *state)
{
	int			most = state->nkeys + 2 * state->naggs;
	Oid		   *types = palloc(Max(most, 1) * sizeof(Oid));
	int			n = 0;
	ListCell   *lc;

	foreach(lc, state->key_exprs)
		types[n++] = exprType(lfirst(lc));
	foreach(lc, state->aggrefs)
	{
		const Aggref *aggref = lfirst_node(Aggref, lc);
		NodeAgg    *agg = &state->aggs[foreach_current_index(lc)];

		agg->filter_column = agg->arg_column = -1;
		if (agg->filter != NULL)
		{
			agg->filter_column = n;
			types[n++] = BOOLOID;
		}
		if (agg->arg != NULL)
		{
			agg->arg_column = n;
			types[n++] = exprType((Node *) linitial_node(TargetEntry, aggref->args)->expr);
		}
	}
	Assert(n <= most);
	state->row.values = palloc0(Max(n, 1) * sizeof(Datum));
	state->row.isnull = palloc0(Max(n, 1) * sizeof(bool));
	state->row.desc = CreateTemplateTupleDesc(n);
	for (int i = 0; i < n; i++)
		TupleDescInitEntry(state->row.desc, (AttrNumber) (i + 1), NULL, types[i], -1, 0);
	zs_tupledesc_finalize(state->row.desc);
	pfree(types);
}

/* Computes once what is part of several programs for all rows that pass the filter. */
static void
share_programs(AggNodeState *state)
{
	ZsSharedNodes *nodes = palloc0(sizeof(ZsSharedNodes));

	for (int k = 0; k < state->nkeys; k++)
	{
		if (state->keys[k].expr != NULL)
			state->keys[k].expr = zsexpr_share(state->keys[k].expr, nodes);
	}
	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];

		if (agg->agg.filter != NULL || agg->agg.expr == NULL)
			continue;
		agg->agg.expr = zsexpr_share(agg->agg.expr, nodes);
	}
	zsnode_agg_sets_use_arguments(state);
	for (int i = 0; i < ZS_SHARED_BUCKETS; i++)
		list_free(nodes->buckets[i]);
	pfree(nodes);
}

/*
 * The programs of keys and aggregates, whose columns are those of desc.  Columns come from a slot
 * that is not the node's: so their parts have no parent.
 */
static void
add_programs(AggNodeState *state, TupleDesc desc, Index varno)
{
	ListCell   *lc;

	state->programs = zsexpr_programs_create(desc, varno, &state->css.ss.ps, NULL);
	state->key_programs = palloc0(Max(state->nkeys, 1) * sizeof(ZsProgram));
	foreach(lc, state->key_exprs)
	{
		int			k = foreach_current_index(lc);

		zsexpr_programs_add_value(state->programs, &state->key_programs[k], lfirst(lc),
								  &state->keys[k].expr);
	}
	foreach(lc, state->aggrefs)
	{
		const Aggref *aggref = lfirst_node(Aggref, lc);
		NodeAgg    *agg = &state->aggs[foreach_current_index(lc)];

		if (aggref->aggfilter != NULL)
			zsexpr_programs_add_condition(state->programs, &agg->filter_program,
										  (Node *) aggref->aggfilter, &agg->agg.filter);
		if (aggref->args != NIL)
			zsexpr_programs_add_value(state->programs, &agg->arg_program,
									  (Node *) linitial_node(TargetEntry, aggref->args)->expr,
									  &agg->agg.expr);
	}
}

/* Describes the keys, whose columns are those of desc. */
static void
classify_keys(AggNodeState *state, const CustomScan *cscan, TupleDesc desc, Index varno)
{
	ListCell   *lc;
	ListCell   *lc2;

	state->keys = palloc0(Max(state->nkeys, 1) * sizeof(ZsGroupKey));
	state->key_states = palloc0(Max(state->nkeys, 1) * sizeof(ExprState *));
	forboth(lc, state->key_exprs, lc2, list_nth(cscan->custom_private, ZS_AGG_EQOPS))
	{
		if (!zsagg_group_classify_unbound(desc, varno, lfirst(lc), lfirst_oid(lc2),
										  &state->keys[foreach_current_index(lc)]))
			elog(ERROR, "rows cannot be grouped by key %d", foreach_current_index(lc) + 1);
		zsagg_core_check_equality(get_opcode(lfirst_oid(lc2)));
		if (state->keys[foreach_current_index(lc)].expr != NULL)
			state->key_states[foreach_current_index(lc)] = ExecInitExpr(lfirst(lc), NULL);
	}
}

/* Describes the aggregates; keys have been described. */
static void
classify_aggregates(AggNodeState *state, TupleDesc desc, Index varno)
{
	ListCell   *lc;

	foreach(lc, state->aggrefs)
	{
		Aggref	   *aggref = lfirst_node(Aggref, lc);
		NodeAgg    *agg = &state->aggs[foreach_current_index(lc)];

		zsagg_core_check_aggregate(aggref);
		if (!zsagg_classify_unbound(desc, varno, aggref, &agg->agg))
			elog(ERROR, "aggregate %u has no program", aggref->aggfnoid);
		if (aggref->aggfilter != NULL)
			agg->filter = ExecInitQual(list_make1(aggref->aggfilter), NULL);
		if (aggref->args != NIL)
			agg->arg = ExecInitExpr(linitial_node(TargetEntry, aggref->args)->expr, NULL);
		if (agg->agg.kind != ZS_AGG_COUNT_ROWS || agg->agg.filter != NULL)
			state->counts_only = false;
		if (agg->agg.distinct &&
			!zsnode_agg_distinct_init(state, agg, desc, varno,
									  (Node *) linitial_node(TargetEntry, aggref->args)->expr))
			elog(ERROR, "aggregate %u has no set", aggref->aggfnoid);
	}
}

/* Are there columns of the plan's rows that are not evaluated for each of them? */
static bool
has_guards(const CustomScan *cscan)
{
	ListCell   *lc;

	foreach(lc, (List *) list_nth(cscan->custom_private, ZS_AGG_GUARDS))
	{
		if (lfirst_int(lc) >= 0)
			return true;
	}
	return false;
}

/* BeginCustomScan: makes programs, and what is needed to run them unless for EXPLAIN alone. */
static void
agg_begin(CustomScanState *node, EState *estate, int eflags)
{
	AggNodeState *state = (AggNodeState *) node;
	CustomScan *cscan = (CustomScan *) node->ss.ps.plan;
	bool		by_scan = cscan->scan.scanrelid > 0;
	Index		varno = by_scan ? cscan->scan.scanrelid : ZS_ROWS_VARNO;
	Relation	rel = node->ss.ss_currentRelation;
	TupleDesc	desc = by_scan ? RelationGetDescr(rel) :
		ExecTypeFromExprList(list_nth(cscan->custom_private, ZS_AGG_INPUTS));
	ListCell   *lc;

	state->rel = rel;
	/* a group is no row of the table: WHERE CURRENT OF must not take the node for its scan */
	node->ss.ss_currentRelation = NULL;
	if (!by_scan)
		node->custom_ps = list_make1(ExecInitNode(linitial(cscan->custom_plans), estate,
												  eflags & ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD |
															 EXEC_FLAG_MARK)));
	read_plan(state, cscan, varno);
	state->nkeys = list_length(state->key_exprs);
	Assert(state->nkeys <= ZS_MAX_GROUP_KEYS);
	Assert(state->nkeys == list_length(list_nth(cscan->custom_private, ZS_AGG_EQOPS)));
	classify_keys(state, cscan, desc, varno);
	state->naggs = list_length(state->aggrefs);
	state->aggs = palloc0(state->naggs * sizeof(NodeAgg));
	/* without a parent: columns come from a slot that is not the node's */
	state->filter = zsexpr_filter_create(desc, varno, state->filter_clauses,
										 list_length(state->filter_clauses), &node->ss.ps, NULL);
	state->counts_only = by_scan && state->filter_clauses == NIL && state->nkeys == 0;
	classify_aggregates(state, desc, varno);
	if (!by_scan && boolVal(list_nth(cscan->custom_private, ZS_AGG_REREADS)) &&
		!has_guards(cscan))
		state->joins = zsnode_agg_joins_create(&node->ss.ps, linitial(node->custom_ps),
											   list_nth(cscan->custom_private, ZS_AGG_INPUTS),
											   (eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0);
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;

	share_programs(state);
	add_programs(state, desc, varno);
	state->batch.vectors = palloc0(Max(state->naggs, 1) * sizeof(ZsColumnVector *));
	state->batch.groups = zsnode_batch_groups_create(state->naggs);
	state->batch.totals = palloc0(Max(state->naggs, 1) * sizeof(ZsVectorTotals));
	state->batch.has_totals = palloc0(Max(state->naggs, 1) * sizeof(bool));
	state->batch.sels = palloc0(Max(state->naggs, 1) * ZS_KERNEL_WORDS * sizeof(uint64));
	state->result.context = AllocSetContextCreate(CurrentMemoryContext,
												  "zedstore aggregate results",
												  ALLOCSET_DEFAULT_SIZES);
	state->store.context = AllocSetContextCreate(CurrentMemoryContext, "zedstore aggregates",
										   ALLOCSET_DEFAULT_SIZES);
	foreach(lc, state->aggrefs)
	{
		NodeAgg    *agg = &state->aggs[foreach_current_index(lc)];

		zsagg_begin(&agg->agg, lfirst_node(Aggref, lc), state->store.context);
		agg->offset = state->store.value_size;
		state->store.value_size += zsagg_value_size(&agg->agg);
	}
	Assert(state->store.value_size % sizeof(uint64) == 0);
	state->store.value_size = Max(state->store.value_size, sizeof(int64));
	make_rowdesc(state);
	state->row.econtext = CreateExprContext(estate);
	state->by_rows = zs_debug_vector == ZS_DEBUG_VECTOR_ROWS;
	/* core's functions know nothing of states of ours */
	if (zs_debug_vector == ZS_DEBUG_VECTOR_VERIFY && state->split != ZS_SPLIT_COMBINING)
		state->verifier = zsagg_verify_begin(state->aggrefs, state->split == ZS_SPLIT_FOR_CORE);
	if (by_scan)
		zsnode_agg_prepare_zones(state, desc, estate->es_param_list_info);
	if (by_scan)
		state->input = zsexpr_input_batch_create(rel, varno,
												 list_concat_copy(state->key_exprs,
																  state->aggrefs),
												 state->filter_clauses, estate);
	else
		state->input = state->joins != NULL ? zsnode_agg_joins_input(state->joins) :
			zsnode_agg_create_rows(state);
	zsnode_agg_answers_begin(state);
}

/*
 * As ExecScan(), without its look at rows that are checked again after an update by somebody else:
 * groups of a plan's rows belong to no table, and some minor versions of the server take them for
 * rows of a join then, and return none.
 */
static TupleTableSlot *
next_group_that_passes(ScanState *ss)
{
	ExprContext *econtext = ss->ps.ps_ExprContext;

	for (;;)
	{
		TupleTableSlot *slot = next_group(ss);

		if (TupIsNull(slot))
			return ss->ps.ps_ProjInfo != NULL ?
				ExecClearTuple(ss->ps.ps_ProjInfo->pi_state.resultslot) : slot;
		ResetExprContext(econtext);
		econtext->ecxt_scantuple = slot;
		if (ss->ps.qual == NULL || ExecQual(ss->ps.qual, econtext))
			return ss->ps.ps_ProjInfo != NULL ? ExecProject(ss->ps.ps_ProjInfo) : slot;
		InstrCountFiltered1(ss, 1);
	}
}

/* ExecCustomScan */
static TupleTableSlot *
agg_exec(CustomScanState *node)
{
	return node->custom_ps != NIL ? next_group_that_passes(&node->ss) :
		ExecScan(&node->ss, next_group, recheck_group);
}

/* EndCustomScan */
static void
agg_end(CustomScanState *node)
{
	AggNodeState *state = (AggNodeState *) node;

	zsnode_agg_free_spill(state);
	if (state->input != NULL)
		zsexpr_input_end(state->input);
	if (node->custom_ps != NIL)
		ExecEndNode(linitial(node->custom_ps));
}

/* ReScanCustomScan: groups are made anew, since parameters may have changed. */
static void
agg_rescan(CustomScanState *node)
{
	AggNodeState *state = (AggNodeState *) node;

	zsnode_agg_turn_to(state, ZS_AGG_UNSTARTED);
	state->result.left = 0;
	zsnode_agg_free_spill(state);
	ExecScanReScan(&node->ss);
	if (node->custom_ps != NIL)
		zsnode_child_rescan(node, linitial(node->custom_ps));
}

static const CustomExecMethods exec_methods = {
	.CustomName = "ZedstoreAgg",
	.BeginCustomScan = agg_begin,
	.ExecCustomScan = agg_exec,
	.EndCustomScan = agg_end,
	.ReScanCustomScan = agg_rescan,
	.EstimateDSMCustomScan = zsnode_agg_estimate_dsm,
	.InitializeDSMCustomScan = zsnode_agg_initialize_dsm,
	.ReInitializeDSMCustomScan = zsnode_agg_reinitialize_dsm,
	.InitializeWorkerCustomScan = zsnode_agg_initialize_worker,
	.ShutdownCustomScan = zsnode_agg_shutdown,
	.ExplainCustomScan = zsnode_agg_explain,
};

/*
 * Tells the node, if it is one of ours, that only the first of its rows in the order of the Sort
 * node above count.
 */
void
zsnode_agg_set_sort(PlanState *ps, SortState *sort)
{
	AggNodeState *state = (AggNodeState *) ps;
	MemoryContext old;

	if (!IsA(ps, CustomScanState) || state->css.methods != &exec_methods || state->nkeys == 0 ||
		state->partial)
		return;
	old = MemoryContextSwitchTo(ps->state->es_query_cxt);
	state->result.top = zsnode_top_create(sort, (CustomScan *) ps->plan, ps->state);
	MemoryContextSwitchTo(old);
}

/* CreateCustomScanState: the node's state, all zeros but for its tag and methods. */
Node *
zsnode_agg_create_state(CustomScan *cscan)
{
	AggNodeState *state = palloc0(sizeof(AggNodeState));

	zsnode_aggs_made++;

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	state->css.slotOps = &TTSOpsVirtual;
	return (Node *) state;
}
