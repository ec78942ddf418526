--
-- UPDATE of rows with large values: what does not change is not written again, but shared by the
-- versions of the row (write_keep.c).  Heap is the oracle for contents, zs_check() for the counts.
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
\set horizon :abs_srcdir '/sql/include/horizon.sql'
\i :horizon
\set VERBOSITY terse
create schema write_keep;
set search_path = write_keep, public;

-- n bytes of text that compress badly
create function words(seed int, n int) returns text language sql immutable as $$
	select left(string_agg(md5((seed * 1000 + i)::text), ''), n) from generate_series(1, n / 32 + 1) i
$$;

create procedure create_tables() language plpgsql as $$
declare
	twin text;
begin
	foreach twin in array array['h', 'z'] loop
		execute format('drop table if exists t_%s', twin);
		execute format('create table t_%1$s (id int primary key, c int, doc text, gone text, other text, bin bytea) using %2$s',
			twin, case twin when 'h' then 'heap' else 'zedstore' end);
		-- 20 rows in columns, 10 in the row tree, which become columns, and 10 that stay there
		execute format('insert into t_%s select i, 0, words(i, 24000), words(-i, 9000), words(i + 500, 24000), words(i, 12000)::bytea
			from generate_series(1, 20) i', twin);
		for i in 21 .. 30 loop
			execute format('insert into t_%s select $1, 0, words($1, 24000), null, ''short'', words($1, 12000)::bytea', twin) using i;
		end loop;
	end loop;
	commit;
	perform zs_compact('t_z');
	commit;
	for i in 31 .. 40 loop
		insert into t_h select i, 0, words(i, 24000), null, 'short', words(i, 12000)::bytea;
		insert into t_z select i, 0, words(i, 24000), null, 'short', words(i, 12000)::bytea;
	end loop;
end $$;

-- Pages in use in the trees of columns.  Few rows go into the row tree, so an UPDATE takes such pages for large values only.
create function pages_used() returns bigint language plpgsql as $$
begin
	return sum(nblocks - nfree) from pg_zs_trees('t_z') where attno > 0;
end $$;

-- A statement on both twins, and whether zedstore wrote large values.
create function change(sql text) returns text language plpgsql as $$
declare
	before bigint := pages_used();
	outcome text := test.both(sql);
begin
	-- reads, so that buffered rows are written
	perform count(*) from t_z;
	return outcome || case pages_used() - before when 0 then ', shared' else ', written' end;
end $$;

-- Same contents, and nothing to complain about: each value knows its pointers, no block has leaked.
create function verify() returns setof text language plpgsql as $$
begin
	return next test.same('select * from t_@');
	return query select severity || ' ' || message from zs_check('t_z', true);
end $$;

create function change_row() returns trigger language plpgsql as $$
begin
	new.c = new.c + 1;
	return new;
end $$;

create procedure run() language plpgsql as $$
declare
	pair text[];
	line text;
	twin text;
begin
	foreach pair slice 1 in array array[
			['a row from columns', 'update t_@ set c = c + 1 where id = 3'],
			['it again', 'update t_@ set c = c + 1 where id = 3'],
			['it again, to the same', 'update t_@ set doc = doc || '''' where id = 3'],
			['a row from the row tree', 'update t_@ set c = c + 1 where id = 33'],
			['all', 'update t_@ set c = c + 1'],
			['all, another one', 'update t_@ set other = ''o'' || id where id > 20'],
			['longer', 'update t_@ set doc = doc || ''x'' where id in (4, 24, 34)'],
			['another one of the same length', 'update t_@ set doc = overlay(doc placing ''#'' from 23000) where id in (5, 25, 35)'],
			['one of two', 'update t_@ set bin = bin || ''y'' where id in (6, 26, 36)'],
			['two that change places', 'update t_@ set doc = other, other = doc where id between 7 and 9'],
			['one that both get', 'update t_@ set other = doc where id = 10'],
			['and that both have', 'update t_@ set c = c + 1 where id = 10'],
			['none', 'update t_@ set doc = null where id in (11, 31)'],
			['still none', 'update t_@ set c = c + 1 where id in (11, 31)'],
			['key', 'update t_@ set id = id + 1000 where id in (12, 32)'],
			['ON CONFLICT', 'insert into t_@ values (13, 0), (33, 0), (50, 0) on conflict (id) do update set c = t_@.c + 100'],
			['MERGE', 'merge into t_@ using (values (14), (34), (51)) v (id) on t_@.id = v.id
				when matched then update set c = c + 7 when not matched then insert (id) values (v.id)'],
			['UPDATE FROM', 'update t_@ set c = s.c from (select id, c + 1 as c from t_@) s where s.id = t_@.id and s.id < 20'],
			['a key is in the way', 'update t_@ set id = 16 where id = 15'],
			['by itself afterwards', 'update t_@ set c = -1 where id = 15']]
	loop
		raise notice '%: %', pair[1], change(pair[2]);
		commit;
	end loop;
	for line in select verify() loop
		raise notice 'verify: %', line;
	end loop;

	foreach twin in array array['h', 'z'] loop
		execute format('create trigger change_row before update on t_%s for each row execute function change_row()', twin);
	end loop;
	raise notice 'by a trigger: %', change('update t_@ set c = 5');
	commit;
	foreach twin in array array['h', 'z'] loop
		execute format('drop trigger change_row on t_%s', twin);
		execute format('alter table t_%s drop gone, add late text default words(1, 4000)', twin);
	end loop;
	commit;
	raise notice 'columns that go and come: %', change('update t_@ set c = c + 1 where id < 10');
	commit;
	raise notice 'the new one is stored now: %', change('update t_@ set c = c + 1 where id < 10');
	commit;
	for line in select verify() loop
		raise notice 'verify: %', line;
	end loop;
end $$;

set client_min_messages = warning;
call create_tables();
reset client_min_messages;
call run();
:vacuum t_z;
select verify();
select zs_compact('t_z') is not null;
select verify();
select change('update t_@ set c = c + 1');
:vacuum t_z;
select verify();

-- what was shared is freed with the last row that has it
delete from t_h where id % 2 = 0;
delete from t_z where id % 2 = 0;
update t_h set doc = 'small', late = null where id < 25;
update t_z set doc = 'small', late = null where id < 25;
:vacuum t_z;
select verify();
delete from t_h;
delete from t_z;
:vacuum t_z;
select verify(), pg_relation_size('t_z') < 300000 as is_small;

-- transactions and subtransactions that are rolled back, in the buffer, or written when somebody reads
call create_tables();
begin;
update t_z set c = c + 1;
rollback;
begin;
update t_z set c = c + 1;
select count(c) from t_z;
rollback;
select verify();
begin;
update t_h set c = c + 1 where id <= 10;
update t_z set c = c + 1 where id <= 10;
savepoint one;
update t_h set c = c + 10, other = 'rolled back' where id between 5 and 15;
update t_z set c = c + 10, other = 'rolled back' where id between 5 and 15;
rollback to one;
update t_h set c = c + 100 where id between 5 and 15;
update t_z set c = c + 100 where id between 5 and 15;
savepoint two;
update t_h set c = c + 1000;
update t_z set c = c + 1000;
select count(c) from t_z;
rollback to two;
release two;
update t_h set c = c + 1 where id = 7;
update t_z set c = c + 1 where id = 7;
update t_h set c = c + 1 where id = 7;
update t_z set c = c + 1 where id = 7;
commit;
select verify();
do $$
declare
	twin text;
begin
	foreach twin in array array['h', 'z'] loop
		for i in 1 .. 30 loop
			begin
				execute format('update t_%s set c = c + $1 where id in ($1, $1 + 1, $1 + 2)', twin) using i;
				execute format('update t_%s set id = $1 + 3 where id = $1 and $1 %% 3 = 0', twin) using i;
			exception when unique_violation then
				execute format('update t_%s set c = -c where id = $1', twin) using i;
			end;
		end loop;
	end loop;
end $$;
select verify();
:vacuum t_z;
select verify();
begin;
insert into t_h select 100, 1, words(100, 30000);
insert into t_z select 100, 1, words(100, 30000);
update t_h set c = 2 where id = 100;
update t_z set c = 2 where id = 100;
update t_h set c = 3 where id = 100;
update t_z set c = 3 where id = 100;
commit;
:vacuum t_z;
select verify();

-- many rows in one statement, which would get stripes of their own; large values only in the later ones, or in every other one
create table many (id int, c int, doc text) using zedstore;
insert into many select i, 0, case when i > 100 and i % 2 = 0 then words(i, 10000) else 'small' end from generate_series(1, 400) i;
create table many_h as select * from many;
select pg_relation_size('many') as before \gset
update many set c = c + 1;
update many_h set c = c + 1;
select pg_relation_size('many') - :before < 800000 as shared;
select count(*) from (table many except table many_h) d;
select * from zs_check('many', true);
:vacuum many;
select * from zs_check('many', true);

-- one row that shares its value does not make rows of all that follow
create table few (id int, c int, doc text) using zedstore;
insert into few select i, 0, case when i = 5 then words(i, 20000) end from generate_series(1, 30000) i;
update few set c = c + 1;
select count(distinct first_row) between 1 and 40 as segments, sum(nrows) > 50000 as most_rows from pg_zs_segments('few') where attno = 2;
select count(*), sum(c), count(distinct id), max(length(doc)) from few;
select * from zs_check('few', true);

-- more values than may be pinned at a time
create table values_z (id int) using zedstore;
do $$
begin
	for i in 1 .. 30 loop
		execute format('alter table values_z add v%s text default words(%s, 1500)', i, i);
	end loop;
end $$;
insert into values_z values (1);
update values_z set id = 2;
update values_z set id = 3, v7 = v7 || 'x';
select id, md5(v1 || v30) = md5(words(1, 1500) || words(30, 1500)) as same, length(v7) from values_z;
select * from zs_check('values_z', true);
:vacuum values_z;
select * from zs_check('values_z', true);

-- rows that the row tree cannot take write their values again
create table wide (id int, doc text) using zedstore;
do $$
begin
	for i in 1 .. 35 loop
		execute format('alter table wide add n%s name default ''name %s''', i, i);
	end loop;
end $$;
insert into wide select i, words(i, 30000) from generate_series(1, 5) i;
select pg_relation_size('wide') as before \gset
update wide set n7 = 'seven';
select pg_relation_size('wide') > :before as written, count(distinct md5(doc)), min(n7), max(n8) from wide;
select * from zs_check('wide', true);

-- one row writes little
create function wal_of(sql text) returns bigint language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (analyze, wal, costs off, timing off, summary off, buffers off, format json) ' || sql into plan;
	return plan -> 0 -> 'Plan' ->> 'WAL Bytes';
end $$;
create table one (id int primary key, c int, doc text) using zedstore;
insert into one select 1, 0, words(1, 1000000);
select wal_of('update one set c = c + 1 where id = 1') < 60000 as shared;
select wal_of('update one set c = c + 1 where id = 1') < 60000 as shared;
set zedstore.enable_value_sharing = off;
select wal_of('update one set c = c + 1 where id = 1') > 300000 as written;
reset zedstore.enable_value_sharing;
select c, md5(doc) = md5(words(1, 1000000)) from one;

-- the same statements with sharing switched off
set zedstore.enable_value_sharing = off;
call create_tables();
call run();
:vacuum t_z;
select verify();

-- a rewrite ends sharing; so does another access method
reset zedstore.enable_value_sharing;
select change('update t_@ set c = c + 1');
:vacuum full t_z;
select verify();
-- written once, since shorter values are in columns now
select change('update t_@ set c = c + 1 where id < 10');
select change('update t_@ set c = c + 1 where id < 10');
alter table t_z set access method heap;
alter table t_z set access method zedstore;
select verify();
select change('update t_@ set c = c + 1 where id < 10');
select change('update t_@ set c = c + 1 where id < 10');
truncate t_z, t_h;
select verify();
set client_min_messages = warning;
drop schema write_keep cascade;
