--
-- What sorting a table would make of it: zs_sortedness(), against what VACUUM FULL then makes
--
create schema inspect_sortedness;
set search_path = inspect_sortedness, public;
set zedstore.min_segment_rows = 1024;
-- the sorts of the sample go to disk
set work_mem = '1MB';

create table sales (id int, ts timestamp, cust int, name text, region text, amount numeric(12,2),
	ref text, kind "char", seen boolean, f float8, u uuid) using zedstore;
insert into sales select g, timestamp '2024-01-01' + g * interval '7 s',
	nullif(hashint4(g) & 8191, 77), 'customer ' || md5((hashint4(g) & 8191)::text),
	'region ' || (hashint4(g) & 8191) % 12, (hashint4(g + 7) & 1048575) / 100.0,
	md5(g::text), chr(65 + g % 3)::"char", g % 7 = 0, (hashint4(g) & 8191) / 8.0,
	md5((hashint4(g) & 8191)::text)::uuid
from generate_series(1, 196000) g;
-- no key, nothing to be said of it
select attname, key_position, sorted_row_bytes, sorted_vector_depth, row_bytes > 0 as has_bytes
from zs_sortedness('sales');

-- Of each column: is what it takes now what was said before, but for a seventh or a tenth of a
-- byte, and so its depth, but for a third or three vectors?
create function is_near(said float8, is_now float8, part float8, more float8) returns bool
language sql as $$ select is_now between said / (1 + part) - more and said * (1 + part) + more $$;
create table said as select * from zs_sortedness('sales', 'cust, ts');
create view compared as select attname, n.key_position as pos,
	is_near(s.sorted_row_bytes, n.row_bytes, 0.15, 0.1) as bytes,
	is_near(s.sorted_vector_depth, n.vector_depth, 0.34, 3) as depth
from said s full join zs_sortedness('sales') n using (attno, attname) order by attno;
alter table sales set (zedstore_sort_key = 'cust, ts');
vacuum full sales;
select * from compared;
-- sorted by it: what is said is what is there
select bool_and(is_near(sorted_row_bytes, row_bytes, 0.15, 0.1)) as bytes,
	bool_and(is_near(sorted_vector_depth, vector_depth, 0.34, 3)) as depth
from zs_sortedness('sales');
-- few values, the second key in the other direction
truncate said;
insert into said select * from zs_sortedness('sales', 'region, amount desc');
alter table sales set (zedstore_sort_key = 'region, amount desc');
vacuum full sales;
select * from compared;
-- NULLs first, and a column without an order of its own in zone maps
truncate said;
insert into said select * from zs_sortedness('sales', 'seen desc, u nulls first');
alter table sales set (zedstore_sort_key = 'seen desc, u nulls first');
vacuum full sales;
select * from compared;
-- back to the order of arrival
truncate said;
insert into said select * from zs_sortedness('sales', 'id');
alter table sales set (zedstore_sort_key = 'id');
vacuum full sales;
select * from compared;
-- the whole is smaller or larger by what was said
select round((sum(sorted_row_bytes) / sum(row_bytes))::numeric, 1) as by_ref
from zs_sortedness('sales', 'ref');
select (sum(sorted_row_bytes) > sum(row_bytes) * 1.02) as larger
from zs_sortedness('sales', 'ref') where attname in ('id', 'ts', 'kind', 'seen');
drop view compared;
drop table sales;

-- few rows, columns added and dropped, values on overflow pages, an empty key
create table odd (a int, gone int, big text, c text) using zedstore;
alter table odd alter big set storage external;
insert into odd select g % 100, g, case when g % 50 = 0 then repeat('x', 9000) end, 'c' || g
from generate_series(1, 5000) g;
alter table odd drop column gone;
alter table odd add column later int default 7, add column never text;
insert into odd select g, null, 'd' || g, g from generate_series(1, 3000) g;
select attname, key_position, row_bytes > 0 as has_bytes, sorted_row_bytes > 0 as has_sorted,
	round(sorted_vector_depth::numeric) as sorted_vector_depth
from zs_sortedness('odd', 'a, big');
select attname, sorted_row_bytes is not null as said from zs_sortedness('odd', 'big');
select attname, sorted_row_bytes is not null as said from zs_sortedness('odd', 'never, later');
-- rows in the row tree alone have no segments
create table rows (a int, b text) using zedstore;
insert into rows values (1, 'x'), (2, 'y');
select attname, key_position, segments, row_bytes, sorted_row_bytes, sorted_vector_depth
from zs_sortedness('rows', 'b desc');
-- as for the option
select * from zs_sortedness('odd', 'gone');
select * from zs_sortedness('odd', 'a + 1');
select * from zs_sortedness('odd', '');
select * from zs_sortedness('odd', 'a, a');
select * from zs_sortedness('rows', 'ctid');
-- NULL: the table's own
select count(*) from zs_sortedness(null);
select attname, key_position from zs_sortedness('rows', null);
create index rows_b on rows (b);
cluster rows using rows_b;
select attname, key_position from zs_sortedness('rows');
-- the index that CLUSTER marked gives way to what is asked for
select attname, key_position from zs_sortedness('rows', 'a');
set client_min_messages = warning;
drop schema inspect_sortedness cascade;
