/*
 * concurrent.c
 *		A round of the concurrent mode.
 *
 * Threads with a session each work on these tables for a while, then
 * everything is verified.
 *
 * z, h		A zedstore table and its heap twin.  A transaction does to both what it
 *			does to one: the first statement says which rows it got hold of and
 *			what they are now, the second one does the same to these rows of the
 *			other table and must return the same.  Since the rows of the first
 *			table are locked by then, and every other transaction needs both, it
 *			cannot legitimately see anything else.  So a lost update, a recheck
 *			with the wrong row version or an invisible row shows at once, at any
 *			isolation level; and every snapshot sees equal tables.
 * c, clog	Counters, and a heap table that gets a row for each increment.
 * acc		Accounts, whose sum is constant.
 * p, ch	Parents and children with a cascading foreign key: no orphans.
 * duty		Somebody of each pair is on duty, which holds under SERIALIZABLE only.
 *
 * A further thread maintains the tables, and one cancels and terminates
 * sessions, and with --crash kills server processes.  Transactions that end
 * with a deadlock, a serialization failure and the like are forgotten.
 */
#include "difftest.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#define NIDS		400
#define NACCOUNTS	20
#define NPAIRS		4
#define MAX_SESSIONS 32

typedef struct Worker
{
	pthread_t	thread;
	int			number;
	uint64_t	seed;
	PGconn	   *conn;
	volatile int pid;			/* of the server process, for the killer */
	volatile int gid;			/* of the prepared transaction that it is going to end itself, or 0 */
	bool		failed;			/* the transaction is to be given up */
	char		sqlstate[6];
	char	  **rows;			/* of the last statement, sorted */
	int			nrows;
	Buf			ids;			/* first columns of them, as an array */
	long		commits;
	long		giveups;
} Worker;

static Worker workers[MAX_SESSIONS];
static volatile bool stopping;
static volatile bool killing;	/* lost connections are expected */
static int	next_gid;
static pthread_mutex_t gid_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- statements of a worker */

static void
ignore_notice(void *arg, const PGresult *res)
{
	(void) arg;
	(void) res;
}

static void
reconnect(Worker *w)
{
	for (int tries = 0; tries < 1200; tries++)
	{
		char		conninfo[1024];

		if (w->conn != NULL)
			PQfinish(w->conn);
		snprintf(conninfo, sizeof(conninfo), "%s dbname=difftest_c application_name=difftest%d",
				 options.conninfo, w->number);
		w->conn = PQconnectdb(conninfo);
		if (PQstatus(w->conn) == CONNECTION_OK)
		{
			PGresult   *res;
			bool		ok;

			PQsetNoticeReceiver(w->conn, ignore_notice, NULL);
			res = PQexec(w->conn, "set client_min_messages = error; set deadlock_timeout = '100ms'; set lock_timeout = '10s';"
									 "set statement_timeout = '120s'; set zedstore.write_buffer_size = '1MB'");
			ok = PQresultStatus(res) == PGRES_COMMAND_OK;
			PQclear(res);
			if (ok)
			{
				w->pid = PQbackendPID(w->conn);
				return;
			}
		}
		usleep(100000);
	}
	difference("cannot connect again: %s", PQerrorMessage(w->conn));
	stopping = true;
}

/* Errors that transactions of others, or the killer, may cause. */
static bool
is_expected(Worker *w)
{
	static const char *const always[] = {"40001", "40P01", "55P03", "23505", "23503"};
	static const char *const by_killer[] =
		{"57P01", "57014", "57P02", "57P03", "08006", "08003", "25006"};

	for (size_t i = 0; i < lengthof(always); i++)
	{
		if (strcmp(w->sqlstate, always[i]) == 0)
			return true;
	}
	for (size_t i = 0; killing && i < lengthof(by_killer); i++)
	{
		if (strcmp(w->sqlstate, by_killer[i]) == 0)
			return true;
	}
	/* a terminated session's last words get lost at times; a crash shows by the sentinel */
	return killing && PQstatus(w->conn) != CONNECTION_OK;
}

static int
compare_rows(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Runs a statement unless an earlier one failed; true if it succeeded. */
static bool
run(Worker *w, const char *sql)
{
	PGresult   *res;

	if (w->failed)
		return false;
	log_line("%d %s", w->number, sql);
	res = PQexec(w->conn, sql);
	w->nrows = 0;
	w->sqlstate[0] = '\0';
	if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK)
	{
		const char *sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);

		if (sqlstate != NULL)
			snprintf(w->sqlstate, sizeof(w->sqlstate), "%s", sqlstate);
		w->failed = true;
		log_line("# %d %s", w->number, PQresultErrorMessage(res));
		if (!is_expected(w))
		{
			difference("session %d: %.1000s\n  %.1000s", w->number, sql, PQresultErrorMessage(res));
			stopping = true;
		}
	}
	else
	{
		w->nrows = PQntuples(res);
		w->rows = realloc(w->rows, sizeof(char *) * ((size_t) w->nrows + 1));
		buf_clear(&w->ids);
		for (int row = 0; row < w->nrows; row++)
		{
			Buf			text = {0};

			buf_add(&text, "%s", "");
			for (int col = 0; col < PQnfields(res); col++)
				buf_add(&text, "%s|",
						PQgetisnull(res, row, col) ? "(null)" : PQgetvalue(res, row, col));
			w->rows[row] = S("%s", text.data);
			buf_add(&w->ids, "%s%s", row > 0 ? "," : "", PQgetvalue(res, row, 0));
			buf_free(&text);
		}
		qsort(w->rows, (size_t) w->nrows, sizeof(char *), compare_rows);
	}
	PQclear(res);
	if (PQstatus(w->conn) != CONNECTION_OK)
	{
		w->failed = true;
		if (!stopping || killing)
			reconnect(w);
	}
	return !w->failed;
}

static void
violated(Worker *w, const char *format,...)
{
	va_list		args;
	char		text[3000];

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	difference("session %d: %s", w->number, text);
	stopping = true;
}

/* A query that must return no row. */
static void
expect_none(Worker *w, const char *what, const char *sql)
{
	if (run(w, sql) && w->nrows > 0)
		violated(w, "%s: %d rows, the first is %s\n  %s", what, w->nrows, w->rows[0], sql);
}

/* Ends a transaction in one way or another, whatever happened in it. */
static void
finish(Worker *w)
{
	int			gid;

	if (w->failed)
	{
		w->failed = false;
		w->giveups++;
		if (PQtransactionStatus(w->conn) != PQTRANS_IDLE)
			run(w, "rollback");
		w->failed = false;
		return;
	}
	switch (rnd(0, 11))
	{
		case 0:
			run(w, "rollback");
			break;
		case 1:
			pthread_mutex_lock(&gid_lock);
			gid = ++next_gid;
			pthread_mutex_unlock(&gid_lock);
			w->gid = gid;
			if (run(w, S("prepare transaction 'difftest_c%d'", gid)))
				run(w, S("%s prepared 'difftest_c%d'", chance(70) ? "commit" : "rollback", gid));
			w->gid = 0;
			break;
		default:
			run(w, "commit");
			break;
	}
	if (w->failed)
	{
		w->failed = false;
		if (PQtransactionStatus(w->conn) != PQTRANS_IDLE)
			run(w, "rollback");
		w->failed = false;
		w->giveups++;
	}
	else
		w->commits++;
}

static void
begin(Worker *w)
{
	static const char *const levels[] = {
		"read committed", "read committed", "read committed", "repeatable read", "repeatable read", "serializable"
	};

	run(w, S("begin isolation level %s", pick(levels)));
	if (chance(20))
		run(w, S("set local zedstore.min_segment_rows = %d", rnd(1, 50)));
	if (chance(15))
		run(w, chance(50) ? "set local enable_seqscan = off" : "set local enable_indexscan = off");
}

/* ---- transactions */

static char *
some_ids(void)
{
	Buf			buf = {0};
	char	   *list;

	for (int i = chance(60) ? 1 : rnd(2, 12); i > 0; i--)
		buf_add(&buf, "%s%d", buf.len > 0 ? "," : "", chance(40) ? rnd(1, 12) : rnd(1, NIDS));
	list = S("%s", buf.data);
	buf_free(&buf);
	return list;
}

#define TWIN_COLUMNS "id, v, w, k, md5(pad)"

/*
 * A statement with %1$s for the table and %2$s for the condition, for one of
 * the twins; then for the other, where the condition is to be one of the rows
 * that the first one returned, or condition2.  See the head of the file.
 */
static void
twin_statement(Worker *w, const char *statement, const char *condition, const char *condition2)
{
	bool		z_first = chance(70);
	const char *first = z_first ? "z" : "h";
	const char *second = z_first ? "h" : "z";
	char	  **rows;
	int			nrows;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (!run(w, S(statement, first, condition)))
		return;
	nrows = w->nrows;
	if (nrows == 0)
		return;
	rows = malloc(sizeof(char *) * (size_t) nrows);
	memcpy(rows, w->rows, sizeof(char *) * (size_t) nrows);
	if (run(w, S(statement, second,
				 condition2 != NULL ? condition2 : S("id = any ('{%s}')", w->ids.data))))
	{
		int			i = 0;

		while (i < nrows && i < w->nrows && strcmp(rows[i], w->rows[i]) == 0)
			i++;
		if (i < nrows || i < w->nrows)
			violated(w, "the twins differ after %s\n  %s: %d rows, %s\n  %s: %d rows, %s",
					 S(statement, first, condition), first, nrows,
					 i < nrows ? rows[i] : "(none)", second, w->nrows, i < w->nrows ? w->rows[i] :
						 "(none)");
	}
#pragma GCC diagnostic pop
	free(rows);
}

static void
twin_change(Worker *w)
{
	char	   *pad = chance(10) ? S("repeat(md5('%d'), %d)", rnd(0, 1000), rnd(1, 600)) :
		S("'pad %d'", rnd(0, 1000));
	char	   *condition = chance(75) ? S("id = any ('{%s}')", some_ids()) :
		chance(50) ? S("k = %d and v %% 3 = %d", rnd(0, 20), rnd(0, 2)) :
			S("v between %d and %d and id %% 7 = %d", rnd(0, 50), rnd(20, 90), rnd(0, 6));
	int			id = rnd(1, NIDS);

	switch (rnd(0, 9))
	{
		case 0:
			twin_statement(w, "delete from %1$s where %2$s returning " TWIN_COLUMNS, condition,
						   NULL);
			break;
		case 1:
			twin_statement(w, S("insert into %%1$s (id, v, w, k, pad) values (%d, %d, 0, %d, %s) on conflict do nothing returning "
								TWIN_COLUMNS, id, rnd(0, 100), rnd(0, 20), pad), "", NULL);
			break;
		case 2:
		case 3:
			twin_statement(w, S("insert into %%1$s as t (id, v, w, k, pad) values (%d, %d, 0, %d, %s) on conflict (id) do update"
								" set v = t.v + 1, w = t.w + excluded.k returning " TWIN_COLUMNS, id, rnd(0, 100), rnd(0, 20), pad), "", NULL);
			break;
		case 4:
			twin_statement(w,
						   S("select " TWIN_COLUMNS " from %%1$s where %%2$s for %s",
							 chance(40) ? "share" : chance(50) ? "update" : "no key update"),
						   condition, NULL);
			break;
		case 5:
			/* keys move; a conflict ends the transaction */
			twin_statement(w,
						   S("update %%1$s set id = %d where %%2$s returning " TWIN_COLUMNS,
							 rnd(1, NIDS)),
						   S("id = %d", id), S("id = %d", id));
			break;
		case 6:
			twin_statement(w, S("update %%1$s set pad = %s, k = (k + %d) %% 21 where %%2$s returning " TWIN_COLUMNS, pad, rnd(1, 20)), condition, NULL);
			break;
		case 7:
			twin_statement(w, S("merge into %%1$s t using (values (%d), (%d)) s (i) on t.id = s.i when matched then update set v = v + 5"
								" when not matched then insert (id, v, w, k, pad) values (i, 0, 0, i %% 20, 'merged') returning t.id, t.v, t.w, t.k, md5(t.pad)", id, id % NIDS + 1), "", NULL);
			break;
		default:
			twin_statement(w, S("update %%1$s set v = v + %d, w = w + 1 where %%2$s returning " TWIN_COLUMNS, rnd(-3, 5)), condition, NULL);
			break;
	}
}

static void
twin_transaction(Worker *w)
{
	begin(w);
	for (int i = rnd(1, 5); i > 0 && !w->failed; i--)
	{
		bool		savepoint = chance(25);

		if (savepoint)
			run(w, "savepoint s");
		twin_change(w);
		if (savepoint && w->failed && PQtransactionStatus(w->conn) == PQTRANS_INERROR && chance(60))
		{
			w->failed = false;
			run(w, "rollback to savepoint s");
		}
		else if (savepoint)
			run(w, chance(50) ? "rollback to savepoint s" : "release savepoint s");
		if (chance(10))
			usleep((unsigned) rnd(0, 20000));
	}
	finish(w);
}

static void
bulk_transaction(Worker *w)
{
	int			lo = 10000 + w->number * 100000 + rnd(0, 900) * 100;

	begin(w);
	twin_statement(w, S("delete from %%1$s where id between %d and %d and %%2$s returning " TWIN_COLUMNS, lo, lo + 99), "true", NULL);
	twin_statement(w, S("insert into %%1$s (id, v, w, k, pad) select g, g %% 100, 0, g %% 21, 'bulk ' || g from generate_series(%d, %d) g returning "
						TWIN_COLUMNS, lo, lo + rnd(0, 99)), "", NULL);
	finish(w);
}

static void
counter_transaction(Worker *w)
{
	begin(w);
	for (int i = rnd(1, 3); i > 0; i--)
	{
		int			id = rnd(1, 5);

		if (chance(30))
			run(w, S("select n from c where id = %d for %s", id,
					 chance(50) ? "update" : "key share"));
		if (run(w, S("update c set n = n + 1 where id = %d returning n", id)) && w->nrows != 1)
			violated(w, "counter %d is not found", id);
		run(w, S("insert into clog values (%d)", id));
	}
	finish(w);
}

static void
bank_transaction(Worker *w)
{
	int			from = rnd(1, NACCOUNTS);
	int			to = from % NACCOUNTS + 1;
	int			amount = rnd(1, 10);

	begin(w);
	if (chance(50))
	{
		run(w, S("update acc set balance = balance - %d where id = %d", amount, from));
		run(w, S("update acc set balance = balance + %d where id = %d", amount, to));
	}
	else if (chance(50))
		run(w, S("update acc set balance = balance + case id when %d then %d else %d end where id in (%d, %d)", from, -amount, amount, from, to));
	else
	{
		/* what was read under lock is still so */
		run(w, S("select id, balance from acc where id in (%d, %d) order by id for update", from,
				 to));
		if (!w->failed && w->nrows == 2)
		{
			char	   *one = w->rows[0];
			char	   *two = w->rows[1];

			run(w, S("update acc set balance = %d where id = %d",
					 atoi(strchr(one, '|') + 1) - amount, atoi(one)));
			run(w, S("update acc set balance = %d where id = %d",
					 atoi(strchr(two, '|') + 1) + amount, atoi(two)));
		}
		else if (!w->failed)
			violated(w, "%d of two accounts are found", w->nrows);
	}
	finish(w);
}

static void
family_transaction(Worker *w)
{
	begin(w);
	for (int i = rnd(1, 3); i > 0; i--)
	{
		int			id = rnd(1, 30);

		switch (rnd(0, 5))
		{
			case 0:
				run(w, S("delete from p where id = %d", id));
				break;
			case 1:
				run(w, S("update p set id = %d where id = %d", rnd(1, 30), id));
				break;
			case 2:
				run(w, S("insert into p values (%d, 0) on conflict (id) do update set x = p.x + 1",
						 id));
				break;
			case 3:
				run(w, S("update p set x = x + 1 where id = %d", id));
				break;
			default:
				run(w, S("insert into ch (pid, note) values (%d, 'child')", id));
				break;
		}
	}
	finish(w);
}

static void
duty_transaction(Worker *w)
{
	int			pair = rnd(1, NPAIRS);

	run(w, "begin isolation level serializable");
	if (chance(20))
		run(w, "set local enable_seqscan = off");
	run(w, S("select member from duty where pair = %d and on_duty", pair));
	if (!w->failed)
	{
		if (w->nrows == 0)
			violated(w, "nobody of pair %d is on duty", pair);
		else if (w->nrows == 2)
			run(w, S("update duty set on_duty = false where pair = %d and member = %d", pair,
					 rnd(1, 2)));
		else
			run(w, S("update duty set on_duty = true where pair = %d", pair));
	}
	finish(w);
}

/* Equal twins, by whatever plan; and the other invariants, in one snapshot. */
static void
check_snapshot(Worker *w)
{
	static const char *const plans[] = {
		"", "set local enable_seqscan = off", "set local enable_seqscan = off; set local enable_indexscan = off; set local enable_indexonlyscan = off",
		"set local enable_bitmapscan = off; set local enable_seqscan = off"
	};
	static const char *const sums[] = {
		"count(*), sum(hashtextextended(concat_ws(',', id, v, w, k, pad), 0)::numeric)", "count(*), sum(v), sum(w)", "count(*), sum(id)"
	};
	static const char *const wheres[] =
		{"id > 0", "k >= 0", "v is not null", "id between 1 and 300"};
	char	   *before = NULL;
	const char *sum = pick(sums);
	const char *where = pick(wheres);

	run(w, chance(70) ? "begin isolation level repeatable read" :
		"begin isolation level serializable");
	for (int i = rnd(1, 3); i > 0 && !w->failed; i--)
	{
		const char *plan = pick(plans);

		if (plan[0] != '\0')
			run(w, plan);
		for (int z = 0; z <= 1; z++)
		{
			if (!run(w, S("select %s from %s where %s", sum, z ? "z" : "h", where)))
				break;
			if (before != NULL && strcmp(before, w->rows[0]) != 0)
				violated(w, "a snapshot saw %s and then %s: select %s from %s where %s", before,
						 w->rows[0], sum, z ? "z" : "h", where);
			before = w->rows[0];
		}
		run(w, "set local enable_seqscan = on; set local enable_indexscan = on; set local enable_indexonlyscan = on; set local enable_bitmapscan = on");
		if (chance(50))
			usleep((unsigned) rnd(0, 100000));
	}
	expect_none(w, "the twins differ",
				"select z.id, h.id, z.v, h.v from (select * from z) z full join h using (id)"
				" where (z.v, z.w, z.k, z.pad) is distinct from (h.v, h.w, h.k, h.pad) or (z.v is null) <> (h.v is null)");
	expect_none(w, "doubles", "select id, count(*) from z group by id having count(*) > 1");
	expect_none(w, "orphans",
				"select ch.pid from ch left join p on p.id = ch.pid where p.id is null");
	expect_none(w, "counters", "select (select sum(n) from c), (select count(*) from clog) where (select sum(n) from c) <> (select count(*) from clog)");
	expect_none(w, "accounts", S("select sum(balance), count(*) from acc having sum(balance) <> %d or count(*) <> %d", NACCOUNTS * 100, NACCOUNTS));
	finish(w);
}

/* Two cursors on twins stay together while everything changes. */
static void
cursor_transaction(Worker *w)
{
	run(w, "begin isolation level repeatable read");
	if (chance(50))
		run(w, "set local enable_seqscan = off");
	run(w, "declare ch cursor for select " TWIN_COLUMNS " from h where id < 2000 order by id");
	run(w, "declare cz cursor for select " TWIN_COLUMNS " from z where id < 2000 order by id");
	for (int i = 0; i < 12 && !w->failed; i++)
	{
		Buf			texts[2] = {{0}, {0}};

		for (int z = 0; z <= 1 && run(w, z ? "fetch 30 from cz" : "fetch 30 from ch"); z++)
		{
			buf_add(&texts[z], "%d rows", w->nrows);
			for (int row = 0; row < w->nrows; row++)
				buf_add(&texts[z], " %s", w->rows[row]);
		}
		if (!w->failed && strcmp(texts[0].data, texts[1].data) != 0)
		{
			expect_none(w, "the cursors differ",
						"select z.id, h.id, z.v, h.v, z.ctid from z full join h using (id)"
						" where (z.v, z.w, z.k, z.pad) is distinct from (h.v, h.w, h.k, h.pad) or (z.v is null) <> (h.v is null)");
			violated(w, "the cursors differ\n  %s\n  %s", texts[0].data, texts[1].data);
		}
		buf_free(&texts[0]);
		buf_free(&texts[1]);
		usleep((unsigned) rnd(0, 30000));
	}
	finish(w);
}

static void *
work(void *arg)
{
	Worker	   *w = arg;

	rng_seed(w->seed);
	reconnect(w);
	while (!stopping)
	{
		int			what = rnd(0, 99);

		forget_strings();
		w->failed = false;
		if (what < 45)
			twin_transaction(w);
		else if (what < 50)
			bulk_transaction(w);
		else if (what < 62)
			counter_transaction(w);
		else if (what < 74)
			bank_transaction(w);
		else if (what < 84)
			family_transaction(w);
		else if (what < 90)
			duty_transaction(w);
		else if (what < 97)
			check_snapshot(w);
		else
			cursor_transaction(w);
	}
	forget_strings();
	PQfinish(w->conn);
	w->conn = NULL;
	return NULL;
}

/* ---- maintenance */

/* Errors do not matter here but those that say that something is broken. */
static void
attempt(Worker *w, const char *sql)
{
	PGresult   *res;

	log_line("%d %s", w->number, sql);
	res = PQexec(w->conn, sql);
	if (PQresultStatus(res) == PGRES_FATAL_ERROR)
	{
		const char *sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);

		log_line("# %d %s", w->number, PQresultErrorMessage(res));
		if (sqlstate != NULL && strncmp(sqlstate, "XX", 2) == 0)
			violated(w, "%s\n  %s", sql, PQresultErrorMessage(res));
	}
	PQclear(res);
	if (PQstatus(w->conn) != CONNECTION_OK)
	{
		if (!options.crash && !killing)
			violated(w, "the connection is lost in %s", sql);
		reconnect(w);
	}
}

/* Is a session about to end the prepared transaction? */
static bool
is_in_hand(const char *gid)
{
	for (int i = 0; i < MAX_SESSIONS; i++)
	{
		if (workers[i].gid != 0 && strcmp(gid, S("difftest_c%d", workers[i].gid)) == 0)
			return true;
	}
	return false;
}

/* Prepared transactions that no session is going to end any more. */
static void
resolve_prepared(Worker *w)
{
	PGresult   *res =
		PQexec(w->conn, "select gid from pg_prepared_xacts where database = 'difftest_c'");

	for (int i = 0; i < PQntuples(res); i++)
	{
		if (!is_in_hand(PQgetvalue(res, i, 0)))
			attempt(w, S("%s prepared '%s'", chance(50) ? "commit" : "rollback",
						 PQgetvalue(res, i, 0)));
	}
	PQclear(res);
}

static void *
maintain(void *arg)
{
	static const char *const tables[] = {"z", "z", "z", "c", "acc", "p", "ch", "duty"};
	Worker	   *w = arg;
	int			columns = 0;

	rng_seed(w->seed);
	reconnect(w);
	attempt(w, "set lock_timeout = '3s'");
	while (!stopping)
	{
		const char *table = pick(tables);

		forget_strings();
		resolve_prepared(w);
		switch (rnd(0, 15))
		{
			case 0:
				attempt(w, S("vacuum full %s", table));
				break;
			case 1:
				attempt(w, S("vacuum (freeze%s) %s", chance(50) ? ", disable_page_skipping" : "",
							 table));
				break;
			case 2:
				attempt(w, S("create index concurrently z_w%s on z (w)%s", chance(50) ? "" : "2",
							 chance(50) ? "" : " include (v)"));
				break;
			case 3:
				attempt(w, S("drop index concurrently if exists z_w%s", chance(50) ? "" : "2"));
				break;
			case 4:
				attempt(w, "reindex index concurrently z_pkey");
				break;
			case 5:
				attempt(w, S("reindex table concurrently %s", table));
				break;
			case 6:
				attempt(w, S("cluster %s using %s_pkey", table, table));
				break;
			case 7:
				attempt(w, S("analyze %s", table));
				break;
			case 8:
				attempt(w, S("alter table z add column x%d int default %d", ++columns, rnd(0, 9)));
				break;
			case 9:
				if (columns > 0)
					attempt(w, S("alter table z drop column if exists x%d", rnd(1, columns)));
				break;
			case 10:
				attempt(w, "checkpoint");
				break;
			case 11:
				attempt(w, S("select bt_index_check('%s_pkey', heapallindexed => true)", table));
				break;
			case 12:
				attempt(w, S("select bt_index_parent_check('%s_pkey', heapallindexed => true)",
							 table));
				break;
			default:
				attempt(w, S("vacuum %s", table));
				break;
		}
		usleep((unsigned) rnd(0, 200000));
	}
	resolve_prepared(w);
	PQfinish(w->conn);
	w->conn = NULL;
	forget_strings();
	return NULL;
}

/* Cancels, terminates, and kills sessions in the second half of the round. */
static void *
kill_sessions(void *arg)
{
	Worker	   *w = arg;
	double		began = now_seconds();

	rng_seed(w->seed);
	while (!stopping && now_seconds() - began < options.phase_seconds / 2.0)
		usleep(100000);
	reconnect(w);
	killing = true;
	while (!stopping)
	{
		int			pid = workers[rnd(0, options.sessions)].pid;

		forget_strings();
		usleep((unsigned) rnd(50000, 700000));
		if (options.crash && chance(20))
		{
			log_line("# kill -9 %d", pid);
			kill(pid, SIGKILL);
			sleep(1);
		}
		else
			attempt(w, S("select pg_%s_backend(%d)", chance(60) ? "cancel" : "terminate", pid));
	}
	PQfinish(w->conn);
	w->conn = NULL;
	forget_strings();
	return NULL;
}

/* ---- the round */

void
prepare_concurrent(void)
{
	PGconn	   *conn = connect_to("postgres", "");

	exec_or_die(conn, "set client_min_messages = error");
	exec_or_die(conn, "drop database if exists difftest_c with (force)");
	exec_or_die(conn, "create database difftest_c");
	PQfinish(conn);
	conn = connect_to("difftest_c", "");
	exec_or_die(conn, "create extension zedstore_io schema public; create extension amcheck");
	PQfinish(conn);
}

static void
create_tables(void)
{
	PGconn	   *conn =
		connect_to("difftest_c",
				   "set client_min_messages = error; set default_table_access_method = zedstore");

	exec_or_die(conn, "drop table if exists z, h, c, clog, acc, p, ch, duty cascade");
	exec_or_die(conn,
				"create table h (id int primary key, v int, w int, k int, pad text) using heap");
	exec_or_die(conn, "create table z (id int primary key, v int, w int, k int, pad text)");
	exec_or_die(conn, "create table c (id int primary key, n int); create table clog (id int) using heap");
	exec_or_die(conn, "create table acc (id int primary key, balance int)");
	exec_or_die(conn, "create table p (id int primary key, x int)");
	exec_or_die(conn, "create table ch (id serial primary key, pid int references p on delete cascade on update cascade, note text)");
	exec_or_die(conn, "create table duty (pair int, member int, on_duty bool, constraint duty_pkey primary key (pair, member))");
	exec_or_die(conn, S("set zedstore.min_segment_rows = %d", rnd(1, 500)));
	exec_or_die(conn, S("insert into h select i, i %% 100, 0, i %% 21, 'pad ' || i from generate_series(1, %d) i", NIDS));
	exec_or_die(conn, "insert into z select * from h");
	if (chance(50))
		exec_or_die(conn, "insert into h select i, i % 100, 0, i % 21, 'pad ' || i from generate_series(2000000, 2020000) i; insert into z select * from h where id >= 2000000");
	exec_or_die(conn, "create index h_k on h (k); create index z_k on z (k); create index h_v on h (v); create index z_v on z (v)");
	exec_or_die(conn, "insert into c select i, 0 from generate_series(1, 5) i");
	exec_or_die(conn, S("insert into acc select i, 100 from generate_series(1, %d) i", NACCOUNTS));
	exec_or_die(conn, "insert into p select i, 0 from generate_series(1, 20) i");
	exec_or_die(conn, "create index on ch (pid)");
	exec_or_die(conn, S("insert into duty select i, m, true from generate_series(1, %d) i, generate_series(1, 2) m", NPAIRS));
	PQfinish(conn);
}

static void
verify_all(Worker *w)
{
	w->failed = false;
	reconnect(w);
	resolve_prepared(w);
	check_snapshot(w);
	expect_none(w, "duty", "select pair from duty group by pair having not bool_or(on_duty)");
	expect_none(w, "zs_check", "select c.oid::regclass, k.* from pg_class c join pg_am a on a.oid = c.relam, lateral zs_check(c.oid::regclass) k"
				" where a.amname = 'zedstore' and c.relkind in ('r', 'm', 't') and k.severity <> 'notice'");
	expect_none(w, "amcheck",
				"select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid,"
				" lateral (select bt_index_check(index => i.indexrelid, heapallindexed => true, checkunique => indisunique)::text as said) k"
				" where c.relam = 403 and c.relnamespace = 'public'::regnamespace and i.indisvalid and i.indisready and k.said <> ''");
	PQfinish(w->conn);
	w->conn = NULL;
}

void
concurrent_round(uint64_t seed)
{
	int			n = options.sessions < MAX_SESSIONS - 2 ? options.sessions : MAX_SESSIONS - 2;
	Worker	   *verifier = &workers[n + 1];
	double		began = now_seconds();
	PGconn	   *sentinel = connect_to("difftest_c", "");
	PGresult   *res;

	PQsetNoticeReceiver(sentinel, ignore_notice, NULL);
	options.sessions = n;
	rng_seed(seed);
	killing = stopping = false;
	create_tables();
	for (int i = 0; i < n + 2; i++)
	{
		workers[i].number = i;
		workers[i].seed = seed * 1000 + (uint64_t) i;
		workers[i].failed = false;
		workers[i].gid = 0;
		workers[i].commits = workers[i].giveups = 0;
		if (pthread_create(&workers[i].thread, NULL,
						   i < n ? work : i == n ? maintain : kill_sessions, &workers[i]) != 0)
			fatal("cannot create a thread");
	}
	while (!stopping && now_seconds() - began < options.phase_seconds)
		usleep(50000);
	stopping = true;
	for (int i = 0; i < n + 2; i++)
	{
		pthread_join(workers[i].thread, NULL);
		statements_run += workers[i].commits;
		statements_failed += workers[i].giveups;
	}
	killing = false;
	/* nobody terminates this session: if it is gone, the server crashed */
	res = PQexec(sentinel, "select 1");
	if (PQresultStatus(res) != PGRES_TUPLES_OK && !options.crash)
		difference("the server crashed: %s", PQerrorMessage(sentinel));
	PQclear(res);
	PQfinish(sentinel);
	if (!round_failed)
		verify_all(verifier);
	forget_strings();
}
