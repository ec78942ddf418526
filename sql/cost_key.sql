--
-- One row by key: the plan is heap's, and nothing of ours stands in it
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema cost_key;
set search_path = cost_key, public;
set max_parallel_workers_per_gather = 0;
create table a_h (id int primary key, b_id int, v int, t text)
	using heap with (autovacuum_enabled = off);
create table b_h (id int primary key, c_id int, v int) using heap with (autovacuum_enabled = off);
create table c_h (k1 int, k2 bigint, v int, w text, primary key (k1, k2))
	using heap with (autovacuum_enabled = off);
create table few_h (id int primary key, v int) using heap with (autovacuum_enabled = off);
create table a_z (like a_h including all) using zedstore with (autovacuum_enabled = off);
create table b_z (like b_h including all) using zedstore with (autovacuum_enabled = off);
create table c_z (like c_h including all) using zedstore with (autovacuum_enabled = off);
create table few_z (like few_h including all) using zedstore with (autovacuum_enabled = off);
select test.both('insert into a_@ select i, 1 + i * 13 % 20000, i % 100, ''t'' || i
	from generate_series(1, 30000) i');
select test.both('insert into b_@ select i, 1 + i * 7 % 5000, i % 100
	from generate_series(1, 20000) i');
select test.both('insert into c_@ select i, i, i % 100, ''w'' || i
	from generate_series(1, 5000) i');
select test.both('insert into few_@ select i, i from generate_series(1, 20) i');
vacuum analyze;

-- the plan, and whether heap has the same one and both return the same
create function look_up(query text) returns setof text language plpgsql as $$
declare
	plan_h text[];
	plan_z text[];
begin
	plan_h := array(select plan_of(replace(query, '_@', '_h')));
	plan_z := array(select plan_of(replace(query, '_@', '_z')));
	return query select unnest(plan_z);
	if array_to_string(plan_h, E'\n') <> replace(array_to_string(plan_z, E'\n'), '_z', '_h') then
		return query select 'HEAP: ' || l from unnest(plan_h) l;
	end if;
	if query like 'select%' then
		return next 'same rows: ' || test.same(query);
	end if;
end $$;
create function plan_of(query text) returns setof text language plpgsql as $$
begin
	return query execute 'explain (costs off) ' || query;
end $$;
\pset tuples_only on
select look_up('select * from a_@ where id = 4711');
select look_up('select v from a_@ where id = 4711 and v < 50');
select look_up('select id from a_@ where id = 4711');
select look_up('update a_@ set v = 0 where id = 4711');
select look_up('delete from a_@ where id = 4711');
select look_up('select v from c_@ where k2 = 7 and k1 = 7');
select look_up('select v from a_@ where id = 4711 order by v limit 1');
select look_up('select count(*), sum(v) from a_@ where id = 4711');
-- by the columns of one row to the next
select look_up('select a.v, b.v, c.w from a_@ a
	join b_@ b on b.id = a.b_id
	join c_@ c on c.k1 = b.c_id and c.k2 = b.c_id
	where a.id = 4711');
select look_up('select a.v, b.v from b_@ b join a_@ a on b.id = a.b_id where a.id = 4711');
select look_up('select a.v, b.v from a_@ a
	left join b_@ b on b.id = a.b_id and b.v > 5
	where a.id = 4711');
select look_up('select a.v from a_@ a
	where a.id = 4711
	and exists (select from b_@ b where b.id = a.b_id)');
-- other plans, if that one is not allowed
set enable_indexscan = off;
select plan_of('select v from a_z where id = 4711');
set enable_bitmapscan = off;
select plan_of('select v from a_z where id = 4711');
select test.same('select v from a_@ where id = 4711');
reset enable_indexscan;
reset enable_bitmapscan;
set enable_nestloop = off;
select test.same('select a.v, b.v from b_@ b join a_@ a on b.id = a.b_id where a.id = 4711');
reset enable_nestloop;
-- a table of one page is read
select plan_of('select v from few_z where id = 7');
\pset tuples_only off
\set VERBOSITY terse
drop schema cost_key cascade;
