--
-- VACUUM moves what lies at the end of a file to free blocks at its front
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
\set horizon :abs_srcdir '/sql/include/horizon.sql'
\i :horizon
create schema vacuum_relocate;
set search_path = vacuum_relocate, public;
create function file_blocks(t regclass) returns bigint language sql as
	$$ select pg_relation_size(t) / 8192 $$;

-- Has the file hardly more blocks than are in use?
create function is_tight(t regclass, slack numeric default 1.1) returns boolean language sql as
	$$ select file_blocks(t) <= (sum(nblocks - nfree) + 1) * slack + 8 from pg_zs_trees(t) $$;

-- Rows come first and lie in front; the columns that are made of them lie behind.
create table rows_h (a int, b text, c numeric, d timestamp) using heap;
create table rows_z (a int, b text, c numeric, d timestamp) using zedstore with (autovacuum_enabled = off);
set zedstore.min_segment_rows = 65536;
select test.both($$ insert into rows_@ select i, md5(i::text), i / 7.0, timestamp '2020-01-01' + i * interval '1 minute'
	from generate_series(1, 30000) i $$);
reset zedstore.min_segment_rows;
create unique index on rows_z (a);
select file_blocks('rows_z') as size_of_rows \gset
set zedstore.enable_relocation = off;
:vacuum rows_z;
select file_blocks('rows_z') > :size_of_rows as stays;
select test.same('table rows_@');
reset zedstore.enable_relocation;
:vacuum (truncate off) rows_z;
select file_blocks('rows_z') > :size_of_rows as stays;
:vacuum rows_z;
select is_tight('rows_z'), file_blocks('rows_z') < :size_of_rows as shorter;
select test.check_tight('rows_z');
select test.same('table rows_@');

-- There is nothing to do for another one; what comes next finds its way.
select file_blocks('rows_z') as size_before \gset
:vacuum rows_z;
select file_blocks('rows_z') = :size_before as same;
set enable_seqscan = off;
select * from rows_z where a = 29999;
select test.both($$ insert into rows_@ values (0, 'zero', 0, null) $$);
select test.both($$ update rows_@ set b = 'one' where a = 1 $$);
select * from rows_z where a in (0, 1) order by a;
reset enable_seqscan;

-- Rounds of updates leave free space in pieces.
do $$
begin
	for round in 1 .. 8 loop
		execute format('update rows_z set c = c + 1 where hashint4(a # %s) %% 5 = 0', round);
		execute format('update rows_h set c = c + 1 where hashint4(a # %s) %% 5 = 0', round);
	end loop;
end $$;
:vacuum rows_z;
select test.both($$ delete from rows_@ where a % 11 = 3 $$);
:vacuum rows_z;
select is_tight('rows_z', 1.25);
select test.check_tight('rows_z');
select test.same('table rows_@');

-- A long segment at the end finds no place until shorter pieces make room for it.
create table pieces_h (a int, b int, c text) using heap;
create table pieces_z (a int, b int, c text) using zedstore with (autovacuum_enabled = off);
select test.both($$ insert into pieces_@ select i, hashint4(i), md5(i::text) from generate_series(1, 100000) i $$);
do $$
begin
	for round in 1 .. 2 loop
		execute format('update pieces_z set b = b + 1 where hashint4(a # %s) %% 5 = 0', round);
		execute format('update pieces_h set b = b + 1 where hashint4(a # %s) %% 5 = 0', round);
	end loop;
end $$;
:vacuum pieces_z;
select is_tight('pieces_z', 1.03);
select test.check_tight('pieces_z');
select test.same('table pieces_@');

-- All that is left is one row at the end: roots and the last pages move.
select test.both($$ delete from rows_@ where a <> 29990 $$);
:vacuum rows_z;
select file_blocks('rows_z') < 64 as short;
select test.same('table rows_@');
select test.both($$ insert into rows_@ select i, 'again', i, null from generate_series(1, 5000) i $$);
select test.same('table rows_@');
select test.check_tight('rows_z');

-- Large values stay where they are, and what lies in front of them.
create table large_z (a int, b text) using zedstore with (autovacuum_enabled = off);
alter table large_z alter b set storage external;
set zedstore.min_segment_rows = 65536;
insert into large_z select i, repeat('x', 1000) from generate_series(1, 4000) i;
insert into large_z select i, repeat('y', 50000) from generate_series(4001, 4005) i;
insert into large_z select i, repeat('x', 1000) from generate_series(4006, 8000) i;
reset zedstore.min_segment_rows;
select file_blocks('large_z') as size_before \gset
delete from large_z where a not in (1, 4003, 8000);
:vacuum large_z;
select file_blocks('large_z') between :size_before / 3 and :size_before * 2 / 3 as half;
select a, length(b) from large_z order by a;
select test.check_tight('large_z');

-- A tree directory of several pages; temporary and unlogged tables
do $$
declare
	columns text := (select string_agg('c' || i || ' int', ', ') from generate_series(1, 150) i);
	vals text := (select string_agg('i + ' || i, ', ') from generate_series(1, 150) i);
begin
	execute format('create table wide_z (%s) using zedstore with (autovacuum_enabled = off)', columns);
	execute format('create temp table temp_z (%s) using zedstore', columns);
	execute format('create unlogged table unlogged_z (%s) using zedstore with (autovacuum_enabled = off)', columns);
	set local zedstore.min_segment_rows = 65536;
	execute format('insert into wide_z select %s from generate_series(1, 8000) i', vals);
	execute format('insert into temp_z select %s from generate_series(1, 8000) i', vals);
	execute format('insert into unlogged_z select %s from generate_series(1, 8000) i', vals);
end $$;
select file_blocks('wide_z') as size_before \gset
:vacuum wide_z, temp_z, unlogged_z;
select file_blocks('wide_z') < :size_before as wide, file_blocks('temp_z') < :size_before as temp,
	file_blocks('unlogged_z') < :size_before as unlogged;
select count(*), sum(c1), sum(c150) from wide_z;
select count(*), sum(c1), sum(c150) from temp_z;
select count(*), sum(c1), sum(c150) from unlogged_z;
insert into wide_z (c1, c150) values (-1, -1);
select c1, c149, c150 from wide_z where c1 < 0;
select test.check_tight('wide_z');
select test.check_tight('temp_z');
select test.check_tight('unlogged_z');
