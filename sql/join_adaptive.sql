-- nested loops that turn to a hash join, and loops that go: the same rows and errors as heap
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema join_adaptive;
set search_path = join_adaptive, public;
set max_parallel_workers_per_gather = 0;
set client_min_messages = warning;

create table o_h (id int primary key, k int, t text, big text) using heap;
insert into o_h select g, nullif(g % 40, 39), 'T' || g % 7, repeat('b', g % 3 * 2000)
	from generate_series(1, 300) g;
create table i_h (id int primary key, k int, t text, v int) using heap;
insert into i_h select g, g % 3000, 'T' || g % 7, g % 50 from generate_series(1, 9000) g;
create index on i_h (k);
create table o_z (like o_h including indexes) using zedstore;
create table i_z (like i_h including indexes) using zedstore;
insert into o_z select * from o_h;
insert into i_z select * from i_h;
vacuum analyze o_h, i_h, o_z, i_z;

-- Does a query return the same from both twins, without adaptive joins and with them turning to the
-- hash join after 1, 3 and 1000 rows, and when costs say?  In front: "A": there is such a join,
-- "S": it switched.
create function adapts(query text) returns text language plpgsql as $$
declare
	mode text;
	expected text := test.digest(query, 'h');
	got text;
	line text;
	seen text := '-';
begin
	foreach mode in array array['off', '0', '1', '3', '1000'] loop
		perform set_config('zedstore.enable_adaptive_join',
			case mode when 'off' then 'off' else 'on' end, true);
		perform set_config('zedstore.debug_switch_after',
			case mode when 'off' then '0' else mode end, true);
		got := test.digest(query, 'z');
		if mode = '1' and test.succeeded(got) then
			for line in execute 'explain (analyze, costs off, timing off, summary off,
				buffers off) ' || replace(query, '_@', '_z') loop
				if line like '% Switched: true' or line like '% Times Switched: %' then
					seen := 'S';
				elsif line like '%ZedstoreAdaptiveJoin%' and seen = '-' then
					seen := 'A';
				end if;
			end loop;
		end if;
		perform set_config('zedstore.enable_adaptive_join', 'on', true);
		perform set_config('zedstore.debug_switch_after', '0', true);
		if got is distinct from expected then
			return format('DIFFERENT (%s): %s instead of %s', mode, got, expected);
		end if;
	end loop;
	return seen || ' ' || test.count_of(expected);
end $$;

-- each kind of join
select adapts('select o.id, i.id from o_@ o join i_@ i on i.k = o.k where o.t = ''T3''');
select adapts('select o.id, i.id, i.v from o_@ o left join i_@ i on i.k = o.k and i.v > 20
	where o.t = ''T3''');
select adapts('select o.id from o_@ o where o.t = ''T3'' and exists (select from i_@ i
	where i.k = o.k and i.v > o.id % 50)');
select adapts('select o.id from o_@ o where o.t = ''T3'' and not exists (select from i_@ i
	where i.k = o.k and i.v > o.id % 50)');
select adapts('select o.id, i.id from o_@ o left join i_@ i on i.k = o.k where o.t = ''T3''
	and coalesce(i.v, 0) < 30');
select adapts('select o, i from o_@ o join i_@ i on i.id = o.id where o.t = ''T3''');
select adapts('select o.big, i.t, i.v + o.id as s, 7 as seven from o_@ o join i_@ i
	on i.id = o.id where o.t = ''T3''');
select adapts('select o.id, i.id from o_@ o join i_@ i on i.k = o.k and i.t = o.t
	where o.t = ''T3'' and i.v < 40 and i.v + o.id > 60');
-- more than one of them
select adapts('select o.id, i.id, j.id from o_@ o join i_@ i on i.k = o.k join i_@ j on j.id = i.v
	where o.t = ''T3''');
select adapts('select o.id, i.id, j.id from o_@ o left join i_@ i on i.k = o.k
	left join i_@ j on j.k = i.v + 1 where o.t = ''T3''');
select adapts('select count(*), sum(i.v) from o_@ o join i_@ i on i.k = o.k where o.t = ''T3''');
select adapts('select i.v, count(*) from o_@ o join i_@ i on i.k = o.k where o.t = ''T3''
	group by i.v order by 1 limit 10');
-- rescanned: LATERAL, subqueries, the inner side of another loop
select adapts('select g, l.* from generate_series(1, 5) g, lateral (select count(*), sum(i.v)
	from o_@ o join i_@ i on i.k = o.k where o.t = ''T'' || g % 3) l');
select adapts('select g, l.* from generate_series(1, 5) g, lateral (select o.id, i.id as j
	from o_@ o join i_@ i on i.k = o.k where o.t = ''T3'' order by o.id, i.id offset g) l');
select adapts('select g, (select sum(i.v) from o_@ o join i_@ i on i.k = o.k + g.g
	where o.t = ''T3'') from generate_series(1, 5) g');
select adapts('select g, l.* from generate_series(1, 3) g, lateral (select o.id, i.id as j
	from o_@ o left join i_@ i on i.k = o.k and i.v > g where o.t = ''T3'' order by o.id, i.id
	offset 1) l');
-- ... with the outer rows as the hash table, below a condition that stands above the join
create table p_h (id int primary key, k int) using heap;
insert into p_h select g, g % 400 from generate_series(1, 2000) g;
create table s_h (id int primary key, t text) using heap;
insert into s_h select g, 'T' || g % 7 from generate_series(1, 400) g;
create table l_h (k int, v int) using heap;
insert into l_h select g % 20000, g % 20 from generate_series(1, 60000) g;
create index on p_h (k);
create index on l_h (k);
create table p_z (like p_h including indexes) using zedstore;
create table s_z (like s_h including indexes) using zedstore;
create table l_z (like l_h including indexes) using zedstore;
insert into p_z select * from p_h;
insert into s_z select * from s_h;
insert into l_z select * from l_h;
vacuum analyze p_h, s_h, l_h, p_z, s_z, l_z;
select adapts('select g, l.* from generate_series(0, 6) g, lateral (select p.id, l.v
	from s_@ s join p_@ p on p.k = s.id join l_@ l on l.k = p.id where s.id < 40
	and s.t = ''T'' || g and g > 0 offset 0) l');
-- the work table of a recursive query has one reader
create table w_h (id int primary key, k int, v int) using heap;
insert into w_h select g, g % 50, g % 20 from generate_series(1, 20000) g;
create index on w_h (k, v);
create table f_h (id int primary key, k int) using heap;
insert into f_h select g, g from generate_series(1, 50) g;
create table w_z (like w_h including indexes) using zedstore;
create table f_z (like f_h including indexes) using zedstore;
insert into w_z select * from w_h;
insert into f_z select * from f_h;
vacuum analyze w_h, f_h, w_z, f_z;
set enable_mergejoin = off;
set join_collapse_limit = 1;
select adapts('with recursive r as (select 1 as n, 0 as d union all select w.v + 1, r.d + 1
	from f_@ f join (r join w_@ w on w.v = r.n) on w.k = f.k where r.d < 1) select * from r');
select adapts('with recursive r as (select 1 as n, 0 as d union all select w.v + 1, r.d + 1
	from f_@ f join ((select n, d from r offset 0) r join w_@ w on w.v = r.n) on w.k = f.k
	where r.d < 1) select * from r');
reset enable_mergejoin;
reset join_collapse_limit;
-- first rows, none, and errors
select adapts('select count(*) from (select o.id, i.id from o_@ o join i_@ i on i.k = o.k
	where o.t = ''T3'' limit 5) q');
select adapts('select o.id, i.id from o_@ o join i_@ i on i.k = o.k where o.t = ''T9''');
select adapts('select o.id, 1 / (i.v - 3) from o_@ o join i_@ i on i.k = o.k where o.t = ''T3''');

-- where it is: not for one row, nor for rows that are locked or written
create function plan(query text) returns setof text language plpgsql as $$
begin
	return query execute 'explain (costs off) ' || query;
end $$;
create function is_adaptive(query text) returns boolean language sql as $$
	select bool_or(line like '%AdaptiveJoin%') from plan(query) line
$$;
set zedstore.debug_switch_after = 3;
select is_adaptive('select * from o_z o join i_z i on i.k = o.k where o.t = ''T3'''),
	is_adaptive('select * from o_z o join i_z i on i.k = o.k where o.id = 3'),
	is_adaptive('select * from o_z o join i_z i on i.id = o.k join i_z j on j.k = i.v
		where o.id in (3, 4)'),
	is_adaptive('select * from o_z o join i_z i on i.k = o.k where o.t = ''T3'' for update'),
	is_adaptive('select * from o_h o join i_h i on i.k = o.k where o.t = ''T3'''),
	is_adaptive('select * from o_z o join i_z i on i.k = o.k and random() < 2 where o.t = ''T3''');
explain (costs off, verbose) select o.id, i.v from o_z o join i_z i on i.k = o.k where o.t = 'T3';
create function run(query text) returns setof text language plpgsql as $$
declare
	line text;
begin
	for line in execute 'explain (analyze, costs off, timing off, summary off, buffers off) '
		|| query loop
		return next replace(line, '.00 ', ' ');	-- 17 counts in whole rows
	end loop;
end $$;
select * from run('select o.id, i.v from o_z o join i_z i on i.id = o.id where o.t = ''T3''
	and o.id < 60') line where line ~ 'Tee|Join|Nested|Index Scan|Switch|Outer';
set zedstore.debug_switch_after = 1000;
select * from run('select o.id, i.v from o_z o join i_z i on i.id = o.id where o.t = ''T3''
	and o.id < 60') line where line ~ 'Tee|Join|Nested|Index Scan|Switch|Outer';
reset zedstore.debug_switch_after;

-- loops that read their inner side anew go where a hash join costs about the same
create function loops(query text) returns text language plpgsql as $$
declare
	n int := 0;
	mode text;
	result text := '';
begin
	foreach mode in array array['off', 'on'] loop
		perform set_config('enable_mergejoin', 'off', true);
		perform set_config('zedstore.enable_robust_joins', mode, true);
		select count(*) into n from plan(query) line where line ~ 'Nested Loop';
		result := result || mode || ': ' || n || ' ';
	end loop;
	return result;
end $$;
select loops('with w as materialized (select k, t, count(*) as n from i_z group by k, t)
	select * from w a join w b on b.k = a.k where a.t = ''x'' and a.n = 3 and b.n = 3
	and b.t = ''y''');
select test.same('with w as materialized (select k, count(*) as n from i_@ group by k)
	select * from w a join w b on b.k = a.k where a.n = 3 and b.n = 3');
-- the first rows may be wanted
select loops('with w as materialized (select k, t, count(*) as n from i_z group by k, t)
	select * from w a join w b on b.k = a.k where a.t = ''x'' and a.n = 3 and b.n = 3
	and b.t = ''y'' limit 1');
-- ... those in an order, too
select loops('with w as materialized (select k, t, count(*) as n from i_z group by k, t)
	select * from i_z a join w b on b.k = a.k order by a.id limit 1');
select test.same_order('with w as materialized (select k, count(*) as n from i_@ group by k)
	select * from i_@ a join w b on b.k = a.k order by a.id limit 5');
-- ... but not where both sides are there as a whole before the first one is
select loops('select * from (select k, count(*) as n from i_z group by k order by k) a
	join (select k, t, count(*) as m from i_z group by k, t) b on b.k = a.k order by a.k limit 1');
select test.same('select count(*) from (select a.k from (select k, count(*) as n from i_@
	group by k order by k) a join (select k, t, count(*) as m from i_@ group by k, t) b
	on b.k = a.k order by a.k limit 10) x');

-- a subquery's plan stands in one place only: no such join has one on its inner side
set zedstore.debug_switch_after = 3;
set join_collapse_limit = 1;
select is_adaptive('select o.id, i.id, u.n from o_z o left join (i_z i join (select k, id as n
	from o_z where id < 50 union all select k, v from i_z where id < 50) u on u.k = i.v)
	on i.k = o.k where o.t = ''T3''');
reset zedstore.debug_switch_after;
select adapts('select o.id, i.id, u.n from o_@ o join (i_@ i join (select k, count(*) as n
	from o_@ group by k union all select k, -count(*) from o_@ group by k) u on u.k = i.v)
	on i.k = o.k where o.t = ''T3''');
select adapts('select o.id, i.id, u.n from o_@ o left join (i_@ i join (select k, id as n
	from o_@ where id < 50 union all select k, v from i_@ where id < 50) u on u.k = i.v)
	on i.k = o.k where o.t = ''T3''');
-- ... a CTE's may be read from more places, some of which the hash join begins with late
select adapts('with w as materialized (select k, max(v) as n from i_@ where k < 60 group by k)
	select o.id, i.id as iid, u.n, x.n as m from o_@ o join (i_@ i join w u on u.k = i.v)
	on i.k = o.k left join w x on x.k = o.k where o.t = ''T3''');
select adapts('select g, l.* from generate_series(1, 4) g, lateral (with w as materialized
	(select k, max(v) as n from i_@ where k < 60 + g group by k)
	select o.id, i.id as iid, u.n from o_@ o left join (i_@ i join w u on u.k = i.v) on i.k = o.k
	where o.t = ''T'' || g) l');
reset join_collapse_limit;

-- The first rows in an order: a merge join has them nearly as soon as a loop that compares all
-- rows, which is believed to find many partners at once.
create table a_z (k text, y int, v int) using zedstore;
insert into a_z select 'k' || g * 7919 % 15000, g % 2, g % 100 from generate_series(1, 30000) g;
create table b_z (k text, y int, v int) using zedstore;
insert into b_z select 'k' || g * 7919 % 15000, g % 2, g % 100 from generate_series(1, 6000) g;
vacuum analyze a_z, b_z;
create function test.loops(query text) returns int language plpgsql as $$
declare
	line text;
	loops int := 0;
begin
	for line in execute 'explain (costs off) ' || query loop
		loops := loops + (line ~ 'Nested Loop')::int;
	end loop;
	return loops;
end $$;
create view sums as select k, y, sum(v) as s, 'a' as c from a_z group by k, y union all
	select k, y, sum(v), 'b' from b_z group by k, y;
create view ordered as select p.k, p.s from sums p, sums q, sums r, sums t
	where p.k = q.k and p.k = r.k and p.k = t.k and p.c = 'a' and q.c = 'a' and r.c = 'b'
	and t.c = 'b' and p.y = 0 and q.y = 1 and r.y = 0 and t.y = 1 and q.s > 0 and r.s > 0
	and case when r.s > 0 then t.s * 1.0 / r.s else 0 end >
		case when q.s > 0 then p.s * 1.0 / q.s else 0 end order by p.k limit 100;
select test.loops('select * from ordered');
set zedstore.enable_robust_joins = off;
select test.loops('select * from ordered') > 0 as loops;
reset zedstore.enable_robust_joins;
drop view ordered;
drop view sums;
drop function test.loops;

-- of workers each one turns by itself
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
select adapts('select i.id, j.id from i_@ i join i_@ j on j.id = i.v where i.t = ''T3''
	and i.v < 7');
select adapts('select count(*) from i_@ i left join i_@ j on j.k = i.v where i.t = ''T3''
	and i.v < 7');
select adapts('select i.id from i_@ i where i.v < 30 and exists (select from i_@ j
	where j.k = i.k and j.id > i.id + 2000)');
select adapts('select i.id from i_@ i where i.v < 30 and not exists (select from i_@ j
	where j.k = i.k and j.id > i.id + 2000)');
select adapts('select i.id, j.id, k.id from i_@ i join i_@ j on j.id = i.v join i_@ k on k.k = j.k
	where i.t = ''T3'' and i.v < 7');
select adapts('select i.t, count(*), sum(j.v), min(k.id) from i_@ i join i_@ j on j.id = i.v
	left join i_@ k on k.k = j.v and k.t = i.t where i.v < 7 group by i.t');
-- ... below a node that reads them again
select adapts('select g, (select count(*) || '' '' || sum(j.v) from i_@ i join i_@ j on j.id = i.v
	where i.v < g) from generate_series(1, 3) g');
set enable_material = off;
select adapts('select g, q.* from generate_series(1, 2) g left join (select i.id, j.id as jid
	from i_@ i join i_@ j on j.id = i.v where i.v < 2) q on q.id > g');
reset enable_material;
set zedstore.debug_switch_after = 1;
explain (costs off) select i.id, j.id from i_z i join i_z j on j.id = i.v where i.t = 'T3'
	and i.v < 7;
reset zedstore.debug_switch_after;
drop schema join_adaptive cascade;
