--
-- VACUUM: dead rows, index entries, freezing, visibility map
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
\set horizon :abs_srcdir '/sql/include/horizon.sql'
\i :horizon
create schema vacuum_basic;
set search_path = vacuum_basic, public;
create extension if not exists pageinspect;
create table t_h (a int, b text) using heap with (autovacuum_enabled = off);
create table t_z (a int, b text) using zedstore with (autovacuum_enabled = off);
select test.both('insert into t_@ select i, ''b'' || i from generate_series(1, 10000) i');
select test.both('insert into t_@ values (10001, ''tree''), (10002, ''tree'')');
select test.both('create index t_@_a on t_@ (a)');
create index t_z_b on t_z using gin (to_tsvector('simple', b));
create function relstats(rel regclass) returns text language sql as $$
	select format('%s rows, visible blocks: %s', reltuples, relallvisible > 0 and relallvisible <= relpages) from pg_class where oid = rel
$$;
-- heap fetches of an index-only scan
create function heap_fetches(query text) returns text language plpgsql as $$
declare
	line text;
begin
	for line in execute 'explain (analyze, costs off, timing off, summary off, buffers off) ' || query loop
		if line ~ 'Heap Fetches' then
			return trim(line);
		end if;
	end loop;
	return 'no index-only scan';
end $$;

-- all visible
set enable_seqscan = off;
set enable_bitmapscan = off;
:vacuum t_z;
select relstats('t_z');
select heap_fetches('select count(a) from t_z where a between 1 and 9000');
-- a change takes the bit away, of those rows only
delete from t_z where a = 500;
delete from t_h where a = 500;
select heap_fetches('select count(a) from t_z where a between 5000 and 9000');
select heap_fetches('select count(a) from t_z where a between 1 and 1000') <> 'Heap Fetches: 0';
select test.same('select a from t_@ where a between 490 and 510');

-- dead rows and their index entries
select test.both('delete from t_@ where a % 2 = 0');
select test.same('select * from t_@');
create function btree_entries(idx text) returns bigint language sql as $$
	select sum(live_items + dead_items) from generate_series(1, pg_relation_size(idx::regclass) / 8192 - 1) b,
		lateral bt_page_stats(idx, b) s where s.type = 'l'
$$;
select btree_entries('t_z_a') >= 10000;
:vacuum (index_cleanup off) t_z;
select btree_entries('t_z_a') >= 10000;
select test.same('select * from t_@');
:vacuum t_z;
select relstats('t_z');
select btree_entries('t_z_a') - (select count(*) from t_z) between 0 and 40 as entries_gone;
select test.same('select * from t_@');
select test.same('select * from t_@ where a between 1 and 100');
select heap_fetches('select count(a) from t_z where a between 1 and 9000');
select test.check('t_z');

-- row numbers are used again, and nothing of the old rows shows
select test.both('insert into t_@ values (20001, ''again''), (20002, ''again'')');
select test.both('insert into t_@ select i, ''more'' from generate_series(30000, 33000) i');
select test.same('select * from t_@');
select test.same('select * from t_@ where a > 9990');
select test.check('t_z');

-- rows that somebody may see stay; updates are deletes, too
select test.both('update t_@ set b = ''updated'' where a between 1 and 2000');
:vacuum t_z;
select test.same('select * from t_@');
select relstats('t_z');
-- aborted rows go
begin;
insert into t_z select i, 'aborted' from generate_series(40000, 45000) i;
insert into t_z values (45001, 'aborted');
rollback;
:vacuum t_z;
select relstats('t_z');
select test.same('select * from t_@');
select test.check('t_z');

-- freezing
create table f_z (a int) using zedstore with (autovacuum_enabled = off);
insert into f_z select generate_series(1, 5000);
insert into f_z values (5001);
delete from f_z where a = 1;
select age(relfrozenxid) > 0 as old from pg_class where oid = 'f_z'::regclass;
create table burn (a int);
do $$
begin
	for i in 1..100 loop
		begin
			insert into burn values (i);
		exception when others then
		end;
	end loop;
end $$;
select age(relfrozenxid) > 100 as old from pg_class where oid = 'f_z'::regclass;
:vacuum (freeze) f_z;
select age(relfrozenxid) < 10 as advanced, mxid_age(relminmxid) < 10 as multi from pg_class where oid = 'f_z'::regclass;
select count(*), min(a), max(a), (select bool_and(slotno in (0, 2, 3)) from pg_zs_tid_items('f_z')) as frozen from f_z;
insert into f_z values (6000);
update f_z set a = 0 where a = 2;
:vacuum (freeze) f_z;
select count(*), min(a), max(a), (select bool_and(slotno in (0, 2, 3)) from pg_zs_tid_items('f_z')) as frozen from f_z;
:vacuum (freeze, disable_page_skipping) f_z;
select test.check('f_z');

-- an empty table, a table that becomes empty, temporary and unlogged tables, a materialized view
create table e_z (a int) using zedstore with (autovacuum_enabled = off);
:vacuum e_z;
insert into e_z select generate_series(1, 5000);
delete from e_z;
:vacuum (freeze) e_z;
select count(*), relstats('e_z') from e_z;
insert into e_z values (1);
select * from e_z;
select test.check('e_z');
create materialized view mv_z using zedstore as select generate_series(1, 3000) as a;
:vacuum (freeze, analyze) mv_z;
select count(*) from mv_z;
create unlogged table unl_z (a int) using zedstore;
insert into unl_z select generate_series(1, 5000);
delete from unl_z where a > 10;
:vacuum (freeze) unl_z;
select count(*) from unl_z;
select test.check('unl_z');

-- vacuum with parallel index cleanup, and with little memory
create table p_z (a int, b int, c int) using zedstore with (autovacuum_enabled = off);
insert into p_z select i, -i, i % 10 from generate_series(1, 50000) i;
create index on p_z (a);
create index on p_z (b);
create index on p_z (c);
delete from p_z where a % 3 > 0;
set min_parallel_index_scan_size = 0;
:vacuum (parallel 2) p_z;
select count(*), (select count(*) from p_z where a > 0), (select count(*) from p_z where b < 0) from p_z;
delete from p_z where a % 2 = 0;
set maintenance_work_mem = '64kB';
:vacuum (parallel 0) p_z;
reset maintenance_work_mem;
select count(*), (select count(*) from p_z where a > 0), (select count(*) from p_z where b < 0) from p_z;
select test.check('p_z');
reset enable_seqscan;
