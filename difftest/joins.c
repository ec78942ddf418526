/*
 * joins.c
 *		Rounds of joins and correlated subqueries over tables made for these.
 *
 * The tables have the same columns, each of a type by which tables are joined; values come from a
 * few numbers, so that rows of different tables have partners, one, none, or many.  Statistics are
 * missing, old or right, and so are indexes, so that nodes which change their mind while they run
 * have reason to.  Settings change all the time, the same ones on both sides.
 *
 * No condition raises an error: which pairs of rows it is asked for is a matter of the plan.  A
 * subquery among the values that are shown may return more than one row.
 */
#include "difftest.h"

#define NJOIN_MIN 3
#define NJOIN_MAX 5

/* Columns; all but id come from a number x. */
typedef struct JoinColumn
{
	const char *name;
	const char *type;
	const char *value;			/* of x */
	int			family;			/* those of one family are comparable */
} JoinColumn;

static const JoinColumn join_columns[] = {
	{"i2", "int2", "x::int2", 1},
	{"i4", "int4", "x", 1},
	{"i8", "int8", "x::int8", 1},
	{"n", "numeric", "round(x::numeric, x % 3)", 1},
	{"f", "float8", "case x when 1 then 'NaN' when 0 then case when g % 2 = 0 then '-0' else '0'"
	" end else x::text end::float8", 1},
	{"da", "date", "date '2020-01-01' + x", 2},
	{"ts", "timestamp", "timestamp '2020-01-01' + x * interval '1 day'", 2},
	{"t", "text", "'k' || x", 3},
	{"ch", "char(8)", "'k' || x", 4},
	{"u", "uuid", "md5(x::text)::uuid", 5},
	{"w", "text", "repeat('k' || x, 900)", 3},
	{"ar", "int[]", "array[x, null]", 6}
};

#define NCOLUMNS ((int) lengthof(join_columns))

static int	njoin;

/* ---- tables ---------------------------------------------------------------------------------- */

/* Numbers of so many rows: each once, a few times, often, one of them half the time. */
static char *
random_number(int nrows)
{
	int			range = nrows > 60 ? nrows / rnd(1, nrows > 600 ? 3 : 6) : rnd(1, 40);

	switch (rnd(0, 7))
	{
		case 0:
			return S("g %% %d", range + 1);
		case 1:
			return S("case when g %% 16 < 3 then 7 else g %% %d end", range + 1);
		case 2:
			return S("10000 + g %% %d", range + 1);
		case 3:
			return "null::int";
		case 4:
			return S("nullif(g %% %d, g %% 10)", range + 1);
		default:
			return S("(g * 7919 + %d) %% %d", rnd(0, 100), range + 1);
	}
}

static void
fill(int i, const char *from, int nrows)
{
	Buf			columns = {0};

	for (int c = 0; c < NCOLUMNS; c++)
		buf_add(&columns, ", (select %s from (select %s as x) q)", join_columns[c].value,
				random_number(nrows));
	both(0, CMP_TAG, S("insert into j%d select g, g %% 9%s from %s", i, columns.data, from));
	buf_free(&columns);
}

static void
create_join_table(int i)
{
	static const int sizes[] = {0, 1, 7, 60, 60, 300, 300, 900};
	int			nrows = pick(sizes);
	Buf			columns = {0};

	for (int c = 0; c < NCOLUMNS; c++)
		buf_add(&columns, ", %s %s", join_columns[c].name, join_columns[c].type);
	both(0, CMP_TAG, S("create table j%d (id int%s, v int%s)%s", i,
					   chance(70) ? " primary key" : "", columns.data,
					   i == 1 && chance(50) ? " partition by range (id)" : ""));
	buf_free(&columns);
	if (i == 1)
	{
		/* an error where it is no partitioned one */
		both(0, CMP_TAG, "create table j1a partition of j1 for values from (minvalue) to (150)");
		both(0, CMP_TAG, "create table j1b partition of j1 for values from (150) to (maxvalue)");
	}
	if (chance(20))
		both(0, CMP_TAG, S("analyze j%d", i));
	fill(i, S("generate_series(1, %d) g", nrows), nrows);
	for (int c = 0; c < NCOLUMNS; c++)
	{
		if (chance(45) && strcmp(join_columns[c].name, "w") != 0)
			both(0, CMP_TAG, S("create index on j%d (%s%s)", i, join_columns[c].name,
							   chance(25) ? ", i4" : ""));
	}
	if (chance(60))
		both(0, CMP_TAG, S("vacuum (freeze) j%d", i));
	if (chance(50))
		both(0, CMP_TAG, S("delete from j%d where id %% 10 = %d", i, rnd(0, 9)));
	if (chance(50))
		fill(i, S("generate_series(%d, %d) g", nrows + 1, nrows + rnd(1, 30)), nrows);
	if (chance(60))
		both(0, CMP_TAG, S("analyze j%d", i));
}

/* ---- conditions ------------------------------------------------------------------------------ */

/* Two columns of a family, of one type more often than not. */
static char *
equality(const char *left, const char *right)
{
	const JoinColumn *a = &pick(join_columns);
	const JoinColumn *b = a;

	if (chance(40))
	{
		do
			b = &pick(join_columns);
		while (b->family != a->family);
	}
	if (chance(10))
		return S("%s.id = %s.%s", left, right, join_columns[rnd(0, 2)].name);
	if (chance(8))
		return S("%s.id = %s.id", left, right);
	if (chance(8) && a->family == 1)
		return S("%s.%s + 1 = %s.%s", left, a->name, right, b->name);
	return S("%s.%s = %s.%s", left, a->name, right, b->name);
}

static char *
filter(const char *alias)
{
	switch (rnd(0, 8))
	{
		case 0:
			return S("%s.v < %d", alias, rnd(0, 8));
		case 1:
			return S("%s.i4 between %d and %d", alias, rnd(0, 20), rnd(10, 60));
		case 2:
			return S("%s.t like 'k%d%%'", alias, rnd(1, 9));
		case 3:
			return S("coalesce(%s.i8, -1) <> %d", alias, rnd(0, 9));
		case 4:
			return S("%s.n is %snull", alias, chance(70) ? "not " : "");
		case 5:
			return S("%s.id %% %d <> 0", alias, rnd(2, 5));
		case 6:
			return S("%s.v in (%d, %d, 3)", alias, rnd(0, 8), rnd(0, 8));
		case 7:
			return S("upper(%s.ch) <> 'K%d'", alias, rnd(0, 9));
		default:
			return S("%s.id < %d", alias, rnd(10, 1000));
	}
}

static char *
residual(const char *left, const char *right)
{
	switch (rnd(0, 3))
	{
		case 0:
			return S("%s.v < %s.v", left, right);
		case 1:
			return S("%s.v + %s.v > %d", left, right, rnd(2, 12));
		case 2:
			return S("(%s.v <> %s.v or %s)", left, right, filter(right));
		default:
			return S("coalesce(%s.i4 <> %s.i4, true)", left, right);
	}
}

/* A condition that joins two of them: one to three equalities, and others. */
static char *
join_condition(const char *left, const char *right)
{
	char	   *condition = equality(left, right);

	while (chance(25))
		condition = S("%s and %s", condition, equality(left, right));
	if (chance(30))
		condition = S("%s and %s", condition, residual(left, right));
	if (chance(30))
		condition = S("%s and %s", condition, filter(right));
	return condition;
}

/* ---- FROM ------------------------------------------------------------------------------------ */

static char *
random_join_table(void)
{
	return S("j%d", rnd(0, njoin - 1));
}

/* The columns of a table, in different ways. */
static char *
random_source(void)
{
	char	   *table = random_join_table();

	switch (rnd(0, 11))
	{
		case 0:
			return S("(select id, v, i2, i4, i8, n, f, da, ts, t, ch, u, w, ar from %s s where %s"
					 " offset 0)", table, filter("s"));
		case 1:
			return S("(select id, coalesce(v, 1) as v, i2, coalesce(i4, 3) as i4, i8 + 0 as i8, n,"
					 " f, da, ts, t || '' as t, ch, u, w, ar from %s)", table);
		case 2:
			return S("(select distinct on (id) * from %s order by id, v)", table);
		case 3:
			return S("(select * from %s union all select * from %s where v < 4)", table,
					 random_join_table());
		case 4:
			return S("(select min(id) as id, max(v) as v, i2, min(i4) as i4, max(i8) as i8,"
					 " max(f) as f, sum(round(n)) as n, min(da) as da, max(ts) as ts, min(t) as t,"
					 " max(ch) as ch, min(u::text)::uuid as u, 'x' as w, min(ar) as ar from %s"
					 " group by i2)", table);
		default:
			return table;
	}
}

/* One to five tables with aliases a to e; *n: how many. */
static char *
random_from(int *n)
{
	static const char *const kinds[] = {"join", "join", "left join", "left join", "right join",
	"full join"};
	int			count = chance(60) ? rnd(2, 3) : rnd(1, 5);
	char	   *from = S("%s a", random_source());

	for (int i = 1; i < count; i++)
	{
		char		alias[2] = {(char) ('a' + i), '\0'};
		char		left[2] = {(char) ('a' + rnd(0, i - 1)), '\0'};
		const char *kind = kinds[chance(30) ? rnd(0, 5) : rnd(0, 3)];

		if (chance(6) && strstr(from, "full") == NULL && strstr(from, "right") == NULL)
			from = S("%s %s lateral (select * from %s l where %s order by l.id%s) %s on true", from,
					 chance(50) ? "left join" : "join", random_join_table(),
					 join_condition(left, "l"), chance(50) ? ", l limit 3" : "", alias);
		else
			from = S("%s %s %s %s on %s", from, kind, random_source(), alias,
					 join_condition(left, alias));
	}
	*n = count;
	return from;
}

/* ---- subqueries ------------------------------------------------------------------------------ */

static char *subquery_body(const char *outer, int depth);

/* A condition by a subquery whose rows depend on those of the alias. */
static char *
subquery_test(const char *outer, int depth)
{
	char	   *body = subquery_body(outer, depth);
	const JoinColumn *column = &join_columns[rnd(0, NCOLUMNS - 1)];
	int			i = depth;

	switch (rnd(0, 8))
	{
		case 0:
		case 1:
			return S("exists (select 1 from %s)", body);
		case 2:
		case 3:
			return S("not exists (select 1 from %s)", body);
		case 4:
			return S("%s.%s in (select s%d.%s from %s)", outer, column->name, i, column->name,
					 body);
		case 5:
			return S("%s.%s not in (select s%d.%s from %s)", outer, column->name, i, column->name,
					 body);
		case 6:
			return S("%s.id not in (select s.v from %s s)", outer, random_join_table());
		case 7:
			return S("%s.v >= (select count(*) from %s)", outer, body);
		default:
			return S("%s.v < all (select s%d.v from %s)", outer, i, body);
	}
}

/* FROM and WHERE; its first alias is s with the depth. */
static char *
subquery_body(const char *outer, int depth)
{
	char	   *alias = S("s%d", depth);
	char	   *body = S("%s %s", random_join_table(), alias);
	char	   *where = join_condition(outer, alias);

	if (chance(30))
		body = S("%s %s %s s%dx on %s", body, chance(60) ? "join" : "left join",
				 random_join_table(), depth, join_condition(alias, S("s%dx", depth)));
	if (depth > 0 && chance(25))
		where = S("%s and %s", where, subquery_test(chance(70) ? alias : outer, depth - 1));
	if (chance(20))
		where = S("%s and %s", where, residual(outer, alias));
	return S("%s where %s", body, where);
}

static char *
subquery_column(const char *outer)
{
	char	   *body = subquery_body(outer, 1);

	switch (rnd(0, 5))
	{
		case 0:
			return S("(select count(*) from %s)", body);
		case 1:
			return S("(select sum(s1.v) + max(%s.v) from %s)", outer, body);
		case 2:
			return S("array(select s1.id from %s order by 1 limit 20)", body);
		case 3:
			return S("(select s1 from %s order by s1.id, s1 limit 1)", body);
		case 4:
			return S("(with recursive r as (select s1.id as n from %s union select n + 1 from r"
					 " where n < %s.v) select sum(n) from r)", body, outer);
		default:
			return S("(select s1.id from %s)", body);	/* may raise an error */
	}
}

/* ---- statements ------------------------------------------------------------------------------ */

static char *
random_where(int n)
{
	char	   *where = chance(70) ? filter("a") : "true";

	if (chance(35))
		where = S("%s and %s", where, filter(S("%c", 'a' + rnd(0, n - 1))));
	if (chance(10))
		where = S("%s and %s", where, residual("a", S("%c", 'a' + rnd(0, n - 1))));
	if (chance(35))
		where = S("%s and %s", where, subquery_test(S("%c", 'a' + rnd(0, n - 1)), rnd(0, 1)));
	if (chance(8))
		where = S("%s and (%s or %s)", where, subquery_test("a", 0), filter("a"));
	return where;
}

/*
 * WITH that is referred to twice, by a part each time.  Conditions on the parts may raise errors,
 * those of the whole may not: which rows it looks at depends on the plan.
 */
static char *
random_parts(void)
{
	const char *x = join_columns[rnd(0, NCOLUMNS - 3)].name;
	const char *from = S("%s a join %s b on %s", random_join_table(), random_join_table(),
						 equality("a", "b"));
	const char *where = filter("a");

	switch (rnd(0, 3))
	{
		case 0:
			return S("with w as (select a.v as g, a.%s as x, count(*) as n, sum(a.id) as s from %s"
					 " where %s group by 1, 2) select p.g, p.n, q.s from w p %sjoin w q on"
					 " q.x = p.x where p.g = %d and q.g %s %d", x, from, where,
					 chance(30) ? "left " : "", rnd(0, 8), chance(50) ? "<" : "=", rnd(0, 8));
		case 1:
			return S("with w as (select a.v as g, 10 / nullif(a.v, 0) as x, count(*) as n from %s"
					 " where %s group by 1, 2 having count(*) <> 3 union all select id, v, %d from"
					 " %s c) select p.g, p.n, q.x from w p join w q using (x) where p.g = %d and"
					 " q.g in (%d, 3) and 10 / (p.n - 3) < 7", from, where, rnd(0, 9),
					 random_join_table(), rnd(0, 8), rnd(0, 8));
		case 2:
			return S("with w as (select a.id, a.v from %s where %s) select count(*), sum(o.id)"
					 " from %s o where o.id in (select id from w) and%s exists (select from w"
					 " where w.v = o.v and w.id < %d)", from, where, random_join_table(),
					 chance(30) ? " not" : "", rnd(1, 300));
		default:
			return S("with w as (select a.id, a.v, a.%s as x from %s where %s and a.v <> 0)"
					 " select count(*), sum(p.id) from w p join w q on q.x = p.x where p.v = %d"
					 " and q.v > 3 and 8 / q.v %s 1", x, from, where, rnd(1, 8),
					 chance(50) ? "=" : "<");
	}
}

/* A column by which rows are grouped: one whose equal values look the same. */
static char *
group_column(const char *alias)
{
	static const char *const names[] = {"v", "v", "i2", "i4", "i8", "n", "da", "ts", "t", "ch",
	"u"};

	if (chance(15))
		return S("%s.v %% 3", alias);
	if (chance(10))
		return S("extract(month from %s.da)", alias);
	return S("%s.%s", alias, pick(names));
}

/* An aggregate over columns of any side of the joins, which does not depend on their order. */
static char *
grouped_aggregate(const char *alias, const char *other)
{
	switch (rnd(0, 11))
	{
		case 0:
			return S("sum(%s.n)", alias);
		case 1:
			return S("min(%s.t), max(%s.t)", alias, other);
		case 2:
			return S("max(%s.ch)", alias);
		case 3:
			return S("avg(%s.i8)", alias);
		case 4:
			return S("count(%s.i4), count(distinct %s.i4)", alias, other);
		case 5:
			return S("sum(%s.v) filter (where %s)", alias, filter(other));
		case 6:
			return S("max(%s.da), min(%s.ts)", alias, other);
		case 7:
			return S("sum(%s.n * %s.v)", alias, other);
		case 8:
			return S("sum(case when %s then %s.i8 else %s.v end)", filter(alias), other, alias);
		case 9:
			return S("max(length(%s.w)), max(%s.w)", alias, other);
		case 10:
			return S("max(%s.f)", alias);
		default:
			return S("sum(%s.i4 + %s.i4)", alias, other);
	}
}

/* Groups above joins, by columns of any side. */
static char *
random_grouped_query(void)
{
	int			n;
	char	   *from = random_from(&n);
	char	   *where = random_where(n);
	char	   *keys = group_column(S("%c", 'a' + rnd(0, n - 1)));
	char	   *aggregates = "count(*)";
	int			nkeys = 1;
	char	   *query;

	for (int i = rnd(1, 4); i > 0; i--)
	{
		const char *alias = S("%c", 'a' + rnd(0, n - 1));

		aggregates = S("%s, %s", aggregates,
					   grouped_aggregate(alias, S("%c", 'a' + rnd(0, n - 1))));
	}
	if (chance(20))
		return S("select %s from %s where %s", aggregates, from, where);
	for (; chance(30); nkeys++)
		keys = S("%s, %s", keys, group_column(S("%c", 'a' + rnd(0, n - 1))));
	query = S("select %s, %s from %s where %s group by 1", keys, aggregates, from, where);
	for (int i = 2; i <= nkeys; i++)
		query = S("%s, %d", query, i);
	return chance(20) ? S("%s having count(*) > %d", query, rnd(1, 4)) : query;
}

static char *
random_join_query(bool *ordered)
{
	int			n;
	char	   *from = random_from(&n);
	char	   *where = random_where(n);
	char	   *last = S("%c", 'a' + n - 1);
	char	   *sum = "sum(a.id)";
	char	   *ids = "a.id as a_id";

	*ordered = false;
	for (int i = 1; i < n; i++)
	{
		sum = S("%s, sum(%c.id::int8 * %c.v)", sum, 'a' + i, 'a' + rnd(0, i));
		ids = S("%s, %c.id as %c_id, %c.%s as %c_x", ids, 'a' + i, 'a' + i, 'a' + i,
				join_columns[rnd(0, NCOLUMNS - 3)].name, 'a' + i);
	}
	switch (rnd(0, 14))
	{
		case 14:
			return random_parts();
		case 10:
		case 11:
		case 12:
		case 13:
			return random_grouped_query();
		case 0:
		case 1:
		case 2:
			return S("select count(*), %s from %s where %s", sum, from, where);
		case 3:
			return S("select %s.v, count(*), %s from %s where %s group by 1", last, sum, from,
					 where);
		case 4:
			*ordered = true;
			return S("select %s from %s where %s order by %s::text limit %d", "1", from, where,
					 last, rnd(1, 40));
		case 5:
			return S("select count(*), sum(q.l) from (select %s, length(%s::text) as l from %s"
					 " where %s) q", ids, last, from, where);
		case 6:
			return S("select a.id, %s from %s a where %s and a.id < 300", subquery_column("a"),
					 random_join_table(), filter("a"));
		case 7:
			return S("select g, l.* from generate_series(1, 4) g, lateral (select count(*), %s"
					 " from %s where %s and a.v %s g) l", sum, from, where,
					 chance(50) ? "<" : "<>");
		case 8:
			return S("select g, (select count(%s) from %s where %s and %s.v < g + 2 and g > %d)"
					 " from generate_series(1, 4) g", last, from, where, last, rnd(0, 2));
		default:
			return S("select count(*), md5(string_agg(q::text, '|' order by q::text)) from"
					 " (select %s from %s where %s and a.id < 400) q", ids, from, where);
	}
}

static void
join_settings(void)
{
	static const char *const settings[] = {
		"zedstore.debug_switch_after = 0", "zedstore.debug_switch_after = 1",
		"zedstore.debug_switch_after = 1", "zedstore.debug_switch_after = 3",
		"zedstore.debug_switch_after = 3", "zedstore.debug_switch_after = 1000",
		"zedstore.enable_result_cache = on", "zedstore.enable_result_cache = on",
		"zedstore.enable_result_cache = off", "zedstore.debug_vector = verify",
		"zedstore.enable_vector_join = on", "zedstore.enable_vector_join = on",
		"zedstore.enable_vector_join = off", "zedstore.debug_vector = rows",
		"zedstore.debug_vector = force", "zedstore.debug_vector = off",
		"zedstore.enable_robust_joins = on", "zedstore.enable_robust_joins = off",
		"zedstore.enable_inlined_ctes = on", "zedstore.enable_inlined_ctes = off",
		"zedstore.enable_zone_lookups = on", "zedstore.enable_zone_lookups = off",
		"work_mem = '64kB'", "work_mem = '64kB'", "work_mem = '4MB'", "enable_hashjoin = off",
		"enable_hashjoin = on", "enable_hashjoin = on", "enable_nestloop = off",
		"enable_nestloop = on", "enable_mergejoin = off", "enable_mergejoin = on",
		"enable_memoize = off", "enable_memoize = on", "enable_material = off",
		"enable_material = on", "enable_seqscan = off", "enable_seqscan = on",
		"enable_partitionwise_join = on", "enable_partitionwise_join = off", "geqo_threshold = 3",
		"geqo_threshold = 12", "join_collapse_limit = 1", "join_collapse_limit = 8",
		"random_page_cost = 0.1", "random_page_cost = 4", "enable_sort = off", "enable_sort = on",
		"max_parallel_workers_per_gather = 0", "max_parallel_workers_per_gather = 0",
		"max_parallel_workers_per_gather = 2", "plan_cache_mode = force_generic_plan",
		"plan_cache_mode = auto"
	};

	for (int i = rnd(1, 4); i > 0; i--)
		both(0, CMP_TAG, S("set %s", pick(settings)));
}

static void
join_cursor(const char *query)
{
	both(0, CMP_TAG, "begin");
	if (both(0, CMP_TAG, S("declare jc %scursor for select q::text from (%s) q order by 1",
						   chance(40) ? "scroll " : "", query)))
	{
		for (int i = rnd(1, 4); i > 0 && status_of(0) == PQTRANS_INTRANS; i--)
			both(0, CMP_ORDER, S("fetch %d from jc", rnd(1, 30)));
	}
	both(0, CMP_TAG, "rollback");
}

static void
join_step(void)
{
	bool		ordered;
	char	   *query;

	if (chance(30))
		join_settings();
	query = random_join_query(&ordered);
	if (chance(5))
		join_cursor(query);
	else if (chance(4))
	{
		if (both(0, CMP_TAG, S("prepare jp (int) as select * from (%s) q where $1 > 0", query)))
		{
			for (int i = 0; i < 3 && !round_failed; i++)
				both(0, CMP_ROWS, S("execute jp (%d)", i));
			both(0, CMP_TAG, "deallocate jp");
		}
	}
	else
		both(0, ordered ? CMP_ORDER : CMP_ROWS, query);
}

/* A round of its own: tables, then queries. */
void
joins_round(uint64_t seed)
{
	rng_seed(seed);
	twins_reset();
	/* with no cost at all, workers would be started for each row of a loop */
	both(0, CMP_TAG, "set statement_timeout = '100s'; set parallel_setup_cost = 1;"
		 "set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;"
		 "set min_parallel_index_scan_size = 0");
	njoin = rnd(NJOIN_MIN, NJOIN_MAX);
	for (int i = 0; i < njoin && !round_failed; i++)
		create_join_table(i);
	for (int i = 1; i <= options.steps && !round_failed; i++)
	{
		forget_strings();
		log_line("# step %d", i);
		join_step();
	}
	forget_strings();
}
