-- grouping by batches where core would sort since it expects few rows, and by keys that decide
-- other columns
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
create schema node_agg_choice;
set search_path = node_agg_choice, public;
set client_min_messages = warning;
set max_parallel_workers_per_gather = 0;
-- "r" in front: the plan has a ZedstoreAgg over rows, "t": one over a table
\set ECHO none
create function over_rows(query text) returns text language sql as $$
	select test.by_batches('select string_agg(r::text, '' '' order by r::text collate "C") from ('
	|| query || ') r',
		'(?n)Custom Scan \(ZedstoreAgg\)$', 'r', 100)
$$;
create function over_table(query text) returns text language sql as $$
	select test.by_batches('select string_agg(r::text, '' '' order by r::text collate "C") from ('
	|| query || ') r',
		'(?n)Custom Scan \(ZedstoreAgg\) on', 't', 100)
$$;
create table h_dep (id int primary key, name text, price numeric, weight float8, tags jsonb,
	shape box, kind char(5),
	i2 int2, i4 int4, i8 int8, f4 float4);
insert into h_dep select g, case when g % 5 <> 0 then 'n' || g % 40 end, (g % 30) / 4.0, g % 17
	/ 8.0,
	jsonb_build_object('k', g % 3), box(point(0, 0), point(g, 1)), 'c' || g % 4, g % 100, g % 1000
	- 500, g::int8 * 1000000007, g / 16.0
	from generate_series(1, 600) g;
create table z_dep (like h_dep including indexes) using zedstore;
insert into z_dep select * from h_dep;
create table h_fact (dep int, a int, b int, n numeric(10,2), v int);
insert into h_fact select g % 700, g % 100, g % 100, g % 20000 / 8.0, g % 37 from generate_series(1,
	100000) g;
CALL test.twin('fact');
vacuum analyze h_dep, z_dep, h_fact, z_fact;
\set ECHO all

-- columns that the key decides: in GROUP BY, in the target list, in HAVING; also of a row that
-- has no partner
select over_rows('select d.id, d.name, sum(n) from @_fact f join @_dep d on d.id = f.dep group
	by d.id, d.name');
select over_rows('select d.name, d.price, count(*), sum(n) from @_fact f join @_dep d on d.id =
	f.dep group by d.id');
select over_rows('select d.id, upper(d.name) || d.kind, count(*) from @_fact f join @_dep d on
	d.id = f.dep group by d.id
	having d.price > 3 and count(*) > 142');
select over_rows('select d.name, f.a % 3, sum(n) from @_fact f left join @_dep d on d.id =
	f.dep group by d.id, f.a % 3');
select over_rows('select coalesce(d.name, ''none''), max(v) from @_fact f left join @_dep d on
	d.id = f.dep group by d.id');
select over_rows('select d.weight, d.f4, sum(n) from @_fact f join @_dep d on d.id = f.dep
	group by d.id');
select over_rows('select count(*), d.name from @_fact f join @_dep d on d.id = f.dep group by
	d.id order by d.name, count(*) limit 7');
select over_table('select id, name, kind, count(*) from @_dep group by id');
select over_table('select id, name, sum(price) from @_dep group by id, name, price having price
	> 7');
select over_table('select name || kind, max(i8) from @_dep group by id, weight');
-- not by types that there are no words for, nor for whole rows
select over_rows('select d.tags, count(*) from @_fact f join @_dep d on d.id = f.dep group by
	d.id');
select over_rows('select d.shape::text, count(*) from @_fact f join @_dep d on d.id = f.dep
	group by d.id');
select over_rows('select d, count(*) from @_fact f join @_dep d on d.id = f.dep group by d.id');

-- variances over rows
select over_rows('select f.a % 7, ' || string_agg(format('round(%s(d.%s)::numeric, 8)', a, c),
	', ' order by a, c) || ' from @_fact f
		join @_dep d on d.id = f.dep group by f.a % 7')
	from unnest(array['stddev', 'stddev_samp', 'stddev_pop', 'variance', 'var_samp', 'var_pop'])
	a,
		unnest(array['i2', 'i4', 'i8', 'price', 'f4', 'weight']) c;
select over_rows('select f.a % 7, stddev_samp(v * 2), variance(n * d.price), var_pop(distinct
	v), round(stddev(d.weight + 1)::numeric, 8)
	from @_fact f join @_dep d on d.id = f.dep group by f.a % 7');
select over_rows('select d.name, stddev_samp(v), avg(v), case avg(v) when 0 then null else
	stddev_samp(v) / avg(v) end
	from @_fact f join @_dep d on d.id = f.dep group by d.id having stddev_samp(v) /
	nullif(avg(v), 0) > 0.55');

-- a = b is believed to hold for one row in a hundred: a sort would look as cheap
create function plan(query text) returns setof text language plpgsql as $$
begin
	return query execute 'explain (costs off) ' || query;
end $$;
create function chosen(query text) returns text language plpgsql as $$
declare
	mode text;
	result text := '';
	seen text;
begin
	foreach mode in array array['off', 'on'] loop
		perform set_config('zedstore.enable_robust_joins', mode, true);
		select coalesce(string_agg(substring(line from
		'ZedstoreAgg|GroupAggregate|HashAggregate|Group$|Unique'), ' '), '-')
			into seen from plan(query) line where line ~ 'Agg|Group$|Unique';
		result := result || mode || ': ' || seen || ' ';
	end loop;
	perform set_config('zedstore.enable_robust_joins', 'on', true);
	return result;
end $$;
-- ... and hashing may be unwanted
set enable_hashagg = off;
select chosen('select d.kind, f.v, sum(n) from z_fact f join z_dep d on d.id = f.dep where f.a
	= f.b and f.a - f.b = 0 group by 1, 2');
reset enable_hashagg;
select chosen('select d.kind, f.v, sum(n) from z_fact f join z_dep d on d.id = f.dep where f.a
	= f.b and f.a - f.b = 0
	group by 1, 2 order by 1, 2');
select chosen('select distinct d.kind, f.v from z_fact f join z_dep d on d.id = f.dep where f.a
	= f.b and f.a - f.b = 0 order by 1, 2');
-- where the plan below costs next to nothing core's choice stands
select chosen('select d.kind, count(*) from z_dep d join z_dep e on e.id = d.i2 where d.id = 3
	group by d.kind');
-- what groups reads a CTE; there is a table of ours somewhere
select over_rows('with w as materialized (select dep, a, sum(n) as s from @_fact group by dep, a)
	select a, count(*), sum(s) from w group by a');

-- in parts
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
select over_rows('select d.id, d.name, sum(n), stddev_samp(v) from @_fact f join @_dep d on
	d.id = f.dep group by d.id, d.name');
select over_rows('select d.name, d.price, count(*), variance(d.i8) from @_fact f join @_dep d
	on d.id = f.dep group by d.id');
select over_table('select id, name, sum(price) from @_dep group by id, name, price having price
	> 7');
set zedstore.enable_combined_groups = off;
select over_rows('select d.name, d.price, count(*), variance(v) from @_fact f join @_dep d on
	d.id = f.dep group by d.id');
reset zedstore.enable_combined_groups;

-- partitions
set max_parallel_workers_per_gather = 0;
set enable_partitionwise_aggregate = on;
\set ECHO none
create table h_part (id int primary key, name text, n numeric) partition by range (id);
create table h_part1 partition of h_part for values from (0) to (500);
create table h_part2 partition of h_part for values from (500) to (2000);
insert into h_part select g, 'n' || g % 40, g / 4.0 from generate_series(1, 1500) g;
create table z_part (id int primary key, name text, n numeric) partition by range (id);
create table z_part1 partition of z_part for values from (0) to (500) using zedstore;
create table z_part2 partition of z_part for values from (500) to (2000) using zedstore;
insert into z_part select * from h_part;
analyze h_part, z_part;
\set ECHO all
select over_table('select id, name, sum(n) from @_part group by id having sum(n) > 370');
select over_table('select name, count(*), sum(n) from @_part group by id, name');
-- columns of a key that core has the grouping return are no keys: what is computed above a window,
-- or above a sort, from an expression that is a key
create table over_keys (id int primary key, n numeric) using zedstore;
insert into over_keys select g, g % 5 from generate_series(1, 3000) g;
set zedstore.debug_vector = force;
select abs(id % 3 + 0 * id) as a, count(*), sum(count(*)) over (order by id % 3 + 0 * id) as s
	from over_keys group by id % 3 + 0 * id order by 1;
select trim_scale(n + 0 * id) as t, count(*), rank() over (order by count(*), n + 0 * id) as r
	from over_keys group by n + 0 * id order by 1;
select (id % 3 + 0 * id) * 2 + (random() * 0)::int as a, count(*) from over_keys
	group by id % 3 + 0 * id order by id % 3 + 0 * id limit 3;
select distinct id % 3 + 0 * id as a from over_keys order by 1;
select n, max(id) from over_keys group by id, n having id < 3 order by 1;
select n, count(*) from over_keys group by id having max(id) < 3 order by 1;
reset zedstore.debug_vector;
drop table over_keys;
drop schema node_agg_choice cascade;
