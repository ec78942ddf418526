/*
 * analytic.c
 *		Expressions, filters, aggregates and groups, as plans by batches take them.
 *
 * An expression has one of a few classes (Class).  A safe one cannot raise an error: filters are
 * made of those, since it depends on the plan which rows a clause is evaluated for.  What is
 * aggregated may raise one: every row that passes the filter is looked at by any plan, unless there
 * is a LIMIT.
 *
 * Sums of floats depend on the order of rows, so they are exact here (halves of small numbers), but
 * for those that query_modes() compares within zedstore, where the order is the same.
 */
#include "difftest.h"

typedef enum Class
{
	INT,
	NUM,
	TXT,
	DAY,
	STAMP,
	BOOL,
	FLOAT
} Class;

static char *expression(Table *table, const char *alias, Class class, int depth, bool safe);

/* A random column of one of the types, or NULL. */
static Column *
column_of(Table *table, const char *const *names, int nnames)
{
	int			start = rnd(0, table->ncolumns - 1);

	for (int i = 0; i < table->ncolumns; i++)
	{
		Column	   *column = &table->columns[(start + i) % table->ncolumns];

		for (int k = 0; column->type != NULL && k < nnames; k++)
		{
			if (strcmp(column->type->name, names[k]) == 0)
				return column;
		}
	}
	return NULL;
}

static const char *const int_types[] = {"smallint", "integer", "bigint", "d_small"};
static const char *const num_types[] = {"numeric", "numeric(12,3)"};
static const char *const txt_types[] = {"text", "character varying(40)", "character(8)", "d_word"};
static const char *const stamp_types[] =
	{"timestamp without time zone", "timestamp with time zone"};
static const char *const float_types[] = {"real", "double precision"};

#define a_column(table, types) column_of(table, types, (int) lengthof(types))

static const char *const comparisons[] = {"=", "<>", "<", "<=", ">", ">="};

/* ---- expressions ---- */

static char *
int_leaf(Table *table, const char *alias, bool safe)
{
	Column	   *column = a_column(table, int_types);

	if (chance(15))
		return S("%d", rnd(-10, 300));
	if (column == NULL || chance(20))
		return S("%s.id", alias);
	/* large values overflow */
	return S(safe ? "(%s.%s %% %d)" : "%s.%s", alias, column->name, rnd(2, 10007));
}

static char *
int_expression(Table *table, const char *alias, int depth, bool safe)
{
	char	   *a;
	char	   *b;

	if (depth <= 0)
		return int_leaf(table, alias, safe);
	a = expression(table, alias, INT, depth - 1, safe);
	b = expression(table, alias, INT, depth - 1, safe);
	switch (rnd(0, 12))
	{
		case 0:
			return S("(%s::int8 + %s)", a, b);
		case 1:
			return S("(%s::int8 - %s)", a, b);
		case 2:
			return safe ? S("(%s::int8 * %d)", a, rnd(-3, 9)) : S("(%s * %s)", a, b);
		case 3:
			return S("(%s / %d)", a, rnd(1, 60));
		case 4:
			return S("(%s %% %d)", a, rnd(1, 60));
		case 5:
			return safe ? S("(%s / nullif(%s, 0))", a, b) : S("(%s / (%s %% 1000))", a, b);
		case 6:
			return S("coalesce(%s, %s)", a, b);
		case 7:
			return S("nullif(%s, %s)", a, b);
		case 8:
			return S("abs(%s)", a);
		case 9:
			return S("length(%s)", expression(table, alias, TXT, depth - 1, safe));
		case 10:
			return S("(%s)::int", expression(table, alias, BOOL, depth - 1, safe));
		case 11:
			if (!safe)
				return S("(%s)::%s",
						 chance(50) ? a : expression(table, alias, NUM, depth - 1, safe),
						 chance(30) ? "int2" : chance(50) ? "int4" : "int8");
			return S("(- %s)", a);
		default:
			return S("case when %s then %s%s end", expression(table, alias, BOOL, depth - 1, safe),
					 a,
					 chance(70) ? S(" else %s", b) : "");
	}
}

static char *
num_expression(Table *table, const char *alias, int depth, bool safe)
{
	Column	   *column = a_column(table, num_types);
	char	   *a;
	char	   *b;

	if (depth <= 0)
	{
		static const char *const constants[] =
			{"0", "1.0", "1.50", "-0.001", "100", "12.345678", "0.00", "99999999999.99"};

		if (chance(20))
			return S("%s::numeric", pick(constants));
		if (column == NULL || chance(15))
			return S("(%s)::numeric", int_leaf(table, alias, safe));
		return S("%s.%s", alias, column->name);
	}
	a = expression(table, alias, NUM, depth - 1, safe);
	b = expression(table, alias, NUM, depth - 1, safe);
	switch (rnd(0, 12))
	{
		case 0:
			{
				static const char *const divisors[] =
					{"2", "-4", "100", "0.5", "0.0001", "12.50", "1e10", "1.000", "3", "0.7"};

				return S("(%s / %s::numeric)", a, pick(divisors));
			}
		case 1:
			return S("(%s + %s)", a, b);
		case 2:
			return S("(%s - %s)", a, b);
		case 3:
			return S("(%s * %s)", a, b);
		case 4:
			return S("(%s * (1 - %s))", a, b);
		case 5:
			return S("round(%s, %d)", a, rnd(-2, 6));
		case 6:
			return S("coalesce(%s, %s)", a, b);
		case 7:
			return S("abs(%s)", a);
		case 8:
			return S("(%s)::numeric", expression(table, alias, INT, depth - 1, safe));
		case 9:
			{
				static const char *const fields[] =
					{"year", "month", "day", "dow", "quarter", "hour", "doy", "week"};
				bool		day = chance(50);

				return S("extract(%s from %s)", day ? fields[rnd(0, 4)] : pick(fields),
						 expression(table, alias, day ? DAY : STAMP, depth - 1, safe));
			}
		case 10:
			return S("nullif(%s, %s)", a, b);
		default:
			return S("case when %s then %s%s end", expression(table, alias, BOOL, depth - 1, safe),
					 a,
					 chance(70) ? S(" else %s", b) : "");
	}
}

static char *
txt_constant(void)
{
	return literal(type_by_name("text"), false);
}

static char *
txt_expression(Table *table, const char *alias, int depth, bool safe)
{
	Column	   *column = a_column(table, txt_types);
	char	   *a;

	if (depth <= 0)
	{
		if (column == NULL || chance(10))
			return chance(50) ? txt_constant() : S("(%s)::text", int_leaf(table, alias, safe));
		return S(strcmp(column->type->name, "text") == 0 ? "%s.%s" : "%s.%s::text", alias,
				 column->name);
	}
	a = expression(table, alias, TXT, depth - 1, safe);
	switch (rnd(0, 8))
	{
		case 0:
			return S("upper(%s)", a);
		case 1:
			return S("lower(%s)", a);
		case 2:
			return S("substr(%s, %d, %d)", a, rnd(-2, 6), rnd(0, 12));
		case 3:
			return S("left(%s, %d)", a, rnd(-3, 12));
		case 4:
			return S("right(%s, %d)", a, rnd(-3, 12));
		case 5:
			return S("coalesce(%s, %s)", a, txt_constant());
		case 6:
			return S("(left(%s, 20) || %s)", a, txt_constant());
		case 7:
			return S("nullif(%s, %s)", a, txt_constant());
		default:
			return S("case when %s then %s else %s end",
					 expression(table, alias, BOOL, depth - 1, safe), a, txt_constant());
	}
}

static char *
day_expression(Table *table, const char *alias, int depth, bool safe)
{
	static const char *const day_types[] = {"date"};
	Column	   *column = a_column(table, day_types);

	if (depth <= 0)
	{
		if (column == NULL || chance(10))
			return S("('2001-02-03'::date + %s)", chance(50) ? "17" : S("(%s.id %% 1000)", alias));
		return S("%s.%s", alias, column->name);
	}
	switch (rnd(0, 3))
	{
		case 0:
			return S("(%s + %d)", expression(table, alias, DAY, depth - 1, safe), rnd(-40, 400));
		case 1:
			return S("(%s)::date", expression(table, alias, STAMP, depth - 1, safe));
		case 2:
			return S("coalesce(%s, '2000-02-29'::date)",
					 expression(table, alias, DAY, depth - 1, safe));
		default:
			return S("case when %s then %s end", expression(table, alias, BOOL, depth - 1, safe),
					 expression(table, alias, DAY, depth - 1, safe));
	}
}

static char *
stamp_expression(Table *table, const char *alias, int depth, bool safe)
{
	static const char *const units[] =
		{"minute", "hour", "day", "week", "month", "quarter", "year"};
	Column	   *column = a_column(table, stamp_types);
	char	   *a;

	if (depth <= 0)
	{
		if (column == NULL || chance(10))
			return S("('2020-02-03 04:05:06'::timestamp + (%s.id %% 1000) * '1 hour'::interval)",
					 alias);
		return S("%s.%s::timestamp", alias, column->name);
	}
	a = expression(table, alias, STAMP, depth - 1, safe);
	switch (rnd(0, 3))
	{
		case 0:
			return S("date_trunc('%s', %s)", pick(units), a);
		case 1:
			return S("(%s + '%d days %d hours'::interval)", a, rnd(-3, 40), rnd(-30, 30));
		case 2:
			return S("(%s)::timestamp", expression(table, alias, DAY, depth - 1, safe));
		default:
			return S("coalesce(%s, '2020-01-01'::timestamp)", a);
	}
}

static char *
float_expression(Table *table, const char *alias, int depth, bool safe)
{
	return S("((%s %% 1001)::float8 * 0.5)", expression(table, alias, INT, depth - 1, safe));
}

static char *
like(const char *a)
{
	static const char *const patterns[] =
		{"a%", "%b%", "k1%", "_", "%", "key 1%", "x%x", "%1", "", "k_2%", "%e%c%", "A%", "ab\\%%",
		 "%\xc3\xa4"};
	static const char *const prefixes[] = {"a", "k1", "", "http://www.example.org/1", "key "};

	if (chance(15))
		return S("starts_with(%s, '%s')", a, pick(prefixes));
	return S("%s %s%slike '%s'", a, chance(25) ? "not " : "", chance(25) ? "i" : "",
			 pick(patterns));
}

/* Collations, one of them with equal strings that are not the same. */
static const char *
some_collation(void)
{
	static const char *const collations[] =
		{" collate \"C\"", " collate \"en-x-icu\"", " collate nocase"};

	return chance(75) ? "" : pick(collations);
}

static char *
bool_expression(Table *table, const char *alias, int depth, bool safe)
{
	static const char *const bool_types[] = {"boolean"};
	Class		class = (Class) rnd(INT, FLOAT);
	Column	   *column;
	char	   *a;
	char	   *b;

	if (depth > 0 && chance(45))
	{
		a = expression(table, alias, BOOL, depth - 1, safe);
		b = expression(table, alias, BOOL, depth - 1, safe);
		switch (rnd(0, 7))
		{
			case 0:
			case 1:
				return S("(%s and %s)", a, b);
			case 2:
			case 3:
				return S("(%s or %s)", a, b);
			case 4:
				return S("(not %s)", a);
			case 5:
				return S("coalesce(%s, %s)", a, chance(50) ? "true" : b);
			case 6:
				{
					static const char *const tests[] =
						{"true", "not true", "false", "not false", "unknown", "not unknown"};

					return S("((%s) is %s)", a, pick(tests));
				}
			default:
				return S("case when %s then %s%s end", a, b, chance(50) ? " else false" : "");
		}
	}
	if (class == BOOL)
	{
		column = a_column(table, bool_types);
		return column == NULL ? S("(%s.id %% 3 = 1)", alias) : S("%s.%s", alias, column->name);
	}
	if (class == FLOAT)
	{
		static const char *const constants[] =
			{"'NaN'", "0", "'-0'", "1.5", "0.1", "'Infinity'", "0.1::real", "100"};

		column = a_column(table, float_types);
		if (column != NULL)
			return chance(15) ? S("(%s.%s is null)", alias, column->name)
				: S("(%s.%s %s %s)", alias, column->name, pick(comparisons), pick(constants));
		class = INT;
	}
	a = expression(table, alias, class, depth - 1, safe);
	switch (rnd(0, 9))
	{
		case 0:
			return S("(%s is %snull)", a, chance(50) ? "not " : "");
		case 1:
			return S("(%s is %sdistinct from %s)", a, chance(50) ? "not " : "",
					 expression(table, alias, class, 0, safe));
		case 2:
			return S("(%s between %s and %s)", a, expression(table, alias, class, 0, safe),
					 expression(table, alias, class, 0, safe));
		case 3:
			if (class == INT)
				return S("(%s %sin (%d, %d, %s, %d))", a, chance(30) ? "not " : "", rnd(-5, 20),
						 rnd(-5, 20),
						 chance(30) ? "null" : "7", rnd(0, 300));
			if (class == TXT)
				return S("(%s %sin (%s, %s, %s))", a, chance(30) ? "not " : "", txt_constant(),
						 chance(30) ? "null" : txt_constant(), txt_constant());
			break;
		case 4:
		case 5:
			if (class == TXT)
				return S("(%s)", like(a));
			break;
		case 6:
			if (class == TXT)
				return S("(%s%s %s %s)", a, some_collation(), pick(comparisons), txt_constant());
			if (class == NUM)
				return S("(%s %s %s)", a, pick(comparisons), int_leaf(table, alias, safe));
			if (class == DAY)
				return S("(%s %s timestamp '2001-03-04 05:06')", a, pick(comparisons));
			break;
		default:
			break;
	}
	if (class == TXT)
		b = chance(70) ? txt_constant() : expression(table, alias, TXT, 0, safe);
	else if (class == DAY && chance(60))
		b = S("date '200%d-%02d-15'", rnd(0, 9), rnd(1, 12));
	else if (class == STAMP && chance(60))
		b = S("timestamp '2020-%02d-15 12:00'", rnd(1, 12));
	else
		b = expression(table, alias, class, 0, safe);
	return S("(%s %s %s)", a, pick(comparisons), b);
}

/* Branches of a CASE that compares values of the class with constants. */
static char *
whens(Table *table, const char *alias, Class class)
{
	char	   *result = "";

	for (int i = rnd(1, chance(10) ? 40 : 4); i > 0; i--)
	{
		char	   *then = expression(table, alias, class, 0, true);

		switch (class)
		{
			case INT:
				result = S("%s when %d then %s", result, rnd(-5, 40), then);
				break;
			case NUM:
				result = S("%s when %d.%d then %s", result, rnd(-5, 40), rnd(0, 50), then);
				break;
			case TXT:
				result = S("%s when %s then %s", result, txt_constant(), then);
				break;
			default:
				result = S("%s when %s then %s", result, chance(50) ? "true" : "false", then);
				break;
		}
	}
	return result;
}

/*
 * An expression within many others of its class, each of which compares it, and gives it or
 * something else.
 */
static char *
nested_expression(Table *table, const char *alias, Class class, int depth, bool safe)
{
	char	   *a = expression(table, alias, class, depth > 1 ? 1 : depth - 1, safe);

	for (int i = rnd(2, chance(20) ? 40 : 8); i > 0; i--)
	{
		char	   *b = expression(table, alias, class, 0, true);

		switch (rnd(0, 4))
		{
			case 0:
				a = S("nullif(%s, %s)", a, b);
				break;
			case 1:
				a = S("coalesce(nullif(%s, %s), %s)", a, b,
					  expression(table, alias, class, 0, true));
				break;
			case 2:
				a = class != BOOL ? S("nullif(%s, %s)", b, a) :
					S("(%s is %sdistinct from %s)", a, chance(50) ? "not " : "", b);
				break;
			default:
				a = S("case %s%s%s end", class == TXT && chance(50) ? S("upper(%s)", a) : a,
					  whens(table, alias, class), chance(50) ? S(" else %s", b) : "");
				break;
		}
	}
	return a;
}

static char *
expression(Table *table, const char *alias, Class class, int depth, bool safe)
{
	if (depth < 0)
		depth = 0;
	if (depth > 0 && chance(6) && (class == INT || class == NUM || class == TXT || class == BOOL))
		return nested_expression(table, alias, class, depth, safe);
	/* shallow ones more often */
	if (chance(30))
		depth = depth / 2;
	switch (class)
	{
		case INT:
			return int_expression(table, alias, depth, safe);
		case NUM:
			return num_expression(table, alias, depth, safe);
		case TXT:
			return txt_expression(table, alias, depth, safe);
		case DAY:
			return day_expression(table, alias, depth, safe);
		case STAMP:
			return stamp_expression(table, alias, depth, safe);
		case FLOAT:
			return float_expression(table, alias, depth, safe);
		case BOOL:
			return bool_expression(table, alias, depth, safe);
	}
	return NULL;
}

/* A condition of columns and expressions that cannot raise an error. */
char *
analytic_condition(Table *table, const char *alias)
{
	return expression(table, alias, BOOL, rnd(0, 3), true);
}

/* ---- nesting ---- */

/*
 * Levels of an expression each of which has the one within it as its first argument.  A compiler
 * that makes a program of an argument for each mention of it needs as many as the number of
 * mentions to the power of this.
 */
#define MAX_NESTING 12

static char *
nested_int(Table *table, const char *alias)
{
	char	   *e = expression(table, alias, INT, 1, true);

	for (int i = rnd(2, MAX_NESTING); i > 0; i--)
	{
		switch (rnd(0, 6))
		{
			case 0:
			case 1:
				e = S("nullif(%s, %d)", e, rnd(-5, 20));
				break;
			case 2:
				e = S("case %s when %d then %d when %d then %s%s end", e, rnd(0, 9), rnd(0, 9),
					  rnd(0, 9), int_leaf(table, alias, true),
					  chance(70) ? S(" else %s", int_leaf(table, alias, true)) : "");
				break;
			case 3:
				e = S("coalesce(nullif(%s, %d), %s)", e, rnd(0, 9), int_leaf(table, alias, true));
				break;
			case 4:
				e = S("(%s is %sdistinct from %d)::int", e, chance(50) ? "not " : "", rnd(0, 9));
				break;
			case 5:
				e = S("case nullif(%s, %d) when %s then %d else %d end", e, rnd(0, 9),
					  int_leaf(table, alias, true), rnd(0, 9), rnd(0, 9));
				break;
			default:
				e = S("abs(%s %% %d)", e, rnd(2, 30));
				break;
		}
	}
	return e;
}

static char *
nested_txt(Table *table, const char *alias)
{
	char	   *e = expression(table, alias, TXT, 0, true);

	for (int i = rnd(2, MAX_NESTING); i > 0; i--)
	{
		switch (rnd(0, 4))
		{
			case 0:
			case 1:
				e = S("nullif(%s, %s)", e, txt_constant());
				break;
			case 2:
				e = S("case %s when %s then %s when 'a' then %s else %s end", e, txt_constant(),
					  txt_constant(), expression(table, alias, TXT, 0, true), txt_constant());
				break;
			case 3:
				e = S("coalesce(nullif(%s, %s), %s)", e, txt_constant(), txt_constant());
				break;
			default:
				e = S("%s(%s)", chance(50) ? "upper" : "lower", e);
				break;
		}
	}
	return e;
}

static char *
nested_bool(Table *table, const char *alias)
{
	char	   *e = expression(table, alias, BOOL, 0, true);

	for (int i = rnd(2, MAX_NESTING); i > 0; i--)
	{
		switch (rnd(0, 4))
		{
			case 0:
			case 1:
				e = S("(%s is %sdistinct from %s)", e, chance(50) ? "not " : "",
					  expression(table, alias, BOOL, 0, true));
				break;
			case 2:
				e = S("case %s when true then %s when false then %s end", e,
					  chance(50) ? "null" : "false", expression(table, alias, BOOL, 0, true));
				break;
			case 3:
				e = S("coalesce(nullif(%s, %s), %s)", e, chance(50) ? "true" : "false",
					  expression(table, alias, BOOL, 0, true));
				break;
			default:
				e = S("((%s) is %s)", e, chance(50) ? "not true" : "not unknown");
				break;
		}
	}
	return e;
}

/* Deep expressions as arguments, filters, keys and targets. */
static void
query_deep(int session, Table *table)
{
	char	   *number = nested_int(table, "t");
	char	   *word = nested_txt(table, "t");
	char	   *test = nested_bool(table, "t");

	switch (rnd(0, 3))
	{
		case 0:
			both(session, CMP_ROWS,
				 S("select sum(%s), count(%s), count(*) filter (where %s) from %s t", number, word,
				   test, table->name));
			break;
		case 1:
			both(session, CMP_ROWS, S("select t.id, %s from %s t where %s", number, table->name,
									  test));
			break;
		case 2:
			both(session, CMP_ROWS,
				 S("select %s, count(*), max(%s) from %s t where %s group by 1",
				   chance(50) ? S("(%s + 0 * t.id)", number) : S("left(%s, 80)", word), number,
				   table->name, chance(50) ? test : S("%s = %d", number, rnd(0, 9))));
			break;
		default:
			both(session, CMP_ROWS, S("select t.id, left(%s, 80) from %s t where %s > %s or %s",
									  word, table->name, word, txt_constant(), test));
			break;
	}
}

/* ---- aggregates and groups ---- */

static char *
where_clause(Table *table, const char *alias)
{
	return chance(70) ? S(" where %s", predicate(table, alias, 1)) : "";
}

/* An aggregate, shown so that equal values look the same. */
static char *
aggregate(Table *table, const char *alias, bool safe)
{
	static const char *const exact[] =
		{"sum", "avg", "var_pop", "var_samp", "stddev", "stddev_pop", "sum", "avg"};
	static const char *const distinct_ones[] = {"count", "sum", "avg"};
	static const char *const bits[] = {"bit_and", "bit_or", "bit_xor"};
	static const char *const bools[] = {"bool_and", "bool_or", "every"};
	const char *extreme = chance(50) ? "min" : "max";
	char	   *filter = chance(25) ?
		S(" filter (where %s)", expression(table, alias, BOOL, 2, safe)) : "";
	Column	   *column;

	switch (rnd(0, 15))
	{
		case 0:
		case 1:
			return S("count(*)%s", filter);
		case 2:
			column = random_column(table, 0);
			if (column != NULL && chance(50))
				return S("count(%s.%s)%s", alias, column->name, filter);
			return S("count(%s)%s", expression(table, alias, (Class) rnd(INT, FLOAT), 1, safe),
					 filter);
		case 3:
			return S("%s(distinct %s)%s", pick(distinct_ones),
					 expression(table, alias, INT, 1, safe), filter);
		case 4:
			column = random_column(table, T_BTREE);
			if (column != NULL && chance(50))
				return S("count(distinct %s.%s)%s", alias, column->name, filter);
			return S("count(distinct %s%s)%s", expression(table, alias, TXT, 1, safe),
					 some_collation(), filter);
		case 5:
		case 6:
			return S("%s(%s)%s", pick(exact), expression(table, alias, INT, 2, safe), filter);
		case 7:
		case 8:
			return S("%s(%s)%s", pick(exact), expression(table, alias, NUM, 2, safe), filter);
		case 9:
			return S("%s(%s)%s", extreme, expression(table, alias, INT, 2, safe), filter);
		case 10:
			return S("trim_scale(%s(%s)%s)", extreme, expression(table, alias, NUM, 1, safe),
					 filter);
		case 11:
			column = random_column(table, T_MINMAX);
			if (column != NULL && chance(60))
				return S("%s(%s.%s)%s", extreme, alias, column->name, filter);
			return S("left(lower(%s(%s%s)%s collate \"C\"), 60)", extreme,
					 expression(table, alias, TXT, 1, safe), some_collation(), filter);
		case 12:
			return S("%s(%s)%s", extreme,
					 expression(table, alias, chance(50) ? DAY : STAMP, 2, safe), filter);
		case 13:
			return S("%s(%s)%s", pick(bools), expression(table, alias, BOOL, 2, safe), filter);
		case 14:
			return S("%s(%s)%s", pick(bits), expression(table, alias, INT, 1, safe), filter);
		default:
			return S("%s(%s)%s", chance(50) ? "sum" : "avg",
					 expression(table, alias, FLOAT, 1, safe), filter);
	}
}

static char *
aggregates(Table *table, const char *alias, bool safe)
{
	char	   *list = aggregate(table, alias, safe);

	for (int i = rnd(0, 4); i > 0; i--)
		list = S("%s, %s", list, aggregate(table, alias, safe));
	return list;
}

typedef struct Keys
{
	char	   *group;			/* of GROUP BY */
	char	   *show;			/* the same groups, equal values look the same */
	char	   *order;			/* of ORDER BY, without ties */
	bool		hashed;			/* core can group them without sorting the rows */
} Keys;

/*
 * A key of groups: the expression, and one that is the same to the eye where it is equal.  Returns
 * whether core can group it without sorting.
 */
static bool
make_key(Table *table, const char *alias, bool safe, char **key, char **show)
{
	Column	   *column = random_column(table, T_BTREE);
	Class		class;

	if (column != NULL && (column->type->flags & (T_INEXACT | T_OWN)) == 0 && chance(40))
	{
		*key = *show = S("%s.%s", alias, column->name);
		return (column->type->flags & T_HASH) != 0;
	}
	class = (Class) rnd(INT, FLOAT);
	*key = expression(table, alias, class, rnd(0, 2), safe);
	/* a constant would be the number of a column, or no group */
	if (class == INT || class == NUM || class == FLOAT)
		*key = S("(%s + 0 * %s.id)", *key, alias);
	*show = *key;
	if (class == NUM)
		*show = S("trim_scale(%s)", *key);
	else if (class == TXT)
		*show = S("left(%s, 80)", *key);
	return true;
}

static void
make_keys(Table *table, const char *alias, bool safe, Keys *keys)
{
	keys->group = keys->show = keys->order = "";
	keys->hashed = true;
	for (int i = rnd(1, 3); i > 0; i--)
	{
		const char *comma = keys->group[0] != '\0' ? ", " : "";
		char	   *key;
		char	   *show;

		keys->hashed = make_key(table, alias, safe, &key, &show) && keys->hashed;
		keys->group = S("%s%s%s", keys->group, comma, key);
		keys->show = S("%s%s%s", keys->show, comma, show);
		keys->order = S("%s%s%s%s%s", keys->order, comma, key, chance(30) ? " desc" : "",
						chance(20) ? " nulls first" : "");
	}
}

static char *
having_clause(Table *table)
{
	switch (rnd(0, 8))
	{
		case 0:
			return S(" having count(*) > %d", rnd(0, 5));
		case 1:
			return S(" having sum(t.id) %% 2 = 0");
		case 2:
			return S(" having %s is not null", aggregate(table, "t", true));
		default:
			return "";
	}
}

/* One table, or what gives its rows by another plan, with the alias t. */
static char *
source(Table *table)
{
	switch (rnd(0, 9))
	{
		case 0:
			return S("(select * from %s offset 0) t", table->name);
		case 1:
			return S("%s t join (select g as v, 'n' || g as n from generate_series(0, 4) g) s on s.v = t.id %% 6", table->name);
		case 2:
			{
				Table	   *other = random_table();

				return S("%s t %sjoin (select id as i, count(*) as c from %s group by 1) s on s.i = t.id", table->name,
						 chance(50) ? "left " : "", other->name);
			}
		case 3:
			return S("(select * from %s union all select * from %s where id %% 3 = 0) t",
					 table->name, table->name);
		default:
			return S("%s t", table->name);
	}
}

/* Some of the first n columns, by their numbers; maybe none. */
static char *
some_numbers(int n)
{
	char	   *list = "";

	for (int i = 1; i <= n; i++)
	{
		if (chance(50))
			list = S("%s%s%d", list, list[0] != '\0' ? ", " : "", i);
	}
	return list;
}

/*
 * Grouping sets: keys that have one value in all rows, that stand there twice, that are in some of
 * the sets only.
 */
static void
query_sets(int session, Table *table)
{
	bool		safe = chance(80);
	int			n = rnd(1, 4);
	char	   *from = source(table);
	char	   *where = S(" where (%s)", chance(70) ? predicate(table, "t", 1) : "true");
	char	   *show = "";
	char	   *numbers = "";
	char	   *last = NULL;
	char	   *sets;

	for (int i = 1; i <= n; i++)
	{
		char	   *key = last;
		char	   *unused;

		if (chance(30))
		{
			int			values = rnd(2, 9);

			key = S("(t.id %% %d)", values);
			if (chance(30))
				where = S("%s and %s = %d", where, key, rnd(0, values - 1));
		}
		else if (key == NULL || chance(80))
			(void) make_key(table, "t", true, &unused, &key);
		show = S("%s%s, ", show, key);
		numbers = S("%s%s%d", numbers, i > 1 ? ", " : "", i);
		last = key;
	}
	switch (rnd(0, 3))
	{
		case 0:
			sets = S("rollup (%s)", numbers);
			break;
		case 1:
			sets = S("cube (%s)", numbers);
			break;
		case 2:
			sets = S("grouping sets ((%s), (%s), (%s), (%s))", numbers, some_numbers(n),
					 some_numbers(n), some_numbers(n));
			break;
		default:
			sets = S("distinct rollup (%s), cube (%d)", numbers, rnd(1, n));
	}
	both(session, CMP_ROWS, S("select %sgrouping(%s), %s from %s%s group by %s%s", show, last,
							  aggregates(table, "t", safe), from, where, sets,
							  having_clause(table)));
}

static void
query_grouped(int session, Table *table)
{
	bool		safe = chance(80);
	char	   *where = where_clause(table, "t");
	char	   *from = source(table);
	Keys		keys;

	make_keys(table, "t", true, &keys);
	switch (rnd(0, 7))
	{
		case 0:
			both(session, CMP_ROWS,
				 S("select %s from %s%s", aggregates(table, "t", safe), from, where));
			break;
		case 1:
			both(session, CMP_ROWS, S("select distinct %s from %s%s", keys.show, from, where));
			break;
		case 2:
			both(session, CMP_ORDER,
				 S("select %s, count(*), %s from %s%s group by %s order by 1, %s limit %d",
				   aggregate(table, "t", true), keys.show,
									   from, where, keys.group, keys.order, rnd(1, 30)));
			break;
		case 3:
			both(session, CMP_ORDER, S("select %s, %s from %s%s group by %s%s order by count(*) desc, %s limit %d offset %d", keys.show, aggregates(table, "t", true),
									   from, where, keys.group, having_clause(table), keys.order, rnd(1, 30), rnd(0, 3)));
			break;
		case 4:
			query_sets(session, table);
			break;
		default:
			both(session, CMP_ROWS,
				 S("select %s, %s from %s%s group by %s%s", keys.show, aggregates(table, "t", safe),
				   from, where, keys.group,
									  having_clause(table)));
			break;
	}
}

/* Aggregates below and above other things. */
static void
query_nested(int session, Table *table)
{
	char	   *where = where_clause(table, "t");
	Table	   *other = random_table();
	Keys		keys;

	make_keys(table, "t", true, &keys);
	switch (rnd(0, 7))
	{
		case 0:
			both(session, CMP_ROWS, S("select %s, sum(count(*)) over (order by %s rows unbounded preceding), rank() over (order by count(*)) from %s t%s group by %s",
									  keys.show, keys.order, table->name, where, keys.group));
			break;
		case 1:
			both(session, CMP_ROWS, S("select count(*), sum(n), max(n) from (select count(*) as n from %s t%s group by %s) s", table->name, where, keys.group));
			break;
		case 2:
			/* a plan that is started again with other parameters */
			both(session, CMP_ROWS, S("select g, s.* from generate_series(-1, %d) g cross join lateral (select %s from %s t where t.id %% 4 = g and %s) s",
									  rnd(1, 4), aggregates(table, "t", true), table->name, analytic_condition(table, "t")));
			break;
		case 3:
			both(session, CMP_ROWS, S("select g, s.* from generate_series(-1, 3) g left join lateral (select %s, count(*) from %s t where t.id %% 4 = g group by %s) s on true",
									  keys.show, table->name, keys.group));
			break;
		case 4:
			both(session, CMP_ROWS, S("select t.id, (select %s from %s o where o.id between t.id - 3 and t.id + 3 and %s) from %s t where t.id between %d and %d",
									  aggregate(other, "o", true), other->name, analytic_condition(other, "o"), table->name, some_id(), some_id()));
			break;
		case 5:
			both(session, CMP_ROWS, S("select %s, count(*) from %s t where t.id <= (select max(o.id) - %d from %s o where %s) and %s group by %s", keys.show, table->name,
									  rnd(0, 40), other->name, analytic_condition(other, "o"), analytic_condition(table, "t"), keys.group));
			break;
		case 6:
			both(session, CMP_ROWS, S("select %s, count(*) from %s t%s group by %s having count(*) >= (select min(o.id) %% 3 from %s o where %s)", keys.show, table->name, where,
									  keys.group, other->name, analytic_condition(other, "o")));
			break;
		default:
			both(session, CMP_ROWS, S("with w as materialized (select %s, count(*) as n from %s t%s group by %s) select count(*), sum(n) from w a", keys.show, table->name, where,
									  keys.group));
			break;
	}
}

/* Plans that live longer than their parameters, some of which are NULL. */
static void
query_prepared(int session, Table *table)
{
	Column	   *column = a_column(table, txt_types);
	Column	   *number = a_column(table, int_types);
	char	   *word = column != NULL ? S("t.%s::text", column->name) : "t.id::text";
	char	   *value = number != NULL ? S("t.%s", number->name) : "t.id";
	char	   *name = S("p%d", session);
	Keys		keys;

	make_keys(table, "t", true, &keys);
	if (!both(session, CMP_TAG,
			  S("set plan_cache_mode = %s", chance(60) ? "force_generic_plan" : "auto")))
		return;
	switch (rnd(0, 3))
	{
		case 0:
			(void) both(session, CMP_TAG, S("prepare %s (int, text, numeric) as select %s from %s t where (t.id > $1 or %s = $2) and %s <> coalesce($3, 0)", name,
											aggregates(table, "t",
													   true), table->name, word, value));
			break;
		case 1:
			(void) both(session, CMP_TAG, S("prepare %s (int, text, numeric) as select %s, count(*), sum(%s %% $1) from %s t where %s like $2 or %s < $3 group by %s", name,
											keys.show, value, table->name, word, value, keys.group));
			break;
		case 2:
			(void) both(session, CMP_TAG, S("prepare %s (int, text, numeric) as select t.id, $3 + 1 from %s t where (%s between $1 and $1 + 100 or %s is null) and coalesce(%s, 'x') >= $2 and %s", name,
											table->name, value, value, word, analytic_condition(table, "t")));
			break;
		default:
			(void) both(session, CMP_TAG, S("prepare %s (int, text, numeric) as select count(*) filter (where %s > $1), max(%s) filter (where %s <> $2), sum($3) from %s t", name, value,
											value, word, table->name));
			break;
	}
	for (int i = rnd(2, 6); i > 0 && !round_failed && status_of(session) != PQTRANS_INERROR; i--)
		(void) both(session, CMP_ROWS,
					S("execute %s (%s, %s, %s)", name,
					  chance(10) ? "null" : chance(50) ? S("%d", rnd(1, 30)) : S("%d", some_id()),
										 chance(10) ? "null" : chance(30) ? "'a%'" :
											 txt_constant(), chance(20) ? "null" :
											 S("%d.%d", rnd(-5, 500), rnd(0, 99))));
	if (status_of(session) != PQTRANS_INERROR)
	{
		(void) both(session, CMP_TAG, S("deallocate %s", name));
		(void) both(session, CMP_TAG, "reset plan_cache_mode");
	}
	else
	{
		/* neither belongs to the transaction */
		(void) both(session, CMP_TAG, "rollback");
		(void) both(session, CMP_TAG, S("deallocate %s", name));
		model_is_stale = true;
	}
}

/* Sums that depend on the order of rows: zedstore's modes among each other. */
static void
query_modes(int session, Table *table)
{
	Column	   *column = a_column(table, float_types);
	char	   *value = column != NULL ? S("t.%s", column->name) : "(t.id::float8 / 7)";
	char	   *query;
	Keys		keys;

	make_keys(table, "t", true, &keys);
	if (!keys.hashed || chance(30))
		query = S("select sum(%s), avg(%s), var_samp(%s), min(%s), any_value(%s) is null, sum(%s::float8 * 0.1) from %s t%s", value, value, value, value, value, value, table->name,
				  where_clause(table, "t"));
	else
		query = S("select %s, sum(%s), avg(%s), stddev(%s), max(%s), any_value(t.id) between min(t.id) and max(t.id) from %s t%s group by %s", keys.show, value, value, value, value, table->name,
				  where_clause(table, "t"), keys.group);
	compare_modes(session, query);
}

void
step_analytic(int session)
{
	Table	   *table = random_table();

	if (table == NULL)
		return;
	switch (rnd(0, 9))
	{
		case 0:
		case 1:
			query_nested(session, table);
			break;
		case 2:
			query_prepared(session, table);
			break;
		case 3:
			query_modes(session, table);
			break;
		case 5:
			query_deep(session, table);
			break;
		case 4:
			both(session, CMP_ROWS,
				 S("select t.id, %s, left(%s, 80), %s from %s t where %s",
				   expression(table, "t", INT, 2, false),
									  expression(table, "t", TXT, 2, true), expression(table, "t", BOOL, 2, true), table->name,
									  analytic_condition(table, "t")));
			break;
		default:
			query_grouped(session, table);
			break;
	}
}

/*
 * A cursor over the first rows by some order, in all directions.  One that is not told whether it
 * may go back can if the plan can, which core's incremental sort cannot.
 */
static void
top_cursor(int session, Table *table, const char *const *moves, int nmoves)
{
	static const char *const options[] = {"scroll ", "no scroll "};
	Column	   *column = a_column(table, int_types);
	bool		told = column != NULL && (chance(70) || table->kind != 'r');

	if (!told && table->kind != 'r')
		return;
	if (!both(session, CMP_TAG,
			  S("declare ca %scursor for select t.id, %s from %s t%s order by %st.id%s limit %d%s",
				told ? pick(options) : "",
				chance(50) ? expression(table, "t", INT, 1, true) : "t.*", table->name,
				chance(50) ? where_clause(table, "t") : "",
				told ? S("t.%s, ", column->name) : "", chance(50) ? "" : " desc",
				rnd(1, chance(20) ? 900 : 12), chance(20) ? S(" offset %d", rnd(0, 9)) : "")))
		return;
	for (int i = rnd(2, 9); i > 0; i--)
	{
		if (!both(session, CMP_ORDER, moves[rnd(0, nmoves - 1)]))
			return;
	}
	both(session, CMP_TAG, "close ca");
}

/*
 * A cursor over groups, one over the first rows by an order, and one that goes through all rows
 * forth and back.
 */
void
step_analytic_cursor(int session, Table *table)
{
	static const char *const moves[] = {
		"fetch 7 from ca", "fetch backward 3 from ca", "fetch first from ca", "fetch last from ca", "move 20 in ca",
		"fetch relative -2 from ca", "fetch absolute 11 from ca", "fetch prior from ca"
	};
	Keys		keys;

	if (table->unique_id && chance(40))
	{
		top_cursor(session, table, moves, (int) lengthof(moves));
		return;
	}
	make_keys(table, "t", true, &keys);
	if (chance(50))
	{
		if (!both(session, CMP_TAG, S("declare ca scroll cursor for select %s, %s from %s t%s group by %s order by %s", keys.show,
									  aggregates(table, "t", true), table->name, where_clause(table, "t"), keys.group, keys.order)))
			return;
		for (int i = rnd(1, 8); i > 0; i--)
		{
			if (!both(session, CMP_ORDER, pick(moves)))
				return;
		}
	}
	else
	{
		/* no order: all rows, and how many a step brings, are the same */
		if (!both(session, CMP_TAG,
				  S("declare ca scroll cursor for select t.* from %s t where %s", table->name,
					analytic_condition(table, "t"))) ||
			!both(session, CMP_TAG, S("move %d in ca", rnd(0, 2000))) ||
			!both(session, CMP_TAG, S("move backward %d in ca", rnd(0, 2000))) ||
			!both(session, CMP_TAG, S("move forward %d in ca", rnd(0, 300))) ||
			!both(session, CMP_TAG, "move backward all in ca") ||
			!both(session, CMP_ROWS, "fetch all from ca") ||
			!both(session, CMP_ROWS, "fetch backward all from ca"))
			return;
	}
	both(session, CMP_TAG, "close ca");
}
