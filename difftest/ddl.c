/*
 * ddl.c
 *		Random tables, indexes, constraints, their changes, and maintenance.
 */
#include "difftest.h"

static int	names_given;

static int
name_number(void)
{
	return ++names_given;
}

/* ---- tables */

static char *
column_definition(int number)
{
	const Type *type = random_type();
	char	   *options = "";

	/* lz4 instead of pglz, other storage: heap knows what to do with them */
	if ((type->flags & T_TEXT) && type->kind == type_by_name("text")->kind && chance(20))
		options = S("%s%s", options, chance(50) ? " storage external" : " storage main");
	if (chance(10))
		options = S("%s default %s", options, literal(type, false));
	else if (chance(8))
		options = S("%s default %s not null", options, literal(type, false));
	return S("c%d %s%s", number, type->name, options);
}

static char *
generated_column(int number)
{
	static const char *const definitions[] = {
		"bigint generated always as (id::bigint * 3)", "text generated always as (upper('k' || (id % 7)::text))",
		"integer generated always as (nullif(id % 5, 0))", "numeric generated always as (id / 7.0)"
	};

	return S("c%d %s %s", number, pick(definitions),
			 server_version >= 180000 && chance(40) ? "virtual" : "stored");
}

static char *
column_definitions(int ncolumns)
{
	Buf			buf = {0};
	char	   *list;

	buf_add(&buf, "id int not null");
	for (int i = 1; i <= ncolumns; i++)
	{
		if (chance(4))
			buf_add(&buf, ", %s", generated_column(i));
		else if (i == 2 && chance(10))
			buf_add(&buf, ", c%d bigint generated %s as identity", i,
					chance(50) ? "always" : "by default");
		else
			buf_add(&buf, ", %s", column_definition(i));
	}
	list = S("%s", buf.data);
	buf_free(&buf);
	return list;
}

static int
random_width(void)
{
	return chance(40) ? rnd(1, 5) : chance(70) ? rnd(4, 12) : rnd(12, 40);
}

static char *
id_constraint(void)
{
	return chance(45) ? ", primary key (id)" : chance(30) ? ", unique (id)" : chance(10) ?
		", unique (id) deferrable initially deferred" : "";
}

static void
create_table(void)
{
	int			number = name_number();
	char	   *name = S("t%d", number);
	char	   *columns = column_definitions(random_width());

	switch (rnd(0, 11))
	{
		case 0:
			both(0, CMP_TAG, S("create table %s (%s%s) partition by hash (id)", name, columns,
							   id_constraint()));
			for (int i = 0; i < 3; i++)
				both(0, CMP_TAG, S("create table %s_%d partition of %s for values with (modulus 3, remainder %d)%s", name, i, name, i,
								   chance(20) ? " using heap" : ""));
			break;
		case 1:
			both(0, CMP_TAG, S("create table %s (%s%s) partition by range (id)", name, columns,
							   id_constraint()));
			both(0, CMP_TAG, S("create table %s_0 partition of %s for values from (minvalue) to (500)", name, name));
			both(0, CMP_TAG, S("create table %s_1 partition of %s for values from (500) to (4000)",
							   name, name));
			both(0, CMP_TAG, S("create table %s_2 partition of %s default%s", name, name,
							   chance(20) ? " using heap" : ""));
			break;
		case 2:
			both(0, CMP_TAG, S("create table %s (%s)", name, columns));
			both(0, CMP_TAG, S("create table %s_k (extra%d %s) inherits (%s)", name, number,
							   random_type()->name, name));
			break;
		default:
			both(0, CMP_TAG, S("create%s table %s (%s%s)%s", chance(10) ? " unlogged" : "", name,
							   columns, id_constraint(),
							   chance(8) ? " using heap" : ""));
			break;
	}
	model_is_stale = true;
}

static const char *trigger_functions =
	"create table trlog (what text, old text, new text) using heap;"
	"create function tr_row() returns trigger language plpgsql as $f$ begin"
	" insert into trlog values (tg_table_name || tg_op || tg_when, case when tg_op <> 'INSERT' then md5(old::text) end, case when tg_op <> 'DELETE' then md5(new::text) end);"
	" return case when tg_op = 'DELETE' then old else new end; end $f$;"
	"create function tr_skip() returns trigger language plpgsql as $f$ begin"
	" if coalesce(new.id, old.id) % 17 = 0 then return null; end if;"
	" return case when tg_op = 'DELETE' then old else new end; end $f$;"
	"create function tr_ins() returns trigger language plpgsql as $f$ begin"
	" insert into trlog select tg_table_name || 'stmt', null, md5(n::text) from newrows n; return null; end $f$;"
	"create function tr_upd() returns trigger language plpgsql as $f$ begin"
	" insert into trlog select tg_table_name || 'stmt', md5(o::text), null from oldrows o union all select tg_table_name || 'stmt', null, md5(n::text) from newrows n; return null; end $f$;"
	"create function tr_del() returns trigger language plpgsql as $f$ begin"
	" insert into trlog select tg_table_name || 'stmt', md5(o::text), null from oldrows o; return null; end $f$;";

static void
create_trigger(Table *table)
{
	int			number = name_number();

	switch (rnd(0, 5))
	{
		case 0:
			both(0, CMP_TAG, S("create trigger tr%d after insert or update or delete on %s for each row execute function tr_row()", number, table->name));
			break;
		case 1:
			both(0, CMP_TAG, S("create trigger tr%d before insert or update or delete on %s for each row execute function tr_row()", number, table->name));
			break;
		case 2:
			both(0, CMP_TAG, S("create trigger tr%d before %s on %s for each row execute function tr_skip()", number,
							   chance(50) ? "update" : "insert or delete", table->name));
			break;
		case 3:
			both(0, CMP_TAG, S("create trigger tr%d after insert on %s referencing new table as newrows for each statement execute function tr_ins()", number, table->name));
			break;
		case 4:
			both(0, CMP_TAG, S("create trigger tr%d after update on %s referencing old table as oldrows new table as newrows for each statement execute function tr_upd()", number, table->name));
			break;
		default:
			both(0, CMP_TAG, S("create trigger tr%d after delete on %s referencing old table as oldrows for each statement execute function tr_del()", number, table->name));
			break;
	}
}

/* ---- indexes and constraints */

static char *
index_predicate(Table *table)
{
	Column	   *column = random_column(table, T_BTREE);

	if (chance(75) || column == NULL)
		return "";
	switch (rnd(0, 2))
	{
		case 0:
			return S(" where %s is not null", column->name);
		case 1:
			return S(" where id %% 3 = 0");
		default:
			return S(" where id > %d", some_id());
	}
}

static char *
btree_keys(Table *table)
{
	Buf			buf = {0};
	char	   *list;
	int			n = rnd(1, 3);

	for (int i = 0; i < n; i++)
	{
		Column	   *column = random_column(table, T_BTREE);
		const char *comma = buf.len > 0 ? ", " : "";

		if (column == NULL || chance(15))
			buf_add(&buf, "%sid", comma);
		else if (chance(10))
			buf_add(&buf, "%s(%s is null)", comma, column->name);
		else if ((column->type->flags & T_TEXT) && chance(25))
			buf_add(&buf, "%slower(%s::text)", comma, column->name);
		else
			buf_add(&buf, "%s%s%s%s", comma, column->name, chance(25) ? " desc" : "",
					chance(15) ? " nulls first" : "");
	}
	list = S("%s", buf.data);
	buf_free(&buf);
	return list;
}

static void
create_index(Table *table, bool concurrently)
{
	int			number = name_number();
	Column	   *column = NULL;
	char	   *what =
		S("index%s ix%d on %s", concurrently ? " concurrently" : "", number, table->name);

	switch (rnd(0, 11))
	{
		case 0:
			column = random_column(table, T_HASH);
			if (column != NULL)
				both(0, CMP_TAG, S("create %s using hash (%s)%s", what, column->name,
								   index_predicate(table)));
			break;
		case 1:
			column = random_column(table, T_JSONB | T_TSVECTOR);
			if (column != NULL)
				both(0, CMP_TAG, S("create %s using gin (%s)", what, column->name));
			break;
		case 2:
			column = random_column(table, T_ARRAY);
			if (column != NULL && !(column->type->flags & T_OWN))
				both(0, CMP_TAG, S("create %s using gin (%s)%s", what, column->name,
								   index_predicate(table)));
			break;
		case 3:
			column = random_column(table, T_RANGE | T_POINT | T_TSVECTOR);
			if (column != NULL)
				both(0, CMP_TAG, S("create %s using gist (%s) include (id)", what, column->name));
			break;
		case 4:
			column = random_column(table, T_POINT | T_INET | T_TEXT);
			if (column != NULL)
				both(0, CMP_TAG, S("create %s using spgist (%s)", what, column->name));
			break;
		case 5:
			/* no long values: whether one goes into a summary depends on its block's having one */
			column = random_column(table, T_MINMAX);
			if (column != NULL && !(column->type->flags & T_TEXT))
				both(0, CMP_TAG, S("create %s using brin (%s, id) with (pages_per_range = %d)",
								   what, column->name, rnd(1, 8)));
			break;
		case 6:
			both(0, CMP_TAG, S("create unique %s (id, %s)%s", what, btree_keys(table),
							   chance(30) ? " nulls not distinct" : ""));
			break;
		case 7:
			column = random_column(table, 0);
			if (column != NULL)
				both(0, CMP_TAG, S("create %s%s (id) include (%s)", chance(50) ? "unique " : "",
								   what, column->name));
			break;
		default:
			both(0, CMP_TAG, S("create %s (%s)%s", what, btree_keys(table),
							   index_predicate(table)));
			break;
	}
	model_is_stale = true;
}

static void
add_constraint(Table *table)
{
	int			number = name_number();
	Table	   *other = random_table();
	Column	   *column = random_column(table, 0);
	static const char *const actions[] =
		{"cascade", "set null", "restrict", "no action", "set default"};

	switch (rnd(0, 5))
	{
		case 0:
			if (column != NULL)
				both(0, CMP_TAG, S("alter table %s add constraint k%d check (id > -5 or %s is null)%s", table->name, number, column->name,
								   chance(30) ? " not valid" : ""));
			break;
		case 1:
			both(0, CMP_TAG, S("alter table %s add constraint k%d unique (id)%s", table->name,
							   number, chance(40) ? " deferrable" : ""));
			break;
		case 2:
			column = random_column(table, T_RANGE);
			if (column != NULL)
				both(0, CMP_TAG, S("alter table %s add constraint k%d exclude using gist (id with =, %s with &&)", table->name, number, column->name));
			else
				both(0, CMP_TAG, S("alter table %s add constraint k%d exclude using btree (id with =) where (id %% 2 = 0)", table->name, number));
			break;
		default:
			/* a new column, since values that refer to something would have to exist */
			both(0, CMP_TAG, S("alter table %s add column ref%d int references %s (id) on delete %s on update %s%s", table->name, number, other->name,
							   pick(actions), pick(actions), chance(30) ?
								   " deferrable initially deferred" : ""));
			break;
	}
	model_is_stale = true;
}

/* ---- ALTER TABLE and others */

static void
alter_type(Table *table)
{
	Column	   *column = random_column(table, 0);
	const char *name;

	if (column == NULL || column->generated || column->identity || column->is_ref ||
		strcmp(column->name, "id") == 0)
		return;
	name = column->type->name;
	if (strcmp(name, "integer") == 0 || strcmp(name, "smallint") == 0)
		both(0, CMP_TAG, S("alter table %s alter %s type %s", table->name, column->name,
						   chance(50) ? "bigint" : "numeric"));
	else if (strcmp(name, "character varying(40)") == 0)
		both(0, CMP_TAG, S("alter table %s alter %s type text", table->name, column->name));
	else if (strcmp(name, "text") == 0 && chance(50))
		both(0, CMP_TAG, S("alter table %s alter %s drop default, alter %s type bytea using convert_to(%s, 'UTF8')", table->name, column->name, column->name, column->name));
	else
		both(0, CMP_TAG, S("alter table %s alter %s drop default, alter %s type text using %s::text", table->name, column->name, column->name, column->name));
}

static void
alter_table(Table *table)
{
	int			number = name_number();
	Column	   *column = random_column(table, 0);
	const Type *type = random_type();
	bool		id = column == NULL || strcmp(column->name, "id") == 0;

	switch (rnd(0, 20))
	{
		case 0:
		case 1:
			both(0, CMP_TAG, S("alter table %s add column c%d %s", table->name, number,
							   type->name));
			break;
		case 2:
		case 3:
			both(0, CMP_TAG, S("alter table %s add column c%d %s default %s%s", table->name, number,
							   type->name, literal(type, false), chance(40) ? " not null" : ""));
			break;
		case 4:
			/*
			 * a default that is computed for each row rewrites the table, in its order: the same
			 * value for all
			 */
			both(0, CMP_TAG, S("alter table %s add column c%d int default (random() * 0)::int + 4",
							   table->name, number));
			break;
		case 5:
			both(0, CMP_TAG, S("alter table %s add column %s", table->name,
							   generated_column(number)));
			break;
		case 6:
		case 7:
			if (!id && table->ncolumns > 2)
				both(0, CMP_TAG, S("alter table %s drop column %s%s", table->name, column->name,
								   chance(50) ? " cascade" : ""));
			break;
		case 8:
			alter_type(table);
			break;
		case 9:
			if (!id)
				both(0, CMP_TAG, S("alter table %s alter %s set default %s", table->name,
								   column->name, literal(column->type, false)));
			break;
		case 10:
			if (!id)
				both(0, CMP_TAG, S("alter table %s alter %s %s not null", table->name, column->name,
								   chance(40) ? "set" : "drop"));
			break;
		case 11:
			if (!id)
				both(0, CMP_TAG, S("alter table %s rename %s to c%d", table->name, column->name,
								   number));
			break;
		case 12:
			/* writes only the one table anew, and fails if its rows are not what an index takes */
			if (!table->invalid_index)
				both(0, CMP_TAG, S("alter table %s set access method %s", table->name,
								   chance(75) ? "$AM" : "heap"));
			break;
		case 13:
			/*
			 * in a transaction that rolls back, rows that follow leave index entries which lead
			 * nowhere, in heap too
			 */
			if (status_of(0) == PQTRANS_IDLE)
				both(0, CMP_TAG, S("alter table %s set tablespace %s", table->name,
								   chance(50) ? "difftest_space" : "pg_default"));
			break;
		case 14:
			both(0, CMP_TAG, S("alter table %s set %s", table->name,
							   chance(50) ? "unlogged" : "logged"));
			break;
		case 15:
			/* not to external: heap gives indexes what it compressed before, see limitations.md */
			if (column != NULL)
				both(0, CMP_TAG, S("alter table %s alter %s set storage %s", table->name,
								   column->name, chance(50) ? "main" : "extended"));
			break;
		case 16:
			both(0, CMP_TAG, S("alter table %s %s trigger all", table->name,
							   chance(60) ? "enable" : "disable"));
			break;
		case 17:
			if (table->is_partition)
				both(0, CMP_TAG, S("alter table %.*s detach partition %s",
								   (int) strcspn(table->name, "_"), table->name, table->name));
			else if (strchr(table->name, '_') != NULL)
				both(0, CMP_TAG, S("alter table %.*s attach partition %s default",
								   (int) strcspn(table->name, "_"), table->name, table->name));
			break;
		case 18:
			/* heap knows no such options */
			if (table->kind == 'r' && status_of(0) == PQTRANS_IDLE)
			{
				static const char *const compressions[] = {"lz4", "zstd", "none"};
				Column	   *key = random_column(table, T_BTREE);

				if (key != NULL && chance(40))
					one_side(ZED, 0, S("alter table %s set (zedstore_sort_key = '%s%s%s')",
									   table->name, key->name, chance(50) ? " desc" : "",
									   chance(50) ? ", id" : ""));
				else if (chance(50))
					one_side(ZED, 0, S("alter table %s set (zedstore_compression = %s)",
									   table->name, pick(compressions)));
				else
					one_side(ZED, 0, S("alter table %s set (zedstore_rel_extension_factor = %d)",
									   table->name, rnd(1, 300)));
			}
			break;
		case 19:
			both(0, CMP_TAG, S("alter table %s replica identity full", table->name));
			break;
		default:
			both(0, CMP_TAG, S("alter table %s rename to t%d%s", table->name, number,
							   table->is_partition ? "_p" : ""));
			break;
	}
}

void
step_ddl(void)
{
	Table	   *table = random_table();
	int			number = name_number();

	if (table == NULL || ntables < 3 || (ntables < 12 && chance(8)))
	{
		create_table();
		return;
	}
	model_is_stale = true;
	switch (rnd(0, 19))
	{
		case 0:
			if (ntables < 14)
				both(0, CMP_TAG, S("create table t%d as select * from %s t where %s", number,
								   table->name, predicate(table, "t", 1)));
			break;
		case 1:
			if (ntables < 14)
			{
				char	   *name = S("mv%d", number);

				if (both(0, CMP_TAG,
						 S("create materialized view %s as select * from %s t where %s", name,
						   table->name, predicate(table, "t", 0))) && chance(70))
					both(0, CMP_TAG, S("create unique index on %s (id)", name));
			}
			break;
		case 2:
			if (table->kind == 'm')
				both(0, CMP_TAG, S("refresh materialized view %s%s",
								   chance(60) ? "concurrently " : "", table->name));
			break;
		case 3:
			if (ntables > 6)
				both(0, CMP_TAG, S("drop %s %s%s",
								   table->kind == 'm' ? "materialized view" :
					"table", table->name, chance(60) ? " cascade" : ""));
			break;
		case 4:
			if (table->kind != 'm')
				create_trigger(table);
			break;
		case 5:
		case 6:
			if (table->kind != 'm')
				add_constraint(table);
			break;
		default:
			if (table->kind != 'm')
				alter_table(table);
			break;
	}
}

void
step_index(void)
{
	Table	   *table = random_table();
	Index	   *index = random_index();

	model_is_stale = true;
	if (table != NULL && (index == NULL || nindexes < 5 || chance(55)))
	{
		create_index(table, status_of(0) == PQTRANS_IDLE && table->kind == 'r' && chance(25));
		return;
	}
	if (index == NULL)
		return;
	switch (rnd(0, 3))
	{
		case 0:
			if (!index->of_constraint)
				both(0, CMP_TAG, S("drop index %s", index->name));
			break;
		case 1:
			both(0, CMP_TAG, S("reindex index %s%s",
							   status_of(0) == PQTRANS_IDLE &&
				chance(40) ? "concurrently " : "", index->name));
			break;
		case 2:
			both(0, CMP_TAG, S("reindex table %s%s",
							   status_of(0) == PQTRANS_IDLE &&
				chance(40) ? "concurrently " : "", index->table));
			break;
		default:
			both(0, CMP_TAG, S("cluster %s using %s", index->table, index->name));
			break;
	}
}

/* Outside of transactions. */
void
step_maintenance(void)
{
	Table	   *table = random_table();

	if (table == NULL)
		return;
	switch (rnd(0, 11))
	{
		case 0:
		case 1:
		case 2:
		case 3:
			both(0, CMP_TAG, S("vacuum (truncate off) %s", table->name));
			break;
		case 4:
			both(0, CMP_TAG, S("vacuum (freeze, truncate off%s) %s",
							   chance(30) ? ", disable_page_skipping" : "", table->name));
			break;
		case 5:
			both(0, CMP_TAG, S("vacuum (truncate off, index_cleanup %s, parallel %d) %s",
							   chance(50) ? "on" : "off", rnd(0, 2), table->name));
			break;
		case 6:
			both(0, CMP_TAG, S("vacuum full %s", table->name));
			break;
		case 7:
			both(0, CMP_TAG, S("vacuum (analyze, truncate off) %s", table->name));
			break;
		case 8:
			both(0, CMP_TAG, "checkpoint");
			break;
		case 9:
			both(0, CMP_TAG, "vacuum (truncate off)");
			break;
		default:
			both(0, CMP_TAG, S("analyze %s", table->name));
			break;
	}
}

/* Settings that must not change an answer. */
void
random_settings(int session)
{
	static const char *const switches[] = {
		"enable_seqscan", "enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan", "enable_tidscan", "enable_hashjoin", "enable_mergejoin",
		"enable_nestloop", "enable_sort", "enable_hashagg", "enable_material", "enable_memoize", "enable_incremental_sort", "enable_partitionwise_join",
		"enable_partitionwise_aggregate"
	};
	static const char *const own[] = {
		"zedstore.enable_column_projection", "zedstore.enable_lazy_decode", "zedstore.enable_read_stream", "zedstore.enable_zone_maps",
		"zedstore.enable_topn", "zedstore.enable_ordered_scan", "zedstore.enable_fetch_cache", "zedstore.enable_vector_scan", "zedstore.enable_vector_agg",
		"zedstore.enable_vector_totals", "zedstore.enable_early_groups", "zedstore.enable_top_groups", "zedstore.enable_rare_groups", "zedstore.enable_known_strings",
		"zedstore.enable_join_filters", "zedstore.enable_vector_join",
		"zedstore.enable_robust_joins", "zedstore.enable_partial_vectors",
		"zedstore.enable_column_costs", "zedstore.enable_late_row_numbers",
		"zedstore.enable_value_sharing", "zedstore.enable_compaction", "zedstore.enable_kept_choices",
		"zedstore.enable_relocation", "zedstore.enable_result_cache", "zedstore.enable_window",
		"zedstore.enable_zone_lookups",
		"zedstore.enable_adaptive_join", "zedstore.enable_inlined_ctes",
		"zedstore.enable_packed_rows",
		"zedstore.enable_combined_groups"
	};
	static const char *const rows[] = {"1", "2", "20", "100", "500", "4096"};
	static const char *const buffers[] = {"1MB", "2MB", "128MB"};
	static const char *const modes[] = {"off", "force", "force", "verify", "verify", "rows"};
	static const char *const zones[] = {"UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kolkata"};

	for (int i = rnd(1, 3); i > 0; i--)
	{
		switch (rnd(0, 10))
		{
			case 8:
				both(session, CMP_TAG,
					 chance(50) ? "reset zedstore.debug_vector" :
					S("set zedstore.debug_vector = %s", pick(modes)));
				break;
			case 9:
				both(session, CMP_TAG,
					 S("set zedstore.debug_vector_groups = %d",
					   chance(50) ? 0 : chance(50) ? rnd(1, 10) : rnd(10, 1000)));
				break;
			case 10:
				both(session, CMP_TAG, S("set timezone = '%s'", pick(zones)));
				break;
			case 0:
			case 1:
				both(session, CMP_TAG, S("set %s = %s", pick(switches), chance(50) ? "on" : "off"));
				break;
			case 2:
				both(session, CMP_TAG, S("set %s = %s", pick(own), chance(60) ? "on" : "off"));
				break;
			case 3:
				both(session, CMP_TAG, S("set zedstore.min_segment_rows = %s", pick(rows)));
				break;
			case 4:
				both(session, CMP_TAG, S("set zedstore.write_buffer_size = '%s'", pick(buffers)));
				break;
			case 5:
				both(session, CMP_TAG,
					 chance(50) ?
					"set debug_parallel_query = off; set max_parallel_workers_per_gather = 0" :
					 "set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0; set min_parallel_index_scan_size = 0");
				break;
			case 6:
				both(session, CMP_TAG, S("set work_mem = '%s'", chance(50) ? "64kB" : "16MB"));
				break;
			default:
				both(session, CMP_TAG, "set enable_seqscan = on; set enable_indexscan = on; set enable_bitmapscan = on; set enable_indexonlyscan = on; set enable_nestloop = on; set enable_hashjoin = on; set enable_mergejoin = on");
				break;
		}
	}
}

/* The tables that a round starts with. */
void
create_world(void)
{
	names_given = 0;
	reset_ids();
	both(0, CMP_TAG, trigger_functions);
	for (int i = rnd(3, 5); i > 0 && !round_failed; i--)
		create_table();
	create_small_tables();
	model_load();
	for (int i = rnd(2, 8); i > 0 && !round_failed; i--)
		create_index(random_table(), false);
	model_load();
	for (int i = 0; i < ntables && !round_failed; i++)
	{
		char	   *values;
		char	   *names = column_list(&tables[i], &values);
		int			n = chance(30) ? rnd(1, 100) : rnd(500, 5000);
		int			first = fresh_ids(n);

		if (!tables[i].is_partition)
			both(0, CMP_TAG, S("insert into %s (%s) select %s from generate_series(%d, %d) g",
							   tables[i].name, names, values, first, first + n - 1));
	}
	for (int i = rnd(2, 6); i > 0 && !round_failed; i--)
		step_insert(0);
	for (int i = rnd(0, 3); i > 0 && !round_failed; i--)
	{
		add_constraint(random_table());
		create_trigger(random_table());
	}
}
