--
-- What waits for the next batch when the write buffer is full
--
create schema write_held;
set search_path = write_held, public;

-- When the write buffer is full some stripes wait for the next batch if all columns together leave
-- less of their last pages empty then.  What waits must be neither lost nor written twice.
create table h_held using heap as
select i, hashint4(i) & 1 = 1 as a, hashint4(i) & 2 = 2 as b, hashint4(i) & 4 = 4 as c,
	hashint4(i) & 8 = 8 as d, hashint4(i) & 16 = 16 as e, hashint4(i) & 7 as o, md5(i::text) as t
from generate_series(1, 436724) i;

-- A bit a row: 57 stripes fill a page, 64 take two.
set zedstore.write_buffer_size = '8MB';
create table z_held using zedstore with (autovacuum_enabled = off) as
select * from h_held where i <= 200000;
select attname, string_agg(nblocks || ':' || nrows / 1024, ' ' order by first_row)
from pg_zs_segments('z_held') where attname in ('a', 'e') group by attno, attname order by attno;
select count(*) from (select * from h_held where i <= 200000) h full join z_held z using (i)
where h is distinct from z;
select * from zs_check('z_held');

-- A long load that ends leaves no blocks for others like it.
set zedstore.write_buffer_size = '2MB';
drop table z_held;
create table z_held using zedstore with (autovacuum_enabled = off) as select * from h_held;
select count(*) > 20 as many, sum(nfree)
from pg_zs_trees('z_held') join pg_zs_segments('z_held') using (attname)
where attname = 'a';
select count(*) from h_held h full join z_held z using (i)
where h is distinct from z;

-- Rows with numbers, savepoints, and reads in between.
truncate z_held;
alter table z_held add primary key (i);
begin;
insert into z_held select * from h_held where i <= 100000;
savepoint s;
insert into z_held select * from h_held where i between 100001 and 180000;
rollback to s;
insert into z_held select * from h_held where i between 100001 and 190000;
select count(*), sum(o) = (select sum(o) from h_held where i <= 190000) as o from z_held;
insert into z_held select * from h_held where i > 190000;
commit;
select count(*) from h_held h full join z_held z using (i)
where h is distinct from z;
select * from zs_check('z_held');

-- ... and an error on the way.
truncate z_held;
begin;
insert into z_held select * from h_held where i <= 60000;
savepoint s;
insert into z_held select * from h_held where i > 60000 and 1 / (i - 150000) is not null order by i;
rollback to s;
insert into z_held select * from h_held where i > 60000 and i <= 150000;
commit;
select count(*) from (select * from h_held where i <= 150000) h full join z_held z using (i)
where h is distinct from z;
vacuum z_held;
select * from zs_check('z_held');

-- A load whose last rows fill the buffer gives its memory back, so that others in the transaction
-- have as much.
set zedstore.write_buffer_size = '8MB';
begin;
do $$
begin
	for n in 1..4 loop
		execute format('create table z_filled_%s using zedstore as
			select i, 0 as same from generate_series(1, 262144) i', n);
	end loop;
end $$;
select n, count(*), min(nrows), max(nrows)
from generate_series(1, 4) n, pg_zs_segments(('z_filled_' || n)::regclass)
where attname = 'i' group by n order by n;
rollback;

-- ... and so do rows that wait, of tables that are older: that of the others is written.
create table z_first (i int, same int) using zedstore;
create table z_second (like z_first) using zedstore;
create table z_third (like z_first) using zedstore;
begin;
insert into z_first select i, 0 from generate_series(1, 250000) i;
insert into z_second select i, 0 from generate_series(1, 250000) i;
insert into z_third select i, 0 from generate_series(1, 250000) i;
commit;
select t, count(*), sum(nrows), max(nrows)
from unnest(array['z_first', 'z_second', 'z_third']) t, pg_zs_segments(t::regclass)
where attname = 'i' group by t order by t;
select count(*), sum(i) from z_first;

reset zedstore.write_buffer_size;
