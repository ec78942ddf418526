-- @ types
create domain posint as int check (value > 0);
create domain sentence as text not null check (value ~ '^[A-Z]');
create type comp as (x int, y text, z numeric[]);
create type mood as enum ('sad', 'ok', 'happy');
create type frange as range (subtype = float8);
create table t (id int primary key, p posint, s sentence, c comp, ca comp[], m mood, r
	int4range, mr nummultirange, fr frange, a int[][], j json, jb jsonb, x xml, b bit(5), vb bit
	varying(8), u uuid, i inet, ci cidr, ma macaddr8, pt point, pg polygon, ts tsvector, tq
	tsquery, iv interval, tz timetz, mo money, ch char(5), n name, ba bytea, cc "char", rc
	regclass, l pg_lsn, x8 xid8, jp jsonpath);
insert into t values (1, 5, 'Hello', row(1, 'two', '{3.5,4}'), array[row(1,'a',null)::comp,
	null], 'ok', '[1,10)', '{[1.5,2],(5,7)}', '[1.5,2.5)', '{{1,2},{3,4}}', '{"a": [1, 2]}',
	'{"b": {"c": null}}', null, '10101', '101', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
	'10.0.0.1/8', '10.0.0.0/8', '08:00:2b:01:02:03:04:05', '(1,2)', '((0,0),(1,1),(2,0))',
	'a:1 b:2', 'a & b', '1 year 2 days 03:04:05.6', '12:00:00+02', '12.34', 'ab', 'nam',
	'\xdeadbeef', 'x', 'pg_class', '16/B374D848', '123', '$.a[*] ? (@ > 1)');
insert into t (id, s) values (2, 'World');
insert into t (id, s) values (3, 'lower');
insert into t (id, s) values (3, null);
insert into t (id) values (3);
insert into t (id, s, p) values (3, 'A', 0);
insert into t (id, s, m) values (3, 'A', 'glad');
insert into t (id, s, r) values (3, 'A', '[5,1]');
insert into t (id, s, b) values (3, 'A', '101');
insert into t (id, s, ch) values (3, 'A', 'toolong');
insert into t (id, s, a) values (3, 'A', '{1,{2}}');
\x on
select * from t order by id;
update t set c.y = 'upd', ca[3].x = 7, a[1][2] = 99, jb['new'] = '1', r = r * '[3,20)', mr = mr
	+ '{[100,200]}' where id = 1;
select * from t where id = 1;
\x off
select (c).x, (c).z[2], ca[1], lower(r), upper(mr), unnest(mr) from t where id = 1;
select id from t where r @> 5 and mr && '{[150,160]}' and c = row(1, 'upd', '{3.5,4}')::comp;
alter type comp add attribute w int;
alter type mood add value 'great' after 'ok';
alter type mood rename value 'sad' to 'blue';
insert into t (id, s, m) values (4, 'B', 'great');
select id, m from t order by m, id;
alter type comp rename attribute x to xx;
alter domain posint add check (value < 5);
alter domain posint add check (value < 50);
alter domain sentence drop not null;
drop type mood;
drop type comp cascade;
drop domain posint cascade;
\d t
create table dt (a sentence default 'Default', b posint);
create temp table ok (x int4multirange primary key, y tstzrange, exclude using gist (y with
	&&));
insert into ok values ('{[1,3)}', '[2026-01-01,2026-01-02)'), ('{[1,3),[5,7)}',
	'[2026-01-02,2026-01-03)');
insert into ok values ('{[1,2),[2,3)}', null);
insert into ok values ('{}', '[2026-01-01 12:00,2026-01-02 12:00)');
-- @ temporal_18
create extension btree_gist;
create table emp (id int, valid daterange, sal int, primary key (id, valid without overlaps));
insert into emp values (1, '[2026-01-01,2026-02-01)', 10), (1, '[2026-02-01,2026-03-01)', 20);
insert into emp values (1, '[2026-01-15,2026-01-16)', 30);
create table dep (eid int, during daterange, foreign key (eid, period during) references emp
	(id, period valid));
insert into dep values (1, '[2026-01-10,2026-02-10)');
insert into dep values (1, '[2026-01-10,2026-04-10)');
delete from emp where valid @> date '2026-02-15';
update emp set valid = '[2026-02-01,2026-02-20)' where valid @> date '2026-02-15';
update emp set valid = '[2026-01-20,2026-02-20)' where valid @> date '2026-02-15';
create unique index on emp using gist (id);
insert into emp values (1, 'empty', 3);
-- @ wide_and_limits
create table w (id int primary key, v text);
insert into w values (1, repeat('x', 9000));
insert into w values (2, repeat('y', 1000000));
insert into w select 3, string_agg(md5(i::text), '') from generate_series(1, 3000) i;
create index on w (v);
create index on w (left(v, 100));
create index on w using hash (v);
insert into w select 4, string_agg(md5(i::text), '') from generate_series(1, 300) i;
select id, length(v) from w order by 1;
update w set id = id + 10;
select id, length(v), md5(v) from w order by 1;
do $$ declare s text; begin select string_agg('c' || i || ' int', ', ') into s from
	generate_series(1, 1600) i; execute 'create table ok1600 (' || s || ')'; end $$;
do $$ declare s text; begin select string_agg('c' || i || ' int', ', ') into s from
	generate_series(1, 1601) i; execute 'create table no1601 (' || s || ')'; end $$;
alter table ok1600 add x int;
insert into ok1600 (c1, c1600) values (1, 2);
select c1, c2, c1600 from ok1600;
update ok1600 set c800 = 5;
select c800 from ok1600;
do $$ declare s text; begin select string_agg('c' || i || ' int default 7', ', ') into s from
	generate_series(1, 1500) i; execute 'create table full1500 (' || s || ')'; end $$;
insert into full1500 select from generate_series(1, 5);
select c1, c1500 from full1500;
create table longname_abcdefghijklmnopqrstuvwxyz_abcdefghijklmnopqrstuvwxyz_abcdefghij (a int);
insert into w values (5, null), (6, ''), (7, E'\\x00'), (8, 'ünïcødé ☃ 𝄞');
select id, v, length(v), octet_length(v) from w where id between 5 and 8 order by id;
insert into w values (9, E'a\000b');
insert into w values (2147483648, 'x');
select chr(0);
create table num (a numeric, b numeric(1000, 500), c float4, d float8, e numeric(5, -2));
insert into num values ('NaN', 'NaN', 'NaN', '-0', 12345), ('Infinity', 1e400, '-Infinity',
	'1e308', 99), ('-Infinity', 0.1, 1e-45, 4.9e-324, -50), (1e131071, null, null, null, null);
select c, d, e, a = 'Infinity', length(a::text) from num order by a;
insert into num (b) values ('Infinity');
insert into num (c) values (1e39);
insert into num (e) values (12345678);
select sum(c), max(d), min(e), avg(e) from num;
create table dates (d date, t timestamp, z timestamptz, i interval);
insert into dates values ('infinity', '-infinity', 'infinity', 'infinity'), ('4713-01-01 BC',
	'294276-12-31 23:59:59.999999', 'epoch', '-infinity'), ('0001-01-01', '2026-02-29', null,
	null);
insert into dates values ('5874897-12-31', '4713-01-01 00:00 BC', '2026-06-01 12:00+14',
	'178000000 years');
select * from dates order by d;
select max(t), min(z), sum(i) from dates;
-- @ arrays_json_fts
create table t (id serial primary key, j jsonb, a int[], tx text, ts tsvector generated always
	as (to_tsvector('english', coalesce(tx, ''))) stored);
insert into t (j, a, tx) select jsonb_build_object('k', i % 10, 'n', jsonb_build_object('x',
	i)), array[i, i * 2, i % 7], 'the quick brown fox number ' || i from generate_series(1,
	3000) i;
create index on t using gin (j);
create index on t using gin (j jsonb_path_ops);
create index on t using gin (a);
create index on t using gin (ts);
create index on t using gist (ts);
vacuum analyze t;
select count(*) from t where j @> '{"k": 3}';
select count(*) from t where j ? 'n';
select id from t where j @@ '$.n.x == 77';
select id from t where a @> '{50,100}' order by 1;
select count(*) from t where a && '{3}';
select id, ts_rank(ts, q), ts_headline(tx, q) from t, to_tsquery('english', 'foxes & 42') q
	where ts @@ q;
select id, ts <-> 'x' from t limit 1;
update t set j = jsonb_set(j, '{n,x}', '-1') where id = 5 returning j;
update t set j = j - 'k' where id = 6 returning j;
update t set a[2] = null, a[5] = 9 where id = 7 returning a;
update t set tx = 'lazy dog' where id = 8 returning ts;
update t set ts = 'x';
select j ->> 'k', count(*), sum((j #>> '{n,x}')::int) from t group by 1 order by 1 nulls first
	limit 3;
select jt.* from t, json_table(j, '$.n' columns (x int path '$.x')) jt where id < 4 order by 1;
select json_value(j, '$.k' returning int) from t where id < 3;
select j::text::int from t where id = 1;
select (j ->> 'n')::int from t where id = 1;
select unnest(a) from t where id = 3;
select array_agg(a order by id) from t where id < 3;
insert into t (a) values ('{1,2}'), (array[[1,2],[3,4]]);
select array_agg(a) from t where id in (1, 3001, 3002);
select a[2:3] from t where id = 3;
insert into t (a) values (array[[1,2],[3]]);
-- @ toastlike_values
create table t (id int primary key, a text, b bytea, c jsonb);
insert into t select i, repeat(chr(65 + i % 26), i * 1000), decode(repeat('00ff', i * 500),
	'hex'), jsonb_build_object('k', repeat('v', i * 700)) from generate_series(1, 60) i;
select id, length(a), md5(a), length(b), md5(b), length(c::text) from t where id % 20 = 0 order
	by id;
update t set id = id + 100 where id < 10;
update t set a = substr(a, 1, 5) where id = 20 returning a;
update t set a = a || 'end' where id = 60 returning right(a, 5), length(a);
select left(a, 3), substr(b, 100, 4), c -> 'k' is not null from t where id = 50;
select count(*) from t where a like 'B%' and length(a) > 10000;
delete from t where id > 40;
vacuum full t;
select count(*), sum(length(a)), sum(length(b)), sum(length(c::text)) from t;
begin;
update t set a = a;
update t set b = b;
rollback;
select sum(length(a)) from t;
insert into t select id + 1000, a, b, c from t;
select sum(length(a)) from t;
select a < 'C', count(*) from t group by 1 order by 1;
select id from t order by a desc, id limit 3;
select count(distinct a), count(distinct c) from t;
create table t2 as select * from t;
select count(*) from t natural join t2;
-- @ queries
create table o (id int primary key, cust int, at timestamptz, amt numeric(10,2), note text);
insert into o select i, i % 50, timestamptz '2026-01-01 00:00+00' + i * interval '1 hour', i *
	1.37, case when i % 10 <> 0 then 'note ' || i end from generate_series(1, 5000) i;
create table cu (id int primary key, name text);
insert into cu select i, 'cust ' || i from generate_series(0, 59) i;
vacuum analyze o;
vacuum analyze cu;
set timezone = 'UTC';
select name, count(o.id), sum(amt), max(at) from cu left join o on cust = cu.id group by name
	order by 2, 1 limit 12;
select cust, amt, rank() over w, lag(amt) over w, sum(amt) over (partition by cust order by at
	rows 2 preceding) from o where cust < 2 window w as (partition by cust order by amt desc)
	order by cust, amt desc limit 5;
select date_trunc('month', at), count(*) filter (where note is null), percentile_cont(0.5)
	within group (order by amt), array_agg(id order by amt desc) filter (where id % 500 = 0),
	string_agg(distinct left(note, 5), ',') from o group by rollup (1) order by 1;
select grouping(cust, id % 2), cust, id % 2, sum(amt) from o where cust < 3 group by cube (cust,
	id % 2) order by 1, 2, 3;
select distinct on (cust) cust, id, amt from o where id < 200 order by cust, amt desc limit 3;
select * from o where (cust, id) in (values (1, 1), (2, 52)) order by id;
select c.id, l.* from cu c cross join lateral (select id as oid, amt from o where cust = c.id
	order by amt desc limit 1) l order by c.id limit 3;
select count(*) from o where exists (select from cu where cu.id = cust and name like '%9') and
	not exists (select from o x where x.id = o.id + 4990);
select id from o except select id from o where id > 3 order by 1;
select cust from o intersect all select id from cu order by 1 limit 3;
select json_agg(o order by id) from o where id < 3;
select json_object_agg(id, amt) from o where id < 3;
select id from o order by note nulls first, id desc fetch first 3 rows with ties;
select id from o order by cust fetch first 1 row with ties;
select id from o order by amt desc offset 4995;
select * from o limit -1;
select * from o limit null offset 4999;
select sum(amt) / 0 from o;
select 1 / (id - 5) from o;
select note::int from o where id = 3;
select max(id), min(note) from o where false;
select cust from o group by id, cust having count(*) > 1;
select id, sum(amt) from o;
select width_bucket(amt, 0, 7000, 7) b, count(*), avg(amt)::numeric(10,3),
	stddev(amt)::numeric(12,4), corr(id, amt) from o group by b order by b;
select * from generate_series(1, 3) g left join o on o.id = g * 2000 order by g;
select id, at from o where at between '2026-01-02' and '2026-01-02 02:00' order by at;
select extract(dow from at) d, count(*) from o group by d order by d;
select count(*) from o a join o b on a.cust = b.cust and a.id < b.id where a.id < 100;
select count(*), count(note), count(distinct cust), bool_and(amt > 0), bit_or(id), every(note is
	not null) from o;
with recursive r(n, id) as (select 1, 1 union all select n + 1, o.id from r join o on o.id =
	r.id * 3) select * from r;
select note from o where note ilike 'NOTE 12__' order by 1 limit 2;
select note from o where note ~ '^note [1]{3}$';
select note from o where note similar to 'note (1|2)' order by 1;
select id from o where amt = any (array[1.37, 2.74]) order by 1;
select id from o where id = all (array[5]);
select id from o where note is not distinct from null order by id limit 2;
select cast(amt as int), amt::float8, amt::text, round(amt, 1), trunc(amt) from o where id =
	777;
-- @ contrib_errors
create table t (id int primary key, v text);
insert into t select i, 'v' from generate_series(1, 1000) i;
create extension pageinspect;
create extension pgstattuple;
create extension amcheck;
create extension pg_prewarm;
create extension pgrowlocks;
create extension pg_surgery;
create extension pg_visibility;
create extension pg_freespacemap;
create extension pg_buffercache;
select count(*) > 0 from bt_page_items('t_pkey', 1);
select bt_index_check('t_pkey', true);
select bt_index_parent_check('t_pkey', true, true);
select leaf_pages > 0 from pgstatindex('t_pkey');
select pg_prewarm('t_pkey') > 0;
select count(*) > 0 from pg_buffercache where relfilenode = pg_relation_filenode('t');
select page_checksum(get_raw_page('t', 0), 0) is not null;
-- @ psql_describe
create table t (id int generated always as identity primary key, v text not null default 'x'
	check (v <> ''), r int references t, unique (v, r)) with (fillfactor = 80);
comment on table t is 'a table';
create index on t (lower(v)) where r is null;
create policy p on t;
create statistics s on v, r from t;
create rule ru as on delete to t do also select 1;
alter table t replica identity full;
create publication pp for table t;
\d t
\d t_pkey
\dt
\di
\dp t
\dX
\dRp+
drop publication pp;
insert into t (v) values ('a'), ('b');
\g
select * from t \gx
table t;
delete from t;
\copy t (v) to stdout
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 't'::regclass order by
	conname;
select pg_get_indexdef(indexrelid) from pg_index where indrelid = 't'::regclass order by 1;
select column_name, data_type, is_nullable, is_identity from information_schema.columns where
	table_name = 't' order by ordinal_position;
select table_type, is_insertable_into from information_schema.tables where table_name = 't';
select * from pg_tables where tablename = 't';
select relkind, relhasindex, relpersistence, relnatts, relchecks, relhasrules, relhastriggers,
	relispopulated, relreplident from pg_class where relname = 't';
-- @ foreign_tables
create extension postgres_fdw;
create server self foreign data wrapper postgres_fdw options (host :'host', port :'port', dbname
	:'DBNAME', use_remote_estimate 'true');
create user mapping for current_user server self options (user :'USER', password_required
	'false');
create table l (id int primary key, v text);
insert into l select i, 'v' || i from generate_series(1, 2000) i;
create foreign table f (id int, v text) server self options (table_name 'l');
select count(*), max(v) from f;
select * from f where id = 77;
update f set v = 'f' where id < 3 returning *;
delete from f where id = 5 returning *;
insert into f values (1, 'dup');
insert into f values (9001, 'new') returning *;
insert into f values (9001, 'new') on conflict do nothing returning *;
analyze f;
select * from f order by id desc limit 2 for update;
import foreign schema public limit to (l) from server self into public;
create schema im;
import foreign schema public limit to (l) from server self into im;
select count(*) from im.l;
copy f from stdin;
9002	cop
\.
begin;
declare c cursor for select * from f where id = 10;
fetch c;
update f set v = 'cur' where current of c;
rollback;
truncate f;
select count(*) from l;
create table pt (id int, v text) partition by list (id);
create foreign table pf partition of pt for values in (1) server self options (table_name 'l');
create table pl partition of pt default;
insert into pt values (1, 'remote'), (2, 'local');
select tableoid::regclass, * from pt order by id;
update pt set id = 3 where id = 2;
