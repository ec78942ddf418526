--
-- ALTER TABLE and friends
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema am_alter;
set search_path = am_alter, public;
create table t_h (a int, b text, c numeric) using heap;
create table t_z (a int, b text, c numeric) using zedstore;
create function fill(columns text, n int) returns text language sql as $$
	select test.both(format('insert into t_@ select %s from generate_series(1, %s) i', columns, n))
$$;
create function file_of(rel regclass) returns oid language sql as 'select pg_relation_filenode(rel)';

-- ADD COLUMN, with and without default, without a rewrite
select fill('i, ''b'' || i, i / 3.0', 7000);
select file_of('t_z') as before \gset
select test.both('alter table t_@ add column d int');
select test.both('alter table t_@ add column e text default ''fast default''');
select test.same('select * from t_@');
select fill('i, null, null, i, null', 20);
select fill('i, ''x'', 1, i, ''e'' || i', 6000);
select test.both('alter table t_@ add column f timestamptz not null default ''2020-02-02 UTC''');
select test.both('alter table t_@ add column g int[] default array[1, 2, 3]');
select test.both('insert into t_@ default values');
select test.same('select * from t_@');
select test.same('select d, e, g from t_@ where a between 100 and 120 or e <> ''fast default''');
select file_of('t_z') = :before as same_file;
select test.both('alter table t_@ alter column e set default ''another'', alter column f drop not null');
select test.both('insert into t_@ (a) values (-1)');
select test.both('update t_@ set d = 5 where a < 50');
select test.same('select * from t_@');
-- with a volatile default: a rewrite
select test.both('alter table t_@ add column h int default (random() * 0)::int');
select file_of('t_z') = :before as same_file;
select test.same('select * from t_@');

-- DROP COLUMN, and another of the same name
select test.both('alter table t_@ drop column b');
select test.both('alter table t_@ drop column g, add column b int default 7');
select test.same('select * from t_@');
select test.both('insert into t_@ (a, b) select i, i from generate_series(1, 5000) i');
select test.same('select * from t_@');
select test.same('select count(*), sum(b) from t_@');

-- ALTER TYPE: with a rewrite, and without
select test.both('alter table t_@ alter column a type bigint');
select test.both('alter table t_@ alter column c type text using ''c='' || c');
select test.both('alter table t_@ alter column e type varchar(100)');
select test.both('alter table t_@ alter column b type numeric(10, 2)');
select test.same('select * from t_@');
select test.both('alter table t_@ rename column e to ee');
select test.both('alter table t_@ alter column ee set not null');
select test.both('update t_@ set ee = '''' where ee is null');
select test.both('alter table t_@ alter column ee set not null');
select test.both('alter table t_@ add constraint t_@_check check (b > 5) not valid');
select test.both('alter table t_@ validate constraint t_@_check');
select test.both('alter table t_@ add column gen bigint generated always as (a * 2) stored');
select test.both('alter table t_@ alter column ee set compression lz4, alter column ee set storage external');
select test.same('select * from t_@');
alter table t_z rename to renamed_z;
select count(*) from renamed_z;
alter table renamed_z rename to t_z;
alter table t_z alter column ee set statistics 10;

-- SET ACCESS METHOD, there and back
select test.both('create index t_@_a on t_@ (a)');
alter table t_z set access method heap;
select amname from pg_class c join pg_am a on a.oid = relam where c.oid = 't_z'::regclass;
select test.same('select * from t_@');
alter table t_z set access method zedstore;
select amname from pg_class c join pg_am a on a.oid = relam where c.oid = 't_z'::regclass;
select test.same('select * from t_@');
set enable_seqscan = off;
select test.same('select * from t_@ where a between 10 and 20');
reset enable_seqscan;
select test.check_tight('t_z');

-- values that heap keeps in a TOAST table
create table big_z (a int, b text) using zedstore;
insert into big_z select i, (select string_agg(md5((i * j)::text), '') from generate_series(1, 2000) j) from generate_series(1, 10) i;
create table big_md5 as select a, md5(b) as m from big_z;
alter table big_z set access method heap;
select reltoastrelid <> 0 as has_toast from pg_class where oid = 'big_z'::regclass;
insert into big_z select a + 10, b || a from big_z;
select count(*), bool_and(md5(b) = m) filter (where m is not null) from big_z left join big_md5 using (a);
alter table big_z disable trigger all;
alter table big_z set access method zedstore;
select reltoastrelid <> 0 as has_toast from pg_class where oid = 'big_z'::regclass;
select count(*), bool_and(md5(b) = m) filter (where m is not null) from big_z left join big_md5 using (a);
begin;
alter table big_z set access method heap;
rollback;
select reltoastrelid <> 0 as has_toast, amname from pg_class c join pg_am a on a.oid = relam where c.oid = 'big_z'::regclass;
select test.check('big_z');
drop table big_z, big_md5;

-- rows in the write buffer when a column is added
create table young_h (a int, b text) using heap;
create table young_z (a int, b text) using zedstore;
begin;
insert into young_h select i, 'b' || i from generate_series(1, 6000) i;
insert into young_z select i, 'b' || i from generate_series(1, 6000) i;
alter table young_h add column c money, add column d int default 5, drop column b;
alter table young_z add column c money, add column d int default 5, drop column b;
insert into young_h select i, '1', i from generate_series(1, 6000) i;
insert into young_z select i, '1', i from generate_series(1, 6000) i;
commit;
select test.same('select * from young_@');
select test.check_tight('young_z');
drop table young_h, young_z;

-- virtual generated columns get another type without a rewrite; PostgreSQL 17 has stored ones only
create table virt_h (a int) using heap;
create table virt_z (a int) using zedstore;
select test.both('alter table virt_@ add column v int generated always as (a + 1) '
	|| case when current_setting('server_version_num')::int < 180000 then 'stored' else 'virtual' end);
select test.both('insert into virt_@ select i from generate_series(1, 5000) i');
vacuum virt_z;
select test.both('alter table virt_@ alter column v type bigint');
select test.both('insert into virt_@ select i from generate_series(5001, 9000) i');
select test.both('alter table virt_@ alter column v type text');
select test.both('update virt_@ set a = -a where a % 10 = 0');
select test.both('delete from virt_@ where a % 3 = 0');
analyze virt_z;
select test.same('select * from virt_@');
select test.same('select virt_@ from virt_@');
vacuum virt_z;
select test.same('select * from virt_@');
select test.check_tight('virt_z');
vacuum full virt_z;
select test.same('select * from virt_@');
select test.check_tight('virt_z');
drop table virt_h, virt_z;
-- ... also one that a rewrite for another column has added
create table virt_z (a int) using zedstore;
insert into virt_z select i from generate_series(1, 3000) i;
select 'alter table virt_z add column b int default (random() * 0)::int,
	add column v int generated always as (a + 1) '
	|| case when current_setting('server_version_num')::int < 180000 then 'stored' else 'virtual' end
	|| ', add column c int default (random() * 0)::int + 7' as command \gset
:command;
alter table virt_z alter column v type text;
update virt_z set a = a + 1 where a > 2990;
select count(*), sum(a), max(v::int), sum(b), sum(c) from virt_z;
select test.check_tight('virt_z');
drop table virt_z;

-- VACUUM FULL and CLUSTER
select test.both('delete from t_@ where a % 2 = 0');
vacuum full t_z;
select test.same('select * from t_@');
select test.check_tight('t_z');
cluster t_z using t_z_a;
select test.same('select * from t_@');
select bool_and(a >= before) from (select a, lag(a, 1, a) over () as before from t_z) x;
create index t_z_b on t_z (b desc, a);
set enable_seqscan = off;
cluster t_z using t_z_b;
reset enable_seqscan;
select test.same('select * from t_@');
cluster t_z;
select test.check_tight('t_z');
begin;
insert into t_z (a, ee) values (99999, 'in transaction');
insert into t_h (a, ee) values (99999, 'in transaction');
cluster t_z using t_z_a;
insert into t_z (a, ee) values (99998, 'after cluster');
insert into t_h (a, ee) values (99998, 'after cluster');
commit;
select test.same('select * from t_@');

-- TRUNCATE, and back again
create table tr_z (a int) using zedstore;
create index on tr_z (a);
insert into tr_z select generate_series(1, 3000);
begin;
truncate tr_z;
insert into tr_z select generate_series(1, 10);
select count(*) from tr_z;
savepoint s;
truncate tr_z;
insert into tr_z select generate_series(1, 5000);
select count(*) from tr_z;
rollback to s;
select count(*) from tr_z;
insert into tr_z values (11);
rollback;
select count(*) from tr_z;
begin;
insert into tr_z select generate_series(3001, 3010);
savepoint s;
truncate tr_z;
insert into tr_z values (1);
rollback to s;
insert into tr_z values (3011);
commit;
select count(*) from tr_z;
begin;
create table trn_z (a int) using zedstore;
insert into trn_z select generate_series(1, 3000);
truncate trn_z;
insert into trn_z values (1);
savepoint s;
insert into trn_z values (2);
truncate trn_z;
insert into trn_z values (3);
rollback to s;
insert into trn_z values (4);
commit;
select * from trn_z;
truncate trn_z restart identity;
select * from trn_z;

-- made and dropped in one transaction
begin;
create table d_z (a int) using zedstore;
insert into d_z select generate_series(1, 10000);
drop table d_z;
savepoint s;
create table d_z (a text) using zedstore;
insert into d_z values ('again');
rollback to s;
create table d_z (a date) using zedstore;
insert into d_z values ('2000-01-01');
commit;
select * from d_z;

-- tablespaces
set allow_in_place_tablespaces = on;
create tablespace zs_ddl_alter location '';
create table ts_z (a int, b text) using zedstore;
create index ts_z_a on ts_z (a);
insert into ts_z select i, 'x' || i from generate_series(1, 9000) i;
begin;
insert into ts_z values (0, 'same transaction');
alter table ts_z set tablespace zs_ddl_alter;
insert into ts_z values (-1, 'after');
commit;
select count(*), min(a) from ts_z;
alter index ts_z_a set tablespace zs_ddl_alter;
select count(*) from ts_z where a = 77;
select test.check_tight('ts_z');
alter table ts_z set tablespace pg_default;
select count(*), min(a) from ts_z;
alter table ts_z set unlogged;
alter table ts_z set tablespace zs_ddl_alter;
select count(*), min(a) from ts_z;
alter table ts_z set logged;
select count(*), min(a) from ts_z;
select test.check_tight('ts_z');
drop table ts_z;
drop tablespace zs_ddl_alter;

-- partitions, of both kinds
create table part (a int, b text) partition by range (a) using zedstore;
create table part1 partition of part for values from (0) to (1000);
create table part2_h partition of part for values from (1000) to (2000) using heap;
create table part3_z partition of part default;
select relname, amname from pg_class c join pg_am a on a.oid = relam where relname like 'part%' and relnamespace = 'am_alter'::regnamespace order by 1;
insert into part select i, 'p' || i from generate_series(0, 4999) i;
update part set a = a + 1000 where a between 500 and 600;
select tableoid::regclass, count(*), sum(a) from part group by 1 order by 1;
create table attach_z (b text, junk int, a int) using zedstore;
alter table attach_z drop column junk;
insert into attach_z select 'attached', i from generate_series(10000, 12000) i;
delete from part where a >= 10000;
alter table part attach partition attach_z for values from (10000) to (20000);
insert into part values (12345, 'through the parent');
select tableoid::regclass, count(*), sum(a) from part group by 1 order by 1;
create index on part (a);
select b from part where a in (5, 1005, 4000, 12345) order by 1;
alter table part detach partition part1;
select count(*) from part;
alter table part1 add column c int default 3;
select count(*), sum(c) from part1;
alter table part1 drop column c;
alter table part attach partition part1 for values from (0) to (1000);
select count(*) from part;
truncate part;
select count(*) from part;

-- inheritance
create table parent_z (a int, b text) using zedstore;
create table child_z (c int) inherits (parent_z) using zedstore;
create table child_h (d int) inherits (parent_z) using heap;
insert into parent_z values (1, 'parent');
insert into child_z select i, 'child', i from generate_series(1, 2000) i;
insert into child_h values (3, 'heap', 3);
select tableoid::regclass, count(*) from parent_z group by 1 order by 1;
alter table parent_z add column e int default 9;
select sum(e) from parent_z;
update parent_z set b = 'all' where a = 3;
select tableoid::regclass, * from parent_z where a = 3 order by 1;
delete from parent_z where a < 1000;
select count(*) from parent_z;
alter table child_z no inherit parent_z;
select count(*) from parent_z;

-- temporary tables
create temp table tmp_z (a int, b text) using zedstore;
create index on tmp_z (a);
insert into tmp_z select i, 't' || i from generate_series(1, 5000) i;
delete from tmp_z where a % 2 = 0;
update tmp_z set b = 'u' where a = 5;
select count(*), max(b) from tmp_z;
select b from tmp_z where a = 5;
vacuum tmp_z;
vacuum full tmp_z;
analyze tmp_z;
select count(*) from tmp_z;
select test.check('tmp_z');
begin;
create temp table drop_z (a int) using zedstore on commit drop;
insert into drop_z select generate_series(1, 3000);
select count(*) from drop_z;
commit;
select to_regclass('drop_z');
create temp table del_z (a int) using zedstore on commit delete rows;
begin;
insert into del_z select generate_series(1, 3000);
select count(*) from del_z;
commit;
select count(*) from del_z;
insert into del_z values (1);
select count(*) from del_z;
begin;
insert into del_z values (2);
savepoint s;
insert into del_z select generate_series(1, 3000);
rollback to s;
select * from del_z;
commit;
create temp table keep_z using zedstore on commit preserve rows as select generate_series(1, 10) as a;
select count(*) from keep_z;
drop table keep_z, del_z, tmp_z;

-- a rewrite that changes no type keeps the defaults of rows that lack a column, in segments and in the row tree
create table len_h (a int, b varchar(20)) using heap;
create table len_z (a int, b varchar(20)) using zedstore;
select test.both('insert into len_@ select i, ''b'' || i from generate_series(1, 9000) i');
select test.both('insert into len_@ values (0, ''single'')');
select test.both('alter table len_@ add column c int default 7, add column d text default ''fast''');
select test.both('insert into len_@ values (-1, ''new'', 8, null)');
select file_of('len_z') as before \gset
select test.both('alter table len_@ alter b type varchar(30) using b::text');
select file_of('len_z') <> :before as rewritten;
select test.same('select * from len_@');
select count(*), count(c), sum(c), count(d) from len_z;

-- unlogged
create unlogged table unl_z (a int) using zedstore;
insert into unl_z select generate_series(1, 5000);
select count(*) from unl_z;
alter table unl_z set logged;
select count(*) from unl_z;
alter table unl_z set unlogged;
insert into unl_z values (0);
select count(*) from unl_z;
select test.check('unl_z');

-- LIKE, comments, grants, rules and the like do not care
create table like_z (like t_z including all) using zedstore;
insert into like_z (a, ee) select a, ee from t_z where a < 100;
select count(*) > 0 from like_z;
create user zs_ddl_alter_user;
grant usage on schema am_alter to zs_ddl_alter_user;
grant select (a) on like_z to zs_ddl_alter_user;
set role zs_ddl_alter_user;
select count(a) > 0 from like_z;
select * from like_z;
reset role;
drop owned by zs_ddl_alter_user;
drop user zs_ddl_alter_user;

select test.check(oid) from pg_class
where relnamespace = 'am_alter'::regnamespace and relkind in ('r', 'm') and relam = (select oid from pg_am where amname = 'zedstore') order by relname;

-- rows are read by TID and changed right after a savepoint took ALTER TABLE back
create table sp_z (a int, b text, c int, d int) using zedstore;
insert into sp_z select i, 'b' || i, i, -i from generate_series(1, 20000) i;
begin;
savepoint s;
alter table sp_z drop column b;
select * from sp_z where ctid = (select ctid from sp_z where a = 15000);
rollback to s;
select * from sp_z where ctid = (select ctid from sp_z where a = 15000);
update sp_z set d = 0 where ctid = (select ctid from sp_z where a = 15000);
select * from sp_z where a = 15000;
rollback to s;
alter table sp_z add column e int default 5;
savepoint t;
alter table sp_z drop column c;
select * from sp_z where ctid = (select ctid from sp_z where a = 15000);
rollback to t;
update sp_z set d = 0 where ctid = (select ctid from sp_z where a = 15000);
select * from sp_z where a = 15000;
rollback;
select * from sp_z where ctid = (select ctid from sp_z where a = 15000);
drop table sp_z;

-- rows that wait in the write buffer when the table's columns change
create table buf_z (a int, b text, c int, d numeric) using zedstore;
begin;
insert into buf_z select i, null, i % 11, i / 7.0 from generate_series(1, 300) i;
alter table buf_z alter column c type bigint;
select count(*), sum(a), count(b), sum(c), round(sum(d)) from buf_z;
commit;
drop table buf_z;

-- or go with their types
create role regress_zs_types;
create type mood as enum ('well', 'ill');
alter type mood owner to regress_zs_types;
select current_setting('data_directory') || '/zedstore_ddl_alter.data' as file \gset
select format('copy (select i, repeat(''t'', i %% 50), i / 7.0 from generate_series(1, 2000) i) to %L', :'file') as command \gset
:command;
create table buf_z (a int, m mood default 'ill', t text, d numeric) using zedstore;
begin;
copy buf_z (a, t, d) from :'file';
drop owned by regress_zs_types cascade;
copy buf_z (a, t, d) from :'file';
select count(*), sum(a), sum(length(t)), round(sum(d)) from buf_z;
create temp table row_t (x int, y text);
alter table buf_z add column r row_t default row(1, 'y');
copy buf_z (a, t, d) from :'file';
discard temp;
copy buf_z (a, t, d) from :'file';
select count(*), sum(a), sum(length(t)), round(sum(d)) from buf_z;
commit;
drop table buf_z;
drop role regress_zs_types;
