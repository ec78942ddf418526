/*-------------------------------------------------------------------------
 *
 * kernel_arith.c
 *	  Arithmetic on vectors: integers, scaled integers, floats.
 *
 * Each loop computes all rows and gathers in one word whether any of them went wrong; this is what
 * compilers turn into vector instructions.  Only if one did, the selected rows are looked at again:
 * what stands in the others does not count.
 *
 * A function is one operation.  A product and a sum in the same loop could become one instruction
 * with another rounding.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/kernel/kernel_arith.c
 *
 *-------------------------------------------------------------------------
 */
#include "kernel_internal.h"

#include <math.h>

/* Are so few of n rows selected that it is better to take them one by one? */
static inline bool
are_few(const uint64 *sel, uint32 n)
{
	return zskernel_bits_count(sel) * 8 < n;
}

/*
 * Computes `result` (an expression in x, y and i, of type) for all rows, or for the selected ones
 * where they are few; `bad`, an expression in x, y and r, says whether r is wrong.  Returns whether
 * all selected rows are right.
 */
#define COMPUTE(n, sel, type, x_of, y_of, result, bad, store) \
	do { \
		uint64		any_ = 0; \
		if (!are_few(sel, n)) \
		{ \
			for (uint32 i = 0; i < (n); i++) \
				COMPUTE_ROW(type, x_of, y_of, result, any_ |= (uint64) (bad), store); \
			if (any_ == 0) \
				return true; \
		} \
		for (uint32 w_ = 0; w_ * 64 < (n); w_++) \
		{ \
			for (uint64 word_ = (sel)[w_]; word_ != 0; word_ &= word_ - 1) \
			{ \
				uint32		i = w_ * 64 + __builtin_ctzll(word_); \
				COMPUTE_ROW(type, x_of, y_of, result, if ((bad) != 0) return false, store); \
			} \
		} \
		return true; \
	} while (0)

#define COMPUTE_ROW(type, x_of, y_of, result, check, store) \
	do { \
		type		x = x_of; \
		type		y = y_of; \
		type		r = result; \
		(void) y; \
		(void) r; \
		check; \
		store; \
	} while (0)

/* ---- integers ------------------------------------------------------------ */

/*
 * How many bits the sizes of n values take, without the sign; what negative ones need is counted as
 * ~value.
 */
KERNEL_CLONES int
zskernel_bits_of_int64(const int64 *values, uint32 n)
{
	uint64		any = 0;

	for (uint32 i = 0; i < n; i++)
		any |= (uint64) (values[i] < 0 ? ~values[i] : values[i]);
	return any == 0 ? 0 : 64 - __builtin_clzll(any);
}

#define INTS(result, bad) \
	COMPUTE(n, sel, uint64, (uint64) a[i], (uint64) b[i], result, bad, out[i] = (int64) r)

/* Not zero if the integer in r does not fit so many bytes. */
#define BEYOND(width)	((r + (UINT64CONST(1) << ((width) * 8 - 1))) >> ((width) * 8))

/*
 * out = a + b for n rows.  False if the result of a selected row is no integer of width (2, 4, 8)
 * bytes; what stands at other rows is undefined.  out is neither a nor b.
 */
KERNEL_CLONES bool
zskernel_add_int64(int width, const int64 *a, const int64 *b, uint32 n, const uint64 *sel,
				   int64 *out)
{
	Assert(n <= ZS_KERNEL_ROWS);
	if (width == 2)
		INTS(x + y, BEYOND(2));
	if (width == 4)
		INTS(x + y, BEYOND(4));
	INTS(x + y, ((x ^ r) & (y ^ r)) >> 63);
}

/* out = a - b, as zskernel_add_int64(). */
KERNEL_CLONES bool
zskernel_sub_int64(int width, const int64 *a, const int64 *b, uint32 n, const uint64 *sel,
				   int64 *out)
{
	Assert(n <= ZS_KERNEL_ROWS);
	if (width == 2)
		INTS(x - y, BEYOND(2));
	if (width == 4)
		INTS(x - y, BEYOND(4));
	INTS(x - y, ((x ^ y) & (x ^ r)) >> 63);
}

static inline uint64
product_overflows(uint64 x, uint64 y)
{
	int64		unused;

	return __builtin_mul_overflow((int64) x, (int64) y, &unused) ? 1 : 0;
}

/* Products of integers of 32 bits, which most are; false if some have more. */
static KERNEL_CLONES bool
multiply_small(const int64 *restrict a, const int64 *restrict b, uint32 n, int64 *restrict out)
{
	uint64		any = 0;

	for (uint32 i = 0; i < n; i++)
	{
		int64		x = (int32) a[i];
		int64		y = (int32) b[i];

		any |= (uint64) ((a[i] ^ x) | (b[i] ^ y));
		out[i] = x * y;
	}
	return any == 0;
}

/* out = a * b, as zskernel_add_int64(). */
KERNEL_CLONES bool
zskernel_mul_int64(int width, const int64 *a, const int64 *b, uint32 n, const uint64 *sel,
				   int64 *out)
{
	Assert(n <= ZS_KERNEL_ROWS);
	if (width == 2)
		INTS(x * y, BEYOND(2));
	if (width == 4)
		INTS(x * y, BEYOND(4));

	if (are_few(sel, n))
		INTS(x * y, product_overflows(x, y));
	if (multiply_small(a, b, n, out))
		return true;

	/* n bits and m bits make n + m */
	if (zskernel_bits_of_int64(a, n) + zskernel_bits_of_int64(b, n) <= 62)
		INTS(x * y, 0);
	INTS(x * y, product_overflows(x, y));
}

/* The smallest integer divided by -1 is no integer of its width. */
#define DIVISION_FAILS(width) \
	(y == 0 || (y == PG_UINT64_MAX && \
				x == (uint64) (width == 8 ? PG_INT64_MIN : \
							   width == 4 ? -2147483647L - 1 : -32768)))

/* out = a / b, as zskernel_add_int64(); false, too, if a selected row divides by zero. */
bool
zskernel_div_int64(int width, const int64 *a, const int64 *b, uint32 n, const uint64 *sel,
				   int64 *out)
{
	Assert(n <= ZS_KERNEL_ROWS);
	/* -1 apart, for the sake of rows that nobody selected */
	INTS(y == 0 ? 0 : y == PG_UINT64_MAX ? 0 - x : (uint64) ((int64) x / (int64) y),
		 DIVISION_FAILS(width));
}

/* What is left of a division by -1 is 0, also where the quotient would not fit. */
bool
zskernel_mod_int64(const int64 *a, const int64 *b, uint32 n, const uint64 *sel, int64 *out)
{
	Assert(n <= ZS_KERNEL_ROWS);
	INTS(y == 0 || y == PG_UINT64_MAX ? 0 : (uint64) ((int64) x % (int64) y), y == 0);
}

#define INT(result, bad) \
	COMPUTE(n, sel, uint64, (uint64) a[i], 0, result, bad, out[i] = (int64) r)

/* out = -a, as zskernel_add_int64(). */
KERNEL_CLONES bool
zskernel_neg_int64(int width, const int64 *a, uint32 n, const uint64 *sel, int64 *out)
{
	Assert(n <= ZS_KERNEL_ROWS);
	if (width == 2)
		INT(0 - x, BEYOND(2));
	if (width == 4)
		INT(0 - x, BEYOND(4));
	INT(0 - x, (x & r) >> 63);
}

/* out = |a|, as zskernel_add_int64(). */
KERNEL_CLONES bool
zskernel_abs_int64(int width, const int64 *a, uint32 n, const uint64 *sel, int64 *out)
{
	Assert(n <= ZS_KERNEL_ROWS);
	if (width == 2)
		INT((int64) x < 0 ? 0 - x : x, BEYOND(2));
	if (width == 4)
		INT((int64) x < 0 ? 0 - x : x, BEYOND(4));
	INT((int64) x < 0 ? 0 - x : x, r >> 63);
}

/* Are the selected values integers of so many bytes? */
KERNEL_CLONES bool
zskernel_fits_int64(int width, const int64 *a, uint32 n, const uint64 *sel)
{
	Assert(n <= ZS_KERNEL_ROWS);
	if (width == 2)
		COMPUTE(n, sel, uint64, (uint64) a[i], 0, x, BEYOND(2), );
	if (width == 4)
		COMPUTE(n, sel, uint64, (uint64) a[i], 0, x, BEYOND(4), );
	return true;
}

/* Are all selected values in [low, high]? */
KERNEL_CLONES bool
zskernel_in_range_int64(const int64 *a, int64 low, int64 high, uint32 n, const uint64 *sel)
{
	Assert(n <= ZS_KERNEL_ROWS);
	COMPUTE(n, sel, int64, a[i], 0, x, r < low || r > high, );
}

/* out = a * factor, which is positive; false if a selected one overflows. */
KERNEL_CLONES bool
zskernel_scale_up_int64(const int64 *a, int64 factor, uint32 n, const uint64 *sel, int64 *out)
{
	uint64		c = (uint64) factor;

	Assert(n <= ZS_KERNEL_ROWS && factor > 0);
	if (!are_few(sel, n) && zskernel_bits_of_int64(a, n) + 64 - __builtin_clzll(c) <= 62)
		INT(x * c, 0);
	INT(x * c, product_overflows(x, c));
}

/* out = a / divisor, which is even, rounded half away from zero. */
KERNEL_CLONES void
zskernel_round_int64(const int64 *a, int64 divisor, uint32 n, int64 *out)
{
	Assert(n <= ZS_KERNEL_ROWS && divisor > 1 && divisor % 2 == 0);
	for (uint32 i = 0; i < n; i++)
	{
		int64		rest = a[i] % divisor;

		out[i] = a[i] / divisor + (rest >= divisor / 2) - (rest <= -(divisor / 2));
	}
}

/* out = a / divisor, which is positive, rounded down. */
KERNEL_CLONES void
zskernel_floor_int64(const int64 *a, int64 divisor, uint32 n, int64 *out)
{
	Assert(n <= ZS_KERNEL_ROWS && divisor > 0);
	for (uint32 i = 0; i < n; i++)
		out[i] = a[i] / divisor - (a[i] % divisor < 0);
}

/* ---- floats ---------------------------------------------------------------- */

static inline int64
pattern_of_float8(double value)
{
	int64		pattern;

	memcpy(&pattern, &value, sizeof(pattern));
	return pattern;
}

/* Sign-extended, as vectors have it. */
static inline int64
pattern_of_float4(float value)
{
	int32		pattern;

	memcpy(&pattern, &value, sizeof(pattern));
	return pattern;
}

/* Became it infinite?  Became a product or quotient of numbers zero? */
#define OVERFLOW	(isinf(r) && !isinf(x) && !isinf(y))
#define PRODUCT_UNDERFLOW	(r == 0 && x != 0 && y != 0)
#define QUOTIENT_FAILS \
	((y == 0 && !isnan(x)) || (isinf(r) && !isinf(x)) || (r == 0 && x != 0 && !isinf(y)))

#define FLOATS(type, suffix, result, bad) \
	COMPUTE(n, sel, type, zskernel_##suffix(a[i]), zskernel_##suffix(b[i]), result, bad, \
			out[i] = pattern_of_##suffix(r))

#define DEFINE_ARITH(type, suffix) \
KERNEL_CLONES bool \
zskernel_arith_##suffix(ZsArith op, const int64 *a, const int64 *b, uint32 n, \
						const uint64 *sel, int64 *out) \
{ \
	Assert(n <= ZS_KERNEL_ROWS); \
	switch (op) \
	{ \
		case ZS_ARITH_ADD: \
			FLOATS(type, suffix, x + y, OVERFLOW); \
		case ZS_ARITH_SUB: \
			FLOATS(type, suffix, x - y, OVERFLOW); \
		case ZS_ARITH_MUL: \
			FLOATS(type, suffix, x * y, OVERFLOW | PRODUCT_UNDERFLOW); \
		case ZS_ARITH_DIV: \
			FLOATS(type, suffix, x / y, QUOTIENT_FAILS); \
		case ZS_ARITH_MOD: \
			break; \
	} \
	return false; \
}

/*
 * out = a op b for n floats of 8 bytes; false if the server's operator would raise an error at a
 * selected row.
 */
DEFINE_ARITH(double, float8)

/* As zskernel_arith_float8(), of floats of 4 bytes. */
DEFINE_ARITH(float, float4)

/* Floats of 8 bytes from integers. */
KERNEL_CLONES void
zskernel_float8_from_int64(const int64 *a, uint32 n, int64 *out)
{
	for (uint32 i = 0; i < n; i++)
		out[i] = pattern_of_float8((double) a[i]);
}

/* Floats of 4 bytes from integers. */
KERNEL_CLONES void
zskernel_float4_from_int64(const int64 *a, uint32 n, int64 *out)
{
	for (uint32 i = 0; i < n; i++)
		out[i] = pattern_of_float4((float) a[i]);
}

/* Floats of 8 bytes from those of 4 bytes. */
KERNEL_CLONES void
zskernel_float8_from_float4(const int64 *a, uint32 n, int64 *out)
{
	for (uint32 i = 0; i < n; i++)
		out[i] = pattern_of_float8((double) zskernel_float4(a[i]));
}

/*
 * An integer of 53 bits and a power of ten up to 10^22 are exact, so their quotient is the number
 * nearest to the decimal one, which is what reading its digits gives.
 */
KERNEL_CLONES bool
zskernel_float8_from_decimal(const int64 *a, double power, uint32 n, const uint64 *sel, int64 *out)
{
	int64		limit = INT64CONST(1) << 53;

	Assert(n <= ZS_KERNEL_ROWS && power <= 1e22);
	COMPUTE(n, sel, int64, a[i], 0, x, r < -limit || r > limit,
			out[i] = pattern_of_float8((double) r / power));
}

/* Floats of width 4 or 8: -a, or |a|. */
KERNEL_CLONES void
zskernel_flip_sign(int width, bool absolute, const int64 *a, uint32 n, int64 *out)
{
	int64		sign = width == 4 ? (int64) (int32) 0x80000000 : PG_INT64_MIN;

	for (uint32 i = 0; i < n; i++)
		out[i] = absolute && a[i] >= 0 ? a[i] : a[i] ^ sign;
}

/* ---- choosing ---------------------------------------------------------------- */

/* out = a at the selected rows; the others stay. */
KERNEL_CLONES void
zskernel_merge_int64(const int64 *a, const uint64 *sel, int64 *out)
{
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		uint64		word = sel[w];
		const int64 *from = a + w * 64;
		int64	   *to = out + w * 64;

		if (word == ~UINT64CONST(0))
			memcpy(to, from, 64 * sizeof(int64));
		else
		{
			for (; word != 0; word &= word - 1)
				to[__builtin_ctzll(word)] = from[__builtin_ctzll(word)];
		}
	}
}
