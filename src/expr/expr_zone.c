/*-------------------------------------------------------------------------
 *
 * expr_zone.c
 *	  Timestamps with time zone as local ones, and back.
 *
 * What date_trunc(), extract() and casts do with a timestamp with time zone they do with the local
 * time of the session's zone.  Between two changes of the zone's offset local time is the time plus
 * that; so the zone's rules are asked once for each such stretch of time that values lie in.  The
 * way back is core's, for the first of neighbouring values that are equal: local times may be
 * missing, or there twice.
 *
 * The zone is looked at when the program runs, as core does.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_zone.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/miscnodes.h"
#include "pgtime.h"
#include "utils/timestamp.h"

#include "expr_internal.h"
#include "zs_compat.h"

/* Years 1 to 9999 in any zone. */
#define FIRST_USEC		((int64) (ZS_DATE_FIRST + 2) * USECS_PER_DAY)
#define LAST_USEC		((int64) (ZS_DATE_LAST - 2) * USECS_PER_DAY)

/* A stretch of time without changes of the offset. */
typedef struct Stretch
{
	int64		from;			/* microseconds */
	int64		until;			/* not in it */
	int64		offset;
} Stretch;

/* Division that rounds down. */
static int64
floor_div(int64 value, int64 unit)
{
	return value / unit - (value % unit < 0 ? 1 : 0);
}

/* The stretch that begins at the second of a timestamp; false if the zone's rules do not say. */
static bool
find_stretch(int64 usec, Stretch *stretch)
{
	int64		epoch = (int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;
	int64		sec = floor_div(usec, USECS_PER_SEC);
	pg_time_t	t = (pg_time_t) (sec + epoch);
	const struct pg_tm *tm = pg_localtime(&t, session_timezone);
	long int	before;
	long int	after;
	int			before_isdst;
	int			after_isdst;
	pg_time_t	boundary;
	int			found;

	Assert(usec >= FIRST_USEC && usec <= LAST_USEC);
	if (tm == NULL)
		return false;
	stretch->offset = (int64) tm->tm_gmtoff * USECS_PER_SEC;
	found = pg_next_dst_boundary(&t, &before, &before_isdst, &boundary, &after, &after_isdst,
								 session_timezone);
	if (found < 0)
		return false;
	stretch->from = sec * USECS_PER_SEC;
	stretch->until = LAST_USEC + 1;
	if (found > 0 && boundary - epoch < LAST_USEC / USECS_PER_SEC)
		stretch->until = (int64) (boundary - epoch) * USECS_PER_SEC;
	return stretch->until > stretch->from;
}

static bool
run_from_local(const int64 *values, const uint64 *rows, int64 *out)
{
	int64		last = 0;
	int64		result = 0;
	bool		known = false;

	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = rows[w]; word != 0; word &= word - 1)
		{
			uint32		row = w * 64 + __builtin_ctzll(word);
			ZS_TIMESTAMP_ERROR_CONTEXT(context);

			if (!known || values[row] != last)
			{
				if (values[row] < FIRST_USEC || values[row] > LAST_USEC)
					return false;
				result = zs_timestamp_to_timestamptz(values[row], &context);
				if (zs_timestamp_failed(&context))
					return false;
				last = values[row];
				known = true;
			}
			out[row] = result;
		}
	}
	return true;
}

/* Runs one of the nodes about local time; false: a row is not in years 1 to 9999. */
bool
zsexpr_run_zone(const ZsExpr *expr, const int64 *values, const uint64 *rows, int64 *out)
{
	Stretch		stretch = {.from = 0, .until = 0};

	if (expr->kind == ZS_EXPR_FROM_LOCAL)
		return run_from_local(values, rows, out);
	Assert(expr->kind == ZS_EXPR_TO_LOCAL || expr->kind == ZS_EXPR_LOCAL_FLOOR);
	Assert(expr->kind == ZS_EXPR_TO_LOCAL || expr->usecs > 0);
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = rows[w]; word != 0; word &= word - 1)
		{
			uint32		row = w * 64 + __builtin_ctzll(word);
			int64		value = values[row];

			if (value < stretch.from || value >= stretch.until)
			{
				if (value < FIRST_USEC || value > LAST_USEC || !find_stretch(value, &stretch))
					return false;
			}
			if (expr->kind == ZS_EXPR_LOCAL_FLOOR)
				out[row] = floor_div(value + stretch.offset, expr->usecs) * expr->usecs -
					stretch.offset;
			else
				out[row] = value + stretch.offset;
		}
	}
	return true;
}
