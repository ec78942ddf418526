/*-------------------------------------------------------------------------
 *
 * expr_time.c
 *	  Programs of date_trunc(), extract() and date_part() with a constant field, and of sums of
 *	  times and constant intervals.
 *
 * They become nodes that know days and microseconds only.  Of what depends on the session's time
 * zone truncation is taken, by nodes that go to local time and back; fields whose float8 form is
 * made of two roundings are not.  Infinite times, and
 * those of years other than 1 to 9999 where the calendar plays a part, are core's.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_time.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/primnodes.h"
#include "parser/scansup.h"
#include "utils/datetime.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"
#include "varatt.h"

#include "expr_internal.h"

/* More days than these are the executor's, so that nothing overflows. */
#define MAX_DAYS		10000000

/* A node with one argument. */
static ZsExpr *
make_node(ZsExprKind kind, int width, ZsExpr *arg)
{
	ZsExpr	   *expr = zsexpr_make(kind, ZS_DOMAIN_INT, width, 1);

	Assert(arg != NULL && (arg->domain == ZS_DOMAIN_INT || arg->domain == ZS_DOMAIN_UINT));
	expr->args[expr->nargs++] = arg;
	return expr;
}

/* The timestamp so many microseconds later. */
static ZsExpr *
add_usecs(ZsExpr *arg, int64 usecs)
{
	ZsExpr	   *expr = make_node(ZS_EXPR_TIMESTAMP_ADD, 8, arg);

	expr->usecs = usecs;
	return expr;
}

/*
 * timestamp + interval, timestamp - interval, and the same with dates, without months, or NULL; arg
 * is NULL or an integer.
 */
ZsExpr *
zsexpr_compile_time_add(Oid funcid, ZsExpr *arg, Node *interval_node)
{
	bool		is_date = funcid == F_DATE_PL_INTERVAL || funcid == F_DATE_MI_INTERVAL;
	bool		is_tz = funcid == F_TIMESTAMPTZ_PL_INTERVAL || funcid == F_TIMESTAMPTZ_MI_INTERVAL;
	bool		minus = funcid == F_TIMESTAMP_MI_INTERVAL || funcid == F_TIMESTAMPTZ_MI_INTERVAL ||
		funcid == F_DATE_MI_INTERVAL;
	const Const *c = (const Const *) interval_node;
	const Interval *interval;

	if (arg == NULL || !IsA(c, Const) || c->constisnull)
		return NULL;
	interval = DatumGetIntervalP(c->constvalue);
	/* where time zones play a part days are not of one length */
	if (interval->month != 0 || (is_tz && interval->day != 0) || interval->day > MAX_DAYS ||
		interval->day < -MAX_DAYS ||
		interval->time > PG_INT64_MAX / 4 || interval->time < PG_INT64_MIN / 4)
		return NULL;
	if (is_date)
		arg = make_node(ZS_EXPR_DATE_TO_TIMESTAMP, 8, arg);
	/* days first, each step in range */
	if (interval->day != 0)
		arg = add_usecs(arg, (minus ? -1 : 1) * interval->day * USECS_PER_DAY);
	return add_usecs(arg, minus ? -interval->time : interval->time);
}

/* The parts of dates; false if the unit is none. */
static bool
date_field(int unit, ZsDateField *field)
{
	static const struct
	{
		int			unit;
		ZsDateField field;
	}			fields[] = {
		{DTK_DAY, ZS_DATE_DAY},
		{DTK_DOW, ZS_DATE_DOW},
		{DTK_ISODOW, ZS_DATE_ISODOW},
		{DTK_DOY, ZS_DATE_DOY},
		{DTK_WEEK, ZS_DATE_WEEK},
		{DTK_MONTH, ZS_DATE_MONTH},
		{DTK_QUARTER, ZS_DATE_QUARTER},
		{DTK_YEAR, ZS_DATE_YEAR},
		{DTK_ISOYEAR, ZS_DATE_ISOYEAR},
		{DTK_DECADE, ZS_DATE_DECADE},
		{DTK_CENTURY, ZS_DATE_CENTURY},
		{DTK_MILLENNIUM, ZS_DATE_MILLENNIUM},
	};

	for (int i = 0; i < (int) lengthof(fields); i++)
	{
		if (fields[i].unit == unit)
		{
			*field = fields[i].field;
			return true;
		}
	}
	return false;
}

/* Microseconds of units of one length; 0 for others. */
static int64
length_of_unit(int unit)
{
	switch (unit)
	{
		case DTK_MICROSEC:
			return 1;
		case DTK_MILLISEC:
			return 1000;
		case DTK_SECOND:
			return USECS_PER_SEC;
		case DTK_MINUTE:
			return USECS_PER_MINUTE;
		case DTK_HOUR:
			return USECS_PER_HOUR;
		case DTK_DAY:
			return USECS_PER_DAY;
		default:
			return 0;
	}
}

static ZsExpr *
compile_trunc(int unit, ZsExpr *arg, bool is_tz)
{
	ZsDateField field;
	ZsExpr	   *expr;

	/* below a day core keeps the offset from UTC, else it looks for that of the new local time */
	if (is_tz && length_of_unit(unit) > 0 && unit != DTK_DAY)
	{
		expr = make_node(ZS_EXPR_LOCAL_FLOOR, 8, arg);
		expr->usecs = length_of_unit(unit);
		return expr;
	}
	if (is_tz)
	{
		expr = compile_trunc(unit, make_node(ZS_EXPR_TO_LOCAL, 8, arg), false);
		return expr != NULL ? make_node(ZS_EXPR_FROM_LOCAL, 8, expr) : NULL;
	}
	if (length_of_unit(unit) > 0)
	{
		expr = make_node(ZS_EXPR_TIME_FLOOR, 8, arg);
		expr->usecs = length_of_unit(unit);
		return expr;
	}
	if (!date_field(unit, &field) || unit == DTK_DOW || unit == DTK_ISODOW || unit == DTK_DOY ||
		unit == DTK_ISOYEAR)
		return NULL;
	expr = make_node(ZS_EXPR_DATE_BEGIN, 4, make_node(ZS_EXPR_TIMESTAMP_TO_DATE, 4, arg));
	expr->field = field;
	return make_node(ZS_EXPR_DATE_TO_TIMESTAMP, 8, expr);
}

/* The field as an integer that is 10^*scale times its value. */
static ZsExpr *
compile_field(int unit, bool is_date, ZsExpr *arg, int *scale)
{
	ZsDateField field;
	ZsExpr	   *expr;

	*scale = 0;
	if (date_field(unit, &field))
	{
		expr = make_node(ZS_EXPR_DATE_FIELD, 4,
						 is_date ? arg : make_node(ZS_EXPR_TIMESTAMP_TO_DATE, 4, arg));
		expr->field = field;
		return expr;
	}
	if (is_date)
		return NULL;
	expr = make_node(ZS_EXPR_TIME_PART, 8, arg);
	switch (unit)
	{
		case DTK_HOUR:
			expr->usecs = USECS_PER_HOUR;
			expr->limit = HOURS_PER_DAY;
			return expr;
		case DTK_MINUTE:
			expr->usecs = USECS_PER_MINUTE;
			expr->limit = MINS_PER_HOUR;
			return expr;
		case DTK_SECOND:
		case DTK_MILLISEC:
		case DTK_MICROSEC:
			/* all of them are the microseconds of the minute */
			expr->usecs = 1;
			expr->limit = USECS_PER_MINUTE;
			*scale = unit == DTK_SECOND ? 6 : unit == DTK_MILLISEC ? 3 : 0;
			return expr;
		default:
			return NULL;
	}
}

/* Casts from and to timestamps with time zone, or NULL. */
ZsExpr *
zsexpr_compile_zone(Oid funcid, ZsExpr *arg)
{
	if (arg == NULL)
		return NULL;
	switch (funcid)
	{
		case F_TIMESTAMP_TIMESTAMPTZ:
			return make_node(ZS_EXPR_TO_LOCAL, 8, arg);
		case F_TIMESTAMPTZ_TIMESTAMP:
			return make_node(ZS_EXPR_FROM_LOCAL, 8, arg);
		case F_DATE_TIMESTAMPTZ:
			return make_node(ZS_EXPR_TIMESTAMP_TO_DATE, 4, make_node(ZS_EXPR_TO_LOCAL, 8, arg));
		default:
			return NULL;
	}
}

/*
 * date_trunc(), extract(), date_part() of a unit and a date or timestamp (expr_time.c), or
 * NULL.
 */
ZsExpr *
zsexpr_compile_time(Oid funcid, Node *unit_node, ZsExpr *arg)
{
	bool		is_date = funcid == F_EXTRACT_TEXT_DATE;
	bool		is_tz = funcid == F_EXTRACT_TEXT_TIMESTAMPTZ ||
		funcid == F_DATE_PART_TEXT_TIMESTAMPTZ;
	bool		is_part = funcid == F_DATE_PART_TEXT_TIMESTAMP ||
		funcid == F_DATE_PART_TEXT_TIMESTAMPTZ;
	const Const *c = (const Const *) unit_node;
	struct varlena *v;
	char	   *name;
	int			type;
	int			unit;
	int			scale;
	ZsExpr	   *field;
	ZsExpr	   *expr;

	if (arg == NULL || !IsA(c, Const) || c->constisnull)
		return NULL;
	v = PG_DETOAST_DATUM_PACKED(c->constvalue);
	name = downcase_truncate_identifier(VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v), false);
	type = DecodeUnits(0, name, &unit);
	if (funcid == F_DATE_TRUNC_TEXT_TIMESTAMP || funcid == F_DATE_TRUNC_TEXT_TIMESTAMPTZ)
		return type == UNITS ? compile_trunc(unit, arg, funcid == F_DATE_TRUNC_TEXT_TIMESTAMPTZ) :
			NULL;

	if (type == UNKNOWN_FIELD)
		type = DecodeSpecial(0, name, &unit);
	if (type == RESERV && unit == DTK_EPOCH && !is_date)
	{
		field = make_node(ZS_EXPR_TIMESTAMP_ADD, 8, arg);
		field->usecs = (int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
		scale = 6;
	}
	else if (type != UNITS)
		return NULL;
	else
		field = compile_field(unit, is_date, is_tz ? make_node(ZS_EXPR_TO_LOCAL, 8, arg) : arg,
							  &scale);
	if (field == NULL)
		return NULL;

	expr = zsexpr_make(ZS_EXPR_SCALED, ZS_DOMAIN_DECIMAL, 0, 1);
	Assert(scale >= 0 && scale <= ZS_EXPR_MAX_SCALE);
	expr->scale = scale;
	expr->args[expr->nargs++] = field;
	if (!is_part)
		return expr;
	if (scale != 0 && type == UNITS)
		return NULL;
	field = expr;
	expr = zsexpr_make(ZS_EXPR_DECIMAL_TO_FLOAT, ZS_DOMAIN_FLOAT8, 8, 1);
	expr->args[expr->nargs++] = field;
	return expr;
}
