--
-- xmin of a row is the id of the transaction that wrote it, and stays so.  Both twins are written
-- in one transaction each time.
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
\set horizon :abs_srcdir '/sql/include/horizon.sql'
\i :horizon
create schema scan_xmin;
set search_path = scan_xmin, public;

create table x_h (id int, t text) using heap;
create table x_z (id int, t text) using zedstore;
create unique index on x_h (id);
create unique index on x_z (id);

-- by whatever way a row is found
create function ways() returns setof text language plpgsql as $$
begin
	return next 'seq ' || test.same('select id, xmin, t from x_@');
	perform set_config('enable_seqscan', 'off', true);
	perform set_config('enable_bitmapscan', 'off', true);
	return next 'index ' || test.same('select id, xmin from x_@ where id between 1 and 200000');
	perform set_config('enable_bitmapscan', 'on', true);
	perform set_config('enable_indexscan', 'off', true);
	return next 'bitmap ' || test.same('select id, xmin from x_@ where id > 0');
	perform set_config('enable_seqscan', 'on', true);
	perform set_config('enable_indexscan', 'on', true);
	return next 'whole ' || test.same('select id, min(xmin::text::int8), count(*)
		from (select * , xmin from x_@ where id % 7 = 3) s group by id');
end $$;
-- how many transactions, for the eye
create function ids(tab regclass) returns table (writers int8, rows int8, frozen int8)
language plpgsql as $$
begin
	return query execute format('select count(distinct xmin::text), count(*),
		count(*) filter (where xmin::text = ''2'') from %s', tab);
end $$;

-- a bulk load; a load in which savepoints take turns
begin;
insert into x_h select g, 'load' from generate_series(1, 20000) g;
insert into x_z select g, 'load' from generate_series(1, 20000) g;
commit;
begin;
insert into x_h select g, 'top' from generate_series(20001, 23000) g;
insert into x_z select g, 'top' from generate_series(20001, 23000) g;
savepoint a;
insert into x_h select g, 'a' from generate_series(23001, 26000) g;
insert into x_z select g, 'a' from generate_series(23001, 26000) g;
savepoint b;
insert into x_h select g, 'b' from generate_series(26001, 27000) g;
insert into x_z select g, 'b' from generate_series(26001, 27000) g;
rollback to b;
insert into x_h select g, 'c' from generate_series(27001, 27100) g;
insert into x_z select g, 'c' from generate_series(27001, 27100) g;
release a;
insert into x_h select g, 'top' from generate_series(28001, 28100) g;
insert into x_z select g, 'top' from generate_series(28001, 28100) g;
commit;
select * from ids('x_z');
select ways();
:vacuum freeze x_z;
select * from ids('x_z');
select ways();

-- single rows, updates among them; some are rolled back
do $$ begin
	for i in 1 .. 700 loop
		insert into x_h values (100000 + i, 'single');
		insert into x_z values (100000 + i, 'single');
		update x_h set t = 'updated ' || i where id in (i * 20, 100000 + i / 2);
		update x_z set t = 'updated ' || i where id in (i * 20, 100000 + i / 2);
		if i % 10 = 0 then
			rollback;
		else
			commit;
		end if;
	end loop;
end $$;
select ways();
:vacuum x_z;
select ways();
:vacuum freeze x_z;
select * from ids('x_z');
select ways();
select zs_compact('x_z') > 0 as compacted;
select * from ids('x_z');
select ways();

-- deletions, and what compaction makes of them
delete from x_h where id % 3 = 0;
delete from x_z where id % 3 = 0;
:vacuum freeze x_z;
select ways();
select min(first_row), sum(nnulls) as nulls, max(natts) as natts,
	bool_or(encodings like '%const%') as const from pg_zs_segments('x_z') where attname = 'xmin';
select zs_compact('x_z') >= 0 as compacted;
select ways();

-- rewrites keep them, in any order
:vacuum full x_z;
select * from ids('x_z');
select ways();
cluster x_z using x_z_id_idx;
select ways();
set enable_indexscan = off;
cluster x_z;
reset enable_indexscan;
select ways();
select test.check('x_z');
-- rows that are not frozen, and one that is being deleted, in a rewrite
begin;
update x_h set t = 'in the rewrite' where id < 100;
update x_z set t = 'in the rewrite' where id < 100;
select test.same('select id, xmin from x_@');
commit;
:vacuum full x_z;
select ways();
-- ALTER TABLE writes all rows anew
begin;
alter table x_h alter id type int8;
alter table x_z alter id type int8;
select test.same('select id, xmin from x_@');
commit;
:vacuum freeze x_z;
select ways();

-- RETURNING, ON CONFLICT, MERGE, the old row
create table own (x xid);
begin;
insert into own select pg_current_xact_id()::xid;
insert into x_z values (500001, 'r') returning xmin = (select x from own) as own;
insert into x_h values (500001, 'r');
update x_z set t = 'r' where id = 10 returning xmin = (select x from own) as own;
update x_h set t = 'r' where id = 10;
insert into x_z values (11, 'c'), (500002, 'c') on conflict (id) do update set t = 'c'
	returning id, xmin = (select x from own) as own;
insert into x_h values (11, 'c'), (500002, 'c') on conflict (id) do update set t = 'c';
merge into x_z using (values (13), (500003)) v (i) on id = i
	when matched then update set t = 'm' when not matched then insert values (i, 'm');
merge into x_h using (values (13), (500003)) v (i) on id = i
	when matched then update set t = 'm' when not matched then insert values (i, 'm');
commit;
select ways();
:vacuum freeze x_z;
select ways();

-- what triggers see of rows that are frozen
create table seen (twin text, what text, id int8, old xid, new xid);
create function look() returns trigger language plpgsql as $$
begin
	insert into seen values (right(tg_table_name, 1), tg_when || ' ' || tg_op, old.id, old.xmin,
		case when tg_op = 'UPDATE' and tg_when = 'AFTER' then new.xmin end);
	return case when tg_op = 'DELETE' then old else new end;
end $$;
create trigger before_h before update or delete on x_h for each row execute function look();
create trigger before_z before update or delete on x_z for each row execute function look();
create trigger after_h after update or delete on x_h for each row execute function look();
create trigger after_z after update or delete on x_z for each row execute function look();
begin;
update x_h set t = 'trigger' where id in (16, 17, 500003);
update x_z set t = 'trigger' where id in (16, 17, 500003);
delete from x_h where id in (19, 500001);
delete from x_z where id in (19, 500001);
commit;
select what, id, count(*), count(distinct old::text) as old, count(distinct new::text) as new,
	bool_or(old::text = '2') as frozen from seen group by what, id order by what, id;
drop trigger before_z on x_z;
drop trigger after_z on x_z;
drop trigger before_h on x_h;
drop trigger after_h on x_h;
truncate seen;

-- a cursor, WHERE CURRENT OF, EvalPlanQual's way (FOR UPDATE), a TID
:vacuum freeze x_z;
begin;
declare c cursor for select id, xmin from x_z where id = 20 for update;
fetch c \gset c_
\set ECHO none
select :'c_xmin' = (select xmin::text from x_h where id = 20) as same;
\set ECHO all
update x_z set t = 'current' where current of c;
update x_h set t = 'current' where id = 20;
commit;
select ways();
select z.xmin = h.xmin as same from x_z z, x_h h
	where z.ctid = (select ctid from x_z where id = 22) and h.id = 22;
select count(*) from x_z z join x_h h using (id) where z.xmin = h.xmin and z.xmin::text <> '2';
select count(*) from x_h;
-- sorts, and plans that keep rows
select test.same('select id, xmin from x_@ order by t, id limit 50');
select test.same('select distinct on (t) t, xmin from x_@ order by t, id');
select test.same('select (select xmin from x_@ i where i.id = o.id offset 0), id
	from x_@ o where id < 300');

-- optimistic locking: what was read before is no longer there
truncate own;
insert into own select xmin from x_z where id = 25;
update x_z set t = 'first' where id = 25 and xmin = (select x from own);
:vacuum freeze x_z;
update x_z set t = 'second' where id = 25 and xmin = (select x from own);
select t from x_z where id = 25;

-- COPY FREEZE, a materialized view, tables that are made and filled at once
begin;
create table f_h (a int) using heap;
create table f_z (a int) using zedstore;
copy f_h from program 'seq 5000' (freeze);
copy f_z from program 'seq 5000' (freeze);
savepoint s;
insert into f_h values (-1);
insert into f_z values (-1);
release s;
commit;
select test.same('select a, xmin from f_@');
select * from ids('f_z');
:vacuum freeze f_z;
select test.same('select a, xmin from f_@');
begin;
create materialized view m_h using heap as select a from f_h;
create materialized view m_z using zedstore as select a from f_z;
commit;
select test.same('select a, xmin from m_@');
begin;
refresh materialized view m_h;
refresh materialized view m_z;
commit;
select test.same('select a, xmin from m_@');
begin;
truncate f_h, f_z;
insert into f_h select generate_series(1, 10);
insert into f_z select generate_series(1, 10);
commit;
:vacuum freeze f_z;
select test.same('select a, xmin from f_@');

-- rows frozen at once are this transaction's all the same: a foreign key is checked
create table pk_z (a int primary key) using zedstore;
insert into pk_z values (1);
begin;
create table fk_z (a int references pk_z deferrable initially deferred, b int) using zedstore;
copy fk_z (a) from program 'echo 7' (freeze);
update fk_z set b = 1;
commit;

-- no columns, dropped ones, many, large values, unlogged and temporary tables
begin;
create table n_h () using heap;
create table n_z () using zedstore;
insert into n_h select from generate_series(1, 5000);
insert into n_z select from generate_series(1, 5000);
commit;
begin;
insert into n_h default values;
insert into n_z default values;
commit;
:vacuum freeze n_z;
select test.same('select xmin from n_@');
select zs_compact('n_z') >= 0 as compacted;
select test.same('select xmin from n_@');
alter table n_h add column a int default 5;
alter table n_z add column a int default 5;
select test.same('select xmin, a from n_@');
:vacuum full n_z;
select test.same('select xmin, a from n_@');
select test.check('n_z');
select format('create table %s (id int, %s, last text) using %s', 'w_' || left(am, 1),
		string_agg('c' || g || ' int', ', '), am)
	from generate_series(1, 70) g, unnest('{heap,zedstore}'::text[]) am
	group by am order by am \gexec
begin;
insert into w_h (id, c70) select g, g from generate_series(1, 5000) g;
insert into w_z (id, c70) select g, g from generate_series(1, 5000) g;
commit;
alter table w_h drop column c70, drop column c1;
alter table w_z drop column c70, drop column c1;
do $$ begin
	for i in 1 .. 50 loop
		insert into w_h values (10000 + i);
		insert into w_z values (10000 + i);
		update w_h set last = repeat(md5(i::text), 300) where id = i;
		update w_z set last = repeat(md5(i::text), 300) where id = i;
		update w_h set c2 = i where id = i;
		update w_z set c2 = i where id = i;
		commit;
	end loop;
end $$;
select test.same('select id, xmin, c2, md5(last) from w_@');
:vacuum freeze w_z;
select test.same('select id, xmin, c2, md5(last) from w_@');
select zs_compact('w_z') > 0 as compacted;
:vacuum (freeze, disable_page_skipping) w_z;
select test.same('select id, xmin, c2, md5(last) from w_@');
:vacuum full w_z;
select test.same('select id, xmin, c2, md5(last) from w_@');
select test.check('w_z');
begin;
create unlogged table u_h (a int) using heap;
create unlogged table u_z (a int) using zedstore;
create temporary table t_h (a int) using heap;
create temporary table t_z (a int) using zedstore;
insert into u_h select generate_series(1, 5000);
insert into u_z select generate_series(1, 5000);
insert into t_h select generate_series(1, 5000);
insert into t_z select generate_series(1, 5000);
insert into t_h values (0);
insert into t_z values (0);
commit;
:vacuum freeze u_z;
:vacuum freeze t_z;
select test.same('select a, xmin from u_@'), test.same('select a, xmin from t_@');

-- A load's ids take no page of their own.
create table s_z (a int) using zedstore;
insert into s_z select generate_series(1, 300000);
select count(*) > 1 as several, sum(nblocks) as blocks
	from pg_zs_segments('s_z') where attname = 'xmin';
delete from s_z where a % 3 = 0;
:vacuum freeze s_z;
select count(*) > 1 as several, sum(nblocks) as blocks, sum(nnulls) as nulls
	from pg_zs_segments('s_z') where attname = 'xmin';
select * from ids('s_z');
:vacuum s_z;
-- ... nor does VACUUM write them again and again
create table before as select * from pg_zs_segments('s_z');
:vacuum s_z;
select count(*) as changed from (table before except select * from pg_zs_segments('s_z')) s;
select test.check('s_z');

-- Tables of older releases keep none, and say so where it matters.
set zedstore.debug_format_version = 3;
create table o_z (id int primary key, t text) using zedstore;
create table op (id int, t text) partition by range (id);
create table op_1 partition of op for values from (0) to (10) using heap;
create table op_2 partition of op for values from (10) to (20) using zedstore;
reset zedstore.debug_format_version;
create table n2_z (id int primary key) using zedstore;
select version from pg_zs_meta_page('o_z');
insert into o_z select g, 'load' from generate_series(1, 5000) g;
insert into o_z values (5001, 'single');
insert into op values (5, 'heap'), (15, 'zedstore');
:vacuum freeze o_z;
select * from ids('o_z');
select zs_compact('o_z') >= 0 as compacted;
update o_z set t = 'u' where id = 1;
:vacuum freeze o_z;
select test.check('o_z');
select id, xmin from o_z where id in (1, 2, 5001) order by 1;
update o_z set t = 'v' where id = 1 and xmin = '2';
delete from o_z o where exists (select from n2_z n where n.xmin = o.xmin and n.id = o.id);
select count(*) from o_z where xmin in ('2', '3') and id < 10;
select count(*) from o_z a, o_z b where a.id = b.id and a.xmin = b.xmin;
insert into o_z values (1, 'w') on conflict (id) do update set t = 'w' where o_z.xmin = '2';
create view ov as select id, xmin as version, t from o_z;
update ov set t = 'x' where id = 1 and version = '2';
with c as (select id, xmin as version from o_z)
	select count(*) from c where version = '2' and id < 4;
select count(*) from op where xmin = '2';
merge into o_z using (values (1)) v (i) on id = i and xmin = '2'
	when matched then update set t = 'y';
prepare p (int, xid) as update o_z set t = 'z' where id = $1 and xmin = $2;
execute p (1, '2');
-- these say nothing
select id, xmin::text <> '2' as known, t from o_z where id = 1;
select count(*) from n2_z where xmin = '2';
select count(*) from o_z
	where id = 1 and t <> (select min(n.xmin::text) from n2_z n where n.xmin = '2');
-- rewritten, it keeps them from now on
:vacuum full o_z;
select version from pg_zs_meta_page('o_z');
update o_z set t = 'u' where id = 2;
:vacuum freeze o_z;
select id, xmin::text = '2' as frozen from o_z where id in (1, 2, 5001) order by 1;
update o_z set t = 'v' where id = 2 and xmin = '2';
select test.check('o_z');
