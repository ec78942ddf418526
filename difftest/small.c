/*
 * small.c
 *		Tables of few rows, with indexes and foreign keys.
 *
 * Their rows stay in the row tree for ever.  Lookups by key, joins and the checks of foreign keys
 * are most of what is done to them.
 */
#include "difftest.h"

#define NSMALL 3

static char *
small_name(int i)
{
	return S("sm%d", i);
}

/* sm0 is the parent of sm1, which is that of sm2; k has a few values. */
void
create_small_tables(void)
{
	for (int i = 0; i < NSMALL && !round_failed; i++)
	{
		const Type *type = random_type();
		int			n = rnd(1, 60);

		both(0, CMP_TAG, S("create table sm%d (id int primary key, k int, x %s%s)", i, type->name,
						   i == 0 ? "" :
						   S(", up int references sm%d (id) on delete %s%s", i - 1,
							 chance(50) ? "cascade" : "set null",
							 chance(30) ? " deferrable initially deferred" : "")));
		if (chance(70))
			both(0, CMP_TAG, S("create index on sm%d (k%s)", i, chance(40) ? ", id" : ""));
		if (i > 0 && chance(70))
			both(0, CMP_TAG, S("create index on sm%d (up)", i));
		both(0, CMP_TAG, S("insert into sm%d (id, k, x%s) select g, g %% 7, %s%s"
						   " from generate_series(1, %d) g", i, i == 0 ? "" : ", up",
						   series(type, "g"), i == 0 ? "" : ", null", n));
		if (i > 0)
			both(0, CMP_TAG, S("update sm%d set up = (select id from sm%d p where p.id = sm%d.id"
							   " %% 10) where id %% 4 <> 0", i, i - 1, i));
	}
	(void) used_ids(60);
	both(0, CMP_TAG, "analyze");
	model_is_stale = true;
}

static bool
has_small_tables(void)
{
	int			n = 0;

	for (int i = 0; i < ntables; i++)
		n += strncmp(tables[i].name, "sm", 2) == 0 && tables[i].kind == 'r';
	return n == NSMALL;
}

static Table *
table_named(const char *name)
{
	for (int i = 0; i < ntables; i++)
	{
		if (strcmp(tables[i].name, name) == 0)
			return &tables[i];
	}
	return NULL;
}

/* Plans with parameters, many times. */
static void
small_lookups(int session, const char *name)
{
	char	   *statement = S("sq%d", session);

	if (!both(session, CMP_TAG,
			  S("prepare %s (int) as select * from %s where %s = $1", statement, name,
				chance(70) ? "id" : "k")))
		return;
	for (int i = rnd(3, 12); i > 0 && status_of(session) != PQTRANS_INERROR && !round_failed; i--)
		both(session, CMP_ROWS, S("execute %s (%d)", statement, rnd(0, 70)));
	if (status_of(session) == PQTRANS_INERROR)
	{
		both(session, CMP_TAG, "rollback");
		model_is_stale = true;
	}
	both(session, CMP_TAG, S("deallocate %s", statement));
}

static void
small_joins(int session)
{
	Table	   *child = table_named(small_name(rnd(1, NSMALL - 1)));
	Table	   *large = random_table();
	Column	   *key = random_column(large, T_BTREE);
	char	   *parent = small_name(rnd(0, NSMALL - 2));

	switch (rnd(0, 5))
	{
		case 0:
			both(session, CMP_ROWS,
				 S("select c.id, p.* from %s c %sjoin %s p on p.id = c.up where %s", child->name,
				   chance(50) ? "left " : "", parent, predicate(child, "c", 1)));
			break;
		case 1:
			both(session, CMP_ROWS,
				 S("select a.id, b.id, c.id from sm0 a join sm1 b on b.up = a.id join sm2 c"
				   " on c.up = b.id and c.k %s a.k", chance(50) ? "<>" : ">="));
			break;
		case 2:
			both(session, CMP_ROWS,
				 S("select count(*), sum(t.id) from %s s join %s t on t.id = s.id where %s", parent,
				   large->name, predicate(large, "t", 1)));
			break;
		case 3:
			both(session, CMP_ROWS,
				 S("select s.id, (select count(*) from %s t where t.id %% 11 = s.k and t.id < %d)"
				   " from %s s", large->name, some_id(), parent));
			break;
		case 4:
			both(session, CMP_ROWS,
				 S("select s.id, l.* from %s s cross join lateral (select t.id from %s t where"
				   " t.id <= s.id%s order by t.id desc limit 1) l", parent, large->name,
				   key == NULL ? "" : S(" and t.%s is not null", key->name)));
			break;
		default:
			both(session, CMP_ROWS,
				 S("select min(k::text), count(*), min(id) from %s s where %s exists (select from"
				   " %s c where c.up = s.id) group by k", parent, chance(50) ? "not" : "k > 2 or",
				   child->name));
			break;
	}
}

/* Changes that foreign keys look after. */
static void
small_changes(int session)
{
	int			i = rnd(0, NSMALL - 1);
	Table	   *table = table_named(small_name(i));

	switch (rnd(0, 5))
	{
		case 0:
			both(session, CMP_ROWS, S("delete from %s where id = %d returning id", table->name,
									  rnd(1, 60)));
			break;
		case 1:
			if (i > 0)
				both(session, CMP_TAG, S("update %s set up = %d where k = %d", table->name,
										 rnd(0, 12), rnd(0, 7)));
			break;
		case 2:
			both(session, CMP_TAG, S("update %s set %s where id = %d", table->name,
									 assignments(table, table->name), rnd(1, 60)));
			break;
		case 3:
			if (i > 0)
				both(session, CMP_TAG, S("insert into %s (id, k, up) select %d, 3, p.id from %s p"
										 " order by p.id limit 1", table->name, fresh_ids(1),
										 small_name(i - 1)));
			break;
		case 4:
			both(session, CMP_TAG, S("insert into %s (id, k) values (%d, %d) on conflict (id)"
									 " do update set k = excluded.k", table->name, rnd(1, 60),
									 rnd(0, 9)));
			break;
		default:
			both(session, CMP_TAG, S("update %s t set k = s.k from %s s where s.id = t.id and %s",
									 table->name, small_name(rnd(0, NSMALL - 1)),
									 predicate(table, "t", 0)));
			break;
	}
}

void
step_small(int session)
{
	if (!has_small_tables())
	{
		step_query(session);
		return;
	}
	for (int i = rnd(1, 4); i > 0 && !round_failed && status_of(session) != PQTRANS_INERROR; i--)
	{
		switch (rnd(0, 5))
		{
			case 0:
				small_lookups(session, small_name(rnd(0, NSMALL - 1)));
				break;
			case 1:
			case 2:
				small_joins(session);
				break;
			default:
				small_changes(session);
				break;
		}
	}
}
