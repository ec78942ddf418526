-- correlated subqueries remember their results: the same rows and errors as heap
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema node_cache;
set search_path = node_cache, public;
set max_parallel_workers_per_gather = 0;
set client_min_messages = warning;

-- Compares heap with zedstore: without a cache, with one, verified, and with little memory.  In
-- front: "H" if a result was found, "M" if some were looked for, "-" if there is no cache.  _@
-- stands for _h and _z.
create function cached(query text) returns text language plpgsql as $$
declare
	mode text;
	expected text := test.digest(query, 'h');
	got text;
	line text;
	seen text := '-';
begin
	foreach mode in array array['off', 'on', 'verify', 'little'] loop
		perform set_config('zedstore.enable_result_cache', case mode when 'off' then 'off' else
	'on' end, true);
		perform set_config('zedstore.debug_vector', case mode when 'verify' then mode else
	'off' end, true);
		perform set_config('work_mem', case mode when 'little' then '64kB' else '4MB' end, true);
		got := test.digest(query, 'z');
		if mode = 'on' and test.succeeded(got) then
			for line in execute 'explain (analyze, costs off, timing off, summary off,
				buffers off) ' || replace(query, '_@', '_z') loop
				if line like '% Hits: 0 %' and seen = '-' then
					seen := 'M';
				elsif line like '% Hits: %' and line not like '% Hits: 0 %' then
					seen := 'H';
				end if;
			end loop;
		end if;
		perform set_config('zedstore.enable_result_cache', 'on', true);
		perform set_config('zedstore.debug_vector', 'off', true);
		perform set_config('work_mem', '4MB', true);
		if got is distinct from expected then
			return format('DIFFERENT (%s): %s instead of %s', mode, got, expected);
		end if;
	end loop;
	return seen || ' ' || test.count_of(expected);
end $$;

-- o: rows of the queries, most of whose values come again; i: what they look for
create table o_h (id int, k int, t text, n numeric, d float8, u uuid, a int[], long text) using
	heap;
insert into o_h select g, nullif(g % 13, 12), 'T' || g % 7, (g % 5)::numeric(10, 1), nullif(g %
	3, 2) * -0.0,
		md5((g % 9)::text)::uuid, array[g % 4, null], repeat('L' || g % 3, 5000)
	from generate_series(1, 200) g;
insert into o_h select 1000 + g, g, 't' || g, g::numeric(10, 2), 0.0, null, null, null from
	generate_series(1, 6) g;
create table i_h (id int, k int, t text, n numeric, v int) using heap;
insert into i_h select g, g % 12, 'T' || g % 7, g % 5, g % 50 from generate_series(1, 600) g;
create table o_z (like o_h) using zedstore;
create table i_z (like i_h) using zedstore;
insert into o_z select * from o_h;
insert into i_z select * from i_h;
insert into o_h select 2000 + g, g % 13, 'later' from generate_series(1, 20) g;
insert into o_z select 2000 + g, g % 13, 'later' from generate_series(1, 20) g;
create index on i_h (k);
create index on i_z (k);
vacuum analyze o_h, i_h, o_z, i_z;

-- each kind of expression
select cached('select id, (select sum(v) from i_@ i where i.k = o.k) from o_@ o');
select cached('select id from o_@ o where id > (select avg(v) + 100 from i_@ i where i.k = o.k
	and i.t = o.t)');
select cached('select id from o_@ o where exists (select 1 from i_@ i where i.k > o.k and i.v =
	o.k + 40) or id < 5');
select cached('select id from o_@ o where not exists (select from i_@ i where i.k > o.k and i.v
	= 49) or id < 5');
select cached('select id from o_@ o where exists (select sum(v) from i_@ i where i.k = o.k
	having sum(v) > 1000)');
select cached('select id, k in (select v from i_@ i where i.k >= o.k and i.id < 500) from o_@ o');
select cached('select id, k not in (select v from i_@ i where i.k >= o.k and i.id < 500) from
	o_@ o');
select cached('select id, k > any (select v from i_@ i where i.k = o.k), k > all (select v from
	i_@ i where i.k = o.k) from o_@ o');
select cached('select id, array(select v from i_@ i where i.k = o.k order by v, id limit 20)
	from o_@ o');
select cached('select id, (k, t) >= (select min(i.k), max(i.t) from i_@ i where i.k = o.k) from
	o_@ o');
select cached('select id, (select i from i_@ i where i.k = o.k order by id limit 1) from o_@ o');
select cached('select id, (select v from i_@ i where i.id = o.k) from o_@ o');
select cached('select id, (select v from i_@ i where i.k = o.k) from o_@ o');
select cached('select k, sum((select max(v) from i_@ i where i.k = o.k)) from o_@ o group by k
	having count(*) > (select count(*) from i_@ i where i.k = o.k and v < 4)');
select cached('select id from o_@ o order by (select count(*) from i_@ i where i.k < o.k), id
	limit 30');
select cached('select id, case when k > 3 then (select max(v) from i_@ i where i.k = o.k) else
	(select min(1 / (v - 3)) from i_@ i where i.k = o.k and i.v <> 3) end from o_@ o');

-- the parameter itself is among what the subquery returns
select cached('select id, (select o.t from i_@ i where i.k = o.k order by id limit 1) from o_@ o');
select cached('select id from o_@ o where (k, t) in (select o.k, i.t from i_@ i where i.k = o.k
	and i.v < 9) or (t, k) not in (select o.t, o.k from i_@ i where i.k > o.k)');

-- values of all kinds, by their images
select cached('select id, (select count(*) from i_@ i where i.t = o.t) from o_@ o');
select cached('select id, (select max(v || o.n::text) from i_@ i where i.n = o.n) from o_@ o');
select cached('select id, (select max(v || o.d::text) from i_@ i where i.v = o.d) from o_@ o');
select cached('select id, (select max(o.u::text || v) from i_@ i where i.v > 3) from o_@ o');
select cached('select id, (select max(v) from i_@ i where v = any (o.a)) from o_@ o');
select cached('select id, (select max(md5(o.long || v)) from i_@ i where v = 3 and id < 500)
	from o_@ o');
select cached('select id, (select max(v) from i_@ i where row(o.k, o.t) > row(i.k, i.t)) from
	o_@ o');
select cached('select id, (select max(v) from i_@ i where (o.*)::text > i.t) from o_@ o where
	id % 10 = 0');

-- subqueries of subqueries, initplans, CTEs
select cached('select id, (select max(v + (select min(id) from i_@ j where j.k = i.k and j.v >
	o.k)) from i_@ i where i.k = o.k and i.id < 300) from o_@ o where o.id % 40 < 3');
select cached('select id, (select max(v) from i_@ i where i.v < (select max(id) from i_@ j
	where j.k = o.k) % 50) from o_@ o');
select cached('select id, (select max(v) from i_@ i where i.k = o.k and i.v < (select max(v) -
	10 from i_@)) from o_@ o');
select cached('select id, (with w as materialized (select v from i_@ i where i.k = o.k) select
	count(*) from w a, w b where a.v = b.v) from o_@ o where id % 10 = 0');
select cached('with w as materialized (select * from i_@ where v < 25) select id, (select
	count(*) from w where w.k = o.k) from o_@ o');
select cached('select id, (with recursive r as (select o.k as x union all select x + 1 from r
	where x < 12) select sum(v) from r, i_@ i where i.k = r.x) from o_@ o where id % 10 = 0');
select cached('with recursive r as (select 1 as x, 0::bigint as s union all select x + 1,
	(select count(*) from i_@ i where i.k = r.x % 3) from r where x < 40) select * from r');
select cached('with recursive r as (select 1 as x union all select x + 1 from r where x < 20)
	select x, l.* from r, lateral (select max((select count(*) from i_@ i where i.k = o.k and
	i.v > x)) from o_@ o where o.id < 20) l');
select cached('select g, s from generate_series(1, 30) g, lateral (select (select count(*) from
	i_@ i where i.k = o.k and i.v > (select g % 3)) as s from o_@ o where o.id < 20) l');
select cached('select id, (select count(*) from (select i.v from i_@ i where i.k = o.k union
	select i.id from i_@ i where i.k = o.k) q) from o_@ o');
select cached('select id, (select count(*) from (select i.v from i_@ i where i.k = o.k
	intersect select o.id) q) from o_@ o');

-- nothing is remembered of what may change, or where rows are locked
select cached('select id, (select count(*) from i_@ i where i.k = o.k and random() >= 0) from
	o_@ o where id < 50');
select cached('select id, (select count(*) + (select 0 * count(random()) from i_@ j where j.k =
	i.k and j.v = o.k) from i_@ i where i.k = o.k group by i.k) from o_@ o where id < 50');
select cached('select id, (select v from i_@ i where i.id = o.k for update) from o_@ o where id
	< 50');
select cached('select id, (select count(*) >= 0 from i_@ i tablesample bernoulli (50) where i.k
	= o.k) from o_@ o where id < 50');
-- nor where no table is ours
explain (costs off) select id, (select sum(v) from i_h i where i.v = o.k) from o_h o;
explain (costs off) select id, (select sum(v) from i_h i where i.v = o.k) from o_z o;
explain (costs off) select id, (select sum(v) from i_z i where i.v = 3) from o_z o;

-- errors come as often as they are asked for
select cached('select id, (select max(v / (o.k - 5)) from i_@ i where i.k = o.k) from o_@ o');
create function caught(x int) returns text language plpgsql as $$
begin
	return (select max(100 / (x - 5 + 0 * v)) from i_z i where i.k = x);
exception when division_by_zero then
	return 'zero';
end $$;
select x, caught(x) from generate_series(4, 6) x, generate_series(1, 2);

-- more than memory has room for; all values different; one result that is too large
create table w_h as select g as id, g % 1500 as k, repeat('w', 200) as w from
	generate_series(1, 4500) g;
create table w_z using zedstore as select * from w_h;
vacuum analyze w_h, w_z;
select cached('select id, (select max(v)::text || w.w from i_@ i where i.id = w.k % 5) from w_@
	w');
select cached('select id, (select w.id + 1 from i_@ i where i.id = 1) from w_@ w');
select cached('select id, (select length(string_agg(w.w || v::text, '''')) from i_@ i) from w_@
	w where id < 8');
select cached('select id, array(select repeat(''x'', 3000) from i_@ i where i.id > o.k) from
	o_@ o where id < 40');

-- what EXPLAIN shows
create function run(query text) returns setof text language plpgsql as $$
begin
	return query execute 'explain (analyze, costs off, timing off, summary off, buffers off) '
	|| query;
end $$;
create function counts(query text) returns setof text language sql as $$
	select m[1] || ' hits, ' || m[2] || ' misses' || coalesce(m[3], '') from
		(select regexp_match(line, 'Hits: (\d+)  Misses: (\d+)  .*kB(  Given Up: true)?') as m
			from run(query) line) q where m is not null
$$;
explain (costs off, verbose) select id, (select sum(v) from i_z i where i.v = o.k and i.t =
	o.t) from o_z o;
select counts('select (select sum(v) from i_z i where i.v = o.k) from o_z o where id <= 200');
select counts('select (select sum(v) from i_z i where i.v = w.id) from w_z w');
select counts('select (select sum(v) from i_z i where i.v = w.k % 10) from w_z w');
create function properties(query text) returns jsonb language plpgsql as $$
declare
	plan jsonb;
begin
	execute 'explain (analyze, costs off, timing off, summary off, buffers off, format json) '
	|| query into plan;
	return jsonb_path_query_first(plan, '$.**?(@."Custom Plan Provider" == "ZedstoreCache")') -
	'Plans' - 'Peak Memory Usage';
end $$;
select * from jsonb_each(properties('select (select sum(v) from i_z i where i.v = o.k) from o_z
	o where id <= 200'))
	where key like 'Cache%' or key like 'Custom%';

-- parameters of prepared statements and of functions
prepare p (int) as select id, (select sum(v) + $1 from i_z i where i.k = o.k and i.v > $1) as s
	from o_z o;
create temp table r1 as execute p(10);
set plan_cache_mode = force_generic_plan;
create temp table r2 as execute p(10);
reset plan_cache_mode;
select count(*) from (select * from r1 except all select * from r2) q;
create function sums(x int) returns bigint language plpgsql stable as $$
declare
	r record;
	total bigint := 0;
begin
	for r in select (select sum(v) from i_z i where i.k = o.k and i.v > x) as s from o_z o loop
		x := x + 1;				-- the query goes on with what x was
		total := total + coalesce(r.s, 0);
	end loop;
	return total;
end $$;
select sums(10) = (select sum((select sum(v) from i_h i where i.k = o.k and i.v > 10)) from o_h
	o);

-- statements that write, and their own rows
select test.both('update o_@ o set (k, t) = (select max(i.k) + o.id % 2, min(i.t) from i_@ i
	where i.k = o.k) where id % 3 = 0');
select test.same('select id, k, t from o_@');
select test.both('update o_@ o set k = (select count(*) from o_@ p where p.k = o.k) where id %
	5 = 0');
select test.same('select id, k, t from o_@');
select test.both('delete from o_@ o where (select count(*) from o_@ p where p.k = o.k) > 60');
select test.same('select id, k, t from o_@');
select test.both('insert into o_@ (id, k) select id + 5000, (select sum(v) from i_@ i where i.k
	= o.k) from o_@ o');
select test.same('select id, k, t from o_@');

-- a cursor goes on where others have written
begin;
declare c cursor for select id, (select count(*) from i_z i where i.k = o.id) from o_z o order
	by id;
fetch 2 from c;
delete from i_z where k < 3;
fetch 3 from c;
rollback;

-- workers remember for themselves
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
select test.same('select sum((select sum(v) from i_@ i where i.k = w.k % 12)) from w_@ w');
select test.same('select id, (select sum(v) from i_@ i where i.k = w.k % 12) from w_@ w where
	id % 7 = 3');
drop schema node_cache cascade;
