-- WITH that is referred to several times, by a part each time: the same rows and errors as heap
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema with_parts;
set search_path = with_parts, public;
set max_parallel_workers_per_gather = 0;
set client_min_messages = warning;

create table s_h (id int primary key, c int, y int, v int, n numeric(8, 2), t text) using heap;
insert into s_h select g, g * 7 % 5000, 2000 + g / 20000, g % 100, g % 999 / 7.0, 'T' || g % 10
	from generate_series(1, 100000) g;
create table r_h (id int primary key, c int, v int) using heap;
insert into r_h select g, g * 11 % 6000, g % 10 from generate_series(1, 50000) g;
create table c_h (c int primary key, name text) using heap;
insert into c_h select g, 'N' || g % 50 from generate_series(0, 4999) g;
create table s_z (like s_h including indexes) using zedstore;
create table r_z (like r_h including indexes) using zedstore;
create table c_z (like c_h including indexes) using zedstore;
insert into s_z select * from s_h;
insert into r_z select * from r_h;
insert into c_z select * from c_h;
vacuum analyze s_h, r_h, c_h, s_z, r_z, c_z;
create view v_h as with w as (select c, y, sum(v) as n from s_h group by 1, 2)
	select a.c, a.n, b.n as m from w a join w b on b.c = a.c where a.y = 2001 and b.y = 2002;
create view v_z as with w as (select c, y, sum(v) as n from s_z group by 1, 2)
	select a.c, a.n, b.n as m from w a join w b on b.c = a.c where a.y = 2001 and b.y = 2002;

-- Does the query's plan keep what WITH names?
create function keeps(query text) returns boolean language plpgsql as $$
declare
	line text;
	kept boolean := false;
begin
	for line in execute 'explain (costs off) ' || query loop
		kept := kept or line like '%CTE %';
	end loop;
	return kept;
end $$;

-- Does a query return the same from both twins, with the expressions in place and without?  In
-- front: are they kept?
create function parts(query text) returns text language plpgsql as $$
declare
	mode text;
	expected text := test.digest(query, 'h');
	got text;
begin
	foreach mode in array array['off', 'on'] loop
		perform set_config('zedstore.enable_inlined_ctes', mode, true);
		got := test.digest(query, 'z');
		if got is distinct from expected then
			return mode || ': ' || coalesce(got, 'null') || ' instead of ' ||
				coalesce(expected, 'null');
		end if;
	end loop;
	return case when keeps(replace(query, '_@', '_z')) then 'kept: ' else 'in place: ' end ||
		split_part(expected, ' ', 1);
end $$;

-- parts of groups, in one and in several branches
select parts('with w as (select c, y, sum(v) as n from s_@ group by 1, 2)
	select a.c, a.n, b.n as m from w a join w b on b.c = a.c where a.y = 2001 and b.y = 1 + 2001');
select parts('select * from v_@');
select parts('with w as (
	select c, y, sum(v) as n, ''s'' as kind from s_@ group by 1, 2
	union all select c, v, count(*), ''r'' from r_@ group by 1, 2)
	select a.c, a.n, b.n as m from w a join w b on b.c = a.c
	where a.kind = ''s'' and a.y = 2003 and b.kind = ''r'' and b.y in (3, 4) and b.n > 0');
select parts('with w as (select c, max(name) as name, y, avg(n) as n from s_@ join c_@ using (c)
	group by c, y)
	select c, a.name, a.n - b.n as d from w a left join w b using (c) where a.y = 2001
	and b.y = 2002 and c < 4000');
select parts('with w as materialized (select c, y, sum(v) as n from s_@ group by 1, 2),
	x as (select c, y, n from w)
	select * from x a join x b using (c) where a.y = 2001 and b.y = 2002');
select parts('with x as (with w as (select c, y, sum(v) as n from s_@ group by 1, 2)
	select a.c, a.n, b.n as m from w a join w b on b.c = a.c where a.y = 2001 and b.y = 2002)
	select count(*), sum(m) from x where n > 10');
-- for rows that IN and EXISTS look for
select parts('with w as (select a.id from s_@ a, r_@ b where a.c = b.c and a.v <> b.v)
	select count(*) from c_@ where c < 9 and c in (select id from w)
	and c in (select r.id from r_@ r join w on r.id = w.id)');
select parts('with w as (select a.id, a.c from s_@ a join r_@ b on a.c = b.c and a.v > b.v)
	select count(*) from c_@ o where c < 30 and exists (select from w where w.id = o.c)
	and not exists (select from w where w.id = o.c + 9)');
-- a reference that needs all, one that needs a part by a correlated subquery
select parts('with w as (select c, y, sum(v) as n from s_@ group by 1, 2)
	select a.c from w a join w b on b.c = a.c where a.y = 2001 and b.n > a.n + 40');
select parts('with w as (select c, y, sum(v) as n from s_@ group by 1, 2)
	select c from w a where y = 2001 and c < 500
	and n > (select avg(n) from w b where b.c = a.c)');
-- what core does not copy, or is told to keep
select parts('with w as materialized (select c, y, sum(v) as n from s_@ group by 1, 2)
	select * from w a join w b using (c) where a.y = 2001 and b.y = 2002');
select parts('with w as (select c, y, sum(v) as n, max(random()) < 2 as r from s_@ group by 1, 2)
	select * from w a join w b using (c) where a.y = 2001 and b.y = 2002');
select parts('with recursive w (c, y) as (select c, y from s_@ where id < 50 union
	select c + 1, y from w where c < 30)
	select * from w a join w b using (c) where a.y = 2000 and b.y = 2000');
select parts('with w as (select * from s_@ where v > 50 for update)
	select a.id, b.id as b from w a join w b using (c) where a.y = 2001 and b.y = 2002');
-- rows that are their equals in an order, and samples: both references see the same
set zedstore.debug_vector = force;
select parts('with w as (select id, y, v, lag(id) over (partition by y order by v) as p from s_@)
	select a.id, a.y from w a join w b using (id) where a.y = 2001 and b.v > 40
	and a.p is distinct from b.p');
select parts('with w as (select c, y, row_number() over (partition by y order by v) as n from s_@)
	select count(*) from w a join w b using (n) where a.y = 2001 and b.y = 2001 and a.c <> b.c');
select parts('with w as (select id, c, y, sum(v) over (order by y rows 1 preceding) as n from s_@)
	select count(*) from w a join w b using (id) where a.y = 2001 and b.c < 3000 and a.n <> b.n');
select parts('with w as (select id, c, y, v from s_@ order by y, v limit 30000)
	select count(*) from w a join w b using (id) where a.y = 2001 and b.v = 3');
select parts('with w as (select distinct on (y, c) y, c, id from s_@ order by y, c)
	select count(*) from w a join w b using (y, c) where a.y = 2001 and b.y = 2001
	and a.id <> b.id');
select parts('with w as (select c, y, (select id from r_@ r where r.c = s.c order by v limit 1) as i
	from s_@ s where id < 2000)
	select count(*) from w a join w b using (c, y) where a.y = 2000 and b.y = 2000 and a.i <> b.i');
select parts('with w as (select id, y, v from s_@ tablesample bernoulli (50))
	select id from w where y = 2001 except select id from w where y = 2001 and v >= 0');
select parts('with w as (select id, c, y from s_@ tablesample bernoulli (100) repeatable (1))
	select count(*) from w a join w b using (c) where a.y = 2001 and b.y = 2002');
select parts('with w as (select c, y, rank() over (partition by y order by v) as r,
		sum(v) over (partition by y order by c) as n from s_@)
	select a.c, a.r, b.r as s, b.n from w a join w b on b.c = a.c where a.y = 2001 and b.y = 2002');
-- aggregates that show the order of their rows, be it by how a sum is rounded; others do not
select parts('with w as (select c, y, array_agg(id) as n from s_@ group by 1, 2)
	select count(*) from w a join w b using (c) where a.y = 2001 and b.y = 2001 and a.n <> b.n');
select parts('with w as (select c, y, sum(n::float8) as n from s_@ group by 1, 2)
	select count(*) from w a join w b using (c) where a.y = 2001 and b.y = 2001 and a.n <> b.n');
select parts('with w as (select id, c, y, string_agg(t, '','') over (partition by y) as n
	from s_@ where id % 100 = 0)
	select count(*) from w a join w b using (id) where a.y = 2001 and b.y = 2001 and a.n <> b.n');
select parts('with w as (select c, y, string_agg(t, '','' order by v) as n from s_@ group by 1, 2)
	select count(*) from w a join w b using (c) where a.y = 2001 and b.y = 2001 and a.n <> b.n');
select parts('with w as (select c, y, string_agg(t, '','' order by t) as n,
		array_agg(distinct v) as d, percentile_disc(0.5) within group (order by v) as m,
		max(t) as t, min(array[v]) as a from s_@ group by 1, 2)
	select a.c, a.n, b.n as o, a.d, b.m, a.t, b.a from w a join w b on b.c = a.c
	where a.y = 2001 and b.y = 2002');
reset zedstore.debug_vector;
-- conditions that may raise an error do not come before those that keep them from it
select parts('with w as (select c, y, sum(v) as n from s_@ group by 1, 2 having sum(v) > 90)
	select a.c from w a join w b using (c) where a.y = 2001 and b.y = 2002 and 10 / (a.n - 7) = 0');
select parts('with w as (select id, c, y, v from s_@ where v <> 0)
	select a.c from w a join w b using (c) where a.y = 2001 and b.y = 2002 and 10 / a.v = 1');
select parts('with w as (select id, c, y, v from s_@ where v <> 0)
	select a.c from w a join w b on b.c = a.c and 10 / a.v = b.v where a.y = 2001 and b.y = 2002');
select parts('with w as (select c, y, 100 / v as q from s_@ where v <> 0)
	select a.c from w a join w b using (c) where a.y = 2001 and b.y = 2002 and a.q = 50');
select parts('with w as (select c, y, q, count(*) as n from (select c, y, 100 / v as q from s_@
	where v <> 0) s group by 1, 2, 3)
	select a.c from w a join w b using (c) where a.y = 2001 and b.y = 2002 and a.q = 50');
select parts('with w as (select c, y, v from s_@ where v <> 0 union all select c, v, id from r_@)
	select a.c from w a join w b using (c) where a.y = 2001 and b.y = 5 and 10 / a.v > b.v');
select parts('with w as (select c, y, v from s_@ where v <> 0 union all select c, v, id from r_@)
	select a.c from w a join w b using (c) where a.y = 2001 and b.y = 5 and 10 / a.v > 1');
select parts('with w as (select id, c, y, t from s_@ where t <> ''T3'')
	select a.c from w a join w b using (c) where a.y = 2001 and b.y = 2002
	and substr(a.t, 2)::int = 4');
select parts('with w as (select c, y, 100 / v as q from s_@ where v <> 0)
	select count(*) from c_@ where c < 30 and c in (select c from w where q = 50)
	and c in (select c from w where y = 2001)');
select parts('with w as (select c, y, v from s_@ where v <> 0)
	select count(*) from c_@ left join (w a join w b using (c, y)) on c_@.c = b.c and 10 / b.v > 1
	and a.y = 2001 and b.y = 2001 where c_@.c < 30');
-- nor those with columns that are expressions; 17 has none
select current_setting('server_version_num')::int >= 180000 as has_virtual \gset
\if :has_virtual
\set generated '(100 / v) virtual'
\else
\set generated '(100 / nullif(v, 0)) stored'
\endif
create table g_h (id int, c int, v int, q int generated always as :generated) using heap;
create table g_z (id int, c int, v int, q int generated always as :generated) using zedstore;
insert into g_h select g, g % 100, g % 50 from generate_series(1, 20000) g;
insert into g_z select g, g % 100, g % 50 from generate_series(1, 20000) g;
vacuum analyze g_h, g_z;
select split_part(parts('with w as (select * from g_@ where abs(v) + 0 > 0)
	select count(*) from w a join w b using (id) where a.q = 50 and b.c < 30'), ': ', 2);
-- an error of a column that nobody asks for: of rows that are asked for it remains
select parts('with w as (select c, y, sum(1 / (v - 50)) as n from s_@ group by 1, 2)
	select a.n from w a join w b using (c) where a.y = 2001 and b.y = 2002');

-- parameters
prepare p (int, int) as with w as (select c, y, sum(v) as n from s_z group by 1, 2)
	select a.c, a.n, b.n as m from w a join w b on b.c = a.c
	where a.y = $1 and b.y = $2 and a.n > 380 and b.n > 380 and a.c < 700 order by 1;
select keeps('execute p (2001, 2002)');
execute p (2001, 2002);
execute p (2002, 2001);
set plan_cache_mode = force_generic_plan;
execute p (2001, 2002);
reset plan_cache_mode;
-- cursors
begin;
declare k cursor for with w as (select c, y, sum(v) as n from s_z group by 1, 2)
	select a.c, a.n, b.n from w a join w b on b.c = a.c where a.y = 2001 and b.y = 2002
	order by 1;
fetch 3 from k;
move 100 in k;
fetch 2 from k;
rollback;
-- what costs little is planned once, and tables of heap are left to core
select keeps('with w as (select c, y, sum(v) as n from s_z where id < 100 group by 1, 2)
	select * from w a join w b using (c) where a.y = 2000 and b.y = 2001');
select keeps('with w as (select c, y, sum(v) as n from s_h group by 1, 2)
	select * from w a join w b using (c) where a.y = 2001 and b.y = 2002');
drop schema with_parts cascade;
