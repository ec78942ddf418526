--
-- Rows that share a history: an index scan looks the first of them up, and a bitmap's few rows are
-- looked up by themselves
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
\set ECHO all
create schema scan_runs;
set search_path = scan_runs, public;
create table r_h (id int primary key, k int, t text) using heap with (autovacuum_enabled = off);
create table r_z (like r_h including indexes) using zedstore with (autovacuum_enabled = off);
select test.both('insert into r_@ select i, i / 3, ''text '' || i from generate_series(1, 9000) i');
select test.both('create index on r_@ (k)');
create function buffers(query text) returns int language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (analyze, buffers, format json) ' || query into plan;
	return (plan #>> '{0,Plan,Shared Hit Blocks}')::int +
		(plan #>> '{0,Plan,Shared Read Blocks}')::int;
end $$;
set enable_seqscan = off;
set enable_bitmapscan = off;
-- one look at the TID tree, not one for each row: rows of one transaction, and frozen ones
select buffers('select t from r_z where id between 2000 and 2999') < 300 as one_transaction;
vacuum (freeze, analyze) r_h, r_z;
select buffers('select t from r_z where id between 2000 and 2999') < 300 as frozen;
-- a snapshot goes on seeing what comes to change behind its back, by this transaction ...
begin;
declare c_h cursor for select id, t from r_h where id >= 5001 order by id;
declare c_z cursor for select id, t from r_z where id >= 5001 order by id;
fetch 3 c_h;
fetch 3 c_z;
delete from r_h where id between 5004 and 5008;
delete from r_z where id between 5004 and 5008;
update r_h set t = 'new' where id between 5009 and 5012;
update r_z set t = 'new' where id between 5009 and 5012;
select id, t from r_h where id between 5003 and 5015 order by id;
select id, t from r_z where id between 5003 and 5015 order by id;
select id, t from r_z where id between 5008 and 5012 order by id for update;
fetch 10 c_h;
fetch 10 c_z;
savepoint s;
insert into r_z select i, i / 3, 'of a savepoint' from generate_series(5004, 5008) i;
select id, t from r_z where id between 5003 and 5009 order by id;
rollback to s;
select id, t from r_z where id between 5003 and 5009 order by id;
rollback;
-- ... and by a function that the scan calls
create function remove_next(i int) returns bool language plpgsql volatile as $$
begin
	delete from r_z where id = i + 1;
	return true;
end $$;
begin;
select id from r_z where id between 6001 and 6010 and remove_next(id) order by id;
select id from r_z where id between 6001 and 6010 order by id;
rollback;
-- every other row is another run
select test.both('update r_@ set t = t || '' changed'' where id % 2 = 0');
select test.both('delete from r_@ where id % 7 = 0');
select test.same_order('select * from r_@ where id between 1500 and 4500 order by id');
-- bitmaps: few rows of a block, many, and first few and then many
set enable_indexscan = off;
set enable_bitmapscan = on;
select test.same('select * from r_@ where k = 700');
select test.same('select * from r_@ where k in (1, 70, 90, 700, 701, 1900, 2400, 2999, 4000)');
select test.same('select * from r_@ where k between 700 and 950');
select test.same('select * from r_@ where k % 50 = 7 and k between 1 and 3000');
select test.same('select * from r_@
	where k = any (array(select i * 13 from generate_series(1, 300) i))');
select test.same('select a.id, b.id from r_@ a, r_@ b where a.id < 60 and b.k = a.id * 40');
begin;
select test.both('delete from r_@ where k = 801');
select test.both('update r_@ set t = ''again'' where k in (802, 803)');
select test.both('update r_@ set t = ''again and again'' where k = 803');
select test.same('select * from r_@ where k in (800, 801, 802, 803, 804)');
savepoint s;
select test.both('update r_@ set k = 801 where k = 804');
select test.same('select * from r_@ where k in (800, 801, 802, 803, 804)');
rollback to s;
select test.same('select * from r_@ where k in (800, 801, 802, 803, 804)');
rollback;
select test.same('select * from r_@ where k in (800, 801, 802, 803, 804)');
-- serializable transactions go the same ways
begin isolation level serializable;
select test.same('select * from r_@ where k in (1, 70, 90, 700, 701, 1900, 2400, 2999, 4000)');
set local enable_indexscan = on;
set local enable_bitmapscan = off;
select test.same_order('select * from r_@ where id between 1500 and 1700 order by id');
commit;
