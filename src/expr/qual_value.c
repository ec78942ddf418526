/*-------------------------------------------------------------------------
 *
 * qual_value.c
 *	  Conditions on expressions, and the order of conditions.
 *
 * A comparison with a constant is that of a column with one; integers and floats of two vectors are
 * compared value by value.  Numerics of two vectors may have two scales: their difference is
 * compared with zero, and a batch in which it does not fit is given back like any other overflow.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/qual_value.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "expr_internal.h"
#include "qual_internal.h"

/* The node as a constant; NULL if it is none, nor a parameter that has a value. */
static const Const *
as_const(const ZsCompiler *compiler, Node *node)
{
	node = zsexpr_compiler_resolve(compiler, node);
	return IsA(node, Const) ? (const Const *) node : NULL;
}

/* Compares the values of two expressions; NULL if the domain has no such comparison. */
static ZsQual *
make_values(ZsDomain domain, ZsCompare op, ZsExpr *left, ZsExpr *right)
{
	ZsQual	   *qual = palloc0(sizeof(ZsQual));

	switch (domain)
	{
		case ZS_DOMAIN_INT:
		case ZS_DOMAIN_UINT:
			break;
		case ZS_DOMAIN_FLOAT4:
		case ZS_DOMAIN_FLOAT8:
			domain = ZS_DOMAIN_FLOAT8;
			left = zsexpr_as_float8(left);
			right = zsexpr_as_float8(right);
			break;
		case ZS_DOMAIN_DECIMAL:
			qual->kind = ZS_QUAL_COMPARE;
			qual->expr = zsexpr_subtract(left, right);
			qual->domain = domain;
			qual->op = op;
			return qual;
		default:
			return NULL;
	}
	qual->kind = ZS_QUAL_VALUES;
	qual->expr = left;
	qual->expr2 = right;
	qual->domain = domain;
	qual->op = op;
	return qual;
}

/*
 * "value op value", by a function of the domain, of which one is an expression, or both are columns
 * (qual_value.c); NULL if there is no program.
 */
ZsQual *
zsexpr_qual_compile_values(ZsCompiler *compiler, ZsCompare op, ZsDomain domain, Node *left,
						   Node *right)
{
	const Const *c = as_const(compiler, right);
	ZsDomain	left_domain = domain;
	ZsDomain	right_domain = domain;
	ZsExpr	   *value;
	ZsExpr	   *other;
	ZsQual	   *qual;

	if (c == NULL && as_const(compiler, left) != NULL)
		return zsexpr_qual_compile_values(compiler, zsexpr_qual_commute(op), domain, right,
										  left);
	value = zsexpr_compile_node(compiler, left);
	if (value == NULL || !zsexpr_qual_match_domain(value->domain, &left_domain))
		return NULL;
	if (c != NULL && !c->constisnull)
	{
		qual = zsexpr_qual_make_compare(compiler, InvalidAttrNumber, left_domain, op,
										c->constvalue, c->consttype);
		if (qual != NULL)
			qual->expr = value;
		return qual;
	}
	other = zsexpr_compile_node(compiler, right);
	if (other == NULL || !zsexpr_qual_match_domain(other->domain, &right_domain))
		return NULL;
	return make_values(left_domain, op, value, other);
}

/* An expression that is a condition by its value. */
ZsQual *
zsexpr_qual_compile_value(ZsCompiler *compiler, Node *expr)
{
	ZsExpr	   *value;
	ZsQual	   *qual;

	if (exprType(expr) != BOOLOID)
		return NULL;
	value = zsexpr_compile_node(compiler, expr);
	if (value == NULL || value->domain != ZS_DOMAIN_INT)
		return NULL;
	qual = zsexpr_qual_make_compare(compiler, InvalidAttrNumber, ZS_DOMAIN_INT, ZS_CMP_NE,
									BoolGetDatum(false), BOOLOID);
	Assert(qual != NULL);
	qual->expr = value;
	return qual;
}

/* ---- order ---------------------------------------------------------------------- */

typedef struct RankedClause
{
	Node	   *clause;
	Index		security_level;
	Cost		cost;
	int			place;
} RankedClause;

/* qsort callback, as core's order_qual_clauses() has it. */
static int
compare_rank(const void *a, const void *b)
{
	const RankedClause *x = a;
	const RankedClause *y = b;

	if (x->security_level != y->security_level)
		return x->security_level < y->security_level ? -1 : 1;
	if (x->cost != y->cost)
		return x->cost < y->cost ? -1 : 1;
	return x->place - y->place;
}

/*
 * The clauses (RestrictInfos or not) in the order in which core evaluates them: by security level,
 * then by cost.  Once one of them may raise an error the order shows.
 */
List *
zsexpr_qual_order(PlannerInfo *root, List *clauses)
{
	int			n = list_length(clauses);
	RankedClause *ranked = palloc(Max(n, 1) * sizeof(RankedClause));
	List	   *result = NIL;

	for (int i = 0; i < n; i++)
	{
		RankedClause *r = &ranked[i];
		QualCost	cost;

		r->clause = list_nth(clauses, i);
		r->place = i;
		cost_qual_eval_node(&cost, r->clause, root);
		r->cost = cost.per_tuple;
		r->security_level = 0;
		if (IsA(r->clause, RestrictInfo))
		{
			RestrictInfo *rinfo = (RestrictInfo *) r->clause;

			/* cheap ones that leak nothing may go in front */
			if (!rinfo->leakproof || r->cost >= 10 * cpu_operator_cost)
				r->security_level = rinfo->security_level;
		}
	}
	qsort(ranked, n, sizeof(RankedClause), compare_rank);
	for (int i = 0; i < n; i++)
		result = lappend(result, ranked[i].clause);
	Assert(list_length(result) == n);
	return result;
}

/* What a program has to look at: the less, the smaller. */
int
zsexpr_qual_rank(const ZsQual *qual)
{
	bool		is_string = qual->domain == ZS_DOMAIN_TEXT || qual->domain == ZS_DOMAIN_BPCHAR;
	int			rank = 0;

	if (qual->expr != NULL || qual->expr2 != NULL)
		return is_string || qual->kind == ZS_QUAL_LIKE ? 5 : 3;
	switch (qual->kind)
	{
		case ZS_QUAL_CONST:
		case ZS_QUAL_NULL:
			break;
		case ZS_QUAL_COMPARE:
			/* codes and lengths often decide whether strings are equal */
			rank = !is_string ? 1 : qual->op == ZS_CMP_EQ || qual->op == ZS_CMP_NE ? 2 : 4;
			break;
		case ZS_QUAL_COLUMNS:
		case ZS_QUAL_VALUES:
		case ZS_QUAL_IN:
			rank = 1;
			break;
		case ZS_QUAL_LIKE:
			rank = 4;
			break;
		case ZS_QUAL_AND:
		case ZS_QUAL_OR:
		case ZS_QUAL_NOT:
		case ZS_QUAL_IS_TRUE:
		case ZS_QUAL_IS_FALSE:
		case ZS_QUAL_IS_UNKNOWN:
			for (int i = 0; i < qual->nargs; i++)
				rank = Max(rank, zsexpr_qual_rank(qual->args[i]));
			break;
	}
	return rank;
}
