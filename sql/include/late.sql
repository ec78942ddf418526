-- The same script on twins; late is on or off.
create table t_h (a int, b text, c numeric) using heap;
create table t_z (a int, b text, c numeric) using zedstore;
set zedstore.enable_late_row_numbers = :late;

-- one load, and several in one transaction with other writes between them
select test.both('copy t_@ from program ''seq -f "%.0f|b|0.25" 1 5000'' (delimiter ''|'')');
begin;
select test.both('copy t_@ from program ''seq -f "%.0f|two|1.5" 1 6000'' (delimiter ''|'')');
select test.both('insert into t_@ values (-1, ''single'', null)');
select test.both('copy t_@ from program ''seq -f "%.0f|three|2" 1 900'' (delimiter ''|'')');
select test.both('copy t_@ from program ''seq -f "%.0f|four|3" 1 12000'' (delimiter ''|'')');
select test.both('update t_@ set b = ''changed'' where a % 1000 = 0');
select test.both('copy t_@ from program ''seq -f "%.0f|five|4" 1 70'' (delimiter ''|'')');
select test.both('delete from t_@ where b = ''five'' and a < 10');
commit;
select test.same('select * from t_@');

-- savepoints
begin;
select test.both('copy t_@ from program ''seq -f "%.0f|s1|1.5" 1 6000'' (delimiter ''|'')');
savepoint a;
select test.both('copy t_@ from program ''seq -f "%.0f|gone|1.5" 1 2000'' (delimiter ''|'')');
rollback to a;
select test.both('copy t_@ from program ''seq -f "%.0f|s2|1.5" 1 3000'' (delimiter ''|'')');
savepoint b;
select test.both('copy t_@ from program ''seq -f "%.0f|s3|1.5" 1 100'' (delimiter ''|'')');
release b;
commit;
begin;
savepoint a;
select test.both('copy t_@ from program ''seq -f "%.0f|gone|1.5" 1 9000'' (delimiter ''|'')');
rollback to a;
commit;
begin;
savepoint a;
select test.both('copy t_@ from program ''seq -f "%.0f|s4|1.5" 1 9000'' (delimiter ''|'')');
release a;
savepoint a;
select test.both('insert into t_@ values (-2, ''gone'', 0)');
rollback to a;
select test.both('insert into t_@ values (-3, ''s5'', 0)');
commit;
select test.same('select * from t_@');

-- a load that fails, caught
begin;
select test.both('copy t_@ from program ''seq -f "%.0f|kept|1.5" 1 5000'' (delimiter ''|'')');
select test.both('copy t_@
	from program ''seq 1 7000 | sed "s/$/|bad|0/; 6500s/.*/no number|bad|0/"'' (delimiter ''|'')');
select test.both('copy t_@ from program ''seq -f "%.0f|kept, too|1.5" 1 50'' (delimiter ''|'')');
commit;
select test.same('select * from t_@');

-- rows that are too wide for the row tree
alter table t_h alter b set storage plain;
alter table t_z alter b set storage plain;
select test.both('copy t_@
	from program ''seq 1 100 | sed "s/$/|$(printf %05000d 7)|0/"'' (delimiter ''|'')');
select test.same('select a, length(b), c from t_@');

-- a trigger before each row, which reads the table: rows come one by one
create function reads() returns trigger language plpgsql as $$
begin
	if new.a % 500 = 0 then
		execute format('select count(*) from %I where b = ''trigger''', tg_table_name) into new.c;
	end if;
	return new;
end $$;
create trigger reads before insert on t_h for each row execute function reads();
create trigger reads before insert on t_z for each row execute function reads();
select test.both('copy t_@ (a, b) from program ''seq -f "%.0f|trigger" 1 3000'' (delimiter ''|'')');
select test.same('select * from t_@ where b = ''trigger''');
drop trigger reads on t_h;
drop trigger reads on t_z;

-- triggers after each row find it by its TID
create table seen (t text, a int, b text);
create function sees() returns trigger language plpgsql as $$
begin
	insert into seen values (right(tg_table_name, 2), new.a, new.b);
	return null;
end $$;
create trigger sees after insert on t_h for each row execute function sees();
create trigger sees after insert on t_z for each row execute function sees();
select test.both('copy t_@ from program ''seq -f "%.0f|after|1.5" 1 3000'' (delimiter ''|'')');
select t, count(*), sum(a) from seen group by t order by t;
drop trigger sees on t_h;
drop trigger sees on t_z;

-- those of a statement do not
create function sees_all() returns trigger language plpgsql as $$
begin
	insert into seen select right(tg_table_name, 2) || ' all', count(*), max(b) from new_rows;
	return null;
end $$;
create trigger sees_all after insert on t_h referencing new table as new_rows
	for each statement execute function sees_all();
create trigger sees_all after insert on t_z referencing new table as new_rows
	for each statement execute function sees_all();
select test.both('copy t_@ from program ''seq -f "%.0f|statement|1.5" 1 3000'' (delimiter ''|'')');
select t, a, b from seen where t like '%all' order by t;
drop trigger sees_all on t_h;
drop trigger sees_all on t_z;

-- partitions, some with an index
create table p_h (a int, b text, c numeric) partition by list (b);
create table p_z (a int, b text, c numeric) partition by list (b);
create table p1_h partition of p_h for values in ('x') using heap;
create table p2_h partition of p_h for values in ('y') using heap;
create table p1_z partition of p_z for values in ('x') using zedstore;
create table p2_z partition of p_z for values in ('y') using zedstore;
create index on p1_z (a);
select test.both('copy p_@
	from program ''seq 1 9000 | sed "s/$/|x|1/; n; s/$/|y|2/"'' (delimiter ''|'')');
select test.same('select * from p_@');

begin isolation level serializable;
select test.both('copy t_@
	from program ''seq -f "%.0f|serializable|1.5" 1 3000'' (delimiter ''|'')');
commit;
create index on t_h (a);
create index on t_z (a);
select test.both('copy t_@
	from program ''seq -f "%.0f|index|1.5" 100001 105000'' (delimiter ''|'')');
set enable_seqscan = off;
select test.same('select * from t_@ where a between 104990 and 105010');
reset enable_seqscan;
select test.same('select * from t_@');
select test.check('t_z');
select test.check('p1_z');
select test.check('p2_z');
drop table t_h, t_z, seen, p_h, p_z;
drop function reads, sees, sees_all;
reset zedstore.enable_late_row_numbers;
