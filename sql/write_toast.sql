--
-- Large values that an UPDATE, or a row fetched by its TID, has as pointers (attr_toast.c): nobody
-- reads them who does not look at them, and who does has the value. Heap is the oracle.
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
\set VERBOSITY terse
create schema write_toast;
set search_path = write_toast, public;
set client_min_messages = warning;

create function words(seed int, n int) returns text language sql immutable as $$
	select left(string_agg(md5((seed * 1000 + i)::text), ''), n)
	from generate_series(1, n / 32 + 1) i
$$;
create type pair as (a int, b text);
-- values of many kinds, of rows in columns (1 to 10) and in the row tree, packed as the table says
create procedure create_tables(compression text) language plpgsql as $$
declare
	twin text;
begin
	foreach twin in array array['h', 'z'] loop
		execute format('drop table if exists t_%s cascade', twin);
		execute format('create table t_%s (id int primary key, c int, t text, p text, b bytea,
			a int[], j jsonb, r pair, n numeric) using %s', twin,
			case twin when 'h' then 'heap'
				else 'zedstore with (zedstore_compression = ' || compression || ')' end);
		for i in 1 .. 2 loop
			execute format('insert into t_%s
				select i, 0, words(i, 20000), repeat(''xyz'' || i, 8000), words(-i, 30000)::bytea,
				array_agg(k * i), jsonb_object_agg(k, k * i),
				row(i, words(i, 25000))::pair, repeat(''7'', 18000)::numeric + i
				from generate_series($1, $2) i, generate_series(1, 2500) k group by i', twin)
				using i * 10 - 9, i * 10;
			commit;
			if i = 1 and twin = 'z' then
				perform zs_compact('t_z');
			end if;
		end loop;
	end loop;
end $$;

-- Triggers, one of which looks at large values, and changes some; what they see goes to a log.
create function note() returns trigger language plpgsql as $$
begin
	if tg_argv[0] = 'look' then
		execute format('insert into log_%s values ($1, $2, $3, $4, $5)', right(tg_relname, 1))
			using new.id, length(new.t), md5(old::text), md5((new.r).b), new.a[17];
		if tg_when = 'BEFORE' and new.id % 3 = 0 then
			new.t := old.p;
			new.p := new.p || 'changed';
		end if;
	elsif tg_when = 'BEFORE' then
		new.c := new.c + 1;
	end if;
	return new;
end $$;
create function note_all() returns trigger language plpgsql as $$
begin
	execute format('insert into log_%s select n.id, length(n.t), md5(o::text), md5(n.p), n.c
		from o join n using (id)', right(tg_relname, 1));
	return null;
end $$;
-- values that leave the statement that they come from, and the row
create function carry(twin text) returns text language plpgsql as $$
declare
	v text;
	r record;
	a int[];
	s text := '';
begin
	execute format('update t_%s set c = c + 1 where id = 4 returning t', twin) into v;
	execute format('update t_%s set c = c + 1 where id = 14 returning *', twin) into r;
	execute format('update t_%s set c = c + 1 where id = 15 returning a', twin) into a;
	a[3] := -1;
	execute format('update t_%s set a = $1, p = $2, t = $3 where id = 5', twin)
		using a, v, substr(r.p, 100);
	execute format('delete from t_%s where id in (4, 14)', twin);
	s := md5(v) || md5(r::text) || a[2500] || left((r.r).b, 20);
	execute format('insert into t_%s (id, t, p, a, b) values (4, $1, $1, $2, $3)', twin)
		using v, a, r.b;
	return s;
end $$;

create procedure run() language plpgsql as $$
declare
	pair text[];
	twin text;
begin
	foreach twin in array array['h', 'z'] loop
		execute format('drop table if exists log_%s cascade', twin);
		execute format('create table log_%s (id int, n int, o text, r text, a int)', twin);
		execute format('create index on t_%1$s (md5(t)) where length(p) > 100', twin);
		execute format('alter table t_%1$s add check (length(b) > 10),
			add g text generated always as (substr(t, 10000, 8) || length(p)) stored', twin);
	end loop;
	foreach pair slice 1 in array array[
			['nothing but c', 'update t_@ set c = c + 1'],
			['to itself', 'update t_@ set t = t, a = a, r = r where id in (1, 11)'],
			['to others of the row', 'update t_@ set t = p, p = t where id in (2, 12)'],
			['to a part', 'update t_@ set p = substr(t, 5, 15000), r.a = 7 where id in (3, 13)'],
			['an element', 'update t_@ set a[5] = 5, r.b = p where id in (3, 13)'],
			['a value like it', 'update t_@ set t = t || '''' where id in (6, 16)'],
			['a check fails', 'update t_@ set b = '''' where id in (7, 17)'],
			['from another row', 'update t_@ x set t = y.t, a = y.a from t_@ y
				where y.id = x.id + 10 and x.id < 4'],
			['to another table', 'with u as (update t_@ set c = c + 1 returning *)
				insert into log_@ select id, length(t), md5(u::text), p, a[3] from u'],
			['ON CONFLICT', 'insert into t_@ (id, c, t, p, b) select id, 1, p, t, b from t_@
				where id in (8, 18) on conflict (id)
				do update set c = t_@.c + 10, p = t_@.p || excluded.p'],
			['MERGE', 'merge into t_@ x using t_@ y on y.id = x.id - 1 and x.id in (9, 19)
				when matched then update set c = x.c + 5, t = y.t'],
			['key', 'update t_@ set id = id + 100 where id in (10, 20)'],
			['a row by its TID', 'update t_@ set c = 0
				where ctid = (select ctid from t_@ where id = 5)'],
			['distinct', 'update t_@ set c = 0 where id = 6 and t is distinct from p']]
	loop
		raise warning '%: %, %', pair[1], test.both(pair[2]), test.same('select * from t_@');
		commit;
	end loop;
	raise warning 'carried: %, %', carry('h') = carry('z'), test.same('select * from t_@');
	foreach twin in array array['h', 'z'] loop
		execute format('create trigger b before update on t_%1$s for each row
			execute function note(''pass'')', twin);
		execute format('create trigger a after update on t_%1$s for each row
			execute function note(''pass'')', twin);
	end loop;
	raise warning 'triggers: %, %', test.both('update t_@ set c = c + 1'),
		test.same('select * from t_@');
	foreach twin in array array['h', 'z'] loop
		execute format('create trigger bl before update on t_%1$s for each row
			execute function note(''look'')', twin);
		execute format('create trigger al after update on t_%1$s for each row
			execute function note(''look'')', twin);
		execute format('create trigger s after update on t_%1$s referencing old table as o
			new table as n for each statement execute function note_all()', twin);
	end loop;
	raise warning 'triggers that look: %, %', test.both('update t_@ set c = c + 1'),
		test.same('select * from t_@');
	raise warning 'what they saw: %', test.same('select * from log_@');
	raise warning 'by TID: %', test.same('select x.* from t_@ x
		where ctid = (select ctid from t_@ where id = 8)');
	commit;
end $$;

call create_tables('none');
call run();
select * from zs_check('t_z', true);
call create_tables('zstd');
call run();
select * from zs_check('t_z', true);
call create_tables('lz4');
call run();
select * from zs_check('t_z', true);

-- Who does not look at a value does not read its pages.
set client_min_messages = warning;
create table one_z (id int primary key, c int, t text, k int)
	using zedstore with (zedstore_compression = none);
insert into one_z select i, 0, words(i, 4000000), i from generate_series(1, 3) i;
create function blocks_of(sql text) returns bigint language plpgsql as $$
declare
	before bigint := pg_stat_get_xact_blocks_fetched('one_z'::regclass);
begin
	execute sql;
	return pg_stat_get_xact_blocks_fetched('one_z'::regclass) - before;
end $$;
create procedure few() language plpgsql as $$
declare
	sql text;
begin
	foreach sql in array array['update one_z set c = c + 1 where id = 2',
		'update one_z set c = c + 1 where id = 2 returning id, c',
		'insert into one_z values (2, 5) on conflict (id) do update set c = excluded.c',
		'merge into one_z using (values (2)) v (id) on one_z.id = v.id
			when matched then update set c = 0',
		'update one_z set c = s.c from (values (2, 7)) s (id, c) where s.id = one_z.id',
		'delete from one_z where id = 3']
	loop
		raise notice '%', case when blocks_of(sql) < 300 then 'few' else 'many: ' || sql end;
	end loop;
end $$;
reset client_min_messages;
call few();
set client_min_messages = warning;
create index on one_z (k);
create function bump() returns trigger language plpgsql as $$
begin
	new.k := new.k + 1;
	return new;
end $$;
create trigger b before update on one_z for each row execute function bump();
create trigger a after update on one_z for each row execute function bump();
reset client_min_messages;
call few();
select id, c, md5(t) = md5(words(id, 4000000)) as same,
	substr(t, 3999997) = right(words(id, 4000000), 4) as slice
from one_z order by id;
select * from zs_check('one_z', true);

-- A pointer outlives its value no better than one of heap does, but that is told.
create function too_late() returns int language plpgsql as $$
declare
	v text;
begin
	update one_z set c = 1 where id = 1 returning t into v;
	truncate one_z;
	return length(md5(v));
exception when data_corrupted or undefined_file then
	raise notice 'value is gone';
	return 0;
end $$;
select too_late();
select count(*) from one_z;
set client_min_messages = warning;
drop schema write_toast cascade;
