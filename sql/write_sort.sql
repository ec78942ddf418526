--
-- Loads in the order of the table's key: zedstore_sort_key
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\set ECHO none
\i :include
\set ECHO all
create schema write_sort;
set search_path = write_sort, public;
set zedstore.min_segment_rows = 1024;

-- the value is an ORDER BY of columns
create table bad (a int, b text) using zedstore with (zedstore_sort_key = 'a, a desc');
create table bad (a int, b text) using zedstore with (zedstore_sort_key = 'a + 1');
create table bad (a int, b text) using zedstore with (zedstore_sort_key = '1');
create table bad (a int, b text) using zedstore with (zedstore_sort_key = '');
create table bad (a int, b text) using zedstore with (zedstore_sort_key = 'a using <');
create table bad (a int, b text) using zedstore with (zedstore_sort_key = 'a collate "C"');
create table bad (a int, b text) using zedstore with (zedstore_sort_key = 'a limit 1');
create table bad (a int, b text) using zedstore with (zedstore_sort_key = 'a; drop table x');
create table bad (a int, b text) using zedstore with (zedstore_sort_key = 'a desc desc');
create table bad (a int, b text) using zedstore with (zedstore_sort_key = 'bad.a');
create table bad (a int, b text) using zedstore with (zedstore_sort_key = 'a, c');
create table bad (a int, b text) using zedstore with (zedstore_sort_key = 'ctid');
create table bad (a int, b json) using zedstore with (zedstore_sort_key = 'b');
create table bad (a int, b text) using heap with (zedstore_sort_key = 'a');

-- it goes with its columns
create table cols (a int, "B b" text, c int, d int) using zedstore
	with (zedstore_sort_key = 'a desc, "B b" nulls first, c desc nulls last');
select reloptions from pg_class where relname = 'cols';
alter table cols rename "B b" to b;
alter table cols rename a to "select";
select reloptions from pg_class where relname = 'cols';
alter table cols alter c type bigint, alter d type bigint;
alter table cols drop column d;
select reloptions from pg_class where relname = 'cols';
alter table cols drop column c;
select reloptions from pg_class where relname = 'cols';
alter table cols set (zedstore_sort_key = b, zedstore_compression = zstd);
alter table cols alter b type json using to_json(b);
select reloptions from pg_class where relname = 'cols';
alter table cols set (zedstore_sort_key = 'b');
alter table cols add column e int, set (zedstore_sort_key = 'e');
alter table cols drop column e, set (zedstore_compression = lz4);
select reloptions from pg_class where relname = 'cols';
alter table cols add column e int, set (zedstore_sort_key = 'e');
alter table cols reset (zedstore_sort_key);
select reloptions from pg_class where relname = 'cols';

-- new partitions have the key of their parent; a column has its name in all of them
create table parts (a int, b text) partition by range (a) with (zedstore_sort_key = 'b');
create table parts_1 partition of parts for values from (0) to (10) using zedstore;
alter table parts rename b to c;
select relname, reloptions from pg_class where relname like 'parts%'
	and relnamespace = 'write_sort'::regnamespace order by 1;
drop table parts;

-- runs in the order of the key, whatever its type; the same rows
create or replace function unsorted(tab text, keys text) returns bigint language plpgsql as $$
declare
	n bigint;
begin
	-- rows that do not follow the one in front of them in the order of the key
	execute format('select count(*) from (select row_number() over (order by ctid) as here,
		row_number() over (order by %s, ctid) as there from %s) s where here <> there', keys, tab)
		into n;
	return n;
end $$;
create or replace function load_sorted(keys text, rows int default 5000) returns text
language plpgsql as $$
begin
	if to_regclass('t_h') is not null then
		drop table t_h, t_z;
	end if;
	execute 'create table t_h (i2 int2, i4 int4, i8 int8, o oid, f4 float4, f8 float8, n numeric,
		m numeric(12, 2), t text collate "C", v varchar(30) collate "C", c name, b bytea, u uuid,
		d date, ts timestamptz, l text) using heap';
	execute format('insert into t_h select (x - 0.5) * 60000, (x - 0.5) * 4e9, (x - 0.5) * 1e18,
		(x * 4e9)::bigint::oid, (x - 0.5) * 100,
		case when g %% 50 = 0 then ''nan'' else x - 0.5 end,
		case when g %% 60 = 0 then ''nan'' when g %% 61 = 0 then ''inf'' else
			((x - 0.5) * 10 ^ (g %% 40 - 20))::numeric end,
		(x - 0.5) * 1000, md5((g %% 777)::text), left(md5(g::text), g %% 20), md5(x::text),
		decode(md5(x::text), ''hex''), md5(x::text)::uuid, date ''2000-01-01'' + (x * 9000)::int,
		timestamptz ''2000-01-01'' + x * interval ''9000 days'',
		case when g %% 1000 = 0 then repeat(md5(g::text), 300) else ''s'' end
		from (select g, random() as x from generate_series(1, %s) g) s', rows);
	update t_h set i2 = null, t = null, n = null, l = null where i4 % 7 = 0;
	execute format('create table t_z using zedstore with (zedstore_sort_key = %L)
		as select * from t_h', keys);
	return test.same('select * from t_@') || ' ' || unsorted('t_z', keys);
end $$;
select setseed(0.5);
select k, load_sorted(k) from unnest(array['i2', 'i4 desc', 'i8', 'o desc', 'f4', 'f8 desc', 'n',
	'n desc nulls last', 'm', 't', 't desc nulls last, i8', 'v', 'c desc', 'b', 'u', 'd, ts desc',
	'ts', 'i2 nulls first, n, i4', 'i2 desc, t nulls first']) k;
select zs_check('t_z') as check;

-- large values stand behind all others
select load_sorted('l, i4') ~ '^t ';
select max(octet_length(l)) as longest, count(*) from (select l from t_z where l is not null
	order by ctid limit (select count(*) - 5 from t_z where l is not null)) s;

-- several batches are several runs, and what a savepoint takes back is not there
create table runs (k int, p text) using zedstore with (zedstore_sort_key = 'k');
-- where the server may write, whoever runs it
select current_setting('data_directory') || '/pg_stat_tmp/write_sort.data' as file \gset
create view source as select hashint4(g) as k, g as p from generate_series(1, 3000) g;
copy (select * from source) to :'file';
begin;
copy runs from :'file';
savepoint a;
copy runs from :'file';
rollback to a;
copy runs from :'file';
commit;
select count(*), sum(p::bigint), count(*) filter (where hashint4(p::int) <> k) as wrong from runs;
select count(*) filter (where k < before) as falls from
	(select k, lag(k) over (order by ctid) as before from runs) s;
-- rows that were frozen when they came have numbers
begin;
truncate runs;
copy runs from :'file' with (freeze);
commit;
select unsorted('runs', 'k') > 2900 as as_they_came from runs limit 1;

-- a table whose rows have numbers before they are written stays as they come
create table numbered (k int primary key, p int) using zedstore with (zedstore_sort_key = 'k desc');
insert into numbered select g, g from generate_series(1, 3000) g;
select unsorted('numbered', 'k');

-- rewrites sort all rows; CLUSTER's index gives an order, too
vacuum full runs;
select unsorted('runs', 'k'), count(*), sum(p::bigint) from runs;
vacuum full numbered;
select unsorted('numbered', 'k desc');
alter table numbered reset (zedstore_sort_key);
create index numbered_p on numbered (p desc);
cluster numbered using numbered_p;
update numbered set p = -p where k % 2 = 0;
vacuum full numbered;
select unsorted('numbered', 'p desc');
select zs_check('runs'), zs_check('numbered');

-- how far rows are in order, from runs to a sorted table
create table depth (k int, s text collate "C", n numeric) using zedstore;
insert into depth select hashint4(g), 'x' || g, g from generate_series(1, 8192) g;
select attname, key_position, segments, vectors, max_vector_depth,
	round(vector_depth::numeric, 1) as vector_depth from zs_sortedness('depth');
alter table depth set (zedstore_sort_key = 'k, n');
vacuum full depth;
select attname, key_position, segments, vectors, max_vector_depth,
	round(vector_depth::numeric, 1) as vector_depth from zs_sortedness('depth');
create table empty (a int, b text) using zedstore;
select * from zs_sortedness('empty');
select * from zs_sortedness('pg_class');

-- of the column that rows follow: none without statistics; by them; by an index; by the sort key
create table follows (k int, day date, same int, s text) using zedstore
	with (autovacuum_enabled = false);
insert into follows select g, date '2026-01-01' + g / 100, 7, md5(g::text)
	from generate_series(1, 8192) g;
insert into follows select g, date '2026-01-01' + g / 100, 7, md5(g::text)
	from generate_series(8193, 16384) g;
select * from zs_overlap('follows');
analyze follows;
select * from zs_overlap('follows');
create index follows_day on follows (day);
alter table follows cluster on follows_day;
select attname, round(overlap::numeric, 1) as overlap from zs_overlap('follows');
alter table follows set (zedstore_sort_key = 'k, same');
insert into follows select g, date '2026-01-01', 7, md5(g::text) from generate_series(1, 16384) g;
select overlap_column, overlap from zs_tables where relation = 'follows'::regclass;
vacuum full follows;
select overlap_column, overlap from zs_tables where relation = 'follows'::regclass;
alter table follows set (zedstore_sort_key = 's');
select overlap_column, overlap > 0 as known from zs_tables where relation = 'follows'::regclass;
select * from zs_overlap('empty');
select * from zs_overlap('pg_class');

-- a rewrite keeps who wrote and who deleted a row
create table seen (k int, p int) using zedstore with (zedstore_sort_key = 'k desc');
insert into seen select g, g from generate_series(1, 2000) g;
insert into seen values (0, 0);
select xmin as before from seen where k = 0 \gset
delete from seen where k % 3 = 1;
alter table seen add column q int;
alter table seen drop column p;
vacuum full seen;
select xmin = :'before' as same_xmin from seen where k = 0;
select count(*), sum(k), count(q), unsorted('seen', 'k desc') from seen;

-- prefixes of 8 bytes that are equal, and equal keys, which stay in the order they came in
create table same using zedstore with (zedstore_sort_key = 'k') as
	select ('the same prefix ' || g % 10) collate "C" as k, g from generate_series(1, 3000) g;
select count(*) filter (where (k, g) < (kk, gg)) as falls from
	(select k, g, lag(k) over (order by ctid) as kk, lag(g) over (order by ctid) as gg from same) s;
set client_min_messages = warning;
drop schema write_sort cascade;
