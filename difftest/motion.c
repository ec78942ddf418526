/*
 * motion.c
 *		Cursors in both directions, and rows that move from the row tree to columns.
 *
 * A cursor is open, or a transaction has its snapshot, while rows are written one by one, changed,
 * and moved by VACUUM: both go on with what they see.  Heap's VACUUM waits without end for a page
 * of an index that a cursor has pinned, so it leaves indexes alone while there is one.
 */
#include "difftest.h"

/* Can a ZedstoreTopN go back?  Then a cursor over ORDER BY ... LIMIT need not be told to scroll. */
#define TOPN_GOES_BACK true

/* The columns of a table, or some. */
static char *
shown_columns(Table *table)
{
	if (chance(40))
		return "t.*";
	return S("t.id, t.%s, t.%s", table->columns[rnd(0, table->ncolumns - 1)].name,
			 table->columns[rnd(0, table->ncolumns - 1)].name);
}

/* A query of rows in an order without ties; *limited: of some of them. */
static char *
ordered_query(Table *table, bool *limited)
{
	char	   *where = chance(20) ? "" : chance(50) ?
		S(" where %s", predicate(table, "t", 1)) : S(" where %s", analytic_condition(table, "t"));

	*limited = chance(60);
	return S("select %s from %s t%s order by %s%s", shown_columns(table), table->name, where,
			 chance(40) ? "t.id" : total_order(table, "t"),
			 *limited ? S(" limit %d offset %d", rnd(0, chance(80) ? 40 : 1200),
						  chance(60) ? 0 : rnd(0, 60)) : "");
}

/* FETCH or MOVE to anywhere. */
static char *
random_move(const char *name)
{
	const char *verb = chance(80) ? "fetch" : "move";

	switch (rnd(0, 13))
	{
		case 0:
		case 1:
			return S("%s %d from %s", verb, rnd(0, 30), name);
		case 2:
		case 3:
			return S("%s backward %d from %s", verb, rnd(0, 30), name);
		case 4:
			return S("%s absolute %d from %s", verb, rnd(-20, 60), name);
		case 5:
			return S("%s relative %d from %s", verb, rnd(-10, 10), name);
		case 6:
			return S("%s first from %s", verb, name);
		case 7:
			return S("%s last from %s", verb, name);
		case 8:
			return S("%s prior from %s", verb, name);
		case 9:
			return S("%s next from %s", verb, name);
		case 10:
			return S("%s all from %s", verb, name);
		case 11:
			return S("%s backward all from %s", verb, name);
		case 12:
			return S("move %d from %s", rnd(0, 3000), name);
		default:
			return S("fetch 0 from %s", name);
	}
}

/*
 * Declares a cursor over an ordered query.  Without SCROLL it depends on the plan whether it can go
 * back; so it is left out where all plans that there may be can.
 */
static bool
declare_cursor(int session, Table *table, const char *name, bool hold)
{
	bool		limited;
	char	   *query = ordered_query(table, &limited);
	const char *scroll = chance(10) ? "no scroll" : "scroll";

	if (chance(30) && table->kind == 'r' && (!limited || TOPN_GOES_BACK))
	{
		if (!both(session, CMP_TAG, "set local enable_bitmapscan = off;"
				  "set local enable_incremental_sort = off"))
			return false;
		scroll = "";
	}
	return both(session, CMP_TAG, S("declare %s %s cursor%s for %s", name, scroll,
									hold ? " with hold" : "", query));
}

static void
cursor_in_order(Table *table, bool in_transaction)
{
	bool		hold = chance(30) && !in_transaction;
	bool		ok = declare_cursor(0, table, "cu", hold);

	if (ok && chance(30))
		ok = both(0, CMP_ORDER, random_move("cu"));
	if (ok && hold && chance(70))
		ok = both(0, CMP_TAG, "commit");
	for (int i = rnd(1, 10); ok && i > 0 && !round_failed; i--)
	{
		if (status_of(0) == PQTRANS_INTRANS && chance(20) && table->kind != 'm')
			ok = both(0, CMP_TAG, S("update %s set %s where id = %d", table->name,
									assignments(table, table->name), some_id()));
		if (ok)
			ok = both(0, CMP_ORDER, random_move("cu"));
	}
	/* outside of a transaction an error leaves the cursor where it is */
	if (ok || status_of(0) == PQTRANS_IDLE)
		both(0, CMP_TAG, "close cu");
}

/* WHERE CURRENT OF the only row of a cursor. */
static void
cursor_at_row(Table *table)
{
	if (both(0, CMP_TAG,
			 S("declare cu cursor for select * from %s where id = (select id from %s order by id"
			   " offset %d limit 1) for update", table->name, table->name, rnd(0, 300))) &&
		both(0, CMP_ROWS, "fetch cu") &&
		both(0, CMP_TAG, chance(60) ?
			 S("update %s set %s where current of cu", table->name,
			   assignments(table, table->name)) :
			 S("delete from %s where current of cu", table->name)))
		both(0, CMP_TAG, "close cu");
}

/* Cursors over groups, over orders without ties in any direction; and WHERE CURRENT OF. */
void
step_cursor(void)
{
	Table	   *table = random_table();
	bool		in_transaction = status_of(0) == PQTRANS_INTRANS;

	if (table == NULL || status_of(0) == PQTRANS_INERROR)
		return;
	if (!in_transaction)
		both(0, CMP_TAG, "begin");
	if (chance(30))
		step_analytic_cursor(0, table);
	else if (table->kind != 'm' && table->unique_id && chance(30))
		cursor_at_row(table);
	else if (table->unique_id)
		cursor_in_order(table, in_transaction);
	if (!in_transaction && status_of(0) != PQTRANS_IDLE)
		both(0, CMP_TAG, chance(80) ? "commit" : "rollback");
	if (in_transaction && status_of(0) == PQTRANS_INERROR)
		both(0, CMP_TAG, "rollback");
	model_is_stale = true;
}

/* ---- rows in motion ---- */

/* Rows for the row tree, and changes of some. */
static void
write_single_rows(Table *table)
{
	int			n = chance(70) ? rnd(5, 60) : rnd(200, 1500);

	for (int i = rnd(1, 8); i > 0 && !round_failed; i--)
		both(0, CMP_TAG, insert_values(table));
	if (chance(60))
	{
		char	   *values;
		char	   *names = column_list(table, &values);
		int			first = fresh_ids(n);

		/* one by one; a row that a constraint refuses is left out */
		both(0, CMP_TAG, S("do $do$ declare g int; begin for g in %d .. %d loop begin"
						   " insert into %s (%s) values (%s);"
						   " exception when integrity_constraint_violation then null; end;"
						   " end loop; end $do$", first, first + n - 1, table->name, names,
						   values));
	}
	for (int i = rnd(0, 2); i > 0 && !round_failed; i--)
	{
		int			lo = some_id();

		both(0, CMP_TAG, chance(60) ?
			 S("update %s set %s where id between %d and %d", table->name,
			   assignments(table, table->name), lo, lo + rnd(0, 80)) :
			 S("delete from %s where id between %d and %d", table->name, lo, lo + rnd(0, 20)));
	}
}

static void
move_rows(Table *table, bool has_cursor)
{
	if (chance(30))
		both(0, CMP_TAG, S("set zedstore.min_segment_rows = %d", chance(50) ? 1 : 100));
	both(0, CMP_TAG, S("vacuum (truncate off%s) %s",
					   has_cursor ? ", index_cleanup off" : "", table->name));
	if (table->kind != 'p' && chance(50))
		one_side(ZED, 0, S("do $do$ begin if (select amname from pg_class c join pg_am a"
						   " on a.oid = c.relam where c.oid = '%s'::regclass) = 'zedstore' then"
						   " perform zs_compact('%s'); end if; end $do$", table->name,
						   table->name));
}

/* What a guest looks at between two motions. */
static void
look_around(int session, Table *table, bool has_cursor, bool is_ordered)
{
	for (int i = rnd(1, 4); i > 0 && !round_failed && status_of(session) == PQTRANS_INTRANS; i--)
	{
		if (has_cursor && chance(70))
			both(session, is_ordered ? CMP_ORDER : CMP_TAG,
				 is_ordered ? random_move("mo") : S("fetch %d from mo", rnd(0, 400)));
		else if (chance(40))
			both(session, CMP_ROWS, hash_of(table));
		else
			step_query(session);
	}
}

/*
 * Sessions 1 and 2 look at a table, the first by a cursor, while session 0 writes rows to it and
 * moves them.
 */
void
step_motion(void)
{
	Table	   *table = random_table();
	bool		has_cursor = chance(70);
	bool		is_ordered = table != NULL && table->unique_id && chance(70);

	if (table == NULL || table->kind == 'm')
		return;
	end_guests();
	if (chance(50))
		write_single_rows(table);
	begin_transaction(1, chance(50) ? "" : " isolation level repeatable read");
	begin_transaction(2, " isolation level repeatable read");
	both(2, CMP_ROWS, hash_of(table));
	if (has_cursor)
		has_cursor = is_ordered ? declare_cursor(1, table, "mo", false) :
			both(1, CMP_TAG, S("declare mo scroll cursor for select t.* from %s t where %s",
							   table->name, analytic_condition(table, "t")));
	if (status_of(1) == PQTRANS_INTRANS && has_cursor && chance(80))
		both(1, is_ordered ? CMP_ORDER : CMP_TAG, "fetch 5 from mo");
	for (int i = rnd(1, 4); i > 0 && !round_failed; i--)
	{
		write_single_rows(table);
		if (!round_failed)
			move_rows(table, has_cursor);
		if (!round_failed)
			look_around(1, table, has_cursor, is_ordered);
		if (!round_failed && status_of(2) == PQTRANS_INTRANS)
			both(2, CMP_ROWS, hash_of(table));
	}
	/* an order that nobody has asked for: all rows are the same */
	if (!round_failed && has_cursor && !is_ordered && status_of(1) == PQTRANS_INTRANS)
	{
		(void) (both(1, CMP_TAG, "move backward all in mo") &&
				both(1, CMP_ROWS, "fetch all from mo") &&
				both(1, CMP_ROWS, "fetch backward all from mo"));
	}
	end_guests();
	model_is_stale = true;
}
