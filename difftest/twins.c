/*
 * twins.c
 *		The sessions of both sides, and the comparison of what they answer.
 *
 * Errors: both sides must fail or none.  When both fail, SQLSTATE and message
 * must agree, except among errors about the data: of several rows that violate
 * something, the one that is visited first is reported.
 */
#include "difftest.h"

#include <poll.h>

typedef struct Outcome
{
	bool		failed;
	bool		lost;			/* the connection */
	char		sqlstate[6];
	Buf			message;		/* error, tag */
	Buf			rows;
	char	  **lines;			/* into rows */
	int			nlines;
	int			nwarnings;
	Buf			warnings;
} Outcome;

static PGconn *conns[2][NSESSIONS + 1];	/* the last one looks at the others */
static Outcome outcomes[2];
static const char *const databases[2] = {"difftest_h", "difftest_z"};
static const char *const access_methods[2] = {"heap", "zedstore"};
long		statements_run;
long		statements_failed;
long		statements_apart;
long		rehearsals_run;
long		rehearsals_interrupted;
static double sent_at;

/* ---- sessions */

/*
 * Warnings about a leaked resource, say, would go unseen otherwise.  Heap warns of what a failed
 * REINDEX CONCURRENTLY left on a TOAST table, which zedstore does not have.
 */
static void
receive_notice(void *arg, const PGresult *res)
{
	Outcome    *outcome = arg;
	const char *severity = PQresultErrorField(res, PG_DIAG_SEVERITY_NONLOCALIZED);
	const char *message = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

	if (severity == NULL || strcmp(severity, "WARNING") != 0 ||
		strstr(message, "pg_toast.") != NULL)
		return;
	outcome->nwarnings++;
	buf_add(&outcome->warnings, "%s; ", message);
}

void
twins_connect(void)
{
	for (int side = HEAP; side <= ZED; side++)
	{
		for (int i = 0; i <= NSESSIONS; i++)
		{
			conns[side][i] = connect_to(databases[side], "");
			exec_or_die(conns[side][i],
						S("set default_table_access_method = %s", access_methods[side]));
			exec_or_die(conns[side][i], "set timezone = 'UTC'; set extra_float_digits = 3; set statement_timeout = '600s';"
						"set lock_timeout = '400ms'; set search_path = w, public; set client_min_messages = warning;"
						"set deadlock_timeout = '100s'; set jit = off; set max_parallel_workers_per_gather = 0;"
						"set default_transaction_read_only = off");
			PQsetNoticeReceiver(conns[side][i], receive_notice, &outcomes[side]);
		}
	}
}

void
twins_disconnect(void)
{
	for (int side = HEAP; side <= ZED; side++)
	{
		for (int i = 0; i <= NSESSIONS; i++)
		{
			PQfinish(conns[side][i]);
			conns[side][i] = NULL;
		}
	}
}

/* An empty schema, and new sessions. */
void
twins_reset(void)
{
	twins_disconnect();
	for (int side = HEAP; side <= ZED; side++)
	{
		PGconn	   *conn = connect_to(databases[side], "");
		PGresult   *res =
			PQexec(conn, "select gid from pg_prepared_xacts where database = current_database()");

		for (int i = 0; i < PQntuples(res); i++)
			exec_or_die(conn, S("rollback prepared '%s'", PQgetvalue(res, i, 0)));
		PQclear(res);
		exec_or_die(conn, "set client_min_messages = error; drop schema if exists w cascade; create schema w; set search_path = w, public;");
		exec_or_die(conn, types_ddl);
		PQfinish(conn);
	}
	twins_connect();
}

PGTransactionStatusType
status_of(int session)
{
	return PQtransactionStatus(conns[HEAP][session]);
}

/* ---- one statement */

static char *
for_side(const char *sql, Side side)
{
	static Buf	texts[2];
	Buf		   *buf = &texts[side];

	buf_clear(buf);
	while (*sql != '\0')
	{
		size_t		plain = strcspn(sql, "$");

		buf_bytes(buf, sql, plain);
		sql += plain;
		if (strncmp(sql, "$AM", 3) == 0)
		{
			buf_add(buf, "%s", access_methods[side]);
			sql += 3;
		}
		else if (strncmp(sql, "$SIDE", 5) == 0)
		{
			buf_add(buf, "%s", side == HEAP ? "h" : "z");
			sql += 5;
		}
		else if (*sql != '\0')
			buf_bytes(buf, sql++, 1);
	}
	return buf->data;
}

static void
outcome_clear(Outcome *outcome)
{
	outcome->failed = outcome->lost = false;
	outcome->sqlstate[0] = '\0';
	outcome->nlines = 0;
	outcome->nwarnings = 0;
	buf_clear(&outcome->message);
	buf_clear(&outcome->rows);
	buf_clear(&outcome->warnings);
}

static void
take_result(Outcome *outcome, PGconn *conn, PGresult *res)
{
	switch (PQresultStatus(res))
	{
		case PGRES_COMMAND_OK:
			buf_add(&outcome->message, "%s; ", PQcmdStatus(res));
			break;
		case PGRES_TUPLES_OK:
			buf_add(&outcome->message, "%s; ", PQcmdStatus(res));
			for (int row = 0; row < PQntuples(res); row++)
			{
				for (int col = 0; col < PQnfields(res); col++)
				{
					if (PQgetisnull(res, row, col))
						buf_add(&outcome->rows, "(null)|");
					else
					{
						buf_bytes(&outcome->rows, PQgetvalue(res, row, col),
								  (size_t) PQgetlength(res, row, col));
						buf_add(&outcome->rows, "|");
					}
				}
				buf_bytes(&outcome->rows, "", 1);
				outcome->nlines++;
			}
			break;
		case PGRES_COPY_OUT:
			{
				char	   *line;
				int			len;

				while ((len = PQgetCopyData(conn, &line, 0)) > 0)
				{
					buf_bytes(&outcome->rows, line, (size_t) len);
					buf_bytes(&outcome->rows, "", 1);
					outcome->nlines++;
					PQfreemem(line);
				}
				break;
			}
		case PGRES_COPY_IN:
			break;
		default:
			outcome->failed = true;
			if (PQresultErrorField(res, PG_DIAG_SQLSTATE) != NULL)
				snprintf(outcome->sqlstate, sizeof(outcome->sqlstate), "%s",
						 PQresultErrorField(res, PG_DIAG_SQLSTATE));
			buf_add(&outcome->message, "%s",
					PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY) != NULL ?
					PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY) : PQresultErrorMessage(res));
			break;
	}
}

static int
compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

static void
outcome_finish(Outcome *outcome, PGconn *conn, Compare compare)
{
	char	   *line = outcome->rows.data;

	outcome->lost = PQstatus(conn) != CONNECTION_OK;
	outcome->lines = realloc(outcome->lines, sizeof(char *) * ((size_t) outcome->nlines + 1));
	for (int i = 0; i < outcome->nlines; i++)
	{
		outcome->lines[i] = line;
		line += strlen(line) + 1;
	}
	if (compare == CMP_ROWS)
		qsort(outcome->lines, (size_t) outcome->nlines, sizeof(char *), compare_lines);
}

/* Errors that depend on which row comes first. */
static bool
is_about_data(const Outcome *outcome)
{
	const char *sqlstate = outcome->sqlstate;

	/* NaN as an integer is "not supported" */
	if (strncmp(sqlstate, "0A000", 5) == 0)
		return strncmp(outcome->message.data, "cannot convert ", 15) == 0;
	return strncmp(sqlstate, "22", 2) == 0 || strncmp(sqlstate, "23", 2) == 0 ||
		strncmp(sqlstate, "40", 2) == 0 ||
		strncmp(sqlstate, "54", 2) == 0 || strncmp(sqlstate, "55P03", 5) == 0 ||
			strncmp(sqlstate, "21000", 5) == 0;
}

/*
 * Errors that name one table of several: core reads pg_constraint in no order to find who
 * references a table that is to be unlogged.
 */
static bool
names_any_table(const Outcome *outcome)
{
	return strncmp(outcome->sqlstate, "42P16", 5) == 0 &&
		strncmp(outcome->message.data, "could not change table ", 23) == 0;
}

static void
report(const char *what)
{
	Outcome    *h = &outcomes[HEAP];
	Outcome    *z = &outcomes[ZED];

	difference("%s\n  heap:     %.600s %.400s\n  zedstore: %.600s %.400s", what, h->message.data,
			   h->warnings.data,
			   z->message.data, z->warnings.data);
}

static void
compare_outcomes(Compare compare)
{
	Outcome    *h = &outcomes[HEAP];
	Outcome    *z = &outcomes[ZED];

	if (h->lost || z->lost)
		report("a connection is lost, the server may have crashed");
	else if (h->failed != z->failed)
		report("only one side failed");
	else if (h->failed && strcmp(z->sqlstate, "57014") == 0)
		report("statement timeout");
	else if (h->failed &&
			 (strncmp(z->sqlstate, "XX", 2) == 0 || strcmp(h->sqlstate, z->sqlstate) != 0) &&
			 !(is_about_data(h) && is_about_data(z)))
		report("different errors");
	else if (h->failed && strcmp(h->message.data, z->message.data) != 0 && !is_about_data(h) &&
			 !(names_any_table(h) && names_any_table(z)))
		report("different messages");
	else if (!h->failed && strcmp(h->message.data, z->message.data) != 0)
		report("different row counts");
	else if (h->nwarnings != z->nwarnings)
		report("different warnings");
	else if (compare != CMP_TAG)
	{
		int			i = 0;

		while (i < h->nlines && i < z->nlines && strcmp(h->lines[i], z->lines[i]) == 0)
			i++;
		if (i < h->nlines || i < z->nlines)
			difference("different rows, the first at %d of %d and %d\n  heap:     %.1500s\n  zedstore: %.1500s", i + 1,
					   h->nlines, z->nlines, i < h->nlines ? h->lines[i] : "(none)", i < z->nlines ?
						   z->lines[i] : "(none)");
	}
}

void
both_send(int session, const char *sql)
{
	log_line("%d %s", session, sql);
	statements_run++;
	sent_at = now_seconds();
	for (int side = HEAP; side <= ZED; side++)
	{
		outcome_clear(&outcomes[side]);
		if (!PQsendQuery(conns[side][session], for_side(sql, side)))
			difference("cannot send: %s", PQerrorMessage(conns[side][session]));
	}
}

/* Waits for both answers. */
static void
finish(int session, Compare compare)
{
	double		heap_at = 0;

	for (int side = HEAP; side <= ZED; side++)
	{
		PGresult   *res;

		while ((res = PQgetResult(conns[side][session])) != NULL)
		{
			bool		stop = PQresultStatus(res) == PGRES_COPY_IN;

			take_result(&outcomes[side], conns[side][session], res);
			PQclear(res);
			if (stop)
				PQputCopyEnd(conns[side][session], "unexpected COPY FROM STDIN");
		}
		outcome_finish(&outcomes[side], conns[side][session], compare);
		if (side == HEAP)
			heap_at = now_seconds();
	}
	if (now_seconds() - sent_at > 3)
		log_line("# slow: heap %.1f s, both %.1f s", heap_at - sent_at, now_seconds() - sent_at);
}

/* What the log says of heap's outcome; did the statement succeed? */
static bool
log_outcome(Compare compare)
{
	if (outcomes[HEAP].failed)
	{
		statements_failed++;
		log_line("# %s %s", outcomes[HEAP].sqlstate, outcomes[HEAP].message.data);
	}
	else if (compare == CMP_TAG)
		log_line("# %s", outcomes[HEAP].message.data);
	else
		log_line("# %s %d rows", outcomes[HEAP].message.data, outcomes[HEAP].nlines);
	return !outcomes[HEAP].failed;
}

bool
both_finish(int session, Compare compare)
{
	finish(session, compare);
	compare_outcomes(compare);
	return log_outcome(compare);
}

/* ---- plans of the same shape */

/*
 * Adds how a plan's line finds or joins rows, if it does, in words that both sides have in common.
 * Nodes of ours that aggregate, sort or cache stand for the scan below them.
 */
static void
add_shape(Buf *shape, const char *line)
{
	static const char *const ours[] =
		{"Custom Scan (ZedstoreScan)", "Custom Scan (ZedstoreAgg)", "Custom Scan (ZedstoreTopN)",
		"Custom Scan (ZedstoreOrder)"};
	const char *node = strstr(line, "->  ");
	const char *end;

	node = node != NULL ? node + 4 : line + strspn(line, " ");
	if (strncmp(node, "Parallel ", 9) == 0)
		node += 9;
	for (int i = 0; i < (int) lengthof(ours); i++)
	{
		size_t		len = strlen(ours[i]);

		if (strncmp(node, ours[i], len) == 0 && strncmp(node + len, " on ", 4) == 0)
		{
			buf_add(shape, "Seq Scan%s\n", node + len);
			return;
		}
	}
	/* when a subquery is asked among other conditions is a matter of what its tables cost */
	if (strncmp(node, "Filter:", 7) == 0 && strstr(node, "SubPlan") != NULL)
		buf_add(shape, "%s\n", node);
	/* "Hash Join", "Nested Loop Left Join", "Index Scan using i on t", but no conditions */
	end = strchr(node, ':');
	if (end != NULL || strncmp(node, "Custom", 6) == 0)
		return;
	if (strstr(node, "Join") != NULL || strncmp(node, "Nested Loop", 11) == 0 ||
		strstr(node, " Scan ") != NULL)
		buf_add(shape, "%s\n", node);
}

/* What nodes of ours a plan has. */
typedef struct Nodes
{
	bool		ordered;		/* one that returns rows in an order */
	bool		above;			/* one that takes batches of the rows of another node */
} Nodes;

/* How a side finds and joins rows. */
static void
plan_shape(Side side, int session, const char *sql, Buf *shape, Nodes *nodes)
{
	PGconn	   *conn = conns[side][session];
	PGresult   *res;

	exec_or_die(conn, "begin; set local zedstore.enable_adaptive_join = off");
	res = PQexec(conn, S("explain (costs off) %s", for_side(sql, side)));
	buf_clear(shape);
	for (int i = 0; i < PQntuples(res); i++)
	{
		char	   *line = PQgetvalue(res, i, 0);

		log_line("# %c %s", side == HEAP ? 'h' : 'z', line);
		add_shape(shape, line);
		if (strstr(line, "(ZedstoreTopN)") != NULL || strstr(line, "(ZedstoreOrder)") != NULL)
			nodes->ordered = true;
		if (strstr(line, "(ZedstoreAgg)") != NULL && strstr(line, "(ZedstoreAgg) on") == NULL)
			nodes->above = true;
	}
	PQclear(res);
	exec_or_die(conn, "rollback");
}

/*
 * May it come from the plans that the sides do not raise the same?  Yes, if they find or join rows
 * in different ways.  Rows that come in their order, or are the best so many, are not all shown,
 * so heap may fail for one that zedstore does not come to.  And where a batch of rows is taken from
 * another node, a later one of these may fail there before an earlier one fails above.
 */
static bool
plans_explain(int session, const char *sql)
{
	static Buf	shapes[2];
	Nodes		nodes = {0};

	for (int side = HEAP; side <= ZED; side++)
	{
		if (PQtransactionStatus(conns[side][session]) != PQTRANS_IDLE)
			exec_or_die(conns[side][session], "rollback");
		plan_shape(side, session, sql, &shapes[side], &nodes);
	}
	if (strcmp(shapes[HEAP].data, shapes[ZED].data) != 0)
		return true;
	return outcomes[ZED].failed ? outcomes[HEAP].failed && nodes.above : nodes.ordered;
}

bool
both_alike(int session, Compare compare, const char *sql, const char *query, bool same_order)
{
	Outcome    *h = &outcomes[HEAP];
	Outcome    *z = &outcomes[ZED];

	both_send(session, sql);
	finish(session, compare);
	if (strcmp(h->sqlstate, "57014") == 0 && strcmp(z->sqlstate, "57014") == 0)
	{
		log_line("# statement timeout");
		return false;
	}
	if (!h->lost && !z->lost && strncmp(z->sqlstate, "XX", 2) != 0 &&
		strcmp(h->sqlstate, z->sqlstate) != 0)
	{
		log_line("# heap %s, zedstore %s", h->sqlstate, z->sqlstate);
		statements_apart++;
		if ((h->failed && z->failed && !same_order) || plans_explain(session, query))
			return false;
		report(!h->failed ? "only zedstore failed" : !z->failed ? "only heap failed" :
			   "different errors");
		return false;
	}
	compare_outcomes(compare);
	return log_outcome(compare);
}

/* ---- rehearsals */

/* The statement begins with one of these words, and may be part of a transaction. */
static bool
may_be_rehearsed(const char *sql)
{
	static const char *const words[] =
		{"select ", "with ", "insert ", "update ", "delete ", "merge ", "create ", "alter ",
		"truncate ", "cluster ", "reindex ", "refresh "};

	for (int i = 0; i < (int) lengthof(words); i++)
	{
		if (strncmp(sql, words[i], strlen(words[i])) == 0)
			return strstr(sql, "concurrently") == NULL;
	}
	return false;
}

/* The first value that a query of zedstore's side returns; NULL: none, or an error. */
static char *
ask_zedstore(int session, const char *sql)
{
	PGresult   *res = PQexec(conns[ZED][session], sql);
	char	   *value = NULL;

	if (PQresultStatus(res) == PGRES_TUPLES_OK && PQntuples(res) > 0 && !PQgetisnull(res, 0, 0))
		value = S("%s", PQgetvalue(res, 0, 0));
	PQclear(res);
	return value;
}

/* Runs a command that the timeout might hit, too, until it has succeeded. */
static void
exec_at_last(PGconn *conn, const char *sql)
{
	ExecStatusType status = PGRES_FATAL_ERROR;

	for (int tries = 0; tries < 100 && status != PGRES_COMMAND_OK; tries++)
	{
		PGresult   *res = PQexec(conn, sql);

		status = PQresultStatus(res);
		PQclear(res);
	}
	if (status != PGRES_COMMAND_OK)
		difference("%s: %s", sql, PQerrorMessage(conn));
}

/* Runs the statement until it ends, or the time is over; says what must not have happened. */
static void
run_interrupted(int session, const char *sql)
{
	Outcome    *z = &outcomes[ZED];
	PGresult   *res;

	rehearsals_run++;
	outcome_clear(z);
	buf_add(&z->message, " ");
	buf_add(&z->warnings, " ");
	res = PQexec(conns[ZED][session], for_side(sql, ZED));
	take_result(z, conns[ZED][session], res);
	PQclear(res);
	log_line("# rehearsal: %s%s", z->sqlstate, z->message.data);
	if (strcmp(z->sqlstate, "57014") == 0)
		rehearsals_interrupted++;
	if (PQstatus(conns[ZED][session]) != CONNECTION_OK)
		difference("a connection is lost, the server may have crashed");
	else if (strncmp(z->sqlstate, "XX", 2) == 0 || strstr(z->warnings.data, "leak") != NULL)
		difference("rehearsal: %.600s %.400s", z->message.data, z->warnings.data);
}

/*
 * Runs a statement on zedstore's side alone, interrupts it at any time by a statement_timeout, and
 * rolls it back: nobody is to notice.  Values of sequences, which do not roll back, are put back.
 * Not in serializable transactions, where reading has consequences; VACUUM as it is, since it
 * changes nothing that a query shows.
 */
static void
rehearse(int session, const char *sql)
{
	PGconn	   *conn = conns[ZED][session];
	bool		in_transaction = PQtransactionStatus(conn) == PQTRANS_INTRANS;
	int			timeout = 1 << rnd(0, 6);
	char	   *sequences;
	char	   *level;

	timeout = rnd(timeout, 2 * timeout);
	if (!in_transaction && PQtransactionStatus(conn) != PQTRANS_IDLE)
		return;
	if (!in_transaction && strncmp(sql, "vacuum", 6) == 0)
	{
		log_line("%d z rehearsal of %d ms: %s", session, timeout, sql);
		exec_or_die(conn, S("set statement_timeout = %d", timeout));
		run_interrupted(session, sql);
		if (!round_failed)
			exec_at_last(conn, "set statement_timeout = '600s'");
		return;
	}
	level = ask_zedstore(session, "show transaction_isolation");
	if (!may_be_rehearsed(sql) || level == NULL || strcmp(level, "serializable") == 0)
		return;
	log_line("%d z rehearsal of %d ms: %s", session, timeout, sql);
	exec_or_die(conn, in_transaction ? "savepoint rehearsal" : "begin");
	sequences = ask_zedstore(session,
							 "select string_agg(format('select setval(%L, %s, %L);', sequencename,"
							 " coalesce(last_value, start_value), last_value is not null), '')"
							 " || 'select;' from pg_sequences where schemaname = 'w'");
	if (PQtransactionStatus(conn) == PQTRANS_INTRANS)
	{
		exec_or_die(conn, S("set local statement_timeout = %d", timeout));
		run_interrupted(session, sql);
	}
	if (round_failed)
		return;
	exec_at_last(conn, in_transaction ? "rollback to savepoint rehearsal" : "rollback");
	if (sequences != NULL)
		PQclear(PQexec(conn, sequences));
	if (in_transaction)
		exec_at_last(conn, "release savepoint rehearsal");
}

bool
both(int session, Compare compare, const char *sql)
{
	if (options.rehearsals > 0 && chance(options.rehearsals))
		rehearse(session, sql);
	both_send(session, sql);
	return both_finish(session, compare);
}

/* Waits until what was sent has ended or waits for a lock, on both sides. */
void
both_wait_blocked(int session)
{
	for (int side = HEAP; side <= ZED; side++)
	{
		PGconn	   *conn = conns[side][session];
		PGconn	   *observer = conns[side][NSESSIONS];
		char	   *query =
			S("select 1 from pg_stat_activity where pid = %d and wait_event_type = 'Lock'",
			  PQbackendPID(conn));

		for (int tries = 0; tries < 30000; tries++)
		{
			struct pollfd fd = {PQsocket(conn), POLLIN, 0};
			PGresult   *res;
			bool		waits;

			(void) poll(&fd, 1, 2);
			if (!PQconsumeInput(conn) || !PQisBusy(conn))
				break;
			res = PQexec(observer, query);
			waits = PQntuples(res) > 0;
			PQclear(res);
			if (waits)
				break;
		}
	}
}

bool
both_copy_in(int session, const char *sql, const char *data, size_t len)
{
	log_line("%d %s", session, sql);
	log_line("+ %zu bytes", len);
	statements_run++;
	for (int side = HEAP; side <= ZED; side++)
	{
		PGconn	   *conn = conns[side][session];
		PGresult   *res = PQexec(conn, for_side(sql, side));

		outcome_clear(&outcomes[side]);
		take_result(&outcomes[side], conn, res);
		if (PQresultStatus(res) == PGRES_COPY_IN)
		{
			for (size_t at = 0; at < len; at += 60000)
				PQputCopyData(conn, data + at, (int) (len - at < 60000 ? len - at : 60000));
			PQputCopyEnd(conn, NULL);
		}
		PQclear(res);
	}
	return both_finish(session, CMP_TAG);
}

/*
 * What the query returns with the settings; false after an error, whose message is the outcome's.
 */
static bool
run_mode(int session, const char *settings, const char *sql, bool in_transaction, Outcome *outcome)
{
	PGconn	   *conn = conns[ZED][session];
	PGresult   *res;

	outcome_clear(outcome);
	exec_or_die(conn, in_transaction ? "savepoint modes" : "begin");
	exec_or_die(conn, S("set local max_parallel_workers_per_gather = 0; set local enable_seqscan = on; set local enable_hashagg = on;"
						"set local enable_indexscan = off; set local enable_indexonlyscan = off; set local enable_bitmapscan = off;"
						"set local enable_sort = off; set local enable_incremental_sort = off; set local work_mem = '64MB';"
						"set local enable_partitionwise_aggregate = off; %s", settings));
	res = PQexec(conn, sql);
	take_result(outcome, conn, res);
	PQclear(res);
	outcome_finish(outcome, conn, CMP_ROWS);
	if (outcome->lost)
	{
		difference("a connection is lost, the server may have crashed");
		return false;
	}
	exec_or_die(conn,
				in_transaction ? "rollback to savepoint modes; release savepoint modes" :
		"rollback");
	return !outcome->failed;
}

void
compare_modes(int session, const char *sql)
{
	static const char *const modes[] = {
		"set local zedstore.debug_vector = force", "set local zedstore.debug_vector = verify", "set local zedstore.debug_vector = rows",
		"set local zedstore.debug_vector = force; set local zedstore.debug_vector_groups = 3", ""
	};
	bool		in_transaction = status_of(session) == PQTRANS_INTRANS;
	Outcome    *expected = &outcomes[HEAP];
	Outcome    *got = &outcomes[ZED];

	if (status_of(session) == PQTRANS_INERROR)
		return;
	log_line("%d z in all modes: %s", session, sql);
	(void) run_mode(session, "set local zedstore.debug_vector = off; set local zedstore.enable_vector_scan = off; set local zedstore.enable_vector_agg = off",
					sql, in_transaction, expected);
	for (int i = 0; i < (int) lengthof(modes) && !round_failed; i++)
	{
		int			line = 0;

		statements_run++;
		(void) run_mode(session, modes[i], sql, in_transaction, got);
		if (expected->failed || got->failed)
		{
			if (expected->failed != got->failed || strncmp(got->sqlstate, "XX", 2) == 0)
				difference("modes differ: %s\n  off: %.600s\n  on:  %.600s", modes[i],
						   expected->message.data, got->message.data);
			continue;
		}
		while (line < expected->nlines && line < got->nlines &&
			   strcmp(expected->lines[line], got->lines[line]) == 0)
			line++;
		if (line < expected->nlines || line < got->nlines)
			difference("modes differ: %s, the first row at %d of %d and %d\n  off: %.1500s\n  on:  %.1500s", modes[i], line + 1,
					   expected->nlines, got->nlines, line < expected->nlines ?
						   expected->lines[line] : "(none)",
					   line < got->nlines ? got->lines[line] : "(none)");
	}
}

bool
one_side(Side side, int session, const char *sql)
{
	PGresult   *res;
	bool		ok;

	log_line("%d %c %s", session, side == HEAP ? 'h' : 'z', sql);
	res = PQexec(conns[side][session], sql);
	ok = PQresultStatus(res) == PGRES_COMMAND_OK || PQresultStatus(res) == PGRES_TUPLES_OK;
	if (!ok)
		log_line("# %s", PQerrorMessage(conns[side][session]));
	if (PQstatus(conns[side][session]) != CONNECTION_OK)
		difference("a connection is lost, the server may have crashed");
	PQclear(res);
	return ok;
}

PGresult *
ask_rows(int session, const char *sql)
{
	PGresult   *res = PQexec(conns[HEAP][session], sql);

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
	{
		log_line("? %s", sql);
		difference("%s", PQerrorMessage(conns[HEAP][session]));
	}
	return res;
}

char *
ask(const char *sql)
{
	PGresult   *res = ask_rows(0, sql);
	char	   *value = NULL;

	if (PQntuples(res) > 0 && !PQgetisnull(res, 0, 0))
		value = S("%s", PQgetvalue(res, 0, 0));
	PQclear(res);
	return value;
}

/* The output of COPY TO STDOUT of the heap side. */
bool
copy_out(const char *sql, Buf *data)
{
	PGconn	   *conn = conns[HEAP][0];
	PGresult   *res = PQexec(conn, sql);
	bool		ok = PQresultStatus(res) == PGRES_COPY_OUT;

	buf_clear(data);
	if (ok)
	{
		char	   *line;
		int			len;

		while ((len = PQgetCopyData(conn, &line, 0)) > 0)
		{
			buf_bytes(data, line, (size_t) len);
			PQfreemem(line);
		}
	}
	PQclear(res);
	while ((res = PQgetResult(conn)) != NULL)
	{
		ok = ok && PQresultStatus(res) == PGRES_COMMAND_OK;
		PQclear(res);
	}
	return ok;
}

void
expect_nothing(int session, const char *sql)
{
	PGresult   *res = PQexec(conns[ZED][session], sql);

	log_line("%d z %s", session, sql);
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		difference("%.1000s\n  %s", sql, PQerrorMessage(conns[ZED][session]));
	for (int row = 0; row < PQntuples(res) && row < 10; row++)
	{
		Buf			text = {0};

		for (int col = 0; col < PQnfields(res); col++)
			buf_add(&text, "%s|", PQgetvalue(res, row, col));
		difference("%.1000s\n  %s", sql, text.data);
		buf_free(&text);
	}
	PQclear(res);
}
