--
-- VACUUM below the level of rows: pages that are empty or nearly so are merged,
-- free space goes from tree to tree, the file's free tail is cut off
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
\set horizon :abs_srcdir '/sql/include/horizon.sql'
\i :horizon
create schema vacuum_space;
set search_path = vacuum_space, public;
create extension if not exists pg_visibility;

set zedstore.min_segment_rows = 65536;
create table pages_z (a int, b text) using zedstore with (autovacuum_enabled = off);
create view tree_pages as
	select attno, level, count(*) as pages from pg_zs_btree_pages('pages_z')
	where attno <= 0 group by 1, 2;

-- Runs of one row each fill the leaves of the TID tree, whole rows those of the row tree.
insert into pages_z select i, 'row ' || i from generate_series(1, 60000) i;
delete from pages_z where a % 2 = 0;
select attno, level, pages > 10 as many from tree_pages where level = 0 order by 1;

-- Most rows go: few pages are left, of those that come next to each other
delete from pages_z where a % 1000 <> 1;
:vacuum pages_z;
select attno, level, pages <= 4 as few from tree_pages order by 1, 2;
select count(*), sum(a) from pages_z;
select test.check_tight('pages_z');

-- All of them go.
delete from pages_z;
:vacuum pages_z;
select attno, level, pages from tree_pages order by 1, 2;
select test.check_tight('pages_z');

-- The trees grow again from what is left.
insert into pages_z select i, 'row ' || i from generate_series(1, 20000) i;
delete from pages_z where a % 2 = 0;
select count(*), sum(a) from pages_z;
select test.check_tight('pages_z');
:vacuum pages_z;

-- With nothing to do, nothing is done.
:vacuum (freeze) pages_z;
select sum(pages) as before from tree_pages \gset
:vacuum pages_z;
:vacuum (disable_page_skipping) pages_z;
select sum(pages) <= :before as same from tree_pages;
select count(*), sum(a) from pages_z;
select test.check_tight('pages_z');
drop view tree_pages;
reset zedstore.min_segment_rows;

-- The end of the file is free afterwards: it is cut off, the visibility map is not.
set zedstore.min_segment_rows = 65536;
create table file_z (a int, b text) using zedstore with (autovacuum_enabled = off);
alter table file_z alter b set storage plain;
create function file_blocks(t regclass) returns bigint language sql as
	$$ select pg_relation_size(t) / 8192 $$;
insert into file_z select i, repeat('x', 1000) from generate_series(1, 12000) i;
select file_blocks('file_z') as full_size \gset
delete from file_z where a > 3000;
:vacuum (truncate off) file_z;
select file_blocks('file_z') = :full_size as not_asked_for;
alter table file_z set (vacuum_truncate = off);
:vacuum file_z;
select file_blocks('file_z') = :full_size as not_allowed;
alter table file_z reset (vacuum_truncate);
:vacuum (freeze) file_z;
select file_blocks('file_z') < :full_size / 3 as truncated;
select count(*), sum(a), sum(length(b)) from file_z;
select test.check_tight('file_z');
select count(*) > 0 as map_is_whole from pg_visibility_map('file_z') where all_visible;

-- Loading and deleting again and again takes no more space.
insert into file_z select i, repeat('y', 1000) from generate_series(3001, 12000) i;
select file_blocks('file_z') <= :full_size * 33 / 32 as same;
delete from file_z where a > 3000;
:vacuum (truncate off) file_z;
insert into file_z select i, repeat('y', 1000) from generate_series(3001, 12000) i;
select file_blocks('file_z') <= :full_size * 33 / 32 as same;
select test.check_tight('file_z');

-- Gaps between what is left: a map with many short extents, and in the end none
delete from file_z where (a / 50) % 2 = 1;
:vacuum (truncate off) file_z;
select count(*) > 12 as many from pg_zs_free_pages('file_z');
select test.check_tight('file_z');
delete from file_z;
:vacuum file_z;
select file_blocks('file_z') < :full_size / 2 as truncated, count(*) <= 12 as few
from pg_zs_free_pages('file_z');
select test.check_tight('file_z');
insert into file_z select i, 'z' from generate_series(1, 1000) i;
select count(*), sum(a) from file_z;

-- Rows of one tree, then of another: long free extents are everybody's.
create table reuse_z (a int, b text) using zedstore with (autovacuum_enabled = off);
alter table reuse_z alter b set storage plain;
insert into reuse_z select i, repeat('x', 1000) from generate_series(1, 12000) i;
delete from reuse_z where a < 12000;
:vacuum (truncate off) reuse_z;
select attno, sum(length) > 1000 as many from pg_zs_free_pages('reuse_z') group by 1;
select file_blocks('reuse_z') as size_before \gset
set zedstore.min_segment_rows = 1;
insert into reuse_z select i, md5(i::text) || md5((i + 1)::text) from generate_series(1, 60000) i;
select file_blocks('reuse_z') = :size_before as reused;
select test.check_tight('reuse_z');

-- So is what a dropped column had left.
create table drop_z (a int, b text, c int) using zedstore
	with (autovacuum_enabled = off, zedstore_rel_extension_factor = 40);
insert into drop_z select i, md5(i::text), i from generate_series(1, 2000) i;
alter table drop_z drop c;
select attno, sum(length) > 30 as rest from pg_zs_free_pages('drop_z') where attno is null or attno = 3 group by 1;
:vacuum (truncate off) drop_z;
select attno, sum(length) > 30 as rest from pg_zs_free_pages('drop_z') where attno is null or attno = 3 group by 1;
select test.check_tight('drop_z');

-- A table that is to grow in large steps keeps one.
create table step_z (a int) using zedstore with (autovacuum_enabled = off, zedstore_rel_extension_factor = 200);
insert into step_z values (1);
select file_blocks('step_z') as size_before \gset
:vacuum step_z;
select file_blocks('step_z') = :size_before as kept;

-- Temporary and unlogged tables
create temp table temp_z (a int, b text) using zedstore;
create unlogged table unlogged_z (a int, b text) using zedstore with (autovacuum_enabled = off);
set zedstore.min_segment_rows = 65536;
insert into temp_z select i, repeat('x', 100) from generate_series(1, 30000) i;
insert into unlogged_z select i, repeat('x', 100) from generate_series(1, 30000) i;
delete from temp_z where a > 10;
delete from unlogged_z where a > 10;
:vacuum temp_z, unlogged_z;
select file_blocks('temp_z') < 20 as temp, file_blocks('unlogged_z') < 20 as unlogged;
select count(*) from temp_z;
select count(*) from unlogged_z;
select test.check_tight('temp_z');
select test.check_tight('unlogged_z');
reset zedstore.min_segment_rows;

-- Pages that a failed statement left to nobody are found: values of rows that were never written.
create table leak_z (a int, b text, c int) using zedstore with (autovacuum_enabled = off);
alter table leak_z alter b set storage external;
insert into leak_z select i, repeat('v', 20000), 1 from generate_series(1, 10) i;
insert into leak_z select i, repeat('w', 20000), 1 / (30 - i) from generate_series(11, 100) i;
select count(*) > 0 as leaked from zs_check('leak_z') where message like 'leaked%';
:vacuum leak_z;
select test.check_tight('leak_z');
select count(*), sum(length(b)) from leak_z;

-- A value that moved into a segment is in use as one in a row is.
set zedstore.min_segment_rows = 1;
insert into leak_z select i, repeat('s', 20000), 1 from generate_series(101, 110) i;
insert into leak_z select i, repeat('w', 20000), 1 / (130 - i) from generate_series(111, 200) i;
reset zedstore.min_segment_rows;
:vacuum (disable_page_skipping) leak_z;
select test.check_tight('leak_z');
select count(*), sum(length(b)) from leak_z;

-- The values of a dropped column may have pages that nothing is known of: they are left alone.
alter table leak_z add d text;
alter table leak_z alter d set storage external;
insert into leak_z select i, 'x', 1, repeat('d', 20000) from generate_series(201, 210) i;
alter table leak_z drop d;
insert into leak_z select i, repeat('w', 20000), 1 / (230 - i) from generate_series(211, 300) i;
:vacuum (disable_page_skipping) leak_z;
select test.check('leak_z');
select count(*), sum(length(b)) from leak_z;

-- Rows of a transaction that added a column and aborted: what they point to is not free before they
-- are gone, whatever column has that number later.
create table other_z (a int, b text) using zedstore with (autovacuum_enabled = off);
alter table other_z alter b set storage external;
insert into other_z select i, repeat('v', 5000) from generate_series(1, 100) i;
begin;
alter table other_z add c text;
alter table other_z alter c set storage external;
insert into other_z select i, null, case when i % 100 = 0 then repeat('x', 10000) else 'y' end
from generate_series(1, 10000) i;
select count(c) from other_z;
rollback;
:vacuum (truncate off) other_z;
alter table other_z add c numeric;
set zedstore.enable_compaction = off;
insert into other_z select i, repeat('w', 20000), 1 / (30 - i) from generate_series(1, 100) i;
:vacuum (truncate off) other_z;
reset zedstore.enable_compaction;
:vacuum (truncate off) other_z;
select test.check_tight('other_z');
insert into other_z select i, repeat('u', 5000), i from generate_series(1, 200) i;
select count(*), sum(length(b)), sum(c) from other_z;
select test.check('other_z');

-- The same in the row tree, where index entries keep dead rows: bytes of another type are not taken for values.
create table types_z (a int primary key, b text) using zedstore with (autovacuum_enabled = off);
alter table types_z alter b set storage external;
begin;
alter table types_z add c int, add d int;
insert into types_z values (1, repeat('v', 20000), x'12000'::int + 1, 7);
select count(*) from types_z;
rollback;
alter table types_z add c text, add d text;
insert into types_z values (2, 'row', 'c', 'd');
insert into types_z select i, repeat('w', 20000), 1 / (30 - i) from generate_series(11, 100) i;
:vacuum (index_cleanup off) types_z;
:vacuum types_z;
select test.check_tight('types_z');
select a, b, c, d from types_z;

-- More long extents than the table's directory entry takes: the others stand on a page, and are
-- found there.
create table spill_z (a int, b text) using zedstore with (autovacuum_enabled = off);
alter table spill_z alter b set storage plain;
set zedstore.min_segment_rows = 65536;
insert into spill_z select i, repeat('x', 1000) from generate_series(1, 30000) i;
delete from spill_z where a % 1300 > 100;
:vacuum (truncate off) spill_z;
select file_blocks('spill_z') as size_before \gset
select spill is not null as spilled, nextents > 0 as some from pg_zs_trees('spill_z') where treeno = 0;
set zedstore.min_segment_rows = 1;
do $$
begin
	for i in 1 .. 40 loop
		insert into spill_z select k, (select string_agg(md5((i * k + j)::text), '') from generate_series(1, 45) j)
		from generate_series(100000 + i * 1000, 100999 + i * 1000) k;
		commit;
	end loop;
end $$;
select file_blocks('spill_z') = :size_before as reused;
select coalesce(sum(length), 0) < 1500 as most_are_used from pg_zs_free_pages('spill_z') where attno is null;
select test.check_tight('spill_z');
:vacuum (truncate off) spill_z;
select test.check_tight('spill_z');
delete from spill_z where a < 100000;
:vacuum spill_z;
select test.check_tight('spill_z');
select count(*), sum(a) from spill_z;
reset zedstore.min_segment_rows;
