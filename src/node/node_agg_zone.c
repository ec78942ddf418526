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
#include "zs_agg.h"
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

static bool
is_exact(const ZsAgg *agg)
{
	return agg->domain == ZS_DOMAIN_INT || agg->domain == ZS_DOMAIN_UINT;
}

/* See zs_agg.h. */
bool
zsnode_agg_zone(const ZsAgg *agg, ZsAggValue *value, int64 *low, int64 *high)
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

/* See zs_agg.h. */
bool
zsnode_agg_ignores(const ZsAgg *agg, ZsAggValue *value, const ZsColumnBounds *bounds)
{
	int64		low;
	int64		high;

	Assert(agg->has_zone);
	if (bounds->nnulls == bounds->nrows)
		return true;
	if (!bounds->has_zone || bounds->is_unsigned != agg->zone_unsigned ||
		!zsnode_agg_zone(agg, value, &low, &high))
		return false;
	if (agg->kind == ZS_AGG_MAX)
		return bounds->max < low || (bounds->max == low && is_exact(agg));
	return bounds->min > high || (bounds->min == high && is_exact(agg));
}

/* The operator of zsnode_agg_zone_clause(); InvalidOid: there is none. */
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

/* See zs_agg.h. */
Expr *
zsnode_agg_zone_clause(TupleDesc desc, Index varno, const ZsAgg *agg, ZsAggValue *value, Oid opno)
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
	state->all_ignore = !zsscan_expression_may_raise((Node *) state->filter_clauses, params);
	state->zone_operator = InvalidOid;
	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];
		const Aggref *aggref = list_nth_node(Aggref, state->aggrefs, i);

		find_zone(desc, &agg->agg);
		agg->ignores = agg->agg.has_zone &&
			!zsscan_expression_may_raise((Node *) aggref->aggfilter, params);
		state->all_ignore &= agg->ignores;
	}
	if (!state->all_ignore || state->verifier != NULL || state->by_rows)
	{
		state->all_ignore = false;
		return;
	}
	for (int i = 1; i < state->naggs; i++)
	{
		const ZsAgg *agg = &state->aggs[i].agg;

		if (agg->kind != first->kind || agg->attno != first->attno || agg->filter != NULL)
			return;
	}
	if (first->filter == NULL)
		state->zone_operator = zone_operator(desc, first);
}
