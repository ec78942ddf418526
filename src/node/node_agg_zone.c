/*-------------------------------------------------------------------------
 *
 * node_agg_zone.c
 *	  Minimum and maximum guided by zone maps.
 *
 * Once there is a maximum, a batch whose largest value is smaller cannot change it, and neither can
 * one without values.  The zone map of a batch is known before anything of it is decoded.
 *
 * Of equal values that look different (1.0 and 1.00, -0 and 0) core returns a certain one.  So a
 * batch is left out only if its values are surely not equal to what there is, but for integers, of
 * which equal ones look the same.  Images in zone maps are rounded, those of strings follow their
 * bytes: what is not the order of the column's type is not used.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_zone.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"
#include "varatt.h"

#include "node_agg.h"
#include "zs_clause.h"
#include "zs_codec.h"
#include "zs_expr_guc.h"

/* Sets has_zone: does the order of the zone maps of the aggregate's column say what is smaller? */
static void
find_zone(TupleDesc desc, ZsAgg *agg)
{
	Form_pg_attribute att;
	ZsAttrKind	kind;

	agg->has_zone = false;
	if ((agg->kind != ZS_AGG_MIN && agg->kind != ZS_AGG_MAX) || agg->attno <= 0)
		return;
	Assert(agg->attno <= desc->natts);
	att = TupleDescAttr(desc, agg->attno - 1);
	zsattr_kind(att, &kind);
	agg->has_zone = kind.zone_ordered &&
		(!OidIsValid(att->attcollation) || agg->collation == att->attcollation);
	agg->zone_unsigned = kind.is_unsigned;
}

/* Is the image that a zone map has the value itself? */
static bool
is_exact(const ZsAgg *agg)
{
	return agg->domain == ZS_DOMAIN_INT || agg->domain == ZS_DOMAIN_UINT;
}

/*
 * What a zone map would have for the value that there is: between low and high; false if there is
 * none.
 */
static bool
zone_of_value(const ZsAgg *agg, ZsAggValue *value, int64 *low, int64 *high)
{
	MemoryContext old;
	Numeric		num;
	bool		ok;

	Assert(agg->kind == ZS_AGG_MIN || agg->kind == ZS_AGG_MAX);
	if (value->count == 0)
		return false;
	switch (agg->domain)
	{
		case ZS_DOMAIN_INT:
		case ZS_DOMAIN_UINT:
			*low = *high = zscodec_zone_from_int64(value->integer, agg->width, agg->zone_unsigned);
			return true;
		case ZS_DOMAIN_FLOAT4:
			*low = *high = zscodec_zone_from_float8((double) zskernel_float4(value->integer));
			return true;
		case ZS_DOMAIN_FLOAT8:
			*low = *high = zscodec_zone_from_float8(zskernel_float8(value->integer));
			return true;
		case ZS_DOMAIN_DECIMAL:
			Assert(agg->temporary != NULL);
			old = MemoryContextSwitchTo(agg->temporary);
			num = zsagg_numeric_best(value);
			ok = zscodec_zone_from_numeric((const uint8 *) VARDATA_ANY(num), VARSIZE_ANY_EXHDR(num),
										   low, high);
			MemoryContextSwitchTo(old);
			MemoryContextReset(agg->temporary);
			return ok;
		case ZS_DOMAIN_TEXT:
			*low = *high = zscodec_zone_from_bytes((const uint8 *) VARDATA(value->string),
												   VARSIZE(value->string) - VARHDRSZ);
			return true;
		default:
			return false;
	}
}

/* Has the aggregate, which has_zone, got all that values in these bounds could give it? */
bool
zsnode_agg_ignores(const ZsAgg *agg, ZsAggValue *value, const ZsColumnBounds *bounds)
{
	int64		low;
	int64		high;

	Assert(agg->has_zone);
	if (bounds->nnulls == bounds->nrows)
		return true;
	if (!bounds->has_zone || bounds->is_unsigned != agg->zone_unsigned ||
		!zone_of_value(agg, value, &low, &high))
		return false;
	if (agg->kind == ZS_AGG_MAX)
		return bounds->max < low || (bounds->max == low && is_exact(agg));
	return bounds->min > high || (bounds->min == high && is_exact(agg));
}

/* The operator of zone_clause(); InvalidOid: there is none. */
static Oid
zone_operator(TupleDesc desc, const ZsAgg *agg)
{
	Oid			type = getBaseType(TupleDescAttr(desc, agg->attno - 1)->atttypid);
	const TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY);

	Assert(agg->has_zone && agg->attno > 0 && agg->attno <= desc->natts);
	if (!OidIsValid(entry->btree_opf))
		return InvalidOid;
	return get_opfamily_member(entry->btree_opf, entry->btree_opintype, entry->btree_opintype,
							   agg->kind == ZS_AGG_MAX ?
							   (is_exact(agg) ? BTGreaterStrategyNumber :
								BTGreaterEqualStrategyNumber) :
							   (is_exact(agg) ? BTLessStrategyNumber : BTLessEqualStrategyNumber));
}

/*
 * A condition on the column, by the operator, that is true for all values that may change what
 * there is.  Memory comes from the current context; what the constant points to may be the value's.
 */
static Expr *
zone_clause(TupleDesc desc, Index varno, const ZsAgg *agg, ZsAggValue *value, Oid opno)
{
	Form_pg_attribute att = TupleDescAttr(desc, agg->attno - 1);
	Oid			left;
	Oid			right;
	int16		typlen;
	bool		typbyval;
	bool		isnull;
	Datum		datum = zsagg_result(agg, value, &isnull);

	Assert(OidIsValid(opno));
	Assert(!isnull);
	op_input_types(opno, &left, &right);
	get_typlenbyval(right, &typlen, &typbyval);
	return make_opclause(opno, BOOLOID, false,
						 (Expr *) makeVar(varno, agg->attno, att->atttypid, att->atttypmod,
										  att->attcollation, 0),
						 (Expr *) makeConst(right, -1, att->attcollation, typlen, datum, false,
											typbyval),
						 InvalidOid, att->attcollation);
}

/* Finds out whether zone maps can spare something; the errors of filters must come all the same. */
void
zsnode_agg_prepare_zones(AggNodeState *state, TupleDesc desc, ParamListInfo params)
{
	const ZsAgg *first = &state->aggs[0].agg;

	if (!zs_enable_zone_maps || state->nkeys > 0 || state->naggs == 0)
		return;
	state->zones.all_ignore = !zsscan_expression_may_raise((Node *) state->filter_clauses, params);
	state->zones.operator = InvalidOid;
	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];
		const Aggref *aggref = list_nth_node(Aggref, state->aggrefs, i);

		find_zone(desc, &agg->agg);
		agg->ignores = agg->agg.has_zone &&
			!zsscan_expression_may_raise((Node *) aggref->aggfilter, params);
		state->zones.all_ignore &= agg->ignores;
	}
	if (!state->zones.all_ignore || state->verifier != NULL || state->by_rows)
	{
		state->zones.all_ignore = false;
		return;
	}
	for (int i = 1; i < state->naggs; i++)
	{
		const ZsAgg *agg = &state->aggs[i].agg;

		if (agg->kind != first->kind || agg->attno != first->attno || agg->filter != NULL)
			return;
	}
	if (first->filter == NULL)
		state->zones.operator = zone_operator(desc, first);
}

/* ---- batches ---------------------------------------------------------------------------- */

/* Can no aggregate gain anything from the present batch?  Then it is not looked at. */
bool
zsnode_agg_zones_ignore(AggNodeState *state)
{
	ZsColumnBounds bounds;

	if (!state->zones.all_ignore)
		return false;
	for (int i = 0; i < state->naggs; i++)
	{
		const NodeAgg *agg = &state->aggs[i];

		if (!zsexpr_input_bounds(state->input, agg->agg.attno, &bounds) ||
			!zsnode_agg_ignores(&agg->agg, zsnode_agg_value_of(state, 0, agg), &bounds))
			return false;
	}
	state->counts.nignored++;
	return true;
}

/*
 * Lets the scan skip segments by the filter and, unless it is NULL, by what the minimum or maximum
 * does not need.
 */
static void
set_scan_filter(AggNodeState *state, const NodeAgg *agg)
{
	MemoryContext old;
	List	   *clauses;

	ResetExprContext(state->row.econtext);
	old = MemoryContextSwitchTo(state->row.econtext->ecxt_per_tuple_memory);
	clauses = zsexpr_filter_clauses(state->filter);
	if (agg != NULL)
		clauses = lappend(clauses, zone_clause(state->input->desc, state->input->varno, &agg->agg,
											   zsnode_agg_value_of(state, 0, agg),
											   state->zones.operator));
	zsexpr_input_batch_set_filters(state->input, clauses,
								   state->css.ss.ps.state->es_param_list_info);
	MemoryContextSwitchTo(old);
}

/* Lets the scan skip segments by the filter, which has changed. */
void
zsnode_agg_set_scan_filter(AggNodeState *state)
{
	Assert(state->rel != NULL);
	set_scan_filter(state, NULL);
}

/*
 * Behind a batch: lets the scan skip segments that have nothing for the only minimum or maximum, as
 * it is now.
 */
void
zsnode_agg_zones_tell(AggNodeState *state)
{
	AggZones   *zones = &state->zones;
	const NodeAgg *agg = &state->aggs[0];
	int64		low;
	int64		high;

	if (!OidIsValid(zones->operator))
		return;
	Assert(agg->agg.has_zone);
	if (!zone_of_value(&agg->agg, zsnode_agg_value_of(state, 0, agg), &low, &high) ||
		(zones->told && low == zones->low && high == zones->high))
		return;
	zones->low = low;
	zones->high = high;
	zones->told = true;
	set_scan_filter(state, agg);
}

/* The input is going to be read from its first row on: only the filter tells what to skip. */
void
zsnode_agg_zones_forget(AggNodeState *state)
{
	if (state->filter_clauses != NIL || state->zones.told)
		set_scan_filter(state, NULL);
	state->zones.told = false;
}
