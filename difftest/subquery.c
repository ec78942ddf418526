/*
 * subquery.c
 *		Subqueries in filters, targets, groups and orders.
 *
 * The planner makes a hashed subplan of one, an unhashed one, both (EXISTS below OR), a parameter
 * that is evaluated once, or a join; conditions by batches stand beside them, above them, and
 * within them.  Types are by value and by reference, rows in the row tree and in columns.
 *
 * A subquery that is run again for each row makes a statement long, so outer rows are few then.
 */
#include "difftest.h"

static const char *const comparisons[] = {"=", "<>", "<", "<=", ">", ">="};

/* What the condition that is being made has come to. */
static int	aliases;
static bool correlated;

/* A comparison of a table's column with one of another table, of the same type. */
typedef struct Pair
{
	const Type *type;
	char	   *outer;			/* with their aliases */
	char	   *inner;
	Table	   *table;			/* of the inner one */
	char	   *alias;
} Pair;

static Pair
random_pair(Table *table, const char *alias)
{
	Pair		pair = {.type = type_by_name("integer")};
	int			lo;

	pair.alias = S("s%d", ++aliases);
	pair.table = chance(30) ? table : random_table();
	pair.outer = S("%s.id", alias);
	pair.inner = S("%s.id", pair.alias);
	lo = rnd(0, pair.table->ncolumns - 1);
	for (int tries = 0; tries < 4; tries++)
	{
		Column	   *column = random_column(table, T_BTREE);

		for (int i = 0; column != NULL && i < pair.table->ncolumns; i++)
		{
			Column	   *other = &pair.table->columns[(lo + i) % pair.table->ncolumns];

			if (other->type != column->type)
				continue;
			pair.type = column->type;
			pair.outer = S("%s.%s", alias, column->name);
			pair.inner = S("%s.%s", pair.alias, other->name);
			return pair;
		}
	}
	return pair;
}

/* So many ids at most. */
static char *
few_rows(const char *alias, int n)
{
	int			lo = some_id();

	return S("%s.id between %d and %d", alias, lo, lo + rnd(0, n));
}

static char *
inner_filter(const Pair *pair)
{
	switch (rnd(0, 4))
	{
		case 0:
			return few_rows(pair->alias, 400);
		case 1:
			return predicate(pair->table, pair->alias, 1);
		case 2:
			return S("%s.id = %d", pair->alias, some_id());
		default:
			return S("%s and %s", few_rows(pair->alias, 2000),
					 analytic_condition(pair->table, pair->alias));
	}
}

static char *subquery_condition(Table *table, const char *alias, int depth);

/* A condition of a subquery, whose rows may depend on those of the table. */
static char *
subquery(Table *table, const char *alias, int depth)
{
	Pair		pair = random_pair(table, alias);
	const char *op = pick(comparisons);
	char	   *from = S("from %s %s where %s", pair.table->name, pair.alias, inner_filter(&pair));

	switch (rnd(0, 13))
	{
		case 0:
		case 1:
			return S("%s in (select %s %s)", pair.outer, pair.inner, from);
		case 2:
		case 3:
			return S("%s not in (select %s %s)", pair.outer, pair.inner, from);
		case 4:
			return S("(%s, %s.id) %sin (select %s, %s.id %s)", pair.outer, alias,
					 chance(40) ? "not " : "", pair.inner, pair.alias, from);
		case 5:
		case 6:
			correlated = true;
			return S("%sexists (select 1 %s and %s = %s)", chance(40) ? "not " : "", from,
					 pair.inner, pair.outer);
		case 7:
			return S("%s %s %s (select %s from %s %s where %s)", pair.outer, op,
					 chance(50) ? "any" : "all", pair.inner, pair.table->name, pair.alias,
					 few_rows(pair.alias, 6));
		case 8:
			return S("%s %s (select %s %s order by %s.id, %s limit 1 offset %d)", pair.outer, op,
					 pair.inner, from, pair.alias, pair.inner, rnd(0, 3));
		case 9:
			correlated = true;
			return S("(select count(%s) %s and %s = %s) %s %d", pair.inner, from, pair.inner,
					 pair.outer, op, rnd(0, 3));
		case 10:
			if (strchr(pair.type->name, '[') != NULL)
				return S("%s in (select %s %s)", pair.outer, pair.inner, from);
			return S("%s = any (array(select %s %s))", pair.outer, pair.inner, from);
		case 11:
			if ((pair.type->flags & T_MINMAX) == 0)
				return S("%s is null", pair.outer);
			return S("%s %s (select %s(%s) %s)", pair.outer, op, chance(50) ? "min" : "max",
					 pair.inner, from);
		case 12:
			correlated = true;
			return S("%s in (select %s from %s %s where %s.id between %s.id - %d and %s.id + %d)",
					 pair.outer, pair.inner, pair.table->name, pair.alias, pair.alias, alias,
					 rnd(0, 9), alias, rnd(0, 9));
		default:
			if (depth <= 0)
				return S("%s in (select %s %s)", pair.outer, pair.inner, from);
			return S("%s %sin (select %s from %s %s where %s and %s)", pair.outer,
					 chance(30) ? "not " : "", pair.inner, pair.table->name, pair.alias,
					 few_rows(pair.alias, 60),
					 subquery_condition(pair.table, pair.alias, depth - 1));
	}
}

static char *
plain_condition(Table *table, const char *alias)
{
	return chance(40) ? S("%s.id <> %d", alias, some_id()) : chance(50) ?
		analytic_condition(table, alias) : predicate(table, alias, 0);
}

/* Subqueries among other conditions.  No more of an error than predicate(). */
static char *
subquery_condition(Table *table, const char *alias, int depth)
{
	char	   *sub = subquery(table, alias, depth);
	char	   *other = chance(25) && depth > 0 ? subquery_condition(table, alias, depth - 1) :
		plain_condition(table, alias);

	switch (rnd(0, 11))
	{
		case 0:
		case 1:
			return S("(%s and %s)", other, sub);
		case 2:
		case 3:
			return S("(%s or %s)", sub, other);
		case 4:
			return S("(not (%s) and %s)", sub, other);
		case 5:
			return S("case when %s then %s else %s end", sub, other, plain_condition(table, alias));
		case 6:
			return S("case when %s then %s end", other, sub);
		case 7:
			return S("coalesce(%s, %s)", sub, other);
		case 8:
			return S("((%s) is %sdistinct from (%s))", sub, chance(50) ? "not " : "", other);
		case 9:
			return S("((%s) is %s)", sub, chance(50) ? "not true" : "unknown");
		case 10:
			return S("(nullif(%s, %s) is not null)", sub, other);
		default:
			return S("(%s)", sub);
	}
}

/* A filter with subqueries and a condition by batches; few rows come to what is run for each. */
static char *
subquery_filter(Table *table, const char *alias)
{
	char	   *condition;
	char	   *beside = plain_condition(table, alias);

	aliases = 0;
	correlated = false;
	condition = subquery_condition(table, alias, rnd(0, 2));
	if (correlated)
		return S("%s and %s and %s", few_rows(alias, 60), beside, condition);
	return chance(50) ? S("%s and %s", beside, condition) : condition;
}

/* A value of each row by a subquery. */
static char *
subquery_value(Table *table, const char *alias)
{
	Pair		pair = random_pair(table, alias);

	return S("(select left(%s::text, 50) from %s %s where %s.id = %s.id and %s"
			 " order by %s.id, %s::text limit 1)", pair.inner, pair.table->name, pair.alias,
			 pair.alias, alias, plain_condition(pair.table, pair.alias), pair.alias, pair.alias);
}

static void
query_groups(int session, Table *table)
{
	Column	   *key = random_column(table, T_BTREE);
	char	   *where = S("%s and %s", few_rows("t", 500), plain_condition(table, "t"));
	Pair		pair;

	aliases = 0;
	if (key == NULL)
		return;
	switch (rnd(0, 3))
	{
		case 0:
			/* by a subquery */
			correlated = false;
			both(session, CMP_ROWS,
				 S("select %s, count(*), sum(t.id) from %s t where %s group by 1",
				   subquery(table, "t", 0), table->name, few_rows("t", 60)));
			break;
		case 1:
			pair = random_pair(table, "t");
			both(session, CMP_ROWS,
				 S("select count(*), sum(n) from (select %s, count(*) as n from %s t where %s"
				   " group by %s having %s %sin (select %s from %s %s where %s)%s) q",
				   pair.outer, table->name, where, pair.outer, pair.outer,
				   chance(40) ? "not " : "", pair.inner, pair.table->name, pair.alias,
				   inner_filter(&pair), chance(50) ? " or count(*) > 1" : ""));
			break;
		case 2:
			pair = random_pair(table, "t");
			both(session, CMP_ROWS,
				 S("select count(*), sum(n) from (select %s, count(*) as n from %s t where %s"
				   " group by %s having exists (select 1 from %s %s where %s and %s = %s)"
				   " or count(*) = 2) q",
				   pair.outer, table->name, where, pair.outer, pair.table->name, pair.alias,
				   few_rows(pair.alias, 60), pair.inner, pair.outer));
			break;
		default:
			both(session, CMP_ROWS,
				 S("select count(*), sum(n) from (select t.%s, count(*) as n from %s t where %s"
				   " group by t.%s having count(*) in (select count(*) from %s s where %s"
				   " group by s.id %% 7)) q",
				   key->name, table->name, where, key->name, table->name, few_rows("s", 200)));
			break;
	}
}

/* Changes whose rows or values come from subqueries. */
static void
subquery_change(int session, Table *table)
{
	Column	   *column = random_column(table, 0);
	Table	   *from = random_table();
	Column	   *source = NULL;
	char	   *where;

	aliases = 0;
	where = S("%s and %s", few_rows(table->name, 60),
			  subquery_condition(table, table->name, 1));
	if (chance(25))
	{
		both(session, CMP_ROWS, S("delete from %s where %s", table->name, where));
		return;
	}
	for (int i = 0; column != NULL && i < from->ncolumns; i++)
	{
		if (from->columns[i].type == column->type && strcmp(from->columns[i].name, "id") != 0)
			source = &from->columns[i];
	}
	if (source == NULL || column->generated || column->identity || column->is_ref ||
		strcmp(column->name, "id") == 0)
		return;
	both(session, CMP_ROWS,
		 S("update %s set (%s, id) = (select s.%s, %s.id from (select 1) one left join %s s"
		   " on s.id between %s.id - 2 and %s.id order by s.id, s::text limit 1) where %s",
		   table->name, column->name, source->name, table->name, from->name, table->name,
		   table->name, where));
}

/* Parameters within subqueries and beside them. */
static void
subquery_prepared(int session, Table *table)
{
	char	   *name = S("q%d", session);
	Pair		pair;

	aliases = 0;
	pair = random_pair(table, "t");
	if (!both(session, CMP_TAG,
			  S("set plan_cache_mode = %s", chance(60) ? "force_generic_plan" : "auto")))
		return;
	(void) both(session, CMP_TAG,
				S("prepare %s (int, int) as select count(*), sum(t.id) from %s t where t.id > $1"
				  " and (%s %sin (select %s from %s %s where %s.id %s $2) %s %s)",
				  name, table->name, pair.outer, chance(40) ? "not " : "", pair.inner,
				  pair.table->name, pair.alias, pair.alias, pick(comparisons),
				  chance(50) ? "and" : "or", plain_condition(table, "t")));
	for (int i = rnd(2, 6); i > 0 && !round_failed && status_of(session) != PQTRANS_INERROR; i--)
		(void) both(session, CMP_ROWS,
					S("execute %s (%d, %s)", name, chance(40) ? 0 : some_id(),
					  chance(10) ? "null" : S("%d", some_id())));
	if (status_of(session) == PQTRANS_INERROR)
	{
		(void) both(session, CMP_TAG, "rollback");
		model_is_stale = true;
	}
	(void) both(session, CMP_TAG, S("deallocate %s", name));
	(void) both(session, CMP_TAG, "reset plan_cache_mode");
}

void
step_subquery(int session)
{
	Table	   *table = random_table();
	char	   *where;

	if (table == NULL)
		return;
	where = subquery_filter(table, "t");
	switch (rnd(0, 13))
	{
		case 0:
		case 1:
		case 2:
			both(session, CMP_ROWS,
				 S("select t.id, t.%s from %s t where %s",
				   table->columns[rnd(0, table->ncolumns - 1)].name, table->name, where));
			break;
		case 3:
		case 4:
			both(session, CMP_ROWS,
				 S("select count(*), sum(t.id), max(t.id) from %s t where %s", table->name,
				   where));
			break;
		case 5:
			if (table->unique_id)
				both(session, CMP_ORDER,
					 S("select t.* from %s t where %s order by t.id%s limit %d", table->name,
					   where, chance(50) ? " desc" : "", rnd(1, 30)));
			break;
		case 6:
			aliases = 0;
			both(session, CMP_ROWS,
				 S("select t.id, %s, %s from %s t where %s",
				   subquery_condition(table, "t", 1), subquery_value(table, "t"), table->name,
				   few_rows("t", 60)));
			break;
		case 7:
			aliases = 0;
			both(session, CMP_ROWS,
				 S("select count(*) filter (where %s), sum(case when %s then t.id else 1 end)"
				   " from %s t where %s", subquery_condition(table, "t", 1),
				   subquery(table, "t", 0), table->name, few_rows("t", 60)));
			break;
		case 8:
			aliases = 0;
			if (table->unique_id)
				both(session, CMP_ORDER,
					 S("select t.id from %s t where %s order by %s, t.id limit %d", table->name,
					   few_rows("t", 60), subquery_condition(table, "t", 0), rnd(1, 30)));
			break;
		case 9:
			both(session, CMP_ROWS,
				 S("select count(*), sum(t.id), sum(o.id) from %s t join %s o on o.id = t.id"
				   " where %s and %s", table->name, random_table()->name,
				   plain_condition(table, "t"), where));
			break;
		case 10:
			subquery_prepared(session, table);
			break;
		case 11:
			if (table->kind != 'm')
				subquery_change(session, table);
			break;
		default:
			query_groups(session, table);
			break;
	}
}
