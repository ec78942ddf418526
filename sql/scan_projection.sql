--
-- Every subset of columns, with every switch: what a scan leaves out changes nothing
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema scan_projection;
set search_path = scan_projection, public;
set max_parallel_workers_per_gather = 0;

-- segments, row tree, holes, overflow values, a dropped and a late column
create table t_h (a int, b text, gone int, c numeric, d bytea, e bool) using heap;
create table t_z (a int, b text, gone int, c numeric, d bytea, e bool) using zedstore;
select test.both('insert into t_@ select i, case when i % 5 > 0 then ''b'' || i % 100 end, i, i / 4.0, decode(md5(i::text), ''hex''), i % 3 = 0
	from generate_series(1, 9000) i');
select test.both('alter table t_@ drop column gone');
select test.both('alter table t_@ add column f text default ''late''');
select test.both('insert into t_@ select i, ''tree'', null, ''x'', null, ''f'' || i from generate_series(9001, 9050) i');
select test.both('insert into t_@ values (9051, (select string_agg(md5(i::text), '''') from generate_series(1, 2000) i), 1, ''\x01'', true, repeat(''f'', 20000))');
select test.both('insert into t_@ select i, ''b'', i, null, false, null from generate_series(9052, 14500) i');
select test.both('delete from t_@ where a % 11 = 0 or a between 4000 and 6200');
select test.both('update t_@ set f = ''updated'' where a % 97 = 0');
select test.both('create index t_@_a on t_@ (a)');
select test.both('create index t_@_b on t_@ using hash (b)');
analyze t_h;
analyze t_z;

-- subsets of the columns, by one kind of plan: all, or each step-th
create function subsets(condition text, step int) returns text language plpgsql as $$
declare
	names text[] := array['a', 'b', 'c', 'd', 'e', 'f'];
	columns text;
	result text;
	failed text := '';
begin
	for mask in 0..63 by step loop
		select string_agg(names[i + 1], ', ') into columns from generate_series(0, 5) i where mask & (1 << i) <> 0;
		result := test.same(format('select %s from t_@ x where %s', coalesce(columns, 'null'), condition));
		if result <> 't' then
			failed := failed || format('(%s): %s; ', columns, result);
		end if;
	end loop;
	return case when failed = '' then 't' else failed end;
end $$;

-- queries where a column is needed for something else than output
create function others() returns text language plpgsql as $$
declare
	query text;
	failed text := '';
begin
	foreach query in array array[
		'select count(*) from t_@', 'select count(b) from t_@ where c > 100', 'select sum(a) from t_@ where b is null',
		'select x from t_@ x where a < 50', 'select (x).b, (x).f from t_@ x where e', 'select max(f), e from t_@ group by e',
		'select a from t_@ order by c desc nulls last, a limit 20', 'select distinct b from t_@ where not e',
		'select x.a, y.f from t_@ x join t_@ y on x.a = y.a + 1 where x.b = ''b7''',
		'select a from t_@ where row(a, b) > row(100, ''b5'') and c is not null', 'select ctid is null, a from t_@ where d > ''\x88''',
		'select a, row_number() over (partition by b order by a) from t_@ where c < 500',
		'select a from t_@ where f = ''late'' and a in (1, 2, 97, 9000, 9001)', 'select length(b), length(f) from t_@ where a = 9051',
		'select a, (select string_agg(f, '''' order by a) from t_@ y where y.a between x.a and x.a + 2) from t_@ x where a < 30',
		'select count(*) from t_@ where c between 10 and 20', 'select * from t_@ where c > 3000 and a < 13000 and b <> ''b3''',
		'select a from t_@ where c is null and a > 8990', 'select min(a), max(a), min(c), max(c) from t_@',
		'select a from t_@ where a between 3990 and 6210', 'select a, b from t_@ where coalesce(b, f) = ''late'''] loop
		if test.same(query) <> 't' then
			failed := failed || query || '; ';
		end if;
	end loop;
	return case when failed = '' then 't' else failed end;
end $$;

create function all_switches(switches text[]) returns table (off text, seq text, idx text, bitmap text, tid text, other text) language plpgsql as $$
declare
	switch text;
	step int;
begin
	foreach switch in array switches loop
		if switch <> 'none' then
			perform set_config(switch, 'off', true);
		end if;
		off := switch;
		step := case when switch = 'none' then 1 else 7 end;
		perform set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
		seq := subsets('a > 0', step);
		other := others();
		step := greatest(step, 3);
		perform set_config('enable_indexscan', 'on', true), set_config('enable_seqscan', 'off', true);
		idx := subsets('a between 3000 and 7000 or a between 8900 and 9100', step);
		perform set_config('enable_bitmapscan', 'on', true), set_config('enable_indexscan', 'off', true);
		bitmap := subsets('b in (''b7'', ''tree'', ''b'') and a % 3 = 0', step);
		perform set_config('enable_indexscan', 'on', true), set_config('enable_seqscan', 'on', true);
		tid := subsets('ctid = any (array(select ctid from t_@ y where y.a % 50 = 1 or y.a > 9040 and y.a < 9060))', step);
		if switch <> 'none' then
			perform set_config(switch, 'on', true);
		end if;
		return next;
	end loop;
end $$;
select * from all_switches(array['none', 'zedstore.enable_column_projection', 'zedstore.enable_lazy_decode',
	'zedstore.enable_read_stream', 'zedstore.enable_zone_maps', 'zedstore.enable_fetch_cache']);

-- rows by TID keep all their columns wherever they go
create function keep() returns trigger language plpgsql as $$
begin
	insert into kept values (old::text);
	return null;
end $$;
create table kept (t text);
create trigger keep after update of e on t_z for each row execute function keep();
update t_z set e = null where a in (1, 97, 9001, 9051, 10000);
select count(*), sum(length(t)), count(*) filter (where t like '%,late)') as late from kept;
drop trigger keep on t_z;
update t_h set e = null where a in (1, 97, 9001, 9051, 10000);
select test.same('select * from t_@');

select test.check('t_z');

-- the last row of a scan that ends early, or begins again, is not decoded as a whole: each column takes some blocks
do $$
begin
	execute (select 'create table w_z (' || string_agg(format('c%s int', i), ', ') || ') using zedstore' from generate_series(1, 200) i);
	execute (select 'insert into w_z select ' || string_agg('i', ', ') || ' from generate_series(1, 5000) i' from generate_series(1, 200) c);
end $$;
create index w_z_c1 on w_z (c1);
create index w_z_c2 on w_z using hash (c2);
vacuum analyze w_z;
delete from w_z where c1 = 4000;
create function blocks(query text, switches text) returns text language plpgsql as $$
declare
	before bigint := pg_stat_get_xact_blocks_fetched('w_z'::regclass);
	switch text;
	taken bigint;
begin
	foreach switch in array array['enable_seqscan', 'enable_indexscan', 'enable_indexonlyscan', 'enable_bitmapscan'] loop
		perform set_config(switch, case when switch = any (string_to_array(switches, ' ')) then 'on' else 'off' end, true);
	end loop;
	execute query;
	taken := pg_stat_get_xact_blocks_fetched('w_z'::regclass) - before;
	return case when taken < 200 then 'few' else taken::text end;
end $$;
select blocks('select c3 from w_z where c1 > 4000 order by c1 limit 1', 'enable_indexscan'),
	blocks('select c1 from w_z where c1 >= 4000 order by c1 limit 1', 'enable_indexonlyscan enable_indexscan'),
	blocks('select c3 from w_z where c2 = 4001 limit 1', 'enable_bitmapscan'),
	blocks('select c3 from w_z where c4 > 4000 limit 1', 'enable_seqscan'),
	blocks('select (select c3 from w_z where c4 >= x limit 1) from generate_series(4001, 4005) x', 'enable_seqscan');
drop function blocks;
drop table w_z;

-- a btree or an exact bitmap has looked at the condition: nobody reads that column again; a hash index or a lossy bitmap has not
create table l_h (k int, v int, w text) using heap;
create table l_z (k int, v int, w text) using zedstore;
select test.both('insert into l_@ select hashint4(i) & 65535, i, ''w'' || (hashint4(i + 7) & 8191) from generate_series(1, 400000) i');
select test.both('create index on l_@ (k)');
select test.both('create index on l_@ using hash (w)');
vacuum analyze l_z;
create function fetched(query text, switch text) returns bigint language plpgsql as $$
declare
	before bigint := pg_stat_get_xact_blocks_fetched('l_z'::regclass);
begin
	perform set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'off', true),
		set_config('enable_bitmapscan', 'off', true), set_config(switch, 'on', true);
	execute query;
	return pg_stat_get_xact_blocks_fetched('l_z'::regclass) - before;
end $$;
select switch, fetched('select sum(v) from l_z where k < 100', switch) < 0.7 * fetched('select sum(v + k) from l_z where k < 100', switch) as btree,
	fetched('select sum(v) from l_z where w = ''w77''', switch) >= 0.9 * fetched('select sum(v), min(w) from l_z where w = ''w77''', switch) as hash
	from unnest(array['enable_indexscan', 'enable_bitmapscan']) switch;
drop function fetched;
set enable_seqscan = off;
set enable_indexscan = off;
set work_mem = '64kB';
select test.same('select v from l_@ where k < 4000'), test.same('select count(*), sum(v) from l_@ where k < 4000 and v % 3 = 0'),
	test.same('select v, w from l_@ where k between 100 and 5000 and w > ''w5'''), test.same('select v from l_@ where w in (''w77'', ''w78'') or k < 3000'),
	test.same('select ctid is null, k from l_@ where k between 60000 and 63000'), test.same('select l from l_@ l where k < 2500 and v < 300000');
create function heap_blocks(query text) returns text language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (analyze, timing off, format json) ' || query into plan;
	return case when (plan -> 0 -> 'Plan' ->> 'Lossy Heap Blocks')::int > 0 then 'some are lossy' else plan::text end;
end $$;
select heap_blocks('select v from l_z where k < 4000');
reset work_mem;
reset enable_seqscan;
reset enable_indexscan;
select test.check('l_z');
