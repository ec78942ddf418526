--
-- UPDATE of wide rows, of which some share large values with their old versions and others do not:
-- the ones become rows of the row tree, the others columns, side by side
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema write_wide;
set search_path = write_wide, public;
set zedstore.min_segment_rows = 1024;

create function words(seed int, n int) returns text language sql immutable as $$
	select left(string_agg(md5((seed * 1000 + i)::text), ''), n)
	from generate_series(1, n / 32 + 1) i
$$;
-- times that the file grows when a statement writes each row once
create function growth(sql text) returns text language plpgsql as $$
declare
	before bigint := zs_bytes();
	times numeric;
begin
	execute sql;
	times := zs_bytes()::numeric / before;
	return case when times <= 2.3 then 'as expected' else round(times, 1) || ' times' end;
end $$;
create function zs_bytes() returns bigint language plpgsql as $$
begin
	return (pg_stat_file(pg_relation_filepath('w_z'))).size;
end $$;

-- the first rows of the table share values, all others do not
create table w_h (id int primary key, n int, t text) using heap;
create table w_z (id int primary key, n int, t text) using zedstore;
select test.both('insert into w_@ select g, 0, words(g, 3200) from generate_series(1, 1800) g');
begin;
select growth('update w_z set n = n + 1');
update w_h set n = n + 1;
commit;
select test.same('select * from w_@');
select test.check('w_z');

-- every third row does
truncate w_h, w_z;
select test.both('insert into w_@
	select g, 0, words(g, case when g % 3 = 0 then 9000 else 3200 end)
	from generate_series(1, 2400) g');
begin;
select growth('update w_z set n = n + 1');
update w_h set n = n + 1;
commit;
select test.same('select * from w_@');
select test.check('w_z');

-- ... with subtransactions that are rolled back, rows that are read meanwhile, and narrow ones
select test.both('insert into w_@
	select g, 0, ''narrow '' || g from generate_series(5001, 5300) g');
begin;
select test.both('update w_@ set n = n + 1 where id % 2 = 0 or id > 5000');
savepoint s;
select test.both('update w_@ set n = n + 10, t = case when id % 7 = 0 then ''short'' else t end
	where id <= 1000 or id > 5150');
select test.same('select * from w_@');
rollback to s;
select test.same('select * from w_@');
do $$
begin
	for i in 0 .. 9 loop
		begin
			update w_h set n = n + 1 where id % 10 = i;
			update w_z set n = n + 1 where id % 10 = i;
			if i % 3 = 0 then
				raise division_by_zero;
			end if;
		exception when division_by_zero then
			null;
		end;
	end loop;
end $$;
select test.same('select * from w_@');
commit;
select test.same('select * from w_@');
create function seen(twin text, i int) returns int language plpgsql as $$
declare
	r int;
begin
	execute format('select count(*) from w_%s where n > 1', twin) into r;
	return r;
end $$;
update w_h set n = n + case when id % 500 = 0 then seen('h', id) * 0 + 1 else 1 end;
update w_z set n = n + case when id % 500 = 0 then seen('z', id) * 0 + 1 else 1 end;
select test.same('select * from w_@');
select test.both('delete from w_@ where id % 4 = 0');
vacuum w_h, w_z;
select test.same('select * from w_@');
select test.check('w_z');
begin;
select test.both('update w_@ set n = n + 1');
rollback;
vacuum w_z;
select test.same('select * from w_@');
select test.check_tight('w_z');
set client_min_messages = warning;
drop schema write_wide cascade;
