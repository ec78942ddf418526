--
-- Plans know what the columns of a row cost
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
create schema vector_cost;
set search_path = vector_cost, public;
-- plans of core's nodes
set zedstore.enable_vector_agg = off;
set zedstore.enable_vector_scan = off;
set max_parallel_workers_per_gather = 0;
create table t_h (id int primary key, k int, a1 int, a2 int, a3 int, a4 int, a5 int, a6 int, n1 numeric, n2 numeric, b1 text, b2 text)
	using heap with (autovacuum_enabled = off);
create table t_z (like t_h including all) using zedstore with (autovacuum_enabled = off);
select test.both('insert into t_@ select i, hashint4(i) & 65535, i % 7, hashint4(i + 1), hashint4(i + 2), hashint4(i + 3), i / 100, hashint4(i + 5),
	hashint4(i + 6) / 100.0, i / 4, md5(i::text), (array[''red'', ''green'', ''blue''])[1 + i % 3] from generate_series(1, 100000) i');
create index t_h_k on t_h (k);
create index t_z_k on t_z (k);
\set ECHO none
create table few (x int) with (autovacuum_enabled = off);
insert into few select hashint4(i) & 65535 from generate_series(1, 260) i;
vacuum analyze few;
vacuum analyze t_h;
vacuum analyze t_z;

-- by how much the setting raises a query's costs
create function more(query text) returns float8 language plpgsql as $$
declare
	cost_on float8;
	cost_off float8;
begin
	set local zedstore.enable_column_costs = on;
	cost_on := test.cost(query);
	set local zedstore.enable_column_costs = off;
	cost_off := test.cost(query);
	reset zedstore.enable_column_costs;
	return round((cost_on - cost_off)::numeric, 2);
end $$;

-- what pages add to a query's costs, by one kind of plan
create function pages(query text, switch text) returns float8 language plpgsql as $$
declare
	with_pages float8;
begin
	perform set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
		set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config(switch, 'on', true);
	with_pages := test.cost(query);
	set local seq_page_cost = 0;
	set local random_page_cost = 0;
	with_pages := with_pages - test.cost(query);
	perform set_config('seq_page_cost', '1', true), set_config('random_page_cost', '4', true);
	return round(with_pages::numeric, 2);
end $$;
\set ECHO all

-- selective lookups
explain (costs off) select * from t_z where id = 4711;
explain (costs off) select * from t_z where k = 4711;
explain (costs off) update t_z set a1 = 0 where id = 4711;
explain (costs off) delete from t_z where id between 10 and 12;
explain (costs off) select * from t_z where id in (1, 50000, 99999);
explain (costs off) select * from t_z order by id limit 10;

-- some hundred rows by index, all over the table; for some thousand with many columns a sequential
-- scan is cheaper
set enable_bitmapscan = off;
explain (costs off) select sum(a1) from t_z where k < 150;
explain (costs off) select sum(a1 + a2 + a3 + a4 + a6), sum(n1 + n2), max(b1) from t_z where k < 350;
set zedstore.enable_column_costs = off;
explain (costs off) select sum(a1 + a2 + a3 + a4 + a6), sum(n1 + n2), max(b1) from t_z where k < 350;
reset zedstore.enable_column_costs;
reset enable_bitmapscan;
explain (costs off) select sum(a1 + a2 + a3 + a4 + a6), sum(n1 + n2), max(b1) from t_z where k < 3000;
set zedstore.enable_column_costs = off;
explain (costs off) select sum(a1 + a2 + a3 + a4 + a6), sum(n1 + n2), max(b1) from t_z where k < 3000;
reset zedstore.enable_column_costs;

-- the inner side of a join: as before without the setting
set zedstore.enable_ordered_scan = off;
explain (costs off) select sum(a1 + a2 + a3 + a4 + a6), sum(n1 + n2), max(b1) from few, t_z where id = x;
set zedstore.enable_column_costs = off;
explain (costs off) select sum(a1 + a2 + a3 + a4 + a6), sum(n1 + n2), max(b1) from few, t_z where id = x;
reset zedstore.enable_column_costs;
reset zedstore.enable_ordered_scan;
-- a few outer rows
explain (costs off) select sum(a1 + a2 + a3 + a4 + a6), sum(n1 + n2), max(b1) from few, t_z where id = x and x < 2000;

-- what is charged: nothing for index-only scans and heap, more for more columns, less for rows that lie together
set enable_seqscan = off;
set enable_bitmapscan = off;
-- (without what reading pages costs, and without vectors that stay)
set zedstore.enable_fetch_cache = off;
set seq_page_cost = 0;
set random_page_cost = 0;
select more('select count(*) from t_z where id < 1000') as index_only, more('select id from t_z where id < 1000') as index_only,
	more('select * from t_h where id < 1000') as heap;
select more('select a2 from t_z where k < 1000') > 0 as one, more('select a2, a3 from t_z where k < 1000') > 1.9 * more('select a2 from t_z where k < 1000') as two,
	more('select b1 from t_z where k < 1000') > 1.5 * more('select a2 from t_z where k < 1000') as text;
select more('select a2 from t_z where id < 1000') > 0 as together, more('select a2 from t_z where id < 1000') < 0.1 * more('select a2 from t_z where k < 1000') as less;
-- a column that only a filter needs is looked at in each row, one behind it in those that are left
select more('select 1 from t_z where k < 1000 and a2 > 5') > 0 as filter,
	more('select a3 from t_z where k < 1000 and a2 = 5') < 1.2 * more('select 1 from t_z where k < 1000 and a2 = 5') as behind;
-- a whole row
select more('select t_z from t_z where k < 1000') > 8 * more('select a2 from t_z where k < 1000') as whole;
-- a column that the index has compared already
select more('select 1 from few, t_z where k = x') = 0 as join_key;
-- sorted by an index of several columns
create index t_z_id_k on t_z (id, k);
set enable_sort = off;
set enable_incremental_sort = off;
select more('select a2 from t_z where id < 1000 order by id, k') < 0.2 * more('select a2 from t_z where k < 1000') as several;
drop index t_z_id_k;
reset zedstore.enable_fetch_cache;
reset enable_sort;
reset enable_incremental_sort;
reset enable_seqscan;
-- bitmaps: dense ones cost less a row, what an AND keeps is fetched once
create index t_z_a5 on t_z (a5);
set enable_indexscan = off;
set enable_seqscan = off;
set enable_bitmapscan = on;
select more('select a2 from t_z where k < 10') > 0 as sparse,
	more('select a2 from t_z where k < 30000') < 100 * more('select a2 from t_z where k < 300') as dense;
reset seq_page_cost;
reset random_page_cost;
select test.cost('select a2 from t_z where k < 1000 and a5 < 100') < 0.9 * test.cost('select a2, a5 from t_z where k < 1000') as anded;
reset enable_seqscan;
reset enable_indexscan;
drop index t_z_a5;
-- pages: a fetch reads no others than those of its columns, however many rows there are
set enable_seqscan = off;
select switch, pages('select a2 from t_z where k < 3000', switch) < 0.5 * pages('select b1 from t_z where k < 3000', switch) as columns,
	pages('select a2 from t_h where k < 3000', switch) = pages('select b1 from t_h where k < 3000', switch) as heap
	from unnest(array['enable_indexscan', 'enable_bitmapscan']) switch;
-- (those of tables that are joined are not looked at)
select more('select 1 from few, t_z where k = x') = 0 as joined;
reset enable_seqscan;
-- so rows of an index compete with batches
set zedstore.enable_vector_agg = on;
set zedstore.enable_vector_scan = on;
explain (costs off) select count(*), sum(n1) from t_z where k between 100 and 120;
explain (costs off) select count(*), sum(n1) from t_z where k between 100 and 30000;
-- the sample decides whether so few rows are sorted or hashed
set enable_sort = off;
explain (costs off) select a3, count(*) from t_z where k between 100 and 110 group by a3;
reset enable_sort;
set zedstore.enable_vector_agg = off;
set zedstore.enable_vector_scan = off;
-- sequential scans: only the needed columns' pages, beside what getting to them costs
set enable_indexscan = off;
set enable_bitmapscan = off;
set enable_indexonlyscan = off;
select more('select * from t_z') > 0 as seeks;
set random_page_cost = 1;
select more('select a1 from t_z') < 0 as few_pages, more('select b1 from t_z') between more('select a1 from t_z') and 0 as more_pages,
	more('select * from t_z') <= 0 as all_pages;
reset random_page_cost;
set zedstore.enable_column_projection = off;
select more('select a1 from t_z') = 0 as all_columns;
reset zedstore.enable_column_projection;
reset enable_indexscan;
reset enable_bitmapscan;
reset enable_indexonlyscan;

-- rows that are whole in the row tree
create table r_z (id int primary key, a int, b text) using zedstore with (autovacuum_enabled = off);
insert into r_z select i, i, 'x' || i from generate_series(1, 3000) i;
analyze r_z;
set enable_seqscan = off;
select more('select * from r_z where id between 7 and 7') as whole;
reset enable_seqscan;

-- other kinds of scans and tables
begin;
declare c cursor for select * from t_z where id = 5 for update;
fetch c;
explain (costs off) update t_z set a1 = -1 where current of c;
update t_z set a1 = -1 where current of c;
select a1 from t_z where id = 5;
rollback;
explain (costs off) select * from t_z where ctid = '(0,1)';
select count(*) > 0 as sampled from t_z tablesample system (50);
\set ECHO none
create table p (id int, k int, b text) partition by range (id);
create table p1_z partition of p for values from (0) to (50000) using zedstore;
create table p2_h partition of p for values from (50000) to (100001) using heap;
insert into p select id, k, b1 from t_h;
create index on p (k);
vacuum analyze p;
\set ECHO all
explain (costs off) select * from p where k = 5;
explain (costs off) select * from p where id = 5 and k < 60000;
create table none_z () using zedstore;
explain (costs off) select * from none_z;
explain (costs off) select * from generate_series(1, 3) g, lateral (select a1 + g from t_z where id = g offset 0) s;
prepare by_id (int) as select b1 from t_z where id = $1;
set plan_cache_mode = force_generic_plan;
explain (costs off) execute by_id (3);
reset plan_cache_mode;
cluster t_z using t_z_k;
analyze t_z;

-- the same rows either way
create function rows_of(query text) returns text language plpgsql as $$
declare
	with_costs text;
	without text;
begin
	set local zedstore.enable_column_costs = on;
	execute 'select md5(string_agg(q::text, '','' order by q::text)) from (' || query || ') q' into with_costs;
	set local zedstore.enable_column_costs = off;
	execute 'select md5(string_agg(q::text, '','' order by q::text)) from (' || query || ') q' into without;
	reset zedstore.enable_column_costs;
	return case when with_costs = without then 'same' else 'different' end;
end $$;
select rows_of(q) from unnest(array['select * from few, t_z where k = x', 'select a1, n1 from t_z where k between 100 and 5000 and b2 = ''red''',
	'select * from t_z where k < 300 or id < 20', 'select * from p where k < 1000']) q;
reset enable_bitmapscan;

-- a foreign key of two columns tells how many rows each look-up finds
\set ECHO none
create table key_z (a int, b int, primary key (a, b)) using zedstore;
insert into key_z select i / 10, i / 10 * 7 % 1000 + i % 10 from generate_series(0, 9999) i;
create table fkey_z (a int, b int, c int, d int) using zedstore;
insert into fkey_z select a, b, i, i from key_z, generate_series(1, 20) i order by i, b;
create index on fkey_z (a, b);
analyze key_z, fkey_z;
set enable_hashjoin = off;
set enable_mergejoin = off;
create function cost_with_key(query text) returns text language plpgsql as $$
declare
	without float8 := more(query);
	with_key float8;
begin
	alter table fkey_z add foreign key (a, b) references key_z;
	with_key := more(query);
	alter table fkey_z drop constraint fkey_z_a_b_fkey;
	return case when with_key > 3 * without then 'more' when with_key = without then 'the same'
		else with_key || ' after ' || without end;
end $$;
\set ECHO all
explain (costs off) select sum(c + d) from key_z k join fkey_z f on f.a = k.a and f.b = k.b;
select cost_with_key(q) from unnest(array[
	'select sum(c + d) from key_z k join fkey_z f on f.a = k.a and f.b = k.b',
	'select sum(c + d) from key_z k join fkey_z f on f.a = k.a where k.b < 5',
	'select sum(c + d) from fkey_z where a = 7 and b = 50']) q;
set enable_indexscan = off;
set enable_bitmapscan = on;
select cost_with_key('select sum(c + d) from key_z k join fkey_z f on f.a = k.a and f.b = k.b');
reset enable_indexscan;
reset enable_bitmapscan;
reset enable_hashjoin;
reset enable_mergejoin;

select test.check('t_z');

-- a removed left join leaves nothing to partitions that get its place in memory
\set ECHO none
create table gone_z (id int primary key, v int) using zedstore;
create table part_h (id int primary key, a float8, b float8, c float8, d float8, e float8,
	f float8) partition by hash (id);
create table part_h0 partition of part_h for values with (modulus 3, remainder 0) using heap;
create table part_h1 partition of part_h for values with (modulus 3, remainder 1) using heap;
create table part_h2 partition of part_h for values with (modulus 3, remainder 2) using heap;
insert into gone_z select g, g from generate_series(1, 1300) g;
insert into part_h (id) select g from generate_series(1, 1700) g;
\set ECHO all
select count(*), sum(p.id) from part_h p left join gone_z g on p.id = g.id where p.id in (5, 2112);
select count(*), sum(p.id) from part_h p left join gone_z g on p.id = g.id where p.id < 30;
select count(*), max(p.f) from part_h p left join gone_z g on p.id = g.id where p.id = 5;
drop table part_h, gone_z;
