--
-- VACUUM below the level of rows: pages that are empty or nearly so are merged,
-- free space goes from tree to tree, the file's free tail is cut off
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema vacuum_space;
set search_path = vacuum_space, public;

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
vacuum pages_z;
select attno, level, pages <= 4 as few from tree_pages order by 1, 2;
select count(*), sum(a) from pages_z;
select test.check_tight('pages_z');

-- All of them go.
delete from pages_z;
vacuum pages_z;
select attno, level, pages from tree_pages order by 1, 2;
select test.check_tight('pages_z');

-- The trees grow again from what is left.
insert into pages_z select i, 'row ' || i from generate_series(1, 20000) i;
delete from pages_z where a % 2 = 0;
select count(*), sum(a) from pages_z;
select test.check_tight('pages_z');
vacuum pages_z;

-- With nothing to do, nothing is done.
vacuum (freeze) pages_z;
select sum(pages) as before from tree_pages \gset
vacuum pages_z;
vacuum (disable_page_skipping) pages_z;
select sum(pages) <= :before as same from tree_pages;
select count(*), sum(a) from pages_z;
select test.check_tight('pages_z');
drop view tree_pages;
reset zedstore.min_segment_rows;
