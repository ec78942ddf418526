--
-- CLUSTER without USING sorts by zedstore_sort_key
--
create schema write_cluster;
set search_path = write_cluster, public;
set zedstore.min_segment_rows = 1024;
create function falls(name text, key text) returns table (falls bigint, n bigint, sum numeric)
language plpgsql as $$
begin
	return query execute format('select count(*) filter (where fell), count(*), sum(p)::numeric
		from (select p, row_number() over (order by ctid)
				<> row_number() over (order by %s, p) as fell from %s) s', key, name);
end $$;
create table keyed (k int, p int primary key, q text) using zedstore
	with (zedstore_sort_key = 'k desc, p');
insert into keyed select hashint4(g) % 100, g, 'q' || g from generate_series(1, 4000) g;
delete from keyed where p % 4 = 0;
update keyed set k = k + 1 where p % 5 = 0;
select falls > 1000 as unsorted, n, sum from falls('keyed', 'k desc');
cluster keyed;
select * from falls('keyed', 'k desc');
select count(*), min(q) from keyed where p between 1 and 4;
-- in a transaction block, with rows of its own, and back again
begin;
insert into keyed values (-1000, 1000000, 'own'), (1000, 1000001, 'own');
savepoint a;
delete from keyed where p = 1;
cluster keyed;
select * from falls('keyed', 'k desc');
rollback to a;
select count(*) from keyed where p = 1;
cluster keyed;
commit;
select * from falls('keyed', 'k desc');
-- not while it is read
begin;
declare c cursor for select p from keyed order by k desc, p;
fetch 1 from c;
cluster keyed;
rollback;
-- an index that was marked comes first, as core has it
create index keyed_q on keyed (q, p);
cluster keyed using keyed_q;
cluster keyed;
select falls from falls('keyed', 'q');
alter table keyed set without cluster;
cluster keyed;
select falls from falls('keyed', 'k desc');
-- heap's words where there is neither, for what is no table, and for options
create table plain (k int) using zedstore;
cluster plain;
create table heap_plain (k int) using heap;
cluster heap_plain;
create view v as select 1;
cluster v;
cluster missing;
cluster (quick) keyed;
alter table keyed reset (zedstore_sort_key);
cluster keyed;
-- materialized views, unlogged and temporary tables
create materialized view mat using zedstore as
	select g as p, -g as k from generate_series(1, 2000) g;
alter materialized view mat set (zedstore_sort_key = 'k');
cluster mat;
select * from falls('mat', 'k');
create materialized view unfilled using zedstore with (zedstore_sort_key = 'k') as
	select g as p, -g as k from generate_series(1, 2000) g with no data;
cluster unfilled;
create temp table tmp (k int, p int) using zedstore with (zedstore_sort_key = 'k');
insert into tmp select -g, g from generate_series(1, 2000) g;
cluster tmp;
select * from falls('pg_temp.tmp', 'k');
-- partitions: those that have a key
create table parts (k int, p int) partition by range (p);
create table parts_1 partition of parts for values from (0) to (1000) using zedstore
	with (zedstore_sort_key = 'k, p');
create table parts_2 partition of parts for values from (1000) to (2000) using heap;
create table parts_3 partition of parts for values from (2000) to (3000)
	partition by range (p);
create table parts_4 partition of parts_3 for values from (2000) to (3000) using zedstore
	with (zedstore_sort_key = 'k desc, p');
insert into parts select hashint4(g) % 1000, g from generate_series(0, 2999) g;
begin;
cluster parts;
rollback;
cluster parts;
select * from falls('parts_1', 'k');
select falls > 100 as unsorted from falls('parts_2', 'k');
select * from falls('parts_4', 'k desc');
create table heap_parts (k int) partition by range (k);
cluster heap_parts;
-- only who may
create role write_cluster_user;
grant usage on schema write_cluster to write_cluster_user;
grant maintain on parts, parts_1 to write_cluster_user;
insert into parts values (-2000, 1), (2000, 2001);
set role write_cluster_user;
cluster mat;
cluster parts;
reset role;
select falls from falls('parts_1', 'k');
select falls > 0 as unsorted from falls('parts_4', 'k desc');
select zs_check('keyed'), zs_check('parts_1'), zs_check('mat');
\set VERBOSITY terse
drop schema write_cluster cascade;
drop role write_cluster_user;
