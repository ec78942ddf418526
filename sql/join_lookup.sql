--
-- Rows looked up by zone maps for each row of a join's other side; heap is the oracle
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\set ECHO none
\i :include
\set ECHO all
create schema join_lookup;
set search_path = join_lookup, public;
set zedstore.min_segment_rows = 1024;
set max_parallel_workers_per_gather = 0;

-- lines of orders in the order of orders; some are in the row tree, some are gone, some have NULL
create table line_h (ord int, nr int, ts timestamp, name text collate "C", word text,
	price numeric);
create table line_z (like line_h) using zedstore with (autovacuum_enabled = off);
create function lines(first int, last int) returns setof line_h language sql as $$
	select nullif(g / 5, 1000), g % 5, timestamp '2024-01-01' + g * interval '1 min',
		'name ' || lpad((g / 7)::text, 6, '0'), 'word ' || lpad((g / 9)::text, 6, '0'), g / 4.0
	from generate_series(first, last) g
$$;
insert into line_h select * from lines(1, 90112);
insert into line_z select * from lines(1, 90112);
select test.both('insert into line_@ select * from lines(90113, 90200)');
select test.both('delete from line_@ where ord % 17 = 3');
alter table line_h add added int default 7;
alter table line_z add added int default 7;
select test.both('insert into line_@ (ord, nr, added) select g / 5, g % 5, 8
	from generate_series(90201, 90300) g');
-- the index has the order behind another column
create index on line_h (price, ord);
create index on line_z (price, ord);
create table few_h (id int, big bigint, name text, at timestamp, until timestamp, k int);
insert into few_h select g, nullif(g, 3) * 4001, 'name ' || lpad((g * 3000)::text, 6, '0'),
	timestamp '2024-01-01' + g * 200 * interval '1 hour',
	timestamp '2024-01-01' + g * 200 * interval '1 hour 4 minutes', g * 8990
	from generate_series(1, 4) g;
create table few_z (like few_h) using zedstore;
insert into few_z select * from few_h;
vacuum analyze line_h, line_z, few_h, few_z;

-- The scans of table line in a plan: what they look up by.
create function lookups(query text) returns setof text language plpgsql as $$
declare
	plan jsonb;
begin
	execute 'explain (format json) ' || replace(query, '_@', '_z') into plan;
	return query select coalesce(n ->> 'Custom Plan Provider', n ->> 'Node Type') ||
			coalesce(': ' || coalesce(n ->> 'Filter', n ->> 'Index Cond'), '')
		from jsonb_path_query(plan, 'strict $.** ? (@."Relation Name" like_regex "line.*")') n;
end $$;
create function look(query text, heap text) returns table (scan text, same text)
language plpgsql as $$
declare
	digest text := test.digest(query, 'z');
begin
	return query select coalesce(string_agg(l, ' + '), 'none'),
			case when digest = heap and test.succeeded(heap)
				then 'same ' || test.count_of(digest) || ' rows'
			else 'DIFFERENT ' || digest || ' and ' || heap end
		from lookups(query) l;
end $$;
create table queries (nr serial, query text, heap text);
insert into queries (query) select format('select %s from few_@ f %s', out, rest) from (values
	('f.id, l.*', 'join line_@ l on l.ord = f.big'),
	('f.id, l.nr, l.price', 'left join line_@ l on l.ord = f.big and l.nr < 3'),
	('f.id', 'where exists (select from line_@ l where l.ord = f.big and l.price > f.k)'),
	('f.id', 'where not exists (select from line_@ l where l.ord = f.big)'),
	('f.id', 'where f.big in (select ord from line_@ join (values (1), (3)) v(nr) using (nr))'),
	('f.id, l.nr', 'join line_@ l on l.ord = f.big + 1 - f.id % 2'),
	('f.id, l.nr', 'join line_@ l on l.ord = f.id * 1000 - f.id where l.nr % 2 = 0'),
	-- strings: by bytes, and by a deterministic collation
	('f.id, l.nr', 'join line_@ l on l.name = f.name'),
	('f.id, l.nr', 'join line_@ l on l.word = replace(f.name, ''name'', ''word'')'),
	-- a range of the outer row's
	('f.id, count(*), sum(l.price)', 'join line_@ l on l.ts >= f.at and l.ts < f.until group by 1'),
	('f.id, l.ord', 'join line_@ l on l.ts between f.at and f.at + interval ''3 min''
		and l.nr = f.id % 5'),
	-- one of two columns is in order
	('f.id, l.ord', 'join line_@ l on l.ord = f.big and l.nr = f.id % 5'),
	('f.id, l.ord', 'join line_@ l on l.nr = f.id + 3 and f.id < 3'),
	-- several tables, the value from the second
	('f.id, l.nr, m.price', 'join few_@ b on f.id = b.id + 1 join line_@ l on l.ord = b.big
		join line_@ m on m.ord = l.ord + 1'),
	-- rows of the row tree, and a column that was added
	('f.id, l.ord, l.added', 'join line_@ l on l.ord = f.k / 2 + 30 and added > 6'),
	('f.id, s.*', ', lateral (select count(*), sum(added) from line_@ l where l.ord = f.big) s'),
	('f.id, s.*', ', lateral (select l.ord, l.ts, f.id + l.nr as x from line_@ l
		where l.ord = f.big order by ts limit 2) s'),
	-- no rows; all NULL
	('f.id, l.nr', 'join line_@ l on l.ord = f.big + 100000'),
	('f.id, l.nr', 'join line_@ l on l.ord = nullif(f.id, f.id)'),
	-- what may raise an error meets all rows
	('f.id, l.nr', 'join line_@ l on l.ord = f.big where 100 / (l.nr - 7) < 5'),
	('f.id, l.nr', 'join line_@ l on l.ord = 100 / (f.id - 9)'),
	-- conditions that say nothing about a column, or more than one thing
	('f.id, l.nr', 'join line_@ l on case when f.id = 1 then f.big when f.id = 2 then null
		else l.ord end = 4001 and l.ord < 10'),
	('f.id, l.nr', 'join line_@ l on l.ord = f.big or l.ord = f.k or (l.ord < f.id and l.nr = 1)'),
	('f.id, l.nr', 'join line_@ l on l.ord = any (array[f.big, f.k, null])'),
	('f.id, l.nr', 'join line_@ l on l.ord is not distinct from f.big'),
	('f.id, l.nr', 'join line_@ l on l.ord = (select max(big) from few_@ g where g.id = f.id)'),
	('f.id, l.nr', 'join line_@ l on l.name like f.name || ''%'''),
	('f.id, l.nr', 'join line_@ l on (l.ord, l.nr) = (f.big, 2)'),
	('f.id, l.nr', 'join line_@ l on (l.ord, l.nr) >= (f.big, 2) and (l.ord, l.nr) < (f.big, 4)'),
	('f.id, l.nr', 'join line_@ l on not (l.ord <> f.big)'),
	('f.id, l.nr', 'join (select ord, nr, coalesce(ord, 7) as c from line_@ where nr < 4) l
		on l.c = f.big'),
	('f.id, l.c, g.id', 'left join (select ord, nr, coalesce(ord, 7) as c from line_@
		where nr < 4) l on l.ord = f.big left join few_@ g on g.big = l.c'),
	('f.id, l.xmin is not null', 'join line_@ l on l.ord = f.id'),
	('f.id, l is null, (l).nr', 'left join line_@ l on l.ord = f.big')) q(out, rest);
update queries set heap = test.digest(query, 'h');
select nr, l.same from queries, look(query, heap) l order by nr;
set zedstore.enable_zone_lookups = off;
select string_agg(nr::text, ' ' order by nr) filter (where same !~ '^same') as different,
	string_agg(nr::text, ' ' order by nr)
		filter (where scan ~ 'Zed[a-zA-Z]*: [^+]* f[.]') as lookups
	from queries, look(query, heap) l;
reset zedstore.enable_zone_lookups;

-- hash joins are as good where there are many rows: how often a loop turns
set zedstore.debug_switch_after = 3;
select nr, l.same from queries, look(query, heap) l order by nr;
reset zedstore.debug_switch_after;
-- loops alone, row by row and checked
set enable_hashjoin = off;
set enable_mergejoin = off;
select nr, case when scan ~ '^Zed' then scan end as scan, same
	from queries, look(query, heap) l order by nr;
set zedstore.debug_vector = verify;
select nr, l.same from queries, look(query, heap) l order by nr;
set zedstore.debug_vector = rows;
select nr, l.same from queries, look(query, heap) l order by nr;
reset zedstore.debug_vector;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
set max_parallel_workers_per_gather = 2;
select nr, l.same from queries, look(query, heap) l order by nr;
set max_parallel_workers_per_gather = 0;
reset enable_hashjoin;
reset enable_mergejoin;

-- an index that finds one row is better; so is a hash table where the values lie at random
create unique index on line_z (ts);
select * from lookups('select * from few_@ f join line_@ l on l.ts = f.at');
drop index line_z_ts_idx;
select * from lookups('select * from few_@ f join line_@ l on l.nr = f.id');

-- cursors in both directions, and changes of what is looked up
begin;
declare c scroll cursor for select f.id, l.ord, l.nr from few_z f join line_z l on l.ord = f.big
	where l.nr < 2 order by f.id, l.nr;
fetch 3 from c;
fetch backward 2 from c;
fetch last from c;
commit;
select test.both('update line_@ l set price = l.price + f.id from few_@ f where l.ord = f.big');
select test.same('select ord, nr, price from line_@ where price * 4 <> ord * 5 + nr');
select test.both('delete from line_@ l using few_@ f where l.ord = f.big and f.id % 3 = 0');
select test.same('select f.id, l.* from few_@ f left join line_@ l on l.ord = f.big');
begin;
select f.id, l.nr from few_z f join line_z l on l.ord = f.big where f.id = 4
	for update of l;
commit;
prepare p(int) as select f.id, l.nr from few_z f join line_z l on l.ord = f.big
	where f.id = $1;
execute p(1);
set plan_cache_mode = force_generic_plan;
execute p(2);
execute p(4);
reset plan_cache_mode;

-- partitions, also joined one by one
create table part_h (ord int, v int) partition by range (ord);
create table part_z (ord int, v int) partition by range (ord);
create table side_h (ord int, w int) partition by range (ord);
create table side_z (ord int, w int) partition by range (ord);
do $$
declare
	t text;
begin
	for i in 0 .. 1 loop
		foreach t in array array['part_h', 'part_z', 'side_h', 'side_z'] loop
			execute format('create table %s%s partition of %1$s for values from (%3$s) to (%s)
				using %s', t, i, i * 80000, i * 80000 + 80000,
				case when t ~ 'z' then 'zedstore' else 'heap' end);
		end loop;
	end loop;
end $$;
select test.both('insert into part_@ select g, g % 7
	from generate_series(0, 159999) g');
select test.both('insert into side_@ select g * 30001, g from generate_series(0, 5) g');
vacuum analyze part_h, part_z, side_h, side_z;
create table queries_part (nr serial, query text);
insert into queries_part (query) values
	('select f.id, p.* from few_@ f join part_@ p on p.ord = f.big'),
	('select s.w, p.* from side_@ s join part_@ p on p.ord = s.ord'),
	('select s.w, p.v from side_@ s left join part_@ p on p.ord = s.ord and p.v < s.w'),
	('select s.w from side_@ s where exists (select from part_@ p
		where p.ord = s.ord and p.v = 3)');
create function partition_scans(query text) returns text language plpgsql as $$
declare
	plan jsonb;
begin
	execute 'explain (format json) ' || replace(query, '_@', '_z') into plan;
	return (select string_agg(concat_ws(': ', n ->> 'Node Type', n ->> 'Filter'), ' + ')
		from jsonb_path_query(plan, 'strict $.** ? (@."Relation Name" like_regex "part.*")') n);
end $$;
select nr, case when nr < 4 then partition_scans(query) end as scans, test.same(query)
	from queries_part order by nr;
set enable_partitionwise_join = on;
select nr, case when nr < 4 then partition_scans(query) end as scans, test.same(query)
	from queries_part order by nr;
set enable_hashjoin = off;
set enable_mergejoin = off;
select nr, case when nr < 4 then partition_scans(query) end as scans, test.same(query)
	from queries_part order by nr;
reset all;

-- How far a table is in the order of a column is remembered, as long as its segments are the same.
set zedstore.min_segment_rows = 1024;
set max_parallel_workers_per_gather = 0;
set search_path = join_lookup, public;
set enable_hashjoin = off;
set enable_mergejoin = off;
create table moved_z (ord int, nr int) using zedstore;
insert into moved_z select g / 5, g % 5 from generate_series(1, 100000) g;
create table asked_z (id int, big int) using zedstore;
insert into asked_z select g, g * 4001 from generate_series(1, 4) g;
vacuum analyze moved_z, asked_z;
create function moved_filter() returns text language plpgsql as $$
declare
	plan jsonb;
begin
	execute 'explain (format json) select a.id, m.nr from asked_z a
		join moved_z m on m.ord = a.big' into plan;
	return jsonb_path_query_first(plan, 'strict $.** ? (@."Relation Name" == "moved_z")')
		->> 'Filter';
end $$;
select moved_filter(), moved_filter();
-- behind the others, and over all of them
insert into moved_z select g / 5, g % 5 from generate_series(100001, 150000) g;
select moved_filter();
insert into moved_z select g * 7919 % 30000, g % 5 from generate_series(1, 250000) g;
select moved_filter();
create table sorted_z using zedstore as select * from moved_z order by ord;
truncate moved_z;
insert into moved_z select * from sorted_z;
analyze moved_z;
select moved_filter();
reset all;
