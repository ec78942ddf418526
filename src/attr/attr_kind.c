/*-------------------------------------------------------------------------
 *
 * attr_kind.c
 *	  How PostgreSQL's types map to the codec's kinds of values.
 *
 * Length and pass-by-value decide; only what they cannot tell comes from the
 * type itself: the two floats, numeric, and whether zone maps may be used.
 * Zone maps are used for a type only when the codec's zone domain follows the
 * type's default btree order, so that list is positive: a type that is not on
 * it is merely never skipped.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_kind.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/heap.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"

#include "zs_attr.h"
#include "zs_compat.h"

/* What the attribute is, an attribute of desc or ZS_XMIN_ATTNO. */
Form_pg_attribute
zsattr_form(TupleDesc desc, AttrNumber attno)
{
	if (attno == ZS_XMIN_ATTNO)
		return (Form_pg_attribute) SystemAttributeDefinition(attno);
	Assert(attno >= 1 && attno <= desc->natts);
	return TupleDescAttr(desc, attno - 1);
}

/* Types of OIDs that are shown as names: ordered as OIDs. */
static bool
type_is_reg(Oid type)
{
	switch (type)
	{
		case REGPROCOID:
		case REGPROCEDUREOID:
		case REGOPEROID:
		case REGOPERATOROID:
		case REGCLASSOID:
		case REGTYPEOID:
		case REGROLEOID:
		case REGNAMESPACEOID:
		case REGCONFIGOID:
		case REGDICTIONARYOID:
		case REGCOLLATIONOID:
			return true;
		default:
			return false;
	}
}

/* By-value types that are ordered as unsigned integers. */
static bool
type_is_unsigned(Oid type)
{
	switch (type)
	{
		case CHAROID:
		case OIDOID:
		case XIDOID:
		case XID8OID:
		case CIDOID:
		case LSNOID:
			return true;
		default:
			return type_is_reg(type);
	}
}

/* Does the zone domain follow the type's default btree order? */
static bool
type_is_zone_ordered(Oid type, Oid collation)
{
	switch (type)
	{
		case BOOLOID:
		case CHAROID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case XID8OID:
		case LSNOID:
		case CASHOID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
		case BYTEAOID:
		case UUIDOID:
		case MACADDROID:
		case MACADDR8OID:
			return true;

			/* bpchar compares without its padding */
		case TEXTOID:
		case VARCHAROID:
		case NAMEOID:
			return zs_collation_is_c(collation);
		default:
			return type_is_reg(type);
	}
}

/*
 * Have values that the type's = calls equal the same image, and so has a constant?  What is in the
 * order of the type is; of strings this says nothing, since their operator's collation decides.
 */
static bool
type_is_zone_equal(Oid type)
{
	switch (type)
	{
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case NAMEOID:
			return true;
		default:
			return type >= FirstNormalObjectId && type_is_enum(type);
	}
}

static uint8
align_bytes(char attalign)
{
	switch (attalign)
	{
		case TYPALIGN_CHAR:
			return 1;
		case TYPALIGN_SHORT:
			return ALIGNOF_SHORT;
		case TYPALIGN_INT:
			return ALIGNOF_INT;
		case TYPALIGN_DOUBLE:
			return ALIGNOF_DOUBLE;
		default:
			elog(ERROR, "invalid type alignment \"%c\"", attalign);
			return 0;			/* keep compiler quiet */
	}
}

/*
 * Kind of a column.  Looks into the system catalogs; call it once per scan or
 * flush, not per row.  Dropped columns have no kind.
 */
void
zsattr_kind(Form_pg_attribute att, ZsAttrKind *kind)
{
	Oid			type;

	Assert(!att->attisdropped && OidIsValid(att->atttypid));

	memset(kind, 0, sizeof(*kind));

	/* types with fixed OIDs are no domains; this is called for each column of each query */
	type = att->atttypid < FirstGenbkiObjectId ? att->atttypid : getBaseType(att->atttypid);
	kind->align = align_bytes(att->attalign);
	kind->zone_ordered = type_is_zone_ordered(type, att->attcollation);
	kind->zone_equal = kind->zone_ordered || type_is_zone_equal(type);

	if (att->attbyval)
	{
		kind->width = att->attlen;
		kind->is_unsigned = type_is_unsigned(type);
		if (type == FLOAT4OID)
			kind->kind = ZS_KIND_FLOAT4;
		else if (type == FLOAT8OID)
			kind->kind = ZS_KIND_FLOAT8;
		else
			kind->kind = ZS_KIND_INT;
		Assert(kind->width == 1 || kind->width == 2 || kind->width == 4 || kind->width == 8);
	}
	else if (att->attlen > 0)
	{
		kind->kind = ZS_KIND_FIXED;
		kind->width = att->attlen;
	}
	else if (att->attlen == -1)
	{
		kind->kind = type == NUMERICOID ? ZS_KIND_NUMERIC : ZS_KIND_BYTES;
		kind->layout = att->attstorage == TYPSTORAGE_PLAIN ? ZS_LAYOUT_UNPACKED : ZS_LAYOUT_PACKED;
	}
	else
	{
		Assert(att->attlen == -2);
		kind->kind = ZS_KIND_BYTES;
		kind->layout = ZS_LAYOUT_CSTRING;
	}
}
