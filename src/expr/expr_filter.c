/*-------------------------------------------------------------------------
 *
 * expr_filter.c
 *	  The filter of a table whose rows are aggregated by batches.
 *
 * Clauses run in core's order, each on the rows that those in front of it have left.  But programs
 * raise no errors, so neighbours that have theirs from the beginning run in the order of what they
 * have to look at: integers and dictionaries before strings.  Parameters and stable functions are
 * constants of the scan (expr_fold.c): a clause gets its program when its parts have values.
 *
 * Parameters that have values give them at the start.  What else looks at no column (a stable
 * function, the value of an InitPlan that has not run) may raise an error, which must come where
 * core has it: when a row comes to the clause, and not before the errors of earlier rows.  So the
 * batch in which that happens is taken row by row; when that has gone well the parts are
 * evaluated.  If there is no program with their values all batches in which a row comes to the
 * clause are taken row by row.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_filter.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/memutils.h"

#include "zs_expr_filter.h"
#include "zs_expr_fold.h"

typedef struct FilterClause
{
	Node	   *expr;
	List	   *parts;			/* ZsFoldedPart */
	ZsQual	   *program;		/* NULL: not made, or there is none */
	bool		compiled;		/* there is none with the parts' values, if it is NULL */
	bool		reached;		/* a row has come to it, and its parts were evaluated for that */
	int			rank;			/* of a program that it has from the beginning */
} FilterClause;

struct ZsFilter
{
	TupleDesc	desc;
	Index		varno;
	PlanState  *node;
	ExprContext *econtext;		/* of parts */
	int			nclauses;
	FilterClause *clauses;
	int		   *order;			/* in which they run: their numbers */
	MemoryContext context;		/* programs and values that a rescan changes */
};

/* See zs_expr_filter.h. */
bool
zsexpr_filter_possible(TupleDesc desc, Index varno, List *clauses)
{
	int			nvectors = 0;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		Node	   *expr = zsexpr_fold_with_nulls(lfirst(lc));

		if (expr == NULL || !zsexpr_qual_has_program(desc, varno, expr, &nvectors) ||
			nvectors > ZS_MAX_FILTER_VECTORS)
			return false;
	}
	return true;
}

/* Decides in which order the clauses run. */
static void
order_clauses(ZsFilter *filter)
{
	for (int i = 0; i < filter->nclauses; i++)
	{
		const FilterClause *clause = &filter->clauses[i];
		int			place = i;

		/* no further than behind one that waits for its program */
		while (place > 0 && clause->program != NULL)
		{
			const FilterClause *before = &filter->clauses[filter->order[place - 1]];

			if (before->program == NULL ||
				before->rank <= clause->rank)
				break;
			filter->order[place] = filter->order[place - 1];
			place--;
		}
		filter->order[place] = i;
	}
}

/* See zs_expr_filter.h. */
ZsFilter *
zsexpr_filter_create(TupleDesc desc, Index varno, List *clauses, PlanState *node)
{
	ZsFilter *filter = palloc0(sizeof(ZsFilter));
	ListCell   *lc;

	filter->desc = desc;
	filter->varno = varno;
	filter->node = node;
	filter->econtext = CreateExprContext(node->state);
	filter->clauses = palloc0(Max(list_length(clauses), 1) * sizeof(FilterClause));
	filter->context = AllocSetContextCreate(CurrentMemoryContext, "zedstore aggregate filter",
											ALLOCSET_SMALL_SIZES);
	filter->order = palloc0(Max(list_length(clauses), 1) * sizeof(int));
	foreach(lc, clauses)
	{
		FilterClause *clause = &filter->clauses[filter->nclauses++];

		clause->expr = lfirst(lc);
		clause->parts = zsexpr_fold_find(clause->expr);
		zsexpr_fold_init(clause->parts, NULL);
		if (clause->parts == NIL)
		{
			clause->program = zsexpr_qual_compile(desc, varno, clause->expr);
			clause->rank = clause->program != NULL ? zsexpr_qual_rank(clause->program) : 0;
			clause->compiled = true;
		}
	}
	Assert(filter->nclauses == list_length(clauses));
	order_clauses(filter);
	return filter;
}

/* Makes the program if all parts have values, or get them now. */
static void
complete_clause(ZsFilter *filter, FilterClause *clause)
{
	MemoryContext old;

	Assert(!clause->compiled && clause->parts != NIL);
	if (!zsexpr_fold_complete(clause->parts, clause->reached, filter->node, filter->econtext,
							  filter->context))
		return;
	old = MemoryContextSwitchTo(filter->context);
	clause->program = zsexpr_qual_compile(filter->desc, filter->varno,
										  zsexpr_fold_replace(clause->expr, clause->parts));
	clause->compiled = true;
	MemoryContextSwitchTo(old);
}

/* See zs_expr_filter.h. */
void
zsexpr_filter_start(ZsFilter *filter)
{
	for (int i = 0; i < filter->nclauses; i++)
	{
		FilterClause *clause = &filter->clauses[i];

		if (clause->parts == NIL)
			continue;
		clause->program = NULL;
		clause->compiled = clause->reached = false;
		zsexpr_fold_forget(clause->parts);
	}
	MemoryContextReset(filter->context);
	for (int i = 0; i < filter->nclauses; i++)
	{
		if (filter->clauses[i].parts != NIL)
			complete_clause(filter, &filter->clauses[i]);
	}
}

/* See zs_expr_filter.h. */
List *
zsexpr_filter_clauses(const ZsFilter *filter)
{
	List	   *result = NIL;

	for (int i = 0; i < filter->nclauses; i++)
	{
		const FilterClause *clause = &filter->clauses[i];

		result = lappend(result, clause->compiled ?
						 zsexpr_fold_replace(clause->expr, clause->parts) : clause->expr);
	}
	return result;
}

/* See zs_expr_filter.h. */
bool
zsexpr_filter_run(ZsFilter *filter, ZsInput *input, uint64 *passed, ZsQualCounts *counts,
				  bool *changed)
{
	if (zsexpr_input_excluded(input))
	{
		counts->skipped++;
		zskernel_bits_clear(passed);
		return true;
	}
	for (int i = 0; i < filter->nclauses && zskernel_bits_any(passed); i++)
	{
		FilterClause *clause = &filter->clauses[filter->order[i]];
		ZsTruth		truth;

		if (!clause->compiled && clause->reached)
		{
			complete_clause(filter, clause);
			*changed = *changed || clause->compiled;
		}
		Assert(clause->program == NULL || clause->compiled);
		clause->reached = true;
		if (clause->program == NULL ||
			!zsexpr_qual_run(clause->program, input, passed, &truth, counts))
			return false;
		zskernel_bits_and(passed, truth.yes);
	}
	return true;
}
