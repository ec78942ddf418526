--
-- Ordered scans and top-N look at no stripe that zone maps of the filter's columns exclude
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\set ECHO none
\i :include
\set ECHO all
create schema order_filter;
set search_path = order_filter, public;
set zedstore.min_segment_rows = 1024;
set max_parallel_workers_per_gather = 0;

-- loads that are each in the order of k, and all in that of id; NULLs; text with a collation
create table runs_h (id int, k int, s text collate "und-x-icu", n int);
create table runs_z (like runs_h) using zedstore with (autovacuum_enabled = off);
create function run(part int) returns setof runs_h language sql as $$
	select part * 8192 + row_number() over (order by g * 7919 % 8192)::int,
		case when g % 8192 > 8100 then null else g * 7919 % 8192 end,
		'text ' || lpad((g * 7919 % 8192)::text, 6, '0'), nullif(g % 4096, 17)
	from generate_series(1, 8192) g order by g * 7919 % 8192
$$;
do $$ begin
	for part in 0 .. 5 loop
		insert into runs_h select * from run(part);
		insert into runs_z select * from run(part);
		perform count(*) from runs_z;
	end loop;
end $$;
vacuum analyze runs_z;
analyze runs_h;
-- a column that is younger than most segments, rows in the row tree, rows that are gone
alter table runs_h add late int default 5;
alter table runs_z add late int default 5;
select test.both('insert into runs_@ select g, g % 5000, ''text '' || g, g, g % 10
	from generate_series(1, 700) g');
select test.both('delete from runs_@ where id % 13 = 0');
select test.both('update runs_@ set n = -1 where k between 1000 and 1010');

create function read(query text) returns text language plpgsql as $$
declare
	plan jsonb;
begin
	execute 'explain (analyze, costs off, timing off, summary off, buffers off, format json) '
		|| query into plan;
	plan := jsonb_path_query_first(plan, 'strict $.** ? (@."Relation Name" == "runs_z")');
	return format('%s: %s vectors, %s rows removed, %s segments skipped',
		plan ->> 'Custom Plan Provider', plan ->> 'Vectors Read',
		plan ->> 'Rows Removed by Filter', plan ->> 'Segments Skipped');
end $$;
set enable_sort = off;
set zedstore.debug_vector = force;
select read('select * from runs_z where k = 4711 order by id');
select read('select * from runs_z where k = 4711 order by id desc');
select read('select id, k, n from runs_z where s = ''text 004711'' order by id');
select read('select * from runs_z where k between 20 and 30 order by id limit 3');
select read('select * from runs_z where k is null order by id');
select read('select * from runs_z where k = 4711 and late = 5 order by id');
set zedstore.enable_zone_maps = off;
select read('select * from runs_z where k = 4711 order by id');
reset zedstore.enable_zone_maps;
-- a clause that may raise an error meets all rows that those in front of it leave
select read('select * from runs_z where 10 / (id + 1) < 100 and k = 4711 order by id');

-- the same rows in the same order as heap's, by all of these filters and orders
create function filtered_same() returns table (filter text, result text) language sql as $$
	select w, string_agg(distinct test.same(format('select row_number() over () as nr, r.* from
		(select * from runs_@ where %s order by %s, id, k, s limit %s) r', w, o, l)), '; ')
	from unnest(array['k = 4711', 'k in (17, 3000, 8000)', 'k < 5', 'k is null', 'k is not null',
			's = ''text 004711''', 's > ''text 0080'' and k < 8150', 'n = 17', 'n is null',
			'n = -1', 'late = 5 and k = 300', 'late <> 5', 'k = 300 or n = 300',
			'k = any (array[null, 5]::int[])', 'false', 'k = 99999', 'id < 0']) w,
		unnest(array['id', 'id desc', 'k', 'k desc', 'n nulls first', 'n desc nulls last',
			'late desc']) o, unnest(array['3', 'all']) l
	group by w order by w
$$;
select * from filtered_same();
set zedstore.debug_vector = verify;
select * from filtered_same() where result <> 't';
reset zedstore.debug_vector;
-- a parameter that changes leads to other stripes
set plan_cache_mode = force_generic_plan;
prepare by_key(int) as select id, k from runs_z where k = $1 order by id;
execute by_key(4711);
execute by_key(11);
execute by_key(null);
reset plan_cache_mode;
select g, (select array_agg(id) from (select id from runs_z where k = g order by id offset 0) r)
	from generate_series(2000, 6000, 2000) g;
-- a cursor sees what was there, and goes back
begin;
declare c scroll cursor for select id, k from runs_z where k = 4711 order by id;
fetch 2 from c;
insert into runs_z values (0, 4711, 'new', 1);
fetch all from c;
fetch backward 3 from c;
rollback;
select test.check('runs_z');
set client_min_messages = warning;
drop schema order_filter cascade;
