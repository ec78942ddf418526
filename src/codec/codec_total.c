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
#include "codec_numeric.h"
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
 * The values of a vector as integers of one scale, without places for nulls; *found is false if
 * they are none.
 */
static const char *
decode_ints(const ZsSegmentInfo *info, const ZsVectorInfo *vi, ZsReader *r, uint32 n,
			const ZsSharedState *shared, uint64 *ints, int *scale, bool *found)
{
	int64		value;

	*found = true;
	*scale = 0;
	if (vi->encoding == ZS_ENC_DICT)
		return zscodec_dict_decode_ints(info, r, n, shared, ints, scale, found);
	if (info->kind == ZS_KIND_INT)
	{
		if (reader_left(r) < 1 || (*r->p & 0x0F) != vi->encoding)
			return "encoding does not fit the directory";
		return zscodec_ints_decode(r, n, ints);
	}
	if (vi->encoding == ZS_ENC_NUMERIC)
		return zscodec_numeric_decode_ints(r, n, ints, scale, found);
	*found = vi->encoding == ZS_ENC_CONST &&
		zscodec_numeric_to_int(r->p, reader_left(r), scale, &value);
	for (uint32 i = 0; i < n && *found; i++)
		ints[i] = (uint64) value;
	return NULL;
}

/* See zs_codec.h. */
const char *
zscodec_vector_totals(const ZsSegmentInfo *info, int vecno, const uint8 *vec, size_t len,
					  const ZsSharedState *shared, bool extremes, ZsVectorOut *out,
					  ZsVectorTotals *totals, bool *found)
{
	const ZsVectorInfo *vi;
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
	if ((err = decode_ints(info, vi, &r, totals->nvalues, shared, ints, &totals->scale,
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
