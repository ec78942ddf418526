--
-- All ways to read rows
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema scan_basic;
set search_path = scan_basic, public;
set max_parallel_workers_per_gather = 0;

-- Rows in segments, rows in the row tree, and holes: deleted and rolled back rows
create table t_h (a int, b int, c text, d numeric) using heap with (autovacuum_enabled = off);
create table t_z (a int, b int, c text, d numeric) using zedstore with (autovacuum_enabled = off);
create function fill(first int, last int, sign int) returns void language plpgsql as $$
begin
	perform test.both(format('insert into t_@ select %s * i, i %% 100, case when i %% 7 > 0 then ''text '' || i end, i / 10.0
		from generate_series(%s, %s) i', sign, first, last));
end $$;
select fill(1, 20000, 1);
begin; select fill(1, 3000, -1); rollback;
select fill(20001, 20003, 1);
select fill(i, i, 1) from generate_series(20004, 20200) i \g /dev/null
begin; select fill(1, 3, -1); rollback;
select fill(20201, 21000, 1);
select test.both('delete from t_@ where a % 10 = 3 or a between 5000 and 7500');
select test.both('create index t_@_a on t_@ (a)');
select test.both('create index t_@_b on t_@ (b)');
vacuum analyze t_h;
analyze t_z;

-- sequential
select test.same('select * from t_@');
select test.same('select a, c from t_@ where b = 7 and c is not null');
select test.same('select count(*), sum(a), min(d), max(c), count(c) from t_@');
select test.same_order('select a from t_@ limit 10');
select test.same('select count(*) from (select a from t_@ offset 15000 limit 10) x');
select test.same('select sum(a) from t_@ tablesample bernoulli (100)');

-- index scan, both directions, and with row comparison
set enable_seqscan = off;
set enable_bitmapscan = off;
set enable_indexonlyscan = off;
explain (costs off) select * from t_z where a between 100 and 200;
select test.same_order('select * from t_@ where a between 100 and 200 order by a');
select test.same_order('select * from t_@ where a > 19900 order by a desc');
select test.same('select * from t_@ where b = 42');
select test.same('select * from t_@ where a in (1, 5001, 8000, 20100, 30000, -1)');
select test.same_order('select a from t_@ where a > 4990 order by a limit 20');
-- index-only, before and after VACUUM
set enable_indexonlyscan = on;
explain (costs off) select a from t_z where a between 100 and 200;
select test.same_order('select a from t_@ where a between 100 and 5100 order by a');
vacuum t_z;
select test.same_order('select a from t_@ where a between 100 and 5100 order by a');
select test.both('delete from t_@ where a = 101');
select test.same_order('select a from t_@ where a between 100 and 5100 order by a');
begin;
select test.both('delete from t_@ where a = 102');
select test.same_order('select a from t_@ where a between 100 and 200 order by a');
rollback;
select test.same_order('select a from t_@ where a between 100 and 200 order by a');

-- bitmap, exact and lossy
set enable_bitmapscan = on;
set enable_indexscan = off;
set enable_indexonlyscan = off;
explain (costs off) select * from t_z where b in (3, 5) or a < 100;
select test.same('select * from t_@ where b in (3, 5) or a < 100');
select test.same('select a, c from t_@ where b = 77 and a < 3000');
create table l_h (a int, b text) using heap;
create table l_z (a int, b text) using zedstore;
select test.both('insert into l_@ select i % 50, ''r'' || i from generate_series(1, 300000) i');
select test.both('create index on l_@ (a)');
analyze l_z;
set work_mem = '64kB';
select test.same('select a, b from l_@ where a in (7, 49)');
select test.same('select count(*) from l_@ where a in (7, 8, 9, 49)');
create function lossy(query text) returns boolean language plpgsql as $$
declare
	line text;
begin
	for line in execute 'explain (analyze, costs off, timing off, summary off, buffers off) ' || query loop
		if line ~ 'lossy=[1-9]' then
			return true;
		end if;
	end loop;
	return false;
end $$;
select lossy('select count(*) from l_z where a in (7, 49)');
reset work_mem;
reset enable_seqscan;
reset enable_indexscan;
reset enable_indexonlyscan;

-- by TID, including TIDs that are nowhere
select test.same($$ select a from t_@ where ctid = (select ctid from t_@ where a = 12345) $$);
select a from t_z where ctid = '(0,1)';
select a from t_z where ctid in ('(0,0)', '(0,257)', '(0,65535)', '(100000,1)', '(4294967295,0)', '(4294967294,100)');
select count(*) from t_z where ctid = any (select ctid from t_z where a between 4900 and 7600);
select test.same('select x.a, y.c from t_@ x join t_@ y on x.ctid = y.ctid where x.b = 5');
-- TID ranges
explain (costs off) select count(*) from t_z where ctid > '(3,5)' and ctid <= '(10,7)';
create function range_is_right(cond text) returns text language plpgsql as $$
declare
	n bigint;
	wrong bigint;
begin
	execute format('select count(*) from t_z where %s', cond) into n;
	execute format('select count(*) from (
		(select ctid::text, t_z::text from t_z where %1$s except all select t.ctid::text, t.t::text from (select ctid, t_z as t from t_z offset 0) t where %1$s) union all
		(select t.ctid::text, t.t::text from (select ctid, t_z as t from t_z offset 0) t where %1$s except all select ctid::text, t_z::text from t_z where %1$s)) x', cond) into wrong;
	return case when wrong > 0 then 'WRONG' when n > 0 then 'right, not empty' else 'right, empty' end;
end $$;
select cond, range_is_right(cond) from unnest(array[
	$$ ctid >= '(0,0)' and ctid < '(1,0)' $$, $$ ctid > '(0,256)' and ctid < '(1,3)' $$, $$ ctid > '(0,300)' and ctid <= '(2,0)' $$,
	$$ ctid >= '(4,65535)' and ctid <= '(4,65535)' $$, $$ ctid > '(5,5)' and ctid < '(5,6)' $$, $$ ctid > '(5,6)' and ctid < '(5,5)' $$,
	$$ ctid < '(4294967295,65535)' $$, $$ ctid >= '(0,0)' $$, $$ ctid > '(4294967294,0)' $$, $$ ctid < '(0,1)' $$, $$ ctid <= '(0,1)' $$,
	$$ ctid > '(15,200)' and ctid < '(35,7)' $$, $$ ctid > '(3,256)' and ctid <= '(4,1)' $$, $$ ctid >= '(3,257)' and ctid < '(8,0)' $$,
	$$ ctid >= '(77,0)' $$, $$ ctid = '(0,256)' $$, $$ ctid = '(0,257)' $$]) cond;
with cut as (select ctid as at from t_z where a = 15000)
select (select count(*) from t_z, cut where ctid < at) + (select count(*) from t_z, cut where ctid >= at) = (select count(*) from t_z);
-- by several processes, which PostgreSQL does since 19
create table ids using heap as select ctid as at, a from t_z;
create function is_parallel(sql text) returns boolean language plpgsql as $$
declare
	line text;
begin
	for line in execute 'explain (costs off) ' || sql loop
		if line like '%Parallel Tid Range Scan%' then
			return true;
		end if;
	end loop;
	return current_setting('server_version_num')::int < 190000;
end $$;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
set max_parallel_workers_per_gather = 4;
select is_parallel($$ select count(*), sum(a) from t_z where ctid > '(3,5)' and ctid <= '(60,7)' $$);
select format('select %1$L as cond, count(*) = (select count(*) from ids where %2$s) and coalesce(sum(a), 0) = (select coalesce(sum(a), 0) from ids where %2$s) as same from t_z where %1$s',
	cond, replace(cond, 'ctid', 'at')) from unnest(array[
	$$ ctid >= '(0,0)' and ctid < '(1,0)' $$, $$ ctid > '(0,256)' and ctid < '(1,3)' $$, $$ ctid > '(5,6)' and ctid < '(5,5)' $$,
	$$ ctid < '(4294967295,65535)' $$, $$ ctid > '(4294967294,0)' $$, $$ ctid <= '(0,1)' $$, $$ ctid > '(15,200)' and ctid < '(35,7)' $$,
	$$ ctid > '(3,5)' and ctid <= '(60,7)' $$, $$ ctid >= '(10,0)' $$, $$ ctid < '(17,9)' $$, $$ ctid >= '(77,0)' $$]) cond \gexec
set enable_material = off;
select g, count(*) = (select count(*) from ids where at >= '(3,5)' and at < '(60,7)') as same_count,
	sum(a) = (select sum(a) from ids where at >= '(3,5)' and at < '(60,7)') as same_sum
	from generate_series(1, 3) g, (select a from t_z where ctid >= '(3,5)' and ctid < '(60,7)' offset 0) t group by g order by g;
reset enable_material;
reset parallel_setup_cost;
reset parallel_tuple_cost;
reset min_parallel_table_scan_size;
reset max_parallel_workers_per_gather;
drop table ids;
-- backwards through a range: the first five in reverse
begin;
declare c scroll cursor for select ctid > '(1,0)' and ctid < '(1,20)', a from t_z where ctid >= '(1,1)' and ctid < '(1,20)';
move last from c;
move backward all from c;
fetch forward 2 from c;
move last from c;
fetch backward 1 from c;
move first from c;
fetch prior from c;
commit;

-- cursors in both directions, over the holes
create table o_h (a int, c text) using heap with (autovacuum_enabled = off);
create table o_z (a int, c text) using zedstore with (autovacuum_enabled = off);
select test.both('insert into o_@ select i, case when i % 7 > 0 then ''text '' || i end from generate_series(1, 20000) i');
select test.both('delete from o_@ where a % 10 = 3 or a between 1000 and 3100 or a > 19990');
select test.same_order('select a, c from o_@');
begin;
declare ch scroll cursor for select a, c from o_h;
declare cz scroll cursor for select a, c from o_z;
create function walk(cursor refcursor, moves text[]) returns text language plpgsql as $$
declare
	move text;
	r record;
	result text := '';
begin
	foreach move in array moves loop
		execute format('move %s from %I', move, cursor);
		fetch relative 0 from cursor into r;
		result := result || ' ' || coalesce(r.a, -1);
	end loop;
	return result;
end $$;
select walk('cz', moves) as z, walk('ch', moves) as h from (select array['next', 'next', 'next', 'prior', 'prior', 'forward 1022', 'next', 'next', 'prior',
	'forward 4000', 'backward 1000', 'backward 1', 'forward 2', 'last', 'prior', 'prior', 'backward 500', 'next', 'next',
	'backward 15000', 'next', 'first', 'prior', 'next', 'forward all', 'prior', 'absolute 5000', 'relative -100', 'relative 2000'] as moves) m;
fetch backward 3 from cz;
fetch backward 3 from ch;
fetch first from cz;
fetch prior from cz;
fetch forward 2 from cz;
fetch absolute -2 from cz;
commit;
-- a cursor does not see what comes after it, and lives through deletes
begin;
declare c scroll cursor for select a from t_z where a < 12;
fetch 2 from c;
delete from t_z where a < 8;
insert into t_z (a) values (5);
fetch 3 from c;
fetch backward all from c;
rollback;
begin;
declare h cursor with hold for select a from t_z where a < 5;
commit;
fetch all from h;
close h;

-- a cursor over an index, backwards
begin;
set local enable_seqscan = off;
set local enable_bitmapscan = off;
declare c scroll cursor for select a, c from t_z where a > 15000 order by a;
fetch 3 from c;
fetch backward 2 from c;
fetch last from c;
fetch prior from c;
commit;

-- TABLESAMPLE: the same rows for the same seed, all rows with 100
select test.same('select * from t_@ tablesample system (100)');
select test.same('select count(*) from t_@ tablesample system (0)');
select count(*) between 10000 and 14000 from t_z tablesample bernoulli (66.6) repeatable (1);
select count(*) between 4000 and 15000 from t_z tablesample system (50) repeatable (1);
with one as (select * from t_z tablesample bernoulli (10) repeatable (5)), two as (select * from t_z tablesample bernoulli (10) repeatable (5))
select count(*) from (select * from one except all select * from two) x;
with one as (select * from t_z tablesample system (10) repeatable (5)), two as (select * from t_z tablesample system (10) repeatable (5))
select count(*) from (select * from one except all select * from two) x;
select count(*) = count(distinct a) from t_z tablesample bernoulli (50);

-- parallel
set max_parallel_workers_per_gather = 3;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
set min_parallel_index_scan_size = 0;
set zedstore.enable_vector_agg = off;
explain (costs off) select count(*), sum(a) from t_z;
select count(*), sum(a), sum(b), count(c), sum(d) from t_z;
select count(*), sum(a), sum(b), count(c), sum(d) from t_h;
select count(*), sum(length(b)) from l_z;
select count(*), sum(length(b)) from l_h;
set enable_seqscan = off;
select count(*), sum(a), min(c) from t_z where b < 50;
select count(*), sum(a), min(c) from t_h where b < 50;
set enable_bitmapscan = off;
select count(*), sum(a), min(c) from t_z where a < 15000;
select count(*), sum(a), min(c) from t_h where a < 15000;
reset enable_seqscan;
reset enable_bitmapscan;
set enable_hashjoin = off;
set enable_mergejoin = off;
select count(*), sum(x.a) from t_z x join t_z y on x.a = y.b;
select count(*), sum(x.a) from t_h x join t_h y on x.a = y.b;
reset enable_hashjoin;
reset enable_mergejoin;
-- rows of this transaction are seen by its workers
begin;
insert into t_z (a) select i from generate_series(100001, 105000) i;
insert into t_z (a) values (110000);
set local debug_parallel_query = on;
select count(*), sum(a) from t_z where a > 100000;
rollback;
set max_parallel_workers_per_gather = 0;

-- rescans
set enable_hashjoin = off;
set enable_mergejoin = off;
set enable_material = off;
set enable_memoize = off;
select test.same('select x.a, y.a from (select a, b from t_@ where a < 10) x join t_@ y on x.a = y.b and y.a < 1000');
set enable_indexscan = off;
set enable_bitmapscan = off;
set enable_indexonlyscan = off;
select test.same('select x.a, y.a from (select a, b from t_@ where a < 20) x join t_@ y on x.a = y.b and y.a < 1000');
select test.same('select a, (select max(c) from t_@ y where y.a <= x.b) from t_@ x where a < 30');
reset enable_indexscan;
reset enable_bitmapscan;
reset enable_indexonlyscan;
select test.same('select a from t_@ x where exists (select from t_@ y where y.a = x.b and y.c is null)');
select test.same('select a from t_@ x where a < 3000 and not exists (select from t_@ y where y.a = x.a + 1)');
select test.same('select x.a, l.* from t_@ x, lateral (select c, d from t_@ y where y.a > x.a order by y.a limit 2) l where x.a % 1000 = 1');
select test.same('select a from t_@ x where b = any (array(select a from t_@ where a < 10))');
select test.same('select x.a from t_@ x, t_@ y where x.ctid = y.ctid and y.a < 50');
reset enable_hashjoin;
reset enable_mergejoin;
reset enable_material;
reset enable_memoize;

-- whole rows, functions of rows, grouping, sorting, set operations, windows
select test.same('select x, x.*, row_to_json(x) from t_@ x where a < 100');
create function last_text(t_z) returns text language sql as 'select $1.c || ''!''';
create function last_text(t_h) returns text language sql as 'select $1.c || ''!''';
select test.same('select x.last_text from t_@ x where a < 100');
select test.same('select b, count(*), max(x::text) from t_@ x group by b');
select test.same_order('select c, d from t_@ order by c nulls first, a limit 500');
select test.same('select a, lag(c) over (partition by b order by a), count(x) over (order by a) from t_@ x where a < 2000');
select test.same('select a from t_@ where a < 100 union all select b from t_@ where a < 100');
select test.same('select distinct b, c is null from t_@');
select test.same('with recursive r as (select a, b from t_@ where a = 9000 union all select t.a, t.b from r join t_@ t on t.a = r.a - 11 where r.a > 8000) select * from r');

-- system columns
select tableoid::regclass, ctid, xmin::text <> '0' as xmin, cmin, xmax::text <> '0' as xmax, cmax, a from t_z where a in (1, 2);
begin;
create table s_z (a int) using zedstore;
insert into s_z values (1);
insert into s_z values (2), (3);
delete from s_z where a = 2;
update s_z set a = 30 where a = 3;
select xmin = pg_current_xact_id()::xid as own, cmin, cmax, xmax, a from s_z;
commit;
select count(distinct xmin::text), bool_and(xmax::text = '0') from t_z where b = 1 and a between 9000 and 20000;

-- backward, from stripes without row-tree rows to those that have some
create table back_z (a int not null, b text) using zedstore;
do $$ begin for i in 1 .. 100 loop insert into back_z values (i, 'r' || i); end loop; end $$;
insert into back_z select i, 'c' || i from generate_series(1001, 12000) i;
begin;
declare c scroll cursor for select * from back_z;
move last in c;
move forward in c;
fetch backward 1 in c;
move backward 10995 in c;
fetch backward 8 in c;
fetch absolute -11050 in c;
fetch prior in c;
fetch first in c;
commit;

select test.check('t_z');
select test.check('back_z');
select test.check('l_z');
select test.check('s_z');
