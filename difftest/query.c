/*
 * query.c
 *		Random queries whose answer does not depend on the plan.
 */
#include "difftest.h"

static const char *const comparisons[] = {"=", "<>", "<", "<=", ">", ">="};

/* A value that the column may well have. */
static char *
value_for(Table *table, Column *column)
{
	if (chance(25))
		return S("(select %s from %s order by id, %s offset %d limit 1)", column->name, table->name,
				 column->name,
				 rnd(0, chance(50) ? 10 : 2000));
	return literal(column->type, chance(5));
}

/* Subselects only where they stand for one value and sorting by the column is possible. */
static char *
constant_for(Column *column)
{
	return literal(column->type, false);
}

static char *
condition(Table *table, const char *alias)
{
	Column	   *column = random_column(table, 0);
	char	   *name;
	int			flags;

	if (column == NULL || chance(20))
	{
		switch (rnd(0, 5))
		{
			case 0:
				return S("%s.id = %d", alias, some_id());
			case 1:
				{
					int			lo = some_id();

					return S("%s.id between %d and %d", alias, lo, lo + rnd(0, 500));
				}
			case 2:
				return S("%s.id %% %d = %d", alias, rnd(2, 50), rnd(0, 1));
			case 3:
				return S("%s.id in (%d, %d, %d)", alias, some_id(), some_id(), some_id());
			case 4:
				return S("%s.id > %d", alias, some_id());
			default:
				return S("%s.id < %d", alias, some_id());
		}
	}
	name = S("%s.%s", alias, column->name);
	flags = column->type->flags;

	if (chance(10))
		return S("%s is %snull", name, chance(50) ? "not " : "");
	if ((flags & T_TEXT) && chance(40))
	{
		static const char *const patterns[] =
			{"a%", "%b%", "k1%", "_", "%", "key 1%", "x%x", "%1", "",
			 "http://www.example.org/1_/%"};

		switch (rnd(0, 4))
		{
			case 0:
				return S("length(%s::text) %s %d", name, pick(comparisons), rnd(0, 60));
			case 1:
				return S("lower(%s::text) = 'a'", name);
			case 2:
				return S("%s::text ~ '^[a-k]'", name);
			case 3:
				return S("%s::text ilike '%s'", name, pick(patterns));
			default:
				return S("%s %slike '%s'", name, chance(20) ? "not " : "", pick(patterns));
		}
	}
	if ((flags & T_JSONB) && chance(60))
	{
		switch (rnd(0, 2))
		{
			case 0:
				return S("%s @> '{\"a\": %d}'", name, rnd(0, 20));
			case 1:
				return S("%s ? '%s'", name, chance(50) ? "a" : "c");
			default:
				return S("%s->>'a' = '%d'", name, rnd(0, 20));
		}
	}
	if ((flags & (T_ARRAY | T_RANGE)) && chance(60))
	{
		static const char *const ops[] = {"@>", "<@", "&&"};

		return S("%s %s %s", name, pick(ops), constant_for(column));
	}
	if ((flags & T_TSVECTOR) && chance(80))
		return S("%s @@ 'fox | w%d'::tsquery", name, rnd(0, 300));
	if ((flags & T_INET) && chance(50))
		return S("%s << '10.%d.0.0/16'", name, rnd(0, 2));
	if (flags & T_POINT)
		return S("%s <@ box(point(%d, %d), point(0, 0))", name, rnd(-50, 50), rnd(-50, 50));
	if (!(flags & T_BTREE))
		return S("%s::text = (%s)::text", name, constant_for(column));
	switch (rnd(0, 9))
	{
		case 0:
			return S("%s between %s and %s", name, constant_for(column), constant_for(column));
		case 1:
			return S("%s in (%s, %s, %s)", name, constant_for(column), constant_for(column),
					 constant_for(column));
		case 2:
			return S("%s is %sdistinct from %s", name, chance(50) ? "not " : "",
					 constant_for(column));
		case 3:
			{
				Column	   *other = random_column(table, 0);

				if (other != NULL && other->type == column->type)
					return S("%s %s %s.%s", name, pick(comparisons), alias, other->name);
				/* ANY would look into arrays */
				if (strchr(column->type->name, '[') != NULL)
					return S("%s = %s", name, constant_for(column));
				return S("%s = any (array[%s, %s])", name, constant_for(column),
						 constant_for(column));
			}
		case 4:
			return S("(%s, %s.id) %s (%s, %d)", name, alias, pick(comparisons),
					 constant_for(column), some_id());
		case 5:
		case 6:
			return S("%s %s %s", name, pick(comparisons), constant_for(column));
		default:
			return S("%s %s %s", name, pick(comparisons), value_for(table, column));
	}
}

char *
predicate(Table *table, const char *alias, int depth)
{
	if (chance(30))
		return analytic_condition(table, alias);
	if (depth > 0)
	{
		switch (rnd(0, 9))
		{
			case 0:
			case 1:
			case 2:
				return S("(%s and %s)", predicate(table, alias, depth - 1),
						 predicate(table, alias, depth - 1));
			case 3:
			case 4:
				return S("(%s or %s)", predicate(table, alias, depth - 1),
						 predicate(table, alias, depth - 1));
			case 5:
				return S("not (%s)", predicate(table, alias, depth - 1));
			default:
				break;
		}
	}
	return condition(table, alias);
}

/* Number of rows, and a sum of hashes of the rows as text. */
char *
hash_of(Table *table)
{
	return S("select count(*), coalesce(sum(hashtextextended(t::text, 0)::numeric), 0) from %s t",
			 table->name);
}

char *
some_columns(Table *table, const char *alias)
{
	Buf			buf = {0};
	char	   *list;
	int			n = rnd(1, 4);

	if (chance(15))
		return S("%s.*", alias);
	buf_add(&buf, "%s.id", alias);
	for (int i = 0; i < n; i++)
	{
		Column	   *column = random_column(table, 0);

		if (column != NULL)
			buf_add(&buf, chance(10) ? ", (%s.%s)::text" : ", %s.%s", alias, column->name);
	}
	list = S("%s", buf.data);
	buf_free(&buf);
	return list;
}

static const char *
row_lock(void)
{
	static const char *const locks[] = {
		" for update", " for no key update", " for share", " for key share", " for update skip locked",
		" for share nowait", " for no key update skip locked", " for update nowait", " for key share skip locked"
	};

	return pick(locks);
}

/* ORDER BY keys that leave no ties where id is unique. */
char *
total_order(Table *table, const char *alias)
{
	Column	   *column = random_column(table, T_BTREE);
	const char *direction = chance(40) ? " desc" : "";
	const char *nulls = chance(20) ? " nulls first" : chance(20) ? " nulls last" : "";

	if (column == NULL || chance(20))
		return S("%s.id%s", alias, direction);
	return S("%s.%s%s%s, %s.id%s", alias, column->name, direction, nulls, alias,
			 chance(30) ? " desc" : "");
}

static void
query_order(int session, Table *table)
{
	char	   *where = chance(60) ? S(" where %s", predicate(table, "t", 1)) : "";

	if (!table->unique_id)
	{
		/* ties: the keys themselves are still the same, if equal means identical */
		Column	   *column = random_column(table, T_MINMAX);

		if (column == NULL)
			return;
		both(session, CMP_ORDER,
			 S("select t.%s from %s t%s order by 1%s limit %d offset %d", column->name, table->name,
			   where,
								   chance(50) ? " desc" : "", rnd(0, 50), chance(70) ? 0 :
									   rnd(0, 300)));
		return;
	}
	both(session, CMP_ORDER,
		 S("select %s from %s t%s order by %s%s", some_columns(table, "t"), table->name, where,
							   total_order(table, "t"),
							   chance(75) ? S(" limit %d offset %d", rnd(0, 60),
											  chance(60) ? 0 : rnd(0, 900)) : ""));
}

static void
query_aggregate(int session, Table *table)
{
	Column	   *column = random_column(table, T_BTREE);
	char	   *where = chance(60) ? S(" where %s", predicate(table, "t", 1)) : "";
	int			flags = column != NULL ? column->type->flags : 0;

	if (column == NULL)
		return;
	switch (rnd(0, 6))
	{
		case 0:
			both(session, CMP_ROWS,
				 S("select min(t.%s::text), count(*), sum(t.id) from %s t%s group by t.%s%s",
				   column->name, table->name,
									  where, column->name, chance(30) ? " having count(*) > 1" :
										  ""));
			break;
		case 1:
			if (flags & T_MINMAX)
				both(session, CMP_ROWS,
					 S("select min(%s), max(%s), count(%s) from %s t%s", column->name, column->name,
					   column->name, table->name, where));
			else
				both(session, CMP_ROWS,
					 S("select count(%s), count(distinct %s) from %s t%s", column->name,
					   column->name, table->name, where));
			break;
		case 2:
			if (flags & T_NUMBER)
				both(session, CMP_ROWS,
					 S("select sum(%s::numeric), round(avg(%s::numeric), 4) from %s t%s",
					   column->name, column->name, table->name, where));
			else
				both(session, CMP_ROWS,
					 S("select max(%s::text), min(id) from %s t%s", column->name, table->name,
					   where));
			break;
		case 3:
			both(session, CMP_ROWS, S("select md5(string_agg(coalesce(%s::text, 'null'), ',' order by id, %s::text)) from %s t%s", column->name, column->name, table->name, where));
			break;
		case 4:
			both(session, CMP_ROWS,
				 S("select count(*) from (select distinct %s, id %% 3 from %s t%s) d", column->name,
				   table->name, where));
			break;
		case 5:
			both(session, CMP_ROWS,
				 S("select count(*), count(*) filter (where %s) from %s t",
				   predicate(table, "t", 1), table->name));
			break;
		default:
			both(session, CMP_ROWS, S("select id %% 4, (id %% 2 = 0), count(%s) from %s t%s group by grouping sets ((1), (2), ())", column->name, table->name, where));
			break;
	}
}

static void
query_join(int session, Table *a)
{
	Table	   *b = random_table();
	Column	   *x = random_column(a, T_BTREE);

	switch (rnd(0, 5))
	{
		case 0:
			both(session, CMP_ROWS,
				 S("select count(*), sum(a.id) from %s a %s join %s b on a.id = b.id where %s",
				   a->name,
									  chance(50) ? "left" : "", b->name, predicate(a, "a", 1)));
			break;
		case 1:
			both(session, CMP_ROWS, S("select %s from %s a where %s and exists (select from %s b where b.id = a.id and %s)",
									  some_columns(a, "a"), a->name, predicate(a, "a", 0), b->name, predicate(b, "b", 0)));
			break;
		case 2:
			both(session, CMP_ROWS,
				 S("select count(*) from %s a where a.id not in (select b.id from %s b where %s)",
				   a->name, b->name,
									  predicate(b, "b", 0)));
			break;
		case 3:
			if (x != NULL)
				both(session, CMP_ROWS,
					 S("select count(*) from %s a where a.%s in (select b.%s from %s b where %s)",
					   a->name, x->name,
										  x->name, a->name, predicate(a, "b", 0)));
			break;
		case 4:
			both(session, CMP_ROWS, S("select %s from (values (%d), (%d), (%d)) v (i) cross join lateral (select * from %s t where t.id = v.i) a",
									  some_columns(a, "a"), some_id(), some_id(), some_id(), a->name));
			break;
		default:
			both(session, CMP_ROWS, S("select count(*) from %s a full join %s b using (id) where a.id is null or b.id is null", a->name, b->name));
			break;
	}
}

static void
query_other(int session, Table *table)
{
	Column	   *column = random_column(table, T_BTREE);
	char	   *where = predicate(table, "t", 1);

	if (column == NULL)
		return;
	switch (rnd(0, 6))
	{
		case 0:
			if (table->unique_id)
				both(session, CMP_ROWS, S("select id, row_number() over (partition by %s order by id), lag(id) over (order by %s, id) from %s t where %s",
										  column->name, column->name, table->name, where));
			break;
		case 1:
			both(session, CMP_ROWS, S("select count(*) from (select %s from %s t where %s %s select %s from %s t where %s) u", column->name,
									  table->name, where, chance(50) ? "union" : chance(50) ?
										  "except all" : "intersect", column->name, table->name,
									  predicate(table, "t", 0)));
			break;
		case 2:
			both(session, CMP_ROWS,
				 S("select t.tableoid::regclass, t::text from %s t where %s", table->name, where));
			break;
		case 3:
			both(session, CMP_ROWS,
				 S("copy (select %s from %s t where %s) to stdout", some_columns(table, "t"),
				   table->name, where));
			break;
		case 4:
			both(session, CMP_ROWS, S("with t as materialized (select * from %s t where %s) select count(*), sum(id) from t", table->name, where));
			break;
		case 5:
			if (table->kind == 'r')
				both(session, CMP_ROWS,
					 S("copy %s to stdout (format %s)", table->name, chance(50) ? "csv" : "text"));
			break;
		default:
			both(session, CMP_ROWS,
				 S("select id, pg_typeof(%s), octet_length(%s::text) from %s t where %s",
				   column->name, column->name, table->name, where));
			break;
	}
}

void
step_query(int session)
{
	Table	   *table = random_table();

	if (table == NULL)
		return;
	if (chance(25))
	{
		for (int i = rnd(1, 5); i > 0 && !round_failed &&
			 status_of(session) != PQTRANS_INERROR; i--)
			step_subquery(session);
		return;
	}
	if (chance(50))
	{
		for (int i = rnd(1, 4); i > 0 && !round_failed &&
			 status_of(session) != PQTRANS_INERROR; i--)
			step_analytic(session);
		return;
	}
	switch (rnd(0, 9))
	{
		case 0:
		case 1:
			both(session, CMP_ROWS,
				 S("select %s from %s t where %s", some_columns(table, "t"), table->name,
				   predicate(table, "t", 2)));
			break;
		case 2:
		case 3:
			query_order(session, table);
			break;
		case 4:
		case 5:
			query_aggregate(session, table);
			break;
		case 6:
			query_join(session, table);
			break;
		case 7:
			query_other(session, table);
			break;
		case 8:
			/* only what is locked is certain: no LIMIT, which takes the first rows of the scan */
			if (table->kind != 'm')
				both(session, CMP_ROWS,
					 S("select %s from %s t where %s%s", some_columns(table, "t"), table->name,
					   predicate(table, "t", 1), row_lock()));
			break;
		default:
			both(session, CMP_ROWS, hash_of(table));
			break;
	}
}

/*
 * Rows are found by their TIDs, and ranges of TIDs divide the table: no rows on either side, unless
 * another session has locked it.
 */
void
check_tids(int session)
{
	Table	   *table = random_table();

	if (table == NULL || table->kind == 'p')
		return;
	both(session, CMP_ROWS, S("select a.ctid, a.id from only %s a where not exists (select from only %s b where b.ctid = a.ctid and b.id is not distinct from a.id)",
							  table->name, table->name));
	both(session, CMP_ROWS, S("select s.c, s.id, t.id from (select ctid c, id from only %s order by id limit 20) s left join lateral (select * from only %s t where t.ctid = s.c) t on true"
							  " where t.id is distinct from s.id", table->name, table->name));
	both(session, CMP_ROWS, S("with m as materialized (select ctid c from only %s order by id offset %d limit 1) select 'tid range' from m where"
							  " (select count(*) from only %s where ctid < (select c from m)) + (select count(*) from only %s where ctid >= (select c from m))"
							  " <> (select count(*) from only %s)", table->name, rnd(0, 500), table->name, table->name, table->name));
}
