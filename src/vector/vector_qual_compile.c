/*-------------------------------------------------------------------------
 *
 * vector_qual_compile.c
 *	  From a boolean expression to a program over batches.
 *
 * Functions are known by their OIDs, which are fixed for those of the server; what a search path
 * leads to plays no part.  Comparisons cannot raise an error; of the expressions that they compare
 * some can (vector_expr_compile.c).  Where one would, the batch is given back, and it is asked for
 * no row for which the executor would not ask for it but those for which a condition in front is
 * unknown: so a program never hides an error, and the executor decides whether there is one.
 *
 * A column may stand below RelabelType nodes, which change the name of a type and no bit of its
 * values; the comparison's function decides how the bits are understood.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_qual_compile.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "catalog/pg_collation_d.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"
#include "varatt.h"

#include "vector_qual_internal.h"
#include "zs_codec.h"

/* ---- comparisons ----------------------------------------------------------- */

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

/* See vector_qual_internal.h. */
ZsCompare
zsvector_qual_commute(ZsCompare op)
{
	switch (op)
	{
		case ZS_CMP_LT:
			return ZS_CMP_GT;
		case ZS_CMP_LE:
			return ZS_CMP_GE;
		case ZS_CMP_GE:
			return ZS_CMP_LE;
		case ZS_CMP_GT:
			return ZS_CMP_LT;
		case ZS_CMP_EQ:
		case ZS_CMP_NE:
			break;
	}
	return op;
}

/* ---- columns ------------------------------------------------------------------ */

static Node *
strip_relabel(Node *node)
{
	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node;
}

/* See vector_qual.h. */
AttrNumber
zsvector_column_of(TupleDesc desc, Index varno, Node *expr, ZsDomain *domain)
{
	const Var  *var = (const Var *) strip_relabel(expr);
	Form_pg_attribute att;
	ZsAttrKind	kind;
	Oid			type;

	*domain = ZS_DOMAIN_NONE;
	if (var == NULL || !IsA(var, Var) || var->varno != (int) varno || var->varlevelsup != 0 ||
		var->varattno <= 0 || var->varattno > desc->natts)
		return InvalidAttrNumber;
	att = TupleDescAttr(desc, var->varattno - 1);
	if (att->attisdropped)
		return InvalidAttrNumber;
	zsattr_kind(att, &kind);
	type = getBaseType(att->atttypid);
	switch (kind.kind)
	{
		case ZS_KIND_INT:
			*domain = kind.is_unsigned ? ZS_DOMAIN_UINT : ZS_DOMAIN_INT;
			break;
		case ZS_KIND_FLOAT4:
			*domain = ZS_DOMAIN_FLOAT4;
			break;
		case ZS_KIND_FLOAT8:
			*domain = ZS_DOMAIN_FLOAT8;
			break;
		case ZS_KIND_NUMERIC:
			if (kind.layout == ZS_LAYOUT_PACKED)
				*domain = ZS_DOMAIN_DECIMAL;
			break;
		case ZS_KIND_BYTES:
			if (kind.layout != ZS_LAYOUT_PACKED)
				break;
			if (type == TEXTOID || type == VARCHAROID)
				*domain = ZS_DOMAIN_TEXT;
			else if (type == BPCHAROID)
				*domain = ZS_DOMAIN_BPCHAR;
			break;
		case ZS_KIND_FIXED:
		case ZS_KIND_INVALID:
			break;
	}
	return var->varattno;
}

/* See vector_qual.h. */
ZsColumnWant
zsvector_want_of(ZsDomain domain)
{
	switch (domain)
	{
		case ZS_DOMAIN_DECIMAL:
			return ZS_WANT_DECIMAL;
		case ZS_DOMAIN_NONE:
		case ZS_DOMAIN_TEXT:
		case ZS_DOMAIN_BPCHAR:
			return ZS_WANT_DATUM;
		default:
			return ZS_WANT_INT;
	}
}

/* See vector_qual_internal.h. */
bool
zsvector_qual_match_domain(ZsDomain have, ZsDomain *wanted)
{
	switch (*wanted)
	{
		case ZS_DOMAIN_INT:
		case ZS_DOMAIN_UINT:
			return have == ZS_DOMAIN_INT || have == ZS_DOMAIN_UINT;
		case ZS_DOMAIN_FLOAT4:
		case ZS_DOMAIN_FLOAT8:
			if (have != ZS_DOMAIN_FLOAT4 && have != ZS_DOMAIN_FLOAT8)
				return false;
			*wanted = have;
			return true;
		default:
			return have == *wanted;
	}
}

/* See vector_qual.h. */
bool
zsvector_is_equality(Oid funcid, ZsDomain domain)
{
	const Comparison *comparison = find_comparison(funcid);
	ZsDomain	wanted;

	if (comparison == NULL || comparison->op != ZS_CMP_EQ)
		return false;
	wanted = comparison->domain;
	return zsvector_qual_match_domain(domain, &wanted);
}

/* ---- nodes ------------------------------------------------------------------------ */

static ZsQual *
make_qual(ZsQualKind kind)
{
	ZsQual	   *qual = palloc0(sizeof(ZsQual));

	qual->kind = kind;
	return qual;
}

/* See vector_qual_internal.h. */
ZsQual *
zsvector_qual_make_const(bool isnull, bool value)
{
	ZsQual	   *qual = make_qual(ZS_QUAL_CONST);

	qual->is_true = !isnull && value;
	qual->is_false = !isnull && !value;
	return qual;
}

static ZsQual *
make_list(ZsQualKind kind, int nargs)
{
	ZsQual	   *qual = make_qual(kind);

	qual->args = palloc0(Max(nargs, 1) * sizeof(ZsQual *));
	return qual;
}

static size_t
trimmed_length(const char *bytes, size_t len)
{
	while (len > 0 && bytes[len - 1] == ' ')
		len--;
	return len;
}

/* Puts the constant into the node; false if it has no image in the domain. */
static bool
set_constant(ZsQual *qual, Datum value, Oid type)
{
	int16		typlen;
	bool		typbyval;
	struct varlena *v;

	get_typlenbyval(type, &typlen, &typbyval);
	switch (qual->domain)
	{
		case ZS_DOMAIN_INT:
		case ZS_DOMAIN_UINT:
			if (!typbyval)
				return false;
			qual->integer = typlen == 1 ? (int8) DatumGetChar(value) :
				typlen == 2 ? DatumGetInt16(value) :
				typlen == 4 ? DatumGetInt32(value) : DatumGetInt64(value);
			return true;
		case ZS_DOMAIN_FLOAT4:
		case ZS_DOMAIN_FLOAT8:
			if (getBaseType(type) == FLOAT4OID)
				qual->real = DatumGetFloat4(value);
			else if (getBaseType(type) == FLOAT8OID)
				qual->real = DatumGetFloat8(value);
			else
				return false;
			return true;
		case ZS_DOMAIN_DECIMAL:
			v = PG_DETOAST_DATUM_PACKED(value);
			return zscodec_numeric_to_int((const uint8 *) VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v),
										  &qual->scale, &qual->integer);
		case ZS_DOMAIN_TEXT:
		case ZS_DOMAIN_BPCHAR:
			if (typlen != -1)
				return false;
			v = PG_DETOAST_DATUM_COPY(value);
			qual->bytes = VARDATA_ANY(v);
			qual->nbytes = VARSIZE_ANY_EXHDR(v);
			if (qual->domain == ZS_DOMAIN_BPCHAR)
				qual->nbytes = trimmed_length(qual->bytes, qual->nbytes);
			return true;
		case ZS_DOMAIN_NONE:
			break;
	}
	return false;
}

/* Zone map of a column of integers: the constant in its domain. */
static void
set_zone(ZsQual *qual, TupleDesc desc)
{
	ZsAttrKind	kind;

	if (qual->attno == InvalidAttrNumber ||
		(qual->domain != ZS_DOMAIN_INT && qual->domain != ZS_DOMAIN_UINT))
		return;
	Assert(qual->attno > 0 && qual->attno <= desc->natts);
	zsattr_kind(TupleDescAttr(desc, qual->attno - 1), &kind);
	if (!kind.zone_ordered || kind.is_unsigned != (qual->domain == ZS_DOMAIN_UINT))
		return;
	qual->has_zone = true;
	qual->zone_unsigned = kind.is_unsigned;
	qual->zone = zscodec_zone_from_int64(qual->integer, kind.width, kind.is_unsigned);
}

/* See vector_qual_internal.h. */
ZsQual *
zsvector_qual_make_compare(TupleDesc desc, AttrNumber attno, ZsDomain domain, ZsCompare op,
						   Datum value, Oid type)
{
	ZsQual	   *qual = make_qual(ZS_QUAL_COMPARE);

	Assert(attno >= 0 && attno <= desc->natts && domain != ZS_DOMAIN_NONE);
	qual->attno = attno;
	qual->domain = domain;
	qual->op = op;
	if (!set_constant(qual, value, type))
		return NULL;
	set_zone(qual, desc);
	return qual;
}

/* Does this collation order strings as memcmp() does? */
static bool
collation_is_c(Oid collation)
{
	if (collation == C_COLLATION_OID)
		return true;
	if (!OidIsValid(collation))
		return false;
	return zs_collation_is_c(collation);
}

/* Are strings compared byte by byte? */
static bool
collation_fits(const Comparison *comparison, Oid collation)
{
	if (comparison->domain != ZS_DOMAIN_TEXT && comparison->domain != ZS_DOMAIN_BPCHAR)
		return true;
	if (comparison->op != ZS_CMP_EQ && comparison->op != ZS_CMP_NE)
		return collation_is_c(collation);
	return OidIsValid(collation) && get_collation_isdeterministic(collation);
}

static ZsQual *
compile_op(TupleDesc desc, Index varno, const OpExpr *op)
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
		qual = zsvector_qual_compile_date(desc, varno, funcid, op->args);
		return qual != NULL ? qual :
			zsvector_qual_compile_like(desc, varno, funcid, op->args, op->inputcollid);
	}
	if (list_length(op->args) != 2 || !collation_fits(comparison, op->inputcollid))
		return NULL;
	domain = comparison->domain;
	left = zsvector_column_of(desc, varno, linitial(op->args), &left_domain);
	right = zsvector_column_of(desc, varno, lsecond(op->args), &right_domain);
	if (left != InvalidAttrNumber && right != InvalidAttrNumber)
	{
		ZsDomain	other = domain;

		if (domain != ZS_DOMAIN_INT)
			return zsvector_qual_compile_values(desc, varno, comparison->op, domain,
												linitial(op->args), lsecond(op->args));
		if (!zsvector_qual_match_domain(left_domain, &domain) ||
			!zsvector_qual_match_domain(right_domain, &other))
			return NULL;
		qual = make_qual(ZS_QUAL_COLUMNS);
		qual->attno = left;
		qual->attno2 = right;
		qual->domain = domain;
		qual->op = comparison->op;
		return qual;
	}
	c = (const Const *) strip_relabel(left != InvalidAttrNumber ? lsecond(op->args) :
									  linitial(op->args));
	if ((left == InvalidAttrNumber && right == InvalidAttrNumber) || !IsA(c, Const))
		return zsvector_qual_compile_values(desc, varno, comparison->op, domain, linitial(op->args),
											lsecond(op->args));
	if (!zsvector_qual_match_domain(left != InvalidAttrNumber ? left_domain : right_domain,
									&domain))
		return NULL;
	/* all of these functions are strict */
	if (c->constisnull)
		return zsvector_qual_make_const(true, false);
	return left != InvalidAttrNumber ?
		zsvector_qual_make_compare(desc, left, domain, comparison->op, c->constvalue,
								   c->consttype) :
		zsvector_qual_make_compare(desc, right, domain, zsvector_qual_commute(comparison->op),
								   c->constvalue, c->consttype);
}

static int
compare_int64(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return x < y ? -1 : x > y;
}

/*
 * "column op ANY (array)" and "column op ALL (array)" are what their members joined by OR or AND
 * are.
 */
static ZsQual *
compile_array_op(TupleDesc desc, Index varno, const ScalarArrayOpExpr *op)
{
	Oid			funcid = OidIsValid(op->opfuncid) ? op->opfuncid : get_opcode(op->opno);
	const Comparison *comparison = find_comparison(funcid);
	const Const *c = (const Const *) strip_relabel(lsecond(op->args));
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
	attno = zsvector_column_of(desc, varno, linitial(op->args), &have);
	if (attno == InvalidAttrNumber)
	{
		expr = zsvector_expr_compile(desc, varno, linitial(op->args));
		if (expr == NULL)
			return NULL;
		have = zsvector_expr_domain(expr);
	}
	if (!zsvector_qual_match_domain(have, &domain))
		return NULL;
	/* an expression is evaluated even if the array leaves nothing to be compared with it */
	if (c->constisnull)
		return expr != NULL ? NULL : zsvector_qual_make_const(true, false);

	array = DatumGetArrayTypeP(c->constvalue);
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &typlen, &typbyval, &typalign);
	deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval, typalign, &values, &nulls, &n);

	/* without members the answer is known even for NULL */
	if (n == 0)
		return expr != NULL ? NULL : zsvector_qual_make_const(false, !op->useOr);
	if (n > 64 && domain != ZS_DOMAIN_INT && domain != ZS_DOMAIN_UINT)
		return NULL;
	for (int i = 0; i < n; i++)
		nnulls += nulls[i];
	if (expr != NULL && nnulls == n)
		return NULL;
	as_list = (domain == ZS_DOMAIN_INT || domain == ZS_DOMAIN_UINT) && n > 1 &&
		comparison->op == (op->useOr ? ZS_CMP_EQ : ZS_CMP_NE);

	qual = make_list(op->useOr ? ZS_QUAL_OR : ZS_QUAL_AND, n + 1);
	if (as_list)
	{
		in = make_qual(ZS_QUAL_IN);
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
			member = zsvector_qual_make_const(true, false);
		else
			member = zsvector_qual_make_compare(desc, attno, domain, comparison->op, values[i],
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

static ZsQual *
compile_list(TupleDesc desc, Index varno, ZsQualKind kind, List *args)
{
	ZsQual	   *qual = make_list(kind, list_length(args));
	ListCell   *lc;

	foreach(lc, args)
	{
		ZsQual	   *arg = zsvector_qual_compile(desc, varno, lfirst(lc));

		if (arg == NULL)
			return NULL;
		qual->args[qual->nargs++] = arg;
	}
	return qual;
}

/* A node with one argument around it. */
static ZsQual *
make_unary(ZsQualKind kind, ZsQual *arg)
{
	ZsQual	   *qual;

	if (arg == NULL)
		return NULL;
	qual = make_list(kind, 1);
	qual->args[qual->nargs++] = arg;
	return qual;
}

static ZsQual *
compile_boolean_test(TupleDesc desc, Index varno, const BooleanTest *test)
{
	ZsQual	   *arg = zsvector_qual_compile(desc, varno, (Node *) test->arg);

	switch (test->booltesttype)
	{
		case IS_TRUE:
			return make_unary(ZS_QUAL_IS_TRUE, arg);
		case IS_NOT_TRUE:
			return make_unary(ZS_QUAL_NOT, make_unary(ZS_QUAL_IS_TRUE, arg));
		case IS_FALSE:
			return make_unary(ZS_QUAL_IS_FALSE, arg);
		case IS_NOT_FALSE:
			return make_unary(ZS_QUAL_NOT, make_unary(ZS_QUAL_IS_FALSE, arg));
		case IS_UNKNOWN:
			return make_unary(ZS_QUAL_IS_UNKNOWN, arg);
		case IS_NOT_UNKNOWN:
			return make_unary(ZS_QUAL_NOT, make_unary(ZS_QUAL_IS_UNKNOWN, arg));
	}
	return NULL;
}

/* IS [NOT] NULL of a column, or of a condition. */
static ZsQual *
compile_null_test(TupleDesc desc, Index varno, const NullTest *test)
{
	ZsDomain	domain;
	AttrNumber	attno = zsvector_column_of(desc, varno, (Node *) test->arg, &domain);
	ZsQual	   *qual;

	if (test->argisrow)
		return NULL;
	if (attno == InvalidAttrNumber && exprType((Node *) test->arg) == BOOLOID)
		qual = make_unary(ZS_QUAL_IS_UNKNOWN,
						  zsvector_qual_compile(desc, varno, (Node *) test->arg));
	else
	{
		ZsExpr	   *expr = NULL;

		if (attno == InvalidAttrNumber)
			expr = zsvector_expr_compile(desc, varno, (Node *) test->arg);
		if (expr == NULL && domain == ZS_DOMAIN_NONE)
			return NULL;
		qual = make_qual(ZS_QUAL_NULL);
		qual->attno = attno;
		qual->expr = expr;
		qual->domain = domain;
	}
	if (qual == NULL)
		return NULL;
	return test->nulltesttype == IS_NULL ? qual : make_unary(ZS_QUAL_NOT, qual);
}

static Node *
make_is_null(Node *arg)
{
	NullTest   *test = makeNode(NullTest);

	test->arg = (Expr *) arg;
	test->nulltesttype = IS_NULL;
	test->location = -1;
	return (Node *) test;
}

/* "a IS DISTINCT FROM b" is "NOT (a = b IS TRUE OR a IS NULL AND b IS NULL)". */
static ZsQual *
compile_distinct(TupleDesc desc, Index varno, const DistinctExpr *distinct)
{
	OpExpr	   *op = makeNode(OpExpr);
	ZsQual	   *either;
	ZsQual	   *both = make_list(ZS_QUAL_AND, 2);
	ListCell   *lc;

	Assert(list_length(distinct->args) == 2);
	/* both are the same struct with another tag */
	memcpy(op, distinct, sizeof(OpExpr));
	op->xpr.type = T_OpExpr;
	either = make_list(ZS_QUAL_OR, 2);
	either->args[either->nargs++] = make_unary(ZS_QUAL_IS_TRUE, compile_op(desc, varno, op));
	if (either->args[0] == NULL)
		return NULL;
	foreach(lc, distinct->args)
	{
		Node	   *arg = strip_relabel(lfirst(lc));
		ZsQual	   *isnull = IsA(arg, Const) ?
			zsvector_qual_make_const(false, ((Const *) arg)->constisnull) :
			zsvector_qual_compile(desc, varno, make_is_null(arg));

		if (isnull == NULL)
			return NULL;
		both->args[both->nargs++] = isnull;
	}
	either->args[either->nargs++] = both;
	return make_unary(ZS_QUAL_NOT, either);
}

/* See vector_qual.h. */
ZsQual *
zsvector_qual_compile(TupleDesc desc, Index varno, Node *expr)
{
	Assert(varno > 0);
	if (expr == NULL)
		return make_list(ZS_QUAL_AND, 0);
	check_stack_depth();
	switch (nodeTag(expr))
	{
		case T_List:
			return compile_list(desc, varno, ZS_QUAL_AND, (List *) expr);
		case T_BoolExpr:
			{
				BoolExpr   *b = (BoolExpr *) expr;

				if (b->boolop == NOT_EXPR)
					return make_unary(ZS_QUAL_NOT,
									  zsvector_qual_compile(desc, varno, linitial(b->args)));
				return compile_list(desc, varno, b->boolop == AND_EXPR ? ZS_QUAL_AND : ZS_QUAL_OR,
									b->args);
			}
		case T_OpExpr:
			return compile_op(desc, varno, (OpExpr *) expr);
		case T_ScalarArrayOpExpr:
			return compile_array_op(desc, varno, (ScalarArrayOpExpr *) expr);
		case T_NullTest:
			return compile_null_test(desc, varno, (NullTest *) expr);
		case T_DistinctExpr:
			return compile_distinct(desc, varno, (DistinctExpr *) expr);
		case T_BooleanTest:
			return compile_boolean_test(desc, varno, (BooleanTest *) expr);
		case T_Const:
			{
				Const	   *c = (Const *) expr;

				return c->consttype != BOOLOID ? NULL :
					zsvector_qual_make_const(c->constisnull, !c->constisnull &&
											 DatumGetBool(c->constvalue));
			}
		case T_Var:
			{
				ZsDomain	domain;
				AttrNumber	attno = zsvector_column_of(desc, varno, expr, &domain);

				if (attno == InvalidAttrNumber || ((Var *) expr)->vartype != BOOLOID)
					return NULL;
				return zsvector_qual_make_compare(desc, attno, domain, ZS_CMP_NE,
												  BoolGetDatum(false), BOOLOID);
			}
		case T_FuncExpr:
			{
				FuncExpr   *f = (FuncExpr *) expr;
				ZsQual	   *qual = zsvector_qual_compile_like(desc, varno, f->funcid, f->args,
															  f->inputcollid);

				return qual != NULL ? qual : zsvector_qual_compile_value(desc, varno, expr);
			}
		case T_CaseExpr:
		case T_CoalesceExpr:
		case T_NullIfExpr:
			return zsvector_qual_compile_value(desc, varno, expr);
		default:
			return NULL;
	}
}
