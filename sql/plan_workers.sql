-- Parallel workers are planned by the pages that a heap would have: as many as for a heap with the same rows.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include

-- plans of core's nodes
set zedstore.enable_vector_agg = off;
set zedstore.enable_vector_scan = off;
set max_parallel_workers_per_gather = 8;
set max_parallel_maintenance_workers = 8;
set min_parallel_table_scan_size = '64kB';
set min_parallel_index_scan_size = 0;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set enable_indexscan = off;
set enable_indexonlyscan = off;

-- Workers that the plan of a query has, or -1 if it is not parallel.
create function test.workers(sql text) returns int language plpgsql as $$
declare
	plan text;
begin
	execute 'explain (format json) ' || sql into plan;
	return coalesce(substring(plan from '"Workers Planned": (\d+)')::int, -1);
end $$;

-- Workers for both twins.
create function test.planned(sql text) returns text language plpgsql as $$
declare
	h int := test.workers(replace(sql, '_@', '_h'));
	z int := test.workers(replace(sql, '_@', '_z'));
begin
	return case when h = z then h::text else format('DIFFERENT: heap: %s, zedstore: %s', h, z) end;
end $$;

-- Tables of 7 to 700 heap pages: narrow rows, and wide ones that compress well.
create table narrow_h (a int, b int, c int) using heap;
create table narrow_z (a int, b int, c int) using zedstore;
create table wide_h (a int, b text, c bigint) using heap;
create table wide_z (a int, b text, c bigint) using zedstore;

create function test.fill(tab text, pages int) returns void language plpgsql as $$
declare
	density int := case tab when 'narrow' then 185 else 31 end;
	row_of text := case tab when 'narrow' then '(g * 7919) % 1000, g, 3' else '(g * 7919) % 1000, repeat(''x'', 200), g' end;
	twin text;
begin
	foreach twin in array array['h', 'z'] loop
		execute format('truncate %s_%s', tab, twin);
		execute format('insert into %s_%s select %s from generate_series(1, %s) g', tab, twin, row_of, pages * density - 10);
		execute format('analyze %s_%s', tab, twin);
	end loop;
end $$;

-- what the sizes are on heap, and that zedstore's are not
select pages, test.fill('narrow', pages) is not null as filled, pg_relation_size('narrow_h') / 8192 as heap,
	test.planned('select count(*), sum(a) from narrow_@') as scan,
	test.planned('select * from narrow_@ where c = 4') as filter
from unnest(array[7, 9, 20, 30, 65, 80, 200, 230, 620, 680]) pages;
select pages, test.fill('wide', pages) is not null as filled, pg_relation_size('wide_h') / 8192 as heap,
	test.planned('select count(*), sum(a) from wide_@') as scan,
	test.planned('select * from wide_@ where c = -1') as filter
from unnest(array[7, 9, 20, 30, 65, 80, 200, 230, 620, 680]) pages;
select pg_relation_size('wide_z') < pg_relation_size('wide_h') / 10;

-- Bitmap scans: few pages, many, all of them.  Pages cost nothing, so that workers pay wherever they are offered.
create index on wide_h (a);
create index on wide_z (a);
set enable_seqscan = off;
set seq_page_cost = 0;
set random_page_cost = 0;
select n, test.planned(format('select sum(c) from wide_@ where a < %s', n)) as bitmap
from unnest(array[1, 3, 10, 100, 500]) n;
explain (costs off) select sum(c) from wide_z where a < 100;
reset enable_seqscan;
reset seq_page_cost;
reset random_page_cost;
drop index wide_h_a_idx, wide_z_a_idx;

-- CREATE INDEX says how many it asks for.
set maintenance_work_mem = '1GB';
set log_statement = none;
set client_min_messages = debug1;
create index on wide_h (a);
create index on wide_z (a);
reset client_min_messages;
reset log_statement;

-- A partition gets a worker whatever its size, and the whole as many as on heap.
create table part_h (a int, b int, c int) partition by range (a);
create table part_z (a int, b int, c int) partition by range (a);
create table part_h_1 partition of part_h for values from (0) to (500) using heap;
create table part_h_2 partition of part_h for values from (500) to (1000) using heap;
create table part_z_1 partition of part_z for values from (0) to (500) using zedstore;
create table part_z_2 partition of part_z for values from (500) to (1000) using zedstore;
insert into part_h select * from narrow_h;
insert into part_z select * from narrow_z;
analyze part_h;
analyze part_z;
select test.planned('select count(*), sum(a) from part_@'), test.planned('select count(*), sum(a) from part_@ where a < 500');

-- The table's own setting decides alone.
alter table wide_h set (parallel_workers = 1);
alter table wide_z set (parallel_workers = 1);
select test.planned('select count(*), sum(a) from wide_@');
alter table wide_h set (parallel_workers = 0);
alter table wide_z set (parallel_workers = 0);
select test.planned('select count(*), sum(a) from wide_@');
alter table wide_z reset (parallel_workers);
alter table wide_h reset (parallel_workers);

-- A sample, an empty table and one of which nothing can match have none that heap has not.
select test.planned('select count(*) from wide_@ tablesample bernoulli (50)'), test.planned('select * from wide_@ where false');
truncate wide_h, wide_z;
select test.planned('select count(*), sum(a) from wide_@');

-- And what the workers return is right.
select test.same('select count(*), sum(a), sum(b), sum(c) from narrow_@'), test.same('select a, count(*) from part_@ group by a');

drop table narrow_h, narrow_z, wide_h, wide_z, part_h, part_z;
