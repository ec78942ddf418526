--
-- INSERT in all its forms, CREATE TABLE AS, materialized views
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema write_basic;
set search_path = write_basic, public;

-- single and multi-row INSERT, all paths to the row tree and to segments
create table t_h (a int, b text, c numeric) using heap;
create table t_z (a int, b text, c numeric) using zedstore;
select test.both('insert into t_@ values (1, ''one'', 1.10)');
select test.both('insert into t_@ values (2, null, 2), (3, '''', null), (null, null, null)');
select test.both('insert into t_@ (b) values (''only b'')');
select test.both('insert into t_@ default values');
select test.same('select * from t_@');
select test.both(format('insert into t_@ select i, ''row '' || i, i / 7.0 from generate_series(1, %s) i', n))
  from unnest(array[0, 1, 63, 64, 65, 127, 128, 1023, 1024, 1025, 5000, 10000]) n;
select test.same('select * from t_@');
select count(*), count(distinct ctid) from t_z;
select test.check_tight('t_z');

-- RETURNING, with expressions and whole rows; the TID is known at once
create table r_h (a int, b text default 'dflt') using heap;
create table r_z (a int, b text default 'dflt') using zedstore;
insert into r_z (a) values (1), (2) returning *, a + 10 as more, r_z, tableoid::regclass;
insert into r_h (a) values (1), (2);
with i as (insert into r_z select i, 'w' || i from generate_series(1, 3000) i returning a, b, ctid)
select count(*), sum(a), count(distinct ctid), max(b) from i;
insert into r_h select i, 'w' || i from generate_series(1, 3000) i;
select test.same('select * from r_@');
-- rows that were just returned are found by their TID
with i as (insert into r_z values (99, 'by tid') returning ctid) select count(*) from i;
do $$
declare
	t tid;
	found text;
begin
	for n in 1..200 loop
		insert into r_z values (-n, 'x' || n) returning ctid into t;
		select b into strict found from r_z where ctid = t;
		if found <> 'x' || n then
			raise 'row % is not the one that was inserted', t;
		end if;
	end loop;
end $$;

-- defaults, generated and identity columns, constraints
create table g_h (id int generated always as identity, a int default 42 check (a <> 13), b int not null default 0,
	g bigint generated always as (a * 2) stored, t text default 'x' || 'y') using heap;
create table g_z (id int generated always as identity, a int default 42 check (a <> 13), b int not null default 0,
	g bigint generated always as (a * 2) stored, t text default 'x' || 'y') using zedstore;
select test.both('insert into g_@ default values');
select test.both('insert into g_@ (a) select generate_series(1, 12)');
select test.both('insert into g_@ (a) values (14), (13)');
select test.both('insert into g_@ (a, b) values (15, null)');
select test.both('insert into g_@ (g) values (1)');
select test.both('insert into g_@ (id) values (1)');
select test.both('insert into g_@ (id, a) overriding system value values (1000, 7)');
select test.same('select * from g_@');

-- INSERT that reads its own table sees the rows of before only
create table s_h (a int) using heap;
create table s_z (a int) using zedstore;
select test.both('insert into s_@ values (1)');
select test.both('insert into s_@ select a + 1 from s_@') from generate_series(1, 12);
select test.same('select * from s_@');
select count(*) from s_z;
-- and a function called by it sees only older rows, or its own
create function count_s() returns bigint volatile language sql as 'select count(*) from s_z';
insert into s_z select count_s() from generate_series(1, 3) returning a;
begin;
insert into s_z values (-1);
insert into s_z select count_s() returning a;
rollback;
select count(*) from s_z;

-- no columns at all, and all columns dropped
create table nocol_z () using zedstore;
insert into nocol_z default values;
insert into nocol_z select from generate_series(1, 5000);
select count(*) from nocol_z;
create table dropped_z (a int, b text) using zedstore;
insert into dropped_z select i, 'x' from generate_series(1, 5000) i;
alter table dropped_z drop column a, drop column b;
insert into dropped_z default values;
select count(*) from dropped_z;

-- CREATE TABLE AS, SELECT INTO, materialized views
create table ctas_z using zedstore as select a, b, c from t_h;
create table ctas_h using heap as select * from ctas_z;
select test.same('select * from ctas_@');
create table empty_z using zedstore as select * from t_h with no data;
select count(*) from empty_z;
set default_table_access_method = zedstore;
select * into into_z from t_h where a < 100;
reset default_table_access_method;
select count(*) = (select count(*) from t_h where a < 100) from into_z;
select amname from pg_class c join pg_am a on a.oid = relam where c.oid = 'into_z'::regclass;
create materialized view mv_z using zedstore as select a, count(*) as n from t_h group by a;
create materialized view mv_h using heap as select a, count(*) as n from t_h group by a;
select test.same('select * from mv_@');
create unique index on mv_z (a) nulls not distinct;
create unique index on mv_h (a) nulls not distinct;
insert into t_h select i % 500 from generate_series(1, 4000) i;
delete from t_h where a = 77;
refresh materialized view mv_z;
refresh materialized view mv_h;
select test.same('select * from mv_@');
create materialized view mvn_z using zedstore as select 1 as a with no data;
select * from mvn_z;
refresh materialized view mvn_z;
select * from mvn_z;

-- several tables written by one statement and by one transaction
create table many_z (n int, a int) using zedstore;
create table more_z (n int, a text) using zedstore;
begin;
with x as (insert into many_z select 1, i from generate_series(1, 2000) i returning *)
insert into more_z select n, 'r' || a from x;
insert into many_z values (2, 1);
insert into more_z values (2, 'b');
insert into many_z values (2, 2);
select count(*), sum(a) from many_z;
select count(*), max(a) from more_z;
commit;
select count(*), sum(a) from many_z;
select count(*), max(a) from more_z;

-- rolled back rows are gone
begin;
insert into many_z select 3, i from generate_series(1, 3000) i;
select count(*) from many_z where n = 3;
rollback;
select count(*) from many_z where n = 3;

select test.check_tight(oid) from pg_class
where relnamespace = 'write_basic'::regnamespace and relkind in ('r', 'm') and relname like '%\_z' order by relname;
