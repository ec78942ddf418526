/*-------------------------------------------------------------------------
 *
 * expr_program.c
 *	  Expressions of a plan node with their programs, whose parameters may come later.
 *
 * Whoever runs programs on the rows of a node has a set of them: the filter of a table
 * (expr_filter.c) has one for its clauses, a node with aggregates one for keys, arguments and
 * FILTER clauses.  Pseudoconstants (expr_bind.c) get their values here and nowhere else, and a
 * program is compiled when all of its have one.  Until then its owner has the program with NULLs in
 * their places, which tells of which type the values are going to be and never runs.
 *
 * What has a value gives it at the start.  What has none (a stable function, the value of an
 * InitPlan that has not run) may raise an error, which must come where core has it: that is, when a
 * row comes to the whole expression.  Only the owner knows that, and says so.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_program.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/memutils.h"

#include "expr_bind.h"

struct ZsPrograms
{
	TupleDesc	desc;			/* of the rows, and their number in expressions */
	Index		varno;
	PlanState  *node;			/* whose parameters the expressions have */
	PlanState  *parent;			/* of the pseudoconstants' states; or NULL */
	ExprContext *econtext;		/* of pseudoconstants; NULL: there are none */
	MemoryContext context;		/* values and programs that a start changes */
	List	   *programs;		/* those that have pseudoconstants */
	int			nunbound;		/* of these */
};

/*
 * No programs yet, for expressions of the node that look at rows of desc by varno.  parent: the
 * node if its scan slot has the rows, or it has subplans for them; else NULL.  Memory comes from
 * the current context.
 */
ZsPrograms *
zsexpr_programs_create(TupleDesc desc, Index varno, PlanState *node, PlanState *parent)
{
	ZsPrograms *programs = palloc0_object(ZsPrograms);

	Assert(desc != NULL && varno > 0 && node != NULL);
	programs->desc = desc;
	programs->varno = varno;
	programs->node = node;
	programs->parent = parent;
	return programs;
}

/* Adds a program, all zeros. */
static void
add_program(ZsPrograms *programs, ZsProgram *program, Node *expr)
{
	Assert(expr != NULL && program->expr == NULL);
	program->expr = expr;
	program->pseudos = zsexpr_bind_find(expr);
	zsexpr_bind_init(program->pseudos, programs->parent);
	program->bound = program->pseudos == NIL;
	program->waits = !program->bound;
	if (program->bound)
		return;
	if (programs->econtext == NULL)
	{
		programs->econtext = CreateExprContext(programs->node->state);
		programs->context = AllocSetContextCreate(CurrentMemoryContext, "zedstore programs",
												  ALLOCSET_SMALL_SIZES);
	}
	programs->programs = lappend(programs->programs, program);
	programs->nunbound++;
}

/*
 * Adds the program, all zeros, of a boolean expression.  *condition: what was compiled of it
 * unbound, or NULL if it has no program; set to what may run when that is known.  Both stay where
 * they are.  Programs have to be started then.
 */
void
zsexpr_programs_add_condition(ZsPrograms *programs, ZsProgram *program, Node *expr,
							  ZsQual **condition)
{
	add_program(programs, program, expr);
	program->condition = condition;
	program->unbound_condition = *condition;
}

/* As zsexpr_programs_add_condition(), of an expression with any value. */
void
zsexpr_programs_add_value(ZsPrograms *programs, ZsProgram *program, Node *expr, ZsExpr **value)
{
	add_program(programs, program, expr);
	program->value = value;
	program->unbound_value = *value;
}

/* Are values of the domain of the same kind only if they have as many bytes? */
static bool
has_width(ZsDomain domain)
{
	return domain != ZS_DOMAIN_TEXT && domain != ZS_DOMAIN_BPCHAR && domain != ZS_DOMAIN_DECIMAL;
}

/* Gives the program, which is bound, to its owner; false if there is none with these values. */
static bool
compile(const ZsPrograms *programs, const ZsProgram *program)
{
	Node	   *expr = zsexpr_bind_replace(program->expr, program->pseudos);

	Assert(program->bound);
	if (program->unbound_condition != NULL)
	{
		ZsQual	   *condition = zsexpr_qual_compile(programs->desc, programs->varno, expr);

		if (condition == NULL)
			return false;
		*program->condition = condition;
		return true;
	}
	if (program->unbound_value != NULL)
	{
		ZsExpr	   *value = zsexpr_compile(programs->desc, programs->varno, expr);
		ZsDomain	domain = zsexpr_domain(program->unbound_value);

		if (value == NULL || zsexpr_domain(value) != domain ||
			(has_width(domain) &&
			 zsexpr_width(value) != zsexpr_width(program->unbound_value)))
			return false;
		*program->value = value;
		return true;
	}
	return false;
}

/*
 * Gives values to pseudoconstants that have none, if that may be done now: those that are ready
 * and, if a row has reached the expression, those that the executor comes to with it.  When all
 * have one the program is compiled; true if that is so now and was not before.  Reads system
 * catalogs.  Errors: those of the pseudoconstants, which the rows before have not had.
 */
bool
zsexpr_program_bind(ZsPrograms *programs, ZsProgram *program)
{
	MemoryContext old;

	if (program->bound)
		return false;
	program->bound = zsexpr_bind_values(program->pseudos, program->reached, programs->node,
										programs->econtext, programs->context);
	if (!program->bound)
		return false;
	Assert(program->waits && programs->nunbound > 0);
	programs->nunbound--;
	old = MemoryContextSwitchTo(programs->context);
	program->waits = !compile(programs, program);
	MemoryContextSwitchTo(old);
	return true;
}

/* As zsexpr_program_bind(), of all programs; true if it was so of any. */
bool
zsexpr_programs_bind(ZsPrograms *programs)
{
	bool		result = false;
	ListCell   *lc;

	if (programs->nunbound == 0)
		return false;
	foreach(lc, programs->programs)
	{
		if (zsexpr_program_bind(programs, lfirst(lc)))
			result = true;
	}
	return result;
}

/*
 * For the first row, for the first time or anew: pseudoconstants may have other values.  No row has
 * reached any expression.  False if none has pseudoconstants: nothing changes then, ever.  Raises
 * no errors of theirs, since only values are taken that are there.
 */
bool
zsexpr_programs_start(ZsPrograms *programs)
{
	ListCell   *lc;

	if (programs->programs == NIL)
		return false;
	foreach(lc, programs->programs)
	{
		ZsProgram  *program = lfirst(lc);

		zsexpr_bind_forget(program->pseudos);
		program->bound = program->reached = false;
		program->waits = true;
		if (program->condition != NULL)
			*program->condition = program->unbound_condition;
		else
			*program->value = program->unbound_value;
	}
	MemoryContextReset(programs->context);
	programs->nunbound = list_length(programs->programs);
	(void) zsexpr_programs_bind(programs);
	return true;
}

/* Is it bound, or going to be as soon as a row has reached it? */
bool
zsexpr_program_is_bound_by_row(const ZsProgram *program)
{
	ListCell   *lc;

	foreach(lc, program->pseudos)
	{
		const ZsPseudoConst *pseudo = lfirst(lc);

		if (pseudo->value == NULL && !pseudo->is_direct)
			return false;
	}
	return true;
}

/*
 * The expression, with the values of its pseudoconstants if all have one.  One that has none may
 * raise an error, as the expression that it is.  In the current context, for as long as the
 * programs are not started anew.
 */
Node *
zsexpr_program_known_expr(const ZsProgram *program)
{
	return program->bound ? zsexpr_bind_replace(program->expr, program->pseudos) : program->expr;
}
