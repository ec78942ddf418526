/*-------------------------------------------------------------------------
 *
 * qual_make.c
 *	  Nodes of a filter.
 *
 * What the compilers of all kinds of conditions make their programs of: nodes, constants, and
 * comparisons of a column with a constant, in which the constant has become what the column's
 * vectors and zone maps have.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/qual_make.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "qual_internal.h"
#include "zs_codec.h"

/*
 * May a value of domain `have` be compared by a function of domain `wanted`, which becomes the
 * node's?
 */
bool
zsexpr_qual_match_domain(ZsDomain have, ZsDomain *wanted)
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

/* A node of the kind. */
ZsQual *
zsexpr_qual_make(ZsQualKind kind)
{
	ZsQual	   *qual = palloc0(sizeof(ZsQual));

	qual->kind = kind;
	return qual;
}

/* True, false or unknown for all rows. */
ZsQual *
zsexpr_qual_make_const(bool isnull, bool value)
{
	ZsQual	   *qual = zsexpr_qual_make(ZS_QUAL_CONST);

	qual->is_true = !isnull && value;
	qual->is_false = !isnull && !value;
	return qual;
}

/* A node of the kind with room for so many arguments. */
ZsQual *
zsexpr_qual_make_list(ZsQualKind kind, int nargs)
{
	ZsQual	   *qual = zsexpr_qual_make(kind);

	qual->args = palloc0(Max(nargs, 1) * sizeof(ZsQual *));
	return qual;
}

/* The operator with its sides exchanged. */
ZsCompare
zsexpr_qual_commute(ZsCompare op)
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

/* ---- comparisons with constants ------------------------------------------------------- */

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
			qual->integer = zsattr_value_to_int(value, typlen);
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
			qual->nbytes = zsexpr_compared_length(qual->domain, qual->bytes, qual->nbytes);
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

/* "column op constant"; NULL if there is no such node. */
ZsQual *
zsexpr_qual_make_compare(ZsCompiler *compiler, AttrNumber attno, ZsDomain domain, ZsCompare op,
						 Datum value, Oid type)
{
	ZsQual	   *qual = zsexpr_qual_make(ZS_QUAL_COMPARE);

	Assert(attno >= 0 && attno <= compiler->desc->natts && domain != ZS_DOMAIN_NONE);
	qual->attno = attno;
	qual->domain = domain;
	qual->op = op;
	if (!set_constant(qual, value, type))
		return NULL;
	set_zone(qual, compiler->desc);
	if (domain == ZS_DOMAIN_TEXT || domain == ZS_DOMAIN_BPCHAR)
		qual->no_table = !zsexpr_compiler_add_string(compiler);
	return qual;
}
