--
-- Ranking window functions without a tuplestore (ZedstoreWindow); heap is the oracle
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\set ECHO none
\i :include
\set ECHO all
create schema node_window;
set search_path = node_window, public;
set zedstore.min_segment_rows = 1024;
set max_parallel_workers_per_gather = 0;

-- peers, NULLs, equal values of several forms, rows in columns and in the row tree, deleted ones
create table w_h (id int, p int, q text, n numeric, f float8, ts timestamp, c text collate "C",
	r int4range);
create table w_z (like w_h) using zedstore with (autovacuum_enabled = off);
create function load(first int, last int) returns setof w_h language sql as $$
	select g, nullif(g / 40 % 60, 7), case when g % 31 = 0 then null else 'name ' || g % 11 end,
		case g % 13 when 0 then null when 1 then 'NaN' when 2 then 1.50 when 3 then 1.5
			else (g % 5)::numeric end,
		case g % 17 when 0 then '-0' when 1 then 0 when 2 then 'NaN' when 3 then null
			else (g % 7)::float8 end,
		timestamp '2024-01-01' + g / 3 * interval '1 min', repeat('c', 1 + g % 3),
		case when g % 9 > 0 then int4range(g % 4, g % 4 + 5) end
	from generate_series(first, last) g
$$;
insert into w_h select * from load(1, 3072);
insert into w_z select * from load(1, 3072);
select count(*) from w_z;
select test.both('insert into w_@ select * from load(3073, 3300)');
select test.both('delete from w_@ where id % 23 = 5 or p = 11');
create table empty_h (id int, p int);
create table empty_z (like empty_h) using zedstore;
vacuum analyze w_z, empty_z;
analyze w_h, empty_h;

create function nodes(query text) returns text language plpgsql as $$
declare
	plan jsonb;
begin
	execute 'explain (format json) ' || replace(query, '_@', '_z') into plan;
	return (select string_agg(coalesce(n ->> 'Custom Plan Provider', n ->> 'Node Type'), ', ')
		from jsonb_path_query(plan, 'strict $.** ? (exists (@."Node Type"))') n
		where n ->> 'Node Type' = 'WindowAgg' or n ->> 'Custom Plan Provider' = 'ZedstoreWindow');
end $$;
create table queries (nr serial, query text);
insert into queries (query) values
	('select id, row_number() over (order by id) from w_@'),
	('select id, row_number() over (order by id desc) from w_@'),
	('select id, row_number() over (partition by p order by id) from w_@'),
	('select id, rank() over (partition by p order by q) as k from w_@'),
	('select id, dense_rank() over (partition by p order by q desc nulls last) from w_@'),
	('select id, rank() over w, dense_rank() over w from w_@ window w as (partition by q order by
		n nulls first, f desc)'),
	('select id, rank() over (order by ts), row_number() over (order by ts, id) from w_@'),
	('select id, rank() over (partition by n), dense_rank() over (order by c) from w_@'),
	('select id, rank() over (partition by f order by n), q from w_@ where id % 3 = 1'),
	('select id, rank() over (partition by r order by c collate "und-x-icu", n) from w_@'),
	('select id, rank() over (partition by p, p order by p, id), rank() over () from w_@'),
	('select rank() over (partition by 1 order by 2), id from w_@'),
	('select count(*), max(k) from (select row_number() over () as k from w_@) s'),
	('select count(*), max(k) from (select row_number() over (order by random()) as k from w_@) s'),
	('select id, row_number() over (order by id) * 2 + dense_rank() over (order by ts) from w_@'),
	('select id, sum(p) over (partition by q order by id), row_number() over (partition by q
		order by id), rank() over (order by n) from w_@'),
	('select id, row_number() over (partition by p order by id), lag(id) over (partition by p
		order by id) from w_@'),
	('select id, row_number() over (order by id rows between 2 preceding and 1 following),
		rank() over (order by id range between 2 preceding and current row) from w_@'),
	('select id, dense_rank() over (order by ts groups between unbounded preceding and current row
		exclude ties) from w_@'),
	('select p, count(*), rank() over (order by count(*), p), dense_rank() over (partition by
		count(*) order by p) from w_@ group by p'),
	('select distinct dense_rank() over (order by p) from w_@'),
	('select id, rank() over (order by q) from w_@ order by rank() over (order by q) desc, id
		limit 100'),
	('select id from w_@ order by row_number() over (partition by p order by id), id limit 70'),
	('select id, k from (select id, row_number() over (partition by p order by id desc) as k
		from w_@) s where k <= 2'),
	('select id, k from (select id, row_number() over (order by id) as k from w_@) s where 5 >= k'),
	('select id, k from (select id, rank() over (order by q, ts) as k from w_@) s where k < 30'),
	('select id, k from (select id, dense_rank() over (partition by p order by q) as k from w_@) s
		where k = 3'),
	('select * from (select id, p, dense_rank() over (partition by p order by q) as k,
		row_number() over (partition by q order by id) as l from w_@) s
		where k <= 3 and l <= 20 and p > 5'),
	('select * from (select id, rank() over (order by n) as k, sum(id) over (order by ts) as l
		from w_@) s where k <= 900 and l > 1000'),
	('select * from (select id, row_number() over (order by id) as k, count(*) over (partition by
		p) as l from w_@) s where k <= 300 and l < 90'),
	('select * from (select id, row_number() over (partition by p order by id) as k from w_@) s
		where k <= (select 2 + count(*) from empty_@)'),
	('select * from (select id, row_number() over (order by id) as k from w_@) s where k < 0'),
	('select * from (select id, row_number() over (order by id) as k from w_@) s where k < null'),
	('select id, row_number() over (order by id) in (select 2 * id from w_@ where id < 20)
		from w_@'),
	('select id, (select max(v.id) from w_@ v where v.id < k) from (select id, rank() over (
		order by ts) as k from w_@ where p = 3) s'),
	('select g, l.* from generate_series(1, 40) g, lateral (select id, k from (select id,
		row_number() over (partition by q order by id) as k from w_@ where p = g) s
		where k <= g % 3 limit 5) l'),
	('select g, (select sum(k) from (select rank() over (partition by q order by id) as k from
		w_@ where p = g) s) from generate_series(1, 9) g'),
	('select v.id, rank() over (partition by v.p order by w.id) from w_@ v join w_@ w
		on v.id = w.id + 1 where v.p < 20'),
	('select *, row_number() over (partition by p order by id) from empty_@'),
	('select * from (select v, row_number() over (partition by v.p order by v.id) as k from w_@ v)
		s where k = 1'),
	('select id, percent_rank() over (order by n), rank() over (order by n) from w_@'),
	('select id, ntile(3) over (order by id), rank() over (order by f) from w_@');
select q.nr, test.same(query) as same, nodes(query) from queries q order by 1;
-- with sorts and without, with little memory, off
create function check_all() returns table (nr int, result text) language sql as $$
	select nr, test.same(query) from queries order by nr
$$;
set enable_sort = off;
set work_mem = '64kB';
select * from check_all() where result <> 't';
reset work_mem;
reset enable_sort;
set enable_incremental_sort = off;
set zedstore.debug_vector = verify;
set debug_parallel_query = on;
select * from check_all() where result <> 't';
reset debug_parallel_query;
reset zedstore.debug_vector;
reset enable_incremental_sort;
set zedstore.enable_window = off;
select nodes('select rank() over (order by id) from w_@');
select * from check_all() where result <> 't';
reset zedstore.enable_window;
-- tables of others alone are core's
select nodes('select rank() over (order by id) from w_h');
-- frames that core complains of
select test.both('select row_number() over (order by id rows -1 preceding) from w_@');
select test.both('select rank() over (order by id rows between null preceding and current row)
	from w_@');
-- what is shown; core's WindowAgg differs from major to major
create function shown(options text, query text) returns setof text language plpgsql as $$
declare
	line text;
begin
	for line in execute format('explain (costs off, %s) ', options) || query loop
		if line !~ 'Window: ' then
			return next regexp_replace(regexp_replace(line, ' \(actual rows=(\d+).*', ': \1 rows'),
				' OVER (w1|\(\?\))', ' OVER');
		end if;
	end loop;
end $$;
explain (costs off) select id, rank() over (partition by p order by q) from w_z;
select shown('verbose', 'select * from (select p, n, dense_rank() over w as k,
	row_number() over w as l, sum(id) over (order by n) from w_z window w as (partition by p
	order by n)) s where k < 3 and l <> 2');
select shown('analyze, timing off, summary off, buffers off', 'select * from (select id,
	rank() over (order by id) as k from w_z) s where k <= 3');
select test.digest('select v.id, (select row_number() over (order by w.id) from w_@ w
	where w.p = v.p limit 1) from w_@ v', 'z') = test.digest('select v.id, (select row_number()
	over (order by w.id) from w_@ w where w.p = v.p limit 1) from w_@ v', 'h') as same;
-- a window below what remembers results of subqueries, ours and core's
explain (costs off, verbose) select (select row_number() over (order by w.id) from w_z w
	where w.p = v.p limit 1) from w_z v;
set zedstore.enable_window = off;
do $$ begin
	execute 'explain (verbose) select (select row_number() over (order by w.id) from w_z w
		where w.p = v.p limit 1) from w_z v';
end $$;
reset zedstore.enable_window;
-- no row is read that is not wanted
create function rows_read(query text) returns bigint language plpgsql as $$
declare
	plan jsonb;
begin
	execute 'explain (analyze, timing off, format json) ' || query into plan;
	return (select max((n ->> 'Actual Rows')::numeric) from jsonb_path_query(plan,
		'strict $.** ? (exists (@."Node Type"))') n);
end $$;
select rows_read('select id, row_number() over (order by id) from w_z limit 3') as limited,
	rows_read('select * from (select id, row_number() over (order by id) as k from w_z) s
		where k <= 5') as run_condition;
-- parameters of generic plans, cursors that go back, rows that are updated from a window
set plan_cache_mode = force_generic_plan;
prepare first(int) as select count(*), sum(id) from (select id, row_number() over (partition by p
	order by id) as k from w_z) s where k <= $1;
execute first(1);
execute first(0);
execute first(null);
reset plan_cache_mode;
begin;
declare c scroll cursor for select id, row_number() over (order by id) from w_z;
fetch 2 from c;
fetch last from c;
fetch backward 2 from c;
fetch first from c;
rollback;
select test.both('update w_@ set p = k from (select id as i, row_number() over (partition by q
	order by id) as k from w_@) s where i = id and k < 5');
select test.same('select * from w_@');
-- who may not call what compares gets core's error
create type pair as (a int, b int);
create function pair_cmp(pair, pair) returns int language sql immutable as
	'select case when $1.a = $2.a then 0 when $1.a < $2.a then -1 else 1 end';
create function pair_eq(pair, pair) returns bool language sql immutable as 'select $1.a = $2.a';
create function pair_lt(pair, pair) returns bool language sql immutable as 'select $1.a < $2.a';
create operator ==== (leftarg = pair, rightarg = pair, function = pair_eq);
create operator <<<< (leftarg = pair, rightarg = pair, function = pair_lt);
create operator class pair_ops default for type pair using btree as operator 1 <<<<,
	operator 3 ====, function 1 pair_cmp(pair, pair);
create table pairs_h (id int, v pair);
create table pairs_z (like pairs_h) using zedstore;
select test.both('insert into pairs_@ select g, row(g % 5, g)::pair from generate_series(1, 50) g');
select test.same('select id, rank() over (partition by v order by id), dense_rank() over (
	order by v) from pairs_@');
revoke execute on function pair_eq(pair, pair) from public;
create role regress_window;
grant usage on schema node_window to regress_window;
grant select on pairs_h, pairs_z to regress_window;
set role regress_window;
select rank() over (partition by v order by id) from pairs_h;
select rank() over (partition by v order by id) from pairs_z;
reset role;
select test.check('w_z');
set client_min_messages = warning;
drop schema node_window cascade;
drop role regress_window;
