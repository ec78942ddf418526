/*-------------------------------------------------------------------------
 *
 * node_agg_total.c
 *	  Aggregates without groups that take a batch as a whole.
 *
 * Where all rows of a column's vector count, neither do their positions matter nor which of them
 * are NULL: the decoder adds up what lies in the segment and leaves out moving the values to their
 * rows.  count() is answered by the directory, and a vector whose zone map has nothing better than
 * what min() or max() has found already is not decoded at all.
 *
 * What cannot be had so (numerics of several display scales, NaN, integers beyond 2^52, rows that
 * were deleted) comes as a vector, as ever.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_total.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "node_agg.h"
#include "zs_base.h"
#include "zs_expr_guc.h"

/* Numerics up to this size and scale become floats with an error of half of the last bit. */
#define MAX_EXACT_INT	(INT64CONST(1) << 53)
#define MAX_EXACT_SCALE 22

/* Can no value within the bounds take the place of what the minimum or maximum has found? */
static bool
cannot_replace(const ZsAgg *agg, const ZsAggValue *value, const ZsColumnBounds *bounds)
{
	bool		is_max = agg->kind == ZS_AGG_MAX;
	int64		best = value->integer;

	Assert(agg->kind == ZS_AGG_MIN || agg->kind == ZS_AGG_MAX);
	if (!zs_enable_zone_maps || value->count == 0 || !bounds->has_zone || bounds->is_unsigned)
		return false;
	if (agg->domain == ZS_DOMAIN_DECIMAL)
	{
		double		nearest;

		if (value->is_large || value->best > MAX_EXACT_INT ||
			value->best < -MAX_EXACT_INT ||
			value->scale > MAX_EXACT_SCALE)
			return false;
		/*
		 * an equal one of another display scale would take its place, so they have to be beyond the
		 * next float
		 */
		nearest = (double) value->best / pow(10, value->scale);
		best = zscodec_zone_from_float8(nextafter(nearest, is_max ? -HUGE_VAL : HUGE_VAL));
	}
	return is_max ? bounds->max <= best : bounds->min >= best;
}

/* Are the first nrows rows selected, and no other? */
static bool
selects_all(const uint64 *sel, uint32 nrows)
{
	Assert(nrows <= ZS_KERNEL_ROWS);
	for (uint32 w = 0; w < nrows / 64; w++)
	{
		if (sel[w] != PG_UINT64_MAX)
			return false;
	}
	return zskernel_bits_count(sel) == nrows &&
		(nrows % 64 == 0 || sel[nrows / 64] == (UINT64CONST(1) << (nrows % 64)) - 1);
}

/*
 * Totals instead of a vector: what the rows of sel of the present batch come to, for the value as
 * it is.  False: that cannot be said.  Adding them never fails.
 */
bool
zsnode_agg_get_totals(const ZsAgg *agg, const ZsAggValue *value, ZsInput *input,
					  const uint64 *sel, ZsVectorTotals *totals)
{
	bool		extremes = agg->kind == ZS_AGG_MIN || agg->kind == ZS_AGG_MAX;
	ZsColumnBounds bounds;

	if (!zs_enable_vector_totals || agg->attno == InvalidAttrNumber || agg->filter != NULL ||
		agg->distinct)
		return false;
	if (!zsagg_ops_of(agg)->has_totals ||
		(extremes && agg->domain != ZS_DOMAIN_INT && agg->domain != ZS_DOMAIN_DECIMAL))
		return false;
	if (!zsexpr_input_bounds(input, agg->attno, &bounds))
		return false;
	if (extremes && cannot_replace(agg, value, &bounds))
	{
		totals->nvalues = 0;
		return true;
	}
	if (!selects_all(sel, bounds.nrows))
		return false;
	if (agg->kind == ZS_AGG_COUNT)
	{
		totals->nvalues = bounds.nrows - bounds.nnulls;
		return true;
	}
	return zsexpr_input_totals(input, agg->attno, extremes, totals) &&
		totals->nrows == bounds.nrows;
}
