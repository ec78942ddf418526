-- @ copy_freeze_and_copy
create table t (i int, t text);
begin;
create table f (i int primary key, t text);
copy f from stdin with (freeze);
1	one
2	two
\.
select * from f order by 1;
commit;
copy f from stdin with (freeze);
3	three
\.
begin;
truncate f;
savepoint s;
copy f from stdin with (freeze);
4	four
\.
rollback to s;
select * from f;
copy f from stdin with (freeze);
5	five
\.
commit;
select * from f;
copy f from stdin;
5	dup
\.
copy f from stdin;
x	y
\.
copy f from stdin;
6
\.
copy f from stdin with (on_error ignore, log_verbosity verbose);
7	seven
eight	8
9	nine
\.
copy f from stdin where i > 10;
10	ten
11	eleven
\.
copy f (i) from stdin with (format csv, header match);
i
12
\.
copy f from stdin with (format csv, header match);
a,b
12,3
\.
copy f from stdin with (format csv, default 'D', null 'N', force_null (t));
13,D
14,N
\.
select * from f order by 1;
copy f to stdout with (format csv, header, force_quote *);
copy (select * from f where i > 9 order by i) to stdout;
copy (delete from f where i = 13 returning *) to stdout;
copy t from '/nonexistent/file';
copy f to stdout where i > 1;
copy f from program 'exit 1';
create view fv as select * from f;
copy fv to stdout;
copy fv from stdin;
\.
copy (select * from fv order by 1) to stdout;
-- @ triggers
create table t (id int primary key, v text, n int);
create table log (msg text);
create function tf() returns trigger language plpgsql as $$
declare r record;
s text := '';
begin
if tg_op in ('UPDATE', 'DELETE') then
select string_agg(o::text, ';' order by id) into s from oldt o;
end if;
if tg_op in ('UPDATE', 'INSERT') then
select coalesce(s, '') || '->' || coalesce(string_agg(o::text, ';' order by id), '') into s from
	newt o;
end if;
insert into log values (tg_op || ' ' || coalesce(s, 'null'));
return null;
end $$;
create trigger ti after insert on t referencing new table as newt for each statement execute
	function tf();
create trigger tu after update on t referencing old table as oldt new table as newt for each
	statement execute function tf();
create trigger td after delete on t referencing old table as oldt for each statement execute
	function tf();
create function rf() returns trigger language plpgsql as $$
begin
raise notice '% % % % old % new %', tg_name, tg_when, tg_op, tg_level, case when tg_op <>
	'INSERT' then old::text end, case when tg_op <> 'DELETE' then new::text end;
if tg_op = 'DELETE' then return old;
end if;
if new.n = 13 then return null;
end if;
new.v := new.v || '!';
return new;
end $$;
create trigger a_before before insert or update or delete on t for each row execute function
	rf();
create trigger z_after after insert or update of v or delete on t for each row when
	(pg_trigger_depth() < 3) execute function rf();
insert into t values (1, 'a', 1), (2, 'b', 13), (3, 'c', 3);
update t set v = 'x' where id = 1;
update t set n = 13;
update t set n = 14 where id = 3;
insert into t values (1, 'again', 2) on conflict (id) do update set n = excluded.n;
insert into t values (4, 'four', 2), (1, 'again', 3) on conflict (id) do nothing;
merge into t using (values (1, 5), (9, 9)) s(id, n) on t.id = s.id when matched then update set
	n = s.n when not matched then insert values (s.id, 'm', s.n) returning merge_action(), t.*;
delete from t where id = 3;
delete from t where id = 1;
truncate t;
select * from log;
create constraint trigger ct after insert on t deferrable initially deferred for each row
	execute function rf();
begin;
insert into t values (20, 'def', 1);
update t set v = 'later' where id = 20;
select 'before commit';
commit;
begin;
insert into t values (21, 'def', 1);
set constraints ct immediate;
rollback;
alter table t disable trigger all;
update t set n = 1;
alter table t enable replica trigger a_before;
set session_replication_role = replica;
update t set n = 2;
reset session_replication_role;
create trigger io instead of insert on t for each row execute function rf();
create view tv as select id, v from t;
create function iof() returns trigger language plpgsql as $$ begin raise notice 'instead %',
	new; insert into t values (new.id, new.v, 0); return new; end $$;
create trigger io instead of insert on tv for each row execute function iof();
insert into tv values (77, 'view') returning *;
create trigger tr before truncate on t for each statement execute function tf();
truncate t;
-- @ tablesample
create table t (id int, v text);
insert into t select i, 'v' || i % 10 from generate_series(1, 20000) i;
select count(*) from t tablesample system (100);
select count(*) from t tablesample bernoulli (100);
select count(*) from t tablesample system (0);
select count(*) between 1000 and 3000 from t tablesample bernoulli (10) repeatable (5);
select (select count(*) from t tablesample bernoulli (10) repeatable (5)) = (select count(*)
	from t tablesample bernoulli (10) repeatable (5));
select count(*) from t tablesample system (101);
select count(*) from t tablesample system (-1);
select count(*) from t tablesample system (null);
select count(*) from t tablesample system (10) repeatable (null);
select count(*) from t tablesample nonesuch (10);
select count(*) from t tablesample system ('a');
delete from t where id % 2 = 0;
select count(*) from t tablesample system (100) where v = 'v1';
select count(*) from t tablesample bernoulli (100) for update;
create view v as select * from t;
select count(*) from v tablesample system (100);
create extension tsm_system_rows;
create extension tsm_system_time;
select count(*) from t tablesample system_rows (100);
select count(*) from t tablesample system_rows (0);
select count(*) from t tablesample system_rows (-1);
select count(*) from t tablesample system_rows (100000);
select count(*) > 0 from t tablesample system_time (100000);
-- @ merge
create table t (id int primary key, v text, n int);
insert into t select i, 'v' || i, i from generate_series(1, 10) i;
create table s (id int, v text);
insert into s values (1, 'one'), (2, null), (11, 'eleven'), (12, 'twelve');
merge into t using s on t.id = s.id
when matched and s.v is null then delete
when matched then update set v = s.v, n = n + 100
when not matched and s.id = 12 then do nothing
when not matched then insert values (s.id, s.v, 0)
returning merge_action(), s.*, t.*;
merge into t using s on t.id = s.id when not matched by source and t.id > 8 then delete when not
	matched by source then update set n = -1 returning merge_action(), t.id, n;
select * from t order by id;
insert into s values (1, 'twice');
merge into t using s on t.id = s.id when matched then update set v = s.v;
merge into t using s on t.id = s.id when matched then delete when not matched then insert values
	(3, 'dup', 0);
with m as (merge into t using (values (3, 'cte')) x(id, v) on t.id = x.id when matched then
	update set v = x.v returning t.*) select * from m;
merge into t using s on t.id = s.id when matched then insert values (1);
create view tv as select * from t where id < 100 with check option;
merge into tv using (values (500)) x(i) on tv.id = x.i when not matched then insert (id) values
	(i);
merge into only t using (select 4 as i) x on id = i when matched then update set v = default
	returning *;
update t set n = 1 where id = 4 returning old.n, new.n, old.*, new.*;
delete from t where id = 4 returning old.*, new.*;
insert into t values (3, 'x', 3) on conflict (id) do update set v = excluded.v || t.v returning
	old.*, new.*;
-- @ with_dml
create table a (id int primary key, v text);
create table b (id int, v text, at int default 1);
insert into a select i, 'v' || i from generate_series(1, 3000) i;
with d as (delete from a where id <= 10 returning *) insert into b select * from d returning *;
with d as (delete from a where id % 3 = 0 returning *), i as (insert into b select *, 2 from d
	returning id), u as (update a set v = 'u' where id % 3 = 1 returning id)
select (select count(*) from d), (select count(*) from i), (select count(*) from u), (select
	count(*) from a), (select count(*) from b);
select count(*) from a;
select count(*) from b;
with u as (update a set v = 'twice' where id = 11 returning *) update a set v = 'other' where id
	= 11 returning *;
with u as (update a set v = 'twice' where id = 11 returning *) delete from a where id = 11
	returning *;
select * from a where id = 11;
with i as (insert into a values (11, 'x') on conflict do nothing returning *) select * from i;
with recursive r as (select id, v from a where id = 13 union all select a.id, a.v from r join a
	on a.id = r.id + 3 where r.id < 40) delete from a using r where a.id = r.id returning a.*;
with d as (delete from a where id < 100 returning id) select count(*), (select count(*) from a)
	from d;
with x as (insert into a values (1, 'a'), (1, 'b') on conflict (id) do update set v = excluded.v
	returning *) select * from x;
update a set v = s.v from (select id, string_agg(v, ',' order by v) v from b group by id) s
	where s.id = a.id and a.id < 200;
update a set (v, id) = (select 'multi', -id) where id = 101 returning *;
delete from a using b where a.id = b.id - 1 and b.id < 200;
select count(*) from a;
-- @ upsert
create table t (id int primary key, a int unique, v text, tags text[] default '{}', exclude (v
	with =));
insert into t values (1, 1, 'a') on conflict do nothing returning *;
insert into t values (1, 2, 'b') on conflict do nothing returning *;
insert into t values (2, 1, 'b') on conflict (id) do nothing;
insert into t values (2, 1, 'b') on conflict (id) do update set v = 'x';
insert into t values (2, 1, 'b') on conflict (a) do update set v = excluded.v, tags = t.tags ||
	'up'::text where t.v = 'a' returning *, xmax <> 0;
insert into t values (2, 1, 'c') on conflict (a) do update set v = excluded.v where t.v = 'a'
	returning *;
insert into t values (5, 5, 'b') on conflict on constraint t_v_excl do nothing;
insert into t values (5, 5, 'b') on conflict on constraint t_v_excl do update set a = 1;
insert into t values (5, 5, 'z') on conflict (v) do nothing;
insert into t values (6, 6, 's'), (6, 7, 't') on conflict (id) do update set a = excluded.a;
insert into t values (6, 6, 's'), (6, 7, 't') on conflict (id) do nothing returning *;
insert into t select i, i, 'g' || i from generate_series(1, 10) i on conflict do nothing;
insert into t select i, i + 100, 'h' || i from generate_series(1, 12) i on conflict (id) do
	update set a = excluded.a returning id, a, v, old.a;
select * from t order by id;
begin;
insert into t values (1, 900, 'zz') on conflict (id) do update set a = t.a + 1 returning *;
insert into t values (1, 900, 'zz') on conflict (id) do update set a = t.a + 1 returning *;
rollback;
create unique index tp on t (a) where id < 5;
insert into t values (1, 101, 'q') on conflict (a) where id < 5 do update set v = 'partial'
	returning *;
-- @ bulk_update_delete
create table t (id int primary key, g int, v text);
insert into t select i, i % 100, 'v' || i from generate_series(1, 20000) i;
create index on t (g);
delete from t where g < 50;
select count(*) from t;
update t set v = v || '!' where g = 60;
update t set g = g + 1;
select count(*), sum(g), min(v), max(v) from t;
select count(*) from t where g = 61;
insert into t select i, 0, 'new' from generate_series(1, 20000) i on conflict do nothing;
select count(*) from t;
select g, count(*) from t group by g order by g limit 3;
truncate t;
insert into t select i, 1, 'z' from generate_series(1, 10) i;
delete from t using generate_series(1, 5) s where id = s;
update t a set v = b.v || a.v from t b where a.id = b.id + 1;
select * from t order by id;
update t set id = id + 1;
update t set id = id - 1;
update t set id = -id;
select * from t order by id;
delete from t;
delete from t;
select count(*) from t;
vacuum t;
insert into t values (1);
select * from t;
