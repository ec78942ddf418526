/*-------------------------------------------------------------------------
 *
 * expr_divide.c
 *	  Programs that divide a numeric by a constant.
 *
 * A numeric is an integer and a scale here.  Divided by 2, 5, or a product of these, it stays one:
 * of some digits more, and times an integer.  So cents become dollars without a division.  Divisors
 * such as 3 have no program.
 *
 * What the server's numeric_div() does otherwise is to choose how many digits it shows: at least 16
 * significant ones, counted in groups of four, by the sizes of both numbers (select_div_scale() in
 * numeric.c).  That is the display scale of each row.  Where it has no room for all digits the
 * server rounds, and there is no vector.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_divide.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"

#include "expr_internal.h"
#include "expr_run.h"

/* Digits in one of numeric's, and significant ones of a quotient, as numeric.c has them. */
#define GROUP_DIGITS		4
#define LEAST_DIGITS		16

/* The first digit of base 10000 of a number, and the power of that it stands for; zeros of 0. */
typedef struct Magnitude
{
	int			weight;
	int			first;
} Magnitude;

static inline int
floor_div(int a, int b)
{
	return a >= 0 ? a / b : -((b - 1 - a) / b);
}

/* Decimal digits of a number. */
static inline int
count_digits(uint64 value)
{
	int			bits = 64 - __builtin_clzll(value | 1);
	int			digits = bits * 1233 >> 12; /* times log10(2), rounded down */

	return digits > ZS_EXPR_MAX_SCALE ? digits :
		digits + (value >= (uint64) zsexpr_power_of_ten(digits));
}

/* Of value / 10^scale. */
static inline Magnitude
magnitude_of(int64 value, int scale)
{
	uint64		rest = value < 0 ? -(uint64) value : (uint64) value;
	int			digits = count_digits(rest);
	Magnitude	result = {0, 0};
	int			leading;

	if (value == 0)
		return result;
	result.weight = floor_div(digits - scale - 1, GROUP_DIGITS);
	/* digits of the first group: of the whole number, and zeros behind it if there are fewer */
	leading = digits - scale - GROUP_DIGITS * result.weight;
	Assert(leading >= 1 && leading <= GROUP_DIGITS);
	if (digits >= leading)
		result.first = (int) (rest / (uint64) zsexpr_power_of_ten(digits - leading));
	else
		result.first = (int) (rest * (uint64) zsexpr_power_of_ten(leading - digits));
	return result;
}

/*
 * The program of arg / divisor, both numerics; NULL if there is none: the divisor is no constant,
 * is 0, or has other prime factors than 2 and 5.
 */
ZsExpr *
zsexpr_compile_divide(ZsExpr *arg, const ZsExpr *divisor)
{
	ZsExpr	   *expr;
	Magnitude	magnitude;
	int64		rest;
	int64		factor = 1;
	int			twos = 0;
	int			fives = 0;

	if (arg == NULL || divisor == NULL || divisor->kind != ZS_EXPR_CONST || divisor->isnull ||
		divisor->value == 0 || divisor->value == PG_INT64_MIN)
		return NULL;
	Assert(arg->domain == ZS_DOMAIN_DECIMAL && divisor->domain == ZS_DOMAIN_DECIMAL);
	for (rest = divisor->value; rest % 2 == 0; rest /= 2)
		twos++;
	for (; rest % 5 == 0; rest /= 5)
		fives++;
	if ((rest != 1 && rest != -1) || Max(twos, fives) > ZS_EXPR_MAX_SCALE)
		return NULL;
	/* 1 / (2^twos * 5^fives) = factor / 10^max */
	for (int i = twos; i < fives; i++)
		factor *= 2;
	for (int i = fives; i < twos; i++)
	{
		if (pg_mul_s64_overflow(factor, 5, &factor))
			return NULL;
	}
	magnitude = magnitude_of(divisor->value, divisor->scale);
	expr = zsexpr_make(ZS_EXPR_DIVIDE, ZS_DOMAIN_DECIMAL, 0, 1);
	expr->value = factor * rest;
	expr->scale = Max(twos, fives) - divisor->scale;
	expr->divisor_weight = magnitude.weight;
	expr->divisor_first = magnitude.first;
	expr->divisor_scale = divisor->scale;
	zsexpr_add_arg(expr, arg);
	return expr;
}

/* The display scale of a quotient. */
static inline int
display_scale(const ZsExpr *expr, int64 value, int scale, int dscale)
{
	Magnitude	magnitude = magnitude_of(value, scale);
	int			weight = magnitude.weight - expr->divisor_weight;

	if (magnitude.first <= expr->divisor_first)
		weight--;
	return Max(Max(LEAST_DIGITS - weight * GROUP_DIGITS, 0), Max(dscale, expr->divisor_scale));
}

/* Runs the program over a, for rows; false: a value is out of range, or has to be rounded. */
bool
zsexpr_run_divide(ZsExpr *expr, const ZsColumnVector *a, const uint64 *rows)
{
	ZsColumnVector *vector = &expr->vector;
	uint8	   *dscales = zsexpr_get_dscales(expr);
	int			scale = a->scale + expr->scale;
	int64		factor = expr->value;
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(rows, list);

	Assert(expr->kind == ZS_EXPR_DIVIDE && a->vals != NULL);
	for (; scale < 0; scale++)
	{
		if (pg_mul_s64_overflow(factor, 10, &factor))
			return false;
	}
	if (scale > ZS_EXPR_MAX_SCALE)
		return false;
	vector->scale = scale;
	memset(dscales, 0, vector->nrows);
	for (uint32 i = 0; i < n; i++)
	{
		uint32		row = list[i];
		int			dscale = display_scale(expr, a->vals[row], a->scale, zsexpr_dscale(a, row));

		if (dscale > PG_UINT8_MAX ||
			pg_mul_s64_overflow(a->vals[row], factor, &expr->vals[row]) ||
			(dscale < scale &&
			 expr->vals[row] % zsexpr_power_of_ten(scale - dscale) != 0))
			return false;
		dscales[row] = (uint8) dscale;
	}
	vector->dscales = dscales;
	return true;
}
