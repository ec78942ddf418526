-- Modules of contrib that look into tables: what refuses does so clearly, what does not is right.
\set VERBOSITY terse
select count(*) = 6 as installed from pg_available_extensions
where name in ('amcheck', 'pg_prewarm', 'pg_surgery', 'pg_visibility', 'pgrowlocks', 'pgstattuple') \gset
\if :installed
\else
\quit
\endif
\getenv abs_srcdir PG_ABS_SRCDIR
\set horizon :abs_srcdir '/sql/include/horizon.sql'
\i :horizon
set client_min_messages = warning;
create schema tools;
set search_path = public, tools;
create extension amcheck schema tools;
create extension pg_prewarm schema tools;
create extension pg_surgery schema tools;
create extension pg_visibility schema tools;
create extension pgrowlocks schema tools;
create extension pgstattuple schema tools;
create table tools_z (a int primary key, b text) using zedstore;
insert into tools_z select i, md5(i::text) from generate_series(1, 20000) i;
insert into tools_z values (20001, 'row tree');
delete from tools_z where a % 100 = 0;
:vacuum tools_z;

-- these know heap alone
select * from pgrowlocks('tools_z');
select * from pgstattuple('tools_z');
select * from pgstattuple_approx('tools_z');
select * from verify_heapam('tools_z');
select heap_force_freeze('tools_z', array['(0,1)']::tid[]);
select heap_force_kill('tools_z', array['(0,1)']::tid[]);

-- these look at indexes and at the visibility map
select bt_index_check('tools_z_pkey', true);
select bt_index_parent_check('tools_z_pkey', true, true);
select leaf_pages > 10 from pgstatindex('tools_z_pkey');
select all_visible > 70, all_visible = all_frozen from pg_visibility_map_summary('tools_z');
select pg_truncate_visibility_map('tools_z');
select all_visible, all_frozen from pg_visibility_map_summary('tools_z');
:vacuum tools_z;
select all_visible > 70, all_visible = all_frozen from pg_visibility_map_summary('tools_z');
select * from zs_check('tools_z');

-- the range has to be named, since the default is the logical size
select pg_prewarm('tools_z', 'buffer', 'main', 0, pg_relation_size('tools_z') / 8192 - 1)
	= pg_relation_size('tools_z') / 8192;
select pg_prewarm('tools_z', 'buffer', 'vm') > 0;
drop table tools_z;
drop schema tools cascade;

-- Rows of a time when the table had no columns are nowhere but in the TID tree; rows that have lost
-- all of their columns look the same, unless others before them have some.
create table no_columns () using zedstore;
insert into no_columns select from generate_series(1, 5000);
alter table no_columns add column a int default 5;
select severity, message from zs_check('no_columns', true);
select count(a), sum(a) from no_columns;
insert into no_columns select i from generate_series(1, 5000) i;
update no_columns set a = 6;
:vacuum no_columns;
select severity, message from zs_check('no_columns', true);
drop table no_columns;

-- What an aborted transaction left need not fit the table: it added a column, and
-- that number has another type now.
create table aborted (id int) using zedstore;
begin;
alter table aborted add column c text;
insert into aborted values (1, 'y');
insert into aborted select i, repeat(md5(i::text), 400) from generate_series(1, 5) i;
insert into aborted select i, repeat(md5(i::text), 4) from generate_series(1, 5000) i;
rollback;
alter table aborted add column d box;
insert into aborted values (7, box '((1,1),(2,2))');
select * from zs_check('aborted') where severity <> 'notice';
:vacuum aborted;
select * from zs_check('aborted') where severity <> 'notice';
select * from aborted;
drop table aborted;
