/*-------------------------------------------------------------------------
 *
 * expr_filter.c
 *	  The filter of a table that is read by batches, whichever node reads it.
 *
 * Errors.  Core takes the clauses of a filter in their order, row by row, as rows are asked for.
 * So
 *
 *	1. a clause that may raise an error, and has no program, ends the part of the filter that is
 *	   applied to batches: what stands behind it is applied to rows that it has passed, in order;
 *	2. programs do not raise.  One that meets what it must not decide says so, and the whole batch
 *	   is taken row by row, by all clauses in order, as rows are asked for: an error comes when core
 *	   would raise it, and not at all behind a LIMIT;
 *	3. a part of a clause that looks at no column (expr_bind.c) is evaluated when the first row
 *	   comes to its clause.  If it may raise an error, or run a subplan, no clause in front of it
 *	   may be left to be tested later.
 *
 * Clauses that cannot raise an error change places with their neighbours of that kind.  At first
 * those go in front that look at least, integers and dictionaries before strings; then those that
 * remove most rows in the least time, which is measured in some batches now and then.  The rank of
 * a clause is that of Hellerstein, Stonebraker: Predicate Migration, SIGMOD 1993.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_filter.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "portability/instr_time.h"

#include "zs_clause.h"
#include "zs_expr_filter.h"
#include "zs_expr_guc.h"
#include "zs_expr_program.h"

/*
 * Programs are measured in so many batches at the beginning of each period, which ends with a new
 * order of theirs.
 */
#define MEASURED_BATCHES	4
#define ORDER_PERIOD		64

typedef struct FilterClause
{
	ExprState  *rowwise;
	ZsProgram	program;
	ZsQual	   *qual;			/* NULL: it has no program, whatever its parameters turn out to be;
								 * runs if the program does not wait */

	/* since the filter was started last */
	bool		by_batch;		/* applied to batches */
	bool		movable;		/* cannot raise an error, and its program may run */

	/* what was measured of the program */
	uint64		nruns;
	uint64		time_ns;
	uint64		rows_in;
	uint64		rows_out;
	bool		measured;
	double		rank;			/* time for each row of a batch that it removes, about; before
								 * clauses are ranked, what its program looks at */
} FilterClause;

struct ZsFilter
{
	TupleDesc	desc;
	Index		varno;
	PlanState  *node;
	ExprContext *econtext;		/* of what is forgotten at once, and of rows that are verified */
	ZsPrograms *programs;		/* of its clauses */
	int			nfirst;			/* clauses that may be taken out of order */
	int			nclauses;
	FilterClause *clauses;
	int			nvectors;		/* that the clauses' programs need */
	bool		started;
	int		   *order;			/* in which programs run: numbers of clauses that are applied to
								 * batches */
	int			norder;
	uint64		nbatches;		/* that they ran for */
	bool		has_rest;		/* some clauses are tested row by row */
	bool		rest_may_raise; /* one of these may raise an error */
	bool		by_rows;		/* zedstore.debug_vector = rows */
	bool		verify;			/* ... = verify */
};

/* ---- programs -------------------------------------------------------------------------- */

/*
 * Can there be a program for the clause, whatever its parameters turn out to be?  *nvectors: that
 * the programs of a filter need, so far.  Reads system catalogs.
 */
bool
zsexpr_filter_clause_possible(TupleDesc desc, Index varno, Node *clause, int *nvectors)
{
	Node	   *expr = zsexpr_unbound(clause);

	Assert(desc != NULL && varno > 0);
	return expr != NULL && zsexpr_qual_has_program(desc, varno, expr, nvectors) &&
		*nvectors <= ZS_MAX_FILTER_VECTORS;
}

/* As zsexpr_filter_clause_possible(), of all clauses together. */
bool
zsexpr_filter_possible(TupleDesc desc, Index varno, List *clauses)
{
	int			nvectors = 0;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		if (!zsexpr_filter_clause_possible(desc, varno, lfirst(lc), &nvectors))
			return false;
	}
	return true;
}

/* Makes a clause, all zeros, ready.  parent: see zsexpr_filter_create(). */
static void
init_clause(ZsFilter *filter, FilterClause *clause, Node *expr, PlanState *parent)
{
	Node	   *unbound = zsexpr_unbound(expr);

	clause->rowwise = ExecInitQual(list_make1(expr), parent);
	if (unbound != NULL)
		clause->qual = zsexpr_qual_compile(filter->desc, filter->varno, unbound);
	if (clause->qual != NULL)
	{
		filter->nvectors += zsexpr_qual_nvectors(clause->qual);
		clause->rank = zsexpr_qual_rank(clause->qual);
		if (filter->nvectors > ZS_MAX_FILTER_VECTORS)
			clause->qual = NULL;
	}
	zsexpr_programs_add_condition(filter->programs, &clause->program, expr, &clause->qual);
}

/*
 * A filter of the node, whose clauses look at rows of desc by varno.  The first nfirst clauses may
 * be taken out of order where no error can tell.  parent: the node if its scan slot has the rows,
 * or it has subplans for them; else NULL.  Memory comes from the current context.  Reads system
 * catalogs.  To be started before it runs.
 */
ZsFilter *
zsexpr_filter_create(TupleDesc desc, Index varno, List *clauses, int nfirst, PlanState *node,
					 PlanState *parent)
{
	ZsFilter   *filter = palloc0(sizeof(ZsFilter));
	ListCell   *lc;

	Assert(nfirst <= list_length(clauses));
	filter->desc = desc;
	filter->varno = varno;
	filter->node = node;
	filter->nfirst = nfirst;
	filter->econtext = CreateExprContext(node->state);
	filter->programs = zsexpr_programs_create(desc, varno, node, parent);
	filter->clauses = palloc0(Max(list_length(clauses), 1) * sizeof(FilterClause));
	filter->order = palloc0(Max(list_length(clauses), 1) * sizeof(int));
	filter->by_rows = zs_debug_vector == ZS_DEBUG_VECTOR_ROWS;
	filter->verify = zs_debug_vector == ZS_DEBUG_VECTOR_VERIFY;
	foreach(lc, clauses)
		init_clause(filter, &filter->clauses[filter->nclauses++], lfirst(lc), parent);
	Assert(filter->nclauses == list_length(clauses));
	return filter;
}

/* The clauses that can never be applied to batches, in their order. */
List *
zsexpr_filter_rest(const ZsFilter *filter)
{
	List	   *rest = NIL;

	for (int i = 0; i < filter->nclauses; i++)
	{
		if (filter->clauses[i].qual == NULL || i >= filter->nfirst)
			rest = lappend(rest, filter->clauses[i].program.expr);
	}
	return rest;
}

/* Can evaluating the expression for a row raise an error? */
static bool
may_raise(const ZsFilter *filter, Node *expr)
{
	return zsscan_expression_may_raise(expr, filter->node->state->es_param_list_info);
}

/*
 * The same of the clause, as far as its parameters are known.  A part without columns that has no
 * value may raise an error, as the expression that it is.
 */
static bool
clause_may_raise(const ZsFilter *filter, const FilterClause *clause)
{
	MemoryContext old = MemoryContextSwitchTo(filter->econtext->ecxt_per_tuple_memory);
	bool		result = may_raise(filter, zsexpr_program_known_expr(&clause->program));

	MemoryContextSwitchTo(old);
	ResetExprContext(filter->econtext);
	return result;
}

/* Can the clause change places with others? */
static bool
is_movable(const ZsFilter *filter, const FilterClause *clause)
{
	return clause->qual != NULL && !clause->program.waits && !clause_may_raise(filter, clause);
}

/* Moves clauses to where those before and behind them are better or worse. */
static void
order_clauses(ZsFilter *filter)
{
	for (int i = 1; i < filter->norder; i++)
	{
		for (int k = i; k > 0; k--)
		{
			const FilterClause *before = &filter->clauses[filter->order[k - 1]];
			const FilterClause *clause = &filter->clauses[filter->order[k]];
			int			number = filter->order[k];

			if (!before->movable || !clause->movable || before->rank <= clause->rank)
				break;
			filter->order[k] = filter->order[k - 1];
			filter->order[k - 1] = number;
		}
	}
}

/*
 * Decides which clauses are applied to batches: those that have programs by now, and those that get
 * one when a row comes to them.
 */
static void
choose_clauses(ZsFilter *filter)
{
	bool		ended = false;

	filter->has_rest = filter->rest_may_raise = false;
	filter->norder = 0;
	for (int i = 0; i < filter->nclauses; i++)
	{
		FilterClause *clause = &filter->clauses[i];
		const ZsProgram *program = &clause->program;

		if (i >= filter->nfirst)
			ended = true;
		clause->by_batch = !ended && clause->qual != NULL &&
			(program->bound ? !program->waits :
			 !filter->has_rest && zsexpr_program_is_bound_by_row(program));
		clause->movable = clause->by_batch && is_movable(filter, clause);
		if (clause->by_batch)
		{
			filter->order[filter->norder++] = i;
			continue;
		}
		filter->has_rest = true;
		if (clause_may_raise(filter, clause))
			ended = filter->rest_may_raise = true;
	}
	order_clauses(filter);
}

/*
 * For the first row, for the first time or anew: parameters may have changed.  False if nothing has
 * changed for it.  Raises no errors, since only values are taken that are there.
 */
bool
zsexpr_filter_start(ZsFilter *filter)
{
	bool		changed = zsexpr_programs_start(filter->programs);

	if (filter->started && !changed)
		return false;
	choose_clauses(filter);
	filter->started = true;
	return true;
}

/*
 * The clauses that may be taken out of order, for zone maps: with values in the place of their
 * parts without columns, if all of these have one.  In the current context.
 */
List *
zsexpr_filter_clauses(const ZsFilter *filter)
{
	List	   *result = NIL;

	for (int i = 0; i < filter->nfirst; i++)
		result = lappend(result, zsexpr_program_known_expr(&filter->clauses[i].program));
	return result;
}

/* Can no clause raise an error, for any row? */
bool
zsexpr_filter_raises_nothing(const ZsFilter *filter)
{
	List	   *first = zsexpr_filter_clauses(filter);

	if (may_raise(filter, (Node *) first))
		return false;
	for (int i = filter->nfirst; i < filter->nclauses; i++)
	{
		if (may_raise(filter, filter->clauses[i].program.expr))
			return false;
	}
	return true;
}

/* Are there clauses that zsexpr_filter_run() leaves to zsexpr_filter_row_passes()? */
bool
zsexpr_filter_has_rest(const ZsFilter *filter)
{
	Assert(filter->started);
	return filter->has_rest;
}

/* May one of these raise an error? */
bool
zsexpr_filter_rest_may_raise(const ZsFilter *filter)
{
	Assert(filter->started);
	return filter->rest_may_raise;
}

/*
 * A row has come to a clause whose program waits for it.  If there is none with the values that are
 * there now, this clause and those behind it are tested row by row.  Errors: those of its parts.
 */
static bool
bind_clause(ZsFilter *filter, FilterClause *clause)
{
	Assert(clause->program.waits && clause->by_batch);
	clause->program.reached = true;
	(void) zsexpr_program_bind(filter->programs, &clause->program);
	if (!clause->program.waits)
	{
		clause->movable = is_movable(filter, clause);
		return true;
	}
	/* none of those behind it has been moved in front of it */
	for (FilterClause *c = clause; c < filter->clauses + filter->nclauses; c++)
		c->by_batch = c->movable = false;
	filter->has_rest = filter->rest_may_raise = true;
	return false;
}

/* ---- rows ------------------------------------------------------------------------------ */

/* Does the executor let the row in ecxt_scantuple pass the clauses of these kinds? */
static bool
passes(const ZsFilter *filter, ExprContext *econtext, bool by_batch, bool by_row)
{
	Assert(econtext->ecxt_scantuple != NULL);
	for (int i = 0; i < filter->nclauses; i++)
	{
		if ((filter->clauses[i].by_batch ? by_batch : by_row) &&
			!ExecQual(filter->clauses[i].rowwise, econtext))
			return false;
	}
	return true;
}

/*
 * Does the executor let the row in ecxt_scantuple pass the clauses: all, or those that are not
 * applied to batches?  Errors: those of the clauses.
 */
bool
zsexpr_filter_row_passes(const ZsFilter *filter, ExprContext *econtext, bool all)
{
	return passes(filter, econtext, all, true);
}

/*
 * Compares what programs or, if excluded, zone maps say of the batch with what the executor says of
 * its rows.  Errors: it is something else.
 */
static void
verify_batch(const ZsFilter *filter, ZsInput *input, const ZsBatch *batch, const uint64 *passed,
			 bool excluded)
{
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(batch->sel, list);

	Assert(filter->verify);
	for (uint32 i = 0; i < n; i++)
	{
		bool		pass;

		ResetExprContext(filter->econtext);
		zsexpr_input_store(input, list[i]);
		filter->econtext->ecxt_scantuple = input->slot;
		pass = passes(filter, filter->econtext, true, excluded);
		if (pass && excluded)
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg_internal("zone maps exclude row " UINT64_FORMAT ", which passes",
									 batch->first + list[i])));
		if (pass != zskernel_bits_get(passed, list[i]))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg_internal("filter of row " UINT64_FORMAT " differs: %s by batches, %s by rows",
									 batch->first + list[i], pass ? "false" : "true",
									 pass ? "true" : "false")));
	}
	ResetExprContext(filter->econtext);
	ExecClearTuple(input->slot);
}

/* ---- batches --------------------------------------------------------------------------- */

/* Gives clauses their ranks, of what was measured of them, and their places. */
static void
rank_clauses(ZsFilter *filter)
{
	Assert(filter->norder > 1);
	for (int i = 0; i < filter->nclauses; i++)
	{
		FilterClause *clause = &filter->clauses[i];

		if (clause->nruns > 0 && clause->rows_in > 0)
		{
			clause->rank = (double) clause->time_ns / clause->nruns /
				(1.0 - (double) clause->rows_out / clause->rows_in + 0.001);
			clause->measured = true;
		}
		else if (!clause->measured)
			clause->rank = 0;	/* goes in front, to be measured */
		clause->nruns /= 2;
		clause->time_ns /= 2;
		clause->rows_in /= 2;
		clause->rows_out /= 2;
	}
	order_clauses(filter);
}

/*
 * Runs the clause's program for the rows of passed, and leaves those that pass; false if it must
 * not decide.
 */
static bool
run_clause(FilterClause *clause, ZsInput *input, bool measure, uint64 *passed,
		   ZsQualCounts *counts)
{
	ZsTruth		truth;
	instr_time	start;
	instr_time	end;

	Assert(!clause->program.waits && clause->by_batch);
	if (measure)
	{
		INSTR_TIME_SET_CURRENT(start);
		clause->rows_in += zskernel_bits_count(passed);
	}
	if (!zsexpr_qual_run(clause->qual, input, passed, &truth, counts))
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

/*
 * Finds the rows of the present batch, which is batch, that pass the clauses that are applied to
 * batches (see zsexpr_filter_has_rest()): passed.  False if it has to be taken row by row, by all
 * clauses in core's order.  Sets *changed when clauses have got values, for
 * zsexpr_filter_clauses().  Errors: those of parts of clauses that look at no column.
 */
bool
zsexpr_filter_run(ZsFilter *filter, ZsInput *input, const ZsBatch *batch, uint64 *passed,
				  ZsQualCounts *counts, bool *changed)
{
	bool		measure;

	Assert(filter->started);
	if (filter->by_rows)
		return false;
	zskernel_bits_copy(passed, batch->sel);
	if (zsexpr_input_excluded(input))
	{
		counts->skipped++;
		zskernel_bits_clear(passed);
		if (filter->verify)
			verify_batch(filter, input, batch, passed, true);
		return true;
	}
	if (filter->norder == 0)
		return true;			/* no clause, or none that is applied to batches */
	measure = filter->norder > 1 && filter->nbatches % ORDER_PERIOD < MEASURED_BATCHES;
	if (measure && filter->nbatches > 0 && filter->nbatches % ORDER_PERIOD == 0)
		rank_clauses(filter);
	filter->nbatches++;
	for (int i = 0; i < filter->norder && zskernel_bits_any(passed); i++)
	{
		FilterClause *clause = &filter->clauses[filter->order[i]];

		if (!clause->by_batch)
			continue;
		if (clause->program.waits)
		{
			if (!bind_clause(filter, clause))
				break;
			*changed = true;
		}
		if (!run_clause(clause, input, measure, passed, counts))
			return false;
	}
	if (filter->verify)
		verify_batch(filter, input, batch, passed, false);
	return true;
}
