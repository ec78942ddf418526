/*-------------------------------------------------------------------------
 *
 * vector_scan_exec.c
 *	  Executes a sequential scan whose filter is applied to batches.
 *
 * For each batch the programs of the filter's clauses run, one after the other on the rows that are
 * left.  The rows that pass are returned one by one, in slots whose columns are decoded when
 * somebody looks at them; what has no program is tested then, row by row.
 *
 * Errors.  Core takes the clauses of a filter in their order, row by row, as rows are asked for.
 * So
 *
 *	1. a clause that may raise an error, and has no program, ends the part of the filter that is
 *	applied to batches:
 *	   what stands behind it is applied to rows that it has passed, in order;
 *	2. programs do not raise.  One that meets what it must not decide says so, and the whole batch
 *	is taken
 *	   row by row, by all clauses in order, as rows are asked for: an error comes when core would
 *	   raise it, and not at all behind a LIMIT;
 *	3. batches with rows in the row tree are taken row by row, too;
 *	4. a part of a clause that looks at no column (vector_scan_fold.c) is evaluated when the first
 *	row comes to its
 *	   clause.  If it may raise an error, or run a subplan, no clause in front of it may be left to
 *	   be tested later.
 *
 * Clauses that cannot raise an error change places with their neighbours of that kind: those come
 * first that remove most rows in the least time, which is measured in some batches now and then.
 *
 * In EvalPlanQual one row is tested; that goes through core's loop, by the whole filter, as does a
 * table that such a query scans beside it.
 *
 * Hash joins above tell which rows they have no use for (vector_join_tap.c).  These are taken out
 * of a batch behind all programs, if no clause that is left to be tested may raise an error.
 *
 * A scan that turns round (cursors) goes back within its batch, then to the one before.
 *
 * Parallel scans take chunks of rows from core's descriptor for parallel sequential scans; behind
 * that in dynamic shared memory are the counts for EXPLAIN.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_scan_exec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "access/parallel.h"
#include "access/tableam.h"
#include "commands/explain.h"
#include ZS_EXPLAIN_FORMAT_H
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "port/atomics.h"
#include "portability/instr_time.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"

#include "vector_internal.h"
#include "vector_join.h"
#include "vector_scan.h"
#include "zs_base.h"
#include "zs_clause.h"
#include "zs_slot.h"

/* A clause of the filter. */
typedef struct ScanClause
{
	Node	   *expr;
	ExprState  *rowwise;
	List	   *parts;			/* without columns: ZsFoldedPart */
	bool		has_program;	/* may it have one, whatever its parts turn out to be? */

	/* since the last rescan */
	bool		by_batch;		/* applied to batches */
	ZsQual	   *program;		/* NULL: not made yet */
	bool		movable;		/* cannot raise an error, and has its program */

	/* what was measured of the program */
	uint64		nruns;
	uint64		time_ns;
	uint64		rows_in;
	uint64		rows_out;
	double		rank;			/* time for each row of a batch that it removes, about */
} ScanClause;

/*
 * Programs are measured in so many batches at the beginning of each period, which ends with a new
 * order of theirs.
 */
#define MEASURED_BATCHES	4
#define ORDER_PERIOD		64

/* What workers have counted, until the leader takes it. */
typedef struct ScanCounts
{
	pg_atomic_uint64 skipped;	/* segments */
	pg_atomic_uint64 decided;	/* comparisons, by zone maps */
	pg_atomic_uint64 redone;	/* batches */
	pg_atomic_uint64 unjoined;	/* rows that join filters removed */
} ScanCounts;

typedef struct ScanNodeState
{
	CustomScanState css;		/* first */
	int			nfirst;			/* clauses that may be taken out of order */
	int			nclauses;
	ScanClause *clauses;
	int		   *order;			/* in which programs run: numbers of clauses that are applied to
								 * batches */
	int			norder;
	uint64		nbatches;		/* that they ran for */
	bool		has_rest;		/* some clauses are tested row by row */
	bool		rest_may_raise; /* one of these may raise an error */
	List	   *join_filters;	/* ZsJoinFilter */
	bool		prepared;		/* since the last rescan */
	MemoryContext context;		/* programs and values that a rescan changes */
	bool		by_rows;		/* zedstore.debug_vector = rows */
	bool		verify;

	TableScanDesc scan;
	ZsBatchScan *batches;
	ZsInput    *input;			/* the present batch, for programs */
	bool		row_mode;		/* the batch is taken row by row */
	int			nlist;			/* rows of the batch to be looked at */
	int			position;		/* of the present one in list */
	uint16		list[ZS_KERNEL_ROWS];

	/* for EXPLAIN */
	ZsQualCounts counts;
	uint64		nredone;
	uint64		nskipped;		/* segments, by scans that have ended */
	uint64		nunjoined;		/* rows that join filters removed */
	ScanCounts *shared;			/* of a parallel scan; NULL: none, or gone */
	uint64		worker_skipped; /* what was in shared */
	uint64		worker_decided;
	uint64		worker_redone;
	uint64		worker_unjoined;
} ScanNodeState;

/* See vector_join.h. */
uint64		zsvector_scans_begun = 0;

/* ---- clauses ------------------------------------------------------------------------- */

static ZsQual *
compile(ScanNodeState *state, ScanClause *clause)
{
	ScanState  *ss = &state->css.ss;

	return zsvector_qual_compile(RelationGetDescr(ss->ss_currentRelation),
								 ((Scan *) ss->ps.plan)->scanrelid,
								 zsvector_fold_replace(clause->expr, clause->parts));
}

/* Evaluates a part of a clause for all rows.  Errors: the part's. */
static void
evaluate_part(ScanNodeState *state, ZsFoldedPart *part)
{
	zsvector_fold_evaluate(part, state->css.ss.ps.ps_ExprContext, state->context);
}

/*
 * Evaluates those parts of the clause whose values are there; false if another one is among them.
 */
static bool
evaluate_ready_parts(ScanNodeState *state, ScanClause *clause, bool *all_possible)
{
	bool		all = true;
	ListCell   *lc;

	*all_possible = true;
	foreach(lc, clause->parts)
	{
		ZsFoldedPart *part = lfirst(lc);

		if (zsvector_fold_is_ready(part, state->css.ss.ps.state))
			evaluate_part(state, part);
		else
		{
			all = false;
			*all_possible = *all_possible && part->is_direct;
		}
	}
	return all;
}

/* Lets the scan skip segments by clauses whose parts are known. */
static void
set_filters(ScanNodeState *state)
{
	ScanState  *ss = &state->css.ss;
	List	   *clauses = NIL;

	for (int i = 0; i < state->nfirst; i++)
	{
		ScanClause *clause = &state->clauses[i];
		bool		known = true;
		ListCell   *lc;

		foreach(lc, clause->parts)
			known = known && ((ZsFoldedPart *) lfirst(lc))->value != NULL;

		/* one that is not known may raise an error, and ends the list */
		clauses = lappend(clauses, known ? zsvector_fold_replace(clause->expr, clause->parts) :
						  clause->expr);
	}
	zsscan_set_filters(ss->ss_ScanTupleSlot, ss->ss_currentRelation,
					   ((Scan *) ss->ps.plan)->scanrelid, clauses,
					   ss->ps.state->es_param_list_info);
}

/* Can the clause change places with others?  Its parts are known. */
static bool
is_movable(ScanNodeState *state, const ScanClause *clause)
{
	return clause->program != NULL &&
		!zsscan_expression_may_raise(zsvector_fold_replace(clause->expr, clause->parts),
									 state->css.ss.ps.state->es_param_list_info);
}

/* Decides which clauses are applied to batches, at the start and after each rescan. */
static void
prepare_clauses(ScanNodeState *state)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(state->context);
	bool		ended = false;

	Assert(!state->prepared);
	state->has_rest = state->rest_may_raise = false;
	state->norder = 0;
	for (int i = 0; i < state->nclauses; i++)
	{
		ScanClause *clause = &state->clauses[i];
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
		if (zsscan_expression_may_raise(known ? zsvector_fold_replace(clause->expr, clause->parts) :
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
complete_clause(ScanNodeState *state, ScanClause *clause)
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
	{
		clause->movable = is_movable(state, clause);
		set_filters(state);
	}
	else
	{
		/* none of those behind it has been moved in front of it */
		for (ScanClause *c = clause; c < state->clauses + state->nclauses; c++)
			c->by_batch = c->movable = false;
		state->has_rest = state->rest_may_raise = true;
	}
	MemoryContextSwitchTo(old);
	return clause->program != NULL;
}

/* ---- batches --------------------------------------------------------------------------- */

/* Compares the answer of programs with that of the executor. */
static void
verify_batch(ScanNodeState *state, const ZsBatch *batch, const uint64 *passed)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(batch->sel, list);

	Assert(state->verify && !batch->has_rows);
	for (uint32 i = 0; i < n; i++)
	{
		bool		pass = true;

		ResetExprContext(econtext);
		zsscan_batch_store(state->batches, list[i], slot);
		econtext->ecxt_scantuple = slot;
		for (int k = 0; k < state->nclauses && pass; k++)
		{
			if (state->clauses[k].by_batch)
				pass = ExecQual(state->clauses[k].rowwise, econtext);
		}
		if (pass != zskernel_bits_get(passed, list[i]))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg_internal("filter of row " UINT64_FORMAT " differs: %s by batches, %s by rows",
									 batch->first + list[i], pass ? "false" : "true",
									 pass ? "true" : "false")));
	}
	ResetExprContext(econtext);
	ExecClearTuple(slot);
}

/* Moves clauses to where those before and behind them have been found better or worse. */
static void
order_clauses(ScanNodeState *state)
{
	Assert(state->norder > 1);
	for (int i = 0; i < state->nclauses; i++)
	{
		ScanClause *clause = &state->clauses[i];

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
			const ScanClause *before = &state->clauses[state->order[k - 1]];
			const ScanClause *clause = &state->clauses[state->order[k]];
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
run_clause(ScanNodeState *state, ScanClause *clause, bool measure, uint64 *passed)
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
	if (!zsvector_qual_run(clause->program, state->input, passed, &truth, &state->counts))
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
static bool
filter_batch(ScanNodeState *state, const ZsBatch *batch, uint64 *passed)
{
	bool		measure;

	Assert(state->prepared && state->input != NULL);
	zskernel_bits_copy(passed, batch->sel);
	if (state->by_rows || batch->has_rows)
		return false;
	measure = state->norder > 1 && state->nbatches % ORDER_PERIOD < MEASURED_BATCHES;
	if (measure && state->nbatches > 0 && state->nbatches % ORDER_PERIOD == 0)
		order_clauses(state);
	state->nbatches++;
	for (int i = 0; i < state->norder; i++)
	{
		ScanClause *clause = &state->clauses[state->order[i]];

		if (!clause->by_batch)
			continue;
		if (clause->program == NULL && !complete_clause(state, clause))
			break;
		if (!run_clause(state, clause, measure, passed))
			return false;
		if (!zskernel_bits_any(passed))
			break;
	}
	if (state->verify)
		verify_batch(state, batch, passed);
	return true;
}

/* See vector_join.h. */
void
zsvector_scan_add_filter(CustomScanState *node, ZsJoinFilter *filter)
{
	ScanNodeState *state = (ScanNodeState *) node;

	Assert(state->scan == NULL && node->ss.ps.state->es_epq_active == NULL);
	state->join_filters = lappend(state->join_filters, filter);
}

static void
start_scan(ScanNodeState *state)
{
	ScanState  *ss = &state->css.ss;

	/* in a serial plan, or a parallel one that runs without workers */
	if (state->scan == NULL)
		state->scan = table_beginscan(ss->ss_currentRelation, ss->ps.state->es_snapshot, 0, NULL);
	if (state->batches == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(ss->ps.state->es_query_cxt);

		state->batches = zsscan_batch_begin(state->scan, ss->ss_ScanTupleSlot);
		state->input = zsvector_input_batch_wrap(state->batches,
												 ((Scan *) ss->ps.plan)->scanrelid,
												 ss->ss_ScanTupleSlot);
		MemoryContextSwitchTo(old);
	}
}

/* The next batch, in the direction, that has rows to be looked at; false behind the last. */
static bool
next_batch(ScanNodeState *state, bool forward)
{
	const ZsBatch *batch;
	uint64		passed[ZS_KERNEL_WORDS];
	uint32		unjoined;

	if (state->batches == NULL)
		start_scan(state);
	if (!state->prepared)
		prepare_clauses(state);
	for (;;)
	{
		batch = forward ? zsscan_batch_next(state->batches) : zsscan_batch_previous(state->batches);
		zsvector_input_batch_turn(state->input);
		state->nlist = 0;
		state->position = -1;
		if (batch == NULL)
			return false;
		state->row_mode = !filter_batch(state, batch, passed);
		unjoined = 0;
		if (state->row_mode)
		{
			state->nredone++;
			zskernel_bits_copy(passed, batch->sel);
		}
		else if (state->join_filters != NIL && !state->rest_may_raise)
			unjoined = zsvector_joinfilter_apply(state->join_filters, state->input, passed,
												 state->verify ? state->batches : NULL);
		state->nunjoined += unjoined;
		state->nlist = (int) zskernel_bits_list(passed, state->list);
		Assert(state->nlist <= (int) batch->nsel);
		InstrCountFiltered1(&state->css.ss, batch->nsel - state->nlist - unjoined);
		if (state->nlist == 0)
			continue;
		state->position = forward ? -1 : state->nlist;
		if (!state->row_mode)
			zsscan_batch_expect(state->batches, state->nlist);
		return true;
	}
}

/* Do the clauses that were not applied to the batch let the row in the slot pass? */
static bool
row_passes(ScanNodeState *state, ExprContext *econtext)
{
	for (int i = 0; i < state->nclauses; i++)
	{
		if ((state->row_mode || !state->clauses[i].by_batch) &&
			!ExecQual(state->clauses[i].rowwise, econtext))
			return false;
	}
	return true;
}

/* ---- rows ------------------------------------------------------------------------------ */

/* The next row that passes, in the node's slot; false if there is none. */
static bool
next_row(ScanNodeState *state, bool forward)
{
	ScanState  *ss = &state->css.ss;
	ExprContext *econtext = ss->ps.ps_ExprContext;

	for (;;)
	{
		int			position = state->position + (forward ? 1 : -1);

		if (position < 0 || position >= state->nlist)
		{
			if (!next_batch(state, forward))
			{
				ExecClearTuple(ss->ss_ScanTupleSlot);
				return false;
			}
			position = state->position + (forward ? 1 : -1);
		}
		state->position = position;
		Assert(position >= 0 && position < state->nlist);
		zsscan_batch_store(state->batches, state->list[position], ss->ss_ScanTupleSlot);
		econtext->ecxt_scantuple = ss->ss_ScanTupleSlot;
		if (!state->row_mode && !state->has_rest)
			return true;
		if (row_passes(state, econtext))
			return true;
		InstrCountFiltered1(ss, 1);
		ResetExprContext(econtext);
		CHECK_FOR_INTERRUPTS();
	}
}

/* For EvalPlanQual: any row of the table. */
static TupleTableSlot *
access_row(ScanState *ss)
{
	ScanNodeState *state = (ScanNodeState *) ss;

	Assert(ss->ps.state->es_epq_active != NULL);
	if (state->scan == NULL)
		state->scan = table_beginscan(ss->ss_currentRelation, ss->ps.state->es_snapshot, 0, NULL);
	if (table_scan_getnextslot(state->scan, ss->ps.state->es_direction, ss->ss_ScanTupleSlot))
		return ss->ss_ScanTupleSlot;
	return NULL;
}

static bool
recheck_row(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
scan_exec(CustomScanState *node)
{
	ScanNodeState *state = (ScanNodeState *) node;
	EState	   *estate = node->ss.ps.state;
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;

	if (unlikely(estate->es_epq_active != NULL))
		return ExecScan(&node->ss, access_row, recheck_row);

	ResetExprContext(node->ss.ps.ps_ExprContext);
	if (!next_row(state, !ScanDirectionIsBackward(estate->es_direction)))
	{
		if (projection != NULL)
			return ExecClearTuple(projection->pi_state.resultslot);
		return node->ss.ss_ScanTupleSlot;
	}
	if (projection != NULL)
		return ExecProject(projection);
	return node->ss.ss_ScanTupleSlot;
}

/* ---- begin, end ---------------------------------------------------------------------------- */

static void
init_clause(ScanNodeState *state, ScanClause *clause, Node *expr)
{
	PlanState  *ps = &state->css.ss.ps;

	clause->expr = expr;
	clause->rowwise = ExecInitQual(list_make1(expr), ps);
	clause->parts = zsvector_fold_find(expr);
	zsvector_fold_init(clause->parts, ps);
	if (zsvector_fold_is_possible(clause->parts))
	{
		ZsQual	   *program = compile(state, clause);

		clause->has_program = program != NULL;
		/* that one has no values yet */
		clause->program = clause->parts == NIL ? program : NULL;
	}
}

static void
scan_begin(CustomScanState *node, EState *estate, int eflags)
{
	ScanNodeState *state = (ScanNodeState *) node;
	CustomScan *cscan = (CustomScan *) node->ss.ps.plan;
	List	   *qual = cscan->scan.plan.qual;
	ListCell   *lc;

	if (estate->es_epq_active != NULL)
		return;
	zsvector_scans_begun++;
	state->nfirst = linitial_int(cscan->custom_private);
	Assert(state->nfirst <= list_length(qual));
	state->clauses = palloc0(Max(list_length(qual), 1) * sizeof(ScanClause));
	state->order = palloc0(Max(list_length(qual), 1) * sizeof(int));
	foreach(lc, qual)
		init_clause(state, &state->clauses[state->nclauses++], lfirst(lc));
	Assert(state->nclauses == list_length(qual));
	state->position = -1;
	state->context = AllocSetContextCreate(CurrentMemoryContext, "zedstore scan filter",
										   ALLOCSET_SMALL_SIZES);
	state->by_rows = zs_debug_vector == ZS_DEBUG_VECTOR_ROWS;
	state->verify = zs_debug_vector == ZS_DEBUG_VECTOR_VERIFY;
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		zsscan_set_needed(&node->ss);
}

static uint64
count_skipped(const ScanNodeState *state)
{
	return state->nskipped + (state->batches != NULL ? zsscan_batch_skipped(state->batches) : 0);
}

/* A worker says what it has counted; the leader takes what has been said. */
static void
exchange_counts(ScanNodeState *state)
{
	ScanCounts *shared = state->shared;

	if (shared == NULL)
		return;
	if (IsParallelWorker())
	{
		pg_atomic_fetch_add_u64(&shared->skipped, count_skipped(state));
		pg_atomic_fetch_add_u64(&shared->decided, state->counts.skipped);
		pg_atomic_fetch_add_u64(&shared->redone, state->nredone);
		pg_atomic_fetch_add_u64(&shared->unjoined, state->nunjoined);
	}
	else
	{
		state->worker_skipped += pg_atomic_exchange_u64(&shared->skipped, 0);
		state->worker_decided += pg_atomic_exchange_u64(&shared->decided, 0);
		state->worker_redone += pg_atomic_exchange_u64(&shared->redone, 0);
		state->worker_unjoined += pg_atomic_exchange_u64(&shared->unjoined, 0);
	}
}

static void
scan_end(CustomScanState *node)
{
	ScanNodeState *state = (ScanNodeState *) node;

	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	if (state->scan != NULL)
		table_endscan(state->scan);
}

static void
scan_rescan(CustomScanState *node)
{
	ScanNodeState *state = (ScanNodeState *) node;

	if (state->scan != NULL)
		table_rescan(state->scan, NULL);
	if (state->batches != NULL)
		zsscan_batch_restart(state->batches);
	state->nlist = 0;
	state->position = -1;
	state->prepared = false;
	for (int i = 0; i < state->nclauses; i++)
	{
		ScanClause *clause = &state->clauses[i];
		ListCell   *lc;

		if (clause->parts == NIL)
			continue;
		clause->program = NULL;
		foreach(lc, clause->parts)
			((ZsFoldedPart *) lfirst(lc))->value = NULL;
	}
	if (state->context != NULL)
		MemoryContextReset(state->context);
	ExecScanReScan(&node->ss);
}

/* ---- parallel scans ---------------------------------------------------------------------------- */

static Size
scan_size(CustomScanState *node)
{
	return MAXALIGN(table_parallelscan_estimate(node->ss.ss_currentRelation,
												node->ss.ps.state->es_snapshot));
}

static Size
scan_estimate_dsm(CustomScanState *node, ParallelContext *pcxt)
{
	return scan_size(node) + sizeof(ScanCounts);
}

static void
scan_initialize_dsm(CustomScanState *node, ParallelContext *pcxt, void *coordinate)
{
	ScanNodeState *state = (ScanNodeState *) node;
	ParallelTableScanDesc pscan = coordinate;

	state->shared = (ScanCounts *) ((char *) coordinate + scan_size(node));
	pg_atomic_init_u64(&state->shared->skipped, 0);
	pg_atomic_init_u64(&state->shared->decided, 0);
	pg_atomic_init_u64(&state->shared->redone, 0);
	pg_atomic_init_u64(&state->shared->unjoined, 0);
	table_parallelscan_initialize(node->ss.ss_currentRelation, pscan,
								  node->ss.ps.state->es_snapshot);

	/*
	 * workers that were sent away (LIMIT) and are wanted again get other memory, and so does the
	 * scan
	 */
	state->nskipped = count_skipped(state);
	state->batches = NULL;
	state->scan = table_beginscan_parallel(node->ss.ss_currentRelation, pscan);
}

static void
scan_reinitialize_dsm(CustomScanState *node, ParallelContext *pcxt, void *coordinate)
{
	((ScanNodeState *) node)->shared = (ScanCounts *) ((char *) coordinate + scan_size(node));
	table_parallelscan_reinitialize(node->ss.ss_currentRelation,
									(ParallelTableScanDesc) coordinate);
}

static void
scan_initialize_worker(CustomScanState *node, shm_toc *toc, void *coordinate)
{
	ScanNodeState *state = (ScanNodeState *) node;

	state->shared = (ScanCounts *) ((char *) coordinate + scan_size(node));
	state->scan = table_beginscan_parallel(node->ss.ss_currentRelation,
										   (ParallelTableScanDesc) coordinate);
}

/* Shared memory goes before EXPLAIN asks. */
static void
scan_shutdown(CustomScanState *node)
{
	ScanNodeState *state = (ScanNodeState *) node;

	exchange_counts(state);
	state->shared = NULL;
}

/* ---- EXPLAIN ------------------------------------------------------------------------------------- */

/* Core shows the whole filter and what it removed. */
static void
scan_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	ScanNodeState *state = (ScanNodeState *) node;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
	List	   *rest = NIL;
	uint64		skipped = count_skipped(state) + state->worker_skipped;
	uint64		decided = state->counts.skipped + state->worker_decided;
	uint64		redone = state->nredone + state->worker_redone;

	for (int i = 0; i < state->nclauses; i++)
	{
		if (!state->clauses[i].has_program || i >= state->nfirst)
			rest = lappend(rest, state->clauses[i].expr);
	}
	if (rest != NIL)
		ExplainPropertyText("Row-wise Filter",
							deparse_expression((Node *) make_ands_explicit(rest), context,
											   es->verbose, false), es);
	if (state->join_filters != NIL)
		zsvector_joinfilter_explain(state->join_filters, node->ss.ss_currentRelation,
									state->nunjoined + state->worker_unjoined, es);
	if (!es->analyze)
		return;
	if (es->format != EXPLAIN_FORMAT_TEXT || skipped > 0)
		ExplainPropertyUInteger("Segments Skipped", NULL, skipped, es);
	if (es->format != EXPLAIN_FORMAT_TEXT || decided > 0)
		ExplainPropertyUInteger("Comparisons Decided by Zone Maps", NULL, decided, es);
	if (es->format != EXPLAIN_FORMAT_TEXT || redone > 0)
		ExplainPropertyUInteger("Batches Redone Row-wise", NULL, redone, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "ZedstoreScan",
	.BeginCustomScan = scan_begin,
	.ExecCustomScan = scan_exec,
	.EndCustomScan = scan_end,
	.ReScanCustomScan = scan_rescan,
	.EstimateDSMCustomScan = scan_estimate_dsm,
	.InitializeDSMCustomScan = scan_initialize_dsm,
	.ReInitializeDSMCustomScan = scan_reinitialize_dsm,
	.InitializeWorkerCustomScan = scan_initialize_worker,
	.ShutdownCustomScan = scan_shutdown,
	.ExplainCustomScan = scan_explain,
};

/* CreateCustomScanState: the node's state, all zeros but for its tag and methods. */
Node *
zsvector_scan_create_state(CustomScan *cscan)
{
	ScanNodeState *state = palloc0(sizeof(ScanNodeState));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	state->css.slotOps = &TTSOpsZedstore;
	return (Node *) state;
}
