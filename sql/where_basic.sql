-- filters by batches: the same rows as heap, in the order of an ordinary scan, in all modes of zedstore.debug_vector
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema vector_scan;
set search_path = vector_scan, public;
set max_parallel_workers_per_gather = 0;
set zedstore.min_segment_rows = 1024;
set zedstore.enable_ordered_scan = off;
set client_min_messages = warning;

-- Compares heap, zedstore without batches, and zedstore with them: by columns, verified, and row by row.  "v" in front: the
-- plan is ours; then the number of rows, or the error.  _@ stands for _h and _z.
create function differs(query text) returns text language plpgsql as $$
declare
	-- no aggregate has a program that would take the scan's place; heap's rows may come in another order
	sorted text := 'select count(*) || '' '' || coalesce(md5(array_to_string(array_agg(q::text order by q::text), ''|'')), '''') from (' || query || ') q';
	sql text := replace(sorted, ' order by q::text)', ')');
	mode text;
	expected text;
	first text;
	got text;
	line text;
	ours bool := false;
begin
	begin
		execute replace(sorted, '_@', '_h') into expected;
	exception when others then
		expected := sqlstate || ' ' || replace(sqlerrm, '_h', '_@');
	end;
	perform set_config('zedstore.debug_vector', 'force', true);
	begin
		for line in execute 'explain ' || replace(sql, '_@', '_z') loop
			ours := ours or line like '%ZedstoreScan%';
		end loop;
	exception when others then
		null;
	end;
	foreach mode in array array['none', 'off', 'force', 'verify', 'rows'] loop
		perform set_config('zedstore.enable_vector_scan', case mode when 'none' then 'off' else 'on' end, true);
		perform set_config('zedstore.debug_vector', replace(mode, 'none', 'off'), true);
		begin
			execute replace(sql, '_@', '_z') into got;
			if mode = 'none' then
				first := got;
				execute replace(sorted, '_@', '_z') into got;
			elsif got = first then
				got := expected;
			end if;
		exception when others then
			got := sqlstate || ' ' || replace(sqlerrm, '_z', '_@');
		end;
		if got is distinct from expected then
			perform set_config('zedstore.enable_vector_scan', 'on', true);
			perform set_config('zedstore.debug_vector', 'off', true);
			return format('DIFFERENT (%s): %s instead of %s', mode, got, expected);
		end if;
	end loop;
	perform set_config('zedstore.enable_vector_scan', 'on', true);
	perform set_config('zedstore.debug_vector', 'off', true);
	return case when ours then 'v ' else '- ' end ||
		case when expected ~ '^\d+ (\w{32})?$' then split_part(expected, ' ', 1) else expected end;
end $$;

-- EXPLAIN ANALYZE without what versions of the server show differently
create function ran(query text, options text default 'verbose off') returns setof text language plpgsql as $$
declare
	plan text;
begin
	for plan in execute format('explain (analyze, costs off, timing off, summary off, buffers off, %s) %s', options, query) loop
		return query select regexp_replace(line, ' \(actual.*', '') from regexp_split_to_table(plan, E'\n') line;
	end loop;
end $$;

-- many types; several segments, small writes behind them, holes, a late column, a dropped one
create table mix_h (id int, gone int, b bigint, s smallint, n numeric(12,2), u numeric, f float8, r real, d date,
	ts timestamp, tz timestamptz, o oid, flag bool, t text, vc varchar(20), c char(6), big text, arr int[]) using heap;
create table mix_z (like mix_h) using zedstore with (autovacuum_enabled = off);
create function mix_rows(first int, last int) returns setof mix_h language sql as $$
	select g, g, (g - 5000)::bigint * 1000000007, (g % 211 - 100)::smallint,
		case when g % 10 = 0 then null else (g - 3000) / 7.0 end,
		case g % 4 when 0 then g when 1 then g / 2.0::numeric(10,1) when 2 then round(g / 3.0, 3) end,
		case when g % 13 = 0 then null else sin(g) * 1e6 end, (cos(g) * 1000)::real,
		date '2019-06-01' + g % 700, timestamp '2020-01-01' + g * interval '7 min', timestamptz '2020-01-01 00:00+00' - g * interval '3 h',
		(g::bigint * 400000 % 4294967296)::oid, case g % 3 when 0 then true when 1 then false end,
		case when g % 17 = 0 then null when g % 5 = 0 then '' else 'text ' || g % 37 end,
		'v' || left(md5((g % 5000)::text), 8), 'c' || g % 9,
		case when g % 3000 = 1 then repeat('large ', 3000) else 'small' end, array[g, g % 7]
	from generate_series(first, last) g
$$;
insert into mix_h select * from mix_rows(1, 9000);
insert into mix_z select * from mix_rows(1, 9000);
insert into mix_h select * from mix_rows(9001, 9100);
insert into mix_z select * from mix_rows(9001, 9100);
select test.both('alter table mix_@ add column late int default 7, add column late_t text default ''x''');
select test.both('alter table mix_@ drop column gone');
select test.both('insert into mix_@ (id, n, t, late) select g, g, ''late '' || g % 3, g % 5 from generate_series(9101, 11500) g');
select test.both('delete from mix_@ where id between 2000 and 3300 or id % 19 = 3');

-- the plan, and what keeps it away
analyze mix_z;
explain (costs off) select * from mix_z where id < 100 and t = 'text 3';
explain (costs off) select * from mix_z where id < 100 and length(t) > 3 and int4larger(s, -s) = 3;
explain (costs off) select * from mix_z;
explain (costs off) select * from mix_z where length(t) > 3;
explain (costs off) select * from mix_z tablesample system (50) where id < 100;
set zedstore.enable_vector_scan = off;
explain (costs off) select * from mix_z where id < 100;
reset zedstore.enable_vector_scan;
explain (costs off) select * from mix_z where id < 100 order by n limit 3;
explain (costs off) select * from mix_z where false;
begin;
declare c cursor for select * from mix_z;
explain (costs off) update mix_z set s = 1 where current of c;
commit;

-- conditions; each alone, and in front of and behind one without a program
select differs('select * from mix_@ where ' || f) as alone,
	differs('select id, t from mix_@ where int4larger(s, -s) < 90 and not ' || '(' || f || ')') as negated, f
from (values ('id = 77'), ('id <> 77'), ('id < 1025'), ('1025 > id'), ('id between 1000 and 1100'), ('id = 3000000000'), ('b > 12::smallint'),
	('s = 40000'), ('id < b'), ('id < null'), ('n = 0.14'), ('n < 0.145'), ('n = ''NaN'''), ('u = 4.000'), ('f > 0'), ('r < 0.5'),
	('d = ''2019-07-01'''), ('ts >= ''2020-01-20'''), ('tz < ''2019-06-01 00:00+00'''), ('o > 3000000000'),
	('flag'), ('not flag'), ('flag is unknown'), ('t = ''text 3'''), ('t <> ''text 3'''), ('t = '''''), ('vc = ''vc4ca4238'''),
	('c = ''c3'''), ('late = 7'), ('late_t = ''x'''), ('late is null'), ('t is null'), ('n is not null'), ('big = ''small'''), ('big <> ''small'''),
	('s in (1, 2, 3)'), ('s not in (1, null)'), ('s = any (''{}''::int2[])'), ('t in (''text 1'', ''late 2'', '''')'),
	('id > 9050 or t = ''text 5'' and flag'), ('(n > 5) is not true'), ('id < 500 and (s = 3 or n > 100 or flag is null)')) v(f);

-- many batches: programs are put into another order meanwhile, but not across what may raise an error
create table many_h (a int, b int, t text, f float8) using heap;
insert into many_h select g, g % 11, 't' || g % 7, sin(g) from generate_series(1, 90000) g;
create table many_z (like many_h) using zedstore;
insert into many_z select * from many_h;
select differs('select a from many_@ where t <> ''t1'' and b < 9 and f > 0.9'), differs('select a from many_@ where f > -2 and t = ''t3'' and b = 3 and a > 0'),
	differs('select a from many_@ where f > -2 and length(t) = 2 and b = 3 and (t = ''t5'' or f < 0)'),
	differs('select a from many_@ where b <> 7 and 1000 / (a - 80000) >= 0 and b < 100 and f < -0.9'),
	differs('select a from many_@ where a <> 80000 and 1000 / (a - 80000) >= 0 and t = ''t2'' and f < 0 and b = (select min(b) + 1 from many_@)'),
	differs('select a from many_@ where b < (select 9) and t <> ''t1'' and f > (select 0.9) and a > 70000');

-- what a row has
select differs('select t, id from mix_@ where id < 500 and s > 5'), differs('select q from mix_@ q where s = 7'),
	differs('select q.*, q.id + 1 from mix_@ q where s = 7 and t like ''text%'''), differs('select 1 from mix_@ where n > 5'),
	differs('select arr, big from mix_@ where id % 3000 < 3 and s > -90'), differs('select count(*) over (), id from mix_@ where n < 0');
select differs('select ctid is null, xmin is null, cmax, tableoid::regclass::text ~ ''^mix_[hz]$'', id from mix_@ where id in (5, 700, 9050, 9200)');

-- clauses that raise errors, before and behind those that have programs; nothing is suppressed, nothing invented
create function boom(i int) returns bool language plpgsql cost 1 as $$ begin raise exception 'boom %', i; end $$;
create function late_boom(i int) returns bool language plpgsql cost 10000 as $$ begin raise exception 'boom %', i; end $$;
select differs('select * from mix_@ where boom(id) and id < 0'), differs('select * from mix_@ where id < 0 and boom(id)'),
	differs('select * from mix_@ where late_boom(id) and id < 0'), differs('select * from mix_@ where late_boom(id) and id = 4'),
	differs('select id from mix_@ where 1 / (id - 5) > 0'), differs('select id from mix_@ where id <> 5 and 1 / (id - 5) = 0'),
	differs('select id from mix_@ where 1 / (id - 5) = 0 and id <> 5'), differs('select id from mix_@ where t like ''text\'' and id < 10'),
	differs('select id from mix_@ where s = 1 and t ~ ''('''), differs('select id from mix_@ where id = 1 and n = n / (id - 1)');
-- rows that nobody asks for raise none
select differs('select id from mix_@ where id > 10 and 1 / (id - 500) <= 0 limit 3');
select differs('select id from mix_@ where id > 10 and 1 / (id - 500) <= 1 offset 400 limit 200');
begin;
declare c cursor for select id from mix_z where id > 10 and 1 / (id - 500) <= 0;
fetch 3 from c;
savepoint a;
move 600 in c;
rollback to a;
commit;

-- batches that programs do not decide: numerics that are no 64-bit integers
create table odd_h (id int, n numeric, f float8) using heap;
insert into odd_h select g, case when g = 1500 then 'NaN' when g = 1600 then 'Infinity' when g between 2500 and 2600 then 1e40 + g else g end,
	case when g % 1000 = 7 then 'NaN' when g % 1000 = 8 then '-0' else (g % 1000)::float8 end from generate_series(1, 5000) g;
create table odd_z (like odd_h) using zedstore;
insert into odd_z select * from odd_h order by id;
insert into odd_z select 10000 + g, g, g from generate_series(1, 2000) g;
insert into odd_h select 10000 + g, g, g from generate_series(1, 2000) g;
select differs('select * from odd_@ where n > 4000'), differs('select * from odd_@ where n = ''NaN'''), differs('select * from odd_@ where n > 1e39'),
	differs('select * from odd_@ where f = 0'), differs('select * from odd_@ where f = ''NaN'''), differs('select * from odd_@ where f < ''NaN'' and n < 7');
set zedstore.debug_vector = force;
select ran('select * from odd_z where n > 4000');
-- what is skipped, what is redone
select ran('select * from odd_z where id < 500 and int4larger(id, -id) < 100');
set zedstore.debug_vector = rows;
select ran('select * from odd_z where id < 500');
reset zedstore.debug_vector;

-- parameters: of prepared statements, custom and generic; of nested loops; of InitPlans, which run when a row comes to them
set plan_cache_mode = force_generic_plan;
prepare p (int, text) as select count(*), min(id), max(t) from (select id, t from mix_z where id < $1 and t = $2 offset 0) q;
explain (costs off) execute p (500, 'text 3');
execute p (500, 'text 3');
execute p (null, 'text 3');
execute p (11500, '');
set zedstore.debug_vector = verify;
execute p (500, 'text 3');
reset zedstore.debug_vector;
prepare parr (int[]) as select id from mix_z where id = any ($1);
execute parr ('{5,7,9200,2500,null}');
execute parr ('{}');
execute parr (null);
reset plan_cache_mode;
set enable_hashjoin = off;
set enable_mergejoin = off;
set enable_material = off;
set enable_memoize = off;
select differs('select v.x, m.id from (values (5), (700), (null), (9200), (2500)) v (x) cross join lateral (select id from mix_@ where id = v.x and int4larger(s, -s) < 1000 offset 0) m');
explain (costs off)
select v.x, m.id from (values (5), (700)) v (x) cross join lateral (select id from mix_z where id = v.x and int4larger(s, -s) < 1000 offset 0) m;
select ran('select v.x, m.id from (values (5), (700)) v (x) cross join lateral (select id from mix_z where id = v.x and int4larger(s, -s) < 1000 offset 0) m');
reset enable_hashjoin;
reset enable_mergejoin;
reset enable_material;
reset enable_memoize;
select differs('select id, (select count(*) from mix_@ i where i.id < o.id and i.s = o.s) from mix_@ o where o.id < 300 and n > -1000');
create function raises() returns int language plpgsql as $$ begin raise exception 'raises'; end $$;
-- raises() is never asked for where no row comes to it
select differs('select id from mix_@ where id = (select raises()) and s > 1000'), differs('select id from mix_@ where id < 0 and s > (select raises())'),
	differs('select id from mix_@ where id = (select max(id) - 3 from mix_@)'),
	differs('select id from mix_@ where int4larger(s, -s) = 1000 and id = (select raises())'),
	differs('select id from mix_@ where id < (select 50) and t = (select ''text 3'')'),
	differs('select id from mix_@ where (id < 0 or s = (select raises())) and id < -5'),
	differs('select id from mix_@ where (s > 1000 or n > (select 400))');
select ran('select id from mix_z where id < (select 1000) and s = 5');
-- stable functions
select differs('select id from mix_@ where d < ''2019-08-01''::date + current_setting(''vector_scan.days'', true)::int');
set vector_scan.days = 5;
select differs('select id from mix_@ where d < ''2019-08-01''::date + current_setting(''vector_scan.days'', true)::int');
set vector_scan.days = 'five';
select differs('select id from mix_@ where d < ''2019-08-01''::date + current_setting(''vector_scan.days'', true)::int');
select differs('select id from mix_@ where id < 0 and d < ''2019-08-01''::date + current_setting(''vector_scan.days'', true)::int');
-- a pattern that is NULL hides no error of what is compared with it
select differs('select id from mix_@ where case when 1 / (id - 5) > 0 then ''a'' else t end like current_setting(''vector_scan.none'', true)'),
	differs('select id from mix_@ where case when 1 / (id + 5) > 0 then ''a'' else t end not like current_setting(''vector_scan.none'', true)');
-- volatile functions are asked once for each row that comes to them
create sequence asked;
select count(*) from (select id from mix_z where id < 500 and nextval('asked') > 10 offset 0) q;
select last_value from asked;
select count(*) from mix_h where id < 500;

-- subplans, hashed and not; where batches are forced they seem to cost nothing and are asked first
create table near_h (id int, t text) using heap;
insert into near_h select id, t from mix_h where id <= 1200;
create table near_z (like near_h) using zedstore;
insert into near_z select * from near_h order by id;
select differs('select id from mix_@ where id < 200 and s not in (select s from mix_@ where id > 500 and s is not null and s > 0)'),
	differs('select id from mix_@ o where id < 300 and exists (select 1 from near_@ i
		where i.id = o.id + 1 and i.t = ''text 3'' offset 0)');

-- cursors in both directions, against an ordinary scan
create function walk(query text, seed int) returns text language plpgsql as $$
declare
	h refcursor;				-- ordinary
	z refcursor;
	a record;
	b record;
	x int := seed;
	n int := 0;
begin
	perform set_config('zedstore.enable_vector_scan', 'off', true);
	open h scroll for execute query;
	perform set_config('zedstore.enable_vector_scan', 'on', true);
	open z scroll for execute query;
	for i in 1 .. 400 loop
		x := (x::bigint * 1103515245 + 12345) % 2147483648;
		case (x / 65536) % 6
			when 0 then fetch prior from h into a; fetch prior from z into b;
			when 1 then move backward 37 in h; move backward 37 in z; fetch prior from h into a; fetch prior from z into b;
			when 2 then move forward 53 in h; move forward 53 in z; fetch next from h into a; fetch next from z into b;
			when 3 then fetch relative 900 from h into a; fetch relative 900 from z into b;
			when 4 then fetch relative -800 from h into a; fetch relative -800 from z into b;
			else fetch next from h into a; fetch next from z into b;
		end case;
		if a is distinct from b then
			return format('DIFFERENT at step %s: %s, %s', i, a, b);
		end if;
		n := n + (a.id is not null)::int;
	end loop;
	fetch last from h into a; fetch last from z into b;
	if a is distinct from b then return 'DIFFERENT: last'; end if;
	fetch first from h into a; fetch first from z into b;
	if a is distinct from b then return 'DIFFERENT: first'; end if;
	return case when n > 50 then 'same' else 'few rows: ' || n end;
end $$;
set zedstore.debug_vector = force;
explain (costs off) declare c scroll cursor for select id, t from mix_z where s > 0;
select walk('select id, t from mix_z where s > 0', s), walk('select * from mix_z where id > 8000 and s not between -3 and 3', s),
	walk('select * from mix_z where id > 8000 and int4larger(s, -s) > 3', s),
	walk('select id from mix_z where id <> 5', s) from generate_series(1, 5) s;
reset zedstore.debug_vector;
begin;
declare c scroll cursor for select id from mix_z where id between 1020 and 1028;
fetch backward 2 from c;
fetch 3 from c;
fetch backward 2 from c;
move forward all in c;
fetch backward 2 from c;
fetch backward 20 from c;
fetch 2 from c;
commit;
-- back to a stripe some of whose rows are in the row tree, from stripes that were decoded meanwhile
set zedstore.debug_vector = force;
begin;
declare c scroll cursor for select id, s from mix_z where abs(s) > 3;
move forward all in c;
fetch backward 2 from c;
rollback;
reset zedstore.debug_vector;
-- a cursor that stays open beyond its transaction
begin;
declare c cursor with hold for select id from mix_z where id in (3, 5, 1025, 9050);
fetch 1 from c;
commit;
fetch all from c;
close c;
-- where current of, over our scan
begin;
declare c cursor for select id from mix_z where id in (4, 5, 1027) for update;
fetch 2 from c;
delete from mix_z where current of c;
select id from mix_z where id in (4, 5, 1027);
rollback;
-- groups are no rows of the table
begin;
set local zedstore.debug_vector = force;
declare c cursor for select s, count(*) from mix_z group by s;
move 1 in c;
delete from mix_z where current of c;
rollback;
-- nor are rows that were sorted
begin;
set local enable_sort = off;
declare c cursor for select id, s from mix_z order by s, id limit 3;
explain (costs off) declare d cursor for select id, s from mix_z order by s, id limit 3;
fetch 2 from c;
delete from mix_z where current of c;
rollback;

-- own rows, before and after they are written; rolled back subtransactions
begin;
select test.both('insert into mix_@ (id, s, t) select g, 3, ''own'' from generate_series(20001, 23000) g');
select differs('select * from mix_@ where s = 3');
savepoint a;
select test.both('delete from mix_@ where id < 1000 and s > 5');
select test.both('update mix_@ set s = 3 where s = 4 and id < 2000');
select differs('select id, t from mix_@ where s = 3 order by id');
rollback to a;
select differs('select * from mix_@ where s = 3');
rollback;
select differs('select * from mix_@ where s = 3');
-- a cursor does not see what comes later
begin;
declare c cursor for select count(*) over (), id from mix_z where id > 11000 and s is null;
select test.both('insert into mix_@ (id) select g from generate_series(11501, 12600) g');
fetch 1 from c;
rollback;

-- writes above the scan
explain (costs off) update mix_z set n = n + 1 where s = 12 and t like 'text%';
explain (costs off) delete from mix_z where s = 12 and t like 'text%';
explain (costs off) merge into mix_z m using (values (5), (6)) v (x) on m.id + 0 = v.x and m.s = 12
	when matched then delete;
explain (costs off) select id from mix_z where s = 12 and t like 'text%' for update;
select test.both('update mix_@ set n = n + 1, t = t || ''!'' where s = 12 and t like ''text%'''),
	test.both('update mix_@ o set s = i.s from mix_@ i where o.id = i.id + 1 and i.t = ''text 7'' and o.id < 3000'),
	test.both('delete from mix_@ where n between 100 and 120'),
	test.both('merge into mix_@ m using (values (5), (6), (30000)) v (x) on m.id = v.x and m.s > -200 when matched and m.t is null then delete
		when matched then update set t = ''merged'' when not matched then insert (id, t) values (v.x, ''new'')');
select differs('select * from mix_@ where id < 40000 order by id');
begin;
select differs('select id from mix_@ where id < 100 and s < 0 order by id for update');
rollback;
with gone as (delete from mix_z where id < 20 returning id, xmax <> 0 as deleted) select count(*), bool_and(deleted) from gone;
delete from mix_h where id < 20;
-- rows in the row tree are moved into segments
vacuum mix_z;
select differs('select * from mix_@ where s > 5 order by id');
select test.check('mix_z');

-- security levels: a row that the policy hides is not shown to a function, nor counted
create role vector_scan_user;
grant usage on schema vector_scan to vector_scan_user;
create table sec_z (id int, owner text, secret int) using zedstore;
insert into sec_z select g, case when g % 2 = 0 then 'vector_scan_user' else 'other' end, g % 100 from generate_series(1, 3000) g;
alter table sec_z enable row level security;
create policy sec on sec_z using (length(owner) = 16);
create function leak(i int) returns bool language plpgsql cost 1 as $$ begin if i = 7 then raise notice 'leak %', i; end if; return true; end $$;
grant select on sec_z to vector_scan_user;
set client_min_messages = notice;
set role vector_scan_user;
set zedstore.debug_vector = force;
explain (costs off) select id from sec_z where secret = 7 and leak(secret);
select count(*) from (select id from sec_z where secret = 7 and leak(secret) offset 0) q;
-- numeric comparisons are not leakproof
explain (costs off) select id from sec_z where secret::numeric = 7 and secret > 5;
reset role;
reset zedstore.debug_vector;
-- the right to call a function is checked as ever
revoke execute on function int4lt(int, int) from public;
set role vector_scan_user;
select id from sec_z where id < 3;
reset role;
grant execute on function int4lt(int, int) to public;

-- partitions, inheritance, a table without columns or rows
create table part (id int, k int, t text) partition by range (id);
create table part_z partition of part for values from (0) to (5000) using zedstore;
create table part_h partition of part for values from (5000) to (10000) using heap;
create table part_z2 partition of part for values from (10000) to (20000) using zedstore;
insert into part select g, g % 100, 'p' || g % 7 from generate_series(0, 19999) g;
analyze part;
set zedstore.debug_vector = force;
explain (costs off) select * from part where k = 5 and id > 4000;
select count(*), sum(id) from (select * from part where k = 5 and id > 4000 offset 0) q;
select count(*), sum(id) from (select * from part where k = 5 and t = 'p3' and id between 4990 and 12000 offset 0) q;
create table none_z (id int) using zedstore;
select * from none_z where id < 5;
insert into none_z values (null);
select * from none_z where id < 5;
select * from none_z where id is null;
reset zedstore.debug_vector;

-- statistics count a scan, and rows as the batches that were read have them
select pg_stat_reset_single_table_counters('odd_z'::regclass);
select count(*) from (select * from odd_z where id > 100 and int4larger(id, -id) < 200 offset 0) q;
select pg_stat_force_next_flush();
select seq_scan, seq_tup_read from pg_stat_user_tables where relid = 'odd_z'::regclass;

-- index paths and top-N stay
create index on mix_z (id);
analyze mix_z;
explain (costs off) select * from mix_z where id = 700 and s > -500;
explain (costs off) select min(id) from mix_z where s > -500;
explain (costs off) select * from mix_z where s > 5 order by n limit 3;

-- parallel scans; the leader alone; an inner side that is scanned again
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
set zedstore.enable_vector_agg = off;
explain (costs off) select count(*), sum(id), min(t) from mix_z where s > 5 and int4larger(id, -id) > 10;
create function parallel_differs(what text, condition text) returns text language plpgsql as $$
declare
	expected text;
	got text;
	mode text;
begin
	execute format('select row(%s)::text from mix_h where %s', what, condition) into expected;
	foreach mode in array array['off', 'verify', 'rows'] loop
		perform set_config('zedstore.debug_vector', mode, true);
		execute format('select row(%s)::text from mix_z where %s', what, condition) into got;
		if got is distinct from expected then
			return format('DIFFERENT (%s): %s instead of %s', mode, got, expected);
		end if;
	end loop;
	perform set_config('zedstore.debug_vector', 'off', true);
	return expected;
end $$;
select parallel_differs('count(*), sum(id), sum(n), min(t)', f) from (values ('s > 5'), ('s > 5 and int4larger(id, -id) > 10'), ('id > 9000'), ('id < 0'),
	('t = ''text 3'' or n < 0'), ('id < (select count(*) from mix_h where t = '''')')) v(f);
set parallel_leader_participation = off;
select parallel_differs('count(*), sum(id)', 's > 5 and int4larger(id, -id) > 10');
reset parallel_leader_participation;
set enable_material = off;
explain (costs off) select * from (select count(*), sum(id) from mix_z where s > 5 and int4larger(id, -id) > 10) a right join (values (1), (2), (3)) v(x) on true;
select * from (select count(*) as n, sum(id) from mix_z where s > 5 and int4larger(id, -id) > 10) a right join (values (1), (2), (3)) v(x) on true;
select count(*) as n, sum(id) from mix_h where s > 5 and int4larger(id, -id) > 10;
reset enable_material;
set max_parallel_workers = 0;
select parallel_differs('count(*), sum(id)', 's > 5 and int4larger(id, -id) > 10');
reset max_parallel_workers;
-- an error that only some rows raise comes from a worker, too
\set VERBOSITY terse
select count(*), sum(id) from mix_z where s > 5 and 1 / (id - 9000) >= 0 and id is not null;
\set VERBOSITY default
-- own rows that have not been written yet
begin;
insert into mix_z (id, s) select g, 7 from generate_series(50001, 50100) g;
select count(*) from mix_z where s = 7 and int4larger(id, -id) > 50000;
rollback;
reset zedstore.enable_vector_agg;
reset parallel_setup_cost;
reset parallel_tuple_cost;
reset min_parallel_table_scan_size;
set max_parallel_workers_per_gather = 0;

-- formats of EXPLAIN
select l from ran('select id from odd_z where id < 500 and int4larger(id, -id) < 100', 'verbose') l where l ~ 'Columns';
select l from ran('select m from mix_z m where s = 12 and n > 100', 'verbose') l where l ~ 'Columns';
select l from ran('select id from odd_z where id < 500 and int4larger(id, -id) < 100', 'verbose, format yaml') l where l ~ 'Provider|Relation|Filter|Skipped|Decided|Redone';
select l from ran('select id from odd_z where id < 500 and int4larger(id, -id) < 100', 'format json') l where l ~ 'Filter|Skipped|Decided|Redone';

set client_min_messages = warning;
drop schema vector_scan cascade;
drop role vector_scan_user;
