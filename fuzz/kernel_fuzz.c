/*
 * kernel_fuzz.c
 *	  Kernels against the plainest loops that say the same.
 *
 * Usage: kernel_fuzz [rounds [seed]].  Random and extreme values, all lengths, all kinds of
 * selections.
 */
#include "zs_kernel.h"

#include <math.h>
#include <stdio.h>

static uint64 state;

static uint64
next_random(void)
{
	uint64		z = (state += UINT64CONST(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64CONST(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64CONST(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

#define CHECK(cond) \
	do { \
		if (!(cond)) \
		{ \
			fprintf(stderr, "not ok: round %d: %s\n", current_round, #cond); \
			abort(); \
		} \
	} while (0)

static int	current_round;

static int64
random_value(int kind)
{
	static const int64 extremes[] = {0, 1, -1, 127, -128, 32767, -32768, 2147483647, -2147483648LL,
	PG_INT64_MAX, PG_INT64_MIN, PG_INT64_MAX - 1, PG_INT64_MIN + 1};

	switch (kind)
	{
		case 0:
			return (int64) (next_random() % 10) - 5;
		case 1:
			return (int64) next_random();
		case 2:
			return (int32) next_random();
		case 3:
			/* about where sums go another way */
			return (int64) (next_random() % 5) - 2 + (next_random() % 2 ? 1 : -1) *
				(INT64CONST(1) << (51 + next_random() % 3));
		default:
			return extremes[next_random() % lengthof(extremes)];
	}
}

static double
random_float(void)
{
	static const double extremes[] = {0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 1e-300, 3.5, 2.25};
	uint64		pick = next_random() % 16;

	if (pick < lengthof(extremes))
		return extremes[pick];
	if (pick == 9)
		return NAN;
	if (pick == 10)
		return -NAN;
	if (pick == 11)
		return INFINITY;
	if (pick == 12)
		return -INFINITY;
	return (double) (int64) next_random() / 1e5;
}

/* As float8_cmp_internal() of the server has it. */
static int
float_order(double a, double b)
{
	if (isnan(a))
		return isnan(b) ? 0 : 1;
	if (isnan(b))
		return -1;
	return a > b ? 1 : a < b ? -1 : 0;
}

static bool
holds(ZsCompare op, int order)
{
	switch (op)
	{
		case ZS_CMP_LT:
			return order < 0;
		case ZS_CMP_LE:
			return order <= 0;
		case ZS_CMP_EQ:
			return order == 0;
		case ZS_CMP_NE:
			return order != 0;
		case ZS_CMP_GE:
			return order >= 0;
		case ZS_CMP_GT:
			return order > 0;
	}
	return false;
}

static int64
pattern8(double d)
{
	int64		p;

	memcpy(&p, &d, sizeof(p));
	return p;
}

static int64
pattern4(float f)
{
	int32		p;

	memcpy(&p, &f, sizeof(p));
	return p;
}

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

static void
check_bits(const uint64 *bits, uint32 n, const bool *expected)
{
	for (uint32 i = 0; i < ZS_KERNEL_ROWS; i++)
		CHECK(zskernel_bits_get(bits, i) == (i < n && expected[i]));
}

/* ---- arithmetic ---- */

static bool
in_width(__int128 value, int width)
{
	__int128	limit = (__int128) 1 << (width * 8 - 1);

	return value >= -limit && value < limit;
}

/*
 * A value as vectors have them for integers of so many bytes; at rows that nobody selected anything
 * may stand.
 */
static int64
random_int(int width, bool selected)
{
	int64		value = random_value((int) (next_random() % 5));

	if (!selected)
		return value;
	return width == 2 ? (int16) value : width == 4 ? (int32) value : value;
}

/* What a kernel gave for the selected rows against ok and expected. */
static void
check_result(bool got_ok, const int64 *got, const uint64 *sel, uint32 n, const bool *ok,
			 const __int128 *expected)
{
	bool		all_ok = true;

	for (uint32 i = 0; i < n; i++)
		all_ok = all_ok && (ok[i] || !zskernel_bits_get(sel, i));
	CHECK(got_ok == all_ok);
	for (uint32 i = 0; i < n && all_ok; i++)
	{
		if (zskernel_bits_get(sel, i))
			CHECK(got[i] == expected[i]);
	}
}

static void
check_integers(uint32 n, const uint64 *sel)
{
	static int64 a[ZS_KERNEL_ROWS];
	static int64 b[ZS_KERNEL_ROWS];
	static int64 out[ZS_KERNEL_ROWS];
	static __int128 expected[ZS_KERNEL_ROWS];
	static bool ok[ZS_KERNEL_ROWS];
	int			width = 1 << (1 + next_random() % 3);
	bool		small = next_random() % 2 == 0;
	int			bits = 0;
	int64		factor = 1;
	int64		divisor = 10;
	bool		result;

	/* small ones mostly, so that results are without errors often enough */
	for (uint32 i = 0; i < n; i++)
	{
		bool		selected = zskernel_bits_get(sel, i);
		bool		extreme = !small || !selected;

		a[i] = extreme ? random_int(width, selected) : (int64) (next_random() % 181) - 90;
		b[i] = extreme ? random_int(width, selected) : (int64) (next_random() % 180) - 90;
		if (small && selected && b[i] == 0)
			b[i] = 1;
	}
	for (int op = ZS_ARITH_ADD; op <= ZS_ARITH_MOD; op++)
	{
		for (uint32 i = 0; i < n; i++)
		{
			__int128	x = a[i];
			__int128	y = b[i];

			if (op == ZS_ARITH_DIV || op == ZS_ARITH_MOD)
				expected[i] = y == 0 ? 0 : op == ZS_ARITH_DIV ? x / y : x % y;
			else
				expected[i] = op == ZS_ARITH_ADD ? x + y : op == ZS_ARITH_SUB ? x - y : x * y;
			ok[i] = in_width(expected[i], width) && (y != 0 || op < ZS_ARITH_DIV);
		}
		result = op == ZS_ARITH_ADD ? zskernel_add_int64(width, a, b, n, sel, out) :
			op == ZS_ARITH_SUB ? zskernel_sub_int64(width, a, b, n, sel, out) :
			op == ZS_ARITH_MUL ? zskernel_mul_int64(width, a, b, n, sel, out) :
			op == ZS_ARITH_DIV ? zskernel_div_int64(width, a, b, n, sel, out) :
			zskernel_mod_int64(a, b, n, sel, out);
		check_result(result, out, sel, n, ok, expected);
	}

	for (uint32 i = 0; i < n; i++)
	{
		expected[i] = -(__int128) a[i];
		ok[i] = in_width(expected[i], width);
	}
	check_result(zskernel_neg_int64(width, a, n, sel, out), out, sel, n, ok, expected);
	for (uint32 i = 0; i < n; i++)
	{
		expected[i] = a[i] < 0 ? -(__int128) a[i] : a[i];
		ok[i] = in_width(expected[i], width);
	}
	check_result(zskernel_abs_int64(width, a, n, sel, out), out, sel, n, ok, expected);

	for (uint32 i = 0; i < n; i++)
	{
		int			need = 0;

		while (need < 63 && (a[i] < 0 ? ~a[i] : a[i]) >> need != 0)
			need++;
		bits = Max(bits, need);
		expected[i] = a[i];
		ok[i] = in_width(a[i], 2);
	}
	CHECK(zskernel_bits_of_int64(a, n) == bits);
	check_result(zskernel_fits_int64(2, a, n, sel), a, sel, n, ok, expected);
	for (uint32 i = 0; i < n; i++)
		ok[i] = a[i] >= -50 && a[i] <= 2000000;
	check_result(zskernel_in_range_int64(a, -50, 2000000, n, sel), a, sel, n, ok, expected);

	for (uint64 k = next_random() % 19; k > 0; k--)
		factor *= 10;
	for (uint32 i = 0; i < n; i++)
	{
		expected[i] = (__int128) a[i] * factor;
		ok[i] = in_width(expected[i], 8);
	}
	check_result(zskernel_scale_up_int64(a, factor, n, sel, out), out, sel, n, ok, expected);

	for (uint64 k = next_random() % 18; k > 0; k--)
		divisor *= 10;
	zskernel_round_int64(a, divisor, n, out);
	for (uint32 i = 0; i < n; i++)
	{
		__int128	twice = 2 * (a[i] < 0 ? -(__int128) a[i] : a[i]) + divisor;
		__int128	rounded = twice / (2 * (__int128) divisor);

		CHECK(out[i] == (a[i] < 0 ? -rounded : rounded));
	}
	zskernel_floor_int64(a, divisor, n, out);
	for (uint32 i = 0; i < n; i++)
	{
		CHECK((__int128) out[i] * divisor <= a[i]);
		CHECK(((__int128) out[i] + 1) * divisor > a[i]);
	}
	for (uint32 i = 0; i < ZS_KERNEL_ROWS; i++)
	{
		out[i] = 7;
		a[i] = (int64) next_random();
	}
	zskernel_merge_int64(a, sel, out);
	for (uint32 i = 0; i < ZS_KERNEL_ROWS; i++)
		CHECK(out[i] == (zskernel_bits_get(sel, i) ? a[i] : 7));
}

/* As the server's float8_pl() and its like. */
static bool
float_is_right(int op, double x, double y, double r)
{
	if (op == ZS_ARITH_DIV)
		return !(y == 0 && !isnan(x)) && !(isinf(r) && !isinf(x)) &&
			!(r == 0 && x != 0 && !isinf(y));
	if (isinf(r) && !isinf(x) && !isinf(y))
		return false;
	return op != ZS_ARITH_MUL || !(r == 0 && x != 0 && y != 0);
}

static void
check_floats(uint32 n, const uint64 *sel)
{
	static int64 a[ZS_KERNEL_ROWS];
	static int64 b[ZS_KERNEL_ROWS];
	static int64 out[ZS_KERNEL_ROWS];
	static __int128 expected[ZS_KERNEL_ROWS];
	static bool ok[ZS_KERNEL_ROWS];
	bool		small = next_random() % 2 == 0;

	for (int width = 4; width <= 8; width += 4)
	{
		for (uint32 i = 0; i < n; i++)
		{
			bool		selected = zskernel_bits_get(sel, i);
			double		x = small && selected ? (double) (next_random() % 1000) / 8 - 60 :
				random_float();
			double		y = small && selected ? (double) (next_random() % 1000) / 8 + 1 :
				random_float();

			a[i] = width == 8 ? pattern8(x) : pattern4((float) x);
			b[i] = width == 8 ? pattern8(y) : pattern4((float) y);
		}
		for (int op = ZS_ARITH_ADD; op <= ZS_ARITH_DIV; op++)
		{
			for (uint32 i = 0; i < n; i++)
			{
				if (width == 8)
				{
					volatile double x = zskernel_float8(a[i]);
					volatile double y = zskernel_float8(b[i]);
					volatile double r = op == ZS_ARITH_ADD ? x + y : op == ZS_ARITH_SUB ? x - y :
						op == ZS_ARITH_MUL ? x * y : x / y;

					ok[i] = float_is_right(op, x, y, r);
					expected[i] = isnan(r) ? 0 : pattern8(r);
				}
				else
				{
					volatile float x = zskernel_float4(a[i]);
					volatile float y = zskernel_float4(b[i]);
					volatile float r = op == ZS_ARITH_ADD ? x + y : op == ZS_ARITH_SUB ? x - y :
						op == ZS_ARITH_MUL ? x * y : x / y;

					ok[i] = float_is_right(op, x, y, r);
					expected[i] = isnan(r) ? 0 : pattern4(r);
				}
			}
			{
				bool		result = width == 8 ? zskernel_arith_float8(op, a, b, n, sel, out) :
					zskernel_arith_float4(op, a, b, n, sel, out);

				/* there are many NaNs */
				for (uint32 i = 0; i < n; i++)
				{
					if (width == 8 ? isnan(zskernel_float8(out[i])) :
						isnan(zskernel_float4(out[i])))
						out[i] = 0;
				}
				check_result(result, out, sel, n, ok, expected);
			}
		}
		zskernel_flip_sign(width, false, a, n, out);
		zskernel_flip_sign(width, true, a, n, b);
		for (uint32 i = 0; i < n; i++)
		{
			CHECK(out[i] == (width == 8 ? pattern8(-zskernel_float8(a[i])) :
							 pattern4(-zskernel_float4(a[i]))));
			CHECK(b[i] == (width == 8 ? pattern8(fabs(zskernel_float8(a[i]))) :
						   pattern4(fabsf(zskernel_float4(a[i])))));
		}
		if (width == 4)
		{
			zskernel_float8_from_float4(a, n, out);
			for (uint32 i = 0; i < n; i++)
				CHECK(isnan(zskernel_float4(a[i])) ||
					  out[i] == pattern8((double) zskernel_float4(a[i])));
		}
	}
	for (uint32 i = 0; i < n; i++)
		a[i] = random_value((int) (next_random() % 5));
	zskernel_float8_from_int64(a, n, out);
	zskernel_float4_from_int64(a, n, b);
	for (uint32 i = 0; i < n; i++)
	{
		CHECK(out[i] == pattern8((double) a[i]));
		CHECK(b[i] == pattern4((float) a[i]));
	}

	/* reading the digits is what the quotient must be equal to */
	for (uint32 i = 0; i < n; i++)
	{
		char		text[64];

		if (i % 2 == 0)
			a[i] = (int64) (next_random() >> 12) - (INT64CONST(1) << 51);
		snprintf(text, sizeof(text), "%llde-7", (long long) a[i]);
		ok[i] = a[i] >= -(INT64CONST(1) << 53) && a[i] <= (INT64CONST(1) << 53);
		expected[i] = pattern8(strtod(text, NULL));
	}
	check_result(zskernel_float8_from_decimal(a, 1e7, n, sel, out), out, sel, n, ok, expected);
}

/* ---- dates and times ---- */

static int
days_of_month(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool		leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

/*
 * Walks through all days of the calendar that the kernels know, and remembers where what they are
 * in began.
 */
static void
check_calendar(void)
{
	int			year = 1;
	int			month = 1;
	int			day = 1;
	int			doy = 1;
	int			weekday = 0;	/* 0001-01-01 was a Monday */
	int64		begins[ZS_DATE_MILLENNIUM + 1] = {0};
	int			week = 0;
	int			isoyear = 0;

	for (int64 d = ZS_DATE_FIRST; d <= ZS_DATE_LAST; d++)
	{
		int64		expected[ZS_DATE_MILLENNIUM + 1];

		if (weekday == 0)
		{
			/* the Thursday is what counts */
			int			thursday = doy + 3;
			int			length = days_of_month(year, 2) + 337;

			isoyear = thursday > length ? year + 1 : year;
			week = ((thursday > length ? thursday - length : thursday) - 1) / 7 + 1;
			begins[ZS_DATE_WEEK] = d;
		}
		if (day == 1)
		{
			begins[ZS_DATE_MONTH] = d;
			if (month % 3 == 1)
				begins[ZS_DATE_QUARTER] = d;
		}
		if (doy == 1)
		{
			begins[ZS_DATE_YEAR] = d;
			if (year % 10 == 0)
				begins[ZS_DATE_DECADE] = d;
			if (year % 100 == 1)
				begins[ZS_DATE_CENTURY] = d;
			if (year % 1000 == 1)
				begins[ZS_DATE_MILLENNIUM] = d;
			/* year 0 had a 29th of February */
			if (year == 1)
				begins[ZS_DATE_DECADE] = d - 366;
		}
		expected[ZS_DATE_DAY] = day;
		expected[ZS_DATE_DOW] = (weekday + 1) % 7;
		expected[ZS_DATE_ISODOW] = weekday + 1;
		expected[ZS_DATE_DOY] = doy;
		expected[ZS_DATE_WEEK] = week;
		expected[ZS_DATE_MONTH] = month;
		expected[ZS_DATE_QUARTER] = (month + 2) / 3;
		expected[ZS_DATE_YEAR] = year;
		expected[ZS_DATE_ISOYEAR] = isoyear;
		expected[ZS_DATE_DECADE] = year / 10;
		expected[ZS_DATE_CENTURY] = (year - 1) / 100 + 1;
		expected[ZS_DATE_MILLENNIUM] = (year - 1) / 1000 + 1;
		for (int field = ZS_DATE_DAY; field <= ZS_DATE_MILLENNIUM; field++)
		{
			static const uint64 first[ZS_KERNEL_WORDS] = {1};
			int64		got;

			zskernel_date_field(field, &d, first, &got);
			CHECK(got == expected[field]);
			if (begins[field] == 0 && d != 0)
				continue;
			zskernel_date_begin(field, &d, first, &got);
			CHECK(got == begins[field]);
		}

		weekday = (weekday + 1) % 7;
		day++;
		doy++;
		if (day > days_of_month(year, month))
		{
			day = 1;
			month++;
		}
		if (month > 12)
		{
			month = doy = 1;
			year++;
		}
	}
	CHECK(year == 10000 && month == 1 && day == 1);
}

static void
check_times(uint32 n, const uint64 *sel)
{
	static const int64 units[] = {1, 1000, 1000000, 60000000, INT64CONST(3600000000),
								  INT64CONST(86400000000), 7};
	static int64 a[ZS_KERNEL_ROWS];
	static int64 out[ZS_KERNEL_ROWS];
	int64		unit = units[next_random() % lengthof(units)];
	int64		modulus = 2 + (int64) (next_random() % 100);

	for (uint32 i = 0; i < n; i++)
		a[i] = random_value((int) (next_random() % 5)) / 2;
	zskernel_floor_to_int64(a, unit, n, out);
	for (uint32 i = 0; i < n; i++)
		CHECK(out[i] <= a[i] && a[i] - out[i] < unit && out[i] % unit == 0);
	zskernel_part_of_int64(a, unit, modulus, n, out);
	for (uint32 i = 0; i < n; i++)
	{
		__int128	count = ((__int128) a[i] + ((__int128) unit << 64)) / unit -
			((__int128) 1 << 64);

		CHECK(out[i] >= 0 && out[i] < modulus && (count - out[i]) % modulus == 0);
	}
	/* whatever stands at rows that nobody selected */
	for (uint32 i = 0; i < n; i++)
		a[i] = random_value((int) (next_random() % 5));
	zskernel_date_field((ZsDateField) (next_random() % (ZS_DATE_MILLENNIUM + 1)), a, sel, out);
	zskernel_date_begin((ZsDateField) (next_random() % (ZS_DATE_MILLENNIUM + 1)), a, sel, out);
	zskernel_floor_to_int64(a, unit, n, out);
	zskernel_part_of_int64(a, unit, modulus, n, out);
}

/* "%" stands for any bytes, all others for themselves. */
static bool
naive_like(const char *pattern, const char *s, size_t len)
{
	if (*pattern == '\0')
		return len == 0;
	if (*pattern == '%')
		return naive_like(pattern + 1, s, len) || (len > 0 && naive_like(pattern, s + 1, len - 1));
	return len > 0 && *s == *pattern && naive_like(pattern + 1, s + 1, len - 1);
}

static void
check_like(void)
{
	char		text[20];
	char		s[80];
	const char *pieces[20];
	size_t		lens[20];
	ZsLikePattern pattern = {.npieces = 0, .pieces = pieces, .lens = lens};
	/* the naive one takes long for many "%" in a long string */
	bool		is_long = next_random() % 2 == 0;
	int			n = (int) (next_random() % (is_long ? 5 : 10));
	size_t		len = next_random() % (is_long ? sizeof(s) : 16);
	char	   *exact = malloc(len + 1);
	int			begin = 0;
	bool		rare = next_random() % 2 == 0;

	for (int i = 0; i < n; i++)
		text[i] = "ab%c%"[next_random() % 5];
	text[n] = '\0';
	for (size_t i = 0; i < len; i++)
		s[i] = rare && next_random() % 16 ? 'd' : "abc"[next_random() % 3];
	for (int i = 0; i <= n; i++)
	{
		if (text[i] != '%' && text[i] != '\0')
			continue;
		if (i > begin || pattern.npieces == 0 || text[i] == '\0')
		{
			pieces[pattern.npieces] = text + begin;
			lens[pattern.npieces++] = (size_t) (i - begin);
			pattern.min_len += (size_t) (i - begin);
		}
		begin = i + 1;
	}
	/* exactly as long as it is, so that the sanitizers see a look beyond */
	memcpy(exact, s, len);
	CHECK(zskernel_like(&pattern, exact, len) == naive_like(text, exact, len));
	CHECK(zskernel_is_ascii(exact, len));
	if (len > 0)
	{
		exact[next_random() % len] = (char) (128 + next_random() % 128);
		CHECK(!zskernel_is_ascii(exact, len));
	}
	free(exact);
}

/* The same bytes have the same hash wherever they lie; one bit or byte more makes another. */
static void
check_hash(void)
{
	size_t		len = next_random() % 80;
	size_t		shift = next_random() % 8;
	char	   *exact = malloc(len + 1);
	char	   *copy = malloc(len + shift + 1);
	uint64		hash;

	for (size_t i = 0; i < len; i++)
		exact[i] = (char) next_random();
	exact = realloc(exact, Max(len, 1));
	memcpy(copy + shift, exact, len);
	hash = zskernel_hash(exact, len);
	CHECK(hash == zskernel_hash(copy + shift, len));
	copy[shift + len] = 0;
	CHECK(hash != zskernel_hash(copy + shift, len + 1));
	if (len > 0)
	{
		CHECK(hash != zskernel_hash(copy + shift, len - 1));
		copy[shift + next_random() % len] ^= (char) (1 << next_random() % 8);
		CHECK(hash != zskernel_hash(copy + shift, len));
	}
	free(exact);
	free(copy);
}

/* Codes and sums by group of rows that are selected, or of the first n. */
static void
check_groups(const int64 *a, uint32 n, const uint64 *sel)
{
	static uint32 codes[ZS_KERNEL_ROWS];
	static uint32 before[ZS_KERNEL_ROWS];
	static uint32 groups[ZS_KERNEL_ROWS];
	static uint32 table[ZS_KERNEL_ROWS];
	static uint32 numbers[ZS_KERNEL_ROWS];
	uint16		list[ZS_KERNEL_ROWS];
	uint64		nulls[ZS_KERNEL_WORDS];
	uint32		counts[ZS_KERNEL_GROUPS];
	int64		sums[ZS_KERNEL_GROUPS];
	uint32		expected_counts[ZS_KERNEL_GROUPS] = {0};
	uint64		expected_sums[ZS_KERNEL_GROUPS] = {0};
	uint32		ngroups = 1 + (uint32) (next_random() % ZS_KERNEL_GROUPS);
	bool		dense = next_random() % 2 == 0;
	uint32		nlist = dense ? n : zskernel_bits_list(sel, list);
	bool		has_nulls = next_random() % 2 == 0;
	int64		low = n > 0 && next_random() % 4 > 0 ? a[next_random() % n] : random_value(2);
	uint64		count = 2 + next_random() % 3000;
	uint32		factor = (uint32) (next_random() % 100);
	bool		fits = true;
	bool		small = true;
	bool		all = true;

	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
		nulls[w] = next_random() & next_random();
	for (uint32 i = 0; i < nlist; i++)
	{
		uint32		row = dense ? i : list[i];

		codes[i] = before[i] = (uint32) (next_random() % 1000);
		groups[i] = next_random() % 2 == 0 ? 0 : (uint32) (next_random() % ngroups);
		expected_counts[groups[i]]++;
		expected_sums[groups[i]] += (uint64) a[row];
		small = small && a[row] < INT64CONST(1) << 52 && a[row] >= -(INT64CONST(1) << 52);
		if (!(has_nulls && zskernel_bits_get(nulls, row)))
			fits = fits && a[row] >= low && (uint64) a[row] - (uint64) low < count - 1;
	}
	CHECK(zskernel_group_codes(a, has_nulls ? nulls : NULL, dense ? NULL : list, nlist, low, count,
							   factor, codes) == fits);
	for (uint32 i = 0; i < nlist && fits; i++)
	{
		uint32		row = dense ? i : list[i];
		bool		null = has_nulls && zskernel_bits_get(nulls, row);

		CHECK(codes[i] == before[i] * factor +
			  (null ? 0 : (uint32) ((uint64) a[row] - (uint64) low + 1)));
	}
	zskernel_group_count(groups, nlist, ngroups, counts);
	CHECK(memcmp(counts, expected_counts, ngroups * sizeof(uint32)) == 0);
	CHECK(zskernel_group_sum(a, dense ? NULL : list, groups, nlist, ngroups, sums) == small);
	for (uint32 k = 0; k < ngroups && small; k++)
		CHECK((uint64) sums[k] == expected_sums[k]);

	for (uint32 i = 0; i < ngroups; i++)
	{
		table[i] = next_random() % 500 == 0 ? 77 : (uint32) next_random() | 128;
		all = all && (table[i] != 77 || expected_counts[i] == 0);
	}
	CHECK(zskernel_group_numbers(groups, nlist, table, 77, numbers) == all);
	for (uint32 i = 0; i < nlist; i++)
		CHECK(numbers[i] == table[groups[i]]);
}

/* Sets of integers against a loop over the members; a Bloom filter may say yes to some others. */
static void
check_members(const int64 *a, uint32 n, const int64 *members, uint32 nmembers)
{
	uint64		bits[ZS_KERNEL_WORDS];
	uint64		words[64];
	bool		expected[ZS_KERNEL_ROWS] = {false};
	uint32		log2_words = (uint32) (1 + next_random() % 6);
	uint64		room = 1 + next_random() % (64 * lengthof(words));
	int64		low = nmembers > 0 ? members[0] : (int64) next_random();
	uint32		found = 0;

	memset(words, 0, sizeof(words));
	for (uint32 k = 0; k < nmembers; k++)
	{
		uint64		offset = (uint64) members[k] - (uint64) low;

		if (offset < room)
			words[offset / 64] |= UINT64CONST(1) << (offset % 64);
	}
	zskernel_in_bitmap(a, n, low, words, room, bits);
	for (uint32 i = 0; i < n; i++)
	{
		expected[i] = false;
		for (uint32 k = 0; k < nmembers; k++)
			expected[i] |= members[k] == a[i] && (uint64) a[i] - (uint64) low < room;
	}
	check_bits(bits, n, expected);

	memset(words, 0, sizeof(words));
	for (uint32 k = 0; k < nmembers; k++)
	{
		uint64		hash = zskernel_bloom_hash(members[k]);

		words[zskernel_bloom_word(hash, log2_words)] |= zskernel_bloom_mask(hash);
	}
	zskernel_in_bloom(a, n, words, log2_words, bits);
	for (uint32 i = 0; i < n; i++)
	{
		uint64		hash = zskernel_bloom_hash(a[i]);

		for (uint32 k = 0; k < nmembers; k++)
		{
			if (members[k] == a[i])
				CHECK(zskernel_bits_get(bits, i));
		}
		expected[i] = (words[zskernel_bloom_word(hash, log2_words)] &
					   zskernel_bloom_mask(hash)) == zskernel_bloom_mask(hash);
		found += expected[i];
	}
	check_bits(bits, n, expected);
	CHECK(zskernel_bits_count(bits) == found);
}

/* Sets of rows, among them those of a range, and each with itself. */
static void
check_sets(const uint64 *range)
{
	uint64		a[ZS_KERNEL_WORDS];
	uint64		b[ZS_KERNEL_WORDS];
	uint64		out[ZS_KERNEL_WORDS];
	uint32		sparse = (uint32) (next_random() % 4);
	bool		any = false;
	bool		meet = false;

	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		a[w] = sparse == 0 ? 0 : sparse == 1 ? UINT64CONST(1) << next_random() % 64 : next_random();
		b[w] = sparse == 2 ? ~a[w] : next_random() % 8 == 0 ? next_random() : range[w];
	}
	for (uint32 i = 0; i < ZS_KERNEL_ROWS; i++)
	{
		any = any || zskernel_bits_get(a, i);
		meet = meet || (zskernel_bits_get(a, i) && zskernel_bits_get(b, i));
	}
	CHECK(zskernel_bits_any(a) == any);
	CHECK(zskernel_bits_meet(a, b) == meet);
	CHECK(zskernel_bits_meet(a, a) == any);
	zskernel_bits_copy(out, a);
	CHECK(memcmp(out, a, sizeof(out)) == 0);
	zskernel_bits_or(out, b);
	for (uint32 i = 0; i < ZS_KERNEL_ROWS; i++)
		CHECK(zskernel_bits_get(out, i) == (zskernel_bits_get(a, i) || zskernel_bits_get(b, i)));
	zskernel_bits_copy(out, a);
	zskernel_bits_andnot(out, b);
	for (uint32 i = 0; i < ZS_KERNEL_ROWS; i++)
		CHECK(zskernel_bits_get(out, i) == (zskernel_bits_get(a, i) && !zskernel_bits_get(b, i)));
	CHECK(!zskernel_bits_meet(out, b));
	zskernel_bits_andnot(out, out);
	CHECK(!zskernel_bits_any(out));
}

static void
one_round(void)
{
	static int64 a[ZS_KERNEL_ROWS];
	static int64 b[ZS_KERNEL_ROWS];
	static int64 f8[ZS_KERNEL_ROWS];
	static int64 f4[ZS_KERNEL_ROWS];
	static uint32 codes[ZS_KERNEL_ROWS];
	static bool expected[ZS_KERNEL_ROWS];
	static uint8 bytes[ZS_KERNEL_ROWS];
	uint16		list[ZS_KERNEL_ROWS];
	uint8		table[300];
	uint64		bits[ZS_KERNEL_WORDS];
	uint64		sel[ZS_KERNEL_WORDS];
	uint32		n = next_random() % 4 == 0 ? ZS_KERNEL_ROWS :
		(uint32) (next_random() % (ZS_KERNEL_ROWS + 1));
	int			kind = (int) (next_random() % 5);
	int			density = (int) (next_random() % 5);
	uint32		count = 0;
	uint32		first;
	uint32		len;
	int64		members[40];
	uint32		nmembers = (uint32) (next_random() % lengthof(members));
	int64		ci = random_value(kind);
	double		cf = random_float();

	for (uint32 i = 0; i < ZS_KERNEL_ROWS; i++)
	{
		float		f = (float) random_float();

		a[i] = random_value(kind);
		b[i] = random_value(kind);
		f8[i] = pattern8(random_float());
		f4[i] = pattern4(f);
		codes[i] = (uint32) (next_random() % lengthof(table));
		bytes[i] = (uint8) (next_random() & 1);
	}
	for (uint32 i = 0; i < lengthof(table); i++)
		table[i] = (uint8) (next_random() & 1);

	for (int op = ZS_CMP_LT; op <= ZS_CMP_GT; op++)
	{
		zskernel_compare_int64(a, n, op, ci, bits);
		for (uint32 i = 0; i < n; i++)
			expected[i] = holds(op, ORDER(a[i], ci));
		check_bits(bits, n, expected);
		zskernel_compare_uint64(a, n, op, ci, bits);
		for (uint32 i = 0; i < n; i++)
			expected[i] = holds(op, ORDER((uint64) a[i], (uint64) ci));
		check_bits(bits, n, expected);
		zskernel_compare_int64s(a, b, n, op, bits);
		for (uint32 i = 0; i < n; i++)
			expected[i] = holds(op, ORDER(a[i], b[i]));
		check_bits(bits, n, expected);
		zskernel_compare_uint64s(a, b, n, op, bits);
		for (uint32 i = 0; i < n; i++)
			expected[i] = holds(op, ORDER((uint64) a[i], (uint64) b[i]));
		check_bits(bits, n, expected);
		zskernel_compare_float8s(f8, f8 + n / 2, n / 2, op, bits);
		for (uint32 i = 0; i < n / 2; i++)
			expected[i] = holds(op, float_order(zskernel_float8(f8[i]),
												zskernel_float8(f8[n / 2 + i])));
		check_bits(bits, n / 2, expected);
		zskernel_compare_float8(f8, n, op, cf, bits);
		for (uint32 i = 0; i < n; i++)
			expected[i] = holds(op, float_order(zskernel_float8(f8[i]), cf));
		check_bits(bits, n, expected);
		zskernel_compare_float4(f4, n, op, cf, bits);
		for (uint32 i = 0; i < n; i++)
			expected[i] = holds(op, float_order(zskernel_float4(f4[i]), cf));
		check_bits(bits, n, expected);
	}

	for (uint32 k = 0; k < nmembers; k++)
	{
		int64		value = random_value(kind);
		uint32		at = k;

		while (at > 0 && members[at - 1] > value)
		{
			members[at] = members[at - 1];
			at--;
		}
		members[at] = value;
	}
	zskernel_in_int64(a, n, members, nmembers, bits);
	for (uint32 i = 0; i < n; i++)
	{
		expected[i] = false;
		for (uint32 k = 0; k < nmembers; k++)
			expected[i] |= members[k] == a[i];
	}
	check_bits(bits, n, expected);
	check_members(a, n, members, nmembers);
	zskernel_equal_uint32(codes, n, codes[0], bits);
	for (uint32 i = 0; i < n; i++)
		expected[i] = codes[i] == codes[0];
	check_bits(bits, n, expected);
	zskernel_in_table(codes, n, table, bits);
	for (uint32 i = 0; i < n; i++)
		expected[i] = table[codes[i]] != 0;
	check_bits(bits, n, expected);
	zskernel_bits_from_bytes(bytes, n, bits);
	for (uint32 i = 0; i < n; i++)
		expected[i] = bytes[i] != 0;
	check_bits(bits, n, expected);
	for (uint32 i = 0; i < n; i++)
		count += expected[i];
	CHECK(zskernel_bits_count(bits) == count);
	CHECK(zskernel_bits_list(bits, list) == count);
	count = 0;
	for (uint32 i = 0; i < n; i++)
	{
		if (expected[i])
			CHECK(list[count++] == i);
	}

	for (int i = 0; i < 100; i++)
	{
		check_like();
		check_hash();
	}
	check_times(n, sel);

	first = (uint32) (next_random() % (ZS_KERNEL_ROWS + 1));
	len = (uint32) (next_random() % (ZS_KERNEL_ROWS - first + 1));
	zskernel_bits_clear(bits);
	zskernel_bits_set_range(bits, first, len);
	for (uint32 i = 0; i < ZS_KERNEL_ROWS; i++)
		expected[i] = i >= first && i < first + len;
	check_bits(bits, ZS_KERNEL_ROWS, expected);

	check_sets(bits);

	/* selections from none to all */
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		sel[w] = density == 0 ? 0 : density == 1 ? next_random() & next_random() & next_random() :
			density == 2 ? next_random() : ~UINT64CONST(0);
		if (density == 3 && next_random() % 3 == 0)
			sel[w] = next_random() % 2 == 0 ? 0 : next_random();
	}
	{
		uint64		present[ZS_KERNEL_WORDS];

		zskernel_bits_clear(present);
		zskernel_bits_set_range(present, 0, n);
		zskernel_bits_and(present, sel);
		check_groups(a, n, present);
		check_integers(n, present);
		check_floats(n, present);
	}
	{
		zs_int128	sum = 0;
		int64		min = PG_INT64_MAX;
		int64		max = PG_INT64_MIN;
		double		sum8 = 0.5;
		float		sum4 = 0.5;
		double		got8;
		float		got4;

		for (uint32 i = 0; i < ZS_KERNEL_ROWS; i++)
		{
			if (!zskernel_bits_get(sel, i))
				continue;
			sum += a[i];
			min = Min(min, a[i]);
			max = Max(max, a[i]);
			sum8 += zskernel_float8(f8[i]);
			sum4 += zskernel_float4(f4[i]);
		}
		CHECK(zskernel_sum_int64(a, sel) == sum);
		CHECK(zskernel_sum_int64_narrow(a, sel) == (int64) (uint64) sum);
		CHECK(zskernel_min_int64(a, sel) == min);
		CHECK(zskernel_max_int64(a, sel) == max);
		got8 = zskernel_sum_float8(f8, sel, 0.5);
		got4 = zskernel_sum_float4(f4, sel, 0.5);
		CHECK(isnan(got8) ? isnan(sum8) : pattern8(got8) == pattern8(sum8));
		CHECK(isnan(got4) ? isnan(sum4) : pattern4(got4) == pattern4(sum4));
	}
}

int
main(int argc, char **argv)
{
	int			rounds = argc > 1 ? atoi(argv[1]) : 2000;

	state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	check_calendar();
	for (current_round = 0; current_round < rounds; current_round++)
		one_round();
	printf("ok: %d rounds of kernels\n", rounds);
	return 0;
}
