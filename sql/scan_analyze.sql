--
-- ANALYZE finds what it finds in a heap table
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
\set horizon :abs_srcdir '/sql/include/horizon.sql'
\i :horizon
create schema scan_analyze;
set search_path = scan_analyze, public;
create table t_h (id int, few int, nulls text, skewed int, constant int, width text, gone int) using heap with (autovacuum_enabled = off);
create table t_z (id int, few int, nulls text, skewed int, constant int, width text, gone int) using zedstore with (autovacuum_enabled = off);
select test.both('insert into t_@ select i, i % 50, case when i % 4 = 0 then ''v'' || i % 1000 end,
	case when i % 10 < 7 then 1 else i end, 42, repeat(''x'', i % 200), i from generate_series(1, 100000) i');
select test.both('delete from t_@ where id % 10 = 9');
select test.both('insert into t_@ values (-1, -1, ''x'', -1, 42, '''', 0)');
select test.both('alter table t_@ drop column gone');
-- what this session counted so far must not come on top of what ANALYZE finds
select pg_stat_force_next_flush();
analyze t_h;
analyze t_z;

-- rows: exact within one per cent, live and dead
select abs(z.reltuples / h.reltuples - 1) < 0.02 as reltuples, abs(z.reltuples / 90001 - 1) < 0.02 as exact
from pg_class h, pg_class z where h.oid = 't_h'::regclass and z.oid = 't_z'::regclass;
select pg_stat_force_next_flush();
select abs(n_live_tup - 90001) < 2000 as live, abs(n_dead_tup - 10000) < 1500 as dead from pg_stat_user_tables where relid = 't_z'::regclass;

-- per column: distinct values, share of NULLs, width, correlation
create function n_distinct(d real) returns real language sql as 'select case when $1 < 0 then -$1 * 90001 else $1 end';
select attname, abs(h.null_frac - z.null_frac) < 0.02 as null_frac,
	n_distinct(z.n_distinct) between 0.5 * n_distinct(h.n_distinct) and 2 * n_distinct(h.n_distinct) as n_distinct,
	abs(h.avg_width - z.avg_width) <= greatest(2, h.avg_width / 20) as avg_width,
	abs(h.correlation - z.correlation) < 0.1 as correlation
from pg_stats h join pg_stats z using (schemaname, attname)
where h.tablename = 't_h' and z.tablename = 't_z' and schemaname = 'scan_analyze' order by attname;

-- estimates
create function estimate(query text) returns bigint language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (format json) ' || query into plan;
	return plan -> 0 -> 'Plan' -> 'Plan Rows';
end $$;
select estimate(replace(q, '_@', '_z')) between 0.7 * estimate(replace(q, '_@', '_h')) and 1.4 * estimate(replace(q, '_@', '_h')) as close, q
from unnest(array['select * from t_@', 'select * from t_@ where few = 5', 'select * from t_@ where nulls is null',
	'select * from t_@ where id between 1000 and 20000', 'select * from t_@ where skewed = 1', 'select * from t_@ where constant = 42']) q;

-- never analyzed: guessed by size
create table g_z (a int) using zedstore with (autovacuum_enabled = off);
select estimate('select * from g_z') > 100 as guess;
insert into g_z select generate_series(1, 100000);
select estimate('select * from g_z') between 50000 and 200000 as by_size;
-- grows after ANALYZE
analyze g_z;
select reltuples = 100000 as exact, estimate('select * from g_z') between 99000 and 101000 as close from pg_class where oid = 'g_z'::regclass;
insert into g_z select generate_series(1, 100000);
select estimate('select * from g_z') between 190000 and 210000 as grown;
-- the transaction's own rows, and those of others
begin;
insert into g_z select generate_series(1, 50000);
delete from g_z where a <= 10000;
analyze g_z;
select estimate('select * from g_z') between 215000 and 225000 as own;
rollback;
-- loaded and analyzed in one transaction: more row numbers were reserved than rows came
create table l_h (a int, b text) using heap with (autovacuum_enabled = off);
create table l_z (a int, b text) using zedstore with (autovacuum_enabled = off);
create function load_twin(which text, how text) returns void language plpgsql as $$
begin
	execute replace('truncate l_@', '@', which);
	execute replace(how, '@', which);
	execute replace('analyze l_@', '@', which);
end $$;
create function compare_load(how text, out inside text) language plpgsql as $$
begin
	perform load_twin('h', how);
	perform load_twin('z', how);
	inside := estimate('select * from l_h') || ' ' || estimate('select * from l_z') || ', of one ' ||
		estimate('select * from l_h where a = 7') || ' ' || estimate('select * from l_z where a = 7');
end $$;
select compare_load('insert into l_@ select i % 50, ''b'' || i from generate_series(1, 20000) i');
select relname, relpages, reltuples from pg_class where oid = 'l_z'::regclass;
select estimate('select * from l_h') as h, estimate('select * from l_z') as z, estimate('select * from l_h where a = 7') as h7, estimate('select * from l_z where a = 7') as z7;
-- twice, once below a savepoint
begin;
truncate l_z;
savepoint a;
insert into l_z select i % 50, 'b' || i from generate_series(1, 10000) i;
analyze l_z;
release a;
insert into l_z select i % 50, 'b' || i from generate_series(10001, 10100) i;
analyze l_z;
commit;
select estimate('select * from l_z') as z, estimate('select * from l_z where a = 7') as z7;

-- by COPY
select compare_load($$copy l_@ from program 'seq 1 20000 | awk ''{ print $1 % 50 "\tb" $1 }'''$$);
-- a queue: most row numbers have gone, and a small target draws few blocks
create table q_z (a int primary key, b int) using zedstore with (autovacuum_enabled = off);
insert into q_z select i, i % 10 from generate_series(1, 500000) i;
delete from q_z where a <= 499700;
:vacuum q_z;
insert into q_z select i, i % 10 from generate_series(500001, 500100) i;
set default_statistics_target = 1;
analyze q_z;
reset default_statistics_target;
select count(*) from q_z;
select reltuples between 240 and 560 as rows, relpages > 1900 as of_many_blocks from pg_class where oid = 'q_z'::regclass;
select n_distinct, null_frac from pg_stats where tablename = 'q_z' and attname = 'b' and schemaname = 'scan_analyze';
select pg_stat_force_next_flush();
-- all blocks are drawn: exact
analyze q_z;
select reltuples - (select count(*) from q_z) as off_by from pg_class where oid = 'q_z'::regclass;
select pg_stat_force_next_flush();
select n_live_tup = (select count(*) from q_z) as live, n_dead_tup from pg_stat_user_tables where relid = 'q_z'::regclass;
-- in pieces
insert into q_z select i, i % 10 from generate_series(500101, 800000) i;
delete from q_z where a % 10000 > 300;
:vacuum q_z;
analyze q_z;
select reltuples - (select count(*) from q_z) as off_by from pg_class where oid = 'q_z'::regclass;
select pg_stat_force_next_flush();
-- nothing is left
delete from q_z;
:vacuum q_z;
analyze q_z;
select reltuples from pg_class where oid = 'q_z'::regclass;

-- an empty table; partitions and inheritance
create table e_z (a int) using zedstore with (autovacuum_enabled = off);
analyze e_z;
select reltuples from pg_class where oid = 'e_z'::regclass;
create table p (a int, b int) partition by list (b);
create table p1_z partition of p for values in (1) using zedstore;
create table p2_h partition of p for values in (2) using heap;
insert into p select i, i % 2 + 1 from generate_series(1, 20000) i;
analyze p;
select reltuples from pg_class where oid = 'p'::regclass;
select n_distinct from pg_stats where tablename = 'p' and attname = 'b' and schemaname = 'scan_analyze';

-- extended and expression statistics
create statistics st_z (dependencies, mcv, ndistinct) on few, constant from t_z;
create index t_z_expr on t_z ((few % 5));
analyze t_z;
select stxdndistinct is not null as ndistinct from pg_statistic_ext_data d join pg_statistic_ext s on s.oid = stxoid where stxname = 'st_z';
select n_distinct between 5 and 6 as n_distinct from pg_stats where tablename = 't_z_expr' and schemaname = 'scan_analyze';
-- single columns
analyze t_z (few);

-- VACUUM counts the rows of leaves that it skips: many went, then many came
create table v_h (a int primary key, b text) using heap with (autovacuum_enabled = off);
create table v_z (a int primary key, b text) using zedstore with (autovacuum_enabled = off);
select test.both('insert into v_@ select i, ''x'' || i from generate_series(1, 300000) i');
select test.both('delete from v_@ where a % 3 = 0 and a <= 150000');
:vacuum v_h;
:vacuum v_z;
:vacuum v_z;
select test.both('delete from v_@ where a between 150001 and 299000');
:vacuum v_z;
select reltuples between 100000 and 102000 as shrunk from pg_class where oid = 'v_z'::regclass;
select test.both('insert into v_@ select i, ''x'' || i from generate_series(1000001, 1180000) i');
select pg_stat_force_next_flush();
:vacuum v_z;
select reltuples between 280000 and 282000 as grown from pg_class where oid = 'v_z'::regclass;
select n_live_tup between 280000 and 282000 as live from pg_stat_user_tables where relid = 'v_z'::regclass;

-- row numbers are not used again: what was gone at the last VACUUM says nothing of rows that came since
delete from v_z;
:vacuum v_z;
select estimate('select * from v_z') < 1000 as none;
insert into v_z select i, 'again' from generate_series(1, 100000) i;
select estimate('select * from v_z') between 90000 and 130000 as again;

-- dead rows that stay because indexes are left alone are no reason for autovacuum to come again
select test.both('truncate v_@');
select test.both('insert into v_@ select i, ''x'' || i from generate_series(1, 2000) i');
select test.both('delete from v_@ where a % 2 = 0');
select pg_stat_force_next_flush();
:vacuum (index_cleanup off) v_h;
:vacuum (index_cleanup off) v_z;
select z.n_dead_tup = h.n_dead_tup as dead from pg_stat_user_tables h, pg_stat_user_tables z
where h.relid = 'v_h'::regclass and z.relid = 'v_z'::regclass;

select test.check('t_z');
select test.check('g_z');
select test.check('v_z');
select test.check('l_z');
select test.check('q_z');
