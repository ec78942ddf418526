/*-------------------------------------------------------------------------
 *
 * codec_total.c
 *	  A vector's sum and extremes, without its values.
 *
 * For integers, and numerics of one scale, that are all wanted: they are decoded without places for
 * nulls and added up at once.  Those of which 1024 might not fit 64 bits are left to the caller.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_total.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_ops.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/* Integers of which 1024 can be added up in 64 bits are smaller than this in size. */
#define TOTAL_LIMIT		(UINT64CONST(1) << 52)

/* False if one of the integers is too large. */
static ZS_CLONES bool
add_up(const uint64 *ints, uint32 n, int64 *result)
{
	uint64		sum = 0;
	uint64		any = 0;

	for (uint32 i = 0; i < n; i++)
	{
		sum += ints[i];
		any |= ints[i] + TOTAL_LIMIT;
	}
	*result = (int64) sum;
	return any < 2 * TOTAL_LIMIT;
}

static ZS_CLONES void
find_extremes(const uint64 *ints, uint32 n, ZsVectorTotals *totals)
{
	int64		min = PG_INT64_MAX;
	int64		max = PG_INT64_MIN;

	for (uint32 i = 0; i < n; i++)
	{
		int64		v = (int64) ints[i];

		min = v < min ? v : min;
		max = v > max ? v : max;
	}
	totals->min = min;
	totals->max = max;
}

/*
 * Adds up the values of a vector without moving them to their rows.  *found is false if they are no
 * integers below 2^52 in size, or numerics of several display scales; a dictionary's need
 * zscodec_shared_scale().  out lends memory, and what it has of the same vector stays as it is.
 */
const char *
zscodec_vector_totals(const ZsSegmentInfo *info, int vecno, const uint8 *vec, size_t len,
					  const ZsSharedState *shared, bool extremes, ZsVectorOut *out,
					  ZsVectorTotals *totals, bool *found)
{
	const ZsVectorInfo *vi;
	const ZsEncodingOps *ops;
	ZsReader	r;
	uint64		ints[ZS_VECTOR_ROWS];
	uint32		nnulls = 0;
	const char *err;

	*found = false;
	if (vecno < 0 || (uint32) vecno >= info->nvectors)
		return "vector number out of range";
	vi = &info->vectors[vecno];
	if (len != vi->len)
		return "vector has the wrong length";
	if ((info->kind != ZS_KIND_INT && info->kind != ZS_KIND_NUMERIC) || vi->has_ext)
		return NULL;
	totals->nrows = vi->nrows;
	totals->nvalues = (uint32) vi->nrows - vi->nnulls;
	*found = totals->nvalues == 0;
	if (*found)
		return NULL;
	if ((err = zscodec_open_body(info, vi, vec, len, shared, out, &r)) != NULL)
		return err;
	if (vi->nnulls > 0 && (err = zscodec_posset_skip(&r, vi->nrows, &nnulls)) != NULL)
		return err;
	if (nnulls != vi->nnulls)
		return "null count does not fit the directory";
	ops = &zscodec_encoding_ops[vi->encoding];
	if (ops->ints == NULL)
		return NULL;
	*found = true;
	totals->scale = 0;
	if ((err = ops->ints(info, vi, &r, totals->nvalues, shared, ints, &totals->scale,
						 found)) != NULL)
	{
		*found = false;
		return err;
	}
	*found = *found && add_up(ints, totals->nvalues, &totals->sum);
	if (*found && extremes)
		find_extremes(ints, totals->nvalues, totals);
	return NULL;
}
