--
-- Savepoints, exceptions, aborted loads
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema write_subxact;
set search_path = write_subxact, public;
create table t_h (a int, b text) using heap;
create table t_z (a int, b text) using zedstore;

-- The same script on both twins, statement by statement.
create function script(statements text[]) returns text language plpgsql as $$
declare
	s text;
begin
	foreach s in array statements loop
		perform test.both(s);
	end loop;
	return 'done';
end $$;

-- savepoints by hand
begin;
select test.both('insert into t_@ values (1, ''before'')');
savepoint a;
select test.both('insert into t_@ values (2, ''in a'')');
savepoint b;
select test.both('insert into t_@ select i, ''b'' from generate_series(100, 5000) i');
select test.same('select * from t_@');
rollback to b;
select test.same('select * from t_@');
select test.both('insert into t_@ select i, ''b again'' from generate_series(100, 3000) i');
release b;
select test.both('insert into t_@ values (3, ''after b'')');
select test.same('select * from t_@');
rollback to a;
select test.same('select * from t_@');
select test.both('insert into t_@ values (4, ''after a'')');
commit;
select test.same('select * from t_@');
select count(*) from t_z;

-- without reading in between: everything is still in the buffer
create table buf_z (n int) using zedstore;
begin;
insert into buf_z values (1);
savepoint a;
insert into buf_z select 2 from generate_series(1, 3000);
savepoint b;
insert into buf_z values (3);
release b;
rollback to a;
insert into buf_z values (4);
savepoint c;
insert into buf_z select 5 from generate_series(1, 10000);
savepoint d;
insert into buf_z values (6);
rollback to d;
release c;
insert into buf_z values (7);
commit;
select n, count(*) from buf_z group by n order by n;

-- the first thing a transaction does is rolled back
begin;
savepoint a;
insert into buf_z values (10);
insert into buf_z select 11 from generate_series(1, 70000);
rollback to a;
commit;
begin;
savepoint a;
insert into buf_z values (12);
rollback to a;
insert into buf_z values (13);
commit;
select n, count(*) from buf_z group by n order by n;

-- COPY FREEZE before a savepoint: what it reserved and did not use stays invisible
begin;
create table fr_z (n int) using zedstore;
copy fr_z from stdin (freeze);
1
2
3
\.
savepoint a;
insert into fr_z values (4);
rollback to a;
savepoint b;
rollback to b;
select * from fr_z;
commit;
select * from fr_z;

-- ... and what it wrote stays where a subtransaction's rows go
create table tr_z (n int, t text) using zedstore;
begin;
truncate tr_z;
copy tr_z from stdin (freeze);
1	frozen
2	frozen
\.
savepoint a;
insert into tr_z select i, 'gone' from generate_series(10, 15) i;
rollback to a;
insert into tr_z select i, 'after' from generate_series(3, 4) i;
commit;
select * from tr_z order by n;

-- exceptions in blocks, one subtransaction for each row
create function load_with_errors(twin text) returns void language plpgsql as $$
begin
	for i in 1..300 loop
		begin
			execute format('insert into t_%s values (%s, %L)', twin, 10000 + i, 'block');
			if i % 3 = 0 then
				raise 'no';
			elsif i % 50 = 1 then
				execute format('insert into t_%s select 20000 + %s, ''many'' from generate_series(1, 200)', twin, i);
				perform 1 / (i % 4 - 3);
			end if;
		exception when others then
			execute format('insert into t_%s values (%s, %L)', twin, 30000 + i, 'handler');
		end;
	end loop;
end $$;
select load_with_errors('h'), load_with_errors('z');
select test.same('select * from t_@');
begin;
select load_with_errors('h'), load_with_errors('z');
select test.same('select * from t_@');
rollback;
select test.same('select * from t_@');

-- deep nesting
create function nest(twin text, depth int) returns void language plpgsql as $$
begin
	execute format('insert into t_%s values (%s, ''deep'')', twin, 40000 + depth);
	if depth < 100 then
		begin
			perform nest(twin, depth + 1);
			if depth % 10 = 5 then
				raise 'up';
			end if;
		exception when others then
			execute format('insert into t_%s values (%s, ''caught'')', twin, 41000 + depth);
		end;
	end if;
	execute format('insert into t_%s values (%s, ''back'')', twin, 42000 + depth);
end $$;
select nest('h', 1), nest('z', 1);
select test.same('select * from t_@');
select count(*) from t_z where a >= 40000;

-- deletes and updates of rows of outer and inner levels
begin;
select test.both('insert into t_@ values (50000, ''outer'')');
savepoint a;
select test.both('update t_@ set b = ''changed'' where a = 50000');
select test.both('delete from t_@ where a between 10000 and 10020');
select test.same('select * from t_@');
savepoint b;
select test.both('delete from t_@ where a >= 40000');
rollback to b;
select test.same('select * from t_@');
select test.both('update t_@ set b = ''changed again'' where a = 50000');
rollback to a;
select test.same('select * from t_@');
select test.both('update t_@ set b = b || ''!'' where a = 50000');
commit;
select test.same('select * from t_@');
select * from t_z where a = 50000;

-- an error aborts the load, and the next one works
\set VERBOSITY terse
insert into buf_z select 1 / (1500 - i) from generate_series(1, 3000) i;
begin;
insert into buf_z select 20 from generate_series(1, 2000);
insert into buf_z select 21 / (1 - i) from generate_series(0, 10) i;
rollback;
begin;
insert into buf_z select 22 from generate_series(1, 2000);
savepoint a;
insert into buf_z select 1 / (70000 - i) from generate_series(1, 80000) i;
rollback to a;
insert into buf_z values (23);
commit;
select n, count(*) from buf_z group by n order by n;

-- several tables, one dropped before commit
begin;
create table gone_z (a int) using zedstore;
insert into gone_z select generate_series(1, 3000);
savepoint a;
create table gone2_z (a int) using zedstore;
insert into gone2_z select generate_series(1, 3000);
insert into gone_z values (-1);
rollback to a;
insert into buf_z values (30);
drop table gone_z;
commit;
select count(*) from buf_z where n = 30;

-- the table changes its shape while rows wait
begin;
insert into buf_z select 40 from generate_series(1, 10);
alter table buf_z add column m int default 7;
insert into buf_z select 41, 41 from generate_series(1, 2000);
savepoint a;
alter table buf_z add column o text;
insert into buf_z values (42, 42, 'o');
rollback to a;
insert into buf_z values (43, 43);
alter table buf_z drop column m;
insert into buf_z values (44);
commit;
select n, count(*) from buf_z where n >= 40 group by n order by n;

-- a procedure that commits
create table p_z (a int, b text) using zedstore;
create procedure chunks() language plpgsql as $$
begin
	for i in 1..20 loop
		insert into p_z select -i, 'chunk' from generate_series(1, i * 20);
		if i % 4 = 0 then
			rollback;
		else
			commit;
		end if;
	end loop;
end $$;
call chunks();
select count(*), count(distinct a) from p_z where b = 'chunk';

select test.check(oid) from pg_class
where relnamespace = 'write_subxact'::regnamespace and relkind = 'r' and relname like '%\_z' order by relname;

-- a table that a savepoint's rollback brings back has the rows that were still in the
-- buffer when parallel workers started, before which buffers are written
create table back_z (a int primary key, b text) using zedstore;
begin;
insert into back_z select i, 'row' from generate_series(1, 200) i;
savepoint s;
drop table back_z;
set local max_parallel_workers_per_gather = 2;
set local parallel_setup_cost = 0;
set local parallel_tuple_cost = 0;
set local min_parallel_table_scan_size = 0;
set local zedstore.enable_vector_agg = off;
explain (costs off) select count(*) from p_z;
select count(*) > 0 from p_z;
rollback to s;
select count(*), sum(a), min(b), max(b) from back_z;
commit;
select count(*), sum(a), min(b), max(b) from back_z;
drop table back_z;

-- A leaf of the TID tree splits within a logical block that is on another page of the visibility map
-- than the row that wants room. Each row has a deleter of its own, so that nothing can be settled.
create table map_z (a bool) using zedstore;
insert into map_z select true from generate_series(1, 8380000);
vacuum map_z;
create function delete_one(place tid) returns void language plpgsql as $$
begin
	delete from map_z where ctid = place;
exception when division_by_zero then
	raise;
end $$;
do $$
begin
	for i in 30 .. 225 loop
		perform delete_one(format('(32671,%s)', i)::tid);
	end loop;
	for i in reverse 90 .. 20 loop
		perform delete_one(format('(32672,%s)', i)::tid);
	end loop;
end $$;
select count(*) from map_z;
select test.check('map_z');
drop table map_z;

-- Subtransactions within subtransactions, of which any may be rolled back, and the rows of all that
-- went before are read by key, changed and removed in between: before and after they are written.
create function nest(twin text, depth int, n int, rounds int) returns void language plpgsql as $$
declare
	id int;
begin
	for i in 1 .. rounds loop
		id := n * 10 + i;
		begin
			execute format('insert into nest_%s select %s * 3 + k, %s from generate_series(0, 2) k', twin, id, depth);
			if depth < 5 then
				perform nest(twin, depth + 1, id, rounds - i % 2);
			end if;
			if id % 3 = 0 then
				execute format('update nest_%s set v = v + 10 where i in (%s, %s, %s)', twin, id * 3, n * 3, id * 3 - 2);
			end if;
			if id % 7 = 1 then
				execute format('delete from nest_%s where i = %s', twin, n * 3 + 1);
			end if;
			if (id * 7 + depth) % 9 = 2 then
				raise division_by_zero;
			end if;
		exception when division_by_zero then
			null;
		end;
	end loop;
end $$;
create table nest_h (i int primary key, v int) using heap;
create table nest_z (i int primary key, v int) using zedstore;
set enable_seqscan = off;
begin;
select nest('h', 1, 0, 4), nest('z', 1, 0, 4);
select test.same('select * from nest_@');
select nest('h', 4, 1000000, 9), nest('z', 4, 1000000, 9);
commit;
select test.same('select * from nest_@');
select count(*) > 500 as some, count(*) filter (where v > 10) > 100 as changed from nest_z;
select test.check('nest_z');
reset enable_seqscan;
drop table nest_h, nest_z;
