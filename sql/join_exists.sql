--
-- EXISTS in aggregates: by a hash table where many rows ask
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema join_exists;
set search_path = join_exists, public;
set max_parallel_workers_per_gather = 0;
create table f_h (id int, k int, g int) using heap with (autovacuum_enabled = off);
create table d_h (k int, v int) using heap with (autovacuum_enabled = off);
create table f_z (like f_h) using zedstore with (autovacuum_enabled = off);
create table d_z (like d_h) using zedstore with (autovacuum_enabled = off);
select test.both('insert into f_@ select i, nullif(i * 7 % 3000, 5), i % 10
	from generate_series(1, 20000) i');
select test.both('insert into d_@ select nullif(i, 7), i % 10 from generate_series(1, 2000) i');
create index on d_h (k);
create index on d_z (k);
vacuum analyze f_h, d_h, f_z, d_z;

-- is it hashed, and the same?
create function asks(query text) returns text language plpgsql as $$
declare
	line text;
	hashed boolean := true;
begin
	for line in execute 'explain (verbose, costs off) ' || replace(query, '_@', '_z') loop
		if line like '%Cache Key%' then
			hashed := false;
		end if;
	end loop;
	return case when hashed then 'hashed, ' else 'by index, ' end || test.same(query);
end $$;
select asks('select count(*) filter (where exists (select from d_@ d where d.k = f.k and d.v < 5))
	from f_@ f');
select asks('select g, count(*) filter (where exists (select from d_@ d where d.k = f.k)),
	sum(case when not exists (select from d_@ d where d.k = f.k and d.v < 3) then id end)
	from f_@ f group by g order by g');
select asks('select g from f_@ f group by g having count(*) filter
	(where exists (select from d_@ d where d.k = f.k and d.v < 5)) > 500');
select asks('select g, count(*) filter (where exists (select from d_@ d where d.k = f.k)) as n,
	max(id) filter (where exists (select from d_@ d where d.k = f.k)) from f_@ f
	group by g having count(*) filter (where exists (select from d_@ d where d.k = f.k)) > 3
	order by 2, 1');
select asks('select g, count(distinct k) filter (where exists (select from d_@ d where d.k = f.k)),
	sum(count(*) filter (where exists (select from d_@ d where d.k = f.k and d.v = 4))) over ()
	from f_@ f group by rollup (g)');
-- not where few rows ask
select asks('select count(*) filter (where exists (select from d_@ d where d.k = f.k and d.v < 5))
	from f_@ f where id = 4711');
select asks('select count(*) filter (where exists (select from d_@ d where d.k = f.k and d.v < 5))
	from f_@ f where false');
-- workers, and partial aggregates
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
select asks('select g, count(*) filter (where exists (select from d_@ d where d.k = f.k))
	from f_@ f group by g');
select asks('select count(*) filter (where exists (select from d_@ d where d.k = f.k and d.v < 5))
	from f_@ f having count(*) filter (where exists (select from d_@ d where d.k = f.k)) > 1');
-- partitions that are aggregated by themselves
create table p_h (id int, k int, g int) partition by list (g);
create table p_h1 partition of p_h for values in (0, 1, 2, 3) using heap;
create table p_h2 partition of p_h default using heap;
create table p_z (id int, k int, g int) partition by list (g);
create table p_z1 partition of p_z for values in (0, 1, 2, 3) using zedstore;
create table p_z2 partition of p_z default using zedstore;
select test.both('insert into p_@ select * from f_@');
vacuum analyze p_h, p_z;
set enable_partitionwise_aggregate = on;
select test.same('select g, count(*) filter (where exists (select from d_@ d where d.k = f.k))
	from p_@ f group by g');
select test.same('select count(*) filter (where exists (select from d_@ d where d.k = f.k))
	from p_@ f');
reset enable_partitionwise_aggregate;
select test.same('select g, count(*) filter (where exists (select from d_@ d where d.k = f.k))
	from p_@ f group by g');
\set VERBOSITY terse
drop schema join_exists cascade;
