/*-------------------------------------------------------------------------
 *
 * vector_agg_value.c
 *	  What aggregates compute: their states, from batches and from single rows.
 *
 * The results are those of core's aggregates, to the last digit:
 *
 *	- Sums of integers of 2 and 4 bytes wrap at 64 bits, as core's do; those of 8 bytes and of numerics are exact.
 *	- Numerics are added as integers of a common scale.  What does not fit 128 bits goes to a Numeric of core's.
 *	  The result's display scale is the largest of the numbers that were added.
 *	- Floats are added in the order of the rows, and averages keep the sum of squared differences for the one thing that
 *	  it shows in: core raises an error when it overflows.
 *	- Of values that compare equal, min and max of floats and numerics return the last one.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_agg_value.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_aggregate_d.h"
#include "fmgr.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/fmgroids.h"
#include "varatt.h"

#include "vector_agg.h"
#include "zs_codec.h"

/* ---- which aggregates ---------------------------------------------------------- */

typedef struct KnownAggregate
{
	Oid			aggfnoid;
	ZsAggKind	kind;
	ZsDomain	domain;			/* of the argument */
} KnownAggregate;

static const KnownAggregate known_aggregates[] = {
	{F_SUM_INT2, ZS_AGG_SUM_INT, ZS_DOMAIN_INT},
	{F_SUM_INT4, ZS_AGG_SUM_INT, ZS_DOMAIN_INT},
	{F_SUM_INT8, ZS_AGG_SUM_INT8, ZS_DOMAIN_INT},
	{F_SUM_NUMERIC, ZS_AGG_SUM_NUMERIC, ZS_DOMAIN_DECIMAL},
	{F_SUM_FLOAT4, ZS_AGG_SUM_FLOAT4, ZS_DOMAIN_FLOAT4},
	{F_SUM_FLOAT8, ZS_AGG_SUM_FLOAT8, ZS_DOMAIN_FLOAT8},
	{F_AVG_INT2, ZS_AGG_AVG_INT, ZS_DOMAIN_INT},
	{F_AVG_INT4, ZS_AGG_AVG_INT, ZS_DOMAIN_INT},
	{F_AVG_INT8, ZS_AGG_AVG_INT8, ZS_DOMAIN_INT},
	{F_AVG_NUMERIC, ZS_AGG_AVG_NUMERIC, ZS_DOMAIN_DECIMAL},
	{F_AVG_FLOAT4, ZS_AGG_AVG_FLOAT, ZS_DOMAIN_FLOAT4},
	{F_AVG_FLOAT8, ZS_AGG_AVG_FLOAT, ZS_DOMAIN_FLOAT8},
	{F_MIN_INT2, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_INT4, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_INT8, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_DATE, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_TIME, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_TIMESTAMP, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_TIMESTAMPTZ, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_MONEY, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_FLOAT4, ZS_AGG_MIN, ZS_DOMAIN_FLOAT4},
	{F_MIN_FLOAT8, ZS_AGG_MIN, ZS_DOMAIN_FLOAT8},
	{F_MIN_NUMERIC, ZS_AGG_MIN, ZS_DOMAIN_DECIMAL},
	{F_MAX_INT2, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_INT4, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_INT8, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_DATE, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_TIME, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_TIMESTAMP, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_TIMESTAMPTZ, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_MONEY, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_FLOAT4, ZS_AGG_MAX, ZS_DOMAIN_FLOAT4},
	{F_MAX_FLOAT8, ZS_AGG_MAX, ZS_DOMAIN_FLOAT8},
	{F_MAX_NUMERIC, ZS_AGG_MAX, ZS_DOMAIN_DECIMAL},
};

bool
zsvector_agg_classify(TupleDesc desc, Index varno, Aggref *aggref, ZsAgg *agg)
{
	Node	   *arg;

	memset(agg, 0, sizeof(*agg));
	if (aggref->agglevelsup != 0 || aggref->aggdistinct != NIL || aggref->aggorder != NIL ||
		aggref->aggdirectargs != NIL || aggref->aggvariadic || aggref->aggkind != AGGKIND_NORMAL)
		return false;
	if (aggref->aggfilter != NULL)
	{
		agg->filter = zsvector_qual_compile(desc, varno, (Node *) aggref->aggfilter);
		if (agg->filter == NULL)
			return false;
	}
	if (aggref->aggfnoid == F_COUNT_)
	{
		agg->kind = ZS_AGG_COUNT_ROWS;
		return aggref->aggstar;
	}
	if (list_length(aggref->args) != 1)
		return false;
	arg = (Node *) linitial_node(TargetEntry, aggref->args)->expr;
	agg->attno = zsvector_column_of(desc, varno, arg, &agg->domain);
	if (agg->attno == InvalidAttrNumber)
	{
		agg->expr = zsvector_expr_compile(desc, varno, arg);
		if (agg->expr == NULL)
			return false;
		agg->domain = zsvector_expr_domain(agg->expr);
		agg->width = zsvector_expr_width(agg->expr);
	}
	else if (agg->domain == ZS_DOMAIN_NONE)
		return false;
	else
		agg->width = TupleDescAttr(desc, agg->attno - 1)->attlen;
	if (aggref->aggfnoid == F_COUNT_ANY)
	{
		agg->kind = ZS_AGG_COUNT;
		return true;
	}
	for (int i = 0; i < (int) lengthof(known_aggregates); i++)
	{
		if (known_aggregates[i].aggfnoid == aggref->aggfnoid)
		{
			agg->kind = known_aggregates[i].kind;
			return agg->domain == known_aggregates[i].domain;
		}
	}
	return false;
}

/* ---- numerics -------------------------------------------------------------------- */

/* sum / 10^scale as a Numeric of display scale dscale; digits behind that are zeros. */
static Numeric
make_numeric(zs_int128 sum, int scale, int dscale)
{
	char		text[128];
	char	   *p = text + sizeof(text);
	bool		negative = sum < 0;
	unsigned __int128 rest = negative ? -(unsigned __int128) sum : (unsigned __int128) sum;
	int			digits = 0;

	for (; scale > dscale; scale--)
	{
		Assert(rest % 10 == 0);
		rest /= 10;
	}
	*--p = '\0';
	for (int i = scale; i < dscale; i++)
	{
		if (scale == 0 && i == dscale - 1)
		{
			*--p = '0';
			*--p = '.';
		}
		else
			*--p = '0';
	}
	while (rest != 0 || digits <= scale)
	{
		if (digits == scale && scale > 0)
			*--p = '.';
		*--p = '0' + (char) (rest % 10);
		rest /= 10;
		digits++;
	}
	if (negative)
		*--p = '-';
	return DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(p),
											   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

static Numeric
add_numerics(Numeric a, Numeric b)
{
	if (a == NULL)
		return b;
	return DatumGetNumeric(DirectFunctionCall2(numeric_add, NumericGetDatum(a), NumericGetDatum(b)));
}

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

/* Adds sum / 10^scale; the display scale of the inputs was taken care of. */
static void
add_scaled(ZsAggValue *value, zs_int128 sum, int scale)
{
	zs_int128	present = value->sum;
	__int128	result;

	if (value->scale == scale ||
		(value->scale < scale ? scale_up(&present, scale - value->scale) :
		 scale_up(&sum, value->scale - scale)))
	{
		if (!__builtin_add_overflow((__int128) present, (__int128) sum, &result))
		{
			value->sum = result;
			value->scale = Max(scale, value->scale);
			return;
		}
		if (value->scale > scale)
			scale = value->scale;
		value->spare = add_numerics(value->spare, make_numeric(present, Max(scale, value->scale),
															   Max(scale, value->scale)));
		value->sum = sum;
		value->scale = scale;
		return;
	}
	/* what does not fit at the common scale goes away at its own */
	value->spare = add_numerics(value->spare, make_numeric(value->sum, value->scale, value->scale));
	value->sum = sum;
	value->scale = scale;
}

/* The sum without the special values; its display scale is that of the inputs. */
Numeric
zsvector_agg_numeric_sum(const ZsAggValue *value)
{
	Numeric		sum;

	if (value->spare == NULL)
		return make_numeric(value->sum, value->scale, value->dscale);
	sum = add_numerics(value->spare, make_numeric(value->sum, value->scale, value->scale));

	/* parts may have more digits behind the point than the inputs, all zeros */
	return DatumGetNumeric(DirectFunctionCall2(numeric_round, NumericGetDatum(sum),
											   Int32GetDatum(value->dscale)));
}

static bool
numeric_to_int(Numeric num, int64 *integer, int *scale)
{
	return zscodec_numeric_to_int((const uint8 *) VARDATA_ANY(num), VARSIZE_ANY_EXHDR(num), scale,
								  integer);
}

static int
display_scale(Numeric num)
{
	return DatumGetInt32(DirectFunctionCall1(numeric_scale, NumericGetDatum(num)));
}

static void
add_numeric(ZsAggValue *value, Numeric num)
{
	int64		integer;
	int			scale;

	if (numeric_to_int(num, &integer, &scale))
	{
		value->count++;
		value->dscale = Max(value->dscale, scale);
		add_scaled(value, integer, scale);
	}
	else if (numeric_is_nan(num))
		value->has_nan = true;
	else if (numeric_is_inf(num))
	{
		if (DatumGetBool(DirectFunctionCall2(numeric_gt, NumericGetDatum(num),
											 NumericGetDatum(int64_to_numeric(0)))))
			value->has_pinf = true;
		else
			value->has_ninf = true;
	}
	else
	{
		Numeric		old = value->spare;

		value->count++;
		value->dscale = Max(value->dscale, display_scale(num));
		if (old == NULL)
			value->spare = DatumGetNumericCopy(NumericGetDatum(num));
		else
		{
			value->spare = add_numerics(old, num);
			pfree(old);
		}
	}
}

static Datum
numeric_result(const ZsAgg *agg, const ZsAggValue *value, bool *isnull)
{
	Numeric		sum;
	const char *special = NULL;

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
		return DirectFunctionCall3(numeric_in, CStringGetDatum(special), ObjectIdGetDatum(InvalidOid),
								   Int32GetDatum(-1));
	sum = zsvector_agg_numeric_sum(value);
	if (agg->kind == ZS_AGG_SUM_NUMERIC || agg->kind == ZS_AGG_SUM_INT8)
		return NumericGetDatum(sum);
	return DirectFunctionCall2(numeric_div, NumericGetDatum(sum),
							   NumericGetDatum(int64_to_numeric(value->count)));
}

/* ---- floats -------------------------------------------------------------------------- */

/* As float8_accum() of the server; false where that raises an error. */
static bool
accumulate_float(ZsAggValue *value, double newval)
{
	double		old_n = (double) value->count;
	double		n = old_n + 1.0;
	double		old_sx = value->sx;
	double		sx = old_sx + newval;
	double		sxx = value->sxx;

	if (old_n > 0.0)
	{
		double		tmp = newval * n - sx;

		sxx += tmp * tmp / (n * old_n);
		if (isinf(sx) || isinf(sxx))
		{
			if (!isinf(old_sx) && !isinf(newval))
				return false;
			sxx = get_float8_nan();
		}
	}
	else if (isnan(newval) || isinf(newval))
		sxx = get_float8_nan();
	value->count++;
	value->sx = sx;
	value->sxx = sxx;
	return true;
}

static double
float_of(ZsDomain domain, int64 pattern)
{
	return domain == ZS_DOMAIN_FLOAT4 ? (double) zskernel_float4(pattern) : zskernel_float8(pattern);
}

/* ---- min and max ------------------------------------------------------------------------ */

/* Does the later of two values take the place of the earlier one? */
static bool
replaces(const ZsAgg *agg, int64 present, int64 later)
{
	if (agg->domain == ZS_DOMAIN_FLOAT4 || agg->domain == ZS_DOMAIN_FLOAT8)
	{
		double		a = float_of(agg->domain, present);
		double		b = float_of(agg->domain, later);

		return agg->kind == ZS_AGG_MAX ? !float8_gt(a, b) : !float8_lt(a, b);
	}
	return agg->kind == ZS_AGG_MAX ? later > present : later < present;
}

static void
add_extreme(const ZsAgg *agg, ZsAggValue *value, int64 later)
{
	if (value->count == 0 || replaces(agg, value->best, later))
		value->best = later;
	value->count++;
}

static Numeric
extreme_of(const ZsAggValue *value)
{
	return value->best_numeric != NULL ? value->best_numeric :
		make_numeric(value->best, value->scale, value->dscale);
}

/* later / 10^scale, with another display scale perhaps. */
static void
add_extreme_decimal(const ZsAgg *agg, ZsAggValue *value, int64 later, int scale, int dscale)
{
	bool		replace = value->count == 0;

	if (value->count == 0)
		 /* the first */ ;
	else if (value->best_numeric != NULL)
	{
		Numeric		num = make_numeric(later, scale, dscale);

		value->best_numeric =
			DatumGetNumeric(DirectFunctionCall2(agg->kind == ZS_AGG_MAX ? numeric_larger : numeric_smaller,
												NumericGetDatum(value->best_numeric),
												NumericGetDatum(num)));
		if (value->best_numeric != num)
			pfree(num);
	}
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

static void
add_extreme_numeric(const ZsAgg *agg, ZsAggValue *value, Numeric num)
{
	int64		integer;
	int			scale;

	if (numeric_to_int(num, &integer, &scale) && scale <= 18)
	{
		add_extreme_decimal(agg, value, integer, scale, scale);
		return;
	}
	num = DatumGetNumericCopy(NumericGetDatum(num));
	if (value->count > 0)
	{
		Numeric		old = extreme_of(value);
		Numeric		winner = DatumGetNumeric(DirectFunctionCall2(agg->kind == ZS_AGG_MAX ? numeric_larger : numeric_smaller,
																 NumericGetDatum(old), NumericGetDatum(num)));

		/* single rows only: nobody goes back to an earlier state */
		pfree(winner == old ? num : old);
		num = winner;
	}
	value->best_numeric = num;
	value->count++;
}

/* ---- batches ---------------------------------------------------------------------------------- */

static void
add_decimals(ZsAggValue *value, const ZsColumnVector *vector, const uint64 *sel)
{
	value->count += zskernel_bits_count(sel);
	if (vector->dscales == NULL)
		value->dscale = Max(value->dscale, vector->scale);
	else
	{
		for (int w = 0; w < ZS_KERNEL_WORDS; w++)
		{
			for (uint64 word = sel[w]; word != 0; word &= word - 1)
				value->dscale = Max(value->dscale, vector->dscales[w * 64 + __builtin_ctzll(word)]);
		}
	}
	add_scaled(value, zskernel_sum_int64(vector->vals, sel), vector->scale);
}

static void
add_extremes(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, const uint64 *sel)
{
	bool		is_max = agg->kind == ZS_AGG_MAX;

	if (agg->domain == ZS_DOMAIN_INT || (agg->domain == ZS_DOMAIN_DECIMAL && vector->dscales == NULL))
	{
		/* among equal values of one form it does not matter which is taken */
		int64		best = is_max ? zskernel_max_int64(vector->vals, sel) :
			zskernel_min_int64(vector->vals, sel);
		int64		count = value->count + zskernel_bits_count(sel);

		if (agg->domain == ZS_DOMAIN_INT)
			add_extreme(agg, value, best);
		else
			add_extreme_decimal(agg, value, best, vector->scale, vector->scale);
		value->count = count;
		return;
	}
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = sel[w]; word != 0; word &= word - 1)
		{
			uint32		row = w * 64 + __builtin_ctzll(word);

			if (agg->domain == ZS_DOMAIN_DECIMAL)
				add_extreme_decimal(agg, value, vector->vals[row], vector->scale,
									vector->dscales[row]);
			else
				add_extreme(agg, value, vector->vals[row]);
		}
	}
}

bool
zsvector_agg_add_batch(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector,
					   const uint64 *sel)
{
	uint64		rest[ZS_KERNEL_WORDS];
	uint32		count = zskernel_bits_count(sel);
	int			w = 0;

	if (count == 0)
		return true;
	switch (agg->kind)
	{
		case ZS_AGG_COUNT_ROWS:
		case ZS_AGG_COUNT:
			value->count += count;
			return true;
		case ZS_AGG_SUM_INT:
		case ZS_AGG_AVG_INT:
			value->count += count;
			value->sum = (int64) ((uint64) value->sum +
								  (uint64) zskernel_sum_int64_narrow(vector->vals, sel));
			return true;
		case ZS_AGG_SUM_INT8:
		case ZS_AGG_AVG_INT8:
			/* 2^63 rows would be needed to overflow this */
			value->count += count;
			value->sum += zskernel_sum_int64(vector->vals, sel);
			return true;
		case ZS_AGG_SUM_NUMERIC:
		case ZS_AGG_AVG_NUMERIC:
			add_decimals(value, vector, sel);
			return true;
		case ZS_AGG_SUM_FLOAT4:
		case ZS_AGG_SUM_FLOAT8:
			zskernel_bits_copy(rest, sel);
			if (value->count == 0)
			{
				/* the first input is the state as it is, -0 included */
				while (rest[w] == 0)
					w++;
				value->sx4 = zskernel_float4(vector->vals[w * 64 + __builtin_ctzll(rest[w])]);
				value->sx = zskernel_float8(vector->vals[w * 64 + __builtin_ctzll(rest[w])]);
				rest[w] &= rest[w] - 1;
			}
			value->count += count;

			/* once infinite or NaN a sum stays so; whether it may become so is core's to say */
			if (agg->kind == ZS_AGG_SUM_FLOAT4)
			{
				bool		finite = isfinite(value->sx4);

				value->sx4 = zskernel_sum_float4(vector->vals, rest, value->sx4);
				return !finite || isfinite(value->sx4);
			}
			else
			{
				bool		finite = isfinite(value->sx);

				value->sx = zskernel_sum_float8(vector->vals, rest, value->sx);
				return !finite || isfinite(value->sx);
			}
		case ZS_AGG_AVG_FLOAT:
			for (; w < ZS_KERNEL_WORDS; w++)
			{
				for (uint64 word = sel[w]; word != 0; word &= word - 1)
				{
					if (!accumulate_float(value, float_of(agg->domain,
														  vector->vals[w * 64 + __builtin_ctzll(word)])))
						return false;
				}
			}
			return true;
		case ZS_AGG_MIN:
		case ZS_AGG_MAX:
			add_extremes(agg, value, vector, sel);
			return true;
	}
	return false;
}

/* One value of a batch for one group.  Errors: float overflow, which core reports in the same words. */
static inline void
add_one(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, uint32 row)
{
	int64		v = vector->vals[row];

	switch (agg->kind)
	{
		case ZS_AGG_COUNT_ROWS:
		case ZS_AGG_COUNT:
			break;
		case ZS_AGG_SUM_INT:
		case ZS_AGG_AVG_INT:
			value->sum = (int64) ((uint64) value->sum + (uint64) v);
			break;
		case ZS_AGG_SUM_INT8:
		case ZS_AGG_AVG_INT8:
			value->sum += v;
			break;
		case ZS_AGG_SUM_NUMERIC:
		case ZS_AGG_AVG_NUMERIC:
			value->dscale = Max(value->dscale, vector->dscales == NULL ? vector->scale : vector->dscales[row]);
			add_scaled(value, v, vector->scale);
			break;
		case ZS_AGG_SUM_FLOAT4:
			value->sx4 = value->count == 0 ? zskernel_float4(v) : float4_pl(value->sx4, zskernel_float4(v));
			break;
		case ZS_AGG_SUM_FLOAT8:
			value->sx = value->count == 0 ? zskernel_float8(v) : float8_pl(value->sx, zskernel_float8(v));
			break;
		case ZS_AGG_AVG_FLOAT:
			if (!accumulate_float(value, float_of(agg->domain, v)))
				float_overflow_error();
			return;
		case ZS_AGG_MIN:
		case ZS_AGG_MAX:
			if (agg->domain == ZS_DOMAIN_DECIMAL)
				add_extreme_decimal(agg, value, v, vector->scale,
									vector->dscales == NULL ? vector->scale : vector->dscales[row]);
			else
				add_extreme(agg, value, v);
			return;
	}
	value->count++;
}

static inline void
add_decimal(ZsAggValue *value, int64 v, int scale)
{
	value->count++;
	value->dscale = Max(value->dscale, scale);

	/* a sum of 64 bits or so is far from the ends of 128 */
	if (likely(value->scale == scale && (int64) (value->sum >> 64) == (int64) (value->sum >> 127)))
		value->sum += v;
	else
		add_scaled(value, v, scale);
}

/* Adds, for each row of list that is in sel and has a group, what `step` does to its value; v is the row's argument. */
#define FOR_EACH_ROW(step) \
	for (uint32 i = 0; i < n; i++) \
	{ \
		uint32		row = list[i]; \
		ZsAggValue *value; \
		int64		v; \
		\
		if (groups[i] == PG_UINT32_MAX || !zskernel_bits_get(sel, row)) \
			continue; \
		value = &values[(size_t) groups[i] * stride]; \
		v = vals != NULL ? vals[row] : 0; \
		(void) v; \
		step; \
	}

void
zsvector_agg_add_groups(const ZsAgg *agg, ZsAggValue *values, int stride, const ZsColumnVector *vector,
						const uint64 *sel, const uint16 *list, uint32 n, const uint32 *groups)
{
	const int64 *vals = vector != NULL ? vector->vals : NULL;

	switch (agg->kind)
	{
		case ZS_AGG_COUNT_ROWS:
		case ZS_AGG_COUNT:
			FOR_EACH_ROW(value->count++);
			break;
		case ZS_AGG_SUM_INT:
		case ZS_AGG_AVG_INT:
			FOR_EACH_ROW((value->count++, value->sum = (int64) ((uint64) value->sum + (uint64) v)));
			break;
		case ZS_AGG_SUM_NUMERIC:
		case ZS_AGG_AVG_NUMERIC:
			if (vector != NULL && vector->dscales == NULL)
			{
				int			scale = vector->scale;

				FOR_EACH_ROW(add_decimal(value, v, scale));
				break;
			}
			/* FALLTHROUGH */
		default:
			FOR_EACH_ROW(add_one(agg, value, vector, row));
			break;
	}
}

/* ---- rows ----------------------------------------------------------------------------------------- */

/* The integer or pattern of a by-value datum, as a decoded vector has it. */
int64
zsvector_datum_to_int64(int size, Datum datum)
{
	switch (size)
	{
		case 1:
			return (int8) DatumGetChar(datum);
		case 2:
			return DatumGetInt16(datum);
		case 4:
			return DatumGetInt32(datum);
		default:
			return DatumGetInt64(datum);
	}
}

void
zsvector_agg_add_datum(const ZsAgg *agg, ZsAggValue *value, Datum datum, bool isnull)
{
	if (agg->kind == ZS_AGG_COUNT_ROWS)
	{
		value->count++;
		return;
	}
	if (isnull)
		return;
	switch (agg->kind)
	{
		case ZS_AGG_COUNT_ROWS:
		case ZS_AGG_COUNT:
			value->count++;
			break;
		case ZS_AGG_SUM_INT:
		case ZS_AGG_AVG_INT:
			value->count++;
			value->sum = (int64) ((uint64) value->sum + (uint64) zsvector_datum_to_int64(agg->width, datum));
			break;
		case ZS_AGG_SUM_INT8:
		case ZS_AGG_AVG_INT8:
			value->count++;
			value->sum += DatumGetInt64(datum);
			break;
		case ZS_AGG_SUM_NUMERIC:
		case ZS_AGG_AVG_NUMERIC:
			add_numeric(value, DatumGetNumeric(datum));
			break;
		case ZS_AGG_SUM_FLOAT4:
			value->sx4 = value->count == 0 ? DatumGetFloat4(datum) :
				float4_pl(value->sx4, DatumGetFloat4(datum));
			value->count++;
			break;
		case ZS_AGG_SUM_FLOAT8:
			value->sx = value->count == 0 ? DatumGetFloat8(datum) :
				float8_pl(value->sx, DatumGetFloat8(datum));
			value->count++;
			break;
		case ZS_AGG_AVG_FLOAT:
			if (!accumulate_float(value, agg->domain == ZS_DOMAIN_FLOAT4 ?
								  (double) DatumGetFloat4(datum) : DatumGetFloat8(datum)))
				float_overflow_error();
			break;
		case ZS_AGG_MIN:
		case ZS_AGG_MAX:
			if (agg->domain == ZS_DOMAIN_DECIMAL)
				add_extreme_numeric(agg, value, DatumGetNumeric(datum));
			else
				add_extreme(agg, value, zsvector_datum_to_int64(agg->width, datum));
			break;
	}
}

/* ---- results ---------------------------------------------------------------------------------------- */

Datum
zsvector_int64_to_datum(int size, int64 value)
{
	switch (size)
	{
		case 1:
			return CharGetDatum((char) value);
		case 2:
			return Int16GetDatum((int16) value);
		case 4:
			return Int32GetDatum((int32) value);
		default:
			return Int64GetDatum(value);
	}
}

Datum
zsvector_agg_result(const ZsAgg *agg, const ZsAggValue *value, bool *isnull)
{
	*isnull = false;
	switch (agg->kind)
	{
		case ZS_AGG_COUNT_ROWS:
		case ZS_AGG_COUNT:
			return Int64GetDatum(value->count);
		case ZS_AGG_SUM_INT8:
		case ZS_AGG_AVG_INT8:
		case ZS_AGG_SUM_NUMERIC:
		case ZS_AGG_AVG_NUMERIC:
			return numeric_result(agg, value, isnull);
		default:
			break;
	}
	if (value->count == 0)
	{
		*isnull = true;
		return (Datum) 0;
	}
	switch (agg->kind)
	{
		case ZS_AGG_SUM_INT:
			return Int64GetDatum((int64) value->sum);
		case ZS_AGG_AVG_INT:
			return DirectFunctionCall2(numeric_div,
									   NumericGetDatum(int64_to_numeric((int64) value->sum)),
									   NumericGetDatum(int64_to_numeric(value->count)));
		case ZS_AGG_SUM_FLOAT4:
			return Float4GetDatum(value->sx4);
		case ZS_AGG_SUM_FLOAT8:
			return Float8GetDatum(value->sx);
		case ZS_AGG_AVG_FLOAT:
			return Float8GetDatum(value->sx / (double) value->count);
		default:
			if (agg->domain == ZS_DOMAIN_DECIMAL)
				return NumericGetDatum(extreme_of(value));
			return zsvector_int64_to_datum(agg->width, value->best);
	}
}
