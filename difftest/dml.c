/*
 * dml.c
 *		Random changes of rows.
 *
 * Every row has an id that comes from one counter.  A statement must not depend
 * on the order in which it visits rows: no key moves to where another one is or
 * was, and rows are matched by unique keys.
 */
#include "difftest.h"

static Table *
table_to_change(void)
{
	for (int tries = 0; tries < 20; tries++)
	{
		Table	   *table = random_table();

		if (table != NULL && table->kind != 'm')
			return table;
	}
	return NULL;
}

static char *
null_or(Column *column, char *value, int percent)
{
	return chance(percent) ? (column->notnull && chance(98) ? value : "null") : value;
}

/* The columns that an INSERT gives values to, and for each an expression of g. */
char *
column_list(Table *table, char **series_of_g)
{
	Buf			names = {0};
	Buf			values = {0};
	char	   *list;

	buf_add(&names, "id");
	buf_add(&values, "g");
	for (int i = 0; i < table->ncolumns; i++)
	{
		Column	   *column = &table->columns[i];

		if (column->type == NULL || column->generated || column->identity ||
			strcmp(column->name, "id") == 0)
			continue;
		if (!column->notnull && chance(10))
			continue;
		buf_add(&names, ", %s", column->name);
		if (column->is_ref)
			buf_add(&values, ", null");
		else if (!column->notnull && chance(40))
			buf_add(&values, ", case when hashint4(g + %d) %% %d <> 0 then %s end", rnd(0, 1000),
					rnd(2, 10), series(column->type, "g"));
		else
			buf_add(&values, ", %s", series(column->type, "g"));
	}
	list = S("%s", names.data);
	*series_of_g = S("%s", values.data);
	buf_free(&names);
	buf_free(&values);
	return list;
}

static char *
returning(Table *table)
{
	if (chance(60))
		return "";
	if (chance(30))
		return S(" returning %s.*", table->name);
	if (chance(15) && server_version >= 180000)
		return " returning old.id, new.id";
	return S(" returning %s", table->columns[rnd(0, table->ncolumns - 1)].name);
}

/* Parents that the foreign keys of a table want are not looked for: a part of the rows has none. */
char *
insert_values(Table *table)
{
	Buf			names = {0};
	Buf			rows = {0};
	Column	   *used[MAX_COLUMNS];
	int			nused = 0;
	int			nrows = chance(60) ? 1 : rnd(2, 6);
	char	   *sql;

	buf_add(&names, "id");
	for (int i = 0; i < table->ncolumns; i++)
	{
		Column	   *column = &table->columns[i];

		if (column->type == NULL || column->generated || column->identity ||
			strcmp(column->name, "id") == 0 || chance(8))
			continue;
		used[nused++] = column;
		buf_add(&names, ", %s", column->name);
	}
	for (int row = 0; row < nrows; row++)
	{
		buf_add(&rows, "%s(%d", row > 0 ? ", " : "", chance(90) ? fresh_ids(1) : some_id());
		for (int i = 0; i < nused; i++)
		{
			if (used[i]->is_ref)
				buf_add(&rows, ", %s", chance(50) ? "null" : S("%d", some_id()));
			else
				buf_add(&rows, ", %s",
						chance(5) ? "default" : null_or(used[i], literal(used[i]->type, true), 12));
		}
		buf_add(&rows, ")");
	}
	sql = S("insert into %s (%s) values %s", table->name, names.data, rows.data);
	buf_free(&names);
	buf_free(&rows);
	return sql;
}

static int
bulk_rows(void)
{
	return chance(50) ? rnd(1, 60) : chance(80) ? rnd(60, 800) : chance(90) ? rnd(800, 3000) :
		rnd(3000, 12000);
}

static char *
insert_series(Table *table)
{
	char	   *values;
	char	   *names = column_list(table, &values);
	int			n = bulk_rows();
	int			first = fresh_ids(n);

	return S("insert into %s (%s) select %s from generate_series(%d, %d) g", table->name, names,
			 values, first, first + n - 1);
}

/* The SET list of an UPDATE; alias names the old row. */
char *
assignments(Table *table, const char *alias)
{
	Buf			buf = {0};
	char	   *list;
	int			n = chance(60) ? 1 : rnd(1, 4);
	bool		done[MAX_COLUMNS] = {false};

	for (int i = 0; i < n; i++)
	{
		int			at = rnd(0, table->ncolumns - 1);
		Column	   *column = &table->columns[at];
		Column	   *other = random_column(table, 0);
		char	   *value;

		if (done[at] || column->type == NULL || column->generated || column->identity)
			continue;
		done[at] = true;
		if (strcmp(column->name, "id") == 0)
		{
			/* ids move in dml_update() only; here the key stays what it is */
			value = S("%s.id", alias);
		}
		else if (column->is_ref)
			value = chance(50) ? "null" : S("%d", some_id());
		else if (chance(20) && other != NULL && other->type == column->type)
			value = S("%s.%s", alias, other->name);
		else if ((column->type->flags & T_NUMBER) && chance(50))
			value = S("(%s.%s %% 1000 + %d)", alias, column->name, rnd(1, 20));
		else if (strcmp(column->type->name, "text") == 0 && chance(40))
			value = S("left(%s.%s || '%c' || %s.%s, 20000)", alias, column->name, rnd('a', 'z'),
					  alias, column->name);
		else if (chance(40))
			value = series(column->type, S("%s.id", alias));
		else if (chance(5))
			value = "default";
		else
			value = null_or(column, literal(column->type, true), 15);
		buf_add(&buf, "%s%s = %s", buf.len > 0 ? ", " : "", column->name, value);
	}
	if (buf.len == 0)
		buf_add(&buf, "id = %s.id", alias);
	list = S("%s", buf.data);
	buf_free(&buf);
	return list;
}

/* One row for each id, whatever is in the table. */
static char *
distinct_rows(Table *table)
{
	if (table->unique_id)
		return table->name;
	return S("(select distinct on (d.id) d.* from %s d order by d.id, d::text)", table->name);
}

static void
dml_update(int session, Table *table)
{
	Table	   *from = random_table();
	Column	   *column;

	if (chance(85))
	{
		both(session, CMP_ROWS,
			 S("update %s%s set %s where %s%s", chance(5) ? "only " : "", table->name,
			   assignments(table, table->name),
								  predicate(table, table->name, 1), returning(table)));
		return;
	}
	if (chance(30) && table->unique_id)
	{
		int			lo = some_id();
		int			n = rnd(1, 200);

		/* the whole range moves to where no id was */
		both(session, CMP_ROWS,
			 S("update %s set id = id + %d where id between %d and %d", table->name,
			   fresh_ids(n + 1) - lo, lo, lo + n));
		return;
	}
	column = random_column(table, 0);
	if (from == NULL || column == NULL || column->generated || column->identity || column->is_ref ||
		strcmp(column->name, "id") == 0)
		return;
	both(session, CMP_ROWS,
		 S("update %s set %s = %s from %s s where s.id = %s.id and %s", table->name, column->name,
							  series(column->type, "s.id"), distinct_rows(from), table->name, predicate(table, table->name, 0)));
}

static void
dml_delete(int session, Table *table)
{
	Table	   *other = random_table();

	switch (rnd(0, 9))
	{
		case 0:
			both(session, CMP_ROWS,
				 S("delete from %s using %s s where s.id = %s.id and %s", table->name,
				   distinct_rows(other), table->name,
									  predicate(table, table->name, 1)));
			break;
		case 1:
			both(session, CMP_ROWS, S("with d as (delete from %s where %s returning *) select count(*), sum(id) from d", table->name,
									  predicate(table, table->name, 1)));
			break;
		case 2:
			if (chance(10))
				both(session, CMP_TAG, S("delete from %s", table->name));
			break;
		case 3:
			both(session, CMP_ROWS, S("delete from %s where (tableoid, ctid) in (select tableoid, ctid from %s s where %s) and %s", table->name, table->name,
									  predicate(table, "s", 0), predicate(table, table->name, 0)));
			break;
		default:
			both(session, CMP_ROWS,
				 S("delete from %s where %s and id %% %d = 0%s", table->name,
				   predicate(table, table->name, 1), rnd(1, 7),
									  returning(table)));
			break;
	}
}

static void
dml_merge(int session, Table *table)
{
	char	   *values;
	char	   *names = column_list(table, &values);
	int			lo = chance(50) ? some_id() : fresh_ids(20);
	char	   *source = S("generate_series(%d, %d)", lo, used_ids(lo + rnd(0, 100)));

	/* rows are numbered in the order in which the join finds them */
	for (int i = 0; i < table->ncolumns; i++)
	{
		if (table->columns[i].identity)
			return;
	}
	if (chance(30))
		source = S("(select distinct id from %s s where %s)", random_table()->name,
				   chance(50) ? "true" : S("id > %d", some_id()));
	both(session, CMP_ROWS, S("merge into %s t using %s g%s on t.id = g%s"
							  " when matched and %s then update set %s"
							  " when matched and %s then delete%s"
							  " when not matched and g %% 3 <> 0 then insert (%s) values (%s)"
							  " when not matched then do nothing%s",
							  table->name, source, source[0] == '(' ? "(g)" :
								  "", "", predicate(table, "t", 0), assignments(table, "t"),
							  predicate(table, "t", 0),
							  chance(15) ? S(" when not matched by source and t.id %% 9 = 0 then delete") : "",
							  names, values, chance(40) ? " returning merge_action(), t.id" : ""));
}

static void
dml_conflict(int session, Table *table)
{
	char	   *values;
	char	   *names = column_list(table, &values);
	int			lo = chance(60) ? some_id() : fresh_ids(30);
	int			n = chance(90) ? rnd(0, 40) : rnd(0, 3000);
	char	   *action;

	if (!table->unique_id || chance(20))
		action = chance(70) ? "do nothing" : "(id) do nothing";
	else
		action = S("(id) do update set %s%s", assignments(table, table->name),
				   chance(40) ? S(" where %s", predicate(table, table->name, 0)) : "");
	both(session, CMP_ROWS,
		 S("insert into %s (%s) select %s from generate_series(%d, %d) g on conflict %s%s",
		   table->name, names, values,
							  lo, used_ids(lo + n), action, returning(table)));
}

static void
dml_copy(int session, Table *table)
{
	static Buf	data;
	char	   *values;
	char	   *names = column_list(table, &values);
	int			n = bulk_rows();
	int			first = fresh_ids(n);
	bool		own = false;
	const char *format;

	/* the binary form of our types has their OIDs, which differ */
	for (int i = 0; i < table->ncolumns; i++)
		own = own || table->columns[i].type == NULL || (table->columns[i].type->flags & T_OWN) != 0;
	format = chance(50) ? "text" : chance(50) || own ? "csv" : "binary";
	if (copy_out(S("copy (select %s from generate_series(%d, %d) g) to stdout (format %s)", values,
				   first, first + n - 1, format), &data))
		both_copy_in(session,
					 S("copy %s (%s) from stdin (format %s%s)", table->name, names, format,
					   chance(3) ? ", freeze" : ""), data.data, data.len);
}

/* Rows of one table into another, or of itself with new ids. */
static void
dml_insert_select(int session, Table *table)
{
	Table	   *from = random_table();
	Column	   *to = random_column(table, 0);
	Column	   *source = NULL;

	if (to == NULL || to->generated || to->identity || to->is_ref || strcmp(to->name, "id") == 0)
		return;
	for (int i = 0; i < from->ncolumns; i++)
	{
		if (from->columns[i].type == to->type && strcmp(from->columns[i].name, "id") != 0)
			source = &from->columns[i];
	}
	if (source == NULL)
		return;
	both(session, CMP_TAG, S("insert into %s (id, %s) select %d + row_number() over (order by id, s::text), %s from %s s where %s order by id, s::text limit 2000", table->name, to->name,
							 fresh_ids(2000), source->name, from->name, predicate(from, "s", 0)));
}

void
step_insert(int session)
{
	Table	   *table = table_to_change();

	if (table == NULL)
		return;
	switch (rnd(0, 9))
	{
		case 0:
		case 1:
		case 2:
			both(session, CMP_ROWS, S("%s%s", insert_values(table), returning(table)));
			break;
		case 3:
		case 4:
			both(session, CMP_ROWS,
				 S("%s%s", insert_series(table), chance(20) ? " returning id" : ""));
			break;
		case 5:
			dml_copy(session, table);
			break;
		case 6:
			dml_insert_select(session, table);
			break;
		case 7:
			/* several small ones, which fill the row tree */
			for (int i = rnd(3, 15); i > 0 && !round_failed; i--)
			{
				if (!both(session, CMP_TAG, insert_values(table)))
					break;
			}
			break;
		default:
			dml_conflict(session, table);
			break;
	}
}

void
step_dml(int session)
{
	Table	   *table = table_to_change();

	if (table == NULL)
		return;
	switch (rnd(0, 19))
	{
		case 0:
		case 1:
			dml_delete(session, table);
			break;
		case 2:
		case 3:
			dml_merge(session, table);
			break;
		case 4:
			if (chance(15))
				both(session, CMP_TAG,
					 S("truncate %s%s", table->name, chance(50) ? " cascade" : ""));
			break;
		case 5:
		case 6:
		case 7:
		case 8:
		case 9:
		case 10:
			dml_update(session, table);
			break;
		default:
			step_insert(session);
			break;
	}
}
