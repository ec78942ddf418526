--
-- UPDATE of single rows by key: what is remembered of a row between the index scan that finds it and
-- the update must not show.  Heap is the oracle, with zedstore.enable_fetch_cache on and off.
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema write_update;
set search_path = write_update, public;

-- NAME_h and NAME_z: 4000 rows in segments, 500 in the row tree, a dropped column and one that came later
create procedure load(name text) language plpgsql as $$
declare
	twin text;
begin
	foreach twin in array array['h', 'z'] loop
		execute format('create table %1$s_%2$s (id int primary key, gone text, a int, b numeric, c text, k int unique) using %3$s',
			name, twin, case twin when 'h' then 'heap' else 'zedstore' end);
		execute format('insert into %s_%s select i, ''gone'', i %% 100, i / 7.0, case when i %% 9 > 0 then ''c'' || i %% 50 end, i
			from generate_series(1, 4000) i', name, twin);
		execute format('alter table %s_%s drop gone', name, twin);
		for i in 4001 .. 4500 loop
			execute format('insert into %s_%s values ($1, $1, null, ''single'', -$1)', name, twin) using i;
		end loop;
		execute format('alter table %s_%s add late int default 5, add later text', name, twin);
		execute format('create table %1$s_ref_%2$s (id int references %1$s_%2$s)', name, twin);
		execute format('insert into %s_ref_%s values (10), (4010)', name, twin);
	end loop;
end $$;

create function change_row() returns trigger language plpgsql as $$
begin
	if new.a % 10 = 3 then
		new.c = old.c || ' by trigger';
		new.late = (old.late + old.id) % 1000;
	end if;
	if new.a = -1 then
		return null;
	end if;
	return new;
end $$;

-- tries a change, gives it up, and does another one
create function give_up(target text, key int) returns text language plpgsql as $$
begin
	begin
		execute format('update %s set a = a + 1000, k = k + 100000 where id = %s', target, key);
		execute format('update %s set k = 1 - k where id = %s or id = %s', target, key, key + 1);
		raise division_by_zero;
	exception when division_by_zero then
		execute format('update %s set b = b + 1 where id = %s', target, key);
	end;
	return 'done';
end $$;

create function updates(name text) returns setof text language plpgsql as $$
declare
	n text;
begin
	-- one row at a time, some of them often; the last column that is asked for may be any
	for i in 1 .. 400 loop
		n := test.both(format('update %s_@ set a = a + 1 where id = %s', name, (i * 37) % 4500 + 1));
		n := n || test.both(format('update %s_@ set late = late + 1, b = b * 2 where k = %s', name, i % 5 + 1));
		if n <> 'ok 1ok 1' then
			return next i || ': ' || n;
		end if;
	end loop;
	return next test.both(format('update %s_@ set c = null where id = 17', name));
	return next test.both(format('update %s_@ set later = c, c = later where id = 18', name));
	return next test.both(format('update %s_@ set later = repeat(''x'', 5000) where id = 19', name));
	return next test.both(format('update %s_@ set later = later || ''y'' where id = 19', name));

	-- keys, some of them referred to
	return next test.both(format('update %s_@ set id = 9000 where id = 20', name));
	return next test.both(format('update %s_@ set id = 10 where id = 10', name));
	return next test.both(format('update %s_@ set id = 9001 where id = 10', name));
	return next test.both(format('update %s_@ set id = 9001 where id = 4010', name));
	return next test.both(format('update %s_@ set k = 2 where id = 21', name));
	return next test.both(format('update %s_@ set k = k where id = 21', name));
	return next test.both(format('delete from %s_@ where id = 4010', name));
	return next test.both(format('delete from %s_@ where id = 22', name));
	return next test.both(format('insert into %s_@ (id, a, k) values (22, 1, 22)', name));
	return next test.both(format('update %s_@ set a = 2 where id = 22', name));

	-- other rows are looked at in between
	return next test.both(format('update %1$s_@ x set a = y.a, c = y.c from %1$s_@ y where x.id = y.id + 1 and y.id between 30 and 40', name));
	return next test.both(format('update %1$s_@ set b = (select count(*) from %1$s_@ y where y.id between 4100 and 4100 + %1$s_@.id) where id in (50, 4050, 51)', name));
	return next test.both(format('update %1$s_@ set a = (select a from %1$s_@ y where y.k = -%1$s_@.id) where id between 4060 and 4065', name));
	return next test.both(format('insert into %1$s_@ (id, a, k) values (60, 1, 1), (9060, 1, 9060), (4070, 1, 1) on conflict (id) do update set a = %1$s_@.a + 1, later = %1$s_@.c', name));
	return next test.both(format('insert into %1$s_@ (id, a, k) values (61, 1, 2) on conflict (k) do update set a = %1$s_@.a + excluded.id, id = 9061', name));
	return next test.both(format('merge into %1$s_@ t using (values (70, 1), (4071, 2), (9070, 3)) v (i, w) on t.id = v.i
		when matched then update set a = t.a + v.w when not matched then insert (id, a, k) values (v.i, v.w, v.i)', name));
	return next test.both(format('select give_up(''%s_@'', g) from generate_series(80, 90) g', name));
	return next test.both(format('select give_up(''%s_@'', g) from generate_series(4080, 4090) g', name));

	return next test.both(format('create trigger change before update on %s_@ for each row execute function change_row()', name));
	return next test.both(format('update %s_@ set a = a where id between 100 and 140', name));
	return next test.both(format('update %s_@ set a = 13 where id = 4100', name));
	return next test.both(format('update %s_@ set a = -1 where id = 4101', name));
	return next test.both(format('drop trigger change on %s_@', name));
	return next test.same(format('select * from %s_@', name));
end $$;

call load('on');
call load('off');
create temp table outcomes as select 'on' as setting, r from updates('on') r;
set zedstore.enable_fetch_cache = off;
insert into outcomes select 'off', r from updates('off') r;
reset zedstore.enable_fetch_cache;
select r from outcomes where setting = 'on';
select setting, r from outcomes where r like '%DIFF%' or r like '%: %rows%';
select count(*) as differences from (select * from on_z except all select * from off_z);

-- the same rows once more, after they have become columns
vacuum on_z, on_h, off_z, off_h;
select zs_compact('on_z') is not null, zs_compact('off_z') is not null;
truncate outcomes;
insert into outcomes select 'on', r from updates('on') r;
set zedstore.enable_fetch_cache = off;
insert into outcomes select 'off', r from updates('off') r;
reset zedstore.enable_fetch_cache;
select r from outcomes where setting = 'on';
select setting, r from outcomes where r like '%DIFF%' or r like '%: %rows%';
select count(*) as differences from (select * from on_z except all select * from off_z);
select test.check('on_z');
select test.check('off_z');

-- indexes stay small under updates, since their entries of dead versions are found; they lead to all rows
create table small_h (id int primary key, n int) using heap with (fillfactor = 50);
create table small_z (id int primary key, n int) using zedstore;
insert into small_h select i, 0 from generate_series(1, 300) i;
insert into small_z select i, 0 from generate_series(1, 300) i;
create procedure rounds(many int) language plpgsql as $$
begin
	for i in 1 .. many loop
		update small_h set n = n + 1 where id = i * 7 % 300 + 1;
		update small_z set n = n + 1 where id = i * 7 % 300 + 1;
		commit;
	end loop;
end $$;
call rounds(6000);
select pg_relation_size('small_z_pkey') <= 4 * pg_relation_size('small_h_pkey') as is_small;
set enable_seqscan = off;
select test.same_order('select id, n from small_@ order by id');
select test.same('select id, n from small_@ where id = 77');
reset enable_seqscan;
select test.same('select * from small_@');
select test.check('small_z');

-- rows that one command updates here and there share a slot: each has its own successor all the same
CREATE TABLE write_update_chain (id int, v int) USING zedstore;
INSERT INTO write_update_chain SELECT i, 0 FROM generate_series(1, 6000) i;
CREATE FUNCTION write_update_row(tid) RETURNS int8 LANGUAGE sql
RETURN ($1::text::point)[0]::int8 * 256 + ($1::text::point)[1]::int8 - 1;
CREATE VIEW write_update_successors AS
SELECT first_row + i AS row, successor + i AS successor, slotno
FROM pg_zs_tid_items('write_update_chain'), generate_series(0, nrows - 1) i WHERE successor IS NOT NULL;
-- old and new row numbers of those that were updated in between
CREATE TEMP TABLE write_update_old AS SELECT id, write_update_row(ctid) AS row FROM write_update_chain;
CREATE TEMP VIEW write_update_wrong AS
SELECT o.id, s.successor, write_update_row(n.ctid) AS new
FROM write_update_old o JOIN write_update_chain n USING (id) LEFT JOIN write_update_successors s USING (row)
WHERE write_update_row(n.ctid) <> o.row AND s.successor IS DISTINCT FROM write_update_row(n.ctid);
-- in one transaction, so that no old version goes
BEGIN;
UPDATE write_update_chain SET v = 1 WHERE id % 3 = 0;
SELECT count(*) AS updated, count(DISTINCT slotno) < 5 AS shared FROM write_update_successors;
SELECT * FROM write_update_wrong;
-- one that aborted, then some of its rows: the first, the last, and others, one by one
SAVEPOINT s;
UPDATE write_update_chain SET v = 2 WHERE id % 3 = 1;
ROLLBACK TO s;
UPDATE write_update_chain SET v = 3 WHERE id = 1;
UPDATE write_update_chain SET v = 3 WHERE id = 5998;
DO $$
BEGIN
	FOR i IN 1 .. 60 LOOP
		UPDATE write_update_chain SET v = 3 WHERE id = i * 37 % 60 * 99 + 4;
	END LOOP;
END $$;
SELECT count(*) FROM write_update_chain WHERE v = 3;
SELECT * FROM write_update_wrong;
-- all that are left, and rows that are locked only
SELECT count(*) FROM (SELECT FROM write_update_chain WHERE id % 7 = 1 FOR UPDATE) x;
UPDATE write_update_chain SET v = 4 WHERE id % 3 = 1 AND v = 0;
SELECT * FROM write_update_wrong;
COMMIT;
SELECT v, count(*) FROM write_update_chain GROUP BY 1 ORDER BY 1;
SELECT * FROM zs_check('write_update_chain');
VACUUM write_update_chain;
SELECT v, count(*) FROM write_update_chain GROUP BY 1 ORDER BY 1;
DROP VIEW write_update_wrong, write_update_successors;
DROP FUNCTION write_update_row;
