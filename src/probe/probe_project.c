/*-------------------------------------------------------------------------
 *
 * probe_project.c
 *	  An input whose columns are expressions over another one.
 *
 * Most columns are columns below, and are handed through.  Others are programs, which run when
 * somebody asks; a batch for which one must not decide is taken row by row, through core's
 * expressions, and so are all where one is no program.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/probe/probe_project.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/memutils.h"

#include "zs_compat.h"
#include "zs_expr.h"
#include "zs_probe.h"

typedef struct ProjectColumn
{
	AttrNumber	below;			/* column of the input below; 0: expr and state */
	ZsExpr	   *expr;			/* NULL: no program */
	ExprState  *state;
} ProjectColumn;

typedef struct ProjectInput
{
	ZsInput		base;			/* first */
	ZsInput    *below;
	ProjectColumn *columns;
	ExprContext *econtext;
	ZsQualCounts counts;
} ProjectInput;

/* ZsInputMethods.start */
static void
start_project(ZsInput *input)
{
	zsexpr_input_start(((ProjectInput *) input)->below);
}

/* ZsInputMethods.next */
static const ZsBatch *
next_batch(ZsInput *input)
{
	ExecClearTuple(input->slot);
	return zsexpr_input_next(((ProjectInput *) input)->below);
}

/* Has the vector the form that is wanted? */
static bool
has_form(const ZsColumnVector *vector, ZsDomain domain, ZsColumnWant want)
{
	switch (want)
	{
		case ZS_WANT_INT:
			return vector->vals != NULL && domain != ZS_DOMAIN_DECIMAL;
		case ZS_WANT_DECIMAL:
			return vector->vals != NULL && domain == ZS_DOMAIN_DECIMAL;
		case ZS_WANT_DATUM:
			return vector->datums != NULL;
		case ZS_WANT_STRING:
		case ZS_WANT_TEXT:
			return vector->datums != NULL || vector->codes != NULL;
		default:
			return true;
	}
}

/* ZsInputMethods.column */
static const ZsColumnVector *
project_column(ZsInput *input, AttrNumber attno, ZsColumnWant want, const uint64 *sel)
{
	ProjectInput *project = (ProjectInput *) input;
	ProjectColumn *column = &project->columns[attno - 1];
	const ZsColumnVector *vector;

	Assert(attno > 0 && attno <= input->desc->natts);
	if (column->below > 0)
		return zsexpr_input_column(project->below, column->below, want, sel);
	if (column->expr == NULL)
		return NULL;
	vector = zsexpr_run(column->expr, project->below, sel, &project->counts);
	return vector != NULL && has_form(vector, zsexpr_domain(column->expr), want) ? vector : NULL;
}

/* ZsInputMethods.bounds */
static bool
project_bounds(ZsInput *input, AttrNumber attno, ZsColumnBounds *bounds)
{
	ProjectInput *project = (ProjectInput *) input;
	AttrNumber	below = project->columns[attno - 1].below;

	Assert(attno > 0 && attno <= input->desc->natts);

	return below > 0 && zsexpr_input_bounds(project->below, below, bounds);
}

/* ZsInputMethods.store */
static void
store_row(ZsInput *input, uint32 position)
{
	ProjectInput *project = (ProjectInput *) input;
	TupleTableSlot *slot = input->slot;
	TupleTableSlot *below = project->below->slot;

	ExecClearTuple(slot);
	ResetExprContext(project->econtext);
	zsexpr_input_store(project->below, position);
	project->econtext->ecxt_scantuple = below;
	for (int i = 0; i < input->desc->natts; i++)
	{
		const ProjectColumn *column = &project->columns[i];

		if (column->below > 0)
			slot->tts_values[i] = slot_getattr(below, column->below, &slot->tts_isnull[i]);
		else
			slot->tts_values[i] = ExecEvalExprSwitchContext(column->state, project->econtext,
															&slot->tts_isnull[i]);
	}
	ExecStoreVirtualTuple(slot);
}

/* ZsInputMethods.end */
static void
end_project(ZsInput *input)
{
	ExecClearTuple(input->slot);
	zsexpr_input_end(((ProjectInput *) input)->below);
}

static const ZsInputMethods project_methods = {
	.start = start_project,
	.next = next_batch,
	.column = project_column,
	.bounds = project_bounds,
	.store = store_row,
	.end = end_project,
};

/* Is each expression over an input with these columns a column or a program? */
bool
zsprobe_can_project(TupleDesc below, List *exprs)
{
	MemoryContext program = AllocSetContextCreate(CurrentMemoryContext, "zedstore program",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(program);
	bool		result = true;
	ListCell   *lc;

	foreach(lc, exprs)
	{
		if (!IsA(lfirst(lc), Var) &&
			zsexpr_compile(below, ZS_ROWS_VARNO, lfirst(lc)) == NULL)
			result = false;
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(program);
	return result;
}

/*
 * An input with columns desc, which are the expressions over below; those without a program
 * (zsprobe_can_project()) have no vectors.  Memory comes from the current context.
 */
ZsInput *
zsprobe_project_create(ZsInput *below, List *exprs, TupleDesc desc, EState *estate)
{
	ProjectInput *project = palloc0(sizeof(ProjectInput));
	ZsInput    *input = &project->base;
	ListCell   *lc;

	Assert(list_length(exprs) == desc->natts);
	input->methods = &project_methods;
	input->desc = desc;
	input->varno = ZS_ROWS_VARNO;
	input->slot = zs_alloc_table_slot(&estate->es_tupleTable, desc, &TTSOpsVirtual);
	project->below = below;
	project->columns = palloc0(Max(desc->natts, 1) * sizeof(ProjectColumn));
	project->econtext = CreateExprContext(estate);
	foreach(lc, exprs)
	{
		ProjectColumn *column = &project->columns[foreach_current_index(lc)];

		if (IsA(lfirst(lc), Var))
		{
			column->below = lfirst_node(Var, lc)->varattno;
			continue;
		}
		column->expr = zsexpr_compile(below->desc, ZS_ROWS_VARNO, lfirst(lc));
		column->state = ExecInitExpr(lfirst(lc), NULL);
	}
	return input;
}
