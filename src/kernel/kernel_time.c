/*-------------------------------------------------------------------------
 *
 * kernel_time.c
 *	  Parts of dates and times, and their beginnings.
 *
 * Days are counted from 2000-01-01, which was a Saturday; microseconds from its midnight.  A year
 * is thought to begin in March, so that the day that some years have more is its last one: then the
 * days before a month are a linear function of its number, and those before a year follow from the
 * leap years.  The Gregorian calendar repeats every 400 years.
 *
 * The server's calendar is this one for all times.  Callers ask for days of the years 1 to 9999; on
 * others, at rows that nobody selected, the loops give some number.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/kernel/kernel_time.c
 *
 *-------------------------------------------------------------------------
 */
#include "kernel_internal.h"

#define DAYS_OF_ERA		146097	/* 400 years */
#define USECS_OF_SECOND	INT64CONST(1000000)
#define USECS_OF_MINUTE	(60 * USECS_OF_SECOND)
#define USECS_OF_HOUR	(60 * USECS_OF_MINUTE)
#define USECS_OF_DAY	(24 * USECS_OF_HOUR)

/* From 0000-03-01, where an era begins, to 2000-01-01. */
#define DAYS_BEFORE_2000	(5 * DAYS_OF_ERA - 60)

typedef struct Civil
{
	int64		year;
	int64		month;			/* 1 .. 12 */
	int64		day;			/* 1 .. 31 */
} Civil;

static inline int64
floor_div(int64 a, int64 b)
{
	return a / b - (a % b < 0);
}

/* Within what 32 bits hold; others are none that anybody asked for. */
static inline int64
tame(int64 days)
{
	return days < -10000000 ? -10000000 : days > 10000000 ? 10000000 : days;
}

static inline Civil
civil_from_days(int64 days)
{
	int64		z = tame(days) + DAYS_BEFORE_2000;
	int64		era = floor_div(z, DAYS_OF_ERA);
	int64		in_era = z - era * DAYS_OF_ERA;
	int64		year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	int64		in_year = in_era - (365 * year + year / 4 - year / 100);
	int64		month = (5 * in_year + 2) / 153;	/* 0 is March */
	Civil		c;

	c.day = in_year - (153 * month + 2) / 5 + 1;
	c.month = month < 10 ? month + 3 : month - 9;
	c.year = year + era * 400 + (c.month <= 2);
	return c;
}

static inline int64
days_from_civil(int64 year, int64 month, int64 day)
{
	int64		y = month <= 2 ? year - 1 : year;
	int64		era = floor_div(y, 400);
	int64		in_era = y - era * 400;
	int64		in_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

	return era * DAYS_OF_ERA + in_era * 365 + in_era / 4 - in_era / 100 + in_year -
		DAYS_BEFORE_2000;
}

/* 0 is Monday. */
static inline int64
weekday(int64 days)
{
	int64		d = tame(days) + 5;

	return d - floor_div(d, 7) * 7;
}

/* Weeks belong to the year of their Thursday. */
static inline int64
thursday(int64 days)
{
	return tame(days) - weekday(days) + 3;
}

static inline int64
day_of_year(int64 days)
{
	return tame(days) - days_from_civil(civil_from_days(days).year, 1, 1) + 1;
}

static int64
field_of(ZsDateField field, int64 days)
{
	Civil		c;

	switch (field)
	{
		case ZS_DATE_DOW:
			return (weekday(days) + 1) % 7;
		case ZS_DATE_ISODOW:
			return weekday(days) + 1;
		case ZS_DATE_WEEK:
			return (day_of_year(thursday(days)) - 1) / 7 + 1;
		case ZS_DATE_ISOYEAR:
			return civil_from_days(thursday(days)).year;
		case ZS_DATE_DOY:
			return day_of_year(days);
		default:
			break;
	}
	c = civil_from_days(days);
	switch (field)
	{
		case ZS_DATE_DAY:
			return c.day;
		case ZS_DATE_MONTH:
			return c.month;
		case ZS_DATE_QUARTER:
			return (c.month - 1) / 3 + 1;
		case ZS_DATE_YEAR:
			return c.year;
		case ZS_DATE_DECADE:
			return c.year / 10;
		case ZS_DATE_CENTURY:
			return (c.year + 99) / 100;
		default:
			return (c.year + 999) / 1000;
	}
}

/* The first day of what the day is in. */
static int64
begin_of(ZsDateField field, int64 days)
{
	Civil		c;

	if (field == ZS_DATE_WEEK)
		return tame(days) - weekday(days);
	c = civil_from_days(days);
	switch (field)
	{
		case ZS_DATE_MONTH:
			return tame(days) - c.day + 1;
		case ZS_DATE_QUARTER:
			return days_from_civil(c.year, (c.month - 1) / 3 * 3 + 1, 1);
		case ZS_DATE_YEAR:
			return days_from_civil(c.year, 1, 1);
		case ZS_DATE_DECADE:
			return days_from_civil(c.year / 10 * 10, 1, 1);
		case ZS_DATE_CENTURY:
			return days_from_civil((c.year + 99) / 100 * 100 - 99, 1, 1);
		case ZS_DATE_MILLENNIUM:
			return days_from_civil((c.year + 999) / 1000 * 1000 - 999, 1, 1);
		default:
			return days;
	}
}

/* Rows of joins are few in a batch; neighbours are of the same day often. */
#define BY_DAY(function) \
	do { \
		int64		last = 0; \
		int64		result = function(field, 0); \
		for (uint32 w = 0; w < ZS_KERNEL_WORDS; w++) \
		{ \
			for (uint64 bits = rows[w]; bits != 0; bits &= bits - 1) \
			{ \
				uint32		i = w * 64 + (uint32) __builtin_ctzll(bits); \
				if (days[i] != last) \
				{ \
					last = days[i]; \
					result = function(field, last); \
				} \
				out[i] = result; \
			} \
		} \
	} while (0)

/* The field of the days of these rows. */
void
zskernel_date_field(ZsDateField field, const int64 *days, const uint64 *rows, int64 *out)
{
	BY_DAY(field_of);
}

/* The first day of the week, month, quarter, ... that the days of these rows are in. */
void
zskernel_date_begin(ZsDateField field, const int64 *days, const uint64 *rows, int64 *out)
{
	BY_DAY(begin_of);
}

/* A division by a constant is a product. */
#define BY_UNIT(loop) \
	switch (unit) \
	{ \
		case USECS_OF_SECOND: \
			loop(USECS_OF_SECOND); \
			break; \
		case USECS_OF_MINUTE: \
			loop(USECS_OF_MINUTE); \
			break; \
		case USECS_OF_HOUR: \
			loop(USECS_OF_HOUR); \
			break; \
		case USECS_OF_DAY: \
			loop(USECS_OF_DAY); \
			break; \
		default: \
			loop(unit); \
			break; \
	}

#define FLOOR(unit) \
	for (uint32 i = 0; i < n; i++) \
		out[i] = (int64) ((uint64) floor_div(a[i], unit) * (uint64) (unit))

/* out = the largest multiple of unit that is not above a. */
void
zskernel_floor_to_int64(const int64 *a, int64 unit, uint32 n, int64 *out)
{
	Assert(n <= ZS_KERNEL_ROWS && unit > 0);
	BY_UNIT(FLOOR);
}

#define PART(unit) \
	for (uint32 i = 0; i < n; i++) \
	{ \
		int64		rest = floor_div(a[i], unit) % modulus; \
		out[i] = rest < 0 ? rest + modulus : rest; \
	}

/* out = the number of units that fit into a, modulo modulus, at least 0. */
void
zskernel_part_of_int64(const int64 *a, int64 unit, int64 modulus, uint32 n, int64 *out)
{
	Assert(n <= ZS_KERNEL_ROWS && unit > 0 && modulus > 1);
	BY_UNIT(PART);
}
