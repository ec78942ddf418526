/*-------------------------------------------------------------------------
 *
 * scan_zone_clause.c
 *	  Which values of a column may pass a condition?
 *
 * A condition becomes the set of images (scan_zone_set.c) that the column's values have where it
 * may be true, and whether it may be true for NULL; a segment that has none of these is not read.
 *
 * Comparisons with a constant are ranges; IN, "= ANY" and OR are unions, AND is an intersection;
 * LIKE and ^@ with a constant beginning are the range of strings that begin so.  What is not known
 * is the set of all values, which is right for every condition.
 *
 * Two things may be true of a column.  Where the zone domain follows the order of the type
 * (ZsAttrKind.zone_ordered), all comparisons of the type's B-tree operator family are ranges.
 * Where it only shows what = calls equal (zone_equal), that one is: of strings with a deterministic
 * collation, and of enums, whose OIDs say nothing about their order.
 *
 * The operator's collation decides, not the column's: strings compared by "C" are ordered as their
 * bytes are, whatever the column's collation is.
 *
 * Small materialized aggregates: G. Moerkotte, VLDB 1998.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_zone_clause.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "access/stratnum.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/params.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"
#include "utils/typcache.h"
#include "varatt.h"

#include "scan_zone_set.h"
#include "zs_clause.h"
#include "zs_codec.h"

/* Arrays with more members are not looked at. */
#define MAX_MEMBERS		65536

/* The column that is asked about. */
typedef struct ZoneContext
{
	Index		varno;
	AttrNumber	attno;
	Oid			type;			/* its base type */
	Oid			opfamily;		/* of that type's default B-tree operator class, or InvalidOid */
	ZsAttrKind	kind;
	struct ParamListInfoData *params;
} ZoneContext;

static void find_set(ZoneContext *context, Node *node, ZsZoneSet *set);

/* ---- operators ------------------------------------------------------------------------- */

/* What stands below other names for its type, and other collations of it. */
static Node *
strip(Node *node)
{
	for (;;)
	{
		if (node != NULL && IsA(node, RelabelType))
			node = (Node *) ((RelabelType *) node)->arg;
		else if (node != NULL && IsA(node, CollateExpr))
			node = (Node *) ((CollateExpr *) node)->arg;
		else
			return node;
	}
}

static bool
is_column(const ZoneContext *context, Node *node)
{
	const Var  *var = (const Var *) strip(node);

	return var != NULL && IsA(var, Var) && var->varno == (int) context->varno &&
		var->varattno == context->attno && var->varlevelsup == 0;
}

static bool
is_string(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == NAMEOID || type == BPCHAROID;
}

static bool
is_plain_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

static bool
is_float(Oid type)
{
	return type == FLOAT4OID || type == FLOAT8OID;
}

/* Do the operator's two types have the same images? */
static bool
types_match(Oid opno)
{
	Oid			left;
	Oid			right;

	op_input_types(opno, &left, &right);
	return left == right || (is_plain_integer(left) && is_plain_integer(right)) ||
		(is_float(left) && is_float(right)) ||
		(left != BPCHAROID && right != BPCHAROID && is_string(left) && is_string(right));
}

/*
 * Is the operator, with the column on its left, one that ranges can express?  Its B-tree strategy;
 * <> has none.
 */
static bool
find_strategy(const ZoneContext *context, Oid opno, Oid collation, int *strategy)
{
	bool		ordered = context->kind.zone_ordered;
	bool		equal = context->kind.zone_equal;

	if (!OidIsValid(opno) || !OidIsValid(context->opfamily) || !types_match(opno))
		return false;
	if (is_string(context->type))
	{
		if (!OidIsValid(collation))
			return false;
		equal = get_collation_isdeterministic(collation);
		ordered = context->type != BPCHAROID && zs_collation_is_c(collation);
	}
	*strategy = get_op_opfamily_strategy(opno, context->opfamily);
	if (*strategy == InvalidStrategy)
	{
		Oid			negator = get_negator(opno);

		return OidIsValid(negator) && equal &&
			get_op_opfamily_strategy(negator, context->opfamily) == BTEqualStrategyNumber;
	}
	return *strategy >= BTLessStrategyNumber && *strategy <= BTGreaterStrategyNumber &&
		(*strategy == BTEqualStrategyNumber ? equal : ordered);
}

/*
 * The constant beginning of strings that match the pattern; *whole: the pattern is nothing else.
 * NULL if the function is none of those that have such a one.
 */
static uint8 *
find_beginning(Oid funcid, Datum pattern, size_t *len, bool *whole)
{
	struct varlena *v = PG_DETOAST_DATUM_PACKED(pattern);
	const uint8 *bytes = (const uint8 *) VARDATA_ANY(v);
	size_t		size = VARSIZE_ANY_EXHDR(v);
	uint8	   *beginning = palloc(size + 1);

	*len = 0;
	*whole = false;
	if (funcid == F_STARTS_WITH)
	{
		memcpy(beginning, bytes, size);
		*len = size;
		return beginning;
	}
	for (size_t i = 0; i < size && bytes[i] != '%' && bytes[i] != '_'; i++)
	{
		if (bytes[i] == '\\' && ++i == size)
			return NULL;
		beginning[(*len)++] = bytes[i];
		*whole = i + 1 == size;
	}
	return beginning;
}

/* LIKE, and ^@: strings with a constant beginning. */
static bool
find_pattern(ZoneContext *context, Oid funcid, List *args, Oid collation, ZsZoneSet *set)
{
	const Const *c;
	uint8	   *beginning;
	size_t		len;
	bool		whole;

	if ((funcid != F_TEXTLIKE && funcid != F_BPCHARLIKE && funcid != F_NAMELIKE &&
		 funcid != F_STARTS_WITH) || list_length(args) != 2 || !is_string(context->type) ||
		!is_column(context, linitial(args)) || !OidIsValid(collation) ||
		!get_collation_isdeterministic(collation))
		return false;
	c = zsscan_constant_of(lsecond(args), context->params);
	if (c == NULL)
		return false;
	if (c->constisnull)
	{
		zsscan_set_none(set, false);
		return true;
	}
	beginning = find_beginning(funcid, c->constvalue, &len, &whole);
	if (beginning == NULL)
		return false;
	zsscan_set_range(set, zsscan_image_of_beginning(beginning, len, 0),
			  zsscan_image_of_beginning(beginning, len, whole ? 0 : 0xFF));
	return true;
}

/* "column op constant", either way round. */
static bool
find_operator(ZoneContext *context, const OpExpr *op, ZsZoneSet *set)
{
	int			strategy;
	const Const *c;
	Node	   *left;
	Node	   *right;
	Oid			opno = op->opno;

	if (list_length(op->args) != 2)
		return false;
	if (find_pattern(context, OidIsValid(op->opfuncid) ? op->opfuncid : get_opcode(opno), op->args,
					 op->inputcollid, set))
		return true;
	left = linitial(op->args);
	right = lsecond(op->args);
	if (!is_column(context, left))
	{
		left = lsecond(op->args);
		right = linitial(op->args);
		opno = get_commutator(opno);
	}
	if (!is_column(context, left) ||
		(c = zsscan_constant_of(right, context->params)) == NULL ||
		!find_strategy(context, opno, op->inputcollid, &strategy))
		return false;
	if (c->constisnull)
		zsscan_set_none(set, false);
	else
		zsscan_set_compared(&context->kind, context->type, strategy, c->constvalue,
							c->consttype, set);
	return true;
}

/* All members of an array that are not NULL; false: there are too many. */
static bool
members_of(const Const *c, Datum **values, int *n, int *nnulls, Oid *type)
{
	ArrayType  *array = DatumGetArrayTypeP(c->constvalue);
	int16		typlen;
	bool		typbyval;
	char		typalign;
	bool	   *nulls;
	int			nmembers;

	*type = ARR_ELEMTYPE(array);
	if (ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) > MAX_MEMBERS)
		return false;
	get_typlenbyvalalign(*type, &typlen, &typbyval, &typalign);
	deconstruct_array(array, *type, typlen, typbyval, typalign, values, &nulls, &nmembers);
	*n = 0;
	for (int i = 0; i < nmembers; i++)
	{
		if (!nulls[i])
			(*values)[(*n)++] = (*values)[i];
	}
	*nnulls = nmembers - *n;
	return true;
}

/* "column op ANY (array)" is a union, "column op ALL (array)" an intersection. */
static bool
find_array_operator(ZoneContext *context, const ScalarArrayOpExpr *op, ZsZoneSet *set)
{
	int			strategy;
	const Const *c;
	Datum	   *values;
	int			n;
	int			nnulls;
	Oid			type;
	ZsZoneRange *ranges;
	uint32		nranges = 0;

	Assert(list_length(op->args) == 2);
	if (!is_column(context, linitial(op->args)) ||
		(c = zsscan_constant_of(lsecond(op->args), context->params)) == NULL ||
		!find_strategy(context, op->opno, op->inputcollid, &strategy))
		return false;
	if (c->constisnull)
	{
		zsscan_set_none(set, false);
		return true;
	}
	if (!members_of(c, &values, &n, &nnulls, &type))
		return false;
	if (!op->useOr)
	{
		/* without members it is true even for NULL, and never with one that is NULL */
		zsscan_set_all(set, n + nnulls == 0);
		if (nnulls > 0)
			zsscan_set_none(set, false);
		for (int i = 0; i < n; i++)
		{
			ZsZoneSet	member;

			CHECK_FOR_INTERRUPTS();
			/* each exclusion makes one range more: those behind are left out */
			if (strategy == InvalidStrategy && i >= ZS_ZONE_MAX_RANGES / 16)
				break;
			zsscan_set_compared(&context->kind, context->type, strategy, values[i], type, &member);
			zsscan_set_intersect(set, &member);
		}
		return true;
	}
	ranges = palloc_array(ZsZoneRange, 2 * (Size) n + 1);
	for (int i = 0; i < n; i++)
	{
		ZsZoneSet	member;

		CHECK_FOR_INTERRUPTS();
		zsscan_set_compared(&context->kind, context->type, strategy, values[i], type, &member);
		Assert(member.nranges <= 2 && !member.nulls);
		for (uint32 k = 0; k < member.nranges; k++)
			ranges[nranges++] = member.ranges[k];
	}
	set->nulls = false;
	set->nranges = nranges;
	set->ranges = ranges;
	zsscan_set_normalize(set);
	return true;
}

/* ---- conditions ------------------------------------------------------------------------ */

/* The column itself, of type boolean. */
static void
set_boolean(bool value, bool nulls, ZsZoneSet *set)
{
	int64		image = zscodec_zone_from_int64(value, 1, false);

	zsscan_set_range(set, image, image);
	set->nulls = nulls;
}

static bool
is_boolean_column(const ZoneContext *context, Node *node)
{
	return context->type == BOOLOID && is_column(context, node);
}

static bool
find_boolean_test(ZoneContext *context, const BooleanTest *test, ZsZoneSet *set)
{
	bool		is_column_itself = is_boolean_column(context, (Node *) test->arg);

	switch (test->booltesttype)
	{
		case IS_TRUE:
			find_set(context, (Node *) test->arg, set);
			return true;
		case IS_NOT_FALSE:
			set_boolean(true, true, set);
			break;
		case IS_FALSE:
			set_boolean(false, false, set);
			break;
		case IS_NOT_TRUE:
			set_boolean(false, true, set);
			break;
		case IS_UNKNOWN:
			zsscan_set_none(set, true);
			break;
		case IS_NOT_UNKNOWN:
			zsscan_set_all(set, false);
			break;
	}
	return is_column_itself;
}

/* "column IS NOT DISTINCT FROM constant": NULL is equal to NULL. */
static bool
find_not_distinct(ZoneContext *context, const DistinctExpr *distinct, ZsZoneSet *set)
{
	OpExpr		op;
	const Const *c;

	memcpy(&op, distinct, sizeof(OpExpr));
	op.xpr.type = T_OpExpr;
	if (!find_operator(context, &op, set))
		return false;
	c = zsscan_constant_of(is_column(context, linitial(op.args)) ? lsecond(op.args) :
						   linitial(op.args), context->params);
	if (c == NULL)
		return false;
	if (c->constisnull)
		zsscan_set_none(set, true);
	return true;
}

static bool
find_not(ZoneContext *context, Node *arg, ZsZoneSet *set)
{
	if (is_boolean_column(context, arg))
		set_boolean(false, false, set);
	else if (!IsA(arg, DistinctExpr) ||
			 !find_not_distinct(context, (const DistinctExpr *) arg, set))
		return false;
	return true;
}

static bool
find_connective(ZoneContext *context, const BoolExpr *expr, ZsZoneSet *set)
{
	uint32		room = 0;
	ListCell   *lc;

	if (expr->boolop == NOT_EXPR)
		return find_not(context, linitial(expr->args), set);
	if (expr->boolop == AND_EXPR)
		zsscan_set_all(set, true);
	else
		zsscan_set_none(set, false);
	foreach(lc, expr->args)
	{
		ZsZoneSet	arg;

		CHECK_FOR_INTERRUPTS();
		find_set(context, lfirst(lc), &arg);
		if (expr->boolop == AND_EXPR)
			zsscan_set_intersect(set, &arg);
		else if (zsscan_set_is_all(&arg))
			return false;
		else
			zsscan_set_append(set, &room, &arg);
		if (expr->boolop == AND_EXPR && set->nranges > ZS_ZONE_MAX_RANGES)
			break;
	}
	zsscan_set_normalize(set);
	return true;
}

/* The values for which the node may be true; false: nothing is known. */
static bool
find_known(ZoneContext *context, Node *node, ZsZoneSet *set)
{
	switch (nodeTag(node))
	{
		case T_OpExpr:
			return find_operator(context, (const OpExpr *) node, set);
		case T_ScalarArrayOpExpr:
			return find_array_operator(context, (const ScalarArrayOpExpr *) node, set);
		case T_FuncExpr:
			return find_pattern(context, ((FuncExpr *) node)->funcid, ((FuncExpr *) node)->args,
								((FuncExpr *) node)->inputcollid, set);
		case T_BoolExpr:
			return find_connective(context, (const BoolExpr *) node, set);
		case T_BooleanTest:
			return find_boolean_test(context, (const BooleanTest *) node, set);
		case T_NullTest:
			if (!is_column(context, (Node *) ((NullTest *) node)->arg) ||
				((NullTest *) node)->argisrow)
				return false;
			if (((NullTest *) node)->nulltesttype == IS_NULL)
				zsscan_set_none(set, true);
			else
				zsscan_set_all(set, false);
			return true;
		case T_Var:
			set_boolean(true, false, set);
			return is_boolean_column(context, node);
		case T_Const:
			zsscan_set_none(set, false);
			return ((Const *) node)->constisnull || !DatumGetBool(((Const *) node)->constvalue);
		default:
			return false;
	}
}

static void
find_set(ZoneContext *context, Node *node, ZsZoneSet *set)
{
	check_stack_depth();
	if (node == NULL || !find_known(context, node, set))
		zsscan_set_all(set, true);
}

/*
 * Which values of the column may pass the condition?  False: all, NULL among them.  desc, varno:
 * the table's.  params: those of the execution, or NULL.  The caller makes sure that to evaluate
 * the condition later than it would be, or for no row at all, hides no error (zs_clause.h).  Memory
 * comes from the current context; nothing keeps what params point to.  Reads system catalogs.
 */
bool
zsscan_zone_set_of(TupleDesc desc, Index varno, AttrNumber attno, Node *clause,
				   struct ParamListInfoData *params, ZsZoneSet *set)
{
	Form_pg_attribute att = TupleDescAttr(desc, attno - 1);
	ZoneContext context = {.varno = varno, .attno = attno, .params = params};

	Assert(attno > 0 && attno <= desc->natts);
	if (att->attisdropped)
		return false;
	zsattr_kind(att, &context.kind);
	context.type = getBaseType(att->atttypid);

	/* asked for at each rescan; nothing but the type cache has it at hand */
	context.opfamily = lookup_type_cache(context.type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	find_set(&context, clause, set);
	return !zsscan_set_is_all(set);
}

/*
 * The images that a value of the column, which is not NULL, may have: *low .. *high; false: they
 * are not known.  desc: the table's.
 */
bool
zsscan_zone_image(TupleDesc desc, AttrNumber attno, Datum value, int64 *low, int64 *high)
{
	Form_pg_attribute att = TupleDescAttr(desc, attno - 1);
	ZsAttrKind	kind;
	ZsZoneSet	set;

	Assert(attno > 0 && attno <= desc->natts && !att->attisdropped);
	zsattr_kind(att, &kind);
	zsscan_set_compared(&kind, getBaseType(att->atttypid), BTEqualStrategyNumber, value,
						att->atttypid, &set);
	*low = set.ranges[0].low;
	*high = set.ranges[0].high;
	pfree(set.ranges);
	return *low > PG_INT64_MIN || *high < PG_INT64_MAX;
}
