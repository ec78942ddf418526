--
-- Slots whose scan has ended, or whose source serves another slot: they have what was asked for,
-- and read what is asked for later. Heap is the oracle.
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema scan_left;
set search_path = scan_left, public;
set client_min_messages = warning;

-- 20 columns of text, some values large, rows in columns and in the row tree
create function columns() returns text language sql as $$
	select string_agg(format('c%s text', i), ', ') from generate_series(1, 20) i
$$;
create procedure create_tables() language plpgsql as $$
declare
	twin text;
	vals text := (select string_agg(format('md5((g * %s)::text) || repeat(''x'', g %% 7 * %s)',
		i, i), ', ') from generate_series(1, 20) i);
begin
	foreach twin in array array['h', 'z'] loop
		execute format('drop table if exists w_%s cascade', twin);
		execute format('create table w_%1$s (id int, p int, r int4range, %3$s) using %2$s',
			twin, case twin when 'h' then 'heap' else 'zedstore' end, columns());
		execute format('insert into w_%s select g, g, int4range(g, g + 1), %s
			from generate_series(1, 5000) g', twin, vals);
		for i in 5001 .. 5060 loop
			execute format('insert into w_%s select g, g, int4range(g, g + 1), %s
				from generate_series($1, $1) g', twin, vals) using i;
		end loop;
	end loop;
end $$;
call create_tables();


-- What looks at two columns looks at about as many blocks as if there were no others: how often as
-- many a statement takes on the table of 23 columns.
create table few_z (id int, p int, r int4range) using zedstore;
insert into few_z select id, p, r from w_z where id <= 5000;
insert into few_z select id, p, r from w_z where id > 5000;
create function times_as_many(sql text) returns numeric language plpgsql as $$
declare
	twin text;
	before bigint;
	blocks bigint[];
begin
	foreach twin in array array['few_z', 'w_z'] loop
		before := pg_stat_get_xact_blocks_fetched(twin::regclass);
		execute replace(sql, '@', twin);
		blocks := blocks || pg_stat_get_xact_blocks_fetched(twin::regclass) - before;
	end loop;
	return blocks[2]::numeric / blocks[1];
end $$;
set enable_seqscan = off;
select times_as_many('alter table @ add exclude using gist (r with &&)') < 3 as few;
select times_as_many('insert into @ (id, r) select id, r from @ where id between 100 and 200
	on conflict do nothing') < 3 as few;
create function insert_conflicts(tab text) returns void language plpgsql as $$
begin
	for i in 100 .. 150 loop
		begin
			execute format('insert into %s (id, r)
				values (%s, int4range(%s, %s))', tab, i, i, i + 1);
		exception when exclusion_violation then
			null;
		end;
	end loop;
end $$;
select times_as_many('select insert_conflicts(''@'')') < 3 as few;
-- so do references to a table of many columns
alter table few_z add primary key (id);
alter table w_z add primary key (id);
create table to_few_z (id int references few_z) using zedstore;
create table to_w_z (id int references w_z) using zedstore;
select times_as_many('insert into to_@ select generate_series(1000, 1100)') < 3 as few;
drop table to_few_z, to_w_z;
reset enable_seqscan;

-- The same outcome as heap, whatever is asked for after the scan has ended.
call create_tables();
select test.both('alter table w_@ add constraint r_@ exclude using gist (r with &&)');
select test.both('alter table w_@ add constraint c_@ exclude using btree (c7 with =)
	where (c1 > ''0'')');
select test.both('alter table w_@ add constraint late_@ unique (p) deferrable initially deferred');
select test.both('insert into w_@ (id, p, r, c7) values (1, -1, ''[100,103)'', ''a'')');
select test.both('insert into w_@ (id, p, r, c7) values (1, -1, ''[5050,5051)'', ''a'')');
select test.both('insert into w_@ (id, p, r, c7, c1)
	select id, -1, int4range(7000, 7001), c7, c1 from w_@ where id = 70');
select test.both('insert into w_@ (id, p, r) select id, -1, r from w_@
	where id in (7, 5007, 8000) on conflict do nothing');
select test.both('insert into w_@ (id, p, r) select id, -1, r from w_@
	where id in (7, 5007, 8000) on conflict on constraint r_@ do nothing');
select test.both('update w_@ set r = int4range(id, id + 2) where id in (10, 5010)');
select test.both('update w_@ set r = int4range(lower(r) + 10000, upper(r) + 10000), c20 = c19
	where id % 100 = 3');
-- checked later: passes, and fails
begin;
select test.both('update w_@ set p = p + 1 where id < 300 or id > 5000');
select test.both('set constraints late_@ immediate');
select test.both('update w_@ set p = p - 1 where id = 300');
rollback;
begin;
select test.both('update w_@ set p = p + 1');
select test.both('set constraints late_@ immediate');
commit;
select test.same('select * from w_@');

-- Triggers that see OLD and NEW, and slots of several tables in turn.
create table log_h (op text, o text, n text, k int);
create table log_z (op text, o text, n text, k int) using zedstore;
create function note() returns trigger language plpgsql as $$
begin
	execute format('insert into %s values ($1, $2, $3, $4)', replace(tg_relname, 'w_', 'log_'))
		using tg_op, md5(old::text), case when tg_op = 'UPDATE' then new.c20 || length(new.c6) end,
			old.id;
	return case when tg_op = 'UPDATE' then new else old end;
end $$;
create trigger b before update or delete on w_h for each row execute function note();
create trigger b before update or delete on w_z for each row execute function note();
create trigger a after update or delete on w_h for each row execute function note();
create trigger a after update or delete on w_z for each row execute function note();
select test.both('update w_@ set c20 = ''n'' || c12 where id between 4995 and 5005');
select test.both('delete from w_@ where id in (20, 5020)');
select test.both('update w_@ a set c2 = b.c3 from w_@ b
	where b.id = a.id + 1 and a.id in (30, 40, 5030)');
select test.both('merge into w_@ a using w_@ b on b.p = a.p - 5 and a.id < 100
	when matched and b.id % 7 = 1 then delete when matched and b.id % 5 = 0 then update
		set c5 = b.c6');
select test.same('select * from w_@');
select test.same('select * from log_@');
-- rows are fetched again in the course of a statement, by cursors and by row locks
create function by_cursor(tab text) returns text language plpgsql as $$
declare
	c refcursor;
	r record;
	s text := '';
begin
	open c for execute format('select * from %s
		where id between 50 and 60 or id between 5050 and 5055 order by id for update', tab);
	loop
		fetch c into r;
		exit when not found;
		if r.id % 2 = 0 then
			execute format('update %s set c9 = $1 where id = $2', tab) using r.c8, r.id;
		end if;
		s := s || md5(r::text);
	end loop;
	return md5(s);
end $$;
select by_cursor('w_h') = by_cursor('w_z') as same;
select test.same('select * from w_@');
-- emptied under a slot that has a row
begin;
savepoint a;
select test.both('insert into w_@ (id, c1) values (-1, ''x'') returning c1');
select test.both('truncate w_@');
select test.same('select * from w_@');
rollback to a;
select test.same('select * from w_@');
commit;
select test.check('w_z');
drop schema scan_left cascade;
