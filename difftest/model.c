/*
 * model.c
 *		What tables there are.
 *
 * Read from the catalogs of the heap side after whatever may have changed them,
 * a rollback for instance, which is simpler than to know.
 */
#include "difftest.h"

Table		tables[MAX_TABLES];
int			ntables;
Index		indexes[MAX_INDEXES];
int			nindexes;
bool		model_is_stale = true;

/* Ranges of ids that were given out lately, so that ids are found again. */
#define NRANGES 32
static struct
{
	int			first;
	int			n;
}			ranges[NRANGES];
static int	nranges;
static int	next_id = 1;

static Table *
table_by_name(const char *name)
{
	for (int i = 0; i < ntables; i++)
	{
		if (strcmp(tables[i].name, name) == 0)
			return &tables[i];
	}
	return NULL;
}

static bool
is_true(PGresult *res, int row, int col)
{
	return strcmp(PQgetvalue(res, row, col), "t") == 0;
}

/* Session 0 must not be in a failed transaction. */
void
model_load(void)
{
	PGresult   *res;

	ntables = nindexes = 0;

	/* ids of a table that others inherit from are not unique: children may have the same */
	res = ask_rows(0,
				   "select c.relname, c.relkind, c.relispartition, exists (select from pg_index i where i.indrelid = c.oid"
				   " and i.indisunique and i.indimmediate and i.indisvalid and i.indpred is null and i.indnkeyatts = 1"
				   " and i.indkey[0] = (select attnum from pg_attribute where attrelid = c.oid and attname = 'id'))"
				   " and (c.relkind <> 'r' or not exists (select from pg_inherits where inhparent = c.oid)),"
				   " exists (select from pg_index i where i.indrelid = c.oid and not i.indisvalid)"
				   " from pg_class c where relnamespace = 'w'::regnamespace and relkind in ('r', 'p', 'm')"
				   " and relname not like 'trlog%' and relispopulated and exists (select from pg_attribute where attrelid = c.oid and attname = 'id')"
				   " order by relname");
	for (int i = 0; i < PQntuples(res) && ntables < MAX_TABLES; i++)
	{
		Table	   *table = &tables[ntables++];

		memset(table, 0, sizeof(*table));
		snprintf(table->name, sizeof(table->name), "%s", PQgetvalue(res, i, 0));
		table->kind = *PQgetvalue(res, i, 1);
		table->is_partition = is_true(res, i, 2);
		table->unique_id = is_true(res, i, 3);
		table->invalid_index = is_true(res, i, 4);
	}
	PQclear(res);

	res = ask_rows(0,
				   "select c.relname, quote_ident(a.attname), format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated <> '', a.attidentity <> '',"
				   " exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'f' and k.conkey = array[a.attnum])"
				   " from pg_class c join pg_attribute a on a.attrelid = c.oid"
				   " where relnamespace = 'w'::regnamespace and relkind in ('r', 'p', 'm') and a.attnum > 0 and not a.attisdropped"
				   " order by relname, a.attnum");
	for (int i = 0; i < PQntuples(res); i++)
	{
		Table	   *table = table_by_name(PQgetvalue(res, i, 0));
		Column	   *column;

		if (table == NULL || table->ncolumns >= MAX_COLUMNS)
			continue;
		column = &table->columns[table->ncolumns++];
		snprintf(column->name, sizeof(column->name), "%s", PQgetvalue(res, i, 1));
		column->type = type_by_name(PQgetvalue(res, i, 2));
		column->notnull = is_true(res, i, 3);
		column->generated = is_true(res, i, 4);
		column->identity = is_true(res, i, 5);
		column->is_ref = is_true(res, i, 6);
	}
	PQclear(res);

	res = ask_rows(0,
				   "select i.relname, t.relname, x.indisunique, exists (select from pg_constraint k where k.conindid = i.oid and k.contype <> 'f')"
				   " from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid"
				   " where i.relnamespace = 'w'::regnamespace and not i.relispartition order by i.relname");
	for (int i = 0; i < PQntuples(res) && nindexes < MAX_INDEXES; i++)
	{
		Index	   *index = &indexes[nindexes++];

		snprintf(index->name, sizeof(index->name), "%s", PQgetvalue(res, i, 0));
		snprintf(index->table, sizeof(index->table), "%s", PQgetvalue(res, i, 1));
		index->unique = is_true(res, i, 2);
		index->of_constraint = is_true(res, i, 3);
	}
	PQclear(res);
	model_is_stale = false;
}

/* Partitions less often than others, most rows do not belong there. */
Table *
random_table(void)
{
	Table	   *table = NULL;

	for (int tries = 0; tries < 2 && ntables > 0 && (table == NULL || table->is_partition); tries++)
		table = &tables[rnd(0, ntables - 1)];
	return table;
}

Column *
random_column(Table *table, int flags)
{
	int			start = rnd(0, table->ncolumns - 1);

	for (int i = 0; i < table->ncolumns; i++)
	{
		Column	   *column = &table->columns[(start + i) % table->ncolumns];

		if (column->type != NULL && (flags == 0 || (column->type->flags & flags) != 0))
			return column;
	}
	return NULL;
}

Index *
random_index(void)
{
	return nindexes == 0 ? NULL : &indexes[rnd(0, nindexes - 1)];
}

int
fresh_ids(int n)
{
	int			first = next_id;
	int			at = nranges < NRANGES ? nranges++ : rnd(0, NRANGES - 1);

	ranges[at].first = first;
	ranges[at].n = n;
	next_id += n;
	return first;
}

int
used_ids(int last)
{
	if (last >= next_id)
		(void) fresh_ids(last + 1 - next_id);
	return last;
}

int
some_id(void)
{
	int			at = nranges > 0 ? rnd(0, nranges - 1) : 0;

	return nranges > 0 ? ranges[at].first + rnd(0, ranges[at].n) : 1;
}

void
reset_ids(void)
{
	next_id = 1;
	nranges = 0;
}
