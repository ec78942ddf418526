--
-- COPY in and out
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema write_copy;
set search_path = write_copy, public;

-- small ones, all formats
create table t_h (a int, b text, c date) using heap;
create table t_z (a int, b text, c date) using zedstore;
copy t_z from stdin;
1	one	2020-01-01
2	\N	2020-01-02
3		\N
\.
copy t_z (c, a) from stdin (format csv);
2021-01-01,4
,5
\.
copy t_z from stdin (format csv, header) where a > 6;
a,b,c
6,"six",2020-06-06
7,"se""ven",2020-07-07
\.
copy t_z to stdout;
copy t_z (b, a) to stdout (format csv, null 'NULL');
copy (select a, c from t_z where b is null order by a) to stdout;

-- files for the large ones
select current_setting('data_directory') || '/zedstore_write_copy.data' as file \gset

-- more rows than a segment has, with a tail that fills no stripe
truncate t_z;
insert into t_h select i, case when i % 3 > 0 then md5(i::text) end, date '2000-01-01' + i % 1000
from generate_series(1, 150001) i;
copy t_h to :'file';
copy t_z from :'file';
select test.same('select * from t_@');
select count(*), min(a), max(a) from t_z;
-- rows come out in the order of the file, which is not that of a: heap filled up a page with a shorter row
select bool_and(a = n) from (select a, row_number() over () as n from t_z) x;
-- once more: the tail's row numbers go on where the first COPY ended
copy t_z from :'file' (format text);
copy t_h from :'file';
select test.same('select * from t_@');
copy t_z to :'file' (format binary);
truncate t_z;
copy t_z from :'file' (format binary);
select test.same('select * from t_@');
select test.check('t_z');

-- row counts around stripes and segments
create table n_h (n int, a int, b text) using heap;
create table n_z (n int, a int, b text) using zedstore;
create function load(n int, file text) returns void language plpgsql as $$
begin
	execute format('copy (select %s, i, repeat(''x'', i %% 10) from generate_series(1, %1$s) i) to %L', n, file);
	execute format('copy n_h from %L', file);
	execute format('copy n_z from %L', file);
end $$;
select load(n, :'file') from unnest(array[0, 1, 63, 64, 65, 999, 1000, 1001, 1023, 1024, 1025, 2047, 2048, 2049,
	4095, 4096, 4097, 65535, 65536, 65537]) n \g /dev/null
select test.same('select * from n_@');
select test.check('n_z');

-- FREEZE: visible to all at once
begin;
create table f_z (a int, b text) using zedstore;
copy f_z from stdin (freeze);
1	a
2	b
\.
select xmin = pg_current_xact_id()::xid as own, * from f_z;
copy n_z to :'file';
create table f2_z (like n_z) using zedstore;
copy f2_z from :'file' (freeze);
commit;
select count(distinct xmin::text), bool_or(xmin::text = '2') as frozen from f2_z;
select count(*) = (select count(*) from n_z) from f2_z;
copy f2_z from :'file' (freeze);
-- and in the visibility map, which ANALYZE counts; up to three blocks of the last stripe have no rows
analyze f_z, f2_z;
select relname, relallvisible > 0, relallvisible between relpages - 3 and relpages from pg_class
where oid in ('f_z'::regclass, 'f2_z'::regclass) order by 1;
insert into f_z values (3, 'c');
analyze f_z;
select relallvisible from pg_class where oid = 'f_z'::regclass;
begin;
truncate f2_z;
savepoint a;
copy f2_z from :'file' (freeze);
rollback to a;
select count(*) from f2_z;
copy f2_z from :'file';
rollback;
select count(*) = (select count(*) from n_z) from f2_z;

-- two tables in turn in one transaction, and reading in between
create table x_z (a int) using zedstore;
create table y_z (a int) using zedstore;
begin;
copy x_z from program 'seq 1 3000';
copy y_z from program 'seq 1 2000';
copy x_z from program 'seq 3001 9000';
select count(*), sum(a) from x_z;
copy y_z from program 'seq 2001 70000';
copy x_z from program 'seq 9001 9010';
commit;
select count(*), sum(a) from x_z;
select count(*), sum(a) from y_z;

-- an error in the middle: nothing stays
copy x_z from program 'seq 1 70000; echo oops';
select count(*), sum(a) from x_z;
-- soft errors
copy x_z from program 'echo 9011; echo oops; echo 9012' (on_error ignore);
select count(*), sum(a) from x_z;

-- triggers make COPY insert row by row
create function note() returns trigger language plpgsql as $$
begin
	new.b := new.b || '!';
	return case when new.a % 10 = 0 then null else new end;
end $$;
create table trig_z (a int, b text) using zedstore;
create trigger note before insert on trig_z for each row execute function note();
copy trig_z from program 'seq 1 2000 | sed "s/$/\tx/"';
select count(*), count(distinct b), min(b) from trig_z;

-- partitions of both kinds
create table p (a int, b text) partition by range (a);
create table p1_z partition of p for values from (0) to (20000) using zedstore;
create table p2_h partition of p for values from (20000) to (40000) using heap;
create table p3_z partition of p for values from (40000) to (100000) using zedstore;
copy p from program 'seq 0 60000 | awk ''{ print ($1 * 7919) % 60001 "\tr" $1 }''';
select tableoid::regclass, count(*), sum(a) from p group by 1 order by 1;

-- 1000 columns
\set ECHO none
select format('create table wide_%s (%s) using %s', am, string_agg(format('c%s %s', i,
	(array['int', 'text', 'float8', 'bool', 'date'])[i % 5 + 1]), ', ' order by i),
	case am when 'h' then 'heap' else 'zedstore' end)
from generate_series(1, 1000) i, unnest(array['h', 'z']) am group by am order by am \gexec
select format('insert into wide_h select %s from generate_series(1, 3000) r', string_agg(
	case i % 5 when 0 then 'r * ' || i when 1 then format('case when r %% 7 <> 0 then ''v'' || r %% %s end', i + 1)
		when 2 then 'r / 4.0' when 3 then format('r %% %s = 0', i) else 'date ''2020-01-01'' + r % 50' end, ', ' order by i))
from generate_series(1, 1000) i \gexec
\set ECHO all
copy wide_h to :'file';
copy wide_z from :'file';
select count(*) from wide_z;
select test.same('select c1, c2, c3, c4, c5, c998, c999, c1000 from wide_@');
select test.same('select * from wide_@ where c5 <= 15');
select test.check('wide_z');

-- 1600 columns, the most there can be
\set ECHO none
select format('create table widest_%s (%s) using %s', am, string_agg(format('c%s int', i), ', ' order by i),
	case am when 'h' then 'heap' else 'zedstore' end)
from generate_series(1, 1600) i, unnest(array['h', 'z']) am group by am order by am \gexec
select format('insert into widest_h select %s from generate_series(1, 100) r',
	string_agg('r + ' || i, ', ' order by i)) from generate_series(1, 1600) i \gexec
select format('insert into widest_h select %s from generate_series(1, 70) r',
	string_agg(case when i % 3 = 0 then 'null' else 'r + ' || i end, ', ' order by i)) from generate_series(1, 1600) i \gexec
\set ECHO all
copy widest_h to :'file';
copy widest_z from :'file';
insert into widest_z select * from widest_h where c1 <= 3;
insert into widest_h select * from widest_h where c1 <= 3;
insert into widest_z (c1600) values (-1);
insert into widest_h (c1600) values (-1);
select test.same('select * from widest_@');
select c1, c800, c1600 from widest_z where c1 = 2 order by c800;
select test.check('widest_z');

-- rows wider than a page, and of very different widths
create table fat_h (a int, b text, c text, d bytea) using heap;
create table fat_z (a int, b text, c text, d bytea) using zedstore;
insert into fat_h select i, repeat(md5(i::text), (i * i) % 700), repeat('abc', i * 100),
	decode(repeat(md5((-i)::text), i % 300), 'hex') from generate_series(1, 300) i;
copy fat_h to :'file';
copy fat_z from :'file';
select test.same('select * from fat_@');
insert into fat_z select * from fat_h where a in (3, 26, 27, 299);
insert into fat_h select * from fat_h where a in (3, 26, 27, 299);
select test.same('select * from fat_@');
select a, length(b), length(c), length(d) from fat_z where a in (3, 299) order by 1;
-- fixed-length columns alone make a row of more than a page
\set ECHO none
select format('create table names_%s (%s) using %s', am, string_agg(format('c%s name', i), ', ' order by i),
	case am when 'h' then 'heap' else 'zedstore' end)
from generate_series(1, 200) i, unnest(array['h', 'z']) am group by am order by am \gexec
\set ECHO all
-- which heap cannot do
\set ECHO none
select format('insert into names_h values (%s)', string_agg(format('''n%s''', i), ', ' order by i)) from generate_series(1, 200) i \gexec
select format('insert into names_z values (%s)', string_agg(format('''n%s''', i), ', ' order by i)) from generate_series(1, 200) i \gexec
\set ECHO all
select c1, c100, c200 from names_z;
select test.check('fat_z');

copy (select 1) to :'file';
select test.check(oid) from pg_class
where relnamespace = 'write_copy'::regnamespace and relkind = 'r' and relname like '%\_z' order by relname;
