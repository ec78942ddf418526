--
-- DELETE, UPDATE, MERGE, triggers, cursors
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema write_dml;
set search_path = write_dml, public;
create table t_h (id int, v int, c text) using heap;
create table t_z (id int, v int, c text) using zedstore;
select test.both('insert into t_@ select i, i % 10, ''r'' || i from generate_series(1, 10000) i');
select test.both('insert into t_@ values (10001, 1, null), (10002, null, ''x'')');
select test.both('create index t_@_id on t_@ (id)');

-- DELETE
select test.both('delete from t_@ where id between 100 and 1500');
select test.both('delete from t_@ where id between 100 and 1500');
select test.both('delete from t_@ where id % 7 = 0');
select test.both('delete from t_@ where c is null');
select test.both('delete from t_@ where id in (1, 2, 99999)');
select test.same('select * from t_@');
select test.both('delete from t_@ a using t_@ b where a.id = b.id + 1 and b.v = 3');
select test.same('select * from t_@');
delete from t_z where id = 10002 returning *, ctid is not null as has_ctid;
delete from t_z where id = 10002 returning id;
delete from t_h where id = 10002;
select test.both('delete from t_@ where id = 10002');

-- UPDATE
select test.both('update t_@ set v = v + 100 where id < 2000');
select test.both('update t_@ set c = c || '' updated'', v = null where id % 5 = 0');
select test.both('update t_@ set id = id where id between 3000 and 3010');
select test.both('update t_@ set c = repeat(''long'', 5000) where id between 4000 and 4020');
select test.same('select * from t_@');
select test.both('update t_@ a set v = b.id from t_@ b where a.id = b.id + 2 and b.v = 6');
select test.both('update t_@ set v = s.n from (select v as k, count(*) as n from t_@ group by v) s where s.k = t_@.v and t_@.id > 9000');
select test.both('update t_@ set v = (select max(v) from t_@ x where x.id < t_@.id) where id between 5000 and 5020');
select test.same('select * from t_@');
update t_z set v = -1 where id = 6001 returning id, v, c;
select test.both('update t_@ set v = -1 where id = 6001');
set enable_seqscan = off;
select test.same('select * from t_@ where id between 1 and 5000');
select test.same_order('select id from t_@ where id > 0 order by id');
reset enable_seqscan;
select test.check('t_z');

-- all rows, several times in a transaction
begin;
select test.both('update t_@ set v = coalesce(v, 0) + 1');
select test.both('update t_@ set v = v + 1');
select test.both('delete from t_@ where v % 4 = 0');
select test.both('update t_@ set v = v + 1, c = ''third''');
select test.same('select * from t_@');
rollback;
select test.same('select * from t_@');
begin;
select test.both('update t_@ set v = coalesce(v, 0) + 1');
select test.both('update t_@ set v = v * 2');
commit;
select test.same('select * from t_@');

-- rows that the same transaction inserted, and the same statement
begin;
select test.both('insert into t_@ select 20000 + i, i, ''new'' from generate_series(1, 3000) i');
select test.both('update t_@ set c = ''newer'' where id > 20000 and v % 2 = 0');
select test.both('delete from t_@ where id > 20000 and v % 3 = 0');
select test.both('update t_@ set c = ''newest'' where id > 20000 and v % 4 = 0');
select test.both('insert into t_@ values (30000, 1, ''one'')');
select test.both('update t_@ set v = v + 1 where id = 30000');
select test.both('update t_@ set v = v + 1 where id = 30000');
select test.both('delete from t_@ where id = 30000');
select test.both('update t_@ set v = v + 1 where id = 30000');
select test.same('select * from t_@');
commit;
select test.same('select * from t_@');
select test.both('with d as (delete from t_@ where id > 22000 returning *) insert into t_@ select id + 50000, v, c from d');
select test.both('with u as (update t_@ set v = 1 where id > 72900 returning id) delete from t_@ where id in (select id from u)');
select test.same('select * from t_@');
-- twice in one statement: the second is ignored
select test.both('update t_@ set v = x.n from (values (1), (2)) x (n) where id = 6001');
select test.same('select id, v > 0 from t_@ where id = 6001');

-- MERGE
create table src as select i as id, i * 2 as v from generate_series(9990, 10050) i;
select test.both('merge into t_@ t using src s on t.id = s.id when matched and s.id % 3 = 0 then delete
	when matched then update set v = s.v, c = ''merged'' when not matched then insert values (s.id, s.v, ''merged in'')');
select test.same('select * from t_@');
select test.both('merge into t_@ t using src s on t.id = s.id when not matched by source and t.id > 72000 then delete
	when matched then do nothing');
select test.both('merge into t_@ t using (values (9991), (9991)) s (id) on t.id = s.id when matched then update set v = 5');
select test.same('select * from t_@');

-- command ids: a cursor opened before does not see later changes of its own transaction
begin;
insert into t_z values (90000, 0, 'cursor');
declare before cursor for select v from t_z where id = 90000;
update t_z set v = 1 where id = 90000;
declare between_ cursor for select v from t_z where id = 90000;
update t_z set v = 2 where id = 90000;
delete from t_z where id = 90000;
declare after cursor for select v from t_z where id = 90000;
fetch before;
fetch between_;
fetch after;
rollback;

-- WHERE CURRENT OF
begin;
declare ch cursor for select * from t_h where id between 2000 and 2010 order by id for update;
declare cz cursor for select * from t_z where id between 2000 and 2010 order by id for update;
rollback;
begin;
-- in the order of the rows
set local enable_indexscan = off;
declare ch cursor for select * from t_h where id between 2000 and 2010;
declare cz cursor for select * from t_z where id between 2000 and 2010;
move 2 ch;
move 2 cz;
update t_h set c = 'current' where current of ch;
update t_z set c = 'current' where current of cz;
update t_h set c = 'current' where current of ch;
update t_z set c = 'current' where current of cz;
fetch ch;
fetch cz;
delete from t_h where current of ch;
delete from t_z where current of cz;
commit;
select test.same('select * from t_@');

-- triggers
create table log_h (n serial, what text) using heap;
create table log_z (n serial, what text) using heap;
create function note() returns trigger language plpgsql as $$
declare
	log text := regexp_replace(tg_table_name, 'tr_', 'log_');
	n bigint;
begin
	if tg_level = 'STATEMENT' then
		if tg_when = 'AFTER' then
			execute 'select coalesce((select sum(id) from newtab), -1)' into n;
		end if;
		execute format('insert into %I (what) values (%L)', log, concat_ws(' ', tg_when, tg_op, 'statement', n));
		return null;
	end if;
	execute format('insert into %I (what) values (%L)', log, concat_ws(' ', tg_when, tg_op, old.id, old.c, '->', new.id, new.c));
	if tg_when = 'BEFORE' and tg_op <> 'DELETE' then
		new.c := new.c || '+';
		return case when new.id = 13 then null else new end;
	end if;
	return coalesce(new, old);
end $$;
create function note_delete() returns trigger language plpgsql as $$
declare
	n bigint;
begin
	execute 'select sum(id) from oldtab' into n;
	execute format('insert into %I (what) values (%L)', regexp_replace(tg_table_name, 'tr_', 'log_'), 'deleted ' || n);
	return null;
end $$;
create table tr_h (id int, v int, c text) using heap;
create table tr_z (id int, v int, c text) using zedstore;
select test.both('create trigger b before insert or update or delete on tr_@ for each row execute function note()') ~ '^ok';
select test.both('create trigger a after insert or update or delete on tr_@ for each row execute function note()') ~ '^ok';
select test.both('create trigger bs before insert or update or delete on tr_@ for each statement execute function note()') ~ '^ok';
select test.both('create trigger asi after insert on tr_@ referencing new table as newtab for each statement execute function note()') ~ '^ok';
select test.both('create trigger asu after update on tr_@ referencing new table as newtab for each statement execute function note()') ~ '^ok';
select test.both('create trigger asd after delete on tr_@ referencing old table as oldtab for each statement execute function note_delete()') ~ '^ok';
select test.both('insert into tr_@ select i, i, ''t'' || i from generate_series(1, 20) i');
select test.both('update tr_@ set c = c || ''u'' where id % 3 = 0');
select test.both('update tr_@ set id = id + 100 where id > 17');
select test.both('delete from tr_@ where id in (5, 6, 118)');
select test.both('insert into tr_@ values (13, 13, ''thirteen'')');
select test.same('select * from tr_@');
select test.same('select * from log_@');
select count(*) from log_z;
-- a trigger that changes the row that is about to be changed
create function meddle() returns trigger language plpgsql as $$
begin
	execute format('update %I set v = v + 1 where id = %s', tg_table_name, old.id);
	return new;
end $$;
create table md_h (id int, v int) using heap;
create table md_z (id int, v int) using zedstore;
select test.both('insert into md_@ values (1, 1), (2, 2)');
select test.both('create trigger m before update on md_@ for each row when (pg_trigger_depth() = 0) execute function meddle()') ~ '^ok';
select test.both('update md_@ set v = 10 where id = 1');
select test.same('select * from md_@');
-- deferred triggers look at rows by TID at commit
create table df_z (id int, v int) using zedstore;
create table dflog (what text);
create function late() returns trigger language plpgsql as $$
begin
	insert into dflog values (concat_ws(' ', tg_op, old.v, new.v));
	return null;
end $$;
create constraint trigger d after insert or update or delete on df_z deferrable initially deferred for each row execute function late();
begin;
insert into df_z values (1, 1), (2, 2);
update df_z set v = 3 where id = 1;
update df_z set v = 4 where id = 1;
delete from df_z where id = 2;
select count(*) from dflog;
commit;
select * from dflog;

-- rows as values: old and new versions by TID
select count(*) from t_z x join t_z y on x.ctid = y.ctid where x.id = y.id;
select (select count(*) from t_z) = (select count(distinct ctid) from t_z);
create view vw_z as select * from t_z where id < 3000;
update vw_z set c = 'by view' where id = 2001;
select c from t_z where id = 2001;

-- domains of generated columns and defaults in UPDATE
create table gn_z (id int default 5, v int default 7, g int generated always as (v + 1) stored) using zedstore;
insert into gn_z values (1, 2);
update gn_z set v = 10;
update gn_z set id = default;
select * from gn_z;
update gn_z set g = 1;

-- constraints and unique indexes
create table un_h (id int primary key, v int unique, check (v <> 13)) using heap;
create table un_z (id int primary key, v int unique, check (v <> 13)) using zedstore;
select test.both('insert into un_@ select i, i + 100 from generate_series(1, 2000) i');
select test.both('insert into un_@ values (5, 5)');
select test.both('insert into un_@ values (5000, 105)');
select test.both('update un_@ set v = 106 where id = 5');
select test.both('update un_@ set v = 13 where id = 5');
select test.both('update un_@ set id = id + 1');
select test.both('delete from un_@ where id = 6');
select test.both('insert into un_@ values (6, 5)');
select test.both('insert into un_@ values (6, 6)');
select test.same('select * from un_@');
begin;
select test.both('delete from un_@ where id = 7');
select test.both('insert into un_@ values (7, 777777)');
select test.both('insert into un_@ values (7, 777778)');
commit;
select test.same('select * from un_@');

select test.check(oid) from pg_class
where relnamespace = 'write_dml'::regnamespace and relkind = 'r' and relname like '%\_z' and relname <> 'log_z' order by relname;

-- parallel workers that run a function see what this transaction has in its write buffers
CREATE TABLE wd_inner (a int, b int) USING zedstore;
CREATE TABLE wd_outer (x int) USING heap;
INSERT INTO wd_outer SELECT generate_series(1, 10000);
ANALYZE wd_outer;
CREATE FUNCTION wd_count(n int) RETURNS bigint LANGUAGE plpgsql PARALLEL SAFE AS
	'BEGIN RETURN (SELECT count(b) FROM wd_inner WHERE a % 100 = n); END';
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
BEGIN;
INSERT INTO wd_inner SELECT i, i FROM generate_series(1, 3000) i;
SELECT sum(wd_count(x)) FROM wd_outer WHERE x <= 10;
ROLLBACK;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET parallel_leader_participation;
DROP FUNCTION wd_count(int);
DROP TABLE wd_inner, wd_outer;

-- DELETE returns its own transaction in xmax, also where an index scan found the row
SET enable_seqscan = off;
SET enable_bitmapscan = off;
BEGIN;
DELETE FROM un_z WHERE id = 9 RETURNING id, xmax = pg_current_xact_id()::xid AS own;
ROLLBACK;
-- ... MERGE too, and an UPDATE in the old row, which 17 cannot show; a row lock of its own may be there before
CREATE FUNCTION wd_old(command text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	own boolean := true;
BEGIN
	IF current_setting('server_version_num')::int >= 180000 THEN
		EXECUTE command || ' RETURNING old.xmax = pg_current_xact_id()::xid' INTO own;
	END IF;
	RETURN own;
END $$;
BEGIN;
MERGE INTO un_z t USING (VALUES (9)) s(id) ON t.id = s.id WHEN MATCHED THEN DELETE
	RETURNING t.id, t.xmax = pg_current_xact_id()::xid AS own;
SELECT wd_old('UPDATE un_z SET v = v + 10000 WHERE id = 10');
SELECT wd_old('UPDATE un_z SET id = -id WHERE id = 10');
SELECT wd_old('MERGE INTO un_z t USING (VALUES (11)) s(id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = v + 10000');
SELECT wd_old('INSERT INTO un_z VALUES (12, 12) ON CONFLICT (id) DO UPDATE SET v = un_z.v + 10000');
ROLLBACK;
DROP FUNCTION wd_old(text);
RESET enable_seqscan;
RESET enable_bitmapscan;

-- system columns of the rows that triggers get
CREATE TABLE wd_sys_h (id int, c text) USING heap;
CREATE TABLE wd_sys_z (id int, c text) USING zedstore;
CREATE TABLE wd_shown_h (what text) USING heap;
CREATE TABLE wd_shown_z (what text) USING heap;
CREATE FUNCTION wd_show() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	IF tg_op = 'INSERT' THEN r := new; ELSE r := old; END IF;
	EXECUTE format('INSERT INTO %s VALUES (%L)', replace(tg_table_name, 'sys', 'shown'),
		concat_ws(' ', tg_when, tg_op, r.id, r.ctid, r.cmin, r.xmin = pg_current_xact_id()::xid,
			r.xmax = pg_current_xact_id()::xid, r.tableoid = tg_relid));
	RETURN r;
END $$;
CREATE TRIGGER after_row AFTER INSERT ON wd_sys_h FOR EACH ROW EXECUTE FUNCTION wd_show();
CREATE TRIGGER after_row AFTER INSERT ON wd_sys_z FOR EACH ROW EXECUTE FUNCTION wd_show();
CREATE TRIGGER before_row BEFORE DELETE ON wd_sys_h FOR EACH ROW EXECUTE FUNCTION wd_show();
CREATE TRIGGER before_row BEFORE DELETE ON wd_sys_z FOR EACH ROW EXECUTE FUNCTION wd_show();
BEGIN;
INSERT INTO wd_sys_h VALUES (1, 'one');
INSERT INTO wd_sys_h SELECT i, 'two' FROM generate_series(2, 5) i;
DELETE FROM wd_sys_h WHERE id < 4;
COMMIT;
BEGIN;
INSERT INTO wd_sys_z VALUES (1, 'one');
INSERT INTO wd_sys_z SELECT i, 'two' FROM generate_series(2, 5) i;
DELETE FROM wd_sys_z WHERE id < 4;
COMMIT;
SELECT * FROM wd_shown_z;
SELECT test.same('SELECT * FROM wd_shown_@');

-- a trigger on a table that was emptied in place, which is not a command of its own, sees the new rows
CREATE FUNCTION wd_tell() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN RAISE NOTICE ''% %'', new.id, new.c; RETURN NULL; END';
BEGIN;
CREATE TABLE wd_reload (id int, c text) USING zedstore;
CREATE TRIGGER tell AFTER INSERT ON wd_reload FOR EACH ROW WHEN (new.id % 10000 = 9999) EXECUTE FUNCTION wd_tell();
INSERT INTO wd_reload SELECT i, 'old' FROM generate_series(1, 20000) i;
SELECT c, id FROM wd_reload WHERE ctid = (SELECT ctid FROM wd_reload WHERE id = 9999);
TRUNCATE wd_reload;
INSERT INTO wd_reload SELECT i, 'new' FROM generate_series(1, 20000) i;
COMMIT;
DROP TABLE wd_reload;
DROP FUNCTION wd_tell();
