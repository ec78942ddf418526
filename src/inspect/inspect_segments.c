/*-------------------------------------------------------------------------
 *
 * inspect_segments.c
 *	  pg_zs_segments: one row for each segment.
 *
 * Zone maps are values of the table, so min and max are shown only to those
 * who may read the column, as pg_stats does it.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/inspect_segments.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"

#include "inspect_internal.h"
#include "zs_attr.h"
#include "zs_btree.h"
#include "zs_page.h"

PG_FUNCTION_INFO_V1(pg_zs_segments);

/* How the zone maps of a column are shown. */
typedef struct ZoneForm
{
	ZsAttrKind	kind;
	Oid			typoutput;		/* InvalidOid: as numbers */
} ZoneForm;

/* What is known about the column whose segments are listed. */
typedef struct SegmentList
{
	ReturnSetInfo *rsinfo;
	AttrNumber	attno;
	bool		live;			/* neither dropped nor beyond the table's columns */
	bool		readable;		/* the caller may see its values */
	ZoneForm	form;
} SegmentList;

/* ---- zone maps as text --------------------------------------------------------- */

/* The inverse of zscodec_zone_from_int64(). */
static int64
int_from_zone(int64 zone, const ZsAttrKind *kind)
{
	if (!kind->is_unsigned)
		return zone;
	switch (kind->width)
	{
		case 1:
			return (int8) zone;
		case 2:
			return (int16) zone;
		case 4:
			return (int32) zone;
		default:
			return (int64) ((uint64) zone ^ (UINT64CONST(1) << 63));
	}
}

/* The inverse of zscodec_zone_from_float8(), up to NaN payloads and the sign of zero. */
static double
float_from_zone(int64 zone)
{
	uint64		pattern;
	double		value;

	if (zone == PG_INT64_MAX)
		return get_float8_nan();
	pattern = zone >= 0 ? (uint64) zone : (UINT64CONST(1) << 63) - (uint64) zone;
	memcpy(&value, &pattern, sizeof(value));
	return value;
}

static Datum
zone_datum(const ZsAttrKind *kind, int64 zone)
{
	switch (kind->kind)
	{
		case ZS_KIND_FLOAT4:
			return Float4GetDatum((float4) float_from_zone(zone));
		case ZS_KIND_FLOAT8:
			return Float8GetDatum(float_from_zone(zone));
		default:
			return (Datum) int_from_zone(zone, kind);
	}
}

/* Finds out how the zone maps of a column are shown. */
static void
describe_zones(Form_pg_attribute att, ZoneForm *form)
{
	bool		is_varlena;

	zsattr_kind(att, &form->kind);
	form->typoutput = InvalidOid;
	/* where the zone domain holds the values themselves */
	if (form->kind.zone_ordered &&
		(form->kind.kind == ZS_KIND_INT || form->kind.kind == ZS_KIND_FLOAT4 ||
		 form->kind.kind == ZS_KIND_FLOAT8))
		getTypeOutputInfo(getBaseType(att->atttypid), &form->typoutput, &is_varlena);
}

/* A bound of a segment's zone map as text; that of numerics is rounded outwards. */
static char *
zone_text(const ZoneForm *form, int64 zone)
{
	if (OidIsValid(form->typoutput))
		return OidOutputFunctionCall(form->typoutput, zone_datum(&form->kind, zone));
	if (form->kind.kind == ZS_KIND_NUMERIC)
		return float8out_internal(float_from_zone(zone));
	return psprintf(INT64_FORMAT, zone);
}

/* The same for a column of which nothing else is known. */
char *
zsinspect_zone_text(Form_pg_attribute att, int64 zone)
{
	ZoneForm	form;

	describe_zones(att, &form);
	return zone_text(&form, zone);
}

/* A bound as a number that grows with the values evenly; not a number for NaN. */
double
zsinspect_zone_place(const ZsAttrKind *kind, int64 zone)
{
	if (kind->kind == ZS_KIND_FLOAT4 || kind->kind == ZS_KIND_FLOAT8 ||
		kind->kind == ZS_KIND_NUMERIC)
		return float_from_zone(zone);
	return (double) zone;
}

/* ---- encodings ------------------------------------------------------------------- */

/*
 * How many vectors have which encoding, e.g. "for:60,plain+lz4:4"; NULL when the
 * segment was replaced since its item was read.
 */
static char *
encodings_text(Relation rel, AttrNumber attno, const ZsSegmentItem *item)
{
	int			counts[ZS_ENC_COUNT][ZS_COMPRESSION_ZSTD + 1] = {0};
	uint32		headlen = Min(item->payload_size, (uint32) ZS_SEGMENT_HEAD_MAX);
	uint8		head[ZS_SEGMENT_HEAD_MAX];
	ZsSegmentInfo info;
	StringInfoData text;
	const char *reason;

	if (!zsattr_read_payload(rel, attno, item, 0, headlen, head))
		return NULL;
	zsattr_refuse_newer(rel, head, headlen);
	reason = zscodec_segment_open(head, headlen, &info);
	if (reason != NULL)
		zsbase_corrupted(rel, item->start, "Segment of attribute %d at row " UINT64_FORMAT ": %s.",
						 attno, item->first_row, reason);

	for (uint32 v = 0; v < info.nvectors; v++)
	{
		Assert(info.vectors[v].encoding < ZS_ENC_COUNT);
		Assert(info.vectors[v].compression <= ZS_COMPRESSION_ZSTD);
		counts[info.vectors[v].encoding][info.vectors[v].compression]++;
	}
	initStringInfo(&text);
	for (int encoding = 0; encoding < ZS_ENC_COUNT; encoding++)
	{
		for (int method = 0; method <= ZS_COMPRESSION_ZSTD; method++)
		{
			if (counts[encoding][method] == 0)
				continue;
			if (text.len > 0)
				appendStringInfoChar(&text, ',');
			appendStringInfoString(&text, zscodec_encoding_name(encoding));
			if (method != ZS_COMPRESSION_NONE)
				appendStringInfo(&text, "+%s", zscodec_compression_name(method));
			appendStringInfo(&text, ":%d", counts[encoding][method]);
		}
	}
	return text.data;
}

/* ---- rows -------------------------------------------------------------------------- */

#define SEGMENT_COLUMNS	13

static void
put_segment(Relation rel, SegmentList *list, const ZsSegmentItem *item)
{
	Datum		values[SEGMENT_COLUMNS] = {0};
	bool		nulls[SEGMENT_COLUMNS] = {0};
	char	   *encodings = encodings_text(rel, list->attno, item);
	bool		has_zone = (item->flags & ZS_SEGF_ZONE_MAP) != 0 && list->live && list->readable;
	int			n = 0;

	Assert(item->nrows > 0);
	values[n++] = Int32GetDatum(list->attno);
	values[n] = zsinspect_attname(rel, list->attno, &nulls[n]);
	n++;
	values[n++] = Int64GetDatum((int64) item->first_row);
	values[n++] = Int32GetDatum((int32) item->nrows);
	values[n++] = Int32GetDatum((int32) item->nnulls);
	nulls[n] = zsattr_item_is_uniform(item);
	values[n++] = Int64GetDatum(item->start);
	values[n++] = Int32GetDatum((int32) item->nblocks);
	nulls[n] = encodings == NULL;
	values[n++] = encodings != NULL ? CStringGetTextDatum(encodings) : (Datum) 0;
	values[n++] = Int64GetDatum(item->raw_size);
	values[n++] = Int64GetDatum(zsattr_item_is_uniform(item) ? sizeof(ZsSegmentItem) :
								item->payload_size);
	nulls[n] = !has_zone;
	if (has_zone)
		values[n] = CStringGetTextDatum(zone_text(&list->form, item->zone_min));
	n++;
	nulls[n] = !has_zone;
	if (has_zone)
		values[n] = CStringGetTextDatum(zone_text(&list->form, item->zone_max));
	n++;
	values[n++] = Int32GetDatum(ZsSegmentFlagsNatts(item->flags));
	Assert(n == lengthof(values));
	zsinspect_put(list->rsinfo, values, nulls);
}

/* Callback of zsbtree_visit_pages(). */
static void
visit_page(Relation rel, BlockNumber blkno, Page copy, void *arg)
{
	SegmentList *list = arg;
	const ZsSegmentItem *items = zsattr_index_items(copy);
	MemoryContext context;
	MemoryContext old;
	const char *reason;
	int			nitems;

	if (ZsPageGetOpaque(copy)->page_type != ZS_PAGE_SEGMENT_INDEX)
		return;
	reason = zsattr_index_page_check(copy);
	if (reason != NULL)
		zsbase_corrupted(rel, blkno, "Segment index page of attribute %d: %s.", list->attno,
						 reason);

	context = AllocSetContextCreate(CurrentMemoryContext, "zedstore segment list",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	nitems = zsattr_index_count(copy);
	for (int i = 0; i < nitems; i++)
	{
		CHECK_FOR_INTERRUPTS();
		put_segment(rel, list, &items[i]);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* May the caller see values of the column? */
bool
zsinspect_column_is_readable(Relation rel, AttrNumber attno)
{
	Oid			relid = RelationGetRelid(rel);

	if (check_enable_rls(relid, InvalidOid, true) == RLS_ENABLED)
		return false;
	return pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
		pg_attribute_aclcheck(relid, attno, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
}

/* Fills in what is common to all segments of a column. */
static void
describe_column(Relation rel, SegmentList *list, AttrNumber attno)
{
	Form_pg_attribute att = zsattr_form(RelationGetDescr(rel), attno);

	list->attno = attno;
	list->live = !att->attisdropped;
	list->readable = list->live && zsinspect_column_is_readable(rel, attno);
	if (list->live)
		describe_zones(att, &list->form);
}

/* pg_zs_segments(regclass): see docs/inspection.md. */
Datum
pg_zs_segments(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	rel = zsinspect_open(PG_GETARG_OID(0), AccessShareLock);
	SegmentList list = {.rsinfo = rsinfo};

	zsbase_srf_init(fcinfo, SEGMENT_COLUMNS);
	for (AttrNumber attno = 1; attno <= RelationGetNumberOfAttributes(rel); attno++)
	{
		describe_column(rel, &list, attno);
		zsbtree_visit_pages(rel, ZsTreeOfAttr(attno), visit_page, &list);
	}
	describe_column(rel, &list, ZS_XMIN_ATTNO);
	zsbtree_visit_pages(rel, ZS_TREE_XMIN, visit_page, &list);

	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}
