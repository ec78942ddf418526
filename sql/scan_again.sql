-- Small tables that are read again and again: what was decoded is kept, and is right whatever
-- happens to the table meanwhile
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
create schema scan_again;
set search_path = scan_again, public;
set max_parallel_workers_per_gather = 0;
set zedstore.enable_result_cache = off;

-- seven stripes; strings of several encodings, large values, NULLs, a column that came later
create table t_h (id int primary key, k int, n numeric, s text, d text, c char(3), big text)
	using heap with (autovacuum_enabled = off);
create table t_z (like t_h including all) using zedstore with (autovacuum_enabled = off);
select test.both('insert into t_@ select g, g % 100, g / 7.0, case when g % 11 > 0
	then ''text '' || md5(g::text) end, ''word '' || g % 7, chr(65 + g % 26),
	case when g % 1000 = 0 then repeat(md5(g::text), 1000) end
	from generate_series(1, 7000) g');
create index on t_h (k);
create index on t_z (k);
select test.both('alter table t_@ add late int default 7'),
	test.both('alter table t_@ add later text'),
	test.both('insert into t_@ select g, g % 100, g, ''s'' || g, ''new'', ''x'', null, g, ''l'' || g
		from generate_series(7001, 7400) g');
vacuum analyze t_h, t_z;
-- rows of the row tree beside them
select test.both('insert into t_@ select g, g % 100, g, ''s'' || g, ''tree'', ''y'', null, g,
	''m'' || g from generate_series(7401, 7500) g'),
	test.both('delete from t_@ where id % 50 = 3'), test.both('update t_@ set s = ''u'' || id
		where id % 70 = 1');

-- inner sides of loops: by index, by bitmap, whole; all columns, and few
create view loops as select * from (values
	('by bitmap', 'select g, x.* from generate_series(1, 60) g, lateral (select count(*), sum(n),
		max(s), min(d), max(c), sum(length(big)), sum(late), max(later) from t_@
		where k = g % 20) x'),
	('some', 'select g, x.* from generate_series(1, 60) g, lateral (select id, s, later from t_@
		where k = g and s like ''%a%'' order by id limit 2) x'),
	('by key', 'select g, x.* from generate_series(1, 3000) g, lateral (select * from t_@
		where id = g * 7919 % 7500 offset 0) x'),
	('whole', 'select g, x.* from generate_series(1, 20) g, lateral (select count(*), sum(n),
		max(s), count(later), sum(late) from t_@ where id > g) x'),
	('rows', 'select g, x.id, x.s, length(x.big), x.n from generate_series(1, 20) g,
		lateral (select * from t_@ where id % 1000 = g % 3 offset 0) x'),
	('groups', 'select g, x.* from generate_series(1, 10) g, lateral (select d, c, count(*), sum(id)
		from t_@ where id > g * 100 group by d, c) x'),
	('merge', 'select count(*), sum(length(b.s)) from t_@ a join t_@ b using (k)
		where a.id < 400')) v(name, q);
\set ECHO none
create table result (name text, settings text, same text);
create procedure compare(settings text) language plpgsql as $$
declare
	r record;
begin
	for r in select * from loops loop
		insert into result values (r.name, settings, test.same(r.q));
	end loop;
end $$;
call compare('');
set enable_bitmapscan = off;
call compare('no bitmap');
set enable_seqscan = off;
call compare('index');
reset enable_bitmapscan;
set enable_indexscan = off;
call compare('bitmap');
reset enable_seqscan;
set enable_bitmapscan = off;
call compare('whole');
set zedstore.enable_vector_scan = off;
set zedstore.enable_vector_agg = off;
call compare('rows');
-- little memory: some stripes only
set work_mem = '64kB';
set hash_mem_multiplier = 1;
call compare('rows, little memory');
reset zedstore.enable_vector_scan;
reset zedstore.enable_vector_agg;
call compare('little memory');
reset enable_indexscan;
set enable_seqscan = off;
call compare('index, little memory');
\set ECHO all
reset all;
set search_path = scan_again, public;
set max_parallel_workers_per_gather = 0;
set zedstore.enable_result_cache = off;
select settings, count(*), string_agg(distinct same, ', ') from result group by 1 order by 1;

-- the table changes while loops go on: their snapshot decides
begin;
declare k_h cursor for select g, x.* from generate_series(1, 30) g, lateral (select count(*),
	sum(id), max(s), max(later) from t_h where k <> g offset 0) x;
declare k_z cursor for select g, x.* from generate_series(1, 30) g, lateral (select count(*),
	sum(id), max(s), max(later) from t_z where k <> g offset 0) x;
fetch 2 k_h;
fetch 2 k_z;
select test.both('update t_@ set s = ''zzz'', k = k + 1 where id between 1000 and 2000'),
	test.both('insert into t_@ select g, 1, 1, ''zzzz'', ''d'', ''x'', null, g, ''zzz''
		from generate_series(8001, 13000) g');
fetch 1 k_h;
fetch 1 k_z;
commit;
-- a vector is decoded once, not in each loop
create function vectors_read(query text) returns bigint language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (analyze, format json) ' || query into plan;
	return (select sum((v #>> '{}')::bigint) from jsonb_path_query(plan::jsonb,
		'strict $.**."Vectors Read"') v);
end $$;
select vectors_read('select g, x.* from generate_series(1, 100) g, lateral (select count(*),
	max(s) from t_z where id <> g and late = 7) x') < 200 as kept;
set zedstore.enable_fetch_cache = off;
select vectors_read('select g, x.* from generate_series(1, 100) g, lateral (select count(*),
	max(s) from t_z where id <> g and late = 7) x') < 200 as kept;
reset zedstore.enable_fetch_cache;

-- costs of look-ups in loops, and of many in one scan, know of it
vacuum analyze t_h, t_z;
create function cost_without(query text) returns float8 language plpgsql
	set zedstore.enable_fetch_cache = off as $$
begin
	return test.cost(query);
end $$;
set enable_seqscan = off;
set enable_bitmapscan = off;
set enable_hashjoin = off;
set enable_mergejoin = off;
set zedstore.enable_robust_joins = off;
set zedstore.enable_adaptive_join = off;
select q, test.cost(q) < 0.9 * cost_without(q) as less from unnest(array[
	'select b.s from t_h a join t_z b on b.k = a.id where a.id < 300',
	'select n, d from t_z order by k']) q;
set enable_bitmapscan = on;
set enable_indexscan = off;
select q, test.cost(q) < 0.9 * cost_without(q) as less from unnest(array[
	'select b.s from t_h a join t_z b on b.k = a.id where a.id < 300']) q;
