/*
 * gen_common.h
 *		What the data generators share: a random number generator whose
 *		sequence is the same everywhere, and quick output of COPY text.
 *
 * The output is for COPY t FROM '...' WITH (DELIMITER '|').  Every generator
 * prints the columns of its table when called with --ddl.
 */
#ifndef GEN_COMMON_H
#define GEN_COMMON_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers: splitmix64 (Steele, Lea, Flood 2014) */

static uint64_t rng_state;

static inline uint64_t
mix64(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline uint64_t
rnd64(void)
{
	return mix64(rng_state += UINT64_C(0x9e3779b97f4a7c15));
}

/* Uniform in lo .. hi, both included. */
static inline int64_t
rnd(int64_t lo, int64_t hi)
{
	return lo + (int64_t) (rnd64() % (uint64_t) (hi - lo + 1));
}

/* True with a probability of percent / 100. */
static inline int
chance(double percent)
{
	return (double) (rnd64() >> 11) * (100.0 / 9007199254740992.0) < percent;
}

/*
 * About Zipf-distributed rank in 0 .. n - 1 (exponent 1), by inverting the
 * continuous distribution, which needs no table.
 */
static inline int64_t
zipf(int64_t n)
{
	double		u = (double) (rnd64() >> 11) / 9007199254740992.0;
	int64_t		rank = (int64_t) exp(u * log((double) n + 1.0)) - 1;

	return rank < n ? rank : n - 1;
}

/* ---- output */

#define OUT_SIZE	(1 << 20)
#define OUT_RESERVE (1 << 14)	/* more than a column of any generator */

static char out_buffer[OUT_SIZE];
static char *out_end = out_buffer;

static inline void
out_flush(void)
{
	if (fwrite(out_buffer, 1, (size_t) (out_end - out_buffer), stdout) !=
		(size_t) (out_end - out_buffer))
		exit(1);				/* the reader went away, or the disk is full */
	out_end = out_buffer;
}

static inline void
out_char(char c)
{
	if (out_end > out_buffer + OUT_SIZE - OUT_RESERVE)
		out_flush();
	*out_end++ = c;
}

static inline void
out_bytes(const char *bytes, size_t len)
{
	if (out_end > out_buffer + OUT_SIZE - OUT_RESERVE)
		out_flush();
	memcpy(out_end, bytes, len);
	out_end += len;
}

static inline void
out_text(const char *text)
{
	out_bytes(text, strlen(text));
}

static inline void
out_int(int64_t value)
{
	char		digits[24];
	char	   *p = digits + sizeof(digits);
	uint64_t	rest = value < 0 ? 0 - (uint64_t) value : (uint64_t) value;

	do
		*--p = (char) ('0' + rest % 10);
	while ((rest /= 10) != 0);
	if (value < 0)
		*--p = '-';
	out_bytes(p, (size_t) (digits + sizeof(digits) - p));
}

/* A number of hundredths, as 12.34. */
static inline void
out_cents(int64_t cents)
{
	uint64_t	rest = cents < 0 ? 0 - (uint64_t) cents : (uint64_t) cents;

	if (cents < 0)
		out_char('-');
	out_int((int64_t) (rest / 100));
	out_char('.');
	out_char((char) ('0' + rest % 100 / 10));
	out_char((char) ('0' + rest % 10));
}

static inline void
out_two_digits(int value)
{
	out_char((char) ('0' + value / 10));
	out_char((char) ('0' + value % 10));
}

/* Days since 1970-01-01 as a date (Howard Hinnant's civil_from_days). */
static inline void
out_date(int64_t days)
{
	int64_t		z = days + 719468;
	int64_t		era = z / 146097;
	int64_t		doe = z - era * 146097;
	int64_t		yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t		doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t		mp = (5 * doy + 2) / 153;
	int64_t		month = mp < 10 ? mp + 3 : mp - 9;

	out_int(yoe + era * 400 + (month <= 2));
	out_char('-');
	out_two_digits((int) month);
	out_char('-');
	out_two_digits((int) (doy - (153 * mp + 2) / 5 + 1));
}

/* Seconds since 1970-01-01 00:00 as a timestamp. */
static inline void
out_timestamp(int64_t seconds)
{
	int			of_day = (int) (seconds % 86400);

	out_date(seconds / 86400);
	out_char(' ');
	out_two_digits(of_day / 3600);
	out_char(':');
	out_two_digits(of_day / 60 % 60);
	out_char(':');
	out_two_digits(of_day % 60);
}

/* ---- command line */

/*
 * Handle "--ddl" and "rows [seed]"; returns the number of rows.
 */
static inline int64_t
gen_start(int argc, char **argv, const char *ddl)
{
	int64_t		rows;

	if (argc == 2 && strcmp(argv[1], "--ddl") == 0)
	{
		puts(ddl);
		exit(0);
	}
	rows = argc > 1 ? atoll(argv[1]) : 0;
	if (rows <= 0)
	{
		fprintf(stderr, "usage: %s --ddl | rows [seed ...]\n", argv[0]);
		exit(2);
	}
	rng_state = mix64(argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
	return rows;
}

#endif							/* GEN_COMMON_H */
