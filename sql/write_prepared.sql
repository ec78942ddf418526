--
-- Prepared transactions.  A server as initdb makes it allows none (write_prepared_1.out).
--
select current_setting('max_prepared_transactions')::int < 2 as none \gset
\if :none
\echo 'skipped: max_prepared_transactions is below 2'
\quit
\endif
create schema write_prepared;
set search_path = write_prepared, public;

create table p_z (a int, b text) using zedstore;
begin;
insert into p_z values (1, 'one');
insert into p_z select i, 'many' from generate_series(1000, 9000) i;
savepoint a;
insert into p_z values (2, 'two');
rollback to a;
prepare transaction 'zs_one';
select count(*) from p_z;
begin;
insert into p_z values (3, 'three');
prepare transaction 'zs_two';
insert into p_z values (4, 'four');
select * from p_z;
commit prepared 'zs_one';
select count(*), min(a), max(a) from p_z;
rollback prepared 'zs_two';
select count(*), min(a), max(a) from p_z;
begin;
delete from p_z where a = 1;
update p_z set b = 'updated' where a = 1000;
prepare transaction 'zs_three';
select * from p_z where a in (1, 1000);
commit prepared 'zs_three';
select * from p_z where a in (1, 1000);
select count(*) from zs_check('p_z') where severity <> 'notice';
