-- Conditions that fail for rows which another condition excludes: whether they fail depends on the
-- order in which core tests conditions, by what they cost and as they are written.  All plans by
-- batches fail where heap does, with its error, and nowhere else.
\getenv abs_srcdir PG_ABS_SRCDIR
\set twins :abs_srcdir '/sql/include/twins.sql'
\i :twins
set max_parallel_workers_per_gather = 0;
set zedstore.min_segment_rows = 1024;
create table where_h (id int, a int, b float8, n numeric, t text, k int);
create function rows(first int, last int) returns setof where_h language sql as $$
	select g, g % 50, g % 40 - 20, g % 30, case when g % 9 = 0 then 'x' else g::text end, g % 5
	from generate_series(first, last) g
$$;
insert into where_h select * from rows(1, 6000);
create table where_z (like where_h) using zedstore;
insert into where_z select * from where_h;
vacuum analyze where_h, where_z;
-- some in the row tree
insert into where_h select * from rows(6001, 6100);
insert into where_z select * from rows(6001, 6100);

-- Pairs of conditions, the second of which excludes rows that the first one fails for: cheaper, or
-- dearer, or about as dear, in front or behind, and beside others.
create function failures(mode text)
returns table (statement text, fails bigint, outcomes text) language plpgsql as $$
begin
	perform set_config('zedstore.debug_vector', mode, true);
	return query
	with o as materialized (
		select s.statement, test.both(replace(s.statement, 'W', w.filter)) as outcome
		from (values
				('select count(*) from where_@ where W'),
				('select sum(b), max(t) from where_@ where W'),
				('select k, count(*) from where_@ where W group by k'),
				('select id, t from where_@ where W'),
				('select id from where_@ where W order by t, id limit 7'),
				('select id, b from where_@ where W order by id limit 3'),
				('select id from where_@ where W order by id'),
				('select distinct k from where_@ where W'),
				('select count(*) filter (where W) from where_@')) s (statement),
			(values ('10 / a > 0', 'a <> 0'), ('10 / a > 0', 'k in (1, 2, 3)'),
				('a % (k - 1) = 0', 'k > 1'), ('sqrt(b) > 2', 'b >= 0'), ('ln(n) > 1', 'n > 0'),
				('10 / n < 5', 'n between 1 and 9'), ('t::int > 50', 't <> ''x'''),
				('t::int > 50', 't like ''1%'''), ('a + 2147483600 > 0', 'a < 20'),
				('substr(t, 1, a - 1) <> ''q''', 'a > 0')) f (condition, cheap),
			format('(case when %s then 1 else 0 end) + 0 + 0 + 0 = 1', cheap) dear,
			format('(%s) is not distinct from true', cheap) alike,
			lateral (values (condition || ' and ' || cheap), (cheap || ' and ' || condition),
				(condition || ' and ' || dear), (dear || ' and ' || condition),
				(condition || ' and ' || alike), (alike || ' and ' || condition),
				('id > 100 and ' || condition || ' and ' || dear || ' and t > ''0'''))
				w (filter))
	select o.statement, count(*) filter (where o.outcome !~ '^ok'),
		case when count(*) filter (where o.outcome ~ '^DIFF') = 0 then 'as heap''s'
			else string_agg(distinct o.outcome, '; ') filter (where o.outcome ~ '^DIFF') end
	from o group by 1 order by 1;
end $$;
select * from failures('off');
select * from failures('force');
select * from failures('verify');
drop function failures, rows;
drop table where_h, where_z;
