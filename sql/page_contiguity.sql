--
-- Where the blocks of columns lie after many loads, and what VACUUM leaves of their steps
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/horizon.sql'
\i :include
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema page_contiguity;
set search_path = page_contiguity, public;

-- The narrow column has a page in each load, the wide one some fifty.
create table default_z (narrow int, wide text) using zedstore with (autovacuum_enabled = off);
create table one_z (narrow int, wide text) using zedstore
	with (autovacuum_enabled = off, zedstore_rel_extension_factor = 1);
create table steps_z (narrow int, wide text) using zedstore
	with (autovacuum_enabled = off, zedstore_rel_extension_factor = 1000);
create table middle_z (narrow int, wide text) using zedstore
	with (autovacuum_enabled = off, zedstore_rel_extension_factor = 120);

create procedure load(t regclass, n int) language plpgsql as $$
begin
	for i in 1 .. n loop
		execute format('insert into %s
			select %s + i %% 2, md5((i * %s)::text) from generate_series(1, 9000) i', t, i, i);
		commit;
	end loop;
end $$;
call load('default_z', 24);
call load('one_z', 24);
call load('middle_z', 24);
call load('steps_z', 24);

-- how often the next page of a column is not in the next block
create function jumps(t regclass, narrow out bigint, wide out bigint) language sql as $$
	select count(*) filter (where attno = 1), count(*) filter (where attno = 2)
	from pg_zs_btree_pages(t)
	where level = 0 and attno > 0 and nextblk is not null and nextblk <> 4294967295
		and nextblk <> blkno + 1
$$;
create function blocks(t regclass) returns bigint language sql as
	$$ select pg_relation_size(t) / 8192 $$;
select t, j.*
from unnest(array['one_z', 'default_z', 'middle_z', 'steps_z']) t, jumps(t::regclass) j;

-- the end of a step that is too short for a run takes the first part of it
select attno, sum(length) < 120 as little
from pg_zs_free_pages('middle_z') where attno > 0 group by 1 order by 1;

-- steps that are large for what is in the table do not stay
select blocks('steps_z') > blocks('one_z') * 1.2 as larger;
:vacuum default_z, one_z, middle_z, steps_z;
select t, blocks(t::regclass) <= blocks('default_z') * 1.05 as small
from unnest(array['one_z', 'middle_z', 'steps_z']) t;
select jumps('steps_z');
select count(*), count(distinct wide), sum(narrow) from steps_z;
select count(*), count(distinct wide), sum(narrow) from default_z;
select test.check_tight(t)
from unnest(array['default_z', 'one_z', 'middle_z', 'steps_z']::regclass[]) t;
drop table default_z, one_z, middle_z, steps_z;
drop procedure load;
drop function jumps, blocks;
