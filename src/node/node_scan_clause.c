/*-------------------------------------------------------------------------
 *
 * node_scan_clause.c
 *	  The filter of a scan: its clauses are applied to batches.
 *
 * Errors.  Core takes the clauses of a filter in their order, row by row, as rows are asked for.
 * So
 *
 *	1. a clause that may raise an error, and has no program, ends the part of the filter that is
 *	   applied to batches: what stands behind it is applied to rows that it has passed, in order;
 *	2. programs do not raise.  One that meets what it must not decide says so, and the whole batch
 *	   is taken row by row, by all clauses in order, as rows are asked for: an error comes when core
 *	   would raise it, and not at all behind a LIMIT;
 *	3. a part of a clause that looks at no column (expr_fold.c) is evaluated when the first
 *	   row comes to its clause.  If it may raise an error, or run a subplan, no clause in front of
 *	   it may be left to be tested later.
 *
 * Clauses that cannot raise an error change places with their neighbours of that kind: those come
 * first that remove most rows in the least time, which is measured in some batches now and then.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_scan_clause.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"


#include "executor/executor.h"
#include "portability/instr_time.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "node_scan_internal.h"
#include "zs_clause.h"
#include "zs_expr_fold.h"
#include "zs_node_scan.h"

/*
 * Programs are measured in so many batches at the beginning of each period, which ends with a new
 * order of theirs.
 */
#define MEASURED_BATCHES	4
#define ORDER_PERIOD		64

/* ---- programs -------------------------------------------------------------------------- */

static ZsQual *
compile(ZsScanNode *state, ZsScanClause *clause)
{
	ScanState  *ss = &state->css.ss;

	return zsexpr_qual_compile(RelationGetDescr(ss->ss_currentRelation),
							   ((Scan *) ss->ps.plan)->scanrelid,
							   zsexpr_fold_replace(clause->expr, clause->parts));
}

/* See node_scan_internal.h. */
void
zsnode_scan_init_clause(ZsScanNode *state, ZsScanClause *clause, Node *expr)
{
	PlanState  *ps = &state->css.ss.ps;

	clause->expr = expr;
	clause->rowwise = ExecInitQual(list_make1(expr), ps);
	clause->parts = zsexpr_fold_find(expr);
	zsexpr_fold_init(clause->parts, ps);
	if (zsexpr_fold_is_possible(clause->parts))
	{
		ZsQual	   *program = compile(state, clause);

		if (program != NULL)
			state->nvectors += zsexpr_qual_nvectors(program);
		clause->has_program = program != NULL && state->nvectors <= ZS_MAX_FILTER_VECTORS;
		/* that one has no values yet */
		clause->program = clause->parts == NIL && clause->has_program ? program : NULL;
	}
}

/* Evaluates a part of a clause for all rows.  Errors: the part's. */
static void
evaluate_part(ZsScanNode *state, ZsFoldedPart *part)
{
	zsexpr_fold_evaluate(part, state->css.ss.ps.ps_ExprContext, state->context);
}

/*
 * Evaluates those parts of the clause whose values are there; false if another one is among them.
 */
static bool
evaluate_ready_parts(ZsScanNode *state, ZsScanClause *clause, bool *all_possible)
{
	bool		all = true;
	ListCell   *lc;

	*all_possible = true;
	foreach(lc, clause->parts)
	{
		ZsFoldedPart *part = lfirst(lc);

		if (zsexpr_fold_is_ready(part, &state->css.ss.ps))
			evaluate_part(state, part);
		else
		{
			all = false;
			*all_possible = *all_possible && part->is_direct;
		}
	}
	return all;
}

/*
 * Lets the scan skip segments, and leave out batches, by the keys of joins, if that hides no error.
 * first: the clauses that may be taken out of order, as far as they are known.
 */
static void
set_join_filters(ZsScanNode *state, List *first)
{
	ScanState  *ss = &state->css.ss;
	ParamListInfo params = ss->ps.state->es_param_list_info;
	ListCell   *lc;

	/* the verifier looks at each row that is left out */
	state->keys_first = state->join_filters != NIL && !state->verify &&
		!zsscan_expression_may_raise((Node *) first, params);
	for (int i = state->nfirst; i < state->nclauses && state->keys_first; i++)
		state->keys_first = !zsscan_expression_may_raise(state->clauses[i].expr, params);
	if (!state->keys_first)
		return;
	foreach(lc, state->join_filters)
		zsscan_add_zone_test(ss->ss_ScanTupleSlot, ss->ss_currentRelation,
							 ((ZsJoinFilter *) lfirst(lc))->attno,
							 zsnode_joinfilter_excludes_zone, lfirst(lc));
}

/* Lets the scan skip segments by clauses whose parts are known. */
static void
set_filters(ZsScanNode *state)
{
	ScanState  *ss = &state->css.ss;
	List	   *clauses = NIL;

	for (int i = 0; i < state->nfirst; i++)
	{
		ZsScanClause *clause = &state->clauses[i];
		bool		known = true;
		ListCell   *lc;

		foreach(lc, clause->parts)
			known = known && ((ZsFoldedPart *) lfirst(lc))->value != NULL;

		/* one that is not known may raise an error, and ends the list */
		clauses = lappend(clauses, known ? zsexpr_fold_replace(clause->expr, clause->parts) :
						  clause->expr);
	}
	zsscan_set_filters(ss->ss_ScanTupleSlot, ss->ss_currentRelation,
					   ((Scan *) ss->ps.plan)->scanrelid, clauses,
					   ss->ps.state->es_param_list_info);
	set_join_filters(state, clauses);
}

/* Can the clause change places with others?  Its parts are known. */
static bool
is_movable(ZsScanNode *state, const ZsScanClause *clause)
{
	return clause->program != NULL &&
		!zsscan_expression_may_raise(zsexpr_fold_replace(clause->expr, clause->parts),
									 state->css.ss.ps.state->es_param_list_info);
}

/* Decides which clauses are applied to batches, at the start and after each rescan. */
void
zsnode_scan_prepare_clauses(ZsScanNode *state)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(state->context);
	bool		ended = false;

	Assert(!state->prepared);
	state->has_rest = state->rest_may_raise = false;
	state->norder = 0;
	for (int i = 0; i < state->nclauses; i++)
	{
		ZsScanClause *clause = &state->clauses[i];
		bool		possible;
		bool		known = evaluate_ready_parts(state, clause, &possible);

		clause->by_batch = clause->movable = false;
		if (i >= state->nfirst)
			ended = true;
		if (!ended && clause->has_program && possible && (known || !state->has_rest))
		{
			if (clause->program == NULL && known)
				clause->program = compile(state, clause);
			clause->by_batch = clause->program != NULL || !known;
			clause->movable = known && is_movable(state, clause);
		}
		if (clause->by_batch)
		{
			state->order[state->norder++] = i;
			continue;
		}
		state->has_rest = true;
		if (zsscan_expression_may_raise(known ? zsexpr_fold_replace(clause->expr, clause->parts) :
										clause->expr, estate->es_param_list_info))
			ended = state->rest_may_raise = true;
	}
	set_filters(state);
	MemoryContextSwitchTo(old);
	Assert(state->norder <= state->nclauses);
	state->prepared = true;
}

/*
 * The program of a clause some parts of which were not to be evaluated before a row comes to it.
 * If there is none with their values, this clause and those behind it are tested row by row.
 */
static bool
complete_clause(ZsScanNode *state, ZsScanClause *clause)
{
	MemoryContext old = MemoryContextSwitchTo(state->context);
	ListCell   *lc;

	Assert(clause->program == NULL && clause->by_batch);
	foreach(lc, clause->parts)
	{
		ZsFoldedPart *part = lfirst(lc);

		if (part->value == NULL)
			evaluate_part(state, part);
	}
	clause->program = compile(state, clause);
	if (clause->program != NULL)
		clause->movable = is_movable(state, clause);
	else
	{
		/* none of those behind it has been moved in front of it */
		for (ZsScanClause *c = clause; c < state->clauses + state->nclauses; c++)
			c->by_batch = c->movable = false;
		state->has_rest = state->rest_may_raise = true;
	}
	MemoryContextSwitchTo(old);
	return clause->program != NULL;
}

static void
set_filters_again(ZsScanNode *state)
{
	MemoryContext old = MemoryContextSwitchTo(state->context);

	set_filters(state);
	MemoryContextSwitchTo(old);
}

/* ---- batches --------------------------------------------------------------------------- */

/* Does the executor let a row of the batch pass the clauses, all or those applied to batches? */
static bool
row_passes(ZsScanNode *state, uint16 row, bool all)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	bool		pass = true;

	ResetExprContext(econtext);
	zsscan_batch_store(state->batches, row, slot);
	econtext->ecxt_scantuple = slot;
	for (int k = 0; k < state->nclauses && pass; k++)
	{
		if (all || state->clauses[k].by_batch)
			pass = ExecQual(state->clauses[k].rowwise, econtext);
	}
	return pass;
}

/* Compares the answer of programs with that of the executor. */
static void
verify_batch(ZsScanNode *state, const ZsBatch *batch, const uint64 *passed)
{
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(batch->sel, list);

	Assert(state->verify);
	for (uint32 i = 0; i < n; i++)
	{
		bool		pass = row_passes(state, list[i], false);

		if (pass != zskernel_bits_get(passed, list[i]))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg_internal("filter of row " UINT64_FORMAT " differs: %s by batches, %s by rows",
									 batch->first + list[i], pass ? "false" : "true",
									 pass ? "true" : "false")));
	}
	ResetExprContext(state->css.ss.ps.ps_ExprContext);
	ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
}

/* Zone maps let no row of the batch pass: neither does the executor. */
static void
verify_excluded(ZsScanNode *state, const ZsBatch *batch)
{
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(batch->sel, list);

	Assert(state->verify);
	for (uint32 i = 0; i < n; i++)
	{
		if (row_passes(state, list[i], true))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg_internal("zone maps exclude row " UINT64_FORMAT ", which passes",
									 batch->first + list[i])));
	}
	ResetExprContext(state->css.ss.ps.ps_ExprContext);
	ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
}

/* Moves clauses to where those before and behind them have been found better or worse. */
static void
order_clauses(ZsScanNode *state)
{
	Assert(state->norder > 1);
	for (int i = 0; i < state->nclauses; i++)
	{
		ZsScanClause *clause = &state->clauses[i];

		if (clause->nruns > 0 && clause->rows_in > 0)
			clause->rank = (double) clause->time_ns / clause->nruns /
				(1.0 - (double) clause->rows_out / clause->rows_in + 0.001);
		clause->nruns /= 2;
		clause->time_ns /= 2;
		clause->rows_in /= 2;
		clause->rows_out /= 2;
	}
	for (int i = 1; i < state->norder; i++)
	{
		for (int k = i; k > 0; k--)
		{
			const ZsScanClause *before = &state->clauses[state->order[k - 1]];
			const ZsScanClause *clause = &state->clauses[state->order[k]];
			int			number = state->order[k];

			if (!before->movable || !clause->movable || before->rank <= clause->rank)
				break;
			state->order[k] = state->order[k - 1];
			state->order[k - 1] = number;
		}
	}
}

/*
 * Runs the clause's program for the rows of passed, and leaves those that pass; false if it must
 * not decide.
 */
static bool
run_clause(ZsScanNode *state, ZsScanClause *clause, bool measure, uint64 *passed)
{
	ZsTruth		truth;
	instr_time	start;
	instr_time	end;

	Assert(clause->program != NULL && clause->by_batch);
	if (measure)
	{
		INSTR_TIME_SET_CURRENT(start);
		clause->rows_in += zskernel_bits_count(passed);
	}
	if (!zsexpr_qual_run(clause->program, state->input, passed, &truth, &state->counts))
		return false;
	zskernel_bits_and(passed, truth.yes);
	if (measure)
	{
		INSTR_TIME_SET_CURRENT(end);
		INSTR_TIME_SUBTRACT(end, start);
		clause->nruns++;
		clause->time_ns += INSTR_TIME_GET_NANOSEC(end);
		clause->rows_out += zskernel_bits_count(passed);
	}
	return true;
}

/* Applies programs to the batch; false if it has to be taken row by row. */
bool
zsnode_scan_filter_batch(ZsScanNode *state, const ZsBatch *batch, uint64 *passed)
{
	bool		measure;
	bool		completed = false;
	bool		decided = true;

	Assert(state->prepared && state->input != NULL);
	zskernel_bits_copy(passed, batch->sel);
	if (state->by_rows)
		return false;
	if (zsexpr_input_excluded(state->input))
	{
		state->counts.skipped++;
		zskernel_bits_clear(passed);
		if (state->verify)
			verify_excluded(state, batch);
		return true;
	}
	measure = state->norder > 1 && state->nbatches % ORDER_PERIOD < MEASURED_BATCHES;
	if (measure && state->nbatches > 0 && state->nbatches % ORDER_PERIOD == 0)
		order_clauses(state);
	state->nbatches++;
	for (int i = 0; i < state->norder && decided && zskernel_bits_any(passed); i++)
	{
		ZsScanClause *clause = &state->clauses[state->order[i]];

		if (!clause->by_batch)
			continue;
		if (clause->program == NULL)
		{
			if (!complete_clause(state, clause))
				break;
			completed = true;
		}
		decided = run_clause(state, clause, measure, passed);
	}
	/* once for all clauses: each is looked at again */
	if (completed)
		set_filters_again(state);
	if (!decided)
		return false;
	if (state->verify)
		verify_batch(state, batch, passed);
	return true;
}
