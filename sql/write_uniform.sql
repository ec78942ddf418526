--
-- Segments of one value have no pages
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
\set horizon :abs_srcdir '/sql/include/horizon.sql'
\i :horizon
create schema write_uniform;
set search_path = write_uniform, public;
select current_setting('data_directory') || '/zedstore_write_uniform.data' as file \gset

-- segments of each column: first rows, and whether they have pages
create function segments(rel regclass) returns table (attname text, segments text)
language sql as $$
	select attname, string_agg(format('%s+%s%s%s', first_row, nrows,
		case when nblocks = 0 and start is null then ' one' end,
		case when nnulls > 0 then format(' nulls %s', nnulls) end), ', ' order by first_row)
	from pg_zs_segments(rel) where attno > 0 group by attno, attname order by attno
$$;

-- every kind of value, the same in all rows: present, absent, too long for an item
create table a_h (id int, b bool, c "char", i2 smallint, i4 int, i8 bigint, big bigint, o oid,
	x xid, f4 real, zero float8, nan float8, pi float8, n numeric, nz numeric(9,2), nn numeric,
	long numeric, empty text, t text, edge text, over text, v varchar(10), bp char(3), bin bytea,
	nm name, u uuid, m macaddr, d date, ts timestamptz, iv interval, arr int[],
	b0 bool, i0 int, o0 oid, f0 real, g0 float8, n0 numeric, t0 text, u0 uuid, m0 macaddr,
	iv0 interval) using heap;
create table a_z (like a_h) using zedstore;
insert into a_h select i, true, 'x', -7, 2147483647, -9223372036854775808, 12345678901234567,
	4294967295, '4000000000', -0.0, '-0', 'NaN', pi(), 12.5, 0.00, 'NaN', 123456789.123456789,
	'', 'ab', '12345678', '123456789', 'v', 'a', '\x00ff00', 'name',
	'00000000-0000-0000-0000-000000000001', '08:00:2b:01:02:03', '2026-11-23',
	'2026-11-23 12:00:00+00', '1 day', '{}'
from generate_series(1, 20000) i;
copy a_h to :'file';
copy a_z from :'file';
select test.same('select * from a_@');
select test.same('select i4, o, zero::text, empty, edge, o0, u0 from a_@ where id % 1000 = 7');
select * from segments('a_z') order by attname;
select attname, min, max, stored_bytes, encodings from pg_zs_segments('a_z')
where first_row = 0 and attname in ('i2', 'o', 'f4', 'nan', 'nz', 't', 'i0', 'u0') order by attname;
select attname, count(*) from pg_zs_trees('a_z') join pg_zs_btree_pages('a_z') p using (attno)
where attname in ('i4', 't', 'u0', 'id') and level = 0 group by attname order by attname;
select * from zs_check('a_z');

-- one by one, by batches, filters that decide by zone maps, backward, prewarmed
create index on a_h (id);
create index on a_z (id);
set enable_seqscan = off;
set enable_bitmapscan = off;
set enable_indexonlyscan = off;
select test.same('select i4, nz, t, edge, over, u, o0, f0, u0, zero::text from a_@
	where id in (1, 1023, 1024, 1025, 2048, 19999, 20000)');
reset enable_indexonlyscan;
reset enable_bitmapscan;
set enable_indexscan = off;
select test.same('select i4, nz, t, u0 from a_@ where id % 77 = 5 and id < 3000');
reset enable_indexscan;
reset enable_seqscan;
select test.same('select count(*), sum(i4), min(i8), max(o), sum(nz), count(t0),
	count(distinct empty), max(t), sum(f0), avg(n) from a_@ where i2 = -7 and t = ''ab''');
select test.same('select count(*) from a_@ where i2 > -7 or o0 is not null or t0 = ''''');
select test.same('select t, b, o0, count(*), sum(id) from a_@ group by 1, 2, 3');
set zedstore.enable_vector_scan = off;
set zedstore.enable_vector_agg = off;
select test.same('select count(*), sum(i4), max(t), min(v) from a_@ where i2 = -7 and u0 is null');
set zedstore.enable_zone_maps = off;
select test.same('select count(*), sum(i4) from a_@ where i2 = -7 and o = 4294967295');
reset zedstore.enable_zone_maps;
reset zedstore.enable_vector_scan;
reset zedstore.enable_vector_agg;
begin;
declare z scroll cursor for select id, i4, t, u0 from a_z;
move last in z;
fetch backward 2 from z;
move absolute 1026 in z;
fetch backward 2 from z;
commit;
select zs_prewarm('a_z', '{i4}') is not null as prewarmed;
select id, i4 from a_z tablesample system (0.1) repeatable (1) where i4 <> 2147483647 limit 1;
analyze a_z;
select attname, null_frac, n_distinct from pg_stats
where schemaname = 'write_uniform' and tablename = 'a_z' and attname in ('i4', 't', 'u0')
order by attname;

-- types that change without a rewrite, and with one; columns that come and go
alter table a_h alter i4 type oid, alter v type text;
alter table a_z alter i4 type oid, alter v type text;
select test.same('select i4, v, count(*) from a_@ where i4 > 5 group by 1, 2');
alter table a_h add added int default 5, drop i2;
alter table a_z add added int default 5, drop i2;
insert into a_h (id, added) select i, 6 from generate_series(20001, 30000) i;
insert into a_z (id, added) select i, 6 from generate_series(20001, 30000) i;
select test.same('select * from a_@');
select * from segments('a_z') where attname in ('added', 'i4', 't0') order by attname;
alter table a_h alter f4 type numeric;
alter table a_z alter f4 type numeric;
select test.same('select * from a_@');
select * from zs_check('a_z');

-- changes: rows that go, rows that get another value, what VACUUM makes of that
create table c_h (id int primary key, flag int, gone text, word text, nothing int) using heap;
create table c_z (like c_h including indexes) using zedstore;
insert into c_h select i, 0, null, 'same', null from generate_series(1, 40000) i;
insert into c_z select i, 0, null, 'same', null from generate_series(1, 40000) i;
select * from segments('c_z');
update c_h set flag = 1, nothing = 7 where id between 100 and 200;
update c_z set flag = 1, nothing = 7 where id between 100 and 200;
select test.same('select flag, nothing, count(*), sum(id) from c_@ group by 1, 2');
delete from c_h where id % 3 = 0;
delete from c_z where id % 3 = 0;
select test.same('select * from c_@');
vacuum c_h;
:vacuum c_z;
select test.same('select * from c_@');
select * from segments('c_z') where attname <> 'id';
select * from zs_check('c_z');
set enable_seqscan = off;
select test.same('select * from c_@ where id in (1, 2, 100, 101, 200, 39999, 40000)');
reset enable_seqscan;
insert into c_h select i, 0, null, 'same', null from generate_series(40001, 50000) i;
insert into c_z select i, 0, null, 'same', null from generate_series(40001, 50000) i;
begin;
delete from c_z where flag = 1;
update c_z set word = 'other' where id = 50000;
savepoint s;
insert into c_z select i, 0, null, 'same', null from generate_series(50001, 60000) i;
rollback to s;
insert into c_z select i, 0, null, 'more', null from generate_series(60001, 65000) i;
commit;
delete from c_h where flag = 1;
update c_h set word = 'other' where id = 50000;
insert into c_h select i, 0, null, 'more', null from generate_series(60001, 65000) i;
select zs_compact('c_z') > 0 as compacted;
:vacuum (freeze) c_z;
select bool_and(nblocks = 0) from pg_zs_segments('c_z') where attname = 'gone';
select test.same('select * from c_@');
select * from zs_check('c_z');

-- all rows go and come
create table s_h (a int, b text, c int) using heap;
create table s_z (like s_h) using zedstore;
insert into s_h select 1, '', null from generate_series(1, 5000);
insert into s_z select 1, '', null from generate_series(1, 5000);
select * from segments('s_z');
delete from s_h;
delete from s_z;
vacuum s_z;
select test.same('select * from s_@');
insert into s_h select 2, 'x', 3 from generate_series(1, 5000);
insert into s_z select 2, 'x', 3 from generate_series(1, 5000);
select test.same('select * from s_@');
select * from zs_check('s_z');
truncate s_z;
insert into s_z select 2, 'x', 3 from generate_series(1, 5000);
select test.same('select * from s_@');

-- a table of nothing else, moved and shortened
create table e_h (a int, b text) using heap;
create table e_z (like e_h) using zedstore;
insert into e_h select 0, null from generate_series(1, 150000);
insert into e_z select 0, null from generate_series(1, 150000);
select test.same('select count(*), sum(a), count(b) from e_@');
select pg_relation_size('e_z') < 20 * 8192 as small;
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
select test.same('select count(*), sum(a), count(b) from e_@ where a = 0');
reset max_parallel_workers_per_gather;
delete from e_h where ctid in (select ctid from e_h limit 80000);
delete from e_z where ctid in (select ctid from e_z limit 80000);
vacuum e_z;
select test.same('select count(*), sum(a), count(b) from e_@');
select * from zs_check('e_z');
vacuum full e_z;
select test.same('select count(*), sum(a), count(b) from e_@');
