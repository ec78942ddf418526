/*
 * errors.c
 *		Rounds of expressions that fail for some rows, beside conditions that exclude those.
 *
 * Whether a statement fails depends on the order in which conditions are tested, on which of them
 * a plan asks at all, and on how lazily expressions are computed.  A hazard is an expression that
 * raises an error for some values of a column; its guard is a condition that is false for these.
 * Statements have both in all places, and values that fail stand in columns, in the row tree, in
 * one segment, or everywhere.
 *
 * Heap's outcome is the oracle, as far as its plan has the same shape: SQL promises no order of
 * evaluation, so both_alike() lets what only one side raises pass where the two join or find rows
 * in different ways.  The order of conditions within a scan is part of the plan, and that of rows
 * is the same on both sides, since rows only come here.
 */
#include "difftest.h"

/* In expressions, @ is the alias of a table, and # a number, or the parameter of a statement. */
typedef struct Hazard
{
	const char *expression;
	char		kind;			/* of its value: integer, numeric, float, text, date, bool */
	const char *guard;			/* false, or null, where it fails */
} Hazard;

static const Hazard hazards[] = {
	/* integers */
	{"10 / @.a", 'i', "@.a <> 0"},
	{"@.id % @.a", 'i', "@.a > 0"},
	{"@.id / (@.k - 1)", 'i', "@.k > 1"},
	{"@.k / (@.a - #)", 'i', "@.a <> #"},
	{"@.a + 2147483600", 'i', "@.a < 20"},
	{"@.a * 90000000", 'i', "@.a between 0 and 20"},
	{"@.k - 2147483640 - @.a", 'i', "@.a < 2"},
	{"- (@.a - 2147483645 - @.k)", 'i', "@.a > 5"},
	{"abs(- 2147483647 - @.k)", 'i', "@.k = 0"},
	{"@.i8 + 9223372036854770000", 'i', "@.i8 < 1000"},
	{"@.i8 * 1000000000000", 'i', "@.i8 < 1000"},
	{"@.i8::int", 'i', "@.i8 < 2000000000"},
	{"@.a::int2 * 2000::int2", 'i', "@.a between 0 and 10"},
	{"@.s * 20::int2", 'i', "@.s < 1000"},
	{"@.s::int2 + 32000::int2", 'i', "@.s < 500"},
	{"(@.a * 1000)::int2", 'i', "@.a between 0 and 30"},
	{"@.n::int", 'i', "@.n between -1000 and 1000"},
	{"@.b::int", 'i', "@.b between -1000 and 1000"},
	{"@.b::int8", 'i', "@.b < 1000"},
	{"@.t::int", 'i', "@.t ~ '^[0-9]{1,7}$'"},
	{"@.t::int", 'i', "@.t <> 'x'"},
	{"@.t::int", 'i', "@.t like '1%'"},
	{"@.t::int8", 'i', "length(@.t) between 1 and 5"},
	{"(@.t || #)::int", 'i', "@.t in ('1', '12', '100')"},
	{"substr(@.t, 2)::int", 'i', "@.t like '1_'"},
	{"length(substr(@.t, 1, @.a - #))", 'i', "@.a > #"},
	{"(@.j ->> 'a')::int", 'i', "@.j ->> 'a' <> 'x'"},
	{"(@.j -> 'a')::int", 'i', "jsonb_typeof(@.j -> 'a') = 'number'"},
	{"jsonb_array_length(@.j)", 'i', "jsonb_typeof(@.j) = 'array'"},
	{"10 / @.ar[1]", 'i', "@.ar[1] <> 0"},
	{"@.id / @.ar[@.k]", 'i', "@.ar[@.k] > 0"},
	{"array_length(array_fill(1, array[@.a]), 1)", 'i', "@.a between 0 and 90"},
	{"ascii(chr(@.a))", 'i', "@.a between 1 and 90"},
	{"get_byte('\\x010203', @.k)", 'i', "@.k < 3"},
	{"width_bucket(@.n, 0, 10, @.a)", 'i', "@.a > 0 and @.n < 100"},
	{"extract(epoch from @.d)::int", 'i', "@.d < '2030-01-01'"},
	{"@.d - date '2000-01-01'", 'i', "isfinite(@.d)"},
	{"least(@.id, 10 / @.a)", 'i', "@.a is distinct from 0"},
	{"coalesce(nullif(10 / @.a, 2), 5 / @.k)", 'i', "@.a <> 0 and @.k > 0"},
	{"boom(@.a)", 'i', "@.a <> 0"},
	{"(select z.k from e1 z where z.id <= @.k)", 'i', "@.k < 2"},
	/* numerics */
	{"10 / @.n", 'n', "@.n <> 0"},
	{"@.n % @.a", 'n', "@.a <> 0"},
	{"@.n / (@.n - #)", 'n', "@.n <> #"},
	{"sqrt(@.n)", 'n', "@.n >= 0"},
	{"ln(@.n)", 'n', "@.n > 0"},
	{"log(@.n)", 'n', "@.n > 0"},
	{"power(@.n, 0.5)", 'n', "@.n >= 0"},
	{"power(10, @.n * 1000)", 'n', "@.n < 5"},
	{"@.n::numeric(4,2)", 'n', "abs(@.n) < 50"},
	{"@.a::numeric(2,0)", 'n', "@.a < 90"},
	{"@.t::numeric", 'n', "@.t ~ '^[0-9]'"},
	{"round(@.t::numeric, 1)", 'n', "@.t not in ('x', '', '1 2')"},
	{"1.5 / @.k", 'n', "@.k <> 0"},
	{"(@.j ->> 'a')::numeric / @.a", 'n', "@.j ->> 'a' < 'a' and @.a > 0"},
	{"div(@.n, @.a)", 'n', "@.a in (1, 2, 3, 4, 5)"},
	/* floats */
	{"1 / @.b", 'f', "@.b <> 0"},
	{"sqrt(@.b)", 'f', "@.b >= 0"},
	{"ln(@.b)", 'f', "@.b > 0"},
	{"exp(@.b * 1000)", 'f', "@.b < 0.1"},
	{"@.b * 1e308", 'f', "@.b between -1 and 1"},
	{"power(@.b, 0.5)", 'f', "@.b >= 0"},
	{"power(0, @.b)", 'f', "@.b > 0"},
	{"acos(@.b / 10)", 'f', "@.b between -10 and 10"},
	{"@.t::float8", 'f', "@.t ~ '^[0-9]+$'"},
	{"@.b / @.a", 'f', "@.a > 0"},
	{"@.b::real * 1e38::real", 'f', "abs(@.b) < 3"},
	/* strings */
	{"substr(@.t, 1, @.a - 1)", 't', "@.a > 0"},
	{"substring(@.t from 2 for @.k - 1)", 't', "@.k >= 1"},
	{"overlay(@.t placing 'y' from @.a)", 't', "@.a > 0"},
	{"split_part(@.t, '1', @.k)", 't', "@.k > 0"},
	{"chr(@.k)", 't', "@.k <> 0"},
	{"repeat(@.t, @.a / 10)", 't', "@.a < 90"},
	{"regexp_replace(@.t, @.p, 'q')", 't', "@.p ~ '^[0-9]+$'"},
	{"encode(decode(@.t, 'hex'), 'base64')", 't', "length(@.t) = 2"},
	{"left(@.t, 10 / @.a)", 't', "@.a <> 0"},
	{"upper(substr(@.t, 1, @.k - 1)) || @.p", 't', "@.k > 0"},
	{"(@.j ->> 'a') || (10 / @.a)", 't', "@.a > 0"},
	/* times */
	{"@.t::date", 'd', "@.t like '____-%'"},
	{"@.d + @.a * 100000000", 'd', "@.a = 0"},
	{"@.d + 1000", 'd', "@.d < '2030-01-01'"},
	{"make_date(2000, @.k, @.a)", 'd', "@.k between 1 and 6 and @.a between 1 and 28"},
	{"@.ts::date", 'd', "@.ts < '2030-01-01'"},
	{"(@.ts + interval '1 year')::date", 'd', "@.ts < '2030-01-01'"},
	{"date_trunc(@.p, @.ts)::date", 'd', "@.p = 'month'"},
	{"date_trunc('month', @.ts - @.b * interval '1 day')::date", 'd', "@.b between -30 and 30"},
	{"(@.ts at time zone @.p)::date", 'd', "@.p = 'utc'"},
	{"@.d::timestamp::date", 'd', "@.d < '2030-01-01'"},
	/* conditions */
	{"@.t like @.p", 'b', "@.p not like '%\\\\'"},
	{"@.t like @.p || '%'", 'b', "@.p ~ '^[0-9]+$'"},
	{"@.t ~ @.p", 'b', "@.p <> '('"},
	{"@.t::bool", 'b', "@.t in ('1', 'x')"},
	{"(@.j -> 'a')::bool", 'b', "jsonb_typeof(@.j -> 'a') = 'boolean'"},
	{"int4range(@.k, @.a) @> 3", 'b', "@.k <= @.a"},
	{"@.a::d_positive is not null", 'b', "@.a > 0"},
	{"@.k in (10 / @.a, 3)", 'b', "@.a <> 0"},
	{"@.id = any (array[@.id / @.a, 7])", 'b', "@.a > 0"},
	{"@.t::uuid is not null", 'b', "length(@.t) > 30"},
};

static const Hazard *
random_hazard(char kind)
{
	const Hazard *hazard;

	do
		hazard = &pick(hazards);
	while (kind != '\0' && hazard->kind != kind);
	return hazard;
}

/* What stands for #: a parameter within prepared statements. */
static const char *parameter;

/* An expression of the table's for its alias. */
static char *
of(const char *expression, const char *alias)
{
	Buf			buf = {0};
	char	   *result;

	for (const char *c = expression; *c != '\0'; c++)
	{
		if (*c == '@' && c[1] == '.')
			buf_add(&buf, "%s", alias);
		else if (*c == '#')
			buf_add(&buf, "%s", parameter);
		else
			buf_bytes(&buf, c, 1);
	}
	result = S("%s", buf.data);
	buf_free(&buf);
	return result;
}

/* ---- conditions ------------------------------------------------------------------------------ */

static const char *const comparisons[] = {"=", "<>", "<", "<=", ">", ">="};

static char *
constant(char kind)
{
	switch (kind)
	{
		case 'n':
			return S("%d.%d", rnd(-2, 20), rnd(0, 9));
		case 'f':
			return S("'%d.5'::float8", rnd(-3, 10));
		case 't':
			return S("'%d'", rnd(0, 30));
		case 'd':
			return S("date '20%02d-01-15'", rnd(0, 40));
		case 'b':
			return chance(50) ? "true" : "false";
		default:
			return S("%d", rnd(-2, 12));
	}
}

/* Fails for no row. */
static char *
harmless(const char *alias)
{
	switch (rnd(0, 9))
	{
		case 0:
			return S("%s.k <> %d", alias, rnd(0, 6));
		case 1:
			return S("%s.k in (1, %d, 5)", alias, rnd(2, 4));
		case 2:
			return S("%s.id > %d", alias, rnd(0, 5000));
		case 3:
			return S("%s.id < %d", alias, rnd(1, 5000));
		case 4:
			return S("%s.t > '%d'", alias, rnd(0, 60));
		case 5:
			return S("%s.a is not null", alias);
		case 6:
			return S("%s.t like '%d%%'", alias, rnd(1, 9));
		case 7:
			return S("%s.id %% 5 <> %d", alias, rnd(0, 4));
		case 8:
			return S("%s.n between %d and 12", alias, rnd(-3, 9));
		default:
			return S("%s.v = %d", alias, rnd(0, 5));
	}
}

/* The guard of a hazard, as cheap or dear as may be. */
static char *
guard(const Hazard *hazard, const char *alias)
{
	char	   *is = of(hazard->guard, alias);

	switch (rnd(0, 13))
	{
		case 0:
			return S("(case when %s then 1 else 0 end) + 0 + 0 + 0 = 1", is);
		case 1:
			return S("(%s) is true", is);
		case 2:
			return S("coalesce(%s, false)", is);
		case 3:
			return S("not (%s)", is);
		case 4:
			return S("(%s or %s)", is, harmless(alias));
		case 5:
			return harmless(alias);
		case 6:
			return S("exists (select from e1 g where g.id = %s.k and %s)", alias, is);
		case 7:
			return S("%s.k in (select g.k from e1 g where g.id < 9) and %s", alias, is);
		default:
			return is;
	}
}

/*
 * The value of a hazard, for other rows something else; a guard within it or not.  See shown() for
 * where values that are equal must look the same.
 */
static char *
value_of(const Hazard *hazard, const char *alias)
{
	char	   *is = S("(%s)", of(hazard->expression, alias));

	switch (rnd(0, 11))
	{
		case 0:
			return S("case when %s then %s end", guard(hazard, alias), is);
		case 1:
			return S("case when not (%s) then %s else %s end", of(hazard->guard, alias),
					 constant(hazard->kind), is);
		case 2:
			return S("coalesce(case when %s then %s end, %s)", harmless(alias),
					 constant(hazard->kind), is);
		case 3:
			return S("nullif(%s, %s)", is, constant(hazard->kind));
		case 4:
			return hazard->kind == 'b' ? is : S("greatest(%s, %s)", is, constant(hazard->kind));
		case 5:
			return S("case %s.k when 1 then %s when 2 then %s else %s end", alias, is,
					 constant(hazard->kind), is);
		case 6:
			if (hazard->kind == 'i' || hazard->kind == 'n')
				return S("(%s + case when %s then %s else 0 end)", is, guard(hazard, alias), is);
			return is;
		default:
			return is;
	}
}

/* The same in one form: of 0.0 and 0.00 any may be the one that is shown of a group. */
static char *
shown(const Hazard *hazard, const char *alias)
{
	char	   *value = value_of(hazard, alias);

	return hazard->kind == 'n' ? S("round(%s, 3)", value) : value;
}

/* A condition that may fail. */
static char *
risky(const Hazard *hazard, const char *alias)
{
	char	   *value = value_of(hazard, alias);
	const char *op = pick(comparisons);

	if (hazard->kind == 'b' && chance(60))
		return S("(%s)", value);
	switch (rnd(0, 12))
	{
		case 0:
			return S("(%s) is not null", value);
		case 1:
			return S("(%s) in (%s, %s)", value, constant(hazard->kind), constant(hazard->kind));
		case 2:
			return S("(%s) between %s and %s", value, constant(hazard->kind),
					 constant(hazard->kind));
		case 3:
			return S("not ((%s) %s %s)", value, op, constant(hazard->kind));
		case 4:
			return S("coalesce((%s) %s %s, true)", value, op, constant(hazard->kind));
		case 5:
			return S("((%s) %s %s) is not true", value, op, constant(hazard->kind));
		case 6:
			return S("(%s) is distinct from %s", value, constant(hazard->kind));
		case 7:
			return S("case when (%s) %s %s then %s else true end", value, op,
					 constant(hazard->kind), harmless(alias));
		case 8:
			return S("(%s) %s (%s)", value, op, value_of(random_hazard(hazard->kind), alias));
		default:
			return S("(%s) %s %s", value, op, constant(hazard->kind));
	}
}

/* Hazards and guards, joined by AND or OR, in any order. */
static char *
filter(const char *alias)
{
	char	   *parts[6];
	char	   *result = NULL;
	int			nparts = 0;

	for (int i = chance(70) ? 1 : 2; i > 0; i--)
	{
		const Hazard *hazard = random_hazard('\0');

		parts[nparts++] = risky(hazard, alias);
		if (chance(85))
			parts[nparts++] = guard(hazard, alias);
	}
	if (chance(30))
		parts[nparts++] = harmless(alias);
	if (chance(10))
		return S("case when %s then %s else %s end", parts[nparts - 1], parts[0],
				 chance(50) ? "false" : harmless(alias));
	while (nparts > 0)
	{
		int			at = rnd(0, nparts - 1);

		if (result == NULL)
			result = parts[at];
		else if (chance(8))
			result = S("(not (%s) or (%s))", result, parts[at]);
		else
			result = S("%s %s %s", result, chance(94) ? "and" : "or", parts[at]);
		parts[at] = parts[--nparts];
	}
	return S("(%s)", result);
}

/* A filter that excludes what a hazard of another place fails for, or may itself fail. */
static char *
where(const Hazard *hazard, const char *alias)
{
	char	   *is = guard(hazard, alias);

	if (chance(30))
		return chance(50) ? S("%s and %s", is, filter(alias)) : S("%s and %s", filter(alias), is);
	return chance(15) ? filter(alias) : chance(50) ? is : S("%s and %s", is, harmless(alias));
}

/* ---- tables ---------------------------------------------------------------------------------- */

#define NTABLES 3

static int	nrows[NTABLES];

/* Which rows have values that fail; last: rows from here on stay in the row tree. */
static char *
bad_rows(int last)
{
	switch (rnd(0, 8))
	{
		case 0:
			return "false";
		case 1:
			return S("g %% 499 = %d", rnd(0, 498));
		case 2:
			return "g % 5 = 0";
		case 3:
			return S("g > %d", last);
		case 4:
			return S("g between %d and %d", last / 2, last / 2 + rnd(0, 1500));
		case 5:
			return "g % 7 = 0";
		case 6:
			return S("g = %d", rnd(1, last + 5));
		default:
			return S("g %% 31 = %d", rnd(0, 30));
	}
}

static char *
mixed(int last, const char *bad, const char *good)
{
	return S("case when %s then %s else %s end", bad_rows(last), bad, good);
}

/* SELECT of a table's rows from the first to the last of these. */
static char *
rows_of(int last)
{
	return S("select g, g %% 7, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s",
			 mixed(last, "0", chance(50) ? "g % 50 + 1" : "g % 12 + 1"),
			 mixed(last, "9223372036854775000", "g % 900"),
			 mixed(last, "32760", "g % 400"),
			 mixed(last, "(array[0, -1, 'NaN', 100000, null]::numeric[])[g % 5 + 1]",
				   "(g % 30) * 0.5 + 1"),
			 mixed(last, "(array[0, -1, 'NaN', 1e300, null]::float8[])[g % 5 + 1]",
				   "(g % 40) * 0.25 + 0.5"),
			 mixed(last, "(array['x', '', '1 2', '99999999999', '2020-02-30', null])[g % 6 + 1]",
				   chance(50) ? "(g % 30)::text" : "g::text"),
			 mixed(last, "(array['1\\', '(', 'x', '%'])[g % 4 + 1]",
				   chance(40) ? "'1'" : chance(50) ? "'month'" : "'utc'"),
			 mixed(last, "(array['infinity', '5874890-01-01', null]::date[])[g % 3 + 1]",
				   "date '2020-01-01' + g % 400"),
			 mixed(last, "(array['-infinity', '294276-12-30', null]::timestamp[])[g % 3 + 1]",
				   "timestamp '2020-01-01' + g % 400 * interval '5 hours'"),
			 mixed(last, "(array['{\"a\": \"x\"}', '[1, 2]', '{\"a\": true}', '3']::jsonb[])"
				   "[g % 4 + 1]", "jsonb_build_object('a', g % 20)"),
			 mixed(last, "array[0, 0]", "array[g % 9 + 1, 2, 3, 4, 5, 6]"),
			 chance(50) ? "g / 1000" : "g % 6");
}

static void
create_table(int i)
{
	int			last = i == 1 ? rnd(5, 60) : chance(25) ? rnd(50, 1500) : rnd(2000, 5000);
	char	   *rows = rows_of(last);
	int			more = rnd(0, 40);

	both(0, CMP_TAG,
		 S("create table e%d (id int, k int, a int, i8 int8, s int2, n numeric, b float8, t text,"
		   " p text, d date, ts timestamp, j jsonb, ar int[], v int)%s", i,
		   i == 2 ? " partition by range (id)" : ""));
	if (i == 2)
		both(0, CMP_TAG,
			 S("create table e2a partition of e2 for values from (minvalue) to (%d);"
			   " create table e2b partition of e2 for values from (%d) to (maxvalue)",
			   last / 2, last / 2));
	both(0, CMP_TAG, S("insert into e%d %s from generate_series(1, %d) g", i, rows, last));
	if (chance(80))
		both(0, CMP_TAG, S("vacuum (freeze) e%d", i));
	if (chance(80))
		both(0, CMP_TAG, S("analyze e%d", i));
	if (chance(80))
		both(0, CMP_TAG, S("insert into e%d %s from generate_series(%d, %d) g", i, rows, last + 1,
						   last + more));
	nrows[i] = last + more;
}

static void
create_indexes(void)
{
	static const char *const keys[] = {
		"id", "k", "a", "t", "n", "k, a", "v, id", "(case when a <> 0 then 10 / a end)"
	};

	for (int i = rnd(0, 6); i > 0; i--)
	{
		const Hazard *hazard = random_hazard('\0');
		char	   *table = S("e%d", rnd(0, NTABLES - 1));
		const char *key = chance(85) ? pick(keys) :
			S("(%s)", of(random_hazard('i')->expression, table));

		/* many of these fail, alike on both sides, and not all are immutable */
		both(0, CMP_TAG,
			 S("create index on %s (%s)%s", table, key,
			   chance(50) ? "" : chance(50) ? S(" where %s", of(hazard->guard, table)) :
			   " where a <> 0"));
	}
}

static const char *const world =
"create domain d_positive as int check (value > 0);"
"create function boom(x int) returns int language plpgsql immutable cost 1 as $$ begin"
" if x = 0 then raise exception 'boom'; end if; return x; end $$;"
"create view e_barrier with (security_barrier) as select * from e0 where a <> 0 and n > 0;"
"create view e_guarded as select *, 10 / a as q from e0 where a <> 0";

static void
create_error_world(void)
{
	parameter = "3";
	for (int i = 0; i < NTABLES && !round_failed; i++)
		create_table(i);
	both(0, CMP_TAG, world);
	create_indexes();
}

static const char *
random_source(void)
{
	static const char *const sources[] = {
		"e0", "e0", "e0", "e0", "e2", "e1", "e_barrier", "e_guarded",
		"(select * from e0 where a > 0)", "(select * from e0 where t <> 'x' offset 0)",
		"(select * from e0 union all select * from e1)"
	};

	return pick(sources);
}

/* ---- statements ------------------------------------------------------------------------------ */

/* An aggregate of a value that may fail, which does not depend on the order of rows. */
static char *
aggregate(const Hazard *hazard, const char *alias)
{
	char	   *value = shown(hazard, alias);
	char	   *tail = chance(40) ? S(" filter (where %s)", guard(hazard, alias)) :
		chance(10) ? S(" filter (where %s)", filter(alias)) : "";

	switch (hazard->kind)
	{
		case 'i':
		case 'n':
			return S("%s(%s%s)%s", chance(40) ? "sum" : chance(30) ? "avg" : chance(50) ? "min" :
					 "max", chance(10) ? "distinct " : "", value, tail);
		case 'b':
			return S("%s(%s)%s", chance(50) ? "bool_or" : "bool_and", value, tail);
		default:
			return S("%s%s)%s", chance(30) ? "count(" : chance(20) ? "count(distinct " :
					 chance(50) ? "min(" : "max(", value, tail);
	}
}

/* A condition on groups. */
static char *
having(void)
{
	static const char *const conditions[] = {
		"10 / min(t.a) > 0", "min(t.a) <> 0", "min(t.a) > 0", "sqrt(min(t.n)) >= 0",
		"min(t.n) > 0", "max(t.t)::int > 1", "max(t.t) ~ '^[0-9]+$'", "count(*) > 3",
		"10 / (count(*) - 3) >= 0", "count(*) <> 3", "sum(t.k) / (max(t.k) - min(t.k)) >= 0",
		"max(t.k) > min(t.k)", "max(t.id) > 100", "exp(max(t.b)) > 0", "max(t.b) < 100"
	};
	const char *a = pick(conditions);

	return chance(25) ? S("%s", a) : S("%s and %s", a, pick(conditions));
}

static char *
group_query(void)
{
	const Hazard *hazard = random_hazard('\0');
	const char *from = random_source();
	const char *key = chance(40) ? "t.k" : chance(30) ? "t.t" : chance(30) ? "t.v" :
		shown(hazard, "t");
	char	   *tail = S("%s%s", chance(50) ? S(" having %s", having()) : "",
						 chance(25) ? S(" order by count(*) desc, 1 limit %d", rnd(1, 9)) : "");

	return S("select %s, count(*), %s from %s t where %s group by 1%s", key,
			 aggregate(chance(50) ? hazard : random_hazard('\0'), "t"), from,
			 where(hazard, "t"), tail);
}

static char *
join_query(void)
{
	static const char *const kinds[] = {"join", "join", "left join", "full join"};
	static const char *const keys[] = {"y.id = x.k", "y.id = x.a", "y.k = x.v", "y.id = x.id"};
	const Hazard *hazard = random_hazard('\0');
	const char *kind = pick(kinds);
	const char *key = pick(keys);
	char	   *on = S("%s%s", key, strcmp(kind, "full join") == 0 ? "" : chance(50) ?
					   S(" and %s", where(hazard, chance(50) ? "y" : "x")) :
					   S(" and x.id / nullif(y.a, %d) > 0 and y.a <> 0", chance(50) ? 0 : 3));
	char	   *filter_text = chance(60) ? where(hazard, chance(50) ? "x" : "y") :
		chance(50) ? "x.k / y.a >= 0 and y.a > 0" : harmless("x");
	char	   *from = S("%s x %s e1 y on %s where %s", random_source(), kind, on, filter_text);

	switch (rnd(0, 3))
	{
		case 0:
			return S("select x.id, y.id, %s from %s", value_of(hazard, chance(50) ? "x" : "y"),
					 from);
		case 1:
			return S("select y.k, count(*), %s from %s group by 1",
					 aggregate(hazard, chance(50) ? "x" : "y"), from);
		default:
			return S("select count(*), %s from %s", aggregate(hazard, chance(50) ? "x" : "y"),
					 from);
	}
}

static char *
subquery_query(void)
{
	const Hazard *hazard = random_hazard('\0');
	const char *from = random_source();
	char	   *value = value_of(hazard, "t");

	switch (rnd(0, 8))
	{
		case 8:
			return S("select count(*), min(t.q), max(q) from e_guarded t where t.q > %d and %s",
					 rnd(-1, 8), filter("t"));
		case 0:
			return S("select count(*), max(q.h) from (select %s as h, t.* from %s t where %s%s) q"
					 " where q.h is not null and %s", hazard->kind == 'b' ? "1" : value, from,
					 where(hazard, "t"), chance(50) ? " offset 0" : "", harmless("q"));
		case 1:
			return S("select y.id, (select count(*) from %s t where t.v = y.k and %s) from e1 y"
					 " where y.id < 12", from, where(hazard, "t"));
		case 2:
			return S("select y.id, (select %s from %s t where t.id = y.id and %s) from e1 y"
					 " where y.id < 12", value, from, guard(hazard, "t"));
		case 3:
			return S("select count(*) from e1 y where %sexists (select from %s t where t.k = y.k"
					 " and %s)", chance(50) ? "not " : "", from, filter("t"));
		case 4:
			return S("select count(*) from %s t where t.id in (select y.id from e1 y where %s)"
					 " and %s", from, filter("y"), harmless("t"));
		case 5:
			return S("with m as %s(select t.*, %s as h from %s t where %s) select count(*),"
					 " count(h) from m where %s", chance(50) ? "materialized " : "", value, from,
					 guard(hazard, "t"), harmless("m"));
		case 6:
			return S("select count(*) from %s t where %s and t.k = (select max(y.k) from e1 y"
					 " where %s)", from, filter("t"), filter("y"));
		default:
			return S("select g, l.* from generate_series(1, 3) g, lateral (select count(*), %s"
					 " from %s t where t.k <> g and %s) l", aggregate(hazard, "t"), from,
					 where(hazard, "t"));
	}
}

/* Rows in an order; *compare: how much of them is the same whatever the plan. */
static char *
ordered_query(Compare *compare)
{
	const Hazard *hazard = random_hazard('\0');
	const char *from = chance(70) ? "e0" : random_source();
	const char *ties = strcmp(from, "e0") == 0 ? "" : ", t";

	*compare = CMP_ORDER;
	switch (rnd(0, 6))
	{
		case 0:
			return S("select t.id from %s t where %s order by %s, t.id%s limit %d", from,
					 where(hazard, "t"), value_of(hazard, "t"), ties, rnd(1, 50));
		case 1:
			return S("select t.id, %s from %s t where %s order by t.id%s limit %d",
					 value_of(hazard, "t"), from, where(hazard, "t"), ties, rnd(1, 50));
		case 2:
			return S("select t.id from %s t where %s order by t.t%s, t.id%s limit %d", from,
					 filter("t"), chance(50) ? " desc" : "", ties, rnd(1, 50));
		case 3:
			return S("select t.id, t.k from %s t where %s order by t.k, t.id%s", from,
					 filter("t"), ties);
		case 4:
			return S("select t.id, row_number() over (order by t.id%s), %s from %s t where %s"
					 " order by t.id%s%s", ties, value_of(hazard, "t"), from,
					 where(hazard, "t"), ties, chance(50) ? " limit 5" : "");
		case 5:
			*compare = CMP_ROWS;
			return S("select distinct t.k, %s from %s t where %s", shown(hazard, "t"), from,
					 where(hazard, "t"));
		default:
			/* what rows these are is a matter of the order of the table */
			*compare = CMP_TAG;
			return S("select t.id, %s from %s t where %s limit %d", value_of(hazard, "t"), "e0",
					 where(hazard, "t"), rnd(1, 50));
	}
}

static char *
error_query(Compare *compare)
{
	const Hazard *hazard = random_hazard('\0');
	const char *from = random_source();

	*compare = CMP_ROWS;
	switch (rnd(0, 19))
	{
		case 0:
		case 1:
		case 2:
			return S("select count(*) from %s t where %s", from, filter("t"));
		case 3:
		case 4:
			return S("select t.id, t.t from %s t where %s", from, filter("t"));
		case 5:
		case 6:
			return S("select t.id, %s from %s t where %s", value_of(hazard, "t"), from,
					 where(hazard, "t"));
		case 7:
		case 8:
		case 9:
			return S("select %s, %s, count(*) from %s t where %s", aggregate(hazard, "t"),
					 aggregate(chance(50) ? hazard : random_hazard('\0'), "t"), from,
					 where(hazard, "t"));
		case 10:
		case 11:
		case 12:
			return group_query();
		case 13:
		case 14:
			return join_query();
		case 15:
		case 16:
			return subquery_query();
		default:
			return ordered_query(compare);
	}
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool parallel;

/* Groups, joins and several processes have orders of their own. */
static bool
in_table_order(const char *query)
{
	return !parallel && strstr(query, "group by") == NULL && strstr(query, " join ") == NULL &&
		strstr(query, "distinct") == NULL && strstr(query, "order by") == NULL;
}

/* The same on both sides: plans that differ are no use here. */
static void
error_settings(void)
{
	static const char *const settings[] = {
		"zedstore.debug_vector = off", "zedstore.debug_vector = force",
		"zedstore.debug_vector = force", "zedstore.debug_vector = verify",
		"zedstore.debug_vector = rows", "zedstore.debug_vector_groups = 0",
		"zedstore.debug_vector_groups = 3", "zedstore.enable_vector_scan = off",
		"zedstore.enable_vector_agg = off", "zedstore.enable_topn = off",
		"zedstore.enable_zone_maps = off", "zedstore.enable_partial_vectors = off",
		"zedstore.enable_vector_totals = off", "zedstore.enable_early_groups = off",
		"zedstore.enable_known_strings = off", "zedstore.enable_join_filters = off",
		"zedstore.enable_ordered_scan = off", "zedstore.enable_adaptive_join = off",
		"zedstore.debug_switch_after = 0", "zedstore.debug_switch_after = 1",
		"zedstore.debug_switch_after = 5", "zedstore.enable_result_cache = off",
		"zedstore.enable_vector_scan = on", "zedstore.enable_vector_agg = on",
		"zedstore.enable_topn = on", "zedstore.enable_zone_maps = on",
		"zedstore.enable_partial_vectors = on", "zedstore.enable_vector_totals = on",
		"zedstore.enable_early_groups = on", "zedstore.enable_known_strings = on",
		"zedstore.enable_join_filters = on", "zedstore.enable_ordered_scan = on",
		"zedstore.enable_adaptive_join = on", "zedstore.enable_result_cache = on",
		"enable_hashagg = off", "enable_hashagg = on", "enable_sort = off", "enable_sort = on",
		"enable_memoize = off", "enable_memoize = on", "enable_material = off",
		"enable_material = on", "work_mem = '64kB'", "work_mem = '4MB'"
	};

	for (int i = rnd(1, 4); i > 0; i--)
		both(0, CMP_TAG, S("set %s", pick(settings)));
	/* one way of joins and of finding rows, most of the time */
	both(0, CMP_TAG,
		 S("set enable_hashjoin = %s; set enable_nestloop = %s; set enable_mergejoin = %s",
		   chance(50) ? "on" : "off", chance(40) ? "on" : "off", chance(20) ? "on" : "off"));
	both(0, CMP_TAG,
		 chance(60) ?
		 "set enable_seqscan = on; set enable_indexscan = off; set enable_bitmapscan = off" :
		 S("set enable_seqscan = off; set enable_indexscan = %s; set enable_bitmapscan = %s",
		   chance(70) ? "on" : "off", chance(50) ? "on" : "off"));
	parallel = chance(20);
	both(0, CMP_TAG, S("set max_parallel_workers_per_gather = %d", parallel ? 2 : 0));
}

static void
prepared_step(void)
{
	Compare		compare;
	char	   *query;

	both(0, CMP_TAG, S("set plan_cache_mode = %s", chance(60) ? "force_generic_plan" : "auto"));
	parameter = "$1";
	query = error_query(&compare);
	parameter = "3";
	if (strstr(query, "$1") == NULL)
		query = S("select * from (%s) q where $1 <> 1", query);
	if (!both(0, CMP_TAG, S("prepare ep (int) as %s", query)))
		return;
	for (int i = rnd(1, 4); i > 0 && !round_failed; i--)
	{
		char	   *run = S("execute ep (%s)", chance(8) ? "null" : S("%d", rnd(0, 9)));

		both_alike(0, compare, run, run, in_table_order(query));
	}
	both(0, CMP_TAG, "deallocate ep");
}

static void
cursor_step(void)
{
	Compare		compare;
	char	   *query;

	do
		query = error_query(&compare);
	while (strstr(query, "group by") != NULL || strstr(query, "distinct") != NULL);
	both(0, CMP_TAG, "begin");
	if (both_alike(0, CMP_TAG, S("declare ec cursor for %s", query), query, false))
	{
		for (int i = rnd(1, 4); i > 0 && status_of(0) == PQTRANS_INTRANS && !round_failed; i--)
			both_alike(0, CMP_TAG, S("fetch %d from ec", rnd(1, 1500)), query,
					   in_table_order(query));
	}
	both(0, CMP_TAG, "rollback");
}

/* Changes, which do not stay. */
static void
change_step(void)
{
	const Hazard *hazard = random_hazard('i');
	char	   *change;

	switch (rnd(0, 3))
	{
		case 0:
			change = S("delete from e0 t where %s", filter("t"));
			break;
		case 1:
			change = S("update e0 t set i8 = %s where %s", value_of(hazard, "t"),
					   where(hazard, "t"));
			break;
		case 2:
			change = S("insert into e1 (id, i8) select t.id, %s from e0 t where %s",
					   value_of(hazard, "t"), where(hazard, "t"));
			break;
		default:
			change = S("update e0 t set k = y.k from e1 y where y.id = t.a and %s",
					   where(hazard, chance(50) ? "y" : "t"));
			break;
	}
	both(0, CMP_TAG, "begin");
	both_alike(0, CMP_TAG, change, change, in_table_order(change));
	both(0, CMP_TAG, "rollback");
}

static void
error_step(void)
{
	Compare		compare;
	char	   *query;

	parameter = S("%d", rnd(0, 9));
	if (chance(25))
		error_settings();
	if (chance(6))
		prepared_step();
	else if (chance(4))
		cursor_step();
	else if (chance(4))
		change_step();
	else
	{
		query = error_query(&compare);
		both_alike(0, compare, query, query, in_table_order(query));
	}
}

/* A round of its own: tables, then statements. */
void
errors_round(uint64_t seed)
{
	rng_seed(seed);
	twins_reset();
	/* with no cost at all, workers would be started for each row of a loop */
	both(0, CMP_TAG, "set statement_timeout = '100s'; set parallel_setup_cost = 1;"
		 "set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;"
		 "set min_parallel_index_scan_size = 0; set synchronize_seqscans = off;"
		 "set zedstore.min_segment_rows = 100; set zedstore.enable_robust_joins = off");
	create_error_world();
	error_settings();
	for (int i = 1; i <= options.steps && !round_failed; i++)
	{
		forget_strings();
		log_line("# step %d", i);
		error_step();
	}
	forget_strings();
}
