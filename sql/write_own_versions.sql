--
-- Versions that a transaction made and replaced itself: no index keeps their entries, but who may
-- see them does
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema write_own_versions;
set search_path = write_own_versions, public;
set enable_seqscan = off;
set enable_bitmapscan = off;
set zedstore.enable_vector_scan = off;

create table t_h (k int primary key, n int default 0, c text) using heap;
create table t_z (k int primary key, n int default 0, c text) using zedstore;
select test.both('insert into t_@ (k) select generate_series(1, 1000)');
vacuum analyze t_h, t_z;

-- By how many pages does an index grow with so many rounds of a statement?  By five without this.
create function growth(index text, sql text, rounds int) returns text language plpgsql as $$
declare
	before bigint := pg_relation_size(index::regclass) / 8192;
	pages bigint;
begin
	for i in 1 .. rounds loop
		execute replace(sql, '$1', i::text);
	end loop;
	pages := pg_relation_size(index::regclass) / 8192 - before;
	return case when pages <= 2 then 'little' else pages || ' pages' end;
end $$;
create table g_z (k int primary key, n int, c text) using zedstore;
create index m_z on g_z (n);
insert into g_z select g, g from generate_series(1, 100) g;
select growth('g_z_pkey', 'update g_z set c = ''c$1'' where k = 1', 5000),
	growth('m_z', 'update g_z set c = ''c$1'' where k = 2', 5000),
	growth('g_z_pkey', 'insert into g_z values (3) on conflict (k) do update set n = $1', 5000);
select growth('g_z_pkey', 'delete from g_z where k = 4; insert into g_z values (4, $1)', 5000);
-- ... also where the snapshot is the transaction's, and beside a cursor that sees none of them
begin isolation level repeatable read;
declare old cursor for select k, n, c from g_z where k between 1 and 3;
select growth('g_z_pkey', 'update g_z set c = ''d$1'' where k = 1', 5000);
fetch all old;
commit;
select k, n, c from g_z where k between 1 and 4 order by k;
select test.check('g_z');

select test.again('update t_@ set c = ''c$1'' where k = 1', 500);
select test.again('insert into t_@ values (2, 0, ''new'') on conflict (k)
	do update set c = ''d$1''', 500);
select test.same('select * from t_@'), test.same('select * from t_@ where k < 10 order by k');

-- cursors of different times each see their version, though all others have gone
create procedure cursors(twin text) language plpgsql as $$
declare
	c refcursor[];
	cur refcursor;
	r text;
	all_of text[];
begin
	for i in 1 .. 40 loop
		execute format('update t_%s set n = 100 + %s where k = 10', twin, i);
		if i % 8 = 0 then
			cur := twin || i;
			open cur for execute format('select n from t_%s where k = 10', twin);
			c := c || cur;
		end if;
	end loop;
	for i in 1 .. 1000 loop
		execute format('update t_%s set n = n + 1, c = ''x'' where k = 10', twin);
		execute format('insert into t_%s values (10) on conflict (k) do nothing', twin);
	end loop;
	foreach cur in array c loop
		fetch cur into r;
		all_of := all_of || r;
		close cur;
	end loop;
	raise notice '%', all_of;
end $$;
set client_min_messages = notice;
call cursors('h');
call cursors('z');

-- a function that only reads sees what its caller's snapshot does, whatever was done since
create function change(twin text, key int, rounds int) returns text language plpgsql as $$
begin
	for i in 1 .. rounds loop
		execute format('update t_%s set n = n + 1, c = n where k = %s', twin, key);
		execute format('insert into t_%s values (%s) on conflict (k) do nothing', twin, key);
	end loop;
	return 'changed ';
end $$;
create function look(twin text, key int) returns text language plpgsql stable as $$
declare
	r text;
begin
	execute format('select n || '' '' || coalesce(c, ''-'') from t_%s where k = %s', twin, key)
		into r;
	return r;
end $$;
create procedure nested(twin text) language plpgsql as $$
declare
	r text;
begin
	for i in 1 .. 3 loop
		execute format('update t_%s set n = 1000 * %s where k = 11', twin, i);
		r := change(twin, 11, 300) || look(twin, 11);
		raise notice '%', r;
		r := change(twin, 11, 300);
		r := look(twin, 11);
		raise notice 'then %', r;
	end loop;
end $$;
call nested('h');
call nested('z');
begin;
call nested('h');
call nested('z');
select change('h', 11, 3), look('h', 11), change('h', 11, 300), look('h', 11);
select change('z', 11, 3), look('z', 11), change('z', 11, 300), look('z', 11);
commit;

-- triggers at the end of the transaction find old versions by their TIDs
create table log_h (o int, n int);
create table log_z (o int, n int);
create function note() returns trigger language plpgsql as $$
begin
	execute format('insert into log_%s values ($1, $2)', tg_argv[0]) using old.n, new.n;
	return null;
end $$;
create constraint trigger note after update on t_h deferrable initially deferred
	for each row when (old.k = 12) execute function note('h');
create constraint trigger note after update on t_z deferrable initially deferred
	for each row when (old.k = 12) execute function note('z');
begin;
select test.again('update t_@ set n = n + 1 where k = 12', 500);
select test.again('insert into t_@ values (12) on conflict (k) do update set n = t_@.n + 1', 500);
commit;
select test.same('select * from log_@'), count(*), max(n) from log_z;

-- what a subtransaction has deleted comes back with its rollback
begin;
select test.again('insert into t_@ values (2000 + $1, $1)', 100);
select test.again('update t_@ set n = n + 1 where k > 2000', 20);
savepoint s;
select test.again('update t_@ set n = n + 1 where k > 2000', 20);
select test.both('delete from t_@ where k > 2000');
select test.both('insert into t_@ select g, 0 from generate_series(2001, 2100) g');
select test.same('select * from t_@ where k > 2000');
rollback to s;
select test.same('select * from t_@ where k > 2000');
select test.both('insert into t_@ values (2050)');
select test.again('update t_@ set n = n + 1 where k > 2000', 20);
savepoint s;
select test.again('update t_@ set n = n + 1 where k > 2000', 20);
release s;
select test.again('update t_@ set n = n + 1 where k > 2000', 20);
select test.both('insert into t_@ values (2050)');
select test.same('select * from t_@ where k > 2000');
commit;
select test.same('select * from t_@ where k > 2000');

-- rolled back altogether
begin;
select test.again('update t_@ set n = n + 1 where k between 20 and 40', 200);
rollback;
select test.same('select * from t_@ where k between 15 and 45');
select test.both('insert into t_@ values (30)');
vacuum t_z;
select test.same('select * from t_@ where k between 15 and 45'), test.same('select * from t_@');

-- what a backend remembers holds in its next transactions, but not for what comes back
select test.again('update t_@ set n = n + 1 where k = 50', 100);
do $$
begin
	for i in 1 .. 200 loop
		update t_h set n = n + 1 where k = 50;
		update t_z set n = n + 1 where k = 50;
		if i % 7 = 0 then
			rollback;
		else
			commit;
		end if;
		if (select n from t_h where k = 50) <> (select n from t_z where k = 50) then
			raise 'different in round %', i;
		end if;
	end loop;
end $$;
select test.both('insert into t_@ values (50)');
select test.same('select * from t_@ where k = 50'), n from t_z where k = 50;
begin isolation level serializable;
select test.same('select * from t_@ where k = 50');
select test.again('update t_@ set n = n + 1 where k = 50', 100);
select test.same('select * from t_@ where k = 50');
commit;

select test.check('t_z');
set client_min_messages = warning;
drop schema write_own_versions cascade;
