/*-------------------------------------------------------------------------
 *
 * scan_zone.c
 *	  Skips segments in which no row can pass a sequential scan's filter.
 *
 * The entry of a segment carries the smallest and the largest value of its
 * rows.  When the executor starts, comparisons of a column with a constant are
 * picked out of the scan node's filter and put into its slot, beside the
 * needed-column mask.  The scan asks for each segment that it comes to whether
 * the filter excludes it, and if so goes on behind it.  The node still applies the whole filter to
 * every row that it gets, so that what cannot be expressed here is simply not used.
 *
 * Core evaluates the clauses of a filter in their order.  One that may raise an error must meet all
 * rows that pass those in front of it, so only these are picked (scan_clause.c).
 *
 * The comparison is one of the type's default B-tree operators, which are
 * strict: a NULL never passes, so segments' NULLs need no attention.
 * Rows in the row tree are not covered by any zone map; a range that has some is read.
 *
 * Who knows of other reasons for which rows are not wanted is asked about each segment, too: the
 * filters of hash joins are (node_join_filter.c).
 *
 * Small materialized aggregates: G. Moerkotte, VLDB 1998.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_zone.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type_d.h"
#include "nodes/primnodes.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "scan_desc.h"
#include "zs_attr.h"
#include "zs_batch.h"
#include "zs_clause.h"
#include "zs_codec.h"

/* ---- picking filters out of a qual ------------------------------------------ */

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

/* Maps the constant into the zone domain of the column; false if that is not possible. */
static bool
map_constant(const ZsAttrKind *kind, const Const *c, ZsZoneFilter *filter)
{
	struct varlena *v;
	bool		ok = true;

	switch (kind->kind)
	{
		case ZS_KIND_INT:
			if (!c->constbyval)
				return false;
			filter->low = filter->high =
				zscodec_zone_from_int64(zsattr_value_to_int(c->constvalue, c->constlen),
										kind->width, kind->is_unsigned);
			return true;
		case ZS_KIND_FLOAT4:
		case ZS_KIND_FLOAT8:
			filter->low = filter->high =
				zscodec_zone_from_float8(c->consttype == FLOAT4OID ?
										 (double) DatumGetFloat4(c->constvalue) :
										 DatumGetFloat8(c->constvalue));
			return true;
		case ZS_KIND_NUMERIC:
			v = PG_DETOAST_DATUM_PACKED(c->constvalue);
			return zscodec_zone_from_numeric((const uint8 *) VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v),
											 &filter->low, &filter->high);
		case ZS_KIND_BYTES:
			v = PG_DETOAST_DATUM_PACKED(c->constvalue);
			filter->low = filter->high =
				zscodec_zone_from_bytes((const uint8 *) VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v));
			return true;
		case ZS_KIND_FIXED:
			filter->low = filter->high =
				zscodec_zone_from_bytes((const uint8 *) DatumGetPointer(c->constvalue),
										kind->width);
			return true;
		case ZS_KIND_INVALID:
			ok = false;
			break;
	}
	return ok;
}

static Expr *
strip_relabel(Node *node)
{
	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return (Expr *) node;
}

/* Turns "column op constant" (either way round) into a filter; false if it is something else. */
static bool
make_filter(Relation rel, Index scanrelid, const Expr *clause, ZsZoneFilter *filter)
{
	const OpExpr *op = (const OpExpr *) clause;
	Expr	   *left;
	Expr	   *right;
	Oid			opno;
	Oid			lefttype;
	Oid			righttype;
	Oid			opfamily;
	Form_pg_attribute att;
	ZsAttrKind	kind;
	const Var  *var;
	const Const *c;

	if (!IsA(clause, OpExpr) || list_length(op->args) != 2)
		return false;
	opno = op->opno;
	left = strip_relabel(linitial(op->args));
	right = strip_relabel(lsecond(op->args));
	if (IsA(left, Const) && IsA(right, Var))
	{
		Expr	   *swap = left;

		left = right;
		right = swap;
		opno = get_commutator(opno);
	}
	if (!OidIsValid(opno) || !IsA(left, Var) || !IsA(right, Const))
		return false;
	var = (const Var *) left;
	c = (const Const *) right;
	if (var->varno != (int) scanrelid || var->varattno <= 0 || c->constisnull ||
		var->varattno > RelationGetNumberOfAttributes(rel))
		return false;

	att = TupleDescAttr(RelationGetDescr(rel), var->varattno - 1);
	zsattr_kind(att, &kind);
	if (!kind.zone_ordered || (OidIsValid(att->attcollation) &&
							   op->inputcollid != att->attcollation))
		return false;
	/* asked for at each rescan; nothing but the type cache has it at hand */
	opfamily = lookup_type_cache(getBaseType(att->atttypid), TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	if (!OidIsValid(opfamily))
		return false;
	filter->strategy = get_op_opfamily_strategy(opno, opfamily);
	if (filter->strategy < BTLessStrategyNumber || filter->strategy > BTGreaterStrategyNumber)
		return false;
	op_input_types(opno, &lefttype, &righttype);
	if (lefttype != righttype &&
		!(is_plain_integer(lefttype) && is_plain_integer(righttype)) &&
		!(is_float(lefttype) && is_float(righttype)))
		return false;
	filter->test = NULL;
	filter->attno = var->varattno;
	filter->is_unsigned = kind.is_unsigned;
	return map_constant(&kind, c, filter);
}

/*
 * Puts those clauses of qual that can skip segments into the slot, in place of
 * those that are there.  All clauses are applied by somebody else, too.
 * scanrelid: the varno of the table's columns in qual.  params: as in
 * zs_clause.h.
 */
void
zsscan_set_filters(TupleTableSlot *base, Relation rel, Index scanrelid, List *qual,
				   struct ParamListInfoData *params)
{
	ZsSlot	   *slot = (ZsSlot *) base;
	ListCell   *lc;

	if (!TTS_IS_ZEDSTORE(base))
		return;
	if (slot->filters != NULL)
		pfree(slot->filters);
	slot->filters = NULL;
	slot->nfilters = 0;
	if (!zs_enable_zone_maps || qual == NIL)
		return;
	slot->filters = MemoryContextAlloc(slot->base.tts_mcxt,
									   list_length(qual) * sizeof(ZsZoneFilter));
	foreach(lc, qual)
	{
		Node	   *clause = lfirst(lc);

		/* what stands behind a clause that may raise an error would hide it */
		if (zsscan_expression_may_raise(clause, params))
			break;
		if (make_filter(rel, scanrelid, (Expr *) clause, &slot->filters[slot->nfilters]))
			slot->nfilters++;
	}
}

/*
 * Has test asked for each segment which values of the column rows may have that are wanted, besides
 * what zsscan_set_filters() says, which comes before and makes the slot forget this.  Does nothing
 * if the column is none of signed integers, or zone maps are off.
 */
void
zsscan_add_zone_test(TupleTableSlot *base, Relation rel, AttrNumber attno, ZsZoneTest test,
					 void *arg)
{
	ZsSlot	   *slot = (ZsSlot *) base;
	ZsZoneFilter *filter;
	ZsAttrKind	kind;
	Size		size = (slot->nfilters + 1) * sizeof(ZsZoneFilter);

	Assert(attno > 0 && attno <= RelationGetNumberOfAttributes(rel));
	if (!TTS_IS_ZEDSTORE(base) || !zs_enable_zone_maps)
		return;
	zsattr_kind(TupleDescAttr(RelationGetDescr(rel), attno - 1), &kind);
	if (kind.kind != ZS_KIND_INT || !kind.zone_ordered || kind.is_unsigned)
		return;
	slot->filters = slot->filters == NULL ? MemoryContextAlloc(slot->base.tts_mcxt, size) :
		repalloc(slot->filters, size);
	filter = &slot->filters[slot->nfilters++];
	memset(filter, 0, sizeof(*filter));
	filter->attno = attno;
	filter->test = test;
	filter->arg = arg;
}

/*
 * Gives the scan node's slot the conditions of its filter that zone maps can
 * tell about: zsscan_set_filters() for a node of the executor.
 */
void
zsscan_stamp_filters(ScanState *node)
{
	zsscan_set_filters(node->ss_ScanTupleSlot, node->ss_currentRelation,
					   ((Scan *) node->ps.plan)->scanrelid, node->ps.plan->qual,
					   node->ps.state->es_param_list_info);
}

/* ---- applying them ---------------------------------------------------------------- */

/*
 * Can no value of the segment pass?  Its zone map says nothing about a column whose type was
 * ordered otherwise when the segment was written (ALTER TABLE makes an integer an oid without a
 * rewrite).
 */
static bool
excludes(const ZsZoneFilter *filter, const ZsSegmentItem *item)
{
	int64		zone_min = item->zone_min;
	int64		zone_max = item->zone_max;

	if ((item->flags & ZS_SEGF_ZONE_MAP) == 0 ||
		((item->flags & ZS_SEGF_UNSIGNED) != 0) != filter->is_unsigned)
		return false;
	if (filter->test != NULL)
		return filter->test(filter->arg, filter->attno, zone_min, zone_max);
	switch (filter->strategy)
	{
		case BTLessStrategyNumber:
		case BTLessEqualStrategyNumber:
			return zone_min > filter->high;
		case BTEqualStrategyNumber:
			return zone_max < filter->low || zone_min > filter->high;
		case BTGreaterEqualStrategyNumber:
		case BTGreaterStrategyNumber:
			return zone_max < filter->low;
	}
	return false;
}

/*
 * Do the slot's filters exclude all rows from row on?  *until (at most end) is
 * where the answer ends.
 *
 * The last answer is remembered, for runs of rows may be short.  It is right for what the scan's
 * snapshot sees, whatever becomes of the segment: no such row comes into it but from the row tree,
 * in which there was none.
 */
bool
zsscan_zone_excluded(ZsScanDesc scan, const ZsSlot *slot, zstid row, zstid end, zstid *until)
{
	Relation	rel = scan->rs_base.rs_rd;

	Assert(row < end);
	if (row >= scan->zone_from && row < scan->zone_until)
	{
		*until = Min(scan->zone_until, end);
		return scan->zone_excluded;
	}
	scan->zone_from = row;
	scan->zone_until = PG_UINT64_MAX;
	scan->zone_excluded = false;
	for (int i = 0; i < slot->nfilters && !scan->zone_excluded; i++)
	{
		const ZsZoneFilter *filter = &slot->filters[i];
		ZsSegmentItem item;
		zstid		segment_end;
		zstid		next;

		/* no segment: rows of the row tree, or from before the column was added */
		if (!zsattr_find_segment(rel, filter->attno, row, false, &item))
			continue;
		if (item.first_row > row)
		{
			scan->zone_until = Min(scan->zone_until, item.first_row);
			continue;
		}
		segment_end = item.first_row + item.nrows;
		if (excludes(filter, &item) && (next = zsrow_next(rel, row)) >= Min(segment_end, end))
		{
			scan->zone_until = Min(segment_end, next);
			scan->zone_excluded = true;
			if (item.first_row != scan->excluded)
				scan->nexcluded++;
			scan->excluded = item.first_row;
		}
		else
			scan->zone_until = Min(scan->zone_until, segment_end);
	}
	Assert(scan->zone_until > row);
	*until = Min(scan->zone_until, end);
	return scan->zone_excluded;
}
