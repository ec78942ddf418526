-- @ alter_am_both_ways
create table t (id int primary key, a text, b numeric(10,2) default 1.5, c text[] , gone int);
alter table t drop column gone;
insert into t select i, 'v' || i, i / 3.0, array['x', i::text] from generate_series(1, 5000) i;
create index on t (a) where id % 2 = 0;
create view v as select id, a, b from t;
alter table t set access method heap;
select count(*), sum(b), min(a) from v;
alter table t set access method zedstore;
select count(*), sum(b), min(a) from v;
alter table t set access method default;
select count(*), sum(b), min(a) from v;
alter table t set access method nonesuch;
alter table v set access method heap;
create index foo on t (b);
alter index foo set access method heap;
create sequence sq;
alter table sq set access method zedstore;
alter table t set access method btree;
begin;
alter table t set access method zedstore;
insert into t values (-1);
savepoint a;
alter table t set access method heap;
insert into t values (-2);
rollback to a;
select count(*) from t;
rollback;
select count(*) from t;
alter table t add column z int default 7, alter column a type varchar(20), set access method
	zedstore;
select * from t order by id limit 3;
alter table t set access method zedstore, add constraint ch check (id > 10);
\d t
-- @ alter_columns
create table t (id int primary key, a int, b text, c varchar(10), d date, e numeric(8,2));
insert into t select i, i, i::text, 'c' || i, date '2026-01-01' + i, i / 7.0 from
	generate_series(1, 3000) i;
create index ta on t (a);
create index tb on t (lower(b));
create view v as select a from t;
alter table t alter a type bigint;
drop view v;
alter table t alter a type bigint, alter b type int using b::int;
alter table t alter b type int using b::int;
drop index tb;
alter table t alter b type int using b::int, alter d type timestamp, alter e type numeric(20,4),
	alter c type text;
select * from t order by id limit 2;
alter table t alter c type varchar(3);
alter table t alter c type varchar(5);
alter table t alter e type numeric(3,2);
alter table t alter d type int;
alter table t alter d type timestamptz using d at time zone 'UTC';
alter table t add f int default 5, add g text default 'g' not null, add h timestamptz default
	'2026-01-01 00:00+00', add i int check (i > 0);
alter table t add j int not null;
alter table t add k float8 default random() not null;
alter table t add l serial, add m uuid default gen_random_uuid(), add n int generated always as
	identity;
select count(distinct l), count(distinct m), count(distinct n), count(distinct k) > 1000 from t;
alter table t drop column k, drop column m;
alter table t drop column f, drop column a, drop column if exists zz;
alter table t drop column zz;
alter table t add a int;
update t set a = id where id < 10;
alter table t alter a set not null;
alter table t alter g drop default, alter g drop not null,
	alter h set default '2026-03-01 00:00+00';
insert into t (id, b) values (-1, 5);
select id, b, c, g, l, a from t where id < 3 order by 1;
alter table t rename column b to bb;
alter table t rename to t2;
alter table t2 rename constraint t_pkey to pk;
alter table t2 add constraint ch check (bb < 100) not valid;
alter table t2 validate constraint ch;
alter table t2 add constraint nn not null bb not valid;
do $$ begin for i in 1 .. 30 loop execute 'alter table t2 add column x' || i || ' int default '
	|| i; execute 'alter table t2 drop column x' || i; end loop; end $$;
alter table t2 add x int default 42;
select count(*), sum(x), sum(id) from t2;
alter table t2 add constraint ex exclude (bb with =);
alter table t2 add primary key (bb);
create table wide ();
alter table wide add a int;
insert into wide values (1);
alter table wide drop a;
select count(*) from wide;
insert into wide default values;
select count(*), (select 1 from wide limit 1) from wide;
alter table t2 of mood;
\d t2
-- @ storage_compression
create table t (id int primary key, a text storage external, b text compression pglz, c text
	compression lz4, d bytea) with (fillfactor = 70, toast_tuple_target = 256,
	autovacuum_enabled = off, parallel_workers = 2, toast.autovacuum_enabled = off);
insert into t select i, repeat('a', i * 10), repeat(md5(i::text), i), repeat('c', i),
	decode(repeat('ab', i), 'hex') from generate_series(1, 500) i;
select sum(length(a)), sum(length(b)), sum(length(c)), sum(length(d)) from t;
alter table t alter a set storage main, alter b set storage plain, alter c set compression
	default, alter d set compression lz4;
alter table t alter id set storage external;
alter table t alter id set compression lz4;
alter table t alter a set compression nonesuch;
alter table t alter a set storage nonesuch;
alter table t set (fillfactor = 5);
alter table t set (fillfactor = 50, nonesuch = 1);
alter table t set (parallel_workers = -1);
alter table t reset (fillfactor, toast_tuple_target);
alter table t set (toast.nonesuch = 1);
alter table t set (toast_tuple_target = 10);
alter table t alter a set statistics 1000, alter b set (n_distinct = -0.5), alter c set
	(nonesuch = 1);
alter table t alter b set statistics 20000;
insert into t select i, repeat('z', 100000), md5(i::text), null, '' from generate_series(1001,
	1010) i;
with u as (update t set a = a || 'tail' where id > 1000 returning *) select id, length(a),
	substr(a, 99999) from u order by id;
select octet_length(d), left(b, 5) from t where id = 300;
alter table t reset (toast.autovacuum_enabled);
create table l (like t including all);
\d+ l
alter table t set with oids;
alter table t set without oids;
alter table t set schema nonesuch;
create schema other;
alter table t set schema other;
select count(*) from other.t;
comment on table other.t is 'comment';
comment on column other.t.nope is 'x';
-- @ cluster_reindex
create table t (id int primary key, v int, w text);
insert into t select i, (i * 7919) % 10007, 'w' || i from generate_series(1, 10000) i;
create index tv on t (v);
create index th on t using hash (v);
create index tg on t using gin (string_to_array(w, '1'));
create index tp on t (w) where v < 100;
cluster t;
cluster t using tv;
select array_agg(v) from (select v from t limit 5) s;
cluster t;
cluster t using th;
cluster t using tp;
cluster t using nonesuch;
cluster t using t_pkey;
begin;
cluster t using tv;
rollback;
begin;
cluster;
rollback;
reindex table concurrently t;
reindex index concurrently tv;
reindex (tablespace pg_default) table t;
begin;
reindex table concurrently t;
rollback;
reindex (concurrently) index tg;
reindex index nonesuch;
create index concurrently tc on t ((v / (v - 5003)));
create unique index concurrently tu on t ((v % 100));
select indexrelid::regclass, indisvalid from pg_index where indrelid = 't'::regclass
	order by indexrelid::regclass::text;
drop index concurrently tu, tc;
drop index concurrently tu;
create unique index concurrently tw on t (w) include (v);
drop index concurrently tp;
alter table t add constraint tw unique using index tw;
alter table t add constraint tx unique using index th;
select count(*) from t where v < 50;
alter table t set without cluster;
cluster t;
\d t
-- @ event_triggers
create table t (id int, v text);
create function et() returns event_trigger language plpgsql as $$
declare r record;
begin
if tg_event = 'ddl_command_end' then
for r in select * from pg_event_trigger_ddl_commands() loop raise notice '% % % %', tg_event,
	tg_tag, r.object_type, r.object_identity;
end loop;
elsif tg_event = 'sql_drop' then
for r in select * from pg_event_trigger_dropped_objects() where object_type not in
	('default value', 'toast table') and object_identity !~ 'pg_toast' loop raise notice
	'% % % %', tg_event, tg_tag, r.object_type, r.object_identity;
end loop;
else
raise notice '% % % %', tg_event, tg_tag, pg_event_trigger_table_rewrite_oid()::regclass,
	pg_event_trigger_table_rewrite_reason();
end if;
end $$;
create event trigger e1 on ddl_command_end execute function et();
create event trigger e2 on sql_drop execute function et();
create event trigger e3 on table_rewrite execute function et();
create table x (a int primary key, b text);
insert into x values (1, '2');
alter table x add c int default 5;
alter table x alter b type int using b::int;
alter table x add d float default random() * 0;
create index on x (c);
alter table x set unlogged;
alter table x drop column c;
create table y as select * from x;
select * into z from x;
create materialized view mv as select * from x;
refresh materialized view mv;
alter table x rename to xx;
truncate xx;
vacuum full xx;
cluster xx using x_pkey;
drop table xx cascade;
drop event trigger e1;
drop event trigger e2;
drop event trigger e3;
-- @ tablespaces
create table t (id int primary key, v text) tablespace first_hour_space;
insert into t select i, repeat('x', i % 3000) from generate_series(1, 5000) i;
alter table t set tablespace pg_default;
select count(*), sum(length(v)) from t;
begin;
alter table t set tablespace first_hour_space;
insert into t values (-1, 'a');
rollback;
select count(*), sum(length(v)) from t;
alter index t_pkey set tablespace first_hour_space;
alter table t set tablespace nonesuch;
alter table t set tablespace pg_global;
create table g (i int) tablespace pg_global;
alter table all in tablespace pg_default set tablespace first_hour_space nowait;
select count(*), sum(length(v)) from t where id > 2000;
create temp table tt (i int) tablespace first_hour_space;
alter table tt set tablespace pg_default;
create unlogged table uu (i int) tablespace first_hour_space;
insert into uu select generate_series(1, 5000);
alter table uu set tablespace pg_default;
select count(*) from uu;
reindex (tablespace first_hour_space) table t;
vacuum full t;
cluster t using t_pkey;
select count(*) from t;
set default_tablespace = first_hour_space;
create table dd as select 1 as a;
select tablespace from pg_tables where tablename = 'dd';
drop tablespace first_hour_space;
create materialized view mv tablespace pg_default as select * from t;
alter materialized view mv set tablespace first_hour_space;
select count(*) from mv;
alter table t set tablespace pg_default, add column z int default random() * 0 + 3;
select sum(z) from t;
-- @ sequences_serial
create table s (id serial, big bigserial primary key, small smallserial);
insert into s default values;
insert into s default values;
select * from s order by 1;
alter table s alter id type bigint;
alter sequence s_id_seq restart 100;
insert into s default values returning *;
truncate s restart identity;
insert into s default values returning *;
select currval('s_id_seq'), lastval();
alter sequence s_id_seq owned by none;
drop sequence s_big_seq;
drop table s;
select nextval('s_id_seq');
create table s2 (i int default nextval('s_id_seq'));
insert into s2 default values returning i;
select last_value, is_called from s_id_seq;
