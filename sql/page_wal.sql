--
-- Images of pages in the WAL: which of them are compressed
--
create extension if not exists pg_walinspect;
create schema page_wal;
set search_path = page_wal, public;
create table trees_z (a int primary key, b text) using zedstore with (autovacuum_enabled = off);
insert into trees_z select i, md5(i::text) from generate_series(1, 20000) i;
create table rows_z (a int, b text) using zedstore with (autovacuum_enabled = off);
insert into rows_z select i, repeat('row', 10) from generate_series(1, 500) i;

-- Records with images of pages of our tables, and whether these are compressed; those that depend
-- on when the last checkpoint was are left out
create function images(first pg_lsn)
returns table (record text, compressed boolean) language sql as $$
	select record_type, bool_or(info like 'COMPRESS%')
	from pg_get_wal_block_info(first, pg_current_wal_insert_lsn(), false)
		left join unnest(block_fpi_info) info on true
	where block_fpi_length > 0 and resource_manager like 'zedstore%'
		and record_type in ('ATTR_REPLACE', 'BTREE_INNER', 'PAGE_IMAGES', 'WRITE_ROW')
		and relfilenode in (select pg_relation_filenode(c.oid) from pg_class c
			where relnamespace = 'page_wal'::regnamespace)
	group by 1 order by record_type collate "C"
$$;
create procedure writes() language plpgsql as $$
begin
	delete from trees_z where a % 100 = 7;
	insert into rows_z values (0, 'single');
	insert into rows_z select i, 'some' from generate_series(1, 20) i;
end $$;
set zedstore.wal_compression = server;
set wal_compression = off;
checkpoint;
select pg_current_wal_insert_lsn() as first \gset
call writes();
insert into trees_z select i, md5(i::text) from generate_series(30001, 50000) i;
select * from images(:'first');

set wal_compression = pglz;
checkpoint;
select pg_current_wal_insert_lsn() as first \gset
call writes();
insert into trees_z select i, md5(i::text) from generate_series(50001, 70000) i;
select * from images(:'first');

set zedstore.wal_compression = auto;
set wal_compression = off;
checkpoint;
select pg_current_wal_insert_lsn() as first \gset
call writes();
insert into trees_z select i, md5(i::text) from generate_series(70001, 90000) i;
select * from images(:'first');
show wal_compression;

set wal_compression = pglz;
checkpoint;
select pg_current_wal_insert_lsn() as first \gset
call writes();
insert into trees_z select i, md5(i::text) from generate_series(90001, 110000) i;
select * from images(:'first');

-- columns that are not compressed on disk
create table plain_z (a text) using zedstore
	with (autovacuum_enabled = off, zedstore_compression = none);
select pg_current_wal_insert_lsn() as first \gset
insert into plain_z select repeat('x' || i, 20) from generate_series(1, 5000) i;
select * from images(:'first') where record = 'PAGE_IMAGES';
show wal_compression;
reset wal_compression;
select count(*), sum(length(b)) from trees_z;
select * from zs_check('trees_z') where severity <> 'notice';
drop schema page_wal cascade;
