/*
 * order.c
 *		Rows in orders of one and more columns, with the plans that make them.
 *
 * Tables come to any order by what the other steps do to them.  Here they are asked for it with
 * ordered scans and top-N switched on and off, without sorts, with little memory, in parallel: with
 * limits of any size, below windows, DISTINCT, groups and merge joins, and by cursors.
 */
#include "difftest.h"

/* Keys of an order without ties: up to three columns, then the id. */
static char *
many_keys(Table *table, const char *alias)
{
	char	   *keys = "";

	for (int i = rnd(0, 3); i > 0; i--)
	{
		Column	   *column = random_column(table, T_BTREE);

		if (column == NULL)
			break;
		keys = S("%s%s.%s%s%s, ", keys, alias, column->name, chance(40) ? " desc" : "",
				 chance(20) ? " nulls first" : chance(20) ? " nulls last" : "");
	}
	return S("%s%s.id%s", keys, alias, chance(30) ? " desc" : "");
}

static char *
random_limit(void)
{
	switch (rnd(0, 4))
	{
		case 0:
			return "";
		case 1:
			return S(" limit %d", rnd(0, 30));
		case 2:
			return S(" offset %d", rnd(0, 3000));
		case 3:
			return S(" limit %d offset %d", rnd(0, 3000), rnd(0, 1500));
		default:
			return S(" limit %d offset %d", rnd(0, 30), rnd(0, 100));
	}
}

/* What makes the planner take one plan or another. */
static void
choose_plans(void)
{
	const char *on = chance(80) ? "on" : "off";

	both(0, CMP_TAG,
		 S("set zedstore.enable_ordered_scan = %s; set zedstore.enable_topn = %s; set zedstore.enable_window = %s; set enable_sort = %s; set enable_incremental_sort = %s;"
		   " set work_mem = '%s'; set enable_hashjoin = %s; set enable_nestloop = %s; set enable_hashagg = %s; set enable_indexscan = %s",
		   on, chance(50) ? "on" : "off", chance(80) ? "on" : "off", chance(40) ? "on" : "off",
		   chance(50) ? "on" : "off",
		   chance(50) ? "64kB" : "4MB", chance(30) ? "on" : "off", chance(30) ? "on" : "off",
		   chance(30) ? "on" : "off", chance(30) ? "on" : "off"));
	if (chance(30))
		both(0, CMP_TAG, S("set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0;"
							" set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;"
							" set debug_parallel_query = %s", chance(30) ? "on" : "off"));
}

static void
forget_plans(void)
{
	static const char *const names[] = {
		"zedstore.enable_ordered_scan", "zedstore.enable_topn", "zedstore.enable_window",
		"enable_sort", "enable_incremental_sort", "work_mem", "enable_hashjoin", "enable_nestloop",
		"enable_hashagg", "enable_indexscan", "max_parallel_workers_per_gather",
		"parallel_setup_cost", "parallel_tuple_cost", "min_parallel_table_scan_size",
		"debug_parallel_query"
	};
	char	   *all = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		all = S("%sreset %s; ", all, names[i]);
	both(0, CMP_TAG, all);
}

/* The same rows twice, with a LIMIT that stops early, and others in between. */
static void
ordered_cursor(Table *table, const char *where)
{
	if (!both(0, CMP_TAG, S("declare co scroll cursor for select t.* from %s t%s order by %s%s",
							table->name, where, many_keys(table, "t"), random_limit())))
		return;
	for (int i = rnd(1, 6); i > 0 && !round_failed; i--)
	{
		if (!both(0, CMP_ORDER, chance(60) ? S("fetch %d from co", rnd(0, 1500)) :
				  chance(50) ? S("fetch backward %d from co", rnd(0, 40)) :
				  S("fetch absolute %d from co", rnd(-20, 60))))
			return;
	}
	both(0, CMP_TAG, "close co");
}

/* Ranks, which need a filter's run condition or none, below each other and on top of others. */
static void
ranked_rows(Table *table, const char *key, const char *where)
{
	static const char *const ranks[] = {"row_number()", "rank()", "dense_rank()"};
	char	   *filter = chance(60) ? S(" where a <= %d", rnd(0, 5)) : "";
	bool		ties = chance(50);

	if (chance(40))
		filter = S("%s %s %d %s b", filter, *filter ? "and" : "where", rnd(0, 400),
				   chance(70) ? ">" : "=");
	/* numbers of equal rows depend on the plan, ranks do not */
	both(0, CMP_ROWS,
		 S("select * from (select t.id, %s over (partition by t.%s order by %s) as a,"
		   " %s over (order by %s) as b, dense_rank() over (partition by t.%s order by t.id %% %d)"
		   " + rank() over (partition by t.id %% %d order by t.%s%s) as c%s from %s t%s) s%s",
		   pick(ranks), key, many_keys(table, "t"), ranks[ties ? rnd(1, 2) : rnd(0, 2)],
		   ties ? S("t.%s", key) : many_keys(table, "t"), key, rnd(1, 9), rnd(1, 9), key,
		   chance(50) ? " desc" : "",
		   chance(30) ? ", count(*) over (order by t.id) as d" : "", table->name, where, filter));
}

static void
ordered_rows(Table *table)
{
	char	   *where = chance(50) ? S(" where %s", predicate(table, "t", 1)) : "";
	Column	   *column = random_column(table, T_BTREE);
	const char *key = column == NULL ? "id" : column->name;

	switch (rnd(0, 9))
	{
		case 9:
			ranked_rows(table, key, where);
			break;
		case 0:
			both(0, CMP_ROWS,
				 S("select t.id, row_number() over (partition by t.%s order by %s), lag(t.id) over (order by %s)"
				   " from %s t%s", key, many_keys(table, "t"), many_keys(table, "t"), table->name,
				   where));
			break;
		case 1:
			both(0, CMP_ORDER,
				 S("select distinct on (t.%s) t.* from %s t%s order by t.%s, %s%s", key, table->name,
				   where, key, many_keys(table, "t"), random_limit()));
			break;
		case 2:
			both(0, CMP_ROWS,
				 S("select min(t.%s::text), count(*), min(t.id) from %s t%s group by t.%s", key,
				   table->name, where, key));
			break;
		case 3:
			both(0, CMP_ROWS,
				 S("select l.id, r.id from %s l %s join %s r on l.id = r.id where l.id < %d",
				   table->name, chance(50) ? "left" : "", table->name, some_id()));
			break;
		case 4:
			/* asked for again and again */
			both(0, CMP_ROWS,
				 S("select g, (select string_agg(s.id::text, ',') from (select t.id from %s t where t.id %% 7 >= g order by %s limit %d) s) from generate_series(1, 5) g", table->name, many_keys(table, "t"), rnd(1, 1200)));
			break;
		case 5:
			if (status_of(0) == PQTRANS_INTRANS)
				ordered_cursor(table, where);
			break;
		default:
			both(0, CMP_ORDER,
				 S("select %s from %s t%s order by %s%s", some_columns(table, "t"), table->name,
				   where, many_keys(table, "t"), random_limit()));
			break;
	}
}

/* Queries of one table in some orders. */
void
step_order(void)
{
	Table	   *table = random_table();
	bool		begun = false;

	if (table == NULL || !table->unique_id || status_of(0) == PQTRANS_INERROR)
		return;
	if (status_of(0) == PQTRANS_IDLE && chance(40))
		begun = both(0, CMP_TAG, "begin");
	choose_plans();
	for (int i = rnd(2, 8); i > 0 && !round_failed && status_of(0) != PQTRANS_INERROR; i--)
		ordered_rows(table);
	if (begun || status_of(0) == PQTRANS_INERROR)
		both(0, CMP_TAG, "rollback");
	forget_plans();
	model_is_stale = true;
}
