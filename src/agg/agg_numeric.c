/*-------------------------------------------------------------------------
 *
 * agg_numeric.c
 *	  Sums and extremes of numerics.
 *
 * Numerics are added as integers of a common scale.  What does not fit 128 bits there goes to
 * core's own accumulator (numeric_avg_accum()), and so do numerics that are no integers of at most
 * 18 digits: its partial sums may be larger than any numeric, and come back into range.  The
 * result's display scale is the largest of the numbers that were added.
 *
 * Of values that compare equal, minimum and maximum are the last one.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_numeric.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/fmgrprotos.h"
#include "varatt.h"

#include "zs_agg.h"
#include "zs_codec.h"

/* Multiplies by 10^n; false if that overflows. */
static bool
scale_up(zs_int128 *value, int n)
{
	__int128	v = *value;

	for (; n > 0; n--)
	{
		if (__builtin_mul_overflow(v, (__int128) 10, &v))
			return false;
	}
	*value = v;
	return true;
}

/* ---- sums -------------------------------------------------------------------------- */

/* Where the part of the sum is that core does not keep. */
static inline zs_int128 *
sum_of(ZsAggValue *value)
{
	return value->is_large ? &value->large->sum : &value->sum;
}

/* Adds to the part that core keeps. */
static void
add_to_core(const ZsAgg *agg, ZsAggValue *value, Numeric num)
{
	LOCAL_FCINFO(fcinfo, 2);

	Assert(agg->node != NULL);
	if (!value->is_large)
	{
		ZsLargeSum *large = palloc0(sizeof(ZsLargeSum));

		large->sum = value->sum;
		value->large = large;
		value->is_large = true;
	}
	InitFunctionCallInfoData(*fcinfo, NULL, 2, InvalidOid, (Node *) agg->node, NULL);
	fcinfo->args[0].value = PointerGetDatum(value->large->core);
	fcinfo->args[0].isnull = value->large->core == NULL;
	fcinfo->args[1].value = NumericGetDatum(num);
	fcinfo->args[1].isnull = false;
	value->large->core = DatumGetPointer(numeric_avg_accum(fcinfo));
}

/* Gives the part of the sum that core does not keep to core. */
static void
move_to_core(const ZsAgg *agg, ZsAggValue *value)
{
	Numeric		num = zsexpr_numeric_make(*sum_of(value), value->scale, value->scale);

	add_to_core(agg, value, num);
	pfree(num);
	value->large->sum = 0;
}

/* Adds v / 10^scale to a sum; leaves count and display scale to the caller. */
void
zsagg_numeric_sum_int(const ZsAgg *agg, ZsAggValue *value, zs_int128 v, int scale)
{
	zs_int128	present = *sum_of(value);
	zs_int128	added = v;
	__int128	result;

	Assert(scale >= 0 && value->scale >= 0);
	if ((value->scale >= scale || scale_up(&present, scale - value->scale)) &&
		(value->scale <= scale || scale_up(&added, value->scale - scale)) &&
		!__builtin_add_overflow((__int128) present, (__int128) added, &result))
	{
		*sum_of(value) = result;
		value->scale = Max(scale, value->scale);
		return;
	}
	/* each of them fits at its own scale */
	move_to_core(agg, value);
	value->large->sum = v;
	value->scale = scale;
}

static bool
numeric_to_int(Numeric num, int64 *integer, int *scale)
{
	return zscodec_numeric_to_int((const uint8 *) VARDATA_ANY(num), VARSIZE_ANY_EXHDR(num), scale,
								  integer);
}

/* The number of digits that the numeric shows behind the point. */
static int
display_scale(Numeric num)
{
	return DatumGetInt32(DirectFunctionCall1(numeric_scale, NumericGetDatum(num)));
}

/* Is it more than zero? */
static bool
is_positive(Numeric num)
{
	Numeric		zero = int64_to_numeric(0);
	bool		result = DatumGetBool(DirectFunctionCall2(numeric_gt, NumericGetDatum(num),
														  NumericGetDatum(zero)));

	pfree(zero);
	return result;
}

/* Adds any numeric to a sum. */
void
zsagg_numeric_sum(const ZsAgg *agg, ZsAggValue *value, Numeric num)
{
	int64		integer;
	int			scale;

	if (numeric_to_int(num, &integer, &scale))
	{
		value->count++;
		value->dscale = Max(value->dscale, scale);
		zsagg_numeric_sum_int(agg, value, integer, scale);
	}
	else if (numeric_is_nan(num))
		value->has_nan = true;
	else if (numeric_is_inf(num))
	{
		if (is_positive(num))
			value->has_pinf = true;
		else
			value->has_ninf = true;
	}
	else
	{
		value->count++;
		value->dscale = Max(value->dscale, display_scale(num));
		add_to_core(agg, value, num);
	}
}

/* The part of a sum that core keeps, which has to be there, in the current context. */
Numeric
zsagg_numeric_spare(const ZsAgg *agg, const ZsAggValue *value)
{
	LOCAL_FCINFO(fcinfo, 1);

	Assert(value->is_large && value->large->core != NULL && agg->node != NULL);
	InitFunctionCallInfoData(*fcinfo, NULL, 1, InvalidOid, (Node *) agg->node, NULL);
	fcinfo->args[0].value = PointerGetDatum(value->large->core);
	fcinfo->args[0].isnull = false;
	return DatumGetNumeric(numeric_sum(fcinfo));
}

/* Adds such a part, at any address, to a sum. */
void
zsagg_numeric_sum_spare(const ZsAgg *agg, ZsAggValue *value, const char *spare)
{
	Numeric		num;
	uint32		header;

	memcpy(&header, spare, sizeof(header));
	num = palloc(VARSIZE(&header));
	memcpy(num, spare, VARSIZE(&header));
	add_to_core(agg, value, num);
	pfree(num);
}

/*
 * The sum of numerics or of integers of 8 bytes, without the special values, in the current
 * context; its display scale is that of the inputs.
 */
Numeric
zsagg_numeric_total(const ZsAgg *agg, ZsAggValue *value)
{
	if (!value->is_large)
		return zsexpr_numeric_make(value->sum, value->scale, value->dscale);
	move_to_core(agg, value);

	/* parts may have more digits behind the point than the inputs, all zeros */
	return DatumGetNumeric(DirectFunctionCall2(numeric_round,
											   NumericGetDatum(zsagg_numeric_spare(agg, value)),
											   Int32GetDatum(value->dscale)));
}

/* Sum or average. */
Datum
zsagg_numeric_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	Numeric		sum;
	const char *special = NULL;

	Assert(agg->kind == ZS_AGG_SUM_NUMERIC || agg->kind == ZS_AGG_AVG_NUMERIC ||
		   agg->kind == ZS_AGG_SUM_INT8 || agg->kind == ZS_AGG_AVG_INT8);
	if (value->count == 0 && !value->has_nan && !value->has_pinf && !value->has_ninf)
	{
		*isnull = true;
		return (Datum) 0;
	}
	if (value->has_nan || (value->has_pinf && value->has_ninf))
		special = "NaN";
	else if (value->has_pinf)
		special = "Infinity";
	else if (value->has_ninf)
		special = "-Infinity";
	if (special != NULL)
		return DirectFunctionCall3(numeric_in, CStringGetDatum(special),
								   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
	sum = zsagg_numeric_total(agg, value);
	if (agg->kind == ZS_AGG_SUM_NUMERIC || agg->kind == ZS_AGG_SUM_INT8)
		return NumericGetDatum(sum);
	return DirectFunctionCall2(numeric_div, NumericGetDatum(sum),
							   NumericGetDatum(int64_to_numeric(value->count)));
}

/* ---- minimum and maximum ------------------------------------------------------------ */

/* The minimum or maximum so far, in the current context or that of the value. */
Numeric
zsagg_numeric_best(const ZsAggValue *value)
{
	Assert(value->count > 0);
	return value->is_large ? value->best_numeric :
		zsexpr_numeric_make(value->best, value->scale, value->dscale);
}

/* Which of the two it is now; the other one is freed. */
static Numeric
choose(const ZsAgg *agg, Numeric present, Numeric later)
{
	Datum		winner = DirectFunctionCall2(agg->kind == ZS_AGG_MAX ? numeric_larger :
											 numeric_smaller, NumericGetDatum(present),
											 NumericGetDatum(later));

	pfree(DatumGetNumeric(winner) == later ? present : later);
	return DatumGetNumeric(winner);
}

/* Takes later / 10^scale, with the display scale dscale, if it is a better minimum or maximum. */
void
zsagg_numeric_extreme_int(const ZsAgg *agg, ZsAggValue *value, int64 later, int scale,
						  int dscale)
{
	bool		replace = value->count == 0;

	Assert(agg->kind == ZS_AGG_MIN || agg->kind == ZS_AGG_MAX);
	Assert(scale >= 0 && dscale >= 0);
	if (value->count == 0)
		 /* the first */ ;
	else if (value->is_large)
		value->best_numeric = choose(agg, value->best_numeric,
									 zsexpr_numeric_make(later, scale, dscale));
	else
	{
		zs_int128	a = value->best;
		zs_int128	b = later;
		int			diff = scale - value->scale;

		/* 19 digits and at most 18 more */
		if (!scale_up(&a, Max(diff, 0)) || !scale_up(&b, Max(-diff, 0)))
			elog(ERROR, "numeric out of range in comparison");
		replace = agg->kind == ZS_AGG_MAX ? !(a > b) : !(a < b);
	}
	if (replace)
	{
		value->best = later;
		value->scale = scale;
		value->dscale = dscale;
	}
	value->count++;
}

/* Takes any numeric if it is a better minimum or maximum. */
void
zsagg_numeric_extreme(const ZsAgg *agg, ZsAggValue *value, Numeric num)
{
	int64		integer;
	int			scale;

	Assert(agg->domain == ZS_DOMAIN_DECIMAL);
	if (numeric_to_int(num, &integer, &scale) && scale <= 18)
	{
		zsagg_numeric_extreme_int(agg, value, integer, scale, scale);
		return;
	}
	num = DatumGetNumericCopy(NumericGetDatum(num));
	value->best_numeric = value->count == 0 ? num : choose(agg, zsagg_numeric_best(value), num);
	value->is_large = true;
	value->count++;
}
