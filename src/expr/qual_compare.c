/*-------------------------------------------------------------------------
 *
 * qual_compare.c
 *	  Comparisons of columns with constants and with each other, as nodes of a filter.
 *
 * Functions are known by their OIDs, which are fixed for those of the server; what a search path
 * leads to plays no part.  What a comparison does is decided by its function and by the domain of
 * the column, which says how the bits of a value are understood.
 *
 * Strings are compared byte by byte: for equality if the collation is deterministic, for order if
 * it is C's.  Other comparisons of strings have no program.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/qual_compare.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "common/int.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"

#include "qual_internal.h"

typedef struct Comparison
{
	Oid			funcid;
	ZsCompare	op;
	ZsDomain	domain;			/* FLOAT8 stands for both floats */
} Comparison;

#define SIX(name, domain) \
	{F_##name##LT, ZS_CMP_LT, domain}, {F_##name##LE, ZS_CMP_LE, domain}, \
	{F_##name##EQ, ZS_CMP_EQ, domain}, {F_##name##NE, ZS_CMP_NE, domain}, \
	{F_##name##GE, ZS_CMP_GE, domain}, {F_##name##GT, ZS_CMP_GT, domain}

static const Comparison comparisons[] = {
	SIX(BOOL, ZS_DOMAIN_INT),
	SIX(INT2, ZS_DOMAIN_INT),
	SIX(INT4, ZS_DOMAIN_INT),
	SIX(INT8, ZS_DOMAIN_INT),
	SIX(INT24, ZS_DOMAIN_INT),
	SIX(INT28, ZS_DOMAIN_INT),
	SIX(INT42, ZS_DOMAIN_INT),
	SIX(INT48, ZS_DOMAIN_INT),
	SIX(INT82, ZS_DOMAIN_INT),
	SIX(INT84, ZS_DOMAIN_INT),
	SIX(DATE_, ZS_DOMAIN_INT),
	SIX(TIME_, ZS_DOMAIN_INT),
	SIX(TIMESTAMP_, ZS_DOMAIN_INT),
	SIX(TIMESTAMPTZ_, ZS_DOMAIN_INT),
	SIX(CASH_, ZS_DOMAIN_INT),
	SIX(CHAR, ZS_DOMAIN_UINT),
	SIX(OID, ZS_DOMAIN_UINT),
	SIX(PG_LSN_, ZS_DOMAIN_UINT),
	SIX(FLOAT4, ZS_DOMAIN_FLOAT8),
	SIX(FLOAT8, ZS_DOMAIN_FLOAT8),
	SIX(FLOAT48, ZS_DOMAIN_FLOAT8),
	SIX(FLOAT84, ZS_DOMAIN_FLOAT8),
	SIX(NUMERIC_, ZS_DOMAIN_DECIMAL),
	{F_TEXTEQ, ZS_CMP_EQ, ZS_DOMAIN_TEXT},
	{F_TEXTNE, ZS_CMP_NE, ZS_DOMAIN_TEXT},
	{F_TEXT_LT, ZS_CMP_LT, ZS_DOMAIN_TEXT},
	{F_TEXT_LE, ZS_CMP_LE, ZS_DOMAIN_TEXT},
	{F_TEXT_GE, ZS_CMP_GE, ZS_DOMAIN_TEXT},
	{F_TEXT_GT, ZS_CMP_GT, ZS_DOMAIN_TEXT},
	{F_BPCHAREQ, ZS_CMP_EQ, ZS_DOMAIN_BPCHAR},
	{F_BPCHARNE, ZS_CMP_NE, ZS_DOMAIN_BPCHAR},
	{F_BPCHARLT, ZS_CMP_LT, ZS_DOMAIN_BPCHAR},
	{F_BPCHARLE, ZS_CMP_LE, ZS_DOMAIN_BPCHAR},
	{F_BPCHARGE, ZS_CMP_GE, ZS_DOMAIN_BPCHAR},
	{F_BPCHARGT, ZS_CMP_GT, ZS_DOMAIN_BPCHAR},
};

/* The comparison that the function makes; NULL: none that we know. */
static const Comparison *
find_comparison(Oid funcid)
{
	for (int i = 0; i < (int) lengthof(comparisons); i++)
	{
		if (comparisons[i].funcid == funcid)
			return &comparisons[i];
	}
	return NULL;
}

/* Is it a function that compares two values, and has a program? */
bool
zsexpr_is_comparison(Oid funcid)
{
	return find_comparison(funcid) != NULL;
}

/* Is the function the equality of values of the domain? */
bool
zsexpr_is_equality(Oid funcid, ZsDomain domain)
{
	const Comparison *comparison = find_comparison(funcid);
	ZsDomain	wanted;

	if (comparison == NULL || comparison->op != ZS_CMP_EQ)
		return false;
	wanted = comparison->domain;
	return zsexpr_qual_match_domain(domain, &wanted);
}

/* ---- operators ---------------------------------------------------------------------- */

/* Are strings compared byte by byte? */
static bool
collation_fits(const Comparison *comparison, Oid collation)
{
	if (comparison->domain != ZS_DOMAIN_TEXT && comparison->domain != ZS_DOMAIN_BPCHAR)
		return true;
	if (comparison->op != ZS_CMP_EQ && comparison->op != ZS_CMP_NE)
		return zs_collation_is_c(collation);
	return OidIsValid(collation) && get_collation_isdeterministic(collation);
}

/* A comparison; NULL if there is no program. */
ZsQual *
zsexpr_qual_compile_op(ZsCompiler *compiler, const OpExpr *op)
{
	Oid			funcid = OidIsValid(op->opfuncid) ? op->opfuncid : get_opcode(op->opno);
	const Comparison *comparison = find_comparison(funcid);
	ZsDomain	domain;
	ZsDomain	left_domain;
	ZsDomain	right_domain;
	AttrNumber	left;
	AttrNumber	right;
	const Const *c;
	ZsQual	   *qual;

	if (comparison == NULL)
	{
		qual = zsexpr_qual_compile_date(compiler, funcid, op->args);
		return qual != NULL ? qual :
			zsexpr_qual_compile_like(compiler, funcid, op->args, op->inputcollid);
	}
	if (list_length(op->args) != 2 || !collation_fits(comparison, op->inputcollid))
		return NULL;
	domain = comparison->domain;
	left = zsexpr_compiler_column(compiler, linitial(op->args), &left_domain);
	right = zsexpr_compiler_column(compiler, lsecond(op->args), &right_domain);
	if (left != InvalidAttrNumber && right != InvalidAttrNumber)
	{
		ZsDomain	other = domain;

		if (domain != ZS_DOMAIN_INT)
			return zsexpr_qual_compile_values(compiler, comparison->op, domain,
											  linitial(op->args), lsecond(op->args));
		if (!zsexpr_qual_match_domain(left_domain, &domain) ||
			!zsexpr_qual_match_domain(right_domain, &other))
			return NULL;
		qual = zsexpr_qual_make(ZS_QUAL_COLUMNS);
		qual->attno = left;
		qual->attno2 = right;
		qual->domain = domain;
		qual->op = comparison->op;
		return qual;
	}
	c = (const Const *) zsexpr_compiler_resolve(compiler, left != InvalidAttrNumber ?
												lsecond(op->args) : linitial(op->args));
	if ((left == InvalidAttrNumber && right == InvalidAttrNumber) || !IsA(c, Const))
		return zsexpr_qual_compile_values(compiler, comparison->op, domain, linitial(op->args),
										  lsecond(op->args));
	if (!zsexpr_qual_match_domain(left != InvalidAttrNumber ? left_domain : right_domain,
								  &domain))
		return NULL;
	/* all of these functions are strict */
	if (c->constisnull)
		return zsexpr_qual_make_const(true, false);
	return left != InvalidAttrNumber ?
		zsexpr_qual_make_compare(compiler, left, domain, comparison->op, c->constvalue,
								 c->consttype) :
		zsexpr_qual_make_compare(compiler, right, domain, zsexpr_qual_commute(comparison->op),
								 c->constvalue, c->consttype);
}

static int
compare_int64(const void *a, const void *b)
{
	return pg_cmp_s64(*(const int64 *) a, *(const int64 *) b);
}

/*
 * "column op ANY (array)" and "column op ALL (array)" are what their members joined by OR or AND
 * are.
 */
ZsQual *
zsexpr_qual_compile_array_op(ZsCompiler *compiler, const ScalarArrayOpExpr *op)
{
	Oid			funcid = OidIsValid(op->opfuncid) ? op->opfuncid : get_opcode(op->opno);
	const Comparison *comparison = find_comparison(funcid);
	const Const *c = (const Const *) zsexpr_compiler_resolve(compiler, lsecond(op->args));
	ZsDomain	domain;
	ZsDomain	have;
	AttrNumber	attno;
	ZsExpr	   *expr = NULL;
	ArrayType  *array;
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Datum	   *values;
	bool	   *nulls;
	int			n;
	int			nnulls = 0;
	bool		as_list;
	ZsQual	   *qual;
	ZsQual	   *in = NULL;

	Assert(list_length(op->args) == 2);
	if (comparison == NULL || !IsA(c, Const) || !collation_fits(comparison, op->inputcollid))
		return NULL;
	domain = comparison->domain;
	attno = zsexpr_compiler_column(compiler, linitial(op->args), &have);
	if (attno == InvalidAttrNumber)
	{
		expr = zsexpr_compile_node(compiler, linitial(op->args));
		if (expr == NULL)
			return NULL;
		have = zsexpr_domain(expr);
	}
	if (!zsexpr_qual_match_domain(have, &domain))
		return NULL;
	/* an expression is evaluated even if the array leaves nothing to be compared with it */
	if (c->constisnull)
		return expr != NULL ? NULL : zsexpr_qual_make_const(true, false);

	array = DatumGetArrayTypeP(c->constvalue);
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &typlen, &typbyval, &typalign);
	deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval, typalign, &values, &nulls, &n);

	/* without members the answer is known even for NULL */
	if (n == 0)
		return expr != NULL ? NULL : zsexpr_qual_make_const(false, !op->useOr);
	if (n > 64 && domain != ZS_DOMAIN_INT && domain != ZS_DOMAIN_UINT)
		return NULL;
	for (int i = 0; i < n; i++)
		nnulls += nulls[i];
	if (expr != NULL && nnulls == n)
		return NULL;
	as_list = (domain == ZS_DOMAIN_INT || domain == ZS_DOMAIN_UINT) && n > 1 &&
		comparison->op == (op->useOr ? ZS_CMP_EQ : ZS_CMP_NE);

	qual = zsexpr_qual_make_list(op->useOr ? ZS_QUAL_OR : ZS_QUAL_AND, n + 1);
	if (as_list)
	{
		in = zsexpr_qual_make(ZS_QUAL_IN);
		in->attno = attno;
		in->expr = expr;
		in->domain = domain;
		in->op = comparison->op;
		in->list = palloc(n * sizeof(int64));
	}
	for (int i = 0; i < n; i++)
	{
		ZsQual	   *member;

		if (nulls[i])
			member = zsexpr_qual_make_const(true, false);
		else
			member = zsexpr_qual_make_compare(compiler, attno, domain, comparison->op, values[i],
											  ARR_ELEMTYPE(array));
		if (member == NULL)
			return NULL;
		member->expr = expr;
		if (as_list && !nulls[i])
			in->list[in->nlist++] = member->integer;
		else if (!as_list || qual->nargs == 0)
			qual->args[qual->nargs++] = member;
	}
	if (as_list && in->nlist > 0)
	{
		Assert(in->nlist <= (uint32) n && qual->nargs <= n);
		qsort(in->list, in->nlist, sizeof(int64), compare_int64);
		qual->args[qual->nargs++] = in;
	}
	return qual;
}
