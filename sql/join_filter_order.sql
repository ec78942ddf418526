-- Of several joins' keys those that leave fewer rows are looked for first
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\set ECHO none
\i :include
\set ECHO all
create schema filter_order;
set search_path = filter_order, public;
set max_parallel_workers_per_gather = 0;
set zedstore.min_segment_rows = 1024;
set enable_nestloop = off;
set enable_mergejoin = off;
set join_collapse_limit = 1;

-- 64 vectors; half and rare are scattered, so zone maps leave none out
create table fact_h as
	select g as id, g * 7919 % 1000 as half, g * 7919::bigint % 65537 as rare,
		case when g % 5 > 0 then 'word ' || g * 7919 % 1000 end as word
	from generate_series(1, 65536) g;
create table fact_z using zedstore as select * from fact_h;
create table half_h as select g as half, 'word ' || g as word from generate_series(0, 499) g;
create table half_z using zedstore as select * from half_h;
-- those of rows of one vector
create table rare_h as select rare from fact_h where id between 40000 and 40010;
create table rare_z using zedstore as select * from rare_h;
-- without statistics the fact table is expected to be the larger side of each join
vacuum fact_z;
vacuum analyze half_h, half_z, rare_h, rare_z;

-- How many vectors of the fact table are read?
create function vectors(query text) returns int language plpgsql as $$
declare
	plan jsonb;
begin
	execute 'explain (analyze, format json) ' || replace(query, '_@', '_z') into plan;
	return jsonb_path_query_first(plan, 'strict $.** ? (@."Relation Name" == "fact_z")')
		-> 'Vectors Read';
end $$;
create table queries (nr serial, query text);
insert into queries (query) values
	('select count(*), sum(id) from fact_@ join half_@ using (half) join rare_@ using (rare)'),
	('select count(*), sum(id) from fact_@ join rare_@ using (rare) join half_@ using (half)'),
	('select id from fact_@ f join half_@ h on h.word = f.word join rare_@ using (rare)'),
	('select id from fact_@ join rare_@ using (rare) join half_@ h using (word)'),
	('select id from fact_@ f where half in (select half from half_@)
		and rare in (select rare from rare_@)');
-- all 64 of rare, those of half in eight batches, and few others
select nr, vectors(query) < 64 + 32 as few, test.same(query) from queries order by nr;
set zedstore.debug_vector = verify;
select nr, test.same(query) from queries order by nr;
set zedstore.debug_vector = rows;
select nr, test.same(query) from queries order by nr;
reset zedstore.debug_vector;
-- the other way round behind the middle of the table: what is rare there is half here
select test.both('update fact_@ set rare = half, half = 2000 + id where id > 32768');
vacuum analyze fact_z;
select nr, test.same(query) from queries order by nr;
select test.both('insert into rare_@ select generate_series(0, 40)');
select nr, test.same(query) from queries order by nr;
-- some rows in the row tree, and NULLs
select test.both('update fact_@ set rare = null, half = nullif(half, 7) where id % 31 = 0');
select nr, test.same(query) from queries order by nr;
drop schema filter_order cascade;
