--
-- Rows of which an index knows many versions: each look meets all of them
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema write_versions;
set search_path = write_versions, public;
set enable_seqscan = off;
set enable_bitmapscan = off;
set zedstore.enable_vector_scan = off;

create table t_h (k int primary key, n int default 0, c text) using heap;
create table t_z (k int primary key, n int default 0, c text) using zedstore;
select test.both('insert into t_@ (k) select generate_series(1, 5000)');
vacuum analyze t_h, t_z;

-- one row, several in turn, all in one transaction and in one each
select test.again('update t_@ set n = n + 1, c = ''c$1'' where k = 1', 600);
select test.again('update t_@ set n = n + 1 where k between 10 and 20', 60);
select test.again('insert into t_@ values (2, 0, ''new'') on conflict (k)
	do update set n = t_@.n + 1', 300);
select test.again('insert into t_@ values (1, 0, ''new'') on conflict (k) do nothing', 20);
select test.again('merge into t_@ using (values (3)) v(k) on v.k = t_@.k
	when matched then update set n = n + $1', 100);
select test.again('delete from t_@ where k = 4', 1),
	test.again('insert into t_@ values (4, $1)', 1);
select test.both('insert into t_@ values (4, 5)');
do $$
begin
	for i in 1 .. 30 loop
		update t_h set n = n + 1 where k = 5;
		update t_z set n = n + 1 where k = 5;
		commit;
	end loop;
end $$;
select test.same('select * from t_@'), test.same('select * from t_@ where k < 30 order by k');
select k, n, c from t_z where k <= 5 order by k;

-- a key that moves away and comes back
select test.again('update t_@ set k = case when k = 6 then 100006 else 6 end
	where k in (6, 100006)', 101);
select test.same('select * from t_@ where k in (6, 100006)');

-- what a cursor sees stays as it was
begin;
update t_h set n = 1000 where k = 1;
update t_z set n = 1000 where k = 1;
declare h cursor for select k, n, c from t_h where k between 1 and 3 order by k;
declare z cursor for select k, n, c from t_z where k between 1 and 3 order by k;
select test.again('update t_@ set n = n + 1 where k between 1 and 3', 100);
select k, n from t_z where k between 1 and 3 order by k;
fetch all h;
fetch all z;
rollback;

-- ... and what a query sees, whose function changes its rows
create function bump_h(int) returns int language sql as
	'update t_h set n = n + 1 where k = $1 returning n';
create function bump_z(int) returns int language sql as
	'update t_z set n = n + 1 where k = $1 returning n';
select test.same('select k, n, bump_@(1), (select n from t_@ x where x.k = 1)
	from t_@ where k between 1 and 60 order by k');
select test.same('select * from t_@ where k = 1');

-- a subtransaction that is rolled back takes its versions, and what it has deleted is there again
begin;
select test.again('update t_@ set n = n + 1 where k = 30', 50);
savepoint s;
select test.again('update t_@ set n = n + 1 where k = 30', 50);
select test.again('insert into t_@ values (30, 5) on conflict (k)
	do update set n = excluded.n + $1', 50);
delete from t_h where k = 31;
delete from t_z where k = 31;
select test.again('insert into t_@ values (31, $1) on conflict (k)
	do update set n = t_@.n + 1', 50);
select test.same('select * from t_@ where k between 25 and 35');
rollback to s;
select test.same('select * from t_@ where k between 25 and 35');
select test.both('insert into t_@ values (30, 5)'), test.both('insert into t_@ values (31, 5)');
select test.again('insert into t_@ values (31, 5) on conflict (k) do update set n = t_@.n + 1', 20);
savepoint s;
delete from t_h where k = 30;
delete from t_z where k = 30;
select test.both('insert into t_@ values (30, 6)');
rollback to s;
select test.both('insert into t_@ values (30, 6)');
select test.same('select * from t_@ where k between 25 and 35');
commit;

-- versions of many subtransactions, every third of which is rolled back
do $$
begin
	for i in 1 .. 150 loop
		begin
			update t_h set n = i where k = 40;
			update t_z set n = i where k = 40;
			insert into t_h values (41, i) on conflict (k) do update set n = t_h.n + 1;
			insert into t_z values (41, i) on conflict (k) do update set n = t_z.n + 1;
			if i % 3 = 0 then
				raise division_by_zero;
			end if;
		exception when division_by_zero then
			null;
		end;
	end loop;
end $$;
select test.same('select * from t_@ where k between 40 and 41');

-- row numbers that a subtransaction has reserved and not used are handed out again
begin;
savepoint s;
select test.both('insert into t_@ select generate_series(200001, 200100)');
rollback to s;
select test.again('insert into t_@ values (200000 + $1)', 100);
select test.again('insert into t_@ values (200000 + $1) on conflict (k) do nothing', 100);
select test.both('insert into t_@ values (200050)');
select test.same('select * from t_@ where k > 200000');
commit;

-- a table that is emptied in place
begin;
create table e_h (k int primary key, n int) using heap;
create table e_z (k int primary key, n int) using zedstore;
select test.again('insert into e_@ values (1, 1) on conflict (k) do update set n = $1', 60);
select test.again('update e_@ set n = $1 where k = 1', 60);
truncate e_h, e_z;
select test.again('insert into e_@ values ($1, 2)', 60);
select test.both('insert into e_@ values (1, 1)');
select test.same('select * from e_@ where k < 10');
commit;

-- rows that were deleted one behind the other, and in both directions
select test.both('delete from t_@ where k between 1000 and 4000 and k % 100 <> 0');
select test.same_order('select * from t_@ where k between 900 and 4100 order by k');
select test.same_order('select k from t_@ where k between 900 and 4100 order by k desc');
select test.same_order('select k from t_@ where k between 900 and 4100 order by k limit 150');
select test.both('insert into t_@ select generate_series(1000, 4000) on conflict do nothing');
select test.same_order('select * from t_@ where k between 900 and 4100 order by k');

-- serializable transactions look at each row
begin isolation level serializable;
select test.again('update t_@ set n = n + 1 where k = 50', 60);
select test.same('select * from t_@ where k = 50');
commit;
begin isolation level repeatable read;
select test.again('update t_@ set n = n + 1 where k = 51', 60);
select test.same('select * from t_@ where k = 51');
commit;

-- deferred uniqueness and exclusion constraints
create table d_h (k int, n int, unique (k) deferrable initially deferred,
	exclude using btree (n with =)) using heap;
create table d_z (k int, n int, unique (k) deferrable initially deferred,
	exclude using btree (n with =)) using zedstore;
select test.both('insert into d_@ select i, i from generate_series(1, 20) i');
begin;
select test.both('update d_@ set k = k + 1, n = -n where k between 5 and 20');
select test.again('update d_@ set n = n where n = 15', 60);
select test.both('insert into d_@ values (100, 15)');
select test.both('insert into d_@ values (100, 16) on conflict do nothing');
select test.same('select * from d_@');
rollback;
select test.again('update d_@ set n = n where n = 15', 60);
select test.both('insert into d_@ values (100, 15)');
select test.same('select * from d_@');

select test.check('t_z'), test.check('d_z'), test.check('e_z');
vacuum t_h, t_z;
select test.same('select * from t_@');
select test.check('t_z');
