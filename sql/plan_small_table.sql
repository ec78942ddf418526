-- Rows that are in the row tree cost what they cost in a heap, so plans use indexes as on
-- heap; and EXISTS is asked of a hash table where
-- scans would be many
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
create schema vector_small;
set search_path = vector_small, public;
set max_parallel_workers_per_gather = 0;
-- it stands above the loop that is like heap's
set zedstore.enable_adaptive_join = off;

-- "small": fewer rows than VACUUM makes columns of; "single": inserted one by one; "mixed":
-- most of them in columns
\set ECHO none
create table small_h (id int primary key, k int, t text) using heap
	with (autovacuum_enabled = off);
create table small_z (like small_h including all) using zedstore with (autovacuum_enabled = off);
create table tiny_h (id int primary key, t text) using heap with (autovacuum_enabled = off);
create table tiny_z (like tiny_h including all) using zedstore with (autovacuum_enabled = off);
create table single_h (id int primary key, k int, t text) using heap
	with (autovacuum_enabled = off);
create table single_z (like single_h including all) using zedstore
	with (autovacuum_enabled = off);
\set ECHO all
select test.both('insert into small_@ select g, g % 50, ''text '' || g
	from generate_series(1, 3000) g'),
	test.both('insert into tiny_@ select g, ''text '' || g from generate_series(1, 500) g'),
	test.both('do $d$ begin for i in 1 .. 20000 loop
		insert into single_@ values (i, i % 1000, ''text '' || i); end loop; end $d$');
create index on small_h (k);
create index on small_z (k);
create index on single_h (k);
create index on single_z (k);
vacuum analyze small_h, small_z, tiny_h, tiny_z;
analyze single_h, single_z;

-- Which indexes and kinds of joins the plan of a query on heap and that on zedstore use:
-- "same", or both.
create function scans(query text, twin text) returns text language plpgsql as $$
declare
	line text;
	result text := '';
begin
	for line in execute 'explain (costs off) ' || replace(query, '_@', '_' || twin) loop
		if line ~ 'Index|Bitmap|Nested Loop|Join|Merge' and line !~ 'Cond:|Join Filter' then
			result := result
			|| regexp_replace(btrim(line, ' ->'), '_' || twin, '_@', 'g') || '; ';
		end if;
	end loop;
	return result;
end $$;
create function plans(query text) returns text language sql as $$
	select case when scans(query, 'h') = scans(query, 'z') then 'same: ' || scans(query, 'z')
		else format('DIFFERENT: heap: %s zedstore: %s', scans(query, 'h'), scans(query, 'z')) end
$$;

select q, plans(q) from unnest(array[
	'select * from small_@ where id = 5',
	'select * from tiny_@ where id = 5',
	'select * from tiny_@ where id < 400',
	'select * from small_@ where k = 7',
	'select count(*), max(t) from small_@ where k = 7',
	'select count(*) from small_@ where id between 10 and 20',
	'select k, count(*) from small_@ where k in (3, 4) group by k',
	'select k, count(*) from small_@ group by k',
	'select max(id) from small_@',
	'select * from small_@ order by id limit 5',
	'select * from small_@ order by t limit 5',
	'select * from small_@ where t > ''text 5'' order by id desc limit 3',
	'select * from tiny_@ t join small_@ s on s.id = t.id where t.id < 10',
	'select * from tiny_@ t left join small_@ s on s.k = t.id where t.t = ''text 7''',
	'select (select t from small_@ s where s.id = t.id) from tiny_@ t',
	'select t from generate_series(1, 300) g, lateral (select t from small_@ where k = g
		and t like ''%7'' offset 0) s',
	'select * from tiny_@ where id > 0 or t = ''x'' limit 1',
	'select * from single_@ where id = 5',
	'select * from single_@ where k = 5',
	'select count(*) from single_@ where k < 10',
	'select * from single_@ order by k, id limit 5',
	'select s.* from tiny_@ t join single_@ s on s.id = t.id where t.id < 10',
	'select count(t.*) from tiny_@ i join single_@ t using (id) where i.id <= 20',
	'update small_@ set t = ''x'' where id = 5',
	'delete from single_@ where k = 5 and t = ''x'''
]) q;

-- costs are about those of heap
create function ratio(query text) returns numeric language sql as $$
	select round((test.cost(replace(query, '_@', '_z')) /
		test.cost(replace(query, '_@', '_h')))::numeric, 1)
$$;
select q, ratio(q) between 0.8 and 1.2 as alike from unnest(array['select * from small_@
	where t > ''b''', 'select count(*) from small_@ where t > ''b''',
	'select sum(k) from single_@', 'select k, count(*) from single_@ group by k', 'select *
		from single_@ where t > ''b''']) q;

-- columns are cheaper by as much as there are
vacuum analyze single_h;
vacuum analyze single_z;
select ratio('select count(*) from single_@ where k < 500') < 0.5 as columns;
insert into single_z select g, g % 1000, 'text ' || g from generate_series(20001, 60000, 100) g;
do $$ begin for i in 100001 .. 110000 loop
	insert into single_z values (i, i % 1000, 'text ' || i); end loop; end $$;
do $$ begin for i in 100001 .. 110000 loop
	insert into single_h values (i, i % 1000, 'text ' || i); end loop; end $$;
analyze single_h, single_z;
select ratio('select count(*) from single_@ where t > ''b''') between 0.2 and 0.8 as mixed;

-- columns that take a few pages are read from several places, so an index leads to few rows sooner
\set ECHO none
create table packed_h (id int, k int, v int) using heap with (autovacuum_enabled = off);
create table packed_z (like packed_h) using zedstore with (autovacuum_enabled = off);
\set ECHO all
select test.both('insert into packed_@ select g, g / 3, g from generate_series(1, 12000) g');
create index on packed_h (id);
create index on packed_z (id);
create index on packed_h (k);
create index on packed_z (k);
vacuum analyze packed_h, packed_z;
select pg_relation_size('packed_z') / current_setting('block_size')::int < 40 as few_pages;
select q, plans(q) from unnest(array[
	'select v from packed_@ where id = 5000',
	'select * from packed_@ where k = 500',
	'select sum(v) from packed_@ where k = 500',
	'select v from packed_@ where k = 500 order by v desc limit 1',
	'update packed_@ set v = 0 where id = 77'
]) q;

-- a generic plan of a foreign key's check, a partition of few rows
create table child_h (id int references tiny_h) using heap;
create table child_z (id int references tiny_z) using zedstore;
select test.both('insert into child_@ select 1 + g % 500 from generate_series(1, 1000) g');
\set ECHO none
create table parts_h (id int, p int, t text, primary key (id, p)) partition by list (p);
create table parts_z (id int, p int, t text, primary key (id, p)) partition by list (p);
create table parts1_h partition of parts_h for values in (1) using heap;
create table parts2_h partition of parts_h for values in (2) using heap;
create table parts1_z partition of parts_z for values in (1) using zedstore;
create table parts2_z partition of parts_z for values in (2) using zedstore;
\set ECHO all
select test.both('insert into parts_@ select g, 1 + g % 2, ''x''
	from generate_series(1, 1700) g');
vacuum analyze parts_h, parts_z;
select plans('select * from parts_@ where id = 77');

-- EXISTS that is no join: the query itself on columns, with two plans of which core takes the
-- one that scans for each row
\set ECHO none
create table cust_h (id int primary key, a int, t text) using heap
	with (autovacuum_enabled = off);
create table cust_z (like cust_h including all) using zedstore with (autovacuum_enabled = off);
create table sale_h (id int primary key, c int, d int) using heap with (autovacuum_enabled = off);
create table sale_z (like sale_h including all) using zedstore with (autovacuum_enabled = off);
\set ECHO all
select test.both('insert into cust_@ select g, g % 100, ''t'' || g % 10
	from generate_series(1, 10000) g'),
	test.both('insert into sale_@ select g, g * 7 % 15000, g % 100
		from generate_series(1, 40000) g');
vacuum analyze cust_h, cust_z, sale_h, sale_z;
-- rows of the table scanned for EXISTS, each time it is executed, and how often
create function asked(query text, relation text) returns text language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (analyze, format json) ' || query into plan;
	return (select string_agg((p ->> 'Actual Loops')::float || ' times', ', ')
		from jsonb_path_query(plan::jsonb, 'strict $.** ? (@."Relation Name" == $r)',
			jsonb_build_object('r', relation)) p
		where (p ->> 'Actual Loops')::float > 0);
end $$;
create view exist as select * from (values
	('select count(*) from cust_@ c where exists (select 1 from sale_@ where c = c.id)
		or t = ''t5'''),
	('select count(*) from cust_@ c where not exists (select 1 from sale_@ where c = c.id)
		and a < 50 or t = ''t5'''),
	('select count(*) from cust_@ c join generate_series(1, 3000) g on c.id = g
		where exists (select 1 from sale_@ where c = c.id and d < 50) or t = ''t5'''),
	('select sum(case when exists (select 1 from sale_@ where c = c.id) then a end)
		from cust_@ c'),
	('select count(*) from cust_@ c left join tiny_@ t on t.id = c.id where exists (select 1
		from sale_@ where c = c.id) or t.t = ''x'''),
	('select a, count(*) from cust_@ c group by a having exists (select 1 from sale_@
		where c = a) or a = 3'),
	('select count(*) from cust_@ c where case when exists (select 1 from sale_@
		where c = c.id) then a < 50 else a > 90 end'),
	('select count(*) from cust_@ c where exists (select 1 from sale_@ s where s.c = c.id
		and s.d = 5) or exists (select 1 from sale_@ s where s.c = c.id and s.d = 7)')) v(q);
select q, asked(replace(q, '_@', '_z'), 'sale_z'), test.same(q) from exist;
-- below an inner index scan core counts one row
create view exist_loop as select 'select count(*) from
	unnest(array(select generate_series(1, 300))) g, cust_@ c
	where c.id = g and (exists (select 1 from sale_@ where c = c.id) or t = ''t5'')' as q;
select asked(replace(q, '_@', '_z'), 'sale_z'), test.same(q) from exist_loop;
set zedstore.enable_robust_joins = off;
select asked(replace(q, '_@', '_z'), 'sale_z'), test.same(q) from exist_loop;
reset zedstore.enable_robust_joins;
-- one row asks for itself; an index is there, for few rows and for many
create index on sale_h (c);
create index on sale_z (c);
vacuum analyze sale_h, sale_z;
select q, asked(replace(q, '_@', '_z'), 'sale_z'), test.same(q) from unnest(array[
	'select count(*) from cust_@ c where id = 7 and (exists (select 1 from sale_@
		where c = c.id) or t = ''t5'')',
	'select count(*) from cust_@ c where exists (select 1 from sale_@ where c = c.id)
		or t = ''t5''']) q;
-- with workers, inherited tables, a table of heap that asks
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
select test.same('select count(*) from cust_@ c where exists (select 1 from sale_@
	where c = c.id) or t = ''t5''');
reset max_parallel_workers_per_gather;
select test.same('select count(*) from parts_@ p where exists (select 1 from sale_@
	where c = p.id) or t = ''t5''');
select asked('select count(*) from cust_h c where exists (select 1 from sale_z where c = c.id)
	or t = ''t5''', 'sale_z');
-- where nothing is ours, nothing changes
explain (costs off) select count(*) from tiny_h c where exists (select 1 from small_h
	where id = c.id) or t = 't5';
