/*
 * sequential.c
 *		A round of the sequential mode.
 *
 * Session 0 does everything, in transactions of random length.  Sessions 1 and
 * 2 hold snapshots and row locks across what session 0 does, and meet it:
 * lock_timeout turns a wait into an error that both sides must give, and in
 * step_meeting() the wait is real and ends when the other commits.
 */
#include "difftest.h"

typedef struct Guest
{
	int			left;			/* steps until its transaction ends */
	bool		writes;
} Guest;

static Guest guests[NSESSIONS];
static int	savepoints;
static bool ddl_in_transaction;
static int	gids;

void
end_guests(void)
{
	for (int i = 1; i < NSESSIONS; i++)
	{
		if (status_of(i) != PQTRANS_IDLE)
			both(i, CMP_TAG, chance(70) ? "commit" : "rollback");
		guests[i].left = 0;
	}
}

static void
compare_tables(int session)
{
	for (int i = 0; i < ntables && !round_failed; i++)
	{
		if (!both(session, CMP_ROWS, hash_of(&tables[i])))
			break;
		if (round_failed)
		{
			/* say which rows; the first difference decided already */
			round_failed = false;
			both(session, CMP_ROWS, S("select t::text from %s t", tables[i].name));
			round_failed = true;
		}
	}
}

/* All tables, with the verifiers. */
static void
check_everything(void)
{
	end_guests();
	if (status_of(0) != PQTRANS_IDLE)
		both(0, CMP_TAG, status_of(0) == PQTRANS_INTRANS ? "commit" : "rollback");
	model_load();
	compare_tables(0);
	both(0, CMP_ROWS, "select * from trlog");
	both(0, CMP_TAG, "truncate trlog");
	check_tids(0);
	expect_nothing(0, "select c.oid::regclass, k.* from pg_class c join pg_am a on a.oid = c.relam, lateral zs_check(c.oid::regclass) k"
				   " where a.amname = 'zedstore' and c.relkind in ('r', 'm', 't') and k.severity <> 'notice'");
	/* a deferred unique constraint does not hold if its trigger was disabled, in either table */
	expect_nothing(0, "select i.indexrelid::regclass from pg_index i join pg_class c on c.oid = i.indexrelid,"
				   " lateral (select bt_index_check(index => i.indexrelid, heapallindexed => true, checkunique => indisunique and indimmediate)::text as said) k"
				   " where c.relam = 403 and c.relnamespace = 'w'::regnamespace and c.relkind = 'i' and i.indisvalid and i.indisready and k.said <> ''");
}

/*
 * Begins a transaction.  If it keeps its first snapshot, both sides take it here: later the model's
 * queries would take it for heap alone, and other sessions commit before zedstore's comes.
 */
void
begin_transaction(int session, const char *level)
{
	both(session, CMP_TAG, S("begin%s", level));
	if (level[0] != '\0')
		both(session, CMP_TAG, "select 1");
}

/* ---- transactions of session 0 */

static void
step_transaction(void)
{
	static const char *const levels[] =
		{"", "", " isolation level repeatable read", " isolation level serializable"};

	switch (status_of(0))
	{
		case PQTRANS_IDLE:
			begin_transaction(0, pick(levels));
			savepoints = 0;
			ddl_in_transaction = false;
			break;
		case PQTRANS_INERROR:
			if (savepoints > 0 && chance(70))
			{
				int			to = rnd(1, savepoints);

				both(0, CMP_TAG, S("rollback to savepoint s%d", to));
				savepoints = to;
			}
			else
				both(0, CMP_TAG, "rollback");
			model_is_stale = true;
			break;
		default:
			switch (rnd(0, 9))
			{
				case 0:
				case 1:
				case 2:
					both(0, CMP_TAG, S("savepoint s%d", ++savepoints));
					break;
				case 3:
				case 4:
					if (savepoints > 0)
					{
						int			to = rnd(1, savepoints);

						both(0, CMP_TAG, S("%s savepoint s%d",
										   chance(60) ? "rollback to" : "release", to));
						savepoints = to - 1;
						if (chance(50))
							both(0, CMP_TAG, S("savepoint s%d", ++savepoints));
					}
					break;
				case 5:
					{
						int			gid = ++gids;

						if (both(0, CMP_TAG, S("prepare transaction 'difftest_$SIDE%d'", gid)))
						{
							/* meanwhile its locks are in the way of everybody */
							if (chance(50))
							{
								model_load();
								step_query(0);
								if (chance(30) && !ddl_in_transaction)
									step_dml(0);
							}
							both(0, CMP_TAG, S("%s prepared 'difftest_$SIDE%d'",
											   chance(65) ? "commit" : "rollback", gid));
						}
						break;
					}
				case 6:
					both(0, CMP_TAG, "rollback");
					break;
				default:
					both(0, CMP_TAG, "commit");
					break;
			}
			model_is_stale = true;
			break;
	}
}

/* ---- sessions 1 and 2 */

static void
step_guest(int session)
{
	static const char *const levels[] =
		{"", " isolation level repeatable read", " isolation level repeatable read"};
	Guest	   *guest = &guests[session];
	Table	   *table;

	if (status_of(session) == PQTRANS_IDLE)
	{
		begin_transaction(session, pick(levels));
		guest->left = rnd(2, 12);
		guest->writes = chance(40);
		if (chance(80))
			compare_tables(session);
		return;
	}
	if (status_of(session) == PQTRANS_INERROR || --guest->left <= 0)
	{
		both(session, CMP_TAG, chance(70) ? "commit" : "rollback");
		model_is_stale = true;
		return;
	}
	if (guest->writes && chance(60))
		step_dml(session);
	else if (chance(30))
		compare_tables(session);
	else if ((table = random_table()) != NULL && chance(20))
		both(session, CMP_ROWS, hash_of(table));
	else
		step_query(session);
}

/*
 * Session 0 waits for session 1: what it does next must be done to the newest
 * version of each row.
 */
static void
step_meeting(void)
{
	Table	   *table = random_table();
	char	   *statement;
	int			id;

	if (table == NULL || table->kind == 'm' || status_of(0) != PQTRANS_IDLE)
		return;
	end_guests();
	both(1, CMP_TAG, "begin");
	id = some_id();
	for (int i = rnd(1, 2); i > 0 && !round_failed; i--)
	{
		if (chance(60))
			both(1, CMP_TAG, S("update %s set %s where id between %d and %d", table->name,
							   chance(25) && table->unique_id ?
								   S("id = id + %d", fresh_ids(61) - id) :
								   S("id = id"), id, id + rnd(0, 60)));
		else if (chance(50))
			step_dml(1);
		else
			both(1, CMP_TAG, S("delete from %s where id between %d and %d", table->name, id,
							   id + rnd(0, 5)));
	}
	if (round_failed)
		return;
	if (status_of(1) != PQTRANS_INTRANS)
	{
		end_guests();
		return;
	}
	begin_transaction(0, chance(30) ? " isolation level repeatable read" : "");
	both(0, CMP_TAG, "set local lock_timeout = 0");
	switch (rnd(0, 3))
	{
		case 0:
			statement = S("update %s set id = id where id between %d and %d and %s returning %s.*",
						  table->name, id - 5, id + 30,
						  predicate(table, table->name, 0), table->name);
			break;
		case 1:
			statement = S("delete from %s where id between %d and %d and %s", table->name, id - 5,
						  id + 30, predicate(table, table->name, 0));
			break;
		case 2:
			statement = S("select * from %s where id between %d and %d and %s for %s", table->name,
						  id - 5, id + 30,
						  predicate(table, table->name, 0), chance(50) ? "update" : "share");
			break;
		default:
			statement = S("insert into %s (id) values (%d)%s", table->name, id,
						  chance(60) ? " on conflict do nothing" : "");
			break;
	}
	both_send(0, statement);
	both_wait_blocked(0);
	both(1, CMP_TAG, chance(75) ? "commit" : "rollback");
	both_finish(0, CMP_ROWS);
	if (status_of(0) != PQTRANS_IDLE)
		both(0, CMP_TAG, chance(75) ? "commit" : "rollback");
}

/* ---- the round */

static void
step(void)
{
	bool		idle = status_of(0) == PQTRANS_IDLE;
	int			what = rnd(0, 99);

	if (status_of(0) == PQTRANS_INERROR)
	{
		step_transaction();
		return;
	}
	if (model_is_stale)
		model_load();
	if (what < 10)
		step_transaction();
	else if (what < 24 && !ddl_in_transaction)
		step_guest(rnd(1, NSESSIONS - 1));
	else if (what < 48)
		step_dml(0);
	else if (what < 50)
		step_small(0);
	else if (what < 71)
		step_query(0);
	else if (what < 74)
		step_order();
	else if (what < 80)
	{
		if (chance(75))
			end_guests();
		ddl_in_transaction = !idle;
		step_ddl();
	}
	else if (what < 84)
	{
		if (chance(75))
			end_guests();
		ddl_in_transaction = !idle;
		step_index();
	}
	else if (what < 90)
	{
		if (idle)
			step_maintenance();
	}
	else if (what < 91)
		random_settings(0);
	else if (what < 94)
		step_cursor();
	else if (what < 96)
		step_meeting();
	else if (what < 97)
		check_tids(0);
	else if (what < 99)
	{
		if (idle)
			step_motion();
	}
	else
		compare_tables(0);
	if (status_of(0) == PQTRANS_IDLE)
		ddl_in_transaction = false;
}

void
prepare_sequential(void)
{
	PGconn	   *conn = connect_to("postgres", "");

	exec_or_die(conn, "set client_min_messages = error");
	exec_or_die(conn, "drop database if exists difftest_h with (force)");
	exec_or_die(conn, "drop database if exists difftest_z with (force)");
	exec_or_die(conn, "create database difftest_h template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C'");
	exec_or_die(conn, "create database difftest_z template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C'");
	PQclear(PQexec(conn, "set allow_in_place_tablespaces = on"));
	PQclear(PQexec(conn, "create tablespace difftest_space location ''"));
	PQfinish(conn);
	for (int side = HEAP; side <= ZED; side++)
	{
		conn = connect_to(side == HEAP ? "difftest_h" : "difftest_z", "");
		exec_or_die(conn, "create extension zedstore_io schema public; create extension amcheck; create extension btree_gist");
		PQfinish(conn);
	}
}

void
sequential_round(uint64_t seed)
{
	rng_seed(seed);
	memset(guests, 0, sizeof(guests));
	savepoints = gids = 0;
	ddl_in_transaction = false;
	twins_reset();
	create_world();
	for (int i = 1; i <= options.steps && !round_failed; i++)
	{
		forget_strings();
		log_line("# step %d", i);
		step();
		if (i % 100 == 0 && !round_failed)
			check_everything();
	}
	if (!round_failed)
		check_everything();
	forget_strings();
}
