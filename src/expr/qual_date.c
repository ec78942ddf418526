/*-------------------------------------------------------------------------
 *
 * qual_date.c
 *	  Comparisons of dates with timestamps.
 *
 * "date < timestamp" is what a filter becomes that compares a date with the sum of a date and an
 * interval.  The constant is brought to the column's type, so that the column is compared as any
 * other, zone maps included: a time within a day is the day itself, with another operator.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/qual_date.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/primnodes.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#include "qual_internal.h"

typedef struct DateComparison
{
	Oid			funcid;
	ZsCompare	op;
	bool		date_first;
} DateComparison;

#define SIX(left, right, date_first) \
	{F_##left##_LT_##right, ZS_CMP_LT, date_first}, {F_##left##_LE_##right, ZS_CMP_LE, date_first}, \
	{F_##left##_EQ_##right, ZS_CMP_EQ, date_first}, {F_##left##_NE_##right, ZS_CMP_NE, date_first}, \
	{F_##left##_GE_##right, ZS_CMP_GE, date_first}, {F_##left##_GT_##right, ZS_CMP_GT, date_first}

static const DateComparison comparisons[] = {
	SIX(DATE, TIMESTAMP, true),
	SIX(TIMESTAMP, DATE, false)
};

/* "date op timestamp", with a column on the left side. */
static ZsQual *
compare_date(ZsCompiler *compiler, AttrNumber attno, ZsCompare op, Timestamp value)
{
	DateADT		date;

	Assert(attno > 0);
	if (TIMESTAMP_IS_NOBEGIN(value))
		DATE_NOBEGIN(date);
	else if (TIMESTAMP_IS_NOEND(value))
		DATE_NOEND(date);
	else
	{
		int64		rest = value % USECS_PER_DAY;

		date = (DateADT) (value / USECS_PER_DAY - (rest < 0));
		if (rest != 0)
		{
			/* no date is equal: all are at or above the first, none is below */
			if (op == ZS_CMP_EQ || op == ZS_CMP_NE)
				return zsexpr_qual_make_compare(compiler, attno, ZS_DOMAIN_INT,
												op == ZS_CMP_EQ ? ZS_CMP_LT : ZS_CMP_GE,
												Int32GetDatum(PG_INT32_MIN), DATEOID);
			op = op == ZS_CMP_LT ? ZS_CMP_LE : op == ZS_CMP_GE ? ZS_CMP_GT : op;
		}
	}
	return zsexpr_qual_make_compare(compiler, attno, ZS_DOMAIN_INT, op, DateADTGetDatum(date),
									DATEOID);
}

/* "timestamp op date", with a column on the left side. */
static ZsQual *
compare_timestamp(ZsCompiler *compiler, AttrNumber attno, ZsCompare op, DateADT value)
{
	Timestamp	timestamp;

	Assert(attno > 0);
	if (DATE_IS_NOBEGIN(value))
		TIMESTAMP_NOBEGIN(timestamp);
	else if (DATE_IS_NOEND(value))
		TIMESTAMP_NOEND(timestamp);
	else if (value >= TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE)
		return NULL;
	else
		timestamp = value * USECS_PER_DAY;
	return zsexpr_qual_make_compare(compiler, attno, ZS_DOMAIN_INT, op,
									TimestampGetDatum(timestamp), TIMESTAMPOID);
}

/*
 * A comparison of dates with timestamps, one of them a column and the other a constant; else NULL.
 */
ZsQual *
zsexpr_qual_compile_date(ZsCompiler *compiler, Oid funcid, List *args)
{
	const DateComparison *comparison = NULL;
	AttrNumber	attno;
	ZsDomain	domain;
	const Const *c;
	ZsCompare	op;
	bool		is_date;		/* the column */

	for (int i = 0; i < (int) lengthof(comparisons); i++)
	{
		if (comparisons[i].funcid == funcid)
			comparison = &comparisons[i];
	}
	if (comparison == NULL)
		return NULL;
	Assert(list_length(args) == 2);
	op = comparison->op;
	is_date = comparison->date_first;
	attno = zsexpr_compiler_column(compiler, linitial(args), &domain);
	c = lsecond(args);
	if (attno == InvalidAttrNumber)
	{
		op = zsexpr_qual_commute(op);
		is_date = !is_date;
		attno = zsexpr_compiler_column(compiler, lsecond(args), &domain);
		c = linitial(args);
	}
	if (attno == InvalidAttrNumber || domain != ZS_DOMAIN_INT || !IsA(c, Const))
		return NULL;
	if (c->constisnull)
		return zsexpr_qual_make_const(true, false);
	return is_date ? compare_date(compiler, attno, op, DatumGetTimestamp(c->constvalue)) :
		compare_timestamp(compiler, attno, op, DatumGetDateADT(c->constvalue));
}
